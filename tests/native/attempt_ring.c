// SPDX-License-Identifier: GPL-2.0-only
/* attempt_ring.c - io_uring by hand: socket, connect and sendmsg without those system calls, inline, on a worker and on a polling thread */
#include "attempt.h"

#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <time.h>

#define ENTRIES 4
#define OP_SOCKET 45 /* IORING_OP_SOCKET, 5.19; older headers lack it */
#define OP_SEND_ZC 47

struct ring {
	int fd;
	bool polled;
	uint32_t *sq_tail, *sq_mask, *sq_flags, *sq_array;
	uint32_t *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static int ring_map(struct ring *ring, const struct io_uring_params *p)
{
	size_t sq_size = p->sq_off.array + p->sq_entries * sizeof(uint32_t), cq_size = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	int rw = PROT_READ | PROT_WRITE, how = MAP_SHARED | MAP_POPULATE;
	unsigned char *sq = mmap(NULL, sq_size, rw, how, ring->fd, IORING_OFF_SQ_RING);
	unsigned char *cq = mmap(NULL, cq_size, rw, how, ring->fd, IORING_OFF_CQ_RING);

	ring->sqes = mmap(NULL, p->sq_entries * sizeof(struct io_uring_sqe), rw, how, ring->fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring->sqes == MAP_FAILED)
		return -1;
	ring->sq_tail = (void *)(sq + p->sq_off.tail);
	ring->sq_mask = (void *)(sq + p->sq_off.ring_mask);
	ring->sq_flags = (void *)(sq + p->sq_off.flags);
	ring->sq_array = (void *)(sq + p->sq_off.array);
	ring->cq_head = (void *)(cq + p->cq_off.head);
	ring->cq_tail = (void *)(cq + p->cq_off.tail);
	ring->cq_mask = (void *)(cq + p->cq_off.ring_mask);
	ring->cqes = (void *)(cq + p->cq_off.cqes);
	return 0;
}

/* Makes a ring, or maps the one behind fd (>= 0), which somebody else made with the same parameters. */
struct ring *ring_open(struct attempt *a, bool sqpoll, int fd)
{
	static struct ring ring;
	struct io_uring_params parameters = {.flags = sqpoll ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 2000};
	int made = (int)syscall(__NR_io_uring_setup, ENTRIES, &parameters);

