/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * address_hooks.h - connect and sendmsg decide; recvmsg and getpeername keep the redirect to the resolver out of sight
 *
 *   connect4/6   TCP and UDP connect(), TCP Fast Open and io_uring included: the verdict, and the admission into the label
 *   sendmsg4/6   every unconnected UDP send, and v4-mapped ones through sendmsg4: the verdict, nothing cached. And each with control data: no device and no
 *                mark of the sender's choice
 *   recvmsg4/6   a reply of the resolver is shown as coming from the server that was asked
 *   getpeername4/6  likewise
 *
 * Not seen here: send() on a connected UDP socket, and what netfilter or another program rewrites afterwards. packet_hooks.h sees those.
 * The family of the address decides, never user_family: it may be 0. connect on UDP runs under the socket's lock, so the label is written by one at
 * a time; a reader on the packet path takes the admission only while its flag stands, which is lowered during a change.
 */
#ifndef NC_BPF_ADDRESS_HOOKS_H
#define NC_BPF_ADDRESS_HOOKS_H

#include "emit.h"
#include "socket.h"

#define NC_PASS 1
#define NC_REFUSE 0 /* the kernel turns it into EPERM */

#define NC_LOOPBACK4 NC_BE32(0x7f000001)

/* As an event's `detail` has an option: its level, and its number. */
#define NC_OPTION_PKTINFO 8
#define NC_OPTION_PKTINFO6 (41u << 16 | 50)
#define NC_OPTION_MARK (1u << 16 | 36)

static __always_inline void nc_flow_from_call(struct nc_flow *flow, struct bpf_sock_addr *ctx, int family)
{
	if (family == 4) {
		nc_address_map4(&flow->destination, ctx->user_ip4);
	} else {
		flow->destination.words_be[0] = ctx->user_ip6[0];
		flow->destination.words_be[1] = ctx->user_ip6[1];
		flow->destination.words_be[2] = ctx->user_ip6[2];
		flow->destination.words_be[3] = ctx->user_ip6[3];
	}
	flow->port_be = (__be16)ctx->user_port;
	flow->protocol = (__u8)(ctx->protocol > 255 ? 0 : ctx->protocol);
}

/* Whose is the socket at an endpoint of the loopback? Only user space can set a mark. */
enum nc_mark_owner {
	NC_MARK_NOBODY,	 /* no socket is there */
	NC_MARK_NONE,	 /* one that carries no mark, or that of the instance's own canary */
	NC_MARK_OWN,	 /* the resolver of this very authority */
	NC_MARK_FOREIGN, /* a resolver of another authority or instance, or its canary's listener */
};

/* Fills the tuple's receiving end, which alone matters: what waits there is connected to nobody. */
static __always_inline __u32 nc_endpoint_fill(struct bpf_sock_tuple *tuple, const union nc_address *address, __be16 port_be)
{
	if (address->words_be[2] == NC_BE32(0xffff)) {
		tuple->ipv4.daddr = tuple->ipv4.saddr = address->words_be[3];
		tuple->ipv4.dport = port_be;
		return sizeof(tuple->ipv4);
	}
	tuple->ipv6.daddr[3] = tuple->ipv6.saddr[3] = address->words_be[3];
	tuple->ipv6.dport = port_be;
	return sizeof(tuple->ipv6);
}

static __always_inline int nc_mark_owner(struct bpf_sock *found, const struct nc_slot *slot)
{
	struct nc_resolver_mark *mark = bpf_sk_storage_get(&resolvers, found, 0, 0);

	if (!mark)
		return NC_MARK_NONE;
	if (mark->generation != slot->generation)
		return NC_MARK_FOREIGN;
	if (mark->authority == slot->authority)
		return NC_MARK_OWN;
	return mark->authority ? NC_MARK_FOREIGN : NC_MARK_NONE; /* its own canary must meet the verdict alone: that is what it is to try */
}

