// SPDX-License-Identifier: GPL-2.0-only
/*
 * named_cost.c - what a short connection costs: connect, the bytes of FILE, their echo, the end; the median and the 95th percentile as one line of JSON
 *
 *   named_cost ADDRESS PORT FILE CONNECTIONS
 *   named_cost serve ADDRESS PORT         the other end: echoes the first bytes and closes, so that no port of the client's is left waiting
 *
 * Both ends stay on the first processor: what is measured is then the work of all of them together, and not where the scheduler puts whom.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "measure.h"

static int serve(const struct sockaddr_in *at)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	char bytes[4096];

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listener < 0 || bind(listener, (const struct sockaddr *)at, sizeof(*at)) < 0 || listen(listener, 64) < 0)
		return 1;
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		ssize_t got = fd < 0 ? -1 : recv(fd, bytes, sizeof(bytes), 0);

		if (got > 0 && send(fd, bytes, (size_t)got, MSG_NOSIGNAL) < 0)
			perror("send");
		close(fd);
	}
}

static int connection(const struct sockaddr_in *to, const char *bytes, size_t length)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char back[4096];
	size_t have = 0;
	ssize_t got = -1;

	if (fd >= 0 && !connect(fd, (const struct sockaddr *)to, sizeof(*to)) && send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length) {
		while ((got = recv(fd, back, sizeof(back), 0)) > 0)
			have += (size_t)got;
	}
	close(fd);
	return !got && have == length ? 0 : -1;
}

int main(int argc, char **argv)
{
	bool serving = argc == 4 && !strcmp(argv[1], "serve");
	struct sockaddr_in at = {.sin_family = AF_INET};
	int count, file;
	char bytes[4096];
	double *took;
	ssize_t length;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if ((!serving && argc != 5) || inet_pton(AF_INET, argv[serving ? 2 : 1], &at.sin_addr) != 1)
		return 2;
	if (sched_setaffinity(0, sizeof(first), &first) < 0)
		return perror("sched_setaffinity"), 1;
	at.sin_port = htons((uint16_t)atoi(argv[serving ? 3 : 2]));
	if (serving)
		return serve(&at);
	file = open(argv[3], O_RDONLY);
	length = read(file, bytes, sizeof(bytes));
	count = atoi(argv[4]);
	took = calloc((size_t)count, sizeof(*took));
	for (int i = -count / 10; i < count; i++) {
		double began = now_ns();

		if (!took || length <= 0 || connection(&at, bytes, (size_t)length) < 0)
			return perror("connection"), 1;
		if (i >= 0)
			took[i] = now_ns() - began;
	}
	qsort(took, (size_t)count, sizeof(*took), by_value);
	printf("{\"p50_ns\": %.0f, \"p95_ns\": %.0f}\n", took[count / 2], took[count * 95 / 100]);
	return 0;
}
