/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.c - driver of netcordon's `attach`: a cgroup that somebody else fills (options: netcordon.h)
 *
 * The driver plays the container engine: it makes the cgroup, lets netcordon seal it, and starts each command inside as an ordinary user, in the
 * workload's network namespace. What an engine would close beside the network it does not close.
 *
 * The cgroup is sealed by the first command, as `run` launches by the command: what a case puts in a launch's way comes after `prepare`, which says where.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
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
	char cgroup[700];
	json_t *state = NULL;
	json_t *refusal = netcordon_ready(request, &state), *answer;

	if (refusal)
		return refusal;
	cgroup_of(state, cgroup);
	if (mkdir(cgroup, 0755) < 0)
		return refuse("cgroup", "%s: %s", cgroup, strerror(errno));
	answer = prepared(PROVIDER, revision(request), state);
	netcordon_point_out(state, answer);
	return answer;
}

static int start(const json_t *state, const char *cgroup, const char *evidence)
{
	struct line line = netcordon_line(state, "attach\0");

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
	return netcordon_start(state, &line, evidence);
}

/*
 * Whoever comes first seals; a command of the plane may come beside one of the workload. Then a process of ours stands in the cgroup, as an engine's first
 * process does, until the instance is stopped: an instance ends with the last process of its cgroup, and between two commands there would be none.
 */
static json_t *seal(const json_t *state, const char *cgroup, const struct nc_plain *inside)
{
	NC_CLOSE int lock = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char evidence[512];

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return refuse("cgroup", "%s: %s", cgroup, strerror(errno));
	snprintf(evidence, sizeof(evidence), "%s/evidence", text_at(state, "scratch", NULL));
	if (netcordon_has_begun(evidence))
		return NULL;
	if (start(state, cgroup, evidence) < 0)
		return netcordon_refusal(state, "attach");
	if (start_beside(inside, (char *const[]){"sleep", NETCORDON_IDLE_SECONDS, NULL}) < 0)
		return refuse("cgroup", "no process can be kept in %s", cgroup);
	return NULL;
}

static json_t *exec(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char cgroup[700], procs[740];
	const struct nc_plain inside = {
		.netns = text_at(state, "workload", NULL), .cgroup_procs = procs, .resolver = text_at(state, "resolver", NULL)};
	json_t *refusal;

	cgroup_of(state, cgroup);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
	refusal = seal(state, cgroup, &inside);
	if (refusal)
		return refusal;
	if (!strcmp(text_at(request, "authority", NULL) ?: "", "plane"))
		return netcordon_plane(request);
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
