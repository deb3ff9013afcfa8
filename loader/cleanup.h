/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cleanup.h - owners that clean up after themselves, so that one function can be read and seen not to leak
 *
 * A descriptor starts at -1, a pointer at NULL; handing over is always a visible TAKE.
 */
#ifndef NC_CLEANUP_H
#define NC_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void nc_cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void nc_cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void nc_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Closes a descriptor that lives in a structure, and forgets it. */
static inline void nc_forget_fd(int *fd)
{
	nc_cleanup_close(fd);
	*fd = -1;
}

#define NC_CLOSE __attribute__((cleanup(nc_cleanup_close)))
#define NC_FREE __attribute__((cleanup(nc_cleanup_free)))
#define NC_FCLOSE __attribute__((cleanup(nc_cleanup_fclose)))

static inline int nc_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define NC_TAKE_FD(fd) nc_take_fd(&(fd))
#define NC_TAKE_PTR(pointer)                                                                                                                         \
	({                                                                                                                                           \
		__typeof__(pointer) taken_ = (pointer);                                                                                              \
		(pointer) = NULL;                                                                                                                    \
		taken_;                                                                                                                              \
	})

#endif
