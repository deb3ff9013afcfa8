/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_state.h - one launch in the making: what the phases hand to each other
 *
 * Only launch's own files include this. Each member belongs to the phase under whose name it stands; that phase's undo releases it, and a later phase
 * may only read it, unless a comment says otherwise.
 */
#ifndef NC_LAUNCH_STATE_H
#define NC_LAUNCH_STATE_H

#include <sys/signalfd.h>
#include "clock.h"
#include "canary.h"
#include "child.h"
#include "descriptors.h"
#include "edge.h"
#include "evidence.h"
#include "identity.h"
#include "key.h"
#include "names.h"
#include "launch.h"
#include "process_limits.h"
#include "policy.h"
#include "seccomp_filter.h"

#define NC_STEP_MS 30000 /* no single wait for a process of ours takes longer, whatever deadline was asked for */
#define NC_EVIDENCE_PARENT "/var/lib/netcordon/evidence"
#define NC_GENERATION_DIGITS 21 /* of a generation, decimal, with the NUL */

/* The ways in. Which provider each of them is stands in launch_statement.c. */
enum nc_provider { NC_PROVIDER_RUN, NC_PROVIDER_ATTACH, NC_PROVIDER_OCI, NC_PROVIDER_EXEC };

/* Did somebody else make the cgroup, and does he start what runs in it? */
static inline bool nc_provider_seals_others(enum nc_provider provider)
{
	return provider == NC_PROVIDER_ATTACH || provider == NC_PROVIDER_OCI;
}

/* How a workload came to its end. `cause` is a word of the interface (status line and closing statement). */
struct nc_ending {
	bool known; /* wait_status is the command's own */
	int wait_status;
	const char *failure; /* where the command was never executed: the error's word; NULL otherwise */
	const char *cause;   /* a word of NC_CAUSES */
	uint32_t sockets_destroyed;
	bool policy_intact;
	json_t *left; /* processes that SIGKILL did not end; NULL: none */
};

/* What became of a cgroup that was taken, when nobody has heard that it is sealed. */
enum nc_given_back { NC_NOTHING_TAKEN, NC_GIVEN_BACK, NC_NOT_GIVEN_BACK };

struct nc_launch {
	const struct nc_launch_options *options;
	enum nc_provider provider;
	enum nc_authority authority; /* whose process this is: the workload's, or `exec`'s choice */
	const char *phase;	     /* where it stands, for people and for `failed` */
	int64_t deadline_ns;	     /* CLOCK_MONOTONIC; 0: none */
	bool sealed_told, started;
	bool used; /* by `exec`, although nobody was told `sealed` */
	bool over; /* the command has ended: what is left is to count and to sign */

	/* profile */
	sigset_t saved_mask;
	bool mask_saved;
	int signal_fd;
	struct nc_stdio stdio;
	char *profile_text;
	size_t profile_length;
	struct nc_profile *profile;
	struct nc_image images[2]; /* workload, plane */
	struct nc_names names[2];  /* of the two policies */
	json_t *binding;
	struct nc_secret_key *key;
	int netns_fd, own_netns_fd; /* -1 both: the caller's network namespace */
	struct nc_mount_plan mounts;

	/* host */
	struct nc_host *host;
	char runtime[NC_PATH_MAX]; /* the host's own folder, where what is costly to find is kept */
	struct nc_floor *floor;

	/* seal */
	char instance[NC_INSTANCE_NAME_MAX + 1];
	struct nc_claim *claim;
	enum nc_given_back given_back; /* by the undoing */
	struct nc_edge edge;
	int edge_program;	  /* nc_edge_open's */
	struct nc_events *events; /* NULL: an edge reads them */
	struct nc_edge_resolver resolvers[2];
	uint16_t resolver_port_be[2];
	int update_fd;			 /* listens for `update`; -1: none */
	struct nc_settings nat64;	 /* the NAT64 prefixes in force, as the kernel and the resolver judge by; they may become more */
	struct nc_settings sealed_nat64; /* those of the seal: while the instance lives none of them goes */
	bool names_refused;		 /* connections wait to be ended for what their first bytes said */
	uint64_t names_cut;		 /* happenings of names that were counted, not told */
	struct nc_identity identity;
	struct nc_limits limits;
	uint64_t netns_cookie;
	struct nc_effective_list effective;
	const struct nc_closure *closures;
	size_t closure_count;
	struct nc_seccomp_choice seccomp_choice;
	struct nc_seccomp seccomp;

	/* statement */
	char evidence_folder[NC_PATH_MAX];
	struct nc_evidence *evidence;
	json_t *left_to_others; /* attach: what somebody else must have done, and whether that could be seen */

