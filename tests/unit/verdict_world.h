/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * verdict_world.h - every world that the verdict can meet, in small, and an oracle that was written from the design's list and not from the code
 *
 * A world is one choice on each axis below. The code under test is asked through the very look-ups that the kernel has; the maps here are a few rows that
 * are found only when the whole key is right. The oracle does not walk the list: it collects every reason that holds and lets the one with the lowest rank
 * decide, so that each pair of reasons that can hold together is a test of which comes first.
 *
 * Included by test_verdict.c (the verdict as it is built into the product) and test_verdict_mutants.c (the same with checks that can be switched off).
 */
#ifndef NC_TEST_VERDICT_WORLD_H
#define NC_TEST_VERDICT_WORLD_H

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "netcordon_abi.h"

#define GENERATION 0x1122334455667788ull
#define REVISION 7
#define NOW 1000
#define CANARY_PORT 49999
#define NAME_ID 5

struct row {
	__u8 authority;
	struct nc_policy_key key;
	struct nc_policy_value value;
};

static struct row policy_rows[8];
static size_t policy_count;
static struct nc_grant_key grant_key;
static struct nc_grant_value grant_value;
static int grant_present;
static struct nc_settings world_settings;
static int world_has_settings;

static const struct nc_policy_value *nc_find_policy(__u8 authority, const struct nc_policy_key *key)
{
	for (size_t i = 0; i < policy_count; i++)
		if (policy_rows[i].authority == authority && !memcmp(&policy_rows[i].key, key, sizeof(*key)))
			return &policy_rows[i].value;
	return NULL;
}

static const struct nc_grant_value *nc_find_grant(const struct nc_grant_key *key)
{
	return grant_present && !memcmp(&grant_key, key, sizeof(*key)) ? &grant_value : NULL;
}

static const struct nc_settings *nc_find_settings(void)
{
	return world_has_settings ? &world_settings : NULL;
}

static __u64 nc_boot_ns(void)
{
	return NOW;
}

static __u32 nc_find_floor(const union nc_address *address);

#include "verdict.h"

/* ---- destinations, described by hand -------------------------------------------------------------------------------------------------------------- */

struct destination {
	const char *text;
	__u8 class;
	__u8 floor;	   /* kind under which the map below finds it or what it carries */
	__u8 public;	   /* by RFC and registry */
	__u8 loopback;	   /* 127/8 or ::1 */
	__u8 never_opened; /* not even by unrestricted with non_public: means the host itself, or hides an IPv4 address */
};

static const struct destination destinations[] = {
	{"8.8.8.8", NC_CLASS_PUBLIC, 0, 1, 0, 0},
	{"2600::1", NC_CLASS_PUBLIC, 0, 1, 0, 0},
	{"64:ff9b::808:808", NC_CLASS_NAT64_PUBLIC, 0, 1, 0, 0},
	{"168.63.129.16", NC_CLASS_PUBLIC, NC_FLOOR_METADATA, 1, 0, 0},
	{"64:ff9b::a83f:8110", NC_CLASS_NAT64_PUBLIC, NC_FLOOR_METADATA, 1, 0, 0},
	{"93.184.216.1", NC_CLASS_PUBLIC, NC_FLOOR_HOST, 1, 0, 0},
	{"198.41.0.4", NC_CLASS_PUBLIC, NC_FLOOR_OPERATOR, 1, 0, 0},
	{"169.254.169.254", NC_CLASS_LINK_LOCAL, NC_FLOOR_METADATA, 0, 0, 0},
	{"10.0.0.1", NC_CLASS_PRIVATE_USE, NC_FLOOR_HOST, 0, 0, 0},
	{"10.0.0.5", NC_CLASS_PRIVATE_USE, 0, 0, 0, 0},
	{"fd00::5", NC_CLASS_UNIQUE_LOCAL, 0, 0, 0, 0},
	{"64:ff9b::a00:5", NC_CLASS_NAT64_NON_PUBLIC, 0, 0, 0, 0},
	{"64:ff9b::7f00:1", NC_CLASS_NAT64_NON_PUBLIC, 0, 0, 0, 0},
	{"127.0.0.1", NC_CLASS_LOOPBACK, 0, 0, 1, 1},
	{"127.255.255.254", NC_CLASS_LOOPBACK, 0, 0, 1, 1},
	{"::1", NC_CLASS_LOOPBACK, 0, 0, 1, 1},
	{"0.0.0.0", NC_CLASS_THIS_HOST, 0, 0, 0, 1},
	{"::", NC_CLASS_THIS_HOST, 0, 0, 0, 1},
	{"0.0.0.1", NC_CLASS_THIS_NETWORK, 0, 0, 0, 1},
	{"::7f00:1", NC_CLASS_IPV4_COMPATIBLE, 0, 0, 0, 1},
	{"::ffff:0:a00:5", NC_CLASS_IPV4_TRANSLATED, 0, 0, 0, 1},
	{"2002:a9fe:a9fe::1", NC_CLASS_SIX_TO_FOUR, 0, 0, 0, 1},
	{"2001:0:a9fe:a9fe::1", NC_CLASS_TEREDO, 0, 0, 0, 1},
	{"64:ff9b:1::1", NC_CLASS_NAT64_LOCAL, 0, 0, 0, 1},
};
#define DESTINATIONS (sizeof(destinations) / sizeof(*destinations))

