// SPDX-License-Identifier: GPL-2.0-only
/*
 * policy_map.c - a compiled image into a policy map, back out of it, and away
 *
 * Writing goes in batches where the kernel takes them (5.6+), else one by one. Comparing asks for each key of a small image; a large one is compared by
 * walking the whole map and looking every entry up in the image, which is sorted: measured on 6.18, a million entries 0.6 s against 3 s. Only the walk
 * sees an entry of this generation and revision that is *not* in the image, so the closing question (`exactly`) always walks.
 */
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

#define CHUNK 1024u
#define WALK_FROM 8192u /* entries from which a walk is quicker than asking for each */
#define NC_ENOTSUPP 524

/* In one piece, as large as is needed: most images are small. */
struct chunk {
	struct nc_policy_value *values;
	struct nc_policy_key keys[];
};

static struct chunk *chunk_alloc(const struct nc_image *image)
{
	size_t count = image->count < CHUNK ? image->count : CHUNK;
	struct chunk *chunk = malloc(sizeof(*chunk) + count * (sizeof(chunk->keys[0]) + sizeof(chunk->values[0])));

	if (chunk)
		chunk->values = (struct nc_policy_value *)(void *)(chunk->keys + count);
	return chunk;
}

static uint32_t chunk_fill(struct chunk *chunk, const struct nc_image *image, size_t from, uint64_t generation, uint64_t revision)
{
	uint32_t count = image->count - from < CHUNK ? (uint32_t)(image->count - from) : CHUNK;

	for (uint32_t i = 0; i < count; i++) {
		chunk->keys[i] = image->entries[from + i].key;
		chunk->keys[i].generation = generation;
		chunk->keys[i].revision = revision;
		chunk->values[i] = image->entries[from + i].value;
	}
	return count;
}

static bool no_batches(int status)
{
	return status == -EINVAL || status == -NC_ENOTSUPP || status == -EOPNOTSUPP;
}

static int chunk_write(int map_fd, const struct chunk *chunk, uint32_t count)
{
	uint32_t done = count;
	int r = bpf_map_update_batch(map_fd, chunk->keys, chunk->values, &done, NULL); /* takes no BPF_NOEXIST; the generation is new anyway */

	if (!r || !no_batches(r))
		return r;
	for (uint32_t i = 0; i < count; i++) {
		r = bpf_map_update_elem(map_fd, &chunk->keys[i], &chunk->values[i], BPF_NOEXIST);
		if (r)
			return r;
	}
	return 0;
}

static int chunk_delete(int map_fd, const struct chunk *chunk, uint32_t count)
{
	uint32_t done = count;
	int r = bpf_map_delete_batch(map_fd, chunk->keys, &done, NULL);

	if (!r)
		return 0;
	r = 0;
	for (uint32_t i = 0; i < count; i++) { /* a batch stops at an absent key; here absent is what is wanted */
		int status = bpf_map_delete_elem(map_fd, &chunk->keys[i]);

		if (status && status != -ENOENT)
			r = r ?: status;
	}
	return r;
}

int nc_policy_remove(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, struct nc_error *reterr)
{
	NC_FREE struct chunk *chunk = chunk_alloc(image);
	int r = 0;

	if (!chunk)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "remove %zu policy entries", image->count);
	for (size_t from = 0; from < image->count; from += CHUNK) {
		int status = chunk_delete(map_fd, chunk, chunk_fill(chunk, image, from, generation, revision));

		r = r ?: status;
	}
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "remove %zu policy entries", image->count) : 0;
}

static int count_entry(void *context, const void *key, const void *value)
{
	(void)key, (void)value;
	++*(size_t *)context;
	return 0;
}

static int full(const struct nc_image *image, struct nc_error *reterr)
{
	nc_error_set(reterr, NC_E_POLICY_FULL, -E2BIG, "the map is full: %zu policy entries do not fit", image->count);
	return nc_error_hint(reterr, "raise pools.policy_entries in the configuration, then netcordon host down and host up");
}

/* A large image that does not fit must not hold the map's last places, even for a moment: others would be refused meanwhile. */
static int room_for(int map_fd, const struct nc_image *image, struct nc_error *reterr)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	size_t taken = 0;
	int r = image->count < CHUNK ? 0 : bpf_obj_get_info_by_fd(map_fd, &info, &size);

	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "look at a policy map");
	if (!info.max_entries)
		return 0;
	r = nc_map_walk(map_fd, sizeof(struct nc_policy_key), sizeof(struct nc_policy_value), count_entry, &taken, reterr);
	if (r < 0)
		return r;
	return taken + image->count > info.max_entries ? full(image, reterr) : 0;
}

