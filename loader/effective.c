// SPDX-License-Identifier: GPL-2.0-only
/*
 * effective.c - what is in force on a cgroup, by asking the kernel
 *
 * BPF_PROG_QUERY with BPF_F_QUERY_EFFECTIVE gives, for one attach type, the programs that will run for a socket of that cgroup: its own first, then its
 * ancestors'. Which of them are ours is a matter of program ids, which the book holds. One that is neither ours nor allowed by name is refused: it could
 * cancel a refusal (bpf_set_retval(0)) or rewrite an address after it was judged. A device program that can only refuse more may stand. The guards of
 * other netcordon hosts of this machine stand at roots above us by design; they are recognised by their ids, found in those hosts' pins.
 *
 * Security hooks attach to no cgroup; their links say whether they are in place.
 */
#include <dirent.h>
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

#define PROGRAMS_MAX 64 /* the kernel's own limit for one attach type of one cgroup (BPF_CGROUP_MAX_PROGS) */
#define LEVELS_MAX 8

struct query {
	struct nc_host *host;
	int cgroup_fd;
	bool found[NC_HOOK_MAX];
	struct nc_effective_list list;
	bool listing;
	struct nc_error *reterr;
};

/* The hook whose program has this id; 0: not ours. */
static enum nc_hook ours(const struct nc_host *host, uint32_t id)
{
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		if (host->book.program_ids[hook] == id)
			return hook;
	}
	return 0;
}

static bool name_allowed(const struct nc_host *host, const char *name)
{
	for (const char *allowed = host->foreign_allowed; *allowed; allowed += strlen(allowed) + 1) {
		if (!strncmp(allowed, name, NC_PROGRAM_NAME_MAX - 1))
			return true;
	}
	return false;
}

/* Is `id` a guard that another netcordon host of this machine has pinned? */
static bool sibling_guard(const struct nc_host *host, uint32_t id)
{
	char path[NC_PATH_MAX];
	struct nc_error ignored;
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (nc_path(path, &ignored, "%s/netcordon", host->bpffs))
		return false;
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		for (enum nc_hook hook = 1; hook < NC_HOOK_MAX && !found && entry->d_name[0] != '.'; hook++) {
			struct bpf_prog_info info = {0};
			uint32_t size = sizeof(info);
			NC_CLOSE int fd = -1;

			if (nc_hook(hook)->where != NC_AT_ROOT ||
			    nc_path(path, &ignored, "%s/netcordon/%s/programs/%s", host->bpffs, entry->d_name, nc_hook_name(hook)))
				continue;
			fd = bpf_obj_get(path);
			found = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && info.id == id;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Fills a row about the program: of ours from the book, as the kernel said when it was loaded, since nothing about an id changes. */
static void describe_ours(const struct nc_host *host, enum nc_hook hook, uint32_t id, struct nc_effective *ret_row)
{
	*ret_row = (struct nc_effective){.id = id};
	snprintf(ret_row->name, sizeof(ret_row->name), "%.*s", NC_PROGRAM_NAME_MAX - 1, nc_hook_name(hook));
	memcpy(ret_row->tag, host->book.program_tags[hook], sizeof(ret_row->tag));
}

static int describe(uint32_t id, struct nc_effective *ret_row)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	NC_CLOSE int fd = bpf_prog_get_fd_by_id(id);
	struct nc_effective row = {.id = id};
	int r;

	if (fd < 0)
		return fd;
	r = bpf_obj_get_info_by_fd(fd, &info, &size);
	if (r)
		return r;
	snprintf(row.name, sizeof(row.name), "%s", info.name);
	memcpy(row.tag, info.tag, sizeof(row.tag));
	*ret_row = row;
	return 0;
}

int nc_program_translated(uint32_t id, void **ret_bytes, size_t *ret_size, struct nc_error *reterr)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info), length;
	NC_CLOSE int fd = bpf_prog_get_fd_by_id(id);
	NC_FREE void *bytes = NULL;
	int r = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &info, &size);

	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask for the program with id %u", id);
	length = info.xlated_prog_len;
	bytes = malloc(length + 1);
	if (!bytes)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for %u bytes of instructions", length);
	info = (struct bpf_prog_info){.xlated_prog_insns = (uintptr_t)bytes, .xlated_prog_len = length};
	if (!length || bpf_obj_get_info_by_fd(fd, &info, &size) || !info.xlated_prog_insns) {
		*ret_bytes = NULL;
		*ret_size = 0;
		return 0;
	}
	*ret_size = info.xlated_prog_len < length ? info.xlated_prog_len : length;
	*ret_bytes = NC_TAKE_PTR(bytes);
	return 0;
}

/*
 * Runtimes and service managers give their cgroups a device program each. One that calls nothing (no helper, no other program) can only refuse more: its
 * context is read-only, and what it returns is no more than one no among others. Whoever withholds its instructions is not believed.
 */
static bool only_refuses(uint32_t id)
{
	struct nc_error ignored;
	NC_FREE void *bytes = NULL;
	size_t size;
	const struct bpf_insn *insns;

	if (nc_program_translated(id, &bytes, &size, &ignored) < 0 || !bytes)
		return false;
	insns = bytes;
	for (size_t i = 0; i < size / sizeof(*insns); i++) {
		if (BPF_CLASS(insns[i].code) == BPF_JMP && BPF_OP(insns[i].code) == BPF_CALL)
			return false;
		i += insns[i].code == (BPF_LD | BPF_IMM | BPF_DW); /* takes the place of two */
	}
	return true;
}

static int list_add(struct nc_effective_list *list, const struct nc_effective *row)
{
	struct nc_effective *programs = realloc(list->programs, (list->count + 1) * sizeof(*programs));

	if (!programs)
		return -ENOMEM;
	list->programs = programs;
	programs[list->count++] = *row;
	return 0;
}

