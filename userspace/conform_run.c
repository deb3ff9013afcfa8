/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_run.c - one run: set the stage, let the driver prepare, reach the twin, attempt, tear down, look at what was seen
 *
 * The control never meets the driver: it runs in the same namespace by nc_plain_exec. Namespaces are handed to a driver as /proc/PID/fd/N of this
 * process, which are gone when this process is.
 */
#include <errno.h>
#include <netinet/in.h>
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
#include "conform_warden.h"
#include "json.h"
#include "plain.h"

#define COMMAND_MS 9000

static void netns_path(const struct nc_theatre *theatre, enum nc_site site, char path[64])
{
	snprintf(path, 64, "/proc/%d/fd/%d", (int)getpid(), nc_world_netns(theatre->world, site));
}

static json_t *links(const struct nc_theatre *theatre)
{
	static const enum nc_site sites[] = {NC_SITE_WORKLOAD, NC_SITE_EDGE};
	json_t *object = json_object();

	for (size_t i = 0; i < 2; i++) {
		json_t *one = json_object();

		for (int family = 4; family <= 6; family += 2) {
			union nc_address address;
			char text[64], name[24];

			nc_world_link_address(theatre->world, sites[i], family, &address);
			nc_address_text(&address, text);
			snprintf(name, sizeof(name), "%d", family);
			json_object_set_new(one, name, json_string(text));
			address.bytes[15]--; /* core's end of the link is the address before the place's */
			nc_address_text(&address, text);
			snprintf(name, sizeof(name), "gateway%d", family);
			json_object_set_new(one, name, json_string(text));
		}
		json_object_set_new(object, nc_site_word(sites[i]), one);
	}
	return object;
}

static json_t *request_of(struct nc_cast *cast, const struct nc_stage *stage, const char *instance, const char *scratch, const char *off)
{
	char workload[64], edge[64];

	netns_path(&cast->theatre, NC_SITE_WORKLOAD, workload);
	netns_path(&cast->theatre, NC_SITE_EDGE, edge);
	return json_pack("{s:i s:s s:s s:O s:{s:s s:s s:s} s:o s:s s:O s:{s:s} s:s}", "version", NC_DRIVER_VERSION, "instance", instance, "scratch",
			 scratch, "options", cast->options->driver_options, "netns", "workload", workload, "edge", edge, "plane", edge, "link",
			 links(&cast->theatre), "resolver", cast->theatre.resolver_text, "profile", stage->profile, "credentials", NC_CREDENTIAL_NAME,
			 stage->credential, "off", off);
}

/* A failure of the driver becomes part of the run; anything else ends the matrix. */
static int keep_failure(int r, const struct nc_error *error, struct nc_run *run)
{
	if (r < 0) {
		run->made = false;
		run->failure = error->code;
		snprintf(run->detail, sizeof(run->detail), "%.199s", error->detail);
	}
	return r;
}

static int plain_exec(struct nc_cast *cast, const struct nc_stage *stage, struct nc_driver_output *output, struct nc_error *reterr)
{
	bool plane = !strcmp(stage->authority, "plane");
	char netns[64], credential[80], *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", plane ? credential : NULL, NULL};
	const struct nc_plain plain = {.netns = netns,
				       .resolver = cast->theatre.resolver_text,
				       .environment = environment,
				       .privileged = stage->row->flags & NC_CASE_PRIVILEGED};
	NC_JSON json_t *answer = NULL;
	int r;

	netns_path(&cast->theatre, plane ? NC_SITE_EDGE : NC_SITE_WORKLOAD, netns);
	snprintf(credential, sizeof(credential), "%s=%s", NC_CREDENTIAL_NAME, stage->credential);
	r = nc_plain_exec(&plain, stage->command, COMMAND_MS, &answer, reterr);
	if (r < 0)
		return r;
	output->text = strdup(json_string_value(json_object_get(answer, "output")));
	return output->text ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "keep the command's output");
}

