// SPDX-License-Identifier: GPL-2.0-only
/*
 * resolver.c - the resolver's loop: questions in, grants, answers out
 *
 * One epoll instance holds the four sockets, the TCP connections (resolver_stream.c), the lookups under way and one timer, armed for the earliest lookup or
 * idle connection. What an event belongs to stands in its data: a kind in the upper half, an index or nothing in the lower.
 *
 * The order in answer_entry is the promise of the whole: filter, grant, confirm, and only then the answer. When the grant is refused, the answer is SERVFAIL,
 * never an address that would not be let through.
 */
#include "clock.h"
#include "resolver_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "address.h"

#define GRACE 300
#define CLIENTS_MAX 1024
#define CLIENTS_OF_ENTRY_MAX 64
#define RETRY_MS 1000 /* after a failure upstream */
#define GRANT_SLACK 5 /* seconds that a grant outlives its answer: a client that connects in the last moment is let through */

uint64_t nc_resolver_now(void)
{
	return (uint64_t)nc_now_ms();
}

int nc_resolver_watch(struct nc_resolver *resolver, int fd, enum nc_resolver_watch kind, uint32_t index, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)kind << 32 | index};

	if (epoll_ctl(resolver->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return errno == EEXIST && epoll_ctl(resolver->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : -errno;
}

static void report(struct nc_resolver *resolver, struct nc_resolver_report made)
{
	if (resolver->options.report)
		resolver->options.report(resolver->options.context, &made);
}

/* ---- answers out ------------------------------------------------------------------------------------------------------------------------------ */

static void send_answer(struct nc_resolver *resolver, const struct nc_resolver_client *client, enum nc_dns_rcode rcode,
			const struct nc_dns_answer *answer, uint32_t ttl)
{
	size_t limit = client->stream < 0 ? client->question.udp_size : NC_DNS_MESSAGE_MAX;
	int size = nc_dns_write_answer(&client->question, rcode, answer, ttl, limit, resolver->message, sizeof(resolver->message));

	if (size < 0)
		return; /* without memory: the client asks again */
	if (client->stream >= 0)
		nc_resolver_stream_send(resolver, client, resolver->message, (size_t)size);
	else
		nc_resolver_post(resolver, client, resolver->message, (size_t)size);
}

static uint32_t seconds_left(const struct nc_resolver_entry *entry, uint64_t now_ms)
{
	return entry->expires_ms > now_ms ? (uint32_t)((entry->expires_ms - now_ms + 999) / 1000) : 0;
}

/* From what the entry knows. `answer` is the resolver's scratch. */
static void answer_from_entry(struct nc_resolver *resolver, const struct nc_resolver_entry *entry, const struct nc_resolver_client *client,
			      uint32_t ttl)
{
	struct nc_dns_answer *answer = &resolver->scratch;

	memset(answer, 0, offsetof(struct nc_dns_answer, addresses));
	answer->outcome = entry->outcome;
	answer->count = entry->count;
	answer->alias = entry->alias;
	if (entry->count)
		memcpy(answer->addresses, entry->addresses, entry->count * sizeof(entry->addresses[0]));
	send_answer(resolver, client, entry->outcome == NC_DNS_NO_NAME ? NC_DNS_NXDOMAIN : NC_DNS_NOERROR, answer, ttl);
}

static void answer_clients(struct nc_resolver *resolver, struct nc_resolver_entry *entry, bool served, uint32_t ttl)
{
	while (entry->clients) {
		struct nc_resolver_client *client = entry->clients;

		entry->clients = client->next;
		resolver->clients--;
		if (served)
			answer_from_entry(resolver, entry, client, ttl);
		else
			send_answer(resolver, client, NC_DNS_SERVFAIL, NULL, 0);
		free(client);
	}
}

/* ---- what a lookup brought ---------------------------------------------------------------------------------------------------------------------- */

/* Leaves out what is not public, each with a report of its own. Returns how many are left, at the front. */
static size_t keep_public(struct nc_resolver *resolver, const struct nc_resolver_entry *entry, union nc_address *addresses, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (nc_class_is_public(nc_address_class_of(&addresses[i], &resolver->options.settings)) || resolver->options.keep_non_public) {
			addresses[kept++] = addresses[i];
			continue;
		}
		report(resolver, (struct nc_resolver_report){.what = NC_RESOLVER_NOT_PUBLIC,
							     .name = &entry->name->name,
							     .name_id = entry->name->id,
							     .type = entry->type,
							     .address = &addresses[i]});
	}
	return kept;
}

static bool install_grant(struct nc_resolver *resolver, const struct nc_resolver_entry *entry, uint32_t lifetime)
{
	if (!entry->count ||
	    resolver->options.grant(resolver->options.context, entry->name->id, entry->addresses, entry->count, lifetime + GRANT_SLACK) == 0)
		return true;
	report(resolver, (struct nc_resolver_report){
				 .what = NC_RESOLVER_GRANT_REFUSED, .name = &entry->name->name, .name_id = entry->name->id, .type = entry->type});
	return false;
}

static uint32_t lifetime_of(const struct nc_resolver *resolver, uint32_t ttl)
{
	if (ttl < resolver->options.ttl_floor)
		return resolver->options.ttl_floor;
	return ttl > resolver->options.ttl_ceiling ? resolver->options.ttl_ceiling : ttl;
}

/* Takes the answer into the entry, installs the grant. True when the clients may have it. */
static bool take_answer(struct nc_resolver *resolver, struct nc_resolver_entry *entry, const struct nc_dns_answer *answer, uint64_t now_ms)
{
	uint32_t lifetime = lifetime_of(resolver, answer->outcome == NC_DNS_ANSWERED ? answer->ttl : 0);
	union nc_address *addresses = NULL;
	size_t count = 0;
	bool not_public;

	if (answer->count) {
		addresses = malloc(answer->count * sizeof(addresses[0]));
		if (!addresses)
			return false;
		memcpy(addresses, answer->addresses, answer->count * sizeof(addresses[0]));
		count = keep_public(resolver, entry, addresses, answer->count);
	}
	not_public = answer->count && !count;
	free(entry->addresses);
	entry->addresses = addresses;
	entry->count = count;
	entry->alias = answer->alias;
	/* Nothing public left is a refusal that a client understands: the name exists, and has no address for it. */
	entry->outcome = not_public ? NC_DNS_NO_DATA : answer->outcome;
	entry->known = entry->outcome == NC_DNS_ANSWERED;
	entry->expires_ms = now_ms + (uint64_t)lifetime * 1000;
	entry->failed = false;
	if (!install_grant(resolver, entry, lifetime)) {
		/* Nothing of it may be answered later from memory: asked anew, a little later, and granted then or refused again. */
		entry->known = false;
		entry->expires_ms = 0;
		entry->failed = true;
		entry->retry_ms = now_ms + RETRY_MS;
		return false;
	}
	if (!not_public)
		report(resolver, (struct nc_resolver_report){.what = count ? NC_RESOLVED : NC_RESOLVER_NO_NAME,
							     .name = &entry->name->name,
							     .name_id = entry->name->id,
							     .type = entry->type,
							     .lifetime = lifetime,
							     .count = count});
	return true;
}

/* No server answered: the last answer again while its grace lasts, and the grant with it; else SERVFAIL. */
static bool take_failure(struct nc_resolver *resolver, struct nc_resolver_entry *entry, uint64_t now_ms)
{
	bool graced = entry->known && now_ms < entry->expires_ms + (uint64_t)resolver->options.grace * 1000 &&
		      install_grant(resolver, entry, resolver->options.ttl_floor);

	entry->failed = true;
	entry->retry_ms = now_ms + RETRY_MS;
	report(resolver, (struct nc_resolver_report){.what = graced ? NC_RESOLVER_STALE : NC_RESOLVER_FAILED,
						     .name = &entry->name->name,
						     .name_id = entry->name->id,
						     .type = entry->type,
						     .count = graced ? entry->count : 0});
	return graced;
}

static void end_lookup(struct nc_resolver *resolver, struct nc_resolver_entry *entry)
{
	struct nc_resolver_entry **link = &resolver->asking;

	nc_lookup_stop(entry->lookup);
	entry->lookup = NULL;
	entry->watched_fd = -1;
	while (*link != entry)
		link = &(*link)->next_asking;
	*link = entry->next_asking;
}

static void finish_lookup(struct nc_resolver *resolver, struct nc_resolver_entry *entry, uint64_t now_ms)
{
	const struct nc_dns_answer *answer = nc_lookup_answer(entry->lookup);
	bool served;

	if (answer->outcome == NC_DNS_FAILED)
		served = take_failure(resolver, entry, now_ms);
	else
		served = take_answer(resolver, entry, answer, now_ms);
	end_lookup(resolver, entry);
	answer_clients(resolver, entry, served, entry->failed ? 1 : seconds_left(entry, now_ms));
}

/* The lookup's descriptor changes with each attempt; a closed one leaves epoll by itself. */
static void watch_lookup(struct nc_resolver *resolver, struct nc_resolver_entry *entry)
{
	entry->watched_fd = nc_lookup_fd(entry->lookup);
	nc_resolver_watch(resolver, entry->watched_fd, NC_WATCH_LOOKUP, 0, nc_lookup_wants_write(entry->lookup) ? EPOLLOUT : EPOLLIN);
}

static void step_lookups(struct nc_resolver *resolver, uint64_t now_ms)
{
	struct nc_resolver_entry *next;

	for (struct nc_resolver_entry *entry = resolver->asking; entry; entry = next) {
		bool done;

		next = entry->next_asking;
		done = nc_lookup_step(entry->lookup, now_ms);
		if (!done && now_ms >= nc_lookup_due(entry->lookup))
			done = nc_lookup_timeout(entry->lookup, now_ms);
		if (done)
			finish_lookup(resolver, entry, now_ms);
		else
			watch_lookup(resolver, entry);
	}
}

/* ---- questions in -------------------------------------------------------------------------------------------------------------------------------- */

static bool start_lookup(struct nc_resolver *resolver, struct nc_resolver_entry *entry, uint64_t now_ms)
{
	if (nc_lookup_start(&resolver->options.upstreams, &entry->name->name, entry->type, now_ms, &entry->lookup) < 0)
		return false;
	entry->next_asking = resolver->asking;
	resolver->asking = entry;
	watch_lookup(resolver, entry);
	return true;
}

static bool add_client(struct nc_resolver *resolver, struct nc_resolver_entry *entry, const struct nc_resolver_client *client)
{
	struct nc_resolver_client *copy;
	size_t waiting = 0;

	for (const struct nc_resolver_client *each = entry->clients; each; each = each->next)
		waiting++;
	if (waiting >= CLIENTS_OF_ENTRY_MAX || resolver->clients >= resolver->options.clients_max)
		return false;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return false;
	*copy = *client;
	copy->next = entry->clients;
	entry->clients = copy;
	resolver->clients++;
	return true;
}

static void ask_entry(struct nc_resolver *resolver, struct nc_resolver_entry *entry, const struct nc_resolver_client *client, uint64_t now_ms)
{
	bool fresh = entry->outcome && !entry->failed && now_ms < entry->expires_ms;

	if (fresh)
		return answer_from_entry(resolver, entry, client, seconds_left(entry, now_ms));
	/* Just failed: not asked again at once, whoever floods; the grace answer if there is one. */
	if (entry->failed && !entry->lookup && now_ms < entry->retry_ms) {
		if (entry->known && now_ms < entry->expires_ms + (uint64_t)resolver->options.grace * 1000)
			return answer_from_entry(resolver, entry, client, 1);
		return send_answer(resolver, client, NC_DNS_SERVFAIL, NULL, 0);
	}
	if (!add_client(resolver, entry, client))
		return send_answer(resolver, client, NC_DNS_SERVFAIL, NULL, 0);
	if (!entry->lookup && !start_lookup(resolver, entry, now_ms)) {
		bool served = take_failure(resolver, entry, now_ms);

		answer_clients(resolver, entry, served, 1);
	}
}

void nc_resolver_ask(struct nc_resolver *resolver, struct nc_resolver_client *client, const uint8_t *bytes, size_t size)
{
	enum nc_dns_rcode rcode = NC_DNS_FORMERR;
	int r = nc_dns_read_question(bytes, size, &client->question, &rcode);
	const struct nc_resolver_name *listed;
	struct nc_resolver_entry *entry;

	if (r == -EBADMSG)
		return;
	if (r < 0)
		return send_answer(resolver, client, rcode, NULL, 0);
	listed = nc_resolver_cache_listed(&resolver->cache, &client->question.name);
	if (!listed) {
		report(resolver,
		       (struct nc_resolver_report){.what = NC_RESOLVER_NOT_LISTED, .name = &client->question.name, .type = client->question.type});
		return send_answer(resolver, client, NC_DNS_NXDOMAIN, NULL, 0);
	}
	if (client->question.type != NC_DNS_A && client->question.type != NC_DNS_AAAA && client->question.type != NC_DNS_CNAME)
		return send_answer(resolver, client, NC_DNS_NOERROR, NULL, 0);
	entry = nc_resolver_cache_entry(&resolver->cache, listed, (enum nc_dns_type)client->question.type);
	if (!entry)
		return send_answer(resolver, client, NC_DNS_SERVFAIL, NULL, 0);
	ask_entry(resolver, entry, client, nc_resolver_now());
}

/* ---- other names --------------------------------------------------------------------------------------------------------------------------------- */

static bool is_listed(const struct nc_resolver_cache *cache, const struct nc_resolver_name *name)
{
	const struct nc_resolver_name *found = nc_resolver_cache_listed(cache, &name->name);

	return found && found->id == name->id;
}

int nc_resolver_exchange(struct nc_resolver *resolver, const struct nc_resolver_name *names, size_t count)
{
	struct nc_resolver_cache fresh = {0};
	struct nc_resolver_entry *next;

	if (nc_resolver_cache_open(&fresh, names, count) < 0)
		return -ENOMEM;
	for (struct nc_resolver_entry *entry = resolver->asking; entry; entry = next) {
		next = entry->next_asking;
		if (is_listed(&fresh, entry->name))
			continue;
		entry->outcome = NC_DNS_NO_NAME;
		entry->count = 0;
		end_lookup(resolver, entry);
		answer_clients(resolver, entry, true, 0);
	}
	nc_resolver_cache_move(&resolver->cache, &fresh);
	nc_resolver_cache_close(&resolver->cache);
	resolver->cache = fresh;
	nc_resolver_send_outbox(resolver);
	return 0;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------------------------------ */

static void arm_timer(struct nc_resolver *resolver)
{
	uint64_t due = nc_resolver_streams_due(resolver);
	struct itimerspec when = {0};

	for (const struct nc_resolver_entry *entry = resolver->asking; entry; entry = entry->next_asking)
		if (nc_lookup_due(entry->lookup) < due)
			due = nc_lookup_due(entry->lookup);
	if (due == resolver->armed_ms)
		return;
	resolver->armed_ms = due;
	if (due != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(due / 1000);
		when.it_value.tv_nsec = (long)(due % 1000) * 1000000 + 1; /* all zero would disarm it */
	}
	timerfd_settime(resolver->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void nc_resolver_step(struct nc_resolver *resolver)
{
	struct epoll_event events[32];
	int count = epoll_wait(resolver->epoll_fd, events, 32, 0);
	uint64_t expirations;

	for (int i = 0; i < count; i++) {
		uint32_t index = (uint32_t)events[i].data.u64;

		switch ((enum nc_resolver_watch)(events[i].data.u64 >> 32)) {
		case NC_WATCH_DATAGRAM:
			nc_resolver_read_datagrams(resolver, resolver->options.udp[index]);
			break;
		case NC_WATCH_LISTENER:
			nc_resolver_stream_accept(resolver, resolver->options.tcp[index]);
			break;
		case NC_WATCH_STREAM:
			nc_resolver_stream_step(resolver, index);
			break;
		case NC_WATCH_TIMER:
			if (read(resolver->timer_fd, &expirations, sizeof(expirations)) < 0)
				break;
			resolver->armed_ms = 0;
			nc_resolver_streams_expire(resolver);
			break;
		case NC_WATCH_LOOKUP:
			break;
		}
	}
	step_lookups(resolver, nc_resolver_now());
	nc_resolver_send_outbox(resolver);
	arm_timer(resolver);
}

int nc_resolver_poll_fd(const struct nc_resolver *resolver)
{
	return resolver->epoll_fd;
}

static int watch_sockets(struct nc_resolver *resolver)
{
	int r = nc_resolver_watch(resolver, resolver->timer_fd, NC_WATCH_TIMER, 0, EPOLLIN);

	for (uint32_t i = 0; r == 0 && i < 2; i++) {
		if (resolver->options.udp[i] >= 0)
			r = nc_resolver_watch(resolver, resolver->options.udp[i], NC_WATCH_DATAGRAM, i, EPOLLIN);
		if (r == 0 && resolver->options.tcp[i] >= 0)
			r = nc_resolver_watch(resolver, resolver->options.tcp[i], NC_WATCH_LISTENER, i, EPOLLIN);
	}
	return r;
}

static void fill_defaults(struct nc_resolver_options *options)
{
	options->ttl_floor = options->ttl_floor ? options->ttl_floor : NC_RESOLVER_TTL_FLOOR;
	options->ttl_ceiling = options->ttl_ceiling ? options->ttl_ceiling : NC_RESOLVER_TTL_CEILING;
	options->grace = options->grace ? options->grace : GRACE;
	options->clients_max = options->clients_max ? options->clients_max : CLIENTS_MAX;
	options->streams_max = options->streams_max && options->streams_max < NC_STREAMS_MAX ? options->streams_max : NC_STREAMS_MAX;
}

int nc_resolver_open(const struct nc_resolver_options *options, struct nc_resolver **ret_resolver, struct nc_error *reterr)
{
	struct nc_resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the resolver");
	resolver->options = *options;
	fill_defaults(&resolver->options);
	nc_resolver_streams_open(resolver);
	resolver->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	resolver->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r = resolver->epoll_fd < 0 || resolver->timer_fd < 0 ? -errno : nc_resolver_cache_open(&resolver->cache, options->names, options->name_count);
	if (r == 0)
		r = watch_sockets(resolver);
	if (r < 0) {
		/* The caller keeps the sockets of a resolver that did not come to be. */
		for (int i = 0; i < 2; i++)
			resolver->options.udp[i] = resolver->options.tcp[i] = -1;
		nc_resolver_close(resolver);
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "start the resolver");
	}
	*ret_resolver = resolver;
	return 0;
}

void nc_resolver_close(struct nc_resolver *resolver)
{
	if (!resolver)
		return;
	for (const struct nc_resolver_entry *entry = resolver->asking; entry; entry = entry->next_asking)
		report(resolver, (struct nc_resolver_report){
					 .what = NC_RESOLVER_FAILED, .name = &entry->name->name, .name_id = entry->name->id, .type = entry->type});
	nc_resolver_cache_close(&resolver->cache);
	nc_resolver_streams_close(resolver);
	for (int i = 0; i < 2; i++) {
		if (resolver->options.udp[i] >= 0)
			close(resolver->options.udp[i]);
		if (resolver->options.tcp[i] >= 0)
			close(resolver->options.tcp[i]);
	}
	if (resolver->timer_fd >= 0)
		close(resolver->timer_fd);
	if (resolver->epoll_fd >= 0)
		close(resolver->epoll_fd);
	free(resolver);
}
