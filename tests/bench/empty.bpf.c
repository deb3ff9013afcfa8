// SPDX-License-Identifier: GPL-2.0-only
/*
 * empty.bpf.c - programs that say yes, on every hook that the product's own programs have: what is left when nothing is asked
 *
 * The names say where they stand, as the product's do: guard_* at the root, all others at the slice. tests/bench/empty_hooks.c attaches them.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define EMPTY(section, name, context)                                                                                                                \
	SEC(section) int name(struct context *ctx)                                                                                                   \
	{                                                                                                                                            \
		return 1;                                                                                                                            \
	}

EMPTY("cgroup/sock_create", sock_create, bpf_sock)
#ifndef LOOKS_UP /* lookup.bpf.c */
EMPTY("cgroup/connect4", connect4, bpf_sock_addr)
#endif
EMPTY("cgroup/connect6", connect6, bpf_sock_addr)
EMPTY("cgroup/sendmsg4", sendmsg4, bpf_sock_addr)
EMPTY("cgroup/sendmsg6", sendmsg6, bpf_sock_addr)
EMPTY("cgroup/bind4", bind4, bpf_sock_addr)
EMPTY("cgroup/bind6", bind6, bpf_sock_addr)
EMPTY("cgroup/setsockopt", setsockopt, bpf_sockopt)
EMPTY("cgroup/recvmsg4", recvmsg4, bpf_sock_addr)
EMPTY("cgroup/recvmsg6", recvmsg6, bpf_sock_addr)
EMPTY("cgroup/getpeername4", getpeername4, bpf_sock_addr)
EMPTY("cgroup/getpeername6", getpeername6, bpf_sock_addr)
EMPTY("cgroup_skb/egress", egress, __sk_buff)
EMPTY("cgroup_skb/ingress", ingress, __sk_buff)
EMPTY("cgroup/sock_create", guard_sock_create, bpf_sock)
EMPTY("cgroup/connect4", guard_connect4, bpf_sock_addr)
EMPTY("cgroup/connect6", guard_connect6, bpf_sock_addr)
EMPTY("cgroup/sendmsg4", guard_sendmsg4, bpf_sock_addr)
EMPTY("cgroup/sendmsg6", guard_sendmsg6, bpf_sock_addr)

char LICENSE[] SEC("license") = "GPL";
