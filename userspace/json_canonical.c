/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json_canonical.c - the one spelling of a JSON value: RFC 8785, restricted as json.h says
 *
 * jansson's own writer is not used: it spells controls as \u001F where RFC 8785 (3.2.2.2, after ECMAScript) wants \u001f, and it writes
 * values that the restricted form cannot hold. Keys are ASCII, so ordering by bytes is the ordering by UTF-16 code units of 3.2.3.
 */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"

struct output {
	char *text;
	size_t length, size;
	const struct nc_json_member *members; /* of the topmost object */
	size_t member_count;
};

static int refuse(struct nc_error *reterr, const char *what)
{
	return nc_error_set(reterr, NC_E_SYSTEM, -EINVAL, "canonical JSON cannot hold %s", what);
}

static int put(struct output *output, const char *bytes, size_t length, struct nc_error *reterr)
{
	if (length >= output->size - output->length) {
		size_t size = output->size * 2 > output->length + length + 1 ? output->size * 2 : output->length + length + 256;
		char *text = realloc(output->text, size);

		if (!text)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for canonical JSON");
		output->text = text;
		output->size = size;
	}
	memcpy(output->text + output->length, bytes, length);
	output->length += length;
	output->text[output->length] = '\0';
	return 0;
}

/* The short escapes of RFC 8785, 3.2.2.2; other controls are \u00xx in lower case; everything else stands as it is. */
static int put_string(struct output *output, const char *text, size_t length, struct nc_error *reterr)
{
	static const char *const named[0x20] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"};
	size_t plain = 0; /* start of the run that needs no escape */
	char numbered[8];
	int r;

	r = put(output, "\"", 1, reterr);
	for (size_t i = 0; r == 0 && i < length; i++) {
		unsigned char byte = (unsigned char)text[i];
		const char *escape;

		if (byte >= 0x20 && byte != '"' && byte != '\\')
			continue;
		if (byte >= 0x20) {
			escape = byte == '"' ? "\\\"" : "\\\\";
		} else if (named[byte]) {
			escape = named[byte];
		} else {
			snprintf(numbered, sizeof(numbered), "\\u%04x", byte);
			escape = numbered;
		}
		r = put(output, text + plain, i - plain, reterr);
		if (r == 0)
			r = put(output, escape, strlen(escape), reterr);
		plain = i + 1;
	}
	if (r == 0)
		r = put(output, text + plain, length - plain, reterr);
	return r < 0 ? r : put(output, "\"", 1, reterr);
}

static int put_text_value(struct output *output, const json_t *value, struct nc_error *reterr)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (memchr(text, 0, length))
		return refuse(reterr, "NUL in a string");
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] >= 0x80) {
			/* jansson's constructors that do not check may have been used; the one that does says whether this is UTF-8. */
			NC_JSON json_t *checked = json_stringn(text, length);

			if (!checked)
				return refuse(reterr, "text that is not UTF-8");
			break;
		}
	}
	return put_string(output, text, length, reterr);
}

static int put_integer(struct output *output, json_int_t number, struct nc_error *reterr)
{
	char digits[24];

	if (number > NC_JSON_INTEGER_MAX || number < -NC_JSON_INTEGER_MAX)
		return refuse(reterr, "an integer outside -(2^53 - 1) to 2^53 - 1");
	return put(output, digits, (size_t)snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, number), reterr);
}

static int put_value(struct output *output, const json_t *value, unsigned int depth, struct nc_error *reterr);

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keys of `object` and of what stands beside it in order; the array is the caller's, the keys are not. */
static int sorted_keys(const json_t *object, const struct nc_json_member *members, size_t member_count, const char ***ret_keys,
		       struct nc_error *reterr)
{
	NC_FREE const char **keys = calloc(json_object_size(object) + member_count + 1, sizeof(*keys));
	size_t count = 0;

	if (!keys)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for canonical JSON");
	for (void *at = json_object_iter((json_t *)object); at; at = json_object_iter_next((json_t *)object, at)) {
		const char *key = json_object_iter_key(at);
		size_t length = json_object_iter_key_len(at);

		for (size_t i = 0; i < length; i++)
			if (key[i] == '\0' || (unsigned char)key[i] >= 0x80)
				return refuse(reterr, "a key that is not ASCII");
		keys[count++] = key;
	}
	for (size_t i = 0; i < member_count; i++)
		keys[count++] = members[i].name;
	qsort(keys, count, sizeof(*keys), by_bytes);
	*ret_keys = NC_TAKE_PTR(keys);
	return 0;
}

