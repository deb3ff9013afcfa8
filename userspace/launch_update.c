/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_update.c - another policy for a running instance
 *
 * The supervisor listens on a socket in the instance's folder, which is root's alone. A request is the bytes of a profile, up to the end of file; the answer is
 * one struct answer. Only then has anything changed:
 *
 *   parse, compile, number the names -> names that will leave hand shared addresses on -> reseal both authorities -> grants of names that left are revoked,
 *   ports of those that stay exchanged -> flows that the new policy does not list are ended -> evidence -> the edge told of the new names
 *
 * Up to the reseal an error leaves everything as it was and is told to whoever asked; that it did is read back, and where it did not the instance ends.
 * After the reseal nothing can go back without a moment of a third policy, so an error then ends the instance. What a profile says about the process is
 * settled at its start and is not looked at again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "address.h"
#include "cleanup.h"
#include "json.h"
#include "launch_state.h"
#include "launch_update.h"
#include "mutants.h"
#include "profile.h"
#include "watch.h"

#define EDGE_WAIT_MS 5000
#define ROWS_AT_ONCE 64 /* of each authority, in one record: with the longest names they fill two thirds of it */

/* A policy in the making; after the switch, the one before. */
struct revision {
	struct nc_profile *profile;
	char *text;
	size_t length;
	struct nc_image images[2];
	struct nc_names names[2];
	uint64_t numbers[2];
};

static void revision_free(struct revision *revision)
{
	nc_names_free(&revision->names[0]);
	nc_names_free(&revision->names[1]);
	nc_image_free(&revision->images[0]);
	nc_image_free(&revision->images[1]);
	nc_profile_free(revision->profile);
	free(revision->text);
}

/* ---- before the switch ------------------------------------------------------------------------------------------------------------------------------- */

static int check_fixed(const struct nc_launch *launch, const struct nc_profile *profile, struct nc_error *reterr)
{
	if (profile->unix_gap_accepted == launch->profile->unix_gap_accepted)
		return nc_launch_check_loopback(launch, profile, reterr);
	nc_error_set(reterr, NC_E_PROFILE_INVALID, -EINVAL, "whether unix sockets are left open is settled when an instance starts");
	snprintf(reterr->pointer, sizeof(reterr->pointer), "/accept_gaps");
	return nc_error_hint(reterr, "start another instance");
}

static int prepare(const struct nc_launch *launch, struct revision *revision, struct nc_error *reterr)
{
	struct nc_settings settings; /* another launch may have added a prefix since */
	int r = nc_host_settings(launch->host, NULL, &settings, reterr);

	r = r < 0 ? r : nc_profile_parse(revision->text, revision->length, &settings, &revision->profile, reterr);
	r = r < 0 ? r : nc_launch_admit(launch, revision->profile, reterr);
	r = r < 0 ? r : check_fixed(launch, revision->profile, reterr);
	r = r < 0 ? r : nc_launch_compile(revision->profile, launch->names, revision->images, revision->names, reterr);
	if (r == 0 && launch->edge_program < 0 && (revision->names[0].count || revision->names[1].count))
		r = nc_error_sys(reterr, NC_E_SYSTEM, launch->edge_program,
				 "names need an edge, whose program was not there when the instance started");
	return r;
}

/* For every name of `names` what the policy of `next` lists for it. */
static int mark_leaving(struct nc_launch *launch, const struct nc_names names[2], const struct nc_names next[2], struct nc_error *reterr)
{
	int r = 0;

	for (int i = 0; i < 2; i++) {
		for (size_t j = 0; j < names[i].count && r == 0; j++) {
			const struct nc_grant_port *ports = NULL;
			size_t count = 0;

			nc_names_ports(&next[i], names[i].ids[j], &ports, &count);
			r = nc_claim_grant_leaving(launch->claim, names[i].ids[j], ports, count, reterr);
		}
	}
	return r;
}

/*
 * After a failed exchange nobody knows which policy is in force: the failure may lie behind the store, or in the second authority. So it is asked; an authority
 * that does not have what it had gets it again, and is asked once more. What cannot be had again is an error that ends the instance: it would live on under a
 * policy that no record tells of.
 */
