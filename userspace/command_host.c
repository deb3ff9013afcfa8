// SPDX-License-Identifier: GPL-2.0-only
/* command_host.c - `host up`, `host down`, `host probe`, `host status` */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "host.h"
#include "kept_file.h"
#include "launch.h"
#include "output.h"
#include "revision.h"

#define STOP_ALL_MS 30000 /* so long may those take that `host down --force` asks to end; then they are killed */

const struct argp_option nc_host_down_options[] = {
	{"force", NC_OPTION_FORCE, NULL, 0, "end the instances that live, as `stop` does; after 30 seconds, kill them", 0},
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

static json_t *nat64_json(const struct nc_settings *settings)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < settings->nat64_count; i++) {
		char text[NC_PREFIX_TEXT];

		json_array_append_new(rows, json_string(nc_prefix_text(&settings->nat64[i], text)));
	}
	return rows;
}

/* Of all programs, those that this kernel does not take or that are not attached: what follows from each, `host probe` says. */
static void print_programs(const struct nc_effective_list *list)
{
	static const char *const hooks[] = {
#define WORD(symbol, value, word) word,
		NC_HOOKS(WORD)
#undef WORD
	};
	const size_t all = sizeof(hooks) / sizeof(*hooks);
	char missing[sizeof(hooks) / sizeof(*hooks) * sizeof(list->programs->hook)] = "";
	size_t ours = 0, foreign = 0, used = 0;

	for (size_t i = 0; i < list->count; i++)
		foreign += !list->programs[i].ours;
	for (size_t hook = 0; hook < all; hook++) {
		bool found = false;

		for (size_t i = 0; i < list->count && !found; i++)
			found = list->programs[i].ours && !strcmp(list->programs[i].hook, hooks[hook]);
		ours += found;
		if (!found)
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, " %s", hooks[hook]);
	}
	printf("  programs   %zu of %zu in force, verified; %zu of somebody else\n", ours, all, foreign);
	if (ours < all)
		printf("  not taken %s (by this kernel; `netcordon host probe` says what follows)\n", missing);
	for (size_t i = 0; i < list->count; i++)
		if (!list->programs[i].ours)
			printf("  foreign    %s at %s (id %u)\n", list->programs[i].name, list->programs[i].hook, list->programs[i].id);
}

static void print_facts(const struct nc_host_facts *facts, const struct nc_effective_list *list, const struct nc_settings *settings)
{
	printf("up\n  root       %s\n  slice      %s\n  pins       %s\n", facts->root, facts->slice, facts->pins);
	print_programs(list);
	printf("  instances  %u of %u, %u of %u rings\n", facts->instances_used, facts->instances_max, facts->rings_used, facts->rings_max);
	for (uint32_t i = 0; i < settings->nat64_count; i++) {
		char text[NC_PREFIX_TEXT];

		printf("  nat64      %s\n", nc_prefix_text(&settings->nat64[i], text));
	}
	printf("  entries    policy %llu, grants %llu, seen %llu\n", (unsigned long long)facts->policy_entries,
	       (unsigned long long)facts->grant_entries, (unsigned long long)facts->seen_entries);
}

static int count_undead(void *context, const struct nc_instance_row *row)
{
	*(int *)context += row->undead && !row->owner_lives;
	return 0;
}

/* Verifies and prints. `cleaned`: how many orphans were ended before; -1: nobody looked. */
static int report(struct nc_invocation *invocation, struct nc_host *host, int cleaned, struct nc_error *reterr)
{
	struct nc_effective_list list = {0};
	struct nc_host_facts facts;
	struct nc_settings settings;
	int undead = 0;
	int ret = nc_host_verify(host, -1, &list, reterr);

	if (ret == 0)
		ret = nc_host_facts(host, &facts, reterr) ?: nc_host_settings(host, NULL, &settings, reterr) ?:
		      nc_instances(host, count_undead, &undead, reterr);
	if (ret == 0 && invocation->json) {
		json_t *document = facts_json(&facts);

		json_object_set_new(document, "nat64", nat64_json(&settings));
		json_object_set_new(document, "programs", programs_json(&list));
		if (cleaned >= 0)
			json_object_set_new(document, "orphans_ended", json_integer(cleaned));
		json_object_set_new(document, "undead", json_integer(undead));
		nc_output_json(document);
		json_decref(document);
	} else if (ret == 0) {
		print_facts(&facts, &list, &settings);
		if (cleaned > 0)
			printf("  orphans    %d ended: their supervisors had died\n", cleaned);
		if (undead)
			printf("  undead     %d: killed, and waiting in the kernel for what does not answer; `netcordon status` lists them\n",
			       undead);
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
	options.configure = true;
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
	bool force = nc_option(invocation, NC_OPTION_FORCE) != NULL;
	unsigned int stopped = 0;
	char said[64];
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret < 0 && reterr->code == NC_E_HOST_DOWN) {
		print_down(invocation, "down (it was already)");
		return NC_EXIT_YES;
	}
	if (ret < 0)
		return ret;
	/* what does not end when it is asked to is killed below: that is what force means */
	if (force && nc_launch_stop_all(host, STOP_ALL_MS, &stopped, reterr) < 0)
		*reterr = (struct nc_error){0};
	ret = nc_host_down(host, force, reterr);
	nc_host_close(host);
	if (ret < 0) {
		if (reterr->code == NC_E_HOST_BUSY && !reterr->hint[0])
			nc_error_hint(reterr, "`netcordon status` lists them; --force ends them");
		return ret;
	}
	nc_kept_forget(options.runtime ? options.runtime : NC_RUNTIME_FOLDER);
	snprintf(said, sizeof(said), stopped ? "down; instances stopped: %u" : "down", stopped);
	print_down(invocation, said);
	return NC_EXIT_YES;
}

