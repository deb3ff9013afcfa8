// SPDX-License-Identifier: GPL-2.0-only
/* test_packet.c - the packet reader and the backstop's decision, on the host, against packets written out by hand */
#include <stdarg.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include "packet_host.h"

#define GENERATION 77

static union nc_address address(const char *text)
{
	union nc_address value = {};
	struct in_addr ipv4;

	if (inet_pton(AF_INET, text, &ipv4) == 1)
		nc_address_map4(&value, ipv4.s_addr);
	else
		assert_int_equal(inet_pton(AF_INET6, text, value.bytes), 1);
	return value;
}

/* An IPv4 UDP packet from 10.0.0.1:1000 to 93.184.216.34:443. */
static const uint8_t plain4[] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 93, 184, 216, 34, 0x03, 0xe8, 0x01, 0xbb, 0, 8, 0, 0};

/* Read where its headers lie, and once more by copying them: the same must come out. */
static int read_packet(struct __sk_buff *skb, struct nc_packet *packet)
{
	struct nc_packet copied = *packet;
	int r = nc_packet_read(skb, packet);

	host_packet_scattered = 1;
	assert_int_equal(nc_packet_read(skb, &copied), r);
	host_packet_scattered = 0;
	assert_memory_equal(packet, &copied, sizeof(copied));
	return r;
}

static int read4(uint8_t *bytes, size_t size, struct nc_packet *packet)
{
	struct __sk_buff skb = {.protocol = htons(NC_ETH_P_IP)};

	host_packet = bytes;
	host_packet_size = size;
	memset(packet, 0, sizeof(*packet));
	return read_packet(&skb, packet);
}

static void reads_plain_ipv4(void **state)
{
	uint8_t bytes[sizeof(plain4)];
	struct nc_packet packet;
	union nc_address expected = address("93.184.216.34");

	(void)state;
	memcpy(bytes, plain4, sizeof(bytes));
	assert_int_equal(read4(bytes, sizeof(bytes), &packet), 1);
	assert_memory_equal(&packet.destination, &expected, 16);
	assert_int_equal(packet.destination_port_be, htons(443));
	assert_int_equal(packet.source_port_be, htons(1000));
	assert_int_equal(packet.protocol, NC_PROTO_UDP);
}

/* Every way in which an IPv4 packet is not plain, one byte at a time; the twin above is read. */
static void refuses_what_is_not_plain_ipv4(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *why;
	} changes[] = {
		{0, 0x46, "options"},
		{0, 0x44, "a header shorter than 20"},
		{0, 0x65, "version 6 in an IPv4 frame"},
		{6, 0x20, "more fragments"},
		{6, 0x1f, "a fragment offset"},
		{7, 0x01, "a fragment offset"},
		{9, 1, "ICMP"},
		{9, 132, "SCTP"},
		{9, 136, "UDP-Lite"},
		{9, 33, "DCCP"},
		{9, 47, "GRE"},
		{9, 4, "IPv4 in IPv4"},
		{9, 41, "IPv6 in IPv4"},
		{9, 0, "hop-by-hop"},
	};
	struct nc_packet packet;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t bytes[sizeof(plain4)];

		memcpy(bytes, plain4, sizeof(bytes));
		bytes[changes[i].at] = changes[i].value;
		if (read4(bytes, sizeof(bytes), &packet))
			fail_msg("accepted: %s", changes[i].why);
	}
	for (size_t size = 0; size < 24; size++) {
		uint8_t bytes[sizeof(plain4)];

		memcpy(bytes, plain4, sizeof(bytes));
		assert_int_equal(read4(bytes, size, &packet), 0);
	}
	/* the don't-fragment bit is no fragment */
	uint8_t bytes[sizeof(plain4)];

	memcpy(bytes, plain4, sizeof(bytes));
	bytes[6] = 0x40;
	assert_int_equal(read4(bytes, sizeof(bytes), &packet), 1);
}

