/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lsm.h - what only a security hook sees, where the kernel lets BPF programs act as one
 *
 *   lsm_create        an address family past the cordon's sight is refused, also when io_uring makes the socket (past every seccomp filter)
 *   lsm_post_create   labels unix sockets, so that a peer can be recognised
 *   lsm_unix_stream,  a named unix socket may be used when the socket behind the name has a label of the same authority: a workload's own helpers
 *   lsm_unix_send     work, the host's do not
 *   lsm_sendmsg       a TCP or UDP socket that was handed in, connected or not, sends nothing for a task of an instance. Up to Linux 6.4 that is not asked
 *                     for sendfile() and splice(), and counts for no closure (nc_kernel_pages_unseen)
 *
 * These run for every task of the host: a task that stands in no instance leaves after one look. A kernel may load and attach them and yet never call
 * them (5.10 with its default list of modules): the loader sees each act before it counts as in force, and sets nc_lsm_acts.
 */
#ifndef NC_BPF_LSM_H
#define NC_BPF_LSM_H

#include <bpf/bpf_tracing.h>
#include "socket_hooks.h"

#define NC_AF_UNIX 1
#define NC_AF_INET 2
#define NC_AF_INET6 10
#define NC_AF_NETLINK 16
#define NC_NETLINK_ROUTE 0
#define NC_EPERM 1

static __always_inline int nc_lsm_refuse(const struct nc_slot *slot, __u32 slot_index, __u8 reason, int hook, __u32 detail)
{
	nc_refuse_socket(slot, slot_index, reason, hook, 0, detail);
	return -NC_EPERM;
}

static __always_inline int nc_label_is(const struct nc_label *label, const struct nc_slot *slot, __u32 slot_index)
{
	return label && label->slot == slot_index && label->generation == slot->generation;
}

SEC("lsm/socket_create")
int BPF_PROG(lsm_create, int family, int type, int protocol, int kern)
{
	__u32 slot_index = 0;
	struct nc_slot *slot;

	if (kern)
		return 0;
	slot = nc_current_slot(&slot_index);
	if (!slot || !NC_CHECK(FAMILY))
		return 0;
	if (family == NC_AF_INET || family == NC_AF_INET6 || family == NC_AF_UNIX || (family == NC_AF_NETLINK && protocol == NC_NETLINK_ROUTE))
		return 0;
	return nc_lsm_refuse(slot, slot_index, NC_REASON_FAMILY_REFUSED, NC_HOOK_LSM_CREATE, (__u32)family << 16 | ((__u32)type & 0xffff));
}

SEC("lsm/socket_post_create")
int BPF_PROG(lsm_post_create, struct socket *sock, int family, int type, int protocol, int kern)
{
	struct nc_label fresh = {};
	__u32 slot_index = 0;
	struct nc_slot *slot;
	struct sock *sk;

	if (kern || family != NC_AF_UNIX)
		return 0;
	slot = nc_current_slot(&slot_index);
	if (!slot || !slot->generation)
		return 0;
	sk = sock->sk;
	if (!sk)
		return 0;
	fresh.generation = slot->generation;
	fresh.slot = slot_index;
	bpf_sk_storage_get(&labels, sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

static __always_inline int nc_unix_peer(struct sock *peer, int hook)
{
	__u32 slot_index = 0;
	struct nc_slot *slot = nc_current_slot(&slot_index);

	if (!slot || !NC_CHECK(UNIX) || (slot->flags & NC_SLOT_UNIX_OPEN))
		return 0;
	if (peer && nc_label_is(bpf_sk_storage_get(&labels, peer, 0, 0), slot, slot_index))
		return 0;
	return nc_lsm_refuse(slot, slot_index, NC_REASON_UNIX_PEER, hook, 0);
}

SEC("lsm/unix_stream_connect")
int BPF_PROG(lsm_unix_stream, struct sock *sock, struct sock *other, struct sock *newsk)
{
	return nc_unix_peer(other, NC_HOOK_LSM_UNIX_STREAM);
}

SEC("lsm/unix_may_send")
int BPF_PROG(lsm_unix_send, struct socket *sock, struct socket *other)
{
	return nc_unix_peer(other->sk, NC_HOOK_LSM_UNIX_SEND);
}

SEC("lsm/socket_sendmsg")
int BPF_PROG(lsm_sendmsg, struct socket *sock, struct msghdr *msg, int size)
{
	__u32 slot_index = 0;
	struct nc_slot *slot = nc_current_slot(&slot_index);
	struct sock *sk = sock->sk;
	__u16 family;

	if (!slot || !sk || !NC_CHECK(PASSED))
		return 0;
	family = sk->__sk_common.skc_family;
	if (family != NC_AF_INET && family != NC_AF_INET6)
		return 0;
	if (nc_label_is(bpf_sk_storage_get(&labels, sk, 0, 0), slot, slot_index))
		return 0;
	return nc_lsm_refuse(slot, slot_index, NC_REASON_PASSED_SOCKET, NC_HOOK_LSM_SENDMSG, family);
}

#endif
