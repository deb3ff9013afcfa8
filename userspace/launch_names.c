/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_names.c - the supervisor's part in resolving: sockets, marks, grants
 *
 * Each authority whose policy lists names has a resolver of its own: sockets, names, grants. The sockets are made here, by root, inside the workload's network
 * namespace, and marked in the kernel before they are bound: a redirect of port 53 goes to a socket with the mark of that authority and to nothing
 * else that may sit at its endpoint later, and no other instance whose loopback this is reaches one. The four of a resolver are on one port that is
 * free for them. The edge serves them; when it asks for a grant, whose name it is is seen from the id, what the grant may open is looked up in the
 * policy here, and an address that is not public is refused once more.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "address.h"
#include "cleanup.h"
#include "clock.h"
#include "evidence_names.h"
#include "host.h"
#include "json.h"
#include "launch_state.h"
#include "mutants.h"

#define PORT_TRIES 32
#define BACKLOG 64

static enum nc_authority authority_at(int i)
{
	return i ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD;
}

/* ---- sockets --------------------------------------------------------------------------------------------------------------------------------------- */

static int open_one(struct nc_claim *claim, enum nc_authority authority, int i, uint16_t port_be)
{
	static const int families[4] = {AF_INET, AF_INET6, AF_INET, AF_INET6};
	static const int types[4] = {SOCK_DGRAM, SOCK_DGRAM, SOCK_STREAM, SOCK_STREAM};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port_be, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port_be, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	NC_CLOSE int fd = socket(families[i], types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct nc_error error = {0};
	int one = 1, r;

	if (fd < 0)
		return -errno;
	r = nc_claim_mark_resolver(claim, authority, fd, &error);
	if (r < 0)
		return r;
	if (families[i] == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		return -errno;
	if ((families[i] == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4)) : bind(fd, (struct sockaddr *)&v6, sizeof(v6))) < 0)
		return -errno;
	if (types[i] == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		return -errno;
	return NC_TAKE_FD(fd);
}

static void close_sockets(struct nc_edge_resolver *resolver)
{
	for (int i = 0; i < 4; i++)
		nc_forget_fd(&resolver->sockets[i]);
}

static int open_all(struct nc_claim *claim, enum nc_authority authority, struct nc_edge_resolver *resolver, uint16_t *ret_port_be)
{
	uint16_t port_be = 0;

	for (int i = 0; i < 4; i++) {
		struct sockaddr_in bound;
		socklen_t length = sizeof(bound);
		int fd = open_one(claim, authority, i, port_be);

		if (fd < 0 && i % 2 == 1 && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL))
			continue; /* a namespace without IPv6 has no question by IPv6 either */
		if (fd < 0)
			return fd;
		resolver->sockets[i] = fd;
		if (i == 0) {
			if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0)
				return -errno;
			port_be = bound.sin_port;
		}
	}
	*ret_port_be = port_be;
	return 0;
}

/* For each authority that lists names and has no sockets yet. */
static int open_sockets(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		struct nc_edge_resolver *resolver = &launch->resolvers[i];

		r = launch->names[i].count && resolver->sockets[0] < 0 ? -EADDRINUSE : 0;
		for (int tries = 0; r == -EADDRINUSE && tries < PORT_TRIES; tries++) {
			r = open_all(launch->claim, authority_at(i), resolver, &launch->resolver_port_be[i]);
			if (r < 0)
				close_sockets(resolver);
		}
	}
	if (r == 0)
		return 0;
	nc_error_sys(reterr, NC_E_SYSTEM, r, "open the resolver's sockets on the loopback of the workload's network namespace");
	return nc_error_hint(reterr, "bring up its loopback device: ip link set lo up");
}

/* ---- before the edge starts ------------------------------------------------------------------------------------------------------------------------ */

