/* SPDX-License-Identifier: GPL-2.0-only */
/* test_evidence_clauses.c - the sixteen clauses one by one: what holds, what differs, what is absent, and what each result is worth */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sodium.h>
#include "capability.h"
#include "cleanup.h"
#include "evidence_fixture.h"

#define DIGEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

static json_t *parsed(const char *text)
{
	struct nc_error error;
	json_t *value = NULL;

	if (nc_json_parse(text, strlen(text), NC_E_USAGE, &value, &error) < 0)
		fail_msg("%s: %s", text, error.detail);
	return value;
}

/* A launch statement that says something about every clause. */
static json_t *whole_launch(void)
{
	json_t *launch =
		parsed("{\"instance\":\"box\",\"provider\":\"netcordon:run-provider\",\"provider_revision\":\"dev\",\"host\":{\"architecture\":"
		       "\"x86_64\"},\"profile\":{\"digest\":\"" DIGEST "\",\"mode\":\"allowlist\"},\"images\":{\"workload\":{\"mode\":"
		       "\"allowlist\"}},\"process\":{\"limits\":{\"pids\":{\"value\":512,\"mechanism\":\"rlimit\"},\"memory\":{\"value\":"
		       "2147483648,\"mechanism\":\"cgroup1\"}}},\"closures\":[{\"path\":\"a\",\"state\":\"in_force\"},{\"path\":\"b\",\"state\":"
		       "\"gap\"}],\"gaps\":[\"b\"],\"binding\":{\"root_image\":\"sha256:1\",\"materialization_revision\":\"m-3\",\"nonce\":\"n\"}}");

	json_object_set_new(launch, "enforcement", nc_capability_own_enforcement(NC_OWN_RUN));
	return launch;
}

static const struct nc_clause_facts good = {.one_launch = true, .chained = true, .counts = NC_CLAUSE_HOLDS};

static struct nc_clause_row row_of(const json_t *launch, const char *expect_text, enum nc_clause clause)
{
	struct nc_clause_row rows[NC_CLAUSE_COUNT];
	NC_JSON json_t *expect = expect_text ? parsed(expect_text) : NULL;
	NC_JSON json_t *closing = parsed("{\"policy_intact\":true}");

	nc_clauses_compare(launch, closing, expect, &good, rows);
	return rows[clause];
}

static void is_row(struct nc_clause_row row, enum nc_clause_result result, enum nc_clause_reference reference)
{
	assert_string_equal(nc_clause_result_word(row.result), nc_clause_result_word(result));
	assert_string_equal(nc_clause_reference_word(row.reference), nc_clause_reference_word(reference));
}

/* For each of the nine, and the tenth that a Runner may bring: a reference that holds, one that does not, and the member of the statement. */
static const struct {
	enum nc_clause clause;
	const char *holds, *differs, *object, *member;
} expected[] = {
	{NC_CLAUSE_INSTANCE, "{\"instance\":\"box\"}", "{\"instance\":\"bo\"}", NULL, "instance"},
	{NC_CLAUSE_PROVIDER, "{\"provider\":\"netcordon:run-provider\"}", "{\"provider\":\"netcordon:attach-provider\"}", NULL, "provider"},
	{NC_CLAUSE_PROVIDER_REVISION, "{\"provider_revision\":\"dev\"}", "{\"provider_revision\":\"1\"}", NULL, "provider_revision"},
	{NC_CLAUSE_MATERIALIZATION_REVISION, "{\"materialization_revision\":\"m-3\"}", "{\"materialization_revision\":\"m-4\"}", "binding",
	 "materialization_revision"},
	{NC_CLAUSE_ROOT_IMAGE, "{\"root_image\":\"sha256:1\"}", "{\"root_image\":\"sha256:2\"}", "binding", "root_image"},
	{NC_CLAUSE_PLATFORM, "{\"platform\":\"linux/amd64\"}", "{\"platform\":\"linux/arm64\"}", "host", "architecture"},
	{NC_CLAUSE_PLATFORM, "{\"platform\":\"linux/x86_64\"}", "{\"platform\":\"x86_64\"}", "host", "architecture"},
	{NC_CLAUSE_PROFILE_DIGEST, "{\"profile_digest\":\"" DIGEST "\"}", "{\"profile_digest\":\"00\"}", "profile", "digest"},
	{NC_CLAUSE_PROFILE_DIGEST, "{\"profile_digest\":\"sha256:" DIGEST "\"}", "{\"profile_digest\":7}", "profile", "digest"},
	{NC_CLAUSE_NETWORK_MODE, "{\"network_mode\":\"allowlist\"}", "{\"network_mode\":\"none\"}", "profile", "mode"},
	{NC_CLAUSE_RESOURCE_LIMITS, "{\"resource_limits\":{\"pids\":512,\"memory\":\"2G\"}}", "{\"resource_limits\":{\"pids\":512}}", "process",
	 "limits"},
	{NC_CLAUSE_RESOURCE_LIMITS, "{\"resource_limits\":{\"pids\":512,\"memory\":2147483648}}",
	 "{\"resource_limits\":{\"pids\":512,\"memory\":\"2G\",\"core\":0}}", "process", "limits"},
	{NC_CLAUSE_ENFORCEMENT, NULL, "{\"enforcement\":{\"network_policy\":\"runner_enforced\"}}", NULL, "enforcement"},
};

