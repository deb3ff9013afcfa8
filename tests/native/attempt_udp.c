// SPDX-License-Identifier: GPL-2.0-only
/* attempt_udp.c - datagrams: every call that can name, or avoid naming, where they go */
#include "attempt.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

static int open_udp(struct attempt *a, const struct peer *peer)
{
	return open_socket(a, peer->address.ss_family, SOCK_DGRAM, 0);
}

/* sendto() and the answer: the end of most verbs here. */
static enum outcome send_to(struct attempt *a, int fd, struct peer *peer)
{
	ssize_t sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(peer), peer->length);

	if (step(a, "sendto", sent))
		return fail(a);
	a->sent += sent;
	return answer(a, fd);
}

enum outcome verb_udp_sendto(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_udp(a, &peer);

	return fd < 0 ? fail(a) : send_to(a, fd, &peer);
}

enum outcome verb_udp_once(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_udp_connect_send(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);

	return reach(a, SOCK_DGRAM, 0, &peer);
}

/* `sent` is the number of messages that the kernel says it took; through means all of them. */
enum outcome verb_udp_sendmmsg(struct attempt *a, char **args)
{
	struct peer first = peer_of(args[0], args[1]), second = peer_of(args[2], args[3]);
	struct peer *order[3] = {&first, &second, &first};
	struct iovec text = {.iov_base = (void *)(uintptr_t)a->payload, .iov_len = strlen(a->payload)};
	struct mmsghdr batch[3] = {0};
	int fd = open_udp(a, &first), took;

	if (fd < 0)
		return fail(a);
	for (int i = 0; i < 3; i++) {
		batch[i].msg_hdr.msg_name = &order[i]->address;
		batch[i].msg_hdr.msg_namelen = order[i]->length;
		batch[i].msg_hdr.msg_iov = &text;
		batch[i].msg_hdr.msg_iovlen = 1;
	}
	took = sendmmsg(fd, batch, 3, 0);
	if (step(a, "sendmmsg", took))
		return fail(a);
	a->sent = took;
	/* The kernel reports an error of a later message on the next call. */
	if (took < 3) {
		step(a, "sendmmsg", sendmmsg(fd, batch + took, 1, 0));
		return REFUSED;
	}
	return answer(a, fd);
}

enum outcome verb_udp_cork(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_udp(a, &peer), on = 1, off = 0;
	ssize_t sent;

	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof(on))))
		return fail(a);
	for (int i = 0; i < 2; i++) {
		sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
		if (step(a, "sendto", sent))
			return fail(a);
		a->sent += sent;
	}
	if (step(a, "uncork", setsockopt(fd, IPPROTO_UDP, UDP_CORK, &off, sizeof(off))))
		return fail(a);
	return answer(a, fd);
}

enum outcome verb_udp_more(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_udp(a, &peer);
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), MSG_MORE, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return send_to(a, fd, &peer);
}

enum outcome verb_udp_gso(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_udp(a, &peer), segment = 100;
	char block[400];
	ssize_t sent;

	memset(block, 'g', sizeof(block));
	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment))))
		return fail(a);
	sent = sendto(fd, block, sizeof(block), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, fd);
}

/* Every 8 bytes of the later fragments look like a UDP header for port 443 from port 443. */
enum outcome verb_udp_large(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_udp(a, &peer);
	static const unsigned char header[8] = {1, 187, 1, 187, 0, 64, 0, 0};
	char block[3000];
	ssize_t sent;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)header[i % 8];
	if (fd < 0)
		return fail(a);
	sent = sendto(fd, block, sizeof(block), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, fd);
}

enum outcome verb_udp_unspec(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_udp(a, &peer);

	peer.address.ss_family = AF_UNSPEC;
	return fd < 0 ? fail(a) : send_to(a, fd, &peer);
}

/* The message asks for nothing (interface 0, source unspecified), but with it the kernel runs the sendmsg programs on a connected socket, and
 * they are shown an address of all zeros. */
enum outcome verb_udp_pktinfo(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	bool v6 = peer.address.ss_family == AF_INET6;
	struct iovec text = {.iov_base = (void *)(uintptr_t)a->payload, .iov_len = strlen(a->payload)};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {0};
	size_t size = v6 ? sizeof(struct in6_pktinfo) : sizeof(struct in_pktinfo);
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
	int fd = open_udp(a, &peer);
	ssize_t sent;

	control.header.cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
	control.header.cmsg_type = v6 ? IPV6_PKTINFO : IP_PKTINFO;
	control.header.cmsg_len = CMSG_LEN(size);
	if (fd < 0 || dial(a, fd, &peer))
		return fail(a);
	sent = sendmsg(fd, &message, 0);
	if (step(a, "sendmsg", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, fd);
}

enum outcome verb_udp_reconnect(struct attempt *a, char **args)
{
	struct peer first = peer_of(args[0], args[1]), second = peer_of(args[2], args[3]);
	int fd = open_udp(a, &first);

	if (fd < 0 || dial(a, fd, &first) || dial(a, fd, &second))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_udp_after_refusal(struct attempt *a, char **args)
{
	struct peer first = peer_of(args[0], args[1]), second = peer_of(args[2], args[3]);
	int fd = open_udp(a, &first);

	bool connected;
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	connected = !dial(a, fd, &first);
	if (!connected)
		return send_to(a, fd, &second);
	/* A socket that did connect takes answers from its peer alone: one way. */
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&second), second.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_udp_addrform(struct attempt *a, char **args)
{
	struct peer first = peer_mapped(args[0], args[1]), second = peer_of(args[2], args[3]);
	int fd = open_udp(a, &first), family = AF_INET;

	if (fd < 0 || dial(a, fd, &first) || step(a, "setsockopt", setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &family, sizeof(family))) ||
	    dial(a, fd, &second))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_mapped_udp(struct attempt *a, char **args)
{
	struct peer peer = peer_mapped(args[0], args[1]);
	int fd = open_udp(a, &peer);

	return fd < 0 ? fail(a) : send_to(a, fd, &peer);
}

enum outcome verb_mapped_udp_connect(struct attempt *a, char **args)
{
	struct peer peer = peer_mapped(args[0], args[1]);

	return reach(a, SOCK_DGRAM, 0, &peer);
}

enum outcome verb_v4_on_v6_udp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, AF_INET6, SOCK_DGRAM, 0);

	return fd < 0 ? fail(a) : send_to(a, fd, &peer);
}

enum outcome verb_v4_on_v6_udp_connect(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0 || dial(a, fd, &peer))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_udp_serve(struct attempt *a, char **args)
{
	struct peer local = peer_of(args[0], args[1]), from = {.length = sizeof(from.address)};
	struct pollfd waiting = {.events = POLLIN};
	int fd = open_udp(a, &local);
	ssize_t got, sent;

	if (fd < 0 || step(a, "bind", bind(fd, peer_sockaddr(&local), local.length)))
		return fail(a);
	fprintf(stderr, "listening %s\n", args[1]);
	waiting.fd = fd;
	if (poll(&waiting, 1, a->wait_ms) < 1)
		return a->call = "recvfrom", a->error = ETIMEDOUT, REFUSED;
	got = recvfrom(fd, a->received, sizeof(a->received) - 1, 0, peer_sockaddr(&from), &from.length);
	if (step(a, "recvfrom", got))
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&from), from.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}
