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

/* ---- publish ---------------------------------------------------------------------------------------------------------------------------- */

struct temporary_name {
	char text[NC_FOLDER_NAME_MAX + sizeof(NC_FOLDER_TEMPORARY)];
};

static struct temporary_name temporary(const char *name)
{
	struct temporary_name result;

	snprintf(result.text, sizeof(result.text), NC_FOLDER_TEMPORARY, name);
	return result;
}

/* From `first` on; what came before has its name. Once a part has its name, the rest is kept beside it: together they are whole, and a reader of
 * checkpoints looks there. */
static void drop(int folder_fd, struct nc_publication *publication, size_t first)
{
	for (size_t i = 0; i < publication->count; i++) {
		if (publication->fds[i] >= 0)
			close(publication->fds[i]);
		if (first == 0)
			unlinkat(folder_fd, temporary(publication->names[i]).text, 0);
	}
	publication->count = 0;
}

int nc_folder_write_beside(int folder_fd, const struct nc_folder_file *files, size_t count, struct nc_publication *ret_publication,
			   struct nc_error *reterr)
{
	struct nc_publication *publication = ret_publication;
	int r = 0;

	publication->count = 0;
	if (count > NC_FOLDER_FILES_MAX)
		return nc_error_set(reterr, NC_E_SYSTEM, -E2BIG, "too many files to publish at once");
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct temporary_name name = temporary(files[i].name);

		publication->fds[i] = -1;
		snprintf(publication->names[i], sizeof(publication->names[i]), "%s", files[i].name);
		if (unlinkat(folder_fd, name.text, 0) < 0 && errno != ENOENT) { /* left by a crash */
			r = -errno;
			break;
		}
		publication->count++;
		r = write_new(folder_fd, name.text, &files[i], &publication->fds[i]);
	}
	if (r == 0)
		return 0;
	drop(folder_fd, publication, 0);
	return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "write %s", files[0].name);
}

static int name_all(int folder_fd, struct nc_publication *publication)
{
	size_t named = 0;
	int r = 0;

	while (r == 0 && named < publication->count) {
		const char *name = publication->names[named];

		r = renameat(folder_fd, temporary(name).text, folder_fd, name) < 0 ? -errno : 0;
		named += r == 0;
	}
	drop(folder_fd, publication, named);
	return r;
}

int nc_folder_give_names(int folder_fd, struct nc_publication *const *publications, size_t count, int log_fd, struct nc_sync *helper,
			 struct nc_error *reterr)
{
	int fds[NC_SYNC_MAX], r = count > 2 ? -E2BIG : 0;
	size_t files = 0;

	if (log_fd >= 0)
		fds[files++] = log_fd;
	for (size_t i = 0; r == 0 && i < count; i++) {
		for (size_t j = 0; j < publications[i]->count; j++)
			fds[files++] = publications[i]->fds[j];
	}
	r = r < 0 ? r : nc_sync_all(helper, fds, files);
	for (size_t i = 0; i < count; i++) {
		if (r < 0)
			drop(folder_fd, publications[i], 0);
		else
			r = name_all(folder_fd, publications[i]);
	}
	if (r == 0 && fsync(folder_fd) < 0)
		r = -errno;
	return r < 0 ? nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, r, "bring files of the folder to the disk") : 0;
}

int nc_folder_publish(int folder_fd, const struct nc_folder_file *files, size_t count, struct nc_error *reterr)
{
	NC_FREE struct nc_sync *helper = malloc(sizeof(*helper));
	struct nc_publication publication, *only = &publication;
	int r = helper ? nc_folder_write_beside(folder_fd, files, count, &publication, reterr)
		       : nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory to write %s", files[0].name);

	return r < 0 ? r : nc_folder_give_names(folder_fd, &only, 1, -1, helper, reterr);
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
