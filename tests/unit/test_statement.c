/* SPDX-License-Identifier: GPL-2.0-only */
/* test_statement.c - documents and their detached signatures: every bit of either counts, and nothing stands for anything else */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "folder_fixture.h"
#include "json.h"
#include "statement.h"
#include "vectors.h"

static struct nc_secret_key *key, *other_key;
static struct nc_public_key public, other_public;
static struct nc_signed good; /* what the tests change copies of */
static const char *const domains[] = {
#define DOMAIN_ROW(domain) domain,
	NC_DOMAINS(DOMAIN_ROW)};

static struct nc_secret_key *load(const char *path)
{
	struct nc_secret_key *loaded = NULL;
	struct nc_error error;

	if (nc_key_load_secret(path, &loaded, &error) < 0)
		fail_msg("%s: %s", path, error.detail);
	return loaded;
}

static int setup(void **state)
{
	NC_JSON json_t *document =
		json_pack("{s:s, s:i, s:b, s:[s,s], s:s}", "instance", "one", "version", 1, "sealed", 1, "list", "a", "b\n", "name", "\xc3\xa9");
	struct nc_error error;
	size_t length;
	char *text;

	if (fixture_setup(state) < 0)
		return -1;
	text = get_file(vector("attester.key"), &length);
	put_file(in_folder("attester.key"), text, length, 0600);
	free(text);
	key = load(in_folder("attester.key"));
	if (nc_key_generate(in_folder("other.key"), &error) < 0)
		return -1;
	other_key = load(in_folder("other.key"));
	nc_key_public(key, &public);
	nc_key_public(other_key, &other_public);
	return nc_statement_sign(NC_DOMAIN_LAUNCH, document, key, "release@host", &good, &error);
}

static int teardown(void **state)
{
	nc_key_free(key);
	nc_key_free(other_key);
	nc_signed_free(&good);
	return fixture_teardown(state);
}

static int check(const char *domain, const char *text, size_t length, const char *signature, size_t signature_length,
		 const struct nc_public_key *under, struct nc_error *reterr)
{
	NC_JSON json_t *document = NULL;
	struct nc_digest digest;
	int r;

	memset(reterr, 0, sizeof(*reterr));
	r = nc_statement_check("it", domain, text, length, signature, signature_length, under, &document, &digest, reterr);
	assert_true((r == 0) == (document != NULL)); /* nothing is handed out that did not verify */
	if (r < 0)
		assert_true(reterr->detail[0] != '\0' && !strpbrk(reterr->detail, "\n\r\x1b"));
	return r;
}

static void refused(const char *domain, const char *text, size_t length, const char *signature, size_t signature_length)
{
	struct nc_error error;

	if (check(domain, text, length, signature, signature_length, &public, &error) == 0)
		fail_msg("accepted: %s %s", text, signature);
	assert_int_equal(error.code, NC_E_EVIDENCE_INVALID);
}

static void verifies(void **state)
{
	struct nc_error error;

	(void)state;
	assert_int_equal(check(NC_DOMAIN_LAUNCH, good.text, good.length, good.signature, good.signature_length, &public, &error), 0);
}

/* Every bit of the document and of its signature file. */
static void flipped(void **state)
{
	size_t label = (size_t)(strstr(good.signature, "release@host") - good.signature);

	(void)state;
	for (size_t bit = 0; bit < good.length * 8; bit++) {
		good.text[bit / 8] ^= (char)(1 << bit % 8);
		refused(NC_DOMAIN_LAUNCH, good.text, good.length, good.signature, good.signature_length);
		good.text[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < good.signature_length * 8; bit++) {
		struct nc_error error;
		int r;

		good.signature[bit / 8] ^= (char)(1 << bit % 8);
		r = check(NC_DOMAIN_LAUNCH, good.text, good.length, good.signature, good.signature_length, &public, &error);
		/* The attester is a label beside what is signed: another printable label is not noticed, and nothing relies on it. */
		if (r == 0)
			assert_true(bit / 8 >= label && bit / 8 < label + strlen("release@host"));
		good.signature[bit / 8] ^= (char)(1 << bit % 8);
	}
	verifies(state);
}

/* Every bit of every domain, and every domain for every other. */
static void domains_apart(void **state)
{
	NC_JSON json_t *document = json_pack("{s:i}", "a", 1);
	struct nc_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		struct nc_signed made;
		char changed[64];

		assert_int_equal(nc_statement_sign(domains[i], document, key, "x", &made, &error), 0);
		for (size_t j = 0; j < sizeof(domains) / sizeof(domains[0]); j++)
			assert_int_equal(check(domains[j], made.text, made.length, made.signature, made.signature_length, &public, &error) == 0,
					 i == j);
		for (size_t bit = 0; bit < strlen(domains[i]) * 8; bit++) {
			snprintf(changed, sizeof(changed), "%s", domains[i]);
			changed[bit / 8] ^= (char)(1 << bit % 8);
			refused(changed, made.text, made.length, made.signature, made.signature_length);
		}
		nc_signed_free(&made);
	}
}

