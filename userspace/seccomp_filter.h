/* SPDX-License-Identifier: GPL-2.0-only */
/* seccomp_filter.h - the system calls that a workload may not make (seccomp.c) */
#ifndef NC_SECCOMP_FILTER_H
#define NC_SECCOMP_FILTER_H

#include <stdbool.h>
#include <linux/filter.h>
#include "digest.h"
#include "error.h"

struct nc_seccomp_choice {
	bool refuse_unix;    /* nothing on this machine sees whom a unix socket talks to, and the profile did not accept that */
	bool allow_io_uring; /* a security hook acts on the sockets that a ring makes */
};

struct nc_seccomp {
	struct sock_fprog program; /* `filter` is owned */
	struct nc_digest digest;   /* of the program's bytes */
};

/* The filter as BPF bytes. Compiled once and kept in `folder` (a folder that only root can write) under a name that is a digest of the rules, since the
 * compilation takes longer than all other steps of a child's birth. HOST_UNSUPPORTED when a rule cannot be expressed. Freed by nc_seccomp_free. */
int nc_seccomp_filter(const char *folder, const struct nc_seccomp_choice *choice, struct nc_seccomp *ret_seccomp, struct nc_error *reterr);
/* The same, always compiled. */
int nc_seccomp_compile(const struct nc_seccomp_choice *choice, struct nc_seccomp *ret_seccomp, struct nc_error *reterr);
void nc_seccomp_free(struct nc_seccomp *seccomp);
/* Walks the table: call and reason of each rule that `choice` puts in force. */
void nc_seccomp_rules(const struct nc_seccomp_choice *choice, void (*each)(void *context, const char *call, const char *reason), void *context);

#endif
