/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_output.h - what the matrix found, for people, as TAP and as JSON */
#ifndef NC_CONFORM_OUTPUT_H
#define NC_CONFORM_OUTPUT_H

#include "conform.h"

/* One line to stderr for a decided case. The form of nc_conform_options.progress. */
void nc_conform_show_progress(void *context, const struct nc_case *row, const struct nc_run *runs, const struct nc_verdict_of_case *verdict,
			      size_t done, size_t total);
int nc_conform_show_table(const struct nc_conformance *conformance, struct nc_error *reterr);
void nc_conform_show_tap(const struct nc_conformance *conformance);
/* The caller owns the result. */
json_t *nc_conform_json(const struct nc_conformance *conformance);
/* The array "cases" of statements and of --json. */
json_t *nc_conform_cases_json(const struct nc_conformance *conformance);
/* The cases themselves, those that only_case and only_fact choose: what --list prints. The digest of the canonical bytes of all names the matrix. */
json_t *nc_conform_list_json(const struct nc_conform_options *options);
/* Fact by path, family and protocol: how many cases there are. */
int nc_conform_show_list(const struct nc_conform_options *options, struct nc_error *reterr);

const char *nc_protocol_word(uint8_t protocol);

#endif
