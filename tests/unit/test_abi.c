/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_abi.c - the layout of every record that programs and user space share has the version under which it stands here
 *
 * Two builds find each other's pins by the manifest, which is a digest of the object and so of every layout (revisions.c): no build reads another's
 * maps. What the version is for is said beside it (netcordon_abi.h). So that nobody forgets to raise it, what the object's type information says of
 * each map and of each record in the ring, down to the last member, is hashed, and the digest stands in a list: a layout that is not the last line's
 * needs a new line, with a new version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "digest.h"
#include "netcordon_abi.h"
#include "netcordon.skel.h"

/* Lines are only added. */
static const struct {
	unsigned int version;
	const char *layout;
} known[] = {
	{4, "2ed16090fe03b057b7c3a4946fe51c457743ba3d0da746cab9e3ebc2b36ae343"},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

/* What goes through the rings is in no map's type, and so not in the object's. */
#define MEMBER(type, member)                                                                                                                         \
	{                                                                                                                                            \
#type "." #member, offsetof(struct type, member), sizeof(((struct type *)0)->member)                                                 \
	}
static const struct {
	const char *name;
	size_t offset, size;
} record_members[] = {
	MEMBER(nc_event, version),
	MEMBER(nc_event, size),
	MEMBER(nc_event, slot),
	MEMBER(nc_event, generation),
	MEMBER(nc_event, revision),
	MEMBER(nc_event, time_ns),
	MEMBER(nc_event, socket_cookie),
	MEMBER(nc_event, cgroup_id),
	MEMBER(nc_event, destination),
	MEMBER(nc_event, admitted),
	MEMBER(nc_event, port_be),
	MEMBER(nc_event, admitted_port_be),
	MEMBER(nc_event, protocol),
	MEMBER(nc_event, family),
	MEMBER(nc_event, hook),
	MEMBER(nc_event, decision),
	MEMBER(nc_event, reason),
	MEMBER(nc_event, address_class),
	MEMBER(nc_event, authority),
	MEMBER(nc_event, flags),
	MEMBER(nc_event, pid),
	MEMBER(nc_event, pid_ns),
	MEMBER(nc_event, uid),
	MEMBER(nc_event, name_id),
	MEMBER(nc_event, detail),
	MEMBER(nc_event, comm),
	MEMBER(nc_named_event, event),
	MEMBER(nc_named_event, name),
	MEMBER(nc_named_event, name_length),
	MEMBER(nc_named_event, reserved),
};
#define MEMBERS (sizeof(record_members) / sizeof(record_members[0]))

static struct {
	char *text;
	size_t length;
	FILE *file;
	const struct btf *btf;
} layout;

static const struct btf_type *resolved(unsigned int id, unsigned int *ret_id)
{
	const struct btf_type *type = btf__type_by_id(layout.btf, id);

	while (type && (btf_is_typedef(type) || btf_is_mod(type))) {
		id = type->type;
		type = btf__type_by_id(layout.btf, id);
	}
	*ret_id = id;
	return type;
}

/* Everything in it, by offset and size, with names. */
static void tell(unsigned int id, unsigned int offset_bits, int depth)
{
	const struct btf_type *type = resolved(id, &id);
	const struct btf_member *member;

	assert_non_null(type);
	assert_true(depth < 16);
	fprintf(layout.file, "%*s%u %lld %u %s\n", depth, "", offset_bits, (long long)btf__resolve_size(layout.btf, id), btf_kind(type),
		btf__name_by_offset(layout.btf, type->name_off));
	if (btf_is_array(type)) {
		fprintf(layout.file, "%*s[%u]\n", depth, "", btf_array(type)->nelems);
		tell(btf_array(type)->type, 0, depth + 1);
	}
	if (!btf_is_composite(type))
		return;
	member = btf_members(type);
	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		fprintf(layout.file, "%*s.%s\n", depth, "", btf__name_by_offset(layout.btf, member[i].name_off));
		tell(member[i].type, btf_member_bit_offset(type, i), depth + 1);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(bpf_map__name(*(struct bpf_map *const *)a), bpf_map__name(*(struct bpf_map *const *)b));
}

/* The linker's own maps (.rodata and the like) hold no records. */
static void tell_maps(struct bpf_object *object)
{
	struct bpf_map *maps[64], *map;
	size_t count = 0;

	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__name(map)[0] != '.' && !strchr(bpf_map__name(map), '.') && count < 64)
			maps[count++] = map;
	}
	assert_in_range(count, 10, 63);
	qsort(maps, count, sizeof(maps[0]), by_name);
	for (size_t i = 0; i < count; i++) {
		fprintf(layout.file, "map %s %d %u %u\n", bpf_map__name(maps[i]), (int)bpf_map__type(maps[i]), bpf_map__key_size(maps[i]),
			bpf_map__value_size(maps[i]));
		if (bpf_map__btf_key_type_id(maps[i]))
			tell(bpf_map__btf_key_type_id(maps[i]), 0, 1);
		if (bpf_map__btf_value_type_id(maps[i]))
			tell(bpf_map__btf_value_type_id(maps[i]), 0, 1);
	}
}

/* Without a hole: a member that is not in the table above is found. */
static void tell_records(void)
{
	size_t end = 0;

	for (size_t i = 0; i < MEMBERS; i++) {
		if (!strcmp(record_members[i].name, "nc_named_event.event")) {
			assert_int_equal(end, sizeof(struct nc_event));
			end = 0;
		}
		assert_int_equal(record_members[i].offset, end);
		end += record_members[i].size;
		fprintf(layout.file, "record %s %zu %zu\n", record_members[i].name, record_members[i].offset, record_members[i].size);
	}
	assert_int_equal(end, sizeof(struct nc_named_event));
}

static void the_layout_has_its_version(void **state)
{
	const void *bytes;
	struct bpf_object *object;
	struct nc_digest digest;
	char hex[NC_DIGEST_HEX];
	size_t size;

	(void)state;
	bytes = netcordon_bpf__elf_bytes(&size);
	object = bpf_object__open_mem(bytes, size, NULL);
	assert_non_null(object);
	layout.btf = bpf_object__btf(object);
	assert_non_null(layout.btf);
	layout.file = open_memstream(&layout.text, &layout.length);
	tell_maps(object);
	tell_records();
	fclose(layout.file);
	nc_digest_of(layout.text, layout.length, &digest);
	nc_digest_hex(&digest, hex);
	if (getenv("SHOW"))
		fprintf(stderr, "%s%s\n", layout.text, hex);
	free(layout.text);
	bpf_object__close(object);
	for (size_t i = 1; i < KNOWN; i++)
		assert_true(known[i].version > known[i - 1].version);
	if (strcmp(known[KNOWN - 1].layout, hex))
		fail_msg("the layout of version %u has changed: raise NC_ABI_VERSION, and add it here with\n\"%s\"", known[KNOWN - 1].version, hex);
	assert_int_equal(known[KNOWN - 1].version, NC_ABI_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_layout_has_its_version)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
