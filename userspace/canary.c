/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * canary.c - does the cordon hold, for this very process, now?
 *
 * Listeners of the supervisor wait on 127.0.0.1 and ::1 of the workload's network namespace, TCP and UDP, all on one port, which the kernel is told to keep on
 * the host floor. Then three things must be true together, and each of them alone would prove nothing:
 *
 *   1. each attempt of the child gets EPERM and raises the authority's counter for exactly the expected reason by one, and no other counter (a refusal by
 *      seccomp or by somebody else's program would raise none)
 *   2. the listeners saw nothing
 *   3. the same listeners do see what the supervisor then sends them from outside the cordon, so that they would have seen the child's too
 *
 * Others may live in that network namespace and try whatever begins to listen there. The kernel keeps every instance away from the listeners (they carry a mark
 * from before they are bound), and what others send is told from what is ours: a datagram by the canary's own random bytes, a connection by the port that it
 * comes from. What is not ours is taken away and proves nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "canary.h"
#include "cleanup.h"
#include "child.h"
#include "mutants.h"

#define PORT_TRIES 32
#define BACKLOG 8
#define DRAIN_MAX 1024 /* more than a listener's queue holds: what was there when the look began has been seen */
#define PROVE_MS 1000
#define LOOK_MS 100 /* then it is sent again: a full queue of other people's may have lost it */

/* One row is one attempt, one listener and one proof. */
static const struct {
	int family, type;
	const char *name;
} attempts[NC_CANARY_ATTEMPTS] = {
	{AF_INET, SOCK_STREAM, "TCP over IPv4"},
	{AF_INET, SOCK_DGRAM, "UDP over IPv4"},
	{AF_INET6, SOCK_STREAM, "TCP over IPv6"},
	{AF_INET6, SOCK_DGRAM, "UDP over IPv6"},
};

static socklen_t loopback(int family, uint16_t port_be, struct sockaddr_storage *ret_address)
{
	memset(ret_address, 0, sizeof(*ret_address));
	if (family == AF_INET) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;

		v4->sin_family = AF_INET;
		v4->sin_port = port_be;
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*v4);
	}
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = port_be;
	v6->sin6_addr = in6addr_loopback;
	return sizeof(*v6);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 address = {0};
	socklen_t length = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &length) < 0 ? 0 : address.sin6_port; /* the port is at the same place in both families */
}

/* Makes attempt i: connect for TCP, an unconnected datagram for UDP, so that all four address hooks are asked. 0 when it got through: the caller then closes
 * *ret_fd, and not before a listener has had its connection, which a busy host completes in its own time. *ret_port_be: where it came from, 0: nowhere yet. */