static void against_the_runner(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		NC_JSON json_t *launch = whole_launch();
		json_t *object = expected[i].object ? json_object_get(launch, expected[i].object) : launch;

		if (expected[i].holds)
			is_row(row_of(launch, expected[i].holds, expected[i].clause), NC_CLAUSE_HOLDS, NC_REFERENCE_RUNNER_OWNED);
		is_row(row_of(launch, expected[i].differs, expected[i].clause), NC_CLAUSE_DIFFERS, NC_REFERENCE_RUNNER_OWNED);
		json_object_del(object, expected[i].member);
		is_row(row_of(launch, expected[i].differs, expected[i].clause), NC_CLAUSE_ABSENT, NC_REFERENCE_RUNNER_OWNED);
	}
}

/* What came with the evidence is no reference of the reader's, whatever it says. */
static void against_itself(void **state)
{
	NC_JSON json_t *launch = whole_launch();
	json_t *binding = json_object_get(launch, "binding");

	(void)state;
	is_row(row_of(launch, NULL, NC_CLAUSE_NETWORK_MODE), NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE);
	is_row(row_of(launch, NULL, NC_CLAUSE_ROOT_IMAGE), NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE);
	json_object_set_new(binding, "network_mode", json_string("allowlist"));
	is_row(row_of(launch, NULL, NC_CLAUSE_NETWORK_MODE), NC_CLAUSE_HOLDS, NC_REFERENCE_SELF_AUTHORED);
	json_object_set_new(binding, "network_mode", json_string("none"));
	is_row(row_of(launch, NULL, NC_CLAUSE_NETWORK_MODE), NC_CLAUSE_DIFFERS, NC_REFERENCE_SELF_AUTHORED);
	is_row(row_of(launch, NULL, NC_CLAUSE_ENFORCEMENT), NC_CLAUSE_HOLDS, NC_REFERENCE_SELF_AUTHORED);
	json_object_set_new(json_object_get(launch, "enforcement"), "mount_policy", json_string("runner_enforced"));
	is_row(row_of(launch, NULL, NC_CLAUSE_ENFORCEMENT), NC_CLAUSE_DIFFERS, NC_REFERENCE_SELF_AUTHORED);
}

static void within(void **state)
{
	NC_JSON json_t *launch = whole_launch();
	NC_JSON json_t *torn = parsed("{\"policy_intact\":false}");
	const struct nc_clause_facts unread = {.counts = NC_CLAUSE_NOT_COMPARED};
	struct nc_clause_row rows[NC_CLAUSE_COUNT];

	(void)state;
	for (int i = NC_CLAUSE_ONE_LAUNCH; i <= NC_CLAUSE_POLICY_INTACT; i++)
		is_row(row_of(launch, NULL, (enum nc_clause)i), NC_CLAUSE_HOLDS, NC_REFERENCE_INTERNAL);
	nc_clauses_compare(launch, NULL, NULL, &unread, rows);
	is_row(rows[NC_CLAUSE_ONE_LAUNCH], NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE);
	is_row(rows[NC_CLAUSE_CHAIN], NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE);
	is_row(rows[NC_CLAUSE_COUNTS], NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE);
	is_row(rows[NC_CLAUSE_POLICY_INTACT], NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE);
	nc_clauses_compare(launch, torn, NULL, &good, rows);
	is_row(rows[NC_CLAUSE_POLICY_INTACT], NC_CLAUSE_DIFFERS, NC_REFERENCE_INTERNAL);
	json_array_append_new(json_object_get(launch, "gaps"), json_string("a"));
	is_row(row_of(launch, NULL, NC_CLAUSE_GAPS), NC_CLAUSE_DIFFERS, NC_REFERENCE_INTERNAL);
	json_object_set_new(launch, "gaps", json_array());
	is_row(row_of(launch, NULL, NC_CLAUSE_GAPS), NC_CLAUSE_DIFFERS, NC_REFERENCE_INTERNAL);
	json_object_set_new(json_object_get(json_object_get(launch, "images"), "workload"), "mode", json_string("none"));
	is_row(row_of(launch, NULL, NC_CLAUSE_SEALED_MODE), NC_CLAUSE_HOLDS, NC_REFERENCE_INTERNAL);
	json_object_set_new(json_object_get(json_object_get(launch, "images"), "workload"), "mode", json_string("unrestricted"));
	is_row(row_of(launch, NULL, NC_CLAUSE_SEALED_MODE), NC_CLAUSE_DIFFERS, NC_REFERENCE_INTERNAL);
}

