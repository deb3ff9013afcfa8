// SPDX-License-Identifier: GPL-2.0-only
/*
 * host.c - the handle of a host: where it lies, its lock, and the descriptors of its maps, opened when first used
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "inside.h"

#define LOCK_WAIT_MS 30000

static const char *const map_names[NC_MAP_COUNT] = {
#define MAP_NAME(symbol, name) [NC_MAP_##symbol] = #name,
	NC_MAPS(MAP_NAME)};

const char *nc_map_name(enum nc_map map)
{
	return map_names[map];
}

static int manifest_check(const char *manifest, struct nc_error *reterr)
{
	if (!manifest || strlen(manifest) < NC_MANIFEST_PART || strspn(manifest, "0123456789abcdef") < NC_MANIFEST_PART)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "a manifest is a hex digest of at least %d digits", NC_MANIFEST_PART);
	return 0;
}

static int copy_foreign(struct nc_host *host, const char *const *names, struct nc_error *reterr)
{
	size_t size = 1;
	char *end;

	for (size_t i = 0; names && names[i]; i++)
		size += strlen(names[i]) + 1;
	host->foreign_allowed = end = calloc(1, size);
	if (!end)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "remember the allowed programs");
	for (size_t i = 0; names && names[i]; i++) {
		if (*names[i])
			end = stpcpy(end, names[i]) + 1;
	}
	return 0;
}

/* The root's path, descriptor, id and depth; its children's children must still be within the depths that programs look at. */
static int root_open(struct nc_host *host, const char *root, struct nc_error *reterr)
{
	int r = nc_cgroup_mount(host->root, reterr); /* also with a root of its own: paths of cgroups are told from there */

	if (r >= 0 && root)
		r = nc_path(host->root, reterr, "%s", root);
	if (r < 0)
		return r;
	for (size_t length = strlen(host->root); length > 1 && host->root[length - 1] == '/'; length--)
		host->root[length - 1] = '\0';
	r = nc_cgroup_open(host->root, &host->root_fd, reterr);
	r = r < 0 ? r : nc_cgroup_identity(host->root_fd, &host->root_id, &host->root_depth, reterr);
	if (r < 0)
		return r;
	if (host->root_depth > 29)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -EINVAL, "%s lies %u levels deep; 29 are the most for a root", host->root,
				    host->root_depth);
	return 0;
}

int nc_host_prepare(const struct nc_host_options *options, struct nc_host **ret_host, struct nc_error *reterr)
{
	struct nc_host *host = calloc(1, sizeof(*host));
	int r = manifest_check(options->manifest, reterr);

	if (!host)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "open the host");
	host->root_fd = host->slice_fd = host->folder_fd = -1;
	host->grant_share = options->grant_share;
	for (int map = 0; map < NC_MAP_COUNT; map++)
		host->map_fds[map] = -1;
	r = r < 0 ? r : copy_foreign(host, options->foreign_allowed, reterr);
	r = r < 0 ? r : root_open(host, options->root, reterr);
	if (r >= 0) {
		snprintf(host->name, sizeof(host->name), "%.*s-%llx", NC_MANIFEST_PART, options->manifest, (unsigned long long)host->root_id);
		snprintf(host->slice_name, sizeof(host->slice_name), "netcordon-%.*s.slice", NC_MANIFEST_PART, options->manifest);
		r = nc_path(host->bpffs, reterr, "%s", options->bpffs ?: "/sys/fs/bpf");
	}
	r = r < 0 ? r : nc_path(host->runtime, reterr, "%s", options->runtime ?: NC_RUNTIME_FOLDER);
	r = r < 0 ? r : nc_path(host->slice, reterr, "%s/%s", host->root, host->slice_name);
	r = r < 0 ? r : nc_path(host->pins, reterr, "%s/netcordon/%s", host->bpffs, host->name);
	r = r < 0 ? r : nc_path(host->folder, reterr, "%s/%s", host->runtime, host->name);
	if (r < 0) {
		nc_host_close(host);
		return r;
	}
	*ret_host = host;
	return 0;
}

static int host_down(struct nc_host *host, struct nc_error *reterr, const char *what)
{
	nc_error_set(reterr, NC_E_HOST_DOWN, -ENOENT, "the programs of this build are not installed for %s: %s", host->root, what);
	return nc_error_hint(reterr, "netcordon host up");
}

