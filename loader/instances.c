// SPDX-License-Identifier: GPL-2.0-only
/*
 * instances.c - all instances of a host: telling them, counting what is theirs, ending those that nobody owns
 *
 * What no record speaks of is strays.c.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "inside.h"

int nc_instances_names(struct nc_host *host, int (*each)(void *context, const char *name), void *context, struct nc_error *reterr)
{
	int fd = openat(host->folder_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r == -ENOENT ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, r, "open %s/instances", host->folder);
	}
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			r = each(context, entry->d_name);
	}
	closedir(dir);
	return r;
}

/* ---- telling ------------------------------------------------------------------------------------------------------------------------------ */

struct tally_row {
	uint64_t generation;
	uint64_t revision;
	uint64_t present;
};

struct tally {
	struct tally_row *rows; /* sorted by generation */
	size_t count, capacity;
};

static int by_generation(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	return x->generation < y->generation ? -1 : x->generation > y->generation;
}

static int tally_entry(void *context, const void *key, const void *value)
{
	struct tally *tally = context;
	struct nc_policy_key k;
	struct tally_row *row;

	(void)value;
	memcpy(&k, key, sizeof(k));
	row = bsearch(&(struct tally_row){.generation = k.generation}, tally->rows, tally->count, sizeof(*row), by_generation);
	if (row && row->revision == k.revision)
		row->present++;
	return 0;
}

static int tally_claim(void *context, const void *key, const void *value)
{
	struct tally *tally = context;
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	if (index & NC_RING_KEY)
		return 0;
	if (tally->count == tally->capacity) {
		size_t capacity = tally->capacity ? 2 * tally->capacity : 64;
		struct tally_row *rows = realloc(tally->rows, capacity * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		tally->rows = rows;
		tally->capacity = capacity;
	}
	tally->rows[tally->count++] = (struct tally_row){.revision = index}; /* the slot's revision comes later */
	memcpy(&tally->rows[tally->count - 1].generation, value, sizeof(uint64_t));
	return 0;
}

/* Counts, in one walk of the authority's policy map, the entries of each claimed generation's current revision. */
static int tally_authority(struct nc_host *host, int i, struct tally *tally, struct nc_error *reterr)
{
	int claims_fd, slots_fd, policy_fd;
	int r = nc_host_map(host, NC_MAP_CLAIMS, &claims_fd, reterr);

	r = r < 0 ? r : nc_host_map(host, NC_MAP_AUTHORITIES, &slots_fd, reterr);
	r = r < 0 ? r : nc_host_map(host, i ? NC_MAP_PLANE_POLICY : NC_MAP_WORKLOAD_POLICY, &policy_fd, reterr);
	r = r < 0 ? r : nc_map_walk(claims_fd, sizeof(uint32_t), sizeof(uint64_t), tally_claim, tally, reterr);
	for (size_t row = 0; row < tally->count && r >= 0; row++) {
		uint32_t slot = 2 * (uint32_t)tally->rows[row].revision + (uint32_t)i;
		struct nc_slot found;

		r = bpf_map_lookup_elem(slots_fd, &slot, &found);
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "read slot %u", slot);
		tally->rows[row].revision = found.generation == tally->rows[row].generation ? found.revision : 0;
	}
	if (r < 0)
		return r;
	if (tally->count)
		qsort(tally->rows, tally->count, sizeof(*tally->rows), by_generation);
	r = tally->count ? nc_map_walk(policy_fd, sizeof(struct nc_policy_key), sizeof(struct nc_policy_value), tally_entry, tally, reterr) : 0;
	return r < 0 ? r : 0;
}

struct telling {
	struct nc_host *host;
	struct tally tallies[2];
	int (*each)(void *context, const struct nc_instance_row *row);
	void *context;
	struct nc_error *reterr;
};

static void read_counters(struct nc_host *host, uint32_t index, struct nc_counters counters[2])
{
	struct nc_error ignored;
	int fd;

	if (nc_host_map(host, NC_MAP_COUNTERS, &fd, &ignored) < 0)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t slot = 2 * index + i;

		bpf_map_lookup_elem(fd, &slot, &counters[i]);
	}
}

