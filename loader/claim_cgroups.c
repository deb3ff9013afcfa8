// SPDX-License-Identifier: GPL-2.0-only
/*
 * claim_cgroups.c - an instance's two cgroups: made under random names below the slice, or one taken from somebody else
 *
 * Random names, because a name that comes again is how an old policy meets a new tenant. Below the slice everything is refused until it is sealed; at a
 * taken cgroup the slice's programs are attached, so the same holds there from that moment on.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "inside.h"

static int place(enum nc_authority authority)
{
	return authority == NC_AUTHORITY_PLANE ? 1 : 0;
}

/* The name is written down first, so that a crash right after the cgroup was made leaves a record of it. */
static int make_one(struct nc_claim *claim, int i, struct nc_error *reterr)
{
	struct nc_record *record = &claim->record;
	uint64_t number[2];
	char name[48];
	uint32_t depth;
	int r;

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return nc_error_sys(reterr, NC_E_SYSTEM, -EIO, "getrandom");
	snprintf(name, sizeof(name), "%016llx%016llx", (unsigned long long)number[0], (unsigned long long)number[1]);
	r = nc_path(record->cgroup[i], reterr, "%s/%s", claim->host->slice, name);
	if (r < 0)
		return r;
	record->cgroup_kind[i] = NC_CGROUP_MADE;
	r = nc_record_write(claim->record_fd, record, reterr);
	r = r < 0 ? r : nc_cgroup_make(claim->host->slice_fd, name, &claim->cgroup_fds[i], reterr);
	return r < 0 ? r : nc_cgroup_identity(claim->cgroup_fds[i], &record->cgroup_id[i], &depth, reterr);
}

static void unmake(struct nc_claim *claim, int i)
{
	struct nc_error ignored;
	const char *name = strrchr(claim->record.cgroup[i], '/');

	if (claim->record.cgroup_kind[i] == NC_CGROUP_MADE && name)
		nc_cgroup_remove(claim->host->slice_fd, name + 1, &ignored);
	nc_cleanup_close(&claim->cgroup_fds[i]);
	claim->cgroup_fds[i] = -1;
	claim->record.cgroup_kind[i] = NC_CGROUP_NONE;
	claim->record.cgroup_id[i] = 0;
	claim->record.cgroup[i][0] = '\0';
}

int nc_claim_make_cgroups(struct nc_claim *claim, struct nc_error *reterr)
{
	struct nc_error ignored;
	int r = 0;

	for (int i = 0; i < 2 && r >= 0; i++) {
		if (claim->record.cgroup_kind[i] == NC_CGROUP_NONE)
			r = make_one(claim, i, reterr);
	}
	r = r < 0 ? r : nc_record_write(claim->record_fd, &claim->record, reterr);
	if (r < 0) {
		for (int i = 0; i < 2; i++) {
			if (claim->record.cgroup_kind[i] == NC_CGROUP_MADE)
				unmake(claim, i);
		}
		nc_record_write(claim->record_fd, &claim->record, &ignored);
	}
	return r;
}

int nc_claim_links(const struct nc_claim *claim, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	return nc_path(ret_path, reterr, "%s/links/%016llx", claim->host->pins, (unsigned long long)claim->record.generation);
}

/* The cgroup's path as the kernel knows it, without links and dots, and only if it lies below the root: component by component, by identity. */
static int resolve(struct nc_claim *claim, int fd, const char *path, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	char link[64], found[NC_PATH_MAX];
	struct stat above;
	char up[256] = "..";
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, found, sizeof(found));
	if (length < 0 || length == sizeof(found))
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, length < 0 ? -errno : -ENAMETOOLONG, "resolve the cgroup %s", path);
	found[length] = '\0';
	for (int i = 0; i < 64; i++) {
		if (fstatat(fd, up, &above, 0))
			break;
		if (above.st_ino == claim->host->root_id) {
			memcpy(ret_path, found, (size_t)length + 1);
			return 0;
		}
		if (above.st_ino == 1)
			break;
		strcat(up, "/..");
	}
	nc_error_set(reterr, NC_E_CGROUP_INVALID, -EXDEV, "the cgroup %s does not lie below %s", path, claim->host->root);
	return nc_error_hint(reterr, "take a cgroup below the root, not the root itself");
}

static bool is_below(const char *path, const char *above)
{
	size_t length = strlen(above);

	return !strncmp(path, above, length) && (path[length] == '\0' || path[length] == '/');
}

struct overlap {
	const char *path;
	char other[NC_INSTANCE_NAME_MAX + 1];
};

