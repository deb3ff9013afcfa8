/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netcordon_abi.h - the types that the kernel programs and user space share, and their manual
 *
 * Everything that crosses the boundary is here: map keys and values, the label that a socket is given at birth, the event record, and the
 * codes in them. Nothing else may be shared. The rules that hold for every record:
 *
 *   - integers have a fixed width; a name that ends in _be is in network byte order, every other integer in the host's
 *   - there is no hidden padding: padding is a named field, and it is zero. Keys are compared and hashed as bytes by the kernel, events are
 *     hashed into evidence, so one byte that nobody wrote would make a lookup miss or a proof unreproducible
 *   - sizes and offsets are asserted at the end of the file, by both compilers
 *   - an address is always 16 bytes; an IPv4 address is carried in its mapped form ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). There is one key,
 *     one classifier, and a v4-mapped spelling cannot be anything other than the address that it maps
 *   - zero is never a meaningful code: a cleared record denies
 *
 * Times are CLOCK_BOOTTIME nanoseconds: they do not step with the wall clock and go on through suspend.
 */
#ifndef NETCORDON_ABI_H
#define NETCORDON_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

/*
 * Raised whenever a record below, or a map, changes its layout or its meaning; tests/unit/test_abi.c holds the layouts against it. It stands in every
 * event, whose reader refuses another, and `version --json` tells it to whoever reads maps and rings with a tool of his own. Builds of netcordon do
 * not know each other by it: the folder of the pins is named by the manifest, a digest of the object and so of every layout in it.
 */
#define NC_ABI_VERSION 4

union nc_address {
	__u8 bytes[16];
	__be32 words_be[4];
	__u64 halves[2];
};

/* ---- codes ---------------------------------------------------------------------------------------------------------------------------- */

/* What the network member of a profile asks for. */
#define NC_MODES(X)                                                                                                                                  \
	X(NONE, 1, "none")                                                                                                                           \
	X(ALLOWLIST, 2, "allowlist")                                                                                                                 \
	X(UNRESTRICTED, 3, "unrestricted")

/* Who a socket belongs to. The two never share a cgroup or a policy map. */
#define NC_AUTHORITIES(X)                                                                                                                            \
	X(WORKLOAD, 1, "workload")                                                                                                                   \
	X(PLANE, 2, "plane")

#define NC_DECISIONS(X)                                                                                                                              \
	X(ALLOW, 1, "allow")                                                                                                                         \
	X(DENY, 2, "deny")                                                                                                                           \
	X(REDIRECT, 3, "redirect")

/*
 * The one code that says why. The same code stands in the event, the counter, the message and the evidence, and the sentence here is the one
 * that `netcordon explain` and the manual print. Numbers are never used again for another meaning. The last column is what the code decides.
 */
