// SPDX-License-Identifier: GPL-2.0-only
/*
 * arguments.c - a command's options and arguments, read by argp under stricter rules
 *
 * argp accepts any unambiguous beginning of an option's name, so that a script that says --prof works until the day when --profit is added; and
 * its complaints are its own. Therefore every option is looked at first, by its whole name against the command's table, and argp, which then can
 * find nothing to complain about, does the reading. Short options do not exist.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "text.h"

#define SECONDS_MAX 2000000 /* 23 days: in milliseconds, what an int holds */

static const struct argp_option *find_name(const struct nc_command *command, const char *name, size_t length)
{
	const struct argp_option *tables[] = {command->options, nc_common_options};

	for (size_t i = 0; i < 2; i++)
		for (const struct argp_option *option = tables[i]; option->name; option++)
			if (strlen(option->name) == length && !strncmp(option->name, name, length))
				return option;
	return NULL;
}

const struct argp_option *nc_option_find(const struct nc_command *command, int key)
{
	const struct argp_option *tables[] = {command->options, nc_common_options};

	for (size_t i = 0; i < 2; i++)
		for (const struct argp_option *option = tables[i]; option->name; option++)
			if (option->key == key)
				return option;
	return NULL;
}

static int option_unknown(const struct nc_command *command, const char *name, size_t length, struct nc_error *reterr)
{
	const char *names[NC_OPTION_END - NC_OPTION_FIRST + 8] = {NULL};
	const struct argp_option *tables[] = {command->options, nc_common_options};
	char typed[NC_NEAREST_WORD + 1];
	const char *near;
	size_t count = 0;

	for (size_t i = 0; i < 2; i++)
		for (const struct argp_option *option = tables[i]; option->name; option++)
			names[count++] = option->name;
	snprintf(typed, sizeof(typed), "%.*s", (int)length, name);
	near = nc_nearest(typed, names);
	nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: no option --%.*s", command->name, (int)length, name);
	if (near)
		return nc_error_hint(reterr, "did you mean --%s? `netcordon help %s` lists them all", near, command->name);
	return nc_error_hint(reterr, "`netcordon help %s` lists the options", command->name);
}

/* Looks at one option, argv[i]; *ret_next is the index after it and its value. */
static int look_at_option(const struct nc_command *command, int argc, char **argv, int i, bool *seen, int *ret_next, struct nc_error *reterr)
{
	const char *name = argv[i] + 2;
	size_t length = strcspn(name, "=");
	const struct argp_option *option;

	if (argv[i][1] != '-') {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: %s: options have two dashes and a whole name", command->name, argv[i]);
		return nc_error_hint(reterr, "`netcordon help %s` lists the options", command->name);
	}
	option = find_name(command, name, length);
	if (!option)
		return option_unknown(command, name, length, reterr);
	if (seen[option->key - NC_OPTION_FIRST])
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --%s is given twice", command->name, option->name);
	seen[option->key - NC_OPTION_FIRST] = true;
	if (!option->arg && name[length] == '=')
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --%s takes no value", command->name, option->name);
	if (option->arg && name[length] != '=' && (i + 1 >= argc || !strcmp(argv[i + 1], "--")))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --%s needs a value: %s", command->name, option->name, option->arg);
	*ret_next = i + (option->arg && name[length] != '=' ? 2 : 1);
	return 0;
}

/* The end of our own options: behind it stands a command line of somebody else, or nothing. */
static int look_at_options(struct nc_invocation *invocation, int argc, char **argv, struct nc_error *reterr)
{
	bool seen[NC_OPTION_END - NC_OPTION_FIRST] = {false};
	const struct nc_command *command = invocation->command;
	int position = 0, i = 0;

	while (i < argc) {
		int ret;

		if (!strcmp(argv[i], "--"))
			break;
		if (argv[i][0] != '-' || !argv[i][1]) {
			position++;
			if (command->passes && position >= command->passes)
				break;
			i++;
			continue;
		}
		ret = look_at_option(command, argc, argv, i, seen, &i, reterr);
		if (ret < 0)
			return ret;
	}
	invocation->json = seen[NC_OPTION_JSON - NC_OPTION_FIRST];
	return 0;
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
	struct nc_invocation *invocation = state->input;

	if (key < NC_OPTION_FIRST || key >= NC_OPTION_END)
		return ARGP_ERR_UNKNOWN;
	invocation->values[key - NC_OPTION_FIRST] = argument ? argument : "";
	return 0;
}

