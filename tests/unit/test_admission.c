/* SPDX-License-Identifier: GPL-2.0-only */
/* test_admission.c - the order of the grades, every rule of admission, and the closures that a launch adds */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "admission.h"
#include "loader.h"

#define MANIFEST_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define MANIFEST_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct nc_attester reviewed_rows[] = {
	{.name = "authority", .state = NC_ATTESTER_CURRENT},
	{.name = "authority", .state = NC_ATTESTER_ROTATED},
	{.name = "authority", .state = NC_ATTESTER_REVOKED},
};
static const struct nc_attester_set reviewed = {.rows = reviewed_rows, .count = 3};
static const struct nc_attester_set foreign = {.rows = reviewed_rows, .count = 3};

static struct nc_profile allowlist(enum nc_grade required)
{
	return (struct nc_profile){.mode = NC_MODE_ALLOWLIST, .required = required, .required_given = true};
}

static struct nc_capability capability(enum nc_grade grade)
{
	struct nc_capability c = {.provider = "example:provider", .provider_revision = "7", .manifest = MANIFEST_A, .egress_certification = grade};

	return c;
}

static struct nc_receipt receipt(void)
{
	struct nc_receipt r = {.provider = "example:provider",
			       .provider_revision = "7",
			       .manifest = MANIFEST_A,
			       .verified_under = &reviewed,
			       .attester = &reviewed_rows[0]};

	for (int i = 0; i < NC_FACT_COUNT; i++)
		r.facts[i] = true;
	return r;
}

#define admitted(profile, capability, receipt) assert_int_equal(nc_admit_under(&reviewed, profile, capability, receipt, &error), 0)
#define refused(word, profile, capability, receipt)                                                                                                  \
	do {                                                                                                                                         \
		assert_true(nc_admit_under(&reviewed, profile, capability, receipt, &error) < 0);                                                    \
		assert_string_equal(nc_error_word(error.code), word);                                                                                \
	} while (0)

static void grades_are_a_total_order(void **state)
{
	static const enum nc_grade order[] = {NC_GRADE_UNSUPPORTED, NC_GRADE_ADVISORY_FILTER, NC_GRADE_SECURITY_BOUNDARY};
	static const char *const not_grades[] = {"", "Unsupported", "security_boundary ", "boundary", "advisory-filter", "unsupported\n"};
	enum nc_grade grade;

	(void)state;
	for (int have = 0; have < 3; have++) {
		for (int need = 0; need < 3; need++)
			assert_int_equal(nc_grade_meets(order[have], order[need]), have >= need);
		assert_true(nc_grade_parse(nc_grade_word(order[have]), &grade));
		assert_int_equal(grade, order[have]);
		assert_false(nc_grade_meets(order[have], (enum nc_grade)0));
		assert_false(nc_grade_meets((enum nc_grade)4, order[have]));
	}
	for (size_t i = 0; i < sizeof(not_grades) / sizeof(*not_grades); i++)
		assert_false(nc_grade_parse(not_grades[i], &grade));
}

static void an_allowlist_needs_advisory_at_least(void **state)
{
	struct nc_profile advisory = allowlist(NC_GRADE_ADVISORY_FILTER), boundary = allowlist(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_capability unsupported = capability(NC_GRADE_UNSUPPORTED), filter = capability(NC_GRADE_ADVISORY_FILTER);
	struct nc_capability none = capability((enum nc_grade)0);
	struct nc_receipt good = receipt();
	struct nc_error error = {0};

	(void)state;
	/* No destination at all is an allowlist still. */
	assert_int_equal(advisory.destination_count, 0);
	refused("egress_certification_unmet", &advisory, &unsupported, NULL);
	refused("egress_certification_unmet", &advisory, &unsupported, &good);
	refused("egress_certification_unmet", &advisory, &none, NULL);
	admitted(&advisory, &filter, NULL);
	refused("egress_certification_unmet", &boundary, &filter, NULL);
	/* A valid receipt upgrades nothing. */
	refused("egress_certification_unmet", &boundary, &filter, &good);
	admitted(&advisory, &filter, &good);
}

static void other_modes_are_unaffected(void **state)
{
	static const enum nc_mode modes[] = {NC_MODE_NONE, NC_MODE_UNRESTRICTED};
	struct nc_error error = {0};

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		for (int grade = 0; grade < 5; grade++) {
			struct nc_profile profile = {.mode = modes[m]};
			struct nc_capability c = capability((enum nc_grade)grade);

			admitted(&profile, &c, NULL);
		}
	}
}

