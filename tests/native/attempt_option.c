// SPDX-License-Identifier: GPL-2.0-only
/* attempt_option.c - socket options and control messages that send packets elsewhere than the address says */
#include "attempt.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A segment routing header (RFC 8754) of two segments: the packet goes to `via`, and the last segment is where the socket thinks it sends. The
 * list stands in reverse order. Any user may set it. */
struct segment_header {
	uint8_t next_header, length_8, type, segments_left, last_entry, flags;
	uint16_t tag;
	struct in6_addr segments[2];
};

static struct segment_header make_header(const char *via, const char *final)
{
	struct peer first = peer_of(via, "0"), last = peer_of(final, "0");
	struct segment_header header = {.length_8 = 4, .type = 4, .segments_left = 1, .last_entry = 1};

	header.segments[0] = ((struct sockaddr_in6 *)&last.address)->sin6_addr;
	header.segments[1] = ((struct sockaddr_in6 *)&first.address)->sin6_addr;
	return header;
}

/* One way: the peer may well drop such a packet. What the wire saw is the witness' to say. */
enum outcome verb_routing_header(struct attempt *a, char **args)
{
	struct segment_header header = make_header(args[0], args[1]);
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, AF_INET6, SOCK_DGRAM, 0);
	ssize_t sent;

	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &header, sizeof(header))))
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

static enum outcome send_control(struct attempt *a, int fd, struct peer *peer, int level, int type, const void *data, size_t size)
{
	struct iovec text = {.iov_base = (void *)(uintptr_t)a->payload, .iov_len = strlen(a->payload)};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(64)];
	} control = {0};
	struct msghdr message = {.msg_name = &peer->address,
				 .msg_namelen = peer->length,
				 .msg_iov = &text,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(size)};
	ssize_t sent;

	control.header.cmsg_level = level;
	control.header.cmsg_type = type;
	control.header.cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.header), data, size);
	sent = sendmsg(fd, &message, 0);
	if (step(a, "sendmsg", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

/* Type 2 (RFC 6275), the only one that a control message may carry, and only where the kernel knows mobile IPv6. */
enum outcome verb_routing_header_cmsg(struct attempt *a, char **args)
{
	struct {
		uint8_t next_header, length_8, type, segments_left;
		uint32_t reserved;
		struct in6_addr via;
	} header = {.length_8 = 2, .type = 2, .segments_left = 1};
	struct peer via = peer_of(args[0], "0"), peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, AF_INET6, SOCK_DGRAM, 0);
	enum outcome outcome;

	header.via = ((struct sockaddr_in6 *)&via.address)->sin6_addr;
	if (fd < 0)
		return fail(a);
	outcome = send_control(a, fd, &peer, IPPROTO_IPV6, IPV6_RTHDR, &header, sizeof(header));
	return a->error == EINVAL ? IMPOSSIBLE : outcome;
}

enum outcome verb_routing_header_late(struct attempt *a, char **args)
{
	struct segment_header header = make_header(args[0], args[1]);
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, AF_INET6, SOCK_STREAM, 0);
	ssize_t sent;

	if (fd < 0 || dial(a, fd, &peer) || step(a, "setsockopt", setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &header, sizeof(header))))
		return fail(a);
	sent = send(fd, a->payload, strlen(a->payload), MSG_NOSIGNAL);
	if (step(a, "send", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

/* RFC 791 loose source route: no-op for alignment, type 131, length 7, pointer 4, one address, and the end of the list. */
static void make_route(unsigned char route[8], const char *via)
{
	struct peer first = peer_of(via, "0");

	route[0] = 1;
	route[1] = 131;
	route[2] = 7;
	route[3] = 4;
	memcpy(route + 4, &((struct sockaddr_in *)&first.address)->sin_addr, 4);
}

enum outcome verb_ip_options(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, AF_INET, SOCK_DGRAM, 0);
	unsigned char route[8];
	ssize_t sent;

	make_route(route, args[0]);
	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof(route))))
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_ip_options_cmsg(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, AF_INET, SOCK_DGRAM, 0);
	unsigned char route[8];

	make_route(route, args[0]);
	return fd < 0 ? fail(a) : send_control(a, fd, &peer, IPPROTO_IP, IP_RETOPTS, route, sizeof(route));
}

