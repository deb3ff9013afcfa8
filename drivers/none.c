/* SPDX-License-Identifier: GPL-2.0-only */
/* none.c - the driver of no enforcement at all: what the matrix must find nothing in */
#include "verbs.h"

static json_t *describe(const json_t *request)
{
	(void)request;
	return description("reference:no-enforcement", "1", "workload plane", "direct", "");
}

static json_t *prepare(const json_t *request)
{
	return prepared("reference:no-enforcement", "1", json_deep_copy(part_at(request, "netns", NULL)));
}

static json_t *exec(const json_t *request)
{
	const struct nc_plain plain = {.netns = text_at(request, "state", text_at(request, "authority", NULL), NULL),
				       .resolver = text_at(request, "resolver", NULL)};

	return run_command(request, &plain);
}

int main(int argc, char **argv)
{
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, nothing, NULL});
}
