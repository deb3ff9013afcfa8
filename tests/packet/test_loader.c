// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader.c - the loader against the running kernel: hosts and claims
 *
 * Each test has a cgroup root, a runtime folder and a manifest of its own (scratch.h). "Leaves nothing" is measured: pins, links, attached programs,
 * cgroups, folders and map entries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <bpf/bpf.h>
#include "inside.h"
#include "scratch.h"

#define PROCESSES 64

/* ---- hosts ----------------------------------------------------------------------------------------------------------------------------------- */

#define WALKED_MAX 100000 /* a tenth of what the verifier takes; each ten thousand are some ten milliseconds of a first launch */

/* How many instructions the verifier walked before it let the program in; kernels before 5.16 do not say. */
static void assert_walked_soon(uint32_t id)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	close(fd);
	if (size < offsetof(struct bpf_prog_info, verified_insns) + sizeof(info.verified_insns))
		return;
	assert_true(info.verified_insns > 0);
	if (info.verified_insns > WALKED_MAX)
		fail_msg("%s: the verifier walked %u instructions", info.name, info.verified_insns);
}

static void test_up_twice_and_down(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *first = NULL, *second = NULL;
	struct nc_effective_list list = {0};
	struct nc_host_facts facts;
	struct nc_error error;
	uint32_t ours = 0;

	assert_int_equal(nc_host_open(&scratch->options, &first, &error), -ENOENT);
	assert_int_equal(error.code, NC_E_HOST_DOWN);
	assert_ok(nc_host_up(&scratch->options, &first, &error), &error);
	assert_ok(nc_host_up(&scratch->options, &second, &error), &error);
	assert_memory_equal(first->book.program_ids, second->book.program_ids, sizeof(first->book.program_ids));
	assert_ok(nc_host_facts(second, &facts, &error), &error);
	assert_empty(second);
	assert_ok(nc_host_verify(second, -1, &list, &error), &error);
	for (size_t i = 0; i < list.count; i++) {
		void *instructions = NULL;
		size_t size = 0;

		ours += list.programs[i].ours;
		if (list.programs[i].ours)
			assert_walked_soon(list.programs[i].id);
		assert_ok(nc_program_translated(list.programs[i].id, &instructions, &size, &error), &error);
		assert_true(size > 0);
		free(instructions);
	}
	assert_int_equal(ours, facts.links);
	nc_effective_free(&list);
	nc_host_close(first);
	assert_ok(nc_host_down(second, false, &error), &error);
	nc_host_close(second);
	assert_nothing_left(scratch);
}

/* 16 processes at once: each finds a whole host, and it was loaded once. */
static void test_up_in_parallel(void **state)
{
	struct scratch *scratch = *state;
	struct nc_book *books = mmap(NULL, 16 * sizeof(*books), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct nc_host *host = NULL;
	struct nc_error error;
	pid_t children[16];

	assert_true(books != MAP_FAILED);
	for (int i = 0; i < 16; i++) {
		children[i] = fork();
		if (!children[i]) {
			if (nc_host_up(&scratch->options, &host, &error) < 0) {
				fprintf(stderr, "%s\n", error.detail);
				_exit(1);
			}
			books[i] = host->book;
			_exit(0);
		}
	}
	assert_all_exit_zero(children, 16);
	for (int i = 1; i < 16; i++)
		assert_memory_equal(&books[0], &books[i], sizeof(books[0]));
	munmap(books, 16 * sizeof(*books));
	take_down(scratch, false);
	assert_nothing_left(scratch);
}

static void detach_link(const char *pins, const char *name)
{
	char path[NC_PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/links/%s", pins, name);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	assert_int_equal(bpf_link_detach(fd), 0);
	close(fd);
}

/* A host from which something was taken away is found out, and the next `up` makes it whole. */
static void test_up_repairs(void **state)
{
	struct scratch *scratch = *state;
	char path[NC_PATH_MAX + 64], pins[NC_PATH_MAX];
	struct nc_host *host = NULL;
	struct nc_error error;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	memcpy(pins, host->pins, sizeof(pins));
	detach_link(pins, "sendmsg4");
	assert_true(nc_host_verify(host, -1, NULL, &error) < 0);
	assert_int_equal(error.code, NC_E_HOST_INCOMPLETE);
	assert_non_null(strstr(error.detail, "sendmsg4"));
	nc_host_close(host);
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error); /* a link that is pinned, but dead */
	detach_link(pins, "guard_connect6");
	snprintf(path, sizeof(path), "%s/links/guard_connect6", pins);
	assert_int_equal(unlink(path), 0);
	nc_host_close(host);
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error); /* one that is gone */
	snprintf(path, sizeof(path), "%s/book", host->folder);
	assert_int_equal(unlink(path), 0);
	nc_host_close(host);
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error); /* the book */
	snprintf(path, sizeof(path), "%s", host->slice);
	nc_host_close(host);
	assert_int_equal(rmdir(path), 0);
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error); /* the slice, and with it all its links */
	nc_host_close(host);
	take_down(scratch, false);
	assert_nothing_left(scratch);
}