	/* exec */
	char *seen_by_workload;	 /* environments and arguments of the workload's processes: no credential may stand in it */
	unsigned int unsearched; /* processes of which it does not hold all */
	size_t seen_length;
	int lock_fd;

	/* birth */
	struct nc_child child;

	/* names */
	struct nc_error grant_error; /* why the last grant was refused; the edge tells of it next */

	/* canary */
	struct nc_canary canary;

	/* supervise */
	pid_t command_pid;
	int exec_error; /* negative errno of the command's exec; 0: it was not that */
	json_t *passed; /* names that the Runner added to the environment */
	struct nc_ending ending;
	uint64_t events_lost; /* on their way from the ring into the log; the kernel counts its own */
};

struct nc_phase {
	const char *name;
	int (*run)(struct nc_launch *launch, struct nc_error *reterr);
	void (*undo)(struct nc_launch *launch); /* after success and after failure: releases what the phase made and nobody took over */
};

void nc_launch_init(struct nc_launch *launch, const struct nc_launch_options *options, enum nc_provider provider);
/* Goes through `phases` and undoes them in reverse, also those that succeeded; *ret_end is for the caller. */
int nc_launch_go(struct nc_launch *launch, const struct nc_phase *phases, size_t count, struct nc_launch_end *ret_end, struct nc_error *reterr);

