/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * supervise.c - phase `supervise`: from `sealed` to the end of the command
 *
 * One poll loop over everything that can happen: the Runner's go, the command's end (init tells), init's own end (pidfd), signals to hand on, events from the
 * edge, addresses that the host gains or loses, bytes of relayed descriptors, and three clocks (lifetime, grace, checkpoint). Once a second, and every
 * three seconds when nothing has happened for thirty, it looks whether every process of the workload is still inside its cgroup: somebody privileged
 * outside can move one (B07), and the kernel tells nobody.
 *
 * The loop ends the workload itself when its lifetime is over, when a process has left the cordon, when the edge is lost, or when a program of ours is no
 * longer in force. What it found is the `cause` in the closing statement.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "instance_state.h"
#include "json.h"
#include "launch_state.h"
#include "watch.h"

/* ---- up to exec ----------------------------------------------------------------------------------------------------------------------------------- */

static int await_reader(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = launch->edge.fd < 0 ? nc_launch_events_open(launch, reterr) : 0;

	while (!launch->events && !launch->edge.ready && r == 0) {
		r = nc_launch_wait_readable(launch, launch->edge.fd, reterr);
		if (r == 0)
			r = nc_watch_edge(launch, reterr);
	}
	return r;
}

int nc_launch_write_state(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_instance_state state = {
		.netns_cookie = launch->netns_cookie,
		.grace_ms = launch->options->grace_ms < 0 ? NC_GRACE_MS : launch->options->grace_ms,
	};

	if (nc_process_identify(getpid(), &state.supervisor) < 0 ||
	    (launch->child.pid > 0 && nc_process_identify(launch->child.pid, &state.init) < 0))
		return nc_error_set(reterr, NC_E_SYSTEM, -ESRCH, "read the start time of a process of ours");
	memcpy(state.evidence, launch->evidence_folder, sizeof(state.evidence));
	strncpy(state.provider, nc_provider_word(launch->provider), sizeof(state.provider) - 1);
	return nc_instance_state_write(nc_claim_folder(launch->claim), &state, launch->profile_text, launch->profile_length, reterr);
}

int nc_launch_ready(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_launch_write_state(launch, reterr) ?: await_reader(launch, reterr) ?: nc_evidence_settle(launch->evidence, reterr);
}

int nc_launch_announce(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_launch_ready(launch, reterr) ?: nc_status_sealed(launch, reterr);
}

static int note_passed(struct nc_launch *launch, const struct nc_report *report, struct nc_error *reterr)
{
	char name[sizeof(report->step) + 1] = "";

	memcpy(name, report->step, sizeof(report->step));
	if (!launch->passed)
		launch->passed = json_array();
	if (!launch->passed || json_array_append_new(launch->passed, json_string(name)) < 0)
		return nc_error_set(reterr, NC_E_PROCESS_INVALID, -EINVAL, "a name in --env-fd is not text");
	return 0;
}

/* End of file on the command's pipe, after READY, is the exec itself: the descriptor closes on it. */
int nc_launch_let_go(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_order order = {.kind = NC_ORDER_GO};
	bool ready = false, end = false;
	int r = nc_launch_order(launch, &order, reterr);

	while (r == 0 && !end) {
		struct nc_report report = {0};

		r = nc_launch_next_report(launch, &report, &end, reterr);
		if (r < 0 && ready)
			launch->exec_error = report.kind == NC_REPORT_FAILED ? r : 0;
		if (r == 0 && !end && report.kind == NC_REPORT_PASSED)
			r = note_passed(launch, &report, reterr);
		ready |= report.kind == NC_REPORT_READY;
	}
	if (r == 0 && !ready)
		r = nc_error_set(reterr, NC_E_PROCESS_INVALID, -ECHILD, "the child ended before it could become the command");
	launch->started = r == 0;
	if (r == 0)
		nc_child_started(&launch->child);
	return r;
}

static int checkpoint_started(struct nc_launch *launch, struct nc_error *reterr)
{
	NC_JSON json_t *families = json_array();
	NC_JSON json_t *extra = NULL;

	json_array_append_new(families, json_string("ipv4"));
	if (launch->canary.attempts & 0xc)
		json_array_append_new(families, json_string("ipv6"));
	extra = json_pack("{s:i, s:{s:O, s:i}, s:O?, s:s}", "pid", (int)launch->command_pid, "canary", "families", families, "refusals",
			  __builtin_popcount(launch->canary.attempts), "passed_environment", launch->passed, "born",
			  launch->child.born_inside ? "clone_into_cgroup" : "held_and_moved");
	if (!extra)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a checkpoint");
	if (!launch->passed)
		json_object_del(extra, "passed_environment");
	return nc_evidence_checkpoint_soon(launch->evidence, "started", extra, reterr);
}

int nc_phase_supervise(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_watch watch;
	int r;

	/* clang-format off */
	r = nc_launch_announce(launch, reterr) ?:
	    (nc_watch_init(&watch, launch), nc_watch_hold(&watch, reterr)) ?:
	    nc_launch_let_go(launch, reterr);
	if (r < 0) {
		nc_launch_end_unstarted(launch, reterr);
		return r;
	}
	return nc_update_listen(launch, reterr) ?:
	       nc_status_started(launch, reterr) ?:
	       checkpoint_started(launch, reterr) ?:
	       nc_watch_run(&watch, reterr);
	/* clang-format on */
}

void nc_undo_supervise(struct nc_launch *launch)
{
	struct nc_error ignored; /* release kills too, and reports */

	if (launch->started && launch->claim && launch->provider != NC_PROVIDER_EXEC)
		nc_claim_kill(launch->claim, launch->authority, 5000, &ignored);
	json_decref(launch->ending.left);
	launch->ending.left = NULL;
}
