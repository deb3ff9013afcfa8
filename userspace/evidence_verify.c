/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence_verify.c - one instance's evidence, read with nothing but the folder and a public key
 *
 *   read     launch, closing and checkpoint statements (each signed for itself), then the log (chained to the launch statement)
 *   bind     every statement names this launch
 *   judge    what the statements vouch for against what the log holds
 *
 * The folder may be written while it is read. The statements are read before the log, so the log can only be longer than they say; a closing
 * statement or checkpoint that appears in between makes the reader start again, a few times.
 */
#include "evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "evidence_log.h"
#include "evidence_names.h"
#include "folder.h"
#include "json.h"
#include "text.h"

#define ATTEMPTS 240 /* a writer that checkpoints as fast as it can is read between two checkpoints in the end */
#define PAIR_ATTEMPTS 10
#define PAIR_WAIT_US 1000
#define CLOSING_ATTEMPTS 100 /* a second: a disk that is busy with others takes its time to sync */
#define CLOSING_WAIT_US 10000

/* What a statement of the end or of a checkpoint vouches for. */
struct vouch {
	json_t *statement; /* NULL: there is none */
	uint64_t records;
	uint64_t checkpoints; /* how many there had been, this one included */
	uint64_t losses;
	uint64_t names_not_told, repeats_lost;
	char last[NC_DIGEST_HEX];
};

struct reading {
	int folder_fd;
	const struct nc_public_key *key;
	json_t *launch;
	struct nc_digest launch_digest;
	struct vouch closing, checkpoint;
	bool closing_lost;    /* its signature is there, it is not */
	bool checkpoint_lost; /* likewise */
	bool log_missing;
	struct nc_evidence_log log;
};

static void forget(struct reading *reading)
{
	json_decref(reading->launch);
	json_decref(reading->closing.statement);
	json_decref(reading->checkpoint.statement);
	*reading = (struct reading){.folder_fd = reading->folder_fd, .key = reading->key};
}

