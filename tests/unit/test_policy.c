/* SPDX-License-Identifier: GPL-2.0-only */
/* test_policy.c - a profile into an image: the kernel's bytes, their order, their digest */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "policy.h"

static struct nc_profile *parse(const char *text)
{
	struct nc_error error = {0};
	struct nc_profile *profile = NULL;

	if (nc_profile_parse(text, strlen(text), NULL, &profile, &error))
		fail_msg("refused at %s: %s", error.pointer, error.detail);
	return profile;
}

static struct nc_image compile(const char *text, enum nc_authority authority)
{
	struct nc_profile *profile = parse(text);
	struct nc_error error = {0};
	struct nc_image image = {0};
	struct nc_policy_names names = {0};

	if (nc_policy_compile(profile, authority, &image, &names, &error))
		fail_msg("not compiled: %s", error.detail);
	assert_int_equal(names.count, 0);
	free(names.texts);
	nc_profile_free(profile);
	return image;
}

#define BOTH                                                                                                                                         \
	"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"8.8.8.8\",\"port\":443},"                                  \
	"{\"host\":\"2600::1\",\"port\":8443,\"protocol\":\"udp\"},{\"host\":\"8.8.8.8\",\"port\":80},{\"host\":\"8.8.4.4\",\"port\":443}]},"        \
	"\"loopback\":\"own_netns\",\"plane\":{\"destinations\":[{\"host\":\"10.20.0.5\",\"port\":443,\"non_public\":true},"                         \
	"{\"host\":\"8.8.8.8\",\"port\":443}]}}"

