// SPDX-License-Identifier: GPL-2.0-only
/* sees_pages.bpf.c - what pages.h says of each payload that leaves, as a program of its own, for test_pages_run.c */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

const volatile unsigned char nc_reads_kernel = 1;

#include "pages.h"

struct seen {
	__u32 payloads; /* segments with one */
	int marked, owned, foreign;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps");

/* IPv4 over loopback, whose TCP header says how long it is. */
SEC("cgroup_skb/egress")
int sees_pages(struct __sk_buff *skb)
{
	const struct sk_buff *real = (const void *)skb;
	const struct skb_shared_info *shared;
	unsigned char *head = 0;
	unsigned int end = 0;
	struct seen *last;
	__u32 zero = 0;
	__u8 offset;

	last = bpf_map_lookup_elem(&seen, &zero);
	if (!last || bpf_skb_load_bytes(skb, 32, &offset, 1) || skb->len <= 20u + (offset >> 4) * 4u)
		return 1;
	bpf_core_read(&head, sizeof(head), &real->head);
	bpf_core_read(&end, sizeof(end), &real->end);
	shared = (const void *)(head + end);
	last->payloads++;
	last->marked = nc_pages_marked(shared);
	last->owned = nc_pages_owned(shared);
	last->foreign = nc_pages_foreign(skb);
	return 1;
}

char sees_pages_license[] SEC("license") = "GPL";
