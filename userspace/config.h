/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * config.h - the operator's one file: /etc/netcordon/netcordon.conf
 *
 * A JSON object, read with the same strictness as a profile (no unknown, duplicate or case-variant member, no comment), since an operator who
 * misspells "floor" must hear of it. It exists because hooks are started without an environment. Where the file does not exist the defaults hold;
 * a file that exists and cannot be read, or that others may write, is an error.
 */
#ifndef NC_CONFIG_H
#define NC_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include "error.h"
#include "netcordon_abi.h"

#define NC_CONFIG_PATH "/etc/netcordon/netcordon.conf"
#define NC_CONFIG_VERSION 1
#define NC_EVIDENCE_FOLDER "/var/lib/netcordon/evidence"
#define NC_PROFILE_FOLDER "/etc/netcordon/profiles"
#define NC_KEY_PATH "/etc/netcordon/attester.pem"

/*
 * Members of the file: name and what it is. The manual prints this table.
 */
#define NC_CONFIG_MEMBERS(X)                                                                                                                         \
	X(version, "the file's version: 1; required")                                                                                                \
	X(root, "cgroup that counts as root; default: where cgroup2 is mounted")                                                                     \
	X(key, "file of the secret key that signs evidence; default: " NC_KEY_PATH)                                                                  \
	X(attester, "the name that stands in signatures beside the key's id; default: local")                                                        \
	X(evidence, "folder that gets one folder for each instance; default: " NC_EVIDENCE_FOLDER)                                                   \
	X(profiles, "folder in which a profile without a slash in its name is looked up, as NAME.json; default: " NC_PROFILE_FOLDER)                 \
	X(container_profile, "the profile, a name in that folder, of containers that ask for none; default: they do not start")                      \
	X(floor,                                                                                                                                     \
	  "addresses refused in every mode, beside those built in. They and the NAT64 prefixes hold for every instance of the host: a launch adds "  \
	  "to them, and only `host up` takes away what it does not list, while no instance lives")                                                   \
	X(nat64, "NAT64 prefixes of this network (RFC 6052), as \"2001:db8:64::/96\"; at most four on a host")                                       \
	X(foreign_programs, "names of other people's BPF programs that may be in force on a sealed cgroup")                                          \
	X(pools, "sizes fixed at `host up`: instances, rings, ring_bytes, policy_entries, grant_entries, seen_entries; and grant_share, what one "   \
		 "instance may hold of grant_entries: default a sixteenth, at least 1024")                                                           \
	X(upstreams, "addresses of the DNS servers that the resolver asks")                                                                          \
	X(log_bytes, "bytes of an instance's events.jsonl from which on events are counted as lost; default: 268435456")

struct nc_config {
	char *container_profile;			   /* NULL: not given */
	char *root, *key, *attester, *evidence, *profiles; /* NULL: not given, except key, evidence and profiles, which have defaults */
	union nc_address *floor, *upstreams;
	size_t floor_count, upstream_count;
	struct nc_nat64_prefix nat64[NC_NAT64_MAX];
	size_t nat64_count;
	char **foreign_programs;									 /* NULL-terminated, or NULL */
	uint64_t log_bytes;										 /* 0: not given */
	uint32_t instances, rings, ring_bytes, policy_entries, grant_entries, grant_share, seen_entries; /* 0: the loader's default */
};

/* Reads `path`, or the default file when NULL (which may be absent). On success the caller frees with nc_config_free. */
int nc_config_read(const char *path, struct nc_config *ret_config, struct nc_error *reterr);
void nc_config_free(struct nc_config *config);

#endif
