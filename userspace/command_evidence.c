// SPDX-License-Identifier: GPL-2.0-only
/* command_evidence.c - `evidence verify`: four answers, each with its own exit status */
#include <errno.h>
#include <stdio.h>
#include "cause.h"
#include "cleanup.h"
#include "commands.h"
#include "evidence.h"
#include "json.h"
#include "output.h"
#include "profile.h"

const struct argp_option nc_evidence_options[] = {
	{"public-key", NC_OPTION_PUBLIC_KEY, "FILE", 0, "the key (PEM) that must have signed; never taken from the folder", 0},
	{"expect", NC_OPTION_EXPECT, "FILE", 0, "JSON object of what the caller holds: each member must hold (docs/formats.md)", 0},
	{0}};

static const int statuses[] = {
	[NC_EVIDENCE_COMPLETE] = NC_EXIT_YES,
	[NC_EVIDENCE_OPEN] = NC_EXIT_OPEN,
	[NC_EVIDENCE_INCOMPLETE] = NC_EXIT_INCOMPLETE,
	[NC_EVIDENCE_INVALID] = NC_EXIT_NO,
};

static int read_expected(const char *path, json_t **ret_expect, struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	size_t length;
	int ret;

	if (!path)
		return 0;
	ret = nc_profile_read(path, &text, &length, reterr);
	if (ret < 0) {
		reterr->code = NC_E_USAGE;
		return ret;
	}
	ret = nc_json_parse(text, length, NC_E_USAGE, ret_expect, reterr);
	if (ret == 0 && !json_is_object(*ret_expect))
		ret = nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: what is expected must be a JSON object", path);
	return ret;
}

/* Yes, no, or the evidence has not come that far. */
static const char *policy_word(const struct nc_evidence_report *report)
{
	static const char *const words[] = {[NC_CLAUSE_NOT_COMPARED] = "not read back yet",
					    [NC_CLAUSE_HOLDS] = "intact at the end",
					    [NC_CLAUSE_DIFFERS] = "NOT INTACT at the end"};

	return words[report->clauses[NC_CLAUSE_POLICY_INTACT].result];
}

static void print_clauses(const struct nc_evidence_report *report)
{
	char summary[NC_CLAUSES_SUMMARY];

	printf("  clauses\n");
	for (int i = 0; i < NC_CLAUSE_COUNT; i++) {
		const struct nc_clause_row *row = &report->clauses[i];

		printf("    %-24s  %-12s  %-13s  %s\n", nc_clause_word((enum nc_clause)i), nc_clause_result_word(row->result),
		       row->reference == NC_REFERENCE_NONE ? "-" : nc_clause_reference_word(row->reference), nc_clause_meaning((enum nc_clause)i));
	}
	printf("  in words  %s\n", nc_clauses_summary(report->clauses, summary));
}

static void print_ending(const json_t *result)
{
	char text[NC_CAUSE_TEXT];

	printf("  ended     %s: %s\n", nc_cause_text(result, text), nc_cause_meaning(nc_json_text(result, "cause")));
}

static void print_report(const struct nc_evidence_report *report, const char *key_id, bool compared)
{
	printf("%s\n", nc_evidence_answer_word(report->answer));
	if (report->reason[0]) {
		fputs("  reason    ", stdout);
		nc_output_safe(stdout, report->reason);
		putchar('\n');
	}
	if (report->answer == NC_EVIDENCE_INVALID) {
		if (compared)
			print_clauses(report);
		return;
	}
	fputs("  instance  ", stdout);
	nc_output_safe(stdout, report->instance);
	printf("\n  events    %llu\n  lost      %llu\n", (unsigned long long)report->events, (unsigned long long)report->losses);
	printf("  key       %s\n  binding   %s\n", key_id, compared ? "as expected" : "not compared (--expect FILE)");
	printf("  policy    %s\n", policy_word(report));
	if (report->closing)
		print_ending(json_object_get(report->closing, "result"));
	print_clauses(report);
	puts("  proves    authorship and integrity");
}

static void print_json(const struct nc_evidence_report *report, const char *key_id, bool compared)
{
	json_t *document = nc_evidence_report_json(report, key_id, compared);

	nc_output_json(document);
	json_decref(document);
}

int nc_command_evidence_verify(struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *key_path = nc_option(invocation, NC_OPTION_PUBLIC_KEY);
	struct nc_evidence_report report = {0};
	NC_JSON json_t *expect = NULL;
	char key_id[NC_KEY_ID_HEX];
	struct nc_public_key key;
	int ret, status;

	if (!key_path) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "evidence verify: --public-key is missing");
		return nc_error_hint(reterr, "the key comes from whoever you trust, never from the evidence: `netcordon key public FILE` prints it");
	}
	ret = nc_key_load_public(key_path, &key, reterr);
	if (ret < 0)
		return ret;
	ret = read_expected(nc_option(invocation, NC_OPTION_EXPECT), &expect, reterr);
	if (ret < 0)
		return ret;
	ret = nc_evidence_verify(invocation->arguments[0], &key, expect, &report, reterr);
	if (ret < 0)
		return ret;
	nc_key_id(&key, key_id);
	if (invocation->json)
		print_json(&report, key_id, expect != NULL);
	else
		print_report(&report, key_id, expect != NULL);
	status = statuses[report.answer];
	nc_evidence_report_free(&report);
	return status;
}