/* Two builds at one root, and a third host at a root inside: each comes and goes without touching another. */
static void test_side_by_side(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host_options other = scratch->options, inner = scratch->options;
	struct nc_host *a = NULL, *b = NULL, *c = NULL;
	struct nc_effective_list list = {0};
	char manifest[65], inner_root[NC_PATH_MAX + 8];
	struct nc_error error;
	int guards = 0;

	snprintf(manifest, sizeof(manifest), "%.8sffff", scratch->manifest);
	snprintf(inner_root, sizeof(inner_root), "%s/inner", scratch->root);
	other.manifest = manifest;
	inner.root = inner_root;
	assert_int_equal(mkdir(inner_root, 0755), 0);
	assert_ok(nc_host_up(&scratch->options, &a, &error), &error);
	assert_ok(nc_host_up(&other, &b, &error), &error);
	assert_ok(nc_host_up(&inner, &c, &error), &error);
	assert_ok(nc_host_verify(c, -1, &list, &error), &error);
	for (size_t i = 0; i < list.count; i++)
		guards += !list.programs[i].ours && !strncmp(list.programs[i].hook, "guard_", 6);
	assert_int_equal(guards, 10); /* those of a and of b, at the root above */
	nc_effective_free(&list);
	assert_ok(nc_host_down(a, false, &error), &error);
	assert_ok(nc_host_verify(b, -1, NULL, &error), &error);
	assert_ok(nc_host_verify(c, -1, NULL, &error), &error);
	assert_ok(nc_host_down(c, false, &error), &error);
	assert_ok(nc_host_verify(b, -1, NULL, &error), &error);
	assert_ok(nc_host_down(b, false, &error), &error);
	nc_host_close(a);
	nc_host_close(b);
	nc_host_close(c);
	assert_int_equal(rmdir(inner_root), 0);
	assert_nothing_left(scratch);
}

