/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * birth.c - phases `birth` and `canary`: the child is born inside, becomes what it must be, and shows that its attempts are refused
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "heap.h"
#include "launch_state.h"
#include "place.h"

/* The plane's command is the Runner's own: what the profile says of the workload's process does not hold for it. */
static void plan_process(const struct nc_launch *launch, struct nc_child_plan *plan)
{
	const struct nc_profile_process *process = &launch->profile->process;
	static char *const no_environment[] = {NULL};

	plan->env = no_environment;
	plan->cwd = "/";
	plan->umask = 022;
	plan->pids = -1;
	plan->is_plane = launch->authority == NC_AUTHORITY_PLANE;
	if (plan->is_plane)
		return;
	if (process->env)
		plan->env = process->env;
	if (process->cwd[0])
		plan->cwd = process->cwd;
	if (process->umask >= 0)
		plan->umask = (mode_t)process->umask;
	nc_limits_plan(process, &launch->limits, plan);
}

/* How many bytes from argv[0] on /proc shows as this process's arguments. */
static size_t own_arguments(void)
{
	NC_CLOSE int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	size_t length = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		length += (size_t)n;
	return length;
}

int nc_phase_birth(struct nc_launch *launch, struct nc_error *reterr)
{
	__attribute__((cleanup(nc_child_unpack))) struct nc_child_parcel parcel = {0};
	const struct nc_launch_options *options = launch->options;
	struct nc_child_plan plan = {
		.cgroup_fd = nc_claim_cgroup_fd(launch->claim, launch->authority),
		.netns_fd = launch->netns_fd,
		.own_netns_fd = launch->own_netns_fd,
		.mounts = &launch->mounts,
		.uid = launch->identity.uid,
		.gid = launch->identity.gid,
		.filter = launch->seccomp.program,
		.stdio = {launch->stdio.child[0], launch->stdio.child[1], launch->stdio.child[2]},
		.pty = launch->stdio.pty_slave,
		.env_fd = options->env_fd,
		.credentials_fd = launch->authority == NC_AUTHORITY_PLANE ? options->plane_env_fd : -1,
		.argv = options->command,
		.arguments = program_invocation_name,
		.arguments_length = own_arguments(),
		.credential_names = launch->profile->plane_credentials,
		.seen_by_workload = launch->seen_by_workload,
		.seen_length = launch->seen_length,
		.die_with_supervisor = options->on_death == NC_ON_DEATH_KILL,
	};
	int r;

	if (!plan.arguments_length)
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "read netcordon's own arguments");
	plan_process(launch, &plan);
	r = nc_child_pack(&plan, &parcel);
	if (r < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "copy what the child needs");
	nc_heap_keep(true);
	r = nc_child_start(&plan, &launch->child, reterr);
	nc_heap_keep(false);
	if (r == 0)
		nc_stdio_handed_over(&launch->stdio);
	return r;
}

void nc_undo_birth(struct nc_launch *launch)
{
	nc_child_end(&launch->child, NC_CHILD_END_MS);
}

/* ---- canary ------------------------------------------------------------------------------------------------------------------------------------- */

static int open_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_open(&launch->canary, launch->claim, reterr);
}

static int prove_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_prove(&launch->canary, reterr);
}

/* A command that is not executed is named, since its error alone tells nothing: it may be the command's, its interpreter's or a folder's above it. */
static int report_error(const struct nc_launch *launch, const struct nc_report *report, struct nc_error *reterr)
{
	char quote[NC_QUOTE_SIZE];
	const char *command = launch->options->command ? launch->options->command[0] : "";

	if (strncmp(report->step, "exec", sizeof(report->step)) != 0)
		return nc_child_error(report, reterr);
	nc_error_sys(reterr, NC_E_PROCESS_INVALID, report->status, "execute \"%s\"", nc_quote(command, strlen(command), quote));
	if (report->status == -ENOENT && !strchr(command, '/'))
		nc_error_hint(reterr, "it is looked for in PATH of the profile's process.env");
	else if (report->status == -ENOENT)
		nc_error_hint(reterr, "a relative path begins at process.cwd; a script needs the interpreter of its first line");
	else if (report->status == -EACCES)
		nc_error_hint(reterr, "the workload's user must be allowed to execute it, and to pass every folder above it");
	return report->status;
}

