/* SPDX-License-Identifier: GPL-2.0-only */
/* test_event.c - what the kernel reported, as records: names for codes, digits for 64 bits, and text that cannot pretend to be more */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sodium.h>
#include <cmocka.h>
#include "address.h"
#include "evidence_fixture.h"
#include "seen_json.h"

static void set_address(union nc_address *address, const char *text)
{
	memset(address, 0, sizeof(*address));
	if (strchr(text, ':')) {
		assert_int_equal(inet_pton(AF_INET6, text, address), 1);
	} else {
		address->words_be[2] = htonl(0xffff);
		assert_int_equal(inet_pton(AF_INET, text, &address->words_be[3]), 1);
	}
}

static struct nc_event refusal(void)
{
	struct nc_event event = {.version = NC_ABI_VERSION,
				 .size = sizeof(event),
				 .generation = 18446744073709551615u,
				 .revision = 1,
				 .time_ns = 9007199254740993u,
				 .socket_cookie = 4097,
				 .cgroup_id = 9223372036854775809u,
				 .port_be = htons(443),
				 .protocol = IPPROTO_TCP,
				 .family = 4,
				 .hook = NC_HOOK_CONNECT4,
				 .decision = NC_DENY,
				 .reason = NC_REASON_ADDRESS_NOT_PUBLIC,
				 .address_class = NC_CLASS_PRIVATE_USE,
				 .authority = NC_AUTHORITY_WORKLOAD,
				 .pid = 4294967295u,
				 .pid_ns = 2,
				 .uid = 65534,
				 .comm = "curl"};

	set_address(&event.destination, "10.0.0.5");
	return event;
}

static void is(const json_t *record, const char *name, const char *expected)
{
	const char *value = json_string_value(json_object_get(record, name));

	if (!value || strcmp(value, expected))
		fail_msg("%s is %s, not %s", name, value ?: "no text", expected);
}

static void named(void **state)
{
	struct nc_event event = refusal();
	NC_JSON json_t *record = nc_event_json(&event);

	(void)state;
	assert_non_null(record);
	is(record, "kind", "verdict");
	is(record, "authority", "workload");
	is(record, "decision", "deny");
	is(record, "reason", "address_not_public");
	is(record, "hook", "connect4");
	is(record, "family", "ipv4");
	is(record, "protocol", "tcp");
	is(record, "destination", "10.0.0.5");
	is(record, "address_class", "private_use");
	is(record, "comm", "curl");
	assert_int_equal(json_integer_value(json_object_get(record, "port")), 443);
	assert_int_equal(json_integer_value(json_object_get(record, "pid")), 4294967295);
	assert_int_equal(json_integer_value(json_object_get(record, "uid")), 65534);
	assert_null(json_object_get(record, "admitted"));
	assert_null(json_object_get(record, "name_id"));
	assert_null(json_object_get(record, "detail"));
}

/* E06: no digit is lost, in the record or after canonical form and back */
static void sixty_four_bits(void **state)
{
	static const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{"generation", 18446744073709551615u}, {"time_ns", 9007199254740993u}, {"cgroup_id", 9223372036854775809u}, {"socket_cookie", 4097}};
	struct nc_event event = refusal();
	NC_JSON json_t *record = nc_event_json(&event), *back = NULL;
	struct nc_error error;
	size_t length;
	char *text;

	(void)state;
	assert_int_equal(nc_json_canonical(record, &text, &length, &error), 0);
	assert_int_equal(nc_json_parse(text, length, NC_E_EVIDENCE_INVALID, &back, &error), 0);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		uint64_t value = 0;

		assert_true(nc_json_read_u64(json_object_get(back, members[i].name), &value));
		assert_true(value == members[i].value);
	}
	free(text);
}

static void addresses(void **state)
{
	static const char *const texts[] = {"93.184.216.34", "0.0.0.0", "255.255.255.255", "2001:4860::8", "::", "::1", "fe80::1", "64:ff9b::a00:5"};
	struct nc_event event = refusal();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		set_address(&event.destination, texts[i]);
		set_address(&event.admitted, texts[sizeof(texts) / sizeof(texts[0]) - 1 - i]);
		event.admitted_port_be = htons(80);
		NC_JSON json_t *record = nc_event_json(&event);
		is(record, "destination", texts[i]);
		is(record, "admitted", texts[sizeof(texts) / sizeof(texts[0]) - 1 - i]);
		assert_int_equal(json_integer_value(json_object_get(record, "admitted_port")), 80);
	}
}

