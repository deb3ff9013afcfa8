// SPDX-License-Identifier: GPL-2.0-only
/*
 * seal.c - an authority's policy into force, changed, asked about
 *
 * seal:   entries written -> read back and compared -> counters cleared -> cgroup known -> slot's fields -> generation, last: from then on it is open
 * reseal: the new revision's entries written and compared -> one store of `revision` -> programs that read the old one waited for -> old entries away.
 *         What both policies allow is never refused in between, and what neither allows never let through. Where the mode changes too, it is stored
 *         before the revision, or after it when allowlist follows none; when allowlist follows unrestricted its entries stand under the old revision too,
 *         which had none: so no program, which reads the revision first and then the mode, meets allowlist without the entries. Flags that go are stored
 *         before the revision, flags that come after it.
 */
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

#define KEEP_KEYS 4096u /* entries up to this many are remembered, for a quick removal */

enum nc_map nc_authority_map(enum nc_authority authority)
{
	return authority == NC_AUTHORITY_PLANE ? NC_MAP_PLANE_POLICY : NC_MAP_WORKLOAD_POLICY;
}

static int place(enum nc_authority authority)
{
	return authority == NC_AUTHORITY_PLANE ? 1 : 0;
}

static int check_image(const struct nc_claim *claim, enum nc_authority authority, const struct nc_image *image, struct nc_error *reterr)
{
	if ((authority != NC_AUTHORITY_WORKLOAD && authority != NC_AUTHORITY_PLANE) || image->authority != authority)
		return nc_error_set(reterr, NC_E_SYSTEM, -EINVAL, "an image of authority %u for authority %u", image->authority, authority);
	if (image->mode < NC_MODE_NONE || image->mode > NC_MODE_UNRESTRICTED)
		return nc_error_set(reterr, NC_E_SYSTEM, -EINVAL, "an image of mode %u", image->mode);
	if (!claim->owner)
		return nc_error_set(reterr, NC_E_SYSTEM, -EPERM, "only the owner changes an instance");
	return 0;
}

static int remember(struct nc_claim *claim, int i, const struct nc_image *image)
{
	struct nc_policy_entry *copy = NULL;

	if (image->count && image->count <= KEEP_KEYS) {
		copy = malloc(image->count * sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		memcpy(copy, image->entries, image->count * sizeof(*copy));
	}
	free(claim->sealed[i]);
	claim->sealed[i] = copy;
	claim->sealed_count[i] = image->count;
	return 0;
}

/* Written, read back, compared; nothing of it is left on failure. The names come first: an entry whose name is unknown would be one that refuses. */
static int put_entries(struct nc_claim *claim, int map_fd, uint64_t revision, const struct nc_image *image, struct nc_error *reterr)
{
	uint64_t generation = claim->record.generation;
	struct nc_error second;
	int r = nc_names_write(claim, image, reterr);

	if (r < 0)
		return r;
	r = nc_policy_write(map_fd, generation, revision, image, reterr);
	if (r >= 0) {
		r = nc_policy_compare(map_fd, generation, revision, image, false, reterr);
		if (r < 0)
			nc_policy_remove(map_fd, generation, revision, image, &second);
	}
	if (r < 0)
		nc_names_take_back(claim, image);
	return r;
}

static int clear_counters(struct nc_claim *claim, int i, struct nc_error *reterr)
{
	static const struct nc_counters zero;
	uint32_t slot = 2 * claim->record.index + (uint32_t)i;
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_COUNTERS, &fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_update_elem(fd, &slot, &zero, BPF_ANY);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "clear the counters") : 0;
}

static int introduce_cgroup(struct nc_claim *claim, int i, struct nc_error *reterr)
{
	uint32_t slot = 2 * claim->record.index + (uint32_t)i;
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_AUTHORITY_OF_CGROUP, &fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_update_elem(fd, &claim->record.cgroup_id[i], &slot, BPF_NOEXIST);
	if (r == -EEXIST)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, r, "the cgroup %s is another authority's already", claim->record.cgroup[i]);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "introduce the cgroup %s", claim->record.cgroup[i]) : 0;
}

