/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence_write.c - one instance's evidence, written
 *
 * Lines gather in a buffer and go to events.jsonl whole; the file is only ever appended to. Order makes the rest: a checkpoint or the closing statement
 * is signed after the records that it vouches for are on the disk, and a statement's name appears after its signature's. So whatever moment the
 * writer dies at, the folder lacks its end, and a reader can tell.
 *
 * The first error is final (`failed`): a log that may end in half a line is never continued and never closed. A record for which there was no memory has left
 * nothing of itself: that error is not final.
 */
#include "evidence_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "evidence_names.h"

/* Waits for the beginning, if it is still on its way. */
static int end_beginning(struct nc_evidence *evidence)
{
	int r = evidence->beginning_count ? nc_sync_end(&evidence->helper) : 0;

	while (evidence->beginning_count > 0)
		close(evidence->beginning[--evidence->beginning_count]);
	return r;
}

void nc_evidence_free(struct nc_evidence *evidence)
{
	if (!evidence)
		return;
	end_beginning(evidence);
	if (evidence->log_fd >= 0)
		close(evidence->log_fd);
	if (evidence->folder_fd >= 0)
		close(evidence->folder_fd);
	json_decref(evidence->identity);
	free(evidence->attester);
	free(evidence);
}

static void cleanup_evidence(struct nc_evidence **evidence)
{
	nc_evidence_free(*evidence);
}

int nc_evidence_no_memory(struct nc_error *reterr)
{
	return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for evidence");
}

/* ---- the log ---------------------------------------------------------------------------------------------------------------------------- */

static int check_usable(const struct nc_evidence *evidence, struct nc_error *reterr)
{
	if (evidence->failed)
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EIO, "evidence could not be written earlier, and is not continued");
	return 0;
}

/* Everything buffered into the file; not yet to the disk. */
static int write_out(struct nc_evidence *evidence, struct nc_error *reterr)
{
	size_t done = 0;

	while (done < evidence->used) {
		ssize_t put = write(evidence->log_fd, evidence->buffer + done, evidence->used - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			evidence->failed = true;
			nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, put < 0 ? -errno : -EIO, "write " NC_EVIDENCE_LOG);
			return nc_error_hint(reterr, "nothing runs unrecorded: see to room where the evidence goes, and bound each log by log_bytes");
		}
		evidence->dirty = true;
		done += (size_t)put;
	}
	evidence->used = 0;
	return 0;
}

static int append(struct nc_evidence *evidence, json_t *record, struct nc_error *reterr)
{
	char previous[NC_DIGEST_HEX];
	NC_FREE char *line = NULL;
	size_t length;
	int r;

	nc_digest_hex(&evidence->last, previous);
	if (json_object_set_new(record, "sequence", json_integer((json_int_t)evidence->sequence + 1)) < 0 ||
	    json_object_set_new(record, "previous", json_string(previous)) < 0)
		return nc_evidence_no_memory(reterr);
	r = nc_json_canonical(record, &line, &length, reterr);
	if (r < 0)
		return r;
	if (length + 1 > NC_EVIDENCE_RECORD_MAX)
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EMSGSIZE, "a record of %zu bytes is larger than a reader accepts", length);
	if (evidence->used + length + 1 > BUFFER_SIZE) {
		r = write_out(evidence, reterr);
		if (r < 0)
			return r;
	}
	memcpy(evidence->buffer + evidence->used, line, length);
	evidence->buffer[evidence->used + length] = '\n';
	evidence->used += length + 1;
	evidence->bytes += length + 1;
	nc_digest_of(line, length, &evidence->last);
	evidence->sequence++;
	return 0;
}

int nc_evidence_append(struct nc_evidence *evidence, json_t *record, struct nc_error *reterr)
{
	const char *kind = json_string_value(json_object_get(record, "kind"));
	int r;

	r = check_usable(evidence, reterr);
	if (r < 0)
		return r;
	if (!kind || !strcmp(kind, NC_EVIDENCE_END) || json_object_get(record, "sequence") || json_object_get(record, "previous"))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "a record needs a kind of its own and no sequence or previous");
	r = append(evidence, record, reterr);
	/* A record that was meant to be there is not. Where only memory was wanting the log is what it was: whoever appends counts a loss, or gives up. */
	evidence->failed |= r < 0 && !nc_error_is_memory(reterr);
	return r;
}

