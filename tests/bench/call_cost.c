// SPDX-License-Identifier: GPL-2.0-only
/* call_cost.c - what one call costs: UDP connect() and sendto() to ADDRESS PORT, the median of many rounds, in nanoseconds, as one line of JSON */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "measure.h"

#define ROUNDS 61
#define CALLS 2000

static int call(int kind, int fd, const struct sockaddr_in *to)
{
	if (kind == 0)
		return connect(fd, (const struct sockaddr *)to, sizeof(*to));
	return sendto(fd, "x", 1, MSG_DONTWAIT, (const struct sockaddr *)to, sizeof(*to)) < 0 ? -1 : 0;
}

static double cost(int kind, const struct sockaddr_in *to)
{
	double rounds[ROUNDS];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || call(kind, fd, to) < 0)
		return -1;
	for (int round = 0; round < ROUNDS; round++) {
		double began = now_ns();

		for (int i = 0; i < CALLS; i++)
			call(kind, fd, to);
		rounds[round] = (now_ns() - began) / CALLS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
	return rounds[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};

	if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((uint16_t)atoi(argv[2]));
	printf("{\"connect_ns\": %.0f, \"sendto_ns\": %.0f}\n", cost(0, &to), cost(1, &to));
	return 0;
}
