/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence_begin.c - an evidence folder appears: whole, signed, and under a name that nobody had
 *
 * It is made hidden beside the name that it will have, filled, and renamed; then the bytes follow to the disk, beside what the launch does next. Nobody is told
 * of the folder before they have arrived (nc_evidence_settle).
 */
#include "evidence_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "evidence_names.h"
#include "json.h"

static void cleanup_evidence(struct nc_evidence **evidence)
{
	nc_evidence_free(*evidence);
}

/* What a launch statement must hold for the rest to lean on. */
static int take_identity(const json_t *launch, json_t **ret_identity, struct nc_error *reterr)
{
	NC_JSON json_t *identity = json_object();
	uint64_t generation;

	if (!identity)
		return nc_evidence_no_memory(reterr);
	for (size_t i = 0; nc_evidence_identity[i]; i++) {
		json_t *member = json_object_get(launch, nc_evidence_identity[i]);

		if (!json_is_string(member))
			return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement has no text \"%s\"",
					    nc_evidence_identity[i]);
		if (json_object_set(identity, nc_evidence_identity[i], member) < 0)
			return nc_evidence_no_memory(reterr);
	}
	if (!nc_json_read_u64(json_object_get(launch, "generation"), &generation))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement's generation is not a decimal number");
	if (json_integer_value(json_object_get(launch, "version")) != 1)
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement's version is not 1");
	*ret_identity = identity;
	identity = NULL;
	return 0;
}

static int sign_launch(struct nc_evidence *evidence, const json_t *launch, const struct nc_json_member *members, size_t count,
		       struct nc_signed *ret_signed, struct nc_error *reterr)
{
	NC_JSON json_t *typed = json_copy((json_t *)launch);
	char digest[NC_DIGEST_HEX];
	int r;

	if (json_object_get(launch, "type") && strcmp(json_string_value(json_object_get(launch, "type")) ?: "", NC_DOMAIN_LAUNCH))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -EINVAL, "the launch statement's type is another statement's");
	if (!typed || json_object_set_new(typed, "type", json_string(NC_DOMAIN_LAUNCH)) < 0)
		return nc_evidence_no_memory(reterr);
	r = nc_statement_sign_with(NC_DOMAIN_LAUNCH, typed, members, count, evidence->key, evidence->attester, ret_signed, reterr);
	if (r < 0)
		return r;
	evidence->launch = ret_signed->digest;
	evidence->last = ret_signed->digest;
	nc_digest_hex(&evidence->launch, digest);
	return json_object_set_new(evidence->identity, "launch", json_string(digest)) < 0 ? nc_evidence_no_memory(reterr) : 0;
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
		return nc_evidence_no_memory(reterr);
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
static int appear(const char *folder, struct birthplace *place, struct nc_error *reterr)
{
	NC_FREE char *name = strdup(folder);
	int r;

	if (!name)
		return nc_evidence_no_memory(reterr);
	r = rename_new(place->hidden, folder);
	if (r < 0) {
		nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "make the evidence folder %s", folder);
		return r == -EEXIST ? nc_error_hint(reterr, "name a new folder; evidence is never written twice") : r;
	}
	free(place->hidden);
	place->hidden = NC_TAKE_PTR(name); /* what is to be removed after a failure */
	return 0;
}

/* The files, the folder's names, the folder's name. */
static int start_beginning(struct nc_evidence *evidence, const int files[NC_FOLDER_FILES_MAX], struct birthplace *place, struct nc_error *reterr)
{
	int folder_fd = fcntl(evidence->folder_fd, F_DUPFD_CLOEXEC, 0);

	for (size_t i = 0; i < NC_FOLDER_FILES_MAX; i++) {
		if (files[i] >= 0)
			evidence->beginning[evidence->beginning_count++] = files[i];
	}
	if (folder_fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "keep the evidence folder open");
	evidence->beginning[evidence->beginning_count++] = folder_fd;
	evidence->beginning[evidence->beginning_count++] = NC_TAKE_FD(place->parent_fd);
	memcpy(evidence->helper.fds, evidence->beginning, sizeof(evidence->beginning));
	evidence->helper.count = evidence->beginning_count;
	nc_sync_begin(&evidence->helper);
	return 0;
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
		r = appear(folder, place, reterr);
	if (r == 0)
		return start_beginning(evidence, fds, place, reterr);
	for (size_t i = 0; i < NC_FOLDER_FILES_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}

static void remove_folder(const struct nc_evidence *evidence, const char *folder)
{
	static const char *const names[] = {NC_EVIDENCE_LAUNCH, NC_EVIDENCE_LAUNCH ".sig", NC_EVIDENCE_LOG};

	for (size_t i = 0; evidence->folder_fd >= 0 && i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(evidence->folder_fd, names[i], 0);
	if (folder)
		rmdir(folder);
}

int nc_evidence_begin_soon(const char *folder, const json_t *launch, const struct nc_json_member *members, size_t count,
			   const struct nc_secret_key *key, const char *attester, struct nc_evidence **ret_evidence, struct nc_error *reterr)
{
	__attribute__((cleanup(cleanup_evidence))) struct nc_evidence *evidence = malloc(sizeof(*evidence));
	__attribute__((cleanup(cleanup_birthplace))) struct birthplace place = {.parent_fd = -1};
	struct nc_signed signed_launch = {0};
	int r;

	if (!evidence)
		return nc_evidence_no_memory(reterr);
	memset(evidence, 0, offsetof(struct nc_evidence, buffer));
	evidence->folder_fd = evidence->log_fd = -1;
	evidence->key = key;
	evidence->attester = strdup(attester);
	if (!evidence->attester)
		return nc_evidence_no_memory(reterr);
	r = take_identity(launch, &evidence->identity, reterr);
	if (r == 0)
		r = sign_launch(evidence, launch, members, count, &signed_launch, reterr);
	if (r == 0)
		r = make_hidden(folder, &place, reterr);
	if (r == 0) {
		r = fill_folder(evidence, folder, &place, &signed_launch, reterr);
		if (r < 0)
			remove_folder(evidence, place.hidden);
	}
	nc_signed_free(&signed_launch);
	if (r == 0)
		*ret_evidence = NC_TAKE_PTR(evidence);
	return r;
}

int nc_evidence_begin(const char *folder, const json_t *launch, const struct nc_secret_key *key, const char *attester,
		      struct nc_evidence **ret_evidence, struct nc_error *reterr)
{
	struct nc_evidence *evidence = NULL;
	int r = nc_evidence_begin_soon(folder, launch, NULL, 0, key, attester, &evidence, reterr);

	if (r < 0)
		return r;
	r = nc_evidence_settle(evidence, reterr);
	if (r < 0) {
		remove_folder(evidence, folder);
		nc_evidence_free(evidence);
		return r;
	}
	*ret_evidence = evidence;
	return 0;
}
