/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_stage.c - the constructions of the matrix
 *
 * Each construction decides three things: where the target is and what it is called, what the profile lists, and what the resolver says. The rest
 * (listeners, tokens, the twin) is the same for all of them. The twin is a listed destination beside the attempt: who does not reach it shows
 * nothing by not reaching the target.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_stage.h"
#include "driver.h"
#include "plain.h"

#define CONTROL_WAIT_MS 4000  /* an answer comes at once, unless the machine is busy */
#define NFT_WAIT_MS 30000     /* the first rule has the kernel look for its modules, which an emulated machine does slowly */
#define ENFORCED_WAIT_MS 3300 /* a SYN is sent at 0, 1 and 3 s: several retransmissions pass, or do not, while the captures look */

static int place(struct nc_theatre *theatre, struct nc_spot *spot, struct nc_error *reterr)
{
	nc_address_text(&spot->address, spot->literal);
	if (!*spot->host)
		snprintf(spot->host, sizeof(spot->host), "%s", spot->literal);
	nc_pick_token(spot->answer);
	return nc_world_address(theatre->world, spot->site, &spot->address, reterr);
}

static int new_spot(struct nc_theatre *theatre, const struct nc_case *row, enum nc_site site, const char *class, struct nc_spot *spot,
		    struct nc_error *reterr)
{
	int r = nc_pick_address(theatre, row->family, class, &spot->address, reterr);

	spot->site = site;
	spot->protocol = row->protocol;
	if (!spot->port)
		spot->port = nc_pick_port();
	return r < 0 ? r : place(theatre, spot, reterr);
}

/* Another port, another protocol or another bit of the listed destination. */
static int beside(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	stage->target = stage->listed;
	stage->target.protocol = stage->row->protocol;
	*stage->target.host = '\0';
	if (stage->row->construction == NC_CONSTRUCTION_PORT || stage->row->construction == NC_CONSTRUCTION_REDIRECT_PORT)
		stage->target.port = (uint16_t)(stage->listed.port + 1);
	if (stage->row->construction == NC_CONSTRUCTION_BIT)
		stage->target.address.bytes[15] ^= 1;
	return place(theatre, &stage->target, reterr);
}

static int say(struct nc_theatre *theatre, const char *name, const union nc_address *address, const char *alias, uint32_t ttl,
	       struct nc_error *reterr)
{
	struct nc_dns_answer answer = {.count = 1};

	answer.records[0].ttl = ttl;
	if (alias)
		snprintf(answer.records[0].alias, sizeof(answer.records[0].alias), "%s", alias);
	else
		answer.records[0].address = *address;
	return nc_observer_name(theatre->observer, name, &answer, reterr);
}

/* The target's name beside the listed one, N: the ways in which a comparison of names goes wrong. */
static void look_alike(enum nc_construction construction, const char *listed, char *ret_name, size_t size)
{
	switch (construction) {
	case NC_CONSTRUCTION_NAME_BYTE:
		snprintf(ret_name, size, "%s", listed);
		ret_name[3] = ret_name[3] == 'z' ? 'a' : (char)(ret_name[3] + 1);
		return;
	case NC_CONSTRUCTION_NAME_SUFFIX:
		snprintf(ret_name, size, "not%.200s", listed);
		return;
	case NC_CONSTRUCTION_NAME_BELOW:
		snprintf(ret_name, size, "x.%.200s", listed);
		return;
	case NC_CONSTRUCTION_NAME_PREFIX:
		snprintf(ret_name, size, "%.200s.evil.test", listed);
		return;
	default:
		nc_pick_name(ret_name, size);
	}
}

