/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * emit.h - counting and telling; enforcement never depends on whether anybody listens
 *
 * Every decision is counted exactly, by slot and reason. The first sight of a (destination, reason) is an event; repeats are counted in `seen`, so that
 * a flood cannot push out the one that matters. An event that finds its ring full is counted as lost, and the next sight of the same tries again.
 */
#ifndef NC_BPF_EMIT_H
#define NC_BPF_EMIT_H

#include <bpf/bpf_core_read.h>
#include "maps.h"
#include "server_name.h"
#include "verdict.h"

/* What a program knows beyond flow and verdict. Cleared by the caller. */
struct nc_sighting {
	__u32 slot_index;
	__u8 hook;
	__u8 family; /* 4 or 6 */
	__u8 ends;   /* 1: the connection is to be ended, so user space is told each time */
	__u8 name_length;
	__u32 detail;
	__u32 name_at; /* packet programs: where a name of name_length bytes that was asked for stands in the packet */
	__u64 name_hash;
	__u64 socket_cookie;
	const struct nc_label *label; /* packet programs: what had been admitted */
};

static __always_inline void nc_count(__u32 slot_index, __u8 reason)
{
	struct nc_counters *row = bpf_map_lookup_elem(&counters, &slot_index);

	if (row)
		__sync_fetch_and_add(&row->by_reason[reason & (NC_REASON_MAX - 1)], 1);
}

/*
 * Programs may read the kernel's memory; the loader clears it where they may not. A kernel that is locked down to confidentiality takes no program that so
 * much as has the call in it (5.13; before that the call fails), so the verifier must see a constant before it and leave the rest out.
 */
const volatile unsigned char nc_reads_kernel = 1;

/* May a device program ask for the current task (6.1)? The loader tries. */
const volatile unsigned char nc_device_sees_task = 0;

/* The thread group's number in its own pid namespace; 0 where the kernel does not let a program read it. */
static __always_inline __u32 nc_current_pid_in_namespace(void)
{
	struct task_struct *task;
	struct pid *pid;
	unsigned int level;
	struct upid upid = {};

	if (!nc_reads_kernel)
		return 0;
	task = (void *)bpf_get_current_task();
	pid = BPF_CORE_READ(task, group_leader, thread_pid);
	level = BPF_CORE_READ(pid, level);
	if (level > 32)
		return 0;
	bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]);
	return upid.nr;
}