/* A signature file that names the domain asked for, around a signature made for another: the domain is inside the signed bytes (R13). */
static void domain_is_signed(void **state)
{
	NC_JSON json_t *file = json_loadb(good.signature, good.signature_length, 0, NULL);
	struct nc_error error;
	size_t length;
	char *text;

	(void)state;
	json_object_set_new(file, "domain", json_string(NC_DOMAIN_CLOSING));
	assert_int_equal(nc_json_canonical(file, &text, &length, &error), 0);
	refused(NC_DOMAIN_CLOSING, good.text, good.length, text, length);
	free(text);
}

/* The framing: what is signed is the domain, one line feed and the document. */
static void framing(void **state)
{
	struct nc_error error;
	unsigned char *message;
	size_t length;

	(void)state;
	assert_int_equal(nc_statement_message("d.v1", "{}", 2, &message, &length, &error), 0);
	assert_int_equal(length, 7);
	assert_memory_equal(message, "d.v1\n{}", 7);
	free(message);
}

/* R02: a key in the record is no key; R03: the id of one key over the signature of another */
static void another_key(void **state)
{
	NC_JSON json_t *document = json_loadb(good.text, good.length, 0, NULL);
	NC_JSON json_t *file = NULL;
	struct nc_signed forged;
	struct nc_error error;
	char *text, id[NC_KEY_ID_HEX];
	size_t length;

	(void)state;
	assert_int_equal(nc_statement_sign(NC_DOMAIN_LAUNCH, document, other_key, "release@host", &forged, &error), 0);
	refused(NC_DOMAIN_LAUNCH, forged.text, forged.length, forged.signature, forged.signature_length);
	assert_int_equal(check(NC_DOMAIN_LAUNCH, forged.text, forged.length, forged.signature, forged.signature_length, &other_public, &error), 0);
	file = json_loadb(forged.signature, forged.signature_length, 0, NULL);
	nc_key_id(&public, id);
	json_object_set_new(file, "key_id", json_string(id));
	assert_int_equal(nc_json_canonical(file, &text, &length, &error), 0);
	refused(NC_DOMAIN_LAUNCH, forged.text, forged.length, text, length);
	free(text);
	json_object_set_new(file, "public_key", json_string("MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="));
	assert_int_equal(nc_json_canonical(file, &text, &length, &error), 0);
	refused(NC_DOMAIN_LAUNCH, forged.text, forged.length, text, length);
	free(text);
	nc_signed_free(&forged);
}

/* The signature file with one member changed; NULL takes it away. The caller frees. */
static char *with(const char *name, json_t *value, size_t *ret_length)
{
	NC_JSON json_t *file = json_loadb(good.signature, good.signature_length, 0, NULL);
	struct nc_error error;
	char *text = NULL;

	if (value)
		json_object_set_new(file, name, value);
	else
		json_object_del(file, name);
	assert_int_equal(nc_json_canonical(file, &text, ret_length, &error), 0);
	return text;
}

static void refused_with(const char *name, json_t *value)
{
	size_t length;
	char *text = with(name, value, &length);

	refused(NC_DOMAIN_LAUNCH, good.text, good.length, text, length);
	free(text);
}

