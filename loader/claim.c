// SPDX-License-Identifier: GPL-2.0-only
/*
 * claim.c - the life of an instance's claim: name, index, generation and ring; and the handles on it
 *
 * new: record locked -> remains of a dead owner ended -> generation written down -> index taken in the map `claims` (BPF_NOEXIST decides between
 *      processes) -> ring taken in the same map, under keys with the top bit set -> both written down
 * The end is claim_end.c.
 *
 * A slot that was closed is not opened again until every program that could have read it has ended. Waiting for that costs a grace period, so a claim
 * takes slots that were closed more than a second ago and waits only when there is no such slot.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <linux/membarrier.h>
#include <bpf/bpf.h>
#include "inside.h"

#define RESTING_NS 1000000000ull
#define RING_GUESSES 3
#define RINGS_READY 64u

/* ---- indexes and rings -------------------------------------------------------------------------------------------------------------------- */

uint64_t nc_boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void nc_wait_for_programs(void)
{
	/* waits for a grace period; kernels booted with nohz_full refuse, and then a long sleep is what there is */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static int random_bytes(void *bytes, size_t size, struct nc_error *reterr)
{
	if (getrandom(bytes, size, 0) != (ssize_t)size)
		return nc_error_sys(reterr, NC_E_SYSTEM, errno ? -errno : -EIO, "getrandom");
	return 0;
}

/* Takes `key` for the generation: 1 when it is ours now, 0 when somebody has it. */
static int take_key(int claims_fd, uint32_t key, uint64_t generation, struct nc_error *reterr)
{
	int r = bpf_map_update_elem(claims_fd, &key, &generation, BPF_NOEXIST);

	if (!r)
		return 1;
	return r == -EEXIST ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, r, "take a place in the map claims");
}

static bool resting(int slots_fd, uint32_t index)
{
	for (uint32_t slot = 2 * index; slot <= 2 * index + 1; slot++) {
		struct nc_slot found;

		if (!bpf_map_lookup_elem(slots_fd, &slot, &found) && found.closed_ns && nc_boot_ns() - found.closed_ns < RESTING_NS)
			return true;
	}
	return false;
}

/* One pass over all indexes from a random one on; 1 when one was taken. */
static int index_pass(struct nc_host *host, uint64_t generation, bool rested_only, uint32_t *ret_index, struct nc_error *reterr)
{
	uint32_t count = host->book.instances, start = 0;
	int claims_fd, slots_fd;
	int r = random_bytes(&start, sizeof(start), reterr);

	r = r < 0 ? r : nc_host_map(host, NC_MAP_CLAIMS, &claims_fd, reterr);
	r = r < 0 ? r : nc_host_map(host, NC_MAP_AUTHORITIES, &slots_fd, reterr);
	for (uint32_t i = 0; i < count && r >= 0; i++) {
		uint32_t index = (start % count + i) % count;

		r = take_key(claims_fd, index, generation, reterr);
		if (r > 0 && rested_only && resting(slots_fd, index)) {
			r = bpf_map_delete_elem(claims_fd, &index);
			if (r)
				return nc_error_sys(reterr, NC_E_SYSTEM, r, "give a place in the map claims back");
		}
		if (r > 0) {
			*ret_index = index;
			return 1;
		}
	}
	return r;
}

static int index_take(struct nc_host *host, uint64_t generation, uint32_t *ret_index, struct nc_error *reterr)
{
	uint32_t cleaned = 0;
	int r = index_pass(host, generation, true, ret_index, reterr);

	if (r)
		return r;
	r = index_pass(host, generation, false, ret_index, reterr);
	if (!r) {
		r = nc_host_clean_orphans(host, &cleaned, reterr);
		if (r >= 0 && cleaned)
			r = index_pass(host, generation, false, ret_index, reterr);
	}
	if (r > 0)
		nc_wait_for_programs();
	if (r)
		return r;
	nc_error_set(reterr, NC_E_SLOTS_EXHAUSTED, -ENOSPC, "all %u instances of this host are taken", host->book.instances);
	return nc_error_hint(reterr, "end some, or raise pools.instances in the configuration, then netcordon host down and host up");
}

