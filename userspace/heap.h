/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * heap.h - the supervisor's heap, and that a child is born without it
 *
 * A fork copies what leads to each page and makes the first write to each, on either side, a copy; the child of a launch needs none of it, for everything
 * that it needs is handed to it (child_parcel.c). And what is not there cannot be read there.
 */
#ifndef NC_HEAP_H
#define NC_HEAP_H

#include <stdbool.h>

/* From now on, or no longer, children are born without what was allocated so far. Such a child may not allocate. Only in a static program; elsewhere
 * children are born with everything, as ever. */
void nc_heap_keep(bool keep);

#endif
