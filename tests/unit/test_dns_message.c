// SPDX-License-Identifier: GPL-2.0-only
/* test_dns_message.c - which messages count as questions and as replies, what is read of them, and what is answered; a kept corpus of malformed ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include "dns_any.h"
#include "dns_fixture.h"

static struct wire wire;
static struct nc_dns_answer answer;

static int read_question(struct nc_dns_question *question, enum nc_dns_rcode *rcode)
{
	*rcode = NC_DNS_NOERROR;
	return nc_dns_read_question(wire.bytes, wire.size, question, rcode);
}

static int read_reply(const char *name, enum nc_dns_type type)
{
	struct nc_dns_name asked = name_of(name);

	memset(&answer, 0xee, sizeof(answer));
	return nc_dns_read_reply(wire.bytes, wire.size, 0x1234, &asked, type, &answer);
}

static void reply(unsigned int flags, const char *name, unsigned int type, unsigned int answers)
{
	put_header(&wire, 0x1234, flags, 1, answers);
	put_question(&wire, name, type);
}

/* ---- names --------------------------------------------------------------------------------------------------------------------------------------- */

static void names_are_compared_whole_and_without_case(void **state)
{
	struct nc_dns_name name = name_of("API.Example.com"), same = name_of("api.example.COM.");
	static const char *const others[] = {"example.com", "xapi.example.com", "api.example.com.evil.test", "api.example.co", "a.pi.example.com"};
	char text[1100];

	(void)state;
	assert_int_equal(nc_dns_name_compare(&name, &same), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct nc_dns_name other = name_of(others[i]);

		assert_int_not_equal(nc_dns_name_compare(&name, &other), 0);
		assert_true((nc_dns_name_compare(&name, &other) < 0) == (nc_dns_name_compare(&other, &name) > 0));
	}
	nc_dns_name_to_text(&name, text, sizeof(text));
	assert_string_equal(text, "api.example.com");
	/* a dot inside a label is another name than a dot between labels */
	put_header(&wire, 1, FLAGS_QUERY, 1, 0);
	put8(&wire, 11);
	memcpy(wire.bytes + wire.size, "api.example", 11);
	wire.size += 11;
	put_name(&wire, "com");
	put16(&wire, 1);
	put16(&wire, 1);
	{
		struct nc_dns_question question;
		enum nc_dns_rcode rcode;

		assert_int_equal(read_question(&question, &rcode), 0);
		assert_int_not_equal(nc_dns_name_compare(&question.name, &name), 0);
	}
}

static void what_is_no_name_is_refused(void **state)
{
	static char label[80], whole[400];
	struct nc_dns_name name;

	(void)state;
	memset(label, 'a', 64);
	assert_int_equal(nc_dns_name_from_text(label, &name), -EINVAL);
	label[63] = '\0';
	assert_int_equal(nc_dns_name_from_text(label, &name), 0);
	for (int i = 0; i < 4; i++) {
		strcat(whole, label);
		strcat(whole, ".");
	}
	assert_int_equal(nc_dns_name_from_text(whole, &name), -EINVAL); /* 257 bytes */
	whole[4 * 64 - 3] = '\0';
	assert_int_equal(nc_dns_name_from_text(whole, &name), 0); /* 255 */
	assert_int_equal(name.length, 255);
	assert_int_equal(nc_dns_name_from_text("a..b", &name), -EINVAL);
}

/* ---- questions ----------------------------------------------------------------------------------------------------------------------------------- */

static void a_question_is_read_in_the_askers_spelling(void **state)
{
	struct nc_dns_question question;
	enum nc_dns_rcode rcode;
	uint8_t message[600];
	int size;

	(void)state;
	put_header(&wire, 0xbeef, FLAGS_QUERY, 1, 0);
	put_question(&wire, "ApI.exAMple", NC_DNS_A);
	assert_int_equal(read_question(&question, &rcode), 0);
	assert_int_equal(question.id, 0xbeef);
	assert_int_equal(question.type, NC_DNS_A);
	assert_int_equal(question.udp_size, 512);
	assert_false(question.edns);
	assert_memory_equal(question.asked, "\3ApI\7exAMple", 13);
	assert_memory_equal(question.name.wire, "\3api\7example", 13);
	answer = (struct nc_dns_answer){.outcome = NC_DNS_ANSWERED, .count = 1};
	size = nc_dns_write_answer(&question, NC_DNS_NOERROR, &answer, 30, 512, message, sizeof(message));
	assert_true(size > 12);
	assert_memory_equal(message + 12, "\3ApI\7exAMple", 13);
	assert_int_equal(message[0] << 8 | message[1], 0xbeef);
}

