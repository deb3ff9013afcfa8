/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge.h - the process that stands between a workload and everything else on its behalf
 *
 * It is this binary, executed anew under a hidden command, with a user id of its own, an empty environment, no capability, not dumpable, and two descriptors:
 * the instance's event ring and one end of a socket pair to the supervisor. It parses what a workload caused, so it holds nothing that is worth having. The
 * resolver will live here too.
 *
 * Messages on the pair (SOCK_SEQPACKET, so that each arrives whole): struct nc_edge_message, cut after `count` events.
 */
#ifndef NC_EDGE_H
#define NC_EDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "error.h"
#include "netcordon_abi.h"

#define NC_EDGE_BATCH 31

enum nc_edge_kind {
	NC_EDGE_READY = 1, /* edge: privileges are gone, the ring is open */
	NC_EDGE_EVENTS,	   /* edge: `count` events */
	NC_EDGE_FLUSH,	   /* supervisor: hand over all that the ring holds now, then answer FLUSHED */
	NC_EDGE_FLUSHED,   /* edge */
	NC_EDGE_FAILED,	   /* edge: `status`, and it ends */
};

struct nc_edge_message {
	uint32_t kind;
	uint32_t count;
	int32_t status;
	uint32_t reserved;
	struct nc_event events[NC_EDGE_BATCH];
};
#define NC_EDGE_HEAD (sizeof(uint32_t) * 4)

struct nc_edge {
	pid_t pid; /* 0: none */
	int fd;	   /* the supervisor's end */
	uid_t uid;
	bool ready, flushed;
};
#define NC_EDGE_NONE                                                                                                                                 \
	{                                                                                                                                            \
		.fd = -1                                                                                                                             \
	}

/* Starts the edge and returns at once; READY comes on fd. `runtime` is where the system call filter is kept. */
int nc_edge_start(int ring_fd, uint64_t generation, uid_t uid, const char *runtime, struct nc_edge *ret_edge, struct nc_error *reterr);
/* Receives one message, never waits: 1, or 0 when there is none; -EPIPE when the edge is gone. */
int nc_edge_receive(struct nc_edge *edge, struct nc_edge_message *ret_message);
int nc_edge_flush(struct nc_edge *edge);
void nc_edge_end(struct nc_edge *edge); /* idempotent */

#endif