static void a_boundary_is_believed_with_a_receipt_only(void **state)
{
	struct nc_profile profiles[] = {allowlist(NC_GRADE_ADVISORY_FILTER), allowlist(NC_GRADE_SECURITY_BOUNDARY)};
	struct nc_capability claimed = capability(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_error error = {0};

	(void)state;
	/* An unproven claim is an error where less is required, too. */
	for (int p = 0; p < 2; p++) {
		struct nc_receipt r = receipt();

		admitted(&profiles[p], &claimed, &r);
		refused("receipt_missing", &profiles[p], &claimed, NULL);
		r.verified_under = &foreign;
		refused("attester_unknown", &profiles[p], &claimed, &r);
		r.verified_under = NULL;
		refused("attester_unknown", &profiles[p], &claimed, &r);
		r = receipt();
		r.attester = NULL;
		refused("attester_unknown", &profiles[p], &claimed, &r);
		r.attester = &reviewed_rows[1];
		refused("attester_rotated", &profiles[p], &claimed, &r);
		r.attester = &reviewed_rows[2];
		refused("attester_revoked", &profiles[p], &claimed, &r);
		for (int fact = 0; fact < NC_FACT_COUNT; fact++) {
			r = receipt();
			r.facts[fact] = false;
			refused("fact_unestablished", &profiles[p], &claimed, &r);
		}
	}
}

static void nothing_carries_over_to_another_revision(void **state)
{
	struct nc_profile profile = allowlist(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_capability claimed = capability(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_error error = {0};
	struct nc_receipt r = receipt();

	(void)state;
	strcpy(r.provider_revision, "70");
	refused("provider_revision_mismatch", &profile, &claimed, &r);
	r = receipt();
	strcpy(r.provider, "example:worker-provider");
	refused("provider_revision_mismatch", &profile, &claimed, &r);
	r = receipt();
	strcpy(r.manifest, MANIFEST_B);
	refused("provider_revision_mismatch", &profile, &claimed, &r);
}

static void the_shipped_set_is_empty_and_refuses_everybody(void **state)
{
	struct nc_profile boundary = allowlist(NC_GRADE_SECURITY_BOUNDARY), advisory = allowlist(NC_GRADE_ADVISORY_FILTER);
	struct nc_capability claimed = capability(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_receipt r = receipt();
	struct nc_error error = {0};

	(void)state;
	assert_int_equal(nc_attesters()->count, 0);
	assert_true(nc_admit(&boundary, &claimed, &r, &error) < 0);
	assert_string_equal(nc_error_word(error.code), "attester_unknown");
	for (int provider = 0; provider < NC_OWN_COUNT; provider++) {
		struct nc_capability own;

		nc_capability_own((enum nc_own_provider)provider, &own);
		assert_int_equal(own.egress_certification, NC_GRADE_ADVISORY_FILTER);
		assert_int_equal(nc_admit(&advisory, &own, NULL, &error), 0);
		assert_true(nc_admit(&boundary, &own, NULL, &error) < 0);
		assert_string_equal(nc_error_word(error.code), "egress_certification_unmet");
	}
}

static void a_boundary_needs_the_name_on_the_wire(void **state)
{
	struct nc_destination named = {.name = "api.example", .port = 8443, .protocol = 6, .wire = NC_WIRE_ANY};
	struct nc_destination literal = {.literal = true, .port = 8443, .protocol = 6, .wire = NC_WIRE_ANY};
	struct nc_profile profile = allowlist(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_capability claimed = capability(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_receipt r = receipt();
	struct nc_error error = {0};

	(void)state;
	profile.destinations = &named;
	profile.destination_count = 1;
	refused("wire_unproven", &profile, &claimed, &r);
	named.wire = NC_WIRE_TLS;
	admitted(&profile, &claimed, &r);
	profile.destinations = &literal;
	admitted(&profile, &claimed, &r);
	profile.destinations = &named;
	named.wire = NC_WIRE_ANY;
	profile.required = NC_GRADE_ADVISORY_FILTER;
	admitted(&profile, &claimed, &r);
}

static void closures_of_the_receipt_must_be_in_force(void **state)
{
	struct nc_closure rows[] = {
		{.path = "udp_connect", .summary = "-", .state = NC_CLOSURE_IN_FORCE},
		{.path = "sctp", .summary = "-", .state = NC_CLOSURE_ABSENT},
		{.path = "unix_pathname", .summary = "-", .state = NC_CLOSURE_GAP},
	};
	struct nc_profile advisory = allowlist(NC_GRADE_ADVISORY_FILTER), boundary = allowlist(NC_GRADE_SECURITY_BOUNDARY);
	struct nc_capability claimed = capability(NC_GRADE_SECURITY_BOUNDARY), filter = capability(NC_GRADE_ADVISORY_FILTER);
	struct nc_receipt r = receipt();
	json_t *closed = json_pack("[s,s]", "udp_connect", "sctp"), *unix_too = json_pack("[s]", "unix_pathname"), *strange = json_pack("[s]", "rds");
	struct nc_error error = {0};

	(void)state;
	r.closures = closed;
	assert_int_equal(nc_admit_closures(&advisory, &claimed, &r, rows, 3, &error), 0);
	/* With a gap open, no boundary, whatever the receipt lists. */
	assert_true(nc_admit_closures(&boundary, &claimed, &r, rows, 3, &error) < 0);
	assert_string_equal(nc_error_word(error.code), "closure_unmet");
	assert_int_equal(nc_admit_closures(&boundary, &claimed, &r, rows, 2, &error), 0);
	r.closures = unix_too;
	assert_true(nc_admit_closures(&advisory, &claimed, &r, rows, 3, &error) < 0);
	assert_string_equal(nc_error_word(error.code), "closure_unmet");
	assert_int_equal(nc_admit_closures(&advisory, &filter, &r, rows, 3, &error), 0);
	r.closures = strange;
	assert_true(nc_admit_closures(&advisory, &claimed, &r, rows, 3, &error) < 0);
	json_decref(closed);
	json_decref(unix_too);
	json_decref(strange);
}

/* ---- all combinations -------------------------------------------------------------------------------------------------------------------------- */

static struct nc_destination on_the_wire = {.name = "api.example", .port = 443, .protocol = 6, .wire = NC_WIRE_TLS};
static struct nc_destination by_address = {.name = "api.example", .port = 8443, .protocol = 6, .wire = NC_WIRE_ANY};

static const struct {
	enum nc_mode mode;
	struct nc_destination *destination;
} asking[] = {{NC_MODE_NONE, NULL},
	      {NC_MODE_UNRESTRICTED, NULL},
	      {NC_MODE_ALLOWLIST, NULL},
	      {NC_MODE_ALLOWLIST, &on_the_wire},
	      {NC_MODE_ALLOWLIST, &by_address}};

/* What can be wrong with a receipt, in the order in which the first rule that applies decides; -1: there is none. */
struct showing {
	int attester; /* 0 current, 1 rotated, 2 revoked, 3 unknown, 4 verified under another set */
	int pair;     /* 0 the capability's, 1 another provider, 2 another revision, 3 another manifest */
	unsigned int facts;
};

static const struct nc_receipt *show(const struct showing *showing, struct nc_receipt *into)
{
	if (showing->attester < 0)
		return NULL;
	*into = receipt();
	into->attester = showing->attester < 3 ? &reviewed_rows[showing->attester] : showing->attester == 3 ? NULL : &reviewed_rows[0];
	if (showing->attester == 4)
		into->verified_under = &foreign;
	if (showing->pair == 1)
		strcpy(into->provider, "example:other");
	if (showing->pair == 2)
		strcpy(into->provider_revision, "8");
	if (showing->pair == 3)
		strcpy(into->manifest, MANIFEST_B);
	for (int fact = 0; fact < NC_FACT_COUNT; fact++)
		into->facts[fact] = showing->facts >> fact & 1;
	return into;
}

/* The rules of admission.h once more, as they read there; "": admitted. */
static const char *by_the_rules(size_t ask, int required, int advertised, const struct showing *showing)
{
	static const char *const attester[] = {"", "attester_rotated", "attester_revoked", "attester_unknown", "attester_unknown"};

	if (asking[ask].mode != NC_MODE_ALLOWLIST)
		return "";
	if (advertised != NC_GRADE_ADVISORY_FILTER && advertised != NC_GRADE_SECURITY_BOUNDARY)
		return "egress_certification_unmet";
	if (advertised == NC_GRADE_SECURITY_BOUNDARY) {
		if (showing->attester < 0)
			return "receipt_missing";
		if (showing->attester)
			return attester[showing->attester];
		if (showing->pair)
			return "provider_revision_mismatch";
		if (showing->facts != (1u << NC_FACT_COUNT) - 1)
			return "fact_unestablished";
	}
	if (required == NC_GRADE_SECURITY_BOUNDARY && advertised != NC_GRADE_SECURITY_BOUNDARY)
		return "egress_certification_unmet";
	return required == NC_GRADE_SECURITY_BOUNDARY && asking[ask].destination == &by_address ? "wire_unproven" : "";
}

static void check_combination(size_t ask, int required, int advertised, const struct showing *showing, const char *policy, size_t *admissions)
{
	struct nc_profile profile = {.mode = asking[ask].mode,
				     .required = (enum nc_grade)required,
				     .destinations = asking[ask].destination,
				     .destination_count = asking[ask].destination != NULL};
	struct nc_capability c = capability((enum nc_grade)advertised);
	struct nc_receipt r;
	struct nc_error error = {0};
	const char *expected = by_the_rules(ask, required, advertised, showing), *word;
	int answer;

	c.document = json_pack("{s:{s:s}}", "enforcement", "network_policy", policy);
	answer = nc_admit_under(&reviewed, &profile, &c, show(showing, &r), &error);
	word = answer ? nc_error_word(error.code) : "";
	if (strcmp(word, expected) || (answer && answer != -EPERM))
		fail_msg("mode %zu, required %d, advertised %d, attester %d, pair %d, facts %x, network_policy %s: \"%s\", not \"%s\"", ask, required,
			 advertised, showing->attester, showing->pair, showing->facts, policy, word, expected);
	*admissions += !answer;
	/* What is shipped knows no key: there no receipt whatever admits anything more. */
	if (asking[ask].mode == NC_MODE_ALLOWLIST && advertised == NC_GRADE_SECURITY_BOUNDARY)
		assert_true(nc_admit(&profile, &c, show(showing, &r), &error) < 0);
	json_decref(c.document);
}

static void every_combination(void **state)
{
	static const char *const policies[] = {"unenforced", "provider_attested", "runner_enforced"};
	size_t admissions = 0, made = 0;

	(void)state;
	for (size_t at = 0; at < sizeof(asking) / sizeof(*asking) * 2 * 5; at++) {
		size_t ask = at / 10;
		int required = at % 2 ? NC_GRADE_SECURITY_BOUNDARY : NC_GRADE_ADVISORY_FILTER, advertised = (int)(at / 2 % 5);

		for (size_t word = 0; word < 3; word++) {
			check_combination(ask, required, advertised, &(struct showing){.attester = -1}, policies[word], &admissions);
			made++;
			for (unsigned int shown = 0; shown < 5 * 4 * (1u << NC_FACT_COUNT); shown++, made++)
				check_combination(ask, required, advertised,
						  &(struct showing){.attester = (int)(shown % 5), .pair = (int)(shown / 5 % 4), .facts = shown / 20},
						  policies[word], &admissions);
		}
	}
	assert_int_equal(made, 5 * 2 * 5 * 3 * 641);
	/* For each network_policy: modes none and unrestricted always, 2 * 2 * 5 * 641; an allowlist on advisory_filter when that is asked for, 3 * 641; on
	 * security_boundary with the one good receipt, 3 that ask for less and 2 that ask for it with the name on the wire. */
	assert_int_equal(admissions, 3 * (2 * 2 * 5 * 641 + 3 * 641 + 3 + 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grades_are_a_total_order),
		cmocka_unit_test(an_allowlist_needs_advisory_at_least),
		cmocka_unit_test(other_modes_are_unaffected),
		cmocka_unit_test(a_boundary_is_believed_with_a_receipt_only),
		cmocka_unit_test(nothing_carries_over_to_another_revision),
		cmocka_unit_test(the_shipped_set_is_empty_and_refuses_everybody),
		cmocka_unit_test(a_boundary_needs_the_name_on_the_wire),
		cmocka_unit_test(closures_of_the_receipt_must_be_in_force),
		cmocka_unit_test(every_combination),
	};

	return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
