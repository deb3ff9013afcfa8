/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_worker.c - runs cases side by side, each worker a process with a world, an observer and a resolver of its own
 *
 *   parent -> worker   the index of a case, or -1: no more
 *   worker -> parent   one line of JSON for each case as it is decided, and one for each at the end, when late packets have had their time
 *
 * A worker is the reaper of everything that its drivers leave behind, so what one worker searches or ends is never another's. It dies with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_run.h"
#include "conform_transcript.h"
#include "conform_worker.h"
#include "json.h"

#define LATE_NS 3300000000 /* beyond the second retransmission of a SYN (RFC 6298: 1 s, then doubled) */

/* The guard's words for a guard, netcordon's for netcordon: whichever the driver knows. */
static const char *switches_of(const struct nc_case *row, const struct nc_driver *driver)
{
	return nc_driver_switches(driver, row->switches) ? row->switches : nc_driver_switches(driver, row->guard) ? row->guard : NULL;
}

static int run_case(struct nc_cast *cast, struct nc_result *result, struct nc_late late[NC_RUN_COUNT], struct nc_error *reterr)
{
	const struct nc_case *row = result->row;
	bool reach = row->expectation == NC_EXPECT_REACHED;
	const char *base = row->base, *switched = switches_of(row, cast->driver);
	NC_FREE char *both = NULL;
	int r = 0;

	if (!reach && switched && asprintf(&both, "%s%s%s", base, *base ? " " : "", switched) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "run a case");

	result->transcript = json_object();
	for (int kind = 0; !r && kind < NC_RUN_COUNT; kind++) {
		json_t *transcript = json_object();

		/* Without a way to switch the check off there is no third run of a refusal. */
		if (kind == NC_RUN_MUTANT && !reach && !both) {
			json_decref(transcript);
			continue;
		}
		r = nc_conform_run(cast, row, (enum nc_run_kind)kind, kind == NC_RUN_MUTANT && !reach ? both : base, &result->runs[kind], &late[kind],
				   transcript, reterr);
		json_object_set_new(result->transcript, nc_run_word((enum nc_run_kind)kind), transcript);
	}
	return r;
}

static void decide(struct nc_cast *cast, struct nc_result *result)
{
	nc_outcome_of(result->row->expectation, result->runs, json_array_size(cast->driver->mutants) > 0, &result->verdict);
}

/* ---- in the worker --------------------------------------------------------------------------------------------------------------------------- */

/* One case as the parent needs it; a null transcript: there is more to come. */
static json_t *line_of(size_t index, const struct nc_result *result, bool final)
{
	json_t *runs = json_array();

	for (int kind = 0; kind < NC_RUN_COUNT; kind++)
		json_array_append_new(runs, nc_run_json(&result->runs[kind]));
	return json_pack("{s:I s:o s:i s:s s:O?}", "index", (json_int_t)index, "runs", runs, "outcome", (int)result->verdict.outcome, "reason",
			 result->verdict.reason, "transcript", final ? result->transcript : NULL);
}

static int tell(FILE *out, json_t *line)
{
	int r = json_dumpf(line, out, JSON_COMPACT) < 0 || fputc('\n', out) == EOF || fflush(out) ? -EPIPE : 0;

	json_decref(line);
	return r;
}

/* Counts everything again, now that late packets have had their time. */
static void look_again(struct nc_cast *cast, struct nc_result *result, const struct nc_late *late)
{
	for (int kind = 0; kind < NC_RUN_COUNT; kind++) {
		const struct nc_late *one = &late[kind];
		json_t *transcript = json_object_get(result->transcript, nc_run_word((enum nc_run_kind)kind));
		struct nc_run *run = &result->runs[kind];

		if (one->watched)
			nc_observer_seen(cast->theatre.observer, one->since, &one->address, one->port, one->protocol, one->token, &run->seen);
		nc_run_count_tokens(result->row, run);
		json_object_set_new(transcript, "run", nc_run_json(run));
		json_object_set_new(transcript, "result", json_string(nc_run_result_word(nc_run_result(run))));
	}
	decide(cast, result);
}

static int build_theatre(const struct nc_conform_options *options, const struct nc_conformance *conformance, struct nc_theatre *theatre,
			 struct nc_error *reterr)
{
	static const enum nc_site watched[] = {NC_SITE_CORE, NC_SITE_INTERNET, NC_SITE_PRIVATE, NC_SITE_PLANE};
	int r = nc_world_new(&theatre->world, reterr);

