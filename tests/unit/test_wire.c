/* SPDX-License-Identifier: GPL-2.0-only */
/* test_wire.c - the name on the wire, segment by segment: what may leave before it is shown, and what may be sent again */
#include <setjmp.h>
#include <stdarg.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include "hello_text.h"
#include "wire_host.h"

#define GENERATION 77
#define ISN 0xfffffff0u /* so that numbers wrap early */
#define FIRST (ISN + 1)

enum { GOOD = 1, ALSO, FAR, ELSEWHERE, PLAIN };

static union nc_address address;
static struct nc_slot slot;
static struct nc_label label;
static struct nc_grant_key granted[4];
static struct nc_grant_value grants[4];
static struct hello hello;

static const struct nc_grant_value *find_grant(const struct nc_grant_key *key)
{
	for (size_t i = 0; i < 4; i++)
		if (grants[i].expires_ns && !memcmp(&granted[i], key, sizeof(*key)))
			return &grants[i];
	return NULL;
}

static void name(__u32 id, const char *text, __u16 port, __u32 flags)
{
	struct nc_name_key *key = &host_names[host_name_count];
	struct nc_policy_entry *entry = &host_entries[host_entry_count++];

	memset(key, 0, sizeof(*key));
	key->generation = GENERATION;
	key->authority = NC_AUTHORITY_WORKLOAD;
	key->length = (__u16)strlen(text);
	memcpy(key->text, text, key->length);
	host_name_ids[host_name_count++] = id;
	memset(entry, 0, sizeof(*entry));
	entry->key.generation = GENERATION;
	entry->key.revision = 1;
	entry->key.address.words_be[3] = id;
	entry->key.port_be = htons(port);
	entry->key.protocol = NC_PROTO_TCP;
	entry->key.kind = NC_POLICY_NAME;
	entry->value.flags = flags;
	entry->value.reserved = NC_AUTHORITY_WORKLOAD;
}

static void grant(size_t i, __u32 id, __u64 expires_ns)
{
	granted[i] = (struct nc_grant_key){.generation = GENERATION, .address = address, .name_id = id, .kind = NC_GRANT_NAME};
	grants[i] = (struct nc_grant_value){.expires_ns = expires_ns, .name_id = id};
}

/* Five names: GOOD spoke for the connection; ALSO holds a grant too; FAR is listed without one; ELSEWHERE at another port; PLAIN for HTTP. */
static int begin(void **state)
{
	(void)state;
	host_name_count = host_entry_count = 0;
	host_pages_foreign = 0;
	host_acknowledged = ISN;
	nc_address_map4(&address, htonl(0x5db8d822));
	name(GOOD, "good.example", 443, NC_POLICY_WIRE_TLS);
	name(ALSO, "also.example", 443, NC_POLICY_WIRE_TLS);
	name(FAR, "far.example", 443, NC_POLICY_WIRE_TLS);
	name(ELSEWHERE, "elsewhere.example", 8443, NC_POLICY_WIRE_TLS);
	name(PLAIN, "plain.example", 443, NC_POLICY_WIRE_HTTP);
	memset(grants, 0, sizeof(grants));
	grant(0, ALSO, 10);
	grant(1, ELSEWHERE, 10);
	grant(2, PLAIN, 10);
	slot = (struct nc_slot){.generation = GENERATION, .revision = 1, .authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST};
	label = (struct nc_label){.generation = GENERATION,
				  .revision = 1,
				  .admitted = address,
				  .admitted_port_be = htons(443),
				  .admitted_protocol = NC_PROTO_TCP,
				  .name_id = GOOD,
				  .policy_flags = NC_POLICY_WIRE_TLS,
				  .flags = NC_LABEL_ADMITTED};
	return 0;
}

/* 0: it may leave; else the reason. */
static __u8 send_segment(__u32 seq, __u8 flags, const void *payload, size_t size)
{
	static uint8_t bytes[20 + 20 + 24000];
	struct nc_tcp_header tcp = {.ports = {.destination_be = htons(443)}, .seq_be = htonl(seq), .data_offset = 0x50, .flags = flags};
	struct nc_flow far = {.destination = address, .port_be = htons(443), .protocol = NC_PROTO_TCP, .mode = NC_MODE_ALLOWLIST, .revision = 1};
	struct __sk_buff skb = {.len = (__u32)(40 + size)};
	struct nc_verdict verdict = {};
	__u64 found = 0;

	memcpy(bytes + 20, &tcp, sizeof(tcp));
	if (size)
		memcpy(bytes + 40, payload, size);
	host_packet = bytes;
	host_packet_size = 40 + size;
	if (!nc_wire_asked(&label, &far))
		return 0;
	return nc_wire_decide(&skb, NULL, &slot, &label, &far, 20, &verdict, &found) ? 0 : verdict.reason;
}

