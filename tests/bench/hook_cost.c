/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook_cost.c - calls hooks of a container runtime in turn (A B A B ...) and says what each call cost, from vfork to the end of the hook
 *
 * hook_cost ROUNDS CGROUP NETNS COMMAND... [; COMMAND...]...: each command is a list of words, a word ";" ends it. For each call a process in a
 * cgroup of its own below CGROUP, in the network namespace of that path, plays the container that was created and not started; the hook gets the
 * state on standard input, descriptors 0 to 2, an empty environment and "/" as folder. Then the process is ended, and the same command is called as
 * poststop. One line of JSON for each pair: {"command": index, "wall_us": , "cpu_us": , "faults": , "calls": , "stop_wall_us": , "stop_cpu_us": ,
 * "status": }.
 *
 * Processor time, page faults and system calls are those of the hook and of all that it has started, the supervisor that lives on included, up to the
 * hook's end: perf events that descendants inherit. Only the hook's own end says when the container goes on, so what the supervisor does afterwards
 * is not its cost.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "turns.h"

enum { CPU, FAULTS, CALLS, COUNTERS };

struct cost {
	int64_t wall_us;
	int64_t counted[COUNTERS];
	int status;
};

static int counters[COUNTERS];

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "hook_cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_counters(void)
{
	const int id = tracepoint_id();
	const struct perf_event_attr kinds[COUNTERS] = {
		[CPU] = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK},
		[FAULTS] = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS},
		[CALLS] = {.type = PERF_TYPE_TRACEPOINT, .config = (uint64_t)id},
	};

	if (id < 0)
		fail("the tracepoint of system calls");
	for (int i = 0; i < COUNTERS; i++) {
		struct perf_event_attr attr = kinds[i];

		attr.size = sizeof(attr);
		attr.inherit = 1;
		counters[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (counters[i] < 0)
			fail("perf_event_open");
	}
}

/* Of this process and all that it has started, living or not. */
static void read_counters(int64_t ret_values[COUNTERS])
{
	for (int i = 0; i < COUNTERS; i++) {
		uint64_t value;

		if (read(counters[i], &value, sizeof(value)) != sizeof(value))
			fail("read a counter");
		ret_values[i] = (int64_t)(i == CPU ? value / 1000 : value);
	}
}

static void call(const struct command *command, const char *state, struct cost *ret_cost)
{
	int64_t before[COUNTERS], began;
	char *const environment[] = {NULL};
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) || write(ends[1], state, strlen(state)) != (ssize_t)strlen(state))
		fail("hand the state over");
	close(ends[1]);
	read_counters(before);
	began = now_us();
	pid = vfork();
	if (pid == 0) {
		if (chdir("/") || dup2(ends[0], 0) < 0)
			_exit(126);
		execve(command->words[0], command->words, environment);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &ret_cost->status, 0) != pid)
		fail("start the hook");
	ret_cost->wall_us = now_us() - began;
	read_counters(ret_cost->counted);
	for (int i = 0; i < COUNTERS; i++)
		ret_cost->counted[i] -= before[i];
	close(ends[0]);
}

/* What a runtime has ready when it calls its hooks: a process in the container's cgroup and namespace that waits. */
static pid_t container(const char *cgroup, const char *netns)
{
	int ready[2], folder, fd;
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		fail("make a pipe");
	pid = fork();
	if (pid == 0) {
		folder = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			fail(cgroup);
		fd = open(netns, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET))
			fail(netns);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		fail("make a container");
	close(ready[0]);
	return pid;
}

static void round_of(const struct command *command, int index, const char *parent, const char *netns, long number)
{
	char cgroup[4096], state[512];
	struct cost create, stop;
	pid_t pid;

	snprintf(cgroup, sizeof(cgroup), "%s/hook-%ld", parent, number);
	if (mkdir(cgroup, 0755))
		fail(cgroup);
	pid = container(cgroup, netns);
	snprintf(state, sizeof(state), "{\"ociVersion\": \"1.0.2\", \"id\": \"b%ld\", \"bundle\": \"/b\", \"pid\": %d, \"status\": \"creating\"}",
		 number, pid);
	call(command, state, &create);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(state, sizeof(state), "{\"ociVersion\": \"1.0.2\", \"id\": \"b%ld\", \"bundle\": \"/b\", \"pid\": 0, \"status\": \"stopped\"}",
		 number);
	call(command, state, &stop);
	printf("{\"command\": %d, \"wall_us\": %lld, \"cpu_us\": %lld, \"faults\": %lld, \"calls\": %lld, \"stop_wall_us\": %lld, \"stop_cpu_us\": "
	       "%lld, "
	       "\"status\": %d}\n",
	       index, (long long)create.wall_us, (long long)create.counted[CPU], (long long)create.counted[FAULTS], (long long)create.counted[CALLS],
	       (long long)stop.wall_us, (long long)stop.counted[CPU], create.status | stop.status);
	if (rmdir(cgroup))
		fail(cgroup);
}

int main(int argc, char **argv)
{
	static struct command commands[COMMANDS_MAX];
	int count = read_commands(argc, argv, 4, commands);
	long rounds = argc > 4 ? strtol(argv[1], NULL, 10) : 0, number = (long)now_us();

	if (rounds < 1 || !count) {
		fprintf(stderr, "usage: hook_cost ROUNDS CGROUP NETNS COMMAND... [; COMMAND...]...\n");
		return 2;
	}
	open_counters();
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++)
			round_of(&commands[i], i, argv[2], argv[3], number++);
	}
	fflush(stdout);
	return 0;
}