static int tell_one(void *context, const char *name)
{
	struct telling *telling = context;
	struct nc_instance_row row = {.index = NC_INDEX_NONE};
	struct nc_record record;
	struct nc_error ignored;
	NC_CLOSE int fd = -1;
	NC_CLOSE int cgroup_fd = -1;

	if (nc_record_certain(telling->host, name, &fd, &record, &ignored) <= 0)
		return 0; /* comes or goes at this moment, or has none that is whole */
	snprintf(row.name, sizeof(row.name), "%.*s", NC_INSTANCE_NAME_MAX, name);
	if (nc_path(row.folder, telling->reterr, "%s/instances/%s", telling->host->folder, name) < 0)
		return telling->reterr->status;
	memcpy(row.cgroup, record.cgroup[0], sizeof(row.cgroup));
	row.generation = record.generation;
	row.index = record.index;
	row.kept = record.kept;
	row.undead = record.undead;
	row.mode = record.mode;
	if (nc_record_held(fd, &row.owner_lives, telling->reterr) < 0)
		return telling->reterr->status;
	if (row.cgroup[0])
		cgroup_fd = open(row.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup_fd >= 0)
		nc_cgroup_is_populated(cgroup_fd, &row.populated, &ignored);
	for (int i = 0; i < 2; i++) {
		struct tally *tally = &telling->tallies[i];
		struct tally_row *found = tally->count ? bsearch(&(struct tally_row){.generation = record.generation}, tally->rows, tally->count,
								 sizeof(*tally->rows), by_generation)
						       : NULL;

		row.intended[i] = record.intended[i];
		row.present[i] = found ? found->present : 0;
	}
	if (row.index != NC_INDEX_NONE)
		read_counters(telling->host, row.index, row.counters);
	return telling->each(telling->context, &row) ? 1 : 0;
}

int nc_instances(struct nc_host *host, int (*each)(void *context, const struct nc_instance_row *row), void *context, struct nc_error *reterr)
{
	struct telling telling = {.host = host, .each = each, .context = context, .reterr = reterr};
	int r = tally_authority(host, 0, &telling.tallies[0], reterr);

	r = r < 0 ? r : tally_authority(host, 1, &telling.tallies[1], reterr);
	r = r < 0 ? r : nc_instances_names(host, tell_one, &telling, reterr);
	free(telling.tallies[0].rows);
	free(telling.tallies[1].rows);
	return r < 0 ? r : 0;
}

struct cgroups {
	struct nc_host *host;
	int (*each)(void *context, const char *name, const char *cgroup);
	void *context;
	struct nc_error *reterr;
};

static int tell_cgroup(void *context, const char *name)
{
	const struct cgroups *cgroups = context;
	struct nc_record record;
	NC_CLOSE int fd = -1;
	int r = nc_record_certain(cgroups->host, name, &fd, &record, cgroups->reterr);

	if (r < 0)
		return nc_record_unreadable(cgroups->host, name, cgroups->reterr);
	if (!r || !record.cgroup[0][0])
		return 0;
	return cgroups->each(cgroups->context, name, record.cgroup[0]) ? 1 : 0;
}

int nc_instances_cgroups(struct nc_host *host, int (*each)(void *context, const char *name, const char *cgroup), void *context,
			 struct nc_error *reterr)
{
	struct cgroups cgroups = {.host = host, .each = each, .context = context, .reterr = reterr};
	int r = nc_instances_names(host, tell_cgroup, &cgroups, reterr);

	return r < 0 ? r : 0;
}

struct naming {
	struct nc_host *host;
	uint64_t owner;
};

static int names_owner(void *context, const char *name)
{
	struct naming *naming = context;
	struct nc_record record;
	struct nc_error error;
	NC_CLOSE int fd = -1;

	if (nc_record_open(naming->host, name, &fd, &error) < 0)
		return error.code != NC_E_INSTANCE_UNKNOWN;
	return nc_record_read_left(fd, &record, &error) < 0 || (record.generation && record.floor_owner == naming->owner);
}

bool nc_instances_name_owner(struct nc_host *host, uint64_t owner)
{
	struct naming naming = {.host = host, .owner = owner};
	struct nc_error ignored;

	return nc_instances_names(host, names_owner, &naming, &ignored) != 0;
}

/* ---- ending what nobody owns --------------------------------------------------------------------------------------------------------------- */

struct cleaning {
	struct nc_host *host;
	bool all;	/* owned and kept ones too */
	bool dead_only; /* none in which something runs, and none in a cgroup that somebody else may fill */
	uint32_t cleaned;
	struct nc_error *reterr;
	int status;
};

static void remember_error(struct cleaning *cleaning, int status, const struct nc_error *error)
{
	if (status >= 0 || cleaning->status < 0)
		return;
	cleaning->status = status;
	*cleaning->reterr = *error;
}

