/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * heap.c - the supervisor's heap, and that a child is born without it
 *
 * In a static program the heap begins with what the C library keeps for each thread, errno among it, and a child needs that. It is less than a page from errno
 * on; what lies behind is the allocator's.
 */
#include "heap.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAP_MAX (1u << 30) /* errno so far below the heap's end, or above it, lies elsewhere */

void nc_heap_keep(bool keep)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)sbrk(0), thread = (uintptr_t)&errno;
	uintptr_t begin = (thread + 4096 + page - 1) / page * page;

	/* A kernel that refuses hands the heap down: more to copy, and nothing else. */
	if (thread < end && end - thread < HEAP_MAX && begin < end)
		madvise((void *)begin, end - begin, keep ? MADV_DONTFORK : MADV_DOFORK);
}
