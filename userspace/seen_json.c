/* SPDX-License-Identifier: GPL-2.0-only */
/* seen_json.c - one record {kind: "repeats"} for each destination and reason: what was reached and what was refused, with exact counts */
#include <arpa/inet.h>
#include "evidence.h"
#include "json.h"
#include "seen_json.h"

/* Programs that refuse a socket, a bind, an option or a device speak of no destination: they leave port and address empty but for the first word,
 * which tells apart what was asked for (an event's `detail`). */
static bool has_destination(const struct nc_seen_key *key)
{
	switch (key->reason) {
	case NC_REASON_PROTOCOL_REFUSED:
	case NC_REASON_AUTHORITY_MISMATCH:
	case NC_REASON_INTERNAL_ERROR:
	case NC_REASON_BIND_REFUSED:
	case NC_REASON_OPTION_REFUSED:
	case NC_REASON_UNIX_PEER:
	case NC_REASON_FAMILY_REFUSED:
	case NC_REASON_PASSED_SOCKET:
	case NC_REASON_DEVICE_REFUSED:
		return key->port_be || key->destination.words_be[1] || key->destination.halves[1];
	default:
		return true;
	}
}

json_t *nc_seen_json(const struct nc_seen_key *key, const struct nc_seen_value *value)
{
	/* Codes and addresses have one spelling, that of events. */
	struct nc_event event = {.destination = key->destination,
				 .port_be = key->port_be,
				 .protocol = key->protocol,
				 .reason = key->reason,
				 .authority = key->authority};
	static const char *const members[] = {"authority", "reason", "protocol", "destination", "port", "name_id", "detail"};
	json_t *whole, *record;

	if (key->reason == NC_REASON_SERVER_NAME_LISTED)
		event.name_id = (__u32)key->name_hash;
	if (has_destination(key))
		event.family = 6; /* the keys do not tell the families apart: an IPv4 destination shows itself */
	else
		event.detail = key->destination.words_be[0];
	whole = nc_event_json(&event);
	record = json_pack("{s:s, s:o, s:o, s:o}", "kind", "repeats", "count", nc_json_u64(value->count), "first_ns", nc_json_u64(value->first_ns),
			   "last_ns", nc_json_u64(value->last_ns));
	for (size_t i = 0; record && whole && i < sizeof(members) / sizeof(members[0]); i++)
		if (json_object_get(whole, members[i]))
			json_object_set(record, members[i], json_object_get(whole, members[i]));
	json_decref(whole);
	return record;
}
