/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * statement.h - a canonical JSON document and its detached signature
 *
 * What is signed is DOMAIN "\n" CANONICAL-BYTES, Ed25519. The signature file is NAME.sig, itself canonical JSON: {algorithm, attester, domain,
 * key_id, signature (base64, RFC 4648 section 4, padded, re-encodes to itself)}. This framing is in one function, nc_statement_message.
 *
 * Only the domain and the document are signed. `attester` is a label for people; who signed is decided by the key that the reader brings.
 */
#ifndef NC_STATEMENT_H
#define NC_STATEMENT_H

#include <jansson.h>
#include "digest.h"
#include "folder.h"
#include "json.h"
#include "key.h"

#define NC_DOMAIN_LAUNCH "netcordon.launch.v1"
#define NC_DOMAIN_CHECKPOINT "netcordon.checkpoint.v1"
#define NC_DOMAIN_CLOSING "netcordon.closing.v1"
#define NC_DOMAIN_CONFORMANCE "checkfu.sandbox-egress-conformance.v1"
#define NC_DOMAIN_MATERIALIZATION "netcordon.materialization.v1"
/* All there are: what the schema of signatures and docs/formats.md list. */
#define NC_DOMAINS(X)                                                                                                                                \
	X(NC_DOMAIN_LAUNCH)                                                                                                                          \
	X(NC_DOMAIN_CHECKPOINT) X(NC_DOMAIN_CLOSING) X(NC_DOMAIN_CONFORMANCE) X(NC_DOMAIN_MATERIALIZATION)

#define NC_SIGNATURE_ALGORITHM "ed25519"
#define NC_ATTESTER_MAX 128 /* bytes of printable ASCII */
#define NC_SIGNATURE_FILE_MAX 4096

/* The bytes that are signed; the caller frees. */
int nc_statement_message(const char *domain, const char *canonical, size_t length, unsigned char **ret_message, size_t *ret_length,
			 struct nc_error *reterr);

/* ---- in memory -------------------------------------------------------------------------------------------------------------------------- */

/* A document and its signature, as the bytes that go into the two files. */
struct nc_signed {
	char *message; /* what was signed; `text` is its end */
	char *text;
	size_t length;
	char *signature;
	size_t signature_length;
	struct nc_digest digest; /* of text */
};

/* Verifies its own signature before it returns one. The caller frees with nc_signed_free. */
int nc_statement_sign(const char *domain, const json_t *document, const struct nc_secret_key *key, const char *attester, struct nc_signed *ret_signed,
		      struct nc_error *reterr);
/* The same for a document of which some members are canonical text already (json.h). */
int nc_statement_sign_with(const char *domain, const json_t *document, const struct nc_json_member *members, size_t count,
			   const struct nc_secret_key *key, const char *attester, struct nc_signed *ret_signed, struct nc_error *reterr);
void nc_signed_free(struct nc_signed *signed_);
/* The reverse of nc_statement_sign under `key`: strict JSON, canonical as it stands, domain, algorithm and key as expected, libsodium's strict
 * verification. -EBADMSG or -EINVAL with EVIDENCE_INVALID for anything else; only then is the document parsed and handed out. `name` is for errors. */
int nc_statement_check(const char *name, const char *domain, const char *text, size_t length, const char *signature, size_t signature_length,
		       const struct nc_public_key *key, json_t **ret_document, struct nc_digest *ret_digest, struct nc_error *reterr);

/* ---- in a folder ------------------------------------------------------------------------------------------------------------------------ */

/* Writes folder_fd/NAME.sig and then folder_fd/NAME, each beside and renamed, synced (nc_folder_publish): a name that has appeared has its signature.
 * The digest is over the canonical bytes. */
int nc_statement_write(int folder_fd, const char *name, const char *domain, const json_t *document, const struct nc_secret_key *key,
		       const char *attester, struct nc_digest *ret_digest, struct nc_error *reterr);
/* The same up to the names: nc_folder_give_names is what is left to do. */
int nc_statement_write_beside(int folder_fd, const char *name, const char *domain, const json_t *document, const struct nc_secret_key *key,
			      const char *attester, struct nc_digest *ret_digest, struct nc_publication *ret_publication, struct nc_error *reterr);
/* Reads and verifies both. -ENOENT when NAME or its signature is missing. */
int nc_statement_read(int folder_fd, const char *name, const char *domain, const struct nc_public_key *key, json_t **ret_document,
		      struct nc_digest *ret_digest, struct nc_error *reterr);

#endif
