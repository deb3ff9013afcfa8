/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profile_destination.c - lists of destinations
 *
 * What could never work is an error, not an entry that quietly does nothing: a non-public address, a name on port 53 (which leads to the instance's
 * resolver), a wire rule that nothing can check, the same destination twice.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "address.h"
#include "cleanup.h"
#include "host.h"
#include "profile_parts.h"

static const char *const wire_words[] = {"any", "tls", "http", NULL};
static const uint8_t wires[] = {NC_WIRE_ANY, NC_WIRE_TLS, NC_WIRE_HTTP};
static const char *const protocol_words[] = {"tcp", "udp", NULL};
static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};

/* Classes that are no unicast address of any network: not even a plane's destination. */
static bool is_never_a_destination(enum nc_address_class class, const union nc_address *address)
{
	switch (class) {
	case NC_CLASS_THIS_HOST:
	case NC_CLASS_THIS_NETWORK:
	case NC_CLASS_MULTICAST:
	case NC_CLASS_RESERVED:
	case NC_CLASS_BROADCAST:
	case NC_CLASS_IPV4_COMPATIBLE:
	case NC_CLASS_IPV4_TRANSLATED:
	case NC_CLASS_NAT64_MALFORMED:
	case NC_CLASS_DISCARD:
	case NC_CLASS_UNASSIGNED:
		return true;
	case NC_CLASS_LINK_LOCAL:
		return !nc_address_is_ipv4(address); /* means nothing without a scope */
	default:
		return false;
	}
}

/* The address itself, or the IPv4 address that it carries through NAT64, the network's own included. */
static bool is_metadata(const union nc_address *address, const struct nc_settings *settings)
{
	union nc_address carried = {.bytes = {[10] = 0xff, [11] = 0xff}};
	__u32 ip = 0;

	if (nc_address_is_metadata(address))
		return true;
	if (nc_address_carried(address, settings, &ip) != NC_CARRIED_IPV4)
		return false;
	carried.words_be[3] = NC_SWAP32(ip);
	return nc_address_is_metadata(&carried);
}

static int check_literal(const struct nc_destination *destination, const struct nc_place *place, const struct nc_listing *listing,
			 struct nc_error *reterr)
{
	struct nc_class class = nc_classify(&destination->address, listing->settings);
	char text[NC_ADDRESS_TEXT];
	const char *hint;

	if (is_metadata(&destination->address, listing->settings))
		return nc_place_error(NC_PLACE_KEY(place, "host"), reterr, "pass what the workload needs to know by its environment",
				      "%s is a cloud's metadata service, which is refused in every mode",
				      nc_address_text(&destination->address, text));
	if (class.is_public || (destination->non_public && !is_never_a_destination(class.code, &destination->address)))
		return 0;
	if (class.code == NC_CLASS_NAT64_LOCAL)
		hint = "if the network translates there, say its prefix under \"nat64\" of the configuration";
	else if (listing->owner == NC_OWNER_WORKLOAD)
		hint = "a workload's destinations are public; what the plane needs goes to /plane/destinations with \"non_public\": true";
	else if (is_never_a_destination(class.code, &destination->address))
		hint = "no connection can be made to such an address";
	else
		hint = "add \"non_public\": true if it is meant";
	return nc_place_error(NC_PLACE_KEY(place, "host"), reterr, hint, "%s is not a public address: %s, %s (%s)",
			      nc_address_text(&destination->address, text), nc_class_word(class.code), nc_class_meaning(class.code),
			      nc_class_source(class.code));
}

/*
 * The name on the wire: TLS on 443 and HTTP on 80 unless the profile says otherwise; only for names. Over UDP `tls` stands for "the name must be
 * compared", which cannot be done for QUIC: the kernel refuses it with a reason of its own, and `any` opens it.
 */
static int parse_wire(const json_t *entry, const struct nc_place *place, struct nc_destination *destination, struct nc_error *reterr)
{
	const json_t *said = json_object_get(entry, "wire");
	size_t which = SIZE_MAX;
	int status = nc_member_word(entry, place, "wire", false, wire_words, &which, reterr);
	bool given = which != SIZE_MAX, tcp = destination->protocol == IPPROTO_TCP;
	uint8_t fallback = destination->port == 443 ? NC_WIRE_TLS : destination->port == 80 && tcp ? NC_WIRE_HTTP : NC_WIRE_ANY;

	if (json_is_string(said) && !strcmp(json_string_value(said), "https")) /* of the words that are known "http" looks nearest, and is wrong */
		return nc_error_hint(reterr, "https begins with a TLS handshake: say \"tls\"");
	if (status)
		return status;
	destination->wire = given ? wires[which] : destination->literal ? NC_WIRE_ANY : fallback;
	if (destination->literal && destination->wire != NC_WIRE_ANY)
		return nc_place_error(NC_PLACE_KEY(place, "wire"), reterr,
				      "leave \"wire\" out: an address literal has no name that could be compared",
				      "\"wire\": \"%s\" stands beside an address literal", wire_words[which]);
	if (destination->wire == NC_WIRE_HTTP && !tcp)
		return nc_place_error(NC_PLACE_KEY(place, "wire"), reterr, "use TCP, or say \"wire\": \"any\"",
				      "\"wire\": \"http\" stands beside UDP, which never carries it");
	return 0;
}

