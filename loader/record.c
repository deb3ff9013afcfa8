// SPDX-License-Identifier: GPL-2.0-only
/*
 * record.c - an instance's claim file: its owner's lock, and what must be known to end the instance when the owner is dead
 *
 * The lock is an open file description lock: it goes when the last copy of the descriptor goes, however the process ends. (A child that lives on without
 * exec must close its copy, or the instance counts as owned by it.) What a step is about to make is written down before it is made, so that nothing is
 * ever there that no record speaks of. The record is one write into a file on tmpfs; the claim file is the last to go from the folder.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "inside.h"

#define RECORD_MAGIC "ncclaim2"
#define RETRIES 16
#define NO_RECORD ((struct nc_record){.index = NC_INDEX_NONE, .ring = NC_INDEX_NONE})

/* A build that has the same programs finds the records of another: the layout changes only with the magic. What is new takes a reserved byte, whose 0
 * means what held before. */
_Static_assert(sizeof(struct nc_record) == 64 + 2 * NC_PATH_MAX + 8 && offsetof(struct nc_record, cgroup) == 64,
	       "the layout of a record, RECORD_MAGIC");

static bool lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int nc_instance_name_check(const char *name, struct nc_error *reterr)
{
	size_t length = name ? strnlen(name, NC_INSTANCE_NAME_MAX + 1) : 0;
	bool good = length && length <= NC_INSTANCE_NAME_MAX && lower_or_digit(name[0]);

	for (size_t i = 0; i < length && good; i++)
		good = lower_or_digit(name[i]) || strchr("._-", name[i]);
	if (good)
		return 0;
	nc_error_set(reterr, NC_E_INSTANCE_INVALID, -EINVAL, "not a name for an instance: \"%.64s\"", name ?: "");
	return nc_error_hint(reterr, "1 to %d of a-z 0-9 . _ -, the first a letter or a digit", NC_INSTANCE_NAME_MAX);
}

static void claim_file(char ret_path[NC_INSTANCE_NAME_MAX + 32], const char *name)
{
	snprintf(ret_path, NC_INSTANCE_NAME_MAX + 32, "instances/%s/claim", name);
}

static int folder_make(struct nc_host *host, const char *name, struct nc_error *reterr)
{
	char folder[NC_INSTANCE_NAME_MAX + 32];

	snprintf(folder, sizeof(folder), "instances/%s", name);
	if (!mkdirat(host->folder_fd, folder, 0700) || errno == EEXIST)
		return 0;
	if (errno == ENOENT && (!mkdirat(host->folder_fd, "instances", 0700) || errno == EEXIST) &&
	    (!mkdirat(host->folder_fd, folder, 0700) || errno == EEXIST))
		return 0;
	return nc_error_sys(reterr, errno == ENOENT ? NC_E_HOST_DOWN : NC_E_SYSTEM, -errno, "make the folder %s/%s", host->folder, folder);
}

/* After a failure: the folder goes if nothing is in it, whoever made it. */
static void folder_unmake(struct nc_host *host, const char *name)
{
	char folder[NC_INSTANCE_NAME_MAX + 32];

	snprintf(folder, sizeof(folder), "instances/%s", name);
	unlinkat(host->folder_fd, folder, AT_REMOVEDIR);
}

static int lock_take(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) ? -errno : 0;
}

static int cannot(struct nc_host *host, const char *name, int r, const char *what, struct nc_error *reterr)
{
	r = nc_error_sys(reterr, NC_E_SYSTEM, r, "%s %s/instances/%s/claim", what, host->folder, name);
	folder_unmake(host, name);
	return r;
}

/*
 * A new claim gets its name when it is locked, in one step, so that none is ever seen without its owner, and a failure in between leaves nothing. 1:
 * it is there; 0: somebody else was quicker, or the folder went meanwhile. (A file system without nameless files, an overlay before 6.1: a failing
 * lock leaves an empty claim there, which the next look at the host takes away.)
 */