/* Every field first, with generation 0: nothing is looked at yet. Then the generation. */
static int open_slot(struct nc_claim *claim, int i, struct nc_slot *slot, struct nc_error *reterr)
{
	struct nc_error second;
	int r;

	slot->generation = 0;
	r = nc_slot_write(claim, i, slot, reterr);
	if (r < 0)
		return r;
	slot->generation = claim->record.generation;
	r = nc_slot_write(claim, i, slot, reterr);
	if (r < 0) {
		slot->generation = 0;
		nc_slot_write(claim, i, slot, &second);
	}
	return r;
}

static int seal_into(struct nc_claim *claim, int i, const struct nc_seal *seal, int map_fd, struct nc_error *reterr)
{
	struct nc_slot filled = {
		.revision = 1,
		.netns_cookie = seal->netns_cookie,
		.ring = claim->record.ring,
		.mode = seal->image->mode,
		.authority = seal->image->authority,
		.flags = seal->image->flags,
	};
	struct nc_error second;
	uint64_t cgroup_id;
	int r = nc_cgroup_identity(claim->cgroup_fds[i], &cgroup_id, &filled.cgroup_depth, reterr);

	r = r < 0 ? r : put_entries(claim, map_fd, 1, seal->image, reterr);
	if (r < 0)
		return r;
	claim->record.intended[i] = seal->image->count;
	if (!i)
		claim->record.mode = seal->image->mode;
	r = nc_record_write(claim->record_fd, &claim->record, reterr);
	r = r < 0 ? r : clear_counters(claim, i, reterr);
	if (r >= 0 && remember(claim, i, seal->image) < 0)
		r = nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "seal an authority");
	if (r >= 0)
		r = nc_names_keep(claim, seal->image, reterr);
	r = r < 0 ? r : introduce_cgroup(claim, i, reterr);
	if (r >= 0) {
		filled.cgroup_id = cgroup_id;
		r = open_slot(claim, i, &filled, reterr);
		if (r < 0)
			nc_claim_forget_cgroup(claim, i, &second);
	}
	if (r < 0)
		nc_policy_remove(map_fd, claim->record.generation, 1, seal->image, &second);
	claim->is_sealed[i] = r >= 0;
	return r;
}

int nc_claim_seal(struct nc_claim *claim, enum nc_authority authority, const struct nc_seal *seal, struct nc_error *reterr)
{
	int i = place(authority), map_fd;
	int r = check_image(claim, authority, seal->image, reterr);

	if (r < 0)
		return r;
	if (claim->cgroup_fds[i] < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EINVAL, "an authority is sealed after its cgroup was made");
	if (claim->is_sealed[i])
		return nc_error_set(reterr, NC_E_INSTANCE_BUSY, -EALREADY, "the authority is sealed already");
	r = nc_host_map(claim->host, nc_authority_map(authority), &map_fd, reterr);
	return r < 0 ? r : seal_into(claim, i, seal, map_fd, reterr);
}

/* The slot of a sealed authority. */
static int sealed_slot(struct nc_claim *claim, enum nc_authority authority, struct nc_slot *ret_slot, struct nc_error *reterr)
{
	struct nc_slot slot = {0};
	int r = nc_slot_read(claim, place(authority), &slot, reterr);

	if (r < 0)
		return r;
	if (slot.generation != claim->record.generation)
		return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "the authority of the instance %s is not sealed", claim->name);
	*ret_slot = slot;
	return 0;
}

static int switch_revision(struct nc_claim *claim, int i, struct nc_slot *slot, const struct nc_image *image, uint64_t revision,
			   struct nc_error *reterr)
{
	uint8_t mode = slot->mode == NC_MODE_NONE ? slot->mode : image->mode, flags = slot->flags & image->flags;
	int r = 0;

	if (mode != slot->mode || flags != slot->flags) {
		slot->mode = mode;
		slot->flags = flags;
		r = nc_slot_write(claim, i, slot, reterr);
	}
	slot->revision = revision;
	r = r < 0 ? r : nc_slot_write(claim, i, slot, reterr);
	if (r < 0 || (mode == image->mode && flags == image->flags))
		return r;
	slot->mode = image->mode;
	slot->flags = image->flags;
	return nc_slot_write(claim, i, slot, reterr);
}

