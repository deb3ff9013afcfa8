// SPDX-License-Identifier: GPL-2.0-only
/*
 * closure.c - every known way out of a cordon, what closes it, and whether that is in force
 *
 * Two tables. A mechanism is one thing that can be in force: a group of programs that the kernel reports as attached, or a measure that a provider
 * takes on the process that it starts. A path is one way out, with the alternatives that close it; an alternative is a set of mechanisms that must
 * all be in force. A path that no alternative closes is a gap, unless the kernel at hand cannot make it.
 *
 * The wording here is what `host probe`, the launch statement and the README print.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cleanup.h"
#include "loader.h"

/*
 * symbol, word, kind, what it needs (prose), and for PROGRAMS the hooks that must all be in force.
 * The order is the order in which words appear.
 */
#define MECHANISMS(X)                                                                                                                                \
	X(SOCK_CREATE, "sock_create", PROGRAMS, "", NC_HOOK_SOCK_CREATE)                                                                             \
	X(CONNECT, "connect", PROGRAMS, "", NC_HOOK_CONNECT4, NC_HOOK_CONNECT6)                                                                      \
	X(SENDMSG, "sendmsg", PROGRAMS, "", NC_HOOK_SENDMSG4, NC_HOOK_SENDMSG6)                                                                      \
	X(BIND, "bind", PROGRAMS, "", NC_HOOK_BIND4, NC_HOOK_BIND6)                                                                                  \
	X(SETSOCKOPT, "setsockopt", PROGRAMS, "", NC_HOOK_SETSOCKOPT)                                                                                \
	X(EGRESS, "egress", PROGRAMS, "", NC_HOOK_EGRESS)                                                                                            \
	X(INGRESS, "ingress", PROGRAMS, "", NC_HOOK_INGRESS)                                                                                         \
	X(GUARD, "guard", PROGRAMS, "programs at the root of the cgroup hierarchy, not of a part of it", NC_HOOK_GUARD_SOCK_CREATE,                  \
	  NC_HOOK_GUARD_CONNECT4, NC_HOOK_GUARD_CONNECT6, NC_HOOK_GUARD_SENDMSG4, NC_HOOK_GUARD_SENDMSG6)                                            \
	X(UNIX_HOOKS, "unix_hooks", PROGRAMS, "cgroup programs for unix sockets (Linux 6.7)", NC_HOOK_CONNECT_UNIX, NC_HOOK_SENDMSG_UNIX)            \
	X(LSM_FAMILY, "lsm_family", PROGRAMS, "BPF security hooks that load and act", NC_HOOK_LSM_CREATE)                                            \
	X(LSM_UNIX, "lsm_unix", PROGRAMS, "BPF security hooks that load and act", NC_HOOK_LSM_POST_CREATE, NC_HOOK_LSM_UNIX_STREAM,                  \
	  NC_HOOK_LSM_UNIX_SEND)                                                                                                                     \
	X(LSM_SENDMSG, "lsm_sendmsg", PROGRAMS, "BPF security hooks that load and act, and see sendfile (Linux 6.5)", NC_HOOK_LSM_SENDMSG)           \
	X(DEVICE, "device", PROGRAMS, "a cgroup program for devices", NC_HOOK_DEVICE)                                                                \
	X(SECCOMP, "seccomp", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                                           \
	X(SECCOMP_UNIX, "seccomp_unix", PROCESS_MEASURE, "a workload started by `netcordon run` whose profile does not accept the gap", 0)           \
	X(CAPABILITIES, "no_capabilities", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                              \
	X(OWN_UID, "own_uid", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                                           \
	X(PID_NAMESPACE, "pid_namespace", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                               \
	X(DESCRIPTORS, "descriptors_closed", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                            \
	X(MOUNTS, "mounts_hidden", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                                      \
	X(TERMINAL, "own_terminal", PROCESS_MEASURE, "a workload started by `netcordon run`", 0)                                                     \
	X(QUERY, "foreign_programs_refused", HOST_MEASURE, "", 0)                                                                                    \
	X(READ_ONLY, "maps_read_only", HOST_MEASURE, "", 0)                                                                                          \
	X(SERVER_NAME, "server_name", HOST_MEASURE, "a profile without \"wire\": \"any\" beside a name", 0)

enum kind {
	PROGRAMS,	 /* the kernel says whether they are attached */
	PROCESS_MEASURE, /* taken when a process is started by netcordon itself */
	HOST_MEASURE,	 /* taken or failed on every launch */
};

#define MECHANISM_SYMBOL(symbol, ...) MECHANISM_##symbol,
enum mechanism { MECHANISMS(MECHANISM_SYMBOL) MECHANISM_COUNT };

static const struct mechanism_row {
	const char *word;
	enum kind kind;
	const char *needs;
	unsigned char hooks[6];
} mechanisms[] = {
#define MECHANISM_ROW(symbol, word, kind, needs, ...) {word, kind, needs, {__VA_ARGS__}},
	MECHANISMS(MECHANISM_ROW)};

/*
 * Does the kernel know this family? Asked only for a path that nothing closes: a workload could make the same call, and load the same module by it. Asked with
 * a kind of socket that none of these families has (RDM; ESOCKTNOSUPPORT where the family is there): nothing is made, and so nothing closed. An AF_PACKET
 * socket's close waits for every reader in the network stack, 6 to 16 ms on an idle machine.
 */
static bool family_absent(int family)
{
	NC_CLOSE int fd = socket(family, SOCK_RDM | SOCK_CLOEXEC, 0);

	return fd < 0 && errno == EAFNOSUPPORT;
}

static bool vsock_absent(void)
{
	return family_absent(40);
}

static bool rds_absent(void)
{
	return family_absent(21);
}

static bool packet_absent(void)
{
	return family_absent(17);
}

static bool xdp_absent(void)
{
	return family_absent(44);
}

/* No ring can be made: not compiled in, or switched off for everybody by kernel.io_uring_disabled. */
static bool io_uring_absent(void)
{
	unsigned char parameters[120] = {0};
	NC_CLOSE int fd = (int)syscall(425 /* io_uring_setup, the same number on every architecture */, 1, parameters);

	return fd < 0 && (errno == ENOSYS || errno == EPERM);
}

static bool tun_absent(void)
{
	return access("/dev/net/tun", F_OK) != 0;
}

static bool autofs_absent(void)
{
	return access("/dev/autofs", F_OK) != 0;
}

#define B(symbol) (1u << MECHANISM_##symbol)
#define EVERYWHERE (B(SOCK_CREATE) | B(CONNECT) | B(SENDMSG) | B(EGRESS))
#define NOT_HANDED_IN (B(SECCOMP) | B(OWN_UID) | B(DESCRIPTORS))

#define ALTERNATIVES_MAX 5

static const struct path_row {
	const char *path;
	const char *summary;
	unsigned int alternatives[ALTERNATIVES_MAX]; /* 0-terminated unless full */
	bool (*absent)(void);			     /* NULL: exists everywhere, or whether it does is not asked */
} paths[] = {
	{"tcp_connect", "TCP connect()", {B(CONNECT)}, NULL},
	{"udp_sendto", "UDP sendto() and sendmsg() to an address", {B(SENDMSG)}, NULL},
	{"udp_batch", "sendmmsg(), UDP segmentation offload, corked and MSG_MORE sends", {B(SENDMSG) | B(EGRESS)}, NULL},
	{"udp_connected", "send() on a connected UDP socket, with or without control data", {B(CONNECT) | B(EGRESS)}, NULL},
	{"v4_mapped", "an IPv4 destination spelled ::ffff:a.b.c.d on an IPv6 socket", {B(CONNECT) | B(SENDMSG)}, NULL},
	{"address_family_mixed", "an AF_INET or AF_UNSPEC address on a socket of another family", {B(CONNECT) | B(SENDMSG)}, NULL},
	{"unspecified_address", "0.0.0.0 and ::, which mean this host", {B(CONNECT) | B(SENDMSG)}, NULL},
	{"reconnect", "connecting a permitted socket again, elsewhere", {B(CONNECT)}, NULL},
	{"tcp_fast_open", "data in the SYN: MSG_FASTOPEN, TCP_FASTOPEN_CONNECT", {B(CONNECT) | B(EGRESS)}, NULL},
	{"mptcp", "MPTCP, whose peer can add addresses of its own", {B(SOCK_CREATE)}, NULL},
	{"io_uring_calls", "connect and send through io_uring, inline, on a worker or a polling thread", {B(CONNECT) | B(SENDMSG)}, NULL},
	{"io_uring_socket",
	 "socket() through io_uring, which no seccomp filter sees: families such as AF_VSOCK",
	 {B(LSM_FAMILY), B(SECCOMP)},
	 io_uring_absent},
	{"io_uring_inherited", "a ring with a polling thread that was made outside", {B(DESCRIPTORS)}, io_uring_absent},
	{"udplite", "UDP-Lite, which has no connect hook", {B(SOCK_CREATE)}, NULL},
	{"icmp_datagram", "ICMP datagram sockets (ping)", {B(SOCK_CREATE)}, NULL},
	{"raw_socket", "raw IP sockets", {B(SOCK_CREATE)}, NULL},
	{"sctp", "SCTP", {B(SOCK_CREATE)}, NULL},
	{"dccp", "DCCP", {B(SOCK_CREATE)}, NULL},
	{"routing_header", "an IPv6 routing header, by socket option or control message", {B(SETSOCKOPT) | B(EGRESS)}, NULL},
	{"ip_options", "an IPv4 source route, by socket option or control message", {B(SETSOCKOPT) | B(EGRESS)}, NULL},
	{"multicast_join", "multicast joins: the kernel sends a report with a chosen group", {B(SETSOCKOPT)}, NULL},
	{"rds", "RDS, which the kernel dials itself", {B(LSM_FAMILY), B(SECCOMP)}, rds_absent},
	{"vsock", "AF_VSOCK to the hypervisor or a guest", {B(LSM_FAMILY), B(SECCOMP)}, vsock_absent},
	{"packet_socket", "AF_PACKET: frames past the IP layers", {B(LSM_FAMILY), B(SECCOMP), B(CAPABILITIES)}, packet_absent},
	{"xdp_socket", "AF_XDP: frames straight to the device", {B(LSM_FAMILY), B(SECCOMP), B(CAPABILITIES)}, xdp_absent},
	{"other_families", "other address families: TIPC, SMC, Bluetooth, CAN, ...", {B(LSM_FAMILY), B(SECCOMP)}, NULL},
	{"tun_device",
	 "a network device of one's own (TUN, TAP, macvtap, PPP) from which the host forwards",
	 {B(DEVICE), B(CAPABILITIES)},
	 tun_absent},
	{"tunnel_device",
	 "what the workload itself makes below IP: VXLAN and other tunnels, rules of nft netdev or tc that change what leaves",
	 {B(CAPABILITIES)},
	 NULL},
	{"fuse_device",
	 "a file system or a device that the workload serves: who waits for it waits for good, and so does the instance's end",
	 {B(DEVICE)},
	 NULL},
	{"vhost_device", "vhost: frames and AF_VSOCK from a virtual machine, which are no socket's", {B(DEVICE)}, NULL},
	{"rdma_device", "RDMA: an adapter that sends what no socket sees", {B(DEVICE)}, NULL},
	{"passthrough_device", "VFIO, UIO: an adapter that is driven from user space", {B(DEVICE)}, NULL},
	{"memory_device", "/dev/mem, /dev/kmem, /dev/port: the kernel's own memory, and the machine's ports", {B(DEVICE), B(CAPABILITIES)}, NULL},
	{"autofs_device", "the controls of the host's automounter", {B(DEVICE), B(CAPABILITIES)}, autofs_absent},
	{"automounter", "a name below an automounted map of hosts, which the host then dials", {B(MOUNTS)}, autofs_absent},
	{"shared_address", "another name behind a permitted address", {B(SERVER_NAME) | B(EGRESS)}, NULL},
	{"first_payload_rewrite", "a permitted first payload whose retransmission carries other bytes", {B(SERVER_NAME) | B(SETSOCKOPT)}, NULL},
	{"destination_rewrite",
	 "netfilter at the IP layer, an encapsulating route or another program changes the destination after the verdict",
	 {B(EGRESS)},
	 NULL},
	{"listen", "listening instead of dialling, with or without bind()", {B(INGRESS) | B(EGRESS)}, NULL},
	{"listen_after_connect", "dissolving a permitted connection and listening on its socket", {B(INGRESS) | B(EGRESS)}, NULL},
	{"socket_from_outside",
	 "an unconnected socket that was made outside: passed, inherited, or older than the cordon",
	 {B(GUARD), B(LSM_SENDMSG), NOT_HANDED_IN | B(LSM_UNIX), NOT_HANDED_IN | B(UNIX_HOOKS), NOT_HANDED_IN | B(SECCOMP_UNIX)},
	 NULL},
	{"connected_socket_from_outside",
	 "a connected socket from outside: passed, inherited, or fetched from another process",
	 {B(LSM_SENDMSG), NOT_HANDED_IN | B(LSM_UNIX), NOT_HANDED_IN | B(UNIX_HOOKS), NOT_HANDED_IN | B(SECCOMP_UNIX)},
	 NULL},
	{"unix_pathname", "a helper outside behind a unix socket's path", {B(LSM_UNIX), B(UNIX_HOOKS), B(SECCOMP_UNIX)}, NULL},
	{"unix_abstract", "a helper outside behind an abstract unix name", {B(LSM_UNIX), B(UNIX_HOOKS), B(SECCOMP_UNIX)}, NULL},
	{"inherited_descriptor", "a folder, cgroup.procs, device or map that the caller left open", {B(DESCRIPTORS)}, NULL},
	{"child_cgroup", "child cgroups, and programs attached to them", {EVERYWHERE}, NULL},
	{"new_namespace", "new user and network namespaces, setns()", {EVERYWHERE}, NULL},
	{"unsealed_cgroup", "the moment between making a cgroup and sealing it", {EVERYWHERE}, NULL},
	{"foreign_program", "a program of somebody else that cancels a refusal", {B(QUERY)}, NULL},
	{"cgroup_move", "moving out through cgroup.procs", {B(OWN_UID) | B(DESCRIPTORS) | B(MOUNTS)}, NULL},
	{"pins", "reaching the programs, links and maps themselves", {B(OWN_UID) | B(SECCOMP) | B(MOUNTS)}, NULL},
	{"policy_rewrite", "a new program that rewrites a sealed policy map", {B(READ_ONLY)}, NULL},
	{"same_uid_process",
	 "a process of the same user outside: its memory, environment, descriptors",
	 {B(OWN_UID) | B(PID_NAMESPACE) | B(SECCOMP)},
	 NULL},
	{"dns_key_request", "request_key(): the host resolves a name on the workload's behalf", {B(SECCOMP)}, NULL},
	{"terminal_injection", "typing into the caller's terminal (TIOCSTI, TIOCLINUX)", {B(TERMINAL) | B(SECCOMP)}, NULL},
	{"net_classifier", "net_prio or net_cls written after the launch (kernels before 5.14 then skip the cordon)", {B(GUARD)}, NULL},
	{"host_address", "the host's own non-loopback address", {B(EGRESS)}, NULL},
	{"nat64_prefix",
	 "an IPv4 address inside a NAT64 prefix: the well-known one, and those that the operator configures",
	 {B(CONNECT) | B(SENDMSG)},
	 NULL},
	{"tightened_policy", "a connection that lives on after the policy was tightened", {B(EGRESS)}, NULL},
	{"removed_cgroup", "a socket that outlives its cgroup", {EVERYWHERE}, NULL},
};

#define PATH_COUNT (sizeof(paths) / sizeof(*paths))
#define TEXT_MAX 320

/* What the rows say, one text after the other: only as much memory is touched as they need. */
struct texts {
	size_t used;
	char bytes[2 * PATH_COUNT * TEXT_MAX];
};

static const char *const hook_words[] = {
#define HOOK_WORD(symbol, value, word) [value] = word,
	NC_HOOKS(HOOK_WORD)};

const char *nc_closure_state_word(enum nc_closure_state state)
{
	static const char *const words[] = {"gap", "in_force", "absent"};

	return words[state];
}

static bool hook_in_force(const struct nc_effective_list *list, unsigned int hook)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->programs[i].ours && !strcmp(list->programs[i].hook, hook_words[hook]))
			return true;
	}
	return false;
}

static bool mechanism_in_force(const struct mechanism_row *row, const struct nc_closure_facts *facts)
{
	if (row->kind == PROCESS_MEASURE && !facts->starts_process)
		return false;
	if (row == &mechanisms[MECHANISM_GUARD] && !facts->true_root)
		return false;
	if (row == &mechanisms[MECHANISM_LSM_SENDMSG] && facts->pages_unseen)
		return false;
	for (size_t i = 0; i < sizeof(row->hooks) && row->hooks[i]; i++) {
		if (!hook_in_force(facts->effective, row->hooks[i]))
			return false;
	}
	return true;
}

/* seccomp_unix stands in only where nothing better judges unix peers: `run` then refuses socket(AF_UNIX). */
static unsigned int mechanisms_in_force(const struct nc_closure_facts *facts)
{
	unsigned int in_force = 0;

	for (unsigned int i = 0; i < MECHANISM_COUNT; i++)
		in_force |= mechanism_in_force(&mechanisms[i], facts) ? 1u << i : 0;
	if (in_force & (B(UNIX_HOOKS) | B(LSM_UNIX)))
		in_force &= ~B(SECCOMP_UNIX);
	if (facts->names_open)
		in_force &= ~B(SERVER_NAME);
	if (facts->unix_gap_accepted)
		in_force &= ~(B(UNIX_HOOKS) | B(LSM_UNIX) | B(SECCOMP_UNIX));
	return in_force;
}

static void append(char *text, const char *separator, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, TEXT_MAX - used, "%s%s", used ? separator : "", word);
}

static void append_set(char *text, const char *between, unsigned int set)
{
	const char *separator = between;

	for (unsigned int i = 0; i < MECHANISM_COUNT; i++) {
		if (!(set & 1u << i))
			continue;
		append(text, separator, mechanisms[i].word);
		separator = " + ";
	}
}

/* Every need once. */
static void append_needs(char *text, unsigned int set)
{
	for (unsigned int i = 0; i < MECHANISM_COUNT; i++) {
		if ((set & 1u << i) && mechanisms[i].needs[0] && !strstr(text, mechanisms[i].needs))
			append(text, "; ", mechanisms[i].needs);
	}
}

static const char *keep(struct texts *texts, const char *text)
{
	char *kept = texts->bytes + texts->used;

	strcpy(kept, text); /* each text is shorter than TEXT_MAX, and there is room for two of them for each path */
	texts->used += strlen(text) + 1;
	return kept;
}

static void fill(const struct path_row *path, unsigned int in_force, struct texts *texts, struct nc_closure *row)
{
	char mechanism[TEXT_MAX] = "", needs[TEXT_MAX] = "";
	bool closed = false;

	for (size_t i = 0; !closed && i < ALTERNATIVES_MAX && path->alternatives[i]; i++) {
		closed = (path->alternatives[i] & in_force) == path->alternatives[i];
		if (!closed)
			continue;
		append_set(mechanism, ", or ", path->alternatives[i]);
		append_needs(needs, path->alternatives[i]);
	}
	for (size_t i = 0; !closed && i < ALTERNATIVES_MAX && path->alternatives[i]; i++) {
		append_set(mechanism, ", or ", path->alternatives[i]);
		append_needs(needs, path->alternatives[i] & ~in_force);
	}
	row->path = path->path;
	row->summary = path->summary;
	row->mechanism = keep(texts, mechanism);
	row->needs = keep(texts, needs);
	row->state = closed ? NC_CLOSURE_IN_FORCE : path->absent && path->absent() ? NC_CLOSURE_ABSENT : NC_CLOSURE_GAP;
}

bool nc_closure_mechanism(size_t index, const char **ret_word, const char **ret_needs)
{
	if (index >= MECHANISM_COUNT)
		return false;
	*ret_word = mechanisms[index].word;
	*ret_needs = mechanisms[index].needs;
	return true;
}

void nc_closures_of(const struct nc_closure_facts *facts, const struct nc_closure **ret_rows, size_t *ret_count)
{
	static struct nc_closure rows[2][PATH_COUNT];
	static struct texts texts[2];
	unsigned int in_force = mechanisms_in_force(facts);

	_Static_assert(MECHANISM_COUNT <= 32, "a set of mechanisms is one word");
	texts[facts->starts_process].used = 0;
	for (size_t i = 0; i < PATH_COUNT; i++)
		fill(&paths[i], in_force, &texts[facts->starts_process], &rows[facts->starts_process][i]);
	*ret_rows = rows[facts->starts_process];
	*ret_count = PATH_COUNT;
}

int nc_closures(struct nc_host *host, bool starts_process, const struct nc_closure **ret_rows, size_t *ret_count, struct nc_error *reterr)
{
	struct nc_closure_facts facts = {.starts_process = starts_process, .true_root = true};
	struct nc_effective_list list = {0};
	struct nc_host_facts host_facts;
	char mount[NC_PATH_MAX];
	int error;

	if (!host) {
		facts.pages_unseen = nc_kernel_pages_unseen();
		error = nc_closure_probe(NULL, &list, reterr);
	} else {
		facts.pages_unseen = nc_host_pages_unseen(host);
		error = nc_host_verify(host, -1, &list, reterr);
		if (!error)
			error = nc_host_facts(host, &host_facts, reterr);
		if (!error)
			error = nc_cgroup_mount(mount, reterr);
		if (!error)
			facts.true_root = !strcmp(mount, host_facts.root);
	}
	if (!error) {
		facts.effective = &list;
		nc_closures_of(&facts, ret_rows, ret_count);
	}
	nc_effective_free(&list);
	return error;
}
