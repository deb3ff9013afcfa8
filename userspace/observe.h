/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * observe.h - what was really seen: live listeners, a resolver and captures in the matrix's own namespaces
 *
 * One thread serves all sockets of all places and writes what it sees into one log. The thread belongs to the matrix's process, and its sockets sit
 * in namespaces that a provider driver is never handed: a driver can neither speak for a listener nor silence one.
 *
 * A listener answers with a word that only it knows (the answer), so that a client that shows the word has really been answered by it. What a
 * client sends is kept in the log, so that a listener that shows the word (the token) was really reached by that client.
 *
 * Any thread may call these; the log is behind a lock.
 */
#ifndef NC_OBSERVE_H
#define NC_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "error.h"
#include "netcordon_abi.h"

#define NC_TOKEN_SIZE 33 /* 32 hexadecimal digits with their NUL */

struct nc_observer;

int nc_observer_new(struct nc_observer **ret_observer, struct nc_error *reterr);
void nc_observer_free(struct nc_observer *observer); /* ends the thread; NULL is fine */

/* How a listener behaves. A request that begins like HTTP is answered as HTTP. */
struct nc_listener {
	union nc_address address;
	uint16_t port;		    /* host order */
	uint8_t protocol;	    /* IPPROTO_TCP or IPPROTO_UDP */
	char answer[NC_TOKEN_SIZE]; /* what it says to who reached it */
	char location[320];	    /* HTTP: redirect there with `status`; "": 200 and the answer */
	int status;		    /* 301, 302, 303, 307, 308 */
	const char *challenge;	    /* a credential that the request must carry, else 401 and no answer; NULL: none. Outlives the listener */
};

/* Opens the listener in the namespace of netns_fd. -EPROTONOSUPPORT or -ESOCKTNOSUPPORT: this kernel has no such protocol. */
int nc_observer_listen(struct nc_observer *observer, int netns_fd, const struct nc_listener *listener, struct nc_error *reterr);
/* Captures every packet on `device` (NULL: on all) of the namespace. What the place itself sends is left out. */
int nc_observer_capture(struct nc_observer *observer, int netns_fd, const char *device, struct nc_error *reterr);
/* Closes the listeners, not the captures. Late packets are still seen. */
void nc_observer_quiet(struct nc_observer *observer);

/* ---- the resolver ------------------------------------------------------------------------------------------------------------------------ */

#define NC_ANSWER_RECORDS 6

/* What the resolver says about one name. The n-th question for the name gets the n-th answer, the last one again and again. */
struct nc_record {
	union nc_address address; /* A for a mapped address, AAAA else; unused with an alias */
	char alias[254];	  /* CNAME to there; "": none */
	uint32_t ttl;		  /* seconds */
};
struct nc_dns_answer {
	struct nc_record records[NC_ANSWER_RECORDS];
	size_t count;
};

/* Serves DNS over UDP and TCP on this address, port 53. */
int nc_observer_resolver(struct nc_observer *observer, int netns_fd, const union nc_address *address, struct nc_error *reterr);
/* Adds one answer for `name` (lower case, no trailing dot). */
int nc_observer_name(struct nc_observer *observer, const char *name, const struct nc_dns_answer *answer, struct nc_error *reterr);

/* ---- the log ------------------------------------------------------------------------------------------------------------------------------ */

#define NC_SIGHTS(X)                                                                                                                                 \
	X(ACCEPTED, "accepted") /* a TCP connection stood */                                                                                         \
	X(DATA, "data")		/* bytes arrived on it */                                                                                            \
	X(DATAGRAM, "datagram") /* a UDP datagram arrived */                                                                                         \
	X(PACKET, "packet")	/* a packet passed a capture */                                                                                      \
	X(QUESTION, "question") /* the resolver was asked */
#define NC_ENUM_SIGHT(symbol, word) NC_SIGHT_##symbol,
enum nc_sight_kind { NC_SIGHTS(NC_ENUM_SIGHT) };
const char *nc_sight_word(enum nc_sight_kind kind);

struct nc_sight {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	enum nc_sight_kind kind;
	union nc_address source, destination;
	uint16_t source_port, destination_port; /* host order; 0 where the protocol has none */
	uint8_t protocol;
	char text[64]; /* the first printable bytes, or the name asked for */
};

/* How many sights there are; an index below it stays valid until the observer is freed. */
size_t nc_observer_count(struct nc_observer *observer);
void nc_observer_sight(struct nc_observer *observer, size_t index, struct nc_sight *ret_sight);
/* Packets that a capture could not take: a run in which this grows shows nothing. */
uint64_t nc_observer_lost(struct nc_observer *observer);

struct nc_seen {
	uint32_t listened; /* accepted connections and datagrams at the listener itself */
	uint32_t tokens;   /* how often the token came in there */
	uint32_t packets;  /* packets to that address, port and protocol in captures; port 0: to any port and protocol */
};
/* What was seen of one destination since `since` (an index of the log). */
void nc_observer_seen(struct nc_observer *observer, size_t since, const union nc_address *address, uint16_t port, uint8_t protocol, const char *token,
		      struct nc_seen *ret_seen);

#endif
