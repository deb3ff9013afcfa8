/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * after_hello.h - a ClientHello that goes on in the next packet, and the records behind it, as long as there may be another ClientHello among them
 *
 * A hello may be longer than what one packet holds, and a server that does not like its key shares asks for a second one (RFC 8446, 4.1.4), whose name it may
 * well go by. Both are found by walking: from extension to extension to the end of the hello, then from record to record. A server does nothing before it has
 * the whole of a hello, so the parts of one may leave as they come, and the last one leaves when the whole is known to be right.
 *
 *   in a hello    each extension's type and length; another server_name ends it all                       at its end: behind it, or over after a second one
 *   behind it     change_cipher_spec and alert: passed over. A handshake record that begins with a ClientHello: its name is to be judged, and it is walked
 *                 like the first. Any other handshake message (TLS 1.2 goes on), or application data: over, there is no second hello any more, unless the
 *                 hello announced early data, which may be followed by one: then application data is passed over
 *
 * Where a walk stands between two packets is one number, kept in the label (NC_AFTER); where it stands inside one is another (NC_PLACE and what is beside it).
 * A packet may end inside the head of an extension or a record: its first bytes are kept too, in the order of memory (little-endian, on every machine here).
 */
#ifndef NC_BPF_AFTER_HELLO_H
#define NC_BPF_AFTER_HELLO_H

#include "server_name.h"

/* Between packets. 0: it is over. */
#define NC_AFTER_SKIP(after) ((__u32)(after)&0xffff) /* bytes of the next packet that belong to an extension or record whose head was seen */
#define NC_AFTER_LEFT(after) ((__u32)((after) >> 16) & 0xffff) /* bytes of the hello that are still to come; 0: behind it */
#define NC_AFTER_HELD(after, i) ((__u8)((after) >> (32 + 8 * (i))))
#define NC_AFTER_CUT(after) ((__u32)((after) >> 56) & 7) /* bytes of a head that were in the last packet */
#define NC_AFTER_EARLY (1ull << 59)			 /* early data was announced */
#define NC_AFTER_SECOND (1ull << 60)			 /* in a second hello */
#define NC_AFTER_LIVES (1ull << 61)

/* Inside one, all counted from the first byte of its payload. */
#define NC_PLACE(state) ((__u32)(state)&0xfffff)	       /* what is looked at next; beyond the payload: what is passed over in the next one */
#define NC_PLACE_END(state) ((__u32)((state) >> 20) & 0xfffff) /* of the hello; 0: behind it */
#define NC_PLACE_OF(place, end, flags) ((__u64)(place) | (__u64)(end) << 20 | (flags))
#define NC_PLACE_EARLY (1ull << 40)
#define NC_PLACE_SECOND (1ull << 41)
#define NC_PLACE_KEPT (NC_PLACE_EARLY | NC_PLACE_SECOND)
#define NC_PLACE_DONE (1ull << 42)    /* this packet has been walked */
#define NC_PLACE_OVER (1ull << 43)    /* no second hello can follow */
#define NC_PLACE_REFUSED (1ull << 44) /* nothing that a client says */
#define NC_PLACE_HELLO (1ull << 45)   /* a hello's record begins here: judge its name, then go on with nc_place_in_hello */
#define NC_PLACE_STOPS (NC_PLACE_DONE | NC_PLACE_OVER | NC_PLACE_REFUSED | NC_PLACE_HELLO)

#define NC_EXTENSION_HEAD 4
#define NC_RECORD_HEAD 6			   /* and the first byte of what is in it */
#define NC_RECORD_SEALED_MAX (NC_RECORD_MAX + 256) /* RFC 8446, 5.2 */
#define NC_HELLO_PLACE_MAX 16384		   /* a second hello that begins further back in its packet is none that a client sends */
#define NC_SEALED_LEAST 32			   /* a Finished and the shortest seal: 4 + 12 + 16 (RFC 7905), or 8 + 4 + 12 + 8 (RFC 6655) */
#define NC_WALK_STEPS 96