#define NC_REASONS(X)                                                                                                                                \
	X(LITERAL_LISTED, 1, "literal_listed", ALLOW, "the address, port and protocol are listed")                                                   \
	X(GRANT_LIVE, 2, "grant_live", ALLOW, "the address holds a live grant of a listed name")                                                     \
	X(MODE_UNRESTRICTED, 3, "mode_unrestricted", ALLOW, "the address is public and the mode is unrestricted")                                    \
	X(LOOPBACK_OPEN, 4, "loopback_open", ALLOW, "loopback of the private network namespace is open")                                             \
	X(RESOLVER, 5, "resolver", REDIRECT, "port 53 goes to the instance's resolver")                                                              \
	X(SERVER_NAME_LISTED, 6, "server_name_listed", ALLOW, "the server name is a listed name with a grant for this address")                      \
	X(PROTOCOL_REFUSED, 16, "protocol_refused", DENY, "only TCP and UDP sockets may reach the network")                                          \
	X(SOCKET_UNLABELLED, 17, "socket_unlabelled", DENY, "the socket was not made inside the sealed cgroup")                                      \
	X(GENERATION_STALE, 18, "generation_stale", DENY, "the socket belongs to an instance that has ended")                                        \
	X(AUTHORITY_MISMATCH, 19, "authority_mismatch", DENY, "the task does not belong to the authority that the socket was made for")              \
	X(MODE_NONE, 20, "mode_none", DENY, "the profile allows no network")                                                                         \
	X(RESOLVER_ABSENT, 21, "resolver_absent", DENY, "port 53 leads only to the instance's resolver, and it is not there")                        \
	X(HOST_FLOOR, 22, "host_floor", DENY, "the address is refused in every mode (metadata service, the host itself, or the operator's)")         \
	X(ADDRESS_NOT_PUBLIC, 23, "address_not_public", DENY, "the address is not global unicast")                                                   \
	X(DESTINATION_NOT_LISTED, 24, "destination_not_listed", DENY, "no listed destination has this address, port and protocol")                   \
	X(PORT_ZERO, 25, "port_zero", DENY, "port 0 is not a destination")                                                                           \
	X(INTERNAL_ERROR, 26, "internal_error", DENY, "a program could not decide, and what cannot be decided is refused")                           \
	X(BIND_REFUSED, 32, "bind_refused", DENY, "a fixed local port is only for a private network namespace with open loopback")                   \
	X(OPTION_REFUSED, 33, "option_refused", DENY, "the option, or control data, could change where packets go")                                  \
	X(UNIX_PEER, 34, "unix_peer", DENY, "the unix socket's peer cannot be shown to be of the same authority")                                    \
	X(FAMILY_REFUSED, 35, "family_refused", DENY, "the address family is past what the cordon can see")                                          \
	X(PASSED_SOCKET, 36, "passed_socket", DENY, "the socket was handed in from outside")                                                         \
	X(DEVICE_REFUSED, 37, "device_refused", DENY, "the device leads past what the cordon can see")                                               \
	X(PACKET_MALFORMED, 48, "packet_malformed", DENY, "the packet is not plain IPv4 or IPv6 with TCP or UDP")                                    \
	X(PACKET_UNADMITTED, 49, "packet_unadmitted", DENY, "the connection was not admitted by this policy")                                        \
	X(PACKET_DESTINATION, 50, "packet_destination", DENY, "the packet goes elsewhere than the connection that was admitted")                     \
	X(LOOPBACK_DEVICE, 51, "loopback_device", DENY, "the packet would reach the host itself")                                                    \
	X(INBOUND_UNSOLICITED, 52, "inbound_unsolicited", DENY, "nothing inside asked for this packet")                                              \
	X(SERVER_NAME_UNREADABLE, 53, "server_name_unreadable", DENY, "the first bytes show no server name")                                         \
	X(SERVER_NAME_MISMATCH, 54, "server_name_mismatch", DENY, "the server name is not a listed name with a grant for this address")              \
	X(WIRE_QUIC, 55, "wire_quic", DENY, "the first bytes of QUIC cannot be read in the kernel")

/* Which program spoke. The loader's table of programs (loader/hooks.c) is indexed by these. The name is the program's name in the object. */
#define NC_HOOKS(X)                                                                                                                                  \
	X(SOCK_CREATE, 1, "sock_create")                                                                                                             \
	X(CONNECT4, 2, "connect4")                                                                                                                   \
	X(CONNECT6, 3, "connect6")                                                                                                                   \
	X(SENDMSG4, 4, "sendmsg4")                                                                                                                   \
	X(SENDMSG6, 5, "sendmsg6")                                                                                                                   \
	X(BIND4, 6, "bind4")                                                                                                                         \
	X(BIND6, 7, "bind6")                                                                                                                         \
	X(SETSOCKOPT, 8, "setsockopt")                                                                                                               \
	X(RECVMSG4, 9, "recvmsg4")                                                                                                                   \
	X(RECVMSG6, 10, "recvmsg6")                                                                                                                  \
	X(GETPEERNAME4, 11, "getpeername4")                                                                                                          \
	X(GETPEERNAME6, 12, "getpeername6")                                                                                                          \
	X(EGRESS, 13, "egress")                                                                                                                      \
	X(INGRESS, 14, "ingress")                                                                                                                    \
	X(CONNECT_UNIX, 15, "connect_unix")                                                                                                          \
	X(SENDMSG_UNIX, 16, "sendmsg_unix")                                                                                                          \
	X(GUARD_SOCK_CREATE, 17, "guard_sock_create")                                                                                                \
	X(GUARD_CONNECT4, 18, "guard_connect4")                                                                                                      \
	X(GUARD_CONNECT6, 19, "guard_connect6")                                                                                                      \
	X(GUARD_SENDMSG4, 20, "guard_sendmsg4")                                                                                                      \
	X(GUARD_SENDMSG6, 21, "guard_sendmsg6")                                                                                                      \
	X(LSM_CREATE, 22, "lsm_create")                                                                                                              \
	X(LSM_POST_CREATE, 23, "lsm_post_create")                                                                                                    \
	X(LSM_UNIX_STREAM, 24, "lsm_unix_stream")                                                                                                    \
	X(LSM_UNIX_SEND, 25, "lsm_unix_send")                                                                                                        \
	X(LSM_SENDMSG, 26, "lsm_sendmsg")                                                                                                            \
	X(SOCK_OPS, 27, "sock_ops")                                                                                                                  \
	X(DEVICE, 28, "device")