static void what_is_no_question_of_one_name_is_answered_or_dropped(void **state)
{
	struct nc_dns_question question;
	enum nc_dns_rcode rcode;

	(void)state;
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 0); /* a reply: no two resolvers answer each other for ever */
	assert_int_equal(read_question(&question, &rcode), -EBADMSG);
	wire.size = 11;
	assert_int_equal(read_question(&question, &rcode), -EBADMSG);
	put_header(&wire, 7, FLAGS_QUERY, 0, 0);
	assert_int_equal(read_question(&question, &rcode), -EPROTO);
	assert_int_equal(rcode, NC_DNS_FORMERR);
	assert_int_equal(question.id, 7);
	put_header(&wire, 7, FLAGS_QUERY, 2, 0);
	put_question(&wire, "api.example", NC_DNS_A);
	put_question(&wire, "evil.test", NC_DNS_A);
	assert_int_equal(read_question(&question, &rcode), -EPROTO);
	assert_int_equal(rcode, NC_DNS_FORMERR);
	put_header(&wire, 7, 0x2800, 1, 0); /* UPDATE */
	put_question(&wire, "api.example", NC_DNS_A);
	assert_int_equal(read_question(&question, &rcode), -EPROTO);
	assert_int_equal(rcode, NC_DNS_NOTIMP);
	put_header(&wire, 7, FLAGS_QUERY, 1, 0);
	put_name(&wire, "api.example");
	put16(&wire, NC_DNS_A);
	put16(&wire, 3); /* class CHAOS */
	assert_int_equal(read_question(&question, &rcode), -EPROTO);
	assert_int_equal(rcode, NC_DNS_FORMERR);
}

static void the_size_that_edns_offers_is_bounded(void **state)
{
	static const struct {
		unsigned int offered, taken;
	} rows[] = {{100, 512}, {512, 512}, {1000, 1000}, {1232, 1232}, {65535, 1232}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nc_dns_question question;
		enum nc_dns_rcode rcode;

		put_header(&wire, 7, FLAGS_QUERY, 1, 0);
		wire.bytes[11] = 1;
		put_question(&wire, "api.example", NC_DNS_A);
		put8(&wire, 0);
		put16(&wire, 41);
		put16(&wire, rows[i].offered);
		put32(&wire, 0);
		put16(&wire, 0);
		assert_int_equal(read_question(&question, &rcode), 0);
		assert_true(question.edns);
		assert_int_equal(question.udp_size, rows[i].taken);
	}
}

/* ---- replies ------------------------------------------------------------------------------------------------------------------------------------- */

static void a_reply_counts_only_for_its_question(void **state)
{
	(void)state;
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 1);
	put_a(&wire, "api.example", 60, "93.184.216.34");
	assert_int_equal(read_reply("API.EXAMPLE", NC_DNS_A), 0);
	assert_int_equal(answer.outcome, NC_DNS_ANSWERED);
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.ttl, 60);
	assert_true(is_ipv4(&answer.addresses[0], "93.184.216.34"));
	assert_int_equal(read_reply("api.example", NC_DNS_AAAA), -EBADMSG);
	assert_int_equal(read_reply("other.example", NC_DNS_A), -EBADMSG);
	wire.bytes[1] ^= 1;
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
	wire.bytes[1] ^= 1;
	wire.bytes[2] &= 0x7f;
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
	/* two questions, none, another class */
	put_header(&wire, 0x1234, FLAGS_REPLY, 2, 1);
	put_question(&wire, "api.example", NC_DNS_A);
	put_question(&wire, "evil.test", NC_DNS_A);
	put_a(&wire, "api.example", 60, "93.184.216.34");
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
	put_header(&wire, 0x1234, FLAGS_REPLY, 0, 1);
	put_a(&wire, "api.example", 60, "93.184.216.34");
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 0);
	wire.bytes[wire.size - 1] = 3;
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
}

