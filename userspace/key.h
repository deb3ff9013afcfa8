/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * key.h - Ed25519 keys (RFC 8032) as PEM: PKCS#8 private (RFC 8410, RFC 5958), SPKI public
 *
 * A secret key lives in sodium_malloc'ed memory, is read from a file of mode 0600 or tighter that the caller owns, and is never put in an
 * environment or overwritten. A process forked from the holder gets zeros in its place. Public keys of low order or in a non-canonical encoding are
 * refused when they load.
 */
#ifndef NC_KEY_H
#define NC_KEY_H

#include <stddef.h>
#include <stdint.h>
#include "error.h"

#define NC_KEY_ID_HEX 65 /* SHA-256 of the 32 public bytes, lower-case hex with NUL */
#define NC_SIGNATURE_SIZE 64

struct nc_secret_key; /* opaque, guarded memory */
struct nc_public_key {
	uint8_t bytes[32];
};

/* Writes a new key to `path` (0600, O_EXCL, synced with its folder). KEY_EXISTS when something is there, a dangling link included. */
int nc_key_generate(const char *path, struct nc_error *reterr);
int nc_key_load_secret(const char *path, struct nc_secret_key **ret_key, struct nc_error *reterr);
void nc_key_free(struct nc_secret_key *key);
void nc_key_public(const struct nc_secret_key *key, struct nc_public_key *ret_public);
int nc_key_load_public(const char *path, struct nc_public_key *ret_key, struct nc_error *reterr);
/* SPKI PEM text, NUL-terminated; the caller frees. */
int nc_key_public_pem(const struct nc_public_key *key, char **ret_pem, struct nc_error *reterr);
void nc_key_id(const struct nc_public_key *key, char ret_hex[NC_KEY_ID_HEX]);
/* KEY_INVALID unless the bytes are the canonical encoding of a point of the prime-order subgroup, which every honest key is (RFC 8032, 5.1.5). */
int nc_key_check(const struct nc_public_key *key, struct nc_error *reterr);

/* Ed25519 as in RFC 8032, 5.1.6 (PureEdDSA, no context). -EIO when the signature made does not verify: what a fault of memory or processor makes of one
 * could give the key away, and proves nothing, so it does not get out. */
int nc_key_sign(const struct nc_secret_key *key, const void *message, size_t length, uint8_t ret_signature[NC_SIGNATURE_SIZE],
		struct nc_error *reterr);
/* 0, or -EBADMSG with EVIDENCE_INVALID. Strict: S is reduced, R and the key are canonical and not of low order, whoever loaded the key (KEY_INVALID). */
int nc_key_verify(const struct nc_public_key *key, const void *message, size_t length, const uint8_t signature[NC_SIGNATURE_SIZE],
		  struct nc_error *reterr);

#endif
