/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_receipt.c - receipts and attester sets: who signed, what the document claims, and every way in which one bit less is no receipt
 *
 * The keys, signatures and files are real; each test works in a folder of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <sodium.h>
#include "cleanup.h"
#include "json.h"
#include "receipt.h"
#include "statement.h"
#include "vectors.h"

#define DIGEST "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAME "receipt.json"

struct world {
	char folder[64];
	int fd;
	struct nc_secret_key *key, *other;
	struct nc_attester_set set; /* "authority" with key, current */
};

static void in_folder(const struct world *w, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", w->folder, name);
}

static struct nc_secret_key *new_key(const struct world *w, const char *name)
{
	struct nc_secret_key *key = NULL;
	struct nc_error error = {0};
	char path[128];

	in_folder(w, name, path);
	assert_int_equal(nc_key_generate(path, &error), 0);
	assert_int_equal(nc_key_load_secret(path, &key, &error), 0);
	return key;
}

static json_t *set_of(const char *name, const struct nc_secret_key *key, const char *state)
{
	struct nc_error error = {0};
	struct nc_public_key public;
	char *pem = NULL;
	json_t *row;

	nc_key_public(key, &public);
	assert_int_equal(nc_key_public_pem(&public, &pem, &error), 0);
	row = json_pack("{s:s s:s s:s s:s}", "attester", name, "algorithm", "ed25519", "public_key", pem, "state", state);
	free(pem);
	return row;
}

static int parse_rows(json_t *rows, struct nc_attester_set *set, struct nc_error *error)
{
	json_t *document = json_pack("{s:i s:o}", "version", 1, "attesters", rows);
	char *text = json_dumps(document, 0);
	int r = nc_attesters_parse(text, strlen(text), set, error);

	free(text);
	json_decref(document);
	return r;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct nc_error error = {0};

	/* In memory where that can be had: tens of thousands of small files are written and read. */
	strcpy(w->folder, access("/dev/shm", W_OK) ? "/tmp/nc-receipt-XXXXXX" : "/dev/shm/nc-receipt-XXXXXX");
	if (!mkdtemp(w->folder))
		return -1;
	w->fd = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->key = new_key(w, "key.pem");
	w->other = new_key(w, "other.pem");
	*state = w;
	return parse_rows(json_pack("[o]", set_of("authority", w->key, "current")), &w->set, &error);
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[128];

	nc_attesters_free(&w->set);
	nc_key_free(w->key);
	nc_key_free(w->other);
	close(w->fd);
	snprintf(command, sizeof(command), "rm -rf %s", w->folder);
	if (system(command))
		return -1;
	free(w);
	return 0;
}

static json_t *one_case(enum nc_fact fact, const char *outcome)
{
	char id[64];

	snprintf(id, sizeof(id), "case.%s", nc_fact_word(fact));
	return json_pack("{s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s}", "id", id, "fact", nc_fact_word(fact), "path", "tcp_connect", "family",
			 "ipv4", "protocol", "tcp", "expectation", "refused", "control", "reached", "enforced", "refused", "mutant", "reached",
			 "switches", "listed", "outcome", outcome, "reason", "");
}

static json_t *good(void)
{
	json_t *facts = json_object(), *cases = json_array();

	for (int fact = 0; fact < NC_FACT_COUNT; fact++) {
		json_object_set_new(facts, nc_fact_word((enum nc_fact)fact), json_true());
		json_array_append_new(cases, one_case((enum nc_fact)fact, "green"));
	}
	return json_pack("{s:i s:s s:s s:s s:s s:i s:s s:s s:s s:s s:i s:b s:[s] s:[] s:[s] s:o s:o}", "version", 1, "type", NC_RECEIPT_TYPE,
			 "provider", "example:provider", "provider_revision", "7", "manifest", DIGEST, "matrix_version", 1, "matrix", DIGEST,
			 "bundle", DIGEST, "kernel", "6.18.0", "architecture", "x86_64", "time", 1700000000, "mutants", 1, "closures", "udp_connect",
			 "gaps", "residuals", "none", "cases", cases, "facts", facts);
}