/* The walk of a hello that nc_tls_name has read as far as it is here; `place`: where its record begins. */
static inline __attribute__((always_inline)) __u64 nc_place_in_hello(__u32 place, __u64 found, __u64 flags)
{
	if (NC_FOUND_EARLY(found))
		flags |= NC_PLACE_EARLY;
	return NC_PLACE_OF(place + NC_FOUND_NEXT(found), place + NC_FOUND_HEAD(found), flags);
}

/* Past the head of an extension: `place` is where its body begins. */
static inline __attribute__((always_inline)) __u64 nc_walk_extension(const __u8 *head, __u32 place, __u64 state)
{
	__u64 flags = state & NC_PLACE_KEPT;

	place += nc_get16(head + 2);
	if ((!head[0] && !head[1]) || place > NC_PLACE_END(state))
		return NC_PLACE_REFUSED;
	if (!head[0] && head[1] == NC_EXTENSION_EARLY_DATA)
		flags |= NC_PLACE_EARLY;
	return NC_PLACE_OF(place, NC_PLACE_END(state), flags);
}

/* Past the head of a record and the first byte in it, which `place` is behind. */
static inline __attribute__((always_inline)) __u64 nc_walk_record(const __u8 *head, __u32 place, __u64 state)
{
	__u32 length = nc_get16(head + 3);
	__u64 flags = state & NC_PLACE_KEPT;

	if (head[1] != 3 || !length || length > NC_RECORD_SEALED_MAX)
		return NC_PLACE_REFUSED;
	switch (head[0]) {
	case 20: /* change_cipher_spec */
		return length == 1 ? NC_PLACE_OF(place, 0, flags) : NC_PLACE_REFUSED;
	case 21: /* alert */
		return length == 2 ? NC_PLACE_OF(place + 1, 0, flags) : NC_PLACE_REFUSED;
	case 22: /* handshake */
		if (head[5] != 1)
			return NC_PLACE_OVER;
		/* its head must be in this packet */
		if (place < NC_RECORD_HEAD || place > NC_HELLO_PLACE_MAX)
			return NC_PLACE_REFUSED;
		return NC_PLACE_OF(place - NC_RECORD_HEAD, 0, flags | NC_PLACE_SECOND | NC_PLACE_HELLO);
	case 23: /* application data */
		return state & NC_PLACE_EARLY ? NC_PLACE_OF(place + length - 1, 0, flags) : NC_PLACE_OVER;
	}
	return NC_PLACE_REFUSED;
}

/*
 * A client that resumes a session of TLS 1.2 sends its Finished, sealed, behind the change of ciphers: any bytes in a record of type handshake. One time in 256
 * they begin like a ClientHello. Its length says more: no server takes one of 192 KiB or more, and nothing that is sealed is shorter than its seal. That leaves
 * three of 65,536 such connections to be refused.
 */
static inline __attribute__((always_inline)) int nc_walk_sealed(struct __sk_buff *skb, __u32 place, const __u8 *head)
{
	__u8 length = 0;

	return nc_get16(head + 3) >= NC_SEALED_LEAST && !bpf_skb_load_bytes(skb, place, &length, 1) && length > 2;
}

