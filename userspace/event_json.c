/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event_json.c - what the kernel programs reported, as JSON
 *
 * Codes are named from the tables of netcordon_abi.h and address.h; a code that no table has is shown as unknown_N, never left out. What can exceed
 * 2^53 is a string of decimal digits, times are nanoseconds of CLOCK_BOOTTIME as such strings. The task's name is the workload's to choose.
 */
#include "evidence.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "address.h"
#include "text.h"

#define NC_WORD(symbol, value, word, ...) [value] = word,
static const char *const authorities[] = {NC_AUTHORITIES(NC_WORD)};
static const char *const decisions[] = {NC_DECISIONS(NC_WORD)};
static const char *const reasons[NC_REASON_MAX] = {NC_REASONS(NC_WORD)};
static const char *const hooks[] = {NC_HOOKS(NC_WORD)};
static const char *const classes[] = {NC_ADDRESS_CLASSES(NC_WORD)};
static const char *const protocols[] = {[IPPROTO_TCP] = "tcp", [IPPROTO_UDP] = "udp"};
static const char *const families[] = {[4] = "ipv4", [6] = "ipv6"};

/* A new JSON string. */
static json_t *word_of(const char *const *words, size_t count, unsigned int code)
{
	return code < count && words[code] ? json_string(words[code]) : json_sprintf("unknown_%u", code);
}
#define WORD(words, code) word_of(words, sizeof(words) / sizeof((words)[0]), code)

/* IPv4 as dotted digits although it is carried mapped, IPv6 as RFC 5952 has it. */
static json_t *address_text(const union nc_address *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	bool mapped = address->halves[0] == 0 && address->words_be[2] == htonl(0xffff);

	if (!inet_ntop(mapped ? AF_INET : AF_INET6, mapped ? &address->bytes[12] : address->bytes, text, sizeof(text)))
		return NULL;
	return json_string(text);
}

static bool is_set(const union nc_address *address)
{
	return address->halves[0] || address->halves[1];
}

/* What only some programs know is there when they said it. Every function returns nonzero without memory. */
static int add_destination(json_t *record, const struct nc_event *event)
{
	int r = 0;

	/* Programs that refuse a socket, a bind, an option or a device speak of no destination; they leave the family 0. */
	if (event->family) {
		r |= json_object_set_new(record, "family", WORD(families, event->family));
		r |= json_object_set_new(record, "destination", address_text(&event->destination));
		r |= json_object_set_new(record, "port", json_integer(ntohs(event->port_be)));
	}
	if (event->address_class)
		r |= json_object_set_new(record, "address_class", WORD(classes, event->address_class));
	if (is_set(&event->admitted) || event->admitted_port_be) {
		r |= json_object_set_new(record, "admitted", address_text(&event->admitted));
		r |= json_object_set_new(record, "admitted_port", json_integer(ntohs(event->admitted_port_be)));
	}
	if (event->name_id)
		r |= json_object_set_new(record, "name_id", json_integer(event->name_id));
	if (event->detail)
		r |= json_object_set_new(record, "detail", json_integer(event->detail));
	return r;
}

static int add_task(json_t *record, const struct nc_event *event)
{
	char comm[NC_TEXT_SAFE_SIZE(sizeof(event->comm))];
	int r = 0;

	nc_text_safe(event->comm, strnlen(event->comm, sizeof(event->comm)), comm, sizeof(comm));
	r |= json_object_set_new(record, "comm", json_string(comm));
	r |= json_object_set_new(record, "pid", json_integer(event->pid));
	r |= json_object_set_new(record, "pid_ns", json_integer(event->pid_ns));
	r |= json_object_set_new(record, "uid", json_integer(event->uid));
	r |= json_object_set_new(record, "cgroup_id", nc_json_u64(event->cgroup_id));
	return r;
}

json_t *nc_named_event_json(const struct nc_named_event *named)
{
	json_t *record = nc_event_json(&named->event);
	char text[NC_TEXT_SAFE_SIZE(sizeof(named->name))];

	if (!record || !named->name_length)
		return record;
	nc_text_safe((const char *)named->name, named->name_length, text, sizeof(text));
	if (json_object_set_new(record, "server_name", json_string(text)) < 0) {
		json_decref(record);
		return NULL;
	}
	return record;
}

json_t *nc_event_json(const struct nc_event *event)
{
	json_t *record = json_object();
	int r = record ? 0 : -1;

	r |= json_object_set_new(record, "kind", json_string("verdict"));
	r |= json_object_set_new(record, "authority", WORD(authorities, event->authority));
	r |= json_object_set_new(record, "decision", WORD(decisions, event->decision));
	r |= json_object_set_new(record, "reason", WORD(reasons, event->reason));
	r |= json_object_set_new(record, "hook", WORD(hooks, event->hook));
	r |= json_object_set_new(record, "protocol", WORD(protocols, event->protocol));
	r |= json_object_set_new(record, "generation", nc_json_u64(event->generation));
	r |= json_object_set_new(record, "revision", nc_json_u64(event->revision));
	r |= json_object_set_new(record, "time_ns", nc_json_u64(event->time_ns));
	r |= json_object_set_new(record, "socket_cookie", nc_json_u64(event->socket_cookie));
	r |= add_task(record, event);
	r |= add_destination(record, event);
	if (r) {
		json_decref(record);
		return NULL;
	}
	return record;
}

json_t *nc_counters_json(const struct nc_counters *counters)
{
	json_t *object = json_object();
	char unknown[24];

	for (unsigned int reason = NC_COUNTER_LOST + 1; object && reason < NC_REASON_MAX; reason++) {
		const char *word = reasons[reason];

		if (!counters->by_reason[reason])
			continue;
		if (!word) {
			snprintf(unknown, sizeof(unknown), "unknown_%u", reason);
			word = unknown;
		}
		if (json_object_set_new(object, word, nc_json_u64(counters->by_reason[reason])) < 0) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}
