/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * beside.c - clone3 with a stack, which no C library offers
 *
 * The child returns from the system call on an empty stack: there is no frame that it could return to, so it is sent on to its function by the same
 * instructions. `begin` and `context` wait in registers that the kernel hands over as they are.
 */
#include "beside.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
static long clone_on(const struct clone_args *args, void (*begin)(void *context), void *context)
{
	register void (*function)(void *) __asm__("r12") = begin;
	register void *argument __asm__("r13") = context;
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t" /* where a walk along the frames ends */
			 "mov %[argument], %%rdi\n\t"
			 "call *%[function]\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "a"((long)SYS_clone3), "D"(args), "S"(sizeof(*args)), [function] "r"(function), [argument] "r"(argument)
			 : "rcx", "r11", "cc", "memory");
	return result;
}
#elif defined(__aarch64__)
static long clone_on(const struct clone_args *args, void (*begin)(void *context), void *context)
{
	register long number __asm__("x8") = SYS_clone3;
	register long first __asm__("x0") = (long)(uintptr_t)args;
	register size_t size __asm__("x1") = sizeof(*args);
	register void (*function)(void *) __asm__("x2") = begin;
	register void *argument __asm__("x3") = context;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t" /* where a walk along the frames ends */
			 "mov x30, xzr\n\t"
			 "mov x0, %[argument]\n\t"
			 "blr %[function]\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(first)
			 : "r"(number), "r"(size), [function] "r"(function), [argument] "r"(argument)
			 : "cc", "memory");
	return first;
}
#else
static long clone_on(struct clone_args *args, void (*begin)(void *context), void *context)
{
	long result;

	args->flags &= ~(uint64_t)CLONE_VM;
	args->stack = args->stack_size = 0;
	result = syscall(SYS_clone3, args, sizeof(*args));
	if (result == 0) {
		begin(context);
		_exit(121);
	}
	return result < 0 ? -errno : result;
}
#endif

pid_t nc_beside_start(int cgroup_fd, void *stack, size_t stack_size, void (*begin)(void *context), void *context)
{
	struct clone_args args = {
		.flags = CLONE_VM | (cgroup_fd < 0 ? 0 : CLONE_INTO_CGROUP),
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)stack,
		.stack_size = stack_size,
		.cgroup = cgroup_fd < 0 ? 0 : (uint64_t)cgroup_fd,
	};

	return (pid_t)clone_on(&args, begin, context);
}
