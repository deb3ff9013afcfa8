/* SPDX-License-Identifier: GPL-2.0-only */
/* explain_show.c - an explanation as text and as JSON, and the reading of HOST:PORT/PROTOCOL */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "evidence_names.h"
#include "explain.h"
#include "json.h"
#include "resolver.h"

static const char *protocol_word(uint8_t protocol, char number[8])
{
	if (protocol == IPPROTO_TCP)
		return "tcp";
	if (protocol == IPPROTO_UDP)
		return "udp";
	snprintf(number, 8, "%u", protocol);
	return number;
}

static const char *wire_word(uint8_t wire)
{
	return wire == NC_WIRE_TLS ? "tls" : wire == NC_WIRE_HTTP ? "http" : "any";
}

/* The host in canonical text; `text` is room for an address. */
static const char *host_text(const struct nc_host_text *host, char text[NC_ADDRESS_TEXT])
{
	return host->literal ? nc_address_text(&host->address, text) : host->name;
}

static const char *destination_text(const struct nc_destination *destination, char text[NC_ADDRESS_TEXT])
{
	return destination->literal ? nc_address_text(&destination->address, text) : destination->name;
}

static void show_entry(FILE *stream, const char *label, const struct nc_explain_entry *entry)
{
	char address[NC_ADDRESS_TEXT], number[8];
	const struct nc_destination *destination = entry->destination;

	if (!entry->valid)
		return;
	fprintf(stream, "%-9s%s port %u %s (%s)", label, destination_text(destination, address), destination->port,
		protocol_word(destination->protocol, number), entry->pointer);
	fprintf(stream, *entry->why ? ": %s\n" : "%s\n", entry->why);
}

/* What is compared, and what that leaves open. */
static const char *binding_sentence(const struct nc_explanation *e)
{
	if (!strcmp(e->name_binding, "address"))
		return "only the address is compared; another name on the same address can be reached";
	if (e->protocol == IPPROTO_UDP)
		return "the first bytes of QUIC cannot be read in the kernel, so they are refused; \"wire\": \"any\" opens them";
	if (e->matched.destination->wire == NC_WIRE_HTTP)
		return "the Host of the first request must be a listed name with a grant for the address; later requests on the connection are not "
		       "read";
	return "the server name of the ClientHello must be a listed name with a grant for the address; a Host inside TLS and an encrypted "
	       "ClientHello's inner name are not read";
}

static const struct {
	const char *word, *sentence;
} name_reasons[] = {
#define NAME_REASON(symbol, word, sentence) [NC_##symbol] = {word, sentence},
	NC_NAME_REASONS(NAME_REASON)
#undef NAME_REASON
};

/* As an instance's events would say it: the kernel's reason, or the resolver's where the name leads nowhere. */
static const char *why_word(const struct nc_explanation *e)
{
	return e->nameless ? name_reasons[NC_RESOLVER_NO_NAME].word : nc_reason_word(e->reason);
}

static const char *why_sentence(const struct nc_explanation *e)
{
	return e->nameless ? name_reasons[NC_RESOLVER_NO_NAME].sentence : nc_reason_sentence(e->reason);
}

static void show_addresses(FILE *stream, const struct nc_explanation *e)
{
	char text[NC_ADDRESS_TEXT];

	for (size_t i = 0; i < e->address_count; i++) {
		const struct nc_explain_address *address = &e->addresses[i];

		fprintf(stream, "%-9s%s: %s, %s; ", "address", nc_address_text(&address->address, text), nc_decision_word(address->decision),
			nc_reason_word(address->reason));
		if (address->decision == NC_ALLOW)
			fprintf(stream, "the grant lives %u s\n", address->lifetime);
		else
			fprintf(stream, "no grant, left out of the answer\n");
	}
	if (e->asked != NC_EXPLAIN_NOT_ASKED && !e->address_count)
		fprintf(stream, "%-9s%s\n", "address", e->asked == NC_EXPLAIN_SILENCE ? "unknown: no name server answered" : "none");
}

void nc_explain_text(const struct nc_explanation *e, FILE *stream)
{
	char address[NC_ADDRESS_TEXT], number[8];

	fprintf(stream, "%s: %s to %s port %u %s\n", nc_decision_word(e->decision), nc_authority_word(e->authority), host_text(&e->host, address),
		e->port, protocol_word(e->protocol, number));
	fprintf(stream, "%-9s%s: %s\n", "reason", why_word(e), why_sentence(e));
	fprintf(stream, "%-9s%s\n", "mode", nc_mode_word(e->mode));
	if (e->address_class)
		fprintf(stream, "%-9s%s: %s (%s)\n", "class", nc_class_word(e->address_class), nc_class_meaning(e->address_class),
			nc_class_source(e->address_class));
	if (e->carries)
		fprintf(stream, "%-9s%s\n", "carries", nc_address_text(&e->carried, address));
	show_entry(stream, "listed", &e->matched);
	show_entry(stream, "nearest", &e->nearest);
	show_addresses(stream, e);
	if (*e->name_binding)
		fprintf(stream, "%-9s%s: %s\n", "name", e->name_binding, binding_sentence(e));
	if (*e->ends)
		fprintf(stream, "%-9s%s\n", "another", e->ends);
	if (*e->condition)
		fprintf(stream, "%-9s%s\n", "if", e->condition);
}

