/* SPDX-License-Identifier: GPL-2.0-only */
/* digest.c - SHA-256 (FIPS 180-4) and its hexadecimal spelling, by libsodium */
#include "digest.h"

#include <sodium.h>

_Static_assert(NC_DIGEST_SIZE == crypto_hash_sha256_BYTES, "a digest is a SHA-256");

void nc_digest_of(const void *bytes, size_t size, struct nc_digest *ret_digest)
{
	crypto_hash_sha256(ret_digest->bytes, bytes, size);
}

void nc_digest_hex(const struct nc_digest *digest, char ret_hex[NC_DIGEST_HEX])
{
	sodium_bin2hex(ret_hex, NC_DIGEST_HEX, digest->bytes, sizeof(digest->bytes));
}
