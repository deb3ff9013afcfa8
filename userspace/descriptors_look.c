/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * descriptors_look.c - what another process has open, seen from outside and within a bounded time
 *
 * To ask what kind of file a descriptor is may mean to ask whoever serves the file system, and that can be the very process that is looked at, or a server
 * that is dead. So a child asks, first for what the kernel knows already, and is left behind when it does not come back: it holds nothing of ours.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "clock.h"
#include "descriptors.h"
#include "descriptors_look.h"

#define CHANNEL 0 /* the child's only descriptor */

enum kind { DONE, FOREIGN, CHARACTER };

/* One that is worth telling. Smaller than PIPE_BUF: it arrives whole. */
struct sighting {
	uint32_t kind, major, minor;
};

static void tell(enum kind kind, const struct statx *stx)
{
	const struct sighting sighting = {kind, stx ? stx->stx_rdev_major : 0, stx ? stx->stx_rdev_minor : 0};

	if (write(CHANNEL, &sighting, sizeof(sighting)) != (ssize_t)sizeof(sighting))
		_exit(1);
}

/* What the kernel knows by itself. Returns whether it is a regular file; true is only the first half of the answer. */
static bool look_at_kind(int folder_fd, const char *number)
{
	struct statx stx;

	if (statx(folder_fd, number, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &stx) < 0) {
		if (errno != ENOENT) /* closed meanwhile */
			_exit(1);
		return false;
	}
	if (S_ISCHR(stx.stx_mode))
		tell(CHARACTER, &stx);
	else if (!S_ISREG(stx.stx_mode) && !S_ISFIFO(stx.stx_mode))
		tell(FOREIGN, NULL);
	return S_ISREG(stx.stx_mode);
}

/* What a server may be asked for, and not answer. */
static void look_at_file_system(int folder_fd, const char *number)
{
	char path[48];
	struct statfs fs;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%.20s", folder_fd, number);
	if (statfs(path, &fs) == 0 && nc_descriptor_is_handle(fs.f_type))
		tell(FOREIGN, NULL);
}

static _Noreturn void look_in_child(int pid, int channel)
{
	struct dirent *entry;
	char path[64];
	DIR *folder;

	if (dup2(channel, CHANNEL) < 0 || syscall(SYS_close_range, CHANNEL + 1u, ~0u, 0u) < 0)
		_exit(1);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	if (!folder)
		_exit(1);
	for (int round = 0; round < 2; round++, rewinddir(folder)) {
		while ((entry = readdir(folder))) {
			if (isdigit((unsigned char)entry->d_name[0]) && look_at_kind(dirfd(folder), entry->d_name) && round)
				look_at_file_system(dirfd(folder), entry->d_name);
		}
	}
	tell(DONE, NULL);
	_exit(0);
}

/* 1: a sighting; 0: no more; negative: the time is over, or the other end is. */
static int next(int channel, int64_t until, struct sighting *ret_sighting)
{
	struct pollfd waiting = {.fd = channel, .events = POLLIN};
	int64_t left = until - nc_now_ns();

	if (left <= 0 || poll(&waiting, 1, (int)(left / 1000000) + 1) != 1)
		return -ETIMEDOUT;
	if (read(channel, ret_sighting, sizeof(*ret_sighting)) != (ssize_t)sizeof(*ret_sighting))
		return -EPIPE;
	return ret_sighting->kind != DONE;
}

static enum nc_descriptors judge(struct nc_host *host, int channel, int64_t until)
{
	struct sighting sighting;
	bool foreign = false;
	int r;

	while ((r = next(channel, until, &sighting)) > 0)
		foreign |= sighting.kind == FOREIGN || !host || nc_host_refuses_device(host, sighting.major, sighting.minor);
	if (foreign)
		return NC_DESCRIPTORS_FOREIGN;
	return r < 0 ? NC_DESCRIPTORS_UNSEEN : NC_DESCRIPTORS_HARMLESS;
}

enum nc_descriptors nc_descriptors_look(struct nc_host *host, int pid, int64_t until_ns)
{
	NC_CLOSE int here = -1, there = -1;
	enum nc_descriptors found;
	int ends[2];
	pid_t child;

	if (until_ns <= nc_now_ns() || pipe2(ends, O_CLOEXEC) < 0)
		return NC_DESCRIPTORS_UNSEEN;
	here = ends[0];
	there = ends[1];
	child = fork();
	if (child < 0)
		return NC_DESCRIPTORS_UNSEEN;
	if (!child)
		look_in_child(pid, there);
	close(NC_TAKE_FD(there));
	found = judge(host, here, until_ns);
	kill(child, SIGKILL);
	for (int i = 0; i < 50 && waitpid(child, NULL, WNOHANG) == 0; i++) /* one that waits for a dead server stays until that ends, or we do */
		usleep(1000);
	return found;
}