static void test_options_refused(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host_options options;
	struct nc_host *host = NULL;
	struct nc_error error;
	const struct nc_nat64_prefix prefixes[NC_NAT64_MAX + 1] = {0};

	options = scratch->options;
	options.root = "/proc";
	assert_true(nc_host_up(&options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_CGROUP_INVALID);
	options.root = "/sys/fs/cgroup/unified/nctest-not-there";
	assert_true(nc_host_up(&options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_CGROUP_INVALID);
	options = scratch->options;
	options.ring_bytes = 5000;
	assert_true(nc_host_up(&options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_USAGE);
	options = scratch->options;
	options.nat64 = prefixes;
	options.nat64_count = NC_NAT64_MAX + 1;
	assert_true(nc_host_up(&options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_USAGE);
	options = scratch->options;
	options.manifest = "xyz";
	assert_true(nc_host_up(&options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_USAGE);
	assert_null(host);
	assert_nothing_left(scratch);
}

/* ---- foreign programs --------------------------------------------------------------------------------------------------------------------------- */

static int load_foreign(const char *name)
{
	const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_CGROUP_INET4_CONNECT);
	int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, name, "GPL", pass, 2, &options);

	assert_true(fd >= 0);
	return fd;
}

static void test_foreign_programs(void **state)
{
	struct scratch *scratch = *state;
	const char *const allowed[] = {"guest_prog", NULL};
	struct nc_host *host = NULL;
	struct nc_effective_list list = {0};
	struct nc_error error;
	int root_fd = open(scratch->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int program_fd = load_foreign("guest_prog"), link_fd, found = 0;

	/* before: at the root, beside which others may stand */
	link_fd = bpf_link_create(program_fd, root_fd, BPF_CGROUP_INET4_CONNECT, NULL);
	assert_true(link_fd >= 0);
	assert_true(nc_host_up(&scratch->options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_PROGRAM_FOREIGN);
	assert_non_null(strstr(error.detail, "guest_prog"));
	/* allowed by name it may stay, and is listed as what it is */
	scratch->options.foreign_allowed = allowed;
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_ok(nc_host_verify(host, -1, &list, &error), &error);
	for (size_t i = 0; i < list.count; i++)
		found += !list.programs[i].ours && !strcmp(list.programs[i].name, "guest_prog") && !strcmp(list.programs[i].hook, "connect4");
	assert_int_equal(found, 1);
	nc_effective_free(&list);
	close(link_fd);
	nc_host_close(host);
	/* after: on the slice, behind our back */
	scratch->options.foreign_allowed = NULL;
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	link_fd = bpf_link_create(program_fd, host->slice_fd, BPF_CGROUP_INET4_CONNECT, NULL);
	assert_true(link_fd >= 0);
	assert_true(nc_host_verify(host, -1, NULL, &error) < 0);
	assert_int_equal(error.code, NC_E_PROGRAM_FOREIGN);
	assert_non_null(strstr(error.detail, "guest_prog"));
	close(link_fd);
	nc_host_close(host);
	take_down(scratch, false);
	/* one that admits no other: the kernel refuses us, and nothing is left of the attempt */
	assert_int_equal(bpf_prog_attach(program_fd, root_fd, BPF_CGROUP_INET4_CONNECT, 0), 0);
	assert_true(nc_host_up(&scratch->options, &host, &error) < 0);
	assert_int_equal(error.code, NC_E_PROGRAM_FOREIGN);
	assert_int_equal(bpf_prog_detach2(program_fd, root_fd, BPF_CGROUP_INET4_CONNECT), 0);
	close(program_fd);
	close(root_fd);
	assert_nothing_left(scratch);
}

/* ---- claims --------------------------------------------------------------------------------------------------------------------------------------- */

static void test_life_of_an_instance(void **state)
{
	struct scratch *scratch = *state;
	struct nc_policy_entry *entries = entries_make(16);
	struct nc_image image = {.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = entries, .count = 16};
	struct nc_image plane = {.authority = NC_AUTHORITY_PLANE, .mode = NC_MODE_NONE};
	struct nc_claim *claim = NULL, *other = NULL;
	struct nc_host *host = NULL;
	struct nc_host_facts facts;
	struct nc_error error;
	uint64_t revision;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_int_equal(nc_claim_new(host, "Not/a name", &claim, &error), -EINVAL);
	assert_int_equal(error.code, NC_E_INSTANCE_INVALID);
	assert_ok(nc_claim_new(host, "one", &claim, &error), &error);
	assert_int_equal(nc_claim_new(host, "one", &other, &error), -EEXIST);
	assert_int_equal(error.code, NC_E_INSTANCE_EXISTS);
	assert_int_equal(nc_claim_adopt(host, "one", &other, &error), -EEXIST);
	assert_ok(nc_claim_make_cgroups(claim, &error), &error);
	assert_ok(nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &image}, &error), &error);
	assert_ok(nc_claim_seal(claim, NC_AUTHORITY_PLANE, &(struct nc_seal){.image = &plane}, &error), &error);
	assert_ok(nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &image, &error), &error);
	assert_ok(nc_claim_check(claim, NC_AUTHORITY_PLANE, &plane, &error), &error);
	assert_ok(nc_host_facts(host, &facts, &error), &error);
	assert_int_equal(facts.policy_entries, 16);
	assert_int_equal(facts.instances_used, 1);
	assert_int_equal(facts.rings_used, 1);
	image.count = 12;
	assert_ok(nc_claim_reseal(claim, NC_AUTHORITY_WORKLOAD, &image, &revision, &error), &error);
	assert_int_equal(revision, 2);
	assert_ok(nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &image, &error), &error);
	assert_ok(nc_host_facts(host, &facts, &error), &error);
	assert_int_equal(facts.policy_entries, 12);
	assert_ok(nc_claim_find(host, "one", &other, &error), &error);
	assert_int_equal(nc_claim_generation(other), nc_claim_generation(claim));
	assert_int_equal(nc_claim_reseal(other, NC_AUTHORITY_WORKLOAD, &image, &revision, &error), -EPERM);
	nc_claim_abandon(other);
	assert_int_equal(nc_host_down(host, false, &error), -EBUSY);
	assert_int_equal(error.code, NC_E_HOST_BUSY);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_empty(host);
	assert_int_equal(nc_claim_find(host, "one", &other, &error), -ENOENT);
	assert_int_equal(error.code, NC_E_INSTANCE_UNKNOWN);
	assert_int_equal(nc_claim_adopt(host, "one", &other, &error), -ENOENT);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	free(entries);
	assert_nothing_left(scratch);
}

struct seat {
	uint64_t generation;
	uint32_t index, ring;
};

/* Claims, seals, says where it sits, waits for the word to go on, releases. */
static int parallel_child(struct scratch *scratch, const char *name, struct seat *seat, int ready, int go)
{
	struct nc_policy_entry *entries = entries_make(16);
	struct nc_image image = {.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = entries, .count = 16};
	struct nc_claim *claim = NULL;
	struct nc_host *host = NULL;
	struct nc_error error;
	char byte = 1;
	int r = nc_host_open(&scratch->options, &host, &error);

	r = r < 0 ? r : nc_claim_new(host, name, &claim, &error);
	if (r >= 0)
		*seat = (struct seat){nc_claim_generation(claim), claim->record.index, claim->record.ring};
	r = r < 0 ? r : nc_claim_make_cgroups(claim, &error);
	r = r < 0 ? r : nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &image}, &error);
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 0)
		return 3;
	r = r < 0 ? r : nc_claim_check(claim, NC_AUTHORITY_WORKLOAD, &image, &error);
	r = r < 0 ? r : nc_claim_release(claim, &error);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", name, error.detail);
	nc_host_close(host);
	return r < 0 ? error.code == NC_E_INSTANCE_EXISTS ? 2 : 1 : 0;
}

