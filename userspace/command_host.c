// SPDX-License-Identifier: GPL-2.0-only
/* command_host.c - `host up`, `host down`, `host probe`, `host status` */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "output.h"
#include "revision.h"

const struct argp_option nc_host_down_options[] = {
	{"force", NC_OPTION_FORCE, NULL, 0, "end the instances that live", 0},
	{0},
};

const struct argp_option nc_host_probe_options[] = {
	{"provider", NC_OPTION_PROVIDER, "PROVIDER", 0, "what starts the process: run (default) or attach", 0},
	{0},
};

static json_t *facts_json(const struct nc_host_facts *facts)
{
	json_t *document = json_object();

	json_object_set_new(document, "up", json_true());
	json_object_set_new(document, "manifest", json_string(nc_revision_manifest()));
	json_object_set_new(document, "root", json_string(facts->root));
	json_object_set_new(document, "slice", json_string(facts->slice));
	json_object_set_new(document, "pins", json_string(facts->pins));
	json_object_set_new(document, "links", json_integer(facts->links));
	json_object_set_new(document, "instances", json_pack("{s:i, s:i}", "used", facts->instances_used, "room", facts->instances_max));
	json_object_set_new(document, "rings", json_pack("{s:i, s:i}", "used", facts->rings_used, "room", facts->rings_max));
	json_object_set_new(document, "entries",
			    json_pack("{s:I, s:I, s:I}", "policy", (json_int_t)facts->policy_entries, "grants", (json_int_t)facts->grant_entries,
				      "seen", (json_int_t)facts->seen_entries));
	return document;
}

static json_t *programs_json(const struct nc_effective_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct nc_effective *program = &list->programs[i];
		char tag[17];

		for (size_t byte = 0; byte < sizeof(program->tag); byte++)
			snprintf(tag + 2 * byte, 3, "%02x", program->tag[byte]);
		json_array_append_new(array, json_pack("{s:s, s:s, s:I, s:b, s:s}", "hook", program->hook, "name", program->name, "id",
						       (json_int_t)program->id, "ours", program->ours, "tag", tag));
	}
	return array;
}

static void print_facts(const struct nc_host_facts *facts, const struct nc_effective_list *list)
{
	size_t foreign = 0;

	for (size_t i = 0; i < list->count; i++)
		foreign += !list->programs[i].ours;
	printf("up\n  root       %s\n  slice      %s\n  pins       %s\n", facts->root, facts->slice, facts->pins);
	printf("  programs   %zu in force, verified; %zu of somebody else\n", list->count - foreign, foreign);
	for (size_t i = 0; i < list->count; i++)
		if (!list->programs[i].ours)
			printf("  foreign    %s at %s (id %u)\n", list->programs[i].name, list->programs[i].hook, list->programs[i].id);
	printf("  instances  %u of %u, %u of %u rings\n", facts->instances_used, facts->instances_max, facts->rings_used, facts->rings_max);
	printf("  entries    policy %llu, grants %llu, seen %llu\n", (unsigned long long)facts->policy_entries,
	       (unsigned long long)facts->grant_entries, (unsigned long long)facts->seen_entries);
}

/* Verifies and prints. `cleaned`: how many orphans were ended before; -1: nobody looked. */
static int report(struct nc_invocation *invocation, struct nc_host *host, int cleaned, struct nc_error *reterr)
{
	struct nc_effective_list list = {0};
	struct nc_host_facts facts;
	int ret = nc_host_verify(host, -1, &list, reterr);

	if (ret == 0)
		ret = nc_host_facts(host, &facts, reterr);
	if (ret == 0 && invocation->json) {
		json_t *document = facts_json(&facts);

		json_object_set_new(document, "programs", programs_json(&list));
		if (cleaned >= 0)
			json_object_set_new(document, "orphans_ended", json_integer(cleaned));
		nc_output_json(document);
		json_decref(document);
	} else if (ret == 0) {
		print_facts(&facts, &list);
		if (cleaned > 0)
			printf("  orphans    %d ended: their supervisors had died\n", cleaned);
	}
	nc_effective_free(&list);
	return ret < 0 ? ret : NC_EXIT_YES;
}

static int print_down(const struct nc_invocation *invocation, const char *why)
{
	if (invocation->json)
		puts("{\"up\": false}");
	else
		puts(why);
	return NC_EXIT_NO;
}

