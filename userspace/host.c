/* SPDX-License-Identifier: GPL-2.0-only */
/* host.c - see host.h for the rules. The order matters only for which hint is given: every path but the two good ones ends in a refusal. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "address.h"
#include "host.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

const char *nc_address_text(const union nc_address *address, char ret_text[NC_ADDRESS_TEXT])
{
	if (nc_address_is_ipv4(address))
		inet_ntop(AF_INET, address->bytes + 12, ret_text, NC_ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, address->bytes, ret_text, NC_ADDRESS_TEXT);
	return ret_text;
}

struct nc_settings nc_prefix_settings(const struct nc_nat64_prefix *prefixes, size_t count)
{
	struct nc_settings settings = {.nat64_count = (__u32)(count < NC_NAT64_MAX ? count : NC_NAT64_MAX)};

	for (__u32 i = 0; i < settings.nat64_count; i++)
		settings.nat64[i] = prefixes[i];
	return settings;
}

const char *nc_prefix_text(const struct nc_nat64_prefix *prefix, char ret_text[NC_PREFIX_TEXT])
{
	char address[NC_ADDRESS_TEXT];

	snprintf(ret_text, NC_PREFIX_TEXT, "%s/%u", nc_address_text(&prefix->prefix, address), prefix->length % 1000);
	return ret_text;
}

const char *nc_class_word(unsigned int code)
{
#define NC_CASE(symbol, value, word, ...)                                                                                                            \
	case value:                                                                                                                                  \
		return word;
	switch (code) {
		NC_ADDRESS_CLASSES(NC_CASE)
	}
#undef NC_CASE
	return "unknown";
}

const char *nc_class_meaning(unsigned int code)
{
#define NC_CASE(symbol, value, word, public, meaning, ...)                                                                                           \
	case value:                                                                                                                                  \
		return meaning;
	switch (code) {
		NC_ADDRESS_CLASSES(NC_CASE)
	}
#undef NC_CASE
	return "";
}

const char *nc_class_source(unsigned int code)
{
#define NC_CASE(symbol, value, word, public, meaning, source)                                                                                        \
	case value:                                                                                                                                  \
		return source;
	switch (code) {
		NC_ADDRESS_CLASSES(NC_CASE)
	}
#undef NC_CASE
	return "";
}

/* What people write in place of a bare host, and what they should write instead. Looked for in this order. */
static const struct {
	const char *mark;
	const char *rule, *hint;
} misplaced[] = {
	{"://", "holds a scheme", "give the bare host: no scheme, no path"},
	{"*", "holds a wildcard", "every destination is one exact host: list each name"},
	{"?", "holds a wildcard or a query", "every destination is one exact host: list each name"},
	{"@", "holds user information", "give the bare host, without what stands before the @"},
	{"[", "holds a bracket", "write an IPv6 address without brackets; the port is a member of its own"},
	{"]", "holds a bracket", "write an IPv6 address without brackets; the port is a member of its own"},
	{"%", "holds a scope id or a percent escape", "scopes are not supported; write characters as they are"},
	{"#", "holds a fragment", "give the bare host"},
	{"\\", "holds a backslash", "give the bare host"},
	{",", "holds a list", "one destination for each host"},
	{"_", "holds an underscore, which no host name has (RFC 952, RFC 1123)",
	 "service records have underscores; give the name of the host itself"},
};

/* Refusals that need no parsing: bytes and marks that stand in no host. */
static int refuse_marks(const char *text, const char *quote, const struct nc_place *place, struct nc_error *reterr)
{
	const char *slash;

	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c >= 0x80)
			return nc_place_error(place, reterr, "write an international name in its xn-- form (A-labels, RFC 5890)",
					      "host \"%s\" has characters outside ASCII", quote);
		if (*c <= ' ' || *c == 0x7f)
			return nc_place_error(place, reterr, "", "host \"%s\" has a space or control character", quote);
	}
	if (!strpbrk(text, ":/*?@[]%#\\,_")) /* every mark holds one of these: nearly all hosts are done here */
		return 0;
	for (size_t i = 0; i < sizeof(misplaced) / sizeof(*misplaced); i++)
		if (strstr(text, misplaced[i].mark))
			return nc_place_error(place, reterr, misplaced[i].hint, "host \"%s\" %s", quote, misplaced[i].rule);
	slash = strchr(text, '/');
	if (slash && is_digit(slash[1]))
		return nc_place_error(place, reterr, "every destination is one exact host: list each address", "host \"%s\" is a range (CIDR)",
				      quote);
	if (slash)
		return nc_place_error(place, reterr, "give the bare host, without a path", "host \"%s\" holds a path", quote);
	return 0;
}

static int parse_ipv6(const char *text, const char *quote, const struct nc_place *place, struct nc_host_text *ret_host, struct nc_error *reterr)
{
	char canonical[NC_ADDRESS_TEXT], hint[128];
	struct nc_host_text host = {.literal = true};
	const char *colon = strchr(text, ':');

	if (inet_pton(AF_INET6, text, host.address.bytes) != 1) {
		if (!strchr(colon + 1, ':'))
			return nc_place_error(place, reterr, "the port is a member of its own: {\"host\": ..., \"port\": ...}",
					      "host \"%s\" holds a port", quote);
		return nc_place_error(place, reterr, "", "host \"%s\" is not an IPv6 address", quote);
	}
	nc_address_text(&host.address, canonical);
	snprintf(hint, sizeof(hint), "write %s", canonical);
	if (nc_address_is_ipv4(&host.address))
		return nc_place_error(place, reterr, hint, "host \"%s\" is an IPv4 address in its mapped spelling", quote);
	if (strcmp(canonical, text))
		return nc_place_error(place, reterr, hint, "host \"%s\" is not the canonical spelling of its address (RFC 5952)", quote);
	*ret_host = host;
	return 0;
}