static int mark_ring(void *context, const void *key, const void *value)
{
	uint32_t number;

	(void)value;
	memcpy(&number, key, sizeof(number));
	if (number & NC_RING_KEY)
		((uint8_t *)context)[(number & ~NC_RING_KEY) / 8] |= (uint8_t)(1u << (number & 7));
	return 0;
}

/* A few guesses among those that `up` prepared; then the lowest free one, so that the pool does not grow further than it must. */
static int ring_take(struct nc_host *host, uint64_t generation, uint32_t *ret_ring, struct nc_error *reterr)
{
	uint32_t count = host->book.rings, ready = count < RINGS_READY ? count : RINGS_READY, guesses[RING_GUESSES];
	NC_FREE uint8_t *taken = NULL;
	int claims_fd;
	int r = random_bytes(guesses, sizeof(guesses), reterr);

	r = r < 0 ? r : nc_host_map(host, NC_MAP_CLAIMS, &claims_fd, reterr);
	for (int i = 0; i < RING_GUESSES && !r; i++) {
		*ret_ring = guesses[i] % ready;
		r = take_key(claims_fd, NC_RING_KEY | *ret_ring, generation, reterr);
	}
	if (r)
		return r;
	taken = calloc(1, count / 8 + 1);
	if (!taken)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "look for a ring");
	r = nc_map_walk(claims_fd, sizeof(uint32_t), sizeof(uint64_t), mark_ring, taken, reterr);
	for (uint32_t ring = 0; ring < count && !r; ring++) {
		*ret_ring = ring;
		if (!(taken[ring / 8] & 1u << (ring & 7)))
			r = take_key(claims_fd, NC_RING_KEY | ring, generation, reterr);
	}
	if (r)
		return r;
	nc_error_set(reterr, NC_E_RINGS_EXHAUSTED, -ENOSPC, "all %u event rings of this host are taken", count);
	return nc_error_hint(reterr, "end some, or raise pools.rings in the configuration, then netcordon host down and host up");
}

/* ---- handles ------------------------------------------------------------------------------------------------------------------------------ */

void nc_claim_free(struct nc_claim *claim)
{
	if (!claim)
		return;
	for (int i = 0; i < 2; i++) {
		nc_cleanup_close(&claim->cgroup_fds[i]);
		free(claim->sealed[i]);
		free(claim->names[i]);
	}
	nc_cleanup_close(&claim->ring_fd);
	nc_cleanup_close(&claim->record_fd);
	nc_grant_book_free(claim->grants);
	free(claim);
}

static int claim_alloc(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr)
{
	struct nc_claim *claim = calloc(1, sizeof(*claim));
	int r;

	if (!claim)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "claim an instance");
	claim->host = host;
	claim->record_fd = claim->ring_fd = claim->cgroup_fds[0] = claim->cgroup_fds[1] = -1;
	claim->record.index = claim->record.ring = NC_INDEX_NONE;
	claim->record.floor_owner = claim->host->floor_owner;
	snprintf(claim->name, sizeof(claim->name), "%s", name);
	r = nc_path(claim->folder, reterr, "%s/instances/%s", host->folder, name);
	if (r < 0) {
		nc_claim_free(claim);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

/* Opens the cgroups that the record names; one that is gone stays -1. A taken cgroup's path may lead to another cgroup by now: the id decides. Any other
 * failure is one: a cgroup that cannot be looked at must not count as gone. */
static int cgroups_open(struct nc_claim *claim, struct nc_error *reterr)
{
	for (int i = 0; i < 2; i++) {
		const char *path = claim->record.cgroup[i];
		struct stat status;
		NC_CLOSE int fd = -1;

		if (claim->record.cgroup_kind[i] == NC_CGROUP_NONE)
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &status))
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the cgroup %s", path);
		if (!claim->record.cgroup_id[i] || status.st_ino == claim->record.cgroup_id[i])
			claim->cgroup_fds[i] = NC_TAKE_FD(fd);
	}
	return 0;
}