static int named_target(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	const struct nc_case *row = stage->row;
	char inner[254]; /* a name, as the answer holds it */
	int r;

	switch (row->construction) {
	case NC_CONSTRUCTION_ANSWER_CLASS:
	case NC_CONSTRUCTION_ANSWER_ALIAS:
	case NC_CONSTRUCTION_ANSWER_SECOND:
		/* The hard version: the port that a TLS client would use, with somebody there who accepts. */
		stage->target.port = 443;
		r = new_spot(theatre, row, NC_SITE_PRIVATE,
			     row->variant[0]	? row->variant
			     : row->family == 4 ? "private10"
						: "uniquelocal",
			     &stage->target, reterr);
		nc_pick_name(stage->target.host, sizeof(stage->target.host));
		break;
	default:
		r = new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
		nc_pick_name(stage->target.host, sizeof(stage->target.host));
	}
	if (r < 0)
		return r;
	if (row->construction == NC_CONSTRUCTION_ANSWER_ALIAS) {
		nc_pick_name(inner, sizeof(inner));
		r = say(theatre, stage->target.host, NULL, inner, 30, reterr);
		return r < 0 ? r : say(theatre, inner, &stage->target.address, NULL, 30, reterr);
	}
	if (row->construction == NC_CONSTRUCTION_ANSWER_SECOND) {
		/* The first answer is a listed public destination of the same name and port. */
		stage->listed.port = 443;
		r = new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);
		if (!r)
			r = say(theatre, stage->target.host, &stage->listed.address, NULL, 0, reterr);
		if (r < 0)
			return r;
	}
	return say(theatre, stage->target.host, &stage->target.address, NULL, 0, reterr);
}

static int look_alike_target(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	int r = new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);

	if (r < 0)
		return r;
	nc_pick_name(stage->listed.host, sizeof(stage->listed.host));
	r = say(theatre, stage->listed.host, &stage->listed.address, NULL, 30, reterr);
	stage->target.port = stage->listed.port;
	if (!r)
		r = new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
	look_alike(stage->row->construction, stage->listed.host, stage->target.host, sizeof(stage->target.host));
	return r < 0 ? r : say(theatre, stage->target.host, &stage->target.address, NULL, 30, reterr);
}

/* The port is random, the address is not: the namespace is this run's alone. */
static void inside_target(struct nc_theatre *theatre, struct nc_stage *stage)
{
	static const union nc_address loopback4 = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}, loopback6 = {.bytes = {[15] = 1}};

	stage->target.site = NC_SITE_WORKLOAD;
	stage->target.protocol = stage->row->protocol;
	stage->target.port = nc_pick_port();
	stage->target.address = stage->row->family == 4 ? loopback4 : loopback6;
	if (stage->row->construction == NC_CONSTRUCTION_SELF_LINK)
		nc_world_link_address(theatre->world, NC_SITE_WORKLOAD, stage->row->family, &stage->target.address);
	nc_address_text(&stage->target.address, stage->target.literal);
	snprintf(stage->target.host, sizeof(stage->target.host), "%s", stage->target.literal);
	nc_pick_token(stage->target.answer);
}

/* A group beyond the link that nobody else has (RFC 2365: 239.0.0.0/8; RFC 4291: a transient group of the organisation's scope). */
static void group_target(struct nc_stage *stage)
{
	union nc_address *group = &stage->target.address;

	if (getrandom(group->bytes, sizeof(group->bytes), 0) != (ssize_t)sizeof(group->bytes))
		abort();
	if (stage->row->family == 4)
		memcpy(group->bytes, (unsigned char[13]){[10] = 0xff, [11] = 0xff, [12] = 239}, 13);
	else
		memcpy(group->bytes, (unsigned char[2]){0xff, 0x18}, 2);
	stage->target.site = NC_SITE_CORE;
	nc_address_text(group, stage->target.literal);
	snprintf(stage->target.host, sizeof(stage->target.host), "%s", stage->target.literal);
	nc_pick_token(stage->target.answer);
}

/* The target is a listed name; `listed` is the name that is shown in its place: listed nowhere, at an address of its own, or at the target's address and
 * another port. */
