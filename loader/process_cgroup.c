// SPDX-License-Identifier: GPL-2.0-only
/*
 * process_cgroup.c - which cgroup a process is in, as the kernel says
 *
 * Never computed from names: runtimes and service managers turn the same configuration into different paths, and move processes. /proc/PID/cgroup gives the
 * path below the root of the reader's cgroup namespace, the mount shows that root, and the cgroup found there must list the process.
 */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "inside.h"

#define LEVELS 64

/* The path of the line "0::PATH" of /proc/PID/cgroup, which may be long but not longer than a path. */
static int read_path(pid_t pid, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	NC_FCLOSE FILE *file = NULL;
	NC_FREE char *line = NULL;
	size_t capacity = 0;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	file = fopen(name, "re");
	if (!file)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "ask for the cgroup of process %d", pid);
	while (getline(&line, &capacity, file) > 0) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		return nc_path(ret_path, reterr, "%s", line + 3);
	}
	nc_error_set(reterr, NC_E_HOST_UNSUPPORTED, -ENOENT, "process %d is in no cgroup2 hierarchy", pid);
	return nc_error_hint(reterr, "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1), or let the runtime join it beside v1");
}

int nc_cgroup_each_process(int cgroup_fd, int (*each)(void *context, pid_t pid), void *context)
{
	NC_CLOSE int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t got = 0;
	long number = -1; /* -1: between two numbers */
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && ((got = read(fd, text, sizeof(text))) > 0 || (got < 0 && errno == EINTR))) {
		for (ssize_t i = 0; i < got && r == 0; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				number = (number < 0 ? 0 : 10 * number) + text[i] - '0';
			} else if (number >= 0) {
				r = each(context, (pid_t)number);
				number = -1;
			}
		}
	}
	return r == 0 && got < 0 ? -errno : r;
}

bool nc_cgroup_gone(int status)
{
	return status == -ENOENT || status == -ENODEV;
}

static int each_below(int cgroup_fd, int depth, int (*each)(void *context, int cgroup_fd), void *context)
{
	int copy = openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	int r = folder ? 0 : -errno;
	struct dirent *entry;

	if (!folder && copy >= 0)
		close(copy);
	r = r ?: depth == LEVELS ? -ELOOP : each(context, cgroup_fd);
	while (folder && depth < LEVELS && (entry = readdir(folder))) {
		NC_CLOSE int below_fd = -1;
		int below;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		below_fd = openat(cgroup_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		below = below_fd < 0 ? -errno : each_below(below_fd, depth + 1, each, context);
		r = r || nc_cgroup_gone(below) ? r : below;
	}
	if (folder)
		closedir(folder);
	return r;
}

int nc_cgroup_each_below(int cgroup_fd, int (*each)(void *context, int cgroup_fd), void *context)
{
	return each_below(cgroup_fd, 0, each, context);
}

struct processes {
	int (*each)(void *context, pid_t pid);
	void *context;
};

static int processes_of(void *context, int cgroup_fd)
{
	const struct processes *processes = context;

	return nc_cgroup_each_process(cgroup_fd, processes->each, processes->context);
}

int nc_cgroup_each_process_below(int cgroup_fd, int (*each)(void *context, pid_t pid), void *context)
{
	struct processes processes = {.each = each, .context = context};

	return each_below(cgroup_fd, 0, processes_of, &processes);
}

static int is_process(void *context, pid_t pid)
{
	return pid == *(const pid_t *)context;
}

int nc_cgroup_lists(int cgroup_fd, pid_t pid)
{
	return nc_cgroup_each_process(cgroup_fd, is_process, &pid);
}

static int check_listed(int cgroup_fd, pid_t pid, const char *path, struct nc_error *reterr)
{
	int r = nc_cgroup_lists(cgroup_fd, pid);

	if (r < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, r, "read the processes of %s", path);
	if (r > 0)
		return 0;
	return nc_error_set(reterr, NC_E_CGROUP_INVALID, -ESRCH, "the cgroup %s does not list process %d, which says that it is there", path, pid);
}

int nc_cgroup_of_process(pid_t pid, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	char mount[NC_PATH_MAX], below[NC_PATH_MAX], path[NC_PATH_MAX];
	NC_CLOSE int fd = -1;
	int r = nc_cgroup_mount(mount, reterr);

	r = r < 0 ? r : read_path(pid, below, reterr);
	if (r < 0)
		return r;
	if (!strncmp(below, "/..", 3) && (below[3] == '/' || !below[3])) {
		nc_error_set(reterr, NC_E_HOST_UNSUPPORTED, -EXDEV, "the cgroup of process %d lies outside netcordon's cgroup namespace", pid);
		return nc_error_hint(reterr, "run netcordon in the host's cgroup namespace");
	}
	r = nc_path(path, reterr, "%s%s", mount, strcmp(below, "/") ? below : "");
	r = r < 0 ? r : nc_cgroup_open(path, &fd, reterr);
	r = r < 0 ? r : check_listed(fd, pid, path, reterr);
	if (r < 0)
		return r;
	memcpy(ret_path, path, sizeof(path));
	return 0;
}

/* As /proc/PID/cgroup has it for those who live in the process's own cgroup namespace. The caller has one thread, and is back in its own in the end. */
static int read_path_there(pid_t pid, const char *namespace, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	NC_CLOSE int own_fd = open("/proc/self/ns/cgroup", O_RDONLY | O_CLOEXEC);
	NC_CLOSE int fd = open(namespace, O_RDONLY | O_CLOEXEC);
	int r;

	if (own_fd < 0 || fd < 0 || setns(fd, CLONE_NEWCGROUP))
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "look from the cgroup namespace of process %d", pid);
	r = read_path(pid, ret_path, reterr);
	if (setns(own_fd, CLONE_NEWCGROUP))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "come back from the cgroup namespace of process %d", pid);
	return r;
}

