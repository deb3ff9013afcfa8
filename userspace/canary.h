/* SPDX-License-Identifier: GPL-2.0-only */
/* canary.h - the live proof, before a command runs, that its attempts are refused by this instance's own policy (canary.c) */
#ifndef NC_CANARY_H
#define NC_CANARY_H

#include <stdint.h>
#include "child.h"
#include "error.h"
#include "loader.h"
#include "netcordon_abi.h"

struct nc_canary {
	uint16_t port_be;		   /* of all listeners, network order */
	uint8_t attempts;		   /* bit i: attempt i is made; IPv6 is left out where the network namespace has none */
	uint8_t nonce[2][NC_CANARY_NONCE]; /* what the child's datagrams say, and the supervisor's own */
	int listeners[NC_CANARY_ATTEMPTS];
};
#define NC_CANARY_NONE                                                                                                                               \
	{                                                                                                                                            \
		.listeners = { -1, -1, -1, -1 }                                                                                                      \
	}

/* Opens the listeners in the calling thread's network namespace, marked as the claim's. CANARY_FAILED. */
int nc_canary_open(struct nc_canary *ret_canary, struct nc_claim *claim, struct nc_error *reterr);
/* What the child is to do. */
struct nc_order nc_canary_order(const struct nc_canary *canary);
void nc_canary_close(struct nc_canary *canary);
/* Judges what the child reported, what the listeners saw and what the counters say: the expected reason rose by what was tried and no other rose; not
 * `exactly`: it rose by at least that. */
int nc_canary_judge(const struct nc_canary *canary, const struct nc_report *report, enum nc_reason expected, bool exactly,
		    const struct nc_counters *before, const struct nc_counters *after, struct nc_error *reterr);
/* Reaches every listener from outside the cordon, in the calling thread's network namespace. */
int nc_canary_prove(const struct nc_canary *canary, struct nc_error *reterr);

#endif