#define NC_ENUM_MODE(symbol, value, ...) NC_MODE_##symbol = value,
enum nc_mode { NC_MODES(NC_ENUM_MODE) };
#define NC_ENUM_AUTHORITY(symbol, value, ...) NC_AUTHORITY_##symbol = value,
enum nc_authority { NC_AUTHORITIES(NC_ENUM_AUTHORITY) };
#define NC_ENUM_DECISION(symbol, value, ...) NC_##symbol = value,
enum nc_decision { NC_DECISIONS(NC_ENUM_DECISION) };
#define NC_ENUM_REASON(symbol, value, ...) NC_REASON_##symbol = value,
enum nc_reason { NC_REASONS(NC_ENUM_REASON) NC_REASON_MAX = 64 /* counters are indexed by reason: a power of two */ };
#define NC_ENUM_HOOK(symbol, value, ...) NC_HOOK_##symbol = value,
enum nc_hook { NC_HOOKS(NC_ENUM_HOOK) NC_HOOK_MAX };

/* ---- map `settings`: one record that holds for the whole host ------------------------------------------------------------------------- */

#define NC_NAT64_MAX 4

/* A network-specific NAT64 prefix (RFC 6052): an address inside it is judged by the IPv4 address that it carries. length: 32 40 48 56 64 96. */
struct nc_nat64_prefix {
	union nc_address prefix;
	__u32 length; /* bits; 0: this row and all after it are unused */
	__u32 reserved;
};

struct nc_settings {
	/* Bit d is set when some authority cgroup lies at depth d (the hierarchy's root is depth 0, as bpf_get_current_ancestor_cgroup_id
	 * counts): the ancestors that the guard and sock_create look at. An authority may lie at depths 1 to 31. */
	__u32 depth_mask;
	__u32 nat64_count;
	struct nc_nat64_prefix nat64[NC_NAT64_MAX];
};

/* ---- map `authorities`: array of slots, index = slot ----------------------------------------------------------------------------------- */

#define NC_SLOT_LOOPBACK_OPEN 0x01u   /* loopback of the private network namespace `netns_cookie` is open */
#define NC_SLOT_NON_PUBLIC_OPEN 0x02u /* mode unrestricted with non_public: everything but the host floor */
#define NC_SLOT_UNIX_OPEN 0x04u	      /* the profile accepted that named unix sockets are not confined */

/*
 * One authority of one instance. Instance i has the slots 2i (workload) and 2i+1 (plane). User space fills every other field first and stores
 * generation last: generation 0 means free, and then nothing else is looked at. A policy update stores `revision` once, an aligned word.
 */
struct nc_slot {
	__u64 generation;	 /* the instance's identity: random, never used again; the same in both slots of an instance */
	__u64 revision;		 /* counts this authority's policies, from 1 */
	__u64 cgroup_id;	 /* the authority's own cgroup */
	__u64 netns_cookie;	 /* the network namespace that the instance was sealed in; 0 where the kernel gives none (before 5.14) */
	__u32 cgroup_depth;	 /* depth of cgroup_id */
	__u32 ring;		 /* index into `events` */
	__be16 resolver_port_be; /* the resolver listens on 127.0.0.1 and ::1, this port; 0: none */
	__be16 canary_port_be;	 /* during the canary: this port on 127.0.0.1 and ::1 is on the floor; 0 afterwards */
	__be16 other_port_be;	 /* the resolver of the instance's other authority: on loopback, open or not, it is on the floor; 0: none */
	__u8 mode;		 /* enum nc_mode */
	__u8 authority;		 /* enum nc_authority */
	__u8 flags;		 /* NC_SLOT_* */
	__u8 reserved[15];
	__u64 closed_ns; /* user space only: when the slot was last closed; it rests before it is opened again */
	__u64 reserved_words[7];
};

