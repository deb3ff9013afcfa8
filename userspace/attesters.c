/* SPDX-License-Identifier: GPL-2.0-only */
/* attesters.c - the compiled-in attester set, and sets read from a file */
#include <stdlib.h>
#include <string.h>
#include "attesters.h"
#include "cleanup.h"
#include "place.h"
#include "json.h"
#include "key_pem.h"

/*
 * The reviewed set. EMPTY as shipped: no release authority has published a key, so no receipt counts and every profile that requires
 * security_boundary is refused, whatever the provider, this one included. A row is {name, {{32 key bytes}}, state}.
 */
static const struct nc_attester_set reviewed = {.rows = NULL, .count = 0};

static const char *const state_words[] = {
#define STATE_WORD(symbol, word) [NC_ATTESTER_##symbol] = word,
	NC_ATTESTER_STATES(STATE_WORD)};
#define STATE_COUNT (sizeof(state_words) / sizeof(*state_words))

const struct nc_attester_set *nc_attesters(void)
{
	return &reviewed;
}

const char *nc_attester_state_word(enum nc_attester_state state)
{
	return (size_t)state < STATE_COUNT ? state_words[state] : NULL;
}

static bool state_parse(const char *word, enum nc_attester_state *ret_state)
{
	for (size_t i = 0; i < STATE_COUNT; i++) {
		if (!strcmp(state_words[i], word)) {
			*ret_state = (enum nc_attester_state)i;
			return true;
		}
	}
	return false;
}

static int row_key(const struct nc_fields *fields, struct nc_public_key *ret_key, struct nc_error *reterr)
{
	char algorithm[32], pem[NC_PEM_TEXT_SIZE];
	int r = nc_fields_text(fields, "algorithm", algorithm, sizeof(algorithm), reterr);

	if (r < 0)
		return r;
	if (strcmp(algorithm, "ed25519"))
		return nc_fields_refuse(fields, "algorithm", reterr, "must be ed25519: an attester is an Ed25519 public key");
	r = nc_fields_text(fields, "public_key", pem, sizeof(pem), reterr);
	if (r < 0)
		return r;
	if (nc_pem_decode(NC_PEM_PUBLIC, "public_key", pem, strlen(pem), ret_key->bytes, reterr) < 0 || nc_key_check(ret_key, reterr) < 0)
		return nc_fields_refuse(fields, "public_key", reterr, "is not the PEM text (SPKI) of a sound Ed25519 public key");
	return 0;
}

static int parse_row(const json_t *value, size_t index, struct nc_attester *row, struct nc_error *reterr)
{
	static const char *const members[] = {"attester", "algorithm", "public_key", "state", NULL};
	struct nc_fields fields;
	char pointer[32], state[16];
	int r;

	snprintf(pointer, sizeof(pointer), "/attesters/%zu", index);
	r = nc_fields_begin(&fields, value, pointer, NC_E_ATTESTERS_INVALID, members, reterr);
	if (!r)
		r = nc_fields_text(&fields, "attester", row->name, sizeof(row->name), reterr);
	if (!r)
		r = row_key(&fields, &row->key, reterr);
	if (!r)
		r = nc_fields_text(&fields, "state", state, sizeof(state), reterr);
	if (r < 0)
		return r;
	if (!state_parse(state, &row->state))
		return nc_fields_refuse(&fields, "state", reterr, "must be current, rotated or revoked");
	return 0;
}

/* By key bytes: two names, or two spellings, of one key are one signer. */
static int check_unique(const struct nc_attester *rows, size_t count, struct nc_error *reterr)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!memcmp(&rows[i].key, &rows[j].key, sizeof(rows[i].key)))
				return nc_error_set(reterr, NC_E_ATTESTERS_INVALID, -EINVAL, "/attesters/%zu: has the key of /attesters/%zu", i, j);
			if (rows[i].state == NC_ATTESTER_CURRENT && rows[j].state == NC_ATTESTER_CURRENT && !strcmp(rows[i].name, rows[j].name))
				return nc_error_set(reterr, NC_E_ATTESTERS_INVALID, -EINVAL, "/attesters/%zu: %s has a current key already", i,
						    rows[i].name);
		}
	}
	return 0;
}

int nc_attesters_parse(const char *text, size_t length, struct nc_attester_set *ret_set, struct nc_error *reterr)
{
	static const char *const members[] = {"version", "attesters", NULL};
	NC_FREE struct nc_attester *rows = NULL;
	NC_JSON json_t *document = NULL;
	const json_t *list;
	struct nc_fields fields;
	int64_t version;
	size_t count;
	int r = nc_json_parse(text, length, NC_E_ATTESTERS_INVALID, &document, reterr);

	if (!r)
		r = nc_fields_begin(&fields, document, "", NC_E_ATTESTERS_INVALID, members, reterr);
	if (!r)
		r = nc_fields_integer(&fields, "version", 1, 1, &version, reterr);
	if (!r)
		r = nc_fields_part(&fields, "attesters", JSON_ARRAY, &list, reterr);
	if (r < 0)
		return r;
	count = json_array_size(list);
	rows = calloc(count + 1, sizeof(*rows));
	if (!rows)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the attester set");
	for (size_t i = 0; !r && i < count; i++)
		r = parse_row(json_array_get(list, i), i, &rows[i], reterr);
	if (!r)
		r = check_unique(rows, count, reterr);
	if (r < 0)
		return r;
	ret_set->rows = NC_TAKE_PTR(rows);
	ret_set->count = count;
	return 0;
}

void nc_attesters_free(struct nc_attester_set *set)
{
	free(set->rows);
	set->rows = NULL;
	set->count = 0;
}

const struct nc_attester *nc_attesters_find(const struct nc_attester_set *set, const char *key_id)
{
	char id[NC_KEY_ID_HEX];

	for (size_t i = 0; i < set->count; i++) {
		nc_key_id(&set->rows[i].key, id);
		if (!strcmp(id, key_id))
			return &set->rows[i];
	}
	return NULL;
}
