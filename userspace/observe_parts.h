/* SPDX-License-Identifier: GPL-2.0-only */
/* observe_parts.h - what the files of the observer share: its log, its sources of events, and the handlers behind them */
#ifndef NC_OBSERVE_PARTS_H
#define NC_OBSERVE_PARTS_H

#include <pthread.h>
#include <sys/socket.h>
#include "observe.h"

#define NC_REQUEST_MAX 4096

/* One descriptor that the thread waits for. `ready` is called with it readable; returning false ends the source. */
struct nc_source {
	struct nc_source *next;
	int fd;
	bool stays; /* not closed by nc_observer_quiet */
	bool (*ready)(struct nc_observer *observer, struct nc_source *source);
	struct nc_listener listener;
	union nc_address peer;
	uint16_t peer_port;
	size_t have; /* of request */
	bool answered;
	char request[NC_REQUEST_MAX];
};

struct nc_name; /* observe_resolver.c */

struct nc_observer {
	pthread_t thread;
	pthread_mutex_t lock;
	int epoll, wake;
	bool running;
	struct nc_source *sources;
	struct nc_name *names;
	struct nc_sight *sights;
	size_t count, room;
	uint64_t lost;
};

/* Adds to the log; takes the lock. `text` may be NULL, its bytes are made printable. */
void nc_observer_note(struct nc_observer *observer, const struct nc_sight *sight, const char *text, size_t length);
/* Makes a source of `fd`, which it owns from then on, also on failure. `listener` may be NULL. Takes the lock. */
int nc_observer_watch(struct nc_observer *observer, int fd, bool stays, bool (*ready)(struct nc_observer *, struct nc_source *),
		      const struct nc_listener *listener, struct nc_source **ret_source, struct nc_error *reterr);
/* A non-blocking bound socket in the namespace; listening when it is TCP. */
int nc_observer_socket(int netns_fd, const union nc_address *address, uint16_t port, uint8_t protocol, int *ret_fd, struct nc_error *reterr);
/* Runs `action` in the namespace of netns_fd on the calling thread. */
int nc_observer_inside(int netns_fd, int (*action)(void *context, struct nc_error *reterr), void *context, struct nc_error *reterr);

bool nc_observer_is_stream(uint8_t protocol); /* somebody connects, and is accepted */
bool nc_observer_is_v4(const union nc_address *address);
void nc_observer_from_sockaddr(const struct sockaddr_storage *from, union nc_address *ret_address, uint16_t *ret_port);
socklen_t nc_observer_to_sockaddr(const union nc_address *address, uint16_t port, struct sockaddr_storage *ret_to);

void nc_observer_forget_names(struct nc_observer *observer);

#endif
