/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * init.c - PID 1 of the workload's own pid namespace
 *
 * It is born as root inside the sealed cgroup and makes everything that the command will live in: descriptors, mounts, limits, user, privileges,
 * seccomp. Then it starts the command and lives on as its parent, with the same (no) privileges: it reaps whatever is orphaned to it, hands signals
 * on, and tells the supervisor the command's true wait status. When the command has ended, init ends, and the kernel ends everything else in the
 * namespace with it: a grandchild that ignores SIGTERM in a session of its own does not outlive the command.
 *
 * The workload has the same user id, but cannot read or trace it (not dumpable) or kill it (PID 1 takes no unhandled signal from its own namespace).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "child.h"
#include "mutants.h"

_Noreturn void nc_child_fail(int fd, const char *step, int status)
{
	struct nc_report report = {.kind = NC_REPORT_FAILED, .status = status};

	strncpy(report.step, step, sizeof(report.step) - 1);
	if (write(fd, &report, sizeof(report)) != (ssize_t)sizeof(report))
		_exit(121);
	_exit(120);
}

static void must(int status, const char *step)
{
	if (status < 0)
		nc_child_fail(NC_FD_INIT_REPORT, step, -errno);
}

/* The fallback of clone3: nothing is done before the supervisor has moved this process and read back where it is. */
static void wait_until_moved(void)
{
	unsigned char go;
	ssize_t n;

	do
		n = read(NC_FD_INIT_CONTROL, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(122);
}

static void arrange_mounts(const struct nc_mount_plan *plan)
{
	if (plan->shared)
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "make mounts private");
	must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "mount /proc");
	for (size_t i = 0; i < plan->count && !NC_MUTANT_OFF("mounts"); i++) {
		const struct nc_mount_edit *edit = &plan->edits[i];

		if (edit->kind == NC_MOUNT_HIDE)
			must(mount("none", edit->point, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=000"), "hide a folder");
		else
			must(mount(NULL, edit->point, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | edit->flags, NULL), "make cgroup read-only");
	}
}

static void set_limits(const struct nc_child_plan *plan)
{
	for (size_t i = 0; i < plan->limit_count; i++) {
		const struct rlimit limit = {plan->limits[i].value, plan->limits[i].value};

		must(setrlimit((__rlimit_resource_t)plan->limits[i].resource, &limit), "limits");
	}
}

/* A process of its own memory where the plane's credentials come in: init must never hold them. */
static pid_t fork_apart(void)
{
	/* not fork(): the handlers that the C library runs there belong to threads that this process may not have */
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/*
 * Starts the command while the user may have exactly two tasks, this one and the new one: EAGAIN then means that a task outside has the same user id. The
 * kernel counts for us, atomically and whatever pid namespace the other hides in; reading /proc could do neither. The command sets its own limit.
 *
 * The new process has this one's memory until its exec, and this one sleeps so long (vfork): it has nothing to do before there is a command, and copying
 * the page tables of a process costs more than everything else that is done here. What the Runner handed in is wiped from it afterwards.
 */
static pid_t start_as_only_user(const struct nc_child_plan *plan)
{
	bool apart = plan->credentials_fd >= 0;
	struct rlimit before;
	struct rlimit two;
	pid_t pid;

	must(getrlimit(RLIMIT_NPROC, &before), "limits");
	two = before;
	two.rlim_cur = 2;
	if (two.rlim_max < 2)
		nc_child_fail(NC_FD_INIT_REPORT, "limits", -EPERM);
	must(setrlimit(RLIMIT_NPROC, &two), "limits");
	pid = apart ? fork_apart() : vfork();
	if (pid == 0) {
		must(setrlimit(RLIMIT_NPROC, &before), "limits");
		nc_command_main(plan);
	}
	nc_command_forget();
	if (pid < 0)
		nc_child_fail(NC_FD_INIT_REPORT, errno == EAGAIN ? "uid shared" : "fork", -errno);
	must(setrlimit(RLIMIT_NPROC, &before), "limits");
	return pid;
}

/* Waits for everything that has ended; the command's end is reported and is the end of the namespace. */
static void reap(pid_t command)
{
	struct nc_report report = {.kind = NC_REPORT_ENDED};
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		report.status = status;
		/* A supervisor that is gone hears nothing; the end is the same. */
		if (write(NC_FD_INIT_REPORT, &report, sizeof(report)) != (ssize_t)sizeof(report))
			_exit(121);
		_exit(0);
	}
}

/* Returns false when the supervisor is gone. */
static bool forward_signals(pid_t command)
{
	unsigned char signals[16];
	ssize_t n = read(NC_FD_INIT_CONTROL, signals, sizeof(signals));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	for (ssize_t i = 0; i < n; i++)
		kill(command, signals[i]); /* ESRCH: it has just ended, and the reaper tells */
	return n > 0;
}

static _Noreturn void watch(const struct nc_child_plan *plan, pid_t command, int signal_fd)
{
	struct pollfd polls[2] = {{.fd = signal_fd, .events = POLLIN}, {.fd = NC_FD_INIT_CONTROL, .events = POLLIN}};
	struct signalfd_siginfo drained[4];

	for (;;) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			_exit(123);
		if (polls[0].revents && read(signal_fd, drained, sizeof(drained)) < 0 && errno != EAGAIN && errno != EINTR)
			_exit(123);
		reap(command);
		if (polls[1].revents && !forward_signals(command)) {
			if (plan->die_with_supervisor)
				_exit(124);
			polls[1].fd = -1;
		}
	}
}

_Noreturn void nc_init_main(const struct nc_child_plan *plan, bool held)
{
	const char *step = "";
	sigset_t all, child;
	int signal_fd, r;
	pid_t command;

	if (held)
		wait_until_moved();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	arrange_mounts(plan->mounts);
	set_limits(plan);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	must(signal_fd, "signalfd");
	signal_fd = fcntl(signal_fd, F_DUPFD_CLOEXEC, NC_FD_FREE); /* out of the way of the numbers that are closed below */
	must(signal_fd, "signalfd");

	r = nc_privileges_drop(plan->uid, plan->gid, &plan->filter, &step);
	if (r < 0)
		nc_child_fail(NC_FD_INIT_REPORT, step, r);
	/* after the change of user, which clears it; a supervisor that died before this line shows as end of file on the control pipe */
	if (plan->die_with_supervisor)
		must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "death signal");

	/* init runs under the supervisor's arguments: paths of keys and profiles that are nobody's business in there */
	memset(plan->arguments, 0, plan->arguments_length);
	strncpy(plan->arguments, "netcordon-init", plan->arguments_length);
	command = start_as_only_user(plan);
	/* what the command reads and writes is its own: the other side must see its end of file */
	for (int fd = 0; fd < NC_FD_FREE; fd++) {
		if (fd != NC_FD_INIT_CONTROL && fd != NC_FD_INIT_REPORT)
			close(fd);
	}
	watch(plan, command, signal_fd);
}
