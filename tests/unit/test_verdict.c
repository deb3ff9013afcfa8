/* SPDX-License-Identifier: GPL-2.0-only */
/* test_verdict.c - the verdict in every small world against the oracle of verdict_world.h, and by hand where a fault was seen in the field */
#include "verdict_world.h"

static void world_print(const struct world *w, char text[256])
{
	snprintf(text, 256, "%s port %u protocol %u mode %u authority %u flags %u home %u canary %u settings %u listed %d granted %d",
		 destinations[w->destination].text, w->port, w->protocol, w->mode, w->authority, w->flags, w->home, w->canary, w->with_settings,
		 w->listed, w->granted);
}

/* Lines 4 to 11. */
static void test_destination_worlds(void **state)
{
	char text[256];

	(void)state;
	for (size_t n = 0; n < DESTINATION_WORLDS; n++) {
		struct world w = world_number(n);
		struct nc_verdict verdict = {0};
		struct nc_slot slot;
		struct nc_flow flow;
		__u8 reason = order[lowest(reasons_of(&w))];
		/* the class is asked for from line 7 on */
		__u8 class = reason == NC_REASON_MODE_NONE || reason == NC_REASON_PORT_ZERO || reason == NC_REASON_RESOLVER ||
					     reason == NC_REASON_INTERNAL_ERROR || reason == NC_REASON_HOST_FLOOR
				     ? 0
				     : destinations[w.destination].class;

		world_build(&w, &slot, &flow);
		nc_decide_destination(&slot, &flow, &verdict);
		if (verdict.reason == reason && verdict.decision == decision_of(reason) && verdict.address_class == class &&
		    verdict.name_id == (reason == NC_REASON_GRANT_LIVE || reason == NC_REASON_WIRE_QUIC ? NAME_ID : 0))
			continue;
		world_print(&w, text);
		fail_msg("world %zu: %s\n  reason %u, expected %u; decision %u; class %u, expected %u; name %u", n, text, verdict.reason, reason,
			 verdict.decision, verdict.address_class, class, verdict.name_id);
	}
}

/* Lines 1 to 3, with the destination behind them. */
static void test_socket_worlds(void **state)
{
	static const __u8 protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_SCTP, IPPROTO_UDPLITE, IPPROTO_ICMPV6, IPPROTO_RAW, 0};
	size_t count = COUNT(protocols) * 3 * 3 * 2;

	(void)state;
	for (size_t n = 0; n < count; n++) {
		__u8 protocol = protocols[n % COUNT(protocols)];
		size_t label_kind = n / COUNT(protocols) % 3, slot_kind = n / COUNT(protocols) / 3 % 3;
		int inside = n / COUNT(protocols) / 9 % 2, passes;
		struct nc_label label = {.generation = label_kind == 1 ? GENERATION : GENERATION + 1};
		struct nc_slot slot = {.generation = slot_kind == 1 ? GENERATION : 0};
		struct nc_verdict verdict = {0};
		unsigned int held = 0;

		if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
			held |= 1u << 0;
		if (!label_kind || !slot_kind)
			held |= 1u << 1;
		if (slot_kind != 1 || label_kind != 1) /* a free slot belongs to nobody, whatever the label says */
			held |= 1u << 2;
		if (!inside)
			held |= 1u << 3;
		passes = nc_decide_socket(label_kind ? &label : NULL, slot_kind ? &slot : NULL, inside, protocol, &verdict);
		if (!held) {
			assert_int_equal(passes, 1);
			assert_int_equal(verdict.reason, 0);
			assert_int_equal(verdict.decision, 0);
			continue;
		}
		assert_int_equal(passes, 0);
		assert_int_equal(verdict.decision, NC_DENY);
		assert_int_equal(verdict.reason, order[lowest(held)]);
	}
}

/* A label of generation 0 and a free slot are equal in number, and still nobody's. */
static void test_cleared_records(void **state)
{
	struct nc_label label = {0};
	struct nc_slot slot = {0};
	struct nc_verdict verdict = {0};
	struct nc_flow flow = {.destination = address_of("8.8.8.8"), .port_be = htons(443), .protocol = IPPROTO_TCP, .home_netns = 1};

	(void)state;
	assert_int_equal(nc_decide_socket(&label, &slot, 1, IPPROTO_TCP, &verdict), 0);
	assert_int_equal(verdict.reason, NC_REASON_GENERATION_STALE);
	/* and a cleared slot that were asked all the same allows nothing */
	world_has_settings = 1;
	policy_count = 0;
	grant_present = 0;
	nc_decide_destination(&slot, &flow, &verdict);
	assert_int_equal(verdict.decision, NC_DENY);
}

