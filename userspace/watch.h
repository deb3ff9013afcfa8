/* SPDX-License-Identifier: GPL-2.0-only */
/* watch.h - the loop that watches over a running workload (watch.c) */
#ifndef NC_WATCH_H
#define NC_WATCH_H

#include "launch_state.h"

struct nc_watch {
	struct nc_launch *launch;
	bool holding; /* the command waits for the Runner's go, and has not been executed */
	int64_t term_at, kill_at, last_resort_at, look_at, checkpoint_at, settle_at; /* CLOCK_MONOTONIC ns; 0: not set */
	int64_t give_up_at; /* the command has ended, or was killed for good: what is left then is for the phase `end` to tell */
	bool dirty;	    /* something was recorded since the last checkpoint */
	bool init_gone, command_gone;
	int populated_fd; /* attach: cgroup.events, which says so by POLLPRI; -1 */
	bool was_populated;
	int64_t verify_at, stirred_at; /* the next look at the programs in force; the last time that something else than the clock woke the loop */
	const char *inside;	       /* what the kernel calls the workload's cgroup; NULL: not asked for yet */
};

void nc_watch_init(struct nc_watch *watch, struct nc_launch *launch);
/* Until the Runner says go, where he is to: everything but the command is watched over as it will be then. Negative: it does not start, and why. */
int nc_watch_hold(struct nc_watch *watch, struct nc_error *reterr);
/* Until the command has ended; launch->ending is filled. Errors are of the evidence or the system: the workload is then ended by undo. */
int nc_watch_run(struct nc_watch *watch, struct nc_error *reterr);
/* The same for a cgroup that somebody else fills (attach): until it is empty after it once was not, or a signal asks for the end. */
int nc_watch_cgroup(struct nc_watch *watch, struct nc_error *reterr);
/* watch_edge.c: takes all messages of the edge that are there, into the evidence. A lost edge is an error here. Then, what was refused for its first bytes
 * is ended. */
int nc_watch_edge(struct nc_launch *launch, struct nc_error *reterr);
int nc_watch_hear(struct nc_launch *launch, struct nc_error *reterr);	     /* the first half */
int nc_watch_end_refused(struct nc_launch *launch, struct nc_error *reterr); /* the second */
/* membership.c: -EXDEV when a process of the workload's pid namespace is outside its cgroup. *folder is what the kernel calls that, and is found out
 * where it is NULL. */
int nc_membership_check(const struct nc_launch *launch, const char **folder, struct nc_error *reterr);

#endif
