/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.c - births the workload's first process inside the cordon
 *
 * clone3 with CLONE_INTO_CGROUP (Linux 5.7): there is no moment at which the process exists and is not in its cgroup. Where clone3 is missing or a
 * filter around us refuses it, an ordinary clone is held at its first instruction until it was moved and its membership was read back (L05).
 *
 * The child gets fixed descriptors (child.h) and no other: everything above them is closed at once by close_range (Linux 5.9).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "child.h"
#include "cleanup.h"
#include "clock.h"
#include "loader.h"
#include "mutants.h"

#define NAMESPACES ((NC_MUTANT_OFF("pid_namespace") ? 0 : CLONE_NEWPID) | CLONE_NEWNS | CLONE_NEWIPC)
#define HIGH_FD 64 /* sources of descriptors are first moved up here, out of the way of the fixed numbers */

enum { PIPE_INIT_CONTROL, PIPE_INIT_REPORT, PIPE_COMMAND_CONTROL, PIPE_COMMAND_REPORT, PIPES };
static const bool child_reads[PIPES] = {true, false, true, false};

/* ---- in the child ---------------------------------------------------------------------------------------------------------------------------- */

static void move_up(int *fd)
{
	if (*fd < 0)
		return;
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (*fd < 0)
		_exit(119);
}

static void move_to(int fd, int number, int flags)
{
	if (fd < 0)
		close(number);
	else if (flags ? dup3(fd, number, flags) < 0 : dup2(fd, number) < 0)
		_exit(119);
}

/* The report pipe is only known to be in place afterwards: until then a failure is an exit, which the supervisor sees as a child that is gone. */
static void fix_descriptors(const struct nc_child_plan *plan, int ends[PIPES])
{
	int stdio[3] = {plan->stdio[0], plan->stdio[1], plan->stdio[2]};
	int pty = plan->pty, env_fd = plan->env_fd, credentials_fd = plan->credentials_fd;

	for (int i = 0; i < 3; i++)
		move_up(&stdio[i]);
	for (int i = 0; i < PIPES; i++)
		move_up(&ends[i]);
	move_up(&pty);
	move_up(&env_fd);
	move_up(&credentials_fd);
	for (int i = 0; i < 3; i++)
		move_to(stdio[i], i, 0);
	for (int i = 0; i < PIPES; i++)
		move_to(ends[i], NC_FD_INIT_CONTROL + i, O_CLOEXEC);
	move_to(pty, NC_FD_PTY, O_CLOEXEC);
	move_to(env_fd, NC_FD_ENV, O_CLOEXEC);
	move_to(credentials_fd, NC_FD_CREDENTIALS, O_CLOEXEC);
	if (!NC_MUTANT_OFF("descriptors") && syscall(SYS_close_range, NC_FD_FREE, ~0u, 0u) < 0)
		_exit(119);
}

static _Noreturn void child_main(const struct nc_child_plan *plan, int pipes[PIPES][2], bool held)
{
	int ends[PIPES];

	for (int i = 0; i < PIPES; i++)
		ends[i] = pipes[i][child_reads[i] ? 0 : 1];
	fix_descriptors(plan, ends);
	nc_init_main(plan, held);
}

/* ---- in the supervisor ----------------------------------------------------------------------------------------------------------------------- */

static pid_t clone_into(const struct nc_child_plan *plan, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = NAMESPACES | CLONE_PIDFD | CLONE_INTO_CGROUP,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)plan->cgroup_fd,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static pid_t clone_held(int *ret_pidfd)
{
#ifdef __s390x__
	return (pid_t)syscall(SYS_clone, 0, NAMESPACES | CLONE_PIDFD | SIGCHLD, ret_pidfd, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, NAMESPACES | CLONE_PIDFD | SIGCHLD, 0, ret_pidfd, 0, 0);
#endif
}

static int move_held(const struct nc_child_plan *plan, const struct nc_child *child, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(plan->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", child->pid);

	if (fd < 0 || write(fd, text, (size_t)length) != length)
		return nc_error_sys(reterr, NC_E_HOST_DENIED, -errno, "move the child into its cgroup");
	if (nc_cgroup_lists(plan->cgroup_fd, child->pid) != 1)
		return nc_error_set(reterr, NC_E_HOST_DENIED, -EXDEV, "the child was moved and is not in its cgroup");
	if (write(child->init_control, "", 1) != 1)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "release the held child");
	return 0;
}

