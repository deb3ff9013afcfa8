/* SPDX-License-Identifier: GPL-2.0-only */
/* outcome.c - the rules of the matrix */
#include <stdarg.h>
#include <stdio.h>
#include "outcome.h"

const char *nc_expectation_word(enum nc_expectation expectation)
{
	return expectation == NC_EXPECT_REACHED ? "reached" : "refused";
}

const char *nc_run_word(enum nc_run_kind kind)
{
	static const char *const words[] = {
#define RUN_WORD(symbol, word) [NC_RUN_##symbol] = word,
		NC_RUNS(RUN_WORD)};

	return (size_t)kind < NC_RUN_COUNT ? words[kind] : NULL;
}

const char *nc_run_result_word(enum nc_run_result result)
{
	static const char *const words[] = {
#define RESULT_WORD(symbol, word) [NC_RESULT_##symbol] = word,
		NC_RUN_RESULTS(RESULT_WORD)};

	return (size_t)result < sizeof(words) / sizeof(*words) ? words[result] : NULL;
}

enum nc_run_result nc_run_result(const struct nc_run *run)
{
	if (!run->made)
		return run->failure == NC_E_NONE ? NC_RESULT_ABSENT : NC_RESULT_FAILED;
	if (run->seen.tokens && (run->answered || run->through))
		return NC_RESULT_REACHED;
	if (run->seen.listened || run->seen.packets || run->seen.tokens)
		return NC_RESULT_LEAKED;
	/* Nothing was seen (that a path is impossible behind the cordon, which the control took, is a refusal like any other): that counts for a
	 * refusal only if somebody tried, with a working network, and nothing was overlooked. An answer that no listener gave is no answer. */
	if (!run->reported || run->answered || run->lost || (run->twin_wanted && !run->twin_reached))
		return NC_RESULT_UNREAL;
	return NC_RESULT_REFUSED;
}

static void decide(struct nc_verdict_of_case *verdict, enum nc_outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void decide(struct nc_verdict_of_case *verdict, enum nc_outcome outcome, const char *format, ...)
{
	va_list arguments;

	verdict->outcome = outcome;
	va_start(arguments, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, arguments);
	va_end(arguments);
}

static const char *unreal_because(const struct nc_run *run)
{
	if (run->lost)
		return "a capture lost packets";
	if (run->twin_wanted && !run->twin_reached)
		return "the listed destination was not reached either";
	if (!run->reported)
		return "the client did not say that it tried";
	return "the client was answered by somebody else than the listener";
}

/* Failures that say something about the provider's shape rather than about its driver's health. */
static bool shape(enum nc_error_code failure)
{
	return failure == NC_E_AUTHORITY_DIMENSION_ABSENT || failure == NC_E_DRIVER_REFUSED;
}

static void failed(const struct nc_run *run, enum nc_run_kind kind, struct nc_verdict_of_case *verdict)
{
	decide(verdict, shape(run->failure) ? NC_OUTCOME_INCONCLUSIVE : NC_OUTCOME_ERROR, "%s run: %s: %s", nc_run_word(kind),
	       nc_error_word(run->failure), run->detail);
}

static bool control_shows_a_path(const struct nc_run *control, struct nc_verdict_of_case *verdict)
{
	enum nc_run_result result = nc_run_result(control);

	if (result == NC_RESULT_REACHED)
		return true;
	if (result == NC_RESULT_FAILED)
		failed(control, NC_RUN_CONTROL, verdict);
	else if (control->impossible)
		decide(verdict, NC_OUTCOME_INCONCLUSIVE, "cannot be made here: %s", control->how);
	else
		decide(verdict, NC_OUTCOME_INCONCLUSIVE, "without enforcement the target was not reached (%s): the path is not real", control->how);
	return false;
}

static void judge_refusal(const struct nc_run *runs, bool mutants, struct nc_verdict_of_case *verdict)
{
	const struct nc_run *enforced = &runs[NC_RUN_ENFORCED], *mutant = &runs[NC_RUN_MUTANT];

	switch (nc_run_result(enforced)) {
	case NC_RESULT_REACHED:
		return decide(verdict, NC_OUTCOME_RED, "the target was reached");
	case NC_RESULT_LEAKED:
		return decide(verdict, NC_OUTCOME_RED, "%u packets and %u arrivals were seen at the target", enforced->seen.packets,
			      enforced->seen.listened);
	case NC_RESULT_UNREAL:
		return decide(verdict, NC_OUTCOME_INCONCLUSIVE, "enforced run: %s", unreal_because(enforced));
	case NC_RESULT_FAILED:
		return failed(enforced, NC_RUN_ENFORCED, verdict);
	case NC_RESULT_ABSENT:
		return decide(verdict, NC_OUTCOME_INCONCLUSIVE, "there was no enforced run");
	case NC_RESULT_REFUSED:
		break;
	}
	if (!mutants)
		return decide(verdict, NC_OUTCOME_GREEN, "%s", "");
	switch (nc_run_result(mutant)) {
	case NC_RESULT_REACHED:
		return decide(verdict, NC_OUTCOME_GREEN, "%s", "");
	case NC_RESULT_FAILED:
		return failed(mutant, NC_RUN_MUTANT, verdict);
	case NC_RESULT_ABSENT:
		return decide(verdict, NC_OUTCOME_INCONCLUSIVE, "the provider cannot switch off the check under test");
	default:
		return decide(verdict, NC_OUTCOME_WORTHLESS, "with the check switched off it is still not reached (%s)", mutant->how);
	}
}

static void judge_reach(const struct nc_run *runs, struct nc_verdict_of_case *verdict)
{
	const struct nc_run *enforced = &runs[NC_RUN_ENFORCED], *unlisted = &runs[NC_RUN_MUTANT];

	switch (nc_run_result(enforced)) {
	case NC_RESULT_REACHED:
		break;
	case NC_RESULT_FAILED:
		return failed(enforced, NC_RUN_ENFORCED, verdict);
	case NC_RESULT_ABSENT:
		return decide(verdict, NC_OUTCOME_INCONCLUSIVE, "there was no enforced run");
	default:
		return decide(verdict, NC_OUTCOME_RED, "the listed destination was not reached (%s)", enforced->how);
	}
	switch (nc_run_result(unlisted)) {
	case NC_RESULT_REFUSED:
		return decide(verdict, NC_OUTCOME_GREEN, "%s", "");
	case NC_RESULT_FAILED:
		return failed(unlisted, NC_RUN_MUTANT, verdict);
	case NC_RESULT_REACHED:
	case NC_RESULT_LEAKED:
		return decide(verdict, NC_OUTCOME_WORTHLESS, "it is reached without being listed, too");
	default:
		return decide(verdict, NC_OUTCOME_INCONCLUSIVE, "run without the listing: %s", unreal_because(unlisted));
	}
}

void nc_outcome_of(enum nc_expectation expectation, const struct nc_run runs[NC_RUN_COUNT], bool mutants, struct nc_verdict_of_case *ret_verdict)
{
	struct nc_verdict_of_case verdict = {.outcome = NC_OUTCOME_INCONCLUSIVE};

	if (control_shows_a_path(&runs[NC_RUN_CONTROL], &verdict)) {
		if (expectation == NC_EXPECT_REACHED)
			judge_reach(runs, &verdict);
		else
			judge_refusal(runs, mutants, &verdict);
	}
	*ret_verdict = verdict;
}