static int wire_target(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	enum nc_construction construction = stage->row->construction;
	const union nc_address *shown = &stage->target.address;
	int r = new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->target, reterr);

	stage->wire = *stage->row->variant ? stage->row->variant : construction == NC_CONSTRUCTION_WIRE_UDP ? "tls" : "http";
	nc_pick_name(stage->target.host, sizeof(stage->target.host));
	if (!r && construction == NC_CONSTRUCTION_WIRE_OTHER) {
		r = new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);
		shown = &stage->listed.address;
	}
	/* A check without the port in its comparison has to compare with some port: this one, in netcordon's mutant. */
	stage->listed.port = construction == NC_CONSTRUCTION_WIRE_OTHER_PORT ? 443 : stage->target.port;
	stage->listed.protocol = IPPROTO_TCP;
	nc_pick_name(stage->listed.host, sizeof(stage->listed.host));
	if (!r)
		r = say(theatre, stage->target.host, &stage->target.address, NULL, 30, reterr);
	return r < 0 ? r : say(theatre, stage->listed.host, shown, NULL, 30, reterr);
}

/*
 * An address behind a prefix of 96 bits (RFC 6052, 2.2: the ninth octet is zero). The network's own is such that only who was told of it judges rightly: public
 * by itself where what it carries is not, and of the local ones (RFC 8215), which are refused unless they are named, where it carries a public
 * address. That one is the answer to a listed name.
 */
static int nat64_target(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	static const union nc_address known = {.bytes = {0x00, 0x64, 0xff, 0x9b}};
	static const unsigned char local[] = {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};
	bool listed = stage->row->construction == NC_CONSTRUCTION_NAT64_LISTED;
	union nc_address prefix = known, carried;
	int r = nc_pick_address(theatre, 4, listed ? NULL : stage->row->variant, &carried, reterr);

	if (r == 0 && strcmp(stage->row->variant, "known")) {
		r = nc_pick_address(theatre, 6, NULL, &prefix, reterr);
		if (listed)
			memcpy(prefix.bytes, local, sizeof(local));
		memset(prefix.bytes + 8, 0, 8);
		nc_address_text(&prefix, stage->target.literal);
		snprintf(stage->nat64, sizeof(stage->nat64), "%s/96", stage->target.literal);
	}
	memcpy(prefix.bytes + 12, carried.bytes + 12, 4);
	stage->target.address = prefix;
	stage->target.site = listed ? NC_SITE_INTERNET : NC_SITE_PRIVATE;
	stage->target.protocol = stage->row->protocol;
	stage->target.port = nc_pick_port();
	if (r < 0 || !listed || !*stage->nat64)
		return r < 0 ? r : place(theatre, &stage->target, reterr);
	nc_pick_name(stage->target.host, sizeof(stage->target.host));
	return place(theatre, &stage->target, reterr) ?: say(theatre, stage->target.host, &stage->target.address, NULL, 30, reterr);
}

