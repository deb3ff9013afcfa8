/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device_hook.h - a device node is opened or made: refused when it leads past what the other programs see (device.h)
 *
 * The kernel asks for every node that a task of the cgroup opens, reopens, tests for access or makes (block and character devices alone), and for nothing
 * that is open already. So the way of what is no concern of ours is a few comparisons long.
 */
#ifndef NC_BPF_DEVICE_HOOK_H
#define NC_BPF_DEVICE_HOOK_H

#include "device.h"
#include "socket_hooks.h"

static __always_inline int nc_device_listed(__u32 major, __u32 minor)
{
	struct nc_device_key key = {.major = major, .minor = minor};

	if (bpf_map_lookup_elem(&devices, &key))
		return 1;
	key.minor = NC_DEVICE_ANY_MINOR;
	return bpf_map_lookup_elem(&devices, &key) != 0;
}

/* Without the helper that knows a task's ancestors only who stands in the sealed cgroup itself is known: below it a refusal has nobody to count it for. */
static __always_inline struct nc_slot *nc_device_slot(__u32 *ret_index)
{
	__u64 cgroup_id;
	__u32 *index;

	if (nc_device_sees_task)
		return nc_current_slot(ret_index);
	cgroup_id = bpf_get_current_cgroup_id();
	index = bpf_map_lookup_elem(&authority_of_cgroup, &cgroup_id);
	if (!index)
		return 0;
	*ret_index = *index;
	return nc_slot_at(*index);
}

SEC("cgroup/dev")
int device(struct bpf_cgroup_dev_ctx *ctx)
{
	__u32 major = ctx->major, minor = ctx->minor, slot_index = 0;

	if ((ctx->access_type & 0xffff) != BPF_DEVCG_DEV_CHAR) /* what is to be done with it stands in the upper half */
		return NC_PASS;
	if (!nc_device_known(major, minor) && (!nc_device_picked(major) || !nc_device_listed(major, minor)))
		return NC_PASS;
	if (!NC_CHECK(DEVICE))
		return NC_PASS;
	return nc_refuse_socket(nc_device_slot(&slot_index), slot_index, NC_REASON_DEVICE_REFUSED, NC_HOOK_DEVICE, 0,
				major << 20 | (minor & 0xfffff));
}

#endif
