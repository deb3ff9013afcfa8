/* SPDX-License-Identifier: GPL-2.0-only */
/* test_after_hello.c - what follows the first packet of a ClientHello: its rest, cut anywhere, and the records behind it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "hello_text.h"
#include "wire_host.h"
#include "after_hello.h"

#define CORPUS "tests/fuzz/corpus/server_name/"
#define AT 40

enum end { DONE, OVER, REFUSED, SECOND };

static struct __sk_buff skb;
static __u64 after; /* where the walk stands between two packets */
static __u32 second_at;

static void packet_of(const void *bytes, size_t size)
{
	static uint8_t packet[AT + 40000];

	memcpy(packet + AT, bytes, size);
	host_packet = packet;
	host_packet_size = AT + size;
}

static enum end ended(__u64 state, size_t size)
{
	if (state & NC_PLACE_HELLO) {
		second_at = NC_PLACE(state);
		return SECOND;
	}
	if (!(state & NC_PLACE_DONE))
		return state & NC_PLACE_OVER ? OVER : REFUSED;
	after = nc_walk_keep(&skb, AT, (__u32)size, state);
	return after ? DONE : REFUSED;
}

/* The first packet of a connection; 0: no name in it. */
static int begins(const void *bytes, size_t size, enum end *ret_end)
{
	__u64 found;

	packet_of(bytes, size);
	found = nc_tls_name(&skb, AT, (__u32)size);
	if (found)
		*ret_end = ended(nc_walk_on(&skb, AT, (__u32)size, nc_place_in_hello(0, found, 0)), size);
	return found != 0;
}

/* The next one. */
static enum end follows(const void *bytes, size_t size)
{
	packet_of(bytes, size);
	return ended(nc_walk_on(&skb, AT, (__u32)size, nc_walk_begin(&skb, AT, (__u32)size, after)), size);
}

static const uint8_t sealed[] = {23, 3, 3, 0, 3, 1, 2, 3}, change[] = {20, 3, 3, 0, 1, 1}, exchange[] = {22, 3, 3, 0, 2, 16, 0};

static void put(uint8_t *bytes, size_t *size, const void *more, size_t length)
{
	memcpy(bytes + *size, more, length);
	*size += length;
}

/* In two and in three parts, cut at every byte behind the name, each hello ends where it ends, and what comes next is known for what it is. */
static void check_cut(const char *what, const uint8_t *bytes, size_t size, size_t one, size_t two)
{
	enum end end;

	if (!begins(bytes, one, &end))
		return;
	if (end != DONE || (two > one && follows(bytes + one, two - one) != DONE) || (size > two && follows(bytes + two, size - two) != DONE))
		fail_msg("%s: cut at %zu and %zu of %zu", what, one, two, size);
	if (NC_AFTER_LEFT(after) || NC_AFTER_SKIP(after) || NC_AFTER_CUT(after))
		fail_msg("%s: cut at %zu and %zu of %zu, %#llx is left", what, one, two, size, (unsigned long long)after);
	assert_int_equal(follows(sealed, sizeof(sealed)), after & NC_AFTER_EARLY ? DONE : OVER);
}

static void hellos_are_walked_in_parts(void **state)
{
	static const char *const files[] = {"tls-curl",	  "tls-openssl", "tls-openssl-1.2", "tls-openssl-long",
					    "tls-gnutls", "tls-node",	 "tls-python",	    "tls-chromium"};
	static uint8_t bytes[20000];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[256];
		FILE *file;
		size_t size;
		enum end end;

		snprintf(path, sizeof(path), CORPUS "%s", files[i]);
		file = fopen(path, "rb");
		if (!file)
			fail_msg("no %s", path);
		size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		packet_of(bytes, size);
		size = NC_FOUND_HEAD(nc_tls_name(&skb, AT, (__u32)size)); /* no more than the hello */
		assert_true(size && begins(bytes, size, &end) && end == DONE);
		for (size_t one = 1; one<size; one += one> 64 && one + 64 < size ? 3 : 1)
			for (size_t two = one + 6; two <= size; two += 7)
				check_cut(files[i], bytes, size, one, two);
	}
}

static struct hello hello;

