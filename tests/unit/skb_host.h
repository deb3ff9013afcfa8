/* SPDX-License-Identifier: GPL-2.0-only */
/* skb_host.h - a buffer that stands for the skb, for the kernel's packet code compiled for the host */
#ifndef NC_TEST_SKB_HOST_H
#define NC_TEST_SKB_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/bpf.h>

static const uint8_t *host_packet;
static size_t host_packet_size;
static int host_packet_scattered; /* 1: its headers do not lie in one piece, so they are to be copied */

static long bpf_skb_load_bytes(const struct __sk_buff *skb, __u32 offset, void *to, __u32 length)
{
	(void)skb;
	if (offset > host_packet_size || length > host_packet_size - offset)
		return -14;
	memcpy(to, host_packet + offset, length);
	return 0;
}

static inline const void *nc_packet_start(struct __sk_buff *skb, __u32 size)
{
	(void)skb;
	return host_packet_scattered || size > host_packet_size ? NULL : host_packet;
}

#endif
