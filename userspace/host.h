/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.h - one host as text: an address literal or a DNS name, each in exactly one spelling
 *
 * Two readers of one text must never see two hosts, so a host is read in one way or not at all:
 *
 *   - an address only in canonical text: four decimal octets without leading zeros; IPv6 as RFC 5952 writes it (inet_ntop gives it back). The mapped
 *     spelling ::ffff:a.b.c.d is refused: the address is a.b.c.d
 *   - whatever ends in a label that is a number is an address or nothing (WHATWG URL, "ends in a number"): 010.0.0.1, 127.1, 0x7f.1 and 2130706433 are
 *     addresses to a C library and names to others
 *   - a name is letters, digits and hyphens (RFC 952, RFC 1123 2.1: the underscore is for service records, never for hosts), labels of 1 to 63 that neither
 *     begin nor end with a hyphen, 253 in all; international names as A-labels (RFC 5890). Case does not matter and one dot at the end is the root: both
 *     are taken away, so that the same name is always the same bytes
 */
#ifndef NC_HOST_H
#define NC_HOST_H

#include "netcordon_abi.h"
#include "place.h"
#include "profile.h"

struct nc_host_text {
	bool literal;
	union nc_address address;	 /* literal only; IPv4 in mapped form */
	char name[NC_HOST_NAME_MAX + 1]; /* else: canonical */
};

/* -EINVAL with the place, the rule and a hint. *ret_host is untouched on failure. */
int nc_host_text_parse(const char *text, const struct nc_place *place, struct nc_host_text *ret_host, struct nc_error *reterr);

#define NC_ADDRESS_TEXT 46 /* INET6_ADDRSTRLEN */
/* The address in canonical text, IPv4 dotted. Returns ret_text. */
const char *nc_address_text(const union nc_address *address, char ret_text[NC_ADDRESS_TEXT]);
#define NC_PREFIX_TEXT (NC_ADDRESS_TEXT + 4)
/* Settings as the kernel has them, with these prefixes and nothing else; at most NC_NAT64_MAX are taken. */
struct nc_settings nc_prefix_settings(const struct nc_nat64_prefix *prefixes, size_t count);
/* A NAT64 prefix as the configuration writes it, "2001:db8:64::/96". Returns ret_text. */
const char *nc_prefix_text(const struct nc_nat64_prefix *prefix, char ret_text[NC_PREFIX_TEXT]);

/* Word and sentence of a class code of bpf/address.h, and where it is laid down; "unknown" and "" for a code that no row has. */
const char *nc_class_word(unsigned int code);
const char *nc_class_meaning(unsigned int code);
const char *nc_class_source(unsigned int code);

#endif
