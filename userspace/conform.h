/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform.h - the conformance matrix: every case as control, enforced and mutant, and what that establishes
 *
 *   options -> nc_conform -> struct nc_conformance (results) -> table, TAP, JSON, statement and bundle
 *
 * The matrix is the party that constructs the cases. The provider is behind a driver, which is told a profile, namespaces and a command, and not
 * which case it is in; listeners, captures and resolver are the matrix's own.
 */
#ifndef NC_CONFORM_H
#define NC_CONFORM_H

#include <jansson.h>
#include <limits.h>
#include "conform_case.h"
#include "driver.h"
#include "error.h"
#include "outcome.h"

#define NC_MATRIX_VERSION 1

struct nc_conform_options {
	const char *driver;			  /* executable */
	const char *provider, *provider_revision; /* the pair under test, as the operator says it */
	const char *manifest;			  /* digest of what is tested, as the operator says it */
	const json_t *driver_options;		  /* an object, handed to the driver as it is */
	const char *client;			  /* the hostile client: nc_conform_client */
	const char *only_case;			  /* ids divided by commas; NULL: all */
	int jobs;				  /* cases at a time; 0: as many as is usual */
	int driver_ms;				  /* limit for each verb of the driver; 0: the usual ones */
	const char *only_fact;
	const char *scratch; /* a folder for the run */
	bool listeners_off;  /* nothing listens at the targets: shows that the matrix then calls nothing green */
	/* Called when a case is decided, and once more for each whose late packets change it. NULL: silence. */
	void (*progress)(void *context, const struct nc_case *row, const struct nc_run *runs, const struct nc_verdict_of_case *verdict, size_t done,
			 size_t total);
	void *context;
};

struct nc_result {
	const struct nc_case *row;
	struct nc_run runs[NC_RUN_COUNT];
	struct nc_verdict_of_case verdict;
	json_t *transcript; /* {"control": {...}, ...}: profile, command, output, what was seen; owned */
};

/* A path of the closure table that the matrix can say nothing about: there is no case for it, or netcordon leaves it open on this machine. Each is as
 * good as an inconclusive case of default_deny. */
struct nc_blocked_path {
	const char *path;
	const char *reason;
};
#define NC_BLOCKED_ID "path." /* before the path: its id beside the cases */

struct nc_conformance {
	struct nc_driver driver;
	struct nc_result *results;
	size_t count;
	bool whole;			 /* every applicable case was run */
	struct nc_blocked_path *blocked; /* owned; empty for a part of the matrix */
	size_t blocked_count;
	bool facts[NC_FACT_COUNT]; /* established */
	uint64_t seconds;
};

int nc_conform(const struct nc_conform_options *options, struct nc_conformance *ret_conformance, struct nc_error *reterr);
void nc_conformance_free(struct nc_conformance *conformance);
/* Does this case make sense for the provider? */
bool nc_case_applies(const struct nc_case *row, const struct nc_driver *driver);
/* only_case and only_fact: are there such (CASE_UNKNOWN), and is the row among what they choose? */
int nc_conform_check_choice(const struct nc_conform_options *options, struct nc_error *reterr);
bool nc_conform_wanted(const struct nc_conform_options *options, const struct nc_case *row);
/* A fact stands when every case of it was run and is green, a twin and a refusal among them. */
void nc_conform_facts(const struct nc_result *results, size_t count, bool whole, bool ret_facts[NC_FACT_COUNT]);

/* The path of the hostile client: the one that was given, or (NULL) the one that was built or installed with this program. DRIVER_UNUSABLE when it does not
 * run. */
int nc_conform_client(const char *given, char ret_path[PATH_MAX], struct nc_error *reterr);

#endif
