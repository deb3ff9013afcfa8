/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_statement.h - the unsigned statement and the bundle of transcripts behind it
 *
 *   BUNDLE/statement.json    canonical, unsigned
 *   BUNDLE/matrix.json       the table of cases that was run, canonical; its digest stands in the statement as `matrix`
 *   BUNDLE/transcripts.jsonl one canonical line for each case: {"id", "runs"}; the digest of the whole file stands in the statement as `bundle`
 *
 * Whoever signs rechecks all of it (nc_conform_bundle_check): that the table is the table of this program, that the transcripts are those of the
 * statement, and that every outcome follows from its transcript by the rules of outcome.h.
 */
#ifndef NC_CONFORM_STATEMENT_H
#define NC_CONFORM_STATEMENT_H

#include "conform.h"
#include "receipt.h"

#define NC_BUNDLE_STATEMENT "statement.json"
#define NC_BUNDLE_MATRIX "matrix.json"
#define NC_BUNDLE_TRANSCRIPTS "transcripts.jsonl"
#define NC_RECEIPT_NAME "receipt.json"

/* What no case can show, whatever it comes out as: carried in every statement. */
#define NC_RESIDUALS(X)                                                                                                                              \
	X("http2_coalescing: a request for another name on a connection that is open already")                                                       \
	X("host_header_in_tls: a Host inside TLS that differs from the server name")                                                                 \
	X("encrypted_client_hello: the inner server name of an Encrypted ClientHello")                                                               \
	X("listed_destination: what a listed destination itself forwards")

/* Makes the folder (0700, must not exist) and writes the three files. */
int nc_conform_bundle_write(const char *folder, const struct nc_conformance *conformance, const char *manifest, struct nc_error *reterr);
/* Rechecks the bundle. STATEMENT_INVALID says what does not fit. The receipt is parsed from statement.json, and verified under nothing. */
int nc_conform_bundle_check(const char *folder, struct nc_receipt *ret_receipt, struct nc_error *reterr);

#endif
