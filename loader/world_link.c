/* SPDX-License-Identifier: GPL-2.0-only */
/* world_link.c - veth pairs, addresses, neighbours and routes by libnl */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "world_link.h"

#define LOCAL_STEPS 5000 /* of 1 ms */

/* libnl's own numbers say less than the errno they stand for, so its sentence is the detail. */
static int failed(int nlerr, const char *what, const char *whom, struct nc_error *reterr)
{
	static const struct {
		int nlerr, status;
	} known[] = {{NLE_EXIST, -EEXIST}, {NLE_NODEV, -ENODEV}, {NLE_PERM, -EPERM}, {NLE_NOMEM, -ENOMEM}, {NLE_BUSY, -EBUSY}};
	int status = -EIO;

	nlerr = nlerr < 0 ? -nlerr : nlerr;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (known[i].nlerr == nlerr)
			status = known[i].status;
	}
	return nc_error_set(reterr, NC_E_WORLD_FAILED, status, "%s %s: %s", what, whom, nl_geterror(nlerr));
}

static int without_memory(struct nc_error *reterr)
{
	return nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "build a netlink request");
}

static bool mapped(const union nc_address *address)
{
	static const unsigned char prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return !memcmp(address->bytes, prefix, sizeof(prefix));
}

static struct nl_addr *nl_of(const union nc_address *address, int prefix_length)
{
	bool v4 = mapped(address);
	struct nl_addr *nl = nl_addr_build(v4 ? AF_INET : AF_INET6, (void *)(address->bytes + (v4 ? 12 : 0)), v4 ? 4 : 16);

	if (nl)
		nl_addr_set_prefixlen(nl, v4 ? prefix_length - 96 : prefix_length);
	return nl;
}

int nc_link_socket(struct nl_sock **ret_socket, struct nc_error *reterr)
{
	struct nl_sock *socket = nl_socket_alloc();
	int r;

	if (!socket)
		return without_memory(reterr);
	r = nl_connect(socket, NETLINK_ROUTE);
	if (r < 0) {
		nl_socket_free(socket);
		return failed(r, "open", "rtnetlink", reterr);
	}
	*ret_socket = socket;
	return 0;
}

int nc_link_pair(struct nl_sock *socket, const char *here, const char *there, int there_netns, struct nc_error *reterr)
{
	struct rtnl_link *link = rtnl_link_veth_alloc();
	struct rtnl_link *peer;
	int r;

	if (!link)
		return without_memory(reterr);
	peer = rtnl_link_veth_get_peer(link);
	rtnl_link_set_name(link, here);
	rtnl_link_set_name(peer, there);
	rtnl_link_set_ns_fd(peer, there_netns);
	r = rtnl_link_add(socket, link, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_put(peer);
	rtnl_link_put(link);
	return r < 0 ? failed(r, "make the link", here, reterr) : 0;
}

int nc_link_remove(struct nl_sock *socket, const char *name, struct nc_error *reterr)
{
	struct rtnl_link *link = rtnl_link_alloc();
	int r;

	if (!link)
		return without_memory(reterr);
	rtnl_link_set_name(link, name);
	r = rtnl_link_delete(socket, link);
	rtnl_link_put(link);
	return r < 0 ? failed(r, "remove the link", name, reterr) : 0;
}

int nc_link_up(struct nl_sock *socket, const char *name, int *ret_index, struct nc_error *reterr)
{
	struct rtnl_link *link = NULL, *change;
	int r = rtnl_link_get_kernel(socket, 0, name, &link);

	if (r < 0)
		return failed(r, "find the link", name, reterr);
	change = rtnl_link_alloc();
	if (!change) {
		rtnl_link_put(link);
		return without_memory(reterr);
	}
	rtnl_link_set_flags(change, IFF_UP);
	r = rtnl_link_change(socket, link, change, 0);
	if (r >= 0)
		*ret_index = rtnl_link_get_ifindex(link);
	rtnl_link_put(change);
	rtnl_link_put(link);
	return r < 0 ? failed(r, "set up the link", name, reterr) : 0;
}

static int note_type(struct nl_msg *message, void *type)
{
	*(unsigned char *)type = ((struct rtmsg *)nlmsg_data(nlmsg_hdr(message)))->rtm_type;
	return NL_OK;
}

/* Where would a packet to the address go? RTN_UNSPEC: nowhere. */
static int ask_type(struct nl_sock *socket, struct nl_addr *address, unsigned char *ret_type)
{
	struct rtmsg question = {.rtm_family = AF_INET6, .rtm_dst_len = 128};
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	int r = -NLE_NOMEM;

	*ret_type = RTN_UNSPEC;
	if (message && nlmsg_append(message, &question, sizeof(question), NLMSG_ALIGNTO) == 0 && nla_put_addr(message, RTA_DST, address) == 0) {
		nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, note_type, ret_type);
		r = nl_send_auto(socket, message);
		/* The answer, then the acknowledgement; or an error alone. */
		r = r < 0 ? r : nl_recvmsgs_default(socket);
		r = r < 0 || *ret_type == RTN_UNSPEC ? r : nl_wait_for_ack(socket);
		nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_DEFAULT, NULL, NULL);
	}
	nlmsg_free(message);
	return r;
}

