/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * folder.h - files in a folder: published whole or not at all, read with a bound
 *
 *   publish   a file is written beside, as ".NAME.tmp", brought to the disk, and renamed: a reader after a crash of the program or of the host sees the
 *             old or the new file, never a torn one
 *   fill      for a folder that nobody knows of yet: files are written under their names, and the folder is what appears whole
 *
 * Writing to the disk is started for all files before the first is waited for, so that a journalling file system commits once and the later waits find
 * their work done.
 */
#ifndef NC_FOLDER_H
#define NC_FOLDER_H

#include <stddef.h>
#include "error.h"

#define NC_FOLDER_TEMPORARY ".%s.tmp" /* of the published name */
#define NC_FOLDER_NAME_MAX 200

struct nc_folder_file {
	const char *name; /* one path component */
	const void *bytes;
	size_t length;
};

#define NC_FOLDER_FILES_MAX 4 /* at once */

/* Names appear in the order given, mode 0600, durable on return. EVIDENCE_UNWRITABLE: nothing has changed, or, when an error comes between
 * the names, some are new and what is missing lies under its temporary name. */
int nc_folder_publish(int folder_fd, const struct nc_folder_file *files, size_t count, struct nc_error *reterr);
/* Writes the files, mode 0600, which must not exist. Nothing is durable before nc_folder_sync; ret_fds are the caller's, each -1 or open also on failure. */
int nc_folder_fill(int folder_fd, const struct nc_folder_file *files, size_t count, int ret_fds[NC_FOLDER_FILES_MAX], struct nc_error *reterr);
/* Waits until these files and the folder's names are on the disk. */
int nc_folder_sync(int folder_fd, const int fds[NC_FOLDER_FILES_MAX], size_t count, struct nc_error *reterr);

/* The whole of a regular file of at most `max` bytes, followed by a NUL that is not counted; symbolic links are not followed. The caller frees.
 * -ENOENT when there is none; EVIDENCE_INVALID for what is no such file. */
int nc_folder_read(int folder_fd, const char *name, size_t max, char **ret_text, size_t *ret_length, struct nc_error *reterr);

#endif