/* Modes that no table has. */
static void test_unknown_modes(void **state)
{
	struct nc_flow flow = {.destination = address_of("8.8.8.8"), .port_be = htons(443), .protocol = IPPROTO_TCP, .home_netns = 1};

	(void)state;
	world_has_settings = 1;
	policy_count = 0;
	grant_present = 0;
	for (unsigned int mode = 0; mode < 256; mode++) {
		struct nc_slot slot = {
			.generation = GENERATION, .revision = REVISION, .mode = (__u8)mode, .authority = NC_AUTHORITY_WORKLOAD, .flags = 0xff};
		struct nc_verdict verdict = {0};

		nc_decide_destination(&slot, &flow, &verdict);
		assert_int_equal(verdict.decision, mode == NC_MODE_UNRESTRICTED ? NC_ALLOW : NC_DENY);
	}
}

/* One bit off in address, port, protocol, generation, revision or kind is another destination. */
static void test_one_bit(void **state)
{
	struct nc_slot slot = {.generation = GENERATION, .revision = REVISION, .mode = NC_MODE_ALLOWLIST, .authority = NC_AUTHORITY_WORKLOAD};
	struct nc_flow flow = {.destination = address_of("2600::1"), .port_be = htons(443), .protocol = IPPROTO_TCP, .home_netns = 1};
	struct nc_verdict verdict = {0};

	(void)state;
	world_has_settings = 1;
	grant_present = 0;
	policy_count = 0;
	add_row(NC_AUTHORITY_WORKLOAD, &flow.destination, 443, IPPROTO_TCP, NC_POLICY_LITERAL, REVISION, 0);
	nc_decide_destination(&slot, &flow, &verdict);
	assert_int_equal(verdict.reason, NC_REASON_LITERAL_LISTED);
	for (size_t bit = 0; bit < sizeof(struct nc_policy_key) * 8; bit++) {
		unsigned char *bytes = (unsigned char *)&policy_rows[0].key;

		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		memset(&verdict, 0, sizeof(verdict));
		nc_decide_destination(&slot, &flow, &verdict);
		assert_int_equal(verdict.decision, NC_DENY);
		assert_int_equal(verdict.reason, NC_REASON_DESTINATION_NOT_LISTED);
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	policy_rows[0].authority = NC_AUTHORITY_PLANE;
	nc_decide_destination(&slot, &flow, &verdict);
	assert_int_equal(verdict.reason, NC_REASON_DESTINATION_NOT_LISTED);
}

static __u32 speaker; /* whose name spoke for the flow that was last asked about */

static int still_listed(const struct nc_slot *slot, struct nc_flow *flow, __u32 name_id, __u32 *flags)
{
	speaker = name_id;
	return nc_still_listed(slot, flow, &speaker, flags);
}

/* Names share addresses: when the one that spoke for a flow leaves, another that holds the address by a live grant, or a literal, goes on to. */
static void test_another_name_speaks(void **state)
{
	struct nc_slot slot = {.generation = GENERATION, .revision = REVISION, .mode = NC_MODE_ALLOWLIST, .authority = NC_AUTHORITY_PLANE};
	struct nc_flow flow = {.destination = address_of("8.8.8.8"), .port_be = htons(443), .protocol = IPPROTO_TCP, .home_netns = 1};
	union nc_address name = {.words_be = {[3] = NAME_ID}};
	__u32 flags = 0;

	(void)state;
	world_has_settings = 1;
	policy_count = 0;
	grant_present = 1;
	memset(&grant_key, 0, sizeof(grant_key));
	grant_key.generation = GENERATION;
	grant_key.address = flow.destination;
	grant_key.authority = NC_AUTHORITY_PLANE;
	grant_key.port_be = htons(443);
	grant_key.protocol = IPPROTO_TCP;
	grant_key.kind = NC_GRANT_WITNESS;
	grant_value = (struct nc_grant_value){.expires_ns = NOW + 1, .name_id = NAME_ID};
	add_row(NC_AUTHORITY_PLANE, &name, 443, IPPROTO_TCP, NC_POLICY_NAME, REVISION, NC_POLICY_WIRE_HTTP);
	assert_int_equal(still_listed(&slot, &flow, NAME_ID + 1, &flags), 1);
	assert_int_equal(speaker, NAME_ID);
	assert_int_equal(flags, NC_POLICY_WIRE_HTTP);
	grant_value.expires_ns = NOW;
	assert_int_equal(still_listed(&slot, &flow, NAME_ID + 1, &flags), 0);
	grant_value.expires_ns = NOW + 1;
	grant_key.authority = NC_AUTHORITY_WORKLOAD; /* the other authority's grant is nobody's here */
	assert_int_equal(still_listed(&slot, &flow, NAME_ID + 1, &flags), 0);
	add_row(NC_AUTHORITY_PLANE, &flow.destination, 443, IPPROTO_TCP, NC_POLICY_LITERAL, REVISION, 0);
	assert_int_equal(still_listed(&slot, &flow, NAME_ID + 1, &flags), 1);
	assert_int_equal(speaker, 0);
}

/* The resolver of the other authority is on the floor of loopback, open or not; nothing else of that port is. */
static void test_the_other_resolver(void **state)
{
	struct nc_slot slot = {.generation = GENERATION,
			       .revision = REVISION,
			       .mode = NC_MODE_ALLOWLIST,
			       .authority = NC_AUTHORITY_WORKLOAD,
			       .flags = NC_SLOT_LOOPBACK_OPEN,
			       .other_port_be = htons(4000)};
	static const char *const loopback[] = {"127.0.0.1", "127.9.9.9", "::1"};
	struct nc_flow flow = {.port_be = htons(4000), .protocol = IPPROTO_UDP, .home_netns = 1};
	struct nc_verdict verdict = {0};

	(void)state;
	world_has_settings = 1;
	policy_count = grant_present = 0;
	for (size_t i = 0; i < 3; i++) {
		flow.destination = address_of(loopback[i]);
		flow.port_be = htons(4000);
		nc_decide_destination(&slot, &flow, &verdict);
		assert_int_equal(verdict.reason, NC_REASON_HOST_FLOOR);
		flow.port_be = htons(4001);
		nc_decide_destination(&slot, &flow, &verdict);
		assert_int_equal(verdict.reason, NC_REASON_LOOPBACK_OPEN);
	}
	flow.destination = address_of("8.8.8.8");
	flow.port_be = htons(4000);
	add_row(NC_AUTHORITY_WORKLOAD, &flow.destination, 4000, IPPROTO_UDP, NC_POLICY_LITERAL, REVISION, 0);
	nc_decide_destination(&slot, &flow, &verdict);
	assert_int_equal(verdict.reason, NC_REASON_LITERAL_LISTED);
}

/* Expiry ends connects and not flows; a listed name that is taken away, or a floor that came, ends flows. */
static void test_still_listed(void **state)
{
	struct nc_slot slot = {.generation = GENERATION, .revision = REVISION, .mode = NC_MODE_ALLOWLIST, .authority = NC_AUTHORITY_WORKLOAD};
	struct nc_flow flow = {.destination = address_of("8.8.8.8"), .port_be = htons(443), .protocol = IPPROTO_TCP, .home_netns = 1};
	union nc_address name = {.words_be = {[3] = NAME_ID}};
	__u32 flags = 0;

	(void)state;
	world_has_settings = 1;
	grant_present = 0; /* none any more */
	policy_count = 0;
	add_row(NC_AUTHORITY_WORKLOAD, &name, 443, IPPROTO_TCP, NC_POLICY_NAME, REVISION, NC_POLICY_WIRE_TLS);
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 1);
	assert_int_equal(flags, NC_POLICY_WIRE_TLS);
	assert_int_equal(still_listed(&slot, &flow, NAME_ID + 1, &flags), 0);
	assert_int_equal(still_listed(&slot, &flow, 0, &flags), 0);
	flow.port_be = htons(444);
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 0);
	flow.port_be = htons(443);
	flow.destination = address_of("168.63.129.16");
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 0);
	flow.destination = address_of("64:ff9b::a83f:8110");
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 0);
	flow.destination = address_of("8.8.8.8");
	slot.mode = NC_MODE_NONE;
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 0);
	slot.mode = NC_MODE_UNRESTRICTED;
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 1);
	slot.mode = NC_MODE_ALLOWLIST;
	slot.revision++;
	assert_int_equal(still_listed(&slot, &flow, NAME_ID, &flags), 0);
	policy_count = 0;
	add_row(NC_AUTHORITY_WORKLOAD, &flow.destination, 443, IPPROTO_TCP, NC_POLICY_LITERAL, slot.revision, 0);
	assert_int_equal(still_listed(&slot, &flow, 0, &flags), 1);
	world_has_settings = 0;
	assert_int_equal(still_listed(&slot, &flow, 0, &flags), 0);
}

