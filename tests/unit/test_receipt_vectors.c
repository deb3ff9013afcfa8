/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_receipt_vectors.c - the published receipt (tests/vectors/receipt), for netcordon and for openssl by the published rule alone: domain, line feed, bytes
 *
 * Every bit of the statement, the signature, the key and the domain is turned once, and both must refuse what is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <sodium.h>
#include "cleanup.h"
#include "json.h"
#include "receipt.h"
#include "statement.h"
#include "vectors.h"

#define BASE64_LENGTH 88

struct published {
	char statement[8192], file[2048], domain[128], pem[512], set[2048];
	size_t statement_length, file_length, domain_length, set_length;
	unsigned char signature[64];
	char *signature_place; /* of its base64 in `file` */
	struct nc_public_key key;
};

static size_t read_vector(const char *name, char *text, size_t size)
{
	FILE *file = fopen(vector(name), "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, size - 1, file);
	assert_true(length > 0 && length < size - 1);
	text[length] = '\0';
	fclose(file);
	return length;
}

static int setup(void **state)
{
	struct published *p = calloc(1, sizeof(*p));
	struct nc_error error = {0};
	size_t length = 0;

	p->statement_length = read_vector("receipt/receipt.json", p->statement, sizeof(p->statement));
	p->file_length = read_vector("receipt/receipt.json.sig", p->file, sizeof(p->file));
	p->domain_length = read_vector("receipt/domain", p->domain, sizeof(p->domain));
	p->set_length = read_vector("receipt/attesters-current.json", p->set, sizeof(p->set));
	read_vector("receipt/attester.pub", p->pem, sizeof(p->pem));
	p->signature_place = strstr(p->file, "\"signature\":\"") + strlen("\"signature\":\"");
	if (sodium_base642bin(p->signature, sizeof(p->signature), p->signature_place, BASE64_LENGTH, NULL, &length, NULL,
			      sodium_base64_VARIANT_ORIGINAL) ||
	    length != sizeof(p->signature) || nc_key_load_public(vector("receipt/attester.pub"), &p->key, &error) < 0)
		return -1;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* netcordon's answer, with the raw signature put into the signature file as its one spelling. */
static bool netcordon_takes(struct published *p)
{
	char file[sizeof(p->file)], base64[BASE64_LENGTH + 1];
	NC_JSON json_t *document = NULL;
	struct nc_digest digest;
	struct nc_error error = {0};

	sodium_bin2base64(base64, sizeof(base64), p->signature, sizeof(p->signature), sodium_base64_VARIANT_ORIGINAL);
	memcpy(file, p->file, p->file_length);
	memcpy(file + (p->signature_place - p->file), base64, BASE64_LENGTH);
	return nc_statement_check("receipt.json", p->domain, p->statement, p->statement_length, file, p->file_length, &p->key, &document, &digest,
				  &error) == 0;
}

static bool openssl_takes(const struct published *p)
{
	unsigned char message[sizeof(p->domain) + sizeof(p->statement)];
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, p->key.bytes, sizeof(p->key.bytes));
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int answer;

	assert_non_null(key);
	memcpy(message, p->domain, p->domain_length);
	message[p->domain_length] = '\n';
	memcpy(message + p->domain_length + 1, p->statement, p->statement_length);
	assert_int_equal(EVP_DigestVerifyInit(context, NULL, NULL, NULL, key), 1);
	answer = EVP_DigestVerify(context, p->signature, sizeof(p->signature), message, p->domain_length + 1 + p->statement_length);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	return answer == 1;
}

static void both_take(struct published *p)
{
	assert_true(netcordon_takes(p));
	assert_true(openssl_takes(p));
}

static void no_bit_may_turn(struct published *p, void *bytes, size_t length)
{
	unsigned char *at = bytes;

	both_take(p);
	for (size_t bit = 0; bit < length * 8; bit++) {
		at[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (netcordon_takes(p))
			fail_msg("netcordon takes it with bit %zu turned", bit);
		if (openssl_takes(p))
			fail_msg("openssl takes it with bit %zu turned", bit);
		at[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	both_take(p);
}

static void every_bit_of_the_statement(void **state)
{
	struct published *p = *state;

	no_bit_may_turn(p, p->statement, p->statement_length);
}

static void every_bit_of_the_signature(void **state)
{
	struct published *p = *state;

	no_bit_may_turn(p, p->signature, sizeof(p->signature));
}

static void every_bit_of_the_key(void **state)
{
	struct published *p = *state;

	no_bit_may_turn(p, p->key.bytes, sizeof(p->key.bytes));
}

static void every_bit_of_the_domain(void **state)
{
	struct published *p = *state;

	no_bit_may_turn(p, p->domain, p->domain_length);
}

/* The files say what they are: the statement is the receipt's bytes, the domain is the program's own, and the set's key verifies. */
static void the_published_receipt_is_read(void **state)
{
	struct published *p = *state;
	NC_CLOSE int folder = open(vector("receipt"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char statement[sizeof(p->statement)];
	struct nc_attester_set set = {0};
	struct nc_receipt receipt = {0};
	struct nc_error error = {0};

	assert_int_equal(read_vector("receipt/statement.json", statement, sizeof(statement)), p->statement_length);
	assert_memory_equal(statement, p->statement, p->statement_length);
	assert_string_equal(p->domain, NC_DOMAIN_CONFORMANCE);
	assert_int_equal(nc_attesters_parse(p->set, p->set_length, &set, &error), 0);
	assert_int_equal(nc_receipt_open(folder, "receipt.json", &set, &receipt, &error), 0);
	assert_int_equal(nc_receipt_complete(&receipt, &error), 0);
	nc_receipt_free(&receipt);
	nc_attesters_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_published_receipt_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_of_the_statement, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_of_the_signature, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_of_the_key, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_of_the_domain, setup, teardown),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests_name("receipt_vectors", tests, NULL, NULL);
}
