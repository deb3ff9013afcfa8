/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names.h - the names of one authority of an instance: what its policy lists them for, and how its resolver is told of them
 *
 * A name's id is what stands in the kernel's policy entries; ids are never used again within an instance, and say whose they are (NC_NAME_ID_PLANE).
 * The resolver, which lives in the edge and is not trusted with more than it needs, gets the names and their ids; what a grant may open, the
 * supervisor looks up here.
 */
#ifndef NC_NAMES_H
#define NC_NAMES_H

#include "policy.h"
#include "resolver.h"

struct nc_names {
	struct nc_resolver_name *wire; /* sorted by name, for the resolver */
	size_t count;
	uint32_t *ids;	      /* by place in the policy's list */
	uint32_t *port_start; /* index into ports, by place; one more at the end */
	struct nc_grant_port *ports;
	struct nc_resolver_name *known; /* every name that this instance ever listed, and its id */
	size_t known_count;
};

/*
 * The names of an image as nc_policy_compile made it. `before` (NULL: none) are those of the policy that it follows: a name that was ever listed keeps
 * its id, others get new ones, and the image is numbered and sorted accordingly. Owns what it holds; nc_names_free.
 */
int nc_names_make(const struct nc_policy_names *list, const struct nc_names *before, struct nc_image *image, struct nc_names *ret_names,
		  struct nc_error *reterr);
void nc_names_free(struct nc_names *names);
/* Ports and protocols of a name id; false when there is no such id. */
bool nc_names_ports(const struct nc_names *names, uint32_t id, const struct nc_grant_port **ret_ports, size_t *ret_count);

/*
 * What the edge needs to resolve for one authority, in a sealed memory file that it maps: this head, then `name_count` struct nc_resolver_name. The sockets
 * are descriptors of their own, in the order UDP4, UDP6, TCP4, TCP6; bit i of `sockets` says that the i-th is there.
 */
#define NC_EDGE_CONFIG_MAGIC 0x6e636e32u
struct nc_edge_config {
	uint32_t magic;
	uint32_t name_count;
	uint32_t sockets;
	uint32_t keep_non_public;
	uint32_t ttl_floor, ttl_ceiling, grace;
	uint32_t authority; /* enum nc_authority */
	struct nc_upstreams upstreams;
	struct nc_settings settings;
};
/* Makes the memory file; the descriptor is the caller's. */
int nc_edge_config_make(const struct nc_edge_config *head, const struct nc_resolver_name *names, int *ret_fd, struct nc_error *reterr);
/* Maps it: *ret_head is followed by the names. nc_edge_config_unmap. */
int nc_edge_config_map(int fd, const struct nc_edge_config **ret_head, const struct nc_resolver_name **ret_names);
void nc_edge_config_unmap(const struct nc_edge_config *head); /* NULL is fine */

#endif
