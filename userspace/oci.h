/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * oci.h - what a container runtime hands to its hooks, and what netcordon makes of it
 *
 *   state on standard input -> struct nc_oci_state -> profile from the operator's folder, cgroup from the kernel -> launch.h
 *
 * The state is written by the runtime (OCI runtime specification, "State"), but its annotations are the container author's: of those a name is taken, and
 * nothing else. Whatever cannot be read or is not what it should be is refused, and the runtime does not start the container then.
 */
#ifndef NC_OCI_H
#define NC_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "error.h"
#include "loader.h"

#define NC_OCI_STATE_MAX (4u << 20) /* bytes: an orchestrator allows a quarter of a megabyte of annotations for each container */
#define NC_OCI_STATE_MS 5000	    /* from the first look to the end of file */
#define NC_OCI_ANNOTATION "netcordon.profile"
#define NC_OCI_PROFILE_NAME_MAX 64

/* What the hook is asked for: the status that the state gives says in which of a container's hooks it runs. */
enum nc_oci_moment {
	NC_OCI_CREATE, /* creating or created: nothing of the container's has run yet */
	NC_OCI_STOP,   /* stopped */
};

struct nc_oci_state {
	enum nc_oci_moment moment;
	char *id, *bundle; /* never NULL */
	char *profile;	   /* what the annotation names, checked for its form; NULL: there is none */
	pid_t pid;	   /* of the container's first process, in the runtime's pid namespace; 0 when stopped */
};

/* OCI_STATE_INVALID. Members that nobody here needs are left alone, as the specification wants it. */
int nc_oci_state_parse(const char *text, size_t length, struct nc_oci_state *ret_state, struct nc_error *reterr);
/* Reads `fd` to its end and parses it. DEADLINE when the end does not come in `timeout_ms`, OCI_STATE_INVALID for more than NC_OCI_STATE_MAX. */
int nc_oci_state_read(int fd, int timeout_ms, struct nc_oci_state *ret_state, struct nc_error *reterr);
void nc_oci_state_free(struct nc_oci_state *state);

/* The instance's name for a container's id: "oci-" and the id or, where that cannot be a name, its beginning and a digest of the whole. */
void nc_oci_instance(const char *id, char ret_name[NC_INSTANCE_NAME_MAX + 1]);

/*
 * Opens NAME.json in the operator's folder. PROFILE_UNTRUSTED unless folder and file are root's and nobody else can write them, and neither is a symbolic
 * link: what is sealed is what the operator put there, whoever chose the name.
 */
int nc_oci_profile_open(const char *folder, const char *name, int *ret_fd, struct nc_error *reterr);

/* The container of a hook that waits. */
struct nc_oci_container {
	pid_t pid;
	int pidfd, sealed_fd;
	const char *cgroup; /* of the process; the sealed one, or below it */
	/* what the launch statement says about it */
	const char *id, *bundle;
	const char *profile; /* the name in the profile folder */
	bool annotated;	     /* the container's author chose it; else it is the operator's default */
};

struct nc_oci_hook {
	const struct nc_host_options *host;
	const char *provider_revision, *key, *attester, *evidence_parent;
	const char *profiles;	     /* the folder */
	const char *default_profile; /* a name in it; NULL: a container without an annotation is refused */
	const union nc_address *upstreams;
	size_t upstream_count;
	uint64_t log_bytes; /* as launch.h has it */
};

/* Seals the container of `state` and leaves a supervisor behind. When every phase of launch.h up to `sealed` has been gone through, the calling process ends
 * with status 0: its memory is the supervisor's. It returns when one has failed, and nothing is left. */
int nc_oci_create(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_error *reterr);
/* Waits until the container's instance is gone and its evidence closed. Ends nothing that lives: DEADLINE then. One that is not there is no error. */
int nc_oci_stop(const struct nc_oci_hook *hook, const struct nc_oci_state *state, struct nc_error *reterr);

/* In the supervisor, before it is called sealed: CGROUP_INVALID unless the process that the hook was told of still lives, in this very cgroup. */
int nc_oci_still_there(const struct nc_oci_container *container, const char *cgroup, struct nc_error *reterr);
/* In the supervisor: the hook may go, and the container begin. */
int nc_oci_tell_sealed(const struct nc_oci_container *container, struct nc_error *reterr);

/* ---- the outside check ---------------------------------------------------------------------------------------------------------------------------- */

/* What was found about one cgroup. */
struct nc_container_check {
	char cgroup[NC_PATH_MAX];
	char instance[NC_INSTANCE_NAME_MAX + 1]; /* "" when no live instance is sealed there or above */
	char why[256];				 /* "" when the cordon is whole; else what is missing, for people */
	bool supervised;			 /* somebody answers names and records events */
	unsigned processes, strays;		 /* seen in its pid namespace; outside the sealed cgroup */
	struct nc_other other;			 /* whose programs stand there, where no instance of this build is sealed */
};

/* Asks the kernel about the cgroup of process `pid`, or with pid 0 about `path`. Found wanting is no error: ret_check->why says it. `host` is what `options`
 * name, NULL: down. */
int nc_container_check(const struct nc_host_options *options, struct nc_host *host, pid_t pid, const char *path, struct nc_container_check *ret_check,
		       struct nc_error *reterr);

#endif