static const struct {
	const char *text;
	__u32 kind;
} floor_rows[] = {
	{"169.254.169.254", NC_FLOOR_METADATA}, {"168.63.129.16", NC_FLOOR_METADATA}, {"93.184.216.1", NC_FLOOR_HOST}, {"10.0.0.1", NC_FLOOR_HOST},
	{"198.41.0.4", NC_FLOOR_OPERATOR},
};

static union nc_address address_of(const char *text)
{
	union nc_address address = {.bytes = {[10] = 0xff, [11] = 0xff}};

	if (!strchr(text, ':'))
		assert_int_equal(inet_pton(AF_INET, text, address.bytes + 12), 1);
	else
		assert_int_equal(inet_pton(AF_INET6, text, address.bytes), 1);
	return address;
}

static union nc_address floor_addresses[sizeof(floor_rows) / sizeof(*floor_rows)];

static __u32 nc_find_floor(const union nc_address *address)
{
	for (size_t i = 0; i < sizeof(floor_rows) / sizeof(*floor_rows); i++)
		if (!memcmp(address, &floor_addresses[i], sizeof(*address)))
			return floor_rows[i].kind;
	return 0;
}

static union nc_address destination_addresses[DESTINATIONS];

static int world_setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(floor_rows) / sizeof(*floor_rows); i++)
		floor_addresses[i] = address_of(floor_rows[i].text);
	for (size_t i = 0; i < DESTINATIONS; i++)
		destination_addresses[i] = address_of(destinations[i].text);
	return 0;
}

/* ---- axes ---------------------------------------------------------------------------------------------------------------------------------------- */

enum listed { NOT_LISTED, LISTED, LISTED_NON_PUBLIC, LISTED_FOR_THE_OTHER, LISTED_OTHER_PORT, LISTED_OTHER_REVISION, LISTED_KINDS };
enum granted { NO_GRANT, GRANT, GRANT_EXPIRED, GRANT_NAME_UNLISTED, GRANT_NAME_OTHER_PORT, GRANT_OTHER_PROTOCOL, GRANT_KINDS };

struct world {
	__u8 protocol, mode, authority, flags;
	__u8 home, canary, with_settings;
	__u16 port;
	size_t destination;
	enum listed listed;
	enum granted granted;
};

static const __u8 modes[] = {NC_MODE_NONE, NC_MODE_ALLOWLIST, NC_MODE_UNRESTRICTED};
static const __u16 ports[] = {0, 53, 442, 443, CANARY_PORT}; /* an entry of "another port" is one above: 442 has 443 as its neighbour */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define DESTINATION_WORLDS (2 * COUNT(modes) * 2 * 4 * 2 * 2 * 2 * COUNT(ports) * DESTINATIONS * LISTED_KINDS * GRANT_KINDS)

