// SPDX-License-Identifier: GPL-2.0-only
/* attempt_tcp.c - TCP in every way it can be dialled, and listening instead of dialling */
#include "attempt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

enum outcome verb_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);

	return reach(a, SOCK_STREAM, 0, &peer);
}

enum outcome verb_fork_tcp(struct attempt *a, char **args)
{
	int status, ends[2];
	pid_t child;

	if (step(a, "pipe", pipe(ends)))
		return fail(a);
	child = fork();
	if (step(a, "fork", child))
		return fail(a);
	if (!child) {
		enum outcome outcome = verb_tcp(a, args);

		if (write(ends[1], a, sizeof(*a)) != (ssize_t)sizeof(*a))
			_exit(IMPOSSIBLE);
		_exit(outcome);
	}
	/* The strings that `call` and `verb` point to stand at the same place in both. */
	if (read(ends[0], a, sizeof(*a)) != (ssize_t)sizeof(*a) || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return IMPOSSIBLE;
	return (enum outcome)WEXITSTATUS(status);
}

enum outcome verb_mapped_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_mapped(args[0], args[1]);

	return reach(a, SOCK_STREAM, 0, &peer);
}

enum outcome verb_tfo_sendto(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), MSG_FASTOPEN | MSG_NOSIGNAL, peer_sockaddr(&peer), peer.length);
	if (sent < 0 && (errno == EINPROGRESS || errno == EAGAIN))
		errno = ETIMEDOUT;
	if (step(a, "sendto", sent))
		return a->error == EOPNOTSUPP ? IMPOSSIBLE : fail(a);
	a->sent = sent;
	return answer(a, fd);
}

enum outcome verb_tfo_connect(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0), on = 1;

	if (fd < 0 || step(a, "setsockopt", setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on))) || dial(a, fd, &peer))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_mptcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);

	return reach(a, SOCK_STREAM, IPPROTO_MPTCP, &peer);
}

/* Writes a line every 50 ms until the wait is over: a peer's further addresses, or a policy that tightens, have time to act. */
static enum outcome keep_talking(struct attempt *a, int fd)
{
	for (int left = a->wait_ms; left > 0; left -= 50) {
		struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
		ssize_t sent = send(fd, a->payload, strlen(a->payload), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (step(a, "send", sent))
			return fail(a);
		a->sent += sent;
		nanosleep(&pause, NULL);
	}
	return THROUGH;
}

enum outcome verb_mptcp_hold(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, IPPROTO_MPTCP);

	if (fd < 0 || dial(a, fd, &peer))
		return fail(a);
	return keep_talking(a, fd);
}

enum outcome verb_hold_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || dial(a, fd, &peer))
		return fail(a);
	fprintf(stderr, "connected\n");
	return keep_talking(a, fd);
}

static int dissolve(struct attempt *a, int fd)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	a->received[0] = '\0'; /* what the first peer answered is no answer to what follows, be it a failure */
	a->sent = 0;
	return step(a, "disconnect", connect(fd, &none, sizeof(none)));
}

enum outcome verb_reconnect(struct attempt *a, char **args)
{
	struct peer first = peer_of(args[0], args[1]), second = peer_of(args[2], args[3]);
	int fd = open_socket(a, first.address.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || dial(a, fd, &first))
		return fail(a);
	if (talk(a, fd) != THROUGH || dissolve(a, fd))
		return fail(a);
	if (dial(a, fd, &second))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_high_pointer(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	void *high = mmap((void *)0x100000000UL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int tcp, udp;
	ssize_t sent;

	if (high == MAP_FAILED)
		return step(a, "mmap", -1), IMPOSSIBLE;
	memcpy(high, &peer.address, peer.length);
	udp = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);
	if (udp < 0)
		return fail(a);
	sent = sendto(udp, a->payload, strlen(a->payload), 0, high, peer.length);
	if (!step(a, "sendto", sent)) {
		a->sent = sent;
		return answer(a, udp);
	}
	tcp = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);
	if (tcp < 0 || step(a, "connect", connect(tcp, high, peer.length)))
		return fail(a);
	return talk(a, tcp);
}

