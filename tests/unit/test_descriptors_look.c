// SPDX-License-Identifier: GPL-2.0-only
/* test_descriptors_look.c - what another process has open: harmless, foreign, or not to be seen */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "clock.h"
#include "descriptors_look.h"

static int64_t soon(void)
{
	return nc_now_ns() + 5000000000;
}

/* A process that has nothing open but what `open_one` opens, and what says of it. */
static enum nc_descriptors look_at(int (*open_one)(void), int64_t until_ns)
{
	enum nc_descriptors found;
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (dup2(ready[1], 0) < 0 || syscall(SYS_close_range, 1u, ~0u, 0u) < 0 || (open_one && open_one() < 0) || write(0, "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	found = nc_descriptors_look(NULL, pid, until_ns);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return found;
}

static int a_file(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static int a_folder(void)
{
	return open("/", O_RDONLY | O_DIRECTORY);
}

static int a_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static int a_process(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int a_kernel_file(void)
{
	return open("/proc/self/status", O_RDONLY);
}

static void kinds(void **state)
{
	(void)state;
	assert_int_equal(look_at(NULL, soon()), NC_DESCRIPTORS_HARMLESS);
	assert_int_equal(look_at(a_file, soon()), NC_DESCRIPTORS_HARMLESS);
	assert_int_equal(look_at(a_folder, soon()), NC_DESCRIPTORS_FOREIGN);
	assert_int_equal(look_at(a_socket, soon()), NC_DESCRIPTORS_FOREIGN);
}

/* Regular files by their kind: it is the file system that tells. */
static void handles_of_the_kernels(void **state)
{
	(void)state;
	assert_int_equal(look_at(a_process, soon()), NC_DESCRIPTORS_FOREIGN);
	assert_int_equal(look_at(a_kernel_file, soon()), NC_DESCRIPTORS_FOREIGN);
}

static void what_cannot_be_seen_is_not_harmless(void **state)
{
	(void)state;
	assert_int_equal(look_at(NULL, nc_now_ns()), NC_DESCRIPTORS_UNSEEN);
	assert_int_equal(nc_descriptors_look(NULL, 1 << 22, soon()), NC_DESCRIPTORS_UNSEEN); /* the largest number is one less */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(handles_of_the_kernels),
		cmocka_unit_test(what_cannot_be_seen_is_not_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
