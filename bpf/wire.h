/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire.h - the name on the wire: what a connection to a named destination may send before it has said where it goes
 *
 * An address is shared; the name that the workload asked the resolver for says nothing about the name that it then asks the address for. So the first
 * payload of such a connection must show a listed name that holds a grant for this very address, before any of it leaves. Pure, like backstop.h.
 *
 *   SYN           where the first payload will begin is noted. Data in it (Fast Open) is judged like a first payload
 *   asked for     segments without payload pass. One with payload must begin exactly there, hold the whole request head, or of a ClientHello all up to its
 *                 server name (server_name.h), lie in pages that nobody else can write to, and have no urgent byte, which a server would take out of the text
 *                                                                                                                                   -> WIRE_OPEN
 *   WIRE_OPEN     what follows a ClientHello, its own rest first, is walked until no other can come (after_hello.h); what overlaps the bytes that were judged
 *                 is judged again, until the peer has acknowledged them                                                              -> WIRE_DONE
 *   WIRE_DONE     nothing is looked at any more
 *   WIRE_REFUSED  of a first payload that was not accepted: no payload leaves any more, whatever the queue becomes when more is written into it
 *
 * Pages: a payload that was handed over by reference (sendfile, splice) can be changed by its owner after this look, before a retransmission or even before
 * the device reads it. pages.h tells. A retransmission that holds a part of those bytes only cannot be compared: it passes when the pages are known to be
 * the kernel's own, for then nobody could have changed it.
 *
 * The including file provides, beside what verdict.h and packet.h ask for:
 *
 *   __u32 nc_find_name_id(struct __sk_buff *skb, const struct nc_slot *slot, __u32 at, __u32 length);   the id of a name in the packet; 0: unknown
 *   int nc_pages_foreign(struct __sk_buff *skb);                                              1, 0, or -1 where it cannot be known
 *   __u32 nc_acknowledged(struct bpf_sock *socket);                                           the first sequence number that the peer lacks (snd_una)
 */
#ifndef NC_BPF_WIRE_H
#define NC_BPF_WIRE_H

#include "packet.h"
#include "after_hello.h"
#include "verdict.h"

#define NC_JUDGED_MAX (256u << 10) /* servers pass over 16 KiB of early data that they do not take, or a little more */

#define NC_TCP_SYN 0x02u
#define NC_TCP_URG 0x20u

struct nc_tcp_header {
	struct nc_ports ports;
	__be32 seq_be;
	__be32 ack_be;
	__u8 data_offset; /* in words, in the upper half */
	__u8 flags;
	__be16 window_be;
	__be16 checksum_be;
	__be16 urgent_be;
};

_Static_assert(sizeof(struct nc_tcp_header) == 20, "TCP header");

/* A TCP segment, as far as it matters here. */
struct nc_segment {
	__u32 seq;     /* of the first payload byte */
	__u32 payload; /* its place in the packet */
	__u32 length;
	__u8 flags;
	__u8 reserved[3];
};

/* Is a name asked for on this connection, or could the bytes that showed it still be sent again? */
static __always_inline int nc_wire_asked(const struct nc_label *label, const struct nc_flow *far)
{
	return NC_CHECK(WIRE) && (label->policy_flags & NC_POLICY_WIRE) && far->protocol == NC_PROTO_TCP &&
	       (label->flags & (NC_LABEL_ADMITTED | NC_LABEL_RESOLVER | NC_LABEL_WIRE_DONE)) == NC_LABEL_ADMITTED;
}

static __always_inline int nc_segment_read(struct __sk_buff *skb, __u32 transport, struct nc_segment *segment)
{
	struct nc_tcp_header tcp;
	__u32 header;

	if (bpf_skb_load_bytes(skb, transport, &tcp, sizeof(tcp)))
		return 0;
	header = (__u32)(tcp.data_offset >> 4) * 4;
	segment->payload = transport + header;
	if (header < sizeof(tcp) || segment->payload > skb->len)
		return 0;
	segment->length = skb->len - segment->payload;
	segment->flags = tcp.flags;
	segment->seq = NC_BE32(tcp.seq_be);
	if (tcp.flags & NC_TCP_SYN)
		segment->seq++;
	return 1;
}

/* Does the policy list this name for the flow with that rule, and may it be asked for at this address? Returns the entry's flags, or 0. The keys have a
 * stack frame of their own: there are 512 bytes for all frames together. */