/* Whether the last label, not counting a dot at the end, is a number to some address parser: digits, or 0x and hex digits. */
static bool ends_in_number(const char *text, size_t length)
{
	const char *end = text + length, *label, *c;

	if (end > text && end[-1] == '.')
		end--;
	for (label = end; label > text && label[-1] != '.'; label--)
		;
	if (label == end)
		return false;
	for (c = label; c < end && is_digit(*c); c++)
		;
	if (c == end)
		return true;
	if (end - label < 2 || label[0] != '0' || (label[1] | 0x20) != 'x')
		return false;
	for (c = label + 2; c < end && (is_digit(*c) || ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'f')); c++)
		;
	return c == end;
}

static int parse_ipv4(const char *text, const char *quote, const struct nc_place *place, struct nc_host_text *ret_host, struct nc_error *reterr)
{
	char canonical[INET_ADDRSTRLEN],
		hint[160] = "an IPv4 address is four decimal numbers from 0 to 255 without leading zeros; a name does not end in a number";
	struct nc_host_text host = {.literal = true};
	struct in_addr address;

	host.address.bytes[10] = host.address.bytes[11] = 0xff;
	if (inet_pton(AF_INET, text, host.address.bytes + 12) == 1 && inet_ntop(AF_INET, host.address.bytes + 12, canonical, sizeof(canonical)) &&
	    !strcmp(canonical, text)) {
		*ret_host = host;
		return 0;
	}
	if (inet_aton(text, &address) && inet_ntop(AF_INET, &address, canonical, sizeof(canonical)))
		snprintf(hint, sizeof(hint), "programs read it as %s, or not at all: write the address that is meant in four decimal numbers",
			 canonical);
	return nc_place_error(place, reterr, hint, "host \"%s\" looks like an address in an unusual spelling", quote);
}

static int check_label(const char *label, size_t length, const char *quote, const struct nc_place *place, struct nc_error *reterr)
{
	if (!length)
		return nc_place_error(place, reterr, "", "host \"%s\" has an empty label", quote);
	if (length > 63)
		return nc_place_error(place, reterr, "", "host \"%s\" has a label of %zu characters; 63 are allowed (RFC 1035)", quote, length);
	if (label[0] == '-' || label[length - 1] == '-')
		return nc_place_error(place, reterr, "", "host \"%s\" has a label that begins or ends with a hyphen (RFC 1123)", quote);
	for (size_t i = 0; i < length; i++)
		if (!is_letter(label[i]) && !is_digit(label[i]) && label[i] != '-')
			return nc_place_error(place, reterr, "a name is letters, digits and hyphens, in labels with dots between",
					      "host \"%s\" has a character that no host name has", quote);
	return 0;
}

static int parse_name(const char *text, size_t length, const char *quote, const struct nc_place *place, struct nc_host_text *ret_host,
		      struct nc_error *reterr)
{
	static const char localhost[] = "localhost";
	struct nc_host_text host = {.literal = false};
	int status;

	if (length > 1 && text[length - 1] == '.')
		length--;
	if (length > NC_HOST_NAME_MAX)
		return nc_place_error(place, reterr, "", "the host name has %zu characters; %d are allowed (RFC 1035)", length, NC_HOST_NAME_MAX);
	for (size_t start = 0, i = 0; i <= length; i++) {
		if (i < length && text[i] != '.')
			continue;
		status = check_label(text + start, i - start, quote, place, reterr);
		if (status)
			return status;
		start = i + 1;
	}
	for (size_t i = 0; i < length; i++)
		host.name[i] = is_letter(text[i]) ? (char)(text[i] | 0x20) : text[i];
	if (length >= strlen(localhost) && !strcmp(host.name + length - strlen(localhost), localhost) &&
	    (length == strlen(localhost) || host.name[length - strlen(localhost) - 1] == '.'))
		return nc_place_error(place, reterr, "see \"loopback\" for what runs beside the workload in its own network namespace",
				      "host \"%s\" always means loopback (RFC 6761), which is no destination", quote);
	*ret_host = host;
	return 0;
}

int nc_host_text_parse(const char *text, const struct nc_place *place, struct nc_host_text *ret_host, struct nc_error *reterr)
{
	size_t length = strlen(text);
	char quote[NC_QUOTE_SIZE];
	int status;

	nc_quote(text, length, quote);
	if (!length)
		return nc_place_error(place, reterr, "", "the host is empty");
	status = refuse_marks(text, quote, place, reterr);
	if (status)
		return status;
	if (strchr(text, ':'))
		return parse_ipv6(text, quote, place, ret_host, reterr);
	if (ends_in_number(text, length))
		return parse_ipv4(text, quote, place, ret_host, reterr);
	return parse_name(text, length, quote, place, ret_host, reterr);
}
