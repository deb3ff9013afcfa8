// SPDX-License-Identifier: GPL-2.0-only
/*
 * builds.c - the other builds of netcordon on this host, told by what means the same in every build
 *
 * An upgrade installs beside, so instances of the build before live on under programs and records that this build knows nothing of. What it goes by is how
 * folders are called, whether a claim's lock is held, and what the kernel says is in force. Of a record it reads no more than its own reader takes
 * (record.c): one that begins otherwise has another layout, and says nothing here.
 *
 * That a cordon stands is the kernel's word alone: programs that are pinned in a folder which nobody but root could have made, in force on this very cgroup
 * and not already on the root, where the guards are in force for everybody. What a program or a cgroup is called proves nothing.
 *
 * Roots other than the caller's are other hosts, and left alone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "inside.h"

#define HEX "0123456789abcdef"

/* ---- finding them ------------------------------------------------------------------------------------------------------------------------- */

/* The first part of a manifest, when `name` is that and our root's id. */
static bool is_other(const struct nc_host *own, const char *name, char ret_manifest[65])
{
	size_t part = strspn(name, HEX);

	if (part != NC_MANIFEST_PART || !strcmp(name, own->name) || strcmp(name + part, own->name + NC_MANIFEST_PART))
		return false;
	memset(ret_manifest, '0', 64);
	memcpy(ret_manifest, name, part);
	ret_manifest[64] = '\0';
	return true;
}

/* Can nobody but root have put there, or taken away, what root did? A bpf file system that was mounted without a mode lets everybody make folders. */
static bool is_roots(int dir_fd, const char *path, bool sticky_will_do)
{
	struct stat status;

	return !fstatat(dir_fd, path, &status, AT_SYMLINK_NOFOLLOW) && S_ISDIR(status.st_mode) && !status.st_uid &&
	       (!(status.st_mode & (S_IWGRP | S_IWOTH)) || (sticky_will_do && status.st_mode & S_ISVTX));
}

