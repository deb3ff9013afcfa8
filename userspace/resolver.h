/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * resolver.h - the instance's resolver: names that the policy lists, and nothing else
 *
 * It serves the workload's port 53 (the kernel redirects it here) on sockets that the supervisor made inside the workload's network namespace, and asks the
 * configured servers from its own. An answer leaves only after its grant is installed and confirmed:
 *
 *   question -> listed name? -> cache or lookup -> public addresses only -> grant (confirmed) -> answer
 *
 * A name that is not listed is NXDOMAIN at once, without a query out: glibc, musl, Go and Java go on with their search list after it, and a zone's answer
 * about a denied name cannot go stale in anybody's cache because its negative TTL is not given (no SOA). Other types of a listed name are NOERROR without
 * data. A failure upstream is SERVFAIL, which nobody caches.
 *
 * Memory is bounded by the options; a client that floods is answered or dropped by itself, for each instance has a resolver of its own. Nothing wakes while
 * nothing is asked.
 */
#ifndef NC_RESOLVER_H
#define NC_RESOLVER_H

#include "dns_upstream.h"
#include "error.h"

/* One listed name; the array is sorted by name and unique. */
struct nc_resolver_name {
	struct nc_dns_name name;
	uint32_t id; /* the name id of the policy's entries */
};

enum nc_resolver_happening {
	NC_RESOLVED = 1,	  /* addresses were granted and answered */
	NC_RESOLVER_NOT_LISTED,	  /* the name is not in the policy */
	NC_RESOLVER_NOT_PUBLIC,	  /* an address was left out because it is not public */
	NC_RESOLVER_FLOOR,	  /* an address was left out because it is on the host floor */
	NC_RESOLVER_NO_NAME,	  /* the servers say that there is no such name, or no such record */
	NC_RESOLVER_FAILED,	  /* no server answered */
	NC_RESOLVER_STALE,	  /* no server answered, and the last answer was given again within its grace */
	NC_RESOLVER_GRANT_REFUSED /* the grant could not be installed: the answer was SERVFAIL */
};

struct nc_resolver_report {
	enum nc_resolver_happening what;
	const struct nc_dns_name *name; /* as asked */
	uint32_t name_id;		/* 0: not listed */
	uint16_t type;
	const union nc_address *address; /* the one that was left out, or NULL */
	uint32_t lifetime;		 /* seconds, of a grant */
	size_t count;			 /* addresses answered */
};

struct nc_resolver_options {
	int udp[2], tcp[2]; /* IPv4 and IPv6 sockets, bound (tcp: listening), non-blocking; -1: none. The resolver takes them */
	const struct nc_resolver_name *names;
	size_t name_count;
	struct nc_upstreams upstreams;
	struct nc_settings settings;		/* the network's NAT64 prefixes */
	uint32_t ttl_floor, ttl_ceiling, grace; /* seconds; 0: 30, 3600, 300 */
	uint32_t clients_max;			/* questions waiting for an upstream at once; 0: 1024 */
	uint32_t streams_max;			/* TCP connections at once; 0: 64 */
	bool keep_non_public;			/* the matrix only: leaves the filter out, so that the kernel's own check is what refuses */
	/* Installs grants for the addresses of one name and returns 0 when they are in force, for `lifetime` seconds. */
	int (*grant)(void *context, uint32_t name_id, const union nc_address *addresses, size_t count, uint32_t lifetime);
	void (*report)(void *context, const struct nc_resolver_report *report);
	void *context;
};

struct nc_resolver;

#define NC_RESOLVER_TTL_FLOOR 30     /* seconds */
#define NC_RESOLVER_TTL_CEILING 3600 /* seconds */
/* How long a record of this TTL is kept where the options do not say otherwise. */
static inline uint32_t nc_resolver_lifetime(uint32_t ttl)
{
	if (ttl < NC_RESOLVER_TTL_FLOOR)
		return NC_RESOLVER_TTL_FLOOR;
	return ttl > NC_RESOLVER_TTL_CEILING ? NC_RESOLVER_TTL_CEILING : ttl;
}

/* `names` is borrowed until close or exchange. */
int nc_resolver_open(const struct nc_resolver_options *options, struct nc_resolver **ret_resolver, struct nc_error *reterr);
/* Other names, sorted and unique: what is known of those that stay, and who waits for it, stays too. Whoever waits for one that left is told that there is no
 * such name. The names before may go afterwards. -ENOMEM: nothing has changed. */
int nc_resolver_exchange(struct nc_resolver *resolver, const struct nc_resolver_name *names, size_t count);
int nc_resolver_poll_fd(const struct nc_resolver *resolver); /* an epoll descriptor: readable when nc_resolver_step has work */
void nc_resolver_step(struct nc_resolver *resolver);	     /* does what there is to do; never waits */
void nc_resolver_close(struct nc_resolver *resolver);	     /* reports what it asked and got no answer to; NULL is fine */

#endif