static void only_what_the_chain_reaches_is_used(void **state)
{
	(void)state;
	put_header(&wire, 0x1234, FLAGS_REPLY, 1, 5);
	wire.bytes[11] = 1;
	put_question(&wire, "api.example", NC_DNS_A);
	put_a(&wire, "evil.test", 1, "93.184.216.66");
	put_a(&wire, "two.example", 300, "93.184.216.34");
	put_cname(&wire, "one.example", 40, "two.example");
	put_cname(&wire, "api.example", 50, "one.example");
	put_aaaa(&wire, "two.example", 2, "2606:2800:220:1::1");
	put_a(&wire, "api.example", 3, "93.184.216.67"); /* in the additional section */
	assert_int_equal(read_reply("api.example", NC_DNS_A), 0);
	assert_int_equal(answer.outcome, NC_DNS_ANSWERED);
	assert_int_equal(answer.count, 1);
	assert_true(is_ipv4(&answer.addresses[0], "93.184.216.34"));
	assert_int_equal(answer.aliases, 2);
	assert_int_equal(answer.ttl, 40);
}

static void chain(int steps, bool loops)
{
	char from[32], to[32];

	reply(FLAGS_REPLY, "n0.example", NC_DNS_A, (unsigned int)steps + 1);
	for (int i = 0; i < steps; i++) {
		snprintf(from, sizeof(from), "n%d.example", i);
		snprintf(to, sizeof(to), "n%d.example", loops && i == steps - 1 ? 0 : i + 1);
		put_cname(&wire, from, 300, to);
	}
	snprintf(to, sizeof(to), "n%d.example", steps);
	put_a(&wire, loops ? "elsewhere.example" : to, 300, "93.184.216.34");
}

static void chains_are_followed_and_bounded(void **state)
{
	(void)state;
	for (int steps = 1; steps <= NC_DNS_ALIASES_MAX + 4; steps++) {
		chain(steps, false);
		assert_int_equal(read_reply("n0.example", NC_DNS_A), 0);
		assert_int_equal(answer.outcome, steps <= NC_DNS_ALIASES_MAX ? NC_DNS_ANSWERED : NC_DNS_FAILED);
		assert_int_equal(answer.count, steps <= NC_DNS_ALIASES_MAX);
		chain(steps, true);
		assert_int_equal(read_reply("n0.example", NC_DNS_A), 0);
		assert_int_equal(answer.outcome, NC_DNS_FAILED);
		assert_int_equal(answer.count, 0);
	}
}

static void a_chain_without_its_end_is_to_be_asked_for(void **state)
{
	(void)state;
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 1);
	put_cname(&wire, "api.example", 9, "edge.example.net");
	assert_int_equal(read_reply("api.example", NC_DNS_A), 0);
	assert_int_equal(answer.outcome, NC_DNS_CHAIN_OPEN);
	{
		struct nc_dns_name target = name_of("edge.example.net");

		assert_int_equal(nc_dns_name_compare(&answer.alias, &target), 0);
	}
	/* asked for itself, the alias is the answer */
	reply(FLAGS_REPLY, "api.example", NC_DNS_CNAME, 1);
	put_cname(&wire, "api.example", 9, "edge.example.net");
	assert_int_equal(read_reply("api.example", NC_DNS_CNAME), 0);
	assert_int_equal(answer.outcome, NC_DNS_ANSWERED);
}

static void every_other_outcome_is_told_apart(void **state)
{
	static const struct {
		unsigned int flags;
		enum nc_dns_outcome outcome;
	} rows[] = {{FLAGS_REPLY, NC_DNS_NO_DATA}, {FLAGS_NO_NAME, NC_DNS_NO_NAME}, {FLAGS_SERVFAIL, NC_DNS_FAILED},
		    {0x8185, NC_DNS_FAILED},	   {0x8181, NC_DNS_FAILED},	    {FLAGS_CUT, NC_DNS_TRUNCATED}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		reply(rows[i].flags, "api.example", NC_DNS_A, 0);
		assert_int_equal(read_reply("api.example", NC_DNS_A), 0);
		assert_int_equal(answer.outcome, rows[i].outcome);
		assert_int_equal(answer.count, 0);
	}
	/* cut in the middle of a record: asked again over TCP, nothing of it used */
	reply(FLAGS_CUT, "api.example", NC_DNS_A, 1);
	put_a(&wire, "api.example", 60, "93.184.216.34");
	wire.size -= 3;
	assert_int_equal(read_reply("api.example", NC_DNS_A), 0);
	assert_int_equal(answer.outcome, NC_DNS_TRUNCATED);
	wire.bytes[2] &= (uint8_t)~2; /* the same without the mark is garbled */
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
}

