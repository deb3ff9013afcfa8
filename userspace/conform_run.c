/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_run.c - one run: set the stage, let the driver prepare, reach the twin, attempt, tear down, look at what was seen
 *
 * The control never meets the driver: it runs in the same namespace by nc_plain_exec. Namespaces are handed to a driver as /proc/PID/fd/N of this
 * process, which are gone when this process is.
 */
#include <errno.h>
#include <netinet/in.h>
#include <fcntl.h>
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
#include "conform_actor.h"
#include "conform_run.h"
#include "conform_warden.h"
#include "json.h"
#include "observe_parts.h"
#include "plain.h"

#define COMMAND_MS 20000  /* the longest client waits three times for 3.3 s, and for 2 s between, and has five programs to start */
#define ARRIVAL_STEPS 100 /* of 5 ms */
#define FINISH_TIMES 6	  /* the limit of a teardown, for what was kept from all the cases */

void nc_netns_path(const struct nc_theatre *theatre, enum nc_site site, char path[64])
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

	nc_netns_path(&cast->theatre, NC_SITE_WORKLOAD, workload);
	nc_netns_path(&cast->theatre, NC_SITE_EDGE, edge);
	return json_pack("{s:i s:s s:s s:O s:{s:s s:s s:s} s:o s:s s:O s:{s:s} s:s s:b s:s}", "version", NC_DRIVER_VERSION, "instance", instance,
			 "scratch", scratch, "options", cast->options->driver_options, "netns", "workload", workload, "edge", edge, "plane", edge,
			 "link", links(&cast->theatre), "resolver", cast->theatre.resolver_text, "profile", stage->profile, "credentials",
			 NC_CREDENTIAL_NAME, stage->credential, "off", off, "apart", (stage->row->flags & NC_CASE_APART) != 0, "nat64", stage->nat64);
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
				       .terminal = *stage->terminal ? stage->terminal : NULL,
				       .privileged = stage->row->flags & NC_CASE_PRIVILEGED};
	NC_JSON json_t *answer = NULL;
	int r;

	nc_netns_path(&cast->theatre, plane ? NC_SITE_EDGE : NC_SITE_WORKLOAD, netns);
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
	struct nc_driver driver = *cast->driver;

	json_object_set(request, "command", (json_t *)command);
	json_object_set_new(request, "authority", json_string(stage->authority));
	json_object_set_new(request, "deadline_ms", json_integer(COMMAND_MS));
	driver.terminal = *stage->terminal ? stage->terminal : NULL;
	return nc_driver_exec(&driver, request, COMMAND_MS, output, reterr);
}