static void reads_ipv6_with_direct_transport_only(void **state)
{
	uint8_t bytes[48] = {0x60};
	struct __sk_buff skb = {.protocol = htons(NC_ETH_P_IPV6)};
	struct nc_packet packet = {};
	union nc_address expected = address("2606:2800::1");

	(void)state;
	memcpy(bytes + 24, &expected, 16);
	bytes[6] = NC_PROTO_TCP;
	bytes[42] = 0x01;
	bytes[43] = 0xbb;
	host_packet = bytes;
	host_packet_size = sizeof(bytes);
	assert_int_equal(read_packet(&skb, &packet), 1);
	assert_memory_equal(&packet.destination, &expected, 16);
	for (int next = 0; next < 256; next++) {
		bytes[6] = (uint8_t)next;
		memset(&packet, 0, sizeof(packet));
		assert_int_equal(read_packet(&skb, &packet), next == NC_PROTO_TCP || next == NC_PROTO_UDP);
	}
	bytes[6] = NC_PROTO_TCP;
	bytes[0] = 0x40;
	assert_int_equal(read_packet(&skb, &packet), 0);
	skb.protocol = htons(0x0806);
	assert_int_equal(read_packet(&skb, &packet), 0);
}

/* What the kernel puts before the TCP of a packet that is longer than IPv6 can say, and each way in which it is not quite that. */
static void reads_the_jumbo_header_of_the_kernel_only(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *why;
	} changes[] = {
		{0, 0x40, "version 4"},
		{4, 1, "a length of its own"},
		{5, 8, "a length of its own"},
		{6, 60, "destination options"},
		{40, NC_PROTO_UDP, "UDP behind it"},
		{40, 43, "a routing header behind it"},
		{40, 0, "another hop-by-hop header behind it"},
		{41, 1, "more than one option"},
		{42, 0, "padding"},
		{42, 5, "a router alert"},
		{43, 2, "an option of another length"},
		{47, 0x11, "another length than the packet's"},
	};
	uint8_t bytes[68] = {0x60, [6] = NC_PROTO_HOPOPTS, [40] = NC_PROTO_TCP, 0, 0xc2, 4, 0x00, 0x01, 0x11, 0x10, 0x30, 0x39, 0x01, 0xbb};
	struct __sk_buff skb = {.protocol = htons(NC_ETH_P_IPV6), .len = 40 + 0x11110, .gso_size = 1208};
	struct nc_packet packet = {};

	(void)state;
	host_packet = bytes;
	host_packet_size = sizeof(bytes);
	assert_int_equal(read_packet(&skb, &packet), 1);
	assert_int_equal(packet.protocol, NC_PROTO_TCP);
	assert_int_equal(packet.transport, 48);
	assert_int_equal(packet.source_port_be, htons(12345));
	assert_int_equal(packet.destination_port_be, htons(443));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t was = bytes[changes[i].at];

		bytes[changes[i].at] = changes[i].value;
		memset(&packet, 0, sizeof(packet));
		if (read_packet(&skb, &packet))
			fail_msg("accepted: %s", changes[i].why);
		bytes[changes[i].at] = was;
	}
	skb.gso_size = 0; /* what a process made by hand is not to be cut */
	assert_int_equal(read_packet(&skb, &packet), 0);
	skb.gso_size = 1208;
	skb.len = 40 + 0x1110;
	bytes[45] = 0; /* a length for which there is a field */
	memset(&packet, 0, sizeof(packet));
	assert_int_equal(read_packet(&skb, &packet), 0);
}

