/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_profile.c - phase `profile`: everything that was handed over is read once and checked, before anything is created
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "admission.h"
#include "cleanup.h"
#include "host.h"
#include "json.h"
#include "launch_state.h"
#include "loader.h"
#include "profile.h"

/* Signals that are handed on to the command. */
static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

int nc_launch_block_signals(struct nc_launch *launch, struct nc_error *reterr)
{
	struct sigaction default_action = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	/* A caller that ignores SIGCHLD would have the kernel reap our children before we can (L07). A broken pipe is an error, not a death. */
	if (sigaction(SIGCHLD, &default_action, NULL) < 0 || sigaction(SIGPIPE, &ignore, NULL) < 0 ||
	    sigprocmask(SIG_BLOCK, &set, &launch->saved_mask) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "block signals");
	launch->mask_saved = true;
	launch->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return launch->signal_fd < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "signalfd") : 0;
}

/* Signals that came too late for the command are not for whoever called us either. */
static void unblock_signals(struct nc_launch *launch)
{
	struct signalfd_siginfo late;

	while (launch->signal_fd >= 0 && read(launch->signal_fd, &late, sizeof(late)) > 0)
		;
	if (launch->signal_fd >= 0)
		close(launch->signal_fd);
	launch->signal_fd = -1;
	if (launch->mask_saved)
		sigprocmask(SIG_SETMASK, &launch->saved_mask, NULL);
	launch->mask_saved = false;
}

/* The rules of admission.h for this program's own capability. Its grade is the same whichever way it enforces, and it has no receipt. */
int nc_launch_admit(const struct nc_launch *launch, const struct nc_profile *profile, struct nc_error *reterr)
{
	static const enum nc_own_provider own_of[] = {[NC_PROVIDER_RUN] = NC_OWN_RUN,
						      [NC_PROVIDER_ATTACH] = NC_OWN_ATTACH,
						      [NC_PROVIDER_OCI] = NC_OWN_OCI,
						      [NC_PROVIDER_EXEC] = NC_OWN_RUN};
	struct nc_capability own;
	int r;

	nc_capability_own(own_of[launch->provider], &own);
	r = nc_admit(profile, &own, NULL, reterr);
	if (r == 0)
		return 0;
	snprintf(reterr->pointer, sizeof(reterr->pointer), "/network/required_egress_certification");
	return nc_error_hint(reterr, "see `netcordon admit`");
}

