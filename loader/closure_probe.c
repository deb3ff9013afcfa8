// SPDX-License-Identifier: GPL-2.0-only
/*
 * closure_probe.c - which programs would act on this kernel, seen by letting each refuse a real call
 *
 *   outer/          guards attach here: a program of an ancestor must run as well
 *     inner/        everything else attaches here, and the child lives here, in a network namespace of its own
 *
 * For each hook of the table (hooks.c) the child makes a call that the hook should see, first without and then with a program of two instructions
 * that refuses everything. Only "came through, then was refused" counts: a kernel may list, load and attach a program and yet never call it. Security
 * hooks run for the whole host, so theirs asks for the child's process id first.
 */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <fcntl.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "inside.h"

#define STEP_MS 2000 /* how long one call of the child may take, on a slow machine */

/* ---- the child's calls: 0 came through, 1 refused, 2 the kernel has no such thing to try ------------------------------------------------------- */

enum { CAME_THROUGH, WAS_REFUSED, NOTHING_TO_TRY };

static int answer_of(int result)
{
	if (result >= 0)
		return CAME_THROUGH;
	if (errno == EPERM)
		return WAS_REFUSED;
	return errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL ? NOTHING_TO_TRY : CAME_THROUGH;
}

struct local {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	socklen_t length;
};

/* A loopback address, the port in host order. */
static struct local loopback(int family, uint16_t port)
{
	struct local local = {.length = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)};

	if (family == AF_INET) {
		local.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	} else {
		local.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
	}
	return local;
}

static int try_create(int family)
{
	NC_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return answer_of(fd);
}

static int try_connect(int family)
{
	struct local to = loopback(family, 9);
	NC_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return answer_of(fd < 0 ? fd : connect(fd, &to.any, to.length));
}

static int try_send(int family)
{
	struct local to = loopback(family, 9);
	NC_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return answer_of(fd < 0 ? fd : (int)sendto(fd, "", 1, 0, &to.any, to.length));
}

static int try_bind(int family)
{
	struct local to = loopback(family, 0);
	NC_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return answer_of(fd < 0 ? fd : bind(fd, &to.any, to.length));
}

static int try_option(int family)
{
	NC_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int on = 1;

	return answer_of(fd < 0 ? fd : setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
}

/* Nobody is told of a packet that is refused on arrival: it does not arrive. Loopback delivers before sendto() returns. */
static int try_receive(int family)
{
	struct local to = loopback(family, 0);
	NC_CLOSE int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte;

	if (fd < 0 || bind(fd, &to.any, to.length) || getsockname(fd, &to.any, &to.length) || sendto(fd, "", 1, 0, &to.any, to.length) != 1)
		return NOTHING_TO_TRY;
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 1 ? CAME_THROUGH : WAS_REFUSED;
}

/* A name in the abstract space that the kernel chooses, and a peer for it: in the child's own network namespace, so nobody else sees it. */
static int named_unix(int type, struct sockaddr_un *ret_name, socklen_t *ret_length)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	*ret_length = sizeof(*ret_name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family)) || getsockname(fd, (struct sockaddr *)ret_name, ret_length) ||
	    (type == SOCK_STREAM && listen(fd, 1))) {
		nc_cleanup_close(&fd);
		return -1;
	}
	return fd;
}

static int try_unix_connect(int type)
{
	struct sockaddr_un name;
	socklen_t length;
	NC_CLOSE int peer = named_unix(type, &name, &length);
	NC_CLOSE int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (peer < 0 || fd < 0)
		return NOTHING_TO_TRY;
	return answer_of(connect(fd, (struct sockaddr *)&name, length));
}

static int try_unix_send(int type)
{
	struct sockaddr_un name;
	socklen_t length;
	NC_CLOSE int peer = named_unix(type, &name, &length);
	NC_CLOSE int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (peer < 0 || fd < 0)
		return NOTHING_TO_TRY;
	return answer_of((int)sendto(fd, "", 1, 0, (struct sockaddr *)&name, length));
}