int nc_evidence_show(struct nc_evidence *evidence, struct nc_error *reterr)
{
	int r = check_usable(evidence, reterr);

	return r < 0 ? r : write_out(evidence, reterr);
}

int nc_evidence_flush(struct nc_evidence *evidence, struct nc_error *reterr)
{
	int r;

	r = check_usable(evidence, reterr);
	if (r == 0)
		r = write_out(evidence, reterr);
	if (r < 0 || !evidence->dirty)
		return r;
	if (fdatasync(evidence->log_fd) < 0) {
		/* The kernel reports a lost page once and then forgets it (fsync(2)): trying again would only look like success. */
		evidence->failed = true;
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "sync " NC_EVIDENCE_LOG);
	}
	evidence->dirty = false;
	return 0;
}

/* ---- statements ------------------------------------------------------------------------------------------------------------------------- */

static int add_time(json_t *statement, const char *name, clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return json_object_set_new(statement, name, nc_json_u64((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec));
}

/* What every statement carries, what this one says for itself (`own` may be NULL: no memory), then the caller's: none may stand for one of ours. */
static int make_statement(const struct nc_evidence *evidence, const char *domain, json_t *own, const json_t *members, json_t **ret_statement,
			  struct nc_error *reterr)
{
	NC_JSON json_t *statement = json_copy(evidence->identity);
	char last[NC_DIGEST_HEX];
	const char *name;
	json_t *member;

	nc_digest_hex(&evidence->last, last);
	if (!statement || !own || json_object_update(statement, own) < 0 || json_object_set_new(statement, "type", json_string(domain)) < 0 ||
	    json_object_set_new(statement, "version", json_integer(1)) < 0 || json_object_set_new(statement, "last", json_string(last)) < 0 ||
	    add_time(statement, "time_ns", CLOCK_REALTIME) < 0 || add_time(statement, "boottime_ns", CLOCK_BOOTTIME) < 0)
		return nc_evidence_no_memory(reterr);
	json_object_foreach((json_t *)members, name, member)
	{
		if (json_object_get(statement, name))
			return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EEXIST, "a statement's member \"%.64s\" is not the caller's to give",
					    name);
		if (json_object_set(statement, name, member) < 0)
			return nc_evidence_no_memory(reterr);
	}
	*ret_statement = statement;
	statement = NULL;
	return 0;
}

int nc_evidence_settle(struct nc_evidence *evidence, struct nc_error *reterr)
{
	struct nc_publication *soon = &evidence->soon;
	int r = check_usable(evidence, reterr);

	if (r < 0)
		return r;
	r = end_beginning(evidence);
	if (r < 0)
		nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "bring the evidence folder to the disk");
	if (r == 0 && soon->count) {
		r = write_out(evidence, reterr) ?: nc_folder_give_names(evidence->folder_fd, &soon, 1, evidence->log_fd, &evidence->helper, reterr);
		evidence->dirty = false;
	}
	evidence->failed |= r < 0;
	return r;
}

bool nc_evidence_unsettled(const struct nc_evidence *evidence)
{
	return evidence->soon.count || evidence->beginning_count;
}

/* Signed, beside its names. */
static int prepare(struct nc_evidence *evidence, const char *name, const char *domain, const json_t *statement,
		   struct nc_publication *ret_publication, struct nc_error *reterr)
{
	struct nc_digest digest;
	int r = nc_statement_write_beside(evidence->folder_fd, name, domain, statement, evidence->key, evidence->attester, &digest, ret_publication,
					  reterr);

	evidence->failed |= r < 0;
	return r;
}

