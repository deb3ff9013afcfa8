/* SPDX-License-Identifier: GPL-2.0-only */
/* sync.c - files and folders to the disk, several at once, or while something else is done */
#include "sync.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static int sync_each(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fsync(fds[i]) < 0)
			return -errno;
	}
	return 0;
}

static void *run(void *argument)
{
	struct nc_sync *sync = argument;

	sync->status = sync_each(sync->fds, sync->count);
	return NULL;
}

/* Files that are memory: there is nothing to wait for, and a thread costs more than all of it. */
static bool is_memory(int fd)
{
	struct statfs found;

	return fstatfs(fd, &found) == 0 && (found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC);
}

void nc_sync_begin(struct nc_sync *sync)
{
	pthread_attr_t attributes;

	sync->status = 0;
	sync->running = false;
	if (sync->count && is_memory(sync->fds[0])) {
		run(sync);
		return;
	}
	/* Memory of ours as the stack: the C library would map, protect and later unmap one. */
	if (pthread_attr_init(&attributes) == 0) {
		sync->running = pthread_attr_setstack(&attributes, sync->stack, sizeof(sync->stack)) == 0 &&
				pthread_create(&sync->thread, &attributes, run, sync) == 0;
		pthread_attr_destroy(&attributes);
	}
	if (!sync->running)
		run(sync);
}

int nc_sync_end(struct nc_sync *sync)
{
	int status;

	if (sync->running)
		pthread_join(sync->thread, NULL);
	status = sync->status;
	sync->running = false;
	sync->status = 0;
	sync->count = 0;
	return status;
}

int nc_sync_all(struct nc_sync *helper, const int *fds, size_t count)
{
	size_t half = count / 2;
	int mine, its;

	if (half > NC_SYNC_MAX)
		return -E2BIG;
	if (half == 0)
		return sync_each(fds, count);
	memcpy(helper->fds, fds + (count - half), half * sizeof(*fds));
	helper->count = half;
	nc_sync_begin(helper);
	mine = sync_each(fds, count - half);
	its = nc_sync_end(helper);
	return mine < 0 ? mine : its;
}
