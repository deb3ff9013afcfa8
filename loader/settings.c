// SPDX-License-Identifier: GPL-2.0-only
/*
 * settings.c - the one record that holds for the whole host: which depths authorities lie at, and the network's NAT64 prefixes
 *
 * Written under the host's exclusive lock. Whoever launches may add a prefix while instances live, and nobody may take one away then.
 */
#include <string.h>
#include <sys/file.h>
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

/* ---- the network's NAT64 prefixes --------------------------------------------------------------------------------------------------------------- */

static bool prefix_in(const struct nc_nat64_prefix *prefix, const struct nc_nat64_prefix *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].length == prefix->length && !memcmp(&list[i].prefix, &prefix->prefix, sizeof(prefix->prefix)))
			return true;
	}
	return false;
}

static bool all_in(const struct nc_nat64_prefix *some, size_t some_count, const struct nc_nat64_prefix *list, size_t count)
{
	for (size_t i = 0; i < some_count; i++) {
		if (!prefix_in(&some[i], list, count))
			return false;
	}
	return true;
}

/* Two prefixes that share addresses: which IPv4 address those carry would depend on the order of the rows. */
static bool overlap(const struct nc_nat64_prefix *a, const struct nc_nat64_prefix *b)
{
	uint32_t length = a->length < b->length ? a->length : b->length; /* whole bytes: RFC 6052 has no others */

	return !memcmp(a->prefix.bytes, b->prefix.bytes, length / 8);
}

static int prefix_add(struct nc_settings *settings, const struct nc_nat64_prefix *prefix, struct nc_error *reterr)
{
	if (prefix_in(prefix, settings->nat64, settings->nat64_count))
		return 0;
	for (uint32_t i = 0; i < settings->nat64_count; i++) {
		if (!overlap(prefix, &settings->nat64[i]))
			continue;
		nc_error_set(reterr, NC_E_CONFIG_INVALID, -EEXIST, "a NAT64 prefix of %u bits shares addresses with one of %u bits that is in force",
			     prefix->length, settings->nat64[i].length);
		return nc_error_hint(reterr, "give the network's prefix as it is, with its one length; `netcordon host status` tells those in force");
	}
	if (settings->nat64_count == NC_NAT64_MAX) {
		nc_error_set(reterr, NC_E_POLICY_FULL, -E2BIG,
			     "%d NAT64 prefixes are in force on this host, the most, and the configuration has another", NC_NAT64_MAX);
		return nc_error_hint(reterr, "`netcordon host up`, while no instance lives, takes away what its configuration does not list");
	}
	settings->nat64[settings->nat64_count++] = *prefix;
	return 0;
}

/*
 * The prefixes protect every instance of the host, so a launch's configuration only adds to them. `options->configure` makes them just what the options
 * list; then none that an instance may rely on goes.
 */
int nc_settings_write(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr)
{
	struct nc_settings settings, wanted;
	int fd;
	int r;

	if (options->nat64_count > NC_NAT64_MAX)
		return nc_error_set(reterr, NC_E_USAGE, -E2BIG, "%zu NAT64 prefixes; %d are the most", options->nat64_count, NC_NAT64_MAX);
	r = settings_read(host, &settings, &fd, reterr);
	if (r < 0)
		return r;
	wanted = settings;
	if (options->configure && !all_in(settings.nat64, settings.nat64_count, options->nat64, options->nat64_count)) {
		r = nc_host_idle(host, "a NAT64 prefix that the configuration does not list", reterr);
		wanted.nat64_count = 0;
		memset(wanted.nat64, 0, sizeof(wanted.nat64));
	}
	for (size_t i = 0; i < options->nat64_count && r >= 0; i++)
		r = prefix_add(&wanted, &options->nat64[i], reterr);
	if (r < 0)
		return r;
	/* rows before their count: a program never judges by a row that is not whole */
	memcpy(settings.nat64, wanted.nat64, sizeof(settings.nat64));
	if (settings.nat64_count > wanted.nat64_count)
		settings.nat64_count = wanted.nat64_count;
	r = settings_put(fd, &settings, reterr);
	r = r < 0 ? r : settings_put(fd, &wanted, reterr);
	return r < 0 ? r : nc_settings_add_depth(host, host->root_depth + 2, reterr);
}

bool nc_settings_differ(struct nc_host *host, const struct nc_host_options *options)
{
	struct nc_settings settings;
	struct nc_error ignored;
	int fd;

	if (settings_read(host, &settings, &fd, &ignored) < 0 || !(settings.depth_mask & 1u << (host->root_depth + 2)))
		return true;
	if (!all_in(options->nat64, options->nat64_count, settings.nat64, settings.nat64_count))
		return true;
	if (options->configure && !all_in(settings.nat64, settings.nat64_count, options->nat64, options->nat64_count))
		return true;
	return nc_floor_differs(host, options);
}

int nc_host_settings(struct nc_host *host, const struct nc_host_options *options, struct nc_settings *ret_settings, struct nc_error *reterr)
{
	int r = 0, fd;

	if (options && nc_settings_differ(host, options)) {
		r = nc_host_lock(host, LOCK_EX, reterr);
		if (r < 0)
			return r;
		r = nc_settings_write(host, options, reterr);
		r = r < 0 ? r : nc_floor_fill(host, options, reterr);
		nc_host_unlock(host);
	}
	return r < 0 ? r : settings_read(host, ret_settings, &fd, reterr);
}

int nc_host_idle(struct nc_host *host, const char *what, struct nc_error *reterr)
{
	struct nc_host_facts facts;
	uint32_t cleaned;
	int r = nc_host_clean_orphans(host, &cleaned, reterr);

	r = r < 0 ? r : nc_host_facts(host, &facts, reterr);
	if (r < 0 || !facts.instances_used)
		return r;
	nc_error_set(reterr, NC_E_HOST_BUSY, -EBUSY, "%s is in force, and instances still live (%u) below %s that may rely on it", what,
		     facts.instances_used, host->slice);
	return nc_error_hint(reterr, "end them first, or leave it in the configuration");
}
