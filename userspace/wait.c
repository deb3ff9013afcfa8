/* SPDX-License-Identifier: GPL-2.0-only */
/* wait.c - waits of a launch that end: by what was waited for, by the deadline, or by a signal */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "launch_state.h"

/* Until a command runs there is nobody to hand a signal to: those that ask for an end, end the launch; others wait for the command. */
int nc_launch_check_signals(struct nc_launch *launch, struct nc_error *reterr)
{
	static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	const struct timespec moment = {.tv_nsec = 2000000};
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "sigpending");
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		if (!sigismember(&pending, ending[i]))
			continue;
		nc_error_set(reterr, NC_E_LAUNCH_STOPPED, -EINTR, "signal %d ended the launch in phase %s", ending[i], launch->phase);
		return nc_error_hint(reterr, "`netcordon stop` sends TERM, as whoever started the launch may; the command has not run");
	}
	nanosleep(&moment, NULL); /* one for the command stays pending until there is one, so poll does not wait for it again */
	return 0;
}

int nc_launch_too_late(const struct nc_launch *launch, struct nc_error *reterr)
{
	nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "phase %s took longer than was allowed", launch->phase);
	if (launch->deadline_ns && nc_now_ns() >= launch->deadline_ns)
		return nc_error_hint(reterr, "--deadline is the time until the command has started, what the Runner takes to say go included");
	return nc_error_hint(reterr, "no step of a launch may take longer than %d s: this host is too busy, or a process hangs", NC_STEP_MS / 1000);
}

static int64_t until_when(const struct nc_launch *launch)
{
	int64_t until = nc_now_ns() + (int64_t)NC_STEP_MS * 1000000;

	return launch->deadline_ns && launch->deadline_ns < until ? launch->deadline_ns : until;
}

/* One bounded poll: 1 when fd has something. When the command is over, a signal means nothing any more. */
static int poll_once(struct nc_launch *launch, int fd, int64_t left_ns, struct nc_error *reterr)
{
	struct pollfd polls[2] = {{.fd = fd, .events = POLLIN}, {.fd = launch->signal_fd, .events = POLLIN}};
	int r = poll(polls, launch->over ? 1 : 2, left_ns > 1000000000 ? 1000 : (int)(left_ns / 1000000) + 1);

	if (r < 0)
		return errno == EINTR ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "poll");
	r = polls[1].revents ? nc_launch_check_signals(launch, reterr) : 0;
	return r < 0 ? r : polls[0].revents != 0;
}

int nc_launch_wait_readable(struct nc_launch *launch, int fd, struct nc_error *reterr)
{
	int64_t until = until_when(launch);
	int r = 0;

	while (r == 0) {
		int64_t left = until - nc_now_ns();

		if (left <= 0)
			return nc_launch_too_late(launch, reterr);
		r = poll_once(launch, fd, left, reterr);
	}
	return r < 0 ? r : 0;
}

int nc_launch_receive(struct nc_launch *launch, int fd, void *buffer, size_t size, size_t *ret_got, struct nc_error *reterr)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n;
		int r = nc_launch_wait_readable(launch, fd, reterr);

		if (r < 0)
			return r;
		n = read(fd, (char *)buffer + got, size - got);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "read in phase %s", launch->phase);
		if (n == 0)
			break;
		if (n > 0)
			got += (size_t)n;
	}
	*ret_got = got;
	return 0;
}

int nc_launch_in_netns(struct nc_launch *launch, int (*act)(struct nc_launch *launch, struct nc_error *reterr), struct nc_error *reterr)
{
	int r;

	if (launch->netns_fd < 0)
		return act(launch, reterr);
	if (setns(launch->netns_fd, CLONE_NEWNET) < 0)
		return nc_error_sys(reterr, NC_E_HOST_DENIED, -errno, "enter the workload's network namespace");
	r = act(launch, reterr);
	nc_netns_return(launch->own_netns_fd);
	return r;
}
