// SPDX-License-Identifier: GPL-2.0-only
/*
 * strays.c - places, rings and cgroups that no record speaks of: only when a runtime folder was wiped by hand, or a record is not whole
 *
 * What is found without a record is an orphan too, but only if it was there before the records were read and is still there after: whoever makes something
 * writes its record first, and removes it before its record. As long as one record cannot be read whose owner may live, nothing is a stray.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

struct strays {
	uint32_t keys[256];
	uint64_t generations[256];
	char cgroups[256][48];
	size_t claims_count, cgroups_count;
};

static int stray_claim(void *context, const void *key, const void *value)
{
	struct strays *strays = context;

	if (strays->claims_count == sizeof(strays->keys) / sizeof(strays->keys[0]))
		return 1;
	memcpy(&strays->keys[strays->claims_count], key, sizeof(uint32_t));
	memcpy(&strays->generations[strays->claims_count++], value, sizeof(uint64_t));
	return 0;
}

static void stray_cgroups(struct nc_host *host, struct strays *strays)
{
	int fd = openat(host->slice_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) && strays->cgroups_count < 256) {
		if (entry->d_type == DT_DIR && strlen(entry->d_name) == 32)
			snprintf(strays->cgroups[strays->cgroups_count++], 48, "%.47s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* Crosses out what some record speaks of. */
struct crossing {
	struct nc_host *host;
	struct strays *strays;
	struct nc_error *reterr;
};

/* One that is not whole says nothing where its owner is dead. Where he lives, or where it cannot be looked at, something of his would look like a stray. */
static int spoken_of(struct crossing *crossing, const char *name, struct nc_record *ret_record)
{
	NC_CLOSE int fd = -1;
	bool held = true;
	int r = nc_record_certain(crossing->host, name, &fd, ret_record, crossing->reterr);

	if (r != -EBADMSG)
		return r < 0 ? nc_record_unreadable(crossing->host, name, crossing->reterr) : r;
	r = nc_record_held(fd, &held, crossing->reterr);
	if (r < 0 || !held)
		return r;
	nc_error_set(crossing->reterr, NC_E_SYSTEM, -EBADMSG, "a claim file is not whole, and its owner lives");
	return nc_record_unreadable(crossing->host, name, crossing->reterr);
}

static int cross_out(void *context, const char *name)
{
	struct crossing *crossing = context;
	struct strays *strays = crossing->strays;
	struct nc_record record;
	int r = spoken_of(crossing, name, &record);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < strays->claims_count; i++) {
		if (strays->generations[i] == record.generation)
			strays->generations[i] = 0;
	}
	for (size_t i = 0; i < strays->cgroups_count; i++) {
		for (int a = 0; a < 2; a++) {
			const char *last = strrchr(record.cgroup[a], '/');

			if (last && !strcmp(last + 1, strays->cgroups[i]))
				strays->cgroups[i][0] = '\0';
		}
	}
	return 0;
}

int nc_strays_end(struct nc_host *host, uint32_t *cleaned, struct nc_error *reterr)
{
	NC_FREE struct strays *strays = calloc(1, sizeof(*strays));
	struct crossing crossing = {.host = host, .strays = strays, .reterr = reterr};
	int claims_fd, r;

	if (!strays)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "look for orphans");
	r = nc_host_map(host, NC_MAP_CLAIMS, &claims_fd, reterr);
	r = r < 0 ? r : nc_map_walk(claims_fd, sizeof(uint32_t), sizeof(uint64_t), stray_claim, strays, reterr);
	stray_cgroups(host, strays);
	r = r < 0 ? r : nc_instances_names(host, cross_out, &crossing, reterr);
	for (size_t i = 0; i < strays->cgroups_count && r >= 0; i++) {
		NC_CLOSE int fd = -1;

		if (!strays->cgroups[i][0])
			continue;
		fd = openat(host->slice_fd, strays->cgroups[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		r = nc_cgroup_end(fd, 5000, reterr);
		r = r < 0 ? r : nc_cgroup_remove(host->slice_fd, strays->cgroups[i], reterr);
	}
	/* indexes before rings: a slot is closed before its index is free */
	for (size_t i = 0; i < 2 * strays->claims_count && r >= 0; i++) {
		size_t stray = i % strays->claims_count;
		bool is_ring = strays->keys[stray] & NC_RING_KEY;

		if (!strays->generations[stray] || is_ring != (i >= strays->claims_count))
			continue;
		r = nc_claim_end_stray(host, strays->generations[stray], is_ring ? NC_INDEX_NONE : strays->keys[stray], reterr);
		*cleaned += r >= 0 && !is_ring;
	}
	return r;
}