/* `address` lies in 127.0.0.0/8 or is ::1. */
static __always_inline int nc_mark_at(void *ctx, const struct nc_slot *slot, const union nc_address *address, __be16 port_be, __u8 protocol)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *found;
	int owner;

	/* the sizes are constants where the helper is called: the verifier asks for that */
	if (nc_endpoint_fill(&tuple, address, port_be) == sizeof(tuple.ipv4))
		found = protocol == NC_PROTO_UDP ? bpf_sk_lookup_udp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0)
						 : bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	else
		found = protocol == NC_PROTO_UDP ? bpf_sk_lookup_udp(ctx, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0)
						 : bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	if (!found)
		return NC_MARK_NOBODY;
	owner = nc_mark_owner(found, slot);
	bpf_sk_release(found);
	return owner;
}

/*
 * A call that the verdict sends to the loopback: a redirect goes to the resolver's own socket and to no other at its endpoint, and open loopback, which may be
 * that of several instances, ends where another one's resolver or canary listens.
 */
static __always_inline void nc_judge_endpoint(struct bpf_sock_addr *ctx, const struct nc_slot *slot, const struct nc_flow *flow, int ipv4,
					      struct nc_verdict *verdict)
{
	union nc_address address = flow->destination;
	__be16 port_be = flow->port_be;
	int redirect = verdict->decision == NC_REDIRECT, owner = NC_MARK_NOBODY;

	if (redirect) {
		address.halves[0] = 0;
		address.words_be[2] = ipv4 ? NC_BE32(0xffff) : 0;
		address.words_be[3] = ipv4 ? NC_LOOPBACK4 : NC_BE32(1);
		port_be = slot->resolver_port_be;
	} else if (verdict->decision != NC_ALLOW || !nc_address_loopback(&address)) {
		return;
	}
	if (port_be)
		owner = nc_mark_at(ctx, slot, &address, port_be, flow->protocol);
	if (redirect && owner != NC_MARK_OWN && (NC_CHECK(RESOLVER_MARK) || owner == NC_MARK_NOBODY))
		nc_verdict_set(verdict, NC_DENY, NC_REASON_RESOLVER_ABSENT);
	if (!redirect && owner == NC_MARK_FOREIGN)
		nc_verdict_set(verdict, NC_DENY, NC_REASON_HOST_FLOOR);
}

static __always_inline void nc_label_admit(struct nc_label *label, const struct nc_slot *slot, const struct nc_flow *flow,
					   const struct nc_verdict *verdict, __u8 flag)
{
	label->flags &= NC_LABEL_HOME_NETNS | NC_LABEL_WATCHED;
	barrier();
	label->admitted = flow->destination;
	label->admitted_port_be = flow->port_be;
	label->admitted_protocol = flow->protocol;
	label->revision = flow->revision;
	label->name_id = verdict->name_id;
	label->policy_flags = verdict->policy_flags;
	barrier();
	label->flags |= NC_LABEL_ADMITTED | flag;
}

static __always_inline void nc_redirect(struct bpf_sock_addr *ctx, const struct nc_slot *slot, int family)
{
	if (family == 4) {
		ctx->user_ip4 = NC_LOOPBACK4;
	} else {
		ctx->user_ip6[0] = 0;
		ctx->user_ip6[1] = 0;
		ctx->user_ip6[2] = 0;
		ctx->user_ip6[3] = NC_BE32(1);
	}
	ctx->user_port = slot->resolver_port_be;
}

/* A v4-mapped destination goes to the resolver's IPv4 endpoint: an AF_INET6 socket cannot change from mapped to ::1 half way. */
static __always_inline void nc_redirect_mapped(struct bpf_sock_addr *ctx, const struct nc_slot *slot)
{
	ctx->user_ip6[0] = 0;
	ctx->user_ip6[1] = 0;
	ctx->user_ip6[2] = NC_BE32(0xffff);
	ctx->user_ip6[3] = NC_LOOPBACK4;
	ctx->user_port = slot->resolver_port_be;
}

