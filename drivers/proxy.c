/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * proxy.c - driver of proxy variables with a real forward proxy: tinyproxy, default deny, one filter line for each listed host
 *
 * tinyproxy runs at the edge. The workload is told about it by http_proxy and https_proxy and by nothing else. tinyproxy's filter knows hosts and
 * one list of ports for all of them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

#define PROVIDER "reference:tinyproxy"
#define PORT 8888

static json_t *describe(const json_t *request)
{
	(void)request;
	return description(PROVIDER, "1", "workload", "proxy", "");
}

/* One line of the filter: the host as a regular expression that matches it alone. */
static void write_host(FILE *filter, const char *host)
{
	fputc('^', filter);
	for (; *host; host++)
		fprintf(filter, *host == '.' ? "\\." : "%c", *host);
	fputs("$\n", filter);
}

static int write_files(const json_t *request, const char *scratch, const char *edge)
{
	const json_t *destinations = part_at(request, "profile", "network", "destinations", NULL), *row;
	bool open_all = !strcmp(text_at(request, "profile", "network", "mode", NULL) ?: "", "unrestricted");
	char path[600];
	FILE *filter, *configuration;
	size_t index;

	snprintf(path, sizeof(path), "%s/filter", scratch);
	filter = fopen(path, "we");
	snprintf(path, sizeof(path), "%s/tinyproxy.conf", scratch);
	configuration = fopen(path, "we");
	if (!filter || !configuration)
		return -errno;
	fprintf(configuration, "Port %d\nListen %s\nTimeout 10\nMaxClients 20\nStartServers 1\nMinSpareServers 1\nMaxSpareServers 4\n", PORT, edge);
	if (!open_all)
		fprintf(configuration, "Filter \"%s/filter\"\nFilterExtended On\nFilterDefaultDeny Yes\n", scratch);
	json_array_foreach(destinations, index, row)
	{
		write_host(filter, text_at(row, "host", NULL) ?: "");
		if (!open_all)
			fprintf(configuration, "ConnectPort %d\n", (int)json_integer_value(part_at(row, "port", NULL)));
	}
	return fclose(filter) || fclose(configuration) ? -EIO : 0;
}

static bool listens(const struct nc_plain *where, const char *edge)
{
	char script[200];
	char *const argv[] = {"bash", "-c", script, NULL};

	snprintf(script, sizeof(script), "for i in {1..100}; do : 2>/dev/null </dev/tcp/%s/%d && exit 0; sleep 0.05; done; exit 1", edge, PORT);
	return !run_tool(where, argv, "");
}

static json_t *prepare(const json_t *request)
{
	const char *scratch = text_at(request, "scratch", NULL), *edge = text_at(request, "link", "edge", "4", NULL);
	const struct nc_plain at_edge = {.netns = text_at(request, "netns", "edge", NULL), .resolver = text_at(request, "resolver", NULL)};
	char configuration[600];
	pid_t proxy;

	if (access("/usr/bin/tinyproxy", X_OK))
		return refuse("tinyproxy", "tinyproxy is not installed");
	if (write_files(request, scratch, edge) < 0)
		return refuse("scratch", "the configuration cannot be written");
	snprintf(configuration, sizeof(configuration), "%s/tinyproxy.conf", scratch);
	proxy = start_beside(&at_edge, (char *const[]){"/usr/bin/tinyproxy", "-d", "-c", configuration, NULL});
	if (proxy < 0 || !listens(&at_edge, edge))
		return refuse("tinyproxy", "it does not listen");
	return prepared(PROVIDER, "1",
			json_pack("{s:i s:s s:s s:s}", "proxy", (int)proxy, "edge", edge, "netns", text_at(request, "netns", "workload", NULL),
				  "scratch", scratch));
}

static json_t *exec(const json_t *request)
{
	char http[96], https[96];
	char *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", http, https, NULL};
	const struct nc_plain inside = {.netns = text_at(request, "state", "netns", NULL), .environment = environment};

	snprintf(http, sizeof(http), "http_proxy=http://%s:%d", text_at(request, "state", "edge", NULL), PORT);
	snprintf(https, sizeof(https), "https_proxy=http://%s:%d", text_at(request, "state", "edge", NULL), PORT);
	return run_command(request, &inside);
}

static json_t *teardown(const json_t *request)
{
	pid_t proxy = (pid_t)json_integer_value(part_at(request, "state", "proxy", NULL));
	const char *scratch = text_at(request, "state", "scratch", NULL);

	if (proxy > 1)
		kill(-proxy, SIGKILL);
	if (scratch)
		run_tool(NULL, (char *const[]){"rm", "-rf", "--", (char *)scratch, NULL}, "");
	return nothing(request);
}

int main(int argc, char **argv)
{
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown, NULL});
}