static void sign(struct world *w, json_t *document, const struct nc_secret_key *key, const char *attester, const char *domain)
{
	struct nc_digest digest;
	struct nc_error error = {0};

	assert_int_equal(nc_statement_write(w->fd, NAME, domain, document, key, attester, &digest, &error), 0);
	json_decref(document);
}

static void sign_good(struct world *w)
{
	sign(w, good(), w->key, "authority", NC_DOMAIN_CONFORMANCE);
}

static void put(struct world *w, const char *name, const char *text, size_t length)
{
	int fd = openat(w->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	close(fd);
}

static size_t get(struct world *w, const char *name, char *text, size_t size)
{
	int fd = openat(w->fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, size - 1);

	assert_true(length > 0);
	text[length] = '\0';
	close(fd);
	return (size_t)length;
}

static int open_receipt(struct world *w, const struct nc_attester_set *set, struct nc_receipt *receipt, struct nc_error *error)
{
	*error = (struct nc_error){0};
	*receipt = (struct nc_receipt){0};
	return nc_receipt_open(w->fd, NAME, set, receipt, error);
}

static void is_refused(struct world *w, const struct nc_attester_set *set, const char *word)
{
	struct nc_receipt receipt;
	struct nc_error error;

	assert_true(open_receipt(w, set, &receipt, &error) < 0);
	assert_string_equal(nc_error_word(error.code), word);
	assert_null(receipt.document);
}

/* ---- who signed ---------------------------------------------------------------------------------------------------------------------------- */

static void a_good_receipt_is_read(void **state)
{
	struct world *w = *state;
	struct nc_receipt receipt;
	struct nc_error error;

	sign_good(w);
	assert_int_equal(open_receipt(w, &w->set, &receipt, &error), 0);
	assert_int_equal(nc_receipt_complete(&receipt, &error), 0);
	assert_ptr_equal(receipt.verified_under, &w->set);
	assert_string_equal(receipt.attester->name, "authority");
	assert_string_equal(receipt.provider_revision, "7");
	nc_receipt_free(&receipt);
	/* The shipped set knows nobody. */
	is_refused(w, nc_attesters(), "attester_unknown");
}

/* R02 */
static void keys_come_from_the_set_alone(void **state)
{
	struct world *w = *state;
	char text[2048], *end;
	size_t length;

	/* A forger signs with a key of his own, names the authority, and puts the key into the signature file. */
	sign(w, good(), w->other, "authority", NC_DOMAIN_CONFORMANCE);
	is_refused(w, &w->set, "attester_unknown");
	length = get(w, NAME ".sig", text, sizeof(text));
	end = strrchr(text, '}');
	strcpy(end, ",\"public_key\":\"x\"}");
	put(w, NAME ".sig", text, length + strlen(",\"public_key\":\"x\""));
	is_refused(w, &w->set, "receipt_invalid");
}

/* R03 */
static void the_name_belongs_to_the_key(void **state)
{
	struct world *w = *state;
	struct nc_attester_set both;
	struct nc_error error = {0};

	assert_int_equal(
		parse_rows(json_pack("[o,o]", set_of("authority", w->key, "current"), set_of("somebody", w->other, "current")), &both, &error), 0);
	sign(w, good(), w->other, "authority", NC_DOMAIN_CONFORMANCE);
	is_refused(w, &both, "attester_unknown");
	sign(w, good(), w->other, "somebody", NC_DOMAIN_CONFORMANCE);
	{
		struct nc_receipt receipt;

		assert_int_equal(open_receipt(w, &both, &receipt, &error), 0);
		nc_receipt_free(&receipt);
	}
	nc_attesters_free(&both);
}

/* R17 and R18 */
static void current_rotated_and_revoked_are_three_answers(void **state)
{
	static const char *const words[] = {"current", "rotated", "revoked"};
	struct world *w = *state;
	json_t *document = good();

	/* A time before the revocation, stated by the document about itself, changes nothing. */
	json_object_set_new(document, "time", json_integer(1));
	sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
	for (int i = 0; i < 3; i++) {
		struct nc_attester_set set;
		struct nc_receipt receipt;
		struct nc_error error = {0};

		assert_int_equal(parse_rows(json_pack("[o]", set_of("authority", w->key, words[i])), &set, &error), 0);
		assert_int_equal(open_receipt(w, &set, &receipt, &error), 0);
		assert_string_equal(nc_attester_state_word(receipt.attester->state), words[i]);
		nc_receipt_free(&receipt);
		nc_attesters_free(&set);
	}
	assert_int_not_equal(nc_error_exit(NC_E_ATTESTER_ROTATED), nc_error_exit(NC_E_ATTESTER_REVOKED));
	assert_int_not_equal(nc_error_exit(NC_E_ATTESTER_ROTATED), 0);
	assert_int_not_equal(nc_error_exit(NC_E_ATTESTER_REVOKED), 0);
}

/* R12: a second signer is no part of the format, known or not */
static void one_signature_of_one_signer(void **state)
{
	struct world *w = *state;
	char text[2048], twice[4200];
	size_t length;

	sign_good(w);
	length = get(w, NAME ".sig", text, sizeof(text));
	snprintf(twice, sizeof(twice), "[%.*s,%.*s]", (int)length, text, (int)length, text);
	put(w, NAME ".sig", twice, strlen(twice));
	is_refused(w, &w->set, "receipt_invalid");
	unlinkat(w->fd, NAME ".sig", 0);
	is_refused(w, &w->set, "receipt_invalid");
}

/* ---- attester sets ----------------------------------------------------------------------------------------------------------------------- */

static void set_is_refused(json_t *rows)
{
	struct nc_attester_set set = {0};
	struct nc_error error = {0};

	assert_true(parse_rows(rows, &set, &error) < 0);
	assert_string_equal(nc_error_word(error.code), "attesters_invalid");
	assert_null(set.rows);
}

/* R10 */
static void one_key_counts_once(void **state)
{
	struct world *w = *state;

	set_is_refused(json_pack("[o,o]", set_of("authority", w->key, "current"), set_of("authority", w->key, "current")));
	set_is_refused(json_pack("[o,o]", set_of("authority", w->key, "current"), set_of("somebody", w->key, "current")));
	set_is_refused(json_pack("[o,o]", set_of("authority", w->key, "current"), set_of("authority", w->key, "rotated")));
	set_is_refused(json_pack("[o,o]", set_of("authority", w->key, "current"), set_of("authority", w->other, "current")));
}

static json_t *row_with(const char *algorithm, const char *pem)
{
	return json_pack("[{s:s s:s s:s s:s}]", "attester", "a", "algorithm", algorithm, "public_key", pem, "state", "current");
}

/* SPKI of an Ed25519 key over any number of bytes. */
static void pem_of(const unsigned char *key, size_t size, char pem[256])
{
	unsigned char der[64] = {0x30, (unsigned char)(0x0a + size), 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, (unsigned char)(size + 1), 0x00};
	char base64[128];

	memcpy(der + 12, key, size);
	sodium_bin2base64(base64, sizeof(base64), der, 12 + size, sodium_base64_VARIANT_ORIGINAL);
	snprintf(pem, 256, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", base64);
}

/* R05, R08, R22 */
static void only_sound_ed25519_public_keys_are_taken(void **state)
{
	static const char *const foreign[] = {"foreign/rsa.pub",    "foreign/p256.pub",	     "foreign/ed448.pub",
					      "foreign/x25519.pub", "foreign/rsa_pkcs1.pub", "attester.key"};
	/* Points of small order and encodings that are not reduced, as libsodium's and others' blacklists have them. */
	static const unsigned char weak[][32] = {
		{0},
		{1},
		{[0 ... 30] = 0xff, [31] = 0x7f},
		{0xec, [1 ... 30] = 0xff, [31] = 0x7f},
		{0xed, [1 ... 30] = 0xff, [31] = 0x7f},
		{0xee, [1 ... 30] = 0xff, [31] = 0x7f},
		{[31] = 0x80},
		{1, [31] = 0x80},
		{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
		{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
	};
	struct world *w = *state;
	struct nc_public_key public;
	char pem[2048];

	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		FILE *file = fopen(vector(foreign[i]), "r");
		size_t length;

		assert_non_null(file);
		length = fread(pem, 1, sizeof(pem) - 1, file);
		pem[length] = '\0';
		fclose(file);
		set_is_refused(row_with("ed25519", pem));
	}
	for (size_t i = 0; i < sizeof(weak) / sizeof(*weak); i++) {
		pem_of(weak[i], 32, pem);
		set_is_refused(row_with("ed25519", pem));
	}
	nc_key_public(w->key, &public);
	pem_of(public.bytes, 31, pem);
	set_is_refused(row_with("ed25519", pem));
	memcpy(pem + 512, public.bytes, 32);
	pem[512 + 32] = 7;
	pem_of((unsigned char *)pem + 512, 33, pem);
	set_is_refused(row_with("ed25519", pem));
	/* A shared secret proves no origin. */
	pem_of(public.bytes, 32, pem);
	set_is_refused(row_with("hmac-sha256", pem));
	set_is_refused(row_with("Ed25519", pem));
	set_is_refused(json_pack("[{s:s s:s s:s s:s}]", "attester", "a", "algorithm", "ed25519", "secret", "c2VjcmV0", "state", "current"));
	set_is_refused(json_pack("[{s:s s:s s:s s:s}]", "attester", "a", "algorithm", "ed25519", "public_key", pem, "state", "trusted"));
}

/* A set that was put together past nc_attesters_parse: verification refuses a weak key once more. */
static void a_weak_key_verifies_nothing(void **state)
{
	struct world *w = *state;
	struct nc_attester row = {.name = "authority", .key = {{1}}};
	const struct nc_attester_set weak = {.rows = &row, .count = 1};
	char id[NC_KEY_ID_HEX], text[1024];
	unsigned char signature[64] = {1}; /* R the neutral element, S zero: valid for every message under the neutral key without the check */
	char base64[128];

	sign_good(w);
	nc_key_id(&row.key, id);
	sodium_bin2base64(base64, sizeof(base64), signature, sizeof(signature), sodium_base64_VARIANT_ORIGINAL);
	snprintf(text, sizeof(text),
		 "{\"algorithm\":\"ed25519\",\"attester\":\"authority\",\"domain\":\"%s\",\"key_id\":\"%s\",\"signature\":\"%s\"}",
		 NC_DOMAIN_CONFORMANCE, id, base64);
	put(w, NAME ".sig", text, strlen(text));
	{
		struct nc_receipt receipt;
		struct nc_error error;

		assert_true(open_receipt(w, &weak, &receipt, &error) < 0);
	}
}

/* ---- the bytes ----------------------------------------------------------------------------------------------------------------------------- */

static void every_bit_counts(void **state)
{
	static const char *const files[] = {NAME, NAME ".sig"};
	struct world *w = *state;
	char text[16384];

	sign_good(w);
	for (int file = 0; file < 2; file++) {
		size_t length = get(w, files[file], text, sizeof(text));

		for (size_t bit = 0; bit < length * 8; bit++) {
			struct nc_receipt receipt;
			struct nc_error error;

			text[bit / 8] ^= (char)(1 << bit % 8);
			put(w, files[file], text, length);
			assert_true(open_receipt(w, &w->set, &receipt, &error) < 0);
			text[bit / 8] ^= (char)(1 << bit % 8);
		}
		put(w, files[file], text, length);
	}
	for (int bit = 0; bit < 256; bit++) {
		struct nc_receipt receipt;
		struct nc_error error;

		w->set.rows[0].key.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(open_receipt(w, &w->set, &receipt, &error) < 0);
		w->set.rows[0].key.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	{
		struct nc_receipt receipt;
		struct nc_error error;

		assert_int_equal(open_receipt(w, &w->set, &receipt, &error), 0);
		nc_receipt_free(&receipt);
	}
}

static void every_bit_of_the_domain_counts(void **state)
{
	struct world *w = *state;
	char domain[] = NC_DOMAIN_CONFORMANCE;

	for (size_t bit = 0; bit < (sizeof(domain) - 1) * 8; bit++) {
		struct nc_digest digest;
		struct nc_receipt receipt;
		struct nc_error error = {0};
		json_t *document = good();

		domain[bit / 8] ^= (char)(1 << bit % 8);
		/* A domain that is no plain text is refused when signing. */
		if (!nc_statement_write(w->fd, NAME, domain, document, w->key, "authority", &digest, &error))
			assert_true(open_receipt(w, &w->set, &receipt, &error) < 0);
		json_decref(document);
		domain[bit / 8] ^= (char)(1 << bit % 8);
	}
}

/* R13 */
static void another_kind_of_document_is_no_receipt(void **state)
{
	static const char *const domains[] = {NC_DOMAIN_LAUNCH, NC_DOMAIN_CHECKPOINT, NC_DOMAIN_CLOSING};
	struct world *w = *state;
	json_t *document;

	for (size_t i = 0; i < 3; i++) {
		sign(w, good(), w->key, "authority", domains[i]);
		is_refused(w, &w->set, "receipt_invalid");
	}
	document = good();
	json_object_set_new(document, "type", json_string("launch"));
	sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
	is_refused(w, &w->set, "receipt_invalid");
	sign(w, json_pack("{s:i s:{s:s}}", "version", 1, "network", "mode", "none"), w->key, "authority", NC_DOMAIN_CONFORMANCE);
	is_refused(w, &w->set, "receipt_invalid");
}

/* Signs bytes as they stand, whatever they are. */
static void sign_bytes(struct world *w, const char *text)
{
	struct nc_public_key public;
	unsigned char *message = NULL;
	uint8_t signature[NC_SIGNATURE_SIZE];
	char id[NC_KEY_ID_HEX], base64[128], file[1024];
	struct nc_error error = {0};
	size_t length;

	assert_int_equal(nc_statement_message(NC_DOMAIN_CONFORMANCE, text, strlen(text), &message, &length, &error), 0);
	assert_int_equal(nc_key_sign(w->key, message, length, signature, &error), 0);
	free(message);
	nc_key_public(w->key, &public);
	nc_key_id(&public, id);
	sodium_bin2base64(base64, sizeof(base64), signature, sizeof(signature), sodium_base64_VARIANT_ORIGINAL);
	snprintf(file, sizeof(file),
		 "{\"algorithm\":\"ed25519\",\"attester\":\"authority\",\"domain\":\"%s\",\"key_id\":\"%s\",\"signature\":\"%s\"}",
		 NC_DOMAIN_CONFORMANCE, id, base64);
	put(w, NAME, text, strlen(text));
	put(w, NAME ".sig", file, strlen(file));
}

/* R15 */
static void what_two_parsers_read_differently_is_refused(void **state)
{
	struct world *w = *state;
	json_t *document = good();
	struct nc_error error = {0};
	char *canonical = NULL, twice[16384];
	size_t length;

	assert_int_equal(nc_json_canonical(document, &canonical, &length, &error), 0);
	sign_bytes(w, canonical);
	{
		struct nc_receipt receipt;

		assert_int_equal(open_receipt(w, &w->set, &receipt, &error), 0);
		nc_receipt_free(&receipt);
	}
	snprintf(twice, sizeof(twice), "{\"provider\":\"example:other\",%s", canonical + 1);
	sign_bytes(w, twice);
	is_refused(w, &w->set, "receipt_invalid");
	snprintf(twice, sizeof(twice), "%s ", canonical);
	sign_bytes(w, twice);
	is_refused(w, &w->set, "receipt_invalid");
	sign_bytes(w, "not JSON");
	is_refused(w, &w->set, "receipt_invalid");
	free(canonical);
	json_decref(document);
}

/* ---- what is claimed ----------------------------------------------------------------------------------------------------------------------- */

static void a_fact_stands_on_its_cases(void **state)
{
	static const char *const not_green[] = {"red", "inconclusive", "worthless", "error"};
	struct world *w = *state;

	for (int fact = 0; fact < NC_FACT_COUNT; fact++) {
		json_t *document;

		for (int i = 0; i < 4; i++) {
			document = good();
			json_array_append_new(json_object_get(document, "cases"), one_case((enum nc_fact)fact, not_green[i]));
			sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
			is_refused(w, &w->set, "receipt_invalid");
		}
		document = good();
		json_array_remove(json_object_get(document, "cases"), (size_t)fact);
		sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
		is_refused(w, &w->set, "receipt_invalid");
	}
}

static void four_facts_are_no_receipt(void **state)
{
	struct world *w = *state;

	for (int fact = 0; fact < NC_FACT_COUNT; fact++) {
		struct nc_receipt receipt;
		struct nc_error error;
		json_t *document = good();

		json_object_set_new(json_object_get(document, "facts"), nc_fact_word((enum nc_fact)fact), json_false());
		sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
		assert_int_equal(open_receipt(w, &w->set, &receipt, &error), 0);
		assert_true(nc_receipt_complete(&receipt, &error) < 0);
		assert_string_equal(nc_error_word(error.code), "fact_unestablished");
		assert_non_null(strstr(error.detail, nc_fact_word((enum nc_fact)fact)));
		nc_receipt_free(&receipt);
		document = good();
		json_object_del(json_object_get(document, "facts"), nc_fact_word((enum nc_fact)fact));
		sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
		is_refused(w, &w->set, "receipt_invalid");
	}
}

static void members_are_exactly_known(void **state)
{
	struct world *w = *state;
	json_t *document = good();
	const char *name;
	json_t *member;

	json_object_foreach(document, name, member)
	{
		json_t *without = json_deep_copy(document);

		json_object_del(without, name);
		sign(w, without, w->key, "authority", NC_DOMAIN_CONFORMANCE);
		is_refused(w, &w->set, "receipt_invalid");
	}
	json_object_set_new(document, "grade", json_string("security_boundary"));
	sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
	is_refused(w, &w->set, "receipt_invalid");
}

static void a_build_that_nobody_recorded_holds_none(void **state)
{
	struct world *w = *state;
	json_t *document = good();

	json_object_set_new(document, "provider_revision", json_string("dev"));
	sign(w, document, w->key, "authority", NC_DOMAIN_CONFORMANCE);
	is_refused(w, &w->set, "receipt_invalid");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_good_receipt_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(keys_come_from_the_set_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(the_name_belongs_to_the_key, setup, teardown),
		cmocka_unit_test_setup_teardown(current_rotated_and_revoked_are_three_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(one_signature_of_one_signer, setup, teardown),
		cmocka_unit_test_setup_teardown(one_key_counts_once, setup, teardown),
		cmocka_unit_test_setup_teardown(only_sound_ed25519_public_keys_are_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(a_weak_key_verifies_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_of_the_domain_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(another_kind_of_document_is_no_receipt, setup, teardown),
		cmocka_unit_test_setup_teardown(what_two_parsers_read_differently_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fact_stands_on_its_cases, setup, teardown),
		cmocka_unit_test_setup_teardown(four_facts_are_no_receipt, setup, teardown),
		cmocka_unit_test_setup_teardown(members_are_exactly_known, setup, teardown),
		cmocka_unit_test_setup_teardown(a_build_that_nobody_recorded_holds_none, setup, teardown),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests_name("receipt", tests, NULL, NULL);
}
