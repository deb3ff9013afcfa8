// SPDX-License-Identifier: GPL-2.0-only
/*
 * revisions.c - what other builds have installed on this host, and taking it away once nobody uses it
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

static bool claim_held(int instances_fd, const char *instance)
{
	char path[NC_PATH_MAX];
	struct nc_error ignored;
	NC_CLOSE int fd = -1;
	bool held = true;

	if (nc_path(path, &ignored, "%s/claim", instance) < 0)
		return true;
	fd = openat(instances_fd, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT;
	return nc_record_held(fd, &held, &ignored) < 0 || held;
}

static bool any_claim_held(const struct nc_host *host)
{
	int fd = openat(host->folder_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool held = false;

	if (!dir)
		return fd >= 0 || errno != ENOENT;
	while (!held && (entry = readdir(dir)))
		held = entry->d_name[0] != '.' && claim_held(dirfd(dir), entry->d_name);
	closedir(dir);
	return held;
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

/* 1: it is gone, 0: it is in use. */
static int sweep_one(const struct nc_host_options *options, const char *manifest, struct nc_error *reterr)
{
	struct nc_host_options of = *options;
	struct nc_host *host = NULL;
	int r;

	of.manifest = manifest;
	r = nc_host_prepare(&of, &host, reterr);
	if (r < 0)
		return r;
	host->folder_fd = open(host->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->folder_fd < 0 && errno != ENOENT)
		r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", host->folder);
	if (r >= 0 && host->folder_fd >= 0 && flock(host->folder_fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "lock %s", host->folder);
	else if (r >= 0 && ((host->folder_fd >= 0 && any_claim_held(host)) || slice_populated(host) || seals_others(host)))
		r = 0;
	else if (r >= 0)
		r = nc_host_take_away(host, reterr) < 0 ? reterr->status : 1;
	nc_host_close(host);
	return r;
}

int nc_host_sweep(const struct nc_host_options *options, int (*each)(void *context, const char *name, bool removed), void *context,
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
	while (r >= 0 && dir && (entry = readdir(dir))) {
		if (!is_other(own, entry->d_name, manifest))
			continue;
		r = sweep_one(options, manifest, reterr);
		r = r < 0 ? r : each(context, entry->d_name, r > 0);
	}
	if (dir)
		closedir(dir);
	nc_host_close(own);
	return r < 0 ? r : 0;
}
