/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_address.c - the address classes against the registries, read from tables that the tests own
 *
 * tests/data/iana-ipv4.csv and iana-ipv6.csv were written from the registries and not from bpf/address.h. The oracle is a longest-prefix match over them
 * on bytes; what no row names is public in IPv4 and not in IPv6 (2000::/3 is a row). A second oracle is Python's ipaddress module.
 */
#include <arpa/inet.h>
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "address.h"
#include "host.h"

/* ---- the tests' own table -------------------------------------------------------------------------------------------------------------------------- */

struct row {
	int family; /* 4 or 6 */
	unsigned char prefix[16];
	unsigned int length; /* of the prefix, in its family */
	int reachable;	     /* 1, 0, -1: judged by what it carries */
	char class[32];
};

static struct row rows[128];
static size_t row_count;

static void path_of(const char *below, char *path, size_t size)
{
	char file[] = __FILE__;

	snprintf(path, size, "%s/%s", dirname(file), below);
}

static void load(const char *name, int family)
{
	char path[512], line[256];
	FILE *file;

	path_of(name, path, sizeof(path));
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s is missing", path);
	while (fgets(line, sizeof(line), file)) {
		struct row *row = &rows[row_count];
		char block[64], reachable[16];

		if (line[0] == '#')
			continue;
		if (sscanf(line, "%63[^/]/%u,%*[^,],%*[^,],%15[^,],%31[^,\n]", block, &row->length, reachable, row->class) != 4)
			fail_msg("%s: %s", path, line);
		row->family = family;
		assert_int_equal(inet_pton(family == 4 ? AF_INET : AF_INET6, block, row->prefix), 1);
		row->reachable = !strcmp(reachable, "True") ? 1 : !strcmp(reachable, "carried") ? -1 : 0;
		row_count++;
	}
	fclose(file);
}

static int setup(void **state)
{
	(void)state;
	load("../data/iana-ipv4.csv", 4);
	load("../data/iana-ipv6.csv", 6);
	return 0;
}

static int inside(const struct row *row, const unsigned char *bytes)
{
	for (unsigned int bit = 0; bit < row->length; bit++)
		if ((bytes[bit / 8] ^ row->prefix[bit / 8]) & (0x80 >> bit % 8))
			return 0;
	return 1;
}

static const struct row *longest(int family, const unsigned char *bytes)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < row_count; i++)
		if (rows[i].family == family && inside(&rows[i], bytes) && (!best || rows[i].length > best->length))
			best = &rows[i];
	return best;
}

struct expected {
	int public;
	const char *class;
};

static struct expected expect4(const unsigned char *bytes)
{
	const struct row *row = longest(4, bytes);

	return row ? (struct expected){row->reachable, row->class} : (struct expected){1, "public"};
}

static struct expected expect6(const unsigned char *bytes)
{
	const struct row *row = longest(6, bytes);
	struct expected carried;

	if (!row)
		return (struct expected){0, "unassigned"};
	if (row->reachable >= 0)
		return (struct expected){row->reachable, row->class};
	carried = expect4(bytes + 12);
	if (bytes[1] == 0x64)
		carried.class = carried.public ? "nat64_public" : "nat64_non_public";
	return carried;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------------------------------------- */

static union nc_address mapped(const unsigned char *bytes)
{
	union nc_address address = {.bytes = {[10] = 0xff, [11] = 0xff}};