/* One head. */
NC_VERIFIED_ALONE __u64 nc_walk_step(struct __sk_buff *skb, __u32 at, __u32 size, __u64 state)
{
	__u32 place = NC_PLACE(state), end = NC_PLACE_END(state);
	__u8 head[8] = {0};

	at &= 0x1ffff;
	size &= 0xfffff;
	if (end && place == end) {
		if (state & NC_PLACE_SECOND)
			return NC_PLACE_OVER;
		end = 0;
		state = NC_PLACE_OF(place, 0, state & NC_PLACE_KEPT);
	}
	if (place >= size)
		return state | NC_PLACE_DONE;
	if (end) {
		if (place + NC_EXTENSION_HEAD > end)
			return NC_PLACE_REFUSED;
		if (place + NC_EXTENSION_HEAD > size)
			return state | NC_PLACE_DONE;
		if (bpf_skb_load_bytes(skb, at + place, head, NC_EXTENSION_HEAD))
			return NC_PLACE_REFUSED;
		return nc_walk_extension(head, place + NC_EXTENSION_HEAD, state);
	}
	if (place + NC_RECORD_HEAD > size)
		return state | NC_PLACE_DONE;
	if (bpf_skb_load_bytes(skb, at + place, head, NC_RECORD_HEAD))
		return NC_PLACE_REFUSED;
	if (head[0] == 22 && head[5] == 1 && nc_walk_sealed(skb, at + place + NC_RECORD_HEAD, head))
		return NC_PLACE_OVER;
	return nc_walk_record(head, place + NC_RECORD_HEAD, state);
}

/* Takes up a walk at the beginning of a payload of `size` bytes at `at`; a head that was cut is put together again. */
NC_VERIFIED_ALONE __u64 nc_walk_begin(struct __sk_buff *skb, __u32 at, __u32 size, __u64 after)
{
	__u32 cut = NC_AFTER_CUT(after), left = NC_AFTER_LEFT(after), whole = left ? NC_EXTENSION_HEAD : NC_RECORD_HEAD;
	__u64 state = NC_PLACE_OF(NC_AFTER_SKIP(after), left, 0);
	__u64 kept = after >> 32 & 0xffffff, rest = 0;
	__u8 head[8];

	at &= 0x1ffff;
	state |= after >> (59 - 40) & NC_PLACE_KEPT; /* the two flags stand in the same order */
	if (!cut)
		return state;
	if (cut >= whole || size < whole - cut)
		return NC_PLACE_REFUSED;
	if (!left) /* the version is not kept: 3 and anything */
		kept = (kept & 0xff) | 0x0300 | (kept & 0xffff00) << 16;
	if (bpf_skb_load_bytes(skb, at, &rest, nc_bounded(whole - cut, 7)))
		return NC_PLACE_REFUSED;
	kept = (kept & ((1ull << 8 * cut) - 1)) | rest << 8 * cut;
	NC_UNROLL
	for (__u32 i = 0; i < NC_RECORD_HEAD; i++)
		head[i] = kept >> 8 * i;
	if (left)
		return nc_walk_extension(head, whole - cut, state);
	return nc_walk_record(head, whole - cut, state);
}

/* On, until the payload has been walked or something is to be done. */
NC_VERIFIED_ALONE __u64 nc_walk_on(struct __sk_buff *skb, __u32 at, __u32 size, __u64 state)
{
	for (int i = 0; i < NC_WALK_STEPS; i++) {
		if (state & NC_PLACE_STOPS)
			return state;
		state = nc_walk_step(skb, at, size, state);
	}
	return NC_PLACE_REFUSED;
}

/* What is kept of a walk that is DONE with a payload of `size` bytes at `at`; 0 when a head that is cut cannot be kept. */
NC_VERIFIED_ALONE __u64 nc_walk_keep(struct __sk_buff *skb, __u32 at, __u32 size, __u64 state)
{
	__u32 place = NC_PLACE(state), end = NC_PLACE_END(state), cut, left;
	__u64 held = 0, after;

	at &= 0x1ffff;
	size &= 0xfffff;
	left = end > size ? (end - size) & 0xffff : 0;
	after = NC_AFTER_LIVES | (__u64)left << 16;
	after |= (state & NC_PLACE_KEPT) << (59 - 40);
	if (place >= size)
		return after | ((place - size) & 0xffff);
	cut = size - place;
	if (cut >= NC_RECORD_HEAD || bpf_skb_load_bytes(skb, at + place, &held, nc_bounded(cut, 7)))
		return 0;
	if (!left) /* of a record its type and length */
		held = (held & 0xff) | (held >> 16 & 0xffff00);
	return after | (held & 0xffffff) << 32 | (__u64)cut << 56;
}

#endif
