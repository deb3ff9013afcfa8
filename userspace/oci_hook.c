/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * oci_hook.c - what a container runtime's hooks do: seal a container before it runs, close its evidence after it has ended
 *
 *   createRuntime   the hook ── fork ──▶ supervisor: `attach` to the container's cgroup, in its network namespace
 *                        ◀── sealed ───  descriptors, session and folder of its own; lives until the cgroup is empty
 *                   the hook exits 0, and the runtime goes on; on anything else it exits otherwise, and the runtime gives up
 *   poststop        waits for the supervisor to have ended; where it was killed, takes the empty instance apart
 *
 * The hook is told the number of a process. Its pidfd is opened first and must still be alive at the end, so that everything in between was asked about that
 * very process. A supervisor that was killed leaves the container behind its cordon (kept): it is the runtime's to end, not ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include "cleanup.h"
#include "json.h"
#include "launch_state.h"
#include "oci.h"

#define CREATE_MS 20000 /* a runtime waits for its hook; longer than this something hangs */
#define STOP_MS 10000

/* ---- the supervisor's side -------------------------------------------------------------------------------------------------------------------- */

/* Nothing of the runtime's stays with a process that outlives it: a pipe held open would keep somebody waiting for its end. */
static int detach(int status_fd, int profile_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || chdir("/") < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(null, fd) < 0)
			return -errno;
	}
	umask(077);
	close(null);
	return fcntl(status_fd, F_GETFD) < 0 || fcntl(profile_fd, F_GETFD) < 0 ? -errno : 0;
}

static _Noreturn void supervise(struct nc_launch_options *options, int profile_fd)
{
	struct nc_error error = {0};
	int status = NC_EXIT_OURS;

	if (detach(options->status_fd, profile_fd) == 0 && nc_launch_attach(options, &status, &error) < 0) {
		/* the hook has heard it through the status descriptor; when the hook is gone, only the system's log is left to hear */
		syslog(LOG_DAEMON | LOG_ERR, "netcordon: %s: %s: %s", options->instance, nc_error_word(error.code), error.detail);
	}
	_exit(status);
}

/* ---- the hook's side ---------------------------------------------------------------------------------------------------------------------------- */

static int told_failure(const json_t *line, struct nc_error *reterr)
{
	const char *code = json_string_value(json_object_get(line, "code")), *detail = json_string_value(json_object_get(line, "detail"));
	const char *pointer = json_string_value(json_object_get(line, "pointer")), *hint = json_string_value(json_object_get(line, "hint"));
	enum nc_error_code found = NC_E_SYSTEM;

	for (int i = 1; code && i < NC_E_COUNT; i++) {
		if (!strcmp(nc_error_word((enum nc_error_code)i), code))
			found = (enum nc_error_code)i;
	}
	nc_error_set(reterr, found, -ECANCELED, "%s", detail ? detail : "the supervisor failed");
	snprintf(reterr->pointer, sizeof(reterr->pointer), "%s", pointer ? pointer : "");
	return hint && hint[0] ? nc_error_hint(reterr, "%s", hint) : -ECANCELED;
}

/* The supervisor's first line, which says everything: `sealed`, or `failed` and why. */
static int await_sealed(int fd, struct nc_error *reterr)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	NC_JSON json_t *line = NULL;
	char text[8192];
	size_t length = 0;
	int r;

	while (length == 0 || text[length - 1] != '\n') {
		ssize_t got;

		r = poll(&readable, 1, CREATE_MS + 5000);
		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			return nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "the container's supervisor does not answer");
		got = r < 0 ? -1 : read(fd, text + length, sizeof(text) - length);
		if (got <= 0 || (length += (size_t)got) == sizeof(text))
			return nc_error_set(reterr, NC_E_SYSTEM, -ECHILD, "the container's supervisor ended without a word");
		if (memchr(text, '\n', length))
			length = (size_t)((char *)memchr(text, '\n', length) - text) + 1;
	}
	r = nc_json_parse(text, length, NC_E_SYSTEM, &line, reterr);
	if (r < 0)
		return r;
	return strcmp(json_string_value(json_object_get(line, "event")) ?: "", "sealed") ? told_failure(line, reterr) : 0;
}

static int still_there(int pidfd, pid_t pid, const char *cgroup, struct nc_error *reterr)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	char now[NC_PATH_MAX];
	int r = nc_cgroup_of_process(pid, now, reterr);

	if (r < 0)
		return r;
	if (poll(&ended, 1, 0) != 0)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -ESRCH, "the container's process ended while it was being sealed");
	if (strcmp(now, cgroup) != 0)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -EXDEV, "the container's process was moved from %s to %s", cgroup, now);
	return 0;
}