/* The configured servers, or the host's own. The edge asks from the supervisor's network namespace. */
static int find_upstreams(const struct nc_launch *launch, struct nc_upstreams *ret_upstreams, struct nc_error *reterr)
{
	struct nc_upstreams found = {0};
	int r;

	while (found.count < launch->options->upstream_count && found.count < NC_UPSTREAMS_MAX) {
		nc_upstream_from_address(&launch->options->upstreams[found.count], &found.servers[found.count]);
		found.count++;
	}
	if (found.count) {
		*ret_upstreams = found;
		return 0;
	}
	r = nc_upstreams_from_resolv_conf("/etc/resolv.conf", ret_upstreams);
	if (r == 0)
		return 0;
	nc_error_sys(reterr, NC_E_CONFIG_INVALID, r, "find a name server in /etc/resolv.conf");
	return nc_error_hint(reterr, "name one as `upstreams` in the configuration file");
}

static int make_config(struct nc_launch *launch, int i, struct nc_error *reterr)
{
	struct nc_edge_resolver *resolver = &launch->resolvers[i];
	struct nc_edge_config head = {
		.magic = NC_EDGE_CONFIG_MAGIC,
		.name_count = (uint32_t)launch->names[i].count,
		.authority = authority_at(i),
		.settings = launch->nat64,
	};
	int r = find_upstreams(launch, &head.upstreams, reterr);

	if (r < 0)
		return r;
	for (int j = 0; j < 4; j++)
		head.sockets |= resolver->sockets[j] >= 0 ? 1u << j : 0;
	if (NC_MUTANT_OFF("resolver_cache"))
		head.ttl_floor = head.ttl_ceiling = head.grace = 1;
	head.keep_non_public = NC_MUTANT_OFF("resolver_filter");
	nc_forget_fd(&resolver->config_fd);
	return nc_edge_config_make(&head, launch->names[i].wire, &resolver->config_fd, reterr);
}

/* The prefixes that the kernel judges by now. The claim is held: from here on some may be added, by other launches, and none goes. */
static int take_nat64(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = nc_host_settings(launch->host, launch->options->host, &launch->nat64, reterr);

	if (r == 0)
		launch->sealed_nat64 = launch->nat64;
	return r;
}

int nc_launch_names_open(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = launch->sealed_told ? nc_host_settings(launch->host, NULL, &launch->nat64, reterr) : take_nat64(launch, reterr);

	if (r < 0 || (!launch->names[0].count && !launch->names[1].count))
		return r;
	r = nc_launch_in_netns(launch, open_sockets, reterr);
	for (int i = 0; r == 0 && i < 2; i++)
		if (launch->names[i].count)
			r = make_config(launch, i, reterr);
	return r;
}

int nc_launch_names_publish(struct nc_launch *launch, struct nc_error *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++)
		if (launch->names[i].count)
			r = nc_claim_resolver(launch->claim, authority_at(i), launch->resolver_port_be[i], reterr);
	return r;
}

/* The edge keeps its sockets, its cache of the names that stay, and the questions that it is looking up. */
static int exchange_names(struct nc_launch *launch, int i, struct nc_error *reterr)
{
	int r = make_config(launch, i, reterr);

	if (r < 0)
		return r;
	r = nc_edge_exchange_names(&launch->edge, i, launch->resolvers[i].config_fd);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "tell the edge of other names") : 0;
}

int nc_launch_names_changed(struct nc_launch *launch, bool *ret_anew, struct nc_error *reterr)
{
	bool anew = false;
	int r = nc_host_settings(launch->host, NULL, &launch->nat64, reterr);

	for (int i = 0; r == 0 && i < 2; i++) {
		bool had = launch->resolvers[i].sockets[0] >= 0, has = launch->names[i].count > 0;

		if (had && has)
			r = exchange_names(launch, i, reterr);
		if (had && !has) {
			close_sockets(&launch->resolvers[i]);
			nc_forget_fd(&launch->resolvers[i].config_fd);
			r = nc_claim_resolver(launch->claim, authority_at(i), 0, reterr);
		}
		anew |= had != has;
	}
	*ret_anew = anew;
	return r ?: anew ? nc_launch_names_open(launch, reterr) ?: nc_launch_names_publish(launch, reterr) : 0;
}

