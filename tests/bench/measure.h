/* SPDX-License-Identifier: GPL-2.0-only */
/* measure.h - a clock, and the order of what it measured: for qsort before a median is taken */
#ifndef MEASURE_H
#define MEASURE_H

#include <time.h>

static inline double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Processor time of this thread, the kernel's work for it included. */
static inline double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

#endif
