/* SPDX-License-Identifier: GPL-2.0-only */
/* profile_parts.h - the parts of a profile's reading, for whoever reads one: each fills its own fields of a zeroed profile */
#ifndef NC_PROFILE_PARTS_H
#define NC_PROFILE_PARTS_H

#include "place.h"
#include "profile.h"

/* What a list of destinations belongs to: decides which members and addresses are allowed. */
enum nc_owner { NC_OWNER_WORKLOAD, NC_OWNER_PLANE };

/* A list of destinations, and by which NAT64 prefixes its addresses are judged (nc_profile_parse). */
struct nc_listing {
	enum nc_owner owner;
	const struct nc_settings *settings;
};

#define NC_DESTINATIONS_MAX 1000000 /* more than the document's size allows; bounds what is allocated */

/* The caller frees *ret_destinations, also when the list is empty (then NULL). */
int nc_profile_destinations(const json_t *array, const struct nc_place *place, const struct nc_listing *listing,
			    struct nc_destination **ret_destinations, size_t *ret_count, struct nc_error *reterr);
/* `object` NULL: the defaults. */
int nc_profile_process(const json_t *object, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr);
/* process.limits alone: the limits of *process become what `limits` says, -1 where it says nothing. */
int nc_profile_limits(const json_t *limits, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr);
/* A name that an environment variable may have here: letters, digits, underscore, not first a digit (POSIX 8.1), at most 255. */
bool nc_environment_name(const char *name);
void nc_strings_free(char **strings);

#endif
