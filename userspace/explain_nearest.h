/* SPDX-License-Identifier: GPL-2.0-only */
/* explain_nearest.h - which entry of a profile is meant, or may have been: for explain.c alone */
#ifndef NC_EXPLAIN_NEAREST_H
#define NC_EXPLAIN_NEAREST_H

#include "explain.h"

/* The entry of this authority for exactly this host, port and protocol; `valid` false where there is none. */
void nc_explain_match(const struct nc_profile *profile, enum nc_authority authority, const struct nc_host_text *host, uint16_t port, uint8_t protocol,
		      struct nc_explain_entry *ret_entry);
/* The entry that comes closest, with what differs: of this authority first, then of the other. `valid` false where nothing is near. */
void nc_explain_nearest(const struct nc_profile *profile, enum nc_authority authority, const struct nc_host_text *host, uint16_t port,
			uint8_t protocol, struct nc_explain_entry *ret_entry);

#endif
