/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * container_check.c - is this container sealed? Asked from outside, of the kernel
 *
 * A runtime whose hooks folder is missing, renamed or not read starts containers without a cordon and says nothing. What a hook did is therefore looked for
 * where it takes effect: a live instance whose cgroup is the container's or above it, every program of ours in force on that very cgroup, the policy's entries
 * in the map, and no process of the container's pid namespace elsewhere.
 *
 * What another build of netcordon has sealed is not sealed by this one's word: whose programs stand there is said, and that only that build can look
 * behind them.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "oci.h"

struct search {
	struct nc_container_check *check;
	char sealed[NC_PATH_MAX]; /* cgroup of the instance */
	struct nc_error *reterr;
	int status;
};

__attribute__((format(printf, 2, 3))) static void find_wanting(struct nc_container_check *check, const char *format, ...)
{
	va_list arguments;

	if (check->why[0]) /* the first is what counts */
		return;
	va_start(arguments, format);
	vsnprintf(check->why, sizeof(check->why), format, arguments);
	va_end(arguments);
}

static int match(void *context, const struct nc_instance_row *row)
{
	struct search *search = context;
	bool within = false;

	if (!row->cgroup[0])
		return 0;
	search->status = nc_cgroup_within(search->check->cgroup, row->cgroup, &within, search->reterr);
	if (search->status < 0)
		return 1;
	if (!within)
		return 0;
	snprintf(search->check->instance, sizeof(search->check->instance), "%s", row->name);
	snprintf(search->sealed, sizeof(search->sealed), "%s", row->cgroup);
	search->check->supervised = row->owner_lives;
	if (row->present[0] != row->intended[0])
		find_wanting(search->check, "its policy has %llu of %llu entries", (unsigned long long)row->present[0],
			     (unsigned long long)row->intended[0]);
	return 1;
}

static int ask_effective(struct nc_host *host, struct nc_container_check *check, struct nc_error *reterr)
{
	NC_CLOSE int fd = open(check->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct nc_error found = {0};
	int r;

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "open the cgroup %s", check->cgroup);
	r = nc_host_verify(host, fd, NULL, &found);
	if (r < 0 && found.code != NC_E_HOST_INCOMPLETE && found.code != NC_E_PROGRAM_FOREIGN) {
		*reterr = found;
		return r;
	}
	if (r < 0)
		find_wanting(check, "%.240s", found.detail);
	return 0;
}

#define PID_NAMESPACES 33 /* the kernel nests 32 below the first (MAX_PID_NS_LEVEL) */

/* Has the process no number but the one that is seen here? It then lives in the caller's own pid namespace. Anybody may read that of anybody. */
static bool lives_here(const char *pid)
{
	char path[64], line[256], more;
	NC_FCLOSE FILE *file = NULL;
	int number;

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6) == 0)
			return sscanf(line + 6, "%d %c", &number, &more) == 1;
	}
	return false;
}

/*
 * Does the process live in this pid namespace, or in one that was made inside it? A namespace's parents are what the kernel says (NS_GET_PARENT,
 * 4.9); it says no more at the caller's own, whose parent is none of his (EPERM). 1, 0, or -ESRCH when the process is gone.
 */
static int lives_within(const char *pid, const struct stat *own)
{
	char path[64];
	NC_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/pid", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && lives_here(pid)) /* with more privileges than ours, where we are in a container ourselves */
		return 0;
	for (int i = 0; i < PID_NAMESPACES; i++) {
		struct stat found;
		int parent;

		if (fd < 0 || fstat(fd, &found) < 0)
			return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
		if (found.st_ino == own->st_ino && found.st_dev == own->st_dev)
			return 1;
		parent = ioctl(fd, NS_GET_PARENT);
		if (parent < 0)
			return errno == EPERM ? 0 : -errno;
		close(fd);
		fd = parent;
	}
	return -ELOOP;
}

/* Every process of the container, wherever it was put: those of its pid namespace and of all below, where it has one of its own. */
static int look_for_strays(pid_t pid, const char *sealed, struct nc_container_check *check, struct nc_error *reterr)
{
	char path[64], cgroup[NC_PATH_MAX];
	struct stat own, first;
	struct nc_error ignored;
	struct dirent *entry;
	int r = 0;
	DIR *proc;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &own) < 0 || stat("/proc/self/ns/pid", &first) < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "look at the pid namespace of process %d", pid);
	proc = opendir("/proc");
	if (!proc)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open /proc");
	while (r >= 0 && (entry = readdir(proc))) {
		bool within = false;
		pid_t found = (pid_t)atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]) || (found != pid && own.st_ino == first.st_ino))
			continue;
		r = lives_within(entry->d_name, &own);
		if (r == -ESRCH)
			r = 0;
		else if (r < 0)
			nc_error_sys(reterr, NC_E_SYSTEM, r, "look at the pid namespace of process %d", found);
		if (r <= 0)
			continue;
		if (nc_cgroup_of_process(found, cgroup, &ignored) < 0 || nc_cgroup_within(cgroup, sealed, &within, &ignored) < 0)
			continue; /* it has ended meanwhile */
		check->processes++;
		check->strays += !within;
		if (!within)
			find_wanting(check, "process %d of the container is outside, in %.180s", found, cgroup);
	}
	closedir(proc);
	return r < 0 ? r : 0;
}

/* No instance of this build is sealed there: is one of another? */
static int look_for_other(const struct nc_host_options *options, bool up, struct nc_container_check *check, struct nc_error *reterr)
{
	struct nc_other *other = &check->other;
	int r = nc_others_cordon(options, check->cgroup, other, reterr);

	if (r < 0)
		return r;
	if (nc_other_stands(other))
		find_wanting(check, "the programs of another build, %s, stand there: that build alone can check it", other->build);
	else if (other->in_force)
		find_wanting(check, "of the programs of another build, %s, only %u of %u are in force", other->build, other->in_force,
			     other->programs);
	else
		find_wanting(check, up ? "no live instance is sealed there or above" : "the programs are not installed on this host");
	return 0;
}

int nc_container_check(const struct nc_host_options *options, struct nc_host *host, pid_t pid, const char *path, struct nc_container_check *ret_check,
		       struct nc_error *reterr)
{
	struct nc_container_check check = {.cgroup = ""};
	struct search search = {.check = &check, .reterr = reterr};
	int r = 0;

	if (pid > 0)
		r = nc_cgroup_of_process(pid, check.cgroup, reterr);
	else
		snprintf(check.cgroup, sizeof(check.cgroup), "%s", path);
	if (r == 0 && host)
		r = nc_instances(host, match, &search, reterr) ?: search.status;
	if (r < 0)
		return r;
	if (!check.instance[0])
		r = look_for_other(options, host, &check, reterr);
	else
		r = ask_effective(host, &check, reterr) ?: pid > 0 ? look_for_strays(pid, search.sealed, &check, reterr) : 0;
	if (r < 0)
		return r;
	*ret_check = check;
	return 0;
}