static void more_addresses_than_fit_are_left_out_and_said_to_be(void **state)
{
	char text[32];

	(void)state;
	for (int more = 0; more < 2; more++) {
		unsigned int count = NC_DNS_ADDRESSES_MAX + (unsigned int)more;

		reply(FLAGS_REPLY, "api.example", NC_DNS_A, count);
		for (unsigned int i = 0; i < count; i++) {
			snprintf(text, sizeof(text), "93.184.%u.%u", i / 200, i % 200 + 1);
			put_a(&wire, "api.example", 60, text);
		}
		assert_int_equal(read_reply("api.example", NC_DNS_A), 0);
		assert_int_equal(answer.count, NC_DNS_ADDRESSES_MAX);
		assert_int_equal(answer.cut, more);
	}
}

/* The library takes the record's first bytes and no more than it says it has. */
static void an_address_of_a_wrong_length_is_read_in_bounds(void **state)
{
	(void)state;
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 1);
	put_record(&wire, "api.example", NC_DNS_A, 60, 5);
	put32(&wire, 0x5db8d822);
	put8(&wire, 0);
	if (read_reply("api.example", NC_DNS_A) == 0 && answer.count) {
		assert_int_equal(answer.count, 1);
		assert_true(is_ipv4(&answer.addresses[0], "93.184.216.34"));
	}
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 1);
	put_record(&wire, "api.example", NC_DNS_A, 60, 3);
	put16(&wire, 0x5db8);
	put8(&wire, 0xd8);
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
}

static void the_question_of_a_reply_stands_plainly(void **state)
{
	(void)state;
	put_header(&wire, 0x1234, FLAGS_REPLY, 1, 0);
	put16(&wire, 0xc012); /* forward, to the name behind the question */
	put16(&wire, NC_DNS_A);
	put16(&wire, 1);
	put_name(&wire, "api.example");
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
}

/* D14: a record whose name lies behind it. The same with the pointer the right way round is read. */
static void a_record_that_points_forward_is_refused(void **state)
{
	(void)state;
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 2);
	put16(&wire, 0xc00c);
	put_fixed(&wire, NC_DNS_A, 60, 4);
	put32(&wire, 0x5db8d822);
	put_record(&wire, "other.example", NC_DNS_A, 60, 4);
	put32(&wire, 0x5db8d823);
	assert_int_equal(read_reply("api.example", NC_DNS_A), 0);
	assert_int_equal(answer.count, 1);

	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 2);
	put16(&wire, 0xc000 | (unsigned int)(wire.size + 2 + 10 + 4)); /* the second record's name, which spells api.example too */
	put_fixed(&wire, NC_DNS_A, 60, 4);
	put32(&wire, 0x5db8d822);
	put_record(&wire, "api.example", NC_DNS_A, 60, 4);
	put32(&wire, 0x5db8d823);
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);

	/* an alias' target that lies behind it */
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 2);
	put16(&wire, 0xc00c);
	put_fixed(&wire, NC_DNS_CNAME, 60, 2);
	put16(&wire, 0xc000 | (unsigned int)(wire.size + 2));
	put_record(&wire, "end.example", NC_DNS_A, 60, 4);
	put32(&wire, 0x5db8d822);
	assert_int_equal(read_reply("api.example", NC_DNS_A), -EBADMSG);
}

