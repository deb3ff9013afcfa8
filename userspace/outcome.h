/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * outcome.h - three runs of a case into one outcome: the rules of the matrix, as a pure function
 *
 * A case that expects a refusal:
 *   control   no enforcement. The listener must show the client's token, and the client the listener's answer or, on a path
 *             without answers, that it got through, else the path was not real: inconclusive
 *   enforced  before the attempt, the same client reaches a listed destination in the same instance, else nothing is shown: inconclusive. Then the
 *             client must report that it tried and was not answered, while listener and captures see nothing. Anything seen is red
 *   mutant    the same with exactly the check under test switched off. The token must arrive, else the case does not test the check: worthless
 *
 * A case that expects to reach (the positive twin of others): control as above, enforced must arrive, and the third run takes the destination out of
 * the profile and must be refused, else what was reached did not depend on being listed: worthless.
 *
 * Never green: a run that did not happen, a client that did not report, a capture that lost packets.
 */
#ifndef NC_OUTCOME_H
#define NC_OUTCOME_H

#include <stdbool.h>
#include "error.h"
#include "observe.h"
#include "receipt.h"

enum nc_expectation { NC_EXPECT_REFUSED = 1, NC_EXPECT_REACHED };
const char *nc_expectation_word(enum nc_expectation expectation);

#define NC_RUNS(X)                                                                                                                                   \
	X(CONTROL, "control")                                                                                                                        \
	X(ENFORCED, "enforced")                                                                                                                      \
	X(MUTANT, "mutant")
#define NC_ENUM_RUN(symbol, word) NC_RUN_##symbol,
enum nc_run_kind { NC_RUNS(NC_ENUM_RUN) NC_RUN_COUNT };
const char *nc_run_word(enum nc_run_kind kind);

/* What one run has shown, before anybody judges it. */
struct nc_run {
	bool made;		    /* the run took place */
	enum nc_error_code failure; /* why not; NC_E_NONE when made, or when there is no such run for this provider */
	char detail[200];	    /* of the failure */
	bool twin_wanted;	    /* a listed destination was tried first in the same instance */
	bool twin_reached;
	bool reported;	     /* the client said what came of the attempt */
	bool impossible;     /* the client says that this kernel has no such thing */
	bool through;	     /* the client says that it got through, as far as it can know: some paths have no answers */
	bool answered;	     /* the client shows the listener's answer */
	char how[80];	     /* the client's own words: "connect EPERM" */
	struct nc_seen seen; /* of the target */
	uint64_t lost;	     /* packets that captures lost during the run */
};

/* In one word: what the run came to. */
#define NC_RUN_RESULTS(X)                                                                                                                            \
	X(REACHED, "reached") /* token and answer arrived */                                                                                         \
	X(REFUSED, "refused") /* tried, not answered, nothing seen */                                                                                \
	X(LEAKED, "leaked")   /* something was seen although nothing was answered */                                                                 \
	X(UNREAL, "unreal")   /* shows nothing */                                                                                                    \
	X(FAILED, "failed")   /* the driver failed */                                                                                                \
	X(ABSENT, "absent")   /* there is no such run */
#define NC_ENUM_RUN_RESULT(symbol, word) NC_RESULT_##symbol,
enum nc_run_result { NC_RUN_RESULTS(NC_ENUM_RUN_RESULT) };
const char *nc_run_result_word(enum nc_run_result result);
enum nc_run_result nc_run_result(const struct nc_run *run);

struct nc_verdict_of_case {
	enum nc_outcome outcome;
	char reason[256]; /* "" when green */
};
/* `mutants`: whether the provider can switch checks off. Without it the third run of a refusal is absent, and control and enforced decide; the case
 * itself was proven able to fail on the reference guards. */
void nc_outcome_of(enum nc_expectation expectation, const struct nc_run runs[NC_RUN_COUNT], bool mutants, struct nc_verdict_of_case *ret_verdict);

#endif
