// SPDX-License-Identifier: GPL-2.0-only
/* command_run.c - `run`, `attach`, `exec`, `update`: from the command line and the configuration to launch.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cause.h"
#include "cleanup.h"
#include "commands.h"
#include "launch.h"
#include "revision.h"

#define OPTION_PROFILE                                                                                                                               \
	{                                                                                                                                            \
		"profile", NC_OPTION_PROFILE, "PROFILE", 0, "the profile: a file, or a name in the profile folder", 0                                \
	}
#define OPTION_INSTANCE                                                                                                                              \
	{                                                                                                                                            \
		"instance", NC_OPTION_INSTANCE, "NAME", 0, "the instance's name; default: a random one", 0                                           \
	}
#define OPTION_NETNS                                                                                                                                 \
	{                                                                                                                                            \
		"netns", NC_OPTION_NETNS, "PATH", 0,                                                                                                 \
			"the workload's network namespace; default: the caller's, from which names are asked either way", 0                          \
	}
#define OPTION_EVIDENCE                                                                                                                              \
	{                                                                                                                                            \
		"evidence", NC_OPTION_EVIDENCE, "FOLDER", 0, "evidence folder, which must not exist yet", 0                                          \
	}
#define OPTION_KEY                                                                                                                                   \
	{                                                                                                                                            \
		"key", NC_OPTION_KEY, "FILE", 0, "secret key that signs the evidence; default: the configuration's", 0                               \
	}
#define OPTION_ATTESTER                                                                                                                              \
	{                                                                                                                                            \
		"attester", NC_OPTION_ATTESTER, "NAME", 0, "name beside the key's id in signatures", 0                                               \
	}
#define OPTION_BIND                                                                                                                                  \
	{                                                                                                                                            \
		"bind", NC_OPTION_BIND, "FILE", 0, "JSON object of the caller's own, signed unchanged", 0                                            \
	}
#define OPTION_STATUS_FD                                                                                                                             \
	{                                                                                                                                            \
		"status-fd", NC_OPTION_STATUS_FD, "N", 0, "write JSON lines: sealed, started, exited, failed", 0                                     \
	}
#define OPTION_HOLD_FD                                                                                                                               \
	{                                                                                                                                            \
		"hold-fd", NC_OPTION_HOLD_FD, "N", 0, "after `sealed`, wait for one byte before COMMAND starts", 0                                   \
	}
#define OPTION_ENV_FD                                                                                                                                \
	{                                                                                                                                            \
		"env-fd", NC_OPTION_ENV_FD, "N", 0, "more environment for COMMAND: NAME=VALUE, each ended by NUL", 0                                 \
	}
#define OPTION_DEADLINE                                                                                                                              \
	{                                                                                                                                            \
		"deadline", NC_OPTION_DEADLINE, "SECONDS", 0, "give up when COMMAND has not started by then", 0                                      \
	}
#define OPTION_LIFETIME                                                                                                                              \
	{                                                                                                                                            \
		"lifetime", NC_OPTION_LIFETIME, "SECONDS", 0, "end the instance this long after its start", 0                                        \
	}
#define OPTION_GRACE                                                                                                                                 \
	{                                                                                                                                            \
		"grace", NC_OPTION_GRACE, "SECONDS", 0, "between TERM and KILL; default: 10", 0                                                      \
	}
#define OPTION_PTY                                                                                                                                   \
	{                                                                                                                                            \
		"pty", NC_OPTION_PTY, NULL, 0, "a terminal of COMMAND's own", 0                                                                      \
	}
#define OPTION_ON_DEATH                                                                                                                              \
	{                                                                                                                                            \
		"on-supervisor-death", NC_OPTION_ON_DEATH, "WHAT", 0, "when the supervisor is killed: orphan (default), keep or kill the workload",  \
			0                                                                                                                            \
	}

const struct argp_option nc_run_options[] = {
	OPTION_PROFILE, OPTION_INSTANCE, OPTION_NETNS,	  OPTION_EVIDENCE, OPTION_KEY,	 OPTION_ATTESTER, OPTION_BIND,	   OPTION_STATUS_FD,
	OPTION_HOLD_FD, OPTION_ENV_FD,	 OPTION_DEADLINE, OPTION_LIFETIME, OPTION_GRACE, OPTION_PTY,	  OPTION_ON_DEATH, {0}};
const struct argp_option nc_attach_options[] = {{"cgroup", NC_OPTION_CGROUP, "CGROUP", 0, "the cgroup to seal", 0},
						OPTION_PROFILE,
						OPTION_INSTANCE,
						OPTION_NETNS,
						OPTION_EVIDENCE,
						OPTION_KEY,
						OPTION_ATTESTER,
						OPTION_BIND,
						OPTION_STATUS_FD,
						{"deadline", NC_OPTION_DEADLINE, "SECONDS", 0, "give up when the cgroup is not sealed by then", 0},
						OPTION_LIFETIME,
						OPTION_GRACE,
						OPTION_ON_DEATH,
						{0}};
const struct argp_option nc_exec_options[] = {
	{"authority", NC_OPTION_AUTHORITY, "AUTHORITY", 0, "plane (default) or workload", 0},
	{"plane-env-fd", NC_OPTION_PLANE_ENV_FD, "N", 0, "the plane's credentials: NAME=VALUE, each ended by NUL", 0},
	OPTION_ENV_FD,
	OPTION_STATUS_FD,
	OPTION_DEADLINE,
	{"lifetime", NC_OPTION_LIFETIME, "SECONDS", 0, "end COMMAND this long after its start", 0},
	OPTION_GRACE,
	OPTION_PTY,
	{0}};
const struct argp_option nc_update_options[] = {
	{"profile", NC_OPTION_PROFILE, "PROFILE", 0, "the profile: a file, or a name in the profile folder", 0},
	{0},
};
static int take_descriptor(const struct nc_invocation *invocation, enum nc_option key, int *ret_fd, struct nc_error *reterr)
{
	int64_t fd = -1;
	int ret = nc_option_number(invocation, key, 3, INT_MAX, &fd, reterr);

	if (ret < 0) {
		return nc_error_hint(reterr, "a descriptor beyond the standard three, which belong to COMMAND");
	}
	if (fd >= 0 && fcntl((int)fd, F_GETFD) < 0) {
		nc_error_set(reterr, NC_E_USAGE, -EBADF, "%s: --%s: descriptor %lld is not open", invocation->command->name,
			     nc_option_find(invocation->command, key)->name, (long long)fd);
		return nc_error_hint(reterr, "in a shell: %lld<FILE or %lld>FILE opens it", (long long)fd, (long long)fd);
	}
	*ret_fd = (int)fd;
	return 0;
}

static int take_descriptors(const struct nc_invocation *invocation, struct nc_launch_options *options, struct nc_error *reterr)
{
	const struct {
		enum nc_option key;
		int *place;
	} descriptors[] = {
		{NC_OPTION_STATUS_FD, &options->status_fd},
		{NC_OPTION_HOLD_FD, &options->hold_fd},
		{NC_OPTION_ENV_FD, &options->env_fd},
		{NC_OPTION_PLANE_ENV_FD, &options->plane_env_fd},
	};

	for (size_t i = 0; i < sizeof(descriptors) / sizeof(*descriptors); i++) {
		int ret = take_descriptor(invocation, descriptors[i].key, descriptors[i].place, reterr);

		if (ret < 0)
			return ret;
		for (size_t j = 0; j < i; j++)
			if (*descriptors[i].place >= 0 && *descriptors[i].place == *descriptors[j].place)
				return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: descriptor %d is given for two purposes",
						    invocation->command->name, *descriptors[i].place);
	}
	return 0;
}

static int take_ms(const struct nc_invocation *invocation, enum nc_option key, int *ret_ms, struct nc_error *reterr)
{
	int64_t ms = *ret_ms;
	int ret = nc_option_seconds(invocation, key, &ms, reterr);

	*ret_ms = (int)ms;
	return ret;
}

static int take_times(const struct nc_invocation *invocation, struct nc_launch_options *options, struct nc_error *reterr)
{
	int ret = take_ms(invocation, NC_OPTION_DEADLINE, &options->deadline_ms, reterr);

	if (ret == 0)
		ret = take_ms(invocation, NC_OPTION_LIFETIME, &options->lifetime_ms, reterr);
	if (ret == 0)
		ret = take_ms(invocation, NC_OPTION_GRACE, &options->grace_ms, reterr);
	return ret;
}

static int take_on_death(const struct nc_invocation *invocation, struct nc_launch_options *options, struct nc_error *reterr)
{
	const char *what = nc_option(invocation, NC_OPTION_ON_DEATH);

	if (!what)
		return 0;
	if (!strcmp(what, "orphan"))
		options->on_death = NC_ON_DEATH_ORPHAN;
	else if (!strcmp(what, "keep"))
		options->on_death = NC_ON_DEATH_KEEP;
	else if (!strcmp(what, "kill"))
		options->on_death = NC_ON_DEATH_KILL;
	else
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --on-supervisor-death: '%s' is none of orphan, keep, kill",
				    invocation->command->name, what);
	return 0;
}

static const char *key_of(const struct nc_invocation *invocation)
{
	const char *key = nc_option(invocation, NC_OPTION_KEY);

	return key ? key : invocation->config.key;
}

/* Whoever reads the status line is told what standard error says. */
static void advise(const void *context, struct nc_error *error)
{
	const struct nc_invocation *invocation = context;

	nc_invocation_profile_hint(invocation, error->status, error);
	/* the same key for every launch of this host: how to get it, rather than only that it is not there */
	if (error->code == NC_E_KEY_INVALID && error->status == -ENOENT)
		nc_error_hint(error, "make it once: netcordon key generate %s", key_of(invocation));
	nc_invocation_advise(invocation, error);
}

