/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform.c - the matrix: chooses the cases, has them run, and draws conclusions
 *
 * Cases run in worker processes, each with a world of its own (conform_worker.c); their outcomes are announced as they come. When a worker has no more
 * cases, its captures go on for as long as a client's kernel would repeat itself, everything is counted again, and what changed is announced again: the
 * last word is the later one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "clock.h"
#include "cleanup.h"
#include "conform.h"
#include "conform_run.h"
#include "conform_worker.h"
#include "loader.h"

#define CLIENT_USAGE "attempt [-t " /* what it says of itself begins so (tests/native/attempt.c) */
#define CLIENT_USAGE_MS 5000

bool nc_case_applies(const struct nc_case *row, const struct nc_driver *driver)
{
	if (row->base[0] && !nc_driver_switches(driver, row->base))
		return false;
	if (row->flags & NC_CASE_NEEDS & ~driver->offers)
		return false;
	return !(row->flags & (driver->proxied ? NC_CASE_DIRECT_ONLY : NC_CASE_PROXY_ONLY));
}

void nc_conform_facts(const struct nc_result *results, size_t count, bool whole, bool ret_facts[NC_FACT_COUNT])
{
	size_t cases[NC_FACT_COUNT] = {0}, green[NC_FACT_COUNT] = {0};
	bool reached[NC_FACT_COUNT] = {false}, refused[NC_FACT_COUNT] = {false};

	for (size_t i = 0; i < count; i++) {
		enum nc_fact fact = results[i].row->fact;

		cases[fact]++;
		green[fact] += results[i].verdict.outcome == NC_OUTCOME_GREEN;
		reached[fact] |= results[i].row->expectation == NC_EXPECT_REACHED;
		refused[fact] |= results[i].row->expectation == NC_EXPECT_REFUSED;
	}
	/* Every refusal has its twin inside its own runs; the facts about what is reached have cases of their own besides. */
	reached[NC_FACT_CONNECT_TIME_PUBLIC_ADDRESS] = reached[NC_FACT_DEFAULT_DENY] = true;
	for (int i = 0; i < NC_FACT_COUNT; i++)
		ret_facts[i] = whole && cases[i] && green[i] == cases[i] && reached[i] && refused[i];
}

/* Is `id` in a list divided by commas? */
static bool in_list(const char *list, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = list; (at = strstr(at, id)); at += length) {
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

static int check_ids(const char *list, struct nc_error *reterr)
{
	NC_FREE char *copy = strdup(list);
	char *state = NULL;

	for (char *id = copy ? strtok_r(copy, ",", &state) : NULL; id; id = strtok_r(NULL, ",", &state)) {
		if (!nc_case_find(id))
			return nc_error_set(reterr, NC_E_CASE_UNKNOWN, -ENOENT, "there is no case \"%s\"", id);
	}
	return 0;
}

bool nc_conform_wanted(const struct nc_conform_options *options, const struct nc_case *row)
{
	if (options->only_case && !in_list(options->only_case, row->id))
		return false;
	return !options->only_fact || !strcmp(options->only_fact, nc_fact_word(row->fact));
}

int nc_conform_check_choice(const struct nc_conform_options *options, struct nc_error *reterr)
{
	enum nc_fact fact;

	if (options->only_case && check_ids(options->only_case, reterr) < 0)
		return -ENOENT;
	if (options->only_fact && !nc_fact_parse(options->only_fact, &fact))
		return nc_error_set(reterr, NC_E_CASE_UNKNOWN, -ENOENT, "there is no fact \"%s\"", options->only_fact);
	return 0;
}

static int choose_cases(const struct nc_conform_options *options, struct nc_conformance *conformance, struct nc_error *reterr)
{
	int r = nc_conform_check_choice(options, reterr);

	if (r < 0)
		return r;
	conformance->results = calloc(nc_case_count, sizeof(*conformance->results));
	if (!conformance->results)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "choose the cases");
	conformance->whole = true;
	for (size_t i = 0; i < nc_case_count; i++) {
		if (!nc_case_applies(&nc_cases[i], &conformance->driver))
			continue;
		if (nc_conform_wanted(options, &nc_cases[i]))
			conformance->results[conformance->count++].row = &nc_cases[i];
		else
			conformance->whole = false;
	}
	if (!conformance->count)
		return nc_error_set(reterr, NC_E_CASE_UNKNOWN, -ENOENT, "the case makes no sense for this provider");
	return 0;
}

static bool has_case(const struct nc_conformance *conformance, const char *path)
{
	for (size_t i = 0; i < conformance->count; i++) {
		if (!strcmp(conformance->results[i].row->path, path))
			return true;
	}
	return false;
}

