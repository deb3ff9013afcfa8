/* SPDX-License-Identifier: GPL-2.0-only */
/* place.c - JSON pointers for complaints, and strict reading of members. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "place.h"

const char *nc_quote(const char *text, size_t length, char ret_quote[NC_QUOTE_SIZE])
{
	nc_text_safe(text, length < NC_QUOTE_BYTES ? length : NC_QUOTE_BYTES, ret_quote, NC_QUOTE_SIZE);
	if (length > NC_QUOTE_BYTES)
		strcat(ret_quote, "...");
	return ret_quote;
}

/* Appends one link and those before it; what does not fit is left out whole, so that a pointer never ends inside an escape. */
static size_t place_render(const struct nc_place *place, char *text, size_t size)
{
	char step[NC_QUOTE_SIZE * 2 + 1], quote[NC_QUOTE_SIZE];
	size_t used, length = 0;

	if (!place->parent)
		return place->pointer ? (size_t)snprintf(text, size, "%s", place->pointer) : 0;
	used = place_render(place->parent, text, size);
	step[length++] = '/';
	if (place->key) {
		nc_quote(place->key, strlen(place->key), quote);
		for (const char *c = quote; *c; c++) {
			if (*c == '~' || *c == '/') {
				step[length++] = '~';
				step[length++] = *c == '~' ? '0' : '1';
			} else {
				step[length++] = *c;
			}
		}
		step[length] = '\0';
	} else {
		length += (size_t)snprintf(step + 1, sizeof(step) - 1, "%zu", place->index);
	}
	if (used + length >= size)
		return used;
	memcpy(text + used, step, length + 1);
	return used + length;
}

int nc_place_error(const struct nc_place *place, struct nc_error *reterr, const char *hint, const char *format, ...)
{
	const struct nc_place *root = place;
	char message[sizeof(reterr->detail)];
	va_list arguments;

	while (root->parent)
		root = root->parent;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	nc_error_set(reterr, root->code, -EINVAL, "%s", message);
	reterr->pointer[0] = '\0';
	place_render(place, reterr->pointer, sizeof(reterr->pointer));
	if (*hint)
		nc_error_hint(reterr, "%s", hint);
	return -EINVAL;
}

static const char *type_word(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	default:
		return "null";
	}
}

static int type_error(const json_t *value, const struct nc_place *place, const char *wanted, struct nc_error *reterr)
{
	return nc_place_error(place, reterr, json_is_null(value) ? "leave the member out to take its default, where it has one" : "",
			      "must be %s, not %s", wanted, type_word(value));
}

/* What was likely meant, or else everything that may stand there. */
static void hint_key(const char *key, const char *const *members, char *hint, size_t size)
{
	const char *near = nc_nearest(key, members);

	for (const char *const *known = members; *known; known++)
		if (!strcasecmp(*known, key)) {
			snprintf(hint, size, "keys are case-sensitive: write \"%s\"", *known);
			return;
		}
	if (near) {
		snprintf(hint, size, "did you mean \"%s\"?", near);
		return;
	}
	for (size_t used = 0, i = 0; members[i] && used < size; i++)
		used += (size_t)snprintf(hint + used, size - used, i ? ", %s" : "known here: %s", members[i]);
}

int nc_object_check(const json_t *value, const struct nc_place *place, const char *const *members, struct nc_error *reterr)
{
	char quote[NC_QUOTE_SIZE], hint[sizeof(reterr->hint)] = "";
	const char *key;
	json_t *member;

	if (!json_is_object(value))
		return type_error(value, place, "an object", reterr);
	json_object_foreach((json_t *)value, key, member)
	{
		const char *const *known = members;

		while (*known && strcmp(*known, key))
			known++;
		if (*known)
			continue;
		hint_key(key, members, hint, sizeof(hint));
		return nc_place_error(NC_PLACE_KEY(place, key), reterr, hint, "unknown key \"%s\"", nc_quote(key, strlen(key), quote));
	}
	return 0;
}

/* The member, or NULL with *ret_status 0 (absent, not required) or -EINVAL (absent, required). */
static json_t *member_get(const json_t *object, const struct nc_place *place, const char *key, bool required, int *ret_status,
			  struct nc_error *reterr)
{
	json_t *value = json_object_get(object, key);

