/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_log.c - the chained log of an evidence folder, read once from front to back */
#include "evidence_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "evidence.h"
#include "evidence_ids.h"
#include "evidence_names.h"

struct chain {
	struct nc_evidence_log log;
	uint64_t wanted;
	json_t *ids; /* NULL: the launch statement was written before it listed numbers, so that none can be held against it */
};

/* One line, without its line feed, is the next record of the chain. */
static int take_line(const char *line, size_t length, struct chain *chain, struct nc_error *reterr)
{
	struct nc_evidence_log *log = &chain->log;
	NC_JSON json_t *record = NULL;
	char name[64], hex[NC_DIGEST_HEX];
	const char *previous, *kind;
	json_int_t sequence;
	int r;

	snprintf(name, sizeof(name), NC_EVIDENCE_LOG " line %" PRIu64, log->count + 1);
	if (log->ended)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s stands behind the end", name);
	r = nc_json_parse_canonical(name, line, length, NC_E_EVIDENCE_INVALID, &record, reterr);
	if (r < 0)
		return r;
	if (json_unpack(record, "{s:I, s:s, s:s}", "sequence", &sequence, "previous", &previous, "kind", &kind) < 0)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s is no record: it has no sequence, previous or kind", name);
	if (sequence < 0 || (uint64_t)sequence != log->count + 1)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s has sequence %" JSON_INTEGER_FORMAT, name, sequence);
	nc_digest_hex(&log->last, hex);
	if (strcmp(previous, hex))
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s does not follow the record before it", name);
	if (chain->ids && (!nc_evidence_ids_learn(chain->ids, record) || !nc_evidence_ids_listed(chain->ids, record)))
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s speaks of a name otherwise than the policies before it list it",
				    name);
	nc_digest_of(line, length, &log->last);
	log->ended = strcmp(kind, NC_EVIDENCE_END) == 0;
	if (++log->count == chain->wanted)
		log->wanted = log->last;
	return 0;
}

/* Takes every whole line of the buffer and moves the rest to its front. */
static int take_lines(char *buffer, size_t *used, struct chain *chain, struct nc_error *reterr)
{
	size_t start = 0;
	char *end;
	int r;

	while ((end = memchr(buffer + start, '\n', *used - start))) {
		r = take_line(buffer + start, (size_t)(end - buffer) - start, chain, reterr);
		if (r < 0)
			return r;
		start = (size_t)(end - buffer) + 1;
	}
	if (*used - start >= NC_EVIDENCE_RECORD_MAX)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EMSGSIZE, NC_EVIDENCE_LOG " line %" PRIu64 " is longer than %u bytes",
				    chain->log.count + 1, NC_EVIDENCE_RECORD_MAX);
	memmove(buffer, buffer + start, *used - start);
	*used -= start;
	return 0;
}

static int open_log(int folder_fd, int *ret_fd, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(folder_fd, NC_EVIDENCE_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 && errno == ENOENT)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -ENOENT, NC_EVIDENCE_LOG " is missing");
	if (fd < 0 || fstat(fd, &status) < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "read " NC_EVIDENCE_LOG);
	if (!S_ISREG(status.st_mode))
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EINVAL, NC_EVIDENCE_LOG " is not a regular file");
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}

/* *ret_ids: what the launch statement lists; NULL where it says nothing of names, or as statements did before they gave the numbers. */
static int begin_ids(const json_t *launch, json_t **ret_ids, struct nc_error *reterr)
{
	NC_JSON json_t *ids = json_object();

	if (!ids)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory to read " NC_EVIDENCE_LOG);
	if (!nc_evidence_ids_numbered(launch))
		return 0;
	if (!nc_evidence_ids_learn(ids, launch))
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EBADMSG,
				    NC_EVIDENCE_LAUNCH " lists a name without a number, or two names under one");
	*ret_ids = json_incref(ids);
	return 0;
}

static int read_chain(int fd, struct chain *chain, struct nc_error *reterr)
{
	size_t size = 2 * NC_EVIDENCE_RECORD_MAX, used = 0;
	NC_FREE char *buffer = malloc(size);
	int r;

	if (!buffer)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory to read " NC_EVIDENCE_LOG);
	for (;;) {
		ssize_t got = read(fd, buffer + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "read " NC_EVIDENCE_LOG);
		if (got == 0)
			break;
		used += (size_t)got;
		r = take_lines(buffer, &used, chain, reterr);
		if (r < 0)
			return r;
	}
	chain->log.torn = used > 0;
	return 0;
}

int nc_evidence_log_read(int folder_fd, const json_t *launch, const struct nc_digest *digest, uint64_t wanted, struct nc_evidence_log *ret_log,
			 struct nc_error *reterr)
{
	struct chain chain = {.log = {.last = *digest, .wanted = *digest}, .wanted = wanted};
	NC_CLOSE int fd = -1;
	int r = open_log(folder_fd, &fd, reterr);

	r = r < 0 ? r : begin_ids(launch, &chain.ids, reterr);
	r = r < 0 ? r : read_chain(fd, &chain, reterr);
	json_decref(chain.ids);
	if (r == 0)
		*ret_log = chain.log;
	return r;
}