static int visit(const struct nc_host_options *options, const char *manifest,
		 int (*each)(void *context, struct nc_host *build, struct nc_error *reterr), void *context, struct nc_error *reterr)
{
	struct nc_host_options of = *options;
	struct nc_host *build = NULL;
	int r;

	of.manifest = manifest;
	r = nc_host_prepare(&of, &build, reterr);
	if (r < 0)
		return r;
	build->folder_fd = open(build->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (build->folder_fd < 0 && errno != ENOENT)
		r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", build->folder);
	r = r < 0 ? r : each(context, build, reterr);
	nc_host_close(build);
	return r;
}

int nc_builds_each(const struct nc_host_options *options, int (*each)(void *context, struct nc_host *build, struct nc_error *reterr), void *context,
		   struct nc_error *reterr)
{
	char path[NC_PATH_MAX], manifest[65];
	struct nc_host *own = NULL;
	struct dirent *entry;
	DIR *dir = NULL;
	int r = nc_host_prepare(options, &own, reterr);

	r = r < 0 ? r : nc_path(path, reterr, "%s/netcordon", own->bpffs);
	if (r >= 0 && !(dir = opendir(path)) && errno != ENOENT)
		r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", path);
	while (r == 0 && dir && is_roots(AT_FDCWD, path, false) && (entry = readdir(dir))) {
		if (is_other(own, entry->d_name, manifest) && is_roots(dirfd(dir), entry->d_name, false))
			r = visit(options, manifest, each, context, reterr);
	}
	if (dir)
		closedir(dir);
	nc_host_close(own);
	return r;
}

int nc_build_claim(const struct nc_host *build, const char *name, int *ret_fd, bool *ret_held)
{
	char path[NC_PATH_MAX];
	struct nc_error ignored;
	NC_CLOSE int fd = -1;
	int r = nc_path(path, &ignored, "instances/%s/claim", name);

	if (r < 0)
		return r;
	fd = openat(build->folder_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = nc_record_held(fd, ret_held, &ignored);
	if (r < 0)
		return r;
	*ret_fd = NC_TAKE_FD(fd);
	return 1;
}

/* ---- their instances ---------------------------------------------------------------------------------------------------------------------- */

struct telling {
	const struct nc_host *build;
	int (*each)(void *context, const struct nc_other *row);
	void *context;
	struct nc_error *reterr;
};

static void describe(const struct nc_host *build, struct nc_other *ret_row)
{
	*ret_row = (struct nc_other){0};
	memcpy(ret_row->build, build->name, sizeof(ret_row->build));
	memcpy(ret_row->pins, build->pins, sizeof(ret_row->pins));
}

static int tell_one(void *context, const char *name)
{
	struct telling *telling = context;
	struct nc_record record;
	struct nc_error ignored;
	struct nc_other row;
	struct stat status;
	NC_CLOSE int fd = -1;
	int r;

	if (nc_instance_name_check(name, &ignored) < 0)
		return 0;
	describe(telling->build, &row);
	r = nc_build_claim(telling->build, name, &fd, &row.owner_lives);
	if (r < 0)
		return nc_error_sys(telling->reterr, NC_E_SYSTEM, r, "look at %s/instances/%s", telling->build->folder, name);
	if (!r)
		return 0;
	snprintf(row.name, sizeof(row.name), "%.*s", NC_INSTANCE_NAME_MAX, name);
	r = nc_path(row.folder, telling->reterr, "%s/instances/%s", telling->build->folder, name);
	if (r < 0)
		return r;
	if (nc_record_read(fd, &record, &ignored) == 0 && !stat(record.cgroup[0], &status) && status.st_ino == record.cgroup_id[0])
		memcpy(row.cgroup, record.cgroup[0], sizeof(row.cgroup));
	return telling->each(telling->context, &row) ? 1 : 0;
}

static int tell_build(void *context, struct nc_host *build, struct nc_error *reterr)
{
	struct telling *telling = context;

	telling->build = build;
	telling->reterr = reterr;
	return build->folder_fd < 0 ? 0 : nc_instances_names(build, tell_one, telling, reterr);
}

int nc_others(const struct nc_host_options *options, int (*each)(void *context, const struct nc_other *row), void *context, struct nc_error *reterr)
{
	struct telling telling = {.each = each, .context = context};
	int r = nc_builds_each(options, tell_build, &telling, reterr);

	return r < 0 ? r : 0;
}

/* ---- their cordons ------------------------------------------------------------------------------------------------------------------------ */

#define PROGRAMS_MAX 1024 /* at one attach type, on all levels */

struct ids {
	uint32_t *ids;
	size_t count;
};

static bool has(const struct ids *set, uint32_t id)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->ids[i] == id)
			return true;
	}
	return false;
}

/* What the kernel runs for this cgroup where this build has its own programs; hooks of another build's that it does not know are not counted anywhere. */
static int ids_in_force(int cgroup_fd, struct ids *set, struct nc_error *reterr)
{
	uint32_t found[PROGRAMS_MAX];

	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		const struct nc_hook_row *row = nc_hook(hook);
		uint32_t count = PROGRAMS_MAX, *larger;
		int r;

		if (row->where != NC_AT_SLICE)
			continue;
		r = bpf_prog_query(cgroup_fd, row->attach_type, BPF_F_QUERY_EFFECTIVE, NULL, found, &count);
		if (r == -EINVAL && !row->required) /* an attach type that this kernel does not know */
			continue;
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask what is in force at %s", nc_hook_name(hook));
		larger = count ? realloc(set->ids, (set->count + count) * sizeof(*larger)) : set->ids;
		if (count && !larger)
			return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "list what is in force");
		set->ids = larger;
		if (count)
			memcpy(set->ids + set->count, found, count * sizeof(*found));
		set->count += count;
	}
	return 0;
}

