/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * policy.c - a checked profile into the image that the kernel holds
 *
 * Entries come out sorted by the bytes of their keys, which is the order of the digest and of the read-back comparison; the order in the profile leaves
 * no trace. Two destinations that make one key cannot come here: the profile refuses the same host, port and protocol twice.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "policy.h"

static int compare_entries(const void *left, const void *right)
{
	const struct nc_policy_entry *a = left, *b = right;

	return memcmp(&a->key, &b->key, sizeof(a->key));
}

static int compile_entry(const struct nc_destination *destination, enum nc_authority authority, size_t index, struct nc_policy_entry *entry,
			 struct nc_error *reterr)
{
	if (!destination->literal) {
		nc_error_set(reterr, NC_E_NAMES_UNSUPPORTED, -EOPNOTSUPP, "%s is a host name, and this build has no resolver", destination->name);
		snprintf(reterr->pointer, sizeof(reterr->pointer), "/%s/destinations/%zu/host", authority == NC_AUTHORITY_PLANE ? "plane" : "network",
			 index);
		return nc_error_hint(reterr, "list the addresses that are meant");
	}
	entry->key.address = destination->address;
	entry->key.port_be = htons(destination->port);
	entry->key.protocol = destination->protocol;
	entry->key.kind = NC_POLICY_LITERAL;
	if (authority == NC_AUTHORITY_PLANE && destination->non_public)
		entry->value.flags |= NC_POLICY_NON_PUBLIC;
	return 0;
}

static enum nc_mode mode_of(const struct nc_profile *profile, enum nc_authority authority, size_t count)
{
	if (authority == NC_AUTHORITY_PLANE)
		return count ? NC_MODE_ALLOWLIST : NC_MODE_NONE;
	return profile->mode == NC_MODE_ALLOWLIST && !count ? NC_MODE_NONE : profile->mode;
}

int nc_policy_compile(const struct nc_profile *profile, enum nc_authority authority, struct nc_image *ret_image, struct nc_error *reterr)
{
	bool plane = authority == NC_AUTHORITY_PLANE;
	const struct nc_destination *destinations = plane ? profile->plane_destinations : profile->destinations;
	size_t count = plane ? profile->plane_destination_count : profile->destination_count;
	NC_FREE struct nc_policy_entry *entries = NULL;
	struct nc_image image = { .authority = authority, .mode = mode_of(profile, authority, count), .count = count };
	int status;

	if (count) {
		entries = calloc(count, sizeof(*entries));
		if (!entries)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for %zu policy entries", count);
	}
	for (size_t i = 0; i < count; i++) {
		status = compile_entry(&destinations[i], authority, i, &entries[i], reterr);
		if (status)
			return status;
	}
	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	if (!plane && profile->loopback_own_netns)
		image.flags |= NC_SLOT_LOOPBACK_OPEN;
	if (!plane && profile->mode == NC_MODE_UNRESTRICTED && profile->non_public)
		image.flags |= NC_SLOT_NON_PUBLIC_OPEN;
	image.entries = NC_TAKE_PTR(entries);
	*ret_image = image;
	return 0;
}

void nc_image_free(struct nc_image *image)
{
	free(image->entries);
	image->entries = NULL;
	image->count = 0;
}

void nc_image_digest(const struct nc_image *image, struct nc_digest *ret_digest)
{
	const uint8_t head[] = { image->authority, image->mode, image->flags };
	uint64_t count_le = htole64(image->count);
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, head, sizeof(head));
	crypto_hash_sha256_update(&state, (const unsigned char *)&count_le, sizeof(count_le));
	if (image->count)
		crypto_hash_sha256_update(&state, (const unsigned char *)image->entries, image->count * sizeof(*image->entries));
	crypto_hash_sha256_final(&state, ret_digest->bytes);
}
