/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_clauses.c - the sixteen clauses: where each finds its two sides, and what they come to */
#include "evidence_clauses.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "capability.h"
#include "cleanup.h"
#include "json.h"
#include "profile_parts.h"

enum source { MEASURED, CARRIED };

static const struct {
	const char *word;
	enum nc_clause_group group;
	enum source source;
	const char *meaning;
} clauses[NC_CLAUSE_COUNT] = {
#define CLAUSE(symbol, word, group, source, meaning) [NC_CLAUSE_##symbol] = {word, NC_CLAUSES_##group, source, meaning},
	NC_CLAUSES(CLAUSE)};

const char *nc_clause_word(enum nc_clause clause)
{
	return clauses[clause].word;
}

const char *nc_clause_meaning(enum nc_clause clause)
{
	return clauses[clause].meaning;
}

bool nc_clause_carried(enum nc_clause clause)
{
	return clauses[clause].source == CARRIED;
}

const char *nc_clause_result_word(enum nc_clause_result result)
{
	static const char *const words[] = {
#define RESULT_WORD(symbol, word) word,
		NC_CLAUSE_RESULTS(RESULT_WORD)};

	return words[result];
}

const char *nc_clause_reference_word(enum nc_clause_reference reference)
{
	static const char *const words[] = {
#define REFERENCE_WORD(symbol, word) word,
		NC_CLAUSE_REFERENCES(REFERENCE_WORD)};

	return words[reference];
}

/* ---- the two sides of one clause ------------------------------------------------------------------------------------------------------------ */

static const json_t *part(const json_t *document, const char *object, const char *member)
{
	return json_object_get(json_object_get(document, object), member);
}

/* What the launch statement itself says, in the words of the statement; NULL: nothing. */
static const json_t *measured(const json_t *launch, enum nc_clause clause)
{
	switch (clause) {
	case NC_CLAUSE_PLATFORM:
		return part(launch, "host", "architecture");
	case NC_CLAUSE_PROFILE_DIGEST:
		return part(launch, "profile", "digest");
	case NC_CLAUSE_NETWORK_MODE:
		return part(launch, "profile", "mode");
	case NC_CLAUSE_RESOURCE_LIMITS:
		return part(launch, "process", "limits");
	default:
		return json_object_get(launch, clauses[clause].word);
	}
}

/* Both families of names for an architecture are in use: the kernel's and the image registries'. */
static bool same_platform(const char *architecture, const char *expected)
{
	static const char *const names[][2] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};

	if (strncmp(expected, "linux/", 6))
		return false;
	if (!strcmp(expected + 6, architecture))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(architecture, names[i][0]) && !strcmp(expected + 6, names[i][1]))
			return true;
	return false;
}

static bool same_digest(const char *digest, const char *expected)
{
	static const char prefix[] = "sha256:"; /* as image registries write a digest */

	return !strcmp(digest, strncmp(expected, prefix, sizeof(prefix) - 1) ? expected : expected + sizeof(prefix) - 1);
}

static int limits_of(const json_t *expected, struct nc_profile_process *ret_process, struct nc_error *reterr)
{
	const struct nc_place root = {.code = NC_E_USAGE};

	return nc_profile_limits(expected, NC_PLACE_KEY(&root, "resource_limits"), ret_process, reterr);
}

/* Every limit, those that were not asked for included: a limit more is a difference, too. */
static bool same_limits(const json_t *limits, const json_t *expected)
{
	struct nc_profile_process process = {0};
	struct nc_error ignored;
	bool same = limits_of(expected, &process, &ignored) == 0;

#define SAME_LIMIT(name, field)                                                                                                                      \
	{                                                                                                                                            \
		const json_t *value = part(limits, name, "value");                                                                                   \
		same = same && process.field == (value ? json_integer_value(value) : -1);                                                            \
	}
	NC_PROFILE_LIMITS(SAME_LIMIT)
	return same;
}

static bool same(enum nc_clause clause, const json_t *evidence, const json_t *reference)
{
	const char *text = json_string_value(evidence), *expected = json_string_value(reference);

	if (clause == NC_CLAUSE_RESOURCE_LIMITS)
		return same_limits(evidence, reference);
	if (clause == NC_CLAUSE_PLATFORM && text && expected)
		return same_platform(text, expected);
	if (clause == NC_CLAUSE_PROFILE_DIGEST && text && expected)
		return same_digest(text, expected);
	return json_equal(evidence, reference);
}