	memcpy(address.bytes + 12, bytes, 4);
	return address;
}

static void check(const union nc_address *address, struct expected expected)
{
	struct nc_class class = nc_classify(address, NULL);
	char text[INET6_ADDRSTRLEN];

	if (class.is_public == expected.public && !strcmp(nc_class_word(class.code), expected.class))
		return;
	inet_ntop(AF_INET6, address, text, sizeof(text));
	fail_msg("%s: %s (public %d), expected %s (public %d)", text, nc_class_word(class.code), class.is_public, expected.class, expected.public);
}

static void check_bytes(int family, const unsigned char *bytes)
{
	union nc_address address;

	if (family == 4) {
		address = mapped(bytes);
		check(&address, expect4(bytes));
		return;
	}
	memcpy(&address, bytes, sizeof(address));
	check(&address, expect6(bytes));
}

/* Adds 1 or -1 to a big-endian number; false when it wraps around. */
static int step(unsigned char *bytes, size_t size, int by)
{
	for (size_t i = size; i-- > 0;) {
		bytes[i] = (unsigned char)(bytes[i] + by);
		if (bytes[i] != (by > 0 ? 0x00 : 0xff))
			return 1;
	}
	return 0;
}

/* C14: first-1, first, last, last+1 of every row, IPv4 also as NAT64 carries it. */
static void test_boundaries(void **state)
{
	size_t tried = 0;

	(void)state;
	assert_int_equal(row_count, 27 + 30);
	for (size_t i = 0; i < row_count; i++) {
		size_t size = rows[i].family == 4 ? 4 : 16;

		for (int which = 0; which < 4; which++) {
			unsigned char bytes[16], nat64[16] = {0x00, 0x64, 0xff, 0x9b};

			memcpy(bytes, rows[i].prefix, sizeof(bytes));
			if (which >= 2)
				for (size_t bit = rows[i].length; bit < size * 8; bit++)
					bytes[bit / 8] |= (unsigned char)(0x80 >> bit % 8);
			if ((which == 0 && !step(bytes, size, -1)) || (which == 3 && !step(bytes, size, 1)))
				continue;
			check_bytes(rows[i].family, bytes);
			tried++;
			if (size == 16)
				continue;
			memcpy(nat64 + 12, bytes, 4);
			check_bytes(6, nat64);
		}
	}
	assert_true(tried > 4 * (27 + 30) - 8);
}

static unsigned long long random_state = 0x9e3779b97f4a7c15ull;

static unsigned int random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)(random_state >> 16);
}

/* Random bytes, half of the time inside some row or just beside it. */
static int random_bytes(unsigned char bytes[16])
{
	const struct row *row = &rows[random_word() % row_count];
	int family = random_word() % 3 ? 6 : 4;
	unsigned int kept = 0, kind = random_word() % 4;

	if (kind < 2) {
		family = row->family;
		kept = row->length;
	} else if (family == 6 && kind == 2) {
		kept = 3; /* of a row in 2000::/3, most likely */
		row = &rows[row_count - 3];
	}
	for (size_t i = 0; i < 16; i++)
		bytes[i] = (unsigned char)random_word();
	for (unsigned int bit = 0; bit < kept; bit++) {
		unsigned char mask = (unsigned char)(0x80 >> bit % 8);

		bytes[bit / 8] = (unsigned char)((bytes[bit / 8] & ~mask) | (row->prefix[bit / 8] & mask));
	}
	if (kept && kind == 1) /* the last bit of the prefix, turned: the neighbour */
		bytes[(kept - 1) / 8] ^= (unsigned char)(0x80 >> (kept - 1) % 8);
	return family;
}

static void test_random(void **state)
{
	unsigned char bytes[16];

	(void)state;
	for (size_t i = 0; i < 500000; i++)
		check_bytes(random_bytes(bytes), bytes);
	/* every /16 of IPv4, at a random place */
	for (unsigned int i = 0; i < 65536; i++) {
		unsigned char four[4] = {(unsigned char)(i >> 8), (unsigned char)i, (unsigned char)random_word(), (unsigned char)random_word()};

		check_bytes(4, four);
	}
}

static void test_python(void **state)
{
	char path[512], command[600], text[INET6_ADDRSTRLEN];
	unsigned char bytes[16];
	FILE *python;

	(void)state;
	path_of("address_oracle.py", path, sizeof(path));
	snprintf(command, sizeof(command), "exec python3 '%s'", path);
	python = popen(command, "w");
	assert_non_null(python);
	for (size_t i = 0; i < 20000; i++) {
		int family = random_bytes(bytes);
		union nc_address address;

		memcpy(&address, bytes, sizeof(address));
		if (family == 4)
			address = mapped(bytes);
		inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
		fprintf(python, "%s %d\n", text, nc_classify(&address, NULL).is_public);
	}
	assert_int_equal(pclose(python), 0);
}

