/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_actor_handed.c - what the caller of a provider leaves open: sockets, rings, the terminal that it sits at */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_actor_parts.h"
#include "observe_parts.h"

#define RING_ENTRIES 4			    /* as the client has it: the layout follows from it */
#define LAID_OUT_AT ((void *)0x200000000UL) /* where the client says that the message is */
#define LAID_OUT_SIZE 4096

static void failed(const struct nc_actor *actor, const char *what)
{
	nc_error_sys(&actor->stage->failure, NC_E_WORLD_FAILED, -errno, "%s", what);
}

/* A datagram socket at `number`, connected to the target or not. */
static bool leave_socket(const struct nc_actor *actor, int number, bool connected)
{
	const struct nc_spot *target = &actor->stage->target;
	struct sockaddr_storage at;
	socklen_t length = nc_observer_to_sockaddr(&target->address, target->port, &at);
	NC_CLOSE int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && (!connected || !connect(fd, (void *)&at, length)) && dup3(fd, number, 0) >= 0;
}

/* The kernel's thread of the ring acts with this process's cgroup, descriptors and memory: the message to the target is laid out here, and the socket is the
 * number after the ring's. Whoever has the ring need only say "send". */
struct laid_out {
	struct sockaddr_storage to;
	socklen_t length;
	struct iovec text;
	struct msghdr message;
	char payload[NC_TOKEN_SIZE + 1];
};

static bool leave_ring(const struct nc_actor *actor)
{
	struct io_uring_params parameters = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 2000};
	NC_CLOSE int fd = (int)syscall(SYS_io_uring_setup, RING_ENTRIES, &parameters);
	struct laid_out *out = mmap(LAID_OUT_AT, LAID_OUT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	const struct nc_spot *target = &actor->stage->target;

	if (fd < 0 || out == MAP_FAILED)
		return false;
	snprintf(out->payload, sizeof(out->payload), "%s\n", actor->stage->token);
	out->text = (struct iovec){.iov_base = out->payload, .iov_len = strlen(out->payload)};
	out->message = (struct msghdr){.msg_name = &out->to,
				       .msg_namelen = nc_observer_to_sockaddr(&target->address, target->port, &out->to),
				       .msg_iov = &out->text,
				       .msg_iovlen = 1};
	return leave_socket(actor, NC_INHERITED_FD + 1, false) && dup3(fd, NC_INHERITED_FD, 0) >= 0;
}

/* From the workload's namespace, at a number that the client knows, while the command is started. Where there are no rings, the client says so. */
void nc_actor_leave_open(struct nc_actor *actor)
{
	NC_WORLD_VISIT int back = -1;
	bool ring = actor->stage->row->variant[0];

	if (nc_world_enter(actor->cast->theatre.world, NC_SITE_WORKLOAD, &back, &actor->stage->failure) < 0)
		return;
	if (ring ? !leave_ring(actor) && errno != ENOSYS && errno != EPERM : !leave_socket(actor, NC_INHERITED_FD, true))
		failed(actor, "leave something open");
}

void nc_actor_close(struct nc_actor *actor)
{
	close(NC_INHERITED_FD);
	if (!actor->stage->row->variant[0])
		return;
	close(NC_INHERITED_FD + 1);
	munmap(LAID_OUT_AT, LAID_OUT_SIZE);
}

/* ---- the terminal ------------------------------------------------------------------------------------------------------------------------------ */

/* The provider is started from a terminal of the matrix's own. Raw, so that what is typed is there at once. */
void nc_actor_terminal(struct nc_actor *actor)
{
	struct nc_stage *stage = actor->stage;
	struct termios raw;

	actor->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (actor->master < 0 || grantpt(actor->master) || unlockpt(actor->master) ||
	    ptsname_r(actor->master, stage->terminal, sizeof(stage->terminal)))
		return failed(actor, "make a terminal");
	actor->slave = open(stage->terminal, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (actor->slave < 0 || tcgetattr(actor->slave, &raw))
		return failed(actor, "open a terminal");
	cfmakeraw(&raw);
	tcsetattr(actor->slave, TCSANOW, &raw);
	chmod(stage->terminal, 0666);
}

/* The next program at that terminal: what it reads, somebody has typed, letter by letter. */
void nc_actor_read_terminal(struct nc_actor *actor)
{
	char text[256] = "";
	size_t have = 0;

	while (!actor->over) {
		struct pollfd waiting = {.fd = actor->slave, .events = POLLIN};
		ssize_t got = poll(&waiting, 1, 20) > 0 ? read(actor->slave, text + have, sizeof(text) - 1 - have) : 0;

		have += got > 0 ? (size_t)got : 0;
		if (memchr(text, '\n', have)) {
			nc_actor_note(actor, text, have);
			nc_actor_open_door(actor);
			return;
		}
		if (waiting.revents & (POLLHUP | POLLERR))
			nc_actor_pause(NC_ACTOR_STEP_NS);
	}
}

void nc_actor_close_terminal(struct nc_actor *actor)
{
	if (actor->master >= 0)
		close(actor->master);
	if (actor->slave >= 0)
		close(actor->slave);
}
