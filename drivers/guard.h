/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard.h - the reference guard: a small forward proxy (HTTP CONNECT) that a matrix must be able to tell from its own flawed twins
 *
 * One guard process stands at the edge for each authority. The workload's namespace has no route but to the edge, and its only proxy is the workload
 * guard. Every check can be left out, which makes the guard's mutants and the flawed flavours.
 */
#ifndef NC_DRIVERS_GUARD_H
#define NC_DRIVERS_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_DESTINATIONS 16

struct guard_destination {
	char host[256]; /* exactly as the profile has it: a name in lower case or a literal */
	uint16_t port;
	bool non_public; /* a plane literal that may be private */
};

struct guard {
	struct guard_destination destinations[GUARD_DESTINATIONS];
	size_t count;
	/* the checks */
	bool listed;  /* the host must be listed */
	bool port;    /* so must its port */
	bool public_; /* each address, at the moment of connecting, must be public */
	bool recheck; /* each request is judged by itself, whatever was admitted before */
	bool open;    /* no list at all */
	/* A flaw that looks like correctness: 403 for a connection that failed upstream, too, just as for a denial. */
	bool blurred;
};

/* Serves on the listening socket until the process is ended. */
void guard_serve(const struct guard *guard, int listener);

#endif
