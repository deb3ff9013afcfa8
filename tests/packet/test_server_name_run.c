// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_server_name_run.c - packets through the kernel's own programs by BPF_PROG_TEST_RUN
 *
 * A test run brings a packet and a socket of its own, which belongs to nobody: no call reaches it, so no label can be given to it, and its TCP state is none.
 * Hence two halves. The reader of first bytes, which asks neither, runs in the kernel as a program of its own and must say of every input what the same header
 * says when it is compiled for the host: hellos and heads of real clients, cut at each byte, and with bytes changed. And the egress program itself meets a
 * socket without a label. What a label and a TCP state add (retransmission, acknowledgement, pages) is judged in tests/unit/test_wire.c, and on real sockets in
 * tests/native/server_name.bats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "inside.h"
#include "scratch.h"
#include "../unit/skb_host.h"
#include "server_name.h"

#define CORPUS "tests/fuzz/corpus/server_name"
#define FRAME 14 /* a test run takes a frame of Ethernet, and hands a packet program what is behind its head */
#define FRONT 40
#define SIZE_MAX_RUN 3000 /* a page, less what the kernel keeps for itself */

static uint8_t frame[FRAME + FRONT + SIZE_MAX_RUN];

static int run(int program_fd, size_t size, uint32_t *ret_decision)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = (uint32_t)(FRAME + size), .repeat = 1);
	int r = bpf_prog_test_run_opts(program_fd, &options);

	*ret_decision = options.retval;
	return r;
}

struct reader {
	struct bpf_object *object;
	int program_fd, found_fd;
	unsigned int compared, named;
};

static void reader_open(struct reader *reader)
{
	char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *last;

	assert_true(length > 0);
	path[length] = '\0';
	last = strrchr(path, '/');
	strcpy(last + 1, "reads_name.bpf.o");
	*reader = (struct reader){.object = bpf_object__open_file(path, NULL)};
	assert_non_null(reader->object);
	assert_int_equal(bpf_object__load(reader->object), 0);
	reader->program_fd = bpf_program__fd(bpf_object__find_program_by_name(reader->object, "reads_name"));
	reader->found_fd = bpf_map__fd(bpf_object__find_map_by_name(reader->object, "found"));
}

/* What stands in the frame, read by both. */
static void compare(struct reader *reader, size_t size, const char *what)
{
	struct __sk_buff skb = {};
	uint64_t here, there = ~0ull;
	uint32_t zero = 0, decision = 0;

	host_packet = frame + FRAME;
	host_packet_size = FRONT + size;
	here = host_packet[FRONT] == 22 ? nc_tls_name(&skb, FRONT, (uint32_t)size) : nc_http_name(&skb, FRONT, (uint32_t)size, 80);
	assert_int_equal(bpf_map_update_elem(reader->found_fd, &zero, &there, BPF_ANY), 0);
	assert_int_equal(run(reader->program_fd, FRONT + size, &decision), 0);
	assert_int_equal(decision, 1);
	assert_int_equal(bpf_map_lookup_elem(reader->found_fd, &zero, &there), 0);
	if (here != there)
		fail_msg("%s, %zu bytes: host %#llx, kernel %#llx", what, size, (unsigned long long)here, (unsigned long long)there);
	reader->compared++;
	reader->named += here != 0;
}

static void compare_file(struct reader *reader, const char *name, const uint8_t *bytes, size_t size)
{
	static uint32_t random = 1;

	for (size_t cut = 1; cut <= size; cut += cut + 16 < size ? 7 : 1) {
		memcpy(frame + FRAME + FRONT, bytes, cut);
		compare(reader, cut, name);
	}
	for (int i = 0; i < 1000; i++) {
		memcpy(frame + FRAME + FRONT, bytes, size);
		for (int changes = 0; changes <= i % 3; changes++) {
			random = random * 1664525 + 1013904223;
			/* half of the changes in the first bytes, where lengths stand */
			frame[FRAME + FRONT + (random >> 8) % (i % 2 ? size : size < 160 ? size : 160)] = (uint8_t)(random >> 24);
		}
		compare(reader, size, name);
	}
}

static void test_reader(void **state)
{
	static uint8_t bytes[SIZE_MAX_RUN + 1];
	struct reader reader;
	struct dirent *entry;
	DIR *dir = opendir(CORPUS);
	int files = 0;

	(void)state;
	assert_non_null(dir);
	reader_open(&reader);
	memset(frame, 0, sizeof(frame));
	frame[12] = 0x08; /* IPv4 */
	while ((entry = readdir(dir))) {
		FILE *file = entry->d_name[0] == '.' ? NULL : fdopen(openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC), "r");
		size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

		if (file)
			fclose(file);
		if (!size || size > SIZE_MAX_RUN)
			continue;
		files++;
		compare_file(&reader, entry->d_name, bytes, size);
	}
	closedir(dir);
	bpf_object__close(reader.object);
	print_message("%d first payloads of clients in %u forms, %u of them with a name\n", files, reader.compared, reader.named);
	assert_true(files >= 8 && reader.compared > 8000 && reader.named > 500);
}

/* The program that is attached, and a socket without a label: a hello is refused, a neighbour solicitation of the kernel's own passes. */
static void test_egress(void **state)
{
	struct scratch *scratch = *state;
	struct nc_host *host = NULL;
	struct nc_error error;
	char path[NC_PATH_MAX + 32];
	uint32_t decision = 9;
	int fd;

	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	snprintf(path, sizeof(path), "%s/programs/egress", host->pins);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	memset(frame, 0, sizeof(frame));
	frame[12] = 0x08;
	memcpy(frame + FRAME, (const uint8_t[]){0x45, 0, 0, 200, 0, 0, 0, 0, 64, 6, 0, 0, 100, 64, 7, 2, 93, 184, 216, 34}, 20);
	assert_int_equal(run(fd, 200, &decision), 0);
	assert_int_equal(decision, 0);
	memset(frame, 0, sizeof(frame));
	frame[12] = 0x86, frame[13] = 0xdd;
	memcpy(frame + FRAME, (const uint8_t[]){0x60, 0, 0, 0, 0, 24, 58, 255}, 8);
	inet_pton(AF_INET6, "fe80::2", frame + FRAME + 8);
	inet_pton(AF_INET6, "ff02::1:ff00:1", frame + FRAME + 24);
	frame[FRAME + 40] = 135;
	assert_int_equal(run(fd, 64, &decision), 0);
	assert_int_equal(decision, 1);
	frame[FRAME + 7] = 64; /* it may have crossed a router */
	assert_int_equal(run(fd, 64, &decision), 0);
	assert_int_equal(decision, 0);
	close(fd);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	assert_nothing_left(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader),
		cmocka_unit_test_setup_teardown(test_egress, scratch_make, scratch_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