static bool twin_was_reached(struct nc_cast *cast, const struct nc_stage *stage, const char *output)
{
	struct nc_seen seen;

	nc_observer_seen(cast->theatre.observer, stage->begun, &stage->twin.address, stage->twin.port, IPPROTO_TCP, stage->twin_token, &seen);
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

/* The case is about a launch that must not go on: the driver says that it did not, and names the check that stopped it. */
static int launch_was_refused(const struct nc_stage *stage, int status, struct nc_run *run, json_t *transcript, struct nc_error *reterr)
{
	if (!(stage->row->flags & NC_CASE_LAUNCH) || reterr->code != NC_E_DRIVER_REFUSED || !strstr(reterr->detail, stage->row->variant))
		return status;
	run->twin_wanted = false;
	run->reported = true;
	snprintf(run->how, sizeof(run->how), "launch %.40s", stage->row->variant);
	json_object_set_new(
		transcript, "output",
		json_sprintf("{\"verb\":\"launch\",\"call\":\"launch\",\"errno\":\"%s\",\"outcome\":\"refused\"}\n", stage->row->variant));
	*reterr = (struct nc_error){0};
	return 0;
}

/* The command of the attempt, with the twin's before it where one is wanted: in the same instance, by the same process. */
static json_t *whole_command(const struct nc_stage *stage)
{
	if (!stage->twin_command)
		return json_incref(stage->command);
	return nc_client_both(json_incref(stage->twin_command), json_incref(stage->command));
}

/* Takes the twin's part from what the command wrote; the rest is the attempt's. */
static const char *read_twin(struct nc_cast *cast, const struct nc_stage *stage, char *text, struct nc_run *run, json_t *transcript)
{
	char *mark = strstr(text, NC_CLIENT_MARK);

	if (!stage->twin_command)
		return text;
	if (mark)
		*mark = '\0';
	run->twin_reached = twin_was_reached(cast, stage, text);
	json_object_set_new(transcript, "twin_output", json_string(text));
	return mark ? mark + strlen(NC_CLIENT_MARK) : "";
}

/* In a cgroup that has no policy yet nobody can start anything but the host; the twin is reached in an instance that has one. */
static int exec_unsealed(struct nc_cast *cast, const struct nc_stage *stage, const struct nc_driver_prepared *prepared,
			 struct nc_driver_output *output, struct nc_error *reterr)
{
	char netns[64], procs[560];
	const struct nc_plain plain = {.netns = netns, .resolver = cast->theatre.resolver_text, .cgroup_procs = procs};
	NC_JSON json_t *answer = NULL;
	int r;

	nc_netns_path(&cast->theatre, NC_SITE_WORKLOAD, netns);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", prepared->unsealed);
	r = nc_plain_exec(&plain, stage->command, COMMAND_MS, &answer, reterr);
	if (r < 0)
		return r;
	output->text = strdup(json_string_value(json_object_get(answer, "output")));
	return output->text ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "keep the command's output");
}

static int exec_with_actor(struct nc_cast *cast, struct nc_stage *stage, json_t *request, const struct nc_driver_prepared *prepared,
			   const json_t *command, struct nc_driver_output *output, struct nc_error *reterr)
{
	struct nc_actor *actor = NULL;
	int r = nc_actor_begin(cast, stage, request, prepared, &actor, reterr);

	if (!r && stage->failure.code == NC_E_NONE && !request)
		r = plain_exec(cast, stage, output, reterr);
	else if (!r && stage->failure.code == NC_E_NONE)
		r = driver_exec(cast, stage, request, command, output, reterr);
	nc_actor_end(actor);
	if (!r && stage->failure.code != NC_E_NONE) {
		*reterr = stage->failure;
		free(output->text);
		output->text = NULL;
		r = stage->failure.status;
	}
	return r;
}

static int attempt(struct nc_cast *cast, struct nc_stage *stage, json_t *request, const struct nc_driver_prepared *prepared, struct nc_run *run,
		   json_t *transcript, struct nc_error *reterr)
{
	NC_JSON json_t *command = whole_command(stage);
	struct nc_driver_output output = {0}, twin = {0};
	const char *text;
	int r = 0;

	run->twin_wanted = stage->twin_command;
	if (stage->row->construction == NC_CONSTRUCTION_UNSEALED && stage->twin_command)
		r = driver_exec(cast, stage, request, stage->twin_command, &twin, reterr);
	if (!r && twin.text)
		read_twin(cast, stage, twin.text, run, transcript);
	free(twin.text);
	if (!r && stage->row->construction == NC_CONSTRUCTION_UNSEALED)
		r = exec_unsealed(cast, stage, prepared, &output, reterr);
	else if (!r)
		r = exec_with_actor(cast, stage, request, prepared, command, &output, reterr);
	if (r < 0)
		return launch_was_refused(stage, r, run, transcript, reterr);
	text = stage->row->construction == NC_CONSTRUCTION_UNSEALED ? output.text : read_twin(cast, stage, output.text, run, transcript);
	/* What was never open cannot have been closed. */
	if (stage->row->construction == NC_CONSTRUCTION_TIGHTENED && run->twin_wanted)
		run->twin_reached &= stage->permitted;
	if (stage->row->construction == NC_CONSTRUCTION_CREDENTIAL) {
		r = search(stage, run, reterr);
	} else {
		nc_client_read(text, stage->target.answer, run);
		json_object_set_new(transcript, "output", json_string(text));
	}
	free(output.text);
	return r;
}

