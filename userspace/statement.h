/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * statement.h - a canonical JSON document and its detached signature
 *
 * What is signed is DOMAIN "\n" CANONICAL-BYTES, Ed25519. The signature file is NAME.sig: {attester, key id, algorithm, domain, signature
 * (base64, RFC 4648 section 4, padded, re-encodes to itself)}. This framing is in one function, nc_statement_message.
 */
#ifndef NC_STATEMENT_H
#define NC_STATEMENT_H

#include <jansson.h>
#include "digest.h"
#include "key.h"

#define NC_DOMAIN_LAUNCH "netcordon.launch.v1"
#define NC_DOMAIN_CHECKPOINT "netcordon.checkpoint.v1"
#define NC_DOMAIN_CLOSING "netcordon.closing.v1"
#define NC_DOMAIN_CONFORMANCE "checkfu.sandbox-egress-conformance.v1"

/* The bytes that are signed; the caller frees. */
int nc_statement_message(const char *domain, const char *canonical, size_t length, unsigned char **ret_message, size_t *ret_length, struct nc_error *reterr);
/* Writes folder_fd/NAME and folder_fd/NAME.sig, each beside and renamed, synced; checks its own signature before publishing. The digest is over
 * the canonical bytes. */
int nc_statement_write(int folder_fd, const char *name, const char *domain, const json_t *document, const struct nc_secret_key *key, const char *attester,
		       struct nc_digest *ret_digest, struct nc_error *reterr);
/* Reads and verifies both under `key`: strict JSON, canonical as it stands, domain and algorithm as expected, libsodium's strict verification. */
int nc_statement_read(int folder_fd, const char *name, const char *domain, const struct nc_public_key *key, json_t **ret_document,
		      struct nc_digest *ret_digest, struct nc_error *reterr);

#endif