	if (step(a, "io_uring_setup", made))
		return NULL;
	ring.polled = sqpoll;
	/* The layout is the same for the same parameters, and an inherited ring can be asked in no other way. */
	ring.fd = fd < 0 ? made : fd;
	if (step(a, "mmap", ring_map(&ring, &parameters)))
		return NULL;
	return &ring;
}

int ring_descriptor(const struct ring *ring)
{
	return ring->fd;
}

static void submit(struct ring *ring, const struct io_uring_sqe *sqe)
{
	uint32_t tail = *ring->sq_tail, index = tail & *ring->sq_mask;

	ring->sqes[index] = *sqe;
	ring->sq_array[index] = index;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (!ring->polled)
		syscall(__NR_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0);
	else if (__atomic_load_n(ring->sq_flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
		syscall(__NR_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

/* One operation, its result as a system call would have given it: -1 and errno. ETIMEDOUT when nothing completes within the wait. */
static int operate(struct attempt *a, struct ring *ring, struct io_uring_sqe *sqe)
{
	submit(ring, sqe);
	for (int left = a->wait_ms; left > 0; left--) {
		struct timespec pause = {.tv_nsec = 1000 * 1000};
		uint32_t head = *ring->cq_head;

		if (head != __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE)) {
			int result = ring->cqes[head & *ring->cq_mask].res;

			__atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
			if (result >= 0)
				return result;
			errno = -result;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	errno = ETIMEDOUT;
	return -1;
}

static uint8_t mode_flags(const char *mode)
{
	return !strcmp(mode, "async") ? IOSQE_ASYNC : 0;
}

enum outcome verb_iouring_connect(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	struct ring *ring = ring_open(a, !strcmp(args[0], "sqpoll"), -1);
	struct io_uring_sqe sqe = {.opcode = IORING_OP_CONNECT, .flags = mode_flags(args[0])};
	int fd;

	if (!ring)
		return fail(a);
	fd = open_socket(a, peer.address.ss_family, SOCK_STREAM, 0);
	if (fd < 0)
		return fail(a);
	sqe.fd = fd;
	sqe.addr = (uint64_t)(uintptr_t)&peer.address;
	sqe.off = peer.length;
	if (step(a, "ring_connect", operate(a, ring, &sqe)))
		return fail(a);
	return talk(a, fd);
}

static enum outcome ring_sendmsg(struct attempt *a, struct ring *ring, uint8_t flags, struct peer *peer, int fd)
{
	struct iovec text = {.iov_base = (void *)(uintptr_t)a->payload, .iov_len = strlen(a->payload)};
	struct msghdr message = {.msg_name = &peer->address, .msg_namelen = peer->length, .msg_iov = &text, .msg_iovlen = 1};
	struct io_uring_sqe sqe = {.opcode = IORING_OP_SENDMSG, .flags = flags, .fd = fd, .addr = (uint64_t)(uintptr_t)&message, .len = 1};
	int sent = operate(a, ring, &sqe);

	if (step(a, "ring_sendmsg", sent))
		return fail(a);
	a->sent = sent;
	return answer(a, fd);
}

/* Over a connection, by a ring of its own: IORING_OP_SEND, or IORING_OP_SEND_ZC (6.0), which takes the caller's pages. */
enum outcome ring_send(struct attempt *a, int fd, const char *bytes, size_t length, const char *mode)
{
	bool by_reference = !strcmp(mode, "zc");
	struct ring *ring = ring_open(a, false, -1);
	struct io_uring_sqe sqe = {.opcode = by_reference ? OP_SEND_ZC : IORING_OP_SEND,
				   .flags = mode_flags(mode),
				   .addr = (uint64_t)(uintptr_t)bytes,
				   .len = (uint32_t)length};
	int sent;

	if (!ring)
		return fail(a);
	sqe.fd = fd;
	sqe.msg_flags = MSG_NOSIGNAL;
	sent = operate(a, ring, &sqe);
	if (step(a, "ring_send", sent))
		return by_reference && a->error == EINVAL ? IMPOSSIBLE : fail(a);
	a->sent = sent;
	return answer(a, fd);
}

enum outcome verb_iouring_send(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	struct ring *ring = ring_open(a, !strcmp(args[0], "sqpoll"), -1);
	int fd;

	if (!ring)
		return fail(a);
	fd = open_socket(a, peer.address.ss_family, SOCK_DGRAM, 0);
	return fd < 0 ? fail(a) : ring_sendmsg(a, ring, mode_flags(args[0]), &peer, fd);
}

/* The ring makes the socket, everything else is as ever. */
enum outcome verb_iouring_socket_tcp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	struct ring *ring = ring_open(a, !strcmp(args[0], "sqpoll"), -1);
	struct io_uring_sqe sqe = {.opcode = OP_SOCKET, .flags = mode_flags(args[0]), .fd = peer.address.ss_family, .off = SOCK_STREAM};
	struct timeval wait = {.tv_sec = a->wait_ms / 1000, .tv_usec = a->wait_ms % 1000 * 1000};
	int fd;

	if (!ring)
		return fail(a);
	fd = operate(a, ring, &sqe);
	if (step(a, "ring_socket", fd))
		return a->error == EINVAL ? IMPOSSIBLE : fail(a);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return dial(a, fd, &peer) ? fail(a) : talk(a, fd);
}

enum outcome verb_iouring_socket(struct attempt *a, char **args)
{
	struct ring *ring = ring_open(a, !strcmp(args[0], "sqpoll"), -1);
	struct io_uring_sqe sqe = {.opcode = OP_SOCKET, .flags = mode_flags(args[0]), .fd = (int)number(args[1]), .off = SOCK_STREAM};

	if (!ring)
		return fail(a);
	if (number(args[1]) == AF_PACKET || number(args[1]) == 44)
		sqe.off = SOCK_RAW;
	if (step(a, "ring_socket", operate(a, ring, &sqe)))
		return a->error == EINVAL ? IMPOSSIBLE : fail(a);
	return THROUGH;
}

/*
 * A polling thread belongs to whoever made the ring: its cgroup, its descriptor table, its memory. So the maker (leak ring FD ADDR PORT) lays out the
 * message at a fixed place and the socket at FD + 1, and whoever inherits the ring need only name them.
 */
#define FIXED_PLACE ((void *)0x200000000UL)

struct laid_out {
	struct peer peer;
	struct iovec text;
	struct msghdr message;
	char payload[200];
};

int ring_lay_out(struct attempt *a, struct peer *peer)
{
	struct laid_out *out = mmap(FIXED_PLACE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (out == MAP_FAILED)
		return step(a, "mmap", -1);
	out->peer = *peer;
	snprintf(out->payload, sizeof(out->payload), "%s", a->payload);
	out->text = (struct iovec){.iov_base = out->payload, .iov_len = strlen(out->payload)};
	out->message = (struct msghdr){.msg_name = &out->peer.address, .msg_namelen = peer->length, .msg_iov = &out->text, .msg_iovlen = 1};
	return 0;
}

enum outcome verb_ring_fd(struct attempt *a, char **args)
{
	struct laid_out *theirs = FIXED_PLACE;
	struct io_uring_sqe sqe = {.opcode = IORING_OP_SENDMSG, .len = 1, .addr = (uint64_t)(uintptr_t)&theirs->message};
	int fd = (int)number(args[0]), sent;
	struct ring *ring;

	if (step(a, "inherited", lseek(fd, 0, SEEK_CUR) < 0 && errno == EBADF ? -1 : 0))
		return fail(a);
	ring = ring_open(a, true, fd);
	if (!ring)
		return fail(a);
	sqe.fd = fd + 1;
	sent = operate(a, ring, &sqe);
	if (step(a, "ring_sendmsg", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}
