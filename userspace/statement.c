/* SPDX-License-Identifier: GPL-2.0-only */
/* statement.c - a canonical JSON document and its detached signature: the framing, signing, and the two files */
#include "statement.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "folder.h"
#include "json.h"

#define SIGNATURE_BASE64 sodium_base64_ENCODED_LEN(NC_SIGNATURE_SIZE, sodium_base64_VARIANT_ORIGINAL)

#define BEFORE_SIZE 64 /* a domain, its line feed and a NUL */

/* What stands before the document in the bytes that are signed. A domain holds no line feed and a document begins with { or [, so that no pair of domain and
 * document has the bytes of another. */
static int frame(const char *domain, char ret_before[BEFORE_SIZE], size_t *ret_length, struct nc_error *reterr)
{
	int length = snprintf(ret_before, BEFORE_SIZE, "%s\n", domain);

	if (length < 0 || length >= BEFORE_SIZE)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENAMETOOLONG, "the domain %.32s... is longer than any of ours", domain);
	*ret_length = (size_t)length;
	return 0;
}

int nc_statement_message(const char *domain, const char *canonical, size_t length, unsigned char **ret_message, size_t *ret_length,
			 struct nc_error *reterr)
{
	char before[BEFORE_SIZE];
	unsigned char *message;
	size_t before_length = 0;
	int r = frame(domain, before, &before_length, reterr);

	if (r < 0)
		return r;
	message = malloc(before_length + length);
	if (!message)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a statement");
	memcpy(message, before, before_length);
	memcpy(message + before_length, canonical, length);
	*ret_message = message;
	*ret_length = before_length + length;
	return 0;
}

static bool attester_is_valid(const char *attester)
{
	size_t length = attester ? strnlen(attester, NC_ATTESTER_MAX + 1) : 0;

	for (size_t i = 0; i < length; i++)
		if (attester[i] < 0x20 || attester[i] > 0x7e)
			return false;
	return length > 0 && length <= NC_ATTESTER_MAX;
}

/* ---- signing ---------------------------------------------------------------------------------------------------------------------------- */

static int signature_text(const char *domain, const char *attester, const struct nc_public_key *public, const uint8_t bytes[NC_SIGNATURE_SIZE],
			  char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	NC_JSON json_t *file = NULL;
	char base64[SIGNATURE_BASE64], id[NC_KEY_ID_HEX];

	sodium_bin2base64(base64, sizeof(base64), bytes, NC_SIGNATURE_SIZE, sodium_base64_VARIANT_ORIGINAL);
	nc_key_id(public, id);
	file = json_pack("{s:s, s:s, s:s, s:s, s:s}", "algorithm", NC_SIGNATURE_ALGORITHM, "attester", attester, "domain", domain, "key_id", id,
			 "signature", base64);
	if (!file)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a signature");
	return nc_json_canonical(file, ret_text, ret_length, reterr);
}

int nc_statement_sign_with(const char *domain, const json_t *document, const struct nc_json_member *members, size_t count,
			   const struct nc_secret_key *key, const char *attester, struct nc_signed *ret_signed, struct nc_error *reterr)
{
	NC_FREE char *message = NULL, *signature = NULL;
	char before[BEFORE_SIZE];
	struct nc_public_key public;
	uint8_t bytes[NC_SIGNATURE_SIZE];
	size_t length, message_length, signature_length, before_length = 0;
	int r;

	if (!attester_is_valid(attester))
		return nc_error_set(reterr, NC_E_CONFIG_INVALID, -EINVAL, "the attester's name is not 1 to %d characters of printable ASCII",
				    NC_ATTESTER_MAX);
	r = frame(domain, before, &before_length, reterr)
		    ?: nc_json_canonical_with(before, document, members, count, &message, &message_length, reterr);
	if (r < 0)
		return r;
	length = message_length - before_length;
	if (length > NC_JSON_SIZE_MAX)
		return nc_error_set(reterr, NC_E_SYSTEM, -EFBIG, "the statement is larger than a reader accepts");
	r = nc_key_sign(key, message, message_length, bytes, reterr);
	nc_key_public(key, &public);
	if (r == 0)
		r = signature_text(domain, attester, &public, bytes, &signature, &signature_length, reterr);
	if (r < 0)
		return r;
	nc_digest_of(message + before_length, length, &ret_signed->digest);
	ret_signed->text = message + before_length;
	ret_signed->message = NC_TAKE_PTR(message);
	ret_signed->length = length;
	ret_signed->signature = NC_TAKE_PTR(signature);
	ret_signed->signature_length = signature_length;
	return 0;
}

int nc_statement_sign(const char *domain, const json_t *document, const struct nc_secret_key *key, const char *attester, struct nc_signed *ret_signed,
		      struct nc_error *reterr)
{
	return nc_statement_sign_with(domain, document, NULL, 0, key, attester, ret_signed, reterr);
}

void nc_signed_free(struct nc_signed *signed_)
{
	free(signed_->message);
	free(signed_->signature);
	*signed_ = (struct nc_signed){0};
}

/* ---- verifying -------------------------------------------------------------------------------------------------------------------------- */

static int refuse(struct nc_error *reterr, const char *name, const char *what)
{
	return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s %s", name, what);
}

