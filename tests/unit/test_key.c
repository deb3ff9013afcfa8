/* SPDX-License-Identifier: GPL-2.0-only */
/* test_key.c - Ed25519 keys: made, loaded, refused, and what a signature under a bad one is worth */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "folder_fixture.h"
#include "key.h"
#include "vectors.h"

/* RFC 8032, 7.1: tests 1 to 3 */
static const struct {
	const char *seed, *public, *message, *signature;
} rfc8032[] = {
	{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
	 "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
	{"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
	 "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
	{"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
	 "af82", "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
};

/* Order of the base point, little endian (RFC 8032, 5.1). */
static const char order[] = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

static void unhex(const char *hex, uint8_t *bytes, size_t size)
{
	size_t used;

	assert_int_equal(sodium_hex2bin(bytes, size, hex, strlen(hex), NULL, &used, NULL), 0);
	assert_int_equal(used, size);
}

static void put_pem(const char *path, const char *label, const uint8_t *der, size_t size, mode_t mode)
{
	char text[512], body[400];

	sodium_bin2base64(body, sizeof(body), der, size, sodium_base64_VARIANT_ORIGINAL);
	snprintf(text, sizeof(text), "-----BEGIN %s-----\n%s\n-----END %s-----\n", label, body, label);
	put_file(path, text, strlen(text), mode);
}

static void put_public(const char *path, const uint8_t point[32])
{
	uint8_t der[44] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

	memcpy(der + 12, point, 32);
	put_pem(path, "PUBLIC KEY", der, sizeof(der), 0644);
}

static void put_private(const char *path, const uint8_t seed[32])
{
	uint8_t der[48] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};

	memcpy(der + 16, seed, 32);
	put_pem(path, "PRIVATE KEY", der, sizeof(der), 0600);
}

static struct nc_secret_key *load_secret(const char *path)
{
	struct nc_secret_key *key = NULL;
	struct nc_error error;

	if (nc_key_load_secret(path, &key, &error) < 0)
		fail_msg("%s: %s", path, error.detail);
	return key;
}

static void secret_refused(const char *path, const char *what)
{
	struct nc_secret_key *key = NULL;
	struct nc_error error = {0};

	if (nc_key_load_secret(path, &key, &error) == 0)
		fail_msg("a key was loaded from %s (%s)", path, what);
	assert_null(key);
	assert_int_equal(error.code, NC_E_KEY_INVALID);
	if (!strstr(error.detail, what))
		fail_msg("\"%s\" is not in \"%s\"", what, error.detail);
}

static void public_refused(const char *path, const char *what)
{
	struct nc_public_key key = {{7}};
	struct nc_error error = {0};

	if (nc_key_load_public(path, &key, &error) == 0)
		fail_msg("a key was loaded from %s (%s)", path, what);
	assert_int_equal(key.bytes[0], 7);
	assert_int_equal(error.code, NC_E_KEY_INVALID);
	if (!strstr(error.detail, what))
		fail_msg("\"%s\" is not in \"%s\"", what, error.detail);
	assert_true(error.hint[0] != '\0');
}

/* ---- making and loading ------------------------------------------------------------------------------------------------------------------ */

static void generated(void **state)
{
	const char *path = in_folder("new.key"), *other = in_folder("other.key"), *public_path = in_folder("new.pub");
	struct nc_public_key public, loaded, second;
	struct nc_error error;
	struct stat status;
	char *pem = NULL, id[NC_KEY_ID_HEX];
	struct nc_secret_key *key;

	(void)state;
	umask(0);
	assert_int_equal(nc_key_generate(path, &error), 0);
	umask(022);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	key = load_secret(path);
	nc_key_public(key, &public);
	assert_int_equal(nc_key_public_pem(&public, &pem, &error), 0);
	put_file(public_path, pem, strlen(pem), 0644);
	free(pem);
	assert_int_equal(nc_key_load_public(public_path, &loaded, &error), 0);
	assert_memory_equal(&public, &loaded, sizeof(public));
	nc_key_id(&public, id);
	assert_int_equal(strlen(id), 64);
	nc_key_free(key);

	assert_int_equal(nc_key_generate(other, &error), 0);
	key = load_secret(other);
	nc_key_public(key, &second);
	assert_memory_not_equal(&public, &second, sizeof(public));
	nc_key_free(key);
	nc_key_free(NULL);
}

static void never_overwritten(void **state)
{
	const char *path = in_folder("taken"), *link = in_folder("link"), *target = in_folder("target");
	struct nc_error error;
	size_t length;
	char *text;

	(void)state;
	put_file(path, "mine", 4, 0600);
	assert_int_equal(nc_key_generate(path, &error), -EEXIST);
	assert_int_equal(error.code, NC_E_KEY_EXISTS);
	text = get_file(path, &length);
	assert_string_equal(text, "mine");
	free(text);
	assert_int_equal(symlink(target, link), 0); /* dangling */
	assert_int_equal(nc_key_generate(link, &error), -EEXIST);
	assert_int_equal(error.code, NC_E_KEY_EXISTS);
	assert_false(is_there(target));
	assert_int_equal(nc_key_generate(in_folder("no/such/folder"), &error), -ENOENT);
	assert_int_equal(nc_key_generate("/dev/full", &error), -EEXIST);
}

static void who_may_read(void **state)
{
	static const mode_t loose[] = {0644, 0640, 0604, 0620, 0602, 0610, 0700, 0601, 0666, 04600, 01600, 02600};
	static const mode_t tight[] = {0600, 0400};
	const char *path = in_folder("modes.key"), *link = in_folder("modes.link"), *fifo = in_folder("fifo");
	struct nc_error error;

	(void)state;
	assert_int_equal(nc_key_generate(path, &error), 0);
	for (size_t i = 0; i < sizeof(loose) / sizeof(loose[0]); i++) {
		assert_int_equal(chmod(path, loose[i]), 0);
		secret_refused(path, "mode");
	}
	for (size_t i = 0; i < sizeof(tight) / sizeof(tight[0]); i++) {
		assert_int_equal(chmod(path, tight[i]), 0);
		nc_key_free(load_secret(path));
	}
	assert_int_equal(symlink(path, link), 0);
	secret_refused(link, "link");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	secret_refused(fifo, "regular");
	public_refused(vector("foreign/rsa.key"), "RSA");
	secret_refused(fixture_folder, "regular");
	secret_refused("/dev/zero", "regular");
	secret_refused(in_folder("missing"), "No such file");
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 0), 0);
		secret_refused(path, "belongs to user 12345");
	} else {
		secret_refused("/etc/hostname", "belongs to user 0");
	}
}

