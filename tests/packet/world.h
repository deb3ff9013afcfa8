/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * world.h - a cgroup root, a runtime folder and a manifest of its own for each test, and the question what was left behind
 *
 * For tests that include cmocka and inside.h first.
 */
#ifndef NC_TEST_WORLD_H
#define NC_TEST_WORLD_H

struct world {
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

static inline int world_make(void **state)
{
	static unsigned int number;
	struct world *world = calloc(1, sizeof(*world));
	char mount[NC_PATH_MAX];
	struct nc_error error;

	if (!world || nc_cgroup_mount(mount, &error) < 0)
		return -1;
	number++;
	snprintf(world->root, sizeof(world->root), "%.400s/nctest-loader-%d-%u", mount, getpid(), number);
	snprintf(world->runtime, sizeof(world->runtime), "/run/nctest-loader-%d-%u", getpid(), number);
	snprintf(world->manifest, sizeof(world->manifest), "%08x%04x", (unsigned int)getpid(), number);
	if (mkdir(world->root, 0755))
		return -1;
	world->options = (struct nc_host_options){
		.root = world->root,
		.runtime = world->runtime,
		.manifest = world->manifest,
		.instances = 256,
		.rings = 0,
		.ring_bytes = 4096,
		.policy_entries = 4096,
		.grant_entries = 1024,
		.seen_entries = 1024,
	};
	*state = world;
	return 0;
}

/* After a failure too: takes down whatever is there. */
static inline int world_end(void **state)
{
	struct world *world = *state;
	struct nc_host *host = NULL;
	struct nc_error error;

	if (!nc_host_open(&world->options, &host, &error)) {
		nc_host_down(host, true, &error);
		nc_host_close(host);
	}
	nc_tree_remove(world->runtime, &error);
	for (int i = 0; i < 100 && rmdir(world->root) && errno == EBUSY; i++)
		usleep(10000);
	free(world);
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
static inline void assert_nothing_left(struct world *world)
{
	struct dirent *entry;
	struct stat status;
	DIR *dir = opendir("/sys/fs/bpf/netcordon");
	int fd;

	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, world->manifest, 12))
			fail_msg("a pin folder is left: %s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!stat(world->runtime, &status))
		fail_msg("the runtime folder is left: %s", world->runtime);
	assert_int_equal(count_entries(world->root), 0);
	fd = open(world->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		uint32_t ids[64], count = 64;

		if (nc_hook(hook)->where == NC_AT_HOST || bpf_prog_query(fd, nc_hook(hook)->attach_type, 0, NULL, ids, &count))
			continue;
		if (count)
			fail_msg("%s is still attached to the root", nc_hook_name(hook));
	}
	close(fd);
}

/* The host holds no instance, entry or ring. */
static inline void assert_empty(struct nc_host *host)
{
	struct nc_host_facts facts;
	struct nc_error error;

	assert_ok(nc_host_facts(host, &facts, &error), &error);
	assert_int_equal(facts.instances_used, 0);
	assert_int_equal(facts.rings_used, 0);
	assert_int_equal(facts.policy_entries, 0);
	assert_int_equal(facts.grant_entries, 0);
	assert_int_equal(facts.seen_entries, 0);
	assert_int_equal(count_entries(facts.slice), 0);
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
