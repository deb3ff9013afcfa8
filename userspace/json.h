/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json.h - JSON at the border: read strictly, write canonically
 *
 * Reading refuses what two parsers could understand differently: duplicate keys, NUL in a key or a string, invalid UTF-8, bad escapes, lone
 * surrogates, numbers that are not integers within +-(2^53 - 1), anything after the document, nesting beyond 32, documents over a limit.
 * Canonical form is RFC 8785 restricted to ASCII keys, strings, booleans, null-free objects and arrays, and such integers. A number that can be
 * larger (a counter, a time in nanoseconds, a generation) travels as a string of decimal digits.
 */
#ifndef NC_JSON_H
#define NC_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include "error.h"

#define NC_JSON_SIZE_MAX (16u << 20) /* bytes of one document: a profile of 100,000 destinations fits */
#define NC_JSON_DEPTH_MAX 32
#define NC_JSON_INTEGER_MAX 9007199254740991 /* 2^53 - 1: what every reader holds exactly (RFC 7493, 2.2) */

/* `code` is what a refusal is called (PROFILE_INVALID, EVIDENCE_INVALID, ...). The caller owns *ret_value (json_decref). */
int nc_json_parse(const char *text, size_t length, enum nc_error_code code, json_t **ret_value, struct nc_error *reterr);
/* Canonical bytes of `value`, NUL-terminated beyond *ret_length; the caller frees. -EINVAL for what the canonical form cannot hold. */
int nc_json_canonical(const json_t *value, char **ret_text, size_t *ret_length, struct nc_error *reterr);

/* A member of an object that is canonical text already: what made it has given its memory back, which a tree of values needs ten times as much of. */
struct nc_json_member {
	const char *name; /* ASCII; borrowed */
	char *text;	  /* owned by whoever holds the member */
	size_t length;
};
/* The same for an object that has these members too, behind the bytes of `before` (which *ret_length counts). -EINVAL for a name that stands twice. */
int nc_json_canonical_with(const char *before, const json_t *object, const struct nc_json_member *members, size_t count, char **ret_text,
			   size_t *ret_length, struct nc_error *reterr);

/* nc_json_parse of what must already be canonical: -EBADMSG when writing it again gives other bytes. `name` is for errors. */
int nc_json_parse_canonical(const char *name, const char *text, size_t length, enum nc_error_code code, json_t **ret_value, struct nc_error *reterr);

/* A member that is a string, borrowed; "" where there is none. */
const char *nc_json_text(const json_t *object, const char *member);
/* 64 bits as a string of decimal digits. A new reference; NULL only without memory. */
json_t *nc_json_u64(uint64_t value);
/* The reverse: exactly the digits that nc_json_u64 writes, so no sign, no leading zero, nothing beyond 2^64 - 1. False: it is not that. */
bool nc_json_read_u64(const json_t *value, uint64_t *ret_value);

/*
 * Documents are whole or they are not written (json_memory.c). From nc_json_watch_memory on, a demand of jansson's for memory that fails makes
 * nc_json_canonical and nc_output_json fail in that thread (-ENOMEM), until nc_json_forget_memory says that what was being made has been given up.
 */
void nc_json_watch_memory(void);
int nc_json_check_memory(struct nc_error *reterr);
void nc_json_forget_memory(void);

static inline void nc_cleanup_json(json_t **value)
{
	json_decref(*value);
}
#define NC_JSON __attribute__((cleanup(nc_cleanup_json)))

#endif