static const struct nc_json_member *find_member(const struct output *output, unsigned int depth, const char *name)
{
	for (size_t i = 0; depth == 1 && i < output->member_count; i++) {
		if (!strcmp(output->members[i].name, name))
			return &output->members[i];
	}
	return NULL;
}

static int put_object(struct output *output, const json_t *object, unsigned int depth, struct nc_error *reterr)
{
	NC_FREE const char **keys = NULL;
	int r;

	r = sorted_keys(object, output->members, depth == 1 ? output->member_count : 0, &keys, reterr);
	if (r == 0)
		r = put(output, "{", 1, reterr);
	for (size_t i = 0; r == 0 && keys[i]; i++) {
		const struct nc_json_member *member = find_member(output, depth, keys[i]);

		if (i && !strcmp(keys[i], keys[i - 1]))
			return refuse(reterr, "a member twice");
		r = i ? put(output, ",", 1, reterr) : 0;
		if (r == 0)
			r = put_string(output, keys[i], strlen(keys[i]), reterr);
		if (r == 0)
			r = put(output, ":", 1, reterr);
		if (r == 0)
			r = member ? put(output, member->text, member->length, reterr)
				   : put_value(output, json_object_get(object, keys[i]), depth, reterr);
	}
	return r < 0 ? r : put(output, "}", 1, reterr);
}

static int put_array(struct output *output, const json_t *array, unsigned int depth, struct nc_error *reterr)
{
	int r = put(output, "[", 1, reterr);

	for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
		r = i ? put(output, ",", 1, reterr) : 0;
		if (r == 0)
			r = put_value(output, json_array_get(array, i), depth, reterr);
	}
	return r < 0 ? r : put(output, "]", 1, reterr);
}

static int put_value(struct output *output, const json_t *value, unsigned int depth, struct nc_error *reterr)
{
	if (!value)
		return refuse(reterr, "nothing");
	switch (json_typeof(value)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		if (depth == NC_JSON_DEPTH_MAX)
			return refuse(reterr, "more than 32 levels");
		return json_is_object(value) ? put_object(output, value, depth + 1, reterr) : put_array(output, value, depth + 1, reterr);
	case JSON_STRING:
		return put_text_value(output, value, reterr);
	case JSON_INTEGER:
		return put_integer(output, json_integer_value(value), reterr);
	case JSON_TRUE:
		return put(output, "true", 4, reterr);
	case JSON_FALSE:
		return put(output, "false", 5, reterr);
	case JSON_REAL:
		return refuse(reterr, "a number that is not an integer");
	default:
		return refuse(reterr, "null");
	}
}

int nc_json_canonical_with(const char *before, const json_t *object, const struct nc_json_member *members, size_t count, char **ret_text,
			   size_t *ret_length, struct nc_error *reterr)
{
	struct output output = {.members = members, .member_count = count};
	int r = nc_json_check_memory(reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		output.size += members[i].length;
	if (count) { /* at once, not by doubling: what it grew out of would be touched for nothing */
		output.size += 4096;
		output.text = malloc(output.size);
		if (!output.text)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for canonical JSON");
	}
	r = put(&output, before, strlen(before), reterr) ?: put_value(&output, object, 0, reterr);
	if (r < 0) {
		free(output.text);
		return r;
	}
	*ret_text = output.text;
	*ret_length = output.length;
	return 0;
}

int nc_json_canonical(const json_t *value, char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	return nc_json_canonical_with("", value, NULL, 0, ret_text, ret_length, reterr);
}

int nc_json_parse_canonical(const char *name, const char *text, size_t length, enum nc_error_code code, json_t **ret_value, struct nc_error *reterr)
{
	NC_JSON json_t *value = NULL;
	NC_FREE char *again = NULL;
	struct nc_error inner = {0};
	size_t again_length = 0;
	int r;

	r = nc_json_parse(text, length, code, &value, &inner);
	if (r == 0)
		r = nc_json_canonical(value, &again, &again_length, &inner);
	if (r < 0) {
		nc_error_set(reterr, r == -ENOMEM ? NC_E_SYSTEM : code, r, "%s: %.200s", name, inner.detail);
		memcpy(reterr->pointer, inner.pointer, sizeof(inner.pointer));
		return r;
	}
	if (again_length != length || memcmp(again, text, length))
		return nc_error_set(reterr, code, -EBADMSG, "%s is not spelled canonically (RFC 8785)", name);
	*ret_value = value;
	value = NULL;
	return 0;
}
