// SPDX-License-Identifier: GPL-2.0-only
/* command_container.c - `oci-hook`, which a container runtime calls, and `check-container`, which asks from outside what came of it */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cleanup.h"
#include "commands.h"
#include "launch_state.h"
#include "oci.h"
#include "other_build.h"
#include "output.h"
#include "revision.h"

/* ---- oci-hook ---------------------------------------------------------------------------------------------------------------------------------- */

int nc_command_oci_hook(struct nc_invocation *invocation, struct nc_error *reterr)
{
	const struct nc_config *config = &invocation->config;
	struct nc_oci_state state = {0};
	struct nc_host_options host;
	struct nc_oci_hook hook = {
		.host = &host,
		.provider_revision = nc_revision_name(),
		.key = config->key,
		.attester = config->attester,
		.evidence_parent = config->evidence,
		.profiles = config->profiles,
		.default_profile = config->container_profile,
		.upstreams = config->upstreams,
		.upstream_count = config->upstream_count,
		.log_bytes = config->log_bytes,
	};
	int ret;

	/* whatever the runtime left open is not ours to keep in a supervisor that outlives the hook */
	if (syscall(SYS_close_range, 3u, UINT_MAX, 0u) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "close the runtime's descriptors");
	nc_invocation_host(invocation, &host);
	ret = nc_oci_state_read(0, NC_OCI_STATE_MS, &state, reterr);
	if (ret == 0)
		snprintf(invocation->subject, sizeof(invocation->subject), "container %.64s", state.id);
	if (ret == 0)
		ret = state.moment == NC_OCI_CREATE ? nc_oci_create(&hook, &state, reterr) : nc_oci_stop(&hook, &state, reterr);
	nc_oci_state_free(&state);
	return ret < 0 ? ret : NC_EXIT_YES;
}

/* ---- check-container ------------------------------------------------------------------------------------------------------------------------- */

struct checks {
	const struct nc_host_options *options;
	json_t *array;
	struct nc_table *table;
	int exit; /* of enum nc_exit */
};

/* A process number or a path of a cgroup. */
static int read_target(const char *word, pid_t *ret_pid, struct nc_error *reterr)
{
	char *end;
	long pid;

	*ret_pid = 0;
	if (word[0] == '/')
		return 0;
	errno = 0;
	pid = strtol(word, &end, 10);
	if (end != word && !*end && (errno || pid < 1 || pid > 1 << 22)) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "check-container: there is no process %.64s", word);
		return nc_error_hint(reterr, "`crun state ID` or `podman inspect -f {{.State.Pid}} ID` tells the number");
	}
	if (*end || end == word) {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "check-container: '%.64s' is neither a process number nor the path of a cgroup", word);
		return nc_error_hint(reterr, "`crun state ID` or `podman inspect -f {{.State.Pid}} ID` tells the number");
	}
	*ret_pid = (pid_t)pid;
	return 0;
}

/* What somebody else was to do for the process and, as far as can be seen, did not. */
static int open_rows(struct nc_host *host, const char *cgroup, json_t **ret_open, struct nc_error *reterr)
{
	NC_CLOSE int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	NC_JSON json_t *rows = NULL;
	json_t *row;
	size_t i;
	int r;

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "open the cgroup %s", cgroup);
	r = nc_attach_checks(host, fd, false, &rows, reterr);
	if (r < 0)
		return r;
	*ret_open = json_array();
	json_array_foreach(rows, i, row)
	{
		if (!strcmp(json_string_value(json_object_get(row, "state")) ?: "", "open"))
			json_array_append(*ret_open, json_object_get(row, "what"));
	}
	return 0;
}

static void add_json(struct checks *checks, const char *word, const struct nc_container_check *check, const json_t *open)
{
	json_t *row = json_pack("{s:s, s:b, s:s, s:s, s:b, s:s, s:i, s:i, s:O}", "asked", word, "sealed", !check->why[0], "cgroup", check->cgroup,
				"instance", check->instance, "supervised", check->supervised, "why", check->why, "processes", (int)check->processes,
				"strays", (int)check->strays, "left_open", open);

	json_object_set_new(row, "other_build", nc_other_stands(&check->other) ? nc_other_json(&check->other) : json_null());
	json_array_append_new(checks->array, row);
}

static void add_text(struct checks *checks, const char *word, const struct nc_container_check *check)
{
	char program[NC_OTHER_PROGRAM_MAX], why[sizeof(program) + sizeof(check->why)];

	if (nc_other_stands(&check->other)) {
		snprintf(why, sizeof(why), "%s; its program: %s", check->why, nc_other_program(&check->other, program));
		nc_table_row(checks->table, word, "OTHER BUILD", check->other.name[0] ? check->other.name : "-", why);
		return;
	}
	nc_table_row(checks->table, word, check->why[0] ? "NOT SEALED" : "sealed", check->instance[0] ? check->instance : "-",
		     check->why[0]	 ? check->why
		     : check->supervised ? "supervised"
					 : "no supervisor: no names, no log");
}

static int check_one(struct checks *checks, struct nc_host *host, const char *word, struct nc_error *reterr)
{
	struct nc_container_check check = {.cgroup = ""};
	NC_JSON json_t *open = NULL;
	pid_t pid = 0;
	int r = read_target(word, &pid, reterr) ?: nc_container_check(checks->options, host, pid, word, &check, reterr) ?:
		open_rows(host, check.cgroup, &open, reterr);

	if (r < 0)
		return r;
	if (check.why[0] && !nc_other_stands(&check.other))
		checks->exit = NC_EXIT_NO;
	else if (check.why[0] && checks->exit == NC_EXIT_YES)
		checks->exit = NC_EXIT_OTHER_BUILD;
	add_json(checks, word, &check, open);
	add_text(checks, word, &check);
	return 0;
}

int nc_command_check_container(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_host_options options;
	struct checks checks = {.options = &options, .array = json_array(), .table = nc_table_new(4)};
	struct nc_host *host = NULL;
	int ret;

	nc_invocation_host(invocation, &options);
	ret = nc_host_open(&options, &host, reterr);
	if (ret < 0 && reterr->code == NC_E_HOST_DOWN)
		ret = 0; /* then nothing is sealed, which is an answer */
	for (int i = 0; ret == 0 && i < invocation->argument_count; i++)
		ret = check_one(&checks, host, invocation->arguments[i], reterr);
	nc_host_close(host);
	if (ret == 0 && invocation->json)
		nc_output_json(checks.array);
	else if (ret == 0)
		ret = nc_table_print(checks.table, stdout, reterr);
	nc_table_free(checks.table);
	json_decref(checks.array);
	return ret < 0 ? ret : checks.exit;
}
