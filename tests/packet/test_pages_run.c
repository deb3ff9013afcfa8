// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_pages_run.c - whose pages a payload lies in: what pages.h says on this kernel of payloads that really leave, in each of the ways in which a process can
 * hand one over. The mark and the look at the pages are asked apart, so that each is seen to work alone: kernels differ in where they lose the mark.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "inside.h"
#include "scratch.h"

#define SIZE 700
#define LARGE (2u << 20)

struct seen {
	uint32_t payloads;
	int marked, owned, foreign;
};

struct world {
	struct scratch *scratch;
	struct bpf_object *object;
	int link_fd, seen_fd, client, server, cgroup_fd, home_fd;
};

static unsigned char text[SIZE];

/* ---- the ways ----------------------------------------------------------------------------------------------------------------------------------- */

static int by_write(int socket)
{
	return write(socket, text, SIZE) == SIZE ? 0 : -1;
}

/* So many single bytes that each is a part of its own: another socket of this task takes the places between them. */
static int by_many_writes(int socket)
{
	int on = 1, off = 0, pair[2], r = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || setsockopt(socket, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)))
		return -1;
	for (int i = 0; i < 10; i++)
		r |= write(socket, text, 10) != 10 || write(pair[0], text, 100) != 100;
	close(pair[0]);
	close(pair[1]);
	return r || setsockopt(socket, IPPROTO_TCP, TCP_CORK, &off, sizeof(off)) ? -1 : 0;
}

static int hand(int socket, int file, off_t from)
{
	int r = file < 0 || sendfile(socket, file, &from, SIZE) != SIZE ? -1 : 0;

	if (file >= 0)
		close(file);
	return r;
}

static int by_sendfile_memory(int socket)
{
	int file = memfd_create("payload", MFD_CLOEXEC);

	return file >= 0 && write(file, text, SIZE) == SIZE ? hand(socket, file, 0) : -1;
}

/* From the second page of a large one, where the kernel makes those: shared memory that asks for them. */
static int by_sendfile_large(int socket)
{
	int file = memfd_create("payload", MFD_CLOEXEC);
	void *memory = file < 0 || ftruncate(file, LARGE) ? MAP_FAILED : mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (memory == MAP_FAILED)
		return -1;
	madvise(memory, LARGE, MADV_HUGEPAGE);
	memset(memory, 'x', LARGE);
	munmap(memory, LARGE);
	return hand(socket, file, 4096);
}

static int by_sendfile_disk(int socket)
{
	FILE *file = tmpfile();
	int copy = file && fwrite(text, SIZE, 1, file) == 1 && !fflush(file) ? dup(fileno(file)) : -1;

	if (file)
		fclose(file);
	return hand(socket, copy, 0);
}

static int by_vmsplice(int socket)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec part = {memory, SIZE};
	int ends[2], r;

	if (memory == MAP_FAILED || pipe(ends))
		return -1;
	memcpy(memory, text, SIZE);
	r = vmsplice(ends[1], &part, 1, 0) == SIZE && splice(ends[0], NULL, socket, NULL, SIZE, 0) == SIZE ? 0 : -1;
	close(ends[0]);
	close(ends[1]);
	munmap(memory, 4096);
	return r;
}

/* The pages of a pipe are the kernel's; the mark says more than is needed. */
static int by_pipe(int socket)
{
	int ends[2], r;

	if (pipe(ends))
		return -1;
	r = write(ends[1], text, SIZE) == SIZE && splice(ends[0], NULL, socket, NULL, SIZE, 0) == SIZE ? 0 : -1;
	close(ends[0]);
	close(ends[1]);
	return r;
}

static int by_zerocopy(int socket)
{
	static unsigned char own[4096] __attribute__((aligned(4096)));
	int on = 1;

	memcpy(own, text, SIZE);
	return setsockopt(socket, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) || send(socket, own, SIZE, MSG_ZEROCOPY) != SIZE ? -1 : 0;
}

/* ---- the world ---------------------------------------------------------------------------------------------------------------------------------- */

