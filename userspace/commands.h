/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * commands.h - the one table of commands, and what one call of a command is given
 *
 *   argv -> nc_arguments_read (words of the table, exact options) -> struct nc_invocation -> the command's function -> exit status
 *
 * Help, `netcordon help COMMAND`, the completion and the manual's list of commands are printed from nc_commands; nothing about a command is
 * written down twice. A command's function prints its own output and returns an exit status, or fills the error and returns a negative errno: the
 * caller prints the error once, as one line or as an object.
 */
#ifndef NC_COMMANDS_H
#define NC_COMMANDS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include "config.h"
#include "error.h"
#include "loader.h"
#include "profile.h"

/* Exit statuses of every command, with what they mean; those from 4 on are answers of the commands that they name. `run`, `exec` and
 * `attach` follow the shell instead: the command's own status, or NC_EXIT_OURS, _NOT_RUNNABLE, _NOT_FOUND of launch.h. */
#define NC_EXITS(X)                                                                                                                                  \
	X(YES, 0, "yes: done, allowed, complete")                                                                                                    \
	X(NO, 1, "the answer is no: refused, unknown, invalid, still busy")                                                                          \
	X(USAGE, 2, "what was given (arguments, profile, configuration) is not understood; nothing was done")                                        \
	X(FAILED, 3, "could not: the kernel, a permission, a missing piece")                                                                         \
	X(OPEN, 4, "evidence verify: not closed")                                                                                                    \
	X(INCOMPLETE, 5, "evidence verify: something is missing or was lost")                                                                        \
	X(ROTATED, 6, "receipt verify: the key has been replaced by a newer one")                                                                    \
	X(REVOKED, 7, "receipt verify: the key has been revoked")                                                                                    \
	X(OTHER_BUILD, 8, "check-container: another build of netcordon stands around it, and alone can say whether it is sealed")
#define NC_ENUM_EXIT(symbol, value, meaning) NC_EXIT_##symbol = value,
enum nc_exit { NC_EXITS(NC_ENUM_EXIT) };

/* Every option has a key here, whichever commands take it; values are kept by key. */
enum nc_option {
	NC_OPTION_FIRST = 0x100, /* beyond every character, so that no option has a short form */
	NC_OPTION_ROOT = NC_OPTION_FIRST,
	NC_OPTION_CONFIG,
	NC_OPTION_JSON,
	NC_OPTION_HELP,
	NC_OPTION_PROFILE,
	NC_OPTION_INSTANCE,
	NC_OPTION_NETNS,
	NC_OPTION_EVIDENCE,
	NC_OPTION_KEY,
	NC_OPTION_ATTESTER,
	NC_OPTION_BIND,
	NC_OPTION_STATUS_FD,
	NC_OPTION_HOLD_FD,
	NC_OPTION_ENV_FD,
	NC_OPTION_PLANE_ENV_FD,
	NC_OPTION_DEADLINE,
	NC_OPTION_LIFETIME,
	NC_OPTION_GRACE,
	NC_OPTION_PTY,
	NC_OPTION_ON_DEATH,
	NC_OPTION_CGROUP,
	NC_OPTION_AUTHORITY,
	NC_OPTION_FOLLOW,
	NC_OPTION_SINCE,
	NC_OPTION_PUBLIC_KEY,
	NC_OPTION_EXPECT,
	NC_OPTION_FORCE,
	NC_OPTION_TIMEOUT,
	NC_OPTION_COMPLETION,
	NC_OPTION_ROFF,
	NC_OPTION_PROVIDER,
	NC_OPTION_DRIVER,
	NC_OPTION_DRIVER_OPTIONS,
	NC_OPTION_MANIFEST,
	NC_OPTION_CASE,
	NC_OPTION_FACT,
	NC_OPTION_LIST,
	NC_OPTION_TAP,
	NC_OPTION_BUNDLE,
	NC_OPTION_CLIENT,
	NC_OPTION_LISTENERS,
	NC_OPTION_JOBS,
	NC_OPTION_ATTESTERS,
	NC_OPTION_CAPABILITY,
	NC_OPTION_RECEIPT,
	NC_OPTION_ENROLLMENT,
	NC_OPTION_MATERIALIZATION,
	NC_OPTION_PRINT,
	NC_OPTION_END
};

struct nc_invocation {
	const struct nc_command *command;
	bool json;
	const char *values[NC_OPTION_END - NC_OPTION_FIRST]; /* NULL: not given; "" for an option without argument */
	char **arguments;				     /* what is left: positional arguments, then the command to start; NULL-terminated */
	int argument_count;
	struct nc_config config;
	char subject[80]; /* what it turned out to be about, for the system's log; "": nothing */
	int failure;	  /* exit status to use with an error instead of the table's; 0: the table's */
};

struct nc_command {
	const char *group;		   /* heading in the help */
	const char *name;		   /* one or two words, as typed */
	const char *arguments;		   /* what follows the options, for people */
	const char *summary;		   /* one line, no full stop */
	const char *text;		   /* paragraphs for `help COMMAND` and the manual, divided by newlines */
	const struct argp_option *options; /* beside the common ones */
	int (*function)(struct nc_invocation *invocation, struct nc_error *reterr);
	int least, most;     /* positional arguments; most -1: any number */
	int passes;	     /* 0: no; n: the n-th positional argument begins a command line that is not ours */
	bool no_config;	     /* works without reading the configuration file */
	bool privileged;     /* speaks to the kernel: a refusal to anybody but root has that reason */
	bool shell_statuses; /* failures are 125, 126 and 127 */
	bool logged;	     /* failures stand in the system's log too: whoever calls it may not show what it prints */
};