/* Walks the closure table. What netcordon leaves open says nothing about anybody else's provider; that there is no case does. */
static int find_blocked(struct nc_conformance *conformance, struct nc_error *reterr)
{
	bool own = !strncmp(conformance->driver.provider, "netcordon:", 10);
	const struct nc_closure *rows;
	size_t count;
	int r = nc_closures(NULL, !strcmp(conformance->driver.provider, "netcordon:run-provider"), &rows, &count, reterr);

	if (r < 0)
		return r;
	conformance->blocked = calloc(count + 1, sizeof(*conformance->blocked));
	if (!conformance->blocked)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "look at the paths");
	for (size_t i = 0; i < count; i++) {
		struct nc_blocked_path *blocked = &conformance->blocked[conformance->blocked_count];

		if (rows[i].state == NC_CLOSURE_ABSENT)
			continue;
		*blocked = (struct nc_blocked_path){.path = rows[i].path};
		if (own && rows[i].state == NC_CLOSURE_GAP)
			blocked->reason = "nothing closes this path on this machine";
		else if (!has_case(conformance, rows[i].path))
			blocked->reason = "the matrix has no case for this path";
		conformance->blocked_count += blocked->reason != NULL;
	}
	return 0;
}

int nc_conform(const struct nc_conform_options *options, struct nc_conformance *ret_conformance, struct nc_error *reterr)
{
	struct nc_conformance conformance = {0};
	uint64_t began = (uint64_t)nc_now_ns();
	int r = nc_driver_open(options->driver, options->provider, options->provider_revision, options->driver_options, options->driver_ms,
			       &conformance.driver, reterr);

	if (r < 0)
		return r;
	r = choose_cases(options, &conformance, reterr);
	if (!r)
		r = nc_conform_adopt(reterr);
	if (!r)
		r = nc_conform_work(options, &conformance, reterr);
	if (!r && conformance.whole)
		r = find_blocked(&conformance, reterr);
	nc_conform_finish_driver(&conformance.driver, options->driver_options);
	nc_conform_reap();
	if (r < 0) {
		nc_conformance_free(&conformance);
		return r;
	}
	nc_conform_facts(conformance.results, conformance.count, conformance.whole, conformance.facts);
	if (conformance.blocked_count)
		conformance.facts[NC_FACT_DEFAULT_DENY] = false;
	conformance.seconds = ((uint64_t)nc_now_ns() - began) / 1000000000u;
	*ret_conformance = conformance;
	return 0;
}

void nc_conformance_free(struct nc_conformance *conformance)
{
	for (size_t i = 0; i < conformance->count; i++)
		json_decref(conformance->results[i].transcript);
	free(conformance->results);
	free(conformance->blocked);
	nc_driver_close(&conformance->driver);
	*conformance = (struct nc_conformance){0};
}

/* The default: what `make` built, or what `make install` put into PREFIX/lib/netcordon. */
static int default_client(char ret_path[PATH_MAX], struct nc_error *reterr)
{
	static const char *const places[] = {"tests/native/attempt", "../lib/netcordon/attempt"};
	char self[PATH_MAX - 64];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)(slash - self), self, places[i]);
		if (!access(ret_path, X_OK))
			return 0;
	}
	nc_error_set(reterr, NC_E_DRIVER_UNUSABLE, -ENOENT, "the matrix's client `attempt` is neither in %s nor in %s beside this program", places[0],
		     places[1]);
	return nc_error_hint(reterr, "name it with --client; `make install` puts it into PREFIX/lib/netcordon");
}

/* A client that does not run would make each path look as if it were not there: it is asked for its own usage. */
int nc_conform_client(const char *given, char ret_path[PATH_MAX], struct nc_error *reterr)
{
	char *const argv[] = {ret_path, "-h", NULL};
	NC_FREE char *output = NULL;
	size_t length = 0;
	int status = 0, r = 0;

	if (!given)
		r = default_client(ret_path, reterr);
	else if (!realpath(given, ret_path))
		r = nc_error_sys(reterr, NC_E_DRIVER_UNUSABLE, -errno, "--client %s", given);
	if (r < 0)
		return r;
	r = nc_spawn_bounded(argv, "", 0, CLIENT_USAGE_MS, &status, &output, &length, NULL, NULL);
	if (r < 0)
		return nc_error_sys(reterr, NC_E_DRIVER_UNUSABLE, r, "run the matrix's client %s", ret_path);
	if (status == 0 && length > strlen(CLIENT_USAGE) && !memcmp(output, CLIENT_USAGE, strlen(CLIENT_USAGE)))
		return 0;
	nc_error_set(reterr, NC_E_DRIVER_UNUSABLE, -ENOEXEC,
		     WIFEXITED(status) && WEXITSTATUS(status) == 127 ? "the matrix's client %s cannot be executed" : "%s is not the matrix's client",
		     ret_path);
	return nc_error_hint(reterr, "--client names the program `attempt`; without it the one of this installation is taken");
}
