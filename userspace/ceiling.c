/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ceiling.c - capability and enrollment, axis by axis
 *
 * Both documents carry the same axes, so one check reads both and one walk over the tables of axes.h intersects them. An axis that one of the
 * two lacks, or a word that the tables do not have, is an error: nothing is guessed into a capability.
 */
#include <string.h>
#include "axes.h"
#include "ceiling.h"
#include "digest.h"
#include "place.h"
#include "cleanup.h"
#include "json.h"

enum kind { GRADE, WORDS, FLAG };

static const struct axis {
	const char *name;
	enum kind kind;
} axes[] = {
#define AXIS(name, kind) {name, kind},
	NC_CAPABILITY_AXES(AXIS)};
#define AXIS_COUNT (sizeof(axes) / sizeof(*axes))

static const char *const enforcement_axes[] = {
#define ENFORCEMENT_AXIS(name, assumed) name,
	NC_ENFORCEMENT_AXES(ENFORCEMENT_AXIS) NULL};

static const char *const enforcement_words[] = {
#define ENFORCEMENT_WORD(symbol, word) word,
	NC_ENFORCEMENT_WORDS(ENFORCEMENT_WORD) NULL};

static const char *const placements[] = {
#define PLACEMENT(symbol, word) word,
	NC_PLACEMENTS(PLACEMENT) NULL};

/* Index of `word` in a NULL-terminated list, or -1. */
static int rank(const char *const *words, const char *word)
{
	for (int i = 0; word && words[i]; i++) {
		if (!strcmp(words[i], word))
			return i;
	}
	return -1;
}

static int check_word(const struct nc_fields *fields, const char *name, const char *const *words, struct nc_error *reterr)
{
	char word[64];
	int r = nc_fields_text(fields, name, word, sizeof(word), reterr);

	if (r < 0)
		return r;
	if (rank(words, word) < 0)
		return nc_fields_refuse(fields, name, reterr, "\"%s\" is not a word of this axis", word);
	return 0;
}

static int check_axis(const struct nc_fields *fields, const struct axis *axis, struct nc_error *reterr)
{
	enum nc_grade grade;
	const json_t *words;
	char word[64];
	bool flag;
	int r;

	switch (axis->kind) {
	case FLAG:
		return nc_fields_boolean(fields, axis->name, &flag, reterr);
	case WORDS:
		return nc_fields_words(fields, axis->name, &words, reterr);
	case GRADE:
		break;
	}
	r = nc_fields_text(fields, axis->name, word, sizeof(word), reterr);
	if (r < 0)
		return r;
	if (!nc_grade_parse(word, &grade))
		return nc_fields_refuse(fields, axis->name, reterr, "\"%s\" is not a grade", word);
	return 0;
}

