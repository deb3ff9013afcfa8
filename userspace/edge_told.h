/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge_told.h - which happenings of names are worth a record
 *
 * The first sight of each (name, type, what, address) is told; repeats are not, and after NC_EDGE_TOLD_MAX different ones only their number is: a workload
 * that asks for a million names fills neither the evidence nor memory.
 */
#ifndef NC_EDGE_TOLD_H
#define NC_EDGE_TOLD_H

#include "edge.h"

#define NC_EDGE_TOLD_MAX 4096

struct nc_edge_told {
	uint64_t seen[2 * NC_EDGE_TOLD_MAX]; /* a hash set; 0: free */
	uint32_t count;
	uint32_t cut; /* happenings that were not told since the last flush */
};

bool nc_edge_worth_telling(struct nc_edge_told *told, const struct nc_edge_name *name);

#endif
