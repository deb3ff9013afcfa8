// SPDX-License-Identifier: GPL-2.0-only
/*
 * netns.c - sockets in another network namespace
 *
 * A socket belongs for ever to the namespace of the thread that makes it. So the calling thread enters the namespace, makes the socket and returns to its
 * own. Coming back cannot be left undone: a thread that stayed there would act in the workload's network, so where it fails the process ends. (A thread of
 * its own for each visit would need no way back, and costs more than everything else that is done here.)
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include "inside.h"

#define RETURN_TRIES 8 /* the kernel may be short of memory for a moment */

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* since 5.14; the number is the kernel's user ABI */
#endif

static int make_socket(int family, int type, int protocol, int *ret_fd, struct nc_error *reterr)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make a socket");
	*ret_fd = fd;
	return 0;
}

void nc_netns_return(int own_netns_fd)
{
	for (int tries = 0; setns(own_netns_fd, CLONE_NEWNET); tries++) {
		if (tries == RETURN_TRIES)
			abort();
	}
}

/* netns_fd -1: the caller's own namespace. The socket is close-on-exec and the caller's. */
int nc_netns_socket(int netns_fd, int family, int type, int protocol, int *ret_fd, struct nc_error *reterr)
{
	NC_CLOSE int own_fd = -1;
	int r;

	if (netns_fd < 0)
		return make_socket(family, type, protocol, ret_fd, reterr);
	own_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own_fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the own network namespace");
	if (setns(netns_fd, CLONE_NEWNET))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "enter the network namespace");
	r = make_socket(family, type, protocol, ret_fd, reterr);
	nc_netns_return(own_fd);
	return r;
}

int nc_netns_first(void)
{
	int fd = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fd = open("/proc/2/ns/net", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nc_netns_cookie(int netns_fd, uint64_t *ret_cookie, struct nc_error *reterr)
{
	NC_CLOSE int fd = -1;
	uint64_t cookie;
	socklen_t size = sizeof(cookie);
	int r = nc_netns_socket(netns_fd, AF_INET, SOCK_DGRAM, 0, &fd, reterr);

	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size)) {
		if (errno != ENOPROTOOPT)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "ask for the network namespace's cookie");
		cookie = 0;
	}
	*ret_cookie = cookie;
	return 0;
}