/* ---- map `resolvers`: socket storage, set from user space on the resolver's own sockets ------------------------------------------------- */

/* A redirect goes only to a socket that carries this mark: another process that takes the endpoint's port has none and receives nothing. And a socket with a
 * mark is reached by its own authority only: loopback that is open to several instances leads to no other one's. */
struct nc_resolver_mark {
	__u64 generation;
	__u32 authority; /* enum nc_authority: each has a resolver of its own; 0: a listener of the canary, which nobody may reach */
	__u32 reserved;
};

/* ---- map `host_floor`: hash, union nc_address -> __u32 ----------------------------------------------------------------------------------- */

#define NC_FLOOR_METADATA 1 /* a cloud's metadata service */
#define NC_FLOOR_HOST 2	    /* an address of this host; a plane literal marked non-public may name it */
#define NC_FLOOR_OPERATOR 3 /* the operator's addition */

/* ---- map `host_floor_prefixes`: LPM trie, struct nc_prefix_key -> __u32 NC_FLOOR_HOST ------------------------------------------------------ */

/* Prefixes that this host delivers to itself as a whole. The form is the kernel's: a length, and the address behind it without a gap. */
struct nc_prefix_key {
	__u32 length; /* bits of the 16 bytes: an IPv4 /24 is 120 */
	__be32 words_be[4];
};

/* ---- map `devices`: hash, struct nc_device_key -> __u32 1. What the table of names of bpf/device.h has under the numbers of this boot --------------- */

#define NC_DEVICE_ANY_MINOR 0xffffffffu

struct nc_device_key {
	__u32 major; /* of a character device */
	__u32 minor; /* or NC_DEVICE_ANY_MINOR */
};

/* ---- maps `workload_policy` and `plane_policy` ------------------------------------------------------------------------------------------ */

#define NC_POLICY_LITERAL 1 /* `address` is the destination's */
#define NC_POLICY_NAME 2    /* `address` is ::name_id, the number (host order) in words_be[3]'s place, the rest 0 */

/* Set in every name id of the plane and in none of the workload's: no id is ever both authorities'. 0 is no name. */
#define NC_NAME_ID_PLANE 0x80000000u

struct nc_policy_key {
	__u64 generation;
	__u64 revision;
	union nc_address address;
	__be16 port_be;
	__u8 protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	__u8 kind;     /* NC_POLICY_* */
	__u32 reserved;
};

#define NC_POLICY_NON_PUBLIC 0x01u /* plane only: this literal may be a non-public address */
#define NC_POLICY_WIRE_TLS 0x02u   /* the first payload must be a ClientHello with a listed server name */
#define NC_POLICY_WIRE_HTTP 0x04u  /* the first payload must be a request with a listed Host */
#define NC_POLICY_WIRE (NC_POLICY_WIRE_TLS | NC_POLICY_WIRE_HTTP)

struct nc_policy_value {
	__u32 flags; /* NC_POLICY_* bits */
	__u32 reserved;
};

/* One row of a compiled policy, in the very form in which the kernel keeps it; generation and revision are 0 until the loader fills them. */
struct nc_policy_entry {
	struct nc_policy_key key;
	struct nc_policy_value value;
};

/* ---- map `names`: hash, struct nc_name_key -> __u32 name id ------------------------------------------------------------------------------ */

#define NC_NAME_MAX 253 /* bytes of a name as text, without a trailing dot (RFC 1035, 2.3.4) */

/*
 * What stands in the first bytes of a connection becomes this key: the whole name, so that no other name can be made to look like it. Names of all the
 * instance's revisions are there; that one is listed, for which port and with what on the wire, its policy entry says.
 */
