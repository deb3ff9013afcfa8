// SPDX-License-Identifier: GPL-2.0-only
/*
 * claim_end.c - the end of an instance, by its owner or by whoever finds it without one
 *
 * end noted -> tasks killed -> slots closed -> every map entry away -> cgroups removed, links of a taken one off -> ring and index given back ->
 * record dropped. Each step may be repeated, so a cleaner that is killed leaves the same work to the next one.
 *
 * What runs in a taken cgroup is killed only once somebody was told that it is sealed: before that it is somebody else's service, whose owner has no
 * promise from us, and whatever goes wrong gives it back as it was.
 */
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

#define END_TIMEOUT_MS 5000
#define END_AGAIN_MS 100 /* for what has outlived that once */

static void first_error(int *r, struct nc_error *reterr, int status, const struct nc_error *error)
{
	if (status >= 0 || *r < 0)
		return;
	*r = status;
	*reterr = *error;
}

static int close_slots(struct nc_claim *claim, struct nc_error *reterr)
{
	int r = 0;

	for (int i = 0; i < 2 && r >= 0; i++) {
		struct nc_slot slot;

		r = nc_slot_read(claim, i, &slot, reterr);
		if (r < 0 || slot.generation != claim->record.generation)
			continue;
		slot.generation = 0;
		slot.closed_ns = nc_boot_ns();
		r = nc_slot_write(claim, i, &slot, reterr);
	}
	return r;
}

int nc_claim_close(struct nc_claim *claim, struct nc_error *reterr)
{
	bool allowed;
	int r = nc_claim_was_allowed(claim, &allowed, reterr);

	r = r < 0 ? r : close_slots(claim, reterr);
	if (r >= 0 && allowed) /* a program may have read the slot before, and be about to let a packet pass */
		nc_wait_for_programs();
	return r;
}

int nc_claim_forget_cgroup(struct nc_claim *claim, int i, struct nc_error *reterr)
{
	uint32_t slot;
	int fd, r;

	if (!claim->record.cgroup_id[i] || claim->record.index == NC_INDEX_NONE)
		return 0;
	r = nc_host_map(claim->host, NC_MAP_AUTHORITY_OF_CGROUP, &fd, reterr);
	if (r < 0)
		return r;
	r = bpf_map_lookup_elem(fd, &claim->record.cgroup_id[i], &slot);
	if (r == -ENOENT || (!r && slot != 2 * claim->record.index + (uint32_t)i))
		return 0;
	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "look for a cgroup in its map");
	r = bpf_map_delete_elem(fd, &claim->record.cgroup_id[i]);
	return r && r != -ENOENT ? nc_error_sys(reterr, NC_E_SYSTEM, r, "remove a cgroup from its map") : 0;
}

static int forget_policy(struct nc_claim *claim, int i, struct nc_error *reterr)
{
	struct nc_image keys = {.entries = claim->sealed[i], .count = claim->sealed_count[i]};
	struct nc_slot slot;
	int fd, r;

	if (claim->owner && !claim->is_sealed[i])
		return 0;
	r = nc_host_map(claim->host, nc_authority_map((enum nc_authority)(i + 1)), &fd, reterr);
	if (r < 0)
		return r;
	if (!claim->owner || (keys.count && !keys.entries))
		return nc_map_purge(fd, sizeof(struct nc_policy_key), sizeof(struct nc_policy_value), claim->record.generation, reterr);
	r = nc_slot_read(claim, i, &slot, reterr);
	return r < 0 ? r : nc_policy_remove(fd, claim->record.generation, slot.revision, &keys, reterr);
}

/* Grants and seen rows: by walking, since neither has another list. An owner who granted nothing has no grant. */
static int forget_rows(struct nc_claim *claim, enum nc_map map, uint32_t key_size, uint32_t value_size, struct nc_error *reterr)
{
	int fd;
	bool none = claim->owner && !claim->adopted && !claim->grants && (map == NC_MAP_GRANTS || (!claim->is_sealed[0] && !claim->is_sealed[1]));
	int r = none ? 1 : nc_host_map(claim->host, map, &fd, reterr);

	if (r)
		return r < 0 ? r : 0;
	return nc_map_purge(fd, key_size, value_size, claim->record.generation, reterr);
}

