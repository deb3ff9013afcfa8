/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watch.c - the loop that watches over a workload, held or running
 *
 * While the Runner holds it, others may be at work in the instance (`exec`), so events, records and programs are looked after from `sealed` on. What ends
 * a launch then is an error, since no command has run.
 *
 * What ends a workload before its own end goes through the same ladder: TERM to the command, after the grace KILL to the command, and a little later everything
 * in the cgroup. A process that has left the cordon, a lost edge or a missing program get no grace.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "exec_record.h"
#include "json.h"
#include "watch.h"

#define MS 1000000ll
#define LOOK_MS 1000	   /* between two looks at the membership */
#define LOOK_QUIET_MS 3000 /* when nothing has happened for QUIET_MS */
#define QUIET_MS 30000
#define VERIFY_MS 10000 /* between two looks at the programs in force, or the first look after that */
#define SETTLE_MS 20
#define LAST_RESORT_MS 2000 /* from KILL for the command to KILL for the cgroup */
#define GIVE_UP_MS 5000	    /* from the command's end, or that, to going on without those that do not end */

enum { POLL_REPORT, POLL_INIT, POLL_SIGNALS, POLL_EDGE, POLL_FLOOR, POLL_POPULATED, POLL_UPDATE, POLL_HOLD, POLL_FIXED };

/* Without a process of ours (attach) the membership is the runtime's matter, and only the programs are looked at. */
static int64_t next_look(const struct nc_watch *watch, int64_t now)
{
	if (watch->launch->child.pid <= 0)
		return watch->verify_at;
	return now + (now - watch->stirred_at < QUIET_MS * MS ? LOOK_MS : LOOK_QUIET_MS) * MS;
}

/* Something happened: where looks had become rare, the next is not far. */
static void stir(struct nc_watch *watch, int64_t now)
{
	watch->stirred_at = now;
	if (next_look(watch, now) < watch->look_at)
		watch->look_at = next_look(watch, now);
}

void nc_watch_init(struct nc_watch *watch, struct nc_launch *launch)
{
	const struct nc_launch_options *options = launch->options;
	int64_t now = nc_now_ns();

	*watch = (struct nc_watch){.launch = launch, .populated_fd = -1, .stirred_at = now, .verify_at = now + VERIFY_MS * MS};
	watch->look_at = next_look(watch, now);
	watch->checkpoint_at = now + (options->checkpoint_ms < 0 ? NC_CHECKPOINT_MS : options->checkpoint_ms) * MS;
}

/* The clocks that run from the start of the command. */
static void begin(struct nc_watch *watch)
{
	int64_t now = nc_now_ns();

	if (watch->launch->options->lifetime_ms > 0)
		watch->term_at = now + watch->launch->options->lifetime_ms * MS;
	watch->settle_at = now + SETTLE_MS * MS;
}

/* The first cause is the one that counts. */
static void blame(struct nc_watch *watch, const char *cause)
{
	if (!watch->launch->ending.cause[0])
		watch->launch->ending.cause = cause;
}

static void send_signal(struct nc_watch *watch, int number)
{
	unsigned char byte = (unsigned char)number;

	if (watch->populated_fd >= 0) /* attach has no init that it could ask: each process in the cgroup is told */
		nc_cgroup_signal(nc_claim_cgroup_fd(watch->launch->claim, watch->launch->authority), number);
	if (watch->launch->child.init_control >= 0 && write(watch->launch->child.init_control, &byte, 1) != 1)
		watch->init_gone |= errno == EPIPE;
}

/* That it ends is known from here on, and nothing new starts in it. A failure is told at the end, which notes it again. */
static void note_ending(const struct nc_watch *watch)
{
	struct nc_error ignored;

	if (watch->launch->provider != NC_PROVIDER_EXEC)
		nc_claim_note_ending(watch->launch->claim, &ignored);
}

static void begin_end(struct nc_watch *watch, const char *cause)
{
	const struct nc_launch_options *options = watch->launch->options;

	note_ending(watch);

	blame(watch, cause);
	send_signal(watch, SIGTERM);
	if (!watch->kill_at)
		watch->kill_at = nc_now_ns() + (options->grace_ms < 0 ? NC_GRACE_MS : options->grace_ms) * MS;
}

static void end_at_once(struct nc_watch *watch, const char *cause)
{
	struct nc_error ignored; /* what survives is killed again by the release, which reports */

	note_ending(watch);
	blame(watch, cause);
	if (watch->launch->child.pid > 0)
		kill(watch->launch->child.pid, SIGKILL); /* the whole pid namespace, wherever its processes have been moved */
	nc_claim_kill(watch->launch->claim, watch->launch->authority, LAST_RESORT_MS, &ignored);
	if (!watch->give_up_at)
		watch->give_up_at = nc_now_ns() + GIVE_UP_MS * MS;
}