int nc_policy_write(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, struct nc_error *reterr)
{
	NC_FREE struct chunk *chunk = chunk_alloc(image);
	struct nc_error second;
	size_t from = 0;
	int r = chunk ? room_for(map_fd, image, reterr) : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "write %zu policy entries", image->count);

	if (r < 0)
		return r;
	for (; from < image->count && !r; from += CHUNK)
		r = chunk_write(map_fd, chunk, chunk_fill(chunk, image, from, generation, revision));
	if (!r)
		return 0;
	if (r == -E2BIG)
		full(image, reterr);
	else
		nc_error_sys(reterr, NC_E_SYSTEM, r, "write %zu policy entries", image->count);
	if (from > image->count)
		from = image->count;
	nc_policy_remove(map_fd, generation, revision, &(struct nc_image){.entries = image->entries, .count = from}, &second);
	return r;
}

static int mismatch(struct nc_error *reterr, const char *what, const struct nc_policy_key *key)
{
	const uint8_t *b = key->address.bytes;

	nc_error_set(reterr, NC_E_SEAL_MISMATCH, -EBADMSG,
		     "%s: address %02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x, port %u, protocol %u, kind %u", what, b[0],
		     b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15], __builtin_bswap16(key->port_be),
		     key->protocol, key->kind);
	return nc_error_hint(reterr, "somebody else writes to the policy maps: find it with `bpftool map` before launching again");
}

static int compare_singly(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, struct nc_error *reterr)
{
	for (size_t i = 0; i < image->count; i++) {
		struct nc_policy_key key = image->entries[i].key;
		struct nc_policy_value value;
		int r;

		key.generation = generation;
		key.revision = revision;
		r = bpf_map_lookup_elem(map_fd, &key, &value);
		if (r == -ENOENT)
			return mismatch(reterr, "an entry is missing", &key);
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "read a policy entry back");
		if (memcmp(&value, &image->entries[i].value, sizeof(value)))
			return mismatch(reterr, "an entry differs", &key);
	}
	return 0;
}

struct comparison {
	const struct nc_image *image;
	uint64_t generation, revision;
	size_t found;
	struct nc_error *reterr;
	bool reported;
};

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nc_policy_key));
}

static int compare_entry(void *context, const void *key, const void *value)
{
	struct comparison *c = context;
	struct nc_policy_key bare;
	const struct nc_policy_entry *entry;

	memcpy(&bare, key, sizeof(bare));
	if (bare.generation != c->generation || bare.revision != c->revision)
		return 0;
	bare.generation = 0;
	bare.revision = 0;
	/* the key is an entry's first member, so the entry's address is its key's */
	entry = bsearch(&bare, c->image->entries, c->image->count, sizeof(*entry), by_key);
	if (entry && !memcmp(value, &entry->value, sizeof(entry->value))) {
		c->found++;
		return 0;
	}
	c->reported = true;
	return mismatch(c->reterr, entry ? "an entry differs" : "an entry stands in the map that the image does not have", &bare);
}

int nc_policy_compare(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, bool exactly, struct nc_error *reterr)
{
	struct nc_error walking;
	struct comparison comparison = {.image = image, .generation = generation, .revision = revision, .reterr = reterr};
	int r;

	if (!exactly && image->count < WALK_FROM)
		return compare_singly(map_fd, generation, revision, image, reterr);
	r = nc_map_walk(map_fd, sizeof(struct nc_policy_key), sizeof(struct nc_policy_value), compare_entry, &comparison, &walking);
	if (comparison.reported)
		return r;
	if (r < 0) {
		*reterr = walking;
		return r;
	}
	/* Others write to the map meanwhile, and a walk may then pass an entry by: what it did not see is asked for by its key. */
	return comparison.found == image->count ? 0 : compare_singly(map_fd, generation, revision, image, reterr);
}

static bool older(const void *context, const void *key)
{
	const uint64_t *current = context; /* generation, revision */
	uint64_t found[2];

	memcpy(found, key, sizeof(found));
	return found[0] == current[0] && found[1] != current[1];
}

int nc_policy_purge_older(int map_fd, uint64_t generation, uint64_t revision, struct nc_error *reterr)
{
	const uint64_t current[2] = {generation, revision};

	return nc_map_purge_if(map_fd, sizeof(struct nc_policy_key), sizeof(struct nc_policy_value), older, current, reterr);
}
