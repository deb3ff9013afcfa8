/* SPDX-License-Identifier: GPL-2.0-only */
/* descriptors_look.h - what another process has open, seen from outside and within a bounded time */
#ifndef NC_DESCRIPTORS_LOOK_H
#define NC_DESCRIPTORS_LOOK_H

#include "loader.h"

enum nc_descriptors {
	NC_DESCRIPTORS_HARMLESS,
	NC_DESCRIPTORS_UNSEEN,	/* they could not be looked at, or not in time */
	NC_DESCRIPTORS_FOREIGN, /* a socket, a folder, a block device, a handle of the kernel's, or a device that an instance may not open */
};

/* Until then (CLOCK_MONOTONIC) at most, whatever its files lie on. */
enum nc_descriptors nc_descriptors_look(struct nc_host *host, int pid, int64_t until_ns);

#endif
