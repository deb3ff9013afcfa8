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
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <bpf/bpf.h>
#include "address.h"
#include "inside.h"

#define OWN_MAX 4096

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
static bool to_address(struct nl_addr *from, union nc_address *ret_address)
{
	union nc_address address = {.bytes = {[10] = 0xff, [11] = 0xff}};

	if (!from)
		return false;
	if (nl_addr_get_family(from) == AF_INET && nl_addr_get_len(from) == 4)
		memcpy(address.bytes + 12, nl_addr_get_binary_addr(from), 4);
	else if (nl_addr_get_family(from) == AF_INET6 && nl_addr_get_len(from) == 16)
		memcpy(address.bytes, nl_addr_get_binary_addr(from), 16);
	else
		return false;
	*ret_address = address;
	return true;
}

struct own {
	union nc_address addresses[OWN_MAX];
	size_t count;
	bool overflow;
};

static void own_add(struct nl_object *object, void *context)
{
	struct own *own = context;
	union nc_address address;

	if (!to_address(rtnl_addr_get_local((struct rtnl_addr *)object), &address) || is_loopback(&address))
		return;
	if (own->count == OWN_MAX)
		own->overflow = true;
	else
		own->addresses[own->count++] = address;
}

static int own_read(struct own *ret_own, struct nc_error *reterr)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_cache *cache = NULL;
	int r = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;

	ret_own->count = 0;
	ret_own->overflow = false;
	r = r < 0 ? r : rtnl_addr_alloc_cache(sock, &cache);
	if (r >= 0)
		nl_cache_foreach(cache, own_add, ret_own);
	nl_cache_free(cache);
	nl_socket_free(sock);
	if (r < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "ask rtnetlink for the host's addresses: %s", nl_geterror(r));
	if (ret_own->overflow)
		return nc_error_set(reterr, NC_E_POLICY_FULL, -E2BIG, "the host has more than %d addresses, and the floor must hold each", OWN_MAX);
	return 0;
}

static int floor_put(int map_fd, const union nc_address *address, uint32_t kind, struct nc_error *reterr)
{
	uint32_t found;
	int r;

	if (kind == NC_FLOOR_HOST && !bpf_map_lookup_elem(map_fd, address, &found) && found != NC_FLOOR_HOST)
		return 0; /* a metadata or operator's address stays one: a plane literal may name a host address, not those */
	r = bpf_map_update_elem(map_fd, address, &kind, BPF_ANY);
	if (r == -E2BIG)
		return nc_error_set(reterr, NC_E_POLICY_FULL, r, "the map host_floor is full");
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "put an address on the floor") : 0;
}

struct stale {
	const struct own *own;
	union nc_address addresses[OWN_MAX];
	size_t count;
};

static int stale_collect(void *context, const void *key, const void *value)
{
	struct stale *stale = context;
	uint32_t kind;

	memcpy(&kind, value, sizeof(kind));
	if (kind != NC_FLOOR_HOST)
		return 0;
	for (size_t i = 0; i < stale->own->count; i++) {
		if (!memcmp(&stale->own->addresses[i], key, sizeof(union nc_address)))
			return 0;
	}
	if (stale->count < OWN_MAX)
		memcpy(&stale->addresses[stale->count++], key, sizeof(union nc_address));
	return 0;
}

/* Makes the map's host addresses equal to what the host has. New ones first, so that none is missing meanwhile. */
static int reconcile(int map_fd, struct nc_error *reterr)
{
	NC_FREE struct own *own = malloc(sizeof(*own));
	NC_FREE struct stale *stale = malloc(sizeof(*stale));
	int r;

	if (!own || !stale)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the host's addresses");
	r = own_read(own, reterr);
	for (size_t i = 0; i < own->count && r >= 0; i++)
		r = floor_put(map_fd, &own->addresses[i], NC_FLOOR_HOST, reterr);
	if (r < 0)
		return r;
	stale->own = own;
	stale->count = 0;
	r = nc_map_walk(map_fd, sizeof(union nc_address), sizeof(uint32_t), stale_collect, stale, reterr);
	for (size_t i = 0; i < stale->count && r >= 0; i++) {
		r = bpf_map_delete_elem(map_fd, &stale->addresses[i]);
		r = r && r != -ENOENT ? nc_error_sys(reterr, NC_E_SYSTEM, r, "take an address off the floor") : 0;
	}
	return r;
}

int nc_floor_fill(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr)
{
	int map_fd;
	int r = nc_host_map(host, NC_MAP_HOST_FLOOR, &map_fd, reterr);

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
