/* SPDX-License-Identifier: GPL-2.0-only */
/* dns_any.h - any bytes as a question and as a reply: what must hold whatever they are. For the fuzzer and for the kept corpus */
#ifndef NC_TEST_DNS_ANY_H
#define NC_TEST_DNS_ANY_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dns_message.h"

#define MUST(condition)                                                                                                                              \
	do {                                                                                                                                         \
		if (!(condition)) {                                                                                                                  \
			fprintf(stderr, "does not hold: %s (%s:%d)\n", #condition, __FILE__, __LINE__);                                              \
			abort();                                                                                                                     \
		}                                                                                                                                    \
	} while (0)

static inline void dns_any_name(const struct nc_dns_name *name)
{
	char text[1100];
	size_t at = 0;

	/* labels up to the root, and not a byte more */
	MUST(name->length >= 1);
	while (at < name->length && name->wire[at]) {
		MUST(name->wire[at] <= 63);
		at += name->wire[at] + 1u;
	}
	MUST(at + 1u == name->length);
	for (size_t i = 0; i < name->length; i++)
		MUST(name->wire[i] < 'A' || name->wire[i] > 'Z');
	nc_dns_name_to_text(name, text, sizeof(text));
	for (const char *c = text; *c; c++)
		MUST(*c >= ' ' && *c <= '~');
}

/* What is answered to a question is within its limit, and is an answer to that very question. */
static inline void dns_any_answer(const struct nc_dns_question *question)
{
	static uint8_t message[NC_DNS_MESSAGE_MAX];
	static struct nc_dns_answer made, read;
	int size;

	made.outcome = NC_DNS_ANSWERED;
	made.count = NC_DNS_ADDRESSES_MAX;
	made.alias = question->name;
	size = nc_dns_write_answer(question, NC_DNS_NOERROR, &made, 30, question->udp_size, message, sizeof(message));
	MUST(size > 0 && size <= question->udp_size);
	if (question->type == NC_DNS_A || question->type == NC_DNS_AAAA) {
		MUST(nc_dns_read_reply(message, (size_t)size, question->id, &question->name, (enum nc_dns_type)question->type, &read) == 0);
		MUST(read.outcome == NC_DNS_TRUNCATED);
	}
}

static inline void dns_any_reply(const uint8_t *bytes, size_t size, const struct nc_dns_question *question, enum nc_dns_type type)
{
	static struct nc_dns_answer answer;
	int r = nc_dns_read_reply(bytes, size, question->id, &question->name, type, &answer);

	MUST(r == 0 || r == -EBADMSG);
	if (r < 0)
		return;
	MUST(answer.outcome >= NC_DNS_ANSWERED && answer.outcome <= NC_DNS_FAILED);
	MUST(answer.count <= NC_DNS_ADDRESSES_MAX && answer.aliases <= NC_DNS_ALIASES_MAX + 1);
	if (type == NC_DNS_CNAME)
		MUST(answer.count == 0);
	else
		MUST((answer.outcome == NC_DNS_ANSWERED) == (answer.count > 0));
	if (answer.outcome == NC_DNS_CHAIN_OPEN)
		dns_any_name(&answer.alias);
}

static inline void dns_any_bytes(const uint8_t *bytes, size_t size)
{
	struct nc_dns_question question = {0};
	enum nc_dns_rcode rcode = NC_DNS_NOERROR;
	uint8_t *asking = malloc(size + 1);
	int r = nc_dns_read_question(bytes, size, &question, &rcode);

	MUST(asking && (r == 0 || r == -EBADMSG || r == -EPROTO));
	if (r == 0) {
		dns_any_name(&question.name);
		dns_any_answer(&question);
	} else if (r == -EPROTO) {
		static uint8_t message[NC_DNS_UDP_PLAIN];

		MUST(rcode == NC_DNS_FORMERR || rcode == NC_DNS_NOTIMP);
		MUST(nc_dns_write_answer(&question, rcode, NULL, 0, question.udp_size, message, sizeof(message)) >= 12);
	}
	/* As a reply to what it says it answers: its own question, read with the reply's mark taken off. */
	memcpy(asking, bytes, size);
	if (size > 2)
		asking[2] &= 0x7f;
	if (nc_dns_read_question(asking, size, &question, &rcode) == 0) {
		dns_any_reply(bytes, size, &question, NC_DNS_A);
		dns_any_reply(bytes, size, &question, NC_DNS_AAAA);
		dns_any_reply(bytes, size, &question, NC_DNS_CNAME);
	}
	free(asking);
}

#endif