static void hello_with(uint16_t type, size_t length)
{
	hello_begin(&hello);
	hello_name(&hello, "a.example", 9);
	for (int i = 0; i < 6; i++)
		hello_extension(&hello, (uint16_t)(0x1000 + i), 20);
	hello_extension(&hello, type, length);
	hello_end(&hello);
}

static void a_long_hello_is_walked_to_its_end(void **state)
{
	(void)state;
	hello_with(0x2000, 16000);
	assert_true(hello.size > 16000 && hello.size <= 16384 + 5);
	for (size_t one = 100; one < hello.size; one += 1448)
		check_cut("long", hello.bytes, hello.size, one, one + 1448 < hello.size ? one + 1448 : hello.size);
}

static void what_is_wrong_in_the_rest_is_refused(void **state)
{
	size_t last;
	enum end end;

	(void)state;
	hello_with(0, 8); /* a second server_name */
	for (size_t cut = 150; cut < hello.size; cut++) {
		if (!begins(hello.bytes, cut, &end))
			continue;
		last = hello.size - cut;
		if (cut >= hello.size - 8)
			assert_int_equal(end, REFUSED); /* it was seen in the first part already */
		else
			assert_int_equal(follows(hello.bytes + cut, last), REFUSED);
	}
	hello_with(0x2000, 8);
	hello_patch(&hello, hello.size - 10, 9, 2); /* longer than the hello */
	for (size_t cut = 150; cut < hello.size - 8; cut++)
		if (begins(hello.bytes, cut, &end))
			assert_int_equal(follows(hello.bytes + cut, hello.size - cut), REFUSED);
	hello_with(0x2000, 8);
	hello_patch(&hello, hello.size - 10, 5, 2); /* three bytes behind it are none */
	for (size_t cut = 150; cut < hello.size - 8; cut++)
		if (begins(hello.bytes, cut, &end))
			assert_int_equal(follows(hello.bytes + cut, hello.size - cut), REFUSED);
}

static void first(uint16_t type)
{
	enum end end;

	hello_with(type, 4);
	assert_true(begins(hello.bytes, hello.size, &end));
	assert_int_equal(end, DONE);
}

static void records_behind_it(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t size;
		enum end end, early;
	} rows[] = {
		{{20, 3, 3, 0, 1, 1}, 6, DONE, DONE},
		{{20, 3, 3, 0, 2, 1, 1}, 7, REFUSED, REFUSED},
		{{21, 3, 3, 0, 2, 1, 0}, 7, DONE, DONE},
		{{21, 3, 3, 0, 3, 1, 0, 0}, 8, REFUSED, REFUSED},
		{{23, 3, 3, 0, 3, 1, 2, 3}, 8, OVER, DONE},
		{{22, 3, 3, 0, 2, 16, 0}, 7, OVER, OVER},
		{{22, 3, 3, 0, 4, 11, 0, 0, 0}, 9, OVER, OVER},
		{{22, 3, 1, 0, 4, 1, 0, 0, 0}, 9, SECOND, SECOND},
		{{22, 3, 1, 0, 1, 1}, 6, SECOND, SECOND},
		{{22, 3, 3, 0, 40, 1, 3}, 7, OVER, OVER}, /* sealed */
		{{22, 3, 3, 0, 40, 1, 2}, 7, SECOND, SECOND},
		{{22, 3, 3, 0, 40, 1}, 6, SECOND, SECOND},
		{{22, 3, 3, 0, 31, 1, 3}, 7, SECOND, SECOND},
		{{22, 3, 1, 0, 0, 1}, 6, REFUSED, REFUSED},
		{{23, 3, 3, 0, 0, 1}, 6, REFUSED, REFUSED},
		{{23, 3, 3, 0x42, 0, 1}, 6, REFUSED, REFUSED},
		{{24, 3, 3, 0, 2, 1, 0}, 7, REFUSED, REFUSED},
		{{22, 2, 0, 0, 4, 1}, 6, REFUSED, REFUSED},
		{{'G', 'E', 'T', ' ', '/', ' '}, 6, REFUSED, REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		first(0x2000);
		if (follows(rows[i].bytes, rows[i].size) != rows[i].end)
			fail_msg("row %zu", i);
		first(NC_EXTENSION_EARLY_DATA);
		if (follows(rows[i].bytes, rows[i].size) != rows[i].early)
			fail_msg("row %zu, early data announced", i);
	}
	first(0x2000); /* the head alone, and the rest in the next packet */
	for (size_t cut = 1; cut < sizeof(sealed) - 3; cut++) {
		first(0x2000);
		assert_int_equal(follows(sealed, cut), DONE);
		assert_int_equal(follows(sealed + cut, sizeof(sealed) - cut), OVER);
		first(0x2000);
		assert_int_equal(follows(exchange, cut), DONE);
		assert_int_equal(follows(exchange + cut, sizeof(exchange) - cut), OVER);
		first(0x2000); /* a byte at a time is no client */
		assert_int_equal(follows(sealed, 1), DONE);
		assert_int_equal(follows(sealed + 1, 1), REFUSED);
	}
}

