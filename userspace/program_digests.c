/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program_digests.c - what the programs in force are, as digests
 *
 * Three digests, since none of them alone says it: of the object as it lies in this binary, of the read-only data as the kernel holds it (two objects that
 * differ only in a switch there have the same program tags), and of each program's instructions as the kernel translated them.
 */
#include "program_digests.h"

#include <errno.h>
#include <stdio.h>
#include "cleanup.h"
#include "digest.h"

static json_t *digest_json(const void *bytes, size_t size)
{
	struct nc_digest digest;
	char hex[NC_DIGEST_HEX];

	nc_digest_of(bytes, size, &digest);
	nc_digest_hex(&digest, hex);
	return json_string(hex);
}

static json_t *program_json(const struct nc_effective *program)
{
	json_t *object;
	char tag[17];

	for (int i = 0; i < 8; i++)
		snprintf(tag + i * 2, 3, "%02x", program->tag[i]);
	object = json_pack("{s:s, s:s, s:I, s:b, s:s}", "hook", program->hook, "name", program->name, "id", (json_int_t)program->id, "ours", program->ours, "tag",
			   tag);
	/* a kernel that withholds the instructions leaves the member out: absence is visible, an empty digest would not be */
	if (object && program->xlated)
		json_object_set_new(object, "xlated", digest_json(program->xlated, program->xlated_size));
	return object;
}

int nc_program_digests(struct nc_host *host, const struct nc_effective_list *effective, json_t **ret_programs, struct nc_error *reterr)
{
	NC_FREE void *rodata = NULL;
	const void *object;
	size_t rodata_size, object_size;
	json_t *rows;
	int r = nc_host_rodata(host, &rodata, &rodata_size, reterr);

	if (r < 0)
		return r;
	nc_host_object(&object, &object_size);
	rows = json_array();
	for (size_t i = 0; rows && i < effective->count; i++)
		json_array_append_new(rows, program_json(&effective->programs[i]));
	*ret_programs = json_pack("{s:o, s:o, s:o}", "object", digest_json(object, object_size), "rodata", digest_json(rodata, rodata_size), "effective", rows);
	return *ret_programs ? 0 : nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the programs' digests");
}
