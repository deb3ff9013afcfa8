// SPDX-License-Identifier: GPL-2.0-only
/* test_dns_upstream.c - a lookup at a server that lies, stalls, cuts and garbles: what is used of it, and when it ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "dns_fixture.h"

static struct server server;
static struct nc_dns_answer answer;
static struct wire made; /* the server's thread alone writes it */

#define TRUE_ADDRESS "93.184.216.34"
#define LIE_ADDRESS "93.184.216.66"

/* Asks and waits; returns how long it took, in milliseconds. */
static unsigned int look_up(const char *text, const struct nc_upstreams *upstreams)
{
	struct nc_dns_name name = name_of(text);
	struct nc_lookup *lookup = NULL;
	uint64_t begin = now_ms();
	bool done = false;

	assert_int_equal(nc_lookup_start(upstreams, &name, NC_DNS_A, begin, &lookup), 0);
	while (!done) {
		struct pollfd one = {.fd = nc_lookup_fd(lookup), .events = nc_lookup_wants_write(lookup) ? POLLOUT : POLLIN};
		uint64_t now = now_ms();
		int left = nc_lookup_due(lookup) > now ? (int)(nc_lookup_due(lookup) - now) : 0;

		assert_true(now < begin + 20000);
		done = poll(&one, 1, left) > 0 ? nc_lookup_step(lookup, now_ms()) : nc_lookup_timeout(lookup, now_ms());
	}
	answer = *nc_lookup_answer(lookup);
	nc_lookup_stop(lookup);
	return (unsigned int)(now_ms() - begin);
}

static void begin_reply(const struct asked *asked, unsigned int flags, unsigned int answers)
{
	put_header(&made, asked->id, flags, 1, answers);
	put_question(&made, asked->name, asked->type);
}

static void say_truth(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	begin_reply(asked, FLAGS_REPLY, 1);
	put_a(&made, asked->name, 60, TRUE_ADDRESS);
	say(s, from, fd, &made);
}

static void assert_truth(void)
{
	assert_int_equal(answer.outcome, NC_DNS_ANSWERED);
	assert_int_equal(answer.count, 1);
	assert_true(is_ipv4(&answer.addresses[0], TRUE_ADDRESS));
}

/* ---- lies, each before the truth: ignored, and the wait for this very query goes on ------------------------------------------------------------------ */

static void lie_id(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	for (unsigned int i = 1; i < 40; i++) {
		struct asked other = *asked;

		other.id = (uint16_t)(asked->id + i);
		begin_reply(&other, FLAGS_REPLY, 1);
		put_a(&made, asked->name, 60, LIE_ADDRESS);
		say(s, from, fd, &made);
	}
	say_truth(s, asked, from, fd);
}

static void lie_name(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	put_header(&made, asked->id, FLAGS_REPLY, 1, 1);
	put_question(&made, "evil.test", asked->type);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, fd, &made);
	say_truth(s, asked, from, fd);
}

static void lie_type(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	put_header(&made, asked->id, FLAGS_REPLY, 1, 1);
	put_question(&made, asked->name, 16);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, fd, &made);
	say_truth(s, asked, from, fd);
}

static void lie_two_questions(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	put_header(&made, asked->id, FLAGS_REPLY, 2, 1);
	put_question(&made, asked->name, asked->type);
	put_question(&made, asked->name, asked->type);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, fd, &made);
	say_truth(s, asked, from, fd);
}

static void lie_no_question(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	put_header(&made, asked->id, FLAGS_REPLY, 0, 1);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, fd, &made);
	say_truth(s, asked, from, fd);
}

static void lie_query(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	begin_reply(asked, FLAGS_QUERY, 1);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, fd, &made);
	say_truth(s, asked, from, fd);
}

static void lie_sender(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	begin_reply(asked, FLAGS_REPLY, 1);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, s->stranger, &made);
	usleep(50000);
	say_truth(s, asked, from, fd);
}

