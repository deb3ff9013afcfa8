/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * end_hooks.h - a connection whose first bytes were refused ends by itself when nobody is there to end it
 *
 * A packet that a program refuses is not lost to TCP: it stays in the queue and is tried again, until whoever waits for an answer gives up. The supervisor
 * destroys such a socket as soon as it hears of it; without one TCP itself is made to do it. From the connect() on, of a connection that must show a name, TCP
 * asks this program before each segment which options it wants in the header (5.10; it wants none, and the question is withdrawn once the name is through). The
 * first segment that is tried again, after TCP's shortest timer of 200 ms (TCP_RTO_MIN), thus comes by here with a label that says refused, and the socket gets
 * a user timeout of 1 ms. TCP looks at that when it sets the timer anew, which then runs for its least time of two ticks, and the owner is told ETIMEDOUT.
 *
 * Nothing depends on this: where it is missing nothing more leaves, it only takes longer to be told.
 */
#ifndef NC_BPF_END_HOOKS_H
#define NC_BPF_END_HOOKS_H

#include "maps.h"
#include "wire.h"

#define NC_SOL_TCP 6
#define NC_TCP_USER_TIMEOUT 18
#define NC_PATIENCE_MS 1

static __always_inline void nc_watch_end(struct bpf_sock_ops *ctx, struct nc_label *label)
{
	label->flags &= ~NC_LABEL_WATCHED;
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags & ~BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/* The connection begins: is there a name to be shown? What TCP was told stays with a socket that is dialled again. */
static __always_inline void nc_watch_begin(struct bpf_sock_ops *ctx, struct nc_label *label)
{
	__u32 flags = ctx->bpf_sock_ops_cb_flags;
	int asked = (label->policy_flags & NC_POLICY_WIRE) && !(label->flags & NC_LABEL_RESOLVER);

	if (asked && !(flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)) { /* else somebody else wants to be asked, and we are too */
		label->flags |= NC_LABEL_WATCHED;
		bpf_sock_ops_cb_flags_set(ctx, flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	} else if (!asked && (label->flags & NC_LABEL_WATCHED)) {
		nc_watch_end(ctx, label);
	}
}

SEC("sockops")
int sock_ops(struct bpf_sock_ops *ctx)
{
	int patience = NC_PATIENCE_MS;
	struct nc_label *label;
	struct bpf_sock *socket;

	if (ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB && ctx->op != BPF_SOCK_OPS_HDR_OPT_LEN_CB)
		return NC_PASS;
	socket = ctx->sk;
	label = socket ? bpf_sk_storage_get(&labels, socket, 0, 0) : 0;
	if (!label)
		return NC_PASS;
	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		nc_watch_begin(ctx, label);
	else if (label->flags & NC_LABEL_WIRE_REFUSED)
		bpf_setsockopt(ctx, NC_SOL_TCP, NC_TCP_USER_TIMEOUT, &patience, sizeof(patience));
	else if ((label->flags & (NC_LABEL_WIRE_DONE | NC_LABEL_WATCHED)) == (NC_LABEL_WIRE_DONE | NC_LABEL_WATCHED))
		nc_watch_end(ctx, label);
	return NC_PASS;
}

#endif