static int go_back(struct nc_launch *launch, struct nc_error *reterr)
{
	struct nc_error second;
	uint64_t number;
	int r = mark_leaving(launch, launch->names, launch->names, reterr);

	for (int i = 0; i < 2 && r >= 0; i++) {
		enum nc_authority authority = i ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD;

		if (nc_claim_check(launch->claim, authority, &launch->images[i], &second) >= 0)
			continue;
		nc_claim_reseal(launch->claim, authority, &launch->images[i], &number, &second);
		r = nc_claim_check(launch->claim, authority, &launch->images[i], reterr);
	}
	return r;
}

/* Both authorities or neither. *ret_fatal: neither can be vouched for. */
static int reseal(struct nc_launch *launch, struct revision *revision, int *ret_fatal, struct nc_error *reterr)
{
	struct nc_error lasting;
	int r = mark_leaving(launch, launch->names, revision->names, reterr);

	r = r < 0 ? r : nc_claim_reseal(launch->claim, NC_AUTHORITY_WORKLOAD, &revision->images[0], &revision->numbers[0], reterr);
	r = r < 0 ? r : nc_claim_reseal(launch->claim, NC_AUTHORITY_PLANE, &revision->images[1], &revision->numbers[1], reterr);
	if (r >= 0)
		return r;
	*ret_fatal = go_back(launch, &lasting);
	if (*ret_fatal < 0)
		*reterr = lasting;
	return r;
}

/* ---- after the switch -------------------------------------------------------------------------------------------------------------------------------- */

static void exchange(struct nc_launch *launch, struct revision *revision)
{
	struct revision before = {.profile = launch->profile, .text = launch->profile_text, .length = launch->profile_length};

	memcpy(before.names, launch->names, sizeof(before.names));
	memcpy(before.images, launch->images, sizeof(before.images));
	memcpy(before.numbers, revision->numbers, sizeof(before.numbers));
	launch->profile = revision->profile;
	launch->profile_text = revision->text;
	launch->profile_length = revision->length;
	memcpy(launch->names, revision->names, sizeof(launch->names));
	memcpy(launch->images, revision->images, sizeof(launch->images));
	*revision = before;
}

static int exchange_grants(struct nc_launch *launch, int which, const struct nc_names *before, struct nc_error *reterr)
{
	int r = 0;

	for (size_t i = 0; i < before->count && r == 0; i++) {
		const struct nc_grant_port *ports;
		size_t count;

		if (nc_names_ports(&launch->names[which], before->ids[i], &ports, &count))
			r = nc_claim_grant_ports(launch->claim, before->ids[i], ports, count, reterr);
		else if (!NC_MUTANT_OFF("revocation"))
			r = nc_claim_revoke(launch->claim, before->ids[i], reterr);
	}
	return r;
}

static int compare_keys(const void *key, const void *entry)
{
	return memcmp(key, &((const struct nc_policy_entry *)entry)->key, sizeof(struct nc_policy_key));
}

static bool lists(const struct nc_image *image, const struct nc_label *label)
{
	struct nc_policy_key key = {
		.address = label->admitted, .port_be = label->admitted_port_be, .protocol = label->admitted_protocol, .kind = NC_POLICY_LITERAL};

	if (label->name_id) {
		key.address = (union nc_address){.words_be = {0, 0, 0, label->name_id}};
		key.kind = NC_POLICY_NAME;
	}
	return image->count && bsearch(&key, image->entries, image->count, sizeof(*image->entries), compare_keys);
}

/* Whoever spoke for the flow before: does something that is listed now speak for its address? */
static bool lists_otherwise(const struct nc_launch *launch, const struct nc_image *image, const struct nc_label *label)
{
	/* A connection that has shown its name on the wire stands by no other, unless that one opens the address for all. */
	const struct nc_grant_port port = {
		.port_be = label->admitted_port_be, .protocol = label->admitted_protocol, .open = label->flags & NC_LABEL_WIRE_OPEN};
	struct nc_label literal = *label;

	literal.name_id = 0;
	return lists(image, &literal) || nc_claim_granted(launch->claim, image->authority, &label->admitted, &port);
}

