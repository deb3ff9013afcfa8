// SPDX-License-Identifier: GPL-2.0-only
/*
 * command_events.c - `events`: the log of an instance's evidence, for people or as it stands
 *
 * Reads the file that the supervisor writes, live or ended. It shows and does not verify: that is `evidence verify`, with a key. Following ends with
 * the record that ends the log; it wakes up when the folder changes, and never polls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "commands.h"
#include "evidence.h"
#include "evidence_ids.h"
#include "evidence_names.h"
#include "events_show.h"
#include "folder.h"
#include "instance_state.h"
#include "json.h"
#include "other_build.h"
#include "output.h"

const struct argp_option nc_events_options[] = {
	{"follow", NC_OPTION_FOLLOW, NULL, 0, "go on until the log ends", 0},
	{"since", NC_OPTION_SINCE, "SEQUENCE", 0, "only records after this one", 0},
	{0},
};

struct reading {
	const struct nc_invocation *invocation;
	int64_t since, last; /* sequences: asked for, and the last one seen; 0: none */
	bool ended;
	struct nc_events_view view;
};

/* ---- where the evidence is ------------------------------------------------------------------------------------------------------------------ */

/* Folders are called INSTANCE-GENERATION; a name may hold dashes itself, a generation does not. */
static bool belongs_to(const char *folder, const char *instance)
{
	size_t length = strlen(instance);
	const char *generation = folder + length + 1;

	return !strncmp(folder, instance, length) && folder[length] == '-' && generation[0] &&
	       strspn(generation, "0123456789abcdef") == strlen(generation);
}

static int newest_of(DIR *parent, const char *instance, char ret_name[NAME_MAX + 1])
{
	struct timespec newest = {0};
	const struct dirent *entry;

	ret_name[0] = '\0';
	while ((entry = readdir(parent))) {
		char path[NAME_MAX + sizeof("/" NC_EVIDENCE_LAUNCH)];
		struct stat status;

		snprintf(path, sizeof(path), "%s/%s", entry->d_name, NC_EVIDENCE_LAUNCH);
		if (!belongs_to(entry->d_name, instance) || fstatat(dirfd(parent), path, &status, 0) < 0)
			continue;
		if (status.st_mtim.tv_sec > newest.tv_sec || (status.st_mtim.tv_sec == newest.tv_sec && status.st_mtim.tv_nsec >= newest.tv_nsec)) {
			newest = status.st_mtim;
			snprintf(ret_name, NAME_MAX + 1, "%s", entry->d_name);
		}
	}
	return ret_name[0] ? 0 : -ENOENT;
}

static int open_path(const char *path, int *ret_fd, struct nc_error *reterr)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "open %s", path);
	*ret_fd = fd;
	return 0;
}

/* A live instance says where its evidence is. -ENOENT when there is none of that name, or this user cannot ask. */
static int open_live(const struct nc_invocation *invocation, int *ret_fd)
{
	struct nc_instance_state state;
	char folder[NC_PATH_MAX];
	struct nc_error unused;

	if (nc_invocation_instance(invocation, invocation->arguments[0], folder, &unused) < 0)
		return -ENOENT;
	if (nc_instance_state_read(folder, &state, &unused) < 0)
		return -ENOENT;
	return open_path(state.evidence, ret_fd, &unused) < 0 ? -ENOENT : 0;
}

/* The same of an instance that another build sealed: how evidence is written does not depend on the build. */
static int open_other(const struct nc_invocation *invocation, int *ret_fd)
{
	struct nc_host_options options;
	struct nc_other_facts facts;
	struct nc_error unused;
	struct nc_other other;

	nc_invocation_host(invocation, &options);
	if (nc_other_find(&options, invocation->arguments[0], &other, &unused) <= 0)
		return -ENOENT;
	nc_other_look(&other, &facts);
	return facts.evidence[0] && open_path(facts.evidence, ret_fd, &unused) == 0 ? 0 : -ENOENT;
}

