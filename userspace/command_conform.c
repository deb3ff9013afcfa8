/* SPDX-License-Identifier: GPL-2.0-only */
/* command_conform.c - `conform`: run the matrix against a provider */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "commands.h"
#include "conform.h"
#include "conform_output.h"
#include "conform_statement.h"
#include "conform_warden.h"
#include "conform_worker.h"
#include "json.h"
#include "output.h"

const struct argp_option nc_conform_options_table[] = {
	{"driver", NC_OPTION_DRIVER, "FILE", 0, "the provider's driver (docs/drivers.md)", 0},
	{"deadline", NC_OPTION_DEADLINE, "SECONDS", 0, "how long the driver may take for a verb, beside the command", 0},
	{"driver-options", NC_OPTION_DRIVER_OPTIONS, "JSON", 0, "an object for the driver alone", 0},
	{"provider", NC_OPTION_PROVIDER, "PROVIDER@REVISION", 0, "the exact pair under test; the driver must say the same", 0},
	{"manifest", NC_OPTION_MANIFEST, "DIGEST", 0, "SHA-256 of what is tested; needed with --bundle", 0},
	{"case", NC_OPTION_CASE, "ID[,ID]", 0, "these cases alone", 0},
	{"fact", NC_OPTION_FACT, "FACT", 0, "the cases of this fact alone", 0},
	{"list", NC_OPTION_LIST, NULL, 0, "print the cases and run nothing", 0},
	{"tap", NC_OPTION_TAP, NULL, 0, "results as TAP", 0},
	{"bundle", NC_OPTION_BUNDLE, "FOLDER", 0, "write the unsigned statement and the transcripts there; it must not exist", 0},
	{"client", NC_OPTION_CLIENT, "FILE", 0, "the matrix's hostile client `attempt`, when it is another than this installation's", 0},
	{"jobs", NC_OPTION_JOBS, "N", 0, "cases at a time (4, at most 16)", 0},
	{"listeners", NC_OPTION_LISTENERS, "on|off", 0, "off: nothing listens at the targets, and then nothing may come out green", 0},
	{0}};

/* "PROVIDER@REVISION" in place. */
static int split_pair(const struct nc_invocation *invocation, char pair[NC_PROVIDER_MAX + NC_REVISION_MAX], struct nc_conform_options *options,
		      struct nc_error *reterr)
{
	const char *given = nc_option(invocation, NC_OPTION_PROVIDER);
	char *at;

	snprintf(pair, NC_PROVIDER_MAX + NC_REVISION_MAX, "%s", given ?: "");
	at = strchr(pair, '@');
	if (at)
		*at++ = '\0';
	if (!at || !nc_provider_valid(pair) || !nc_revision_valid(at)) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: --provider must be the exact pair under test");
		return nc_error_hint(reterr, "for example --provider netcordon:run-provider@dev");
	}
	options->provider = pair;
	options->provider_revision = at;
	return 0;
}

static int read_options(const struct nc_invocation *invocation, struct nc_conform_options *options, json_t **ret_driver_options,
			struct nc_error *reterr)
{
	const char *json = nc_option(invocation, NC_OPTION_DRIVER_OPTIONS) ?: "{}", *listeners = nc_option(invocation, NC_OPTION_LISTENERS) ?: "on";
	const char *jobs = nc_option(invocation, NC_OPTION_JOBS);
	int64_t driver_ms = 0;
	int r;