/* The constructions that have a listed destination of their own beside the twin, or an actor of the matrix. */
static int acted_target(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	int r = 0;

	switch (stage->row->construction) {
	case NC_CONSTRUCTION_GROUP:
		group_target(stage);
		return 0;
	case NC_CONSTRUCTION_REWRITTEN:
	case NC_CONSTRUCTION_ROUTED:
		r = new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);
		return r < 0 ? r : new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
	case NC_CONSTRUCTION_NAT64:
	case NC_CONSTRUCTION_NAT64_LISTED:
		return nat64_target(theatre, stage, reterr);
	case NC_CONSTRUCTION_HOST_LISTED:
		return new_spot(theatre, stage->row, NC_SITE_EDGE, NULL, &stage->target, reterr);
	case NC_CONSTRUCTION_SELF_LISTED:
		return new_spot(theatre, stage->row, NC_SITE_WORKLOAD, NULL, &stage->target, reterr);
	case NC_CONSTRUCTION_HANDED_BY_PLANE:
		return new_spot(theatre, stage->row, NC_SITE_PLANE, NULL, &stage->target, reterr);
	case NC_CONSTRUCTION_IMPOSTOR:
	case NC_CONSTRUCTION_HELPERS_DEAD:
		/* A listed name, for without one there is nothing that serves names. */
		nc_pick_name(stage->listed.host, sizeof(stage->listed.host));
		stage->target.port = stage->row->construction == NC_CONSTRUCTION_IMPOSTOR ? 53 : 0;
		return new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
	case NC_CONSTRUCTION_WIRE_NAME:
	case NC_CONSTRUCTION_WIRE_OTHER:
	case NC_CONSTRUCTION_WIRE_OTHER_PORT:
	case NC_CONSTRUCTION_WIRE_OWN:
	case NC_CONSTRUCTION_WIRE_UDP:
		return wire_target(theatre, stage, reterr);
	case NC_CONSTRUCTION_NAME_GONE:
	case NC_CONSTRUCTION_EXPIRED:
		r = new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
		nc_pick_name(stage->target.host, sizeof(stage->target.host));
		return r < 0 ? r : say(theatre, stage->target.host, &stage->target.address, NULL, 1, reterr);
	default:
		return new_spot(theatre, stage->row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
	}
}

static int set_spots(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	const struct nc_case *row = stage->row;
	int r;

	switch (row->construction) {
	case NC_CONSTRUCTION_PORT:
		/* A guard without the port in its comparison has to compare with some port: this one, in netcordon's mutant. */
		stage->listed.port = stage->twin.port = 443;
		r = new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);
		return r < 0 ? r : beside(theatre, stage, reterr);
	case NC_CONSTRUCTION_PROTOCOL:
	case NC_CONSTRUCTION_BIT:
	case NC_CONSTRUCTION_REDIRECT_PORT:
		r = new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);
		if (row->construction == NC_CONSTRUCTION_PROTOCOL)
			stage->listed.protocol = IPPROTO_TCP;
		return r < 0 ? r : beside(theatre, stage, reterr);
	case NC_CONSTRUCTION_NAME_BYTE:
	case NC_CONSTRUCTION_NAME_SUFFIX:
	case NC_CONSTRUCTION_NAME_BELOW:
	case NC_CONSTRUCTION_NAME_PREFIX:
		return look_alike_target(theatre, stage, reterr);
	case NC_CONSTRUCTION_NAMED:
	case NC_CONSTRUCTION_ANSWER_CLASS:
	case NC_CONSTRUCTION_ANSWER_ALIAS:
	case NC_CONSTRUCTION_ANSWER_SECOND:
		return named_target(theatre, stage, reterr);
	case NC_CONSTRUCTION_REDIRECT_LISTED:
	case NC_CONSTRUCTION_REDIRECT_OTHER:
	case NC_CONSTRUCTION_REDIRECT_PRIVATE:
		r = new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->listed, reterr);
		if (r < 0)
			return r;
		if (row->construction != NC_CONSTRUCTION_REDIRECT_PRIVATE)
			return new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
		return new_spot(theatre, row, NC_SITE_PRIVATE, row->family == 4 ? "private10" : "uniquelocal", &stage->target, reterr);
	case NC_CONSTRUCTION_SELF:
	case NC_CONSTRUCTION_SELF_LINK:
		inside_target(theatre, stage);
		return 0;
	case NC_CONSTRUCTION_DNS:
		stage->target.port = 53;
		return new_spot(theatre, row, NC_SITE_INTERNET, NULL, &stage->target, reterr);
	case NC_CONSTRUCTION_LITERAL_CLASS:
		stage->target.port = 443;
		return new_spot(theatre, row, NC_SITE_PRIVATE, row->variant, &stage->target, reterr);
	case NC_CONSTRUCTION_PLANE_LISTED:
	case NC_CONSTRUCTION_PLANE_BY_WORKLOAD:
	case NC_CONSTRUCTION_CREDENTIAL:
		return new_spot(theatre, row, NC_SITE_PLANE, NULL, &stage->target, reterr);
	default:
		return acted_target(theatre, stage, reterr);
	}
}

