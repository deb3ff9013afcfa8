/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * address.h - what kind of address sixteen bytes are, and whether they are public
 *
 * Public means proven global unicast: what no row calls global is refused. One table of classes, one table of ranges; the code below is made from
 * the tables by the preprocessor, so that a row is all there is to a range. The same code runs in the kernel and, for `explain` and the tests, on
 * the host.
 *
 * The ranges follow the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190) of the date below, in their order except that a
 * more specific range stands before the one that holds it: the first row that matches decides. What the registries leave out is added from where it
 * is defined: multicast (RFC 5771, RFC 4291), site-local (RFC 3879), IPv4-compatible (RFC 4291), IPv4-translated (RFC 2765). A registry row whose
 * "Globally Reachable" is neither true nor false (6to4, Teredo, the 6to4 relays) is not global.
 *
 * An address that carries another one:
 *   ::ffff:0:0/96            is the IPv4 address, and is judged as such: there is no other form of an IPv4 address in this program
 *   64:ff9b::/96             NAT64: judged by what it carries
 *   configured prefixes      NAT64 of the operator's network (RFC 6052), likewise; they come first, so one inside 64:ff9b:1::/48 or fc00::/7 works
 *   ::/96, ::ffff:0:0:0/96, 64:ff9b:1::/48, 2002::/16 (6to4), 2001::/32 (Teredo)
 *                            refused whole: nothing on the public Internet is reached by these today, and what a tunnel does with them is not to be
 *                            seen from here
 *
 * A carried address never lends its own class: 64:ff9b::127.0.0.1 is not loopback, and opening loopback does not open it.
 *
 * Straight-line compares on 32-bit words; no loop beyond the unrolled NC_NAT64_MAX, no memory but what is passed in.
 */
#ifndef NC_ADDRESS_H
#define NC_ADDRESS_H

#include <stdbool.h>
#include "netcordon_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* The day of the registries' last update that this table follows; both had the same. It stands in the evidence. */
#define NC_ADDRESS_REGISTRY_DATE "2025-10-09"

/* symbol, code (never used again for another meaning), word, public, what it is, where that is laid down */
#define NC_ADDRESS_CLASSES(X)                                                                                                                        \
	X(PUBLIC, 1, "public", true, "global unicast", "IANA IPv4 and IPv6 address space registries")                                                \
	X(PUBLIC_SERVICE, 2, "public_service", true, "a special-purpose range that its registry calls globally reachable",                           \
	  "IANA special-purpose registries")                                                                                                         \
	X(NAT64_PUBLIC, 3, "nat64_public", true, "a NAT64 address that carries a public IPv4 address", "RFC 6052")                                   \
	X(THIS_HOST, 16, "this_host", false, "the unspecified address, which means this host", "RFC 1122 3.2.1.3; RFC 4291 2.5.2")                   \
	X(THIS_NETWORK, 17, "this_network", false, "an address of \"this network\"", "RFC 791 3.2")                                                  \
	X(LOOPBACK, 18, "loopback", false, "this host itself (loopback)", "RFC 1122 3.2.1.3; RFC 4291 2.5.3")                                        \
	X(PRIVATE_USE, 19, "private_use", false, "an address for private use", "RFC 1918")                                                           \
	X(SHARED, 20, "shared", false, "shared address space of carrier-grade NAT", "RFC 6598")                                                      \
	X(LINK_LOCAL, 21, "link_local", false, "an address of one link", "RFC 3927; RFC 4291 2.5.6")                                                 \
	X(PROTOCOL_ASSIGNMENT, 22, "protocol_assignment", false, "reserved for protocol assignments", "RFC 6890 2.1; RFC 2928")                      \
	X(DOCUMENTATION, 23, "documentation", false, "reserved for documentation", "RFC 5737; RFC 3849; RFC 9637")                                   \
	X(BENCHMARKING, 24, "benchmarking", false, "reserved for benchmarking", "RFC 2544; RFC 5180")                                                \
	X(RELAY_6TO4, 25, "relay_6to4", false, "a relay of 6to4, withdrawn", "RFC 7526; RFC 6751")                                                   \
	X(MULTICAST, 26, "multicast", false, "multicast", "RFC 5771; RFC 4291 2.7")                                                                  \
	X(RESERVED, 27, "reserved", false, "reserved for future use", "RFC 1112 4")                                                                  \
	X(BROADCAST, 28, "broadcast", false, "limited broadcast", "RFC 919 7")                                                                       \
	X(IPV4_COMPATIBLE, 29, "ipv4_compatible", false, "an IPv4-compatible address, a form that was given up", "RFC 4291 2.5.5.1")                 \
	X(IPV4_TRANSLATED, 30, "ipv4_translated", false, "an IPv4-translated address, a form that was given up", "RFC 2765 2.1")                     \
	X(NAT64_NON_PUBLIC, 31, "nat64_non_public", false, "a NAT64 address that carries an IPv4 address that is not public", "RFC 6052")            \
	X(NAT64_MALFORMED, 32, "nat64_malformed", false, "a NAT64 address whose octet of bits 64 to 71 is not zero", "RFC 6052 2.2")                 \
	X(NAT64_LOCAL, 33, "nat64_local", false, "a local NAT64 prefix that the configuration does not name", "RFC 8215")                            \
	X(DISCARD, 34, "discard", false, "discard-only or dummy prefix", "RFC 6666; RFC 9780")                                                       \
	X(TEREDO, 35, "teredo", false, "a Teredo tunnel, which hides an IPv4 address", "RFC 4380")                                                   \
	X(ORCHID, 36, "orchid", false, "a hash identifier of the first ORCHID, returned", "RFC 4843")                                                \
	X(SIX_TO_FOUR, 37, "6to4", false, "a 6to4 tunnel, which hides an IPv4 address", "RFC 3056")                                                  \
	X(SRV6, 38, "srv6", false, "segment routing identifiers", "RFC 9602")                                                                        \
	X(UNIQUE_LOCAL, 39, "unique_local", false, "an address of one site (unique-local)", "RFC 4193")                                              \
	X(SITE_LOCAL, 40, "site_local", false, "site-local, a form that was given up", "RFC 3879")                                                   \
	X(UNASSIGNED, 41, "unassigned", false, "outside 2000::/3, the only part of IPv6 that is assigned as global unicast",                         \
	  "IANA IPv6 address space registry")

