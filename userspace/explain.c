/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explain.c - the question put to the kernel's own verdict
 *
 * bpf/verdict.h asks for look-ups; here they search the compiled image. One question is answered at a time in a thread, so the world of the question is
 * a thread-local pointer and the look-ups have the kernel's own signatures.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "explain.h"
#include "explain_nearest.h"
#include "policy.h"

struct world {
	const struct nc_explain_question *question;
	const struct nc_image *image;
	struct nc_slot slot;
	struct nc_settings settings;
	bool granted; /* the destination holds a grant: */
	struct nc_grant_value grant;
};

static _Thread_local const struct world *world;

static int compare_keys(const void *key, const void *entry)
{
	return memcmp(key, &((const struct nc_policy_entry *)entry)->key, sizeof(struct nc_policy_key));
}

static const struct nc_policy_value *nc_find_policy(__u8 authority, const struct nc_policy_key *key)
{
	struct nc_policy_key stored = *key;
	const struct nc_policy_entry *found;

	if (authority != world->image->authority || key->generation != world->slot.generation || key->revision != world->slot.revision ||
	    !world->image->count)
		return NULL;
	stored.generation = stored.revision = 0; /* an image knows neither */
	found = bsearch(&stored, world->image->entries, world->image->count, sizeof(*found), compare_keys);
	return found ? &found->value : NULL;
}

static const struct nc_grant_value *nc_find_grant(const struct nc_grant_key *key)
{
	return world->granted && key->generation == world->slot.generation && key->kind == NC_GRANT_WITNESS ? &world->grant : NULL;
}

static __u32 nc_find_floor(const union nc_address *address);

static const struct nc_settings *nc_find_settings(void)
{
	return &world->settings;
}

static __u64 nc_boot_ns(void)
{
	return 1; /* the grant of the question expires later */
}

#include "verdict.h"

static bool covers(const struct nc_explain_floor *row, const union nc_address *address)
{
	unsigned int bytes = row->length / 8, bits = row->length % 8;

	return !memcmp(address->bytes, row->address.bytes, bytes) && (!bits || !((address->bytes[bytes] ^ row->address.bytes[bytes]) >> (8 - bits)));
}

static __u32 nc_find_floor(const union nc_address *address)
{
	for (size_t i = 0; i < world->question->floor_count; i++)
		if (covers(&world->question->floor[i], address))
			return world->question->floor[i].kind;
	return nc_address_is_metadata(address) ? NC_FLOOR_METADATA : 0;
}

#define NC_WORD_OF(symbol, value, word, ...)                                                                                                         \
	case value:                                                                                                                                  \
		return word;

const char *nc_reason_word(unsigned int reason)
{
	switch (reason) {
		NC_REASONS(NC_WORD_OF)
	}
	return "unknown";
}

const char *nc_reason_sentence(unsigned int reason)
{
#define NC_SENTENCE_OF(symbol, value, word, decision, sentence)                                                                                      \
	case value:                                                                                                                                  \
		return sentence;
	switch (reason) {
		NC_REASONS(NC_SENTENCE_OF)
	}
#undef NC_SENTENCE_OF
	return "";
}

const char *nc_decision_word(unsigned int decision)
{
	switch (decision) {
		NC_DECISIONS(NC_WORD_OF)
	}
	return "unknown";
}

const char *nc_mode_word(unsigned int mode)
{
	switch (mode) {
		NC_MODES(NC_WORD_OF)
	}
	return "unknown";
}

const char *nc_authority_word(unsigned int authority)
{
	switch (authority) {
		NC_AUTHORITIES(NC_WORD_OF)
	}
	return "unknown";
}

