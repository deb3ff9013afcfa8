/* SPDX-License-Identifier: GPL-2.0-only */
/* profile_process.c - the "process" member: who the workload runs as, where, with what environment and limits */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "profile_parts.h"

#define ENVIRONMENT_MAX 4096	     /* variables */
#define ENVIRONMENT_BYTES_MAX 131071 /* of one "NAME=value": MAX_ARG_STRLEN of Linux, less its NUL */
#define SIZE_LIMIT_MAX (INT64_C(1) << 50)

void nc_strings_free(char **strings)
{
	for (char **string = strings; string && *string; string++)
		free(*string);
	free(strings);
}

bool nc_environment_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= 255 && !(name[0] >= '0' && name[0] <= '9') &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

/* A user or group: a name of the portable characters (POSIX 3.437), or a number as string or integer; never 0 or root. */
static int parse_owner(const json_t *object, const struct nc_place *place, const char *key, char ret_text[33], struct nc_error *reterr)
{
	static const char portable[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const struct nc_place *here = NC_PLACE_KEY(place, key);
	const json_t *value = json_object_get(object, key);
	char quote[NC_QUOTE_SIZE], number[24];
	const char *text = NULL;
	size_t length;
	int status;

	if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		text = number;
	} else {
		status = nc_member_string(object, place, key, false, &text, reterr);
		if (status || !text)
			return status;
	}
	length = strlen(text);
	nc_quote(text, length, quote);
	if (!length || length > 32 || text[0] == '-' || strspn(text, portable) != length)
		return nc_place_error(here, reterr, "a name of letters, digits, '.', '_' and '-', or a number", "\"%s\" is not a %s", quote, key);
	if (strspn(text, "0123456789") == length) {
		unsigned long long id = strtoull(text, NULL, 10);

		if (length > 10 || id >= 0xffffffffu || (text[0] == '0' && length > 1))
			return nc_place_error(here, reterr, "a decimal number from 1 to 4294967294", "\"%s\" is not a %s id", quote, key);
		if (!id)
			return nc_place_error(here, reterr, "leave it out to get an id that nothing else has", "a workload never runs as 0");
	} else if (!strcmp(text, "root")) {
		return nc_place_error(here, reterr, "leave it out to get an id that nothing else has", "a workload never runs as root");
	}
	memcpy(ret_text, text, length + 1);
	return 0;
}

static int parse_cwd(const json_t *object, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr)
{
	const struct nc_place *here = NC_PLACE_KEY(place, "cwd");
	const char *text = NULL;
	int status = nc_member_string(object, place, "cwd", false, &text, reterr);

	if (status || !text)
		return status;
	if (text[0] != '/')
		return nc_place_error(here, reterr, "", "a folder is given as an absolute path");
	if (strlen(text) >= sizeof(process->cwd))
		return nc_place_error(here, reterr, "", "a path has at most %zu bytes", sizeof(process->cwd) - 1);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return nc_place_error(here, reterr, "", "the path holds a control character");
	strcpy(process->cwd, text);
	return 0;
}

static int parse_environment(const json_t *object, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr)
{
	const struct nc_place *here = NC_PLACE_KEY(place, "env");
	json_t *env = NULL, *value;
	char quote[NC_QUOTE_SIZE];
	const char *name, *text;
	size_t count = 0;
	int status = nc_member_object(object, place, "env", false, &env, reterr);

	if (status)
		return status;
	if (json_object_size(env) > ENVIRONMENT_MAX)
		return nc_place_error(here, reterr, "", "%zu variables; %d are allowed", json_object_size(env), ENVIRONMENT_MAX);
	process->env = calloc(json_object_size(env) + 1, sizeof(*process->env));
	if (!process->env)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the environment");
	json_object_foreach(env, name, value)
	{
		if (!nc_environment_name(name))
			return nc_place_error(NC_PLACE_KEY(here, name), reterr, "letters, digits and underscores, not first a digit",
					      "\"%s\" is not a variable's name", nc_quote(name, strlen(name), quote));
		status = nc_member_string(env, here, name, true, &text, reterr);
		if (status)
			return status;
		if (strlen(name) + 1 + strlen(text) > ENVIRONMENT_BYTES_MAX)
			return nc_place_error(NC_PLACE_KEY(here, name), reterr, "", "a variable has at most %d bytes with its name",
					      ENVIRONMENT_BYTES_MAX);
		if (asprintf(&process->env[count], "%s=%s", name, text) < 0) {
			process->env[count] = NULL;
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the environment");
		}
		count++;
	}
	return 0;
}

