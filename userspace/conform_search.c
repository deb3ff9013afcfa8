/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_search.c - looking for a secret in the processes that a driver left running, and ending those processes
 *
 * The matrix is the reaper of everything that its drivers start (PR_SET_CHILD_SUBREAPER), so what serves a workload is found without asking the
 * driver: it is what descends from this process. Arguments, environment, the files behind descriptors and all readable memory are searched; this
 * process itself, which knows the secret, is not. Processes of the plane have the secret by right and are not alive during the search.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_run.h"
#include "loader.h"

#define DESCENDANTS_MAX 256
#define CHUNK (1u << 20)

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *after;
	NC_CLOSE int fd = -1;
	ssize_t got;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	after = strrchr(text, ')');
	return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool descends(pid_t pid)
{
	for (int depth = 0; pid > 1 && depth < 64; depth++) {
		pid = parent_of(pid);
		if (pid == getpid())
			return true;
	}
	return false;
}

static size_t find_descendants(pid_t pids[DESCENDANTS_MAX])
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (proc && count < DESCENDANTS_MAX && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 1 && pid != getpid() && descends(pid))
			pids[count++] = pid;
	}
	if (proc)
		closedir(proc);
	return count;
}

static bool in_file(const char *path, const char *secret)
{
	NC_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	NC_FREE char *bytes = malloc(CHUNK);
	struct stat status;
	ssize_t got;

	if (fd < 0 || !bytes || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	got = pread(fd, bytes, CHUNK, 0);
	return got > 0 && memmem(bytes, (size_t)got, secret, strlen(secret));
}

static bool in_range(int memory, unsigned long from, unsigned long to, const char *secret)
{
	size_t length = strlen(secret);
	NC_FREE char *bytes = malloc(CHUNK);

	for (unsigned long at = from; bytes && at < to; at += CHUNK - length) {
		size_t size = to - at < CHUNK ? to - at : CHUNK;
		ssize_t got = pread(memory, bytes, size, (off_t)at);

		if (got > 0 && memmem(bytes, (size_t)got, secret, length))
			return true;
		if (to - at <= CHUNK)
			break;
	}
	return false;
}

static bool in_memory(pid_t pid, const char *secret)
{
	char path[64], line[512];
	NC_CLOSE int memory = -1;
	NC_FCLOSE FILE *maps = NULL;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (memory >= 0 && maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char rights[8];

		/* What is not writable is a file's own bytes. */
		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && rights[0] == 'r' && rights[1] == 'w' &&
		    in_range(memory, from, to, secret))
			return true;
	}
	return false;
}

/* Is it true of some descriptor of the process, given as its path in /proc? */
static bool any_descriptor(pid_t pid, bool (*is_true)(const char *path, const char *word), const char *word)
{
	char folder[64], path[384];
	struct dirent *entry;
	bool found = false;
	DIR *list;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	list = opendir(folder);
	while (list && !found && (entry = readdir(list))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		found = *entry->d_name != '.' && is_true(path, word);
	}
	if (list)
		closedir(list);
	return found;
}

/* /proc files say that they are empty regular files, and are read all the same. */
static bool in_process_file(pid_t pid, const char *name, const char *secret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return in_file(path, secret);
}

int nc_conform_search(const char *secret, bool *ret_found, char *ret_where, size_t size, struct nc_error *reterr)
{
	pid_t pids[DESCENDANTS_MAX];
	size_t count = find_descendants(pids);

	if (count == DESCENDANTS_MAX)
		return nc_error_set(reterr, NC_E_WORLD_FAILED, -E2BIG, "more than %d processes serve one workload", DESCENDANTS_MAX);
	*ret_found = false;
	for (size_t i = 0; i < count && !*ret_found; i++) {
		const char *where = in_process_file(pids[i], "environ", secret)	  ? "environment"
				    : in_process_file(pids[i], "cmdline", secret) ? "arguments"
				    : any_descriptor(pids[i], in_file, secret)	  ? "descriptors"
				    : in_memory(pids[i], secret)		  ? "memory"
										  : NULL;

		if (where) {
			*ret_found = true;
			snprintf(ret_where, size, "found in %s", where);
		}
	}
	return 0;
}

pid_t nc_conform_find(const char *word)
{
	pid_t pids[DESCENDANTS_MAX];
	size_t count = find_descendants(pids);
	char path[64], first[256];

	/* The client itself, and not those who carry its command line to it: its arguments begin with its own path. */
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pids[i]);
		if (!in_process_file(pids[i], "cmdline", word))
			continue;
		NC_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t got = fd < 0 ? 0 : read(fd, first, sizeof(first) - 1);

		first[got > 0 ? got : 0] = '\0';
		if (strlen(first) > 7 && !strcmp(first + strlen(first) - 7, "attempt"))
			return pids[i];
	}
	return 0;
}

static bool leads_to(const char *path, const char *link)
{
	char target[64];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	return !strcmp(target, link);
}

int nc_conform_kill_holders(unsigned long inode)
{
	pid_t pids[DESCENDANTS_MAX];
	size_t count = find_descendants(pids);
	char link[40];
	int killed = 0;

	snprintf(link, sizeof(link), "socket:[%lu]", inode);
	for (size_t i = 0; i < count; i++) {
		if (!any_descriptor(pids[i], leads_to, link))
			continue;
		kill(pids[i], SIGKILL);
		killed++;
	}
	return killed;
}

int nc_conform_cgroup_of(pid_t pid, char ret_path[512])
{
	char path[64], line[512], mount[NC_PATH_MAX];
	NC_FCLOSE FILE *file = NULL;
	struct nc_error ignored = {0};

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::", 3) || nc_cgroup_mount(mount, &ignored) < 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(ret_path, 512, "%.255s%.255s", mount, line + 3);
		return 0;
	}
	return -ESRCH;
}

int nc_conform_move(pid_t pid, const char *cgroup)
{
	char path[560], text[16];
	int length = snprintf(text, sizeof(text), "%d", (int)pid);
	NC_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%.520s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, (size_t)length) != length ? -errno : 0;
}

void nc_conform_reap(void)
{
	pid_t pids[DESCENDANTS_MAX];

	for (int round = 0; round < 50; round++) {
		size_t count = find_descendants(pids);

		for (size_t i = 0; i < count; i++)
			kill(pids[i], SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!count)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}
