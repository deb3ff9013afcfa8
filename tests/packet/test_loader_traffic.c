// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_loader_traffic.c - what the loader tells about real sockets: events, counters, drains, the host's addresses, and cgroups taken from others
 *
 * Two network namespaces without a name and without an uplink, joined by a veth pair: the workload's (93.184.216.10) and the peer's (93.184.216.34), where
 * live listeners of this process wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <bpf/bpf.h>
#include "inside.h"
#include "scratch.h"

#define WORKLOAD "93.184.216.10"
#define PEER "93.184.216.34"
#define LISTED 8080
#define UNLISTED 8081

struct net {
	int workload, peer;   /* namespaces */
	int listed, unlisted; /* listeners in the peer's */
};

/* ---- the network ---------------------------------------------------------------------------------------------------------------------------------- */

static int netns_make(void)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), made;

	assert_true(own >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	made = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(made >= 0);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
	return made;
}

static void run_in(int netns, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void run_in(int netns, const char *format, ...)
{
	char command[256];
	va_list arguments;
	pid_t child;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	child = fork();
	if (!child) {
		if (netns >= 0 && setns(netns, CLONE_NEWNET))
			_exit(126);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	assert_all_exit_zero(&child, 1);
}

static struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
	return address;
}

static int listener_make(int netns, uint16_t port)
{
	struct sockaddr_in address = address_of(PEER, port);
	struct nc_error error;
	int fd, small = 4096;

	assert_ok(nc_netns_socket(netns, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, &fd, &error), &error);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 128), 0);
	return fd;
}

static void net_make(struct net *net)
{
	net->workload = netns_make();
	net->peer = netns_make();
	run_in(net->workload, "ip link add v0 type veth peer name v1 netns /proc/%d/fd/%d", getpid(), net->peer);
	run_in(net->workload, "ip link set lo up; ip addr add " WORKLOAD "/24 dev v0 && ip link set v0 up");
	run_in(net->peer, "ip link set lo up; ip addr add " PEER "/24 dev v1 && ip link set v1 up");
	net->listed = listener_make(net->peer, LISTED);
	net->unlisted = listener_make(net->peer, UNLISTED);
}

static void net_end(struct net *net)
{
	close(net->listed);
	close(net->unlisted);
	close(net->workload);
	close(net->peer);
}

/* In a child: enters the cgroup and the namespace, then acts; its return value is the exit status. */
static pid_t inside(int cgroup_fd, int netns, int (*act)(void *context), void *context)
{
	pid_t child = fork();

	if (!child) {
		int procs = cgroup_fd < 0 ? -1 : openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

		if (cgroup_fd >= 0 && (procs < 0 || write(procs, "0", 1) != 1))
			_exit(101);
		if (setns(netns, CLONE_NEWNET))
			_exit(102);
		_exit(act(context));
	}
	assert_true(child > 0);
	return child;
}

static int status_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The errno of a connect() to the peer's port, 0 when it came through. */
static int act_connect(void *context)
{
	struct sockaddr_in address = address_of(PEER, *(uint16_t *)context);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return errno;
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) ? errno : 0;
}

static int connect_from(int cgroup_fd, int netns, uint16_t port)
{
	return status_of(inside(cgroup_fd, netns, act_connect, &port));
}

/* How many connections wait at the listener, taking them. */
static int arrived(int listener)
{
	int count = 0, fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		count++;
		close(fd);
	}
	return count;
}

/* ---- an instance ------------------------------------------------------------------------------------------------------------------------------------- */

struct sealed {
	struct nc_policy_entry entry;
	struct nc_image image;
	struct nc_host *host;
	struct nc_claim *claim;
};

static void image_make(struct sealed *sealed)
{
	struct sockaddr_in address = address_of(PEER, LISTED);

	memset(sealed, 0, sizeof(*sealed));
	sealed->entry.key.address.bytes[10] = sealed->entry.key.address.bytes[11] = 0xff;
	memcpy(sealed->entry.key.address.bytes + 12, &address.sin_addr, 4);
	sealed->entry.key.port_be = address.sin_port;
	sealed->entry.key.protocol = IPPROTO_TCP;
	sealed->entry.key.kind = NC_POLICY_LITERAL;
	sealed->image = (struct nc_image){.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = &sealed->entry, .count = 1};
}

