/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * observe_resolver.c - the resolver that the matrix owns: it says about a name exactly what a case wants it to say
 *
 * DNS as in RFC 1035, over UDP and TCP, A, AAAA and CNAME only, no compression. It is written by hand and not with a library, because a case wants
 * answers that a resolver's library is there to prevent: another answer for each question, private addresses for a public name, an alias into a
 * private network.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "observe_parts.h"

#define ANSWERS_MAX 4
#define TYPE_A 1
#define TYPE_CNAME 5
#define TYPE_AAAA 28
#define MESSAGE_MAX 1400

struct nc_name {
	struct nc_name *next;
	char name[254];
	struct nc_dns_answer answers[ANSWERS_MAX];
	size_t count;
	size_t asked[2]; /* how often, for A and for AAAA */
};

int nc_observer_name(struct nc_observer *observer, const char *name, const struct nc_dns_answer *answer, struct nc_error *reterr)
{
	struct nc_name *row;
	int r = 0;

	pthread_mutex_lock(&observer->lock);
	for (row = observer->names; row && strcmp(row->name, name); row = row->next)
		;
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (row) {
			strncpy(row->name, name, sizeof(row->name) - 1);
			row->next = observer->names;
			observer->names = row;
		}
	}
	if (!row || row->count == ANSWERS_MAX)
		r = nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "give the resolver an answer for %s", name);
	else
		row->answers[row->count++] = *answer;
	pthread_mutex_unlock(&observer->lock);
	return r;
}

void nc_observer_forget_names(struct nc_observer *observer)
{
	pthread_mutex_lock(&observer->lock);
	for (struct nc_name *row = observer->names, *next; row; row = next) {
		next = row->next;
		free(row);
	}
	observer->names = NULL;
	pthread_mutex_unlock(&observer->lock);
}

/* Reads the question's name as text and its type; returns the offset behind the question, 0 for anything odd. */
static size_t read_question(const unsigned char *message, size_t length, char name[254], uint16_t *ret_type)
{
	size_t at = 12, out = 0;

	if (length < 12 || message[4] || message[5] != 1)
		return 0;
	while (at < length && message[at]) {
		size_t label = message[at++];

		if (label > 63 || at + label >= length || out + label + 1 >= 254)
			return 0;
		if (out)
			name[out++] = '.';
		memcpy(name + out, message + at, label);
		out += label;
		at += label;
	}
	name[out] = '\0';
	if (at + 5 > length)
		return 0;
	*ret_type = (uint16_t)(message[at + 1] << 8 | message[at + 2]);
	return at + 5;
}

static size_t put_name(unsigned char *into, const char *name)
{
	size_t at = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		into[at++] = (unsigned char)label;
		memcpy(into + at, name, label);
		at += label;
		name += label;
		name += *name == '.';
	}
	into[at++] = 0;
	return at;
}

static size_t put_record(unsigned char *into, const char *owner, const struct nc_record *record)
{
	bool v4 = nc_observer_is_v4(&record->address);
	size_t at = put_name(into, owner), size_at;
	uint16_t type = *record->alias ? TYPE_CNAME : v4 ? TYPE_A : TYPE_AAAA;
	size_t size;

	into[at++] = 0;
	into[at++] = (unsigned char)type;
	into[at++] = 0;
	into[at++] = 1;
	for (int shift = 24; shift >= 0; shift -= 8)
		into[at++] = (unsigned char)(record->ttl >> shift);
	size_at = at;
	at += 2;
	if (*record->alias) {
		size = put_name(into + at, record->alias);
	} else {
		size = v4 ? 4 : 16;
		memcpy(into + at, record->address.bytes + (v4 ? 12 : 0), size);
	}
	into[size_at] = 0;
	into[size_at + 1] = (unsigned char)size;
	return at + size;
}

/* The row for a name as asked, and which of its answers is next. NULL: there is no such name. */
static const struct nc_dns_answer *next_answer(struct nc_observer *observer, const char *name, uint16_t type)
{
	for (struct nc_name *row = observer->names; row; row = row->next) {
		size_t *asked = &row->asked[type == TYPE_AAAA];
		size_t index = *asked < row->count ? *asked : row->count - 1;

		if (strcasecmp(row->name, name))
			continue;
		if (type == TYPE_A || type == TYPE_AAAA)
			(*asked)++;
		return &row->answers[index];
	}
	return NULL;
}

