/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * finish.c - phase `end`: what was sent arrives, what happened is counted and signed, nothing is left
 *
 * The order matters, for nothing may happen after what is signed:
 *
 *   noted as ending   `exec` starts nothing any more; it asks once more when its process is inside already, so what it had begun is found by the next step
 *   emptied           nothing runs
 *   drained           what was sent already gets its bounded time, while the policy is still open for it; events are read on the way
 *   emptied again     whoever came in meanwhile past `exec` (somebody privileged can move a process): it is ended, and what it sent is destroyed
 *   checked, closed   the policy is read back once more; from here on the kernel lets nothing of the instance's pass, whoever holds its sockets
 *   heard             the edge asks nobody any more and hands over its last events; `exec` writes down how its commands ended
 *   counted, signed   the counters are final
 *
 * Only then is the instance taken apart, and the Runner told.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "cleanup.h"
#include "exec_record.h"
#include "json.h"
#include "launch_state.h"
#include "seen_json.h"
#include "watch.h"

#define KILL_MS 5000

/* What a signal does not end waits in the kernel, for somebody who does not answer: then that is what the evidence says, and everything else is closed. */
static int empty(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = 0;

	if (launch->child.pid > 0)
		kill(launch->child.pid, SIGKILL);
	for (enum nc_authority authority = NC_AUTHORITY_WORKLOAD; authority <= NC_AUTHORITY_PLANE && r >= 0; authority++) {
		r = nc_claim_kill(launch->claim, authority, KILL_MS, reterr);
		if (r == -ETIMEDOUT)
			r = nc_left_note(launch, authority, reterr);
	}
	nc_child_end(&launch->child, launch->ending.left ? 0 : KILL_MS);
	return r;
}

/* While the sockets are waited for, so that the ring does not overflow. An edge that is lost now is a loss, and no reason to wait less. */
static int read_events(void *context, struct nc_error *reterr)
{
	struct nc_launch *launch = context;
	int r = launch->events || launch->edge.fd >= 0 ? nc_watch_edge(launch, reterr) : 0;

	if (r < 0 && reterr->code != NC_E_EVIDENCE_UNWRITABLE) {
		nc_launch_events_lose(launch);
		r = 0;
	}
	return r;
}

static int drain_for(struct nc_launch *launch, int patience, struct nc_error *reterr)
{
	const struct nc_drain how = {.netns_fd = launch->netns_fd, .timeout_ms = patience, .meanwhile = read_events, .context = launch};
	uint32_t destroyed;
	int r = nc_claim_drain(launch->claim, &how, &destroyed, reterr);

	if (r == 0)
		launch->ending.sockets_destroyed += destroyed;
	return r;
}

static int drain(struct nc_launch *launch, struct nc_error *reterr)
{
	return drain_for(launch, launch->options->drain_ms < 0 ? NC_DRAIN_MS : launch->options->drain_ms, reterr);
}

/* Who came in while it was drained gets no time. */
static int empty_again(struct nc_launch *launch, struct nc_error *reterr)
{
	bool populated[2] = {false, false};
	int r = nc_claim_populated(launch->claim, NC_AUTHORITY_WORKLOAD, &populated[0], reterr)
			?: nc_claim_populated(launch->claim, NC_AUTHORITY_PLANE, &populated[1], reterr);

	if (r < 0 || (!populated[0] && !populated[1]))
		return r;
	return empty(launch, reterr) ?: drain_for(launch, 0, reterr);
}

/* An edge that was lost has said all it could: the kernel's own counters and the closing statement's cause tell the rest. */
static int flush_edge(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = 0;

	if (launch->events) {
		r = nc_launch_events_finish(launch, reterr);
		if (r == 0)
			nc_claim_ring_done(launch->claim);
		return r;
	}
	if (launch->edge.fd < 0)
		return 0;
	launch->edge.flushed = false;
	if (nc_edge_finish(&launch->edge) < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EPIPE, "the edge is gone");
	while (r == 0 && !launch->edge.flushed) {
		r = nc_launch_wait_readable(launch, launch->edge.fd, reterr);
		if (r == 0)
			r = nc_watch_edge(launch, reterr);
	}
	nc_edge_end(&launch->edge);
	return r;
}

/*
 * The table of repeats is one for the host, and a row that finds no room takes that of another, perhaps another instance's. The counters are exact: what they
 * hold and no row does has been lost.
 */
struct repeats {
	struct nc_launch *launch;
	struct nc_counters counters[2]; /* read before the rows, so that what comes in between is no loss */
	uint64_t seen[2][NC_REASON_MAX];
};