static int open_ended(const struct nc_invocation *invocation, int *ret_fd, struct nc_error *reterr)
{
	const char *what = invocation->arguments[0], *parent_path = invocation->config.evidence;
	char name[NAME_MAX + 1], path[PATH_MAX];
	DIR *parent;
	int ret;

	parent = opendir(parent_path);
	if (!parent)
		return nc_error_sys(reterr, errno == ENOENT ? NC_E_INSTANCE_UNKNOWN : NC_E_HOST_DENIED, -errno, "look for the evidence of '%s' in %s",
				    what, parent_path);
	ret = newest_of(parent, what, name);
	closedir(parent);
	if (ret < 0) {
		nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, ret, "no instance '%s' lives, and %s holds no evidence of one", what, parent_path);
		return nc_error_hint(reterr, "an evidence folder elsewhere is named by its path, with a slash");
	}
	snprintf(path, sizeof(path), "%s/%s", parent_path, name);
	return open_path(path, ret_fd, reterr);
}

static int open_folder(const struct nc_invocation *invocation, int *ret_fd, struct nc_error *reterr)
{
	const char *what = invocation->arguments[0];
	struct nc_host_options options;

	if (strchr(what, '/'))
		return open_path(what, ret_fd, reterr);
	if (open_live(invocation, ret_fd) == 0 || open_other(invocation, ret_fd) == 0)
		return 0;
	nc_invocation_host(invocation, &options);
	return nc_other_error(&options, what, open_ended(invocation, ret_fd, reterr), reterr);
}

/* ---- records -------------------------------------------------------------------------------------------------------------------------------- */

/* As it stands, where that is ASCII: a foreign log may hold what a terminal obeys. */
static int print_line(const char *line, size_t length, const json_t *record, struct nc_error *reterr)
{
	NC_FREE char *escaped = NULL;

	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)line[i] < 0x80)
			continue;
		escaped = json_dumps(record, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS);
		if (!escaped)
			return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "print a record");
		puts(escaped);
		return 0;
	}
	printf("%.*s\n", (int)length, line);
	return 0;
}

static int show(struct reading *reading, const char *line, size_t length, struct nc_error *reterr)
{
	NC_JSON json_t *record = NULL;
	json_int_t sequence;
	int ret = nc_json_parse(line, length, NC_E_EVIDENCE_INVALID, &record, reterr);

	if (ret < 0)
		return ret;
	sequence = json_integer_value(json_object_get(record, "sequence"));
	if (sequence != reading->last + 1 && !reading->last && reading->since + 1 < sequence)
		return nc_error_set(reterr, NC_E_EVENTS_GONE, -ENODATA, "record %" PRId64 " was asked for and the log begins with %" PRId64,
				    reading->since + 1, (int64_t)sequence);
	reading->last = sequence;
	reading->ended = !strcmp(nc_json_text(record, "kind"), NC_EVIDENCE_END);
	nc_evidence_ids_learn(reading->view.ids, record); /* shown, not verified: what it cannot take has no name */
	if (sequence <= reading->since)
		return 0;
	if (reading->invocation->json)
		return print_line(line, length, record, reterr);
	nc_events_show(&reading->view, record);
	return 0;
}

/* Shows every whole line that is there; a line without its line feed is being written, and stays for the next time. */
static int show_lines(struct reading *reading, FILE *log, struct nc_error *reterr)
{
	NC_FREE char *line = malloc(NC_EVIDENCE_RECORD_MAX);

	if (!line)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read %s", NC_EVIDENCE_LOG);
	for (;;) {
		long start = ftell(log);
		size_t length = 0;
		int byte, ret;

		while (length < NC_EVIDENCE_RECORD_MAX && (byte = getc(log)) != EOF) {
			line[length++] = (char)byte;
			if (byte == '\n')
				break;
		}
		if (length == NC_EVIDENCE_RECORD_MAX && line[length - 1] != '\n')
			return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EMSGSIZE, "record %" PRId64 " of %s is longer than %u bytes",
					    reading->last + 1, NC_EVIDENCE_LOG, NC_EVIDENCE_RECORD_MAX);
		if (!length || line[length - 1] != '\n') {
			if (ferror(log))
				return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "read %s", NC_EVIDENCE_LOG);
			clearerr(log);
			fseek(log, start, SEEK_SET);
			return 0;
		}
		ret = show(reading, line, length - 1, reterr);
		if (ret < 0)
			return ret;
	}
}

