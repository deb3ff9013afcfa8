// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor.c - the host floor: what is refused in every mode
 *
 * Metadata services wherever they sit, the operator's additions, and what the host delivers to itself (floor_read.c): exact addresses in one map, prefixes
 * in another. The last change while instances live, so a supervisor follows them: whatever the message said, all is read again and its own part made
 * equal to it, which also mends what was lost when messages came too fast (ENOBUFS).
 *
 * "The host" is its first network namespace, where that can be entered, and every namespace that a supervisor runs in. The book (floor_book.c) says whose
 * each row is: a supervisor writes its own namespace's part and the first one's, and a row leaves the map with the last who has it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <bpf/bpf.h>
#include "address.h"
#include "inside.h"

#define PLACES 2

/* The rows of bpf/address.h in the map's form. */
static const union nc_address metadata[] = {
#define ADDRESS(w0, w1, w2, w3, ...) {.words_be = {NC_SWAP32(w0), NC_SWAP32(w1), NC_SWAP32(w2), NC_SWAP32(w3)}},
	NC_METADATA_SERVICES(ADDRESS)
#undef ADDRESS
};

/* A network namespace whose own addresses belong on the floor. */
struct place {
	int netns_fd; /* -1: the caller's own */
	uint64_t owner;
	int hold_fd;
	struct nl_sock *follow; /* joined to the groups of addresses and routes; NULL: only read once */
	bool changed;
};

struct nc_floor {
	struct nc_host *host;
	struct place places[PLACES];
	size_t count;
	int epoll_fd;
};

#define OWN __attribute__((cleanup(nc_own_free))) struct nc_own
#define BOOK __attribute__((cleanup(nc_floor_book_free))) struct nc_floor_book

/* ---- the maps ----------------------------------------------------------------------------------------------------------------------------------- */

static int floor_put(int map_fd, const union nc_address *address, uint32_t kind, struct nc_error *reterr)
{
	uint32_t found;
	int r;

	if (kind != NC_FLOOR_OPERATOR && !bpf_map_lookup_elem(map_fd, address, &found) && found != NC_FLOOR_HOST)
		return 0; /* a metadata or operator's address stays one: a plane literal may name a host address, not those */
	r = bpf_map_update_elem(map_fd, address, &kind, BPF_ANY);
	if (r == -E2BIG || r == -ENOSPC)
		return nc_error_set(reterr, NC_E_POLICY_FULL, r, "the map host_floor is full");
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "put an address on the floor") : 0;
}

static struct nc_prefix_key prefix_key(const struct nc_own_row *row)
{
	struct nc_prefix_key key = {.length = row->length};

	memcpy(key.words_be, row->address.bytes, sizeof(key.words_be));
	return key;
}

static int row_put(struct nc_host *host, const struct nc_own_row *row, struct nc_error *reterr)
{
	const struct nc_prefix_key key = prefix_key(row);
	const uint32_t kind = NC_FLOOR_HOST;
	int map_fd;
	int r = nc_host_map(host, row->length == 128 ? NC_MAP_HOST_FLOOR : NC_MAP_HOST_FLOOR_PREFIXES, &map_fd, reterr);

	if (r < 0)
		return r;
	if (row->length == 128)
		return floor_put(map_fd, &row->address, kind, reterr);
	r = bpf_map_update_elem(map_fd, &key, &kind, BPF_ANY);
	if (r == -E2BIG || r == -ENOSPC)
		return nc_error_set(reterr, NC_E_POLICY_FULL, r, "the map host_floor_prefixes is full");
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "put a prefix on the floor") : 0;
}