/* An address for a name: public, and listed nowhere, so that nothing but the name can speak for it. */
static void stand_in(const struct nc_image *image, struct nc_flow *flow)
{
	flow->destination = (union nc_address){.words_be = {htonl(0x2a000000)}};
	for (__u32 i = 1;; i++) {
		bool taken = false;

		flow->destination.words_be[3] = htonl(i);
		for (size_t entry = 0; entry < image->count && !taken; entry++)
			taken = image->entries[entry].key.kind == NC_POLICY_LITERAL &&
				nc_address_equal(&image->entries[entry].key.address, &flow->destination);
		if (!taken)
			return;
	}
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What the resolver would do with this name: nothing for one that is not listed, else a grant, which counts for the ports that the policy lists. */
static void grant_name(struct world *asked, const struct nc_policy_names *names, const char *name)
{
	const char **found = names->count ? bsearch(&name, names->texts, names->count, sizeof(*names->texts), compare_texts) : NULL;

	asked->granted = found;
	if (found)
		asked->grant = (struct nc_grant_value){.expires_ns = UINT64_MAX, .name_id = (__u32)(found - names->texts) + 1};
}

static void ask(const struct nc_explain_question *question, struct world *asked, struct nc_flow *flow, struct nc_verdict *verdict)
{
	struct nc_label label = {.generation = asked->slot.generation};

	world = asked;
	if (nc_decide_socket(&label, &asked->slot, 1, question->protocol, verdict))
		nc_decide_destination(&asked->slot, flow, verdict);
	world = NULL;
}

static const char *condition_of(const struct nc_explanation *e)
{
	if (e->decision == NC_REDIRECT)
		return "the resolver answers for listed names only; where it is not there the answer is deny, resolver_absent";
	if (e->reason == NC_REASON_LOOPBACK_OPEN)
		return "only in the network namespace that the instance was sealed in, and not the host's";
	if (e->host.literal || e->decision != NC_ALLOW)
		return "";
	if (e->reason == NC_REASON_MODE_UNRESTRICTED)
		return "the name's address is public and not on the host floor, and a server that resolves it can be reached: this mode has no "
		       "resolver";
	return "while the resolver's grant for an address that it vetted lives";
}

static void fill_entries(const struct nc_profile *profile, struct nc_explanation *e)
{
	bool denied = e->decision == NC_DENY;

	nc_explain_match(profile, e->authority, &e->host, e->port, e->protocol, &e->matched);
	if (!e->matched.valid && denied && (e->reason == NC_REASON_DESTINATION_NOT_LISTED || e->reason == NC_REASON_ADDRESS_NOT_PUBLIC))
		nc_explain_nearest(profile, e->authority, &e->host, e->port, e->protocol, &e->nearest);
	e->name_binding = "";
	if (e->matched.valid && !e->matched.destination->literal)
		e->name_binding = e->matched.destination->wire == NC_WIRE_ANY ? "address" : "wire";
	e->condition = condition_of(e);
	e->ends = !strcmp(e->name_binding, "wire") && e->protocol == IPPROTO_TCP && !denied ? NC_WIRE_ENDS : "";
}

static int parse_host(const struct nc_explain_question *question, struct nc_host_text *ret_host, struct nc_error *reterr)
{
	const struct nc_place place = {.code = NC_E_USAGE};

	return nc_host_text_parse(question->host, &place, ret_host, reterr);
}

int nc_explain(const struct nc_profile *profile, const struct nc_explain_question *question, struct nc_explanation *ret_explanation,
	       struct nc_error *reterr)
{
	struct nc_image image __attribute__((cleanup(nc_image_free))) = {0};
	struct nc_policy_names names = {0};
	struct nc_explanation e = {.profile = profile, .authority = question->authority, .port = question->port, .protocol = question->protocol};
	struct world asked = {.question = question, .image = &image, .slot = {.generation = 1, .revision = 1}};
	struct nc_flow flow = {.port_be = htons(question->port), .protocol = question->protocol, .home_netns = !question->foreign_netns};
	struct nc_verdict verdict = {0};
	__u32 ip = 0;
	int status = parse_host(question, &e.host, reterr);

	if (!status)
		status = nc_policy_compile(profile, question->authority, &image, &names, reterr);
	if (status)
		return status;
	asked.slot.authority = image.authority;
	asked.slot.mode = image.mode;
	asked.slot.flags = image.flags;
	if (question->settings)
		asked.settings = *question->settings;
	if (e.host.literal) {
		flow.destination = e.host.address;
		e.carries = nc_address_carried(&e.host.address, &asked.settings, &ip) == NC_CARRIED_IPV4;
		if (e.carries)
			nc_address_map4(&e.carried, htonl(ip));
		if (question->granted)
			grant_name(&asked, &names, question->granted);
	} else {
		stand_in(&image, &flow);
		grant_name(&asked, &names, e.host.name);
	}
	ask(question, &asked, &flow, &verdict);
	free(names.texts);
	e.mode = image.mode;
	e.decision = verdict.decision;
	e.reason = verdict.reason;
	e.address_class = e.host.literal ? verdict.address_class : 0;
	fill_entries(profile, &e);
	*ret_explanation = e;
	return 0;
}
