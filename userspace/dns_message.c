// SPDX-License-Identifier: GPL-2.0-only
/*
 * dns_message.c - DNS messages on top of ldns
 *
 * ldns reads and writes the wire; what is decided here is what a message must be to count. A reply counts only for the very question that was asked
 * (RFC 5452 9.1), and of its records only those that the alias chain from that question reaches.
 */
#include "dns_message.h"

#include <errno.h>
#include <string.h>
#include <ldns/ldns.h>

static void cleanup_packet(ldns_pkt **packet)
{
	if (*packet)
		ldns_pkt_free(*packet);
}
#define PACKET __attribute__((cleanup(cleanup_packet))) ldns_pkt *

/* ---- names -------------------------------------------------------------------------------------------------------------------------------- */

static int name_from_rdf(const ldns_rdf *rdf, struct nc_dns_name *ret_name)
{
	size_t length = ldns_rdf_size(rdf);

	if (length < 1 || length > NC_DNS_NAME_WIRE_MAX)
		return -EINVAL;
	ret_name->length = (uint8_t)length;
	memset(ret_name->wire, 0, sizeof(ret_name->wire));
	/* A length octet is at most 63, below every letter: lowering the bytes as a whole lowers the labels alone. */
	for (size_t i = 0; i < length; i++) {
		uint8_t byte = ldns_rdf_data(rdf)[i];

		ret_name->wire[i] = byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
	}
	return 0;
}

/* A borrowed view of the name's bytes, for the length of one ldns call. */
static ldns_rdf *rdf_from_wire(const uint8_t *wire, uint8_t length)
{
	return ldns_rdf_new_frm_data(LDNS_RDF_TYPE_DNAME, length, wire);
}

/* The first name of a message has nothing before it that it could be shortened to: a pointer there is no honest one (RFC 1035 4.1.4). */
static bool stands_plainly(const uint8_t *bytes, size_t size, const ldns_rdf *owner)
{
	size_t length = ldns_rdf_size(owner);

	return size >= LDNS_HEADER_SIZE + length && memcmp(bytes + LDNS_HEADER_SIZE, ldns_rdf_data(owner), length) == 0;
}

/* ---- questions ---------------------------------------------------------------------------------------------------------------------------- */

static uint16_t udp_size_of(const ldns_pkt *packet)
{
	uint16_t size = ldns_pkt_edns(packet) ? ldns_pkt_edns_udp_size(packet) : NC_DNS_UDP_PLAIN;

	if (size < NC_DNS_UDP_PLAIN)
		return NC_DNS_UDP_PLAIN;
	return size > NC_DNS_UDP_OFFERED ? NC_DNS_UDP_OFFERED : size;
}

int nc_dns_read_question(const uint8_t *bytes, size_t size, struct nc_dns_question *ret_question, enum nc_dns_rcode *ret_rcode)
{
	PACKET packet = NULL;
	struct nc_dns_question question = {0};
	const ldns_rr *rr;

	if (size < LDNS_HEADER_SIZE || LDNS_QR_WIRE(bytes))
		return -EBADMSG;
	question.id = LDNS_ID_WIRE(bytes);
	question.udp_size = NC_DNS_UDP_PLAIN;
	*ret_question = question;
	if (ldns_wire2pkt(&packet, bytes, size) != LDNS_STATUS_OK) {
		*ret_rcode = NC_DNS_FORMERR;
		return -EPROTO;
	}
	if (ldns_pkt_get_opcode(packet) != LDNS_PACKET_QUERY) {
		*ret_rcode = NC_DNS_NOTIMP;
		return -EPROTO;
	}
	rr = ldns_rr_list_rr(ldns_pkt_question(packet), 0);
	if (ldns_pkt_qdcount(packet) != 1 || !rr || ldns_rr_get_class(rr) != LDNS_RR_CLASS_IN || !stands_plainly(bytes, size, ldns_rr_owner(rr)) ||
	    name_from_rdf(ldns_rr_owner(rr), &question.name) < 0) {
		*ret_rcode = NC_DNS_FORMERR;
		return -EPROTO;
	}
	question.type = (uint16_t)ldns_rr_get_type(rr);
	question.edns = ldns_pkt_edns(packet);
	question.udp_size = udp_size_of(packet);
	memcpy(question.asked, ldns_rdf_data(ldns_rr_owner(rr)), question.name.length);
	*ret_question = question;
	return 0;
}

