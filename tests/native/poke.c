// SPDX-License-Identifier: GPL-2.0-only
/*
 * poke.c - `poke FILE`: a neighbour that tries whatever begins to listen on the loopback of its network namespace, until FILE is there
 *
 * Prints how many new endpoints it found and how many of its datagrams and connections were not refused. The listener may be quicker to close: what was sent to
 * nobody does not count, so a datagram counts when its port still listens afterwards, and a connection when it was made.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool known[2][2][65536];
static unsigned found, taken;

static const char *const tables[2][2] = {{"/proc/net/tcp", "/proc/net/tcp6"}, {"/proc/net/udp", "/proc/net/udp6"}};

/* Is the line of such a table one of a socket that listens on loopback? */
static bool is_listener(const char *line, bool datagram, bool v6, unsigned *ret_port)
{
	char address[40];
	unsigned state;

	return sscanf(line, "%*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", address, ret_port, &state) == 3 && *ret_port <= 65535 &&
	       state == (datagram ? 7 : 10) && !strcmp(address, v6 ? "00000000000000000000000001000000" : "0100007F");
}

static bool still_listens(bool datagram, bool v6, unsigned port)
{
	FILE *file = fopen(tables[datagram][v6], "re");
	char line[512];
	unsigned listed;
	bool found_it = false;

	while (file && !found_it && fgets(line, sizeof(line), file))
		found_it = is_listener(line, datagram, v6, &listed) && listed == port;
	if (file)
		fclose(file);
	return found_it;
}

static bool connected(int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int error = 0;

	return poll(&waiting, 1, 20) == 1 && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) && !error;
}

static void poke(bool datagram, bool v6, unsigned port)
{
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr *to = v6 ? (const void *)&to6 : (const void *)&to4;
	socklen_t length = v6 ? sizeof(to6) : sizeof(to4);

	for (int i = 0; i < 12; i++) { /* more than a backlog holds */
		int fd = socket(v6 ? AF_INET6 : AF_INET, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);

		if (datagram)
			taken += sendto(fd, "poke", 4, 0, to, length) == 4 && still_listens(true, v6, port);
		else
			taken += !connect(fd, to, length) || (errno == EINPROGRESS && connected(fd));
		close(fd);
	}
}

/* One table of /proc/net: what listens on loopback and was not there before is poked; the first look only learns. */
static void look(bool datagram, bool v6, bool learns)
{
	FILE *file = fopen(tables[datagram][v6], "re");
	char line[512];
	unsigned port;

	while (file && fgets(line, sizeof(line), file)) {
		if (!is_listener(line, datagram, v6, &port) || known[datagram][v6][port])
			continue;
		known[datagram][v6][port] = true;
		if (learns)
			continue;
		found++;
		poke(datagram, v6, port);
	}
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	bool learns = true;

	for (int round = 0; argc == 2 && round < 1000000 && access(argv[1], F_OK); round++, learns = false)
		for (int which = 0; which < 4; which++)
			look(which & 1, which >> 1, learns);
	printf("%u found, %u taken\n", found, taken);
	return 0;
}
