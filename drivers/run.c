/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.c - driver of netcordon's own `run` and `exec`
 *
 * options: {"netcordon": the program, "root": a cgroup for this test alone, "mutant": the program built for the matrix (none: no mutants)}
 *
 * netcordon is started in the edge's network namespace, so that its resolver asks the matrix's resolver; the workload gets the workload's by --netns.
 * Each command is a launch of its own under the same profile; the plane's commands enter an instance that `prepare` started. With checks to be switched
 * off the mutant program runs below a cgroup of its own, whose programs go with the instance.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define PROVIDER "netcordon:run-provider"
#define RUN_CHECKS                                                                                                                                   \
	"protocol label authority mode_none floor public listed port separate bind option egress_destination egress_form egress_loopback "           \
	"egress_revision ingress guard recheck"

static const char *option(const json_t *request, const char *name)
{
	return text_at(request, "options", name, NULL);
}

static json_t *describe(const json_t *request)
{
	if (!option(request, "netcordon") || !option(request, "root"))
		return refuse("options", "netcordon and root are needed");
	return description(PROVIDER, option(request, "revision") ?: "dev", "workload plane", "direct", option(request, "mutant") ? RUN_CHECKS : "");
}

static int write_text(const char *path, const char *text, mode_t mode)
{
	NC_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	return fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ? -errno : 0;
}

/* The matrix's profile with what a command needs beside the network. */
static int write_profile(const json_t *request, const char *path)
{
	NC_JSON json_t *profile = json_deep_copy(part_at(request, "profile", NULL));
	NC_FREE char *text = NULL;

	json_object_set_new(profile, "process", json_pack("{s:{s:s}}", "env", "PATH", "/usr/local/bin:/usr/bin:/bin"));
	text = json_dumps(profile, JSON_COMPACT);
	return text ? write_text(path, text, 0600) : -ENOMEM;
}

static int write_config(const json_t *request, const char *path)
{
	NC_JSON json_t *config = json_pack("{s:i s:[s]}", "version", 1, "upstreams", text_at(request, "resolver", NULL));
	NC_FREE char *text = json_dumps(config, JSON_COMPACT);

	return text ? write_text(path, text, 0600) : -ENOMEM;
}

/* A netcordon command line, growing at its end. */
struct line {
	char *words[64];
	size_t count;
};

static void add(struct line *line, const char *word)
{
	if (line->count < 63)
		line->words[line->count++] = (char *)word;
}

static struct line netcordon(const json_t *state, const char *command)
{
	struct line line = {0};

	add(&line, text_at(state, "netcordon", NULL));
	for (const char *word = command; *word; word += strlen(word) + 1)
		add(&line, word);
	add(&line, "--root");
	add(&line, text_at(state, "root", NULL));
	add(&line, "--config");
	add(&line, text_at(state, "config", NULL));
	return line;
}

/* Where netcordon itself runs: at the edge, as root, with the checks to switch off in its environment. */
static char **outside_environment(const json_t *state)
{
	static char off[300], object[600];
	static char *environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", off, object, NULL};

	snprintf(off, sizeof(off), "NETCORDON_CHECKS_OFF=%s", text_at(state, "off", NULL));
	snprintf(object, sizeof(object), "NETCORDON_MUTANT_OBJECT=%s.bpf.o", text_at(state, "netcordon", NULL));
	if (!*text_at(state, "off", NULL))
		environment[1] = NULL;
	return environment;
}

static struct nc_plain outside(const json_t *state)
{
	return (struct nc_plain){.netns = text_at(state, "edge", NULL),
				 .resolver = text_at(state, "resolver", NULL),
				 .environment = outside_environment(state),
				 .privileged = true};
}

static int tool(const json_t *state, struct line *line)
{
	struct nc_plain place = outside(state);

	return run_tool(&place, line->words, "");
}

static struct line run_line(const json_t *state, const char *instance, char evidence[512])
{
	struct line line = netcordon(state, "run\0");

	snprintf(evidence, 512, "%s/evidence-%s", text_at(state, "scratch", NULL), instance);
	add(&line, "--profile");
	add(&line, text_at(state, "profile", NULL));
	add(&line, "--instance");
	add(&line, instance);
	add(&line, "--netns");
	add(&line, text_at(state, "workload", NULL));
	add(&line, "--key");
	add(&line, text_at(state, "key", NULL));
	add(&line, "--evidence");
	add(&line, evidence);
	return line;
}

