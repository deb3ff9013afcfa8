// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader_policy.c - images in the kernel: sealed, changed, tampered with, too large; and instances whose owner died, was told to keep, or took a cgroup
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <bpf/bpf.h>
#include "inside.h"
#include "scratch.h"

#define MILLION 1000000u

/* What a process number means changes between the list and the signal: here its process leaves the cgroup, as if the number were another's by then. */
static struct {
	pid_t pid;
	int to_fd;
} leaving;

static int enter(int cgroup_fd, pid_t pid)
{
	int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	int r = fd < 0 || dprintf(fd, "%d", pid) < 0 ? -errno : 0;

	close(fd);
	return r;
}

/* What happens right after the next batch of policy entries was written: this test program's own syscall() stands before the C library's. */
static void (*after_write)(int map_fd);

__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	long a[6], result;
	va_list arguments;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_pidfd_open && a[0] == leaving.pid && enter(leaving.to_fd, leaving.pid) < 0)
		abort();
	result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_bpf && a[0] == BPF_MAP_UPDATE_BATCH && !result && after_write) {
		void (*act)(int map_fd) = after_write;

		after_write = NULL;
		act((int)((const union bpf_attr *)a[1])->batch.map_fd);
	}
	return result;
}

struct fixture {
	struct nc_host *host;
	struct nc_claim *claim;
	struct nc_policy_entry *entries;
	struct nc_image image;
};

static void fixture_make(struct scratch *scratch, struct fixture *fixture, size_t count)
{
	struct nc_error error;

	*fixture = (struct fixture){.entries = entries_make(count)};
	fixture->image =
		(struct nc_image){.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = fixture->entries, .count = count};
	assert_ok(nc_host_up(&scratch->options, &fixture->host, &error), &error);
	assert_ok(nc_claim_new(fixture->host, "one", &fixture->claim, &error), &error);
	assert_ok(nc_claim_make_cgroups(fixture->claim, &error), &error);
}

static int fixture_seal(struct fixture *fixture, struct nc_error *error)
{
	return nc_claim_seal(fixture->claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &fixture->image}, error);
}

static void fixture_end(struct scratch *scratch, struct fixture *fixture)
{
	struct nc_error error;

	assert_ok(nc_claim_release(fixture->claim, &error), &error);
	assert_empty(fixture->host);
	assert_ok(nc_host_down(fixture->host, false, &error), &error);
	nc_host_close(fixture->host);
	free(fixture->entries);
	assert_nothing_left(scratch);
}

/* ---- tampering ------------------------------------------------------------------------------------------------------------------------------------ */

static void first_key(int map_fd, struct nc_policy_key *ret_key)
{
	assert_int_equal(bpf_map_get_next_key(map_fd, NULL, ret_key), 0);
}

static void change_one(int map_fd)
{
	struct nc_policy_value value = {.flags = NC_POLICY_NON_PUBLIC};
	struct nc_policy_key key;

	first_key(map_fd, &key);
	assert_int_equal(bpf_map_update_elem(map_fd, &key, &value, BPF_EXIST), 0);
}

static void remove_one(int map_fd)
{
	struct nc_policy_key key;

	first_key(map_fd, &key);
	assert_int_equal(bpf_map_delete_elem(map_fd, &key), 0);
}

static void add_one(int map_fd)
{
	struct nc_policy_value value = {0};
	struct nc_policy_key key;

	first_key(map_fd, &key);
	key.port_be ^= 0x0100;
	assert_int_equal(bpf_map_update_elem(map_fd, &key, &value, BPF_NOEXIST), 0);
}

/* Between writing and reading back: the slot is not opened and nothing of it stays. */
static void test_seal_mismatch(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host_facts facts;
	struct fixture fixture;
	struct nc_error error;
	struct nc_slot slot;

	fixture_make(scratch, &fixture, 16);
	for (int i = 0; i < 2; i++) {
		after_write = i ? remove_one : change_one;
		assert_int_equal(fixture_seal(&fixture, &error), -EBADMSG);
		assert_int_equal(error.code, NC_E_SEAL_MISMATCH);
		assert_ok(nc_slot_read(fixture.claim, 0, &slot, &error), &error);
		assert_true(slot.generation == 0);
		assert_ok(nc_host_facts(fixture.host, &facts, &error), &error);
		assert_int_equal(facts.policy_entries, 0);
	}
	assert_ok(fixture_seal(&fixture, &error), &error);
	fixture_end(scratch, &fixture);
}