/* Something that the cordon cannot do without is gone. Before the start that is an error like any other. */
static int lose(struct nc_watch *watch, const char *cause, const struct nc_error *error, struct nc_error *reterr)
{
	if (!watch->holding) {
		end_at_once(watch, cause);
		return 0;
	}
	*reterr = *error;
	return error->status < 0 ? error->status : -EIO;
}

/* ---- what can happen -------------------------------------------------------------------------------------------------------------------------------- */

static int step_edge(struct nc_watch *watch, struct nc_error *reterr)
{
	int r = nc_watch_hear(watch->launch, reterr);

	watch->dirty = true;
	/* whoever follows the events sees them now; the next checkpoint makes them durable. What fails here is ours, and not the edge's */
	if (r == 0)
		return nc_watch_end_refused(watch->launch, reterr) ?: nc_evidence_show(watch->launch->evidence, reterr);
	if (reterr->code == NC_E_EVIDENCE_UNWRITABLE)
		return r;
	nc_launch_events_lose(watch->launch);
	return lose(watch, "edge_lost", reterr, reterr);
}

/* The kernel ends the rest of the namespace, and then init. */
static void command_gone(struct nc_watch *watch)
{
	watch->command_gone = true;
	if (!watch->give_up_at)
		watch->give_up_at = nc_now_ns() + GIVE_UP_MS * MS;
}

static void step_report(struct nc_watch *watch)
{
	struct nc_ending *ending = &watch->launch->ending;
	struct nc_report report;

	if (read(watch->launch->child.init_report, &report, sizeof(report)) != (ssize_t)sizeof(report) || report.kind != NC_REPORT_ENDED) {
		command_gone(watch); /* the end of init itself follows, and says all that can be known */
		return;
	}
	ending->known = true;
	ending->wait_status = report.status;
	command_gone(watch);
}

static void step_signals(struct nc_watch *watch)
{
	struct signalfd_siginfo info;

	while (read(watch->launch->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH && watch->launch->stdio.pty_master >= 0)
			nc_stdio_resize(&watch->launch->stdio);
		else if (info.ssi_signo == SIGTERM || (info.ssi_signo == SIGINT && watch->populated_fd >= 0))
			begin_end(watch, "stopped");
		else
			send_signal(watch, (int)info.ssi_signo);
	}
}

static void step_clocks(struct nc_watch *watch, int64_t now)
{
	if (watch->term_at && now >= watch->term_at) {
		watch->term_at = 0;
		begin_end(watch, "lifetime");
	}
	if (watch->kill_at && now >= watch->kill_at) {
		watch->kill_at = INT64_MAX;
		watch->last_resort_at = now + LAST_RESORT_MS * MS;
		send_signal(watch, SIGKILL);
	}
	if (watch->last_resort_at && now >= watch->last_resort_at) {
		watch->last_resort_at = now + LAST_RESORT_MS * MS;
		end_at_once(watch, "stopped");
	}
}

/* Whoever follows the events sees how the commands that were executed in it ended. */
static int take_in(struct nc_watch *watch, struct nc_error *reterr)
{
	struct nc_evidence *evidence = watch->launch->evidence;
	uint64_t before = nc_evidence_sequence(evidence);
	int r = nc_exec_records_collect(watch->launch, true, reterr);

	if (r < 0 || nc_evidence_sequence(evidence) == before)
		return r;
	watch->dirty = true;
	return nc_evidence_show(evidence, reterr);
}

/* Is everything still where it was put, and is what decides still in force? And what was executed in it and has ended is told. */
static int step_look(struct nc_watch *watch, int64_t now, struct nc_error *reterr)
{
	struct nc_launch *launch = watch->launch;
	struct nc_error error = {0};
	int r = 0;

	if (now < watch->look_at || watch->command_gone)
		return 0;
	if (nc_membership_check(launch, &watch->inside, &error) < 0) {
		r = lose(watch, "membership_lost", &error, reterr);
	} else if (now >= watch->verify_at) {
		watch->verify_at = now + VERIFY_MS * MS;
		if (nc_host_verify(launch->host, nc_claim_cgroup_fd(launch->claim, launch->authority), NULL, &error) < 0)
			r = lose(watch, "program_lost", &error, reterr);
		if (r == 0 && launch->provider != NC_PROVIDER_EXEC)
			r = take_in(watch, reterr);
	}
	watch->look_at = next_look(watch, now);
	return r;
}

