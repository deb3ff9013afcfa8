/* SPDX-License-Identifier: GPL-2.0-only */
/* test_evidence.c - one instance's evidence: what a folder says when all is there, when its writer stopped, and when its end was cut */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sodium.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>
#include "evidence_fixture.h"

/* ---- writing ---------------------------------------------------------------------------------------------------------------------------------- */

static void whole(void **state)
{
	struct nc_evidence_report report;
	struct stat status;
	size_t length, lines = 0;
	char *log;

	(void)state;
	make_folder("whole", 9, true);
	assert_int_equal(ask("whole", NULL, &report), NC_EVIDENCE_COMPLETE);
	assert_int_equal(report.events, 9);
	assert_int_equal(report.vouched, 10); /* the end is a record too */
	assert_int_equal(report.losses, 0);
	assert_string_equal(report.instance, "whole");
	assert_string_equal(json_string_value(json_object_get(report.launch, "type")), NC_DOMAIN_LAUNCH);
	assert_int_equal(json_integer_value(json_object_get(report.closing, "count")), 10);
	assert_string_equal(json_string_value(json_object_get(report.closing, "result")), "exited");
	nc_evidence_report_free(&report);

	assert_int_equal(stat(in_folder("whole"), &status), 0);
	assert_int_equal(status.st_mode, S_IFDIR | 0700);
	for (const char *const *name = (const char *const[]){"launch.json", "launch.json.sig", "events.jsonl", "checkpoint.json",
							     "checkpoint.json.sig", "closing.json", "closing.json.sig", NULL};
	     *name; name++) {
		assert_int_equal(stat(in_folder("whole/%s", *name), &status), 0);
		assert_int_equal(status.st_mode, S_IFREG | 0600);
	}
	log = get_file(in_folder("whole/events.jsonl"), &length);
	for (size_t i = 0; i < length; i++)
		lines += log[i] == '\n';
	assert_int_equal(lines, 10);
	assert_non_null(strstr(log, "{\"kind\":\"end\",\"previous\":\""));
	free(log);
}

/* Nothing but a launch and its end is complete too; more than any buffer is no different. */
static void small_and_large(void **state)
{
	struct nc_evidence_report report;
	struct nc_evidence *evidence;

	(void)state;
	close_with(begin("small"), 0);
	answers("small", NC_EVIDENCE_COMPLETE, "");
	evidence = begin("large");
	append(evidence, 5000);
	assert_int_equal(nc_evidence_sequence(evidence), 5000);
	close_with(evidence, 0);
	assert_int_equal(ask("large", NULL, &report), NC_EVIDENCE_COMPLETE);
	assert_int_equal(report.events, 5000);
	nc_evidence_report_free(&report);
}

/* The published rule, by hand: the first record follows the launch statement, each other the line before it. */
static void chain_rule(void **state)
{
	struct nc_digest digest;
	char hex[NC_DIGEST_HEX];
	size_t length;
	char *text, *line;

	(void)state;
	make_folder("rule", 5, true);
	text = get_file(in_folder("rule/launch.json"), &length);
	nc_digest_of(text, length, &digest);
	free(text);
	text = get_file(in_folder("rule/events.jsonl"), &length);
	line = text;
	for (int sequence = 1; sequence <= 6; sequence++) {
		char *end = strchr(line, '\n');
		NC_JSON json_t *record = json_loadb(line, (size_t)(end - line), 0, NULL);

		nc_digest_hex(&digest, hex);
		assert_string_equal(json_string_value(json_object_get(record, "previous")), hex);
		assert_int_equal(json_integer_value(json_object_get(record, "sequence")), sequence);
		nc_digest_of(line, (size_t)(end - line), &digest);
		line = end + 1;
	}
	assert_int_equal(*line, '\0');
	free(text);
}