#define NC_ENUM_ADDRESS_CLASS(symbol, value, ...) NC_CLASS_##symbol = value,
enum nc_address_class { NC_CLASS_NOT_ASKED = 0, NC_ADDRESS_CLASSES(NC_ENUM_ADDRESS_CLASS) };

/* Metadata and credential services of clouds, wherever they sit: on the floor of every host. Four words in host order, IPv4 in mapped form; whose. */
#define NC_METADATA_SERVICES(X)                                                                                                                      \
	X(0, 0, 0x0000ffff, NC_IPV4(169, 254, 169, 254), "most clouds")                                                                              \
	X(0, 0, 0x0000ffff, NC_IPV4(169, 254, 170, 2), "Amazon ECS")                                                                                 \
	X(0, 0, 0x0000ffff, NC_IPV4(169, 254, 170, 23), "Amazon EKS")                                                                                \
	X(0xfd000ec2, 0, 0, 0x0254, "Amazon EC2")                                                                                                    \
	X(0xfd000ec2, 0, 0, 0x0023, "Amazon EKS")                                                                                                    \
	X(0xfd2000ce, 0, 0, 0x0254, "Google Cloud")                                                                                                  \
	X(0, 0, 0x0000ffff, NC_IPV4(100, 100, 100, 200), "Alibaba Cloud")                                                                            \
	X(0, 0, 0x0000ffff, NC_IPV4(192, 0, 0, 192), "Oracle Cloud")                                                                                 \
	X(0, 0, 0x0000ffff, NC_IPV4(168, 63, 129, 16), "Azure")

/* ---- ranges: four octets, prefix length, class, defined by ------------------------------------------------------------------------------------- */

#define NC_IPV4_RANGES(X)                                                                                                                            \
	X(0, 0, 0, 0, 32, THIS_HOST, "RFC 1122 3.2.1.3")                                                                                             \
	X(0, 0, 0, 0, 8, THIS_NETWORK, "RFC 791 3.2")                                                                                                \
	X(10, 0, 0, 0, 8, PRIVATE_USE, "RFC 1918")                                                                                                   \
	X(100, 64, 0, 0, 10, SHARED, "RFC 6598")                                                                                                     \
	X(127, 0, 0, 0, 8, LOOPBACK, "RFC 1122 3.2.1.3")                                                                                             \
	X(169, 254, 0, 0, 16, LINK_LOCAL, "RFC 3927")                                                                                                \
	X(172, 16, 0, 0, 12, PRIVATE_USE, "RFC 1918")                                                                                                \
	X(198, 18, 0, 0, 15, BENCHMARKING, "RFC 2544")                                                                                               \
	X(198, 51, 100, 0, 24, DOCUMENTATION, "RFC 5737")                                                                                            \
	X(203, 0, 113, 0, 24, DOCUMENTATION, "RFC 5737")                                                                                             \
	X(224, 0, 0, 0, 4, MULTICAST, "RFC 5771")                                                                                                    \
	X(255, 255, 255, 255, 32, BROADCAST, "RFC 919 7")                                                                                            \
	X(240, 0, 0, 0, 4, RESERVED, "RFC 1112 4")

