/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet_hooks.h - the backstop: every packet of a labelled socket, leaving or arriving
 *
 * It catches what never asked an address hook (send() on a connected UDP socket, listen() without bind, kernel-made packets) and what changed after
 * the verdict (netfilter, another program's rewrite, routing headers, a policy that was tightened). "Current" is anybody here, and the network
 * namespace is not to be had before 6.18, so it uses what the label recorded.
 *
 *   egress   form -> loopback device -> equal to the label's admission, of this revision -> judged again
 *   ingress  from whom something was asked for: the same questions about the source
 *
 * TCP needs an admission: a connect that was allowed. UDP that no connect admitted is looked up, each packet for itself. A refused UDP send is EPERM for
 * its caller; a refused TCP packet is lost, and user space destroys the sockets that a change of policy ends.
 */
#ifndef NC_BPF_PACKET_HOOKS_H
#define NC_BPF_PACKET_HOOKS_H

#include "packet.h"
#include "socket_hooks.h"

static __always_inline int nc_note_packet(struct __sk_buff *skb, const struct nc_slot *slot, const struct nc_label *label,
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
	return nc_note(slot, &flow, verdict, &sighting);
}

/* Through the loopback device: the resolver's endpoint for a redirected socket, open loopback, and a plane literal that is the host's own address. */
static __always_inline int nc_loopback_open(const struct nc_slot *slot, const struct nc_label *label, const struct nc_flow *far)
{
	int loopback = nc_address_loopback(&far->destination);

	if ((label->flags & NC_LABEL_RESOLVER) && slot->resolver_port_be && far->port_be == slot->resolver_port_be && loopback)
		return 1;
	if ((slot->flags & NC_SLOT_LOOPBACK_OPEN) && far->home_netns && loopback && slot->mode != NC_MODE_NONE)
		return 1;
	if (slot->authority == NC_AUTHORITY_PLANE && !loopback) {
		const struct nc_policy_value *literal = nc_find_literal(slot, far);

		return literal && (literal->flags & NC_POLICY_NON_PUBLIC);
	}
	return 0;
}

/* Is `far` what the label's socket was admitted for, under the policy of this moment? Fills the verdict when it is not. */
static __always_inline int nc_admitted(const struct nc_slot *slot, struct nc_label *label, const struct nc_flow *far, struct nc_verdict *verdict)
{
	__u32 flags = 0;

	if (!(label->flags & NC_LABEL_ADMITTED) || (label->flags & NC_LABEL_RESOLVER)) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_UNADMITTED);
		return 0;
	}
	if (NC_CHECK(EGRESS_DESTINATION) && (!nc_address_equal(&far->destination, &label->admitted) || far->port_be != label->admitted_port_be ||
					     far->protocol != label->admitted_protocol)) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_DESTINATION);
		return 0;
	}
	if (!NC_CHECK(EGRESS_REVISION) || label->revision == slot->revision)
		return 1;
	if (nc_still_listed(slot, far, label->name_id, &flags)) {
		label->policy_flags = flags;
		label->revision = slot->revision;
		return 1;
	}
	nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_UNADMITTED);
	return 0;
}

/* May this packet pass, between the label's socket and `far`? Fills the verdict when not. */
static __always_inline int nc_decide_packet(const struct nc_slot *slot, struct nc_label *label, const struct nc_flow *far, int on_loopback,
					    struct nc_verdict *verdict)
{
	if (NC_CHECK(EGRESS_LOOPBACK) && on_loopback) {
		if (nc_loopback_open(slot, label, far))
			return 1;
		nc_verdict_set(verdict, NC_DENY, NC_REASON_LOOPBACK_DEVICE);
		return 0;
	}
	if (nc_admitted(slot, label, far, verdict))
		return 1;
	if (far->protocol != NC_PROTO_UDP)
		return 0;
	nc_decide_destination(slot, far, verdict);
	if (verdict->decision == NC_REDIRECT) /* a packet cannot be redirected any more */
		nc_verdict_set(verdict, NC_DENY, NC_REASON_RESOLVER_ABSENT);
	return verdict->decision == NC_ALLOW;
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
		return nc_packet_is_housekeeping(skb, &packet) ? NC_PASS : NC_REFUSE;
	slot = nc_slot_at(label->slot);
	if (!slot || (NC_CHECK(LABEL) && (!slot->generation || slot->generation != label->generation)))
		return NC_REFUSE;
	far.destination = packet.destination;
	far.port_be = packet.destination_port_be;
	far.protocol = packet.protocol;
	far.home_netns = !!(label->flags & NC_LABEL_HOME_NETNS);
	if (!plain && NC_CHECK(EGRESS_FORM))
		nc_verdict_set(&verdict, NC_DENY, NC_REASON_PACKET_MALFORMED);
	else if (nc_decide_packet(slot, label, &far, skb->ifindex == NC_LOOPBACK_IFINDEX, &verdict))
		return NC_PASS;
	nc_note_packet(skb, slot, label, &packet, NC_HOOK_EGRESS, &verdict);
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
		return NC_REFUSE;
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
	nc_note_packet(skb, slot, label, &packet, NC_HOOK_INGRESS, &verdict);
	return NC_REFUSE;
}

#endif
