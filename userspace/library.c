/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * library.c - libnetcordon: the pure stages behind a header of their own (netcordon.h)
 *
 * The linker takes what these functions need of the rest (Makefile). Only they stay visible: a program that links the library sees none of the names
 * within.
 */
#include "netcordon.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "admission.h"
#include "cleanup.h"
#include "commands.h"
#include "evidence.h"
#include "json.h"
#include "revision.h"

const char *nc_library_program(void)
{
	return NC_VERSION;
}

const char *nc_library_revision(void)
{
	return nc_revision_name();
}

/* An error of the table is "no", unless nothing could be decided: those are the ones for which a command exits with 2 or 3. */
static int answer_of(int status, const struct nc_error *error, struct nc_library_error *ret_error)
{
	int answer = status < 0 ? nc_error_exit(error->code) : NC_LIBRARY_YES;

	*ret_error = (struct nc_library_error){0};
	snprintf(ret_error->code, sizeof(ret_error->code), "%s", nc_error_word(status < 0 ? error->code : NC_E_NONE));
	if (status >= 0)
		return answer;
	snprintf(ret_error->detail, sizeof(ret_error->detail), "%s", error->detail);
	snprintf(ret_error->pointer, sizeof(ret_error->pointer), "%s", error->pointer);
	snprintf(ret_error->hint, sizeof(ret_error->hint), "%s", error->hint);
	return answer == NC_EXIT_USAGE || answer == NC_EXIT_FAILED ? (error->status < 0 ? error->status : -EINVAL) : answer;
}

static void give(json_t *document, char **ret_json)
{
	if (ret_json)
		*ret_json = json_dumps(document, JSON_ENSURE_ASCII | JSON_INDENT(2));
	json_decref(document);
}

/* ---- evidence --------------------------------------------------------------------------------------------------------------------------------- */

static int verify(const char *folder, const char *public_key, const char *expect_text, struct nc_evidence_report *report, char key_id[NC_KEY_ID_HEX],
		  struct nc_error *reterr)
{
	NC_JSON json_t *expect = NULL;
	struct nc_public_key key;
	int r = nc_key_load_public(public_key, &key, reterr);

	if (r == 0 && expect_text)
		r = nc_json_parse(expect_text, strlen(expect_text), NC_E_USAGE, &expect, reterr);
	if (r == 0)
		r = nc_evidence_verify(folder, &key, expect, report, reterr);
	if (r == 0)
		nc_key_id(&key, key_id);
	return r;
}

int nc_library_evidence(const char *folder, const char *public_key, const char *expect, char **ret_json, struct nc_library_error *ret_error)
{
	static const int answers[] = {[NC_EVIDENCE_COMPLETE] = NC_LIBRARY_YES,
				      [NC_EVIDENCE_OPEN] = NC_LIBRARY_OPEN,
				      [NC_EVIDENCE_INCOMPLETE] = NC_LIBRARY_INCOMPLETE,
				      [NC_EVIDENCE_INVALID] = NC_LIBRARY_NO};
	struct nc_evidence_report report = {0};
	char key_id[NC_KEY_ID_HEX];
	struct nc_error error = {0};
	int r = verify(folder, public_key, expect, &report, key_id, &error), answer;

	if (ret_json)
		*ret_json = NULL;
	if (r < 0)
		return answer_of(r, &error, ret_error);
	if (report.answer == NC_EVIDENCE_INVALID)
		r = nc_error_set(&error, NC_E_EVIDENCE_INVALID, -EBADMSG, "%s", report.reason);
	answer_of(r, &error, ret_error);
	give(nc_evidence_report_json(&report, key_id, expect != NULL), ret_json);
	answer = answers[report.answer];
	nc_evidence_report_free(&report);
	return answer;
}

/* ---- receipts and admission -------------------------------------------------------------------------------------------------------------------- */

static int read_document(const char *path, enum nc_error_code code, char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	int r = nc_profile_read(path, ret_text, ret_length, reterr);

	if (r < 0)
		reterr->code = code;
	return r;
}

