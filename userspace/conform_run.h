/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_run.h - one run of one case, from its stage to what it has shown */
#ifndef NC_CONFORM_RUN_H
#define NC_CONFORM_RUN_H

#include "conform.h"
#include "conform_stage.h"

/* What has to be looked at again when late packets have had their time. */
struct nc_late {
	union nc_address address;
	uint16_t port;
	uint8_t protocol;
	char token[NC_TOKEN_SIZE];
	size_t since;
	bool watched;
};

struct nc_cast {
	struct nc_theatre theatre;
	const struct nc_driver *driver;
	const struct nc_conform_options *options;
};

/* Makes the run and fills *ret_run; a driver's misbehaviour is in it and is no error. Negative only when the matrix itself cannot go on. `off`: the
 * checks to switch off, "" for none. Adds what happened to `transcript`. */
int nc_conform_run(struct nc_cast *cast, const struct nc_case *row, enum nc_run_kind kind, const char *off, struct nc_run *ret_run,
		   struct nc_late *ret_late, json_t *transcript, struct nc_error *reterr);

/* Where only the token counts, forgets everything else that was seen. */
void nc_run_count_tokens(const struct nc_case *row, struct nc_run *run);

/* Asks the driver to take away what it kept from case to case: a teardown without a state. What it answers changes no outcome. */
void nc_conform_finish_driver(const struct nc_driver *driver, const json_t *options);

/* Ends every process that a driver left behind: this process is made their reaper by nc_conform_adopt. */
int nc_conform_adopt(struct nc_error *reterr);
void nc_conform_reap(void);

/* conform_search.c: the process among this one's descendants that has `word` among its arguments, 0 when there is none; the cgroup (of version 2) that a
 * process stands in, as a path; and moving it to another. Negative errno. */
pid_t nc_conform_find(const char *word);
int nc_conform_cgroup_of(pid_t pid, char ret_path[512]);
int nc_conform_move(pid_t pid, const char *cgroup);
/* Kills the descendants that hold the socket with this inode; how many there were. */
int nc_conform_kill_holders(unsigned long inode);
/* conform_search.c: is `secret` in the environment, arguments, descriptors or memory of a process that the driver left running for the workload? */
int nc_conform_search(const char *secret, bool *ret_found, char *ret_where, size_t size, struct nc_error *reterr);

#endif