/* The loaded key does not follow into a child that runs other code. */
static void not_in_children(void **state)
{
	struct nc_public_key before, after;
	struct nc_error error;
	struct nc_secret_key *key;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(nc_key_generate(in_folder("fork.key"), &error), 0);
	key = load_secret(in_folder("fork.key"));
	nc_key_public(key, &before);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		uint8_t signature[NC_SIGNATURE_SIZE];

		nc_key_public(key, &after);
		/* what zeros would sign is not let out either */
		_exit(sodium_is_zero(after.bytes, sizeof(after.bytes)) && nc_key_sign(key, "x", 1, signature, &error) == -EIO ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	nc_key_public(key, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	nc_key_free(key);
}

/* ---- what is refused as a key ------------------------------------------------------------------------------------------------------------- */

/* R05: other algorithms, by what they are; R22: what is no public key at all */
static void other_algorithms(void **state)
{
	static const struct {
		const char *file, *what;
	} keys[] = {
		{"foreign/rsa.key", "RSA"},
		{"foreign/p256.key", "P-256"},
		{"foreign/ed448.key", "Ed448"},
		{"foreign/x25519.key", "X25519"},
		{"foreign/rsa.pub", "RSA"},
		{"foreign/p256.pub", "P-256"},
		{"foreign/ed448.pub", "Ed448"},
		{"foreign/x25519.pub", "X25519"},
		{"foreign/rsa_traditional.key", "RSA"},
		{"foreign/ec_traditional.key", "P-256"},
		{"foreign/encrypted.key", "encrypted"},
		{"foreign/openssh.key", "OpenSSH"},
		{"foreign/rsa_pkcs1.pub", "RSA"},
	};
	const char *path = in_folder("foreign");
	static const char *const secrets[] = {"5f2c9a0b5f2c9a0b5f2c9a0b5f2c9a0b5f2c9a0b5f2c9a0b5f2c9a0b5f2c9a0b\n",
					      "{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}", "", "\n",
					      "-----BEGIN SECRET-----\nc2VjcmV0\n-----END SECRET-----\n"};
	size_t length;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		text = get_file(vector(keys[i].file), &length);
		put_file(path, text, length, 0600);
		free(text);
		secret_refused(path, keys[i].what);
		public_refused(path, keys[i].what);
	}
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		put_file(path, secrets[i], strlen(secrets[i]), 0600);
		secret_refused(path, "not an Ed25519");
		public_refused(path, "not an Ed25519");
	}
	/* the right algorithm, the wrong half */
	text = get_file(vector("attester.pub"), &length);
	put_file(path, text, length, 0600);
	secret_refused(path, "public key where");
	put_file(path, text, length, 0644); /* who may read it is not what is wrong with it */
	free(text);
	secret_refused(path, "public key where");
	text = get_file(vector("attester.key"), &length);
	put_file(path, text, length, 0600);
	free(text);
	public_refused(path, "private key where");
	nc_key_free(load_secret(path));
}

