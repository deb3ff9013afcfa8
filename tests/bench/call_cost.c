// SPDX-License-Identifier: GPL-2.0-only
/*
 * call_cost.c - what calls cost, a few thousand at a time, so that several of these can be asked in turn (A B C A B C)
 *
 * call_cost: reads lines "VERB ADDRESS PORT CALLS [WIDTH [HOST]]" from standard input and answers each with a line of JSON: nanoseconds per call, of the
 * clock and of the thread's processor time, and how many calls were refused (EPERM, ECONNREFUSED, EACCES) or failed otherwise. `verbs` below says what there
 * is. call_cost serve: the far end, on ports 443 (takes whatever comes, answers an end with an end) and 80 (answers a request with HELLO).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "measure.h"

#define HELLO "HTTP/1.0 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"
#define CHUNK (64 * 1024)
#define WIDTH_MAX 1000	       /* sockets at once */
#define ROTATION 8192	       /* udp_rotate: so many different addresses */
#define LEAP 7919	       /* a prime: the leaps miss none */
#define COLD_BYTES (64u << 20) /* more than the caches hold */

struct job {
	struct sockaddr_in to;
	long calls;
	long width;
	char host[64]; /* http: what is asked of a proxy; "": asked of the server itself */
	long refused, failed;
	double wall_ns, cpu_ns; /* of a part that is measured by itself; 0: of the whole */
};

static void note(struct job *job, int r)
{
	if (r >= 0 || errno == EINPROGRESS)
		return;
	if (errno == EPERM || errno == ECONNREFUSED || errno == EACCES)
		job->refused++;
	else
		job->failed++;
}

static int connect_to(int fd, const struct job *job)
{
	return connect(fd, (const struct sockaddr *)&job->to, sizeof(job->to));
}

static void udp_connect(struct job *job)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (long i = 0; i < job->calls; i++)
		note(job, connect_to(fd, job));
	close(fd);
}

static void udp_sendto(struct job *job)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (long i = 0; i < job->calls; i++)
		note(job, (int)sendto(fd, "x", 1, MSG_DONTWAIT, (const struct sockaddr *)&job->to, sizeof(job->to)));
	close(fd);
}

/* On a connected socket no address hook is asked: what is left is the packet's own. */
static void udp_send(struct job *job)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	note(job, connect_to(fd, job));
	for (long i = 0; i < job->calls; i++)
		note(job, (int)send(fd, "x", 1, MSG_DONTWAIT));
	close(fd);
}

/* From socket() to close(), so with what a socket's birth costs. */
static void udp_new(struct job *job)
{
	for (long i = 0; i < job->calls; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		note(job, connect_to(fd, job));
		close(fd);
	}
}

/* To `width` addresses from the one given on, in leaps, so that neighbours in memory are not asked for one after the other. */
static void udp_rotate(struct job *job)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	uint32_t first = ntohl(job->to.sin_addr.s_addr);

	for (long i = 0; i < job->calls; i++) {
		job->to.sin_addr.s_addr = htonl(first + (uint32_t)(i % ROTATION * LEAP % job->width));
		note(job, connect_to(fd, job));
	}
	close(fd);
}

/* `width` sockets at once, each with a local port of its own, in rotation. */
static void udp_spread(struct job *job)
{
	int fds[WIDTH_MAX];
	double wall, cpu;

	for (long i = 0; i < job->width; i++)
		fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
	wall = now_ns();
	cpu = cpu_ns();
	for (long i = 0; i < job->calls; i++)
		note(job, connect_to(fds[i % job->width], job));
	job->cpu_ns = cpu_ns() - cpu;
	job->wall_ns = now_ns() - wall;
	for (long i = 0; i < job->width; i++)
		close(fds[i]);
}

/* Each call after so much other memory was written that the caches hold nothing of ours any more. */
static void udp_cold(struct job *job)
{
	static char *other;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (!other)
		other = malloc(COLD_BYTES);
	for (long i = 0; other && i < job->calls; i++) {
		double wall, cpu;

		for (size_t at = 0; at < COLD_BYTES; at += 64)
			((volatile char *)other)[at]++;
		wall = now_ns();
		cpu = cpu_ns();
		note(job, connect_to(fd, job));
		job->cpu_ns += cpu_ns() - cpu;
		job->wall_ns += now_ns() - wall;
	}
	close(fd);
}

static void abandon(int fd)
{
	const struct linger at_once = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)); /* no port stays behind in TIME_WAIT */
	close(fd);
}

/* connect() returns when the far end's kernel has taken the connection; its program accepts beside. */
static void tcp_connect(struct job *job)
{
	for (long i = 0; i < job->calls; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		note(job, connect_to(fd, job));
		abandon(fd);
	}
}

/* `width` connections are on their way at once. */
static void tcp_spread(struct job *job)
{
	struct pollfd all[WIDTH_MAX];

	for (long i = 0; i < job->calls; i += job->width) {
		for (long k = 0; k < job->width; k++) {
			all[k] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), .events = POLLOUT};
			note(job, connect_to(all[k].fd, job));
		}
		for (long k = 0; k < job->width; k++) {
			if (poll(&all[k], 1, 5000) != 1 || all[k].revents & POLLERR)
				job->failed++;
			abandon(all[k].fd);
		}
	}
}

/* Over loopback, both ends here: socket, connect, accept, close of both. */
static void tcp_loop(struct job *job)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(job->to);

	job->to.sin_port = 0;
	job->to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listen(listener, 16) < 0 || getsockname(listener, (struct sockaddr *)&job->to, &length) < 0) {
		job->failed++;
		return;
	}
	job->to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (long i = 0; i < job->calls; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), accepted;

		note(job, connect_to(fd, job));
		accepted = accept(listener, NULL, NULL);
		note(job, accepted);
		abandon(fd);
		close(accepted);
	}
	close(listener);
}