/* Does the record speak of an instance that was kept on purpose and still has something to keep? In doubt, yes. */
static bool keep(const struct nc_record *record)
{
	struct nc_error ignored;
	bool populated = true;
	struct stat status;
	NC_CLOSE int fd = -1;

	if (!record->kept || !record->cgroup[0][0])
		return false;
	fd = open(record->cgroup[0], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return errno != ENOENT;
	if (status.st_ino != record->cgroup_id[0])
		return false;
	if (record->cgroup_kind[0] == NC_CGROUP_TAKEN) /* it is somebody else's, who may fill it again */
		return true;
	return nc_cgroup_is_populated(fd, &populated, &ignored) < 0 || populated;
}

/* May something run in one of its cgroups, now or later? In doubt, yes. */
static bool may_run(const struct nc_record *record)
{
	struct nc_error ignored;
	bool populated = true;

	for (int i = 0; i < 2; i++) {
		NC_CLOSE int fd = -1;

		if (record->cgroup_kind[i] == NC_CGROUP_NONE)
			continue;
		if (record->cgroup_kind[i] == NC_CGROUP_TAKEN)
			return true;
		fd = open(record->cgroup[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || nc_cgroup_is_populated(fd, &populated, &ignored) < 0 || populated)
			return true;
	}
	return false;
}

/* Is it to be ended? 1, or 0, or an error. A folder without a claim file is what somebody left who died just there: it is. */
static int doomed(struct cleaning *cleaning, const char *name, bool *ret_held, struct nc_error *error)
{
	struct nc_record record = {0};
	NC_CLOSE int fd = -1;
	int r = nc_record_open(cleaning->host, name, &fd, error);

	*ret_held = false;
	if (r < 0)
		return error->code == NC_E_INSTANCE_UNKNOWN ? !cleaning->dead_only : r;
	r = nc_record_held(fd, ret_held, error);
	r = r < 0 ? r : nc_record_read_left(fd, &record, error);
	if (r < 0)
		return r;
	return cleaning->all || (!*ret_held && !keep(&record) && !(cleaning->dead_only && may_run(&record)));
}

static int clean_one(void *context, const char *name)
{
	struct cleaning *cleaning = context;
	struct nc_error error;
	bool held;
	int fd = -1;
	int r = doomed(cleaning, name, &held, &error);

	if (!r)
		return 0;
	if (r > 0)
		r = held ? nc_record_open(cleaning->host, name, &fd, &error) : nc_record_lock(cleaning->host, name, &fd, &error);
	if (r < 0 && (error.code == NC_E_INSTANCE_EXISTS || error.code == NC_E_INSTANCE_UNKNOWN))
		return 0; /* somebody else was quicker */
	r = r < 0 ? r : nc_claim_recover(cleaning->host, name, fd, &error);
	if (r == -ETIMEDOUT) /* it cannot be ended; nothing of it runs, its slots are closed, and `status` shows it */
		return 0;
	remember_error(cleaning, r, &error);
	if (r >= 0)
		cleaning->cleaned++;
	return 0;
}

static int clean(struct nc_host *host, bool all, uint32_t *ret_cleaned, struct nc_error *reterr)
{
	struct cleaning cleaning = {.host = host, .all = all, .reterr = reterr};
	struct nc_error error;
	int r = nc_instances_names(host, clean_one, &cleaning, &error);

	remember_error(&cleaning, r, &error);
	remember_error(&cleaning, nc_strays_end(host, &cleaning.cleaned, &error), &error);
	*ret_cleaned = cleaning.cleaned;
	return cleaning.status;
}

int nc_instances_sweep(struct nc_host *host, uint32_t *ret_cleaned, struct nc_error *reterr)
{
	struct cleaning cleaning = {.host = host, .dead_only = true, .reterr = reterr};
	struct nc_error error;
	int r = nc_instances_names(host, clean_one, &cleaning, &error);

	remember_error(&cleaning, r, &error);
	*ret_cleaned = cleaning.cleaned;
	return cleaning.status;
}

int nc_host_clean_orphans(struct nc_host *host, uint32_t *ret_cleaned, struct nc_error *reterr)
{
	struct nc_error error;
	int r = clean(host, false, ret_cleaned, reterr), s = nc_floor_sweep(host, &error);

	if (r >= 0 && s < 0)
		*reterr = error;
	return r < 0 ? r : s;
}

int nc_host_end(struct nc_host *host, bool all, struct nc_error *reterr)
{
	uint32_t cleaned;

	return clean(host, all, &cleaned, reterr);
}