static int tell_swept(void *context, const char *name, bool removed)
{
	json_t *rows = context;

	return json_array_append_new(rows, json_pack("{s:s, s:b}", "build", name, "removed", removed)) < 0 ? -ENOMEM : 0;
}

int nc_command_host_sweep(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_host_options options;
	json_t *rows = json_array(), *row;
	size_t i, in_use = 0;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_sweep(&options, tell_swept, rows, reterr);
	json_array_foreach(rows, i, row)
	{
		bool removed = json_is_true(json_object_get(row, "removed"));

		in_use += !removed;
		if (!invocation->json)
			printf("%s  %s\n", json_string_value(json_object_get(row, "build")), removed ? "removed" : "in use");
	}
	if (ret == 0 && invocation->json)
		nc_output_json(rows);
	json_decref(rows);
	return ret < 0 ? ret : in_use ? NC_EXIT_NO : NC_EXIT_YES;
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
	if (state == NC_CLOSURE_IN_FORCE)
		return "closed";
	return state == NC_CLOSURE_ABSENT ? "absent" : "GAP";
}

/* `run` and `attach` are the same table under two facts: who starts the process. */
struct closures {
	const struct nc_closure *run, *attach;
	size_t count;
};

static void print_closures_json(const struct closures *closures, size_t gaps)
{
	json_t *array = json_array(), *document;

	for (size_t i = 0; i < closures->count; i++) {
		const struct nc_closure *run = &closures->run[i], *attach = &closures->attach[i];

		json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "path", run->path, "summary", run->summary, "state",
						       nc_closure_state_word(run->state), "mechanism", run->mechanism, "needs", run->needs,
						       "attach_state", nc_closure_state_word(attach->state), "attach_mechanism", attach->mechanism));
	}
	document = json_pack("{s:i, s:o}", "gaps", (int)gaps, "closures", array);
	nc_output_json(document);
	json_decref(document);
}

static int print_closures(const struct nc_invocation *invocation, const struct closures *closures, struct nc_error *reterr)
{
	struct nc_table *table;
	size_t gaps = 0, attach_gaps = 0;
	int ret;

	for (size_t i = 0; i < closures->count; i++) {
		gaps += closures->run[i].state == NC_CLOSURE_GAP;
		attach_gaps += closures->attach[i].state == NC_CLOSURE_GAP;
	}
	if (invocation->json) {
		print_closures_json(closures, gaps);
		return gaps ? NC_EXIT_NO : NC_EXIT_YES;
	}
	table = nc_table_new(5);
	nc_table_row(table, "PATH", "RUN", "ATTACH", "CLOSED BY", "WHAT IT IS");
	for (size_t i = 0; i < closures->count; i++)
		nc_table_row(table, closures->run[i].path, closure_word(closures->run[i].state), closure_word(closures->attach[i].state),
			     closures->run[i].state == NC_CLOSURE_IN_FORCE ? closures->run[i].mechanism : "-", closures->run[i].summary);
	ret = nc_table_print(table, stdout, reterr);
	nc_table_free(table);
	if (ret < 0)
		return ret;
	printf("\n%zu ways out; gaps: %zu for run, %zu for attach, where whoever starts the process has to close the rest\n", closures->count, gaps,
	       attach_gaps);
	for (size_t i = 0; i < closures->count; i++) {
		const struct nc_closure *gap = &closures->run[i];

		if (gap->state == NC_CLOSURE_GAP)
			printf("  %s: %s would close it%s%s\n", gap->path, gap->mechanism, gap->needs[0] ? "; needs " : "", gap->needs);
	}
	return gaps ? NC_EXIT_NO : NC_EXIT_YES;
}

int nc_command_host_probe(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct closures closures;
	struct nc_host_options options;
	struct nc_host *host = NULL;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret < 0 && reterr->code != NC_E_HOST_DOWN)
		return ret;
	*reterr = (struct nc_error){0};
	ret = nc_closures(host, true, &closures.run, &closures.count, reterr);
	if (ret == 0)
		ret = nc_closures(host, false, &closures.attach, &closures.count, reterr);
	if (ret == 0)
		ret = print_closures(invocation, &closures, reterr);
	nc_host_close(host);
	return ret;
}
