// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader_torn.c - what a dead process wrote only in part: an instance's record, the host's book and the floor's, cut at every byte; and a policy
 * that is too large
 *
 * A record that is not whole says nothing: what it should have spoken of is found without it, and nothing of it stays. A book that is not whole is no book:
 * a launch says so, and `up` writes it anew from the pins. What the floor's book should have said of other namespaces nobody knows, so it is refused,
 * too, until the host was taken down; rows that are missing altogether are written anew.
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

/* A launch's part by a process that then dies. */
static void leave_one(struct trial *trial)
{
	int status;
	pid_t child = fork();

	if (!child) {
		struct nc_claim *claim;
		struct nc_error error;

		if (nc_host_open(&trial->scratch->options, &trial->host, &error) < 0 || try_launch(trial, &claim, &error) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void cut(struct nc_host *host, const char *name, size_t size)
{
	int fd = openat(host->folder_fd, name, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

/* Every byte of what is read as numbers, and then one in each sixteen of the paths. */
static void test_record(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	struct trial trial;
	uint32_t cleaned;

	trial_make(&trial, scratch);
	assert_ok(try_up(&trial, &error), &error);
	for (size_t size = 0; size < sizeof(struct nc_record); size += size < offsetof(struct nc_record, cgroup) ? 1 : 16) {
		struct nc_claim *claim = NULL;

		leave_one(&trial);
		cut(trial.host, "instances/one/claim", size);
		if (size % 2) { /* the name is free for the next, and what is left does not stand in its way */
			assert_ok(try_launch(&trial, &claim, &error), &error);
			assert_ok(nc_claim_release(claim, &error), &error);
		}
		assert_ok(nc_host_clean_orphans(trial.host, &cleaned, &error), &error);
		assert_empty_after(trial.host, "record cut at", (int)size);
		assert_no_instances(trial.host);
	}
	assert_ok(nc_host_down(trial.host, false, &error), &error);
	nc_host_close(trial.host);
	free(trial.entries);
	assert_nothing_left(scratch);
}

/* Whose claim cannot be read may have any cgroup: none is taken meanwhile, and nothing counts as nobody's. */
static void test_record_of_the_living(void **state)
{
	struct scratch *scratch = *state;
	struct nc_claim *claim = NULL, *other = NULL;
	char apart[NC_PATH_MAX + 32];
	struct nc_error error;
	struct trial trial;
	uint32_t cleaned;

	trial_make(&trial, scratch);
	assert_ok(try_up(&trial, &error), &error);
	assert_ok(try_launch(&trial, &claim, &error), &error);
	assert_ok(nc_claim_new(trial.host, "other", &other, &error), &error);
	snprintf(apart, sizeof(apart), "%s/apart", scratch->root);
	assert_int_equal(mkdir(apart, 0755), 0);
	cut(trial.host, "instances/one/claim", 8);
	assert_true(nc_claim_take_cgroup(other, apart, &error) < 0);
	assert_int_equal(error.status, -EBADMSG);
	assert_non_null(strstr(error.detail, "instance one"));
	assert_non_null(strstr(error.hint, "host status"));
	assert_true(nc_host_clean_orphans(trial.host, &cleaned, &error) < 0);
	assert_int_equal(error.status, -EBADMSG);
	assert_ok(nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &trial.image, &error), &error); /* it lives */
	assert_ok(nc_record_write(claim->record_fd, &claim->record, &error), &error);
	assert_ok(nc_claim_take_cgroup(other, apart, &error), &error);
	assert_ok(nc_host_clean_orphans(trial.host, &cleaned, &error), &error);
	assert_int_equal(cleaned, 0);
	assert_ok(nc_claim_release(other, &error), &error);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_int_equal(rmdir(apart), 0);
	assert_ok(nc_host_down(trial.host, false, &error), &error);
	nc_host_close(trial.host);
	free(trial.entries);
	assert_nothing_left(scratch);
}

static void test_book(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *host = NULL;
	struct nc_error error;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	for (size_t size = 0; size < sizeof(struct nc_book); size++) {
		struct nc_host *other = NULL;

		cut(host, "book", size);
		assert_true(nc_host_open(&scratch->options, &other, &error) < 0);
		assert_int_equal(error.code, NC_E_HOST_DOWN);
		if (size % 64 != 1)
			continue;
		assert_ok(nc_host_up(&scratch->options, &other, &error), &error);
		assert_memory_equal(&other->book, &host->book, sizeof(host->book));
		nc_host_close(other);
	}
	nc_host_close(host);
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

static void test_floor_book(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *host = NULL;
	struct nc_floor *floor = NULL;
	struct nc_error error;
	struct stat whole, now;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_ok(nc_floor_open(host, &floor, &error), &error);
	nc_floor_close(floor);
	assert_int_equal(fstatat(host->folder_fd, "floor/book", &whole, 0), 0);
	assert_true(whole.st_size >= (off_t)sizeof(struct nc_book_row));
	for (size_t size = 0; size < (size_t)whole.st_size; size++) {
		cut(host, "floor/book", size);
		if (size % sizeof(struct nc_book_row)) {
			assert_int_equal(nc_floor_open(host, &floor, &error), -EIO);
			assert_non_null(strstr(error.hint, "host down"));
			continue;
		}
		assert_ok(nc_floor_open(host, &floor, &error), &error);
		nc_floor_close(floor);
		assert_int_equal(fstatat(host->folder_fd, "floor/book", &now, 0), 0);
		assert_int_equal(now.st_size, whole.st_size);
	}
	cut(host, "floor/book", 1); /* and what the message says helps */
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_ok(nc_floor_open(host, &floor, &error), &error);
	nc_floor_close(floor);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

/* Small policies come and go while a large one is tried again and again: it never holds the places that they need. */
static void test_too_large(void **state)
{
	struct scratch *scratch = *state;
	struct nc_policy_entry *large = entries_make(4000);
	struct nc_image too_much = {.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = large, .count = 4000};
	struct nc_claim *claim = NULL;
	struct nc_error error;
	struct trial trial;
	int status, tried = 0;
	pid_t small;

	trial_make(&trial, scratch);
	scratch->options.policy_entries = 2048;
	assert_ok(try_up(&trial, &error), &error);
	small = fork();
	if (!small) {
		int good = nc_host_open(&scratch->options, &trial.host, &error) >= 0;

		for (int i = 0; i < 50 && good; i++)
			good = try_launch(&trial, &claim, &error) >= 0 && nc_claim_release(claim, &error) >= 0;
		if (!good)
			print_error("%s: %s\n", nc_error_word(error.code), error.detail);
		_exit(good ? 0 : 1);
	}
	assert_ok(nc_claim_new(trial.host, "large", &claim, &error), &error);
	assert_ok(nc_claim_make_cgroups(claim, &error), &error);
	for (; !waitpid(small, &status, WNOHANG); tried++) {
		assert_int_equal(nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &too_much}, &error), -E2BIG);
		assert_int_equal(error.code, NC_E_POLICY_FULL);
	}
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_true(tried > 0);
	too_much.count = 2000; /* and what fits, fits */
	assert_ok(nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &too_much}, &error), &error);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_ok(nc_host_down(trial.host, false, &error), &error);
	nc_host_close(trial.host);
	free(trial.entries);
	free(large);
	assert_nothing_left(scratch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_record), TEST(test_record_of_the_living), TEST(test_book), TEST(test_floor_book), TEST(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
