/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * key.h - Ed25519 keys (RFC 8032) as PEM: PKCS#8 private (RFC 8410, RFC 5958), SPKI public
 *
 * A secret key lives in sodium_malloc'ed memory, is read from a file of mode 0600 or tighter that the caller owns, and is never put in an
 * environment or overwritten. Public keys of low order or in a non-canonical encoding are refused when they load.
 */
#ifndef NC_KEY_H
#define NC_KEY_H

#include <stdint.h>
#include "error.h"

#define NC_KEY_ID_HEX 65 /* SHA-256 of the 32 public bytes, lower-case hex with NUL */

struct nc_secret_key; /* opaque, guarded memory */
struct nc_public_key {
	uint8_t bytes[32];
};

/* Writes a new key to `path` (0600, O_EXCL, synced). KEY_EXISTS when something is there. */
int nc_key_generate(const char *path, struct nc_error *reterr);
int nc_key_load_secret(const char *path, struct nc_secret_key **ret_key, struct nc_error *reterr);
void nc_key_free(struct nc_secret_key *key);
void nc_key_public(const struct nc_secret_key *key, struct nc_public_key *ret_public);
int nc_key_load_public(const char *path, struct nc_public_key *ret_key, struct nc_error *reterr);
/* SPKI PEM text, NUL-terminated; the caller frees. */
int nc_key_public_pem(const struct nc_public_key *key, char **ret_pem, struct nc_error *reterr);
void nc_key_id(const struct nc_public_key *key, char ret_hex[NC_KEY_ID_HEX]);

#endif
