// SPDX-License-Identifier: GPL-2.0-only
/*
 * dns_upstream.c - asking the configured servers
 *
 * States: UDP (a datagram is out), CONNECTING, SENDING, LENGTH and BODY (over TCP). Each attempt opens a socket of its own and closes it when it ends, so a
 * late reply to an earlier attempt has nowhere to arrive.
 */
#include "dns_upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define ATTEMPT_MS 1500
#define DEADLINE_MS 5000
#define ATTEMPTS_MIN 3

enum state { UDP, CONNECTING, SENDING, LENGTH, BODY };

struct nc_lookup {
	const struct nc_upstreams *upstreams;
	struct nc_dns_name name; /* asked for now: the question's, or the last alias' target */
	enum nc_dns_type type;
	enum state state;
	int fd;
	uint16_t id;
	size_t server;	   /* index of the server being asked */
	uint32_t attempts; /* used so far */
	uint32_t ttl;	   /* smallest of the aliases left behind */
	unsigned int aliases;
	uint64_t attempt_due, deadline;
	size_t used, wanted; /* TCP: bytes moved of `buffer`, and how many there are to be */
	uint8_t *buffer;     /* TCP only: length prefix and message */
	struct nc_dns_answer answer;
};

static uint32_t attempts_max(const struct nc_upstreams *upstreams)
{
	uint32_t twice = (uint32_t)upstreams->count * 2;

	if (upstreams->attempts)
		return upstreams->attempts;
	return twice > ATTEMPTS_MIN ? twice : ATTEMPTS_MIN;
}

static void close_attempt(struct nc_lookup *lookup)
{
	if (lookup->fd >= 0)
		close(lookup->fd);
	lookup->fd = -1;
	free(lookup->buffer);
	lookup->buffer = NULL;
	lookup->used = lookup->wanted = 0;
}

