// SPDX-License-Identifier: GPL-2.0-only
/*
 * config.c - reads /etc/netcordon/netcordon.conf, member by member of NC_CONFIG_MEMBERS
 *
 * Each member has one reader, found by its name. The first thing that is wrong ends the reading, with the JSON pointer of the place.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "config.h"
#include "json.h"

#define CONFIG_SIZE_MAX (1u << 20) /* bytes; a floor of ten thousand addresses fits */

static int invalid(struct nc_error *reterr, const char *pointer, const char *rule)
{
	nc_error_set(reterr, NC_E_CONFIG_INVALID, -EINVAL, "%s", rule);
	snprintf(reterr->pointer, sizeof(reterr->pointer), "%s", pointer);
	return reterr->status;
}

static int take_string(const json_t *value, const char *pointer, char **ret_text, struct nc_error *reterr)
{
	char *copy;

	if (!json_string_length(value))
		return invalid(reterr, pointer, "is empty");
	copy = strdup(json_string_value(value));
	if (!copy)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	free(*ret_text);
	*ret_text = copy;
	return 0;
}

static int take_path(const json_t *value, const char *pointer, char **ret_path, struct nc_error *reterr)
{
	if (json_string_value(value)[0] != '/')
		return invalid(reterr, pointer, "must be an absolute path: hooks have no folder to start from");
	return take_string(value, pointer, ret_path, reterr);
}

static bool read_address(const char *text, union nc_address *ret_address, bool *ret_ipv4)
{
	union nc_address address = {{0}};

	*ret_ipv4 = inet_pton(AF_INET, text, address.bytes + 12) == 1;
	if (*ret_ipv4)
		address.bytes[10] = address.bytes[11] = 0xff;
	else if (inet_pton(AF_INET6, text, address.bytes) != 1)
		return false;
	*ret_address = address;
	return true;
}

static int take_addresses(const json_t *value, const char *name, union nc_address **ret_addresses, size_t *ret_count, struct nc_error *reterr)
{
	NC_FREE union nc_address *addresses = calloc(json_array_size(value) + 1, sizeof(*addresses));
	const json_t *element;
	size_t i;

	if (!addresses)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	json_array_foreach(value, i, element)
	{
		char pointer[64];
		bool ipv4;

		snprintf(pointer, sizeof(pointer), "/%s/%zu", name, i);
		if (!json_is_string(element) || !read_address(json_string_value(element), &addresses[i], &ipv4))
			return invalid(reterr, pointer, "must be an IPv4 or IPv6 address as a string");
	}
	*ret_addresses = NC_TAKE_PTR(addresses);
	*ret_count = json_array_size(value);
	return 0;
}

static bool host_part_is_zero(const struct nc_nat64_prefix *prefix)
{
	for (uint32_t i = prefix->length / 8; i < sizeof(prefix->prefix.bytes); i++)
		if (prefix->prefix.bytes[i])
			return false;
	return true;
}

/* "2001:db8:64::/96"; the lengths are those of RFC 6052, 2.2. */
static bool read_prefix(const char *text, struct nc_nat64_prefix *ret_prefix)
{
	static const uint32_t lengths[] = {32, 40, 48, 56, 64, 96};
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN], again[8];
	bool ipv4;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return false;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	if (!read_address(address, &ret_prefix->prefix, &ipv4) || ipv4)
		return false;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		snprintf(again, sizeof(again), "%u", lengths[i]);
		ret_prefix->length = lengths[i];
		if (!strcmp(again, slash + 1))
			return host_part_is_zero(ret_prefix);
	}
	return false;
}

static int take_nat64(const json_t *value, struct nc_config *config, struct nc_error *reterr)
{
	const json_t *element;
	size_t i;

	if (json_array_size(value) > NC_NAT64_MAX)
		return invalid(reterr, "/nat64", "holds more than four prefixes");
	json_array_foreach(value, i, element)
	{
		char pointer[64];

		snprintf(pointer, sizeof(pointer), "/nat64/%zu", i);
		if (!json_is_string(element) || !read_prefix(json_string_value(element), &config->nat64[i]))
			return invalid(reterr, pointer,
				       "must be an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits (RFC 6052) with nothing behind them, as "
				       "\"2001:db8:64::/96\"");
	}
	config->nat64_count = json_array_size(value);
	return 0;
}

