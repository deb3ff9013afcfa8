// SPDX-License-Identifier: GPL-2.0-only
/* reads_name.bpf.c - the reader of first bytes as a program of its own, for test_server_name_run.c: no socket and no map is asked */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "server_name.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} found SEC(".maps");

/* The first payload begins behind 40 bytes, where a TCP segment over IPv4 has it. */
SEC("cgroup_skb/egress")
int reads_name(struct __sk_buff *skb)
{
	__u32 zero = 0;
	__u64 *result = bpf_map_lookup_elem(&found, &zero);
	__u8 first;

	if (!result || bpf_skb_load_bytes(skb, 40, &first, 1))
		return 0;
	if (first == 22)
		*result = nc_tls_name(skb, 40, skb->len - 40);
	else
		*result = nc_http_name(skb, 40, skb->len - 40, 80);
	return 1;
}

char reads_name_license[] SEC("license") = "GPL";
