/* SPDX-License-Identifier: GPL-2.0-only */
/* descriptors.h - what the command gets as 0, 1 and 2 (descriptors.c), and the bytes that the supervisor carries for it (relay.c) */
#ifndef NC_DESCRIPTORS_H
#define NC_DESCRIPTORS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>
#include "error.h"

#define NC_RELAY_BYTES 16384

/* Carries bytes one way. Both ends belong to the relay, except the caller's own 0-2. */
struct nc_relay {
	int from, to;	       /* -1: finished */
	bool own_from, own_to; /* closed at the end */
	bool to_socket;
	bool half_closes; /* the socket, when `from` has ended: nobody else writes to it, and its reader waits for that */
	bool to_terminal; /* end of file is typed */
	bool small;	  /* `to` may block: never write more than a pipe takes at once */
	size_t start, end;
	unsigned char *bytes; /* NC_RELAY_BYTES, from the first use on */
};
#define NC_STDIO_NONE                                                                                                                                \
	{                                                                                                                                            \
		.child = {-1, -1, -1}, .pty_slave = -1, .pty_master = -1, .relays = { NC_RELAY_NONE, NC_RELAY_NONE, NC_RELAY_NONE }                  \
	}
#define NC_RELAY_NONE                                                                                                                                \
	{                                                                                                                                            \
		.from = -1, .to = -1                                                                                                                 \
	}

struct nc_stdio {
	const char *kinds[3]; /* "pipe", "file", "terminal", "device", "relay", "pty": as recorded in evidence */
	int child[3];	      /* what the child gets; own[i]: closed by nc_stdio_handed_over */
	bool own[3];
	int pty_slave, pty_master;
	struct nc_relay relays[3];
	bool raw; /* the caller's terminal was made raw; saved is how it was */
	struct termios saved;
};

/* Looks at the caller's 0-2 by what they are, not by what they are called. DESCRIPTOR_REFUSED names the kind. With `pty` the child gets a new pseudo
 * terminal instead. To be called before anything else is opened: a number of 0-2 that is closed becomes /dev/null. */
int nc_stdio_open(bool pty, struct nc_stdio *ret_stdio, struct nc_error *reterr);
/* Gives the pseudo terminal to the workload's user; nothing to do without one. */
int nc_stdio_give(struct nc_stdio *stdio, uid_t uid, gid_t gid, struct nc_error *reterr);
/* Closes what only the child needs. */
void nc_stdio_handed_over(struct nc_stdio *stdio);
/* Carries what is still on its way after the command has ended (bounded), restores the terminal, closes everything. Idempotent. */
void nc_stdio_close(struct nc_stdio *stdio);
/* Copies the caller's window size to the pseudo terminal. */
void nc_stdio_resize(const struct nc_stdio *stdio);

#define NC_STDIO_POLLS 6
/* Fills in what to wait for, at most NC_STDIO_POLLS entries; returns how many. */
size_t nc_stdio_polls(struct nc_stdio *stdio, struct pollfd *polls);
/* Carries what can be carried without waiting. */
void nc_stdio_step(struct nc_stdio *stdio, const struct pollfd *polls, size_t count);

size_t nc_relay_polls(const struct nc_relay *relay, struct pollfd *polls);
void nc_relay_step(struct nc_relay *relay);
void nc_relay_close(struct nc_relay *relay);

/* Are regular files of this kind of file system (statfs(2): f_type) handles of the kernel's, and not data? */
bool nc_descriptor_is_handle(long file_system);

#endif
