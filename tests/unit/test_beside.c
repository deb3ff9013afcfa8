// SPDX-License-Identifier: GPL-2.0-only
/* test_beside.c - a process with this one's memory: what is shared, what is not, and that its end is told */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "beside.h"

struct shared {
	int fd, value;
	char *stack_place;
	pid_t parent;
};

static char stack[65536] __attribute__((aligned(16)));

static void leave_marks(void *context)
{
	struct shared *shared = context;
	char here;

	shared->value = 42;
	shared->stack_place = &here;
	shared->parent = (pid_t)syscall(SYS_getppid);
	syscall(SYS_close, shared->fd);
	syscall(SYS_exit_group, 7);
}

static void wait_for_ever(void *context)
{
	(void)context;
	for (;;)
		pause();
}

static void test_memory_is_shared_and_descriptors_are_not(void **state)
{
	struct shared shared = {.fd = open("/dev/null", O_RDONLY | O_CLOEXEC)};
	int status = 0;
	pid_t pid;

	(void)state;
	assert_true(shared.fd >= 0);
	pid = nc_beside_start(-1, stack, sizeof(stack), leave_marks, &shared);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(shared.value, 42);
	assert_int_equal(shared.parent, getpid());
	assert_true(shared.stack_place > stack && shared.stack_place < stack + sizeof(stack));
	assert_true(fcntl(shared.fd, F_GETFD) >= 0);
	close(shared.fd);
}

static void test_both_live_and_its_death_is_not_ours(void **state)
{
	pid_t pid = nc_beside_start(-1, stack, sizeof(stack), wait_for_ever, NULL);
	int status = 0;

	(void)state;
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void test_what_is_no_cgroup_is_refused(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid = nc_beside_start(fd, stack, sizeof(stack), wait_for_ever, NULL);

	(void)state;
	assert_true(pid < 0);
	assert_int_equal(pid, -EBADF);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_shared_and_descriptors_are_not),
		cmocka_unit_test(test_both_live_and_its_death_is_not_ours),
		cmocka_unit_test(test_what_is_no_cgroup_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
