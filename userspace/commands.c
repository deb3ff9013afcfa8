// SPDX-License-Identifier: GPL-2.0-only
/*
 * commands.c - the table of commands, and the way from argv to one of them
 *
 * Order of one call: find the command (its name is the first one or two words), read its arguments against its options, read the configuration,
 * run, print the error if there is one, make sure that what was printed arrived. Until the function runs nothing has been created.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "commands.h"
#include "launch.h"
#include "output.h"
#include "text.h"

static const struct argp_option no_options[] = {{0}};

const struct nc_command nc_commands[] = {
	{.group = "Workloads",
	 .name = "run",
	 .arguments = "--profile PROFILE [OPTION...] [--] COMMAND [ARGUMENT...]",
	 .summary = "start a command behind a sealed egress policy",
	 .text = "Checks the profile, seals its policy in the kernel, signs the launch statement, proves with a canary that the refusal works, and "
		 "only then starts COMMAND. When an error occurs before that, COMMAND never runs and nothing is left behind.\nWhen the supervisor is "
		 "killed, COMMAND goes on behind its cordon, without resolver and log, until `host status`, `host down` or `stop` ends it; with "
		 "--on-supervisor-death kill it dies at once, with keep only `stop` ends it.\nThe exit status is COMMAND's own, 128 and the signal's "
		 "number when a signal ended it, 125 when netcordon itself failed, 126 when COMMAND cannot be executed, 127 when it is not found. "
		 "With --status-fd nothing has to be guessed from it.",
	 .options = nc_run_options,
	 .function = nc_command_run,
	 .privileged = true,
	 .least = 1,
	 .most = -1,
	 .passes = 1,
	 .shell_statuses = true},
	{.group = "Workloads",
	 .name = "attach",
	 .arguments = "--cgroup CGROUP --profile PROFILE [OPTION...]",
	 .summary = "seal a cgroup that somebody else made",
	 .text = "Seals an existing cgroup and supervises it until everything in it has ended; where nothing runs in it yet, that is waited for. "
		 "What ends `attach` ends what runs in the cgroup: `stop`, --lifetime, TERM to the supervisor and, when that was killed, the next "
		 "`host status`. Then it is unsealed: what is put in later has no cordon. It prints nothing of its own: --status-fd tells that it is "
		 "sealed, and the launch statement (`events`, `evidence verify`) which gaps are left. What `run` would have done for the process "
		 "(user id, capabilities, seccomp, namespaces, descriptors) is checked as far as it can be seen from outside; the rest is named as a "
		 "gap in the evidence.",
	 .options = nc_attach_options,
	 .function = nc_command_attach,
	 .privileged = true,
	 .shell_statuses = true},
	{.group = "Workloads",
	 .name = "exec",
	 .arguments = "INSTANCE [--authority AUTHORITY] [OPTION...] -- COMMAND [ARGUMENT...]",
	 .summary = "start a command inside a live instance",
	 .text = "Starts COMMAND under one authority of INSTANCE. `--authority plane` is the only way to the plane's destinations, and the only "
		 "process that is handed the plane's credentials (--plane-env-fd). An authority has one live process tree at most, so `--authority "
		 "workload` is refused (instance_busy) while the command of `run`, or what `attach` watches, lives. Exit statuses are those of "
		 "`run`.",
	 .options = nc_exec_options,
	 .function = nc_command_exec,
	 .privileged = true,
	 .least = 2,
	 .most = -1,
	 .passes = 2,
	 .shell_statuses = true},
	{.group = "Workloads",
	 .name = "update",
	 .arguments = "INSTANCE --profile PROFILE",
	 .summary = "exchange the policy of a live instance",
	 .text = "Seals the destinations of PROFILE, the workload's and the plane's, as a new revision and switches to it at once; the names in "
		 "plane.credentials are its names from then on. What it says about the process was settled at the start. Connections that it does "
		 "not list end with an error at the application, others never notice. A profile that is refused leaves the policy before in force.",
	 .options = nc_update_options,
	 .function = nc_command_update,
	 .privileged = true,
	 .least = 1,
	 .most = 1},
	{.group = "Workloads",
	 .name = "stop",
	 .arguments = "INSTANCE",
	 .summary = "end an instance: TERM, then KILL after the grace",
	 .text = "Returns when the instance is gone and its evidence is closed, and prints how it ended. An instance without a supervisor is ended "
		 "at once.",
	 .options = nc_stop_options,
	 .function = nc_command_stop,
	 .privileged = true,
	 .least = 1,
	 .most = 1},
	{.group = "Workloads",
	 .name = "wait",
	 .arguments = "INSTANCE",
	 .summary = "wait until an instance has ended",
	 .text = "Prints how it ended, and exits 0; 1 when there is no such instance, 3 when --timeout has passed before.",
	 .options = nc_wait_options,
	 .function = nc_command_wait,
	 .privileged = true,
	 .least = 1,
	 .most = 1},
	{.group = "Workloads",
	 .name = "oci-hook",
	 .arguments = "",
	 .summary = "seal a container: for a container runtime to call",
	 .text = "Reads the container's state on standard input, as createRuntime and poststop hooks are given it. Before the container runs, seals "
		 "the cgroup of its process under the profile that the annotation netcordon.profile names in the profile folder, or under "
		 "container_profile of the configuration, and leaves a supervisor behind; when that fails the container does not start. After it has "
		 "ended, waits for its evidence to be closed. The instance is called oci-ID.",
	 .options = no_options,
	 .function = nc_command_oci_hook,
	 .privileged = true,
	 .logged = true},
	{.group = "Looking",
	 .name = "check-container",
	 .arguments = "PID|CGROUP...",
	 .summary = "is this running container sealed",
	 .text = "Asks the kernel what is in force on the cgroup of process PID, whatever the runtime believes: a hook that was never called leaves "
		 "nothing to be found. Exits 0 when every one of them is sealed and none of its processes is outside, 1 when not. After an upgrade "
		 "another build's programs may stand there, and that build alone can check what they hold: exits 8 where that is all that was found.",
	 .options = no_options,
	 .function = nc_command_check_container,
	 .privileged = true,
	 .least = 1,
	 .most = -1},
	{.group = "Looking",
	 .name = "status",
	 .arguments = "[INSTANCE]",
	 .summary = "show live instances: policy entries, refusals, losses",
	 .text = "One line for each instance, or one instance with every counter. Policy entries are shown as present/intended; where the two differ "
		 "the exit status is 1. Instances that another build sealed, before an upgrade, are listed apart, with where that build's program is "
		 "to be had: it alone can ask, change or end them.",
	 .options = no_options,
	 .function = nc_command_status,
	 .privileged = true,
	 .most = 1},
	{.group = "Looking",
	 .name = "events",
	 .arguments = "INSTANCE|FOLDER",
	 .summary = "show what the kernel decided, and why",
	 .text = "Reads the evidence of an instance, live or ended, by its name or by its evidence folder (a path with a slash). Every first refusal "
		 "of a destination for a reason is an event; repeats are counted in the counters. What the workload's seccomp filter refuses never "
		 "reaches the kernel's programs and has no record. With --json one record a line, as it stands in the evidence.",
	 .options = nc_events_options,
	 .function = nc_command_events,
	 .least = 1,
	 .most = 1},
	{.group = "Looking",
	 .name = "explain",
	 .arguments = "--profile PROFILE|--instance NAME HOST:PORT[/udp] | WORD",
	 .summary = "say what the verdict would be and why, or what a word means",
	 .text = "Runs the kernel's own verdict code on a profile and a destination, without privileges. A name that the profile lists is asked for, "
		 "of the servers that an instance would ask; nothing else goes to a network. Exits 1 when the answer is deny, else 0: allow, or "
		 "redirect to the instance's resolver. With a single WORD it explains a word that netcordon prints: a reason, an error, a state, a "
		 "cause, a clause, a way out.",
	 .options = nc_explain_options,
	 .function = nc_command_explain,
	 .least = 1,
	 .most = 1},
	{.group = "Host",
	 .name = "host up",
	 .arguments = "",
	 .summary = "load, pin and attach the programs, then verify them",
	 .text = "A `run` does this by itself where it is missing. Safe to repeat; when everything is in place it only verifies.",
	 .options = no_options,
	 .function = nc_command_host_up,
	 .privileged = true},
	{.group = "Host",
	 .name = "host down",
	 .arguments = "",
	 .summary = "take the programs away",
	 .text = "Refused while an instance lives, unless --force, which first ends the instances as `stop` does, so that their evidence closes.",
	 .options = nc_host_down_options,
	 .function = nc_command_host_down,
	 .privileged = true},
	{.group = "Host",
	 .name = "host sweep",
	 .arguments = "",
	 .summary = "take away what other builds left and nobody uses",
	 .text = "An upgrade installs beside the build before, whose instances keep its programs until they end. Removes the programs, slices and "
		 "folders of other builds in which nothing lives any more. Exits 1 while one of them is in use.",
	 .options = no_options,
	 .function = nc_command_host_sweep,
	 .privileged = true},
	{.group = "Host",
	 .name = "host probe",
	 .arguments = "",
	 .summary = "find out which ways out are closed on this machine",
	 .text = "Tries the real thing on a scratch cgroup, never goes by version or errno, and prints the table of closures. Exits 1 while there is "
		 "a gap.",
	 .options = no_options,
	 .function = nc_command_host_probe,
	 .privileged = true},
	{.group = "Host",
	 .name = "host status",
	 .arguments = "",
	 .summary = "verify what is in force; end what dead supervisors left",
	 .text = "Asks the kernel which programs are effective, counts what the maps hold, and cleans up instances whose supervisor died. Exits 1 "
		 "when the programs are not installed.",
	 .options = no_options,
	 .function = nc_command_host_status,
	 .privileged = true},
	{.group = "Evidence",
	 .name = "evidence verify",
	 .arguments = "FOLDER --public-key FILE [--expect FILE]",
	 .summary = "check an instance's evidence with nothing but a public key",
	 .text = "Answers complete (exit status 0), invalid (1), open (4: not closed, the instance may still live) or incomplete (5: something is "
		 "missing or was lost, and the evidence says so). It proves authorship and integrity, not that the statements are true.",
	 .options = nc_evidence_options,
	 .function = nc_command_evidence_verify,
	 .least = 1,
	 .most = 1},
	{.group = "Evidence",
	 .name = "key generate",
	 .arguments = "FILE",
	 .summary = "make a new signing key",
	 .text = "Ed25519, PKCS#8 PEM, mode 0600. A file that exists is never overwritten. The key's id goes to standard output.",
	 .options = no_options,
	 .function = nc_command_key_generate,
	 .least = 1,
	 .most = 1,
	 .no_config = true},
	{.group = "Evidence",
	 .name = "key public",
	 .arguments = "FILE",
	 .summary = "print the public half of a signing key",
	 .text = "As PEM (SubjectPublicKeyInfo), which openssl reads.",
	 .options = no_options,
	 .function = nc_command_key_public,
	 .least = 1,
	 .most = 1,
	 .no_config = true},
	{.group = "Conformance",
	 .name = "conform",
	 .arguments = "--driver FILE --provider PROVIDER@REVISION [OPTION...] | --list",
	 .summary = "run the conformance matrix against a provider",
	 .text = "Builds a network of its own without any uplink, and runs every case three times: without enforcement, with it, and with exactly "
		 "the check under test switched off. Exits 0 when all five facts are established, 1 when not. What it writes with --bundle is "
		 "unsigned and certifies nothing until a release authority signs it.",
	 .options = nc_conform_options_table,
	 .function = nc_command_conform,
	 .no_config = true},
	{.group = "Conformance",
	 .name = "receipt sign",
	 .arguments = "BUNDLE --key FILE --attester NAME",
	 .summary = "recheck a bundle and sign its statement as a receipt",
	 .text = "Runs where the key is. Every outcome is decided again from the transcripts; refuses unless all five facts are established.",
	 .options = nc_receipt_sign_options,
	 .function = nc_command_receipt_sign,
	 .least = 1,
	 .most = 1,
	 .no_config = true},
	{.group = "Conformance",
	 .name = "receipt verify",
	 .arguments = "RECEIPT [--attesters FILE]",
	 .summary = "check a receipt's signature under the attester set",
	 .text = "The set is compiled in, and empty as shipped. With --attesters the answer is valid under a set that the caller supplied, never a "
		 "grade. A key that was rotated since and a revoked one are answers of their own: exit status 6 and 7.",
	 .options = nc_receipt_verify_options,
	 .function = nc_command_receipt_verify,
	 .least = 1,
	 .most = 1,
	 .no_config = true},
	{.group = "Conformance",
	 .name = "admit",
	 .arguments = "--capability FILE|run|attach|oci-hook --profile PROFILE [OPTION...]",
	 .summary = "would this profile be admitted on this provider",
	 .text = "Compares what the profile requires with what the capability advertises for its exact revision: what `run` does before anything "
		 "else. No option supplies keys to a grade.",
	 .options = nc_admit_options,
	 .function = nc_command_admit},
	{.group = "Program",
	 .name = "version",
	 .arguments = "",
	 .summary = "print the build, its revision and what it speaks",
	 .text = "A build whose manifest is not that of a released revision calls itself dev, and can hold no receipt.",
	 .options = no_options,
	 .function = nc_command_version,
	 .no_config = true},
	{.group = "Program",
	 .name = "help",
	 .arguments = "[COMMAND]",
	 .summary = "print this list, or one command's manual",
	 .text = "",
	 .options = nc_help_options,
	 .function = nc_command_help,
	 .most = 2,
	 .no_config = true},
	{0}};

const struct argp_option nc_common_options[] = {{"root", NC_OPTION_ROOT, "CGROUP", 0, "cgroup that counts as root", 0},
						{"config", NC_OPTION_CONFIG, "FILE", 0, "configuration instead of " NC_CONFIG_PATH, 0},
						{"json", NC_OPTION_JSON, NULL, 0, "output and errors for machines", 0},
						{"help", NC_OPTION_HELP, NULL, 0, "print what the command does", 0},
						{0}};

bool nc_command_in_group(const struct nc_command *command, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(command->name, word, length) && command->name[length] == ' ';
}

bool nc_command_is_group(const char *word)
{
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		if (nc_command_in_group(command, word))
			return true;
	}
	return false;
}

static bool is_second_word(const char *first, const char *second)
{
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		if (nc_command_in_group(command, first) && !strcmp(command->name + strlen(first) + 1, second))
			return true;
	}
	return false;
}

/* "up, down, probe, status" for "host"; "" when no command begins with that word and goes on. */
static void second_words(const char *first, char *ret_words, size_t size)
{
	ret_words[0] = '\0';
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		size_t used = strlen(ret_words);

		if (nc_command_in_group(command, first))
			snprintf(ret_words + used, size - used, "%s%s", used ? ", " : "", command->name + strlen(first) + 1);
	}
}

