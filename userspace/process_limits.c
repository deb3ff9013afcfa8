/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process_limits.c - process.limits of the profile, made real or refused
 *
 * The unified hierarchy's own controllers are used where this host has them there. A hybrid host keeps them in hierarchies of version 1: then a cgroup of
 * ours is made at the top of that hierarchy and the child's two processes join it before the command exists; what they fork stays there.
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
#include "process_limits.h"

#define CPU_PERIOD_US 100000

static const struct {
	const char *name;	 /* of the controller */
	const char *member;	 /* in the profile */
	const char *file;	 /* unified hierarchy */
	const char *legacy_file; /* version 1; NULL: resource limit instead */
	const char *legacy_name; /* as mountinfo's options have it */
} kinds[NC_LIMIT_KINDS] = {
	[NC_LIMIT_MEMORY] = {"memory", "memory", "memory.max", "memory.limit_in_bytes", "memory"},
	[NC_LIMIT_CPU] = {"cpu", "cpu_percent", "cpu.max", "cpu.cfs_quota_us", "cpu"},
	[NC_LIMIT_PIDS] = {"pids", "pids", "pids.max", NULL, "pids"},
};

static int64_t wanted(const struct nc_profile_process *process, enum nc_limit_kind kind)
{
	switch (kind) {
	case NC_LIMIT_MEMORY:
		return process->memory_bytes;
	case NC_LIMIT_CPU:
		return process->cpu_percent;
	case NC_LIMIT_PIDS:
		return process->pids;
	case NC_LIMIT_KINDS:
		break;
	}
	return -1;
}

static int write_at(int folder_fd, const char *file, const char *text)
{
	NC_CLOSE int fd = openat(folder_fd, file, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);

	if (fd < 0)
		return -errno;
	return write(fd, text, length) == (ssize_t)length ? 0 : -errno;
}

