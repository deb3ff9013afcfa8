// SPDX-License-Identifier: GPL-2.0-only
/*
 * slot.c - reading and writing a slot of the map `authorities`
 *
 * The kernel refuses a writable memory map of a map that programs may not write (BPF_F_RDONLY_PROG), so a slot is written by bpf(2): one copy of the
 * record into the array, in which only the bytes that change matter to a program that reads meanwhile. Callers change one word at a time where that
 * counts: a generation or revision that was read half-written names no policy, and denies. What must be seen in order is written by two calls with the
 * fence of this file between them.
 */
#include <bpf/bpf.h>
#include "inside.h"

int nc_slot_read(struct nc_claim *claim, int i, struct nc_slot *ret_slot, struct nc_error *reterr)
{
	uint32_t index = 2 * claim->record.index + (uint32_t)i;
	struct nc_slot slot;
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_AUTHORITIES, &fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_lookup_elem(fd, &index, &slot);
	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "read slot %u", index);
	*ret_slot = slot;
	return 0;
}

int nc_slot_write(struct nc_claim *claim, int i, const struct nc_slot *slot, struct nc_error *reterr)
{
	uint32_t index = 2 * claim->record.index + (uint32_t)i;
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_AUTHORITIES, &fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_update_elem(fd, &index, slot, BPF_EXIST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "write slot %u", index) : 0;
}