static ldns_rr *make_question(const uint8_t *wire, uint8_t length, uint16_t type)
{
	ldns_rr *rr = ldns_rr_new();
	ldns_rdf *owner = rdf_from_wire(wire, length);

	if (!rr || !owner) {
		ldns_rdf_deep_free(owner);
		ldns_rr_free(rr);
		return NULL;
	}
	ldns_rr_set_question(rr, true);
	ldns_rr_set_owner(rr, owner);
	ldns_rr_set_type(rr, (ldns_rr_type)type);
	ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
	return rr;
}

/* Writes the packet; the size, or a negative errno. */
static int packet_to_bytes(const ldns_pkt *packet, uint8_t *bytes, size_t size)
{
	uint8_t *wire = NULL;
	size_t length = 0;
	int r = -ENOMEM;

	if (ldns_pkt2wire(&wire, packet, &length) == LDNS_STATUS_OK) {
		r = length > size ? -EMSGSIZE : (int)length;
		if (r > 0)
			memcpy(bytes, wire, length);
	}
	free(wire);
	return r;
}

int nc_dns_write_query(uint16_t id, const struct nc_dns_name *name, enum nc_dns_type type, uint8_t *bytes, size_t size)
{
	PACKET packet = ldns_pkt_new();
	ldns_rr *question = make_question(name->wire, name->length, type);

	if (!packet || !question || !ldns_pkt_push_rr(packet, LDNS_SECTION_QUESTION, question)) {
		ldns_rr_free(question);
		return -ENOMEM;
	}
	ldns_pkt_set_id(packet, id);
	ldns_pkt_set_rd(packet, true);
	ldns_pkt_set_edns_udp_size(packet, NC_DNS_UDP_OFFERED);
	return packet_to_bytes(packet, bytes, size);
}

/* ---- replies ------------------------------------------------------------------------------------------------------------------------------ */

static bool answers_question(const ldns_pkt *packet, uint16_t id, const struct nc_dns_name *name, enum nc_dns_type type)
{
	const ldns_rr *rr = ldns_rr_list_rr(ldns_pkt_question(packet), 0);
	struct nc_dns_name asked;

	return ldns_pkt_qr(packet) && ldns_pkt_id(packet) == id && ldns_pkt_get_opcode(packet) == LDNS_PACKET_QUERY &&
	       ldns_pkt_qdcount(packet) == 1 && rr && ldns_rr_get_class(rr) == LDNS_RR_CLASS_IN && ldns_rr_get_type(rr) == (ldns_rr_type)type &&
	       name_from_rdf(ldns_rr_owner(rr), &asked) == 0 && nc_dns_name_compare(&asked, name) == 0;
}

/* One record from *at on, of a message that ends at `end`; *at moves behind it. */
static bool reads(const uint8_t *bytes, size_t end, size_t *at, ldns_pkt_section section)
{
	ldns_rr *rr = NULL;
	bool good = ldns_wire2rr(&rr, bytes, end, at, section) == LDNS_STATUS_OK;

	ldns_rr_free(rr);
	return good;
}

/* A pointer leads to a prior occurrence of a name (RFC 1035 4.1.4), so each record of an answer can be read without what follows it: one that cannot points
 * forward. The library follows such pointers; no honest server makes them. */
static bool points_back(const ldns_pkt *packet, const uint8_t *bytes, size_t size)
{
	size_t at = LDNS_HEADER_SIZE, again;

	if (!reads(bytes, size, &at, LDNS_SECTION_QUESTION))
		return false;
	for (uint16_t i = 0; i < ldns_pkt_ancount(packet); i++) {
		again = at;
		if (!reads(bytes, size, &at, LDNS_SECTION_ANSWER) || !reads(bytes, at, &again, LDNS_SECTION_ANSWER))
			return false;
	}
	return true;
}

static bool rr_is(const ldns_rr *rr, const struct nc_dns_name *owner, ldns_rr_type type)
{
	struct nc_dns_name name;

	return ldns_rr_get_class(rr) == LDNS_RR_CLASS_IN && ldns_rr_get_type(rr) == type && ldns_rr_rd_count(rr) == 1 &&
	       name_from_rdf(ldns_rr_owner(rr), &name) == 0 && nc_dns_name_compare(&name, owner) == 0;
}