/* World number n: a mixed-radix number. */
static struct world world_number(size_t n)
{
	struct world w = {0};
#define TAKE(count)                                                                                                                                  \
	({                                                                                                                                           \
		size_t digit_ = n % (count);                                                                                                         \
		n /= (count);                                                                                                                        \
		digit_;                                                                                                                              \
	})
	w.granted = (enum granted)TAKE(GRANT_KINDS);
	w.listed = (enum listed)TAKE(LISTED_KINDS);
	w.destination = TAKE(DESTINATIONS);
	w.port = ports[TAKE(COUNT(ports))];
	w.flags = (__u8)TAKE(4); /* both NC_SLOT_ bits */
	w.home = (__u8)TAKE(2);
	w.canary = (__u8)TAKE(2);
	w.with_settings = (__u8)TAKE(2);
	w.authority = TAKE(2) ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD;
	w.mode = modes[TAKE(COUNT(modes))];
	w.protocol = TAKE(2) ? IPPROTO_UDP : IPPROTO_TCP;
#undef TAKE
	return w;
}

static void add_row(__u8 authority, const union nc_address *address, __u16 port, __u8 protocol, __u8 kind, __u64 revision, __u32 flags)
{
	struct row *row = &policy_rows[policy_count++];

	memset(row, 0, sizeof(*row));
	row->authority = authority;
	row->key.generation = GENERATION;
	row->key.revision = revision;
	row->key.address = *address;
	row->key.port_be = htons(port);
	row->key.protocol = protocol;
	row->key.kind = kind;
	row->value.flags = flags;
}

/* Fills the maps, the slot and the flow as the world says, with neighbours that must never match. */
static void world_build(const struct world *w, struct nc_slot *slot, struct nc_flow *flow)
{
	const union nc_address *address = &destination_addresses[w->destination];
	union nc_address name = {.words_be = {[3] = NAME_ID}}, other_name = {.words_be = {[3] = NAME_ID + 1}};
	__u8 other = w->authority == NC_AUTHORITY_PLANE ? NC_AUTHORITY_WORKLOAD : NC_AUTHORITY_PLANE;
	__u8 other_protocol = w->protocol == IPPROTO_TCP ? IPPROTO_UDP : IPPROTO_TCP;

	*slot = (struct nc_slot){.generation = GENERATION, .revision = REVISION, .mode = w->mode, .authority = w->authority, .flags = w->flags};
	slot->canary_port_be = w->canary ? htons(CANARY_PORT) : 0;
	*flow = (struct nc_flow){.destination = *address, .port_be = htons(w->port), .protocol = w->protocol, .home_netns = w->home};
	world_has_settings = w->with_settings;
	policy_count = 0;
	grant_present = w->granted != NO_GRANT;

	if (w->listed == LISTED || w->listed == LISTED_NON_PUBLIC)
		add_row(w->authority, address, w->port, w->protocol, NC_POLICY_LITERAL, REVISION,
			w->listed == LISTED_NON_PUBLIC ? NC_POLICY_NON_PUBLIC : 0);
	else if (w->listed == LISTED_FOR_THE_OTHER)
		add_row(other, address, w->port, w->protocol, NC_POLICY_LITERAL, REVISION, NC_POLICY_NON_PUBLIC);
	else if (w->listed == LISTED_OTHER_PORT)
		add_row(w->authority, address, (__u16)(w->port + 1), w->protocol, NC_POLICY_LITERAL, REVISION, NC_POLICY_NON_PUBLIC);
	else if (w->listed == LISTED_OTHER_REVISION)
		add_row(w->authority, address, w->port, w->protocol, NC_POLICY_LITERAL, REVISION - 1, NC_POLICY_NON_PUBLIC);

	memset(&grant_key, 0, sizeof(grant_key));
	grant_key.generation = GENERATION;
	grant_key.address = *address;
	grant_key.authority = w->authority;
	grant_key.port_be = htons(w->port);
	grant_key.protocol = w->granted == GRANT_OTHER_PROTOCOL ? other_protocol : w->protocol;
	grant_key.kind = NC_GRANT_WITNESS;
	grant_value = (struct nc_grant_value){.expires_ns = w->granted == GRANT_EXPIRED ? NOW : NOW + 1, .name_id = NAME_ID};
	if (w->granted == GRANT_NAME_UNLISTED)
		add_row(w->authority, &other_name, w->port, w->protocol, NC_POLICY_NAME, REVISION, 0);
	else if (w->granted == GRANT_NAME_OTHER_PORT)
		add_row(w->authority, &name, (__u16)(w->port + 1), w->protocol, NC_POLICY_NAME, REVISION, 0);
	else if (w->granted != NO_GRANT)
		add_row(w->authority, &name, w->port, w->protocol, NC_POLICY_NAME, REVISION, NC_POLICY_WIRE_TLS);
}

