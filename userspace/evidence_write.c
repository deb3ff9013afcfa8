/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence_write.c - one instance's evidence, written
 *
 * Lines gather in a buffer and go to events.jsonl whole; the file is only ever appended to. Order makes the rest: a checkpoint or the closing statement
 * is signed after the records that it vouches for are on the disk, and a statement's name appears after its signature's. So whatever moment the
 * writer dies at, the folder lacks its end, and a reader can tell.
 *
 * The first error is final (`failed`): a log that may end in half a line is never continued and never closed.
 */
#include "evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "evidence_names.h"
#include "folder.h"

#define BUFFER_SIZE (2 * NC_EVIDENCE_RECORD_MAX)

struct nc_evidence {
	int folder_fd, log_fd;
	const struct nc_secret_key *key;
	char *attester;
	json_t *identity; /* the members that every statement carries */
	struct nc_digest launch;
	struct nc_digest last; /* what the next record's "previous" will be */
	uint64_t sequence;     /* of the last record */
	uint64_t checkpoints;
	bool failed;
	bool dirty; /* written since the last sync */
	size_t used;
	char buffer[BUFFER_SIZE]; /* whole lines that are not written yet */
};

static void free_evidence(struct nc_evidence *evidence)
{
	if (!evidence)
		return;
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
	free_evidence(*evidence);
}

static int no_memory(struct nc_error *reterr)
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
			return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, put < 0 ? -errno : -EIO, "write " NC_EVIDENCE_LOG);
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
		return no_memory(reterr);
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
	if (r < 0)
		evidence->failed = true; /* a record that was meant to be there is not */
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
		return no_memory(reterr);
	json_object_foreach((json_t *)members, name, member)
	{
		if (json_object_get(statement, name))
			return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EEXIST, "a statement's member \"%.64s\" is not the caller's to give",
					    name);
		if (json_object_set(statement, name, member) < 0)
			return no_memory(reterr);
	}
	*ret_statement = statement;
	statement = NULL;
	return 0;
}

static int publish(struct nc_evidence *evidence, const char *name, const char *domain, const json_t *statement, struct nc_error *reterr)
{
	struct nc_digest digest;
	int r;

	r = nc_statement_write(evidence->folder_fd, name, domain, statement, evidence->key, evidence->attester, &digest, reterr);
	if (r < 0)
		evidence->failed = true;
	return r;
}

int nc_evidence_checkpoint(struct nc_evidence *evidence, const char *what, const json_t *extra, struct nc_error *reterr)
{
	NC_JSON json_t *own = json_pack("{s:s, s:I, s:I}", "what", what, "number", (json_int_t)evidence->checkpoints + 1, "sequence",
					(json_int_t)evidence->sequence);
	NC_JSON json_t *statement = NULL;
	int r;

	r = make_statement(evidence, NC_DOMAIN_CHECKPOINT, own, extra, &statement, reterr);
	if (r == 0)
		r = nc_evidence_flush(evidence, reterr);
	if (r < 0)
		return r;
	r = publish(evidence, NC_EVIDENCE_CHECKPOINT, NC_DOMAIN_CHECKPOINT, statement, reterr);
	if (r == 0)
		evidence->checkpoints++;
	return r;
}

static int close_log(struct nc_evidence *evidence, struct nc_error *reterr)
{
	NC_JSON json_t *end = json_pack("{s:s}", "kind", NC_EVIDENCE_END);
	int r;

	if (!end)
		return no_memory(reterr);
	r = append(evidence, end, reterr);
	return r < 0 ? r : nc_evidence_flush(evidence, reterr);
}

int nc_evidence_close(struct nc_evidence *evidence, json_t *closing, struct nc_error *reterr)
{
	__attribute__((cleanup(cleanup_evidence))) struct nc_evidence *owned = evidence;
	NC_JSON json_t *statement = NULL, *own = NULL;
	uint64_t losses;
	int r;

	r = check_usable(owned, reterr);
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
		r = publish(owned, NC_EVIDENCE_CLOSING, NC_DOMAIN_CLOSING, statement, reterr);
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
	if (!evidence->failed)
		nc_evidence_flush(evidence, &ignored); /* whoever abandons has an error of his own; what is on the disk says the rest */
	free_evidence(evidence);
}

