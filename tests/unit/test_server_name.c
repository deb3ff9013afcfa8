/* SPDX-License-Identifier: GPL-2.0-only */
/* test_server_name.c - the name in the first bytes: what real clients sent, and everything that is not to be read */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include "hello_text.h"
#include "wire_host.h"

#define CORPUS "tests/fuzz/corpus/server_name/"

static char name_found[256];
static __u32 head_found;

/* What the programs do with a first payload that stands `at` bytes into the packet: the name, or NULL. */
static const char *read_at(const void *bytes, size_t size, size_t at, __u32 port)
{
	struct __sk_buff skb = {};
	uint8_t *packet = malloc(at + size + 1); /* of its own size: a byte too far is seen by the sanitizer */
	__u64 found;

	memset(packet, 0, at);
	memcpy(packet + at, bytes, size);
	host_packet = packet;
	host_packet_size = at + size;
	found = size && packet[at] == 22 ? nc_tls_name(&skb, (__u32)at, (__u32)size) : nc_http_name(&skb, (__u32)at, (__u32)size, port);
	if (found) {
		assert_true(NC_FOUND_AT(found) >= at && NC_FOUND_AT(found) + NC_FOUND_LENGTH(found) <= at + size);
		memcpy(name_found, packet + NC_FOUND_AT(found), NC_FOUND_LENGTH(found));
		name_found[NC_FOUND_LENGTH(found)] = '\0';
		head_found = NC_FOUND_HEAD(found);
	}
	free(packet);
	return found ? name_found : NULL;
}

static const char *read_hello(struct hello *hello)
{
	hello_end(hello);
	return read_at(hello->bytes, hello->size, 52, 443);
}

static const char *read_text(const char *text)
{
	return read_at(text, strlen(text), 52, 80);
}

static size_t load(const char *name, uint8_t *bytes, size_t room)
{
	char path[256];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), CORPUS "%s", name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("no %s", path);
	size = fread(bytes, 1, room, file);
	fclose(file);
	return size;
}

/* Each as it came; from a part of a request nothing is read, of a hello the same name or none (test_after_hello.c). */
static void real_clients_are_read(void **state)
{
	static const struct {
		const char *file, *name;
	} rows[] = {
		{"tls-curl", "api.example"},	    {"tls-openssl", "api.example"},
		{"tls-openssl-1.2", "API.Example"}, {"tls-openssl-long", "api.example"},
		{"tls-gnutls", "api.example"},	    {"tls-node", "api.example"},
		{"tls-python", "api.example"},	    {"http-curl", "api.example"},
		{"http-python", "api.example"},	    {"tls-none", NULL},
		{"tls-chromium", "api.example"},
	};
	static uint8_t bytes[20000];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t size = load(rows[i].file, bytes, sizeof(bytes));
		const char *name = read_at(bytes, size, 40, 80);

		if (!rows[i].name != !name || (name && strcmp(name, rows[i].name)))
			fail_msg("%s: %s", rows[i].file, name ?: "unreadable");
		for (size_t cut = 0; cut < size && rows[i].name; cut++) {
			name = read_at(bytes, cut, 40, 80);
			if (name && (strcmp(name, rows[i].name) || (cut < head_found && bytes[0] != 22)))
				fail_msg("%s: \"%s\" read from its first %zu of %u bytes", rows[i].file, name, cut, head_found);
		}
	}
}

static void hello_of(struct hello *hello, int before, size_t each, const char *name)
{
	hello_begin(hello);
	for (int i = 0; i < before; i++)
		hello_extension(hello, (uint16_t)(0x1000 + i), each);
	hello_name(hello, name, strlen(name));
}

static void the_name_may_stand_behind_much_else(void **state)
{
	static struct hello hello;
	char longest[256];

	(void)state;
	hello_of(&hello, 0, 0, "a.example");
	assert_string_equal(read_hello(&hello), "a.example");
	assert_int_equal(head_found, hello.size);
	hello_of(&hello, 40, 4, "a.example");
	assert_string_equal(read_hello(&hello), "a.example");
	hello_of(&hello, NC_EXTENSIONS_MAX - 1, 4, "a.example");
	assert_string_equal(read_hello(&hello), "a.example");
	hello_of(&hello, NC_EXTENSIONS_MAX, 4, "a.example");
	assert_null(read_hello(&hello));
	hello_of(&hello, 2, 1216, "a.example"); /* key shares of ML-KEM-768 with X25519 */
	assert_string_equal(read_hello(&hello), "a.example");
	hello_of(&hello, 10, 1600, "a.example");
	assert_string_equal(read_hello(&hello), "a.example");
	hello_of(&hello, 11, 1600, "a.example"); /* longer than a record */
	assert_null(read_hello(&hello));
	memset(longest, 'a', 255);
	longest[255] = '\0';
	hello_of(&hello, 1, 9, longest);
	assert_string_equal(read_hello(&hello), longest);
	hello_begin(&hello);
	hello_name(&hello, longest, 255);
	hello_extension(&hello, 41, 200); /* a session's ticket, last */
	hello_end(&hello);
	hello_fill(&hello, 23, 300); /* and early data behind the record */
	assert_string_equal(read_at(hello.bytes, hello.size, 52, 443), longest);
	assert_int_equal(head_found, hello.size - 300);
}

