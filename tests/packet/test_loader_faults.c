// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader_faults.c - every system call of up, of a launch's part and of an end made to fail in turn, and the process killed at each in turn
 *
 * The functions below stand before the C library's, for the loader, libbpf and libnl alike. Armed with a number, the call of that number fails (or kills the
 * process); the rest are let through. A step that fails must say so and leave nothing, or have coped; what a killed process left must be cleaned by the
 * next one. The number goes up until a run comes through untouched.
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

#define CALLS_MAX 5000

/* ---- the fault --------------------------------------------------------------------------------------------------------------------------------------- */

static struct {
	int countdown; /* 0: not armed */
	bool kills;
	bool hit;
	int error;
	char name[32];
} fault;

static bool strikes(const char *name)
{
	if (!fault.countdown || --fault.countdown)
		return false;
	fault.hit = true;
	snprintf(fault.name, sizeof(fault.name), "%s", name);
	if (fault.kills)
		kill(getpid(), SIGKILL);
	errno = fault.error;
	return true;
}

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

#define NEXT(name)                                                                                                                                   \
	static __typeof__(&name) real;                                                                                                               \
	if (!real)                                                                                                                                   \
	*(void **)&real = next(#name)

/* bpf(2) and membarrier(2). A refusal that the kernel would give is what is played: memory, or permission. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long a[6];
	va_list arguments;

	NEXT(syscall);
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_bpf && strikes("bpf"))
		return -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define STAND_BEFORE_OPEN(name)                                                                                                                      \
	int name(const char *path, int flags, ...)                                                                                                   \
	{                                                                                                                                            \
		va_list arguments;                                                                                                                   \
		mode_t mode;                                                                                                                         \
		NEXT(name);                                                                                                                          \
		va_start(arguments, flags);                                                                                                          \
		mode = va_arg(arguments, mode_t);                                                                                                    \
		va_end(arguments);                                                                                                                   \
		return strikes(#name) ? -1 : real(path, flags, mode);                                                                                \
	}
#define STAND_BEFORE_OPENAT(name)                                                                                                                    \
	int name(int dir, const char *path, int flags, ...)                                                                                          \
	{                                                                                                                                            \
		va_list arguments;                                                                                                                   \
		mode_t mode;                                                                                                                         \
		NEXT(name);                                                                                                                          \
		va_start(arguments, flags);                                                                                                          \
		mode = va_arg(arguments, mode_t);                                                                                                    \
		va_end(arguments);                                                                                                                   \
		return strikes(#name) ? -1 : real(dir, path, flags, mode);                                                                           \
	}

STAND_BEFORE_OPEN(open)
STAND_BEFORE_OPENAT(openat)

int mkdir(const char *path, mode_t mode)
{
	NEXT(mkdir);
	return strikes("mkdir") ? -1 : real(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	NEXT(mkdirat);
	return strikes("mkdirat") ? -1 : real(dir, path, mode);
}

int rename(const char *from, const char *to)
{
	NEXT(rename);
	return strikes("rename") ? -1 : real(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	NEXT(renameat);
	return strikes("renameat") ? -1 : real(from_dir, from, to_dir, to);
}

int unlink(const char *path)
{
	NEXT(unlink);
	return strikes("unlink") ? -1 : real(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	NEXT(unlinkat);
	return strikes("unlinkat") ? -1 : real(dir, path, flags);
}

int rmdir(const char *path)
{
	NEXT(rmdir);
	return strikes("rmdir") ? -1 : real(path);
}

int flock(int fd, int how)
{
	NEXT(flock);
	return strikes("flock") ? -1 : real(fd, how);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	NEXT(write);
	return strikes("write") ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	NEXT(pwrite);
	return strikes("pwrite") ? -1 : real(fd, bytes, size, offset);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	NEXT(pread);
	return strikes("pread") ? -1 : real(fd, bytes, size, offset);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	NEXT(mmap);
	return fd >= 0 && strikes("mmap") ? MAP_FAILED : real(address, size, protection, flags, fd, offset);
}

ssize_t getrandom(void *bytes, size_t size, unsigned int flags)
{
	NEXT(getrandom);
	return strikes("getrandom") ? -1 : real(bytes, size, flags);
}

int socket(int family, int type, int protocol)
{
	NEXT(socket);
	return strikes("socket") ? -1 : real(family, type, protocol);
}

static void arm(int number, bool kills)
{
	fault.countdown = number;
	fault.kills = kills;
	fault.hit = false;
	fault.error = number & 1 ? ENOMEM : EPERM;
}

static bool disarm(void)
{
	fault.countdown = 0;
	return fault.hit;
}

/* ---- what is tried ---------------------------------------------------------------------------------------------------------------------------------------- */

struct trial {
	struct scratch *scratch;
	struct nc_host *host;
	struct nc_policy_entry *entries;
	struct nc_image image, plane;
};

static int try_up(struct trial *trial, struct nc_error *error)
{
	return nc_host_up(&trial->scratch->options, &trial->host, error);
}

/* A launch's part: what was made is handed out on success only. */
static int try_launch(struct trial *trial, struct nc_claim **ret_claim, struct nc_error *error)
{
	struct nc_claim *claim = NULL;
	struct nc_error second;
	uint64_t revision;
	int r = nc_claim_new(trial->host, "one", &claim, error);

	if (r < 0)
		return r;
	r = nc_claim_make_cgroups(claim, error);
	r = r < 0 ? r : nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &trial->image}, error);
	r = r < 0 ? r : nc_claim_seal(claim, NC_AUTHORITY_PLANE, &(struct nc_seal){.image = &trial->plane}, error);
	r = r < 0 ? r : nc_claim_reseal(claim, NC_AUTHORITY_WORKLOAD, &trial->image, &revision, error);
	if (r < 0) {
		disarm();
		nc_claim_release(claim, &second);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

static void trial_make(struct trial *trial, struct scratch *scratch)
{
	/* small pools: the same calls, sooner */
	scratch->options.instances = 4;
	scratch->options.rings = 2;
	scratch->options.policy_entries = 64;
	scratch->options.grant_entries = 16;
	scratch->options.seen_entries = 64;
	*trial = (struct trial){.scratch = scratch, .entries = entries_make(8)};
	trial->image = (struct nc_image){.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = trial->entries, .count = 8};
	trial->plane = (struct nc_image){.authority = NC_AUTHORITY_PLANE, .mode = NC_MODE_ALLOWLIST, .entries = trial->entries, .count = 2};
}

/* Loading, pinning and attaching are long rows of the same calls: beyond the first, every 23rd is tried, or each with NC_TEST_EVERY_CALL set. */
static int next_number(int number)
{
	return number < 24 || getenv("NC_TEST_EVERY_CALL") ? number + 1 : number + 23;
}

/* ---- failing ------------------------------------------------------------------------------------------------------------------------------------------------ */

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
	assert_true(number > 100 && number < CALLS_MAX && failed > 20);
	free(trial.entries);
}

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

/* ---- dying ----------------------------------------------------------------------------------------------------------------------------------------------------- */

/* Runs `act` in a child that dies at the call of this number; false when it came through. */
static bool dies_at(struct trial *trial, int number, int (*act)(struct trial *trial))
{
	int status;
	pid_t child = fork();

	if (!child) {
		arm(number, true);
		_exit(act(trial) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && !WEXITSTATUS(status)));
	return WIFSIGNALED(status);
}

static int act_up(struct trial *trial)
{
	struct nc_error error;

	return try_up(trial, &error);
}

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
		TEST(test_launch_fails_at_each_call), TEST(test_release_fails_at_each_call), TEST(test_launch_dies_at_each_call),
		TEST(test_release_dies_at_each_call), TEST(test_up_fails_at_each_call),	     TEST(test_up_dies_at_each_call),
		TEST(test_down_dies_at_each_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
