// SPDX-License-Identifier: GPL-2.0-only
/* attempt_family.c - protocols and address families that the connect and sendmsg programs never see */
#include "attempt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/tipc.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef IPPROTO_UDPLITE
#define IPPROTO_UDPLITE 136
#endif
#ifndef SOCK_DCCP
#define SOCK_DCCP 6
#endif
#ifndef IPPROTO_DCCP
#define IPPROTO_DCCP 33
#endif

/* One way: nobody listens for UDP-Lite, the wire is the witness. */
static enum outcome udplite(struct attempt *a, char **args, bool connected)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, IPPROTO_UDPLITE);
	ssize_t sent;

	if (fd < 0 || (connected && dial(a, fd, &peer)))
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, connected ? NULL : peer_sockaddr(&peer), connected ? 0 : peer.length);
	if (step(a, connected ? "send" : "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_udplite(struct attempt *a, char **args)
{
	return udplite(a, args, true);
}

enum outcome verb_udplite_sendto(struct attempt *a, char **args)
{
	return udplite(a, args, false);
}

enum outcome verb_icmp_dgram(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], "0");
	bool v6 = peer.address.ss_family == AF_INET6;
	struct icmphdr echo4 = {.type = ICMP_ECHO};
	struct icmp6_hdr echo6 = {.icmp6_type = ICMP6_ECHO_REQUEST};
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	ssize_t sent;
	enum outcome outcome;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, v6 ? (void *)&echo6 : (void *)&echo4, sizeof(echo4), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	outcome = answer(a, fd);
	snprintf(a->received, sizeof(a->received), "%s", outcome == THROUGH ? "echo reply" : "");
	return outcome;
}

enum outcome verb_raw(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], "0");
	int fd = open_socket(a, peer.address.ss_family, SOCK_RAW, (int)number(args[1]));
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

static uint16_t checksum(const unsigned char *bytes, size_t size)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < size; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* UDP's own checksum stays 0, which over IPv4 means that there is none (RFC 768). */
size_t make_datagram(unsigned char *buffer, size_t size, uint32_t source_be, struct peer *peer, const char *payload)
{
	const struct sockaddr_in *to = (const void *)&peer->address;
	size_t text = strlen(payload), total = sizeof(struct iphdr) + sizeof(struct udphdr) + text;
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP, .saddr = source_be, .daddr = to->sin_addr.s_addr};
	struct udphdr udp = {.source = htons(4444), .dest = to->sin_port, .len = htons((uint16_t)(sizeof(udp) + text))};

	if (total > size)
		return 0;
	ip.tot_len = htons((uint16_t)total);
	ip.check = checksum((const unsigned char *)&ip, sizeof(ip));
	memcpy(buffer, &ip, sizeof(ip));
	memcpy(buffer + sizeof(ip), &udp, sizeof(udp));
	memcpy(buffer + sizeof(ip) + sizeof(udp), payload, text);
	return total;
}

enum outcome verb_raw_hdrincl(struct attempt *a, char **args)
{
	struct peer real = peer_of(args[0], args[1]), shown = peer_of(args[2], "0");
	int fd = open_socket(a, AF_INET, SOCK_RAW, IPPROTO_RAW);
	unsigned char buffer[512];
	size_t size = make_datagram(buffer, sizeof(buffer), 0, &real, a->payload);
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, buffer, size, 0, peer_sockaddr(&shown), shown.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_sctp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, IPPROTO_SCTP);

	a->call = fd < 0 ? "socket(IPPROTO_SCTP)" : a->call;
	return fd < 0 || dial(a, fd, &peer) ? fail(a) : talk(a, fd);
}

enum outcome verb_dccp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_DCCP, IPPROTO_DCCP);

	a->call = fd < 0 ? "socket(IPPROTO_DCCP)" : a->call;
	return fd < 0 || dial(a, fd, &peer) ? fail(a) : talk(a, fd);
}

enum outcome verb_vsock(struct attempt *a, char **args)
{
	struct sockaddr_vm address = {.svm_family = AF_VSOCK, .svm_cid = (unsigned int)number(args[0]), .svm_port = (unsigned int)number(args[1])};
	struct timeval wait = {.tv_sec = a->wait_ms / 1000, .tv_usec = a->wait_ms % 1000 * 1000};
	int fd = open_socket(a, AF_VSOCK, SOCK_STREAM, 0);

	if (fd < 0)
		return fail(a);
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &wait, sizeof(wait));
	if (step(a, "connect", connect(fd, (void *)&address, sizeof(address))))
		return a->error == ENODEV ? IMPOSSIBLE : fail(a);
	return talk(a, fd);
}

/* A connection to any other address, or without a loopback transport, would go to the hypervisor: nothing is tried then. */
enum outcome verb_vsock_local(struct attempt *a, char **args)
{
	struct sockaddr_vm own = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL, .svm_port = VMADDR_PORT_ANY}, to = own;
	int fd = open_socket(a, AF_VSOCK, SOCK_STREAM, 0);

	a->call = fd < 0 ? "socket(AF_VSOCK)" : a->call;
	if (fd < 0)
		return fail(a);
	if (step(a, "bind(VMADDR_CID_LOCAL)", bind(fd, (void *)&own, sizeof(own))))
		return a->error == EADDRNOTAVAIL ? IMPOSSIBLE : fail(a);
	to.svm_port = (unsigned int)number(args[0]);
	return step(a, "connect", connect(fd, (void *)&to, sizeof(to))) ? fail(a) : talk(a, fd);
}

