/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_case.h - the table of cases
 *
 * A case constructs a hostile situation (its construction), lets a client try something in it, and says what must come of it. Everything about a
 * case is a column here; the code that runs cases knows constructions, not cases.
 *
 *   construction  which destinations there are, which of them the profile lists, what names resolve to          (conform_stage.c)
 *   client        what is run: "curl" and "follow" behave well (proxy variables, DNS, redirects), "attempt VERB ARGS" ignores everything polite.
 *                 In ARGS: %t %p the target's address and port, %w %q those of the listed twin, %n the target's name, ... (conform_client.c)
 *   switches      the smallest set of checks whose absence opens the path, in the words of bpf/checks.h, for netcordon's own providers
 *   guard         the same for the reference guard, in its own words
 *   base          what stands before the check under test and would refuse first: off in the enforced run as well. A provider that cannot switch it
 *                 off has no such case
 */
#ifndef NC_CONFORM_CASE_H
#define NC_CONFORM_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "grade.h"
#include "outcome.h"

/* symbol, word, what it constructs */
#define NC_CONSTRUCTIONS(X)                                                                                                                          \
	X(LISTED, "listed", "the target is listed; in the third run it is not")                                                                      \
	X(PORT, "port", "the target is the listed address on another port")                                                                          \
	X(PROTOCOL, "protocol", "the target is the listed address and port with the other protocol")                                                 \
	X(BIT, "bit", "the target's address differs from the listed one in one bit")                                                                 \
	X(UNLISTED, "unlisted", "the target is another public address")                                                                              \
	X(NONE, "none", "mode none; the target is a public address")                                                                                 \
	X(DNS, "dns", "the target is an unlisted public address on port 53")                                                                         \
	X(SELF, "self", "the target listens inside the workload's own network namespace, on loopback")                                               \
	X(SELF_LINK, "self_link", "the target listens inside the workload's own network namespace, on the address of its link")                      \
	X(NAMED, "named", "a name is listed and resolves to the target; in the third run it is not listed")                                          \
	X(NAME_BYTE, "name_byte", "a name is listed; the target's name differs from it in one byte")                                                 \
	X(NAME_SUFFIX, "name_suffix", "a name is listed; the target's name ends in it without a label boundary")                                     \
	X(NAME_BELOW, "name_below", "a name is listed; the target's name is one label below it")                                                     \
	X(NAME_PREFIX, "name_prefix", "a name is listed; the target's name begins with it and goes on")                                              \
	X(NAME_SHARED, "name_shared", "a name is listed; another name resolves to the same address")                                                 \
	X(REDIRECT_LISTED, "redirect_listed", "a listed destination redirects to the target, listed as well; in the third run it is not")            \
	X(REDIRECT_OTHER, "redirect_other", "a listed destination redirects to another public address")                                              \
	X(REDIRECT_PORT, "redirect_port", "a listed destination redirects to another port of its own address")                                       \
	X(REDIRECT_PRIVATE, "redirect_private", "a listed destination redirects to an address of the private network")                               \
	X(LITERAL_CLASS, "literal_class", "mode unrestricted; the target is an address of a special-purpose class")                                  \
	X(ANSWER_CLASS, "answer_class", "a listed name resolves to an address of a special-purpose class, which listens and accepts on 443")         \
	X(ANSWER_ALIAS, "answer_alias", "a listed name is an alias of a name in the private network")                                                \
	X(ANSWER_SECOND, "answer_second", "a listed name resolves to a public address first and to a private one when asked again")                  \
	X(PLANE_LISTED, "plane_listed", "the plane reaches its own endpoint with its credential; in the third run it is not listed")                 \
	X(PLANE_BY_WORKLOAD, "plane_by_workload", "the workload tries what only the plane lists")                                                    \
	X(WORKLOAD_BY_PLANE, "workload_by_plane", "the plane tries what only the workload lists")                                                    \
	X(CREDENTIAL, "credential", "a planted plane credential is searched for in every process that serves the workload")                          \
	X(DIRECT_LISTED, "direct_listed", "the target is listed, and the workload ignores the proxy that it was given")                              \
	X(HOST_LISTED, "host_listed", "a listed public address that is the host's own: it stands where the provider runs")                           \
	X(NAT64, "nat64", "mode unrestricted; the network has a NAT64 prefix of its own, behind which the target carries an address of a class")     \
	X(NAT64_LISTED, "nat64_listed",                                                                                                              \
	  "the target carries a public address behind a NAT64 prefix, the known one or, listed by a name, a local one that is the network's own; "   \
	  "in the third run it is not listed")                                                                                                       \
	X(SELF_LISTED, "self_listed", "a listed public address that stands on the workload's own loopback device")                                   \
	X(UNSEALED, "unsealed", "the client stands in a cgroup that no policy was given to yet")                                                     \
	X(CHILD, "child", "root outside moves the client into a child of its cgroup, before it dials an unlisted address")                           \
	X(INHERITED, "inherited", "the provider is started with a socket left open that is connected to an unlisted address")                        \
	X(HELPER, "helper", "a helper outside listens on a unix socket and dials an unlisted address for whoever asks")                              \
	X(HANDED, "handed", "a helper outside hands out a socket of its own on a unix socket")                                                       \
	X(HANDED_BY_PLANE, "handed_by_plane", "a process of the plane hands its own socket to the workload on a unix socket")                        \
	X(LISTEN, "listen", "the client listens and somebody outside dials it")                                                                      \
	X(REWRITTEN, "rewritten", "a rule of the host changes a listed destination into an unlisted one after the verdict")                          \
	X(GROUP, "group", "the kernel is asked to join a multicast group, whose address is the payload")                                             \
	X(ROUTED, "routed", "a datagram to a listed destination carries a header that leads it elsewhere first")                                     \
	X(HELPERS_DEAD, "helpers_dead", "whatever serves the workload is killed before an unlisted address is tried")                                \
	X(IMPOSTOR, "impostor", "whatever serves names is killed, and somebody else listens in its place")                                           \
	X(WIRE_NAME, "wire_name", "a listed name's address is dialled, and another name is shown in the first bytes")                                \
	X(WIRE_OTHER, "wire_other", "a listed name's address is dialled, and another listed name shown, which has no grant there")                   \
	X(WIRE_OTHER_PORT, "wire_other_port",                                                                                                        \
	  "a listed name's address is dialled, and another listed name shown, which has a grant there for another port")                             \
	X(WIRE_OWN, "wire_own", "a listed name's address is dialled, and that name shown; in the third run it is not listed")                        \
	X(WIRE_UDP, "wire_udp", "a listed name's address is dialled by UDP, where the name would be encrypted in a way that nothing here reads")     \
	X(TIGHTENED, "tightened", "a connection to a destination that an update of the policy takes from the list")                                  \
	X(NAME_GONE, "name_gone", "an address that a name was granted, after an update took the name from the list")                                 \
	X(EXPIRED, "expired", "an address that a name was granted, after the grant has expired")                                                     \
	X(POINTED_OUT, "pointed_out", "the client is shown where it could move to, and what enforces is pinned")                                     \
	X(REMOVED, "removed", "the client's socket was made in a child of its cgroup, which is gone when it is used")                                \
	X(CLASSIFIED, "classified", "root outside gives the waiting client a traffic class (net_cls), before it dials an unlisted address")          \
	X(CANCELLED, "cancelled", "a program of somebody else, above the workload, cancels the refusal of a datagram to an unlisted address")        \
	X(CANCELLED_LAUNCH, "cancelled_launch", "the same program is there before the launch")                                                       \
	X(DETACHED, "detached", "the program that judges datagrams is detached while the workload runs")                                             \
	X(LENT, "lent", "a process outside, of the client's own user, holds a socket that is connected to an unlisted address")                      \
	X(KEY, "key", "the kernel is asked for a key, which it asks the host for; the name of the key is the payload")                               \
	X(TERMINAL, "terminal", "the provider is started from a terminal, and the next program there reads what is typed")                           \
	X(NEW_NAMESPACE, "new_namespace",                                                                                                            \
	  "the client makes a network namespace, to which somebody outside gives a link, and dials an unlisted address")                             \
	X(FORWARDED, "forwarded", "the workload's network namespace forwards")                                                                       \
	X(FORWARDED_NODE, "forwarded_node", "the same, and root outside has made a TUN device's node at another path, open to everybody")            \
	X(NODE, "node", "root outside has made the node of a device that leads past sockets at another path, open to everybody")                     \
	X(SERVED, "served", "the same, and the client mounts a file system of its own from it, in namespaces of its own; its source is the payload") \
	X(AUTOMOUNTED, "automounted", "the map -hosts is mounted; a host's automounter is asked for the payload as the name of a host")
