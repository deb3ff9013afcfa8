/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * receipt.h - the conformance statement, and the receipt that it is once it is signed and holds all five facts
 *
 *   conform -> statement (unsigned) + bundle -> receipt sign (elsewhere) -> statement + .sig -> nc_receipt_open -> nc_admit
 *
 * A signature proves who said it and that it was not altered. It does not prove the statement: that is what the matrix is for.
 *
 * The signature is looked at before any field. Keys come from an attester set and from nowhere else: what the signature file says about its key
 * only chooses the row. A time that the document states about itself decides nothing.
 */
#ifndef NC_RECEIPT_H
#define NC_RECEIPT_H

#include <jansson.h>
#include "attesters.h"
#include "capability.h"
#include "digest.h"
#include "error.h"
#include "grade.h"

#define NC_RECEIPT_VERSION 1
#define NC_RECEIPT_TYPE "sandbox-egress-conformance" /* stands inside the signed bytes, beside the domain */
#define NC_SIGNATURE_PROVES "authorship and integrity"

/* How one case came out (section 8's rules; userspace/outcome.h computes it). Only green establishes anything. */
#define NC_OUTCOMES(X)                                                                                                                               \
	X(GREEN, "green", "all runs came out as they should")                                                                                        \
	X(RED, "red", "what must be refused got out, or what must be reached was refused")                                                           \
	X(INCONCLUSIVE, "inconclusive", "the case could not show anything: the path was not real, or could not be made")                             \
	X(WORTHLESS, "worthless", "the case stays green with its check switched off: it does not test that check")                                   \
	X(ERROR, "error", "the provider's driver failed")
#define NC_ENUM_OUTCOME(symbol, ...) NC_OUTCOME_##symbol,
enum nc_outcome { NC_OUTCOMES(NC_ENUM_OUTCOME) NC_OUTCOME_COUNT };
const char *nc_outcome_word(enum nc_outcome outcome);
bool nc_outcome_parse(const char *word, enum nc_outcome *ret_outcome);

/* A parsed statement. It owns its document; the words in it are borrowed from there. */
struct nc_receipt {
	char provider[NC_PROVIDER_MAX];
	char provider_revision[NC_REVISION_MAX];
	char manifest[65]; /* digest of what was tested, as the operator gave it */
	int64_t matrix_version;
	bool facts[NC_FACT_COUNT];
	const json_t *closures; /* words of the paths that were closed when it was earned */
	const json_t *cases;
	const json_t *gaps;
	json_t *document;
	struct nc_digest digest; /* over the canonical bytes */
	/* Set by nc_receipt_open alone: the set and row whose key verified the signature. */
	const struct nc_attester_set *verified_under;
	const struct nc_attester *attester;
};

/* Checks the document (RECEIPT_INVALID, with the place): members, and that no fact is claimed which its own cases do not establish. Takes a
 * reference of `document`. The result is verified under nothing. */
int nc_receipt_parse(json_t *document, struct nc_receipt *ret_receipt, struct nc_error *reterr);
/* Reads NAME and NAME.sig in folder_fd and verifies under `set`. ATTESTER_UNKNOWN when no row has the key; a revoked or rotated row is no error
 * here: the answer stands in `attester`. The receipt borrows `set`. */
int nc_receipt_open(int folder_fd, const char *name, const struct nc_attester_set *set, struct nc_receipt *ret_receipt, struct nc_error *reterr);
void nc_receipt_free(struct nc_receipt *receipt);

/* FACT_UNESTABLISHED, naming the first that is missing, unless all five are there. */
int nc_receipt_complete(const struct nc_receipt *receipt, struct nc_error *reterr);

#endif
