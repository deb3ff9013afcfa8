/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unix_hooks.h - named unix sockets, from 6.7 on
 *
 * A helper outside that answers on a unix socket dials for whoever asks it. These hooks see the name only, not who listens behind it, so alone they
 * refuse every name, a workload's own included; where the LSM programs act (lsm.h), they judge the peer itself, and these step back. Socket pairs have no
 * name and are not seen here.
 */
#ifndef NC_BPF_UNIX_HOOKS_H
#define NC_BPF_UNIX_HOOKS_H

#include "socket_hooks.h"

/* Set by the loader before load: the LSM programs are attached and were seen to act. */
const volatile unsigned char nc_lsm_acts = 0;

static __always_inline int nc_decide_unix(int hook)
{
	__u32 slot_index = 0;
	struct nc_slot *slot = nc_current_slot(&slot_index);

	if (nc_lsm_acts || !NC_CHECK(UNIX) || (slot && (slot->flags & NC_SLOT_UNIX_OPEN)))
		return NC_PASS;
	return nc_refuse_socket(slot, slot_index, NC_REASON_UNIX_PEER, hook, 0, 0);
}

SEC("cgroup/connect_unix")
int connect_unix(struct bpf_sock_addr *ctx)
{
	(void)ctx;
	return nc_decide_unix(NC_HOOK_CONNECT_UNIX);
}

SEC("cgroup/sendmsg_unix")
int sendmsg_unix(struct bpf_sock_addr *ctx)
{
	(void)ctx;
	return nc_decide_unix(NC_HOOK_SENDMSG_UNIX);
}

#endif
