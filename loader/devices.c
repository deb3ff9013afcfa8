// SPDX-License-Identifier: GPL-2.0-only
/*
 * devices.c - device numbers that the kernel picked: the names of bpf/device.h, looked for in /proc/misc and /proc/devices
 *
 * A module gets its numbers when it is loaded, perhaps others each time. So each launch compares the map with what /proc says, and puts it right, under the
 * host's lock, when a module has come or gone. What is loaded while an instance lives is known to it from the next launch on.
 */
#include <string.h>
#include <bpf/bpf.h>
#include "device.h"
#include "inside.h"

#define FOUND_MAX 64

enum source { MISC, MAJOR };

static const struct {
	const char *name;
	enum source source;
} names[] = {
#define NAME_ROW(symbol, path, node, source, name, ...) {name, source},
	NC_DEVICE_NAMES(NAME_ROW)};

struct found {
	struct nc_device_key keys[FOUND_MAX];
	size_t count, in_map;
	bool strange; /* the map holds what is not found */
};

static bool has(const struct found *found, const struct nc_device_key *key)
{
	for (size_t i = 0; i < found->count; i++) {
		if (!memcmp(&found->keys[i], key, sizeof(*key)))
			return true;
	}
	return false;
}

static void note(struct found *found, enum source source, unsigned int number, const char *name)
{
	const struct nc_device_key key = {
		.major = source == MISC ? NC_DEVICE_MAJOR_MISC : number,
		.minor = source == MISC ? number : NC_DEVICE_ANY_MINOR,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].source == source && !strcmp(names[i].name, name) && !has(found, &key) && found->count < FOUND_MAX)
			found->keys[found->count++] = key;
	}
}

/* "NUMBER NAME" a line; /proc/devices has headings, and block devices below the second. */
static int read_names(const char *path, enum source source, struct found *found, struct nc_error *reterr)
{
	NC_FCLOSE FILE *file = fopen(path, "re");
	char line[256], name[64];
	unsigned int number;

	if (!file)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open %s", path);
	while (fgets(line, sizeof(line), file) && strncmp(line, "Block", 5)) {
		if (sscanf(line, "%u %63s", &number, name) == 2)
			note(found, source, number, name);
	}
	return ferror(file) ? nc_error_set(reterr, NC_E_SYSTEM, -EIO, "read %s", path) : 0;
}

static int look(struct found *found, struct nc_error *reterr)
{
	int r = read_names("/proc/misc", MISC, found, reterr);

	return r < 0 ? r : read_names("/proc/devices", MAJOR, found, reterr);
}

static int compare(void *context, const void *key, const void *value)
{
	struct found *found = context;

	(void)value;
	found->in_map++;
	found->strange |= !has(found, key);
	return 0;
}

static bool gone(const void *context, const void *key)
{
	return !has(context, key);
}

bool nc_devices_differ(struct nc_host *host)
{
	struct found found = {0};
	struct nc_error ignored;
	int fd;

	return look(&found, &ignored) < 0 || nc_host_map(host, NC_MAP_DEVICES, &fd, &ignored) < 0 ||
	       nc_map_walk(fd, sizeof(struct nc_device_key), sizeof(uint32_t), compare, &found, &ignored) < 0 || found.strange ||
	       found.in_map != found.count;
}

int nc_devices_fill(struct nc_host *host, struct nc_error *reterr)
{
	const uint32_t one = 1;
	struct found found = {0};
	int fd;
	int r = look(&found, reterr);

	r = r < 0 ? r : nc_host_map(host, NC_MAP_DEVICES, &fd, reterr);
	for (size_t i = 0; i < found.count && r >= 0; i++) {
		r = bpf_map_update_elem(fd, &found.keys[i], &one, BPF_ANY);
		if (r)
			r = nc_error_sys(reterr, NC_E_SYSTEM, r, "note a device's number");
	}
	return r < 0 ? r : nc_map_purge_if(fd, sizeof(struct nc_device_key), sizeof(uint32_t), gone, &found, reterr);
}

bool nc_host_refuses_device(struct nc_host *host, unsigned int major, unsigned int minor)
{
	struct nc_device_key key = {.major = major, .minor = minor};
	struct nc_error ignored;
	uint32_t value;
	int fd;

	if (nc_device_known(major, minor))
		return true;
	if (!nc_device_picked(major))
		return false;
	if (nc_host_map(host, NC_MAP_DEVICES, &fd, &ignored) < 0 || !bpf_map_lookup_elem(fd, &key, &value))
		return true;
	key.minor = NC_DEVICE_ANY_MINOR;
	return !bpf_map_lookup_elem(fd, &key, &value);
}