/* C24 and the design's deviation: unrestricted means public, with non_public also the rest, and never the floor nor the host itself. */
static void test_unrestricted(void **state)
{
	static const struct {
		const char *text;
		__u8 flags, reason;
	} rows[] = {
		{"169.254.169.254", 0, NC_REASON_HOST_FLOOR},
		{"169.254.169.254", NC_SLOT_NON_PUBLIC_OPEN, NC_REASON_HOST_FLOOR},
		{"8.8.8.8", 0, NC_REASON_MODE_UNRESTRICTED},
		{"10.0.0.5", 0, NC_REASON_ADDRESS_NOT_PUBLIC},
		{"10.0.0.5", NC_SLOT_NON_PUBLIC_OPEN, NC_REASON_MODE_UNRESTRICTED},
		{"127.0.0.1", NC_SLOT_NON_PUBLIC_OPEN, NC_REASON_ADDRESS_NOT_PUBLIC},
		{"0.0.0.0", NC_SLOT_NON_PUBLIC_OPEN, NC_REASON_ADDRESS_NOT_PUBLIC},
		{"2002:a9fe:a9fe::1", NC_SLOT_NON_PUBLIC_OPEN, NC_REASON_ADDRESS_NOT_PUBLIC},
	};

	(void)state;
	world_has_settings = 1;
	policy_count = 0;
	grant_present = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct nc_slot slot = {
			.generation = GENERATION, .revision = REVISION, .mode = NC_MODE_UNRESTRICTED, .authority = NC_AUTHORITY_WORKLOAD};
		struct nc_flow flow = {.destination = address_of(rows[i].text), .port_be = htons(80), .protocol = IPPROTO_TCP, .home_netns = 1};
		struct nc_verdict verdict = {0};

		slot.flags = rows[i].flags;
		nc_decide_destination(&slot, &flow, &verdict);
		if (verdict.reason != rows[i].reason)
			fail_msg("%s flags %u: reason %u, expected %u", rows[i].text, rows[i].flags, verdict.reason, rows[i].reason);
	}
}

