/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge_main.c - what the edge does: it hands the ring's records over, and serves the resolver
 *
 * It begins as root with fixed descriptors (edge.h) beside 0-2, which are /dev/null: it opens the ring, which older kernels allow only to the privileged, and
 * then gives everything up before it reads the first record or question. It ends when the supervisor's end of the pair is closed, however that came about.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "child.h"
#include "edge.h"
#include "edge_told.h"
#include "launch.h"
#include "loader.h"
#include "seccomp_filter.h"

#define GRANT_WAIT_MS 3000 /* the supervisor may be syncing evidence */

struct edge {
	struct nc_events *events;
	uint64_t generation;
	struct nc_edge_message batch;
	struct nc_resolver *resolver; /* NULL: the policy lists no name */
	bool flush_due;		      /* asked for while a grant was waited for */
	bool supervisor_gone;
	struct nc_edge_told told;
};

/* Waits for the supervisor when it is slow: the ring is the buffer, and what does not fit into it is counted by the kernel. */
static int tell(const void *message, size_t size)
{
	return send(EDGE_PAIR, message, size, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int tell_kind(enum nc_edge_kind kind, int status)
{
	struct nc_edge_message message = {.kind = kind, .status = status};

	return tell(&message, NC_EDGE_HEAD);
}

static int send_batch(struct edge *edge)
{
	size_t size = NC_EDGE_HEAD + edge->batch.count * sizeof(struct nc_event);
	int r = 0;

	edge->batch.kind = NC_EDGE_EVENTS;
	if (edge->batch.count > 0)
		r = tell(&edge->batch, size);
	edge->batch.count = 0;
	return r;
}

static int send_named(const struct nc_event *event)
{
	struct nc_edge_message message = {.kind = NC_EDGE_NAMED, .count = 1};

	memcpy(&message.named, event, sizeof(message.named));
	return tell(&message, NC_EDGE_HEAD + sizeof(message.named));
}

static int collect(void *context, const struct nc_event *event)
{
	struct edge *edge = context;

	if (event->size == sizeof(struct nc_named_event)) /* after those that came before it */
		return send_batch(edge) ?: send_named(event);
	edge->batch.events[edge->batch.count++] = *event;
	return edge->batch.count == NC_EDGE_BATCH ? send_batch(edge) : 0;
}

static int hand_over(struct edge *edge)
{
	struct nc_error error = {0};
	int r = nc_events_drain(edge->events, edge->generation, collect, edge, &error);

	return r < 0 ? r : send_batch(edge);
}

static int flush(struct edge *edge)
{
	struct nc_edge_message cut = {.kind = NC_EDGE_NAMES_CUT, .count = edge->told.cut};
	int r = hand_over(edge);

	edge->flush_due = false;
	edge->told.cut = 0;
	if (r == 0 && cut.count)
		r = tell(&cut, NC_EDGE_HEAD);
	return r < 0 ? r : tell_kind(NC_EDGE_FLUSHED, 0);
}

/* Returns 0 to go on, 1 when the supervisor is gone. */
static int take_order(struct edge *edge)
{
	struct nc_edge_message message;
	ssize_t n = recv(EDGE_PAIR, &message, NC_EDGE_HEAD, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : 1;
	if (n < (ssize_t)NC_EDGE_HEAD)
		return 1;
	if (message.kind == NC_EDGE_GRANTED)
		return 0; /* the answer to a grant that is no longer waited for */
	return message.kind == NC_EDGE_FLUSH ? flush(edge) : -EPROTO;
}

/* ---- names ----------------------------------------------------------------------------------------------------------------------------------------- */

/* Waits for the supervisor's word on the grant that was just asked for; what else it wants meanwhile is done afterwards. */
static int await_granted(struct edge *edge)
{
	struct pollfd poll_pair = {.fd = EDGE_PAIR, .events = POLLIN};
	struct nc_edge_message message;

	for (;;) {
		int ready = poll(&poll_pair, 1, GRANT_WAIT_MS);
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -ETIMEDOUT;
		n = recv(EDGE_PAIR, &message, NC_EDGE_HEAD, MSG_DONTWAIT);
		if (n < (ssize_t)NC_EDGE_HEAD) {
			edge->supervisor_gone = true;
			return -EPIPE;
		}
		if (message.kind == NC_EDGE_GRANTED)
			return message.status;
		edge->flush_due |= message.kind == NC_EDGE_FLUSH;
	}
}

static int grant(void *context, uint32_t name_id, const union nc_address *addresses, size_t count, uint32_t lifetime)
{
	struct edge *edge = context;
	struct nc_edge_message message = {.kind = NC_EDGE_GRANT, .count = (uint32_t)count, .grant = {.name_id = name_id, .lifetime = lifetime}};
	int r;

	if (count > NC_EDGE_GRANT_MAX)
		return -E2BIG;
	memcpy(message.grant.addresses, addresses, count * sizeof(*addresses));
	r = tell(&message, NC_EDGE_HEAD + offsetof(struct nc_edge_grant, addresses) + count * sizeof(*addresses));
	return r < 0 ? r : await_granted(edge);
}

static void report(void *context, const struct nc_resolver_report *report)
{
	struct edge *edge = context;
	struct nc_edge_message message = {
		.kind = NC_EDGE_NAME,
		.name = {.what = report->what,
			 .name_id = report->name_id,
			 .type = report->type,
			 .lifetime = report->lifetime,
			 .addresses = (uint32_t)report->count,
			 .has_address = report->address != NULL,
			 .name = *report->name},
	};

	if (report->address)
		message.name.address = *report->address;
	if (nc_edge_worth_telling(&edge->told, &message.name))
		tell(&message, NC_EDGE_HEAD + sizeof(message.name));
}

static int open_resolver(struct edge *edge, struct nc_error *reterr)
{
	const struct nc_edge_config *config;
	struct nc_resolver_options options = {.grant = grant, .report = report, .context = edge};
	int r = nc_edge_config_map(EDGE_CONFIG, &config, &options.names);

	if (r < 0)
		return r;
	close(EDGE_CONFIG);
	options.name_count = config->name_count;
	options.upstreams = config->upstreams;
	options.settings = config->settings;
	options.ttl_floor = config->ttl_floor;
	options.ttl_ceiling = config->ttl_ceiling;
	options.grace = config->grace;
	options.keep_non_public = config->keep_non_public;
	for (int i = 0; i < 2; i++) {
		options.udp[i] = config->sockets & (1u << i) ? EDGE_SOCKETS + i : -1;
		options.tcp[i] = config->sockets & (4u << i) ? EDGE_SOCKETS + 2 + i : -1;
	}
	return nc_resolver_open(&options, &edge->resolver, reterr);
}

static int serve(struct edge *edge)
{
	struct pollfd polls[3] = {
		{.fd = nc_events_poll_fd(edge->events), .events = POLLIN},
		{.fd = EDGE_PAIR, .events = POLLIN},
		{.fd = edge->resolver ? nc_resolver_poll_fd(edge->resolver) : -1, .events = POLLIN},
	};
	int r = 0;

	while (r == 0 && !edge->supervisor_gone) {
		if (poll(polls, 3, -1) < 0 && errno != EINTR)
			return -errno;
		if (polls[0].revents)
			r = hand_over(edge);
		if (r == 0 && polls[1].revents)
			r = take_order(edge);
		if (r == 0 && polls[2].revents)
			nc_resolver_step(edge->resolver);
		if (r == 0 && edge->flush_due)
			r = flush(edge);
	}
	return r < 0 ? r : 0;
}

static int give_up_privileges(const char *runtime, uid_t uid, struct nc_error *reterr)
{
	static const struct nc_seccomp_choice choice = {.refuse_unix = true};
	static const struct rlimit no_core = {0, 0};
	struct nc_seccomp filter = {0};
	const char *step = "";
	int r = nc_seccomp_filter(runtime, &choice, &filter, reterr);

	if (r < 0)
		return r;
	setrlimit(RLIMIT_CORE, &no_core); /* belt and braces: a process that is not dumpable leaves no core either */
	r = nc_privileges_drop(uid, uid, &filter.program, &step);
	nc_seccomp_free(&filter);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "the edge: %s", step) : 0;
}

int nc_edge_main(int argc, char **argv)
{
	struct edge *edge = calloc(1, sizeof(*edge));
	struct nc_error error = {0};
	int r;

	if (argc != 5 || !edge)
		return NC_EXIT_OURS;
	umask(077);
	edge->generation = strtoull(argv[1], NULL, 10);
	r = nc_events_open(EDGE_RING, &edge->events, &error);
	if (r == 0 && !strcmp(argv[4], "names"))
		r = open_resolver(edge, &error);
	if (r == 0)
		r = give_up_privileges(argv[3], (uid_t)strtoul(argv[2], NULL, 10), &error);
	if (r == 0)
		r = tell_kind(NC_EDGE_READY, 0);
	if (r == 0)
		r = serve(edge);
	if (r < 0)
		tell_kind(NC_EDGE_FAILED, r);
	nc_resolver_close(edge->resolver);
	nc_events_close(edge->events);
	free(edge);
	return r < 0 ? NC_EXIT_OURS : 0;
}