/* What nc_still_listed (bpf/verdict.h) says of the socket's admission. The grants are the new policy's already. */
static bool stands(const void *context, const struct nc_label *label)
{
	const struct nc_launch *launch = context;
	const struct nc_image *image = &launch->images[label->slot & 1];

	if (!(label->flags & NC_LABEL_ADMITTED) || (label->flags & NC_LABEL_RESOLVER))
		return true;
	if (image->mode == NC_MODE_NONE)
		return false;
	if ((image->flags & NC_SLOT_LOOPBACK_OPEN) && nc_address_class_of(&label->admitted, &launch->nat64) == NC_CLASS_LOOPBACK)
		return true;
	if (image->mode == NC_MODE_UNRESTRICTED)
		return (image->flags & NC_SLOT_NON_PUBLIC_OPEN) || nc_class_is_public(nc_address_class_of(&label->admitted, &launch->nat64));
	return lists(image, label) || lists_otherwise(launch, image, label);
}

static json_t *image_json(const struct nc_image *image)
{
	char hex[NC_DIGEST_HEX];
	struct nc_digest digest;

	nc_image_digest(image, &digest);
	nc_digest_hex(&digest, hex);
	return json_string(hex);
}

static json_t *policy_json(const struct nc_profile *profile, const struct nc_image images[2])
{
	char hex[NC_DIGEST_HEX];

	nc_digest_hex(&profile->digest, hex);
	return json_pack("{s:s, s:o, s:o}", "profile", hex, "workload", image_json(&images[0]), "plane", image_json(&images[1]));
}

static int no_memory(struct nc_error *reterr)
{
	return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -ENOMEM, "no memory for an event");
}

/* Moves rows of one authority, of those that are more than ROWS_AT_ONCE, into a new array; NULL without memory. */
static json_t *take_rows(const json_t *binding, const char *authority)
{
	json_t *rows = json_object_get(binding, authority), *taken = json_array();

	while (json_array_size(rows) > ROWS_AT_ONCE && json_array_size(taken) < ROWS_AT_ONCE) {
		size_t last = json_array_size(rows) - 1;

		if (json_array_append(taken, json_array_get(rows, last)) < 0) {
			json_decref(taken);
			return NULL;
		}
		json_array_remove(rows, last);
	}
	return taken;
}

/* Names that the record of the update has no room for stand in records of their own before it. */
static int record_names(struct nc_launch *launch, json_t *binding, struct nc_error *reterr)
{
	int r = 0;

	while (r == 0 && (json_array_size(json_object_get(binding, "workload")) > ROWS_AT_ONCE ||
			  json_array_size(json_object_get(binding, "plane")) > ROWS_AT_ONCE)) {
		NC_JSON json_t *names = json_pack("{s:s, s:{s:o, s:o}}", "kind", "names", "name_binding", "workload", take_rows(binding, "workload"),
						  "plane", take_rows(binding, "plane"));

		r = names ? nc_evidence_append(launch->evidence, names, reterr) : no_memory(reterr);
	}
	return r;
}

static int record(struct nc_launch *launch, const struct revision *before, uint32_t ended, struct nc_error *reterr)
{
	NC_JSON json_t *binding = nc_launch_name_binding(launch->profile, launch->images), *event = NULL;
	int r = binding ? record_names(launch, binding, reterr) : no_memory(reterr);

	if (r < 0)
		return r;
	event = json_pack("{s:s, s:O, s:o, s:o, s:{s:o, s:o}, s:I}", "kind", "update", "name_binding", binding, "before",
			  policy_json(before->profile, before->images), "now", policy_json(launch->profile, launch->images), "revision", "workload",
			  nc_json_u64(before->numbers[0]), "plane", nc_json_u64(before->numbers[1]), "flows_ended", (json_int_t)ended);
	if (!event)
		return no_memory(reterr);
	return nc_evidence_append(launch->evidence, event, reterr) ?: nc_evidence_checkpoint(launch->evidence, "updated", NULL, reterr);
}

static int await(struct nc_launch *launch, const bool *flag, struct nc_error *reterr)
{
	int64_t until = nc_now_ns() + EDGE_WAIT_MS * 1000000ll;
	int r = 0;

	while (r == 0 && !*flag) {
		struct pollfd edge = {.fd = launch->edge.fd, .events = POLLIN};

		if (nc_now_ns() >= until)
			return nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "the edge does not answer");
		poll(&edge, 1, 100);
		r = nc_watch_edge(launch, reterr);
	}
	return r;
}

/* Every record that is there, from the edge, or from the ring where there is none. */
static int await_flushed(struct nc_launch *launch, bool last, struct nc_error *reterr)
{
	int r;

	if (launch->events)
		return nc_launch_events_finish(launch, reterr);
	launch->edge.flushed = false;
	r = last ? nc_edge_finish(&launch->edge) : nc_edge_flush(&launch->edge);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "the edge is gone") : await(launch, &launch->edge.flushed, reterr);
}

