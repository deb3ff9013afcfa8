/* SPDX-License-Identifier: GPL-2.0-only */
/* command_receipt.c - `receipt sign`, `receipt verify` and `admit`: documents in, an answer out; nothing here touches the kernel */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "admission.h"
#include "ceiling.h"
#include "cleanup.h"
#include "commands.h"
#include "conform_statement.h"
#include "json.h"
#include "output.h"
#include "statement.h"

const struct argp_option nc_receipt_sign_options[] = {
	{"key", NC_OPTION_KEY, "FILE", 0, "the release authority's secret key", 0},
	{"attester", NC_OPTION_ATTESTER, "NAME", 0, "its name, as attester sets have it", 0},
	{0},
};
const struct argp_option nc_receipt_verify_options[] = {
	{"attesters", NC_OPTION_ATTESTERS, "FILE", 0, "a set of public keys of your own: then no grade follows", 0},
	{0},
};
const struct argp_option nc_admit_options[] = {
	{"profile", NC_OPTION_PROFILE, "PROFILE", 0, "the profile: a file, or a name in the profile folder", 0},
	{"capability", NC_OPTION_CAPABILITY, "FILE", 0, "the provider's capability document; run or attach: this program's own", 0},
	{"receipt", NC_OPTION_RECEIPT, "FILE", 0, "its receipt, with the signature beside it", 0},
	{"enrollment", NC_OPTION_ENROLLMENT, "FILE", 0, "the operator's ceiling; prints the effective capability", 0},
	{"materialization", NC_OPTION_MATERIALIZATION, "FILE", 0, "signed statement that the effective capability must be bound to", 0},
	{"public-key", NC_OPTION_PUBLIC_KEY, "FILE", 0, "key that must have signed the materialization statement", 0},
	{"print", NC_OPTION_PRINT, NULL, 0, "print the capability document and compare nothing", 0},
	{0},
};

/* The folder and the name of a file, for functions that read a document with its signature beside it. */
static int open_beside(const char *path, int *ret_folder, char name[256], struct nc_error *reterr)
{
	NC_FREE char *for_folder = strdup(path), *for_name = strdup(path);
	int fd;

	if (!for_folder || !for_name)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read %s", path);
	snprintf(name, 256, "%s", basename(for_name));
	fd = open(dirname(for_folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return nc_error_sys(reterr, NC_E_RECEIPT_INVALID, -errno, "open the folder of %s", path);
	*ret_folder = fd;
	return 0;
}

static int read_document(const char *path, enum nc_error_code code, char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	int r = nc_profile_read(path, ret_text, ret_length, reterr);

	if (r < 0)
		reterr->code = code;
	return r;
}

int nc_command_receipt_sign(struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *key_path = nc_option(invocation, NC_OPTION_KEY), *attester = nc_option(invocation, NC_OPTION_ATTESTER);
	const char *folder = invocation->arguments[0];
	struct nc_secret_key *key = NULL;
	struct nc_receipt receipt;
	struct nc_digest digest;
	NC_CLOSE int fd = -1;
	int r;

	if (!key_path || !attester)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "receipt sign: --key and --attester are needed");
	r = nc_conform_bundle_check(folder, &receipt, reterr);
	if (r < 0)
		return r;
	if (!strcmp(receipt.provider_revision, NC_REVISION_DEV))
		r = nc_error_set(reterr, NC_E_STATEMENT_INVALID, -EPERM, "a build that no release recorded (%s) can hold no receipt",
				 NC_REVISION_DEV);
	if (!r)
		r = nc_receipt_complete(&receipt, reterr);
	if (!r)
		r = nc_key_load_secret(key_path, &key, reterr);
	if (!r) {
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "open %s", folder)
			   : nc_statement_write(fd, NC_RECEIPT_NAME, NC_DOMAIN_CONFORMANCE, receipt.document, key, attester, &digest, reterr);
	}
	nc_key_free(key);
	if (!r)
		printf("%s/%s\n  provider  %s@%s\n  attester  %s\n  proves    " NC_SIGNATURE_PROVES "\n", folder, NC_RECEIPT_NAME, receipt.provider,
		       receipt.provider_revision, attester);
	nc_receipt_free(&receipt);
	return r < 0 ? r : NC_EXIT_YES;
}