static __u8 syn(void)
{
	return send_segment(ISN, NC_TCP_SYN, NULL, 0);
}

static __u8 first(const char *server_name)
{
	hello_begin(&hello);
	hello_extension(&hello, 10, 8);
	hello_name(&hello, server_name, strlen(server_name));
	hello_end(&hello);
	return send_segment(FIRST, 0x18, hello.bytes, hello.size);
}

#define UNREADABLE NC_REASON_SERVER_NAME_UNREADABLE
#define MISMATCH NC_REASON_SERVER_NAME_MISMATCH
#define SEALED "\x17\3\3\0\3xyz" /* a record of application data: no other hello comes behind it */

static void only_a_listed_name_with_a_grant_opens(void **state)
{
	static const struct {
		const char *name;
		__u8 reason;
	} rows[] = {
		{"good.example", 0},
		{"GOOD.example.", 0},
		{"also.example", 0},
		{"far.example", MISMATCH},
		{"elsewhere.example", MISMATCH},
		{"plain.example", MISMATCH},
		{"evil.example", MISMATCH},
		{"good.example.evil", MISMATCH},
		{"ood.example", MISMATCH},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(state);
		assert_int_equal(syn(), 0);
		assert_int_equal(send_segment(FIRST, 0x10, NULL, 0), 0);
		if (first(rows[i].name) != rows[i].reason)
			fail_msg("%s", rows[i].name);
		assert_int_equal(!!(label.flags & NC_LABEL_WIRE_OPEN), !rows[i].reason);
		assert_int_equal(!!(label.flags & NC_LABEL_WIRE_REFUSED), !!rows[i].reason);
		/* what comes behind it has the same fate */
		assert_int_equal(send_segment(FIRST + (__u32)hello.size, 0x18, "\x14\3\3\0\1\1", 6), rows[i].reason ? UNREADABLE : 0);
	}
	begin(state);
	grants[0].expires_ns = 1; /* no longer live, and not the one that spoke for the connection */
	syn();
	assert_int_equal(first("also.example"), MISMATCH);
}

static void the_rule_is_the_names_own(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: plain.example:443\r\n\r\n",
			  other[] = "GET / HTTP/1.1\r\nHost: good.example:443\r\n\r\n";

	(void)state;
	syn();
	assert_int_equal(send_segment(FIRST, 0x18, other, strlen(other)), MISMATCH);
	begin(state);
	syn();
	assert_int_equal(send_segment(FIRST, 0x18, request, strlen(request)), 0);
	assert_int_equal(label.name_id, PLAIN);
}

static void the_first_payload_is_whole(void **state)
{
	first("good.example");
	for (size_t cut = 1; cut < hello.size; cut += 7) {
		begin(state);
		syn();
		assert_int_equal(send_segment(FIRST, 0x18, hello.bytes, cut), UNREADABLE);
		assert_int_equal(send_segment(FIRST + (__u32)cut, 0x18, hello.bytes + cut, hello.size - cut), UNREADABLE);
		/* even the whole of it, one byte further on */
		assert_int_equal(send_segment(FIRST + 1, 0x18, hello.bytes, hello.size), UNREADABLE);
	}
	begin(state); /* no SYN was seen */
	assert_int_equal(first("good.example"), UNREADABLE);
	begin(state);
	syn();
	assert_int_equal(send_segment(FIRST, 0x18 | NC_TCP_URG, hello.bytes, hello.size), UNREADABLE);
	assert_true(label.flags & NC_LABEL_WIRE_REFUSED);
	begin(state);
	syn();
	host_pages_foreign = 1;
	assert_int_equal(first("good.example"), UNREADABLE);
	assert_true(label.flags & NC_LABEL_WIRE_REFUSED);
	begin(state);
	syn();
	host_pages_foreign = -1; /* a kernel that does not say: the whole is compared, a part cannot be */
	assert_int_equal(first("good.example"), 0);
	assert_int_equal(first("good.example"), 0);
	assert_int_equal(send_segment(FIRST, 0x18, hello.bytes, 20), UNREADABLE);
}