static int row_remove(struct nc_host *host, const struct nc_own_row *row, struct nc_error *reterr)
{
	const struct nc_prefix_key key = prefix_key(row);
	uint32_t kind;
	int map_fd;
	int r = nc_host_map(host, row->length == 128 ? NC_MAP_HOST_FLOOR : NC_MAP_HOST_FLOOR_PREFIXES, &map_fd, reterr);

	if (r < 0)
		return r;
	if (row->length == 128 && !bpf_map_lookup_elem(map_fd, &row->address, &kind) && kind != NC_FLOOR_HOST)
		return 0;
	r = bpf_map_delete_elem(map_fd, row->length == 128 ? (const void *)&row->address : (const void *)&key);
	return r && r != -ENOENT ? nc_error_sys(reterr, NC_E_SYSTEM, r, "take an address off the floor") : 0;
}

/* ---- the book and the maps ------------------------------------------------------------------------------------------------------------------------ */

static bool same_book(const struct nc_floor_book *a, const struct nc_floor_book *b)
{
	return a->count == b->count && (!a->count || !memcmp(a->rows, b->rows, a->count * sizeof(*a->rows)));
}

/*
 * The owner's part becomes `own`; the maps follow, and the book last. New rows first, so that none is missing meanwhile. Whoever dies in between leaves a
 * book that still names what he took away, and rows that the next step puts into the book.
 */
static int exchange(struct nc_host *host, int folder_fd, uint64_t owner, const struct nc_own *own, struct nc_error *reterr)
{
	BOOK before = {0};
	BOOK after = {0};
	int r = nc_book_read(folder_fd, &before, reterr);

	r = r < 0 ? r : nc_book_make(&before, owner, own, &after, reterr);
	for (size_t i = 0; i < own->count && r >= 0; i++)
		r = row_put(host, &own->rows[i], reterr);
	for (size_t i = 0; i < before.count && r >= 0; i++) {
		if (before.rows[i].owner == owner && !nc_book_has(&after, &before.rows[i].row))
			r = row_remove(host, &before.rows[i].row, reterr);
	}
	return r < 0 || same_book(&before, &after) ? r : nc_book_write(folder_fd, &after, reterr);
}

static int reconcile(struct nc_host *host, int folder_fd, const struct place *place, struct nc_error *reterr)
{
	OWN own = {0};
	int r = nc_own_read(place->netns_fd, &own, reterr);

	return r < 0 ? r : exchange(host, folder_fd, place->owner, &own, reterr);
}

/* Namespaces that nobody supervises from any more, and nothing that lives was launched from. Under the book's lock. */
static int forget_gone(struct nc_host *host, int folder_fd, struct nc_error *reterr)
{
	static const struct nc_own nothing;
	uint64_t asked = 0;
	BOOK book = {0};
	int r = nc_book_read(folder_fd, &book, reterr);

	for (size_t i = 0; i < book.count && r >= 0; i++) {
		uint64_t owner = book.rows[i].owner;

		if (owner == asked || !nc_book_owner_gone(host, folder_fd, owner))
			continue;
		asked = owner;
		r = exchange(host, folder_fd, owner, &nothing, reterr);
		if (r >= 0)
			nc_book_owner_forget(folder_fd, owner);
	}
	return r;
}

int nc_floor_sweep(struct nc_host *host, struct nc_error *reterr)
{
	NC_CLOSE int folder_fd = -1;
	int r = nc_book_lock(host, &folder_fd, reterr);

	return r < 0 ? r : forget_gone(host, folder_fd, reterr);
}

/* ---- which namespaces ------------------------------------------------------------------------------------------------------------------------------ */

static int own_owner(const struct stat *netns, uint64_t *ret_owner, struct nc_error *reterr)
{
	uint64_t cookie;
	int r = nc_netns_cookie(-1, &cookie, reterr);

	if (r >= 0)
		*ret_owner = cookie ?: (1ull << 63 | netns->st_ino);
	return r;
}