/* current, rotated, revoked: three answers with an exit status each. */
static int answer_of(const struct nc_receipt *receipt, const char *path, struct nc_error *reterr)
{
	if (receipt->attester->state == NC_ATTESTER_REVOKED)
		return nc_error_set(reterr, NC_E_ATTESTER_REVOKED, -EPERM,
				    "%s: the signature is of a revoked key of %s, whatever time the receipt states", path, receipt->attester->name);
	if (receipt->attester->state == NC_ATTESTER_ROTATED)
		return nc_error_set(reterr, NC_E_ATTESTER_ROTATED, -EPERM, "%s: the signature verifies, under a key that %s has replaced since", path,
				    receipt->attester->name);
	return 0;
}

static void print_verified(const struct nc_receipt *receipt, bool callers_set, bool json)
{
	const char *answer = callers_set ? "valid under a set that the caller supplied" : "valid under the reviewed set";

	if (json) {
		NC_JSON json_t *document = json_pack("{s:s s:s s:s s:s s:s}", "answer", answer, "provider", receipt->provider, "provider_revision",
						     receipt->provider_revision, "attester", receipt->attester->name, "proves", NC_SIGNATURE_PROVES);

		nc_output_json(document);
		return;
	}
	printf("%s\n  provider  %s@%s\n  attester  ", answer, receipt->provider, receipt->provider_revision);
	nc_output_safe(stdout, receipt->attester->name);
	printf("\n  proves    " NC_SIGNATURE_PROVES "\n");
}

int nc_command_receipt_verify(struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *path = invocation->arguments[0], *attesters = nc_option(invocation, NC_OPTION_ATTESTERS);
	struct nc_attester_set own = {0};
	struct nc_receipt receipt = {0};
	NC_FREE char *text = NULL;
	NC_CLOSE int folder = -1;
	char name[256];
	size_t length;
	int r = 0;

	if (attesters) {
		r = read_document(attesters, NC_E_ATTESTERS_INVALID, &text, &length, reterr);
		if (!r)
			r = nc_attesters_parse(text, length, &own, reterr);
	}
	if (!r)
		r = open_beside(path, &folder, name, reterr);
	if (!r)
		r = nc_receipt_open(folder, name, attesters ? &own : nc_attesters(), &receipt, reterr);
	if (!r)
		r = nc_receipt_complete(&receipt, reterr);
	if (!r)
		r = answer_of(&receipt, path, reterr);
	if (!r)
		print_verified(&receipt, attesters != NULL, invocation->json);
	nc_receipt_free(&receipt);
	nc_attesters_free(&own);
	return r < 0 ? r : NC_EXIT_YES;
}

/* ---- admit -------------------------------------------------------------------------------------------------------------------------------- */

static int read_capability(const char *path, struct nc_capability *ret_capability, struct nc_error *reterr)
{
	enum nc_own_provider own;
	NC_FREE char *text = NULL;
	size_t length;
	int r;

	if (!path)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "admit: --capability is missing");
	if (nc_capability_own_word(path, &own)) {
		nc_capability_own(own, ret_capability);
		ret_capability->document = nc_capability_own_document(own);
		return 0;
	}
	r = read_document(path, NC_E_CAPABILITY_INVALID, &text, &length, reterr);
	return r < 0 ? r : nc_capability_parse(text, length, ret_capability, reterr);
}

static int check_bound(const struct nc_invocation *invocation, const json_t *effective, struct nc_error *reterr)
{
	const char *path = nc_option(invocation, NC_OPTION_MATERIALIZATION), *key_path = nc_option(invocation, NC_OPTION_PUBLIC_KEY);
	NC_JSON json_t *statement = NULL;
	struct nc_public_key key;
	struct nc_digest digest;
	NC_CLOSE int folder = -1;
	char name[256];
	int r;

	if (!path)
		return 0;
	if (!key_path)
		return nc_error_set(reterr, NC_E_USAGE, -EINVAL, "admit: --materialization needs --public-key: who must have signed it");
	r = nc_key_load_public(key_path, &key, reterr);
	if (!r)
		r = open_beside(path, &folder, name, reterr);
	if (!r) {
		r = nc_statement_read(folder, name, NC_DOMAIN_MATERIALIZATION, &key, &statement, &digest, reterr);
		if (r < 0)
			reterr->code = NC_E_MATERIALIZATION_INVALID;
	}
	return r < 0 ? r : nc_ceiling_bound(effective, statement, reterr);
}