/* A configured NAT64 prefix is unwrapped for the floor too, and does not lend its public look to what it carries. */
static void test_configured_nat64(void **state)
{
	static const struct {
		const char *text;
		__u8 reason;
	} rows[] = {
		{"2600:64::808:808", NC_REASON_MODE_UNRESTRICTED},
		{"2600:64::a00:5", NC_REASON_ADDRESS_NOT_PUBLIC},
		{"2600:64::a83f:8110", NC_REASON_HOST_FLOOR},
		{"2600:65::a00:5", NC_REASON_MODE_UNRESTRICTED}, /* another prefix: an address like any */
	};

	(void)state;
	policy_count = 0;
	grant_present = 0;
	world_has_settings = 1;
	world_settings.nat64_count = 1;
	world_settings.nat64[0] = (struct nc_nat64_prefix){.prefix = address_of("2600:64::"), .length = 96};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct nc_slot slot = {
			.generation = GENERATION, .revision = REVISION, .mode = NC_MODE_UNRESTRICTED, .authority = NC_AUTHORITY_WORKLOAD};
		struct nc_flow flow = {.destination = address_of(rows[i].text), .port_be = htons(80), .protocol = IPPROTO_TCP, .home_netns = 1};
		struct nc_verdict verdict = {0};

		nc_decide_destination(&slot, &flow, &verdict);
		if (verdict.reason != rows[i].reason)
			fail_msg("%s: reason %u, expected %u", rows[i].text, verdict.reason, rows[i].reason);
	}
	memset(&world_settings, 0, sizeof(world_settings));
}

/*
 * Runs last: the sweeps above must have met each reason as the deciding one, and each pair of reasons that can hold at once. A pair that cannot is listed
 * here with why.
 */
static void test_every_pair_was_seen(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < COUNT(order); a++) {
		if (!(pairs_seen[a] & 1ull << a))
			fail_msg("reason %u never decided", order[a]);
		for (unsigned int b = a + 1; b < COUNT(order); b++) {
			__u8 first = order[a], second = order[b];
			/* the socket's reasons and the destination's are asked by two functions, one after the other */
			int impossible = (a < 4) != (b < 4);

			/* port 53 and port 0; a mode is only one; a listed literal is not redirected */
			impossible |= first == NC_REASON_PORT_ZERO && second == NC_REASON_RESOLVER;
			impossible |= first == NC_REASON_MODE_NONE && (second == NC_REASON_RESOLVER || second == NC_REASON_MODE_UNRESTRICTED);
			impossible |= first == NC_REASON_RESOLVER && (second == NC_REASON_MODE_UNRESTRICTED || second == NC_REASON_LITERAL_LISTED);
			impossible |= first == NC_REASON_MODE_UNRESTRICTED && second == NC_REASON_LITERAL_LISTED;
			if (!impossible != !!(pairs_seen[a] & 1ull << b))
				fail_msg("reasons %u and %u: %s", first, second,
					 impossible ? "held together, which was thought impossible" : "never met");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_destination_worlds),
		cmocka_unit_test(test_socket_worlds),
		cmocka_unit_test(test_cleared_records),
		cmocka_unit_test(test_unknown_modes),
		cmocka_unit_test(test_one_bit),
		cmocka_unit_test(test_still_listed),
		cmocka_unit_test(test_another_name_speaks),
		cmocka_unit_test(test_the_other_resolver),
		cmocka_unit_test(test_unrestricted),
		cmocka_unit_test(test_configured_nat64),
		cmocka_unit_test(test_every_pair_was_seen),
	};

	return cmocka_run_group_tests(tests, world_setup, NULL);
}
