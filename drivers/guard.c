/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard.c - driver of the reference guards: one that is right, and three that a matrix must not believe
 *
 * {"options": {"flavour": ...}}:
 *   right      every check in place
 *   blind      no classification at the moment of connecting, and 403 for a failed upstream connection just as for a denial
 *   flattened  both authorities in one list, one guard for both, the plane's credential in its environment
 *   variables  nothing but proxy variables: the workload's routes stay as they are
 */
#include <errno.h>
#include <netinet/in.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <arpa/inet.h>
#include "guard.h"
#include "verbs.h"

static const struct flavour {
	const char *name, *provider;
	bool blind, flattened, open_routes;
} flavours[] = {
	{"right", "reference:guard-right", false, false, false},
	{"blind", "reference:guard-blind", true, false, false},
	{"flattened", "reference:guard-flattened", false, true, false},
	{"variables", "reference:guard-variables", false, false, true},
};

static const struct flavour *flavour_of(const json_t *request)
{
	const char *name = text_at(request, "options", "flavour", NULL) ?: "right";

	for (size_t i = 0; i < sizeof(flavours) / sizeof(*flavours); i++) {
		if (!strcmp(flavours[i].name, name))
			return &flavours[i];
	}
	return NULL;
}

static json_t *describe(const json_t *request)
{
	const struct flavour *flavour = flavour_of(request);

	if (!flavour)
		return refuse("option", "there is no such flavour");
	return description(flavour->provider, "1", "workload plane", "proxy",
			   "guard_host guard_port guard_public guard_recheck guard_lists guard_routes guard_credential");
}

static void add_destinations(struct guard *guard, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list) && guard->count < GUARD_DESTINATIONS; i++) {
		const json_t *row = json_array_get(list, i);
		struct guard_destination *destination = &guard->destinations[guard->count];

		if (text_at(row, "protocol", NULL) && strcmp(text_at(row, "protocol", NULL), "tcp"))
			continue; /* a proxy of this kind carries TCP only */
		snprintf(destination->host, sizeof(destination->host), "%s", text_at(row, "host", NULL) ?: "");
		destination->port = (uint16_t)json_integer_value(part_at(row, "port", NULL));
		destination->non_public = json_is_true(part_at(row, "non_public", NULL));
		guard->count++;
	}
}

static struct guard guard_of(const json_t *request, const struct flavour *flavour, const char *authority)
{
	struct guard guard = {.listed = !is_off(request, "guard_host"),
			      .port = !is_off(request, "guard_port"),
			      .recheck = !is_off(request, "guard_recheck"),
			      .public_ = !flavour->blind && !is_off(request, "guard_public"),
			      .blurred = flavour->blind};
	const char *mode = text_at(request, "profile", "network", "mode", NULL) ?: "none";
	bool one_list = flavour->flattened || is_off(request, "guard_lists");

	/* Every public destination: there is nothing to be listed. */
	if (!strcmp(mode, "unrestricted") && !strcmp(authority, "workload"))
		guard.listed = guard.port = false;
	guard.open = !guard.listed && !guard.port;
	if (one_list || !strcmp(authority, "workload"))
		add_destinations(&guard, part_at(request, "profile", "network", "destinations", NULL));
	if (one_list || !strcmp(authority, "plane"))
		add_destinations(&guard, part_at(request, "profile", "plane", "destinations", NULL));
	return guard;
}

/* The names and values of the request's credentials as an environment. */
static char **environment_of(const json_t *credentials)
{
	char **environment = calloc(json_object_size(credentials) + 3, sizeof(*environment));
	const char *name;
	json_t *value;
	size_t count = 0;

	json_object_foreach((json_t *)credentials, name, value)
	{
		if (environment && asprintf(&environment[count], "%s=%s", name, json_string_value(value)) > 0)
			count++;
	}
	return environment;
}

static int open_listener(const char *address, uint16_t *ret_port)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t length = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &in.sin_addr);
	if (fd < 0 || bind(fd, (void *)&in, sizeof(in)) < 0 || listen(fd, 64) < 0 || getsockname(fd, (void *)&in, &length) < 0)
		return -1;
	*ret_port = ntohs(in.sin_port);
	return fd;
}

/* The guard is an image of its own, made by executing this program again: what the driver was handed, credentials among it, is not in its memory. It
 * finds its configuration on standard input and its listener as descriptor 3. */
static int execute_guard(const struct guard *guard, int listener, char **environment)
{
	char *const argv[] = {"guard", "-serve", NULL};
	int file = memfd_create("guard", 0);

	if (file < 0 || write(file, guard, sizeof(*guard)) != sizeof(*guard) || lseek(file, 0, SEEK_SET) < 0)
		return -1;
	/* dup2 of a descriptor to itself would leave it close-on-exec. */
	if (dup2(file, 0) < 0 || dup2(listener, 9) < 0 || dup2(9, 3) < 0)
		return -1;
	close(1);
	close(2);
	close(9);
	return execve("/proc/self/exe", argv, environment);
}