/* Those below 192.0.0.0/8, looked at only there: ten compares that nearly every address is spared. */
#define NC_IPV4_RANGES_192(X)                                                                                                                        \
	X(192, 0, 0, 9, 32, PUBLIC_SERVICE, "RFC 7723")                                                                                              \
	X(192, 0, 0, 10, 32, PUBLIC_SERVICE, "RFC 8155")                                                                                             \
	X(192, 0, 0, 0, 24, PROTOCOL_ASSIGNMENT, "RFC 6890 2.1") /* with 192.0.0.0/29, .8, .170 and .171 */                                          \
	X(192, 0, 2, 0, 24, DOCUMENTATION, "RFC 5737")                                                                                               \
	X(192, 31, 196, 0, 24, PUBLIC_SERVICE, "RFC 7535")                                                                                           \
	X(192, 52, 193, 0, 24, PUBLIC_SERVICE, "RFC 7450")                                                                                           \
	X(192, 88, 99, 0, 24, RELAY_6TO4, "RFC 7526") /* with 192.88.99.2, RFC 6751 */                                                               \
	X(192, 168, 0, 0, 16, PRIVATE_USE, "RFC 1918")                                                                                               \
	X(192, 175, 48, 0, 24, PUBLIC_SERVICE, "RFC 7534")

/* four 32-bit words, prefix length, class, defined by. Inside 2000::/3, where what no row names is global unicast: */
#define NC_IPV6_RANGES_UNICAST(X)                                                                                                                    \
	X(0x20010db8, 0, 0, 0, 32, DOCUMENTATION, "RFC 3849")                                                                                        \
	X(0x20020000, 0, 0, 0, 16, SIX_TO_FOUR, "RFC 3056")                                                                                          \
	X(0x2620004f, 0x80000000, 0, 0, 48, PUBLIC_SERVICE, "RFC 7534")                                                                              \
	X(0x3fff0000, 0, 0, 0, 20, DOCUMENTATION, "RFC 9637")

/* Inside 2001::/23, where what no row names is a protocol assignment (RFC 2928): */
#define NC_IPV6_RANGES_2001(X)                                                                                                                       \
	X(0x20010000, 0, 0, 0, 32, TEREDO, "RFC 4380")                                                                                               \
	X(0x20010001, 0, 0, 1, 128, PUBLIC_SERVICE, "RFC 7723")                                                                                      \
	X(0x20010001, 0, 0, 2, 128, PUBLIC_SERVICE, "RFC 8155")                                                                                      \
	X(0x20010001, 0, 0, 3, 128, PUBLIC_SERVICE, "RFC 9665")                                                                                      \
	X(0x20010002, 0, 0, 0, 48, BENCHMARKING, "RFC 5180")                                                                                         \
	X(0x20010003, 0, 0, 0, 32, PUBLIC_SERVICE, "RFC 7450")                                                                                       \
	X(0x20010004, 0x01120000, 0, 0, 48, PUBLIC_SERVICE, "RFC 7535")                                                                              \
	X(0x20010010, 0, 0, 0, 28, ORCHID, "RFC 4843")                                                                                               \
	X(0x20010020, 0, 0, 0, 28, PUBLIC_SERVICE, "RFC 7343")                                                                                       \
	X(0x20010030, 0, 0, 0, 28, PUBLIC_SERVICE, "RFC 9374")

