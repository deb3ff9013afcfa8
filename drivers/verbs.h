/* SPDX-License-Identifier: GPL-2.0-only */
/* verbs.h - what the shipped drivers share: the four verbs of docs/drivers.md, a request on standard input, an answer on standard output */
#ifndef NC_DRIVERS_VERBS_H
#define NC_DRIVERS_VERBS_H

#include <jansson.h>
#include "cleanup.h"
#include "driver.h"
#include "json.h"
#include "plain.h"

typedef json_t *verb_function(const json_t *request);

struct verbs {
	verb_function *describe, *prepare, *exec, *teardown;
	verb_function *update; /* NULL: not offered */
};

/* The whole of main(). */
int verbs_main(int argc, char **argv, const struct verbs *verbs);

/* {"error": ...}: the provider cannot. */
json_t *refuse(const char *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
json_t *description(const char *provider, const char *revision, const char *authorities, const char *transport, const char *mutants);
json_t *offering(json_t *description, const char *offers); /* the same with what it can do besides */
/* Takes from its mutants the words of a list divided by blanks. */
json_t *lacking(json_t *description, const char *mutants);
/* {"version": 1, "provider", "provider_revision", "state": state}; takes the reference. */
json_t *prepared(const char *provider, const char *revision, json_t *state);
json_t *nothing(const json_t *request); /* a teardown that has nothing to do */

/* A string below the request: text_at(request, "netns", "workload", NULL). NULL when it is not there. */
const char *text_at(const json_t *object, ...) __attribute__((sentinel));
const json_t *part_at(const json_t *object, ...) __attribute__((sentinel));
/* Runs the request's command by nc_plain_exec. */
json_t *run_command(const json_t *request, const struct nc_plain *plain);
/* Runs a program with `input`, 50 s at most; 0 when it exited with 0. */
int run_tool(const struct nc_plain *where, char *const *argv, const char *input);
/* Starts a program that stays when the driver has gone: in a session of its own, with the null device on 0-2 and no other descriptor. When this returns it is
 * in its place and has executed, so that nothing of the driver's memory is in it any more. -1: it could not. */
pid_t start_beside(const struct nc_plain *where, char *const *argv);
/* Is `word` in the request's "off", the checks that the matrix wants switched off? */
bool is_off(const json_t *request, const char *word);

#endif
