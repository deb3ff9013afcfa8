/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program_digests.c - what the programs in force are, as digests
 *
 * Three kinds, since none of them alone says it: of the object as it lies in this binary, of the read-only data as the kernel holds it (two objects that differ
 * only in a switch there have the same program tags), and of each program's instructions as the kernel translated them.
 *
 * A program's instructions cannot change while it exists, and its id is not given to another one as long as the machine runs. So they are read back and hashed
 * once for each boot and set of programs, and kept; a launch that finds an id that is not kept reads all of them anew.
 */
#include "program_digests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "digest.h"
#include "kept_file.h"

#define BOOT_ID_LENGTH 36

struct kept_program {
	uint32_t id;
	uint32_t withheld; /* the kernel does not show the instructions */
	struct nc_digest translated;
};

struct kept {
	char boot_id[BOOT_ID_LENGTH + 4];
	struct nc_digest object;
	uint32_t count;
	uint32_t reserved;
	struct kept_program programs[];
};

static int read_boot_id(char ret_id[BOOT_ID_LENGTH + 4])
{
	NC_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(ret_id, 0, BOOT_ID_LENGTH + 4);
	return fd >= 0 && read(fd, ret_id, BOOT_ID_LENGTH) == BOOT_ID_LENGTH ? 0 : -EIO;
}

static const struct kept_program *find(const struct kept *kept, uint32_t id)
{
	for (uint32_t i = 0; i < kept->count; i++) {
		if (kept->programs[i].id == id)
			return &kept->programs[i];
	}
	return NULL;
}

static bool fits(const struct kept *kept, size_t size, const char *boot_id, const struct nc_effective_list *effective)
{
	if (size < sizeof(*kept) || size != sizeof(*kept) + kept->count * sizeof(struct kept_program) ||
	    memcmp(kept->boot_id, boot_id, sizeof(kept->boot_id)))
		return false;
	for (size_t i = 0; i < effective->count; i++) {
		if (!find(kept, effective->programs[i].id))
			return false;
	}
	return true;
}

static int hash_program(uint32_t id, struct kept_program *program, struct nc_error *reterr)
{
	NC_FREE void *bytes = NULL;
	size_t size;
	int r = nc_program_translated(id, &bytes, &size, reterr);

	if (r < 0)
		return r;
	*program = (struct kept_program){.id = id, .withheld = bytes == NULL};
	if (bytes)
		nc_digest_of(bytes, size, &program->translated);
	return 0;
}

static int find_out(const struct nc_effective_list *effective, const char *boot_id, struct kept **ret_kept, size_t *ret_size, struct nc_error *reterr)
{
	size_t size = sizeof(struct kept) + effective->count * sizeof(struct kept_program), object_size;
	NC_FREE struct kept *kept = calloc(1, size);
	const void *object;

	if (!kept)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the programs' digests");
	memcpy(kept->boot_id, boot_id, sizeof(kept->boot_id));
	nc_host_object(&object, &object_size);
	nc_digest_of(object, object_size, &kept->object);
	kept->count = (uint32_t)effective->count;
	for (size_t i = 0; i < effective->count; i++) {
		int r = hash_program(effective->programs[i].id, &kept->programs[i], reterr);

		if (r < 0)
			return r;
	}
	*ret_kept = NC_TAKE_PTR(kept);
	*ret_size = size;
	return 0;
}

static int look_up(const struct nc_effective_list *effective, const char *runtime, const char *manifest, struct kept **ret_kept,
		   struct nc_error *reterr)
{
	char name[32], boot_id[BOOT_ID_LENGTH + 4];
	NC_FREE void *bytes = NULL;
	size_t size;
	int r;

	if (read_boot_id(boot_id) < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -EIO, "read the boot id");
	snprintf(name, sizeof(name), "programs-%.12s", manifest);
	if (nc_kept_read(runtime, name, &bytes, &size) == 0 && fits(bytes, size, boot_id, effective)) {
		*ret_kept = NC_TAKE_PTR(bytes);
		return 0;
	}
	r = find_out(effective, boot_id, ret_kept, &size, reterr);
	if (r < 0)
		return r;
	r = nc_kept_write(runtime, name, *ret_kept, size);
	return r < 0 ? nc_error_sys(reterr, NC_E_SYSTEM, r, "keep the programs' digests in %s", runtime) : 0;
}

static json_t *hex_json(const struct nc_digest *digest)
{
	char hex[NC_DIGEST_HEX];

	nc_digest_hex(digest, hex);
	return json_string(hex);
}

static json_t *program_json(const struct nc_effective *program, const struct kept *kept)
{
	const struct kept_program *known = find(kept, program->id);
	json_t *object;
	char tag[17];

	for (int i = 0; i < 8; i++)
		snprintf(tag + i * 2, 3, "%02x", program->tag[i]);
	object = json_pack("{s:s, s:s, s:I, s:b, s:s}", "hook", program->hook, "name", program->name, "id", (json_int_t)program->id, "ours",
			   program->ours, "tag", tag);
	/* a kernel that withholds the instructions leaves the member out: absence is visible, an empty digest would not be */
	if (object && !known->withheld)
		json_object_set_new(object, "xlated", hex_json(&known->translated));
	return object;
}

int nc_program_digests(struct nc_host *host, const struct nc_effective_list *effective, const char *runtime, const char *manifest,
		       json_t **ret_programs, struct nc_error *reterr)
{
	NC_FREE struct kept *kept = NULL;
	NC_FREE void *rodata = NULL;
	struct nc_digest rodata_digest;
	size_t rodata_size;
	json_t *rows;
	int r = nc_host_rodata(host, &rodata, &rodata_size, reterr) ?: look_up(effective, runtime, manifest, &kept, reterr);

	if (r < 0)
		return r;
	nc_digest_of(rodata, rodata_size, &rodata_digest);
	rows = json_array();
	for (size_t i = 0; rows && i < effective->count; i++)
		json_array_append_new(rows, program_json(&effective->programs[i], kept));
	*ret_programs = json_pack("{s:o, s:o, s:o}", "object", hex_json(&kept->object), "rodata", hex_json(&rodata_digest), "effective", rows);
	return *ret_programs ? 0 : nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the programs' digests");
}
