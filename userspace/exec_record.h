/* SPDX-License-Identifier: GPL-2.0-only */
/* exec_record.h - how what `exec` started comes into the instance's evidence, whose writer is the supervisor (exec_record.c) */
#ifndef NC_EXEC_RECORD_H
#define NC_EXEC_RECORD_H

#include "launch_state.h"

#define NC_EXEC_RECORDS_MAX 4096 /* that lie in an instance's folder at once */

/* exec: writes down, in the instance's folder, what was started and, once known, how it ended. INSTANCE_BUSY, before the command ran,
 * where NC_EXEC_RECORDS_MAX lie there. */
int nc_exec_record(const struct nc_launch *launch, struct nc_error *reterr);
/* exec, of a command that did not start after all. */
void nc_exec_record_drop(const struct nc_launch *launch);
/* supervisor, once nothing of theirs runs: waits, bounded, until whoever executed something in the instance has written down how it ended. */
int nc_exec_records_settle(const struct nc_launch *launch, struct nc_error *reterr);
/* exec and supervisor: the file whose lock (flock) an `exec` holds as long as it lives. */
int nc_exec_lock_open(const struct nc_launch *launch, enum nc_authority authority, int flags, struct nc_error *reterr);
/* supervisor: appends all that lie there to the evidence, or those whose command has ended, and removes them. */
int nc_exec_records_collect(struct nc_launch *launch, bool ended, struct nc_error *reterr);

#endif