static void sealed_make(struct scratch *scratch, struct sealed *sealed, const struct net *net)
{
	struct nc_seal seal = {.image = &sealed->image};
	struct nc_error error;

	image_make(sealed);
	assert_ok(nc_host_up(&scratch->options, &sealed->host, &error), &error);
	assert_ok(nc_claim_new(sealed->host, "one", &sealed->claim, &error), &error);
	assert_ok(nc_claim_make_cgroups(sealed->claim, &error), &error);
	assert_ok(nc_netns_cookie(net->workload, &seal.netns_cookie, &error), &error);
	assert_ok(nc_claim_seal(sealed->claim, NC_AUTHORITY_WORKLOAD, &seal, &error), &error);
}

static void sealed_end(struct scratch *scratch, struct sealed *sealed)
{
	struct nc_error error;

	assert_ok(nc_claim_release(sealed->claim, &error), &error);
	assert_empty(sealed->host);
	assert_ok(nc_host_down(sealed->host, false, &error), &error);
	nc_host_close(sealed->host);
	assert_nothing_left(scratch);
}

static int workload_cgroup(const struct sealed *sealed)
{
	return nc_claim_cgroup_fd(sealed->claim, NC_AUTHORITY_WORKLOAD);
}

/* ---- events and counters -------------------------------------------------------------------------------------------------------------------------------- */

struct heard {
	int count, allowed, refused;
};

static int hear(void *context, const struct nc_event *event)
{
	struct heard *heard = context;

	heard->count++;
	heard->allowed += event->reason == NC_REASON_LITERAL_LISTED && event->port_be == htons(LISTED) && event->hook == NC_HOOK_CONNECT4;
	heard->refused += event->reason == NC_REASON_DESTINATION_NOT_LISTED && event->port_be == htons(UNLISTED) && event->decision == NC_DENY;
	return 0;
}

static int hear_one(void *context, const struct nc_event *event)
{
	(void)event;
	++*(int *)context;
	return 1;
}

static int find_seen(void *context, const struct nc_seen_key *key, const struct nc_seen_value *value)
{
	if (key->reason == NC_REASON_DESTINATION_NOT_LISTED && key->port_be == htons(UNLISTED))
		*(uint64_t *)context += value->count;
	return 0;
}

static void test_events_and_counters(void **state)
{
	struct scratch *scratch = *state;
	struct nc_events *events = NULL;
	struct nc_counters counters;
	struct heard heard = {0};
	struct sealed sealed;
	struct nc_error error;
	struct pollfd polled;
	uint64_t seen = 0;
	struct net net;
	int one = 0;

	net_make(&net);
	sealed_make(scratch, &sealed, &net);
	assert_ok(nc_events_open(nc_claim_ring_fd(sealed.claim), &events, &error), &error);
	polled = (struct pollfd){.fd = nc_events_poll_fd(events), .events = POLLIN};
	assert_int_equal(poll(&polled, 1, 0), 0);
	assert_int_equal(connect_from(workload_cgroup(&sealed), net.workload, LISTED), 0);
	assert_int_equal(arrived(net.listed), 1);
	for (int i = 0; i < 10; i++)
		assert_int_equal(connect_from(workload_cgroup(&sealed), net.workload, UNLISTED), EPERM);
	assert_int_equal(arrived(net.unlisted), 0);
	assert_int_equal(connect_from(-1, net.workload, UNLISTED), 0); /* the listener lives */
	assert_int_equal(arrived(net.unlisted), 1);
	assert_int_equal(poll(&polled, 1, 1000), 1);
	assert_ok(nc_claim_counters(sealed.claim, NC_AUTHORITY_WORKLOAD, &counters, &error), &error);
	assert_int_equal(counters.by_reason[NC_REASON_LITERAL_LISTED], 1);
	assert_int_equal(counters.by_reason[NC_REASON_DESTINATION_NOT_LISTED], 10);
	assert_int_equal(counters.by_reason[NC_COUNTER_LOST], 0);
	assert_ok(nc_claim_seen(sealed.claim, find_seen, &seen, &error), &error);
	assert_int_equal(seen, 10);
	assert_ok(nc_events_drain(events, nc_claim_generation(sealed.claim), hear_one, &one, &error), &error);
	assert_int_equal(one, 1); /* it stops when it is told to */
	heard.count = one;
	assert_ok(nc_events_drain(events, nc_claim_generation(sealed.claim), hear, &heard, &error), &error);
	assert_int_equal(heard.count, 2); /* the first of each kind; repeats are counted */
	assert_int_equal(heard.refused, 1);
	assert_int_equal(connect_from(workload_cgroup(&sealed), net.workload, 8082), EPERM);
	one = 0;
	assert_ok(nc_events_drain(events, nc_claim_generation(sealed.claim) ^ 1, hear_one, &one, &error), &error);
	assert_int_equal(one, 0); /* somebody else's records are passed by */
	nc_events_close(events);
	sealed_end(scratch, &sealed);
	net_end(&net);
}

