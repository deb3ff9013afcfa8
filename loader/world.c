/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * world.c - builds the places of the matrix's network and joins them
 *
 * A namespace is made by unsharing in the calling thread, taking a descriptor and a netlink socket, and going back. Link addresses are taken from
 * 172.16.0.0/12 and fd00::/8 at random, four IPv4 addresses and a /64 for each place.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "cleanup.h"
#include "world.h"
#include "world_link.h"

struct place {
	int netns;
	struct nl_sock *socket;
	char core_device[IFNAMSIZ];  /* core's end of the pair */
	char place_device[IFNAMSIZ]; /* the place's */
	int core_index, place_index, loopback_index;
	union nc_address place_address[2], core_address[2]; /* of the link: IPv4, IPv6 */
};

struct nc_world {
	struct place places[NC_SITE_COUNT];
	uint32_t base4;	  /* host order; the links' four-address blocks follow one another */
	uint8_t base6[7]; /* fdXX:XXXX:XXXX:XX00::/56 */
	uint32_t renewed; /* workload namespaces made so far: their links get a block and a name of their own */
};

const char *nc_site_word(enum nc_site place)
{
	static const char *const words[] = {
#define PLACE_WORD(symbol, word) [NC_SITE_##symbol] = word,
		NC_SITES(PLACE_WORD)};

	return (size_t)place < NC_SITE_COUNT ? words[place] : NULL;
}

static int write_setting(const char *name, const char *value, struct nc_error *reterr)
{
	char path[128];
	NC_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "write %s to %s", value, path);
	return 0;
}

/* What the calling thread's new namespace needs before it has links: no waiting for duplicate addresses, no chatter of routers, forwarding. */
static int write_settings(bool forwards, struct nc_error *reterr)
{
	static const struct {
		const char *name, *value;
	} quiet[] =
		{
			{"ipv6/conf/default/accept_dad", "0"},
			{"ipv6/conf/default/accept_ra", "0"},
			{"ipv6/conf/default/router_solicitations", "0"},
			{"ipv4/conf/default/rp_filter", "0"},
			{"ipv4/conf/all/rp_filter", "0"},
			/* Reports about a group go to the group itself (RFC 2236, RFC 2710), where they can be seen. */
			{"ipv4/conf/all/force_igmp_version", "2"},
			{"ipv6/conf/all/force_mld_version", "1"},
			/* Echo requests by anybody: the path must be real. */
			{"ipv4/ping_group_range", "0 2147483647"},
			/* Data in a SYN by whoever wants to, at once: a client without a cookie (5). */
			{"ipv4/tcp_fastopen", "5"},
		},
	  forward[] = {{"ipv4/ip_forward", "1"}, {"ipv6/conf/all/forwarding", "1"}};
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(quiet) / sizeof(*quiet); i++)
		r = write_setting(quiet[i].name, quiet[i].value, reterr);
	for (size_t i = 0; forwards && !r && i < sizeof(forward) / sizeof(*forward); i++)
		r = write_setting(forward[i].name, forward[i].value, reterr);
	return r;
}

static int own_netns(int *ret_fd, struct nc_error *reterr)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "open /proc/thread-self/ns/net");
	*ret_fd = fd;
	return 0;
}

void nc_world_leave(int *back)
{
	if (*back < 0)
		return;
	/* A thread that cannot go home must not go on: it would act in the wrong network. */
	if (setns(*back, CLONE_NEWNET) < 0)
		abort();
	close(*back);
	*back = -1;
}

static int make_namespace(struct place *place, bool forwards, struct nc_error *reterr)
{
	NC_WORLD_VISIT int back = -1;
	int r = own_netns(&back, reterr);

	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNET) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "make a network namespace");
	r = write_settings(forwards, reterr);
	if (!r)
		r = own_netns(&place->netns, reterr);
	if (!r)
		r = nc_link_socket(&place->socket, reterr);
	if (!r)
		r = nc_link_up(place->socket, "lo", &place->loopback_index, reterr);
	return r;
}

static void drop_place(struct place *place)
{
	if (place->socket)
		nl_socket_free(place->socket);
	if (place->netns >= 0)
		close(place->netns);
	*place = (struct place){.netns = -1};
}

