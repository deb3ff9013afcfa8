/* SPDX-License-Identifier: GPL-2.0-only */
/* test_json.c - JSON read strictly and written canonically: everything that two parsers could understand differently is refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "json.h"
#include "text.h"

struct bytes {
	const char *text;
	size_t length;
};
#define BYTES(literal)                                                                                                                               \
	{                                                                                                                                            \
		literal, sizeof(literal) - 1                                                                                                         \
	}

static int parse(const char *text, size_t length, json_t **ret_value, struct nc_error *reterr)
{
	memset(reterr, 0, sizeof(*reterr));
	return nc_json_parse(text, length, NC_E_PROFILE_INVALID, ret_value, reterr);
}

static void refused(const struct bytes *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct nc_error error;
		json_t *value = NULL;

		if (parse(cases[i].text, cases[i].length, &value, &error) == 0)
			fail_msg("accepted: %s", cases[i].text);
		assert_null(value);
		assert_int_equal(error.code, NC_E_PROFILE_INVALID);
		assert_true(error.status < 0);
		assert_true(error.detail[0] != '\0');
		assert_null(strpbrk(error.detail, "\n\r\t\x1b"));
		assert_null(strpbrk(error.pointer, "\n\r\t\x1b"));
	}
}
#define REFUSED(...)                                                                                                                                 \
	do {                                                                                                                                         \
		static const struct bytes cases_[] = {__VA_ARGS__};                                                                                  \
		refused(cases_, sizeof(cases_) / sizeof(cases_[0]));                                                                                 \
	} while (0)

/* Parses and writes canonically; the caller frees. */
static char *canonical(const char *text, size_t length)
{
	struct nc_error error;
	NC_JSON json_t *value = NULL;
	char *out = NULL;
	size_t out_length;

	if (parse(text, length, &value, &error) < 0)
		fail_msg("refused: %s: %s", text, error.detail);
	if (nc_json_canonical(value, &out, &out_length, &error) < 0)
		fail_msg("not canonical: %s: %s", text, error.detail);
	assert_int_equal(strlen(out), out_length);
	return out;
}

static void becomes(const char *text, const char *expected)
{
	char *out = canonical(text, strlen(text));

	assert_string_equal(out, expected);
	free(out);
}

/* E03: surrogates in the wrong order, alone, or UTF-8 that is none */
static void bad_text(void **state)
{
	(void)state;
	REFUSED(BYTES("[\"\\ude00\\ud83d\"]"), BYTES("[\"\\uDEAD\"]"), BYTES("[\"\\ud800\"]"), BYTES("[\"\\ud800x\"]"), BYTES("[\"\\ud800\\u0041\"]"),
		BYTES("[\"\xff\"]"), BYTES("[\"\xc0\x80\"]"), BYTES("[\"\xe0\x80\xaf\"]"), BYTES("[\"\xed\xa0\x80\"]"),
		BYTES("[\"\xf4\x90\x80\x80\"]"), BYTES("[\"\xc3\"]"), BYTES("[\"\xe2\x82\"]"), BYTES("[\"\x80\"]"), BYTES("{\"\xff\":1}"),
		BYTES("\xef\xbb\xbf{}"), BYTES("\xff\xfe{}"));
	/* the positive twins: the same characters spelled right */
	becomes("[\"\\ud83d\\ude00\"]", "[\"\xf0\x9f\x98\x80\"]");
	becomes("[\"\xf0\x9f\x98\x80\"]", "[\"\xf0\x9f\x98\x80\"]");
	becomes("[\"\\u20ac\"]", "[\"\xe2\x82\xac\"]");
}

