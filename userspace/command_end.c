// SPDX-License-Identifier: GPL-2.0-only
/*
 * command_end.c - `stop` and `wait`: until an instance is gone, and how it ended
 *
 * How it ended is read from the closing statement, as it stands: it shows and does not verify, which takes a key (`evidence verify`). An instance whose
 * supervisor died has no closing statement.
 */
#include <fcntl.h>
#include <stdio.h>
#include "cleanup.h"
#include "commands.h"
#include "evidence_names.h"
#include "folder.h"
#include "json.h"
#include "launch.h"
#include "output.h"

#define STOP_MS 30000 /* of `stop`, when nothing else was asked for */

const struct argp_option nc_stop_options[] = {
	{"timeout", NC_OPTION_TIMEOUT, "SECONDS", 0, "give up after this long; default: 30", 0},
	{0},
};
const struct argp_option nc_wait_options[] = {
	{"timeout", NC_OPTION_TIMEOUT, "SECONDS", 0, "give up after this long; default: never", 0},
	{0},
};

/* The closing statement's "result", or NULL. */
static json_t *read_result(const char *evidence)
{
	NC_CLOSE int fd = *evidence ? open(evidence, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	NC_JSON json_t *closing = NULL;
	NC_FREE char *text = NULL;
	struct nc_error ignored; /* no closing statement that can be read is an answer too */
	size_t length;

	if (fd < 0 || nc_folder_read(fd, NC_EVIDENCE_CLOSING, NC_JSON_SIZE_MAX, &text, &length, &ignored) < 0 ||
	    nc_json_parse(text, length, NC_E_EVIDENCE_INVALID, &closing, &ignored) < 0)
		return NULL;
	return json_incref(json_object_get(closing, "result"));
}

static void print_json(const char *instance, const char *evidence, json_t *result)
{
	json_t *document = json_pack("{s:i, s:s, s:b}", "version", NC_MESSAGE_VERSION, "instance", instance, "closed", result != NULL);

	if (*evidence)
		json_object_set_new(document, "evidence", json_string(evidence));
	if (result)
		json_object_update(document, result);
	nc_output_json(document);
	json_decref(document);
}

static void print_text(const char *instance, const char *evidence, const json_t *result)
{
	const json_t *code = json_object_get(result, "code"), *signal = json_object_get(result, "signal");
	const char *cause = json_string_value(json_object_get(result, "cause"));

	printf("%s: ", instance);
	if (!result)
		fputs("ended without a closing statement", stdout);
	else
		nc_output_safe(stdout, cause ? cause : "ended");
	if (code)
		printf(", exit status %lld", (long long)json_integer_value(code));
	if (signal)
		printf(", signal %lld", (long long)json_integer_value(signal));
	if (*evidence) {
		fputs("; evidence: ", stdout);
		nc_output_safe(stdout, evidence);
	}
	putchar('\n');
}

static int until_gone(struct nc_invocation *invocation, int64_t timeout_ms,
		      int (*act)(const struct nc_host_options *host, const char *instance, int timeout_ms, char ret_evidence[NC_PATH_MAX],
				 struct nc_error *reterr),
		      struct nc_error *reterr)
{
	const char *instance = invocation->arguments[0];
	char evidence[NC_PATH_MAX];
	struct nc_host_options host;
	json_t *result;
	int ret = nc_option_seconds(invocation, NC_OPTION_TIMEOUT, &timeout_ms, reterr);

	if (ret < 0)
		return ret;
	nc_invocation_host(invocation, &host);
	ret = act(&host, instance, (int)timeout_ms, evidence, reterr);
	if (ret < 0)
		return ret;
	result = read_result(evidence);
	if (invocation->json)
		print_json(instance, evidence, result);
	else
		print_text(instance, evidence, result);
	json_decref(result);
	return NC_EXIT_YES;
}

int nc_command_stop(struct nc_invocation *invocation, struct nc_error *reterr)
{
	return until_gone(invocation, STOP_MS, nc_launch_stop, reterr);
}

int nc_command_wait(struct nc_invocation *invocation, struct nc_error *reterr)
{
	return until_gone(invocation, 0, nc_launch_wait, reterr);
}
