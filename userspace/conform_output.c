/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_output.c - tables, TAP and JSON of the matrix */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "conform_output.h"
#include "output.h"

const char *nc_protocol_word(uint8_t protocol)
{
	static const struct {
		uint8_t number;
		const char *word;
	} words[] = {{IPPROTO_TCP, "tcp"}, {IPPROTO_UDP, "udp"}, {IPPROTO_ICMP, "icmp"}, {IPPROTO_UDPLITE, "udplite"}, {IPPROTO_SCTP, "sctp"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (words[i].number == protocol)
			return words[i].word;
	}
	return "other";
}

void nc_conform_show_progress(void *context, const struct nc_case *row, const struct nc_run *runs, const struct nc_verdict_of_case *verdict,
			      size_t done, size_t total)
{
	(void)context;
	fprintf(stderr, "%3zu/%zu  %-12s  %-32s  %s / %s / %s%s", done, total, nc_outcome_word(verdict->outcome), row->id,
		nc_run_result_word(nc_run_result(&runs[NC_RUN_CONTROL])), nc_run_result_word(nc_run_result(&runs[NC_RUN_ENFORCED])),
		nc_run_result_word(nc_run_result(&runs[NC_RUN_MUTANT])), *verdict->reason ? "  " : "");
	nc_output_safe(stderr, verdict->reason);
	fputc('\n', stderr);
}

static size_t count_of(const struct nc_conformance *conformance, enum nc_fact fact, enum nc_outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < conformance->count; i++)
		count += conformance->results[i].row->fact == fact && conformance->results[i].verdict.outcome == outcome;
	/* Paths without a case, and open ones, count where they belong. */
	if (fact == NC_FACT_DEFAULT_DENY && outcome == NC_OUTCOME_INCONCLUSIVE)
		count += conformance->blocked_count;
	return count;
}

static const char *number(size_t value, char text[24])
{
	snprintf(text, 24, "%zu", value);
	return text;
}

int nc_conform_show_table(const struct nc_conformance *conformance, struct nc_error *reterr)
{
	struct nc_table *table = nc_table_new(NC_OUTCOME_COUNT + 2);
	bool all = true;
	int r;

	nc_table_row(table, "FACT", "ESTABLISHED", "GREEN", "RED", "INCONCLUSIVE", "WORTHLESS", "ERROR");
	for (int fact = 0; fact < NC_FACT_COUNT; fact++) {
		char text[NC_OUTCOME_COUNT][24];

		all &= conformance->facts[fact];
		for (int outcome = 0; outcome < NC_OUTCOME_COUNT; outcome++)
			number(count_of(conformance, (enum nc_fact)fact, (enum nc_outcome)outcome), text[outcome]);
		nc_table_row(table, nc_fact_word((enum nc_fact)fact), conformance->facts[fact] ? "yes" : "no", text[NC_OUTCOME_GREEN],
			     text[NC_OUTCOME_RED], text[NC_OUTCOME_INCONCLUSIVE], text[NC_OUTCOME_WORTHLESS], text[NC_OUTCOME_ERROR]);
	}
	r = nc_table_print(table, stdout, reterr);
	nc_table_free(table);
	for (size_t i = 0; i < conformance->blocked_count; i++)
		printf("inconclusive  %s%s  %s\n", NC_BLOCKED_ID, conformance->blocked[i].path, conformance->blocked[i].reason);
	printf("%s@%s: %zu case%s in %llu s%s\n", conformance->driver.provider, conformance->driver.provider_revision, conformance->count,
	       conformance->count == 1 ? "" : "s", (unsigned long long)conformance->seconds,
	       conformance->whole ? "" : ", not the whole matrix: no fact can be established");
	puts(all ? "All five facts are established. Unsigned, this certifies nothing."
		 : "Not all five facts are established: this certifies nothing.");
	return r;
}

void nc_conform_show_tap(const struct nc_conformance *conformance)
{
	printf("TAP version 13\n1..%zu\n", conformance->count);
	for (size_t i = 0; i < conformance->count; i++) {
		const struct nc_result *result = &conformance->results[i];
		bool green = result->verdict.outcome == NC_OUTCOME_GREEN;

		printf("%s %zu - %s %s\n", green ? "ok" : "not ok", i + 1, result->row->id, nc_outcome_word(result->verdict.outcome));
		if (!green) {
			fputs("# ", stdout);
			nc_output_safe(stdout, result->verdict.reason);
			putchar('\n');
		}
	}
}