static void lie_garbled(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	begin_reply(asked, FLAGS_REPLY, 1);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	made.size -= 2;
	say(s, from, fd, &made);
	memset(made.bytes, 0xff, 300);
	made.size = 300;
	say(s, from, fd, &made);
	made.size = 0;
	say(s, from, fd, &made);
	say_truth(s, asked, from, fd);
}

static void lie_aside(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	begin_reply(asked, FLAGS_REPLY, 2);
	made.bytes[11] = 1;
	put_a(&made, "evil.test", 60, LIE_ADDRESS);
	put_a(&made, asked->name, 60, TRUE_ADDRESS);
	put_a(&made, asked->name, 60, LIE_ADDRESS);
	say(s, from, fd, &made);
}

static void lies_are_ignored_and_the_wait_goes_on(void **state)
{
	static void (*const lies[])(struct server *, const struct asked *, const struct sockaddr_in *, int) = {
		say_truth, lie_id, lie_name, lie_type, lie_two_questions, lie_no_question, lie_query, lie_sender, lie_garbled, lie_aside};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct nc_upstreams upstreams;

		server_start(&server, lies[i]);
		upstreams = upstreams_of(&server);
		look_up("api.example", &upstreams);
		assert_truth();
		server_stop(&server);
		assert_int_equal(server.udp_seen, 1); /* the same query all along */
	}
}

/* ---- truncation -------------------------------------------------------------------------------------------------------------------------------------- */

static void cut_then_whole(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	char text[32];

	if (from) {
		begin_reply(asked, FLAGS_CUT, 1);
		put_a(&made, asked->name, 60, LIE_ADDRESS);
		return say(s, from, fd, &made);
	}
	begin_reply(asked, FLAGS_REPLY, 200);
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "93.184.217.%d", i + 1);
		put_a(&made, asked->name, 60, text);
	}
	say(s, from, fd, &made);
}

static void a_cut_reply_is_asked_for_over_tcp(void **state)
{
	struct nc_upstreams upstreams;

	(void)state;
	server_start(&server, cut_then_whole);
	upstreams = upstreams_of(&server);
	look_up("many.example", &upstreams);
	assert_int_equal(answer.outcome, NC_DNS_ANSWERED);
	assert_int_equal(answer.count, 200);
	for (size_t i = 0; i < answer.count; i++)
		assert_false(is_ipv4(&answer.addresses[i], LIE_ADDRESS));
	server_stop(&server);
	assert_int_equal(server.udp_seen, 1);
	assert_int_equal(server.tcp_seen, 1);
}

static void cut_then_bad(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	if (from && s->udp_seen > 0)
		return say_truth(s, asked, from, fd);
	begin_reply(asked, from ? FLAGS_CUT : FLAGS_REPLY, 1);
	if (!from)
		made.size = 20; /* garbled */
	say(s, from, fd, &made);
}

static void cut_then_cut(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	if (from && s->udp_seen > 0)
		return say_truth(s, asked, from, fd);
	begin_reply(asked, FLAGS_CUT, 0);
	say(s, from, fd, &made);
}

static void cut_then_half(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	static const uint8_t half[] = {0xff, 0xff, 1, 2, 3}; /* says 65535 bytes, holds three, ends */

	if (from && s->udp_seen > 0)
		return say_truth(s, asked, from, fd);
	if (!from) {
		send(fd, half, sizeof(half), MSG_NOSIGNAL);
		return;
	}
	begin_reply(asked, FLAGS_CUT, 0);
	say(s, from, fd, &made);
}

static void what_fails_over_tcp_is_asked_again(void **state)
{
	static void (*const acts[])(struct server *, const struct asked *, const struct sockaddr_in *, int) = {cut_then_bad, cut_then_cut,
													       cut_then_half};

	(void)state;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		struct nc_upstreams upstreams;

		server_start(&server, acts[i]);
		upstreams = upstreams_of(&server);
		look_up("api.example", &upstreams);
		assert_truth();
		server_stop(&server);
		assert_int_equal(server.udp_seen, 2);
		assert_int_equal(server.tcp_seen, 1);
	}
}

