// SPDX-License-Identifier: GPL-2.0-only
/* invocation.c - what several commands take from one call: the host it speaks about, the profile it names */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cleanup.h"
#include "commands.h"
#include "host.h"
#include "mutants.h"
#include "other_build.h"
#include "revision.h"

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
	if (ret == 0 && !search.found) {
		nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "no live instance is called '%s'", name);
		ret = nc_error_hint(reterr, "`netcordon status` lists them");
	}
	return nc_other_error(&options, name, ret, reterr);
}

int nc_invocation_profile_hint(const struct nc_invocation *invocation, int ret, struct nc_error *reterr)
{
	const char *profile = nc_option(invocation, NC_OPTION_PROFILE);

	if (ret < 0 && reterr->code == NC_E_PROFILE_UNREADABLE && reterr->status == -ENOENT && profile && !is_path(profile))
		nc_error_hint(reterr, "a word alone is a name in the profile folder; a file is ./%s or %s.json", profile, profile);
	return ret;
}

int nc_invocation_load(const struct nc_invocation *invocation, const char *path, struct nc_profile **ret_profile, struct nc_error *reterr)
{
	const struct nc_settings settings = nc_prefix_settings(invocation->config.nat64, invocation->config.nat64_count);

	return nc_invocation_profile_hint(invocation, nc_profile_load(path, &settings, ret_profile, reterr), reterr);
}
