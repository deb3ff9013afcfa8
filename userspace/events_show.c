/* SPDX-License-Identifier: GPL-2.0-only */
/* events_show.c - the records of a log, one a line, for people: what each kind says stands in the same columns */
#include "events_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cause.h"
#include "cleanup.h"
#include "evidence_ids.h"
#include "evidence_names.h"
#include "explain.h"
#include "json.h"
#include "output.h"

enum { DNS_A = 1, DNS_AAAA = 28 }; /* types of records (RFC 1035, RFC 3596) */

/* Between the log's end and its closing statement lie a few syncs. */
#define CLOSING_LOOKS 20
#define CLOSING_LOOK_US 50000

static const char *meaning(const char *reason)
{
	for (unsigned int code = 0; code < NC_REASON_MAX; code++)
		if (!strcmp(nc_reason_word(code), reason))
			return nc_reason_sentence(code);
	return "";
}

static const char *name_meaning(const char *reason)
{
#define NAME_REASON(symbol, word, sentence) {word, sentence},
	static const char *const rows[][2] = {NC_NAME_REASONS(NAME_REASON)};
#undef NAME_REASON

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i][0], reason))
			return rows[i][1];
	return "";
}

static void print_padded(const char *value, int width)
{
	nc_output_safe(stdout, value);
	printf("%*s", width - (int)strlen(value) > 2 ? width - (int)strlen(value) : 2, "");
}

/* What was asked for where there is no destination, from an event's `detail` (netcordon_abi.h). Records of repeats have no hook, but each reason has
 * its own. */
static void asked_for(const json_t *record, char *ret_text, size_t size)
{
	const char *hook = nc_json_text(record, "hook"), *reason = nc_json_text(record, "reason");
	unsigned int detail = (unsigned int)json_integer_value(json_object_get(record, "detail"));

	if (!strcmp(reason, "bind_refused"))
		snprintf(ret_text, size, "(%s port %u)", hook[0] ? hook : "bind", detail);
	else if (!strcmp(reason, "option_refused"))
		snprintf(ret_text, size, "(setsockopt %u/%u)", detail >> 16, detail & 0xffff);
	else if (!strcmp(reason, "protocol_refused") && detail)
		snprintf(ret_text, size, "(socket %u/%u/%u)", detail >> 24, detail >> 16 & 0xff, detail & 0xffff);
	else if (!strcmp(reason, "device_refused"))
		snprintf(ret_text, size, "(device %u:%u)", detail >> 20, detail & 0xfffff);
	else
		snprintf(ret_text, size, "(%s)", hook[0] ? hook : "no destination");
}

/* "tcp 10.0.0.5:443", or what was asked for where there is no destination. */
static void destination_of(const json_t *record, char *ret_text, size_t size)
{
	const char *address = nc_json_text(record, "destination");
	int port = (int)json_integer_value(json_object_get(record, "port"));

	if (address[0])
		snprintf(ret_text, size, strchr(address, ':') ? "%s [%s]:%d" : "%s %s:%d", nc_json_text(record, "protocol"), address, port);
	else
		asked_for(record, ret_text, size);
}

/* Times of day are UTC; a record without a time has none to show. */
static void print_time(const struct nc_events_view *view, const json_t *record)
{
	char written[32] = "";
	uint64_t boot_ns;
	struct tm tm;
	time_t second;

	if (view->wall_ns && nc_json_read_u64(json_object_get(record, "time_ns"), &boot_ns)) {
		second = (time_t)((int64_t)boot_ns + view->wall_ns) / 1000000000;
		if (gmtime_r(&second, &tm))
			strftime(written, sizeof(written), "%m-%d %H:%M:%S", &tm);
	}
	print_padded(written, 16);
}

/* Is it one of the attempts that netcordon makes itself, in its own place, before a command starts there? So it says of itself, as a workload could too. */
static bool canary_sang(const json_t *record)
{
	static const char *const refusals[] = {"host_floor", "address_not_public",
					       "mode_none"}; /* of run and attach, of exec, of whoever has no network */
	const char *address = nc_json_text(record, "destination");
	bool expected = false;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		expected |= !strcmp(nc_json_text(record, "reason"), refusals[i]);
	return expected && !strcmp(nc_json_text(record, "decision"), "deny") && !strcmp(nc_json_text(record, "comm"), "netcordon") &&
	       (!strcmp(address, "127.0.0.1") || !strcmp(address, "::1"));
}

