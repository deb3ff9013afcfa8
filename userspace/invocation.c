// SPDX-License-Identifier: GPL-2.0-only
/* invocation.c - what several commands take from one call: the host it speaks about, the profile it names */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cleanup.h"
#include "commands.h"
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
		.seen_entries = config->seen_entries,
		.foreign_allowed = (const char *const *)config->foreign_programs,
		.floor = config->floor,
		.floor_count = config->floor_count,
		.nat64 = config->nat64,
		.nat64_count = config->nat64_count,
	};
}

static bool is_path(const char *profile)
{
	size_t length = strlen(profile);

	return strchr(profile, '/') || (length > 5 && !strcmp(profile + length - 5, ".json"));
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
