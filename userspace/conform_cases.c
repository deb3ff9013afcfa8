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

#define CASE_WITHOUT(base, fact, id, path, family, protocol, expect, construction, variant, client, switches, guard, flags, title)                   \
	{                                                                                                                                            \
		id, NC_FACT_##fact, path, family, protocol, expect, NC_CONSTRUCTION_##construction, variant, client, switches, guard, base, flags,   \
			title                                                                                                                        \
	}
#define CASE(...) CASE_WITHOUT(NULL, __VA_ARGS__)
#define BOTH_WITHOUT(base, fact, id, path, protocol, expect, construction, variant, client, switches, guard, flags, title)                           \
	CASE_WITHOUT(base, fact, id ".4", path, 4, protocol, expect, construction, variant, client, switches, guard, flags, title),                  \
		CASE_WITHOUT(base, fact, id ".6", path, 6, protocol, expect, construction, variant, client, switches, guard, flags, title)
#define BOTH(...) BOTH_WITHOUT(NULL, __VA_ARGS__)

#define MATCH(...) BOTH(EXACT_DESTINATION_MATCH, __VA_ARGS__)
/* A name that nothing lists is not even asked for: the path opens only when the question leaves as well. */
#define NAME(id, construction, title)                                                                                                                \
	MATCH("match.name." id, "tcp_connect", TCP, REFUSED, construction, NULL, "curl", "resolver public listed", "guard_host", 0, title)
#define RECHECK(id, construction, status, switches, guard, title)                                                                                    \
	BOTH(REDIRECT_RECHECK, "redirect." id "." status, "tcp_connect", TCP, REFUSED, construction, status, "follow", switches, guard, 0, title)
#define PUBLIC(id, family, base, construction, class, client, switches, title)                                                                       \
	CASE_WITHOUT(base, CONNECT_TIME_PUBLIC_ADDRESS, "public." id, "tcp_connect", family, TCP, REFUSED, construction, class, client, switches,    \
		     "guard_public", 0, title)
