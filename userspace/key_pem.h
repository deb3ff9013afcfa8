/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * key_pem.h - the one PEM spelling of an Ed25519 key: what `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write
 *
 * Armour as in RFC 7468, strict: a text is read only if it is exactly what writing its key again gives. So there is one file for one key, and
 * nothing else can hide in it.
 */
#ifndef NC_KEY_PEM_H
#define NC_KEY_PEM_H

#include <stddef.h>
#include <stdint.h>
#include "error.h"

enum nc_pem_kind { NC_PEM_PRIVATE, NC_PEM_PUBLIC };

#define NC_PEM_RAW_SIZE 32	    /* the seed (RFC 8032, 5.1.5) or the public point */
#define NC_PEM_TEXT_SIZE 128	    /* enough for either kind and its NUL */
#define NC_PEM_FILE_MAX (16u << 10) /* a larger file is no key; foreign keys are read so far to say what they are */

/* Returns the length without the NUL. */
size_t nc_pem_encode(enum nc_pem_kind kind, const uint8_t raw[NC_PEM_RAW_SIZE], char ret_text[NC_PEM_TEXT_SIZE]);
/* KEY_INVALID with a hint that says what was found instead; `where` names the text in it. The caller wipes ret_raw of a private key. */
int nc_pem_decode(enum nc_pem_kind kind, const char *where, const char *text, size_t length, uint8_t ret_raw[NC_PEM_RAW_SIZE],
		  struct nc_error *reterr);

#endif