/* Its own namespace, and the first one where that is another. */
static int places_find(struct place places[PLACES], size_t *ret_count, struct nc_error *reterr)
{
	NC_CLOSE int first_fd = nc_netns_first();
	struct stat own, first;

	if (stat("/proc/thread-self/ns/net", &own) || (first_fd >= 0 && fstat(first_fd, &first)))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at the network namespaces");
	places[0] = places[1] = (struct place){.netns_fd = -1, .hold_fd = -1};
	if (first_fd >= 0 && own.st_ino == first.st_ino && own.st_dev == first.st_dev) {
		*ret_count = 1;
		return 0;
	}
	if (own_owner(&own, &places[0].owner, reterr) < 0)
		return reterr->status;
	*ret_count = first_fd >= 0 ? 2 : 1;
	places[1].netns_fd = NC_TAKE_FD(first_fd);
	return 0;
}

static void place_close(struct place *place)
{
	nc_cleanup_close(&place->netns_fd);
	nc_cleanup_close(&place->hold_fd);
	nl_socket_free(place->follow);
}

/* ---- the operator's rows: a launch adds to them, and only who configures the host takes away ------------------------------------------------------ */

struct operators {
	const struct nc_host_options *options;
	struct nc_own *gone;
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
	return nc_own_add(operators->gone, &(struct nc_own_row){.address = address, .length = 128});
}

static int operators_remove(struct nc_host *host, int map_fd, const struct nc_host_options *options, struct nc_error *reterr)
{
	OWN gone = {0};
	struct operators operators = {.options = options, .gone = &gone};
	int r = nc_map_walk(map_fd, sizeof(union nc_address), sizeof(uint32_t), operators_collect, &operators, reterr);

	if (r < 0 || !gone.count)
		return r;
	r = nc_host_idle(host, "an address on the floor that the configuration does not list", reterr);
	for (size_t i = 0; i < gone.count && r >= 0; i++) {
		r = bpf_map_delete_elem(map_fd, &gone.rows[i].address);
		r = r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "take an address off the floor") : 0;
	}
	return r;
}

bool nc_floor_differs(struct nc_host *host, const struct nc_host_options *options)
{
	OWN gone = {0};
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
	struct place first = {.owner = 0};
	NC_CLOSE int folder_fd = -1;
	BOOK book = {0};
	int map_fd;
	int r = nc_host_map(host, NC_MAP_HOST_FLOOR, &map_fd, reterr);

	if (r >= 0 && options->configure)
		r = operators_remove(host, map_fd, options, reterr);
	for (size_t i = 0; i < sizeof(metadata) / sizeof(metadata[0]) && r >= 0; i++)
		r = floor_put(map_fd, &metadata[i], NC_FLOOR_METADATA, reterr);
	for (size_t i = 0; i < options->floor_count && r >= 0; i++)
		r = floor_put(map_fd, &options->floor[i], NC_FLOOR_OPERATOR, reterr);
	/* what the book names of other namespaces, in case the maps are new or an operator's row stood in its place */
	r = r < 0 ? r : nc_book_lock(host, &folder_fd, reterr);
	r = r < 0 ? r : nc_book_read(folder_fd, &book, reterr);
	for (size_t i = 0; i < book.count && r >= 0; i++)
		r = row_put(host, &book.rows[i].row, reterr);
	first.netns_fd = nc_netns_first();
	if (first.netns_fd >= 0 && r >= 0)
		r = reconcile(host, folder_fd, &first, reterr);
	nc_cleanup_close(&first.netns_fd);
	return r;
}

/* ---- following -------------------------------------------------------------------------------------------------------------------------------------- */

/* Of the routes only those that say what is delivered here: a host whose other routes change without end is not read without end. */
static int on_change(struct nl_msg *message, void *context)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct rtmsg *route = nlmsg_data(header);
	struct place *place = context;

	if ((header->nlmsg_type != RTM_NEWROUTE && header->nlmsg_type != RTM_DELROUTE) || !nlmsg_valid_hdr(header, sizeof(*route)) ||
	    route->rtm_type == RTN_LOCAL || route->rtm_type == RTN_BROADCAST || route->rtm_type == RTN_ANYCAST)
		place->changed = true;
	return NL_OK;
}

