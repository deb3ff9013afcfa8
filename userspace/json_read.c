/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json_read.c - a JSON document read so strictly that no second parser can understand it differently
 *
 * jansson reads the grammar of RFC 8259 and refuses duplicate keys, \u0000, bad UTF-8, bad escapes and lone surrogates by itself. What it lets through
 * is looked at here: a NUL byte between tokens (to jansson 2.14 it is the end of the text, whatever follows), fractions and exponents (it makes them
 * doubles), -0 (it makes it 0, so only the text still shows it), integers beyond +-(2^53 - 1), and nesting deeper than anything here needs.
 */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "place.h"

static int check_value(const json_t *value, unsigned int depth, const struct nc_place *place, struct nc_error *reterr);

static int check_members(const json_t *object, unsigned int depth, const struct nc_place *place, struct nc_error *reterr)
{
	const char *key;
	json_t *member;
	int r = 0;

	json_object_foreach((json_t *)object, key, member)
	{
		r = check_value(member, depth, NC_PLACE_KEY(place, key), reterr);
		if (r < 0)
			break;
	}
	return r;
}

static int check_elements(const json_t *array, unsigned int depth, const struct nc_place *place, struct nc_error *reterr)
{
	size_t index;
	json_t *element;
	int r = 0;

	json_array_foreach(array, index, element)
	{
		r = check_value(element, depth, NC_PLACE_INDEX(place, index), reterr);
		if (r < 0)
			break;
	}
	return r;
}

static int check_value(const json_t *value, unsigned int depth, const struct nc_place *place, struct nc_error *reterr)
{
	json_int_t number;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		if (depth == NC_JSON_DEPTH_MAX)
			return nc_place_error(place, reterr, "", "nested deeper than %d levels", NC_JSON_DEPTH_MAX);
		return json_is_object(value) ? check_members(value, depth + 1, place, reterr) : check_elements(value, depth + 1, place, reterr);
	case JSON_REAL:
		return nc_place_error(place, reterr, "write an integer", "a number is written with a fraction or an exponent");
	case JSON_INTEGER:
		number = json_integer_value(value);
		if (number > NC_JSON_INTEGER_MAX || number < -NC_JSON_INTEGER_MAX)
			return nc_place_error(place, reterr, "write it as a string",
					      "a number lies outside -(2^53 - 1) to 2^53 - 1, which readers round differently");
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

/* What was likely meant where the grammar broke: jansson's position is the byte behind what it did not expect. "" when nothing comes to mind. */
static const char *syntax_hint(const char *text, size_t length, const json_error_t *error)
{
	size_t at = error->position > 0 && (size_t)error->position <= length ? (size_t)error->position - 1 : 0, before = at;

	if (json_error_code(error) == json_error_duplicate_key)
		return "a member stands once: take one of the two away";
	if (json_error_code(error) == json_error_premature_end_of_input)
		return "the document ends too early: a bracket or a quotation mark is not closed";
	if (json_error_code(error) != json_error_invalid_syntax || !length)
		return "";
	while (before > 0 && strchr(" \t\r\n", text[before - 1]))
		before--;
	if (strchr("}]", text[at]) && before > 0 && text[before - 1] == ',')
		return "JSON has no comma behind the last one: take it away";
	if (text[at] == '\'')
		return "strings stand in double quotation marks";
	if (text[at] == '/' || text[at] == '#')
		return "JSON has no comments";
	if (text[at] == '"' && !strncmp(error->text, "'}' expected", 12))
		return "a comma is missing before it";
	return "";
}

static int syntax_error(const char *text, size_t length, const json_error_t *error, enum nc_error_code code, struct nc_error *reterr)
{
	char safe[NC_TEXT_SAFE_SIZE(JSON_ERROR_TEXT_LENGTH)];
	const char *hint = syntax_hint(text, length, error);
	int r;

	nc_text_safe(error->text, strnlen(error->text, sizeof(error->text)), safe, sizeof(safe));
	r = nc_error_set(reterr, code, -EINVAL, "not strict JSON: line %d, column %d: %s", error->line, error->column, safe);
	return *hint ? nc_error_hint(reterr, "%s", hint) : r;
}

/* The text need not end with NUL. */
static bool is_blank(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	return i == length;
}

int nc_json_parse(const char *text, size_t length, enum nc_error_code code, json_t **ret_value, struct nc_error *reterr)
{
	NC_JSON json_t *value = NULL;
	json_error_t error;
	int r = nc_json_check_memory(reterr);

	if (r < 0)
		return r;
	if (length > NC_JSON_SIZE_MAX)
		return nc_error_set(reterr, code, -EFBIG, "the document is larger than %u MiB", NC_JSON_SIZE_MAX >> 20);
	if (is_blank(text, length))
		return nc_error_set(reterr, code, -EINVAL, "nothing stands in it: a JSON document is expected");
	if (memchr(text, '\0', length))
		return nc_error_set(reterr, code, -EINVAL, "not strict JSON: a NUL byte");
	value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	r = nc_json_check_memory(reterr); /* reading is over: nothing of it is used */
	nc_json_forget_memory();
	if (r < 0)
		return r;
	if (!value)
		return syntax_error(text, length, &error, code, reterr);
	r = check_value(value, 0, &(const struct nc_place){.code = code}, reterr);
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

const char *nc_json_text(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member)) ?: "";
}

json_t *nc_json_u64(uint64_t value)
{
	return json_sprintf("%" PRIu64, value);
}