/* As a literal only the kernel refuses it; as an answer the resolver does first, and the kernel behind it. */
#define CLASS(family, class, title)                                                                                                                  \
	PUBLIC("literal." class "." #family, family, NULL, LITERAL_CLASS, class, "curl", "public", title),                                           \
		PUBLIC("answer." class "." #family, family, NULL, ANSWER_CLASS, class, "curl", "public resolver_filter grant_filter", title)
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
	MATCH("match.listed.connected", "udp_send_connected", UDP, REACHED, LISTED, NULL, "attempt udp-connect-send %t %p", "", "", DIRECT,
	      "a listed UDP destination, by a connected socket"),
	CASE(EXACT_DESTINATION_MATCH, "match.listed.mapped.4", "tcp_mapped", 4, TCP, REACHED, LISTED, NULL, "attempt mapped-tcp %t %p", "", "",
	     DIRECT, "a listed IPv4 address in its mapped spelling"),
	MATCH("match.named", "tcp_connect", TCP, REACHED, NAMED, NULL, "curl", "", "", 0, "a listed name and port is reached"),
	MATCH("match.port.tcp", "tcp_connect", TCP, REFUSED, PORT, NULL, "curl", "port", "guard_port", 0, "one port off"),
	MATCH("match.port.udp", "udp_connect", UDP, REFUSED, PORT, NULL, "attempt udp-sendto %t %p", "port", "guard_routes", DIRECT,
	      "one port off, by UDP"),
	MATCH("match.protocol", "udp_connect", UDP, REFUSED, PROTOCOL, NULL, "attempt udp-sendto %t %p", "listed", "guard_routes", 0,
	      "UDP to a destination that is listed for TCP"),
	MATCH("match.bit.tcp", "tcp_connect", TCP, REFUSED, BIT, NULL, "curl", "listed", "guard_host", 0, "one bit of the address off"),
	MATCH("match.bit.udp", "udp_connect", UDP, REFUSED, BIT, NULL, "attempt udp-connect-send %t %p", "listed", "guard_routes", DIRECT,
	      "one bit of the address off, by UDP"),
	NAME("byte", NAME_BYTE, "a name that differs in one byte"),
	NAME("suffix", NAME_SUFFIX, "a longer name with the same end"),
	NAME("below", NAME_BELOW, "a name below the listed one"),
	NAME("prefix", NAME_PREFIX, "the listed name as a prefix"),
	MATCH("match.reconnect.tcp", "reconnect", TCP, REFUSED, UNLISTED, NULL, "attempt reconnect %w %q %t %p", "listed", "guard_routes", DIRECT,
	      "the socket of a permitted connection, dissolved and dialled again"),
	MATCH("match.reconnect.udp", "reconnect", UDP, REFUSED, PROTOCOL, NULL, "attempt udp-after-refusal %t %p %t %p", "listed", "guard_routes",
	      DIRECT, "a datagram after a refused connect on the same socket"),

	/* redirect_recheck */
	BOTH(REDIRECT_RECHECK, "redirect.listed.302", "tcp_connect", TCP, REACHED, REDIRECT_LISTED, "302", "follow", "", "", 0,
	     "a redirect to a listed destination is followed"),
	RECHECK("other", REDIRECT_OTHER, "301", "recheck", "guard_recheck", "301 to another host"),
	RECHECK("other", REDIRECT_OTHER, "302", "recheck", "guard_recheck", "302 to another host"),
	RECHECK("other", REDIRECT_OTHER, "303", "recheck", "guard_recheck", "303 to another host"),
	RECHECK("other", REDIRECT_OTHER, "307", "recheck", "guard_recheck", "307 to another host"),
	RECHECK("other", REDIRECT_OTHER, "308", "recheck", "guard_recheck", "308 to another host"),
	RECHECK("port", REDIRECT_PORT, "302", "recheck", "guard_recheck", "302 to another port"),
	RECHECK("private", REDIRECT_PRIVATE, "302", "recheck public", "guard_recheck guard_public", "302 into the private network"),

	/* connect_time_public_address */
	PUBLIC("second.4", 4, NULL, ANSWER_SECOND, NULL, "curl-twice", "public resolver_filter grant_filter resolver_cache",
	       "public when asked first, private when asked again"),
	PUBLIC("second.6", 6, NULL, ANSWER_SECOND, NULL, "curl-twice", "public resolver_filter grant_filter resolver_cache",
	       "public when asked first, unique-local when asked again"),
	PUBLIC("alias.4", 4, NULL, ANSWER_ALIAS, NULL, "curl", "public resolver_filter grant_filter", "an alias into the private network"),
	PUBLIC("alias.6", 6, NULL, ANSWER_ALIAS, NULL, "curl", "public resolver_filter grant_filter", "an alias into the private network"),
	PUBLIC("kernel.4", 4, "resolver_filter grant_filter", ANSWER_CLASS, "private10", "curl", "public",
	       "the resolver's filter off, a private grant installed"),
	PUBLIC("kernel.6", 6, "resolver_filter grant_filter", ANSWER_CLASS, "uniquelocal", "curl", "public",
	       "the resolver's filter off, a private grant installed"),
	PUBLIC("filter.4", 4, "public grant_filter", ANSWER_CLASS, "private10", "curl", "resolver_filter",
	       "the kernel's check off, the resolver's filter alone"),
	PUBLIC("filter.6", 6, "public grant_filter", ANSWER_CLASS, "uniquelocal", "curl", "resolver_filter",
	       "the kernel's check off, the resolver's filter alone"),
	PUBLIC("grant.4", 4, "public resolver_filter", ANSWER_CLASS, "private10", "curl", "grant_filter",
	       "who installs the grant is the last to look"),
	PUBLIC("grant.6", 6, "public resolver_filter", ANSWER_CLASS, "uniquelocal", "curl", "grant_filter",
	       "who installs the grant is the last to look"),
	PUBLIC("floor.4", 4, "public canary", LITERAL_CLASS, "metadata", "curl", "floor", "a metadata service, behind the host floor alone"),
	PUBLIC("floor.6", 6, "public canary", LITERAL_CLASS, "metadata6", "curl", "floor", "a metadata service, behind the host floor alone"),
	CLASS(4, "private10", "10.0.0.0/8"),
	CLASS(4, "private172", "172.16.0.0/12"),
	CLASS(4, "private192", "192.168.0.0/16"),
	CLASS(4, "shared", "100.64.0.0/10, carrier-grade NAT"),
	CLASS(4, "linklocal", "169.254.0.0/16"),
	CLASS(4, "thisnetwork", "0.0.0.0/8"),
	CLASS(4, "assignment", "192.0.0.0/24"),
	CLASS(4, "documentation", "documentation"),
	CLASS(4, "benchmarking", "198.18.0.0/15"),
	CLASS(4, "reserved", "240.0.0.0/4"),
	CLASS(6, "uniquelocal", "fc00::/7"),
	CLASS(6, "sitelocal", "fec0::/10"),
	CLASS(6, "documentation6", "2001:db8::/32"),
	CLASS(6, "discard", "100::/64"),
	CLASS(6, "teredo", "2001::/32"),
	CLASS(6, "orchid", "2001:10::/28"),
	CLASS(6, "sixtofour", "2002::/16 that carries 10.0.0.0/8"),
	CLASS(6, "nat64", "64:ff9b::/96 that carries 10.0.0.0/8"),
	CLASS(6, "nat64local", "64:ff9b:1::/48"),
	CLASS(6, "compatible", "::a.b.c.d"),
	CLASS(6, "translated", "::ffff:0:a.b.c.d"),
	CLASS(6, "unassigned", "outside 2000::/3"),

	/* authority_separation */
	SEPARATE("separate.plane.listed", "tcp_connect", TCP, REACHED, PLANE_LISTED, NULL, "credential", "", "", 0,
		 "the plane authenticates at its own endpoint"),
	SEPARATE("separate.workload.crosses", "tcp_connect", TCP, REFUSED, PLANE_BY_WORKLOAD, NULL, "curl", "separate", "guard_lists", 0,
		 "the workload tries the plane's destination"),
	SEPARATE("separate.plane.crosses", "tcp_connect", TCP, REFUSED, WORKLOAD_BY_PLANE, NULL, "curl", "separate", "guard_lists", 0,
		 "the plane tries the workload's destination"),
	CASE(AUTHORITY_SEPARATION, "separate.credential", "same_uid", 4, TCP, REFUSED, CREDENTIAL, NULL, "search", "edge_credential",
	     "guard_credential", 0, "the workload's edge holds no plane credential"),

	/* default_deny */
	BOTH(DEFAULT_DENY, "deny.none", "tcp_connect", TCP, REFUSED, NONE, NULL, "curl", "mode_none listed canary", "guard_host guard_port", 0,
	     "mode none"),
	BOTH_WITHOUT("listed canary", DEFAULT_DENY, "deny.none.alone", "tcp_connect", TCP, REFUSED, NONE, NULL, "curl", "mode_none", "guard_host", 0,
		     "mode none, with nothing behind it"),
	BOTH(DEFAULT_DENY, "deny.unlisted", "tcp_connect", TCP, REFUSED, UNLISTED, NULL, "curl", "listed", "guard_host guard_port", 0,
	     "what nothing lists"),
	BOTH(DEFAULT_DENY, "deny.ignored.listed", "tcp_connect", TCP, REFUSED, DIRECT_LISTED, NULL, "attempt tcp %t %p", "", "guard_routes", PROXY,
	     "proxy variables ignored, to a listed host"),
	BOTH(DEFAULT_DENY, "deny.dns.udp", "udp_connect", UDP, REFUSED, DNS, NULL, "attempt udp-sendto %t %p", "resolver listed", "guard_routes", 0,
	     "a name server of the workload's own choice"),
	BOTH(DEFAULT_DENY, "deny.dns.tcp", "tcp_connect", TCP, REFUSED, DNS, NULL, "attempt tcp %t %p", "resolver listed", "guard_routes", 0,
	     "a name server of the workload's own choice, by TCP"),
	BOTH_WITHOUT("listed", DEFAULT_DENY, "deny.dns.alone", "udp_connect", UDP, REFUSED, DNS, NULL, "attempt udp-sendto %t %p", "resolver",
		     "guard_routes", 0, "a name server of the workload's own choice, with nothing but the redirect in the way"),
	DENY("tcp", "tcp_connect", TCP, "tcp %t %p", "listed", "TCP, proxy variables ignored"),
	DENY("fork", "tcp_connect", TCP, "fork-tcp %t %p", "listed", "from a child that is forked at once"),
	DENY4("mapped.tcp", "tcp_mapped", TCP, "mapped-tcp %t %p", "listed", "the mapped spelling"),
	DENY("tfo.sendto", "tcp_fast_open", TCP, "tfo-sendto %t %p", "listed", "TCP Fast Open by sendto"),
	DENY("tfo.connect", "tcp_fast_open", TCP, "tfo-connect %t %p", "listed", "TCP Fast Open by connect and write"),
	DENY("udp", "udp_connect", UDP, "udp-sendto %t %p", "listed", "one datagram"),
	DENY("udp.connected", "udp_send_connected", UDP, "udp-connect-send %t %p", "listed", "a connected datagram socket"),
	DENY("udp.batch", "udp_connect", UDP, "udp-sendmmsg %t %p %t %p", "listed", "a batch of datagrams"),
	DENY("udp.cork", "udp_connect", UDP, "udp-cork %t %p", "listed", "a corked datagram"),
	DENY("udp.more", "udp_connect", UDP, "udp-more %t %p", "listed", "a datagram in parts"),
	BOTH(DEFAULT_DENY, "deny.udp.large", "udp_connect", UDP, REFUSED, UNLISTED, NULL, "attempt udp-large %t %p", "listed", "guard_routes",
	     NC_CASE_ANY_PAYLOAD, "a datagram in fragments"),
	BOTH(DEFAULT_DENY, "deny.udp.gso", "udp_connect", UDP, REFUSED, UNLISTED, NULL, "attempt udp-gso %t %p", "listed", "guard_routes",
	     NC_CASE_ANY_PAYLOAD, "several datagrams by one call"),
	DENY("udp.pktinfo", "udp_connect", UDP, "udp-pktinfo %t %p", "listed", "a control message beside no address"),
	DENY4("udp.unspec", "udp_unspec_family", UDP, "udp-unspec %t %p", "listed", "family AF_UNSPEC and a real address"),
	DENY4("mapped.udp", "udp_mapped", UDP, "mapped-udp %t %p", "listed", "a mapped datagram"),
	DENY4("mapped.udp.connected", "udp_mapped", UDP, "mapped-udp-connect %t %p", "listed", "a mapped datagram, connected"),
	DENY4("v4on6.udp", "udp_v4_on_v6", UDP, "v4-on-v6-udp %t %p", "listed", "an IPv4 address on an IPv6 socket"),
	DENY4("v4on6.udp.connected", "udp_v4_on_v6", UDP, "v4-on-v6-udp-connect %t %p", "listed", "an IPv4 address on an IPv6 socket, connected"),
	DENY("uring.inline", "io_uring", TCP, "iouring-connect inline %t %p", "ring_filter listed", "a ring, inline"),
	DENY("uring.async", "io_uring", TCP, "iouring-connect async %t %p", "ring_filter listed", "a ring, by a worker"),
	DENY("uring.sqpoll", "io_uring", TCP, "iouring-connect sqpoll %t %p", "ring_filter listed", "a ring with a polling thread"),
	DENY("uring.udp", "io_uring", UDP, "iouring-send inline %t %p", "ring_filter listed", "a datagram through a ring"),
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