static void wait_until_file(const char *path)
{
	for (int i = 0; i < 400 && access(path, F_OK); i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* The instance that the plane's commands enter: its workload does nothing. It says in a file of its evidence that it is up. */
static int start_instance(const json_t *state)
{
	char evidence[512], launch[560];
	struct line line = run_line(state, text_at(state, "instance", NULL), evidence);
	struct nc_plain place = outside(state);
	pid_t child;

	add(&line, "--");
	add(&line, "sleep");
	add(&line, "60");
	child = fork();
	if (!child) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		dup2(null, 0);
		dup2(null, 1);
		if (nc_plain_become(&place) < 0)
			_exit(1);
		execv(line.words[0], line.words);
		_exit(127);
	}
	snprintf(launch, sizeof(launch), "%s/checkpoint.json", evidence);
	wait_until_file(launch);
	return child < 0 || access(launch, F_OK) ? -EIO : 0;
}

static json_t *state_of(const json_t *request, const char *root, const char *program)
{
	const char *scratch = text_at(request, "scratch", NULL);
	char profile[512], config[512], key[512];

	snprintf(profile, sizeof(profile), "%s/profile.json", scratch);
	snprintf(config, sizeof(config), "%s/config.json", scratch);
	snprintf(key, sizeof(key), "%s/key.pem", scratch);
	return json_pack("{s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:i}", "netcordon", program, "root", root, "profile", profile, "config",
			 config, "key", key, "scratch", scratch, "instance", text_at(request, "instance", NULL), "workload",
			 text_at(request, "netns", "workload", NULL), "edge", text_at(request, "netns", "edge", NULL), "resolver",
			 text_at(request, "resolver", NULL), "off", text_at(request, "off", NULL) ?: "", "credential",
			 text_at(request, "credentials", "NC_PLANE_CREDENTIAL", NULL) ?: "", "launches", 0);
}

static json_t *prepare(const json_t *request)
{
	const char *off = text_at(request, "off", NULL) ?: "", *root = option(request, "root");
	const char *program = *off ? option(request, "mutant") : option(request, "netcordon");
	NC_JSON json_t *state = NULL;
	char own_root[600];
	struct line line;

	if (!program || !root)
		return refuse("options", "netcordon, root and, for mutants, mutant are needed");
	snprintf(own_root, sizeof(own_root), "%s/%.16s", root, text_at(request, "instance", NULL));
	state = state_of(request, *off ? own_root : root, program);
	if (*off && mkdir(own_root, 0755) < 0)
		return refuse("cgroup", "%s: %s", own_root, strerror(errno));
	if (write_profile(request, text_at(state, "profile", NULL)) < 0 || write_config(request, text_at(state, "config", NULL)) < 0)
		return refuse("scratch", "the profile cannot be written");
	line = (struct line){{(char *)program, "key", "generate", (char *)text_at(state, "key", NULL)}, 4};
	if (tool(state, &line) < 0)
		return refuse("key", "no key");
	line = netcordon(state, "host\0up\0");
	if (tool(state, &line) < 0)
		return refuse("host", "the programs cannot be put in force");
	if (part_at(request, "profile", "plane", NULL) && start_instance(state) < 0)
		return refuse("launch", "the instance did not start");
	return prepared(PROVIDER, option(request, "revision") ?: "dev", json_incref(state));
}

/* How netcordon's own failure is told from the command's status: its error is one line on standard error, kept in a file. */
static json_t *launch(const json_t *state, struct line *line, const json_t *request)
{
	NC_JSON json_t *command = json_pack("[s,s,s,s,s]", "sh", "-c", "exec \"$@\" 2>>\"$0\"", "", "--");
	char errors[512], text[240] = "";
	struct nc_plain place = outside(state);
	json_t *answer, *ask = json_object();
	NC_CLOSE int fd = -1;
	const json_t *word;
	size_t i;

	snprintf(errors, sizeof(errors), "%s/errors", text_at(state, "scratch", NULL));
	json_array_set_new(command, 3, json_string(errors));
	json_array_remove(command, 4);
	for (size_t at = 0; at < line->count; at++)
		json_array_append_new(command, json_string(line->words[at]));
	json_array_append_new(command, json_string("--"));
	json_array_foreach(part_at(request, "command", NULL), i, word) json_array_append(command, (json_t *)word);
	unlink(errors);
	json_object_set(ask, "command", command);
	json_object_set(ask, "deadline_ms", (json_t *)part_at(request, "deadline_ms", NULL));
	answer = run_command(ask, &place);
	json_decref(ask);
	if (json_integer_value(part_at(answer, "exited", NULL)) != 125)
		return answer;
	json_decref(answer);
	fd = open(errors, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		text[strcspn(text, "\n")] = '\0';
	return refuse("launch", "%s", *text ? text : "netcordon failed without a word");
}

static json_t *exec(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char instance[80], evidence[512];
	struct line line;

	if (strcmp(text_at(request, "authority", NULL) ?: "", "plane")) {
		/* Two launches of one driver state need two names. */
		snprintf(instance, sizeof(instance), "%.40s-%d", text_at(state, "instance", NULL), (int)getpid());
		line = run_line(state, instance, evidence);
		return launch(state, &line, request);
	}
	{
		char passed[128], descriptor[8];
		int ends[2], length = snprintf(passed, sizeof(passed), "NC_PLANE_CREDENTIAL=%s", text_at(state, "credential", NULL)) + 1;

		if (pipe(ends) < 0 || write(ends[1], passed, (size_t)length) != length)
			return refuse("credential", "no pipe");
		close(ends[1]);
		snprintf(descriptor, sizeof(descriptor), "%d", ends[0]);
		line = netcordon(state, "exec\0");
		add(&line, "--authority");
		add(&line, "plane");
		add(&line, "--plane-env-fd");
		add(&line, descriptor);
		add(&line, text_at(state, "instance", NULL));
		return launch(state, &line, request);
	}
}

static json_t *teardown(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	struct line line = netcordon(state, "stop\0");

	if (part_at(request, "profile", "plane", NULL)) {
		add(&line, text_at(state, "instance", NULL));
		tool(state, &line);
	}
	if (*(text_at(state, "off", NULL) ?: "")) {
		line = netcordon(state, "host\0down\0--force\0");
		tool(state, &line);
		rmdir(text_at(state, "root", NULL));
	}
	run_tool(NULL, (char *const[]){"rm", "-rf", "--", (char *)text_at(state, "scratch", NULL), NULL}, "");
	return nothing(request);
}

int main(int argc, char **argv)
{
	return verbs_main(argc, argv, &(struct verbs){describe, prepare, exec, teardown});
}
