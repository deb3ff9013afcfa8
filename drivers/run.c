/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.c - driver of netcordon's own `run` and `exec` (options: netcordon.h)
 *
 * Each command is a launch of its own under the same profile; the plane's commands enter an instance that `prepare` started.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "netcordon.h"

#define PROVIDER "netcordon:run-provider"

static const char *revision(const json_t *request)
{
	return netcordon_option(request, "revision") ?: "dev";
}

static json_t *describe(const json_t *request)
{
	if (!netcordon_option(request, "netcordon") || !netcordon_option(request, "root"))
		return refuse("options", "netcordon and root are needed");
	return offering(
		description(PROVIDER, revision(request), "workload plane", "direct", netcordon_option(request, "mutant") ? NETCORDON_CHECKS : ""),
		netcordon_lsm(request) ? "cgroups update helpers pins lsm" : "cgroups update helpers pins ringless");
}

static struct line run_line(const json_t *state, const char *instance, char evidence[512])
{
	struct line line = netcordon_line(state, "run\0");

	snprintf(evidence, 512, "%s/evidence-%s-%d", text_at(state, "scratch", NULL), instance, (int)getpid());
	netcordon_add(&line, "--profile");
	netcordon_add(&line, text_at(state, "profile", NULL));
	netcordon_add(&line, "--instance");
	netcordon_add(&line, instance);
	netcordon_add(&line, "--netns");
	netcordon_add(&line, text_at(state, "workload", NULL));
	netcordon_add(&line, "--key");
	netcordon_add(&line, text_at(state, "key", NULL));
	netcordon_add(&line, "--evidence");
	netcordon_add(&line, evidence);
	netcordon_add(&line, "--on-supervisor-death");
	netcordon_add(&line, "keep"); /* a case kills it, and wants to see what the workload can do then */
	return line;
}

/* The instance that the plane's commands enter: its workload does nothing. */
static int start_instance(const json_t *state)
{
	char evidence[512];
	struct line line = run_line(state, text_at(state, "instance", NULL), evidence);

	netcordon_add(&line, "--");
	netcordon_add(&line, "sleep");
	netcordon_add(&line, NETCORDON_IDLE_SECONDS);
	return netcordon_start(state, &line, evidence);
}

static json_t *prepare(const json_t *request)
{
	json_t *state = NULL, *answer;
	json_t *refusal = netcordon_ready(request, &state);

	if (refusal)
		return refusal;
	if (part_at(request, "profile", "plane", NULL) && start_instance(state) < 0)
		return netcordon_refusal(state, "launch");
	answer = prepared(PROVIDER, revision(request), state);
	netcordon_point_out(state, answer);
	return answer;
}

/* The one that runs the workload's command; a second command of the same run is another instance. */
static void instance_of(const json_t *state, char instance[80])
{
	snprintf(instance, 80, "%.40s-w", text_at(state, "instance", NULL));
}

static json_t *update(const json_t *request)
{
	char instance[80];

	instance_of(part_at(request, "state", NULL), instance);
	return netcordon_update(request, instance);
}

static json_t *exec(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char instance[80], evidence[512];
	struct line line;
	json_t *answer;

	if (!strcmp(text_at(request, "authority", NULL) ?: "", "plane"))
		return netcordon_plane(request);
	instance_of(state, instance);
	line = run_line(state, instance, evidence);
	answer = netcordon_launch(state, &line, request);
	/* A supervisor that was killed leaves its workload behind its cordon. */
	if (json_integer_value(part_at(answer, "exited", NULL)) < 0)
		netcordon_stop_instance(state, instance);
	return answer;
}

static json_t *teardown(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);

	if (!json_is_object(state)) {
		netcordon_down(request);
		return nothing(request);
	}
	if (part_at(request, "profile", "plane", NULL))
		netcordon_stop(state);
	netcordon_forget(state);
	return nothing(request);
}

int main(int argc, char **argv)
{
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown, update});
}