static int driver_exec(struct nc_cast *cast, const struct nc_stage *stage, json_t *request, const json_t *command, struct nc_driver_output *output,
		       struct nc_error *reterr)
{
	json_object_set(request, "command", (json_t *)command);
	json_object_set_new(request, "authority", json_string(stage->authority));
	json_object_set_new(request, "deadline_ms", json_integer(COMMAND_MS));
	return nc_driver_exec(cast->driver, request, COMMAND_MS, output, reterr);
}

static bool twin_was_reached(struct nc_cast *cast, const struct nc_stage *stage, const char *output)
{
	struct nc_seen seen;

	nc_observer_seen(cast->theatre.observer, stage->since, &stage->twin.address, stage->twin.port, IPPROTO_TCP, stage->twin_token, &seen);
	return seen.tokens && strstr(output, stage->twin.answer);
}

/* The canary: a process that the search must find, beside those in which it must find nothing. */
static int search(const struct nc_stage *stage, struct nc_run *run, struct nc_error *reterr)
{
	char where[64] = "";
	bool found = false;
	int r = nc_conform_search(stage->credential, &found, where, sizeof(where), reterr);

	if (r < 0)
		return r;
	run->reported = true;
	run->answered = found;
	run->seen.tokens = run->seen.listened = found;
	snprintf(run->how, sizeof(run->how), "%.60s", found ? where : "not found");
	return 0;
}

static int attempt(struct nc_cast *cast, const struct nc_stage *stage, json_t *request, struct nc_run *run, json_t *transcript,
		   struct nc_error *reterr)
{
	struct nc_driver_output output = {0};
	int r;

	if (stage->has_twin) {
		run->twin_wanted = true;
		r = driver_exec(cast, stage, request, stage->twin_command, &output, reterr);
		if (r < 0)
			return r;
		run->twin_reached = twin_was_reached(cast, stage, output.text);
		json_object_set_new(transcript, "twin_output", json_string(output.text));
		free(output.text);
	}
	if (stage->row->construction == NC_CONSTRUCTION_CREDENTIAL)
		return search(stage, run, reterr);
	output.text = NULL;
	r = driver_exec(cast, stage, request, stage->command, &output, reterr);
	if (r < 0)
		return r;
	nc_client_read(output.text, stage->target.answer, run);
	json_object_set_new(transcript, "output", json_string(output.text));
	free(output.text);
	return 0;
}

static int with_driver(struct nc_cast *cast, const struct nc_stage *stage, const char *off, struct nc_run *run, json_t *transcript,
		       struct nc_error *reterr)
{
	char scratch[NC_SCRATCH_MAX + 16], pending[NC_SCRATCH_MAX + 24], instance[NC_TOKEN_SIZE];
	NC_JSON json_t *request = NULL, *state = NULL, *ignored = NULL;
	struct nc_error teardown_error = {0};
	int r;

	snprintf(scratch, sizeof(scratch), "%.60s/XXXXXX", cast->options->scratch);
	snprintf(pending, sizeof(pending), "%.60s/%s", cast->options->scratch, NC_PENDING_TEARDOWN);
	if (!mkdtemp(scratch))
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "make a scratch folder");
	chmod(scratch, 0755);
	nc_pick_token(instance);
	request = request_of(cast, stage, instance, scratch, off);
	if (!strcmp(stage->authority, "plane") && !cast->driver->plane)
		r = nc_error_set(reterr, NC_E_AUTHORITY_DIMENSION_ABSENT, -EOPNOTSUPP, "the provider knows one authority only");
	else
		r = nc_driver_prepare(cast->driver, request, &state, reterr);
	if (!r) {
		json_object_set(request, "state", state);
		/* Should the matrix be killed now, its warden finds here what to tear down. */
		json_dump_file(request, pending, JSON_COMPACT);
		r = attempt(cast, stage, request, run, transcript, reterr);
		json_object_del(request, "command");
		if (nc_driver_ask(cast->driver, "teardown", request, cast->driver->teardown_ms, &ignored, &teardown_error) < 0 && !r) {
			*reterr = teardown_error;
			r = teardown_error.status;
		}
	}
	unlink(pending);
	nc_conform_reap();
	rmdir(scratch);
	return r;
}

