/* SPDX-License-Identifier: GPL-2.0-only */
/* test_exec_record.c - each `exec` leaves one record, also where the kernel gives a second command the number of one that has ended */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>
#include "folder_fixture.h"
#include "exec_record.h"
#include "inside.h"

static int records(void)
{
	DIR *folder = opendir(fixture_folder);
	struct dirent *entry;
	int count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += !strncmp(entry->d_name, "exec-record-", strlen("exec-record-"));
	closedir(folder);
	return count;
}

static void one_record_for_each_exec(void **state)
{
	char *command[] = {"command", NULL};
	const struct nc_launch_options options = {.command = command};
	struct nc_launch launch = {.options = &options, .command_pid = 4711, .authority = NC_AUTHORITY_PLANE};
	struct nc_claim claim = {.record_fd = -1};
	struct nc_error error;
	int status;
	pid_t other;

	(void)state;
	snprintf(claim.folder, sizeof(claim.folder), "%s", fixture_folder);
	launch.claim = &claim;
	other = fork();
	if (other == 0)
		_exit(nc_exec_record(&launch, &error) < 0);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	assert_int_equal(records(), 1);
	assert_int_equal(nc_exec_record(&launch, &error), 0);
	assert_int_equal(records(), 2);
	assert_int_equal(nc_exec_record(&launch, &error), 0); /* how its command ended */
	assert_int_equal(records(), 2);
	nc_exec_record_drop(&launch);
	assert_int_equal(records(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_record_for_each_exec)};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