/* Modes and flags: [] is none, and the plane has a mode of its own. */
static void test_modes(void **state)
{
	static const struct {
		const char *text;
		uint8_t workload, flags, plane;
	} rows[] = {
		{"{\"version\":1,\"network\":{\"mode\":\"none\"}}", NC_MODE_NONE, 0, NC_MODE_NONE},
		{"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[]}}", NC_MODE_NONE, 0, NC_MODE_NONE},
		{"{\"version\":1,\"network\":{\"mode\":\"unrestricted\"}}", NC_MODE_UNRESTRICTED, 0, NC_MODE_NONE},
		{"{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"non_public\":false}}", NC_MODE_UNRESTRICTED, 0, NC_MODE_NONE},
		{"{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"non_public\":true}}", NC_MODE_UNRESTRICTED, NC_SLOT_NON_PUBLIC_OPEN,
		 NC_MODE_NONE},
		{"{\"version\":1,\"network\":{\"mode\":\"unrestricted\"},\"loopback\":\"own_netns\"}", NC_MODE_UNRESTRICTED, NC_SLOT_LOOPBACK_OPEN,
		 NC_MODE_NONE},
		{"{\"version\":1,\"network\":{\"mode\":\"unrestricted\"},\"loopback\":\"closed\"}", NC_MODE_UNRESTRICTED, 0, NC_MODE_NONE},
		{BOTH, NC_MODE_ALLOWLIST, NC_SLOT_LOOPBACK_OPEN, NC_MODE_ALLOWLIST},
		{"{\"version\":1,\"network\":{\"mode\":\"none\"},\"plane\":{\"destinations\":[{\"host\":\"8.8.8.8\",\"port\":1}]}}", NC_MODE_NONE, 0,
		 NC_MODE_ALLOWLIST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_image workload = compile(rows[i].text, NC_AUTHORITY_WORKLOAD), plane = compile(rows[i].text, NC_AUTHORITY_PLANE);

		assert_int_equal(workload.authority, NC_AUTHORITY_WORKLOAD);
		assert_int_equal(workload.mode, rows[i].workload);
		assert_int_equal(workload.flags, rows[i].flags);
		assert_int_equal(plane.authority, NC_AUTHORITY_PLANE);
		assert_int_equal(plane.mode, rows[i].plane);
		assert_int_equal(plane.flags, 0); /* what the profile opens, it opens to the workload */
		nc_image_free(&workload);
		nc_image_free(&plane);
	}
}

/* Every byte of an entry is accounted for. */
static void test_entries(void **state)
{
	struct nc_image workload = compile(BOTH, NC_AUTHORITY_WORKLOAD), plane = compile(BOTH, NC_AUTHORITY_PLANE);
	struct nc_policy_entry expected;

	(void)state;
	assert_int_equal(workload.count, 4);
	for (size_t i = 1; i < workload.count; i++)
		assert_true(memcmp(&workload.entries[i - 1].key, &workload.entries[i].key, sizeof(expected.key)) < 0);
	/* ::ffff:8.8.4.4 sorts before ::ffff:8.8.8.8, and port 80 (0x0050) before 443 (0x01bb) in network order */
	memset(&expected, 0, sizeof(expected));
	expected.key.address.bytes[10] = expected.key.address.bytes[11] = 0xff;
	inet_pton(AF_INET, "8.8.4.4", expected.key.address.bytes + 12);
	expected.key.port_be = htons(443);
	expected.key.protocol = IPPROTO_TCP;
	expected.key.kind = NC_POLICY_LITERAL;
	assert_memory_equal(&workload.entries[0], &expected, sizeof(expected));
	inet_pton(AF_INET, "8.8.8.8", expected.key.address.bytes + 12);
	expected.key.port_be = htons(80);
	assert_memory_equal(&workload.entries[1], &expected, sizeof(expected));
	expected.key.port_be = htons(443);
	assert_memory_equal(&workload.entries[2], &expected, sizeof(expected));
	memset(&expected, 0, sizeof(expected));
	inet_pton(AF_INET6, "2600::1", expected.key.address.bytes);
	expected.key.port_be = htons(8443);
	expected.key.protocol = IPPROTO_UDP;
	expected.key.kind = NC_POLICY_LITERAL;
	assert_memory_equal(&workload.entries[3], &expected, sizeof(expected));
	assert_int_equal(plane.count, 2);
	assert_int_equal(plane.entries[0].value.flags, 0);
	assert_int_equal(plane.entries[1].value.flags, NC_POLICY_NON_PUBLIC);
	nc_image_free(&workload);
	nc_image_free(&plane);
	assert_null(workload.entries);
}

static void test_order_leaves_no_trace(void **state)
{
	static const char *const spellings[] = {
		"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"8.8.8.8\",\"port\":1},{\"host\":\"2600::1\","
		"\"port\":2}]}}",
		"{\"network\":{\"destinations\":[{\"port\":2,\"protocol\":\"tcp\",\"host\":\"2600::1\",\"wire\":\"any\"},{\"port\":1,\"host\":\"8.8."
		"8.8\"}],"
		"\"mode\":\"allowlist\"},\"version\":1}",
	};
	struct nc_image a = compile(spellings[0], NC_AUTHORITY_WORKLOAD), b = compile(spellings[1], NC_AUTHORITY_WORKLOAD);
	struct nc_digest one, two;

	(void)state;
	assert_int_equal(a.count, b.count);
	assert_memory_equal(a.entries, b.entries, a.count * sizeof(*a.entries));
	nc_image_digest(&a, &one);
	nc_image_digest(&b, &two);
	assert_memory_equal(&one, &two, sizeof(one));
	nc_image_free(&a);
	nc_image_free(&b);
}

/* Each byte of what is digested counts; the digest is SHA-256 over the bytes that the header names. */
static void test_digest(void **state)
{
	struct nc_image image = compile(BOTH, NC_AUTHORITY_WORKLOAD);
	unsigned char bytes[3 + 8 + 4 * sizeof(struct nc_policy_entry)] = {NC_AUTHORITY_WORKLOAD, NC_MODE_ALLOWLIST, NC_SLOT_LOOPBACK_OPEN, 4};
	struct nc_digest digest, expected, other;
	char hex[NC_DIGEST_HEX];

	(void)state;
	memcpy(bytes + 11, image.entries, 4 * sizeof(struct nc_policy_entry));
	nc_image_digest(&image, &digest);
	nc_digest_of(bytes, sizeof(bytes), &expected);
	assert_memory_equal(&digest, &expected, sizeof(digest));
	/* the same by Python: hashlib.sha256 of struct.pack("=QQ16s", 0, 0, address) + ">H" port + "=BBI" protocol, 1, 0 + "=II" flags, 0, each */
	nc_digest_hex(&digest, hex);
	assert_string_equal(hex, "aae15c2df71e18dcf67add10883e9825c67f27e77d752e6cc059127b8d63ddf5");
	for (size_t i = 0; i < 4 * sizeof(struct nc_policy_entry); i++) {
		((unsigned char *)image.entries)[i] ^= 1;
		nc_image_digest(&image, &other);
		assert_memory_not_equal(&digest, &other, sizeof(digest));
		((unsigned char *)image.entries)[i] ^= 1;
	}
	image.mode ^= 1;
	nc_image_digest(&image, &other);
	assert_memory_not_equal(&digest, &other, sizeof(digest));
	nc_image_free(&image);
}

/* Each authority has its own names, numbered for itself. */
static void test_names_of_each_authority(void **state)
{
	struct nc_profile *profile =
		parse("{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"8.8.8.8\",\"port\":1},"
		      "{\"host\":\"API.example\",\"port\":443}]},\"plane\":{\"destinations\":[{\"host\":\"control.example\",\"port\":443},"
		      "{\"host\":\"api.example\",\"port\":80}]}}");
	struct nc_error error = {0};
	struct nc_image image = {0};
	struct nc_policy_names names = {0};

	(void)state;
	assert_int_equal(nc_policy_compile(profile, NC_AUTHORITY_WORKLOAD, &image, &names, &error), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.texts[0], "api.example");
	free(names.texts);
	nc_image_free(&image);
	assert_int_equal(nc_policy_compile(profile, NC_AUTHORITY_PLANE, &image, &names, &error), 0);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.texts[1], "control.example");
	assert_int_equal(image.count, 2);
	assert_int_equal(image.mode, NC_MODE_ALLOWLIST);
	free(names.texts);
	nc_image_free(&image);
	nc_profile_free(profile);
}

