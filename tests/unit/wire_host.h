/* SPDX-License-Identifier: GPL-2.0-only */
/* wire_host.h - the comparison of names on the wire compiled for the host: beside packet_host.h, what a TCP socket and a packet's pages would say */
#ifndef NC_TEST_WIRE_HOST_H
#define NC_TEST_WIRE_HOST_H

#include "packet_host.h"
#include "server_name.h"

static struct nc_name_key host_names[8];
static __u32 host_name_ids[8];
static size_t host_name_count;
static int host_pages_foreign; /* 1, 0, or -1: not told */
static __u32 host_acknowledged;

static __u32 nc_find_name_id(struct __sk_buff *skb, const struct nc_slot *slot, __u32 at, __u32 length)
{
	struct nc_name_key key = {};

	if (!nc_name_key_fill(&key, skb, at, length))
		return 0;
	key.generation = slot->generation;
	key.authority = slot->authority;
	for (size_t i = 0; i < host_name_count; i++)
		if (!memcmp(&host_names[i], &key, sizeof(key)))
			return host_name_ids[i];
	return 0;
}

static int nc_pages_foreign(struct __sk_buff *skb)
{
	(void)skb;
	return host_pages_foreign;
}

static __u32 nc_acknowledged(struct bpf_sock *socket)
{
	(void)socket;
	return host_acknowledged;
}

#include "wire.h"

#endif
