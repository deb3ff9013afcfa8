/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profile.c - bytes into a checked profile
 *
 * The document is read strictly by json.c (duplicate keys, escapes, numbers), then member by member here and in the parts: nothing that is not understood
 * is passed over. The first error ends it, and a profile comes out whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "json.h"
#include "profile.h"
#include "profile_parts.h"

static const char *const mode_words[] = {
#define NC_WORD(symbol, value, word) [value - 1] = word,
	NC_MODES(NC_WORD)
#undef NC_WORD
		NULL};

#define PIPE_WAIT_MS 10000

int nc_profile_read(const char *path, char **ret_text, size_t *ret_length, struct nc_error *reterr)
{
	/* A pipe may be handed in; one that nobody writes to must not hold us: without a writer it is empty, with a silent one it is given up. */
	NC_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	NC_FREE char *text = NULL;
	size_t length = 0, size = 0;
	ssize_t count;

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_PROFILE_UNREADABLE, -errno, "open %s", path);
	for (;;) {
		if (length == size) {
			char *grown = realloc(text, (size = size ? 2 * size : 16384) + 1);

			if (!grown)
				return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the profile");
			text = grown;
		}
		count = read(fd, text + length, size - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN && poll(&readable, 1, PIPE_WAIT_MS) == 1)
			continue;
		if (count < 0)
			return nc_error_sys(reterr, NC_E_PROFILE_UNREADABLE, -errno, "read %s", path);
		if (!count)
			break;
		length += (size_t)count;
		if (length > NC_JSON_SIZE_MAX)
			return nc_error_set(reterr, NC_E_PROFILE_UNREADABLE, -EFBIG, "%s has more than %u bytes", path, NC_JSON_SIZE_MAX);
	}
	text[length] = '\0';
	*ret_text = NC_TAKE_PTR(text);
	*ret_length = length;
	return 0;
}

void nc_profile_free(struct nc_profile *profile)
{
	if (!profile)
		return;
	free(profile->destinations);
	free(profile->plane_destinations);
	nc_strings_free(profile->process.env);
	nc_strings_free(profile->plane_credentials);
	free(profile);
}

static bool opens_address(const struct nc_destination *destinations, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!destinations[i].literal && destinations[i].wire == NC_WIRE_ANY)
			return true;
	return false;
}

bool nc_profile_names_open(const struct nc_profile *profile)
{
	return opens_address(profile->destinations, profile->destination_count) ||
	       opens_address(profile->plane_destinations, profile->plane_destination_count);
}

/* Words of the three members of the union; a member of another is named as what it is rather than as unknown. */
static int check_network_members(const json_t *network, const struct nc_place *place, enum nc_mode mode, struct nc_error *reterr)
{
	static const char *const members[][4] = {
		[NC_MODE_NONE] = {"mode"},
		[NC_MODE_ALLOWLIST] = {"mode", "destinations", "required_egress_certification"},
		[NC_MODE_UNRESTRICTED] = {"mode", "non_public"},
	};

	if (mode != NC_MODE_ALLOWLIST && json_object_get(network, "required_egress_certification"))
		return nc_place_error(NC_PLACE_KEY(place, "required_egress_certification"), reterr, "remove it, or use mode allowlist",
				      "\"required_egress_certification\" exists only inside mode allowlist");
	if (mode != NC_MODE_ALLOWLIST && json_object_get(network, "destinations"))
		return nc_place_error(NC_PLACE_KEY(place, "destinations"), reterr, "remove them, or use mode allowlist",
				      "\"destinations\" exist only inside mode allowlist");
	if (mode != NC_MODE_UNRESTRICTED && json_object_get(network, "non_public"))
		return nc_place_error(NC_PLACE_KEY(place, "non_public"), reterr, "remove it", "\"non_public\" exists only inside mode unrestricted");
	return nc_object_check(network, place, members[mode], reterr);
}

