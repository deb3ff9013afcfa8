/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exec.c - a command more inside a live instance, under one of its two authorities
 *
 * It leans on what the instance's supervisor left in the instance's folder (profile, init's process, network namespace) and on the kernel; of the running
 * supervisor itself it asks nothing, so it works while that is busy or gone. A lock in the folder, held until this process ends, and a look into the cgroup see
 * to it that an authority has at most one live tree.
 *
 * The plane's command has a user id of its own and gets the credentials that the profile names by --plane-env-fd, which only the process that becomes that
 * command reads. Before it starts, the environment and arguments of everything that runs under the workload's authority are searched for their values.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "cleanup.h"
#include "exec_record.h"
#include "instance_state.h"
#include "json.h"
#include "launch_state.h"
#include "other_build.h"
#include "watch.h"

/*
 * How much of environments and arguments is searched for the plane's credentials. The workload chooses how large they are (PR_SET_MM_MAP makes them
 * any size), so more must not keep the plane from starting: of each process its first part is searched, and the record says of how many that was not
 * all.
 */
#define SEEN_OF_ONE (1u << 20)
#define SEEN_MAX (8u << 20)

/* ---- the instance ------------------------------------------------------------------------------------------------------------------------------------- */

static int take_lock(struct nc_launch *launch, struct nc_error *reterr)
{
	bool populated;
	int r;

	launch->lock_fd = nc_exec_lock_open(launch, launch->authority, O_CREAT, reterr);
	if (launch->lock_fd < 0)
		return launch->lock_fd;
	r = flock(launch->lock_fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (r < 0 && r != -EWOULDBLOCK)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "lock instance %s for exec", launch->instance);
	if (r == 0) {
		r = nc_claim_populated(launch->claim, launch->authority, &populated, reterr);
		if (r < 0)
			return r;
		if (!populated)
			return 0;
	}
	return nc_error_set(reterr, NC_E_INSTANCE_BUSY, -EBUSY, "instance %s: this authority already has a live process tree", launch->instance);
}

/* Asked for an early answer, and once more when the child is inside and has done nothing yet: whoever ends the instance has either said so by then,
 * or finds it. */
static int refuse_ending(const struct nc_launch *launch, struct nc_error *reterr)
{
	bool ending;
	int r = nc_claim_ending(launch->claim, &ending, reterr);

	if (r < 0 || !ending)
		return r;
	return nc_error_set(reterr, NC_E_INSTANCE_BUSY, -ESHUTDOWN, "instance %s is being ended: nothing starts in it any more", launch->instance);
}

/* The supervisor's descriptor of the namespace with this cookie, -1: it has none. What a descriptor is says the kernel: the link's text is a path where the
 * namespace was bound to one. Only what shows as a namespace is opened, because opening anything else could wait, or do something. */
static int held_by(pid_t supervisor, uint64_t cookie)
{
	char folder[32], path[300];
	struct nc_error ignored = {0};
	struct dirent *entry;
	int found = -1;
	DIR *list;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)supervisor);
	list = opendir(folder);
	while (list && found < 0 && (entry = readdir(list))) {
		NC_CLOSE int fd = -1;
		struct statfs lies;
		uint64_t seen;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (statfs(path, &lies) < 0 || lies.f_type != NSFS_MAGIC)
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET && !nc_netns_cookie(fd, &seen, &ignored) && seen == cookie)
			found = NC_TAKE_FD(fd);
	}
	if (list)
		closedir(list);
	return found;
}

/*
 * The network namespace that was sealed is init's, whatever path it once had. An instance that was attached has no init: there the supervisor holds it, by a
 * descriptor where one was given by name, else by living in it.
 */
static int enter_network(struct nc_launch *launch, const struct nc_instance_state *state, struct nc_error *reterr)
{
	NC_CLOSE int init = -1;
	char path[64];
	uint64_t cookie;
	int r;

	if (state->init.pid > 0) {
		init = nc_process_open(&state->init);
		if (init < 0)
			return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, init, "instance %s has ended", launch->instance);
		snprintf(path, sizeof(path), "/proc/%d/ns/net", state->init.pid);
	} else {
		launch->netns_fd = held_by(state->supervisor.pid, state->netns_cookie);
		snprintf(path, sizeof(path), "/proc/%d/ns/net", state->supervisor.pid);
	}
	if (launch->netns_fd < 0)
		launch->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	launch->own_netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (launch->netns_fd < 0 || launch->own_netns_fd < 0)
		return nc_error_sys(reterr, NC_E_INSTANCE_UNKNOWN, -errno, "open the network namespace of instance %s", launch->instance);
	r = nc_netns_cookie(launch->netns_fd, &cookie, reterr);
	if (r < 0)
		return r;
	if (cookie != state->netns_cookie)
		return nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ESTALE, "instance %s: its network namespace is not the one that was sealed",
				    launch->instance);
	return 0;
}