/* Asks every cgroup above `path` to hand the controller down; the top of the mount is the first. */
static int hand_down(const char *mount, const char *path, const char *controller)
{
	char folder[NC_PATH_MAX], word[32];
	size_t length = strlen(mount);

	snprintf(word, sizeof(word), "+%s", controller);
	for (const char *slash = path + length; slash && *slash; slash = strchr(slash + 1, '/')) {
		NC_CLOSE int fd = -1;
		int r;

		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		r = write_at(fd, "cgroup.subtree_control", word);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool host_has(const char *mount, const char *controller)
{
	char path[NC_PATH_MAX + 24], line[512] = "", *rest = line;
	NC_FCLOSE FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	for (char *word; (word = strsep(&rest, " \n"));) {
		if (strcmp(word, controller) == 0)
			return true;
	}
	return false;
}

static void value_text(enum nc_limit_kind kind, int64_t value, bool legacy, char ret_text[48])
{
	int64_t quota = value * CPU_PERIOD_US / 100;

	if (kind != NC_LIMIT_CPU)
		snprintf(ret_text, 48, "%" PRId64, kind == NC_LIMIT_PIDS ? value + 1 : value); /* init is one of them */
	else if (legacy)
		snprintf(ret_text, 48, "%" PRId64, quota);
	else
		snprintf(ret_text, 48, "%" PRId64 " %d", quota, CPU_PERIOD_US);
}

static int limit_unified(enum nc_limit_kind kind, int64_t value, const char *mount, int cgroup_fd, const char *path)
{
	char text[48];
	int r = 0;

	if (!host_has(mount, kinds[kind].name))
		return -ENODEV;
	if (faccessat(cgroup_fd, kinds[kind].file, F_OK, 0) < 0)
		r = hand_down(mount, path, kinds[kind].name);
	value_text(kind, value, false, text);
	return r < 0 ? r : write_at(cgroup_fd, kinds[kind].file, text);
}

/* Where the version 1 hierarchy with this controller is mounted. */
static bool find_legacy(const char *controller, char ret_mount[NC_PATH_MAX])
{
	NC_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[2048], point[NC_PATH_MAX], options[512];

	while (file && fgets(line, sizeof(line), file)) {
		char *rest = options, *tail = strstr(line, " - cgroup ");

		if (!tail || sscanf(line, "%*s %*s %*s %*s %511s", point) != 1 || sscanf(tail, " - cgroup %*s %511s", options) != 1)
			continue;
		for (char *word; (word = strsep(&rest, ","));) {
			if (strcmp(word, controller) == 0) {
				memcpy(ret_mount, point, sizeof(point));
				return true;
			}
		}
	}
	return false;
}

static int limit_legacy(enum nc_limit_kind kind, int64_t value, uint64_t generation, char ret_folder[NC_PATH_MAX])
{
	char mount[NC_PATH_MAX], folder[NC_PATH_MAX], text[48];
	NC_CLOSE int fd = -1;
	int r;

	if (!kinds[kind].legacy_file || !find_legacy(kinds[kind].legacy_name, mount))
		return -ENODEV;
	if (snprintf(folder, sizeof(folder), "%s/netcordon-%016" PRIx64, mount, generation) >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	if (mkdir(folder, 0755) < 0)
		return -errno;
	fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	value_text(kind, value, true, text);
	r = fd < 0 ? -errno : write_at(fd, kinds[kind].legacy_file, text);
	if (r < 0) {
		rmdir(folder);
		return r;
	}
	memcpy(ret_folder, folder, sizeof(folder));
	return 0;
}

static int make_one(struct nc_limits *limits, enum nc_limit_kind kind, int64_t value, const char *mount, int cgroup_fd, const char *path,
		    uint64_t generation)
{
	int r = limit_unified(kind, value, mount, cgroup_fd, path);

	limits->mechanism[kind] = "cgroup2";
	if (r != -ENODEV)
		return r;
	limits->mechanism[kind] = "cgroup1";
	r = limit_legacy(kind, value, generation, limits->folders[kind]);
	if (r != -ENODEV || kind != NC_LIMIT_PIDS)
		return r;
	limits->mechanism[kind] = "rlimit";
	return 0;
}

int nc_limits_make(const struct nc_profile_process *process, int cgroup_fd, const char *cgroup_path, uint64_t generation,
		   struct nc_limits *ret_limits, struct nc_error *reterr)
{
	struct nc_limits limits = {0};
	char mount[NC_PATH_MAX];
	int r;

	if (process->memory_bytes < 0 && process->cpu_percent < 0 && process->pids < 0) {
		*ret_limits = limits;
		return 0;
	}
	r = nc_cgroup_mount(mount, reterr);
	if (r < 0)
		return r;
	for (int kind = 0; kind < NC_LIMIT_KINDS; kind++) {
		int64_t value = wanted(process, kind);

		if (value < 0)
			continue;
		r = make_one(&limits, kind, value, mount, cgroup_fd, cgroup_path, generation);
		if (r < 0) {
			nc_limits_remove(&limits);
			nc_error_sys(reterr, NC_E_PROCESS_INVALID, r, "this host cannot enforce the %s limit", kinds[kind].name);
			snprintf(reterr->pointer, sizeof(reterr->pointer), "/process/limits/%s", kinds[kind].member);
			return nc_error_hint(reterr, "make the %s controller available to netcordon's cgroups, or leave the limit out",
					     kinds[kind].name);
		}
	}
	*ret_limits = limits;
	return 0;
}

int nc_limits_join(const struct nc_limits *limits, pid_t pid, struct nc_error *reterr)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	for (int kind = 0; kind < NC_LIMIT_KINDS; kind++) {
		NC_CLOSE int fd = -1;
		int r;

		if (!limits->folders[kind][0])
			continue;
		fd = open(limits->folders[kind], O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : write_at(fd, "cgroup.procs", text);
		if (r < 0)
			return nc_error_sys(reterr, NC_E_PROCESS_INVALID, r, "move the child into %.200s", limits->folders[kind]);
	}
	return 0;
}

void nc_limits_plan(const struct nc_profile_process *process, const struct nc_limits *limits, struct nc_child_plan *plan)
{
	const struct {
		int resource;
		int64_t value;
	} rows[NC_CHILD_LIMITS] = {
		{RLIMIT_NOFILE, process->open_files},
		{RLIMIT_CORE, process->core_bytes},
		{RLIMIT_FSIZE, process->file_bytes},
		{-1, -1},
	};

	for (int i = 0; i < NC_CHILD_LIMITS; i++) {
		if (rows[i].value >= 0)
			plan->limits[plan->limit_count++] = (struct nc_child_limit){rows[i].resource, (rlim_t)rows[i].value};
	}
	plan->pids = limits->mechanism[NC_LIMIT_PIDS] && strcmp(limits->mechanism[NC_LIMIT_PIDS], "rlimit") == 0 ? process->pids : -1;
}

void nc_limits_remove(struct nc_limits *limits)
{
	for (int kind = 0; kind < NC_LIMIT_KINDS; kind++) {
		/* a task that has just been reaped leaves its cgroup a moment later */
		for (int tries = 0; limits->folders[kind][0] && rmdir(limits->folders[kind]) < 0 && errno == EBUSY && tries < 200; tries++)
			usleep(5000);
		limits->folders[kind][0] = '\0';
	}
}

static const char *mechanism_of(const struct nc_limits *limits, const char *member)
{
	for (int kind = 0; kind < NC_LIMIT_KINDS; kind++)
		if (!strcmp(kinds[kind].member, member))
			return limits->mechanism[kind];
	return "rlimit";
}

json_t *nc_limits_json(const struct nc_profile_process *process, const struct nc_limits *limits)
{
	json_t *object = json_object();

#define LIMIT_JSON(name, field)                                                                                                                      \
	if (object && process->field >= 0)                                                                                                           \
		json_object_set_new(object, name,                                                                                                    \
				    json_pack("{s:I, s:s}", "value", (json_int_t)process->field, "mechanism", mechanism_of(limits, name)));
	NC_PROFILE_LIMITS(LIMIT_JSON)
	return object;
}
