/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * faults.c - lets one call of netcordon fail: the Nth system call, or the Nth demand for memory, whoever makes it
 *
 * Linked into build/netcordon-faults by the linker's --wrap, for each name in CALLS: no line of the program knows of it. N comes from the name under which the
 * program is started, netcordon@N for system calls and netcordon@mN for memory, so that nothing depends on an environment. With netcordon@kN whoever
 * makes the Nth system call is killed there; with netcordon@uN (@umN) the Nth of an update fails, counted from where the supervisor takes the request to its
 * answer, that included; with netcordon@rN (@rmN) the Nth after the command's exec. Supervisor, init and command count together, in shared memory;
 * the edge is a program of its own and is left alone. The command's exec ends the counting: everything before it must be undone without a trace.
 *
 * Calls that only take apart (close, unlink, rmdir, kill, wait, munmap) are not in the list: what cannot be removed cannot be expected to be gone.
 *
 * Each wrapper passes six machine words on, which is what every function of the list is called with at most on the supported architectures.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "launch_update.h"

/* name, what it returns when it fails */
/* clang-format off */
#define CALLS(X)                                                                                                                                     \
	X(open, -1)                                                                                                                                  \
	X(openat, -1)                                                                                                                                \
	X(open64, -1)                                                                                                                                \
	X(fopen, 0) X(fopen64, 0) X(fdopen, 0) X(opendir, 0) X(fdopendir, 0) X(mkdir, -1) X(mkdirat, -1) X(mount, -1) X(pipe2, -1) X(socket, -1)     \
		X(socketpair, -1) X(bind, -1) X(listen, -1) X(connect, -1) X(accept4, -1) X(getsockname, -1) X(setsockopt, -1) X(getsockopt, -1)     \
			X(send, -1) X(sendto, -1) X(sendmsg, -1) X(recv, -1) X(recvmsg, -1) X(read, -1) X(pread, -1) X(readv, -1) X(write, -1)       \
				X(pwrite, -1) X(writev, -1) X(rename, -1) X(renameat, -1) X(renameat2, -1) X(linkat, -1) X(fsync, -1) X(fdatasync, -1)             \
					X(fstat, -1) X(stat, -1) X(fstatat, -1) X(fstatfs, -1) X(statfs, -1) X(getrandom, -1) X(prctl, -1)           \
						X(setrlimit, -1) X(setrlimit64, -1) X(getrlimit, -1) X(getrlimit64, -1) X(setsid, -1) X(chdir, -1)   \
							X(dup2, -1) X(dup3, -1) X(fcntl, -1) X(fcntl64, -1) X(signalfd, -1) X(sigprocmask, -1)       \
								X(sigaction, -1) X(sigpending, -1) X(poll, -1) X(setns, -1) X(flock, -1)             \
									X(syscall, -1) X(memfd_create, -1) X(mmap, -1) X(mmap64, -1) X(mlock, -1)    \
										X(madvise, -1)
#define DEMANDS(X) X(malloc, 0) X(calloc, 0) X(realloc, 0) X(reallocarray, 0) X(strdup, 0)
/* clang-format on */

struct counter {
	unsigned long made, at;
	bool over, memory, kills, told, update, running, runs;
	char name[32];
};

static struct counter *counter;

__attribute__((constructor)) static void begin(void)
{
	const char *at = strchr(program_invocation_short_name, '@');
	void *memory;

	if (!at)
		return;
	memory = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	counter = memory;
	at++;
	counter->update = *at == 'u';
	counter->running = *at == 'r';
	counter->over = counter->update || counter->running;
	at += counter->over;
	counter->memory = *at == 'm';
	counter->kills = *at == 'k';
	counter->at = strtoul(at + (counter->memory || counter->kills), NULL, 10);
}

static bool fails(const char *name, bool memory)
{
	if (counter && counter->update && counter->runs && !strcmp(name, "accept4")) /* before, it is the canary's */
		counter->over = false;
	if (!counter || counter->over || counter->memory != memory || __atomic_add_fetch(&counter->made, 1, __ATOMIC_SEQ_CST) != counter->at)
		return false;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->told =
		dprintf(9, "%lu %s\n", counter->made, name) > 0; /* now: what fails may be the end of the process; a child has no such descriptor */
	if (counter->kills)
		kill(getpid(), SIGKILL);
	errno = memory ? ENOMEM : EIO;
	return true;
}

/* Said on descriptor 9, if it is open: which call failed, or how many there were. */
__attribute__((destructor)) static void end(void)
{
	if (counter && counter->at && !counter->told)
		dprintf(9, "%lu %s\n", counter->made, counter->name);
}

/* The answer is the last that an update does; what follows, the instance's end among it, is nobody's update. */
static bool ends_update(const char *name, long size)
{
	return counter && counter->update && !strcmp(name, "send") && size == sizeof(struct nc_update_answer);
}

#define WRAP(name, failure, memory)                                                                                                                  \
	long __real_##name(long a, long b, long c, long d, long e, long f);                                                                          \
	long __wrap_##name(long a, long b, long c, long d, long e, long f);                                                                          \
	long __wrap_##name(long a, long b, long c, long d, long e, long f)                                                                           \
	{                                                                                                                                            \
		bool failed = fails(#name, memory);                                                                                                  \
                                                                                                                                                     \
		if (ends_update(#name, c))                                                                                                           \
			counter->over = true;                                                                                                        \
		return failed ? failure : __real_##name(a, b, c, d, e, f);                                                                           \
	}
#define WRAP_CALL(name, failure) WRAP(name, failure, false)
#define WRAP_DEMAND(name, failure) WRAP(name, failure, true)
CALLS(WRAP_CALL)
DEMANDS(WRAP_DEMAND)

long __real_execvp(const char *file, char *const *argv);
long __wrap_execvp(const char *file, char *const *argv);
long __wrap_execvp(const char *file, char *const *argv)
{
	if (counter) {
		counter->over = !counter->running;
		counter->runs = true;
	}
	return __real_execvp(file, argv);
}