	options->driver = nc_option(invocation, NC_OPTION_DRIVER);
	options->manifest = nc_option(invocation, NC_OPTION_MANIFEST);
	options->only_case = nc_option(invocation, NC_OPTION_CASE);
	options->only_fact = nc_option(invocation, NC_OPTION_FACT);
	if (!options->driver)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: --driver is missing");
	if (nc_option(invocation, NC_OPTION_BUNDLE) && !options->manifest)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: a bundle needs --manifest: a statement is about exact bits");
	if (options->manifest && (strlen(options->manifest) != 64 || strspn(options->manifest, "0123456789abcdef") != 64))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: --manifest must be a SHA-256 as 64 lower-case hexadecimal digits");
	if (strcmp(listeners, "on") && strcmp(listeners, "off"))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: --listeners is on or off");
	if (jobs && (strlen(jobs) > 2 || strspn(jobs, "0123456789") != strlen(jobs) || atoi(jobs) < 1 || atoi(jobs) > NC_JOBS_MAX))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: --jobs must be a number from 1 to %d", NC_JOBS_MAX);
	options->jobs = jobs ? atoi(jobs) : 0;
	options->listeners_off = !strcmp(listeners, "off");
	r = nc_option_seconds(invocation, NC_OPTION_DEADLINE, &driver_ms, reterr);
	if (r < 0)
		return r;
	options->driver_ms = (int)driver_ms;
	r = nc_json_parse(json, strlen(json), NC_E_USAGE, ret_driver_options, reterr);
	if (!r && !json_is_object(*ret_driver_options))
		r = nc_error_set(reterr, NC_E_USAGE, -EINVAL, "conform: --driver-options must be a JSON object");
	options->driver_options = *ret_driver_options;
	return r;
}

static int list(const struct nc_invocation *invocation, struct nc_error *reterr)
{
	const struct nc_conform_options options = {.only_case = nc_option(invocation, NC_OPTION_CASE),
						   .only_fact = nc_option(invocation, NC_OPTION_FACT)};
	NC_JSON json_t *cases = NULL;
	int r = nc_conform_check_choice(&options, reterr);

	if (r < 0)
		return r;
	if (!invocation->json)
		return nc_conform_show_list(&options, reterr) ?: NC_EXIT_YES;
	cases = nc_conform_list_json(&options);
	nc_output_json(cases);
	return NC_EXIT_YES;
}

static int show(const struct nc_invocation *invocation, const struct nc_conformance *conformance, struct nc_error *reterr)
{
	NC_JSON json_t *document = NULL;

	if (invocation->json) {
		document = nc_conform_json(conformance);
		nc_output_json(document);
		return 0;
	}
	if (nc_option(invocation, NC_OPTION_TAP)) {
		nc_conform_show_tap(conformance);
		return 0;
	}
	return nc_conform_show_table(conformance, reterr);
}

/* What the matrix's own process is given; it prints its own error, since it is the last to know it. */
struct job {
	struct nc_invocation *invocation;
	struct nc_conform_options options;
};

static int finish(const struct job *job, struct nc_conformance *conformance, struct nc_error *reterr)
{
	const char *bundle = nc_option(job->invocation, NC_OPTION_BUNDLE);
	bool all = true;
	int r = 0;

	for (int fact = 0; fact < NC_FACT_COUNT; fact++)
		all &= conformance->facts[fact];
	if (bundle)
		r = nc_conform_bundle_write(bundle, conformance, job->options.manifest, reterr);
	if (!r)
		r = show(job->invocation, conformance, reterr);
	nc_conformance_free(conformance);
	return r < 0 ? r : all ? NC_EXIT_YES : NC_EXIT_NO;
}

static int work(void *context, const char *scratch)
{
	struct job *job = context;
	struct nc_conformance conformance;
	struct nc_error error = {0};
	int r;

	job->options.scratch = scratch;
	r = nc_conform(&job->options, &conformance, &error);
	if (!r)
		r = finish(job, &conformance, &error);
	if (r >= 0)
		return r;
	nc_output_error(&error, job->invocation->json);
	return nc_error_exit(error.code);
}

int nc_command_conform(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct job job = {.invocation = invocation};
	char pair[NC_PROVIDER_MAX + NC_REVISION_MAX], client[PATH_MAX];
	NC_JSON json_t *driver_options = NULL;
	int r;

	if (nc_option(invocation, NC_OPTION_LIST))
		return list(invocation, reterr);
	r = split_pair(invocation, pair, &job.options, reterr);
	if (!r)
		r = read_options(invocation, &job.options, &driver_options, reterr);
	if (!r)
		r = nc_conform_client(nc_option(invocation, NC_OPTION_CLIENT), client, reterr);
	if (r < 0)
		return r;
	job.options.client = client;
	if (!invocation->json)
		job.options.progress = nc_conform_show_progress;
	signal(SIGPIPE, SIG_IGN);
	return nc_conform_under_warden(job.options.driver, driver_options, work, &job, reterr);
}