enum outcome verb_zero_address(struct attempt *a, char **args)
{
	const char *address = !strcmp(args[0], "v4") ? "0.0.0.0" : !strcmp(args[0], "v6") ? "::" : "::ffff:0.0.0.0";
	struct peer peer = peer_of(address, args[1]);

	return reach(a, SOCK_STREAM, 0, &peer);
}

enum outcome verb_port_zero(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], "0");
	int udp = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0), tcp;
	ssize_t sent;

	if (udp < 0)
		return fail(a);
	/* A connected datagram socket takes port 0; sendto refuses it by itself with EINVAL. */
	if (!step(a, "connect", connect(udp, peer_sockaddr(&peer), peer.length))) {
		sent = send(udp, a->payload, strlen(a->payload), 0);
		if (!step(a, "send", sent))
			return a->sent = sent, THROUGH;
	}
	if (a->error == EPERM)
		return fail(a);
	tcp = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);
	if (tcp < 0 || dial(a, tcp, &peer))
		return fail(a);
	return talk(a, tcp);
}

enum outcome verb_scoped(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);

	if (peer.address.ss_family != AF_INET6)
		return IMPOSSIBLE;
	((struct sockaddr_in6 *)&peer.address)->sin6_scope_id = (uint32_t)number(args[2]);
	return reach(a, SOCK_STREAM, 0, &peer);
}

/* ---- listening ---------------------------------------------------------------------------------------------------------------------------- */

/* Tells on standard error which port to dial, then waits for one peer and sends it the payload: what an outbound check never sees. */
static enum outcome serve(struct attempt *a, int fd)
{
	struct sockaddr_storage local;
	socklen_t length = sizeof(local);
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	int peer;
	ssize_t sent;

	if (step(a, "listen", listen(fd, 4)) || step(a, "getsockname", getsockname(fd, (void *)&local, &length)))
		return fail(a);
	fprintf(stderr, "listening %u\n", ntohs(((struct sockaddr_in *)&local)->sin_port));
	if (poll(&waiting, 1, a->wait_ms) < 1)
		return a->call = "accept", a->error = ETIMEDOUT, REFUSED;
	peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (step(a, "accept", peer))
		return fail(a);
	sent = send(peer, a->payload, strlen(a->payload), MSG_NOSIGNAL);
	if (step(a, "send", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, peer);
}

enum outcome verb_listen_bound(struct attempt *a, char **args)
{
	struct peer local = peer_of(args[0], args[1]);
	int fd = open_socket(a, local.address.ss_family, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		return fail(a);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (step(a, "bind", bind(fd, peer_sockaddr(&local), local.length)))
		return fail(a);
	return serve(a, fd);
}

enum outcome verb_listen_unbound(struct attempt *a, char **args)
{
	int fd = open_socket(a, !strcmp(args[0], "v6") ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? fail(a) : serve(a, fd);
}

enum outcome verb_disconnect_listen(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[0], args[1]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || dial(a, fd, &peer) || talk(a, fd) != THROUGH || dissolve(a, fd))
		return fail(a);
	return serve(a, fd);
}

enum outcome verb_self_tcp(struct attempt *a, char **args)
{
	struct peer local = peer_of(args[0], args[1]);
	int fd = open_socket(a, local.address.ss_family, SOCK_STREAM, 0);
	enum outcome outcome;
	pid_t child;

	if (fd < 0 || step(a, "bind", bind(fd, peer_sockaddr(&local), local.length)) || step(a, "listen", listen(fd, 1)))
		return fail(a);
	child = fork();
	if (!child) {
		char line[200];
		int other = accept(fd, NULL, NULL);
		ssize_t got = other < 0 ? -1 : read(other, line, sizeof(line));

		_exit(got > 0 && write(other, line, (size_t)got) == got ? 0 : 1);
	}
	outcome = reach(a, SOCK_STREAM, 0, &local);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return outcome;
}

enum outcome verb_bind_only(struct attempt *a, char **args)
{
	struct peer local = peer_of(args[1], args[2]);
	int fd = open_socket(a, local.address.ss_family, !strcmp(args[0], "udp") ? SOCK_DGRAM : SOCK_STREAM, 0);

	if (fd < 0 || step(a, "bind", bind(fd, peer_sockaddr(&local), local.length)))
		return fail(a);
	return THROUGH;
}
