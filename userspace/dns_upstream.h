/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dns_upstream.h - one lookup at the configured servers, as a state machine without a loop of its own
 *
 * A lookup asks the first server by UDP, from a new port and with a new random id each time (RFC 5452), takes only a datagram of that server (the socket is
 * connected) that answers exactly this question, and goes to TCP when the reply was truncated. An alias whose target the reply does not hold is asked for
 * in turn. A server that is silent or fails is followed by the next, round robin, until `attempts` are used up or the deadline is reached.
 *
 *   nc_lookup_start -> (nc_lookup_fd readable or writable: nc_lookup_step) or (nc_lookup_due reached: nc_lookup_timeout) ... -> done -> nc_lookup_stop
 */
#ifndef NC_DNS_UPSTREAM_H
#define NC_DNS_UPSTREAM_H

#include <sys/socket.h>
#include "dns_message.h"

#define NC_UPSTREAMS_MAX 8

struct nc_upstream {
	struct sockaddr_storage address;
	socklen_t length;
};

struct nc_upstreams {
	struct nc_upstream servers[NC_UPSTREAMS_MAX];
	size_t count;
	uint32_t attempt_ms;  /* how long one server may take: 0 means 1500 */
	uint32_t attempts;    /* in all: 0 means twice the number of servers, at least 3 */
	uint32_t deadline_ms; /* for the whole lookup: 0 means 5000 */
};

struct nc_lookup; /* one lookup under way */

/* Times are CLOCK_MONOTONIC milliseconds. 0, or a negative errno when not even the first server could be asked; then nothing is left. */
int nc_lookup_start(const struct nc_upstreams *upstreams, const struct nc_dns_name *name, enum nc_dns_type type, uint64_t now_ms,
		    struct nc_lookup **ret_lookup);
int nc_lookup_fd(const struct nc_lookup *lookup);
bool nc_lookup_wants_write(const struct nc_lookup *lookup);
uint64_t nc_lookup_due(const struct nc_lookup *lookup); /* when nc_lookup_timeout is to be called */
/* Both: true when the lookup is done and nc_lookup_answer holds the result (FAILED after the last attempt). The descriptor may be another afterwards. */
bool nc_lookup_step(struct nc_lookup *lookup, uint64_t now_ms);
bool nc_lookup_timeout(struct nc_lookup *lookup, uint64_t now_ms);
const struct nc_dns_answer *nc_lookup_answer(const struct nc_lookup *lookup);
void nc_lookup_stop(struct nc_lookup *lookup); /* frees; NULL is fine */

/* Reads `nameserver` lines of a resolv.conf(5): at most NC_UPSTREAMS_MAX. -ENOENT when there is none. */
int nc_upstreams_from_resolv_conf(const char *path, struct nc_upstreams *ret_upstreams);
/* Port 53 of an address. */
void nc_upstream_from_address(const union nc_address *address, struct nc_upstream *ret_upstream);
/* "192.0.2.53", "192.0.2.53:5353", "[2001:db8::1]:53"; -EINVAL otherwise. */
int nc_upstream_from_text(const char *text, struct nc_upstream *ret_upstream);

#endif
