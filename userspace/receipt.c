/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * receipt.c - the conformance statement: its members, the rule that binds facts to cases, and its signature
 *
 * nc_receipt_open reads the signature file once to choose the row of the set, then nc_statement_read verifies document and signature under that
 * row's key: what the signature file says about itself can make the verification fail and can never make it succeed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "cleanup.h"
#include "place.h"
#include "json.h"
#include "receipt.h"
#include "statement.h"

static const char *const outcome_words[] = {
#define OUTCOME_WORD(symbol, word, meaning) [NC_OUTCOME_##symbol] = word,
	NC_OUTCOMES(OUTCOME_WORD)};

const char *nc_outcome_word(enum nc_outcome outcome)
{
	return (size_t)outcome < NC_OUTCOME_COUNT ? outcome_words[outcome] : NULL;
}

bool nc_outcome_parse(const char *word, enum nc_outcome *ret_outcome)
{
	for (size_t i = 0; i < NC_OUTCOME_COUNT; i++) {
		if (!strcmp(outcome_words[i], word)) {
			*ret_outcome = (enum nc_outcome)i;
			return true;
		}
	}
	return false;
}

/* What the cases of one fact say together. */
struct tally {
	size_t cases, green;
};

static int parse_case(const json_t *value, size_t index, struct tally tallies[NC_FACT_COUNT], struct nc_error *reterr)
{
	static const char *const members[] = {"id",	  "fact",   "path",	"family",  "protocol", "expectation", "control",
					      "enforced", "mutant", "switches", "outcome", "reason",   NULL};
	static const char *const texts[] = {"id", "path", "family", "protocol", "expectation", "control", "enforced", "mutant", NULL};
	char pointer[32], word[64], text[128];
	struct nc_fields fields;
	enum nc_outcome outcome;
	enum nc_fact fact;
	int r;

	snprintf(pointer, sizeof(pointer), "/cases/%zu", index);
	r = nc_fields_begin(&fields, value, pointer, NC_E_RECEIPT_INVALID, members, reterr);
	for (int i = 0; !r && texts[i]; i++)
		r = nc_fields_text(&fields, texts[i], text, sizeof(text), reterr);
	if (!r)
		r = nc_fields_text(&fields, "fact", word, sizeof(word), reterr);
	if (r < 0)
		return r;
	if (!nc_fact_parse(word, &fact))
		return nc_fields_refuse(&fields, "fact", reterr, "\"%s\" is not a fact", word);
	r = nc_fields_text(&fields, "outcome", word, sizeof(word), reterr);
	if (r < 0)
		return r;
	if (!nc_outcome_parse(word, &outcome))
		return nc_fields_refuse(&fields, "outcome", reterr, "\"%s\" is not an outcome", word);
	tallies[fact].cases++;
	tallies[fact].green += outcome == NC_OUTCOME_GREEN;
	return 0;
}

static int parse_facts(const struct nc_fields *fields, const json_t *cases, struct nc_receipt *receipt, struct nc_error *reterr)
{
	static const char *const members[] = {
#define FACT_MEMBER(symbol, word, meaning) word,
		NC_FACTS(FACT_MEMBER) NULL};
	struct tally tallies[NC_FACT_COUNT] = {0};
	struct nc_fields facts;
	const json_t *object;
	int r = nc_fields_part(fields, "facts", JSON_OBJECT, &object, reterr);

	if (!r)
		r = nc_fields_begin(&facts, object, "/facts", NC_E_RECEIPT_INVALID, members, reterr);
	for (size_t i = 0; !r && i < json_array_size(cases); i++)
		r = parse_case(json_array_get(cases, i), i, tallies, reterr);
	for (int i = 0; !r && i < NC_FACT_COUNT; i++) {
		r = nc_fields_boolean(&facts, members[i], &receipt->facts[i], reterr);
		if (!r && receipt->facts[i] && (!tallies[i].cases || tallies[i].green != tallies[i].cases))
			r = nc_fields_refuse(&facts, members[i], reterr, "is claimed, and %zu of its %zu cases are green", tallies[i].green,
					     tallies[i].cases);
	}
	return r;
}

