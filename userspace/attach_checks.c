/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach_checks.c - what `run` does to a process and `attach` can only look at
 *
 * One row for each: what it is, and "ok", "open" (some process in the cgroup or below it lacks it), or "unknown" (it cannot be seen from outside, or nothing
 * runs yet). Each that is not "ok" is a gap that somebody else answers for.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "descriptors_look.h"
#include "launch_state.h"

#define DESCRIPTORS_MS 2000
#define PID_SPACES 64 /* pid namespaces of one cgroup that are told apart; with more it is not known who shares one */

/*
 * A pid namespace of its own keeps others out only while its first process is inside too: where that stands elsewhere (the sandbox of a pod that shares its
 * processes, --pid=container:OTHER), those outside can be named, and with the right user traced.
 */
struct pid_space {
	ino_t inode;
	bool first_inside;
};

struct finding {
	uint64_t uid[4];
	uint64_t capabilities; /* any set */
	bool no_new_privs, filtered;
	bool own_pid, own_mount, own_ipc;
	bool first_of_pids; /* in its own pid namespace it is number 1 */
	enum nc_descriptors descriptors;
};

/* 0: it cannot be seen. */
static ino_t namespace_of(int pid, const char *kind)
{
	char path[64];
	struct stat found;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	return stat(path, &found) == 0 ? found.st_ino : 0;
}

static bool own_namespace(int pid, const char *kind)
{
	ino_t mine = namespace_of(pid, kind), first = namespace_of(1, kind);

	return mine && first && mine != first;
}

/* "NSpid:", then the process's number in each pid namespace from ours inwards. Anybody may read that of any process, its namespace's file not. */
static void read_numbers(const char *line, struct finding *found)
{
	int outer, inner, used = 0;

	if (sscanf(line, "NSpid: %d%n", &outer, &used) != 1)
		return;
	for (line += used; sscanf(line, "%d%n", &inner, &used) == 1; line += used) {
		found->own_pid = true;
		found->first_of_pids = inner == 1;
	}
}

static bool read_status(int pid, struct finding *found)
{
	char path[64], line[256];
	NC_FCLOSE FILE *file = NULL;
	uint64_t value;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Uid: %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &found->uid[0], &found->uid[1], &found->uid[2], &found->uid[3]);
		if (sscanf(line, "Cap%*[A-Za-z]: %" SCNx64, &value) == 1 && strncmp(line, "CapBnd", 6) != 0)
			found->capabilities |= value;
		if (sscanf(line, "NoNewPrivs: %" SCNu64, &value) == 1)
			found->no_new_privs = value == 1;
		if (sscanf(line, "Seccomp: %" SCNu64, &value) == 1)
			found->filtered = value == 2;
		read_numbers(line, found);
	}
	return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------------------------------------------------- */

static bool uid_ok(const struct finding *found)
{
	return found->uid[0] && found->uid[1] && found->uid[2] && found->uid[3];
}

static bool capabilities_ok(const struct finding *found)
{
	return found->capabilities == 0;
}

static bool no_new_privs_ok(const struct finding *found)
{
	return found->no_new_privs;
}

static bool seccomp_ok(const struct finding *found)
{
	return found->filtered;
}

static bool pid_ok(const struct finding *found)
{
	return found->own_pid;
}

static bool mount_ok(const struct finding *found)
{
	return found->own_mount;
}

static bool ipc_ok(const struct finding *found)
{
	return found->own_ipc;
}

static bool descriptors_ok(const struct finding *found)
{
	return found->descriptors == NC_DESCRIPTORS_HARMLESS;
}

