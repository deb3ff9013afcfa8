/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_events.c - the instance's event records, on their way into the evidence
 *
 * Where the policy lists names, the edge reads the ring and hands the records over, because there it stands between the workload and the world anyway. A
 * policy without names has nothing for an edge to do but that, and the start of a second process is a good part of what a launch costs: then the supervisor
 * reads the ring itself. It is the same bytes either way: records of one size that the kernel's programs wrote, never anything that a workload sent.
 *
 * One call takes a bounded number of records, so that a flood keeps nobody from the signals and clocks; the ring is the buffer, and the kernel counts what
 * does not fit into it.
 *
 * The log is bounded too. A workload makes a record of each new destination that it is refused, some ten megabytes a second; without a bound it fills the
 * disk, and with that ends every other instance of the host. What comes past the bound is counted as lost.
 */
#include <errno.h>
#include "json.h"
#include "launch_state.h"

#define RECORDS_AT_ONCE 512u

struct taking {
	struct nc_launch *launch;
	unsigned taken;
	int status;
	struct nc_error *reterr;
};

/* Whether the record that is at hand has no place any more; then it is counted. */
static bool is_full(struct nc_launch *launch)
{
	bool full = nc_evidence_bytes(launch->evidence) >= (launch->options->log_bytes ?: NC_LOG_BYTES);

	launch->events_lost += full;
	return full;
}

/*
 * A record for which there is no memory (`record` is NULL then, or lacks a part, which the evidence finds) is lost as one is that finds no room in
 * the ring: it is counted, signed, and makes the evidence incomplete. That ends no instance: whoever presses a host for memory need not be its
 * workload.
 */
int nc_launch_keep(struct nc_launch *launch, json_t *record, struct nc_error *reterr)
{
	int r = record ? nc_evidence_append(launch->evidence, record, reterr) : nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "make a record");

	if (r == 0 || !nc_error_is_memory(reterr))
		return r;
	nc_json_forget_memory();
	launch->events_lost++;
	return 0;
}

int nc_launch_record(struct nc_launch *launch, json_t *record, struct nc_error *reterr)
{
	return is_full(launch) ? 0 : nc_launch_keep(launch, record, reterr);
}

int nc_launch_record_event(struct nc_launch *launch, const struct nc_event *event, struct nc_error *reterr)
{
	NC_JSON json_t *record = NULL;

	if (is_full(launch))
		return 0;
	record = nc_event_json(event);
	return nc_launch_keep(launch, record, reterr);
}

/* A record that stops the reading has been taken all the same. */
static int take(void *context, const struct nc_event *event)
{
	struct taking *taking = context;

	taking->status = nc_launch_record_event(taking->launch, event, taking->reterr);
	return taking->status < 0 || ++taking->taken == RECORDS_AT_ONCE;
}

/* 1: there may be more. */
static int read_some(struct nc_launch *launch, struct nc_error *reterr)
{
	struct taking taking = {.launch = launch, .reterr = reterr};
	int r = nc_events_drain(launch->events, nc_claim_generation(launch->claim), take, &taking, reterr);

	return r < 0 ? r : taking.status < 0 ? taking.status : taking.taken == RECORDS_AT_ONCE;
}

int nc_launch_events_open(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_events_open(nc_claim_ring_fd(launch->claim), &launch->events, reterr);
}

int nc_launch_events_fd(const struct nc_launch *launch)
{
	return launch->events ? nc_events_poll_fd(launch->events) : launch->edge.fd;
}

int nc_launch_events_step(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = read_some(launch, reterr);

	return r < 0 ? r : 0;
}

int nc_launch_events_finish(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = 1;

	while (r > 0)
		r = read_some(launch, reterr);
	nc_launch_events_close(launch);
	return r;
}

void nc_launch_events_close(struct nc_launch *launch)
{
	nc_events_close(launch->events);
	launch->events = NULL;
}

void nc_launch_events_lose(struct nc_launch *launch)
{
	struct nc_error ignored; /* the loss is counted already */
	bool had_edge = launch->edge.fd >= 0;

	launch->events_lost++;
	nc_launch_events_close(launch);
	nc_edge_end(&launch->edge);
	if (had_edge)
		nc_events_open(nc_claim_ring_fd(launch->claim), &launch->events, &ignored);
}