/*
 * The way that control data asks for, beside the address: a device (IP_PKTINFO, IPV6_PKTINFO) or a mark (SO_MARK). The number of the option; 0: none. On a
 * link without a route there the kernel takes every address for a neighbour's, so that whoever answers on that link would be the listed address: what
 * SO_BINDTODEVICE is refused for. The program is shown the source address that was asked for, and in the kernel the rest stands beside it. An address of one
 * link needs a device, loopback is the backstop's to judge, and what the socket itself has is no choice of this call's.
 */
static __always_inline __u32 nc_way_asked(struct bpf_sock_addr *ctx, const struct bpf_sock *socket, int family, const union nc_address *to)
{
	const struct bpf_sock_addr_kern *call = (const void *)ctx;
	const struct ipcm_cookie *ipv4;
	const struct flowi6 *ipv6;
	const char *source = 0;
	__u32 device = 0, mark = 0;
	long unread;

	if (!nc_reads_kernel || !bpf_core_field_exists(call->t_ctx))
		return 0;
	unread = bpf_core_read(&source, sizeof(source), &call->t_ctx);
	if (family == 4) {
		ipv4 = (const void *)(source - bpf_core_field_offset(struct ipcm_cookie, addr));
		unread |= bpf_core_read(&device, sizeof(device), &ipv4->oif) | bpf_core_read(&mark, sizeof(mark), &ipv4->sockc.mark);
	} else {
		ipv6 = (const void *)(source - bpf_core_field_offset(struct flowi6, saddr));
		unread |= bpf_core_read(&device, sizeof(device), &ipv6->__fl_common.flowic_oif) |
			  bpf_core_read(&mark, sizeof(mark), &ipv6->__fl_common.flowic_mark);
	}
	if (mark != socket->mark)
		return NC_OPTION_MARK;
	if (!unread && (!device || device == NC_LOOPBACK_IFINDEX || device == socket->bound_dev_if || nc_address_of_link(to)))
		return 0;
	return family == 4 ? NC_OPTION_PKTINFO : NC_OPTION_PKTINFO6;
}

/* connect4, connect6, sendmsg4, sendmsg6 are this. */
static __always_inline int nc_decide_call(struct bpf_sock_addr *ctx, int family, int hook)
{
	const int sends = hook == NC_HOOK_SENDMSG4 || hook == NC_HOOK_SENDMSG6;
	struct bpf_sock *socket = ctx->sk;
	struct nc_flow flow = {};
	struct nc_verdict verdict = {};
	struct nc_sighting sighting = {};
	struct nc_label *label = 0;
	struct nc_slot *slot = 0;
	int ipv4 = family == 4;

	nc_flow_from_call(&flow, ctx, family);
	if (socket)
		label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (label) {
		slot = nc_slot_at(label->slot);
		flow.home_netns = !!(label->flags & NC_LABEL_HOME_NETNS);
		sighting.slot_index = label->slot;
	} else if (!NC_CHECK(LABEL)) {
		return NC_PASS;
	}
	if (nc_decide_socket(label, slot, slot && nc_current_inside(slot), flow.protocol, &verdict)) {
		if (!label || !slot)
			return NC_REFUSE;
		if (sends && NC_CHECK(OPTION))
			sighting.detail = nc_way_asked(ctx, socket, family, &flow.destination);
		if (sighting.detail)
			nc_verdict_set(&verdict, NC_DENY, NC_REASON_OPTION_REFUSED);
		/* send() with control data on a connected socket: the kernel shows an all-zero address. The backstop sees where it really goes. */
		else if (sends && !flow.port_be && !flow.destination.halves[0] &&
			 (ipv4 ? !flow.destination.words_be[3] : !flow.destination.halves[1]))
			return NC_PASS;
		else
			nc_decide_destination(slot, &flow, &verdict);
	}
	/* Nobody to count it for: whoever has the slot of an instance that has ended has nothing to do with its sockets. */
	if (!slot || (NC_CHECK(LABEL) && slot->generation != label->generation))
		return NC_REFUSE;
	if (family == 6)
		ipv4 = nc_address_is_ipv4(&flow.destination);
	nc_judge_endpoint(ctx, slot, &flow, ipv4, &verdict);

	sighting.hook = hook;
	sighting.family = family;
	if (nc_count_new(slot, &flow, &verdict, &sighting)) {
		sighting.socket_cookie = bpf_get_socket_cookie(ctx);
		nc_tell_task(slot, &flow, &verdict, &sighting);
	}

	if (verdict.decision == NC_ALLOW) {
		if (!sends && label)
			nc_label_admit(label, slot, &flow, &verdict, 0);
		return NC_PASS;
	}
	if (verdict.decision != NC_REDIRECT || !label)
		return NC_REFUSE;
	nc_label_admit(label, slot, &flow, &verdict, NC_LABEL_RESOLVER);
	if (family == 6 && ipv4)
		nc_redirect_mapped(ctx, slot);
	else
		nc_redirect(ctx, slot, family);
	return NC_PASS;
}

