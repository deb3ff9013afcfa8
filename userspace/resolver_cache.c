// SPDX-License-Identifier: GPL-2.0-only
/* resolver_cache.c - the listed names, found by binary search, and their entries */
#include "resolver_cache.h"

#include <errno.h>
#include <stdlib.h>

static const enum nc_dns_type types[] = {NC_DNS_A, NC_DNS_AAAA, NC_DNS_CNAME};
#define TYPES (sizeof(types) / sizeof(types[0]))

int nc_resolver_cache_open(struct nc_resolver_cache *cache, const struct nc_resolver_name *names, size_t count)
{
	cache->entries = calloc(count ? count * TYPES : 1, sizeof(cache->entries[0]));
	if (!cache->entries)
		return -ENOMEM;
	cache->names = names;
	cache->name_count = count;
	return 0;
}

void nc_resolver_cache_close(struct nc_resolver_cache *cache)
{
	for (size_t i = 0; cache->entries && i < cache->name_count * TYPES; i++) {
		struct nc_resolver_entry *entry = cache->entries[i];

		if (!entry)
			continue;
		nc_lookup_stop(entry->lookup);
		while (entry->clients) {
			struct nc_resolver_client *client = entry->clients;

			entry->clients = client->next;
			free(client);
		}
		free(entry->addresses);
		free(entry);
	}
	free(cache->entries);
	cache->entries = NULL;
}

static int compare(const void *key, const void *element)
{
	return nc_dns_name_compare(key, &((const struct nc_resolver_name *)element)->name);
}

const struct nc_resolver_name *nc_resolver_cache_listed(const struct nc_resolver_cache *cache, const struct nc_dns_name *name)
{
	return bsearch(name, cache->names, cache->name_count, sizeof(cache->names[0]), compare);
}

void nc_resolver_cache_move(struct nc_resolver_cache *cache, struct nc_resolver_cache *fresh)
{
	for (size_t i = 0; i < cache->name_count; i++) {
		const struct nc_resolver_name *name = nc_resolver_cache_listed(fresh, &cache->names[i].name);

		if (!name || name->id != cache->names[i].id)
			continue;
		for (size_t j = 0; j < TYPES; j++) {
			struct nc_resolver_entry **from = &cache->entries[i * TYPES + j];

			if (*from)
				(*from)->name = name;
			fresh->entries[(size_t)(name - fresh->names) * TYPES + j] = *from;
			*from = NULL;
		}
	}
}

struct nc_resolver_entry *nc_resolver_cache_entry(struct nc_resolver_cache *cache, const struct nc_resolver_name *name, enum nc_dns_type type)
{
	struct nc_resolver_entry **place = &cache->entries[(size_t)(name - cache->names) * TYPES];

	for (size_t i = 0; i < TYPES; i++)
		if (types[i] == type)
			place += i;
	if (!*place) {
		*place = calloc(1, sizeof(**place));
		if (*place) {
			(*place)->name = name;
			(*place)->type = type;
			(*place)->watched_fd = -1;
		}
	}
	return *place;
}
