/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_profile.c - what a profile may say, and what it then means
 *
 * The refusals stand in test_profile_refused.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libgen.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "host.h"
#include "json.h"
#include "profile.h"
#include "profile_texts.h"

static struct nc_profile *parse(const char *text)
{
	struct nc_error error = {0};
	struct nc_profile *profile = NULL;

	if (nc_profile_parse(text, strlen(text), NULL, &profile, &error))
		fail_msg("refused at %s: %s\n%s", error.pointer, error.detail, text);
	return profile;
}

static int parse_behind(const char *host, const char *member, const struct nc_settings *settings, struct nc_error *reterr)
{
	struct nc_profile *profile = NULL;
	char text[512];
	int r;

	snprintf(text, sizeof(text), "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[%s{\"host\":\"%s\",\"port\":443%s}]}}",
		 *member ? "]},\"plane\":{\"destinations\":[" : "", host, member);
	r = nc_profile_parse(text, strlen(text), settings, &profile, reterr);
	nc_profile_free(profile);
	return r;
}

/* A literal is judged by what it carries behind the network's own prefix too, as an answer of a name server is. */
static void test_own_nat64(void **state)
{
	static const struct nc_nat64_prefix local = {.prefix.bytes = {0, 0x64, 0xff, 0x9b, 0, 1}, .length = 96};
	static const struct nc_nat64_prefix global = {.prefix.bytes = {0x20, 0x01, 0x06, 0x7c, 0x29, 0x60, 0x64, 0x64}, .length = 96};
	const struct nc_nat64_prefix both[] = {local, global};
	const struct nc_settings settings = nc_prefix_settings(both, 2);
	struct nc_error error = {0};

	(void)state;
	/* the range of local prefixes: closed, until the configuration names one */
	assert_true(parse_behind("64:ff9b:1::5db8:d822", "", NULL, &error) < 0);
	assert_non_null(strstr(error.hint, "nat64"));
	assert_int_equal(parse_behind("64:ff9b:1::5db8:d822", "", &settings, &error), 0);
	assert_true(parse_behind("64:ff9b:1::a14:5", "", &settings, &error) < 0);
	assert_string_equal(error.pointer, "/network/destinations/0/host");
	/* addresses that would be public, and lead to a private one */
	assert_int_equal(parse_behind("2001:67c:2960:6464::a14:5", "", NULL, &error), 0);
	assert_true(parse_behind("2001:67c:2960:6464::a14:5", "", &settings, &error) < 0);
	assert_int_equal(parse_behind("2001:67c:2960:6464::5db8:d822", "", &settings, &error), 0);
	/* the plane may have the private one, and nobody the metadata service */
	assert_int_equal(parse_behind("2001:67c:2960:6464::a14:5", ",\"non_public\":true", &settings, &error), 0);
	assert_true(parse_behind("2001:67c:2960:6464::a9fe:a9fe", ",\"non_public\":true", &settings, &error) < 0);
	assert_non_null(strstr(error.detail, "metadata"));
}