/* Elsewhere, where what no row names is unassigned, and so not public. 64:ff9b::/96 and ::ffff:0:0/96 were dealt with before. */
#define NC_IPV6_RANGES_ELSEWHERE(X)                                                                                                                  \
	X(0, 0, 0, 1, 128, LOOPBACK, "RFC 4291 2.5.3")                                                                                               \
	X(0, 0, 0, 0, 128, THIS_HOST, "RFC 4291 2.5.2")                                                                                              \
	X(0, 0, 0, 0, 96, IPV4_COMPATIBLE, "RFC 4291 2.5.5.1")                                                                                       \
	X(0, 0, 0xffff0000, 0, 96, IPV4_TRANSLATED, "RFC 2765 2.1")                                                                                  \
	X(0x0064ff9b, 0x00010000, 0, 0, 48, NAT64_LOCAL, "RFC 8215")                                                                                 \
	X(0x01000000, 0, 0, 0, 64, DISCARD, "RFC 6666")                                                                                              \
	X(0x01000000, 1, 0, 0, 64, DISCARD, "RFC 9780")                                                                                              \
	X(0x5f000000, 0, 0, 0, 16, SRV6, "RFC 9602")                                                                                                 \
	X(0xfc000000, 0, 0, 0, 7, UNIQUE_LOCAL, "RFC 4193")                                                                                          \
	X(0xfe800000, 0, 0, 0, 10, LINK_LOCAL, "RFC 4291 2.5.6")                                                                                     \
	X(0xfec00000, 0, 0, 0, 10, SITE_LOCAL, "RFC 3879")                                                                                           \
	X(0xff000000, 0, 0, 0, 8, MULTICAST, "RFC 4291 2.7")

/* ---- the code that the tables make ------------------------------------------------------------------------------------------------------------- */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NC_SWAP32(word) __builtin_bswap32(word) /* both directions */
#else
#define NC_SWAP32(word) (word)
#endif

#define NC_IPV4(a, b, c, d) ((__u32)(a) << 24 | (__u32)(b) << 16 | (__u32)(c) << 8 | (__u32)(d))
/* Mask of the bits of 32-bit word number `word` that a prefix of `length` bits covers. A constant expression for constant arguments. */
#define NC_PREFIX_MASK(length, word)                                                                                                                 \
	((__u32)((length) >= 32 * ((word) + 1) ? 0xffffffffu : (length) <= 32 * (word) ? 0u : 0xffffffffu << (31 & (32 * ((word) + 1) - (length)))))

/* A row in a list that is only looked at below some prefix would be dead outside it, and one with bits beyond its length would never match. */
#define NC_CHECK_IPV4(a, b, c, d, length, ...) _Static_assert((NC_IPV4(a, b, c, d) & ~NC_PREFIX_MASK(length, 0)) == 0, "bits beyond the prefix");
#define NC_CHECK_192(a, b, c, d, length, ...) _Static_assert((a) == 192 && (length) >= 8, "a row outside 192.0.0.0/8");
#define NC_CHECK_IPV6(w0, w1, w2, w3, length, ...)                                                                                                   \
	_Static_assert(((w0) & ~NC_PREFIX_MASK(length, 0)) == 0 && ((w1) & ~NC_PREFIX_MASK(length, 1)) == 0 &&                                       \
			       ((w2) & ~NC_PREFIX_MASK(length, 2)) == 0 && ((w3) & ~NC_PREFIX_MASK(length, 3)) == 0,                                 \
		       "bits beyond the prefix");
#define NC_CHECK_UNICAST(w0, w1, w2, w3, length, ...) _Static_assert((w0) >> 29 == 1 && (length) >= 3, "a row outside 2000::/3");
#define NC_CHECK_2001(w0, w1, w2, w3, length, ...) _Static_assert((w0) >> 9 == 0x20010000u >> 9 && (length) >= 23, "a row outside 2001::/23");
#define NC_CHECK_ELSEWHERE(w0, w1, w2, w3, length, ...) _Static_assert((w0) >> 29 != 1, "a row inside 2000::/3");
NC_IPV4_RANGES(NC_CHECK_IPV4)
NC_IPV4_RANGES_192(NC_CHECK_IPV4)
NC_IPV4_RANGES_192(NC_CHECK_192)
NC_IPV6_RANGES_UNICAST(NC_CHECK_IPV6)
NC_IPV6_RANGES_UNICAST(NC_CHECK_UNICAST)
NC_IPV6_RANGES_2001(NC_CHECK_IPV6)
NC_IPV6_RANGES_2001(NC_CHECK_2001)
NC_IPV6_RANGES_ELSEWHERE(NC_CHECK_IPV6)
NC_IPV6_RANGES_ELSEWHERE(NC_CHECK_ELSEWHERE)

#define NC_MATCH_IPV4(a, b, c, d, length, class, ...)                                                                                                \
	if ((ip & NC_PREFIX_MASK(length, 0)) == NC_IPV4(a, b, c, d))                                                                                 \
		return NC_CLASS_##class;
