/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_key.c - any bytes as a key's file and as a key's point: refused, or the one spelling of a usable key */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "key.h"
#include "key_pem.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_point(const struct nc_public_key *key)
{
	static const uint8_t forged[NC_SIGNATURE_SIZE] = {1};
	struct nc_error error = {0};

	/* R = the identity and S = 0 verify everything under a key of low order, wherever such a key is let in. */
	must(nc_key_verify(key, "message", 7, forged, &error) < 0 && error.code);
}

static void check_pem(enum nc_pem_kind kind, const char *text, size_t length)
{
	uint8_t raw[NC_PEM_RAW_SIZE];
	char again[NC_PEM_TEXT_SIZE];
	struct nc_error error = {0};
	struct nc_public_key key;

	if (nc_pem_decode(kind, "it", text, length, raw, &error) < 0) {
		must(error.code == NC_E_KEY_INVALID && error.detail[0] && error.hint[0]);
		return;
	}
	must(nc_pem_encode(kind, raw, again) == length && memcmp(again, text, length) == 0);
	if (kind == NC_PEM_PUBLIC) {
		memcpy(key.bytes, raw, sizeof(raw));
		check_point(&key);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* A copy of its own, without a NUL behind it, so that a look beyond the end is seen. */
	char *text = malloc(size + !size);
	struct nc_public_key key;

	memcpy(text, bytes, size);
	check_pem(NC_PEM_PRIVATE, text, size);
	check_pem(NC_PEM_PUBLIC, text, size);
	if (size >= sizeof(key.bytes)) {
		memcpy(key.bytes, bytes, sizeof(key.bytes));
		check_point(&key);
	}
	free(text);
	return 0;
}
