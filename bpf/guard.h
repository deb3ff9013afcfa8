/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard.h - at the cgroup root: a task of an instance may only use sockets that were labelled for it
 *
 * The slice's programs run for sockets that were made inside the slice. A socket made elsewhere and handed in, or made while something kept the slice's
 * programs from running (net_prio and net_cls before 5.14), meets only the programs of the cgroup where it was made, and this one at the root is among
 * them. It refuses when the current task stands in an instance and the socket is not labelled for that very slot. Every other task on the host passes,
 * whatever happens: this is the one program that fails open, because a mistake here would cut off the host.
 */
#ifndef NC_BPF_GUARD_H
#define NC_BPF_GUARD_H

#include "socket_hooks.h"

static __always_inline int nc_guard(const struct nc_slot *slot, __u32 slot_index, const struct nc_label *label, const struct nc_flow *flow, int hook,
				    int family)
{
	struct nc_verdict verdict = {};
	struct nc_sighting sighting = {};

	if (!NC_CHECK(GUARD) || (label && label->slot == slot_index && label->generation == slot->generation))
		return NC_PASS;
	nc_verdict_set(&verdict, NC_DENY, label ? NC_REASON_AUTHORITY_MISMATCH : NC_REASON_SOCKET_UNLABELLED);
	sighting.slot_index = slot_index;
	sighting.hook = hook;
	sighting.family = family;
	nc_note_task(slot, flow, &verdict, &sighting);
	return NC_REFUSE;
}

/*
 * The common case, asked first, because it asks for less: the socket's own label names a live slot, and the current task stands in that slot's cgroup. No
 * sealed cgroup lies below another, so this is the slot that the long way would find.
 */
static __always_inline int nc_guard_at_home(const struct nc_label *label)
{
	const struct nc_slot *slot = label ? nc_slot_at(label->slot) : 0;

	return slot && slot->generation && slot->generation == label->generation && nc_current_inside(slot);
}

SEC("cgroup/sock_create")
int guard_sock_create(struct bpf_sock *ctx)
{
	struct nc_label *label = bpf_sk_storage_get(&labels, ctx, 0, 0);
	__u32 slot_index = 0;
	struct nc_slot *slot;
	struct nc_flow flow = {};

	if (nc_guard_at_home(label))
		return NC_PASS;
	slot = nc_current_slot(&slot_index);
	if (!slot)
		return NC_PASS;
	flow.protocol = (__u8)ctx->protocol;
	return nc_guard(slot, slot_index, label, &flow, NC_HOOK_GUARD_SOCK_CREATE, 0);
}

static __always_inline int nc_guard_call(struct bpf_sock_addr *ctx, int family, int hook)
{
	struct bpf_sock *socket = ctx->sk;
	struct nc_label *label = socket ? bpf_sk_storage_get(&labels, socket, 0, 0) : 0;
	__u32 slot_index = 0;
	struct nc_slot *slot;
	struct nc_flow flow = {};

	if (nc_guard_at_home(label))
		return NC_PASS;
	slot = nc_current_slot(&slot_index);
	if (!slot)
		return NC_PASS;
	nc_flow_from_call(&flow, ctx, family);
	return nc_guard(slot, slot_index, label, &flow, hook, family);
}

SEC("cgroup/connect4")
int guard_connect4(struct bpf_sock_addr *ctx)
{
	return nc_guard_call(ctx, 4, NC_HOOK_GUARD_CONNECT4);
}

SEC("cgroup/connect6")
int guard_connect6(struct bpf_sock_addr *ctx)
{
	return nc_guard_call(ctx, 6, NC_HOOK_GUARD_CONNECT6);
}

SEC("cgroup/sendmsg4")
int guard_sendmsg4(struct bpf_sock_addr *ctx)
{
	return nc_guard_call(ctx, 4, NC_HOOK_GUARD_SENDMSG4);
}

SEC("cgroup/sendmsg6")
int guard_sendmsg6(struct bpf_sock_addr *ctx)
{
	return nc_guard_call(ctx, 6, NC_HOOK_GUARD_SENDMSG6);
}

#endif