static void begun_once(void **state)
{
	NC_JSON json_t *launch = launch_of("once");
	struct nc_evidence *evidence = NULL;
	struct nc_error error;

	(void)state;
	nc_evidence_abandon(begin("once"));
	assert_int_equal(nc_evidence_begin(in_folder("once"), launch, key, "x", &evidence, &error), -EEXIST);
	assert_int_equal(error.code, NC_E_EVIDENCE_UNWRITABLE);
	answers("once", NC_EVIDENCE_OPEN, "0 of 0"); /* what was there still is */
	assert_int_equal(symlink("nowhere", in_folder("dangling")), 0);
	assert_int_equal(nc_evidence_begin(in_folder("dangling"), launch, key, "x", &evidence, &error), -EEXIST);
	assert_int_equal(nc_evidence_begin(in_folder("no/parent"), launch, key, "x", &evidence, &error), -ENOENT);
	assert_null(evidence);
}

static void launch_must_hold(void **state)
{
	static const char *const members[] = {"version", "instance", "generation", "boot_id", "manifest"};
	struct nc_evidence *evidence = NULL;
	struct nc_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		NC_JSON json_t *launch = launch_of("lacks");

		json_object_del(launch, members[i]);
		assert_int_equal(nc_evidence_begin(in_folder("lacks"), launch, key, "x", &evidence, &error), -EINVAL);
		json_object_set_new(launch, members[i], json_true());
		assert_int_equal(nc_evidence_begin(in_folder("lacks"), launch, key, "x", &evidence, &error), -EINVAL);
		assert_false(is_there(in_folder("lacks")));
	}
	for (int i = 0; i < 3; i++) {
		NC_JSON json_t *launch = launch_of("lacks");

		if (i == 0)
			json_object_set_new(launch, "generation", json_string("-1"));
		else if (i == 1)
			json_object_set_new(launch, "type", json_string(NC_DOMAIN_CLOSING));
		else
			json_object_set_new(launch, "real", json_real(1.5));
		assert_int_equal(nc_evidence_begin(in_folder("lacks"), launch, key, "x", &evidence, &error), -EINVAL);
		assert_false(is_there(in_folder("lacks")));
	}
	assert_null(evidence);
}

static void records_must_be(void **state)
{
	static const char *const bad[] = {"{}", "{\"kind\":1}", "{\"kind\":\"end\"}", "{\"kind\":\"x\",\"sequence\":1}",
					  "{\"kind\":\"x\",\"previous\":\"\"}"};
	struct nc_evidence *evidence = begin("records");
	struct nc_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		NC_JSON json_t *record = json_loads(bad[i], 0, NULL);

		assert_int_equal(nc_evidence_append(evidence, record, &error), -EINVAL);
	}
	append(evidence, 1); /* a caller's mistake is no damage */
	NC_JSON json_t *extra = json_pack("{s:i}", "sequence", 99);
	NC_JSON json_t *identity = json_pack("{s:s}", "generation", "1");
	assert_int_equal(nc_evidence_checkpoint(evidence, "x", identity, &error), -EEXIST);
	assert_int_equal(nc_evidence_checkpoint(evidence, "x", extra, &error), -EEXIST);
	close_with(evidence, 0);
	answers("records", NC_EVIDENCE_COMPLETE, "");

	NC_JSON json_t *none = json_object();
	assert_int_equal(nc_evidence_close(begin("lossless"), none, &error), -EINVAL);
	answers("lossless", NC_EVIDENCE_OPEN, "no closing");
	NC_JSON json_t *number = json_pack("{s:i}", "losses", 0);
	assert_int_equal(nc_evidence_close(begin("lossy"), number, &error), -EINVAL);
}

/* A record that could not be kept is not passed over: the log is not continued and not closed. */
static void first_error_is_final(void **state)
{
	struct nc_evidence *evidence = begin("final");
	NC_JSON json_t *closing = json_pack("{s:s}", "losses", "0");
	struct nc_error error;
	char *text = calloc(1, NC_EVIDENCE_RECORD_MAX + 1);

	(void)state;
	memset(text, 'a', NC_EVIDENCE_RECORD_MAX);
	NC_JSON json_t *huge = json_pack("{s:s, s:s}", "kind", "x", "text", text);
	NC_JSON json_t *fine = json_pack("{s:s}", "kind", "x");
	free(text);
	append(evidence, 3);
	assert_int_equal(nc_evidence_append(evidence, huge, &error), -EMSGSIZE);
	assert_int_equal(nc_evidence_append(evidence, fine, &error), -EIO);
	assert_int_equal(nc_evidence_flush(evidence, &error), -EIO);
	assert_int_equal(nc_evidence_checkpoint(evidence, "x", NULL, &error), -EIO);
	assert_int_equal(nc_evidence_close(evidence, closing, &error), -EIO);
	assert_int_equal(error.code, NC_E_EVIDENCE_UNWRITABLE);
	answers("final", NC_EVIDENCE_OPEN, "no closing");
}

