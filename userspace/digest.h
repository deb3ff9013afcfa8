/* SPDX-License-Identifier: GPL-2.0-only */
/* digest.h - SHA-256 (FIPS 180-4, by libsodium) and its hexadecimal spelling */
#ifndef NC_DIGEST_H
#define NC_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define NC_DIGEST_SIZE 32
#define NC_DIGEST_HEX 65 /* lower-case hex with its NUL */

struct nc_digest {
	uint8_t bytes[NC_DIGEST_SIZE];
};

void nc_digest_of(const void *bytes, size_t size, struct nc_digest *ret_digest);
void nc_digest_hex(const struct nc_digest *digest, char ret_hex[NC_DIGEST_HEX]);

#endif
