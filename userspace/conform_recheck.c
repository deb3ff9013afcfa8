/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_recheck.c - the bundle read again by whoever is about to sign
 *
 * Nothing that the statement concludes is taken over: digests are computed, the table of cases must be this program's own, each run is read from its
 * transcript, the client's words are read again from its recorded output, and the outcome of each case is decided again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "conform_output.h"
#include "conform_stage.h"
#include "conform_statement.h"
#include "conform_transcript.h"
#include "digest.h"
#include "folder.h"
#include "json.h"

struct bundle {
	int fd;
	struct nc_receipt receipt;
};

static int wrong(struct nc_error *reterr, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct nc_error *reterr, const char *format, ...)
{
	char detail[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	return nc_error_set(reterr, NC_E_STATEMENT_INVALID, -EPERM, "%s", detail);
}

static int read_file(int folder, const char *name, char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	int r = nc_folder_read(folder, name, NC_JSON_SIZE_MAX, ret_text, ret_length, reterr);

	if (r < 0)
		reterr->code = NC_E_STATEMENT_INVALID;
	return r == -ENOENT ? wrong(reterr, "the bundle has no %s", name) : r;
}

static int check_digest(const char *what, const char *text, size_t length, const json_t *document, const char *member, struct nc_error *reterr)
{
	const char *stated = json_string_value(json_object_get(document, member));
	char hex[NC_DIGEST_HEX];
	struct nc_digest digest;

	nc_digest_of(text, length, &digest);
	nc_digest_hex(&digest, hex);
	return stated && !strcmp(stated, hex) ? 0 : wrong(reterr, "%s is not the file whose digest stands in /%s", what, member);
}

/* The table must be the one of this very program: a signer does not sign for cases that it does not know. */
static int check_matrix(const struct bundle *bundle, struct nc_error *reterr)
{
	NC_JSON json_t *own = nc_conform_list_json(&(struct nc_conform_options){0});
	NC_FREE char *text = NULL, *canonical = NULL;
	size_t length, own_length;
	int r = read_file(bundle->fd, NC_BUNDLE_MATRIX, &text, &length, reterr);

	if (!r)
		r = check_digest(NC_BUNDLE_MATRIX, text, length, bundle->receipt.document, "matrix", reterr);
	if (!r)
		r = nc_json_canonical(own, &canonical, &own_length, reterr);
	if (r < 0)
		return r;
	if (length != own_length || memcmp(text, canonical, length))
		return wrong(reterr, "the bundle was made with another matrix than this program's");
	return 0;
}

/* One run of a transcript, and what the client's own output says of it. */
static int check_run(const char *id, const char *kind, const json_t *transcript, const struct nc_case *row, struct nc_run *run,
		     struct nc_error *reterr)
{
	const char *output = json_string_value(json_object_get(transcript, "output")),
		   *answer = json_string_value(json_object_get(transcript, "answer"));
	char pointer[128];
	struct nc_run heard = {0};
	int r;

	if (!transcript)
		return 0;
	snprintf(pointer, sizeof(pointer), "/%s/%s", id, kind);
	r = nc_run_parse(json_object_get(transcript, "run"), pointer, run, reterr);
	if (r < 0 || !run->made || row->construction == NC_CONSTRUCTION_CREDENTIAL)
		return r;
	if (!output || !answer || !*answer)
		return wrong(reterr, "%s: the run has no output", pointer);
	nc_client_read(output, answer, &heard);
	if (heard.reported != run->reported || heard.answered != run->answered || heard.impossible != run->impossible ||
	    heard.through != run->through)
		return wrong(reterr, "%s: the client's output says something else", pointer);
	return 0;
}

static int check_case(const struct bundle *bundle, const json_t *stated, const char *line, size_t length, struct nc_error *reterr)
{
	const char *id = json_string_value(json_object_get(stated, "id"));
	const struct nc_case *row = nc_case_find(id);
	struct nc_run runs[NC_RUN_COUNT] = {0};
	struct nc_verdict_of_case verdict;
	NC_JSON json_t *transcript = NULL;
	int r = nc_json_parse(line, length, NC_E_STATEMENT_INVALID, &transcript, reterr);

	if (r < 0)
		return r;
	if (!row || strcmp(json_string_value(json_object_get(transcript, "id")) ?: "", id))
		return wrong(reterr, "the transcripts and /cases differ at %s", id);
	if (strcmp(nc_fact_word(row->fact), json_string_value(json_object_get(stated, "fact"))))
		return wrong(reterr, "%s is no case of %s", id, json_string_value(json_object_get(stated, "fact")));
	for (int kind = 0; !r && kind < NC_RUN_COUNT; kind++) {
		const char *word = nc_run_word((enum nc_run_kind)kind);

		r = check_run(id, word, json_object_get(json_object_get(transcript, "runs"), word), row, &runs[kind], reterr);
		if (!r && strcmp(nc_run_result_word(nc_run_result(&runs[kind])), json_string_value(json_object_get(stated, word))))
			r = wrong(reterr, "%s: the %s run came to something else", id, word);
	}
	if (r < 0)
		return r;
	nc_outcome_of(row->expectation, runs, json_is_true(json_object_get(bundle->receipt.document, "mutants")), &verdict);
	if (strcmp(nc_outcome_word(verdict.outcome), json_string_value(json_object_get(stated, "outcome"))))
		return wrong(reterr, "%s: by the rules it is %s", id, nc_outcome_word(verdict.outcome));
	return 0;
}

static bool is_blocked(const json_t *row)
{
	return !strncmp(json_string_value(json_object_get(row, "id")), NC_BLOCKED_ID, strlen(NC_BLOCKED_ID));
}

static int check_transcripts(const struct bundle *bundle, struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	size_t length, index = 0;
	int r = read_file(bundle->fd, NC_BUNDLE_TRANSCRIPTS, &text, &length, reterr);

	if (!r)
		r = check_digest(NC_BUNDLE_TRANSCRIPTS, text, length, bundle->receipt.document, "bundle", reterr);
	for (char *line = text, *end; !r && line < text + length; line = end + 1, index++) {
		end = memchr(line, '\n', (size_t)(text + length - line));
		if (!end || index >= json_array_size(bundle->receipt.cases))
			return wrong(reterr, "the transcripts have more cases than the statement, or a torn line");
		r = check_case(bundle, json_array_get(bundle->receipt.cases, index), line, (size_t)(end - line), reterr);
	}
	/* Behind the cases stand the paths that the matrix could say nothing about. */
	for (; !r && index < json_array_size(bundle->receipt.cases); index++) {
		const json_t *row = json_array_get(bundle->receipt.cases, index);

		if (!is_blocked(row) || strcmp(json_string_value(json_object_get(row, "outcome")), nc_outcome_word(NC_OUTCOME_INCONCLUSIVE)))
			return wrong(reterr, "%s has no transcript", json_string_value(json_object_get(row, "id")));
	}
	return r;
}

/* Does the table have exactly `have` cases of the fact for some kind of provider: proxied or not, able to switch off what stands before, or not, with or
 * without each thing that it may offer? */
static bool whole_for_some(enum nc_fact fact, size_t have)
{
	int lacks = NC_CASE_NEEDS; /* each subset of the needs in turn, the empty one last */

	for (;; lacks = (lacks - 1) & NC_CASE_NEEDS) {
		for (int kind = 0; kind < 4; kind++) {
			int senseless = lacks | (kind & 1 ? NC_CASE_DIRECT_ONLY : NC_CASE_PROXY_ONLY);
			size_t count = 0;

			for (size_t i = 0; i < nc_case_count; i++)
				count += nc_cases[i].fact == fact && !(nc_cases[i].flags & senseless) && (kind & 2 || !nc_cases[i].base[0]);
			if (count == have)
				return true;
		}
		if (!lacks)
			return false;
	}
}

/* A claimed fact needs every case that the table has for it, apart from those that make no sense for the kind of provider. */
static int check_whole(const struct bundle *bundle, struct nc_error *reterr)
{
	size_t have[NC_FACT_COUNT] = {0};

	for (size_t i = 0; i < json_array_size(bundle->receipt.cases); i++) {
		const char *id = json_string_value(json_object_get(json_array_get(bundle->receipt.cases, i), "id"));

		for (size_t j = 0; j < i; j++) {
			if (!strcmp(id, json_string_value(json_object_get(json_array_get(bundle->receipt.cases, j), "id"))))
				return wrong(reterr, "%s stands twice in /cases", id);
		}
		have[NC_FACT_DEFAULT_DENY] += is_blocked(json_array_get(bundle->receipt.cases, i));
		if (!is_blocked(json_array_get(bundle->receipt.cases, i)))
			have[nc_case_find(id)->fact]++;
	}
	for (int fact = 0; fact < NC_FACT_COUNT; fact++) {
		if (bundle->receipt.facts[fact] && !whole_for_some((enum nc_fact)fact, have[fact]))
			return wrong(reterr, "/facts/%s is claimed without every case of it", nc_fact_word((enum nc_fact)fact));
	}
	return 0;
}

int nc_conform_bundle_check(const char *folder, struct nc_receipt *ret_receipt, struct nc_error *reterr)
{
	struct bundle bundle = {.fd = -1};
	NC_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	NC_FREE char *text = NULL, *canonical = NULL;
	NC_JSON json_t *document = NULL;
	size_t length, canonical_length;
	int r;

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_STATEMENT_INVALID, -errno, "open the bundle %s", folder);
	bundle.fd = fd;
	r = read_file(fd, NC_BUNDLE_STATEMENT, &text, &length, reterr);
	if (!r)
		r = nc_json_parse(text, length, NC_E_STATEMENT_INVALID, &document, reterr);
	if (!r)
		r = nc_json_canonical(document, &canonical, &canonical_length, reterr);
	if (!r && (length != canonical_length || memcmp(text, canonical, length)))
		r = wrong(reterr, "%s is not canonical", NC_BUNDLE_STATEMENT);
	if (!r)
		r = nc_receipt_parse(document, &bundle.receipt, reterr);
	if (r < 0)
		return r;
	r = check_matrix(&bundle, reterr);
	if (!r)
		r = check_transcripts(&bundle, reterr);
	if (!r)
		r = check_whole(&bundle, reterr);
	if (r < 0) {
		nc_receipt_free(&bundle.receipt);
		return r;
	}
	*ret_receipt = bundle.receipt;
	return 0;
}
