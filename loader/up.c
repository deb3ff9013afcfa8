// SPDX-License-Identifier: GPL-2.0-only
/*
 * up.c - a host into place and out of it
 *
 * up: without a lock first: a host that is there and verifies is done. Else under the host's lock, each step looking at what an earlier attempt left:
 *   folder, lock -> remains of NAME-new and NAME-old away -> slice -> load, pin into NAME-new, move to NAME -> book -> settings, floor, devices
 *   -> links -> verify
 * If any step of a fresh installation fails, all of it is taken away again. One that only completes or repairs leaves what was there.
 *
 * down: instances -> links (by command, so that nothing is attached any more when it returns) -> NAME to NAME-old, away -> slice -> folder
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "inside.h"

#define RETRIES 8

static int bpffs_parent(struct nc_host *host, char ret_path[NC_PATH_MAX], struct nc_error *reterr)
{
	return nc_path(ret_path, reterr, "%s/netcordon", host->bpffs);
}

static int remove_remains(struct nc_host *host, struct nc_error *reterr)
{
	char path[NC_PATH_MAX];
	int r = nc_path(path, reterr, "%s-new", host->pins);

	r = r < 0 ? r : nc_tree_remove(path, reterr);
	r = r < 0 ? r : nc_path(path, reterr, "%s-old", host->pins);
	return r < 0 ? r : nc_tree_remove(path, reterr);
}

static int book_write(struct nc_host *host, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(host->folder_fd, "book.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make %s/book.new", host->folder);
	if (write(fd, &host->book, sizeof(host->book)) != sizeof(host->book))
		return nc_error_sys(reterr, NC_E_SYSTEM, errno ? -errno : -EIO, "write %s/book.new", host->folder);
	if (renameat(host->folder_fd, "book.new", host->folder_fd, "book"))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "move the book into place in %s", host->folder);
	return 0;
}

static int map_entries(struct nc_host *host, enum nc_map map, uint32_t *ret_entries, struct nc_error *reterr)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	int fd;
	int r = nc_host_map(host, map, &fd, reterr);

	if (r < 0)
		return r;
	r = bpf_obj_get_info_by_fd(fd, &info, &size);
	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask for the map %s", nc_map_name(map));
	*ret_entries = info.max_entries;
	return 0;
}

/* The book anew from the pins, for when only it was lost. */
static int book_from_pins(struct nc_host *host, struct nc_error *reterr)
{
	struct nc_book book = {.magic = NC_BOOK_MAGIC, .hooks = NC_HOOK_MAX};
	struct bpf_map_info ring_info = {0};
	uint32_t slots = 0, size = sizeof(ring_info);
	NC_CLOSE int ring_fd = -1;
	int r = map_entries(host, NC_MAP_AUTHORITIES, &slots, reterr);

	r = r < 0 ? r : map_entries(host, NC_MAP_EVENTS, &book.rings, reterr);
	r = r < 0 ? r : nc_ring_open(host, 0, &ring_fd, reterr);
	if (r < 0)
		return r;
	if (bpf_obj_get_info_by_fd(ring_fd, &ring_info, &size))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "ask for a ring");
	book.instances = slots / 2;
	book.ring_bytes = ring_info.max_entries;
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		struct bpf_prog_info info = {0};
		char path[NC_PATH_MAX];
		NC_CLOSE int fd = -1;

		r = nc_path(path, reterr, "%s/programs/%s", host->pins, nc_hook_name(hook));
		if (r < 0)
			return r;
		fd = nc_pin_open(path, reterr);
		if (fd < 0 && reterr->code == NC_E_HOST_DOWN && !nc_hook(hook)->required)
			continue;
		if (fd < 0)
			return fd;
		size = sizeof(info);
		r = bpf_obj_get_info_by_fd(fd, &info, &size);
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask for the program %s", nc_hook_name(hook));
		book.program_ids[hook] = info.id;
		memcpy(book.program_tags[hook], info.tag, sizeof(info.tag));
	}
	book.pages_unseen = nc_kernel_pages_unseen();
	host->book = book;
	return 0;
}

static int install(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr)
{
	char fresh[NC_PATH_MAX];
	int r = nc_path(fresh, reterr, "%s-new", host->pins);

	r = r < 0 ? r : nc_folder_make(fresh, reterr);
	r = r < 0 ? r : nc_object_install(host, fresh, options, &host->book, reterr);
	if (r < 0)
		return r;
	if (rename(fresh, host->pins))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "move the pins to %s", host->pins);
	return 0;
}

static int slice_open(struct nc_host *host, struct nc_error *reterr)
{
	nc_cleanup_close(&host->slice_fd);
	host->slice_fd = -1;
	host->slice_fd = openat(host->root_fd, host->slice_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->slice_fd >= 0)
		return 0;
	if (errno != ENOENT)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", host->slice);
	return nc_cgroup_make(host->root_fd, host->slice_name, &host->slice_fd, reterr);
}

