/* SPDX-License-Identifier: GPL-2.0-only */
/* netcordon.c - command lines, files and hosts of the drivers of netcordon's own providers */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "netcordon.h"

#define DOWN_AT_A_TIME 6
#define START_STEPS 2000 /* of 10 ms: programs may have to be loaded, on a busy machine */

const char *netcordon_option(const json_t *request, const char *name)
{
	return text_at(request, "options", name, NULL);
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
	const char *nat64 = text_at(request, "nat64", NULL);
	NC_FREE char *text = NULL;

	if (nat64 && *nat64 && json_object_set_new(config, "nat64", json_pack("[s]", nat64)) < 0)
		return -ENOMEM;
	text = json_dumps(config, JSON_COMPACT);
	return text ? write_text(path, text, 0600) : -ENOMEM;
}

void netcordon_add(struct line *line, const char *word)
{
	if (line->count < 63)
		line->words[line->count++] = (char *)word;
}

struct line netcordon_line(const json_t *state, const char *command)
{
	struct line line = {0};

	netcordon_add(&line, text_at(state, "netcordon", NULL));
	for (const char *word = command; *word; word += strlen(word) + 1)
		netcordon_add(&line, word);
	netcordon_add(&line, "--root");
	netcordon_add(&line, text_at(state, "root", NULL));
	netcordon_add(&line, "--config");
	netcordon_add(&line, text_at(state, "config", NULL));
	return line;
}

