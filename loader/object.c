// SPDX-License-Identifier: GPL-2.0-only
/*
 * object.c - the BPF object from its bytes to pinned maps and programs
 *
 *   open   kinds and attach types from the table (hooks.c), pool sizes from the options
 *   load   with everything; if the kernel refuses, each optional program is tried by itself (with maps of one entry, so that trying is cheap) and the
 *          object is loaded with those that it took. A required program that does not load is an error. Versions are never looked at
 *   pin    maps and programs, by name, into a folder that the caller moves into place when it is whole
 */
#include <string.h>
#include <sys/resource.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "inside.h"
#include "netcordon.skel.h"

#define DEFAULT_INSTANCES 2048u
#define DEFAULT_RINGS 64u
#define DEFAULT_RING_BYTES (64u * 1024)
#define DEFAULT_POLICY_ENTRIES 262144u
#define PLANE_SHARE 8u /* of the workloads' entries */
#define PLANE_LEAST 4096u
#define DEFAULT_GRANT_ENTRIES 65536u
#define DEFAULT_SEEN_ENTRIES 16384u
#define INSTANCES_MAX (1u << 16)
#define ENTRIES_MAX (1u << 26)
#define RING_BYTES_MAX (1u << 28)

static __thread char last_warning[192]; /* libbpf's own words, for the error's detail */

__attribute__((format(printf, 2, 0))) static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
	size_t length;

	if (level != LIBBPF_WARN)
		return 0;
	if (vsnprintf(last_warning, sizeof(last_warning), format, arguments) < 0)
		last_warning[0] = '\0';
	length = strcspn(last_warning, "\n");
	last_warning[length] = '\0';
	return 0;
}

/*
 * Before 5.11 maps count against RLIMIT_MEMLOCK. libbpf raises it once for the life of a process and never lowers it again; here it is raised around what
 * needs it, so that the workload does not inherit it. Where raising is refused the kernel says so itself, if it cares.
 */
void nc_memlock_raise(struct rlimit *ret_limit)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	if (getrlimit(RLIMIT_MEMLOCK, ret_limit))
		*ret_limit = all;
	setrlimit(RLIMIT_MEMLOCK, &all);
}

void nc_memlock_restore(const struct rlimit *limit)
{
	setrlimit(RLIMIT_MEMLOCK, limit);
}

int nc_system_denied(struct nc_error *reterr, int status, const char *what)
{
	NC_FCLOSE FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	nc_error_sys(reterr, NC_E_HOST_DENIED, status, "%s", what);
	if (file && fgets(line, sizeof(line), file) && (strstr(line, "[confidentiality]") || strstr(line, "[integrity]")))
		return nc_error_hint(reterr, "kernel lockdown is on: %.*s", (int)strcspn(line, "\n"), line);
	return nc_error_hint(reterr, "run as root with CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN");
}

static int object_error(struct nc_error *reterr, int status, const char *what)
{
	char words[256];

	snprintf(words, sizeof(words), "%s%s%s", what, last_warning[0] ? ": " : "", last_warning);
	if (status == -EPERM || status == -EACCES)
		return nc_system_denied(reterr, status, words);
	if (status == -ESRCH) { /* libbpf's word for a kernel whose types it finds nowhere */
		nc_error_sys(reterr, NC_E_HOST_UNSUPPORTED, status, "%s", words);
		return nc_error_hint(
			reterr, "there are no types of the kernel (BTF) at /sys/kernel/btf/vmlinux: use a kernel built with CONFIG_DEBUG_INFO_BTF");
	}
	return nc_error_sys(reterr, status == -ENOMEM ? NC_E_SYSTEM : NC_E_HOST_UNSUPPORTED, status, "%s", words);
}

/* ---- sizes -------------------------------------------------------------------------------------------------------------------------------- */

struct sizes {
	uint32_t instances, rings, rings_prepared, ring_bytes, policy, plane, grants, seen;
};