extern const struct nc_command nc_commands[]; /* ends with a row whose name is NULL */
extern const struct argp_option nc_common_options[];

/* The whole program behind main(): finds the command, reads its arguments, runs it, prints its error. Returns the exit status. */
int nc_commands_main(int argc, char **argv);

/* Is `word` the first of the command's two words? */
bool nc_command_in_group(const struct nc_command *command, const char *word);
/* Is this the first word of commands that have two? */
bool nc_command_is_group(const char *word);
/* Finds the command at the start of argv (without the program's name); *ret_words says how many words its name took. */
int nc_command_find(int argc, char **argv, const struct nc_command **ret_command, int *ret_words, struct nc_error *reterr);
/* Fills values, arguments and json of an invocation whose command is set. Options are matched by their whole name, at most once each. */
int nc_arguments_read(struct nc_invocation *invocation, int argc, char **argv, struct nc_error *reterr);
const struct argp_option *nc_option_find(const struct nc_command *command, int key);

static inline const char *nc_option(const struct nc_invocation *invocation, enum nc_option key)
{
	return invocation->values[key - NC_OPTION_FIRST];
}
/* A whole decimal number within the bounds; *ret_value stays as it was when the option is not given. */
int nc_option_number(const struct nc_invocation *invocation, enum nc_option key, int64_t least, int64_t most, int64_t *ret_value,
		     struct nc_error *reterr);
/* Seconds with up to three decimals ("2", "0.5") as milliseconds; *ret_ms stays as it was when the option is not given. */
int nc_option_seconds(const struct nc_invocation *invocation, enum nc_option key, int64_t *ret_ms, struct nc_error *reterr);
/* workload or plane; *ret_authority stays as it was when the option is not given. */
int nc_option_authority(const struct nc_invocation *invocation, enum nc_authority *ret_authority, struct nc_error *reterr);
/* The host that an invocation speaks about: root, floor, pools and foreign programs from the configuration. Borrows from the invocation. */
void nc_invocation_host(const struct nc_invocation *invocation, struct nc_host_options *ret_options);

/* The path of the profile that was asked for: a word without a slash that does not end in .json is a name in the profile folder. The caller frees.
 * NULL with a USAGE error when --profile is missing. */
char *nc_invocation_profile(const struct nc_invocation *invocation, struct nc_error *reterr);

/* When `ret` says that it could not be read: adds the rule above as a hint. Returns `ret`. */
int nc_invocation_profile_hint(const struct nc_invocation *invocation, int ret, struct nc_error *reterr);
/* Reads the profile at such a path, or another's: judged by the configuration's NAT64 prefixes, and refused with that hint. */
int nc_invocation_load(const struct nc_invocation *invocation, const char *path, struct nc_profile **ret_profile, struct nc_error *reterr);
/* The folder of a live instance, where its supervisor keeps what instance_state.h names. INSTANCE_UNKNOWN, HOST_DOWN. */
int nc_invocation_instance(const struct nc_invocation *invocation, const char *name, char ret_folder[NC_PATH_MAX], struct nc_error *reterr);
/* What is known of an error whoever met it: that only root may, and of an instance that was not found which one may have been meant, and what lists them. */
void nc_invocation_advise(const struct nc_invocation *invocation, struct nc_error *error);

/* help.c */
void nc_help_print(void);
void nc_help_command(const struct nc_command *command);
/* What commands begin with this word. */
void nc_help_group(const char *word);
int nc_command_help(struct nc_invocation *invocation, struct nc_error *reterr);
extern const struct argp_option nc_help_options[];

/* one function and one option table for each command: command_NAME.c */
int nc_command_run(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_attach(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_exec(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_update(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_stop(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_wait(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_oci_hook(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_check_container(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_host_up(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_host_down(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_host_sweep(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_host_probe(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_host_status(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_status(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_events(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_explain(struct nc_invocation *invocation, struct nc_error *reterr);
/* States of an instance: what `status` shows of it, and what that means. */
#define NC_INSTANCE_STATES(X)                                                                                                                        \
	X(LIVE, "live", "its supervisor lives")                                                                                                      \
	X(ORPHAN, "orphan", "its supervisor died; the cordon stands, and `host status`, `host down` or `stop` ends it")                              \
	X(KEPT, "kept", "its supervisor died under --on-supervisor-death keep; only `stop` or `host down --force` ends it")                          \
	X(UNDEAD, "undead", "what runs in it has outlived SIGKILL, and waits in the kernel for somebody who does not answer; the cordon stands")     \
	X(OTHER_BUILD, "other_build", "another build of netcordon sealed it, and its program alone can say more of it")

/* `explain` with a word instead of a destination (explain_words.c). */
int nc_command_explain_word(const struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_key_generate(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_key_public(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_evidence_verify(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_conform(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_receipt_sign(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_receipt_verify(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_admit(struct nc_invocation *invocation, struct nc_error *reterr);
int nc_command_version(struct nc_invocation *invocation, struct nc_error *reterr);

extern const struct argp_option nc_conform_options_table[], nc_receipt_sign_options[], nc_receipt_verify_options[], nc_admit_options[];
extern const struct argp_option nc_run_options[], nc_attach_options[], nc_exec_options[], nc_update_options[], nc_stop_options[], nc_wait_options[],
	nc_host_down_options[], nc_events_options[], nc_explain_options[], nc_evidence_options[];

#endif