static int book_read(struct nc_host *host, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(host->folder_fd, "book", O_RDONLY | O_CLOEXEC);
	struct nc_book book;
	ssize_t got;

	if (fd < 0 && errno == ENOENT)
		return host_down(host, reterr, "no book");
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s/book", host->folder);
	got = read(fd, &book, sizeof(book));
	if (got != sizeof(book) || memcmp(book.magic, NC_BOOK_MAGIC, sizeof(book.magic)) || book.hooks != NC_HOOK_MAX)
		return host_down(host, reterr, "the book is not whole");
	host->book = book;
	return 0;
}

int nc_host_enter(struct nc_host *host, struct nc_error *reterr)
{
	int r;

	if (host->folder_fd < 0)
		host->folder_fd = open(host->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->folder_fd < 0)
		return errno == ENOENT ? host_down(host, reterr, "no runtime folder")
				       : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", host->folder);
	r = book_read(host, reterr);
	if (r < 0)
		return r;
	if (host->slice_fd < 0)
		host->slice_fd = openat(host->root_fd, host->slice_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->slice_fd < 0)
		return errno == ENOENT ? host_down(host, reterr, "no slice") : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", host->slice);
	return 0;
}

int nc_host_open(const struct nc_host_options *options, struct nc_host **ret_host, struct nc_error *reterr)
{
	struct nc_host *host = NULL;
	int r = nc_host_prepare(options, &host, reterr);

	if (r < 0)
		return r;
	r = nc_host_enter(host, reterr);
	if (r < 0) {
		nc_host_close(host);
		return r;
	}
	*ret_host = host;
	return 0;
}

const char *nc_host_folder(const struct nc_host *host)
{
	return host->folder;
}

bool nc_host_at_top(const struct nc_host *host)
{
	return host->root_id == NC_CGROUP_TOP_ID;
}

bool nc_host_pages_unseen(const struct nc_host *host)
{
	return host->book.pages_unseen;
}

void nc_host_close(struct nc_host *host)
{
	if (!host)
		return;
	for (int map = 0; map < NC_MAP_COUNT; map++)
		nc_cleanup_close(&host->map_fds[map]);
	nc_cleanup_close(&host->folder_fd);
	nc_cleanup_close(&host->slice_fd);
	nc_cleanup_close(&host->root_fd);
	free(host->foreign_allowed);
	free(host);
}

int nc_host_map(struct nc_host *host, enum nc_map map, int *ret_fd, struct nc_error *reterr)
{
	char path[NC_PATH_MAX];
	int r;

	if (host->map_fds[map] < 0) {
		r = nc_path(path, reterr, "%s/maps/%s", host->pins, map_names[map]);
		r = r < 0 ? r : nc_pin_open(path, reterr);
		if (r < 0)
			return r;
		host->map_fds[map] = r;
	}
	*ret_fd = host->map_fds[map];
	return 0;
}

/*
 * The lock is on the runtime folder itself: shared for as long as a claim is being made, exclusive for up and down. A folder that was removed meanwhile
 * has no links left, so a waiter sees that its host has gone.
 */
int nc_host_lock(struct nc_host *host, int how, struct nc_error *reterr)
{
	struct stat status;

	for (long waited_us = 0, step_us = 100; flock(host->folder_fd, how | LOCK_NB); waited_us += step_us) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "lock %s", host->folder);
		if (waited_us > LOCK_WAIT_MS * 1000L) {
			nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "another process has held the lock on %s for %d s", host->folder,
				     LOCK_WAIT_MS / 1000);
			return nc_error_hint(reterr, "see who with `fuser -v %s`", host->folder);
		}
		if (step_us < 5000)
			step_us *= 2;
		nanosleep(&(struct timespec){.tv_nsec = step_us * 1000}, NULL);
	}
	if (fstat(host->folder_fd, &status))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at %s", host->folder);
	if (!status.st_nlink)
		return host_down(host, reterr, "it was taken down just now");
	return 0;
}

void nc_host_unlock(struct nc_host *host)
{
	flock(host->folder_fd, LOCK_UN);
}
