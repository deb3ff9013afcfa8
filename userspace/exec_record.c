/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exec_record.c - how what `exec` started comes into the instance's evidence
 *
 * The log has one writer, the supervisor; `exec` is another process. So `exec` leaves a file for each command in the instance's folder (root's alone), and the
 * supervisor takes those in whose command has ended, from time to time, and the others before it signs the closing statement. What nobody takes in,
 * because there is no supervisor or because an `exec` was killed, is bounded: past that nothing is executed any more. A process number comes again in
 * an instance that lives long; by its number and its start an `exec` is one process, which starts one command: so no record ever takes another's
 * place. The file is there before the command is, and `exec` holds a lock for as long as it lives: so every command that ran is told of, and whoever
 * waits for the lock finds how it ended.
 */
#include "exec_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "instance_state.h"
#include "json.h"
#include "text.h"

#define PREFIX "exec-record-"
#define NAME_SIZE 48
#define SETTLE_MS                                                                                                                                    \
	2000 /* of an exec whose command was ended: it has a line to write. A stopped one is not waited for longer: its record has no result */

static json_t *compose(const struct nc_launch *launch)
{
	char command[NC_TEXT_SAFE_SIZE(256)];
	json_t *record;

	nc_text_safe(launch->options->command[0], strnlen(launch->options->command[0], 256), command, sizeof(command));
	record = json_pack("{s:s, s:s, s:i, s:I, s:s, s:O?}", "kind", "exec", "authority",
			   launch->authority == NC_AUTHORITY_PLANE ? "plane" : "workload", "pid", (int)launch->command_pid, "uid",
			   (json_int_t)launch->identity.uid, "command", command, "passed_environment", launch->passed);
	if (record && !launch->passed)
		json_object_del(record, "passed_environment");
	if (record && launch->unsearched)
		json_object_set_new(record, "unsearched", json_integer(launch->unsearched));
	if (record && launch->ending.known)
		json_object_set_new(record, "result", nc_ending_json(&launch->ending));
	return record;
}

static int record_name(char ret_name[NAME_SIZE])
{
	struct nc_process_id own;
	int r = nc_process_identify(getpid(), &own);

	if (r == 0)
		snprintf(ret_name, NAME_SIZE, PREFIX "%d-%" PRIu64, (int)own.pid, own.start);
	return r;
}

/* Before the command runs. A record is some hundred bytes of the host's memory. */
static int check_room(const struct nc_launch *launch, struct nc_error *reterr)
{
	DIR *folder = opendir(nc_claim_folder(launch->claim));
	struct dirent *entry;
	int count = 0;

	if (!folder)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "open the instance's folder");
	while ((entry = readdir(folder)))
		count += strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
	closedir(folder);
	if (count < NC_EXEC_RECORDS_MAX)
		return 0;
	nc_error_set(reterr, NC_E_INSTANCE_BUSY, -ENOSPC, "%d commands were executed in this instance that its evidence does not tell of yet", count);
	return nc_error_hint(
		reterr, "its supervisor takes in those that have ended, every some seconds; where it has none, end the instance: netcordon stop");
}

int nc_exec_record(const struct nc_launch *launch, struct nc_error *reterr)
{
	NC_CLOSE int folder = open(nc_claim_folder(launch->claim), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	NC_JSON json_t *record = compose(launch);
	NC_FREE char *text = NULL;
	NC_CLOSE int fd = -1;
	char name[NAME_SIZE], beside[NAME_SIZE + 1];
	size_t length;
	int r;

	if (folder < 0 && launch->started && launch->ending.known)
		return 0; /* the instance has ended before its command: there is no evidence left to be written to */
	if (folder < 0 || !record)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, folder < 0 ? -errno : -ENOMEM, "open the instance's folder");
	r = launch->started ? 0 : check_room(launch, reterr);
	r = r ?: nc_json_canonical(record, &text, &length, reterr);
	if (r < 0)
		return r;
	r = record_name(name);
	if (r < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "read the start time of a process of ours");
	snprintf(beside, sizeof(beside), ".%s", name);
	fd = openat(folder, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, text, length) != (ssize_t)length || renameat(folder, beside, folder, name) < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "write %s in the instance's folder", name);
	return 0;
}

void nc_exec_record_drop(const struct nc_launch *launch)
{
	char name[NAME_SIZE], path[NC_PATH_MAX + NAME_SIZE];

	if (record_name(name) < 0)
		return; /* then it was not written either */
	snprintf(path, sizeof(path), "%s/%s", nc_claim_folder(launch->claim), name);
	unlink(path);
}

int nc_exec_lock_open(const struct nc_launch *launch, enum nc_authority authority, int flags, struct nc_error *reterr)
{
	char path[NC_PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/exec-%s.lock", nc_claim_folder(launch->claim), authority == NC_AUTHORITY_PLANE ? "plane" : "workload");
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	return fd < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", path) : fd;
}

int nc_exec_records_settle(const struct nc_launch *launch, struct nc_error *reterr)
{
	int64_t until = nc_now_ns() + SETTLE_MS * 1000000ll;

	for (enum nc_authority authority = NC_AUTHORITY_WORKLOAD; authority <= NC_AUTHORITY_PLANE; authority++) {
		NC_CLOSE int fd = nc_exec_lock_open(launch, authority, 0, reterr);

		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		while (flock(fd, LOCK_EX | LOCK_NB) < 0 && nc_now_ns() < until)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return 0;
}

static int collect_one(struct nc_launch *launch, const char *name, bool ended, struct nc_error *reterr)
{
	NC_JSON json_t *record = NULL;
	NC_FREE char *text = NULL;
	char path[NC_PATH_MAX + 64];
	size_t length;
	int r;

	snprintf(path, sizeof(path), "%s/%.60s", nc_claim_folder(launch->claim), name);
	r = nc_profile_read(path, &text, &length, reterr) ?: nc_json_parse(text, length, NC_E_EVIDENCE_UNWRITABLE, &record, reterr);
	if (r == 0 && ended && !json_object_get(record, "result"))
		return 0;
	r = r ?: nc_evidence_append(launch->evidence, record, reterr);
	if (r == 0)
		unlink(path);
	return r;
}

int nc_exec_records_collect(struct nc_launch *launch, bool ended, struct nc_error *reterr)
{
	DIR *folder = opendir(nc_claim_folder(launch->claim));
	struct dirent *entry;
	int r = 0;

	if (!folder)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "open the instance's folder");
	while (r == 0 && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			r = collect_one(launch, entry->d_name, ended, reterr);
	}
	closedir(folder);
	if (r < 0 && ended && nc_error_is_memory(reterr)) { /* they lie there still */
		nc_json_forget_memory();
		return 0;
	}
	return r;
}