static int lose_none(void *context, const struct nc_event *event)
{
	*(bool *)context = *(bool *)context || event->port_be == htons(9000);
	return 0;
}

/* What nobody read does not greet the ring's next owner, and takes none of its room. */
static void test_ring_is_handed_on_empty(void **state)
{
	struct scratch *scratch = *state;
	struct nc_events *events = NULL;
	struct nc_counters counters;
	struct sealed sealed;
	struct nc_error error;
	bool first = false;
	struct net net;

	scratch->options.rings = 1;
	net_make(&net);
	sealed_make(scratch, &sealed, &net);
	for (uint16_t port = 9000; port < 9060; port++) /* more than 4096 bytes of records */
		assert_int_equal(connect_from(workload_cgroup(&sealed), net.workload, port), EPERM);
	assert_ok(nc_claim_counters(sealed.claim, NC_AUTHORITY_WORKLOAD, &counters, &error), &error);
	assert_true(counters.by_reason[NC_COUNTER_LOST] > 0);
	assert_int_equal(counters.by_reason[NC_REASON_DESTINATION_NOT_LISTED], 60);
	assert_ok(nc_claim_release(sealed.claim, &error), &error);
	nc_host_close(sealed.host);
	sealed_make(scratch, &sealed, &net);
	assert_ok(nc_claim_counters(sealed.claim, NC_AUTHORITY_WORKLOAD, &counters, &error), &error);
	for (int reason = 0; reason < NC_REASON_MAX; reason++)
		assert_true(!counters.by_reason[reason]);
	assert_int_equal(connect_from(workload_cgroup(&sealed), net.workload, 9000), EPERM);
	assert_ok(nc_claim_counters(sealed.claim, NC_AUTHORITY_WORKLOAD, &counters, &error), &error);
	assert_int_equal(counters.by_reason[NC_COUNTER_LOST], 0);
	assert_ok(nc_events_open(nc_claim_ring_fd(sealed.claim), &events, &error), &error);
	assert_ok(nc_events_drain(events, nc_claim_generation(sealed.claim), lose_none, &first, &error), &error);
	assert_true(first);
	nc_events_close(events);
	sealed_end(scratch, &sealed);
	net_end(&net);
}

/* ---- the end of connections -------------------------------------------------------------------------------------------------------------------- */

/* Sends until nothing more fits, writes how much that was, and ends: what was sent is the kernel's then. */
static int act_send_and_end(void *context)
{
	struct sockaddr_in address = address_of(PEER, LISTED);
	int fd = socket(AF_INET, SOCK_STREAM, 0), size = 1 << 20;
	static char bytes[65536];
	uint32_t sent = 0;
	ssize_t put;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return 1;
	for (int quiet = 0; quiet < 5;) {
		put = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		quiet = put > 0 ? 0 : quiet + 1;
		sent += put > 0 ? (uint32_t)put : 0;
		if (put <= 0)
			usleep(10000);
	}
	return write(*(int *)context, &sent, sizeof(sent)) == sizeof(sent) ? 0 : 2;
}

static uint32_t send_and_end(struct sealed *sealed, struct net *net)
{
	int channel[2];
	uint32_t sent = 0;

	assert_int_equal(pipe2(channel, O_CLOEXEC), 0);
	assert_int_equal(status_of(inside(workload_cgroup(sealed), net->workload, act_send_and_end, &channel[1])), 0);
	assert_int_equal(read(channel[0], &sent, sizeof(sent)), sizeof(sent));
	close(channel[0]);
	close(channel[1]);
	assert_true(sent > 65536);
	return sent;
}

