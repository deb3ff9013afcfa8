/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_json.c - any bytes as a document: refused with one line, or held exactly by its canonical form */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* Canonical form, read again, is the same value and its own canonical form. */
static void check_canonical(const json_t *value)
{
	json_t *again = NULL, *strict = NULL;
	char *text = NULL, *second = NULL;
	size_t length, second_length;
	struct nc_error error;

	if (nc_json_canonical(value, &text, &length, &error) < 0)
		return;
	must(strlen(text) == length);
	must(nc_json_parse(text, length, NC_E_PROFILE_INVALID, &again, &error) == 0);
	must(json_equal((json_t *)value, again));
	must(nc_json_canonical(again, &second, &second_length, &error) == 0);
	must(length == second_length && memcmp(text, second, length) == 0);
	must(nc_json_parse_canonical("it", text, length, NC_E_PROFILE_INVALID, &strict, &error) == 0);
	json_decref(again);
	json_decref(strict);
	free(text);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct nc_error error = {0};
	json_t *value = NULL;

	if (nc_json_parse((const char *)bytes, size, NC_E_PROFILE_INVALID, &value, &error) < 0) {
		must(value == NULL && error.code == NC_E_PROFILE_INVALID && error.status < 0 && error.detail[0]);
		for (const char *c = error.detail; *c; c++)
			must(*c >= 0x20 && *c < 0x7f);
		for (const char *c = error.pointer; *c; c++)
			must(*c >= 0x20 && *c < 0x7f);
		return 0;
	}
	must(!memchr(bytes, 0, size));
	check_canonical(value);
	json_decref(value);
	return 0;
}