/* P12, P13 and their kind: bad escapes, NUL, control characters */
static void escapes_and_nul(void **state)
{
	(void)state;
	REFUSED(BYTES("[\"api.example\\uZZZZ.x:443\"]"), BYTES("[\"\\uX000\"]"), BYTES("[\"\\u00\"]"), BYTES("[\"\\u00\"\"]"), BYTES("[\"\\u 041\"]"),
		BYTES("[\"\\x41\"]"), BYTES("[\"\\'\"]"), BYTES("[\"\\\"]"), BYTES("[\"\\u0000\"]"), BYTES("[\"a\\u0000b\"]"), BYTES("[\"a\0b\"]"),
		BYTES("{\"mode\\u0000x\":\"unrestricted\",\"mode\":\"none\"}"), BYTES("{\"mode\0x\":1}"), BYTES("{\"\\u0000\":1}"),
		BYTES("[\"a\nb\"]"), BYTES("[\"a\tb\"]"), BYTES("[\"\x1f\"]"), BYTES("[1]\0"), BYTES("[1]\0[2]"), BYTES("{\"a\":1}\0,\"b\":2}"),
		BYTES("\0[1]"), BYTES("[1\0]"), BYTES("[\"a\"]\0\0"));
	becomes("[\"\\u0041\\n\\u001F\\/\"]", "[\"A\\n\\u001f/\"]");
}

/* R15 and its kind: the same member twice, in whatever spelling */
static void duplicates(void **state)
{
	(void)state;
	REFUSED(BYTES("{\"verdict\":\"denied\",\"verdict\":\"ok\"}"), BYTES("{\"a\":1,\"\\u0061\":2}"), BYTES("[{\"x\":{\"a\":1,\"b\":2,\"a\":1}}]"),
		BYTES("{\"\":1,\"\":1}"));
	becomes("{\"verdict\":1,\"Verdict\":2}", "{\"Verdict\":2,\"verdict\":1}"); /* two names; what they mean is the caller's rule */
}

/* E06: numbers that readers round, and numbers in a spelling that does not survive */
static void numbers(void **state)
{
	(void)state;
	REFUSED(BYTES("[9007199254740992]"), BYTES("[9007199254740993]"), BYTES("[-9007199254740992]"), BYTES("[9223372036854775807]"),
		BYTES("[-9223372036854775808]"), BYTES("[9223372036854775808]"), BYTES("[18446744073709551616]"), BYTES("[1e400]"), BYTES("[1.0]"),
		BYTES("[1e2]"), BYTES("[1E0]"), BYTES("[0.0]"), BYTES("[-0]"), BYTES("[-0.0]"), BYTES("[-0e1]"), BYTES("{\"a\":[1,-0 ]}"),
		BYTES("[01]"), BYTES("[-01]"), BYTES("[+1]"), BYTES("[.5]"), BYTES("[1.]"), BYTES("[-]"), BYTES("[0x10]"), BYTES("[NaN]"),
		BYTES("[Infinity]"), BYTES("[1 2]"), BYTES("[--1]"));
	becomes("[9007199254740991,-9007199254740991,0,443,-1]", "[9007199254740991,-9007199254740991,0,443,-1]");
	becomes("[\"-0\",\"\\\"-0\",-10]", "[\"-0\",\"\\\"-0\",-10]"); /* minus zero inside text is text */
}

static void grammar(void **state)
{
	(void)state;
	REFUSED(BYTES(""), BYTES(" "), BYTES("{}{}"), BYTES("{} x"), BYTES("{}]"), BYTES("[1,]"), BYTES("{\"a\":1,}"), BYTES("[,1]"), BYTES("{a:1}"),
		BYTES("{'a':1}"), BYTES("{\"a\" 1}"), BYTES("// c\n{}"), BYTES("/**/{}"), BYTES("{\"a\":}"), BYTES("["), BYTES("{"), BYTES("[true"),
		BYTES("[True]"), BYTES("[nul]"), BYTES("[undefined]"), BYTES("\"text\""), BYTES("1"), BYTES("null"), BYTES("[\"]"),
		BYTES("\xc2\xa0[1]"), BYTES("[\v1]"));
	becomes(" \t\r\n{ \"b\" : [ true , false ] ,\n\"a\":{} } \n", "{\"a\":{},\"b\":[true,false]}");
}

static char *nested(unsigned int levels, char open, char close)
{
	char *text = calloc(1, 2 * levels + 1);

	memset(text, open, levels);
	memset(text + levels, close, levels);
	return text;
}

