/* SPDX-License-Identifier: GPL-2.0-only */
/* policy.h - a checked profile into the image that the kernel holds, one image for each authority */
#ifndef NC_POLICY_H
#define NC_POLICY_H

#include "loader.h"
#include "profile.h"

/*
 * Entries come out sorted and unique; an empty allowlist compiles to mode none. The same profile always gives the same bytes. The caller frees
 * with nc_image_free. A name's id is its place, from 1, in the sorted list of the authority's names, until nc_names_make numbers it for an instance.
 * The texts belong to the profile, the list to the caller (free).
 */
struct nc_policy_names {
	const char **texts;
	size_t count;
};
int nc_policy_compile(const struct nc_profile *profile, enum nc_authority authority, struct nc_image *ret_image, struct nc_policy_names *ret_names,
		      struct nc_error *reterr);
void nc_image_free(struct nc_image *image);
/* Over authority, mode, flags, count (little endian), the entries and the names as they stand in memory: what is compared on read-back. */
void nc_image_digest(const struct nc_image *image, struct nc_digest *ret_digest);

#endif
