/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * alone.h - functions that the verifier looks at alone (global functions, 5.6)
 *
 * For any arguments, once for each program, however often and from wherever they are called: they share nothing but numbers and the context with their caller,
 * and what they return is any number to it. So neither the loops inside nor the many ways to a result are walked again for each way that leads to the call.
 */
#ifndef NC_BPF_ALONE_H
#define NC_BPF_ALONE_H

#ifdef __bpf__
#define NC_VERIFIED_ALONE __attribute__((noinline))
#else
#define NC_VERIFIED_ALONE static __attribute__((unused))
#endif

#endif