static int control(struct nc_cast *cast, const struct nc_stage *stage, struct nc_run *run, json_t *transcript, struct nc_error *reterr)
{
	struct nc_driver_output output = {0};
	pid_t planted;
	int r;

	if (stage->row->construction == NC_CONSTRUCTION_CREDENTIAL) {
		planted = fork();
		if (!planted) {
			char text[80], *argv[] = {"sleep", "5", NULL}, *environment[] = {text, NULL};

			snprintf(text, sizeof(text), "%s=%s", NC_CREDENTIAL_NAME, stage->credential);
			execve("/bin/sleep", argv, environment);
			_exit(127);
		}
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		r = search(stage, run, reterr);
		kill(planted, SIGKILL);
		waitpid(planted, NULL, 0);
		return r;
	}
	r = plain_exec(cast, stage, &output, reterr);
	if (r < 0)
		return r;
	nc_client_read(output.text, stage->target.answer, run);
	json_object_set_new(transcript, "output", json_string(output.text));
	free(output.text);
	return 0;
}

static void write_down(const struct nc_stage *stage, const struct nc_run *run, const char *off, json_t *transcript)
{
	json_object_set_new(transcript, "target",
			    json_pack("{s:s s:s s:i s:i}", "host", stage->target.host, "address", stage->target.literal, "port", stage->target.port,
				      "protocol", stage->target.protocol));
	json_object_set(transcript, "profile", stage->profile);
	json_object_set(transcript, "command", stage->command);
	json_object_set_new(transcript, "token", json_string(stage->token));
	json_object_set_new(transcript, "answer", json_string(stage->target.answer));
	json_object_set_new(transcript, "off", json_string(off));
	json_object_set_new(transcript, "how", json_string(run->how));
}

int nc_conform_run(struct nc_cast *cast, const struct nc_case *row, enum nc_run_kind kind, const char *off, struct nc_run *ret_run,
		   struct nc_late *ret_late, json_t *transcript, struct nc_error *reterr)
{
	uint64_t lost = nc_observer_lost(cast->theatre.observer);
	struct nc_error failure = {0};
	struct nc_run run = {.made = true};
	struct nc_stage stage;
	int r = nc_stage_set(&cast->theatre, row, kind, &stage, reterr);

	if (r < 0)
		return r;
	if (kind == NC_RUN_CONTROL)
		r = control(cast, &stage, &run, transcript, &failure);
	else
		r = with_driver(cast, &stage, off, &run, transcript, &failure);
	keep_failure(r, &failure, &run);
	*ret_late = (struct nc_late){.address = stage.target.address,
				     .port = stage.target.port,
				     .protocol = stage.target.protocol,
				     .since = stage.since,
				     .watched = run.made && row->construction != NC_CONSTRUCTION_CREDENTIAL};
	if (!(row->flags & NC_CASE_ANY_PAYLOAD))
		memcpy(ret_late->token, stage.token, sizeof(stage.token));
	if (ret_late->watched)
		nc_observer_seen(cast->theatre.observer, stage.since, &stage.target.address, stage.target.port, stage.target.protocol,
				 ret_late->token, &run.seen);
	run.lost = nc_observer_lost(cast->theatre.observer) - lost;
	write_down(&stage, &run, off, transcript);
	nc_stage_strike(&cast->theatre, &stage);
	*ret_run = run;
	return 0;
}

void nc_conform_finish_driver(const struct nc_driver *driver, const json_t *options)
{
	NC_JSON json_t *request = json_pack("{s:i s:O s:n}", "version", NC_DRIVER_VERSION, "options", options, "state");
	NC_JSON json_t *answer = NULL;
	struct nc_error ignored = {0};

	nc_driver_ask(driver, "teardown", request, driver->teardown_ms, &answer, &ignored);
}

int nc_conform_adopt(struct nc_error *reterr)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0
		       ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "become the reaper of what drivers leave behind")
		       : 0;
}
