/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * verdict.h - the one decision, in the kernel and on the host alike
 *
 * Compiled into the programs, and by `netcordon explain` and the unit tests for the host: what is explained and tested is what is enforced. The
 * including file provides the look-ups before it includes this header:
 *
 *   const struct nc_policy_value *nc_find_policy(__u8 authority, const struct nc_policy_key *key);
 *   const struct nc_grant_value *nc_find_grant(const struct nc_grant_key *key);
 *   __u32 nc_find_floor(const union nc_address *address);     an NC_FLOOR_* kind, or 0
 *   const struct nc_settings *nc_find_settings(void);         NULL: cannot decide, so refuse
 *   __u64 nc_boot_ns(void);
 *
 * The order, the first line that applies decides. 1 to 3 are about the socket and the task, 4 to 11 about the destination; the packet backstop asks
 * the second half alone, because "current" is anybody there.
 *
 *    1  protocol other than TCP or UDP                                        -> DENY protocol_refused
 *    2  no label, or a label of another generation                            -> DENY socket_unlabelled, generation_stale
 *    3  current task not inside the label's own authority cgroup              -> DENY authority_mismatch
 *    4  mode none; port 0                                                     -> DENY mode_none, port_zero
 *    5  port 53 in allowlist mode, unless that very literal is listed         -> REDIRECT resolver (the caller finds the socket)
 *    6  the canary's port and the other authority's resolver on loopback; on
 *       the host floor, unless the host's own address as a plane literal
 *       marked non-public                                                     -> DENY host_floor
 *    7  not public, unless open loopback of the private namespace, or a plane
 *       literal marked non-public, or unrestricted with non_public            -> DENY address_not_public, ALLOW loopback_open
 *       (the caller finds the socket: another resolver's or a canary's there  -> DENY host_floor)
 *    8  mode unrestricted                                                     -> ALLOW mode_unrestricted
 *    9  listed as a literal                                                   -> ALLOW literal_listed
 *   10  a live grant whose name, port and protocol the policy lists           -> ALLOW grant_live
 *       over UDP, where a name on the wire is asked for                       -> DENY wire_quic
 *   11                                                                        -> DENY destination_not_listed
 */
#ifndef NC_BPF_VERDICT_H
#define NC_BPF_VERDICT_H

#include "address.h"
#include "alone.h"
#include "checks.h"
#include "netcordon_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define NC_PROTO_TCP 6
#define NC_PROTO_UDP 17
#define NC_LOOPBACK_IFINDEX 1 /* in every network namespace (LOOPBACK_IFINDEX of linux/net.h) */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NC_BE16(value) ((__be16)(((value)&0xff) << 8 | ((value) >> 8 & 0xff)))
#define NC_BE32(value) ((__be32)__builtin_bswap32(value))
#else
#define NC_BE16(value) ((__be16)(value))
#define NC_BE32(value) ((__be32)(value))
#endif

/* What is asked for: by a call, or by a packet. And which policy is asked: the one that the slot named once, at the beginning, however often it changes. */
struct nc_flow {
	union nc_address destination;
	__be16 port_be;
	__u8 protocol;
	__u8 home_netns; /* 1: the socket lives in the namespace that the instance was sealed in */
	__u8 mode;	 /* enum nc_mode; this and the next by nc_flow_begin */
	__u8 reserved[3];
	__u64 revision;
};

struct nc_verdict {
	__u8 decision;	    /* enum nc_decision */
	__u8 reason;	    /* enum nc_reason */
	__u8 address_class; /* enum nc_address_class; 0: not asked */
	__u8 reserved;
	__u32 name_id;	    /* 0: not by a name */
	__u32 policy_flags; /* of the entry that allowed */
};

static __always_inline int nc_address_equal(const union nc_address *a, const union nc_address *b)
{
	return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1];
}

static __always_inline void nc_address_map4(union nc_address *address, __be32 ipv4_be)
{
	address->halves[0] = 0;
	address->words_be[2] = NC_BE32(0xffff);
	address->words_be[3] = ipv4_be;
}

/* 127.0.0.0/8, mapped, or ::1. */
static __always_inline int nc_address_loopback(const union nc_address *address)
{
	if (address->halves[0])
		return 0;
	if (address->words_be[2] == NC_BE32(0xffff))
		return (address->words_be[3] & NC_BE32(0xff000000)) == NC_BE32(0x7f000000);
	return !address->words_be[2] && address->words_be[3] == NC_BE32(1);
}