static void housekeeping_is_neighbour_discovery_at_link_scope(void **state)
{
	uint8_t bytes[56] = {0x60};
	struct __sk_buff skb = {.protocol = htons(NC_ETH_P_IPV6)};
	union nc_address link = address("ff02::1:ff00:5"), far = address("2606:2800::5");

	(void)state;
	host_packet = bytes;
	host_packet_size = sizeof(bytes);
	for (int type = 0; type < 256; type++) {
		for (int hops = 0; hops < 256; hops += 255) {
			struct nc_packet packet = {};

			memcpy(bytes + 24, &link, 16);
			bytes[6] = NC_PROTO_ICMPV6;
			bytes[7] = (uint8_t)hops;
			bytes[40] = (uint8_t)type;
			read_packet(&skb, &packet);
			assert_int_equal(nc_packet_is_housekeeping(&skb, &packet), hops == 255 && (type == 133 || type == 135 || type == 136));
		}
	}
	/* a router solicitation beyond the link, an echo request anywhere: never */
	for (int type = 128; type < 134; type++) {
		struct nc_packet packet = {};

		memcpy(bytes + 24, &far, 16);
		bytes[7] = 255;
		bytes[40] = (uint8_t)type;
		read_packet(&skb, &packet);
		assert_int_equal(nc_packet_is_housekeeping(&skb, &packet), 0);
	}
	/* a listener report: hop-by-hop, hop limit 1, link scope */
	struct nc_packet packet = {};

	memcpy(bytes + 24, &link, 16);
	bytes[6] = NC_PROTO_HOPOPTS;
	bytes[7] = 1;
	bytes[40] = NC_PROTO_ICMPV6;
	bytes[41] = 0;
	bytes[48] = 143;
	read_packet(&skb, &packet);
	assert_int_equal(nc_packet_is_housekeeping(&skb, &packet), 1);
	bytes[48] = 128;
	assert_int_equal(nc_packet_is_housekeeping(&skb, &packet), 0);
	bytes[48] = 143;
	packet.hop_limit = 2;
	assert_int_equal(nc_packet_is_housekeeping(&skb, &packet), 0);
}

/* Only what is seen at once counts as a segment of a connection that has begun: all else is asked who waits for it. */
static void a_beginning_is_told_from_what_follows(void **state)
{
	uint8_t ipv4[40] = {0x45}, ipv6[60] = {0x60};
	struct __sk_buff skb4 = {.protocol = htons(NC_ETH_P_IP)}, skb6 = {.protocol = htons(NC_ETH_P_IPV6)}, neither = {.protocol = htons(0x0806)};

	(void)state;
	ipv4[9] = ipv6[6] = NC_PROTO_TCP;
	for (int flags = 0; flags < 256; flags++) {
		int follows = !(flags & 0x02) || (flags & 0x10); /* SYN, ACK */

		ipv4[20 + 13] = ipv6[40 + 13] = (uint8_t)flags;
		host_packet = ipv4;
		host_packet_size = sizeof(ipv4);
		assert_int_equal(nc_packet_follows(&skb4), follows);
		host_packet = ipv6;
		host_packet_size = sizeof(ipv6);
		assert_int_equal(nc_packet_follows(&skb6), follows);
		assert_int_equal(nc_packet_follows(&neither), 0);
		host_packet_size = 40 + 13;
		assert_int_equal(nc_packet_follows(&skb6), 0);
		host_packet = ipv4;
		host_packet_size = 20 + 13;
		assert_int_equal(nc_packet_follows(&skb4), 0);
	}
	host_packet_size = sizeof(ipv4);
	assert_int_equal(nc_packet_follows(&skb4), 1);
	host_packet_scattered = 1;
	assert_int_equal(nc_packet_follows(&skb4), 0);
	host_packet_scattered = 0;
	ipv4[9] = NC_PROTO_UDP;
	assert_int_equal(nc_packet_follows(&skb4), 0);
}

static struct nc_slot slot_of(__u8 authority, __u8 mode, __u8 flags)
{
	struct nc_slot slot = {.generation = GENERATION, .revision = 1, .authority = authority, .mode = mode, .flags = flags};

	return slot;
}

static void list(__u8 authority, __u64 revision, const char *text, __u16 port, __u8 protocol, __u32 flags)
{
	struct nc_policy_entry *entry = &host_entries[host_entry_count++];

	memset(entry, 0, sizeof(*entry));
	entry->key.generation = GENERATION;
	entry->key.revision = revision;
	entry->key.address = address(text);
	entry->key.port_be = htons(port);
	entry->key.protocol = protocol;
	entry->key.kind = NC_POLICY_LITERAL;
	entry->value.flags = flags;
	entry->value.reserved = authority;
}

static struct nc_flow far_end(const char *text, __u16 port, __u8 protocol)
{
	struct nc_flow flow = {.destination = address(text), .port_be = htons(port), .protocol = protocol, .home_netns = 1};

	return flow;
}