static void signature_members(void **state)
{
	static const char *const members[] = {"algorithm", "attester", "domain", "key_id", "signature"};
	static const char *const algorithms[] = {"Ed25519",    "ED25519", "ed25519ph",	 "ed25519ctx", "rsa",
						 "ecdsa-p256", "ed448",	  "hmac-sha256", "none",       ""};
	char label[NC_ATTESTER_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		refused_with(members[i], NULL);
		refused_with(members[i], json_integer(1));
		refused_with(members[i], json_array());
		refused_with(members[i], json_string(""));
	}
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
		refused_with("algorithm", json_string(algorithms[i]));
	refused_with("extra", json_string("x"));
	refused_with("attester", json_string("a\nb"));
	refused_with("attester", json_string("\xc3\xa9"));
	memset(label, 'a', sizeof(label));
	label[sizeof(label) - 1] = '\0';
	refused_with("attester", json_string(label));
	refused(NC_DOMAIN_LAUNCH, good.text, good.length, "", 0);
	refused(NC_DOMAIN_LAUNCH, good.text, good.length, "[]", 2);
	refused(NC_DOMAIN_LAUNCH, good.text, good.length, "{}", 2);
}

/* R20: one text for one signature */
static void loose_base64(void **state)
{
	NC_JSON json_t *file = json_loadb(good.signature, good.signature_length, 0, NULL);
	const char *base64 = json_string_value(json_object_get(file, "signature"));
	size_t length = strlen(base64);
	char changed[128];

	(void)state;
	assert_int_equal(length, 88);
	assert_string_equal(base64 + 86, "==");
	for (const char *added = "= \n+A"; *added; added++) { /* one more character, behind, before, in the middle */
		snprintf(changed, sizeof(changed), "%s%c", base64, *added);
		refused_with("signature", json_string(changed));
		snprintf(changed, sizeof(changed), "%c%s", *added, base64);
		refused_with("signature", json_string(changed));
		snprintf(changed, sizeof(changed), "%.40s%c%s", base64, *added, base64 + 40);
		refused_with("signature", json_string(changed));
		snprintf(changed, sizeof(changed), "%.40s%c%s", base64, *added, base64 + 41);
		refused_with("signature", json_string(changed));
	}
	for (size_t cut = 0; cut < length; cut++) { /* padding left out, and everything shorter */
		snprintf(changed, sizeof(changed), "%.*s", (int)cut, base64);
		refused_with("signature", json_string(changed));
	}
	/* the last character carries two bits and four unused ones: all sixteen texts of the same bytes */
	for (int unused = 1; unused < 16; unused++) {
		static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

		snprintf(changed, sizeof(changed), "%s", base64);
		changed[85] = alphabet[(strchr(alphabet, base64[85]) - alphabet) | unused];
		refused_with("signature", json_string(changed));
	}
	/* the URL alphabet */
	snprintf(changed, sizeof(changed), "%s", base64);
	for (char *at = changed; *at; at++)
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
	assert_string_not_equal(changed, base64);
	refused_with("signature", json_string(changed));
}

/* R07: the same signature with its scalar not reduced, in a file that is otherwise right */
static void scalar_not_reduced(void **state)
{
	static const uint8_t l[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10};
	NC_JSON json_t *file = json_loadb(good.signature, good.signature_length, 0, NULL);
	uint8_t bytes[NC_SIGNATURE_SIZE];
	char base64[128];
	unsigned int carry = 0;
	size_t used;

	(void)state;
	assert_int_equal(sodium_base642bin(bytes, sizeof(bytes), json_string_value(json_object_get(file, "signature")), 88, NULL, &used, NULL,
					   sodium_base64_VARIANT_ORIGINAL),
			 0);
	for (size_t i = 0; i < 32; i++) {
		carry += bytes[32 + i] + l[i];
		bytes[32 + i] = (uint8_t)carry;
		carry >>= 8;
	}
	sodium_bin2base64(base64, sizeof(base64), bytes, sizeof(bytes), sodium_base64_VARIANT_ORIGINAL);
	refused_with("signature", json_string(base64));
}

/* A valid signature over `text` as it stands, whatever it is. */
static void sign_raw(const char *text, size_t length, char *ret_signature, size_t size, size_t *ret_length)
{
	char id[NC_KEY_ID_HEX], base64[128];
	uint8_t bytes[NC_SIGNATURE_SIZE];
	struct nc_error error;
	unsigned char *message;
	size_t message_length;

	assert_int_equal(nc_statement_message(NC_DOMAIN_LAUNCH, text, length, &message, &message_length, &error), 0);
	assert_int_equal(nc_key_sign(key, message, message_length, bytes, &error), 0);
	free(message);
	nc_key_id(&public, id);
	sodium_bin2base64(base64, sizeof(base64), bytes, sizeof(bytes), sodium_base64_VARIANT_ORIGINAL);
	*ret_length = (size_t)snprintf(ret_signature, size,
				       "{\"algorithm\":\"ed25519\",\"attester\":\"x\",\"domain\":\"%s\",\"key_id\":\"%s\",\"signature\":\"%s\"}",
				       NC_DOMAIN_LAUNCH, id, base64);
}

