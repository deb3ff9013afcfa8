/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netcordon.h - what the drivers of netcordon's own providers share
 *
 * options: {"netcordon": the program, "root": a cgroup for this test alone, "mutant": the program built for the matrix (none: no mutants), "revision"}
 *
 * netcordon is started in the edge's network namespace, so that its resolver asks the matrix's resolver; the workload's namespace goes to --netns. Below
 * `root` there is one cgroup for netcordon as it is and one for each set of checks that is off: each is a host with programs of its own, which are loaded
 * once and stay until the matrix says that it is done.
 */
#ifndef NC_DRIVERS_NETCORDON_H
#define NC_DRIVERS_NETCORDON_H

#include "checks.h"
#include "mutants.h"
#include "verbs.h"

/* Checks that can be left out, in the words of bpf/checks.h and userspace/mutants.h, each followed by a blank. */
#define NETCORDON_KERNEL_WORD(symbol, bit, word, meaning) word " "
#define NETCORDON_LAUNCH_WORD(word, meaning) word " "
#define NETCORDON_CHECKS NC_CHECKS(NETCORDON_KERNEL_WORD) NC_LAUNCH_CHECKS(NETCORDON_LAUNCH_WORD)
#define NETCORDON_PROCESS_CHECKS NC_PROCESS_CHECKS(NETCORDON_LAUNCH_WORD)

/* A netcordon command line, growing at its end. */
struct line {
	char *words[64];
	size_t count;
};

const char *netcordon_option(const json_t *request, const char *name);
/* `command`: words, each ended by NUL, the last by two. The state's root and configuration follow. */
struct line netcordon_line(const json_t *state, const char *command);
void netcordon_add(struct line *line, const char *word);

/* Do BPF security hooks act on this kernel? netcordon says. */
bool netcordon_lsm(const json_t *request);
/* Adds to the answer of a prepare: "cgroups" {"outside", "unsealed", "root"}, a cgroup of the root for whoever is no workload, one of the slice that no policy
 * is given to, and the root; "pins" {"folder", "policy"}. What cannot be made or found is left out. */
void netcordon_point_out(const json_t *state, json_t *answer);
/* Cgroup, profile, configuration, key and programs for one instance. NULL and *ret_state, or the refusal to answer with. */
json_t *netcordon_ready(const json_t *request, json_t **ret_state);
/* Starts a command line that stays, and waits until its evidence says that everything is in force. */
int netcordon_start(const json_t *state, struct line *line, const char *evidence);
bool netcordon_has_begun(const char *evidence);
#define NETCORDON_IDLE_SECONDS "300" /* longer than any case, also on a slow machine: of `sleep`, where an instance must have a process in it */
/* The refusal with the first line of netcordon's own errors. */
json_t *netcordon_refusal(const json_t *state, const char *code);
/* Runs `line -- COMMAND` of the request; netcordon's own failure (125) becomes a refusal with its words. */
json_t *netcordon_launch(const json_t *state, struct line *line, const json_t *request);
json_t *netcordon_plane(const json_t *request);			       /* the request's command under the plane of the state's instance */
json_t *netcordon_update(const json_t *request, const char *instance); /* the request's profile is the new one */
void netcordon_stop(const json_t *state);			       /* the state's instance */
void netcordon_stop_instance(const json_t *state, const char *instance);
void netcordon_forget(const json_t *state); /* removes the scratch folder */
void netcordon_down(const json_t *request); /* the matrix is done: the programs of every root go, and the roots */

#endif
