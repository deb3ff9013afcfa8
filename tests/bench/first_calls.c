/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * first_calls.c - which functions of a program run, in the order in which each is entered for the first time
 *
 * first_calls FUNCTIONS COMMAND...: FUNCTIONS is a file with an address in hex on each line, where a function of COMMAND's (position independent, static) program
 * begins. A line is told for each when it is entered for the first time, by the program's first process and by each that comes of it: "first ADDRESS",
 * "later ADDRESS". A breakpoint stands on every function and is taken away where it was hit. What execs another program is let go. The exit status is COMMAND's.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BREAKPOINT 0xcc
#define FUNCTIONS_MAX 65536

static struct function {
	uint64_t address;
	uint8_t byte; /* what the breakpoint took the place of */
} functions[FUNCTIONS_MAX];
static size_t count;
static uint64_t base;
static pid_t first; /* the program's first process */

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int read_functions(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long address;

	while (file && count < FUNCTIONS_MAX && fscanf(file, "%lx", &address) == 1)
		functions[count++].address = address;
	if (file)
		fclose(file);
	qsort(functions, count, sizeof(functions[0]), by_address);
	return count ? 0 : -1;
}

/* One byte of the process's text; the byte that was there. */
static int exchange(pid_t pid, uint64_t address, uint8_t byte)
{
	uint64_t word_at = address & ~7ull;
	unsigned shift = (unsigned)(address & 7) * 8;
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)word_at, NULL);
	if (errno)
		return -1;
	if (ptrace(PTRACE_POKETEXT, pid, (void *)word_at, (void *)(((unsigned long)word & ~(0xfful << shift)) | (unsigned long)byte << shift)))
		return -1;
	return (int)((unsigned long)word >> shift & 0xff);
}

/* Where the program lies: the first line of its map. */
static void find_base(pid_t pid)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%lx", &base) != 1)
		exit(1);
	fclose(file);
}

/* A process that was born has its own copy of the text, or its parent's: those that are gone are put back. */
static void arm(pid_t pid)
{
	for (size_t i = 0; i < count; i++) {
		int byte = exchange(pid, base + functions[i].address, BREAKPOINT);

		if (byte >= 0 && byte != BREAKPOINT)
			functions[i].byte = (uint8_t)byte;
	}
}

/* True when the trap was a breakpoint of ours: it is taken away in this process, and the instruction goes on. */
static bool entered(pid_t pid)
{
	struct user_regs_struct registers;
	struct function wanted = {0}, *found;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &registers))
		return false;
	wanted.address = registers.rip - 1 - base;
	found = bsearch(&wanted, functions, count, sizeof(wanted), by_address);
	if (!found)
		return false;
	printf("%s %lx\n", pid == first ? "first" : "later", (unsigned long)found->address);
	registers.rip--;
	exchange(pid, registers.rip, found->byte);
	ptrace(PTRACE_SETREGS, pid, NULL, &registers);
	return true;
}

/* One stop of one process. Returns the signal to go on with, or -1: let it go. */
static int stopped(pid_t pid, int status, bool *armed)
{
	int number = WSTOPSIG(status), event = status >> 16;

	if (number == SIGTRAP && event == PTRACE_EVENT_EXEC) {
		if (*armed)
			return -1;
		*armed = true;
		find_base(pid);
		arm(pid);
		return 0;
	}
	if (number == SIGSTOP && *armed)
		arm(pid);
	if (event || number == SIGSTOP || (number == SIGTRAP && entered(pid)))
		return 0;
	return number;
}

int main(int argc, char **argv)
{
	bool armed = false;
	int status, code = 1;
	pid_t pid;

	if (argc < 3 || read_functions(argv[1]) < 0) {
		fprintf(stderr, "usage: first_calls FUNCTIONS COMMAND...\n");
		return 2;
	}
	first = fork();
	if (first == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(first, &status, 0);
	ptrace(PTRACE_SETOPTIONS, first, NULL,
	       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, first, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int go_on;

		if (pid == first && !WIFSTOPPED(status))
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		if (!WIFSTOPPED(status))
			continue;
		go_on = stopped(pid, status, &armed);
		ptrace(go_on < 0 ? PTRACE_DETACH : PTRACE_CONT, pid, NULL, (void *)(long)(go_on < 0 ? 0 : go_on));
	}
	return code;
}
