/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netcordon.h - libnetcordon: what a Runner needs in its own process, without privileges, BPF or netlink
 *
 *   nc_library_evidence    is the evidence of an instance whole, and is it that of this very launch
 *   nc_library_receipt     is a conformance receipt valid, and under whose set of keys
 *   nc_library_admission   would this profile be admitted on this provider
 *
 * They read files and start nothing. A signature proves who said something and that it was not altered; it does not prove that it is true.
 *
 * Every function returns one of enum nc_library_answer, or a negative errno when there is no answer; then *ret_error says why. *ret_json is a document of
 * JSON text (docs/schema) that the caller frees, or NULL; it may be asked for with NULL. The functions may be called from several threads at once. Link with
 * `pkg-config --libs netcordon`: a static library that needs jansson and libsodium.
 */
#ifndef NETCORDON_H
#define NETCORDON_H

#ifdef __cplusplus
extern "C" {
#endif

#define NC_LIBRARY_VERSION 1 /* of this interface */

enum nc_library_answer {
	NC_LIBRARY_YES = 0,	   /* complete; valid; admitted */
	NC_LIBRARY_NO = 1,	   /* invalid; refused: ret_error says why */
	NC_LIBRARY_OPEN = 4,	   /* evidence that was not closed: the instance lives, or its supervisor died */
	NC_LIBRARY_INCOMPLETE = 5, /* authentic evidence of which something is missing */
	NC_LIBRARY_ROTATED = 6,	   /* a receipt under a key that its owner has replaced since */
	NC_LIBRARY_REVOKED = 7,	   /* a receipt under a revoked key */
};

struct nc_library_error {
	char code[40];	   /* a word of the interface: "evidence_invalid"; "none" */
	char detail[512];  /* what, and where */
	char pointer[256]; /* RFC 6901 pointer into the document at fault, or "" */
	char hint[256];	   /* what to do, or "" */
};

/* "0.9.0", and the revision: "dev" for a build that no release recorded. Constant. */
const char *nc_library_program(void);
const char *nc_library_revision(void);

/*
 * The evidence in `folder`, under the public key in the file `public_key` (PEM), which comes from whoever you trust and never from the folder. `expect`:
 * JSON text of an object each of whose members must hold (docs/formats.md: the sixteen clauses), or NULL. *ret_json: evidence-verify.schema.json.
 */
int nc_library_evidence(const char *folder, const char *public_key, const char *expect, char **ret_json, struct nc_library_error *ret_error);

/*
 * The receipt in the file `receipt`, its signature beside it as RECEIPT.sig. `attesters`: a file with a set of keys of your own, or NULL for the reviewed
 * set, which is compiled in and empty as shipped. An answer under a set of your own is never a grade. *ret_json: {answer, provider, provider_revision,
 * attester, proves}.
 */
int nc_library_receipt(const char *receipt, const char *attesters, char **ret_json, struct nc_library_error *ret_error);

/*
 * The profile in the file `profile` on the provider whose capability document is the file `capability`; "run", "attach": this build's own. `receipt`: the
 * file of its receipt, or NULL; it is looked at only where the capability advertises security_boundary, and only under the reviewed set. *ret_json: {answer,
 * provider, provider_revision, egress_certification}.
 */
int nc_library_admission(const char *profile, const char *capability, const char *receipt, char **ret_json, struct nc_library_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