static int parse_required(const json_t *network, const struct nc_place *place, struct nc_profile *profile, struct nc_error *reterr)
{
	static const char *const words[] = {"advisory_filter", "security_boundary", NULL};
	static const enum nc_grade grades[] = {NC_GRADE_ADVISORY_FILTER, NC_GRADE_SECURITY_BOUNDARY};
	const json_t *value = json_object_get(network, "required_egress_certification");
	size_t which = SIZE_MAX;
	int status;

	if (json_is_string(value) && !strcmp(json_string_value(value), "unsupported"))
		return nc_place_error(NC_PLACE_KEY(place, "required_egress_certification"), reterr, "one of: advisory_filter, security_boundary",
				      "\"unsupported\" is what a provider may say of itself, and never a requirement");
	status = nc_member_word(network, place, "required_egress_certification", false, words, &which, reterr);
	if (status)
		return status;
	profile->required_given = which != SIZE_MAX;
	profile->required = profile->required_given ? grades[which] : NC_GRADE_ADVISORY_FILTER;
	return 0;
}

static int parse_network(const json_t *root, const struct nc_place *top, const struct nc_settings *settings, struct nc_profile *profile,
			 struct nc_error *reterr)
{
	const struct nc_listing listing = {.owner = NC_OWNER_WORKLOAD, .settings = settings};
	const struct nc_place *place = NC_PLACE_KEY(top, "network");
	json_t *network = NULL, *destinations = NULL;
	size_t mode = 0;
	int status = nc_member_object(root, top, "network", true, &network, reterr);

	if (!status)
		status = nc_member_word(network, place, "mode", true, mode_words, &mode, reterr);
	if (status)
		return status;
	profile->mode = (enum nc_mode)(mode + 1);
	status = check_network_members(network, place, profile->mode, reterr);
	if (!status)
		status = nc_member_boolean(network, place, "non_public", &profile->non_public, reterr);
	if (status || profile->mode != NC_MODE_ALLOWLIST)
		return status;
	status = parse_required(network, place, profile, reterr);
	if (!status)
		status = nc_member_array(network, place, "destinations", true, &destinations, reterr);
	if (status)
		return status;
	return nc_profile_destinations(destinations, NC_PLACE_KEY(place, "destinations"), &listing, &profile->destinations,
				       &profile->destination_count, reterr);
}

/* A credential's name that stands in the workload's own environment would hand over the very thing that is kept apart. */
static int check_credential(const struct nc_profile *profile, size_t index, const struct nc_place *place, struct nc_error *reterr)
{
	const char *name = profile->plane_credentials[index];
	size_t length = strlen(name);
	char quote[NC_QUOTE_SIZE];

	nc_quote(name, length, quote);
	if (!nc_environment_name(name))
		return nc_place_error(place, reterr, "name the variable, not its value", "\"%s\" is not an environment variable's name", quote);
	for (size_t i = 0; i < index; i++)
		if (!strcmp(profile->plane_credentials[i], name))
			return nc_place_error(place, reterr, "remove one of the two", "\"%s\" is named twice", quote);
	for (char **variable = profile->process.env; variable && *variable; variable++)
		if (!strncmp(*variable, name, length) && (*variable)[length] == '=')
			return nc_place_error(place, reterr, "remove it from /process/env",
					      "\"%s\" is a plane credential and stands in the workload's environment", quote);
	return 0;
}

#define NC_CREDENTIALS_MAX 256

static int parse_credentials(const json_t *plane, const struct nc_place *top, struct nc_profile *profile, struct nc_error *reterr)
{
	const struct nc_place *place = NC_PLACE_KEY(top, "credentials");
	json_t *array = NULL;
	const json_t *value;
	size_t i;
	int status = nc_member_array(plane, top, "credentials", false, &array, reterr);

	if (status)
		return status;
	if (json_array_size(array) > NC_CREDENTIALS_MAX)
		return nc_place_error(place, reterr, "", "%zu credentials; %d are allowed", json_array_size(array), NC_CREDENTIALS_MAX);
	profile->plane_credentials = calloc(json_array_size(array) + 1, sizeof(*profile->plane_credentials));
	if (!profile->plane_credentials)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the credentials' names");
	json_array_foreach(array, i, value)
	{
		if (!json_is_string(value))
			return nc_place_error(NC_PLACE_INDEX(place, i), reterr, "", "must be the name of an environment variable, as a string");
		profile->plane_credentials[i] = strdup(json_string_value(value));
		if (!profile->plane_credentials[i])
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the credentials' names");
		status = check_credential(profile, i, NC_PLACE_INDEX(place, i), reterr);
		if (status)
			return status;
	}
	return 0;
}