static int claim_make(struct nc_host *host, const char *name, const char *path, int *ret_fd, struct nc_error *reterr)
{
	char folder[NC_INSTANCE_NAME_MAX + 32], nameless[32];
	NC_CLOSE int fd = -1;
	bool named = false;
	int r;

	snprintf(folder, sizeof(folder), "instances/%s", name);
	fd = openat(host->folder_fd, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		named = true;
		fd = openat(host->folder_fd, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return errno == ENOENT || errno == EEXIST ? 0 : cannot(host, name, -errno, "make", reterr);
	r = lock_take(fd);
	if (r == -EAGAIN || r == -EACCES)
		return 0;
	if (r < 0)
		return cannot(host, name, r, "lock", reterr);
	snprintf(nameless, sizeof(nameless), "/proc/self/fd/%d", fd);
	if (!named && linkat(AT_FDCWD, nameless, host->folder_fd, path, AT_SYMLINK_FOLLOW))
		return errno == ENOENT || errno == EEXIST ? 0 : cannot(host, name, -errno, "name", reterr);
	*ret_fd = NC_TAKE_FD(fd);
	return 1;
}

/* A claim that is there already: whoever owned it may be dead. 1, or 0 when it has gone meanwhile. */
static int claim_take_over(struct nc_host *host, const char *name, int fd, struct nc_error *reterr)
{
	struct stat status;
	int r = lock_take(fd);

	if (r == -EAGAIN || r == -EACCES) {
		nc_error_set(reterr, NC_E_INSTANCE_EXISTS, -EEXIST, "an instance named %s lives", name);
		return nc_error_hint(reterr, "choose another name, or end it: netcordon stop %s", name);
	}
	if (r < 0)
		return cannot(host, name, r, "lock", reterr);
	if (fstat(fd, &status))
		return cannot(host, name, -errno, "look at", reterr);
	return !!status.st_nlink; /* 0: its owner removed it just before we had the lock */
}

int nc_record_lock(struct nc_host *host, const char *name, int *ret_fd, struct nc_error *reterr)
{
	char path[NC_INSTANCE_NAME_MAX + 32];

	claim_file(path, name);
	for (int i = 0; i < RETRIES; i++) {
		NC_CLOSE int fd = -1;
		int r = folder_make(host, name, reterr);

		if (r < 0)
			return r;
		fd = openat(host->folder_fd, path, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			r = claim_take_over(host, name, fd, reterr);
		else if (errno == ENOENT)
			r = claim_make(host, name, path, &fd, reterr);
		else
			r = cannot(host, name, -errno, "open", reterr);
		if (r < 0)
			return r;
		if (r) {
			*ret_fd = NC_TAKE_FD(fd);
			return 0;
		}
	}
	return nc_error_set(reterr, NC_E_INSTANCE_EXISTS, -EBUSY, "the name %s comes and goes too quickly", name);
}

int nc_record_open(struct nc_host *host, const char *name, int *ret_fd, struct nc_error *reterr)
{
	char path[NC_INSTANCE_NAME_MAX + 32];
	int fd;

	claim_file(path, name);
	fd = openat(host->folder_fd, path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "there is no instance named %s", name);
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s/%s", host->folder, path);
	*ret_fd = fd;
	return 0;
}

int nc_record_read(int fd, struct nc_record *ret_record, struct nc_error *reterr)
{
	struct nc_record record = {0};
	ssize_t got = pread(fd, &record, sizeof(record), 0);

	if (got < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "read a claim");
	if (!got) {
		*ret_record = NO_RECORD;
		return 0;
	}
	if (got != sizeof(record) || memcmp(record.magic, RECORD_MAGIC, sizeof(record.magic)))
		return nc_error_set(reterr, NC_E_SYSTEM, -EBADMSG, "a claim file is not whole");
	record.cgroup[0][NC_PATH_MAX - 1] = record.cgroup[1][NC_PATH_MAX - 1] = '\0';
	*ret_record = record;
	return 0;
}

int nc_record_read_left(int fd, struct nc_record *ret_record, struct nc_error *reterr)
{
	int r = nc_record_read(fd, ret_record, reterr);

	if (r != -EBADMSG)
		return r;
	*ret_record = NO_RECORD;
	return 0;
}

int nc_record_write(int fd, const struct nc_record *record, struct nc_error *reterr)
{
	struct nc_record whole = *record;
	ssize_t put;

	memcpy(whole.magic, RECORD_MAGIC, sizeof(whole.magic));
	put = pwrite(fd, &whole, sizeof(whole), 0);
	if (put == sizeof(whole))
		return 0;
	return nc_error_sys(reterr, NC_E_SYSTEM, put < 0 ? -errno : -ENOSPC, "write a claim");
}

int nc_record_held(int fd, bool *ret_held, struct nc_error *reterr)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_GETLK, &lock))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "ask for a claim's lock");
	*ret_held = lock.l_type != F_UNLCK;
	return 0;
}

int nc_record_certain(struct nc_host *host, const char *name, int *ret_fd, struct nc_record *ret_record, struct nc_error *reterr)
{
	int r = nc_record_open(host, name, ret_fd, reterr);

	if (r < 0)
		return reterr->code == NC_E_INSTANCE_UNKNOWN ? 0 : r;
	r = nc_record_read(*ret_fd, ret_record, reterr);
	return r < 0 ? r : ret_record->generation != 0;
}

int nc_record_unreadable(const struct nc_host *host, const char *name, struct nc_error *reterr)
{
	struct nc_error why = *reterr;

	nc_error_set(reterr, why.code, why.status, "the claim of the instance %.*s cannot be read, so nothing is known of its cgroup: %s",
		     NC_INSTANCE_NAME_MAX, name, why.detail);
	return nc_error_hint(
		reterr, "netcordon host status takes it away where its owner has died; else look at %.120s/instances, or netcordon host down --force",
		host->folder);
}

int nc_record_drop(struct nc_host *host, const char *name, struct nc_error *reterr)
{
	char path[NC_PATH_MAX], file[NC_INSTANCE_NAME_MAX + 32];
	struct dirent *entry;
	DIR *dir;
	int r = nc_path(path, reterr, "%s/instances/%s", host->folder, name);

	if (r < 0)
		return r;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", path);
	while ((entry = readdir(dir)) && r >= 0) {
		char inside[NC_PATH_MAX];

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || !strcmp(entry->d_name, "claim"))
			continue;
		if (!unlinkat(dirfd(dir), entry->d_name, 0) || errno == ENOENT)
			continue;
		r = nc_path(inside, reterr, "%s/%s", path, entry->d_name);
		r = r < 0 ? r : nc_tree_remove(inside, reterr);
	}
	closedir(dir);
	if (r < 0)
		return r;
	claim_file(file, name);
	if (unlinkat(host->folder_fd, file, 0) && errno != ENOENT)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "remove %s/%s", host->folder, file);
	if (rmdir(path) && errno != ENOENT && errno != ENOTEMPTY) /* not empty: the name's next owner is already there */
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "remove %s", path);
	return 0;
}