/* ---- the beginning ---------------------------------------------------------------------------------------------------------------------- */

/* What a launch statement must hold for the rest to lean on. */
static int take_identity(const json_t *launch, json_t **ret_identity, struct nc_error *reterr)
{
	NC_JSON json_t *identity = json_object();
	uint64_t generation;

	if (!identity)
		return no_memory(reterr);
	for (size_t i = 0; nc_evidence_identity[i]; i++) {
		json_t *member = json_object_get(launch, nc_evidence_identity[i]);

		if (!json_is_string(member))
			return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement has no text \"%s\"",
					    nc_evidence_identity[i]);
		if (json_object_set(identity, nc_evidence_identity[i], member) < 0)
			return no_memory(reterr);
	}
	if (!nc_json_read_u64(json_object_get(launch, "generation"), &generation))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement's generation is not a decimal number");
	if (json_integer_value(json_object_get(launch, "version")) != 1)
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement's version is not 1");
	*ret_identity = identity;
	identity = NULL;
	return 0;
}

static int sign_launch(struct nc_evidence *evidence, const json_t *launch, struct nc_signed *ret_signed, struct nc_error *reterr)
{
	NC_JSON json_t *typed = json_copy((json_t *)launch);
	char digest[NC_DIGEST_HEX];
	int r;

	if (json_object_get(launch, "type") && strcmp(json_string_value(json_object_get(launch, "type")) ?: "", NC_DOMAIN_LAUNCH))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement's type is another statement's");
	if (!typed || json_object_set_new(typed, "type", json_string(NC_DOMAIN_LAUNCH)) < 0)
		return no_memory(reterr);
	r = nc_statement_sign(NC_DOMAIN_LAUNCH, typed, evidence->key, evidence->attester, ret_signed, reterr);
	if (r < 0)
		return r;
	evidence->launch = ret_signed->digest;
	evidence->last = ret_signed->digest;
	nc_digest_hex(&evidence->launch, digest);
	return json_object_set_new(evidence->identity, "launch", json_string(digest)) < 0 ? no_memory(reterr) : 0;
}

/* Where the folder is made: beside the name that it will have, hidden, and in the same file system. */
struct birthplace {
	char *parent; /* "." where the path has no folder in it */
	char *hidden; /* "PARENT/.NAME.XXXXXX", a name of its own */
	int parent_fd;
};

static void cleanup_birthplace(struct birthplace *place)
{
	free(place->parent);
	free(place->hidden);
	if (place->parent_fd >= 0)
		close(place->parent_fd);
}

static int make_hidden(const char *folder, struct birthplace *place, struct nc_error *reterr)
{
	NC_FREE char *first = strdup(folder), *second = strdup(folder);

	place->parent = first ? strdup(dirname(first)) : NULL;
	if (!place->parent || !second || asprintf(&place->hidden, "%s/.%s.XXXXXX", place->parent, basename(second)) < 0) {
		place->hidden = NULL;
		return no_memory(reterr);
	}
	place->parent_fd = open(place->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->parent_fd < 0 || !mkdtemp(place->hidden)) {
		nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "make the evidence folder %s", folder);
		free(place->hidden);
		place->hidden = NULL;
		return nc_error_hint(reterr, "its parent must exist and be writable");
	}
	return 0;
}

/* 0 or a negative errno, -EEXIST when anything stands there. */
static int rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* A file system without this flag (NFS): an empty folder is made, which only one can do, and replaced. */
	if (mkdir(to, 0700) < 0 || rename(from, to) < 0)
		return -errno;
	return 0;
}

/* The folder appears whole: a program that dies on the way leaves none of this name. The bytes follow to the disk before anybody hears of it; a crash of
 * the host in between may leave a folder that does not verify, of a launch that never was. */