static void lower_ttl(struct nc_dns_answer *answer, const ldns_rr *rr)
{
	if (ldns_rr_ttl(rr) < answer->ttl)
		answer->ttl = ldns_rr_ttl(rr);
}

static void add_address(struct nc_dns_answer *answer, const ldns_rr *rr, enum nc_dns_type type)
{
	const ldns_rdf *data = ldns_rr_rdf(rr, 0);
	union nc_address *address = &answer->addresses[answer->count];

	if (ldns_rdf_size(data) != (type == NC_DNS_A ? 4u : 16u))
		return;
	if (answer->count == NC_DNS_ADDRESSES_MAX) {
		answer->cut = true;
		return;
	}
	memset(address, 0, sizeof(*address));
	if (type == NC_DNS_A) {
		memset(address->bytes + 10, 0xff, 2);
		memcpy(address->bytes + 12, ldns_rdf_data(data), 4);
	} else {
		memcpy(address->bytes, ldns_rdf_data(data), 16);
	}
	answer->count++;
	lower_ttl(answer, rr);
}

/* One step from `name`: collects addresses, or follows its alias. Returns true when *name was exchanged for the alias' target. */
static bool step(const ldns_rr_list *records, enum nc_dns_type type, struct nc_dns_name *name, struct nc_dns_answer *answer)
{
	const ldns_rr *alias = NULL;
	struct nc_dns_name target;

	for (size_t i = 0; i < ldns_rr_list_rr_count(records); i++) {
		const ldns_rr *rr = ldns_rr_list_rr(records, i);

		if (type != NC_DNS_CNAME && rr_is(rr, name, (ldns_rr_type)type))
			add_address(answer, rr, type);
		else if (!alias && rr_is(rr, name, LDNS_RR_TYPE_CNAME))
			alias = rr;
	}
	if (answer->count || !alias || name_from_rdf(ldns_rr_rdf(alias, 0), &target) < 0)
		return false;
	lower_ttl(answer, alias);
	answer->aliases++;
	*name = target;
	return true;
}

static void follow(const ldns_rr_list *records, const struct nc_dns_name *name, enum nc_dns_type type, struct nc_dns_answer *answer)
{
	struct nc_dns_name at = *name;

	answer->ttl = UINT32_MAX;
	while (step(records, type, &at, answer)) {
		if (type == NC_DNS_CNAME) {
			answer->alias = at;
			answer->outcome = NC_DNS_ANSWERED;
			return;
		}
		/* A loop comes to the same bound. */
		if (answer->aliases > NC_DNS_ALIASES_MAX) {
			answer->outcome = NC_DNS_FAILED;
			return;
		}
	}
	answer->alias = at;
	if (answer->count)
		answer->outcome = NC_DNS_ANSWERED;
	else
		answer->outcome = answer->aliases ? NC_DNS_CHAIN_OPEN : NC_DNS_NO_DATA;
}

int nc_dns_read_reply(const uint8_t *bytes, size_t size, uint16_t id, const struct nc_dns_name *name, enum nc_dns_type type,
		      struct nc_dns_answer *ret_answer)
{
	PACKET packet = NULL;

	if (size < LDNS_HEADER_SIZE || !LDNS_QR_WIRE(bytes) || LDNS_ID_WIRE(bytes) != id)
		return -EBADMSG; /* whoever does not know the id is not read any further */
	if (ldns_wire2pkt(&packet, bytes, size) != LDNS_STATUS_OK) {
		/* A reply cut in the middle of a record is unreadable as a whole, but says in its header that it was cut (RFC 2181 9). Over TCP nothing is
		 * cut, so asking again there is safe whoever sent it. */
		if (!LDNS_TC_WIRE(bytes))
			return -EBADMSG;
		memset(ret_answer, 0, sizeof(*ret_answer));
		ret_answer->outcome = NC_DNS_TRUNCATED;
		return 0;
	}
	if (!answers_question(packet, id, name, type) || !stands_plainly(bytes, size, ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_question(packet), 0))) ||
	    !points_back(packet, bytes, size))
		return -EBADMSG;
	memset(ret_answer, 0, sizeof(*ret_answer));
	if (ldns_pkt_tc(packet)) {
		ret_answer->outcome = NC_DNS_TRUNCATED;
		return 0;
	}
	switch (ldns_pkt_get_rcode(packet)) {
	case LDNS_RCODE_NOERROR:
		follow(ldns_pkt_answer(packet), name, type, ret_answer);
		break;
	case LDNS_RCODE_NXDOMAIN:
		ret_answer->outcome = NC_DNS_NO_NAME;
		break;
	default:
		ret_answer->outcome = NC_DNS_FAILED;
	}
	return 0;
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------------------ */