/* ---- listeners ---------------------------------------------------------------------------------------------------------------------------- */

static int listen_at(struct nc_theatre *theatre, const struct nc_stage *stage, const struct nc_spot *spot, struct nc_error *reterr)
{
	struct nc_listener listener = {.address = spot->address, .port = spot->port, .protocol = spot->protocol};
	bool target = spot == &stage->target;
	int r;

	/* The kernel answers an echo request; the peer that dials uses the target's address itself. */
	if (!spot->port || (target && theatre->listeners_off) || spot->protocol == IPPROTO_ICMP || spot->protocol == IPPROTO_ICMPV6 ||
	    (target && (stage->row->construction == NC_CONSTRUCTION_LISTEN || stage->row->flags & NC_CASE_ON_WIRE)))
		return 0;
	if (!*spot->literal)
		return 0; /* a name without an address of its own */
	memcpy(listener.answer, spot->answer, sizeof(listener.answer));
	if (target && stage->row->construction == NC_CONSTRUCTION_PLANE_LISTED)
		listener.challenge = stage->credential;
	if (spot == &stage->listed && !strncmp(nc_construction_word(stage->row->construction), "redirect_", 9)) {
		bool bracket = strchr(stage->target.host, ':');

		listener.status = atoi(stage->row->variant);
		snprintf(listener.location, sizeof(listener.location), "http://%s%s%s:%u/%s", bracket ? "[" : "", stage->target.host,
			 bracket ? "]" : "", stage->target.port, stage->token);
	}
	r = nc_observer_listen(theatre->observer, nc_world_netns(theatre->world, spot->site), &listener, reterr);
	/* Then the client will say that the path is impossible. */
	return r == -EPROTONOSUPPORT || r == -ESOCKTNOSUPPORT ? 0 : r;
}

static int set_commands(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	/* An update takes its time, and the flow must still be there when it is done. */
	int wait_ms = stage->kind == NC_RUN_ENFORCED || stage->row->construction == NC_CONSTRUCTION_TIGHTENED ? ENFORCED_WAIT_MS : CONTROL_WAIT_MS;
	/* What is reached shows by itself that the network works. */
	bool twin =
		stage->has_twin && (stage->kind == NC_RUN_ENFORCED || (stage->kind == NC_RUN_MUTANT && stage->row->expectation == NC_EXPECT_REACHED));

	stage->command = nc_client_command(theatre, stage->row->client, stage, &stage->target, stage->token, wait_ms);
	stage->twin_command = twin ? nc_client_command(theatre, "curl", stage, &stage->twin, stage->twin_token, CONTROL_WAIT_MS) : NULL;
	stage->profile = nc_stage_profile(stage);
	return stage->command && stage->profile ? 0 : nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "set up the run");
}

static int make_folder(const struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	snprintf(stage->folder, sizeof(stage->folder), "%.60s/meet-XXXXXX", theatre->scratch);
	if (!mkdtemp(stage->folder) || chmod(stage->folder, 0777) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "make a folder for the run");
	snprintf(stage->door, sizeof(stage->door), "%s/door", stage->folder);
	snprintf(stage->go, sizeof(stage->go), "%s/go", stage->folder);
	snprintf(stage->pins, sizeof(stage->pins), "%s/pins", stage->folder);
	snprintf(stage->outside, sizeof(stage->outside), "%s/outside", stage->folder);
	snprintf(stage->policy, sizeof(stage->policy), "%s/policy", stage->folder);
	return 0;
}

