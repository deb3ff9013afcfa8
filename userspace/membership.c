/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * membership.c - is every process of the workload still inside its cgroup?
 *
 * The workload's pid namespace has a /proc of its own, which init's root leads to: its folders are exactly the processes of the workload, whatever cgroup they
 * are in. Each says where it is. A process that ends meanwhile is no finding.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "watch.h"

/*
 * The path that the kernel gives for the unified hierarchy: "0::/path", below however many lines of version 1. False when the process is gone; one without such
 * a line, or with a path longer than any of ours, is in no cgroup of ours.
 */
static bool read_cgroup(int proc_fd, const char *pid, char ret_path[NC_PATH_MAX])
{
	char file[32];
	NC_CLOSE int fd = -1;
	NC_FCLOSE FILE *stream = NULL;
	NC_FREE char *line = NULL;
	size_t capacity = 0;
	bool any = false;

	snprintf(file, sizeof(file), "%.20s/cgroup", pid);
	fd = openat(proc_fd, file, O_RDONLY | O_CLOEXEC);
	stream = fd < 0 ? NULL : fdopen(fd, "r");
	if (!stream)
		return false;
	fd = -1;
	ret_path[0] = '\0';
	while (getline(&line, &capacity, stream) > 0) {
		any = true;
		if (strncmp(line, "0::", 3) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(ret_path, NC_PATH_MAX, "%s", line + 3);
		break;
	}
	return any;
}

/* What the kernel calls the cgroup: its path below the mount. */
static const char *kernels_name(const char *folder)
{
	char mount[NC_PATH_MAX] = "";
	struct nc_error ignored;
	size_t length = nc_cgroup_mount(mount, &ignored) == 0 ? strlen(mount) : 0;

	return strncmp(folder, mount, length) == 0 ? folder + length : folder;
}

/* The folder must be the whole of the path that the kernel gives, or above it. */
static bool is_inside(const char *folder, const char *path)
{
	size_t folder_length = strlen(folder);

	return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '\0' || path[folder_length] == '/');
}

int nc_membership_check(const struct nc_launch *launch, const char **folder, struct nc_error *reterr)
{
	char path[NC_PATH_MAX];
	struct dirent *entry;
	DIR *proc;
	int r = 0;

	if (launch->child.pid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root/proc", launch->child.pid);
	proc = opendir(path);
	if (!proc)
		return errno == ENOENT ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", path);
	if (!*folder) /* once for all looks: it reads the mounts, and no cgroup is renamed */
		*folder = kernels_name(nc_claim_cgroup_path(launch->claim, launch->authority));
	while (r == 0 && (entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]) && read_cgroup(dirfd(proc), entry->d_name, path) && !is_inside(*folder, path))
			r = nc_error_set(reterr, NC_E_HOST_DENIED, -EXDEV, "process %.20s of the workload was moved to %.200s", entry->d_name, path);
	}
	closedir(proc);
	return r;
}
