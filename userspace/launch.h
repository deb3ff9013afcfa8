/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch.h - from a profile and a command to a workload behind a sealed cordon, and to the evidence that is left behind
 *
 * Three ways in, which are three providers: `run` starts a command, `attach` seals a cgroup that somebody else fills, `exec` adds a command to a
 * running instance, under one of its two authorities. Each of them goes through numbered phases (launch.c), each phase has its undo, and an error in
 * any of them means that the command never runs and that nothing is left.
 *
 * The caller hands over paths and descriptors and keeps them: nothing here is freed, and descriptors stay the caller's but are read or written only
 * by the call. The call blocks until the command has ended (run, exec) or the cgroup is empty (attach). It takes over the signal mask of the calling
 * thread and restores it; it must be called from a process with one thread, since it forks.
 */
#ifndef NC_LAUNCH_H
#define NC_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>
#include "error.h"
#include "loader.h"

/* Exit statuses of `run` and `exec` beside the command's own; 128+n when signal n ended it. */
#define NC_EXIT_OURS 125	 /* netcordon failed; the command did not run, or could not be supervised to its end */
#define NC_EXIT_NOT_RUNNABLE 126 /* the command was found and could not be executed */
#define NC_EXIT_NOT_FOUND 127	 /* there is no such command */

#define NC_MESSAGE_VERSION 1 /* of what a Runner reads: status lines, `status`, `stop` and `wait` */

#define NC_GRACE_MS 10000	    /* between TERM and KILL, when nothing else was asked for */
#define NC_DRAIN_MS 2000	    /* how long what was sent before the end may take to arrive */
#define NC_LOG_BYTES (256ull << 20) /* config.h says it too */
#define NC_CHECKPOINT_MS 10000	    /* newest signed checkpoint is at most this old while there is something to sign */

struct nc_oci_container;

enum nc_on_death {
	NC_ON_DEATH_ORPHAN, /* nothing asked: the workload stays behind its cordon until `host status` or the next claim of its name ends it */
	NC_ON_DEATH_KEEP,   /* it stays until `stop`, on purpose */
	NC_ON_DEATH_KILL,   /* the kernel kills it with its supervisor */
};

/*
 * All of `run`; NC_LAUNCH_OPTIONS gives every field its "not asked for". Where a default comes from the configuration file, the command line puts
 * it in here: launch knows no configuration.
 */
struct nc_launch_options {
	const struct nc_host_options *host;	  /* never NULL */
	const char *provider_revision;		  /* NULL: "dev" */
	const char *profile;			  /* path; never NULL for run and attach */
	const char *instance;			  /* NULL: a random name */
	const char *netns;			  /* path of a network namespace; NULL: the caller's */
	const char *evidence;			  /* the folder itself, which must not exist; NULL: evidence_parent/INSTANCE-GENERATION */
	const char *evidence_parent;		  /* made (0700) when missing; NULL: /var/lib/netcordon/evidence */
	const char *key;			  /* secret key, PEM; never NULL for run and attach */
	const char *attester;			  /* name that stands in signature files; NULL: "local" */
	const char *binding;			  /* --bind FILE: a JSON object, carried in the launch statement unchanged; NULL: none */
	const char *cgroup;			  /* attach: path of the cgroup to seal */
	const struct nc_oci_container *container; /* attach for a runtime's hook, which is a provider of its own (oci.h); NULL: attach itself */
	enum nc_authority authority;		  /* exec: which; 0: plane */
	char *const *command;			  /* NULL-terminated; run and exec */
	const union nc_address *upstreams;	  /* DNS servers, port 53, for listed names; none: those of /etc/resolv.conf */
	size_t upstream_count;
	uint64_t log_bytes; /* of events.jsonl that the workload's doings may fill; 0: NC_LOG_BYTES */

	/* What the caller knows to say about an error before anybody is told, its hint above all; NULL: nothing */
	void (*advise)(const void *context, struct nc_error *error);
	const void *advise_context;

	int status_fd;	  /* JSON lines; -1: none */
	int hold_fd;	  /* one byte: go; end of file: do not; -1: go at once */
	int env_fd;	  /* NAME=value, NUL-separated, until end of file; read by the process that becomes the command; -1: none */
	int plane_env_fd; /* exec of the plane: the same form, the credentials; -1: none */

	int deadline_ms;   /* from the call to the start of the command, `hold_fd` included; 0: none */
	int lifetime_ms;   /* from the start of the command to TERM; 0: none */
	int grace_ms;	   /* from TERM to KILL; -1: NC_GRACE_MS */
	int drain_ms;	   /* -1: NC_DRAIN_MS */
	int checkpoint_ms; /* -1: NC_CHECKPOINT_MS; 0: only at start and end */
	enum nc_on_death on_death;
	bool pty; /* a pseudo terminal of the command's own, as if the profile said so */
};

#define NC_LAUNCH_OPTIONS                                                                                                                            \
	{                                                                                                                                            \
		.status_fd = -1, .hold_fd = -1, .env_fd = -1, .plane_env_fd = -1, .grace_ms = -1, .drain_ms = -1, .checkpoint_ms = -1                \
	}

/* How a launch ended, for its caller. */
struct nc_launch_end {
	int status;	   /* to exit with */
	const char *cause; /* of NC_CAUSES (evidence_names.h); "" when it failed */
};

/*
 * Runs `command` behind the profile's policy. 0: it ran, the status is what to exit with (the command's own, 128+signal). Negative: it did not run
 * or was not supervised to its end; reterr says why, the status is then NC_EXIT_OURS, _NOT_RUNNABLE or _NOT_FOUND. Whatever happens has also been
 * written to status_fd: exactly one `exited` or `failed` is its last line.
 */
int nc_launch_run(const struct nc_launch_options *options, struct nc_launch_end *ret_end, struct nc_error *reterr);
/* Seals options->cgroup and watches over it until it is empty (after it once was not) or SIGTERM/SIGINT comes, which unseals nothing that lives: what
 * is inside is killed first. The status is 0, or NC_EXIT_OURS with a negative return. */
int nc_launch_attach(const struct nc_launch_options *options, struct nc_launch_end *ret_end, struct nc_error *reterr);
/* Runs `command` inside the live instance options->instance under options->authority. INSTANCE_BUSY while that authority has a live tree. */
int nc_launch_exec(const struct nc_launch_options *options, struct nc_launch_end *ret_end, struct nc_error *reterr);
/* Asks the supervisor of a live instance to end it (TERM, grace, KILL), or ends an orphan; returns when the instance is gone. ret_evidence: the folder of
 * its evidence, "" when it had not come so far. */
int nc_launch_stop(const struct nc_host_options *host, const char *instance, int timeout_ms, char ret_evidence[NC_PATH_MAX], struct nc_error *reterr);
/* The same for every instance that has a supervisor. DEADLINE when one has not ended after timeout_ms; how many were asked otherwise. */
int nc_launch_stop_all(struct nc_host *host, int timeout_ms, unsigned int *ret_stopped, struct nc_error *reterr);
/* Asks the supervisor of a live instance to exchange its policy for that of another profile. An invalid one leaves the old policy in force.
 * *ret_ended: how many connections ended, because the new one does not list them. */
int nc_launch_update(const struct nc_host_options *host, const char *instance, const char *profile, uint32_t *ret_ended, struct nc_error *reterr);
/* Waits until the instance is gone. DEADLINE after timeout_ms (0: for ever). */
int nc_launch_wait(const struct nc_host_options *host, const char *instance, int timeout_ms, char ret_evidence[NC_PATH_MAX], struct nc_error *reterr);

#endif
