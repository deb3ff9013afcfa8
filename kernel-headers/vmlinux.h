/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vmlinux.h - the few kernel types that the programs read, written by hand for CO-RE
 *
 * No dump of any kernel: only what is used stands here. A structure marked preserve_access_index is relocated by libbpf against the BTF of the
 * running kernel, so its offsets here do not matter, only its names. The others (bpf_sock_addr, __sk_buff, ...) are the kernel's stable user ABI
 * and stand in linux/bpf.h, which this file includes.
 */
#ifndef NC_VMLINUX_H
#define NC_VMLINUX_H

#include <linux/types.h>
#include <linux/bpf.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

/* An array of these is walked by index, which CO-RE does not relocate: its size must be the kernel's own. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct {
	struct task_struct *group_leader;
	struct pid *thread_pid;
};

struct sock_common {
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
	unsigned char sk_kern_sock : 1; /* a bit of a word: read with its place (BPF_CORE_READ_BITFIELD_PROBED) */
};

struct socket {
	struct sock *sk;
};

struct msghdr {
	void *msg_name;
};

/* What a program of sendmsg4 or sendmsg6 is really given. */
struct bpf_sock_addr_kern {
	void *t_ctx; /* where the source address stands: `addr` of the first, `saddr` of the second below */
};

struct sockcm_cookie {
	__u32 mark;
};

struct ipcm_cookie {
	struct sockcm_cookie sockc;
	__be32 addr;
	int oif;
};

struct flowi_common {
	int flowic_oif;
	__u32 flowic_mark;
};

struct in6_addr {
	unsigned char bytes[16];
};

struct flowi6 {
	struct flowi_common __fl_common;
	struct in6_addr saddr;
};

struct sk_buff {
	struct sock *sk;
	unsigned char *head;
	unsigned int end;
};

/* A part of a packet's payload. Its first word is its page (bv_page, from 6.9 on netmem), whose lowest bit is set when it is memory of a device. An
 * array of these is walked by index: 16 bytes on every kernel of 64 bits. */
struct skb_frag {
	unsigned long page;
	__u32 length;
	__u32 offset;
};

/* SKBFL_* stand in `flags` from 5.14 on, before that SKBTX_* in `tx_flags`. */
struct skb_shared_info {
	__u8 flags;
	__u8 tx_flags;
	__u8 nr_frags;
	struct skb_frag frags[17];
};

struct page {
	void *mapping;
	unsigned long compound_head;
};

#pragma clang attribute pop

struct pt_regs;

#endif
