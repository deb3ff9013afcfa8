/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * left.c - processes that were killed and do not end, and what they wait for
 *
 * A task that waits in the kernel, without regard to signals, for a file system's server that does not answer (FUSE, NFS) ends when that wait does. Nothing of
 * it runs meanwhile, and its cordon stays. What is left to do is to say which they are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "json.h"
#include "launch_state.h"
#include "text.h"

#define LEFT_MAX 64 /* more are counted by nobody: the first ones say why */
#define NAMED_MAX 3 /* of them in the one line */

static void read_line(const char *path, char *ret_line, size_t size)
{
	NC_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, ret_line, size - 1);

	ret_line[length > 0 ? length : 0] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
}

/* "PID (COMM) STATE ...": the last parenthesis ends the name, which may hold others. */
static bool is_stuck(const char *stat)
{
	const char *end = strrchr(stat, ')');

	return end && end[1] == ' ' && end[2] == 'D';
}

/* The function in which the first thread waits that no signal reaches; "" where the kernel does not say. */
static void read_wait(pid_t pid, char ret_where[64])
{
	char path[64], name[96], text[512];
	struct dirent *entry;
	DIR *tasks;

	ret_where[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && !ret_where[0] && (entry = readdir(tasks))) {
		snprintf(name, sizeof(name), "%.30s/%.20s/stat", path, entry->d_name);
		read_line(name, text, sizeof(text));
		if (!is_stuck(text))
			continue;
		snprintf(name, sizeof(name), "%.30s/%.20s/wchan", path, entry->d_name);
		read_line(name, ret_where, 64);
		if (!strcmp(ret_where, "0"))
			ret_where[0] = '\0';
	}
	if (tasks)
		closedir(tasks);
}

static int note_process(void *context, pid_t pid)
{
	json_t *left = context;
	char path[32], comm[32], where[64], safe[NC_TEXT_SAFE_SIZE(sizeof(comm))];

	if (json_array_size(left) >= LEFT_MAX)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	read_line(path, comm, sizeof(comm));
	nc_text_safe(comm, strlen(comm), safe, sizeof(safe));
	read_wait(pid, where);
	return json_array_append_new(left, json_pack("{s:i, s:s, s:s}", "pid", (int)pid, "comm", safe, "waits_in", where)) ? -ENOMEM : 0;
}

int nc_left_note(struct nc_launch *launch, enum nc_authority authority, struct nc_error *reterr)
{
	struct nc_ending *ending = &launch->ending;

	if (!ending->left)
		ending->left = json_array();
	if (!ending->left || nc_cgroup_each_process_below(nc_claim_cgroup_fd(launch->claim, authority), note_process, ending->left) == -ENOMEM)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for what is left in the instance");
	if (json_array_size(ending->left) == 0) { /* it ended at the last moment */
		json_decref(ending->left);
		ending->left = NULL;
	}
	return 0;
}

int nc_left_error(const struct nc_launch *launch, struct nc_error *reterr)
{
	size_t count = json_array_size(launch->ending.left), i, used = 0;
	char text[240] = "";
	const json_t *one;

	json_array_foreach(launch->ending.left, i, one)
	{
		const char *where = json_string_value(json_object_get(one, "waits_in"));

		if (i == NAMED_MAX || used >= sizeof(text))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d (%s)%s%s", i ? ", " : "",
					 (int)json_integer_value(json_object_get(one, "pid")), json_string_value(json_object_get(one, "comm")),
					 where[0] ? " waits in " : "", where);
	}
	nc_error_set(reterr, NC_E_NOT_DRAINED, -EBUSY, "instance %s: %zu processes do not end: %s", launch->instance, count, text);
	return nc_error_hint(
		reterr,
		"they end when what they wait for answers or is taken away, often a file system; `netcordon host status` then removes the rest");
}
