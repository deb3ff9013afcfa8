// SPDX-License-Identifier: GPL-2.0-only
/*
 * drain.c - what the workload sent before it ended still arrives; what is left of its sockets then is destroyed
 *
 * A socket that was closed with bytes in it lives on without a process until the peer has them: FIN_WAIT1, LAST_ACK, CLOSING. sock_diag lists the sockets
 * of the network namespace together with the label that each was given at birth (INET_DIAG_REQ_SK_BPF_STORAGES, 5.7+), so a socket is the instance's exactly
 * when the kernel programs judge it as such; the cgroup it was made in need not exist any more. Sockets in TIME_WAIT have no label, nothing to send, and
 * are left to the kernel.
 *
 * An instance that was never allowed anything has nothing on its way and is not looked for.
 */
#include <netinet/in.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include "inside.h"

#define STATE(number) (1u << (number))
#define SENDING (STATE(4) | STATE(9) | STATE(11)) /* TCP_FIN_WAIT1, TCP_LAST_ACK, TCP_CLOSING */
#define ANY_STATE (0xfffu & ~STATE(6))		  /* not TCP_TIME_WAIT */
#define STEP_NS 5000000

struct found {
	struct inet_diag_sockid id;
	uint8_t family, protocol;
};

struct search {
	struct nl_sock *sock;
	int labels_fd;
	uint64_t generation;
	bool (*stands)(const void *context, const struct nc_label *label); /* NULL: every socket is looked for */
	const void *context;
	struct found *found;
	size_t count, capacity;
	uint8_t protocol;
	bool finished;
	int status;
};

/* The label among the reply's storages; generation 0: there is none. */
static struct nc_label find_label(struct nlattr *storages)
{
	struct nlattr *storage, *attribute;
	int left, inner;

	nla_for_each_nested(storage, storages, left)
	{
		if (nla_type(storage) != SK_DIAG_BPF_STORAGE)
			continue;
		nla_for_each_nested(attribute, storage, inner)
		{
			struct nc_label label;

			if (nla_type(attribute) != SK_DIAG_BPF_STORAGE_MAP_VALUE || nla_len(attribute) < (int)sizeof(label))
				continue;
			memcpy(&label, nla_data(attribute), sizeof(label));
			return label;
		}
	}
	return (struct nc_label){0};
}

static int keep_found(struct search *search, const struct inet_diag_msg *message)
{
	if (search->count == search->capacity) {
		size_t capacity = search->capacity ? 2 * search->capacity : 32;
		struct found *found = realloc(search->found, capacity * sizeof(*found));

		if (!found)
			return -ENOMEM;
		search->found = found;
		search->capacity = capacity;
	}
	search->found[search->count++] = (struct found){.id = message->id, .family = message->idiag_family, .protocol = search->protocol};
	return 0;
}

static int on_socket(struct nl_msg *message, void *context)
{
	struct search *search = context;
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct inet_diag_msg *diag = nlmsg_data(header);
	struct nlattr *storages;
	struct nc_label label = {0};

	if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || !nlmsg_valid_hdr(header, sizeof(*diag)))
		return NL_OK;
	storages = nlmsg_find_attr(header, sizeof(*diag), INET_DIAG_SK_BPF_STORAGES);
	if (storages)
		label = find_label(storages);
	if (label.generation != search->generation || (search->stands && search->stands(search->context, &label)))
		return NL_OK;
	search->status = search->status ?: keep_found(search, diag);
	return NL_OK;
}

static int on_finish(struct nl_msg *message, void *context)
{
	(void)message;
	((struct search *)context)->finished = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *context)
{
	struct search *search = context;

	(void)from;
	search->status = error->error;
	search->finished = true;
	return NL_STOP;
}

static int on_ack(struct nl_msg *message, void *context)
{
	return on_finish(message, context);
}

static int converse(struct search *search, struct nl_msg *message)
{
	int r;

	search->finished = false;
	search->status = 0;
	r = nl_send_auto(search->sock, message);
	while (r >= 0 && !search->finished)
		r = nl_recvmsgs_default(search->sock);
	return r < 0 ? -EIO : search->status;
}

static int list(struct search *search, uint8_t family, uint8_t protocol, uint32_t states)
{
	struct inet_diag_req_v2 request = {.sdiag_family = family, .sdiag_protocol = protocol, .idiag_states = states};
	struct nl_msg *message = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP);
	struct nlattr *storages;
	int r = -ENOMEM;

	search->protocol = protocol;
	if (!message || nlmsg_append(message, &request, sizeof(request), NLMSG_ALIGNTO))
		goto out;
	storages = nla_nest_start(message, INET_DIAG_REQ_SK_BPF_STORAGES);
	if (!storages || nla_put_u32(message, SK_DIAG_BPF_STORAGE_REQ_MAP_FD, (uint32_t)search->labels_fd))
		goto out;
	nla_nest_end(message, storages);
	r = converse(search, message);
out:
	nlmsg_free(message);
	return r;
}

static int list_all(struct search *search, bool with_udp, uint32_t states)
{
	int r;

	search->count = 0;
	r = list(search, AF_INET, IPPROTO_TCP, states);
	r = r ?: list(search, AF_INET6, IPPROTO_TCP, states);
	if (with_udp) {
		r = r ?: list(search, AF_INET, IPPROTO_UDP, states);
		r = r ?: list(search, AF_INET6, IPPROTO_UDP, states);
	}
	return r;
}

