/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_parts.h - the writer of evidence inside: how it begins (evidence_begin.c) and how it goes on (evidence_write.c) */
#ifndef NC_EVIDENCE_PARTS_H
#define NC_EVIDENCE_PARTS_H

#include "evidence.h"
#include "folder.h"
#include "sync.h"

#define BUFFER_SIZE (2 * NC_EVIDENCE_RECORD_MAX)

struct nc_evidence {
	int folder_fd, log_fd;
	const struct nc_secret_key *key;
	char *attester;
	json_t *identity; /* the members that every statement carries */
	struct nc_digest launch;
	struct nc_digest last; /* what the next record's "previous" will be */
	uint64_t sequence;     /* of the last record */
	uint64_t bytes;	       /* of all records */
	uint64_t checkpoints;
	bool failed;
	bool dirty;		    /* written since the last sync */
	struct nc_publication soon; /* a checkpoint without its names yet; count 0: none */
	int beginning[NC_SYNC_MAX]; /* what nc_evidence_begin_soon has on its way to the disk, ours to close */
	size_t beginning_count;
	size_t used;
	char buffer[BUFFER_SIZE]; /* whole lines that are not written yet */
	struct nc_sync helper;
};

/* Closes and frees; waits for a beginning that is still on its way. NULL is fine. */
void nc_evidence_free(struct nc_evidence *evidence);
int nc_evidence_no_memory(struct nc_error *reterr);

#endif
