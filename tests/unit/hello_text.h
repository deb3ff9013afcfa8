/* SPDX-License-Identifier: GPL-2.0-only */
/* hello_text.h - ClientHellos put together byte by byte, also such as no client sends */
#ifndef NC_TEST_HELLO_TEXT_H
#define NC_TEST_HELLO_TEXT_H

#include <stdint.h>
#include <string.h>

struct hello {
	uint8_t bytes[20000];
	size_t size, extensions; /* where the length of the extensions stands */
};

static inline void hello_put(struct hello *hello, size_t value, int bytes)
{
	while (bytes-- > 0)
		hello->bytes[hello->size++] = (uint8_t)(value >> 8 * bytes);
}

static inline void hello_fill(struct hello *hello, uint8_t byte, size_t count)
{
	memset(hello->bytes + hello->size, byte, count);
	hello->size += count;
}

/* Record, handshake, version, random, a session id, three cipher suites, no compression; then extensions are added. */
static inline void hello_begin(struct hello *hello)
{
	hello->size = 0;
	hello_put(hello, 22, 1);
	hello_put(hello, 0x0301, 2);
	hello_put(hello, 0, 2);
	hello_put(hello, 1, 1);
	hello_put(hello, 0, 3);
	hello_put(hello, 0x0303, 2);
	hello_fill(hello, 0x5a, 32);
	hello_put(hello, 32, 1);
	hello_fill(hello, 0xa5, 32);
	hello_put(hello, 6, 2);
	hello_put(hello, 0x130113021303, 6);
	hello_put(hello, 0x0100, 2);
	hello->extensions = hello->size;
	hello_put(hello, 0, 2);
}

#define HELLO_RANDOM_AT 11 /* in the record: behind its head, the message's and the version */

/* 32 bytes of a client's own choice, or as many as there are, in place of the first ones. */
static inline void hello_random(struct hello *hello, const char *bytes, size_t length)
{
	memcpy(hello->bytes + HELLO_RANDOM_AT, bytes, length < 32 ? length : 32);
}

static inline void hello_extension(struct hello *hello, uint16_t type, size_t length)
{
	hello_put(hello, type, 2);
	hello_put(hello, length, 2);
	hello_fill(hello, 0x11, length);
}

static inline void hello_name(struct hello *hello, const char *name, size_t length)
{
	hello_put(hello, 0, 2);
	hello_put(hello, length + 5, 2);
	hello_put(hello, length + 3, 2);
	hello_put(hello, 0, 1);
	hello_put(hello, length, 2);
	memcpy(hello->bytes + hello->size, name, length);
	hello->size += length;
}

static inline void hello_patch(struct hello *hello, size_t at, size_t value, int bytes)
{
	size_t size = hello->size;

	hello->size = at;
	hello_put(hello, value, bytes);
	hello->size = size;
}

/* The three lengths, as they are. */
static inline void hello_end(struct hello *hello)
{
	hello_patch(hello, 3, hello->size - 5, 2);
	hello_patch(hello, 6, hello->size - 9, 3);
	hello_patch(hello, hello->extensions, hello->size - hello->extensions - 2, 2);
}

#endif
