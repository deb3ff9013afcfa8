/* SPDX-License-Identifier: GPL-2.0-only */
/* driver.c - requests to a provider driver, and its answers read strictly */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cleanup.h"
#include "driver.h"
#include "conform_case.h"
#include "place.h"
#include "json.h"

static int unusable(const char *path, int status, struct nc_error *reterr)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return nc_error_set(reterr, NC_E_DRIVER_UNUSABLE, -ENOENT, "%s cannot be executed", path);
	if (WIFSIGNALED(status))
		return nc_error_set(reterr, NC_E_DRIVER_CRASHED, -EPIPE, "%s was ended by signal %d", path, WTERMSIG(status));
	return nc_error_set(reterr, NC_E_DRIVER_CRASHED, -EPIPE, "%s exited with status %d", path, WEXITSTATUS(status));
}

static int garbage(const char *path, const char *verb, struct nc_error *reterr)
{
	char detail[sizeof(reterr->detail)];

	memcpy(detail, reterr->detail, sizeof(detail));
	return nc_error_set(reterr, NC_E_DRIVER_GARBAGE, -EPROTO, "%s %s: %.200s", path, verb, detail);
}

/* {"error": {"code": word, "detail": text}}: the provider cannot. authority_dimension_absent keeps its own code. */
static int refusal(const char *path, const char *verb, const json_t *error, struct nc_error *reterr)
{
	static const char *const members[] = {"code", "detail", NULL};
	char code[64], detail[256];
	struct nc_fields fields;
	int r = nc_fields_begin(&fields, error, "/error", NC_E_DRIVER_GARBAGE, members, reterr);

	if (!r)
		r = nc_fields_text(&fields, "code", code, sizeof(code), reterr);
	if (!r)
		r = nc_fields_text(&fields, "detail", detail, sizeof(detail), reterr);
	if (r < 0)
		return garbage(path, verb, reterr);
	if (!strcmp(code, nc_error_word(NC_E_AUTHORITY_DIMENSION_ABSENT)))
		return nc_error_set(reterr, NC_E_AUTHORITY_DIMENSION_ABSENT, -EOPNOTSUPP, "%s", detail);
	return nc_error_set(reterr, NC_E_DRIVER_REFUSED, -EOPNOTSUPP, "%s: %s", code, detail);
}

int nc_driver_ask(const struct nc_driver *driver, const char *verb, const json_t *request, int deadline_ms, json_t **ret_answer,
		  struct nc_error *reterr)
{
	char *argv[] = {(char *)driver->path, (char *)verb, NULL};
	NC_FREE char *input = json_dumps(request, JSON_COMPACT);
	NC_FREE char *output = NULL;
	NC_JSON json_t *answer = NULL;
	size_t length = 0;
	int status = 0;
	int r = input ? nc_spawn_bounded(argv, input, strlen(input), deadline_ms, &status, &output, &length,
					 driver->terminal ? nc_spawn_at_terminal : NULL, (void *)driver->terminal)
		      : -ENOMEM;

	if (r == -ETIMEDOUT)
		return nc_error_set(reterr, NC_E_DRIVER_DEADLINE, r, "%s %s did not end within %d ms", driver->path, verb, deadline_ms);
	if (r == -EFBIG)
		return nc_error_set(reterr, NC_E_DRIVER_GARBAGE, r, "%s %s answered more than %u bytes", driver->path, verb, NC_DRIVER_ANSWER_MAX);
	if (r < 0)
		return nc_error_sys(reterr, NC_E_DRIVER_UNUSABLE, r, "start %s", driver->path);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return unusable(driver->path, status, reterr);
	r = nc_json_parse(output, length, NC_E_DRIVER_GARBAGE, &answer, reterr);
	if (r < 0)
		return garbage(driver->path, verb, reterr);
	if (json_is_object(answer) && json_object_get(answer, "error"))
		return refusal(driver->path, verb, json_object_get(answer, "error"), reterr);
	*ret_answer = json_incref(answer);
	return 0;
}

static int read_authorities(const struct nc_fields *fields, struct nc_driver *driver, struct nc_error *reterr)
{
	const json_t *words;
	bool workload = false;
	int r = nc_fields_words(fields, "authorities", &words, reterr);

	for (size_t i = 0; !r && i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));

		if (!strcmp(word, "workload"))
			workload = true;
		else if (!strcmp(word, "plane"))
			driver->plane = true;
		else
			r = nc_fields_refuse(fields, "authorities", reterr, "\"%s\" is not an authority", word);
	}
	if (!r && !workload)
		r = nc_fields_refuse(fields, "authorities", reterr, "must have workload");
	return r;
}