/* Writes every record of the answer that belongs to the question: aliases, and addresses of the asked family. An alias's own addresses follow under
 * the alias's name. Returns the number of records. */
static int put_answer(struct nc_observer *observer, unsigned char *into, size_t *at, const char *name, uint16_t type, int depth)
{
	const struct nc_dns_answer *answer = next_answer(observer, name, type);
	int records = 0;

	if (!answer)
		return depth ? 0 : -1;
	for (size_t i = 0; i < answer->count && *at < MESSAGE_MAX - 600; i++) {
		const struct nc_record *record = &answer->records[i];

		if (!*record->alias && type != (nc_observer_is_v4(&record->address) ? TYPE_A : TYPE_AAAA))
			continue;
		*at += put_record(into + *at, name, record);
		records++;
		if (*record->alias && depth < 4)
			records += put_answer(observer, into, at, record->alias, type, depth + 1);
	}
	return records;
}

static size_t reply_to(struct nc_observer *observer, struct nc_source *source, const unsigned char *question, size_t length, unsigned char *reply)
{
	struct nc_sight sight = {.kind = NC_SIGHT_QUESTION,
				 .destination = source->listener.address,
				 .destination_port = 53,
				 .protocol = source->listener.protocol,
				 .source = source->peer,
				 .source_port = source->peer_port};
	char name[254];
	uint16_t type = 0;
	size_t at = read_question(question, length, name, &type);
	int records;

	if (!at || at > 512)
		return 0;
	nc_observer_note(observer, &sight, name, strlen(name));
	memcpy(reply, question, at);
	pthread_mutex_lock(&observer->lock);
	records = put_answer(observer, reply, &at, name, type, 0);
	pthread_mutex_unlock(&observer->lock);
	reply[2] = 0x84 | (question[2] & 1); /* an authoritative response; recursion desired as asked */
	reply[3] = records < 0 ? 0x83 : 0x80;
	memset(reply + 6, 0, 6);
	reply[7] = (unsigned char)(records < 0 ? 0 : records);
	return at;
}

static bool udp_ready(struct nc_observer *observer, struct nc_source *source)
{
	unsigned char question[1500], reply[MESSAGE_MAX];
	struct sockaddr_storage from;
	socklen_t from_length = sizeof(from);
	ssize_t got = recvfrom(source->fd, question, sizeof(question), MSG_DONTWAIT, (void *)&from, &from_length);
	size_t length;

	if (got <= 0)
		return true;
	nc_observer_from_sockaddr(&from, &source->peer, &source->peer_port);
	length = reply_to(observer, source, question, (size_t)got, reply);
	if (length)
		sendto(source->fd, reply, length, MSG_DONTWAIT, (void *)&from, from_length);
	return true;
}

static bool stream_ready(struct nc_observer *observer, struct nc_source *source)
{
	unsigned char reply[2 + MESSAGE_MAX];
	const unsigned char *request = (unsigned char *)source->request;
	ssize_t got = recv(source->fd, source->request + source->have, sizeof(source->request) - source->have, MSG_DONTWAIT);
	size_t length;

	if (got <= 0)
		return false;
	source->have += (size_t)got;
	if (source->have < 2 || source->have < 2u + (size_t)(request[0] << 8 | request[1]))
		return source->have < sizeof(source->request);
	length = reply_to(observer, source, request + 2, source->have - 2, reply + 2);
	reply[0] = (unsigned char)(length >> 8);
	reply[1] = (unsigned char)length;
	if (length)
		send(source->fd, reply, length + 2, MSG_NOSIGNAL | MSG_DONTWAIT);
	return false;
}

static bool tcp_ready(struct nc_observer *observer, struct nc_source *source)
{
	struct nc_error ignored = {0};
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		nc_observer_watch(observer, fd, false, stream_ready, &source->listener, NULL, &ignored);
	return true;
}

int nc_observer_resolver(struct nc_observer *observer, int netns_fd, const union nc_address *address, struct nc_error *reterr)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	int r = 0;

	for (int i = 0; !r && i < 2; i++) {
		struct nc_listener listener = {.address = *address, .port = 53, .protocol = protocols[i]};
		int fd = -1;

		r = nc_observer_socket(netns_fd, address, 53, protocols[i], &fd, reterr);
		if (!r)
			r = nc_observer_watch(observer, fd, true, i ? tcp_ready : udp_ready, &listener, NULL, reterr);
	}
	return r;
}
