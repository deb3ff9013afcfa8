/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet_hooks.h - the backstop: every packet of a labelled socket, leaving or arriving
 *
 * It catches what never asked an address hook (send() on a connected UDP socket, listen() without bind, kernel-made packets) and what changed after
 * the verdict (netfilter, another program's rewrite, routing headers, a policy that was tightened). "Current" is anybody here, and the network
 * namespace is not to be had before 6.18, so it uses what the label recorded.
 *
 *   egress   backstop.h's questions about the destination; through the loopback device, who waits there
 *   ingress  the same about the source: something must have been asked of it
 *
 * A refused UDP send is EPERM for its caller; a refused TCP packet is lost, and user space destroys the sockets that a change of policy ends.
 */
#ifndef NC_BPF_PACKET_HOOKS_H
#define NC_BPF_PACKET_HOOKS_H

#include "backstop.h"
#include "pages.h"
#include "socket_hooks.h"

static __u32 nc_find_name_id(struct __sk_buff *skb, const struct nc_slot *slot, __u32 at, __u32 length);
static __u32 nc_acknowledged(struct bpf_sock *socket);

#include "wire.h"

/* Verified alone, so that the key has a stack frame of its own. */
NC_VERIFIED_ALONE __u32 nc_name_look(struct __sk_buff *skb, __u64 generation, __u32 authority, __u32 at, __u32 length)
{
	struct nc_name_key key = {.generation = generation, .authority = authority};
	__u32 *id;

	if (!nc_name_key_fill(&key, skb, at & 0x1ffff, length & 255))
		return 0;
	id = bpf_map_lookup_elem(&names, &key);
	return id ? *id : 0;
}

static __always_inline __u32 nc_find_name_id(struct __sk_buff *skb, const struct nc_slot *slot, __u32 at, __u32 length)
{
	return nc_name_look(skb, slot->generation, slot->authority, at, length);
}

static __always_inline __u32 nc_acknowledged(struct bpf_sock *socket)
{
	struct bpf_tcp_sock *tcp = bpf_tcp_sock(socket);

	return tcp ? tcp->snd_una : 0;
}

/* What there is to say of a packet, whatever was decided of it. */
static __always_inline void nc_sighting_of(struct nc_sighting *sighting, struct __sk_buff *skb, const struct nc_label *label,
					   const struct nc_packet *packet, int hook)
{
	sighting->slot_index = label->slot;
	sighting->hook = hook;
	sighting->family = packet->family;
	sighting->socket_cookie = bpf_get_socket_cookie(skb);
	sighting->label = label;
}

static __always_inline void nc_refuse_packet(struct __sk_buff *skb, const struct nc_slot *slot, const struct nc_label *label,
					     const struct nc_packet *packet, int hook, const struct nc_verdict *verdict)
{
	struct nc_flow flow = {};
	struct nc_sighting sighting = {};

	/* The far end stands in the event, whichever way the packet went. */
	flow.destination = hook == NC_HOOK_EGRESS ? packet->destination : packet->source;
	flow.port_be = hook == NC_HOOK_EGRESS ? packet->destination_port_be : packet->source_port_be;
	flow.protocol = packet->protocol;
	nc_sighting_of(&sighting, skb, label, packet, hook);
	nc_note_plain(slot, &flow, verdict, &sighting);
}

/* The socket behind a packet; NULL when it has none that is whole. */
static __always_inline struct bpf_sock *nc_packet_socket(struct __sk_buff *skb)
{
	struct bpf_sock *socket = skb->sk;

	return socket ? bpf_sk_fullsock(socket) : 0;
}

/* Was the socket behind a packet made by the kernel for itself? 1 also where the kernel does not let a program see. */
NC_VERIFIED_ALONE int nc_packet_is_kernels(struct __sk_buff *skb)
{
	const struct sk_buff *real = (const void *)skb;
	struct sock *sk = 0;

	if (!nc_reads_kernel)
		return 1;
	return !bpf_core_read(&sk, sizeof(sk), &real->sk) && sk && BPF_CORE_READ_BITFIELD_PROBED(sk, sk_kern_sock);
}

/* What stands at the other end of a packet that leaves. */
static __always_inline void nc_far_end(struct nc_flow *far, const struct nc_packet *packet, const struct nc_label *label)
{
	far->destination = packet->destination;
	far->port_be = packet->destination_port_be;
	far->protocol = packet->protocol;
	far->home_netns = !!(label->flags & NC_LABEL_HOME_NETNS);
}

/*
 * The egress program is functions that are each verified alone: what each packet is asked, what one through loopback is asked besides, what a packet is asked
 * on whose connection a name has to be shown, and the telling of a name that was refused or accepted. None of them is below another on the stack, which has
 * 512 bytes for all.
 */
#define NC_LOOK 2 /* nc_egress_packet: passes, if nc_egress_name says so; where the TCP header is stands above */
#define NC_LOOK_SHIFT 8

NC_VERIFIED_ALONE int nc_egress_packet(struct __sk_buff *skb)
{
	struct nc_packet packet = {};
	struct nc_verdict verdict = {};
	struct nc_flow far = {};
	struct bpf_sock *socket = nc_packet_socket(skb);
	struct nc_label *label = 0;
	struct nc_slot *slot = 0;
	int plain = nc_packet_read(skb, &packet);

	if (socket)
		label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (!label)
		return !NC_CHECK(LABEL) || (nc_packet_is_housekeeping(skb, &packet) && nc_packet_is_kernels(skb)) ? NC_PASS : NC_REFUSE;
	slot = nc_slot_at(label->slot);
	if (!slot || (NC_CHECK(LABEL) && (!slot->generation || slot->generation != label->generation)))
		return NC_REFUSE;
	nc_far_end(&far, &packet, label);
	if ((!plain || packet.hop_limit < NC_HOP_LIMIT_LEAST) && NC_CHECK(EGRESS_FORM))
		nc_verdict_set(&verdict, NC_DENY, NC_REASON_PACKET_MALFORMED);
	else if (nc_decide_packet(slot, label, &far, skb->ifindex == NC_LOOPBACK_IFINDEX, &verdict))
		return nc_wire_asked(label, &far) ? (int)(packet.transport << NC_LOOK_SHIFT | NC_LOOK) : NC_PASS;
	else if (!NC_CHECK(EGRESS_DESTINATION) && verdict.reason != NC_REASON_LOOPBACK_DEVICE)
		return NC_PASS;
	nc_refuse_packet(skb, slot, label, &packet, NC_HOOK_EGRESS, &verdict);
	return NC_REFUSE;
}

/*
 * 0: the packet may leave. Else the reason in the highest byte, and below it where the name stands that it shows; server_name_listed, when this is
 * the packet that showed the connection's name. Its far end has just been found to be the label's admission, so it is not read once more.
 */
#define NC_NAME_REASON_SHIFT 56
NC_VERIFIED_ALONE __u64 nc_egress_name(struct __sk_buff *skb, __u32 transport)
{
	struct nc_verdict verdict = {};
	struct nc_flow far = {};
	struct bpf_sock *socket = nc_packet_socket(skb);
	struct nc_label *label = socket ? bpf_sk_storage_get(&labels, socket, 0, 0) : 0;
	struct nc_slot *slot = label ? nc_slot_at(label->slot) : 0;
	__u64 found = 0;

	if (!label || !slot)
		return (__u64)NC_REASON_INTERNAL_ERROR << NC_NAME_REASON_SHIFT;
	far.destination = label->admitted;
	far.port_be = label->admitted_port_be;
	far.protocol = label->admitted_protocol;
	far.home_netns = !!(label->flags & NC_LABEL_HOME_NETNS);
	nc_flow_begin(slot, &far);
	if (nc_wire_decide(skb, socket, slot, label, &far, transport & 0xff, &verdict, &found)) {
		/* a bit in the label, since a variable would be more than the stack holds */
		if ((label->flags & (NC_LABEL_WIRE_OPEN | NC_LABEL_WIRE_TOLD)) != NC_LABEL_WIRE_OPEN)
			return 0;
		label->flags |= NC_LABEL_WIRE_TOLD;
		return (__u64)NC_REASON_SERVER_NAME_LISTED << NC_NAME_REASON_SHIFT;
	}
	return (__u64)verdict.reason << NC_NAME_REASON_SHIFT | found;
}

NC_VERIFIED_ALONE int nc_egress_name_refused(struct __sk_buff *skb, __u64 what)
{
	struct nc_packet packet = {};
	struct nc_verdict verdict = {};
	struct nc_flow far = {};
	struct nc_sighting sighting = {};
	struct bpf_sock *socket = nc_packet_socket(skb);
	struct nc_label *label = socket ? bpf_sk_storage_get(&labels, socket, 0, 0) : 0;
	struct nc_slot *slot = label ? nc_slot_at(label->slot) : 0;

	if (!label || !slot || !nc_packet_read(skb, &packet))
		return NC_REFUSE;
	nc_far_end(&far, &packet, label);
	nc_verdict_set(&verdict, NC_DENY, what >> NC_NAME_REASON_SHIFT);
	nc_sighting_of(&sighting, skb, label, &packet, NC_HOOK_EGRESS);
	sighting.ends = !!(label->flags & NC_LABEL_WIRE_REFUSED);
	sighting.name_length = NC_FOUND_LENGTH(what);
	sighting.name_at = NC_FOUND_AT(what) & 0x1ffff;
	if (sighting.name_length)
		sighting.name_hash = nc_name_sum(skb, sighting.name_at, sighting.name_length, slot->generation);
	nc_note_name(skb, slot, &far, &verdict, &sighting);
	return NC_REFUSE;
}

/* Once for each connection: by which name it is open. */
NC_VERIFIED_ALONE int nc_egress_name_listed(struct __sk_buff *skb)
{
	struct nc_packet packet = {};
	struct nc_verdict verdict = {};
	struct nc_flow far = {};
	struct nc_sighting sighting = {};
	struct bpf_sock *socket = nc_packet_socket(skb);
	struct nc_label *label = socket ? bpf_sk_storage_get(&labels, socket, 0, 0) : 0;
	struct nc_slot *slot = label ? nc_slot_at(label->slot) : 0;

	if (!label || !slot || !nc_packet_read(skb, &packet))
		return NC_PASS;
	nc_far_end(&far, &packet, label);
	nc_verdict_set(&verdict, NC_ALLOW, NC_REASON_SERVER_NAME_LISTED);
	verdict.name_id = label->name_id;
	nc_sighting_of(&sighting, skb, label, &packet, NC_HOOK_EGRESS);
	sighting.name_hash = label->name_id;
	nc_note_plain(slot, &far, &verdict, &sighting);
	return NC_PASS;
}

/*
 * May a packet that stays on open loopback reach what listens there? connect() was asked the same: this is for whoever began to listen at that
 * endpoint since. The packets of a connection that has begun do not come here (nc_packet_follows), or only because nothing was to be seen of them at
 * once.
 */
NC_VERIFIED_ALONE int nc_egress_endpoint(struct __sk_buff *skb)
{
	struct nc_packet packet = {};
	struct nc_verdict verdict = {};
	struct bpf_sock *socket = nc_packet_socket(skb);
	struct nc_label *label = socket ? bpf_sk_storage_get(&labels, socket, 0, 0) : 0;
	struct nc_slot *slot = label ? nc_slot_at(label->slot) : 0;
	__u8 flags = 0;

	if (!label || !slot || !nc_packet_read(skb, &packet) || !nc_address_loopback(&packet.destination))
		return NC_PASS;
	/* of a connection only its beginning asks who listens */
	if (packet.protocol == NC_PROTO_TCP &&
	    (bpf_skb_load_bytes(skb, (packet.transport & 0xff) + NC_TCP_FLAGS_AT, &flags, 1) || !nc_tcp_begins(flags)))
		return NC_PASS;
	if (nc_mark_at(skb, slot, &packet.destination, packet.destination_port_be, packet.protocol) != NC_MARK_FOREIGN)
		return NC_PASS;
	nc_verdict_set(&verdict, NC_DENY, NC_REASON_LOOPBACK_DEVICE);
	nc_refuse_packet(skb, slot, label, &packet, NC_HOOK_EGRESS, &verdict);
	return NC_REFUSE;
}

SEC("cgroup_skb/egress")
int egress(struct __sk_buff *skb)
{
	int decision = nc_egress_packet(skb);
	__u64 what;

	if (decision == NC_PASS && skb->ifindex == NC_LOOPBACK_IFINDEX && !nc_packet_follows(skb)) {
		decision = nc_egress_endpoint(skb);
		barrier_var(decision); /* the verifier, too, must see that nothing else is returned, whatever a compiler knows of the function */
	}
	if ((decision & ((1 << NC_LOOK_SHIFT) - 1)) != NC_LOOK)
		return decision == NC_PASS ? NC_PASS : NC_REFUSE;
	what = nc_egress_name(skb, decision >> NC_LOOK_SHIFT);
	if (!what)
		return NC_PASS;
	if (what >> NC_NAME_REASON_SHIFT == NC_REASON_SERVER_NAME_LISTED) {
		nc_egress_name_listed(skb);
		return NC_PASS;
	}
	nc_egress_name_refused(skb, what);
	return NC_REFUSE;
}

SEC("cgroup_skb/ingress")
int ingress(struct __sk_buff *skb)
{
	struct nc_packet packet = {};
	struct nc_verdict verdict = {};
	struct nc_flow far = {};
	struct bpf_sock *socket = skb->sk;
	struct nc_label *label = 0;
	struct nc_slot *slot = 0;
	int plain = nc_packet_read(skb, &packet);

	if (!NC_CHECK(INGRESS))
		return NC_PASS;
	if (socket)
		socket = bpf_sk_fullsock(socket);
	if (socket)
		label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (!label)
		return NC_CHECK(LABEL) ? NC_REFUSE : NC_PASS;
	slot = nc_slot_at(label->slot);
	if (!slot || !slot->generation || slot->generation != label->generation)
		return NC_REFUSE;
	far.destination = packet.source;
	far.port_be = packet.source_port_be;
	far.protocol = packet.protocol;
	far.home_netns = !!(label->flags & NC_LABEL_HOME_NETNS);
	/* Arriving through loopback: the server side of open loopback has the client's ephemeral port as its far end, so the address decides. */
	if (plain && nc_decide_packet(slot, label, &far, skb->ifindex == NC_LOOPBACK_IFINDEX, &verdict))
		return NC_PASS;
	nc_verdict_set(&verdict, NC_DENY, NC_REASON_INBOUND_UNSOLICITED);
	nc_refuse_packet(skb, slot, label, &packet, NC_HOOK_INGRESS, &verdict);
	return NC_REFUSE;
}

#endif
