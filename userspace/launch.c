/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch.c - the phases of a launch, and their undoing
 *
 *   profile    what was handed over is read once and checked; nothing has been created yet
 *   host       the kernel's side is in place, and is what it should be
 *   seal       cgroups under random names, policy written, read back, opened
 *   birth      the child is born inside, and becomes what it must be by itself, up to the canary, while the statement is written
 *   statement  signed and durable: what is in force, before an instruction of the command runs
 *   canary     its own attempts are refused, by this policy and no other
 *   supervise  the Runner hears `sealed`; exec; signals, events, checkpoints, until the end
 *   end        what was sent arrives, counters, closing statement, nothing is left
 *
 * Every phase has an undo that releases what it made. The undos run in reverse order in every case, so that success and failure leave by the same door.
 * Until `supervise` has told the child to go on, no instruction of the command has been executed: a failure before that means that it never runs.
 */
#include <errno.h>
#include <sys/resource.h>
#include "json.h"
#include "launch_state.h"

static const struct nc_phase run_phases[] = {
	{"profile", nc_phase_profile, nc_undo_profile},
	{"host", nc_phase_host, nc_undo_host},
	{"seal", nc_phase_seal, nc_undo_seal},
	{"birth", nc_phase_birth, nc_undo_birth}, /* before the statement: a process with less memory is copied sooner, and two work at once */
	{"statement", nc_phase_statement, nc_undo_statement},
	{"canary", nc_phase_canary, nc_undo_canary},
	{"supervise", nc_phase_supervise, nc_undo_supervise},
	{"end", nc_phase_end, NULL},
};

int nc_launch_run(const struct nc_launch_options *options, struct nc_launch_end *ret_end, struct nc_error *reterr)
{
	struct nc_launch launch;

	nc_launch_init(&launch, options, NC_PROVIDER_RUN);
	return nc_launch_go(&launch, run_phases, sizeof(run_phases) / sizeof(run_phases[0]), ret_end, reterr);
}

void nc_launch_init(struct nc_launch *launch, const struct nc_launch_options *options, enum nc_provider provider)
{
	*launch = (struct nc_launch){
		.options = options,
		.provider = provider,
		.authority = NC_AUTHORITY_WORKLOAD,
		.phase = "",
		.signal_fd = -1,
		.stdio = NC_STDIO_NONE,
		.netns_fd = -1,
		.own_netns_fd = -1,
		.lock_fd = -1,
		.edge = NC_EDGE_NONE,
		.edge_program = -1,
		.resolvers = {NC_EDGE_NO_RESOLVER, NC_EDGE_NO_RESOLVER},
		.update_fd = -1,
		.child = NC_CHILD_NONE,
		.canary = NC_CANARY_NONE,
		.ending = {.cause = ""},
	};
	if (options->deadline_ms > 0)
		launch->deadline_ns = nc_now_ns() + (int64_t)options->deadline_ms * 1000000;
}

/* What a shell would say of a command that cannot be executed (POSIX, Shell Command Language, 2.8.2). */
int nc_launch_failure_status(const struct nc_launch *launch)
{
	if (!launch->exec_error)
		return NC_EXIT_OURS;
	return launch->exec_error == -ENOENT || launch->exec_error == -ENOTDIR ? NC_EXIT_NOT_FOUND : NC_EXIT_NOT_RUNNABLE;
}

/* Some fifty are open at once, and before a child gets its own, they are moved out of the way, above 64. */
#define DESCRIPTORS 128

static int check_descriptors(struct nc_error *reterr)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "getrlimit");
	if (limit.rlim_cur >= DESCRIPTORS)
		return 0;
	nc_error_set(reterr, NC_E_SYSTEM, -EMFILE, "only %llu files may be open at once here, and a launch needs %d",
		     (unsigned long long)limit.rlim_cur, DESCRIPTORS);
	return nc_error_hint(
		reterr,
		"raise the limit for netcordon (ulimit -n, LimitNOFILE=), and lower it for the command by /process/limits/open_files of the profile");
}

static const char *const given_back_words[] = {
	[NC_GIVEN_BACK] = "the cgroup and its processes are as they were, without a cordon",
	[NC_NOT_GIVEN_BACK] = "the cgroup's processes live, but may be cut off until `netcordon host status` has taken the rest away",
};

static void undo(struct nc_launch *launch, const struct nc_phase *phase)
{
	if (phase->undo)
		phase->undo(launch);
}

int nc_launch_go(struct nc_launch *launch, const struct nc_phase *phases, size_t count, struct nc_launch_end *ret_end, struct nc_error *reterr)
{
	size_t reached = 0;
	int r;

	launch->phase = phases[0].name;
	r = check_descriptors(reterr);
	while (r == 0 && reached < count) {
		launch->phase = phases[reached].name;
		r = phases[reached++].run(launch, reterr);
	}
	*ret_end = (struct nc_launch_end){
		.status = r < 0 ? nc_launch_failure_status(launch) : nc_launch_exit_status(launch),
		.cause = r < 0 ? "" : launch->ending.cause,
	};
	if (r < 0)
		nc_json_forget_memory(); /* what was being made is given up, and a Runner is to hear that; nothing below writes a document of it */
	while (reached > 1)
		undo(launch, &phases[--reached]);
	if (r < 0) { /* now that it is true; signals, which the first phase lets through again, could still end the process */
		if (launch->started && !launch->over)
			nc_error_add(reterr, launch->provider == NC_PROVIDER_EXEC ? "the command was ended" : "the workload was ended");
		if (launch->given_back != NC_NOTHING_TAKEN)
			nc_error_add(reterr, given_back_words[launch->given_back]);
		if (launch->options->advise)
			launch->options->advise(launch->options->advise_context, reterr);
		nc_status_failed(launch, reterr);
	}
	if (reached)
		undo(launch, &phases[0]);
	return r;
}