/* fe80::/10, and multicast of the interface's or link's scope: an address that means nothing without a device. */
static __always_inline int nc_address_of_link(const union nc_address *address)
{
	__u8 first = address->bytes[0], second = address->bytes[1];

	return (first == 0xfe && (second & 0xc0) == 0x80) || (first == 0xff && ((second & 0x0f) == 1 || (second & 0x0f) == 2));
}

static __always_inline void nc_verdict_set(struct nc_verdict *verdict, __u8 decision, __u8 reason)
{
	verdict->decision = decision;
	verdict->reason = reason;
}

/*
 * The policy of this moment, read once: an entry of one revision and a name of another would make a policy that nobody wrote. The revision is read before the
 * mode. Whoever exchanges them (loader/seal.c) sees to it that a mode never meets a revision whose entries it lacks.
 */
static __always_inline void nc_flow_begin(const struct nc_slot *slot, struct nc_flow *flow)
{
	flow->revision = *(const volatile __u64 *)&slot->revision;
	flow->mode = *(const volatile __u8 *)&slot->mode;
}

static __always_inline void nc_policy_key_fill(struct nc_policy_key *key, const struct nc_slot *slot, const struct nc_flow *flow)
{
	key->generation = slot->generation;
	key->revision = flow->revision;
	key->address = flow->destination;
	key->port_be = NC_CHECK(PORT) ? flow->port_be : NC_BE16(443);
	key->protocol = flow->protocol;
	key->kind = NC_POLICY_LITERAL;
	key->reserved = 0;
}

static __always_inline const struct nc_policy_value *nc_find_literal(const struct nc_slot *slot, const struct nc_flow *flow)
{
	struct nc_policy_key key;
	const struct nc_policy_value *value;

	nc_policy_key_fill(&key, slot, flow);
	value = nc_find_policy(slot->authority, &key);
	if (!NC_CHECK(SEPARATE) && !value)
		value = nc_find_policy(slot->authority == NC_AUTHORITY_PLANE ? NC_AUTHORITY_WORKLOAD : NC_AUTHORITY_PLANE, &key);
	return value;
}

static __always_inline const struct nc_policy_value *nc_find_name(const struct nc_slot *slot, const struct nc_flow *flow, __u32 name_id)
{
	struct nc_policy_key key;

	nc_policy_key_fill(&key, slot, flow);
	key.address.halves[0] = 0;
	key.address.words_be[2] = 0;
	key.address.words_be[3] = name_id;
	key.kind = NC_POLICY_NAME;
	return nc_find_policy(slot->authority, &key);
}

/* A live grant of the kind for the flow, whose name the policy lists for just these; *ret_value is that entry. NULL: none. */
static __always_inline const struct nc_grant_value *nc_live_grant(const struct nc_slot *slot, const struct nc_flow *flow, __u8 kind,
								  const struct nc_policy_value **ret_value)
{
	struct nc_grant_key key;
	const struct nc_grant_value *grant;

	key.generation = slot->generation;
	key.address = flow->destination;
	key.authority = slot->authority;
	key.port_be = flow->port_be;
	key.protocol = flow->protocol;
	key.kind = kind;
	grant = nc_find_grant(&key);
	if (!grant)
		return 0;
	if (NC_CHECK(GRANT_EXPIRY) && grant->expires_ns <= nc_boot_ns())
		return 0;
	*ret_value = nc_find_name(slot, flow, grant->name_id);
	if (NC_CHECK(GRANT_POLICY) && !*ret_value)
		return 0;
	return grant;
}

/*
 * Line 10. The witness grant names one live owner of {address, port, protocol}; it counts only if the policy lists that name for just these. Where its name
 * would have to stand in the first bytes, another owner whose name need not is preferred: such an owner opens the address for whatever is said there.
 */
static __always_inline int nc_grant_allows(const struct nc_slot *slot, const struct nc_flow *flow, struct nc_verdict *verdict)
{
	const struct nc_policy_value *value = 0, *open_value = 0;
	const struct nc_grant_value *grant = nc_live_grant(slot, flow, NC_GRANT_WITNESS, &value), *open;

	if (!grant)
		return 0;
	verdict->name_id = grant->name_id;
	verdict->policy_flags = value ? value->flags : 0;
	nc_verdict_set(verdict, NC_ALLOW, NC_REASON_GRANT_LIVE);
	if (!(verdict->policy_flags & NC_POLICY_WIRE))
		return 1;
	open = nc_live_grant(slot, flow, NC_GRANT_OPEN, &open_value);
	if (open && open_value && !(open_value->flags & NC_POLICY_WIRE)) {
		verdict->name_id = open->name_id;
		verdict->policy_flags = open_value->flags;
	} else if (NC_CHECK(WIRE_QUIC) && flow->protocol == NC_PROTO_UDP) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_WIRE_QUIC);
	}
	return 1;
}