static json_t *entry_json(const struct nc_explain_entry *entry)
{
	char address[NC_ADDRESS_TEXT], number[8];
	const struct nc_destination *destination = entry->destination;
	json_t *object = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s}", "pointer", entry->pointer, "authority", nc_authority_word(entry->authority),
				   "host", destination_text(destination, address), "port", (int)destination->port, "protocol",
				   protocol_word(destination->protocol, number), "wire", wire_word(destination->wire));

	if (object && *entry->why && json_object_set_new(object, "why", json_string(entry->why)) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* Takes `value`; -1 without memory, also when `value` itself is NULL for want of it. */
static int add(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

static json_t *addresses_json(const struct nc_explanation *e)
{
	json_t *array = json_array();
	char text[NC_ADDRESS_TEXT];

	for (size_t i = 0; array && i < e->address_count; i++) {
		const struct nc_explain_address *address = &e->addresses[i];
		json_t *row = json_pack("{s:s, s:s, s:s}", "address", nc_address_text(&address->address, text), "decision",
					nc_decision_word(address->decision), "reason", nc_reason_word(address->reason));

		if (row && address->decision == NC_ALLOW)
			json_object_set_new(row, "lifetime", json_integer(address->lifetime));
		json_array_append_new(array, row);
	}
	return array;
}

json_t *nc_explain_json(const struct nc_explanation *e)
{
	char address[NC_ADDRESS_TEXT], number[8];
	NC_JSON json_t *object = json_pack("{s:i, s:s, s:s, s:s, s:b, s:i, s:s, s:s, s:s, s:s}", "version", 1, "authority",
					   nc_authority_word(e->authority), "mode", nc_mode_word(e->mode), "host", host_text(&e->host, address),
					   "literal", e->host.literal, "port", (int)e->port, "protocol", protocol_word(e->protocol, number),
					   "decision", nc_decision_word(e->decision), "reason", why_word(e), "sentence", why_sentence(e));
	json_t *taken = object;
	int r = object ? 0 : -1;

	if (!r && e->address_class)
		r = add(object, "address_class",
			json_pack("{s:s, s:s, s:s}", "word", nc_class_word(e->address_class), "meaning", nc_class_meaning(e->address_class), "source",
				  nc_class_source(e->address_class)));
	if (!r && e->carries)
		r = add(object, "carries", json_string(nc_address_text(&e->carried, address)));
	if (!r && e->matched.valid)
		r = add(object, "matched", entry_json(&e->matched));
	if (!r && e->nearest.valid)
		r = add(object, "nearest", entry_json(&e->nearest));
	if (!r && e->asked == NC_EXPLAIN_ANSWERED)
		r = add(object, "addresses", addresses_json(e));
	if (!r && *e->name_binding)
		r = add(object, "name_binding", json_string(e->name_binding));
	if (!r && *e->condition)
		r = add(object, "condition", json_string(e->condition));
	if (!r && *e->ends)
		r = add(object, "ends", json_string(e->ends));
	if (r)
		return NULL;
	object = NULL;
	return taken;
}

static int target_error(struct nc_error *reterr, const char *text, const char *what)
{
	char quote[NC_QUOTE_SIZE];

	nc_error_set(reterr, NC_E_USAGE, -EINVAL, "\"%s\" %s", nc_quote(text, strlen(text), quote), what);
	return nc_error_hint(reterr, "write HOST:PORT or [IPV6]:PORT, with /udp behind it for UDP");
}

int nc_explain_target(const char *text, char ret_host[NC_HOST_NAME_MAX + 2], uint16_t *ret_port, uint8_t *ret_protocol, struct nc_error *reterr)
{
	const char *slash = strrchr(text, '/'), *end = slash ? slash : text + strlen(text), *colon = end, *host = text;
	uint8_t protocol = IPPROTO_TCP;
	size_t digits, length;
	unsigned long port;

	if (strstr(text, "://"))
		return target_error(reterr, text, "is a URL: what is judged is a connection to a host and port");
	if (slash && !strcmp(slash, "/udp"))
		protocol = IPPROTO_UDP;
	else if (slash && strcmp(slash, "/tcp"))
		return target_error(reterr, text, "has a protocol that is neither tcp nor udp");
	while (colon > text && *colon != ':')
		colon--;
	if (*colon != ':')
		return target_error(reterr, text, "has no port");
	digits = strspn(colon + 1, "0123456789");
	port = strtoul(colon + 1, NULL, 10);
	if (!digits || digits > 5 || colon + 1 + digits != end || port > 65535 || (digits > 1 && colon[1] == '0'))
		return target_error(reterr, text, "has a port that is not a number from 0 to 65535");
	length = (size_t)(colon - host);
	if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
		host++;
		length -= 2;
	} else if (memchr(host, ':', length)) {
		return target_error(reterr, text, "has an IPv6 address without brackets");
	}
	if (!length || length > NC_HOST_NAME_MAX + 1)
		return target_error(reterr, text, "has no host, or one that is too long");
	memcpy(ret_host, host, length);
	ret_host[length] = '\0';
	*ret_port = (uint16_t)port;
	*ret_protocol = protocol;
	return 0;
}