struct nc_name_key {
	__u64 generation;
	__u16 length; /* bytes of text */
	__u16 reserved;
	__u32 authority; /* enum nc_authority */
	union {
		__u8 text[256]; /* small letters, no trailing dot, the rest 0 */
		__u64 words[32];
	};
};

/* ---- map `grants` ------------------------------------------------------------------------------------------------------------------------ */

#define NC_GRANT_WITNESS 1 /* {generation, authority, address, port, protocol}: the value names one live owner, a name of that authority */
#define NC_GRANT_NAME 2	   /* {generation, address, name_id}: port and protocol are 0 */
#define NC_GRANT_OPEN 3	   /* as the witness, among the owners whose entry compares no name on the wire */

struct nc_grant_key {
	__u64 generation;
	union nc_address address;
	union {
		__u32 authority; /* of a witness: enum nc_authority */
		__u32 name_id;	 /* of a name's own entry */
	};
	__be16 port_be;
	__u8 protocol;
	__u8 kind; /* NC_GRANT_* */
};

struct nc_grant_value {
	__u64 expires_ns; /* CLOCK_BOOTTIME */
	__u32 name_id;
	__u32 reserved;
};

/* ---- map `labels`: socket storage -------------------------------------------------------------------------------------------------------- */

#define NC_LABEL_ADMITTED 0x01u	    /* admitted, port, protocol and name_id hold an admission */
#define NC_LABEL_RESOLVER 0x02u	    /* the admission is a redirect: `admitted` is what the workload asked for, the packets go to the resolver */
#define NC_LABEL_WIRE_OPEN 0x04u    /* the name in the first bytes has been accepted */
#define NC_LABEL_HOME_NETNS 0x08u   /* the socket was made in the network namespace that the instance was sealed in */
#define NC_LABEL_WIRE_DONE 0x10u    /* and the peer has acknowledged those bytes: they cannot be sent again */
#define NC_LABEL_WIRE_REFUSED 0x20u /* the first bytes were refused: nothing follows them, and the connection is to be ended */
#define NC_LABEL_WATCHED 0x40u	    /* TCP asks the program sock_ops before each segment of this socket, on our behalf */
#define NC_LABEL_WIRE_TOLD 0x80u    /* with NC_LABEL_WIRE_OPEN: it has been told by which name */

struct nc_label {
	__u64 generation;
	__u64 revision; /* the revision that the admission was judged under */
	union nc_address admitted;
	__u32 slot;
	__u32 name_id; /* 0: admitted as a literal; with NC_LABEL_WIRE_OPEN the name that was found on the wire */
	__be16 admitted_port_be;
	__u8 admitted_protocol;
	__u8 flags;	    /* NC_LABEL_* */
	__u32 policy_flags; /* of the policy entry that admitted */
	__u32 first_seq;    /* TCP: host order sequence number of the first payload byte; recorded while a name is asked for */
	__u32 first_length; /* with NC_LABEL_WIRE_OPEN: how many bytes from there have been judged */
	__u64 after;	    /* and where the judging stands behind them (bpf/after_hello.h); 0: nothing is asked of what follows */
};

/*
 * ---- map `seen`: first sight and exact repeats per (destination, reason). LRU: no verdict depends on it -------------------------------------
 *
 * The kernel lays the entries of such a map one behind the other, each with 48 bytes of its own before key and value: 128 together, so that an entry
 * lies in two cache lines and never in three. Whoever connects to thousands of destinations in turn waits for each line.
 */

struct nc_seen_key {
	__u64 generation;
	union nc_address destination;
	__be16 port_be;
	__u8 protocol;
	__u8 reason;
	__u8 authority;
	__u8 reserved[3];
	__u64 name_hash; /* of the name that was refused on the wire, keyed, so that each is told once; of one that was accepted its id; 0: none */
};

struct nc_seen_value {
	__u64 count;
	__u64 first_ns;
	__u64 last_ns;	/* at most one of the kernel's ticks (1 to 10 ms) early: the clock is asked once in each */
	__u32 reported; /* 1: an event was delivered. 0: the ring was full; the next sight tries again */
	__u32 tick;	/* the programs only: the low bits of the tick that last_ns was read in */
	__u64 reserved;
};