/* R05: 31 and 33 bytes, with lengths that tell the truth and lengths that do not */
static void other_lengths(void **state)
{
	const char *path = in_folder("length");
	uint8_t public[80] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
	uint8_t private[80] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};

	(void)state;
	unhex(rfc8032[0].public, public + 12, 32);
	unhex(rfc8032[0].seed, private + 16, 32);
	for (int difference = -1; difference <= 1; difference++) {
		for (int lies = 0; lies <= 1; lies++) {
			uint8_t told[80];

			memcpy(told, public, sizeof(told));
			told[1] = (uint8_t)(told[1] + (lies ? 0 : difference));
			told[10] = (uint8_t)(told[10] + (lies ? 0 : difference));
			put_pem(path, "PUBLIC KEY", told, (size_t)(44 + difference), 0644);
			if (difference)
				public_refused(path, "PEM is not spelled");
			memcpy(told, private, sizeof(told));
			told[1] = (uint8_t)(told[1] + (lies ? 0 : difference));
			told[13] = (uint8_t)(told[13] + (lies ? 0 : difference));
			told[15] = (uint8_t)(told[15] + (lies ? 0 : difference));
			put_pem(path, "PRIVATE KEY", told, (size_t)(48 + difference), 0600);
			if (difference)
				secret_refused(path, "PEM is not spelled");
			else
				nc_key_free(load_secret(path));
		}
	}
}

/* One text for one key: R20's kind, in armour */
static void other_spellings(void **state)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{"-----BEGIN", " -----BEGIN"},
		{"-----BEGIN", "\n-----BEGIN"},
		{"-----BEGIN", "Comment: x\n-----BEGIN"},
		{"KEY-----\nMC", "KEY-----\r\nMC"},
		{"KEY-----\nMC", "KEY-----\n\nMC"},
		{"KEY-----\nMC", "KEY-----\n MC"},
		{"BEGIN PUBLIC", "BEGIN  PUBLIC"},
		{"BEGIN PUBLIC", "begin public"},
		{"END PUBLIC KEY", "END PRIVATE KEY"},
		{"-----END", "----END"},
		{"\n-----END", "=\n-----END"},
		{"\n-----END", " \n-----END"},
		{"URo=\n", "URo\n"},
		{"URo=\n", "URp=\n"} /* an unused bit */,
		{"URo=\n", "UR=o\n"},
		{"URo=\n", "URo==\n"},
		{"URo=\n", "URo=\n\n"},
		{"MCowBQYDK2Vw", "MCow\nBQYDK2Vw"},
	};
	const char *path = in_folder("spelling");
	size_t length;
	char *text = get_file(vector("attester.pub"), &length), changed[512];
	struct nc_public_key key;
	struct nc_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char *at = strstr(text, changes[i].from);

		assert_non_null(at);
		snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, changes[i].to, at + strlen(changes[i].from));
		put_file(path, changed, strlen(changed), 0644);
		public_refused(path, "");
	}
	snprintf(changed, sizeof(changed), "%s\n", text);
	put_file(path, changed, strlen(changed), 0644);
	public_refused(path, "PEM is not spelled");
	snprintf(changed, sizeof(changed), "%s%s", text, text);
	put_file(path, changed, strlen(changed), 0644);
	public_refused(path, "PEM is not spelled");
	put_file(path, text, length - 1, 0644);
	public_refused(path, "PEM is not spelled");
	put_file(path, text, length + 1, 0644); /* with a NUL */
	public_refused(path, "PEM is not spelled");
	for (size_t cut = 0; cut < length; cut++) {
		put_file(path, text, cut, 0644);
		public_refused(path, "");
	}
	put_file(path, text, length, 0644);
	assert_int_equal(nc_key_load_public(path, &key, &error), 0);
	free(text);

	char *large = calloc(1, 1 << 20);
	put_file(path, large, 1 << 20, 0644);
	assert_true(nc_key_load_public(path, &key, &error) < 0);
	assert_int_equal(error.code, NC_E_KEY_INVALID);
	free(large);
}