/* A second hello may stand behind a change of ciphers, alerts, early data, in their packet or in one of its own, and is found in each place. */
static void a_second_hello_is_found(void **state)
{
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 1, 90};
	uint8_t bytes[4096];
	size_t size, before;

	(void)state;
	for (int i = 0; i < 16; i++) {
		first(i & 8 ? NC_EXTENSION_EARLY_DATA : 0x2000);
		size = 0;
		if (i & 1)
			put(bytes, &size, change, sizeof(change));
		if (i & 2)
			put(bytes, &size, alert, sizeof(alert));
		if (i & 8)
			put(bytes, &size, sealed, sizeof(sealed));
		before = size;
		put(bytes, &size, hello.bytes, hello.size);
		if (i & 4 && before) {
			assert_int_equal(follows(bytes, before), DONE);
			assert_int_equal(follows(bytes + before, size - before), SECOND);
			assert_int_equal(second_at, 0);
		} else {
			assert_int_equal(follows(bytes, size), SECOND);
			assert_int_equal(second_at, before);
		}
	}
	/* its head must not be cut */
	for (size_t cut = 1; cut < 6; cut++) {
		first(0x2000);
		assert_int_equal(follows(hello.bytes, cut), DONE);
		assert_int_equal(follows(hello.bytes + cut, hello.size - cut), REFUSED);
	}
	/* in the first packet, right behind the first */
	size = 0;
	put(bytes, &size, hello.bytes, hello.size);
	put(bytes, &size, hello.bytes, hello.size);
	packet_of(bytes, size);
	assert_int_equal(ended(nc_walk_on(&skb, AT, (__u32)size, nc_place_in_hello(0, nc_tls_name(&skb, AT, (__u32)size), 0)), size), SECOND);
	assert_int_equal(second_at, hello.size);
}

/* Early data of any length, its records cut anywhere, are passed over; what comes behind them is found. */
static void early_data_is_passed_over(void **state)
{
	static uint8_t bytes[40000];
	const size_t lengths[] = {1, 2, 5, 1400, 16000, 3};

	(void)state;
	for (size_t cut = 1; cut < 1500; cut += cut < 40 ? 1 : 97) {
		size_t size = 0, place = 0;

		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			const uint8_t head[] = {23, 3, 3, (uint8_t)(lengths[i] >> 8), (uint8_t)lengths[i]};

			put(bytes, &size, head, sizeof(head));
			memset(bytes + size, 22, lengths[i]);
			size += lengths[i];
		}
		first(NC_EXTENSION_EARLY_DATA);
		if (cut < 6) /* no packet but the first may be as small as a head */
			assert_int_equal(follows(bytes, place = cut), DONE);
		while (place < size) {
			size_t part = cut < 6 || place + cut > size ? size - place : cut;

			if (follows(bytes + place, part) != DONE)
				fail_msg("cut at each %zu: %zu of %zu", cut, place, size);
			place += part;
		}
		if (!NC_AFTER_CUT(after))
			assert_int_equal(follows(hello.bytes, hello.size), SECOND);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hellos_are_walked_in_parts),
		cmocka_unit_test(a_long_hello_is_walked_to_its_end),
		cmocka_unit_test(what_is_wrong_in_the_rest_is_refused),
		cmocka_unit_test(records_behind_it),
		cmocka_unit_test(a_second_hello_is_found),
		cmocka_unit_test(early_data_is_passed_over),
	};

	host_find_grant = NULL;
	return cmocka_run_group_tests_name("after_hello", tests, NULL, NULL);
}