static void __attribute__((noreturn))
become_guard(const json_t *request, const struct flavour *flavour, const char *authority, const char *address, int ready)
{
	struct guard guard = guard_of(request, flavour, authority);
	static char *empty[] = {NULL};
	char **environment =
		flavour->flattened || is_off(request, "guard_credential") ? environment_of(part_at(request, "credentials", NULL)) : empty;
	const struct nc_plain place = {
		.netns = text_at(request, "netns", "edge", NULL), .resolver = text_at(request, "resolver", NULL), .environment = empty};
	uint16_t port = 0;
	int listener;

	setsid();
	if (nc_plain_become(&place) < 0)
		_exit(1);
	listener = open_listener(address, &port);
	if (listener < 0 || write(ready, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	close(ready);
	execute_guard(&guard, listener, environment);
	_exit(1);
}

static pid_t start_guard(const json_t *request, const struct flavour *flavour, const char *authority, const char *address, uint16_t *ret_port)
{
	int ready[2];
	pid_t guard;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	guard = fork();
	if (!guard)
		become_guard(request, flavour, authority, address, ready[1]);
	close(ready[1]);
	if (guard > 0 && read(ready[0], ret_port, sizeof(*ret_port)) != sizeof(*ret_port))
		guard = -1;
	close(ready[0]);
	return guard;
}

/* Leaves the workload's namespace one route: to the edge. */
static int confine(const json_t *request, const char *edge)
{
	const struct nc_plain inside = {.netns = text_at(request, "netns", "workload", NULL), .privileged = true};
	char *const add[] = {"ip", "route", "add", (char *)edge, "via", (char *)text_at(request, "link", "workload", "gateway4", NULL), NULL};
	char *const remove4[] = {"ip", "-4", "route", "del", "default", NULL}, *const remove6[] = {"ip", "-6", "route", "del", "default", NULL};
	int r = run_tool(&inside, add, "");

	if (!r)
		r = run_tool(&inside, remove4, "");
	return r ? r : run_tool(&inside, remove6, "");
}

static json_t *prepare(const json_t *request)
{
	const struct flavour *flavour = flavour_of(request);
	const char *edge = text_at(request, "link", "edge", "4", NULL);
	uint16_t port = 0, plane_port = 0;
	pid_t guard, plane;
	char proxy[64], plane_proxy[64];

	if (!flavour || !edge)
		return refuse("request", "there is no such flavour, or no edge");
	guard = start_guard(request, flavour, "workload", edge, &port);
	/* The plane's guard listens where no workload can reach it, unless both are one. */
	plane = flavour->flattened ? guard : start_guard(request, flavour, "plane", "127.0.0.1", &plane_port);
	if (guard < 0 || plane < 0)
		return refuse("guard", "the guard did not start");
	if (!flavour->open_routes && !is_off(request, "guard_routes") && confine(request, edge) < 0)
		return refuse("confine", "the workload's routes cannot be changed");
	snprintf(proxy, sizeof(proxy), "http://%s:%u", edge, port);
	snprintf(plane_proxy, sizeof(plane_proxy), "http://%s:%u", flavour->flattened ? edge : "127.0.0.1", flavour->flattened ? port : plane_port);
	return prepared(flavour->provider, "1",
			json_pack("{s:s s:s s:[i,i] s:O s:O}", "workload", proxy, "plane", plane_proxy, "guards", (int)guard, (int)plane, "netns",
				  part_at(request, "netns", NULL), "credentials", part_at(request, "credentials", NULL) ?: json_object()));
}

static json_t *exec(const json_t *request)
{
	const char *authority = text_at(request, "authority", NULL) ?: "";
	bool of_plane = !strcmp(authority, "plane");
	const char *proxy = text_at(request, "state", authority, NULL);
	char http[96], all[96];
	char **credentials = of_plane ? environment_of(part_at(request, "state", "credentials", NULL)) : NULL;
	char *environment[24] = {"PATH=/usr/local/bin:/usr/bin:/bin", http, all};
	const struct nc_plain place = {.netns = text_at(request, "state", "netns", of_plane ? "edge" : "workload", NULL), .environment = environment};

	if (!proxy)
		return refuse("request", "there is no such authority");
	for (size_t i = 0; credentials && credentials[i] && i < 16; i++)
		environment[3 + i] = credentials[i];
	snprintf(http, sizeof(http), "http_proxy=%s", proxy);
	snprintf(all, sizeof(all), "https_proxy=%s", proxy);
	return run_command(request, &place);
}

static json_t *teardown(const json_t *request)
{
	const json_t *guards = part_at(request, "state", "guards", NULL);

	for (size_t i = 0; i < json_array_size(guards); i++) {
		pid_t guard = (pid_t)json_integer_value(json_array_get(guards, i));

		if (guard > 1)
			kill(-guard, SIGKILL); /* it leads a session: its clients' processes go with it */
	}
	return nothing(request);
}

static int serve(void)
{
	struct guard guard;

	if (read(0, &guard, sizeof(guard)) != sizeof(guard))
		return 1;
	guard_serve(&guard, 3);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "-serve"))
		return serve();
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown, NULL});
}