static int sizes_of(const struct nc_host_options *options, struct sizes *ret_sizes, struct nc_error *reterr)
{
	struct sizes s = {
		.instances = options->instances ?: DEFAULT_INSTANCES,
		.ring_bytes = options->ring_bytes ?: DEFAULT_RING_BYTES,
		.policy = options->policy_entries ?: DEFAULT_POLICY_ENTRIES,
		.grants = options->grant_entries ?: DEFAULT_GRANT_ENTRIES,
		.seen = options->seen_entries ?: DEFAULT_SEEN_ENTRIES,
	};

	/* A plane has a handful of destinations where a workload has dozens, and every launch walks the whole map once, whatever it holds. */
	s.plane = s.policy / PLANE_SHARE > PLANE_LEAST ? s.policy / PLANE_SHARE : s.policy < PLANE_LEAST ? s.policy : PLANE_LEAST;
	s.rings = options->rings ?: s.instances;
	if (s.rings > s.instances)
		s.rings = s.instances;
	s.rings_prepared = s.rings < DEFAULT_RINGS ? s.rings : DEFAULT_RINGS;
	if (s.instances > INSTANCES_MAX)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "at most %u instances, not %u", INSTANCES_MAX, s.instances);
	if (s.policy > ENTRIES_MAX || s.grants > ENTRIES_MAX || s.seen > ENTRIES_MAX)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "at most %u entries in a map", ENTRIES_MAX);
	if (s.ring_bytes & (s.ring_bytes - 1) || s.ring_bytes < (uint32_t)getpagesize() || s.ring_bytes > RING_BYTES_MAX)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "a ring's size is a power of two from %d to %u bytes, not %u", getpagesize(),
				    RING_BYTES_MAX, s.ring_bytes);
	*ret_sizes = s;
	return 0;
}

static int resize(struct bpf_object *object, enum nc_map map, uint32_t entries)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object, nc_map_name(map));

	return found ? bpf_map__set_max_entries(found, entries) : -ENOENT;
}

static int resize_all(struct bpf_object *object, const struct sizes *s)
{
	int r = 0;

	r = r ?: resize(object, NC_MAP_AUTHORITIES, 2 * s->instances);
	r = r ?: resize(object, NC_MAP_COUNTERS, 2 * s->instances);
	r = r ?: resize(object, NC_MAP_AUTHORITY_OF_CGROUP, 2 * s->instances);
	r = r ?: resize(object, NC_MAP_WORKLOAD_POLICY, s->policy);
	r = r ?: resize(object, NC_MAP_PLANE_POLICY, s->plane);
	r = r ?: resize(object, NC_MAP_NAMES, s->policy);
	r = r ?: resize(object, NC_MAP_GRANTS, s->grants);
	r = r ?: resize(object, NC_MAP_SEEN, s->seen);
	r = r ?: resize(object, NC_MAP_EVENTS, s->rings);
	r = r ?: resize(object, NC_MAP_CLAIMS, s->instances + s->rings);
	return r;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------------------ */

void nc_host_object(const void **ret_bytes, size_t *ret_size)
{
	*ret_bytes = netcordon_bpf__elf_bytes(ret_size);
}

/* The place of a variable in the object's read-only data, by BTF; false when the object has none of this name and size. */
static bool rodata_place(struct bpf_object *object, const char *name, size_t size, size_t *ret_offset)
{
	const struct btf *btf = bpf_object__btf(object);
	int section = btf ? btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC) : -1;
	const struct btf_type *type = section > 0 ? btf__type_by_id(btf, (uint32_t)section) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *info = btf_var_secinfos(type) + i;
		const struct btf_type *variable = btf__type_by_id(btf, info->type);

		if (info->size == size && !strcmp(btf__name_by_offset(btf, variable->name_off), name)) {
			*ret_offset = info->offset;
			return true;
		}
	}
	return false;
}

/* Sets a variable of the read-only data before loading. */
static int rodata_set(struct bpf_object *object, const char *name, const void *value, size_t size)
{
	size_t offset, whole;
	struct bpf_map *map;

	if (!rodata_place(object, name, size, &offset))
		return -ENOENT;
	bpf_object__for_each_map(map, object)
	{
		const char *dot = strchr(bpf_map__name(map), '.');
		const void *data = dot && !strcmp(dot, ".rodata") ? bpf_map__initial_value(map, &whole) : NULL;
		NC_FREE char *copy = NULL;

		if (!data || offset + size > whole)
			continue;
		copy = malloc(whole);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, data, whole);
		memcpy(copy + offset, value, size);
		return bpf_map__set_initial_value(map, copy, whole);
	}
	return -ENOENT;
}

static enum nc_hook hook_of(const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);

	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		if (!strcmp(name, nc_hook_name(hook)))
			return hook;
	}
	return 0;
}

/* May programs read the kernel's memory? Found by one that does nothing else. */
static unsigned char kernel_readable(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_CGROUP_INET_EGRESS);
	const struct bpf_insn reads_one_word[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	NC_CLOSE int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "netcordon_probe", "GPL", reads_one_word,
					sizeof(reads_one_word) / sizeof(reads_one_word[0]), &options);

	return fd >= 0;
}

/* May a device program ask who the current task is? Found by one that does, and passes everything. */
static unsigned char device_sees_task(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_CGROUP_DEVICE);
	const struct bpf_insn asks[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_ancestor_cgroup_id},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -16},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 16},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_comm},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	NC_CLOSE int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_DEVICE, "netcordon_probe", "GPL", asks, sizeof(asks) / sizeof(asks[0]), &options);

	return fd >= 0;
}

