/* SPDX-License-Identifier: GPL-2.0-only */
/* edge_told.c - a set of what was told, by a keyed hash: a workload cannot choose names that collide */
#include "edge_told.h"

#include <sodium.h>
#include <string.h>

static uint64_t hash_of(const struct nc_edge_name *name)
{
	static unsigned char key[crypto_shorthash_KEYBYTES];
	static bool keyed;
	struct {
		uint32_t what, type, authority, reserved;
		union nc_address address;
		struct nc_dns_name name;
	} subject;
	uint64_t hash;

	if (!keyed)
		crypto_shorthash_keygen(key);
	keyed = true;
	memset(&subject, 0, sizeof(subject));
	subject.what = name->what;
	subject.type = name->type;
	subject.authority = name->authority;
	subject.address = name->address;
	subject.name = name->name;
	crypto_shorthash((unsigned char *)&hash, (const unsigned char *)&subject, sizeof(subject), key);
	return hash ? hash : 1;
}

bool nc_edge_worth_telling(struct nc_edge_told *told, const struct nc_edge_name *name)
{
	const size_t size = sizeof(told->seen) / sizeof(told->seen[0]);
	uint64_t hash = hash_of(name);
	size_t at = hash % size;

	/* At most half of the places are ever taken, so a free one is found. */
	while (told->seen[at]) {
		if (told->seen[at] == hash)
			return false;
		at = (at + 1) % size;
	}
	if (told->count == NC_EDGE_TOLD_MAX) {
		told->cut++;
		return false;
	}
	told->seen[at] = hash;
	told->count++;
	return true;
}
