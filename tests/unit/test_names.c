// SPDX-License-Identifier: GPL-2.0-only
/* test_names.c - ids of names over the revisions of an instance's policy: kept, never used again, and what each may open */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"

struct made {
	struct nc_profile *profile;
	struct nc_image image;
	struct nc_names names;
};

static struct made make(const char *destinations, const struct nc_names *before)
{
	struct made made = {0};
	struct nc_policy_names list = {0};
	struct nc_error error = {0};
	char text[1000];
	int length = snprintf(text, sizeof(text), "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[%s]}}", destinations);

	assert_int_equal(nc_profile_parse(text, (size_t)length, NULL, &made.profile, &error), 0);
	assert_int_equal(nc_policy_compile(made.profile, NC_AUTHORITY_WORKLOAD, &made.image, &list, &error), 0);
	assert_int_equal(nc_names_make(&list, before, &made.image, &made.names, &error), 0);
	free(list.texts);
	for (size_t i = 1; i < made.image.count; i++)
		assert_true(memcmp(&made.image.entries[i - 1].key, &made.image.entries[i].key, sizeof(struct nc_policy_key)) < 0);
	return made;
}

static void drop(struct made *made)
{
	nc_names_free(&made->names);
	nc_image_free(&made->image);
	nc_profile_free(made->profile);
}

/* 0: not listed */
static uint32_t id_of(const struct made *made, const char *text)
{
	struct nc_dns_name name;

	assert_int_equal(nc_dns_name_from_text(text, &name), 0);
	for (size_t i = 0; i < made->names.count; i++)
		if (!nc_dns_name_compare(&made->names.wire[i].name, &name))
			return made->names.wire[i].id;
	return 0;
}

static bool image_lists(const struct made *made, uint32_t id, unsigned int port)
{
	for (size_t i = 0; i < made->image.count; i++) {
		const struct nc_policy_key *key = &made->image.entries[i].key;

		if (key->kind == NC_POLICY_NAME && key->address.words_be[3] == id && key->port_be == htons((uint16_t)port))
			return true;
	}
	return false;
}

static bool opens(const struct made *made, uint32_t id, unsigned int port)
{
	const struct nc_grant_port *ports;
	size_t count;

	if (!nc_names_ports(&made->names, id, &ports, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (ports[i].port_be == htons((uint16_t)port))
			return true;
	return false;
}

#define HOST(name, port) "{\"host\":\"" name "\",\"port\":" #port "}"

static void ids_are_kept_and_never_used_again(void **state)
{
	struct made first = make(HOST("b.example", 443) "," HOST("d.example", 80) "," HOST("b.example", 8443), NULL);
	struct made second = make(HOST("a.example", 443) "," HOST("d.example", 81) "," HOST("c.example", 443), &first.names);
	struct made third = make(HOST("b.example", 443) "," HOST("e.example", 443), &second.names);

	(void)state;
	assert_int_equal(id_of(&first, "b.example"), 1);
	assert_int_equal(id_of(&first, "d.example"), 2);
	assert_int_equal(id_of(&second, "d.example"), 2);
	assert_int_equal(id_of(&second, "b.example"), 0);
	assert_true(id_of(&second, "a.example") > 2 && id_of(&second, "c.example") > 2);
	assert_int_not_equal(id_of(&second, "a.example"), id_of(&second, "c.example"));
	assert_int_equal(id_of(&third, "b.example"), 1); /* the same name, come back */
	assert_int_equal(id_of(&third, "e.example"), 5);
	/* the image says the same as the names, and each opens what is listed for it alone */
	assert_true(image_lists(&first, 1, 443) && image_lists(&first, 1, 8443) && image_lists(&first, 2, 80));
	assert_true(opens(&first, 1, 443) && opens(&first, 1, 8443) && opens(&first, 2, 80));
	assert_false(opens(&first, 1, 80) || opens(&first, 2, 443) || opens(&first, 0, 443) || opens(&first, 3, 443));
	assert_true(image_lists(&second, 2, 81) && opens(&second, 2, 81));
	assert_false(image_lists(&second, 2, 80) || opens(&second, 2, 80) || image_lists(&second, 1, 443) || opens(&second, 1, 443));
	assert_true(image_lists(&third, 5, 443) && image_lists(&third, 1, 443) && opens(&third, 5, 443));
	drop(&first);
	drop(&second);
	drop(&third);
}

static void many_ids_leave_the_image_in_the_order_of_its_keys(void **state)
{
	struct made made[40];
	char text[200];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "%s,{\"host\":\"n%d.example\",\"port\":443},{\"host\":\"m%d.example\",\"port\":443}",
			 HOST("zz.example", 443), 40 - i, i);
		made[i] = make(text, i ? &made[i - 1].names : NULL);
		assert_int_equal(id_of(&made[i], "zz.example"), 3);
	}
	assert_int_equal(made[39].names.known_count, 81);
	for (int i = 0; i < 40; i++)
		drop(&made[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_kept_and_never_used_again),
		cmocka_unit_test(many_ids_leave_the_image_in_the_order_of_its_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
