/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * admission.h - may this profile run on this provider? Answered before any work, from documents alone
 *
 * The requirement of the profile is compared with the grade that the capability advertises for its exact provider revision. Nothing is inferred,
 * upgraded or averaged. The first rule that applies decides:
 *
 *   1. a profile that is not an allowlist declares no destination restriction for a grade to be honest about: admitted
 *   2. `unsupported` admits no allowlist, an empty one included                          egress_certification_unmet
 *   3. an advertised `security_boundary` is believed only with a receipt, whatever the profile asks for:
 *      none                                                                              receipt_missing
 *      of a key that is not in the reviewed set                                          attester_unknown
 *      of a key that was rotated, or revoked                                             attester_rotated, attester_revoked
 *      for another provider, revision or manifest                                        provider_revision_mismatch
 *      without all five facts                                                            fact_unestablished
 *   4. the advertised grade is below the required one                                    egress_certification_unmet
 *   5. `security_boundary` is required and a named destination has `wire: any`           wire_unproven
 *
 * An advertised `advisory_filter` stays that: its receipt, valid or not, is not consulted. `enforcement.network_policy` is not looked at.
 */
#ifndef NC_ADMISSION_H
#define NC_ADMISSION_H

#include <stddef.h>
#include "capability.h"
#include "error.h"
#include "profile.h"
#include "receipt.h"

struct nc_closure;

/* 0: admitted. Pure: reads nothing but its arguments and the compiled-in attester set. `receipt` may be NULL. */
int nc_admit(const struct nc_profile *profile, const struct nc_capability *capability, const struct nc_receipt *receipt, struct nc_error *reterr);
/* The same rules under another set, for `receipt verify`'s tests: no command reaches it. */
int nc_admit_under(const struct nc_attester_set *set, const struct nc_profile *profile, const struct nc_capability *capability,
		   const struct nc_receipt *receipt, struct nc_error *reterr);

/*
 * What a launch adds, once it knows which closures are in force on this machine (loader.h): every path that was closed when the receipt was
 * earned must be closed here (CLOSURE_UNMET), and nothing may be open for a profile that requires security_boundary. A receipt counts only where
 * the capability advertises security_boundary.
 */
int nc_admit_closures(const struct nc_profile *profile, const struct nc_capability *capability, const struct nc_receipt *receipt,
		      const struct nc_closure *closures, size_t count, struct nc_error *reterr);

#endif