/* The command's side has closed its pipe without a word: init knows why, or died too. */
int nc_launch_explain_death(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_report report;
	size_t got;
	int r = nc_launch_receive(launch, launch->child.init_report, &report, sizeof(report), &got, reterr);

	if (r < 0)
		return r;
	if (got == sizeof(report) && report.kind == NC_REPORT_FAILED)
		return report_error(launch, &report, reterr);
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
		return report_error(launch, ret_report, reterr);
	return 0;
}

int nc_launch_order(struct nc_launch *launch, const struct nc_order *order, struct nc_error *reterr)
{
	if (write(launch->child.command_control, order, sizeof(*order)) == (ssize_t)sizeof(*order))
		return 0;
	if (errno == EPIPE)
		return nc_launch_explain_death(launch, reterr);
	return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "write to the child");
}

/* The child's attempts, with the counters before and after. */
static int try_child(struct nc_launch *launch, enum nc_reason expected, struct nc_error *reterr)
{
	const struct nc_order order = nc_canary_order(&launch->canary);
	struct nc_counters before, after;
	struct nc_report report;
	bool end;
	int r;

	r = nc_claim_counters(launch->claim, launch->authority, &before, reterr) ?: nc_launch_order(launch, &order, reterr) ?:
	    nc_launch_next_report(launch, &report, &end, reterr);
	if (r < 0)
		return r;
	if (end)
		return nc_launch_explain_death(launch, reterr);
	if (report.kind != NC_REPORT_CANARY)
		return nc_error_set(reterr, NC_E_CANARY_FAILED, -EPROTO, "the child reported something else");
	r = nc_claim_counters(launch->claim, launch->authority, &after, reterr);
	return r < 0 ? r : nc_canary_judge(&launch->canary, &report, expected, true, &before, &after, reterr);
}

struct members {
	pid_t init, other;
	int count;
	bool has_init;
};

static int count_member(void *context, pid_t pid)
{
	struct members *members = context;

	members->count++;
	if (pid == members->init)
		members->has_init = true;
	else
		members->other = pid;
	return 0;
}

/* Exactly two tasks are inside now, init and what becomes the command; so the other number is the command's. */
static int find_command(struct nc_launch *launch, struct nc_error *reterr)
{
	struct members members = {.init = launch->child.pid};
	int r = nc_cgroup_each_process(nc_claim_cgroup_fd(launch->claim, launch->authority), count_member, &members);

	if (r < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "read the workload's cgroup.procs");
	if (members.count != 2 || !members.has_init)
		return nc_error_set(reterr, NC_E_HOST_DENIED, -EXDEV, "%d processes are in the workload's cgroup where two should be", members.count);
	launch->command_pid = members.other;
	return 0;
}

static int join_limits(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_limits_join(&launch->limits, launch->child.pid, reterr) ?: nc_limits_join(&launch->limits, launch->command_pid, reterr);
}

int nc_launch_canary(struct nc_launch *launch, enum nc_reason expected, struct nc_error *reterr)
{
	return try_child(launch, expected, reterr) ?: nc_launch_in_netns(launch, prove_listeners, reterr) ?: find_command(launch, reterr);
}

int nc_launch_silent_canary(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_order order = {.kind = NC_ORDER_CANARY};
	struct nc_report report;
	bool end;
	int r = nc_launch_order(launch, &order, reterr) ?: nc_launch_next_report(launch, &report, &end, reterr);

	if (r < 0)
		return r;
	return end ? nc_launch_explain_death(launch, reterr) : find_command(launch, reterr);
}

/* The listeners have done their part: nobody finds them there for as long as the instance lives. */
int nc_phase_canary(struct nc_launch *launch, struct nc_error *reterr)
{
	enum nc_reason expected = launch->images[0].mode == NC_MODE_NONE ? NC_REASON_MODE_NONE : NC_REASON_HOST_FLOOR;

	/* clang-format off */
	return nc_launch_in_netns(launch, open_listeners, reterr) ?:
	       nc_claim_canary(launch->claim, NC_AUTHORITY_WORKLOAD, launch->canary.port_be, reterr) ?:
	       nc_launch_canary(launch, expected, reterr) ?:
	       (nc_canary_close(&launch->canary), nc_claim_canary(launch->claim, NC_AUTHORITY_WORKLOAD, 0, reterr)) ?:
	       join_limits(launch, reterr);
	/* clang-format on */
}

void nc_undo_canary(struct nc_launch *launch)
{
	nc_canary_close(&launch->canary);
}