/* The document of the design, every member in use. */
static void test_whole(void **state)
{
	static const char text[] =
		"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":["
		"{\"host\":\"api.example.com\",\"port\":443,\"wire\":\"tls\"},"
		"{\"host\":\"2001:4860::8\",\"port\":8443,\"protocol\":\"udp\"}],"
		"\"required_egress_certification\":\"security_boundary\"},"
		"\"loopback\":\"own_netns\","
		"\"process\":{\"user\":\"sandbox\",\"group\":1000,\"cwd\":\"/work\",\"env\":{\"LANG\":\"C.UTF-8\",\"EMPTY\":\"\"},\"umask\":\"077\","
		"\"limits\":{\"pids\":512,\"memory\":\"2G\",\"cpu_percent\":150,\"open_files\":256,\"core\":0,\"file_size\":\"10M\"},\"pty\":true},"
		"\"plane\":{\"destinations\":[{\"host\":\"10.20.0.5\",\"port\":443,\"non_public\":true}],"
		"\"credentials\":[\"CHECKFU_RUN_TOKEN\"]},\"accept_gaps\":[\"unix_sockets\"]}";
	struct nc_profile *profile = parse(text);
	char address[INET6_ADDRSTRLEN];

	(void)state;
	assert_int_equal(profile->mode, NC_MODE_ALLOWLIST);
	assert_int_equal(profile->required, NC_GRADE_SECURITY_BOUNDARY);
	assert_true(profile->required_given);
	assert_int_equal(profile->destination_count, 2);
	assert_false(profile->destinations[0].literal);
	assert_string_equal(profile->destinations[0].name, "api.example.com");
	assert_int_equal(profile->destinations[0].port, 443);
	assert_int_equal(profile->destinations[0].protocol, IPPROTO_TCP);
	assert_int_equal(profile->destinations[0].wire, NC_WIRE_TLS);
	assert_true(profile->destinations[1].literal);
	assert_string_equal(inet_ntop(AF_INET6, &profile->destinations[1].address, address, sizeof(address)), "2001:4860::8");
	assert_int_equal(profile->destinations[1].protocol, IPPROTO_UDP);
	assert_int_equal(profile->destinations[1].wire, NC_WIRE_ANY);
	assert_true(profile->loopback_own_netns);
	assert_true(profile->unix_gap_accepted);
	assert_string_equal(profile->process.user, "sandbox");
	assert_string_equal(profile->process.group, "1000");
	assert_string_equal(profile->process.cwd, "/work");
	assert_string_equal(profile->process.env[0], "LANG=C.UTF-8");
	assert_string_equal(profile->process.env[1], "EMPTY=");
	assert_null(profile->process.env[2]);
	assert_int_equal(profile->process.umask, 077);
	assert_int_equal(profile->process.pids, 512);
	assert_int_equal(profile->process.memory_bytes, INT64_C(2) << 30);
	assert_int_equal(profile->process.cpu_percent, 150);
	assert_int_equal(profile->process.open_files, 256);
	assert_int_equal(profile->process.core_bytes, 0);
	assert_int_equal(profile->process.file_bytes, 10 << 20);
	assert_true(profile->process.pty);
	assert_int_equal(profile->plane_destination_count, 1);
	assert_true(profile->plane_destinations[0].non_public);
	assert_string_equal(inet_ntop(AF_INET, profile->plane_destinations[0].address.bytes + 12, address, sizeof(address)), "10.20.0.5");
	assert_string_equal(profile->plane_credentials[0], "CHECKFU_RUN_TOKEN");
	assert_null(profile->plane_credentials[1]);
	nc_profile_free(profile);
}

static void test_defaults(void **state)
{
	struct nc_profile *profile = parse("{\"version\":1,\"network\":{\"mode\":\"none\"}}");

	(void)state;
	assert_int_equal(profile->mode, NC_MODE_NONE);
	assert_false(profile->required_given);
	assert_false(profile->loopback_own_netns);
	assert_false(profile->unix_gap_accepted);
	assert_false(profile->non_public);
	assert_int_equal(profile->destination_count + profile->plane_destination_count, 0);
	assert_string_equal(profile->process.user, "");
	assert_string_equal(profile->process.group, "");
	assert_string_equal(profile->process.cwd, "");
	assert_non_null(profile->process.env);
	assert_null(profile->process.env[0]);
	assert_int_equal(profile->process.umask, -1);
	assert_int_equal(profile->process.pids, -1);
	assert_int_equal(profile->process.memory_bytes, -1);
	assert_int_equal(profile->process.cpu_percent, -1);
	assert_int_equal(profile->process.open_files, -1);
	assert_int_equal(profile->process.core_bytes, -1);
	assert_int_equal(profile->process.file_bytes, -1);
	assert_false(profile->process.pty);
	assert_non_null(profile->plane_credentials);
	assert_null(profile->plane_credentials[0]);
	nc_profile_free(profile);

	profile = parse(LIST(""));
	assert_int_equal(profile->mode, NC_MODE_ALLOWLIST);
	assert_int_equal(profile->required, NC_GRADE_ADVISORY_FILTER);
	assert_false(profile->required_given);
	nc_profile_free(profile);

	profile = parse("{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"non_public\":true}}");
	assert_int_equal(profile->mode, NC_MODE_UNRESTRICTED);
	assert_true(profile->non_public);
	nc_profile_free(profile);
}

/* The port decides the rule of the wire for names, and only for them. */
static void test_wire_defaults(void **state)
{
	static const struct {
		const char *entry;
		int wire;
	} rows[] = {
		{"{\"host\":\"a.example\",\"port\":443}", NC_WIRE_TLS},
		{"{\"host\":\"a.example\",\"port\":80}", NC_WIRE_HTTP},
		{"{\"host\":\"a.example\",\"port\":8443}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":8443,\"wire\":\"tls\"}", NC_WIRE_TLS},
		{"{\"host\":\"a.example\",\"port\":443,\"wire\":\"any\"}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":443,\"wire\":\"http\"}", NC_WIRE_HTTP},
		{"{\"host\":\"a.example\",\"port\":443,\"protocol\":\"udp\",\"wire\":\"any\"}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":443,\"protocol\":\"udp\"}", NC_WIRE_TLS},
		{"{\"host\":\"a.example\",\"port\":80,\"protocol\":\"udp\"}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":123,\"protocol\":\"udp\"}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":443}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":443,\"wire\":\"any\"}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":443,\"protocol\":\"udp\"}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":53}", NC_WIRE_ANY},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_profile *profile;

		snprintf(text, sizeof(text), LIST("%s"), rows[i].entry);
		profile = parse(text);
		if (profile->destinations[0].wire != rows[i].wire)
			fail_msg("%s: wire %d, expected %d", rows[i].entry, profile->destinations[0].wire, rows[i].wire);
		nc_profile_free(profile);
	}
}

