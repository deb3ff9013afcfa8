/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_tool.c - small things that a test of `run` wants done inside or around a launch
 *
 *   launch_tool fds                       prints every open descriptor: number, what it leads to
 *   launch_tool typein FD TEXT            TIOCSTI on FD; prints the errno's name or "typed"
 *   launch_tool paste FD                  TIOCLINUX on FD
 *   launch_tool keys                      add_key, request_key and keyctl: prints each one's errno
 *   launch_tool calls                     the other refused calls
 *   launch_tool family N                  socket(N, ...) for each family up to N: prints those that could be made
 *   launch_tool deny CALL ERRNO COMMAND   COMMAND under a filter that lets system call number CALL fail
 *   launch_tool ignore SIGNAL COMMAND     COMMAND with the signal ignored
 *   launch_tool with KIND FD COMMAND      COMMAND with an object of KIND as descriptor FD (directory, cgroup, tun, map, listener, connected ADDR, ...)
 *   launch_tool read FD                   what FD gives, hex; or the errno's name
 *   netcordon-edge ...                    under that name, an edge that never gets ready
 *   launch_tool linger                    a child in a session of its own that ignores TERM and keeps the descriptors; the parent ends with 4
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void say(const char *what, long result)
{
	printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
}

static int list_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[256];

	while (folder && (entry = readdir(folder))) {
		ssize_t n = entry->d_name[0] == '.' ? -1 : readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		if (n < 0 || atoi(entry->d_name) == dirfd(folder))
			continue;
		target[n] = '\0';
		printf("%s %s\n", entry->d_name, target);
	}
	return folder ? 0 : 1;
}

static int try_keys(void)
{
	say("add_key", syscall(SYS_add_key, "user", "nctest", "x", 1ul, -3 /* the session's */));
	say("request_key", syscall(SYS_request_key, "user", "nctest", NULL, 0));
	say("keyctl", syscall(SYS_keyctl, 0 /* get the id */, -3, 0));
	return 0;
}

static int try_calls(void)
{
	char byte;
	struct {
		void *base;
		size_t length;
	} part = {&byte, 1};

	say("ptrace", syscall(SYS_ptrace, PTRACE_ATTACH, 1, 0, 0));
	say("process_vm_readv", syscall(SYS_process_vm_readv, 1, &part, 1ul, &part, 1ul, 0ul));
	say("process_vm_writev", syscall(SYS_process_vm_writev, 1, &part, 1ul, &part, 1ul, 0ul));
	say("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
	say("bpf", syscall(SYS_bpf, 0, NULL, 0));
	say("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
	say("netlink_route", socket(AF_NETLINK, SOCK_RAW, 0));
	say("netlink_audit", socket(AF_NETLINK, SOCK_RAW, 9));
	say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}));
	return 0;
}

static int try_families(int last)
{
	for (int family = 0; family <= last; family++) {
		for (int type = 1; type <= 5; type++) {
			int fd = socket(family, type, 0);

			if (fd >= 0) {
				printf("%d\n", family);
				close(fd);
				break;
			}
		}
	}
	return 0;
}

static int run_denied(unsigned call, unsigned error, char **command)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return 99;
	execvp(command[0], command);
	return 98;
}

static int connected_to(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(443)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return inet_pton(AF_INET, address, &to.sin_addr) == 1 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? fd : -1;
}

static int named_unix(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0nctest-named"};
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t length = offsetof(struct sockaddr_un, sun_path) + 13;

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "nctest%06d", getpid() % 1000000);
	return bind(server, (struct sockaddr *)&name, length) || listen(server, 1) || connect(client, (struct sockaddr *)&name, length) ? -1 : client;
}

static int bpf_map(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int tun(void)
{
	struct ifreq request = {.ifr_flags = IFF_TUN};
	int fd = open("/dev/net/tun", O_RDWR);

	return fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 ? -1 : fd;
}

static int udp(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static int listener(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return listen(fd, 1) ? -1 : fd;
}

static int netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int datagram_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) ? -1 : pair[0];
}

