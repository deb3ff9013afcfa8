/* SPDX-License-Identifier: GPL-2.0-only */
/* fields.c - reading the members of a strict JSON object */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "fields.h"

int nc_fields_refuse(const struct nc_fields *fields, const char *name, struct nc_error *reterr, const char *format, ...)
{
	char rule[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(rule, sizeof(rule), format, arguments);
	va_end(arguments);
	nc_error_set(reterr, fields->code, -EINVAL, "%s%s%.64s: %s", fields->pointer, name ? "/" : "", name ? name : "", rule);
	snprintf(reterr->pointer, sizeof(reterr->pointer), "%s%s%.64s", fields->pointer, name ? "/" : "", name ? name : "");
	return -EINVAL;
}

static bool known(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (!strcmp(*names, name))
			return true;
	}
	return false;
}

int nc_fields_begin(struct nc_fields *fields, const json_t *value, const char *pointer, enum nc_error_code code, const char *const *names,
		    struct nc_error *reterr)
{
	struct nc_fields begun = {.object = value, .pointer = pointer, .code = code};
	const char *name;
	json_t *member = NULL;

	if (!json_is_object(value))
		return nc_fields_refuse(&begun, NULL, reterr, "must be an object");
	json_object_foreach((json_t *)value, name, member)
	{
		if (!known(names, name))
			return nc_fields_refuse(&begun, name, reterr, "is not a member that this document may have");
	}
	*fields = begun;
	return 0;
}

static int member_of(const struct nc_fields *fields, const char *name, json_t **ret_member, struct nc_error *reterr)
{
	json_t *member = json_object_get(fields->object, name);

	if (!member)
		return nc_fields_refuse(fields, name, reterr, "is missing");
	*ret_member = member;
	return 0;
}

int nc_fields_text(const struct nc_fields *fields, const char *name, char *ret_text, size_t size, struct nc_error *reterr)
{
	json_t *member = NULL;
	int r = member_of(fields, name, &member, reterr);

	if (r < 0)
		return r;
	if (!json_is_string(member))
		return nc_fields_refuse(fields, name, reterr, "must be a string");
	if (!json_string_length(member) || json_string_length(member) >= size)
		return nc_fields_refuse(fields, name, reterr, "must be a string of 1 to %zu bytes", size - 1);
	memcpy(ret_text, json_string_value(member), json_string_length(member) + 1);
	return 0;
}

int nc_fields_integer(const struct nc_fields *fields, const char *name, int64_t low, int64_t high, int64_t *ret_value, struct nc_error *reterr)
{
	json_t *member = NULL;
	int r = member_of(fields, name, &member, reterr);

	if (r < 0)
		return r;
	if (!json_is_integer(member) || json_integer_value(member) < low || json_integer_value(member) > high)
		return nc_fields_refuse(fields, name, reterr, "must be an integer from %lld to %lld", (long long)low, (long long)high);
	*ret_value = json_integer_value(member);
	return 0;
}

int nc_fields_boolean(const struct nc_fields *fields, const char *name, bool *ret_value, struct nc_error *reterr)
{
	json_t *member = NULL;
	int r = member_of(fields, name, &member, reterr);

	if (r < 0)
		return r;
	if (!json_is_boolean(member))
		return nc_fields_refuse(fields, name, reterr, "must be true or false");
	*ret_value = json_is_true(member);
	return 0;
}

int nc_fields_words(const struct nc_fields *fields, const char *name, const json_t **ret_array, struct nc_error *reterr)
{
	json_t *member = NULL;
	int r = member_of(fields, name, &member, reterr);

	if (r < 0)
		return r;
	if (!json_is_array(member))
		return nc_fields_refuse(fields, name, reterr, "must be an array of strings");
	for (size_t i = 0; i < json_array_size(member); i++) {
		const char *word = json_string_value(json_array_get(member, i));

		if (!word || !*word)
			return nc_fields_refuse(fields, name, reterr, "row %zu must be a string that is not empty", i);
		for (size_t j = 0; j < i; j++) {
			if (!strcmp(word, json_string_value(json_array_get(member, j))))
				return nc_fields_refuse(fields, name, reterr, "row %zu repeats row %zu", i, j);
		}
	}
	*ret_array = member;
	return 0;
}

int nc_fields_part(const struct nc_fields *fields, const char *name, json_type type, const json_t **ret_part, struct nc_error *reterr)
{
	json_t *member = NULL;
	int r = member_of(fields, name, &member, reterr);

	if (r < 0)
		return r;
	if (json_typeof(member) != type)
		return nc_fields_refuse(fields, name, reterr, "must be an %s", type == JSON_OBJECT ? "object" : "array");
	*ret_part = member;
	return 0;
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
