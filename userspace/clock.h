/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.h - CLOCK_MONOTONIC as a number: what waits, deadlines and durations are counted in. Inline, for the drivers link a few files only */
#ifndef NC_CLOCK_H
#define NC_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t nc_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* CLOCK_BOOTTIME in nanoseconds: the programs' clock, and so that of every time in events. */
static inline uint64_t nc_clock_boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline int64_t nc_now_ms(void)
{
	return nc_now_ns() / 1000000;
}

#endif
