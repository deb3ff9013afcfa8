/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe.c - a process of ours that makes the canary's attempts from inside a cgroup, where no child of the launch is there to make them (attach)
 *
 * It is born inside, and without the supervisor's heap (heap.h), so it allocates nothing. Some kernels (seen: 6.18) kill at birth whatever is cloned into a
 * cgroup that cgroup.kill was once written to: where the process was killed without a word, another is held, moved, and let go.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "heap.h"
#include "launch_state.h"
#include "oci.h"

static _Noreturn void probe_main(const struct nc_order *order, uid_t uid, int report_fd)
{
	struct nc_report report = {.kind = NC_REPORT_CANARY};
	const char *step = "";
	int r = nc_privileges_drop(uid, uid, NULL, &step);

	if (r < 0)
		nc_child_fail(report_fd, step, r);
	nc_canary_attempt(order, report.results, report.ports_be);
	_exit(write(report_fd, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 121);
}

/* Beside the container's own process, where there is one: a sealed cgroup above that may not be allowed any process (cgroup-v2, "no internal processes"). */
static int open_inside(const struct nc_launch *launch)
{
	const struct nc_oci_container *container = launch->options->container;

	return container ? open(container->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			 : openat(nc_claim_cgroup_fd(launch->claim, launch->authority), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static pid_t start_inside(struct nc_launch *launch, const struct nc_order *order, int report_fd, struct nc_error *reterr)
{
	NC_CLOSE int inside_fd = open_inside(launch);
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)inside_fd,
	};
	const uid_t uid = launch->identity.uid;
	int status;
	pid_t pid;

	nc_heap_keep(true);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		probe_main(order, uid, report_fd);
	status = -errno;
	nc_heap_keep(false);
	return pid > 0 ? pid : nc_error_sys(reterr, NC_E_HOST_DENIED, status, "start the canary's process in the cgroup");
}

static int move(struct nc_launch *launch, pid_t pid)
{
	NC_CLOSE int inside_fd = open_inside(launch);
	NC_CLOSE int fd = inside_fd < 0 ? -1 : openat(inside_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return fd < 0 || dprintf(fd, "%d", pid) < 0 ? -errno : 0;
}

/* Whether it is inside needs no second look: outside, its attempts are not refused and the canary fails. */
static pid_t start_held(struct nc_launch *launch, const struct nc_order *order, int report_fd, struct nc_error *reterr)
{
	int gate[2], r;
	pid_t pid;
	char go;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make a pipe");
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(120);
		probe_main(order, launch->identity.uid, report_fd);
	}
	r = pid < 0 ? -errno : move(launch, pid);
	if (r == 0 && write(gate[1], "", 1) != 1)
		r = -errno;
	close(gate[0]);
	close(gate[1]);
	if (r == 0)
		return pid;
	if (pid > 0)
		waitpid(pid, NULL, 0); /* the gate is closed: it ends */
	return nc_error_sys(reterr, NC_E_HOST_DENIED, r, "move the canary's process into the cgroup");
}

/* One process from its birth to its end: what it reported, and how it ended. */
static int run(struct nc_launch *launch, const struct nc_order *order,
	       pid_t (*start)(struct nc_launch *launch, const struct nc_order *order, int report_fd, struct nc_error *reterr),
	       struct nc_report *ret_report, size_t *ret_got, int *ret_status, struct nc_error *reterr)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make a pipe");
	pid = start(launch, order, ends[1], reterr);
	close(ends[1]);
	r = pid < 0 ? pid : nc_launch_receive(launch, ends[0], ret_report, sizeof(*ret_report), ret_got, reterr);
	close(ends[0]);
	if (pid > 0) {
		if (r < 0)
			kill(pid, SIGKILL);
		while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
			;
	}
	return r;
}

int nc_launch_probe(struct nc_launch *launch, const struct nc_order *order, struct nc_report *ret_report, struct nc_error *reterr)
{
	struct nc_report report;
	size_t got = 0;
	int status = 0, r = run(launch, order, start_inside, &report, &got, &status, reterr);

	if (r == 0 && got == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		r = run(launch, order, start_held, &report, &got, &status, reterr);
	if (r < 0)
		return r;
	if (got != sizeof(report)) {
		nc_error_set(reterr, NC_E_CANARY_FAILED, -ECHILD, "the canary's process was killed in the cgroup before it could say anything");
		return nc_error_hint(reterr, "something kills what enters the cgroup: see its memory limit, and whoever writes to its cgroup.kill");
	}
	if (report.kind != NC_REPORT_CANARY)
		return nc_child_error(&report, reterr);
	*ret_report = report;
	return 0;
}