static int step_checkpoint(struct nc_watch *watch, int64_t now, struct nc_error *reterr)
{
	struct nc_evidence *evidence = watch->launch->evidence;
	int interval = watch->launch->options->checkpoint_ms < 0 ? NC_CHECKPOINT_MS : watch->launch->options->checkpoint_ms;

	/* The checkpoint of the start: of a command that ends at once the closing statement takes it along. */
	if (evidence && now >= watch->settle_at && nc_evidence_unsettled(evidence)) {
		int r = nc_evidence_settle(evidence, reterr);

		if (r < 0)
			return r;
	}
	if (interval == 0 || !watch->dirty || now < watch->checkpoint_at)
		return 0;
	watch->dirty = false;
	watch->checkpoint_at = now + interval * MS;
	return nc_evidence_checkpoint(watch->launch->evidence, "running", NULL, reterr);
}

/* ---- the loop ----------------------------------------------------------------------------------------------------------------------------------------- */

static int next_timeout(const struct nc_watch *watch, int64_t now)
{
	int64_t next = watch->command_gone ? INT64_MAX : watch->look_at; /* then give_up_at is set */

	if (watch->settle_at < next && watch->launch->evidence && nc_evidence_unsettled(watch->launch->evidence))
		next = watch->settle_at;
	if (watch->term_at && watch->term_at < next)
		next = watch->term_at;
	if (watch->kill_at && watch->kill_at < next)
		next = watch->kill_at;
	if (watch->last_resort_at && watch->last_resort_at < next)
		next = watch->last_resort_at;
	if (watch->give_up_at && watch->give_up_at < next)
		next = watch->give_up_at;
	if (watch->holding && watch->launch->deadline_ns && watch->launch->deadline_ns < next)
		next = watch->launch->deadline_ns;
	return next <= now ? 0 : (int)((next - now) / MS) + 1;
}

static void fill_polls(struct nc_watch *watch, struct pollfd polls[POLL_FIXED])
{
	struct nc_launch *launch = watch->launch;

	polls[POLL_REPORT] = (struct pollfd){.fd = watch->command_gone ? -1 : launch->child.init_report, .events = POLLIN};
	polls[POLL_INIT] = (struct pollfd){.fd = watch->init_gone ? -1 : launch->child.pidfd, .events = POLLIN};
	polls[POLL_SIGNALS] = (struct pollfd){.fd = launch->signal_fd, .events = POLLIN};
	polls[POLL_EDGE] = (struct pollfd){.fd = nc_launch_events_fd(launch), .events = POLLIN};
	polls[POLL_UPDATE] = (struct pollfd){.fd = launch->update_fd, .events = POLLIN};
	polls[POLL_POPULATED] = (struct pollfd){.fd = watch->populated_fd, .events = POLLPRI};
	polls[POLL_HOLD] = (struct pollfd){.fd = watch->holding ? launch->options->hold_fd : -1, .events = POLLIN};
	polls[POLL_FLOOR] = (struct pollfd){.fd = launch->floor ? nc_floor_poll_fd(launch->floor) : -1, .events = POLLIN};
}

/* One byte is a go, the end is a no. */
static int step_hold(struct nc_watch *watch, struct nc_error *reterr)
{
	char go;
	ssize_t n = read(watch->launch->options->hold_fd, &go, 1);

	if (n == 0) {
		nc_error_set(reterr, NC_E_HOLD_CLOSED, -ECANCELED, "the hold descriptor was closed without a go");
		return nc_error_hint(reterr, "one byte on it starts the command; its end means no, also that of a Runner that died");
	}
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "read the hold descriptor");
	watch->holding = n < 0;
	return 0;
}

static int step_held(struct nc_watch *watch, const struct pollfd *polls, int64_t now, struct nc_error *reterr)
{
	struct nc_launch *launch = watch->launch;
	int r = polls[POLL_SIGNALS].revents ? nc_launch_check_signals(launch, reterr) : 0;

	if (r < 0)
		return r;
	if (polls[POLL_REPORT].revents || polls[POLL_INIT].revents)
		return nc_launch_explain_death(launch, reterr);
	if (polls[POLL_HOLD].revents)
		return step_hold(watch, reterr);
	return launch->deadline_ns && now >= launch->deadline_ns ? nc_launch_too_late(launch, reterr) : 0;
}

static void step_running(struct nc_watch *watch, const struct pollfd *polls, int64_t now)
{
	if (polls[POLL_REPORT].revents)
		step_report(watch);
	if (polls[POLL_INIT].revents)
		watch->init_gone = true;
	if (polls[POLL_SIGNALS].revents)
		step_signals(watch);
	step_clocks(watch, now);
}

