// SPDX-License-Identifier: GPL-2.0-only
/*
 * cgroup.c - the cgroup file system: where it is, who a cgroup is, making, ending and removing one
 *
 * A cgroup's id is its directory's inode number (64 bits of kernfs id on 64-bit machines), which is what bpf_get_current_cgroup_id gives. The hierarchy's
 * own root has id 1, by which its place is recognised whatever is mounted where.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <linux/magic.h>
#include "inside.h"

#define DEPTH_MAX 64
#define REMOVE_TRIES 200 /* of 5 ms */
#define SIGNAL_STEP_MS 10

/* ---- where, who --------------------------------------------------------------------------------------------------------------------------- */

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
			*to = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

/* One line: id parent major:minor root mountpoint options [optional]... - type source options. Returns the mount point of a cgroup2, or NULL. */
char *nc_mountinfo_cgroup2(char *line)
{
	char *separator = strstr(line, " - "), *field = line, *save = NULL;

	if (!separator || strncmp(separator + 3, "cgroup2 ", 8))
		return NULL;
	*separator = '\0';
	field = strtok_r(line, " ", &save);
	for (int i = 0; field && i < 4; i++) {
		if (i == 3 && strcmp(field, "/")) /* a part of the hierarchy, bound somewhere */
			return NULL;
		field = strtok_r(NULL, " ", &save);
	}
	if (field)
		unescape(field);
	return field;
}

/* Does the line show a cgroup2 from above the root that we are shown? So it does in a cgroup namespace that begins below the hierarchy's root. */
static bool lies_above(const char *line)
{
	char root[8];

	return strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %7s", root) == 1 && !strncmp(root, "/..", 3);
}

int nc_cgroup_mount(char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	NC_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	NC_FREE char *line = NULL;
	size_t capacity = 0;
	bool above = false;

	if (!file)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open /proc/self/mountinfo");
	while (getline(&line, &capacity, file) > 0) {
		char *point;

		above |= lies_above(line);
		point = nc_mountinfo_cgroup2(line);
		if (point)
			return nc_path(ret_path, reterr, "%s", point);
	}
	if (above) {
		nc_error_set(reterr, NC_E_HOST_UNSUPPORTED, -EXDEV, "this is a cgroup namespace that does not begin at the hierarchy's root");
		return nc_error_hint(reterr, "run netcordon in the host's: nsenter --cgroup=/proc/1/ns/cgroup");
	}
	nc_error_set(reterr, NC_E_HOST_UNSUPPORTED, -ENOENT, "no cgroup2 hierarchy is mounted");
	return nc_error_hint(reterr, "mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified");
}

int nc_cgroup_open(const char *path, int *ret_fd, struct nc_error *reterr)
{
	NC_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs found;

	if (fd < 0) {
		nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "open the cgroup %s", path);
		return nc_error_hint(reterr, "give the path of an existing cgroup2 directory");
	}
	if (fstatfs(fd, &found))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at the cgroup %s", path);
	if (found.f_type != CGROUP2_SUPER_MAGIC) {
		nc_error_set(reterr, NC_E_CGROUP_INVALID, -ENOTSUP, "%s is not in a cgroup2 file system", path);
		return nc_error_hint(reterr, "version 1 hierarchies cannot carry the programs; see /proc/self/mountinfo for cgroup2");
	}
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}

int nc_cgroup_identity(int cgroup_fd, uint64_t *ret_id, uint32_t *ret_depth, struct nc_error *reterr)
{
	char up[3 * DEPTH_MAX + 1] = ".";
	struct stat own, above;
	uint32_t depth = 0;

	if (fstat(cgroup_fd, &own))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at a cgroup");
	for (above = own; above.st_ino != NC_CGROUP_TOP_ID; depth++) {
		if (depth == DEPTH_MAX)
			return nc_error_set(reterr, NC_E_CGROUP_INVALID, -ELOOP, "the cgroup lies more than %d levels deep", DEPTH_MAX);
		strcpy(up + (depth ? 3 * depth - 1 : 0), depth ? "/.." : "..");
		if (fstatat(cgroup_fd, up, &above, 0))
			return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "look above the cgroup");
		if (above.st_dev != own.st_dev) {
			nc_error_set(reterr, NC_E_CGROUP_INVALID, -EXDEV, "the mount does not show the hierarchy's root");
			return nc_error_hint(reterr, "run outside a cgroup namespace: depths are counted from the real root");
		}
	}
	*ret_id = own.st_ino;
	*ret_depth = depth;
	return 0;
}