/* Everything after the lock. *ret_fresh says whether the pins are of this call. */
static int complete(struct nc_host *host, const struct nc_host_options *options, bool *ret_fresh, struct nc_error *reterr)
{
	char links[NC_PATH_MAX];
	struct stat status;
	int r = nc_path(links, reterr, "%s/links", host->pins);

	r = r < 0 ? r : remove_remains(host, reterr);
	if (r < 0)
		return r;
	*ret_fresh = stat(host->pins, &status) != 0;
	if (*ret_fresh && errno != ENOENT) {
		*ret_fresh = false;
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at %s", host->pins);
	}
	r = slice_open(host, reterr);
	if (r >= 0)
		r = *ret_fresh ? install(host, options, reterr) : book_from_pins(host, reterr);
	r = r < 0 ? r : book_write(host, reterr);
	r = r < 0 ? r : nc_settings_write(host, options, reterr);
	r = r < 0 ? r : nc_floor_fill(host, options, reterr);
	r = r < 0 ? r : nc_devices_fill(host, reterr);
	r = r < 0 ? r : nc_attach_slice(host, host->slice_fd, links, reterr);
	r = r < 0 ? r : nc_attach_root(host, reterr);
	return r < 0 ? r : nc_host_verify(host, -1, NULL, reterr);
}

/* Goes on after an error and reports the first. Under the lock. */
int nc_host_take_away(struct nc_host *host, struct nc_error *reterr)
{
	char path[NC_PATH_MAX];
	struct nc_error next;
	int r = nc_path(path, reterr, "%s/links", host->pins), s;

	r = r < 0 ? r : nc_detach_all(path, reterr);
	s = nc_path(path, &next, "%s-old", host->pins);
	if (!s && rename(host->pins, path) && errno != ENOENT)
		s = nc_error_sys(&next, NC_E_SYSTEM, -errno, "move the pins away from %s", host->pins);
	s = s < 0 ? s : remove_remains(host, &next);
	if (s < 0 && r >= 0) {
		*reterr = next;
		r = s;
	}
	s = nc_cgroup_remove(host->root_fd, host->slice_name, &next);
	if (s < 0 && r >= 0) {
		*reterr = next;
		r = s;
	}
	s = nc_tree_remove(host->folder, &next);
	if (s < 0 && r >= 0) {
		*reterr = next;
		r = s;
	}
	/* the parents are everybody's: they go with the last host */
	if (!bpffs_parent(host, path, &next))
		rmdir(path);
	rmdir(host->runtime);
	return r;
}

/* Folder and lock; another `down` may remove the folder in between. */
static int folder_lock(struct nc_host *host, struct nc_error *reterr)
{
	int r = 0;

	for (int i = 0; i < RETRIES; i++) {
		nc_cleanup_close(&host->folder_fd);
		host->folder_fd = -1;
		r = nc_folder_make(host->folder, reterr);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		host->folder_fd = open(host->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (host->folder_fd < 0) {
			r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", host->folder);
			continue;
		}
		r = nc_host_lock(host, LOCK_EX, reterr);
		if (r >= 0 || reterr->code != NC_E_HOST_DOWN)
			return r;
	}
	return r;
}

static int up_under_lock(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr)
{
	bool fresh = false;
	struct nc_error ignored;
	int r = folder_lock(host, reterr);

	r = r < 0 ? r : complete(host, options, &fresh, reterr);
	if (r < 0 && fresh)
		nc_host_take_away(host, &ignored);
	if (r < 0) { /* only if they are empty */
		rmdir(host->folder);
		rmdir(host->runtime);
	}
	if (host->folder_fd >= 0)
		nc_host_unlock(host);
	return r;
}

int nc_host_up(const struct nc_host_options *options, struct nc_host **ret_host, struct nc_error *reterr)
{
	struct nc_host *host = NULL;
	int r = nc_host_prepare(options, &host, reterr);

	r = r < 0 ? r : nc_bpffs_ready(host->bpffs, !options->bpffs, reterr);
	if (r < 0) {
		nc_host_close(host);
		return r;
	}
	r = nc_host_enter(host, reterr);
	r = r < 0 ? r : nc_host_verify(host, -1, NULL, reterr);
	if (r >= 0 ? nc_settings_differ(host, options) || nc_devices_differ(host)
		   : reterr->code == NC_E_HOST_DOWN || reterr->code == NC_E_HOST_INCOMPLETE)
		r = up_under_lock(host, options, reterr);
	if (r < 0) {
		nc_host_close(host);
		return r;
	}
	*ret_host = host;
	return 0;
}

int nc_host_down(struct nc_host *host, bool force, struct nc_error *reterr)
{
	struct nc_host_facts facts;
	int r = nc_host_lock(host, LOCK_EX, reterr);

	if (r < 0)
		return r;
	/* the floor's book goes with the rest, whole or not */
	r = nc_host_end(host, false, reterr);
	if (r >= 0 && force)
		r = nc_host_end(host, true, reterr);
	r = r < 0 ? r : nc_host_facts(host, &facts, reterr);
	if (r >= 0 && facts.instances_used) {
		nc_error_set(reterr, NC_E_HOST_BUSY, -EBUSY, "instances that still live below %s: %u", host->slice, facts.instances_used);
		r = nc_error_hint(reterr, "end them, or host down --force; what no signal ends (undead, says `status`) keeps its cordon");
	}
	r = r < 0 ? r : nc_host_take_away(host, reterr);
	nc_host_unlock(host);
	return r;
}
