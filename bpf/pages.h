/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pages.h - whose pages a packet's payload lies in
 *
 * What a process writes is copied, and the copy is the kernel's alone. What it hands over by reference (sendfile, splice, MSG_ZEROCOPY, a ring's fixed buffers)
 * stays its own, to be changed at any time. The kernel marks such packets (SKBFL_SHARED_FRAG), but the mark is for its own checksums: from 6.5 and 6.10 on, and
 * up to 7.1 and the stable releases of June 2026, it was lost where the payload of two packets of the queue was put together (tcp_clone_payload, skb_shift).
 * So the pages themselves are looked at as well. A page of a file, of shared memory or of a process has an owner (page.mapping). A socket's own buffer has
 * none, and it is known by its first page (sk_page_frag): the other pages of a large one, which are told by a bit of the word that leads to the first, are not
 * where a copy begins.
 */
#ifndef NC_BPF_PAGES_H
#define NC_BPF_PAGES_H

#include <bpf/bpf_core_read.h>
#include "server_name.h"

#define NC_PARTS_MAX 17 /* MAX_SKB_FRAGS, as nearly every kernel has it; a first payload of more is not one that was written at once */

/* The kernel's mark: 1, 0, or -1 when it cannot be read. */
static __always_inline int nc_pages_marked(const struct skb_shared_info *shared)
{
	__u8 flags = 0;

	if (bpf_core_field_exists(shared->flags)) {
		if (bpf_core_read(&flags, sizeof(flags), &shared->flags))
			return -1;
		return !!(flags & 0x02); /* SKBFL_SHARED_FRAG */
	}
	if (bpf_core_read(&flags, sizeof(flags), &shared->tx_flags))
		return -1;
	return !!(flags & 0x20); /* SKBTX_SHARED_FRAG */
}

/* Has this page an owner? 1, 0, or -1 when it cannot be read. */
static __always_inline int nc_page_owned(unsigned long address)
{
	const struct page *page = (const void *)address;
	unsigned long head = 0;
	void *mapping = 0;

	if (!address || (address & 1))
		return 1;
	if (bpf_core_field_exists(page->compound_head) && bpf_core_read(&head, sizeof(head), &page->compound_head))
		return -1;
	if (bpf_core_field_exists(page->mapping) && bpf_core_read(&mapping, sizeof(mapping), &page->mapping))
		return -1;
	return (head & 1) || mapping;
}

static __always_inline int nc_pages_owned(const struct skb_shared_info *shared)
{
	__u8 parts = 0;

	if (bpf_core_read(&parts, sizeof(parts), &shared->nr_frags))
		return -1;
	if (parts > NC_PARTS_MAX)
		return 1;
	for (int i = 0; i < NC_PARTS_MAX; i++) {
		unsigned long page = 0;
		int owned;

		if (i >= parts)
			break;
		if (bpf_probe_read_kernel(&page, sizeof(page),
					  (const char *)__builtin_preserve_access_index(&shared->frags) + i * sizeof(struct skb_frag)))
			return -1;
		owned = nc_page_owned(page);
		if (owned)
			return owned;
	}
	return 0;
}

/* 1: somebody else could change what this packet carries; 0: nobody; -1: it cannot be known. A packet program is given the kernel's own sk_buff under
 * another name; what it may not read there it may ask for. */
NC_VERIFIED_ALONE int nc_pages_foreign(struct __sk_buff *skb)
{
	const struct sk_buff *real = (const void *)skb;
	const struct skb_shared_info *shared;
	unsigned char *head = 0;
	unsigned int end = 0;
	int marked;

	if (!nc_reads_kernel)
		return -1;
	if (bpf_core_read(&head, sizeof(head), &real->head) || bpf_core_read(&end, sizeof(end), &real->end) || !head)
		return -1;
	shared = (const void *)(head + end);
	marked = nc_pages_marked(shared);
	return marked ? marked : nc_pages_owned(shared);
}

#endif
