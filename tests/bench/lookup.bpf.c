// SPDX-License-Identifier: GPL-2.0-only
/*
 * lookup.bpf.c - empty.bpf.c, but that connect4 looks one key up in a hash map like that of a policy: what a list of destinations costs at the very least
 */
#define LOOKS_UP
#include "empty.bpf.c"
#include "netcordon_abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 21); /* as many as curves makes the policy's */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct nc_policy_key);
	__type(value, struct nc_policy_value);
} listed SEC(".maps");

SEC("cgroup/connect4")
int connect4(struct bpf_sock_addr *ctx)
{
	struct nc_policy_key key = {.protocol = (__u8)ctx->protocol, .kind = NC_POLICY_LITERAL};

	key.address.words_be[2] = __builtin_bswap32(0xffff);
	key.address.words_be[3] = ctx->user_ip4;
	key.port_be = (__be16)ctx->user_port;
	return !!bpf_map_lookup_elem(&listed, &key);
}
