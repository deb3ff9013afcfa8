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

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What is compiled: one authority's part of the profile. */
struct part {
	enum nc_authority authority;
	const struct nc_destination *destinations;
	size_t count;
};

static struct part part_of(const struct nc_profile *profile, enum nc_authority authority)
{
	struct part part = {.authority = authority, .destinations = profile->destinations, .count = profile->destination_count};

	if (authority == NC_AUTHORITY_PLANE) {
		part.destinations = profile->plane_destinations;
		part.count = profile->plane_destination_count;
	}
	return part;
}

/* The part's names, sorted, each once. */
static int collect_names(const struct part *part, struct nc_policy_names *ret_names, struct nc_error *reterr)
{
	NC_FREE const char **texts = calloc(part->count + 1, sizeof(*texts));
	size_t count = 0, kept = 0;

	if (!texts)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for %zu names", part->count);
	for (size_t i = 0; i < part->count; i++)
		if (!part->destinations[i].literal)
			texts[count++] = part->destinations[i].name;
	if (count)
		qsort(texts, count, sizeof(*texts), compare_texts);
	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(texts[kept - 1], texts[i]))
			texts[kept++] = texts[i];
	ret_names->texts = NC_TAKE_PTR(texts);
	ret_names->count = kept;
	return 0;
}

static void compile_entry(const struct part *part, const struct nc_destination *destination, const struct nc_policy_names *names,
			  struct nc_policy_entry *entry)
{
	if (destination->literal) {
		entry->key.address = destination->address;
		entry->key.kind = NC_POLICY_LITERAL;
	} else {
		const char *name = destination->name;
		const char **found = bsearch(&name, names->texts, names->count, sizeof(*names->texts), compare_texts);

		entry->key.address.words_be[3] = (__u32)(found - names->texts) + 1; /* in host order, as the header says */
		entry->key.kind = NC_POLICY_NAME;
	}
	entry->key.port_be = htons(destination->port);
	entry->key.protocol = destination->protocol;
	if (part->authority == NC_AUTHORITY_PLANE && destination->non_public)
		entry->value.flags |= NC_POLICY_NON_PUBLIC;
	if (destination->wire == NC_WIRE_TLS)
		entry->value.flags |= NC_POLICY_WIRE_TLS;
	if (destination->wire == NC_WIRE_HTTP)
		entry->value.flags |= NC_POLICY_WIRE_HTTP;
}

static enum nc_mode mode_of(const struct nc_profile *profile, enum nc_authority authority, size_t count)
{
	if (authority == NC_AUTHORITY_PLANE)
		return count ? NC_MODE_ALLOWLIST : NC_MODE_NONE;
	return profile->mode == NC_MODE_ALLOWLIST && !count ? NC_MODE_NONE : profile->mode;
}

static int compile(const struct nc_profile *profile, const struct part *part, const struct nc_policy_names *names, struct nc_image *ret_image,
		   struct nc_error *reterr)
{
	struct nc_image image = {.authority = part->authority, .mode = mode_of(profile, part->authority, part->count), .count = part->count};

	if (part->count) {
		image.entries = calloc(part->count, sizeof(*image.entries));
		if (!image.entries)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for %zu policy entries", part->count);
		for (size_t i = 0; i < part->count; i++)
			compile_entry(part, &part->destinations[i], names, &image.entries[i]);
		qsort(image.entries, image.count, sizeof(*image.entries), compare_entries);
	}
	if (part->authority == NC_AUTHORITY_WORKLOAD && profile->loopback_own_netns)
		image.flags |= NC_SLOT_LOOPBACK_OPEN;
	if (part->authority == NC_AUTHORITY_WORKLOAD && profile->mode == NC_MODE_UNRESTRICTED && profile->non_public)
		image.flags |= NC_SLOT_NON_PUBLIC_OPEN;
	if (part->authority == NC_AUTHORITY_WORKLOAD && profile->unix_gap_accepted)
		image.flags |= NC_SLOT_UNIX_OPEN;
	*ret_image = image;
	return 0;
}

int nc_policy_compile(const struct nc_profile *profile, enum nc_authority authority, struct nc_image *ret_image, struct nc_policy_names *ret_names,
		      struct nc_error *reterr)
{
	struct part part = part_of(profile, authority);
	struct nc_policy_names names = {0};
	int status = collect_names(&part, &names, reterr);

	if (status)
		return status;
	status = compile(profile, &part, &names, ret_image, reterr);
	if (status) {
		free(names.texts);
		return status;
	}
	*ret_names = names;
	return 0;
}

void nc_image_free(struct nc_image *image)
{
	free(image->entries);
	free(image->names);
	image->entries = NULL;
	image->names = NULL;
	image->count = image->name_count = 0;
}

void nc_image_digest(const struct nc_image *image, struct nc_digest *ret_digest)
{
	const uint8_t head[] = {image->authority, image->mode, image->flags};
	uint64_t count_le = htole64(image->count);
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, head, sizeof(head));
	crypto_hash_sha256_update(&state, (const unsigned char *)&count_le, sizeof(count_le));
	if (image->count)
		crypto_hash_sha256_update(&state, (const unsigned char *)image->entries, image->count * sizeof(*image->entries));
	if (image->name_count)
		crypto_hash_sha256_update(&state, (const unsigned char *)image->names, image->name_count * sizeof(*image->names));
	crypto_hash_sha256_final(&state, ret_digest->bytes);
}
