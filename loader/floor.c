// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor.c - the host floor: what is refused in every mode
 *
 * Metadata services wherever they sit, the operator's additions, and the host's own addresses as rtnetlink tells them. The last change while instances
 * live, so a supervisor follows them: whatever the message said, the whole list is read again and the map made equal to it, which also mends what was
 * lost when messages came too fast (ENOBUFS). Loopback is left out: it is judged by its class, and a private namespace's own may be open.
 */
#include <string.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <bpf/bpf.h>
#include "address.h"
#include "inside.h"

#define OWN_MAX 4096
#define ASK_TRIES 64

/* The rows of bpf/address.h in the map's form. */
static const union nc_address metadata[] = {
#define ADDRESS(w0, w1, w2, w3, ...) {.words_be = {NC_SWAP32(w0), NC_SWAP32(w1), NC_SWAP32(w2), NC_SWAP32(w3)}},
	NC_METADATA_SERVICES(ADDRESS)
#undef ADDRESS
};

struct nc_floor {
	int map_fd;
	struct nl_sock *follow; /* joined to the address groups */
};

static bool is_loopback(const union nc_address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t one[16] = {[15] = 1};

	return !memcmp(address->bytes, one, 16) || (!memcmp(address->bytes, mapped, 12) && address->bytes[12] == 127);
}

/* An rtnetlink address into our form; false when it is of another family. */
static bool to_address(int family, struct nlattr *from, union nc_address *ret_address)
{
	union nc_address address = {.bytes = {[10] = 0xff, [11] = 0xff}};

	if (!from)
		return false;
	if (family == AF_INET && nla_len(from) == 4)
		memcpy(address.bytes + 12, nla_data(from), 4);
	else if (family == AF_INET6 && nla_len(from) == 16)
		memcpy(address.bytes, nla_data(from), 16);
	else
		return false;
	*ret_address = address;
	return true;
}

/* Addresses, as many as come. */
struct addresses {
	union nc_address *rows;
	size_t count, capacity;
};

static void addresses_free(struct addresses *addresses)
{
	free(addresses->rows);
}
#define ADDRESSES __attribute__((cleanup(addresses_free))) struct addresses

static int addresses_add(struct addresses *addresses, const union nc_address *address)
{
	if (addresses->count == OWN_MAX)
		return -E2BIG;
	if (addresses->count == addresses->capacity) {
		size_t capacity = addresses->capacity ? 4 * addresses->capacity : 16;
		union nc_address *rows = realloc(addresses->rows, capacity * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		addresses->rows = rows;
		addresses->capacity = capacity;
	}
	addresses->rows[addresses->count++] = *address;
	return 0;
}

struct dump {
	struct addresses *own;
	int status;
	bool finished;
};

/* One address of the answer: its own end of a point-to-point link is IFA_LOCAL, elsewhere IFA_ADDRESS says the same or is alone (rtnetlink(7)). */
static int on_address(struct nl_msg *message, void *context)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct ifaddrmsg *row = nlmsg_data(header);
	struct dump *dump = context;
	union nc_address address;
	struct nlattr *local;

	if (header->nlmsg_type != RTM_NEWADDR || !nlmsg_valid_hdr(header, sizeof(*row)))
		return NL_OK;
	local = nlmsg_find_attr(header, sizeof(*row), IFA_LOCAL) ?: nlmsg_find_attr(header, sizeof(*row), IFA_ADDRESS);
	if (to_address(row->ifa_family, local, &address) && !is_loopback(&address))
		dump->status = dump->status ?: addresses_add(dump->own, &address);
	return NL_OK;
}

static int on_finish(struct nl_msg *message, void *context)
{
	(void)message;
	((struct dump *)context)->finished = true;
	return NL_STOP;
}

/* One question and its answer. */
static int ask(struct nl_sock *sock, struct dump *dump)
{
	struct ifaddrmsg any = {.ifa_family = AF_UNSPEC};
	int r = nl_send_simple(sock, RTM_GETADDR, NLM_F_DUMP, &any, sizeof(any));

	dump->own->count = 0;
	dump->finished = false;
	while (r >= 0 && !dump->finished)
		r = nl_recvmsgs_default(sock);
	return r;
}