static __attribute__((noinline)) __u32 nc_wire_listed(const struct nc_slot *slot, const struct nc_label *label, const struct nc_flow *far,
						      __u32 name_id, __u32 rule)
{
	struct nc_grant_key key;
	const struct nc_grant_value *grant;
	const struct nc_policy_value *value;

	value = nc_find_name(slot, far, name_id);
	if (!NC_CHECK(WIRE_PORT) && !value) {
		struct nc_flow flow = *far;

		flow.port_be = NC_BE16(443);
		value = nc_find_name(slot, &flow, name_id);
	}
	if (!value || !(value->flags & rule))
		return 0;
	if (!NC_CHECK(WIRE_GRANT) || name_id == label->name_id) /* it held one when the connection was made, and expiry ends nothing */
		return value->flags;
	key.generation = slot->generation;
	key.address = far->destination;
	key.name_id = name_id;
	key.port_be = 0;
	key.protocol = 0;
	key.kind = NC_GRANT_NAME;
	grant = nc_find_grant(&key);
	return grant && grant->expires_ns > nc_boot_ns() ? value->flags : 0;
}

/* The name in the hello or head that begins `place` bytes into the segment's payload is judged. Returns what nc_tls_name or nc_http_name found, *ret_rule being
 * which; 0: refused, and the verdict says why. In both cases *ret_found says where the name stands that was shown. */
static __always_inline __u64 nc_wire_judge(struct __sk_buff *skb, const struct nc_slot *slot, struct nc_label *label, const struct nc_flow *far,
					   const struct nc_segment *segment, __u32 place, struct nc_verdict *verdict, __u64 *ret_found,
					   __u32 *ret_rule)
{
	__u32 rule = NC_POLICY_WIRE_TLS, name_id, flags;
	__u64 found;
	__u8 first;

	nc_verdict_set(verdict, NC_DENY, NC_REASON_SERVER_NAME_UNREADABLE);
	if (bpf_skb_load_bytes(skb, segment->payload + place, &first, 1))
		return 0;
	if (first == 22) { /* a TLS handshake record; no method of HTTP begins so */
		found = nc_tls_name(skb, segment->payload + place, segment->length - place);
	} else {
		rule = NC_POLICY_WIRE_HTTP;
		found = nc_http_name(skb, segment->payload, segment->length, NC_BE16(far->port_be));
	}
	if (!found)
		return 0;
	*ret_found = found;
	nc_verdict_set(verdict, NC_DENY, NC_REASON_SERVER_NAME_MISMATCH);
	name_id = nc_find_name_id(skb, slot, NC_FOUND_AT(found), NC_FOUND_LENGTH(found));
	verdict->name_id = name_id;
	flags = name_id ? nc_wire_listed(slot, label, far, name_id, rule) : 0;
	if (!flags)
		return 0;
	nc_verdict_set(verdict, NC_DENY, NC_REASON_SERVER_NAME_UNREADABLE);
	if (label->flags & NC_LABEL_WIRE_REFUSED)
		return 0;
	if (label->name_id != name_id) /* of a second hello, too: that one is told anew */
		label->flags &= ~NC_LABEL_WIRE_TOLD;
	label->name_id = name_id;
	label->policy_flags = flags;
	*ret_rule = rule;
	return found;
}

/*
 * A segment is read from `state` on: NC_PLACE_HELLO for a first payload, else where the walk stands. On success the label says what has been judged and what is
 * asked of the next segment. What is not known to lie in the kernel's own pages (`own`) must be there whole, and nothing behind it is walked: it could be
 * written over behind the walk's back.
 */
static __always_inline int nc_wire_read(struct __sk_buff *skb, const struct nc_slot *slot, struct nc_label *label, const struct nc_flow *far,
					const struct nc_segment *segment, __u64 state, int own, struct nc_verdict *verdict, __u64 *ret_found)
{
	__u32 judged = segment->seq + segment->length - label->first_seq;
	__u64 found, after = 0;

	NC_ROLLED
	for (int hellos = 0; hellos < 2 && (state & NC_PLACE_HELLO); hellos++) {
		__u32 rule = 0;

		found = nc_wire_judge(skb, slot, label, far, segment, NC_PLACE(state), verdict, ret_found, &rule);
		if (!found || NC_PLACE(state) + NC_FOUND_HEAD(found) > (own ? NC_JUDGED_MAX : segment->length))
			return 0;
		if (rule == NC_POLICY_WIRE_TLS && own && NC_CHECK(WIRE_SECOND)) {
			state = nc_place_in_hello(NC_PLACE(state), found, state & NC_PLACE_KEPT);
			state = nc_walk_on(skb, segment->payload, segment->length, state);
		} else {
			judged = NC_FOUND_HEAD(found);
			state = NC_PLACE_OVER;
		}
	}
	nc_verdict_set(verdict, NC_DENY, NC_REASON_SERVER_NAME_UNREADABLE);
	if (!(state & NC_PLACE_OVER) && judged < NC_JUDGED_MAX) {
		after = state & NC_PLACE_DONE ? nc_walk_keep(skb, segment->payload, segment->length, state) : 0;
		if (!after)
			return 0;
	}
	label->first_length = judged;
	label->after = after;
	label->flags |= NC_LABEL_WIRE_OPEN;
	return 1;
}

