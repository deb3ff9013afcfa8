// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood.c - connects that are refused, as fast as several threads can, and a permitted one now and then
 *
 * flood THREADS EACH REFUSED_ADDRESS FIRST_PORT PORTS PERMITTED_ADDRESS PERMITTED_PORT: every thread makes EACH attempts over TCP, on one socket, at the PORTS
 * ports in turn; after each hundredth part it makes one permitted connection, on a new socket. All at once: "refused N permitted N other N ms N". Exit 0 when
 * every attempt was refused with EPERM and every permitted connection came about.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define PERMITTED_TIMES 100

static struct sockaddr_in refused = {.sin_family = AF_INET}, permitted = {.sin_family = AF_INET};
static long each, first_port, ports;

struct tally {
	pthread_t thread;
	int number;
	long refused, permitted, other;
};

static int dial_permitted(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd >= 0 && connect(fd, (struct sockaddr *)&permitted, sizeof(permitted)) == 0;

	if (fd >= 0)
		close(fd);
	return r;
}

static void *run(void *argument)
{
	struct tally *tally = argument;
	struct sockaddr_in to = refused;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	for (long i = 0; i < each; i++) {
		/* each thread begins elsewhere, so that first sights meet each other */
		to.sin_port = htons((unsigned short)(first_port + (i + tally->number * (ports / 4 + 1)) % ports));
		if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno == EPERM)
			tally->refused++;
		else
			tally->other++;
		if (i % (each / PERMITTED_TIMES + 1) == 0)
			tally->permitted += dial_permitted();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct tally tallies[THREADS_MAX];
	struct tally sum = {0};
	struct timespec began, ended;
	long wanted = 0;
	int threads;

	if (argc != 8 || inet_pton(AF_INET, argv[3], &refused.sin_addr) != 1 || inet_pton(AF_INET, argv[6], &permitted.sin_addr) != 1)
		return 2;
	threads = atoi(argv[1]);
	each = atol(argv[2]);
	first_port = atol(argv[4]);
	ports = atol(argv[5]);
	permitted.sin_port = htons((unsigned short)atoi(argv[7]));
	if (threads < 1 || threads > THREADS_MAX || each < 1 || ports < 1)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &began);
	for (int i = 0; i < threads; i++) {
		tallies[i].number = i;
		if (pthread_create(&tallies[i].thread, NULL, run, &tallies[i]))
			return 3;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(tallies[i].thread, NULL);
		sum.refused += tallies[i].refused;
		sum.permitted += tallies[i].permitted;
		sum.other += tallies[i].other;
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	for (long i = 0; i < each; i += each / PERMITTED_TIMES + 1)
		wanted += threads;
	printf("refused %ld permitted %ld other %ld ms %ld\n", sum.refused, sum.permitted, sum.other,
	       (ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000);
	return sum.refused == threads * each && sum.permitted == wanted ? 0 : 1;
}
