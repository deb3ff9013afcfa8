/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * descriptors.c - what the command gets as 0, 1 and 2, and that it gets nothing else
 *
 * A descriptor is authority: a connected socket speaks for whoever made it, a directory of cgroupfs lets its holder leave the cordon. So each of the three is
 * admitted by what it is (a pipe, a regular file, a terminal, one of the harmless devices) and everything else is refused. A connected AF_UNIX stream, which
 * Node hands out as stdio and systemd as a unit's output, never reaches the command: the supervisor keeps it and carries the bytes through pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "descriptors.h"

/* Regular files here are not data but handles of the kernel's. */
static const long refused_file_systems[] = {
	CGROUP_SUPER_MAGIC,
	CGROUP2_SUPER_MAGIC,
	BPF_FS_MAGIC,
	PROC_SUPER_MAGIC,
	SYSFS_MAGIC,
	DEBUGFS_MAGIC,
	TRACEFS_MAGIC,
	SECURITYFS_MAGIC,
	NSFS_MAGIC,
	ANON_INODE_FS_MAGIC,
	SELINUX_MAGIC,
	0x50494446 /* pidfs */,
	0x62656570 /* configfs */,
	0x19800202 /* mqueue */,
	0xde5e81e4 /* efivarfs */,
};

/* major 1: null, zero, full, random, urandom (the kernel's devices.txt) */
static const unsigned harmless_minors[] = {3, 5, 7, 8, 9};

static int refuse(int fd, const char *kind, struct nc_error *reterr)
{
	nc_error_set(reterr, NC_E_DESCRIPTOR_REFUSED, -EBADF, "descriptor %d is %s", fd, kind);
	return nc_error_hint(reterr, "hand in a pipe, a file, a terminal or /dev/null; for output also a connected unix stream");
}

static const char *device_kind(int fd, const struct stat *st)
{
	if (isatty(fd))
		return "terminal";
	for (size_t i = 0; major(st->st_rdev) == 1 && i < sizeof(harmless_minors) / sizeof(harmless_minors[0]); i++) {
		if (minor(st->st_rdev) == harmless_minors[i])
			return "device";
	}
	return NULL;
}

static bool is_unnamed(int (*name)(int, struct sockaddr *, socklen_t *), int fd)
{
	struct sockaddr_un address;
	socklen_t length = sizeof(address);

	return name(fd, (struct sockaddr *)&address, &length) == 0 && length <= offsetof(struct sockaddr_un, sun_path);
}

static int peer_name(int fd, struct sockaddr *address, socklen_t *length)
{
	return getpeername(fd, address, length);
}

static int own_name(int fd, struct sockaddr *address, socklen_t *length)
{
	return getsockname(fd, address, length);
}

static bool is_unnamed_pair(int fd)
{
	return is_unnamed(own_name, fd) && is_unnamed(peer_name, fd);
}

/* Output may go to whomever the caller connected to, as a log service has a name. Input comes from a pair alone: with both the command would be in a
 * conversation with a service of the host, in the supervisor's name. */
static bool is_relayed(int fd)
{
	int domain = 0, type = 0;
	socklen_t length = sizeof(int), peer_length = sizeof(struct sockaddr_un);
	struct sockaddr_un peer;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM &&
	       peer_name(fd, (struct sockaddr *)&peer, &peer_length) == 0 && (fd != 0 || is_unnamed_pair(fd));
}

/* Is standard output the same socket as standard error? What one of them says last is not the other's end. */
static bool output_is_shared(void)
{
	struct stat out, error;

	return fstat(1, &out) == 0 && fstat(2, &error) == 0 && out.st_dev == error.st_dev && out.st_ino == error.st_ino;
}

bool nc_descriptor_is_handle(long file_system)
{
	for (size_t i = 0; i < sizeof(refused_file_systems) / sizeof(refused_file_systems[0]); i++) {
		if ((unsigned)file_system == (unsigned)refused_file_systems[i])
			return true;
	}
	return false;
}