/* What stands first in commands is looked for, also of those that have two words. */
static int command_unknown(const char *word, struct nc_error *reterr)
{
	char firsts[sizeof(nc_commands) / sizeof(*nc_commands)][32];
	const char *names[sizeof(nc_commands) / sizeof(*nc_commands)] = {NULL};
	const char *near;

	for (size_t i = 0; nc_commands[i].name; i++) {
		snprintf(firsts[i], sizeof(firsts[i]), "%.*s", (int)strcspn(nc_commands[i].name, " "), nc_commands[i].name);
		names[i] = firsts[i];
	}
	near = nc_nearest(word, names);
	nc_error_set(reterr, NC_E_USAGE, -EINVAL, "'%s' is not a command", word);
	if (near)
		return nc_error_hint(reterr, "did you mean '%s'? `netcordon help` lists the commands", near);
	return nc_error_hint(reterr, "`netcordon help` lists the commands");
}

int nc_command_find(int argc, char **argv, const struct nc_command **ret_command, int *ret_words, struct nc_error *reterr)
{
	char words[256];

	if (argc < 1 || argv[0][0] == '-') {
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "no command is given%s%s", argc < 1 ? "" : ", but ", argc < 1 ? "" : argv[0]);
		return nc_error_hint(reterr, "`netcordon help` lists the commands; `netcordon version` says which build this is");
	}
	for (const struct nc_command *command = nc_commands; command->name; command++) {
		const char *space = strchr(command->name, ' ');
		size_t length = space ? (size_t)(space - command->name) : strlen(command->name);

		if (strlen(argv[0]) != length || strncmp(argv[0], command->name, length))
			continue;
		if (space && (argc < 2 || strcmp(argv[1], space + 1)))
			continue;
		*ret_command = command;
		*ret_words = space ? 2 : 1;
		return 0;
	}
	second_words(argv[0], words, sizeof(words));
	if (!words[0])
		return command_unknown(argv[0], reterr);
	if (argc < 2 || argv[1][0] == '-')
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "'%s' needs a second word", argv[0]);
	else
		nc_error_set(reterr, NC_E_USAGE, -EINVAL, "'%s %s' is not a command", argv[0], argv[1]);
	return nc_error_hint(reterr, "one of: %s", words);
}

