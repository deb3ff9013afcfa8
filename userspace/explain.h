/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explain.h - what would the verdict be, and why: the kernel's own code (bpf/verdict.h) on the compiled image, without privileges and without a network
 *
 * What only the host knows comes as an option: its floor, its NAT64 prefixes, and whether the socket lives in the namespace of the instance. The clouds'
 * metadata services are on the floor in any case.
 *
 * A host name has no address here. It is judged by an address that no literal lists and that holds a live grant if, and only if, the policy lists the
 * name for this port and protocol: that is what the resolver would install. `condition` then says what the answer depends on.
 */
#ifndef NC_EXPLAIN_H
#define NC_EXPLAIN_H

#include <jansson.h>
#include <stdio.h>
#include "host.h"
#include "profile.h"

struct nc_explain_floor {
	union nc_address address;
	uint32_t length; /* bits of the address that count: 128 for one address */
	uint32_t kind;	 /* NC_FLOOR_* */
};

struct nc_explain_question {
	enum nc_authority authority;
	const char *host;		    /* as a profile would spell it: host.h */
	uint16_t port;			    /* host order; 0 is a question too */
	uint8_t protocol;		    /* IPPROTO_* */
	bool foreign_netns;		    /* the socket lives in another network namespace than the instance's own */
	const struct nc_settings *settings; /* NAT64 prefixes; NULL: none but the well-known one */
	const struct nc_explain_floor *floor;
	size_t floor_count;
	const char *granted; /* of a literal: the name that the resolver would grant it to; NULL: none */
};

/* One entry of the profile, for people. The pointer is RFC 6901: "/network/destinations/3". */
struct nc_explain_entry {
	bool valid;
	const struct nc_destination *destination; /* the profile's */
	enum nc_authority authority;
	char pointer[48];
	const char *why; /* of a hint: what differs */
};

/* One address of a name, and what would become of it. */
struct nc_explain_address {
	union nc_address address;
	uint32_t lifetime; /* seconds, of the grant */
	uint8_t decision, reason;
};

#define NC_EXPLAIN_ADDRESSES 512 /* of both families together */

enum nc_explain_asked { NC_EXPLAIN_NOT_ASKED, NC_EXPLAIN_ANSWERED, NC_EXPLAIN_SILENCE /* no server answered */ };

struct nc_explanation {
	const struct nc_profile *profile; /* must outlive this */
	enum nc_authority authority;
	uint8_t mode; /* of the authority's image: an empty allowlist is NC_MODE_NONE */
	struct nc_host_text host;
	uint16_t port;
	uint8_t protocol;
	uint8_t decision;		 /* enum nc_decision */
	uint8_t reason;			 /* enum nc_reason */
	bool nameless;			 /* instead of `reason`: the name does not exist, or has no address (nc_explain_ask) */
	uint8_t address_class;		 /* of a literal; 0: not asked, or a name */
	bool carries;			 /* the literal is a NAT64 address: */
	union nc_address carried;	 /* the IPv4 address in it */
	struct nc_explain_entry matched; /* what the profile lists for just this, whatever the verdict says of it */
	struct nc_explain_entry nearest; /* where nothing matched: what may have been meant */
	const char *name_binding;	 /* "wire": the name in the first bytes is compared too; "address": it is not; "" without a listed name */
	const char *condition;		 /* what the answer depends on, as a sentence; "" */
	const char *ends;		 /* how a connection ends whose first bytes show another name; "" where none is compared */
	enum nc_explain_asked asked;
	struct nc_explain_address *addresses; /* of a name, by nc_explain_ask: the caller frees them */
	size_t address_count;
};

/* What a connection comes to whose first bytes were refused: destroyed by the supervisor, else given up by TCP (bpf/end_hooks.h). */
#define NC_WIRE_ENDS                                                                                                                                 \
	"nothing of it leaves, and the supervisor ends the connection at once (ECONNABORTED); without one TCP does, after about 220 ms (ETIMEDOUT)"

/* PROFILE_INVALID is never an answer here: the profile is a checked one. USAGE names what is wrong with the question's host. */
int nc_explain(const struct nc_profile *profile, const struct nc_explain_question *question, struct nc_explanation *ret_explanation,
	       struct nc_error *reterr);

/*
 * Adds a name's addresses, as the servers (0: those of resolv.conf) have them now, each with what would become of it; other explanations stay as they
 * are. When none may be reached the answer is the first one's, and where there is none it is no. This is the one part that speaks to a network: it asks for
 * names that the profile lists, and no others.
 */
int nc_explain_ask(const struct nc_profile *profile, const struct nc_explain_question *question, const union nc_address *servers, size_t server_count,
		   struct nc_explanation *explanation, struct nc_error *reterr);
/* The answer as text for people, a few lines, each ended. */
void nc_explain_text(const struct nc_explanation *explanation, FILE *stream);
/* The answer as an object (docs/schema/explain.json). The caller owns it; NULL only without memory. */
json_t *nc_explain_json(const struct nc_explanation *explanation);

/*
 * "HOST:PORT", "[IPV6]:PORT", either with "/tcp" or "/udp" behind it (tcp when not given). The host is cut out, not judged. USAGE for anything else. Port 0
 * may be asked about.
 */
int nc_explain_target(const char *text, char ret_host[NC_HOST_NAME_MAX + 2], uint16_t *ret_port, uint8_t *ret_protocol, struct nc_error *reterr);

/* Words and sentences of the ABI's tables; "unknown" and "" for a code that no row has. */
const char *nc_reason_word(unsigned int reason);
const char *nc_reason_sentence(unsigned int reason);
const char *nc_decision_word(unsigned int decision);
const char *nc_mode_word(unsigned int mode);
const char *nc_authority_word(unsigned int authority);

#endif
