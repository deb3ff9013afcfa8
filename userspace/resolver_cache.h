/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * resolver_cache.h - what is known of each listed name and type, and who waits for it
 *
 * An entry is EMPTY (nothing known), ASKING (a lookup is under way, clients wait) or KNOWN. It is made when its name is first asked for and kept: there are at
 * most three for each listed name, so the policy bounds them.
 */
#ifndef NC_RESOLVER_CACHE_H
#define NC_RESOLVER_CACHE_H

#include "resolver.h"

/* Who asked, and how the answer goes back. stream: index of a TCP connection and its generation, or -1 for a datagram on socket `fd`. */
struct nc_resolver_client {
	struct nc_resolver_client *next;
	struct nc_dns_question question;
	int fd;
	int stream;
	uint32_t stream_generation;
	struct sockaddr_storage address;
	socklen_t length;
};

struct nc_resolver_entry {
	const struct nc_resolver_name *name;
	enum nc_dns_type type;
	struct nc_lookup *lookup; /* ASKING */
	int watched_fd;		  /* the lookup's descriptor as epoll knows it, -1: none */
	struct nc_resolver_client *clients;
	bool known;
	bool failed; /* the last lookup failed: not asked again before retry_ms */
	uint64_t retry_ms;
	uint64_t expires_ms; /* CLOCK_MONOTONIC */
	enum nc_dns_outcome outcome;
	size_t count;
	union nc_address *addresses;
	struct nc_dns_name alias;
	struct nc_resolver_entry *next_asking;
};

struct nc_resolver_cache {
	const struct nc_resolver_name *names;
	size_t name_count;
	struct nc_resolver_entry **entries; /* three for each name: A, AAAA, CNAME */
};

/* Into `fresh`, which is open with other names, moves what is known of the names that stand in both; `cache` keeps the rest and is still to be closed. */
void nc_resolver_cache_move(struct nc_resolver_cache *cache, struct nc_resolver_cache *fresh);
int nc_resolver_cache_open(struct nc_resolver_cache *cache, const struct nc_resolver_name *names, size_t count);
void nc_resolver_cache_close(struct nc_resolver_cache *cache);
/* NULL: the name is not listed. */
const struct nc_resolver_name *nc_resolver_cache_listed(const struct nc_resolver_cache *cache, const struct nc_dns_name *name);
/* The entry of a listed name, made if need be; NULL without memory. */
struct nc_resolver_entry *nc_resolver_cache_entry(struct nc_resolver_cache *cache, const struct nc_resolver_name *name, enum nc_dns_type type);

#endif
