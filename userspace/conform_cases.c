/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_cases.c - the cases
 *
 * Both families of a case are one row here (BOTH). Rows of the same fact stand together, the positive twins first.
 */
#include <netinet/in.h>
#include <string.h>
#include "conform_case.h"

#define TCP IPPROTO_TCP
#define UDP IPPROTO_UDP
#define REACHED NC_EXPECT_REACHED
#define REFUSED NC_EXPECT_REFUSED
#define DIRECT NC_CASE_DIRECT_ONLY
#define PROXY NC_CASE_PROXY_ONLY

#define CASE(fact, id, path, family, protocol, expect, construction, variant, client, switches, guard, flags, title)                                 \
	{                                                                                                                                            \
		id, NC_FACT_##fact, path, family, protocol, expect, NC_CONSTRUCTION_##construction, variant, client, switches, guard, flags, title   \
	}
#define BOTH(fact, id, path, protocol, expect, construction, variant, client, switches, guard, flags, title)                                         \
	CASE(fact, id ".4", path, 4, protocol, expect, construction, variant, client, switches, guard, flags, title),                                \
		CASE(fact, id ".6", path, 6, protocol, expect, construction, variant, client, switches, guard, flags, title)

#define MATCH(...) BOTH(EXACT_DESTINATION_MATCH, __VA_ARGS__)
#define RECHECK(...) BOTH(REDIRECT_RECHECK, __VA_ARGS__)
#define PUBLIC4(id, class, title)                                                                                                                    \
	CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.literal." id, "tcp_connect", 4, TCP, REFUSED, LITERAL_CLASS, class, "curl", "public",              \
	     "guard_public", 0, title),                                                                                                              \
		CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.answer." id, "tcp_connect", 4, TCP, REFUSED, ANSWER_CLASS, class, "curl", "public",        \
		     "guard_public", 0, title)
#define PUBLIC6(id, class, title)                                                                                                                    \
	CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.literal." id, "tcp_connect", 6, TCP, REFUSED, LITERAL_CLASS, class, "curl", "public",              \
	     "guard_public", 0, title),                                                                                                              \
		CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.answer." id, "tcp_connect", 6, TCP, REFUSED, ANSWER_CLASS, class, "curl", "public",        \
		     "guard_public", 0, title)
#define SEPARATE(...) BOTH(AUTHORITY_SEPARATION, __VA_ARGS__)
/* To an address that nothing lists, past everything polite. */
#define DENY(id, path, protocol, client, switches, title)                                                                                            \
	BOTH(DEFAULT_DENY, "deny." id, path, protocol, REFUSED, UNLISTED, NULL, "attempt " client, switches, "guard_routes", 0, title)
#define DENY4(id, path, protocol, client, switches, title)                                                                                           \
	CASE(DEFAULT_DENY, "deny." id ".4", path, 4, protocol, REFUSED, UNLISTED, NULL, "attempt " client, switches, "guard_routes", 0, title)