static int take_foreign(const json_t *value, struct nc_config *config, struct nc_error *reterr)
{
	const json_t *element;
	size_t i;

	config->foreign_programs = calloc(json_array_size(value) + 1, sizeof(*config->foreign_programs));
	if (!config->foreign_programs)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	json_array_foreach(value, i, element)
	{
		char pointer[64];
		int ret;

		snprintf(pointer, sizeof(pointer), "/foreign_programs/%zu", i);
		if (!json_is_string(element) || json_string_length(element) > 15)
			return invalid(reterr, pointer, "must be a program's name as the kernel shows it: a string of at most 15 bytes");
		ret = take_string(element, pointer, &config->foreign_programs[i], reterr);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int take_pools(const json_t *value, struct nc_config *config, struct nc_error *reterr)
{
	const struct {
		const char *name;
		uint32_t *place, most;
	} pools[] = {
		{"instances", &config->instances, 65536},
		{"rings", &config->rings, 4096},
		{"ring_bytes", &config->ring_bytes, 64u << 20},
		{"policy_entries", &config->policy_entries, 16u << 20},
		{"grant_entries", &config->grant_entries, 16u << 20},
		{"seen_entries", &config->seen_entries, 16u << 20},
	};
	const json_t *member;
	const char *name;

	json_object_foreach((json_t *)value, name, member)
	{
		char pointer[192];
		size_t i = 0;

		snprintf(pointer, sizeof(pointer), "/pools/%.128s", name);
		while (i < sizeof(pools) / sizeof(*pools) && strcmp(name, pools[i].name))
			i++;
		if (i == sizeof(pools) / sizeof(*pools))
			return invalid(reterr, pointer, "is not a pool: instances, rings, ring_bytes, policy_entries, grant_entries or seen_entries");
		if (!json_is_integer(member) || json_integer_value(member) < 1 || json_integer_value(member) > pools[i].most)
			return invalid(reterr, pointer, "must be a whole number above 0 and within reason");
		*pools[i].place = (uint32_t)json_integer_value(member);
	}
	return 0;
}

static int take_version(const json_t *value, struct nc_error *reterr)
{
	if (json_integer_value(value) != NC_CONFIG_VERSION)
		return invalid(reterr, "/version", "must be 1");
	return 0;
}

static int take_member(const char *name, const json_t *value, struct nc_config *config, struct nc_error *reterr)
{
	if (!strcmp(name, "version"))
		return take_version(value, reterr);
	if (!strcmp(name, "root"))
		return take_path(value, "/root", &config->root, reterr);
	if (!strcmp(name, "key"))
		return take_path(value, "/key", &config->key, reterr);
	if (!strcmp(name, "attester"))
		return take_string(value, "/attester", &config->attester, reterr);
	if (!strcmp(name, "evidence"))
		return take_path(value, "/evidence", &config->evidence, reterr);
	if (!strcmp(name, "profiles"))
		return take_path(value, "/profiles", &config->profiles, reterr);
	if (!strcmp(name, "floor"))
		return take_addresses(value, "floor", &config->floor, &config->floor_count, reterr);
	if (!strcmp(name, "nat64"))
		return take_nat64(value, config, reterr);
	if (!strcmp(name, "foreign_programs"))
		return take_foreign(value, config, reterr);
	if (!strcmp(name, "pools"))
		return take_pools(value, config, reterr);
	return take_addresses(value, "upstreams", &config->upstreams, &config->upstream_count, reterr);
}

static int take_members(const json_t *document, struct nc_config *config, struct nc_error *reterr)
{
#define MEMBER(member, type, meaning) {#member, JSON_##type, #type},
	static const struct {
		const char *name;
		json_type type;
		const char *type_name;
	} members[] = {NC_CONFIG_MEMBERS(MEMBER)};
#undef MEMBER
	const json_t *value;
	const char *name;

	if (!json_is_object(document))
		return invalid(reterr, "", "the configuration must be a JSON object");
	if (!json_object_get(document, "version"))
		return invalid(reterr, "/version", "is missing; this netcordon reads version 1");
	json_object_foreach((json_t *)document, name, value)
	{
		char pointer[192];
		size_t i = 0;
		int ret;

		snprintf(pointer, sizeof(pointer), "/%.128s", name);
		while (i < sizeof(members) / sizeof(*members) && strcmp(name, members[i].name))
			i++;
		if (i == sizeof(members) / sizeof(*members)) {
			invalid(reterr, pointer, "is not a member of the configuration");
			return nc_error_hint(reterr, "netcordon(8) lists the members under FILES");
		}
		if (json_typeof(value) != members[i].type) {
			nc_error_set(reterr, NC_E_CONFIG_INVALID, -EINVAL, "must be of type %s", members[i].type_name);
			snprintf(reterr->pointer, sizeof(reterr->pointer), "%s", pointer);
			return reterr->status;
		}
		ret = take_member(name, value, config, reterr);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Whoever can write the file decides what is refused on this host: only its owner and root may. */
static int check_owner(int fd, const char *path, struct nc_error *reterr)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return nc_error_sys(reterr, NC_E_CONFIG_INVALID, -errno, "look at %s", path);
	if (!S_ISREG(status.st_mode))
		return nc_error_set(reterr, NC_E_CONFIG_INVALID, -EINVAL, "%s is not a regular file", path);
	if ((status.st_uid && status.st_uid != geteuid()) || (status.st_mode & 022)) {
		nc_error_set(reterr, NC_E_CONFIG_INVALID, -EPERM, "%s may be changed by others", path);
		return nc_error_hint(reterr, "chown root and chmod go-w it");
	}
	if (status.st_size > CONFIG_SIZE_MAX)
		return nc_error_set(reterr, NC_E_CONFIG_INVALID, -EFBIG, "%s is longer than %u bytes", path, CONFIG_SIZE_MAX);
	return 0;
}

static int read_document(int fd, const char *path, json_t **ret_document, struct nc_error *reterr)
{
	NC_FREE char *text = malloc(CONFIG_SIZE_MAX + 1);
	size_t length = 0;
	ssize_t got;

	if (!text)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read %s", path);
	while ((got = read(fd, text + length, CONFIG_SIZE_MAX + 1 - length)) > 0)
		length += (size_t)got;
	if (got < 0)
		return nc_error_sys(reterr, NC_E_CONFIG_INVALID, -errno, "read %s", path);
	if (length > CONFIG_SIZE_MAX)
		return nc_error_set(reterr, NC_E_CONFIG_INVALID, -EFBIG, "%s is longer than %u bytes", path, CONFIG_SIZE_MAX);
	return nc_json_parse(text, length, NC_E_CONFIG_INVALID, ret_document, reterr);
}

static int default_paths(struct nc_config *config, struct nc_error *reterr)
{
	if (!config->key)
		config->key = strdup(NC_KEY_PATH);
	if (!config->evidence)
		config->evidence = strdup(NC_EVIDENCE_FOLDER);
	if (!config->profiles)
		config->profiles = strdup(NC_PROFILE_FOLDER);
	if (!config->key || !config->evidence || !config->profiles)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	return 0;
}

static int read_file(const char *path, struct nc_config *config, struct nc_error *reterr)
{
	NC_CLOSE int fd = open(path ? path : NC_CONFIG_PATH, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	NC_JSON json_t *document = NULL;
	int ret;

	if (fd < 0 && !path && errno == ENOENT)
		return 0;
	if (!path)
		path = NC_CONFIG_PATH;
	if (fd < 0) {
		nc_error_sys(reterr, NC_E_CONFIG_INVALID, -errno, "open %s", path);
		return reterr->status;
	}
	ret = check_owner(fd, path, reterr);
	if (ret < 0)
		return ret;
	ret = read_document(fd, path, &document, reterr);
	if (ret < 0)
		return ret;
	return take_members(document, config, reterr);
}

/* The pointer says where in the document; which document it was belongs into the line as well. */
static void name_file(const char *path, struct nc_error *reterr)
{
	char detail[sizeof(reterr->detail)];

	if (!path)
		path = NC_CONFIG_PATH;
	if (reterr->code != NC_E_CONFIG_INVALID || strstr(reterr->detail, path))
		return;
	snprintf(detail, sizeof(detail), "%s", reterr->detail);
	snprintf(reterr->detail, sizeof(reterr->detail), "%.200s: %.100s", path, detail);
}

int nc_config_read(const char *path, struct nc_config *ret_config, struct nc_error *reterr)
{
	struct nc_config config = {0};
	int ret = read_file(path, &config, reterr);

	if (ret == 0)
		ret = default_paths(&config, reterr);
	if (ret < 0) {
		name_file(path, reterr);
		nc_config_free(&config);
		return ret;
	}
	*ret_config = config;
	return 0;
}

void nc_config_free(struct nc_config *config)
{
	free(config->root);
	free(config->key);
	free(config->attester);
	free(config->evidence);
	free(config->profiles);
	free(config->floor);
	free(config->upstreams);
	for (char **name = config->foreign_programs; name && *name; name++)
		free(*name);
	free(config->foreign_programs);
	*config = (struct nc_config){0};
}
