// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_profile.c - any bytes as a profile: refused with a place and one line, or accepted whole
 *
 * What is accepted must mean the same when it is written canonically and read again, must compile, and may list no address for the workload that is not
 * public.
 */
#include <stdlib.h>
#include <string.h>
#include "address.h"
#include "json.h"
#include "policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_error(const struct nc_error *error)
{
	require(error->code == NC_E_PROFILE_INVALID && error->detail[0]);
	require(!error->pointer[0] || error->pointer[0] == '/');
	for (const char *c = error->detail; *c; c++)
		require(*c >= ' ' && *c <= '~');
	for (const char *c = error->pointer; *c; c++)
		require(*c >= ' ' && *c <= '~');
	for (const char *c = error->hint; *c; c++)
		require(*c >= ' ' && *c <= '~');
}

static void check_image(const struct nc_profile *profile, enum nc_authority authority)
{
	struct nc_image image = {0};
	struct nc_policy_names names = {0};
	struct nc_error error = {0};
	size_t named = 0;

	require(nc_policy_compile(profile, authority, &image, &names, &error) == 0);
	for (size_t i = 0; i < image.count; i++) {
		const struct nc_policy_entry *entry = &image.entries[i];

		if (i)
			require(memcmp(&image.entries[i - 1].key, &entry->key, sizeof(entry->key)) < 0);
		require(!entry->key.generation && !entry->key.revision && !entry->key.reserved && entry->key.port_be);
		named += entry->key.kind == NC_POLICY_NAME;
		if (entry->key.kind == NC_POLICY_LITERAL && !(entry->value.flags & NC_POLICY_NON_PUBLIC))
			require(nc_classify(&entry->key.address, NULL).is_public);
		require(authority == NC_AUTHORITY_PLANE || !(entry->value.flags & NC_POLICY_NON_PUBLIC));
	}
	require(image.count ? image.mode == NC_MODE_ALLOWLIST : image.mode == NC_MODE_NONE || image.mode == NC_MODE_UNRESTRICTED);
	require(named >= names.count && !named == !names.count);
	free(names.texts);
	nc_image_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct nc_profile *profile = NULL, *again = NULL;
	struct nc_error error = {0};
	json_t *document = NULL;
	char *canonical = NULL;
	size_t length = 0;

	if (nc_profile_parse((const char *)bytes, size, NULL, &profile, &error)) {
		require(!profile);
		check_error(&error);
		return 0;
	}
	check_image(profile, NC_AUTHORITY_WORKLOAD);
	check_image(profile, NC_AUTHORITY_PLANE);
	require(nc_json_parse((const char *)bytes, size, NC_E_PROFILE_INVALID, &document, &error) == 0);
	require(nc_json_canonical(document, &canonical, &length, &error) == 0);
	require(nc_profile_parse(canonical, length, NULL, &again, &error) == 0);
	require(!memcmp(&profile->digest, &again->digest, sizeof(profile->digest)));
	require(profile->destination_count == again->destination_count && profile->mode == again->mode);
	for (size_t i = 0; i < profile->destination_count; i++)
		require(!memcmp(&profile->destinations[i], &again->destinations[i], sizeof(*profile->destinations)));
	free(canonical);
	json_decref(document);
	nc_profile_free(profile);
	nc_profile_free(again);
	return 0;
}