static int parse_host(const json_t *entry, const struct nc_place *place, struct nc_destination *destination, struct nc_error *reterr)
{
	struct nc_host_text host;
	const char *text = NULL;
	int status = nc_member_string(entry, place, "host", true, &text, reterr);

	if (!status)
		status = nc_host_text_parse(text, NC_PLACE_KEY(place, "host"), &host, reterr);
	if (status)
		return status;
	destination->literal = host.literal;
	destination->address = host.address;
	memcpy(destination->name, host.name, sizeof(host.name));
	return 0;
}

static int parse_entry(const json_t *entry, const struct nc_place *place, const struct nc_listing *listing, struct nc_destination *destination,
		       struct nc_error *reterr)
{
	static const char *const workload_members[] = {"host", "port", "protocol", "wire", NULL};
	static const char *const plane_members[] = {"host", "port", "protocol", "wire", "non_public", NULL};
	size_t protocol = 0;
	int64_t port = 0;
	int status;

	if (json_is_string(entry))
		return nc_place_error(place, reterr, "write {\"host\": \"api.example.com\", \"port\": 443}", "must be an object, not a string");
	if (listing->owner == NC_OWNER_WORKLOAD && json_object_get(entry, "non_public"))
		return nc_place_error(NC_PLACE_KEY(place, "non_public"), reterr, "only /plane/destinations may hold non-public addresses",
				      "\"non_public\" stands in a destination of the workload");
	status = nc_object_check(entry, place, listing->owner == NC_OWNER_PLANE ? plane_members : workload_members, reterr);
	if (!status)
		status = parse_host(entry, place, destination, reterr);
	if (!status)
		status = nc_member_integer(entry, place, "port", true, 1, 65535, &port, reterr);
	if (!status)
		status = nc_member_word(entry, place, "protocol", false, protocol_words, &protocol, reterr);
	if (!status)
		status = nc_member_boolean(entry, place, "non_public", &destination->non_public, reterr);
	if (status)
		return status;
	destination->port = (uint16_t)port;
	destination->protocol = protocols[protocol];
	status = parse_wire(entry, place, destination, reterr);
	if (status)
		return status;
	if (destination->literal)
		return check_literal(destination, place, listing, reterr);
	if (destination->non_public)
		return nc_place_error(NC_PLACE_KEY(place, "non_public"), reterr, "list the address itself",
				      "\"non_public\" stands beside a name; names reach public addresses only");
	if (destination->port == 53)
		return nc_place_error(NC_PLACE_KEY(place, "port"), reterr, "list the server's address if another resolver is meant",
				      "port 53 leads to the instance's own resolver, and only an address literal can be listed with it");
	return 0;
}

static int compare_destinations(const void *left, const void *right)
{
	const struct nc_destination *a = *(const struct nc_destination *const *)left, *b = *(const struct nc_destination *const *)right;
	int order = a->literal - b->literal;

	if (!order)
		order = a->literal ? memcmp(&a->address, &b->address, sizeof(a->address)) : strcmp(a->name, b->name);
	if (!order)
		order = a->port - b->port;
	return order ? order : a->protocol - b->protocol;
}

/* The same host, port and protocol twice would leave open which wire rule holds. Reports the later one. */
static int refuse_duplicates(const struct nc_destination *destinations, size_t count, const struct nc_place *place, struct nc_error *reterr)
{
	NC_FREE const struct nc_destination **sorted = NULL;
	size_t first, second;

	if (count < 2)
		return 0;
	sorted = calloc(count, sizeof(*sorted));
	if (!sorted)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for %zu destinations", count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &destinations[i];
	qsort(sorted, count, sizeof(*sorted), compare_destinations);
	for (size_t i = 1; i < count; i++) {
		if (compare_destinations(&sorted[i - 1], &sorted[i]))
			continue;
		first = (size_t)(sorted[i - 1] - destinations);
		second = (size_t)(sorted[i] - destinations);
		if (first > second) {
			size_t swap = first;

			first = second;
			second = swap;
		}
		return nc_place_error(NC_PLACE_INDEX(place, second), reterr, "remove one of the two", "the same host, port and protocol as entry %zu",
				      first);
	}
	return 0;
}

int nc_profile_destinations(const json_t *array, const struct nc_place *place, const struct nc_listing *listing,
			    struct nc_destination **ret_destinations, size_t *ret_count, struct nc_error *reterr)
{
	NC_FREE struct nc_destination *destinations = NULL;
	size_t count = json_array_size(array), i;
	const json_t *entry;
	int status;

	if (count > NC_DESTINATIONS_MAX)
		return nc_place_error(place, reterr, "", "%zu destinations; %d are allowed", count, NC_DESTINATIONS_MAX);
	if (count) {
		destinations = calloc(count, sizeof(*destinations));
		if (!destinations)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for %zu destinations", count);
	}
	json_array_foreach(array, i, entry)
	{
		status = parse_entry(entry, NC_PLACE_INDEX(place, i), listing, &destinations[i], reterr);
		if (status)
			return status;
	}
	status = refuse_duplicates(destinations, count, place, reterr);
	if (status)
		return status;
	*ret_destinations = NC_TAKE_PTR(destinations);
	*ret_count = count;
	return 0;
}