/* The name that a record is about: one that was asked for and refused stands in it, one that is listed as its number. */
static void print_name(const struct nc_events_view *view, const json_t *record)
{
	const char *name = *nc_json_text(record, "server_name") ? nc_json_text(record, "server_name") : nc_evidence_ids_name(view->ids, record);

	if (!name)
		return;
	printf(": ");
	nc_output_safe(stdout, name);
}

static void print_verdict(const struct nc_events_view *view, const json_t *record)
{
	const char *class = nc_json_text(record, "address_class");
	char destination[128], reason[128];

	destination_of(record, destination, sizeof(destination));
	snprintf(reason, sizeof(reason), class[0] ? "%s (%s)" : "%s", nc_json_text(record, "reason"), class);
	print_padded(nc_json_text(record, "decision"), 10);
	print_padded(nc_json_text(record, "authority"), 10);
	print_padded(destination, 34);
	print_padded(reason, 34);
	print_padded(nc_json_text(record, "comm"), 17);
	printf("%s", canary_sang(record) ? "netcordon's canary, before a command starts: refused, as it has to be"
					 : meaning(nc_json_text(record, "reason")));
	print_name(view, record);
	puts("");
}

/* At the end of a log: how often each of its firsts came. */
static void print_repeats(const struct nc_events_view *view, const json_t *record)
{
	char destination[128];

	destination_of(record, destination, sizeof(destination));
	print_padded("in all", 10);
	print_padded(nc_json_text(record, "authority"), 10);
	print_padded(destination, 34);
	print_padded(nc_json_text(record, "reason"), 34);
	nc_output_safe(stdout, nc_json_text(record, "count"));
	printf("%s", strcmp(nc_json_text(record, "count"), "1") ? " times" : " time");
	print_name(view, record);
	puts("");
}

/* The names in a record's list, a comma between two. */
static void print_list(const json_t *list)
{
	size_t index;
	json_t *one;

	json_array_foreach(list, index, one)
	{
		fputs(index ? ", " : " ", stdout);
		nc_output_safe(stdout, json_string_value(one) ? json_string_value(one) : "");
	}
}

/* What happened to a name that was asked for. */
static void print_name_asked(const struct nc_events_view *view, const json_t *record)
{
	const int type = (int)json_integer_value(json_object_get(record, "type"));
	const json_t *addresses = json_object_get(record, "addresses");
	char asked[1200];

	(void)view;
	if (type == DNS_A || type == DNS_AAAA)
		snprintf(asked, sizeof(asked), "%s %s", nc_json_text(record, "name"), type == DNS_A ? "A" : "AAAA");
	else
		snprintf(asked, sizeof(asked), "%s TYPE%d", nc_json_text(record, "name"), type);
	print_padded(nc_json_text(record, "authority"), 10);
	print_padded(asked, 34);
	print_padded(nc_json_text(record, "reason"), 34);
	print_padded("", 17);
	fputs(name_meaning(nc_json_text(record, "reason")), stdout);
	if (*nc_json_text(record, "address")) {
		fputs(": ", stdout);
		nc_output_safe(stdout, nc_json_text(record, "address"));
	}
	if (addresses)
		printf(": %lld, for %lld s", (long long)json_integer_value(addresses),
		       (long long)json_integer_value(json_object_get(record, "lifetime")));
	if (*nc_json_text(record, "detail")) {
		fputs(": ", stdout);
		nc_output_safe(stdout, nc_json_text(record, "detail"));
	}
	puts("");
}