static int record_seen(void *context, const struct nc_seen_key *key, const struct nc_seen_value *value)
{
	struct repeats *repeats = context;
	NC_JSON json_t *record = nc_seen_json(key, value);
	struct nc_error error;

	repeats->seen[key->authority == NC_AUTHORITY_PLANE][key->reason % NC_REASON_MAX] += value->count;
	return nc_launch_keep(repeats->launch, record, &error);
}

static int record_repeats(struct nc_launch *launch, uint64_t *ret_lost, struct nc_error *reterr)
{
	struct repeats repeats = {.launch = launch};
	int r = nc_claim_counters(launch->claim, NC_AUTHORITY_WORKLOAD, &repeats.counters[0], reterr)
			?: nc_claim_counters(launch->claim, NC_AUTHORITY_PLANE, &repeats.counters[1], reterr)
			?: nc_claim_seen(launch->claim, record_seen, &repeats, reterr);
	uint64_t lost = 0;

	for (int i = 0; i < 2; i++) {
		for (int reason = NC_COUNTER_LOST + 1; reason < NC_REASON_MAX; reason++) {
			if (repeats.counters[i].by_reason[reason] > repeats.seen[i][reason])
				lost += repeats.counters[i].by_reason[reason] - repeats.seen[i][reason];
		}
	}
	*ret_lost = lost;
	return r;
}

json_t *nc_ending_json(const struct nc_ending *ending)
{
	json_t *result = json_pack("{s:s}", "cause", ending->cause);

	if (result && ending->failure)
		json_object_set_new(result, "failure", json_string(ending->failure));
	if (result && ending->known && WIFEXITED(ending->wait_status))
		json_object_set_new(result, "code", json_integer(WEXITSTATUS(ending->wait_status)));
	if (result && ending->known && WIFSIGNALED(ending->wait_status))
		json_object_set_new(result, "signal", json_integer(WTERMSIG(ending->wait_status)));
	return result;
}

static int compose_closing(struct nc_launch *launch, uint64_t repeats_lost, json_t **ret_closing, struct nc_error *reterr)
{
	const struct nc_ending *ending = &launch->ending;
	struct nc_counters workload, plane;
	int r = nc_claim_counters(launch->claim, NC_AUTHORITY_WORKLOAD, &workload, reterr)
			?: nc_claim_counters(launch->claim, NC_AUTHORITY_PLANE, &plane, reterr);

	if (r < 0)
		return r;
	*ret_closing = json_pack("{s:o, s:{s:o, s:o}, s:o, s:b, s:I, s:o, s:o}", "result", nc_ending_json(ending), "counters", "workload",
				 nc_counters_json(&workload), "plane", nc_counters_json(&plane), "losses",
				 nc_json_u64(workload.by_reason[NC_COUNTER_LOST] + plane.by_reason[NC_COUNTER_LOST] + launch->events_lost),
				 "policy_intact", ending->policy_intact, "sockets_destroyed", (json_int_t)ending->sockets_destroyed, "names_not_told",
				 nc_json_u64(launch->names_cut), "repeats_lost", nc_json_u64(repeats_lost));
	if (!*ret_closing || (ending->left && json_object_set(*ret_closing, "not_drained", ending->left) < 0))
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -ENOMEM, "no memory for the closing statement");
	return 0;
}

/* Is every NAT64 prefix of the seal still in force? */
static bool nat64_intact(const struct nc_settings *sealed, const struct nc_settings *now)
{
	for (uint32_t i = 0; i < sealed->nat64_count; i++) {
		bool found = false;

		for (uint32_t j = 0; j < now->nat64_count && !found; j++)
			found = !memcmp(&sealed->nat64[i], &now->nat64[j], sizeof(sealed->nat64[i]));
		if (!found)
			return false;
	}
	return true;
}

/* Is the policy still, byte for byte, what was sealed? A difference is a finding, not a failure of the launch: it is signed. */
static int check_policy(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = nc_claim_check(launch->claim, NC_AUTHORITY_WORKLOAD, &launch->images[0], reterr)
			?: nc_claim_check(launch->claim, NC_AUTHORITY_PLANE, &launch->images[1], reterr);

	launch->ending.policy_intact = r == 0;
	if (r < 0)
		return reterr->code != NC_E_SEAL_MISMATCH ? r : 0;
	r = nc_host_settings(launch->host, NULL, &launch->nat64, reterr);
	launch->ending.policy_intact = r == 0 && nat64_intact(&launch->sealed_nat64, &launch->nat64);
	return r;
}