/* A node that everybody may open. */
static int try_device(int access)
{
	NC_CLOSE int fd = open("/dev/null", access | O_CLOEXEC);

	return answer_of(fd);
}

/* The call for each hook. For a security hook, its name in the kernel's types (bpf_lsm_NAME). Hooks without a row refuse nothing and close nothing. */
static const struct trial {
	int (*call)(int argument);
	int argument;
	const char *security_hook;
} trials[NC_HOOK_MAX] = {
	[NC_HOOK_SOCK_CREATE] = {try_create, AF_INET, NULL},
	[NC_HOOK_CONNECT4] = {try_connect, AF_INET, NULL},
	[NC_HOOK_CONNECT6] = {try_connect, AF_INET6, NULL},
	[NC_HOOK_SENDMSG4] = {try_send, AF_INET, NULL},
	[NC_HOOK_SENDMSG6] = {try_send, AF_INET6, NULL},
	[NC_HOOK_BIND4] = {try_bind, AF_INET, NULL},
	[NC_HOOK_BIND6] = {try_bind, AF_INET6, NULL},
	[NC_HOOK_SETSOCKOPT] = {try_option, AF_INET, NULL},
	[NC_HOOK_EGRESS] = {try_send, AF_INET, NULL},
	[NC_HOOK_INGRESS] = {try_receive, AF_INET, NULL},
	[NC_HOOK_CONNECT_UNIX] = {try_unix_connect, SOCK_STREAM, NULL},
	[NC_HOOK_SENDMSG_UNIX] = {try_unix_send, SOCK_DGRAM, NULL},
	[NC_HOOK_GUARD_SOCK_CREATE] = {try_create, AF_INET, NULL},
	[NC_HOOK_GUARD_CONNECT4] = {try_connect, AF_INET, NULL},
	[NC_HOOK_GUARD_CONNECT6] = {try_connect, AF_INET6, NULL},
	[NC_HOOK_GUARD_SENDMSG4] = {try_send, AF_INET, NULL},
	[NC_HOOK_GUARD_SENDMSG6] = {try_send, AF_INET6, NULL},
	[NC_HOOK_LSM_CREATE] = {try_create, AF_INET, "socket_create"},
	[NC_HOOK_LSM_POST_CREATE] = {try_create, AF_INET, "socket_post_create"},
	[NC_HOOK_LSM_UNIX_STREAM] = {try_unix_connect, SOCK_STREAM, "unix_stream_connect"},
	[NC_HOOK_LSM_UNIX_SEND] = {try_unix_send, SOCK_DGRAM, "unix_may_send"},
	[NC_HOOK_LSM_SENDMSG] = {try_send, AF_INET, "socket_sendmsg"},
	[NC_HOOK_DEVICE] = {try_device, O_RDONLY, NULL},
};

/* One end of what parent and child talk through. The child answers through a pipe: a program that refuses all that it sends on a socket would swallow the
 * answer, and then never be seen to act. */
struct channel {
	int question, answer;
};

static void close_channel(struct channel *channel)
{
	nc_cleanup_close(&channel->question);
	nc_cleanup_close(&channel->answer);
	*channel = (struct channel){-1, -1};
}

static int make_channel(struct channel *ret_parent, struct channel *ret_child, struct nc_error *reterr)
{
	int questions[2] = {-1, -1}, answers[2] = {-1, -1};
	bool made = !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, questions) && !pipe2(answers, O_CLOEXEC);
	int error = -errno;

	*ret_parent = (struct channel){questions[0], answers[0]};
	*ret_child = (struct channel){questions[1], answers[1]};
	if (made)
		return 0;
	close_channel(ret_parent);
	close_channel(ret_child);
	return nc_error_sys(reterr, NC_E_SYSTEM, error, "probe: make a channel");
}

