/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * relay.c - bytes carried one way between two descriptors, with the back-pressure of both
 *
 * A relay reads only when its buffer is empty and its target can take something, so that a slow reader slows the writer down as a pipe between the two would.
 * It never waits: it is stepped when poll says so, and writes no more at once than a descriptor that may block takes without blocking (PIPE_BUF, pipe(7)).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "descriptors.h"

#define TYPED_END_OF_FILE 0x04 /* the default VEOF character */

static void finish(struct nc_relay *relay)
{
	static const unsigned char end = TYPED_END_OF_FILE;

	if (relay->to >= 0 && relay->half_closes)
		shutdown(relay->to, SHUT_WR);
	if (relay->to >= 0 && relay->to_terminal && write(relay->to, &end, 1) < 0)
		relay->to_terminal = false; /* the terminal is gone: nobody is left who could miss it */
	nc_relay_close(relay);
}

void nc_relay_close(struct nc_relay *relay)
{
	if (relay->from >= 0 && relay->own_from)
		close(relay->from);
	if (relay->to >= 0 && relay->own_to)
		close(relay->to);
	free(relay->bytes);
	*relay = (struct nc_relay)NC_RELAY_NONE;
}

/* One entry for what it waits for; a second, without events, notices a reader that is gone while nothing is being written. */
size_t nc_relay_polls(const struct nc_relay *relay, struct pollfd *polls)
{
	if (relay->from < 0)
		return 0;
	if (relay->start < relay->end) {
		polls[0] = (struct pollfd){.fd = relay->to, .events = POLLOUT};
		return 1;
	}
	polls[0] = (struct pollfd){.fd = relay->from, .events = POLLIN};
	polls[1] = (struct pollfd){.fd = relay->to, .events = 0};
	return 2;
}

static bool ready(int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	return poll(&one, 1, 0) == 1;
}

static bool would_wait(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static void fill(struct nc_relay *relay)
{
	ssize_t n;

	if (!relay->bytes)
		relay->bytes = malloc(NC_RELAY_BYTES);
	n = relay->bytes ? read(relay->from, relay->bytes, NC_RELAY_BYTES) : -1;
	relay->start = 0;
	relay->end = n > 0 ? (size_t)n : 0;
	if (n == 0 || (n < 0 && !would_wait())) /* EIO: the other side of a pseudo terminal is closed */
		finish(relay);
}

static void flush(struct nc_relay *relay)
{
	size_t length = relay->end - relay->start;
	ssize_t n;

	if (relay->small && length > PIPE_BUF)
		length = PIPE_BUF;
	n = relay->to_socket ? send(relay->to, relay->bytes + relay->start, length, MSG_DONTWAIT | MSG_NOSIGNAL)
			     : write(relay->to, relay->bytes + relay->start, length);
	if (n > 0)
		relay->start += (size_t)n;
	else if (n < 0 && !would_wait())
		nc_relay_close(relay); /* nobody reads any more: the writer must learn of it, by SIGPIPE as always */
}

void nc_relay_step(struct nc_relay *relay)
{
	if (relay->from >= 0 && relay->start == relay->end && ready(relay->from, POLLIN))
		fill(relay);
	if (relay->from >= 0 && relay->start < relay->end && ready(relay->to, POLLOUT))
		flush(relay);
}
