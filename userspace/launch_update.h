/* SPDX-License-Identifier: GPL-2.0-only */
/* launch_update.h - what `update` and the supervisor say to each other over the socket in the instance's folder */
#ifndef NC_LAUNCH_UPDATE_H
#define NC_LAUNCH_UPDATE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "error.h"

#define NC_UPDATE_MAX (1u << 26) /* bytes of a profile */
#define NC_UPDATE_MAGIC 0x6e637531u

struct nc_update_answer {
	uint32_t magic;
	int32_t status; /* 0, or negative with `error` */
	uint32_t ended; /* connections that the new policy does not list */
	struct nc_error error;
};

/* Through the open folder: a path of its own may be longer than a socket's address. */
static inline void nc_update_address(int folder_fd, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/update", folder_fd);
}

#endif