/* ---- the child ------------------------------------------------------------------------------------------------------------------------------------ */

static bool child_settle(int inner_fd)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	NC_CLOSE int procs = openat(inner_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	NC_CLOSE int control = -1;

	if (procs < 0 || write(procs, "0", 1) != 1 || unshare(CLONE_NEWNET))
		return false;
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return control >= 0 && !ioctl(control, SIOCSIFFLAGS, &lo);
}

/* Reads the number of a hook, makes its call, writes how it came out; until the other end closes. */
static void __attribute__((noreturn)) child_main(const struct channel *channel, int inner_fd)
{
	unsigned char hook, answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!child_settle(inner_fd))
		_exit(1);
	while (read(channel->question, &hook, 1) == 1 && hook < NC_HOOK_MAX && trials[hook].call) {
		answer = (unsigned char)trials[hook].call(trials[hook].argument);
		if (write(channel->answer, &answer, 1) != 1)
			break;
	}
	_exit(0);
}

static int ask(const struct channel *channel, enum nc_hook hook)
{
	struct pollfd waiting = {.fd = channel->answer, .events = POLLIN};
	unsigned char byte = (unsigned char)hook;

	if (send(channel->question, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&waiting, 1, STEP_MS) != 1 || read(channel->answer, &byte, 1) != 1)
		return -1;
	return byte;
}

/* ---- the refusing program ---------------------------------------------------------------------------------------------------------------------------- */

static int load_refuser(enum nc_hook hook, pid_t child)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = nc_hook(hook)->attach_type);
	const struct bpf_insn everything[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct bpf_insn only_the_child[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid},
		{.code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 32},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2, .imm = child},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -EPERM},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int type_id;

	if (nc_hook(hook)->where != NC_AT_HOST)
		return bpf_prog_load(nc_hook(hook)->program_type, "netcordon_probe", "GPL", everything, 2, &options);
	type_id = libbpf_find_vmlinux_btf_id(trials[hook].security_hook, BPF_LSM_MAC);
	if (type_id < 0)
		return type_id;
	options.attach_btf_id = (uint32_t)type_id;
	return bpf_prog_load(BPF_PROG_TYPE_LSM, "netcordon_probe", "GPL", only_the_child, 7, &options);
}

static int attach_refuser(enum nc_hook hook, int program_fd, int outer_fd, int inner_fd)
{
	const struct nc_hook_row *row = nc_hook(hook);

	if (row->where == NC_AT_HOST)
		return bpf_raw_tracepoint_open(NULL, program_fd);
	return bpf_link_create(program_fd, row->where == NC_AT_ROOT ? outer_fd : inner_fd, row->attach_type, NULL);
}

/* The program is gone again when this returns: closing the link's only descriptor detaches. */
static bool acts(enum nc_hook hook, const struct channel *channel, pid_t child, int outer_fd, int inner_fd)
{
	NC_CLOSE int program_fd = -1;
	NC_CLOSE int link_fd = -1;
	int before = ask(channel, hook);

	if (before < 0 || before == WAS_REFUSED)
		return false;
	program_fd = load_refuser(hook, child);
	if (program_fd < 0)
		return false;
	link_fd = attach_refuser(hook, program_fd, outer_fd, inner_fd);
	if (link_fd < 0)
		return false;
	return before == NOTHING_TO_TRY || ask(channel, hook) == WAS_REFUSED;
}

/*
 * Until sendfile() and splice() became a sendmsg() of pages, a socket had a call of its own for them, and socket_sendmsg was not asked. Not to be found out
 * by trying: where the hook acts, it acts on what it sees.
 */
bool nc_kernel_pages_unseen(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "proto_ops", BTF_KIND_STRUCT) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	bool unseen = !type; /* what cannot be seen is not vouched for */

	for (unsigned int i = 0; type && i < btf_vlen(type); i++)
		unseen |= !strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), "sendpage");
	btf__free(btf);
	return unseen;
}

