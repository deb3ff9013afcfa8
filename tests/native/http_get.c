// SPDX-License-Identifier: GPL-2.0-only
/* http_get.c - the least that a client of HTTP does: resolve NAME, connect to port 80, ask for /, print the answer. Linked with musl, statically, by
 * server_name_clients.bats. Exit status 0: an answer came. */
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char bytes[4096];
	int error = argc == 2 ? getaddrinfo(argv[1], "80", &hints, &found) : EAI_NONAME;
	FILE *stream;
	size_t got;
	int fd;

	if (error) {
		fprintf(stderr, "http_get: %s\n", gai_strerror(error));
		return 2;
	}
	fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
		return perror("http_get: connect"), 2;
	stream = fdopen(fd, "r+");
	if (!stream || fprintf(stream, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", argv[1]) < 0 || fflush(stream))
		return perror("http_get: send"), 1;
	while ((got = fread(bytes, 1, sizeof(bytes), stream)) > 0)
		fwrite(bytes, 1, got, stdout);
	if (ferror(stream))
		return perror("http_get: receive"), 1;
	return 0;
}
