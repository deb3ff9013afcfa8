/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_profile.c - what the profile of a run lists, by its construction */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "conform_stage.h"

static void list_as(json_t *destinations, const struct nc_spot *spot, const char *wire)
{
	json_t *row =
		json_pack("{s:s s:i s:s}", "host", spot->host, "port", spot->port ?: 443, "protocol", spot->protocol == IPPROTO_UDP ? "udp" : "tcp");

	if (strcmp(spot->host, spot->literal))
		json_object_set_new(row, "wire", json_string(wire ?: "any")); /* the listeners speak neither TLS nor always HTTP */
	json_array_append_new(destinations, row);
}

static void list(json_t *destinations, const struct nc_spot *spot)
{
	list_as(destinations, spot, NULL);
}

bool nc_stage_by_plane(const struct nc_case *row)
{
	return row->construction == NC_CONSTRUCTION_PLANE_LISTED || row->construction == NC_CONSTRUCTION_WORKLOAD_BY_PLANE;
}

static void list_network(const struct nc_stage *stage, json_t *destinations)
{
	bool third = stage->kind == NC_RUN_MUTANT;

	switch (stage->row->construction) {
	case NC_CONSTRUCTION_LISTED:
	case NC_CONSTRUCTION_NAMED:
	case NC_CONSTRUCTION_NAT64_LISTED:
		if (!third)
			list(destinations, &stage->target);
		return;
	case NC_CONSTRUCTION_REDIRECT_LISTED:
		if (!third)
			list(destinations, &stage->target);
		list(destinations, &stage->listed);
		return;
	case NC_CONSTRUCTION_ANSWER_CLASS:
	case NC_CONSTRUCTION_ANSWER_ALIAS:
	case NC_CONSTRUCTION_ANSWER_SECOND:
	case NC_CONSTRUCTION_DIRECT_LISTED:
	case NC_CONSTRUCTION_WORKLOAD_BY_PLANE:
	case NC_CONSTRUCTION_SELF_LISTED:
	case NC_CONSTRUCTION_HOST_LISTED:
	case NC_CONSTRUCTION_EXPIRED:
		list(destinations, &stage->target);
		return;
	case NC_CONSTRUCTION_WIRE_NAME:
	case NC_CONSTRUCTION_WIRE_OTHER:
	case NC_CONSTRUCTION_WIRE_OTHER_PORT:
	case NC_CONSTRUCTION_WIRE_OWN:
	case NC_CONSTRUCTION_WIRE_UDP:
		if (!third || stage->row->construction != NC_CONSTRUCTION_WIRE_OWN)
			list_as(destinations, &stage->target, stage->wire);
		if (stage->row->construction == NC_CONSTRUCTION_WIRE_OTHER || stage->row->construction == NC_CONSTRUCTION_WIRE_OTHER_PORT)
			list_as(destinations, &stage->listed, stage->wire);
		return;
	case NC_CONSTRUCTION_TIGHTENED:
	case NC_CONSTRUCTION_NAME_GONE:
		if (!stage->updated)
			list(destinations, &stage->target);
		return;
	default:
		if (*stage->listed.host)
			list(destinations, &stage->listed);
	}
}

json_t *nc_stage_profile(const struct nc_stage *stage)
{
	enum nc_construction construction = stage->row->construction;
	json_t *destinations = json_array(), *plane = json_array();
	bool everything = construction == NC_CONSTRUCTION_LITERAL_CLASS || construction == NC_CONSTRUCTION_NAT64;
	const char *mode = construction == NC_CONSTRUCTION_NONE ? "none" : everything ? "unrestricted" : "allowlist";
	json_t *network = json_pack("{s:s}", "mode", mode);
	json_t *profile = json_pack("{s:i s:o}", "version", 1, "network", network);

	list_network(stage, destinations);
	if (construction == NC_CONSTRUCTION_PLANE_BY_WORKLOAD || construction == NC_CONSTRUCTION_CREDENTIAL ||
	    construction == NC_CONSTRUCTION_HANDED_BY_PLANE || (construction == NC_CONSTRUCTION_PLANE_LISTED && stage->kind != NC_RUN_MUTANT))
		list(plane, &stage->target);
	if (stage->has_twin && !nc_stage_by_plane(stage->row) && strcmp(mode, "unrestricted"))
		list(destinations, &stage->twin);
	if (stage->has_twin && nc_stage_by_plane(stage->row))
		list(plane, &stage->twin);
	if (!strcmp(mode, "allowlist"))
		json_object_set(network, "destinations", destinations);
	if (json_array_size(plane))
		json_object_set_new(profile, "plane", json_pack("{s:O s:[s]}", "destinations", plane, "credentials", NC_CREDENTIAL_NAME));
	json_decref(destinations);
	json_decref(plane);
	return profile;
}

json_t *nc_stage_profile_without_target(const struct nc_stage *stage)
{
	struct nc_stage later = *stage;

	later.updated = true;
	return nc_stage_profile(&later);
}
