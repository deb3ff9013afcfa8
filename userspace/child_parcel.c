/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child_parcel.c - everything that a plan points to, in one piece of memory of its own
 *
 * The child is born without the supervisor's heap (heap.h), where most of it lies. Two rounds over the same steps: the first counts, the second copies.
 * What is not unusually large goes into static memory: a mapping that is made and undone costs more than all of the copying.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "child.h"

static _Alignas(16) char room[16384];

struct packing {
	char *at; /* NULL: counting */
	size_t used;
};

static void *pack(struct packing *packing, const void *bytes, size_t size)
{
	void *place = packing->at ? packing->at + packing->used : NULL;

	packing->used += (size + 15) & ~(size_t)15;
	return place && size ? memcpy(place, bytes, size) : place;
}

static void pack_text(struct packing *packing, const char **text)
{
	if (*text)
		*text = pack(packing, *text, strlen(*text) + 1);
}

static void pack_list(struct packing *packing, char *const **list)
{
	size_t count = 0;
	const char **copy;

	while (*list && (*list)[count])
		count++;
	if (!*list)
		return;
	copy = pack(packing, *list, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		const char *text = (*list)[i];

		pack_text(packing, &text);
		if (copy)
			copy[i] = text;
	}
	*list = (char *const *)copy;
}

static void pack_mounts(struct packing *packing, struct nc_child_plan *plan)
{
	const struct nc_mount_plan *from = plan->mounts;
	struct nc_mount_plan *mounts = pack(packing, from, sizeof(*from));
	struct nc_mount_edit *edits = pack(packing, from->edits, from->count * sizeof(*edits));

	for (size_t i = 0; i < from->count; i++) {
		const char *point = from->edits[i].point;

		pack_text(packing, &point);
		if (edits)
			edits[i].point = (char *)point;
	}
	if (mounts)
		mounts->edits = edits;
	plan->mounts = mounts;
}

static void pack_all(struct packing *packing, struct nc_child_plan *plan)
{
	pack_mounts(packing, plan);
	plan->filter.filter = pack(packing, plan->filter.filter, plan->filter.len * sizeof(*plan->filter.filter));
	pack_text(packing, &plan->cwd);
	pack_list(packing, &plan->argv);
	pack_list(packing, &plan->env);
	pack_list(packing, &plan->credential_names);
	if (plan->seen_by_workload)
		plan->seen_by_workload = pack(packing, plan->seen_by_workload, plan->seen_length);
}

int nc_child_pack(struct nc_child_plan *plan, struct nc_child_parcel *ret_parcel)
{
	struct nc_child_plan counted = *plan;
	struct packing packing = {0};
	size_t size;

	pack_all(&packing, &counted);
	size = packing.used;
	packing = (struct packing){.at = room};
	if (size > sizeof(room))
		packing.at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (packing.at == MAP_FAILED)
		return -errno;
	pack_all(&packing, plan);
	*ret_parcel = (struct nc_child_parcel){.bytes = packing.at, .size = size};
	return 0;
}

void nc_child_unpack(struct nc_child_parcel *parcel)
{
	if (parcel->bytes && parcel->bytes != room)
		munmap(parcel->bytes, parcel->size);
	parcel->bytes = NULL;
}
