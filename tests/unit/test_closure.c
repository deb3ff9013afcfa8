// SPDX-License-Identifier: GPL-2.0-only
/* test_closure.c - the closure table: what counts as closed under which facts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "loader.h"

#define HOOK_WORD(symbol, value, word) word,
static const char *const every_hook[] = {NC_HOOKS(HOOK_WORD)};
#define HOOKS (sizeof(every_hook) / sizeof(*every_hook))

/* A list of all hooks but those whose word begins with `without` (NULL: all). */
static struct nc_effective_list all_but(const char *without)
{
	static struct nc_effective programs[HOOKS];
	struct nc_effective_list list = {.programs = programs};

	memset(programs, 0, sizeof(programs));
	for (size_t i = 0; i < HOOKS; i++) {
		if (without && !strncmp(every_hook[i], without, strlen(without)))
			continue;
		snprintf(programs[list.count].hook, sizeof(programs->hook), "%s", every_hook[i]);
		programs[list.count++].ours = true;
	}
	return list;
}

static struct nc_closure row_of(struct nc_closure_facts facts, const struct nc_effective_list *list, const char *path)
{
	const struct nc_closure *rows;
	size_t count;

	facts.effective = list;
	nc_closures_of(&facts, &rows, &count);
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(rows[i].path, path))
			return rows[i];
	}
	fail_msg("no path %s", path);
	return rows[0];
}

static const struct nc_closure_facts run = {.true_root = true, .starts_process = true};
static const struct nc_closure_facts attach = {.true_root = true};

static void paths_are_words_and_unique(void **state)
{
	struct nc_effective_list list = all_but(NULL);
	struct nc_closure_facts facts = {.effective = &list, .true_root = true};
	const struct nc_closure *rows;
	size_t count;

	(void)state;
	nc_closures_of(&facts, &rows, &count);
	assert_true(count > 40);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(strspn(rows[i].path, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(rows[i].path));
		assert_true(rows[i].summary[0] && rows[i].mechanism[0]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rows[i].path, rows[j].path);
	}
}

