/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * other_build.h - instances that another build of netcordon has sealed: what can be said of them, and who can say more (other_build.c)
 *
 * After an upgrade they go on under the programs of the build before. This build finds and names them; to ask, change or end them takes that build's program,
 * which is still there while a supervisor runs it, wherever its file has gone.
 */
#ifndef NC_OTHER_BUILD_H
#define NC_OTHER_BUILD_H

#include <jansson.h>
#include "error.h"
#include "loader.h"

#define NC_OTHER_PROGRAM_MAX (NC_PATH_MAX + 64)

/* What its supervisor left in its folder, where that is laid out as this build knows it. */
struct nc_other_facts {
	pid_t supervisor;	    /* 0: it has none, or it is not known */
	char evidence[NC_PATH_MAX]; /* "": not known */
	char revision[64];	    /* as its launch statement has it; "": not known */
};

void nc_other_look(const struct nc_other *other, struct nc_other_facts *ret_facts);
/* Where that build's program is to be had: goes after "its own build's program: ". */
const char *nc_other_program(const struct nc_other *other, char ret_text[NC_OTHER_PROGRAM_MAX]);
/* The members that speak of it: instance, build, pins, revision, supervised, supervisor, cgroup. What is not known is null. */
json_t *nc_other_json(const struct nc_other *other);
/* The instance of this name, one that is supervised before one that is not. 1, 0 where there is none, or an error. */
int nc_other_find(const struct nc_host_options *options, const char *instance, struct nc_other *ret_other, struct nc_error *reterr);
/* When `r` says that there is no such instance, and another build has one: makes that the error. Returns `r`. */
int nc_other_error(const struct nc_host_options *options, const char *instance, int r, struct nc_error *reterr);

#endif