enum nc_wire_way { NC_WIRE_REFUSES, NC_WIRE_PASSES, NC_WIRE_READS };

/* Bytes that were judged are sent again, or could be; or the next ones are sent, and are to be judged as well, from *ret_state on. */
static __always_inline enum nc_wire_way nc_wire_again(struct __sk_buff *skb, struct bpf_sock *socket, struct nc_label *label,
						      const struct nc_segment *segment, __u64 *ret_state, int *ret_foreign)
{
	__u32 end = label->first_seq + label->first_length;
	int behind = (__s32)(segment->seq - end) >= 0, foreign;

	if (label->flags & NC_LABEL_WIRE_REFUSED)
		return segment->length ? NC_WIRE_REFUSES : NC_WIRE_PASSES;
	if (!label->after && (__s32)(nc_acknowledged(socket) - end) >= 0) {
		label->flags |= NC_LABEL_WIRE_DONE;
		return NC_WIRE_PASSES;
	}
	if (!NC_CHECK(WIRE_AGAIN) || !segment->length || (behind && !label->after))
		return NC_WIRE_PASSES;
	foreign = nc_pages_foreign(skb);
	*ret_foreign = foreign;
	if (foreign > 0 || (segment->flags & NC_TCP_URG))
		return NC_WIRE_REFUSES;
	if (behind) {
		if (segment->seq != end || foreign)
			return NC_WIRE_REFUSES;
		*ret_state = nc_walk_begin(skb, segment->payload, segment->length, label->after);
		*ret_state = nc_walk_on(skb, segment->payload, segment->length, *ret_state);
	} else if (segment->seq != label->first_seq || segment->length < label->first_length) {
		return !foreign && (!label->after || (__s32)(segment->seq + segment->length - end) <= 0) ? NC_WIRE_PASSES : NC_WIRE_REFUSES;
	}
	return NC_WIRE_READS;
}

/* The first payload, or what comes before it. */
static __always_inline enum nc_wire_way nc_wire_first(struct __sk_buff *skb, struct nc_label *label, const struct nc_segment *segment,
						      int *ret_foreign)
{
	if (segment->flags & NC_TCP_SYN)
		label->first_seq = segment->seq;
	if (!segment->length)
		return NC_WIRE_PASSES;
	*ret_foreign = NC_CHECK(WIRE_AGAIN) ? nc_pages_foreign(skb) : 0;
	return segment->seq != label->first_seq || (segment->flags & NC_TCP_URG) || *ret_foreign > 0 ? NC_WIRE_REFUSES : NC_WIRE_READS;
}

/* May this packet of a connection for which nc_wire_asked, with its TCP header at `transport`, leave? Fills the verdict when not, and *ret_found when
 * it showed a name. */
static __always_inline int nc_wire_decide(struct __sk_buff *skb, struct bpf_sock *socket, const struct nc_slot *slot, struct nc_label *label,
					  const struct nc_flow *far, __u32 transport, struct nc_verdict *verdict, __u64 *ret_found)
{
	struct nc_segment segment;
	__u64 state = NC_PLACE_HELLO;
	int foreign = 0;
	enum nc_wire_way way;

	if (!nc_segment_read(skb, transport, &segment)) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_MALFORMED);
		return 0;
	}
	way = label->flags & NC_LABEL_WIRE_OPEN ? nc_wire_again(skb, socket, label, &segment, &state, &foreign)
						: nc_wire_first(skb, label, &segment, &foreign);
	if (way == NC_WIRE_PASSES)
		return 1;
	nc_verdict_set(verdict, NC_DENY, NC_REASON_SERVER_NAME_UNREADABLE);
	if (way == NC_WIRE_READS && nc_wire_read(skb, slot, label, far, &segment, state, !foreign, verdict, ret_found))
		return 1;
	/* Data in a SYN that could not be read is not the end: TCP sends it again behind the handshake, and then it may be whole. */
	if ((label->flags & NC_LABEL_WIRE_OPEN) || !(segment.flags & NC_TCP_SYN) || verdict->reason == NC_REASON_SERVER_NAME_MISMATCH)
		label->flags |= NC_LABEL_WIRE_REFUSED;
	return 0;
}

#endif
