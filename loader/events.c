// SPDX-License-Identifier: GPL-2.0-only
/*
 * events.c - the reader of an instance's ring
 *
 * A ring is used by one instance after another; a record that a program of an earlier one finished late is told by its generation and skipped.
 */
#include <bpf/libbpf.h>
#include "inside.h"

struct nc_events {
	struct ring_buffer *ring;
	uint64_t generation;
	int (*each)(void *context, const struct nc_event *event);
	void *context;
	bool foreign_record;
};

static int take_record(void *context, void *data, size_t size)
{
	struct nc_events *events = context;
	const struct nc_event *event = data;

	if ((size != sizeof(*event) && size != sizeof(struct nc_named_event)) || event->version != NC_ABI_VERSION || event->size != size) {
		events->foreign_record = true;
		return -EPROTO;
	}
	if (event->generation != events->generation)
		return 0;
	return events->each(events->context, event) ? -ECANCELED : 0;
}

int nc_events_open(int ring_fd, struct nc_events **ret_events, struct nc_error *reterr)
{
	NC_FREE struct nc_events *events = calloc(1, sizeof(*events));

	if (!events)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "open the ring");
	events->ring = ring_buffer__new(ring_fd, take_record, events, NULL);
	if (!events->ring)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "map the ring");
	*ret_events = NC_TAKE_PTR(events);
	return 0;
}

int nc_events_poll_fd(const struct nc_events *events)
{
	return ring_buffer__epoll_fd(events->ring);
}

int nc_events_drain(struct nc_events *events, uint64_t generation, int (*each)(void *context, const struct nc_event *event), void *context,
		    struct nc_error *reterr)
{
	int r;

	events->generation = generation;
	events->each = each;
	events->context = context;
	events->foreign_record = false;
	r = ring_buffer__consume(events->ring);
	if (r >= 0)
		return 0;
	if (events->foreign_record)
		return nc_error_set(reterr, NC_E_HOST_INCOMPLETE, -EPROTO, "the ring holds a record of another version or size");
	return r == -ECANCELED ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, r, "read the ring");
}

void nc_events_close(struct nc_events *events)
{
	if (!events)
		return;
	ring_buffer__free(events->ring);
	free(events);
}
