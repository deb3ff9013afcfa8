// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor_read.c - what the kernel of a network namespace delivers to itself, as rtnetlink tells it
 *
 * The addresses of its interfaces, and every route of the types local, broadcast and anycast: a prefix with `local` in front is the host's as a whole, a
 * directed broadcast reaches every socket that is bound to no address, the first address of an IPv6 subnet is its routers' (RFC 4291, 2.6.1). The kernel
 * picks the types (NETLINK_GET_STRICT_CHK, 4.20), so that a full table of other routes is not copied. Loopback is left out: it is judged by its class, and
 * a private namespace's own may be open. Asking needs no privilege.
 */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include "inside.h"

#define OWN_MAX 16384
#define ASK_TRIES 64

#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK 12 /* linux/netlink.h */
#endif

static const uint8_t types[] = {RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST};

static bool is_loopback(const struct nc_own_row *row)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t one[16] = {[15] = 1};

	return (row->length == 128 && !memcmp(row->address.bytes, one, 16)) ||
	       (row->length >= 104 && !memcmp(row->address.bytes, mapped, 12) && row->address.bytes[12] == 127);
}

int nc_own_add(struct nc_own *own, const struct nc_own_row *row)
{
	if (own->count == own->capacity) {
		size_t capacity = own->capacity ? 4 * own->capacity : 64;
		struct nc_own_row *rows = realloc(own->rows, capacity * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		own->rows = rows;
		own->capacity = capacity;
	}
	own->rows[own->count++] = *row;
	return 0;
}

int nc_own_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nc_own_row));
}

void nc_own_free(struct nc_own *own)
{
	free(own->rows);
	*own = (struct nc_own){0};
}

struct dump {
	struct nc_own *own;
	int status;
	bool finished;
};

/* An rtnetlink address and the bits of it that count, of a prefix of its family. */
static void take(struct dump *dump, int family, struct nlattr *from, uint32_t bits)
{
	struct nc_own_row row = {.address.bytes = {[10] = 0xff, [11] = 0xff}, .length = bits + (family == AF_INET ? 96 : 0)};

	if (family == AF_INET6)
		memset(&row.address, 0, sizeof(row.address));
	if (from && nla_len(from) != (family == AF_INET ? 4 : 16))
		return;
	if (from)
		memcpy(row.address.bytes + (family == AF_INET ? 12 : 0), nla_data(from), (size_t)nla_len(from));
	if (is_loopback(&row))
		return;
	if (dump->own->count == OWN_MAX)
		dump->status = dump->status ?: -E2BIG;
	dump->status = dump->status ?: nc_own_add(dump->own, &row);
}

/* One address: its own end of a point-to-point link is IFA_LOCAL, elsewhere IFA_ADDRESS says the same or is alone (rtnetlink(7)). */
static void take_address(struct dump *dump, struct nlmsghdr *header)
{
	struct ifaddrmsg *row = nlmsg_data(header);
	struct nlattr *local = nlmsg_find_attr(header, sizeof(*row), IFA_LOCAL) ?: nlmsg_find_attr(header, sizeof(*row), IFA_ADDRESS);
	struct nlattr *broadcast = nlmsg_find_attr(header, sizeof(*row), IFA_BROADCAST);

	if ((row->ifa_family != AF_INET && row->ifa_family != AF_INET6) || !local)
		return;
	take(dump, row->ifa_family, local, row->ifa_family == AF_INET ? 32 : 128);
	if (broadcast)
		take(dump, row->ifa_family, broadcast, row->ifa_family == AF_INET ? 32 : 128);
}

/* One route. `local default` in a table of somebody's own is how a transparent proxy takes marked packets, and says nothing of the addresses. */
static void take_route(struct dump *dump, struct nlmsghdr *header)
{
	struct rtmsg *row = nlmsg_data(header);
	struct nlattr *table = nlmsg_find_attr(header, sizeof(*row), RTA_TABLE);
	uint32_t number = table ? nla_get_u32(table) : row->rtm_table;

	if ((row->rtm_family != AF_INET && row->rtm_family != AF_INET6) || !memchr(types, row->rtm_type, sizeof(types)) ||
	    row->rtm_flags & RTM_F_CLONED)
		return;
	if (!row->rtm_dst_len && number != RT_TABLE_LOCAL && number != RT_TABLE_MAIN && number != RT_TABLE_DEFAULT)
		return;
	take(dump, row->rtm_family, nlmsg_find_attr(header, sizeof(*row), RTA_DST), row->rtm_dst_len);
}

