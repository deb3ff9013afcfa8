/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_names.h - the names that the writer and the reader of evidence share */
#ifndef NC_EVIDENCE_NAMES_H
#define NC_EVIDENCE_NAMES_H

#define NC_EVIDENCE_LAUNCH "launch.json"
#define NC_EVIDENCE_LOG "events.jsonl"
#define NC_EVIDENCE_CHECKPOINT "checkpoint.json"
#define NC_EVIDENCE_CLOSING "closing.json"

#define NC_EVIDENCE_END "end" /* kind of a closed log's last record */

/* Members of the launch statement that every later statement repeats; NULL-terminated. */
static const char *const nc_evidence_identity[] = {"instance", "generation", "boot_id", "manifest", NULL};

/* Why an instance ended: result.cause of the closing statement and of `exited`; who ended it; what it means. */
#define NC_ENDED_BY_ITSELF false
#define NC_ENDED_BY_US true
#define NC_CAUSES(X)                                                                                                                                 \
	X("exited", BY_ITSELF, "the command ended by itself")                                                                                        \
	X("signalled", BY_ITSELF, "a signal ended the command")                                                                                      \
	X("stopped", BY_US, "`stop`, `host down --force` or TERM to the supervisor ended it")                                                        \
	X("lifetime", BY_US, "--lifetime was over")                                                                                                  \
	X("membership_lost", BY_US, "a process of the workload was moved out of its cgroup; all were killed at once")                                \
	X("edge_lost", BY_US, "the edge, which resolves names and reads events, died; all were killed at once")                                      \
	X("program_lost", BY_US, "a program of the cordon was no longer in force; all were killed at once")                                          \
	X("emptied", BY_ITSELF, "`attach`: the cgroup became empty")                                                                                 \
	X("not_started", BY_ITSELF, "the command was never executed; `failure` is the error that ended the launch")

/* What can happen to a name that was asked for: symbol of enum nc_resolver_happening without its prefix, the record's `reason`, what it means. */
#define NC_NAME_REASONS(X)                                                                                                                           \
	X(RESOLVED, "name_granted", "the name was resolved; its addresses are granted for their lifetime")                                           \
	X(RESOLVER_NOT_LISTED, "name_not_listed", "the profile does not list the name: no server was asked")                                         \
	X(RESOLVER_NOT_PUBLIC, "answer_not_public", "an address that is not public was left out of the answer, and is not granted")                  \
	X(RESOLVER_FLOOR, "answer_on_floor", "an address on the host floor was left out of the answer, and is not granted")                          \
	X(RESOLVER_NO_NAME, "name_without_address", "the servers say that the name, or this record of it, does not exist")                           \
	X(RESOLVER_FAILED, "upstream_failed", "no name server answered")                                                                             \
	X(RESOLVER_STALE, "upstream_failed_grace", "no name server answered; the last answer was given again")                                       \
	X(RESOLVER_GRANT_REFUSED, "grant_refused", "the grant could not be installed, so the answer was SERVFAIL")

#endif