/* Everything that run, attach and exec have in common. Borrows from the invocation and from `host`. */
static int take_options(const struct nc_invocation *invocation, struct nc_host_options *host, struct nc_launch_options *ret_options,
			struct nc_error *reterr)
{
	const char *attester = nc_option(invocation, NC_OPTION_ATTESTER);
	struct nc_launch_options options = NC_LAUNCH_OPTIONS;
	int ret;

	nc_invocation_host(invocation, host);
	options.host = host;
	options.provider_revision = nc_revision_name();
	options.instance = nc_option(invocation, NC_OPTION_INSTANCE);
	options.netns = nc_option(invocation, NC_OPTION_NETNS);
	options.evidence = nc_option(invocation, NC_OPTION_EVIDENCE);
	options.evidence_parent = invocation->config.evidence;
	options.key = key_of(invocation);
	options.advise = advise;
	options.advise_context = invocation;
	options.attester = attester ? attester : invocation->config.attester;
	options.binding = nc_option(invocation, NC_OPTION_BIND);
	options.cgroup = nc_option(invocation, NC_OPTION_CGROUP);
	options.upstreams = invocation->config.upstreams;
	options.upstream_count = invocation->config.upstream_count;
	options.log_bytes = invocation->config.log_bytes;
	options.pty = nc_option(invocation, NC_OPTION_PTY) != NULL;
	ret = take_descriptors(invocation, &options, reterr);
	if (ret == 0)
		ret = take_times(invocation, &options, reterr);
	if (ret == 0)
		ret = take_on_death(invocation, &options, reterr);
	if (ret == 0)
		*ret_options = options;
	return ret;
}

