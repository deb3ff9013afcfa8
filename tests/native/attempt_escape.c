// SPDX-License-Identifier: GPL-2.0-only
/* attempt_escape.c - out of the cordon's own structure: other processes, cgroups, namespaces, pins, key requests */
#include "attempt.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif

/* Through means that the kernel went and asked: it found a key, or it answers that there is none. Only a refusal of the call itself closes this. */
enum outcome verb_request_key_dns(struct attempt *a, char **args)
{
	long key = syscall(__NR_request_key, "dns_resolver", args[0], "", 0);

	if (!step(a, "request_key", key))
		return THROUGH;
	return a->error == ENOKEY || a->error == ENOENT || a->error == EKEYREJECTED ? THROUGH : fail(a);
}

enum outcome verb_ptrace_seize(struct attempt *a, char **args)
{
	pid_t pid = (pid_t)number(args[0]);

	if (step(a, "ptrace", ptrace(PTRACE_SEIZE, pid, NULL, NULL)))
		return fail(a);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return THROUGH;
}

enum outcome verb_process_vm(struct attempt *a, char **args)
{
	char byte[16];
	struct iovec local = {.iov_base = byte, .iov_len = sizeof(byte)};
	struct iovec remote = {.iov_base = (void *)strtoull(args[1], NULL, 16), .iov_len = sizeof(byte)};
	ssize_t got = process_vm_readv((pid_t)number(args[0]), &local, 1, &remote, 1, 0);

	if (step(a, "process_vm_readv", got))
		return fail(a);
	return THROUGH;
}

enum outcome verb_pidfd_getfd_use(struct attempt *a, char **args)
{
	int pidfd = (int)syscall(__NR_pidfd_open, (pid_t)number(args[0]), 0), fd;
	ssize_t sent;

	if (step(a, "pidfd_open", pidfd))
		return fail(a);
	fd = (int)syscall(__NR_pidfd_getfd, pidfd, (int)number(args[1]), 0);
	if (step(a, "pidfd_getfd", fd))
		return fail(a);
	sent = write(fd, a->payload, strlen(a->payload));
	if (step(a, "write", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}

enum outcome verb_kill_zero(struct attempt *a, char **args)
{
	return step(a, "kill", kill((pid_t)number(args[0]), 0)) ? fail(a) : THROUGH;
}

#ifdef __x86_64__
static void compat_fault(int number)
{
	(void)number;
	_exit(IMPOSSIBLE);
}
#endif

/* Other numbers for the same calls: a filter that knows only the native ones would be blind. getpid is 20 there. arm64 has no such door within a program. */
enum outcome verb_compat_call(struct attempt *a, char **args)
{
	(void)args;
#ifdef __x86_64__
	long result;
	struct sigaction fault = {.sa_handler = compat_fault};

	/* Without 32-bit support the instruction faults. */
	sigaction(SIGSEGV, &fault, NULL);
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	a->call = "getpid";
	a->sent = result;
	return result == getpid() ? THROUGH : REFUSED;
#else
	a->call = "getpid";
	a->error = ENOSYS;
	return IMPOSSIBLE;
#endif
}

/* A fresh mount is not covered by what hides the old one. */
enum outcome verb_fresh_mount(struct attempt *a, char **args)
{
	char path[4096];
	int fd;

	if (step(a, "unshare", unshare(CLONE_NEWNS | CLONE_NEWCGROUP)) || step(a, "private", mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) ||
	    step(a, "mount", mount("none", "/tmp", args[0], 0, NULL)))
		return fail(a);
	snprintf(path, sizeof(path), "/tmp/%s", args[1]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (step(a, "open", fd))
		return fail(a);
	return step(a, "write", write(fd, "0", 1)) ? fail(a) : THROUGH;
}

enum outcome verb_open_file(struct attempt *a, char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (step(a, "open", fd))
		return fail(a);
	got = read(fd, a->received, sizeof(a->received) - 1);
	if (step(a, "read", got))
		return fail(a);
	for (ssize_t i = 0; i < got; i++) {
		if (!a->received[i])
			a->received[i] = ' ';
	}
	return THROUGH;
}

enum outcome verb_open_bpffs(struct attempt *a, char **args)
{
	union bpf_attr attributes = {.pathname = (uint64_t)(uintptr_t)args[0]};
	int fd = (int)syscall(__NR_bpf, BPF_OBJ_GET, &attributes, sizeof(attributes));

	return step(a, "bpf", fd) ? fail(a) : THROUGH;
}

enum outcome verb_bpf_walk(struct attempt *a, char **args)
{
	union bpf_attr next = {.start_id = 0}, get = {0};

	(void)args;
	if (step(a, "bpf", syscall(__NR_bpf, BPF_MAP_GET_NEXT_ID, &next, sizeof(next))))
		return fail(a);
	get.map_id = next.next_id;
	return step(a, "bpf", syscall(__NR_bpf, BPF_MAP_GET_FD_BY_ID, &get, sizeof(get))) ? fail(a) : THROUGH;
}

enum outcome verb_link_detach(struct attempt *a, char **args)
{
	union bpf_attr attributes = {.pathname = (uint64_t)(uintptr_t)args[0]};
	int fd = (int)syscall(__NR_bpf, BPF_OBJ_GET, &attributes, sizeof(attributes));

	if (step(a, "bpf", fd))
		return fail(a);
	memset(&attributes, 0, sizeof(attributes));
	attributes.link_detach.link_fd = (uint32_t)fd;
	return step(a, "bpf", syscall(__NR_bpf, BPF_LINK_DETACH, &attributes, sizeof(attributes))) ? fail(a) : THROUGH;
}

enum outcome verb_move_cgroup(struct attempt *a, char **args)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", args[0]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (step(a, "open", fd))
		return fail(a);
	return step(a, "write", write(fd, "0", 1)) ? fail(a) : THROUGH;
}

/* Accepts one peer in a child and answers its line. */
static pid_t echo_once(int fd)
{
	pid_t child = fork();

	if (!child) {
		char line[200];
		int other = accept(fd, NULL, NULL);
		ssize_t got = other < 0 ? -1 : read(other, line, sizeof(line));

		_exit(got > 0 && write(other, line, (size_t)got) == got ? 0 : 1);
	}
	return child;
}

/* A namespace of one's own has no way to anywhere but its own loopback: that is enough to see whether the programs still decide there. */
enum outcome verb_userns_netns(struct attempt *a, char **args)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	struct peer local = peer_of("127.0.0.1", "0");
	enum outcome outcome;
	pid_t child;
	int fd;

	(void)args;
	if (step(a, "unshare", unshare(CLONE_NEWUSER | CLONE_NEWNET)))
		return fail(a);
	fd = open_socket(a, AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || step(a, "ioctl", ioctl(fd, SIOCSIFFLAGS, &lo)) || step(a, "bind", bind(fd, peer_sockaddr(&local), local.length)) ||
	    step(a, "listen", listen(fd, 1)) || step(a, "getsockname", getsockname(fd, peer_sockaddr(&local), &local.length)))
		return fail(a);
	child = echo_once(fd);
	outcome = reach(a, SOCK_STREAM, 0, &local);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return outcome;
}

enum outcome verb_setns_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	if (step(a, "open", fd) || step(a, "setns", setns(fd, CLONE_NEWNET)))
		return fail(a);
	return reach(a, SOCK_STREAM, 0, &peer);
}

