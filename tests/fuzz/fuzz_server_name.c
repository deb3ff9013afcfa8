// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_server_name.c - any bytes as a connection's first: the readers stay inside them, and a name that they find is one that stands there */
#include <stdlib.h>
#include "../unit/wire_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(__u64 found, size_t size)
{
	struct nc_name_key key = {};
	struct __sk_buff skb = {};

	if (!found)
		return;
	if (!NC_FOUND_LENGTH(found) || NC_FOUND_AT(found) + NC_FOUND_LENGTH(found) > NC_FOUND_HEAD(found) ||
	    NC_FOUND_AT(found) + NC_FOUND_LENGTH(found) > size)
		abort();
	if (!nc_name_key_fill(&key, &skb, NC_FOUND_AT(found), NC_FOUND_LENGTH(found)))
		return;
	for (size_t i = 0; i < sizeof(key.text); i++) {
		__u8 there = i < key.length ? host_packet[NC_FOUND_AT(found) + i] : 0;

		if (key.text[i] != (there >= 'A' && there <= 'Z' ? there + 32 : there))
			abort();
	}
	nc_name_sum(&skb, NC_FOUND_AT(found), NC_FOUND_LENGTH(found), 1);
}

/* A head that a lenient server could understand differently must not have been read: the Host that was found is the only line that begins so. */
static void check_hosts(const uint8_t *bytes, size_t head)
{
	size_t hosts = 0;

	for (size_t i = 1; i + 4 < head; i++)
		if (bytes[i - 1] == '\n' && (bytes[i] | 32) == 'h' && (bytes[i + 1] | 32) == 'o' && (bytes[i + 2] | 32) == 's' &&
		    (bytes[i + 3] | 32) == 't')
			hosts += bytes[i + 4] == ':' || bytes[i + 4] == ' ' || bytes[i + 4] == '\t';
	if (hosts != 1)
		abort();
}

static __u64 walk(const uint8_t *bytes, size_t size, __u64 after, __u64 state)
{
	struct __sk_buff skb = {};

	host_packet = bytes;
	host_packet_size = size;
	return nc_walk_on(&skb, 0, (__u32)size, after ? nc_walk_begin(&skb, 0, (__u32)size, after) : state);
}

/* A hello that is read whole is also read in two packets, cut anywhere behind its name, and its end is found where it is. */
static void check_parts(const uint8_t *bytes, size_t size, size_t cut)
{
	struct __sk_buff skb = {};
	__u64 found, state, after;
	size_t end;

	host_packet = bytes;
	host_packet_size = size;
	found = nc_tls_name(&skb, 0, (__u32)size);
	end = NC_FOUND_HEAD(found);
	if (!found || cut > size)
		return;
	host_packet_size = cut;
	found = nc_tls_name(&skb, 0, (__u32)cut);
	if (!found)
		return;
	state = walk(bytes, cut, 0, nc_place_in_hello(0, found, 0));
	after = state & NC_PLACE_DONE ? nc_walk_keep(&skb, 0, (__u32)cut, state) : 0;
	if (!after || cut >= size) /* what comes behind the hello in the first part may end it all */
		return;
	state = walk(bytes + cut, size - cut, after, 0);
	if (cut < end && end == size && end - cut > 6 && (!(state & NC_PLACE_DONE) || NC_PLACE(state) != end - cut))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct __sk_buff skb = {};
	__u64 found;

	host_packet = bytes;
	host_packet_size = size;
	check(nc_tls_name(&skb, 0, (__u32)size), size);
	found = nc_http_name(&skb, 0, (__u32)size, 80);
	check(found, size);
	if (found)
		check_hosts(bytes, NC_FOUND_HEAD(found));
	if (size > 64)
		check_parts(bytes, size, 44 + (bytes[20] << 8 | bytes[21]) % (size - 44)); /* of the random */
	return 0;
}