static int open_receipt(const char *path, const struct nc_attester_set *set, struct nc_receipt *receipt, struct nc_error *reterr)
{
	NC_FREE char *for_folder = strdup(path), *for_name = strdup(path);
	NC_CLOSE int folder = -1;

	if (!for_folder || !for_name)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read %s", path);
	folder = open(dirname(for_folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return nc_error_sys(reterr, NC_E_RECEIPT_INVALID, -errno, "open the folder of %s", path);
	return nc_receipt_open(folder, basename(for_name), set, receipt, reterr);
}

static int state_of(const struct nc_receipt *receipt, struct nc_error *reterr)
{
	if (receipt->attester->state == NC_ATTESTER_REVOKED)
		return nc_error_set(reterr, NC_E_ATTESTER_REVOKED, -EPERM, "the signature is of a revoked key of %s", receipt->attester->name);
	if (receipt->attester->state == NC_ATTESTER_ROTATED)
		return nc_error_set(reterr, NC_E_ATTESTER_ROTATED, -EPERM, "the signature verifies, under a key that %s has replaced since",
				    receipt->attester->name);
	return 0;
}

int nc_library_receipt(const char *receipt_path, const char *attesters, char **ret_json, struct nc_library_error *ret_error)
{
	struct nc_attester_set own = {0};
	struct nc_receipt receipt = {0};
	NC_FREE char *text = NULL;
	struct nc_error error = {0};
	size_t length;
	int r = 0;

	if (ret_json)
		*ret_json = NULL;
	if (attesters)
		r = read_document(attesters, NC_E_ATTESTERS_INVALID, &text, &length, &error) ?: nc_attesters_parse(text, length, &own, &error);
	r = r ?: open_receipt(receipt_path, attesters ? &own : nc_attesters(), &receipt, &error);
	r = r ?: nc_receipt_complete(&receipt, &error);
	r = r ?: state_of(&receipt, &error);
	if (r == 0)
		give(json_pack("{s:s, s:s, s:s, s:s, s:s}", "answer",
			       attesters ? "valid under a set that the caller supplied" : "valid under the reviewed set", "provider",
			       receipt.provider, "provider_revision", receipt.provider_revision, "attester", receipt.attester->name, "proves",
			       NC_SIGNATURE_PROVES),
		     ret_json);
	nc_receipt_free(&receipt);
	nc_attesters_free(&own);
	return answer_of(r, &error, ret_error);
}

static int read_capability(const char *path, struct nc_capability *capability, struct nc_error *reterr)
{
	enum nc_own_provider own;
	NC_FREE char *text = NULL;
	size_t length;
	int r;

	if (nc_capability_own_word(path, &own)) {
		nc_capability_own(own, capability);
		return 0;
	}
	r = read_document(path, NC_E_CAPABILITY_INVALID, &text, &length, reterr);
	return r ?: nc_capability_parse(text, length, capability, reterr);
}

int nc_library_admission(const char *profile_path, const char *capability_path, const char *receipt_path, char **ret_json,
			 struct nc_library_error *ret_error)
{
	struct nc_capability capability = {0};
	struct nc_profile *profile = NULL;
	struct nc_receipt receipt = {0};
	struct nc_error error = {0};
	bool consulted = false;
	int r = read_capability(capability_path, &capability, &error) ?: nc_profile_load(profile_path, NULL, &profile, &error);

	if (ret_json)
		*ret_json = NULL;
	if (r == 0) {
		consulted = receipt_path && capability.egress_certification == NC_GRADE_SECURITY_BOUNDARY;
		r = consulted ? open_receipt(receipt_path, nc_attesters(), &receipt, &error) : 0;
	}
	r = r ?: nc_admit(profile, &capability, consulted ? &receipt : NULL, &error);
	if (r == 0)
		give(json_pack("{s:s, s:s, s:s, s:s}", "answer", "admitted", "provider", capability.provider, "provider_revision",
			       capability.provider_revision, "egress_certification", nc_grade_word(capability.egress_certification)),
		     ret_json);
	nc_receipt_free(&receipt);
	nc_profile_free(profile);
	nc_capability_free(&capability);
	return answer_of(r, &error, ret_error);
}