static int is_another(void *context, pid_t pid)
{
	return pid != *(const pid_t *)context;
}

/* 1: nobody but the process lives in the cgroup or below it. */
static int lives_alone(const char *path, pid_t pid, struct nc_error *reterr)
{
	NC_CLOSE int fd = -1;
	int r = nc_cgroup_open(path, &fd, reterr);

	r = r < 0 ? r : nc_cgroup_each_process_below(fd, is_another, &pid);
	return r < 0 ? nc_error_sys(reterr, NC_E_CGROUP_INVALID, r, "read the processes of %s", path) : !r;
}

int nc_cgroup_reach_of_process(pid_t pid, const char *cgroup, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	char namespace[64], below[NC_PATH_MAX], above[NC_PATH_MAX];
	struct stat own, its;
	size_t length = strlen(cgroup), cut;
	int r;

	memcpy(ret_path, cgroup, length + 1);
	snprintf(namespace, sizeof(namespace), "/proc/%d/ns/cgroup", pid);
	if (stat("/proc/self/ns/cgroup", &own) || stat(namespace, &its))
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "look at the cgroup namespace of process %d", pid);
	if (own.st_ino == its.st_ino && own.st_dev == its.st_dev)
		return 0;
	r = read_path_there(pid, namespace, below, reterr);
	if (r < 0)
		return r;
	cut = strlen(below);
	if (!strcmp(below, "/") || cut >= length || strcmp(cgroup + length - cut, below))
		return 0;
	memcpy(above, cgroup, length - cut);
	above[length - cut] = '\0';
	r = lives_alone(above, pid, reterr);
	if (r > 0)
		memcpy(ret_path, above, length - cut + 1);
	return r < 0 ? r : 0;
}

int nc_cgroup_within(const char *path, const char *above, bool *ret_within, struct nc_error *reterr)
{
	NC_CLOSE int fd = -1;
	struct stat wanted, found;
	char up[3 * LEVELS + 1] = ".";
	int r = nc_cgroup_open(path, &fd, reterr);

	if (r < 0)
		return r;
	*ret_within = false;
	if (stat(above, &wanted))
		return errno == ENOENT ? 0 : nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "look at %s", above);
	for (size_t used = 0; used + 3 < sizeof(up) && !fstatat(fd, up, &found, 0) && found.st_dev == wanted.st_dev; used += 3) {
		if (found.st_ino == wanted.st_ino) {
			*ret_within = true;
			return 0;
		}
		if (found.st_ino == 1) /* the hierarchy's own root */
			return 0;
		memcpy(up + used, "../", 4);
	}
	return 0;
}
