/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * instance_state.h - what a supervisor leaves in its instance's folder for `exec`, `stop` and `wait` (instance_state.c)
 *
 * The folder lies below the runtime folder, is root's alone, and goes with the instance. It holds no secret: profile.json (the bytes that were sealed) and
 * state.json.
 */
#ifndef NC_INSTANCE_STATE_H
#define NC_INSTANCE_STATE_H

#include <stdint.h>
#include <sys/types.h>
#include "error.h"
#include "launch.h"

struct nc_process_id {
	pid_t pid;
	uint64_t start; /* field 22 of /proc/PID/stat: a number that comes again does not have the same */
};

struct nc_instance_state {
	struct nc_process_id supervisor;
	struct nc_process_id init; /* pid 0: attach, or not born yet */
	uint64_t netns_cookie;
	int grace_ms;
	char evidence[NC_PATH_MAX];
	char provider[32];
};

/* Fills in the start time of `pid`. -ESRCH when there is none. */
int nc_process_identify(pid_t pid, struct nc_process_id *ret_id);
/* A pidfd of exactly that process; negative errno when it is gone. */
int nc_process_open(const struct nc_process_id *id);

int nc_instance_state_write(const char *folder, const struct nc_instance_state *state, const char *profile, size_t profile_length,
			    struct nc_error *reterr);
int nc_instance_state_read(const char *folder, struct nc_instance_state *ret_state, struct nc_error *reterr);
#define NC_INSTANCE_PROFILE "profile.json"

#endif
