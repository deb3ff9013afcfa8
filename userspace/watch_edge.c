/* SPDX-License-Identifier: GPL-2.0-only */
/* watch_edge.c - what the edge says, or the ring where there is none, on its way into the evidence; and what follows from it */
#include <errno.h>
#include "json.h"
#include "watch.h"

static int record_events(struct nc_launch *launch, const struct nc_edge_message *message, struct nc_error *reterr)
{
	int r = 0;

	for (uint32_t i = 0; i < message->count && r == 0; i++)
		r = nc_launch_record_event(launch, &message->events[i], reterr);
	return r;
}

/* Only the program that judges first bytes sends these. What it refused is ended when all that is there has been heard. */
static int record_named(struct nc_launch *launch, const struct nc_named_event *named, struct nc_error *reterr)
{
	NC_JSON json_t *record = NULL;

	launch->names_refused = true;
	if (named->event.flags & NC_EVENT_REPEAT)
		return 0;
	record = nc_named_event_json(named);
	return nc_launch_record(launch, record, reterr);
}

static bool not_refused(const void *context, const struct nc_label *label)
{
	(void)context;
	return !(label->flags & NC_LABEL_WIRE_REFUSED);
}

/* A connection whose first bytes were refused can never send anything again: its owner is told at once. */
int nc_watch_end_refused(struct nc_launch *launch, struct nc_error *reterr)
{
	uint32_t ended;

	if (!launch->names_refused)
		return 0;
	launch->names_refused = false;
	return nc_claim_end_flows(launch->claim, launch->netns_fd, not_refused, NULL, &ended, reterr);
}

int nc_watch_hear(struct nc_launch *launch, struct nc_error *reterr)
{
	static struct nc_edge_message message; /* 4 KiB that the stack need not hold */
	int r;

	if (launch->events)
		return nc_launch_events_step(launch, reterr);
	while ((r = nc_edge_receive(&launch->edge, &message)) == 1) {
		switch (message.kind) {
		case NC_EDGE_READY:
			launch->edge.ready = true;
			break;
		case NC_EDGE_FLUSHED:
			launch->edge.flushed = true;
			break;
		case NC_EDGE_EVENTS:
			r = record_events(launch, &message, reterr);
			break;
		case NC_EDGE_NAMED:
			r = record_named(launch, &message.named, reterr);
			break;
		case NC_EDGE_GRANT:
			r = nc_launch_grant(launch, &message, reterr);
			break;
		case NC_EDGE_NAME:
			r = nc_launch_record_name(launch, &message.name, reterr);
			break;
		case NC_EDGE_NAMES_CUT:
			launch->names_cut += message.count;
			break;
		default:
			return nc_error_sys(reterr, NC_E_SYSTEM, message.status ? message.status : -EPROTO, "the edge failed");
		}
		if (r < 0)
			return r;
	}
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "the edge is gone") : 0;
}

int nc_watch_edge(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_watch_hear(launch, reterr) ?: nc_watch_end_refused(launch, reterr);
}