static int read_binding(struct nc_launch *launch, struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	NC_JSON json_t *binding = NULL;
	size_t length;
	int r;

	if (!launch->options->binding)
		return 0;
	r = nc_profile_read(launch->options->binding, &text, &length, reterr);
	if (r < 0) {
		reterr->code = NC_E_BINDING_INVALID;
		return r;
	}
	r = nc_json_parse(text, length, NC_E_BINDING_INVALID, &binding, reterr);
	if (r < 0)
		return r;
	if (!json_is_object(binding))
		return nc_error_set(reterr, NC_E_BINDING_INVALID, -EINVAL, "%s is not a JSON object", launch->options->binding);
	launch->binding = NC_TAKE_PTR(binding);
	return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int open_netns(struct nc_launch *launch, struct nc_error *reterr)
{
	const char *path = launch->options->netns;

	if (!path)
		return 0;
	launch->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (launch->netns_fd < 0) {
		int r = nc_error_sys(reterr, NC_E_PROCESS_INVALID, -errno, "open network namespace %s", path);

		return strchr(path, '/') ? r
					 : nc_error_hint(reterr, "--netns takes a path: what `ip netns add %s` makes is /run/netns/%s", path, path);
	}
	if (ioctl(launch->netns_fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		return nc_error_set(reterr, NC_E_PROCESS_INVALID, -EINVAL, "%s is not a network namespace", path);
	launch->own_netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return launch->own_netns_fd < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open /proc/self/ns/net") : 0;
}

/* The programs know an instance's network namespace by its cookie, which kernels before 5.14 tell nobody in user space. */
static int check_named(int netns_fd, struct nc_error *reterr)
{
	uint64_t cookie;
	int r = nc_netns_cookie(netns_fd, &cookie, reterr);

	if (r < 0 || cookie)
		return r;
	nc_error_set(reterr, NC_E_HOST_UNSUPPORTED, -EOPNOTSUPP,
		     "the profile opens loopback, and this kernel (before 5.14) does not say which network namespace a socket is in");
	snprintf(reterr->pointer, sizeof(reterr->pointer), "/loopback");
	return nc_error_hint(reterr, "leave \"loopback\" out of the profile, or use Linux 5.14 or newer");
}

/* An open loopback of the host's own network namespace would reach everything that listens on the host. */
int nc_launch_check_loopback(const struct nc_launch *launch, const struct nc_profile *profile, struct nc_error *reterr)
{
	struct stat workload, own, host;
	NC_CLOSE int host_fd = -1;

	if (!profile->loopback_own_netns)
		return 0;
	host_fd = nc_netns_first();
	if (host_fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, host_fd, "look at the host's network namespace");
	if (stat("/proc/self/ns/net", &own) < 0 || (launch->netns_fd >= 0 && fstat(launch->netns_fd, &workload) < 0) || fstat(host_fd, &host) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "look at the network namespaces");
	if (launch->netns_fd >= 0 && !same_file(&workload, &host) && !same_file(&workload, &own))
		return check_named(launch->netns_fd, reterr);
	nc_error_set(reterr, NC_E_PROCESS_INVALID, -EINVAL, "the profile opens loopback, and the network namespace is the host's own or netcordon's");
	snprintf(reterr->pointer, sizeof(reterr->pointer), "/loopback");
	return nc_error_hint(reterr, "name a private network namespace with --netns");
}

/* What is visible in the arguments may not be what only the plane may have. */
static int check_arguments(const struct nc_launch *launch, struct nc_error *reterr)
{
	for (char *const *name = launch->profile->plane_credentials; name && *name; name++) {
		size_t length = strlen(*name);

		for (char *const *argument = launch->options->command; argument && *argument; argument++) {
			if (strncmp(*argument, *name, length) == 0 && (*argument)[length] == '=')
				return nc_error_set(reterr, NC_E_CREDENTIAL_LEAK, -EACCES, "an argument sets %s, a credential of the plane", *name);
		}
	}
	return 0;
}

int nc_launch_compile(const struct nc_profile *profile, const struct nc_names before[2], struct nc_image images[2], struct nc_names names[2],
		      struct nc_error *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		struct nc_policy_names list = {0};

		r = nc_policy_compile(profile, i ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD, &images[i], &list, reterr);
		r = r < 0 ? r : nc_names_make(&list, before ? &before[i] : NULL, &images[i], &names[i], reterr);
		free(list.texts);
	}
	return r;
}

static int read_profile(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_host_options *host = launch->options->host;
	const struct nc_settings settings = nc_prefix_settings(host->nat64, host->nat64_count);
	int r = nc_profile_read(launch->options->profile, &launch->profile_text, &launch->profile_length, reterr);

	return r < 0 ? r : nc_profile_parse(launch->profile_text, launch->profile_length, &settings, &launch->profile, reterr);
}

int nc_phase_profile(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_launch_options *options = launch->options;

	if (launch->provider == NC_PROVIDER_RUN && (!options->command || !options->command[0]))
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "no command");
	if (!options->profile || !options->key)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "a launch needs a profile and a key");
	/* clang-format off */
	return read_profile(launch, reterr) ?:
	       nc_launch_admit(launch, launch->profile, reterr) ?:
	       nc_launch_compile(launch->profile, NULL, launch->images, launch->names, reterr) ?:
	       read_binding(launch, reterr) ?:
	       check_arguments(launch, reterr) ?:
	       (nc_provider_seals_others(launch->provider) ? 0 : nc_stdio_open(options->pty || launch->profile->process.pty, &launch->stdio, reterr)) ?:
	       nc_launch_block_signals(launch, reterr) ?:
	       open_netns(launch, reterr) ?:
	       nc_launch_check_loopback(launch, launch->profile, reterr) ?:
	       nc_mount_plan(&launch->mounts, reterr) ?:
	       nc_key_load_secret(options->key, &launch->key, reterr);
	/* clang-format on */
}

void nc_undo_profile(struct nc_launch *launch)
{
	nc_key_free(launch->key);
	launch->key = NULL;
	nc_mount_plan_free(&launch->mounts);
	nc_forget_fd(&launch->netns_fd);
	nc_forget_fd(&launch->own_netns_fd);
	nc_stdio_handed_over(&launch->stdio);
	nc_stdio_close(&launch->stdio);
	unblock_signals(launch);
	json_decref(launch->binding);
	launch->binding = NULL;
	nc_names_free(&launch->names[0]);
	nc_names_free(&launch->names[1]);
	nc_image_free(&launch->images[0]);
	nc_image_free(&launch->images[1]);
	nc_profile_free(launch->profile);
	launch->profile = NULL;
	free(launch->profile_text);
	launch->profile_text = NULL;
}
