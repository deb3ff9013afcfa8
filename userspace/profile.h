/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profile.h - the document that a Runner hands over, read once, checked strictly
 *
 *   bytes --nc_profile_parse--> struct nc_profile --nc_policy_compile--> struct nc_image
 *
 * A profile is read once, to bytes; only the bytes travel on. Every error names the place (JSON pointer) and the rule. Fields that were omitted
 * stay omitted in the digest, which is over the canonical form of the document as given.
 */
#ifndef NC_PROFILE_H
#define NC_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "digest.h"
#include "error.h"
#include "netcordon_abi.h"

#define NC_PROFILE_VERSION 1
#define NC_HOST_NAME_MAX 253 /* RFC 1035 2.3.4, without the root's dot */

enum nc_grade { NC_GRADE_UNSUPPORTED = 1, NC_GRADE_ADVISORY_FILTER, NC_GRADE_SECURITY_BOUNDARY };
enum nc_wire { NC_WIRE_ANY = 1, NC_WIRE_TLS, NC_WIRE_HTTP };

struct nc_destination {
	bool literal;			 /* address is valid; else name is */
	union nc_address address;	 /* IPv4 in mapped form */
	char name[NC_HOST_NAME_MAX + 1]; /* lower case, no trailing dot, A-labels only */
	uint16_t port;			 /* host order, 1-65535 */
	uint8_t protocol;		 /* IPPROTO_TCP (default) or IPPROTO_UDP */
	uint8_t wire;			 /* enum nc_wire: given, or the port's default; ANY for literals */
	bool non_public;		 /* plane literals only */
};

struct nc_profile_process {
	char user[33]; /* name or number as given; "": a user id of the instance's own */
	char group[33];
	char cwd[4096]; /* ""; the root folder */
	char **env;	/* "NAME=value", NULL-terminated; the whole environment of the workload: nothing is inherited */
	int umask;	/* -1: 0022 */
	/* limits: -1 where not given */
	int64_t pids, memory_bytes, cpu_percent;
	int64_t open_files, core_bytes, file_bytes; /* rlimits */
	bool pty;				    /* a pseudo terminal of its own on 0-2 */
};

/* The members of process.limits, and where each is kept. */
#define NC_PROFILE_LIMITS(X)                                                                                                                         \
	X("pids", pids)                                                                                                                              \
	X("memory", memory_bytes)                                                                                                                    \
	X("cpu_percent", cpu_percent)                                                                                                                \
	X("open_files", open_files)                                                                                                                  \
	X("core", core_bytes)                                                                                                                        \
	X("file_size", file_bytes)

struct nc_profile {
	enum nc_mode mode;
	bool non_public; /* inside unrestricted: everything but the host floor */
	struct nc_destination *destinations;
	size_t destination_count;
	enum nc_grade required; /* allowlist only; ADVISORY_FILTER when omitted */
	bool required_given;
	bool loopback_own_netns;
	bool unix_gap_accepted; /* "accept_gaps": ["unix_sockets"] : socket(AF_UNIX) stays allowed where nothing closes it */
	struct nc_profile_process process;
	struct nc_destination *plane_destinations;
	size_t plane_destination_count;
	char **plane_credentials; /* names, NULL-terminated */
	struct nc_digest digest;
};

/* Reads the whole file, at most NC_JSON_SIZE_MAX bytes; the caller frees. */
int nc_profile_read(const char *path, char **ret_text, size_t *ret_length, struct nc_error *reterr);
/*
 * An address literal is judged as the kernel and the resolver judge an address: by the class table and the network's own NAT64 prefixes of `settings` (of the
 * rest of it nothing is asked). NULL: only 64:ff9b::/96 is known.
 */
int nc_profile_parse(const char *text, size_t length, const struct nc_settings *settings, struct nc_profile **ret_profile, struct nc_error *reterr);
/* Both, for whoever needs the bytes no more. */
int nc_profile_load(const char *path, const struct nc_settings *settings, struct nc_profile **ret_profile, struct nc_error *reterr);
void nc_profile_free(struct nc_profile *profile); /* NULL is fine */

/* Does a destination of either authority open its address for every name: a name with wire any? */
bool nc_profile_names_open(const struct nc_profile *profile);

#endif