static int destroy(struct search *search, const struct found *found)
{
	struct inet_diag_req_v2 request = {.sdiag_family = found->family, .sdiag_protocol = found->protocol, .idiag_states = ~0u, .id = found->id};
	struct nl_msg *message = nlmsg_alloc_simple(SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK);
	int r = -ENOMEM;

	if (message && !nlmsg_append(message, &request, sizeof(request), NLMSG_ALIGNTO))
		r = converse(search, message);
	nlmsg_free(message);
	return r;
}

static int destroy_all(struct search *search, uint32_t *ret_destroyed, struct nc_error *reterr)
{
	uint32_t destroyed = 0;
	int r = list_all(search, true, ANY_STATE);

	if (r)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "list the instance's sockets");
	for (size_t i = 0; i < search->count; i++) {
		r = destroy(search, &search->found[i]);
		if (!r)
			destroyed++;
		else if (r != -ENOENT) /* it ended by itself */
			return nc_error_sys(reterr, r == -EOPNOTSUPP ? NC_E_HOST_UNSUPPORTED : NC_E_SYSTEM, r,
					    "destroy a socket (CONFIG_INET_DIAG_DESTROY)");
	}
	*ret_destroyed = destroyed;
	return 0;
}

static int search_open(struct nc_claim *claim, int netns_fd, struct search *search, struct nc_error *reterr)
{
	struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	NC_CLOSE int fd = -1;
	int r = nc_host_map(claim->host, NC_MAP_LABELS, &search->labels_fd, reterr);

	r = r < 0 ? r : nc_netns_socket(netns_fd, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, &fd, reterr);
	if (r < 0)
		return r;
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "bind a sock_diag socket");
	search->sock = nl_socket_alloc();
	r = search->sock ? nl_socket_set_fd(search->sock, NETLINK_SOCK_DIAG, fd) : -NLE_NOMEM;
	if (r < 0) {
		nl_socket_free(search->sock);
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "open sock_diag: %s", nl_geterror(r));
	}
	NC_TAKE_FD(fd);
	nl_socket_modify_cb(search->sock, NL_CB_VALID, NL_CB_CUSTOM, on_socket, search);
	nl_socket_modify_cb(search->sock, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, search);
	nl_socket_modify_cb(search->sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, search);
	nl_socket_modify_err_cb(search->sock, NL_CB_CUSTOM, on_error, search);
	return 0;
}

int nc_claim_was_allowed(struct nc_claim *claim, bool *ret_allowed, struct nc_error *reterr)
{
#define ALLOWS_ALLOW 1
#define ALLOWS_REDIRECT 1
#define ALLOWS_DENY 0
#define COUNT_REASON(symbol, value, word, decision, sentence) sum += ALLOWS_##decision * counters.by_reason[value];
	uint64_t sum = 0;

	for (enum nc_authority authority = NC_AUTHORITY_WORKLOAD; authority <= NC_AUTHORITY_PLANE; authority++) {
		struct nc_counters counters;
		int r = claim->is_sealed[authority - 1] ? nc_claim_counters(claim, authority, &counters, reterr) : 1;

		if (r < 0)
			return r;
		if (!r) {
			NC_REASONS(COUNT_REASON)
		}
	}
	*ret_allowed = sum;
	return 0;
}

static long now_ms(void)
{
	return (long)(nc_boot_ns() / 1000000);
}

/* Until nothing is on its way any more, or the time is over. */
static int wait_sent(struct search *search, const struct nc_drain *how, struct nc_error *reterr)
{
	long deadline = now_ms() + how->timeout_ms;
	int r = 0, listed;

	while (!(listed = list_all(search, false, SENDING)) && search->count && now_ms() < deadline && r >= 0) {
		nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
		r = how->meanwhile ? how->meanwhile(how->context, reterr) : 0;
	}
	return listed ? nc_error_sys(reterr, NC_E_SYSTEM, listed, "list the instance's sockets") : r;
}

int nc_claim_drain(struct nc_claim *claim, const struct nc_drain *how, uint32_t *ret_destroyed, struct nc_error *reterr)
{
	struct search search = {.generation = claim->record.generation};
	uint32_t destroyed = 0;
	bool allowed;
	int r = nc_claim_was_allowed(claim, &allowed, reterr);

	if (r < 0)
		return r;
	if (allowed) {
		r = search_open(claim, how->netns_fd, &search, reterr);
		if (r < 0)
			return r;
		r = wait_sent(&search, how, reterr);
		r = r < 0 ? r : destroy_all(&search, &destroyed, reterr);
		nl_socket_free(search.sock);
		free(search.found);
		if (r < 0)
			return r;
	}
	*ret_destroyed = destroyed;
	return 0;
}

int nc_claim_end_flows(struct nc_claim *claim, int netns_fd, bool (*stands)(const void *context, const struct nc_label *label), const void *context,
		       uint32_t *ret_ended, struct nc_error *reterr)
{
	struct search search = {.generation = claim->record.generation, .stands = stands, .context = context};
	uint32_t ended = 0;
	int r = search_open(claim, netns_fd, &search, reterr);

	if (r < 0)
		return r;
	r = destroy_all(&search, &ended, reterr);
	nl_socket_free(search.sock);
	free(search.found);
	if (r == 0)
		*ret_ended = ended;
	return r;
}