static int with_driver(struct nc_cast *cast, struct nc_stage *stage, const char *off, struct nc_run *run, json_t *transcript, struct nc_error *reterr)
{
	char scratch[NC_SCRATCH_MAX + 16], pending[NC_SCRATCH_MAX + 24], instance[NC_TOKEN_SIZE];
	NC_JSON json_t *request = NULL, *ignored = NULL;
	struct nc_driver_prepared prepared = {0};
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
		r = nc_driver_prepare(cast->driver, request, &prepared, reterr);
	if (r < 0) {
		r = launch_was_refused(stage, r, run, transcript, reterr);
	} else {
		json_object_set_new(request, "state", prepared.state);
		/* Should the matrix be killed now, its warden finds here what to tear down. */
		json_dump_file(request, pending, JSON_COMPACT);
		r = attempt(cast, stage, request, &prepared, run, transcript, reterr);
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

static int control(struct nc_cast *cast, struct nc_stage *stage, struct nc_run *run, json_t *transcript, struct nc_error *reterr)
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
	r = exec_with_actor(cast, stage, NULL, NULL, NULL, &output, reterr);
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

void nc_run_count_tokens(const struct nc_case *row, struct nc_run *run)
{
	if (row->flags & NC_CASE_TOKEN && !run->seen.tokens)
		run->seen = (struct nc_seen){0};
}

/* A client that got through without an answer may be done before the listener is. */
static void look(struct nc_cast *cast, const struct nc_late *at, struct nc_run *run)
{
	for (int i = 0; i < ARRIVAL_STEPS; i++) {
		nc_observer_seen(cast->theatre.observer, at->since, &at->address, at->port, at->protocol, at->token, &run->seen);
		if (!run->through || run->seen.tokens)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
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
	/* An echo request has no port, and what is only seen on the wire may be of any protocol. */
	if (stage.target.protocol == IPPROTO_ICMP || stage.target.protocol == IPPROTO_ICMPV6 || row->flags & NC_CASE_ON_WIRE)
		stage.target.port = 0;
	*ret_late = (struct nc_late){.address = stage.target.address,
				     .port = stage.target.port,
				     .protocol = stage.target.protocol,
				     .since = stage.since,
				     .watched = run.made && row->construction != NC_CONSTRUCTION_CREDENTIAL};
	if (!(row->flags & (NC_CASE_ANY_PAYLOAD | NC_CASE_ON_WIRE)))
		memcpy(ret_late->token, stage.token, sizeof(stage.token));
	if (ret_late->watched)
		look(cast, ret_late, &run);
	nc_run_count_tokens(row, &run);
	/* Loopback is every run's: what comes later is somebody else's. */
	if (row->construction == NC_CONSTRUCTION_SELF || row->construction == NC_CONSTRUCTION_IMPOSTOR)
		ret_late->watched = false;
	run.lost = nc_observer_lost(cast->theatre.observer) - lost;
	write_down(&stage, &run, off, transcript);
	nc_stage_strike(&stage);
	*ret_run = run;
	return 0;
}

void nc_conform_finish_driver(const struct nc_driver *driver, const json_t *options)
{
	NC_JSON json_t *request = json_pack("{s:i s:O s:n}", "version", NC_DRIVER_VERSION, "options", options, "state");
	NC_JSON json_t *answer = NULL;
	struct nc_error ignored = {0};

	nc_driver_ask(driver, "teardown", request, FINISH_TIMES * driver->teardown_ms, &answer, &ignored);
}

int nc_conform_adopt(struct nc_error *reterr)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0
		       ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "become the reaper of what drivers leave behind")
		       : 0;
}