static int close_evidence(struct nc_launch *launch, struct nc_error *reterr)
{
	NC_JSON json_t *closing = NULL;
	uint64_t repeats_lost = 0;
	int r = nc_exec_records_collect(launch, false, reterr) ?: record_repeats(launch, &repeats_lost, reterr) ?:
		compose_closing(launch, repeats_lost, &closing, reterr);

	return r < 0 ? r : nc_evidence_close(NC_TAKE_PTR(launch->evidence), closing, reterr);
}

/* With something left in it the instance's record stays, for whoever looks next. */
static int release(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = nc_claim_release(NC_TAKE_PTR(launch->claim), reterr);

	return launch->ending.left ? nc_left_error(launch, reterr) : r;
}

/* What supervisors left that were killed, once nothing runs in it. The instance at hand is over: what goes wrong here is `host status`' to tell. */
static void sweep(const struct nc_launch *launch)
{
	struct nc_error ignored;
	uint32_t swept;

	nc_instances_sweep(launch->host, &swept, &ignored);
}

/* From here on there is no command: neither the deadline of its start nor a signal for it means anything any more. */
static void forget_start(struct nc_launch *launch)
{
	struct signalfd_siginfo late;

	launch->deadline_ns = 0;
	launch->over = true;
	while (read(launch->signal_fd, &late, sizeof(late)) > 0)
		;
}

/* Up to what is signed. */
static int conclude(struct nc_launch *launch, struct nc_error *reterr)
{
	/* clang-format off */
	return empty(launch, reterr) ?:
	       drain(launch, reterr) ?:
	       empty_again(launch, reterr) ?:
	       check_policy(launch, reterr) ?:
	       nc_claim_close(launch->claim, reterr) ?:
	       flush_edge(launch, reterr) ?:
	       nc_exec_records_settle(launch, reterr) ?:
	       close_evidence(launch, reterr);
	/* clang-format on */
}

/* Was `exec` ever at work in it? Once it is noted as ending, a no stays a no: who takes his lock later is refused before anything of his runs. */
static bool used_by_exec(const struct nc_launch *launch)
{
	struct nc_error ignored;

	for (enum nc_authority authority = NC_AUTHORITY_WORKLOAD; authority <= NC_AUTHORITY_PLANE; authority++) {
		NC_CLOSE int fd = nc_exec_lock_open(launch, authority, 0, &ignored);

		if (fd >= 0)
			return true;
	}
	return false;
}

/* `exec` can be at work before the ring's reader is. What an edge that was not heard of yet has taken from it nobody knows. */
static int need_reader(struct nc_launch *launch, struct nc_error *reterr)
{
	if (launch->events || launch->edge.ready)
		return 0;
	if (launch->edge.fd < 0)
		return nc_launch_events_open(launch, reterr);
	nc_launch_events_lose(launch);
	return 0;
}

void nc_launch_end_unstarted(struct nc_launch *launch, const struct nc_error *why)
{
	struct nc_error ignored; /* the launch has its own error; where this fails the evidence stays open */

	forget_start(launch);
	if (nc_claim_note_ending(launch->claim, &ignored) < 0)
		return;
	launch->used = used_by_exec(launch);
	if (!launch->sealed_told && !launch->used)
		return;
	nc_json_forget_memory(); /* what was being made is given up */
	launch->ending.cause = "not_started";
	launch->ending.failure = nc_error_word(why->code);
	launch->ending.known = true;
	launch->ending.wait_status = W_EXITCODE(nc_launch_failure_status(launch), 0);
	if (need_reader(launch, &ignored) == 0)
		conclude(launch, &ignored);
}

int nc_phase_end(struct nc_launch *launch, struct nc_error *reterr)
{
	int r;

	forget_start(launch);
	/* clang-format off */
	r = nc_claim_note_ending(launch->claim, reterr) ?:
	    conclude(launch, reterr) ?:
	    release(launch, reterr) ?:
	    nc_status_exited(launch, reterr);
	/* clang-format on */
	if (r == 0)
		sweep(launch);
	return r;
}

int nc_launch_exit_status(const struct nc_launch *launch)
{
	const struct nc_ending *ending = &launch->ending;

	if (!ending->known)
		return 0;
	return WIFSIGNALED(ending->wait_status) ? 128 + WTERMSIG(ending->wait_status) : WEXITSTATUS(ending->wait_status);
}
