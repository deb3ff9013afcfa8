/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json_read.c - a JSON document read so strictly that no second parser can understand it differently
 *
 * jansson reads the grammar of RFC 8259 and refuses duplicate keys, NUL, bad UTF-8, bad escapes and lone surrogates by itself. What it lets through
 * is looked at afterwards: fractions and exponents (it makes them doubles), -0 (it makes it 0, so only the text still shows it), integers beyond
 * +-(2^53 - 1), and nesting beyond what the programs that read evidence should need.
 */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "text.h"

/* Where the walk is, as an RFC 6901 pointer. A key is shown safe first, so the pointer stays on one line; it is cut when it is too long. */
struct place {
	char pointer[sizeof(((struct nc_error *)0)->pointer)];
	size_t length;
};

static void place_add(struct place *place, char byte)
{
	if (place->length + 1 < sizeof(place->pointer)) {
		place->pointer[place->length++] = byte;
		place->pointer[place->length] = '\0';
	}
}

static void place_enter_key(struct place *place, const char *key)
{
	char safe[sizeof(place->pointer)];

	nc_text_safe(key, strlen(key), safe, sizeof(safe));
	place_add(place, '/');
	for (const char *byte = safe; *byte; byte++) {
		if (*byte == '~' || *byte == '/') {
			place_add(place, '~');
			place_add(place, *byte == '~' ? '0' : '1');
		} else {
			place_add(place, *byte);
		}
	}
}

static void place_enter_index(struct place *place, size_t index)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "/%zu", index);
	for (const char *byte = digits; *byte; byte++)
		place_add(place, *byte);
}

static void place_leave(struct place *place, size_t length)
{
	place->length = length;
	place->pointer[length] = '\0';
}

static int refuse(const struct place *place, enum nc_error_code code, struct nc_error *reterr, const char *what)
{
	int r = nc_error_set(reterr, code, -EINVAL, "%s", what);

	memcpy(reterr->pointer, place->pointer, place->length + 1);
	return r;
}

static int check_value(const json_t *value, unsigned int depth, struct place *place, enum nc_error_code code, struct nc_error *reterr);

static int check_members(const json_t *object, unsigned int depth, struct place *place, enum nc_error_code code, struct nc_error *reterr)
{
	size_t before = place->length;
	const char *key;
	json_t *member;
	int r;

	json_object_foreach((json_t *)object, key, member) {
		place_enter_key(place, key);
		r = check_value(member, depth, place, code, reterr);
		if (r < 0)
			return r;
		place_leave(place, before);
	}
	return 0;
}

static int check_elements(const json_t *array, unsigned int depth, struct place *place, enum nc_error_code code, struct nc_error *reterr)
{
	size_t before = place->length;
	size_t index;
	json_t *element;
	int r;

	json_array_foreach(array, index, element) {
		place_enter_index(place, index);
		r = check_value(element, depth, place, code, reterr);
		if (r < 0)
			return r;
		place_leave(place, before);
	}
	return 0;
}

static int check_value(const json_t *value, unsigned int depth, struct place *place, enum nc_error_code code, struct nc_error *reterr)
{
	json_int_t number;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		if (depth == NC_JSON_DEPTH_MAX)
			return refuse(place, code, reterr, "nested deeper than 32 levels");
		return json_is_object(value) ? check_members(value, depth + 1, place, code, reterr) : check_elements(value, depth + 1, place, code, reterr);
	case JSON_REAL:
		return refuse(place, code, reterr, "a number is written with a fraction or an exponent; only integers are allowed");
	case JSON_INTEGER:
		number = json_integer_value(value);
		if (number > NC_JSON_INTEGER_MAX || number < -NC_JSON_INTEGER_MAX)
			return refuse(place, code, reterr, "a number lies outside -(2^53 - 1) to 2^53 - 1, which readers round differently");
		return 0;
	default:
		return 0;
	}
}

/* Whether -0 stands somewhere as a number: called for text whose grammar is known to be right. */
static bool has_minus_zero(const char *text, size_t length)
{
	bool in_string = false;

	for (size_t i = 0; i < length; i++) {
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (!in_string && text[i] == '-' && i + 1 < length && text[i + 1] == '0')
			return true; /* jansson refuses -01, a fraction is refused by its type: what is left is -0 */
	}
	return false;
}

int nc_json_parse(const char *text, size_t length, enum nc_error_code code, json_t **ret_value, struct nc_error *reterr)
{
	struct place place = { 0 };
	NC_JSON json_t *value = NULL;
	json_error_t error;
	int r;

	if (length > NC_JSON_SIZE_MAX)
		return nc_error_set(reterr, code, -EFBIG, "the document is larger than %u MiB", NC_JSON_SIZE_MAX >> 20);
	value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (!value) {
		char safe[NC_TEXT_SAFE_SIZE(JSON_ERROR_TEXT_LENGTH)];

		nc_text_safe(error.text, strnlen(error.text, sizeof(error.text)), safe, sizeof(safe));
		return nc_error_set(reterr, code, -EINVAL, "not strict JSON: line %d, column %d: %s", error.line, error.column, safe);
	}
	r = check_value(value, 0, &place, code, reterr);
	if (r < 0)
		return r;
	if (has_minus_zero(text, length))
		return nc_error_set(reterr, code, -EINVAL, "a number is written as -0; write 0");
	*ret_value = value;
	value = NULL;
	return 0;
}

bool nc_json_read_u64(const json_t *value, uint64_t *ret_value)
{
	const char *digits = json_string_value(value);
	uint64_t number = 0;

	if (!digits || !*digits || (digits[0] == '0' && digits[1]))
		return false;
	for (; *digits; digits++) {
		if (*digits < '0' || *digits > '9' || __builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*digits - '0'), &number))
			return false;
	}
	*ret_value = number;
	return true;
}

json_t *nc_json_u64(uint64_t value)
{
	return json_sprintf("%" PRIu64, value);
}
