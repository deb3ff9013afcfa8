// SPDX-License-Identifier: GPL-2.0-only
/*
 * help.c - everything that is printed from the tables: help, the completion, and the tables of the manual
 *
 * `netcordon help --completion` prints a bash completion, `netcordon help --roff TABLE` one table in manual markup; the Makefile puts both where they
 * belong, so that neither can say anything that the program does not do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "launch.h"

#define WIDTH 96 /* columns of running text */
#define OPTION_COLUMN 26

const struct argp_option nc_help_options[] = {
	{"completion", NC_OPTION_COMPLETION, NULL, 0, "print a completion for bash", 0},
	{"roff", NC_OPTION_ROFF, "TABLE", 0, "print a table of the manual: commands, exits, errors, reasons or config", 0},
	{0}};

/* Text in lines that end before WIDTH, each after `indent` spaces but the first, which the caller has begun. A newline divides paragraphs. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int length = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + length > WIDTH)
			column = printf("\n%*s", indent, "") - 1;
		if (column > indent)
			column += printf(" ");
		column += printf("%.*s", length, text);
		text += length;
		if (*text == '\n')
			column = printf("\n\n%*s", indent, "") - 2;
		text += *text ? 1 : 0;
	}
	putchar('\n');
}

static void print_options(const struct argp_option *option)
{
	for (; option->name; option++) {
		int column = printf("  --%s%s%s", option->name, option->arg ? " " : "", option->arg ? option->arg : "");

		if (column > OPTION_COLUMN - 2)
			column = printf("\n") - 1;
		printf("%*s", OPTION_COLUMN - column, "");
		print_wrapped(option->doc, OPTION_COLUMN);
	}
}

void nc_help_print(void)
{
	const char *group = "";

	puts("netcordon - a sealed egress policy around a workload, decided by the kernel\n\n"
	     "usage: netcordon COMMAND [OPTION...] [ARGUMENT...]");
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		if (strcmp(command->group, group))
			printf("\n%s\n", command->group);
		group = command->group;
		printf("  %-16s %s\n", command->name, command->summary);
	}
	puts("\nCommon options");
	print_options(nc_common_options);
	puts("\nExit status: 0 yes, 1 the answer is no, 2 usage, 3 could not; run, exec and attach as a\n"
	     "shell has it. `netcordon help COMMAND` says more, netcordon(8) says all.");
}

void nc_help_group(const char *word)
{
	printf("usage: netcordon %s COMMAND [OPTION...] [ARGUMENT...]\n\n", word);
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		if (nc_command_in_group(command, word))
			printf("  %-16s %s\n", command->name, command->summary);
	}
	printf("\n`netcordon help %s COMMAND` says more.\n", word);
}

void nc_help_command(const struct nc_command *command)
{
	printf("usage: netcordon %s%s%s\n\n", command->name, command->arguments[0] ? " " : "", command->arguments);
	print_wrapped(command->summary, 0);
	if (command->text[0]) {
		putchar('\n');
		print_wrapped(command->text, 0);
	}
	if (command->options->name) {
		puts("\nOptions");
		print_options(command->options);
	}
	puts("\nCommon options");
	print_options(nc_common_options);
}

/* ---- completion --------------------------------------------------------------------------------------------------------------------------- */

static void complete_options(const struct argp_option *option)
{
	for (; option->name; option++)
		printf(" --%s", option->name);
}

static void complete_first_words(void)
{
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		size_t length = strcspn(command->name, " ");

		/* Commands of two words stand together in the table: the first word is listed once. */
		if (command != nc_commands && command->name[length] && !strncmp(command[-1].name, command->name, length + 1))
			continue;
		printf("%s%.*s", command == nc_commands ? "" : " ", (int)length, command->name);
	}
}

static void complete_second_words(void)
{
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		const char *space = strchr(command->name, ' ');
		const struct nc_command *other = command;
		size_t length = space ? (size_t)(space - command->name) + 1 : 0;

		if (!space || (command != nc_commands && !strncmp(command[-1].name, command->name, length)))
			continue;
		printf("\t%.*s) words='", (int)length - 1, command->name);
		for (; other->name && !strncmp(other->name, command->name, length); other++)
			printf("%s%s", other == command ? "" : " ", other->name + length);
		puts("' ;;");
	}
}

