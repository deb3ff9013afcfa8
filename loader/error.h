/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * error.h - one error, typed, with what an operator needs to act on it
 *
 * A function that can fail returns 0 or a negative errno and fills `reterr` (never NULL) on failure only. Functions do not log: the command
 * prints the error once, as one line or, with --json, as {code, detail, pointer, hint}. `code` is a word of NC_ERRORS and part of the interface;
 * detail and hint are prose for people.
 */
#ifndef NC_ERROR_H
#define NC_ERROR_H

#include <stdbool.h>

/* code, exit status (1: the answer is no, 2: usage, 3: could not), what it means. Messages, docs and tests come from this table. */
#define NC_ERRORS(X)                                                                                                                                 \
	X(USAGE, "usage", 2, "the command line is not understood")                                                                                   \
	X(CONFIG_INVALID, "config_invalid", 2, "the configuration file is not valid")                                                                \
	X(PROFILE_UNREADABLE, "profile_unreadable", 3, "the profile cannot be read")                                                                 \
	X(PROFILE_INVALID, "profile_invalid", 2, "the profile is not valid")                                                                         \
	X(BINDING_INVALID, "binding_invalid", 2, "the Runner's binding is not valid")                                                                \
	X(EGRESS_CERTIFICATION_UNMET, "egress_certification_unmet", 1, "the provider's advertised grade is below what the profile requires")         \
	X(CAPABILITY_INVALID, "capability_invalid", 3, "the capability document is not valid")                                                       \
	X(RECEIPT_MISSING, "receipt_missing", 1, "the capability advertises security_boundary, and there is no receipt for it")                      \
	X(RECEIPT_INVALID, "receipt_invalid", 1, "the receipt is not valid")                                                                         \
	X(PROVIDER_REVISION_MISMATCH, "provider_revision_mismatch", 1, "a document speaks about another provider, revision or manifest")             \
	X(ATTESTER_UNKNOWN, "attester_unknown", 1, "no key of the attester set made this signature")                                                 \
	X(ATTESTER_ROTATED, "attester_rotated", 6, "the attester's key has been replaced by a newer one")                                            \
	X(ATTESTER_REVOKED, "attester_revoked", 7, "the attester's key has been revoked")                                                            \
	X(ATTESTERS_INVALID, "attesters_invalid", 3, "the attester set is not valid")                                                                \
	X(FACT_UNESTABLISHED, "fact_unestablished", 1, "not all five facts are established")                                                         \
	X(CLOSURE_UNMET, "closure_unmet", 1, "a closure that the receipt was earned with is not in force here")                                      \
	X(WIRE_UNPROVEN, "wire_unproven", 1, "a security boundary needs the name on the wire of every named destination")                            \
	X(ENROLLMENT_INVALID, "enrollment_invalid", 3, "the enrollment is not valid")                                                                \
	X(CEILING_EXCEEDED, "ceiling_exceeded", 1, "the capability says more than a provider in its place may say")                                  \
	X(MATERIALIZATION_INVALID, "materialization_invalid", 1, "the materialization statement is not for this capability")                         \
	X(STATEMENT_INVALID, "statement_invalid", 1, "the conformance statement or its bundle is not valid")                                         \
	X(CASE_UNKNOWN, "case_unknown", 2, "the matrix has no such case or fact")                                                                    \
	X(DRIVER_UNUSABLE, "driver_unusable", 3, "the provider driver or the matrix's client cannot be started")                                     \
	X(DRIVER_DEADLINE, "driver_deadline", 3, "the provider driver did not answer in time")                                                       \
	X(DRIVER_CRASHED, "driver_crashed", 3, "the provider driver ended in failure")                                                               \
	X(DRIVER_GARBAGE, "driver_garbage", 3, "the provider driver's answer is not what docs/drivers.md says")                                      \
	X(DRIVER_CONTRADICTION, "driver_contradiction", 3, "the provider driver contradicts what the operator said is tested")                       \
	X(DRIVER_REFUSED, "driver_refused", 3, "the provider refused what the case needs")                                                           \
	X(AUTHORITY_DIMENSION_ABSENT, "authority_dimension_absent", 3, "the provider knows one authority only")                                      \
	X(WORLD_FAILED, "world_failed", 3, "the matrix cannot build its world")                                                                      \
	X(HOST_UNSUPPORTED, "host_unsupported", 3, "this kernel lacks something that netcordon cannot do without")                                   \
	X(HOST_DENIED, "host_denied", 3, "the kernel refused a privileged operation")                                                                \
	X(HOST_DOWN, "host_down", 3, "the programs are not installed")                                                                               \
	X(HOST_BUSY, "host_busy", 1, "instances still live")                                                                                         \
	X(HOST_INCOMPLETE, "host_incomplete", 3, "a required program is not in force")                                                               \
	X(PROGRAM_FOREIGN, "program_foreign", 3, "a program of somebody else is in force on the cgroup")                                             \
	X(OBJECT_MUTANT, "object_mutant", 3, "the objects are built for the matrix and have a check switched off")                                   \
	X(CGROUP_INVALID, "cgroup_invalid", 2, "the path is not a usable cgroup")                                                                    \
	X(OCI_STATE_INVALID, "oci_state_invalid", 2, "what the runtime says about the container is not an OCI state")                                \
	X(PROFILE_UNTRUSTED, "profile_untrusted", 3, "a profile of the operator's folder could be written by others")                                \
	X(INSTANCE_INVALID, "instance_invalid", 2, "the instance's name is not valid")                                                               \
	X(INSTANCE_EXISTS, "instance_exists", 1, "an instance of this name lives")                                                                   \
	X(INSTANCE_UNKNOWN, "instance_unknown", 1, "no instance of this name")                                                                       \
	X(INSTANCE_OF_OTHER_BUILD, "instance_of_other_build", 1, "another build of netcordon sealed the instance, and alone can speak to it")        \
	X(INSTANCE_BUSY, "instance_busy", 1, "the authority already has a live process tree")                                                        \
	X(INSTANCE_NOT_STARTED, "instance_not_started", 1, "the instance's command has not started yet")                                             \
	X(INSTANCE_ENDING, "instance_ending", 1, "the instance is being ended")                                                                      \
	X(INSTANCE_UNSUPERVISED, "instance_unsupervised", 1, "the instance has no supervisor any more")                                              \
	X(LAUNCH_STOPPED, "launch_stopped", 3, "a signal or `stop` ended the launch before its command ran")                                         \
	X(HOLD_CLOSED, "hold_closed", 3, "the Runner closed the hold descriptor without a go")                                                       \
	X(SLOTS_EXHAUSTED, "slots_exhausted", 3, "every slot is taken")                                                                              \
	X(RINGS_EXHAUSTED, "rings_exhausted", 3, "every event ring is taken")                                                                        \
	X(POLICY_FULL, "policy_full", 3, "the policy does not fit into the map")                                                                     \
	X(SEAL_MISMATCH, "seal_mismatch", 3, "what was read back differs from the compiled image")                                                   \
	X(CANARY_FAILED, "canary_failed", 3, "the canary did not see the refusal that it must see")                                                  \
	X(UID_SHARED, "uid_shared", 3, "a process outside the instance has the workload's user id")                                                  \
	X(PROCESS_INVALID, "process_invalid", 3, "the command cannot be started as the profile says")                                                \
	X(DESCRIPTOR_REFUSED, "descriptor_refused", 3, "a standard descriptor is of a kind that may not be handed in")                               \
	X(CREDENTIAL_LEAK, "credential_leak", 3, "a plane credential stands in what would be passed to the workload")                                \
	X(KEY_INVALID, "key_invalid", 3, "the key is not usable")                                                                                    \
	X(KEY_EXISTS, "key_exists", 1, "the file exists, and keys are never overwritten")                                                            \
	X(EVIDENCE_UNWRITABLE, "evidence_unwritable", 3, "the evidence cannot be written")                                                           \
	X(EVIDENCE_INVALID, "evidence_invalid", 1, "the evidence does not verify")                                                                   \
	X(EVENTS_GONE, "events_gone", 1, "the sequence asked for lies below what is kept")                                                           \
	X(NOT_DRAINED, "not_drained", 3, "a process of the instance does not end, although it was killed")                                           \
	X(DEADLINE, "deadline", 3, "it took longer than was allowed")                                                                                \
	X(SYSTEM, "system", 3, "a system call failed")

