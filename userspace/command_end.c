// SPDX-License-Identifier: GPL-2.0-only
/*
 * command_end.c - `stop` and `wait`: until an instance is gone, and how it ended
 *
 * How it ended is read from the closing statement, as it stands: it shows and does not verify, which takes a key (`evidence verify`). An instance whose
 * supervisor died has no closing statement.
 */
#include <fcntl.h>
#include <stdio.h>
#include "cause.h"
#include "cleanup.h"
#include "commands.h"
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

static json_t *read_result(const char *evidence)
{
	NC_CLOSE int fd = *evidence ? open(evidence, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	return fd < 0 ? NULL : nc_cause_read(fd);
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
	char text[NC_CAUSE_TEXT];

	printf("%s: %s", instance, result ? nc_cause_text(result, text) : "ended without a closing statement");
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
