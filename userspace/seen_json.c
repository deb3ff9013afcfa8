/* SPDX-License-Identifier: GPL-2.0-only */
/* seen_json.c - one record {kind: "repeats"} for each destination and reason: what was reached and what was refused, with exact counts */
#include <arpa/inet.h>
#include <stdbool.h>
#include "evidence.h"
#include "json.h"
#include "seen_json.h"

json_t *nc_seen_json(const struct nc_seen_key *key, const struct nc_seen_value *value)
{
	/* Codes and addresses have one spelling, that of events. */
	bool mapped = key->destination.halves[0] == 0 && key->destination.words_be[2] == htonl(0xffff);
	bool has_destination = key->destination.halves[0] || key->destination.halves[1] || key->port_be;
	const struct nc_event event = {
		.destination = key->destination,
		.port_be = key->port_be,
		.protocol = key->protocol,
		.reason = key->reason,
		.authority = key->authority,
		.family = !has_destination ? 0 : mapped ? 4 : 6,
	};
	static const char *const members[] = {"authority", "reason", "protocol", "destination", "port"};
	json_t *whole = nc_event_json(&event);
	json_t *record = json_pack("{s:s, s:o, s:o, s:o}", "kind", "repeats", "count", nc_json_u64(value->count), "first_ns",
				   nc_json_u64(value->first_ns), "last_ns", nc_json_u64(value->last_ns));

	for (size_t i = 0; record && whole && i < sizeof(members) / sizeof(members[0]); i++)
		if (json_object_get(whole, members[i]))
			json_object_set(record, members[i], json_object_get(whole, members[i]));
	json_decref(whole);
	return record;
}
