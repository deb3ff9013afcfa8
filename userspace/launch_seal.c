/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_seal.c - phases `host` and `seal`: the kernel's side is what it should be, and this instance's policy is in it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "instance_state.h"
#include "launch_state.h"
#include "mutants.h"

int nc_phase_host(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = nc_host_up(launch->options->host, &launch->host, reterr);

	if (r < 0)
		return r;
	snprintf(launch->runtime, sizeof(launch->runtime), "%s", nc_host_folder(launch->host));
	return nc_floor_open(launch->host, &launch->floor, reterr);
}

void nc_undo_host(struct nc_launch *launch)
{
	nc_floor_close(launch->floor);
	launch->floor = NULL;
	nc_host_close(launch->host);
	launch->host = NULL;
}

/* ---- the system call filter, by what the hooks leave open ------------------------------------------------------------------------------------- */

/* Is the path closed, and by something other than `ours`, the measure that this launch would have to take itself? */
static bool closed_without(const struct nc_closure *rows, size_t count, const char *path, const char *ours)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].path, path) == 0)
			return rows[i].state == NC_CLOSURE_IN_FORCE && strcmp(rows[i].mechanism, ours) != 0;
	}
	return false; /* a row that is not there closes nothing */
}

/* What the closure table says that only the filter closes, the filter must refuse. */
int nc_launch_choose_filter(struct nc_launch *launch, bool starts_process, struct nc_error *reterr)
{
	struct nc_closure_facts facts = {
		.effective = &launch->effective,
		.true_root = nc_host_at_top(launch->host),
		.pages_unseen = nc_host_pages_unseen(launch->host),
		.starts_process = starts_process,
		.unix_gap_accepted = launch->profile->unix_gap_accepted,
		.names_open = nc_profile_names_open(launch->profile),
	};
	const struct nc_closure *rows;
	size_t count;

	nc_closures_of(&facts, &rows, &count);
	launch->closures = rows;
	launch->closure_count = count;
	launch->seccomp_choice.refuse_unix = !launch->profile->unix_gap_accepted && !(closed_without(rows, count, "unix_pathname", "seccomp_unix") &&
										      closed_without(rows, count, "unix_abstract", "seccomp_unix"));
	launch->seccomp_choice.allow_io_uring = closed_without(rows, count, "io_uring_socket", "seccomp");
	if (NC_MUTANT_OFF("unix")) /* the same check, where no hook makes it */
		launch->seccomp_choice.refuse_unix = false;
	if (NC_MUTANT_OFF("ring_filter"))
		launch->seccomp_choice.allow_io_uring = true;
	return starts_process ? nc_seccomp_filter(launch->runtime, &launch->seccomp_choice, &launch->seccomp, reterr) : 0;
}

/* ---- seal --------------------------------------------------------------------------------------------------------------------------------------- */

static int choose_name(struct nc_launch *launch, struct nc_error *reterr)
{
	uint64_t random;

	if (launch->options->instance) {
		if (strlen(launch->options->instance) > NC_INSTANCE_NAME_MAX)
			return nc_error_set(reterr, NC_E_INSTANCE_INVALID, -EINVAL, "the instance's name is longer than %d bytes",
					    NC_INSTANCE_NAME_MAX);
		snprintf(launch->instance, sizeof(launch->instance), "%s", launch->options->instance);
		return 0;
	}
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "getrandom");
	snprintf(launch->instance, sizeof(launch->instance), "i-%016" PRIx64, random);
	return 0;
}

int nc_launch_start_edge(struct nc_launch *launch, struct nc_error *reterr)
{
	uid_t uid = nc_uid_of(nc_claim_generation(launch->claim), NC_UID_EDGE);

	if (!launch->names[0].count && !launch->names[1].count)
		return launch->evidence ? nc_launch_events_open(launch, reterr)
					: 0; /* nc_launch_announce opens it: a child is born with a copy of each page */
	nc_launch_events_close(launch);	     /* a ring has one reader */
	return nc_edge_start(launch->edge_program, nc_claim_ring_fd(launch->claim), nc_claim_generation(launch->claim), uid, launch->runtime,
			     launch->resolvers, &launch->edge, reterr);
}