	theatre->client = options->client;
	theatre->scratch = options->scratch;
	theatre->proxied = conformance->driver.proxied;
	theatre->listeners_off = options->listeners_off;
	if (!r)
		r = nc_observer_new(&theatre->observer, reterr);
	for (size_t i = 0; !r && i < sizeof(watched) / sizeof(*watched); i++)
		r = nc_observer_capture(theatre->observer, nc_world_netns(theatre->world, watched[i]), NULL, reterr);
	if (r < 0)
		return r;
	nc_world_link_address(theatre->world, NC_SITE_RESOLVER, 4, &theatre->resolver);
	nc_address_text(&theatre->resolver, theatre->resolver_text);
	return nc_observer_resolver(theatre->observer, nc_world_netns(theatre->world, NC_SITE_RESOLVER), &theatre->resolver, reterr);
}

/* Cases until the parent has no more; *done says which, in order. */
static int serve(struct nc_cast *cast, struct nc_conformance *conformance, struct nc_late *late, int from, FILE *out, struct nc_error *reterr)
{
	int32_t index;
	int r = 0;

	while (!r && read(from, &index, sizeof(index)) == sizeof(index) && index >= 0) {
		struct nc_result *result = &conformance->results[index];

		r = run_case(cast, result, late + (size_t)index * NC_RUN_COUNT, reterr);
		decide(cast, result);
		if (!r)
			r = tell(out, line_of((size_t)index, result, false));
	}
	if (r < 0)
		return r;
	nanosleep(&(struct timespec){.tv_sec = LATE_NS / 1000000000, .tv_nsec = LATE_NS % 1000000000}, NULL);
	for (size_t i = 0; !r && i < conformance->count; i++) {
		if (!conformance->results[i].transcript)
			continue;
		look_again(cast, &conformance->results[i], late + i * NC_RUN_COUNT);
		r = tell(out, line_of(i, &conformance->results[i], true));
	}
	return r;
}

static int be_worker(const struct nc_conform_options *options, struct nc_conformance *conformance, int number, int from, FILE *out)
{
	struct nc_conform_options own = *options;
	struct nc_cast cast = {.driver = &conformance->driver, .options = &own};
	NC_FREE struct nc_late *late = calloc(conformance->count * NC_RUN_COUNT, sizeof(*late));
	char scratch[64];
	struct nc_error error = {0};
	int r = late ? nc_conform_adopt(&error) : nc_error_sys(&error, NC_E_SYSTEM, -ENOMEM, "run the cases");

	snprintf(scratch, sizeof(scratch), NC_WORKER_SCRATCH, options->scratch, number);
	own.scratch = scratch;
	if (!r && (mkdir(scratch, 0755) < 0 || chmod(scratch, 0755) < 0))
		r = nc_error_sys(&error, NC_E_WORLD_FAILED, -errno, "make %s", scratch);
	if (!r)
		r = build_theatre(&own, conformance, &cast.theatre, &error);
	if (!r)
		r = serve(&cast, conformance, late, from, out, &error);
	if (r < 0 && error.code != NC_E_NONE)
		tell(out, json_pack("{s:i s:s s:s}", "error", (int)error.code, "detail", error.detail, "hint", error.hint));
	nc_conform_reap();
	nc_observer_free(cast.theatre.observer);
	nc_world_free(cast.theatre.world);
	return r < 0;
}

/* ---- in the parent --------------------------------------------------------------------------------------------------------------------------- */

struct worker {
	pid_t pid;
	int to;	    /* indexes */
	FILE *from; /* lines */
	bool busy;
};

static void announce(const struct nc_conform_options *options, const struct nc_conformance *conformance, const struct nc_result *result, size_t done)
{
	if (options->progress)
		options->progress(options->context, result->row, result->runs, &result->verdict, done, conformance->count);
}

static int take_runs(const json_t *line, struct nc_result *result, struct nc_error *reterr)
{
	int r = 0;

	for (size_t kind = 0; !r && kind < NC_RUN_COUNT; kind++) {
		const json_t *run = json_array_get(json_object_get(line, "runs"), kind);

		r = nc_run_parse(run, "", &result->runs[kind], reterr);
		if (r < 0)
			return r;
		snprintf(result->runs[kind].how, sizeof(result->runs[kind].how), "%s", json_string_value(json_object_get(run, "how")));
		snprintf(result->runs[kind].detail, sizeof(result->runs[kind].detail), "%s", json_string_value(json_object_get(run, "detail")));
	}
	return r;
}