void nc_launch_names_close(struct nc_launch *launch)
{
	for (int i = 0; i < 2; i++) {
		close_sockets(&launch->resolvers[i]);
		nc_forget_fd(&launch->resolvers[i].config_fd);
	}
}

/* ---- while it runs --------------------------------------------------------------------------------------------------------------------------------- */

static int install(struct nc_launch *launch, const struct nc_edge_grant *grant, size_t count)
{
	const struct nc_grant_port *ports;
	size_t port_count;

	launch->grant_error = (struct nc_error){0};
	if (!nc_names_ports(&launch->names[!!(grant->name_id & NC_NAME_ID_PLANE)], grant->name_id, &ports, &port_count))
		return -ENOENT;
	if (nc_host_settings(launch->host, NULL, &launch->nat64, &launch->grant_error) < 0) /* another launch may have added a prefix since */
		return launch->grant_error.status;
	for (size_t i = 0; i < count; i++) {
		if (!NC_MUTANT_OFF("grant_filter") && !nc_class_is_public(nc_address_class_of(&grant->addresses[i], &launch->nat64)))
			return -EADDRNOTAVAIL;
	}
	return nc_claim_grant(launch->claim, grant->name_id, grant->addresses, count, ports, port_count,
			      NC_MUTANT_OFF("resolver_cache") ? 1 : grant->lifetime, &launch->grant_error);
}

int nc_launch_grant(struct nc_launch *launch, const struct nc_edge_message *message, struct nc_error *reterr)
{
	int status = install(launch, &message->grant, message->count);
	int r = nc_edge_granted(&launch->edge, status);

	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "answer the edge") : 0;
}

static const char *happening(uint32_t what)
{
#define WORD_OF(symbol, word, meaning) [NC_##symbol] = word,
	static const char *const words[] = {NC_NAME_REASONS(WORD_OF)};
#undef WORD_OF

	return what < sizeof(words) / sizeof(words[0]) && words[what] ? words[what] : "unknown";
}

int nc_launch_record_name(struct nc_launch *launch, const struct nc_edge_name *name, struct nc_error *reterr)
{
	NC_JSON json_t *record = NULL;
	char text[1100], address[NC_ADDRESS_TEXT];

	if (!name->name.length)
		return nc_error_set(reterr, NC_E_SYSTEM, -EPROTO, "the edge spoke of an empty name");
	nc_dns_name_to_text(&name->name, text, sizeof(text));
	record = json_pack("{s:s, s:o, s:s, s:s, s:s, s:i}", "kind", "name", "time_ns", nc_json_u64(nc_clock_boot_ns()), "authority",
			   name->authority == NC_AUTHORITY_PLANE ? "plane" : "workload", "reason", happening(name->what), "name", text, "type",
			   (int)(name->type & 0xffff));
	if (!record)
		return nc_launch_record(launch, NULL, reterr);
	if (name->name_id) /* the number by which events of connections speak of it */
		json_object_set_new(record, "name_id", json_integer(name->name_id));
	if (name->has_address)
		json_object_set_new(record, "address", json_string(nc_address_text(&name->address, address)));
	if (name->what == NC_RESOLVED) {
		json_object_set_new(record, "addresses", json_integer(name->addresses));
		json_object_set_new(record, "lifetime", json_integer(name->lifetime));
	}
	if (name->what == NC_RESOLVER_GRANT_REFUSED && launch->grant_error.code) {
		json_object_set_new(record, "detail", json_string(launch->grant_error.detail));
		json_object_set_new(record, "hint", json_string(launch->grant_error.hint));
	}
	return nc_launch_record(launch, record, reterr);
}