static int make_pipes(int pipes[PIPES][2])
{
	for (int i = 0; i < PIPES; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

static void close_pipes(int pipes[PIPES][2], bool child_ends_only)
{
	for (int i = 0; i < PIPES; i++) {
		for (int end = 0; end < 2; end++) {
			if (pipes[i][end] < 0 || (child_ends_only && end != (child_reads[i] ? 0 : 1)))
				continue;
			close(pipes[i][end]);
			pipes[i][end] = -1;
		}
	}
}

static int birth(const struct nc_child_plan *plan, int pipes[PIPES][2], struct nc_child *child)
{
	bool held = false;
	pid_t pid;

	if (plan->netns_fd >= 0 && setns(plan->netns_fd, CLONE_NEWNET) < 0)
		return -errno;
	pid = clone_into(plan, &child->pidfd);
	if (pid < 0 && (errno == ENOSYS || errno == EPERM)) {
		held = true;
		pid = clone_held(&child->pidfd);
	}
	if (pid == 0)
		child_main(plan, pipes, held);
	if (pid < 0) {
		int status = -errno;

		if (plan->netns_fd >= 0)
			nc_netns_return(plan->own_netns_fd);
		return status;
	}
	child->pid = pid;
	child->born_inside = !held;
	if (plan->netns_fd >= 0)
		nc_netns_return(plan->own_netns_fd);
	return 0;
}

int nc_child_start(const struct nc_child_plan *plan, struct nc_child *ret_child, struct nc_error *reterr)
{
	int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	struct nc_child child = NC_CHILD_NONE;
	int r = make_pipes(pipes);

	if (r == 0)
		r = birth(plan, pipes, &child);
	if (r < 0) {
		close_pipes(pipes, false);
		nc_child_end(&child, NC_CHILD_END_MS);
		return nc_error_sys(reterr, r == -EPERM ? NC_E_HOST_DENIED : NC_E_SYSTEM, r, "start the child");
	}
	close_pipes(pipes, true);
	child.init_control = pipes[PIPE_INIT_CONTROL][1];
	child.init_report = pipes[PIPE_INIT_REPORT][0];
	child.command_control = pipes[PIPE_COMMAND_CONTROL][1];
	child.command_report = pipes[PIPE_COMMAND_REPORT][0];
	if (!child.born_inside) {
		r = move_held(plan, &child, reterr);
		if (r < 0) {
			nc_child_end(&child, NC_CHILD_END_MS);
			return r;
		}
	}
	*ret_child = child;
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void nc_child_started(struct nc_child *child)
{
	close_one(&child->command_control);
	close_one(&child->command_report);
}

static bool has_ended(int pidfd, int timeout_ms)
{
	struct pollfd waiting = {.fd = pidfd, .events = POLLIN};
	int64_t until = nc_now_ns() + (int64_t)timeout_ms * 1000000, left;
	int r;

	do {
		left = until - nc_now_ns();
		r = poll(&waiting, 1, left > 0 ? (int)(left / 1000000) + 1 : 0);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

void nc_child_end(struct nc_child *child, int timeout_ms)
{
	if (child->pid > 0) {
		kill(child->pid, SIGKILL); /* its own child until it is waited for: the number cannot be anybody else's */
		while (has_ended(child->pidfd, timeout_ms) && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		child->pid = 0;
	}
	close_one(&child->pidfd);
	close_one(&child->init_control);
	close_one(&child->init_report);
	close_one(&child->command_control);
	close_one(&child->command_report);
}

/* Which error a step of the child is; steps that stand in no row are the profile's demands that this host or user cannot meet. */
static const struct {
	const char *step;
	enum nc_error_code code;
	const char *detail;
	const char *hint;
} failures[] = {
	{"uid shared", NC_E_UID_SHARED, "another process has the workload's user id",
	 "end it, or leave process.user out of the profile: the instance then gets an id of its own"},
	{"plane credential", NC_E_CREDENTIAL_LEAK, "--env-fd or the profile's environment names a credential of the plane",
	 "hand it in by `exec --plane-env-fd`"},
	{"credential seen", NC_E_CREDENTIAL_LEAK, "a credential's value stands in the workload's environment or arguments",
	 "take it out of what the workload gets"},
	{"credential unnamed", NC_E_PROCESS_INVALID, "--plane-env-fd holds a name that the profile does not list", "list it in plane.credentials"},
	{"no NUL at the end", NC_E_PROCESS_INVALID, "what --env-fd or --plane-env-fd gave does not end with a NUL: it may be cut off",
	 "write NAME=VALUE, each ended by NUL: printf 'NAME=value\\0'"},
	{"working folder", NC_E_PROCESS_INVALID, "enter the working folder as the workload's user", "check process.cwd and its permissions"},
	{"limits", NC_E_PROCESS_INVALID, "set the resource limits", "a limit may not lie above netcordon's own hard limit"},
};

int nc_child_error(const struct nc_report *report, struct nc_error *reterr)
{
	char step[sizeof(report->step)];
	const char *subject;

	memcpy(step, report->step, sizeof(step));
	step[sizeof(step) - 1] = '\0';
	subject = step + strcspn(step, ":"); /* ": NAME", where a step has one */
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (strlen(failures[i].step) != (size_t)(subject - step) || memcmp(step, failures[i].step, (size_t)(subject - step)) != 0)
			continue;
		nc_error_sys(reterr, failures[i].code, report->status, "%s%s", failures[i].detail, subject);
		if (failures[i].hint[0])
			nc_error_hint(reterr, "%s", failures[i].hint);
		return report->status;
	}
	return nc_error_sys(reterr, NC_E_PROCESS_INVALID, report->status, "in the child: %s", step);
}
