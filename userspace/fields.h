/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fields.h - the members of a strict JSON object, one by one
 *
 * A document with a known set of members is read with these: a member that nobody knows, is missing or has another type is an error that names
 * its place as a JSON pointer. The error's code is the document's (CAPABILITY_INVALID, RECEIPT_INVALID, ...).
 */
#ifndef NC_FIELDS_H
#define NC_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "error.h"

/* One object of a document, and where it stands: "" is the document itself, "/cases/3" a part of it. */
struct nc_fields {
	const json_t *object;
	const char *pointer;
	enum nc_error_code code;
};

/* `value` is an object and has no member beside `names` (NULL-terminated). */
int nc_fields_begin(struct nc_fields *fields, const json_t *value, const char *pointer, enum nc_error_code code, const char *const *names,
		    struct nc_error *reterr);
/* Refuses the member with the rule that it breaks, and names its place. Always negative. */
int nc_fields_refuse(const struct nc_fields *fields, const char *name, struct nc_error *reterr, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A required string of 1 to size-1 bytes, copied with its NUL. */
int nc_fields_text(const struct nc_fields *fields, const char *name, char *ret_text, size_t size, struct nc_error *reterr);
/* A required integer within [low, high]. */
int nc_fields_integer(const struct nc_fields *fields, const char *name, int64_t low, int64_t high, int64_t *ret_value, struct nc_error *reterr);
int nc_fields_boolean(const struct nc_fields *fields, const char *name, bool *ret_value, struct nc_error *reterr);
/* A required array of strings without repetition; borrowed from the document. */
int nc_fields_words(const struct nc_fields *fields, const char *name, const json_t **ret_array, struct nc_error *reterr);
/* A required object or array, borrowed. */
int nc_fields_part(const struct nc_fields *fields, const char *name, json_type type, const json_t **ret_part, struct nc_error *reterr);
/* 64 lower-case hexadecimal digits: a SHA-256. */
int nc_fields_digest(const struct nc_fields *fields, const char *name, char ret_hex[65], struct nc_error *reterr);

#endif