/* CALLS chunks of 64 KiB; ends when the far end has had them all. */
static void tcp_stream(struct job *job)
{
	static char chunk[CHUNK];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	note(job, connect_to(fd, job));
	for (long i = 0; i < job->calls; i++)
		for (ssize_t done = 0, r; done < CHUNK; done += r) {
			r = send(fd, chunk + done, (size_t)(CHUNK - done), MSG_NOSIGNAL);
			note(job, (int)r);
			if (r < 0)
				goto end;
		}
	shutdown(fd, SHUT_WR);
	if (read(fd, chunk, 1) != 0)
		job->failed++;
end:
	close(fd);
}

static void http(struct job *job)
{
	char request[256], answer[1024];
	int length = snprintf(request, sizeof(request), "GET %s%s/ HTTP/1.0\r\nHost: server\r\n\r\n", job->host[0] ? "http://" : "", job->host);

	for (long i = 0; i < job->calls; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		ssize_t got = 0, r;

		note(job, connect_to(fd, job));
		note(job, (int)send(fd, request, (size_t)length, MSG_NOSIGNAL));
		while ((r = recv(fd, answer + got, sizeof(answer) - 1 - (size_t)got, 0)) > 0)
			got += r;
		answer[got] = 0;
		if (!strstr(answer, "hello\n"))
			job->failed++;
		abandon(fd);
	}
}

static const struct {
	const char *name;
	void (*run)(struct job *job);
} verbs[] = {
	{"udp_connect", udp_connect}, {"udp_sendto", udp_sendto}, {"udp_send", udp_send},     {"udp_new", udp_new},
	{"udp_spread", udp_spread},   {"udp_cold", udp_cold},	  {"udp_rotate", udp_rotate}, {"tcp_connect", tcp_connect},
	{"tcp_spread", tcp_spread},   {"tcp_loop", tcp_loop},	  {"tcp_stream", tcp_stream}, {"http", http},
};

static void run(const char *verb, struct job *job)
{
	double wall = now_ns(), cpu = cpu_ns();

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, verb))
			verbs[i].run(job);
	cpu = job->cpu_ns > 0 ? job->cpu_ns : cpu_ns() - cpu;
	wall = job->wall_ns > 0 ? job->wall_ns : now_ns() - wall;
	printf("{\"wall_ns\": %.1f, \"cpu_ns\": %.1f, \"refused\": %ld, \"failed\": %ld}\n", wall / (double)job->calls, cpu / (double)job->calls,
	       job->refused, job->failed);
	fflush(stdout);
}

static int work(void)
{
	char line[256], verb[32], address[32];

	while (fgets(line, sizeof(line), stdin)) {
		struct job job = {.to.sin_family = AF_INET, .width = 1};
		int port = 0;

		if (sscanf(line, "%31s %31s %d %ld %ld %63s", verb, address, &port, &job.calls, &job.width, job.host) < 4 ||
		    inet_pton(AF_INET, address, &job.to.sin_addr) != 1 || job.width < 1 || (job.width > WIDTH_MAX && strcmp(verb, "udp_rotate")) ||
		    job.calls < 1)
			return 2;
		job.to.sin_port = htons((uint16_t)port);
		run(verb, &job);
	}
	return 0;
}

/* ---- the far end -------------------------------------------------------------------------------------------------------------------------- */

#define ANSWERS (1ull << 32) /* in an event's data: the connection came to port 80 */
#define ACCEPTS (1ull << 33) /* it is a listener */

static int listen_at(int epoll, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)fd | ACCEPTS | (port == 80 ? ANSWERS : 0)};

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4096) < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -1 : 0;
}

static void take(int epoll, const struct epoll_event *ready)
{
	int fd;

	while ((fd = accept4((int)(uint32_t)ready->data.u64, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)fd | (ready->data.u64 & ANSWERS)};

		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	}
}

/* A request has come whole when an empty line ends it: what is closed with something unread is reset. Until then it is left where it is. */
static ssize_t take_request(int fd, char *buffer, size_t size)
{
	ssize_t r = recv(fd, buffer, size, MSG_PEEK);

	if (r > 0 && (r < 4 || memcmp(buffer + r - 4, "\r\n\r\n", 4)))
		return 1;
	return r > 0 && read(fd, buffer, (size_t)r) == r && send(fd, HELLO, sizeof(HELLO) - 1, MSG_NOSIGNAL) > 0 ? 0 : r > 0 ? -1 : r;
}

static void read_on(const struct epoll_event *ready)
{
	static char buffer[4 * CHUNK];
	int fd = (int)(uint32_t)ready->data.u64;
	ssize_t r = ready->data.u64 & ANSWERS ? take_request(fd, buffer, sizeof(buffer)) : read(fd, buffer, sizeof(buffer));

	if (r == 0 || ready->events & (EPOLLHUP | EPOLLERR) || (r < 0 && errno != EAGAIN))
		close(fd);
}

static int serve(void)
{
	int epoll = epoll_create1(0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct epoll_event ready[64];

	/* A datagram has somewhere to go, and is dropped there: no error comes back. */
	if (bind(udp, (struct sockaddr *)&at, sizeof(at)) < 0 || listen_at(epoll, 443) < 0 || listen_at(epoll, 80) < 0)
		return 3;
	for (;;) {
		int count = epoll_wait(epoll, ready, 64, -1);

		for (int i = 0; i < count; i++) {
			if (ready[i].data.u64 & ACCEPTS)
				take(epoll, &ready[i]);
			else
				read_on(&ready[i]);
		}
	}
}

int main(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "serve") ? serve() : work();
}