/* The old revision's entries, once no program can be looking at them. */
static int drop_old(struct nc_claim *claim, int map_fd, uint64_t revision, const struct nc_image *old, struct nc_error *reterr)
{
	if (!old->count)
		return 0;
	nc_wait_for_programs();
	if (old->entries)
		return nc_policy_remove(map_fd, claim->record.generation, revision - 1, old, reterr);
	return nc_policy_purge_older(map_fd, claim->record.generation, revision, reterr);
}

/*
 * The new revision is in force. What is left of the one before refuses and allows nothing any more, but it must not be forgotten: where it could not be taken
 * away the end looks for everything of this generation, and so does the next reseal. Each step is made whatever became of the one before.
 */
static int settle(struct nc_claim *claim, int i, int map_fd, uint64_t revision, const struct nc_image *old, const struct nc_image *image,
		  struct nc_error *reterr)
{
	struct nc_error second;
	int dropped = drop_old(claim, map_fd, revision, old, reterr), kept, noted;

	if (dropped < 0) {
		free(NC_TAKE_PTR(claim->sealed[i]));
		claim->sealed_count[i] = old->count > image->count ? old->count : image->count;
	}
	kept = nc_names_keep(claim, image, dropped < 0 ? &second : reterr);
	noted = nc_record_write(claim->record_fd, &claim->record, dropped < 0 || kept < 0 ? &second : reterr);
	return dropped < 0 ? dropped : kept < 0 ? kept : noted;
}

int nc_claim_reseal(struct nc_claim *claim, enum nc_authority authority, const struct nc_image *image, uint64_t *ret_revision,
		    struct nc_error *reterr)
{
	struct nc_image old = {.entries = NULL};
	struct nc_slot slot = {0}, before;
	struct nc_error second;
	int i = place(authority), map_fd;
	bool twice;
	int r = check_image(claim, authority, image, reterr);

	r = r < 0 ? r : sealed_slot(claim, authority, &slot, reterr);
	r = r < 0 ? r : nc_host_map(claim->host, nc_authority_map(authority), &map_fd, reterr);
	if (r < 0)
		return r;
	before = slot;
	twice = before.mode == NC_MODE_UNRESTRICTED && image->mode == NC_MODE_ALLOWLIST && !claim->sealed_count[i];
	r = put_entries(claim, map_fd, before.revision + 1, image, reterr);
	if (r < 0)
		return r;
	r = twice ? put_entries(claim, map_fd, before.revision, image, reterr) : 0;
	r = r < 0 ? r : switch_revision(claim, i, &slot, image, before.revision + 1, reterr);
	if (r < 0) { /* the policy before stays in force */
		nc_slot_write(claim, i, &before, &second);
		nc_policy_remove(map_fd, claim->record.generation, before.revision + 1, image, &second);
		nc_names_take_back(claim, image);
		if (twice)
			nc_policy_remove(map_fd, claim->record.generation, before.revision, image, &second);
		return r;
	}
	old.entries = NC_TAKE_PTR(claim->sealed[i]);
	old.count = twice ? image->count : claim->sealed_count[i]; /* without a list of its own it is found by walking */
	claim->sealed_count[i] = image->count;
	remember(claim, i, image); /* without memory for it, the entries are found by walking */
	claim->record.intended[i] = image->count;
	if (!i)
		claim->record.mode = image->mode;
	r = settle(claim, i, map_fd, slot.revision, &old, image, reterr);
	free(old.entries);
	if (r >= 0)
		*ret_revision = slot.revision;
	return r;
}

