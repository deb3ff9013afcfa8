/* SPDX-License-Identifier: GPL-2.0-only */
/* folder.c - files in a folder: published whole or not at all, read with a bound */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t put = write(fd, bytes, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		bytes += put;
		length -= (size_t)put;
	}
	return 0;
}

/* Makes one file and starts its way to the disk. */
static int write_new(int folder_fd, const char *name, const struct nc_folder_file *file, int *ret_fd)
{
	int r;

	*ret_fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_fd < 0)
		return -errno;
	r = write_all(*ret_fd, file->bytes, file->length);
	/* Only a beginning, so an error does not matter: fdatasync reports it, and where this is not implemented it does all the work. */
	if (r == 0)
		sync_file_range(*ret_fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return r;
}

static int sync_bytes(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fdatasync(fds[i]) < 0)
			return -errno;
	return 0;
}

/* ---- publish ---------------------------------------------------------------------------------------------------------------------------- */

struct publication {
	int fds[NC_FOLDER_FILES_MAX];
	char temporary[NC_FOLDER_FILES_MAX][NC_FOLDER_NAME_MAX + sizeof(NC_FOLDER_TEMPORARY)]; /* "": not there, or no longer */
	bool appeared;									       /* a name has been given */
};

static int write_beside(int folder_fd, const struct nc_folder_file *files, size_t count, struct publication *publication)
{
	for (size_t i = 0; i < count; i++) {
		char *name = publication->temporary[i];
		int r;

		snprintf(name, sizeof(publication->temporary[i]), NC_FOLDER_TEMPORARY, files[i].name);
		if (unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT) /* left by a crash */
			return -errno;
		r = write_new(folder_fd, name, &files[i], &publication->fds[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int give_names(int folder_fd, const struct nc_folder_file *files, size_t count, struct publication *publication)
{
	for (size_t i = 0; i < count; i++) {
		if (renameat(folder_fd, publication->temporary[i], folder_fd, files[i].name) < 0)
			return -errno;
		publication->temporary[i][0] = '\0';
		publication->appeared = true;
	}
	return 0;
}

int nc_folder_publish(int folder_fd, const struct nc_folder_file *files, size_t count, struct nc_error *reterr)
{
	struct publication publication = {.fds = {-1, -1, -1, -1}};
	int r;

	if (count > NC_FOLDER_FILES_MAX)
		return nc_error_set(reterr, NC_E_SYSTEM, -E2BIG, "too many files to publish at once");
	r = write_beside(folder_fd, files, count, &publication);
	if (r == 0)
		r = sync_bytes(publication.fds, count);
	if (r == 0)
		r = give_names(folder_fd, files, count, &publication);
	if (r == 0 && fsync(folder_fd) < 0)
		r = -errno;
	for (size_t i = 0; i < count; i++) {
		if (publication.fds[i] >= 0)
			close(publication.fds[i]);
		/* Once a part has its name, the rest is kept beside it: together they are whole, and a reader of checkpoints looks there. */
		if (publication.temporary[i][0] && !publication.appeared)
			unlinkat(folder_fd, publication.temporary[i], 0);
	}
	if (r < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "write %s", files[0].name);
	return 0;
}

/* ---- fill ------------------------------------------------------------------------------------------------------------------------------- */

int nc_folder_fill(int folder_fd, const struct nc_folder_file *files, size_t count, int ret_fds[NC_FOLDER_FILES_MAX], struct nc_error *reterr)
{
	int r = 0;

	for (size_t i = 0; i < NC_FOLDER_FILES_MAX; i++)
		ret_fds[i] = -1;
	if (count > NC_FOLDER_FILES_MAX)
		return nc_error_set(reterr, NC_E_SYSTEM, -E2BIG, "too many files to write at once");
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = write_new(folder_fd, files[i].name, &files[i], &ret_fds[i]);
		if (r < 0)
			nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "write %s", files[i].name);
	}
	return r;
}

int nc_folder_sync(int folder_fd, const int fds[NC_FOLDER_FILES_MAX], size_t count, struct nc_error *reterr)
{
	int r = sync_bytes(fds, count);

	if (r == 0 && fsync(folder_fd) < 0)
		r = -errno;
	return r < 0 ? nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "bring the folder to the disk") : 0;
}

/* ---- read ------------------------------------------------------------------------------------------------------------------------------- */

int nc_folder_read(int folder_fd, const char *name, size_t max, char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	/* O_NONBLOCK: a FIFO in the place of a file must not hold the reader up. */
	NC_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	NC_FREE char *text = NULL;
	struct stat status;
	size_t length = 0, size;

	if (fd < 0 && errno == ENOENT)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -ENOENT, "%s is missing", name);
	if (fd < 0 || fstat(fd, &status) < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "read %s", name);
	if (!S_ISREG(status.st_mode))
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EINVAL, "%s is not a regular file", name);
	if (status.st_size < 0 || (size_t)status.st_size > max)
		return nc_error_set(reterr, NC_E_EVIDENCE_INVALID, -EFBIG, "%s is larger than %zu bytes", name, max);
	size = (size_t)status.st_size;
	text = malloc(size + 1);
	if (!text)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory to read %s", name);
	while (length < size) {
		ssize_t got = read(fd, text + length, size - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return nc_error_sys(reterr, NC_E_EVIDENCE_INVALID, -errno, "read %s", name);
		if (got == 0)
			break; /* it shrank: what is there is judged */
		length += (size_t)got;
	}
	text[length] = '\0';
	*ret_text = NC_TAKE_PTR(text);
	*ret_length = length;
	return 0;
}
