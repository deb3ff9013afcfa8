// SPDX-License-Identifier: GPL-2.0-only
/* sign_cost.c - Ed25519 signatures and verifications a second, by the library that signs the evidence, over 4 KiB: as one line of JSON */
#include <sodium.h>
#include <stdio.h>
#include "measure.h"

#define MESSAGE 4096
#define SECONDS_EACH 1e9

int main(void)
{
	static unsigned char message[MESSAGE], public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES], signature[crypto_sign_BYTES];
	long signs = 0, verifies = 0;
	double began;

	if (sodium_init() < 0 || crypto_sign_keypair(public, secret))
		return 3;
	for (began = cpu_ns(); cpu_ns() - began < SECONDS_EACH; signs++)
		crypto_sign_detached(signature, NULL, message, MESSAGE, secret);
	for (began = cpu_ns(); cpu_ns() - began < SECONDS_EACH; verifies++)
		if (crypto_sign_verify_detached(signature, message, MESSAGE, public))
			return 1;
	printf("{\"sign\": %ld, \"verify\": %ld}\n", signs, verifies);
	return 0;
}
