/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_warden.c - runs the matrix in a child, and clears up behind it */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_run.h"
#include "conform_warden.h"
#include "conform_worker.h"
#include "profile.h"

#define TEARDOWN_MS 20000

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	remove(path);
	return 0;
}

static void tear_down_pending(const char *driver, const json_t *driver_options, const char *scratch)
{
	const struct nc_driver known = {.path = driver, .teardown_ms = TEARDOWN_MS};
	char path[NC_SCRATCH_MAX + sizeof(NC_PENDING_TEARDOWN) + 8], *argv[] = {(char *)driver, "teardown", NULL};
	struct nc_error ignored = {0};
	size_t length, answer_length;
	int status;

	for (int i = 0; i < NC_JOBS_MAX; i++) {
		NC_FREE char *request = NULL, *answer = NULL;

		snprintf(path, sizeof(path), NC_WORKER_SCRATCH "/%s", scratch, i, NC_PENDING_TEARDOWN);
		if (!nc_profile_read(path, &request, &length, &ignored))
			nc_spawn_bounded(argv, request, length, TEARDOWN_MS, &status, &answer, &answer_length, NULL, NULL);
	}
	nc_conform_finish_driver(&known, driver_options);
}

/* Waits for the child or for a signal that asks for the end; *ret_signal is that signal, or 0. */
static int wait_for(pid_t child, const sigset_t *signals, int *ret_signal)
{
	int status = 0, number;

	*ret_signal = 0;
	for (;;) {
		pid_t done = waitpid(child, &status, WNOHANG);

		if (done == child)
			return status;
		number = sigwaitinfo(signals, NULL);
		if (number > 0 && number != SIGCHLD) {
			*ret_signal = number;
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return status;
		}
	}
}

static void __attribute__((noreturn)) be_matrix(int (*work)(void *, const char *), void *context, const char *scratch, const sigset_t *before)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A terminal's interrupt goes to the whole group; the warden decides what becomes of it. */
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, before, NULL);
	exit(work(context, scratch));
}

int nc_conform_under_warden(const char *driver, const json_t *driver_options, int (*work)(void *context, const char *scratch), void *context,
			    struct nc_error *reterr)
{
	char scratch[NC_SCRATCH_MAX] = "/tmp/nc-conform-XXXXXX";
	sigset_t signals, before;
	int status = 0, number = 0, r = nc_conform_adopt(reterr);
	pid_t child;

	if (r < 0)
		return r;
	if (!mkdtemp(scratch) || chmod(scratch, 0755) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "make a scratch folder");
	sigemptyset(&signals);
	for (size_t i = 0; i < 4; i++)
		sigaddset(&signals, (int[]){SIGINT, SIGTERM, SIGHUP, SIGCHLD}[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	fflush(NULL);
	child = fork();
	if (!child)
		be_matrix(work, context, scratch, &before);
	if (child < 0)
		r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "start the matrix");
	else
		status = wait_for(child, &signals, &number);
	if (number || !WIFEXITED(status))
		tear_down_pending(driver, driver_options, scratch);
	nc_conform_reap();
	nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return r;
	return number ? 128 + number : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