/* ---- making and removing ------------------------------------------------------------------------------------------------------------------ */

int nc_cgroup_make(int parent_fd, const char *name, int *ret_fd, struct nc_error *reterr)
{
	int fd;

	if (mkdirat(parent_fd, name, 0755) && errno != EEXIST)
		return nc_error_sys(reterr, errno == EPERM || errno == EACCES || errno == EROFS ? NC_E_HOST_DENIED : NC_E_SYSTEM, -errno,
				    "make the cgroup %s", name);
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;

		unlinkat(parent_fd, name, AT_REMOVEDIR);
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "open the cgroup %s", name);
	}
	*ret_fd = fd;
	return 0;
}

/* Removes the children of the cgroup behind fd, deepest first. */
static int remove_below(int fd, int depth)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int r = 0;

	if (!dir) {
		r = -errno;
		if (copy >= 0)
			close(copy);
		return r;
	}
	while ((entry = readdir(dir))) {
		NC_CLOSE int below = -1;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0 && depth < DEPTH_MAX)
			r = remove_below(below, depth + 1) ?: r;
		if (unlinkat(fd, entry->d_name, AT_REMOVEDIR) && errno != ENOENT)
			r = -errno;
	}
	closedir(dir);
	return r;
}

int nc_cgroup_remove(int parent_fd, const char *name, struct nc_error *reterr)
{
	int r = -EBUSY;

	/* a killed task leaves its cgroup a little after it stops being counted */
	for (int i = 0; i < REMOVE_TRIES && r == -EBUSY; i++) {
		NC_CLOSE int fd = -1;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		if (!unlinkat(parent_fd, name, AT_REMOVEDIR) || errno == ENOENT)
			return 0;
		r = -errno;
		fd = r == -EBUSY ? openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (fd >= 0)
			remove_below(fd, 0);
		if (fd >= 0 && !unlinkat(parent_fd, name, AT_REMOVEDIR))
			return 0;
		if (fd >= 0) {
			struct nc_error ignored;
			bool populated = true;

			if (!nc_cgroup_is_populated(fd, &populated, &ignored) && populated)
				break; /* living tasks: waiting does not help */
		}
	}
	return nc_error_sys(reterr, NC_E_SYSTEM, r, "remove the cgroup %s", name);
}

/* ---- ending ------------------------------------------------------------------------------------------------------------------------------- */

static int read_populated(int events_fd, bool *ret_populated)
{
	char text[256];
	ssize_t got = pread(events_fd, text, sizeof(text) - 1, 0);
	const char *found;

	if (got < 0)
		return errno == ENODEV ? 1 : -errno; /* the cgroup is gone */
	text[got] = '\0';
	found = strstr(text, "populated ");
	*ret_populated = found && found[10] == '1';
	return 0;
}

int nc_cgroup_is_populated(int cgroup_fd, bool *ret_populated, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	bool populated = false;
	int r = fd >= 0 ? read_populated(fd, &populated) : errno == ENOENT || errno == ENODEV ? 0 : -errno;

	if (r < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "read cgroup.events");
	*ret_populated = populated;
	return 0;
}

int nc_cgroup_write_one(int cgroup_fd, const char *file)
{
	NC_CLOSE int fd = openat(cgroup_fd, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		return -errno;
	return 0;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int nc_cgroup_end(int cgroup_fd, int timeout_ms, struct nc_error *reterr)
{
	NC_CLOSE int events_fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	long deadline = now_ms() + timeout_ms;
	bool populated = true, by_signal;
	int r;

	if (events_fd < 0)
		return errno == ENOENT || errno == ENODEV ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open cgroup.events");
	r = read_populated(events_fd, &populated);
	if (r > 0 || (!r && !populated))
		return 0;
	by_signal = nc_cgroup_write_one(cgroup_fd, "cgroup.kill") < 0; /* since 5.14 */
	for (;;) {
		struct pollfd event = {.fd = events_fd, .events = POLLPRI};
		long left = deadline - now_ms();

		if (by_signal) {
			r = nc_cgroup_signal_all(cgroup_fd, reterr);
			if (r < 0)
				return r;
		}
		r = read_populated(events_fd, &populated);
		if (r < 0)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "read cgroup.events");
		if (r || !populated)
			return 0;
		if (left <= 0)
			return nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "tasks of the cgroup still live %d ms after SIGKILL", timeout_ms);
		poll(&event, 1, by_signal && left > SIGNAL_STEP_MS ? SIGNAL_STEP_MS : (int)left);
	}
}
