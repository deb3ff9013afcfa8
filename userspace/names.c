/* SPDX-License-Identifier: GPL-2.0-only */
/* names.c - see names.h */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"

static int by_name(const void *left, const void *right)
{
	const struct nc_resolver_name *a = left, *b = right;

	return nc_dns_name_compare(&a->name, &b->name);
}

static int no_memory(struct nc_error *reterr)
{
	return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the policy's names");
}

/* Index of the name that an entry is about, or `count`. */
static size_t name_of(const struct nc_names *names, const struct nc_policy_entry *entry)
{
	uint32_t id = entry->key.address.words_be[3]; /* still its place in the list, from 1 */

	return entry->key.kind != NC_POLICY_NAME || id < 1 || id > names->count ? names->count : id - 1;
}

/* A counting sort: how many ports each name has, where its own begin, then the ports themselves. */
static int collect_ports(struct nc_names *names, const struct nc_image *image)
{
	names->port_start = calloc(names->count + 2, sizeof(*names->port_start));
	names->ports = calloc(image->count + 1, sizeof(*names->ports));
	if (!names->port_start || !names->ports)
		return -ENOMEM;
	for (size_t i = 0; i < image->count; i++) {
		size_t at = name_of(names, &image->entries[i]);

		if (at < names->count)
			names->port_start[at + 2]++;
	}
	for (size_t i = 2; i < names->count + 2; i++)
		names->port_start[i] += names->port_start[i - 1];
	for (size_t i = 0; i < image->count; i++) {
		size_t at = name_of(names, &image->entries[i]);

		if (at < names->count)
			names->ports[names->port_start[at + 1]++] = (struct nc_grant_port){.port_be = image->entries[i].key.port_be,
											   .protocol = image->entries[i].key.protocol,
											   .open = !(image->entries[i].value.flags & NC_POLICY_WIRE)};
	}
	return 0;
}

/* The id that the name has had, or a new one: ids count up, and the known names are never forgotten. */
static uint32_t id_of(struct nc_names *names, const struct nc_dns_name *name, uint32_t first)
{
	for (size_t i = 0; i < names->known_count; i++)
		if (nc_dns_name_compare(&names->known[i].name, name) == 0)
			return names->known[i].id;
	names->known[names->known_count] = (struct nc_resolver_name){.name = *name, .id = first + (uint32_t)names->known_count};
	return names->known[names->known_count++].id;
}

static int by_key(const void *left, const void *right)
{
	return memcmp(&((const struct nc_policy_entry *)left)->key, &((const struct nc_policy_entry *)right)->key, sizeof(struct nc_policy_key));
}

static void number_image(const struct nc_names *names, struct nc_image *image)
{
	for (size_t i = 0; i < image->count; i++) {
		size_t at = name_of(names, &image->entries[i]);

		if (at < names->count)
			image->entries[i].key.address.words_be[3] = names->ids[at];
	}
	if (image->count)
		qsort(image->entries, image->count, sizeof(*image->entries), by_key);
}

static int make_room(struct nc_names *names, const struct nc_names *before)
{
	size_t known = before ? before->known_count : 0;

	names->wire = calloc(names->count + 1, sizeof(*names->wire));
	names->ids = calloc(names->count + 1, sizeof(*names->ids));
	names->known = calloc(names->count + known + 1, sizeof(*names->known));
	if (!names->wire || !names->ids || !names->known)
		return -ENOMEM;
	if (known)
		memcpy(names->known, before->known, known * sizeof(*names->known));
	names->known_count = known;
	return 0;
}

/* The names themselves, for the kernel; the list is sorted, its texts are canonical. */
static int fill_image(const struct nc_names *names, const struct nc_policy_names *list, struct nc_image *image, struct nc_error *reterr)
{
	image->names = calloc(list->count + 1, sizeof(*image->names));
	if (!image->names)
		return no_memory(reterr);
	image->name_count = list->count;
	for (size_t i = 0; i < list->count; i++) {
		size_t length = strlen(list->texts[i]);

		if (length > NC_NAME_MAX)
			return nc_error_set(reterr, NC_E_PROFILE_INVALID, -EINVAL, "%.253s is too long", list->texts[i]);
		image->names[i].id = names->ids[i];
		image->names[i].key.length = (uint16_t)length;
		image->names[i].key.authority = image->authority;
		memcpy(image->names[i].key.text, list->texts[i], length);
	}
	return 0;
}

