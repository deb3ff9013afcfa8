/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet.h - one IP packet, read once, strictly
 *
 * What is accepted: IPv4 with a header of 20 bytes and no fragment, or IPv6 whose next header is the transport, but for what the kernel itself puts before
 * the TCP of a packet that is longer than IPv6 can say; then TCP or UDP. Everything that is not that has no form that the backstop could compare, and is
 * malformed to it. At egress a cgroup program sees each packet before fragmentation and with its transport header in the first one; ports are never read
 * from anything else.
 */
#ifndef NC_BPF_PACKET_H
#define NC_BPF_PACKET_H

#ifndef __bpf__
#include <linux/bpf.h> /* struct __sk_buff; the host's includer provides bpf_skb_load_bytes */
#endif
#include "checks.h"
#include "netcordon_abi.h"
#include "verdict.h"

#define NC_ETH_P_IP 0x0800
#define NC_ETH_P_IPV6 0x86dd
#define NC_PROTO_ICMPV6 58
#define NC_PROTO_HOPOPTS 0
#define NC_TCP_FLAGS_AT 13 /* RFC 9293, 3.1 */

/* A packet that is meant to die on the way makes a router its destination, and control data of sendmsg sets what setsockopt is refused. No destination is
 * 32 hops away, and no system starts with less (RFC 1340 says 64). */
#define NC_HOP_LIMIT_LEAST 32

struct nc_ipv4_header {
	__u8 version_length;
	__u8 tos;
	__be16 total_be;
	__be16 id_be;
	__be16 fragment_be;
	__u8 ttl;
	__u8 protocol;
	__be16 checksum_be;
	__be32 source_be;
	__be32 destination_be;
};

struct nc_ipv6_header {
	__u8 version_class[4];
	__be16 payload_be;
	__u8 next_header;
	__u8 hop_limit;
	union nc_address source;
	union nc_address destination;
};

/* RFC 2675, section 2, as the only option of a hop-by-hop header. */
struct nc_jumbo_header {
	__u8 next_header;
	__u8 more_words;
	__u8 option, option_length;
	__be32 payload_be;
};

struct nc_ports {
	__be16 source_be;
	__be16 destination_be;
};

struct nc_packet {
	union nc_address source;
	union nc_address destination;
	__be16 source_port_be;
	__be16 destination_port_be;
	__u8 protocol;
	__u8 family;
	__u8 hop_limit;
	__u8 reserved;
	__u32 transport; /* offset of the transport header, from the network header */
};

_Static_assert(sizeof(struct nc_ipv4_header) == 20, "IPv4 header");
_Static_assert(sizeof(struct nc_ipv6_header) == 40, "IPv6 header");
_Static_assert(sizeof(struct nc_jumbo_header) == 8, "jumbo payload option");

/*
 * Where a device takes more than 64 KiB at once (5.19+, "BIG TCP"), the length stands in a header that the kernel puts there when it sends, or when
 * it has joined what arrived, and takes away before anything is on a wire. Such a packet is one that is to be cut, of just that length.
 */
static __always_inline int nc_packet_is_jumbo(const struct __sk_buff *skb, __be16 payload_be, const struct nc_jumbo_header *jumbo)
{
	return !payload_be && skb->gso_size && jumbo->next_header == NC_PROTO_TCP && !jumbo->more_words && jumbo->option == 0xc2 &&
	       jumbo->option_length == 4 && NC_BE32(jumbo->payload_be) == skb->len - sizeof(struct nc_ipv6_header) && skb->len > 0xffff;
}

/* A header and what has to follow it, as they lie in the packet. */
struct nc_ipv4_start {
	struct nc_ipv4_header header;
	struct nc_ports ports;
};

struct nc_ipv6_start {
	struct nc_ipv6_header header;
	struct nc_ports ports;
};

/*
 * The packet's first `size` bytes where they lie; NULL: there are fewer, or they are not in one piece. What bpf_skb_load_bytes would copy, by two
 * calls less for each packet. The host's includer provides its own.
 */
#ifdef __bpf__
static __always_inline const void *nc_packet_start(struct __sk_buff *skb, __u32 size)
{
	const char *start = (const char *)(long)skb->data;

	return start + size <= (const char *)(long)skb->data_end ? start : 0;
}
#endif

static __always_inline int nc_ipv4_read(const struct nc_ipv4_header *header, struct nc_packet *packet)
{
	nc_address_map4(&packet->source, header->source_be);
	nc_address_map4(&packet->destination, header->destination_be);
	packet->protocol = header->protocol;
	packet->hop_limit = header->ttl;
	packet->transport = sizeof(*header);
	return header->version_length == 0x45 && !(header->fragment_be & NC_BE16(0x3fff));
}

static __always_inline int nc_ipv6_read(const struct nc_ipv6_header *header, struct nc_packet *packet)
{
	packet->source = header->source;
	packet->destination = header->destination;
	packet->protocol = header->next_header;
	packet->hop_limit = header->hop_limit;
	packet->transport = sizeof(*header);
	return header->version_class[0] >> 4 == 6;
}

static __always_inline int nc_ports_read(const struct nc_ports *ports, struct nc_packet *packet)
{
	packet->source_port_be = ports->source_be;
	packet->destination_port_be = ports->destination_be;
	return 1;
}

static __always_inline int nc_transport_known(const struct nc_packet *packet)
{
	return packet->protocol == NC_PROTO_TCP || packet->protocol == NC_PROTO_UDP;
}