/* 0 where the pin is none of a program. */
static uint32_t pinned_id(const char *folder, const char *name)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	char path[NC_PATH_MAX];
	struct nc_error ignored;
	NC_CLOSE int fd = -1;

	if (name[0] == '.' || nc_path(path, &ignored, "%s/%s", folder, name) < 0)
		return 0;
	fd = bpf_obj_get(path);
	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
}

struct looking {
	struct ids here, root; /* in force on the cgroup, and on the root */
	struct nc_other best;
};

bool nc_other_stands(const struct nc_other *other)
{
	return other->programs && other->in_force == other->programs;
}

static bool stands_more(const struct nc_other *a, const struct nc_other *b)
{
	if (nc_other_stands(a) != nc_other_stands(b))
		return nc_other_stands(a);
	return a->in_force > b->in_force;
}

/* Of the programs that the build has in force around its own instances, how many are in force here? */
static int count_build(void *context, struct nc_host *build, struct nc_error *reterr)
{
	struct looking *looking = context;
	struct ids slice = {0};
	NC_CLOSE int slice_fd = openat(build->root_fd, build->slice_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[NC_PATH_MAX];
	struct nc_other row;
	struct dirent *entry;
	DIR *dir;
	int r = nc_path(path, reterr, "%s/programs", build->pins);

	if (r >= 0 && slice_fd >= 0)
		r = ids_in_force(slice_fd, &slice, reterr);
	dir = r < 0 || !is_roots(AT_FDCWD, path, false) ? NULL : opendir(path);
	describe(build, &row);
	while (dir && (entry = readdir(dir))) {
		uint32_t id = pinned_id(path, entry->d_name);

		if (!id || !has(&slice, id) || has(&looking->root, id))
			continue;
		row.programs++;
		row.in_force += has(&looking->here, id);
	}
	if (dir)
		closedir(dir);
	free(slice.ids);
	if (stands_more(&row, &looking->best))
		looking->best = row;
	return r < 0 ? r : 0;
}

struct naming {
	const char *cgroup;
	struct nc_other *other;
};

static int name_instance(void *context, const struct nc_other *row)
{
	struct naming *naming = context;
	struct nc_error ignored;
	bool within = false;

	if (strcmp(row->build, naming->other->build) || !row->cgroup[0] || nc_cgroup_within(naming->cgroup, row->cgroup, &within, &ignored) < 0 ||
	    !within)
		return 0;
	memcpy(naming->other->name, row->name, sizeof(row->name));
	memcpy(naming->other->folder, row->folder, sizeof(row->folder));
	memcpy(naming->other->cgroup, row->cgroup, sizeof(row->cgroup));
	naming->other->owner_lives = row->owner_lives;
	return 1;
}

int nc_others_cordon(const struct nc_host_options *options, const char *cgroup, struct nc_other *ret_other, struct nc_error *reterr)
{
	struct looking looking = {.best = {.build = ""}};
	struct naming naming = {.cgroup = cgroup, .other = &looking.best};
	struct nc_host *own = NULL;
	NC_CLOSE int fd = -1;
	int r = nc_host_prepare(options, &own, reterr);

	r = r < 0 ? r : nc_cgroup_open(cgroup, &fd, reterr);
	if (r >= 0 && is_roots(AT_FDCWD, own->bpffs, true) && nc_bpffs_ready(own->bpffs, false, reterr) >= 0) {
		r = ids_in_force(fd, &looking.here, reterr);
		r = r < 0 ? r : ids_in_force(own->root_fd, &looking.root, reterr);
		r = r < 0 ? r : nc_builds_each(options, count_build, &looking, reterr);
	}
	if (r >= 0 && looking.best.in_force)
		r = nc_others(options, name_instance, &naming, reterr);
	free(looking.here.ids);
	free(looking.root.ids);
	nc_host_close(own);
	if (r < 0)
		return r;
	*ret_other = looking.best;
	return 0;
}
