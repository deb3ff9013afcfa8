/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe.c - a process of ours that makes the canary's attempts from inside a cgroup, where no child of the launch is there to make them (attach)
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "launch_state.h"

static _Noreturn void probe_main(const struct nc_order *order, uid_t uid, int report_fd)
{
	struct nc_report report = {.kind = NC_REPORT_CANARY};
	const char *step = "";
	int r = nc_privileges_drop(uid, uid, NULL, &step);

	if (r < 0)
		nc_child_fail(report_fd, step, r);
	nc_canary_attempt(order, report.results);
	_exit(write(report_fd, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 121);
}

static int start(struct nc_launch *launch, const struct nc_order *order, int report_fd, struct nc_error *reterr)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)nc_claim_cgroup_fd(launch->claim, launch->authority),
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		probe_main(order, launch->identity.uid, report_fd);
	return pid > 0 ? pid : nc_error_sys(reterr, NC_E_HOST_DENIED, -errno, "start the canary's process in the cgroup");
}

int nc_launch_probe(struct nc_launch *launch, const struct nc_order *order, int32_t results[NC_CANARY_ATTEMPTS], struct nc_error *reterr)
{
	struct nc_report report;
	int ends[2], pid, r;
	size_t got = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make a pipe");
	pid = start(launch, order, ends[1], reterr);
	close(ends[1]);
	r = pid < 0 ? pid : nc_launch_receive(launch, ends[0], &report, sizeof(report), &got, reterr);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (r < 0)
		return r;
	if (got != sizeof(report))
		return nc_error_set(reterr, NC_E_CANARY_FAILED, -ECHILD, "the canary's process ended without a word");
	if (report.kind != NC_REPORT_CANARY)
		return nc_child_error(&report, reterr);
	for (int i = 0; i < NC_CANARY_ATTEMPTS; i++)
		results[i] = report.results[i];
	return 0;
}