const struct nc_case nc_cases[] = {
	/* exact_destination_match */
	MATCH("match.listed.tcp", "tcp_connect", TCP, REACHED, LISTED, NULL, "curl", "", "", 0, "a listed address and port is reached"),
	MATCH("match.listed.udp", "udp_connect", UDP, REACHED, LISTED, NULL, "attempt udp-sendto %t %p", "", "", DIRECT,
	      "a listed UDP destination is reached"),
	MATCH("match.port.tcp", "tcp_connect", TCP, REFUSED, PORT, NULL, "curl", "port", "guard_port", 0, "one port off"),
	MATCH("match.port.udp", "udp_connect", UDP, REFUSED, PORT, NULL, "attempt udp-sendto %t %p", "port", "guard_routes", DIRECT,
	      "one port off, by UDP"),
	MATCH("match.protocol", "udp_connect", UDP, REFUSED, PROTOCOL, NULL, "attempt udp-sendto %t %p", "listed", "guard_routes", 0,
	      "UDP to a destination that is listed for TCP"),
	MATCH("match.bit.tcp", "tcp_connect", TCP, REFUSED, BIT, NULL, "curl", "listed", "guard_host", 0, "one bit of the address off"),
	MATCH("match.named", "tcp_connect", TCP, REACHED, NAMED, NULL, "curl", "", "", 0, "a listed name and port is reached"),
	MATCH("match.name.byte", "tcp_connect", TCP, REFUSED, NAME_BYTE, NULL, "curl", "listed", "guard_host", 0, "a name that differs in one byte"),
	MATCH("match.name.suffix", "tcp_connect", TCP, REFUSED, NAME_SUFFIX, NULL, "curl", "listed", "guard_host", 0,
	      "a longer name with the same end"),
	MATCH("match.name.below", "tcp_connect", TCP, REFUSED, NAME_BELOW, NULL, "curl", "listed", "guard_host", 0, "a name below the listed one"),
	MATCH("match.name.prefix", "tcp_connect", TCP, REFUSED, NAME_PREFIX, NULL, "curl", "listed", "guard_host", 0, "the listed name as a prefix"),

	/* redirect_recheck */
	RECHECK("redirect.listed", "tcp_connect", TCP, REACHED, REDIRECT_LISTED, "302", "follow", "", "", 0,
		"a redirect to a listed destination is followed"),
	RECHECK("redirect.other.301", "tcp_connect", TCP, REFUSED, REDIRECT_OTHER, "301", "follow", "recheck", "guard_recheck", 0,
		"301 to another host"),
	RECHECK("redirect.other.302", "tcp_connect", TCP, REFUSED, REDIRECT_OTHER, "302", "follow", "recheck", "guard_recheck", 0,
		"302 to another host"),
	RECHECK("redirect.other.307", "tcp_connect", TCP, REFUSED, REDIRECT_OTHER, "307", "follow", "recheck", "guard_recheck", 0,
		"307 to another host"),
	RECHECK("redirect.other.308", "tcp_connect", TCP, REFUSED, REDIRECT_OTHER, "308", "follow", "recheck", "guard_recheck", 0,
		"308 to another host"),
	RECHECK("redirect.port.302", "tcp_connect", TCP, REFUSED, REDIRECT_PORT, "302", "follow", "recheck", "guard_recheck", 0,
		"302 to another port"),
	RECHECK("redirect.private.302", "tcp_connect", TCP, REFUSED, REDIRECT_PRIVATE, "302", "follow", "recheck public",
		"guard_recheck guard_public", 0, "302 into the private network"),

	/* connect_time_public_address */
	CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.second.4", "tcp_connect", 4, TCP, REFUSED, ANSWER_SECOND, NULL, "curl-twice", "public",
	     "guard_public", 0, "public when asked first, private when asked again"),
	CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.alias.4", "tcp_connect", 4, TCP, REFUSED, ANSWER_ALIAS, NULL, "curl", "public", "guard_public", 0,
	     "an alias into the private network"),
	PUBLIC4("private10.4", "private10", "10.0.0.0/8"),
	PUBLIC4("private172.4", "private172", "172.16.0.0/12"),
	PUBLIC4("private192.4", "private192", "192.168.0.0/16"),
	PUBLIC4("shared.4", "shared", "100.64.0.0/10, carrier-grade NAT"),
	PUBLIC4("linklocal.4", "linklocal", "169.254.0.0/16"),
	PUBLIC4("thisnetwork.4", "thisnetwork", "0.0.0.0/8"),
	PUBLIC4("assignment.4", "assignment", "192.0.0.0/24"),
	PUBLIC4("documentation.4", "documentation", "documentation"),
	PUBLIC4("benchmarking.4", "benchmarking", "198.18.0.0/15"),
	PUBLIC4("reserved.4", "reserved", "240.0.0.0/4"),
	PUBLIC6("uniquelocal.6", "uniquelocal", "fc00::/7"),
	PUBLIC6("sitelocal.6", "sitelocal", "fec0::/10"),
	PUBLIC6("documentation.6", "documentation6", "2001:db8::/32"),
	PUBLIC6("discard.6", "discard", "100::/64"),
	PUBLIC6("teredo.6", "teredo", "2001::/32"),
	PUBLIC6("orchid.6", "orchid", "2001:10::/28"),
	PUBLIC6("sixtofour.6", "sixtofour", "2002::/16 that carries 10.0.0.0/8"),
	PUBLIC6("nat64.6", "nat64", "64:ff9b::/96 that carries 10.0.0.0/8"),
	PUBLIC6("nat64local.6", "nat64local", "64:ff9b:1::/48"),
	PUBLIC6("compatible.6", "compatible", "::a.b.c.d"),
	PUBLIC6("translated.6", "translated", "::ffff:0:a.b.c.d"),
	PUBLIC6("unassigned.6", "unassigned", "outside 2000::/3"),

	/* authority_separation */
	SEPARATE("separate.plane.listed", "tcp_connect", TCP, REACHED, PLANE_LISTED, NULL, "credential", "", "", 0,
		 "the plane authenticates at its own endpoint"),
	SEPARATE("separate.workload.crosses", "tcp_connect", TCP, REFUSED, PLANE_BY_WORKLOAD, NULL, "curl", "separate", "guard_lists", 0,
		 "the workload tries the plane's destination"),
	SEPARATE("separate.plane.crosses", "tcp_connect", TCP, REFUSED, WORKLOAD_BY_PLANE, NULL, "curl", "separate", "guard_lists", 0,
		 "the plane tries the workload's destination"),
	CASE(AUTHORITY_SEPARATION, "separate.credential", "same_uid", 4, TCP, REFUSED, CREDENTIAL, NULL, "search", "", "guard_credential", 0,
	     "the workload's edge holds no plane credential"),

	/* default_deny */
	BOTH(DEFAULT_DENY, "deny.none", "tcp_connect", TCP, REFUSED, NONE, NULL, "curl", "mode_none listed", "guard_host guard_port", 0, "mode none"),
	BOTH(DEFAULT_DENY, "deny.unlisted", "tcp_connect", TCP, REFUSED, UNLISTED, NULL, "curl", "listed", "guard_host guard_port", 0,
	     "what nothing lists"),
	BOTH(DEFAULT_DENY, "deny.ignored.listed", "tcp_connect", TCP, REFUSED, DIRECT_LISTED, NULL, "attempt tcp %t %p", "", "guard_routes", PROXY,
	     "proxy variables ignored, to a listed host"),
	DENY("tcp", "tcp_connect", TCP, "tcp %t %p", "listed", "TCP, proxy variables ignored"),
	DENY("fork", "tcp_connect", TCP, "fork-tcp %t %p", "listed", "from a child that is forked at once"),
	DENY("udp", "udp_connect", UDP, "udp-sendto %t %p", "listed", "one datagram"),
};
const size_t nc_case_count = sizeof(nc_cases) / sizeof(*nc_cases);

static const struct {
	const char *word, *meaning;
} constructions[] = {
#define CONSTRUCTION_ROW(symbol, word, meaning) [NC_CONSTRUCTION_##symbol] = {word, meaning},
	NC_CONSTRUCTIONS(CONSTRUCTION_ROW)};

const char *nc_construction_word(enum nc_construction construction)
{
	return (size_t)construction < NC_CONSTRUCTION_COUNT ? constructions[construction].word : NULL;
}

const char *nc_construction_meaning(enum nc_construction construction)
{
	return (size_t)construction < NC_CONSTRUCTION_COUNT ? constructions[construction].meaning : NULL;
}

const struct nc_case *nc_case_find(const char *id)
{
	for (size_t i = 0; i < nc_case_count; i++) {
		if (!strcmp(nc_cases[i].id, id))
			return &nc_cases[i];
	}
	return NULL;
}