/* P07: whatever spelling of a name is accepted comes out as the same bytes. */
static void test_host_canonical(void **state)
{
	static const struct {
		const char *host, *name;
	} rows[] = {
		{"API.Example.", "api.example"},
		{"api.example", "api.example"},
		{"API.EXAMPLE", "api.example"},
		{"XN--BCHER-KVA.Example", "xn--bcher-kva.example"},
		{"1.api.example", "1.api.example"},
		{"0x7f.1.example", "0x7f.1.example"},
		{"3com", "3com"},
		{"0xzz", "0xzz"},
		{"r3---sn-x.example", "r3---sn-x.example"},
		{"a", "a"},
		{"notlocalhost", "notlocalhost"},
		{LABEL63 ".example", LABEL63 ".example"},
		{NAME253, NAME253},
		{NAME253 ".", NAME253},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_profile *profile;

		snprintf(text, sizeof(text), HOST("%s"), rows[i].host);
		profile = parse(text);
		assert_false(profile->destinations[0].literal);
		assert_string_equal(profile->destinations[0].name, rows[i].name);
		nc_profile_free(profile);
	}
}

/* C07, C12: what is public stays usable, in one spelling. */
static void test_literals(void **state)
{
	static const char *const rows[] = {"8.8.8.8", "192.0.0.9", "192.0.0.10", "192.0.1.1",	     "100.128.0.0",
					   "2600::1", "20ff::1",   "2003::1",	 "64:ff9b::808:808", "2001:4860:4860::8888"};
	char text[256], back[INET6_ADDRSTRLEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_profile *profile;
		const struct nc_destination *destination;

		snprintf(text, sizeof(text), HOST("%s"), rows[i]);
		profile = parse(text);
		destination = &profile->destinations[0];
		assert_true(destination->literal);
		if (strchr(rows[i], ':'))
			inet_ntop(AF_INET6, destination->address.bytes, back, sizeof(back));
		else
			inet_ntop(AF_INET, destination->address.bytes + 12, back, sizeof(back));
		assert_string_equal(back, rows[i]);
		if (!strchr(rows[i], ':'))
			assert_memory_equal(destination->address.bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		nc_profile_free(profile);
	}
}

/* Ports and protocols are part of what is the same; the plane's list is another list. */
static void test_not_duplicates(void **state)
{
	struct nc_profile *profile =
		parse("{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":["
		      "{\"host\":\"8.8.8.8\",\"port\":53},{\"host\":\"8.8.8.8\",\"port\":53,\"protocol\":\"udp\"},"
		      "{\"host\":\"8.8.8.8\",\"port\":54},{\"host\":\"8.8.4.4\",\"port\":53},{\"host\":\"a.example\",\"port\":54}]},"
		      "\"plane\":{\"destinations\":[{\"host\":\"8.8.8.8\",\"port\":53}]}}");

	(void)state;
	assert_int_equal(profile->destination_count, 5);
	assert_int_equal(profile->plane_destination_count, 1);
	nc_profile_free(profile);
}

/* The order of members and white space leave no trace in the digest, an omitted member does, against the same value given. */
static void test_digest(void **state)
{
	struct nc_profile *a = parse("{\"version\":1,\"network\":{\"mode\":\"none\"}}");
	struct nc_profile *b = parse(" { \"network\" : { \"mode\" : \"\\u006eone\" } ,\n \"version\" : 1 } ");
	struct nc_profile *c = parse("{\"version\":1,\"network\":{\"mode\":\"none\"},\"loopback\":\"closed\"}");
	char hex[NC_DIGEST_HEX];

	(void)state;
	assert_memory_equal(&a->digest, &b->digest, sizeof(a->digest));
	assert_memory_not_equal(&a->digest, &c->digest, sizeof(a->digest));
	nc_digest_hex(&a->digest, hex);
	/* printf '{"network":{"mode":"none"},"version":1}' | sha256sum */
	assert_string_equal(hex, "1588499afaa8e3f32327e0fe8122ce6a2543859b2e440f8261025d32782cd202");
	nc_profile_free(a);
	nc_profile_free(b);
	nc_profile_free(c);
}

static void test_read(void **state)
{
	char path[] = "/tmp/nc-test-profile-XXXXXX", *text = NULL;
	struct nc_error error = {0};
	size_t length = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"a\\u0000", 9), 9);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), 0);
	assert_int_equal(length, 9);
	assert_string_equal(text, "{\"a\\u0000");
	free(text);
	text = NULL;
	/* sparse: one byte more than is allowed */
	assert_int_equal(ftruncate(fd, NC_JSON_SIZE_MAX), 0);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), 0);
	assert_int_equal(length, NC_JSON_SIZE_MAX);
	free(text);
	text = NULL;
	assert_int_equal(ftruncate(fd, NC_JSON_SIZE_MAX + 1), 0);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), -EFBIG);
	assert_int_equal(error.code, NC_E_PROFILE_UNREADABLE);
	assert_null(text);
	close(fd);
	unlink(path);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), -ENOENT);
	assert_int_equal(error.code, NC_E_PROFILE_UNREADABLE);
	assert_int_equal(nc_profile_read("/", &text, &length, &error), -EISDIR);
}

