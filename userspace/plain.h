/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * plain.h - a command in a network namespace without any enforcement: the control run, and the ground that simple drivers stand on
 *
 * The command runs as an ordinary user with an environment of exactly what is given, in a mount namespace of its own in which the machine's resolver
 * configuration is replaced by one that names `resolver`, so that nothing asks the machine's own.
 */
#ifndef NC_PLAIN_H
#define NC_PLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include "error.h"

#define NC_PLAIN_UID 65534 /* nobody, on every distribution */

struct nc_plain {
	const char *netns;	  /* path of a network namespace; NULL: stay */
	const char *cgroup_procs; /* path of a cgroup.procs to join; NULL: stay */
	const char *resolver;	  /* address literal; NULL: no resolver at all */
	char *const *environment; /* NULL-terminated; NULL: PATH alone */
	const char *terminal;	  /* path of a terminal to be at; NULL: none */
	const char *errors;	  /* a file to which standard error is added; NULL: it goes where the output goes, or stays */
	bool privileged;	  /* stay uid 0 */
	unsigned int uid;	  /* else become this one; 0: nobody */
};

/* Runs the JSON array of strings `command`, bounded. The answer is as a driver's `exec` gives it: {version, exited, output}. -ETIMEDOUT is reported as
 * exited -1 with the output so far lost: a client bounds itself. The caller owns *ret_answer. */
int nc_plain_exec(const struct nc_plain *plain, const json_t *command, int deadline_ms, json_t **ret_answer, struct nc_error *reterr);

/* The same steps for a process that stays (a proxy): in the calling process, without uid change when privileged. 0 or negative errno. */
int nc_plain_become(const struct nc_plain *plain);
int nc_plain_enter(void *plain); /* the same, as nc_spawn_bounded wants it */

#endif
