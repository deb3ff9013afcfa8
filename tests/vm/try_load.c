// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * try_load OBJECT [LINES] - loads every program of an object file, each by itself, and says for each `ok` or what the kernel said
 *
 * The maps are created once, by loading the object without any program; every program is then loaded from an object of its own that takes those
 * maps, so that a refused program says nothing about the others. Prints the last LINES (20) lines of the verifier's log of a refused one. Exit
 * status: 0 all loaded, 1 some did not, 3 the object or its maps cannot be had at all.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define LOG_BYTES (4U << 20)

static char last_warning[1024];

/* libbpf's own words are kept: the last one names what failed before the verifier was asked. */
static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level == LIBBPF_WARN)
		vsnprintf(last_warning, sizeof(last_warning), format, arguments);
	return 0;
}

static void print_tail(const char *log, int lines)
{
	const char *start = log + strlen(log);

	while (start > log && lines >= 0) {
		start--;
		if (*start == '\n')
			lines--;
	}
	if (*start == '\n')
		start++;
	for (; *start != '\0'; start += strcspn(start, "\n"), start += *start == '\n')
		printf("\t| %.*s\n", (int)strcspn(start, "\n"), start);
}

static struct bpf_object *open_without_programs(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (object != NULL)
		bpf_object__for_each_program(program, object) bpf_program__set_autoload(program, false);
	return object;
}

static int take_maps(struct bpf_object *object, struct bpf_object *maps)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		struct bpf_map *made = bpf_object__find_map_by_name(maps, bpf_map__name(map));
		int r = made == NULL || bpf_map__fd(made) < 0 ? -ENOENT : bpf_map__reuse_fd(map, bpf_map__fd(made));

		if (r < 0)
			return r;
	}
	return 0;
}

/* Hooks that the distribution's libbpf does not know by name yet: their numbers in the kernel's enum bpf_attach_type. */
static const struct {
	const char *section;
	int attach_type;
} unknown_to_libbpf[] = {
	{"cgroup/connect_unix", 49},
	{"cgroup/sendmsg_unix", 50},
};

static void ask_for(struct bpf_program *program)
{
	bpf_program__set_autoload(program, true);
	for (size_t i = 0; i < sizeof(unknown_to_libbpf) / sizeof(unknown_to_libbpf[0]); i++) {
		if (strcmp(bpf_program__section_name(program), unknown_to_libbpf[i].section) != 0)
			continue;
		bpf_program__set_type(program, BPF_PROG_TYPE_CGROUP_SOCK_ADDR);
		bpf_program__set_expected_attach_type(program, unknown_to_libbpf[i].attach_type);
	}
}

/* What the kernel counted, from the verifier's closing line: "processed N insns ...". */
static unsigned long instructions_of(const char *log)
{
	const char *found = strstr(log, "processed ");

	return found == NULL ? 0 : strtoul(found + strlen("processed "), NULL, 10);
}

static bool try_program(const char *path, const char *name, struct bpf_object *maps, char *log, int lines)
{
	struct bpf_object *object = open_without_programs(path);
	struct bpf_program *program = object == NULL ? NULL : bpf_object__find_program_by_name(object, name);
	int r;

	log[0] = '\0';
	last_warning[0] = '\0';
	if (program == NULL)
		return false;
	ask_for(program);
	bpf_program__set_log_buf(program, log, LOG_BYTES);
	bpf_program__set_log_level(program, 4);
	r = take_maps(object, maps);
	if (r == 0)
		r = bpf_object__load(object);
	if (r == 0) {
		printf("ok\t%s\t%s\t%lu instructions verified\n", name, bpf_program__section_name(program), instructions_of(log));
		bpf_object__close(object);
		return true;
	}
	/* The full log is only written on request: it slows the verifier down, and most programs load. */
	bpf_object__close(object);
	object = open_without_programs(path);
	program = object == NULL ? NULL : bpf_object__find_program_by_name(object, name);
	printf("FAILED\t%s\t%s\t%s\n", name, program == NULL ? "?" : bpf_program__section_name(program), strerror(-r));
	if (program != NULL) {
		ask_for(program);
		bpf_program__set_log_buf(program, log, LOG_BYTES);
		bpf_program__set_log_level(program, 1);
		if (take_maps(object, maps) == 0)
			bpf_object__load(object);
	}
	print_tail(log[0] != '\0' ? log : last_warning, lines);
	bpf_object__close(object);
	return false;
}

int main(int argc, char **argv)
{
	struct bpf_object *maps;
	struct bpf_program *program;
	char *log = malloc(LOG_BYTES);
	int lines = argc > 2 ? atoi(argv[2]) : 20;
	int loaded = 0, refused = 0;

	if (argc < 2 || log == NULL) {
		fprintf(stderr, "usage: try_load OBJECT [LINES]\n");
		return 3;
	}
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(keep_warning);
	setvbuf(stdout, NULL, _IOLBF, 0);
	maps = open_without_programs(argv[1]);
	if (maps == NULL || bpf_object__load(maps) < 0) {
		printf("FAILED\tmaps of %s\t%s\n\t| %s", argv[1], strerror(errno), last_warning);
		return 3;
	}
	bpf_object__for_each_program(program, maps)
	{
		if (try_program(argv[1], bpf_program__name(program), maps, log, lines))
			loaded++;
		else
			refused++;
	}
	printf("%d loaded, %d refused\n", loaded, refused);
	bpf_object__close(maps);
	free(log);
	return refused == 0 ? 0 : 1;
}