/* A rule of the host's in the workload's own namespace, as a service proxy makes them. Where there is no nft the case fails, and the matrix goes on. */
static void rewrite(const struct nc_theatre *theatre, struct nc_stage *stage)
{
	const struct nc_spot *from = &stage->listed, *to = &stage->target;
	bool v4 = stage->row->family == 4;
	char rules[512], netns[64], *argv[] = {"nft", "-f", "-", NULL};
	struct nc_plain inside = {.netns = netns, .privileged = true};
	NC_FREE char *output = NULL;
	size_t length;
	int status = 0, r;

	snprintf(rules, sizeof(rules),
		 "table inet rewrite {\n chain output {\n type nat hook output priority -100; policy accept;\n %s daddr %s %s dport %u dnat %s to "
		 "%s%s%s:%u\n }\n}\n",
		 v4 ? "ip" : "ip6", from->literal, from->protocol == IPPROTO_UDP ? "udp" : "tcp", from->port, v4 ? "ip" : "ip6", v4 ? "" : "[",
		 to->literal, v4 ? "" : "]", to->port);
	nc_netns_path(theatre, NC_SITE_WORKLOAD, netns);
	r = nc_spawn_bounded(argv, rules, strlen(rules), NFT_WAIT_MS, &status, &output, &length, nc_plain_enter, &inside);
	if (r < 0 || status)
		nc_error_set(&stage->failure, NC_E_WORLD_FAILED, r < 0 ? r : -EIO, "nft cannot make a rule that rewrites a destination: %.120s",
			     output ? output : strerror(-r));
}

static int set_up(struct nc_theatre *theatre, struct nc_stage *stage, struct nc_error *reterr)
{
	struct nc_case twin_row = *stage->row;
	union nc_address own;
	int r = nc_world_renew_workload(theatre->world, reterr);

	twin_row.protocol = IPPROTO_TCP;
	/* Now that the last run's namespace is gone: a listener that closes before would have the kernel answer from there. */
	nc_observer_quiet(theatre->observer);
	nc_world_link_address(theatre->world, NC_SITE_WORKLOAD, stage->row->family, &own);
	nc_address_text(&own, stage->own);
	if (!r)
		r = set_spots(theatre, stage, reterr);
	if (!r)
		r = make_folder(theatre, stage, reterr);
	if (!r && stage->has_twin)
		r = new_spot(theatre, &twin_row, nc_stage_by_plane(stage->row) ? NC_SITE_PLANE : NC_SITE_INTERNET, NULL, &stage->twin, reterr);
	if (!r)
		r = listen_at(theatre, stage, &stage->target, reterr);
	if (!r)
		r = listen_at(theatre, stage, &stage->listed, reterr);
	if (!r)
		r = listen_at(theatre, stage, &stage->twin, reterr);
	if (!r && stage->row->construction == NC_CONSTRUCTION_REWRITTEN)
		rewrite(theatre, stage);
	return r < 0 ? r : set_commands(theatre, stage, reterr);
}

int nc_stage_set(struct nc_theatre *theatre, const struct nc_case *row, enum nc_run_kind kind, struct nc_stage *ret_stage, struct nc_error *reterr)
{
	/* In place: listeners borrow the credential. */
	*ret_stage = (struct nc_stage){
		.row = row, .kind = kind, .authority = nc_stage_by_plane(row) ? "plane" : "workload", .begun = nc_observer_count(theatre->observer)};
	ret_stage->since = ret_stage->begun;
	ret_stage->has_twin = row->construction != NC_CONSTRUCTION_NONE;
	nc_pick_token(ret_stage->token);
	nc_pick_token(ret_stage->twin_token);
	nc_pick_token(ret_stage->credential);
	return set_up(theatre, ret_stage, reterr);
}

void nc_stage_strike(struct nc_stage *stage)
{
	if (*stage->folder) {
		unlink(stage->door);
		unlink(stage->go);
		rmdir(stage->folder);
	}
	json_decref(stage->profile);
	json_decref(stage->command);
	json_decref(stage->twin_command);
	stage->profile = stage->command = stage->twin_command = NULL;
}