static int open_socket(struct nc_lookup *lookup, int type)
{
	const struct nc_upstream *server = &lookup->upstreams->servers[lookup->server];

	lookup->fd = socket(server->address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (lookup->fd < 0)
		return -errno;
	/* Connected: the kernel drops what comes from anybody else. The port is the kernel's random choice. */
	if (connect(lookup->fd, (const struct sockaddr *)&server->address, server->length) < 0 && errno != EINPROGRESS)
		return -errno;
	return 0;
}

static int new_id(struct nc_lookup *lookup)
{
	return getrandom(&lookup->id, sizeof(lookup->id), 0) == (ssize_t)sizeof(lookup->id) ? 0 : -EIO;
}

static void arm(struct nc_lookup *lookup, uint64_t now_ms)
{
	lookup->attempt_due = now_ms + (lookup->upstreams->attempt_ms ? lookup->upstreams->attempt_ms : ATTEMPT_MS);
}

static int ask_by_udp(struct nc_lookup *lookup, uint64_t now_ms)
{
	uint8_t message[NC_DNS_UDP_PLAIN];
	int r = new_id(lookup);
	int size;

	lookup->state = UDP;
	arm(lookup, now_ms);
	if (r == 0)
		r = open_socket(lookup, SOCK_DGRAM);
	if (r < 0)
		return r;
	size = nc_dns_write_query(lookup->id, &lookup->name, lookup->type, message, sizeof(message));
	if (size < 0)
		return size;
	return send(lookup->fd, message, (size_t)size, MSG_NOSIGNAL) == size ? 0 : -errno;
}

static int ask_by_tcp(struct nc_lookup *lookup, uint64_t now_ms)
{
	int r = new_id(lookup);
	int size;

	lookup->state = CONNECTING;
	arm(lookup, now_ms);
	lookup->buffer = malloc(2 + NC_DNS_MESSAGE_MAX);
	if (!lookup->buffer)
		return -ENOMEM;
	if (r == 0)
		r = open_socket(lookup, SOCK_STREAM);
	if (r < 0)
		return r;
	size = nc_dns_write_query(lookup->id, &lookup->name, lookup->type, lookup->buffer + 2, NC_DNS_UDP_PLAIN);
	if (size < 0)
		return size;
	lookup->buffer[0] = (uint8_t)(size >> 8);
	lookup->buffer[1] = (uint8_t)size;
	lookup->wanted = (size_t)size + 2;
	return 0;
}

/* The next server, as long as there are attempts and time. Returns true when there are none: the lookup is done, and failed. */
static bool next_attempt(struct nc_lookup *lookup, uint64_t now_ms)
{
	for (;;) {
		close_attempt(lookup);
		if (++lookup->attempts > attempts_max(lookup->upstreams) || now_ms >= lookup->deadline) {
			memset(&lookup->answer, 0, sizeof(lookup->answer));
			lookup->answer.outcome = NC_DNS_FAILED;
			return true;
		}
		if (lookup->attempts > 1)
			lookup->server = (lookup->server + 1) % lookup->upstreams->count;
		if (ask_by_udp(lookup, now_ms) == 0)
			return false;
	}
}

/* What a matching reply leads to. Returns true when the lookup is done. */
static bool take_reply(struct nc_lookup *lookup, uint64_t now_ms)
{
	struct nc_dns_answer *answer = &lookup->answer;
	bool was_tcp = lookup->state != UDP;

	close_attempt(lookup);
	if (answer->outcome == NC_DNS_TRUNCATED && !was_tcp) {
		if (ask_by_tcp(lookup, now_ms) == 0)
			return false;
		return next_attempt(lookup, now_ms);
	}
	if (answer->outcome == NC_DNS_FAILED || answer->outcome == NC_DNS_TRUNCATED)
		return next_attempt(lookup, now_ms);
	lookup->aliases += answer->aliases;
	if (answer->ttl < lookup->ttl)
		lookup->ttl = answer->ttl;
	answer->ttl = lookup->ttl;
	if (lookup->aliases > NC_DNS_ALIASES_MAX) {
		answer->outcome = NC_DNS_FAILED;
		return true;
	}
	if (answer->outcome != NC_DNS_CHAIN_OPEN)
		return true;
	lookup->name = answer->alias;
	lookup->attempts = 0;
	return next_attempt(lookup, now_ms);
}

int nc_lookup_start(const struct nc_upstreams *upstreams, const struct nc_dns_name *name, enum nc_dns_type type, uint64_t now_ms,
		    struct nc_lookup **ret_lookup)
{
	struct nc_lookup *lookup;

	if (!upstreams->count)
		return -ENOENT;
	lookup = calloc(1, sizeof(*lookup));
	if (!lookup)
		return -ENOMEM;
	lookup->upstreams = upstreams;
	lookup->name = *name;
	lookup->type = type;
	lookup->fd = -1;
	lookup->ttl = UINT32_MAX;
	lookup->deadline = now_ms + (upstreams->deadline_ms ? upstreams->deadline_ms : DEADLINE_MS);
	if (next_attempt(lookup, now_ms)) {
		nc_lookup_stop(lookup);
		return -EHOSTUNREACH;
	}
	*ret_lookup = lookup;
	return 0;
}

int nc_lookup_fd(const struct nc_lookup *lookup)
{
	return lookup->fd;
}

bool nc_lookup_wants_write(const struct nc_lookup *lookup)
{
	return lookup->state == CONNECTING || lookup->state == SENDING;
}

uint64_t nc_lookup_due(const struct nc_lookup *lookup)
{
	return lookup->attempt_due < lookup->deadline ? lookup->attempt_due : lookup->deadline;
}

static bool step_udp(struct nc_lookup *lookup, uint64_t now_ms)
{
	uint8_t message[NC_DNS_MESSAGE_MAX];

	for (;;) {
		ssize_t got = recv(lookup->fd, message, sizeof(message), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? false : next_attempt(lookup, now_ms);
		if (nc_dns_read_reply(message, (size_t)got, lookup->id, &lookup->name, lookup->type, &lookup->answer) == 0)
			return take_reply(lookup, now_ms);
		/* Not an answer to this question: ignored, and the wait goes on. */
	}
}

/* Moves bytes until `wanted`; 1: all there, 0: wait, negative: the connection is of no more use. */
static int move_bytes(struct nc_lookup *lookup)
{
	while (lookup->used < lookup->wanted) {
		uint8_t *at = lookup->buffer + lookup->used;
		size_t left = lookup->wanted - lookup->used;
		ssize_t moved = lookup->state == SENDING ? send(lookup->fd, at, left, MSG_NOSIGNAL) : recv(lookup->fd, at, left, 0);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (!moved)
			return -ECONNRESET;
		lookup->used += (size_t)moved;
	}
	return 1;
}

static bool step_tcp(struct nc_lookup *lookup, uint64_t now_ms)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (lookup->state == CONNECTING) {
		if (getsockopt(lookup->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error)
			return next_attempt(lookup, now_ms);
		lookup->state = SENDING;
	}
	for (;;) {
		int r = move_bytes(lookup);

		if (r <= 0)
			return r < 0 && next_attempt(lookup, now_ms);
		lookup->used = 0;
		if (lookup->state == SENDING) {
			lookup->state = LENGTH;
			lookup->wanted = 2;
		} else if (lookup->state == LENGTH) {
			lookup->state = BODY;
			lookup->wanted = (size_t)lookup->buffer[0] << 8 | lookup->buffer[1];
		} else {
			if (nc_dns_read_reply(lookup->buffer, lookup->wanted, lookup->id, &lookup->name, lookup->type, &lookup->answer) < 0)
				return next_attempt(lookup, now_ms);
			return take_reply(lookup, now_ms);
		}
	}
}

bool nc_lookup_step(struct nc_lookup *lookup, uint64_t now_ms)
{
	return lookup->state == UDP ? step_udp(lookup, now_ms) : step_tcp(lookup, now_ms);
}

bool nc_lookup_timeout(struct nc_lookup *lookup, uint64_t now_ms)
{
	return next_attempt(lookup, now_ms);
}

const struct nc_dns_answer *nc_lookup_answer(const struct nc_lookup *lookup)
{
	return &lookup->answer;
}

void nc_lookup_stop(struct nc_lookup *lookup)
{
	if (!lookup)
		return;
	close_attempt(lookup);
	free(lookup);
}