/* Every bit of a key's file: refused, or another key whose only spelling that is. */
static void flipped_file(void **state)
{
	const char *path = in_folder("flipped");
	size_t length, loaded = 0;
	char *text = get_file(vector("attester.pub"), &length);
	struct nc_public_key original, key;
	struct nc_error error;

	(void)state;
	unhex(rfc8032[0].public, original.bytes, 32);
	for (size_t bit = 0; bit < length * 8; bit++) {
		char *pem = NULL;

		text[bit / 8] ^= (char)(1 << bit % 8);
		put_file(path, text, length, 0644);
		if (nc_key_load_public(path, &key, &error) == 0) {
			loaded++;
			assert_memory_not_equal(key.bytes, original.bytes, 32);
			assert_int_equal(nc_key_public_pem(&key, &pem, &error), 0);
			assert_string_equal(pem, text);
			free(pem);
		} else {
			assert_int_equal(error.code, NC_E_KEY_INVALID);
		}
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	assert_true(loaded < length); /* about one point in sixteen is a usable key */
	free(text);
}

/* R08: every encoding of a point of low order, canonical or not; other encodings that are not canonical; points of mixed order */
static const char *const low_order[] = {
	"0100000000000000000000000000000000000000000000000000000000000000", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000", "0000000000000000000000000000000000000000000000000000000000000080",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"0100000000000000000000000000000000000000000000000000000000000080", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
};

static void bad_point(const struct nc_public_key *key)
{
	uint8_t signature[NC_SIGNATURE_SIZE] = {1}; /* R = identity, S = 0: what many verifiers accept under such a key */
	struct nc_error error = {0};
	const char *path = in_folder("point.pub");

	put_public(path, key->bytes);
	public_refused(path, "order");
	assert_int_equal(nc_key_check(key, &error), -EINVAL);
	assert_true(nc_key_verify(key, "x", 1, signature, &error) < 0);
	assert_int_equal(error.code, NC_E_KEY_INVALID);
}

static void bad_points(void **state)
{
	struct nc_public_key key, honest;
	struct nc_error error;
	uint8_t small[32];

	(void)state;
	for (size_t i = 0; i < sizeof(low_order) / sizeof(low_order[0]); i++) {
		unhex(low_order[i], key.bytes, 32);
		bad_point(&key);
	}
	/* y = p + 0 .. p + 18, either sign: the encodings that reduce (RFC 8032, 5.1.3 step 1) */
	for (unsigned int above = 0; above <= 18; above++) {
		for (unsigned int sign = 0; sign <= 1; sign++) {
			memset(key.bytes, 0xff, 32);
			key.bytes[0] = (uint8_t)(0xed + above);
			key.bytes[31] = sign ? 0xff : 0x7f;
			bad_point(&key);
		}
	}
	unhex(rfc8032[0].public, honest.bytes, 32);
	assert_int_equal(nc_key_check(&honest, &error), 0);
	for (size_t i = 1; i < 8; i++) { /* honest point + point of order 2, 4 or 8 */
		unhex(low_order[i], small, 32);
		assert_int_equal(crypto_core_ed25519_add(key.bytes, honest.bytes, small), 0);
		bad_point(&key);
	}
}

/* ---- signatures ---------------------------------------------------------------------------------------------------------------------------- */

static void known_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rfc8032) / sizeof(rfc8032[0]); i++) {
		uint8_t seed[32], expected[NC_SIGNATURE_SIZE], signature[NC_SIGNATURE_SIZE], message[8];
		struct nc_public_key public, own;
		struct nc_error error;
		struct nc_secret_key *key;
		size_t length = strlen(rfc8032[i].message) / 2;

		unhex(rfc8032[i].seed, seed, 32);
		unhex(rfc8032[i].public, public.bytes, 32);
		unhex(rfc8032[i].signature, expected, sizeof(expected));
		unhex(rfc8032[i].message, message, length);
		put_private(in_folder("rfc%zu.key", i), seed);
		key = load_secret(in_folder("rfc%zu.key", i));
		nc_key_public(key, &own);
		assert_memory_equal(&own, &public, sizeof(own));
		assert_int_equal(nc_key_sign(key, message, length, signature, &error), 0);
		assert_memory_equal(signature, expected, sizeof(expected));
		assert_int_equal(nc_key_verify(&public, message, length, signature, &error), 0);
		nc_key_free(key);
	}
}

