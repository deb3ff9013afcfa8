/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attesters.h - the reviewed list of public keys whose receipts count
 *
 * The set that counts for admission is compiled in, and as shipped it is EMPTY: a grade is not something that configuration can buy. Adding a
 * row to attesters.c is a change that is reviewed. A set may also be read from a file, for `receipt verify --attesters`: an answer under such a
 * set is never a grade.
 *
 * One key stands in a set once, whatever it is called, so that no key can count twice. A name stands once for each key that it ever had: the
 * newest is current, older ones are rotated or revoked.
 */
#ifndef NC_ATTESTERS_H
#define NC_ATTESTERS_H

#include <stddef.h>
#include "error.h"
#include "key.h"

#define NC_ATTESTER_NAME_MAX 64

/* What a key's state makes of a receipt that it signed: valid; valid and superseded; not valid, whatever time the receipt states. */
#define NC_ATTESTER_STATES(X)                                                                                                                        \
	X(CURRENT, "current")                                                                                                                        \
	X(ROTATED, "rotated")                                                                                                                        \
	X(REVOKED, "revoked")
#define NC_ENUM_ATTESTER_STATE(symbol, word) NC_ATTESTER_##symbol,
enum nc_attester_state { NC_ATTESTER_STATES(NC_ENUM_ATTESTER_STATE) };

struct nc_attester {
	char name[NC_ATTESTER_NAME_MAX];
	struct nc_public_key key;
	enum nc_attester_state state;
};

struct nc_attester_set {
	struct nc_attester *rows;
	size_t count;
};

/* The compiled-in set. */
const struct nc_attester_set *nc_attesters(void);

/*
 * Reads {"version": 1, "attesters": [{"attester", "algorithm": "ed25519", "public_key": SPKI PEM, "state"}]}. ATTESTERS_INVALID for another
 * algorithm, for a key that is not a canonical Ed25519 point of full order, for the same key twice, and for anything that is not a public key.
 * Free with nc_attesters_free.
 */
int nc_attesters_parse(const char *text, size_t length, struct nc_attester_set *ret_set, struct nc_error *reterr);
void nc_attesters_free(struct nc_attester_set *set);

/* The row whose key has this id (nc_key_id), or NULL. */
const struct nc_attester *nc_attesters_find(const struct nc_attester_set *set, const char *key_id);
const char *nc_attester_state_word(enum nc_attester_state state);

#endif