static int follow(struct nc_floor *floor, struct place *place, struct nc_error *reterr)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct nl_sock *sock = place->follow = nl_socket_alloc();
	int r = nc_netns_netlink(place->netns_fd, sock, reterr);

	if (r < 0)
		return r;
	nl_socket_disable_seq_check(sock);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_change, place);
	r = nl_socket_add_memberships(sock, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, 0);
	r = r < 0 ? r : nl_socket_set_nonblocking(sock);
	if (r < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "follow the host's addresses by rtnetlink: %s", nl_geterror(r));
	if (epoll_ctl(floor->epoll_fd, EPOLL_CTL_ADD, nl_socket_get_fd(sock), &event))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "follow the host's addresses");
	return 0;
}

/* Follows first and reads then: what changes in between is told. */
static int begin(struct nc_floor *floor, struct nc_error *reterr)
{
	NC_CLOSE int folder_fd = -1;
	int r = nc_book_lock(floor->host, &folder_fd, reterr);

	for (size_t i = 0; i < floor->count && r >= 0; i++) {
		struct place *place = &floor->places[i];

		r = follow(floor, place, reterr);
		if (r >= 0 && place->owner)
			r = nc_book_hold(folder_fd, place->owner, &place->hold_fd, reterr);
		r = r < 0 ? r : reconcile(floor->host, folder_fd, place, reterr);
	}
	return r;
}

int nc_floor_open(struct nc_host *host, struct nc_floor **ret_floor, struct nc_error *reterr)
{
	struct nc_floor *floor = calloc(1, sizeof(*floor));
	int r;

	if (!floor)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "follow the host's addresses");
	floor->host = host;
	floor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r = floor->epoll_fd < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "follow the host's addresses") : 0;
	r = r < 0 ? r : places_find(floor->places, &floor->count, reterr);
	r = r < 0 ? r : begin(floor, reterr);
	if (r < 0) {
		nc_floor_close(floor);
		return r;
	}
	host->floor_owner = floor->places[0].owner;
	*ret_floor = floor;
	return 0;
}

int nc_floor_poll_fd(const struct nc_floor *floor)
{
	return floor->epoll_fd;
}

/* Takes what has come; bounded: a host that changes without end is read again at the next step. Messages that were lost may have said anything. */
static int hear(struct place *place, struct nc_error *reterr)
{
	for (int i = 0; i < 64; i++) {
		int r = nl_recvmsgs_default(place->follow);

		if (r == -NLE_AGAIN)
			break;
		if (r < 0)
			place->changed = true;
		if (r < 0 && r != -NLE_NOMEM && r != -NLE_INTR && r != -NLE_DUMP_INTR)
			return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "follow the host's addresses by rtnetlink: %s", nl_geterror(r));
	}
	return 0;
}

int nc_floor_step(struct nc_floor *floor, struct nc_error *reterr)
{
	int r = 0;

	for (size_t i = 0; i < floor->count && r >= 0; i++) {
		struct place *place = &floor->places[i];
		NC_CLOSE int folder_fd = -1;

		r = hear(place, reterr);
		if (r < 0 || !place->changed)
			continue;
		r = nc_book_lock(floor->host, &folder_fd, reterr);
		r = r < 0 ? r : reconcile(floor->host, folder_fd, place, reterr);
		place->changed = r < 0;
	}
	return r;
}

void nc_floor_close(struct nc_floor *floor)
{
	struct nc_error ignored;

	if (!floor)
		return;
	for (size_t i = 0; i < floor->count; i++)
		place_close(&floor->places[i]);
	nc_cleanup_close(&floor->epoll_fd);
	nc_floor_sweep(floor->host, &ignored); /* what it left is found again by `host status` */
	free(floor);
}