static int own_read(struct addresses *own, struct nc_error *reterr)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct dump dump = {.own = own};
	int r = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;

	if (r >= 0) {
		nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_address, &dump);
		nl_socket_modify_cb(sock, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, &dump);
		r = -NLE_DUMP_INTR;
	}
	for (int tries = 0; r == -NLE_DUMP_INTR && tries < ASK_TRIES; tries++) /* addresses came or went during the answer */
		r = ask(sock, &dump);
	nl_socket_free(sock);
	if (r < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "ask rtnetlink for the host's addresses: %s", nl_geterror(r));
	if (dump.status == -E2BIG)
		return nc_error_set(reterr, NC_E_POLICY_FULL, -E2BIG, "the host has more than %d addresses, and the floor must hold each", OWN_MAX);
	return dump.status < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, dump.status, "read the host's addresses") : 0;
}

static int floor_put(int map_fd, const union nc_address *address, uint32_t kind, struct nc_error *reterr)
{
	uint32_t found;
	int r;

	if (kind != NC_FLOOR_OPERATOR && !bpf_map_lookup_elem(map_fd, address, &found) && found != NC_FLOOR_HOST)
		return 0; /* a metadata or operator's address stays one: a plane literal may name a host address, not those */
	r = bpf_map_update_elem(map_fd, address, &kind, BPF_ANY);
	if (r == -E2BIG)
		return nc_error_set(reterr, NC_E_POLICY_FULL, r, "the map host_floor is full");
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "put an address on the floor") : 0;
}

struct stale {
	const struct addresses *own;
	struct addresses *gone;
};

static int stale_collect(void *context, const void *key, const void *value)
{
	struct stale *stale = context;
	union nc_address address;
	uint32_t kind;

	memcpy(&kind, value, sizeof(kind));
	memcpy(&address, key, sizeof(address));
	if (kind != NC_FLOOR_HOST)
		return 0;
	for (size_t i = 0; i < stale->own->count; i++) {
		if (!memcmp(&stale->own->rows[i], &address, sizeof(address)))
			return 0;
	}
	return addresses_add(stale->gone, &address) == -ENOMEM ? -ENOMEM : 0; /* what is too much for one step is found by the next */
}

/* Makes the map's host addresses equal to what the host has. New ones first, so that none is missing meanwhile. */
static int reconcile(int map_fd, struct nc_error *reterr)
{
	ADDRESSES own = {0};
	ADDRESSES gone = {0};
	struct stale stale = {.own = &own, .gone = &gone};
	int r = own_read(&own, reterr);

	for (size_t i = 0; i < own.count && r >= 0; i++)
		r = floor_put(map_fd, &own.rows[i], NC_FLOOR_HOST, reterr);
	r = r < 0 ? r : nc_map_walk(map_fd, sizeof(union nc_address), sizeof(uint32_t), stale_collect, &stale, reterr);
	for (size_t i = 0; i < gone.count && r >= 0; i++) {
		r = bpf_map_delete_elem(map_fd, &gone.rows[i]);
		r = r && r != -ENOENT ? nc_error_sys(reterr, NC_E_SYSTEM, r, "take an address off the floor") : 0;
	}
	return r;
}

/* ---- the operator's rows: a launch adds to them, and only who configures the host takes away ------------------------------------------------------ */

struct operators {
	const struct nc_host_options *options;
	struct addresses *gone;
};

static int operators_collect(void *context, const void *key, const void *value)
{
	struct operators *operators = context;
	union nc_address address;
	uint32_t kind;

	memcpy(&kind, value, sizeof(kind));
	memcpy(&address, key, sizeof(address));
	if (kind != NC_FLOOR_OPERATOR)
		return 0;
	for (size_t i = 0; i < operators->options->floor_count; i++) {
		if (!memcmp(&operators->options->floor[i], &address, sizeof(address)))
			return 0;
	}
	return addresses_add(operators->gone, &address);
}

static int operators_remove(struct nc_host *host, int map_fd, const struct nc_host_options *options, struct nc_error *reterr)
{
	ADDRESSES gone = {0};
	struct operators operators = {.options = options, .gone = &gone};
	int r = nc_map_walk(map_fd, sizeof(union nc_address), sizeof(uint32_t), operators_collect, &operators, reterr);

	if (r < 0 || !gone.count)
		return r;
	r = nc_host_idle(host, "an address on the floor that the configuration does not list", reterr);
	for (size_t i = 0; i < gone.count && r >= 0; i++) {
		r = bpf_map_delete_elem(map_fd, &gone.rows[i]);
		r = r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "take an address off the floor") : 0;
	}
	return r;
}