/* R13, R15, E03, E06: a good signature makes no good document */
static void signed_but_wrong(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} cases[] = {
#define TEXT(literal) {literal, sizeof(literal) - 1}
		TEXT("not json"),
		TEXT(""),
		TEXT("{\"verdict\":\"denied\",\"x\":1,\"verdict\":\"ok\"}"),
		TEXT("{\"a\":1} "),
		TEXT("{\"b\":1,\"a\":2}"),
		TEXT("{\"a\":1}\n"),
		TEXT("{\"a\":1.5}"),
		TEXT("{\"a\":null}"),
		TEXT("{\"a\":9007199254740993}"),
		TEXT("{\"a\":-0}"),
		TEXT("{\"a\":\"\xff\"}"),
		TEXT("[\"\\ude00\\ud83d\"]"),
		TEXT("{\"\xc3\xa9\":1}"),
		TEXT("{\"a\":1}\0"),
		TEXT("{\"a\":\"\\u001F\"}"),
		TEXT("{\"a\":1}{\"b\":2}"),
	};
	struct nc_error error;
	char signature[1024];
	size_t length;

	(void)state;
	sign_raw("{\"a\":1}", 7, signature, sizeof(signature), &length);
	assert_int_equal(check(NC_DOMAIN_LAUNCH, "{\"a\":1}", 7, signature, length, &public, &error), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sign_raw(cases[i].text, cases[i].length, signature, sizeof(signature), &length);
		refused(NC_DOMAIN_LAUNCH, cases[i].text, cases[i].length, signature, length);
	}
}

static void not_signable(void **state)
{
	NC_JSON json_t *with_null = json_pack("{s:n}", "a");
	NC_JSON json_t *fine = json_pack("{s:i}", "a", 1);
	static const char *const attesters[] = {"", "a\n", "\xc3\xa9", "\x7f", NULL};
	struct nc_signed made = {0};
	struct nc_error error;

	(void)state;
	assert_int_equal(nc_statement_sign(NC_DOMAIN_LAUNCH, with_null, key, "x", &made, &error), -EINVAL);
	for (size_t i = 0; i < sizeof(attesters) / sizeof(attesters[0]); i++) {
		assert_int_equal(nc_statement_sign(NC_DOMAIN_LAUNCH, fine, key, attesters[i], &made, &error), -EINVAL);
		assert_int_equal(error.code, NC_E_CONFIG_INVALID);
	}
	assert_null(made.text);
}

/* ---- files ---------------------------------------------------------------------------------------------------------------------------------- */

