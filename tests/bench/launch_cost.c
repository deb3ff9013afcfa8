/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_cost.c - starts several commands in turn (A B C A B C ...) and says what each start cost, from posix_spawn to the end
 *
 * launch_cost ROUNDS COMMAND... [; COMMAND...]...: each command is a list of words, a word ";" ends it. "@ROUND@" inside a word becomes a number that is
 * used once. One line of JSON for each start: {"command": index, "wall_us": , "cpu_us": , "faults": , "calls": , "rss_kib": , "status": }.
 *
 * Time of the processor, page faults and the largest resident set are wait4's: they hold for the process and for every descendant that was waited for (the
 * resident set: of the largest single one). System calls are counted by the tracepoint raw_syscalls:sys_enter, inherited by all descendants; -1 where that
 * cannot be opened.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "turns.h"

#define MARK "@ROUND@"

/* Counts the calls of this process and of all that it starts from now on. */
static int open_counter(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .disabled = 1, .inherit = 1};
	int id = tracepoint_id();

	if (id < 0)
		return -1;
	attr.config = (uint64_t)id;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static char *with_round(const char *word, long number)
{
	const char *mark = strstr(word, MARK);
	char *result;

	if (!mark)
		return strdup(word);
	if (asprintf(&result, "%.*s%ld%s", (int)(mark - word), word, number, mark + strlen(MARK)) < 0)
		return NULL;
	return result;
}

static int64_t us_of(const struct timeval *time)
{
	return (int64_t)time->tv_sec * 1000000 + time->tv_usec;
}

/* What ended descendants counted is added for good, so only differences mean something. */
static void read_counter(int counter, uint64_t *ret_calls)
{
	if (counter >= 0 && read(counter, ret_calls, sizeof(*ret_calls)) != sizeof(*ret_calls))
		exit(1);
}

static void start(const struct command *command, int index, long number, int counter)
{
	char *words[WORDS_MAX + 1] = {NULL};
	uint64_t before = 0, after = 0;
	struct rusage usage;
	int64_t began, ended;
	int status;
	pid_t pid;

	for (int i = 0; i < command->count; i++)
		words[i] = with_round(command->words[i], number);
	read_counter(counter, &before);
	if (counter >= 0)
		ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
	began = now_us();
	pid = vfork();
	if (pid == 0) {
		execvp(words[0], words);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		exit(1);
	ended = now_us();
	if (counter >= 0)
		ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
	read_counter(counter, &after);
	printf("{\"command\": %d, \"wall_us\": %lld, \"cpu_us\": %lld, \"faults\": %ld, \"calls\": %lld, \"rss_kib\": %ld, \"status\": %d}\n", index,
	       (long long)(ended - began), (long long)(us_of(&usage.ru_utime) + us_of(&usage.ru_stime)), usage.ru_minflt + usage.ru_majflt,
	       counter >= 0 ? (long long)(after - before) : -1LL, usage.ru_maxrss, status);
	for (int i = 0; i < command->count; i++)
		free(words[i]);
}

int main(int argc, char **argv)
{
	static struct command commands[COMMANDS_MAX];
	int count = read_commands(argc, argv, 2, commands), counter = open_counter();
	long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0, number = (long)now_us();

	if (rounds < 1 || !count) {
		fprintf(stderr, "usage: launch_cost ROUNDS COMMAND... [; COMMAND...]...\n");
		return 2;
	}
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++)
			start(&commands[i], i, number++, counter);
	}
	fflush(stdout);
	return 0;
}
