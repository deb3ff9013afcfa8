/* SPDX-License-Identifier: GPL-2.0-only */
/* test_outcome.c - every rule by which three runs become one outcome, and over all combinations: green is never guessed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "outcome.h"

static const struct nc_run reached = {.made = true,
				      .twin_wanted = true,
				      .twin_reached = true,
				      .reported = true,
				      .answered = true,
				      .seen = {.listened = 1, .tokens = 1, .packets = 5}};
static const struct nc_run refused = {.made = true, .twin_wanted = true, .twin_reached = true, .reported = true};
static const struct nc_run one_packet = {.made = true, .twin_wanted = true, .twin_reached = true, .reported = true, .seen = {.packets = 1}};
static const struct nc_run dead = {.made = true, .twin_wanted = true, .reported = true};
static const struct nc_run silent = {.made = true, .twin_wanted = true, .twin_reached = true};
static const struct nc_run blind = {.made = true, .twin_wanted = true, .twin_reached = true, .reported = true, .lost = 1};
static const struct nc_run impossible = {.made = true, .reported = true, .impossible = true};
static const struct nc_run impostor = {.made = true, .twin_wanted = true, .twin_reached = true, .reported = true, .answered = true};
static const struct nc_run crashed = {.failure = NC_E_DRIVER_CRASHED};
static const struct nc_run one_authority = {.failure = NC_E_AUTHORITY_DIMENSION_ABSENT};
static const struct nc_run absent = {0};

static const struct nc_run *const all[] = {&reached,	&refused,  &one_packet, &dead,		&silent, &blind,
					   &impossible, &impostor, &crashed,	&one_authority, &absent};
#define ALL (sizeof(all) / sizeof(*all))

static enum nc_outcome outcome(enum nc_expectation expectation, const struct nc_run *control, const struct nc_run *enforced,
			       const struct nc_run *mutant, bool mutants)
{
	const struct nc_run runs[] = {*control, *enforced, *mutant};
	struct nc_verdict_of_case verdict;

	nc_outcome_of(expectation, runs, mutants, &verdict);
	if (verdict.outcome == NC_OUTCOME_GREEN)
		assert_string_equal(verdict.reason, "");
	else
		assert_string_not_equal(verdict.reason, "");
	return verdict.outcome;
}

#define refusal(control, enforced, mutant) outcome(NC_EXPECT_REFUSED, &(control), &(enforced), &(mutant), true)
#define reach(control, enforced, mutant) outcome(NC_EXPECT_REACHED, &(control), &(enforced), &(mutant), true)

/* Tried and not got through: also when the cordon makes the path impossible that the control took. */
static bool not_there(const struct nc_run *run)
{
	return run == &refused || run == &impossible;
}

static void a_refusal_is_green_in_one_way_only(void **state)
{
	(void)state;
	for (size_t c = 0; c < ALL; c++) {
		for (size_t e = 0; e < ALL; e++) {
			for (size_t m = 0; m < ALL; m++) {
				bool green = all[c] == &reached && not_there(all[e]) && all[m] == &reached;

				assert_int_equal(outcome(NC_EXPECT_REFUSED, all[c], all[e], all[m], true) == NC_OUTCOME_GREEN, green);
				green = all[c] == &reached && not_there(all[e]);
				assert_int_equal(outcome(NC_EXPECT_REFUSED, all[c], all[e], all[m], false) == NC_OUTCOME_GREEN, green);
				green = all[c] == &reached && all[e] == &reached && not_there(all[m]);
				assert_int_equal(outcome(NC_EXPECT_REACHED, all[c], all[e], all[m], true) == NC_OUTCOME_GREEN, green);
			}
		}
	}
}

static void a_path_that_is_not_real_shows_nothing(void **state)
{
	(void)state;
	/* The guard that answers 403 for a failed connection: with nothing listening, the control fails too. */
	assert_int_equal(refusal(refused, refused, reached), NC_OUTCOME_INCONCLUSIVE);
	assert_int_equal(refusal(impossible, refused, reached), NC_OUTCOME_INCONCLUSIVE);
	assert_int_equal(refusal(reached, dead, reached), NC_OUTCOME_INCONCLUSIVE);
	assert_int_equal(refusal(reached, silent, reached), NC_OUTCOME_INCONCLUSIVE);
	assert_int_equal(refusal(reached, blind, reached), NC_OUTCOME_INCONCLUSIVE);
	assert_int_equal(refusal(reached, impostor, reached), NC_OUTCOME_INCONCLUSIVE);
	assert_int_equal(refusal(reached, refused, absent), NC_OUTCOME_INCONCLUSIVE);
}

static void anything_seen_is_red(void **state)
{
	(void)state;
	assert_int_equal(refusal(reached, reached, reached), NC_OUTCOME_RED);
	assert_int_equal(refusal(reached, one_packet, reached), NC_OUTCOME_RED);
	assert_int_equal(reach(reached, refused, refused), NC_OUTCOME_RED);
	assert_int_equal(reach(reached, one_packet, refused), NC_OUTCOME_RED);
}

static void a_case_that_its_mutant_survives_is_worthless(void **state)
{
	(void)state;
	assert_int_equal(refusal(reached, refused, refused), NC_OUTCOME_WORTHLESS);
	assert_int_equal(refusal(reached, refused, one_packet), NC_OUTCOME_WORTHLESS);
	assert_int_equal(refusal(reached, refused, dead), NC_OUTCOME_WORTHLESS);
	assert_int_equal(reach(reached, reached, reached), NC_OUTCOME_WORTHLESS);
}

static void a_driver_that_fails_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(refusal(reached, crashed, reached), NC_OUTCOME_ERROR);
	assert_int_equal(refusal(reached, refused, crashed), NC_OUTCOME_ERROR);
	assert_int_equal(reach(reached, crashed, refused), NC_OUTCOME_ERROR);
	assert_int_equal(refusal(reached, one_authority, reached), NC_OUTCOME_INCONCLUSIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_green_in_one_way_only),
		cmocka_unit_test(a_path_that_is_not_real_shows_nothing),
		cmocka_unit_test(anything_seen_is_red),
		cmocka_unit_test(a_case_that_its_mutant_survives_is_worthless),
		cmocka_unit_test(a_driver_that_fails_is_an_error),
	};

	return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
