/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server_name.h - the server name in the first bytes of a connection: a TLS ClientHello's, or an HTTP/1.x request's Host
 *
 * Pure, and compiled for the host too: it reads through bpf_skb_load_bytes and knows no map. What is accepted is what an ordinary client sends; everything
 * that two readers could understand differently is unreadable:
 *
 *   TLS    one record that holds one ClientHello and nothing else (RFC 8446, 4.1.2; RFC 5246, 7.4.1.2), its extensions exactly filling it, at most
 *          NC_EXTENSIONS_MAX of them; one server_name extension with one host_name of 1 to 255 bytes (RFC 6066, 3). What is longer than the first packet goes
 *          on in the next ones, behind the name
 *   HTTP   a request of version 1.0 or 1.1 in origin form (RFC 9112, 3.2.1) whose head lies in these bytes to its end; lines end with CR LF; no other
 *          control character anywhere, no folding, exactly one Host with an optional port that must be the connection's own
 *
 * What follows the ClientHello is for after_hello.h; what follows the head is not looked at.
 *
 * The functions that walk are verified on their own (global functions, 5.6+), for any arguments, so that their loops cost the verifier once. They share
 * nothing but numbers with their caller, and the stack holds all that they read: a per-processor map would be anybody's, for an interrupt that sends runs
 * this very code in the middle of it.
 */
#ifndef NC_BPF_SERVER_NAME_H
#define NC_BPF_SERVER_NAME_H

#ifndef __bpf__
#include <linux/bpf.h> /* struct __sk_buff; the host's includer provides bpf_skb_load_bytes */
#endif
#include "alone.h"
#include "netcordon_abi.h"

#ifdef __clang__
#define NC_UNROLL _Pragma("clang loop unroll(full)")
#define NC_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define NC_UNROLL
#define NC_ROLLED
#endif

#define NC_EXTENSIONS_MAX 64	   /* in one packet */
#define NC_EXTENSION_EARLY_DATA 42 /* RFC 8446, 4.2.10 */
#define NC_RECORD_MAX 16384	   /* RFC 8446, 5.1 */
#define NC_REQUEST_MAX 16384	   /* bytes of a request's head, as the usual servers have it at most */
#define NC_REQUEST_WINDOWS 384	   /* steps that reading a head may take: one for each 64 bytes, and one for each line */
#define NC_HOST_MAX (255 + 6)	   /* a name and ":65535" */

/*
 * Where a name was found: its place and length, and the length of the ClientHello or head, which may go on in the next packet. Of a ClientHello also where the
 * first extension is whose head has not been read (after_hello.h), and whether it announces early data. 56 bits; 0: nowhere.
 */
#define NC_FOUND(at, length, head, next, early)                                                                                                      \
	((__u64)(at) | (__u64)(length) << 16 | (__u64)(head) << 24 | (__u64)(next) << 40 | (__u64)(early) << 55)
#define NC_FOUND_AT(found) ((__u32)(found)&0xffff)
#define NC_FOUND_LENGTH(found) ((__u32)((found) >> 16) & 0xff)
#define NC_FOUND_HEAD(found) ((__u32)((found) >> 24) & 0xffff)
#define NC_FOUND_NEXT(found) ((__u32)((found) >> 40) & 0x7fff)
#define NC_FOUND_EARLY(found) ((__u32)((found) >> 55) & 1)

/*
 * A length from 1 to the mask plus one, in the form in which every verifier sees both bounds: masked, plus one. A compiler that knows them would leave the
 * mask out, so it is made to forget.
 */
static inline __attribute__((always_inline)) __u32 nc_bounded(__u32 length, __u32 mask)
{
	__asm__ __volatile__("" : "+r"(length));
	return ((length - 1) & mask) + 1;
}

static inline __attribute__((always_inline)) __u32 nc_get16(const __u8 *bytes)
{
	return (__u32)bytes[0] << 8 | bytes[1];
}

/* ---- TLS ----------------------------------------------------------------------------------------------------------------------------------- */

/* The record's and the message's head; on success *ret_end is the end of both, and the result is where the cipher suites begin. 0: no ClientHello. */
static inline __attribute__((always_inline)) __u32 nc_tls_open(struct __sk_buff *skb, __u32 at, __u32 size, __u32 *ret_end)
{
	__u8 head[44]; /* record 5, handshake 4, version 2, random 32, length of the session id 1 */
	__u32 length;

	if (size < sizeof(head) || bpf_skb_load_bytes(skb, at, head, sizeof(head)))
		return 0;
	length = nc_get16(head + 3);
	if (head[0] != 22 || head[1] != 3 || head[5] != 1 || head[6] || head[9] != 3 || head[43] > 32)
		return 0;
	if (length < 4 || length > NC_RECORD_MAX || nc_get16(head + 7) != length - 4)
		return 0;
	*ret_end = length + 5;
	return sizeof(head) + head[43];
}

