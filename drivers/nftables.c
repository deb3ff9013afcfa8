/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nftables.c - driver of plain nftables: an output chain with a cgroup match in the workload's network namespace
 *
 * options: {"root": a cgroup of the unified hierarchy for this test alone}
 *
 * What a careful administrator writes: the profile's destinations by address, port and protocol, and nothing else for processes of one cgroup. Names are
 * resolved once, when the rules are made. There is one authority only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define PROVIDER "reference:nftables"

static json_t *describe(const json_t *request)
{
	if (!text_at(request, "options", "root", NULL))
		return refuse("options", "root is needed");
	return description(PROVIDER, "1", "workload", "direct", "");
}

static void accept_address(FILE *rules, int family, const char *address, const char *protocol, int port)
{
	fprintf(rules, "\t\t%s daddr %s %s dport %d accept\n", family == AF_INET ? "ip" : "ip6", address, protocol, port);
}

static void accept_destination(FILE *rules, const json_t *row)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	const char *protocol = text_at(row, "protocol", NULL) ?: "tcp";

	if (getaddrinfo(text_at(row, "host", NULL), NULL, &hints, &list))
		return;
	for (const struct addrinfo *at = list; at; at = at->ai_next) {
		char text[64];

		if (!getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST))
			accept_address(rules, at->ai_family, text, protocol, (int)json_integer_value(part_at(row, "port", NULL)));
	}
	freeaddrinfo(list);
}

/* The path that nft looks up is below /sys/fs/cgroup; the level counts from the root of the unified hierarchy. */
static void head(FILE *rules, const char *cgroup)
{
	static const char base[] = "/sys/fs/cgroup/";
	const char *path = strncmp(cgroup, base, sizeof(base) - 1) ? cgroup : cgroup + sizeof(base) - 1;
	const char *inside = strncmp(path, "unified/", 8) ? path : path + 8;
	int level = 1;

	for (const char *at = inside; *at; at++)
		level += *at == '/';
	fprintf(rules,
		"table inet cordon {\n\tchain output {\n\t\ttype filter hook output priority filter; policy accept;\n"
		"\t\tsocket cgroupv2 level %d \"%s\" jump sealed\n\t}\n\tchain sealed {\n",
		level, path);
}

static char *rules_of(const json_t *request, const char *cgroup)
{
	const json_t *destinations = part_at(request, "profile", "network", "destinations", NULL), *row;
	const char *mode = text_at(request, "profile", "network", "mode", NULL) ?: "none";
	size_t size = 0, index;
	char *text = NULL;
	FILE *rules = open_memstream(&text, &size);

	head(rules, cgroup);
	/* With names there are questions to be asked, and this table has one resolver for everybody. */
	fprintf(rules, "\t\tip daddr %s udp dport 53 accept\n\t\tip daddr %s tcp dport 53 accept\n", text_at(request, "resolver", NULL),
		text_at(request, "resolver", NULL));
	json_array_foreach(destinations, index, row) accept_destination(rules, row);
	if (!strcmp(mode, "unrestricted"))
		fprintf(rules, "\t\tip daddr { 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16, 127.0.0.0/8 } reject\n"
			       "\t\tip6 daddr { fc00::/7, fe80::/10, ::1 } reject\n\t\taccept\n");
	fprintf(rules, "\t\treject\n\t}\n}\n");
	fclose(rules);
	return text;
}

/* In a child, since asking the matrix's resolver takes a namespace of its own. */
static int load_rules(const json_t *request, const char *cgroup)
{
	int status;
	pid_t child = fork();

	if (!child) {
		const struct nc_plain edge = {
			.netns = text_at(request, "netns", "edge", NULL), .resolver = text_at(request, "resolver", NULL), .privileged = true};
		const struct nc_plain inside = {.netns = text_at(request, "netns", "workload", NULL), .privileged = true};
		char *const nft[] = {"nft", "-f", "-", NULL};

		/* /proc/PID/fd/N must be opened before the mount namespace changes nothing about it: paths stay as they are. */
		if (nc_plain_become(&edge) < 0)
			_exit(1);
		_exit(run_tool(&inside, nft, rules_of(request, cgroup)) ? 1 : 0);
	}
	return child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) ? -EIO : 0;
}

static json_t *prepare(const json_t *request)
{
	char cgroup[600];

	snprintf(cgroup, sizeof(cgroup), "%s/%.16s", text_at(request, "options", "root", NULL), text_at(request, "instance", NULL));
	if (mkdir(cgroup, 0755) < 0)
		return refuse("cgroup", "%s: %s", cgroup, strerror(errno));
	if (load_rules(request, cgroup) < 0) {
		rmdir(cgroup);
		return refuse("nft", "the rules were not accepted");
	}
	return prepared(PROVIDER, "1", json_pack("{s:s s:s}", "cgroup", cgroup, "netns", text_at(request, "netns", "workload", NULL)));
}

static json_t *exec(const json_t *request)
{
	char procs[640];
	const struct nc_plain inside = {
		.netns = text_at(request, "state", "netns", NULL), .cgroup_procs = procs, .resolver = text_at(request, "resolver", NULL)};

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", text_at(request, "state", "cgroup", NULL));
	return run_command(request, &inside);
}

static json_t *teardown(const json_t *request)
{
	const char *cgroup = text_at(request, "state", "cgroup", NULL);

	/* The rules go with the namespace. */
	for (int i = 0; cgroup && rmdir(cgroup) < 0 && errno == EBUSY && i < 100; i++)
		usleep(10000);
	return nothing(request);
}

int main(int argc, char **argv)
{
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown, NULL});
}