/* launch_profile.c */
int nc_phase_profile(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_profile(struct nc_launch *launch);
int nc_launch_check_loopback(const struct nc_launch *launch, const struct nc_profile *profile, struct nc_error *reterr);
/* Both authorities' images, numbered, and their names; `before`: those of the policy that they follow, or NULL. What was made is the caller's to free, also
 * after a failure. */
int nc_launch_compile(const struct nc_profile *profile, const struct nc_names before[2], struct nc_image images[2], struct nc_names names[2],
		      struct nc_error *reterr);
int nc_launch_admit(const struct nc_launch *launch, const struct nc_profile *profile, struct nc_error *reterr);
int nc_launch_block_signals(struct nc_launch *launch, struct nc_error *reterr);
/* launch_seal.c */
int nc_phase_host(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_host(struct nc_launch *launch);
int nc_phase_seal(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_seal(struct nc_launch *launch);
/* Of a taken cgroup: `tell` says to whoever waits that it is sealed. From then on what runs in it ends with the instance, and lives on with it where
 * it is kept; if nobody could be told, neither. */
int nc_launch_promise(struct nc_launch *launch, int (*tell)(struct nc_launch *launch, struct nc_error *reterr), struct nc_error *reterr);
int nc_launch_choose_filter(struct nc_launch *launch, bool starts_process, struct nc_error *reterr);
/* launch_names.c: sockets and names for the resolvers, before the edge starts; their ports into the slots, after the seal */
int nc_launch_names_open(struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_names_publish(struct nc_launch *launch, struct nc_error *reterr);
void nc_launch_names_close(struct nc_launch *launch);
/* After an update: the edge is told of the names that are listed now. *ret_anew: a resolver came or went, so the edge has to be ended and started anew. */
int nc_launch_names_changed(struct nc_launch *launch, bool *ret_anew, struct nc_error *reterr);
int nc_launch_start_edge(struct nc_launch *launch, struct nc_error *reterr); /* or, where neither policy lists a name, opens the ring here */
int nc_launch_grant(struct nc_launch *launch, const struct nc_edge_message *message, struct nc_error *reterr);
int nc_launch_record_name(struct nc_launch *launch, const struct nc_edge_name *name, struct nc_error *reterr);
/* launch_events.c: the descriptor to wait on, edge or ring; some of the records, all that are left, without an edge */
/* A record of what the workload caused; past the log's bound, or without memory (NULL too), it is counted as lost. nc_launch_keep knows no bound. */
int nc_launch_keep(struct nc_launch *launch, json_t *record, struct nc_error *reterr);
int nc_launch_record(struct nc_launch *launch, json_t *record, struct nc_error *reterr);
int nc_launch_record_event(struct nc_launch *launch, const struct nc_event *event, struct nc_error *reterr);
int nc_launch_events_open(struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_events_fd(const struct nc_launch *launch);
int nc_launch_events_step(struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_events_finish(struct nc_launch *launch, struct nc_error *reterr); /* and closes */
void nc_launch_events_close(struct nc_launch *launch);
/* The reader failed. What it had taken and not handed over nobody knows: one loss at least. What an edge left in the ring is read here. */
void nc_launch_events_lose(struct nc_launch *launch);
/* launch_statement.c */
int nc_phase_statement(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_statement(struct nc_launch *launch);
/* birth.c */
int nc_phase_birth(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_birth(struct nc_launch *launch);
int nc_phase_canary(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_canary(struct nc_launch *launch);
/* The child's attempts at live listeners, which must be refused for `expected`; then the command's process is found. */
int nc_launch_canary(struct nc_launch *launch, enum nc_reason expected, struct nc_error *reterr);
/* The same without an attempt: only finds the command's process. */
int nc_launch_silent_canary(struct nc_launch *launch, struct nc_error *reterr);
/* The command's next report; a FAILED one is turned into its error. *ret_end: the pipe has ended, *ret_report is not filled. */
int nc_launch_next_report(struct nc_launch *launch, struct nc_report *ret_report, bool *ret_end, struct nc_error *reterr);
/* The command's side has closed its pipe, or ended: why. Always an error. */
int nc_launch_explain_death(struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_order(struct nc_launch *launch, const struct nc_order *order, struct nc_error *reterr);
/* supervise.c */
int nc_phase_supervise(struct nc_launch *launch, struct nc_error *reterr);
void nc_undo_supervise(struct nc_launch *launch);
/* The pieces that exec uses too. */
int nc_launch_ready(struct nc_launch *launch, struct nc_error *reterr);	   /* state file, edge ready, the beginning of the evidence on the disk */
int nc_launch_announce(struct nc_launch *launch, struct nc_error *reterr); /* the same, and `sealed` */
int nc_launch_write_state(struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_let_go(struct nc_launch *launch, struct nc_error *reterr);
/* finish.c */
int nc_phase_end(struct nc_launch *launch, struct nc_error *reterr);
/* A launch of `run` that does not start: closes the evidence of what others did in it, if somebody was told of it or used it. */
void nc_launch_end_unstarted(struct nc_launch *launch, const struct nc_error *why);
/* launch_update.c: the socket in the instance's folder, and one request on it. A negative return ends the instance: what was refused is told to
 * whoever asked */
int nc_update_listen(struct nc_launch *launch, struct nc_error *reterr);
int nc_update_step(struct nc_launch *launch, bool ending, struct nc_error *reterr);
int nc_launch_exit_status(const struct nc_launch *launch);
int nc_launch_failure_status(const struct nc_launch *launch); /* launch.c: of one that failed */
json_t *nc_ending_json(const struct nc_ending *ending);
/* left.c: notes the processes that are still in the authority's cgroup, and what each waits for; the error that says so in one line (NOT_DRAINED) */
int nc_left_note(struct nc_launch *launch, enum nc_authority authority, struct nc_error *reterr);
int nc_left_error(const struct nc_launch *launch, struct nc_error *reterr);
/* attach_checks.c: looks at every process in the cgroup from outside. `early`: what runs there now is the runtime's, and has not become the container yet, so
 * that only its namespaces say something. *ret_row: what was found; the caller owns it */
int nc_attach_checks(struct nc_host *host, int cgroup_fd, bool early, json_t **ret_rows, struct nc_error *reterr);
/* probe.c: a process of ours, born in the authority's cgroup with a user of the instance's own, makes the canary's attempts and ends. */
int nc_launch_probe(struct nc_launch *launch, const struct nc_order *order, struct nc_report *ret_report, struct nc_error *reterr);
/* status.c: lines on status_fd. Before the command runs a line that cannot be written is an error: the Runner is gone. */
int nc_status_sealed(struct nc_launch *launch, struct nc_error *reterr);
int nc_status_started(struct nc_launch *launch, struct nc_error *reterr);
int nc_status_exited(struct nc_launch *launch, struct nc_error *reterr);
void nc_status_failed(struct nc_launch *launch, const struct nc_error *error);

/* wait.c: waits that end, and what ends them */
int nc_launch_check_signals(struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_too_late(const struct nc_launch *launch, struct nc_error *reterr);
int nc_launch_wait_readable(struct nc_launch *launch, int fd, struct nc_error *reterr);
/* Reads exactly `size` bytes from `fd`, or fewer at its end (*ret_got). DEADLINE; SYSTEM/EINTR when a signal asked the launch to end. */
int nc_launch_receive(struct nc_launch *launch, int fd, void *buffer, size_t size, size_t *ret_got, struct nc_error *reterr);
/* Inside the workload's network namespace: calls `act` and returns to the own one. */
int nc_launch_in_netns(struct nc_launch *launch, int (*act)(struct nc_launch *launch, struct nc_error *reterr), struct nc_error *reterr);

const char *nc_provider_word(enum nc_provider provider);
json_t *nc_launch_generation_json(const struct nc_launch *launch);

/* What is compared of each named destination, "wire" or "address", and under which number the images hold its name. A new object. */
json_t *nc_launch_name_binding(const struct nc_profile *profile, const struct nc_image images[2]);

#endif