struct own_keys {
	uint64_t generation;
	uint32_t keys[8];
	size_t count;
};

static int own_key(void *context, const void *key, const void *value)
{
	struct own_keys *own = context;

	if (!memcmp(value, &own->generation, sizeof(own->generation)) && own->count < sizeof(own->keys) / sizeof(own->keys[0]))
		memcpy(&own->keys[own->count++], key, sizeof(uint32_t));
	return 0;
}

/* Gives index and ring back. What a dead owner took but could not write down is found by its generation. */
static int give_back(struct nc_claim *claim, struct nc_error *reterr)
{
	struct own_keys own = {.generation = claim->record.generation};
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_CLAIMS, &fd, reterr);

	if (r < 0)
		return r;
	if (claim->record.ring != NC_INDEX_NONE && claim->record.index != NC_INDEX_NONE) {
		own.keys[own.count++] = NC_RING_KEY | claim->record.ring;
		own.keys[own.count++] = claim->record.index;
	} else {
		r = nc_map_walk(fd, sizeof(uint32_t), sizeof(uint64_t), own_key, &own, reterr);
	}
	for (size_t i = 0; i < own.count && r >= 0; i++) {
		uint64_t generation;

		r = bpf_map_lookup_elem(fd, &own.keys[i], &generation);
		if (r == -ENOENT || (!r && generation != own.generation)) {
			r = 0;
			continue;
		}
		r = r ?: bpf_map_delete_elem(fd, &own.keys[i]);
		r = r && r != -ENOENT ? nc_error_sys(reterr, NC_E_SYSTEM, r, "give a place in the map claims back") : 0;
	}
	return r;
}

void nc_claim_note_undead(struct nc_claim *claim, bool undead)
{
	struct nc_error ignored;

	if (claim->record.undead == undead || claim->record_fd < 0)
		return;
	claim->record.undead = undead;
	nc_record_write(claim->record_fd, &claim->record, &ignored);
}

static int end_tasks(struct nc_claim *claim, struct nc_error *reterr)
{
	int timeout_ms = claim->record.undead ? END_AGAIN_MS : END_TIMEOUT_MS, r = 0;

	for (int i = 0; i < 2; i++) {
		struct nc_error error;

		if (claim->cgroup_fds[i] >= 0 && (claim->record.cgroup_kind[i] != NC_CGROUP_TAKEN || !claim->record.untold))
			first_error(&r, reterr, nc_cgroup_end(claim->cgroup_fds[i], timeout_ms, &error), &error);
	}
	nc_claim_note_undead(claim, r == -ETIMEDOUT);
	return r;
}

static int remove_cgroups(struct nc_claim *claim, struct nc_error *reterr)
{
	char links[NC_PATH_MAX];
	struct nc_error error;
	int r = 0;

	for (int i = 0; i < 2; i++) {
		const char *name = strrchr(claim->record.cgroup[i], '/');

		if (claim->record.cgroup_kind[i] == NC_CGROUP_MADE && name)
			first_error(&r, reterr, nc_cgroup_remove(claim->host->slice_fd, name + 1, &error), &error);
		if (claim->record.cgroup_kind[i] == NC_CGROUP_TAKEN) {
			int s = nc_claim_links(claim, links, &error);

			first_error(&r, reterr, s < 0 ? s : nc_detach_all(links, &error), &error);
		}
	}
	return r;
}