static int attempt(int i, uint16_t port_be, const uint8_t nonce[NC_CANARY_NONCE], uint16_t *ret_port_be, int *ret_fd)
{
	NC_CLOSE int fd = socket(attempts[i].family, attempts[i].type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage to;
	socklen_t length = loopback(attempts[i].family, port_be, &to);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (attempts[i].type == SOCK_STREAM)
		r = connect(fd, (struct sockaddr *)&to, length) < 0 && errno != EINPROGRESS ? -errno : 0;
	else if (sendto(fd, nonce, NC_CANARY_NONCE, 0, (struct sockaddr *)&to, length) < 0)
		r = -errno;
	*ret_port_be = port_of(fd);
	if (r == 0)
		*ret_fd = NC_TAKE_FD(fd);
	return r;
}

void nc_canary_attempt(const struct nc_order *order, int32_t results[NC_CANARY_ATTEMPTS], uint16_t ports_be[NC_CANARY_ATTEMPTS])
{
	for (int i = 0; i < NC_CANARY_ATTEMPTS; i++) {
		NC_CLOSE int fd = -1;

		results[i] = order->attempts & (1u << i) ? attempt(i, order->port_be, order->nonce, &ports_be[i], &fd) : 1;
	}
}

/* ---- the supervisor's side ------------------------------------------------------------------------------------------------------------------- */

static int listen_on(struct nc_claim *claim, int i, uint16_t port_be)
{
	struct nc_error error = {0};
	int fd = socket(attempts[i].family, attempts[i].type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage at;
	socklen_t length = loopback(attempts[i].family, port_be, &at);
	int one = 1, status;

	if (fd < 0)
		return -errno;
	status = nc_claim_mark_canary(claim, fd, &error);
	if (status == 0 && ((attempts[i].family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
			    bind(fd, (struct sockaddr *)&at, length) < 0 || (attempts[i].type == SOCK_STREAM && listen(fd, BACKLOG) < 0)))
		status = -errno;
	if (status == 0)
		return fd;
	close(fd);
	return status;
}

/* A family that this network namespace does not have cannot be reached in it either. */
static bool family_absent(int status)
{
	return status == -EAFNOSUPPORT || status == -EADDRNOTAVAIL;
}

static int open_all(struct nc_canary *canary, struct nc_claim *claim)
{
	for (int i = 0; i < NC_CANARY_ATTEMPTS; i++) {
		int fd = listen_on(claim, i, canary->port_be);

		if (fd < 0 && attempts[i].family == AF_INET6 && family_absent(fd))
			continue;
		if (fd < 0)
			return fd;
		canary->listeners[i] = fd;
		canary->attempts |= (uint8_t)(1u << i);
		if (i == 0)
			canary->port_be = port_of(fd);
	}
	return 0;
}

int nc_canary_open(struct nc_canary *ret_canary, struct nc_claim *claim, struct nc_error *reterr)
{
	uint8_t nonce[sizeof(ret_canary->nonce)];
	int r = 0;

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "get random bytes for the canary");
	/* The first listener takes any free port; whether the other three are free there is luck, and luck is tried again. */
	for (int tries = 0; tries < PORT_TRIES; tries++) {
		struct nc_canary canary = NC_CANARY_NONE;

		memcpy(canary.nonce, nonce, sizeof(nonce));
		r = open_all(&canary, claim);
		if (r == 0) {
			*ret_canary = canary;
			return 0;
		}
		nc_canary_close(&canary);
		if (r != -EADDRINUSE)
			break;
	}
	nc_error_sys(reterr, NC_E_CANARY_FAILED, r, "listen on the loopback of the workload's network namespace");
	return nc_error_hint(reterr, "bring up its loopback device: ip link set lo up");
}

struct nc_order nc_canary_order(const struct nc_canary *canary)
{
	struct nc_order order = {.kind = NC_ORDER_CANARY, .port_be = canary->port_be, .attempts = canary->attempts};

	memcpy(order.nonce, canary->nonce[0], NC_CANARY_NONCE);
	return order;
}

void nc_canary_close(struct nc_canary *canary)
{
	for (int i = 0; i < NC_CANARY_ATTEMPTS; i++) {
		if (canary->listeners[i] >= 0)
			close(canary->listeners[i]);
		canary->listeners[i] = -1;
	}
}

/* One datagram: 1 ours, 0 somebody else's, -1 there is none. */
static int take_datagram(int listener, const uint8_t nonce[NC_CANARY_NONCE])
{
	uint8_t bytes[NC_CANARY_NONCE];
	ssize_t got = recv(listener, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);

	return got < 0 ? -1 : got == NC_CANARY_NONCE && !memcmp(bytes, nonce, NC_CANARY_NONCE);
}

/* One connection, likewise. A client that never had a port has none here. */
static int take_connection(int listener, uint16_t port_be)
{
	struct sockaddr_in6 peer = {0};
	socklen_t length = sizeof(peer);
	NC_CLOSE int fd = accept4(listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) /* one that was taken back while it waited is nobody's */
		return errno == ECONNABORTED ? 0 : -1;
	return port_be && peer.sin6_port == port_be; /* the port is at the same place in both families */
}

/* Takes what is waiting at listener i: is there something of ours, with this nonce or from this port? */
static bool heard(const struct nc_canary *canary, int i, const uint8_t nonce[NC_CANARY_NONCE], uint16_t port_be)
{
	int ours = 0;

	for (int taken = 0; ours == 0 && taken < DRAIN_MAX; taken++)
		ours = attempts[i].type == SOCK_DGRAM ? take_datagram(canary->listeners[i], nonce) : take_connection(canary->listeners[i], port_be);
	return ours > 0;
}

static int judge_attempt(const struct nc_canary *canary, int i, int result, uint16_t port_be, struct nc_error *reterr)
{
	if (result == 0)
		return nc_error_set(reterr, NC_E_CANARY_FAILED, -EPERM, "%s: the child's attempt was not refused", attempts[i].name);
	if (result != -EPERM)
		return nc_error_sys(reterr, NC_E_CANARY_FAILED, result, "%s: the child's attempt failed for another reason", attempts[i].name);
	if (heard(canary, i, canary->nonce[0], port_be))
		return nc_error_set(reterr, NC_E_CANARY_FAILED, -EPERM, "%s: the listener saw the child's attempt", attempts[i].name);
	return 0;
}

int nc_canary_judge(const struct nc_canary *canary, const struct nc_report *report, enum nc_reason expected, bool exactly,
		    const struct nc_counters *before, const struct nc_counters *after, struct nc_error *reterr)
{
	uint64_t made = 0;

	if (NC_MUTANT_OFF("canary"))
		return 0;
	for (int i = 0; i < NC_CANARY_ATTEMPTS; i++) {
		int r = canary->attempts & (1u << i) ? judge_attempt(canary, i, report->results[i], report->ports_be[i], reterr) : 0;

		if (r < 0)
			return r;
		made += canary->attempts >> i & 1;
	}
	for (int reason = 1; reason < NC_REASON_MAX; reason++) {
		uint64_t rose = after->by_reason[reason] - before->by_reason[reason];
		uint64_t meant = reason == (int)expected ? made : 0;

		if (exactly ? rose != meant : rose < meant)
			return nc_error_set(reterr, NC_E_CANARY_FAILED, -EPERM, "%d attempts were made, and the counter of reason %d rose by %llu",
					    (int)made, reason, (unsigned long long)rose);
	}
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* One knock at listener i. 1: heard; 0: not yet, so it is to be tried again. */
static int knock(const struct nc_canary *canary, int i)
{
	struct pollfd poll_in = {.fd = canary->listeners[i], .events = POLLIN};
	int64_t until = now_ms() + LOOK_MS, left;
	NC_CLOSE int fd = -1;
	uint16_t port_be = 0;
	int r = attempt(i, canary->port_be, canary->nonce[1], &port_be, &fd);

	if (r < 0)
		return r;
	while ((left = until - now_ms()) > 0)
		if (poll(&poll_in, 1, (int)left) == 1 && heard(canary, i, canary->nonce[1], port_be))
			return 1;
	return 0;
}

int nc_canary_prove(const struct nc_canary *canary, struct nc_error *reterr)
{
	for (int i = 0; i < NC_CANARY_ATTEMPTS; i++) {
		int r = canary->attempts & (1u << i) ? 0 : 1;

		for (int64_t until = now_ms() + PROVE_MS; r == 0 && now_ms() < until;)
			r = knock(canary, i);
		if (r < 0)
			return nc_error_sys(reterr, NC_E_CANARY_FAILED, r, "%s: the supervisor cannot reach its own listener", attempts[i].name);
		if (r == 0)
			return nc_error_set(reterr, NC_E_CANARY_FAILED, -ETIMEDOUT, "%s: the listener does not see what reaches it",
					    attempts[i].name);
	}
	return 0;
}