static int on_row(struct nl_msg *message, void *context)
{
	struct nlmsghdr *header = nlmsg_hdr(message);

	if (header->nlmsg_type == RTM_NEWADDR && nlmsg_valid_hdr(header, sizeof(struct ifaddrmsg)))
		take_address(context, header);
	else if (header->nlmsg_type == RTM_NEWROUTE && nlmsg_valid_hdr(header, sizeof(struct rtmsg)))
		take_route(context, header);
	return NL_OK;
}

static int on_finish(struct nl_msg *message, void *context)
{
	(void)message;
	((struct dump *)context)->finished = true;
	return NL_STOP;
}

/* One question and its answer; anew when something came or went during the answer, and then what was taken twice is one row in the end. */
static int ask(struct nl_sock *sock, struct dump *dump, int question, void *bytes, size_t size)
{
	int r = -NLE_DUMP_INTR;

	for (int tries = 0; r == -NLE_DUMP_INTR && tries < ASK_TRIES; tries++) {
		r = nl_send_simple(sock, question, NLM_F_DUMP, bytes, size);
		dump->finished = false;
		while (r >= 0 && !dump->finished)
			r = nl_recvmsgs_default(sock);
	}
	return r;
}

static int ask_all(struct nl_sock *sock, struct dump *dump)
{
	struct ifaddrmsg addresses = {.ifa_family = AF_UNSPEC};
	int on = 1, r;

	if (setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on)))
		return -NLE_OPNOTSUPP;
	r = ask(sock, dump, RTM_GETADDR, &addresses, sizeof(addresses));
	for (size_t i = 0; i < 2 * sizeof(types) && r >= 0; i++) {
		struct rtmsg routes = {.rtm_family = i & 1 ? AF_INET6 : AF_INET, .rtm_type = types[i / 2]};

		r = ask(sock, dump, RTM_GETROUTE, &routes, sizeof(routes));
		if (r == -NLE_AF_NOSUPPORT || r == -NLE_OPNOTSUPP) /* a kernel without IPv6 */
			r = 0;
	}
	return r;
}

int nc_netns_netlink(int netns_fd, struct nl_sock *sock, struct nc_error *reterr)
{
	NC_CLOSE int own_fd = -1;
	int r;

	if (netns_fd >= 0) {
		own_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		if (own_fd < 0)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the own network namespace");
		if (setns(netns_fd, CLONE_NEWNET))
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "enter the network namespace");
	}
	r = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;
	if (netns_fd >= 0)
		nc_netns_return(own_fd);
	return r < 0 ? nc_error_set(reterr, NC_E_SYSTEM, -EIO, "open rtnetlink: %s", nl_geterror(r)) : 0;
}

int nc_own_read(int netns_fd, struct nc_own *ret_own, struct nc_error *reterr)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nc_own own = {0};
	struct dump dump = {.own = &own};
	size_t kept = 0;
	int r = nc_netns_netlink(netns_fd, sock, reterr);

	if (r >= 0) {
		nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_row, &dump);
		nl_socket_modify_cb(sock, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, &dump);
		r = ask_all(sock, &dump);
		if (r < 0)
			r = nc_error_set(reterr, NC_E_SYSTEM, -EIO, "ask rtnetlink for the host's addresses: %s", nl_geterror(r));
	}
	nl_socket_free(sock);
	if (r >= 0 && dump.status == -E2BIG)
		r = nc_error_set(reterr, NC_E_POLICY_FULL, -E2BIG, "the host has more than %d addresses, and the floor must hold each", OWN_MAX);
	else if (r >= 0 && dump.status < 0)
		r = nc_error_sys(reterr, NC_E_SYSTEM, dump.status, "read the host's addresses");
	if (r < 0) {
		nc_own_free(&own);
		return r;
	}
	if (own.count)
		qsort(own.rows, own.count, sizeof(*own.rows), nc_own_compare);
	for (size_t i = 0; i < own.count; i++) {
		if (!kept || nc_own_compare(&own.rows[kept - 1], &own.rows[i]))
			own.rows[kept++] = own.rows[i];
	}
	own.count = kept;
	*ret_own = own;
	return 0;
}
