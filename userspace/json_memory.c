/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json_memory.c - a document for a part of which there was no memory is not written
 *
 * jansson's copies and updates leave out what they have no memory for and call the rest a success, and a member that nobody looked at the setting of is missing
 * as quietly. So the demands themselves are watched: one that failed in this thread stays noted, and what would write a document refuses, until whoever has
 * reported the failure and given up what was being made says so. The allocator is the C library's all the same: only the program (not the library, whose
 * caller may use jansson too) sets this one.
 */
#include <errno.h>
#include <stdlib.h>
#include "json.h"

static _Thread_local bool failed;

static void *demand(size_t size)
{
	void *memory = malloc(size);

	failed |= !memory;
	return memory;
}

void nc_json_watch_memory(void)
{
	json_set_alloc_funcs(demand, free);
}

int nc_json_check_memory(struct nc_error *reterr)
{
	return failed ? nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a part of a JSON document") : 0;
}

void nc_json_forget_memory(void)
{
	failed = false;
}