int nc_command_host_up(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_host_options options;
	struct nc_host *host = NULL;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_up(&options, &host, reterr);
	if (ret == 0)
		ret = report(invocation, host, -1, reterr);
	nc_host_close(host);
	return ret;
}

int nc_command_host_down(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_host_options options;
	struct nc_host *host = NULL;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret < 0 && reterr->code == NC_E_HOST_DOWN) {
		print_down(invocation, "down (it was already)");
		return NC_EXIT_YES;
	}
	if (ret < 0)
		return ret;
	ret = nc_host_down(host, nc_option(invocation, NC_OPTION_FORCE) != NULL, reterr);
	nc_host_close(host);
	if (ret < 0) {
		if (reterr->code == NC_E_HOST_BUSY && !reterr->hint[0])
			nc_error_hint(reterr, "`netcordon status` lists them; --force ends them");
		return ret;
	}
	print_down(invocation, "down");
	return NC_EXIT_YES;
}

int nc_command_host_status(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_host_options options;
	struct nc_host *host = NULL;
	uint32_t cleaned = 0;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret < 0 && reterr->code == NC_E_HOST_DOWN)
		return print_down(invocation, "down (`netcordon host up` installs the programs)");
	if (ret == 0)
		ret = nc_host_clean_orphans(host, &cleaned, reterr);
	if (ret == 0)
		ret = report(invocation, host, (int)cleaned, reterr);
	nc_host_close(host);
	return ret;
}

/* For people: what stands open is written large. */
static const char *closure_word(enum nc_closure_state state)
{
	if (state == NC_CLOSURE_GAP)
		return "GAP";
	return state == NC_CLOSURE_IN_FORCE ? "closed" : "absent";
}

static void print_closures_json(const struct nc_closure *rows, size_t count, size_t gaps, const char *provider)
{
	json_t *array = json_array(), *document;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:s, s:s, s:s}", "path", rows[i].path, "state", nc_closure_state_word(rows[i].state),
						"mechanism", rows[i].mechanism, "needs", rows[i].needs, "summary", rows[i].summary));
	document = json_pack("{s:s, s:i, s:o}", "provider", provider, "gaps", (int)gaps, "closures", array);
	nc_output_json(document);
	json_decref(document);
}

static int print_closures(const struct nc_closure *rows, size_t count, size_t gaps, struct nc_error *reterr)
{
	struct nc_table *table = nc_table_new(4);
	int ret;

	nc_table_row(table, "PATH", "STATE", "CLOSED BY", "WHAT IT IS");
	for (size_t i = 0; i < count; i++)
		nc_table_row(table, rows[i].path, closure_word(rows[i].state), rows[i].state == NC_CLOSURE_IN_FORCE ? rows[i].mechanism : "-",
			     rows[i].summary);
	ret = nc_table_print(table, stdout, reterr);
	nc_table_free(table);
	if (ret < 0)
		return ret;
	printf("\n%zu ways out, %zu %s\n", count, gaps, gaps == 1 ? "gap" : "gaps");
	for (size_t i = 0; i < count; i++)
		if (rows[i].state == NC_CLOSURE_GAP)
			printf("  %s: %s would close it%s%s\n", rows[i].path, rows[i].mechanism, rows[i].needs[0] ? "; it needs " : "",
			       rows[i].needs);
	return 0;
}

static int report_closures(const struct nc_invocation *invocation, struct nc_host *host, bool starts_process, struct nc_error *reterr)
{
	const struct nc_closure *rows;
	size_t count, gaps = 0;
	int ret = nc_closures(host, starts_process, &rows, &count, reterr);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++)
		gaps += rows[i].state == NC_CLOSURE_GAP;
	if (invocation->json)
		print_closures_json(rows, count, gaps, starts_process ? "run" : "attach");
	else
		ret = print_closures(rows, count, gaps, reterr);
	if (ret < 0)
		return ret;
	return gaps ? NC_EXIT_NO : NC_EXIT_YES;
}

int nc_command_host_probe(struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *provider = nc_option(invocation, NC_OPTION_PROVIDER);
	struct nc_host_options options;
	struct nc_host *host = NULL;
	int ret;

	if (provider && strcmp(provider, "run") && strcmp(provider, "attach"))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "host probe: --provider: '%s' is neither run nor attach", provider);
	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret < 0 && reterr->code != NC_E_HOST_DOWN)
		return ret;
	*reterr = (struct nc_error){0};
	ret = report_closures(invocation, host, !provider || !strcmp(provider, "run"), reterr);
	nc_host_close(host);
	return ret;
}
