/* SPDX-License-Identifier: GPL-2.0-only */
/* test_ceiling.c - capability documents, the enforcement ceiling axis by axis, and that network_policy says nothing about the grade */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "admission.h"
#include "axes.h"
#include "ceiling.h"
#include "json.h"

static const char *const enforcement_axes[] = {
#define AXIS(name, assumed) name,
	NC_ENFORCEMENT_AXES(AXIS)};
static const char *const words[] = {"unenforced", "provider_attested", "runner_enforced"};
static const char *const grades[] = {"unsupported", "advisory_filter", "security_boundary"};

static json_t *document(const char *word, const char *grade, const char *placement)
{
	json_t *enforcement = json_object();

	for (size_t i = 0; i < sizeof(enforcement_axes) / sizeof(*enforcement_axes); i++)
		json_object_set_new(enforcement, enforcement_axes[i], json_string(word));
	return json_pack("{s:i s:s s:s s:s s:o s:s s:[s,s] s:[s] s:[s,s] s:b s:b}", "version", 1, "provider", "example:provider", "provider_revision",
			 "7", "placement", placement, "enforcement", enforcement, "egress_certification", grade, "image_mode", "fixed", "built",
			 "fixed_base_images", "debian", "package_managers", "apt", "pip", "snapshots", 1, "list_dir", 1);
}