static int read_profile(struct nc_launch *launch, struct nc_error *reterr)
{
	char path[NC_PATH_MAX + 32];
	struct nc_policy_names names = {0};
	struct nc_settings settings;
	int r;

	snprintf(path, sizeof(path), "%s/" NC_INSTANCE_PROFILE, nc_claim_folder(launch->claim));
	r = nc_host_settings(launch->host, NULL, &settings, reterr) ?: nc_profile_read(path, &launch->profile_text, &launch->profile_length, reterr) ?:
	    nc_profile_parse(launch->profile_text, launch->profile_length, &settings, &launch->profile, reterr);
	r = r ?: nc_policy_compile(launch->profile, launch->authority, &launch->images[launch->authority == NC_AUTHORITY_PLANE], &names, reterr);
	free(names.texts); /* the supervisor resolves them: only the mode is of interest here */
	return r;
}

static int find_instance(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_launch_options *options = launch->options;
	int r = nc_host_open(options->host, &launch->host, reterr) ?: nc_claim_find(launch->host, options->instance, &launch->claim, reterr);

	if (r == 0)
		snprintf(launch->runtime, sizeof(launch->runtime), "%s", nc_host_folder(launch->host));
	return nc_other_error(options->host, options->instance, r, reterr);
}

static int phase_instance(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_launch_options *options = launch->options;
	struct nc_instance_state state;

	if (!options->instance || !options->command || !options->command[0])
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "exec needs an instance and a command");
	launch->authority = options->authority ? options->authority : NC_AUTHORITY_PLANE;
	if (options->plane_env_fd >= 0 && launch->authority != NC_AUTHORITY_PLANE)
		return nc_error_set(reterr, NC_E_CREDENTIAL_LEAK, -EACCES, "--plane-env-fd belongs to the plane's authority");
	snprintf(launch->instance, sizeof(launch->instance), "%.*s", NC_INSTANCE_NAME_MAX, options->instance);
	/* clang-format off */
	return nc_stdio_open(options->pty, &launch->stdio, reterr) ?: /* first of all: a closed 0-2 must not become something else */
	       nc_launch_block_signals(launch, reterr) ?:
	       find_instance(launch, reterr) ?:
	       nc_instance_state_read(nc_claim_folder(launch->claim), &state, reterr) ?:
	       read_profile(launch, reterr) ?:
	       refuse_ending(launch, reterr) ?:
	       take_lock(launch, reterr) ?:
	       enter_network(launch, &state, reterr) ?:
	       nc_mount_plan(&launch->mounts, reterr);
	/* clang-format on */
}

static void undo_instance(struct nc_launch *launch)
{
	if (launch->claim)
		nc_claim_abandon(launch->claim);
	launch->claim = NULL;
	if (launch->lock_fd >= 0)
		close(launch->lock_fd);
	launch->lock_fd = -1;
	nc_undo_profile(launch);
	nc_undo_host(launch);
}

/* ---- what the new process will be ------------------------------------------------------------------------------------------------------------------------ */

static int take_identity(struct nc_launch *launch, struct nc_error *reterr)
{
	uint64_t generation = nc_claim_generation(launch->claim);
	int r = 0;

	if (launch->authority == NC_AUTHORITY_PLANE)
		nc_identity_own(generation, NC_UID_PLANE, &launch->identity);
	else
		r = nc_identity_workload(launch->profile, generation, &launch->identity, reterr);
	return r < 0 ? r : nc_stdio_give(&launch->stdio, launch->identity.uid, launch->identity.gid, reterr);
}

/* The file as far as there is room; false when there was more in it. */
static bool append_file(struct nc_launch *launch, pid_t pid, const char *name)
{
	size_t room = SEEN_MAX - launch->seen_length < SEEN_OF_ONE ? SEEN_MAX - launch->seen_length : SEEN_OF_ONE;
	char path[64], more;
	NC_CLOSE int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* it has ended */
	while (room && (n = read(fd, launch->seen_by_workload + launch->seen_length, room)) > 0) {
		launch->seen_length += (size_t)n;
		room -= (size_t)n;
	}
	return room || read(fd, &more, 1) <= 0;
}