/* One line. 1: a result was taken, 0: the worker is done; negative: it failed. */
static int hear(const struct nc_conform_options *options, struct nc_conformance *conformance, struct worker *worker, size_t *done,
		struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	NC_JSON json_t *line = NULL;
	struct nc_result *result;
	enum nc_outcome before;
	size_t size = 0;
	ssize_t length = getline(&text, &size, worker->from);
	bool final;

	if (length <= 0)
		return 0;
	line = json_loadb(text, (size_t)length, 0, NULL);
	if (!line)
		return nc_error_set(reterr, NC_E_WORLD_FAILED, -EPROTO, "a worker of the matrix was cut off");
	if (json_object_get(line, "error")) {
		nc_error_set(reterr, (enum nc_error_code)json_integer_value(json_object_get(line, "error")), -EIO, "%s",
			     json_string_value(json_object_get(line, "detail")));
		return nc_error_hint(reterr, "%s", json_string_value(json_object_get(line, "hint")));
	}
	result = &conformance->results[json_integer_value(json_object_get(line, "index"))];
	before = result->verdict.outcome;
	final = json_is_object(json_object_get(line, "transcript"));
	if (take_runs(line, result, reterr) < 0)
		return -EPROTO;
	result->verdict.outcome = (enum nc_outcome)json_integer_value(json_object_get(line, "outcome"));
	snprintf(result->verdict.reason, sizeof(result->verdict.reason), "%s", json_string_value(json_object_get(line, "reason")));
	if (final)
		result->transcript = json_incref(json_object_get(line, "transcript"));
	if (!final || result->verdict.outcome != before)
		announce(options, conformance, result, final ? *done : ++*done);
	return 1;
}

static int start(const struct nc_conform_options *options, struct nc_conformance *conformance, struct worker *workers, int number,
		 struct nc_error *reterr)
{
	struct worker *worker = &workers[number];
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "start a worker of the matrix");
	fflush(NULL);
	worker->pid = fork();
	if (!worker->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(down[1]);
		close(up[0]);
		for (int i = 0; i < number; i++)
			close(workers[i].to); /* or its owner would never see the end of it */
		_exit(be_worker(options, conformance, number, down[0], fdopen(up[1], "w")));
	}
	close(down[0]);
	close(up[1]);
	worker->to = down[1];
	worker->from = fdopen(up[0], "re");
	return worker->pid < 0 || !worker->from ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "start a worker of the matrix") : 0;
}

static void hand_out(struct worker *worker, size_t *next, size_t count)
{
	int32_t index = *next < count ? (int32_t)(*next)++ : -1;

	worker->busy = index >= 0;
	if (write(worker->to, &index, sizeof(index)) != sizeof(index))
		worker->busy = false; /* it is gone; what it said last tells why */
}

static int hand_out_all(const struct nc_conform_options *options, struct nc_conformance *conformance, struct worker *workers, size_t jobs,
			struct nc_error *reterr)
{
	size_t next = 0, done = 0, busy = jobs;

	for (size_t i = 0; i < jobs; i++)
		hand_out(&workers[i], &next, conformance->count);
	while (busy) {
		struct pollfd fds[NC_JOBS_MAX];

		busy = 0;
		for (size_t i = 0; i < jobs; i++) {
			fds[i] = (struct pollfd){.fd = workers[i].busy ? fileno(workers[i].from) : -1, .events = POLLIN};
			busy += workers[i].busy;
		}
		if (busy && poll(fds, jobs, -1) < 0 && errno != EINTR)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "wait for the workers of the matrix");
		for (size_t i = 0; i < jobs; i++) {
			int r = fds[i].fd >= 0 && fds[i].revents ? hear(options, conformance, &workers[i], &done, reterr) : 1;

			if (r < 0)
				return r;
			if (!r)
				return nc_error_set(reterr, NC_E_WORLD_FAILED, -EPIPE, "a worker of the matrix ended before its time");
			if (fds[i].fd >= 0 && fds[i].revents)
				hand_out(&workers[i], &next, conformance->count);
		}
	}
	for (size_t i = 0; i < jobs; i++) {
		int r;

		while ((r = hear(options, conformance, &workers[i], &done, reterr)) > 0)
			;
		if (r < 0)
			return r;
	}
	return 0;
}

int nc_conform_work(const struct nc_conform_options *options, struct nc_conformance *conformance, struct nc_error *reterr)
{
	size_t jobs = options->jobs > 0 ? (size_t)options->jobs : NC_JOBS;
	struct worker workers[NC_JOBS_MAX] = {0};
	int r = 0;

	if (jobs > conformance->count)
		jobs = conformance->count;
	if (jobs > NC_JOBS_MAX)
		jobs = NC_JOBS_MAX;
	for (size_t i = 0; !r && i < jobs; i++)
		r = start(options, conformance, workers, (int)i, reterr);
	if (!r)
		r = hand_out_all(options, conformance, workers, jobs, reterr);
	for (size_t i = 0; i < jobs && workers[i].pid > 0; i++) {
		if (r < 0)
			kill(workers[i].pid, SIGKILL);
		close(workers[i].to);
		if (workers[i].from)
			fclose(workers[i].from);
		waitpid(workers[i].pid, NULL, 0);
	}
	return r;
}
