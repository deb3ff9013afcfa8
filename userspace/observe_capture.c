/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * observe_capture.c - packets on the wire, by AF_PACKET
 *
 * A capture takes IPv4 and IPv6 of every kind. It reads addresses and, for the protocols that have them, ports; a fragment that is not the first
 * has no ports and counts by its address. Neighbour discovery and multicast listener reports are the kernel's own talk and are left out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include "cleanup.h"
#include "observe_parts.h"

#define CAPTURE_BUFFER (4 << 20)
#define NEXT_FRAGMENT 44

static bool has_ports(uint8_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE || protocol == IPPROTO_SCTP ||
	       protocol == IPPROTO_DCCP;
}

static bool is_echo(const struct nc_sight *sight)
{
	return sight->protocol == IPPROTO_ICMP || sight->protocol == IPPROTO_ICMPV6;
}

static uint16_t port_at(const unsigned char *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static bool parse_v4(const unsigned char *packet, size_t length, struct nc_sight *sight, size_t *ret_payload)
{
	size_t header = (packet[0] & 0xfu) * 4u;

	if (length < 20 || header < 20)
		return false;
	sight->source = sight->destination = (union nc_address){.bytes = {[10] = 0xff, [11] = 0xff}};
	memcpy(sight->source.bytes + 12, packet + 12, 4);
	memcpy(sight->destination.bytes + 12, packet + 16, 4);
	sight->protocol = packet[9];
	*ret_payload = (packet[6] & 0x1f) || packet[7] ? length : header;
	return true;
}

static bool parse_v6(const unsigned char *packet, size_t length, struct nc_sight *sight, size_t *ret_payload)
{
	if (length < 40)
		return false;
	memcpy(sight->source.bytes, packet + 8, 16);
	memcpy(sight->destination.bytes, packet + 24, 16);
	sight->protocol = packet[6];
	*ret_payload = 40;
	if (sight->protocol == NEXT_FRAGMENT && length >= 48) {
		sight->protocol = packet[40];
		*ret_payload = packet[42] || packet[43] & 0xf8 ? length : 48;
	}
	return true;
}

/* Neighbour discovery and multicast listener reports: ICMPv6 130-137 and 143, and the hop-by-hop header that carries the reports. What is sent to a group
 * beyond the link (RFC 4291, 2.7) is not the kernel's own talk: somebody joined it. */
static bool kernels_own(const struct nc_sight *sight, const unsigned char *packet, size_t length, size_t payload)
{
	if (sight->destination.bytes[0] == 0xff && (sight->destination.bytes[1] & 0xf) > 2)
		return false;
	if (sight->protocol == IPPROTO_HOPOPTS)
		return length > 48 && packet[40] == IPPROTO_ICMPV6 && packet[48] >= 130;
	return sight->protocol == IPPROTO_ICMPV6 && payload < length &&
	       ((packet[payload] >= 130 && packet[payload] <= 137) || packet[payload] == 143);
}

static bool capture_ready(struct nc_observer *observer, struct nc_source *source)
{
	unsigned char packet[256];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	struct nc_sight sight = {.kind = NC_SIGHT_PACKET};
	struct tpacket_stats statistics = {0};
	socklen_t statistics_size = sizeof(statistics);
	ssize_t length = recvfrom(source->fd, packet, sizeof(packet), MSG_DONTWAIT, (void *)&from, &size);
	size_t payload = 0;
	bool whole;

	if (!getsockopt(source->fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &statistics_size) && statistics.tp_drops) {
		pthread_mutex_lock(&observer->lock);
		observer->lost += statistics.tp_drops;
		pthread_mutex_unlock(&observer->lock);
	}
	if (length <= 0 || from.sll_pkttype == PACKET_OUTGOING)
		return true;
	whole = packet[0] >> 4 == 4 ? parse_v4(packet, (size_t)length, &sight, &payload) : parse_v6(packet, (size_t)length, &sight, &payload);
	if (!whole || kernels_own(&sight, packet, (size_t)length, payload))
		return true;
	if (has_ports(sight.protocol) && payload + 4 <= (size_t)length) {
		sight.source_port = port_at(packet + payload);
		sight.destination_port = port_at(packet + payload + 2);
	}
	/* Where nobody listens, as for an echo request, what the packet carries is what can be seen of the client. */
	if (is_echo(&sight) && payload + 8 < (size_t)length)
		nc_observer_note(observer, &sight, (char *)packet + payload + 8, (size_t)length - payload - 8);
	else
		nc_observer_note(observer, &sight, NULL, 0);
	return true;
}

struct capture_request {
	const char *device;
	int fd;
};

static int open_capture(void *context, struct nc_error *reterr)
{
	struct capture_request *request = context;
	struct sockaddr_ll on = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	NC_CLOSE int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int buffer = CAPTURE_BUFFER;

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "open a capture");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
	if (request->device) {
		on.sll_ifindex = (int)if_nametoindex(request->device);
		if (!on.sll_ifindex)
			return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "capture on %s", request->device);
	}
	if (bind(fd, (void *)&on, sizeof(on)) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "capture on %s", request->device ?: "every device");
	request->fd = NC_TAKE_FD(fd);
	return 0;
}

int nc_observer_capture(struct nc_observer *observer, int netns_fd, const char *device, struct nc_error *reterr)
{
	struct capture_request request = {.device = device, .fd = -1};
	int r = nc_observer_inside(netns_fd, open_capture, &request, reterr);

	return r < 0 ? r : nc_observer_watch(observer, request.fd, true, capture_ready, NULL, NULL, reterr);
}