/* `netcordon help`, and `netcordon help GROUP`, asked for in the ways that people ask: the last word alone is left. */
static bool wants_help(int argc, char **argv)
{
	return argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
}

/*
 * Common options may stand before the command too: they are moved behind its name, so that there is one reader of options. Returns the vector without
 * the program's name; it is the caller's own, in another order.
 */
static char **command_first(int argc, char **argv)
{
	int leading = 1, words;

	while (leading < argc && argv[leading][0] == '-') {
		bool value = !strcmp(argv[leading], "--root") || !strcmp(argv[leading], "--config");

		leading += value && leading + 1 < argc ? 2 : 1;
	}
	words = leading + 1 < argc && is_second_word(argv[leading], argv[leading + 1]) ? 2 : 1;
	for (int word = 0; word < words && leading + word < argc; word++) {
		char *name = argv[leading + word];

		memmove(&argv[2 + word], &argv[1 + word], (size_t)(leading - 1) * sizeof(*argv));
		argv[1 + word] = name;
	}
	return argv + 1;
}

static int invoke(int argc, char **argv, struct nc_invocation *invocation, struct nc_error *reterr)
{
	int words = 0, ret;

	/* Errors of a mistyped call come in the form that was asked for, wherever --json stands; a command that is known looks again, at its own options. */
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		invocation->json |= !strcmp(argv[i], "--json");
	if (argc > 0 && !strcmp(argv[0], "--version"))
		argv[0] = (char *)"version";
	ret = nc_command_find(argc, argv, &invocation->command, &words, reterr);
	if (ret < 0)
		return ret;
	ret = nc_arguments_read(invocation, argc - words, argv + words, reterr);
	if (ret < 0)
		return ret;
	if (nc_option(invocation, NC_OPTION_HELP)) {
		nc_help_command(invocation->command);
		return NC_EXIT_YES;
	}
	if (!invocation->command->no_config) {
		ret = nc_config_read(nc_option(invocation, NC_OPTION_CONFIG), &invocation->config, reterr);
		if (ret < 0)
			return ret;
	}
	return invocation->command->function(invocation, reterr);
}

