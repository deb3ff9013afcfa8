/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * oci_hook.c - what a container runtime's hooks do: seal a container before it runs, close its evidence after it has ended
 *
 *   createRuntime   the hook ────────▶ supervisor: `attach` to the container's cgroup, in its network namespace
 *                        ◀── sealed ──  descriptors, session and folder of its own; lives until the cgroup is empty
 *                   the hook exits 0, and the runtime goes on; on anything else it exits otherwise, and the runtime gives up
 *   poststop        waits for the supervisor to have ended; where it was killed, takes the empty instance apart
 *
 * The hook is told the number of a process. Its pidfd is opened first and must still be alive at the end, so that everything in between was asked about that
 * very process. A supervisor that was killed leaves the container behind its cordon (kept): it is the runtime's to end, not ours.
 *
 * The supervisor is born with the hook's memory (CLONE_VM), as after vfork, but on a stack of its own: both are the same root, all that was read is
 * there already, and nothing of it is copied, which costs more than all that the hook does. From then on the hook waits for one byte and leaves,
 * without a clean-up of what is the supervisor's now; only after the supervisor's end may it do more than make system calls that do not fail: errno,
 * too, is shared.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "launch_state.h"
#include "oci.h"
#include "other_build.h"
#include "output.h"

#define CREATE_MS 20000 /* a runtime waits for its hook; longer than this something hangs */
#define STOP_MS 10000
#define STACK_BYTES (1u << 20)
#define GUARD_BYTES 65536u /* at its lower end, on any size of page */

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

struct supervisor {
	const struct nc_launch_options *options;
	int profile_fd;
	pid_t hook;
	int hook_fd;	       /* the hook's end of the pipe, which is to be the only one */
	struct nc_error error; /* why it failed, for the hook to tell */
};

/* For clone(2), which wants something that could return. */
static int supervise(void *context)
{
	struct supervisor *supervisor = context;
	const struct nc_launch_options *options = supervisor->options;
	struct nc_launch_end end = {.status = NC_EXIT_OURS};
	int r = detach(options->container->sealed_fd, supervisor->profile_fd);

	close(supervisor->hook_fd);
	if (r < 0)
		nc_error_sys(&supervisor->error, NC_E_SYSTEM, r, "leave the runtime's session");
	else if (nc_launch_attach(options, &end, &supervisor->error) < 0 && getppid() != supervisor->hook)
		nc_output_log(&supervisor->error, options->instance); /* the hook, which would tell it, is gone */
	_exit(end.status);
}

int nc_oci_still_there(const struct nc_oci_container *container, const char *cgroup, struct nc_error *reterr)
{
	struct pollfd ended = {.fd = container->pidfd, .events = POLLIN};
	char now[NC_PATH_MAX];
	bool within = false;
	int r = nc_cgroup_of_process(container->pid, now, reterr) ?: nc_cgroup_within(now, cgroup, &within, reterr);

	if (r < 0)
		return r;
	if (poll(&ended, 1, 0) != 0)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -ESRCH, "the container's process ended while it was being sealed");
	if (!within)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -EXDEV, "the container's process was moved from %s to %s", cgroup, now);
	return 0;
}

int nc_oci_tell_sealed(const struct nc_oci_container *container, struct nc_error *reterr)
{
	if (write(container->sealed_fd, "", 1) != 1)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "tell the runtime's hook");
	close(container->pidfd);
	close(container->sealed_fd);
	return 0;
}

/* ---- the hook's side ---------------------------------------------------------------------------------------------------------------------------- */

/* 1: it is sealed; 0: the supervisor has given up, or ended without a word. Nothing but system calls: the supervisor is at work in the same memory. */
static int await_sealed(int fd)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	char byte;
	int r;

	do
		r = poll(&readable, 1, CREATE_MS + 5000);
	while (r < 0 && errno == EINTR);
	return r <= 0 ? -ETIMEDOUT : read(fd, &byte, 1) == 1;
}