#define NC_MATCH_IPV6(p0, p1, p2, p3, length, class, ...)                                                                                            \
	if ((w0 & NC_PREFIX_MASK(length, 0)) == (p0) && (w1 & NC_PREFIX_MASK(length, 1)) == (p1) && (w2 & NC_PREFIX_MASK(length, 2)) == (p2) &&      \
	    (w3 & NC_PREFIX_MASK(length, 3)) == (p3))                                                                                                \
		return NC_CLASS_##class;

/* Whether the class is public: the three first codes, so that it is one compare; the table's own column is checked against it. */
static __always_inline bool nc_class_is_public(enum nc_address_class class)
{
	return class >= NC_CLASS_PUBLIC && class <= NC_CLASS_NAT64_PUBLIC;
}
#define NC_CHECK_PUBLIC(symbol, value, word, public, ...)                                                                                            \
	_Static_assert((public) == ((value) >= 1 && (value) <= 3), "codes 1 to 3 are the public ones");
NC_ADDRESS_CLASSES(NC_CHECK_PUBLIC)

/*
 * Whether the class hides an IPv4 address that is not looked at: a tunnel or a translator behind it may turn it into any address, the floor's among
 * them. What opens non-public addresses wholesale leaves these closed.
 */
static __always_inline bool nc_class_hides_ipv4(enum nc_address_class class)
{
	return (class >= NC_CLASS_IPV4_COMPATIBLE && class <= NC_CLASS_IPV4_TRANSLATED) ||
	       (class >= NC_CLASS_NAT64_MALFORMED && class <= NC_CLASS_NAT64_LOCAL) || class == NC_CLASS_TEREDO || class == NC_CLASS_SIX_TO_FOUR;
}

/* Class of an IPv4 address in host byte order. */
static __always_inline enum nc_address_class nc_ipv4_class(__u32 ip)
{
	NC_IPV4_RANGES(NC_MATCH_IPV4)
	if (ip >> 24 == 192) {
		NC_IPV4_RANGES_192(NC_MATCH_IPV4)
	}
	return NC_CLASS_PUBLIC;
}

static __always_inline bool nc_address_is_ipv4(const union nc_address *address)
{
	return address->halves[0] == 0 && address->words_be[2] == NC_SWAP32(0x0000ffffu);
}

enum nc_carried { NC_CARRIED_NONE, NC_CARRIED_IPV4, NC_CARRIED_MALFORMED };

/* Where RFC 6052 2.2 puts the IPv4 address behind a prefix of `length` bits: around the octet of bits 64 to 71, which is zero. w1 to w3 in host order. */
static __always_inline enum nc_carried nc_nat64_extract(__u32 length, __u32 w1, __u32 w2, __u32 w3, __u32 *ret_ip)
{
	if (length != 96 && w2 >> 24)
		return NC_CARRIED_MALFORMED;
	if (length == 96)
		*ret_ip = w3;
	else if (length == 64)
		*ret_ip = w2 << 8 | w3 >> 24;
	else if (length == 56)
		*ret_ip = w1 << 24 | (w2 & 0x00ffffffu);
	else if (length == 48)
		*ret_ip = w1 << 16 | (w2 >> 8 & 0x0000ffffu);
	else if (length == 40)
		*ret_ip = w1 << 8 | (w2 >> 16 & 0x000000ffu);
	else if (length == 32)
		*ret_ip = w1;
	else
		return NC_CARRIED_MALFORMED; /* a length that RFC 6052 does not know carries nothing that could be judged */
	return NC_CARRIED_IPV4;
}

static __always_inline bool nc_nat64_match(const struct nc_nat64_prefix *row, const union nc_address *address)
{
	__u32 length = row->length;
	__u32 difference = NC_SWAP32(address->words_be[1] ^ row->prefix.words_be[1]);

	if (length < 32 || address->words_be[0] != row->prefix.words_be[0])
		return false;
	if (length >= 96)
		return difference == 0 && address->words_be[2] == row->prefix.words_be[2];
	/* 32 to 64 bits: a shift of 32 would be undefined, so shift in two steps */
	return length >= 64 ? difference == 0 : (difference >> 1 >> ((63 - length) & 31)) == 0;
}

/*
 * The IPv4 address (host order) that a NAT64 address carries, by the configured prefixes, then by 64:ff9b::/96. `settings` may be NULL. Whoever keeps a
 * list of refused addresses asks about the carried one too: 64:ff9b::168.63.129.16 reaches the same metadata service.
 */
