/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * key_pem.c - PEM and DER of an Ed25519 key
 *
 * The DER of such a key has a fixed size, so it is a constant prefix and 32 bytes, and no ASN.1 is parsed:
 *
 *   PKCS#8 (RFC 5958, RFC 8410 section 7): SEQUENCE { INTEGER 0, SEQUENCE { OID 1.3.101.112 }, OCTET STRING { OCTET STRING { seed } } }
 *   SPKI (RFC 5280 4.1, RFC 8410 section 4): SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING { 0 unused bits, point } }
 *
 * The second version of PKCS#8, which carries the public key as well, is refused: the two could disagree.
 */
#include "key_pem.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define DER_MAX 48

static const struct {
	const char *label;
	const char *command; /* how to make one of this kind from another form */
	uint8_t prefix[16];
	size_t prefix_size;
} kinds[] = {
	[NC_PEM_PRIVATE] = {"PRIVATE KEY",
			    "make one with `netcordon key generate FILE` or `openssl genpkey -algorithm ed25519`",
			    {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20},
			    16},
	[NC_PEM_PUBLIC] = {"PUBLIC KEY",
			   "get it with `netcordon key public FILE` or `openssl pkey -in KEY -pubout`",
			   {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00},
			   12},
};

/* Other things that stand in PEM files, for the message. */
static const struct {
	const char *label, *meaning;
} labels[] = {
	[NC_PEM_PRIVATE] = {"PRIVATE KEY", "a private key"},
	[NC_PEM_PUBLIC] = {"PUBLIC KEY", "a public key"},
	{"ENCRYPTED PRIVATE KEY", "an encrypted private key"},
	{"RSA PRIVATE KEY", "an RSA private key"},
	{"RSA PUBLIC KEY", "an RSA public key"},
	{"EC PRIVATE KEY", "an elliptic curve (P-256 or like) private key"},
	{"OPENSSH PRIVATE KEY", "an OpenSSH private key"},
	{"CERTIFICATE", "a certificate"},
};

/* Algorithm identifiers as they stand in DER, for the message. */
static const struct {
	const char *name;
	uint8_t oid[12];
	size_t size;
} algorithms[] = {
	{"RSA", {0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01}, 10},		       /* RFC 8017: 1.2.840.113549.1.1.x */
	{"elliptic curve (P-256 or like)", {0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01}, 9}, /* RFC 5480: 1.2.840.10045.2.1 */
	{"X25519", {0x06, 0x03, 0x2b, 0x65, 0x6e}, 5},						       /* RFC 8410: 1.3.101.110 to 113 */
	{"X448", {0x06, 0x03, 0x2b, 0x65, 0x6f}, 5},
	{"Ed448", {0x06, 0x03, 0x2b, 0x65, 0x71}, 5},
	{"Ed25519", {0x06, 0x03, 0x2b, 0x65, 0x70}, 5},
};

size_t nc_pem_encode(enum nc_pem_kind kind, const uint8_t raw[NC_PEM_RAW_SIZE], char ret_text[NC_PEM_TEXT_SIZE])
{
	uint8_t der[DER_MAX];
	char body[sodium_base64_ENCODED_LEN(DER_MAX, sodium_base64_VARIANT_ORIGINAL)];
	size_t der_size = kinds[kind].prefix_size + NC_PEM_RAW_SIZE;
	int length;

	memcpy(der, kinds[kind].prefix, kinds[kind].prefix_size);
	memcpy(der + kinds[kind].prefix_size, raw, NC_PEM_RAW_SIZE);
	/* At most 64 characters: one line (RFC 7468, section 2). */
	sodium_bin2base64(body, sizeof(body), der, der_size, sodium_base64_VARIANT_ORIGINAL);
	length = snprintf(ret_text, NC_PEM_TEXT_SIZE, "-----BEGIN %s-----\n%s\n-----END %s-----\n", kinds[kind].label, body, kinds[kind].label);
	sodium_memzero(der, sizeof(der));
	sodium_memzero(body, sizeof(body));
	return (size_t)length;
}