static int open_folder(void)
{
	int fd = open(fixture_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int read_back(int fd, const char *name, struct nc_error *reterr)
{
	NC_JSON json_t *document = NULL;
	struct nc_digest digest;
	int r = nc_statement_read(fd, name, NC_DOMAIN_LAUNCH, &public, &document, &digest, reterr);

	assert_true((r == 0) == (document != NULL));
	return r;
}

static void files(void **state)
{
	NC_JSON json_t *document = json_loadb(good.text, good.length, 0, NULL);
	struct nc_digest digest;
	struct nc_error error;
	struct stat status;
	size_t length;
	char *text;
	int fd = open_folder();

	(void)state;
	put_file(in_folder(".s.json.tmp"), "left by a crash", 15, 0644);
	assert_int_equal(nc_statement_write(fd, "s.json", NC_DOMAIN_LAUNCH, document, key, "release@host", &digest, &error), 0);
	assert_memory_equal(&digest, &good.digest, sizeof(digest));
	text = get_file(in_folder("s.json"), &length);
	assert_int_equal(length, good.length);
	assert_memory_equal(text, good.text, length);
	free(text);
	text = get_file(in_folder("s.json.sig"), &length);
	assert_string_equal(text, good.signature); /* Ed25519 is deterministic */
	free(text);
	assert_int_equal(stat(in_folder("s.json"), &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_false(is_there(in_folder(".s.json.tmp")));
	assert_false(is_there(in_folder(".s.json.sig.tmp")));
	assert_int_equal(read_back(fd, "s.json", &error), 0);
	/* over itself, as a checkpoint is */
	assert_int_equal(nc_statement_write(fd, "s.json", NC_DOMAIN_LAUNCH, document, key, "release@host", &digest, &error), 0);
	assert_int_equal(read_back(fd, "s.json", &error), 0);

	assert_int_equal(read_back(fd, "none.json", &error), -ENOENT);
	assert_int_equal(unlink(in_folder("s.json.sig")), 0);
	assert_int_equal(read_back(fd, "s.json", &error), -ENOENT);
	close(fd);
}

/* What stands in the place of a file: links, folders, FIFOs, devices, sizes. */
static void no_files(void **state)
{
	struct nc_error error;
	int fd = open_folder();
	char *large;

	(void)state;
	put_file(in_folder("real.json"), good.text, good.length, 0600);
	put_file(in_folder("real.json.sig"), good.signature, good.signature_length, 0600);
	assert_int_equal(read_back(fd, "real.json", &error), 0);

	put_file(in_folder("l.json.sig"), good.signature, good.signature_length, 0600);
	assert_int_equal(symlink("real.json", in_folder("l.json")), 0);
	assert_int_equal(read_back(fd, "l.json", &error), -ELOOP);
	put_file(in_folder("f.json.sig"), good.signature, good.signature_length, 0600);
	assert_int_equal(mkfifo(in_folder("f.json"), 0600), 0);
	assert_int_equal(read_back(fd, "f.json", &error), -EINVAL);
	assert_int_equal(mkdir(in_folder("d.json"), 0700), 0);
	assert_int_equal(read_back(fd, "d.json", &error), -EINVAL);

	large = calloc(1, NC_SIGNATURE_FILE_MAX + 1);
	put_file(in_folder("real.json.sig"), large, NC_SIGNATURE_FILE_MAX + 1, 0600);
	free(large);
	assert_int_equal(read_back(fd, "real.json", &error), -EFBIG);
	put_file(in_folder("big.json"), "", 0, 0600);
	assert_int_equal(truncate(in_folder("big.json"), 1L << 40), 0); /* sparse */
	assert_int_equal(read_back(fd, "big.json", &error), -EFBIG);
	close(fd);
}

/* The schema's list of domains and the code's table are one and the same, and the page on formats has a row for each. */
static void every_domain_is_described(void **state)
{
	const size_t count = sizeof(domains) / sizeof(*domains);
	json_t *schema = json_load_file(in_source("docs/schema/signature.schema.json"), 0, NULL), *described;
	FILE *file = fopen(in_source("docs/formats.md"), "r");
	char *page = calloc(1, 1 << 20), row[80];

	(void)state;
	assert_non_null(schema);
	assert_non_null(file);
	assert_true(fread(page, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	described = json_object_get(json_object_get(json_object_get(schema, "properties"), "domain"), "enum");
	assert_int_equal(json_array_size(described), count);
	for (size_t i = 0; i < count; i++) {
		size_t found = 0;

		for (size_t j = 0; j < count; j++)
			found += !strcmp(json_string_value(json_array_get(described, j)), domains[i]);
		if (found != 1)
			fail_msg("the schema of signatures has %s %zu times", domains[i], found);
		snprintf(row, sizeof(row), "| `%s` |", domains[i]);
		if (!strstr(page, row))
			fail_msg("docs/formats.md has no row for %s", domains[i]);
	}
	free(page);
	json_decref(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verifies),
		cmocka_unit_test(flipped),
		cmocka_unit_test(domains_apart),
		cmocka_unit_test(domain_is_signed),
		cmocka_unit_test(framing),
		cmocka_unit_test(another_key),
		cmocka_unit_test(signature_members),
		cmocka_unit_test(loose_base64),
		cmocka_unit_test(scalar_not_reduced),
		cmocka_unit_test(signed_but_wrong),
		cmocka_unit_test(not_signable),
		cmocka_unit_test(files),
		cmocka_unit_test(no_files),
		cmocka_unit_test(every_domain_is_described),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