/* Past the cipher suites and the compression methods, to the first extension; 0 unless the extensions fill what is left. */
static inline __attribute__((always_inline)) __u32 nc_tls_extensions(struct __sk_buff *skb, __u32 at, __u32 place, __u32 end)
{
	__u8 bytes[2];

	if (place + 2 > end || bpf_skb_load_bytes(skb, at + place, bytes, 2))
		return 0;
	place += 2 + nc_get16(bytes);
	if (place + 1 > end || bpf_skb_load_bytes(skb, at + place, bytes, 1))
		return 0;
	place += 1 + (__u32)bytes[0];
	if (place + 2 > end || bpf_skb_load_bytes(skb, at + place, bytes, 2))
		return 0;
	place += 2;
	return place + nc_get16(bytes) == end ? place : 0;
}

/* The length of the one host_name that a server_name extension of `length` bytes at `place` holds; 0: not of that form. */
static inline __attribute__((always_inline)) __u32 nc_tls_host_name(struct __sk_buff *skb, __u32 place, __u32 length)
{
	__u8 bytes[5]; /* length of the list, type of the name, length of the name */
	__u32 name;

	if (length < sizeof(bytes) || bpf_skb_load_bytes(skb, place, bytes, sizeof(bytes)))
		return 0;
	name = nc_get16(bytes + 3);
	if (nc_get16(bytes) != length - 2 || bytes[2] || name != length - 5 || name > 255)
		return 0;
	return name;
}

#define NC_TLS_DONE (1ull << 56)
#define NC_TLS_UNREADABLE (1ull << 57)

/* One extension of a hello that ends at `end`, of which is here what is before `here`. What a step leaves to the next is one number, as for a head below. */
NC_VERIFIED_ALONE __u64 nc_tls_step(struct __sk_buff *skb, __u32 at, __u32 here, __u32 end, __u64 found)
{
	__u32 place = NC_FOUND_NEXT(found), name_at = NC_FOUND_AT(found), name_length = NC_FOUND_LENGTH(found), early = NC_FOUND_EARLY(found), length;
	__u8 bytes[4]; /* type and length */

	at &= 0x7fff;
	if (place + 4 > here)
		return found | NC_TLS_DONE;
	if (bpf_skb_load_bytes(skb, at + place, bytes, 4))
		return NC_TLS_UNREADABLE;
	length = nc_get16(bytes + 2);
	place += 4;
	if (place + length > end)
		return NC_TLS_UNREADABLE;
	if (!bytes[0] && !bytes[1]) {
		name_at = (at + place + 5) & 0xffff;
		name_length = name_length ? 0 : nc_tls_host_name(skb, at + place, length);
		if (!name_length)
			return NC_TLS_UNREADABLE;
	}
	if (!bytes[0] && bytes[1] == NC_EXTENSION_EARLY_DATA)
		early = 1;
	return NC_FOUND(name_at, name_length, 0, (place + length) & 0x7fff /* at most `end` */, early);
}

/*
 * The server name of the ClientHello that begins in the `size` bytes at `at`, which end the packet, as NC_FOUND; 0: unreadable. What is not here may follow,
 * but the name is here.
 */
NC_VERIFIED_ALONE __u64 nc_tls_name(struct __sk_buff *skb, __u32 at, __u32 size)
{
	__u32 end = 0, place;
	__u64 found;

	at &= 0x7fff;
	size &= 0xfffff;
	place = nc_tls_open(skb, at, size, &end);
	if (!place)
		return 0;
	place = nc_tls_extensions(skb, at, place, end);
	if (!place)
		return 0;
	found = NC_FOUND(0, 0, 0, place & 0x7fff, 0);
	for (int i = 0; i <= NC_EXTENSIONS_MAX; i++) {
		found = nc_tls_step(skb, at, end < size ? end : size, end, found);
		if (found & (NC_TLS_DONE | NC_TLS_UNREADABLE))
			break;
	}
	place = NC_FOUND_NEXT(found);
	if (!(found & NC_TLS_DONE) || !NC_FOUND_LENGTH(found) || NC_FOUND_AT(found) + NC_FOUND_LENGTH(found) > at + size ||
	    (place != end && !(end > size && place + 4 > size)))
		return 0;
	return NC_FOUND(NC_FOUND_AT(found), NC_FOUND_LENGTH(found), end, place, NC_FOUND_EARLY(found));
}

