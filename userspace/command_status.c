// SPDX-License-Identifier: GPL-2.0-only
/*
 * command_status.c - `status`: the instances that live, what their maps hold beside what they should hold, and what was refused
 *
 * Instances that another build sealed are named, and no more is said of them than that build's folders show.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "evidence.h"
#include "explain.h"
#include "instance_state.h"
#include "json.h"
#include "launch.h"
#include "other_build.h"
#include "output.h"

struct listing {
	const struct nc_invocation *invocation;
	const char *only; /* NULL: all */
	size_t count;
	bool differs; /* somewhere the policy entries are not what they should be */
	struct nc_table *table;
	json_t *array;
	size_t other_count;
	struct nc_table *others;
};

#define SYMBOL(symbol, word, meaning) STATE_##symbol,
#define WORD(symbol, word, meaning) [STATE_##symbol] = word,
enum { NC_INSTANCE_STATES(SYMBOL) };
static const char *const state_words[] = {NC_INSTANCE_STATES(WORD)};
#undef SYMBOL
#undef WORD

static const char *state_word(const struct nc_instance_row *row)
{
	return state_words[row->owner_lives ? STATE_LIVE : row->undead ? STATE_UNDEAD : row->kept ? STATE_KEPT : STATE_ORPHAN];
}

static bool reason_denies(int reason)
{
#define DENIES(symbol, value, word, decision, meaning)                                                                                               \
	if (reason == value)                                                                                                                         \
		return NC_##decision == NC_DENY;
	NC_REASONS(DENIES)
#undef DENIES
	return true;
}

static uint64_t sum(const struct nc_counters *counters, bool denied)
{
	uint64_t total = 0;

	for (int reason = NC_COUNTER_LOST + 1; reason < NC_REASON_MAX; reason++)
		if (reason_denies(reason) == denied)
			total += counters->by_reason[reason];
	return total;
}

static json_t *authority_json(const struct nc_instance_row *row, int authority)
{
	return json_pack("{s:I, s:I, s:o, s:I}", "entries_intended", (json_int_t)row->intended[authority], "entries_present",
			 (json_int_t)row->present[authority], "reasons", nc_counters_json(&row->counters[authority]), "events_lost",
			 (json_int_t)row->counters[authority].by_reason[NC_COUNTER_LOST]);
}

/* Where its evidence is and who supervises it. False: not sealed yet, or gone meanwhile. */
static bool look_behind(const struct nc_instance_row *row, struct nc_instance_state *ret_state)
{
	struct nc_error ignored;

	return nc_instance_state_read(row->folder, ret_state, &ignored) == 0;
}

static json_t *row_json(const struct nc_instance_row *row)
{
	struct nc_instance_state state;
	json_t *object = json_pack("{s:i, s:s, s:o, s:s, s:s, s:b, s:s, s:o, s:o}", "version", NC_MESSAGE_VERSION, "instance", row->name,
				   "generation", nc_json_u64(row->generation), "state", state_word(row), "mode", nc_mode_word(row->mode), "populated",
				   row->populated, "cgroup", row->cgroup, "workload", authority_json(row, 0), "plane", authority_json(row, 1));

	if (look_behind(row, &state)) {
		json_object_set_new(object, "evidence", json_string(state.evidence));
		json_object_set_new(object, "supervisor", row->owner_lives ? json_integer(state.supervisor.pid) : json_null());
	}
	return object;
}

static void entries_text(const struct nc_instance_row *row, int authority, char *ret_text, size_t size)
{
	const bool differs = row->present[authority] != row->intended[authority];

	snprintf(ret_text, size, "%llu/%llu%s", (unsigned long long)row->present[authority], (unsigned long long)row->intended[authority],
		 differs ? " DIFFERS" : "");
}

static void add_row(struct nc_table *table, const struct nc_instance_row *row)
{
	char workload[64], plane[64], allowed[24], refused[24], lost[24];

	entries_text(row, 0, workload, sizeof(workload));
	entries_text(row, 1, plane, sizeof(plane));
	snprintf(allowed, sizeof(allowed), "%llu", (unsigned long long)(sum(&row->counters[0], false) + sum(&row->counters[1], false)));
	snprintf(refused, sizeof(refused), "%llu", (unsigned long long)(sum(&row->counters[0], true) + sum(&row->counters[1], true)));
	snprintf(lost, sizeof(lost), "%llu",
		 (unsigned long long)(row->counters[0].by_reason[NC_COUNTER_LOST] + row->counters[1].by_reason[NC_COUNTER_LOST]));
	nc_table_row(table, row->name, state_word(row), nc_mode_word(row->mode), row->populated ? "yes" : "no", workload, plane, allowed, refused,
		     lost);
}

static void print_counters(const char *authority, const struct nc_counters *counters)
{
#define COUNT(symbol, value, word, decision, meaning)                                                                                                \
	if (counters->by_reason[value])                                                                                                              \
		printf("  %-8s  %-8s  %-22s  %10llu  %s\n", authority, NC_##decision == NC_DENY ? "refused" : "allowed", word,                       \
		       (unsigned long long)counters->by_reason[value], meaning);
	NC_REASONS(COUNT)
#undef COUNT
}

