/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * control.c - `update`, `stop` and `wait`: from outside, on an instance by its name
 *
 * `stop` asks the supervisor by a signal on a pidfd, so that a number used again cannot be hit. An instance without a supervisor (kept on purpose, or an
 * orphan) is adopted and ended here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cleanup.h"
#include "instance_state.h"
#include "launch_state.h"
#include "launch_update.h"
#include "other_build.h"
#include "profile.h"

/* A supervisor's end wakes the wait; this often it looks for what nobody ends (an orphan) or what outlives its supervisor (released by the next launch). */
#define LOOK_MS 20
#define LOOK_OWNED_MS 1000

struct search {
	const char *name;
	bool found, owner_lives;
	char folder[NC_PATH_MAX];
};

static int match(void *context, const struct nc_instance_row *row)
{
	struct search *search = context;

	if (strcmp(row->name, search->name) != 0)
		return 0;
	search->found = true;
	search->owner_lives = row->owner_lives;
	memcpy(search->folder, row->folder, sizeof(search->folder));
	return 0;
}

static int look(struct nc_host *host, const char *name, struct search *ret_search, struct nc_error *reterr)
{
	*ret_search = (struct search){.name = name};
	return nc_instances(host, match, ret_search, reterr);
}

/* Sleeps until there is reason to look again: the supervisor ended, or the time is up. */
static void sleep_on(const struct search *search, int64_t left_ms)
{
	struct nc_instance_state state;
	struct nc_error ignored; /* it is not sealed yet, or is gone: the next look tells */
	NC_CLOSE int supervisor = -1;
	struct pollfd watched = {.fd = -1, .events = POLLIN};
	int64_t ms = LOOK_MS;

	if (search->owner_lives && nc_instance_state_read(search->folder, &state, &ignored) == 0)
		supervisor = nc_process_open(&state.supervisor);
	if (supervisor >= 0) {
		watched.fd = supervisor;
		ms = LOOK_OWNED_MS;
	}
	if (poll(&watched, 1, (int)(left_ms < ms ? left_ms : ms)) > 0)
		poll(NULL, 0, 1); /* a supervisor that is dead and still in the table: never a busy loop */
}

/* Whoever else ends it at this moment does what is to be done. */
static int end_ownerless(struct nc_host *host, const char *name, struct nc_error *reterr)
{
	struct nc_claim *claim;
	int r = nc_claim_adopt(host, name, &claim, reterr);

	if (r < 0 && (reterr->code == NC_E_INSTANCE_EXISTS || reterr->code == NC_E_INSTANCE_UNKNOWN))
		return 0;
	return r < 0 ? r : nc_claim_release(claim, reterr);
}

/* With `stop` an instance whose supervisor dies meanwhile is ended here: nobody else may come to do it. */
static int wait_gone(struct nc_host *host, const char *name, int timeout_ms, bool stop, struct nc_error *reterr)
{
	int64_t until = timeout_ms > 0 ? nc_now_ns() + timeout_ms * 1000000ll : INT64_MAX;

	for (;;) {
		struct search search;
		int r = look(host, name, &search, reterr);
		int64_t now = nc_now_ns();

		if (r == 0 && search.found && stop && !search.owner_lives)
			r = end_ownerless(host, name, reterr) ?: look(host, name, &search, reterr);
		if (r < 0 || !search.found)
			return r;
		if (now >= until)
			return nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "instance %s still lives", name);
		sleep_on(&search, (until - now) / 1000000 + 1);
	}
}

static int signal_supervisor(const struct search *search, struct nc_error *reterr)
{
	struct nc_instance_state state;
	NC_CLOSE int fd = -1;
	int r = nc_instance_state_read(search->folder, &state, reterr);

	if (r < 0)
		return r;
	fd = nc_process_open(&state.supervisor);
	if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "signal the supervisor of instance %s", search->name);
	return 0; /* it ends, or has ended: the wait tells */
}

/* Where its evidence is, while its folder still stands. */
static void note_evidence(const struct search *search, char ret_evidence[NC_PATH_MAX])
{
	struct nc_instance_state state;
	struct nc_error ignored; /* it is not sealed yet: there is none */

	ret_evidence[0] = '\0';
	if (nc_instance_state_read(search->folder, &state, &ignored) == 0)
		memcpy(ret_evidence, state.evidence, NC_PATH_MAX);
}

static int with_host(const struct nc_host_options *options, const char *instance, int timeout_ms, bool stop, char ret_evidence[NC_PATH_MAX],
		     struct nc_error *reterr)
{
	struct nc_host *host = NULL;
	struct search search;
	int r = nc_host_open(options, &host, reterr) ?: look(host, instance, &search, reterr);

