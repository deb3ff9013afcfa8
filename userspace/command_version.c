// SPDX-License-Identifier: GPL-2.0-only
/* command_version.c - `version`: the build, its revision, and the versions of everything that it speaks */
#include <stdio.h>
#include <sys/utsname.h>
#include "capability.h"
#include "commands.h"
#include "launch.h"
#include "netcordon_abi.h"
#include "output.h"
#include "profile.h"
#include "revision.h"
#include "statement.h"

/* `run`, `attach` and `oci-hook` enforce differently: each is a provider of its own. */
#define PROVIDER_NAME(symbol, word, name) name,
static const char *const providers[] = {NC_PROVIDERS(PROVIDER_NAME)};
static const char *const domains[] = {NC_DOMAIN_LAUNCH, NC_DOMAIN_CHECKPOINT, NC_DOMAIN_CLOSING, NC_DOMAIN_CONFORMANCE};

static json_t *strings(const char *const *words, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_string(words[i]));
	return array;
}

static void print_json(const char *architecture)
{
	json_t *document = json_object();

	json_object_set_new(document, "version", json_string(NC_VERSION));
	json_object_set_new(document, "revision", json_string(nc_revision_name()));
	json_object_set_new(document, "manifest", json_string(nc_revision_manifest()));
	json_object_set_new(document, "abi", json_integer(NC_ABI_VERSION));
	json_object_set_new(document, "architecture", json_string(architecture));
	json_object_set_new(document, "profile_versions", json_pack("[i]", NC_PROFILE_VERSION));
	json_object_set_new(document, "config_versions", json_pack("[i]", NC_CONFIG_VERSION));
	json_object_set_new(document, "message_versions", json_pack("[i]", NC_MESSAGE_VERSION));
	json_object_set_new(document, "providers", strings(providers, sizeof(providers) / sizeof(*providers)));
	json_object_set_new(document, "domains", strings(domains, sizeof(domains) / sizeof(*domains)));
	nc_output_json(document);
	json_decref(document);
}

int nc_command_version(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct utsname system;

	(void)reterr;
	uname(&system);
	if (invocation->json) {
		print_json(system.machine);
		return NC_EXIT_YES;
	}
	printf("netcordon %s, revision %s\n", NC_VERSION, nc_revision_name());
	printf("  manifest         %s\n", nc_revision_manifest());
	printf("  kernel ABI       %d\n  profile version  %d\n  architecture     %s\n", NC_ABI_VERSION, NC_PROFILE_VERSION, system.machine);
	for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++)
		printf("  %-15s  %s\n", i ? "" : "providers", providers[i]);
	return NC_EXIT_YES;
}
