/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * folder.h - files in a folder: published whole or not at all, read with a bound
 *
 * A file is written beside, as ".NAME.tmp", and renamed. When is it durable, and in which order? Two rules:
 *
 *   NC_PUBLISH_OVER         every file's bytes are on the disk before the first name appears, and the names before the function returns: a reader
 *                           after a crash of the host sees the old or the new file, never a torn one
 *   NC_PUBLISH_NEW          for a folder that nobody has been told of yet: names and bytes become durable together, before the function returns. A
 *                           crash of the host before that may leave a torn file in a folder that proves nothing yet; it saves one journal commit
 *
 * In both, writing to the disk is started for all files before the first is waited for, so that a journalling file system commits once and the
 * later waits find their work done.
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

enum nc_publish_rule { NC_PUBLISH_OVER, NC_PUBLISH_NEW };

/* Names appear in the order given, mode 0600. On failure the temporaries are gone; names that had already appeared stay. EVIDENCE_UNWRITABLE. */
int nc_folder_publish(int folder_fd, const struct nc_folder_file *files, size_t count, enum nc_publish_rule rule, struct nc_error *reterr);

/* The whole of a regular file of at most `max` bytes, followed by a NUL that is not counted; symbolic links are not followed. The caller frees.
 * -ENOENT when there is none; EVIDENCE_INVALID for what is no such file. */
int nc_folder_read(int folder_fd, const char *name, size_t max, char **ret_text, size_t *ret_length, struct nc_error *reterr);

#endif