/* A resolver came or went. What waits at the sockets that stay is answered by the new edge. */
static int renew_edge(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = await_flushed(launch, true, reterr);

	if (r < 0)
		return r;
	nc_edge_end(&launch->edge);
	r = nc_launch_start_edge(launch, reterr);
	return r < 0 || launch->events ? r : await(launch, &launch->edge.ready, reterr);
}

static int exchange_names(struct nc_launch *launch, const struct revision *before, struct nc_error *reterr)
{
	bool anew = false;
	int r;

	if (!launch->names[0].count && !launch->names[1].count && !before->names[0].count && !before->names[1].count)
		return 0;
	r = nc_launch_names_changed(launch, &anew, reterr);
	return r < 0 ? r : anew ? renew_edge(launch, reterr) : await_flushed(launch, false, reterr);
}

static int follow_up(struct nc_launch *launch, struct revision *before, uint32_t *ret_ended, struct nc_error *reterr)
{
	/* clang-format off */
	return exchange_grants(launch, 0, &before->names[0], reterr) ?:
	       exchange_grants(launch, 1, &before->names[1], reterr) ?:
	       (NC_MUTANT_OFF("flows_end") ? 0 : nc_claim_end_flows(launch->claim, launch->netns_fd, stands, launch, ret_ended, reterr)) ?:
	       record(launch, before, *ret_ended, reterr) ?:
	       exchange_names(launch, before, reterr) ?:
	       nc_launch_write_state(launch, reterr);
	/* clang-format on */
}

/* ---- the socket -------------------------------------------------------------------------------------------------------------------------------------- */

int nc_update_listen(struct nc_launch *launch, struct nc_error *reterr)
{
	NC_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	NC_CLOSE int folder = open(nc_claim_folder(launch->claim), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	struct sockaddr_un address;

	if (fd < 0 || folder < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "make the socket for updates");
	nc_update_address(folder, &address);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "listen for updates in %s", nc_claim_folder(launch->claim));
	launch->update_fd = NC_TAKE_FD(fd);
	return 0;
}

static int receive_profile(int fd, struct revision *revision, struct nc_error *reterr)
{
	size_t room = 1u << 16;

	revision->text = malloc(room);
	for (;;) {
		ssize_t n;
		char *grown;

		if (!revision->text)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the profile");
		n = recv(fd, revision->text + revision->length, room - revision->length - 1, 0);
		if (n < 0)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "receive the profile");
		if (n == 0)
			break;
		revision->length += (size_t)n;
		if (room - revision->length > 1)
			continue;
		if (room >= NC_UPDATE_MAX)
			return nc_error_set(reterr, NC_E_PROFILE_INVALID, -E2BIG, "the profile is too long");
		room *= 4;
		grown = realloc(revision->text, room);
		if (!grown)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the profile");
		revision->text = grown;
	}
	revision->text[revision->length] = '\0';
	return 0;
}

int nc_update_step(struct nc_launch *launch, bool ending, struct nc_error *reterr)
{
	NC_CLOSE int fd = accept4(launch->update_fd, NULL, NULL, SOCK_CLOEXEC);
	const struct timeval patience = {.tv_sec = 2}; /* only root can connect, and it has the profile ready */
	struct revision revision = {0};
	struct nc_update_answer answer = {.magic = NC_UPDATE_MAGIC};
	int r, fatal = 0;

	if (fd < 0)
		return 0; /* whoever asked is gone */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	r = receive_profile(fd, &revision, &answer.error);
	if (r == 0 && ending)
		r = nc_error_set(&answer.error, NC_E_INSTANCE_ENDING, -ESHUTDOWN, "instance %s is being ended", launch->instance);
	r = r < 0 ? r : prepare(launch, &revision, &answer.error) ?: reseal(launch, &revision, &fatal, &answer.error);
	if (r == 0) {
		exchange(launch, &revision);
		r = fatal = follow_up(launch, &revision, &answer.ended, &answer.error);
	}
	if (r < 0 && fatal == 0)
		nc_json_forget_memory(); /* what there was no memory for was the other policy's, and is given up */
	answer.status = r;
	send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
	revision_free(&revision);
	if (fatal < 0)
		*reterr = answer.error;
	return fatal;
}
