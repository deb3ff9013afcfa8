/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence_clauses.h - sixteen clauses that hold one instance's evidence against what a Runner asked for
 *
 *   nine    BINDING: the evidence against what the Runner holds (`--expect`)
 *   six     INTERNAL: the evidence against itself
 *   one     CAPABILITY: its enforcement statement against what the provider advertises
 *
 * What a comparison is worth depends on who wrote its other side, so each result says what its reference was:
 *
 *   runner_owned   the reader brought it along
 *   internal       another part of the same signed evidence
 *   self_authored  whoever wrote the evidence wrote the reference too. Such a clause can show a contradiction; it is never a cross-check, and nothing
 *                  that counts cross-checks counts it
 *
 * What the evidence says is in part measured by netcordon itself (which profile, mode, limits) and in part carried: said by the Runner at launch and signed
 * unchanged (which image). The table below is the whole list; docs/formats.md explains it.
 */
#ifndef NC_EVIDENCE_CLAUSES_H
#define NC_EVIDENCE_CLAUSES_H

#include <jansson.h>
#include <stdbool.h>
#include "error.h"

#define NC_CLAUSES(X)                                                                                                                                \
	X(INSTANCE, "instance", BINDING, MEASURED, "the instance's name")                                                                            \
	X(PROVIDER, "provider", BINDING, MEASURED, "which provider enforced")                                                                        \
	X(PROVIDER_REVISION, "provider_revision", BINDING, MEASURED, "at which revision")                                                            \
	X(MATERIALIZATION_REVISION, "materialization_revision", BINDING, CARRIED, "which materialization was launched")                              \
	X(ROOT_IMAGE, "root_image", BINDING, CARRIED, "from which root image")                                                                       \
	X(PLATFORM, "platform", BINDING, MEASURED, "on which operating system and architecture")                                                     \
	X(PROFILE_DIGEST, "profile_digest", BINDING, MEASURED, "under which profile")                                                                \
	X(NETWORK_MODE, "network_mode", BINDING, MEASURED, "in which network mode")                                                                  \
	X(RESOURCE_LIMITS, "resource_limits", BINDING, MEASURED, "within which limits")                                                              \
	X(ONE_LAUNCH, "one_launch", INTERNAL, MEASURED, "every statement is of this launch")                                                         \
	X(CHAIN, "chain", INTERNAL, MEASURED, "every record follows the one before it, and speaks of names as they are listed")                      \
	X(COUNTS, "counts", INTERNAL, MEASURED, "closing statement and checkpoint count what the log holds")                                         \
	X(SEALED_MODE, "sealed_mode", INTERNAL, MEASURED, "the policy that was sealed has the profile's mode")                                       \
	X(GAPS, "gaps", INTERNAL, MEASURED, "the gaps are exactly the closures that are not in force")                                               \
	X(POLICY_INTACT, "policy_intact", INTERNAL, MEASURED, "the policy read back at the end is the one that was sealed")                          \
	X(ENFORCEMENT, "enforcement", CAPABILITY, MEASURED, "the enforcement statement is the advertised one")
#define NC_ENUM_CLAUSE(symbol, ...) NC_CLAUSE_##symbol,
enum nc_clause { NC_CLAUSES(NC_ENUM_CLAUSE) NC_CLAUSE_COUNT };

enum nc_clause_group { NC_CLAUSES_BINDING, NC_CLAUSES_INTERNAL, NC_CLAUSES_CAPABILITY };

/* The word of the interface, and how it counts. */
#define NC_CLAUSE_RESULTS(X)                                                                                                                         \
	X(NOT_COMPARED, "not_compared") /* there is no reference, or the evidence has not come that far */                                           \
	X(HOLDS, "holds")                                                                                                                            \
	X(DIFFERS, "differs")                                                                                                                        \
	X(ABSENT, "absent") /* the reference is there, and the evidence says nothing */
#define NC_ENUM_CLAUSE_RESULT(symbol, word) NC_CLAUSE_##symbol,
enum nc_clause_result { NC_CLAUSE_RESULTS(NC_ENUM_CLAUSE_RESULT) };

#define NC_CLAUSE_REFERENCES(X)                                                                                                                      \
	X(NONE, "none")                                                                                                                              \
	X(RUNNER_OWNED, "runner_owned")                                                                                                              \
	X(INTERNAL, "internal")                                                                                                                      \
	X(SELF_AUTHORED, "self_authored")
#define NC_ENUM_CLAUSE_REFERENCE(symbol, word) NC_REFERENCE_##symbol,
enum nc_clause_reference { NC_CLAUSE_REFERENCES(NC_ENUM_CLAUSE_REFERENCE) };

struct nc_clause_row {
	enum nc_clause_result result;
	enum nc_clause_reference reference; /* NONE only with NOT_COMPARED */
};

/* What the rest of the verification has found out about the clauses that it decides by itself. */
struct nc_clause_facts {
	bool one_launch, chained; /* all statements and the whole log were read and are of one launch */
	enum nc_clause_result counts;
};

/*
 * Compares `launch` and `closing` (NULL: not closed) with `expect` (NULL: nothing is expected). Members of `expect` that are no clauses are for
 * nc_expectation_differs. The rows are in the order of the table.
 */
void nc_clauses_compare(const json_t *launch, const json_t *closing, const json_t *expect, const struct nc_clause_facts *facts,
			struct nc_clause_row ret_rows[NC_CLAUSE_COUNT]);
/* The first member of `expect` that does not hold, or NULL. A clause that netcordon measured is held against the measurement, and against the binding too
 * where that has the member; everything else must stand, equal, in the binding. *ret_absent: the evidence says nothing about it. */
const char *nc_expectation_differs(const json_t *launch, const json_t *expect, const struct nc_clause_row rows[NC_CLAUSE_COUNT], bool *ret_absent);
/* What the reader handed over is not understood, or expects nothing: USAGE. */
int nc_expectation_check(const json_t *expect, struct nc_error *reterr);

#define NC_CLAUSES_SUMMARY 400
/* In words: how many were held against what, and what that is worth. Returns ret_text. */
const char *nc_clauses_summary(const struct nc_clause_row rows[NC_CLAUSE_COUNT], char ret_text[NC_CLAUSES_SUMMARY]);

const char *nc_clause_word(enum nc_clause clause);
const char *nc_clause_meaning(enum nc_clause clause);
bool nc_clause_carried(enum nc_clause clause); /* the evidence's side was said by the Runner at launch, not measured */
const char *nc_clause_result_word(enum nc_clause_result result);
const char *nc_clause_reference_word(enum nc_clause_reference reference);
/* [{"clause", "result", "reference", "evidence": "measured" or "carried"}]: the caller owns it; NULL without memory. `reference` is left out when nothing was
 * compared. */
json_t *nc_clauses_json(const struct nc_clause_row rows[NC_CLAUSE_COUNT]);

#endif