/* ---- HTTP ---------------------------------------------------------------------------------------------------------------------------------- */

#define NC_EACH_BYTE(value) (0x0101010101010101ull * (value))
#define NC_HIGH_BITS NC_EACH_BYTE(0x80)

/* The high bit of each byte that is a control character (below 0x20, or 0x7f). */
static inline __attribute__((always_inline)) __u64 nc_controls(__u64 word)
{
	__u64 low = word & ~NC_HIGH_BITS;

	return (~(low + NC_EACH_BYTE(0x60)) | (low + NC_EACH_BYTE(0x01))) & ~word & NC_HIGH_BITS;
}

/* Which byte of the word, in memory's order, is the first whose high bit is set in `marks`; marks is not 0. */
static inline __attribute__((always_inline)) __u32 nc_first_mark(__u64 marks)
{
	__u64 first = marks & -marks;

	return (__u32)((((first - 1) & NC_EACH_BYTE(0x01)) * NC_EACH_BYTE(0x01)) >> 56) - 1;
}

/* How many bytes from `at` on, of `size` and at most 64, come before the first control character. */
NC_VERIFIED_ALONE __u32 nc_printable(struct __sk_buff *skb, __u32 at, __u32 size)
{
	union {
		__u8 bytes[64];
		__u64 words[8];
	} window = {.words = {0}}; /* what is not loaded is a control character */

	if (!size)
		return 0;
	if (bpf_skb_load_bytes(skb, at & 0x1ffff, window.bytes, nc_bounded(size > 64 ? 64 : size, 63)))
		return 0;
	NC_UNROLL
	for (__u32 i = 0; i < 8; i++) {
		__u64 marks = nc_controls(window.words[i]);

		if (marks)
			return 8 * i + nc_first_mark(marks);
	}
	return 64;
}

/* METHOD SP "/" ... SP "HTTP/1." ("0" or "1"), from `at` to `end`: origin form. */
static inline __attribute__((always_inline)) int nc_http_request_line(struct __sk_buff *skb, __u32 at, __u32 end)
{
	static const char version[] = " HTTP/1.";
	__u8 start[18], tail[9];
	int step = 0; /* 0: method, 1: behind the space, 2: the target has begun */

	if (end - at < 14 || bpf_skb_load_bytes(skb, at, start, sizeof(start)) || bpf_skb_load_bytes(skb, end - 9, tail, sizeof(tail)))
		return 0;
	NC_UNROLL
	for (__u32 i = 0; i < sizeof(start); i++) {
		__u8 c = start[i];

		if (step == 2)
			break;
		if (step == 1) {
			if (c != '/')
				return 0;
			step = 2;
		} else if (i && c == ' ') {
			step = 1;
		} else if ((c < 'A' || c > 'Z') && c != '-') {
			return 0;
		}
	}
	NC_UNROLL
	for (__u32 i = 0; i < sizeof(version) - 1; i++)
		if (tail[i] != (__u8)version[i])
			return 0;
	return step == 2 && (tail[8] == '0' || tail[8] == '1');
}

enum nc_http_line { NC_LINE_UNREADABLE, NC_LINE_OTHER, NC_LINE_HOST };

/* What a header line from `at` to `end` is. */
static inline __attribute__((always_inline)) enum nc_http_line nc_http_header(struct __sk_buff *skb, __u32 at, __u32 end)
{
	__u8 start[5];

	if (end - at < sizeof(start)) /* too short for a Host; a folded line begins with a blank */
		return !bpf_skb_load_bytes(skb, at, start, 1) && start[0] != ' ' ? NC_LINE_OTHER : NC_LINE_UNREADABLE;
	if (bpf_skb_load_bytes(skb, at, start, sizeof(start)) || start[0] == ' ')
		return NC_LINE_UNREADABLE;
	if ((start[0] | 0x20) != 'h' || (start[1] | 0x20) != 'o' || (start[2] | 0x20) != 's' || (start[3] | 0x20) != 't')
		return NC_LINE_OTHER;
	if (start[4] == ' ') /* some servers take "Host :" for a Host */
		return NC_LINE_UNREADABLE;
	return start[4] == ':' ? NC_LINE_HOST : NC_LINE_OTHER;
}

