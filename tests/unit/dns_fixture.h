/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dns_fixture.h - DNS messages byte by byte, written here and not by the library under test, and a server on loopback that answers as a test tells it
 *
 * For tests that include cmocka first.
 */
#ifndef NC_TEST_DNS_FIXTURE_H
#define NC_TEST_DNS_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "dns_upstream.h"

/* ---- messages ------------------------------------------------------------------------------------------------------------------------------------ */

struct wire {
	size_t size;
	uint8_t bytes[70000];
};

#define FLAGS_QUERY 0x0100
#define FLAGS_REPLY 0x8180
#define FLAGS_CUT 0x8380
#define FLAGS_NO_NAME 0x8183
#define FLAGS_SERVFAIL 0x8182

static inline void put8(struct wire *wire, unsigned int value)
{
	wire->bytes[wire->size++] = (uint8_t)value;
}

static inline void put16(struct wire *wire, unsigned int value)
{
	put8(wire, value >> 8 & 0xff);
	put8(wire, value & 0xff);
}

static inline void put32(struct wire *wire, uint32_t value)
{
	put16(wire, value >> 16);
	put16(wire, value & 0xffff);
}

static inline void put_header(struct wire *wire, uint16_t id, unsigned int flags, unsigned int questions, unsigned int answers)
{
	wire->size = 0;
	put16(wire, id);
	put16(wire, flags);
	put16(wire, questions);
	put16(wire, answers);
	put16(wire, 0);
	put16(wire, 0);
}

static inline void put_name(struct wire *wire, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ".");

		put8(wire, (unsigned int)length);
		memcpy(wire->bytes + wire->size, text, length);
		wire->size += length;
		text += length + (text[length] == '.');
	}
	put8(wire, 0);
}

static inline void put_question(struct wire *wire, const char *name, unsigned int type)
{
	put_name(wire, name);
	put16(wire, type);
	put16(wire, 1);
}

/* What stands between a record's name and its data. */
static inline void put_fixed(struct wire *wire, unsigned int type, uint32_t ttl, unsigned int length)
{
	put16(wire, type);
	put16(wire, 1);
	put32(wire, ttl);
	put16(wire, length);
}

static inline void put_record(struct wire *wire, const char *owner, unsigned int type, uint32_t ttl, unsigned int length)
{
	put_name(wire, owner);
	put_fixed(wire, type, ttl, length);
}

static inline void put_a(struct wire *wire, const char *owner, uint32_t ttl, const char *address)
{
	put_record(wire, owner, NC_DNS_A, ttl, 4);
	inet_pton(AF_INET, address, wire->bytes + wire->size);
	wire->size += 4;
}

static inline void put_aaaa(struct wire *wire, const char *owner, uint32_t ttl, const char *address)
{
	put_record(wire, owner, NC_DNS_AAAA, ttl, 16);
	inet_pton(AF_INET6, address, wire->bytes + wire->size);
	wire->size += 16;
}

static inline void put_cname(struct wire *wire, const char *owner, uint32_t ttl, const char *target)
{
	put_record(wire, owner, NC_DNS_CNAME, ttl, (unsigned int)strlen(target) + 2);
	put_name(wire, target);
}

static inline struct nc_dns_name name_of(const char *text)
{
	struct nc_dns_name name;

	assert_int_equal(nc_dns_name_from_text(text, &name), 0);
	return name;
}

static inline bool is_ipv4(const union nc_address *address, const char *text)
{
	uint8_t bytes[16] = {[10] = 0xff, [11] = 0xff};

	inet_pton(AF_INET, text, bytes + 12);
	return !memcmp(address->bytes, bytes, 16);
}

/* ---- a server ------------------------------------------------------------------------------------------------------------------------------------ */

#define SEEN_MAX 256

struct asked {
	uint16_t id, type, port;
	char name[256];
};

struct server {
	int udp, tcp, stranger; /* stranger: another port of the same address */
	uint16_t port;
	pthread_t thread;
	int quit[2];
	atomic_uint udp_seen, tcp_seen;
	struct asked asked[SEEN_MAX];
	/* Called in the server's thread for each query; `from` is NULL over TCP. */
	void (*_Atomic act)(struct server *server, const struct asked *asked, const struct sockaddr_in *from, int fd);
};

