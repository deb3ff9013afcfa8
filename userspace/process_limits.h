/* SPDX-License-Identifier: GPL-2.0-only */
/* process_limits.h - what a workload may use: process.limits of the profile, made real or refused (process_limits.c) */
#ifndef NC_PROCESS_LIMITS_H
#define NC_PROCESS_LIMITS_H

#include <jansson.h>
#include "child.h"
#include "error.h"
#include "loader.h"
#include "profile.h"

enum nc_limit_kind { NC_LIMIT_MEMORY, NC_LIMIT_CPU, NC_LIMIT_PIDS, NC_LIMIT_KINDS };

struct nc_limits {
	const char *mechanism[NC_LIMIT_KINDS];	   /* "cgroup2", "cgroup1", "rlimit"; NULL: no such limit asked for */
	char folders[NC_LIMIT_KINDS][NC_PATH_MAX]; /* cgroup1: the cgroup of ours in that hierarchy; "": none */
};

/* Makes the limits real for the workload's cgroup before anything runs in it: by the unified hierarchy's controllers where it has them, else by a cgroup of
 * the controller's own hierarchy, pids else by RLIMIT_NPROC (the workload's user id is its own). What nothing here can enforce is PROCESS_INVALID, with its
 * pointer: a limit is never quietly left out. On failure nothing of it is left. */
int nc_limits_make(const struct nc_profile_process *process, int cgroup_fd, const char *cgroup_path, uint64_t generation,
		   struct nc_limits *ret_limits, struct nc_error *reterr);
/* Moves a process into the cgroups of the old hierarchies. */
int nc_limits_join(const struct nc_limits *limits, pid_t pid, struct nc_error *reterr);
/* The rest, as resource limits that the child sets itself. */
void nc_limits_plan(const struct nc_profile_process *process, const struct nc_limits *limits, struct nc_child_plan *plan);
void nc_limits_remove(struct nc_limits *limits); /* idempotent; the cgroups must be empty */
/* {"memory": {"value": n, "mechanism": word}, ...}, under the names that the profile has; a limit that was not asked for is left out. */
json_t *nc_limits_json(const struct nc_profile_process *process, const struct nc_limits *limits);

#endif
