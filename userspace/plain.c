/* SPDX-License-Identifier: GPL-2.0-only */
/* plain.c - namespaces, user and resolver configuration of a command without enforcement */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "driver.h"
#include "plain.h"

static int join_netns(const char *path)
{
	NC_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 || setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

static int join_cgroup(const char *path)
{
	NC_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
}

/* A tmpfs of one file over the resolver's configuration; the link that it may be is followed first. */
static int replace_resolver(const char *resolver)
{
	char text[128], target[] = "/etc/resolv.conf", file[] = "/tmp/nc-resolv-XXXXXX";
	NC_FREE char *real = realpath(target, NULL);
	NC_CLOSE int fd = -1;
	int length = resolver ? snprintf(text, sizeof(text), "nameserver %s\noptions timeout:1 attempts:2\n", resolver) : 0;
	int r = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	if (!real)
		return 0;
	fd = mkostemp(file, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0 || write(fd, text, (size_t)length) != length)
		r = -errno;
	/* A command of a command: what covers the file already has no name any more, and cannot be covered itself. */
	if (!r && mount(file, real, NULL, MS_BIND, NULL) < 0 &&
	    (errno != ENOENT || umount2(real, MNT_DETACH) < 0 || mount(file, real, NULL, MS_BIND, NULL) < 0))
		r = -errno;
	unlink(file);
	return r;
}

static int send_errors_to(const char *path)
{
	NC_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	return fd < 0 || dup2(fd, STDERR_FILENO) < 0 ? -errno : 0;
}

static int drop_to(uid_t uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int nc_plain_become(const struct nc_plain *plain)
{
	static char *bare[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	int r = plain->terminal ? nc_spawn_at_terminal((void *)plain->terminal) : 0;

	if (!r && plain->errors)
		r = send_errors_to(plain->errors);
	if (!r && plain->cgroup_procs)
		r = join_cgroup(plain->cgroup_procs);
	if (!r && plain->netns)
		r = join_netns(plain->netns);
	if (!r)
		r = replace_resolver(plain->resolver);
	if (!r && chdir("/") < 0)
		r = -errno;
	if (!r && !plain->privileged)
		r = drop_to(plain->uid ?: NC_PLAIN_UID);
	if (!r)
		environ = (char **)(plain->environment ?: bare);
	return r;
}

int nc_plain_enter(void *context)
{
	return nc_plain_become(context);
}

/* What a client says on its standard error is the client's word as well. */
static int enter_whole(void *context)
{
	const struct nc_plain *plain = context;
	int r = nc_plain_become(plain);

	return r < 0 || plain->errors ? r : dup2(STDOUT_FILENO, STDERR_FILENO);
}

static char **words_of(const json_t *command)
{
	size_t count = json_array_size(command);
	char **argv = calloc(count + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < count; i++) {
		argv[i] = (char *)json_string_value(json_array_get(command, i));
		if (!argv[i])
			return free(argv), NULL;
	}
	return argv;
}

/* What a command wrote is somebody else's bytes: what is not plain text becomes a dot, so that it is always a JSON string. */
static void make_text(char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if ((bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] > '~')
			bytes[i] = '.';
	}
}

int nc_plain_exec(const struct nc_plain *plain, const json_t *command, int deadline_ms, json_t **ret_answer, struct nc_error *reterr)
{
	NC_FREE char **argv = words_of(command);
	NC_FREE char *output = NULL;
	size_t length = 0;
	int status = 0, r;
	json_t *answer;

	if (!argv || !argv[0])
		return nc_error_set(reterr, NC_E_DRIVER_UNUSABLE, -EINVAL, "the command is not an array of strings");
	r = nc_spawn_bounded(argv, "", 0, deadline_ms, &status, &output, &length, enter_whole, (void *)plain);
	if (r == -ETIMEDOUT)
		status = SIGKILL; /* in wait's form: ended by a signal */
	else if (r < 0)
		return nc_error_sys(reterr, NC_E_DRIVER_UNUSABLE, r, "start %s", argv[0]);
	if (output)
		make_text(output, length);
	answer = json_pack("{s:i s:i s:s}", "version", NC_DRIVER_VERSION, "exited", WIFEXITED(status) ? WEXITSTATUS(status) : -1, "output",
			   output ?: "");
	if (!answer)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "keep the command's output");
	*ret_answer = answer;
	return 0;
}
