/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_explain.c - questions about one profile, and what is said: verdict, reason, class, which entry, what comes nearest, on what it depends
 *
 * That the verdict is the kernel's own is by construction (one header); these rows pin how the question reaches it and what people are told.
 */
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
#include "explain.h"
#include "json.h"

static const char profile_text[] =
	"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"API.example.\",\"port\":443},{\"host\":\"8.8.8.8\","
	"\"port\":443},"
	"{\"host\":\"quic.example\",\"port\":443,\"protocol\":\"udp\"},{\"host\":\"64:ff9b::808:808\",\"port\":443},{\"host\":\"8.8.8.8\",\"port\":"
	"53},"
	"{\"host\":\"open.example\",\"port\":443,\"protocol\":\"udp\",\"wire\":\"any\"},{\"host\":\"plain.example\",\"port\":9000},"
	"{\"host\":\"2600:1::5\",\"port\":443},{\"host\":\"93.184.216.1\",\"port\":443}]},\"loopback\":\"own_netns\","
	"\"plane\":{\"destinations\":[{\"host\":\"10.20.0.5\",\"port\":443,\"non_public\":true},{\"host\":\"9.9.9.9\",\"port\":443},"
	"{\"host\":\"93.184.216.1\",\"port\":443,\"non_public\":true},{\"host\":\"93.184.216.1\",\"port\":80}]}}";

static struct nc_profile *profile;

static struct nc_profile *parse(const char *text)
{
	struct nc_error error = {0};
	struct nc_profile *parsed = NULL;

	if (nc_profile_parse(text, strlen(text), NULL, &parsed, &error))
		fail_msg("refused at %s: %s", error.pointer, error.detail);
	return parsed;
}

