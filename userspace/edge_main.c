/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge_main.c - what the edge does: it hands the ring's records over, and serves the resolvers
 *
 * It begins as root with fixed descriptors (edge.h) beside 0-2, which are /dev/null: it opens the ring, which older kernels allow only to the privileged, and
 * then gives everything up before it reads the first record or question. It ends when the supervisor's end of the pair is closed, however that came about.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

struct edge;

/* What serves one authority. */
struct side {
	struct edge *edge;
	uint32_t authority;
	struct nc_resolver *resolver; /* NULL: its policy lists no name */
	const struct nc_edge_config *config;
	int next_config_fd; /* names that it is to exchange its own for, as soon as it is at rest; -1: none */
};

struct edge {
	struct nc_events *events;
	uint64_t generation;
	struct nc_edge_message batch;
	struct side sides[2];
	bool flush_due; /* asked for while a grant was waited for */
	bool finishing; /* after this flush nothing is served any more */
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

/* What a message of the supervisor asks for is noted here and done when nothing is half done. 1: it was one; 0: there is none; negative: it is gone, or mad. */
static int take_message(struct edge *edge, struct nc_edge_message *ret_message)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = ret_message, .iov_len = NC_EDGE_HEAD};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	const struct cmsghdr *passed;
	struct side *side;
	ssize_t n = recvmsg(EDGE_PAIR, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < (ssize_t)NC_EDGE_HEAD) {
		edge->supervisor_gone = true;
		return -EPIPE;
	}
	edge->finishing |= ret_message->kind == NC_EDGE_FINISH;
	edge->flush_due |= ret_message->kind == NC_EDGE_FLUSH || edge->finishing;
	if (ret_message->kind == NC_EDGE_FLUSH || ret_message->kind == NC_EDGE_FINISH || ret_message->kind == NC_EDGE_GRANTED)
		return 1;
	passed = CMSG_FIRSTHDR(&head);
	if (ret_message->kind != NC_EDGE_NAMES || ret_message->count > 1 || !passed || passed->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	side = &edge->sides[ret_message->count];
	if (side->next_config_fd >= 0)
		close(side->next_config_fd);
	memcpy(&side->next_config_fd, CMSG_DATA(passed), sizeof(side->next_config_fd));
	return 1;
}

/* Until the pair is empty. An answer to a grant that is no longer waited for is nothing. */
static int take_orders(struct edge *edge)
{
	struct nc_edge_message message;
	int r;

	do
		r = take_message(edge, &message);
	while (r > 0);
	return edge->supervisor_gone ? 0 : r;
}

/* ---- names ----------------------------------------------------------------------------------------------------------------------------------------- */

/* Waits for the supervisor's word on the grant that was just asked for; what else it wants meanwhile is done afterwards. */
static int await_granted(struct edge *edge)
{
	struct pollfd poll_pair = {.fd = EDGE_PAIR, .events = POLLIN};
	struct nc_edge_message message;

	for (;;) {
		int ready = poll(&poll_pair, 1, GRANT_WAIT_MS);
		int r;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -ETIMEDOUT;
		r = take_message(edge, &message);
		if (r < 0)
			return r;
		if (r > 0 && message.kind == NC_EDGE_GRANTED)
			return message.status;
	}
}

static int grant(void *context, uint32_t name_id, const union nc_address *addresses, size_t count, uint32_t lifetime)
{
	struct edge *edge = ((struct side *)context)->edge;
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
	const struct side *side = context;
	struct nc_edge_message message = {
		.kind = NC_EDGE_NAME,
		.name = {.what = report->what,
			 .name_id = report->name_id,
			 .type = report->type,
			 .lifetime = report->lifetime,
			 .addresses = (uint32_t)report->count,
			 .has_address = report->address != NULL,
			 .authority = side->authority,
			 .name = *report->name},
	};

	if (report->address)
		message.name.address = *report->address;
	if (nc_edge_worth_telling(&side->edge->told, &message.name))
		tell(&message, NC_EDGE_HEAD + sizeof(message.name));
}