static inline void say(struct server *server, const struct sockaddr_in *from, int fd, const struct wire *wire)
{
	uint8_t prefix[2] = {(uint8_t)(wire->size >> 8), (uint8_t)wire->size};

	(void)server;
	if (from) {
		sendto(fd, wire->bytes, wire->size, 0, (const struct sockaddr *)from, sizeof(*from));
	} else if (send(fd, prefix, 2, MSG_NOSIGNAL) == 2) {
		send(fd, wire->bytes, wire->size, MSG_NOSIGNAL);
	}
}

static inline bool server_understands(const uint8_t *bytes, size_t size, struct asked *asked)
{
	size_t at = 12, used = 0;

	if (size < 17)
		return false;
	asked->id = (uint16_t)(bytes[0] << 8 | bytes[1]);
	while (at < size && bytes[at]) {
		if (used)
			asked->name[used++] = '.';
		memcpy(asked->name + used, bytes + at + 1, bytes[at]);
		used += bytes[at];
		at += bytes[at] + 1u;
	}
	asked->name[used] = '\0';
	asked->type = (uint16_t)(bytes[at + 1] << 8 | bytes[at + 2]);
	return true;
}

static inline void server_answers(struct server *server, struct asked *asked, const struct sockaddr_in *from, int fd)
{
	unsigned int number = from ? server->udp_seen : server->tcp_seen;

	if (from && number < SEEN_MAX)
		server->asked[number] = *asked;
	if (server->act)
		server->act(server, asked, from, fd);
	atomic_fetch_add(from ? &server->udp_seen : &server->tcp_seen, 1);
}

static inline void server_accepts(struct server *server)
{
	int fd = accept(server->tcp, NULL, NULL);
	struct timeval wait = {.tv_sec = 2};
	uint8_t bytes[600];
	struct asked asked;
	ssize_t got;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	got = recv(fd, bytes, sizeof(bytes), 0);
	if (got > 2 && server_understands(bytes + 2, (size_t)got - 2, &asked))
		server_answers(server, &asked, NULL, fd);
	shutdown(fd, SHUT_WR);
	recv(fd, bytes, sizeof(bytes), 0); /* until the other side closes: no reset overtakes what was sent */
	close(fd);
}

static inline void *server_run(void *context)
{
	struct server *server = context;
	struct pollfd polls[3] = {
		{.fd = server->quit[0], .events = POLLIN}, {.fd = server->udp, .events = POLLIN}, {.fd = server->tcp, .events = POLLIN}};

	while (poll(polls, 3, 30000) > 0 && !polls[0].revents) {
		struct sockaddr_in from;
		socklen_t length = sizeof(from);
		uint8_t bytes[600];
		struct asked asked = {0};
		ssize_t got;

		if (polls[2].revents)
			server_accepts(server);
		if (!polls[1].revents)
			continue;
		got = recvfrom(server->udp, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &length);
		if (got > 0 && server_understands(bytes, (size_t)got, &asked)) {
			asked.port = ntohs(from.sin_port);
			server_answers(server, &asked, &from, server->udp);
		}
	}
	return NULL;
}

static inline int loopback_socket(int type, uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 64) < 0)) {
		close(fd);
		return -1;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static inline void server_start(struct server *server, void (*act)(struct server *, const struct asked *, const struct sockaddr_in *, int))
{
	uint16_t other = 0;

	memset(server, 0, sizeof(*server));
	server->tcp = -1;
	for (int i = 0; i < 50 && server->tcp < 0; i++) {
		server->port = 0;
		server->udp = loopback_socket(SOCK_DGRAM, &server->port);
		server->tcp = loopback_socket(SOCK_STREAM, &server->port);
		if (server->tcp < 0)
			close(server->udp);
	}
	assert_true(server->tcp >= 0);
	server->stranger = loopback_socket(SOCK_DGRAM, &other);
	server->act = act;
	assert_int_equal(pipe(server->quit), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

static inline void server_stop(struct server *server)
{
	assert_int_equal(write(server->quit[1], "", 1), 1);
	pthread_join(server->thread, NULL);
	close(server->quit[0]);
	close(server->quit[1]);
	close(server->udp);
	close(server->tcp);
	close(server->stranger);
}

static inline struct nc_upstreams upstreams_of(const struct server *server)
{
	struct nc_upstreams upstreams = {.count = 1, .attempt_ms = 1000, .attempts = 2, .deadline_ms = 4000};
	struct sockaddr_in *address = (struct sockaddr_in *)&upstreams.servers[0].address;

	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(server->port)};
	upstreams.servers[0].length = sizeof(*address);
	return upstreams;
}

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#endif