/* ---- chains ------------------------------------------------------------------------------------------------------------------------------------------ */

/* One step for each query: nK.example is an alias of nK+1.example; n20 has the address. */
static void one_step(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	int number = atoi(asked->name + 1);
	char next[32];

	begin_reply(asked, FLAGS_REPLY, 1);
	snprintf(next, sizeof(next), "n%d.example", number + 1);
	if (number == 20)
		put_a(&made, asked->name, 500, TRUE_ADDRESS);
	else
		put_cname(&made, asked->name, 100 + (uint32_t)number, next);
	say(s, from, fd, &made);
}

static void a_chain_of_twenty_is_asked_for_step_by_step(void **state)
{
	struct nc_upstreams upstreams;

	(void)state;
	server_start(&server, one_step);
	upstreams = upstreams_of(&server);
	look_up("n0.example", &upstreams);
	assert_truth();
	assert_int_equal(answer.ttl, 100);
	/* one that never ends comes to its bound */
	look_up("n21.example", &upstreams);
	assert_int_equal(answer.outcome, NC_DNS_FAILED);
	server_stop(&server);
	assert_in_range(server.udp_seen, 21 + NC_DNS_ALIASES_MAX, 21 + NC_DNS_ALIASES_MAX + 1);
}

static void two_ways(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	bool one = !strcmp(asked->name, "one.example");

	begin_reply(asked, FLAGS_REPLY, 1);
	put_cname(&made, asked->name, 60, one ? "two.example" : "one.example");
	say(s, from, fd, &made);
}

static void no_target(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	bool first = !strcmp(asked->name, "one.example");

	begin_reply(asked, first ? FLAGS_REPLY : FLAGS_NO_NAME, first);
	if (first)
		put_cname(&made, asked->name, 60, "gone.example");
	say(s, from, fd, &made);
}

static void loops_and_missing_targets_end(void **state)
{
	struct nc_upstreams upstreams;

	(void)state;
	server_start(&server, two_ways);
	upstreams = upstreams_of(&server);
	look_up("one.example", &upstreams);
	assert_int_equal(answer.outcome, NC_DNS_FAILED);
	server.act = no_target;
	look_up("one.example", &upstreams);
	assert_int_equal(answer.outcome, NC_DNS_NO_NAME);
	assert_int_equal(answer.count, 0);
	server_stop(&server);
}

/* ---- silence and failure ------------------------------------------------------------------------------------------------------------------------------- */

static void say_nothing(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	(void)s, (void)asked, (void)from, (void)fd;
}

static void say_servfail(struct server *s, const struct asked *asked, const struct sockaddr_in *from, int fd)
{
	begin_reply(asked, FLAGS_SERVFAIL, 0);
	say(s, from, fd, &made);
}

static void silence_and_failure_end_in_bounded_time(void **state)
{
	struct nc_upstreams upstreams;
	unsigned int took;

	(void)state;
	server_start(&server, say_nothing);
	upstreams = upstreams_of(&server);
	upstreams.attempt_ms = 200;
	upstreams.attempts = 3;
	took = look_up("api.example", &upstreams);
	assert_int_equal(answer.outcome, NC_DNS_FAILED);
	assert_in_range(took, 600, 3900);
	upstreams.attempts = 1000;
	upstreams.deadline_ms = 500;
	took = look_up("api.example", &upstreams);
	assert_int_equal(answer.outcome, NC_DNS_FAILED);
	assert_in_range(took, 500, 2500);
	upstreams = upstreams_of(&server);
	server.act = say_servfail;
	assert_true(look_up("api.example", &upstreams) < 4000);
	assert_int_equal(answer.outcome, NC_DNS_FAILED);
	server_stop(&server);
	/* nobody there at all: the refusal ends the attempt at once */
	assert_true(look_up("api.example", &upstreams) < 900);
	assert_int_equal(answer.outcome, NC_DNS_FAILED);
}