static int exit_status(const struct nc_invocation *invocation, const struct nc_error *error)
{
	if (invocation->failure)
		return invocation->failure;
	if (invocation->command && invocation->command->shell_statuses)
		return NC_EXIT_OURS;
	return nc_error_exit(error->code);
}

int nc_commands_main(int argc, char **argv)
{
	struct nc_invocation invocation = {0};
	struct nc_error error = {0};
	int ret;

	if (wants_help(argc - 1, argv + 1)) {
		nc_help_print();
		ret = NC_EXIT_YES;
	} else if (argc > 2 && nc_command_is_group(argv[1]) && wants_help(argc - 2, argv + 2)) {
		nc_help_group(argv[1]);
		ret = NC_EXIT_YES;
	} else {
		ret = invoke(argc - 1, command_first(argc, argv), &invocation, &error);
	}
	if (ret >= 0 && (fflush(stdout) || ferror(stdout)))
		ret = nc_error_sys(&error, NC_E_SYSTEM, -errno, "write to standard output");
	if (ret < 0) {
		nc_invocation_advise(&invocation, &error);
		nc_output_error(&error, invocation.json);
		if (invocation.command && invocation.command->logged)
			nc_output_log(&error, invocation.subject);
		ret = exit_status(&invocation, &error);
	}
	nc_config_free(&invocation.config);
	free(invocation.arguments);
	return ret;
}
