/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge.h - the process that stands between a workload and everything else on its behalf
 *
 * It is netcordon-edge, a program beside netcordon that has no other use, with a user id of its own, an empty environment, no capability, not
 * dumpable, and few descriptors: the instance's event ring, one end of a socket pair to the supervisor, and, for each authority whose policy lists
 * names, a resolver's sockets inside the workload's network namespace and a sealed memory file with the names. It parses what a workload and a name
 * server sent, so it holds nothing that is worth having, and a grant is the supervisor's to install, who looks up by himself what it may open.
 *
 * Messages on the pair (SOCK_SEQPACKET, so that each arrives whole): struct nc_edge_message, cut after `count` events.
 */
#ifndef NC_EDGE_H
#define NC_EDGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "error.h"
#include "netcordon_abi.h"
#include "names.h"

#define NC_EDGE_BATCH 31

enum nc_edge_kind {
	NC_EDGE_READY = 1, /* edge: privileges are gone, the ring is open */
	NC_EDGE_EVENTS,	   /* edge: `count` events */
	NC_EDGE_FLUSH,	   /* supervisor: hand over all that the ring holds now, then answer FLUSHED */
	NC_EDGE_FLUSHED,   /* edge */
	NC_EDGE_FAILED,	   /* edge: `status`, and it ends */
	NC_EDGE_GRANT,	   /* edge: may these addresses be reached for this name? It waits for the answer before it answers the workload */
	NC_EDGE_GRANTED,   /* supervisor: `status`, 0 when the grant is in force */
	NC_EDGE_NAME,	   /* edge: something happened to a name */
	NC_EDGE_NAMED,	   /* edge: one event that has a name */
	NC_EDGE_NAMES_CUT, /* edge, before FLUSHED: `count` happenings were not told one by one */
	NC_EDGE_NAMES,	   /* supervisor: the resolver of authority `count` (0 workload, 1 plane) has other names: their memory file comes with it */
	NC_EDGE_FINISH,	   /* supervisor: ask nobody anything more, then as FLUSH, and end */
};

#define NC_EDGE_GRANT_MAX NC_DNS_ADDRESSES_MAX /* addresses of one grant: more of one name are left out of the answer too */

struct nc_edge_grant {
	uint32_t name_id;
	uint32_t lifetime;			       /* seconds */
	union nc_address addresses[NC_EDGE_GRANT_MAX]; /* `count` of them are sent */
};

struct nc_edge_name {
	uint32_t what; /* enum nc_resolver_happening */
	uint32_t name_id;
	uint32_t type;
	uint32_t lifetime;
	uint32_t addresses; /* how many were answered */
	uint32_t has_address;
	uint32_t authority; /* enum nc_authority: whose question it was */
	uint32_t reserved;
	union nc_address address; /* the one that was left out */
	struct nc_dns_name name;
};

struct nc_edge_message {
	uint32_t kind;
	uint32_t count;
	int32_t status;
	uint32_t reserved;
	union {
		struct nc_event events[NC_EDGE_BATCH];
		struct nc_named_event named;
		struct nc_edge_grant grant;
		struct nc_edge_name name;
	};
};
#define NC_EDGE_HEAD (sizeof(uint32_t) * 4)

/* Where the edge finds its descriptors. */
enum { EDGE_RING = 3, EDGE_PAIR, EDGE_RESOLVERS, EDGE_RESOLVER_SIZE = 5, EDGE_FREE = EDGE_RESOLVERS + 2 * EDGE_RESOLVER_SIZE };
/* Of the resolver of authority i (0 workload, 1 plane): the memory file, and the sockets from the next number on. */
#define EDGE_CONFIG(i) (EDGE_RESOLVERS + (i)*EDGE_RESOLVER_SIZE)

/* What a resolver needs; -1 everywhere where the policy lists no name. The descriptors stay the caller's. */
struct nc_edge_resolver {
	int config_fd;
	int sockets[4]; /* UDP4, UDP6, TCP4, TCP6; -1: none */
};
#define NC_EDGE_NO_RESOLVER                                                                                                                          \
	{                                                                                                                                            \
		.config_fd = -1, .sockets = { -1, -1, -1, -1 }                                                                                       \
	}

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

/*
 * The program of an edge, by descriptor (O_PATH, the caller's) or a negative errno. Whoever may start one later opens it when it begins: what stands
 * in the same place afterwards can be of another build, which speaks otherwise, or nothing.
 */
int nc_edge_open(void);
/* In a new process: becomes `program` (nc_edge_open), with no environment. NC_EXIT_OURS is the status of one that could not. */
_Noreturn void nc_edge_execute(int program, char *const *argv);
/* Starts `program` (nc_edge_open) and returns at once; READY comes on fd. `runtime` is where the system call filter is kept. */
int nc_edge_start(int program, int ring_fd, uint64_t generation, uid_t uid, const char *runtime, const struct nc_edge_resolver resolvers[2],
		  struct nc_edge *ret_edge, struct nc_error *reterr);
/* Other names for the resolver of authority i, which goes on: in force when a flush that is asked for afterwards has been answered. */
int nc_edge_exchange_names(struct nc_edge *edge, int i, int config_fd);
int nc_edge_granted(struct nc_edge *edge, int status); /* the answer to a GRANT */
/* Receives one message, never waits: 1, or 0 when there is none; -EPIPE when the edge is gone. */
int nc_edge_receive(struct nc_edge *edge, struct nc_edge_message *ret_message);
int nc_edge_flush(struct nc_edge *edge);
/* Its last flush: whoever still waits for an answer from outside is told as a failure, and nothing is asked any more. */
int nc_edge_finish(struct nc_edge *edge);
void nc_edge_end(struct nc_edge *edge); /* idempotent */

#define NC_EDGE_SUFFIX "-edge" /* of the program's own path */
/* `netcordon-edge ask NAME [SERVER...]`: edge_ask.c. */
int nc_edge_ask(int argc, char **argv);
/* The edge's side; `argv` as nc_edge_start makes it. Prints nothing, reads no configuration. */
int nc_edge_main(int argc, char **argv);

#endif
