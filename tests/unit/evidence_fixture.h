/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_fixture.h - evidence folders of a test's own, and the answer that a reader gives about them */
#ifndef NC_TEST_EVIDENCE_FIXTURE_H
#define NC_TEST_EVIDENCE_FIXTURE_H

#include "evidence.h"
#include "folder_fixture.h"

static struct nc_secret_key *key;
static struct nc_public_key public;
static unsigned int generations; /* so that no two folders are of one launch */

static int evidence_setup(void **state)
{
	struct nc_error error;

	if (fixture_setup(state) < 0 || nc_key_generate(in_folder("key"), &error) < 0 || nc_key_load_secret(in_folder("key"), &key, &error) < 0)
		return -1;
	nc_key_public(key, &public);
	return 0;
}

static int evidence_teardown(void **state)
{
	nc_key_free(key);
	return fixture_teardown(state);
}

static json_t *launch_of(const char *instance)
{
	json_t *launch = json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:s, s:{s:s, s:s, s:{s:i}}}", "version", 1, "provider", "netcordon:run-provider",
				   "provider_revision", "dev", "instance", instance, "generation", nc_json_u64(11400714819323198485u + ++generations),
				   "boot_id", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "manifest",
				   "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "binding", "run", "run-7", "nonce", "n-1",
				   "limits", "pids", 512);

	assert_non_null(launch);
	return launch;
}

/* Begins the folder `name`, of an instance of that name. */
static struct nc_evidence *begin(const char *name)
{
	NC_JSON json_t *launch = launch_of(name);
	struct nc_evidence *evidence = NULL;
	struct nc_error error;

	if (nc_evidence_begin(in_folder("%s", name), launch, key, "test@host", &evidence, &error) < 0)
		fail_msg("%s: %s", name, error.detail);
	return evidence;
}

static void append(struct nc_evidence *evidence, unsigned int count)
{
	struct nc_error error;

	for (unsigned int i = 0; i < count; i++) {
		NC_JSON json_t *record = json_pack("{s:s, s:i}", "kind", "verdict", "port", i);

		if (nc_evidence_append(evidence, record, &error) < 0)
			fail_msg("append: %s", error.detail);
	}
}

static void checkpoint(struct nc_evidence *evidence)
{
	struct nc_error error;

	if (nc_evidence_checkpoint(evidence, "periodic", NULL, &error) < 0)
		fail_msg("checkpoint: %s", error.detail);
}

static void close_with(struct nc_evidence *evidence, uint64_t losses) __attribute__((unused));
static void close_with(struct nc_evidence *evidence, uint64_t losses)
{
	NC_JSON json_t *closing = json_pack("{s:o, s:{}, s:s}", "losses", nc_json_u64(losses), "counters", "result", "exited");
	struct nc_error error;

	if (nc_evidence_close(evidence, closing, &error) < 0)
		fail_msg("close: %s", error.detail);
}

/* A folder of `events` records with a checkpoint in the middle; closed or abandoned. */
static void make_folder(const char *name, unsigned int events, bool closed) __attribute__((unused));
static void make_folder(const char *name, unsigned int events, bool closed)
{
	struct nc_evidence *evidence = begin(name);

	append(evidence, events / 2);
	checkpoint(evidence);
	append(evidence, events - events / 2);
	if (closed)
		close_with(evidence, 0);
	else
		nc_evidence_abandon(evidence);
}

static enum nc_evidence_answer ask(const char *name, const json_t *expect, struct nc_evidence_report *ret_report) __attribute__((unused));
static enum nc_evidence_answer ask(const char *name, const json_t *expect, struct nc_evidence_report *ret_report)
{
	struct nc_error error;

	if (nc_evidence_verify(in_folder("%s", name), &public, expect, ret_report, &error) < 0)
		fail_msg("%s: %s", name, error.detail);
	assert_true((ret_report->answer == NC_EVIDENCE_COMPLETE) == (ret_report->reason[0] == '\0'));
	assert_null(strpbrk(ret_report->reason, "\n\r\x1b"));
	assert_true((ret_report->answer == NC_EVIDENCE_INVALID) == (ret_report->launch == NULL));
	return ret_report->answer;
}

static enum nc_evidence_answer answer_of(const char *name) __attribute__((unused));
static enum nc_evidence_answer answer_of(const char *name)
{
	struct nc_evidence_report report;
	enum nc_evidence_answer answer = ask(name, NULL, &report);

	nc_evidence_report_free(&report);
	return answer;
}

static void answers(const char *name, enum nc_evidence_answer expected, const char *reason) __attribute__((unused));
static void answers(const char *name, enum nc_evidence_answer expected, const char *reason)
{
	struct nc_evidence_report report;

	if (ask(name, NULL, &report) != expected || !strstr(report.reason, reason))
		fail_msg("%s: %s: \"%s\", where %s: \"%s\" is right", name, nc_evidence_answer_word(report.answer), report.reason,
			 nc_evidence_answer_word(expected), reason);
	nc_evidence_report_free(&report);
}

/* A second folder with the same files. */
static void copy_folder(const char *from, const char *to) __attribute__((unused));
static void copy_folder(const char *from, const char *to)
{
	DIR *folder = opendir(in_folder("%s", from));
	struct dirent *entry;

	assert_non_null(folder);
	remove_tree(in_folder("%s", to));
	assert_int_equal(mkdir(in_folder("%s", to), 0700), 0);
	while ((entry = readdir(folder))) {
		size_t length;
		char *bytes;

		if (entry->d_type != DT_REG)
			continue;
		bytes = get_file(in_folder("%s/%s", from, entry->d_name), &length);
		put_file(in_folder("%s/%s", to, entry->d_name), bytes, length, 0600);
		free(bytes);
	}
	closedir(folder);
}

#endif
