/* SPDX-License-Identifier: GPL-2.0-only */
/* instance_state.c - the files in an instance's folder: written beside and renamed, read strictly */
#include "instance_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cleanup.h"
#include "json.h"
#include "profile.h"

#define STATE_FILE "state.json"

int nc_process_identify(pid_t pid, struct nc_process_id *ret_id)
{
	char path[32], text[1024];
	NC_CLOSE int fd = -1;
	const char *field;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return -ESRCH;
	text[length] = '\0';
	/* the second field is a name in brackets and may hold anything; after its last bracket come the fields from the third on */
	field = strrchr(text, ')');
	for (int number = 2; field && number < 22; number++)
		field = strchr(field + 1, ' ');
	if (!field)
		return -EPROTO;
	*ret_id = (struct nc_process_id){.pid = pid, .start = strtoull(field + 1, NULL, 10)};
	return 0;
}

int nc_process_open(const struct nc_process_id *id)
{
	NC_CLOSE int fd = (int)syscall(SYS_pidfd_open, id->pid, 0);
	struct nc_process_id now;

	if (fd < 0)
		return -errno;
	/* the descriptor is of whoever has the number now; if that is still who was meant, it will be for ever */
	if (nc_process_identify(id->pid, &now) < 0 || now.start != id->start)
		return -ESRCH;
	return NC_TAKE_FD(fd);
}

static int write_file(int folder_fd, const char *name, const char *bytes, size_t length)
{
	char beside[64];
	NC_CLOSE int fd = -1;

	snprintf(beside, sizeof(beside), "%s.new", name);
	fd = openat(folder_fd, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, bytes, length) != (ssize_t)length || renameat(folder_fd, beside, folder_fd, name) < 0)
		return -errno;
	return 0;
}

static json_t *process_json(const struct nc_process_id *id)
{
	return json_pack("{s:i, s:o}", "pid", (int)id->pid, "start", nc_json_u64(id->start));
}

int nc_instance_state_write(const char *folder, const struct nc_instance_state *state, const char *profile, size_t profile_length,
			    struct nc_error *reterr)
{
	NC_JSON json_t *document = json_pack("{s:i, s:s, s:o, s:o, s:o, s:i, s:s}", "version", 1, "provider", state->provider, "supervisor",
					     process_json(&state->supervisor), "init", process_json(&state->init), "netns_cookie",
					     nc_json_u64(state->netns_cookie), "grace_ms", state->grace_ms, "evidence", state->evidence);
	NC_CLOSE int folder_fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	NC_FREE char *text = NULL;
	size_t length;
	int r;

	if (folder_fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", folder);
	if (!document)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the instance's state");
	r = nc_json_canonical(document, &text, &length, reterr);
	if (r < 0)
		return r;
	r = profile ? write_file(folder_fd, NC_INSTANCE_PROFILE, profile, profile_length) : 0;
	if (r == 0)
		r = write_file(folder_fd, STATE_FILE, text, length);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "write the instance's state in %s", folder) : 0;
}

static bool read_process(const json_t *document, const char *name, struct nc_process_id *id)
{
	const json_t *object = json_object_get(document, name);

	id->pid = (pid_t)json_integer_value(json_object_get(object, "pid"));
	return nc_json_read_u64(json_object_get(object, "start"), &id->start);
}

int nc_instance_state_read(const char *folder, struct nc_instance_state *ret_state, struct nc_error *reterr)
{
	struct nc_instance_state state = {0};
	NC_JSON json_t *document = NULL;
	NC_FREE char *text = NULL;
	const char *evidence, *provider;
	char path[NC_PATH_MAX];
	size_t length;
	int r;

	if (snprintf(path, sizeof(path), "%s/" STATE_FILE, folder) >= (int)sizeof(path))
		return nc_error_set(reterr, NC_E_SYSTEM, -ENAMETOOLONG, "%s is too long a path", folder);
	r = nc_profile_read(path, &text, &length, reterr);
	if (r < 0) {
		nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, r, "the instance is not sealed (yet): %s", path);
		return r;
	}
	r = nc_json_parse(text, length, NC_E_SYSTEM, &document, reterr);
	if (r < 0)
		return r;
	evidence = json_string_value(json_object_get(document, "evidence"));
	provider = json_string_value(json_object_get(document, "provider"));
	if (json_integer_value(json_object_get(document, "version")) != 1 || !evidence || !provider ||
	    !read_process(document, "supervisor", &state.supervisor) || !read_process(document, "init", &state.init) ||
	    !nc_json_read_u64(json_object_get(document, "netns_cookie"), &state.netns_cookie))
		return nc_error_set(reterr, NC_E_SYSTEM, -EPROTO, "%s is not an instance's state", path);
	state.grace_ms = (int)json_integer_value(json_object_get(document, "grace_ms"));
	snprintf(state.evidence, sizeof(state.evidence), "%s", evidence);
	snprintf(state.provider, sizeof(state.provider), "%s", provider);
	*ret_state = state;
	return 0;
}