/* The floor's kind for an address, and for the IPv4 address that it carries through NAT64: 64:ff9b::168.63.129.16 is the same metadata service. */
static __always_inline __u32 nc_floor_kind(const union nc_address *address, const struct nc_settings *settings)
{
	union nc_address carried;
	__u32 kind = nc_find_floor(address);
	__u32 ip = 0;

	if (kind || nc_address_carried(address, settings, &ip) != NC_CARRIED_IPV4)
		return kind;
	nc_address_map4(&carried, NC_BE32(ip));
	return nc_find_floor(&carried);
}

/*
 * The two questions about an address, verified alone, for packet programs: each class, and each NAT64 prefix, was a way of its own for the verifier
 * to the end of the verdict, nine tenths of all that it had to do for such a program. A packet is seldom judged anew, so there the call costs
 * nothing; at the address hooks, which know the family, it would be paid by each connect().
 */
NC_VERIFIED_ALONE __u32 nc_floor_alone(__u64 first_half, __u64 second_half)
{
	union nc_address address = {.halves = {first_half, second_half}};

	return nc_floor_kind(&address, nc_find_settings());
}

NC_VERIFIED_ALONE __u32 nc_class_alone(__u64 first_half, __u64 second_half)
{
	union nc_address address = {.halves = {first_half, second_half}};

	return nc_address_class_of(&address, nc_find_settings());
}

/* Which of the two ways: a constant where it is handed over. */
enum nc_how { NC_INLINE, NC_ALONE };

static __always_inline int nc_on_floor(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_settings *settings, enum nc_how how)
{
	const struct nc_policy_value *literal;
	__u32 kind;

	if (((slot->canary_port_be && flow->port_be == slot->canary_port_be) || (slot->other_port_be && flow->port_be == slot->other_port_be)) &&
	    nc_address_loopback(&flow->destination))
		return 1;
	kind = how == NC_ALONE ? nc_floor_alone(flow->destination.halves[0], flow->destination.halves[1])
			       : nc_floor_kind(&flow->destination, settings);
	if (kind != NC_FLOOR_HOST || slot->authority != NC_AUTHORITY_PLANE)
		return kind != 0;
	literal = nc_find_literal(slot, flow);
	return !literal || !(literal->flags & NC_POLICY_NON_PUBLIC);
}

/* Line 7: may an address that is not public be reached all the same? Fills the verdict when that is a decision of its own. */
static __always_inline int nc_non_public_open(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_policy_value *literal,
					      enum nc_address_class class)
{
	if (literal && slot->authority == NC_AUTHORITY_PLANE && (literal->flags & NC_POLICY_NON_PUBLIC))
		return 1;
	/* Loopback and the unspecified address mean the host itself, which no mode opens; a hidden IPv4 address may be one of the floor's. */
	return flow->mode == NC_MODE_UNRESTRICTED && (slot->flags & NC_SLOT_NON_PUBLIC_OPEN) && class != NC_CLASS_LOOPBACK &&
	       class != NC_CLASS_THIS_HOST && class != NC_CLASS_THIS_NETWORK && !nc_class_hides_ipv4(class);
}

