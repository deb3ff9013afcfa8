/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - from clone3 to exec: the process that is born inside the cordon, and what it must become before it may run a foreign instruction
 *
 * Two processes come of it. The first is PID 1 of the workload's own pid namespace (init.c): it sets up what both share (mounts, user, privileges,
 * seccomp), forks, and from then on reaps, forwards signals and reports. The second (command.c) passes the canary, waits for `go`, and becomes the command.
 *
 *   supervisor --init_control--> init        one byte: the number of a signal for the command
 *   supervisor <--init_report--- init        struct nc_report: FAILED, ENDED
 *   supervisor --command_control--> command  struct nc_order: CANARY, GO
 *   supervisor <--command_report--- command  struct nc_report: FAILED, CANARY, PASSED..., READY, then end of file: exec has happened
 *
 * All four are pipes of their own, records are smaller than PIPE_BUF, so they arrive whole. End of file on a control pipe means that the supervisor is gone.
 */
#ifndef NC_CHILD_H
#define NC_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <linux/filter.h>
#include "error.h"

/* One change to the mount table that the child makes in its own mount namespace. */
struct nc_mount_edit {
	enum { NC_MOUNT_HIDE, NC_MOUNT_READ_ONLY } kind;
	unsigned long flags; /* MS_NOSUID ... that the mount has and keeps */
	char *point;
};

struct nc_mount_plan {
	bool shared; /* some mount propagates: make all private first */
	struct nc_mount_edit *edits;
	size_t count;
};

/* Reads the caller's mountinfo: every bpf file system and automounted host is to be hidden, every cgroup one to be read-only. Freed by nc_mount_plan_free. */
int nc_mount_plan(struct nc_mount_plan *ret_plan, struct nc_error *reterr);
void nc_mount_plan_free(struct nc_mount_plan *plan);

struct nc_child_limit {
	int resource; /* RLIMIT_* */
	rlim_t value;
};
#define NC_CHILD_LIMITS 4

/* Everything that the child needs, computed beforehand: between clone and exec nothing is allocated, read from a file or decided. Borrowed, and none of it in
 * the heap when the child is born (nc_child_pack). */
struct nc_child_plan {
	int cgroup_fd;
	int netns_fd;	  /* -1: the caller's */
	int own_netns_fd; /* where the caller returns to; only with netns_fd */
	const struct nc_mount_plan *mounts;
	uid_t uid;
	gid_t gid;
	struct sock_fprog filter;
	struct nc_child_limit limits[NC_CHILD_LIMITS];
	size_t limit_count;
	int64_t pids; /* RLIMIT_NPROC for the workload; -1: as inherited */
	int stdio[3];
	int pty;	    /* slave end that becomes 0-2 and the controlling terminal; -1: none */
	int env_fd;	    /* -1: none */
	int credentials_fd; /* the plane's; -1: none */
	const char *cwd;
	mode_t umask;
	char *const *argv; /* not in the memory of the caller's own arguments, which init wipes */
	char *arguments;   /* the caller's own, as /proc/PID/cmdline shows them: anybody may read that of any process */
	size_t arguments_length;
	char *const *env;	       /* the whole environment, before env_fd */
	char *const *credential_names; /* of the plane; NULL-terminated, or NULL */
	bool is_plane;		       /* only these names may come by credentials_fd; else none of them may stand in the environment at all */
	const char *seen_by_workload;  /* is_plane: bytes in which no credential's value may stand; NULL: none */
	size_t seen_length;
	bool die_with_supervisor;
};

/* What a plan points to, in memory that the child is born with: one at a time. */
struct nc_child_parcel {
	void *bytes;
	size_t size;
};

/* Copies everything that `plan` points to (but for the caller's own arguments, which init wipes where they are) and lets it point there. Negative errno. */
int nc_child_pack(struct nc_child_plan *plan, struct nc_child_parcel *ret_parcel);
void nc_child_unpack(struct nc_child_parcel *parcel); /* the plan's pointers are gone with it */