static int read_offers(const struct nc_fields *fields, struct nc_driver *driver, struct nc_error *reterr)
{
	static const struct {
		const char *word;
		int offer;
	} offers[] = {{"cgroups", NC_CASE_CGROUPS}, {"update", NC_CASE_UPDATE}, {"lsm", NC_CASE_LSM},
		      {"helpers", NC_CASE_HELPERS}, {"pins", NC_CASE_PINS},	{"ringless", NC_CASE_RINGLESS}};
	const json_t *words;
	int r = json_object_get(fields->object, "offers") ? nc_fields_words(fields, "offers", &words, reterr) : 1;

	for (size_t i = 0; !r && i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));
		size_t j = 0;

		while (j < sizeof(offers) / sizeof(*offers) && strcmp(word, offers[j].word))
			j++;
		if (j == sizeof(offers) / sizeof(*offers))
			return nc_fields_refuse(fields, "offers", reterr, "\"%s\" is nothing that can be offered", word);
		driver->offers |= offers[j].offer;
	}
	return r < 0 ? r : 0;
}

static int read_description(const json_t *answer, struct nc_driver *driver, struct nc_error *reterr)
{
	static const char *const members[] = {"version", "provider", "provider_revision", "authorities", "transport", "mutants", "offers", NULL};
	struct nc_fields fields;
	const json_t *mutants;
	char transport[16];
	int64_t version;
	int r = nc_fields_begin(&fields, answer, "", NC_E_DRIVER_GARBAGE, members, reterr);

	if (!r)
		r = nc_fields_integer(&fields, "version", NC_DRIVER_VERSION, NC_DRIVER_VERSION, &version, reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider", driver->provider, sizeof(driver->provider), reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider_revision", driver->provider_revision, sizeof(driver->provider_revision), reterr);
	if (!r)
		r = read_authorities(&fields, driver, reterr);
	if (!r)
		r = nc_fields_text(&fields, "transport", transport, sizeof(transport), reterr);
	if (!r && strcmp(transport, "direct") && strcmp(transport, "proxy"))
		r = nc_fields_refuse(&fields, "transport", reterr, "must be direct or proxy");
	if (!r)
		r = nc_fields_words(&fields, "mutants", &mutants, reterr);
	if (!r)
		r = read_offers(&fields, driver, reterr);
	if (r < 0)
		return garbage(driver->path, "describe", reterr);
	driver->proxied = !strcmp(transport, "proxy");
	driver->mutants = json_incref((json_t *)mutants);
	return 0;
}

int nc_driver_open(const char *path, const char *provider, const char *provider_revision, const json_t *options, int limit_ms,
		   struct nc_driver *ret_driver, struct nc_error *reterr)
{
	struct nc_driver driver = {.path = path,
				   .describe_ms = NC_DRIVER_DESCRIBE_MS,
				   .prepare_ms = NC_DRIVER_PREPARE_MS,
				   .teardown_ms = NC_DRIVER_TEARDOWN_MS,
				   .exec_slack_ms = NC_DRIVER_EXEC_SLACK_MS};
	NC_JSON json_t *request = json_pack("{s:i s:O}", "version", NC_DRIVER_VERSION, "options", options);
	NC_JSON json_t *answer = NULL;
	int r;

	if (limit_ms)
		driver.describe_ms = driver.prepare_ms = driver.teardown_ms = driver.exec_slack_ms = limit_ms;
	r = nc_driver_ask(&driver, "describe", request, driver.describe_ms, &answer, reterr);

	if (!r)
		r = read_description(answer, &driver, reterr);
	if (r < 0)
		return r;
	if (strcmp(driver.provider, provider) || strcmp(driver.provider_revision, provider_revision)) {
		r = nc_error_set(reterr, NC_E_DRIVER_CONTRADICTION, -EPERM, "the driver says that it is %s@%s, the operator tests %s@%s",
				 driver.provider, driver.provider_revision, provider, provider_revision);
		nc_driver_close(&driver);
		return r;
	}
	*ret_driver = driver;
	return 0;
}

static int read_cgroups(const json_t *cgroups, struct nc_driver_prepared *prepared, struct nc_error *reterr)
{
	static const char *const members[] = {"outside", "unsealed", "root", NULL};
	struct nc_fields fields;
	int r = nc_fields_begin(&fields, cgroups, "/cgroups", NC_E_DRIVER_GARBAGE, members, reterr);

	if (!r)
		r = nc_fields_text(&fields, "outside", prepared->outside, sizeof(prepared->outside), reterr);
	if (!r)
		r = nc_fields_text(&fields, "unsealed", prepared->unsealed, sizeof(prepared->unsealed), reterr);
	return r < 0 ? r : nc_fields_text(&fields, "root", prepared->root, sizeof(prepared->root), reterr);
}