static int forget_entries(struct nc_claim *claim, struct nc_error *reterr)
{
	struct nc_error error;
	int r = 0;

	for (int i = 0; i < 2; i++) {
		first_error(&r, reterr, nc_claim_forget_cgroup(claim, i, &error), &error);
		first_error(&r, reterr, forget_policy(claim, i, &error), &error);
	}
	first_error(&r, reterr, nc_names_forget(claim, &error), &error);
	first_error(&r, reterr, forget_rows(claim, NC_MAP_GRANTS, sizeof(struct nc_grant_key), sizeof(struct nc_grant_value), &error), &error);
	first_error(&r, reterr, forget_rows(claim, NC_MAP_SEEN, sizeof(struct nc_seen_key), sizeof(struct nc_seen_value), &error), &error);
	if (claim->ring_fd < 0 && claim->record.ring != NC_INDEX_NONE)
		first_error(&r, reterr, nc_ring_open(claim->host, claim->record.ring, &claim->ring_fd, &error), &error);
	if (claim->ring_fd >= 0 && !claim->ring_read)
		first_error(&r, reterr, nc_ring_empty(claim->ring_fd, &error), &error);
	return r;
}

/*
 * The index is given back only when the slots are closed and the cgroups gone. Otherwise, and after any other failure, the record stays, so that the next
 * one to clean tries again; nothing can get out meanwhile: tasks that live on keep their cgroup, and a taken one its links.
 */
int nc_claim_end(struct nc_claim *claim, struct nc_error *reterr)
{
	struct nc_error error;
	int r = 0, gone = 0;

	if (claim->record.generation) {
		if (claim->record_fd >= 0)
			first_error(&r, reterr, nc_claim_note_ending(claim, &error), &error);
		first_error(&gone, reterr, end_tasks(claim, &error), &error);
		if (claim->record.index != NC_INDEX_NONE)
			first_error(&gone, reterr, close_slots(claim, &error), &error);
		r = r < 0 ? r : gone;
		first_error(&r, reterr, forget_entries(claim, &error), &error);
		if (gone >= 0) {
			gone = remove_cgroups(claim, &error);
			first_error(&r, reterr, gone, &error);
		}
		if (gone >= 0)
			first_error(&r, reterr, give_back(claim, &error), &error);
	}
	if (r >= 0)
		first_error(&r, reterr, nc_record_drop(claim->host, claim->name, &error), &error);
	return r;
}

int nc_claim_release(struct nc_claim *claim, struct nc_error *reterr)
{
	int r = claim ? nc_claim_end(claim, reterr) : 0;

	nc_claim_free(claim);
	return r;
}

/* Ends what the locked record speaks of; the descriptor is consumed. */
int nc_claim_recover(struct nc_host *host, const char *name, int record_fd, struct nc_error *reterr)
{
	struct nc_claim *claim = NULL;
	int r = nc_claim_open(host, name, record_fd, &claim, reterr);

	if (r < 0)
		return r;
	r = nc_claim_end(claim, reterr);
	nc_claim_free(claim);
	return r;
}

int nc_claim_end_stray(struct nc_host *host, uint64_t generation, uint32_t index, struct nc_error *reterr)
{
	struct nc_claim *claim = calloc(1, sizeof(*claim));
	int r = 0;

	if (!claim)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "end an orphan");
	*claim = (struct nc_claim){.host = host, .record_fd = -1, .ring_fd = -1, .cgroup_fds = {-1, -1}};
	claim->record = (struct nc_record){.generation = generation, .index = index, .ring = NC_INDEX_NONE};
	for (int i = 0; i < 2 && r >= 0 && index != NC_INDEX_NONE; i++) {
		struct nc_slot slot;

		r = nc_slot_read(claim, i, &slot, reterr);
		if (r >= 0 && slot.generation == generation)
			claim->record.cgroup_id[i] = slot.cgroup_id;
	}
	r = r < 0 || index == NC_INDEX_NONE ? r : close_slots(claim, reterr);
	r = r < 0 ? r : forget_entries(claim, reterr);
	r = r < 0 ? r : give_back(claim, reterr);
	nc_claim_free(claim);
	return r;
}
