/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * beside.h - a process that shares this one's memory
 *
 * To copy a process costs more than all that the short processes of a launch do: the page tables of everything that is mapped, and then each page that either side
 * writes to. One that is born beside has the same memory, as after vfork, but a stack of its own, so that its parent need not sleep.
 *
 * What both share: everything in memory, errno and the C library's idea of its thread included. So while both live, at most one of them may do more than make
 * system calls that do not fail, and no more than one may allocate. What they do not share: descriptors, signals, credentials, namespaces, working folder.
 */
#ifndef NC_BESIDE_H
#define NC_BESIDE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Births it in the cgroup of cgroup_fd (Linux 5.7), or with -1 in the caller's, on `stack` (aligned to 16 bytes, as long as it lives), and calls
 * begin(context), which never returns. SIGCHLD tells of its end. Returns its number or a negative errno. On an architecture without the few instructions that this
 * takes, the process has a copy of the memory: nobody may rely on what it leaves there.
 */
pid_t nc_beside_start(int cgroup_fd, void *stack, size_t stack_size, void (*begin)(void *context), void *context);

#endif
