// SPDX-License-Identifier: GPL-2.0-only
/* attempt_wire.c - a request head to a permitted address, in every way in which the name in it may differ from what a look at the first packet shows */
#include "../unit/hello_text.h"
#include "attempt.h"

#include <ctype.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 512
#define FILLED 280 /* of a host line with what fills it up, so that one head can be written over another */
#define HOPS 64

/* The payload is the path. Returns the length; `ret_cut` is the middle of the name. */
static size_t make_head(char head[HEAD_MAX], const char *path, const char *name, size_t *ret_cut)
{
	int path_length = (int)strcspn(path, "\n"), before, length;

	before = snprintf(head, HEAD_MAX, "GET /%.*s HTTP/1.1\r\n", path_length, path);
	if (name)
		before += snprintf(head + before, HEAD_MAX - (size_t)before, "Host: ");
	*ret_cut = (size_t)before + (name ? strlen(name) / 2 : 0);
	length = before;
	if (name)
		length += snprintf(head + length, HEAD_MAX - (size_t)length, "%s\r\nFill: %0*d\r\n", name, FILLED - (int)strlen(name), 0);
	length += snprintf(head + length, HEAD_MAX - (size_t)length, "\r\n");
	return (size_t)length;
}

static int set_hops(struct attempt *a, int fd, int family, int hops)
{
	bool v6 = family == AF_INET6;

	return step(a, "setsockopt", setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_UNICAST_HOPS : IP_TTL, &hops, sizeof(hops)));
}

static enum outcome put(struct attempt *a, int fd, const char *bytes, size_t length)
{
	ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

	if (step(a, "send", sent))
		return fail(a);
	a->sent += sent;
	return THROUGH;
}

/* From pages that this process keeps. */
static enum outcome hand(struct attempt *a, int fd, int file, size_t length)
{
	off_t from = 0;
	ssize_t sent = sendfile(fd, file, &from, length);

	if (step(a, "sendfile", sent))
		return fail(a);
	a->sent += sent;
	return THROUGH;
}

/*
 * The head with `name` leaves and dies at the first router; then its pages hold a head with another name, which is what the kernel sends again. Only that
 * one has the payload in it. Nothing depends on who is faster: until the hops are set back, whatever is sent again dies as well.
 */
static enum outcome rewrite(struct attempt *a, int fd, int family, const char *name)
{
	char first[HEAD_MAX], second[HEAD_MAX], blank[64];
	int file = memfd_create("head", MFD_CLOEXEC);
	size_t length, cut;

	snprintf(blank, sizeof(blank), "%0*d", (int)strcspn(a->payload, "\n"), 0);
	length = make_head(first, blank, name, &cut);
	if (make_head(second, a->payload, "elsewhere.example", &cut) != length)
		return IMPOSSIBLE;
	if (step(a, "memfd_create", file) || step(a, "write", write(file, first, length)) || set_hops(a, fd, family, 1) ||
	    hand(a, fd, file, length) != THROUGH || step(a, "pwrite", pwrite(file, second, length, 0)) || set_hops(a, fd, family, HOPS))
		return fail(a);
	return answer(a, fd);
}

static enum outcome whole_by_reference(struct attempt *a, int fd, const char *head, size_t length)
{
	int file = memfd_create("head", MFD_CLOEXEC);

	if (step(a, "memfd_create", file) || step(a, "write", write(file, head, length)) || hand(a, fd, file, length) != THROUGH)
		return fail(a);
	return answer(a, fd);
}

static enum outcome in_two(struct attempt *a, int fd, const char *head, size_t length, size_t cut)
{
	struct timespec pause = {.tv_nsec = 300 * 1000 * 1000};
	int on = 1;

	if (step(a, "setsockopt", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))) || put(a, fd, head, cut) != THROUGH)
		return fail(a);
	nanosleep(&pause, NULL);
	return put(a, fd, head + cut, length - cut) == THROUGH ? answer(a, fd) : REFUSED;
}

static enum outcome until_closed(struct attempt *a, int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	char rest[64];
	ssize_t got;

	if (step(a, "poll", poll(&waiting, 1, a->wait_ms)))
		return fail(a);
	got = recv(fd, rest, sizeof(rest), MSG_DONTWAIT);
	if (!got || (got < 0 && errno == ECONNRESET))
		return THROUGH;
	return step(a, "recv", got) ? fail(a) : THROUGH;
}

/* A ClientHello, and behind its answer a change of ciphers and another one, as if the server had asked for it: with another name, and the
 * payload for its random. */
static enum outcome say_hello_twice(struct attempt *a, int fd, const char *name)
{
	static const char change[] = {20, 3, 3, 0, 1, 1};
	char both[HEAD_MAX + sizeof(change)], answered[sizeof(a->received)];
	static struct hello hello;

	hello_begin(&hello);
	hello_name(&hello, name, strlen(name));
	hello_end(&hello);
	if (put(a, fd, (char *)hello.bytes, hello.size) != THROUGH || answer(a, fd) != THROUGH)
		return REFUSED;
	memcpy(answered, a->received, sizeof(answered));
	memset(a->received, 0, sizeof(a->received)); /* that answer was to the first, whatever fails from here on */
	hello_begin(&hello);
	hello_random(&hello, a->payload, strcspn(a->payload, "\n"));
	hello_name(&hello, "elsewhere.example", strlen("elsewhere.example"));
	hello_end(&hello);
	memcpy(both, change, sizeof(change));
	memcpy(both + sizeof(change), hello.bytes, hello.size);
	if (put(a, fd, both, sizeof(change) + hello.size) != THROUGH || step(a, "shutdown", shutdown(fd, SHUT_WR)))
		return fail(a);
	if (until_closed(a, fd) != THROUGH)
		return REFUSED;
	memcpy(a->received, answered, sizeof(answered));
	return THROUGH;
}

/* In mixed case and with the dot of the root. */
static void spell(char *name, size_t size)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i += 2)
		name[i] = (char)toupper((unsigned char)name[i]);
	snprintf(name + length, size - length, ".");
}

enum outcome verb_shown(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	char head[HEAD_MAX], name[256];
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);
	size_t length, cut;

	snprintf(name, sizeof(name), "%s", args[3]);
	if (!strcmp(args[0], "spelled"))
		spell(name, sizeof(name));
	length = make_head(head, a->payload, strcmp(args[0], "nameless") ? name : NULL, &cut);
	if (fd < 0 || dial(a, fd, &peer))
		return fail(a);
	if (!strcmp(args[0], "rewritten"))
		return rewrite(a, fd, peer.address.ss_family, name);
	if (!strcmp(args[0], "second"))
		return say_hello_twice(a, fd, name);
	if (!strcmp(args[0], "handed"))
		return whole_by_reference(a, fd, head, length);
	if (!strncmp(args[0], "ring", 4))
		return ring_send(a, fd, head, length, args[0][4] ? args[0] + 5 : "");
	if (!strcmp(args[0], "split"))
		return in_two(a, fd, head, length, cut);
	return put(a, fd, head, length) == THROUGH ? answer(a, fd) : REFUSED;
}