static int take_identity(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = 0;

	if (nc_provider_seals_others(launch->provider)) /* of the canary's process only: the workload's user is somebody else's choice */
		nc_identity_own(nc_claim_generation(launch->claim), NC_UID_WORKLOAD, &launch->identity);
	else
		r = nc_identity_workload(launch->profile, nc_claim_generation(launch->claim), &launch->identity, reterr);
	return r < 0 ? r : nc_stdio_give(&launch->stdio, launch->identity.uid, launch->identity.gid, reterr);
}

static int make_limits(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_limits_make(&launch->profile->process, nc_claim_cgroup_fd(launch->claim, NC_AUTHORITY_WORKLOAD),
			      nc_claim_cgroup_path(launch->claim, NC_AUTHORITY_WORKLOAD), nc_claim_generation(launch->claim), &launch->limits,
			      reterr);
}

static int seal_both(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = nc_netns_cookie(launch->netns_fd, &launch->netns_cookie, reterr);

	for (int i = 0; r == 0 && i < 2; i++) {
		const struct nc_seal seal = {.image = &launch->images[i], .netns_cookie = launch->netns_cookie};

		r = nc_claim_seal(launch->claim, i == 0 ? NC_AUTHORITY_WORKLOAD : NC_AUTHORITY_PLANE, &seal, reterr);
	}
	return r;
}

static int make_cgroups(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_provider_seals_others(launch->provider) ? nc_claim_take_cgroup(launch->claim, launch->options->cgroup, reterr)
							  : nc_claim_make_cgroups(launch->claim, reterr);
}

static bool keeps(const struct nc_launch *launch)
{
	return launch->options->on_death == NC_ON_DEATH_KEEP;
}

int nc_launch_promise(struct nc_launch *launch, int (*tell)(struct nc_launch *launch, struct nc_error *reterr), struct nc_error *reterr)
{
	struct nc_error ignored;
	int r = nc_claim_announce(launch->claim, keeps(launch), reterr) ?: tell(launch, reterr);

	if (r < 0)
		nc_claim_withdraw(launch->claim, &ignored);
	return r;
}

int nc_phase_seal(struct nc_launch *launch, struct nc_error *reterr)
{
	/* for an update too, whatever stands there then; where there is none, who needs it is told */
	launch->edge_program = nc_edge_open();
	/* clang-format off */
	return choose_name(launch, reterr) ?:
	       nc_claim_new(launch->host, launch->instance, &launch->claim, reterr) ?:
	       nc_launch_names_open(launch, reterr) ?:
	       nc_launch_start_edge(launch, reterr) ?: /* gets ready while the rest goes on */
	       take_identity(launch, reterr) ?:
	       make_cgroups(launch, reterr) ?:
	       (launch->provider == NC_PROVIDER_RUN ? make_limits(launch, reterr) : 0) ?:
	       nc_host_verify(launch->host, nc_claim_cgroup_fd(launch->claim, NC_AUTHORITY_WORKLOAD), &launch->effective, reterr) ?:
	       nc_launch_choose_filter(launch, launch->provider == NC_PROVIDER_RUN, reterr) ?:
	       seal_both(launch, reterr) ?:
	       nc_launch_names_publish(launch, reterr) ?:
	       (launch->provider == NC_PROVIDER_RUN && keeps(launch) ? nc_claim_keep(launch->claim, true, reterr) : 0);
	/* clang-format on */
}

void nc_undo_seal(struct nc_launch *launch)
{
	struct nc_error ignored; /* the launch has its own error; what could not be removed is found by `host status` */
	bool taken = launch->claim && nc_provider_seals_others(launch->provider) && !launch->sealed_told &&
		     nc_claim_cgroup_fd(launch->claim, NC_AUTHORITY_WORKLOAD) >= 0;
	int r;

	if (launch->update_fd >= 0)
		close(launch->update_fd);
	launch->update_fd = -1;
	nc_seccomp_free(&launch->seccomp);
	nc_effective_free(&launch->effective);
	nc_launch_events_close(launch);
	nc_edge_end(&launch->edge);
	nc_forget_fd(&launch->edge_program);
	nc_launch_names_close(launch);
	r = nc_claim_release(launch->claim, &ignored);
	launch->claim = NULL;
	if (taken)
		launch->given_back = r < 0 ? NC_NOT_GIVEN_BACK : NC_GIVEN_BACK;
	nc_limits_remove(&launch->limits);
}