static int open_resolver(struct edge *edge, int i, bool there, struct nc_error *reterr)
{
	struct side *side = &edge->sides[i];
	struct nc_resolver_options options = {.grant = grant, .report = report, .context = side};
	int r;

	*side = (struct side){.edge = edge, .authority = i ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD, .next_config_fd = -1};
	if (!there)
		return 0;
	r = nc_edge_config_map(EDGE_CONFIG(i), &side->config, &options.names);
	if (r < 0)
		return r;
	close(EDGE_CONFIG(i));
	options.name_count = side->config->name_count;
	options.upstreams = side->config->upstreams;
	options.settings = side->config->settings;
	options.ttl_floor = side->config->ttl_floor;
	options.ttl_ceiling = side->config->ttl_ceiling;
	options.grace = side->config->grace;
	options.keep_non_public = side->config->keep_non_public;
	for (int j = 0; j < 2; j++) {
		options.udp[j] = side->config->sockets & (1u << j) ? EDGE_CONFIG(i) + 1 + j : -1;
		options.tcp[j] = side->config->sockets & (4u << j) ? EDGE_CONFIG(i) + 3 + j : -1;
	}
	return nc_resolver_open(&options, &side->resolver, reterr);
}

static int exchange_names(struct side *side)
{
	const struct nc_edge_config *config;
	const struct nc_resolver_name *names;
	int fd = side->next_config_fd;
	int r = side->resolver ? nc_edge_config_map(fd, &config, &names) : -EPROTO;

	side->next_config_fd = -1;
	close(fd);
	if (r < 0)
		return r;
	r = nc_resolver_exchange(side->resolver, names, config->name_count);
	nc_edge_config_unmap(r < 0 ? config : side->config);
	if (r == 0)
		side->config = config;
	return r;
}

/* What was asked for meanwhile: other names first, so that they are in force when the flush is answered. */
static int obey(struct edge *edge)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++)
		if (edge->sides[i].next_config_fd >= 0)
			r = exchange_names(&edge->sides[i]);
	for (int i = 0; edge->finishing && i < 2; i++) { /* what waits in its sockets is not read, and whom it asked is not heard */
		nc_resolver_close(edge->sides[i].resolver);
		edge->sides[i].resolver = NULL;
	}
	return r == 0 && edge->flush_due ? flush(edge) : r;
}

static int serve(struct edge *edge)
{
	struct pollfd polls[4] = {
		{.fd = nc_events_poll_fd(edge->events), .events = POLLIN},
		{.fd = EDGE_PAIR, .events = POLLIN},
		{.fd = edge->sides[0].resolver ? nc_resolver_poll_fd(edge->sides[0].resolver) : -1, .events = POLLIN},
		{.fd = edge->sides[1].resolver ? nc_resolver_poll_fd(edge->sides[1].resolver) : -1, .events = POLLIN},
	};
	int r = 0;

	while (r == 0 && !edge->supervisor_gone && !edge->finishing) {
		if (poll(polls, 4, -1) < 0 && errno != EINTR)
			return -errno;
		if (polls[0].revents)
			r = hand_over(edge);
		if (r == 0 && polls[1].revents)
			r = take_orders(edge);
		for (int i = 0; r == 0 && i < 2 && !edge->supervisor_gone && !edge->finishing; i++)
			if (polls[2 + i].revents)
				nc_resolver_step(edge->sides[i].resolver);
		if (r == 0 && !edge->supervisor_gone)
			r = obey(edge);
	}
	while (r == 0 && !edge->supervisor_gone) { /* everything is said; an end of the pair before it was read would look like a loss */
		if (poll(&polls[1], 1, -1) > 0)
			r = take_orders(edge);
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
	prctl(PR_SET_NAME, argv[0]); /* executed by descriptor it is called by that number */
	umask(077);
	edge->generation = strtoull(argv[1], NULL, 10);
	r = nc_events_open(EDGE_RING, &edge->events, &error);
	for (int i = 0; r == 0 && i < 2; i++)
		r = open_resolver(edge, i, (argv[4][0] - '0') & (1 << i), &error);
	if (r == 0)
		r = give_up_privileges(argv[3], (uid_t)strtoul(argv[2], NULL, 10), &error);
	if (r == 0)
		r = tell_kind(NC_EDGE_READY, 0);
	if (r == 0)
		r = serve(edge);
	if (r < 0)
		tell_kind(NC_EDGE_FAILED, r);
	for (int i = 0; i < 2; i++)
		nc_resolver_close(edge->sides[i].resolver);
	nc_events_close(edge->events);
	free(edge);
	return r < 0 ? NC_EXIT_OURS : 0;
}
