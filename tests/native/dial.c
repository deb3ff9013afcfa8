// SPDX-License-Identifier: GPL-2.0-only
/* dial.c - the least that a client does: resolve a name, connect to the first address that takes it, print one line of the answer. Built with glibc by the
 * Makefile and, statically, with musl by names_clients.bats */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char line[200];
	int error = argc == 3 ? getaddrinfo(argv[1], argv[2], &hints, &found) : EAI_NONAME;

	if (error) {
		fprintf(stderr, "dial: %s\n", gai_strerror(error));
		return 2;
	}
	for (const struct addrinfo *each = found; each; each = each->ai_next) {
		int fd = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
		ssize_t got = -1;

		if (fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen) == 0 && write(fd, "hello\n", 6) == 6)
			got = read(fd, line, sizeof(line));
		if (fd >= 0)
			close(fd);
		if (got > 0)
			return fwrite(line, 1, (size_t)got, stdout) == (size_t)got ? 0 : 1;
	}
	return 1;
}
