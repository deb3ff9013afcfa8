// SPDX-License-Identifier: GPL-2.0-only
/*
 * settings.c - the one record that holds for the whole host: which depths authorities lie at, and the network's NAT64 prefixes
 *
 * Written under the host's exclusive lock. Instances may live while the operator changes a prefix: rows go first and their count last.
 */
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

static int settings_read(struct nc_host *host, struct nc_settings *ret_settings, int *ret_fd, struct nc_error *reterr)
{
	uint32_t zero = 0;
	int r = nc_host_map(host, NC_MAP_SETTINGS, ret_fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_lookup_elem(*ret_fd, &zero, ret_settings);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "read the settings") : 0;
}

static int settings_put(int fd, const struct nc_settings *settings, struct nc_error *reterr)
{
	uint32_t zero = 0;
	int r = bpf_map_update_elem(fd, &zero, settings, BPF_ANY);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "write the settings") : 0;
}

int nc_settings_add_depth(struct nc_host *host, uint32_t depth, struct nc_error *reterr)
{
	struct nc_settings settings;
	int fd;
	int r;

	if (depth < 1 || depth > 31)
		return nc_error_set(reterr, NC_E_CGROUP_INVALID, -EINVAL, "a cgroup at depth %u; an authority lies at 1 to 31", depth);
	r = settings_read(host, &settings, &fd, reterr);
	if (r < 0 || settings.depth_mask & 1u << depth)
		return r;
	settings.depth_mask |= 1u << depth;
	return settings_put(fd, &settings, reterr);
}

int nc_settings_write(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr)
{
	struct nc_settings settings;
	int fd;
	int r;

	if (options->nat64_count > NC_NAT64_MAX)
		return nc_error_set(reterr, NC_E_USAGE, -E2BIG, "%zu NAT64 prefixes; %d are the most", options->nat64_count, NC_NAT64_MAX);
	r = settings_read(host, &settings, &fd, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < options->nat64_count; i++)
		settings.nat64[i] = options->nat64[i];
	r = settings_put(fd, &settings, reterr);
	settings.nat64_count = (uint32_t)options->nat64_count;
	memset(settings.nat64 + options->nat64_count, 0, (NC_NAT64_MAX - options->nat64_count) * sizeof(settings.nat64[0]));
	r = r < 0 ? r : settings_put(fd, &settings, reterr);
	return r < 0 ? r : nc_settings_add_depth(host, host->root_depth + 2, reterr);
}

bool nc_settings_differ(struct nc_host *host, const struct nc_host_options *options)
{
	struct nc_settings settings;
	struct nc_error ignored;
	uint32_t zero = 0;
	int fd;

	if (nc_host_map(host, NC_MAP_SETTINGS, &fd, &ignored) < 0 || bpf_map_lookup_elem(fd, &zero, &settings))
		return true;
	if (settings.nat64_count != options->nat64_count || !(settings.depth_mask & 1u << (host->root_depth + 2)))
		return true;
	if (options->nat64_count && memcmp(settings.nat64, options->nat64, options->nat64_count * sizeof(settings.nat64[0])))
		return true;
	for (size_t i = 0; i < options->floor_count; i++) {
		uint32_t kind;

		if (nc_host_map(host, NC_MAP_HOST_FLOOR, &fd, &ignored) < 0 || bpf_map_lookup_elem(fd, &options->floor[i], &kind))
			return true;
	}
	return false;
}