/* With names: one id for each name, whatever ports it has; flags say what is compared on the wire. */
static void test_named(void **state)
{
	struct nc_profile *profile =
		parse("{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"b.example\",\"port\":443},"
		      "{\"host\":\"a.example\",\"port\":80},{\"host\":\"b.example\",\"port\":8443},{\"host\":\"8.8.8.8\",\"port\":443}]}}");
	struct nc_error error = {0};
	struct nc_image image = {0};
	struct nc_policy_names names = {0};
	size_t a = 0, b = 0;

	(void)state;
	assert_int_equal(nc_policy_compile(profile, NC_AUTHORITY_WORKLOAD, &image, &names, &error), 0);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.texts[0], "a.example");
	assert_string_equal(names.texts[1], "b.example");
	assert_int_equal(image.count, 4);
	for (size_t i = 0; i < image.count; i++) {
		const struct nc_policy_entry *entry = &image.entries[i];

		if (entry->key.kind == NC_POLICY_LITERAL)
			continue;
		assert_int_equal(entry->key.address.halves[0], 0);
		assert_int_equal(entry->key.address.words_be[2], 0);
		if (entry->key.address.words_be[3] == 1) {
			a++;
			assert_int_equal(entry->value.flags, NC_POLICY_WIRE_HTTP);
		} else {
			b++;
			assert_int_equal(entry->key.address.words_be[3], 2);
			assert_int_equal(entry->value.flags, entry->key.port_be == htons(443) ? NC_POLICY_WIRE_TLS : 0);
		}
	}
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	free(names.texts);
	nc_image_free(&image);
	nc_profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_order_leaves_no_trace),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_names_of_each_authority),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