/* R07: S + L is the same scalar and another text; L alone, and S with its high bits set */
static void scalar_not_reduced(void **state)
{
	uint8_t signature[NC_SIGNATURE_SIZE], l[32];
	struct nc_public_key public;
	struct nc_error error;
	unsigned int carry = 0;

	(void)state;
	unhex(rfc8032[1].public, public.bytes, 32);
	unhex(rfc8032[1].signature, signature, sizeof(signature));
	unhex(order, l, 32);
	assert_int_equal(nc_key_verify(&public, "\x72", 1, signature, &error), 0);
	for (int times = 1; times < 8; times++) { /* as often as it fits */
		carry = 0;
		for (size_t i = 0; i < 32; i++) {
			carry += signature[32 + i] + l[i];
			signature[32 + i] = (uint8_t)carry;
			carry >>= 8;
		}
		assert_int_equal(nc_key_verify(&public, "\x72", 1, signature, &error), -EBADMSG);
		assert_int_equal(error.code, NC_E_EVIDENCE_INVALID);
	}
}

static void flipped_signature(void **state)
{
	uint8_t signature[NC_SIGNATURE_SIZE], message[2];
	struct nc_public_key public;
	struct nc_error error;

	(void)state;
	unhex(rfc8032[2].public, public.bytes, 32);
	unhex(rfc8032[2].signature, signature, sizeof(signature));
	unhex(rfc8032[2].message, message, 2);
	for (size_t bit = 0; bit < sizeof(signature) * 8; bit++) {
		signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(nc_key_verify(&public, message, 2, signature, &error), -EBADMSG);
		signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < sizeof(public.bytes) * 8; bit++) {
		public.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(nc_key_verify(&public, message, 2, signature, &error) < 0);
		public.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < sizeof(message) * 8; bit++) {
		message[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(nc_key_verify(&public, message, 2, signature, &error), -EBADMSG);
		message[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(nc_key_verify(&public, message, 1, signature, &error), -EBADMSG);
	assert_int_equal(nc_key_verify(&public, message, 2, signature, &error), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated),	   cmocka_unit_test(never_overwritten),	 cmocka_unit_test(who_may_read),
		cmocka_unit_test(not_in_children), cmocka_unit_test(other_algorithms),	 cmocka_unit_test(other_lengths),
		cmocka_unit_test(other_spellings), cmocka_unit_test(flipped_file),	 cmocka_unit_test(bad_points),
		cmocka_unit_test(known_answers),   cmocka_unit_test(scalar_not_reduced), cmocka_unit_test(flipped_signature),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
