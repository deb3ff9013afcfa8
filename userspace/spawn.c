/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spawn.c - a child process whose time and output are bounded
 *
 * The child leads a process group of its own, so that what it started in the foreground dies with it. Descriptors beyond 0-2 are close-on-exec
 * throughout the program; standard error stays the caller's, where a driver may explain itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "clock.h"
#include "cleanup.h"
#include "driver.h"

struct talk {
	int in, out; /* our ends */
	const char *input;
	size_t input_length, written;
	char *output;
	size_t have, room;
};

static int grow(struct talk *talk)
{
	char *output;

	if (talk->have + 4096 < talk->room)
		return 0;
	if (talk->room >= NC_DRIVER_ANSWER_MAX)
		return -EFBIG;
	output = realloc(talk->output, talk->room ? talk->room * 2 : 16384);
	if (!output)
		return -ENOMEM;
	talk->output = output;
	talk->room = talk->room ? talk->room * 2 : 16384;
	return 0;
}

static void write_some(struct talk *talk)
{
	ssize_t wrote = write(talk->in, talk->input + talk->written, talk->input_length - talk->written);

	if (wrote > 0)
		talk->written += (size_t)wrote;
	/* A child that does not want its input may say so by closing it. */
	if (talk->written == talk->input_length || (wrote < 0 && errno != EAGAIN && errno != EINTR)) {
		close(talk->in);
		talk->in = -1;
	}
}

/* Until end of file. */
static int converse(struct talk *talk, int64_t until)
{
	for (;;) {
		struct pollfd fds[2] = {{.fd = talk->out, .events = POLLIN}, {.fd = talk->in, .events = POLLOUT}};
		int64_t left = until - nc_now_ms();
		ssize_t got;
		int r;

		if (left <= 0)
			return -ETIMEDOUT;
		r = poll(fds, 2, (int)left);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r <= 0)
			continue;
		if (fds[1].revents)
			write_some(talk);
		if (!fds[0].revents)
			continue;
		r = grow(talk);
		if (r < 0)
			return r;
		got = read(talk->out, talk->output + talk->have, talk->room - talk->have - 1);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!got)
			return 0;
		if (got > 0)
			talk->have += (size_t)got;
	}
}

static int reap(pid_t child, int64_t until, int *ret_status)
{
	struct timespec nap = {.tv_nsec = 1000000};

	for (;;) {
		pid_t done = waitpid(child, ret_status, WNOHANG);

		if (done == child)
			return 0;
		if (done < 0 && errno != EINTR)
			return -errno;
		if (nc_now_ms() >= until)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
}

static void __attribute__((noreturn)) become(char *const *argv, int in, int out, int (*before)(void *), void *context)
{
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || (before && before(context) < 0))
		_exit(127);
	setpgid(0, 0); /* not before: who leads a group cannot begin a session, and who leads a session has a group already */
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	_exit(127);
}

int nc_spawn_at_terminal(void *path)
{
	NC_CLOSE int fd = -1;

	if (setsid() < 0)
		return -errno;
	fd = open(path, O_RDWR | O_CLOEXEC); /* a leader's first terminal becomes its session's */
	return fd < 0 ? -errno : 0;
}

static int supervise(pid_t child, struct talk *talk, int deadline_ms, int *ret_status)
{
	int64_t until = nc_now_ms() + deadline_ms;
	int r = converse(talk, until);

	if (!r)
		r = reap(child, until, ret_status);
	if (r < 0) {
		kill(-child, SIGKILL);
		kill(child, SIGKILL);
		reap(child, nc_now_ms() + 2000, ret_status);
	}
	return r;
}

int nc_spawn_bounded(char *const *argv, const char *input, size_t input_length, int deadline_ms, int *ret_status, char **ret_output,
		     size_t *ret_length, int (*before)(void *context), void *context)
{
	struct talk talk = {.in = -1, .out = -1, .input = input, .input_length = input_length};
	NC_CLOSE int child_in = -1, child_out = -1;
	int pipe_in[2], pipe_out[2], r;
	pid_t child;

	if (pipe2(pipe_in, O_CLOEXEC) < 0)
		return -errno;
	child_in = pipe_in[0];
	talk.in = pipe_in[1];
	if (pipe2(pipe_out, O_CLOEXEC) < 0) {
		r = -errno;
		close(talk.in);
		return r;
	}
	talk.out = pipe_out[0];
	child_out = pipe_out[1];
	fcntl(talk.in, F_SETFL, O_NONBLOCK);
	fcntl(talk.out, F_SETFL, O_NONBLOCK);
	r = grow(&talk);
	child = r < 0 ? -1 : fork();
	if (!child)
		become(argv, child_in, child_out, before, context);
	if (child < 0)
		r = r < 0 ? r : -errno;
	close(NC_TAKE_FD(child_in));
	close(NC_TAKE_FD(child_out));
	if (child > 0) {
		r = supervise(child, &talk, deadline_ms, ret_status);
	}
	if (talk.in >= 0)
		close(talk.in);
	close(talk.out);
	if (r < 0) {
		free(talk.output);
		return r;
	}
	talk.output[talk.have] = '\0';
	*ret_output = talk.output;
	*ret_length = talk.have;
	return 0;
}