static void random_name(char name[IFNAMSIZ])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	unsigned char bytes[8];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++)
		name[i] = letters[bytes[i] % 26];
	name[sizeof(bytes)] = '\0';
}

/* The block of the n-th link: IPv4 .1 is core's and .2 the place's; likewise in the IPv6 /64. */
static void number_link(const struct nc_world *world, uint32_t n, struct place *place)
{
	for (int end = 1; end <= 2; end++) {
		union nc_address *v4 = end == 1 ? &place->core_address[0] : &place->place_address[0];
		union nc_address *v6 = end == 1 ? &place->core_address[1] : &place->place_address[1];
		uint32_t host = world->base4 + 4 * n + (uint32_t)end;

		*v4 = (union nc_address){.bytes = {[10] = 0xff, [11] = 0xff, [12] = host >> 24, [13] = host >> 16, [14] = host >> 8, [15] = host}};
		*v6 = (union nc_address){0};
		memcpy(v6->bytes, world->base6, sizeof(world->base6));
		v6->bytes[6] = (uint8_t)(n >> 8);
		v6->bytes[7] = (uint8_t)n;
		v6->bytes[15] = (uint8_t)end;
	}
}

static int join(struct nc_world *world, struct place *place, uint32_t n, struct nc_error *reterr)
{
	struct nl_sock *core = world->places[NC_SITE_CORE].socket;
	int r;

	random_name(place->core_device);
	random_name(place->place_device);
	number_link(world, n, place);
	r = nc_link_pair(core, place->core_device, place->place_device, place->netns, reterr);
	if (!r)
		r = nc_link_up(core, place->core_device, &place->core_index, reterr);
	if (!r)
		r = nc_link_up(place->socket, place->place_device, &place->place_index, reterr);
	for (int family = 0; !r && family < 2; family++) {
		int bits = family ? 64 : 96 + 30;

		r = nc_link_address(core, place->core_index, &place->core_address[family], bits, reterr);
		if (!r)
			r = nc_link_address(place->socket, place->place_index, &place->place_address[family], bits, reterr);
		if (!r)
			r = nc_link_neighbour(core, place->core_index, &place->place_address[family], place->socket, place->place_device, reterr);
		if (!r)
			r = nc_link_neighbour(place->socket, place->place_index, &place->core_address[family], core, place->core_device, reterr);
		if (!r)
			r = nc_link_route(place->socket, family ? 6 : 4, NULL, 0, &place->core_address[family], place->place_index, reterr);
	}
	return r;
}

static int make_place(struct nc_world *world, enum nc_site which, uint32_t n, struct nc_error *reterr)
{
	struct place *place = &world->places[which];
	int r = make_namespace(place, which == NC_SITE_CORE, reterr);

	if (!r && which != NC_SITE_CORE)
		r = join(world, place, n, reterr);
	return r;
}

int nc_world_new(struct nc_world **ret_world, struct nc_error *reterr)
{
	struct nc_world *world = calloc(1, sizeof(*world));
	unsigned char bytes[9];
	int r = 0;

	if (!world)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "build the world");
	for (int i = 0; i < NC_SITE_COUNT; i++)
		world->places[i].netns = -1;
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		r = nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "read random bytes");
	/* 172.16.0.0/12 in blocks of 2^14 addresses: 4096 links. */
	world->base4 = 0xac100000u | (uint32_t)(bytes[0] & 0x3f) << 14;
	world->base6[0] = 0xfd;
	memcpy(world->base6 + 1, bytes + 1, 5);
	for (int i = 0; !r && i < NC_SITE_COUNT; i++) {
		if (i != NC_SITE_WORKLOAD && i != NC_SITE_GUEST)
			r = make_place(world, (enum nc_site)i, (uint32_t)i, reterr);
	}
	if (r < 0) {
		nc_world_free(world);
		return r;
	}
	*ret_world = world;
	return 0;
}

void nc_world_free(struct nc_world *world)
{
	if (!world)
		return;
	for (int i = 0; i < NC_SITE_COUNT; i++)
		drop_place(&world->places[i]);
	free(world);
}