/* The sanitizer's allocator is to answer as the C library's does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* A record for which there was no memory is none: the log goes on without it, and is closed as what it is. */
static void no_memory_is_a_loss(void **state)
{
	struct nc_evidence *evidence = begin("unmade");
	NC_JSON json_t *closing = json_pack("{s:s}", "losses", "1");
	NC_JSON json_t *record = json_pack("{s:s}", "kind", "x");
	struct nc_error error;

	(void)state;
	nc_json_watch_memory();
	append(evidence, 3);
	(void)!json_object_set_new(record, "part", json_stringn_nocheck("", SIZE_MAX / 4)); /* more than any machine has */
	assert_int_equal(nc_evidence_append(evidence, record, &error), -ENOMEM);
	assert_true(nc_error_is_memory(&error));
	nc_json_forget_memory();
	append(evidence, 3);
	assert_int_equal(nc_evidence_close(evidence, closing, &error), 0);
	answers("unmade", NC_EVIDENCE_INCOMPLETE, "1 events were lost");
}

/* ---- open and cut -------------------------------------------------------------------------------------------------------------------------------- */

static void left_open(void **state)
{
	struct nc_evidence_report report;

	(void)state;
	nc_evidence_abandon(begin("open0"));
	answers("open0", NC_EVIDENCE_OPEN, "vouches for 0 of 0 records");
	make_folder("open", 8, false);
	assert_int_equal(ask("open", NULL, &report), NC_EVIDENCE_OPEN);
	assert_int_equal(report.events, 8);
	assert_int_equal(report.vouched, 4);
	assert_non_null(report.launch);
	assert_null(report.closing);
	assert_non_null(strstr(report.reason, "vouches for 4 of 8 records"));
	nc_evidence_report_free(&report);
	nc_evidence_abandon(NULL);
}

/* Where line number `line` (from 1) begins. */
static size_t line_start(const char *text, unsigned int line)
{
	const char *at = text;

	while (--line)
		at = strchr(at, '\n') + 1;
	return (size_t)(at - text);
}

/* E14: the last record, the last N, the closing statement, and every mixture */
static void tail_cut(void **state)
{
	size_t length;
	char *log;

	(void)state;
	make_folder("cut", 10, true);
	log = get_file(in_folder("cut/events.jsonl"), &length);
	for (unsigned int kept = 0; kept < 11; kept++) {
		char reason[64];

		copy_folder("cut", "cut2");
		put_file(in_folder("cut2/events.jsonl"), log, line_start(log, kept + 1), 0600);
		snprintf(reason, sizeof(reason), "%u of 11 records are missing", 11 - kept);
		answers("cut2", NC_EVIDENCE_INCOMPLETE, reason);
		/* the closing statement cut as well: what the checkpoint does not vouch for can be cut without a trace, so it is never called complete */
		unlink(in_folder("cut2/closing.json"));
		unlink(in_folder("cut2/closing.json.sig"));
		if (kept < 5)
			answers("cut2", NC_EVIDENCE_INCOMPLETE, "newest checkpoint vouches for");
		else
			answers("cut2", NC_EVIDENCE_OPEN, "newest checkpoint vouches for 5 of");
	}
	copy_folder("cut", "cut2");
	unlink(in_folder("cut2/closing.json"));
	answers("cut2", NC_EVIDENCE_INCOMPLETE, "closing statement is missing");
	unlink(in_folder("cut2/closing.json.sig"));
	answers("cut2", NC_EVIDENCE_INCOMPLETE, "closing statement is missing");
	unlink(in_folder("cut2/events.jsonl"));
	answers("cut2", NC_EVIDENCE_INCOMPLETE, "events.jsonl is missing");
	copy_folder("cut", "cut2");
	unlink(in_folder("cut2/events.jsonl"));
	answers("cut2", NC_EVIDENCE_INCOMPLETE, "11 of 11 records are missing");
	copy_folder("cut", "cut2");
	unlink(in_folder("cut2/closing.json.sig"));
	answers("cut2", NC_EVIDENCE_INVALID, "closing.json.sig is missing");
	free(log);
}

