/* SPDX-License-Identifier: GPL-2.0-only */
/* packet_host.h - the kernel's packet code compiled for the host: a buffer stands for the skb, arrays stand for the maps */
#ifndef NC_TEST_PACKET_HOST_H
#define NC_TEST_PACKET_HOST_H

#include "netcordon_abi.h"
#include "skb_host.h"

static struct nc_settings host_settings;
static struct nc_policy_entry host_entries[16]; /* authority in value.reserved */
static size_t host_entry_count;
static union nc_address host_floor_address;
static __u32 host_floor_kind;

static const struct nc_policy_value *nc_find_policy(__u8 authority, const struct nc_policy_key *key)
{
	for (size_t i = 0; i < host_entry_count; i++)
		if (host_entries[i].value.reserved == authority && !memcmp(&host_entries[i].key, key, sizeof(*key)))
			return &host_entries[i].value;
	return NULL;
}

static const struct nc_grant_value *(*host_find_grant)(const struct nc_grant_key *key); /* NULL: there are no grants */

static const struct nc_grant_value *nc_find_grant(const struct nc_grant_key *key)
{
	return host_find_grant ? host_find_grant(key) : NULL;
}

static __u32 nc_find_floor(const union nc_address *address)
{
	return host_floor_kind && !memcmp(address, &host_floor_address, sizeof(*address)) ? host_floor_kind : 0;
}

static const struct nc_settings *nc_find_settings(void)
{
	return &host_settings;
}

static __u64 nc_boot_ns(void)
{
	return 1;
}

#include "backstop.h"

#endif
