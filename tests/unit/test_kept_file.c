/* SPDX-License-Identifier: GPL-2.0-only */
/* test_kept_file.c - what saves time is read back as it was kept, is nothing when somebody changed it, and goes with the last host */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "folder_fixture.h"
#include "kept_file.h"

static void forgotten_with_the_last_host(void **state)
{
	void *bytes = NULL;
	size_t size;

	(void)state;
	assert_int_equal(nc_kept_write(fixture_folder, "programs-x", "abc", 3), 0);
	assert_int_equal(nc_kept_write(fixture_folder, "seccomp-y", "def", 3), 0);
	if (geteuid() == 0) { /* only root's files are believed */
		assert_int_equal(nc_kept_read(fixture_folder, "programs-x", &bytes, &size), 0);
		assert_int_equal(size, 3);
		assert_memory_equal(bytes, "abc", 3);
		free(bytes);
	}
	assert_int_equal(mkdir(in_folder("host"), 0700), 0);
	nc_kept_forget(fixture_folder);
	assert_int_equal(access(in_folder("programs-x"), F_OK), 0);
	assert_int_equal(access(in_folder("seccomp-y"), F_OK), 0);
	assert_int_equal(rmdir(in_folder("host")), 0);
	nc_kept_forget(fixture_folder);
	assert_int_equal(access(in_folder("programs-x"), F_OK), -1);
	assert_int_equal(access(in_folder("seccomp-y"), F_OK), -1);
	nc_kept_forget(in_folder("nowhere"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forgotten_with_the_last_host)};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