int nc_ceiling_check(const json_t *document, enum nc_error_code code, struct nc_error *reterr)
{
	const struct nc_fields fields = {.object = document, .pointer = "", .code = code};
	struct nc_fields enforcement;
	const json_t *statement;
	int r = check_word(&fields, "placement", placements, reterr);

	if (r < 0)
		return r;
	r = nc_fields_part(&fields, "enforcement", JSON_OBJECT, &statement, reterr);
	if (r < 0)
		return r;
	r = nc_fields_begin(&enforcement, statement, "/enforcement", code, enforcement_axes, reterr);
	for (int i = 0; !r && enforcement_axes[i]; i++)
		r = check_word(&enforcement, enforcement_axes[i], enforcement_words, reterr);
	for (size_t i = 0; !r && i < AXIS_COUNT; i++)
		r = check_axis(&fields, &axes[i], reterr);
	return r;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static json_t *common_words(const json_t *said, const json_t *enrolled)
{
	json_t *both = json_array();

	for (size_t i = 0; i < json_array_size(said); i++) {
		for (size_t j = 0; j < json_array_size(enrolled); j++) {
			if (json_equal(json_array_get(said, i), json_array_get(enrolled, j)))
				json_array_append(both, json_array_get(said, i));
		}
	}
	return both;
}

static json_t *lower_grade(const char *said, const char *enrolled)
{
	enum nc_grade a = NC_GRADE_UNSUPPORTED, b = NC_GRADE_UNSUPPORTED;

	nc_grade_parse(said, &a);
	nc_grade_parse(enrolled, &b);
	return json_string(nc_grade_word(a < b ? a : b));
}

static json_t *intersect_axis(const struct axis *axis, const json_t *said, const json_t *enrolled)
{
	const json_t *a = json_object_get(said, axis->name), *b = json_object_get(enrolled, axis->name);

	switch (axis->kind) {
	case FLAG:
		return json_boolean(json_is_true(a) && json_is_true(b));
	case WORDS:
		return common_words(a, b);
	case GRADE:
		break;
	}
	return lower_grade(json_string_value(a), json_string_value(b));
}

/* A provider that runs elsewhere than the Runner may not say runner_enforced on any axis, and may not place itself. */
static int check_placement(const json_t *said, const json_t *enrolled, struct nc_error *reterr)
{
	const json_t *enforcement = json_object_get(said, "enforcement");
	const char *placement = text_of(enrolled, "placement");

	if (strcmp(text_of(said, "placement"), placement)) {
		nc_error_set(reterr, NC_E_CEILING_EXCEEDED, -EPERM, "/placement: the capability says \"%s\", the operator enrolled \"%s\"",
			     text_of(said, "placement"), placement);
		return -EPERM;
	}
	if (!strcmp(placement, "runner"))
		return 0;
	for (int i = 0; enforcement_axes[i]; i++) {
		if (!strcmp(text_of(enforcement, enforcement_axes[i]), "runner_enforced")) {
			nc_error_set(reterr, NC_E_CEILING_EXCEEDED, -EPERM,
				     "/enforcement/%s: a provider placed at \"%s\" may not say runner_enforced", enforcement_axes[i], placement);
			return -EPERM;
		}
	}
	return 0;
}

static int parse_enrollment(const char *text, size_t length, json_t **ret_enrollment, struct nc_error *reterr)
{
	static const char *const members[] = {"version",
					      "provider",
					      "provider_revision",
					      "placement",
					      "enforcement",
#define MEMBER(name, kind) name,
					      NC_CAPABILITY_AXES(MEMBER) NULL};
	NC_JSON json_t *enrollment = NULL;
	char provider[NC_PROVIDER_MAX], revision[NC_REVISION_MAX];
	struct nc_fields fields;
	int64_t version;
	int r = nc_json_parse(text, length, NC_E_ENROLLMENT_INVALID, &enrollment, reterr);

	if (r < 0)
		return r;
	r = nc_fields_begin(&fields, enrollment, "", NC_E_ENROLLMENT_INVALID, members, reterr);
	if (!r)
		r = nc_fields_integer(&fields, "version", NC_ENROLLMENT_VERSION, NC_ENROLLMENT_VERSION, &version, reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider", provider, sizeof(provider), reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider_revision", revision, sizeof(revision), reterr);
	if (!r)
		r = nc_ceiling_check(enrollment, NC_E_ENROLLMENT_INVALID, reterr);
	if (r < 0)
		return r;
	*ret_enrollment = json_incref(enrollment);
	return 0;
}

static json_t *intersect(const struct nc_capability *capability, const json_t *enrolled)
{
	const json_t *said = json_object_get(capability->document, "enforcement"), *ceiling = json_object_get(enrolled, "enforcement");
	json_t *enforcement = json_object();
	json_t *effective;

	for (int i = 0; enforcement_axes[i]; i++) {
		int a = rank(enforcement_words, text_of(said, enforcement_axes[i]));
		int b = rank(enforcement_words, text_of(ceiling, enforcement_axes[i]));

		json_object_set_new(enforcement, enforcement_axes[i], json_string(enforcement_words[a < b ? a : b]));
	}
	effective = json_pack("{s:i s:s s:s s:s s:o}", "version", NC_CAPABILITY_VERSION, "provider", capability->provider, "provider_revision",
			      capability->provider_revision, "placement", text_of(enrolled, "placement"), "enforcement", enforcement);
	for (size_t i = 0; effective && i < AXIS_COUNT; i++)
		json_object_set_new(effective, axes[i].name, intersect_axis(&axes[i], capability->document, enrolled));
	return effective;
}

int nc_ceiling_apply(const struct nc_capability *capability, const char *enrollment, size_t length, json_t **ret_effective, struct nc_error *reterr)
{
	NC_JSON json_t *enrolled = NULL;
	json_t *effective;
	int r = parse_enrollment(enrollment, length, &enrolled, reterr);

	if (r < 0)
		return r;
	if (strcmp(text_of(enrolled, "provider"), capability->provider) ||
	    strcmp(text_of(enrolled, "provider_revision"), capability->provider_revision)) {
		nc_error_set(reterr, NC_E_PROVIDER_REVISION_MISMATCH, -EPERM, "the enrollment is for %s@%s, the capability for %s@%s",
			     text_of(enrolled, "provider"), text_of(enrolled, "provider_revision"), capability->provider,
			     capability->provider_revision);
		return -EPERM;
	}
	r = check_placement(capability->document, enrolled, reterr);
	if (r < 0)
		return r;
	effective = intersect(capability, enrolled);
	if (!effective)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "intersect the capability with its ceiling");
	*ret_effective = effective;
	return 0;
}

int nc_ceiling_bound(const json_t *effective, const json_t *materialization, struct nc_error *reterr)
{
	static const char *const members[] = {"version", "provider", "provider_revision", "materialization_revision", "ceiling", NULL};
	char provider[NC_PROVIDER_MAX], revision[NC_REVISION_MAX], materialized[NC_REVISION_MAX], ceiling[65], hex[NC_DIGEST_HEX];
	NC_FREE char *canonical = NULL;
	struct nc_digest digest;
	struct nc_fields fields;
	int64_t version;
	size_t length;
	int r = nc_fields_begin(&fields, materialization, "", NC_E_MATERIALIZATION_INVALID, members, reterr);

	if (!r)
		r = nc_fields_integer(&fields, "version", 1, 1, &version, reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider", provider, sizeof(provider), reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider_revision", revision, sizeof(revision), reterr);
	if (!r)
		r = nc_fields_text(&fields, "materialization_revision", materialized, sizeof(materialized), reterr);
	if (!r)
		r = nc_fields_digest(&fields, "ceiling", ceiling, reterr);
	if (!r)
		r = nc_json_canonical(effective, &canonical, &length, reterr);
	if (r < 0)
		return r;
	if (strcmp(provider, text_of(effective, "provider")))
		return nc_fields_refuse(&fields, "provider", reterr, "is for another provider than %s", text_of(effective, "provider"));
	if (strcmp(revision, text_of(effective, "provider_revision")))
		return nc_fields_refuse(&fields, "provider_revision", reterr, "is for another revision than %s",
					text_of(effective, "provider_revision"));
	nc_digest_of(canonical, length, &digest);
	nc_digest_hex(&digest, hex);
	if (strcmp(hex, ceiling))
		return nc_fields_refuse(&fields, "ceiling", reterr, "is not the digest of this effective capability, %s", hex);
	return 0;
}