/* The worst that a message can hold: as many names as fit, each at the end of the longest chain of pointers. It ends, and soon. */
static void the_longest_chain_of_pointers_ends(void **state)
{
	struct timespec began, ended;
	unsigned int records = 0;
	size_t first, last;

	(void)state;
	reply(FLAGS_REPLY, "api.example", NC_DNS_A, 0);
	put8(&wire, 0);
	put_fixed(&wire, 10, 60, 16000); /* NULL: whatever it likes to hold */
	first = wire.size;
	put16(&wire, 0xc00c);
	for (last = first; wire.size < first + 16000; last = wire.size - 2)
		put16(&wire, 0xc000 | (unsigned int)last);
	for (records = 1; wire.size + 16 <= 65535; records++) {
		put16(&wire, 0xc000 | (unsigned int)last);
		put_fixed(&wire, NC_DNS_A, 60, 4);
		put32(&wire, 0x5db8d800 + records);
	}
	wire.bytes[6] = (uint8_t)(records >> 8);
	wire.bytes[7] = (uint8_t)records;
	clock_gettime(CLOCK_MONOTONIC, &began);
	read_reply("api.example", NC_DNS_A);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	assert_true(ended.tv_sec - began.tv_sec < 20); /* under the sanitizers on a busy machine; a fraction of a second otherwise */
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------------------------- */

static void an_answer_that_does_not_fit_is_cut_and_marked(void **state)
{
	struct nc_dns_question question;
	enum nc_dns_rcode rcode;
	static uint8_t message[NC_DNS_MESSAGE_MAX];
	static struct nc_dns_answer whole;
	int size;

	(void)state;
	put_header(&wire, 0x1234, FLAGS_QUERY, 1, 0);
	put_question(&wire, "api.example", NC_DNS_A);
	assert_int_equal(read_question(&question, &rcode), 0);
	whole = (struct nc_dns_answer){.outcome = NC_DNS_ANSWERED, .count = 100};
	size = nc_dns_write_answer(&question, NC_DNS_NOERROR, &whole, 30, 512, message, sizeof(message));
	assert_in_range(size, 100, 512);
	assert_true(message[2] & 2);
	size = nc_dns_write_answer(&question, NC_DNS_NOERROR, &whole, 30, NC_DNS_MESSAGE_MAX, message, sizeof(message));
	assert_true(size > 512);
	assert_false(message[2] & 2);
	assert_int_equal(message[6] << 8 | message[7], 100);
}

static void a_denial_has_no_authority_that_a_cache_could_keep(void **state)
{
	struct nc_dns_question question;
	enum nc_dns_rcode rcode;
	uint8_t message[600];
	int size;

	(void)state;
	put_header(&wire, 0x1234, FLAGS_QUERY, 1, 0);
	put_question(&wire, "evil.test", NC_DNS_A);
	assert_int_equal(read_question(&question, &rcode), 0);
	size = nc_dns_write_answer(&question, NC_DNS_NXDOMAIN, NULL, 0, 512, message, sizeof(message));
	assert_int_equal(size, wire.size); /* header and question, no SOA */
	assert_int_equal(message[3] & 15, NC_DNS_NXDOMAIN);
	for (int i = 6; i < 12; i++)
		assert_int_equal(message[i], 0);
}

/* ---- the corpus ---------------------------------------------------------------------------------------------------------------------------------- */

#define CORPUS "tests/fuzz/corpus/dns"

static void the_kept_corpus_is_read_in_bounds(void **state)
{
	DIR *dir = opendir(CORPUS);
	struct dirent *entry;
	int count = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[600];
		uint8_t *exact;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), CORPUS "/%s", entry->d_name);
		file = fopen(path, "re");
		assert_non_null(file);
		wire.size = fread(wire.bytes, 1, sizeof(wire.bytes), file);
		fclose(file);
		exact = malloc(wire.size ? wire.size : 1); /* of its own size: a byte too far is seen by the sanitizer */
		assert_non_null(exact);
		memcpy(exact, wire.bytes, wire.size);
		dns_any_bytes(exact, wire.size);
		if (strncmp(entry->d_name, "bad-", 4) == 0) {
			struct nc_dns_question question;
			enum nc_dns_rcode rcode;
			int r = nc_dns_read_question(exact, wire.size, &question, &rcode);

			if (!r)
				fail_msg("%s was read as a question", entry->d_name);
		}
		free(exact);
		count++;
	}
	closedir(dir);
	assert_true(count >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_compared_whole_and_without_case),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(a_question_is_read_in_the_askers_spelling),
		cmocka_unit_test(what_is_no_question_of_one_name_is_answered_or_dropped),
		cmocka_unit_test(the_size_that_edns_offers_is_bounded),
		cmocka_unit_test(a_reply_counts_only_for_its_question),
		cmocka_unit_test(only_what_the_chain_reaches_is_used),
		cmocka_unit_test(chains_are_followed_and_bounded),
		cmocka_unit_test(a_chain_without_its_end_is_to_be_asked_for),
		cmocka_unit_test(every_other_outcome_is_told_apart),
		cmocka_unit_test(more_addresses_than_fit_are_left_out_and_said_to_be),
		cmocka_unit_test(an_address_of_a_wrong_length_is_read_in_bounds),
		cmocka_unit_test(the_question_of_a_reply_stands_plainly),
		cmocka_unit_test(a_record_that_points_forward_is_refused),
		cmocka_unit_test(the_longest_chain_of_pointers_ends),
		cmocka_unit_test(an_answer_that_does_not_fit_is_cut_and_marked),
		cmocka_unit_test(a_denial_has_no_authority_that_a_cache_could_keep),
		cmocka_unit_test(the_kept_corpus_is_read_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