#define NC_ENUM_ERROR(symbol, ...) NC_E_##symbol,
enum nc_error_code { NC_E_NONE, NC_ERRORS(NC_ENUM_ERROR) NC_E_COUNT };

struct nc_error {
	enum nc_error_code code;
	int status;	   /* negative errno behind it, or 0 */
	char detail[320];  /* what, and where */
	char pointer[256]; /* RFC 6901 JSON pointer into the document at fault, or "" */
	char hint[256];	   /* what to do, or "" */
};

/*
 * Fills *reterr and returns `status` if that is negative, else -EINVAL, so that `return nc_error_set(...)` is one statement. The format makes
 * the detail. Never fails; text that is too long is cut.
 */
int nc_error_set(struct nc_error *reterr, enum nc_error_code code, int status, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same with the errno's own words after the detail: "open /x: Permission denied". */
int nc_error_sys(struct nc_error *reterr, enum nc_error_code code, int status, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Adds what to do. Returns reterr->status' sign rule as above, so it can end a return statement. */
int nc_error_hint(struct nc_error *reterr, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to the detail, "; " before it. */
void nc_error_add(struct nc_error *reterr, const char *text);

/* Was it for want of memory, and nothing else: no call that may have done half of its work? */
bool nc_error_is_memory(const struct nc_error *error);

const char *nc_error_word(enum nc_error_code code);    /* "profile_invalid"; "none" for 0 */
const char *nc_error_meaning(enum nc_error_code code); /* the table's sentence */
int nc_error_exit(enum nc_error_code code);	       /* the table's exit status */

#endif