/* Where netcordon itself runs: at the edge, as root, with the checks to switch off in its environment. */
static char **outside_environment(const json_t *state)
{
	static char off[300], object[600], credential[128];
	static char *environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", off, object, NULL, NULL};

	snprintf(off, sizeof(off), "NETCORDON_CHECKS_OFF=%s", text_at(state, "off", NULL));
	snprintf(object, sizeof(object), "NETCORDON_MUTANT_OBJECT=%s.bpf.o", text_at(state, "netcordon", NULL));
	/* The mutant of a Runner that hands the plane's credential to netcordon itself. */
	snprintf(credential, sizeof(credential), "NC_PLANE_CREDENTIAL=%s", text_at(state, "credential", NULL) ?: "");
	environment[3] = strstr(text_at(state, "off", NULL), "edge_credential") ? credential : NULL;
	environment[1] = *text_at(state, "off", NULL) ? off : NULL;
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

static json_t *state_of(const json_t *request, const char *root, const char *program)
{
	const char *scratch = text_at(request, "scratch", NULL);
	char profile[512], config[512], key[512];

	snprintf(profile, sizeof(profile), "%s/profile.json", scratch);
	snprintf(config, sizeof(config), "%s/config.json", scratch);
	snprintf(key, sizeof(key), "%s/../key.pem", scratch);
	return json_pack("{s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:s s:i}", "netcordon", program, "root", root, "profile", profile, "config",
			 config, "key", key, "scratch", scratch, "instance", text_at(request, "instance", NULL), "workload",
			 text_at(request, "netns", "workload", NULL), "edge", text_at(request, "netns", "edge", NULL), "resolver",
			 text_at(request, "resolver", NULL), "off", text_at(request, "off", NULL) ?: "", "credential",
			 text_at(request, "credentials", "NC_PLANE_CREDENTIAL", NULL) ?: "", "launches", 0);
}

/* A cgroup of its own for netcordon as it is, one for each set of checks that is off, and one for each run that wants to be apart: each is a host with
 * programs of its own, which are loaded once and stay until the matrix says that it is done. */
static int make_root(const json_t *request, const char *off, char own_root[600])
{
	int length = snprintf(own_root, 600, "%s/%s", netcordon_option(request, "root"), *off ? "off-" : "whole");

	for (const char *at = off; *at && length < 500; at++)
		own_root[length++] = *at == ' ' ? '-' : *at;
	own_root[length] = '\0';
	if (json_is_true(part_at(request, "apart", NULL)))
		snprintf(own_root + length, (size_t)(600 - length), "-apart-%.8s", text_at(request, "instance", NULL));
	return mkdir(own_root, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* The slice of this build's programs below the root. */
static int find_slice(const char *root, char slice[700])
{
	DIR *folder = opendir(root);
	struct dirent *entry;
	int r = -ENOENT;

	while (folder && r < 0 && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "netcordon-", 10))
			continue;
		snprintf(slice, 700, "%s/%.80s", root, entry->d_name);
		r = 0;
	}
	if (folder)
		closedir(folder);
	return r;
}

bool netcordon_lsm(const json_t *request)
{
	char *argv[] = {(char *)netcordon_option(request, "netcordon"), "host", "probe", "--json", NULL};
	NC_FREE char *output = NULL;
	NC_JSON json_t *document = NULL;
	struct nc_error ignored = {0};
	const json_t *row;
	size_t length = 0, i;
	int status = 0;

	if (nc_spawn_bounded(argv, "", 0, NC_DRIVER_DESCRIBE_MS, &status, &output, &length, NULL, NULL) < 0 ||
	    nc_json_parse(output, length, NC_E_DRIVER_GARBAGE, &document, &ignored) < 0)
		return false;
	json_array_foreach(part_at(document, "closures", NULL), i, row)
	{
		if (!strcmp(text_at(row, "path", NULL) ?: "", "packet_socket"))
			return strstr(text_at(row, "mechanism", NULL) ?: "", "lsm_family") && !strcmp(text_at(row, "state", NULL) ?: "", "in_force");
	}
	return false;
}

static json_t *cgroups_of(const json_t *state)
{
	char slice[700], outside[700], unsealed[800];
	const char *root = text_at(state, "root", NULL);

	snprintf(outside, sizeof(outside), "%.500s/outside", root);
	if (find_slice(root, slice) < 0 || (mkdir(outside, 0755) < 0 && errno != EEXIST))
		return NULL;
	snprintf(unsealed, sizeof(unsealed), "%s/unsealed", slice);
	if (mkdir(unsealed, 0755) < 0 && errno != EEXIST)
		return NULL;
	return json_pack("{s:s s:s s:s}", "outside", outside, "unsealed", unsealed, "root", root);
}

/* The folder's name ends in the number of the root's cgroup, which is that of its inode. */
static json_t *pins_of(const json_t *state)
{
	static const char where[] = "/sys/fs/bpf/netcordon";
	char ending[32], path[200], policy[240];
	struct stat root;
	struct dirent *entry;
	json_t *pins = NULL;
	DIR *folder;

	if (stat(text_at(state, "root", NULL), &root) < 0 || !(folder = opendir(where)))
		return NULL;
	snprintf(ending, sizeof(ending), "-%llx", (unsigned long long)root.st_ino);
	while (!pins && (entry = readdir(folder))) {
		const char *dash = strchr(entry->d_name, '-');

		if (!dash || strcmp(dash, ending))
			continue;
		snprintf(path, sizeof(path), "%s/%.100s", where, entry->d_name);
		snprintf(policy, sizeof(policy), "%s/maps/workload_policy", path);
		pins = json_pack("{s:s s:s}", "folder", path, "policy", policy);
	}
	closedir(folder);
	return pins;
}

void netcordon_point_out(const json_t *state, json_t *answer)
{
	json_t *cgroups = cgroups_of(state), *pins = pins_of(state);

	if (cgroups)
		json_object_set_new(answer, "cgroups", cgroups);
	if (pins)
		json_object_set_new(answer, "pins", pins);
}

static void errors_of(const json_t *state, char ret_path[512])
{
	snprintf(ret_path, 512, "%s/errors", text_at(state, "scratch", NULL));
}

json_t *netcordon_refusal(const json_t *state, const char *code)
{
	char errors[512], text[240] = "";
	NC_CLOSE int fd = -1;

	errors_of(state, errors);
	fd = open(errors, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		text[strcspn(text, "\n")] = '\0';
	return refuse(code, "%s", *text ? text : "netcordon failed without a word");
}

/* How netcordon's own failure is told from the command's status: its error is one line on standard error, kept in a file. */
json_t *netcordon_launch(const json_t *state, struct line *line, const json_t *request)
{
	NC_JSON json_t *command = json_array(), *ask = json_object();
	char errors[512];
	struct nc_plain place = outside(state);
	json_t *answer;
	const json_t *word;
	size_t i;

	errors_of(state, errors);
	place.errors = errors;
	unlink(errors);
	for (size_t at = 0; at < line->count; at++)
		json_array_append_new(command, json_string(line->words[at]));
	json_array_append_new(command, json_string("--"));
	json_array_foreach(part_at(request, "command", NULL), i, word) json_array_append(command, (json_t *)word);
	json_object_set(ask, "command", command);
	json_object_set(ask, "deadline_ms", (json_t *)part_at(request, "deadline_ms", NULL));
	answer = run_command(ask, &place);
	if (json_integer_value(part_at(answer, "exited", NULL)) != 125)
		return answer;
	json_decref(answer);
	return netcordon_refusal(state, "launch");
}

bool netcordon_has_begun(const char *evidence)
{
	char checkpoint[600];

	/* A signed checkpoint is what a supervisor writes first when everything is in force. */
	snprintf(checkpoint, sizeof(checkpoint), "%s/checkpoint.json", evidence);
	return !access(checkpoint, F_OK);
}

int netcordon_start(const json_t *state, struct line *line, const char *evidence)
{
	struct nc_plain place = outside(state);
	char errors[512];
	pid_t child;

	errors_of(state, errors);
	place.errors = errors;
	child = start_beside(&place, line->words);
	for (int i = 0; i < START_STEPS && child > 0 && !netcordon_has_begun(evidence) && !waitpid(child, NULL, WNOHANG); i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	return child < 0 || !netcordon_has_begun(evidence) ? -EIO : 0;
}

/* One key for all runs of a matrix, beside their scratch folders; whoever comes first makes it. */
static int make_key(const json_t *state)
{
	const char *key = text_at(state, "key", NULL);
	char fresh[600];
	struct line line = {{(char *)text_at(state, "netcordon", NULL), "key", "generate", fresh}, 4};
	int r;

	if (!access(key, F_OK))
		return 0;
	snprintf(fresh, sizeof(fresh), "%s/key.pem", text_at(state, "scratch", NULL));
	r = tool(state, &line);
	if (!r && link(fresh, key) < 0 && errno != EEXIST)
		r = -errno;
	return r;
}

/* Once for each root: whoever comes second waits for the first. */
static int host_up(const json_t *state, const char *root)
{
	NC_CLOSE int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct line line = netcordon_line(state, "host\0up\0");
	char slice[700];

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -errno;
	return find_slice(root, slice) < 0 ? tool(state, &line) : 0;
}

json_t *netcordon_update(const json_t *request, const char *instance)
{
	const json_t *state = part_at(request, "state", NULL);
	struct line line = netcordon_line(state, "update\0");
	char path[600];

	snprintf(path, sizeof(path), "%s/updated.json", text_at(state, "scratch", NULL));
	netcordon_add(&line, "--profile");
	netcordon_add(&line, path);
	netcordon_add(&line, instance);
	if (write_profile(request, path) < 0 || tool(state, &line) < 0)
		return refuse("update", "the policy was not exchanged");
	return nothing(request);
}

json_t *netcordon_ready(const json_t *request, json_t **ret_state)
{
	const char *off = text_at(request, "off", NULL) ?: "";
	const char *program = *off ? netcordon_option(request, "mutant") : netcordon_option(request, "netcordon");
	char own_root[600];
	json_t *state;
	int r;

	if (!program || !netcordon_option(request, "root"))
		return refuse("options", "netcordon, root and, for mutants, mutant are needed");
	if (make_root(request, off, own_root) < 0)
		return refuse("cgroup", "%s: %s", own_root, strerror(errno));
	state = state_of(request, own_root, program);
	if (write_profile(request, text_at(state, "profile", NULL)) < 0 || write_config(request, text_at(state, "config", NULL)) < 0)
		return refuse("scratch", "the profile cannot be written");
	if (make_key(state) < 0)
		return refuse("key", "no key");
	r = host_up(state, own_root);
	if (r < 0)
		return refuse("host", "the programs cannot be put in force: %s", strerror(-r));
	*ret_state = state;
	return NULL;
}

json_t *netcordon_plane(const json_t *request)
{
	const json_t *state = part_at(request, "state", NULL);
	char passed[128], descriptor[8];
	int ends[2], length = snprintf(passed, sizeof(passed), "NC_PLANE_CREDENTIAL=%s", text_at(state, "credential", NULL)) + 1;
	struct line line = netcordon_line(state, "exec\0");

	if (pipe(ends) < 0 || write(ends[1], passed, (size_t)length) != length)
		return refuse("credential", "no pipe");
	close(ends[1]);
	snprintf(descriptor, sizeof(descriptor), "%d", ends[0]);
	netcordon_add(&line, "--authority");
	netcordon_add(&line, "plane");
	netcordon_add(&line, "--plane-env-fd");
	netcordon_add(&line, descriptor);
	netcordon_add(&line, text_at(state, "instance", NULL));
	return netcordon_launch(state, &line, request);
}

void netcordon_stop_instance(const json_t *state, const char *instance)
{
	struct line line = netcordon_line(state, "stop\0");
	struct nc_plain place = outside(state);
	char errors[512];

	/* That it has ended by itself is nobody's error. */
	errors_of(state, errors);
	place.errors = errors;
	netcordon_add(&line, instance);
	run_tool(&place, line.words, "");
}

void netcordon_stop(const json_t *state)
{
	netcordon_stop_instance(state, text_at(state, "instance", NULL));
}

void netcordon_forget(const json_t *state)
{
	run_tool(NULL, (char *const[]){"rm", "-rf", "--", (char *)text_at(state, "scratch", NULL), NULL}, "");
}

static void root_down(const char *root, const char *program, bool whole)
{
	NC_JSON json_t *state = json_pack("{s:s s:s s:s}", "netcordon", program, "root", root, "off", whole ? "" : "listed");
	struct line line = {{(char *)program, "host", "down", "--force", "--root", (char *)root}, 6};
	const struct nc_plain here = {.environment = outside_environment(state), .privileged = true};
	char outside[620];

	run_tool(&here, line.words, "");
	snprintf(outside, sizeof(outside), "%s/outside", root);
	rmdir(outside);
	rmdir(root);
}

/* The matrix is done: the programs of every root go, and the roots, several at a time. */
void netcordon_down(const json_t *request)
{
	const char *root = netcordon_option(request, "root");
	DIR *folder = root ? opendir(root) : NULL;
	struct dirent *entry;
	int running = 0;

	while (folder && (entry = readdir(folder))) {
		bool whole = !strncmp(entry->d_name, "whole", 5);
		const char *program = netcordon_option(request, whole ? "netcordon" : "mutant");
		char own_root[600];
		pid_t child;

		if ((!whole && strncmp(entry->d_name, "off-", 4)) || !program)
			continue;
		snprintf(own_root, sizeof(own_root), "%s/%.200s", root, entry->d_name);
		child = fork();
		if (!child) {
			root_down(own_root, program, whole);
			_exit(0);
		}
		running += child > 0;
		for (; running >= DOWN_AT_A_TIME; running--)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
	if (folder)
		closedir(folder);
}