static int parse_pair(const struct nc_fields *fields, struct nc_receipt *receipt, struct nc_error *reterr)
{
	int r = nc_fields_text(fields, "provider", receipt->provider, sizeof(receipt->provider), reterr);

	if (!r && !nc_provider_valid(receipt->provider))
		r = nc_fields_refuse(fields, "provider", reterr, "must be NAMESPACE:NAME in lower case");
	if (!r)
		r = nc_fields_text(fields, "provider_revision", receipt->provider_revision, sizeof(receipt->provider_revision), reterr);
	if (!r && !nc_revision_valid(receipt->provider_revision))
		r = nc_fields_refuse(fields, "provider_revision", reterr, "must be printable ASCII without spaces and colons");
	if (!r)
		r = nc_fields_digest(fields, "manifest", receipt->manifest, reterr);
	return r;
}

static int parse_members(const struct nc_fields *fields, struct nc_receipt *receipt, struct nc_error *reterr)
{
	char type[64], text[128], digest[65];
	const json_t *words;
	int64_t number;
	bool mutants;
	int r = nc_fields_integer(fields, "version", NC_RECEIPT_VERSION, NC_RECEIPT_VERSION, &number, reterr);

	if (!r)
		r = nc_fields_text(fields, "type", type, sizeof(type), reterr);
	if (!r && strcmp(type, NC_RECEIPT_TYPE))
		r = nc_fields_refuse(fields, "type", reterr, "must be " NC_RECEIPT_TYPE);
	if (!r)
		r = parse_pair(fields, receipt, reterr);
	if (!r)
		r = nc_fields_integer(fields, "matrix_version", 1, INT32_MAX, &receipt->matrix_version, reterr);
	if (!r)
		r = nc_fields_digest(fields, "matrix", digest, reterr);
	if (!r)
		r = nc_fields_digest(fields, "bundle", digest, reterr);
	if (!r)
		r = nc_fields_text(fields, "kernel", text, sizeof(text), reterr);
	if (!r)
		r = nc_fields_text(fields, "architecture", text, sizeof(text), reterr);
	if (!r)
		r = nc_fields_integer(fields, "time", 0, INT64_C(1) << 40, &number, reterr);
	if (!r)
		r = nc_fields_boolean(fields, "mutants", &mutants, reterr);
	if (!r)
		r = nc_fields_words(fields, "residuals", &words, reterr);
	if (!r)
		r = nc_fields_words(fields, "gaps", &receipt->gaps, reterr);
	if (!r)
		r = nc_fields_words(fields, "closures", &receipt->closures, reterr);
	if (!r)
		r = nc_fields_part(fields, "cases", JSON_ARRAY, &receipt->cases, reterr);
	return r;
}

int nc_receipt_parse(json_t *document, struct nc_receipt *ret_receipt, struct nc_error *reterr)
{
	static const char *const members[] = {
		"version", "type",	   "provider", "provider_revision", "manifest", "matrix_version", "matrix", "bundle", "mutants",
		"kernel",  "architecture", "time",     "closures",	    "gaps",	"residuals",	  "cases",  "facts",  NULL};
	struct nc_receipt receipt = {0};
	NC_FREE char *canonical = NULL;
	struct nc_fields fields;
	size_t length;
	int r = nc_fields_begin(&fields, document, "", NC_E_RECEIPT_INVALID, members, reterr);

	if (!r)
		r = parse_members(&fields, &receipt, reterr);
	if (!r)
		r = parse_facts(&fields, receipt.cases, &receipt, reterr);
	if (!r)
		r = nc_json_canonical(document, &canonical, &length, reterr);
	if (r < 0)
		return r;
	nc_digest_of(canonical, length, &receipt.digest);
	receipt.document = json_incref(document);
	*ret_receipt = receipt;
	return 0;
}

