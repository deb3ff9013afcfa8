/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence.h - one instance's evidence: a folder that shows when something is missing from it
 *
 *   launch.json + .sig          what was sealed, before anything ran
 *   events.jsonl                one canonical JSON record a line, each with "sequence" from 1 and "previous", the SHA-256 of the line before without
 *                               its line feed (the first: of launch.json). The last record of a log that was closed is {"kind": "end"}
 *   checkpoint.json + .sig      the newest signed {number, sequence, last hash, counters, losses}: bounds what a crash can lose
 *   closing.json + .sig         count, last hash, per-reason counters, losses, how it ended
 *
 * Every statement carries the launch statement's digest ("launch"), "instance", "generation", "boot_id" and "manifest", so that parts of two folders
 * cannot be put together. The writer holds no more than the last hash; the reader trusts nothing that it has not hashed. docs/formats.md holds the
 * formats, docs/schema/ their schemas.
 *
 * What is durable when (fdatasync and fsync have returned; a crash of the process alone loses only what was not flushed):
 *   begin        launch.json, its signature, the folder and its name: before it returns; begin_soon: before settle returns
 *   append       nothing; flush: every record so far
 *   checkpoint   every record that it vouches for, before it appears; itself, before it returns; checkpoint_soon: by the next settle, checkpoint or close
 *   close        every record, before the closing statement appears; the closing statement, before it returns
 * An error of the writer is final: what follows an error is refused, so a log with a hole can never be closed.
 */
#ifndef NC_EVIDENCE_H
#define NC_EVIDENCE_H

#include "evidence_clauses.h"
#include "json.h"
#include "statement.h"
#include "netcordon_abi.h"

#define NC_EVIDENCE_RECORD_MAX (64u << 10) /* bytes of one line with its line feed */

/* ---- writing ---------------------------------------------------------------------------------------------------------------------------- */

struct nc_evidence; /* an open folder being written */

/*
 * Makes the folder (0700; EEXIST is an error: evidence is never written twice), writes and signs `launch` as launch.json. Both are durable on
 * return; on failure the folder is gone again. The writer borrows `key`. `launch` must hold "version" (1), and as strings "instance", "generation" (decimal),
 * "boot_id" and "manifest"; what the Runner bound stands in "binding" (an object). "type" must be absent or NC_DOMAIN_LAUNCH: it is added.
 */
int nc_evidence_begin(const char *folder, const json_t *launch, const struct nc_secret_key *key, const char *attester,
		      struct nc_evidence **ret_evidence, struct nc_error *reterr);
/* The same, with members of the statement that are canonical text already (json.h), and while the bytes are still on their way to the disk, beside
 * what the caller does next. Nobody may hear of the folder before settle has returned. */
int nc_evidence_begin_soon(const char *folder, const json_t *launch, const struct nc_json_member *members, size_t count,
			   const struct nc_secret_key *key, const char *attester, struct nc_evidence **ret_evidence, struct nc_error *reterr);
/* Waits for what `…_soon` put off; nothing is put off any more when it returns. */
int nc_evidence_settle(struct nc_evidence *evidence, struct nc_error *reterr);
bool nc_evidence_unsettled(const struct nc_evidence *evidence);
/* Appends `record` (an object with "kind"; gets "sequence" and "previous" added). Buffered; nc_evidence_flush or a checkpoint makes it durable. */
int nc_evidence_append(struct nc_evidence *evidence, json_t *record, struct nc_error *reterr);
int nc_evidence_show(struct nc_evidence *evidence, struct nc_error *reterr); /* into the file, where a reader sees it; not yet durable */
int nc_evidence_flush(struct nc_evidence *evidence, struct nc_error *reterr);
/* Signs where the log stands; `what` says why now ("started", "periodic"); `extra` (may be NULL: counters, losses) is merged in. */
int nc_evidence_checkpoint(struct nc_evidence *evidence, const char *what, const json_t *extra, struct nc_error *reterr);
/* The same without the wait: it appears when it has been settled, and the closing statement of a short life takes it along. */
int nc_evidence_checkpoint_soon(struct nc_evidence *evidence, const char *what, const json_t *extra, struct nc_error *reterr);
/* Signs the end; `closing` holds "losses" (a string of decimal digits: what is not recorded), "counters", "result". The writer is freed in every case. */
int nc_evidence_close(struct nc_evidence *evidence, json_t *closing, struct nc_error *reterr);
void nc_evidence_abandon(
	struct nc_evidence *evidence); /* flushes what it can and frees without closing: the folder stays visibly open. NULL is fine */
const struct nc_digest *nc_evidence_launch_digest(const struct nc_evidence *evidence);
uint64_t nc_evidence_bytes(const struct nc_evidence *evidence);	   /* of the log so far */
uint64_t nc_evidence_sequence(const struct nc_evidence *evidence); /* of the last record; 0: none yet */

/* ---- reading ---------------------------------------------------------------------------------------------------------------------------- */

enum nc_evidence_answer { NC_EVIDENCE_COMPLETE, NC_EVIDENCE_OPEN, NC_EVIDENCE_INCOMPLETE, NC_EVIDENCE_INVALID };
struct nc_evidence_report {
	enum nc_evidence_answer answer;
	char reason[320]; /* why it is not complete, or "" */
	uint64_t events, losses;
	uint64_t vouched; /* records that a signature covers: all when closed, else those of the newest checkpoint */
	char instance[128];
	struct nc_clause_row clauses[NC_CLAUSE_COUNT]; /* all not compared where the folder could not be read */
	json_t *launch;				       /* owned by the report; NULL when invalid */
	json_t *closing;
};
/*
 * Verifies a folder with nothing but it and the key. `expect` (may be NULL): every member must hold (evidence_clauses.h).
 * 0 with an answer, whatever the folder holds; negative when there is none (no such folder, no memory, an `expect` that expects nothing).
 *
 *   complete    signatures, chain, count and last hash hold, nothing was lost
 *   open        no end and no closing statement: it is being written, or its writer died. What stands after the newest checkpoint is chained, but no
 *               signature covers it; records behind it may be missing, and a torn last line is one of them
 *   incomplete  authentic, but not all: records that a signature vouches for are missing, or losses are declared (a region of which nothing is known)
 *   invalid     something was changed, forged or belongs elsewhere, or is not what was expected, or one part contradicts another
 */
int nc_evidence_verify(const char *folder, const struct nc_public_key *key, const json_t *expect, struct nc_evidence_report *ret_report,
		       struct nc_error *reterr);
void nc_evidence_report_free(struct nc_evidence_report *report);
/* What `evidence verify --json` prints; `compared`: there was an expectation. The caller owns it. */
json_t *nc_evidence_report_json(const struct nc_evidence_report *report, const char *key_id, bool compared);
const char *nc_evidence_answer_word(enum nc_evidence_answer answer); /* "complete", ... */

/* ---- records -------------------------------------------------------------------------------------------------------------------------------- */

/* An event as a JSON record of kind "verdict", text made safe, codes by their names. The caller owns the result; NULL only without memory. */
json_t *nc_event_json(const struct nc_event *event);
json_t *nc_named_event_json(const struct nc_named_event *named); /* the same with `server_name`, as text made safe */
/* One authority's counters as an object of reason -> decimal digits; reasons that never came are left out. NULL only without memory. */
json_t *nc_counters_json(const struct nc_counters *counters);

#endif