/* After sealing: the closing question finds each kind of change, in the entries and in the slot. */
static void test_check_finds_changes(void **state)
{
	static void (*const changes[])(int map_fd) = {change_one, remove_one, add_one};
	struct scratch *scratch = *state;
	struct nc_host_facts facts;
	struct fixture fixture;
	struct nc_error error;
	struct nc_slot slot;
	uint64_t revision;
	int map_fd;

	fixture_make(scratch, &fixture, 16);
	assert_ok(fixture_seal(&fixture, &error), &error);
	assert_ok(nc_host_map(fixture.host, NC_MAP_WORKLOAD_POLICY, &map_fd, &error), &error);
	for (int i = 0; i < 3; i++) {
		assert_ok(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), &error);
		changes[i](map_fd);
		assert_int_equal(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), -EBADMSG);
		assert_int_equal(error.code, NC_E_SEAL_MISMATCH);
		assert_ok(nc_claim_reseal(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &revision, &error), &error);
		assert_ok(nc_host_facts(fixture.host, &facts, &error), &error);
		assert_int_equal(facts.policy_entries, 16);
	}
	assert_ok(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), &error);
	assert_ok(nc_slot_read(fixture.claim, 0, &slot, &error), &error);
	slot.mode = NC_MODE_UNRESTRICTED;
	assert_ok(nc_slot_write(fixture.claim, 0, &slot, &error), &error);
	assert_int_equal(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), -EBADMSG);
	add_one(map_fd);
	assert_int_equal(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), -EBADMSG);
	fixture_end(scratch, &fixture);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------------------------------------ */

/* A map that cannot take the policy refuses it whole; a live policy stays as it was. */
static void test_full_map(void **state)
{
	struct scratch *scratch = *state;
	struct nc_policy_entry *large = entries_make(200);
	struct nc_image too_much = {.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = large, .count = 200};
	struct nc_host_facts facts;
	struct fixture fixture;
	struct nc_error error;
	uint64_t revision = 77;

	scratch->options.policy_entries = 128;
	fixture_make(scratch, &fixture, 100);
	assert_int_equal(nc_claim_seal(fixture.claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &too_much}, &error), -E2BIG);
	assert_int_equal(error.code, NC_E_POLICY_FULL);
	assert_ok(nc_host_facts(fixture.host, &facts, &error), &error);
	assert_int_equal(facts.policy_entries, 0);
	assert_ok(fixture_seal(&fixture, &error), &error);
	too_much.count = 60; /* fits by itself, not beside the old one */
	assert_int_equal(nc_claim_reseal(fixture.claim, NC_AUTHORITY_WORKLOAD, &too_much, &revision, &error), -E2BIG);
	assert_int_equal(error.code, NC_E_POLICY_FULL);
	assert_int_equal(revision, 77);
	assert_ok(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), &error);
	free(large);
	fixture_end(scratch, &fixture);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_a_million(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host_facts facts;
	struct fixture fixture;
	struct nc_error error;
	double start, sealed, checked;

	scratch->options.policy_entries = MILLION;
	fixture_make(scratch, &fixture, MILLION);
	start = seconds();
	assert_ok(fixture_seal(&fixture, &error), &error);
	sealed = seconds();
	assert_ok(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), &error);
	checked = seconds();
	assert_ok(nc_host_facts(fixture.host, &facts, &error), &error);
	assert_int_equal(facts.policy_entries, MILLION);
	print_message("a million entries: sealed in %.2f s, checked in %.2f s\n", sealed - start, checked - sealed);
	fixture.entries[MILLION / 2].value.flags ^= NC_POLICY_WIRE_TLS;
	assert_int_equal(nc_claim_check(fixture.claim, NC_AUTHORITY_WORKLOAD, &fixture.image, &error), -EBADMSG);
	fixture_end(scratch, &fixture);
}

/* ---- owners that die, and owners that leave ------------------------------------------------------------------------------------------------------------- */

