/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dns_message.h - DNS messages as the resolver needs them, on top of ldns: no wire code of our own
 *
 *   bytes of a workload --nc_dns_read_question--> question      question --nc_dns_write_query--> bytes for an upstream
 *   bytes of an upstream --nc_dns_read_reply--> answer          question + answer --nc_dns_write_answer--> bytes for the workload
 *
 * Names are in ldns' wire form inside struct nc_dns_name: labels, lower case (RFC 4343), uncompressed, with the root. They are compared as such, whole,
 * never by suffix. Everything here is pure: no socket, no clock.
 */
#ifndef NC_DNS_MESSAGE_H
#define NC_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "netcordon_abi.h"

#define NC_DNS_NAME_WIRE_MAX 255 /* RFC 1035 2.3.4 */
#define NC_DNS_MESSAGE_MAX 65535 /* over TCP, RFC 1035 4.2.2 */
#define NC_DNS_ADDRESSES_MAX 240 /* of one name and type; more are left out, and said to be */
#define NC_DNS_ALIASES_MAX 24	 /* steps of one alias chain */
#define NC_DNS_UDP_PLAIN 512	 /* answer size without EDNS, RFC 1035 4.2.1 */
#define NC_DNS_UDP_OFFERED 1232	 /* what is offered upstream and at most sent to a workload by UDP: below every MTU in use */

enum nc_dns_type { NC_DNS_A = 1, NC_DNS_CNAME = 5, NC_DNS_AAAA = 28 };
enum nc_dns_rcode { NC_DNS_NOERROR = 0, NC_DNS_FORMERR = 1, NC_DNS_SERVFAIL = 2, NC_DNS_NXDOMAIN = 3, NC_DNS_NOTIMP = 4 };

struct nc_dns_name {
	uint8_t length; /* of `wire`, with the root label; 0: no name */
	uint8_t wire[NC_DNS_NAME_WIRE_MAX];
};

/* Text ("api.example.com", a trailing dot allowed) to a name; -EINVAL for what is none. */
int nc_dns_name_from_text(const char *text, struct nc_dns_name *ret_name);
/* Text without the trailing dot, printable ASCII: anything else is written as \DDD (RFC 4343 2.1). `size` at least 1024. */
void nc_dns_name_to_text(const struct nc_dns_name *name, char *text, size_t size);
int nc_dns_name_compare(const struct nc_dns_name *a, const struct nc_dns_name *b); /* a total order; 0: equal */

struct nc_dns_question {
	uint16_t id;
	uint16_t type;	   /* any, as asked */
	uint16_t udp_size; /* what the asker takes by UDP: 512 to 1232 */
	bool edns;
	struct nc_dns_name name;
	uint8_t asked[NC_DNS_NAME_WIRE_MAX]; /* the name in the asker's own spelling, which an answer repeats (RFC 4343 4.1) */
};

/* 0: a question of one class-IN name. -EBADMSG: not a question, drop it in silence. -EPROTO: answer with *ret_rcode and an empty body (id is filled). */
int nc_dns_read_question(const uint8_t *bytes, size_t size, struct nc_dns_question *ret_question, enum nc_dns_rcode *ret_rcode);

/* A question for an upstream: recursion desired, EDNS size offered. Returns the size, or a negative errno. */
int nc_dns_write_query(uint16_t id, const struct nc_dns_name *name, enum nc_dns_type type, uint8_t *bytes, size_t size);

enum nc_dns_outcome {
	NC_DNS_ANSWERED = 1, /* addresses, or the alias that was asked for */
	NC_DNS_NO_DATA,	     /* the name exists, or its chain ends, without such a record */
	NC_DNS_NO_NAME,
	NC_DNS_CHAIN_OPEN, /* the reply ends in an alias whose target it does not hold: ask for `alias` */
	NC_DNS_TRUNCATED,  /* ask again over TCP */
	NC_DNS_FAILED	   /* SERVFAIL, REFUSED, a loop, a chain too long: try another upstream */
};

struct nc_dns_answer {
	enum nc_dns_outcome outcome;
	uint32_t ttl; /* seconds: the smallest on the way */
	size_t count;
	bool cut; /* there were more than fit */
	union nc_address addresses[NC_DNS_ADDRESSES_MAX];
	struct nc_dns_name alias;
	unsigned int aliases; /* steps taken */
};

/* 0: *ret_answer is filled, the message answers exactly this question. -EBADMSG: it does not (wrong id, name, type, class, several questions, none, not a
 * reply, unreadable): ignore it and go on waiting. Only records that the alias chain from the question reaches are looked at, in the answer section. */
int nc_dns_read_reply(const uint8_t *bytes, size_t size, uint16_t id, const struct nc_dns_name *name, enum nc_dns_type type,
		      struct nc_dns_answer *ret_answer);

/* An answer to `question`: rcode and, with NOERROR, one record for each address of the family that was asked for, or the alias. `limit` is the largest
 * size (UDP): what does not fit is left out and the message marked truncated. Returns the size, or a negative errno. */
int nc_dns_write_answer(const struct nc_dns_question *question, enum nc_dns_rcode rcode, const struct nc_dns_answer *answer, uint32_t ttl,
			size_t limit, uint8_t *bytes, size_t size);

#endif