static int step(struct nc_watch *watch, const struct pollfd *polls, size_t count, struct nc_error *reterr)
{
	struct nc_launch *launch = watch->launch;
	int64_t now = nc_now_ns();
	int r = 0;

	if (watch->holding)
		r = step_held(watch, polls, now, reterr);
	else
		step_running(watch, polls, now);
	if (r == 0 && polls[POLL_EDGE].revents)
		r = step_edge(watch, reterr);
	if (r == 0 && polls[POLL_FLOOR].revents)
		r = nc_floor_step(launch->floor, reterr);
	if (r == 0 && polls[POLL_UPDATE].revents)
		r = nc_update_step(launch, watch->kill_at != 0, reterr);
	nc_stdio_step(&launch->stdio, polls + POLL_FIXED, count - POLL_FIXED);
	r = r < 0 ? r : step_look(watch, now, reterr);
	return r < 0 ? r : step_checkpoint(watch, now, reterr);
}

static int wait_and_step(struct nc_watch *watch, struct nc_error *reterr)
{
	struct pollfd polls[POLL_FIXED + NC_STDIO_POLLS];
	/* what the caller sends is the command's: nothing is taken of it while there may be none */
	size_t count = POLL_FIXED + (watch->holding ? 0 : nc_stdio_polls(&watch->launch->stdio, polls + POLL_FIXED));
	int r;

	fill_polls(watch, polls);
	r = poll(polls, count, next_timeout(watch, nc_now_ns()));
	if (r > 0)
		stir(watch, nc_now_ns());
	if (r < 0)
		return errno == EINTR ? 0 : nc_error_sys(reterr, NC_E_SYSTEM, -errno, "poll");
	return step(watch, polls, count, reterr);
}

static bool given_up(const struct nc_watch *watch)
{
	return watch->give_up_at && nc_now_ns() >= watch->give_up_at;
}

int nc_watch_hold(struct nc_watch *watch, struct nc_error *reterr)
{
	int r = 0;

	watch->holding = watch->launch->options->hold_fd >= 0;
	while (r == 0 && watch->holding)
		r = wait_and_step(watch, reterr);
	return r;
}

int nc_watch_run(struct nc_watch *watch, struct nc_error *reterr)
{
	struct nc_ending *ending = &watch->launch->ending;

	begin(watch);
	while (!watch->init_gone && !given_up(watch)) {
		int r = wait_and_step(watch, reterr);

		if (r < 0)
			return r;
	}
	/* init's last word may still be in the pipe */
	if (!watch->command_gone && watch->init_gone)
		step_report(watch);
	if (!ending->known) {
		ending->known = true;
		ending->wait_status = SIGKILL; /* init was killed, and with it everything */
	}
	blame(watch, WIFSIGNALED(ending->wait_status) ? "signalled" : "exited");
	return 0;
}

/* True when it is over. Reading cgroup.events is what makes the next change wake the poll. */
static int look_populated(struct nc_watch *watch, bool *ret_over, struct nc_error *reterr)
{
	char text[256];
	bool populated;
	int r;

	if (pread(watch->populated_fd, text, sizeof(text), 0) < 0 && errno == ENODEV) {
		*ret_over = true; /* somebody has removed the cgroup */
		return 0;
	}
	r = nc_claim_populated(watch->launch->claim, watch->launch->authority, &populated, reterr);
	if (r < 0)
		return r;
	*ret_over = !populated && (watch->was_populated || watch->kill_at);
	watch->was_populated |= populated;
	return 0;
}

int nc_watch_cgroup(struct nc_watch *watch, struct nc_error *reterr)
{
	NC_CLOSE int fd = openat(nc_claim_cgroup_fd(watch->launch->claim, watch->launch->authority), "cgroup.events", O_RDONLY | O_CLOEXEC);
	bool over = fd < 0 && (errno == ENOENT || errno == ENODEV); /* emptied and removed already: a container may be as short as that */
	int r = 0;

	if (fd < 0 && !over)
		return nc_error_sys(reterr, NC_E_CGROUP_INVALID, -errno, "open cgroup.events");
	watch->populated_fd = fd;
	begin(watch);
	while (r == 0 && !over && !given_up(watch)) {
		r = look_populated(watch, &over, reterr);
		if (r < 0 || over)
			break;
		r = wait_and_step(watch, reterr);
	}
	watch->populated_fd = -1;
	if (r == 0)
		blame(watch, "emptied");
	return r;
}