static pid_t sleeper_in(int cgroup_fd)
{
	pid_t child = fork();

	if (!child) {
		int procs = openat(cgroup_fd, "cgroup.procs", O_WRONLY);

		if (procs < 0 || write(procs, "0", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < 500; i++) {
		struct nc_error error;
		bool populated = false;

		if (!nc_cgroup_is_populated(cgroup_fd, &populated, &error) && populated)
			break;
		usleep(2000);
	}
	return child;
}

/* A child that claims, seals and fills an instance, then stops itself; returned stopped. */
static pid_t owner_make(struct scratch *scratch, const char *name, bool keep)
{
	int status;
	pid_t owner = fork();

	if (!owner) {
		struct nc_policy_entry *entries = entries_make(16);
		struct nc_image image = {.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = entries, .count = 16};
		struct nc_claim *claim = NULL;
		struct nc_host *host = NULL;
		struct nc_error error;
		int r = nc_host_open(&scratch->options, &host, &error);

		r = r < 0 ? r : nc_claim_new(host, name, &claim, &error);
		r = r < 0 ? r : nc_claim_make_cgroups(claim, &error);
		r = r < 0 ? r : nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &image}, &error);
		r = r < 0 || !keep ? r : nc_claim_keep(claim, true, &error);
		if (r < 0)
			_exit(1);
		/* the workload has none of the owner's descriptors, as after an exec */
		if (!fork()) {
			int cgroup_fd = dup2(nc_claim_cgroup_fd(claim, NC_AUTHORITY_WORKLOAD), 3);

			close_range(4, ~0u, 0);
			sleeper_in(cgroup_fd);
			_exit(0);
		}
		wait(NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_true(owner > 0);
	assert_int_equal(waitpid(owner, &status, WUNTRACED), owner);
	assert_true(WIFSTOPPED(status));
	return owner;
}

static void owner_kill(pid_t owner)
{
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, NULL, 0), owner);
}

static int copy_row(void *context, const struct nc_instance_row *row)
{
	*(struct nc_instance_row *)context = *row;
	return 0;
}