/* ---- map `counters`: array, index = slot -------------------------------------------------------------------------------------------------- */

struct nc_counters {
	__u64 by_reason[NC_REASON_MAX]; /* exact; by_reason[0] counts events lost because the ring was full */
};

#define NC_COUNTER_LOST 0

/* ---- map `events`: array of ring buffers --------------------------------------------------------------------------------------------------- */

#define NC_EVENT_REPEAT 0x01u /* not a first sight: said again because a connection is to be ended */

struct nc_event {
	__u16 version; /* NC_ABI_VERSION: a reader refuses another */
	__u16 size;    /* of the whole record */
	__u32 slot;
	__u64 generation;
	__u64 revision;
	__u64 time_ns;
	__u64 socket_cookie;
	__u64 cgroup_id; /* the current task's, at the time of the check; 0 in packet programs, where "current" is anybody */
	union nc_address destination;
	union nc_address admitted; /* packet programs: what the connection had been admitted for */
	__be16 port_be;
	__be16 admitted_port_be;
	__u8 protocol;
	__u8 family; /* 4 or 6: the family of the call or packet, not of the socket */
	__u8 hook;   /* enum nc_hook */
	__u8 decision;
	__u8 reason;
	__u8 address_class; /* enum nc_address_class of bpf/address.h; 0: not asked */
	__u8 authority;
	__u8 flags;   /* NC_EVENT_* */
	__u32 pid;    /* thread group id in the initial pid namespace; 0 in packet programs */
	__u32 pid_ns; /* the same in the task's own pid namespace; 0: the kernel did not tell */
	__u32 uid;
	__u32 name_id;
	__u32 detail; /* setsockopt: level << 16 | option; sock_create: family << 24 | type << 16 | protocol; bind: port; device: major << 20 | minor */
	char comm[16]; /* the workload chooses it: text made safe before it is shown */
};

/* The record of a refusal that has a name: `event.size` is the size of this. The workload chooses the name, any bytes. */
struct nc_named_event {
	struct nc_event event;
	__u8 name[256];
	__u8 name_length; /* bytes of name; 0: none was readable */
	__u8 reserved[7];
};

/* ---- layout ------------------------------------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(union nc_address) == 16, "an address is 16 bytes");
_Static_assert(sizeof(struct nc_nat64_prefix) == 24, "nat64 prefix");
_Static_assert(sizeof(struct nc_prefix_key) == 20, "prefix key");
_Static_assert(sizeof(struct nc_settings) == 8 + 24 * NC_NAT64_MAX, "settings");
_Static_assert(sizeof(struct nc_slot) == 128, "a slot is two cache lines");
_Static_assert(__builtin_offsetof(struct nc_slot, cgroup_depth) == 32, "slot");
_Static_assert(sizeof(struct nc_device_key) == 8, "device key");
_Static_assert(sizeof(struct nc_policy_key) == 40, "policy key");
_Static_assert(__builtin_offsetof(struct nc_policy_key, port_be) == 32, "policy key");
_Static_assert(sizeof(struct nc_policy_value) == 8, "policy value");
_Static_assert(sizeof(struct nc_policy_entry) == 48, "policy entry");
_Static_assert(sizeof(struct nc_grant_key) == 32, "grant key");
_Static_assert(sizeof(struct nc_resolver_mark) == 16, "resolver mark");
_Static_assert(sizeof(struct nc_grant_value) == 16, "grant value");
_Static_assert(sizeof(struct nc_label) == 64, "a label is one cache line");
_Static_assert(sizeof(struct nc_name_key) == 272, "name key");
_Static_assert(sizeof(struct nc_seen_key) == 40, "seen key");
_Static_assert(48 + sizeof(struct nc_seen_key) + sizeof(struct nc_seen_value) == 128, "an entry of seen is two cache lines");
_Static_assert(sizeof(struct nc_event) == 128, "event");
_Static_assert(__builtin_offsetof(struct nc_event, destination) == 48, "event");
_Static_assert(__builtin_offsetof(struct nc_event, comm) == 112, "event");
_Static_assert(sizeof(struct nc_named_event) == 392, "named event");

#endif
