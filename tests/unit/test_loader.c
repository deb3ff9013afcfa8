// SPDX-License-Identifier: GPL-2.0-only
/* test_loader.c - what of the loader is pure: errors, names, mountinfo, the table of hooks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "inside.h"

static void test_errors(void **state)
{
	char long_text[2000];
	struct nc_error error;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_int_equal(nc_error_set(&error, NC_E_HOST_DOWN, -ENOENT, "a %d", 5), -ENOENT);
	assert_string_equal(error.detail, "a 5");
	assert_string_equal(error.hint, "");
	assert_string_equal(error.pointer, "");
	assert_int_equal(nc_error_hint(&error, "do %s", "this"), -ENOENT);
	assert_string_equal(error.hint, "do this");
	assert_int_equal(nc_error_set(&error, NC_E_USAGE, 0, "b"), -EINVAL);
	assert_string_equal(error.hint, ""); /* nothing of the error before */
	assert_int_equal(nc_error_hint(&error, "c"), -EINVAL);
	assert_int_equal(nc_error_sys(&error, NC_E_SYSTEM, -EACCES, "open %s", "/x"), -EACCES);
	assert_string_equal(error.detail, "open /x: Permission denied");
	nc_error_sys(&error, NC_E_SYSTEM, -EACCES, "%s", long_text);
	assert_int_equal(strlen(error.detail), sizeof(error.detail) - 1);
	nc_error_hint(&error, "%s", long_text);
	assert_int_equal(strlen(error.hint), sizeof(error.hint) - 1);
}

static void test_error_table(void **state)
{
	(void)state;
	assert_string_equal(nc_error_word(NC_E_NONE), "none");
	assert_string_equal(nc_error_word(NC_E_POLICY_FULL), "policy_full");
	assert_int_equal(nc_error_exit(NC_E_PROFILE_INVALID), 2);
	assert_int_equal(nc_error_exit(NC_E_INSTANCE_EXISTS), 1);
	for (int code = 1; code < NC_E_COUNT; code++) {
		const char *word = nc_error_word((enum nc_error_code)code);

		assert_true(word && *word && nc_error_meaning((enum nc_error_code)code)[0] && nc_error_exit((enum nc_error_code)code) > 0);
		for (int other = 1; other < code; other++)
			assert_string_not_equal(word, nc_error_word((enum nc_error_code)other));
	}
	assert_string_equal(nc_error_word((enum nc_error_code)9999), "system"); /* never past the table */
}

static void test_instance_names(void **state)
{
	static const char *const good[] = {"a", "0", "run-1", "a.b_c-d", "0123456789012345678901234567890123456789012345678901234567890123"};
	static const char *const bad[] = {"",
					  ".",
					  "..",
					  "-a",
					  "_a",
					  "A",
					  "a/b",
					  "a b",
					  "a\n",
					  "\xc3\xa4",
					  "a\x7f",
					  "../x",
					  "01234567890123456789012345678901234567890123456789012345678901234"};
	struct nc_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(nc_instance_name_check(good[i], &error), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(nc_instance_name_check(bad[i], &error), -EINVAL);
		assert_int_equal(error.code, NC_E_INSTANCE_INVALID);
	}
	assert_int_equal(nc_instance_name_check(NULL, &error), -EINVAL);
}

static void check_mountinfo(const char *text, const char *point)
{
	char line[512], *found;

	strcpy(line, text);
	found = nc_mountinfo_cgroup2(line);
	if (point)
		assert_string_equal(found, point);
	else
		assert_null(found);
}

static void test_mountinfo(void **state)
{
	(void)state;
	check_mountinfo("30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup");
	check_mountinfo("30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n", "/sys/fs/cgroup/unified");
	check_mountinfo("30 24 0:26 / /with\\040space\\134 rw shared:1 master:2 - cgroup2 none rw\n", "/with space\\");
	check_mountinfo("30 24 0:26 /part /mnt rw - cgroup2 none rw\n", NULL); /* a part of the hierarchy only */
	check_mountinfo("30 24 0:26 /../.. /mnt rw - cgroup2 none rw\n", NULL);
	check_mountinfo("31 24 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", NULL);
	check_mountinfo("31 24 0:27 / /cgroup2 rw - ext4 /dev/sda rw\n", NULL);
	check_mountinfo("31 24 0:27 /", NULL);
	check_mountinfo("", NULL);
	check_mountinfo(" - cgroup2 ", NULL);
}

/* Every program has a row; the guard's attach types are among the slice's, which is where the effective programs are asked for. */
static void test_hooks(void **state)
{
	(void)state;
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		bool shared = false;

		assert_true(nc_hook_name(hook) && *nc_hook_name(hook));
		assert_true(nc_hook(hook)->program_type != 0);
		for (enum nc_hook other = 1; other < NC_HOOK_MAX; other++) {
			if (other != hook)
				assert_string_not_equal(nc_hook_name(hook), nc_hook_name(other));
			if (other != hook && nc_hook(other)->where == nc_hook(hook)->where && nc_hook(hook)->where != NC_AT_HOST)
				assert_int_not_equal(nc_hook(hook)->attach_type, nc_hook(other)->attach_type);
			shared |= nc_hook(other)->where == NC_AT_SLICE && nc_hook(other)->attach_type == nc_hook(hook)->attach_type;
		}
		assert_true(nc_hook(hook)->where == NC_AT_HOST || shared);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),	  cmocka_unit_test(test_error_table), cmocka_unit_test(test_instance_names),
		cmocka_unit_test(test_mountinfo), cmocka_unit_test(test_hooks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