/* Lines 4 to 11. The verdict is filled in every case. */
static __always_inline void nc_decide_destination_how(const struct nc_slot *slot, struct nc_flow *flow, struct nc_verdict *verdict, enum nc_how how)
{
	const struct nc_policy_value *literal;
	const struct nc_settings *settings;
	enum nc_address_class class;

	nc_flow_begin(slot, flow);
	if (NC_CHECK(MODE_NONE) && flow->mode == NC_MODE_NONE)
		return nc_verdict_set(verdict, NC_DENY, NC_REASON_MODE_NONE);
	if (!flow->port_be)
		return nc_verdict_set(verdict, NC_DENY, NC_REASON_PORT_ZERO);

	if (NC_CHECK(RESOLVER) && flow->mode == NC_MODE_ALLOWLIST && flow->port_be == NC_BE16(53) && !nc_find_literal(slot, flow))
		return nc_verdict_set(verdict, NC_REDIRECT, NC_REASON_RESOLVER);

	settings = nc_find_settings();
	if (!settings)
		return nc_verdict_set(verdict, NC_DENY, NC_REASON_INTERNAL_ERROR);
	if (NC_CHECK(FLOOR) && nc_on_floor(slot, flow, settings, how))
		return nc_verdict_set(verdict, NC_DENY, NC_REASON_HOST_FLOOR);

	class = how == NC_ALONE ? nc_class_alone(flow->destination.halves[0], flow->destination.halves[1])
				: nc_address_class_of(&flow->destination, settings);
	verdict->address_class = class;
	literal = flow->mode == NC_MODE_UNRESTRICTED ? 0 : nc_find_literal(slot, flow);
	if (NC_CHECK(PUBLIC) && !nc_class_is_public(class)) {
		if ((slot->flags & NC_SLOT_LOOPBACK_OPEN) && flow->home_netns && nc_address_loopback(&flow->destination))
			return nc_verdict_set(verdict, NC_ALLOW, NC_REASON_LOOPBACK_OPEN);
		if (!nc_non_public_open(slot, flow, literal, class))
			return nc_verdict_set(verdict, NC_DENY, NC_REASON_ADDRESS_NOT_PUBLIC);
	}

	if (flow->mode == NC_MODE_UNRESTRICTED)
		return nc_verdict_set(verdict, NC_ALLOW, NC_REASON_MODE_UNRESTRICTED);
	if (literal) {
		verdict->policy_flags = literal->flags;
		NC_REMEMBER(slot->generation);
		return nc_verdict_set(verdict, NC_ALLOW, NC_REASON_LITERAL_LISTED);
	}
	if (nc_grant_allows(slot, flow, verdict)) {
		if (verdict->decision == NC_ALLOW)
			NC_REMEMBER(slot->generation);
		return;
	}
	if (!NC_CHECK(LISTED) || NC_REMEMBERED(slot->generation))
		return nc_verdict_set(verdict, NC_ALLOW, NC_REASON_LITERAL_LISTED);
	nc_verdict_set(verdict, NC_DENY, NC_REASON_DESTINATION_NOT_LISTED);
}

static __always_inline void nc_decide_destination(const struct nc_slot *slot, struct nc_flow *flow, struct nc_verdict *verdict)
{
	nc_decide_destination_how(slot, flow, verdict, NC_INLINE);
}

/* Lines 1 to 3. label: the socket's, or 0. slot: the one that the label names, or 0 when its index is out of range. inside: the current task
 * stands in the slot's own cgroup. Returns 1 when the destination is to be judged, 0 when the verdict is already a refusal. */
static __always_inline int nc_decide_socket(const struct nc_label *label, const struct nc_slot *slot, int inside, __u8 protocol,
					    struct nc_verdict *verdict)
{
	if (NC_CHECK(PROTOCOL) && protocol != NC_PROTO_TCP && protocol != NC_PROTO_UDP) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_PROTOCOL_REFUSED);
		return 0;
	}
	if (!label || !slot) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_SOCKET_UNLABELLED);
		return 0;
	}
	if (!slot->generation || (NC_CHECK(LABEL) && slot->generation != label->generation)) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_GENERATION_STALE);
		return 0;
	}
	if (NC_CHECK(AUTHORITY) && !inside) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_AUTHORITY_MISMATCH);
		return 0;
	}
	return 1;
}

/*
 * An admission of an older revision, judged again by what the current one lists, without regard to a grant's expiry: revocation ends flows, expiry
 * never does. `flow` is what had been admitted, *name_id by which name (0: a literal). The name that spoke for the flow was one of perhaps several that
 * hold the address: when it has left, whatever else lists the destination now speaks for it. Returns 1, the entry's flags and who speaks when it stands.
 */
static __always_inline int nc_still_listed(const struct nc_slot *slot, struct nc_flow *flow, __u32 *name_id, __u32 *ret_flags)
{
	const struct nc_settings *settings = nc_find_settings();
	const struct nc_policy_value *value;
	struct nc_verdict verdict = {};

	if (!settings)
		return 0;
	nc_flow_begin(slot, flow);
	if (*name_id && flow->mode == NC_MODE_ALLOWLIST) {
		value = nc_find_name(slot, flow, *name_id);
		if (value) {
			*ret_flags = value->flags;
			if (NC_CHECK(WIRE_QUIC) && flow->protocol == NC_PROTO_UDP && (value->flags & NC_POLICY_WIRE))
				return 0;
			return !nc_on_floor(slot, flow, settings, NC_ALONE);
		}
	}
	nc_decide_destination_how(slot, flow, &verdict, NC_ALONE);
	*ret_flags = verdict.policy_flags;
	*name_id = verdict.name_id;
	return verdict.decision == NC_ALLOW;
}

#endif