/* Every code of every table has its word; a code of none is shown as such. */
static void codes(void **state)
{
	struct nc_event event = refusal();

	(void)state;
#define CHECK(member, name, value, word)                                                                                                             \
	do {                                                                                                                                         \
		event.member = value;                                                                                                                \
		NC_JSON json_t *record_ = nc_event_json(&event);                                                                                     \
		is(record_, name, word);                                                                                                             \
	} while (0);
#define CHECK_REASON(symbol, value, word, ...) CHECK(reason, "reason", value, word)
#define CHECK_HOOK(symbol, value, word) CHECK(hook, "hook", value, word)
#define CHECK_DECISION(symbol, value, word) CHECK(decision, "decision", value, word)
#define CHECK_AUTHORITY(symbol, value, word) CHECK(authority, "authority", value, word)
#define CHECK_CLASS(symbol, value, word, ...) CHECK(address_class, "address_class", value, word)
	NC_REASONS(CHECK_REASON)
	NC_HOOKS(CHECK_HOOK)
	NC_DECISIONS(CHECK_DECISION)
	NC_AUTHORITIES(CHECK_AUTHORITY)
	NC_ADDRESS_CLASSES(CHECK_CLASS)
	CHECK(reason, "reason", 0, "unknown_0")
	CHECK(reason, "reason", 255, "unknown_255")
	CHECK(hook, "hook", 200, "unknown_200")
	CHECK(decision, "decision", 9, "unknown_9")
	CHECK(authority, "authority", 0, "unknown_0")
	CHECK(address_class, "address_class", 255, "unknown_255")
	CHECK(protocol, "protocol", IPPROTO_UDP, "udp")
	CHECK(protocol, "protocol", 132, "unknown_132")
	CHECK(family, "family", 6, "ipv6")
}

/* E08: a task's name that holds a line feed and a whole record of its own */
static void forged_text(void **state)
{
	static const char *const names[] = {"a\n{\"kind\":\"en", "\"},{\"reason\":\"", "\x1b[2J\x1b]0;x\a",
					    "\xff\xfe\x80",	 "\r\n\t\x0b",	       "\\n\\u000a"};
	struct nc_evidence *evidence = begin("forgedtext");
	struct nc_evidence_report report;
	struct nc_error error;
	size_t length, lines = 0;
	char *log;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct nc_event event = refusal();

		memcpy(event.comm, names[i], strnlen(names[i], sizeof(event.comm)));
		NC_JSON json_t *record = nc_event_json(&event);
		assert_null(strpbrk(json_string_value(json_object_get(record, "comm")), "\n\r\t\x1b\a\x80\xff"));
		assert_int_equal(nc_evidence_append(evidence, record, &error), 0);
	}
	/* and text that comes as a string, from somebody who did not make it safe: it stays inside its string all the same */
	NC_JSON json_t *record = json_pack("{s:s, s:s}", "kind", "resolver", "name", "x\"}\n{\"kind\":\"end\",\"previous\":\"0\",\"sequence\":7}\n");
	assert_int_equal(nc_evidence_append(evidence, record, &error), 0);
	close_with(evidence, 0);
	log = get_file(in_folder("forgedtext/events.jsonl"), &length);
	for (size_t i = 0; i < length; i++)
		lines += log[i] == '\n';
	free(log);
	assert_int_equal(lines, sizeof(names) / sizeof(names[0]) + 2);
	assert_int_equal(ask("forgedtext", NULL, &report), NC_EVIDENCE_COMPLETE);
	assert_int_equal(report.events, sizeof(names) / sizeof(names[0]) + 1);
	nc_evidence_report_free(&report);
}