/* Core's end at once, so that nothing of the old namespace reaches core while the kernel takes its time with the rest. */
static int part_with(struct nc_world *world, struct place *place, struct nc_error *reterr)
{
	int r = place->netns < 0 ? 0 : nc_link_remove(world->places[NC_SITE_CORE].socket, place->core_device, reterr);

	if (!r)
		drop_place(place);
	return r;
}

int nc_world_renew_workload(struct nc_world *world, struct nc_error *reterr)
{
	int r = part_with(world, &world->places[NC_SITE_WORKLOAD], reterr);

	if (!r)
		r = part_with(world, &world->places[NC_SITE_GUEST], reterr);
	if (r < 0)
		return r;
	world->renewed = world->renewed % (4095 - NC_SITE_COUNT) + 1;
	return make_place(world, NC_SITE_WORKLOAD, NC_SITE_COUNT + world->renewed, reterr);
}

int nc_world_adopt(struct nc_world *world, int netns, struct nc_error *reterr)
{
	struct place *place = &world->places[NC_SITE_GUEST];
	NC_WORLD_VISIT int back = -1;
	int r = own_netns(&back, reterr);

	if (r < 0)
		return r;
	if (setns(netns, CLONE_NEWNET) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "enter a client's own namespace");
	r = own_netns(&place->netns, reterr);
	if (!r)
		r = nc_link_socket(&place->socket, reterr);
	if (!r)
		r = nc_link_up(place->socket, "lo", &place->loopback_index, reterr);
	if (!r)
		r = join(world, place, NC_SITE_GUEST, reterr);
	if (r < 0)
		drop_place(place);
	return r;
}

int nc_world_forward(const struct nc_world *world, enum nc_site which, struct nc_error *reterr)
{
	NC_WORLD_VISIT int back = -1;
	int r = nc_world_enter(world, which, &back, reterr);

	return r < 0 ? r : write_setting("ipv4/ip_forward", "1", reterr);
}

int nc_world_netns(const struct nc_world *world, enum nc_site place)
{
	return world->places[place].netns;
}

void nc_world_link_address(const struct nc_world *world, enum nc_site place, int family, union nc_address *ret_address)
{
	*ret_address = world->places[place].place_address[family == 6];
}

const char *nc_world_core_device(const struct nc_world *world, enum nc_site place)
{
	return world->places[place].core_device;
}

const char *nc_world_place_device(const struct nc_world *world, enum nc_site place)
{
	return world->places[place].place_device;
}

static bool loopback(const union nc_address *address)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}, one[16] = {[15] = 1};

	return !memcmp(address->bytes, one, sizeof(one)) || (!memcmp(address->bytes, mapped, sizeof(mapped)) && address->bytes[12] == 127);
}

int nc_world_address(struct nc_world *world, enum nc_site which, const union nc_address *address, struct nc_error *reterr)
{
	struct place *place = &world->places[which];
	int r;

	if (loopback(address))
		return 0; /* 127.0.0.0/8 and ::1 are on every loopback device that is up */
	r = nc_link_address(place->socket, place->loopback_index, address, 128, reterr);
	return r < 0 ? r : nc_world_route(world, which, address, 128, reterr);
}

int nc_world_route(struct nc_world *world, enum nc_site which, const union nc_address *address, int prefix_length, struct nc_error *reterr)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct place *place = &world->places[which];
	int family = memcmp(address->bytes, mapped, sizeof(mapped)) ? 6 : 4;

	if (which == NC_SITE_CORE)
		return 0;
	return nc_link_route(world->places[NC_SITE_CORE].socket, family, address, prefix_length, &place->place_address[family == 6],
			     place->core_index, reterr);
}

int nc_world_enter(const struct nc_world *world, enum nc_site place, int *ret_back, struct nc_error *reterr)
{
	int back = -1;
	int r = own_netns(&back, reterr);

	if (r < 0)
		return r;
	if (setns(world->places[place].netns, CLONE_NEWNET) < 0) {
		r = nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "enter the %s namespace", nc_site_word(place));
		close(back);
		return r;
	}
	*ret_back = back;
	return 0;
}