enum outcome verb_smc(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, 43, SOCK_STREAM, peer.address.ss_family == AF_INET6); /* linux/smc: protocol 0 is over IPv4, 1 over IPv6 */

	a->call = fd < 0 ? "socket(AF_SMC)" : a->call;
	return fd < 0 || dial(a, fd, &peer) ? fail(a) : talk(a, fd);
}

/* One way: RDS has no listener of the matrix's, the packet of the connection that the kernel opens is what is seen. */
enum outcome verb_rds(struct attempt *a, char **args)
{
	struct peer own = peer_of(args[0], "4444"), peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, 21, SOCK_SEQPACKET, 0);
	ssize_t sent;

	a->call = fd < 0 ? "socket(AF_RDS)" : a->call;
	if (fd < 0 || step(a, "bind", bind(fd, peer_sockaddr(&own), own.length)))
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_tipc(struct attempt *a, char **args)
{
	struct sockaddr_tipc to = {.family = AF_TIPC, .addrtype = TIPC_SERVICE_ADDR, .scope = TIPC_NODE_SCOPE};
	int fd = open_socket(a, AF_TIPC, SOCK_STREAM, 0);

	a->call = fd < 0 ? "socket(AF_TIPC)" : a->call;
	if (fd < 0)
		return fail(a);
	to.addr.name.name.type = 18888;
	to.addr.name.name.instance = (unsigned int)number(args[0]);
	return step(a, "connect", connect(fd, (void *)&to, sizeof(to))) ? fail(a) : talk(a, fd);
}

/* The source and the router's link address as the device has them, so that the peer takes the frame for its own. */
static int link_addresses(const char *device, uint32_t *ret_source_be, unsigned char ret_router[6])
{
	struct ifreq request = {0};
	char line[256], address[64], type[16], flags[16], link[32], mask[16], name[32];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), found = -1;
	FILE *table;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	if (fd >= 0 && !ioctl(fd, SIOCGIFADDR, &request))
		*ret_source_be = ((struct sockaddr_in *)&request.ifr_addr)->sin_addr.s_addr;
	if (fd >= 0)
		close(fd);
	table = fopen("/proc/net/arp", "re");
	while (table && fgets(line, sizeof(line), table)) {
		if (sscanf(line, "%63s %15s %15s %31s %15s %31s", address, type, flags, link, mask, name) != 6 || strcmp(name, device))
			continue;
		if (sscanf(link, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &ret_router[0], &ret_router[1], &ret_router[2], &ret_router[3], &ret_router[4],
			   &ret_router[5]) == 6)
			found = 0;
	}
	if (table)
		fclose(table);
	return found;
}

static enum outcome send_packet(struct attempt *a, char **args, bool bypass)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = 6};
	struct peer peer = peer_of(args[1], args[2]);
	unsigned char buffer[512];
	uint32_t source = 0;
	int fd = open_socket(a, AF_PACKET, SOCK_DGRAM, 0), on = 1;
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	if (bypass && step(a, "setsockopt", setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on))))
		return fail(a);
	to.sll_ifindex = (int)if_nametoindex(args[0]);
	if (link_addresses(args[0], &source, to.sll_addr))
		return a->call = "arp", a->error = ENOENT, IMPOSSIBLE;
	sent = sendto(fd, buffer, make_datagram(buffer, sizeof(buffer), source, &peer, a->payload), 0, (void *)&to, sizeof(to));
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_packet(struct attempt *a, char **args)
{
	return send_packet(a, args, false);
}

enum outcome verb_packet_bypass(struct attempt *a, char **args)
{
	return send_packet(a, args, true);
}

enum outcome verb_tun(struct attempt *a, char **args)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	(void)args;
	if (step(a, "open", fd))
		return a->error == ENOENT || a->error == ENODEV ? IMPOSSIBLE : fail(a);
	if (step(a, "ioctl", ioctl(fd, TUNSETIFF, &request)))
		return fail(a);
	return THROUGH;
}

/* The call itself: the library's function would cut the upper halves of the registers off. */
enum outcome verb_family(struct attempt *a, char **args)
{
	return step(a, "socket", syscall(SYS_socket, number(args[0]), number(args[1]), number(args[2]))) ? fail(a) : THROUGH;
}

/* One socket of each kind: the first that is made, or is refused in another way than for its family, is the one reported. */
enum outcome verb_families(struct attempt *a, char **args)
{
	for (int i = 0; i < a->argc; i++) {
		char *rest = args[i];
		const char *family = strsep(&rest, "/"), *type = strsep(&rest, "/");
		int fd = open_socket(a, (int)number(family), (int)number(type ?: ""), (int)number(rest ?: ""));

		if (fd >= 0 || a->error != EAFNOSUPPORT) {
			snprintf(a->received, sizeof(a->received), "%s/%s/%s", family, type, rest);
			return fd < 0 ? fail(a) : THROUGH;
		}
		a->sent++;
	}
	return REFUSED;
}