/* The signature file's words about its signer: they choose a row, and decide nothing. */
static int read_signer(int folder_fd, const char *name, char attester[NC_ATTESTER_NAME_MAX], char key_id[NC_KEY_ID_HEX], struct nc_error *reterr)
{
	static const char *const members[] = {"attester", "key_id", "algorithm", "domain", "signature", NULL};
	char file[256], text[2048];
	NC_JSON json_t *signature = NULL;
	struct nc_fields fields;
	ssize_t length;
	NC_CLOSE int fd = -1;
	int r;

	snprintf(file, sizeof(file), "%s.sig", name);
	fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_RECEIPT_INVALID, -errno, "open %s", file);
	length = read(fd, text, sizeof(text));
	if (length < 0)
		return nc_error_sys(reterr, NC_E_RECEIPT_INVALID, -errno, "read %s", file);
	if (length == (ssize_t)sizeof(text))
		return nc_error_set(reterr, NC_E_RECEIPT_INVALID, -EFBIG, "%s: too long for a signature", file);
	r = nc_json_parse(text, length, NC_E_RECEIPT_INVALID, &signature, reterr);
	if (!r)
		r = nc_fields_begin(&fields, signature, "", NC_E_RECEIPT_INVALID, members, reterr);
	if (!r)
		r = nc_fields_text(&fields, "attester", attester, NC_ATTESTER_NAME_MAX, reterr);
	if (!r)
		r = nc_fields_digest(&fields, "key_id", key_id, reterr);
	return r;
}

int nc_receipt_open(int folder_fd, const char *name, const struct nc_attester_set *set, struct nc_receipt *ret_receipt, struct nc_error *reterr)
{
	char attester[NC_ATTESTER_NAME_MAX], key_id[NC_KEY_ID_HEX];
	NC_JSON json_t *document = NULL;
	struct nc_receipt receipt;
	const struct nc_attester *row;
	struct nc_digest digest;
	int r = read_signer(folder_fd, name, attester, key_id, reterr);

	if (r < 0)
		return r;
	row = nc_attesters_find(set, key_id);
	if (!row)
		return nc_error_set(reterr, NC_E_ATTESTER_UNKNOWN, -EPERM,
				    "%s is signed with key %.16s..., which is not in the attester set (%zu keys)", name, key_id, set->count);
	if (strcmp(row->name, attester))
		return nc_error_set(reterr, NC_E_ATTESTER_UNKNOWN, -EPERM, "%s names another attester than the one that key %.16s... belongs to",
				    name, key_id);
	r = nc_statement_read(folder_fd, name, NC_DOMAIN_CONFORMANCE, &row->key, &document, &digest, reterr);
	if (r < 0) {
		reterr->code = NC_E_RECEIPT_INVALID;
		return r;
	}
	r = nc_receipt_parse(document, &receipt, reterr);
	if (r < 0)
		return r;
	if (!strcmp(receipt.provider_revision, NC_REVISION_DEV)) {
		nc_receipt_free(&receipt);
		return nc_error_set(reterr, NC_E_RECEIPT_INVALID, -EPERM, "a build that no release recorded (%s) can hold no receipt",
				    NC_REVISION_DEV);
	}
	receipt.verified_under = set;
	receipt.attester = row;
	*ret_receipt = receipt;
	return 0;
}

void nc_receipt_free(struct nc_receipt *receipt)
{
	json_decref(receipt->document);
	receipt->document = NULL;
}

int nc_receipt_complete(const struct nc_receipt *receipt, struct nc_error *reterr)
{
	for (int i = 0; i < NC_FACT_COUNT; i++) {
		if (!receipt->facts[i])
			return nc_error_set(reterr, NC_E_FACT_UNESTABLISHED, -EPERM, "%s@%s: %s is not established", receipt->provider,
					    receipt->provider_revision, nc_fact_word((enum nc_fact)i));
	}
	return 0;
}
