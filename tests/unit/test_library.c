/* SPDX-License-Identifier: GPL-2.0-only */
/* test_library.c - libnetcordon's answers: those of the program, as numbers and documents */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include "cleanup.h"
#include "evidence_fixture.h"
#include "netcordon.h"
#include "revision.h"

static char public_path[400];
static struct nc_library_error failure;

static int library_setup(void **state)
{
	struct nc_error error;
	char *pem = NULL;

	if (evidence_setup(state) < 0 || nc_key_public_pem(&public, &pem, &error) < 0)
		return -1;
	snprintf(public_path, sizeof(public_path), "%s", in_folder("public.pem"));
	put_file(public_path, pem, strlen(pem), 0600);
	free(pem);
	return 0;
}

static void is_json(char *json, const char *member, const char *value)
{
	NC_JSON json_t *document = json_loads(json, 0, NULL);

	assert_string_equal(json_string_value(json_object_get(document, member)), value);
	free(json);
}

static void evidence(void **state)
{
	char *json;

	(void)state;
	make_folder("whole", 4, true);
	make_folder("open", 4, false);
	assert_int_equal(nc_library_evidence(in_folder("whole"), public_path, NULL, &json, &failure), NC_LIBRARY_YES);
	assert_string_equal(failure.code, "none");
	is_json(json, "answer", "complete");
	assert_int_equal(nc_library_evidence(in_folder("whole"), public_path, "{\"nonce\":\"n-1\",\"instance\":\"whole\"}", NULL, &failure),
			 NC_LIBRARY_YES);
	assert_int_equal(nc_library_evidence(in_folder("whole"), public_path, "{\"nonce\":\"n-2\"}", &json, &failure), NC_LIBRARY_NO);
	assert_string_equal(failure.code, "evidence_invalid");
	is_json(json, "answer", "invalid");
	assert_int_equal(nc_library_evidence(in_folder("open"), public_path, NULL, &json, &failure), NC_LIBRARY_OPEN);
	is_json(json, "answer", "open");
	unlink(in_folder("open/events.jsonl"));
	assert_int_equal(nc_library_evidence(in_folder("open"), public_path, NULL, NULL, &failure), NC_LIBRARY_INCOMPLETE);
	assert_int_equal(nc_library_evidence(in_folder("nowhere"), public_path, NULL, &json, &failure), -ENOENT);
	assert_null(json);
	assert_int_equal(nc_library_evidence(in_folder("whole"), in_folder("nowhere"), NULL, NULL, &failure), -ENOENT);
	assert_string_equal(failure.code, "key_invalid");
	assert_true(nc_library_evidence(in_folder("whole"), public_path, "{", NULL, &failure) < 0);
	assert_string_equal(failure.code, "usage");
	assert_true(nc_library_evidence(in_folder("whole"), public_path, "{}", NULL, &failure) < 0);
}

static void text_file(const char *name, const char *text)
{
	put_file(in_folder("%s", name), text, strlen(text), 0600);
}

static void admission(void **state)
{
	char *json;

	(void)state;
	text_file("filter.json", "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"1.1.1.1\",\"port\":443}]}}");
	text_file("boundary.json", "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"1.1.1.1\",\"port\":443}],"
				   "\"required_egress_certification\":\"security_boundary\"}}");
	text_file("slip.json", "{\"version\":1,\"netwrok\":{}}");
	assert_int_equal(nc_library_admission(in_folder("filter.json"), "run", NULL, &json, &failure), NC_LIBRARY_YES);
	is_json(json, "egress_certification", "advisory_filter");
	assert_int_equal(nc_library_admission(in_folder("boundary.json"), "run", NULL, &json, &failure), NC_LIBRARY_NO);
	assert_null(json);
	assert_string_equal(failure.code, "egress_certification_unmet");
	assert_true(nc_library_admission(in_folder("slip.json"), "attach", NULL, NULL, &failure) < 0);
	assert_string_equal(failure.code, "profile_invalid");
	assert_string_equal(failure.pointer, "/netwrok");
	assert_non_null(strstr(failure.hint, "network"));
	assert_true(nc_library_admission(in_folder("filter.json"), in_folder("nowhere"), NULL, NULL, &failure) < 0);
	assert_string_equal(failure.code, "capability_invalid");
}

static void receipt(void **state)
{
	char *json;

	(void)state;
	text_file("receipt.json", "{}");
	assert_int_equal(nc_library_receipt(in_folder("receipt.json"), NULL, &json, &failure), NC_LIBRARY_NO);
	assert_string_equal(failure.code, "receipt_invalid");
	assert_null(json);
	text_file("set.json", "{\"version\":1}");
	assert_true(nc_library_receipt(in_folder("receipt.json"), in_folder("set.json"), NULL, &failure) < 0);
	assert_string_equal(failure.code, "attesters_invalid");
	assert_string_equal(nc_library_revision(), nc_revision_name());
	assert_string_equal(nc_library_program(), NC_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(evidence), cmocka_unit_test(admission), cmocka_unit_test(receipt)};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, library_setup, evidence_teardown);
}