/* ---- the rows of faults that were seen in the field -------------------------------------------------------------------------------------------------- */

static union nc_address address_of(const char *text)
{
	union nc_address address;
	unsigned char bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		return mapped(bytes);
	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

static const struct {
	const char *text, *class;
	int public;
} cases[] = {
	/* C01 */
	{"100.63.255.255", "public", 1},
	{"100.64.0.0", "shared", 0},
	{"100.127.255.255", "shared", 0},
	{"100.128.0.0", "public", 1},
	/* C02 */
	{"::ffff:169.254.169.254", "link_local", 0},
	{"::ffff:127.0.0.1", "loopback", 0},
	{"::ffff:10.0.0.5", "private_use", 0},
	{"::ffff:8.8.8.8", "public", 1},
	/* C04 */
	{"0.0.0.0", "this_host", 0},
	{"0.0.0.1", "this_network", 0},
	{"0.255.255.255", "this_network", 0},
	{"1.0.0.0", "public", 1},
	/* C06 */
	{"2002:a9fe:a9fe::1", "6to4", 0},
	{"64:ff9b::a9fe:a9fe", "nat64_non_public", 0},
	{"64:ff9b::7f00:1", "nat64_non_public", 0},
	{"2002:0a00:0001::1", "6to4", 0},
	{"2002:0808:0808::1", "6to4", 0}, /* refused whole, also with a public address in it */
	{"2001:0:a9fe:a9fe::1", "teredo", 0},
	/* C07 */
	{"64:ff9b::808:808", "nat64_public", 1},
	{"64:ff9b::1:808:808", "unassigned", 0}, /* beyond the /96 */
	{"64:ff9b:1::808:808", "nat64_local", 0},
	/* C09 */
	{"::127.0.0.1", "ipv4_compatible", 0},
	{"::169.254.169.254", "ipv4_compatible", 0},
	{"::8.8.8.8", "ipv4_compatible", 0},
	{"::2", "ipv4_compatible", 0},
	{"::ffff:0:127.0.0.1", "ipv4_translated", 0},
	{"::ffff:0:8.8.8.8", "ipv4_translated", 0},
	/* C11 */
	{"2003::1", "public", 1},
	{"20ff::1", "public", 1},
	{"2600::1", "public", 1},
	/* C12 */
	{"192.0.1.1", "public", 1},
	{"192.0.0.1", "protocol_assignment", 0},
	{"192.0.0.9", "public_service", 1},
	{"192.0.0.10", "public_service", 1},
	{"192.0.0.11", "protocol_assignment", 0},
	/* C16 */
	{"::ffff:0:1", "this_network", 0},
	{"::ffff:100.64.0.1", "shared", 0},
	/* C17 */
	{"fec0::1", "site_local", 0},
	{"feff::1", "site_local", 0},
	{"fe80::1", "link_local", 0},
	{"fc00::1", "unique_local", 0},
	/* C22: spellings are gone before a class is asked for */
	{"::ffff:7f00:1", "loopback", 0},
	{"0:0:0:0:0:ffff:7f00:0001", "loopback", 0},
	{"::1", "loopback", 0},
	{"::", "this_host", 0},
	{"ff02::1", "multicast", 0},
	{"255.255.255.255", "broadcast", 0},
	{"223.255.255.255", "public", 1},
	{"4000::1", "unassigned", 0},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		union nc_address address = address_of(cases[i].text);

		check(&address, (struct expected){cases[i].public, cases[i].class});
	}
}

/* ---- RFC 6052 ------------------------------------------------------------------------------------------------------------------------------------------ */

/* Section 2.2: the four octets follow the prefix, and go around octet 8. */
static union nc_address embed(const struct nc_nat64_prefix *row, const unsigned char ip[4])
{
	union nc_address address = row->prefix;
	unsigned int at = row->length / 8;

	for (int i = 0; i < 4; i++, at++) {
		if (at == 8)
			at++;
		address.bytes[at] = ip[i];
	}
	return address;
}

