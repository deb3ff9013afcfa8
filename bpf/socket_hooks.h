/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * socket_hooks.h - a socket is born, bound, and given options
 *
 *   sock_create  labels TCP and UDP sockets of the families INET and INET6, refuses every other protocol there: UDP-Lite, ICMP, SCTP, DCCP, MPTCP
 *                and raw sockets have packets that no address hook sees
 *   bind4/6      a fixed local port only in a private network namespace with open loopback; the resolver's port never. No address of one link: with it
 *                the kernel binds the socket to the device that was named beside it, also when nobody has that address, and for IPv4 too
 *   setsockopt   an allowlist for each level: what is not named could change where packets go after the verdict
 *
 * Not seen here: other families (seccomp, LSM), sockets made in another cgroup (guard.h), listen() without bind (packet_hooks.h).
 */
#ifndef NC_BPF_SOCKET_HOOKS_H
#define NC_BPF_SOCKET_HOOKS_H

#include "address_hooks.h"

#define NC_SOCK_STREAM 1
#define NC_SOCK_DGRAM 2

static __always_inline int nc_protocol_known(__u32 type, __u32 protocol)
{
	return (type == NC_SOCK_STREAM && protocol == NC_PROTO_TCP) || (type == NC_SOCK_DGRAM && protocol == NC_PROTO_UDP);
}

/* What sock_create, bind, setsockopt and the device program refuse has no destination; the event says what it was in `detail`. */
static __always_inline int nc_refuse_socket(const struct nc_slot *slot, __u32 slot_index, __u8 reason, int hook, __u8 protocol, __u32 detail)
{
	struct nc_flow flow = {};
	struct nc_verdict verdict = {};
	struct nc_sighting sighting = {};

	if (!slot)
		return NC_REFUSE;
	flow.protocol = protocol;
	/* `seen` tells first sights apart by destination: the detail stands in its place. */
	flow.destination.words_be[0] = detail;
	nc_verdict_set(&verdict, NC_DENY, reason);
	sighting.slot_index = slot_index;
	sighting.hook = hook;
	sighting.detail = detail;
	if (hook == NC_HOOK_SETSOCKOPT || (hook == NC_HOOK_DEVICE && !nc_device_sees_task))
		nc_note_plain(slot, &flow, &verdict, &sighting);
	else
		nc_note_task(slot, &flow, &verdict, &sighting);
	return NC_REFUSE;
}