static __always_inline int nc_ipv6_copy(struct __sk_buff *skb, struct nc_packet *packet)
{
	struct nc_ipv6_header header;
	struct nc_jumbo_header jumbo;

	if (bpf_skb_load_bytes(skb, 0, &header, sizeof(header)) || !nc_ipv6_read(&header, packet))
		return 0;
	if (packet->protocol == NC_PROTO_HOPOPTS && !bpf_skb_load_bytes(skb, packet->transport, &jumbo, sizeof(jumbo)) &&
	    nc_packet_is_jumbo(skb, header.payload_be, &jumbo)) {
		packet->protocol = NC_PROTO_TCP;
		packet->transport += sizeof(jumbo);
	}
	return 1;
}

/* The same by copying: a packet that is shorter than both headers, whose headers do not lie in one piece, or that has the jumbo header. */
static __always_inline int nc_packet_copy(struct __sk_buff *skb, struct nc_packet *packet)
{
	struct nc_ipv4_header header;
	struct nc_ports ports;

	if (packet->family == 4) {
		if (bpf_skb_load_bytes(skb, 0, &header, sizeof(header)) || !nc_ipv4_read(&header, packet))
			return 0;
	} else if (!nc_ipv6_copy(skb, packet)) {
		return 0;
	}
	if (!nc_transport_known(packet) || bpf_skb_load_bytes(skb, packet->transport, &ports, sizeof(ports)))
		return 0;
	return nc_ports_read(&ports, packet);
}

/* Fills `packet` (cleared by the caller). Returns 1 when it is of the accepted form; 0 otherwise, with the addresses as far as they were readable. */
static __always_inline int nc_packet_read(struct __sk_buff *skb, struct nc_packet *packet)
{
	if (skb->protocol == NC_BE16(NC_ETH_P_IP)) {
		const struct nc_ipv4_start *start = nc_packet_start(skb, sizeof(*start));

		packet->family = 4;
		if (start)
			return nc_ipv4_read(&start->header, packet) && nc_transport_known(packet) && nc_ports_read(&start->ports, packet);
	} else if (skb->protocol == NC_BE16(NC_ETH_P_IPV6)) {
		const struct nc_ipv6_start *start = nc_packet_start(skb, sizeof(*start));

		packet->family = 6;
		if (start && start->header.next_header != NC_PROTO_HOPOPTS)
			return nc_ipv6_read(&start->header, packet) && nc_transport_known(packet) && nc_ports_read(&start->ports, packet);
	} else {
		return 0;
	}
	return nc_packet_copy(skb, packet);
}

/* SYN without ACK (RFC 9293, 3.1) */
static __always_inline int nc_tcp_begins(__u8 flags)
{
	return (flags & 0x12) == 0x02;
}

/* A segment of a TCP connection that has begun. For a packet that has been read and found plain; 0 where its first bytes do not lie in one piece. */
static __always_inline int nc_packet_follows(struct __sk_buff *skb)
{
	const struct nc_ipv4_header *ipv4 = nc_packet_start(skb, sizeof(*ipv4) + NC_TCP_FLAGS_AT + 1);
	const struct nc_ipv6_header *ipv6;

	if (skb->protocol == NC_BE16(NC_ETH_P_IP))
		return ipv4 && ipv4->protocol == NC_PROTO_TCP && !nc_tcp_begins(((const __u8 *)(ipv4 + 1))[NC_TCP_FLAGS_AT]);
	ipv6 = nc_packet_start(skb, sizeof(*ipv6) + NC_TCP_FLAGS_AT + 1);
	return skb->protocol == NC_BE16(NC_ETH_P_IPV6) && ipv6 && ipv6->next_header == NC_PROTO_TCP &&
	       !nc_tcp_begins(((const __u8 *)(ipv6 + 1))[NC_TCP_FLAGS_AT]);
}

/*
 * Neighbour discovery (RFC 4861: hop limit 255) and multicast listener reports (RFC 3810: hop limit 1, behind a hop-by-hop header) of the kernel's
 * own sockets, at link scope. Without them IPv6 dies in a namespace that is created inside the cgroup. Whether the socket is one of the kernel's own
 * the caller asks: a raw one that is older than the cordon sends the same forms, to anywhere and with anything behind them.
 */
static __always_inline int nc_packet_is_housekeeping(struct __sk_buff *skb, const struct nc_packet *packet)
{
	__u8 hop_by_hop[8], type;
	int link_scope = nc_address_of_link(&packet->destination);

	if (packet->family != 6)
		return 0;
	if (packet->protocol == NC_PROTO_ICMPV6 && packet->hop_limit == 255) {
		if (bpf_skb_load_bytes(skb, packet->transport, &type, 1))
			return 0;
		/* A unicast solicitation goes to the neighbour's own address, of any scope; 255 shows that it cannot have crossed a router. */
		return (type == 135 || type == 136) || (type == 133 && link_scope);
	}
	if (packet->protocol != NC_PROTO_HOPOPTS || packet->hop_limit != 1 || !link_scope)
		return 0;
	if (bpf_skb_load_bytes(skb, packet->transport, hop_by_hop, sizeof(hop_by_hop)))
		return 0;
	if (hop_by_hop[0] != NC_PROTO_ICMPV6 || hop_by_hop[1] != 0 || bpf_skb_load_bytes(skb, packet->transport + 8, &type, 1))
		return 0;
	return type == 131 || type == 132 || type == 143;
}

#endif