/* More may be written into the queue behind what was refused, and then the same first bytes are whole, or lie in other pages. It is too late. */
static void what_was_refused_stays_refused(void **state)
{
	(void)state;
	first("good.example");
	begin(state);
	syn();
	assert_int_equal(send_segment(FIRST, 0x18, hello.bytes, 1), UNREADABLE);
	assert_int_equal(send_segment(FIRST, 0x18, hello.bytes, hello.size), UNREADABLE);
	assert_false(label.flags & NC_LABEL_WIRE_OPEN);
	assert_int_equal(send_segment(FIRST, 0x10, NULL, 0), 0);
	begin(state);
	syn();
	assert_int_equal(first("good.example"), 0);
	host_pages_foreign = 1;
	assert_int_equal(first("good.example"), UNREADABLE);
	host_pages_foreign = 0;
	assert_int_equal(first("good.example"), UNREADABLE);
	assert_int_equal(send_segment(FIRST + (__u32)hello.size, 0x18, "later", 5), UNREADABLE);
	host_acknowledged = FIRST + (__u32)hello.size;
	assert_int_equal(send_segment(FIRST + (__u32)hello.size, 0x18, "later", 5), UNREADABLE);
	assert_false(label.flags & NC_LABEL_WIRE_DONE);
}

static void data_in_a_syn_is_judged_alike(void **state)
{
	first("good.example");
	begin(state);
	assert_int_equal(send_segment(ISN, NC_TCP_SYN, hello.bytes, hello.size), 0);
	assert_true(label.flags & NC_LABEL_WIRE_OPEN);
	assert_int_equal(syn(), 0); /* sent again without */
	assert_int_equal(first("good.example"), 0);
	begin(state);
	assert_int_equal(send_segment(ISN, NC_TCP_SYN, hello.bytes, hello.size - 1), UNREADABLE);
	assert_false(label.flags & NC_LABEL_WIRE_REFUSED);
	assert_int_equal(syn(), 0);
	assert_int_equal(first("good.example"), 0);
	first("evil.example");
	begin(state);
	assert_int_equal(send_segment(ISN, NC_TCP_SYN, hello.bytes, hello.size), MISMATCH);
	assert_true(label.flags & NC_LABEL_WIRE_REFUSED);
}

static void what_is_sent_again_is_judged_again(void **state)
{
	__u32 end;

	syn();
	assert_int_equal(first("good.example"), 0);
	end = FIRST + (__u32)hello.size;
	assert_int_equal(first("good.example"), 0);
	assert_int_equal(send_segment(FIRST, 0x18, hello.bytes, 30), 0); /* a part, in pages that nobody else has */
	assert_int_equal(send_segment(FIRST + 30, 0x18, hello.bytes + 30, 10), 0);
	assert_int_equal(send_segment(end, 0x18, SEALED, 8), 0);
	host_pages_foreign = 1;
	assert_int_equal(send_segment(end + 8, 0x18, "later", 5), 0);
	assert_int_equal(send_segment(FIRST + 30, 0x18, hello.bytes + 30, 10), UNREADABLE);
	host_pages_foreign = 0;
	assert_true(label.flags & NC_LABEL_WIRE_REFUSED);
	begin(state);
	syn();
	first("good.example");
	assert_int_equal(first("evil.example"), MISMATCH);
	assert_true(label.flags & NC_LABEL_WIRE_REFUSED);
	begin(state);
	syn();
	first("good.example");
	host_acknowledged = end - 1;
	assert_int_equal(first("evil.example"), MISMATCH);
	begin(state);
	syn();
	first("good.example");
	assert_int_equal(send_segment(end, 0x18, SEALED, 8), 0);
	host_acknowledged = end + 8;
	assert_int_equal(first("evil.example"), 0); /* cannot be: the peer has those bytes */
	assert_true(label.flags & NC_LABEL_WIRE_DONE);
	/* 4 GB on, the same numbers are other bytes */
	assert_int_equal(send_segment(FIRST, 0x18, "x", 1), 0);
}

static void long_hello(const char *server_name, size_t length)
{
	hello_begin(&hello);
	hello_name(&hello, server_name, strlen(server_name));
	hello_extension(&hello, 10, length);
	hello_extension(&hello, 11, 8);
	hello_end(&hello);
}

/* The hello's bytes from `from` to `to`, where they belong. */
static __u8 part(size_t from, size_t to)
{
	return send_segment(FIRST + (__u32)from, 0x18, hello.bytes + from, to - from);
}

