// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader_faults.c - every system call of the loader's part of a launch, and of an instance's end, made to fail in turn, and the process killed at each
 *
 * A step that fails must say so and leave nothing, or have coped; what a killed process left must be cleaned by the next one.
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

/* ---- failing -------------------------------------------------------------------------------------------------------------------------------- */

static void test_launch_fails_at_each_call(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	struct trial trial;
	int number = 1, failed = 0;

	trial_make(&trial, scratch);
	assert_ok(try_up(&trial, &error), &error);
	for (; number < CALLS_MAX; number++) {
		struct nc_claim *claim = NULL;
		bool hit;
		int r;

		nc_host_close(trial.host); /* so that the maps are opened anew, as a launch does */
		assert_ok(nc_host_open(&scratch->options, &trial.host, &error), &error);
		arm(number, false);
		r = try_launch(&trial, &claim, &error);
		hit = disarm();
		if (r < 0) {
			failed++;
			assert_true(hit);
			assert_true(error.detail[0] && error.code != NC_E_NONE);
		} else {
			assert_ok(nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &trial.image, &error), &error);
			assert_ok(nc_claim_release(claim, &error), &error);
		}
		assert_empty_after(trial.host, fault.name, number);
		assert_no_instances(trial.host);
		if (!hit)
			break;
	}
	print_message("a launch's part: %d calls, %d of them fatal\n", number - 1, failed);
	assert_true(number > 40 && number < CALLS_MAX && failed > 20);
	assert_ok(nc_host_down(trial.host, false, &error), &error);
	nc_host_close(trial.host);
	free(trial.entries);
	assert_nothing_left(scratch);
}

/* A name of its own for each policy, so that one has to come and the other to go. */
static struct nc_image_name name_make(const char *text, uint32_t id)
{
	struct nc_image_name name = {.key = {.authority = NC_AUTHORITY_WORKLOAD}, .id = id};

	memcpy(name.key.text, text, strlen(text));
	return name;
}

/* Whatever step of an exchange fails, the policy before can be had again, whole, and at the end nothing of either is left. */
static void test_reseal_fails_at_each_call(void **state)
{
	struct nc_image_name names[2] = {name_make("before.example", 1), name_make("after.example", 2)};
	struct scratch *scratch = *state;
	int number = 1, failed = 0, exchanged = 0, names_fd;
	struct nc_name_key left;
	struct nc_error error;
	struct trial trial;
	bool hit = true;

	trial_make(&trial, scratch);
	trial.image.names = &names[0];
	trial.image.name_count = 1;
	assert_ok(try_up(&trial, &error), &error);
	for (; hit && number < CALLS_MAX; number++) {
		struct nc_image after = trial.image;
		struct nc_claim *claim = NULL;
		uint64_t revision;
		int r;

		after.count = 3;
		after.names = &names[1];
		assert_ok(try_launch(&trial, &claim, &error), &error);
		arm(number, false);
		r = nc_claim_reseal(claim, NC_AUTHORITY_WORKLOAD, &after, &revision, &error);
		hit = disarm();
		failed += r < 0;
		if (r >= 0) {
			assert_ok(nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &after, &error), &error);
		} else if (nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &trial.image, &error) < 0) {
			exchanged++;
			if (number & 1) {
				assert_ok(nc_claim_reseal(claim, NC_AUTHORITY_WORKLOAD, &trial.image, &revision, &error), &error);
				assert_ok(nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &trial.image, &error), &error);
			}
		}
		assert_ok(nc_claim_release(claim, &error), &error);
		assert_empty_after(trial.host, fault.name, number);
		assert_no_instances(trial.host);
		assert_ok(nc_host_map(trial.host, NC_MAP_NAMES, &names_fd, &error), &error);
		assert_int_equal(bpf_map_get_next_key(names_fd, NULL, &left), -ENOENT);
	}
	print_message("an exchange: %d calls, %d of them fatal, %d after it\n", number - 2, failed, exchanged);
	assert_true(number > 10 && number < CALLS_MAX && failed > 5 && exchanged > 0);
	assert_ok(nc_host_down(trial.host, false, &error), &error);
	nc_host_close(trial.host);
	free(trial.entries);
	assert_nothing_left(scratch);
}

/* The end goes on after an error, and what it could not do the next cleaning does. */
static void test_release_fails_at_each_call(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	struct trial trial;
	uint32_t cleaned;
	int number = 1;

	trial_make(&trial, scratch);
	assert_ok(try_up(&trial, &error), &error);
	for (; number < CALLS_MAX; number++) {
		struct nc_claim *claim = NULL;
		bool hit;
		int r;

		nc_host_close(trial.host);
		assert_ok(nc_host_open(&scratch->options, &trial.host, &error), &error);
		assert_ok(try_launch(&trial, &claim, &error), &error);
		arm(number, false);
		r = nc_claim_release(claim, &error);
		hit = disarm();
		if (r < 0)
			assert_true(hit);
		assert_ok(nc_host_clean_orphans(trial.host, &cleaned, &error), &error);
		assert_empty_after(trial.host, fault.name, number);
		assert_no_instances(trial.host);
		if (!hit)
			break;
	}
	print_message("an end: %d calls\n", number - 1);
	assert_true(number > 20 && number < CALLS_MAX);
	assert_ok(nc_host_down(trial.host, false, &error), &error);
	nc_host_close(trial.host);
	free(trial.entries);
	assert_nothing_left(scratch);
}

/* ---- dying ---------------------------------------------------------------------------------------------------------------------------------- */

/* Opened anew in the child: it shares no descriptor with us. */
static int act_launch(struct trial *trial)
{
	struct nc_claim *claim;
	struct nc_error error;
	int r = nc_host_open(&trial->scratch->options, &trial->host, &error);

	return r < 0 ? r : try_launch(trial, &claim, &error);
}

static int act_launch_and_release(struct trial *trial)
{
	struct nc_claim *claim = NULL;
	struct nc_error error;
	int left = fault.countdown, r;

	fault.countdown = 0;
	r = nc_host_open(&trial->scratch->options, &trial->host, &error);
	r = r < 0 ? r : try_launch(trial, &claim, &error);
	fault.countdown = left;
	return r < 0 ? r : nc_claim_release(claim, &error);
}

static void launch_dies(struct scratch *scratch, int (*act)(struct trial *trial), const char *what, int least)
{
	struct nc_error error;
	struct trial trial;
	uint32_t cleaned;
	int number = 1;
	bool died;

	trial_make(&trial, scratch);
	do {
		struct nc_host *host = NULL;

		assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
		died = dies_at(&trial, number, act);
		assert_ok(nc_host_clean_orphans(host, &cleaned, &error), &error);
		assert_empty_after(host, "killed", number);
		assert_no_instances(host);
		nc_host_close(host);
		number++;
	} while (died && number < CALLS_MAX);
	print_message("%s: killed at each of %d calls\n", what, number - 2);
	assert_true(number > least && number < CALLS_MAX);
	take_down(scratch, false);
	free(trial.entries);
	assert_nothing_left(scratch);
}

static void test_launch_dies_at_each_call(void **state)
{
	launch_dies(*state, act_launch, "a launch's part", 40);
}

static void test_release_dies_at_each_call(void **state)
{
	launch_dies(*state, act_launch_and_release, "an end", 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_launch_fails_at_each_call), TEST(test_reseal_fails_at_each_call), TEST(test_release_fails_at_each_call),
		TEST(test_launch_dies_at_each_call),  TEST(test_release_dies_at_each_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