static void the_next_server_is_asked_when_one_fails(void **state)
{
	static struct server second;
	struct nc_upstreams upstreams;

	(void)state;
	server_start(&server, say_servfail);
	server_start(&second, say_truth);
	upstreams = upstreams_of(&server);
	upstreams.servers[1] = upstreams_of(&second).servers[0];
	upstreams.count = 2;
	look_up("api.example", &upstreams);
	assert_truth();
	server_stop(&server);
	server_stop(&second);
	assert_int_equal(server.udp_seen, 1);
	assert_int_equal(second.udp_seen, 1);
}

static void each_query_has_an_id_and_a_port_of_its_own(void **state)
{
	struct nc_upstreams upstreams;
	unsigned int same_id = 0, same_port = 0, bits[16] = {0};

	(void)state;
	server_start(&server, say_truth);
	upstreams = upstreams_of(&server);
	for (int i = 0; i < 200; i++) {
		look_up("api.example", &upstreams);
		assert_truth();
	}
	server_stop(&server);
	assert_int_equal(server.udp_seen, 200);
	for (int i = 0; i < 200; i++) {
		same_id += i && server.asked[i].id == server.asked[i - 1].id;
		same_port += i && server.asked[i].port == server.asked[i - 1].port;
		for (int bit = 0; bit < 16; bit++)
			bits[bit] += server.asked[i].id >> bit & 1;
	}
	assert_true(same_id <= 2 && same_port <= 10);
	for (int bit = 0; bit < 16; bit++) /* of 200 coins: far outside with a chance below 1e-9 */
		assert_in_range(bits[bit], 55, 145);
}

static void servers_are_read_from_text(void **state)
{
	static const char *const bad[] = {"", "host", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:", "[::1", "[::1]x", "[::1]:", "192.0.2.1:53x"};
	struct nc_upstream upstream;
	struct nc_upstreams upstreams;
	char path[] = "/tmp/nctest-resolv-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(nc_upstream_from_text(bad[i], &upstream), -EINVAL);
	assert_int_equal(nc_upstream_from_text("[2001:db8::1]:5353", &upstream), 0);
	assert_int_equal(ntohs(((struct sockaddr_in6 *)&upstream.address)->sin6_port), 5353);
	assert_int_equal(nc_upstream_from_text("192.0.2.1", &upstream), 0);
	assert_int_equal(ntohs(((struct sockaddr_in *)&upstream.address)->sin_port), 53);
	assert_int_equal(nc_upstreams_from_resolv_conf("/nonexistent/resolv.conf", &upstreams), -ENOENT);
	assert_int_equal(nc_upstreams_from_resolv_conf(path, &upstreams), -ENOENT);
	assert_true(dprintf(fd, "# nameserver 192.0.2.9\nsearch corp.test\nnameserver 192.0.2.1\n nameserver\nnameserver 2001:db8::1\n") > 0);
	close(fd);
	assert_int_equal(nc_upstreams_from_resolv_conf(path, &upstreams), 0);
	assert_int_equal(upstreams.count, 2);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lies_are_ignored_and_the_wait_goes_on),
		cmocka_unit_test(a_cut_reply_is_asked_for_over_tcp),
		cmocka_unit_test(what_fails_over_tcp_is_asked_again),
		cmocka_unit_test(a_chain_of_twenty_is_asked_for_step_by_step),
		cmocka_unit_test(loops_and_missing_targets_end),
		cmocka_unit_test(silence_and_failure_end_in_bounded_time),
		cmocka_unit_test(the_next_server_is_asked_when_one_fails),
		cmocka_unit_test(each_query_has_an_id_and_a_port_of_its_own),
		cmocka_unit_test(servers_are_read_from_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