/* A crash tears the log at any byte: open, bounded by the checkpoint; incomplete when that bound is not kept. */
static void torn_anywhere(void **state)
{
	size_t length, bound;
	char *log;

	(void)state;
	make_folder("torn", 6, false);
	log = get_file(in_folder("torn/events.jsonl"), &length);
	bound = line_start(log, 4);
	for (size_t kept = 0; kept <= length; kept++) {
		put_file(in_folder("torn/events.jsonl"), log, kept, 0600);
		answers("torn", kept < bound ? NC_EVIDENCE_INCOMPLETE : NC_EVIDENCE_OPEN,
			kept < bound			? "missing"
			: kept && log[kept - 1] != '\n' ? "last line is torn"
							: "3 of");
	}
	/* a file system may leave zeros where the end should be */
	memset(log + bound, 0, length - bound);
	put_file(in_folder("torn/events.jsonl"), log, length, 0600);
	answers("torn", NC_EVIDENCE_OPEN, "vouches for 3 of 3 records, and the last line is torn");
	free(log);

	make_folder("torn2", 6, true);
	log = get_file(in_folder("torn2/events.jsonl"), &length);
	for (size_t kept = 0; kept < length; kept++) {
		put_file(in_folder("torn2/events.jsonl"), log, kept, 0600);
		answers("torn2", NC_EVIDENCE_INCOMPLETE, "records are missing");
	}
	free(log);
}

/* E01, E16: what was lost is a region of which nothing is known, and is never clean */
static void losses(void **state)
{
	static const uint64_t counts[] = {1, 100, 9007199254740993u, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct nc_evidence_report report;
		char name[32];

		snprintf(name, sizeof(name), "lost%zu", i);
		close_with(begin(name), counts[i]);
		assert_int_equal(ask(name, NULL, &report), NC_EVIDENCE_INCOMPLETE);
		assert_true(report.losses == counts[i]);
		assert_non_null(strstr(report.reason, "unknown"));
		assert_non_null(report.closing);
		nc_evidence_report_free(&report);
	}
}

/* ---- the expectation -------------------------------------------------------------------------------------------------------------------------------- */

static void expectations(void **state)
{
	static const struct {
		const char *expect;
		bool met;
	} cases[] = {
		{"{\"nonce\":\"n-1\"}", true},
		{"{\"run\":\"run-7\",\"nonce\":\"n-1\",\"limits\":{\"pids\":512}}", true},
		{"{\"nonce\":\"n-2\"}", false}, /* the folder of another run, replayed */
		{"{\"nonce\":\"n-1\",\"run\":\"run-8\"}", false},
		{"{\"limits\":{\"pids\":513}}", false},
		{"{\"limits\":{}}", false},
		{"{\"limits\":{\"pids\":\"512\"}}", false},
		{"{\"limits\":{\"pids\":512,\"memory\":1}}", false},
		{"{\"image\":\"sha256:0\"}", false},
		{"{\"instance\":\"expected\"}", true}, /* measured: the Runner need not have said it at launch */
		{"{\"instance\":\"another\"}", false},
		{"{\"boot_id\":\"1b4e28ba-2fa1-11d2-883f-0016d3cca427\"}", false}, /* no clause, and not in the binding: not the Runner's */
		{"{\"nonce\":\"N-1\"}", false},
		{"{\"nonce\\n\":\"n-1\"}", false},
	};
	NC_JSON json_t *nothing = json_object(), *list = json_array();
	struct nc_evidence_report report;
	struct nc_error error;

	(void)state;
	make_folder("expected", 4, true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		NC_JSON json_t *expect = json_loads(cases[i].expect, 0, NULL);

		assert_int_equal(ask("expected", expect, &report), cases[i].met ? NC_EVIDENCE_COMPLETE : NC_EVIDENCE_INVALID);
		nc_evidence_report_free(&report);
	}
	assert_int_equal(nc_evidence_verify(in_folder("expected"), &public, nothing, &report, &error), -EINVAL);
	assert_int_equal(nc_evidence_verify(in_folder("expected"), &public, list, &report, &error), -EINVAL);
}