static int parse_umask(const json_t *object, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr)
{
	const char *text = NULL;
	char quote[NC_QUOTE_SIZE];
	size_t length;
	int status = nc_member_string(object, place, "umask", false, &text, reterr);

	if (status || !text)
		return status;
	length = strlen(text);
	if (length < 3 || length > 4 || strspn(text, "01234567") != length || (length == 4 && text[0] != '0'))
		return nc_place_error(NC_PLACE_KEY(place, "umask"), reterr, "three octal digits as a string: \"022\"", "\"%s\" is not a umask",
				      nc_quote(text, length, quote));
	process->umask = (int)strtol(text, NULL, 8);
	return 0;
}

/* Bytes: an integer, or digits and one of K, M, G, T (powers of 1024). */
static int parse_size(const json_t *object, const struct nc_place *place, const char *key, int64_t low, int64_t *ret_bytes, struct nc_error *reterr)
{
	static const char units[] = "KMGT";
	const struct nc_place *here = NC_PLACE_KEY(place, key);
	const json_t *value = json_object_get(object, key);
	char quote[NC_QUOTE_SIZE];
	const char *text = NULL, *unit;
	size_t digits;
	int64_t bytes;
	int status;

	if (!value || json_is_integer(value))
		return nc_member_integer(object, place, key, false, low, SIZE_LIMIT_MAX, ret_bytes, reterr);
	if (!json_is_string(value))
		return nc_place_error(here, reterr, "\"512M\", \"2G\", or bytes as an integer", "must be a size");
	status = nc_member_string(object, place, key, true, &text, reterr);
	if (status)
		return status;
	digits = strspn(text, "0123456789");
	unit = text[digits] ? strchr(units, text[digits]) : NULL;
	if (!digits || digits > 15 || (digits > 1 && text[0] == '0') || !unit || text[digits + 1])
		return nc_place_error(here, reterr, "digits and one of K, M, G, T: \"512M\", \"2G\"; or bytes as an integer", "\"%s\" is not a size",
				      nc_quote(text, strlen(text), quote));
	if (__builtin_mul_overflow(strtoll(text, NULL, 10), INT64_C(1) << (10 * (unit - units + 1)), &bytes) || bytes < low || bytes > SIZE_LIMIT_MAX)
		return nc_place_error(here, reterr, "", "must be from %lld to 1024T bytes", (long long)low);
	*ret_bytes = bytes;
	return 0;
}

int nc_profile_limits(const json_t *limits, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr)
{
#define LIMIT_NAME(name, field) name,
	static const char *const members[] = {NC_PROFILE_LIMITS(LIMIT_NAME) NULL};
	int status = nc_object_check(limits, place, members, reterr);

#define LIMIT_ABSENT(name, field) process->field = -1;
	NC_PROFILE_LIMITS(LIMIT_ABSENT)
	if (!status)
		status = nc_member_integer(limits, place, "pids", false, 1, 4194304, &process->pids, reterr);
	if (!status)
		status = parse_size(limits, place, "memory", 1 << 20, &process->memory_bytes, reterr);
	if (!status)
		status = nc_member_integer(limits, place, "cpu_percent", false, 1, 1000000, &process->cpu_percent, reterr);
	if (!status)
		status = nc_member_integer(limits, place, "open_files", false, 8, 1048576, &process->open_files, reterr);
	if (!status)
		status = parse_size(limits, place, "core", 0, &process->core_bytes, reterr);
	if (!status)
		status = parse_size(limits, place, "file_size", 0, &process->file_bytes, reterr);
	return status;
}

static int parse_limits(const json_t *object, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr)
{
	json_t *limits = NULL;
	int status = nc_member_object(object, place, "limits", false, &limits, reterr);

	return status || !limits ? status : nc_profile_limits(limits, NC_PLACE_KEY(place, "limits"), process, reterr);
}

int nc_profile_process(const json_t *object, const struct nc_place *place, struct nc_profile_process *process, struct nc_error *reterr)
{
	static const char *const members[] = {"user", "group", "cwd", "env", "umask", "limits", "pty", NULL};
	int status = 0;

	process->umask = -1;
	process->pids = process->memory_bytes = process->cpu_percent = -1;
	process->open_files = process->core_bytes = process->file_bytes = -1;
	if (object)
		status = nc_object_check(object, place, members, reterr);
	if (!status)
		status = parse_owner(object, place, "user", process->user, reterr);
	if (!status)
		status = parse_owner(object, place, "group", process->group, reterr);
	if (!status)
		status = parse_cwd(object, place, process, reterr);
	if (!status)
		status = parse_environment(object, place, process, reterr);
	if (!status)
		status = parse_umask(object, place, process, reterr);
	if (!status)
		status = parse_limits(object, place, process, reterr);
	if (!status)
		status = nc_member_boolean(object, place, "pty", &process->pty, reterr);
	return status;
}
