/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scratch.h - a cgroup root, a runtime folder and a manifest of its own for each test, and the question what was left behind
 *
 * For tests that include cmocka and inside.h first.
 */
#ifndef NC_TEST_SCRATCH_H
#define NC_TEST_SCRATCH_H

struct scratch {
	char root[NC_PATH_MAX];
	char runtime[NC_PATH_MAX];
	char manifest[65];
	struct nc_host_options options;
};

static inline void assert_ok_at(int r, const struct nc_error *error, const char *file, int line)
{
	if (r >= 0)
		return;
	print_error("%s:%d: %s: %s (%s)\n", file, line, nc_error_word(error->code), error->detail, error->hint);
	_fail(file, line);
}
#define assert_ok(r, error) assert_ok_at(r, error, __FILE__, __LINE__)

static inline int scratch_make(void **state)
{
	static unsigned int number;
	struct scratch *scratch = calloc(1, sizeof(*scratch));
	char mount[NC_PATH_MAX];
	struct nc_error error;

	if (!scratch || nc_cgroup_mount(mount, &error) < 0)
		return -1;
	number++;
	snprintf(scratch->root, sizeof(scratch->root), "%.400s/nctest-loader-%d-%u", mount, getpid(), number);
	snprintf(scratch->runtime, sizeof(scratch->runtime), "/run/nctest-loader-%d-%u", getpid(), number);
	snprintf(scratch->manifest, sizeof(scratch->manifest), "%08x%04x", (unsigned int)getpid(), number);
	if (mkdir(scratch->root, 0755))
		return -1;
	scratch->options = (struct nc_host_options){
		.root = scratch->root,
		.runtime = scratch->runtime,
		.manifest = scratch->manifest,
		.instances = 256,
		.rings = 0,
		.ring_bytes = 4096,
		.policy_entries = 4096,
		.grant_entries = 1024,
		.seen_entries = 1024,
	};
	*state = scratch;
	return 0;
}

/* After a failure too: takes down whatever is there. */
static inline int scratch_end(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *host = NULL;
	struct nc_error error;

	if (!nc_host_open(&scratch->options, &host, &error)) {
		nc_host_down(host, true, &error);
		nc_host_close(host);
	}
	nc_tree_remove(scratch->runtime, &error);
	for (int i = 0; i < 100 && rmdir(scratch->root) && errno == EBUSY; i++)
		usleep(10000);
	free(scratch);
	return 0;
}

static inline int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && (entry->d_type == DT_DIR))
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* No pins of this manifest, no runtime folder, no cgroup below the root, nothing attached to it. */
static inline void assert_nothing_left_after(struct scratch *scratch, const char *what, int number)
{
	struct dirent *entry;
	struct stat status;
	DIR *dir = opendir("/sys/fs/bpf/netcordon");
	int fd;

	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, scratch->manifest, 12))
			fail_msg("a pin folder is left: %s (%s, %d)", entry->d_name, what, number);
	}
	if (dir)
		closedir(dir);
	if (!stat(scratch->runtime, &status))
		fail_msg("the runtime folder is left: %s (%s, %d)", scratch->runtime, what, number);
	if (count_entries(scratch->root))
		fail_msg("a cgroup is left below %s (%s, %d)", scratch->root, what, number);
	fd = open(scratch->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		uint32_t ids[64], count = 64;

		if (nc_hook(hook)->where == NC_AT_HOST || bpf_prog_query(fd, nc_hook(hook)->attach_type, 0, NULL, ids, &count))
			continue;
		if (count)
			fail_msg("%s is still attached to the root (%s, %d)", nc_hook_name(hook), what, number);
	}
	close(fd);
}

static inline void assert_nothing_left(struct scratch *scratch)
{
	assert_nothing_left_after(scratch, "", 0);
}

/* The host holds no instance, entry or ring. */
static inline void assert_empty_after(struct nc_host *host, const char *what, int number)
{
	struct nc_host_facts facts;
	struct nc_error error;
	int cgroups;

	assert_ok(nc_host_facts(host, &facts, &error), &error);
	cgroups = count_entries(facts.slice);
	if (facts.instances_used || facts.rings_used || facts.policy_entries || facts.grant_entries || facts.seen_entries || cgroups)
		fail_msg("left after %s, %d: %u instances, %u rings, %lu policy entries, %lu grants, %lu seen rows, %d cgroups", what, number,
			 facts.instances_used, facts.rings_used, facts.policy_entries, facts.grant_entries, facts.seen_entries, cgroups);
}

static inline void assert_empty(struct nc_host *host)
{
	assert_empty_after(host, "", 0);
}

/* Nor a folder, nor a cgroup that leads to a slot. */
static inline void assert_no_instances(struct nc_host *host)
{
	char path[NC_PATH_MAX + 16];
	struct nc_error error;
	uint64_t key;
	int fd;

	snprintf(path, sizeof(path), "%s/instances", host->folder);
	if (count_entries(path))
		fail_msg("a folder is left below %s", path);
	assert_ok(nc_host_map(host, NC_MAP_AUTHORITY_OF_CGROUP, &fd, &error), &error);
	assert_int_equal(bpf_map_get_next_key(fd, NULL, &key), -ENOENT);
}

static inline void assert_all_exit_zero(const pid_t *children, int count)
{
	int failed = 0;

	for (int i = 0; i < count; i++) {
		int status = -1;

		failed += children[i] <= 0 || waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status);
	}
	assert_int_equal(failed, 0);
}

static inline void take_down(struct scratch *scratch, bool force)
{
	struct nc_host *host = NULL;
	struct nc_error error;

	assert_ok(nc_host_open(&scratch->options, &host, &error), &error);
	assert_ok(nc_host_down(host, force, &error), &error);
	nc_host_close(host);
}

static inline struct nc_policy_entry *entries_make(size_t count)
{
	struct nc_policy_entry *entries = calloc(count ?: 1, sizeof(*entries));

	assert_non_null(entries);
	for (size_t i = 0; i < count; i++) { /* ascending by memcmp: the address is big-endian here */
		uint8_t *bytes = entries[i].key.address.bytes;

		bytes[10] = bytes[11] = 0xff;
		bytes[12] = (uint8_t)(93 + (i >> 24));
		bytes[13] = (uint8_t)(i >> 16);
		bytes[14] = (uint8_t)(i >> 8);
		bytes[15] = (uint8_t)i;
		entries[i].key.port_be = 0xbb01;
		entries[i].key.protocol = 6;
		entries[i].key.kind = NC_POLICY_LITERAL;
	}
	return entries;
}

#endif