static json_t *capability_document(const char *word, const char *grade, const char *placement)
{
	json_t *d = document(word, grade, placement);

	json_object_set_new(d, "manifest", json_string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	return d;
}

static int parse(json_t *d, struct nc_capability *capability, struct nc_error *error)
{
	char *text = json_dumps(d, 0);
	int r = nc_capability_parse(text, strlen(text), capability, error);

	free(text);
	return r;
}

static int apply(const struct nc_capability *capability, json_t *enrollment, json_t **effective, struct nc_error *error)
{
	char *text = json_dumps(enrollment, 0);
	int r = nc_ceiling_apply(capability, text, strlen(text), effective, error);

	free(text);
	return r;
}

#define refused(call, word, place)                                                                                                                   \
	do {                                                                                                                                         \
		assert_true((call) < 0);                                                                                                             \
		assert_string_equal(nc_error_word(error.code), word);                                                                                \
		if (place)                                                                                                                           \
			assert_string_equal(error.pointer, place);                                                                                   \
	} while (0)

static void a_capability_is_read_strictly(void **state)
{
	struct nc_capability capability = {0};
	struct nc_error error = {0};
	json_t *d = capability_document("provider_attested", "advisory_filter", "partner");
	const char *name;
	json_t *member;

	(void)state;
	assert_int_equal(parse(d, &capability, &error), 0);
	assert_string_equal(capability.provider, "example:provider");
	assert_int_equal(capability.egress_certification, NC_GRADE_ADVISORY_FILTER);
	nc_capability_free(&capability);
	json_object_foreach(d, name, member)
	{
		json_t *without = json_deep_copy(d), *twisted = json_deep_copy(d);

		json_object_del(without, name);
		refused(parse(without, &capability, &error), "capability_invalid", (const char *)NULL);
		json_object_set_new(twisted, name, json_null());
		refused(parse(twisted, &capability, &error), "capability_invalid", (const char *)NULL);
		json_decref(without);
		json_decref(twisted);
	}
	json_object_set_new(d, "egress_grade", json_string("security_boundary"));
	refused(parse(d, &capability, &error), "capability_invalid", "/egress_grade");
	json_decref(d);
}

static void an_unknown_axis_or_word_is_refused(void **state)
{
	struct nc_capability capability = {0};
	struct nc_error error = {0};
	json_t *d = capability_document("provider_attested", "advisory_filter", "partner");

	(void)state;
	json_object_set_new(json_object_get(d, "enforcement"), "telepathy", json_string("unenforced"));
	refused(parse(d, &capability, &error), "capability_invalid", "/enforcement/telepathy");
	json_object_del(json_object_get(d, "enforcement"), "telepathy");
	json_object_set_new(json_object_get(d, "enforcement"), "network_policy", json_string("Runner_enforced"));
	refused(parse(d, &capability, &error), "capability_invalid", "/enforcement/network_policy");
	json_object_set_new(json_object_get(d, "enforcement"), "network_policy", json_string("unenforced"));
	json_object_set_new(d, "egress_certification", json_string("boundary"));
	refused(parse(d, &capability, &error), "capability_invalid", "/egress_certification");
	json_object_set_new(d, "egress_certification", json_string("unsupported"));
	json_object_set_new(d, "placement", json_string("somewhere"));
	refused(parse(d, &capability, &error), "capability_invalid", "/placement");
	json_object_set_new(d, "placement", json_string("partner"));
	json_object_set_new(d, "provider", json_string("no namespace"));
	refused(parse(d, &capability, &error), "capability_invalid", "/provider");
	json_decref(d);
}

static void the_lower_word_stands_on_every_axis(void **state)
{
	struct nc_error error = {0};

	(void)state;
	for (int said = 0; said < 3; said++) {
		for (int enrolled = 0; enrolled < 3; enrolled++) {
			json_t *d = capability_document(words[said], grades[said], "runner"),
			       *e = document(words[enrolled], grades[enrolled], "runner");
			struct nc_capability capability;
			json_t *effective = NULL, *enforcement;
			int low = said < enrolled ? said : enrolled;

			assert_int_equal(parse(d, &capability, &error), 0);
			assert_int_equal(apply(&capability, e, &effective, &error), 0);
			enforcement = json_object_get(effective, "enforcement");
			assert_int_equal(json_object_size(enforcement), 9);
			for (size_t i = 0; i < 9; i++)
				assert_string_equal(json_string_value(json_object_get(enforcement, enforcement_axes[i])), words[low]);
			assert_string_equal(json_string_value(json_object_get(effective, "egress_certification")), grades[low]);
			json_decref(effective);
			json_decref(d);
			json_decref(e);
			nc_capability_free(&capability);
		}
	}
}

static void lists_and_flags_are_intersected(void **state)
{
	json_t *d = capability_document("provider_attested", "advisory_filter", "partner");
	json_t *e = document("provider_attested", "advisory_filter", "partner");
	struct nc_capability capability;
	struct nc_error error = {0};
	json_t *effective = NULL;

	(void)state;
	json_object_set_new(e, "package_managers", json_pack("[s,s]", "pip", "cargo"));
	json_object_set_new(e, "fixed_base_images", json_array());
	json_object_set_new(e, "list_dir", json_false());
	assert_int_equal(parse(d, &capability, &error), 0);
	assert_int_equal(apply(&capability, e, &effective, &error), 0);
	assert_int_equal(json_array_size(json_object_get(effective, "package_managers")), 1);
	assert_string_equal(json_string_value(json_array_get(json_object_get(effective, "package_managers"), 0)), "pip");
	assert_int_equal(json_array_size(json_object_get(effective, "fixed_base_images")), 0);
	assert_int_equal(json_array_size(json_object_get(effective, "image_mode")), 2);
	assert_true(json_is_false(json_object_get(effective, "list_dir")));
	assert_true(json_is_true(json_object_get(effective, "snapshots")));
	json_decref(effective);
	json_decref(d);
	json_decref(e);
	nc_capability_free(&capability);
}

static void only_the_runner_may_say_runner_enforced(void **state)
{
	static const char *const elsewhere[] = {"worker", "partner"};
	struct nc_error error = {0};
	json_t *effective = NULL;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		json_t *d = capability_document("provider_attested", "advisory_filter", elsewhere[i]);
		json_t *e = document("provider_attested", "advisory_filter", elsewhere[i]),
		       *runner = document("runner_enforced", "advisory_filter", "runner");
		struct nc_capability capability;

		for (size_t axis = 0; axis < 9; axis++) {
			json_t *twisted = json_deep_copy(d);

			json_object_set_new(json_object_get(twisted, "enforcement"), enforcement_axes[axis], json_string("runner_enforced"));
			assert_int_equal(parse(twisted, &capability, &error), 0);
			refused(apply(&capability, e, &effective, &error), "ceiling_exceeded", (const char *)NULL);
			assert_non_null(strstr(error.detail, enforcement_axes[axis]));
			/* Placing itself at the Runner helps nobody: the operator says where a provider is. */
			json_object_set_new(twisted, "placement", json_string("runner"));
			nc_capability_free(&capability);
			assert_int_equal(parse(twisted, &capability, &error), 0);
			refused(apply(&capability, e, &effective, &error), "ceiling_exceeded", (const char *)NULL);
			nc_capability_free(&capability);
			json_decref(twisted);
		}
		assert_int_equal(parse(d, &capability, &error), 0);
		refused(apply(&capability, runner, &effective, &error), "ceiling_exceeded", (const char *)NULL);
		json_object_set_new(e, "provider_revision", json_string("8"));
		refused(apply(&capability, e, &effective, &error), "provider_revision_mismatch", (const char *)NULL);
		json_object_set_new(e, "provider_revision", json_string("7"));
		json_object_del(e, "list_dir");
		refused(apply(&capability, e, &effective, &error), "enrollment_invalid", "/list_dir");
		nc_capability_free(&capability);
		json_decref(d);
		json_decref(e);
		json_decref(runner);
	}
	assert_null(effective);
}

