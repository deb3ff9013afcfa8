// SPDX-License-Identifier: GPL-2.0-only
/* attempt_hello.c - a ClientHello to a permitted address, in the forms that clients give it; the payload stands for its random, where a listener finds it */
#include "../unit/hello_text.h"
#include "attempt.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#define NAME_LENGTH_MAX 255

enum { EXTENSION_PRE_SHARED_KEY = 41, EXTENSION_EARLY_DATA = 42, EXTENSION_PSK_MODES = 45, EXTENSION_KEY_SHARE = 51, EXTENSION_UNASSIGNED = 0x4000 };

static const struct shape {
	const char *word;
	int extensions; /* before the name, of types that nobody knows */
	size_t share;	/* bytes of key shares before the name */
	bool resumed;	/* with early data and a ticket behind the name */
	bool longest;	/* the name has labels in front of it, up to 255 bytes */
	bool nameless, fast;
} shapes[] = {
	{.word = "plain"},
	{.word = "crowded", .extensions = 40},
	{.word = "share", .share = 1270}, /* X25519MLKEM768 and X25519 */
	{.word = "resumed", .resumed = true},
	{.word = "longest", .longest = true},
	{.word = "nameless", .nameless = true},
	{.word = "fast", .fast = true}, /* in the SYN (RFC 7413), where the namespace lets a client do so without a cookie */
};

static void put_name(struct hello *hello, const struct shape *shape, const char *name)
{
	char whole[NAME_LENGTH_MAX];
	size_t length = strlen(name), labels = NAME_LENGTH_MAX - length;

	if (shape->nameless)
		return;
	if (!shape->longest)
		return hello_name(hello, name, length);
	for (size_t i = 0; i < labels; i++)
		whole[i] = (labels - 1 - i) % 64 ? 'x' : '.';
	memcpy(whole + labels, name, length);
	hello_name(hello, whole, sizeof(whole));
}

static void shape_hello(struct hello *hello, const struct shape *shape, const char *name, const char *payload)
{
	hello_begin(hello);
	hello_random(hello, payload, strcspn(payload, "\n"));
	for (int i = 0; i < shape->extensions; i++)
		hello_extension(hello, (uint16_t)(EXTENSION_UNASSIGNED + i), 3);
	if (shape->share)
		hello_extension(hello, EXTENSION_KEY_SHARE, shape->share);
	put_name(hello, shape, name);
	if (shape->resumed) {
		hello_extension(hello, EXTENSION_PSK_MODES, 2);
		hello_extension(hello, EXTENSION_EARLY_DATA, 0);
		hello_extension(hello, EXTENSION_PRE_SHARED_KEY, 280);
	}
	hello_end(hello);
}

enum outcome verb_hello(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);
	const struct shape *shape = NULL;
	static struct hello hello;
	ssize_t sent;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (!strcmp(shapes[i].word, args[0]))
			shape = &shapes[i];
	}
	if (!shape || strlen(args[3]) >= NAME_LENGTH_MAX)
		return IMPOSSIBLE;
	shape_hello(&hello, shape, args[3], a->payload);
	if (fd < 0 || (!shape->fast && dial(a, fd, &peer)))
		return fail(a);
	if (shape->fast)
		sent = sendto(fd, hello.bytes, hello.size, MSG_FASTOPEN | MSG_NOSIGNAL, peer_sockaddr(&peer), peer.length);
	else
		sent = send(fd, hello.bytes, hello.size, MSG_NOSIGNAL);
	if (step(a, "send", sent))
		return fail(a);
	a->sent += sent;
	return answer(a, fd);
}
