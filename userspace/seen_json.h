/* SPDX-License-Identifier: GPL-2.0-only */
/* seen_json.h - how often what was first seen came again, as a record of the evidence (seen_json.c) */
#ifndef NC_SEEN_JSON_H
#define NC_SEEN_JSON_H

#include <jansson.h>
#include "netcordon_abi.h"

/* The caller owns the result; NULL only without memory. */
json_t *nc_seen_json(const struct nc_seen_key *key, const struct nc_seen_value *value);

#endif