static ldns_rr *make_record(const struct nc_dns_question *question, uint16_t type, uint32_t ttl, ldns_rdf *data)
{
	ldns_rr *rr = make_question(question->asked, question->name.length, type);

	if (!rr || !data) {
		ldns_rdf_deep_free(data);
		ldns_rr_free(rr);
		return NULL;
	}
	ldns_rr_set_question(rr, false);
	ldns_rr_set_ttl(rr, ttl);
	ldns_rr_push_rdf(rr, data);
	return rr;
}

static ldns_rdf *address_data(const union nc_address *address, uint16_t type)
{
	if (type == NC_DNS_A)
		return ldns_rdf_new_frm_data(LDNS_RDF_TYPE_A, 4, address->bytes + 12);
	return ldns_rdf_new_frm_data(LDNS_RDF_TYPE_AAAA, 16, address->bytes);
}

static int fill_answer(ldns_pkt *packet, const struct nc_dns_question *question, const struct nc_dns_answer *answer, uint32_t ttl, size_t records)
{
	for (size_t i = 0; i < records; i++) {
		ldns_rr *rr;

		if (question->type == NC_DNS_CNAME)
			rr = make_record(question, NC_DNS_CNAME, ttl, rdf_from_wire(answer->alias.wire, answer->alias.length));
		else
			rr = make_record(question, question->type, ttl, address_data(&answer->addresses[i], question->type));
		if (!rr || !ldns_pkt_push_rr(packet, LDNS_SECTION_ANSWER, rr)) {
			ldns_rr_free(rr);
			return -ENOMEM;
		}
	}
	return 0;
}

static size_t records_of(const struct nc_dns_question *question, enum nc_dns_rcode rcode, const struct nc_dns_answer *answer)
{
	if (rcode != NC_DNS_NOERROR || !answer || answer->outcome != NC_DNS_ANSWERED)
		return 0;
	return question->type == NC_DNS_CNAME ? 1 : answer->count;
}

static int write_with(const struct nc_dns_question *question, enum nc_dns_rcode rcode, const struct nc_dns_answer *answer, uint32_t ttl,
		      size_t records, bool cut, uint8_t *bytes, size_t size)
{
	PACKET packet = ldns_pkt_new();
	int r;

	if (!packet)
		return -ENOMEM;
	ldns_pkt_set_id(packet, question->id);
	ldns_pkt_set_qr(packet, true);
	ldns_pkt_set_rd(packet, true);
	ldns_pkt_set_ra(packet, true);
	ldns_pkt_set_tc(packet, cut);
	ldns_pkt_set_rcode(packet, (uint8_t)rcode);
	if (question->edns)
		ldns_pkt_set_edns_udp_size(packet, NC_DNS_UDP_OFFERED);
	if (question->name.length) {
		ldns_rr *rr = make_question(question->asked, question->name.length, question->type);

		if (!rr || !ldns_pkt_push_rr(packet, LDNS_SECTION_QUESTION, rr)) {
			ldns_rr_free(rr);
			return -ENOMEM;
		}
	}
	r = fill_answer(packet, question, answer, ttl, records);
	return r < 0 ? r : packet_to_bytes(packet, bytes, size);
}

int nc_dns_write_answer(const struct nc_dns_question *question, enum nc_dns_rcode rcode, const struct nc_dns_answer *answer, uint32_t ttl,
			size_t limit, uint8_t *bytes, size_t size)
{
	size_t records = records_of(question, rcode, answer);
	size_t bound = limit < size ? limit : size;
	int r = write_with(question, rcode, answer, ttl, records, false, bytes, bound);

	/* Each record takes at least 16 bytes: halving finds a fitting number quickly, and a client that wants all asks over TCP. */
	while (r == -EMSGSIZE && records) {
		records /= 2;
		r = write_with(question, rcode, answer, ttl, records, true, bytes, bound);
	}
	return r;
}