static error_t take(int key, char *argument, struct argp_state *state)
{
	struct nc_invocation *invocation = state->input;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = invocation;
		return 0;
	}
	if (key != ARGP_KEY_ARG)
		return take_option(key, argument, state);
	invocation->arguments[invocation->argument_count++] = argument;
	if (invocation->command->passes && invocation->argument_count >= invocation->command->passes)
		while (state->next < state->argc)
			invocation->arguments[invocation->argument_count++] = state->argv[state->next++];
	return 0;
}

static int count_arguments(const struct nc_invocation *invocation, struct nc_error *reterr)
{
	const struct nc_command *command = invocation->command;
	int count = invocation->argument_count;

	if (nc_option(invocation, NC_OPTION_HELP) || (count >= command->least && (command->most < 0 || count <= command->most)))
		return 0;
	if (count < command->least)
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: an argument is missing", command->name);
	else
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: '%s' is one argument too many", command->name, invocation->arguments[command->most]);
	return nc_error_hint(reterr, "usage: netcordon %s%s%s", command->name, command->arguments[0] ? " " : "", command->arguments);
}

int nc_arguments_read(struct nc_invocation *invocation, int argc, char **argv, struct nc_error *reterr)
{
	const struct argp common = {.options = nc_common_options, .parser = take_option};
	const struct argp_child children[] = {{.argp = &common}, {0}};
	const struct argp argp = {.options = invocation->command->options, .parser = take, .children = children};
	const unsigned int flags = ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER | ARGP_PARSE_ARGV0;
	int ret;

	ret = look_at_options(invocation, argc, argv, reterr);
	if (ret < 0)
		return ret;
	invocation->arguments = calloc((size_t)argc + 1, sizeof(*invocation->arguments));
	if (!invocation->arguments)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the command line");
	ret = argp_parse(&argp, argc, argv, flags, NULL, invocation);
	if (ret)
		return nc_error_set(reterr, NC_E_USAGE, -ret, "%s: the arguments are not understood", invocation->command->name);
	return count_arguments(invocation, reterr);
}

int nc_option_number(const struct nc_invocation *invocation, enum nc_option key, int64_t least, int64_t most, int64_t *ret_value,
		     struct nc_error *reterr)
{
	const char *text = nc_option(invocation, key);
	int64_t value = 0;

	if (!text)
		return 0;
	for (const char *digit = text; *digit || digit == text; digit++) {
		if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *digit - '0', &value))
			goto refuse;
	}
	if (value < least || value > most)
		goto refuse;
	*ret_value = value;
	return 0;
refuse:
	return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --%s: '%s' is not a whole number from %lld to %lld", invocation->command->name,
			    nc_option_find(invocation->command, key)->name, text, (long long)least, (long long)most);
}

int nc_option_seconds(const struct nc_invocation *invocation, enum nc_option key, int64_t *ret_ms, struct nc_error *reterr)
{
	const char *text = nc_option(invocation, key);
	int64_t ms = 0;
	int decimals = -1;

	if (!text)
		return 0;
	for (const char *digit = text; *digit; digit++) {
		if (*digit == '.' && decimals < 0 && digit != text && digit[1]) {
			decimals = 0;
			continue;
		}
		if (*digit < '0' || *digit > '9' || decimals == 3 || ms > SECONDS_MAX * 1000ll)
			goto refuse;
		ms = ms * 10 + (*digit - '0');
		decimals += decimals >= 0;
	}
	for (int i = decimals < 0 ? 0 : decimals; i < 3; i++)
		ms *= 10;
	if (!text[0] || ms > SECONDS_MAX * 1000ll)
		goto refuse;
	*ret_ms = ms;
	return 0;
refuse:
	return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --%s: '%s' is not a number of seconds from 0 to %d, with at most three decimals",
			    invocation->command->name, nc_option_find(invocation->command, key)->name, text, SECONDS_MAX);
}

int nc_option_authority(const struct nc_invocation *invocation, enum nc_authority *ret_authority, struct nc_error *reterr)
{
	const char *text = nc_option(invocation, NC_OPTION_AUTHORITY);

	if (!text)
		return 0;
#define MATCH(symbol, value, word)                                                                                                                   \
	if (!strcmp(text, word)) {                                                                                                                   \
		*ret_authority = NC_AUTHORITY_##symbol;                                                                                              \
		return 0;                                                                                                                            \
	}
	NC_AUTHORITIES(MATCH)
#undef MATCH
	return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "%s: --authority: '%s' is neither workload nor plane", invocation->command->name, text);
}