static int accept_one(int listener)
{
	struct pollfd polled = {.fd = listener, .events = POLLIN};

	assert_int_equal(poll(&polled, 1, 2000), 1);
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

/* Reads to the end; how much, and in *ret_error how it ended. */
static uint32_t read_all(int fd, int *ret_error)
{
	static char bytes[65536];
	uint32_t got = 0;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		got += (uint32_t)n;
	*ret_error = n < 0 ? errno : 0;
	return got;
}

static void test_drain(void **state)
{
	struct scratch *scratch = *state;
	struct sealed sealed;
	struct nc_error error;
	uint32_t destroyed = 77, sent;
	int fd, bystander, ended, served;
	struct sockaddr_in address = address_of(PEER, UNLISTED);
	struct net net;
	pid_t reader;

	net_make(&net);
	sealed_make(scratch, &sealed, &net);
	assert_ok(nc_claim_drain(sealed.claim, &(struct nc_drain){.netns_fd = net.workload, .timeout_ms = 1000}, &destroyed, &error), &error);
	assert_int_equal(destroyed, 0);
	/* somebody else's connection in the same namespace */
	assert_ok(nc_netns_socket(net.workload, AF_INET, SOCK_STREAM, 0, &bystander, &error), &error);
	assert_int_equal(connect(bystander, (struct sockaddr *)&address, sizeof(address)), 0);
	served = accept_one(net.unlisted);
	/* a peer that reads gets everything, to the last byte */
	sent = send_and_end(&sealed, &net);
	fd = accept_one(net.listed);
	reader = fork();
	if (!reader)
		_exit(read_all(fd, &ended) == sent && !ended ? 0 : 1);
	close(fd);
	assert_ok(nc_claim_drain(sealed.claim, &(struct nc_drain){.netns_fd = net.workload, .timeout_ms = 10000}, &destroyed, &error), &error);
	assert_int_equal(destroyed, 0);
	assert_int_equal(status_of(reader), 0);
	/* a peer that does not read is not waited for longer than was said, and then it is over */
	send_and_end(&sealed, &net);
	fd = accept_one(net.listed);
	assert_ok(nc_claim_drain(sealed.claim, &(struct nc_drain){.netns_fd = net.workload, .timeout_ms = 200}, &destroyed, &error), &error);
	assert_int_equal(destroyed, 1);
	read_all(fd, &ended);
	assert_int_equal(ended, ECONNRESET);
	close(fd);
	assert_ok(nc_claim_drain(sealed.claim, &(struct nc_drain){.netns_fd = net.workload, .timeout_ms = 200}, &destroyed, &error), &error);
	assert_int_equal(destroyed, 0);
	/* the bystander was left alone */
	assert_int_equal(write(bystander, "x", 1), 1);
	assert_int_equal(read(served, &ended, 1), 1);
	close(served);
	close(bystander);
	sealed_end(scratch, &sealed);
	net_end(&net);
}

/* ---- a cgroup of somebody else ----------------------------------------------------------------------------------------------------------------- */

static int act_sleep(void *context)
{
	(void)context;
	alarm(60); /* bounded, should nobody end it */
	pause();
	return 0;
}

static void refuse_cgroup(struct nc_claim *claim, const char *path)
{
	struct nc_error error;

	assert_true(nc_claim_take_cgroup(claim, path, &error) < 0);
	assert_int_equal(error.code, NC_E_CGROUP_INVALID);
	assert_int_equal(nc_claim_cgroup_fd(claim, NC_AUTHORITY_WORKLOAD), -1);
}

/* What runs in a taken cgroup ends with the instance once somebody was told. */
static void end_untold_and_told(struct sealed *sealed, struct net *net, const char *guest, int inner_fd)
{
	struct nc_error error;
	pid_t sleeper;

	/* as long as nobody was told, its end gives the cgroup back: what lives there lives on, and is open again */
	sleeper = inside(inner_fd, net->workload, act_sleep, NULL);
	usleep(50000);
	assert_ok(nc_claim_release(sealed->claim, &error), &error);
	assert_int_equal(waitpid(sleeper, NULL, WNOHANG), 0);
	assert_empty(sealed->host);
	assert_int_equal(connect_from(inner_fd, net->workload, UNLISTED), 0);
	assert_int_equal(arrived(net->unlisted), 1);
	/* told: it ends with the instance */
	assert_ok(nc_claim_new(sealed->host, "guest", &sealed->claim, &error), &error);
	assert_ok(nc_claim_take_cgroup(sealed->claim, guest, &error), &error);
	assert_ok(nc_claim_seal(sealed->claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &sealed->image}, &error), &error);
	assert_ok(nc_claim_announce(sealed->claim, false, &error), &error);
	assert_int_equal(connect_from(inner_fd, net->workload, UNLISTED), EPERM);
	assert_int_equal(waitpid(sleeper, NULL, WNOHANG), 0);
	assert_ok(nc_claim_release(sealed->claim, &error), &error);
	assert_int_equal(waitpid(sleeper, NULL, WNOHANG), sleeper);
	assert_empty(sealed->host);
}