static void print_one(const struct nc_instance_row *row)
{
	struct nc_instance_state state;
	char workload[64], plane[64];

	entries_text(row, 0, workload, sizeof(workload));
	entries_text(row, 1, plane, sizeof(plane));
	printf("%s\n  state       %s, processes: %s\n  mode        %s\n", row->name, state_word(row), row->populated ? "yes" : "no",
	       nc_mode_word(row->mode));
	printf("  generation  %llu\n  cgroup      %s\n", (unsigned long long)row->generation, row->cgroup);
	if (look_behind(row, &state)) {
		printf("  evidence    %s\n", state.evidence);
		if (row->owner_lives)
			printf("  supervisor  process %d\n", (int)state.supervisor.pid);
		else
			puts("  supervisor  none");
	}
	printf("  entries     workload %s, plane %s (present/intended)\n", workload, plane);
	printf("  lost        %llu events\n\n",
	       (unsigned long long)(row->counters[0].by_reason[NC_COUNTER_LOST] + row->counters[1].by_reason[NC_COUNTER_LOST]));
	print_counters("workload", &row->counters[0]);
	print_counters("plane", &row->counters[1]);
}

static int list_row(void *context, const struct nc_instance_row *row)
{
	struct listing *listing = context;

	if (listing->only && strcmp(listing->only, row->name))
		return 0;
	listing->count++;
	listing->differs |= row->present[0] != row->intended[0] || row->present[1] != row->intended[1];
	if (listing->array)
		json_array_append_new(listing->array, row_json(row));
	else if (listing->only)
		print_one(row);
	else
		add_row(listing->table, row);
	return 0;
}

static int list_other(void *context, const struct nc_other *other)
{
	struct listing *listing = context;
	char program[NC_OTHER_PROGRAM_MAX];
	json_t *row;

	listing->other_count++;
	if (listing->array) {
		row = json_pack("{s:i, s:s}", "version", NC_MESSAGE_VERSION, "state", state_words[STATE_OTHER_BUILD]);
		json_object_update_new(row, nc_other_json(other));
		json_array_append_new(listing->array, row);
	} else {
		nc_table_row(listing->others, other->name, other->build, nc_other_program(other, program));
	}
	return 0;
}

static int print_others(const struct listing *listing, struct nc_error *reterr)
{
	if (!listing->other_count)
		return 0;
	printf("\ninstances of other builds: %zu; of each only the program of its own build can say more\n", listing->other_count);
	return nc_table_print(listing->others, stdout, reterr);
}

static int print_listing(struct listing *listing, struct nc_error *reterr)
{
	int ret = 0;

	if (listing->only && !listing->count)
		return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "no live instance is called '%s'", listing->only);
	if (listing->array) {
		nc_output_json(listing->only ? json_array_get(listing->array, 0) : listing->array);
		return 0;
	}
	if (listing->only)
		return 0;
	if (listing->count)
		ret = nc_table_print(listing->table, stdout, reterr);
	else
		puts(listing->other_count ? "no instance of this build lives" : "no instance lives");
	return ret ?: print_others(listing, reterr);
}

/* Where this build is not installed, what others have is an answer; where nothing is, that is not installed is the answer. */
static int look(struct listing *listing, const struct nc_host_options *options, struct nc_error *reterr)
{
	struct nc_host *host = NULL;
	struct nc_error down;
	const int opened = nc_host_open(options, &host, &down);
	int ret = 0;

	if (opened == 0)
		ret = nc_instances(host, list_row, listing, reterr);
	nc_host_close(host);
	if (ret == 0 && !listing->only && (opened == 0 || down.code == NC_E_HOST_DOWN))
		ret = nc_others(options, list_other, listing, reterr);
	if (ret < 0 || opened == 0 || listing->other_count)
		return ret;
	*reterr = down;
	return opened;
}

int nc_command_status(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct listing listing = {.invocation = invocation, .only = invocation->arguments[0]};
	struct nc_host_options options;
	int ret;

	nc_invocation_host(invocation, &options);
	if (invocation->json)
		listing.array = json_array();
	listing.table = nc_table_new(9);
	listing.others = nc_table_new(3);
	nc_table_row(listing.table, "INSTANCE", "STATE", "MODE", "PROCESSES", "WORKLOAD", "PLANE", "ALLOWED", "REFUSED", "LOST");
	nc_table_row(listing.others, "INSTANCE", "BUILD", "ITS PROGRAM");
	ret = look(&listing, &options, reterr);
	if (ret == 0)
		ret = print_listing(&listing, reterr);
	json_decref(listing.array);
	nc_table_free(listing.table);
	nc_table_free(listing.others);
	if (ret < 0)
		return nc_other_error(&options, listing.only, ret, reterr);
	return listing.differs ? NC_EXIT_NO : NC_EXIT_YES;
}