int nc_names_make(const struct nc_policy_names *list, const struct nc_names *before, struct nc_image *image, struct nc_names *ret_names,
		  struct nc_error *reterr)
{
	struct nc_names names = {.count = list->count};
	uint32_t first = image->authority == NC_AUTHORITY_PLANE ? NC_NAME_ID_PLANE + 1 : 1;

	if ((before ? before->known_count : 0) + list->count >= NC_NAME_ID_PLANE - 1)
		return nc_error_set(reterr, NC_E_POLICY_FULL, -ENOSPC, "the instance has had too many names");
	if (make_room(&names, before) < 0 || collect_ports(&names, image) < 0) {
		nc_names_free(&names);
		return no_memory(reterr);
	}
	for (size_t i = 0; i < list->count; i++) {
		if (nc_dns_name_from_text(list->texts[i], &names.wire[i].name) < 0) {
			nc_names_free(&names);
			return nc_error_set(reterr, NC_E_PROFILE_INVALID, -EINVAL, "%.253s has no form in DNS", list->texts[i]);
		}
		names.ids[i] = names.wire[i].id = id_of(&names, &names.wire[i].name, first);
	}
	if (fill_image(&names, list, image, reterr) < 0) {
		nc_names_free(&names);
		return reterr->status;
	}
	number_image(&names, image);
	qsort(names.wire, names.count, sizeof(*names.wire), by_name);
	*ret_names = names;
	return 0;
}

void nc_names_free(struct nc_names *names)
{
	free(names->wire);
	free(names->ids);
	free(names->known);
	free(names->port_start);
	free(names->ports);
	*names = (struct nc_names){0};
}

bool nc_names_ports(const struct nc_names *names, uint32_t id, const struct nc_grant_port **ret_ports, size_t *ret_count)
{
	size_t at = 0;

	while (at < names->count && names->ids[at] != id)
		at++;
	if (at == names->count)
		return false;
	*ret_ports = names->ports + names->port_start[at];
	*ret_count = names->port_start[at + 1] - names->port_start[at];
	return true;
}

/* ---- what the edge is told ------------------------------------------------------------------------------------------------------------------------- */

static int write_whole(int fd, const void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t put = write(fd, (const char *)bytes + done, size - done);

		if (put < 0 && errno != EINTR)
			return -errno;
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

int nc_edge_config_make(const struct nc_edge_config *head, const struct nc_resolver_name *names, int *ret_fd, struct nc_error *reterr)
{
	NC_CLOSE int fd = memfd_create("netcordon-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : write_whole(fd, head, sizeof(*head));

	r = r < 0 ? r : write_whole(fd, names, head->name_count * sizeof(*names));
	if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	if (r < 0)
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "write the names for the edge");
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}

static size_t config_size(const struct nc_edge_config *head)
{
	return sizeof(*head) + head->name_count * sizeof(struct nc_resolver_name);
}

void nc_edge_config_unmap(const struct nc_edge_config *head)
{
	if (head)
		munmap((void *)head, config_size(head));
}

int nc_edge_config_map(int fd, const struct nc_edge_config **ret_head, const struct nc_resolver_name **ret_names)
{
	const struct nc_edge_config *head;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((size_t)st.st_size < sizeof(*head))
		return -EPROTO;
	head = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return -errno;
	if (head->magic != NC_EDGE_CONFIG_MAGIC || (size_t)st.st_size != config_size(head)) {
		munmap((void *)head, (size_t)st.st_size);
		return -EPROTO;
	}
	*ret_head = head;
	*ret_names = (const struct nc_resolver_name *)(head + 1);
	return 0;
}
