// SPDX-License-Identifier: GPL-2.0-only
/* revision.c - the released revisions and the manifest of this build */
#include <stddef.h>
#include <string.h>
#include "capability.h"
#include "manifest.h"
#include "revision.h"

/* A row is added when a revision is released, after its manifest is known, and never changed. Nothing has been released yet. */
static const struct {
	const char *name, *manifest;
} released[] = {
	{NULL, NULL},
};

const char *nc_revision_manifest(void)
{
	return NC_MANIFEST;
}

const char *nc_revision_name(void)
{
	for (size_t i = 0; released[i].name; i++)
		if (!strcmp(released[i].manifest, NC_MANIFEST))
			return released[i].name;
	return NC_REVISION_DEV;
}
