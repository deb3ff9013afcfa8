/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sync.h - files and folders to the disk, several at once, or while something else is done
 *
 * Each fsync() waits for the device on its own; two that wait at the same time wait together. So half of the waiting is left to a thread that has no other
 * use and makes no other call. Where no thread can be had, the waiting is done one after the other: later, and just as durable.
 */
#ifndef NC_SYNC_H
#define NC_SYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define NC_SYNC_MAX 12
#define NC_SYNC_STACK (128u << 10) /* of which a page or two is touched */

struct nc_sync {
	int fds[NC_SYNC_MAX]; /* borrowed until nc_sync_end */
	size_t count;
	bool running;
	int status;
	pthread_t thread;
	char stack[NC_SYNC_STACK] __attribute__((aligned(64)));
};

/* Begins to bring fds[0..count) to the disk. Between this and nc_sync_end only the descriptors' files may be used. */
void nc_sync_begin(struct nc_sync *sync);
/* Waits: 0 when everything is durable, else the first negative errno. Without a beginning there is nothing to wait for. */
int nc_sync_end(struct nc_sync *sync);
/* Brings all of these to the disk, half of them by way of `helper`, which is not in use. */
int nc_sync_all(struct nc_sync *helper, const int *fds, size_t count);

#endif
