/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge_program.c - netcordon-edge, a program of its own beside netcordon: what parses a workload's questions is not even in the supervisor's image
 *
 * The supervisor starts it with fixed arguments and descriptors (edge.h). Started by anybody else it finds no ring and ends.
 */
#include "edge.h"

int main(int argc, char **argv)
{
	return nc_edge_main(argc, argv);
}
