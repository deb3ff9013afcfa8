/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge.c - both sides of the edge: how the supervisor starts it, and what it does
 *
 * The edge begins as root with exactly two descriptors beside 0-2 (which are /dev/null): it opens the ring, which older kernels allow only to the privileged,
 * and then gives everything up before it reads the first record. It ends when the supervisor's end of the pair is closed, however that came about.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "cleanup.h"
#include "edge.h"
#include "launch.h"
#include "loader.h"
#include "seccomp_filter.h"

enum { EDGE_RING = 3, EDGE_PAIR, EDGE_FREE };

/* ---- the supervisor's side -------------------------------------------------------------------------------------------------------------------- */

/* After vfork: the memory is the parent's, so only calls. */
static void become_edge(int ring_fd, int pair_fd, char *const *argv)
{
	static char *const no_environment[] = {NULL};
	struct sigaction action = {.sa_handler = SIG_DFL};
	int ring, pair, null;
	sigset_t none;

	/* the parent's blocked signals and ignored SIGPIPE are not for the edge */
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	ring = fcntl(ring_fd, F_DUPFD_CLOEXEC, 64);
	pair = fcntl(pair_fd, F_DUPFD_CLOEXEC, 64);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (ring < 0 || pair < 0 || null < 0 || setsid() < 0)
		_exit(NC_EXIT_OURS);
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(null, fd) < 0)
			_exit(NC_EXIT_OURS);
	}
	if (dup2(ring, EDGE_RING) < 0 || dup2(pair, EDGE_PAIR) < 0 || syscall(SYS_close_range, EDGE_FREE, ~0u, 0u) < 0)
		_exit(NC_EXIT_OURS);
	execve("/proc/self/exe", argv, no_environment);
	_exit(NC_EXIT_OURS);
}

int nc_edge_start(int ring_fd, uint64_t generation, uid_t uid, const char *runtime, struct nc_edge *ret_edge, struct nc_error *reterr)
{
	char generation_text[24], uid_text[16];
	char *argv[] = {"netcordon", NC_EDGE_COMMAND, generation_text, uid_text, (char *)runtime, NULL};
	int pair[2];
	pid_t pid;

	snprintf(generation_text, sizeof(generation_text), "%llu", (unsigned long long)generation);
	snprintf(uid_text, sizeof(uid_text), "%u", uid);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make the edge's socket pair");
	pid = vfork();
	if (pid == 0)
		become_edge(ring_fd, pair[1], argv);
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

int nc_edge_receive(struct nc_edge *edge, struct nc_edge_message *ret_message)
{
	ssize_t n = recv(edge->fd, ret_message, sizeof(*ret_message), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	/* The edge reads what a workload caused: what it says is checked as if the workload had said it. */
	if (n < (ssize_t)NC_EDGE_HEAD || ret_message->count > NC_EDGE_BATCH ||
	    (size_t)n != NC_EDGE_HEAD + (ret_message->kind == NC_EDGE_EVENTS ? ret_message->count * sizeof(struct nc_event) : 0))
		return -EPROTO;
	return 1;
}

int nc_edge_flush(struct nc_edge *edge)
{
	struct nc_edge_message message = {.kind = NC_EDGE_FLUSH};

	return send(edge->fd, &message, NC_EDGE_HEAD, MSG_NOSIGNAL) < 0 ? -errno : 0;
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

/* ---- the edge's side --------------------------------------------------------------------------------------------------------------------------- */

struct edge {
	struct nc_events *events;
	uint64_t generation;
	struct nc_edge_message batch;
};

/* Waits for the supervisor when it is slow: the ring is the buffer, and what does not fit into it is counted by the kernel. */
static int tell(const void *message, size_t size)
{
	return send(EDGE_PAIR, message, size, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int tell_kind(enum nc_edge_kind kind, int status)
{
	struct nc_edge_message message = {.kind = kind, .status = status};

	return tell(&message, NC_EDGE_HEAD);
}

static int send_batch(struct edge *edge)
{
	size_t size = NC_EDGE_HEAD + edge->batch.count * sizeof(struct nc_event);
	int r = 0;

	edge->batch.kind = NC_EDGE_EVENTS;
	if (edge->batch.count > 0)
		r = tell(&edge->batch, size);
	edge->batch.count = 0;
	return r;
}

static int collect(void *context, const struct nc_event *event)
{
	struct edge *edge = context;

	edge->batch.events[edge->batch.count++] = *event;
	return edge->batch.count == NC_EDGE_BATCH ? send_batch(edge) : 0;
}

static int hand_over(struct edge *edge)
{
	struct nc_error error = {0};
	int r = nc_events_drain(edge->events, edge->generation, collect, edge, &error);

	return r < 0 ? r : send_batch(edge);
}

/* Returns 0 to go on, 1 when the supervisor is gone. */
static int take_order(struct edge *edge)
{
	struct nc_edge_message message;
	ssize_t n = recv(EDGE_PAIR, &message, sizeof(message), MSG_DONTWAIT);
	int r;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : 1;
	if (n < (ssize_t)NC_EDGE_HEAD)
		return 1;
	if (message.kind != NC_EDGE_FLUSH)
		return -EPROTO;
	r = hand_over(edge);
	return r < 0 ? r : tell_kind(NC_EDGE_FLUSHED, 0);
}

static int serve(struct edge *edge)
{
	struct pollfd polls[2] = {{.fd = nc_events_poll_fd(edge->events), .events = POLLIN}, {.fd = EDGE_PAIR, .events = POLLIN}};
	int r = 0;

	while (r == 0) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (polls[0].revents)
			r = hand_over(edge);
		if (r == 0 && polls[1].revents)
			r = take_order(edge);
	}
	return r < 0 ? r : 0;
}

static int give_up_privileges(const char *runtime, uid_t uid, struct nc_error *reterr)
{
	static const struct nc_seccomp_choice choice = {.refuse_unix = true};
	static const struct rlimit no_core = {0, 0};
	struct nc_seccomp filter = {0};
	const char *step = "";
	int r = nc_seccomp_filter(runtime, &choice, &filter, reterr);

	if (r < 0)
		return r;
	setrlimit(RLIMIT_CORE, &no_core); /* belt and braces: a process that is not dumpable leaves no core either */
	r = nc_privileges_drop(uid, uid, &filter.program, &step);
	nc_seccomp_free(&filter);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "the edge: %s", step) : 0;
}

int nc_edge_main(int argc, char **argv)
{
	struct edge *edge = calloc(1, sizeof(*edge));
	struct nc_error error = {0};
	int r;

	if (argc != 5 || !edge)
		return NC_EXIT_OURS;
	umask(077);
	edge->generation = strtoull(argv[2], NULL, 10);
	r = nc_events_open(EDGE_RING, &edge->events, &error);
	if (r == 0)
		r = give_up_privileges(argv[4], (uid_t)strtoul(argv[3], NULL, 10), &error);
	if (r == 0)
		r = tell_kind(NC_EDGE_READY, 0);
	if (r == 0)
		r = serve(edge);
	if (r < 0)
		tell_kind(NC_EDGE_FAILED, r);
	nc_events_close(edge->events);
	free(edge);
	return r < 0 ? NC_EXIT_OURS : 0;
}
