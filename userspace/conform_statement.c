/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_statement.c - the statement and its bundle, written by the matrix */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include "cleanup.h"
#include "conform_output.h"
#include "conform_statement.h"
#include "digest.h"
#include "folder.h"
#include "json.h"
#include "loader.h"

struct text {
	char *bytes;
	size_t length;
};

static void free_text(struct text *text)
{
	free(text->bytes);
}
#define OWNED_TEXT __attribute__((cleanup(free_text)))

static int add_line(struct text *text, const json_t *line, struct nc_error *reterr)
{
	NC_FREE char *canonical = NULL;
	size_t length;
	char *grown;
	int r = nc_json_canonical(line, &canonical, &length, reterr);

	if (r < 0)
		return r;
	grown = realloc(text->bytes, text->length + length + 2);
	if (!grown)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "write the transcripts");
	memcpy(grown + text->length, canonical, length);
	grown[text->length + length] = '\n';
	grown[text->length + length + 1] = '\0';
	text->bytes = grown;
	text->length += length + 1;
	return 0;
}

static void hex_of(const struct text *text, char hex[NC_DIGEST_HEX])
{
	struct nc_digest digest;

	nc_digest_of(text->bytes, text->length, &digest);
	nc_digest_hex(&digest, hex);
}

static int transcripts_of(const struct nc_conformance *conformance, struct text *text, struct nc_error *reterr)
{
	int r = 0;

	for (size_t i = 0; !r && i < conformance->count; i++) {
		const struct nc_result *result = &conformance->results[i];
		NC_JSON json_t *line = json_pack("{s:s s:O}", "id", result->row->id, "runs", result->transcript);

		r = add_line(text, line, reterr);
	}
	return r;
}

/* Words of the closure table: what netcordon closes on this machine, and what it does not. They say nothing about anybody else's provider. */
static int closures_of(const char *provider, json_t **ret_closed, json_t **ret_gaps, struct nc_error *reterr)
{
	const struct nc_closure *rows = NULL;
	size_t count = 0;
	int r = 0;

	if (!strncmp(provider, "netcordon:", 10))
		r = nc_closures(NULL, !strcmp(provider, "netcordon:run-provider"), &rows, &count, reterr);

	if (r < 0)
		return r;
	*ret_closed = json_array();
	*ret_gaps = json_array();
	for (size_t i = 0; i < count; i++) {
		if (rows[i].state == NC_CLOSURE_IN_FORCE)
			json_array_append_new(*ret_closed, json_string(rows[i].path));
		if (rows[i].state == NC_CLOSURE_GAP)
			json_array_append_new(*ret_gaps, json_string(rows[i].path));
	}
	return 0;
}

static json_t *residuals(void)
{
	json_t *array = json_array();

#define RESIDUAL(text) json_array_append_new(array, json_string(text));
	NC_RESIDUALS(RESIDUAL)
	return array;
}

static int statement_of(const struct nc_conformance *conformance, const char *manifest, const struct text *matrix, const struct text *transcripts,
			json_t **ret_statement, struct nc_error *reterr)
{
	char matrix_hex[NC_DIGEST_HEX], bundle_hex[NC_DIGEST_HEX];
	json_t *closed = NULL, *gaps = NULL, *facts = json_object();
	struct utsname host;
	int r = closures_of(conformance->driver.provider, &closed, &gaps, reterr);

	if (r < 0 || uname(&host) < 0) {
		json_decref(facts);
		return r < 0 ? r : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "ask the kernel's name");
	}
	hex_of(matrix, matrix_hex);
	hex_of(transcripts, bundle_hex);
	for (int fact = 0; fact < NC_FACT_COUNT; fact++)
		json_object_set_new(facts, nc_fact_word((enum nc_fact)fact), json_boolean(conformance->facts[fact]));
	*ret_statement = json_pack("{s:i s:s s:s s:s s:s s:i s:s s:s s:s s:s s:I s:b s:o s:o s:o s:o s:o}", "version", NC_RECEIPT_VERSION, "type",
				   NC_RECEIPT_TYPE, "provider", conformance->driver.provider, "provider_revision",
				   conformance->driver.provider_revision, "manifest", manifest, "matrix_version", NC_MATRIX_VERSION, "matrix",
				   matrix_hex, "bundle", bundle_hex, "kernel", host.release, "architecture", host.machine, "time",
				   (json_int_t)time(NULL), "mutants", json_array_size(conformance->driver.mutants) > 0, "closures", closed, "gaps",
				   gaps, "residuals", residuals(), "cases", nc_conform_cases_json(conformance), "facts", facts);
	return *ret_statement ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "write the statement");
}

static int canonical_of(const json_t *value, struct text *text, struct nc_error *reterr)
{
	return nc_json_canonical(value, &text->bytes, &text->length, reterr);
}

int nc_conform_bundle_write(const char *folder, const struct nc_conformance *conformance, const char *manifest, struct nc_error *reterr)
{
	OWNED_TEXT struct text transcripts = {0}, matrix = {0}, statement = {0};
	NC_JSON json_t *document = NULL, *list = nc_conform_list_json(&(struct nc_conform_options){0});
	struct nc_receipt receipt;
	NC_CLOSE int fd = -1;
	int r = transcripts_of(conformance, &transcripts, reterr);

	if (!r)
		r = canonical_of(list, &matrix, reterr);
	if (!r)
		r = statement_of(conformance, manifest, &matrix, &transcripts, &document, reterr);
	/* What this program would not read it does not write. */
	if (!r)
		r = nc_receipt_parse(document, &receipt, reterr);
	if (r < 0)
		return r;
	nc_receipt_free(&receipt);
	r = canonical_of(document, &statement, reterr);
	if (r < 0)
		return r;
	if (mkdir(folder, 0700) < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "make the bundle %s", folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "open the bundle %s", folder);
	return nc_folder_publish(fd,
				 (const struct nc_folder_file[]){{NC_BUNDLE_TRANSCRIPTS, transcripts.bytes, transcripts.length},
								 {NC_BUNDLE_MATRIX, matrix.bytes, matrix.length},
								 {NC_BUNDLE_STATEMENT, statement.bytes, statement.length}},
				 3, reterr);
}
