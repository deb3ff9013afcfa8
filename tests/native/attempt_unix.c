// SPDX-License-Identifier: GPL-2.0-only
/* attempt_unix.c - AF_UNIX: a helper outside that acts for the workload, and sockets that travel over it in either direction */
#include "attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct peer unix_peer(const char *name, bool abstract)
{
	struct peer peer = {0};
	struct sockaddr_un *address = (void *)&peer.address;
	size_t length = strnlen(name, sizeof(peer.address) - sizeof(address->sun_family) - 2);

	_Static_assert(sizeof(struct sockaddr_storage) >= sizeof(struct sockaddr_un), "a path fits");
	address->sun_family = AF_UNIX;
	if (length >= sizeof(address->sun_path) - 1)
		length = sizeof(address->sun_path) - 2;
	memcpy(address->sun_path + (abstract ? 1 : 0), name, length);
	peer.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	return peer;
}

static enum outcome unix_stream(struct attempt *a, const char *name, bool abstract)
{
	struct peer peer = unix_peer(name, abstract);

	return reach(a, SOCK_STREAM, 0, &peer);
}

/* One way: a datagram has nowhere to be answered to. */
static enum outcome unix_dgram(struct attempt *a, const char *name, bool abstract)
{
	struct peer peer = unix_peer(name, abstract);
	int fd = open_socket(a, AF_UNIX, SOCK_DGRAM, 0);
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_unix_path(struct attempt *a, char **args)
{
	return unix_stream(a, args[0], false);
}

enum outcome verb_unix_path_dgram(struct attempt *a, char **args)
{
	return unix_dgram(a, args[0], false);
}

enum outcome verb_unix_abstract(struct attempt *a, char **args)
{
	return unix_stream(a, args[0], true);
}

enum outcome verb_unix_abstract_dgram(struct attempt *a, char **args)
{
	return unix_dgram(a, args[0], true);
}

int send_fd(int channel, int fd)
{
	char byte = 'f';
	struct iovec text = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(channel, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int receive_fd(int channel)
{
	char byte;
	struct iovec text = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *first;
	int fd = -1;

	if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) < 0)
		return -1;
	first = CMSG_FIRSTHDR(&message);
	if (!first || first->cmsg_type != SCM_RIGHTS) {
		errno = ENOMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(first), sizeof(fd));
	return fd;
}

enum outcome verb_unix_pair(struct attempt *a, char **args)
{
	int pair[2], file, got;