static int apply_ceiling(const struct nc_invocation *invocation, struct nc_capability *capability, json_t **ret_effective, struct nc_error *reterr)
{
	const char *path = nc_option(invocation, NC_OPTION_ENROLLMENT);
	NC_FREE char *text = NULL;
	size_t length;
	int r;

	if (!path)
		return nc_option(invocation, NC_OPTION_MATERIALIZATION)
			       ? nc_error_set(reterr, NC_E_USAGE, -EINVAL,
					      "admit: --materialization binds the result of --enrollment, which is missing")
			       : 0;
	r = read_document(path, NC_E_ENROLLMENT_INVALID, &text, &length, reterr);
	if (!r)
		r = nc_ceiling_apply(capability, text, length, ret_effective, reterr);
	if (r < 0)
		return r;
	/* What is admitted is what the ceiling left. */
	nc_grade_parse(json_string_value(json_object_get(*ret_effective, "egress_certification")), &capability->egress_certification);
	return check_bound(invocation, *ret_effective, reterr);
}

static int read_receipt(const struct nc_invocation *invocation, struct nc_receipt *receipt, struct nc_error *reterr)
{
	const char *path = nc_option(invocation, NC_OPTION_RECEIPT);
	NC_CLOSE int folder = -1;
	char name[256];
	int r = open_beside(path, &folder, name, reterr);

	return r < 0 ? r : nc_receipt_open(folder, name, nc_attesters(), receipt, reterr);
}

/* A receipt that nothing asks for is not looked into; one that was named and is not there was misspelt. */
static int find_receipt(const struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *path = nc_option(invocation, NC_OPTION_RECEIPT);

	if (path && access(path, R_OK) < 0)
		return nc_error_sys(reterr, NC_E_RECEIPT_INVALID, -errno, "open the receipt %s", path);
	return 0;
}

static void print_admitted(const struct nc_capability *capability, const json_t *effective, bool json)
{
	NC_JSON json_t *document = NULL;

	if (!json) {
		printf("admitted\n  provider  %s@%s\n  grade     %s\n", capability->provider, capability->provider_revision,
		       nc_grade_word(capability->egress_certification));
		return;
	}
	document = json_pack("{s:s s:s s:s s:s}", "answer", "admitted", "provider", capability->provider, "provider_revision",
			     capability->provider_revision, "egress_certification", nc_grade_word(capability->egress_certification));
	if (effective)
		json_object_set(document, "effective", (json_t *)effective);
	nc_output_json(document);
}

static int admit(const struct nc_invocation *invocation, struct nc_capability *capability, struct nc_error *reterr)
{
	NC_FREE char *path = nc_invocation_profile(invocation, reterr);
	struct nc_profile *profile = NULL;
	struct nc_receipt receipt = {0};
	NC_JSON json_t *effective = NULL;
	bool consulted;
	int r = path ? nc_invocation_load(invocation, path, &profile, reterr) : reterr->status;

	if (!r)
		r = apply_ceiling(invocation, capability, &effective, reterr);
	/* A receipt is looked at only where the grade that it would prove is advertised. */
	consulted = nc_option(invocation, NC_OPTION_RECEIPT) && capability->egress_certification == NC_GRADE_SECURITY_BOUNDARY;
	if (!r)
		r = find_receipt(invocation, reterr);
	if (!r && consulted)
		r = read_receipt(invocation, &receipt, reterr);
	if (!r)
		r = nc_admit(profile, capability, consulted ? &receipt : NULL, reterr);
	if (!r)
		print_admitted(capability, effective, invocation->json);
	nc_receipt_free(&receipt);
	nc_profile_free(profile);
	return r < 0 ? r : NC_EXIT_YES;
}

int nc_command_admit(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_capability capability = {0};
	int r = read_capability(nc_option(invocation, NC_OPTION_CAPABILITY), &capability, reterr);

	if (r < 0)
		return r;
	if (nc_option(invocation, NC_OPTION_PRINT)) {
		nc_output_json(capability.document);
		r = NC_EXIT_YES;
	} else {
		r = admit(invocation, &capability, reterr);
	}
	nc_capability_free(&capability);
	return r;
}
