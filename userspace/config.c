// SPDX-License-Identifier: GPL-2.0-only
/* config.c - reads /etc/netcordon/netcordon.conf: the first thing that is wrong ends the reading, with the JSON pointer of the place */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "address.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "loader.h"
#include "place.h"

#define CONFIG_SIZE_MAX (1u << 20) /* bytes; a floor of ten thousand addresses fits */

static const struct nc_place top = {.code = NC_E_CONFIG_INVALID};

static int take_string(const json_t *value, const struct nc_place *place, char **ret_text, struct nc_error *reterr)
{
	char *copy;

	if (!json_is_string(value) || !json_string_length(value))
		return nc_place_error(place, reterr, "", "must be a string that is not empty");
	copy = strdup(json_string_value(value));
	if (!copy)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	free(*ret_text);
	*ret_text = copy;
	return 0;
}

/* A member that is a string; absent: *ret_text stays. */
static int member_text(const json_t *document, const char *name, char **ret_text, struct nc_error *reterr)
{
	const json_t *value = json_object_get(document, name);

	return value ? take_string(value, NC_PLACE_KEY(&top, name), ret_text, reterr) : 0;
}

static int member_path(const json_t *document, const char *name, char **ret_path, struct nc_error *reterr)
{
	int ret = member_text(document, name, ret_path, reterr);

	if (ret == 0 && *ret_path && (*ret_path)[0] != '/')
		return nc_place_error(NC_PLACE_KEY(&top, name), reterr, "hooks have no folder to start from", "must be an absolute path");
	return ret;
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

static int member_addresses(const json_t *document, const char *name, union nc_address **ret_addresses, size_t *ret_count, struct nc_error *reterr)
{
	const struct nc_place *place = NC_PLACE_KEY(&top, name);
	NC_FREE union nc_address *addresses = NULL;
	json_t *array = NULL;
	const json_t *element;
	size_t i;
	int ret = nc_member_array(document, &top, name, false, &array, reterr);

	if (ret < 0 || !array)
		return ret;
	addresses = calloc(json_array_size(array) + 1, sizeof(*addresses));
	if (!addresses)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	json_array_foreach(array, i, element)
	{
		bool ipv4;

		if (!json_is_string(element) || !read_address(json_string_value(element), &addresses[i], &ipv4))
			return nc_place_error(NC_PLACE_INDEX(place, i), reterr, "", "must be an IPv4 or IPv6 address, as a string");
	}
	*ret_addresses = NC_TAKE_PTR(addresses);
	*ret_count = json_array_size(array);
	return 0;
}

/* "2001:db8:64::/96"; the lengths are those of RFC 6052, 2.2. */
static bool read_prefix(const char *text, struct nc_nat64_prefix *ret_prefix)
{
	static const char *const lengths[] = {"32", "40", "48", "56", "64", "96"};
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN];
	bool ipv4;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return false;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	if (!read_address(address, &ret_prefix->prefix, &ipv4) || ipv4)
		return false;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		if (strcmp(lengths[i], slash + 1))
			continue;
		ret_prefix->length = (uint32_t)atoi(lengths[i]);
		return nc_nat64_prefix_is_valid(ret_prefix);
	}
	return false;
}

static int take_nat64(const json_t *document, struct nc_config *config, struct nc_error *reterr)
{
	const struct nc_place *place = NC_PLACE_KEY(&top, "nat64");
	json_t *array = NULL;
	const json_t *element;
	size_t i;
	int ret = nc_member_array(document, &top, "nat64", false, &array, reterr);

	if (ret < 0 || !array)
		return ret;
	if (json_array_size(array) > NC_NAT64_MAX)
		return nc_place_error(place, reterr, "", "%zu prefixes; %d are allowed", json_array_size(array), NC_NAT64_MAX);
	json_array_foreach(array, i,
			   element) if (!json_is_string(element) ||
					!read_prefix(json_string_value(element),
						     &config->nat64[i])) return nc_place_error(NC_PLACE_INDEX(place, i), reterr,
											       "as in \"2001:db8:64::/96\"",
											       "must be an IPv6 prefix of 32, 40, 48, 56, 64 or 96 "
											       "bits (RFC 6052) with nothing set behind them");
	config->nat64_count = json_array_size(array);
	return 0;
}

static int take_foreign(const json_t *document, struct nc_config *config, struct nc_error *reterr)
{
	const struct nc_place *place = NC_PLACE_KEY(&top, "foreign_programs");
	json_t *array = NULL;
	const json_t *element;
	size_t i;
	int ret = nc_member_array(document, &top, "foreign_programs", false, &array, reterr);

	if (ret < 0 || !array)
		return ret;
	config->foreign_programs = calloc(json_array_size(array) + 1, sizeof(*config->foreign_programs));
	if (!config->foreign_programs)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read the configuration");
	json_array_foreach(array, i, element)
	{
		ret = take_string(element, NC_PLACE_INDEX(place, i), &config->foreign_programs[i], reterr);
		if (ret < 0)
			return ret;
		if (json_string_length(element) >= NC_PROGRAM_NAME_MAX)
			return nc_place_error(NC_PLACE_INDEX(place, i), reterr, "as `bpftool prog` shows it", "a program's name has at most %d bytes",
					      NC_PROGRAM_NAME_MAX - 1);
	}
	return 0;
}

