// SPDX-License-Identifier: GPL-2.0-only
/*
 * name_map.c - the names of an image into the map that the first bytes of a connection are looked up in, and away
 *
 * A name that two images hold keeps its entry; ids are never given to another name, so writing one again changes nothing. The claim remembers what stands in
 * the map, and the map holds nothing else of its generation; where that could not be had, it says so (`names_unknown`), and the end looks for them all.
 */
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

static struct nc_name_key key_of(const struct nc_claim *claim, const struct nc_image_name *name)
{
	struct nc_name_key key = name->key;

	key.generation = claim->record.generation;
	return key;
}

static int place(const struct nc_image *image)
{
	return image->authority == NC_AUTHORITY_PLANE ? 1 : 0;
}

static int by_text(const void *left, const void *right)
{
	const struct nc_image_name *a = left, *b = right;

	return memcmp(a->key.text, b->key.text, sizeof(a->key.text));
}

static bool holds(const struct nc_image_name *names, size_t count, const struct nc_image_name *name)
{
	return count && bsearch(name, names, count, sizeof(*names), by_text);
}

static int mismatch(struct nc_error *reterr, const char *what, const struct nc_image_name *name)
{
	nc_error_set(reterr, NC_E_SEAL_MISMATCH, -EBADMSG, "%s: name %u", what, name->id);
	return nc_error_hint(reterr, "somebody else writes to the map of names: find it with `bpftool map` before launching again");
}

static int compare(struct nc_claim *claim, int map_fd, const struct nc_image *image, struct nc_error *reterr)
{
	for (size_t i = 0; i < image->name_count; i++) {
		struct nc_name_key key = key_of(claim, &image->names[i]);
		uint32_t id = 0;
		int r = bpf_map_lookup_elem(map_fd, &key, &id);

		if (r == -ENOENT)
			return mismatch(reterr, "an entry is missing", &image->names[i]);
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "read a name back");
		if (id != image->names[i].id)
			return mismatch(reterr, "an entry differs", &image->names[i]);
	}
	return 0;
}

static int remove_without(struct nc_claim *claim, int map_fd, const struct nc_image_name *names, size_t count, const struct nc_image_name *kept,
			  size_t kept_count)
{
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		struct nc_name_key key = key_of(claim, &names[i]);
		int s = holds(kept, kept_count, &names[i]) ? 0 : bpf_map_delete_elem(map_fd, &key);

		r = s && s != -ENOENT ? r ?: s : r;
	}
	return r;
}

void nc_names_take_back(struct nc_claim *claim, const struct nc_image *image)
{
	struct nc_error ignored;
	int i = place(image), map_fd;

	if (image->name_count && nc_host_map(claim->host, NC_MAP_NAMES, &map_fd, &ignored) >= 0)
		remove_without(claim, map_fd, image->names, image->name_count, claim->names[i], claim->name_count[i]);
}

int nc_names_write(struct nc_claim *claim, const struct nc_image *image, struct nc_error *reterr)
{
	int map_fd;
	int r = image->name_count ? nc_host_map(claim->host, NC_MAP_NAMES, &map_fd, reterr) : 0;

	if (r < 0 || !image->name_count)
		return r;
	for (size_t name = 0; name < image->name_count && !r; name++) {
		struct nc_name_key key = key_of(claim, &image->names[name]);

		r = bpf_map_update_elem(map_fd, &key, &image->names[name].id, BPF_ANY);
	}
	if (r == -E2BIG)
		nc_error_set(reterr, NC_E_POLICY_FULL, r, "the map of names is full");
	else if (r)
		nc_error_sys(reterr, NC_E_SYSTEM, r, "write %zu names", image->name_count);
	r = r ?: compare(claim, map_fd, image, reterr);
	if (r)
		nc_names_take_back(claim, image);
	return r;
}

int nc_names_keep(struct nc_claim *claim, const struct nc_image *image, struct nc_error *reterr)
{
	struct nc_image_name *names = NULL;
	int i = place(image), map_fd, r = 0;

	if (image->name_count) {
		names = reallocarray(NULL, image->name_count, sizeof(*names));
		claim->names_unknown |= !names;
		if (!names)
			return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "remember %zu names", image->name_count);
		memcpy(names, image->names, image->name_count * sizeof(*names));
	}
	if (claim->name_count[i] && !(r = nc_host_map(claim->host, NC_MAP_NAMES, &map_fd, reterr))) {
		r = remove_without(claim, map_fd, claim->names[i], claim->name_count[i], names, image->name_count);
		claim->names_unknown |= r != 0;
		if (r)
			nc_error_sys(reterr, NC_E_SYSTEM, r, "remove names");
	}
	free(claim->names[i]);
	claim->names[i] = names;
	claim->name_count[i] = image->name_count;
	return r;
}

struct own {
	struct nc_name_key like;
	uint64_t count;
};

static int count_own(void *context, const void *key, const void *value)
{
	struct own *own = context;
	struct nc_name_key found;

	(void)value;
	memcpy(&found, key, sizeof(found));
	own->count += found.generation == own->like.generation && found.authority == own->like.authority;
	return 0;
}

int nc_names_check(struct nc_claim *claim, const struct nc_image *image, struct nc_error *reterr)
{
	struct own own = {.like = {.generation = claim->record.generation, .authority = image->authority}};
	int map_fd, r;

	if (!image->name_count) /* a name leads to an entry by its id, and such an entry would be one too many in the policy */
		return 0;
	r = nc_host_map(claim->host, NC_MAP_NAMES, &map_fd, reterr);
	r = r < 0 ? r : compare(claim, map_fd, image, reterr);
	r = r < 0 ? r : nc_map_walk(map_fd, sizeof(struct nc_name_key), sizeof(uint32_t), count_own, &own, reterr);
	if (r < 0)
		return r;
	return own.count <= image->name_count
		       ? 0
		       : nc_error_set(reterr, NC_E_SEAL_MISMATCH, -EBADMSG, "the map of names holds %llu names of the instance, not %zu",
				      (unsigned long long)own.count, image->name_count);
}

int nc_names_forget(struct nc_claim *claim, struct nc_error *reterr)
{
	const bool known = claim->owner && !claim->adopted && !claim->names_unknown;
	int map_fd, r, s;

	if (known && !claim->name_count[0] && !claim->name_count[1])
		return 0;
	r = nc_host_map(claim->host, NC_MAP_NAMES, &map_fd, reterr);
	if (r < 0)
		return r;
	if (!known)
		return nc_map_purge(map_fd, sizeof(struct nc_name_key), sizeof(uint32_t), claim->record.generation, reterr);
	r = 0;
	for (int i = 0; i < 2; i++) {
		s = remove_without(claim, map_fd, claim->names[i], claim->name_count[i], NULL, 0);
		r = r ?: s;
	}
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "remove names") : 0;
}
