// SPDX-License-Identifier: GPL-2.0-only
/* test_grants.c - the book of grants and what of it stands in the kernel's map: who is the witness, who follows, what is taken back and when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <bpf/bpf.h>
#include "inside.h"
#include "scratch.h"

#define HTTPS ((struct nc_grant_port){.port_be = 0xbb01, .protocol = 6})
#define HTTP ((struct nc_grant_port){.port_be = 0x5000, .protocol = 6})

static struct nc_host *host;
static struct nc_claim *claim;
static struct nc_error error;
static uint32_t asked_authority = NC_AUTHORITY_WORKLOAD;

static void begin(struct scratch *scratch)
{
	host = NULL;
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	assert_ok(nc_claim_new(host, "one", &claim, &error), &error);
	assert_ok(nc_claim_make_cgroups(claim, &error), &error);
}

/* A release leaves no grant behind: assert_empty counts them. */
static void end(struct scratch *scratch)
{
	assert_ok(nc_claim_release(claim, &error), &error);
	assert_empty(host);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

static union nc_address address_of(uint32_t number)
{
	union nc_address address = {.bytes = {[10] = 0xff, 0xff, 93, 184, 0, 0}};

	address.bytes[14] = (uint8_t)(number >> 8);
	address.bytes[15] = (uint8_t)number;
	return address;
}

static int grant(uint32_t name, uint32_t number, struct nc_grant_port port, uint32_t lifetime)
{
	union nc_address address = address_of(number);

	return nc_claim_grant(claim, name, &address, 1, &port, 1, lifetime, &error);
}

/* Who the kernel is told owns {address, port}; 0: nobody. */
static uint32_t witness(uint32_t number, struct nc_grant_port port)
{
	struct nc_grant_key key = {.generation = nc_claim_generation(claim),
				   .authority = asked_authority,
				   .address = address_of(number),
				   .port_be = port.port_be,
				   .protocol = port.protocol,
				   .kind = NC_GRANT_WITNESS};
	struct nc_grant_value value;
	int fd;

	assert_ok(nc_host_map(host, NC_MAP_GRANTS, &fd, &error), &error);
	return bpf_map_lookup_elem(fd, &key, &value) ? 0 : value.name_id;
}

static bool holds(uint32_t name, uint32_t number)
{
	struct nc_grant_key key = {.generation = nc_claim_generation(claim), .address = address_of(number), .name_id = name, .kind = NC_GRANT_NAME};
	struct nc_grant_value value;
	int fd;

	assert_ok(nc_host_map(host, NC_MAP_GRANTS, &fd, &error), &error);
	return !bpf_map_lookup_elem(fd, &key, &value);
}

static uint64_t entries(void)
{
	struct nc_host_facts facts;

	assert_ok(nc_host_facts(host, &facts, &error), &error);
	return facts.grant_entries;
}

static void the_witness_is_the_owner_that_lives_longest(void **state)
{
	begin(*state);
	assert_ok(grant(1, 7, HTTPS, 100), &error);
	assert_int_equal(witness(7, HTTPS), 1);
	assert_ok(grant(2, 7, HTTPS, 300), &error);
	assert_int_equal(witness(7, HTTPS), 2);
	assert_ok(grant(3, 7, HTTPS, 200), &error); /* displaces nobody */
	assert_int_equal(witness(7, HTTPS), 2);
	assert_ok(grant(3, 7, HTTPS, 400), &error); /* prolonged */
	assert_int_equal(witness(7, HTTPS), 3);
	assert_ok(grant(3, 7, HTTPS, 1), &error); /* never shortened */
	assert_int_equal(witness(7, HTTPS), 3);
	assert_true(holds(1, 7) && holds(2, 7) && holds(3, 7));
	/* a name that lists another port is no owner of this one */
	assert_ok(grant(4, 7, HTTP, 900), &error);
	assert_int_equal(witness(7, HTTPS), 3);
	assert_int_equal(witness(7, HTTP), 4);
	assert_int_equal(witness(8, HTTPS), 0);
	assert_int_equal(entries(), 4 + 2);
	end(*state);
}

static void what_is_revoked_goes_to_the_next_owner(void **state)
{
	begin(*state);
	assert_ok(grant(1, 7, HTTPS, 100), &error);
	assert_ok(grant(2, 7, HTTPS, 300), &error);
	assert_ok(grant(3, 7, HTTPS, 200), &error);
	assert_ok(grant(2, 8, HTTPS, 300), &error);
	assert_ok(nc_claim_revoke(claim, 2, &error), &error);
	assert_int_equal(witness(7, HTTPS), 3);
	assert_int_equal(witness(8, HTTPS), 0);
	assert_false(holds(2, 7) || holds(2, 8));
	assert_ok(nc_claim_revoke(claim, 3, &error), &error);
	assert_int_equal(witness(7, HTTPS), 1);
	assert_ok(nc_claim_revoke(claim, 77, &error), &error); /* nobody */
	assert_int_equal(witness(7, HTTPS), 1);
	assert_ok(nc_claim_revoke(claim, 1, &error), &error);
	assert_int_equal(witness(7, HTTPS), 0);
	assert_int_equal(entries(), 0);
	end(*state);
}

static void what_has_expired_leaves_on_the_way(void **state)
{
	begin(*state);
	assert_ok(grant(1, 7, HTTPS, 1), &error);
	assert_ok(grant(1, 8, HTTPS, 600), &error);
	assert_ok(grant(2, 9, HTTPS, 1), &error);
	assert_int_equal(entries(), 6);
	usleep(1200000);
	assert_ok(grant(3, 10, HTTPS, 600), &error);
	assert_false(holds(1, 7) || holds(2, 9));
	assert_true(holds(1, 8));
	assert_int_equal(witness(7, HTTPS), 0);
	assert_int_equal(entries(), 4);
	end(*state);
}

static void a_full_map_refuses_aloud_and_takes_back(void **state)
{
	struct scratch *scratch = *state;
	union nc_address addresses[200];
	struct nc_grant_port port = HTTPS;
	uint64_t before;
	int r;

	scratch->options.grant_entries = 64;
	begin(scratch);
	assert_ok(grant(1, 1, HTTPS, 100), &error);
	assert_ok(grant(1, 2, HTTPS, 100), &error);
	before = entries();
	for (uint32_t i = 0; i < 200; i++)
		addresses[i] = address_of(i + 1); /* the first two are there already */
	r = nc_claim_grant(claim, 2, addresses, 200, &port, 1, 600, &error);
	assert_true(r < 0);
	assert_int_equal(error.code, NC_E_POLICY_FULL);
	assert_int_equal(entries(), before);
	for (uint32_t i = 0; i < 200; i++)
		assert_false(holds(2, i + 1));
	assert_int_equal(witness(1, HTTPS), 1);
	assert_int_equal(witness(2, HTTPS), 1);
	assert_int_equal(witness(3, HTTPS), 0);
	/* and there is room again for what fits */
	assert_ok(nc_claim_grant(claim, 2, addresses, 10, &port, 1, 600, &error), &error);
	assert_int_equal(witness(10, HTTPS), 2);
	end(scratch);
}

static void each_instance_has_a_share_and_each_name_half_of_it(void **state)
{
	struct scratch *scratch = *state;
	union nc_address addresses[64];
	struct nc_grant_port port = HTTPS, other = {.port_be = 0x5000, .protocol = 6, .open = true}, both[] = {HTTPS, other};
	struct nc_claim *one, *two;

	for (uint32_t i = 0; i < 64; i++)
		addresses[i] = address_of(i + 1);
	scratch->options.grant_share = 64; /* of 1024 */
	begin(scratch);
	one = claim;
	/* 17 addresses at one port are 34 entries, and a name may have 32 */
	assert_true(nc_claim_grant(claim, 1, addresses, 17, &port, 1, 600, &error) < 0);
	assert_int_equal(error.code, NC_E_POLICY_FULL);
	assert_non_null(strstr(error.hint, "pools.grant_share"));
	assert_int_equal(entries(), 0);
	assert_ok(nc_claim_grant(claim, 1, addresses, 16, &port, 1, 600, &error), &error);
	assert_ok(nc_claim_grant(claim, 1, addresses, 16, &port, 1, 900, &error), &error); /* prolonged: takes nothing more */
	assert_ok(nc_claim_grant(claim, 2, addresses + 16, 15, &port, 1, 600, &error), &error);
	assert_int_equal(entries(), 62);
	/* two entries are left: a port at which no name is compared has a second witness */
	assert_true(nc_claim_grant(claim, 3, addresses, 1, &other, 1, 600, &error) < 0);
	assert_ok(nc_claim_grant(claim, 3, addresses + 40, 1, &port, 1, 600, &error), &error);
	assert_true(nc_claim_grant(claim, 4, addresses + 41, 1, &port, 1, 600, &error) < 0);
	assert_true(nc_claim_grant_ports(claim, 1, both, 2, &error) < 0);
	assert_int_equal(entries(), 64);
	/* nobody else is asked to wait */
	assert_ok(nc_claim_new(host, "two", &two, &error), &error);
	assert_ok(nc_claim_make_cgroups(two, &error), &error);
	assert_ok(nc_claim_grant(two, 1, addresses, 16, &port, 1, 600, &error), &error);
	assert_ok(nc_claim_release(two, &error), &error);
	/* and what has left makes room */
	claim = one;
	assert_ok(nc_claim_revoke(claim, 2, &error), &error);
	assert_ok(nc_claim_grant(claim, 4, addresses + 41, 1, &port, 1, 600, &error), &error);
	end(scratch);
}

static void other_ports_take_the_place_of_those_before(void **state)
{
	struct nc_grant_port both[] = {HTTPS, HTTP}, one[] = {HTTP};

	begin(*state);
	assert_ok(grant(1, 7, HTTPS, 300), &error);
	assert_ok(grant(2, 7, HTTPS, 100), &error);
	assert_ok(nc_claim_grant_ports(claim, 1, both, 2, &error), &error);
	assert_int_equal(witness(7, HTTPS), 1);
	assert_int_equal(witness(7, HTTP), 1);
	assert_ok(nc_claim_grant_ports(claim, 1, one, 1, &error), &error);
	assert_int_equal(witness(7, HTTPS), 2); /* handed over */
	assert_int_equal(witness(7, HTTP), 1);
	assert_true(holds(1, 7));
	assert_ok(nc_claim_grant_ports(claim, 2, one, 1, &error), &error);
	assert_int_equal(witness(7, HTTPS), 0);
	assert_ok(nc_claim_grant_ports(claim, 99, one, 1, &error), &error); /* holds nothing */
	assert_int_equal(entries(), 2 + 1);
	end(*state);
}

/* The same address, port and protocol of both: two witnesses that know nothing of each other. */
static void the_authorities_share_no_grant(void **state)
{
	struct nc_grant_port https = HTTPS;
	union nc_address address = address_of(7);
	const uint32_t plane = NC_NAME_ID_PLANE | 1;

	begin(*state);
	assert_ok(grant(1, 7, HTTPS, 100), &error);
	asked_authority = NC_AUTHORITY_PLANE;
	assert_int_equal(witness(7, HTTPS), 0);
	assert_false(nc_claim_granted(claim, NC_AUTHORITY_PLANE, &address, &https));
	assert_ok(grant(plane, 7, HTTPS, 900), &error);
	assert_int_equal(witness(7, HTTPS), plane);
	assert_int_equal(entries(), 4);
	asked_authority = NC_AUTHORITY_WORKLOAD;
	assert_int_equal(witness(7, HTTPS), 1); /* the plane's lives longer, and is nothing here */
	assert_ok(nc_claim_revoke(claim, 1, &error), &error);
	assert_int_equal(witness(7, HTTPS), 0);
	assert_false(nc_claim_granted(claim, NC_AUTHORITY_WORKLOAD, &address, &https));
	assert_true(nc_claim_granted(claim, NC_AUTHORITY_PLANE, &address, &https));
	asked_authority = NC_AUTHORITY_PLANE;
	assert_int_equal(witness(7, HTTPS), plane);
	asked_authority = NC_AUTHORITY_WORKLOAD;
	end(*state);
}

/* Before the policies are exchanged whoever stays becomes the witness; what nobody else holds keeps the one that leaves, which the old policy still lists. */
static void a_name_that_will_leave_hands_over_before(void **state)
{
	struct nc_grant_port both[] = {HTTPS, HTTP}, https = HTTPS;

	begin(*state);
	assert_ok(grant(1, 7, HTTPS, 900), &error);
	assert_ok(grant(2, 7, HTTPS, 100), &error);
	assert_ok(grant(1, 8, HTTPS, 900), &error);
	assert_int_equal(witness(7, HTTPS), 1);
	assert_ok(nc_claim_grant_leaving(claim, 1, NULL, 0, &error), &error);
	assert_int_equal(witness(7, HTTPS), 2);
	assert_int_equal(witness(8, HTTPS), 1);
	assert_true(holds(1, 7));
	/* it did not come to an exchange */
	assert_ok(nc_claim_grant_leaving(claim, 1, &https, 1, &error), &error);
	assert_int_equal(witness(7, HTTPS), 1);
	/* all leave: the one that lives longest, as ever */
	assert_ok(nc_claim_grant_leaving(claim, 2, NULL, 0, &error), &error);
	assert_ok(nc_claim_grant_leaving(claim, 1, NULL, 0, &error), &error);
	assert_int_equal(witness(7, HTTPS), 1);
	assert_ok(nc_claim_grant_leaving(claim, 2, both, 2, &error), &error);
	assert_int_equal(witness(7, HTTPS), 2);
	assert_ok(nc_claim_revoke(claim, 1, &error), &error);
	assert_ok(nc_claim_grant_ports(claim, 2, both, 2, &error), &error);
	assert_int_equal(witness(7, HTTPS), 2);
	assert_int_equal(witness(7, HTTP), 2);
	assert_int_equal(witness(8, HTTPS), 0);
	end(*state);
}

static void another_instance_has_grants_of_its_own(void **state)
{
	struct nc_claim *first, *second;

	begin(*state);
	first = claim;
	assert_ok(nc_claim_new(host, "two", &second, &error), &error);
	assert_ok(grant(1, 7, HTTPS, 100), &error);
	claim = second;
	assert_int_equal(witness(7, HTTPS), 0);
	assert_ok(grant(1, 7, HTTPS, 100), &error);
	assert_ok(nc_claim_release(second, &error), &error);
	claim = first;
	assert_int_equal(witness(7, HTTPS), 1);
	assert_int_equal(entries(), 2);
	end(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_witness_is_the_owner_that_lives_longest, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(what_is_revoked_goes_to_the_next_owner, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(what_has_expired_leaves_on_the_way, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(a_full_map_refuses_aloud_and_takes_back, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(each_instance_has_a_share_and_each_name_half_of_it, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(other_ports_take_the_place_of_those_before, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(the_authorities_share_no_grant, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(a_name_that_will_leave_hands_over_before, scratch_make, scratch_end),
		cmocka_unit_test_setup_teardown(another_instance_has_grants_of_its_own, scratch_make, scratch_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
