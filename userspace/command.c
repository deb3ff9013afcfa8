/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * command.c - the last steps before the command: its own session, the canary, the wait for `go`, the environment, exec
 *
 * By now the process has no privilege left. It runs the canary as exactly what the command will be, waits until the supervisor is satisfied, and only then
 * reads what the Runner hands in by descriptor: a Runner need not part with a secret before the instance is sealed.
 *
 * No allocation: the environment that comes by descriptor is read into a static buffer. The process may still have init's memory (init.c), so nothing of
 * init's is changed, and init wipes that buffer when the command has its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "child.h"
#include "mutants.h"

#define ENV_BYTES_MAX (256u << 10)
#define ENV_COUNT_MAX 4096u

extern char **environ;

/* What came by one descriptor. */
struct passed {
	size_t length;
	char bytes[ENV_BYTES_MAX + 1];
};

static struct passed from_runner, credentials;
static char *whole_env[ENV_COUNT_MAX + 1];

static void must(int status, const char *step)
{
	if (status < 0)
		nc_child_fail(NC_FD_COMMAND_REPORT, step, -errno);
}

static void tell(const struct nc_report *report)
{
	if (write(NC_FD_COMMAND_REPORT, report, sizeof(*report)) != (ssize_t)sizeof(*report))
		_exit(121);
}

/* End of file is a supervisor that gave up or is gone: the command does not run. */
static void receive(struct nc_order *ret_order, uint32_t kind)
{
	ssize_t n;

	do
		n = read(NC_FD_COMMAND_CONTROL, ret_order, sizeof(*ret_order));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*ret_order) || ret_order->kind != kind)
		_exit(122);
}

static void take_session(const struct nc_child_plan *plan)
{
	if (!NC_MUTANT_OFF("terminal"))
		must(setsid(), "session");
	if (plan->pty < 0)
		return;
	must(ioctl(NC_FD_PTY, TIOCSCTTY, 0), "terminal");
	for (int fd = 0; fd < 3; fd++)
		must(dup2(NC_FD_PTY, fd), "terminal");
	close(NC_FD_PTY);
}

static void limit_tasks(const struct nc_child_plan *plan)
{
	struct rlimit limit;

	if (plan->pids < 0)
		return;
	limit.rlim_cur = limit.rlim_max = (rlim_t)plan->pids + 1; /* init has the same user */
	must(setrlimit(RLIMIT_NPROC, &limit), "limits");
}

/* Reads the descriptor to its end. */
static void read_passed(int fd, struct passed *passed)
{
	for (;;) {
		ssize_t n = read(fd, passed->bytes + passed->length, ENV_BYTES_MAX - passed->length);

		if (n < 0 && errno == EINTR)
			continue;
		must((int)n, "read the environment's descriptor");
		if (n == 0)
			break;
		passed->length += (size_t)n;
		if (passed->length == ENV_BYTES_MAX)
			nc_child_fail(NC_FD_COMMAND_REPORT, "read the environment's descriptor", -E2BIG);
	}
	/* What was cut off in the middle would otherwise be a value. */
	if (passed->length && passed->bytes[passed->length - 1])
		nc_child_fail(NC_FD_COMMAND_REPORT, "no NUL at the end", -EINVAL);
	close(fd);
}

static bool same_name(const char *assignment, const char *other)
{
	size_t length = strcspn(assignment, "=");

	return strncmp(assignment, other, length) == 0 && (other[length] == '=' || other[length] == '\0');
}

/* A name that stands in the profile's environment too is replaced by what was passed; twice in one descriptor is an error. */
static size_t add_variable(const struct passed *source, char *assignment, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!same_name(assignment, whole_env[i]))
			continue;
		if (whole_env[i] >= source->bytes && whole_env[i] < source->bytes + sizeof(source->bytes))
			nc_child_fail(NC_FD_COMMAND_REPORT, "one name twice in an environment's descriptor", -EINVAL);
		whole_env[i] = assignment;
		return count;
	}
	if (count == ENV_COUNT_MAX)
		nc_child_fail(NC_FD_COMMAND_REPORT, "read the environment's descriptor", -E2BIG);
	whole_env[count] = assignment;
	return count + 1;
}

