/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * socket.h - whose socket is this, and whose task asks: labels, slots and the current task's authority
 *
 * A label is written once, when the socket is born (sock_create), from the cgroup of the task that made it, and is never moved to another slot.
 * A slot is looked at only while its generation equals the label's.
 */
#ifndef NC_BPF_SOCKET_H
#define NC_BPF_SOCKET_H

#include "maps.h"

/* The kernel counts the hierarchy's root as level 0; an authority cgroup may lie at 1 to 31 (nc_settings.depth_mask). */
#define NC_DEPTH_MAX 32

static __always_inline struct nc_slot *nc_slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&authorities, &index);
}

/* The slot whose cgroup the current task stands in or below; 0: none. Only depths at which an authority lies are looked at, deepest first. */
static __always_inline struct nc_slot *nc_current_slot(__u32 *ret_index)
{
	__u32 zero = 0;
	const struct nc_settings *host = bpf_map_lookup_elem(&settings, &zero);
	__u32 mask;

	if (!host)
		return 0;
	mask = host->depth_mask;
#pragma unroll
	for (int depth = NC_DEPTH_MAX - 1; depth > 0; depth--) {
		__u64 cgroup_id;
		__u32 *index;

		if (!(mask & (1u << depth)))
			continue;
		cgroup_id = bpf_get_current_ancestor_cgroup_id(depth);
		if (!cgroup_id)
			continue;
		index = bpf_map_lookup_elem(&authority_of_cgroup, &cgroup_id);
		if (index) {
			*ret_index = *index;
			return nc_slot_at(*index);
		}
	}
	return 0;
}

/* Does the current task stand in this slot's own cgroup? */
static __always_inline int nc_current_inside(const struct nc_slot *slot)
{
	return slot->cgroup_depth < NC_DEPTH_MAX && slot->cgroup_id && bpf_get_current_ancestor_cgroup_id(slot->cgroup_depth) == slot->cgroup_id;
}

#endif
