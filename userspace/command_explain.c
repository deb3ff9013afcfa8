// SPDX-License-Identifier: GPL-2.0-only
/*
 * command_explain.c - `explain`: what the verdict would be and why, or what a word of the interface means
 *
 * The answer comes from the kernel's own verdict code (explain.h). What the host adds is the configuration's floor and NAT64 prefixes, and the addresses of
 * the network namespace that the question is put in, which on the host itself are those that the floor map has. A listed name's addresses are asked for.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "commands.h"
#include "explain.h"
#include "host.h"
#include "instance_state.h"
#include "output.h"
#include "text.h"

const struct argp_option nc_explain_options[] = {
	{"profile", NC_OPTION_PROFILE, "PROFILE", 0, "the profile: a file, or a name in the profile folder", 0},
	{"instance", NC_OPTION_INSTANCE, "NAME", 0, "instead of a profile: the one that a live instance was sealed with", 0},
	{"authority", NC_OPTION_AUTHORITY, "AUTHORITY", 0, "workload (default) or plane", 0},
	{0},
};

/* ---- a destination --------------------------------------------------------------------------------------------------------------------------- */

/* The profile that was asked for, or that a live instance was sealed with. The caller frees; NULL with an error. */
static char *profile_path(const struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *instance = nc_option(invocation, NC_OPTION_INSTANCE);
	char folder[NC_PATH_MAX], *path = NULL;

	if (!instance)
		return nc_invocation_profile(invocation, reterr);
	if (nc_option(invocation, NC_OPTION_PROFILE)) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "explain: --profile and --instance exclude each other");
		return NULL;
	}
	if (nc_invocation_instance(invocation, instance, folder, reterr) < 0)
		return NULL;
	if (asprintf(&path, "%s/" NC_INSTANCE_PROFILE, folder) < 0) {
		nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the command line");
		return NULL;
	}
	return path;
}

/* The floor and the prefixes in the form in which the kernel has them. The caller frees *ret_floor. */
static int host_part(const struct nc_config *config, struct nc_settings *ret_settings, struct nc_explain_floor **ret_floor, size_t *ret_count,
		     struct nc_error *reterr)
{
	struct nc_explain_floor *floor;
	struct nc_own own = {0};
	size_t count = 0;
	int ret = nc_own_read(-1, &own, reterr);

	if (ret < 0)
		return ret;
	floor = calloc(own.count + config->floor_count + 1, sizeof(*floor));
	for (size_t i = 0; floor && i < config->floor_count; i++)
		floor[count++] = (struct nc_explain_floor){.address = config->floor[i], .length = 128, .kind = NC_FLOOR_OPERATOR};
	for (size_t i = 0; floor && i < own.count; i++)
		floor[count++] = (struct nc_explain_floor){.address = own.rows[i].address, .length = own.rows[i].length, .kind = NC_FLOOR_HOST};
	nc_own_free(&own);
	if (!floor)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	*ret_settings = nc_prefix_settings(config->nat64, config->nat64_count);
	*ret_floor = floor;
	*ret_count = count;
	return 0;
}

static int print_explanation(const struct nc_invocation *invocation, const struct nc_explanation *explanation, struct nc_error *reterr)
{
	if (invocation->json) {
		json_t *document = nc_explain_json(explanation);

		if (!document)
			return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "print the explanation");
		nc_output_json(document);
		json_decref(document);
	} else {
		nc_explain_text(explanation, stdout);
	}
	return explanation->decision == NC_DENY ? NC_EXIT_NO : NC_EXIT_YES;
}

static int ask(const struct nc_invocation *invocation, const struct nc_profile *profile, struct nc_error *reterr)
{
	struct nc_explain_question question = {.authority = NC_AUTHORITY_WORKLOAD};
	NC_FREE struct nc_explain_floor *floor = NULL;
	struct nc_explanation explanation;
	char host[NC_HOST_NAME_MAX + 2];
	struct nc_settings settings;
	int ret = nc_option_authority(invocation, &question.authority, reterr);

	if (ret == 0)
		ret = nc_explain_target(invocation->arguments[0], host, &question.port, &question.protocol, reterr);
	if (ret == 0)
		ret = host_part(&invocation->config, &settings, &floor, &question.floor_count, reterr);
	if (ret < 0)
		return ret;
	question.host = host;
	question.settings = &settings;
	question.floor = floor;
	ret = nc_explain(profile, &question, &explanation, reterr);
	if (ret < 0)
		return ret;
	ret = nc_explain_ask(profile, &question, invocation->config.upstreams, invocation->config.upstream_count, &explanation, reterr);
	ret = ret < 0 ? ret : print_explanation(invocation, &explanation, reterr);
	free(explanation.addresses);
	return ret;
}

int nc_command_explain(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_profile *profile = NULL;
	NC_FREE char *path = NULL;
	int ret;

	if (!nc_option(invocation, NC_OPTION_PROFILE) && !nc_option(invocation, NC_OPTION_INSTANCE))
		return nc_command_explain_word(invocation, reterr);
	path = profile_path(invocation, reterr);
	ret = path ? nc_invocation_load(invocation, path, &profile, reterr) : reterr->status;
	if (ret == 0)
		ret = ask(invocation, profile, reterr);
	nc_profile_free(profile);
	return ret;
}