/* ---- out of the cordon, and then to somebody ---------------------------------------------------------------------------------------------------- */

enum outcome verb_move_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	enum outcome outcome = verb_move_cgroup(a, args);

	return outcome == THROUGH ? reach(a, SOCK_STREAM, 0, &peer) : outcome;
}

static int detach_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	struct attempt nobody = {0};
	char *arguments[] = {(char *)path};

	(void)status;
	(void)walk;
	if (type == FTW_F)
		verb_link_detach(&nobody, arguments);
	return 0;
}

static const char *unhooked;
static long unhooked_count;

static int unhook_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	struct attempt nobody = {0};
	char *arguments[] = {(char *)path};

	(void)status;
	if (type == FTW_F && !strcmp(path + walk->base, unhooked) && verb_link_detach(&nobody, arguments) == THROUGH)
		unhooked_count++;
	return 0;
}

enum outcome verb_unhook(struct attempt *a, char **args)
{
	unhooked = args[1];
	if (step(a, "nftw", nftw(args[0], unhook_one, 8, FTW_PHYS)))
		return fail(a);
	a->sent = unhooked_count;
	return unhooked_count ? THROUGH : REFUSED;
}

/* Whatever comes of it, the dialling decides. */
enum outcome verb_unpin_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	char folder[4096];

	if (realpath(args[0], folder))
		nftw(folder, detach_one, 8, FTW_PHYS);
	return reach(a, SOCK_STREAM, 0, &peer);
}

/* A datagram socket of ours, connected, for whoever can take it. The file is there when everything else is. */
enum outcome verb_lend(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[2], args[3]);
	char fresh[4096];
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0), file;

	if (fd < 0 || dial(a, fd, &peer) || step(a, "dup2", dup2(fd, (int)number(args[1]))))
		return fail(a);
	snprintf(fresh, sizeof(fresh), "%s.new", args[0]);
	file = open(fresh, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (step(a, "open", file) || dprintf(file, "%d\n", getpid()) < 0 || step(a, "rename", rename(fresh, args[0])))
		return fail(a);
	for (int i = 0; i < a->wait_ms / 20 && !access(args[0], F_OK); i++)
		usleep(20 * 1000);
	return THROUGH;
}

enum outcome verb_robbed(struct attempt *a, char **args)
{
	char *arguments[] = {(char *)wait_for(args[0]), args[1]};

	return verb_pidfd_getfd_use(a, arguments);
}

enum outcome verb_late_udp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	int fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	wait_for(args[0]);
	sent = sendto(fd, a->payload, strlen(a->payload), 0, peer_sockaddr(&peer), peer.length);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, fd);
}

enum outcome verb_netns_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);

	if (step(a, "unshare", unshare(CLONE_NEWUSER | CLONE_NEWNET)))
		return fail(a);
	wait_for(args[0]);
	return reach(a, SOCK_STREAM, 0, &peer);
}

/* No such key is there, so the kernel asks the host for it. Through means that it did: whatever it was told, the key has a name by then. */
enum outcome verb_key_request(struct attempt *a, char **args)
{
	char name[80];
	long key;

	snprintf(name, sizeof(name), "%s", a->payload);
	name[strcspn(name, "\n")] = '\0';
	key = syscall(__NR_request_key, "user", name, "", 0);
	if (step(a, "request_key", key) && a->error != ENOKEY && a->error != ENOENT && a->error != EKEYREJECTED)
		return fail(a);
	wait_for(args[0]);
	return THROUGH;
}