static void print_completion(void)
{
	printf("# bash completion for netcordon, printed by `netcordon help --completion`\n"
	       "_netcordon()\n{\n"
	       "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	       "\tCOMPREPLY=()\n"
	       "\tif ((COMP_CWORD == 1)); then\n"
	       "\t\tCOMPREPLY=($(compgen -W '");
	complete_first_words();
	printf("' -- \"$current\"))\n\t\treturn\n\tfi\n"
	       "\tcase $previous in\n"
	       "\t--authority) COMPREPLY=($(compgen -W 'workload plane' -- \"$current\")); return ;;\n"
	       "\tesac\n"
	       "\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]-}\" in\n");
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		printf("\t%s'%s'%s) words='", "", command->name, strchr(command->name, ' ') ? "" : "\\ *");
		complete_options(command->options);
		complete_options(nc_common_options);
		puts("' ;;");
	}
	printf("\tesac\n"
	       "\t((COMP_CWORD == 2)) && case ${COMP_WORDS[1]} in\n");
	complete_second_words();
	printf("\tesac\n"
	       "\tif [[ $current == -* || (COMP_CWORD -eq 2 && $words != *--*) ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
	       "\telse\n"
	       "\t\tCOMPREPLY=($(compgen -f -- \"$current\"))\n"
	       "\tfi\n}\n"
	       "complete -o filenames -F _netcordon netcordon\n");
}

/* ---- the manual's tables ------------------------------------------------------------------------------------------------------------------- */

/* Text in manual markup: a backslash, a hyphen and a dot or quote at the start of a line mean themselves. */
static void roff_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\n')
			fputs("\n.IP\n", stdout);
		else
			putchar(*text);
	}
	putchar('\n');
}

static void roff_options(const struct argp_option *option)
{
	for (; option->name; option++) {
		printf(".RS\n.TP\n\\fB\\-\\-%s\\fR%s%s%s\n", option->name, option->arg ? " \\fI" : "", option->arg ? option->arg : "",
		       option->arg ? "\\fR" : "");
		roff_text(option->doc);
		puts(".RE");
	}
}

static void roff_commands(void)
{
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		printf(".TP\n.B netcordon %s\n.I ", command->name);
		roff_text(command->arguments);
		puts(".br");
		roff_text(command->summary);
		if (command->text[0]) {
			puts(".IP");
			roff_text(command->text);
		}
		roff_options(command->options);
	}
	puts(".SS Common options");
	roff_options(nc_common_options);
}

static void roff_row(const char *word, const char *meaning)
{
	printf(".TP\n.B %s\n", word);
	roff_text(meaning);
}

static void roff_exits(void)
{
#define ROW(symbol, value, meaning) roff_row(#value, meaning);
	NC_EXITS(ROW)
#undef ROW
}

static void roff_errors(void)
{
	for (int code = NC_E_NONE + 1; code < NC_E_COUNT; code++) {
		char word[64];

		snprintf(word, sizeof(word), "%s\\fR (%d)", nc_error_word(code), nc_error_exit(code));
		roff_row(word, nc_error_meaning(code));
	}
}

static void roff_reasons(void)
{
#define ROW(symbol, value, word, decision, meaning) roff_row(word "\\fR (" #decision ")", meaning);
	NC_REASONS(ROW)
#undef ROW
}

static void roff_config(void)
{
#define ROW(member, meaning) roff_row(#member, meaning);
	NC_CONFIG_MEMBERS(ROW)
#undef ROW
}

static int print_roff(const char *table, struct nc_error *reterr)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} tables[] = {
		{"commands", roff_commands}, {"exits", roff_exits}, {"errors", roff_errors}, {"reasons", roff_reasons}, {"config", roff_config},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (strcmp(table, tables[i].name))
			continue;
		tables[i].print();
		return NC_EXIT_YES;
	}
	return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "help: --roff: '%s' is none of commands, exits, errors, reasons, config", table);
}

int nc_command_help(struct nc_invocation *invocation, struct nc_error *reterr)
{
	const struct nc_command *command;
	int words, ret;

	if (nc_option(invocation, NC_OPTION_COMPLETION)) {
		print_completion();
		return NC_EXIT_YES;
	}
	if (nc_option(invocation, NC_OPTION_ROFF))
		return print_roff(nc_option(invocation, NC_OPTION_ROFF), reterr);
	if (!invocation->argument_count) {
		nc_help_print();
		return NC_EXIT_YES;
	}
	if (invocation->argument_count == 1 && nc_command_is_group(invocation->arguments[0])) {
		nc_help_group(invocation->arguments[0]);
		return NC_EXIT_YES;
	}
	ret = nc_command_find(invocation->argument_count, invocation->arguments, &command, &words, reterr);
	if (ret < 0)
		return ret;
	if (words < invocation->argument_count)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "help: '%s' is one argument too many", invocation->arguments[words]);
	nc_help_command(command);
	return NC_EXIT_YES;
}
