/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet_hooks.h - the backstop: every packet of a labelled socket, leaving or arriving
 *
 * It catches what never asked an address hook (send() on a connected UDP socket, listen() without bind, kernel-made packets) and what changed after
 * the verdict (netfilter, another program's rewrite, routing headers, a policy that was tightened). "Current" is anybody here, and the network
 * namespace is not to be had before 6.18, so it uses what the label recorded.
 *
 *   egress   backstop.h's questions about the destination
 *   ingress  the same about the source: something must have been asked of it
 *
 * A refused UDP send is EPERM for its caller; a refused TCP packet is lost, and user space destroys the sockets that a change of policy ends.
 */
#ifndef NC_BPF_PACKET_HOOKS_H
#define NC_BPF_PACKET_HOOKS_H

#include "backstop.h"
#include "socket_hooks.h"

static __always_inline void nc_refuse_packet(struct __sk_buff *skb, const struct nc_slot *slot, const struct nc_label *label,
					     const struct nc_packet *packet, int hook, const struct nc_verdict *verdict)
{
	struct nc_flow flow = {};
	struct nc_sighting sighting = {};

	/* The far end stands in the event, whichever way the packet went. */
	flow.destination = hook == NC_HOOK_EGRESS ? packet->destination : packet->source;
	flow.port_be = hook == NC_HOOK_EGRESS ? packet->destination_port_be : packet->source_port_be;
	flow.protocol = packet->protocol;
	sighting.slot_index = label->slot;
	sighting.hook = hook;
	sighting.family = packet->family;
	sighting.socket_cookie = bpf_get_socket_cookie(skb);
	sighting.label = label;
	nc_note_plain(slot, &flow, verdict, &sighting);
}

SEC("cgroup_skb/egress")
int egress(struct __sk_buff *skb)
{
	struct nc_packet packet = {};
	struct nc_verdict verdict = {};
	struct nc_flow far = {};
	struct bpf_sock *socket = skb->sk;
	struct nc_label *label = 0;
	struct nc_slot *slot = 0;
	int plain = nc_packet_read(skb, &packet);

	if (socket)
		socket = bpf_sk_fullsock(socket);
	if (socket)
		label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (!label)
		return !NC_CHECK(LABEL) || nc_packet_is_housekeeping(skb, &packet) ? NC_PASS : NC_REFUSE;
	slot = nc_slot_at(label->slot);
	if (!slot || (NC_CHECK(LABEL) && (!slot->generation || slot->generation != label->generation)))
		return NC_REFUSE;
	far.destination = packet.destination;
	far.port_be = packet.destination_port_be;
	far.protocol = packet.protocol;
	far.home_netns = !!(label->flags & NC_LABEL_HOME_NETNS);
	if ((!plain || packet.hop_limit < NC_HOP_LIMIT_LEAST) && NC_CHECK(EGRESS_FORM))
		nc_verdict_set(&verdict, NC_DENY, NC_REASON_PACKET_MALFORMED);
	else if (nc_decide_packet(slot, label, &far, skb->ifindex == NC_LOOPBACK_IFINDEX, &verdict) ||
		 (!NC_CHECK(EGRESS_DESTINATION) && verdict.reason != NC_REASON_LOOPBACK_DEVICE))
		return NC_PASS;
	nc_refuse_packet(skb, slot, label, &packet, NC_HOOK_EGRESS, &verdict);
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