/* It undoes what it did; a hung one is ended, and what it leaves has no owner. */
static void await_end(pid_t child)
{
	for (int i = 0; i < 500; i++) {
		if (waitpid(child, NULL, WNOHANG) != 0)
			return;
		poll(NULL, 0, 10);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
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

/* Returns only when it failed: what lives in this memory is the supervisor then, and the hook leaves by the shortest way. */
static int with_supervisor(struct supervisor *supervisor, struct nc_oci_container *container, struct nc_error *reterr)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	NC_CLOSE int here = -1;
	int ends[2], r;
	pid_t child;

	if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "prepare the container's supervisor");
	here = supervisor->hook_fd = ends[0];
	container->sealed_fd = ends[1];
	/* However this process ends, be it by a runtime that would wait no longer: the kernel must not write into what the C library knows of its thread. */
	syscall(SYS_set_tid_address, NULL);
	child = clone(supervise, (char *)stack + STACK_BYTES, CLONE_VM | SIGCHLD, supervisor);
	r = child < 0 ? -errno : 0;
	close(ends[1]);
	if (r < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "start the container's supervisor");
	r = await_sealed(here);
	if (r > 0)
		_exit(EXIT_SUCCESS);
	await_end(child);
	if (r < 0)
		return nc_error_set(reterr, NC_E_DEADLINE, r, "the container's supervisor does not answer");
	if (!supervisor->error.code)
		return nc_error_set(reterr, NC_E_SYSTEM, -ECHILD, "the container's supervisor ended without a word");
	*reterr = supervisor->error;
	return reterr->status;
}

int nc_oci_create(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_error *reterr)
{
	NC_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, state->pid, 0);
	NC_CLOSE int profile_fd = -1;
	char instance[NC_INSTANCE_NAME_MAX + 1], cgroup[NC_PATH_MAX], own_cgroup[NC_PATH_MAX], netns[64], profile[64];
	struct nc_oci_container container = {.id = state->id, .bundle = state->bundle, .pid = state->pid, .pidfd = pidfd, .cgroup = own_cgroup};
	struct nc_launch_options options = NC_LAUNCH_OPTIONS;
	struct supervisor supervisor = {.options = &options, .hook = getpid()};
	int r;

	if (pidfd < 0)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "open the container's process %d", state->pid);
	r = choose_profile(hook, state, &container, &profile_fd, reterr) ?: nc_cgroup_of_process(state->pid, own_cgroup, reterr) ?:
	    nc_cgroup_reach_of_process(state->pid, own_cgroup, cgroup, reterr);
	if (r < 0)
		return r;
	supervisor.profile_fd = profile_fd;
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
	return with_supervisor(&supervisor, &container, reterr);
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

/* A container that was sealed before an upgrade: its supervisor closes the evidence, and holds the claim until it has. */
static int wait_for_other(const struct nc_host_options *options, const char *name, struct nc_error *reterr)
{
	int64_t until = nc_now_ns() + STOP_MS * 1000000ll;
	struct nc_other other;
	int r;

	while ((r = nc_other_find(options, name, &other, reterr)) > 0 && other.owner_lives) {
		if (nc_now_ns() >= until)
			return nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "instance %s of another build, %s, still lives", name, other.build);
		poll(NULL, 0, 20);
	}
	return r < 0 ? r : 0;
}

int nc_oci_stop(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_error *reterr)
{
	char name[NC_INSTANCE_NAME_MAX + 1], evidence[NC_PATH_MAX];
	struct nc_host *host = NULL;
	struct nc_claim *claim;
	int r;

	nc_oci_instance(state->id, name);
	r = nc_host_open(hook->host, &host, reterr) ?: nc_claim_adopt(host, name, &claim, reterr);
	if (r == 0)
		r = end_kept(claim, name, reterr);
	else if (reterr->code == NC_E_INSTANCE_EXISTS)
		r = nc_launch_wait(hook->host, name, STOP_MS, evidence, reterr);
	nc_host_close(host);
	if (r < 0 && (reterr->code == NC_E_INSTANCE_UNKNOWN || reterr->code == NC_E_INSTANCE_OF_OTHER_BUILD || reterr->code == NC_E_HOST_DOWN))
		r = wait_for_other(hook->host, name, reterr);
	return r;
}