static void report_name(const char *assignment)
{
	struct nc_report report = {.kind = NC_REPORT_PASSED};
	size_t length = strcspn(assignment, "=");

	if (length == 0 || assignment[length] == '\0')
		nc_child_fail(NC_FD_COMMAND_REPORT, "NAME=value in the environment's descriptor", -EINVAL);
	memcpy(report.step, assignment, length < sizeof(report.step) - 1 ? length : sizeof(report.step) - 1);
	tell(&report);
}

/* The name alone: what stands behind it may be a secret. */
static _Noreturn void fail_for(const char *step, const char *assignment)
{
	char text[sizeof(((struct nc_report *)0)->step)];
	size_t length = strlen(step), name = strcspn(assignment, "=");

	if (name > sizeof(text) - length - 3)
		name = sizeof(text) - length - 3;
	memcpy(text, step, length);
	memcpy(text + length, ": ", 2);
	memcpy(text + length + 2, assignment, name);
	text[length + 2 + name] = '\0';
	nc_child_fail(NC_FD_COMMAND_REPORT, text, -EACCES);
}

static bool is_credential(const struct nc_child_plan *plan, const char *assignment)
{
	for (char *const *name = plan->credential_names; name && *name; name++) {
		if (same_name(assignment, *name))
			return true;
	}
	return false;
}

/* A value of few bytes stands in everything by chance. */
#define TELLING_BYTES 8

static void check_credential(const struct nc_child_plan *plan, const char *assignment)
{
	const char *value = strchr(assignment, '=') + 1;
	size_t length = strlen(value);

	if (!is_credential(plan, assignment))
		fail_for("credential unnamed", assignment);
	if (length >= TELLING_BYTES && plan->seen_by_workload && memmem(plan->seen_by_workload, plan->seen_length, value, length))
		fail_for("credential seen", assignment);
}

static size_t add_passed(const struct nc_child_plan *plan, struct passed *passed, bool are_credentials, size_t count)
{
	for (size_t at = 0; at < passed->length; at += strlen(passed->bytes + at) + 1) {
		char *assignment = passed->bytes + at;

		report_name(assignment);
		if (are_credentials)
			check_credential(plan, assignment);
		count = add_variable(passed, assignment, count);
	}
	return count;
}

static void compile_environment(const struct nc_child_plan *plan)
{
	size_t count = 0;

	for (char *const *given = plan->env; given && *given && count < ENV_COUNT_MAX; given++)
		whole_env[count++] = *given;
	if (plan->env_fd >= 0) {
		read_passed(NC_FD_ENV, &from_runner);
		count = add_passed(plan, &from_runner, false, count);
	}
	for (size_t i = 0; i < count; i++) {
		if (is_credential(plan, whole_env[i]))
			fail_for("plane credential", whole_env[i]);
	}
	if (plan->is_plane && plan->credentials_fd >= 0) {
		read_passed(NC_FD_CREDENTIALS, &credentials);
		count = add_passed(plan, &credentials, true, count);
	}
	whole_env[count] = NULL;
}

/* Nothing of the supervisor's signal handling is inherited. All are blocked until the last moment. */
static void default_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	for (int number = 1; number < NSIG; number++)
		sigaction(number, &action, NULL); /* KILL, STOP and the C library's own are refused, and keep their default */
}

static void let_signals_in(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void nc_command_forget(void)
{
	explicit_bzero(from_runner.bytes, from_runner.length);
}

_Noreturn void nc_command_main(const struct nc_child_plan *plan)
{
	struct nc_report report = {.kind = NC_REPORT_CANARY};
	struct nc_order order;

	close(NC_FD_INIT_CONTROL);
	close(NC_FD_INIT_REPORT);
	take_session(plan);
	limit_tasks(plan);
	umask(plan->umask);
	must(chdir(plan->cwd), "working folder");
	default_signals(); /* while the supervisor is busy: after `go` it would wait */

	receive(&order, NC_ORDER_CANARY);
	nc_canary_attempt(&order, report.results, report.ports_be);
	tell(&report);

	receive(&order, NC_ORDER_GO);
	compile_environment(plan);
	let_signals_in();
	report = (struct nc_report){.kind = NC_REPORT_READY};
	tell(&report);
	environ = whole_env;
	execvp(plan->argv[0], plan->argv);
	nc_child_fail(NC_FD_COMMAND_REPORT, "exec", -errno);
}
