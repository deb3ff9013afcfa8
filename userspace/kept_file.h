/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kept_file.h - results that are costly to find and the same for every launch, kept in the host's own folder (kept_file.c)
 *
 * Each file is the SHA-256 of the rest, then the rest. A file that is not exactly that, or that somebody other than root could have written, is not there: the
 * caller finds the result anew. So nothing depends on these files but time.
 */
#ifndef NC_KEPT_FILE_H
#define NC_KEPT_FILE_H

#include <stddef.h>

#define NC_KEPT_MAX (1u << 20)

/* 0 and the content (the caller frees), or a negative errno. */
int nc_kept_read(const char *folder, const char *name, void **ret_bytes, size_t *ret_size);
/* Written beside and renamed, mode 0600. */
int nc_kept_write(const char *folder, const char *name, const void *bytes, size_t size);

/* Removes every file of the folder, unless a folder stands beside them: a host that is still up keeps what saves it time. */
void nc_kept_forget(const char *folder);

#endif