static struct nc_label admitted(const char *text, __u16 port, __u8 protocol, __u64 revision)
{
	struct nc_label label = {.generation = GENERATION,
				 .revision = revision,
				 .admitted = address(text),
				 .admitted_port_be = htons(port),
				 .admitted_protocol = protocol,
				 .flags = NC_LABEL_ADMITTED | NC_LABEL_HOME_NETNS};

	return label;
}

static void expect(const struct nc_slot *slot, struct nc_label *label, struct nc_flow far, int loopback, int passes, __u8 reason)
{
	struct nc_verdict verdict = {};

	assert_int_equal(nc_decide_packet(slot, label, &far, loopback, &verdict), passes);
	if (!passes)
		assert_int_equal(verdict.reason, reason);
}

static void tcp_passes_only_to_its_admission(void **state)
{
	struct nc_slot slot = slot_of(NC_AUTHORITY_WORKLOAD, NC_MODE_ALLOWLIST, 0);
	struct nc_label label = admitted("93.184.216.34", 443, NC_PROTO_TCP, 1), none = {.generation = GENERATION};

	(void)state;
	host_entry_count = 0;
	list(NC_AUTHORITY_WORKLOAD, 1, "93.184.216.34", 443, NC_PROTO_TCP, 0);
	expect(&slot, &label, far_end("93.184.216.34", 443, NC_PROTO_TCP), 0, 1, 0);
	expect(&slot, &label, far_end("93.184.216.35", 443, NC_PROTO_TCP), 0, 0, NC_REASON_PACKET_DESTINATION);
	expect(&slot, &label, far_end("93.184.216.34", 444, NC_PROTO_TCP), 0, 0, NC_REASON_PACKET_DESTINATION);
	expect(&slot, &label, far_end("10.0.0.5", 443, NC_PROTO_TCP), 0, 0, NC_REASON_PACKET_DESTINATION);
	/* listed, but nobody connected: a listener's answer */
	expect(&slot, &none, far_end("93.184.216.34", 443, NC_PROTO_TCP), 0, 0, NC_REASON_PACKET_UNADMITTED);
}

static void an_older_admission_is_judged_again(void **state)
{
	struct nc_slot slot = slot_of(NC_AUTHORITY_WORKLOAD, NC_MODE_ALLOWLIST, 0);
	struct nc_label label = admitted("93.184.216.34", 443, NC_PROTO_TCP, 1);

	(void)state;
	host_entry_count = 0;
	list(NC_AUTHORITY_WORKLOAD, 2, "93.184.216.34", 443, NC_PROTO_TCP, 0);
	slot.revision = 2;
	expect(&slot, &label, far_end("93.184.216.34", 443, NC_PROTO_TCP), 0, 1, 0);
	assert_int_equal(label.revision, 2);
	slot.revision = 3; /* a policy that no longer lists it */
	expect(&slot, &label, far_end("93.184.216.34", 443, NC_PROTO_TCP), 0, 0, NC_REASON_PACKET_UNADMITTED);
	slot.mode = NC_MODE_NONE;
	expect(&slot, &label, far_end("93.184.216.34", 443, NC_PROTO_TCP), 0, 0, NC_REASON_PACKET_UNADMITTED);
}

static void udp_is_looked_up_packet_by_packet(void **state)
{
	struct nc_slot slot = slot_of(NC_AUTHORITY_WORKLOAD, NC_MODE_ALLOWLIST, 0);
	struct nc_label none = {.generation = GENERATION};

	(void)state;
	host_entry_count = 0;
	list(NC_AUTHORITY_WORKLOAD, 1, "93.184.216.34", 443, NC_PROTO_UDP, 0);
	list(NC_AUTHORITY_PLANE, 1, "93.184.216.35", 443, NC_PROTO_UDP, 0);
	expect(&slot, &none, far_end("93.184.216.34", 443, NC_PROTO_UDP), 0, 1, 0);
	expect(&slot, &none, far_end("93.184.216.35", 443, NC_PROTO_UDP), 0, 0, NC_REASON_DESTINATION_NOT_LISTED);
	expect(&slot, &none, far_end("10.0.0.5", 443, NC_PROTO_UDP), 0, 0, NC_REASON_ADDRESS_NOT_PUBLIC);
	expect(&slot, &none, far_end("93.184.216.34", 53, NC_PROTO_UDP), 0, 0, NC_REASON_RESOLVER_ABSENT);
	slot.authority = NC_AUTHORITY_PLANE;
	expect(&slot, &none, far_end("93.184.216.35", 443, NC_PROTO_UDP), 0, 1, 0);
	expect(&slot, &none, far_end("93.184.216.34", 443, NC_PROTO_UDP), 0, 0, NC_REASON_DESTINATION_NOT_LISTED);
}

