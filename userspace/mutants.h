/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mutants.h - checks in user space that the matrix can leave out, as bpf/checks.h is for those in the kernel
 *
 * In netcordon NC_MUTANT_OFF is the constant 0. Only the program that the matrix builds for itself (mutants/) asks.
 */
#ifndef NC_MUTANTS_H
#define NC_MUTANTS_H

#include <stdbool.h>
#include "loader.h"

/* What `run` does for the process that it starts, and the other providers do not. */
#define NC_PROCESS_CHECKS(X)                                                                                                                         \
	X("ring_filter", "io_uring is refused where no hook sees the sockets that a ring makes")                                                     \
	X("descriptors", "the workload gets no descriptor that its caller left open")                                                                \
	X("privileges", "the workload is an ordinary user without capabilities and behind a filter of calls")                                        \
	X("call_filter", "the workload's system calls are filtered: families, keys, other processes, terminals")                                     \
	X("mounts", "the workload sees no BPF file system and cannot write to a cgroup file system")                                                 \
	X("pid_namespace", "the workload's processes see no other's")                                                                                \
	X("terminal", "the workload has a session of its own and its caller's terminal is not in it")

#define NC_LAUNCH_CHECKS(X)                                                                                                                          \
	NC_PROCESS_CHECKS(X)                                                                                                                         \
	X("canary", "a launch does not go on unless the canary saw its refusals")                                                                    \
	X("resolver_filter", "the resolver leaves out addresses that are not public")                                                                \
	X("resolver_cache", "an answer is kept for its lifetime, at least half a minute")                                                            \
	X("grant_filter", "whoever installs a grant looks at its address once more")                                                                 \
	X("read_only", "the maps that a verdict reads can be written by no program")                                                                 \
	X("foreign", "a launch does not go on where a program of somebody else is in force")                                                         \
	X("revocation", "an update takes back the grants of names that left the policy")                                                             \
	X("flows_end", "an update ends the flows that the new policy does not list")                                                                 \
	X("edge_credential", "netcordon's own environment holds no plane credential")

#ifdef NC_MUTANTS
bool nc_mutant_off(const char *check);
void nc_mutant_options(struct nc_host_options *options); /* the object, and the kernel's checks that it leaves out */
#define NC_MUTANT_OFF(check) nc_mutant_off(check)
#else
#define NC_MUTANT_OFF(check) 0
#endif

#endif
