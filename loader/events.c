// SPDX-License-Identifier: GPL-2.0-only
/*
 * events.c - the reader of an instance's ring
 *
 * A ring is used by one instance after another; a record that a program of an earlier one finished late is told by its generation and skipped.
 *
 * Layout and order as in Documentation/bpf/ringbuf.rst: one page with the consumer's position, one with the producer's, then the data, mapped by the kernel
 * twice in a row so that no record is ever cut. libbpf's reader maps all of it at once: 34 pages that a launch pays for when they are mapped, and
 * again when they go, to read four records. Here the data are mapped page by page where they are looked at; only a reader that is behind maps all,
 * and keeps it.
 */
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include "inside.h"

#define WINDOW_PAGES 4u /* what is further behind than that is read from the whole */

struct nc_events {
	int ring_fd;
	size_t page, size; /* of memory, of the data */
	unsigned long *consumer;
	const unsigned long *producer;
	const char *whole; /* all data, twice; NULL: not mapped */
	uint64_t generation;
	int (*each)(void *context, const struct nc_event *event);
	void *context;
};

/* The data from `from` up to `to`, in *ret_map for as long as it is needed; NULL there: the mapping stays. */
static const char *look_at(struct nc_events *events, unsigned long from, unsigned long to, void **ret_map, size_t *ret_length)
{
	size_t start = from & (events->size - 1), into = start & (events->page - 1);
	void *map;

	*ret_map = NULL;
	if (!events->whole && to - from > WINDOW_PAGES * events->page) {
		map = mmap(NULL, 2 * events->size, PROT_READ, MAP_SHARED, events->ring_fd, (off_t)(2 * events->page));
		if (map == MAP_FAILED)
			return NULL;
		events->whole = map;
	}
	if (events->whole)
		return events->whole + start;
	*ret_length = into + (to - from);
	map = mmap(NULL, *ret_length, PROT_READ, MAP_SHARED, events->ring_fd, (off_t)(2 * events->page + start - into));
	if (map == MAP_FAILED)
		return NULL;
	*ret_map = map;
	return (const char *)map + into;
}

/* One record. 1: whoever takes them wants no more now; -EPROTO: it is none of ours. */
static int take_record(const struct nc_events *events, const void *data, size_t size)
{
	const struct nc_event *event = data;

	if ((size != sizeof(*event) && size != sizeof(struct nc_named_event)) || event->version != NC_ABI_VERSION || event->size != size)
		return -EPROTO;
	if (event->generation != events->generation)
		return 0;
	return events->each(events->context, event) ? 1 : 0;
}

/* What stands from `at` up to `to`: each record is given back to the programs when it was taken. A record that is still being written ends it. */
static int take_all(struct nc_events *events, const char *data, unsigned long at, unsigned long to)
{
	const char *first = data - at;
	int r = 0;

	while (r == 0 && at < to) {
		uint32_t head = __atomic_load_n((const uint32_t *)(first + at), __ATOMIC_ACQUIRE);
		uint32_t length = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (head & BPF_RINGBUF_BUSY_BIT)
			return 1;
		if (!(head & BPF_RINGBUF_DISCARD_BIT))
			r = take_record(events, first + at + BPF_RINGBUF_HDR_SZ, length);
		at += (length + BPF_RINGBUF_HDR_SZ + 7) & ~7ul;
		__atomic_store_n(events->consumer, at, __ATOMIC_RELEASE);
	}
	return r;
}

int nc_events_open(int ring_fd, struct nc_events **ret_events, struct nc_error *reterr)
{
	NC_FREE struct nc_events *events = calloc(1, sizeof(*events));
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	void *consumer, *producer;
	int r = events ? bpf_obj_get_info_by_fd(ring_fd, &info, &size) : -ENOMEM;

	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "open the ring");
	*events = (struct nc_events){.ring_fd = ring_fd, .page = (size_t)getpagesize(), .size = info.max_entries};
	consumer = mmap(NULL, events->page, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	producer = consumer == MAP_FAILED ? MAP_FAILED : mmap(NULL, events->page, PROT_READ, MAP_SHARED, ring_fd, (off_t)events->page);
	if (producer == MAP_FAILED) {
		r = -errno;
		if (consumer != MAP_FAILED)
			munmap(consumer, events->page);
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "map the ring");
	}
	events->consumer = consumer;
	events->producer = producer;
	*ret_events = NC_TAKE_PTR(events);
	return 0;
}

/* The ring itself is readable while there is something in it. */
int nc_events_poll_fd(const struct nc_events *events)
{
	return events->ring_fd;
}

int nc_events_drain(struct nc_events *events, uint64_t generation, int (*each)(void *context, const struct nc_event *event), void *context,
		    struct nc_error *reterr)
{
	unsigned long from, to;
	int r = 0;

	events->generation = generation;
	events->each = each;
	events->context = context;
	while (r == 0 && (from = *events->consumer) < (to = __atomic_load_n(events->producer, __ATOMIC_ACQUIRE))) {
		size_t length = 0;
		void *map;
		const char *data = look_at(events, from, to, &map, &length);

		if (!data)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "map the ring");
		r = take_all(events, data, from, to);
		if (map)
			munmap(map, length);
	}
	return r < 0 ? nc_error_set(reterr, NC_E_HOST_INCOMPLETE, r, "the ring holds a record of another version or size") : 0;
}

void nc_events_close(struct nc_events *events)
{
	if (!events)
		return;
	if (events->whole)
		munmap((void *)events->whole, 2 * events->size);
	munmap((void *)events->producer, events->page);
	munmap(events->consumer, events->page);
	free(events);
}