#define NC_ENUM_CONSTRUCTION(symbol, ...) NC_CONSTRUCTION_##symbol,
enum nc_construction { NC_CONSTRUCTIONS(NC_ENUM_CONSTRUCTION) NC_CONSTRUCTION_COUNT };
const char *nc_construction_word(enum nc_construction construction);
const char *nc_construction_meaning(enum nc_construction construction);

enum {
	NC_CASE_DIRECT_ONLY = 1, /* makes no sense for a provider that is reached by proxy variables */
	NC_CASE_PROXY_ONLY = 2,	 /* makes no sense for one that is not */
	NC_CASE_ANY_PAYLOAD = 8, /* the client sends bytes of its own: whatever arrives there is its, since the address is this run's alone */
	NC_CASE_PRIVILEGED = 4,	 /* its control needs uid 0 */
	NC_CASE_ON_WIRE = 16,	 /* nobody listens there and nothing answers: any packet to the address has arrived */
	NC_CASE_TOKEN = 64,	 /* the destination itself is permitted, what is said there is not: only the client's token counts */
	NC_CASE_LAUNCH = 32,	 /* the refusal is that of the launch: the driver says `switches` failed, and nothing is started */
	/* What a driver must be able to do for the case (words of nc_driver_offers): */
	NC_CASE_CGROUPS = 256,	  /* name the cgroups of its host */
	NC_CASE_UPDATE = 512,	  /* give a running instance another policy */
	NC_CASE_LSM = 1024,	  /* it has BPF security hooks that act */
	NC_CASE_HELPERS = 2048,	  /* it serves names on the workload's loopback by a process that can be killed */
	NC_CASE_PINS = 4096,	  /* say where it pins what enforces, and what the workload may reach */
	NC_CASE_RINGLESS = 16384, /* no such hooks act: rings of io_uring are the provider's to refuse */
	NC_CASE_NEEDS = NC_CASE_CGROUPS | NC_CASE_UPDATE | NC_CASE_LSM | NC_CASE_HELPERS | NC_CASE_PINS | NC_CASE_RINGLESS,
	NC_CASE_APART = 8192, /* what the driver sets up for it is for nothing else, since it is spoiled */
};

/* Texts stand in the row itself: pointers would have to be relocated at every start of the program, also where nobody asks for cases. */
struct nc_case {
	char id[48]; /* FACT-WORD.WHAT.VARIANT, stable */
	enum nc_fact fact;
	char path[40];	  /* a word of the closure table where the path stands there */
	int family;	  /* 4 or 6 */
	uint8_t protocol; /* IPPROTO_* */
	enum nc_expectation expectation;
	enum nc_construction construction;
	char variant[32]; /* of the construction: an address class, a redirect's status; "": none */
	char client[80];
	char switches[96], guard[48];
	char base[64]; /* switched off in the enforced run, too, so that one check is seen alone; "": nothing */
	int flags;
	char title[120];
};

extern const struct nc_case nc_cases[];
extern const size_t nc_case_count;

const struct nc_case *nc_case_find(const char *id);

#endif