/* The kernel itself sends the membership report, with a group that the program chose. */
enum outcome verb_hop_limit(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	bool v6 = peer.address.ss_family == AF_INET6;
	int hops = (int)number(args[2]), fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);

	return fd < 0 ? fail(a) : send_control(a, fd, &peer, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_HOPLIMIT : IP_TTL, &hops, sizeof(hops));
}

enum outcome verb_mcast_join(struct attempt *a, char **args)
{
	struct peer group = peer_of(args[0], "0");
	struct group_req request = {0};
	bool v6 = group.address.ss_family == AF_INET6;
	int fd = open_socket(a, v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	memcpy(&request.gr_group, &group.address, group.length);
	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, MCAST_JOIN_GROUP, &request, sizeof(request))))
		return fail(a);
	/* The first report goes out at once, the repetitions of IPv6 within a second; leaving sends another. */
	usleep(200 * 1000);
	return THROUGH;
}

enum outcome verb_bindtodevice(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, args[0], (socklen_t)strlen(args[0]))) || dial(a, fd, &peer))
		return fail(a);
	return talk(a, fd);
}

/* Bound to an address of one link the socket is bound to that link's device, and stays so when nobody has the address and bind() fails. */
enum outcome verb_bind_device(struct attempt *a, char **args)
{
	struct peer source = peer_of(args[1], "0"), peer = peer_of(args[3], args[4]);
	int fd = open_socket(a, AF_INET6, strcmp(args[0], "tcp") == 0 ? SOCK_STREAM : SOCK_DGRAM, 0);

	((struct sockaddr_in6 *)&source.address)->sin6_scope_id = if_nametoindex(args[2]);
	if (fd < 0 || (step(a, "bind", bind(fd, peer_sockaddr(&source), source.length)) && a->error != EADDRNOTAVAIL) || dial(a, fd, &peer))
		return fail(a);
	return talk(a, fd);
}

/* No device of that name: the message asks for none. */
enum outcome verb_udp_device(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	bool v6 = peer.address.ss_family == AF_INET6;
	struct in_pktinfo ipv4 = {.ipi_ifindex = (int)if_nametoindex(args[0])};
	struct in6_pktinfo ipv6 = {.ipi6_ifindex = if_nametoindex(args[0])};
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);

	if (fd < 0)
		return fail(a);
	if (v6 && IN6_IS_ADDR_V4MAPPED(&((struct sockaddr_in6 *)&peer.address)->sin6_addr)) /* a source of the same kind: 0.0.0.0, mapped */
		ipv6.ipi6_addr.s6_addr[10] = ipv6.ipi6_addr.s6_addr[11] = 0xff;
	return v6 ? send_control(a, fd, &peer, IPPROTO_IPV6, IPV6_PKTINFO, &ipv6, sizeof(ipv6))
		  : send_control(a, fd, &peer, IPPROTO_IP, IP_PKTINFO, &ipv4, sizeof(ipv4));
}

enum outcome verb_udp_mark(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	uint32_t mark = (uint32_t)strtoul(args[0], NULL, 10);
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);

	return fd < 0 ? fail(a) : send_control(a, fd, &peer, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
}

enum outcome verb_ttl(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	bool v6 = peer.address.ss_family == AF_INET6;
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0), hops = 1;

	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_UNICAST_HOPS : IP_TTL, &hops, sizeof(hops))) ||
	    dial(a, fd, &peer))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_option(struct attempt *a, char **args)
{
	unsigned char value[128];
	size_t size = strlen(args[4]) / 2;
	int fd = open_socket(a, !strcmp(args[0], "v6") ? AF_INET6 : AF_INET, !strcmp(args[1], "udp") ? SOCK_DGRAM : SOCK_STREAM, 0);

	if (size > sizeof(value))
		return IMPOSSIBLE;
	for (size_t i = 0; i < size; i++) {
		unsigned int byte = 0;

		if (sscanf(args[4] + 2 * i, "%2x", &byte) != 1)
			return IMPOSSIBLE;
		value[i] = (unsigned char)byte;
	}
	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, (int)number(args[2]), (int)number(args[3]), value, (socklen_t)size)))
		return fail(a);
	return THROUGH;
}