int nc_evidence_checkpoint_soon(struct nc_evidence *evidence, const char *what, const json_t *extra, struct nc_error *reterr)
{
	NC_JSON json_t *own = json_pack("{s:s, s:I, s:I}", "what", what, "number", (json_int_t)evidence->checkpoints + 1, "sequence",
					(json_int_t)evidence->sequence);
	NC_JSON json_t *statement = NULL;
	int r = nc_evidence_settle(evidence, reterr);

	r = r ?: make_statement(evidence, NC_DOMAIN_CHECKPOINT, own, extra, &statement, reterr);
	r = r ?: write_out(evidence, reterr);
	r = r ?: prepare(evidence, NC_EVIDENCE_CHECKPOINT, NC_DOMAIN_CHECKPOINT, statement, &evidence->soon, reterr);
	if (r == 0)
		evidence->checkpoints++;
	return r;
}

int nc_evidence_checkpoint(struct nc_evidence *evidence, const char *what, const json_t *extra, struct nc_error *reterr)
{
	return nc_evidence_checkpoint_soon(evidence, what, extra, reterr) ?: nc_evidence_settle(evidence, reterr);
}

static int close_log(struct nc_evidence *evidence, struct nc_error *reterr)
{
	NC_JSON json_t *end = json_pack("{s:s}", "kind", NC_EVIDENCE_END);
	int r;

	if (!end)
		return nc_evidence_no_memory(reterr);
	r = append(evidence, end, reterr);
	return r < 0 ? r : write_out(evidence, reterr);
}

/* The log, a checkpoint that is still without its names, and the closing statement reach the disk together, and get their names in this order. */
static int publish_end(struct nc_evidence *evidence, const json_t *statement, struct nc_error *reterr)
{
	struct nc_publication closing, *both[2] = {&evidence->soon, &closing};
	int r = prepare(evidence, NC_EVIDENCE_CLOSING, NC_DOMAIN_CLOSING, statement, &closing, reterr);

	return r ?: nc_folder_give_names(evidence->folder_fd, both, 2, evidence->log_fd, &evidence->helper, reterr);
}

int nc_evidence_close(struct nc_evidence *evidence, json_t *closing, struct nc_error *reterr)
{
	__attribute__((cleanup(cleanup_evidence))) struct nc_evidence *owned = evidence;
	NC_JSON json_t *statement = NULL, *own = NULL;
	uint64_t losses;
	int r;

	r = check_usable(owned, reterr);
	if (r == 0 && owned->beginning_count)
		r = nc_evidence_settle(owned, reterr);
	if (r < 0)
		return r;
	if (!nc_json_read_u64(json_object_get(closing, "losses"), &losses))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL,
				    "a closing statement must say how many records were lost, in decimal digits");
	r = close_log(owned, reterr);
	if (r < 0)
		return r;
	own = json_pack("{s:I, s:I}", "count", (json_int_t)owned->sequence, "checkpoints", (json_int_t)owned->checkpoints);
	r = make_statement(owned, NC_DOMAIN_CLOSING, own, closing, &statement, reterr);
	if (r == 0)
		r = publish_end(owned, statement, reterr);
	if (r < 0) {
		/* Whoever is told of an error must not find a folder that calls itself complete. */
		unlinkat(owned->folder_fd, NC_EVIDENCE_CLOSING, 0);
		unlinkat(owned->folder_fd, NC_EVIDENCE_CLOSING ".sig", 0);
	}
	return r;
}

void nc_evidence_abandon(struct nc_evidence *evidence)
{
	struct nc_error ignored;

	if (!evidence)
		return;
	if (!evidence->failed && nc_evidence_settle(evidence, &ignored) == 0)
		nc_evidence_flush(evidence, &ignored); /* whoever abandons has an error of his own; what is on the disk says the rest */
	nc_evidence_free(evidence);
}

const struct nc_digest *nc_evidence_launch_digest(const struct nc_evidence *evidence)
{
	return &evidence->launch;
}

uint64_t nc_evidence_sequence(const struct nc_evidence *evidence)
{
	return evidence->sequence;
}

uint64_t nc_evidence_bytes(const struct nc_evidence *evidence)
{
	return evidence->bytes;
}
