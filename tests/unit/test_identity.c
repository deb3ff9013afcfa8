// SPDX-License-Identifier: GPL-2.0-only
/* test_identity.c - the user ids of an instance: inside the range, three of its own, others for the next generation */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "identity.h"

static void test_every_generation_stays_in_the_range(void **state)
{
	static const uint64_t generations[] = {0, 1, 89478484, 89478485, 89478486, UINT32_MAX, 1ull << 32, UINT64_MAX - 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(generations) / sizeof(*generations); i++) {
		for (int role = 0; role < NC_UID_ROLES; role++)
			assert_in_range(nc_uid_of(generations[i], (enum nc_uid_role)role), 1879048192, 2147483646);
	}
}

static void test_roles_and_neighbours_differ(void **state)
{
	(void)state;
	for (uint64_t generation = UINT64_MAX - 1; generation != 2; generation++) {
		for (int a = 0; a < NC_UID_ROLES; a++) {
			for (int b = 0; b < NC_UID_ROLES; b++) {
				assert_int_not_equal(nc_uid_of(generation, (enum nc_uid_role)a), nc_uid_of(generation + 1, (enum nc_uid_role)b));
				if (a != b)
					assert_int_not_equal(nc_uid_of(generation, (enum nc_uid_role)a), nc_uid_of(generation, (enum nc_uid_role)b));
			}
		}
	}
}

static void test_own_identity_has_a_group_of_the_same_number(void **state)
{
	struct nc_identity identity;

	(void)state;
	nc_identity_own(7, NC_UID_PLANE, &identity);
	assert_true(identity.own);
	assert_int_equal(identity.uid, 1879048192 + 7 * 3 + 1);
	assert_int_equal(identity.gid, identity.uid);
}

/* Without a descriptor no process can be looked at: that is an error, and not an answer that nobody has the id. */
static void test_what_cannot_be_looked_at_is_not_nobody(void **state)
{
	struct nc_profile profile = {.process = {.user = "1999999999"}};
	struct nc_identity identity;
	struct rlimit before, tight;
	struct nc_error error;
	int first = dup(0);

	(void)state;
	assert_true(first >= 0);
	close(first);
	assert_int_equal(nc_identity_workload(&profile, 7, &identity, &error), 0);
	assert_int_equal(identity.uid, 1999999999);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = (rlim_t)first + 1; /* room for /proc itself */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	assert_true(nc_identity_workload(&profile, 7, &identity, &error) < 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(error.code, NC_E_SYSTEM);
	assert_non_null(strstr(error.detail, "user ids of process"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_generation_stays_in_the_range),
		cmocka_unit_test(test_roles_and_neighbours_differ),
		cmocka_unit_test(test_own_identity_has_a_group_of_the_same_number),
		cmocka_unit_test(test_what_cannot_be_looked_at_is_not_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