static void test_parallel_claims(void **state)
{
	struct scratch *scratch = *state;
	struct seat *seats = mmap(NULL, PROCESSES * sizeof(*seats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct nc_host_facts facts;
	struct nc_host *host = NULL;
	struct nc_error error;
	pid_t children[PROCESSES];
	int ready[2], go[2];
	char bytes[PROCESSES];

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	for (int i = 0; i < PROCESSES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		children[i] = fork();
		if (!children[i]) {
			close(go[1]);
			_exit(parallel_child(scratch, name, &seats[i], ready[1], go[0]));
		}
	}
	for (int i = 0; i < PROCESSES; i++)
		assert_int_equal(read(ready[0], bytes, 1), 1);
	assert_ok(nc_host_facts(host, &facts, &error), &error);
	assert_int_equal(facts.instances_used, PROCESSES);
	assert_int_equal(facts.rings_used, PROCESSES);
	assert_int_equal(facts.policy_entries, PROCESSES * 16);
	close(go[1]);
	assert_all_exit_zero(children, PROCESSES);
	for (int i = 0; i < PROCESSES; i++) {
		for (int j = 0; j < i; j++) {
			assert_int_not_equal(seats[i].index, seats[j].index);
			assert_int_not_equal(seats[i].ring, seats[j].ring);
			assert_true(seats[i].generation != seats[j].generation);
		}
		assert_true(seats[i].generation != 0);
	}
	assert_empty(host);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	munmap(seats, PROCESSES * sizeof(*seats));
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

/* One name, many who want it: exactly one has it. */
static void test_one_name(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *host = NULL;
	struct nc_error error;
	struct seat seat;
	pid_t children[PROCESSES];
	int ready[2], go[2], won = 0, status;
	char byte;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (!children[i]) {
			close(go[1]);
			if (freopen("/dev/null", "w", stderr) == NULL)
				_exit(4);
			_exit(parallel_child(scratch, "same", &seat, ready[1], go[0]));
		}
	}
	for (int i = 0; i < PROCESSES; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(go[1]);
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2));
		won += WEXITSTATUS(status) == 0;
	}
	assert_int_equal(won, 1);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	assert_empty(host);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

/* Every seat taken: said aloud; one given back: had again, though it was closed just now. */
static void test_pools_exhausted(void **state)
{
	struct scratch *scratch = *state;
	struct nc_claim *claims[4], *more = NULL;
	struct nc_host *host = NULL;
	struct nc_error error;

	scratch->options.instances = 4;
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		assert_ok(nc_claim_new(host, name, &claims[i], &error), &error);
	}
	assert_true(nc_claim_new(host, "more", &more, &error) < 0);
	assert_int_equal(error.code, NC_E_SLOTS_EXHAUSTED);
	assert_ok(nc_claim_release(claims[3], &error), &error);
	assert_ok(nc_claim_new(host, "more", &more, &error), &error);
	assert_ok(nc_claim_release(more, &error), &error);
	for (int i = 0; i < 3; i++)
		assert_ok(nc_claim_release(claims[i], &error), &error);
	assert_empty(host);
	nc_host_close(host);
	take_down(scratch, false);

	scratch->options.rings = 2;
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_ok(nc_claim_new(host, "a", &claims[0], &error), &error);
	assert_ok(nc_claim_new(host, "b", &claims[1], &error), &error);
	assert_true(nc_claim_new(host, "c", &more, &error) < 0);
	assert_int_equal(error.code, NC_E_RINGS_EXHAUSTED);
	assert_ok(nc_claim_release(claims[0], &error), &error);
	assert_ok(nc_claim_release(claims[1], &error), &error);
	assert_empty(host);
	nc_host_close(host);
	take_down(scratch, false);
	assert_nothing_left(scratch);
}

