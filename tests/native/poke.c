// SPDX-License-Identifier: GPL-2.0-only
/*
 * poke.c - `poke FILE`: a neighbour that tries whatever begins to listen on the loopback of its network namespace, until FILE is there
 *
 * Prints how many new endpoints it found and how many of its datagrams and connections were not refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool known[2][2][65536];
static unsigned found, taken;

static void poke(bool datagram, bool v6, unsigned port)
{
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr *to = v6 ? (const void *)&to6 : (const void *)&to4;
	socklen_t length = v6 ? sizeof(to6) : sizeof(to4);

	for (int i = 0; i < 12; i++) { /* more than a backlog holds */
		int fd = socket(v6 ? AF_INET6 : AF_INET, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);

		if (datagram)
			taken += sendto(fd, "poke", 4, 0, to, length) == 4;
		else
			taken += !connect(fd, to, length) || errno == EINPROGRESS;
		close(fd);
	}
}

/* One table of /proc/net: what listens on loopback and was not there before is poked; the first look only learns. */
static void look(bool datagram, bool v6, bool learns)
{
	static const char *const names[2][2] = {{"/proc/net/tcp", "/proc/net/tcp6"}, {"/proc/net/udp", "/proc/net/udp6"}};
	FILE *file = fopen(names[datagram][v6], "re");
	char line[512], address[40];
	unsigned port, state;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", address, &port, &state) != 3 || port > 65535 || known[datagram][v6][port])
			continue;
		if (state != (datagram ? 7 : 10) || strcmp(address, v6 ? "00000000000000000000000001000000" : "0100007F"))
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
