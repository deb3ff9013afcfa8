// SPDX-License-Identifier: GPL-2.0-only
/*
 * shift.c - preloaded into a supervisor: its wall clock is off by what a file says, and the file changes while it runs
 *
 * NETCORDON_SHIFT names a file of one int64_t, seconds, in the machine's byte order. Only CLOCK_REALTIME is shifted, as settimeofday(2) or a step of
 * NTP would do it: there is no namespace for that clock, and the machine's own must stay as it is.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *shift;

static void __attribute__((constructor)) map_shift(void)
{
	const char *path = getenv("NETCORDON_SHIFT");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (page == MAP_FAILED)
		_exit(99); /* a soak that does not step the clock would prove nothing */
	shift = page;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*next)(clockid_t, struct timespec *);
	int r;

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	r = next(clock, now);
	if (!r && clock == CLOCK_REALTIME)
		now->tv_sec += *shift;
	return r;
}

time_t time(time_t *ret_now)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret_now)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}
