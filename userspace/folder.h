/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * folder.h - files in a folder: published whole or not at all, read with a bound
 *
 *   publish   a file is written beside, as ".NAME.tmp", brought to the disk, and renamed: a reader after a crash of the program or of the host sees the
 *             old or the new file, never a torn one
 *   fill      for a folder that nobody knows of yet: files are written under their names, and the folder is what appears whole
 *
 * Writing to the disk is started for all files before the first is waited for, so that a journalling file system commits once and the later waits find
 * their work done. Publishing has two halves, for whoever has several statements to give names to at once.
 */
#ifndef NC_FOLDER_H
#define NC_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include "error.h"
#include "sync.h"

#define NC_FOLDER_TEMPORARY ".%s.tmp" /* of the published name */
#define NC_FOLDER_NAME_MAX 200

struct nc_folder_file {
	const char *name; /* one path component */
	const void *bytes;
	size_t length;
};

#define NC_FOLDER_FILES_MAX 4 /* at once */

/* Files that are written and have no name yet. */
struct nc_publication {
	size_t count;
	int fds[NC_FOLDER_FILES_MAX];
	char names[NC_FOLDER_FILES_MAX][NC_FOLDER_NAME_MAX + 1];
};

/* The first half: the files under their temporary names. EVIDENCE_UNWRITABLE: none is left. */
int nc_folder_write_beside(int folder_fd, const struct nc_folder_file *files, size_t count, struct nc_publication *ret_publication,
			   struct nc_error *reterr);
/* The second: the files of all publications and `log_fd` (-1: none) to the disk, then their names in the order given, then the folder. The publications are
 * used up in every case. EVIDENCE_UNWRITABLE as for nc_folder_publish. */
int nc_folder_give_names(int folder_fd, struct nc_publication *const *publications, size_t count, int log_fd, struct nc_sync *helper,
			 struct nc_error *reterr);

/* Names appear in the order given, mode 0600, durable on return. EVIDENCE_UNWRITABLE: nothing has changed, or, when an error comes between
 * the names, some are new and what is missing lies under its temporary name. */
int nc_folder_publish(int folder_fd, const struct nc_folder_file *files, size_t count, struct nc_error *reterr);
/* Writes the files, mode 0600, which must not exist. Nothing is durable before nc_folder_sync; ret_fds are the caller's, each -1 or open also on failure. */
int nc_folder_fill(int folder_fd, const struct nc_folder_file *files, size_t count, int ret_fds[NC_FOLDER_FILES_MAX], struct nc_error *reterr);

/* The whole of a regular file of at most `max` bytes, followed by a NUL that is not counted; symbolic links are not followed. The caller frees.
 * -ENOENT when there is none; EVIDENCE_INVALID for what is no such file. */
int nc_folder_read(int folder_fd, const char *name, size_t max, char **ret_text, size_t *ret_length, struct nc_error *reterr);

#endif
