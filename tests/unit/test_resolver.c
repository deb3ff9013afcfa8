// SPDX-License-Identifier: GPL-2.0-only
/* test_resolver.c - the resolver between clients and a server of the test's own: what is answered, what is granted before, and what is asked outside */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include "dns_fixture.h"
#include "resolver.h"

#define A "93.184.216.34"
#define B "93.184.216.35"
#define SLACK 5 /* seconds that a grant outlives its answer */

static struct server server;
static struct wire made; /* the server's thread alone writes it */
static struct nc_resolver *resolver;
static uint16_t port;
static int grants, grant_status, reports[16];
static uint32_t granted_id, granted_lifetime;
static size_t granted_count;
static union nc_address granted[NC_DNS_ADDRESSES_MAX];
static bool answered_before_grant;
static int client = -1; /* UDP, connected to the resolver */

static int on_grant(void *context, uint32_t name_id, const union nc_address *addresses, size_t count, uint32_t lifetime)
{
	uint8_t byte;

	(void)context;
	answered_before_grant |= recv(client, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
	grants++;
	granted_id = name_id;
	granted_lifetime = lifetime;
	granted_count = count;
	memcpy(granted, addresses, count * sizeof(*addresses));
	return grant_status;
}

static void on_report(void *context, const struct nc_resolver_report *report)
{
	(void)context;
	reports[report->what]++;
}

/* What each name of the server's world is. */
static void world(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	bool a = asked->type == NC_DNS_A;
	char text[32];

	put_header(&made, asked->id, FLAGS_REPLY, 1, 0);
	put_question(&made, asked->name, asked->type);
	if (!strcmp(asked->name, "silent.example"))
		return;
	if (!strcmp(asked->name, "gone.example")) {
		made.bytes[3] = FLAGS_NO_NAME & 0xff;
	} else if (!strcmp(asked->name, "private.example") && a) {
		made.bytes[7] = 3;
		put_a(&made, asked->name, 60, "10.0.0.5");
		put_a(&made, asked->name, 60, "127.0.0.1");
		put_a(&made, asked->name, 60, "169.254.169.254");
	} else if (!strcmp(asked->name, "private.example")) {
		made.bytes[7] = 4;
		put_aaaa(&made, asked->name, 60, "::1");
		put_aaaa(&made, asked->name, 60, "::ffff:10.0.0.5");
		put_aaaa(&made, asked->name, 60, "64:ff9b::a00:5");
		put_aaaa(&made, asked->name, 60, "fd00:ec2::254");
	} else if (!strcmp(asked->name, "mixed.example") && a) {
		made.bytes[7] = 2;
		put_a(&made, asked->name, 60, "10.0.0.5");
		put_a(&made, asked->name, 60, A);
	} else if (!strcmp(asked->name, "many.example") && a) {
		if (from) {
			made.bytes[2] = FLAGS_CUT >> 8;
		} else {
			made.bytes[7] = 100;
			for (int i = 0; i < 100; i++) {
				snprintf(text, sizeof(text), "93.184.217.%d", i + 1);
				put_a(&made, asked->name, 60, text);
			}
		}
	} else if (a) {
		made.bytes[7] = 1;
		put_a(&made, asked->name, !strcmp(asked->name, "zero.example") ? 0 : !strcmp(asked->name, "week.example") ? 604800 : 60, A);
	}
	say(s, from, fd, &made);
}

static void say_servfail(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	put_header(&made, asked->id, FLAGS_SERVFAIL, 1, 0);
	put_question(&made, asked->name, asked->type);
	say(s, from, fd, &made);
}

/* ---- the fixture ------------------------------------------------------------------------------------------------------------------------------------- */

static const char *const texts[] = {"api.example",     "gone.example",	 "many.example", "mixed.example",
				    "private.example", "silent.example", "week.example", "zero.example"};
#define NAMES (sizeof(texts) / sizeof(texts[0]))
static struct nc_resolver_name names[NAMES];

static int by_name(const void *left, const void *right)
{
	return nc_dns_name_compare(&((const struct nc_resolver_name *)left)->name, &((const struct nc_resolver_name *)right)->name);
}

static int client_socket(int type)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
	int fd = socket(AF_INET, type, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void open_with(struct nc_resolver_options options)
{
	struct nc_error error = {0};

	for (size_t i = 0; i < NAMES; i++) {
		names[i].name = name_of(texts[i]);
		names[i].id = (uint32_t)i + 100;
	}
	qsort(names, NAMES, sizeof(names[0]), by_name);
	options.udp[1] = options.tcp[1] = options.tcp[0] = -1;
	for (int i = 0; i < 50 && options.tcp[0] < 0; i++) {
		port = 0;
		options.udp[0] = loopback_socket(SOCK_DGRAM, &port);
		options.tcp[0] = loopback_socket(SOCK_STREAM, &port);
		if (options.tcp[0] < 0)
			close(options.udp[0]);
	}
	assert_true(options.tcp[0] >= 0);
	fcntl(options.udp[0], F_SETFL, O_NONBLOCK);
	fcntl(options.tcp[0], F_SETFL, O_NONBLOCK);
	server_start(&server, world);
	options.upstreams = upstreams_of(&server);
	options.upstreams.attempt_ms = 300;
	options.upstreams.attempts = 2;
	options.names = names;
	options.name_count = NAMES;
	options.grant = on_grant;
	options.report = on_report;
	assert_int_equal(nc_resolver_open(&options, &resolver, &error), 0);
	client = client_socket(SOCK_DGRAM);
	grants = grant_status = 0;
	answered_before_grant = false;
	memset(reports, 0, sizeof(reports));
}

static void end(void)
{
	assert_false(answered_before_grant);
	close(client);
	nc_resolver_close(resolver);
	server_stop(&server);
}

static void run_until_readable(int fd, int ms)
{
	uint64_t until = now_ms() + (uint64_t)ms;

	for (;;) {
		struct pollfd polls[2] = {{.fd = nc_resolver_poll_fd(resolver), .events = POLLIN}, {.fd = fd, .events = POLLIN}};
		uint64_t now = now_ms();

		if (now >= until || poll(polls, 2, (int)(until - now)) <= 0 || polls[1].revents)
			return;
		nc_resolver_step(resolver);
	}
}

static struct wire question;

static void make_question(uint16_t id, const char *name, unsigned int type)
{
	put_header(&question, id, FLAGS_QUERY, 1, 0);
	put_question(&question, name, type);
}

static struct wire got;

static void receive_datagram(void)
{
	ssize_t n;

	run_until_readable(client, 8000);
	n = recv(client, got.bytes, sizeof(got.bytes), MSG_DONTWAIT);
	assert_true(n >= 12);
	got.size = (size_t)n;
}

static int rcode(void)
{
	return got.bytes[3] & 15;
}

static int records(void)
{
	return got.bytes[6] << 8 | got.bytes[7];
}

static int ask(const char *name, unsigned int type)
{
	static uint16_t id = 1;

	make_question(++id, name, type);
	assert_true(send(client, question.bytes, question.size, 0) > 0);
	receive_datagram();
	assert_int_equal(got.bytes[0] << 8 | got.bytes[1], id);
	assert_memory_equal(got.bytes + 12, question.bytes + 12, question.size - 12); /* the asker's own spelling */
	return rcode();
}

/* TTL of the first answer, whose owner is spelled in full or by a pointer */
static uint32_t ttl(void)
{
	const uint8_t *at = got.bytes + question.size;

	while (*at && *at < 0xc0)
		at += *at + 1;
	at += *at ? 2 : 1;
	return (uint32_t)at[4] << 24 | (uint32_t)at[5] << 16 | (uint32_t)at[6] << 8 | at[7];
}

/* ---- tests ------------------------------------------------------------------------------------------------------------------------------------------- */

static void unlisted_names_are_answered_without_a_query(void **state)
{
	static const char *const unlisted[] = {"evil.test", "example", "x.api.example", "api.example.corp.test", "xapi.example", "private-example"};

	(void)state;
	open_with((struct nc_resolver_options){0});
	for (size_t i = 0; i < sizeof(unlisted) / sizeof(unlisted[0]); i++) {
		assert_int_equal(ask(unlisted[i], NC_DNS_A), NC_DNS_NXDOMAIN);
		assert_int_equal(got.size, question.size);
	}
	assert_int_equal(reports[NC_RESOLVER_NOT_LISTED], sizeof(unlisted) / sizeof(unlisted[0]));
	assert_int_equal(grants, 0);
	assert_int_equal(ask("ApI.eXample", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(records(), 1);
	end();
	assert_int_equal(server.udp_seen, 1);
	assert_string_equal(server.asked[0].name, "api.example");
}

static void the_grant_comes_first_and_is_what_is_answered(void **state)
{
	(void)state;
	open_with((struct nc_resolver_options){0});
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(grants, 1);
	assert_int_equal(granted_id, 100);
	assert_int_equal(granted_lifetime, 60 + SLACK);
	assert_int_equal(granted_count, 1);
	assert_true(is_ipv4(&granted[0], A));
	assert_int_equal(reports[NC_RESOLVED], 1);
	/* again: from memory, no query, no second grant */
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(grants, 1);
	/* no AAAA there: at once, and no error (D19) */
	assert_int_equal(ask("api.example", NC_DNS_AAAA), NC_DNS_NOERROR);
	assert_int_equal(records(), 0);
	/* other types are not asked for outside */
	assert_int_equal(ask("api.example", 16), NC_DNS_NOERROR);
	assert_int_equal(ask("api.example", 65), NC_DNS_NOERROR);
	assert_int_equal(records(), 0);
	assert_int_equal(ask("gone.example", NC_DNS_A), NC_DNS_NXDOMAIN);
	assert_int_equal(reports[NC_RESOLVER_NO_NAME], 2);
	end();
	assert_int_equal(server.udp_seen, 3);
}

static void a_refused_grant_is_servfail(void **state)
{
	(void)state;
	open_with((struct nc_resolver_options){0});
	grant_status = -E2BIG;
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_SERVFAIL);
	assert_int_equal(records(), 0);
	assert_int_equal(reports[NC_RESOLVER_GRANT_REFUSED], 1);
	assert_int_equal(reports[NC_RESOLVED], 0);
	/* asked again while it is still refused: no address either */
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_SERVFAIL);
	assert_int_equal(records(), 0);
	grant_status = 0;
	usleep(1100000);
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(records(), 1);
	end();
}

static void lifetimes_have_a_floor_and_a_ceiling(void **state)
{
	(void)state;
	open_with((struct nc_resolver_options){0});
	assert_int_equal(ask("zero.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(granted_lifetime, 30 + SLACK);
	assert_int_equal(ttl(), 30);
	assert_int_equal(ask("week.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(granted_lifetime, 3600 + SLACK);
	assert_int_equal(ttl(), 3600);
	end();
}

static void what_is_not_public_is_left_out(void **state)
{
	(void)state;
	open_with((struct nc_resolver_options){0});
	assert_int_equal(ask("mixed.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(records(), 1);
	assert_memory_equal(got.bytes + got.size - 4, "\x5d\xb8\xd8\x22", 4);
	assert_int_equal(granted_count, 1);
	assert_true(is_ipv4(&granted[0], A));
	assert_int_equal(reports[NC_RESOLVER_NOT_PUBLIC], 1);
	assert_int_equal(ask("private.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(records(), 0);
	assert_int_equal(reports[NC_RESOLVER_NOT_PUBLIC], 4);
	assert_int_equal(ask("private.example", NC_DNS_AAAA), NC_DNS_NOERROR);
	assert_int_equal(records(), 0);
	assert_int_equal(reports[NC_RESOLVER_NOT_PUBLIC], 8);
	assert_int_equal(grants, 1);
	end();
}

static void after_a_failure_the_last_answer_serves_within_its_grace(void **state)
{
	(void)state;
	open_with((struct nc_resolver_options){.ttl_floor = 1, .ttl_ceiling = 1, .grace = 3});
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	server.act = say_servfail;
	usleep(1100000);
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_int_equal(records(), 1);
	assert_int_equal(reports[NC_RESOLVER_STALE], 1);
	assert_int_equal(grants, 2); /* prolonged with it */
	/* never known: nothing to give */
	assert_int_equal(ask("zero.example", NC_DNS_A), NC_DNS_SERVFAIL);
	assert_int_equal(reports[NC_RESOLVER_FAILED], 1);
	usleep(3200000); /* past expiry and grace */
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_SERVFAIL);
	assert_int_equal(records(), 0);
	/* and when the servers are back, so is the name */
	server.act = world;
	usleep(1100000);
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	end();
}

static void clients_wait_for_one_lookup_and_a_flood_does_not_starve(void **state)
{
	int others[200], answered = 0, refused = 0;

	(void)state;
	open_with((struct nc_resolver_options){.clients_max = 20});
	for (int i = 0; i < 200; i++) {
		others[i] = client_socket(SOCK_DGRAM);
		make_question((uint16_t)i, "silent.example", NC_DNS_A);
		assert_true(send(others[i], question.bytes, question.size, 0) > 0);
	}
	/* while they wait another name is served */
	run_until_readable(client, 100);
	assert_int_equal(ask("evil.test", NC_DNS_A), NC_DNS_NXDOMAIN);
	for (int i = 0; i < 200; i++) {
		run_until_readable(others[i], 5000);
		if (recv(others[i], got.bytes, sizeof(got.bytes), MSG_DONTWAIT) > 0) {
			answered++;
			refused += rcode() == NC_DNS_SERVFAIL;
		}
		close(others[i]);
	}
	assert_int_equal(answered, 200);
	assert_int_equal(refused, 200);
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	end();
	assert_in_range(server.udp_seen, 3, 4); /* one lookup of two attempts for them all */
}

static void receive_stream(int fd, struct wire *wire)
{
	uint8_t prefix[2];
	size_t done = 0;

	run_until_readable(fd, 8000);
	assert_int_equal(recv(fd, prefix, 2, MSG_WAITALL | MSG_DONTWAIT), 2);
	wire->size = (size_t)prefix[0] << 8 | prefix[1];
	while (done < wire->size) {
		ssize_t n;

		run_until_readable(fd, 8000);
		n = recv(fd, wire->bytes + done, wire->size - done, MSG_DONTWAIT);
		assert_true(n > 0);
		done += (size_t)n;
	}
}

static void send_prefixed(int fd)
{
	uint8_t bytes[700] = {(uint8_t)(question.size >> 8), (uint8_t)question.size};

	memcpy(bytes + 2, question.bytes, question.size);
	assert_int_equal(send(fd, bytes, question.size + 2, 0), question.size + 2);
}

static void what_a_datagram_does_not_hold_comes_over_tcp(void **state)
{
	int fd;

	(void)state;
	open_with((struct nc_resolver_options){0});
	assert_int_equal(ask("many.example", NC_DNS_A), NC_DNS_NOERROR);
	assert_true(got.size <= 512);
	assert_true(got.bytes[2] & 2); /* cut */
	assert_int_equal(granted_count, 100);
	fd = client_socket(SOCK_STREAM);
	make_question(77, "many.example", NC_DNS_A);
	send_prefixed(fd);
	receive_stream(fd, &got);
	assert_false(got.bytes[2] & 2);
	assert_int_equal(records(), 100);
	assert_int_equal(grants, 1);
	close(fd);
	end();
}

static void questions_sent_together_over_tcp_are_all_answered(void **state)
{
	static const char *const asked[] = {"api.example", "mixed.example", "evil.test", "api.example", "zero.example"};
	uint8_t bytes[1024];
	size_t used = 0;
	int fd;

	(void)state;
	open_with((struct nc_resolver_options){0});
	fd = client_socket(SOCK_STREAM);
	for (size_t i = 0; i < 5; i++) {
		make_question((uint16_t)i, asked[i], NC_DNS_A);
		bytes[used++] = (uint8_t)(question.size >> 8);
		bytes[used++] = (uint8_t)question.size;
		memcpy(bytes + used, question.bytes, question.size);
		used += question.size;
	}
	assert_int_equal(send(fd, bytes, used, 0), used);
	for (int i = 0; i < 5; i++) {
		receive_stream(fd, &got);
		assert_int_equal(got.bytes[1], i);
		assert_int_equal(rcode(), i == 2 ? NC_DNS_NXDOMAIN : NC_DNS_NOERROR);
	}
	close(fd);
	end();
}

static void a_client_that_is_gone_or_talks_rubbish_harms_nobody(void **state)
{
	static const struct linger reset = {.l_onoff = 1};
	uint64_t begin;
	int fd, steps = 0;

	(void)state;
	open_with((struct nc_resolver_options){0});
	fd = client_socket(SOCK_STREAM);
	make_question(1, "silent.example", NC_DNS_A);
	send_prefixed(fd);
	run_until_readable(fd, 100);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd); /* reset while its question is being looked up: noticed once, not for as long as the lookup takes */
	begin = now_ms();
	while (now_ms() < begin + 300) {
		struct pollfd one = {.fd = nc_resolver_poll_fd(resolver), .events = POLLIN};

		if (poll(&one, 1, 50) > 0) {
			nc_resolver_step(resolver);
			steps++;
		}
	}
	assert_true(steps < 20);
	fd = client_socket(SOCK_STREAM);
	assert_int_equal(send(fd, "\xff\xff", 2, 0), 2); /* longer than any question */
	run_until_readable(fd, 3000);
	assert_int_equal(recv(fd, got.bytes, 1, MSG_DONTWAIT), 0);
	close(fd);
	send(client, "x", 1, 0);
	assert_int_equal(ask("api.example", NC_DNS_A), NC_DNS_NOERROR);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unlisted_names_are_answered_without_a_query),
		cmocka_unit_test(the_grant_comes_first_and_is_what_is_answered),
		cmocka_unit_test(a_refused_grant_is_servfail),
		cmocka_unit_test(lifetimes_have_a_floor_and_a_ceiling),
		cmocka_unit_test(what_is_not_public_is_left_out),
		cmocka_unit_test(after_a_failure_the_last_answer_serves_within_its_grace),
		cmocka_unit_test(clients_wait_for_one_lookup_and_a_flood_does_not_starve),
		cmocka_unit_test(what_a_datagram_does_not_hold_comes_over_tcp),
		cmocka_unit_test(questions_sent_together_over_tcp_are_all_answered),
		cmocka_unit_test(a_client_that_is_gone_or_talks_rubbish_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
