// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader.c - the loader against the running kernel, each test below a cgroup root and a runtime folder of its own
 *
 * "Leaves nothing" is measured: pins, links, programs, maps, cgroups, folders and map entries before and after.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <bpf/bpf.h>
#include "inside.h"
#include "world.h"

/* ---- up, down ------------------------------------------------------------------------------------------------------------------------------ */

static void test_up_twice_and_down(void **state)
{
	struct world *world = *state;
	struct nc_host *first = NULL, *second = NULL;
	struct nc_effective_list list = {0};
	struct nc_host_facts facts;
	struct nc_error error;
	int ours = 0;

	assert_int_equal(nc_host_open(&world->options, &first, &error), -ENOENT);
	assert_int_equal(error.code, NC_E_HOST_DOWN);
	assert_ok(nc_host_up(&world->options, &first, &error), &error);
	assert_ok(nc_host_up(&world->options, &second, &error), &error);
	assert_ok(nc_host_facts(second, &facts, &error), &error);
	assert_int_equal(facts.instances_used, 0);
	assert_int_equal(facts.policy_entries, 0);
	assert_ok(nc_host_verify(second, -1, &list, &error), &error);
	for (size_t i = 0; i < list.count; i++) {
		void *instructions = NULL;
		size_t size = 0;

		ours += list.programs[i].ours;
		assert_ok(nc_program_translated(list.programs[i].id, &instructions, &size, &error), &error);
		assert_true(size > 0);
		free(instructions);
	}
	assert_int_equal(ours, facts.links);
	nc_effective_free(&list);
	nc_host_close(first);
	assert_ok(nc_host_down(second, false, &error), &error);
	nc_host_close(second);
	assert_nothing_left(world);
}

/* ---- an instance ---------------------------------------------------------------------------------------------------------------------------- */

static void test_life_of_an_instance(void **state)
{
	struct world *world = *state;
	struct nc_policy_entry *entries = entries_make(16);
	struct nc_image image = {.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = entries, .count = 16};
	struct nc_image plane = {.authority = NC_AUTHORITY_PLANE, .mode = NC_MODE_NONE};
	struct nc_host *host = NULL;
	struct nc_claim *claim = NULL, *other = NULL;
	struct nc_host_facts facts;
	struct nc_error error;
	uint64_t revision;

	assert_ok(nc_host_up(&world->options, &host, &error), &error);
	assert_ok(nc_claim_new(host, "one", &claim, &error), &error);
	assert_int_equal(nc_claim_new(host, "one", &other, &error), -EEXIST);
	assert_int_equal(error.code, NC_E_INSTANCE_EXISTS);
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
	assert_int_equal(nc_host_down(host, false, &error), -EBUSY);
	assert_int_equal(error.code, NC_E_HOST_BUSY);
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_empty(host);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	free(entries);
	assert_nothing_left(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_up_twice_and_down, world_make, world_end),
		cmocka_unit_test_setup_teardown(test_life_of_an_instance, world_make, world_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
