/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * world.h - the conformance matrix's own network: namespaces, links, addresses and routes, with no uplink to anything real
 *
 *                         resolver     private
 *                             |           |
 *      workload ---------- [ core ] ----- internet
 *                             |           |
 *                            edge       plane
 *
 * Every place is a network namespace of its own, joined to `core` by a veth pair; core forwards. A place is held by a descriptor and has no name
 * in the file system: when the process that made the world ends, in whatever way, nothing of it is left. Link names and link addresses are random.
 *
 * Addresses are handed out one by one: nc_world_address puts one on the place's loopback device and routes it there, so any address that the
 * kernel routes at all, of any class, can stand anywhere. The workload's namespace is made anew for each run of a case.
 *
 * No function here may be called by two threads at once. nc_world_enter changes the calling thread's network namespace only.
 */
#ifndef NC_WORLD_H
#define NC_WORLD_H

#include "error.h"
#include "netcordon_abi.h"

/* What stands where. The edge is for whatever a provider runs on behalf of a workload (a proxy): it reaches everything. */
#define NC_SITES(X)                                                                                                                                  \
	X(CORE, "core")                                                                                                                              \
	X(WORKLOAD, "workload")                                                                                                                      \
	X(EDGE, "edge")                                                                                                                              \
	X(INTERNET, "internet")                                                                                                                      \
	X(PRIVATE, "private")                                                                                                                        \
	X(RESOLVER, "resolver")                                                                                                                      \
	X(PLANE, "plane")                                                                                                                            \
	X(GUEST, "guest")
#define NC_ENUM_SITE(symbol, word) NC_SITE_##symbol,
enum nc_site { NC_SITES(NC_ENUM_SITE) NC_SITE_COUNT };
const char *nc_site_word(enum nc_site place);

struct nc_world;

/* Makes every place but the workload's. WORLD_FAILED says which step the kernel refused. */
int nc_world_new(struct nc_world **ret_world, struct nc_error *reterr);
void nc_world_free(struct nc_world *world); /* NULL is fine */

/* Makes the workload's namespace, in place of the one before: its routes, rules, sockets and addresses are gone with it. */
int nc_world_renew_workload(struct nc_world *world, struct nc_error *reterr);

/* Joins a namespace that a client made for itself to the world, as the guest, until the workload's is made anew. */
int nc_world_adopt(struct nc_world *world, int netns, struct nc_error *reterr);
/* Lets the place forward IPv4. */
int nc_world_forward(const struct nc_world *world, enum nc_site place, struct nc_error *reterr);

/* A descriptor of the place's namespace, owned by the world; for drivers it is /proc/PID/fd/N of the process that made the world. */
int nc_world_netns(const struct nc_world *world, enum nc_site place);
/* The place's own address on its link to core: family 4 or 6. */
void nc_world_link_address(const struct nc_world *world, enum nc_site place, int family, union nc_address *ret_address);
/* The name of core's device that leads to the place, for captures; owned by the world. */
const char *nc_world_core_device(const struct nc_world *world, enum nc_site place);

/* The name of the place's own device on its link; owned by the world. */
const char *nc_world_place_device(const struct nc_world *world, enum nc_site place);

/* Puts one more address on a place and routes it there. Loopback addresses are only for the place itself and get no route. */
int nc_world_address(struct nc_world *world, enum nc_site place, const union nc_address *address, struct nc_error *reterr);
/* Routes an address (prefix_length 128 or, counted in the mapped form, shorter) to a place that does not own it. */
int nc_world_route(struct nc_world *world, enum nc_site place, const union nc_address *address, int prefix_length, struct nc_error *reterr);

/* Moves the calling thread into the place; *ret_back is where it came from, for nc_world_leave, which closes it. */
int nc_world_enter(const struct nc_world *world, enum nc_site place, int *ret_back, struct nc_error *reterr);
void nc_world_leave(int *back);
#define NC_WORLD_VISIT __attribute__((cleanup(nc_world_leave)))

#endif