static int object_open(const struct nc_host_options *options, const bool wanted[NC_HOOK_MAX], struct bpf_object **ret_object, struct nc_error *reterr)
{
	/* the verifier's words would take 16 MiB, and libbpf's own last words are enough to tell what happened */
	static char log[8192];
	LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "netcordon", .kernel_log_buf = log, .kernel_log_size = sizeof(log));
	const unsigned char reads = kernel_readable(), sees_task = device_sees_task();
	struct bpf_program *program;
	struct bpf_object *object;
	const void *bytes = options->object;
	size_t size = options->object_size;
	int r;

	if (!bytes)
		nc_host_object(&bytes, &size);
	object = bpf_object__open_mem(bytes, size, &open_options);
	if (!object)
		return object_error(reterr, -errno, "open the BPF object");
	r = rodata_set(object, "nc_reads_kernel", &reads, sizeof(reads)) ?: rodata_set(object, "nc_device_sees_task", &sees_task, sizeof(sees_task));
	if (r) {
		bpf_object__close(object);
		return nc_error_sys(reterr, NC_E_HOST_UNSUPPORTED, r, "tell the programs what they may ask of the kernel");
	}
	bpf_object__for_each_program(program, object)
	{
		enum nc_hook hook = hook_of(program);

		if (!hook) {
			r = nc_error_set(reterr, NC_E_HOST_UNSUPPORTED, -EINVAL, "the BPF object has a program that is not in the table: %s",
					 bpf_program__name(program));
			break;
		}
		if (nc_hook(hook)->where != NC_AT_HOST) {
			bpf_program__set_type(program, nc_hook(hook)->program_type);
			bpf_program__set_expected_attach_type(program, nc_hook(hook)->attach_type);
		}
		bpf_program__set_autoload(program, wanted[hook]);
	}
	if (r) {
		bpf_object__close(object);
		return r;
	}
	*ret_object = object;
	return 0;
}

/* ---- choosing ----------------------------------------------------------------------------------------------------------------------------- */

/* Does the kernel take this program? Nothing of the trial stays. */
static bool takes(const struct nc_host_options *options, enum nc_hook hook)
{
	static const struct sizes smallest = {.instances = 1, .rings = 1, .policy = 1, .plane = 1, .grants = 1, .seen = 1};
	bool wanted[NC_HOOK_MAX] = {false};
	struct bpf_object *object = NULL;
	struct nc_error ignored;
	bool loaded;

	wanted[hook] = true;
	if (object_open(options, wanted, &object, &ignored) < 0)
		return false;
	loaded = !resize_all(object, &smallest) && !bpf_object__load(object);
	bpf_object__close(object);
	return loaded;
}

/* Opens, sizes and loads the object with the programs in `wanted`. */
static int object_load(const struct nc_host_options *options, const struct sizes *sizes, const bool wanted[NC_HOOK_MAX],
		       struct bpf_object **ret_object, struct nc_error *reterr)
{
	struct bpf_object *object = NULL;
	const unsigned char lsm_acts = wanted[NC_HOOK_LSM_UNIX_STREAM];
	size_t offset;
	bool mutant;
	int r = object_open(options, wanted, &object, reterr);

	if (r < 0)
		return r;
	mutant = rodata_place(object, "nc_checks_off", sizeof(options->checks_off), &offset);
	if (mutant && !options->object) {
		bpf_object__close(object);
		nc_error_set(reterr, NC_E_OBJECT_MUTANT, -EPERM, "the object in this program can have its checks switched off");
		return nc_error_hint(reterr, "use the netcordon that `make` builds; objects for the matrix are for `conform` alone");
	}
	last_warning[0] = '\0';
	r = mutant ? rodata_set(object, "nc_checks_off", &options->checks_off, sizeof(options->checks_off)) : 0;
	r = r ?: rodata_set(object, "nc_lsm_acts", &lsm_acts, sizeof(lsm_acts));
	r = r ?: resize_all(object, sizes);
	r = r ?: bpf_object__load(object);
	if (r) {
		object_error(reterr, r, "load the programs");
		bpf_object__close(object);
		return r;
	}
	*ret_object = object;
	return 0;
}

/*
 * Security hooks count only where they act: some kernels load and attach them and never call them. Whether one loads is asked first, because it is cheap;
 * then each is seen to refuse a real call of a child in a scratch cgroup (closure_probe.c). All or none: they rely on each other's labels.
 */
