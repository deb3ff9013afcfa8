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

/* What nobody takes in is bounded, and refused before the command runs. How a command ended that runs already is written down all the same. */
static void records_are_bounded(void **state)
{
	char *command[] = {"command", NULL};
	const struct nc_launch_options options = {.command = command};
	struct nc_launch launch = {.options = &options, .command_pid = 4711, .authority = NC_AUTHORITY_PLANE};
	struct nc_claim claim = {.record_fd = -1};
	struct nc_error error = {0};
	char path[NC_PATH_MAX + 64];

	(void)state;
	snprintf(claim.folder, sizeof(claim.folder), "%s", fixture_folder);
	launch.claim = &claim;
	for (int i = records(); i < NC_EXEC_RECORDS_MAX; i++) {
		snprintf(path, sizeof(path), "%s/exec-record-%d-1", fixture_folder, 100000 + i);
		put_file(path, "{}", 2, 0600);
	}
	assert_int_equal(nc_exec_record(&launch, &error), -ENOSPC);
	assert_int_equal(error.code, NC_E_INSTANCE_BUSY);
	assert_int_equal(records(), NC_EXEC_RECORDS_MAX);
	launch.started = true;
	assert_int_equal(nc_exec_record(&launch, &error), 0);
	nc_exec_record_drop(&launch);
	launch.started = false;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(nc_exec_record(&launch, &error), 0);
	nc_exec_record_drop(&launch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_record_for_each_exec), cmocka_unit_test(records_are_bounded)};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
