/* SPDX-License-Identifier: GPL-2.0-only */
/* admission.c - the rules of admission, one after the other */
#include <errno.h>
#include <string.h>
#include "admission.h"
#include "loader.h"

static int check_receipt(const struct nc_attester_set *set, const struct nc_capability *capability, const struct nc_receipt *receipt,
			 struct nc_error *reterr)
{
	if (!receipt)
		return nc_error_set(reterr, NC_E_RECEIPT_MISSING, -EPERM, "%s@%s advertises security_boundary and shows no receipt",
				    capability->provider, capability->provider_revision);
	/* A receipt that some other set verified, or none, was signed by nobody as far as admission knows. */
	if (!receipt->attester || receipt->verified_under != set)
		return nc_error_set(reterr, NC_E_ATTESTER_UNKNOWN, -EPERM,
				    "the receipt for %s@%s is not signed by a key of the reviewed attester set", receipt->provider,
				    receipt->provider_revision);
	if (receipt->attester->state == NC_ATTESTER_REVOKED)
		return nc_error_set(reterr, NC_E_ATTESTER_REVOKED, -EPERM, "the receipt is signed by a revoked key of %s", receipt->attester->name);
	if (receipt->attester->state != NC_ATTESTER_CURRENT)
		return nc_error_set(reterr, NC_E_ATTESTER_ROTATED, -EPERM, "the receipt is signed by a key that %s has replaced",
				    receipt->attester->name);
	if (strcmp(receipt->provider, capability->provider) || strcmp(receipt->provider_revision, capability->provider_revision))
		return nc_error_set(reterr, NC_E_PROVIDER_REVISION_MISMATCH, -EPERM, "the receipt is for %s@%s, the provider is %s@%s",
				    receipt->provider, receipt->provider_revision, capability->provider, capability->provider_revision);
	if (strcmp(receipt->manifest, capability->manifest))
		return nc_error_set(reterr, NC_E_PROVIDER_REVISION_MISMATCH, -EPERM, "the receipt is for manifest %.16s..., the provider is %.16s...",
				    receipt->manifest, capability->manifest);
	return nc_receipt_complete(receipt, reterr);
}

static int check_wire(const struct nc_profile *profile, struct nc_error *reterr)
{
	for (size_t i = 0; i < profile->destination_count; i++) {
		const struct nc_destination *destination = &profile->destinations[i];

		if (!destination->literal && destination->wire == NC_WIRE_ANY)
			return nc_error_set(reterr, NC_E_WIRE_UNPROVEN, -EPERM,
					    "/network/destinations/%zu: security_boundary is required and %s:%u has wire any", i, destination->name,
					    destination->port);
	}
	return 0;
}

int nc_admit_under(const struct nc_attester_set *set, const struct nc_profile *profile, const struct nc_capability *capability,
		   const struct nc_receipt *receipt, struct nc_error *reterr)
{
	enum nc_grade advertised = capability->egress_certification;
	int r;

	if (profile->mode == NC_MODE_NONE || profile->mode == NC_MODE_UNRESTRICTED)
		return 0;
	if (!nc_grade_meets(advertised, NC_GRADE_ADVISORY_FILTER))
		return nc_error_set(reterr, NC_E_EGRESS_CERTIFICATION_UNMET, -EPERM, "%s@%s advertises %s, which admits no allowlist",
				    capability->provider, capability->provider_revision, nc_grade_word(advertised) ?: "no grade");
	if (advertised == NC_GRADE_SECURITY_BOUNDARY) {
		r = check_receipt(set, capability, receipt, reterr);
		if (r < 0)
			return r;
	}
	if (!nc_grade_meets(advertised, profile->required))
		return nc_error_set(reterr, NC_E_EGRESS_CERTIFICATION_UNMET, -EPERM, "the profile requires %s, and %s@%s advertises %s",
				    nc_grade_word(profile->required) ?: "no grade", capability->provider, capability->provider_revision,
				    nc_grade_word(advertised));
	return profile->required == NC_GRADE_SECURITY_BOUNDARY ? check_wire(profile, reterr) : 0;
}

int nc_admit(const struct nc_profile *profile, const struct nc_capability *capability, const struct nc_receipt *receipt, struct nc_error *reterr)
{
	return nc_admit_under(nc_attesters(), profile, capability, receipt, reterr);
}

static const struct nc_closure *closure_of(const struct nc_closure *closures, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(closures[i].path, path))
			return &closures[i];
	}
	return NULL;
}

/* A path that this kernel cannot make is as good as closed; a path that the table does not know is not. */
static int check_closed(const struct nc_receipt *receipt, const struct nc_closure *closures, size_t count, struct nc_error *reterr)
{
	for (size_t i = 0; i < json_array_size(receipt->closures); i++) {
		const char *path = json_string_value(json_array_get(receipt->closures, i));
		const struct nc_closure *closure = closure_of(closures, count, path);

		if (!closure || closure->state == NC_CLOSURE_GAP)
			return nc_error_set(reterr, NC_E_CLOSURE_UNMET, -EPERM, "the receipt was earned with %s closed, and here it is %s", path,
					    closure ? "open" : "unknown");
	}
	return 0;
}

int nc_admit_closures(const struct nc_profile *profile, const struct nc_capability *capability, const struct nc_receipt *receipt,
		      const struct nc_closure *closures, size_t count, struct nc_error *reterr)
{
	int r = 0;

	if (profile->mode != NC_MODE_ALLOWLIST)
		return 0;
	if (receipt && capability->egress_certification == NC_GRADE_SECURITY_BOUNDARY)
		r = check_closed(receipt, closures, count, reterr);
	if (r < 0 || profile->required != NC_GRADE_SECURITY_BOUNDARY)
		return r;
	for (size_t i = 0; i < count; i++) {
		if (closures[i].state == NC_CLOSURE_GAP)
			return nc_error_set(reterr, NC_E_CLOSURE_UNMET, -EPERM, "security_boundary is required, and nothing closes %s here (%s)",
					    closures[i].path, closures[i].summary);
	}
	return 0;
}
