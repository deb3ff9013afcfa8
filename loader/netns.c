// SPDX-License-Identifier: GPL-2.0-only
/*
 * netns.c - sockets in another network namespace
 *
 * A socket belongs for ever to the namespace of the thread that makes it. So a thread of its own enters the namespace, makes the socket and ends: no other
 * thread is ever in the wrong place, not even when something fails.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include "inside.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* since 5.14; the number is the kernel's user ABI */
#endif

struct making {
	int netns_fd, family, type, protocol;
	int fd; /* or a negative errno */
	const char *failed;
};

static void *make_there(void *argument)
{
	struct making *making = argument;

	if (making->netns_fd >= 0 && setns(making->netns_fd, CLONE_NEWNET)) {
		making->failed = "enter the network namespace";
		making->fd = -errno;
		return NULL;
	}
	making->failed = "make a socket";
	making->fd = socket(making->family, making->type | SOCK_CLOEXEC, making->protocol);
	if (making->fd < 0)
		making->fd = -errno;
	return NULL;
}

/* netns_fd -1: the caller's own namespace. The socket is close-on-exec and the caller's. */
int nc_netns_socket(int netns_fd, int family, int type, int protocol, int *ret_fd, struct nc_error *reterr)
{
	struct making making = {.netns_fd = netns_fd, .family = family, .type = type, .protocol = protocol};
	pthread_t thread;
	int r;

	if (netns_fd < 0) {
		make_there(&making);
	} else {
		r = pthread_create(&thread, NULL, make_there, &making);
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, -r, "start a thread");
		pthread_join(thread, NULL);
	}
	if (making.fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, making.fd, "%s", making.failed);
	*ret_fd = making.fd;
	return 0;
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