/* One program found at the attach type of `asked`. */
static int judge(struct query *query, enum nc_hook asked, uint32_t id)
{
	enum nc_hook hook = ours(query->host, id);
	bool sibling = !hook && sibling_guard(query->host, id);
	struct nc_effective row = {.id = id};
	int r;

	if (hook)
		query->found[hook] = true;
	if (hook && !query->listing)
		return 0;
	r = 0;
	if (hook)
		describe_ours(query->host, hook, id, &row);
	else
		r = describe(id, &row);
	if (r == -ENOENT) /* gone between the question and now */
		return 0;
	if (r)
		return nc_error_sys(query->reterr, NC_E_SYSTEM, r, "ask for the program with id %u", id);
	row.ours = hook;
	snprintf(row.hook, sizeof(row.hook), "%s%s", sibling ? "guard_" : "", nc_hook_name(hook ?: asked));
	if (!hook && !sibling && !nc_hook(asked)->admits_foreign && !name_allowed(query->host, row.name) &&
	    !(asked == NC_HOOK_DEVICE && only_refuses(id))) {
		nc_error_set(query->reterr, NC_E_PROGRAM_FOREIGN, -EPERM, "the program \"%s\" (id %u) is in force at %s and is not ours", row.name,
			     id, nc_hook_name(asked));
		r = nc_error_hint(query->reterr, "detach it, or allow it by this name in the configuration");
	} else if (query->listing) {
		r = list_add(&query->list, &row);
		if (!r)
			return 0;
		nc_error_sys(query->reterr, NC_E_SYSTEM, r, "list the programs");
	}
	return r;
}

static int ask(struct query *query, enum nc_hook hook)
{
	uint32_t ids[PROGRAMS_MAX * LEVELS_MAX], count = PROGRAMS_MAX * LEVELS_MAX;
	int r = bpf_prog_query(query->cgroup_fd, nc_hook(hook)->attach_type, BPF_F_QUERY_EFFECTIVE, NULL, ids, &count);

	if (r == -EINVAL && !query->host->book.program_ids[hook]) /* an attach type that this kernel does not know */
		return 0;
	if (r)
		return nc_error_sys(query->reterr, NC_E_SYSTEM, r, "ask what is in force at %s", nc_hook_name(hook));
	for (uint32_t i = 0; i < count; i++) {
		r = judge(query, hook, ids[i]);
		if (r)
			return r;
	}
	return 0;
}

/* A security hook is in place when its pinned link holds its program. */
static int ask_host_hook(struct query *query, enum nc_hook hook)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	struct nc_effective row;
	char path[NC_PATH_MAX];
	NC_CLOSE int fd = -1;
	int r = nc_path(path, query->reterr, "%s/links/%s", query->host->pins, nc_hook_name(hook));

	if (r < 0)
		return r;
	fd = bpf_obj_get(path);
	query->found[hook] = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && info.prog_id == query->host->book.program_ids[hook];
	if (!query->found[hook] || !query->listing)
		return 0;
	describe_ours(query->host, hook, info.prog_id, &row);
	row.ours = true;
	snprintf(row.hook, sizeof(row.hook), "%s", nc_hook_name(hook));
	r = list_add(&query->list, &row);
	return !r ? 0 : nc_error_sys(query->reterr, NC_E_SYSTEM, r, "list the programs");
}

static int ask_all(struct query *query)
{
	const struct nc_host *host = query->host;
	int r = 0;

	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX && !r; hook++) {
		/* a guard shares its attach type with a hook of the slice, and is seen there */
		if (nc_hook(hook)->where == NC_AT_SLICE)
			r = ask(query, hook);
		else if (nc_hook(hook)->where == NC_AT_HOST && host->book.program_ids[hook])
			r = ask_host_hook(query, hook);
	}
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX && !r; hook++) {
		if (query->found[hook] || (!nc_hook(hook)->required && !host->book.program_ids[hook]))
			continue;
		nc_error_set(query->reterr, NC_E_HOST_INCOMPLETE, -ENOENT, "the program %s is not in force", nc_hook_name(hook));
		r = nc_error_hint(query->reterr, "netcordon host up");
	}
	return r;
}

int nc_host_verify(struct nc_host *host, int cgroup_fd, struct nc_effective_list *ret_list, struct nc_error *reterr)
{
	struct query query = {.host = host, .cgroup_fd = cgroup_fd < 0 ? host->slice_fd : cgroup_fd, .listing = ret_list, .reterr = reterr};
	int r = ask_all(&query);

	if (r) {
		nc_effective_free(&query.list);
		return r;
	}
	if (ret_list)
		*ret_list = query.list;
	return 0;
}

void nc_effective_free(struct nc_effective_list *list)
{
	free(list->programs);
	*list = (struct nc_effective_list){0};
}

int nc_host_rodata(struct nc_host *host, void **ret_bytes, size_t *ret_size, struct nc_error *reterr)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info), zero = 0;
	NC_FREE void *bytes = NULL;
	char path[NC_PATH_MAX];
	NC_CLOSE int fd = -1;
	int r = nc_path(path, reterr, "%s/maps/rodata", host->pins);

	if (r < 0)
		return r;
	fd = nc_pin_open(path, reterr);
	if (fd < 0)
		return fd;
	r = bpf_obj_get_info_by_fd(fd, &info, &size);
	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask for the read-only data");
	bytes = malloc(info.value_size);
	r = bytes ? bpf_map_lookup_elem(fd, &zero, bytes) : -ENOMEM;
	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "read the read-only data back");
	*ret_size = info.value_size;
	*ret_bytes = NC_TAKE_PTR(bytes);
	return 0;
}
