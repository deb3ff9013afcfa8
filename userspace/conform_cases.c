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

/* NULL is no text */
#define TEXT(text) __builtin_choose_expr(__builtin_types_compatible_p(__typeof__(text), void *), "", text)
#define CASE_WITHOUT(base, fact, id, path, family, protocol, expect, construction, variant, client, switches, guard, flags, title)                   \
	{                                                                                                                                            \
		id, NC_FACT_##fact, path, family, protocol, expect, NC_CONSTRUCTION_##construction, TEXT(variant), client, switches, guard,          \
			TEXT(base), flags, title                                                                                                     \
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
#define NAT64(id, protocol, expect, construction, variant, client, switches, flags, title)                                                           \
	CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.nat64." id, "nat64_prefix", 6, protocol, expect, construction, variant, client, switches, "",      \
	     flags, title)
#define SEPARATE(...) BOTH(AUTHORITY_SEPARATION, __VA_ARGS__)
/* To an address that nothing lists, past everything polite. */
#define DENY(id, path, protocol, client, switches, title)                                                                                            \
	BOTH(DEFAULT_DENY, "deny." id, path, protocol, REFUSED, UNLISTED, NULL, "attempt " client, switches, "guard_routes", 0, title)
#define DENY4(id, path, protocol, client, switches, title)                                                                                           \
	CASE(DEFAULT_DENY, "deny." id ".4", path, 4, protocol, REFUSED, UNLISTED, NULL, "attempt " client, switches, "guard_routes", 0, title)
/* With a part of the matrix's own in it (conform_actor.c). */
#define ACTED_WITHOUT(base, id, path, protocol, construction, client, switches, flags, title)                                                        \
	BOTH_WITHOUT(base, DEFAULT_DENY, "deny." id, path, protocol, REFUSED, construction, NULL, "attempt " client, switches, "guard_routes",       \
		     flags, title)
#define ACTED(...) ACTED_WITHOUT(NULL, __VA_ARGS__)
/* To a permitted address and port, with another name in the first bytes. */
#define SHOWN(id, construction, switches, title)                                                                                                     \
	BOTH(EXACT_DESTINATION_MATCH, "match." id, "shared_address", TCP, REFUSED, construction, NULL, "show", switches, "", NC_CASE_TOKEN | DIRECT, \
	     title)
/* The same with a first payload of its own making. */
#define HEAD(...) HEAD_BY("shared_address", __VA_ARGS__)
#define HEAD_BY(path, id, base, how, switches, title)                                                                                                \
	BOTH_WITHOUT(base, EXACT_DESTINATION_MATCH, "match.wire." id, path, TCP, REFUSED, WIRE_NAME, NULL,                                           \
		     "resolved attempt shown " how " %t %p %n", switches, "", NC_CASE_TOKEN | DIRECT, title)
/* A ClientHello to a permitted address: of another name, and its twin of the listed one. */
#define HELLO_TO(id, expect, construction, shape, name, switches, title)                                                                             \
	BOTH(EXACT_DESTINATION_MATCH, "match.wire.hello." id, "shared_address", TCP, expect, construction, "tls",                                    \
	     "resolved attempt hello " shape " %t %p " name, switches, "", NC_CASE_TOKEN | DIRECT, title)
#define HELLO_OTHER(shape, title) HELLO_TO(shape, REFUSED, WIRE_NAME, shape, "elsewhere.example", "wire", title)
#define HELLO(shape, title)                                                                                                                          \
	HELLO_TO("own." shape, REACHED, WIRE_OWN, shape, "%n", "", "the listed name in " title), HELLO_OTHER(shape, "another name in " title)
#define NAMED(path, id, base, construction, switches, flags, title)                                                                                  \
	BOTH_WITHOUT(base, EXACT_DESTINATION_MATCH, "match." id, path, TCP, REFUSED, construction, NULL, "resolved attempt -w %g tcp %t %p",         \
		     switches, "", DIRECT | (flags), title)

/* By root, in the control: what an ordinary user cannot do shows nothing about the cordon. */
#define MOVED(id, base, switches, title)                                                                                                             \
	CASE_WITHOUT(base, DEFAULT_DENY, "deny." id ".4", "cgroup_move", 4, TCP, REFUSED, POINTED_OUT, NULL, "attempt move-tcp %c %t %p", switches,  \
		     "", NC_CASE_PRIVILEGED | NC_CASE_CGROUPS | DIRECT, title)
#define POLICY(id, base, switches, title)                                                                                                            \
	CASE_WITHOUT(base, DEFAULT_DENY, "deny." id ".4", "policy_rewrite", 4, TCP, REFUSED, POINTED_OUT, NULL,                                      \
		     "attempt rewrite-policy %e %w %q %t %p", switches, "", NC_CASE_PRIVILEGED | NC_CASE_PINS | DIRECT, title)
#define ROBBED(id, base, switches, title)                                                                                                            \
	CASE_WITHOUT(base, DEFAULT_DENY, "deny." id ".4", "same_uid_process", 4, UDP, REFUSED, LENT, NULL, "attempt robbed %g 37", switches, "",     \
		     DIRECT, title)
#define TYPED(id, base, switches, title)                                                                                                             \
	CASE_WITHOUT(base, DEFAULT_DENY, "deny." id ".4", "terminal_injection", 4, UDP, REFUSED, TERMINAL, NULL, "attempt type %g /dev/tty",         \
		     switches, "", DIRECT, title)

#define NODE(id, path, base, construction, device, verb, switches, flags, title)                                                                     \
	CASE_WITHOUT(base, DEFAULT_DENY, "deny." id ".4", path, 4, UDP, REFUSED, construction, device, "attempt " verb " %d %g", switches, "",       \
		     DIRECT | (flags), title)

const struct nc_case nc_cases[] = {
	/* exact_destination_match */
	MATCH("match.listed.tcp", "tcp_connect", TCP, REACHED, LISTED, NULL, "curl", "", "", 0, "a listed address and port is reached"),
	MATCH("match.listed.udp", "udp_sendto", UDP, REACHED, LISTED, NULL, "attempt udp-sendto %t %p", "", "", DIRECT,
	      "a listed UDP destination is reached"),
	MATCH("match.listed.connected", "udp_connected", UDP, REACHED, LISTED, NULL, "attempt udp-connect-send %t %p", "", "", DIRECT,
	      "a listed UDP destination, by a connected socket"),
	CASE(EXACT_DESTINATION_MATCH, "match.listed.mapped.4", "v4_mapped", 4, TCP, REACHED, LISTED, NULL, "attempt mapped-tcp %t %p", "", "", DIRECT,
	     "a listed IPv4 address in its mapped spelling"),
	MATCH("match.named", "tcp_connect", TCP, REACHED, NAMED, NULL, "curl", "", "", 0, "a listed name and port is reached"),
	MATCH("match.port.tcp", "tcp_connect", TCP, REFUSED, PORT, NULL, "curl", "port", "guard_port", 0, "one port off"),
	MATCH("match.port.udp", "udp_sendto", UDP, REFUSED, PORT, NULL, "attempt udp-sendto %t %p", "port", "guard_routes", DIRECT,
	      "one port off, by UDP"),
	MATCH("match.protocol", "udp_sendto", UDP, REFUSED, PROTOCOL, NULL, "attempt udp-sendto %t %p", "listed", "guard_routes", 0,
	      "UDP to a destination that is listed for TCP"),
	MATCH("match.bit.tcp", "tcp_connect", TCP, REFUSED, BIT, NULL, "curl", "listed", "guard_host", 0, "one bit of the address off"),
	MATCH("match.bit.udp", "udp_sendto", UDP, REFUSED, BIT, NULL, "attempt udp-connect-send %t %p", "listed", "guard_routes", DIRECT,
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
	PUBLIC("cache.4", 4, "public resolver_filter grant_filter", ANSWER_SECOND, NULL, "curl-twice", "resolver_cache",
	       "public when asked first, and the answer is kept"),
	PUBLIC("cache.6", 6, "public resolver_filter grant_filter", ANSWER_SECOND, NULL, "curl-twice", "resolver_cache",
	       "public when asked first, and the answer is kept"),
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
	PUBLIC("floor.nat64.6", 6, "public canary", LITERAL_CLASS, "metadata64", "curl", "floor",
	       "a metadata service behind the known NAT64 prefix, behind the host floor alone"),
	BOTH_WITHOUT("canary", CONNECT_TIME_PUBLIC_ADDRESS, "public.floor.host.tcp", "host_address", TCP, REFUSED, HOST_LISTED, NULL,
		     "attempt tcp %t %p", "floor", "", DIRECT, "a listed public address that is the host's own"),
	BOTH_WITHOUT("canary", CONNECT_TIME_PUBLIC_ADDRESS, "public.floor.host.udp", "host_address", UDP, REFUSED, HOST_LISTED, NULL,
		     "attempt udp-sendto %t %p", "floor", "", DIRECT, "the same by UDP"),
	NAT64("listed.6", TCP, REACHED, NAT64_LISTED, "known", "curl", "", 0, "a public address behind the known NAT64 prefix, listed, is reached"),
	NAT64("own.listed.6", TCP, REACHED, NAT64_LISTED, NULL, "curl", "", NC_CASE_APART,
	      "a public address behind the network's own prefix, by its name"),
	NAT64("own.6", TCP, REFUSED, NAT64, "private10", "curl", "public", NC_CASE_APART, "10.0.0.0/8 behind the network's own prefix"),
	NAT64("own.udp.6", UDP, REFUSED, NAT64, "private10", "attempt udp-sendto %t %p", "public", NC_CASE_APART | DIRECT, "the same by UDP"),
	NAT64("own.linklocal.6", TCP, REFUSED, NAT64, "linklocal", "curl", "public", NC_CASE_APART, "169.254.0.0/16 behind the network's own prefix"),
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
	CASE(CONNECT_TIME_PUBLIC_ADDRESS, "public.nat64.udp.6", "nat64_prefix", 6, UDP, REFUSED, LITERAL_CLASS, "nat64", "attempt udp-sendto %t %p",
	     "public", "", DIRECT, "the same by UDP"),
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
	CASE(AUTHORITY_SEPARATION, "separate.credential", "edge_processes", 4, TCP, REFUSED, CREDENTIAL, NULL, "search", "edge_credential",
	     "guard_credential", 0, "the workload's edge holds no plane credential"),

	BOTH_WITHOUT("unix guard passed", AUTHORITY_SEPARATION, "separate.socket", "socket_from_outside", UDP, REFUSED, HANDED_BY_PLANE, NULL,
		     "attempt -w %d scm-receive %d %t %p", "authority", "", 0, "the workload uses a socket that the plane made"),

	/* default_deny */
	BOTH(DEFAULT_DENY, "deny.none", "tcp_connect", TCP, REFUSED, NONE, NULL, "curl", "mode_none listed canary", "guard_host guard_port", 0,
	     "mode none"),
	BOTH_WITHOUT("listed canary", DEFAULT_DENY, "deny.none.alone", "tcp_connect", TCP, REFUSED, NONE, NULL, "curl", "mode_none", "guard_host", 0,
		     "mode none, with nothing behind it"),
	BOTH(DEFAULT_DENY, "deny.unlisted", "tcp_connect", TCP, REFUSED, UNLISTED, NULL, "curl", "listed", "guard_host guard_port", 0,
	     "what nothing lists"),
	BOTH(DEFAULT_DENY, "deny.ignored.listed", "tcp_connect", TCP, REFUSED, DIRECT_LISTED, NULL, "attempt tcp %t %p", "", "guard_routes", PROXY,
	     "proxy variables ignored, to a listed host"),
	BOTH(DEFAULT_DENY, "deny.dns.udp", "udp_sendto", UDP, REFUSED, DNS, NULL, "attempt udp-sendto %t %p", "resolver listed", "guard_routes", 0,
	     "a name server of the workload's own choice"),
	BOTH(DEFAULT_DENY, "deny.dns.tcp", "tcp_connect", TCP, REFUSED, DNS, NULL, "attempt tcp %t %p", "resolver listed", "guard_routes", 0,
	     "a name server of the workload's own choice, by TCP"),
	BOTH_WITHOUT("listed", DEFAULT_DENY, "deny.dns.alone", "udp_sendto", UDP, REFUSED, DNS, NULL, "attempt udp-sendto %t %p", "resolver",
		     "guard_routes", 0, "a name server of the workload's own choice, with nothing but the redirect in the way"),
	DENY("tcp", "tcp_connect", TCP, "tcp %t %p", "listed", "TCP, proxy variables ignored"),
	DENY("fork", "tcp_connect", TCP, "fork-tcp %t %p", "listed", "from a child that is forked at once"),
	DENY4("mapped.tcp", "v4_mapped", TCP, "mapped-tcp %t %p", "listed", "the mapped spelling"),
	DENY("tfo.sendto", "tcp_fast_open", TCP, "tfo-sendto %t %p", "listed", "TCP Fast Open by sendto"),
	DENY("tfo.connect", "tcp_fast_open", TCP, "tfo-connect %t %p", "listed", "TCP Fast Open by connect and write"),
	DENY("udp", "udp_sendto", UDP, "udp-sendto %t %p", "listed", "one datagram"),
	DENY("udp.connected", "udp_connected", UDP, "udp-connect-send %t %p", "listed", "a connected datagram socket"),
	DENY("udp.batch", "udp_batch", UDP, "udp-sendmmsg %t %p %t %p", "listed", "a batch of datagrams"),
	DENY("udp.cork", "udp_sendto", UDP, "udp-cork %t %p", "listed", "a corked datagram"),
	DENY("udp.more", "udp_sendto", UDP, "udp-more %t %p", "listed", "a datagram in parts"),
	BOTH(DEFAULT_DENY, "deny.udp.large", "udp_sendto", UDP, REFUSED, UNLISTED, NULL, "attempt udp-large %t %p", "listed", "guard_routes",
	     NC_CASE_ANY_PAYLOAD, "a datagram in fragments"),
	BOTH(DEFAULT_DENY, "deny.udp.gso", "udp_sendto", UDP, REFUSED, UNLISTED, NULL, "attempt udp-gso %t %p", "listed", "guard_routes",
	     NC_CASE_ANY_PAYLOAD, "several datagrams by one call"),
	DENY("udp.pktinfo", "udp_sendto", UDP, "udp-pktinfo %t %p", "listed", "a control message beside no address"),
	DENY4("udp.unspec", "address_family_mixed", UDP, "udp-unspec %t %p", "listed", "family AF_UNSPEC and a real address"),
	DENY4("mapped.udp", "v4_mapped", UDP, "mapped-udp %t %p", "listed", "a mapped datagram"),
	DENY4("mapped.udp.connected", "v4_mapped", UDP, "mapped-udp-connect %t %p", "listed", "a mapped datagram, connected"),
	DENY4("v4on6.udp", "address_family_mixed", UDP, "v4-on-v6-udp %t %p", "listed", "an IPv4 address on an IPv6 socket"),
	DENY4("v4on6.udp.connected", "address_family_mixed", UDP, "v4-on-v6-udp-connect %t %p", "listed",
	      "an IPv4 address on an IPv6 socket, connected"),
	DENY("udplite", "udplite", IPPROTO_UDPLITE, "udplite %t %p", "protocol egress_form egress_destination", "UDP-Lite, connected"),
	DENY("udplite.sendto", "udplite", IPPROTO_UDPLITE, "udplite-sendto %t %p", "protocol listed egress_form egress_destination",
	     "UDP-Lite by sendto"),
	CASE(DEFAULT_DENY, "deny.echo.4", "icmp_datagram", 4, IPPROTO_ICMP, REFUSED, UNLISTED, NULL, "attempt icmp-dgram %t",
	     "protocol egress_form egress_destination ingress", "guard_routes", NC_CASE_ANY_PAYLOAD, "an echo request without privilege"),
	CASE(DEFAULT_DENY, "deny.echo.6", "icmp_datagram", 6, IPPROTO_ICMPV6, REFUSED, UNLISTED, NULL, "attempt icmp-dgram %t",
	     "protocol egress_form egress_destination ingress", "guard_routes", NC_CASE_ANY_PAYLOAD, "an echo request without privilege"),
	CASE(DEFAULT_DENY, "deny.zero.4", "unspecified_address", 4, TCP, REFUSED, SELF, NULL, "attempt zero-address v4 %p",
	     "public listed egress_loopback egress_destination ingress", "", DIRECT, "0.0.0.0, which means this host"),
	CASE(DEFAULT_DENY, "deny.zero.6", "unspecified_address", 6, TCP, REFUSED, SELF, NULL, "attempt zero-address v6 %p",
	     "public listed egress_loopback egress_destination ingress", "", DIRECT, "::, which means this host"),
	BOTH(DEFAULT_DENY, "deny.loopback", "host_address", TCP, REFUSED, SELF, NULL, "attempt tcp %t %p", "public listed egress_loopback", "",
	     DIRECT, "loopback"),
	BOTH(DEFAULT_DENY, "deny.host", "host_address", TCP, REFUSED, SELF_LINK, NULL, "attempt tcp %t %p", "public listed egress_loopback", "",
	     DIRECT, "the host's own address"),
	DENY("uring.inline", "io_uring_calls", TCP, "iouring-connect inline %t %p", "ring_filter listed", "a ring, inline"),
	DENY("uring.async", "io_uring_calls", TCP, "iouring-connect async %t %p", "ring_filter listed", "a ring, by a worker"),
	DENY("uring.sqpoll", "io_uring_calls", TCP, "iouring-connect sqpoll %t %p", "ring_filter listed", "a ring with a polling thread"),
	DENY("uring.udp", "io_uring_calls", UDP, "iouring-send inline %t %p", "ring_filter listed", "a datagram through a ring"),
	DENY("uring.socket", "io_uring_socket", TCP, "iouring-socket-tcp inline %t %p", "ring_filter listed", "a socket that a ring makes"),
	DENY("mptcp", "mptcp", TCP, "mptcp %t %p", "protocol label guard", "Multipath TCP"),
	DENY("sctp", "sctp", IPPROTO_SCTP, "sctp %t %p", "protocol listed egress_form egress_destination ingress", "SCTP"),
	DENY("dccp", "dccp", IPPROTO_DCCP, "dccp %t %p", "protocol listed egress_form egress_destination ingress", "DCCP"),
	ACTED("child", "child_cgroup", TCP, CHILD, "-w %g tcp %t %p", "listed", NC_CASE_DIRECT_ONLY, "from a child cgroup"),
	ACTED("unsealed", "unsealed_cgroup", TCP, UNSEALED, "tcp %t %p", "label", NC_CASE_CGROUPS, "from a cgroup without a policy"),
	ACTED("inherited", "inherited_descriptor", UDP, INHERITED, "use-fd %f", "descriptors passed", NC_CASE_ANY_PAYLOAD,
	      "a connected socket that the caller left open"),
	ACTED("inherited.sendto", "connected_socket_from_outside", UDP, INHERITED, "use-fd-sendto %f %t %p", "descriptors passed", 0,
	      "a socket that the caller left open, told where to send"),
	ACTED("unix.helper", "unix_pathname", TCP, HELPER, "-w %d unix-path %d", "unix", 0, "a helper outside behind a path"),
	BOTH(DEFAULT_DENY, "deny.unix.abstract", "unix_abstract", TCP, REFUSED, HELPER, "abstract", "attempt -w %g unix-abstract %d", "unix",
	     "guard_routes", 0, "a helper outside behind an abstract name"),
	ACTED_WITHOUT("unix passed", "handed", "socket_from_outside", UDP, HANDED, "-w %d scm-receive %d %t %p", "guard", NC_CASE_CGROUPS,
		      "a socket that a helper outside hands out"),
	ACTED_WITHOUT("unix guard", "handed.lsm", "socket_from_outside", UDP, HANDED, "-w %d scm-receive %d %t %p", "passed",
		      NC_CASE_CGROUPS | NC_CASE_LSM, "a socket that a helper outside hands out, seen by the security hook alone"),
	ACTED("listen", "listen", TCP, LISTEN, "listen %m %p", "bind ingress egress_destination", 0, "listening on a port of its own choice"),
	ACTED("listen.unbound", "listen", TCP, LISTEN, "listen-unbound %v", "ingress egress_destination", 0, "listening without bind"),
	ACTED("listen.after", "listen_after_connect", TCP, LISTEN, "disconnect-listen %w %q", "ingress egress_destination", NC_CASE_DIRECT_ONLY,
	      "the socket of a permitted connection, dissolved and listening"),
	ACTED_WITHOUT("ingress egress_destination", "bind.alone", "listen", TCP, LISTEN, "listen %m %p", "bind", 0,
		      "a port of its own choice, and nothing behind it"),
	ACTED_WITHOUT("egress_destination", "ingress.alone", "listen", TCP, LISTEN, "listen-unbound %v", "ingress", 0,
		      "what somebody outside begins, and nothing behind it"),
	ACTED("rewrite.tcp", "destination_rewrite", TCP, REWRITTEN, "tcp %l %o", "egress_destination", NC_CASE_DIRECT_ONLY,
	      "a rule rewrites a listed destination"),
	ACTED("rewrite.udp", "destination_rewrite", UDP, REWRITTEN, "udp-connect-send %l %o", "egress_destination", NC_CASE_DIRECT_ONLY,
	      "a rule rewrites a listed destination, by UDP"),
	ACTED("helpers.dead", "tcp_connect", TCP, HELPERS_DEAD, "-w %g tcp %t %p", "listed", DIRECT | NC_CASE_HELPERS,
	      "an unlisted address, with every helper killed"),
	ACTED("impostor", "udp_sendto", UDP, IMPOSTOR, "-w %g udp-sendto %t %p", "resolver_mark", DIRECT | NC_CASE_HELPERS,
	      "a name server of one's own where the resolver was"),
	CASE(DEFAULT_DENY, "deny.packet.4", "packet_socket", 4, UDP, REFUSED, UNLISTED, NULL, "attempt packet %i %t %p", "privileges family", "",
	     NC_CASE_PRIVILEGED | DIRECT, "frames past the IP layers"),
	CASE(DEFAULT_DENY, "deny.packet.bypass.4", "packet_socket", 4, UDP, REFUSED, UNLISTED, NULL, "attempt packet-bypass %i %t %p",
	     "privileges option family", "", NC_CASE_PRIVILEGED | DIRECT, "frames past queueing, too"),
	CASE_WITHOUT("privileges", DEFAULT_DENY, "deny.family.lsm.4", "packet_socket", 4, UDP, REFUSED, UNLISTED, NULL, "attempt packet %i %t %p",
		     "family", "", NC_CASE_PRIVILEGED | NC_CASE_LSM | DIRECT, "frames past the IP layers, seen by the security hook alone"),
	CASE(DEFAULT_DENY, "deny.xdp.4", "xdp_socket", 4, UDP, REFUSED, UNLISTED, NULL, "attempt xdp %i %t %p", "privileges option family", "",
	     NC_CASE_PRIVILEGED | NC_CASE_ON_WIRE | DIRECT, "frames straight to the device"),
	CASE(DEFAULT_DENY, "deny.raw.4", "raw_socket", 4, UDP, REFUSED, UNLISTED, NULL, "attempt raw-hdrincl %t %p %w",
	     "privileges protocol egress_form egress_destination", "", NC_CASE_PRIVILEGED | DIRECT, "a raw socket that writes its own header"),
	CASE(DEFAULT_DENY, "deny.options.4", "ip_options", 4, UDP, REFUSED, ROUTED, NULL, "attempt ip-options %t %l %o",
	     "privileges option egress_form egress_destination", "", NC_CASE_PRIVILEGED | NC_CASE_ON_WIRE | DIRECT, "an IPv4 source route"),
	ACTED("group", "multicast_join", UDP, GROUP, "mcast-join %t", "option", NC_CASE_ON_WIRE, "a multicast group that says something"),
	CASE(DEFAULT_DENY, "deny.routed.6", "routing_header", 6, UDP, REFUSED, ROUTED, NULL, "attempt routing-header %t %l %o",
	     "option egress_form egress_destination", "guard_routes", NC_CASE_ON_WIRE | DIRECT, "a routing header by socket option"),
	CASE_WITHOUT("option egress_destination", DEFAULT_DENY, "deny.form.alone.6", "routing_header", 6, UDP, REFUSED, ROUTED, NULL,
		     "attempt routing-header %t %l %o", "egress_form", "guard_routes", NC_CASE_ON_WIRE | DIRECT,
		     "a routing header, and nothing but the packet's form"),
	ACTED_WITHOUT("listed egress_destination", "hops", "udp_sendto", UDP, UNLISTED, "hop-limit %t %p 16", "egress_form", DIRECT,
		      "a packet that is meant to die on the way"),
	CASE_WITHOUT("egress_form egress_destination", DEFAULT_DENY, "deny.protocol.alone.4", "udplite", 4, IPPROTO_UDPLITE, REFUSED, UNLISTED, NULL,
		     "attempt udplite %t %p", "protocol", "guard_routes", 0, "UDP-Lite, and nothing behind sock_create"),
	CASE_WITHOUT("egress_form egress_destination", DEFAULT_DENY, "deny.protocol.alone.6", "udplite", 6, IPPROTO_UDPLITE, REFUSED, UNLISTED, NULL,
		     "attempt udplite %t %p", "protocol", "guard_routes", 0, "UDP-Lite, and nothing behind sock_create"),
	ACTED_WITHOUT("listed", "ring.alone", "io_uring_calls", TCP, UNLISTED, "iouring-connect inline %t %p", "ring_filter", NC_CASE_RINGLESS,
		      "a ring, and nothing but its filter"),
	ACTED("self", "host_address", UDP, SELF_LISTED, "udp-sendto %t %p", "egress_loopback", DIRECT, "a listed address that is the host's own"),
	ACTED_WITHOUT("flows_end", "tightened", "tightened_policy", TCP, TIGHTENED, "hold-tcp %t %p", "egress_revision", DIRECT | NC_CASE_UPDATE,
		      "a connection to what an update took from the list"),
	ACTED_WITHOUT("egress_revision", "flows", "tightened_policy", TCP, TIGHTENED, "hold-tcp %t %p", "flows_end", DIRECT | NC_CASE_UPDATE,
		      "the same, ended from user space alone"),
	SHOWN("wire", WIRE_NAME, "wire", "the address of a listed name, and another name in the first bytes"),
	SHOWN("wire.grant", WIRE_OTHER, "wire_grant", "another listed name in the first bytes, which has no grant for this address"),
	SHOWN("wire.port", WIRE_OTHER_PORT, "wire_port", "another listed name in the first bytes, which is listed for another port"),
	HEAD_BY("first_payload_rewrite", "handed", NULL, "handed", "wire_again", "the listed name in pages that their owner can still change"),
	HEAD_BY("first_payload_rewrite", "rewritten", "option egress_form", "rewritten", "wire_again",
		"the listed name in a packet that is lost, another one when it is sent again"),
	BOTH(EXACT_DESTINATION_MATCH, "match.wire.second", "shared_address", TCP, REFUSED, WIRE_NAME, "tls", "resolved attempt shown second %t %p %n",
	     "wire_second", "", NC_CASE_TOKEN | DIRECT, "the listed name in a ClientHello, another one in a second one"),
	HEAD("split", NULL, "split", "wire", "the listed name, its second half in a second packet"),
	HEAD("nameless", NULL, "nameless", "wire", "no name in the first bytes"),
	BOTH(EXACT_DESTINATION_MATCH, "match.wire.quic", "shared_address", UDP, REFUSED, WIRE_UDP, NULL, "resolved attempt udp-sendto %t %p",
	     "wire_quic", "", DIRECT, "UDP to a name that is compared on the wire"),
	BOTH(EXACT_DESTINATION_MATCH, "match.wire.spelled", "shared_address", TCP, REACHED, WIRE_OWN, NULL, "resolved attempt shown spelled %t %p %n",
	     "", "", NC_CASE_TOKEN | DIRECT, "the listed name in mixed case and with its dot is reached"),
	HELLO("plain", "a ClientHello"),
	HELLO("crowded", "a ClientHello, behind 40 extensions"),
	HELLO("share", "a ClientHello, behind a post-quantum key share"),
	HELLO("resumed", "a ClientHello that resumes a session, with early data"),
	HELLO("fast", "a ClientHello that stands in the SYN"),
	HELLO_OTHER("longest", "a name of 255 bytes in a ClientHello, which ends like another"),
	HELLO_OTHER("nameless", "a ClientHello without a name"),
	NAMED("tightened_policy", "name_gone", "revocation", NAME_GONE, "grant_policy", NC_CASE_UPDATE, "a grant whose name left the policy"),
	NAMED("tightened_policy", "name_revoked", "grant_policy", NAME_GONE, "revocation", NC_CASE_UPDATE,
	      "the same, taken back from user space alone"),
	NAMED("tightened_policy", "expired", "resolver_cache", EXPIRED, "grant_expiry", 0, "a grant that has expired"),
	BOTH(DEFAULT_DENY, "deny.inherited.ring", "io_uring_inherited", UDP, REFUSED, INHERITED, "ring", "attempt ring-fd %f",
	     "descriptors ring_filter", "", 0, "a ring that the caller left open, whose thread stands outside"),
	BOTH_WITHOUT("ring_filter", DEFAULT_DENY, "deny.ring.handed", "io_uring_inherited", UDP, REFUSED, INHERITED, "ring", "attempt ring-fd %f",
		     "descriptors", "", 0, "the same, and nothing but the closing of descriptors"),
	CASE(DEFAULT_DENY, "deny.rds.4", "rds", 4, TCP, REFUSED, UNLISTED, NULL, "attempt rds %a %t %p", "call_filter family", "",
	     NC_CASE_ON_WIRE | DIRECT, "RDS, which the kernel dials itself"),
	CASE(DEFAULT_DENY, "deny.vsock.4", "vsock", 4, TCP, REFUSED, HELPER, "vsock", "attempt -w %g vsock-local %p", "call_filter family", "", 0,
	     "a helper outside behind a vsock port"),
	BOTH(DEFAULT_DENY, "deny.smc", "other_families", TCP, REFUSED, UNLISTED, NULL, "attempt smc %t %p",
	     "call_filter family label listed guard passed", "guard_routes", DIRECT, "SMC, which falls back to TCP"),
	CASE(DEFAULT_DENY, "deny.tipc.4", "other_families", 4, TCP, REFUSED, HELPER, "tipc", "attempt -w %g tipc %p", "call_filter family", "", 0,
	     "a helper outside behind a TIPC service"),
	CASE(DEFAULT_DENY, "deny.tun.4", "tun_device", 4, UDP, REFUSED, FORWARDED, NULL, "attempt tun-send %t %p", "privileges device", "",
	     NC_CASE_PRIVILEGED | DIRECT, "a device of the workload's own, from which the host forwards"),
	CASE_WITHOUT("device", DEFAULT_DENY, "deny.tun.user.4", "tun_device", 4, UDP, REFUSED, FORWARDED, NULL, "attempt tun-send %t %p",
		     "privileges", "", NC_CASE_PRIVILEGED | DIRECT, "the same, and nothing but the user's lack of power"),
	CASE_WITHOUT("privileges", DEFAULT_DENY, "deny.tun.node.4", "tun_device", 4, UDP, REFUSED, FORWARDED_NODE, "net/tun",
		     "attempt tun-send-at %d %t %p", "device", "", NC_CASE_PRIVILEGED | DIRECT, "the same with power, by a node at another path"),
	NODE("node.fuse", "fuse_device", NULL, NODE, "fuse", "hold-device", "device", 0, "a FUSE node at another path"),
	NODE("node.fuse.mounted", "fuse_device", NULL, SERVED, "fuse", "fuse-mount", "device", 0,
	     "a file system of the workload's own, mounted in namespaces of its own"),
	NODE("node.autofs", "autofs_device", NULL, NODE, "autofs", "hold-device", "device", 0, "the automounter's node at another path"),
	NODE("node.vhost", "vhost_device", NULL, NODE, "vhost-vsock", "hold-device", "device", 0, "a vhost-vsock node at another path"),
	NODE("node.rdma", "rdma_device", NULL, NODE, "infiniband", "hold-device", "device", 0, "an RDMA node at another path"),
	NODE("node.vfio", "passthrough_device", NULL, NODE, "vfio/vfio", "hold-device", "device", 0, "a VFIO node at another path"),
	NODE("node.memory", "memory_device", NULL, NODE, "mem", "hold-device", "privileges device", NC_CASE_PRIVILEGED,
	     "the machine's memory, by a node at another path"),
	CASE(DEFAULT_DENY, "deny.automounter.4", "automounter", 4, UDP, REFUSED, AUTOMOUNTED, NULL, "attempt look-up %d", "mounts", "", DIRECT,
	     "a name that the host's automounter is asked to dial"),
	CASE(DEFAULT_DENY, "deny.vxlan.4", "tunnel_device", 4, UDP, REFUSED, UNLISTED, NULL, "attempt vxlan %i %t %p", "privileges label family", "",
	     NC_CASE_PRIVILEGED | NC_CASE_ANY_PAYLOAD | DIRECT, "a tunnel of the workload's own"),
	ACTED("namespace", "new_namespace", TCP, NEW_NAMESPACE, "netns-tcp %g %t %p", "listed", DIRECT, "a network namespace of the workload's own"),
	ACTED("foreign", "foreign_program", UDP, CANCELLED, "-w %g udp-once %t %p", "egress_destination", NC_CASE_CGROUPS | NC_CASE_APART | DIRECT,
	      "a program of somebody else that comes later and cancels the refusal"),
	CASE_WITHOUT("egress_destination canary", DEFAULT_DENY, "deny.foreign.launch.4", "foreign_program", 4, UDP, REFUSED, CANCELLED_LAUNCH,
		     "program_foreign", "attempt -w %g udp-once %t %p", "foreign", "", NC_CASE_LAUNCH | NC_CASE_CGROUPS | NC_CASE_APART,
		     "a launch below a program of somebody else that cancels refusals"),
	CASE(DEFAULT_DENY, "deny.detached.4", "udp_sendto", 4, UDP, REFUSED, DETACHED, NULL, "attempt -w %g udp-once %t %p", "egress_destination", "",
	     NC_CASE_PINS | NC_CASE_APART | DIRECT, "the program that judges datagrams is gone: each packet is judged all the same"),
	MOVED("moved", NULL, "privileges mounts", "out through cgroup.procs"),
	MOVED("moved.mounts", "privileges", "mounts", "out through cgroup.procs, as root"),
	MOVED("moved.user", "mounts", "privileges", "out through a cgroup.procs that can be written to by root"),
	CASE(DEFAULT_DENY, "deny.pins.4", "pins", 4, TCP, REFUSED, POINTED_OUT, NULL, "attempt unpin-tcp %b %t %p", "privileges mounts passed", "",
	     NC_CASE_PRIVILEGED | NC_CASE_PINS | NC_CASE_APART | DIRECT, "the pinned links, detached"),
	POLICY("policy", NULL, "privileges mounts read_only", "a program that writes an entry of its own into the policy"),
	POLICY("policy.alone", "privileges mounts", "read_only", "the same, and nothing but the map's own refusal"),
	ROBBED("robbed", NULL, "call_filter pid_namespace passed", "a socket of a process of the same user outside"),
	ROBBED("robbed.seen", "call_filter passed", "pid_namespace", "the same, not to be named"),
	ROBBED("robbed.call", "pid_namespace passed", "call_filter", "the same, not to be fetched"),
	CASE(DEFAULT_DENY, "deny.key.4", "dns_key_request", 4, UDP, REFUSED, KEY, NULL, "attempt key-request %g", "call_filter", "", DIRECT,
	     "a key that the kernel asks the host for"),
	TYPED("terminal", NULL, "terminal call_filter", "typing into the caller's terminal"),
	TYPED("terminal.session", "call_filter", "terminal", "the same, which is another session's"),
	TYPED("terminal.call", "terminal", "call_filter", "the same, by a call that is refused"),
	ACTED("classified", "net_classifier", TCP, CLASSIFIED, "-w %g tcp %t %p", "listed guard", DIRECT, "a traffic class of version 1 cgroups"),
	ACTED("removed", "removed_cgroup", UDP, REMOVED, "-w %g late-udp %d %t %p", "listed", DIRECT, "a socket that outlives its cgroup"),
	BOTH_WITHOUT("listed floor public", DEFAULT_DENY, "deny.launch", "unsealed_cgroup", TCP, REFUSED, UNLISTED, "canary_failed", "curl", "canary",
		     "", NC_CASE_LAUNCH, "a launch whose policy does not act"),
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