static int check(struct nc_claim *claim, enum nc_authority authority, const struct nc_image *image, struct nc_error *reterr)
{
	struct nc_slot slot = {0};
	uint32_t found;
	int i = place(authority), map_fd, cgroups_fd;
	int r = sealed_slot(claim, authority, &slot, reterr);

	r = r < 0 ? r : nc_host_map(claim->host, nc_authority_map(authority), &map_fd, reterr);
	r = r < 0 ? r : nc_host_map(claim->host, NC_MAP_AUTHORITY_OF_CGROUP, &cgroups_fd, reterr);
	if (r < 0)
		return r;
	if (slot.mode != image->mode || slot.flags != image->flags || slot.authority != authority || slot.cgroup_id != claim->record.cgroup_id[i])
		return nc_error_set(reterr, NC_E_SEAL_MISMATCH, -EBADMSG, "the slot differs: mode %u for %u, flags %#x for %#x, authority %u",
				    slot.mode, image->mode, slot.flags, image->flags, slot.authority);
	r = bpf_map_lookup_elem(cgroups_fd, &slot.cgroup_id, &found);
	if (r && r != -ENOENT) /* that nobody could look is not that somebody wrote */
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "look up the slot of the cgroup");
	if (r || found != 2 * claim->record.index + (uint32_t)i)
		return nc_error_set(reterr, NC_E_SEAL_MISMATCH, -EBADMSG, "the cgroup does not lead to its slot");
	r = nc_names_check(claim, image, reterr);
	return r < 0 ? r : nc_policy_compare(map_fd, claim->record.generation, slot.revision, image, true, reterr);
}

int nc_claim_check(struct nc_claim *claim, enum nc_authority authority, const struct nc_image *image, struct nc_error *reterr)
{
	int i = place(authority);
	int r = check(claim, authority, image, reterr);

	if (r < 0 && reterr->code == NC_E_SEAL_MISMATCH) { /* somebody else wrote: from now on removal looks for all of this generation */
		free(NC_TAKE_PTR(claim->sealed[i]));
		claim->sealed_count[i] = 1;
	}
	return r;
}

int nc_claim_canary(struct nc_claim *claim, enum nc_authority authority, uint16_t port_be, struct nc_error *reterr)
{
	struct nc_slot slot = {0};
	int r = sealed_slot(claim, authority, &slot, reterr);

	slot.canary_port_be = port_be;
	return r < 0 ? r : nc_slot_write(claim, place(authority), &slot, reterr);
}

int nc_claim_resolver(struct nc_claim *claim, enum nc_authority authority, uint16_t port_be, struct nc_error *reterr)
{
	struct nc_slot slots[2] = {{0}, {0}};
	int i = place(authority);
	int r = sealed_slot(claim, NC_AUTHORITY_WORKLOAD, &slots[0], reterr) ?: sealed_slot(claim, NC_AUTHORITY_PLANE, &slots[1], reterr);

	slots[1 - i].other_port_be = port_be; /* closed to the other before it is open to its own */
	slots[i].resolver_port_be = port_be;
	return r ?: nc_slot_write(claim, 1 - i, &slots[1 - i], reterr) ?: nc_slot_write(claim, i, &slots[i], reterr);
}

int nc_claim_counters(struct nc_claim *claim, enum nc_authority authority, struct nc_counters *ret_counters, struct nc_error *reterr)
{
	uint32_t slot = 2 * claim->record.index + (uint32_t)place(authority);
	struct nc_counters counters;
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_COUNTERS, &fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_lookup_elem(fd, &slot, &counters);
	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "read the counters");
	*ret_counters = counters;
	return 0;
}

struct seen {
	uint64_t generation;
	int (*each)(void *context, const struct nc_seen_key *key, const struct nc_seen_value *value);
	void *context;
};

static int seen_row(void *context, const void *key, const void *value)
{
	const struct seen *seen = context;
	struct nc_seen_key k;
	struct nc_seen_value v;

	memcpy(&k, key, sizeof(k));
	memcpy(&v, value, sizeof(v));
	if (k.generation != seen->generation)
		return 0;
	return seen->each(seen->context, &k, &v) ? 1 : 0;
}

int nc_claim_seen(struct nc_claim *claim, int (*each)(void *context, const struct nc_seen_key *key, const struct nc_seen_value *value), void *context,
		  struct nc_error *reterr)
{
	struct seen seen = {.generation = claim->record.generation, .each = each, .context = context};
	int fd;
	int r = nc_host_map(claim->host, NC_MAP_SEEN, &fd, reterr);

	r = r < 0 ? r : nc_map_walk(fd, sizeof(struct nc_seen_key), sizeof(struct nc_seen_value), seen_row, &seen, reterr);
	return r < 0 ? r : 0;
}
