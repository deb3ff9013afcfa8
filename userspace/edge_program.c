/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge_program.c - netcordon-edge, a program of its own beside netcordon: what parses a workload's questions is not even in the supervisor's image
 *
 * The supervisor starts it with fixed arguments and descriptors (edge.h). Started by anybody else it finds no ring and ends. `explain` starts it to ask for a
 * name (edge_ask.c).
 */
#include <string.h>
#include "edge.h"

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "ask") ? nc_edge_ask(argc, argv) : nc_edge_main(argc, argv);
}
