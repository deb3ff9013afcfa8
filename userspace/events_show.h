/* SPDX-License-Identifier: GPL-2.0-only */
/* events_show.h - the records of a log, for people (events_show.c) */
#ifndef NC_EVENTS_SHOW_H
#define NC_EVENTS_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct nc_events_view {
	bool headed;
	int folder_fd;	 /* of the evidence */
	int64_t wall_ns; /* what CLOCK_BOOTTIME must be given to be time of day; 0: the launch statement does not say */
	json_t *ids;	 /* of names, from the statement and the updates so far (evidence_ids.h) */
};

/* One line on standard output; above the first, what the columns are. Nothing of the log's is passed on that a terminal obeys. */
void nc_events_show(struct nc_events_view *view, const json_t *record);

#endif
