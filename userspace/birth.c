/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * birth.c - phases `birth` and `canary`: the child is born inside, becomes what it must be, and shows that its attempts are refused
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "launch_state.h"

int nc_phase_birth(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_launch_options *options = launch->options;
	const struct nc_profile_process *process = &launch->profile->process;
	static char *const no_environment[] = { NULL };
	struct nc_child_plan plan = {
		.cgroup_fd = nc_claim_cgroup_fd(launch->claim, launch->authority),
		.netns_fd = launch->netns_fd,
		.own_netns_fd = launch->own_netns_fd,
		.mounts = &launch->mounts,
		.uid = launch->identity.uid,
		.gid = launch->identity.gid,
		.filter = launch->seccomp.program,
		.stdio = { launch->stdio.child[0], launch->stdio.child[1], launch->stdio.child[2] },
		.pty = launch->stdio.pty_slave,
		.env_fd = options->env_fd,
		.cwd = process->cwd[0] ? process->cwd : "/",
		.umask = process->umask < 0 ? 022 : (mode_t)process->umask,
		.argv = options->command,
		.env = process->env ? process->env : no_environment,
		.forbidden_names = launch->profile->plane_credentials,
		.die_with_supervisor = options->on_death == NC_ON_DEATH_KILL,
	};
	int r;

	nc_limits_plan(process, &launch->limits, &plan);
	r = nc_child_start(&plan, &launch->child, reterr);
	if (r == 0)
		nc_stdio_handed_over(&launch->stdio);
	return r;
}

void nc_undo_birth(struct nc_launch *launch)
{
	nc_child_end(&launch->child);
}

/* ---- canary ------------------------------------------------------------------------------------------------------------------------------------- */

static int open_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_open(&launch->canary, reterr);
}

static int prove_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_prove(&launch->canary, reterr);
}

/* The command's side has closed its pipe without a word: init knows why, or died too. */
static int explain_death(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_report report;
	size_t got;
	int r = nc_launch_receive(launch, launch->child.init_report, &report, sizeof(report), &got, reterr);

	if (r < 0)
		return r;
	if (got == sizeof(report) && report.kind == NC_REPORT_FAILED)
		return nc_child_error(&report, reterr);
	return nc_error_set(reterr, NC_E_PROCESS_INVALID, -ECHILD, "the child ended in phase %s", launch->phase);
}

int nc_launch_next_report(struct nc_launch *launch, struct nc_report *ret_report, bool *ret_end, struct nc_error *reterr)
{
	size_t got;
	int r = nc_launch_receive(launch, launch->child.command_report, ret_report, sizeof(*ret_report), &got, reterr);

	if (r < 0)
		return r;
	*ret_end = got == 0;
	if (got != 0 && got != sizeof(*ret_report))
		return nc_error_set(reterr, NC_E_PROCESS_INVALID, -EPROTO, "the child's report was cut");
	if (got && ret_report->kind == NC_REPORT_FAILED)
		return nc_child_error(ret_report, reterr);
	return 0;
}

int nc_launch_order(struct nc_launch *launch, const struct nc_order *order, struct nc_error *reterr)
{
	if (write(launch->child.command_control, order, sizeof(*order)) == (ssize_t)sizeof(*order))
		return 0;
	if (errno == EPIPE)
		return explain_death(launch, reterr);
	return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "write to the child");
}

/* The child's attempts, with the counters before and after. */
static int try_child(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_order order = { .kind = NC_ORDER_CANARY, .port_be = launch->canary.port_be, .attempts = launch->canary.attempts };
	enum nc_reason expected = launch->images[0].mode == NC_MODE_NONE ? NC_REASON_MODE_NONE : NC_REASON_HOST_FLOOR;
	struct nc_counters before, after;
	struct nc_report report;
	bool end;
	int r;

	r = nc_claim_counters(launch->claim, launch->authority, &before, reterr) ?: nc_launch_order(launch, &order, reterr) ?:
	    nc_launch_next_report(launch, &report, &end, reterr);
	if (r < 0)
		return r;
	if (end)
		return explain_death(launch, reterr);
	if (report.kind != NC_REPORT_CANARY)
		return nc_error_set(reterr, NC_E_CANARY_FAILED, -EPROTO, "the child reported something else");
	r = nc_claim_counters(launch->claim, launch->authority, &after, reterr);
	return r < 0 ? r : nc_canary_judge(&launch->canary, report.results, expected, &before, &after, reterr);
}

/* Exactly two tasks are inside now, init and what becomes the command; so the other number is the command's. */
static int find_command(struct nc_launch *launch, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(nc_claim_cgroup_fd(launch->claim, launch->authority), "cgroup.procs", O_RDONLY | O_CLOEXEC);
	NC_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int members = 0, pid;
	bool init = false;

	if (!file)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the workload's cgroup.procs");
	fd = -1;
	for (; fscanf(file, "%d", &pid) == 1; members++) {
		if (pid == launch->child.pid)
			init = true;
		else
			launch->command_pid = pid;
	}
	if (members != 2 || !init)
		return nc_error_set(reterr, NC_E_HOST_DENIED, -EXDEV, "%d processes are in the workload's cgroup where two should be", members);
	return 0;
}

static int join_limits(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_limits_join(&launch->limits, launch->child.pid, reterr) ?: nc_limits_join(&launch->limits, launch->command_pid, reterr);
}

int nc_phase_canary(struct nc_launch *launch, struct nc_error *reterr)
{
	/* clang-format off */
	return nc_launch_in_netns(launch, open_listeners, reterr) ?:
	       nc_claim_canary(launch->claim, launch->authority, launch->canary.port_be, reterr) ?:
	       try_child(launch, reterr) ?:
	       nc_launch_in_netns(launch, prove_listeners, reterr) ?:
	       nc_claim_canary(launch->claim, launch->authority, 0, reterr) ?:
	       find_command(launch, reterr) ?:
	       join_limits(launch, reterr);
	/* clang-format on */
}

void nc_undo_canary(struct nc_launch *launch)
{
	nc_canary_close(&launch->canary);
}