/* What a line of the head, from `at` to `end`, is; `first`: it is the request line. CR LF must follow it. */
NC_VERIFIED_ALONE __u32 nc_http_line(struct __sk_buff *skb, __u32 at, __u32 end, __u32 first)
{
	__u8 crlf[2];

	at &= 0x1ffff;
	end &= 0x1ffff;
	if (end < at || bpf_skb_load_bytes(skb, end, crlf, 2) || crlf[0] != '\r' || crlf[1] != '\n')
		return NC_LINE_UNREADABLE;
	if (first)
		return nc_http_request_line(skb, at, end) ? NC_LINE_OTHER : NC_LINE_UNREADABLE;
	return at == end ? NC_LINE_OTHER : nc_http_header(skb, at, end);
}

/*
 * The name in a Host's value from `at` to `end`, without its port, which must be `port`. The length in the result's low 32 bits and its place above;
 * 0: unreadable.
 */
NC_VERIFIED_ALONE __u64 nc_http_host(struct __sk_buff *skb, __u32 at, __u32 end, __u32 port)
{
	__u32 given = 0, unit = 1, length;
	__u8 c = 0;

	at &= 0x1ffff;
	end &= 0x1ffff;
	for (int i = 0; i < 8; i++) {
		if (at >= end || bpf_skb_load_bytes(skb, at, &c, 1))
			return 0;
		if (c != ' ')
			break;
		at++;
	}
	if (c == ' ' || end - at > NC_HOST_MAX)
		return 0;
	length = end - at;
	for (__u32 i = 1; i <= 6; i++) { /* from the end: digits, then a colon */
		if (i >= length || bpf_skb_load_bytes(skb, end - i, &c, 1))
			break;
		if (c == ':') {
			if (i == 1 || given != port)
				return 0;
			length -= i;
			break;
		}
		if (c < '0' || c > '9')
			break;
		given += unit * (c - '0');
		unit *= 10;
	}
	return length && length <= 255 ? (__u64)at << 32 | length : 0;
}

/*
 * Reading a head goes in steps of at most 64 bytes or to the end of a line. What a step leaves to the next is one number, so that the verifier, for which
 * every step's is then any number, is done with the loop after one look at it: places are counted from the first byte of the request.
 */
#define NC_HEAD(place, line, host, length) ((__u64)(place) | (__u64)(line) << 16 | (__u64)(host) << 32 | (__u64)(length) << 48)
#define NC_HEAD_PLACE(state) ((__u32)(state)&0xffff)	      /* what is read next */
#define NC_HEAD_LINE(state) ((__u32)((state) >> 16) & 0xffff) /* where its line begins */
#define NC_HEAD_HOST(state) ((__u32)((state) >> 32) & 0xffff) /* where the value of the Host begins; 0: none so far */
#define NC_HEAD_LENGTH(state) ((__u32)((state) >> 48) & 0x1ff)
#define NC_HEAD_DONE (1ull << 62)
#define NC_HEAD_UNREADABLE (1ull << 63)

NC_VERIFIED_ALONE __u64 nc_http_step(struct __sk_buff *skb, __u32 at, __u32 size, __u64 state)
{
	__u32 place = NC_HEAD_PLACE(state), line = NC_HEAD_LINE(state), host = NC_HEAD_HOST(state), length = NC_HEAD_LENGTH(state);
	__u32 printable, kind;

	at &= 0xfff;
	size &= 0xffff;
	if (place >= size)
		return NC_HEAD_UNREADABLE;
	printable = nc_printable(skb, at + place, size - place);
	place += printable;
	if (printable >= 64)
		return NC_HEAD(place, line, host, length);
	if (place + 2 > size)
		return NC_HEAD_UNREADABLE;
	kind = nc_http_line(skb, at + line, at + place, !line);
	if (kind == NC_LINE_UNREADABLE || (kind == NC_LINE_HOST && (host || place - line - 5 > NC_HOST_MAX + 8)))
		return NC_HEAD_UNREADABLE;
	if (kind == NC_LINE_HOST) {
		host = line + 5;
		length = place - host;
	}
	return NC_HEAD(place + 2, place + 2, host, length) | (line == place ? NC_HEAD_DONE : 0);
}

