/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * axes.h - the axes of a capability that an operator's enrollment puts a ceiling on, as data
 *
 * Two groups. NC_ENFORCEMENT_AXES are the nine axes of the `enforcement` statement: who is the authority for a restriction. Only
 * `network_policy` is named in the background that this follows; the other eight are ASSUMED (last column) and are changed here and nowhere
 * else. NC_CAPABILITY_AXES are the members of a capability that no enrollment touched before.
 *
 * Words of the enforcement axes, lowest first. `provider_attested` and `runner_enforced` are the background's words; `unenforced` is assumed.
 * A provider whose placement is not `runner` may not say `runner_enforced`: over a wire both sides of a comparison are written by the same
 * party, so the word would mean nothing.
 *
 * How each kind is intersected with the ceiling:
 *   GRADE     the lower of the two grades
 *   WORDS     the words that stand in both
 *   FLAG      true only when both are true
 * and an enforcement axis takes the lower of the two words. A ceiling never raises anything.
 */
#ifndef NC_AXES_H
#define NC_AXES_H

#define NC_ENFORCEMENT_WORDS(X)                                                                                                                      \
	X(UNENFORCED, "unenforced")                                                                                                                  \
	X(PROVIDER_ATTESTED, "provider_attested")                                                                                                    \
	X(RUNNER_ENFORCED, "runner_enforced")

#define NC_ENFORCEMENT_AXES(X)                                                                                                                       \
	X("network_policy", false)                                                                                                                   \
	X("filesystem_policy", true)                                                                                                                 \
	X("process_isolation", true)                                                                                                                 \
	X("user_identity", true)                                                                                                                     \
	X("resource_limits", true)                                                                                                                   \
	X("mount_policy", true)                                                                                                                      \
	X("device_policy", true)                                                                                                                     \
	X("syscall_policy", true)                                                                                                                    \
	X("credential_custody", true)

#define NC_CAPABILITY_AXES(X)                                                                                                                        \
	X("egress_certification", GRADE)                                                                                                             \
	X("image_mode", WORDS)                                                                                                                       \
	X("fixed_base_images", WORDS)                                                                                                                \
	X("package_managers", WORDS)                                                                                                                 \
	X("snapshots", FLAG)                                                                                                                         \
	X("list_dir", FLAG)

/* Where a provider's code runs. Only `runner` is the party that enforces; everybody else tells. ASSUMED, `runner` apart. */
#define NC_PLACEMENTS(X)                                                                                                                             \
	X(RUNNER, "runner")                                                                                                                          \
	X(WORKER, "worker")                                                                                                                          \
	X(PARTNER, "partner")

#endif
