/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach_checks.c - what `run` does to a process and `attach` can only look at
 *
 * One row for each: what it is, and "ok", "open" (some process in the cgroup lacks it), or "unknown" (it cannot be seen from outside, or nothing runs yet). Each
 * that is not "ok" is a gap that somebody else answers for.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "launch_state.h"

struct finding {
	uint64_t uid[4];
	uint64_t capabilities; /* any set */
	bool no_new_privs, filtered;
	bool own_pid, own_mount, own_ipc;
	bool foreign_descriptors; /* a socket, folder or handle of the kernel's beyond 0-2 */
};

static bool own_namespace(int pid, const char *kind)
{
	char mine[64], first[64];
	struct stat a, b;

	snprintf(mine, sizeof(mine), "/proc/%d/ns/%s", pid, kind);
	snprintf(first, sizeof(first), "/proc/1/ns/%s", kind);
	return stat(mine, &a) == 0 && stat(first, &b) == 0 && a.st_ino != b.st_ino;
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
	}
	return true;
}

static void read_descriptors(int pid, struct finding *found)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		struct stat st;

		if (!isdigit((unsigned char)entry->d_name[0]) || fstatat(dirfd(folder), entry->d_name, &st, 0) < 0)
			continue;
		if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
			found->foreign_descriptors = true;
	}
	if (folder)
		closedir(folder);
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
	return !found->foreign_descriptors;
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

static bool look(int pid, bool open_rows[ROWS])
{
	struct finding found = {0};

	if (!read_status(pid, &found))
		return false;
	found.own_pid = own_namespace(pid, "pid");
	found.own_mount = own_namespace(pid, "mnt");
	found.own_ipc = own_namespace(pid, "ipc");
	read_descriptors(pid, &found);
	for (size_t i = 0; i < ROWS; i++)
		open_rows[i] |= rows[i].ok && !rows[i].ok(&found);
	return true;
}

int nc_attach_checks(int cgroup_fd, bool early, json_t **ret_rows, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	NC_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	json_t *array = json_array();
	bool open_rows[ROWS] = {false};
	int pid, looked = 0;

	if (!file || !array) {
		json_decref(array);
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, errno ? -errno : -ENOMEM, "read the cgroup's processes");
	}
	fd = -1;
	while (fscanf(file, "%d", &pid) == 1)
		looked += look(pid, open_rows);
	for (size_t i = 0; i < ROWS; i++) {
		const char *state = !rows[i].ok || !looked || (early && !rows[i].from_birth) ? "unknown" : open_rows[i] ? "open" : "ok";

		json_array_append_new(array, json_pack("{s:s, s:s}", "what", rows[i].what, "state", state));
	}
	*ret_rows = array;
	return 0;
}