static void nesting(void **state)
{
	struct nc_error error;
	json_t *value = NULL;
	char *text;

	(void)state;
	text = nested(32, '[', ']');
	becomes(text, text);
	free(text);
	for (unsigned int levels = 33; levels < 200000; levels *= 3) {
		text = nested(levels, '[', ']');
		assert_true(parse(text, strlen(text), &value, &error) < 0);
		assert_null(value);
		free(text);
	}
	text = nested(100000, '[', '[');
	assert_true(parse(text, strlen(text), &value, &error) < 0);
	free(text);
}

static void sizes(void **state)
{
	struct nc_error error;
	json_t *value = NULL;
	char *text = malloc(NC_JSON_SIZE_MAX + 1);

	(void)state;
	memset(text, ' ', NC_JSON_SIZE_MAX + 1);
	memcpy(text, "[1]", 3);
	assert_int_equal(parse(text, NC_JSON_SIZE_MAX + 1, &value, &error), -EFBIG);
	assert_null(value);
	assert_int_equal(parse(text, NC_JSON_SIZE_MAX, &value, &error), 0);
	json_decref(value);
	free(text);
}

/* The pointer names the place, escaped as RFC 6901 says. */
static void places(void **state)
{
	static const struct {
		const char *text, *pointer;
	} cases[] = {
		{"{\"network\":{\"destinations\":[{\"port\":1},{\"port\":443.0}]}}", "/network/destinations/1/port"},
		{"{\"a/b\":{\"c~d\":1e1}}", "/a~1b/c~0d"},
		{"{\"a\\nb\":1.5}", "/a\\x0ab"},
		{"[[],[9007199254740993]]", "/1/0"},
		{"{\"a\":[1],\"b\":[true],\"c\":{\"d\":[[0.5]]}}", "/c/d/0/0"},
	};
	struct nc_error error;
	json_t *value = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &value, &error), -EINVAL);
		assert_string_equal(error.pointer, cases[i].pointer);
	}
}

/* E04: keys beyond ASCII sort differently by code point and by UTF-16 unit, so there are none */
static void keys(void **state)
{
	static const char *const beyond[] = {"{\"\\ud83d\\ude00\":1,\"\\ufffd\":2}", "{\"\\ufb33\":1}", "{\"\xc3\xa9\":1}",
					     "{\"a\":{\"\\u0080\":1}}"};
	struct nc_error error;
	char *out = NULL;
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		NC_JSON json_t *value = NULL;

		assert_int_equal(parse(beyond[i], strlen(beyond[i]), &value, &error), 0);
		assert_int_equal(nc_json_canonical(value, &out, &length, &error), -EINVAL);
		assert_null(out);
	}
	becomes("{\"b\":1,\"a\":2,\"\":3,\"B\":4,\"aa\":5,\"a-\":6,\"1\":7,\"10\":8,\"\\u007f\":9,\"\\r\":10}",
		"{\"\":3,\"\\r\":10,\"1\":7,\"10\":8,\"B\":4,\"a\":2,\"a-\":6,\"aa\":5,\"b\":1,\"\x7f\":9}");
}

/* RFC 8785, 3.2.2.2: the example's string, restricted to what we hold */
static void escapes_out(void **state)
{
	(void)state;
	becomes("{\"string\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"}",
		"{\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
	becomes("[\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f\\u0080<>&\"]", "[\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\xc2\x80<>&\"]");
	becomes("[\"\\u2028\\u2029\"]", "[\"\xe2\x80\xa8\xe2\x80\xa9\"]");
}

