/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.c - driver of netcordon's `attach`: a cgroup that somebody else fills (options: netcordon.h)
 *
 * The driver plays the container engine: it makes the cgroup, lets netcordon seal it, and starts each command inside as an ordinary user, in the
 * workload's network namespace. What an engine would close beside the network it does not close.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "netcordon.h"

#define PROVIDER "netcordon:attach-provider"

static const char *revision(const json_t *request)
{
	return netcordon_option(request, "revision") ?: "dev";
}

static json_t *describe(const json_t *request)
{
	bool mutant = netcordon_option(request, "mutant");

	if (!netcordon_option(request, "netcordon") || !netcordon_option(request, "root"))
		return refuse("options", "netcordon and root are needed");
	return offering(lacking(description(PROVIDER, revision(request), "workload plane", "direct", mutant ? NETCORDON_CHECKS : ""),
				NETCORDON_PROCESS_CHECKS),
			netcordon_lsm(request) ? "cgroups update helpers pins lsm" : "cgroups update helpers pins ringless");
}

static void cgroup_of(const json_t *state, char path[700])
{
	snprintf(path, 700, "%s/%.16s", text_at(state, "root", NULL), text_at(state, "instance", NULL));
}

static json_t *prepare(const json_t *request)
{
	char cgroup[700], evidence[512];
	json_t *state = NULL;
	json_t *refusal = netcordon_ready(request, &state), *answer;
	struct line line;

	if (refusal)
		return refusal;
	cgroup_of(state, cgroup);
	if (mkdir(cgroup, 0755) < 0)
		return refuse("cgroup", "%s: %s", cgroup, strerror(errno));
	snprintf(evidence, sizeof(evidence), "%s/evidence", text_at(state, "scratch", NULL));
	line = netcordon_line(state, "attach\0");
	netcordon_add(&line, "--cgroup");
	netcordon_add(&line, cgroup);
	netcordon_add(&line, "--profile");
	netcordon_add(&line, text_at(state, "profile", NULL));
	netcordon_add(&line, "--instance");
	netcordon_add(&line, text_at(state, "instance", NULL));
	netcordon_add(&line, "--netns");
	netcordon_add(&line, text_at(state, "workload", NULL));
	netcordon_add(&line, "--key");
	netcordon_add(&line, text_at(state, "key", NULL));
	netcordon_add(&line, "--evidence");
	netcordon_add(&line, evidence);
	if (netcordon_start(state, &line, evidence) < 0) {
		rmdir(cgroup);
		return netcordon_refusal(state, "attach");
	}
	answer = prepared(PROVIDER, revision(request), state);
	netcordon_point_out(state, answer);
	return answer;
}

static json_t *exec(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char procs[740];
	const struct nc_plain inside = {
		.netns = text_at(state, "workload", NULL), .cgroup_procs = procs, .resolver = text_at(state, "resolver", NULL)};

	if (!strcmp(text_at(request, "authority", NULL) ?: "", "plane"))
		return netcordon_plane(request);
	cgroup_of(state, procs);
	strcat(procs, "/cgroup.procs");
	return run_command(request, &inside);
}

static json_t *teardown(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char cgroup[700];

	if (!json_is_object(state)) {
		netcordon_down(request);
		return nothing(request);
	}
	netcordon_stop(state);
	cgroup_of(state, cgroup);
	rmdir(cgroup);
	netcordon_forget(state);
	return nothing(request);
}

static json_t *update(const json_t *request)
{
	return netcordon_update(request, text_at(request, "state", "instance", NULL));
}

int main(int argc, char **argv)
{
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown, update});
}