static const struct {
	const char *what;
	bool (*ok)(const struct finding *found); /* NULL: cannot be seen from outside */
	bool from_birth;			 /* a runtime makes it before its hooks run; the others come with the container's own program */
} rows[] = {
	{"uid_not_root", uid_ok, false},
	{"no_capabilities", capabilities_ok, false},
	{"no_new_privs", no_new_privs_ok, false},
	{"seccomp", seccomp_ok, false},
	{"pid_namespace", pid_ok, true},
	{"mount_namespace", mount_ok, true},
	{"ipc_namespace", ipc_ok, true},
	{"descriptors", descriptors_ok, false},
	{"own_uid", NULL, false},
	{"environment", NULL, false},
	{"keyring", NULL, false},
	{"terminal", NULL, false},
	{"born_inside", NULL, false},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What is known of a row: the worst of what the processes say. */
enum state { STATE_OK, STATE_UNKNOWN, STATE_OPEN };

struct checks {
	struct nc_host *host;
	int64_t until_ns; /* for all descriptors of all processes */
	enum state states[ROWS];
	struct pid_space spaces[PID_SPACES];
	size_t space_count; /* may be more than there is room for */
	bool early;	    /* only what is there from birth is asked for */
	int looked;
};

static void worse(enum state *state, enum state other)
{
	if (other > *state)
		*state = other;
}

static void note_pid_space(struct checks *checks, ino_t inode, bool first)
{
	size_t i = 0;

	while (i < checks->space_count && i < PID_SPACES && checks->spaces[i].inode != inode)
		i++;
	if (i < PID_SPACES) {
		checks->spaces[i].inode = inode;
		checks->spaces[i].first_inside |= first;
	}
	if (i == checks->space_count)
		checks->space_count++;
}

static enum state judge_pid_spaces(const struct checks *checks)
{
	for (size_t i = 0; i < checks->space_count && i < PID_SPACES; i++) {
		if (!checks->spaces[i].first_inside)
			return STATE_OPEN;
	}
	return checks->space_count > PID_SPACES ? STATE_UNKNOWN : STATE_OK;
}

/* A process that has ended meanwhile says nothing; one that cannot be named (0: of another pid namespace) makes everything unknown. */
static int look(void *context, pid_t pid)
{
	struct checks *checks = context;
	struct finding found = {0};
	ino_t pids;

	if (pid > 0 && !read_status(pid, &found))
		return 0;
	checks->looked++;
	if (pid > 0) {
		pids = namespace_of(pid, "pid");
		if (found.own_pid)
			note_pid_space(checks, pids, found.first_of_pids && pids); /* those that cannot be told apart prove nothing for each other */
		found.own_mount = own_namespace(pid, "mnt");
		found.own_ipc = own_namespace(pid, "ipc");
		if (!checks->early)
			found.descriptors = nc_descriptors_look(checks->host, pid, checks->until_ns);
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (pid <= 0 || (rows[i].ok == descriptors_ok && found.descriptors == NC_DESCRIPTORS_UNSEEN))
			worse(&checks->states[i], STATE_UNKNOWN);
		else if (rows[i].ok && !rows[i].ok(&found))
			worse(&checks->states[i], STATE_OPEN);
	}
	return 0;
}

int nc_attach_checks(struct nc_host *host, int cgroup_fd, bool early, json_t **ret_rows, struct nc_error *reterr)
{
	static const char *const words[] = {[STATE_OK] = "ok", [STATE_UNKNOWN] = "unknown", [STATE_OPEN] = "open"};
	struct checks checks = {.host = host, .early = early, .until_ns = nc_now_ns() + (int64_t)DESCRIPTORS_MS * 1000000};
	json_t *array;
	int r = nc_cgroup_each_process_below(cgroup_fd, look, &checks);

	if (r < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, r, "read the cgroup's processes");
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].ok == pid_ok)
			worse(&checks.states[i], judge_pid_spaces(&checks));
	}
	array = json_array();
	for (size_t i = 0; array && i < ROWS; i++) {
		bool blind = !rows[i].ok || !checks.looked || (early && !rows[i].from_birth);

		json_array_append_new(array, json_pack("{s:s, s:s}", "what", rows[i].what, "state", words[blind ? STATE_UNKNOWN : checks.states[i]]));
	}
	if (!array)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for what was seen of the cgroup's processes");
	*ret_rows = array;
	return 0;
}