static int parse_plane(const json_t *root, const struct nc_place *top, const struct nc_settings *settings, struct nc_profile *profile,
		       struct nc_error *reterr)
{
	const struct nc_listing listing = {.owner = NC_OWNER_PLANE, .settings = settings};
	static const char *const members[] = {"destinations", "credentials", NULL};
	const struct nc_place *place = NC_PLACE_KEY(top, "plane");
	json_t *plane = NULL, *destinations = NULL;
	int status = nc_member_object(root, top, "plane", false, &plane, reterr);

	if (!status && plane)
		status = nc_object_check(plane, place, members, reterr);
	if (!status)
		status = nc_member_array(plane, place, "destinations", false, &destinations, reterr);
	if (!status)
		status = nc_profile_destinations(destinations, NC_PLACE_KEY(place, "destinations"), &listing, &profile->plane_destinations,
						 &profile->plane_destination_count, reterr);
	return status ? status : parse_credentials(plane, place, profile, reterr);
}

static int parse_gaps(const json_t *root, const struct nc_place *top, struct nc_profile *profile, struct nc_error *reterr)
{
	const struct nc_place *place = NC_PLACE_KEY(top, "accept_gaps");
	json_t *array = NULL;
	const json_t *value;
	size_t i;
	int status = nc_member_array(root, top, "accept_gaps", false, &array, reterr);

	if (status)
		return status;
	json_array_foreach(array, i, value)
	{
		if (!json_is_string(value) || strcmp(json_string_value(value), "unix_sockets"))
			return nc_place_error(NC_PLACE_INDEX(place, i), reterr, "known here: unix_sockets", "is not a gap that can be accepted");
		if (profile->unix_gap_accepted)
			return nc_place_error(NC_PLACE_INDEX(place, i), reterr, "remove one of the two", "\"unix_sockets\" is named twice");
		profile->unix_gap_accepted = true;
	}
	return 0;
}

static int parse_document(const json_t *root, const struct nc_place *top, const struct nc_settings *settings, struct nc_profile *profile,
			  struct nc_error *reterr)
{
	static const char *const members[] = {"version", "network", "loopback", "process", "plane", "accept_gaps", NULL};
	static const char *const loopback_words[] = {"closed", "own_netns", NULL};
	size_t loopback = 0;
	int64_t version = 0;
	json_t *process = NULL;
	int status = nc_object_check(root, top, members, reterr);

	if (!status)
		status = nc_member_integer(root, top, "version", true, NC_PROFILE_VERSION, NC_PROFILE_VERSION, &version, reterr);
	if (!status)
		status = parse_network(root, top, settings, profile, reterr);
	if (!status)
		status = nc_member_word(root, top, "loopback", false, loopback_words, &loopback, reterr);
	if (!status)
		status = nc_member_object(root, top, "process", false, &process, reterr);
	if (!status)
		status = nc_profile_process(process, NC_PLACE_KEY(top, "process"), &profile->process, reterr);
	if (!status)
		status = parse_plane(root, top, settings, profile, reterr);
	if (!status)
		status = parse_gaps(root, top, profile, reterr);
	profile->loopback_own_netns = loopback == 1;
	return status;
}

int nc_profile_parse(const char *text, size_t length, const struct nc_settings *settings, struct nc_profile **ret_profile, struct nc_error *reterr)
{
	const struct nc_place root = {.code = NC_E_PROFILE_INVALID};
	NC_JSON json_t *document = NULL;
	NC_FREE char *canonical = NULL;
	struct nc_profile *profile;
	size_t canonical_length = 0;
	int status = nc_json_parse(text, length, NC_E_PROFILE_INVALID, &document, reterr);

	if (status)
		return status;
	profile = calloc(1, sizeof(*profile));
	if (!profile)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the profile");
	status = parse_document(document, &root, settings, profile, reterr);
	if (!status)
		status = nc_json_canonical(document, &canonical, &canonical_length, reterr);
	if (status) {
		nc_profile_free(profile);
		return status;
	}
	nc_digest_of(canonical, canonical_length, &profile->digest);
	*ret_profile = profile;
	return 0;
}

int nc_profile_load(const char *path, const struct nc_settings *settings, struct nc_profile **ret_profile, struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	size_t length;
	int r = nc_profile_read(path, &text, &length, reterr);

	return r < 0 ? r : nc_profile_parse(text, length, settings, ret_profile, reterr);
}