static __always_inline enum nc_carried nc_address_carried(const union nc_address *address, const struct nc_settings *settings, __u32 *ret_ip)
{
	__u32 count = settings ? settings->nat64_count : 0;

	if (nc_address_is_ipv4(address))
		return NC_CARRIED_NONE;
#pragma GCC unroll 4
	for (__u32 i = 0; i < NC_NAT64_MAX; i++) {
		if (i >= count)
			break;
		if (nc_nat64_match(&settings->nat64[i], address))
			return nc_nat64_extract(settings->nat64[i].length, NC_SWAP32(address->words_be[1]), NC_SWAP32(address->words_be[2]),
						NC_SWAP32(address->words_be[3]), ret_ip);
	}
	if (address->words_be[0] == NC_SWAP32(0x0064ff9bu) && address->words_be[1] == 0 && address->words_be[2] == 0) {
		*ret_ip = NC_SWAP32(address->words_be[3]);
		return NC_CARRIED_IPV4;
	}
	return NC_CARRIED_NONE;
}

/* Class of an IPv6 address that carries nothing. */
static __always_inline enum nc_address_class nc_ipv6_class(const union nc_address *address)
{
	__u32 w0 = NC_SWAP32(address->words_be[0]), w1 = NC_SWAP32(address->words_be[1]);
	__u32 w2 = NC_SWAP32(address->words_be[2]), w3 = NC_SWAP32(address->words_be[3]);

	if (w0 >> 29 == 1) {
		if (w0 >> 9 == 0x20010000u >> 9) {
			NC_IPV6_RANGES_2001(NC_MATCH_IPV6)
			return NC_CLASS_PROTOCOL_ASSIGNMENT;
		}
		NC_IPV6_RANGES_UNICAST(NC_MATCH_IPV6)
		return NC_CLASS_PUBLIC;
	}
	NC_IPV6_RANGES_ELSEWHERE(NC_MATCH_IPV6)
	return NC_CLASS_UNASSIGNED;
}

/* A class and what follows from it. */
struct nc_class {
	__u8 code; /* enum nc_address_class */
	__u8 is_public;
};

static __always_inline enum nc_address_class nc_address_class_of(const union nc_address *address, const struct nc_settings *settings)
{
	__u32 ip = 0;
	enum nc_carried carried;

	if (nc_address_is_ipv4(address))
		return nc_ipv4_class(NC_SWAP32(address->words_be[3]));
	carried = nc_address_carried(address, settings, &ip);
	if (carried == NC_CARRIED_MALFORMED)
		return NC_CLASS_NAT64_MALFORMED;
	if (carried == NC_CARRIED_IPV4)
		return nc_class_is_public(nc_ipv4_class(ip)) ? NC_CLASS_NAT64_PUBLIC : NC_CLASS_NAT64_NON_PUBLIC;
	return nc_ipv6_class(address);
}

/* The one question: what class is this address, on a network with these NAT64 prefixes (`settings` may be NULL: none but the well-known one)? */
static __always_inline struct nc_class nc_classify(const union nc_address *address, const struct nc_settings *settings)
{
	enum nc_address_class code = nc_address_class_of(address, settings);
	struct nc_class class = {.code = code, .is_public = nc_class_is_public(code)};

	return class;
}

#define NC_MATCH_METADATA(w0, w1, w2, w3, ...)                                                                                                       \
	if (address->words_be[0] == NC_SWAP32(w0) && address->words_be[1] == NC_SWAP32(w1) && address->words_be[2] == NC_SWAP32(w2) &&               \
	    address->words_be[3] == NC_SWAP32(w3))                                                                                                   \
		return true;

/* Whether the address stands in the table of metadata services; for user space, since the kernel asks the floor map. */
static inline bool nc_address_is_metadata(const union nc_address *address)
{
	NC_METADATA_SERVICES(NC_MATCH_METADATA)
	return false;
}

/* Whether a configured NAT64 prefix is one: a length of RFC 6052 2.2, no bit beyond it, octet 8 zero, and not the space of IPv4 itself. */
static __always_inline bool nc_nat64_prefix_is_valid(const struct nc_nat64_prefix *row)
{
	__u32 length = row->length;

	if (length != 32 && length != 40 && length != 48 && length != 56 && length != 64 && length != 96)
		return false;
	for (__u32 i = 0; i < 4; i++)
		if (NC_SWAP32(row->prefix.words_be[i]) & ~NC_PREFIX_MASK(length, i))
			return false;
	return row->prefix.bytes[8] == 0 && row->prefix.halves[0] != 0;
}

#endif
