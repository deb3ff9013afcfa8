/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * observe_listen.c - the live listeners: they accept, write down what came, and answer
 *
 * A first line that begins like an HTTP request is answered as HTTP once its headers are there: 401 without the credential that the listener asks
 * for, a redirect where one is set, else the answer. Anything else gets the answer as a line, at its first bytes. A connection stays open afterwards,
 * and what comes on it is written down, until the peer closes it or the run is over.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "observe_parts.h"

static struct nc_sight sight_of(const struct nc_source *source, enum nc_sight_kind kind)
{
	return (struct nc_sight){.kind = kind,
				 .source = source->peer,
				 .source_port = source->peer_port,
				 .destination = source->listener.address,
				 .destination_port = source->listener.port,
				 .protocol = source->listener.protocol};
}

static const char *reason_of(int status)
{
	return status == 301   ? "Moved Permanently"
	       : status == 303 ? "See Other"
	       : status == 307 ? "Temporary Redirect"
	       : status == 308 ? "Permanent Redirect"
			       : "Found";
}

static size_t http_answer(const struct nc_source *source, char *text, size_t size)
{
	const struct nc_listener *listener = &source->listener;

	if (listener->challenge && !strstr(source->request, listener->challenge))
		return (size_t)snprintf(text, size, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	if (*listener->location)
		return (size_t)snprintf(text, size, "HTTP/1.1 %d %s\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
					listener->status, reason_of(listener->status), listener->location);
	return (size_t)snprintf(text, size, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s\n", strlen(listener->answer) + 1,
				listener->answer);
}

static bool is_http(const char *request)
{
	return !strncmp(request, "GET ", 4) || !strncmp(request, "HEAD ", 5) || !strncmp(request, "POST ", 5);
}

/* Returns false when the connection is over. */
static bool answer_connection(struct nc_source *source)
{
	char text[1024];
	size_t length;
	bool http = is_http(source->request);

	if (source->answered || (http && !strstr(source->request, "\r\n\r\n")))
		return source->have < sizeof(source->request) - 1;
	source->answered = true;
	length = http ? http_answer(source, text, sizeof(text)) : (size_t)snprintf(text, sizeof(text), "%s\n", source->listener.answer);
	if (send(source->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
		return false;
	if (http)
		shutdown(source->fd, SHUT_WR);
	return true;
}

static bool connection_ready(struct nc_observer *observer, struct nc_source *source)
{
	char after[512];
	char *into = source->answered ? after : source->request + source->have;
	size_t room = source->answered ? sizeof(after) : sizeof(source->request) - 1 - source->have;
	ssize_t got = recv(source->fd, into, room, MSG_DONTWAIT);
	struct nc_sight sight = sight_of(source, NC_SIGHT_DATA);

	if (got <= 0)
		return false;
	nc_observer_note(observer, &sight, into, (size_t)got);
	if (source->answered)
		return true;
	source->have += (size_t)got;
	return answer_connection(source);
}

static bool listener_ready(struct nc_observer *observer, struct nc_source *source)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	struct nc_source *connection = NULL;
	struct nc_error ignored = {0};
	struct nc_sight sight;
	int fd = accept4(source->fd, (void *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return true;
	sight = sight_of(source, NC_SIGHT_ACCEPTED);
	nc_observer_from_sockaddr(&from, &sight.source, &sight.source_port);
	nc_observer_note(observer, &sight, NULL, 0);
	nc_observer_watch(observer, fd, false, connection_ready, &source->listener, &connection, &ignored);
	if (connection) {
		connection->peer = sight.source;
		connection->peer_port = sight.source_port;
	}
	return true;
}

static bool datagram_ready(struct nc_observer *observer, struct nc_source *source)
{
	char text[NC_REQUEST_MAX], answer[64];
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	ssize_t got = recvfrom(source->fd, text, sizeof(text), MSG_DONTWAIT, (void *)&from, &length);
	struct nc_sight sight = sight_of(source, NC_SIGHT_DATAGRAM);
	int size;

	if (got < 0)
		return true;
	nc_observer_from_sockaddr(&from, &sight.source, &sight.source_port);
	nc_observer_note(observer, &sight, text, (size_t)got);
	size = snprintf(answer, sizeof(answer), "%s\n", source->listener.answer);
	sendto(source->fd, answer, (size_t)size, MSG_DONTWAIT, (void *)&from, length);
	return true;
}

int nc_observer_listen(struct nc_observer *observer, int netns_fd, const struct nc_listener *listener, struct nc_error *reterr)
{
	bool stream = nc_observer_is_stream(listener->protocol);
	int fd = -1;
	int r = nc_observer_socket(netns_fd, &listener->address, listener->port, listener->protocol, &fd, reterr);

	return r < 0 ? r : nc_observer_watch(observer, fd, false, stream ? listener_ready : datagram_ready, listener, NULL, reterr);
}
