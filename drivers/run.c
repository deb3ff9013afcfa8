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
	return description(PROVIDER, revision(request), "workload plane", "direct", netcordon_option(request, "mutant") ? NETCORDON_CHECKS : "");
}

static struct line run_line(const json_t *state, const char *instance, char evidence[512])
{
	struct line line = netcordon_line(state, "run\0");

	snprintf(evidence, 512, "%s/evidence-%s", text_at(state, "scratch", NULL), instance);
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
	return line;
}

/* The instance that the plane's commands enter: its workload does nothing. */
static int start_instance(const json_t *state)
{
	char evidence[512];
	struct line line = run_line(state, text_at(state, "instance", NULL), evidence);

	netcordon_add(&line, "--");
	netcordon_add(&line, "sleep");
	netcordon_add(&line, "60");
	return netcordon_start(state, &line, evidence);
}

static json_t *prepare(const json_t *request)
{
	json_t *state = NULL;
	json_t *refusal = netcordon_ready(request, &state);

	if (refusal)
		return refusal;
	if (part_at(request, "profile", "plane", NULL) && start_instance(state) < 0)
		return refuse("launch", "the instance did not start");
	return prepared(PROVIDER, revision(request), state);
}

static json_t *exec(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char instance[80], evidence[512];
	struct line line;

	if (!strcmp(text_at(request, "authority", NULL) ?: "", "plane"))
		return netcordon_plane(request);
	/* Two launches of one driver state need two names. */
	snprintf(instance, sizeof(instance), "%.40s-%d", text_at(state, "instance", NULL), (int)getpid());
	line = run_line(state, instance, evidence);
	return netcordon_launch(state, &line, request);
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
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown});
}