static struct nc_clause_row held(enum nc_clause clause, const json_t *evidence, const json_t *reference, enum nc_clause_reference kind)
{
	if (!reference)
		return (struct nc_clause_row){NC_CLAUSE_NOT_COMPARED, NC_REFERENCE_NONE};
	if (!evidence)
		return (struct nc_clause_row){NC_CLAUSE_ABSENT, kind};
	return (struct nc_clause_row){same(clause, evidence, reference) ? NC_CLAUSE_HOLDS : NC_CLAUSE_DIFFERS, kind};
}

/* Without an expectation there is still the binding, which came with the evidence: whoever wrote the one wrote the other. */
static struct nc_clause_row bound(enum nc_clause clause, const json_t *launch, const json_t *expect)
{
	const json_t *binding = part(launch, "binding", clauses[clause].word), *expected = json_object_get(expect, clauses[clause].word);
	const json_t *evidence = clauses[clause].source == CARRIED ? binding : measured(launch, clause);

	if (expected)
		return held(clause, evidence, expected, NC_REFERENCE_RUNNER_OWNED);
	return clauses[clause].source == CARRIED ? held(clause, NULL, NULL, NC_REFERENCE_NONE)
						 : held(clause, evidence, binding, NC_REFERENCE_SELF_AUTHORED);
}

/* ---- within the evidence -------------------------------------------------------------------------------------------------------------------- */

static struct nc_clause_row internal(enum nc_clause_result result)
{
	return (struct nc_clause_row){result, result == NC_CLAUSE_NOT_COMPARED ? NC_REFERENCE_NONE : NC_REFERENCE_INTERNAL};
}

static enum nc_clause_result sealed_mode(const json_t *launch)
{
	const json_t *said = part(launch, "profile", "mode"), *sealed = json_object_get(part(launch, "images", "workload"), "mode");
	const char *mode = json_string_value(said), *image = json_string_value(sealed);

	if (!mode || !image)
		return NC_CLAUSE_NOT_COMPARED;
	/* An allowlist without entries is sealed as none: it refuses more than was said, never less. */
	return !strcmp(mode, image) || (!strcmp(mode, "allowlist") && !strcmp(image, "none")) ? NC_CLAUSE_HOLDS : NC_CLAUSE_DIFFERS;
}

static enum nc_clause_result gaps_listed(const json_t *launch)
{
	const json_t *closures = json_object_get(launch, "closures"), *gaps = json_object_get(launch, "gaps");
	size_t index, open = 0;
	json_t *row;

	if (!closures || !gaps)
		return NC_CLAUSE_NOT_COMPARED;
	json_array_foreach((json_t *)closures, index, row)
	{
		const json_t *path = json_object_get(row, "path");

		if (strcmp(json_string_value(json_object_get(row, "state")) ?: "", "gap"))
			continue;
		if (!json_equal(json_array_get(gaps, open++), path))
			return NC_CLAUSE_DIFFERS;
	}
	return open == json_array_size(gaps) ? NC_CLAUSE_HOLDS : NC_CLAUSE_DIFFERS;
}

static enum nc_clause_result policy_intact(const json_t *closing)
{
	const json_t *intact = json_object_get(closing, "policy_intact");

	if (!intact)
		return NC_CLAUSE_NOT_COMPARED;
	return json_is_true(intact) ? NC_CLAUSE_HOLDS : NC_CLAUSE_DIFFERS;
}

static struct nc_clause_row enforcement(const json_t *launch, const json_t *expect)
{
	const json_t *said = json_object_get(launch, "enforcement"), *expected = json_object_get(expect, "enforcement");
	NC_JSON json_t *advertised = NULL;
	enum nc_own_provider own;

	if (expected)
		return held(NC_CLAUSE_ENFORCEMENT, said, expected, NC_REFERENCE_RUNNER_OWNED);
	/* netcordon's own capability document: compiled from the same source as what wrote the evidence. */
	if (said && nc_capability_own_named(json_string_value(json_object_get(launch, "provider")) ?: "", &own))
		advertised = nc_capability_own_enforcement(own);
	return held(NC_CLAUSE_ENFORCEMENT, said, advertised, NC_REFERENCE_SELF_AUTHORED);
}