static int put_into(int cgroup_fd)
{
	NC_CLOSE int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "0", 1) == 1 ? 0 : -1;
}

static void load(struct world *world)
{
	char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
	struct bpf_program *program;

	assert_true(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "sees_pages.bpf.o");
	world->object = bpf_object__open_file(path, NULL);
	assert_non_null(world->object);
	assert_int_equal(bpf_object__load(world->object), 0);
	program = bpf_object__find_program_by_name(world->object, "sees_pages");
	world->seen_fd = bpf_map__fd(bpf_object__find_map_by_name(world->object, "seen"));
	world->link_fd = bpf_link_create(bpf_program__fd(program), world->cgroup_fd, BPF_CGROUP_INET_EGRESS, NULL);
	assert_true(world->link_fd >= 0);
}

static int make(void **state)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);
	static struct world world;
	int listener, on = 1;

	if (scratch_make(state))
		return -1;
	world.scratch = *state;
	*state = &world;
	world.home_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	world.cgroup_fd = open(world.scratch->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (world.home_fd < 0 || world.cgroup_fd < 0 || unshare(CLONE_NEWNET))
		return -1;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ioctl(listener, SIOCSIFFLAGS, &lo) || bind(listener, (struct sockaddr *)&here, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&here, &size) || put_into(world.cgroup_fd))
		return -1;
	load(&world);
	world.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(world.client, (struct sockaddr *)&here, size) || setsockopt(world.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return -1;
	world.server = accept(listener, NULL, NULL);
	close(listener);
	memset(text, 'x', sizeof(text));
	return world.server < 0 ? -1 : 0;
}

static int end(void **state)
{
	struct world *world = *state;
	NC_CLOSE int parent = openat(world->cgroup_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	close(world->client);
	close(world->server);
	close(world->link_fd);
	bpf_object__close(world->object);
	if (put_into(parent) || setns(world->home_fd, CLONE_NEWNET))
		return -1;
	close(world->cgroup_fd);
	close(world->home_fd);
	*state = world->scratch;
	return scratch_end(state);
}

/* Everything that was sent has left when the other end has read it. */
static void drain(struct world *world, size_t size)
{
	unsigned char bytes[SIZE];

	while (size) {
		ssize_t got = read(world->server, bytes, size);

		assert_true(got > 0);
		size -= (size_t)got;
	}
}

static void test_ways(void **state)
{
	static const struct {
		const char *what;
		int (*way)(int socket);
		size_t size;
		int marked, owned, foreign;
	} rows[] = {
		{"write", by_write, SIZE, 0, 0, 0},
		{"ten writes in one packet", by_many_writes, 100, 0, 0, 0},
		{"sendfile from a memory file", by_sendfile_memory, SIZE, 1, 1, 1},
		{"sendfile from a large page", by_sendfile_large, SIZE, 1, 1, 1},
		{"sendfile from a file", by_sendfile_disk, SIZE, 1, 1, 1},
		{"vmsplice", by_vmsplice, SIZE, 1, 1, 1},
		{"a pipe", by_pipe, SIZE, 1, 0, 1},
		{"MSG_ZEROCOPY", by_zerocopy, SIZE, 1, 1, 1},
		{"write, behind all those", by_write, SIZE, 0, 0, 0},
	};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seen seen = {0};
		uint32_t zero = 0;

		assert_int_equal(bpf_map_update_elem(world->seen_fd, &zero, &seen, BPF_ANY), 0);
		if (rows[i].way(world->client))
			fail_msg("%s: %s", rows[i].what, strerror(errno));
		drain(world, rows[i].size);
		assert_int_equal(bpf_map_lookup_elem(world->seen_fd, &zero, &seen), 0);
		print_message("%-28s mark %d, owned %d\n", rows[i].what, seen.marked, seen.owned);
		if (seen.payloads != 1 || seen.marked != rows[i].marked || seen.owned != rows[i].owned || seen.foreign != rows[i].foreign)
			fail_msg("%s: %u payloads, marked %d, owned %d, foreign %d", rows[i].what, seen.payloads, seen.marked, seen.owned,
				 seen.foreign);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_ways, make, end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
