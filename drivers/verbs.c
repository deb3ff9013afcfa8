/* SPDX-License-Identifier: GPL-2.0-only */
/* verbs.c - requests, answers and commands of the shipped drivers */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define TOOL_MS 110000 /* the matrix ends a driver sooner (NC_DRIVER_PREPARE_MS), unless it was told that this machine is slow */

json_t *refuse(const char *code, const char *format, ...)
{
	char detail[240];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	return json_pack("{s:{s:s s:s}}", "error", "code", code, "detail", detail);
}

/* Words of a space-separated list as an array. */
static json_t *words(const char *list)
{
	json_t *array = json_array();

	while (*list) {
		size_t length = strcspn(list, " ");

		json_array_append_new(array, json_stringn(list, length));
		list += length;
		list += strspn(list, " ");
	}
	return array;
}

json_t *description(const char *provider, const char *revision, const char *authorities, const char *transport, const char *mutants)
{
	return json_pack("{s:i s:s s:s s:o s:s s:o}", "version", NC_DRIVER_VERSION, "provider", provider, "provider_revision", revision,
			 "authorities", words(authorities), "transport", transport, "mutants", words(mutants));
}

json_t *offering(json_t *description, const char *offers)
{
	json_object_set_new(description, "offers", words(offers));
	return description;
}

json_t *lacking(json_t *description, const char *mutants)
{
	NC_JSON json_t *gone = words(mutants);
	json_t *kept = json_array(), *word;
	size_t i, j;

	json_array_foreach(json_object_get(description, "mutants"), i, word)
	{
		for (j = 0; j < json_array_size(gone) && !json_equal(word, json_array_get(gone, j)); j++)
			;
		if (j == json_array_size(gone))
			json_array_append(kept, word);
	}
	json_object_set_new(description, "mutants", kept);
	return description;
}

json_t *prepared(const char *provider, const char *revision, json_t *state)
{
	return json_pack("{s:i s:s s:s s:o}", "version", NC_DRIVER_VERSION, "provider", provider, "provider_revision", revision, "state", state);
}

json_t *nothing(const json_t *request)
{
	(void)request;
	return json_pack("{s:i}", "version", NC_DRIVER_VERSION);
}

static const json_t *walk(const json_t *object, va_list names)
{
	const char *name;

	while ((name = va_arg(names, const char *)))
		object = json_object_get(object, name);
	return object;
}

const json_t *part_at(const json_t *object, ...)
{
	va_list names;

	va_start(names, object);
	object = walk(object, names);
	va_end(names);
	return object;
}

const char *text_at(const json_t *object, ...)
{
	va_list names;

	va_start(names, object);
	object = walk(object, names);
	va_end(names);
	return json_string_value(object);
}

bool is_off(const json_t *request, const char *word)
{
	const char *off = text_at(request, "off", NULL) ?: "";
	size_t length = strlen(word);

	for (const char *at = off; (at = strstr(at, word)); at += length) {
		if ((at == off || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	}
	return false;
}

json_t *run_command(const json_t *request, const struct nc_plain *plain)
{
	struct nc_error error = {0};
	json_t *answer = NULL;

	if (nc_plain_exec(plain, part_at(request, "command", NULL), (int)json_integer_value(part_at(request, "deadline_ms", NULL)), &answer, &error) <
	    0)
		return refuse(nc_error_word(error.code), "%.200s", error.detail);
	return answer;
}

int run_tool(const struct nc_plain *where, char *const *argv, const char *input)
{
	NC_FREE char *output = NULL;
	size_t length = 0;
	int status = 0;
	int r = nc_spawn_bounded(argv, input, strlen(input), TOOL_MS, &status, &output, &length, where ? nc_plain_enter : NULL, (void *)where);

	return r < 0 ? r : WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void __attribute__((noreturn)) become_beside(const struct nc_plain *where, char *const *argv, int failed)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	/* What its caller left open is not its business, nor what the matrix left open for the driver. */
	syscall(SYS_close_range, 3u, (unsigned int)failed - 1, 0u);
	syscall(SYS_close_range, (unsigned int)failed + 1, ~0u, 0u);
	if (nc_plain_become(where) == 0)
		execvp(argv[0], argv);
	_exit(write(failed, "!", 1) == 1 ? 127 : 126);
}

pid_t start_beside(const struct nc_plain *where, char *const *argv)
{
	NC_CLOSE int executed = -1;
	char byte;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	executed = ends[0];
	child = fork();
	if (!child)
		become_beside(where, argv, ends[1]);
	close(ends[1]);
	if (child > 0 && !read(executed, &byte, 1))
		return child;
	if (child > 0)
		waitpid(child, NULL, 0);
	return -1;
}

static int read_request(json_t **ret_request)
{
	struct nc_error error = {0};
	NC_FREE char *text = malloc(NC_DRIVER_ANSWER_MAX);
	size_t length = text ? fread(text, 1, NC_DRIVER_ANSWER_MAX, stdin) : 0;

	if (!length || nc_json_parse(text, length, NC_E_DRIVER_GARBAGE, ret_request, &error) < 0) {
		fprintf(stderr, "driver: the request is not JSON: %s\n", error.detail);
		return -1;
	}
	return 0;
}

int verbs_main(int argc, char **argv, const struct verbs *verbs)
{
	const struct {
		const char *name;
		verb_function *function;
	} table[] = {{"describe", verbs->describe},
		     {"prepare", verbs->prepare},
		     {"exec", verbs->exec},
		     {"teardown", verbs->teardown},
		     {"update", verbs->update}};
	NC_JSON json_t *request = NULL;

	for (size_t i = 0; argc == 2 && i < 5; i++) {
		NC_JSON json_t *answer = NULL;

		if (strcmp(argv[1], table[i].name) || !table[i].function)
			continue;
		if (read_request(&request) < 0)
			return 1;
		answer = table[i].function(request);
		return !answer || json_dumpf(answer, stdout, JSON_COMPACT) < 0 || fflush(stdout) ? 1 : 0;
	}
	fprintf(stderr, "usage: %s describe|prepare|exec|teardown|update < REQUEST\n", argv[0]);
	return 2;
}