/* The kernel acknowledges an IPv6 address at once and takes it into use in a worker of its own: what arrives before that is lost. */
static int wait_until_local(struct nl_sock *socket, struct nl_addr *address)
{
	unsigned char type;

	for (int i = 0; i < LOCAL_STEPS; i++) {
		int r = ask_type(socket, address, &type);

		if (type == RTN_LOCAL || r == -NLE_NOMEM)
			return r;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return -NLE_AGAIN;
}

int nc_link_address(struct nl_sock *socket, int index, const union nc_address *address, int prefix_length, struct nc_error *reterr)
{
	struct nl_addr *local = nl_of(address, prefix_length);
	struct rtnl_addr *request = rtnl_addr_alloc();
	char text[64] = "?";
	int r = -NLE_NOMEM;

	if (local && request) {
		nl_addr2str(local, text, sizeof(text));
		rtnl_addr_set_ifindex(request, index);
		rtnl_addr_set_local(request, local);
		if (!mapped(address))
			rtnl_addr_set_flags(request, IFA_F_NODAD);
		r = rtnl_addr_add(socket, request, 0);
		if (!r && !mapped(address))
			r = wait_until_local(socket, local);
	}
	nl_addr_put(local);
	rtnl_addr_put(request);
	return r < 0 && r != -NLE_EXIST ? failed(r, "add the address", text, reterr) : 0;
}

int nc_link_neighbour(struct nl_sock *socket, int index, const union nc_address *neighbour, struct nl_sock *theirs, const char *device,
		      struct nc_error *reterr)
{
	struct nl_addr *destination = nl_of(neighbour, 128);
	struct rtnl_neigh *request = rtnl_neigh_alloc();
	struct rtnl_link *link = NULL;
	int r = -NLE_NOMEM;

	if (destination && request)
		r = rtnl_link_get_kernel(theirs, 0, device, &link);
	if (r >= 0) {
		rtnl_neigh_set_ifindex(request, index);
		rtnl_neigh_set_dst(request, destination);
		rtnl_neigh_set_lladdr(request, rtnl_link_get_addr(link));
		rtnl_neigh_set_state(request, NUD_PERMANENT);
		r = rtnl_neigh_add(socket, request, NLM_F_CREATE);
	}
	rtnl_link_put(link);
	nl_addr_put(destination);
	rtnl_neigh_put(request);
	return r < 0 ? failed(r, "add the neighbour", device, reterr) : 0;
}

int nc_link_route(struct nl_sock *socket, int family, const union nc_address *address, int prefix_length, const union nc_address *gateway, int index,
		  struct nc_error *reterr)
{
	struct nl_addr *destination = address ? nl_of(address, prefix_length) : nl_addr_build(family == 4 ? AF_INET : AF_INET6, NULL, 0);
	struct nl_addr *by = gateway ? nl_of(gateway, 128) : NULL;
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	struct rtnl_route *route = rtnl_route_alloc();
	char text[64] = "?";
	int r = -NLE_NOMEM;

	if (destination && hop && route && (by || !gateway)) {
		nl_addr2str(destination, text, sizeof(text));
		rtnl_route_set_family(route, family == 4 ? AF_INET : AF_INET6);
		rtnl_route_set_scope(route, by ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
		rtnl_route_set_table(route, RT_TABLE_MAIN);
		rtnl_route_set_protocol(route, RTPROT_STATIC);
		rtnl_route_set_dst(route, destination);
		rtnl_route_nh_set_ifindex(hop, index);
		if (by)
			rtnl_route_nh_set_gateway(hop, by);
		rtnl_route_add_nexthop(route, hop);
		hop = NULL;
		r = rtnl_route_add(socket, route, NLM_F_CREATE | NLM_F_REPLACE);
	}
	if (hop)
		rtnl_route_nh_free(hop);
	nl_addr_put(destination);
	nl_addr_put(by);
	rtnl_route_put(route);
	return r < 0 ? failed(r, "add the route to", text, reterr) : 0;
}