	*ret_status = 0;
	if (!value && required)
		*ret_status = nc_place_error(place, reterr, "", "\"%s\" is missing", key);
	return value;
}

int nc_member_object(const json_t *object, const struct nc_place *place, const char *key, bool required, json_t **ret_value, struct nc_error *reterr)
{
	int status;
	json_t *value = member_get(object, place, key, required, &status, reterr);

	if (!value)
		return status;
	if (!json_is_object(value))
		return type_error(value, NC_PLACE_KEY(place, key), "an object", reterr);
	*ret_value = value;
	return 0;
}

int nc_member_array(const json_t *object, const struct nc_place *place, const char *key, bool required, json_t **ret_value, struct nc_error *reterr)
{
	int status;
	json_t *value = member_get(object, place, key, required, &status, reterr);

	if (!value)
		return status;
	if (!json_is_array(value))
		return type_error(value, NC_PLACE_KEY(place, key), "an array", reterr);
	*ret_value = value;
	return 0;
}

int nc_member_string(const json_t *object, const struct nc_place *place, const char *key, bool required, const char **ret_text,
		     struct nc_error *reterr)
{
	int status;
	json_t *value = member_get(object, place, key, required, &status, reterr);

	if (!value)
		return status;
	if (!json_is_string(value))
		return type_error(value, NC_PLACE_KEY(place, key), "a string", reterr);
	if (strlen(json_string_value(value)) != json_string_length(value))
		return nc_place_error(NC_PLACE_KEY(place, key), reterr, "", "a string may not hold NUL");
	*ret_text = json_string_value(value);
	return 0;
}

int nc_member_boolean(const json_t *object, const struct nc_place *place, const char *key, bool *ret_value, struct nc_error *reterr)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		return 0;
	if (!json_is_boolean(value))
		return type_error(value, NC_PLACE_KEY(place, key), "true or false", reterr);
	*ret_value = json_is_true(value);
	return 0;
}

int nc_member_integer(const json_t *object, const struct nc_place *place, const char *key, bool required, int64_t low, int64_t high,
		      int64_t *ret_value, struct nc_error *reterr)
{
	int status;
	json_t *value = member_get(object, place, key, required, &status, reterr);

	if (!value)
		return status;
	if (!json_is_integer(value))
		return type_error(value, NC_PLACE_KEY(place, key), "an integer", reterr);
	if (low == high && json_integer_value(value) != low)
		return nc_place_error(NC_PLACE_KEY(place, key), reterr, "", "must be %" PRId64 ", not %lld", low,
				      (long long)json_integer_value(value));
	if (json_integer_value(value) < low || json_integer_value(value) > high)
		return nc_place_error(NC_PLACE_KEY(place, key), reterr, "", "must be from %" PRId64 " to %" PRId64 ", not %lld", low, high,
				      (long long)json_integer_value(value));
	*ret_value = json_integer_value(value);
	return 0;
}

int nc_member_word(const json_t *object, const struct nc_place *place, const char *key, bool required, const char *const *words, size_t *ret_index,
		   struct nc_error *reterr)
{
	char quote[NC_QUOTE_SIZE], known[192] = "";
	const char *text = NULL, *near;
	size_t used = 0;
	int status = nc_member_string(object, place, key, required, &text, reterr);

	if (status || !text)
		return status;
	for (size_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*ret_index = i;
			return 0;
		}
	}
	near = nc_nearest(text, words);
	if (near)
		used = (size_t)snprintf(known, sizeof(known), "did you mean \"%s\"? ", near);
	for (size_t i = 0; words[i] && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, i ? ", %s" : "one of: %s", words[i]);
	return nc_place_error(NC_PLACE_KEY(place, key), reterr, known, "\"%s\" is not a known word", nc_quote(text, strlen(text), quote));
}

/* ---- members copied out --------------------------------------------------------------------------------------------------------------------- */

static struct nc_place place_of(const struct nc_fields *fields)
{
	return (struct nc_place){.code = fields->code, .pointer = fields->pointer};
}

