/* SPDX-License-Identifier: GPL-2.0-only */
/* turns.h - what the programs share that start commands in turn: the commands of a command line, a clock, and where system calls are counted */
#ifndef TURNS_H
#define TURNS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COMMANDS_MAX 16
#define WORDS_MAX 64

struct command {
	char *words[WORDS_MAX + 1];
	int count;
};

/* The words of argv from `from` on, a word ";" between two commands. How many commands there are; 0: the last one has no word. */
static inline int read_commands(int argc, char **argv, int from, struct command commands[COMMANDS_MAX])
{
	int count = 1;

	for (int i = from; i < argc; i++) {
		struct command *command = &commands[count - 1];

		if (strcmp(argv[i], ";") == 0 && count < COMMANDS_MAX)
			count++;
		else if (command->count < WORDS_MAX)
			command->words[command->count++] = argv[i];
	}
	return commands[count - 1].count ? count : 0;
}

static inline int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The tracepoint raw_syscalls:sys_enter; -1: it cannot be found. */
static inline int tracepoint_id(void)
{
	static const char *const paths[] = {"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
					    "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id"};
	int id = -1;

	for (size_t i = 0; i < 2 && id < 0; i++) {
		FILE *file = fopen(paths[i], "re");

		if (file && fscanf(file, "%d", &id) != 1)
			id = -1;
		if (file)
			fclose(file);
	}
	return id;
}

#endif
