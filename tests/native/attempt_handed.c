// SPDX-License-Identifier: GPL-2.0-only
/* attempt_handed.c - what a careless caller leaves open: descriptors of every kind, and the terminal */
#include "attempt.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <utmp.h>
#include <unistd.h>

enum outcome verb_use_fd(struct attempt *a, char **args)
{
	ssize_t sent = write((int)number(args[0]), a->payload, strlen(a->payload));

	if (step(a, "write", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_use_fd_sendto(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = (int)number(args[0]);
	ssize_t sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);

	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, fd);
}

enum outcome verb_use_fd_openat(struct attempt *a, char **args)
{
	int fd = openat((int)number(args[0]), args[1], O_RDONLY | O_CLOEXEC);

	return step(a, "openat", fd) ? fail(a) : THROUGH;
}

static int open_tun(struct attempt *a)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	return step(a, "open", fd) || step(a, "ioctl", ioctl(fd, TUNSETIFF, &request)) ? -1 : fd;
}

static int open_map(struct attempt *a)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	int fd = (int)syscall(__NR_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));

	return step(a, "bpf", fd) ? -1 : fd;
}

/* Opens what `kind` says, takes its arguments from *args and moves that on. */
static int open_kind(struct attempt *a, const char *kind, char ***args)
{
	if (!strcmp(kind, "tcp") || !strcmp(kind, "udp")) {
		struct peer peer = peer_of((*args)[0], (*args)[1]);
		bool tcp = kind[0] == 't';
		int fd = open_socket(a, peer.address.ss_family, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);

		*args += 2;
		return fd < 0 || (tcp && dial(a, fd, &peer)) ? -1 : fd;
	}
	if (!strcmp(kind, "tun"))
		return open_tun(a);
	if (!strcmp(kind, "bpf"))
		return open_map(a);
	if (!strcmp(kind, "ring")) {
		struct peer peer = peer_of((*args)[0], (*args)[1]);
		struct ring *ring = ring_open(a, true, -1);

		*args += 2;
		return !ring || ring_lay_out(a, &peer) ? -1 : ring_descriptor(ring);
	}
	if (!strcmp(kind, "folder") || !strcmp(kind, "file")) {
		int fd = open(*(*args)++, (kind[1] == 'o' ? O_RDONLY | O_DIRECTORY : O_RDWR) | O_CLOEXEC);

		return step(a, "open", fd) ? -1 : fd;
	}
	errno = EINVAL;
	return step(a, kind, -1);
}

static enum outcome run_command(struct attempt *a, char **command)
{
	int status;
	pid_t child = fork();

	if (step(a, "fork", child))
		return fail(a);
	if (!child) {
		alarm(0);
		execvp(command[0], command);
		_exit(127);
	}
	/* The parent stays: a ring's thread and a connection live as long as somebody outside holds them. */
	alarm(0);
	if (step(a, "waitpid", waitpid(child, &status, 0)))
		return fail(a);
	/* The command spoke for itself. */
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

enum outcome verb_leak(struct attempt *a, char **args)
{
	const char *kind = args[0];
	int want = (int)number(args[1]), fd;

	args += 2;
	fd = open_kind(a, kind, &args);
	if (fd < 0)
		return fail(a);
	if (step(a, "dup2", dup2(fd, want)))
		return fail(a);
	if (!strcmp(kind, "ring")) {
		int companion = open_socket(a, AF_INET, SOCK_DGRAM, 0);

		if (companion < 0 || step(a, "dup2", dup2(companion, want + 1)))
			return fail(a);
	}
	if (!*args || strcmp(*args, "--") || !args[1])
		return a->call = "--", a->error = EINVAL, IMPOSSIBLE;
	return run_command(a, args + 1);
}

/* ---- the terminal --------------------------------------------------------------------------------------------------------------------------- */

enum outcome verb_tiocsti(struct attempt *a, char **args)
{
	int fd = args[0][0] == '/' ? open(args[0], O_RDWR | O_CLOEXEC | O_NOCTTY) : (int)number(args[0]);

	if (step(a, "open", fd))
		return fail(a);
	for (const char *byte = a->payload; *byte; byte++, a->sent++) {
		if (step(a, "ioctl", ioctl(fd, TIOCSTI, byte)))
			return fail(a);
	}
	return THROUGH;
}

/* EIO: dev.tty.legacy_tiocsti is 0, and the kernel lets nobody but root type. */
enum outcome verb_type_into(struct attempt *a, char **args)
{
	char *arguments[] = {args[1]};
	enum outcome outcome = verb_tiocsti(a, arguments);

	if (outcome == THROUGH)
		wait_for(args[0]);
	return a->error == EIO ? IMPOSSIBLE : outcome;
}

/* Relays what the terminal shows until its session's leader has ended. */
static int relay(int master, pid_t child)
{
	char block[1024];
	int status = -1;
	bool ended = false;

	for (int turns = 0; turns < 600; turns++) {
		struct pollfd waiting = {.fd = master, .events = POLLIN};
		ssize_t got = 0;

		if (poll(&waiting, 1, 100) > 0) {
			got = read(master, block, sizeof(block));
			if (got > 0 && write(STDOUT_FILENO, block, (size_t)got) < 0)
				break;
		}
		if (ended && got <= 0)
			break;
		if (!ended && waitpid(child, &status, WNOHANG) == child)
			ended = true;
	}
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return status;
}

/* `received` is what stands in the terminal's input queue after the command has ended: what the next program there would read. */
enum outcome verb_under_pty(struct attempt *a, char **args)
{
	int master, slave, status;
	struct termios raw;
	ssize_t got;
	pid_t child;

	alarm(0);
	if (step(a, "openpty", openpty(&master, &slave, NULL, NULL, NULL)))
		return fail(a);
	tcgetattr(slave, &raw);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	child = fork();
	if (step(a, "fork", child))
		return fail(a);
	if (!child) {
		close(master);
		login_tty(dup(slave));
		close(slave);
		execvp(args[0], args);
		_exit(127);
	}
	status = relay(master, child);
	fcntl(slave, F_SETFL, O_NONBLOCK);
	got = read(slave, a->received, sizeof(a->received) - 1);
	a->received[got > 0 ? got : 0] = '\0';
	a->call = "read";
	a->sent = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	return got > 0 ? THROUGH : REFUSED;
}
