/* SPDX-License-Identifier: GPL-2.0-only */
/* dns_name.c - names between text and labels, for whoever has no messages to read: the supervisor does without a DNS library */
#include "dns_message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_MAX 63 /* RFC 1035 2.3.4 */

static uint8_t lower(char c)
{
	return (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

int nc_dns_name_from_text(const char *text, struct nc_dns_name *ret_name)
{
	struct nc_dns_name name = {0};
	size_t used = 0;

	while (*text) {
		size_t length = strcspn(text, ".");

		/* No escapes: what needs one is no host name. The root's own byte must fit too. */
		if (!length || length > LABEL_MAX || used + 1 + length + 1 > sizeof(name.wire) || memchr(text, '\\', length))
			return -EINVAL;
		name.wire[used++] = (uint8_t)length;
		for (size_t i = 0; i < length; i++)
			name.wire[used++] = lower(text[i]);
		text += length;
		text += *text == '.';
	}
	if (!used)
		return -EINVAL;
	name.length = (uint8_t)(used + 1);
	*ret_name = name;
	return 0;
}

static bool is_plain(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

void nc_dns_name_to_text(const struct nc_dns_name *name, char *text, size_t size)
{
	size_t at = 0, put = 0;

	/* A byte takes at most four characters, and one more for the dot or the end. */
	while (at < name->length && name->wire[at] && put + 5 < size) {
		size_t end = at + 1 + name->wire[at];

		if (at)
			text[put++] = '.';
		for (at++; at < end && at < name->length && put + 5 < size; at++) {
			if (is_plain(name->wire[at]))
				text[put++] = (char)name->wire[at];
			else
				put += (size_t)snprintf(text + put, size - put, "\\%03u", name->wire[at]);
		}
	}
	if (!put)
		text[put++] = '.';
	text[put] = '\0';
}

int nc_dns_name_compare(const struct nc_dns_name *a, const struct nc_dns_name *b)
{
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->wire, b->wire, a->length);
}
