/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_actor_parts.h - what the files of the matrix's actor share */
#ifndef NC_CONFORM_ACTOR_PARTS_H
#define NC_CONFORM_ACTOR_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include "conform_actor.h"

#define NC_ACTOR_STEP_NS 5000000

struct nc_actor {
	pthread_t thread;
	struct nc_cast *cast;
	struct nc_stage *stage;
	json_t *request; /* owned; NULL in the control */
	struct nc_driver_prepared prepared;
	const struct nc_actor_part *part;
	bool acts;	   /* the thread runs */
	int master, slave; /* a terminal of the matrix's own */
	int hosts[2];	   /* where the kernel asks for the name of a host, and the folder that it is a name in; -1 */
	atomic_bool over;
};

/* One construction's part: `before` the command is started, by the caller; `act` beside it, by the thread; `after` it has ended, by the caller again. Each
 * may be NULL. What fails goes to the stage. */
struct nc_actor_part {
	enum nc_construction construction;
	void (*before)(struct nc_actor *actor);
	void (*act)(struct nc_actor *actor);
	void (*after)(struct nc_actor *actor);
};

void nc_actor_pause(long ns);
void nc_actor_open_door(const struct nc_actor *actor);
/* The door opens with "!WORDS": why the path cannot be made. The client says so in the attempt's place. */
void nc_actor_cannot(const struct nc_actor *actor, const char *words);
/* The client, once it is there; 0: it has ended before. */
pid_t nc_actor_wait_for_client(const struct nc_actor *actor);
/* Something of the client's came where the construction leads: as if the target's listener had seen it. */
void nc_actor_note(const struct nc_actor *actor, const char *text, size_t length);

/* Runs a command outside the cordon, in the site's namespace and a cgroup of the host's, as that user (0: root), to its end or the deadline's. */
void nc_actor_run_outside(const struct nc_actor *actor, enum nc_site site, unsigned int uid, const json_t *command, int deadline_ms);

/* conform_actor_dead.c */
void nc_actor_helpers_dead(struct nc_actor *actor);
void nc_actor_impostor(struct nc_actor *actor);
/* conform_actor_host.c */
void nc_actor_point_out(struct nc_actor *actor);
void nc_actor_forget_pointers(struct nc_actor *actor);
void nc_actor_removed(struct nc_actor *actor);
void nc_actor_classified(struct nc_actor *actor);
void nc_actor_cancelled(struct nc_actor *actor);
void nc_actor_cancel_before(struct nc_actor *actor);
void nc_actor_detached(struct nc_actor *actor);
void nc_actor_lender(struct nc_actor *actor);
void nc_actor_keys(struct nc_actor *actor);
void nc_actor_linked(struct nc_actor *actor);
void nc_actor_forwarding(struct nc_actor *actor);
/* conform_actor_device.c */
void nc_actor_make_node(struct nc_actor *actor);
void nc_actor_make_forwarding_node(struct nc_actor *actor);
void nc_actor_watch_node(struct nc_actor *actor);
void nc_actor_watch_mounts(struct nc_actor *actor);
void nc_actor_mount_hosts(struct nc_actor *actor);
void nc_actor_read_hosts(struct nc_actor *actor);
void nc_actor_unmount_hosts(struct nc_actor *actor);
/* conform_actor_handed.c: what the caller of a provider leaves open, and the terminal that it sits at */
void nc_actor_leave_open(struct nc_actor *actor);
void nc_actor_close(struct nc_actor *actor);
void nc_actor_terminal(struct nc_actor *actor);
void nc_actor_read_terminal(struct nc_actor *actor);
void nc_actor_close_terminal(struct nc_actor *actor);

#endif