	if (r == 0 && !search.found)
		r = nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "no instance %s", instance);
	if (r == 0)
		note_evidence(&search, ret_evidence);
	if (r == 0 && stop && search.owner_lives)
		r = signal_supervisor(&search, reterr);
	if (r == 0)
		r = wait_gone(host, instance, timeout_ms, stop, reterr);
	nc_host_close(host);
	return nc_other_error(options, instance, r, reterr);
}

int nc_launch_stop(const struct nc_host_options *host, const char *instance, int timeout_ms, char ret_evidence[NC_PATH_MAX], struct nc_error *reterr)
{
	return with_host(host, instance, timeout_ms, true, ret_evidence, reterr);
}

/* What nc_launch_stop_all looks for: those that somebody supervises. */
struct supervised {
	bool tell_them; /* in this pass */
	unsigned int count;
	struct search last;
	struct nc_error *reterr;
};

static int one_supervised(void *context, const struct nc_instance_row *row)
{
	struct supervised *all = context;

	if (!row->owner_lives)
		return 0;
	all->last = (struct search){.name = "that ends", .owner_lives = true};
	memcpy(all->last.folder, row->folder, sizeof(all->last.folder));
	all->count++;
	return all->tell_them ? signal_supervisor(&all->last, all->reterr) : 0;
}

int nc_launch_stop_all(struct nc_host *host, int timeout_ms, unsigned int *ret_stopped, struct nc_error *reterr)
{
	int64_t until = nc_now_ns() + timeout_ms * 1000000ll;
	struct supervised all = {.tell_them = true, .reterr = reterr};
	int r = nc_instances(host, one_supervised, &all, reterr);
	unsigned int told = all.count;

	while (r == 0 && all.count) {
		int64_t now = nc_now_ns();

		if (now >= until)
			return nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "instances that have not ended when asked: %u", all.count);
		sleep_on(&all.last, (until - now) / 1000000 + 1);
		all = (struct supervised){.reterr = reterr};
		r = nc_instances(host, one_supervised, &all, reterr);
	}
	*ret_stopped = told;
	return r;
}

int nc_launch_wait(const struct nc_host_options *host, const char *instance, int timeout_ms, char ret_evidence[NC_PATH_MAX], struct nc_error *reterr)
{
	return with_host(host, instance, timeout_ms, false, ret_evidence, reterr);
}

/* ---- update ---------------------------------------------------------------------------------------------------------------------------------------- */

static int send_whole(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		bytes += n;
		length -= (size_t)n;
	}
	return shutdown(fd, SHUT_WR) < 0 ? -errno : 0;
}

static int converse(const struct search *search, const char *text, size_t length, uint32_t *ret_ended, struct nc_error *reterr)
{
	const struct timeval patience = {.tv_sec = 30};
	NC_CLOSE int folder = open(search->folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	NC_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct nc_update_answer answer = {0};
	struct sockaddr_un address;
	int r;

	if (folder < 0 || fd < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "ask the supervisor of instance %s", search->name);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	nc_update_address(folder, &address);
	r = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	if (r == -ENOENT || r == -ECONNREFUSED) {
		nc_error_set(reterr, NC_E_INSTANCE_NOT_STARTED, -EAGAIN,
			     "instance %s takes no update: its command has not started, or has just ended", search->name);
		return nc_error_hint(reterr, "wait for `started` on the status descriptor");
	}
	if (r < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "ask the supervisor of instance %s", search->name);
	r = send_whole(fd, text, length);
	if (r < 0 && r != -EPIPE)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "hand the profile to the supervisor of instance %s", search->name);
	if (recv(fd, &answer, sizeof(answer), MSG_WAITALL) != (ssize_t)sizeof(answer) || answer.magic != NC_UPDATE_MAGIC)
		return nc_error_set(reterr, NC_E_SYSTEM, -EPIPE, "the supervisor of instance %s did not answer", search->name);
	if (answer.status < 0)
		*reterr = answer.error;
	else
		*ret_ended = answer.ended;
	return answer.status;
}

int nc_launch_update(const struct nc_host_options *options, const char *instance, const char *profile, uint32_t *ret_ended, struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	struct nc_host *host = NULL;
	struct search search;
	size_t length;
	int r = nc_profile_read(profile, &text, &length, reterr) ?: nc_host_open(options, &host, reterr) ?: look(host, instance, &search, reterr);

	if (r == 0 && !search.found)
		r = nc_error_set(reterr, NC_E_INSTANCE_UNKNOWN, -ENOENT, "no instance %s", instance);
	if (r == 0 && !search.owner_lives)
		r = nc_error_set(reterr, NC_E_INSTANCE_UNSUPERVISED, -ESRCH, "instance %s has no supervisor that could change its policy", instance);
	r = r < 0 ? r : converse(&search, text, length, ret_ended, reterr);
	nc_host_close(host);
	return nc_other_error(options, instance, r, reterr);
}
