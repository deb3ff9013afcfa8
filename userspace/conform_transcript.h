/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_transcript.h - a run as JSON and back, so that whoever signs can apply the rules of outcome.h to what was written down */
#ifndef NC_CONFORM_TRANSCRIPT_H
#define NC_CONFORM_TRANSCRIPT_H

#include <jansson.h>
#include "outcome.h"

/* The caller owns the result. */
json_t *nc_run_json(const struct nc_run *run);
/* STATEMENT_INVALID names the place below `pointer`. */
int nc_run_parse(const json_t *value, const char *pointer, struct nc_run *ret_run, struct nc_error *reterr);

#endif
