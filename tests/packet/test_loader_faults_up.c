// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader_faults_up.c - system calls of up and down made to fail in turn, and the process killed at each
 *
 * An `up` that fails leaves nothing; one that was killed half-way is completed or replaced by the next, and so is a `down`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <bpf/bpf.h>
#include "inside.h"
#include "scratch.h"
#include "faults.h"

/* Loading, pinning and attaching are long rows of the same calls: beyond the first, every 37th is tried, or each with NC_TEST_EVERY_CALL set. */
static int next_number(int number)
{
	return number < 12 || getenv("NC_TEST_EVERY_CALL") ? number + 1 : number + 37;
}

static void test_up_fails_at_each_call(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	struct trial trial;
	int number = 1, failed = 0;

	trial_make(&trial, scratch);
	for (; number < CALLS_MAX; number = next_number(number)) {
		bool hit;
		int r;

		trial.host = NULL;
		arm(number, false);
		r = try_up(&trial, &error);
		hit = disarm();
		if (r < 0) {
			failed++;
			assert_true(hit);
			assert_true(error.detail[0] && error.code != NC_E_NONE);
			assert_nothing_left_after(scratch, fault.name, number);
			continue;
		}
		assert_ok(nc_host_verify(trial.host, -1, NULL, &error), &error);
		assert_ok(nc_host_down(trial.host, false, &error), &error);
		nc_host_close(trial.host);
		assert_nothing_left_after(scratch, fault.name, number);
		if (!hit)
			break;
	}
	print_message("up: about %d calls, %d failures of one of them reported\n", number - 1, failed);
	assert_true(number > 100 && number < CALLS_MAX && failed > 12);
	free(trial.entries);
}

static int act_up(struct trial *trial)
{
	struct nc_error error;

	return try_up(trial, &error);
}

static int act_down(struct trial *trial)
{
	struct nc_error error;
	int r = nc_host_open(&trial->scratch->options, &trial->host, &error);

	return r < 0 ? r : nc_host_down(trial->host, false, &error);
}

static void test_up_dies_at_each_call(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	struct trial trial;
	int number = 1;

	trial_make(&trial, scratch);
	while (number < CALLS_MAX && dies_at(&trial, number, act_up)) {
		assert_ok(try_up(&trial, &error), &error);
		assert_ok(nc_host_verify(trial.host, -1, NULL, &error), &error);
		assert_ok(nc_host_down(trial.host, false, &error), &error);
		nc_host_close(trial.host);
		assert_nothing_left_after(scratch, "killed", number);
		number = next_number(number);
	}
	print_message("up: killed among about %d calls\n", number - 1);
	assert_true(number > 100 && number < CALLS_MAX);
	take_down(scratch, false);
	free(trial.entries);
	assert_nothing_left(scratch);
}

static void test_down_dies_at_each_call(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	struct trial trial;
	int number = 1;

	trial_make(&trial, scratch);
	for (;; number = next_number(number)) {
		bool died;

		assert_ok(try_up(&trial, &error), &error);
		nc_host_close(trial.host);
		died = dies_at(&trial, number, act_down);
		assert_ok(try_up(&trial, &error), &error);
		assert_ok(nc_host_verify(trial.host, -1, NULL, &error), &error);
		assert_ok(nc_host_down(trial.host, false, &error), &error);
		nc_host_close(trial.host);
		assert_nothing_left_after(scratch, "killed", number);
		if (!died || number > CALLS_MAX)
			break;
	}
	print_message("down: killed among about %d calls\n", number - 1);
	assert_true(number > 40 && number < CALLS_MAX);
	free(trial.entries);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_up_fails_at_each_call),
		TEST(test_up_dies_at_each_call),
		TEST(test_down_dies_at_each_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
