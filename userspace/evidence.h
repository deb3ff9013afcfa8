/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence.h - one instance's evidence: a folder that shows when something is missing from it
 *
 *   launch.json + .sig          what was sealed, before anything ran
 *   events.jsonl                one canonical JSON record a line, each with "sequence" from 1 and "previous", the SHA-256 of the line before (the
 *                               first: of launch.json's canonical bytes)
 *   checkpoint.json + .sig      the newest signed {sequence, last hash, counters, losses}: bounds what a crash can lose
 *   closing.json + .sig         count, last hash, per-reason counters, losses, how it ended
 *
 * The writer holds no more than the last hash; the reader trusts nothing that it has not hashed.
 */
#ifndef NC_EVIDENCE_H
#define NC_EVIDENCE_H

#include "statement.h"
#include "netcordon_abi.h"

struct nc_evidence; /* an open folder being written */

/* Makes the folder (0700; EEXIST is an error: evidence is never written twice), writes and signs `launch` as launch.json. Both are durable on
 * return. The writer borrows `key`. */
int nc_evidence_begin(const char *folder, const json_t *launch, const struct nc_secret_key *key, const char *attester, struct nc_evidence **ret_evidence,
		      struct nc_error *reterr);
/* Appends `record` (an object; gets "sequence" and "previous" added). Buffered; nc_evidence_flush or a checkpoint makes it durable. */
int nc_evidence_append(struct nc_evidence *evidence, json_t *record, struct nc_error *reterr);
int nc_evidence_flush(struct nc_evidence *evidence, struct nc_error *reterr);
/* Signs where the log stands; `extra` (may be NULL) is merged in. */
int nc_evidence_checkpoint(struct nc_evidence *evidence, const char *what, const json_t *extra, struct nc_error *reterr);
/* Signs the end; `closing` holds counters, losses, result. The writer is freed in every case. */
int nc_evidence_close(struct nc_evidence *evidence, json_t *closing, struct nc_error *reterr);
void nc_evidence_abandon(struct nc_evidence *evidence); /* frees without closing: the folder stays visibly open */
const struct nc_digest *nc_evidence_launch_digest(const struct nc_evidence *evidence);

enum nc_evidence_answer { NC_EVIDENCE_COMPLETE, NC_EVIDENCE_OPEN, NC_EVIDENCE_INCOMPLETE, NC_EVIDENCE_INVALID };
struct nc_evidence_report {
	enum nc_evidence_answer answer;
	char reason[320]; /* why it is not complete, or "" */
	uint64_t events, losses;
	char instance[128];
	json_t *launch;   /* owned by the report; NULL when invalid */
	json_t *closing;
};
/* Verifies a folder with nothing but it and the key. `expect` (may be NULL): every member must stand, equal, in the launch statement's binding. */
int nc_evidence_verify(const char *folder, const struct nc_public_key *key, const json_t *expect, struct nc_evidence_report *ret_report, struct nc_error *reterr);
void nc_evidence_report_free(struct nc_evidence_report *report);

/* An event as a JSON record, text made safe. The caller owns the result; NULL only without memory. */
json_t *nc_event_json(const struct nc_event *event);

#endif
