/* SPDX-License-Identifier: GPL-2.0-only */
/* output.h - what a command prints: errors, JSON documents, text from strangers made safe, tables whose columns fit */
#ifndef NC_OUTPUT_H
#define NC_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "error.h"

/* One line on stderr: `netcordon: CODE: DETAIL (HINT)`, or with json one object {version, code, detail, pointer, hint}. */
void nc_output_error(const struct nc_error *error, bool json);
/* The same line in the system's log, as a daemon's error, with what it is about ("": nothing) before it. Nothing where there is no log. */
void nc_output_log(const struct nc_error *error, const char *subject);
/* One JSON document and a newline on stdout, members in the order in which they were set. Ends the program (3) where there was no memory for all of it. */
void nc_output_json(const json_t *document);
/* Prints text with every byte that is not printable ASCII as \xHH: text from a workload must not reach a terminal as it is. */
void nc_output_safe(FILE *stream, const char *text);

/* A table for people: cells are copied, columns are as wide as their widest cell. Two spaces stand between columns, none at the end of a line. */
struct nc_table;
struct nc_table *nc_table_new(int columns);
/* Adds one row of `columns` cells. Without memory the table becomes unprintable, and nc_table_print says so. */
void nc_table_row(struct nc_table *table, ...);
int nc_table_print(const struct nc_table *table, FILE *stream, struct nc_error *reterr);
void nc_table_free(struct nc_table *table); /* NULL is fine */

#endif
