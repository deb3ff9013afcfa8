/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exec_record.c - how what `exec` started comes into the instance's evidence
 *
 * The log has one writer, the supervisor; `exec` is another process. So `exec` leaves a file for each command in the instance's folder (root's alone), and the
 * supervisor takes them in before it signs the closing statement.
 */
#include "exec_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "json.h"
#include "text.h"

#define PREFIX "exec-record-"

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
	if (record && launch->ending.known)
		json_object_set_new(record, "result", nc_ending_json(&launch->ending));
	return record;
}

int nc_exec_record(const struct nc_launch *launch, struct nc_error *reterr)
{
	NC_CLOSE int folder = open(nc_claim_folder(launch->claim), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	NC_JSON json_t *record = compose(launch);
	NC_FREE char *text = NULL;
	NC_CLOSE int fd = -1;
	char name[48], beside[64];
	size_t length;
	int r;

	if (folder < 0 && launch->started && launch->ending.known)
		return 0; /* the instance has ended before its command: there is no evidence left to be written to */
	if (folder < 0 || !record)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, folder < 0 ? -errno : -ENOMEM, "open the instance's folder");
	r = nc_json_canonical(record, &text, &length, reterr);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), PREFIX "%d", launch->command_pid);
	snprintf(beside, sizeof(beside), ".%s", name);
	fd = openat(folder, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, text, length) != (ssize_t)length || renameat(folder, beside, folder, name) < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "write %s in the instance's folder", name);
	return 0;
}

static int collect_one(struct nc_launch *launch, const char *name, struct nc_error *reterr)
{
	NC_JSON json_t *record = NULL;
	NC_FREE char *text = NULL;
	char path[NC_PATH_MAX + 64];
	size_t length;
	int r;

	snprintf(path, sizeof(path), "%s/%.60s", nc_claim_folder(launch->claim), name);
	r = nc_profile_read(path, &text, &length, reterr) ?: nc_json_parse(text, length, NC_E_EVIDENCE_UNWRITABLE, &record, reterr) ?:
	    nc_evidence_append(launch->evidence, record, reterr);
	if (r == 0)
		unlink(path);
	return r;
}

int nc_exec_records_collect(struct nc_launch *launch, struct nc_error *reterr)
{
	DIR *folder = opendir(nc_claim_folder(launch->claim));
	struct dirent *entry;
	int r = 0;

	if (!folder)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "open the instance's folder");
	while (r == 0 && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			r = collect_one(launch, entry->d_name, reterr);
	}
	closedir(folder);
	return r;
}