void nc_clauses_compare(const json_t *launch, const json_t *closing, const json_t *expect, const struct nc_clause_facts *facts,
			struct nc_clause_row ret_rows[NC_CLAUSE_COUNT])
{
	for (int i = 0; i < NC_CLAUSE_COUNT; i++)
		if (clauses[i].group == NC_CLAUSES_BINDING)
			ret_rows[i] = bound((enum nc_clause)i, launch, expect);
	ret_rows[NC_CLAUSE_ONE_LAUNCH] = internal(facts->one_launch ? NC_CLAUSE_HOLDS : NC_CLAUSE_NOT_COMPARED);
	ret_rows[NC_CLAUSE_CHAIN] = internal(facts->chained ? NC_CLAUSE_HOLDS : NC_CLAUSE_NOT_COMPARED);
	ret_rows[NC_CLAUSE_COUNTS] = internal(facts->counts);
	ret_rows[NC_CLAUSE_SEALED_MODE] = internal(sealed_mode(launch));
	ret_rows[NC_CLAUSE_GAPS] = internal(gaps_listed(launch));
	ret_rows[NC_CLAUSE_POLICY_INTACT] = internal(policy_intact(closing));
	ret_rows[NC_CLAUSE_ENFORCEMENT] = enforcement(launch, expect);
}

/* ---- what was expected ------------------------------------------------------------------------------------------------------------------------ */

/* Clauses that a Runner may expect: all but those that are internal. NC_CLAUSE_COUNT: it is none. */
static enum nc_clause clause_of(const char *name)
{
	for (int i = 0; i < NC_CLAUSE_COUNT; i++)
		if (clauses[i].group != NC_CLAUSES_INTERNAL && !strcmp(clauses[i].word, name))
			return (enum nc_clause)i;
	return NC_CLAUSE_COUNT;
}

const char *nc_expectation_differs(const json_t *launch, const json_t *expect, const struct nc_clause_row rows[NC_CLAUSE_COUNT], bool *ret_absent)
{
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)expect, name, member)
	{
		const json_t *bound_member = part(launch, "binding", name);
		enum nc_clause clause = clause_of(name);
		bool is_measured = clause != NC_CLAUSE_COUNT && clauses[clause].source == MEASURED;

		*ret_absent = is_measured ? rows[clause].result == NC_CLAUSE_ABSENT : !bound_member;
		if (is_measured && rows[clause].result != NC_CLAUSE_HOLDS)
			return name;
		if (bound_member ? !json_equal(bound_member, member) : !is_measured)
			return name;
	}
	return NULL;
}

int nc_expectation_check(const json_t *expect, struct nc_error *reterr)
{
	const json_t *limits = json_object_get(expect, "resource_limits");
	struct nc_profile_process process = {0};

	if (json_object_size(expect) == 0)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL,
				    "the expectation is no object with at least one member, so that it would hold for any folder");
	return limits ? limits_of(limits, &process, reterr) : 0;
}

/* ---- in words --------------------------------------------------------------------------------------------------------------------------------- */

/* How many clauses have this reference, and how many of them hold. */
static void tally(const struct nc_clause_row *rows, enum nc_clause_reference reference, int *ret_all, int *ret_hold)
{
	*ret_all = *ret_hold = 0;
	for (int i = 0; i < NC_CLAUSE_COUNT; i++) {
		*ret_all += rows[i].reference == reference;
		*ret_hold += rows[i].reference == reference && rows[i].result == NC_CLAUSE_HOLDS;
	}
}

const char *nc_clauses_summary(const struct nc_clause_row rows[NC_CLAUSE_COUNT], char ret_text[NC_CLAUSES_SUMMARY])
{
	int owned, owned_hold, within, within_hold, self, self_hold, none, unused;

	tally(rows, NC_REFERENCE_RUNNER_OWNED, &owned, &owned_hold);
	tally(rows, NC_REFERENCE_INTERNAL, &within, &within_hold);
	tally(rows, NC_REFERENCE_SELF_AUTHORED, &self, &self_hold);
	tally(rows, NC_REFERENCE_NONE, &none, &unused);
	snprintf(ret_text, NC_CLAUSES_SUMMARY,
		 "%d of %d clauses hold against what the Runner holds, %d of %d within the evidence, %d of %d against a reference of the evidence's "
		 "own "
		 "author, which is no cross-check; %d were not compared. This checks identity and consistency, not isolation",
		 owned_hold, owned, within_hold, within, self_hold, self, none);
	return ret_text;
}

json_t *nc_clauses_json(const struct nc_clause_row rows[NC_CLAUSE_COUNT])
{
	json_t *array = json_array();

	for (int i = 0; array && i < NC_CLAUSE_COUNT; i++) {
		json_t *row = json_pack("{s:s, s:s, s:s}", "clause", clauses[i].word, "result", nc_clause_result_word(rows[i].result), "evidence",
					clauses[i].source == CARRIED ? "carried" : "measured");

		if (row && rows[i].reference != NC_REFERENCE_NONE)
			json_object_set_new(row, "reference", json_string(nc_clause_reference_word(rows[i].reference)));
		json_array_append_new(array, row);
	}
	return array;
}