/* Every prefix of a good document is refused, and so is every document with one byte exchanged for one that JSON does not know. */
static void test_truncated(void **state)
{
	static const char text[] = HOST("api.example");
	struct nc_error error = {0};
	struct nc_profile *profile = NULL;

	(void)state;
	for (size_t length = 0; length < sizeof(text) - 1; length++)
		assert_true(nc_profile_parse(text, length, NULL, &profile, &error) < 0);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char bad[sizeof(text)];

		memcpy(bad, text, sizeof(text));
		bad[i] = '\x01';
		assert_true(nc_profile_parse(bad, sizeof(bad) - 1, NULL, &profile, &error) < 0);
	}
	assert_null(profile);
}

static void test_many(void **state)
{
	size_t count = 100000, size = count * 64, used;
	char *text = malloc(size);
	struct nc_profile *profile;
	struct timespec before, after;

	(void)state;
	assert_non_null(text);
	used = (size_t)sprintf(text, "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[");
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%s{\"host\":\"11.%zu.%zu.%zu\",\"port\":443}", i ? "," : "", i >> 16, i >> 8 & 255, i & 255);
	sprintf(text + used, "]}}");
	clock_gettime(CLOCK_MONOTONIC, &before);
	profile = parse(text);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(profile->destination_count, count);
	assert_string_equal(profile->destinations[0].name, "");
	/* generous: sanitizers and a busy machine must pass, a quadratic search must not */
	assert_true(after.tv_sec - before.tv_sec < 20);
	nc_profile_free(profile);
	free(text);
}

/* The manual's own profiles: each block marked json is accepted, each marked "json refused" is not. */
static void test_manual(void **state)
{
	char file[] = __FILE__, path[512], line[512], document[8192];
	size_t used = 0, accepted = 0, refused = 0;
	int kind = 0; /* 1: to be accepted, 2: to be refused */
	FILE *manual;

	(void)state;
	snprintf(path, sizeof(path), "%s/../../docs/profile.md", dirname(file));
	manual = fopen(path, "r");
	if (!manual)
		fail_msg("%s is missing", path);
	while (fgets(line, sizeof(line), manual)) {
		struct nc_profile *profile = NULL;
		struct nc_error error = {0};

		if (strncmp(line, "```", 3)) {
			if (kind)
				used += (size_t)snprintf(document + used, sizeof(document) - used, "%s", line);
			assert_true(used < sizeof(document));
			continue;
		}
		if (kind == 1) {
			nc_profile_free(parse(document));
			accepted++;
		} else if (kind == 2) {
			if (!nc_profile_parse(document, used, NULL, &profile, &error))
				fail_msg("accepted: %s", document);
			refused++;
		}
		kind = kind ? 0 : !strcmp(line, "```json\n") ? 1 : !strcmp(line, "```json refused\n") ? 2 : 0;
		used = 0;
	}
	fclose(manual);
	assert_true(accepted >= 3 && refused >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	       cmocka_unit_test(test_own_nat64),      cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_wire_defaults),  cmocka_unit_test(test_host_canonical), cmocka_unit_test(test_literals),
		cmocka_unit_test(test_not_duplicates), cmocka_unit_test(test_digest),	      cmocka_unit_test(test_read),
		cmocka_unit_test(test_truncated),      cmocka_unit_test(test_many),	      cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