static void the_loopback_device_is_shut(void **state)
{
	struct nc_slot slot = slot_of(NC_AUTHORITY_WORKLOAD, NC_MODE_ALLOWLIST, 0);
	struct nc_label label = admitted("93.184.216.34", 443, NC_PROTO_TCP, 1);
	struct nc_flow away = far_end("127.0.0.1", 8080, NC_PROTO_TCP);

	(void)state;
	host_entry_count = 0;
	list(NC_AUTHORITY_WORKLOAD, 1, "93.184.216.34", 443, NC_PROTO_TCP, 0);
	list(NC_AUTHORITY_PLANE, 1, "10.0.0.1", 443, NC_PROTO_TCP, NC_POLICY_NON_PUBLIC);
	/* the admitted address turns out to be the host's own: no race with an address list is needed to see it */
	expect(&slot, &label, far_end("93.184.216.34", 443, NC_PROTO_TCP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
	expect(&slot, &label, far_end("127.0.0.1", 8080, NC_PROTO_TCP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
	slot.flags = NC_SLOT_LOOPBACK_OPEN;
	expect(&slot, &label, far_end("127.0.0.1", 8080, NC_PROTO_TCP), 1, 1, 0);
	expect(&slot, &label, far_end("::1", 8080, NC_PROTO_UDP), 1, 1, 0);
	expect(&slot, &label, far_end("10.0.0.1", 443, NC_PROTO_TCP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
	away.home_netns = 0; /* made in another namespace */
	expect(&slot, &label, away, 1, 0, NC_REASON_LOOPBACK_DEVICE);
	slot.mode = NC_MODE_NONE;
	expect(&slot, &label, far_end("127.0.0.1", 8080, NC_PROTO_TCP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
	/* the plane's own literal may be the host */
	slot = slot_of(NC_AUTHORITY_PLANE, NC_MODE_ALLOWLIST, 0);
	expect(&slot, &label, far_end("10.0.0.1", 443, NC_PROTO_TCP), 1, 1, 0);
	expect(&slot, &label, far_end("10.0.0.1", 444, NC_PROTO_TCP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
	/* the resolver's endpoint, for a redirected socket only */
	slot = slot_of(NC_AUTHORITY_WORKLOAD, NC_MODE_ALLOWLIST, 0);
	slot.resolver_port_be = htons(40053);
	expect(&slot, &label, far_end("127.0.0.1", 40053, NC_PROTO_UDP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
	label.flags |= NC_LABEL_RESOLVER;
	expect(&slot, &label, far_end("127.0.0.1", 40053, NC_PROTO_UDP), 1, 1, 0);
	expect(&slot, &label, far_end("127.0.0.1", 40054, NC_PROTO_UDP), 1, 0, NC_REASON_LOOPBACK_DEVICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_plain_ipv4),
		cmocka_unit_test(refuses_what_is_not_plain_ipv4),
		cmocka_unit_test(reads_ipv6_with_direct_transport_only),
		cmocka_unit_test(reads_the_jumbo_header_of_the_kernel_only),
		cmocka_unit_test(housekeeping_is_neighbour_discovery_at_link_scope),
		cmocka_unit_test(a_beginning_is_told_from_what_follows),
		cmocka_unit_test(tcp_passes_only_to_its_admission),
		cmocka_unit_test(an_older_admission_is_judged_again),
		cmocka_unit_test(udp_is_looked_up_packet_by_packet),
		cmocka_unit_test(the_loopback_device_is_shut),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
