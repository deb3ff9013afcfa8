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
#include "evidence_names.h"

/* One line, without its line feed, is the next record of the chain. */
static int take_line(const char *line, size_t length, uint64_t wanted, struct nc_evidence_log *log, struct nc_error *reterr)
{
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
	nc_digest_of(line, length, &log->last);
	log->ended = strcmp(kind, NC_EVIDENCE_END) == 0;
	if (++log->count == wanted)
		log->wanted = log->last;
	return 0;
}

/* Takes every whole line of the buffer and moves the rest to its front. */
static int take_lines(char *buffer, size_t *used, uint64_t wanted, struct nc_evidence_log *log, struct nc_error *reterr)
{
	size_t start = 0;
	char *end;
	int r;

	while ((end = memchr(buffer + start, '\n', *used - start))) {
		r = take_line(buffer + start, (size_t)(end - buffer) - start, wanted, log, reterr);
		if (r < 0)
			return r;
		start = (size_t)(end - buffer) + 1;
	}
	if (*used - start >= NC_EVIDENCE_RECORD_MAX)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EMSGSIZE, NC_EVIDENCE_LOG " line %" PRIu64 " is longer than %u bytes",
				    log->count + 1, NC_EVIDENCE_RECORD_MAX);
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

int nc_evidence_log_read(int folder_fd, const struct nc_digest *launch, uint64_t wanted, struct nc_evidence_log *ret_log, struct nc_error *reterr)
{
	struct nc_evidence_log log = {.last = *launch, .wanted = *launch};
	size_t size = 2 * NC_EVIDENCE_RECORD_MAX, used = 0;
	NC_FREE char *buffer = malloc(size);
	NC_CLOSE int fd = -1;
	int r;

	if (!buffer)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory to read " NC_EVIDENCE_LOG);
	r = open_log(folder_fd, &fd, reterr);
	if (r < 0)
		return r;
	for (;;) {
		ssize_t got = read(fd, buffer + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "read " NC_EVIDENCE_LOG);
		if (got == 0)
			break;
		used += (size_t)got;
		r = take_lines(buffer, &used, wanted, &log, reterr);
		if (r < 0)
			return r;
	}
	log.torn = used > 0;
	*ret_log = log;
	return 0;
}