static void every_length_must_be_right(void **state)
{
	static struct hello hello;
	size_t name_at;

	(void)state;
	for (int d = -3; d <= 3; d++) {
		for (int which = 0; which < 6; which++) {
			hello_of(&hello, 3, 7, "a.example");
			hello_end(&hello);
			name_at = hello.size - 9;
			switch (which) {
			case 0:
				hello_patch(&hello, 3, (size_t)((int)hello.size - 5 + d), 2);
				break;
			case 1:
				hello_patch(&hello, 6, (size_t)((int)hello.size - 9 + d), 3);
				break;
			case 2:
				hello_patch(&hello, hello.extensions, (size_t)((int)(hello.size - hello.extensions) - 2 + d), 2);
				break;
			case 3:
				hello_patch(&hello, name_at - 7, (size_t)(14 + d), 2);
				break;
			case 4:
				hello_patch(&hello, name_at - 5, (size_t)(12 + d), 2);
				break;
			default:
				hello_patch(&hello, name_at - 2, (size_t)(9 + d), 2);
			}
			hello_fill(&hello, 0, 8);
			if (!read_at(hello.bytes, hello.size, 52, 443) != (d != 0))
				fail_msg("length %d off by %d", which, d);
		}
	}
}

static void what_could_be_read_in_two_ways_is_not_read(void **state)
{
	static struct hello hello;
	static const struct {
		size_t at;
		uint8_t value;
		const char *why;
	} changes[] = {
		{0, 23, "application data"},
		{0, 0x80, "an SSL 2 hello"},
		{1, 2, "a version before 3"},
		{5, 2, "a ServerHello"},
		{6, 1, "16 MB"},
		{9, 2, "a version before 3"},
		{43, 33, "a session id that is too long"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		hello_of(&hello, 1, 1, "a.example");
		hello_end(&hello);
		hello.bytes[changes[i].at] = changes[i].value;
		if (read_at(hello.bytes, hello.size, 52, 443))
			fail_msg("read: %s", changes[i].why);
	}
	hello_of(&hello, 1, 1, "a.example");
	hello_name(&hello, "b.example", 9);
	assert_null(read_hello(&hello)); /* two */
	hello_of(&hello, 1, 1, "a.example");
	hello_end(&hello);
	hello.bytes[hello.size - 12] = 1;
	assert_null(read_at(hello.bytes, hello.size, 52, 443)); /* no host_name */
	hello_begin(&hello);
	hello_extension(&hello, 0, 0);
	assert_null(read_hello(&hello)); /* empty, as a server answers */
	hello_begin(&hello);
	hello_name(&hello, "", 0);
	assert_null(read_hello(&hello));
	hello_begin(&hello);
	assert_null(read_hello(&hello));
}

#define HEAD "GET / HTTP/1.1\r\n"

static void a_request_has_one_host(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{HEAD "Host: a.example\r\n\r\n", "a.example"},
		{HEAD "host:a.example\r\n\r\nbody\r\nHost: b.example\r\n\r\n", "a.example"},
		{HEAD "HOST:    A.Example.\r\nAccept: */*\r\n\r\n", "A.Example."},
		{HEAD "Accept: */*\r\na: b\r\nHost: a.example:80\r\n\r\n", "a.example"},
		{HEAD "Hosts: x\r\nHost-Name: x\r\nHos: y\r\nHost: a.example\r\nX: \xc3\xa4\r\n\r\n", "a.example"},
		{"POST /a?b=http://c/ HTTP/1.0\r\nHost: a.example\r\n\r\n", "a.example"},
		{"VERSION-CONTROL / HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example"},
		{"GET //b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example"},
		{HEAD "Host: a.example:8080\r\n\r\n", NULL},
		{HEAD "Host: a.example:\r\n\r\n", NULL},
		{HEAD "Host: \r\n\r\n", NULL},
		{HEAD "Host:\r\n\r\n", NULL},
		{HEAD "Accept: */*\r\n\r\n", NULL},
		{HEAD "Host: a.example\r\nHost: a.example\r\n\r\n", NULL},
		{HEAD "Host: a.example\r\nhOSt: b.example\r\n\r\n", NULL},
		{HEAD "Host : a.example\r\n\r\n", NULL},
		{HEAD " Host: a.example\r\n\r\n", NULL},
		{HEAD "Host: a.example\r\n b.example\r\n\r\n", NULL},
		{HEAD "X: y\r\n\tz\r\nHost: a.example\r\n\r\n", NULL},
		{HEAD "X: y\r\n \r\nHost: a.example\r\n\r\n", NULL},
		{HEAD "Host: a.example\n\n", NULL},
		{HEAD "X: y\nHost: b.example\r\nHost: a.example\r\n\r\n", NULL},
		{HEAD "X: y\rHost: b.example\r\nHost: a.example\r\n\r\n", NULL},
		{HEAD "Host: a.exa\x01mple\r\n\r\n", NULL},
		{HEAD "Host:\ta.example\r\n\r\n", NULL},
		{HEAD "Host: a.example\r\n", NULL},
		{"GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"GET\t/ HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"get / HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{" GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"CONNECT a.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NULL},
		{"GET /\r\nHost: a.example\r\n\r\n", NULL},
		{"GET / HTTP/0.9\r\nHost: a.example\r\n\r\n", NULL},
		{"GET / HTTP/1.1 \r\nHost: a.example\r\n\r\n", NULL},
		{"SSH-2.0-OpenSSH_9.2\r\n", NULL},
		{"x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = read_text(rows[i].text);

		if (!rows[i].name != !name || (name && strcmp(name, rows[i].name)))
			fail_msg("%s -> %s", rows[i].text, name ?: "unreadable");
	}
}

/* The step of 64 bytes must not matter: a Host, a line's end and a second Host at every distance from the beginning. */
static void a_head_may_be_long(void **state)
{
	static char text[24000];
	char pad[300];
	size_t length;

	(void)state;
	for (size_t n = 1; n < 200; n++) {
		memset(pad, 'x', n);
		pad[n] = '\0';
		snprintf(text, sizeof(text), HEAD "%s: 1\r\nHost: a.example\r\n%s: 2\r\n\r\nrest", pad, pad);
		assert_string_equal(read_text(text) ?: "", "a.example");
		assert_int_equal(head_found, strlen(text) - 4);
		snprintf(text, sizeof(text), HEAD "Host: a.example\r\n%s: 1\r\nHost: b.example\r\n\r\n", pad);
		assert_null(read_text(text));
		snprintf(text, sizeof(text), HEAD "Host: %s\r\n\r\n", pad);
		assert_string_equal(read_text(text) ?: "", pad);
	}
	for (size_t n = 250; n < 260; n++) {
		memset(pad, 'x', n);
		pad[n] = '\0';
		snprintf(text, sizeof(text), HEAD "Host: %s:80\r\n\r\n", pad);
		assert_int_equal(read_text(text) != NULL, n <= 255);
	}
	length = (size_t)snprintf(text, sizeof(text), HEAD "Host: a.example\r\nCookie: ");
	memset(text + length, 'c', 16000);
	strcpy(text + length + 16000, "\r\n\r\n");
	assert_string_equal(read_text(text) ?: "", "a.example");
	memset(text + length, 'c', 17000);
	strcpy(text + length + 17000, "\r\n\r\n");
	assert_null(read_text(text));
}

static const char *key_of(const char *name, __u16 *ret_length)
{
	static struct nc_name_key key;
	struct __sk_buff skb = {};

	memset(&key, 0, sizeof(key));
	host_packet = (const uint8_t *)name;
	host_packet_size = strlen(name);
	if (!nc_name_key_fill(&key, &skb, 0, (__u32)strlen(name)))
		return NULL;
	*ret_length = key.length;
	return (const char *)key.text;
}

static void a_name_is_folded_and_nothing_else(void **state)
{
	char every[256], folded[256];
	__u16 length = 0;

	(void)state;
	assert_string_equal(key_of("API.Example", &length), "api.example");
	assert_int_equal(length, 11);
	assert_string_equal(key_of("api.example.", &length), "api.example");
	assert_int_equal(length, 11);
	assert_string_equal(key_of("api.example..", &length), "api.example.");
	assert_null(key_of(".", &length));
	for (int i = 1; i < 256; i++)
		every[i - 1] = (char)i;
	every[255] = '\0';
	for (int i = 0; i < 256; i++)
		folded[i] = (char)(every[i] >= 'A' && every[i] <= 'Z' ? every[i] + 32 : every[i]);
	assert_memory_equal(key_of(every, &length), folded, 256);
	assert_int_equal(length, 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_clients_are_read),
		cmocka_unit_test(the_name_may_stand_behind_much_else),
		cmocka_unit_test(every_length_must_be_right),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_not_read),
		cmocka_unit_test(a_request_has_one_host),
		cmocka_unit_test(a_head_may_be_long),
		cmocka_unit_test(a_name_is_folded_and_nothing_else),
	};

	return cmocka_run_group_tests_name("server_name", tests, NULL, NULL);
}