/* ---- the oracle -------------------------------------------------------------------------------------------------------------------------------- */

/* Reasons in the design's order. The rank is the place. */
static const __u8 order[] = {
	NC_REASON_PROTOCOL_REFUSED, NC_REASON_SOCKET_UNLABELLED, NC_REASON_GENERATION_STALE,   NC_REASON_AUTHORITY_MISMATCH,
	NC_REASON_MODE_NONE,	    NC_REASON_PORT_ZERO,	 NC_REASON_RESOLVER,	       NC_REASON_INTERNAL_ERROR,
	NC_REASON_HOST_FLOOR,	    NC_REASON_LOOPBACK_OPEN,	 NC_REASON_ADDRESS_NOT_PUBLIC, NC_REASON_MODE_UNRESTRICTED,
	NC_REASON_LITERAL_LISTED,   NC_REASON_WIRE_QUIC,	 NC_REASON_GRANT_LIVE,	       NC_REASON_DESTINATION_NOT_LISTED,
};

static unsigned long long pairs_seen[COUNT(order)]; /* bit b of a: a decided although b held too */

/* Which reasons about the destination hold, as bits of their rank, each judged on its own. */
static unsigned int reasons_of(const struct world *w)
{
	const struct destination *d = &destinations[w->destination];
	int plane = w->authority == NC_AUTHORITY_PLANE;
	int listed = w->listed == LISTED || w->listed == LISTED_NON_PUBLIC;
	int plane_exception = plane && w->listed == LISTED_NON_PUBLIC;
	int canary = w->canary && w->port == CANARY_PORT && d->loopback;
	int floor = d->floor && !(d->floor == NC_FLOOR_HOST && plane_exception);
	int everything = w->mode == NC_MODE_UNRESTRICTED && (w->flags & NC_SLOT_NON_PUBLIC_OPEN) && !d->never_opened;
	unsigned int held = 0;

#define HOLDS(reason, condition)                                                                                                                     \
	for (unsigned int r_ = 0; r_ < COUNT(order); r_++)                                                                                           \
		if (order[r_] == (reason) && (condition))                                                                                            \
			held |= 1u << r_;
	HOLDS(NC_REASON_MODE_NONE, w->mode == NC_MODE_NONE)
	HOLDS(NC_REASON_PORT_ZERO, !w->port)
	HOLDS(NC_REASON_RESOLVER, w->port == 53 && w->mode == NC_MODE_ALLOWLIST && !listed)
	HOLDS(NC_REASON_INTERNAL_ERROR, !w->with_settings)
	HOLDS(NC_REASON_HOST_FLOOR, canary || floor)
	HOLDS(NC_REASON_LOOPBACK_OPEN, d->loopback && (w->flags & NC_SLOT_LOOPBACK_OPEN) && w->home)
	HOLDS(NC_REASON_ADDRESS_NOT_PUBLIC, !d->public && !(plane_exception && w->mode != NC_MODE_UNRESTRICTED) && !everything)
	HOLDS(NC_REASON_MODE_UNRESTRICTED, w->mode == NC_MODE_UNRESTRICTED)
	HOLDS(NC_REASON_LITERAL_LISTED, listed && w->mode != NC_MODE_UNRESTRICTED)
	HOLDS(NC_REASON_WIRE_QUIC, w->granted == GRANT && w->protocol == IPPROTO_UDP) /* the name's entry asks for TLS */
	HOLDS(NC_REASON_GRANT_LIVE, w->granted == GRANT)
	HOLDS(NC_REASON_DESTINATION_NOT_LISTED, 1)
#undef HOLDS
	return held;
}

static __u8 decision_of(__u8 reason)
{
	switch (reason) {
	case NC_REASON_LITERAL_LISTED:
	case NC_REASON_GRANT_LIVE:
	case NC_REASON_MODE_UNRESTRICTED:
	case NC_REASON_LOOPBACK_OPEN:
		return NC_ALLOW;
	case NC_REASON_RESOLVER:
		return NC_REDIRECT;
	default:
		return NC_DENY;
	}
}

/* The rank that decides; remembers which others held. */
static unsigned int lowest(unsigned int held)
{
	unsigned int rank = (unsigned int)__builtin_ctz(held);

	pairs_seen[rank] |= held;
	return rank;
}

#endif
