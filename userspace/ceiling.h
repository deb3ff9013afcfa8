/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ceiling.h - the enforcement ceiling: what a provider says, cut down to what the operator enrolled it for
 *
 *   capability + enrollment --nc_ceiling_apply--> effective capability (--nc_ceiling_bound--> bound to a materialization statement)
 *
 * The ceiling makes no claim true. It makes it bounded by the operator and, when bound, attributable to whoever signed.
 */
#ifndef NC_CEILING_H
#define NC_CEILING_H

#include <jansson.h>
#include "capability.h"
#include "error.h"

#define NC_ENROLLMENT_VERSION 1

/* Checks the members of a capability or an enrollment that axes.h names: all there, every word known. `placement` is the document's own. */
int nc_ceiling_check(const json_t *document, enum nc_error_code code, struct nc_error *reterr);

/*
 * Reads the operator's enrollment (ENROLLMENT_INVALID) and intersects. PROVIDER_REVISION_MISMATCH when it is for another pair; CEILING_EXCEEDED
 * when a provider that the operator placed outside the Runner says runner_enforced, or says that it is placed elsewhere than enrolled.
 * The caller owns *ret_effective: {version, provider, provider_revision, placement, enforcement, the six axes}.
 */
int nc_ceiling_apply(const struct nc_capability *capability, const char *enrollment, size_t length, json_t **ret_effective, struct nc_error *reterr);

/*
 * Does the (already verified) materialization statement speak about exactly this effective capability? It must have {version, provider,
 * provider_revision, materialization_revision, ceiling}, `ceiling` being the SHA-256 of the effective capability's canonical bytes.
 */
int nc_ceiling_bound(const json_t *effective, const json_t *materialization, struct nc_error *reterr);

#endif
