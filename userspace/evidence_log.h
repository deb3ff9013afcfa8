/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_log.h - the chained log of an evidence folder, read once from front to back */
#ifndef NC_EVIDENCE_LOG_H
#define NC_EVIDENCE_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "digest.h"
#include "error.h"

struct nc_evidence_log {
	uint64_t count;		 /* whole records, each linked to the one before */
	struct nc_digest last;	 /* of the last record; of the launch statement when there is none */
	struct nc_digest wanted; /* of the record asked for; valid when it lies within count */
	bool ended;		 /* the last record is the end */
	bool torn;		 /* bytes without a line feed stand behind the last record */
};

/* Reads folder_fd/events.jsonl, whose first record must follow `launch`, the statement of this digest. -ENOENT when there is none; -EBADMSG or -EINVAL with
 * EVIDENCE_INVALID when the chain does not hold, or a record speaks of a name that nothing before it lists (evidence_ids.h), with the number of the line. Holds
 * one line in memory, whatever the size of the file, and the names. */
int nc_evidence_log_read(int folder_fd, const json_t *launch, const struct nc_digest *digest, uint64_t wanted, struct nc_evidence_log *ret_log,
			 struct nc_error *reterr);

#endif
