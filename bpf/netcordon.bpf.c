// SPDX-License-Identifier: GPL-2.0-only
/*
 * netcordon.bpf.c - the programs that decide, as one object
 *
 *   where              program                                    what it decides                                        file
 *   slice              sock_create                                labels a socket or refuses it                          socket_hooks.h
 *                      bind4/6, setsockopt                        closes side doors                                      socket_hooks.h
 *                      connect4/6, sendmsg4/6                     the verdict                                            address_hooks.h
 *                      recvmsg4/6, getpeername4/6                 nothing: hides the redirect to the resolver            address_hooks.h
 *                      egress, ingress                            each packet                                            packet_hooks.h
 *                      connect_unix, sendmsg_unix                 named unix sockets (6.7+)                              unix_hooks.h
 *                      sock_ops                                   nothing: lets TCP end what was refused                 end_hooks.h
 *                      device                                     device nodes that lead past all of this                device_hook.h
 *   host               lsm_*                                      what only a security hook sees, where it acts           lsm.h
 *   root               guard_sock_create, _connect4/6, _sendmsg4/6 sockets that were made elsewhere                      guard.h
 *
 * The decision itself is verdict.h, its vocabulary netcordon_abi.h, its maps maps.h. A program that cannot decide refuses, with a reason of its own
 * where there is a slot to count it for; only the guard lets pass. Which programs are optional the loader finds by trying, never by version.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "maps.h"

static __always_inline const struct nc_policy_value *nc_find_policy(__u8 authority, const struct nc_policy_key *key)
{
	return authority == NC_AUTHORITY_PLANE ? bpf_map_lookup_elem(&plane_policy, key) : bpf_map_lookup_elem(&workload_policy, key);
}

static __always_inline const struct nc_grant_value *nc_find_grant(const struct nc_grant_key *key)
{
	return bpf_map_lookup_elem(&grants, key);
}

static __always_inline __u32 nc_find_floor(const union nc_address *address)
{
	const __u32 *kind = bpf_map_lookup_elem(&host_floor, address);
	struct nc_prefix_key key;

	if (kind)
		return *kind;
	key.length = 128;
	key.words_be[0] = address->words_be[0];
	key.words_be[1] = address->words_be[1];
	key.words_be[2] = address->words_be[2];
	key.words_be[3] = address->words_be[3];
	kind = bpf_map_lookup_elem(&host_floor_prefixes, &key);
	return kind ? *kind : 0;
}

static __always_inline const struct nc_settings *nc_find_settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

static __always_inline __u64 nc_boot_ns(void)
{
	return bpf_ktime_get_boot_ns();
}

#include "verdict.h"
#include "emit.h"
#include "socket.h"
#include "address_hooks.h"
#include "socket_hooks.h"
#include "packet_hooks.h"
#include "unix_hooks.h"
#include "end_hooks.h"
#include "device_hook.h"
#include "guard.h"
#include "lsm.h"

char LICENSE[] SEC("license") = "GPL";
