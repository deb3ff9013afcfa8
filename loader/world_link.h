/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * world_link.h - the netlink requests of the world builder
 *
 * A netlink socket belongs to the network namespace in which it was opened, so each place has one and nobody needs to enter a place again to
 * configure it. Every function returns 0 or a negative errno with WORLD_FAILED.
 */
#ifndef NC_WORLD_LINK_H
#define NC_WORLD_LINK_H

#include <netlink/netlink.h>
#include "error.h"
#include "netcordon_abi.h"

/* Opens the socket in the calling thread's namespace; the caller frees with nl_socket_free. */
int nc_link_socket(struct nl_sock **ret_socket, struct nc_error *reterr);
/* A veth pair: `here` in the socket's namespace, `there` in the one behind there_netns. Both down. */
int nc_link_pair(struct nl_sock *socket, const char *here, const char *there, int there_netns, struct nc_error *reterr);
int nc_link_remove(struct nl_sock *socket, const char *name, struct nc_error *reterr);
/* Sets the device up and returns its index. */
int nc_link_up(struct nl_sock *socket, const char *name, int *ret_index, struct nc_error *reterr);
/* prefix_length counts in the mapped form: 128 is one address of either family. Without duplicate address detection; in use when it returns. */
int nc_link_address(struct nl_sock *socket, int index, const union nc_address *address, int prefix_length, struct nc_error *reterr);
/*
 * Tells the device `index` behind `socket` that `neighbour` lives at the link address of `device` behind `theirs`, for good. Without it the first packet
 * of a new link waits a second: the first IPv6 solicitation is mostly lost there.
 */
int nc_link_neighbour(struct nl_sock *socket, int index, const union nc_address *neighbour, struct nl_sock *theirs, const char *device,
		      struct nc_error *reterr);
/* Routes address/prefix_length (0: everything of `family`) by `gateway` (NULL: on the link) out of the device. */
int nc_link_route(struct nl_sock *socket, int family, const union nc_address *address, int prefix_length, const union nc_address *gateway, int index,
		  struct nc_error *reterr);

#endif