static int memory(void)
{
	return memfd_create("nctest", 0);
}

static int event(void)
{
	return eventfd(0, 0);
}

static int poller(void)
{
	return epoll_create1(0);
}

static int ring(void)
{
	unsigned char parameters[120] = {0};

	return (int)syscall(SYS_io_uring_setup, 1, parameters);
}

static int process(void)
{
	return (int)syscall(SYS_pidfd_open, 1, 0);
}

static const struct {
	const char *kind;
	int (*make)(void);
	const char *path;
	int flags;
} kinds[] = {
	{"directory", NULL, "/", O_RDONLY | O_DIRECTORY},
	{"path", NULL, "/etc/passwd", O_PATH},
	{"netns", NULL, "/proc/self/ns/net", O_RDONLY},
	{"proc", NULL, "/proc/self/mem", O_RDONLY},
	{"sysfs", NULL, "/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY},
	{"memory-device", NULL, "/dev/mem", O_RDONLY},
	{"null", NULL, "/dev/null", O_RDWR},
	{"file", NULL, "/etc/passwd", O_RDONLY},
	{"memfd", memory, NULL, 0},
	{"tun", tun, NULL, 0},
	{"map", bpf_map, NULL, 0},
	{"udp", udp, NULL, 0},
	{"listener", listener, NULL, 0},
	{"netlink", netlink, NULL, 0},
	{"named-unix", named_unix, NULL, 0},
	{"datagram-pair", datagram_pair, NULL, 0},
	{"eventfd", event, NULL, 0},
	{"epoll", poller, NULL, 0},
	{"ring", ring, NULL, 0},
	{"pidfd", process, NULL, 0},
};

static int make(const char *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].make ? kinds[i].make() : open(kinds[i].path, kinds[i].flags);
	}
	if (strncmp(kind, "connected:", 10) == 0)
		return connected_to(kind + 10);
	return open(kind, O_RDWR); /* any path: cgroup.procs, a pin ... */
}

static int run_with(const char *kind, int number, char **command)
{
	int fd = make(kind);

	if (fd < 0 || dup2(fd, number) < 0) {
		fprintf(stderr, "cannot make %s: %s\n", kind, strerror(errno));
		return 97;
	}
	execvp(command[0], command);
	return 98;
}

static int read_descriptor(int fd)
{
	unsigned char bytes[64];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0)
		printf("%s\n", strerrorname_np(errno));
	for (ssize_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
	return 0;
}

static int linger(void)
{
	if (fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		pause();
	}
	return 4;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(argv[0], "netcordon-edge"))
		return (int)sleep(60);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(verb, "fds"))
		return list_descriptors();
	if (!strcmp(verb, "keys"))
		return try_keys();
	if (!strcmp(verb, "calls"))
		return try_calls();
	if (!strcmp(verb, "linger"))
		return linger();
	if (!strcmp(verb, "family") && argc == 3)
		return try_families(atoi(argv[2]));
	if (!strcmp(verb, "read") && argc == 3)
		return read_descriptor(atoi(argv[2]));
	if (!strcmp(verb, "typein") && argc == 4) {
		for (const char *at = argv[3]; *at; at++)
			say("TIOCSTI", ioctl(atoi(argv[2]), TIOCSTI, at));
		return 0;
	}
	if (!strcmp(verb, "paste") && argc == 3) {
		say("TIOCLINUX", ioctl(atoi(argv[2]), TIOCLINUX, "\3"));
		return 0;
	}
	if (!strcmp(verb, "deny") && argc > 4)
		return run_denied((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), argv + 4);
	if (!strcmp(verb, "ignore") && argc > 3) {
		signal(atoi(argv[2]), SIG_IGN);
		execvp(argv[3], argv + 3);
		return 98;
	}
	if (!strcmp(verb, "with") && argc > 4)
		return run_with(argv[2], atoi(argv[3]), argv + 4);
	fprintf(stderr, "launch_tool: see the head of its source\n");
	return 96;
}