int nc_fields_refuse(const struct nc_fields *fields, const char *name, struct nc_error *reterr, const char *format, ...)
{
	const struct nc_place place = place_of(fields);
	char rule[sizeof(reterr->detail)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(rule, sizeof(rule), format, arguments);
	va_end(arguments);
	return nc_place_error(name ? NC_PLACE_KEY(&place, name) : &place, reterr, "", "%s", rule);
}

/* Of a document whose members are all required, the place of a missing one is where it should stand. */
static int require(const struct nc_fields *fields, const char *name, struct nc_error *reterr)
{
	return json_object_get(fields->object, name) ? 0 : nc_fields_refuse(fields, name, reterr, "is missing");
}

int nc_fields_begin(struct nc_fields *fields, const json_t *value, const char *pointer, enum nc_error_code code, const char *const *names,
		    struct nc_error *reterr)
{
	const struct nc_fields begun = {.object = value, .pointer = pointer, .code = code};
	const struct nc_place place = place_of(&begun);
	int r = nc_object_check(value, &place, names, reterr);

	if (r == 0)
		*fields = begun;
	return r;
}

int nc_fields_text(const struct nc_fields *fields, const char *name, char *ret_text, size_t size, struct nc_error *reterr)
{
	const struct nc_place place = place_of(fields);
	const char *text = NULL;
	int r = require(fields, name, reterr) ?: nc_member_string(fields->object, &place, name, true, &text, reterr);

	if (r < 0)
		return r;
	if (!*text || strlen(text) >= size)
		return nc_fields_refuse(fields, name, reterr, "must be a string of 1 to %zu bytes", size - 1);
	memcpy(ret_text, text, strlen(text) + 1);
	return 0;
}

int nc_fields_integer(const struct nc_fields *fields, const char *name, int64_t low, int64_t high, int64_t *ret_value, struct nc_error *reterr)
{
	const struct nc_place place = place_of(fields);

	return require(fields, name, reterr) ?: nc_member_integer(fields->object, &place, name, true, low, high, ret_value, reterr);
}

int nc_fields_boolean(const struct nc_fields *fields, const char *name, bool *ret_value, struct nc_error *reterr)
{
	const struct nc_place place = place_of(fields);

	return require(fields, name, reterr) ?: nc_member_boolean(fields->object, &place, name, ret_value, reterr);
}

int nc_fields_words(const struct nc_fields *fields, const char *name, const json_t **ret_array, struct nc_error *reterr)
{
	const struct nc_place place = place_of(fields);
	json_t *array = NULL;
	int r = require(fields, name, reterr) ?: nc_member_array(fields->object, &place, name, true, &array, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *word = json_string_value(json_array_get(array, i));

		if (!word || !*word)
			return nc_fields_refuse(fields, name, reterr, "row %zu must be a string that is not empty", i);
		for (size_t j = 0; j < i; j++) {
			if (!strcmp(word, json_string_value(json_array_get(array, j))))
				return nc_fields_refuse(fields, name, reterr, "row %zu repeats row %zu", i, j);
		}
	}
	*ret_array = array;
	return 0;
}

int nc_fields_part(const struct nc_fields *fields, const char *name, json_type type, const json_t **ret_part, struct nc_error *reterr)
{
	const struct nc_place place = place_of(fields);
	json_t *part = NULL;
	int r = require(fields, name, reterr);

	if (r == 0)
		r = type == JSON_OBJECT ? nc_member_object(fields->object, &place, name, true, &part, reterr)
					: nc_member_array(fields->object, &place, name, true, &part, reterr);
	if (r == 0)
		*ret_part = part;
	return r;
}

int nc_fields_digest(const struct nc_fields *fields, const char *name, char ret_hex[65], struct nc_error *reterr)
{
	char hex[65];
	int r = nc_fields_text(fields, name, hex, sizeof(hex), reterr);

	if (r < 0)
		return r;
	if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
		return nc_fields_refuse(fields, name, reterr, "must be a SHA-256 as 64 lower-case hexadecimal digits");
	memcpy(ret_hex, hex, sizeof(hex));
	return 0;
}