static int file_kind(int fd, const char **ret_kind, struct nc_error *reterr)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return nc_error_sys(reterr, NC_E_DESCRIPTOR_REFUSED, -errno, "descriptor %d: fstatfs", fd);
	if (nc_descriptor_is_handle(fs.f_type))
		return refuse(fd, "a file of a kernel interface", reterr);
	*ret_kind = "file";
	return 0;
}

static int kind_of(int fd, const char **ret_kind, struct nc_error *reterr)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return nc_error_sys(reterr, NC_E_DESCRIPTOR_REFUSED, -errno, "descriptor %d", fd);
	if (flags & O_PATH)
		return refuse(fd, "a path handle", reterr);
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		*ret_kind = "pipe";
		return 0;
	case S_IFREG:
		return file_kind(fd, ret_kind, reterr);
	case S_IFCHR:
		*ret_kind = device_kind(fd, &st);
		return *ret_kind ? 0 : refuse(fd, "a device", reterr);
	case S_IFSOCK:
		*ret_kind = "relay";
		return is_relayed(fd) ? 0 : refuse(fd, "a socket", reterr);
	case S_IFDIR:
		return refuse(fd, "a directory", reterr);
	case S_IFBLK:
		return refuse(fd, "a block device", reterr);
	default:
		return refuse(fd, "a handle of the kernel's", reterr);
	}
}

/* A number that is not open would become whatever is opened next. */
static int fill_gaps(struct nc_error *reterr)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return nc_error_sys(reterr, NC_E_DESCRIPTOR_REFUSED, -errno, "descriptor %d is closed: open /dev/null in its place", fd);
	}
	return 0;
}

/* ---- streams, relayed -------------------------------------------------------------------------------------------------------------------------- */

static int relay_stream(struct nc_stdio *stdio, int fd)
{
	struct nc_relay *relay = &stdio->relays[fd];
	int ours = fd == 0 ? 1 : 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (fcntl(ends[ours], F_SETFL, O_NONBLOCK) < 0) {
		int status = -errno;

		close(ends[0]);
		close(ends[1]);
		return status;
	}
	stdio->child[fd] = ends[!ours];
	stdio->own[fd] = true;
	*relay = fd == 0 ? (struct nc_relay){.from = 0, .to = ends[1], .own_to = true}
			 : (struct nc_relay){.from = ends[0],
					     .to = fd,
					     .own_from = true,
					     .to_socket = true,
					     .half_closes = is_unnamed_pair(fd) && !output_is_shared()};
	return 0;
}

/* ---- a pseudo terminal of the command's own ------------------------------------------------------------------------------------------------------- */

static int make_raw(struct nc_stdio *stdio)
{
	struct termios raw;

	if (tcgetattr(0, &stdio->saved) < 0)
		return -errno;
	raw = stdio->saved;
	cfmakeraw(&raw);
	if (tcsetattr(0, TCSADRAIN, &raw) < 0)
		return -errno;
	stdio->raw = true;
	return 0;
}

