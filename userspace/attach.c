/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.c - seals a cgroup that somebody else fills, and watches over it
 *
 * The kernel decides there as everywhere. What `run` does to a process before it may execute anything, somebody else must have done here: what of that can be
 * seen from outside is looked at, and all of it is named in the launch statement under `left_to_others`. The canary is a process of ours in that cgroup.
 *
 * Processes inside may be at work while the canary sings, so its counter must rise by at least what it tried, where `run` demands exactly that.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cleanup.h"
#include "json.h"
#include "launch_state.h"
#include "oci.h"
#include "watch.h"

static int open_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_open(&launch->canary, launch->claim, reterr);
}

static int prove_listeners(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_canary_prove(&launch->canary, reterr);
}

static int phase_outside(struct nc_launch *launch, struct nc_error *reterr)
{
	if (!launch->options->cgroup)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "no cgroup");
	return nc_phase_seal(launch, reterr)
		       ?: nc_attach_checks(launch->host, nc_claim_cgroup_fd(launch->claim, NC_AUTHORITY_WORKLOAD),
					   launch->provider == NC_PROVIDER_OCI, &launch->left_to_others, reterr);
}

/* In the workload's network namespace: the probe inherits it. */
static int probe(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_order order = nc_canary_order(&launch->canary);
	enum nc_reason expected = launch->images[0].mode == NC_MODE_NONE ? NC_REASON_MODE_NONE : NC_REASON_HOST_FLOOR;
	struct nc_report report;
	struct nc_counters before, after;
	int r = nc_claim_counters(launch->claim, NC_AUTHORITY_WORKLOAD, &before, reterr) ?: nc_launch_probe(launch, &order, &report, reterr) ?:
		nc_claim_counters(launch->claim, NC_AUTHORITY_WORKLOAD, &after, reterr);

	return r < 0 ? r : nc_canary_judge(&launch->canary, &report, expected, false, &before, &after, reterr);
}

static int phase_canary(struct nc_launch *launch, struct nc_error *reterr)
{
	/* clang-format off */
	return nc_launch_in_netns(launch, open_listeners, reterr) ?:
	       nc_claim_canary(launch->claim, NC_AUTHORITY_WORKLOAD, launch->canary.port_be, reterr) ?:
	       nc_launch_in_netns(launch, probe, reterr) ?:
	       nc_launch_in_netns(launch, prove_listeners, reterr) ?:
	       (nc_canary_close(&launch->canary), nc_claim_canary(launch->claim, NC_AUTHORITY_WORKLOAD, 0, reterr));
	/* clang-format on */
}

static int tell_hook(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = nc_oci_tell_sealed(launch->options->container, reterr);

	launch->sealed_told = r == 0;
	return r;
}

static int checkpoint(struct nc_launch *launch, struct nc_error *reterr)
{
	return nc_evidence_checkpoint(launch->evidence, "started", NULL, reterr);
}

/*
 * `sealed` is the last word of the start: whatever fails before it gives the cgroup back as it was, with all that lives there, and what fails after it ends the
 * instance with all that lives there, since somebody relies on the cordon. So nothing of the start is left for afterwards but, of a container, the checkpoint's
 * way to the disk: a runtime waits for its hook, and what has just begun to start is nobody's service yet.
 */
static int start(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_oci_container *container = launch->options->container;
	int r;

	/* clang-format off */
	r = (container ? nc_oci_still_there(container, launch->options->cgroup, reterr) : 0) ?:
	    nc_launch_ready(launch, reterr) ?:
	    nc_update_listen(launch, reterr) ?:
	    (container ? 0 : checkpoint(launch, reterr)) ?:
	    nc_launch_promise(launch, container ? tell_hook : nc_status_sealed, reterr);
	/* clang-format on */
	if (r < 0)
		return r;
	launch->started = true;
	launch->deadline_ns = 0;
	return container ? checkpoint(launch, reterr) : 0;
}

static int phase_supervise(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_watch watch;

	nc_watch_init(&watch, launch);
	watch.was_populated = launch->provider == NC_PROVIDER_OCI; /* the runtime's process stood there when it was sealed, and may be gone already */
	return start(launch, reterr) ?: nc_watch_cgroup(&watch, reterr);
}

static const struct nc_phase attach_phases[] = {
	{"profile", nc_phase_profile, nc_undo_profile},
	{"host", nc_phase_host, nc_undo_host},
	{"seal", phase_outside, nc_undo_seal},
	{"statement", nc_phase_statement, nc_undo_statement},
	{"canary", phase_canary, nc_undo_canary},
	{"supervise", phase_supervise, nc_undo_supervise},
	{"end", nc_phase_end, NULL},
};

int nc_launch_attach(const struct nc_launch_options *options, struct nc_launch_end *ret_end, struct nc_error *reterr)
{
	struct nc_launch launch;

	nc_launch_init(&launch, options, options->container ? NC_PROVIDER_OCI : NC_PROVIDER_ATTACH);
	return nc_launch_go(&launch, attach_phases, sizeof(attach_phases) / sizeof(attach_phases[0]), ret_end, reterr);
}