static const char *algorithm_of(const uint8_t *der, size_t size)
{
	/* The identifier stands near the front; further on its bytes could be anything. */
	if (size > 32)
		size = 32;
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
		if (memmem(der, size, algorithms[i].oid, algorithms[i].size))
			return algorithms[i].name;
	return NULL;
}

/* What stands there instead: looks at as much as is needed for a message, and believes nothing of it. */
static int refuse(enum nc_pem_kind kind, const char *where, const char *text, size_t length, struct nc_error *reterr)
{
	const char *wanted = kind == NC_PEM_PRIVATE ? "private key" : "public key";
	const char *meaning = NULL, *algorithm = NULL, *body = memchr(text, '\n', length);
	char line[64];

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		size_t size = (size_t)snprintf(line, sizeof(line), "-----BEGIN %s-----", labels[i].label);

		if (length >= size && memcmp(text, line, size) == 0)
			meaning = labels[i].meaning;
	}
	if (meaning && body) {
		uint8_t der[36]; /* 48 base64 characters: the front is enough */
		size_t used = 0, left = length - (size_t)(body + 1 - text);

		sodium_base642bin(der, sizeof(der), body + 1, left > 48 ? 48 : left, "\r\n", &used, NULL, sodium_base64_VARIANT_ORIGINAL);
		algorithm = algorithm_of(der, used);
		sodium_memzero(der, sizeof(der));
	}
	if (!meaning)
		nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL, "%s is not an Ed25519 %s in PEM", where, wanted);
	else if (algorithm && strcmp(algorithm, "Ed25519"))
		nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL, "%s is %s of algorithm %s; only Ed25519 is used", where, meaning, algorithm);
	else if (strncmp(text + strlen("-----BEGIN "), kinds[kind].label, strlen(kinds[kind].label)))
		nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL, "%s is %s where an Ed25519 %s is wanted", where, meaning, wanted);
	else
		nc_error_set(reterr, NC_E_KEY_INVALID, -EINVAL, "%s is %s whose PEM is not spelled as RFC 7468 and RFC 8410 say, byte for byte",
			     where, meaning);
	if (kind == NC_PEM_PRIVATE && meaning == labels[NC_PEM_PUBLIC].meaning)
		return nc_error_hint(reterr, "this half is public as it stands; the private one is the file that `netcordon key generate` made");
	return nc_error_hint(reterr, "%s", kinds[kind].command);
}

int nc_pem_decode(enum nc_pem_kind kind, const char *where, const char *text, size_t length, uint8_t ret_raw[NC_PEM_RAW_SIZE],
		  struct nc_error *reterr)
{
	size_t der_size = kinds[kind].prefix_size + NC_PEM_RAW_SIZE;
	size_t body_size = sodium_base64_encoded_len(der_size, sodium_base64_VARIANT_ORIGINAL) - 1;
	size_t body_at = strlen("-----BEGIN -----\n") + strlen(kinds[kind].label);
	uint8_t der[DER_MAX];
	char again[NC_PEM_TEXT_SIZE];
	size_t used = 0;
	bool same = false;

	if (length < body_at + body_size)
		return refuse(kind, where, text, length, reterr);
	if (sodium_base642bin(der, sizeof(der), text + body_at, body_size, NULL, &used, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    used == der_size) {
		/* Writing the key again covers armour, prefix, padding, unused bits and whatever stands before or after, in one comparison. */
		same = nc_pem_encode(kind, der + kinds[kind].prefix_size, again) == length && sodium_memcmp(again, text, length) == 0;
		if (same)
			memcpy(ret_raw, der + kinds[kind].prefix_size, NC_PEM_RAW_SIZE);
	}
	sodium_memzero(der, sizeof(der));
	sodium_memzero(again, sizeof(again));
	return same ? 0 : refuse(kind, where, text, length, reterr);
}
