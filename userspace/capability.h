/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capability.h - what a provider says that it is: its capability document
 *
 * A capability speaks about one exact pair of provider and provider revision, and about the bits that the revision is bound to (its manifest).
 * It is what a provider says; only `egress_certification` is compared at admission, and only a receipt can make its highest word believed.
 */
#ifndef NC_CAPABILITY_H
#define NC_CAPABILITY_H

#include <jansson.h>
#include "error.h"
#include "grade.h"

#define NC_CAPABILITY_VERSION 1
#define NC_PROVIDER_MAX 128
#define NC_REVISION_MAX 64
#define NC_REVISION_DEV "dev" /* a build that no release recorded: it can hold no receipt */

/* The three ways in which netcordon itself enforces: three providers, each with receipts of its own. */
#define NC_PROVIDERS(X)                                                                                                                              \
	X(RUN, "run", "netcordon:run-provider")                                                                                                      \
	X(ATTACH, "attach", "netcordon:attach-provider")                                                                                             \
	X(OCI, "oci-hook", "netcordon:oci-provider")
#define NC_ENUM_PROVIDER(symbol, ...) NC_OWN_##symbol,
enum nc_own_provider { NC_PROVIDERS(NC_ENUM_PROVIDER) NC_OWN_COUNT };

struct nc_capability {
	char provider[NC_PROVIDER_MAX];		 /* "netcordon:run-provider" */
	char provider_revision[NC_REVISION_MAX]; /* compared byte for byte */
	char manifest[65];			 /* SHA-256 in hex of what the revision is bound to */
	enum nc_grade egress_certification;	 /* what it advertises */
	json_t *document;			 /* owned; NULL for netcordon's own, which is compiled in */
};

/* A provider is NAMESPACE:NAME, lower-case letters, digits, '.', '_' and '-'. A revision is printable ASCII without spaces and colons. */
bool nc_provider_valid(const char *provider);
bool nc_revision_valid(const char *revision);

/* Reads a document strictly: every axis of axes.h must be there and no other. CAPABILITY_INVALID names the place. */
int nc_capability_parse(const char *text, size_t length, struct nc_capability *ret_capability, struct nc_error *reterr);
void nc_capability_free(struct nc_capability *capability);

/* This build's own capability: compiled in, so that a launch reads no file for it. The revision is "dev" unless the build was recorded. */
void nc_capability_own(enum nc_own_provider provider, struct nc_capability *ret_capability);
const char *nc_capability_own_name(enum nc_own_provider provider); /* "netcordon:run-provider" */
/* Which of them a word of the command line means ("run", "attach", "oci-hook"). */
bool nc_capability_own_word(const char *word, enum nc_own_provider *ret_provider);
/* Which of netcordon's own providers is called so ("netcordon:run-provider"). */
bool nc_capability_own_named(const char *name, enum nc_own_provider *ret_provider);
/* Its enforcement statement: axis -> word. The caller owns the result; NULL without memory. */
json_t *nc_capability_own_enforcement(enum nc_own_provider provider);
/* The same as a document, as it is installed. The caller owns the result; NULL without memory. */
json_t *nc_capability_own_document(enum nc_own_provider provider);

#endif
