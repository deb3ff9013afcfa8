/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_verdict_mutants.c - the sweep is worth something: with a check left out it sees a verdict that is wrong
 *
 * Every check that the verdict asks for is switched off in turn, as the matrix does in the kernel. There must be worlds in which what was refused is now
 * let through, and with nothing switched off there must be none that differs from the oracle.
 */
#define NC_MUTANTS
#include "verdict_world.h"

unsigned long long nc_checks_off;

static const struct {
	int bit;
	const char *name;
} destination_checks[] = {
	{NC_CHECK_BIT_MODE_NONE, "mode_none"},
	{NC_CHECK_BIT_RESOLVER, "resolver"},
	{NC_CHECK_BIT_FLOOR, "floor"},
	{NC_CHECK_BIT_PUBLIC, "public"},
	{NC_CHECK_BIT_LISTED, "listed"},
	{NC_CHECK_BIT_PORT, "port"},
	{NC_CHECK_BIT_SEPARATE, "separate"},
	{NC_CHECK_BIT_GRANT_POLICY, "grant_policy"},
	{NC_CHECK_BIT_GRANT_EXPIRY, "grant_expiry"},
};

/* Worlds that the oracle refuses or redirects and the verdict allows. */
static size_t leaks(size_t step)
{
	size_t count = 0;

	for (size_t n = 0; n < DESTINATION_WORLDS; n += step) {
		struct world w = world_number(n);
		struct nc_verdict verdict = {0};
		struct nc_slot slot;
		struct nc_flow flow;

		world_build(&w, &slot, &flow);
		nc_decide_destination(&slot, &flow, &verdict);
		count += verdict.decision == NC_ALLOW && decision_of(order[lowest(reasons_of(&w))]) != NC_ALLOW;
	}
	return count;
}

static void test_destination_checks(void **state)
{
	(void)state;
	nc_checks_off = 0;
	assert_int_equal(leaks(1), 0);
	for (size_t i = 0; i < COUNT(destination_checks); i++) {
		nc_checks_off = 1ull << destination_checks[i].bit;
		if (!leaks(7)) /* prime to every axis */
			fail_msg("with \"%s\" left out nothing gets out: the sweep does not see this check", destination_checks[i].name);
	}
	nc_checks_off = 0;
}

static void test_socket_checks(void **state)
{
	struct nc_label label = {.generation = GENERATION + 1}, right = {.generation = GENERATION};
	struct nc_slot slot = {.generation = GENERATION};
	struct nc_verdict verdict = {0};

	(void)state;
	assert_int_equal(nc_decide_socket(&label, &slot, 1, IPPROTO_TCP, &verdict), 0);
	nc_checks_off = 1ull << NC_CHECK_BIT_LABEL;
	assert_int_equal(nc_decide_socket(&label, &slot, 1, IPPROTO_TCP, &verdict), 1);
	nc_checks_off = 0;
	assert_int_equal(nc_decide_socket(&right, &slot, 0, IPPROTO_TCP, &verdict), 0);
	nc_checks_off = 1ull << NC_CHECK_BIT_AUTHORITY;
	assert_int_equal(nc_decide_socket(&right, &slot, 0, IPPROTO_TCP, &verdict), 1);
	nc_checks_off = 0;
	assert_int_equal(nc_decide_socket(&right, &slot, 1, IPPROTO_SCTP, &verdict), 0);
	nc_checks_off = 1ull << NC_CHECK_BIT_PROTOCOL;
	assert_int_equal(nc_decide_socket(&right, &slot, 1, IPPROTO_SCTP, &verdict), 1);
	nc_checks_off = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_destination_checks), cmocka_unit_test(test_socket_checks)};

	return cmocka_run_group_tests(tests, world_setup, NULL);
}