static void test_dead_owner(void **state)
{
	struct scratch *scratch = *state;
	struct nc_instance_row row = {.index = 99};
	struct nc_claim *claim = NULL;
	struct nc_host *host = NULL;
	struct nc_error error;
	uint32_t cleaned = 9;
	pid_t owner;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	owner = owner_make(scratch, "mortal", false);
	assert_ok(nc_host_clean_orphans(host, &cleaned, &error), &error);
	assert_int_equal(cleaned, 0);
	assert_ok(nc_instances(host, copy_row, &row, &error), &error);
	assert_string_equal(row.name, "mortal");
	assert_true(row.owner_lives && row.populated && !row.kept);
	assert_int_equal(row.intended[0], 16);
	assert_int_equal(row.present[0], 16);
	assert_int_equal(row.mode, NC_MODE_ALLOWLIST);
	assert_int_equal(nc_claim_new(host, "mortal", &claim, &error), -EEXIST);
	owner_kill(owner);
	assert_ok(nc_instances(host, copy_row, &row, &error), &error);
	assert_true(!row.owner_lives && row.populated);
	assert_ok(nc_host_clean_orphans(host, &cleaned, &error), &error);
	assert_int_equal(cleaned, 1);
	assert_empty(host);
	/* and by whoever wants the name */
	owner_kill(owner_make(scratch, "mortal", false));
	assert_ok(nc_claim_new(host, "mortal", &claim, &error), &error);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_empty(host);
	/* and by down */
	owner_kill(owner_make(scratch, "mortal", false));
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

static void test_kept(void **state)
{
	struct scratch *scratch = *state;
	struct nc_instance_row row;
	struct nc_claim *claim = NULL;
	struct nc_host *host = NULL;
	struct nc_error error;
	uint32_t cleaned = 9;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	owner_kill(owner_make(scratch, "kept", true));
	assert_ok(nc_host_clean_orphans(host, &cleaned, &error), &error);
	assert_int_equal(cleaned, 0);
	assert_ok(nc_instances(host, copy_row, &row, &error), &error);
	assert_true(row.kept && !row.owner_lives && row.populated);
	assert_int_equal(nc_claim_new(host, "kept", &claim, &error), -EEXIST);
	assert_int_equal(nc_host_down(host, false, &error), -EBUSY);
	assert_ok(nc_claim_adopt(host, "kept", &claim, &error), &error);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_empty(host);
	/* what was kept and has ended by itself is an orphan like any other */
	owner_kill(owner_make(scratch, "kept", true));
	assert_ok(nc_claim_find(host, "kept", &claim, &error), &error);
	assert_ok(nc_claim_kill(claim, NC_AUTHORITY_WORKLOAD, 5000, &error), &error);
	nc_claim_abandon(claim);
	assert_ok(nc_host_clean_orphans(host, &cleaned, &error), &error);
	assert_int_equal(cleaned, 1);
	assert_empty(host);
	/* force ends everything, an owner or not */
	owner_kill(owner_make(scratch, "kept", true));
	pid_t owner = owner_make(scratch, "owned", false);
	assert_int_equal(nc_host_down(host, false, &error), -EBUSY);
	assert_ok(nc_host_down(host, true, &error), &error);
	owner_kill(owner);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

/* A runtime folder wiped by hand: what no record speaks of is found in the kernel. */
static void test_strays(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *host = NULL;
	struct nc_error error;
	char path[NC_PATH_MAX + 32];
	uint32_t cleaned = 9;
	pid_t owner;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	owner = owner_make(scratch, "stray", false);
	snprintf(path, sizeof(path), "%s/instances", host->folder);
	assert_ok(nc_tree_remove(path, &error), &error);
	owner_kill(owner);
	assert_ok(nc_host_clean_orphans(host, &cleaned, &error), &error);
	assert_int_equal(cleaned, 1);
	assert_empty(host);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

/* ---- killing -------------------------------------------------------------------------------------------------------------------------------------------- */

/* Both ways: cgroup.kill, and before 5.14 by freezing and signalling, with a cgroup below, whose name may begin with a dot, and a task that ignores
 * what can be ignored. */
static void test_kill(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	int fd = open(scratch->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), outer = -1, inner = -1;
	bool populated = true;

	for (int way = 0; way < 2; way++) {
		assert_ok(nc_cgroup_make(fd, "outer", &outer, &error), &error);
		assert_ok(nc_cgroup_make(outer, way ? ".inner" : "inner", &inner, &error), &error);
		signal(SIGTERM, SIG_IGN);
		pid_t a = sleeper_in(outer), b = sleeper_in(inner);
		signal(SIGTERM, SIG_DFL);
		assert_ok(nc_cgroup_is_populated(outer, &populated, &error), &error);
		assert_true(populated);
		if (way) {
			assert_ok(nc_cgroup_signal_all(outer, &error), &error);
			assert_int_equal(waitpid(a, NULL, 0), a);
			assert_int_equal(waitpid(b, NULL, 0), b);
		}
		assert_ok(nc_cgroup_end(outer, 5000, &error), &error);
		assert_ok(nc_cgroup_is_populated(outer, &populated, &error), &error);
		assert_false(populated);
		if (!way) {
			assert_int_equal(waitpid(a, NULL, 0), a);
			assert_int_equal(waitpid(b, NULL, 0), b);
		}
		assert_ok(nc_cgroup_remove(fd, "outer", &error), &error);
		close(outer);
		close(inner);
	}
	close(fd);
	assert_nothing_left(scratch);
}

static void test_signal_only_who_is_inside(void **state)
{
	struct scratch *scratch = *state;
	struct nc_error error;
	int fd = open(scratch->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), from = -1, to = -1, below = -1;
	pid_t ended = 0;

	assert_ok(nc_cgroup_make(fd, "from", &from, &error), &error);
	assert_ok(nc_cgroup_make(fd, "to", &to, &error), &error);
	pid_t gone = sleeper_in(from), there = sleeper_in(from);
	for (int i = 0; i < 5000 && nc_cgroup_lists(from, there) != 1; i++) /* sleeper_in waits for the first only */
		usleep(1000);
	leaving.pid = gone;
	leaving.to_fd = to;
	assert_int_equal(nc_cgroup_signal(from, SIGKILL), 0);
	leaving.pid = 0;
	assert_int_equal(waitpid(there, NULL, 0), there);
	assert_int_equal(waitpid(gone, NULL, WNOHANG), 0);
	assert_int_equal(nc_cgroup_signal(to, SIGKILL), 0); /* the twin */
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	/* one that a workload made for itself */
	assert_ok(nc_cgroup_make(to, "below", &below, &error), &error);
	there = sleeper_in(below);
	assert_int_equal(nc_cgroup_signal(to, SIGTERM), 0);
	for (int i = 0; i < 5000 && (ended = waitpid(there, NULL, WNOHANG)) == 0; i++)
		usleep(1000);
	assert_int_equal(ended, there);
	close(below);
	assert_ok(nc_cgroup_remove(fd, "from", &error), &error);
	assert_ok(nc_cgroup_remove(fd, "to", &error), &error);
	close(from);
	close(to);
	close(fd);
	assert_nothing_left(scratch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_seal_mismatch),
		TEST(test_check_finds_changes),
		TEST(test_full_map),
		TEST(test_a_million),
		TEST(test_dead_owner),
		TEST(test_kept),
		TEST(test_strays),
		TEST(test_kill),
		TEST(test_signal_only_who_is_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