bool nc_floor_differs(struct nc_host *host, const struct nc_host_options *options)
{
	ADDRESSES gone = {0};
	struct operators operators = {.options = options, .gone = &gone};
	struct nc_error ignored;
	uint32_t kind;
	int map_fd;

	if (nc_host_map(host, NC_MAP_HOST_FLOOR, &map_fd, &ignored) < 0)
		return true;
	for (size_t i = 0; i < options->floor_count; i++) {
		if (bpf_map_lookup_elem(map_fd, &options->floor[i], &kind) || kind != NC_FLOOR_OPERATOR)
			return true;
	}
	if (!options->configure)
		return false;
	return nc_map_walk(map_fd, sizeof(union nc_address), sizeof(uint32_t), operators_collect, &operators, &ignored) < 0 || gone.count;
}

int nc_floor_fill(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr)
{
	int map_fd;
	int r = nc_host_map(host, NC_MAP_HOST_FLOOR, &map_fd, reterr);

	if (r >= 0 && options->configure)
		r = operators_remove(host, map_fd, options, reterr);
	for (size_t i = 0; i < sizeof(metadata) / sizeof(metadata[0]) && r >= 0; i++)
		r = floor_put(map_fd, &metadata[i], NC_FLOOR_METADATA, reterr);
	for (size_t i = 0; i < options->floor_count && r >= 0; i++)
		r = floor_put(map_fd, &options->floor[i], NC_FLOOR_OPERATOR, reterr);
	return r < 0 ? r : reconcile(map_fd, reterr);
}

static int ignore_message(struct nl_msg *message, void *context)
{
	(void)message;
	(void)context;
	return NL_OK;
}

int nc_floor_open(struct nc_host *host, struct nc_floor **ret_floor, struct nc_error *reterr)
{
	struct nc_floor *floor = calloc(1, sizeof(*floor));
	int r = floor ? nc_host_map(host, NC_MAP_HOST_FLOOR, &floor->map_fd, reterr)
		      : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "follow the host's addresses");

	if (r < 0) {
		free(floor);
		return r;
	}
	floor->follow = nl_socket_alloc();
	r = floor->follow ? 0 : -NLE_NOMEM;
	if (floor->follow) {
		nl_socket_disable_seq_check(floor->follow);
		nl_socket_modify_cb(floor->follow, NL_CB_VALID, NL_CB_CUSTOM, ignore_message, NULL);
	}
	r = r < 0 ? r : nl_connect(floor->follow, NETLINK_ROUTE);
	r = r < 0 ? r : nl_socket_add_memberships(floor->follow, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, 0);
	r = r < 0 ? r : nl_socket_set_nonblocking(floor->follow);
	if (r < 0)
		r = nc_error_set(reterr, NC_E_SYSTEM, -EIO, "follow the host's addresses by rtnetlink: %s", nl_geterror(r));
	else
		r = reconcile(floor->map_fd, reterr); /* what changed since `up` */
	if (r < 0) {
		nc_floor_close(floor);
		return r;
	}
	*ret_floor = floor;
	return 0;
}

int nc_floor_poll_fd(const struct nc_floor *floor)
{
	return nl_socket_get_fd(floor->follow);
}

int nc_floor_step(struct nc_floor *floor, struct nc_error *reterr)
{
	int r;

	/* bounded: a host whose addresses change without end is read again at the next step */
	for (int i = 0; i < 64; i++) {
		r = nl_recvmsgs_default(floor->follow);
		if (r == -NLE_AGAIN)
			break;
		if (r < 0 && r != -NLE_NOMEM && r != -NLE_INTR && r != -NLE_DUMP_INTR)
			return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "follow the host's addresses by rtnetlink: %s", nl_geterror(r));
	}
	return reconcile(floor->map_fd, reterr);
}

void nc_floor_close(struct nc_floor *floor)
{
	if (!floor)
		return;
	nl_socket_free(floor->follow);
	free(floor);
}