/* Waits until the folder changes. The watch stands before the log is read, so that no change falls between the two. */
static int wait_for_change(int watch, struct nc_error *reterr)
{
	char changes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct pollfd poll_fd = {.fd = watch, .events = POLLIN};

	if (fflush(stdout))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "write to standard output");
	if (poll(&poll_fd, 1, -1) < 0 || read(watch, changes, sizeof(changes)) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "wait for the log to grow");
	return 0;
}

static int open_watch(int folder_fd, int *ret_watch, struct nc_error *reterr)
{
	char path[64];
	int watch = inotify_init1(IN_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder_fd);
	if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF) < 0) {
		int ret = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "watch the evidence folder");

		if (watch >= 0)
			close(watch);
		return ret;
	}
	*ret_watch = watch;
	return 0;
}

/* What the launch statement says about the log's times and names. As it stands: a log is shown without it too. */
static void read_statement(struct reading *reading, int folder_fd)
{
	NC_FREE char *bytes = NULL;
	NC_JSON json_t *statement = NULL;
	struct nc_error ignored;
	struct tm tm = {0};
	uint64_t boot_ns;
	size_t length;

	if (nc_folder_read(folder_fd, NC_EVIDENCE_LAUNCH, NC_JSON_SIZE_MAX, &bytes, &length, &ignored) < 0 ||
	    nc_json_parse(bytes, length, NC_E_EVIDENCE_INVALID, &statement, &ignored) < 0)
		return;
	if (strptime(nc_json_text(statement, "time"), "%Y-%m-%dT%H:%M:%SZ", &tm) && nc_json_read_u64(json_object_get(statement, "time_ns"), &boot_ns))
		reading->view.wall_ns = timegm(&tm) * INT64_C(1000000000) - (int64_t)boot_ns;
	nc_evidence_ids_learn(reading->view.ids, statement);
}

static int read_log(struct reading *reading, int folder_fd, struct nc_error *reterr)
{
	const bool follow = nc_option(reading->invocation, NC_OPTION_FOLLOW) != NULL;
	NC_CLOSE int watch = -1;
	NC_FCLOSE FILE *log = NULL;
	struct stat status;
	int fd, ret = follow ? open_watch(folder_fd, &watch, reterr) : 0;

	if (ret < 0)
		return ret;
	/* the folder may be anybody's: no waiting for a FIFO's other end, no following out of it */
	fd = openat(folder_fd, NC_EVIDENCE_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "open %s/%s", reading->invocation->arguments[0], NC_EVIDENCE_LOG);
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EINVAL, "%s/%s is not a regular file", reading->invocation->arguments[0],
				    NC_EVIDENCE_LOG);
	}
	log = fdopen(fd, "r");
	if (!log) {
		close(fd);
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read %s", NC_EVIDENCE_LOG);
	}
	ret = show_lines(reading, log, reterr);
	while (ret == 0 && follow && !reading->ended) {
		ret = wait_for_change(watch, reterr);
		if (ret == 0)
			ret = show_lines(reading, log, reterr);
	}
	return ret;
}

int nc_command_events(struct nc_invocation *invocation, struct nc_error *reterr)
{
	NC_JSON json_t *ids = json_object();
	struct reading reading = {.invocation = invocation, .view.ids = ids};
	NC_CLOSE int folder_fd = -1;
	int ret = nc_option_number(invocation, NC_OPTION_SINCE, 0, INT64_MAX - 1, &reading.since, reterr);

	if (ret == 0)
		ret = open_folder(invocation, &folder_fd, reterr);
	if (ret == 0) {
		reading.view.folder_fd = folder_fd;
		read_statement(&reading, folder_fd);
		ret = read_log(&reading, folder_fd, reterr);
	}
	return ret < 0 ? ret : NC_EXIT_YES;
}