/* The Host of the request in `size` bytes at `at`, as NC_FOUND; 0: unreadable. */
NC_VERIFIED_ALONE __u64 nc_http_name(struct __sk_buff *skb, __u32 at, __u32 size, __u32 port)
{
	__u64 state = 0, host;
	__u32 start;

	at &= 0xfff;
	size &= 0xfffff;
	if (size > NC_REQUEST_MAX)
		size = NC_REQUEST_MAX;
	for (int i = 0; i < NC_REQUEST_WINDOWS; i++) {
		state = nc_http_step(skb, at, size, state);
		if (state & (NC_HEAD_DONE | NC_HEAD_UNREADABLE))
			break;
	}
	if ((state & (NC_HEAD_DONE | NC_HEAD_UNREADABLE)) != NC_HEAD_DONE || !NC_HEAD_HOST(state))
		return 0;
	start = at + NC_HEAD_HOST(state);
	host = nc_http_host(skb, start, start + NC_HEAD_LENGTH(state), port);
	return host ? NC_FOUND((__u32)(host >> 32) & 0xffff, (__u32)host & 0xff, NC_HEAD_PLACE(state), 0, 0) : 0;
}

/* ---- the name as a key ----------------------------------------------------------------------------------------------------------------------- */

/* Small letters for A to Z in each byte; other bytes stay. */
static inline __attribute__((always_inline)) __u64 nc_fold(__u64 word)
{
	__u64 low = word & ~NC_HIGH_BITS;
	__u64 letters = ((low + NC_EACH_BYTE(0x80 - 'A')) ^ (low + NC_EACH_BYTE(0x7f - 'Z'))) & ~word & NC_HIGH_BITS;

	return word | letters >> 2;
}

/* Fills the text and length of `key`, which the caller has cleared, from `length` bytes (1 to 255) at `at`: folded, without one trailing dot. 0: no name. */
static inline __attribute__((always_inline)) int nc_name_key_fill(struct nc_name_key *key, struct __sk_buff *skb, __u32 at, __u32 length)
{
	/* the last byte, for a moment, in a place that is there already: the stack has no room for more */
	if (!length || bpf_skb_load_bytes(skb, at + length - 1, key->text, 1))
		return 0;
	if (key->text[0] == '.')
		length--;
	if (!length || bpf_skb_load_bytes(skb, at, key->text, nc_bounded(length, 255)))
		return 0;
	key->length = (__u16)length;
	NC_UNROLL
	for (__u32 i = 0; i < sizeof(key->words) / sizeof(key->words[0]); i++) {
		key->words[i] = nc_fold(key->words[i]);
		__asm__ __volatile__("" ::: "memory"); /* one word after the other, for the same reason */
	}
	return 1;
}

/* One round of SipHash (Aumasson, Bernstein 2012). */
#define NC_TURNED(word, by) ((word) << (by) | (word) >> (64 - (by)))
static inline __attribute__((always_inline)) void nc_sip_round(__u64 state[4])
{
	state[0] += state[1];
	state[1] = NC_TURNED(state[1], 13) ^ state[0];
	state[0] = NC_TURNED(state[0], 32);
	state[2] += state[3];
	state[3] = NC_TURNED(state[3], 16) ^ state[2];
	state[0] += state[3];
	state[3] = NC_TURNED(state[3], 21) ^ state[0];
	state[2] += state[1];
	state[1] = NC_TURNED(state[1], 17) ^ state[2];
	state[2] = NC_TURNED(state[2], 32);
}

static inline __attribute__((always_inline)) void nc_sip_take(__u64 state[4], __u64 word)
{
	state[3] ^= word;
	nc_sip_round(state);
	nc_sip_round(state);
	state[0] ^= word;
}

/*
 * A number that tells names apart where they are counted, and nowhere else: nothing is allowed because of it. But of two that have the same, only the first
 * would be told. The names are the workload's to choose, so it is SipHash-2-4, with a key that the workload does not know: its instance's generation. The
 * words are the name's, the last filled up with zeros, then its length.
 */
NC_VERIFIED_ALONE __u64 nc_name_sum(struct __sk_buff *skb, __u32 at, __u32 length, __u64 key)
{
	__u64 state[4] = {key ^ 0x736f6d6570736575ull, key ^ 0x646f72616e646f6dull, key ^ 0x6c7967656e657261ull, key ^ 0x7465646279746573ull};

	at &= 0x1ffff;
	length &= 255;
	NC_ROLLED
	for (__u32 i = 0; i < 32; i++) {
		__u64 word = 0;

		if (8 * i >= length || bpf_skb_load_bytes(skb, at + 8 * i, &word, nc_bounded(length - 8 * i > 8 ? 8 : length - 8 * i, 7)))
			break;
		nc_sip_take(state, nc_fold(word));
	}
	nc_sip_take(state, length);
	state[2] ^= 0xff;
	NC_UNROLL
	for (int i = 0; i < 4; i++)
		nc_sip_round(state);
	return state[0] ^ state[1] ^ state[2] ^ state[3];
}

#endif