static void a_long_hello_leaves_in_parts(void **state)
{
	long_hello("good.example", 9000);
	syn();
	assert_int_equal(part(0, 2896), 0);
	assert_int_equal(part(2896, 5792), 0);
	assert_int_equal(part(0, 1448), 0); /* sent again, in the kernel's own pages */
	assert_int_equal(part(1448, 2896), 0);
	assert_int_equal(part(0, 5792), 0);
	host_acknowledged = FIRST + 5792;
	assert_int_equal(part(5792, hello.size), 0);
	host_acknowledged = FIRST + (__u32)hello.size;
	assert_int_equal(send_segment(host_acknowledged, 0x18, SEALED, 8), 0);
	host_acknowledged += 8;
	assert_int_equal(send_segment(host_acknowledged, 0x10, NULL, 0), 0);
	assert_true(label.flags & NC_LABEL_WIRE_DONE);

	begin(state); /* its name must be in the first part, and be a listed one */
	syn();
	assert_int_equal(part(0, 90), UNREADABLE);
	begin(state);
	long_hello("evil.example", 9000);
	syn();
	assert_int_equal(part(0, 2896), MISMATCH);
	begin(state); /* one part after the other */
	long_hello("good.example", 9000);
	syn();
	assert_int_equal(part(0, 2896), 0);
	assert_int_equal(part(4344, 5792), UNREADABLE);
	begin(state);
	syn();
	assert_int_equal(part(0, 2896), 0);
	assert_int_equal(part(1448, 4344), UNREADABLE);
	begin(state); /* not from somebody's pages, nor with an urgent byte in it */
	syn();
	assert_int_equal(part(0, 2896), 0);
	host_pages_foreign = 1;
	assert_int_equal(part(2896, 5792), UNREADABLE);
	begin(state);
	syn();
	assert_int_equal(part(0, 2896), 0);
	assert_int_equal(send_segment(FIRST + 2896, 0x18 | NC_TCP_URG, hello.bytes + 2896, 1448), UNREADABLE);
	begin(state); /* what cannot be compared again must be whole */
	syn();
	host_pages_foreign = -1;
	assert_int_equal(part(0, 2896), UNREADABLE);
	begin(state);
	syn();
	host_pages_foreign = -1;
	assert_int_equal(part(0, hello.size), 0);
}

static void a_second_hello_is_judged_like_the_first(void **state)
{
	static const struct {
		const char *name;
		__u8 reason;
	} rows[] = {{"good.example", 0}, {"also.example", 0}, {"evil.example", MISMATCH}, {"far.example", MISMATCH}};
	static const char change[] = "\x14\3\3\0\1\1";

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = rows[i / 2].name;
		__u8 reason = rows[i / 2].reason;
		__u32 next;

		begin(state);
		syn();
		assert_int_equal(first("good.example"), 0);
		host_acknowledged = next = FIRST + (__u32)hello.size;
		assert_int_equal(send_segment(next, 0x10, NULL, 0), 0);
		if (i & 1) {
			assert_int_equal(send_segment(next, 0x18, change, 6), 0);
			host_acknowledged = next += 6;
		}
		long_hello(name, 100);
		if (send_segment(next, 0x18, hello.bytes, hello.size) != reason)
			fail_msg("%s", name);
		assert_int_equal(!!(label.flags & NC_LABEL_WIRE_REFUSED), !!reason);
		/* never in parts that show no name, and never a third */
		assert_int_equal(send_segment(next + (__u32)hello.size, 0x18, SEALED, 8), reason ? UNREADABLE : 0);
		host_acknowledged = next + (__u32)hello.size + 8;
		assert_int_equal(send_segment(host_acknowledged, 0x10, NULL, 0), 0);
		assert_int_equal(!!(label.flags & NC_LABEL_WIRE_DONE), !reason);
	}
	begin(state);
	syn();
	first("good.example");
	long_hello("good.example", 100);
	assert_int_equal(send_segment(FIRST + label.first_length, 0x18, hello.bytes, 60), UNREADABLE);
	begin(state);
	syn();
	first("good.example");
	long_hello("good.example", 100);
	host_pages_foreign = 1;
	assert_int_equal(send_segment(FIRST + label.first_length, 0x18, hello.bytes, hello.size), UNREADABLE);
}

/* A request is over with its head: what a server may be asked next is not looked at. */
static void nothing_is_asked_behind_a_request(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: plain.example:443\r\n\r\n";

	(void)state;
	syn();
	assert_int_equal(send_segment(FIRST, 0x18, request, strlen(request)), 0);
	long_hello("evil.example", 100);
	assert_int_equal(send_segment(FIRST + (__u32)strlen(request), 0x18, hello.bytes, hello.size), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_a_listed_name_with_a_grant_opens, begin),
		cmocka_unit_test_setup(the_rule_is_the_names_own, begin),
		cmocka_unit_test_setup(the_first_payload_is_whole, begin),
		cmocka_unit_test_setup(what_was_refused_stays_refused, begin),
		cmocka_unit_test_setup(data_in_a_syn_is_judged_alike, begin),
		cmocka_unit_test_setup(what_is_sent_again_is_judged_again, begin),
		cmocka_unit_test_setup(a_long_hello_leaves_in_parts, begin),
		cmocka_unit_test_setup(a_second_hello_is_judged_like_the_first, begin),
		cmocka_unit_test_setup(nothing_is_asked_behind_a_request, begin),
	};

	host_find_grant = find_grant;
	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
