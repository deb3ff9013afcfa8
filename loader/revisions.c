// SPDX-License-Identifier: GPL-2.0-only
/*
 * revisions.c - taking away what other builds have installed on this host, once nobody uses it
 *
 * An upgrade installs beside: the instances of the build before keep its programs, maps and slice until they end. Then somebody has to remove them, and only
 * the new build is still there. It knows nothing of how the other keeps its records, so it asks what every build's means: is a claim's lock held, does anything
 * live below the slice, is a cgroup of somebody else's still sealed. In doubt it is in use. Roots other than the caller's are other hosts, and left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include "inside.h"

#define HEX "0123456789abcdef"

static int look_at_claim(void *context, const char *name)
{
	NC_CLOSE int fd = -1;
	bool held = false;
	int r = nc_build_claim(context, name, &fd, &held);

	return r < 0 || held;
}

static bool any_claim_held(struct nc_host *build)
{
	struct nc_error ignored;

	return nc_instances_names(build, look_at_claim, build, &ignored) != 0;
}

static bool slice_populated(const struct nc_host *host)
{
	NC_CLOSE int fd = openat(host->root_fd, host->slice_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct nc_error ignored;
	bool populated = true;

	if (fd < 0)
		return errno != ENOENT;
	return nc_cgroup_is_populated(fd, &populated, &ignored) < 0 || populated;
}

/* Links of taken cgroups are in folders of their own, beside the host's. */
static bool seals_others(const struct nc_host *host)
{
	char path[NC_PATH_MAX];
	struct nc_error ignored;
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (nc_path(path, &ignored, "%s/links", host->pins) < 0)
		return true;
	dir = opendir(path);
	if (!dir)
		return errno != ENOENT;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && strlen(entry->d_name) == 16 && strspn(entry->d_name, HEX) == 16;
	closedir(dir);
	return found;
}

struct sweeping {
	int (*each)(void *context, const char *name, bool removed);
	void *context;
};

static int sweep_one(void *context, struct nc_host *build, struct nc_error *reterr)
{
	const struct sweeping *sweeping = context;
	const int fd = build->folder_fd;
	bool locked = fd < 0 || !flock(fd, LOCK_EX | LOCK_NB);
	int r;

	if (!locked && errno != EWOULDBLOCK)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "lock %s", build->folder);
	if (!locked || (fd >= 0 && any_claim_held(build)) || slice_populated(build) || seals_others(build))
		return sweeping->each(sweeping->context, build->name, false);
	r = nc_host_take_away(build, reterr);
	return r < 0 ? r : sweeping->each(sweeping->context, build->name, true);
}

int nc_host_sweep(const struct nc_host_options *options, int (*each)(void *context, const char *name, bool removed), void *context,
		  struct nc_error *reterr)
{
	struct sweeping sweeping = {.each = each, .context = context};

	return nc_builds_each(options, sweep_one, &sweeping, reterr);
}
