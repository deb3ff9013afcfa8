// SPDX-License-Identifier: GPL-2.0-only
/*
 * resolver_stream.c - DNS over TCP (RFC 7766), for answers that a datagram does not hold
 *
 * A connection has one question under way at a time: reading goes on when its answer is sent, so the kernel's own window holds a client back that asks
 * faster than it reads. When every place is taken the connection that has been idle longest gives way.
 */
#include "resolver_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define IDLE_MS 10000

static void close_stream(struct nc_resolver_stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->output);
	stream->fd = -1;
	stream->generation++;
	stream->used = stream->output_size = stream->output_sent = 0;
	stream->output = NULL;
	stream->waits = false;
}

void nc_resolver_streams_open(struct nc_resolver *resolver)
{
	for (size_t i = 0; i < NC_STREAMS_MAX; i++)
		resolver->streams[i].fd = -1;
}

void nc_resolver_streams_close(struct nc_resolver *resolver)
{
	for (size_t i = 0; i < NC_STREAMS_MAX; i++)
		close_stream(&resolver->streams[i]);
}

static uint32_t free_place(struct nc_resolver *resolver)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < resolver->options.streams_max; i++) {
		if (resolver->streams[i].fd < 0)
			return i;
		if (resolver->streams[i].idle_ms < resolver->streams[oldest].idle_ms)
			oldest = i;
	}
	close_stream(&resolver->streams[oldest]);
	return oldest;
}

void nc_resolver_stream_accept(struct nc_resolver *resolver, int listener)
{
	for (int i = 0; i < 16; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		uint32_t index;

		if (fd < 0)
			return;
		index = free_place(resolver);
		resolver->streams[index].fd = fd;
		resolver->streams[index].idle_ms = nc_resolver_now() + IDLE_MS;
		if (nc_resolver_watch(resolver, fd, NC_WATCH_STREAM, index, EPOLLIN) < 0)
			close_stream(&resolver->streams[index]);
	}
}

/* Sends what there is; false when the connection is gone. */
static bool flush(struct nc_resolver_stream *stream)
{
	while (stream->output_sent < stream->output_size) {
		ssize_t put = send(stream->fd, stream->output + stream->output_sent, stream->output_size - stream->output_sent,
				   MSG_NOSIGNAL | MSG_DONTWAIT);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == EAGAIN;
		stream->output_sent += (size_t)put;
	}
	free(stream->output);
	stream->output = NULL;
	stream->output_size = stream->output_sent = 0;
	return true;
}

static bool has_question(const struct nc_resolver_stream *stream)
{
	return stream->used >= 2 && stream->used >= 2 + ((size_t)stream->input[0] << 8 | stream->input[1]);
}

/* What the connection waits for now. A question that came together with the one just answered lies here already: it is taken up as soon as there is room to
 * write, and no more bytes need to come for it. */
static int watch_stream(struct nc_resolver *resolver, uint32_t index)
{
	struct nc_resolver_stream *stream = &resolver->streams[index];
	uint32_t events = EPOLLIN;

	if (stream->waits)
		events = 0;
	else if (stream->output || has_question(stream))
		events = EPOLLOUT;
	return nc_resolver_watch(resolver, stream->fd, NC_WATCH_STREAM, index, events);
}

/* One whole question from the input, if it is there. False when the connection must end. */
static bool ask_one(struct nc_resolver *resolver, uint32_t index)
{
	struct nc_resolver_stream *stream = &resolver->streams[index];
	struct nc_resolver_client client = {.fd = -1, .stream = (int)index, .stream_generation = stream->generation};
	size_t size = stream->used >= 2 ? (size_t)stream->input[0] << 8 | stream->input[1] : 0;
	uint8_t question[NC_STREAM_QUESTION_MAX];

	if (stream->used < 2)
		return true;
	if (!size || size > NC_STREAM_QUESTION_MAX)
		return false;
	if (!has_question(stream))
		return true;
	memcpy(question, stream->input + 2, size);
	stream->used -= size + 2;
	memmove(stream->input, stream->input + size + 2, stream->used);
	stream->waits = true;
	nc_resolver_ask(resolver, &client, question, size);
	return true;
}

/* 1: something came, 0: nothing now, negative: the connection is over. */
static int fill(struct nc_resolver_stream *stream)
{
	ssize_t got = recv(stream->fd, stream->input + stream->used, sizeof(stream->input) - stream->used, MSG_DONTWAIT);

	if (got > 0) {
		stream->used += (size_t)got;
		stream->idle_ms = nc_resolver_now() + IDLE_MS;
		return 1;
	}
	if (got == 0)
		return stream->used < sizeof(stream->input) ? -ECONNRESET : 0;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

void nc_resolver_stream_step(struct nc_resolver *resolver, uint32_t index)
{
	struct nc_resolver_stream *stream = &resolver->streams[index];
	int got = 1;

	if (index >= NC_STREAMS_MAX || stream->fd < 0)
		return;
	if (stream->waits) /* nothing is watched for then but the connection's end, which would be told again and again */
		return close_stream(stream);
	while (got > 0 && !stream->waits) {
		if (!flush(stream))
			return close_stream(stream);
		if (stream->output)
			break;
		got = has_question(stream) ? 1 : fill(stream);
		if (got < 0 || !ask_one(resolver, index))
			return close_stream(stream);
		if (stream->fd < 0)
			return;
	}
	if (stream->fd >= 0 && watch_stream(resolver, index) < 0)
		close_stream(stream);
}

void nc_resolver_stream_send(struct nc_resolver *resolver, const struct nc_resolver_client *client, const uint8_t *bytes, size_t size)
{
	struct nc_resolver_stream *stream = &resolver->streams[client->stream];

	if (stream->fd < 0 || stream->generation != client->stream_generation || stream->output)
		return;
	stream->waits = false;
	stream->output = malloc(size + 2);
	if (!stream->output)
		return close_stream(stream);
	stream->output[0] = (uint8_t)(size >> 8);
	stream->output[1] = (uint8_t)size;
	memcpy(stream->output + 2, bytes, size);
	stream->output_size = size + 2;
	if (!flush(stream))
		return close_stream(stream);
	if (watch_stream(resolver, (uint32_t)client->stream) < 0)
		close_stream(stream);
}

void nc_resolver_streams_expire(struct nc_resolver *resolver)
{
	uint64_t now_ms = nc_resolver_now();

	for (size_t i = 0; i < NC_STREAMS_MAX; i++)
		if (resolver->streams[i].fd >= 0 && resolver->streams[i].idle_ms <= now_ms)
			close_stream(&resolver->streams[i]);
}

uint64_t nc_resolver_streams_due(const struct nc_resolver *resolver)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < NC_STREAMS_MAX; i++)
		if (resolver->streams[i].fd >= 0 && resolver->streams[i].idle_ms < due)
			due = resolver->streams[i].idle_ms;
	return due;
}