static void test_take_cgroup(void **state)
{
	struct scratch *scratch = *state;
	struct nc_claim *other = NULL;
	struct nc_host_facts before, after;
	char guest[NC_PATH_MAX + 32], path[NC_PATH_MAX + 64];
	struct sealed sealed;
	struct nc_error error;
	struct net net;
	int guest_fd, inner_fd;

	net_make(&net);
	image_make(&sealed);
	snprintf(guest, sizeof(guest), "%s/guest", scratch->root);
	snprintf(path, sizeof(path), "%s/guest/inner", scratch->root);
	assert_int_equal(mkdir(guest, 0755), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	guest_fd = open(guest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	inner_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(nc_host_up(&scratch->options, &sealed.host, &error), &error);
	assert_ok(nc_host_facts(sealed.host, &before, &error), &error);
	assert_ok(nc_claim_new(sealed.host, "guest", &sealed.claim, &error), &error);
	refuse_cgroup(sealed.claim, scratch->root);
	refuse_cgroup(sealed.claim, sealed.host->slice);
	refuse_cgroup(sealed.claim, "/proc");
	snprintf(path, sizeof(path), "%s/..", scratch->root);
	refuse_cgroup(sealed.claim, path);
	snprintf(path, sizeof(path), "%s/nowhere", scratch->root);
	refuse_cgroup(sealed.claim, path);
	assert_ok(nc_host_facts(sealed.host, &after, &error), &error);
	assert_int_equal(after.links, before.links);
	/* not sealed yet: open; taken: closed; sealed: as the policy says, also further down */
	assert_int_equal(connect_from(guest_fd, net.workload, UNLISTED), 0);
	assert_int_equal(arrived(net.unlisted), 1);
	assert_ok(nc_claim_take_cgroup(sealed.claim, guest, &error), &error);
	assert_string_equal(nc_claim_cgroup_path(sealed.claim, NC_AUTHORITY_WORKLOAD), guest);
	assert_int_equal(connect_from(guest_fd, net.workload, LISTED), EPERM);
	assert_ok(nc_claim_seal(sealed.claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &sealed.image}, &error), &error);
	assert_int_equal(arrived(net.listed), 0);
	assert_int_equal(connect_from(guest_fd, net.workload, LISTED), 0);
	assert_int_equal(connect_from(inner_fd, net.workload, LISTED), 0);
	assert_int_equal(arrived(net.listed), 2);
	assert_int_equal(connect_from(inner_fd, net.workload, UNLISTED), EPERM);
	assert_int_equal(arrived(net.unlisted), 0);
	/* the same, one below or one above, cannot be taken a second time */
	assert_ok(nc_claim_new(sealed.host, "other", &other, &error), &error);
	refuse_cgroup(other, guest);
	snprintf(path, sizeof(path), "%s/inner", guest);
	refuse_cgroup(other, path);
	assert_ok(nc_claim_release(other, &error), &error);
	end_untold_and_told(&sealed, &net, guest, inner_fd);
	assert_ok(nc_host_facts(sealed.host, &after, &error), &error);
	assert_int_equal(after.links, before.links);
	/* the cgroup is its owner's again */
	assert_int_equal(connect_from(guest_fd, net.workload, UNLISTED), 0);
	assert_int_equal(arrived(net.unlisted), 1);
	close(guest_fd);
	close(inner_fd);
	snprintf(path, sizeof(path), "%s/inner", guest);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(guest), 0);
	assert_ok(nc_host_down(sealed.host, false, &error), &error);
	nc_host_close(sealed.host);
	assert_nothing_left(scratch);
	net_end(&net);
}