static json_t *case_json(const struct nc_case *row)
{
	char family[8];

	snprintf(family, sizeof(family), "ipv%d", row->family);
	return json_pack("{s:s s:s s:s s:s s:s s:s}", "id", row->id, "fact", nc_fact_word(row->fact), "path", row->path, "family", family, "protocol",
			 nc_protocol_word(row->protocol), "expectation", nc_expectation_word(row->expectation));
}

static json_t *blocked_json(const struct nc_blocked_path *blocked)
{
	char id[80];

	snprintf(id, sizeof(id), NC_BLOCKED_ID "%.60s", blocked->path);
	return json_pack("{s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s}", "id", id, "fact", nc_fact_word(NC_FACT_DEFAULT_DENY), "path",
			 blocked->path, "family", "any", "protocol", "any", "expectation", "refused", "control", "absent", "enforced", "absent",
			 "mutant", "absent", "switches", "", "outcome", nc_outcome_word(NC_OUTCOME_INCONCLUSIVE), "reason", blocked->reason);
}

json_t *nc_conform_cases_json(const struct nc_conformance *conformance)
{
	json_t *cases = json_array();

	for (size_t i = 0; i < conformance->count; i++) {
		const struct nc_result *result = &conformance->results[i];
		json_t *one = case_json(result->row);
		const char *off = json_string_value(json_object_get(json_object_get(result->transcript, nc_run_word(NC_RUN_MUTANT)), "off"));

		for (int kind = 0; kind < NC_RUN_COUNT; kind++)
			json_object_set_new(one, nc_run_word((enum nc_run_kind)kind),
					    json_string(nc_run_result_word(nc_run_result(&result->runs[kind]))));
		json_object_set_new(one, "switches", json_string(off ?: ""));
		json_object_set_new(one, "outcome", json_string(nc_outcome_word(result->verdict.outcome)));
		json_object_set_new(one, "reason", json_string(result->verdict.reason));
		json_array_append_new(cases, one);
	}
	for (size_t i = 0; i < conformance->blocked_count; i++)
		json_array_append_new(cases, blocked_json(&conformance->blocked[i]));
	return cases;
}

json_t *nc_conform_json(const struct nc_conformance *conformance)
{
	json_t *facts = json_object();

	for (int fact = 0; fact < NC_FACT_COUNT; fact++)
		json_object_set_new(facts, nc_fact_word((enum nc_fact)fact), json_boolean(conformance->facts[fact]));
	return json_pack("{s:i s:s s:s s:i s:b s:I s:o s:o}", "version", 1, "provider", conformance->driver.provider, "provider_revision",
			 conformance->driver.provider_revision, "matrix_version", NC_MATRIX_VERSION, "whole", conformance->whole, "seconds",
			 (json_int_t)conformance->seconds, "facts", facts, "cases", nc_conform_cases_json(conformance));
}

json_t *nc_conform_list_json(const struct nc_conform_options *options)
{
	json_t *cases = json_array();

	for (size_t i = 0; i < nc_case_count; i++) {
		const struct nc_case *row = &nc_cases[i];
		json_t *one;

		if (!nc_conform_wanted(options, row))
			continue;
		one = case_json(row);
		json_object_set_new(one, "title", json_string(row->title));
		json_object_set_new(one, "construction", json_string(nc_construction_word(row->construction)));
		json_object_set_new(one, "variant", json_string(row->variant));
		json_object_set_new(one, "client", json_string(row->client));
		json_object_set_new(one, "switches", json_string(row->switches));
		json_object_set_new(one, "guard_switches", json_string(row->guard));
		json_object_set_new(one, "base", json_string(row->base));
		json_array_append_new(cases, one);
	}
	return json_pack("{s:i s:o}", "matrix_version", NC_MATRIX_VERSION, "cases", cases);
}

int nc_conform_show_list(const struct nc_conform_options *options, struct nc_error *reterr)
{
	struct nc_table *table = nc_table_new(6);
	int r;

	nc_table_row(table, "CASE", "FACT", "PATH", "PROTOCOL", "EXPECTED", "WHAT");
	for (size_t i = 0; i < nc_case_count; i++) {
		const struct nc_case *row = &nc_cases[i];
		char protocol[24];

		if (!nc_conform_wanted(options, row))
			continue;
		snprintf(protocol, sizeof(protocol), "%s/ipv%d", nc_protocol_word(row->protocol), row->family);
		nc_table_row(table, row->id, nc_fact_word(row->fact), row->path, protocol, nc_expectation_word(row->expectation), row->title);
	}
	r = nc_table_print(table, stdout, reterr);
	nc_table_free(table);
	return r;
}
