/* SPDX-License-Identifier: GPL-2.0-only */
/* capability.c - capability documents read strictly, and netcordon's own */
#include <stdio.h>
#include <string.h>
#include "axes.h"
#include "capability.h"
#include "ceiling.h"
#include "place.h"
#include "json.h"
#include "revision.h"

static const char *const provider_names[] = {
#define PROVIDER_NAME(symbol, word, name) [NC_OWN_##symbol] = name,
	NC_PROVIDERS(PROVIDER_NAME)};

static const char *const provider_words[] = {
#define PROVIDER_WORD(symbol, word, name) [NC_OWN_##symbol] = word,
	NC_PROVIDERS(PROVIDER_WORD)};

bool nc_provider_valid(const char *provider)
{
	static const char legal[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t space = strspn(provider, legal);
	size_t name;

	if (!space || provider[space] != ':')
		return false;
	name = strspn(provider + space + 1, legal);
	return name && !provider[space + 1 + name] && space + 1 + name < NC_PROVIDER_MAX;
}

bool nc_revision_valid(const char *revision)
{
	size_t length = strlen(revision);

	if (!length || length >= NC_REVISION_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (revision[i] <= ' ' || revision[i] > '~' || revision[i] == ':')
			return false;
	}
	return true;
}

static const char *const members[] = {"version",
				      "provider",
				      "provider_revision",
				      "manifest",
				      "placement",
				      "enforcement",
#define MEMBER(name, kind) name,
				      NC_CAPABILITY_AXES(MEMBER) NULL};

static int pair_of(const struct nc_fields *fields, struct nc_capability *capability, struct nc_error *reterr)
{
	int r = nc_fields_text(fields, "provider", capability->provider, sizeof(capability->provider), reterr);

	if (r < 0)
		return r;
	if (!nc_provider_valid(capability->provider))
		return nc_fields_refuse(fields, "provider", reterr, "must be NAMESPACE:NAME in lower case");
	r = nc_fields_text(fields, "provider_revision", capability->provider_revision, sizeof(capability->provider_revision), reterr);
	if (r < 0)
		return r;
	if (!nc_revision_valid(capability->provider_revision))
		return nc_fields_refuse(fields, "provider_revision", reterr, "must be printable ASCII without spaces and colons");
	return nc_fields_digest(fields, "manifest", capability->manifest, reterr);
}

int nc_capability_parse(const char *text, size_t length, struct nc_capability *ret_capability, struct nc_error *reterr)
{
	struct nc_capability capability = {0};
	NC_JSON json_t *document = NULL;
	struct nc_fields fields;
	int64_t version;
	int r = nc_json_parse(text, length, NC_E_CAPABILITY_INVALID, &document, reterr);

	if (r < 0)
		return r;
	r = nc_fields_begin(&fields, document, "", NC_E_CAPABILITY_INVALID, members, reterr);
	if (r < 0)
		return r;
	r = nc_fields_integer(&fields, "version", NC_CAPABILITY_VERSION, NC_CAPABILITY_VERSION, &version, reterr);
	if (r < 0)
		return r;
	r = pair_of(&fields, &capability, reterr);
	if (r < 0)
		return r;
	r = nc_ceiling_check(document, NC_E_CAPABILITY_INVALID, reterr);
	if (r < 0)
		return r;
	/* nc_ceiling_check has seen that the word is one of the three. */
	nc_grade_parse(json_string_value(json_object_get(document, "egress_certification")), &capability.egress_certification);
	capability.document = json_incref(document);
	*ret_capability = capability;
	return 0;
}

void nc_capability_free(struct nc_capability *capability)
{
	json_decref(capability->document);
	capability->document = NULL;
}

/*
 * What each of netcordon's providers does itself, axis by axis (axes.h). `attach` and the hook seal a cgroup that somebody else made: they are
 * the authority for the network and for nothing else.
 */
static bool runner_enforces(enum nc_own_provider provider, const char *axis)
{
	static const char *const by_run[] = {"process_isolation", "user_identity", "resource_limits", "syscall_policy", "credential_custody"};

	if (!strcmp(axis, "network_policy"))
		return true;
	for (size_t i = 0; provider == NC_OWN_RUN && i < sizeof(by_run) / sizeof(*by_run); i++) {
		if (!strcmp(axis, by_run[i]))
			return true;
	}
	return false;
}

void nc_capability_own(enum nc_own_provider provider, struct nc_capability *ret_capability)
{
	struct nc_capability own = {.egress_certification = NC_GRADE_ADVISORY_FILTER};

	snprintf(own.provider, sizeof(own.provider), "%s", provider_names[provider]);
	snprintf(own.provider_revision, sizeof(own.provider_revision), "%s", nc_revision_name());
	snprintf(own.manifest, sizeof(own.manifest), "%s", nc_revision_manifest());
	*ret_capability = own;
}

const char *nc_capability_own_name(enum nc_own_provider provider)
{
	return provider_names[provider];
}

json_t *nc_capability_own_enforcement(enum nc_own_provider provider)
{
	json_t *enforcement = json_object();

#define AXIS(axis, assumed) json_object_set_new(enforcement, axis, json_string(runner_enforces(provider, axis) ? "runner_enforced" : "unenforced"));
	NC_ENFORCEMENT_AXES(AXIS)
	return enforcement;
}

static bool find_own(const char *const words[NC_OWN_COUNT], const char *wanted, enum nc_own_provider *ret_provider)
{
	for (int i = 0; i < NC_OWN_COUNT; i++) {
		if (strcmp(words[i], wanted))
			continue;
		*ret_provider = (enum nc_own_provider)i;
		return true;
	}
	return false;
}

bool nc_capability_own_named(const char *name, enum nc_own_provider *ret_provider)
{
	return find_own(provider_names, name, ret_provider);
}

bool nc_capability_own_word(const char *word, enum nc_own_provider *ret_provider)
{
	return find_own(provider_words, word, ret_provider);
}

#define OWN_GRADE(own) json_string(nc_grade_word((own)->egress_certification))
#define OWN_WORDS(own) json_array()
#define OWN_FLAG(own) json_false()

json_t *nc_capability_own_document(enum nc_own_provider provider)
{
	json_t *enforcement = nc_capability_own_enforcement(provider);
	struct nc_capability own;
	json_t *document;

	nc_capability_own(provider, &own);
	document = json_pack("{s:i s:s s:s s:s s:s s:o}", "version", NC_CAPABILITY_VERSION, "provider", own.provider, "provider_revision",
			     own.provider_revision, "manifest", own.manifest, "placement", "runner", "enforcement", enforcement);
	if (!document)
		return NULL;
#define OWN(name, kind) json_object_set_new(document, name, OWN_##kind(&own));
	NC_CAPABILITY_AXES(OWN)
	return document;
}
