/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_evidence_faults.c - a writer whose disk fills, whose writes are short, whose syncs fail, and that is killed, at every system call of its life
 *
 * The system calls that the writer makes are this file's own: each counts, and the one whose turn it is fails, writes less than it was asked to, or is
 * the last thing that the process does. Every life runs in a process of its own; what it left behind is judged from outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cmocka.h>
#define FIXTURE_IN_MEMORY
#include "evidence_fixture.h"

enum fault { NONE, FAILS, SHORT, KILLED_BEFORE, KILLED_AFTER };

static struct {
	enum fault fault;
	int error;
	long turn; /* which call; 0: none */
	long calls;
	bool hit;
} plan;

/* Whether this call is the one. A killed process dies here or, when `after`, at the caller's end. */
static bool my_turn(void)
{
	if (++plan.calls != plan.turn)
		return false;
	plan.hit = true;
	if (plan.fault == KILLED_BEFORE)
		kill(getpid(), SIGKILL);
	return true;
}

static long done(bool mine, long result)
{
	if (mine && plan.fault == KILLED_AFTER)
		kill(getpid(), SIGKILL);
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

static long call(long number, long a, long b, long c, long d, long e)
{
	long result;

	/* The compiler's own wrapper sets errno; this one answers as the kernel does. */
	result = syscall(number, a, b, c, d, e);
	return result < 0 ? -errno : result;
}

#define FAULTY(number, ...)                                                                                                                          \
	({                                                                                                                                           \
		bool mine_ = my_turn();                                                                                                              \
		done(mine_, mine_ &&plan.fault == FAILS ? -plan.error : call(number, __VA_ARGS__));                                                  \
	})

/* Half of what was asked for gets there; the rest finds the disk full. */
ssize_t write(int fd, const void *bytes, size_t count)
{
	static bool full;
	bool mine = my_turn();

	if (full)
		return done(mine, -ENOSPC);
	if (mine && plan.fault == SHORT) {
		full = plan.error == ENOSPC;
		return done(mine, count > 1 ? call(SYS_write, fd, (long)bytes, (long)count / 2, 0, 0) : -ENOSPC);
	}
	return done(mine, mine && plan.fault == FAILS ? -plan.error : call(SYS_write, fd, (long)bytes, (long)count, 0, 0));
}

int fsync(int fd)
{
	return (int)FAULTY(SYS_fsync, fd, 0, 0, 0, 0);
}

int fdatasync(int fd)
{
	return (int)FAULTY(SYS_fdatasync, fd, 0, 0, 0, 0);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return (int)FAULTY(SYS_renameat2, from_fd, (long)from, to_fd, (long)to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	return (int)FAULTY(SYS_renameat2, from_fd, (long)from, to_fd, (long)to, flags);
}

int openat(int fd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_list arguments;

		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	return (int)FAULTY(SYS_openat, fd, (long)path, flags, mode, 0);
}

/* ---- a life ------------------------------------------------------------------------------------------------------------------------------------ */

/* What the parent learns, through a file that the faults do not touch: how far the writer got. */
enum progress { BEGAN = 1, ALL_WELL = 2 };

static int life(const char *name, const char *key_path, int progress_fd)
{
	static const char began = BEGAN, all_well = ALL_WELL;
	NC_JSON json_t *launch = launch_of(name), *closing = json_pack("{s:s}", "losses", "0");
	struct nc_evidence *evidence = NULL;
	struct nc_secret_key *own;
	struct nc_error error;

	if (nc_key_load_secret(key_path, &own, &error) < 0)
		return 10;
	plan.calls = 0;
	if (nc_evidence_begin(in_folder("%s", name), launch, own, "x", &evidence, &error) < 0)
		return 1;
	syscall(SYS_write, progress_fd, &began, 1);
	for (int i = 0; i < 40; i++) {
		NC_JSON json_t *record = json_pack("{s:s, s:i}", "kind", "x", "i", i);

		if (nc_evidence_append(evidence, record, &error) < 0 ||
		    (i % 20 == 19 && nc_evidence_checkpoint(evidence, "periodic", NULL, &error) < 0) ||
		    (i % 20 == 9 && nc_evidence_flush(evidence, &error) < 0)) {
			/* a writer that goes on as if nothing had happened must not get anywhere */
			NC_JSON json_t *more = json_pack("{s:s}", "kind", "x");

			if (nc_evidence_append(evidence, more, &error) == 0 || nc_evidence_close(evidence, closing, &error) == 0)
				return 11;
			return 2;
		}
	}
	if (nc_evidence_close(evidence, closing, &error) < 0)
		return 3;
	syscall(SYS_write, progress_fd, &all_well, 1);
	return 0;
}

/* Runs a life in a process of its own. Returns its wait status; *ret_began and *ret_well say how far it got. */
static int live(const char *name, enum fault fault, int error, long turn, bool *ret_began, bool *ret_well, long *ret_calls)
{
	const char *key_path = in_folder("key");
	char got[2] = {0};
	int pipes[2], calls_pipe[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(calls_pipe), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int r;

		plan.fault = fault;
		plan.error = error;
		plan.turn = turn;
		r = life(name, key_path, pipes[1]);
		syscall(SYS_write, calls_pipe[1], &plan.calls, sizeof(plan.calls));
		_exit(r);
	}
	close(pipes[1]);
	close(calls_pipe[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	*ret_began = read(pipes[0], &got[0], 1) == 1;
	*ret_well = read(pipes[0], &got[1], 1) == 1;
	if (ret_calls)
		assert_int_equal(read(calls_pipe[0], ret_calls, sizeof(*ret_calls)), sizeof(*ret_calls));
	close(pipes[0]);
	close(calls_pipe[0]);
	return status;
}

/* What may be left behind. */
static void judge_rest(const char *name, enum fault fault, long turn, int status, bool began, bool well, unsigned int seen[4])
{
	enum nc_evidence_answer answer;

	if (WIFEXITED(status) && WEXITSTATUS(status) >= 10)
		fail_msg("%s: call %ld: the writer went on after an error (%d)", name, turn, WEXITSTATUS(status));
	if (!is_there(in_folder("%s", name))) {
		assert_false(began);
		return;
	}
	answer = answer_of(name);
	seen[answer]++;
	if (well) {
		assert_int_equal(answer, NC_EVIDENCE_COMPLETE);
	} else if (fault == KILLED_BEFORE || fault == KILLED_AFTER) {
		/* killed between the closing statement's name and the last sync, everything stands there, and the folder says so rightly */
		assert_int_not_equal(answer, NC_EVIDENCE_INVALID);
	} else {
		assert_true(began); /* a beginning that failed leaves no folder */
		if (answer != NC_EVIDENCE_OPEN && answer != NC_EVIDENCE_INCOMPLETE)
			fail_msg("%s: call %ld: %s", name, turn, nc_evidence_answer_word(answer));
	}
}

static long calls_of_a_life(void)
{
	static long calls;
	bool began, well;

	if (!calls) {
		assert_int_equal(live("measured", NONE, 0, 0, &began, &well, &calls), 0);
		assert_true(began && well);
		answers("measured", NC_EVIDENCE_COMPLETE, "");
		assert_true(calls > 40);
	}
	return calls;
}

/* Every call of a whole life, each in its turn. Counts the answers, so that a test that reaches nothing is seen. */
static void every_call(enum fault fault, int error, unsigned int seen[4])
{
	for (long turn = 1, calls = calls_of_a_life(); turn <= calls; turn++) {
		bool began, well;
		char name[64];
		int status;

		snprintf(name, sizeof(name), "f%d-%d-%ld", fault, error, turn);
		status = live(name, fault, error, turn, &began, &well, NULL);
		judge_rest(name, fault, turn, status, began, well, seen);
		remove_tree(in_folder("%s", name));
	}
}

/* No half-made folder under another name. */
static void nothing_hidden(void)
{
	DIR *folder = opendir(fixture_folder);
	struct dirent *entry;

	while ((entry = readdir(folder)))
		if (entry->d_name[0] == '.' && strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			fail_msg("%s was left behind", entry->d_name);
	closedir(folder);
}

static void every_call_fails(void **state)
{
	static const int errors[] = {ENOSPC, EIO};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		unsigned int seen[4] = {0};

		every_call(FAILS, errors[i], seen);
		assert_true(seen[NC_EVIDENCE_OPEN] > 0 && seen[NC_EVIDENCE_INCOMPLETE] > 0);
		assert_int_equal(seen[NC_EVIDENCE_COMPLETE] + seen[NC_EVIDENCE_INVALID], 0);
		nothing_hidden();
	}
}

/* A write that is short and then goes on is no fault; one that finds the disk full behind it is. */
static void every_write_short(void **state)
{
	unsigned int full[4] = {0}, slow[4] = {0};

	(void)state;
	every_call(SHORT, ENOSPC, full);
	assert_true(full[NC_EVIDENCE_OPEN] > 0 && full[NC_EVIDENCE_INCOMPLETE] > 0);
	assert_int_equal(full[NC_EVIDENCE_INVALID], 0);
	every_call(SHORT, 0, slow);
	assert_int_equal(slow[NC_EVIDENCE_COMPLETE], calls_of_a_life());
	nothing_hidden();
}

static void killed_everywhere(void **state)
{
	unsigned int before[4] = {0}, after[4] = {0};

	(void)state;
	every_call(KILLED_BEFORE, 0, before);
	assert_true(before[NC_EVIDENCE_OPEN] > 0 && before[NC_EVIDENCE_INCOMPLETE] > 0);
	assert_int_equal(before[NC_EVIDENCE_INVALID], 0);
	every_call(KILLED_AFTER, 0, after);
	assert_true(after[NC_EVIDENCE_OPEN] > 0 && after[NC_EVIDENCE_INCOMPLETE] > 0);
	assert_int_equal(after[NC_EVIDENCE_INVALID], 0);
}

/* ---- a disk that is really full -------------------------------------------------------------------------------------------------------------------- */

/* In a mount namespace of its own: a file system of so many pages, a life in it, and what it left. Exits with 20 + answer, 30 for no folder. */
static void live_in(unsigned int pages, unsigned int inodes)
{
	enum nc_evidence_answer answer;
	char options[64];
	int r, sink = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(40);
	snprintf(options, sizeof(options), "size=%u,nr_inodes=%u,mode=0700", pages * 4096, inodes);
	if (mount("tmpfs", in_folder("tiny"), "tmpfs", 0, options) < 0)
		_exit(41);
	r = life("tiny/e", in_folder("key"), sink);
	if (r >= 10)
		_exit(42);
	if (!is_there(in_folder("tiny/e")))
		_exit(r == 1 ? 30 : 43);
	answer = answer_of("tiny/e");
	if ((answer == NC_EVIDENCE_COMPLETE) != (r == 0) || answer == NC_EVIDENCE_INVALID)
		_exit(44);
	_exit(20 + (int)answer);
}

static void disk_full(void **state)
{
	unsigned int seen[64] = {0};

	(void)state;
	assert_int_equal(mkdir(in_folder("tiny"), 0700), 0);
	for (unsigned int i = 0; i < 60; i++) {
		int status;
		pid_t child;

		fflush(NULL);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			live_in(i < 30 ? i + 1 : 100, i < 30 ? 100 : i - 28);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) >= 40)
			fail_msg("case %u: %d", i, WEXITSTATUS(status));
		seen[WEXITSTATUS(status)]++;
	}
	assert_true(seen[30] > 0);			  /* no room to begin */
	assert_true(seen[20 + NC_EVIDENCE_OPEN] > 0);	  /* no room for the log */
	assert_true(seen[20 + NC_EVIDENCE_COMPLETE] > 0); /* room enough: the twin */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_fails),
		cmocka_unit_test(every_write_short),
		cmocka_unit_test(killed_everywhere),
		cmocka_unit_test(disk_full),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, evidence_setup, evidence_teardown);
}