/* What jansson can hold and the canonical form cannot. */
static void not_canonical(void **state)
{
	struct nc_error error;
	json_t *deep = json_array();
	json_t *cases[] = {
		json_pack("{s:n}", "a"),
		json_pack("[f]", 1.5),
		json_pack("[f]", -0.0),
		json_pack("[I]", (json_int_t)NC_JSON_INTEGER_MAX + 1),
		json_pack("[I]", (json_int_t)-NC_JSON_INTEGER_MAX - 1),
		json_pack("[s#]", "a\0b", 3),
		json_pack("[o]", json_string_nocheck("\xff\xfe")),
		json_pack("[o]", json_string_nocheck("\xed\xa0\x80")),
		json_pack("{s:[n]}", "a"),
		deep,
	};
	char *out = NULL;
	size_t length;

	(void)state;
	for (int i = 0; i < 40; i++)
		deep = json_pack("[o]", deep);
	cases[sizeof(cases) / sizeof(cases[0]) - 1] = deep;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_non_null(cases[i]);
		assert_int_equal(nc_json_canonical(cases[i], &out, &length, &error), -EINVAL);
		assert_null(out);
		json_decref(cases[i]);
	}
	assert_int_equal(nc_json_canonical(NULL, &out, &length, &error), -EINVAL);
}

/* One spelling: every other one of the same value is told apart. */
static void canonical_as_it_stands(void **state)
{
	static const char *const others[] = {"{\"a\":1,\"b\":2} ", " {\"a\":1,\"b\":2}",  "{\"a\": 1,\"b\":2}",
					     "{\"b\":2,\"a\":1}",  "{\"a\":1,\"b\":2}\n", "{\"\\u0061\":1,\"b\":2}"};
	struct nc_error error;
	json_t *value = NULL;

	(void)state;
	assert_int_equal(nc_json_parse_canonical("it", "{\"a\":1,\"b\":2}", 13, NC_E_EVIDENCE_INVALID, &value, &error), 0);
	json_decref(value);
	value = NULL;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(nc_json_parse_canonical("it", others[i], strlen(others[i]), NC_E_EVIDENCE_INVALID, &value, &error), -EBADMSG);
		assert_int_equal(error.code, NC_E_EVIDENCE_INVALID);
		assert_null(value);
	}
}

/* E06: 64 bits go and come back exactly, in one spelling */
static void sixty_four_bits(void **state)
{
	static const uint64_t values[] = {0, 1, 9007199254740991u, 9007199254740993u, 18446744073709551615u, 10000000000000000000u};
	static const char *const bad[] = {
		"", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "18446744073709551616", "99999999999999999999999", "a"};
	uint64_t back;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		NC_JSON json_t *text = nc_json_u64(values[i]);

		assert_true(json_is_string(text));
		assert_true(nc_json_read_u64(text, &back));
		assert_true(back == values[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		NC_JSON json_t *text = json_string(bad[i]);

		back = 7;
		assert_false(nc_json_read_u64(text, &back));
		assert_int_equal(back, 7);
	}
	NC_JSON json_t *number = json_integer(5);
	assert_false(nc_json_read_u64(number, &back));
	assert_false(nc_json_read_u64(NULL, &back));
}

static void safe_text(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(nc_text_safe("a\nb\\\x1b[0m\x7f\xff", 10, out, sizeof(out)), strlen("a\\x0ab\\\\\\x1b[0m\\x7f\\xff"));
	assert_string_equal(out, "a\\x0ab\\\\\\x1b[0m\\x7f\\xff");
	assert_int_equal(nc_text_safe("ab\n", 3, out, 6), 2); /* an escape is never cut */
	assert_string_equal(out, "ab");
	assert_int_equal(nc_text_safe("ab\n", 3, out, 7), 6);
	assert_int_equal(nc_text_safe("a\0b", 3, out, sizeof(out)), 6);
	assert_string_equal(out, "a\\x00b");
	assert_int_equal(nc_text_safe("", 0, out, 1), 0);
	assert_int_equal(nc_text_safe("abc", 3, out, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_text),	   cmocka_unit_test(escapes_and_nul), cmocka_unit_test(duplicates),
		cmocka_unit_test(numbers),	   cmocka_unit_test(grammar),	      cmocka_unit_test(nesting),
		cmocka_unit_test(sizes),	   cmocka_unit_test(places),	      cmocka_unit_test(keys),
		cmocka_unit_test(escapes_out),	   cmocka_unit_test(not_canonical),   cmocka_unit_test(canonical_as_it_stands),
		cmocka_unit_test(sixty_four_bits), cmocka_unit_test(safe_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