static int take_pools(const json_t *document, struct nc_config *config, struct nc_error *reterr)
{
	static const char *const members[] = {"instances",     "rings",	      "ring_bytes",   "policy_entries",
					      "grant_entries", "grant_share", "seen_entries", NULL};
	uint32_t *const places[] = {&config->instances,	    &config->rings,	  &config->ring_bytes,	&config->policy_entries,
				    &config->grant_entries, &config->grant_share, &config->seen_entries};
	const struct nc_place *place = NC_PLACE_KEY(&top, "pools");
	json_t *pools = NULL;
	int ret = nc_member_object(document, &top, "pools", false, &pools, reterr);

	if (ret < 0 || !pools)
		return ret;
	ret = nc_object_check(pools, place, members, reterr);
	for (size_t i = 0; ret == 0 && members[i]; i++) {
		int64_t size = 0;

		ret = nc_member_integer(pools, place, members[i], false, 1, 1 << 26, &size, reterr);
		*places[i] = (uint32_t)size;
	}
	return ret;
}

static int take_log_bytes(const json_t *document, struct nc_config *config, struct nc_error *reterr)
{
	int64_t bytes = 0;
	int ret = nc_member_integer(document, &top, "log_bytes", false, 1 << 16, 1ll << 40, &bytes, reterr);

	config->log_bytes = (uint64_t)bytes;
	return ret;
}

static int take_members(const json_t *document, struct nc_config *config, struct nc_error *reterr)
{
#define MEMBER(member, meaning) #member,
	static const char *const members[] = {NC_CONFIG_MEMBERS(MEMBER) NULL};
#undef MEMBER
	int64_t version;
	int ret = nc_object_check(document, &top, members, reterr);

	if (ret == 0)
		ret = nc_member_integer(document, &top, "version", true, NC_CONFIG_VERSION, NC_CONFIG_VERSION, &version, reterr);
	if (ret == 0)
		ret = member_path(document, "root", &config->root, reterr);
	if (ret == 0)
		ret = member_path(document, "key", &config->key, reterr);
	if (ret == 0)
		ret = member_text(document, "attester", &config->attester, reterr);
	if (ret == 0)
		ret = member_path(document, "evidence", &config->evidence, reterr);
	if (ret == 0)
		ret = member_path(document, "profiles", &config->profiles, reterr);
	if (ret == 0)
		ret = member_text(document, "container_profile", &config->container_profile, reterr);
	if (ret == 0)
		ret = member_addresses(document, "floor", &config->floor, &config->floor_count, reterr);
	if (ret == 0)
		ret = member_addresses(document, "upstreams", &config->upstreams, &config->upstream_count, reterr);
	if (ret == 0)
		ret = take_nat64(document, config, reterr);
	if (ret == 0)
		ret = take_foreign(document, config, reterr);
	if (ret == 0)
		ret = take_pools(document, config, reterr);
	if (ret == 0)
		ret = take_log_bytes(document, config, reterr);
	return ret;
}

/* Whoever can write the file decides what is refused on this host: only its owner and root may. */
static int check_owner(int fd, const char *path, size_t *ret_size, struct nc_error *reterr)
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
	*ret_size = (size_t)status.st_size;
	return 0;
}

static int read_document(int fd, const char *path, size_t size, json_t **ret_document, struct nc_error *reterr)
{
	NC_FREE char *text = malloc(size + 1);
	size_t length = 0;
	ssize_t got;

	if (!text)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "read %s", path);
	while ((got = read(fd, text + length, size + 1 - length)) > 0)
		length += (size_t)got;
	if (got < 0)
		return nc_error_sys(reterr, NC_E_CONFIG_INVALID, -errno, "read %s", path);
	if (length > size)
		return nc_error_set(reterr, NC_E_CONFIG_INVALID, -EBUSY, "%s grows while it is read", path);
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
	size_t size = 0;
	int ret;

	if (fd < 0 && !path && errno == ENOENT)
		return 0;
	if (!path)
		path = NC_CONFIG_PATH;
	if (fd < 0) {
		nc_error_sys(reterr, NC_E_CONFIG_INVALID, -errno, "open %s", path);
		return reterr->status;
	}
	ret = check_owner(fd, path, &size, reterr);
	if (ret < 0)
		return ret;
	ret = read_document(fd, path, size, &document, reterr);
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
	free(config->container_profile);
	free(config->floor);
	free(config->upstreams);
	for (char **name = config->foreign_programs; name && *name; name++)
		free(*name);
	free(config->foreign_programs);
	*config = (struct nc_config){0};
}
