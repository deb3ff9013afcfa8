// SPDX-License-Identifier: GPL-2.0-only
/*
 * pins.c - folders: of the bpf file system and of the runtime folder
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <bpf/bpf.h>
#include "inside.h"

#define TREE_DEPTH_MAX 16

int nc_path(char ret_path[NC_PATH_MAX], struct nc_error *reterr, const char *format, ...)
{
	char path[NC_PATH_MAX];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(path))
		return nc_error_set(reterr, NC_E_USAGE, -ENAMETOOLONG, "a path is longer than %d bytes: %.200s", NC_PATH_MAX - 1, path);
	memcpy(ret_path, path, (size_t)length + 1);
	return 0;
}

int nc_bpffs_ready(const char *bpffs, bool mount_it, struct nc_error *reterr)
{
	struct statfs found;

	/* In doubt nothing is mounted: over a bpf file system that is there, a second one would hide every pin of this machine. */
	if (statfs(bpffs, &found))
		return nc_error_sys(reterr, NC_E_HOST_UNSUPPORTED, -errno, "look at %s", bpffs);
	if (found.f_type == BPF_FS_MAGIC)
		return 0;
	if (!mount_it) {
		nc_error_set(reterr, NC_E_HOST_DOWN, -ENOENT, "%s is no bpf file system", bpffs);
		return nc_error_hint(reterr, "netcordon host up");
	}
	if (mount("bpf", bpffs, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700")) {
		nc_error_sys(reterr, NC_E_HOST_UNSUPPORTED, -errno, "mount a bpf file system at %s", bpffs);
		return nc_error_hint(reterr, "mount -t bpf bpf %s", bpffs);
	}
	return 0;
}

int nc_folder_make(const char *path, struct nc_error *reterr)
{
	char part[NC_PATH_MAX];
	int r = nc_path(part, reterr, "%s", path);

	if (r < 0)
		return r;
	for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return nc_error_sys(reterr, errno == EPERM || errno == EACCES ? NC_E_HOST_DENIED : NC_E_SYSTEM, -errno, "make the folder %s",
					    part);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* Removes what is in the folder of dir_fd. The descriptor is consumed. */
static int empty_folder(int dir_fd, int depth)
{
	DIR *dir = fdopendir(dir_fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = -errno;
		close(dir_fd);
		return r;
	}
	while ((entry = readdir(dir))) {
		int below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!unlinkat(dirfd(dir), entry->d_name, 0) || errno == ENOENT)
			continue;
		if (errno != EISDIR && errno != EPERM) {
			r = r ?: -errno;
			continue;
		}
		below = depth < TREE_DEPTH_MAX ? openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (below >= 0) {
			int status = empty_folder(below, depth + 1);

			r = r ?: status;
		}
		if (unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) && errno != ENOENT)
			r = r ?: -errno;
	}
	closedir(dir);
	return r;
}

int nc_tree_remove(const char *path, struct nc_error *reterr)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the folder %s", path);
	r = empty_folder(fd, 0);
	if (rmdir(path) && errno != ENOENT)
		r = r ?: -errno;
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "remove the folder %s", path) : 0;
}

int nc_pin_open(const char *path, struct nc_error *reterr)
{
	int fd = bpf_obj_get(path);

	if (fd >= 0)
		return fd;
	if (fd == -ENOENT || fd == -ENOTDIR) {
		nc_error_set(reterr, NC_E_HOST_DOWN, fd, "there is no pin %s", path);
		return nc_error_hint(reterr, "netcordon host up");
	}
	if (fd == -EPERM || fd == -EACCES)
		return nc_system_denied(reterr, fd, path);
	return nc_error_sys(reterr, NC_E_SYSTEM, fd, "open the pin %s", path);
}