static int look_at_process(void *context, pid_t pid)
{
	struct nc_launch *launch = context;
	bool whole = append_file(launch, pid, "cmdline");

	whole &= append_file(launch, pid, "environ");
	launch->unsearched += !whole;
	return 0;
}

static int look_at_workload(struct nc_launch *launch, struct nc_error *reterr)
{
	int r;

	if (launch->authority != NC_AUTHORITY_PLANE || launch->options->plane_env_fd < 0)
		return 0;
	launch->seen_by_workload = malloc(SEEN_MAX);
	r = launch->seen_by_workload ? nc_cgroup_each_process_below(nc_claim_cgroup_fd(launch->claim, NC_AUTHORITY_WORKLOAD), look_at_process, launch)
				     : -ENOMEM;
	if (r < 0)
		nc_error_sys(reterr, NC_E_SYSTEM, r, "list the workload's processes");
	return r;
}

static int phase_process(struct nc_launch *launch, struct nc_error *reterr)
{
	/* clang-format off */
	return take_identity(launch, reterr) ?:
	       nc_host_verify(launch->host, nc_claim_cgroup_fd(launch->claim, launch->authority), &launch->effective, reterr) ?:
	       nc_launch_choose_filter(launch, true, reterr) ?:
	       look_at_workload(launch, reterr);
	/* clang-format on */
}

static void undo_process(struct nc_launch *launch)
{
	free(launch->seen_by_workload);
	launch->seen_by_workload = NULL;
	nc_seccomp_free(&launch->seccomp);
	nc_effective_free(&launch->effective);
}

/* ---- canary, supervision, end --------------------------------------------------------------------------------------------------------------------------- */

static int open_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_open(&launch->canary, launch->claim, reterr);
}

static int phase_canary(struct nc_launch *launch, struct nc_error *reterr)
{
	/* The slot is its owner's to change, so the listener's port is not on the floor here: loopback is refused because it is not public. Where this
	 * authority's loopback is open that would get through, and the launch has shown the floor already. */
	const struct nc_image *image = &launch->images[launch->authority == NC_AUTHORITY_PLANE];

	if (image->flags & NC_SLOT_LOOPBACK_OPEN)
		return nc_launch_silent_canary(launch, reterr);
	return nc_launch_in_netns(launch, open_listeners, reterr)
		       ?: nc_launch_canary(launch, image->mode == NC_MODE_NONE ? NC_REASON_MODE_NONE : NC_REASON_ADDRESS_NOT_PUBLIC, reterr)
		       ?: (nc_canary_close(&launch->canary), 0);
}

static int phase_supervise(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_watch watch;
	int r = nc_exec_record(launch, reterr);

	if (r < 0)
		return r;
	r = refuse_ending(launch, reterr) ?: nc_launch_let_go(launch, reterr);
	if (r < 0) {
		nc_exec_record_drop(launch);
		return r;
	}
	/* clang-format off */
	return (nc_watch_init(&watch, launch), nc_status_started(launch, reterr)) ?:
	       nc_exec_record(launch, reterr) ?:
	       nc_watch_run(&watch, reterr);
	/* clang-format on */
}

static int phase_end(struct nc_launch *launch, struct nc_error *reterr)
{
	nc_child_end(&launch->child, NC_CHILD_END_MS);
	return nc_exec_record(launch, reterr) ?: nc_status_exited(launch, reterr);
}

static const struct nc_phase exec_phases[] = {
	{"instance", phase_instance, undo_instance}, {"process", phase_process, undo_process},		{"birth", nc_phase_birth, nc_undo_birth},
	{"canary", phase_canary, nc_undo_canary},    {"supervise", phase_supervise, nc_undo_supervise}, {"end", phase_end, NULL},
};

int nc_launch_exec(const struct nc_launch_options *options, struct nc_launch_end *ret_end, struct nc_error *reterr)
{
	struct nc_launch launch;

	nc_launch_init(&launch, options, NC_PROVIDER_EXEC);
	return nc_launch_go(&launch, exec_phases, sizeof(exec_phases) / sizeof(exec_phases[0]), ret_end, reterr);
}