SEC("cgroup/sock_create")
int sock_create(struct bpf_sock *ctx)
{
	struct nc_label fresh = {};
	__u32 slot_index = 0;
	struct nc_slot *slot = nc_current_slot(&slot_index);
	__u32 protocol = ctx->protocol;
	struct nc_label *label;

	if (!slot || !slot->generation) /* a cgroup that is not sealed yet, or no longer */
		return NC_CHECK(LABEL) ? NC_REFUSE : NC_PASS;
	if (NC_CHECK(PROTOCOL) && !nc_protocol_known(ctx->type, protocol))
		return nc_refuse_socket(slot, slot_index, NC_REASON_PROTOCOL_REFUSED, NC_HOOK_SOCK_CREATE, (__u8)protocol,
					ctx->family << 24 | (ctx->type & 0xff) << 16 | (protocol & 0xffff));
	fresh.generation = slot->generation;
	fresh.slot = slot_index;
	if (slot->netns_cookie && bpf_get_netns_cookie(ctx) == slot->netns_cookie)
		fresh.flags = NC_LABEL_HOME_NETNS;
	label = bpf_sk_storage_get(&labels, ctx, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
	return label ? NC_PASS : nc_refuse_socket(slot, slot_index, NC_REASON_INTERNAL_ERROR, NC_HOOK_SOCK_CREATE, (__u8)protocol, 0);
}

static __always_inline int nc_decide_bind(struct bpf_sock_addr *ctx, int family, int hook)
{
	struct bpf_sock *socket = ctx->sk;
	struct nc_label *label = 0;
	struct nc_slot *slot = 0;
	struct nc_flow flow = {};

	if (socket)
		label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (label)
		slot = nc_slot_at(label->slot);
	if (!label || !slot || slot->generation != label->generation)
		return NC_CHECK(LABEL) ? NC_REFUSE : NC_PASS;
	if (!NC_CHECK(BIND))
		return NC_PASS;
	nc_flow_from_call(&flow, ctx, family);
	if (NC_CHECK(AUTHORITY) && !nc_current_inside(slot))
		return nc_refuse_socket(slot, label->slot, NC_REASON_AUTHORITY_MISMATCH, hook, flow.protocol, 0);
	if (nc_address_of_link(&flow.destination))
		return nc_refuse_socket(slot, label->slot, NC_REASON_BIND_REFUSED, hook, flow.protocol, NC_BE16(flow.port_be));
	if (!flow.port_be)
		return NC_PASS;
	if ((slot->flags & NC_SLOT_LOOPBACK_OPEN) && (label->flags & NC_LABEL_HOME_NETNS) && flow.port_be != slot->resolver_port_be)
		return NC_PASS;
	return nc_refuse_socket(slot, label->slot, NC_REASON_BIND_REFUSED, hook, flow.protocol, NC_BE16(flow.port_be));
}

SEC("cgroup/bind4")
int bind4(struct bpf_sock_addr *ctx)
{
	return nc_decide_bind(ctx, 4, NC_HOOK_BIND4);
}

SEC("cgroup/bind6")
int bind6(struct bpf_sock_addr *ctx)
{
	return nc_decide_bind(ctx, 6, NC_HOOK_BIND6);
}

/*
 * The options that real clients set and that cannot move a packet; the numbers are the kernel's user ABI (asm-generic/socket.h, linux/tcp.h, linux/in.h,
 * linux/in6.h, linux/udp.h). What is left out on purpose, among others: SO_BINDTODEVICE, SO_DONTROUTE, SO_MARK, SO_ZEROCOPY, SO_TXTIME, IP_OPTIONS,
 * IP_HDRINCL, IP_TTL, IP_FREEBIND and IP_TRANSPARENT (a source that is not ours), IP_UNICAST_IF and their IPv6 forms, routing and extension headers,
 * flow labels, every multicast join, IP_LOCAL_PORT_RANGE (a fixed port by another name), TCP_REPAIR, TCP_ULP, TCP_FASTOPEN (a listener's),
 * TCP_MD5SIG.
 */
static __always_inline int nc_option_socket_level(int option)
{
	switch (option) {
	case 2:	 /* SO_REUSEADDR */
	case 7:	 /* SO_SNDBUF */
	case 8:	 /* SO_RCVBUF */
	case 9:	 /* SO_KEEPALIVE */
	case 10: /* SO_OOBINLINE */
	case 12: /* SO_PRIORITY: 0 to 6 without capability, a queueing hint */
	case 13: /* SO_LINGER */
	case 15: /* SO_REUSEPORT */
	case 16: /* SO_PASSCRED */
	case 18: /* SO_RCVLOWAT */
	case 20: /* SO_RCVTIMEO */
	case 21: /* SO_SNDTIMEO */
	case 26: /* SO_ATTACH_FILTER: incoming only */
	case 27: /* SO_DETACH_FILTER */
	case 29: /* SO_TIMESTAMP */
	case 34: /* SO_PASSSEC */
	case 35: /* SO_TIMESTAMPNS */
	case 37: /* SO_TIMESTAMPING */
	case 40: /* SO_RXQ_OVFL */
	case 42: /* SO_PEEK_OFF */
	case 46: /* SO_BUSY_POLL */
	case 47: /* SO_MAX_PACING_RATE */
	case 49: /* SO_INCOMING_CPU */
	case 63: /* SO_TIMESTAMP_NEW */
	case 64: /* SO_TIMESTAMPNS_NEW */
	case 65: /* SO_TIMESTAMPING_NEW */
	case 66: /* SO_RCVTIMEO_NEW */
	case 67: /* SO_SNDTIMEO_NEW */
	case 76: /* SO_PASSPIDFD */
		return 1;
	}
	return 0;
}

static __always_inline int nc_option_ip_level(int option)
{
	switch (option) {
	case 1:	 /* IP_TOS */
	case 6:	 /* IP_RECVOPTS */
	case 8:	 /* IP_PKTINFO: receive */
	case 10: /* IP_MTU_DISCOVER */
	case 12: /* IP_RECVTTL */
	case 13: /* IP_RECVTOS */
	case 20: /* IP_RECVORIGDSTADDR */
	case 24: /* IP_BIND_ADDRESS_NO_PORT */
	case 25: /* IP_RECVFRAGSIZE */
	case 49: /* IP_MULTICAST_ALL: 0 refuses what others joined */
		return 1;
	}
	return 0;
}

static __always_inline int nc_option_ipv6_level(int option)
{
	switch (option) {
	case 1:	 /* IPV6_ADDRFORM */
	case 23: /* IPV6_MTU_DISCOVER */
	case 26: /* IPV6_V6ONLY */
	case 49: /* IPV6_RECVPKTINFO */
	case 51: /* IPV6_RECVHOPLIMIT */
	case 60: /* IPV6_RECVPATHMTU */
	case 62: /* IPV6_DONTFRAG */
	case 66: /* IPV6_RECVTCLASS */
	case 67: /* IPV6_TCLASS */
	case 70: /* IPV6_AUTOFLOWLABEL */
	case 72: /* IPV6_ADDR_PREFERENCES */
	case 74: /* IPV6_RECVORIGDSTADDR */
	case 77: /* IPV6_RECVFRAGSIZE */
		return 1;
	}
	return 0;
}

static __always_inline int nc_option_tcp_level(int option)
{
	switch (option) {
	case 1:	 /* TCP_NODELAY */
	case 2:	 /* TCP_MAXSEG */
	case 3:	 /* TCP_CORK */
	case 4:	 /* TCP_KEEPIDLE */
	case 5:	 /* TCP_KEEPINTVL */
	case 6:	 /* TCP_KEEPCNT */
	case 7:	 /* TCP_SYNCNT */
	case 8:	 /* TCP_LINGER2 */
	case 9:	 /* TCP_DEFER_ACCEPT */
	case 10: /* TCP_WINDOW_CLAMP */
	case 12: /* TCP_QUICKACK */
	case 13: /* TCP_CONGESTION */
	case 16: /* TCP_THIN_LINEAR_TIMEOUTS */
	case 17: /* TCP_THIN_DUPACK */
	case 18: /* TCP_USER_TIMEOUT */
	case 24: /* TCP_TIMESTAMP: refused by the kernel itself outside repair mode */
	case 25: /* TCP_NOTSENT_LOWAT */
	case 27: /* TCP_SAVE_SYN */
	case 30: /* TCP_FASTOPEN_CONNECT: the address is judged at connect(), the data by the backstop */
	case 36: /* TCP_INQ */
	case 37: /* TCP_TX_DELAY */
		return 1;
	}
	return 0;
}

static __always_inline int nc_option_udp_level(int option)
{
	return option == 1 || option == 103 || option == 104; /* UDP_CORK, UDP_SEGMENT, UDP_GRO */
}

/*
 * IP_RECVERR and its relatives bring what an ICMP error quotes to the application: any host that can name the connection's ports could send data in, past
 * the ingress program, which error handling does not pass. glibc's resolver gives up when they are refused, so they are answered with success and not set.
 * So is SO_BROADCAST: a workload sends to one host at a time, and Go's runtime sets it on every UDP socket and gives up when it is refused.
 */
static __always_inline int nc_option_swallowed(int level, int option)
{
	return (level == 1 && option == 6 /* SO_BROADCAST */) || (level == 0 && (option == 11 || option == 26)) ||
	       (level == 41 && (option == 25 || option == 31));
}

static __always_inline int nc_option_known(int level, int option)
{
	switch (level) {
	case 1: /* SOL_SOCKET */
		return nc_option_socket_level(option);
	case 0: /* IPPROTO_IP */
		return nc_option_ip_level(option);
	case 41: /* IPPROTO_IPV6 */
		return nc_option_ipv6_level(option);
	case NC_PROTO_TCP:
		return nc_option_tcp_level(option);
	case NC_PROTO_UDP:
		return nc_option_udp_level(option);
	case 270: /* SOL_NETLINK: route netlink is what a client asks its own interfaces with */
		return 1;
	}
	return 0;
}

SEC("cgroup/setsockopt")
int setsockopt(struct bpf_sockopt *ctx)
{
	struct bpf_sock *socket = ctx->sk;
	struct nc_label *label = 0;
	struct nc_slot *slot = 0;

	if (NC_CHECK(OPTION) && nc_option_swallowed(ctx->level, ctx->optname)) {
		ctx->optlen = -1; /* the kernel's own handler is passed over, and the call succeeds */
		return NC_PASS;
	}
	if (!NC_CHECK(OPTION) || nc_option_known(ctx->level, ctx->optname)) {
		ctx->optlen = 0; /* the caller's own bytes are used: none of ours, and no limit of a page */
		return NC_PASS;
	}
	if (socket)
		label = bpf_sk_storage_get(&labels, socket, 0, 0);
	if (label)
		slot = nc_slot_at(label->slot);
	/* not a socket of the internet families, or of an instance that has ended: refused, with nobody to count it for */
	if (!slot || slot->generation != label->generation)
		return NC_REFUSE;
	return nc_refuse_socket(slot, label->slot, NC_REASON_OPTION_REFUSED, NC_HOOK_SETSOCKOPT, 0,
				(__u32)ctx->level << 16 | ((__u32)ctx->optname & 0xffff));
}

#endif
