/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_worker.h - the processes that run the cases */
#ifndef NC_CONFORM_WORKER_H
#define NC_CONFORM_WORKER_H

#include "conform.h"

#define NC_JOBS_MAX 16
#define NC_JOBS 4		   /* when nobody says otherwise: most of a case is waiting for other processes */
#define NC_WORKER_SCRATCH "%s/w%d" /* a worker's part of the scratch folder, by its number */

/* Runs the chosen cases (conformance->results), fills their runs, verdicts and transcripts, and announces them. */
int nc_conform_work(const struct nc_conform_options *options, struct nc_conformance *conformance, struct nc_error *reterr);

#endif