static void programs_that_are_missing_open_their_paths(void **state)
{
	static const struct {
		const char *without, *path;
	} cases[] = {{"connect4", "tcp_connect"}, {"connect6", "v4_mapped"},	    {"sendmsg4", "udp_sendto"}, {"egress", "udp_connected"},
		     {"sock_create", "udplite"},  {"setsockopt", "multicast_join"}, {"ingress", "listen"},	{"egress", "destination_rewrite"},
		     {"egress", "host_address"},  {"sock_create", "mptcp"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nc_effective_list list = all_but(NULL);

		assert_int_equal(row_of(run, &list, cases[i].path).state, NC_CLOSURE_IN_FORCE);
		list = all_but(cases[i].without);
		assert_int_equal(row_of(run, &list, cases[i].path).state, NC_CLOSURE_GAP);
	}
}

static void a_program_of_somebody_else_closes_nothing(void **state)
{
	struct nc_effective_list list = all_but(NULL);

	(void)state;
	for (size_t i = 0; i < list.count; i++)
		list.programs[i].ours = false;
	assert_int_equal(row_of(run, &list, "tcp_connect").state, NC_CLOSURE_GAP);
}

static void unix_peers(void **state)
{
	struct nc_effective_list list = all_but(NULL);
	struct nc_closure_facts accepted = run;

	(void)state;
	assert_string_equal(row_of(run, &list, "unix_pathname").mechanism, "lsm_unix");
	list = all_but("lsm_");
	assert_string_equal(row_of(run, &list, "unix_pathname").mechanism, "unix_hooks");
	assert_string_equal(row_of(attach, &list, "unix_abstract").mechanism, "unix_hooks");
	accepted.unix_gap_accepted = true;
	assert_int_equal(row_of(accepted, &list, "unix_pathname").state, NC_CLOSURE_GAP);
	assert_int_equal(row_of(accepted, &list, "connected_socket_from_outside").state, NC_CLOSURE_GAP);
	for (size_t i = 0; i < list.count; i++) { /* neither: as before Linux 6.7 */
		if (strstr(list.programs[i].hook, "unix"))
			list.programs[i].ours = false;
	}
	assert_string_equal(row_of(run, &list, "unix_pathname").mechanism, "seccomp_unix");
	assert_int_equal(row_of(attach, &list, "unix_pathname").state, NC_CLOSURE_GAP);
	assert_string_equal(row_of(attach, &list, "unix_pathname").mechanism, "lsm_unix, or unix_hooks, or seccomp_unix");
}

static void measures_count_only_for_who_starts_the_process(void **state)
{
	struct nc_effective_list list = all_but("lsm_");
	static const char *const paths[] = {"cgroup_move",	"pins",
					    "same_uid_process", "terminal_injection",
					    "dns_key_request",	"inherited_descriptor",
					    "other_families",	"connected_socket_from_outside"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		assert_int_equal(row_of(run, &list, paths[i]).state, NC_CLOSURE_IN_FORCE);
		assert_int_equal(row_of(attach, &list, paths[i]).state, NC_CLOSURE_GAP);
		assert_non_null(strstr(row_of(attach, &list, paths[i]).needs, "netcordon run"));
	}
	list = all_but(NULL);
	assert_int_equal(row_of(attach, &list, "other_families").state, NC_CLOSURE_IN_FORCE);
	assert_string_equal(row_of(attach, &list, "other_families").mechanism, "lsm_family");
}

static void a_guard_below_the_root_is_not_one(void **state)
{
	struct nc_effective_list list = all_but("lsm_");
	struct nc_closure_facts below = attach;

	(void)state;
	assert_int_equal(row_of(attach, &list, "socket_from_outside").state, NC_CLOSURE_IN_FORCE);
	below.true_root = false;
	assert_int_equal(row_of(below, &list, "socket_from_outside").state, NC_CLOSURE_GAP);
}

static void a_hook_that_does_not_see_pages_is_no_closure(void **state)
{
	struct nc_effective_list list = all_but("connect_unix");
	struct nc_closure_facts blind = attach, blind_run = run;

	(void)state;
	assert_string_equal(row_of(attach, &list, "connected_socket_from_outside").mechanism, "lsm_sendmsg");
	blind.pages_unseen = blind_run.pages_unseen = true;
	assert_int_equal(row_of(blind, &list, "connected_socket_from_outside").state, NC_CLOSURE_GAP);
	/* nobody outside can hand anything to what `run` starts */
	assert_int_equal(row_of(blind_run, &list, "connected_socket_from_outside").state, NC_CLOSURE_IN_FORCE);
	assert_non_null(strstr(row_of(blind_run, &list, "connected_socket_from_outside").mechanism, "lsm_unix"));
}

static void an_open_name_is_a_gap(void **state)
{
	struct nc_effective_list list = all_but(NULL);
	struct nc_closure_facts open = run;

	(void)state;
	assert_int_equal(row_of(run, &list, "shared_address").state, NC_CLOSURE_IN_FORCE);
	open.names_open = true;
	assert_int_equal(row_of(open, &list, "shared_address").state, NC_CLOSURE_GAP);
	assert_int_equal(row_of(open, &list, "first_payload_rewrite").state, NC_CLOSURE_GAP);
	assert_int_equal(row_of(open, &list, "host_address").state, NC_CLOSURE_IN_FORCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_words_and_unique),
		cmocka_unit_test(programs_that_are_missing_open_their_paths),
		cmocka_unit_test(a_program_of_somebody_else_closes_nothing),
		cmocka_unit_test(unix_peers),
		cmocka_unit_test(measures_count_only_for_who_starts_the_process),
		cmocka_unit_test(a_guard_below_the_root_is_not_one),
		cmocka_unit_test(a_hook_that_does_not_see_pages_is_no_closure),
		cmocka_unit_test(an_open_name_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