static int open_pty(struct nc_stdio *stdio)
{
	int unlock = 0, reader;

	stdio->pty_master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (stdio->pty_master < 0 || ioctl(stdio->pty_master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	stdio->pty_slave = ioctl(stdio->pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (stdio->pty_slave < 0)
		return -errno;
	reader = fcntl(stdio->pty_master, F_DUPFD_CLOEXEC, 3);
	if (reader < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++) {
		stdio->kinds[fd] = "pty";
		stdio->child[fd] = stdio->pty_slave;
	}
	stdio->relays[0] = (struct nc_relay){.from = 0, .to = stdio->pty_master, .to_terminal = true};
	stdio->relays[1] = (struct nc_relay){.from = reader, .to = 1, .own_from = true, .small = true};
	nc_stdio_resize(stdio);
	return isatty(0) ? make_raw(stdio) : 0;
}

void nc_stdio_resize(const struct nc_stdio *stdio)
{
	struct winsize size;

	if (stdio->pty_master >= 0 && ioctl(0, TIOCGWINSZ, &size) == 0)
		ioctl(stdio->pty_master, TIOCSWINSZ, &size);
}

/* ---- the whole -------------------------------------------------------------------------------------------------------------------------------------- */

int nc_stdio_give(struct nc_stdio *stdio, uid_t uid, gid_t gid, struct nc_error *reterr)
{
	if (stdio->pty_slave >= 0 && (fchown(stdio->pty_slave, uid, gid) < 0 || fchmod(stdio->pty_slave, 0600) < 0))
		return nc_error_sys(reterr, NC_E_PROCESS_INVALID, -errno, "give the pseudo terminal to user id %u", uid);
	return 0;
}

int nc_stdio_open(bool pty, struct nc_stdio *ret_stdio, struct nc_error *reterr)
{
	struct nc_stdio stdio = NC_STDIO_NONE;
	int r = fill_gaps(reterr);

	if (r < 0)
		return r;
	for (int fd = 0; fd < 3; fd++)
		stdio.child[fd] = fd;
	if (pty) {
		r = open_pty(&stdio);
		if (r < 0)
			nc_error_sys(reterr, NC_E_PROCESS_INVALID, r, "make a pseudo terminal");
	}
	for (int fd = 0; r == 0 && !pty && fd < 3; fd++) {
		r = kind_of(fd, &stdio.kinds[fd], reterr);
		if (r == 0 && strcmp(stdio.kinds[fd], "relay") == 0) {
			r = relay_stream(&stdio, fd);
			if (r < 0)
				nc_error_sys(reterr, NC_E_SYSTEM, r, "make a pipe for descriptor %d", fd);
		}
	}
	if (r < 0) {
		nc_stdio_handed_over(&stdio);
		nc_stdio_close(&stdio);
		return r;
	}
	*ret_stdio = stdio;
	return 0;
}

void nc_stdio_handed_over(struct nc_stdio *stdio)
{
	for (int fd = 0; fd < 3; fd++) {
		if (stdio->own[fd])
			close(stdio->child[fd]);
		stdio->own[fd] = false;
	}
	if (stdio->pty_slave >= 0)
		close(stdio->pty_slave);
	stdio->pty_slave = -1;
}

size_t nc_stdio_polls(struct nc_stdio *stdio, struct pollfd *polls)
{
	size_t count = 0;

	for (int i = 0; i < 3; i++)
		count += nc_relay_polls(&stdio->relays[i], polls + count);
	return count;
}

void nc_stdio_step(struct nc_stdio *stdio, const struct pollfd *polls, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		any |= polls[i].revents != 0;
		/* a reader that is gone: the relay ends, and the writer learns of it by SIGPIPE */
		for (int k = 0; k < 3; k++) {
			if (polls[i].events == 0 && polls[i].revents & (POLLERR | POLLNVAL) && stdio->relays[k].to == polls[i].fd)
				nc_relay_close(&stdio->relays[k]);
		}
	}
	for (int i = 0; any && i < 3; i++)
		nc_relay_step(&stdio->relays[i]);
}

void nc_stdio_close(struct nc_stdio *stdio)
{
	/* What the command wrote before it ended is still in the pipes; everything that could add to it is dead. */
	for (int i = 1; i < 3; i++) {
		struct nc_relay *relay = &stdio->relays[i];

		for (int rounds = 0; relay->from >= 0 && rounds < 4096; rounds++) {
			struct pollfd polls[2];

			if (poll(polls, nc_relay_polls(relay, polls), 1000) <= 0)
				break;
			nc_relay_step(relay);
		}
	}
	for (int i = 0; i < 3; i++)
		nc_relay_close(&stdio->relays[i]);
	if (stdio->raw)
		tcsetattr(0, TCSADRAIN, &stdio->saved);
	stdio->raw = false;
	if (stdio->pty_master >= 0)
		close(stdio->pty_master);
	stdio->pty_master = -1;
}