/* ---- the host's addresses ---------------------------------------------------------------------------------------------------------------------- */

static uint32_t floor_kind(struct nc_host *host, const char *text)
{
	union nc_address address = {.bytes = {[10] = 0xff, [11] = 0xff}};
	struct nc_error error;
	uint32_t kind = 0;
	int fd;

	if (inet_pton(AF_INET, text, address.bytes + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, address.bytes), 1);
	assert_ok(nc_host_map(host, NC_MAP_HOST_FLOOR, &fd, &error), &error);
	return bpf_map_lookup_elem(fd, &address, &kind) ? 0 : kind;
}

static void floor_wait(struct nc_floor *floor)
{
	struct pollfd polled = {.fd = nc_floor_poll_fd(floor), .events = POLLIN};
	struct nc_error error;

	assert_int_equal(poll(&polled, 1, 2000), 1);
	assert_ok(nc_floor_step(floor, &error), &error);
}

/* This process plays the host in a namespace of its own, where it may change addresses. */
static void test_floor_follows(void **state)
{
	static const char *const metadata[] = {"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"};
	const union nc_address operators = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [14] = 0, [15] = 1}};
	struct scratch *scratch = *state;
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), play = netns_make();
	struct nc_floor *floor = NULL;
	struct nc_host *host = NULL;
	struct nc_error error;

	scratch->options.floor = &operators;
	scratch->options.floor_count = 1;
	assert_int_equal(setns(play, CLONE_NEWNET), 0);
	run_in(-1, "ip link set lo up; ip addr add 203.0.113.7/32 dev lo; ip addr add 198.18.0.1/32 dev lo");
	assert_ok(nc_host_up(&scratch->options, &host, &error), &error);
	for (size_t i = 0; i < sizeof(metadata) / sizeof(metadata[0]); i++)
		assert_int_equal(floor_kind(host, metadata[i]), NC_FLOOR_METADATA);
	assert_int_equal(floor_kind(host, "198.18.0.1"), NC_FLOOR_OPERATOR);
	assert_ok(nc_floor_open(host, &floor, &error), &error);
	assert_int_equal(floor_kind(host, "203.0.113.7"), NC_FLOOR_HOST);
	assert_int_equal(floor_kind(host, "127.0.0.1"), 0);
	assert_int_equal(floor_kind(host, "::1"), 0);
	run_in(-1, "ip addr add 203.0.113.8/32 dev lo; ip addr add 2001:db8::8/128 dev lo");
	floor_wait(floor);
	assert_int_equal(floor_kind(host, "203.0.113.8"), NC_FLOOR_HOST);
	assert_int_equal(floor_kind(host, "2001:db8::8"), NC_FLOOR_HOST);
	run_in(-1, "ip addr del 203.0.113.8/32 dev lo; ip addr del 198.18.0.1/32 dev lo");
	floor_wait(floor);
	assert_int_equal(floor_kind(host, "203.0.113.8"), 0);
	assert_int_equal(floor_kind(host, "203.0.113.7"), NC_FLOOR_HOST);
	assert_int_equal(floor_kind(host, "198.18.0.1"), NC_FLOOR_OPERATOR);
	/* a thousand changes before the first is read */
	run_in(-1, "for i in $(seq 1 250); do for j in 1 2 3; do echo addr add 203.0.114.$i/32 dev lo; echo addr del 203.0.114.$i/32 dev lo; done; "
		   "echo addr add 203.0.114.$i/32 dev lo; done | ip -batch -");
	floor_wait(floor);
	assert_int_equal(floor_kind(host, "203.0.114.250"), NC_FLOOR_HOST);
	assert_int_equal(floor_kind(host, "203.0.114.1"), NC_FLOOR_HOST);
	nc_floor_close(floor);
	assert_int_equal(floor_kind(host, "203.0.113.7"), 0); /* nobody supervises from there any more */
	assert_int_equal(floor_kind(host, "198.18.0.1"), NC_FLOOR_OPERATOR);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	assert_ok(nc_host_down(host, false, &error), &error);
	nc_host_close(host);
	close(own);
	close(play);
	assert_nothing_left(scratch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events_and_counters), TEST(test_ring_is_handed_on_empty), TEST(test_drain),
		TEST(test_take_cgroup),		TEST(test_floor_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