/* The 64 bytes of a signature file that says what is expected of it. */
static int parse_signature(const char *name, const char *domain, const char *text, size_t length, const struct nc_public_key *key,
			   uint8_t ret_bytes[NC_SIGNATURE_SIZE], struct nc_error *reterr)
{
	NC_JSON json_t *file = NULL;
	const char *algorithm, *attester, *its_domain, *id, *base64;
	char own_id[NC_KEY_ID_HEX], again[SIGNATURE_BASE64];
	size_t used = 0;
	int r;

	r = nc_json_parse_canonical(name, text, length, NC_E_EVIDENCE_INVALID, &file, reterr);
	if (r < 0)
		return r;
	/* "!": no other member. */
	if (json_unpack(file, "{s:s, s:s, s:s, s:s, s:s !}", "algorithm", &algorithm, "attester", &attester, "domain", &its_domain, "key_id", &id,
			"signature", &base64) < 0)
		return refuse(reterr, name, "does not hold exactly algorithm, attester, domain, key_id and signature");
	if (strcmp(algorithm, NC_SIGNATURE_ALGORITHM))
		return refuse(reterr, name, "is of another algorithm than ed25519");
	if (!attester_is_valid(attester))
		return refuse(reterr, name, "has an attester that is no printable ASCII text");
	if (strcmp(its_domain, domain))
		return refuse(reterr, name, "is for another kind of statement (its domain differs)");
	nc_key_id(key, own_id);
	if (strcmp(id, own_id))
		return refuse(reterr, name, "was made with another key than the one given");
	if (sodium_base642bin(ret_bytes, NC_SIGNATURE_SIZE, base64, strlen(base64), NULL, &used, NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    used != NC_SIGNATURE_SIZE)
		return refuse(reterr, name, "holds a signature that is not 64 bytes of base64");
	sodium_bin2base64(again, sizeof(again), ret_bytes, NC_SIGNATURE_SIZE, sodium_base64_VARIANT_ORIGINAL);
	if (strcmp(again, base64))
		return refuse(reterr, name, "holds a signature that is not spelled as base64 spells it");
	return 0;
}

int nc_statement_check(const char *name, const char *domain, const char *text, size_t length, const char *signature, size_t signature_length,
		       const struct nc_public_key *key, json_t **ret_document, struct nc_digest *ret_digest, struct nc_error *reterr)
{
	char signature_name[NC_FOLDER_NAME_MAX + sizeof(".sig")];
	NC_FREE unsigned char *message = NULL;
	uint8_t bytes[NC_SIGNATURE_SIZE];
	size_t message_length;
	int r;

	if (length > NC_JSON_SIZE_MAX)
		return refuse(reterr, name, "is larger than a statement can be");
	snprintf(signature_name, sizeof(signature_name), "%.*s.sig", NC_FOLDER_NAME_MAX, name);
	r = parse_signature(signature_name, domain, signature, signature_length, key, bytes, reterr);
	if (r < 0)
		return r;
	r = nc_statement_message(domain, text, length, &message, &message_length, reterr);
	if (r < 0)
		return r;
	if (nc_key_verify(key, message, message_length, bytes, reterr) < 0)
		return reterr->code == NC_E_EVIDENCE_INVALID ? refuse(reterr, name, "does not verify: it or its signature was changed")
							     : reterr->status;
	r = nc_json_parse_canonical(name, text, length, NC_E_EVIDENCE_INVALID, ret_document, reterr);
	if (r == 0)
		nc_digest_of(text, length, ret_digest);
	return r;
}

/* ---- in a folder ------------------------------------------------------------------------------------------------------------------------ */

int nc_statement_write_beside(int folder_fd, const char *name, const char *domain, const json_t *document, const struct nc_secret_key *key,
			      const char *attester, struct nc_digest *ret_digest, struct nc_publication *ret_publication, struct nc_error *reterr)
{
	char signature_name[NC_FOLDER_NAME_MAX + sizeof(".sig")];
	struct nc_signed made;
	int r;

	r = nc_statement_sign(domain, document, key, attester, &made, reterr);
	if (r < 0)
		return r;
	snprintf(signature_name, sizeof(signature_name), "%s.sig", name);
	r = nc_folder_write_beside(folder_fd,
				   (struct nc_folder_file[]){{signature_name, made.signature, made.signature_length}, {name, made.text, made.length}},
				   2, ret_publication, reterr);
	if (r == 0)
		*ret_digest = made.digest;
	nc_signed_free(&made);
	return r;
}

int nc_statement_write(int folder_fd, const char *name, const char *domain, const json_t *document, const struct nc_secret_key *key,
		       const char *attester, struct nc_digest *ret_digest, struct nc_error *reterr)
{
	NC_FREE struct nc_sync *helper = malloc(sizeof(*helper));
	struct nc_publication publication, *only = &publication;
	struct nc_digest digest;
	int r = helper ? nc_statement_write_beside(folder_fd, name, domain, document, key, attester, &digest, &publication, reterr)
		       : nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a statement");

	r = r < 0 ? r : nc_folder_give_names(folder_fd, &only, 1, -1, helper, reterr);
	if (r == 0)
		*ret_digest = digest;
	return r;
}

int nc_statement_read(int folder_fd, const char *name, const char *domain, const struct nc_public_key *key, json_t **ret_document,
		      struct nc_digest *ret_digest, struct nc_error *reterr)
{
	char signature_name[NC_FOLDER_NAME_MAX + sizeof(".sig")];
	NC_FREE char *text = NULL, *signature = NULL;
	size_t length, signature_length;
	int r;

	snprintf(signature_name, sizeof(signature_name), "%.*s.sig", NC_FOLDER_NAME_MAX, name);
	r = nc_folder_read(folder_fd, name, NC_JSON_SIZE_MAX, &text, &length, reterr);
	if (r == 0)
		r = nc_folder_read(folder_fd, signature_name, NC_SIGNATURE_FILE_MAX, &signature, &signature_length, reterr);
	if (r < 0)
		return r;
	return nc_statement_check(name, domain, text, length, signature, signature_length, key, ret_document, ret_digest, reterr);
}