/* What was ended from outside did not end by itself, and no exit status says why. For machines it stands in the status line and the evidence. */
static void tell_end(const struct nc_invocation *invocation, const struct nc_launch_end *end)
{
	if (nc_cause_is_ours(end->cause) && !invocation->json)
		fprintf(stderr, "netcordon: the workload was ended: %s: %s\n", end->cause, nc_cause_meaning(end->cause));
}

static int finish(struct nc_invocation *invocation, int ret, const struct nc_launch_end *end)
{
	if (ret >= 0) {
		tell_end(invocation, end);
		return end->status;
	}
	invocation->failure = end->status;
	return ret;
}

int nc_command_run(struct nc_invocation *invocation, struct nc_error *reterr)
{
	NC_FREE char *profile = nc_invocation_profile(invocation, reterr);
	struct nc_launch_options options;
	struct nc_host_options host;
	struct nc_launch_end end;
	int ret;

	if (!profile)
		return reterr->status;
	ret = take_options(invocation, &host, &options, reterr);
	if (ret < 0)
		return ret;
	options.profile = profile;
	options.command = invocation->arguments;
	ret = nc_launch_run(&options, &end, reterr);
	return finish(invocation, ret, &end);
}

int nc_command_attach(struct nc_invocation *invocation, struct nc_error *reterr)
{
	NC_FREE char *profile = nc_invocation_profile(invocation, reterr);
	struct nc_launch_options options;
	struct nc_host_options host;
	struct nc_launch_end end;
	int ret;

	if (!profile)
		return reterr->status;
	if (!nc_option(invocation, NC_OPTION_CGROUP))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "attach: --cgroup is missing");
	ret = take_options(invocation, &host, &options, reterr);
	if (ret < 0)
		return ret;
	options.profile = profile;
	ret = nc_launch_attach(&options, &end, reterr);
	return finish(invocation, ret, &end);
}

int nc_command_exec(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_launch_options options;
	struct nc_host_options host;
	struct nc_launch_end end;
	int ret;

	ret = take_options(invocation, &host, &options, reterr);
	if (ret < 0)
		return ret;
	options.authority = NC_AUTHORITY_PLANE;
	ret = nc_option_authority(invocation, &options.authority, reterr);
	if (ret < 0)
		return ret;
	if (options.plane_env_fd >= 0 && options.authority != NC_AUTHORITY_PLANE) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "exec: --plane-env-fd belongs to --authority plane");
		return nc_error_hint(reterr, "the workload is never handed the plane's credentials");
	}
	options.instance = invocation->arguments[0];
	options.command = invocation->arguments + 1;
	ret = nc_launch_exec(&options, &end, reterr);
	return finish(invocation, ret, &end);
}

int nc_command_update(struct nc_invocation *invocation, struct nc_error *reterr)
{
	NC_FREE char *profile = nc_invocation_profile(invocation, reterr);
	struct nc_host_options host;
	uint32_t ended = 0;
	int ret;

	if (!profile)
		return reterr->status;
	nc_invocation_host(invocation, &host);
	ret = nc_launch_update(&host, invocation->arguments[0], profile, &ended, reterr);
	if (ret < 0)
		return nc_invocation_profile_hint(invocation, ret, reterr);
	if (!invocation->json)
		printf("updated; connections ended: %u\n", ended);
	return NC_EXIT_YES;
}
