/* SPDX-License-Identifier: GPL-2.0-only */
/* cause.h - how an instance ended, in words (cause.c) */
#ifndef NC_CAUSE_H
#define NC_CAUSE_H

#include <jansson.h>
#include <stdbool.h>

#define NC_CAUSE_TEXT 512

/* Did netcordon end the workload, rather than the workload itself? */
bool nc_cause_is_ours(const char *word);
const char *nc_cause_meaning(const char *word); /* the table's sentence; "" of a word that is not in it */
/* The closing statement's "result" of an evidence folder, as it stands, not verified; NULL where there is none that can be read. The caller owns it. */
json_t *nc_cause_read(int folder_fd);
/* A closing statement's "result", as it stands: "lifetime, signal 15". Safe to print, whoever wrote it. */
const char *nc_cause_text(const json_t *result, char ret_text[NC_CAUSE_TEXT]);

#endif