/* Over all combinations: what a provider says about network_policy, what it advertises, what is required. The first changes nothing. */
static void network_policy_says_nothing_about_the_grade(void **state)
{
	struct nc_error error = {0};

	(void)state;
	for (int grade = 0; grade < 3; grade++) {
		for (int required = NC_GRADE_ADVISORY_FILTER; required <= NC_GRADE_SECURITY_BOUNDARY; required++) {
			int answers[3];
			enum nc_error_code codes[3];

			for (int word = 0; word < 3; word++) {
				json_t *d = capability_document("unenforced", grades[grade], "runner");
				struct nc_profile profile = {.mode = NC_MODE_ALLOWLIST, .required = (enum nc_grade)required};
				struct nc_capability capability;

				json_object_set_new(json_object_get(d, "enforcement"), "network_policy", json_string(words[word]));
				assert_int_equal(parse(d, &capability, &error), 0);
				error.code = NC_E_NONE;
				answers[word] = nc_admit(&profile, &capability, NULL, &error);
				codes[word] = error.code;
				nc_capability_free(&capability);
				json_decref(d);
			}
			assert_int_equal(answers[0], grade == 1 && required == NC_GRADE_ADVISORY_FILTER ? 0 : -EPERM);
			for (int word = 1; word < 3; word++) {
				assert_int_equal(answers[word], answers[0]);
				assert_int_equal(codes[word], codes[0]);
			}
		}
	}
}

static void the_result_is_bound_by_its_digest(void **state)
{
	json_t *d = capability_document("provider_attested", "advisory_filter", "partner");
	json_t *e = document("provider_attested", "advisory_filter", "partner");
	struct nc_capability capability;
	struct nc_error error = {0};
	json_t *effective = NULL, *statement;
	char hex[NC_DIGEST_HEX], *canonical;
	struct nc_digest digest;
	size_t length;

	(void)state;
	assert_int_equal(parse(d, &capability, &error), 0);
	assert_int_equal(apply(&capability, e, &effective, &error), 0);
	assert_int_equal(nc_json_canonical(effective, &canonical, &length, &error), 0);
	nc_digest_of(canonical, length, &digest);
	nc_digest_hex(&digest, hex);
	statement = json_pack("{s:i s:s s:s s:s s:s}", "version", 1, "provider", "example:provider", "provider_revision", "7",
			      "materialization_revision", "m1", "ceiling", hex);
	assert_int_equal(nc_ceiling_bound(effective, statement, &error), 0);
	json_object_set_new(json_object_get(effective, "enforcement"), "network_policy", json_string("unenforced"));
	refused(nc_ceiling_bound(effective, statement, &error), "materialization_invalid", "/ceiling");
	json_object_set_new(statement, "provider_revision", json_string("8"));
	refused(nc_ceiling_bound(effective, statement, &error), "materialization_invalid", "/provider_revision");
	json_object_set_new(statement, "grade", json_string("security_boundary"));
	refused(nc_ceiling_bound(effective, statement, &error), "materialization_invalid", "/grade");
	free(canonical);
	json_decref(statement);
	json_decref(effective);
	json_decref(d);
	json_decref(e);
	nc_capability_free(&capability);
}

/* What is installed as this program's capability is what `run` is admitted with. */
static void own_documents_say_what_is_compiled_in(void **state)
{
	struct nc_error error = {0};

	(void)state;
	for (int provider = 0; provider < NC_OWN_COUNT; provider++) {
		struct nc_capability own, parsed;
		json_t *d = nc_capability_own_document((enum nc_own_provider)provider);

		nc_capability_own((enum nc_own_provider)provider, &own);
		assert_int_equal(parse(d, &parsed, &error), 0);
		assert_string_equal(parsed.provider, own.provider);
		assert_string_equal(parsed.provider_revision, own.provider_revision);
		assert_string_equal(parsed.manifest, own.manifest);
		assert_int_equal(parsed.egress_certification, NC_GRADE_ADVISORY_FILTER);
		nc_capability_free(&parsed);
		json_decref(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capability_is_read_strictly),	   cmocka_unit_test(an_unknown_axis_or_word_is_refused),
		cmocka_unit_test(the_lower_word_stands_on_every_axis),	   cmocka_unit_test(lists_and_flags_are_intersected),
		cmocka_unit_test(only_the_runner_may_say_runner_enforced), cmocka_unit_test(network_policy_says_nothing_about_the_grade),
		cmocka_unit_test(the_result_is_bound_by_its_digest),	   cmocka_unit_test(own_documents_say_what_is_compiled_in),
	};

	return cmocka_run_group_tests_name("ceiling", tests, NULL, NULL);
}
