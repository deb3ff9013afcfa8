// SPDX-License-Identifier: GPL-2.0-only
/* invocation.c - what several commands take from one call: the host it speaks about, the profile it names */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "commands.h"
#include "host.h"
#include "mutants.h"
#include "other_build.h"
#include "revision.h"
#include "text.h"

void nc_invocation_host(const struct nc_invocation *invocation, struct nc_host_options *ret_options)
{
	const struct nc_config *config = &invocation->config;
	const char *root = nc_option(invocation, NC_OPTION_ROOT);

	*ret_options = (struct nc_host_options){
		.root = root ? root : config->root,
		.manifest = nc_revision_manifest(),
		.instances = config->instances,
		.rings = config->rings,
		.ring_bytes = config->ring_bytes,
		.policy_entries = config->policy_entries,
		.grant_entries = config->grant_entries,
		.grant_share = config->grant_share,
		.seen_entries = config->seen_entries,
		.foreign_allowed = (const char *const *)config->foreign_programs,
		.floor = config->floor,
		.floor_count = config->floor_count,
		.nat64 = config->nat64,
		.nat64_count = config->nat64_count,
	};
#ifdef NC_MUTANTS
	nc_mutant_options(ret_options);
#endif
}

static bool is_path(const char *profile)
{
	size_t length = strlen(profile);

	return profile[0] == '.' || strchr(profile, '/') || (length > 5 && !strcmp(profile + length - 5, ".json"));
}

char *nc_invocation_profile(const struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *profile = nc_option(invocation, NC_OPTION_PROFILE);
	char *path = NULL;

	if (!profile || !profile[0]) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --profile is missing", invocation->command->name);
		nc_error_hint(reterr, "usage: netcordon %s %s", invocation->command->name, invocation->command->arguments);
		return NULL;
	}
	if (is_path(profile))
		path = strdup(profile);
	else if (asprintf(&path, "%s/%s.json", invocation->config.profiles, profile) < 0)
		path = NULL;
	if (!path)
		nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the command line");
	return path;
}

struct search {
	const char *name;
	char *ret_folder; /* NC_PATH_MAX */
	bool found;
};

static int match_instance(void *context, const struct nc_instance_row *row)
{
	struct search *search = context;

	if (strcmp(row->name, search->name))
		return 0;
	snprintf(search->ret_folder, NC_PATH_MAX, "%s", row->folder);
	search->found = true;
	return 0;
}

int nc_invocation_instance(const struct nc_invocation *invocation, const char *name, char ret_folder[NC_PATH_MAX], struct nc_error *reterr)
{
	struct search search = {.name = name, .ret_folder = ret_folder};
	struct nc_host_options options;
	struct nc_host *host = NULL;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret == 0)
		ret = nc_instances(host, match_instance, &search, reterr);
	nc_host_close(host);
	if (ret == 0 && !search.found)
		ret = nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "no live instance is called '%s'", name);
	return nc_other_error(&options, name, ret, reterr);
}

struct names {
	char names[256][NC_INSTANCE_NAME_MAX + 1]; /* a host with more has them in `status` */
	size_t count;
};

static int take_name(void *context, const struct nc_instance_row *row)
{
	struct names *all = context;

	snprintf(all->names[all->count++], sizeof(all->names[0]), "%s", row->name);
	return all->count == sizeof(all->names) / sizeof(all->names[0]);
}

static void hint_instance(const struct nc_invocation *invocation, struct nc_error *error)
{
	const char *asked = nc_option(invocation, NC_OPTION_INSTANCE) ?: invocation->arguments ? invocation->arguments[0] : NULL, *near = NULL;
	const char *words[sizeof(((struct names *)0)->names) / (NC_INSTANCE_NAME_MAX + 1) + 1] = {NULL};
	NC_FREE struct names *all = calloc(1, sizeof(*all));
	struct nc_host_options options;
	struct nc_host *host = NULL;
	struct nc_error ignored; /* without a list there is no guess */

	if (error->code != NC_E_INSTANCE_UNKNOWN || error->hint[0])
		return;
	nc_invocation_host(invocation, &options);
	if (asked && all && nc_host_open(&options, &host, &ignored) == 0)
		nc_instances(host, take_name, all, &ignored);
	nc_host_close(host);
	for (size_t i = 0; all && i < all->count; i++)
		words[i] = all->names[i];
	if (asked)
		near = nc_nearest(asked, words);
	if (near && strcmp(near, asked))
		nc_error_hint(error, "did you mean '%s'? `netcordon status` lists those that live", near);
	else
		nc_error_hint(error, "`netcordon status` lists those that live, `netcordon events NAME` reads the evidence of one that has ended");
}

int nc_invocation_profile_hint(const struct nc_invocation *invocation, int ret, struct nc_error *reterr)
{
	const char *profile = nc_option(invocation, NC_OPTION_PROFILE);

	if (ret < 0 && reterr->code == NC_E_PROFILE_UNREADABLE && reterr->status == -ENOENT && profile && !is_path(profile))
		nc_error_hint(reterr, "a word alone is a name in the profile folder; a file is ./%s or %s.json", profile, profile);
	return ret;
}

/* Wherever the kernel said no to somebody who is not root, that is why; the step at which it did is only where. */
static void hint_denial(const struct nc_invocation *invocation, struct nc_error *error)
{
	/* a key that is not there is the first thing that somebody else meets, and would help him no further */
	bool denied = error->status == -EPERM || error->status == -EACCES || error->code == NC_E_KEY_INVALID;

	if (!geteuid() || !invocation->command || !invocation->command->privileged || !denied)
		return;
	if (error->code == NC_E_SYSTEM)
		error->code = NC_E_HOST_DENIED;
	nc_error_hint(error, "netcordon %s needs root", invocation->command->name);
}

void nc_invocation_advise(const struct nc_invocation *invocation, struct nc_error *error)
{
	hint_denial(invocation, error);
	hint_instance(invocation, error);
}

int nc_invocation_load(const struct nc_invocation *invocation, const char *path, struct nc_profile **ret_profile, struct nc_error *reterr)
{
	const struct nc_settings settings = nc_prefix_settings(invocation->config.nat64, invocation->config.nat64_count);

	return nc_invocation_profile_hint(invocation, nc_profile_load(path, &settings, ret_profile, reterr), reterr);
}
