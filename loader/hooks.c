// SPDX-License-Identifier: GPL-2.0-only
/*
 * hooks.c - the one table of programs: kind, attach type, where it attaches, and whether netcordon can do without it
 *
 * Names come from NC_HOOKS. The kinds and attach types are set from here before loading, so that they do not depend on what a version of libbpf makes of
 * a section's name. Optional means that some supported kernel does not know the attach type; whether this one does is found by loading.
 */
#include "inside.h"

/* Added in 6.7, after the headers of some distributions that netcordon is built on. The numbers are the kernel's user ABI (linux/bpf.h). */
#define NC_BPF_CGROUP_UNIX_CONNECT 49
#define NC_BPF_CGROUP_UNIX_SENDMSG 50

#define ROW(symbol, type, attach, place, need)                                                                                                       \
	[NC_HOOK_##symbol] = {.program_type = BPF_PROG_TYPE_##type, .attach_type = attach, .where = NC_AT_##place, .required = need}
/* Where nothing is decided, so that a program of somebody else beside ours takes nothing away. Many hosts have one there that tunes TCP. */
#define BESIDE(symbol, type, attach, place)                                                                                                          \
	[NC_HOOK_##symbol] = {.program_type = BPF_PROG_TYPE_##type, .attach_type = attach, .where = NC_AT_##place, .admits_foreign = true}

static const struct nc_hook_row hooks[NC_HOOK_MAX] = {
	ROW(SOCK_CREATE, CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, SLICE, true),
	ROW(CONNECT4, CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, SLICE, true),
	ROW(CONNECT6, CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT, SLICE, true),
	ROW(SENDMSG4, CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG, SLICE, true),
	ROW(SENDMSG6, CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG, SLICE, true),
	ROW(BIND4, CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, SLICE, true),
	ROW(BIND6, CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_BIND, SLICE, true),
	ROW(SETSOCKOPT, CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, SLICE, true),
	ROW(RECVMSG4, CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_RECVMSG, SLICE, true),
	ROW(RECVMSG6, CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_RECVMSG, SLICE, true),
	ROW(GETPEERNAME4, CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_GETPEERNAME, SLICE, true),
	ROW(GETPEERNAME6, CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_GETPEERNAME, SLICE, true),
	ROW(EGRESS, CGROUP_SKB, BPF_CGROUP_INET_EGRESS, SLICE, true),
	ROW(INGRESS, CGROUP_SKB, BPF_CGROUP_INET_INGRESS, SLICE, true),
	ROW(CONNECT_UNIX, CGROUP_SOCK_ADDR, NC_BPF_CGROUP_UNIX_CONNECT, SLICE, false),
	ROW(SENDMSG_UNIX, CGROUP_SOCK_ADDR, NC_BPF_CGROUP_UNIX_SENDMSG, SLICE, false),
	ROW(GUARD_SOCK_CREATE, CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, ROOT, true),
	ROW(GUARD_CONNECT4, CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, ROOT, true),
	ROW(GUARD_CONNECT6, CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT, ROOT, true),
	ROW(GUARD_SENDMSG4, CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG, ROOT, true),
	ROW(GUARD_SENDMSG6, CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG, ROOT, true),
	ROW(LSM_CREATE, LSM, BPF_LSM_MAC, HOST, false),
	ROW(LSM_POST_CREATE, LSM, BPF_LSM_MAC, HOST, false),
	ROW(LSM_UNIX_STREAM, LSM, BPF_LSM_MAC, HOST, false),
	ROW(LSM_UNIX_SEND, LSM, BPF_LSM_MAC, HOST, false),
	ROW(LSM_SENDMSG, LSM, BPF_LSM_MAC, HOST, false),
	BESIDE(SOCK_OPS, SOCK_OPS, BPF_CGROUP_SOCK_OPS, SLICE),
	ROW(DEVICE, CGROUP_DEVICE, BPF_CGROUP_DEVICE, SLICE, false),
};

#define HOOK_NAME(symbol, value, word) [NC_HOOK_##symbol] = word,
static const char *const names[NC_HOOK_MAX] = {NC_HOOKS(HOOK_NAME)};

#define HOOK_COUNT(symbol, value, word) +1
_Static_assert(NC_HOOK_MAX == 1 NC_HOOKS(HOOK_COUNT), "hooks are numbered from 1 without a hole");

const char *nc_hook_name(enum nc_hook hook)
{
	return names[hook];
}

const struct nc_hook_row *nc_hook(enum nc_hook hook)
{
	return &hooks[hook];
}
