/* SPDX-License-Identifier: GPL-2.0-only */
/* kept_file.c - files of the host's own folder that save time and nothing else */
#include "kept_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cleanup.h"
#include "digest.h"

int nc_kept_read(const char *folder, const char *name, void **ret_bytes, size_t *ret_size)
{
	NC_CLOSE int folder_fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	NC_CLOSE int fd = folder_fd < 0 ? -1 : openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct nc_digest written, found;
	NC_FREE char *bytes = NULL;
	struct stat st;
	size_t size;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || st.st_mode & 022 || st.st_size <= (off_t)sizeof(written) || st.st_size > (off_t)NC_KEPT_MAX)
		return -EINVAL;
	size = (size_t)st.st_size - sizeof(written);
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	struct iovec parts[2] = {{&written, sizeof(written)}, {bytes, size}};

	if (readv(fd, parts, 2) != st.st_size)
		return -EIO;
	nc_digest_of(bytes, size, &found);
	if (memcmp(&written, &found, sizeof(found)) != 0)
		return -EINVAL;
	*ret_bytes = NC_TAKE_PTR(bytes);
	*ret_size = size;
	return 0;
}

int nc_kept_write(const char *folder, const char *name, const void *bytes, size_t size)
{
	NC_CLOSE int folder_fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	struct nc_digest digest;
	NC_CLOSE int fd = -1;
	char beside[128];
	struct iovec parts[2] = {{&digest, sizeof(digest)}, {(void *)bytes, size}};

	if (folder_fd < 0)
		return -errno;
	nc_digest_of(bytes, size, &digest);
	snprintf(beside, sizeof(beside), "%.90s.%d", name, getpid());
	fd = openat(folder_fd, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO;
	if (writev(fd, parts, 2) != (ssize_t)(sizeof(digest) + size) || renameat(folder_fd, beside, folder_fd, name) < 0) {
		int status = -errno;

		unlinkat(folder_fd, beside, 0);
		return status;
	}
	return 0;
}

void nc_kept_forget(const char *folder)
{
	NC_CLOSE int fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool others = false;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		others |= entry->d_type != DT_REG && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	rewinddir(dir);
	while (!others && (entry = readdir(dir))) {
		if (entry->d_type == DT_REG)
			unlinkat(fd, entry->d_name, 0);
	}
	closedir(dir);
	fd = -1; /* it was the stream's */
}