/* ---- keys and folders --------------------------------------------------------------------------------------------------------------------------------- */

static void other_keys(void **state)
{
	struct nc_public_key other = {{0}};
	struct nc_evidence_report report;
	struct nc_secret_key *second;
	struct nc_error error;

	(void)state;
	make_folder("keyed", 2, true);
	assert_int_equal(nc_evidence_verify(in_folder("keyed"), &other, NULL, &report, &error), -EINVAL); /* of low order (R08) */
	assert_int_equal(error.code, NC_E_KEY_INVALID);
	assert_int_equal(nc_key_generate(in_folder("second"), &error), 0);
	assert_int_equal(nc_key_load_secret(in_folder("second"), &second, &error), 0);
	nc_key_public(second, &other);
	assert_int_equal(nc_evidence_verify(in_folder("keyed"), &other, NULL, &report, &error), 0);
	assert_int_equal(report.answer, NC_EVIDENCE_INVALID);
	assert_non_null(strstr(report.reason, "another key"));
	nc_evidence_report_free(&report);
	nc_key_free(second);
	assert_int_equal(nc_evidence_verify(in_folder("nowhere"), &public, NULL, &report, &error), -ENOENT);
	assert_int_equal(nc_evidence_verify(in_folder("key"), &public, NULL, &report, &error), -ENOTDIR);
	assert_int_equal(mkdir(in_folder("empty"), 0700), 0);
	answers("empty", NC_EVIDENCE_INVALID, "launch.json is missing");
}

/* A reader beside a living writer never calls it broken. */
static void read_while_written(void **state)
{
	time_t deadline = time(NULL) + 120;
	unsigned int seen[4] = {0};
	int status = 0;
	pid_t writer;

	(void)state;
	struct nc_evidence *evidence = begin("live");
	checkpoint(evidence);
	fflush(NULL);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		struct nc_secret_key *again;
		struct nc_error error;
		json_t *closing = json_pack("{s:s}", "losses", "0");

		nc_evidence_abandon(evidence); /* its key was wiped by the fork */
		if (nc_key_load_secret(in_folder("key"), &again, &error) < 0)
			_exit(1);
		for (int round = 0; round < 12; round++) {
			NC_JSON json_t *launch = launch_of("live");

			if (nc_evidence_begin(in_folder("live%d", round), launch, again, "x", &evidence, &error) < 0)
				_exit(2);
			for (int i = 0; i < 6; i++) {
				append(evidence, 3);
				checkpoint(evidence);
			}
			if (nc_evidence_close(evidence, closing, &error) < 0)
				_exit(3);
		}
		_exit(0);
	}
	for (int round = 0; round < 12; round++) {
		enum nc_evidence_answer answer = NC_EVIDENCE_OPEN;

		while (time(NULL) < deadline && !is_there(in_folder("live%d/launch.json", round)))
			usleep(100);
		while (time(NULL) < deadline && answer != NC_EVIDENCE_COMPLETE) {
			char name[16];

			snprintf(name, sizeof(name), "live%d", round);
			answer = answer_of(name);
			seen[answer]++;
			assert_true(answer == NC_EVIDENCE_OPEN || answer == NC_EVIDENCE_COMPLETE);
		}
		assert_int_equal(answer, NC_EVIDENCE_COMPLETE);
	}
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_true(seen[NC_EVIDENCE_OPEN] > 0);
	nc_evidence_abandon(evidence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(small_and_large),
		cmocka_unit_test(chain_rule),
		cmocka_unit_test(begun_once),
		cmocka_unit_test(launch_must_hold),
		cmocka_unit_test(records_must_be),
		cmocka_unit_test(first_error_is_final),
		cmocka_unit_test(no_memory_is_a_loss),
		cmocka_unit_test(left_open),
		cmocka_unit_test(tail_cut),
		cmocka_unit_test(torn_anywhere),
		cmocka_unit_test(losses),
		cmocka_unit_test(expectations),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(read_while_written),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, evidence_setup, evidence_teardown);
}