/* ---- the probe ---------------------------------------------------------------------------------------------------------------------------------------- */

static int silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

static void probe_all(const struct channel *channel, pid_t child, int outer_fd, int inner_fd, struct nc_effective_list *list)
{
	for (enum nc_hook hook = 1; hook < NC_HOOK_MAX; hook++) {
		struct nc_effective *found = &list->programs[list->count];

		if (!trials[hook].call || !acts(hook, channel, child, outer_fd, inner_fd))
			continue;
		snprintf(found->hook, sizeof(found->hook), "%s", nc_hook_name(hook));
		found->ours = true;
		list->count++;
	}
}

static int probe_in(int outer_fd, int inner_fd, struct nc_effective_list *list, struct nc_error *reterr)
{
	struct channel parent_end, child_end;
	int status, error = make_channel(&parent_end, &child_end, reterr);
	pid_t child;

	if (error)
		return error;
	child = fork();
	if (child < 0) {
		error = -errno;
		close_channel(&parent_end);
		close_channel(&child_end);
		return nc_error_sys(reterr, NC_E_SYSTEM, error, "probe: fork");
	}
	if (!child) {
		close_channel(&parent_end);
		child_main(&child_end, inner_fd);
	}
	close_channel(&child_end);
	probe_all(&parent_end, child, outer_fd, inner_fd, list);
	close_channel(&parent_end);
	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status)) {
		nc_error_set(reterr, NC_E_HOST_DENIED, -EPERM, "probe: a child cannot enter a scratch cgroup and a network namespace of its own");
		return nc_error_hint(reterr, "run as root");
	}
	return 0;
}

#define PROBE_CGROUP "netcordon-probe-"

/* What probes left that were killed half way. The name says whose each was. */
static void sweep_dead(int parent_fd)
{
	int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct nc_error ignored;
	struct dirent *entry;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(folder))) {
		int pid = strncmp(entry->d_name, PROBE_CGROUP, strlen(PROBE_CGROUP)) ? 0 : atoi(entry->d_name + strlen(PROBE_CGROUP));

		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			nc_cgroup_remove(parent_fd, entry->d_name, &ignored);
	}
	closedir(folder);
}

int nc_closure_probe(const char *scratch_parent, struct nc_effective_list *ret_list, struct nc_error *reterr)
{
	struct nc_effective_list list = {.programs = calloc(NC_HOOK_MAX, sizeof(*list.programs))};
	NC_CLOSE int parent_fd = -1, outer_fd = -1, inner_fd = -1;
	char mount[NC_PATH_MAX], name[48];
	libbpf_print_fn_t print;
	struct rlimit limit;
	int error;

	if (!list.programs)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "probe");
	snprintf(name, sizeof(name), PROBE_CGROUP "%d", (int)getpid());
	error = scratch_parent ? 0 : nc_cgroup_mount(mount, reterr);
	error = error ?: nc_cgroup_open(scratch_parent ? scratch_parent : mount, &parent_fd, reterr);
	if (!error)
		sweep_dead(parent_fd);
	error = error ?: nc_cgroup_make(parent_fd, name, &outer_fd, reterr);
	if (!error)
		error = nc_cgroup_make(outer_fd, "inner", &inner_fd, reterr);
	if (!error) {
		print = libbpf_set_print(silent);
		nc_memlock_raise(&limit);
		error = probe_in(outer_fd, inner_fd, &list, reterr);
		nc_memlock_restore(&limit);
		libbpf_set_print(print);
	}
	if (outer_fd >= 0) {
		struct nc_error ignored;
		int removed = nc_cgroup_remove(parent_fd, name, error ? &ignored : reterr);

		error = error ?: removed;
	}
	if (error) {
		nc_effective_free(&list);
		return error;
	}
	*ret_list = list;
	return 0;
}
