// SPDX-License-Identifier: GPL-2.0-only
/*
 * attach.c - programs to cgroups by links, and the links' pins
 *
 * A cgroup link always attaches beside others (what BPF_F_ALLOW_MULTI is for the older way of attaching), displaces nobody and is displaced by
 * nobody. Pinned, it outlives every process. Whoever attached a single program the old way, without that flag, makes the kernel refuse us, and that is
 * reported as what it is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "inside.h"

static int attach_error(struct nc_error *reterr, int status, enum nc_hook hook)
{
	if (status == -EPERM) {
		nc_error_sys(reterr, NC_E_PROGRAM_FOREIGN, status, "attach %s: a program stands there, or above, that admits no other",
			     nc_hook_name(hook));
		return nc_error_hint(reterr, "look with `bpftool cgroup tree`; whoever attached it must allow others beside it");
	}
	return nc_error_sys(reterr, NC_E_SYSTEM, status, "attach %s", nc_hook_name(hook));
}

/*
 * Is the link behind this pin in force at this very cgroup, with the program that the book names? A link whose cgroup was removed stays pinned, but does
 * nothing; its cgroup's id is then 0.
 */
static bool link_holds(const char *path, uint32_t program_id, uint64_t cgroup_id)
{
	NC_CLOSE int fd = bpf_obj_get(path);
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) || info.prog_id != program_id)
		return false;
	return info.type != BPF_LINK_TYPE_CGROUP || info.cgroup.cgroup_id == cgroup_id;
}

struct place {
	int cgroup_fd;
	uint64_t cgroup_id;
	const char *links;
	bool fresh; /* the folder was made just now: no link can be there */
};

/* Attaches one program unless its link is pinned and holds already. */
static int attach_one(struct nc_host *host, enum nc_hook hook, const struct place *place, struct nc_error *reterr)
{
	char program_path[NC_PATH_MAX], link_path[NC_PATH_MAX];
	NC_CLOSE int program_fd = -1;
	NC_CLOSE int link_fd = -1;
	int r = nc_path(link_path, reterr, "%s/%s", place->links, nc_hook_name(hook));

	r = r < 0 ? r : nc_path(program_path, reterr, "%s/programs/%s", host->pins, nc_hook_name(hook));
	if (r < 0)
		return r;
	if (!place->fresh && link_holds(link_path, host->book.program_ids[hook], place->cgroup_id))
		return 0;
	if (!place->fresh && unlink(link_path) && errno != ENOENT)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "remove the dead link %s", link_path);
	program_fd = nc_pin_open(program_path, reterr);
	if (program_fd < 0)
		return program_fd;
	link_fd = bpf_link_create(program_fd, nc_hook(hook)->where == NC_AT_HOST ? 0 : place->cgroup_fd, nc_hook(hook)->attach_type, NULL);
	if (link_fd < 0)
		return attach_error(reterr, link_fd, hook);
	r = bpf_obj_pin(link_fd, link_path);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "pin %s", link_path) : 0;
}

static int attach_at(struct nc_host *host, enum nc_hook_where where, int cgroup_fd, const char *links, struct nc_error *reterr)
{
	struct place place = {.cgroup_fd = cgroup_fd, .links = links, .fresh = mkdir(links, 0700) == 0};
	uint32_t depth;
	int r = place.fresh ? 0 : nc_folder_make(links, reterr);

	if (r >= 0 && cgroup_fd >= 0)
		r = nc_cgroup_identity(cgroup_fd, &place.cgroup_id, &depth, reterr);
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX && r >= 0; hook++) {
		if (nc_hook(hook)->where == where && host->book.program_ids[hook])
			r = attach_one(host, hook, &place, reterr);
	}
	return r;
}

int nc_attach_slice(struct nc_host *host, int cgroup_fd, const char *links, struct nc_error *reterr)
{
	return attach_at(host, NC_AT_SLICE, cgroup_fd, links, reterr);
}

int nc_attach_root(struct nc_host *host, struct nc_error *reterr)
{
	char links[NC_PATH_MAX];
	int r = nc_path(links, reterr, "%s/links", host->pins);

	r = r < 0 ? r : attach_at(host, NC_AT_ROOT, host->root_fd, links, reterr);
	return r < 0 ? r : attach_at(host, NC_AT_HOST, -1, links, reterr);
}

/*
 * Detaching by command is done when the call returns. Removing the last pin of a link detaches too, but some time later, from a work queue. A link whose
 * cgroup is gone is detached already (ENOENT, ENOLINK by kernel).
 */
static int detach_one(const char *path)
{
	NC_CLOSE int fd = bpf_obj_get(path);
	int r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	r = bpf_link_detach(fd);
	if (r == -ENOENT || r == -ENOLINK || r == -EOPNOTSUPP) /* security hooks: the last pin and descriptor end them */
		r = 0;
	if (unlink(path) && errno != ENOENT)
		r = r ?: -errno;
	return r;
}

int nc_detach_all(const char *links, struct nc_error *reterr)
{
	struct dirent *entry;
	DIR *dir = opendir(links);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open the folder %s", links);
	while ((entry = readdir(dir))) {
		char path[NC_PATH_MAX];
		struct nc_error ignored;
		struct stat status;
		int s;

		if (entry->d_name[0] == '.')
			continue;
		s = nc_path(path, &ignored, "%s/%s", links, entry->d_name);
		if (!s && !lstat(path, &status))
			s = S_ISDIR(status.st_mode) ? nc_detach_all(path, &ignored) : detach_one(path);
		r = r ?: s;
	}
	closedir(dir);
	if (rmdir(links) && errno != ENOENT)
		r = r ?: -errno;
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "detach the links of %s", links) : 0;
}
