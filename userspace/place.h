/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * place.h - where in a document we are, and strict reading of its members
 *
 * A place is a chain on the stack, one link for each level; it becomes a JSON pointer (RFC 6901) only when there is something to complain about, so
 * that a hundred thousand entries in order cost nothing. The root names what a complaint is called (PROFILE_INVALID, ...).
 *
 * Text that comes from the document is made safe before it enters a message (nc_text_safe), and is cut.
 */
#ifndef NC_PLACE_H
#define NC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include "error.h"
#include "text.h"

struct nc_place {
	const struct nc_place *parent; /* NULL: the root, whose key and index mean nothing */
	const char *key;	       /* member of an object; NULL: element `index` of an array */
	size_t index;
	enum nc_error_code code; /* of the root */
	const char *pointer;	 /* of the root: where it stands itself, in a larger document; NULL: it is the document */
};

#define NC_PLACE_KEY(parent_, key_) (&(const struct nc_place){.parent = (parent_), .key = (key_)})
#define NC_PLACE_INDEX(parent_, index_) (&(const struct nc_place){.parent = (parent_), .index = (index_)})

#define NC_QUOTE_BYTES 48
#define NC_QUOTE_SIZE (NC_TEXT_SAFE_SIZE(NC_QUOTE_BYTES) + 3)
/* The text for use in a message: its first NC_QUOTE_BYTES, then "..." when there are more. Returns `ret_quote`. */
const char *nc_quote(const char *text, size_t length, char ret_quote[NC_QUOTE_SIZE]);

/* Fills reterr with the root's code, the pointer, the hint ("" for none) and the message. Returns -EINVAL. */
int nc_place_error(const struct nc_place *place, struct nc_error *reterr, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* -EINVAL unless `value` is an object with no other keys than `members` (NULL-terminated). A key that differs only in case is named as such. */
int nc_object_check(const json_t *value, const struct nc_place *place, const char *const *members, struct nc_error *reterr);

/*
 * One member of a checked object. Absent: 0 and *ret untouched when not `required`, else an error at the object. A wrong type, null included, is an
 * error at the member. What is returned belongs to the document.
 */
int nc_member_object(const json_t *object, const struct nc_place *place, const char *key, bool required, json_t **ret_value, struct nc_error *reterr);
int nc_member_array(const json_t *object, const struct nc_place *place, const char *key, bool required, json_t **ret_value, struct nc_error *reterr);
int nc_member_string(const json_t *object, const struct nc_place *place, const char *key, bool required, const char **ret_text,
		     struct nc_error *reterr);
int nc_member_boolean(const json_t *object, const struct nc_place *place, const char *key, bool *ret_value, struct nc_error *reterr);
/* An integer from `low` to `high`, both included. */
int nc_member_integer(const json_t *object, const struct nc_place *place, const char *key, bool required, int64_t low, int64_t high,
		      int64_t *ret_value, struct nc_error *reterr);
/* A string that is one of `words` (NULL-terminated); *ret_index is which. */
int nc_member_word(const json_t *object, const struct nc_place *place, const char *key, bool required, const char *const *words, size_t *ret_index,
		   struct nc_error *reterr);

/* ---- the same, for documents whose members are copied out ------------------------------------------------------------------------------------ */

/* One object of a document, and where it stands: "" is the document itself, "/cases/3" a part of it. */
struct nc_fields {
	const json_t *object;
	const char *pointer; /* what is kept of the place: a chain would not outlive its function */
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
