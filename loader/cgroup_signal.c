// SPDX-License-Identifier: GPL-2.0-only
/*
 * cgroup_signal.c - a signal for every process of a cgroup, and for no other
 *
 * A cgroup lists numbers. Between the list and the signal a process may end and its number be another's, which would then be hit. So each is opened first (a
 * pidfd is one process for good), and signalled only if the cgroup lists its number after that: whoever has it then is either the process that was
 * opened, or one that the signal cannot reach. Some at a time, since descriptors are few.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "inside.h"

#define AT_ONCE 32

struct batch {
	int cgroup_fd, number;
	size_t count;
	struct {
		pid_t pid;
		int fd;
		bool listed;
	} rows[AT_ONCE];
};

static int mark(void *context, pid_t pid)
{
	struct batch *batch = context;

	for (size_t i = 0; i < batch->count; i++)
		batch->rows[i].listed |= batch->rows[i].pid == pid;
	return 0;
}

static int flush(struct batch *batch)
{
	int r = batch->count ? nc_cgroup_each_process(batch->cgroup_fd, mark, batch) : 0;

	for (size_t i = 0; i < batch->count; i++) {
		if (r == 0 && batch->rows[i].listed && syscall(SYS_pidfd_send_signal, batch->rows[i].fd, batch->number, NULL, 0) < 0 &&
		    errno != ESRCH)
			r = -errno;
		close(batch->rows[i].fd);
	}
	batch->count = 0;
	return r;
}

static int add(void *context, pid_t pid)
{
	struct batch *batch = context;
	int fd;

	if (pid <= 0) /* of a pid namespace that this one does not contain */
		return 0;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	batch->rows[batch->count].pid = pid;
	batch->rows[batch->count].fd = fd;
	batch->rows[batch->count++].listed = false;
	return batch->count == AT_ONCE ? flush(batch) : 0;
}

static int signal_one(void *context, int cgroup_fd)
{
	struct batch batch = {.cgroup_fd = cgroup_fd, .number = *(const int *)context};
	int r = nc_cgroup_each_process(cgroup_fd, add, &batch), s = flush(&batch);

	return r < 0 ? r : s;
}

int nc_cgroup_signal(int cgroup_fd, int number)
{
	int r = nc_cgroup_each_below(cgroup_fd, signal_one, &number);

	return nc_cgroup_gone(r) ? 0 : r;
}

int nc_cgroup_signal_all(int cgroup_fd, struct nc_error *reterr)
{
	int r;

	/* so that nothing forks past the list; a frozen task dies of SIGKILL all the same. Where it cannot be frozen, whoever calls looks again */
	nc_cgroup_write_one(cgroup_fd, "cgroup.freeze");
	r = nc_cgroup_signal(cgroup_fd, SIGKILL);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "kill the tasks of a cgroup") : 0;
}
