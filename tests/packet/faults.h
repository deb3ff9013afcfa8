/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * faults.h - any system call of this process made to fail, or to be its last
 *
 * The functions below stand before the C library's, for the loader, libbpf and libnl alike. Armed with a number, the call of that number fails (or kills the
 * process); the rest are let through. The number goes up until a run comes through untouched. For tests that include cmocka, inside.h and scratch.h first;
 * one file of a program.
 */
#ifndef NC_TEST_FAULTS_H
#define NC_TEST_FAULTS_H

#define CALLS_MAX 5000

/* ---- the fault --------------------------------------------------------------------------------------------------------------------------------------- */

static struct {
	int countdown; /* 0: not armed */
	bool kills;
	bool hit;
	int error;
	char name[32];
} fault;

static bool strikes(const char *name)
{
	if (!fault.countdown || --fault.countdown)
		return false;
	fault.hit = true;
	snprintf(fault.name, sizeof(fault.name), "%s", name);
	if (fault.kills)
		kill(getpid(), SIGKILL);
	errno = fault.error;
	return true;
}

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

#define NEXT(name)                                                                                                                                   \
	static __typeof__(&name) real;                                                                                                               \
	if (!real)                                                                                                                                   \
	*(void **)&real = next(#name)

/* bpf(2) and membarrier(2). A refusal that the kernel would give is what is played: memory, or permission. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long a[6];
	va_list arguments;

	NEXT(syscall);
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_bpf && strikes("bpf"))
		return -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define STAND_BEFORE_OPEN(name)                                                                                                                      \
	int name(const char *path, int flags, ...)                                                                                                   \
	{                                                                                                                                            \
		va_list arguments;                                                                                                                   \
		mode_t mode;                                                                                                                         \
		NEXT(name);                                                                                                                          \
		va_start(arguments, flags);                                                                                                          \
		mode = va_arg(arguments, mode_t);                                                                                                    \
		va_end(arguments);                                                                                                                   \
		return strikes(#name) ? -1 : real(path, flags, mode);                                                                                \
	}
#define STAND_BEFORE_OPENAT(name)                                                                                                                    \
	int name(int dir, const char *path, int flags, ...)                                                                                          \
	{                                                                                                                                            \
		va_list arguments;                                                                                                                   \
		mode_t mode;                                                                                                                         \
		NEXT(name);                                                                                                                          \
		va_start(arguments, flags);                                                                                                          \
		mode = va_arg(arguments, mode_t);                                                                                                    \
		va_end(arguments);                                                                                                                   \
		return strikes(#name) ? -1 : real(dir, path, flags, mode);                                                                           \
	}

STAND_BEFORE_OPEN(open)
STAND_BEFORE_OPENAT(openat)

int mkdir(const char *path, mode_t mode)
{
	NEXT(mkdir);
	return strikes("mkdir") ? -1 : real(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	NEXT(mkdirat);
	return strikes("mkdirat") ? -1 : real(dir, path, mode);
}

int rename(const char *from, const char *to)
{
	NEXT(rename);
	return strikes("rename") ? -1 : real(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	NEXT(renameat);
	return strikes("renameat") ? -1 : real(from_dir, from, to_dir, to);
}

int unlink(const char *path)
{
	NEXT(unlink);
	return strikes("unlink") ? -1 : real(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	NEXT(unlinkat);
	return strikes("unlinkat") ? -1 : real(dir, path, flags);
}

int rmdir(const char *path)
{
	NEXT(rmdir);
	return strikes("rmdir") ? -1 : real(path);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	NEXT(linkat);
	return strikes("linkat") ? -1 : real(from_dir, from, to_dir, to, flags);
}

/* Locks only: what else is asked by it changes nothing outside. */
int fcntl(int fd, int what, ...)
{
	va_list arguments;
	void *argument;
	NEXT(fcntl);
	va_start(arguments, what);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return (what == F_OFD_SETLK || what == F_OFD_GETLK) && strikes("fcntl") ? -1 : real(fd, what, argument);
}

int flock(int fd, int how)
{
	NEXT(flock);
	return strikes("flock") ? -1 : real(fd, how);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	NEXT(write);
	return strikes("write") ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	NEXT(pwrite);
	return strikes("pwrite") ? -1 : real(fd, bytes, size, offset);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	NEXT(pread);
	return strikes("pread") ? -1 : real(fd, bytes, size, offset);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	NEXT(mmap);
	return fd >= 0 && strikes("mmap") ? MAP_FAILED : real(address, size, protection, flags, fd, offset);
}

ssize_t getrandom(void *bytes, size_t size, unsigned int flags)
{
	NEXT(getrandom);
	return strikes("getrandom") ? -1 : real(bytes, size, flags);
}

int socket(int family, int type, int protocol)
{
	NEXT(socket);
	return strikes("socket") ? -1 : real(family, type, protocol);
}

static void arm(int number, bool kills)
{
	fault.countdown = number;
	fault.kills = kills;
	fault.hit = false;
	fault.error = number & 1 ? ENOMEM : EPERM;
}

static bool disarm(void)
{
	fault.countdown = 0;
	return fault.hit;
}

/* ---- what is tried ----------------------------------------------------------------------------------------------------------------------------- */

struct trial {
	struct scratch *scratch;
	struct nc_host *host;
	struct nc_policy_entry *entries;
	struct nc_image image, plane;
};

static int try_up(struct trial *trial, struct nc_error *error)
{
	return nc_host_up(&trial->scratch->options, &trial->host, error);
}

/* A launch's part: what was made is handed out on success only. */
static inline int try_launch(struct trial *trial, struct nc_claim **ret_claim, struct nc_error *error)
{
	struct nc_claim *claim = NULL;
	struct nc_error second;
	uint64_t revision;
	int r = nc_claim_new(trial->host, "one", &claim, error);

	if (r < 0)
		return r;
	r = nc_claim_make_cgroups(claim, error);
	r = r < 0 ? r : nc_claim_seal(claim, NC_AUTHORITY_WORKLOAD, &(struct nc_seal){.image = &trial->image}, error);
	r = r < 0 ? r : nc_claim_seal(claim, NC_AUTHORITY_PLANE, &(struct nc_seal){.image = &trial->plane}, error);
	r = r < 0 ? r : nc_claim_reseal(claim, NC_AUTHORITY_WORKLOAD, &trial->image, &revision, error);
	if (r < 0) {
		disarm();
		nc_claim_release(claim, &second);
		return r;
	}
	*ret_claim = claim;
	return 0;
}

static void trial_make(struct trial *trial, struct scratch *scratch)
{
	/* small pools: the same calls, sooner */
	scratch->options.instances = 4;
	scratch->options.rings = 2;
	scratch->options.policy_entries = 64;
	scratch->options.grant_entries = 16;
	scratch->options.seen_entries = 64;
	*trial = (struct trial){.scratch = scratch, .entries = entries_make(8)};
	trial->image = (struct nc_image){.authority = NC_AUTHORITY_WORKLOAD, .mode = NC_MODE_ALLOWLIST, .entries = trial->entries, .count = 8};
	trial->plane = (struct nc_image){.authority = NC_AUTHORITY_PLANE, .mode = NC_MODE_ALLOWLIST, .entries = trial->entries, .count = 2};
}

/* Runs `act` in a child that dies at the call of this number; false when it came through. */
static inline bool dies_at(struct trial *trial, int number, int (*act)(struct trial *trial))
{
	int status;
	pid_t child = fork();

	if (!child) {
		arm(number, true);
		_exit(act(trial) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && !WEXITSTATUS(status)));
	return WIFSIGNALED(status);
}

#endif
