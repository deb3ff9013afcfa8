/* SPDX-License-Identifier: GPL-2.0-only */
/* resolver_parts.h - what resolver.c and resolver_stream.c share: the resolver's state, and the calls between them */
#ifndef NC_RESOLVER_PARTS_H
#define NC_RESOLVER_PARTS_H

#include "resolver_cache.h"

#define NC_STREAMS_MAX 64
#define NC_STREAM_QUESTION_MAX 1024 /* bytes of one question over TCP: a name, a type, and options */

#define NC_BATCH 32	     /* datagrams that are received, and answers that are sent, in one call */
#define NC_DATAGRAM_MAX 2048 /* a longer one is no question of ours */

/* Answers by datagram that wait to be sent together: always on one socket, and none when a step ends. */
struct nc_resolver_outbox {
	int fd;
	unsigned int count;
	struct mmsghdr heads[NC_BATCH];
	struct iovec parts[NC_BATCH];
	struct sockaddr_storage addresses[NC_BATCH];
	uint8_t bytes[NC_BATCH][NC_DNS_UDP_OFFERED];
};

enum nc_resolver_watch { NC_WATCH_DATAGRAM = 1, NC_WATCH_LISTENER, NC_WATCH_STREAM, NC_WATCH_TIMER, NC_WATCH_LOOKUP };

/* One TCP connection: a question is read, its answer written, then the next. fd -1: free. */
struct nc_resolver_stream {
	int fd;
	uint32_t generation; /* so that an answer for a connection that is gone does not reach its successor */
	uint64_t idle_ms;    /* when it is closed for saying nothing */
	bool waits;	     /* a question is being looked up */
	size_t used;
	uint8_t input[2 + NC_STREAM_QUESTION_MAX];
	uint8_t *output;
	size_t output_size, output_sent;
};

struct nc_resolver {
	struct nc_resolver_options options;
	struct nc_resolver_cache cache;
	struct nc_resolver_entry *asking; /* lookups under way */
	uint32_t clients;
	int epoll_fd, timer_fd;
	uint64_t armed_ms; /* what the timer is set to; 0: nothing that could be relied on */
	struct nc_resolver_stream streams[NC_STREAMS_MAX];
	struct nc_dns_answer scratch;
	uint8_t input[NC_BATCH][NC_DATAGRAM_MAX];
	struct nc_resolver_outbox outbox;
	uint8_t message[NC_DNS_MESSAGE_MAX];
};

uint64_t nc_resolver_now(void); /* CLOCK_MONOTONIC milliseconds */
int nc_resolver_watch(struct nc_resolver *resolver, int fd, enum nc_resolver_watch kind, uint32_t index, uint32_t events);
/* A question of `client`, whose question member is filled here. Answers now or when its lookup ends. */
void nc_resolver_ask(struct nc_resolver *resolver, struct nc_resolver_client *client, const uint8_t *bytes, size_t size);

void nc_resolver_streams_open(struct nc_resolver *resolver);
void nc_resolver_streams_close(struct nc_resolver *resolver);
void nc_resolver_stream_accept(struct nc_resolver *resolver, int listener);
void nc_resolver_stream_step(struct nc_resolver *resolver, uint32_t index);
void nc_resolver_stream_send(struct nc_resolver *resolver, const struct nc_resolver_client *client, const uint8_t *bytes, size_t size);
void nc_resolver_streams_expire(struct nc_resolver *resolver);
uint64_t nc_resolver_streams_due(const struct nc_resolver *resolver); /* UINT64_MAX: none */

#endif
