/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * text.h - text that somebody else chose, made safe to show
 *
 * A task's name, a server name, a member's name in a hostile document: each may hold line feeds, terminal controls or a whole forged record. What
 * comes out is printable ASCII on one line, and two different inputs never come out the same.
 */
#ifndef NC_TEXT_H
#define NC_TEXT_H

#include <stddef.h>

/* Bytes that nc_text_safe may need for `length` bytes of input, the NUL included. */
#define NC_TEXT_SAFE_SIZE(length) ((length)*4 + 1)

/* Printable ASCII stays, a backslash is doubled, every other byte becomes \xNN (lower case). Cut at a whole escape when `size` is too small;
 * always NUL-terminated for size > 0. Returns the length written. */
size_t nc_text_safe(const char *bytes, size_t length, char *ret_text, size_t size);

/* The word of `words` (NULL-terminated) that `typed` is likely meant to be, or NULL. Words longer than NC_NEAREST_WORD bytes are like no other. */
#define NC_NEAREST_WORD 32
const char *nc_nearest(const char *typed, const char *const *words);

#endif