#define NC_CANARY_ATTEMPTS 4 /* TCP and UDP over IPv4, then over IPv6 */
#define NC_CANARY_NONCE 16   /* bytes */

struct nc_order {
	uint32_t kind; /* NC_ORDER_* */
	uint16_t port_be;
	uint8_t attempts; /* bit i: make canary attempt i */
	uint8_t reserved;
	uint8_t nonce[NC_CANARY_NONCE]; /* what a datagram of the canary says */
};
enum { NC_ORDER_CANARY = 1, NC_ORDER_GO };

enum nc_report_kind {
	NC_REPORT_FAILED = 1, /* step, status: negative errno */
	NC_REPORT_CANARY,     /* results[] */
	NC_REPORT_PASSED,     /* step: a name that env_fd added to the environment */
	NC_REPORT_READY,      /* the next thing is exec */
	NC_REPORT_ENDED,      /* status: wait status of the command, as waitpid gives it */
};

struct nc_report {
	uint32_t kind;
	int32_t status;
	int32_t results[NC_CANARY_ATTEMPTS];   /* 0: it got through; negative errno; 1: not made */
	uint16_t ports_be[NC_CANARY_ATTEMPTS]; /* the attempt's own; 0: it came to none */
	char step[100];
};

struct nc_child {
	pid_t pid; /* init's, in the caller's pid namespace; 0: none */
	int pidfd;
	int init_control, init_report, command_control, command_report;
	bool born_inside; /* by CLONE_INTO_CGROUP; else by the fallback, verified */
};
#define NC_CHILD_NONE                                                                                                                                \
	{                                                                                                                                            \
		.pidfd = -1, .init_control = -1, .init_report = -1, .command_control = -1, .command_report = -1                                      \
	}

/* Births the child; it goes on by itself until the canary. Where clone3 is missing or refused (L05) the child is held before its first step until its
 * membership has been read back. HOST_DENIED, HOST_UNSUPPORTED, SYSTEM. */
int nc_child_start(const struct nc_child_plan *plan, struct nc_child *ret_child, struct nc_error *reterr);
/* Kills and reaps what is left, closes everything; idempotent. Who has not ended after timeout_ms is left: he waits in the kernel, and goes when that
 * wait ends. */
#define NC_CHILD_END_MS 5000
void nc_child_end(struct nc_child *child, int timeout_ms);
/* The command runs, and its ends of its pipes are gone: ours need not be held with their pages for as long as it lives. */
void nc_child_started(struct nc_child *child);
/* Text and code for a FAILED report: the step's name decides which error it is. The step "exec" is the caller's, who knows the command. */
int nc_child_error(const struct nc_report *report, struct nc_error *reterr);

/* The two bodies. Neither returns. Descriptors are the fixed numbers below. */
enum { NC_FD_INIT_CONTROL = 3, NC_FD_INIT_REPORT, NC_FD_COMMAND_CONTROL, NC_FD_COMMAND_REPORT, NC_FD_PTY, NC_FD_ENV, NC_FD_CREDENTIALS, NC_FD_FREE };
_Noreturn void nc_init_main(const struct nc_child_plan *plan, bool held);
_Noreturn void nc_command_main(const struct nc_child_plan *plan);
void nc_command_forget(void); /* in init: wipes what the command read into memory that was init's too */
/* Writes FAILED to `fd` and exits. */
_Noreturn void nc_child_fail(int fd, const char *step, int status);
/* The canary's four connections, in the child. results[i] and ports_be[i] as in struct nc_report. */
void nc_canary_attempt(const struct nc_order *order, int32_t results[NC_CANARY_ATTEMPTS], uint16_t ports_be[NC_CANARY_ATTEMPTS]);

/*
 * Gives up everything for good, in this order: bounding set, securebits (locked), groups, gid, uid, capability sets, no_new_privs, an empty session keyring,
 * not dumpable, seccomp when filter is not NULL. Raw system calls: no other thread is looked for. Returns 0 or a negative errno with the step's
 * name in *ret_step (static text).
 */
int nc_privileges_drop(uid_t uid, gid_t gid, const struct sock_fprog *filter, const char **ret_step);

#endif
