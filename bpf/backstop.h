/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * backstop.h - may this packet pass between a labelled socket and a far end? Pure, like verdict.h, and compiled for the host too
 *
 *   1  through the loopback device: only the resolver, open loopback, or a plane literal that is the host's own address   -> DENY loopback_device
 *   2  equal to the label's admission, and that of this revision or still listed                                          -> passes
 *   3  TCP without one: no connect was allowed                                  -> DENY packet_unadmitted, packet_destination
 *   4  UDP without one: the verdict's destination half, for this very packet
 */
#ifndef NC_BPF_BACKSTOP_H
#define NC_BPF_BACKSTOP_H

#include "packet.h"
#include "verdict.h"

/* Through the loopback device: the resolver's endpoint for a redirected socket, open loopback, and a plane literal that is the host's own address. */
static __always_inline int nc_loopback_open(const struct nc_slot *slot, const struct nc_label *label, struct nc_flow *far)
{
	int loopback = nc_address_loopback(&far->destination);

	nc_flow_begin(slot, far);
	if ((label->flags & NC_LABEL_RESOLVER) && slot->resolver_port_be && far->port_be == slot->resolver_port_be && loopback)
		return 1;
	if ((slot->flags & NC_SLOT_LOOPBACK_OPEN) && far->home_netns && loopback && far->mode != NC_MODE_NONE)
		return 1;
	if (slot->authority == NC_AUTHORITY_PLANE && !loopback) {
		const struct nc_policy_value *literal = nc_find_literal(slot, far);

		return literal && (literal->flags & NC_POLICY_NON_PUBLIC);
	}
	return 0;
}

/* Is `far` what the label's socket was admitted for, under the policy of this moment? Fills the verdict when it is not. */
static __always_inline int nc_admitted(const struct nc_slot *slot, struct nc_label *label, struct nc_flow *far, struct nc_verdict *verdict)
{
	__u32 flags = 0, name_id = label->name_id;

	if (!(label->flags & NC_LABEL_ADMITTED) || (label->flags & NC_LABEL_RESOLVER)) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_UNADMITTED);
		return 0;
	}
	if (!nc_address_equal(&far->destination, &label->admitted) || far->port_be != label->admitted_port_be ||
	    far->protocol != label->admitted_protocol) {
		nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_DESTINATION);
		return 0;
	}
	if (!NC_CHECK(EGRESS_REVISION) || label->revision == slot->revision)
		return 1;
	/* A connection that has shown its name on the wire stands by no other, unless that one opens the address for all. */
	if (nc_still_listed(slot, far, &name_id, &flags) &&
	    (name_id == label->name_id || !(label->flags & NC_LABEL_WIRE_OPEN) || !(flags & NC_POLICY_WIRE))) {
		label->name_id = name_id;
		label->policy_flags = flags;
		label->revision = far->revision;
		return 1;
	}
	nc_verdict_set(verdict, NC_DENY, NC_REASON_PACKET_UNADMITTED);
	return 0;
}

/* May this packet pass, between the label's socket and `far`? Fills the verdict when not. */
static __always_inline int nc_decide_packet(const struct nc_slot *slot, struct nc_label *label, struct nc_flow *far, int on_loopback,
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
	nc_decide_destination_how(slot, far, verdict, NC_ALONE);
	if (verdict->decision == NC_REDIRECT) /* a packet cannot be redirected any more */
		nc_verdict_set(verdict, NC_DENY, NC_REASON_RESOLVER_ABSENT);
	return verdict->decision == NC_ALLOW;
}

#endif