/* More instances than `up` prepared rings for: the pool grows. */
static void test_rings_grow(void **state)
{
	struct scratch *scratch = *state;
	static struct nc_claim *claims[100];
	struct nc_host *host = NULL;
	struct nc_error error;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "g%d", i);
		assert_ok(nc_claim_new(host, name, &claims[i], &error), &error);
		assert_true(nc_claim_ring_fd(claims[i]) >= 0);
	}
	for (int i = 0; i < 100; i++)
		assert_ok(nc_claim_release(claims[i], &error), &error);
	assert_empty(host);
	nc_host_close(host);
	take_down(scratch, false);
	assert_nothing_left(scratch);
}

static uint32_t prefixes_in_force(struct nc_host *host, const struct nc_host_options *options)
{
	struct nc_settings settings;
	struct nc_error error;

	assert_ok(nc_host_settings(host, options, &settings, &error), &error);
	return settings.nat64_count;
}

/* Between a launch's `up` and its claim somebody may still take its prefix away: it is back before anything is sealed, and then nobody may. */
static void test_prefix_between_up_and_claim(void **state)
{
	const struct nc_nat64_prefix prefix = {.prefix.bytes = {0x20, 0x01, 0x06, 0x7c}, .length = 96};
	struct scratch *scratch = *state;
	struct nc_host_options launch = scratch->options, operators = scratch->options;
	struct nc_host *host = NULL, *other = NULL;
	struct nc_claim *claim = NULL;
	struct nc_error error;

	launch.nat64 = &prefix;
	launch.nat64_count = 1;
	operators.configure = true;
	assert_ok(nc_host_up(&launch, &host, &error), &error);
	assert_int_equal(prefixes_in_force(host, NULL), 1);
	assert_ok(nc_host_up(&operators, &other, &error), &error);
	nc_host_close(other);
	other = NULL;
	assert_int_equal(prefixes_in_force(host, NULL), 0);
	assert_ok(nc_claim_new(host, "between", &claim, &error), &error);
	assert_int_equal(prefixes_in_force(host, &launch), 1);
	assert_true(nc_host_up(&operators, &other, &error) < 0);
	assert_int_equal(error.code, NC_E_HOST_BUSY);
	assert_int_equal(prefixes_in_force(host, NULL), 1);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_ok(nc_host_up(&operators, &other, &error), &error);
	assert_int_equal(prefixes_in_force(other, NULL), 0);
	nc_host_close(other);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_up_twice_and_down), TEST(test_up_in_parallel),   TEST(test_up_repairs),	   TEST(test_side_by_side),
		TEST(test_options_refused),   TEST(test_foreign_programs), TEST(test_life_of_an_instance), TEST(test_parallel_claims),
		TEST(test_one_name),	      TEST(test_pools_exhausted),  TEST(test_rings_grow),	   TEST(test_prefix_between_up_and_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