static struct nc_settings with(const char *prefix, unsigned int length)
{
	struct nc_settings settings = {.nat64_count = 1};

	settings.nat64[0].prefix = address_of(prefix);
	settings.nat64[0].length = length;
	return settings;
}

/* The table of section 2.4. */
static void test_rfc6052_examples(void **state)
{
	static const struct {
		const char *prefix;
		unsigned int length;
		const char *address;
	} examples[] = {
		{"2001:db8::", 32, "2001:db8:c000:221::"},
		{"2001:db8:100::", 40, "2001:db8:1c0:2:21::"},
		{"2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"},
		{"2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"},
		{"2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"},
		{"2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct nc_settings settings = with(examples[i].prefix, examples[i].length);
		union nc_address address = address_of(examples[i].address);
		__u32 ip = 0;

		assert_true(nc_nat64_prefix_is_valid(&settings.nat64[0]));
		assert_int_equal(nc_address_carried(&address, &settings, &ip), NC_CARRIED_IPV4);
		assert_int_equal(ip, 0xc0000221);
		assert_int_equal(nc_address_class_of(&address, &settings), NC_CLASS_NAT64_NON_PUBLIC);
		assert_int_equal(nc_address_carried(&address, NULL, &ip), NC_CARRIED_NONE);
	}
}

/* Every length, random addresses and prefixes, each of the four places: what was embedded comes out, and one bit off in the prefix takes nothing out. */
static void test_rfc6052_random(void **state)
{
	static const unsigned int lengths[] = {32, 40, 48, 56, 64, 96};

	(void)state;
	for (size_t n = 0; n < 60000; n++) {
		struct nc_settings settings = {.nat64_count = NC_NAT64_MAX};
		unsigned int place = random_word() % NC_NAT64_MAX, length = lengths[n % 6], bit;
		struct nc_nat64_prefix *row = &settings.nat64[place];
		unsigned char ip[4];
		union nc_address address;
		__u32 carried = 0;
		struct expected expected;

		for (unsigned int i = 0; i < NC_NAT64_MAX; i++) /* others that match nothing here: 3ffe:N::/96 */
			settings.nat64[i] = (struct nc_nat64_prefix){.prefix = {.bytes = {0x3f, 0xfe, 0, (unsigned char)i}}, .length = 96};
		for (unsigned int i = 0; i < length / 8; i++)
			row->prefix.bytes[i] = (unsigned char)(i == 0 ? 0x26 : i == 8 ? 0 : random_word());
		for (unsigned int i = length / 8; i < 16; i++)
			row->prefix.bytes[i] = 0;
		row->length = length;
		for (int i = 0; i < 4; i++)
			ip[i] = (unsigned char)random_word();
		address = embed(row, ip);
		assert_true(nc_nat64_prefix_is_valid(row));
		assert_int_equal(nc_address_carried(&address, &settings, &carried), NC_CARRIED_IPV4);
		assert_int_equal(carried, (__u32)ip[0] << 24 | ip[1] << 16 | ip[2] << 8 | ip[3]);
		expected = expect4(ip);
		assert_int_equal(nc_address_class_of(&address, &settings), expected.public ? NC_CLASS_NAT64_PUBLIC : NC_CLASS_NAT64_NON_PUBLIC);
		if (length != 96) {
			address.bytes[8] = (unsigned char)(1 + random_word() % 255);
			assert_int_equal(nc_address_class_of(&address, &settings), NC_CLASS_NAT64_MALFORMED);
			address.bytes[8] = 0;
		}
		bit = random_word() % length;
		address.bytes[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
		assert_int_equal(nc_address_carried(&address, &settings, &carried), NC_CARRIED_NONE);
	}
}

/* A prefix of the operator wins over the range that it lies in; IPv4 itself is never behind a prefix; rows beyond the count are not looked at. */
static void test_rfc6052_precedence(void **state)
{
	struct nc_settings settings = with("64:ff9b:1::", 96);
	union nc_address public = address_of("64:ff9b:1::808:808"), private = address_of("64:ff9b:1::a00:5"),
			 other = address_of("64:ff9b:1:1::808:808");
	union nc_address plain = address_of("10.0.0.5");

	(void)state;
	assert_int_equal(nc_address_class_of(&public, &settings), NC_CLASS_NAT64_PUBLIC);
	assert_int_equal(nc_address_class_of(&private, &settings), NC_CLASS_NAT64_NON_PUBLIC);
	assert_int_equal(nc_address_class_of(&other, &settings), NC_CLASS_NAT64_LOCAL);
	settings.nat64_count = 0;
	assert_int_equal(nc_address_class_of(&public, &settings), NC_CLASS_NAT64_LOCAL);
	settings = with("fd00:64::", 96);
	public = address_of("fd00:64::808:808");
	assert_int_equal(nc_address_class_of(&public, &settings), NC_CLASS_NAT64_PUBLIC);
	settings = with("::ffff:0:0", 96);
	assert_int_equal(nc_address_class_of(&plain, &settings), NC_CLASS_PRIVATE_USE);
	settings = with("2600:64::", 96);
	settings.nat64_count = 1000; /* more than there are: bounded */
	assert_int_equal(nc_address_class_of(&plain, &settings), NC_CLASS_PRIVATE_USE);
}

static void test_rfc6052_validity(void **state)
{
	static const struct {
		const char *prefix;
		unsigned int length;
		int valid;
	} prefixes[] = {
		{"2600:64::", 96, 1},  {"2600:64::", 64, 1},  {"2600:64::", 32, 1},	    {"2600:64::", 33, 0},	{"2600:64::", 0, 0},
		{"2600:64::", 128, 0}, {"2600:64::", 16, 0},  {"2600:64::1", 96, 0},	    {"2600:64:1::", 32, 0},	{"2600:64:1::", 48, 1},
		{"::", 96, 0},	       {"::ffff:0:0", 96, 0}, {"2600:64:0:0:100::", 96, 0}, {"2600:64:0:0:1::", 96, 1}, {"64:ff9b:1::", 48, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		struct nc_nat64_prefix row = {.prefix = address_of(prefixes[i].prefix), .length = prefixes[i].length};

		if (nc_nat64_prefix_is_valid(&row) != prefixes[i].valid)
			fail_msg("%s/%u", prefixes[i].prefix, prefixes[i].length);
	}
}

/* Every class has a word of its own, a meaning and a source, and its word is one that JSON and counters can carry. */
static void test_words(void **state)
{
	static const unsigned int codes[] = {
#define CODE(symbol, value, ...) value,
		NC_ADDRESS_CLASSES(CODE)
#undef CODE
	};
	size_t count = sizeof(codes) / sizeof(*codes);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_in_range(codes[i], 1, 255); /* a byte in the event */
		assert_int_equal(strspn(nc_class_word(codes[i]), "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(nc_class_word(codes[i])));
		assert_true(strlen(nc_class_meaning(codes[i])) > 5);
		assert_true(strlen(nc_class_source(codes[i])) > 5);
		for (size_t other = 0; other < i; other++) {
			assert_int_not_equal(codes[i], codes[other]);
			assert_string_not_equal(nc_class_word(codes[i]), nc_class_word(codes[other]));
		}
	}
	assert_string_equal(nc_class_word(0), "unknown");
	assert_string_equal(nc_class_word(255), "unknown");
}

/* Every metadata service is found, as itself, and nothing beside it. */
static void test_metadata(void **state)
{
	static const char *const services[] = {"169.254.169.254", "169.254.170.2",   "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23",
					       "fd20:ce::254",	  "100.100.100.200", "192.0.0.192",    "168.63.129.16"};

	(void)state;
	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
		union nc_address address = address_of(services[i]);

		assert_true(nc_address_is_metadata(&address));
		for (unsigned int bit = 0; bit < 128; bit++) {
			address.bytes[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
			assert_false(nc_address_is_metadata(&address));
			address.bytes[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_rfc6052_examples),
		cmocka_unit_test(test_rfc6052_random),
		cmocka_unit_test(test_rfc6052_precedence),
		cmocka_unit_test(test_rfc6052_validity),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_metadata),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