static int overlap_row(void *context, const char *name, const char *cgroup)
{
	struct overlap *overlap = context;

	if (!is_below(overlap->path, cgroup) && !is_below(cgroup, overlap->path))
		return 0;
	snprintf(overlap->other, sizeof(overlap->other), "%s", name);
	return 1;
}

static int refuse_overlap(struct nc_claim *claim, const char *path, struct nc_error *reterr)
{
	struct overlap overlap = {.path = path};
	int r;

	if (is_below(path, claim->host->slice) || is_below(claim->host->slice, path))
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -EBUSY, "the cgroup %s lies below or above the slice %s", path, claim->host->slice);
	r = nc_instances_cgroups(claim->host, overlap_row, &overlap, reterr);
	if (r < 0)
		return r;
	if (overlap.other[0])
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -EBUSY, "the cgroup %s lies below or above that of the instance %s", path,
				    overlap.other);
	return 0;
}

static int take(struct nc_claim *claim, const char *path, struct nc_error *reterr)
{
	struct nc_record *record = &claim->record;
	char links[NC_PATH_MAX], resolved[NC_PATH_MAX];
	NC_CLOSE int fd = -1;
	uint64_t id;
	uint32_t depth;
	int r = nc_cgroup_open(path, &fd, reterr);

	r = r < 0 ? r : nc_cgroup_identity(fd, &id, &depth, reterr);
	r = r < 0 ? r : resolve(claim, fd, path, resolved, reterr);
	r = r < 0 ? r : refuse_overlap(claim, resolved, reterr);
	r = r < 0 ? r : nc_claim_links(claim, links, reterr);
	r = r < 0 ? r : nc_settings_add_depth(claim->host, depth, reterr);
	if (r < 0)
		return r;
	memcpy(record->cgroup[0], resolved, sizeof(resolved));
	record->cgroup_kind[0] = NC_CGROUP_TAKEN;
	record->untold = true;
	record->cgroup_id[0] = id;
	r = nc_record_write(claim->record_fd, record, reterr);
	r = r < 0 ? r : nc_attach_slice(claim->host, fd, links, reterr);
	r = r < 0 ? r : nc_host_verify(claim->host, fd, NULL, reterr);
	if (r >= 0)
		claim->cgroup_fds[0] = NC_TAKE_FD(fd);
	return r;
}

/* After a failure. Where the links do not come off, the record goes on to name the cgroup, so that the claim's end tries again. */
static void untake(struct nc_claim *claim)
{
	char links[NC_PATH_MAX];
	struct nc_error ignored;

	if (nc_claim_links(claim, links, &ignored) < 0 || nc_detach_all(links, &ignored) < 0)
		return;
	unmake(claim, 0);
	nc_record_write(claim->record_fd, &claim->record, &ignored);
}

int nc_claim_take_cgroup(struct nc_claim *claim, const char *path, struct nc_error *reterr)
{
	int r;

	if (claim->record.cgroup_kind[0] != NC_CGROUP_NONE)
		return nc_error_set(reterr, NC_E_SYSTEM, -EALREADY, "the instance has its cgroups already");
	r = nc_host_lock(claim->host, LOCK_EX, reterr); /* so that two that take cgroups see each other */
	if (r < 0)
		return r;
	r = take(claim, path, reterr);
	if (r < 0 && claim->record.cgroup_kind[0] == NC_CGROUP_TAKEN)
		untake(claim);
	nc_host_unlock(claim->host);
	if (r < 0)
		return r;
	r = nc_claim_make_cgroups(claim, reterr); /* the plane's */
	if (r < 0)
		untake(claim);
	return r;
}

int nc_claim_cgroup_fd(const struct nc_claim *claim, enum nc_authority authority)
{
	return claim->cgroup_fds[place(authority)];
}

const char *nc_claim_cgroup_path(const struct nc_claim *claim, enum nc_authority authority)
{
	return claim->record.cgroup[place(authority)];
}

int nc_claim_populated(struct nc_claim *claim, enum nc_authority authority, bool *ret_populated, struct nc_error *reterr)
{
	if (claim->cgroup_fds[place(authority)] < 0) {
		*ret_populated = false;
		return 0;
	}
	return nc_cgroup_is_populated(claim->cgroup_fds[place(authority)], ret_populated, reterr);
}

int nc_claim_kill(struct nc_claim *claim, enum nc_authority authority, int timeout_ms, struct nc_error *reterr)
{
	int fd = claim->cgroup_fds[place(authority)];
	int r = fd < 0 ? 0 : nc_cgroup_end(fd, timeout_ms, reterr);

	if (claim->owner && r == -ETIMEDOUT) /* whether it has ended since is found by claim_end.c, which looks at both authorities */
		nc_claim_note_undead(claim, true);
	return r;
}
