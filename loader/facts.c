// SPDX-License-Identifier: GPL-2.0-only
/*
 * facts.c - what a host holds now, counted by walking, never from a book
 */
#include <dirent.h>
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

static int count_entry(void *context, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(uint64_t *)context;
	return 0;
}

static int count_map(struct nc_host *host, enum nc_map map, uint32_t key_size, uint32_t value_size, uint64_t *count, struct nc_error *reterr)
{
	int fd;
	int r = nc_host_map(host, map, &fd, reterr);

	return r < 0 ? r : nc_map_walk(fd, key_size, value_size, count_entry, count, reterr);
}

static int count_claim(void *context, const void *key, const void *value)
{
	struct nc_host_facts *facts = context;
	uint32_t number;

	(void)value;
	memcpy(&number, key, sizeof(number));
	if (number & NC_RING_KEY)
		facts->rings_used++;
	else
		facts->instances_used++;
	return 0;
}

static uint32_t count_links(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	uint32_t count = 0;

	while (dir && (entry = readdir(dir))) {
		struct nc_error ignored;
		char below[NC_PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_type != DT_DIR)
			count++;
		else if (!nc_path(below, &ignored, "%s/%s", folder, entry->d_name))
			count += count_links(below);
	}
	if (dir)
		closedir(dir);
	return count;
}

int nc_host_facts(struct nc_host *host, struct nc_host_facts *ret_facts, struct nc_error *reterr)
{
	struct nc_host_facts facts = {.instances_max = host->book.instances, .rings_max = host->book.rings};
	char links[NC_PATH_MAX];
	int claims_fd;
	int r = nc_host_map(host, NC_MAP_CLAIMS, &claims_fd, reterr);

	memcpy(facts.root, host->root, sizeof(facts.root));
	memcpy(facts.slice, host->slice, sizeof(facts.slice));
	memcpy(facts.pins, host->pins, sizeof(facts.pins));
	r = r < 0 ? r : nc_map_walk(claims_fd, sizeof(uint32_t), sizeof(uint64_t), count_claim, &facts, reterr);
	for (enum nc_map map = NC_MAP_WORKLOAD_POLICY; map <= NC_MAP_PLANE_POLICY && r >= 0; map++)
		r = count_map(host, map, sizeof(struct nc_policy_key), sizeof(struct nc_policy_value), &facts.policy_entries, reterr);
	r = r < 0 ? r : count_map(host, NC_MAP_GRANTS, sizeof(struct nc_grant_key), sizeof(struct nc_grant_value), &facts.grant_entries, reterr);
	r = r < 0 ? r : count_map(host, NC_MAP_SEEN, sizeof(struct nc_seen_key), sizeof(struct nc_seen_value), &facts.seen_entries, reterr);
	r = r < 0 ? r : nc_path(links, reterr, "%s/links", host->pins);
	if (r < 0)
		return r;
	facts.links = count_links(links);
	*ret_facts = facts;
	return 0;
}