static int setup(void **state)
{
	(void)state;
	profile = parse(profile_text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nc_profile_free(profile);
	return 0;
}

/* The host's own address, and an operator's: what only the host knows. */
static struct nc_explain_floor floor_rows[2];

static struct nc_explanation ask(const struct nc_profile *of, enum nc_authority authority, const char *target)
{
	struct nc_explain_question question = {.authority = authority, .floor = floor_rows, .floor_count = 2};
	struct nc_explanation explanation;
	struct nc_error error = {0};
	char host[NC_HOST_NAME_MAX + 2];

	floor_rows[0].kind = NC_FLOOR_HOST;
	floor_rows[1].kind = NC_FLOOR_OPERATOR;
	for (int i = 0; i < 2; i++) {
		floor_rows[i].length = 128;
		floor_rows[i].address.bytes[10] = floor_rows[i].address.bytes[11] = 0xff;
		inet_pton(AF_INET, i ? "198.41.0.4" : "93.184.216.1", floor_rows[i].address.bytes + 12);
	}
	if (nc_explain_target(target, host, &question.port, &question.protocol, &error))
		fail_msg("%s: %s", target, error.detail);
	question.host = host;
	if (nc_explain(of, &question, &explanation, &error))
		fail_msg("%s: %s", target, error.detail);
	return explanation;
}

#define WORKLOAD NC_AUTHORITY_WORKLOAD
#define PLANE NC_AUTHORITY_PLANE

static void test_answers(void **state)
{
	static const struct {
		enum nc_authority authority;
		const char *target;
		int decision, reason, class;
		const char *matched, *nearest, *binding, *condition;
	} rows[] = {
		{WORKLOAD, "8.8.8.8:443", NC_ALLOW, NC_REASON_LITERAL_LISTED, 1, "/network/destinations/1", "", "", ""},
		{WORKLOAD, "8.8.8.8:443/udp", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "/network/destinations/1", "", ""},
		{WORKLOAD, "8.8.8.8:8443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "/network/destinations/1", "", ""},
		{WORKLOAD, "8.8.8.7:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "/network/destinations/1", "", ""},
		{WORKLOAD, "8.8.4.4:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "", "", ""},
		{WORKLOAD, "[2600:1::6]:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "/network/destinations/7", "", ""},
		{WORKLOAD, "[64:ff9b::808:808]:443", NC_ALLOW, NC_REASON_LITERAL_LISTED, 3, "/network/destinations/3", "", "", ""},
		{WORKLOAD, "8.8.8.8:53", NC_ALLOW, NC_REASON_LITERAL_LISTED, 1, "/network/destinations/4", "", "", ""},
		{WORKLOAD, "8.8.4.4:53", NC_REDIRECT, NC_REASON_RESOLVER, 0, "", "", "", "listed names only"},
		{WORKLOAD, "8.8.8.8:0", NC_DENY, NC_REASON_PORT_ZERO, 0, "", "", "", ""},
		{WORKLOAD, "169.254.169.254:80", NC_DENY, NC_REASON_HOST_FLOOR, 0, "", "", "", ""},
		{WORKLOAD, "[64:ff9b::a83f:8110]:80", NC_DENY, NC_REASON_HOST_FLOOR, 0, "", "", "", ""},
		{WORKLOAD, "198.41.0.4:443", NC_DENY, NC_REASON_HOST_FLOOR, 0, "", "", "", ""},
		{WORKLOAD, "93.184.216.1:443", NC_DENY, NC_REASON_HOST_FLOOR, 0, "/network/destinations/8", "", "", ""},
		{WORKLOAD, "127.0.0.1:8080", NC_ALLOW, NC_REASON_LOOPBACK_OPEN, 18, "", "", "", "network namespace"},
		{WORKLOAD, "10.20.0.5:443", NC_DENY, NC_REASON_ADDRESS_NOT_PUBLIC, 19, "", "/plane/destinations/0", "", ""},
		{WORKLOAD, "9.9.9.9:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "/plane/destinations/1", "", ""},
		{PLANE, "10.20.0.5:443", NC_ALLOW, NC_REASON_LITERAL_LISTED, 19, "/plane/destinations/0", "", "", ""},
		{PLANE, "10.20.0.6:443", NC_DENY, NC_REASON_ADDRESS_NOT_PUBLIC, 19, "", "/plane/destinations/0", "", ""},
		{PLANE, "8.8.8.8:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 1, "", "/network/destinations/1", "", ""},
		{PLANE, "93.184.216.1:443", NC_ALLOW, NC_REASON_LITERAL_LISTED, 1, "/plane/destinations/2", "", "", ""},
		{PLANE, "93.184.216.1:80", NC_DENY, NC_REASON_HOST_FLOOR, 0, "/plane/destinations/3", "", "", ""},
		{PLANE, "127.0.0.1:8080", NC_DENY, NC_REASON_ADDRESS_NOT_PUBLIC, 18, "", "", "", ""},
		/* names */
		{WORKLOAD, "api.example:443", NC_ALLOW, NC_REASON_GRANT_LIVE, 0, "/network/destinations/0", "", "wire", "grant"},
		{WORKLOAD, "Api.Example.:443", NC_ALLOW, NC_REASON_GRANT_LIVE, 0, "/network/destinations/0", "", "wire", "grant"},
		{WORKLOAD, "plain.example:9000", NC_ALLOW, NC_REASON_GRANT_LIVE, 0, "/network/destinations/6", "", "address", "grant"},
		{WORKLOAD, "quic.example:443/udp", NC_DENY, NC_REASON_WIRE_QUIC, 0, "/network/destinations/2", "", "wire", ""},
		{WORKLOAD, "open.example:443/udp", NC_ALLOW, NC_REASON_GRANT_LIVE, 0, "/network/destinations/5", "", "address", "grant"},
		{WORKLOAD, "api.example:80", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
		{WORKLOAD, "api.example:443/udp", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
		{WORKLOAD, "example:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
		{WORKLOAD, "api.example:53", NC_REDIRECT, NC_REASON_RESOLVER, 0, "", "", "", "resolver"},
		{PLANE, "api.example:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
		/* P18: no suffix, no prefix */
		{WORKLOAD, "notapi.example:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "", "", ""},
		{WORKLOAD, "api.example.evil.test:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "", "", ""},
		{WORKLOAD, "x.api.example:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
		{WORKLOAD, "apj.example:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
		{WORKLOAD, "api.exampel:443", NC_DENY, NC_REASON_DESTINATION_NOT_LISTED, 0, "", "/network/destinations/0", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_explanation e = ask(profile, rows[i].authority, rows[i].target);

		if (e.decision != rows[i].decision || e.reason != rows[i].reason || e.address_class != rows[i].class ||
		    strcmp(e.matched.pointer, rows[i].matched) || strcmp(e.nearest.pointer, rows[i].nearest) ||
		    strcmp(e.name_binding, rows[i].binding) || !strstr(e.condition, rows[i].condition) || (!*rows[i].condition && *e.condition))
			fail_msg("%s: decision %u reason %s class %u matched \"%s\" nearest \"%s\" binding \"%s\" condition \"%s\"", rows[i].target,
				 e.decision, nc_reason_word(e.reason), e.address_class, e.matched.pointer, e.nearest.pointer, e.name_binding,
				 e.condition);
	}
}

static void test_modes(void **state)
{
	struct nc_profile *none = parse("{\"version\":1,\"network\":{\"mode\":\"none\"},\"loopback\":\"own_netns\"}");
	struct nc_profile *empty = parse("{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[]}}");
	struct nc_profile *open = parse("{\"version\":1,\"network\":{\"mode\":\"unrestricted\"}}");

	(void)state;
	assert_int_equal(ask(none, WORKLOAD, "8.8.8.8:443").reason, NC_REASON_MODE_NONE);
	assert_int_equal(ask(none, WORKLOAD, "127.0.0.1:80").reason, NC_REASON_MODE_NONE);
	assert_int_equal(ask(none, WORKLOAD, "a.example:80").reason, NC_REASON_MODE_NONE);
	assert_int_equal(ask(empty, WORKLOAD, "8.8.8.8:443").reason, NC_REASON_MODE_NONE);
	assert_int_equal(ask(empty, WORKLOAD, "8.8.8.8:443").mode, NC_MODE_NONE);
	assert_int_equal(ask(open, WORKLOAD, "8.8.8.8:443").reason, NC_REASON_MODE_UNRESTRICTED);
	assert_int_equal(ask(open, WORKLOAD, "10.0.0.5:443").reason, NC_REASON_ADDRESS_NOT_PUBLIC);
	assert_int_equal(ask(open, WORKLOAD, "169.254.169.254:80").reason, NC_REASON_HOST_FLOOR);
	assert_int_equal(ask(open, WORKLOAD, "a.example:80").reason, NC_REASON_MODE_UNRESTRICTED);
	assert_non_null(strstr(ask(open, WORKLOAD, "a.example:80").condition, "public"));
	assert_int_equal(ask(open, PLANE, "8.8.8.8:443").reason, NC_REASON_MODE_NONE);
	nc_profile_free(none);
	nc_profile_free(empty);
	nc_profile_free(open);
}

/* The world outside: namespace, NAT64 prefix, protocol. */
static void test_options(void **state)
{
	struct nc_settings settings = {.nat64_count = 1, .nat64[0].length = 96};
	struct nc_explain_question question = {
		.authority = WORKLOAD, .host = "127.0.0.1", .port = 80, .protocol = IPPROTO_TCP, .foreign_netns = true};
	struct nc_explanation e;
	struct nc_error error = {0};
	char text[NC_ADDRESS_TEXT];

	(void)state;
	assert_int_equal(nc_explain(profile, &question, &e, &error), 0);
	assert_int_equal(e.reason, NC_REASON_ADDRESS_NOT_PUBLIC);
	question.foreign_netns = false;
	question.protocol = IPPROTO_ICMP;
	assert_int_equal(nc_explain(profile, &question, &e, &error), 0);
	assert_int_equal(e.reason, NC_REASON_PROTOCOL_REFUSED);
	question.protocol = IPPROTO_TCP;
	inet_pton(AF_INET6, "2600:1::", &settings.nat64[0].prefix);
	question.settings = &settings;
	question.host = "2600:1::a00:5";
	assert_int_equal(nc_explain(profile, &question, &e, &error), 0);
	assert_int_equal(e.reason, NC_REASON_ADDRESS_NOT_PUBLIC);
	assert_true(e.carries);
	assert_string_equal(nc_address_text(&e.carried, text), "10.0.0.5");
	question.settings = NULL;
	assert_int_equal(nc_explain(profile, &question, &e, &error), 0);
	assert_int_equal(e.reason, NC_REASON_DESTINATION_NOT_LISTED);
	assert_false(e.carries);
	question.host = "010.0.0.1";
	e.port = 12345;
	assert_int_equal(nc_explain(profile, &question, &e, &error), -EINVAL);
	assert_int_equal(error.code, NC_E_USAGE);
	assert_int_equal(e.port, 12345);
}

/* A name is judged by a stand-in address: one that a literal lists would answer for the literal. */
static void test_stand_in(void **state)
{
	struct nc_profile *tricky = parse("{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"2a00::1\",\"port\":443},"
					  "{\"host\":\"2a00::2\",\"port\":443}]}}");

	(void)state;
	assert_int_equal(ask(tricky, WORKLOAD, "[2a00::1]:443").reason, NC_REASON_LITERAL_LISTED);
	assert_int_equal(ask(tricky, WORKLOAD, "a.example:443").reason, NC_REASON_DESTINATION_NOT_LISTED);
	nc_profile_free(tricky);
}

static void test_targets(void **state)
{
	static const struct {
		const char *text, *host;
		int port, protocol;
	} good[] = {
		{"a.example:443", "a.example", 443, IPPROTO_TCP},
		{"a.example:443/udp", "a.example", 443, IPPROTO_UDP},
		{"8.8.8.8:0", "8.8.8.8", 0, IPPROTO_TCP},
		{"[2600::1]:65535/tcp", "2600::1", 65535, IPPROTO_TCP},
	};
	static const char *const bad[] = {"",	  ":",		"a",	  "a:",		 ":443",      "a:65536", "a:-1",    "a:+1", "a:04",
					  "a:4 ", "a:443/sctp", "a:443/", "2600::1:443", "[2600::1]", "[]:443",	 "a:b:443", "/udp", "a:443/udp/udp"};
	char host[NC_HOST_NAME_MAX + 2], longest[400];
	struct nc_error error = {0};
	uint16_t port;
	uint8_t protocol;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(nc_explain_target(good[i].text, host, &port, &protocol, &error), 0);
		assert_string_equal(host, good[i].host);
		assert_int_equal(port, good[i].port);
		assert_int_equal(protocol, good[i].protocol);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!nc_explain_target(bad[i], host, &port, &protocol, &error) || error.code != NC_E_USAGE || !error.hint[0])
			fail_msg("accepted: \"%s\"", bad[i]);
	memset(longest, 'a', sizeof(longest));
	strcpy(longest + NC_HOST_NAME_MAX + 1, ":1"); /* with the root's dot */
	assert_int_equal(nc_explain_target(longest, host, &port, &protocol, &error), 0);
	strcpy(longest + NC_HOST_NAME_MAX + 1, "a:1");
	assert_int_equal(nc_explain_target(longest, host, &port, &protocol, &error), -EINVAL);
}

static void test_json(void **state)
{
	static const char *const unbound[] = {"plain.example:9000", "quic.example:443/udp", "8.8.8.8:443"}; /* no first bytes are refused there */
	struct nc_explanation e = ask(profile, WORKLOAD, "8.8.8.8:8443");
	json_t *object = nc_explain_json(&e);
	char *text;

	(void)state;
	assert_non_null(object);
	text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"{\"address_class\":{\"meaning\":\"global unicast\",\"source\":\"IANA IPv4 and IPv6 address space registries\",\"word\":\"public\"},"
		"\"authority\":\"workload\",\"decision\":\"deny\",\"host\":\"8.8.8.8\",\"literal\":true,\"mode\":\"allowlist\","
		"\"nearest\":{\"authority\":\"workload\",\"host\":\"8.8.8.8\",\"pointer\":\"/network/destinations/1\",\"port\":443,"
		"\"protocol\":\"tcp\",\"why\":\"the same host with another port\",\"wire\":\"any\"},"
		"\"port\":8443,\"protocol\":\"tcp\",\"reason\":\"destination_not_listed\","
		"\"sentence\":\"no listed destination has this address, port and protocol\",\"version\":1}");
	free(text);
	json_decref(object);
	e = ask(profile, WORKLOAD, "api.example:443");
	object = nc_explain_json(&e);
	assert_string_equal(json_string_value(json_object_get(object, "name_binding")), "wire");
	assert_string_equal(json_string_value(json_object_get(json_object_get(object, "matched"), "pointer")), "/network/destinations/0");
	assert_string_equal(json_string_value(json_object_get(object, "ends")), NC_WIRE_ENDS);
	assert_null(json_object_get(object, "address_class"));
	assert_null(json_object_get(object, "nearest"));
	json_decref(object);
	for (size_t i = 0; i < sizeof(unbound) / sizeof(*unbound); i++) {
		e = ask(profile, WORKLOAD, unbound[i]);
		object = nc_explain_json(&e);
		assert_null(json_object_get(object, "ends"));
		json_decref(object);
	}
}

static void test_text(void **state)
{
	struct nc_explanation e = ask(profile, WORKLOAD, "[64:ff9b::a83f:8110]:443");
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	(void)state;
	nc_explain_text(&e, stream);
	fclose(stream);
	assert_string_equal(text, "deny: workload to 64:ff9b::a83f:8110 port 443 tcp\n"
				  "reason   host_floor: the address is refused in every mode (metadata service, the host itself, or the operator's)\n"
				  "mode     allowlist\n"
				  "carries  168.63.129.16\n");
	free(text);
}

static void test_words(void **state)
{
	(void)state;
	for (unsigned int code = 0; code < NC_REASON_MAX; code++)
		assert_int_equal(!strcmp(nc_reason_word(code), "unknown"), !*nc_reason_sentence(code));
	assert_string_equal(nc_reason_word(NC_REASON_LITERAL_LISTED), "literal_listed");
	assert_string_equal(nc_decision_word(NC_REDIRECT), "redirect");
	assert_string_equal(nc_mode_word(NC_MODE_NONE), "none");
	assert_string_equal(nc_authority_word(NC_AUTHORITY_PLANE), "plane");
	assert_string_equal(nc_authority_word(0), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_modes), cmocka_unit_test(test_options), cmocka_unit_test(test_stand_in),
		cmocka_unit_test(test_targets), cmocka_unit_test(test_json),  cmocka_unit_test(test_text),    cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