/* A command that `exec` started, and how it ended. */
static void print_exec(const struct nc_events_view *view, const json_t *record)
{
	const json_t *result = json_object_get(record, "result"), *unsearched = json_object_get(record, "unsearched");
	const json_t *passed = json_object_get(record, "passed_environment");
	char ended[NC_CAUSE_TEXT];

	(void)view;
	print_padded(nc_json_text(record, "authority"), 10);
	print_padded(nc_json_text(record, "command"), 34);
	print_padded(result ? nc_cause_text(result, ended) : "its end is not known", 34);
	print_padded("", 17);
	printf("started by `netcordon exec`, process %lld, user %lld", (long long)json_integer_value(json_object_get(record, "pid")),
	       (long long)json_integer_value(json_object_get(record, "uid")));
	if (json_array_size(passed)) {
		fputs("; environment passed:", stdout);
		print_list(passed);
	}
	if (unsearched)
		printf("; of %lld processes not all was searched for credentials", (long long)json_integer_value(unsearched));
	puts("");
}

#define DIGEST_SHOWN 12 /* digits, as a build is called by */

static void print_update(const struct nc_events_view *view, const json_t *record)
{
	const json_t *revision = json_object_get(record, "revision");
	const char *before = nc_json_text(json_object_get(record, "before"), "profile"),
		   *now = nc_json_text(json_object_get(record, "now"), "profile");
	char profiles[64], revisions[72];

	(void)view;
	snprintf(profiles, sizeof(profiles), "profile %.*s, before %.*s", DIGEST_SHOWN, now, DIGEST_SHOWN, before);
	snprintf(revisions, sizeof(revisions), "revision %.20s, of the plane %.20s", nc_json_text(revision, "workload"),
		 nc_json_text(revision, "plane"));
	print_padded("", 10);
	print_padded(profiles, 34);
	print_padded(revisions, 34);
	print_padded("", 17);
	printf("another policy is in force; connections ended: %lld\n", (long long)json_integer_value(json_object_get(record, "flows_ended")));
}

/* The end of the log says only that: how it ended is the closing statement's to tell, which appears a moment later. */
static void print_end(const struct nc_events_view *view, const json_t *record)
{
	NC_JSON json_t *result = nc_cause_read(view->folder_fd);
	char ended[NC_CAUSE_TEXT];

	(void)record;
	for (int i = 0; !result && i < CLOSING_LOOKS; i++) {
		usleep(CLOSING_LOOK_US);
		result = nc_cause_read(view->folder_fd);
	}
	print_padded("", 10 + 34);
	if (result) {
		print_padded(nc_cause_text(result, ended), 34 + 17);
		puts(nc_cause_meaning(nc_json_text(result, "cause")));
	} else {
		puts("no closing statement");
	}
}

/* Of a kind that this build does not know: its members as they are. */
static void print_other(const json_t *record)
{
	json_t *rest = json_copy((json_t *)record);
	char *members;

	json_object_del(rest, "sequence");
	json_object_del(rest, "previous");
	json_object_del(rest, "kind");
	members = json_dumps(rest, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS);
	printf("%s\n", members && strcmp(members, "{}") ? members : "");
	free(members);
	json_decref(rest);
}

static const struct {
	const char *kind;
	void (*print)(const struct nc_events_view *view, const json_t *record);
	bool decision; /* its first column is the decision, or what stands for it, and not the kind */
} kinds[] = {
	{"verdict", print_verdict, true}, {"repeats", print_repeats, true}, {"name", print_name_asked, false},
	{"exec", print_exec, false},	  {"update", print_update, false},  {NC_EVIDENCE_END, print_end, false},
};

/* Once, above the first record. */
static void print_head(struct nc_events_view *view)
{
	if (!view->headed)
		printf("%6s  %-16s%-10s%-10s%-34s%-34s%-17s%s\n", "", "TIME (UTC)", "DECISION", "AUTHORITY", "DESTINATION", "REASON", "TASK", "WHY");
	view->headed = true;
}

void nc_events_show(struct nc_events_view *view, const json_t *record)
{
	const char *kind = nc_json_text(record, "kind");

	print_head(view);
	printf("%6lld  ", (long long)json_integer_value(json_object_get(record, "sequence")));
	print_time(view, record);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].kind, kind) != 0)
			continue;
		if (!kinds[i].decision)
			print_padded(kind, 10);
		kinds[i].print(view, record);
		return;
	}
	print_padded(kind, 10);
	print_other(record);
}