	(void)args;
	if (step(a, "socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)))
		return fail(a);
	file = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (step(a, "sendmsg", send_fd(pair[0], file)))
		return fail(a);
	got = receive_fd(pair[1]);
	if (step(a, "recvmsg", got))
		return fail(a);
	a->sent = 1;
	return THROUGH;
}

/* An end of a fresh pair of this kind sends to the name. Does the datagram leave the pair? -1: there is no such pair. */
static int pair_leads_out(struct attempt *a, int kind, struct peer *peer)
{
	char text[64];
	ssize_t sent, inside;
	int pair[2];

	if (step(a, "socketpair", socketpair(AF_UNIX, kind, 0, pair)))
		return -1;
	snprintf(text, sizeof(text), "of a pair of kind %d", kind & 0xf);
	sent = sendto(pair[0], text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, peer_sockaddr(peer), peer->length);
	step(a, "sendto", sent);
	/* whatever the name did, the end is no way out by connect() or listen() either */
	if (sent < 0 && connect(pair[0], peer_sockaddr(peer), peer->length) == 0)
		sent = send(pair[0], text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	inside = sent < 0 ? -1 : recv(pair[1], text, sizeof(text), MSG_DONTWAIT);
	close(pair[0]);
	close(pair[1]);
	return sent >= 0 && inside < 0;
}

/* No socket(AF_UNIX) is needed for it: a filter that allows socketpair() allows this. `received` tells the kinds that could be made. */
enum outcome verb_unix_pairs(struct attempt *a, char **args)
{
	static const int flags[] = {0, SOCK_NONBLOCK, SOCK_CLOEXEC, SOCK_NONBLOCK | SOCK_CLOEXEC};
	struct peer peer = unix_peer(args[0], false);
	char *end = a->received;

	for (int kind = 0; kind < 16; kind++) {
		int made = 0;

		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			int out = pair_leads_out(a, kind | flags[i], &peer);

			made += out >= 0;
			a->sent += out > 0;
		}
		if (made)
			end += sprintf(end, "%d*%d ", kind, made);
	}
	return a->sent ? THROUGH : REFUSED;
}

/* The call itself: the library's function would cut the upper half of the register off. */
enum outcome verb_pair(struct attempt *a, char **args)
{
	int pair[2];

	return step(a, "socketpair", syscall(SYS_socketpair, (long)AF_UNIX, number(args[0]), 0L, pair)) ? fail(a) : THROUGH;
}

enum outcome verb_unix_own(struct attempt *a, char **args)
{
	struct peer peer = unix_peer(args[0], false);
	int fd = open_socket(a, AF_UNIX, SOCK_STREAM, 0), status;
	enum outcome outcome;
	pid_t child;

	unlink(args[0]);
	if (fd < 0 || step(a, "bind", bind(fd, peer_sockaddr(&peer), peer.length)) || step(a, "listen", listen(fd, 1)))
		return fail(a);
	child = fork();
	if (!child) {
		char line[200];
		int other = accept(fd, NULL, NULL);
		ssize_t got = other < 0 ? -1 : read(other, line, sizeof(line));

		_exit(got > 0 && write(other, line, (size_t)got) == got ? 0 : 1);
	}
	outcome = unix_stream(a, args[0], false);
	if (outcome != THROUGH)
		shutdown(fd, SHUT_RDWR);
	waitpid(child, &status, 0);
	unlink(args[0]);
	return outcome;
}

/* ---- sockets that travel ---------------------------------------------------------------------------------------------------------------------- */

static int unix_dial(struct attempt *a, const char *path)
{
	struct peer peer = unix_peer(path, false);
	int fd = open_socket(a, AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 || dial(a, fd, &peer) ? -1 : fd;
}

/* A listener on PATH that anybody may dial; waits for one peer. */
static int unix_serve(struct attempt *a, const char *path)
{
	struct peer peer = unix_peer(path, false);
	struct pollfd waiting = {.events = POLLIN};
	int fd = open_socket(a, AF_UNIX, SOCK_STREAM, 0), channel;

	unlink(path);
	if (fd < 0 || step(a, "bind", bind(fd, peer_sockaddr(&peer), peer.length)) || step(a, "chmod", chmod(path, 0777)) ||
	    step(a, "listen", listen(fd, 1)))
		return -1;
	fprintf(stderr, "listening %s\n", path);
	waiting.fd = fd;
	if (poll(&waiting, 1, a->wait_ms) < 1) {
		errno = ETIMEDOUT;
		return step(a, "accept", -1);
	}
	channel = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	unlink(path);
	return step(a, "accept", channel) ? -1 : channel;
}

/* Uses a socket of unknown kind: a connected one is written to, another is sent or connected to the address. */
static enum outcome use_socket(struct attempt *a, int fd, struct peer *peer)
{
	struct sockaddr_storage other;
	socklen_t length = sizeof(other);

	if (getpeername(fd, (void *)&other, &length) && dial(a, fd, peer))
		return fail(a);
	return talk(a, fd);
}

enum outcome verb_scm_receive(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int channel = unix_dial(a, args[0]), fd;

	if (channel < 0)
		return fail(a);
	fd = receive_fd(channel);
	return step(a, "recvmsg", fd) ? fail(a) : use_socket(a, fd, &peer);
}

enum outcome verb_scm_send(struct attempt *a, char **args)
{
	int fd = open_socket(a, AF_INET, !strcmp(args[0], "tcp") ? SOCK_STREAM : SOCK_DGRAM, 0), channel;

	if (fd < 0)
		return fail(a);
	channel = unix_dial(a, args[1]);
	if (channel < 0 || step(a, "sendmsg", send_fd(channel, fd)))
		return fail(a);
	a->sent = 1;
	return answer(a, channel);
}

enum outcome verb_scm_giver(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[2], args[3]);
	bool tcp = !strcmp(args[0], "tcp");
	int fd = open_socket(a, peer.address.ss_family, tcp ? SOCK_STREAM : SOCK_DGRAM, 0), channel;

	if (fd < 0 || (tcp && dial(a, fd, &peer)))
		return fail(a);
	channel = unix_serve(a, args[1]);
	if (channel < 0 || step(a, "sendmsg", send_fd(channel, fd)))
		return fail(a);
	/* The taker closes its end when it is done: until then the connection has to live. */
	answer(a, channel);
	return THROUGH;
}

enum outcome verb_scm_taker(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int channel = unix_serve(a, args[0]), fd;
	enum outcome outcome;
	char line[64];

	if (channel < 0)
		return fail(a);
	fd = receive_fd(channel);
	if (step(a, "recvmsg", fd))
		return fail(a);
	outcome = use_socket(a, fd, &peer);
	snprintf(line, sizeof(line), "%s %s\n", a->call, a->error ? strerrorname_np(a->error) : "none");
	if (send(channel, line, strlen(line), MSG_NOSIGNAL) < 0)
		return REFUSED;
	return outcome;
}
