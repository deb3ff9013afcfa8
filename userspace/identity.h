/* SPDX-License-Identifier: GPL-2.0-only */
/* identity.h - the user ids that an instance's processes have */
#ifndef NC_IDENTITY_H
#define NC_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>
#include "error.h"
#include "profile.h"

/* Three ids for each instance, from a range that neither distributions nor container managers hand out (systemd's own table of ids leaves 1879048192 to
 * 2147483647 free). A group id of the same number goes with each. Which three follows from the generation, which is random: an index would be the same in
 * two revisions that live side by side. Where two instances meet all the same (one launch in 45,000 beside 2,000 others), the fork of the command fails
 * with UID_SHARED and nothing has run. */
#define NC_UID_BASE 0x70000000u
#define NC_UID_COUNT 0x10000000u
enum nc_uid_role { NC_UID_WORKLOAD, NC_UID_PLANE, NC_UID_EDGE, NC_UID_ROLES };

struct nc_identity {
	uid_t uid;
	gid_t gid;
	bool own; /* of the instance's range; else the profile's user */
};

uid_t nc_uid_of(uint64_t generation, enum nc_uid_role role);
/* The workload's: the profile's user and group where it names them, else the instance's own. User 0 and a user that some process has now are refused
 * (UID_SHARED); so is one that stands in no passwd file (PROCESS_INVALID). Reads /etc/passwd and /etc/group itself: no name service is asked. */
int nc_identity_workload(const struct nc_profile *profile, uint64_t generation, struct nc_identity *ret_identity, struct nc_error *reterr);
/* The plane's, always of its own. */
void nc_identity_own(uint64_t generation, enum nc_uid_role role, struct nc_identity *ret_identity);

#endif
