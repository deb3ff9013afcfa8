/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard_proxy.c - the reference guard's proxy: one request, one judgement, one connection to the very address that was judged
 *
 * A process for each client connection. What was admitted before is remembered in shared memory for one purpose only: the mutant that does not look
 * at a request anew.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "address.h"
#include "guard.h"

#define REQUEST_MAX 4096
#define IDLE_MS 4000
#define UPSTREAM_MS 2000

static bool *admitted_before; /* shared by the processes of one guard */

static void answer(int client, const char *status)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);

	if (send(client, text, (size_t)length, MSG_NOSIGNAL) < 0)
		return;
}

/* "CONNECT host:port HTTP/1.x", the host in brackets when it is an IPv6 literal. */
static bool read_target(char *request, char host[256], uint16_t *ret_port)
{
	char *end, *colon, *target = request + 8;
	unsigned long port;
	size_t length;

	if (strncmp(request, "CONNECT ", 8))
		return false;
	end = strchr(target, ' ');
	if (!end)
		return false;
	*end = '\0';
	colon = strrchr(target, ':');
	if (!colon)
		return false;
	*colon = '\0';
	port = strtoul(colon + 1, &end, 10);
	length = strlen(target);
	if (*target == '[' && length > 1 && target[length - 1] == ']') {
		target[length - 1] = '\0';
		target++;
	}
	if (*end || !port || port > 65535 || strlen(target) >= 256)
		return false;
	strcpy(host, target);
	*ret_port = (uint16_t)port;
	return true;
}

static const struct guard_destination *find(const struct guard *guard, const char *host, uint16_t port)
{
	for (size_t i = 0; i < guard->count; i++) {
		const struct guard_destination *row = &guard->destinations[i];

		if ((!guard->listed || !strcasecmp(row->host, host)) && (!guard->port || row->port == port))
			return row;
	}
	return NULL;
}

static bool is_public(const struct addrinfo *address)
{
	static const struct nc_settings settings;
	union nc_address bytes = {0};

	if (address->ai_family == AF_INET) {
		bytes.bytes[10] = bytes.bytes[11] = 0xff;
		memcpy(bytes.bytes + 12, &((struct sockaddr_in *)address->ai_addr)->sin_addr, 4);
	} else {
		memcpy(bytes.bytes, &((struct sockaddr_in6 *)address->ai_addr)->sin6_addr, 16);
	}
	return nc_class_is_public(nc_address_class_of(&bytes, &settings));
}

static int dial(const struct addrinfo *address)
{
	struct timeval wait = {.tv_sec = UPSTREAM_MS / 1000};
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Every address is judged at the moment of connecting, and it is that address which is connected to. *ret_denied: none was permitted. */
static int connect_upstream(const struct guard *guard, const char *host, uint16_t port, bool non_public, bool *ret_denied)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
	char service[8];
	int fd = -1;

	snprintf(service, sizeof(service), "%u", port);
	*ret_denied = false;
	if (getaddrinfo(host, service, &hints, &list))
		return -1;
	for (const struct addrinfo *address = list; address && fd < 0; address = address->ai_next) {
		if (guard->public_ && !non_public && !is_public(address))
			*ret_denied = true;
		else
			fd = dial(address);
	}
	freeaddrinfo(list);
	if (fd >= 0)
		*ret_denied = false;
	return fd;
}

static bool move(int from, int to)
{
	char bytes[8192];
	ssize_t got = recv(from, bytes, sizeof(bytes), 0);

	return got > 0 && send(to, bytes, (size_t)got, MSG_NOSIGNAL) == got;
}

static void relay(int client, int upstream)
{
	struct pollfd fds[2] = {{.fd = client, .events = POLLIN}, {.fd = upstream, .events = POLLIN}};

	while (poll(fds, 2, IDLE_MS) > 0) {
		if (fds[0].revents && !move(client, upstream))
			shutdown(upstream, SHUT_WR), fds[0].fd = -1;
		if (fds[1].revents && !move(upstream, client))
			return;
	}
}

static void serve_client(const struct guard *guard, int client)
{
	char request[REQUEST_MAX + 1] = {0}, host[256];
	const struct guard_destination *row;
	size_t have = 0;
	uint16_t port;
	bool denied;
	int upstream;

	while (!strstr(request, "\r\n\r\n")) {
		ssize_t got = recv(client, request + have, REQUEST_MAX - have, 0);

		if (got <= 0)
			return;
		have += (size_t)got;
	}
	if (!read_target(request, host, &port))
		return answer(client, "400 Bad Request");
	row = find(guard, host, port);
	if (!row && !guard->open && (guard->recheck || !*admitted_before))
		return answer(client, "403 Forbidden");
	*admitted_before = true;
	upstream = connect_upstream(guard, host, port, row && row->non_public, &denied);
	if (upstream < 0)
		return answer(client, denied || guard->blurred ? "403 Forbidden" : "502 Bad Gateway");
	if (send(client, "HTTP/1.1 200 OK\r\n\r\n", 19, MSG_NOSIGNAL) == 19)
		relay(client, upstream);
}

void guard_serve(const struct guard *guard, int listener)
{
	admitted_before = mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (admitted_before == MAP_FAILED)
		return;
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pid_t child = client < 0 ? -1 : fork();

		if (!child) {
			struct timeval wait = {.tv_sec = IDLE_MS / 1000};

			setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
			alarm(30);
			serve_client(guard, client);
			_exit(0);
		}
		if (client >= 0)
			close(client);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}