static int choose_host_hooks(struct nc_host *host, const struct nc_host_options *options, bool wanted[NC_HOOK_MAX], struct nc_error *reterr)
{
	struct nc_effective_list acting = {0};
	bool all = true;
	int r;

	if (!takes(options, NC_HOOK_LSM_CREATE))
		return 0;
	r = nc_closure_probe(host->root, &acting, reterr);
	if (r < 0)
		return r;
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		bool found = nc_hook(hook)->where != NC_AT_HOST;

		for (size_t i = 0; i < acting.count && !found; i++)
			found = !strcmp(acting.programs[i].hook, nc_hook_name(hook)) && takes(options, hook);
		all = all && found;
	}
	nc_effective_free(&acting);
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX && all; hook++)
		wanted[hook] = wanted[hook] || nc_hook(hook)->where == NC_AT_HOST;
	return 0;
}

static int choose_and_load(struct nc_host *host, const struct nc_host_options *options, const struct sizes *sizes, struct bpf_object **ret_object,
			   struct nc_error *reterr)
{
	bool wanted[NC_HOOK_MAX] = {false};
	struct bpf_object *object = NULL;
	int r;

	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++)
		wanted[hook] = nc_hook(hook)->where != NC_AT_HOST;
	r = choose_host_hooks(host, options, wanted, reterr);
	if (r < 0)
		return r;
	if (!object_load(options, sizes, wanted, &object, reterr)) {
		*ret_object = object;
		return 0;
	}
	if (reterr->code == NC_E_OBJECT_MUTANT)
		return reterr->status;
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		if (wanted[hook] && !nc_hook(hook)->required && nc_hook(hook)->where != NC_AT_HOST)
			wanted[hook] = takes(options, hook);
	}
	return object_load(options, sizes, wanted, ret_object, reterr);
}

/* ---- pinning ------------------------------------------------------------------------------------------------------------------------------ */

static int pin(int fd, const char *folder, const char *name, struct nc_error *reterr)
{
	char path[NC_PATH_MAX];
	int r = nc_path(path, reterr, "%s/%s", folder, name);

	if (r < 0)
		return r;
	r = bpf_obj_pin(fd, path);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "pin %s", path) : 0;
}

static int pin_maps(struct bpf_object *object, const char *pins, struct nc_error *reterr)
{
	char folder[NC_PATH_MAX];
	struct bpf_map *map;
	int r = nc_path(folder, reterr, "%s/maps", pins);

	r = r < 0 ? r : nc_folder_make(folder, reterr);
	if (r < 0)
		return r;
	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		const char *dot = strchr(name, '.'); /* libbpf's own for sections: the bpf file system has no names with a dot */

		r = pin(bpf_map__fd(map), folder, dot ? dot + 1 : name, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

static int pin_programs(struct bpf_object *object, const char *pins, struct nc_book *book, struct nc_error *reterr)
{
	char folder[NC_PATH_MAX];
	struct bpf_program *program;
	int r = nc_path(folder, reterr, "%s/programs", pins);

	r = r < 0 ? r : nc_folder_make(folder, reterr);
	if (r < 0)
		return r;
	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0)
			continue;
		r = bpf_obj_get_info_by_fd(fd, &info, &size);
		if (r)
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask for the program %s", bpf_program__name(program));
		r = pin(fd, folder, bpf_program__name(program), reterr);
		if (r < 0)
			return r;
		book->program_ids[hook_of(program)] = info.id;
		memcpy(book->program_tags[hook_of(program)], info.tag, sizeof(info.tag));
	}
	return 0;
}

int nc_object_install(struct nc_host *host, const char *pins, const struct nc_host_options *options, struct nc_book *ret_book,
		      struct nc_error *reterr)
{
	struct nc_book book = {.magic = NC_BOOK_MAGIC, .hooks = NC_HOOK_MAX};
	struct bpf_object *object = NULL;
	struct rlimit limit;
	struct sizes sizes;
	libbpf_print_fn_t printed;
	int r = sizes_of(options, &sizes, reterr);

	if (r < 0)
		return r;
	nc_memlock_raise(&limit);
	printed = libbpf_set_print(keep_warning);
	r = choose_and_load(host, options, &sizes, &object, reterr);
	if (!r) {
		struct bpf_map *events = bpf_object__find_map_by_name(object, nc_map_name(NC_MAP_EVENTS));

		r = nc_rings_prepare(bpf_map__fd(events), sizes.rings_prepared, sizes.ring_bytes, reterr);
	}
	r = r ?: pin_maps(object, pins, reterr);
	r = r ?: pin_programs(object, pins, &book, reterr);
	if (object)
		bpf_object__close(object);
	libbpf_set_print(printed);
	nc_memlock_restore(&limit);
	if (r)
		return r;
	book.pages_unseen = nc_kernel_pages_unseen();
	book.instances = sizes.instances;
	book.rings = sizes.rings;
	book.ring_bytes = sizes.ring_bytes;
	*ret_book = book;
	return 0;
}