static void counted_apart(void **state)
{
	NC_JSON json_t *launch = whole_launch();
	NC_JSON json_t *closing = parsed("{\"policy_intact\":true}");
	NC_JSON json_t *expect = parsed("{\"instance\":\"box\",\"network_mode\":\"none\"}");
	struct nc_clause_row rows[NC_CLAUSE_COUNT];
	char summary[NC_CLAUSES_SUMMARY];

	(void)state;
	assert_int_equal(NC_CLAUSE_COUNT, 16);
	nc_clauses_compare(launch, closing, expect, &good, rows);
	nc_clauses_summary(rows, summary);
	assert_non_null(strstr(summary,
			       "1 of 2 clauses hold against what the Runner holds, 6 of 6 within the evidence, 1 of 1 against a reference of the "
			       "evidence's own author, which is no cross-check; 7 were not compared"));
	assert_non_null(strstr(summary, "not isolation"));
	assert_true(strlen(summary) < NC_CLAUSES_SUMMARY - 1);
}

/* ---- a folder ------------------------------------------------------------------------------------------------------------------------------------ */

static void folder_of(const char *name, json_t *members, bool intact)
{
	NC_JSON json_t *launch = launch_of(name);
	NC_JSON json_t *closing = json_pack("{s:s, s:{}, s:s, s:b}", "losses", "0", "counters", "result", "exited", "policy_intact", intact);
	struct nc_evidence *evidence = NULL;
	struct nc_error error;

	json_object_update(launch, members);
	assert_int_equal(nc_evidence_begin(in_folder("%s", name), launch, key, "test@host", &evidence, &error), 0);
	append(evidence, 2);
	checkpoint(evidence);
	assert_int_equal(nc_evidence_close(evidence, closing, &error), 0);
	json_decref(members);
}

static void expects(const char *name, const char *text, enum nc_evidence_answer answer, const char *reason)
{
	NC_JSON json_t *expect = parsed(text);
	struct nc_evidence_report report;

	if (ask(name, expect, &report) != answer || !strstr(report.reason, reason))
		fail_msg("%s: %s, %s", text, nc_evidence_answer_word(report.answer), report.reason);
	nc_evidence_report_free(&report);
}

static void decides_the_answer(void **state)
{
	struct nc_evidence_report report;
	struct nc_error error;
	NC_JSON json_t *limits = parsed("{\"resource_limits\":{\"cpus\":2}}");

	(void)state;
	folder_of("said",
		  parsed("{\"profile\":{\"digest\":\"" DIGEST "\",\"mode\":\"none\"},\"binding\":{\"nonce\":\"n\",\"network_mode\":\"allowlist\"}}"),
		  true);
	expects("said", "{\"instance\":\"said\",\"nonce\":\"n\",\"profile_digest\":\"" DIGEST "\"}", NC_EVIDENCE_COMPLETE, "");
	expects("said", "{\"nonce\":\"m\"}", NC_EVIDENCE_INVALID, "differs from what was expected in \"nonce\"");
	expects("said", "{\"other\":1}", NC_EVIDENCE_INVALID, "does not hold the expected \"other\"");
	expects("said", "{\"instance\":\"other\"}", NC_EVIDENCE_INVALID, "\"instance\"");
	expects("said", "{\"root_image\":\"x\"}", NC_EVIDENCE_INVALID, "does not hold the expected \"root_image\"");
	/* measured is one thing, and the Runner's own word at launch is held against it: both must agree with what is expected */
	expects("said", "{\"network_mode\":\"allowlist\"}", NC_EVIDENCE_INVALID, "\"network_mode\"");
	expects("said", "{\"network_mode\":\"none\"}", NC_EVIDENCE_INVALID, "\"network_mode\"");
	assert_true(nc_evidence_verify(in_folder("said"), &public, limits, &report, &error) < 0);
	assert_int_equal(error.code, NC_E_USAGE);
	assert_string_equal(error.pointer, "/resource_limits/cpus");

	folder_of("torn", json_object(), false);
	expects("torn", "{\"instance\":\"torn\"}", NC_EVIDENCE_INVALID, "policy_intact");
	folder_of("turned", parsed("{\"profile\":{\"mode\":\"none\"},\"images\":{\"workload\":{\"mode\":\"unrestricted\"}}}"), true);
	expects("turned", "{\"instance\":\"turned\"}", NC_EVIDENCE_INVALID, "sealed_mode");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_the_runner), cmocka_unit_test(against_itself),	    cmocka_unit_test(within),
		cmocka_unit_test(counted_apart),      cmocka_unit_test(decides_the_answer),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, evidence_setup, evidence_teardown);
}