static __always_inline void nc_event_fill_task(struct nc_event *event)
{
	event->cgroup_id = bpf_get_current_cgroup_id();
	event->pid = bpf_get_current_pid_tgid() >> 32;
	event->pid_ns = nc_current_pid_in_namespace();
	event->uid = (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

static __always_inline void nc_event_fill(struct nc_event *event, const struct nc_slot *slot, const struct nc_flow *flow,
					  const struct nc_verdict *verdict, const struct nc_sighting *sighting)
{
	event->version = NC_ABI_VERSION;
	event->size = sizeof(*event);
	event->slot = sighting->slot_index;
	event->generation = slot->generation;
	event->revision = slot->revision;
	event->time_ns = bpf_ktime_get_boot_ns();
	event->socket_cookie = sighting->socket_cookie;
	event->destination = flow->destination;
	event->port_be = flow->port_be;
	event->protocol = flow->protocol;
	event->family = sighting->family;
	event->hook = sighting->hook;
	event->decision = verdict->decision;
	event->reason = verdict->reason;
	event->address_class = verdict->address_class;
	event->authority = slot->authority;
	event->name_id = verdict->name_id;
	event->detail = sighting->detail;
	if (sighting->label && (sighting->label->flags & NC_LABEL_ADMITTED)) {
		event->admitted = sighting->label->admitted;
		event->admitted_port_be = sighting->label->admitted_port_be;
	}
}

static __always_inline int nc_event_send(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
					 const struct nc_sighting *sighting, int has_task)
{
	__u32 ring_index = slot->ring;
	void *ring = bpf_map_lookup_elem(&events, &ring_index);
	struct nc_event *event;

	if (!ring)
		return 0;
	event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event)
		return 0;
	__builtin_memset(event, 0, sizeof(*event));
	nc_event_fill(event, slot, flow, verdict, sighting);
	if (has_task)
		nc_event_fill_task(event);
	bpf_ringbuf_submit(event, 0);
	return 1;
}

/* With the name that was asked for. A repeat is only worth the ring's first half: the other is for what has not been told yet. */
static __always_inline int nc_event_send_named(struct __sk_buff *skb, const struct nc_slot *slot, const struct nc_flow *flow,
					       const struct nc_verdict *verdict, const struct nc_sighting *sighting, __u8 flags)
{
	__u32 ring_index = slot->ring;
	void *ring = bpf_map_lookup_elem(&events, &ring_index);
	struct nc_named_event *named;
	__u32 length = sighting->name_length;

	if (!ring)
		return 0;
	if ((flags & NC_EVENT_REPEAT) && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2)
		return 0;
	named = bpf_ringbuf_reserve(ring, sizeof(*named), 0);
	if (!named)
		return 0;
	__builtin_memset(named, 0, sizeof(*named));
	nc_event_fill(&named->event, slot, flow, verdict, sighting);
	named->event.size = sizeof(*named);
	named->event.flags = flags;
	if (length && !bpf_skb_load_bytes(skb, sighting->name_at, named->name, nc_bounded(length, 255)))
		named->name_length = length;
	bpf_ringbuf_submit(named, 0);
	return 1;
}

/* The row of `seen` that a decision belongs to; NULL: it has none. */
static __always_inline struct nc_seen_value *nc_seen_row(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
							 const struct nc_sighting *sighting, int make)
{
	struct nc_seen_key key = {};
	struct nc_seen_value fresh = {}, *value;

	key.generation = slot->generation;
	key.destination = flow->destination;
	key.port_be = flow->port_be;
	key.protocol = flow->protocol;
	key.reason = verdict->reason;
	key.authority = slot->authority;
	key.name_hash = sighting->name_hash;
	value = bpf_map_lookup_elem(&seen, &key);
	if (!value && make) {
		fresh.first_ns = bpf_ktime_get_boot_ns();
		bpf_map_update_elem(&seen, &key, &fresh, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&seen, &key);
	}
	return value;
}

/*
 * Counts the decision; its row of `seen`, counted too. NULL: the map is full of others. Reading the clock costs more than a look-up, and a tick is a word in
 * memory: so the clock is read once in each.
 */
static __always_inline struct nc_seen_value *nc_sight(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
						      const struct nc_sighting *sighting)
{
	struct nc_seen_value *value = nc_seen_row(slot, flow, verdict, sighting, 1);
	__u32 tick = (__u32)bpf_jiffies64();

	nc_count(sighting->slot_index, verdict->reason);
	if (value) {
		__sync_fetch_and_add(&value->count, 1);
		if (value->tick != tick || !value->last_ns) {
			value->tick = tick;
			value->last_ns = bpf_ktime_get_boot_ns();
		}
	}
	return value;
}

/* Counts the decision. Returns 1 when it is to be told, and then it stands as told: nc_tell takes that back where it fails. */
static __always_inline int nc_counted_new(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
					  const struct nc_sighting *sighting)
{
	struct nc_seen_value *value = nc_sight(slot, flow, verdict, sighting);

	if (value) {
		/* Two processors may both see 0 here: an event too many, never one too few. */
		if (value->reported)
			return 0;
		value->reported = 1;
	}
	return 1;
}

/* slot may be freed at this moment: then the record carries generation 0 and readers skip it. */
static __always_inline void nc_tell(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
				    const struct nc_sighting *sighting, int has_task)
{
	struct nc_seen_value *value;

	if (nc_event_send(slot, flow, verdict, sighting, has_task))
		return;
	nc_count(sighting->slot_index, NC_COUNTER_LOST);
	value = nc_seen_row(slot, flow, verdict, sighting, 0);
	if (value)
		value->reported = 0;
}

/* The same for a refused name. A connection that is to be ended is told each time, for whoever ends it. */
static __always_inline void nc_note_name(struct __sk_buff *skb, const struct nc_slot *slot, const struct nc_flow *flow,
					 const struct nc_verdict *verdict, const struct nc_sighting *sighting)
{
	struct nc_seen_value *value = nc_sight(slot, flow, verdict, sighting);
	__u8 flags = value && value->reported ? NC_EVENT_REPEAT : 0;

	if (flags && !sighting->ends)
		return;
	if (value)
		value->reported = 1;
	if (!nc_event_send_named(skb, slot, flow, verdict, sighting, flags) && !flags) {
		nc_count(sighting->slot_index, NC_COUNTER_LOST);
		if (value)
			value->reported = 0;
	}
}

/* In two steps, for callers that have something to find out for the telling alone: it happens once, the counting each time. */
static __noinline int nc_count_new(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
				   const struct nc_sighting *sighting)
{
	return nc_counted_new(slot, flow, verdict, sighting);
}

static __noinline int nc_tell_task(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
				   const struct nc_sighting *sighting)
{
	nc_tell(slot, flow, verdict, sighting, 1);
	return 0;
}

/* With the current task and without: packet programs, and setsockopt on 5.10, may not even load with the helpers that ask for it. */
static __noinline int nc_note_task(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
				   const struct nc_sighting *sighting)
{
	if (nc_counted_new(slot, flow, verdict, sighting))
		nc_tell(slot, flow, verdict, sighting, 1);
	return 0;
}

static __noinline int nc_note_plain(const struct nc_slot *slot, const struct nc_flow *flow, const struct nc_verdict *verdict,
				    const struct nc_sighting *sighting)
{
	if (nc_counted_new(slot, flow, verdict, sighting))
		nc_tell(slot, flow, verdict, sighting, 0);
	return 0;
}

#endif
