/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_actor.h - what the matrix does itself while a client attempts: the helper outside, the plane's accomplice, the peer that dials, the operator who
 * changes the policy
 *
 * Some constructions need somebody beside the client. That is a thread of the matrix: it is outside of what a driver can reach, and shares the log of the
 * observer. A client that has to wait for it waits for a file (`attempt -w`), in a folder of the run's own, the door, which any user may write.
 */
#ifndef NC_CONFORM_ACTOR_H
#define NC_CONFORM_ACTOR_H

#include "conform_run.h"

struct nc_actor;

/* Starts it, if the construction has one (*ret_actor stays NULL when not). `request` and `prepared` are NULL in the control; both are borrowed for the
 * call alone. */
int nc_actor_begin(struct nc_cast *cast, struct nc_stage *stage, const json_t *request, const struct nc_driver_prepared *prepared,
		   struct nc_actor **ret_actor, struct nc_error *reterr);
/* The client is done. Waits for the thread, bounded. */
void nc_actor_end(struct nc_actor *actor);

#define NC_INHERITED_FD 37 /* what the caller of a provider left open */

#endif
