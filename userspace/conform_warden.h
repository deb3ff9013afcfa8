/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_warden.h - the process that outlives an interrupted matrix and takes away what it would leave behind
 *
 *   warden (reaper of all descendants) -> matrix -> drivers -> what drivers leave running
 *
 * The matrix works in a child. When the child has ended, or a signal asked for the end and the child was killed, the warden lets the driver tear down
 * the instance that was up (its request stands in the scratch folder), ends every descendant and removes the scratch folder. Namespaces need nobody:
 * they are held by the matrix's descriptors alone.
 */
#ifndef NC_CONFORM_WARDEN_H
#define NC_CONFORM_WARDEN_H

#include <jansson.h>
#include "error.h"

#define NC_SCRATCH_MAX 64
#define NC_PENDING_TEARDOWN "teardown.json" /* in the scratch folder, while an instance is up */

/* Runs work(context, scratch) in a child and returns its result, an exit status; 128+n after signal n. The child may print. */
int nc_conform_under_warden(const char *driver, const json_t *driver_options, int (*work)(void *context, const char *scratch), void *context,
			    struct nc_error *reterr);

#endif