SEC("cgroup/connect4")
int connect4(struct bpf_sock_addr *ctx)
{
	return nc_decide_call(ctx, 4, NC_HOOK_CONNECT4);
}

SEC("cgroup/connect6")
int connect6(struct bpf_sock_addr *ctx)
{
	return nc_decide_call(ctx, 6, NC_HOOK_CONNECT6);
}

SEC("cgroup/sendmsg4")
int sendmsg4(struct bpf_sock_addr *ctx)
{
	return nc_decide_call(ctx, 4, NC_HOOK_SENDMSG4);
}

SEC("cgroup/sendmsg6")
int sendmsg6(struct bpf_sock_addr *ctx)
{
	return nc_decide_call(ctx, 6, NC_HOOK_SENDMSG6);
}

/* The peer is the resolver's endpoint and the socket was redirected: show the server that was asked. These hooks cannot refuse. */
static __always_inline int nc_show_asked(struct bpf_sock_addr *ctx, int family)
{
	struct bpf_sock *socket = ctx->sk;
	struct nc_flow peer = {};
	struct nc_label *label;
	struct nc_slot *slot;

	if (!socket)
		return NC_PASS;
	label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (!label || !(label->flags & NC_LABEL_RESOLVER))
		return NC_PASS;
	slot = nc_slot_at(label->slot);
	nc_flow_from_call(&peer, ctx, family);
	if (!slot || slot->generation != label->generation || peer.port_be != slot->resolver_port_be || !nc_address_loopback(&peer.destination))
		return NC_PASS;
	if (family == 4) {
		ctx->user_ip4 = label->admitted.words_be[3];
	} else {
		ctx->user_ip6[0] = label->admitted.words_be[0];
		ctx->user_ip6[1] = label->admitted.words_be[1];
		ctx->user_ip6[2] = label->admitted.words_be[2];
		ctx->user_ip6[3] = label->admitted.words_be[3];
	}
	ctx->user_port = label->admitted_port_be;
	return NC_PASS;
}

SEC("cgroup/recvmsg4")
int recvmsg4(struct bpf_sock_addr *ctx)
{
	return nc_show_asked(ctx, 4);
}

SEC("cgroup/recvmsg6")
int recvmsg6(struct bpf_sock_addr *ctx)
{
	return nc_show_asked(ctx, 6);
}

SEC("cgroup/getpeername4")
int getpeername4(struct bpf_sock_addr *ctx)
{
	return nc_show_asked(ctx, 4);
}

SEC("cgroup/getpeername6")
int getpeername6(struct bpf_sock_addr *ctx)
{
	return nc_show_asked(ctx, 6);
}

#endif