/* A handle on what the record behind record_fd speaks of; the descriptor is the handle's from then on, also on failure. */
int nc_claim_open(struct nc_host *host, const char *name, int record_fd, struct nc_claim **ret_claim, struct nc_error *reterr)
{
	struct nc_claim *claim = NULL;
	int r = claim_alloc(host, name, &claim, reterr);

	if (r < 0) {
		close(record_fd);
		return r;
	}
	claim->record_fd = record_fd;
	r = nc_record_read_left(record_fd, &claim->record, reterr);
	r = r < 0 ? r : cgroups_open(claim, reterr);
	if (r < 0) {
		nc_claim_free(claim);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

/* The record of a dead owner, or an empty one: 0 when the name is free now. */
static int clear_the_way(struct nc_claim *claim, struct nc_error *reterr)
{
	struct nc_record old;
	bool populated = false;
	int r = nc_record_read_left(claim->record_fd, &old, reterr);

	if (r < 0 || !old.generation)
		return r;
	claim->record = old;
	r = cgroups_open(claim, reterr);
	if (r >= 0 && old.kept && claim->cgroup_fds[0] >= 0)
		r = nc_cgroup_is_populated(claim->cgroup_fds[0], &populated, reterr);
	if (r >= 0 && old.kept && (populated || (old.cgroup_kind[0] == NC_CGROUP_TAKEN && claim->cgroup_fds[0] >= 0))) {
		memset(&claim->record, 0, sizeof(claim->record));
		nc_error_set(reterr, NC_E_INSTANCE_EXISTS, -EEXIST, "an instance named %s lives on without a supervisor", claim->name);
		return nc_error_hint(reterr, "end it: netcordon stop %s", claim->name);
	}
	return r < 0 ? r : nc_claim_end(claim, reterr);
}

/* Index, ring and ring's descriptor, each written down. */
static int claim_take(struct nc_claim *claim, struct nc_error *reterr)
{
	struct nc_host *host = claim->host;
	struct nc_record *record = &claim->record;
	uint64_t generation = 0;
	int r = 0;

	*record = (struct nc_record){.index = NC_INDEX_NONE, .ring = NC_INDEX_NONE};
	while (!generation && r >= 0)
		r = random_bytes(&generation, sizeof(generation), reterr);
	if (r < 0)
		return r;
	record->generation = generation;
	r = nc_record_write(claim->record_fd, record, reterr);
	r = r < 0 ? r : index_take(host, generation, &record->index, reterr);
	r = r < 0 ? r : ring_take(host, generation, &record->ring, reterr);
	r = r < 0 ? r : nc_record_write(claim->record_fd, record, reterr);
	return r < 0 ? r : nc_ring_open(host, record->ring, &claim->ring_fd, reterr);
}

int nc_claim_new(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr)
{
	struct nc_claim *claim = NULL;
	struct nc_error ignored;
	int r = nc_instance_name_check(name, reterr);

	r = r < 0 ? r : claim_alloc(host, name, &claim, reterr);
	if (r < 0)
		return r;
	r = nc_host_lock(host, LOCK_SH, reterr);
	if (r < 0) {
		nc_claim_free(claim);
		return r;
	}
	for (int i = 0; i < 2; i++) { /* ending a dead owner's remains drops the record: lock anew */
		r = nc_record_lock(host, name, &claim->record_fd, reterr);
		if (r < 0)
			break;
		r = clear_the_way(claim, reterr);
		if (r < 0 || !claim->record.generation)
			break;
		nc_claim_free(claim);
		claim = NULL;
		r = claim_alloc(host, name, &claim, reterr);
		if (r < 0)
			break;
	}
	if (r < 0 && claim && claim->record_fd >= 0 && lseek(claim->record_fd, 0, SEEK_END) == 0)
		nc_record_drop(host, name, &ignored); /* made just now, locked by us, and nothing is written in it */
	if (r >= 0 && claim->record_fd < 0)
		r = nc_error_set(reterr, NC_E_INSTANCE_EXISTS, -EBUSY, "the name %s comes and goes too quickly", name);
	if (r >= 0) {
		claim->owner = true;
		r = claim_take(claim, reterr);
		if (r < 0)
			nc_claim_end(claim, &ignored);
	}
	nc_host_unlock(host);
	if (r < 0) {
		nc_claim_free(claim);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

int nc_claim_find(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr)
{
	struct nc_claim *claim = NULL;
	int fd;
	int r = nc_instance_name_check(name, reterr);

	r = r < 0 ? r : nc_record_open(host, name, &fd, reterr);
	r = r < 0 ? r : nc_claim_open(host, name, fd, &claim, reterr);
	if (r < 0)
		return r;
	if (!claim->record.generation || claim->record.ring == NC_INDEX_NONE)
		r = nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "the instance named %s is only being made", name);
	r = r < 0 ? r : nc_ring_open(host, claim->record.ring, &claim->ring_fd, reterr);
	if (r < 0) {
		nc_claim_free(claim);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

int nc_claim_adopt(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr)
{
	struct nc_claim *claim = NULL;
	int fd;
	int r = nc_instance_name_check(name, reterr);

	r = r < 0 ? r : nc_record_open(host, name, &fd, reterr); /* so that asking for an unknown name makes no folder */
	if (r < 0)
		return r;
	close(fd);
	r = nc_record_lock(host, name, &fd, reterr);
	r = r < 0 ? r : nc_claim_open(host, name, fd, &claim, reterr);
	if (r < 0)
		return r;
	claim->owner = claim->adopted = true;
	if (!claim->record.generation) {
		nc_claim_end(claim, reterr);
		nc_claim_free(claim);
		return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "there is no instance named %s", name);
	}
	for (int i = 0; i < 2 && r >= 0 && claim->record.index != NC_INDEX_NONE; i++) {
		struct nc_slot slot;

		r = nc_slot_read(claim, i, &slot, reterr);
		claim->is_sealed[i] = r >= 0 && slot.generation == claim->record.generation;
		claim->sealed_count[i] = claim->record.intended[i];
	}
	if (r >= 0 && claim->record.ring != NC_INDEX_NONE)
		r = nc_ring_open(host, claim->record.ring, &claim->ring_fd, reterr);
	if (r < 0) {
		nc_claim_free(claim);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

int nc_claim_keep(struct nc_claim *claim, bool keep, struct nc_error *reterr)
{
	claim->record.kept = keep;
	return nc_record_write(claim->record_fd, &claim->record, reterr);
}

int nc_claim_announce(struct nc_claim *claim, bool keep, struct nc_error *reterr)
{
	claim->record.untold = false;
	return nc_claim_keep(claim, keep, reterr);
}

int nc_claim_withdraw(struct nc_claim *claim, struct nc_error *reterr)
{
	claim->record.untold = true;
	return nc_claim_keep(claim, false, reterr);
}

int nc_claim_note_ending(struct nc_claim *claim, struct nc_error *reterr)
{
	claim->record.ending = true;
	return nc_record_write(claim->record_fd, &claim->record, reterr);
}

int nc_claim_ending(struct nc_claim *claim, bool *ret_ending, struct nc_error *reterr)
{
	struct nc_record record;
	struct stat status;
	bool held;
	int r = nc_record_held(claim->record_fd, &held, reterr); /* before the look at the name: an owner lets go only after he has removed it */

	r = r < 0 ? r : nc_record_read(claim->record_fd, &record, reterr);
	if (r < 0)
		return r;
	if (fstat(claim->record_fd, &status))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at the claim of %s", claim->name);
	if (!status.st_nlink || record.generation != claim->record.generation)
		return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "the instance named %s has ended", claim->name);
	*ret_ending = record.ending && held;
	return 0;
}

void nc_claim_abandon(struct nc_claim *claim)
{
	struct nc_error ignored;

	if (claim && claim->owner)
		nc_claim_keep(claim, true, &ignored);
	nc_claim_free(claim);
}

uint64_t nc_claim_generation(const struct nc_claim *claim)
{
	return claim->record.generation;
}

const char *nc_claim_folder(const struct nc_claim *claim)
{
	return claim->folder;
}

int nc_claim_ring_fd(const struct nc_claim *claim)
{
	return claim->ring_fd;
}

void nc_claim_ring_done(struct nc_claim *claim)
{
	claim->ring_read = true;
}
