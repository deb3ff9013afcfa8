/* SPDX-License-Identifier: GPL-2.0-only */
/* explain_ask.c - which addresses a listed name has now, and what would become of each. The servers are asked by netcordon-edge, as for an instance */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "dns_upstream.h"
#include "edge.h"
#include "explain.h"
#include "launch.h"
#include "resolver.h"

#define LINE 128

/* Starts the question; its output is to be read from *ret_file. The pid, or a negative errno. */
static pid_t start(const char *name, const union nc_address *servers, size_t server_count, FILE **ret_file)
{
	char texts[NC_UPSTREAMS_MAX][NC_ADDRESS_TEXT], *argv[4 + NC_UPSTREAMS_MAX] = {"netcordon-edge", "ask", (char *)name};
	NC_CLOSE int program = nc_edge_open();
	int pipes[2], r;
	pid_t pid;

	for (size_t i = 0; i < server_count && i < NC_UPSTREAMS_MAX; i++)
		argv[3 + i] = (char *)nc_address_text(&servers[i], texts[i]);
	if (program < 0 || pipe2(pipes, O_CLOEXEC) < 0)
		return program < 0 ? program : -errno;
	pid = vfork();
	if (pid == 0) {
		if (dup2(pipes[1], STDOUT_FILENO) < 0 || fcntl(STDOUT_FILENO, F_SETFD, 0) < 0)
			_exit(NC_EXIT_OURS);
		nc_edge_execute(program, argv);
	}
	r = pid < 0 ? -errno : 0;
	close(pipes[1]);
	*ret_file = r < 0 ? NULL : fdopen(pipes[0], "r");
	if (!*ret_file)
		close(pipes[0]);
	return r < 0 ? r : pid;
}

/* name: as the policy has it, which the question's spelling need not be. */
static int judge(const struct nc_profile *profile, const struct nc_explain_question *question, const char *name, const char *text, uint32_t ttl,
		 struct nc_explain_address *ret_address, struct nc_error *reterr)
{
	struct nc_explain_question asked = *question;
	struct nc_explanation said = {0};
	int r;

	asked.host = text;
	asked.granted = name;
	r = nc_explain(profile, &asked, &said, reterr);
	if (r < 0)
		return r;
	*ret_address = (struct nc_explain_address){
		.address = said.host.address, .decision = said.decision, .reason = said.reason, .lifetime = nc_resolver_lifetime(ttl)};
	return 0;
}

static void read_addresses(const struct nc_profile *profile, const struct nc_explain_question *question, FILE *file,
			   struct nc_explanation *explanation)
{
	struct nc_error error;
	char line[LINE], text[LINE];
	unsigned int ttl;

	while (explanation->address_count < NC_EXPLAIN_ADDRESSES && fgets(line, sizeof(line), file))
		if (sscanf(line, "%127s %u", text, &ttl) == 2 &&
		    judge(profile, question, explanation->host.name, text, ttl, &explanation->addresses[explanation->address_count], &error) == 0)
			explanation->address_count++;
	while (fgets(line, sizeof(line), file))
		;
}

/* A name that resolves to nothing that may be reached is refused, for the first one's reason; so is one that resolves to nothing at all. */
static void conclude(struct nc_explanation *explanation)
{
	for (size_t i = 0; i < explanation->address_count; i++)
		if (explanation->addresses[i].decision == NC_ALLOW)
			return;
	if (!explanation->address_count && explanation->asked == NC_EXPLAIN_SILENCE)
		return;
	explanation->nameless = !explanation->address_count;
	explanation->decision = explanation->nameless ? NC_DENY : explanation->addresses[0].decision;
	explanation->reason = explanation->nameless ? explanation->reason : explanation->addresses[0].reason;
	explanation->condition = explanation->ends = "";
}

int nc_explain_ask(const struct nc_profile *profile, const struct nc_explain_question *question, const union nc_address *servers, size_t server_count,
		   struct nc_explanation *explanation, struct nc_error *reterr)
{
	FILE *file = NULL;
	int status = 0;
	pid_t pid;

	if (explanation->host.literal || explanation->reason != NC_REASON_GRANT_LIVE)
		return 0;
	explanation->addresses = calloc(NC_EXPLAIN_ADDRESSES, sizeof(*explanation->addresses));
	if (!explanation->addresses)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "ask for the name's addresses");
	pid = start(explanation->host.name, servers, server_count, &file);
	if (pid < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, (int)pid, "start netcordon-edge, which asks for the name's addresses");
	if (file) {
		read_addresses(profile, question, file, explanation);
		fclose(file);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NC_EXIT_OURS)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOEXEC, "netcordon-edge, which asks for the name's addresses, cannot be executed");
	explanation->asked = status == 0 && file ? NC_EXPLAIN_ANSWERED : NC_EXPLAIN_SILENCE;
	conclude(explanation);
	return 0;
}