static int refuse(struct nc_error *reterr, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct nc_error *reterr, const char *format, ...)
{
	char detail[sizeof(reterr->detail)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s", detail);
}

/* ---- read ------------------------------------------------------------------------------------------------------------------------------- */

static bool exists(const struct reading *reading, const char *name)
{
	return faccessat(reading->folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_launch(struct reading *reading, struct nc_error *reterr)
{
	uint64_t generation;
	int r;

	r = nc_statement_read(reading->folder_fd, NC_EVIDENCE_LAUNCH, NC_DOMAIN_LAUNCH, reading->key, &reading->launch, &reading->launch_digest,
			      reterr);
	if (r < 0)
		return r;
	if (strcmp(nc_json_text(reading->launch, "type"), NC_DOMAIN_LAUNCH) || json_integer_value(json_object_get(reading->launch, "version")) != 1)
		return refuse(reterr, NC_EVIDENCE_LAUNCH " is no launch statement of version 1");
	for (size_t i = 0; nc_evidence_identity[i]; i++)
		if (!*nc_json_text(reading->launch, nc_evidence_identity[i]))
			return refuse(reterr, NC_EVIDENCE_LAUNCH " has no text \"%s\"", nc_evidence_identity[i]);
	if (!nc_json_read_u64(json_object_get(reading->launch, "generation"), &generation))
		return refuse(reterr, NC_EVIDENCE_LAUNCH " has a generation that is not a decimal number");
	return 0;
}

/* A statement that was signed by the right key for another launch is another launch's. */
static int bind(const struct reading *reading, const char *name, const char *domain, const json_t *statement, struct nc_error *reterr)
{
	char launch[NC_DIGEST_HEX];

	if (strcmp(nc_json_text(statement, "type"), domain) || json_integer_value(json_object_get(statement, "version")) != 1)
		return refuse(reterr, "%s is not of the type and version that belong there", name);
	nc_digest_hex(&reading->launch_digest, launch);
	if (strcmp(nc_json_text(statement, "launch"), launch))
		return refuse(reterr, "%s belongs to another launch: the digest of the launch statement differs", name);
	for (size_t i = 0; nc_evidence_identity[i]; i++)
		if (strcmp(nc_json_text(statement, nc_evidence_identity[i]), nc_json_text(reading->launch, nc_evidence_identity[i])))
			return refuse(reterr, "%s belongs to another launch: its %s differs", name, nc_evidence_identity[i]);
	return 0;
}

static bool read_count(const json_t *statement, const char *name, uint64_t *ret_count)
{
	const json_t *member = json_object_get(statement, name);

	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return false;
	*ret_count = (uint64_t)json_integer_value(member);
	return true;
}

static int read_vouch(const struct reading *reading, const char *name, const char *domain, const char *records, const char *checkpoints,
		      struct vouch *vouch, struct nc_error *reterr)
{
	const json_t *losses = json_object_get(vouch->statement, "losses"), *names = json_object_get(vouch->statement, "names_not_told");
	const json_t *repeats = json_object_get(vouch->statement, "repeats_lost");
	int r;

	r = bind(reading, name, domain, vouch->statement, reterr);
	if (r < 0)
		return r;
	if (!read_count(vouch->statement, records, &vouch->records) || !read_count(vouch->statement, checkpoints, &vouch->checkpoints) ||
	    strlen(nc_json_text(vouch->statement, "last")) != NC_DIGEST_HEX - 1)
		return refuse(reterr, "%s lacks %s, %s or last", name, records, checkpoints);
	if (!nc_json_read_u64(losses, &vouch->losses) && (losses || vouch == &reading->closing))
		return refuse(reterr, "%s does not say what was lost, in decimal digits", name);
	if ((names && !nc_json_read_u64(names, &vouch->names_not_told)) || (repeats && !nc_json_read_u64(repeats, &vouch->repeats_lost)))
		return refuse(reterr, "%s does not say how many names or repeats are missing, in decimal digits", name);
	strcpy(vouch->last, nc_json_text(vouch->statement, "last"));
	return 0;
}

static int read_closing(struct reading *reading, struct nc_error *reterr)
{
	struct nc_digest digest;
	int r;

	if (!exists(reading, NC_EVIDENCE_CLOSING)) {
		reading->closing_lost = exists(reading, NC_EVIDENCE_CLOSING ".sig");
		return 0;
	}
	r = nc_statement_read(reading->folder_fd, NC_EVIDENCE_CLOSING, NC_DOMAIN_CLOSING, reading->key, &reading->closing.statement, &digest, reterr);
	return r < 0 ? r : read_vouch(reading, NC_EVIDENCE_CLOSING, NC_DOMAIN_CLOSING, "count", "checkpoints", &reading->closing, reterr);
}

/* Between the renames of the two files the new checkpoint still has its temporary name: a writer may have died right there. */
static int read_checkpoint_beside(struct reading *reading, struct nc_error *reterr)
{
	NC_FREE char *text = NULL, *signature = NULL;
	size_t length, signature_length;
	struct nc_digest digest;
	int r;

	r = nc_folder_read(reading->folder_fd, "." NC_EVIDENCE_CHECKPOINT ".tmp", NC_JSON_SIZE_MAX, &text, &length, reterr);
	if (r == 0)
		r = nc_folder_read(reading->folder_fd, NC_EVIDENCE_CHECKPOINT ".sig", NC_SIGNATURE_FILE_MAX, &signature, &signature_length, reterr);
	if (r < 0)
		return r;
	return nc_statement_check(NC_EVIDENCE_CHECKPOINT, NC_DOMAIN_CHECKPOINT, text, length, signature, signature_length, reading->key,
				  &reading->checkpoint.statement, &digest, reterr);
}

static int read_checkpoint(struct reading *reading, struct nc_error *reterr)
{
	struct nc_error beside;
	struct nc_digest digest;
	int r;

	if (!exists(reading, NC_EVIDENCE_CHECKPOINT) && !exists(reading, NC_EVIDENCE_CHECKPOINT ".sig"))
		return 0;
	r = nc_statement_read(reading->folder_fd, NC_EVIDENCE_CHECKPOINT, NC_DOMAIN_CHECKPOINT, reading->key, &reading->checkpoint.statement, &digest,
			      reterr);
	/* A log that was closed had both renames behind it: a pair that does not verify there was not left by a writer that died. */
	if (r < 0 && r != -ENOMEM && !reading->closing.statement && !reading->closing_lost && read_checkpoint_beside(reading, &beside) == 0)
		r = 0;
	if (r == -ENOENT && exists(reading, NC_EVIDENCE_CHECKPOINT ".sig")) {
		reading->checkpoint_lost = true;
		return 0;
	}
	return r < 0 ? r : read_vouch(reading, NC_EVIDENCE_CHECKPOINT, NC_DOMAIN_CHECKPOINT, "sequence", "number", &reading->checkpoint, reterr);
}

static int read_all(struct reading *reading, struct nc_error *reterr)
{
	int r;

	r = read_launch(reading, reterr);
	if (r == 0)
		r = read_closing(reading, reterr);
	if (r == 0)
		r = read_checkpoint(reading, reterr);
	if (r < 0)
		return r;
	r = nc_evidence_log_read(reading->folder_fd, reading->launch, &reading->launch_digest, reading->checkpoint.records, &reading->log, reterr);
	if (r == -ENOENT) {
		reading->log_missing = true;
		reading->log.last = reading->log.wanted = reading->launch_digest;
		r = 0;
	}
	return r;
}

/* ---- judge ------------------------------------------------------------------------------------------------------------------------------ */

static void say(struct nc_evidence_report *report, enum nc_evidence_answer answer, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(struct nc_evidence_report *report, enum nc_evidence_answer answer, const char *format, ...)
{
	va_list arguments;

	report->answer = answer;
	va_start(arguments, format);
	vsnprintf(report->reason, sizeof(report->reason), format, arguments);
	va_end(arguments);
}

static void judge_closed(const struct reading *reading, struct nc_evidence_report *report)
{
	const struct vouch *closing = &reading->closing;
	const struct nc_evidence_log *log = &reading->log;
	char last[NC_DIGEST_HEX];

	nc_digest_hex(&log->last, last);
	if (log->count > closing->records || (log->count == closing->records && log->torn))
		say(report, NC_EVIDENCE_INVALID, NC_EVIDENCE_LOG " goes on behind the %" PRIu64 " records that the closing statement counts",
		    closing->records);
	else if (reading->checkpoint.statement &&
		 (reading->checkpoint.records > closing->records || reading->checkpoint.checkpoints > closing->checkpoints))
		say(report, NC_EVIDENCE_INVALID, "the checkpoint and the closing statement contradict each other");
	else if (log->count < closing->records)
		say(report, NC_EVIDENCE_INCOMPLETE, "%" PRIu64 " of %" PRIu64 " records are missing: the log was cut", closing->records - log->count,
		    closing->records);
	else if (strcmp(closing->last, last) || !log->ended)
		say(report, NC_EVIDENCE_INVALID, "the log's last record is not the one that the closing statement names");
	else if (reading->checkpoint.checkpoints != closing->checkpoints)
		say(report, NC_EVIDENCE_INCOMPLETE, "the newest of %" PRIu64 " checkpoints is missing", closing->checkpoints);
	else if (closing->losses)
		say(report, NC_EVIDENCE_INCOMPLETE, "%" PRIu64 " events were lost: what they were is unknown", closing->losses);
	else if (json_array_size(json_object_get(closing->statement, "not_drained")))
		say(report, NC_EVIDENCE_INCOMPLETE, "%zu processes were killed and had not ended: what becomes of them is unknown",
		    json_array_size(json_object_get(closing->statement, "not_drained")));
	else if (closing->names_not_told)
		say(report, NC_EVIDENCE_INCOMPLETE, "%" PRIu64 " happenings of names were counted and not recorded", closing->names_not_told);
	else if (closing->repeats_lost) /* the table is the host's: what a neighbour does must not spoil what was told */
		say(report, NC_EVIDENCE_COMPLETE, "counted, and not known by destination: %" PRIu64 " repeats of what was told",
		    closing->repeats_lost);
}

static void judge_open(const struct reading *reading, struct nc_evidence_report *report)
{
	const struct nc_evidence_log *log = &reading->log;

	if (reading->log_missing)
		say(report, NC_EVIDENCE_INCOMPLETE, NC_EVIDENCE_LOG " is missing");
	else if (log->ended || reading->closing_lost)
		say(report, NC_EVIDENCE_INCOMPLETE, "the log has ended, and its closing statement is missing");
	else if (reading->checkpoint_lost)
		say(report, NC_EVIDENCE_INCOMPLETE, "the newest checkpoint is missing, its signature is there");
	else if (reading->checkpoint.records > log->count)
		say(report, NC_EVIDENCE_INCOMPLETE, "%" PRIu64 " of the %" PRIu64 " records that the newest checkpoint vouches for are missing",
		    reading->checkpoint.records - log->count, reading->checkpoint.records);
	else
		say(report, NC_EVIDENCE_OPEN,
		    "no closing statement: it is being written, or its writer died; the newest checkpoint vouches for %" PRIu64 " of %" PRIu64
		    " records%s",
		    reading->checkpoint.records, log->count, log->torn ? ", and the last line is torn" : "");
}

static enum nc_clause_result counts(const struct reading *reading)
{
	const struct vouch *closing = &reading->closing, *checkpoint = &reading->checkpoint;
	const struct nc_evidence_log *log = &reading->log;
	char last[NC_DIGEST_HEX], wanted[NC_DIGEST_HEX];
	bool agree = true;

	if (!closing->statement && !checkpoint->statement)
		return NC_CLAUSE_NOT_COMPARED;
	nc_digest_hex(&log->last, last);
	nc_digest_hex(&log->wanted, wanted);
	if (closing->statement)
		agree = log->count == closing->records && !strcmp(last, closing->last) && checkpoint->checkpoints == closing->checkpoints;
	if (checkpoint->statement)
		agree = agree && checkpoint->records <= log->count && !strcmp(wanted, checkpoint->last);
	return agree ? NC_CLAUSE_HOLDS : NC_CLAUSE_DIFFERS;
}

/* The reader's references decide, and so do contradictions within the evidence. A reference of its own author decides nothing. */
static bool clauses_hold(const struct reading *reading, const json_t *expect, struct nc_evidence_report *report)
{
	const struct nc_clause_facts facts = {.one_launch = true, .chained = !reading->log_missing, .counts = counts(reading)};
	static const enum nc_clause contradictions[] = {NC_CLAUSE_SEALED_MODE, NC_CLAUSE_GAPS, NC_CLAUSE_POLICY_INTACT};
	bool absent = false;
	const char *name;

	nc_clauses_compare(reading->launch, reading->closing.statement, expect, &facts, report->clauses);
	name = nc_expectation_differs(reading->launch, expect, report->clauses, &absent);
	if (name) {
		char safe[128];

		nc_text_safe(name, strlen(name), safe, sizeof(safe));
		say(report, NC_EVIDENCE_INVALID, "the launch statement %s \"%s\"",
		    absent ? "does not hold the expected" : "differs from what was expected in", safe);
		return false;
	}
	for (size_t i = 0; i < sizeof(contradictions) / sizeof(*contradictions); i++) {
		if (report->clauses[contradictions[i]].result != NC_CLAUSE_DIFFERS)
			continue;
		say(report, NC_EVIDENCE_INVALID, "clause %s does not hold: %s", nc_clause_word(contradictions[i]),
		    nc_clause_meaning(contradictions[i]));
		return false;
	}
	return true;
}

static void judge(const struct reading *reading, const json_t *expect, struct nc_evidence_report *report)
{
	const struct nc_evidence_log *log = &reading->log;
	const char *instance = nc_json_text(reading->launch, "instance");
	const struct vouch *newest = reading->closing.statement ? &reading->closing : &reading->checkpoint;
	char wanted[NC_DIGEST_HEX];

	nc_text_safe(instance, strlen(instance), report->instance, sizeof(report->instance));
	report->events = log->count - (log->ended ? 1 : 0);
	report->losses = newest->losses;
	report->vouched = newest->records < log->count ? newest->records : log->count;
	nc_digest_hex(&log->wanted, wanted);
	if (!clauses_hold(reading, expect, report))
		return;
	if (reading->checkpoint.statement && reading->checkpoint.records <= log->count && strcmp(wanted, reading->checkpoint.last))
		say(report, NC_EVIDENCE_INVALID, "record %" PRIu64 " is not the one that the checkpoint names", reading->checkpoint.records);
	else if (reading->closing.statement)
		judge_closed(reading, report);
	else
		judge_open(reading, report);
}

/* ---- the whole -------------------------------------------------------------------------------------------------------------------------- */

/* Which files the statements are: when this differs before and after reading, the writer was at work in between. */
struct snapshot {
	struct {
		ino_t inode;
		struct timespec changed;
	} files[4];
};

static void take_snapshot(int folder_fd, struct snapshot *ret_snapshot)
{
	static const char *const names[4] = {NC_EVIDENCE_CLOSING, NC_EVIDENCE_CLOSING ".sig", NC_EVIDENCE_CHECKPOINT, NC_EVIDENCE_CHECKPOINT ".sig"};
	struct stat status;

	memset(ret_snapshot, 0, sizeof(*ret_snapshot));
	for (size_t i = 0; i < 4; i++) {
		if (fstatat(folder_fd, names[i], &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ret_snapshot->files[i].inode = status.st_ino;
		ret_snapshot->files[i].changed = status.st_ctim;
	}
}

static int read_while_still(struct reading *reading, struct nc_error *reterr)
{
	struct snapshot before, after;
	int r;

	for (int attempt = 0;; attempt++) {
		bool closing_now, half_a_pair;

		take_snapshot(reading->folder_fd, &before);
		r = read_all(reading, reterr);
		take_snapshot(reading->folder_fd, &after);
		/* Between the log's end and its closing statement lie a few syncs of a living writer. */
		closing_now = r == 0 && reading->log.ended && !reading->closing.statement && attempt < CLOSING_ATTEMPTS;
		/* A signature appears before its statement: for a moment a new one stands beside an old statement. */
		half_a_pair = r < 0 && r != -ENOMEM && !after.files[0].inode && attempt < PAIR_ATTEMPTS;
		if (attempt == ATTEMPTS || (!closing_now && !half_a_pair && memcmp(&before, &after, sizeof(before)) == 0))
			return r;
		forget(reading);
		if (closing_now || half_a_pair)
			usleep(closing_now ? CLOSING_WAIT_US : PAIR_WAIT_US);
	}
}

static int open_folder(const char *folder, int *ret_fd, struct nc_error *reterr)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		nc_error_sys(reterr, NC_E_SYSTEM, -errno, "evidence folder %s", folder);
		return nc_error_hint(reterr, "name the folder that launch.json stands in");
	}
	*ret_fd = fd;
	return 0;
}

int nc_evidence_verify(const char *folder, const struct nc_public_key *key, const json_t *expect, struct nc_evidence_report *ret_report,
		       struct nc_error *reterr)
{
	struct nc_evidence_report report = {.answer = NC_EVIDENCE_COMPLETE};
	struct reading reading = {.folder_fd = -1, .key = key};
	struct nc_error fault = {0};
	NC_CLOSE int folder_fd = -1;
	int r;

	r = nc_key_check(key, reterr);
	if (r < 0)
		return r;
	r = expect ? nc_expectation_check(expect, reterr) : 0;
	if (r == 0)
		r = open_folder(folder, &folder_fd, reterr);
	if (r < 0)
		return r;
	reading.folder_fd = folder_fd;
	r = read_while_still(&reading, &fault);
	if (r == -ENOMEM) {
		forget(&reading);
		*reterr = fault;
		return r;
	}
	if (r < 0)
		say(&report, NC_EVIDENCE_INVALID, "%s", fault.detail);
	else
		judge(&reading, expect, &report);
	if (report.answer != NC_EVIDENCE_INVALID) {
		report.launch = json_incref(reading.launch);
		report.closing = json_incref(reading.closing.statement);
	}
	forget(&reading);
	*ret_report = report;
	return 0;
}

void nc_evidence_report_free(struct nc_evidence_report *report)
{
	json_decref(report->launch);
	json_decref(report->closing);
	*report = (struct nc_evidence_report){.answer = NC_EVIDENCE_INVALID};
}

const char *nc_evidence_answer_word(enum nc_evidence_answer answer)
{
	static const char *const words[] = {"complete", "open", "incomplete", "invalid"};

	return words[answer];
}