static int appear(struct nc_evidence *evidence, const char *folder, struct birthplace *place, const int fds[NC_FOLDER_FILES_MAX],
		  struct nc_error *reterr)
{
	NC_FREE char *name = strdup(folder);
	int r;

	if (!name)
		return no_memory(reterr);
	r = rename_new(place->hidden, folder);
	if (r < 0) {
		nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "make the evidence folder %s", folder);
		return r == -EEXIST ? nc_error_hint(reterr, "name a new folder; evidence is never written twice") : r;
	}
	free(place->hidden);
	place->hidden = NC_TAKE_PTR(name); /* what is to be removed after a failure */
	r = nc_folder_sync(evidence->folder_fd, fds, 2, reterr);
	if (r == 0 && fsync(place->parent_fd) < 0)
		r = nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "bring %s to the disk", place->parent);
	return r;
}

/* The log's name is made first, so that one sync of the folder covers it too. */
static int fill_folder(struct nc_evidence *evidence, const char *folder, struct birthplace *place, const struct nc_signed *launch,
		       struct nc_error *reterr)
{
	const struct nc_folder_file files[] = {{NC_EVIDENCE_LAUNCH ".sig", launch->signature, launch->signature_length},
					       {NC_EVIDENCE_LAUNCH, launch->text, launch->length}};
	int fds[NC_FOLDER_FILES_MAX], r;

	evidence->folder_fd = open(place->hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (evidence->folder_fd < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "open %s", place->hidden);
	evidence->log_fd = openat(evidence->folder_fd, NC_EVIDENCE_LOG, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (evidence->log_fd < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "make %s/" NC_EVIDENCE_LOG, folder);
	r = nc_folder_fill(evidence->folder_fd, files, 2, fds, reterr);
	if (r == 0)
		r = appear(evidence, folder, place, fds, reterr);
	for (size_t i = 0; i < NC_FOLDER_FILES_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}

static void remove_folder(const struct nc_evidence *evidence, const struct birthplace *place)
{
	static const char *const names[] = {NC_EVIDENCE_LAUNCH, NC_EVIDENCE_LAUNCH ".sig", NC_EVIDENCE_LOG};

	for (size_t i = 0; evidence->folder_fd >= 0 && i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(evidence->folder_fd, names[i], 0);
	if (place->hidden)
		rmdir(place->hidden);
}

int nc_evidence_begin(const char *folder, const json_t *launch, const struct nc_secret_key *key, const char *attester,
		      struct nc_evidence **ret_evidence, struct nc_error *reterr)
{
	__attribute__((cleanup(cleanup_evidence))) struct nc_evidence *evidence = malloc(sizeof(*evidence));
	__attribute__((cleanup(cleanup_birthplace))) struct birthplace place = {.parent_fd = -1};
	struct nc_signed signed_launch = {0};
	int r;

	if (!evidence)
		return no_memory(reterr);
	memset(evidence, 0, offsetof(struct nc_evidence, buffer));
	evidence->folder_fd = evidence->log_fd = -1;
	evidence->key = key;
	evidence->attester = strdup(attester);
	if (!evidence->attester)
		return no_memory(reterr);
	r = take_identity(launch, &evidence->identity, reterr);
	if (r == 0)
		r = sign_launch(evidence, launch, &signed_launch, reterr);
	if (r == 0)
		r = make_hidden(folder, &place, reterr);
	if (r == 0) {
		r = fill_folder(evidence, folder, &place, &signed_launch, reterr);
		if (r < 0)
			remove_folder(evidence, &place);
	}
	nc_signed_free(&signed_launch);
	if (r == 0)
		*ret_evidence = NC_TAKE_PTR(evidence);
	return r;
}

const struct nc_digest *nc_evidence_launch_digest(const struct nc_evidence *evidence)
{
	return &evidence->launch;
}

uint64_t nc_evidence_sequence(const struct nc_evidence *evidence)
{
	return evidence->sequence;
}
