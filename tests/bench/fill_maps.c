// SPDX-License-Identifier: GPL-2.0-only
/*
 * fill_maps.c - makes an installed host look crowded: fill_maps MAPS instances|destinations|listed FROM TO
 *
 * MAPS is the folder in which the maps are pinned. `instances` registers made-up ones, numbers FROM to TO, in free places: slots of both authorities, their
 * cgroups' ids, and a policy of 16 destinations, as a launch writes them. `destinations` adds entries FROM to TO to the policy of the one workload that
 * lives: 20.0.0.0 and what follows, UDP port 443; `listed` adds the same to the map of that name (lookup.bpf.c). What is measured afterwards is
 * looked up among these; nothing is behind them.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "netcordon_abi.h"

#define BATCH 4096u
#define EACH 16u
#define MADE_UP_GENERATION (0x4d41444500000000ull)
#define MADE_UP_CGROUP (1ull << 48)
#define FIRST_ADDRESS 0x14000000u /* 20.0.0.0 */

struct batch {
	int fd;
	__u32 count;
	struct nc_policy_key keys[BATCH];
	struct nc_policy_value values[BATCH];
};

static int map_of(const char *folder, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		perror(path);
		exit(3);
	}
	return fd;
}

static void check(int r, const char *what)
{
	if (r) {
		fprintf(stderr, "fill_maps: %s: %s\n", what, strerror(-r));
		exit(1);
	}
}

static void flush(struct batch *batch)
{
	__u32 count = batch->count;

	if (count)
		check(bpf_map_update_batch(batch->fd, batch->keys, batch->values, &count, NULL), "write a policy (pools.policy_entries?)");
	batch->count = 0;
}

static void add(struct batch *batch, __u64 generation, __u64 revision, __u32 number)
{
	struct nc_policy_key *key = &batch->keys[batch->count];

	*key = (struct nc_policy_key){
		.generation = generation, .revision = revision, .port_be = htons(443), .protocol = 17, .kind = NC_POLICY_LITERAL};
	key->address.words_be[2] = htonl(0xffff);
	key->address.words_be[3] = htonl(FIRST_ADDRESS + number);
	if (++batch->count == BATCH)
		flush(batch);
}

/* The slot of the one workload that lives. */
static struct nc_slot live(int authorities)
{
	struct nc_slot slot;

	for (__u32 i = 0; !bpf_map_lookup_elem(authorities, &i, &slot); i += 2)
		if (slot.generation && slot.generation >> 32 != MADE_UP_GENERATION >> 32)
			return slot;
	fprintf(stderr, "fill_maps: nobody lives\n");
	exit(1);
}

static void add_instance(struct batch *batch, int authorities, int cgroups, const struct nc_slot *like, __u32 number, __u32 *place)
{
	struct nc_slot slot;

	do {
		*place += 2;
		check(bpf_map_lookup_elem(authorities, place, &slot), "find a free place (pools.instances?)");
	} while (slot.generation);
	for (__u32 i = 0; i < 2; i++) {
		__u32 index = *place + i;

		slot = *like;
		slot.generation = MADE_UP_GENERATION + number + 1;
		slot.cgroup_id = MADE_UP_CGROUP + 2ull * number + i;
		slot.authority = i ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD;
		check(bpf_map_update_elem(cgroups, &slot.cgroup_id, &index, BPF_ANY), "register a cgroup");
		check(bpf_map_update_elem(authorities, &index, &slot, BPF_ANY), "open a slot");
	}
	for (__u32 i = 0; i < EACH; i++)
		add(batch, MADE_UP_GENERATION + number + 1, 1, i);
}

int main(int argc, char **argv)
{
	static struct batch batch;
	__u32 from, to, place = (__u32)-2;
	int authorities, cgroups;
	struct nc_slot like;

	if (argc != 5)
		return 2;
	from = (__u32)strtoul(argv[3], NULL, 10);
	to = (__u32)strtoul(argv[4], NULL, 10);
	if (!strcmp(argv[2], "listed")) {
		batch.fd = map_of(argv[1], "listed");
		for (__u32 i = from; i < to; i++)
			add(&batch, 0, 0, i);
		flush(&batch);
		return 0;
	}
	batch.fd = map_of(argv[1], "workload_policy");
	authorities = map_of(argv[1], "authorities");
	cgroups = map_of(argv[1], "authority_of_cgroup");
	like = live(authorities);
	for (__u32 i = from; i < to; i++) {
		if (!strcmp(argv[2], "instances"))
			add_instance(&batch, authorities, cgroups, &like, i, &place);
		else
			add(&batch, like.generation, like.revision, i);
	}
	flush(&batch);
	return 0;
}
