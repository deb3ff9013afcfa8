/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explain_nearest.c - which entry of a profile is meant, or may have been
 *
 * A hint for people, never a decision: the kinds of mistake that are made, in the order in which they are likely.
 */
#include <string.h>
#include "address.h"
#include "explain_nearest.h"

#define NAME_DISTANCE_MAX 2

/* How near, best first. The sentence completes "... is listed: ". */
static const struct {
	const char *why;
} ranks[] = {
	{"the same host and port with the other protocol"},
	{"the same host with another port"},
	{"the same for the other authority"},
	{"a name below or above the one that was asked for; a destination is one exact name"},
	{"a name that differs in one or two characters"},
	{"an address of the same network (24 bits of IPv4, 64 of IPv6)"},
};

enum { SAME_PROTOCOL_DIFFERS, PORT_DIFFERS, AUTHORITY_DIFFERS, NAME_RELATED, NAME_SIMILAR, ADDRESS_NEAR, NOTHING_NEAR };
_Static_assert(sizeof(ranks) / sizeof(*ranks) == NOTHING_NEAR, "a sentence for each rank");

static bool same_host(const struct nc_destination *destination, const struct nc_host_text *host)
{
	if (destination->literal != host->literal)
		return false;
	if (host->literal)
		return !memcmp(&destination->address, &host->address, sizeof(host->address));
	return !strcmp(destination->name, host->name);
}

static bool is_below(const char *name, const char *above)
{
	size_t length = strlen(name), above_length = strlen(above);

	return length > above_length + 1 && name[length - above_length - 1] == '.' && !strcmp(name + length - above_length, above);
}

/* Whether the edit distance is at most NAME_DISTANCE_MAX: try each single edit at the first difference, to that depth. */
static bool is_similar(const char *a, const char *b, int budget)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (!*a && !*b)
		return true;
	if (!budget)
		return false;
	return (*a && *b && is_similar(a + 1, b + 1, budget - 1)) || (*a && is_similar(a + 1, b, budget - 1)) ||
	       (*b && is_similar(a, b + 1, budget - 1));
}

static bool same_network(const union nc_address *a, const union nc_address *b)
{
	if (nc_address_is_ipv4(a) != nc_address_is_ipv4(b))
		return false;
	return !memcmp(a, b, nc_address_is_ipv4(a) ? 15 : 8);
}

static int rank_of(const struct nc_destination *destination, const struct nc_host_text *host, uint16_t port, uint8_t protocol)
{
	bool same_port = destination->port == port, same_protocol = destination->protocol == protocol;

	if (same_host(destination, host))
		return same_port ? SAME_PROTOCOL_DIFFERS : PORT_DIFFERS;
	if (!same_port || !same_protocol || destination->literal != host->literal)
		return NOTHING_NEAR;
	if (host->literal)
		return same_network(&destination->address, &host->address) ? ADDRESS_NEAR : NOTHING_NEAR;
	if (is_below(destination->name, host->name) || is_below(host->name, destination->name))
		return NAME_RELATED;
	return is_similar(destination->name, host->name, NAME_DISTANCE_MAX) ? NAME_SIMILAR : NOTHING_NEAR;
}

static void fill(struct nc_explain_entry *entry, const struct nc_destination *destination, enum nc_authority authority, size_t index, const char *why)
{
	*entry = (struct nc_explain_entry){.valid = true, .destination = destination, .authority = authority, .why = why};
	snprintf(entry->pointer, sizeof(entry->pointer), "/%s/destinations/%zu", authority == NC_AUTHORITY_PLANE ? "plane" : "network", index);
}

/* The list of one authority. */
static const struct nc_destination *list_of(const struct nc_profile *profile, enum nc_authority authority, size_t *ret_count)
{
	*ret_count = authority == NC_AUTHORITY_PLANE ? profile->plane_destination_count : profile->destination_count;
	return authority == NC_AUTHORITY_PLANE ? profile->plane_destinations : profile->destinations;
}

void nc_explain_match(const struct nc_profile *profile, enum nc_authority authority, const struct nc_host_text *host, uint16_t port, uint8_t protocol,
		      struct nc_explain_entry *ret_entry)
{
	size_t count;
	const struct nc_destination *list = list_of(profile, authority, &count);

	for (size_t i = 0; i < count; i++) {
		if (list[i].port == port && list[i].protocol == protocol && same_host(&list[i], host)) {
			fill(ret_entry, &list[i], authority, i, "");
			return;
		}
	}
	*ret_entry = (struct nc_explain_entry){0};
}

void nc_explain_nearest(const struct nc_profile *profile, enum nc_authority authority, const struct nc_host_text *host, uint16_t port,
			uint8_t protocol, struct nc_explain_entry *ret_entry)
{
	enum nc_authority other = authority == NC_AUTHORITY_PLANE ? NC_AUTHORITY_WORKLOAD : NC_AUTHORITY_PLANE;
	struct nc_explain_entry of_other;
	int best = NOTHING_NEAR;
	size_t count;
	const struct nc_destination *list = list_of(profile, authority, &count);

	*ret_entry = (struct nc_explain_entry){0};
	for (size_t i = 0; i < count; i++) {
		int rank = rank_of(&list[i], host, port, protocol);

		if (rank < best) {
			best = rank;
			fill(ret_entry, &list[i], authority, i, ranks[rank].why);
		}
	}
	if (best < AUTHORITY_DIFFERS)
		return;
	nc_explain_match(profile, other, host, port, protocol, &of_other);
	if (of_other.valid) {
		of_other.why = ranks[AUTHORITY_DIFFERS].why;
		*ret_entry = of_other;
	}
}