static int choose_profile(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_oci_container *container, int *ret_fd,
			  struct nc_error *reterr)
{
	container->annotated = state->profile != NULL;
	container->profile = state->profile ? state->profile : hook->default_profile;
	if (!container->profile) {
		nc_error_set(reterr, NC_E_PROFILE_UNREADABLE, -ENOENT,
			     "the container has no annotation " NC_OCI_ANNOTATION ", and there is no default");
		return nc_error_hint(reterr, "annotate it with a profile's name, or set container_profile in the configuration");
	}
	return nc_oci_profile_open(hook->profiles, container->profile, ret_fd, reterr);
}

static int with_supervisor(struct nc_launch_options *options, int profile_fd, struct nc_error *reterr)
{
	int ends[2], r;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make a pipe");
	options->status_fd = ends[1];
	child = fork();
	if (child == 0) {
		close(ends[0]);
		supervise(options, profile_fd);
	}
	r = child < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "start the container's supervisor") : 0;
	close(ends[1]);
	r = r < 0 ? r : await_sealed(ends[0], reterr);
	close(ends[0]);
	if (r < 0 && child > 0) { /* it undoes what it did; a hung one is ended, and what it leaves has no owner */
		for (int i = 0; i < 500 && waitpid(child, NULL, WNOHANG) == 0; i++)
			poll(NULL, 0, 10);
	}
	return r;
}

int nc_oci_create(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_error *reterr)
{
	NC_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, state->pid, 0);
	NC_CLOSE int profile_fd = -1;
	char instance[NC_INSTANCE_NAME_MAX + 1], cgroup[NC_PATH_MAX], netns[64], profile[64];
	struct nc_oci_container container = {.id = state->id, .bundle = state->bundle};
	struct nc_launch_options options = NC_LAUNCH_OPTIONS;
	int r;

	if (pidfd < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "open the container's process %d", state->pid);
	r = choose_profile(hook, state, &container, &profile_fd, reterr) ?: nc_cgroup_of_process(state->pid, cgroup, reterr);
	if (r < 0)
		return r;
	nc_oci_instance(state->id, instance);
	snprintf(netns, sizeof(netns), "/proc/%d/ns/net", state->pid);
	snprintf(profile, sizeof(profile), "/proc/self/fd/%d", profile_fd);
	options.host = hook->host;
	options.provider_revision = hook->provider_revision;
	options.profile = profile;
	options.instance = instance;
	options.netns = netns;
	options.evidence_parent = hook->evidence_parent;
	options.key = hook->key;
	options.attester = hook->attester;
	options.cgroup = cgroup;
	options.container = &container;
	options.upstreams = hook->upstreams;
	options.upstream_count = hook->upstream_count;
	options.log_bytes = hook->log_bytes;
	options.deadline_ms = CREATE_MS;
	options.on_death = NC_ON_DEATH_KEEP;
	r = with_supervisor(&options, profile_fd, reterr);
	return r < 0 ? r : still_there(pidfd, state->pid, cgroup, reterr);
}

/* ---- poststop -------------------------------------------------------------------------------------------------------------------------------------- */

/* Nobody watches over it any more: it is taken apart when nothing lives in it. */
static int end_kept(struct nc_claim *claim, const char *name, struct nc_error *reterr)
{
	int64_t until = nc_now_ns() + STOP_MS * 1000000ll;
	bool populated = true;
	int r = 0;

	while (r == 0 && populated && nc_now_ns() < until) {
		r = nc_claim_populated(claim, NC_AUTHORITY_WORKLOAD, &populated, reterr);
		if (r == 0 && populated)
			poll(NULL, 0, 20);
	}
	if (r < 0 || populated) {
		nc_claim_abandon(claim);
		return r < 0 ? r : nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "processes of instance %s still live: it stays as it is", name);
	}
	return nc_claim_release(claim, reterr);
}

int nc_oci_stop(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_error *reterr)
{
	char name[NC_INSTANCE_NAME_MAX + 1], evidence[NC_PATH_MAX];
	struct nc_host *host = NULL;
	struct nc_claim *claim;
	int r;

	nc_oci_instance(state->id, name);
	r = nc_host_open(hook->host, &host, reterr);
	if (r < 0)
		return reterr->code == NC_E_HOST_DOWN ? 0 : r;
	r = nc_claim_adopt(host, name, &claim, reterr);
	if (r == 0)
		r = end_kept(claim, name, reterr);
	else if (reterr->code == NC_E_INSTANCE_EXISTS)
		r = nc_launch_wait(hook->host, name, STOP_MS, evidence, reterr);
	if (r < 0 && reterr->code == NC_E_INSTANCE_UNKNOWN)
		r = 0;
	nc_host_close(host);
	return r;
}