static int read_pins(const json_t *pins, struct nc_driver_prepared *prepared, struct nc_error *reterr)
{
	static const char *const members[] = {"folder", "policy", NULL};
	struct nc_fields fields;
	int r = nc_fields_begin(&fields, pins, "/pins", NC_E_DRIVER_GARBAGE, members, reterr);

	if (!r)
		r = nc_fields_text(&fields, "folder", prepared->pins, sizeof(prepared->pins), reterr);
	return r < 0 ? r : nc_fields_text(&fields, "policy", prepared->policy, sizeof(prepared->policy), reterr);
}

int nc_driver_prepare(const struct nc_driver *driver, const json_t *request, struct nc_driver_prepared *ret_prepared, struct nc_error *reterr)
{
	static const char *const members[] = {"version", "provider", "provider_revision", "state", "cgroups", "pins", NULL};
	char provider[NC_PROVIDER_MAX], revision[NC_REVISION_MAX];
	struct nc_driver_prepared prepared = {0};
	NC_JSON json_t *answer = NULL;
	struct nc_fields fields;
	int64_t version;
	int r = nc_driver_ask(driver, "prepare", request, driver->prepare_ms, &answer, reterr);

	if (r < 0)
		return r;
	r = nc_fields_begin(&fields, answer, "", NC_E_DRIVER_GARBAGE, members, reterr);
	if (!r)
		r = nc_fields_integer(&fields, "version", NC_DRIVER_VERSION, NC_DRIVER_VERSION, &version, reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider", provider, sizeof(provider), reterr);
	if (!r)
		r = nc_fields_text(&fields, "provider_revision", revision, sizeof(revision), reterr);
	prepared.state = json_object_get(answer, "state");
	if (!r && !prepared.state)
		r = nc_fields_refuse(&fields, "state", reterr, "is missing");
	if (!r && json_object_get(answer, "cgroups"))
		r = read_cgroups(json_object_get(answer, "cgroups"), &prepared, reterr);
	if (!r && json_object_get(answer, "pins"))
		r = read_pins(json_object_get(answer, "pins"), &prepared, reterr);
	if (r < 0)
		return garbage(driver->path, "prepare", reterr);
	if (strcmp(provider, driver->provider) || strcmp(revision, driver->provider_revision))
		return nc_error_set(reterr, NC_E_DRIVER_CONTRADICTION, -EPERM, "what was prepared is %s@%s, the operator tests %s@%s", provider,
				    revision, driver->provider, driver->provider_revision);
	json_incref(prepared.state);
	*ret_prepared = prepared;
	return 0;
}

void nc_driver_close(struct nc_driver *driver)
{
	json_decref(driver->mutants);
	driver->mutants = NULL;
}

static bool listed(const json_t *words, const char *word, size_t length)
{
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *have = json_string_value(json_array_get(words, i));

		if (strlen(have) == length && !strncmp(have, word, length))
			return true;
	}
	return false;
}

bool nc_driver_switches(const struct nc_driver *driver, const char *words)
{
	if (!words || !*words)
		return false;
	while (*words) {
		size_t length = strcspn(words, " ");

		if (!listed(driver->mutants, words, length))
			return false;
		words += length;
		words += strspn(words, " ");
	}
	return true;
}

int nc_driver_exec(const struct nc_driver *driver, const json_t *request, int command_ms, struct nc_driver_output *ret_output,
		   struct nc_error *reterr)
{
	static const char *const members[] = {"version", "exited", "output", NULL};
	NC_JSON json_t *answer = NULL;
	struct nc_fields fields;
	int64_t version, exited;
	const json_t *output;
	int r = nc_driver_ask(driver, "exec", request, command_ms + driver->exec_slack_ms, &answer, reterr);

	if (r < 0)
		return r;
	output = json_object_get(answer, "output");
	r = nc_fields_begin(&fields, answer, "", NC_E_DRIVER_GARBAGE, members, reterr);
	if (!r)
		r = nc_fields_integer(&fields, "version", NC_DRIVER_VERSION, NC_DRIVER_VERSION, &version, reterr);
	if (!r)
		r = nc_fields_integer(&fields, "exited", -1, 255, &exited, reterr);
	if (!r)
		r = json_is_string(output) ? 0 : nc_fields_refuse(&fields, "output", reterr, "must be a string");
	if (r < 0)
		return garbage(driver->path, "exec", reterr);
	ret_output->text = strdup(json_string_value(output));
	ret_output->exited = (int)exited;
	return ret_output->text ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "keep the command's output");
}
