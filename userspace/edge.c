/* SPDX-License-Identifier: GPL-2.0-only */
/* edge.c - the supervisor's side of the edge: started with fixed descriptors, heard with care, ended for certain. edge_main.c is the other side */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "edge.h"
#include "launch.h"

#define EDGE_HIGH 64 /* sources of descriptors are first moved up here, out of the way of the fixed numbers */

void nc_edge_execute(int program, char *const *argv)
{
	static char *const no_environment[] = {NULL};

	syscall(SYS_execveat, program, "", argv, no_environment, AT_EMPTY_PATH);
	_exit(NC_EXIT_OURS);
}

/*
 * After vfork: the memory is the parent's, so only calls. `fds` are moved to 3 and up, in their order; -1 leaves its place closed. `program` follows them until
 * it is executed.
 */
static void become_edge(int program, int fds[EDGE_FREE - EDGE_RING], char *const *argv)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;
	int null;

	/* the parent's blocked signals and ignored SIGPIPE are not for the edge */
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < EDGE_FREE - EDGE_RING; i++) {
		if (fds[i] >= 0 && (fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, EDGE_HIGH)) < 0)
			_exit(NC_EXIT_OURS);
	}
	program = fcntl(program, F_DUPFD_CLOEXEC, EDGE_HIGH);
	if (program < 0)
		_exit(NC_EXIT_OURS);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || setsid() < 0)
		_exit(NC_EXIT_OURS);
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(null, fd) < 0)
			_exit(NC_EXIT_OURS);
	}
	for (int i = 0; i < EDGE_FREE - EDGE_RING; i++) {
		close(EDGE_RING + i);
		if (fds[i] >= 0 && dup2(fds[i], EDGE_RING + i) < 0)
			_exit(NC_EXIT_OURS);
	}
	if (dup3(program, EDGE_FREE, O_CLOEXEC) < 0 || syscall(SYS_close_range, EDGE_FREE + 1, ~0u, 0u) < 0)
		_exit(NC_EXIT_OURS);
	nc_edge_execute(EDGE_FREE, argv);
}

/* The edge's program stands beside this one. */
static int program_path(char ret_path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret_path, PATH_MAX - sizeof(NC_EDGE_SUFFIX));

	if (length < 0)
		return -errno;
	memcpy(ret_path + length, NC_EDGE_SUFFIX, sizeof(NC_EDGE_SUFFIX));
	return access(ret_path, X_OK) < 0 ? -errno : 0;
}

int nc_edge_open(void)
{
	char path[PATH_MAX];
	int r = program_path(path), fd;

	if (r < 0)
		return r;
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nc_edge_start(int program, int ring_fd, uint64_t generation, uid_t uid, const char *runtime, const struct nc_edge_resolver resolvers[2],
		  struct nc_edge *ret_edge, struct nc_error *reterr)
{
	char generation_text[24], uid_text[16];
	char which[] = {(char)('0' + (resolvers[0].config_fd >= 0) + 2 * (resolvers[1].config_fd >= 0)), '\0'};
	char *argv[] = {"netcordon-edge", generation_text, uid_text, (char *)runtime, which, NULL};
	int fds[EDGE_FREE - EDGE_RING] = {ring_fd};
	int pair[2];
	pid_t pid;

	if (program < 0) {
		nc_error_sys(reterr, NC_E_SYSTEM, program, "open the edge's program, which stands beside netcordon's and is called netcordon-edge");
		return nc_error_hint(reterr, "install netcordon whole, then start another instance");
	}
	snprintf(generation_text, sizeof(generation_text), "%llu", (unsigned long long)generation);
	snprintf(uid_text, sizeof(uid_text), "%u", uid);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make the edge's socket pair");
	fds[1] = pair[1];
	for (int i = 0; i < 2; i++) {
		fds[EDGE_CONFIG(i) - EDGE_RING] = resolvers[i].config_fd;
		memcpy(&fds[EDGE_CONFIG(i) + 1 - EDGE_RING], resolvers[i].sockets, sizeof(resolvers[i].sockets));
	}
	pid = vfork();
	if (pid == 0)
		become_edge(program, fds, argv);
	if (pid < 0) {
		nc_error_sys(reterr, NC_E_SYSTEM, -errno, "start the edge");
		close(pair[0]);
		close(pair[1]);
		return reterr->status;
	}
	close(pair[1]);
	*ret_edge = (struct nc_edge){.pid = pid, .fd = pair[0], .uid = uid};
	return 0;
}

/* How large a message of its kind and count is; 0: there is no such message. */
static size_t size_of(const struct nc_edge_message *message)
{
	switch (message->kind) {
	case NC_EDGE_EVENTS:
		return message->count <= NC_EDGE_BATCH ? NC_EDGE_HEAD + message->count * sizeof(struct nc_event) : 0;
	case NC_EDGE_GRANT:
		return message->count <= NC_EDGE_GRANT_MAX
			       ? NC_EDGE_HEAD + offsetof(struct nc_edge_grant, addresses) + message->count * sizeof(union nc_address)
			       : 0;
	case NC_EDGE_NAMED:
		return NC_EDGE_HEAD + sizeof(struct nc_named_event);
	case NC_EDGE_NAME:
		return NC_EDGE_HEAD + sizeof(struct nc_edge_name);
	default:
		return NC_EDGE_HEAD;
	}
}

int nc_edge_receive(struct nc_edge *edge, struct nc_edge_message *ret_message)
{
	ssize_t n = recv(edge->fd, ret_message, sizeof(*ret_message), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	/* The edge reads what a workload caused: what it says is checked as if the workload had said it. */
	if (n < (ssize_t)NC_EDGE_HEAD || (size_t)n != size_of(ret_message))
		return -EPROTO;
	return 1;
}

static int say(struct nc_edge *edge, const struct nc_edge_message *message)
{
	return send(edge->fd, message, NC_EDGE_HEAD, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int nc_edge_flush(struct nc_edge *edge)
{
	return say(edge, &(struct nc_edge_message){.kind = NC_EDGE_FLUSH});
}

int nc_edge_finish(struct nc_edge *edge)
{
	return say(edge, &(struct nc_edge_message){.kind = NC_EDGE_FINISH});
}

int nc_edge_exchange_names(struct nc_edge *edge, int i, int config_fd)
{
	struct nc_edge_message message = {.kind = NC_EDGE_NAMES, .count = (uint32_t)i};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec part = {.iov_base = &message, .iov_len = NC_EDGE_HEAD};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.head), &config_fd, sizeof(config_fd));
	return sendmsg(edge->fd, &head, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int nc_edge_granted(struct nc_edge *edge, int status)
{
	return say(edge, &(struct nc_edge_message){.kind = NC_EDGE_GRANTED, .status = status});
}

void nc_edge_end(struct nc_edge *edge)
{
	if (edge->fd >= 0)
		close(edge->fd);
	edge->fd = -1;
	if (edge->pid > 0) {
		kill(edge->pid, SIGKILL); /* it has nothing left to say: whoever wanted it flushed has done so */
		while (waitpid(edge->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	edge->pid = 0;
}