/* Who refuses a socket or an option has no destination to speak of: what stands in its place is not shown as one. */
static void without_destination(void **state)
{
	struct nc_event event = refusal();

	(void)state;
	event.family = 0;
	event.hook = NC_HOOK_SETSOCKOPT;
	event.reason = NC_REASON_OPTION_REFUSED;
	event.address_class = 0;
	event.detail = 41u << 16 | 57;
	NC_JSON json_t *record = nc_event_json(&event);
	assert_null(json_object_get(record, "destination"));
	assert_null(json_object_get(record, "port"));
	assert_null(json_object_get(record, "family"));
	assert_null(json_object_get(record, "address_class"));
	assert_int_equal(json_integer_value(json_object_get(record, "detail")), 41 << 16 | 57);
	is(record, "reason", "option_refused");
}

/* How often: with the destination where there is one, with the detail where there is none. */
static void repeats(void **state)
{
	const struct nc_seen_value value = {.count = 9007199254740993u, .first_ns = 1, .last_ns = UINT64_MAX};
	struct nc_seen_key key_ = {
		.port_be = htons(443), .protocol = IPPROTO_TCP, .reason = NC_REASON_DESTINATION_NOT_LISTED, .authority = NC_AUTHORITY_PLANE};

	(void)state;
	set_address(&key_.destination, "10.0.0.5");
	NC_JSON json_t *with = nc_seen_json(&key_, &value);
	is(with, "kind", "repeats");
	is(with, "destination", "10.0.0.5");
	is(with, "count", "9007199254740993");
	is(with, "last_ns", "18446744073709551615");
	is(with, "authority", "plane");
	assert_int_equal(json_integer_value(json_object_get(with, "port")), 443);
	assert_null(json_object_get(with, "detail"));

	set_address(&key_.destination, "::");
	key_.destination.words_be[0] = 41u << 16 | 57;
	key_.port_be = 0;
	key_.reason = NC_REASON_OPTION_REFUSED;
	NC_JSON json_t *without = nc_seen_json(&key_, &value);
	is(without, "reason", "option_refused");
	assert_null(json_object_get(without, "destination"));
	assert_null(json_object_get(without, "port"));
	assert_int_equal(json_integer_value(json_object_get(without, "detail")), 41 << 16 | 57);
	key_.reason = NC_REASON_MODE_NONE; /* an address like that can be asked for, too */
	NC_JSON json_t *asked = nc_seen_json(&key_, &value);
	assert_non_null(json_object_get(asked, "destination"));
	key_.reason =
		NC_REASON_SERVER_NAME_LISTED; /* each name is counted for itself, and says which it is; of one that was refused there is no number */
	key_.name_hash = NC_NAME_ID_PLANE + 1;
	NC_JSON json_t *listed = nc_seen_json(&key_, &value);
	assert_true(json_integer_value(json_object_get(listed, "name_id")) == NC_NAME_ID_PLANE + 1ll);
	key_.reason = NC_REASON_SERVER_NAME_MISMATCH;
	NC_JSON json_t *refused = nc_seen_json(&key_, &value);
	assert_null(json_object_get(refused, "name_id"));
}

/* A name without its NUL is sixteen bytes, not more. */
static void full_name(void **state)
{
	struct nc_event event = refusal();

	(void)state;
	memset(event.comm, 'x', sizeof(event.comm));
	NC_JSON json_t *record = nc_event_json(&event);
	is(record, "comm", "xxxxxxxxxxxxxxxx");
}

static void counters(void **state)
{
	struct nc_counters some = {
		.by_reason = {[NC_COUNTER_LOST] = 5, [NC_REASON_ADDRESS_NOT_PUBLIC] = 9007199254740993u, [NC_REASON_LITERAL_LISTED] = 1, [63] = 2}};
	NC_JSON json_t *object = nc_counters_json(&some);

	(void)state;
	assert_int_equal(json_object_size(object), 3);
	is(object, "address_not_public", "9007199254740993");
	is(object, "literal_listed", "1");
	is(object, "unknown_63", "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named),   cmocka_unit_test(sixty_four_bits), cmocka_unit_test(addresses),
		cmocka_unit_test(codes),   cmocka_unit_test(forged_text),     cmocka_unit_test(without_destination),
		cmocka_unit_test(repeats), cmocka_unit_test(full_name),	      cmocka_unit_test(counters),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, evidence_setup, evidence_teardown);
}
