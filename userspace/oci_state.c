/* SPDX-License-Identifier: GPL-2.0-only */
/* oci_state.c - reads what a runtime tells its hooks about a container */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "clock.h"
#include "cleanup.h"
#include "digest.h"
#include "json.h"
#include "oci.h"
#include "place.h"

#define ID_MAX 1024
#define BUNDLE_MAX 4096
#define OURS "netcordon." /* annotations that begin so are ours: an unknown one is a misspelt one */

static const struct nc_place top = {.code = NC_E_OCI_STATE_INVALID};

/* The statuses of the specification, and in which hook each is seen. A runtime calls its createRuntime hooks in either of the first two. */
static const struct {
	const char *word;
	enum nc_oci_moment moment;
} statuses[] = {
	{"creating", NC_OCI_CREATE},
	{"created", NC_OCI_CREATE},
	{"stopped", NC_OCI_STOP},
};

static int take_text(const json_t *document, const char *name, size_t max, char **ret_text, struct nc_error *reterr)
{
	const json_t *value = json_object_get(document, name);

	if (!json_is_string(value) || !json_string_length(value) || json_string_length(value) > max)
		return nc_place_error(NC_PLACE_KEY(&top, name), reterr, "", "must be a string of 1 to %zu bytes", max);
	*ret_text = strdup(json_string_value(value));
	return *ret_text ? 0 : nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a container's state");
}

static int take_status(const json_t *document, enum nc_oci_moment *ret_moment, struct nc_error *reterr)
{
	const json_t *value = json_object_get(document, "status");
	const char *word = json_string_value(value);

	for (size_t i = 0; word && i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (!strcmp(word, statuses[i].word)) {
			*ret_moment = statuses[i].moment;
			return 0;
		}
	}
	if (word && !strcmp(word, "running"))
		return nc_place_error(NC_PLACE_KEY(&top, "status"), reterr, "configure the hook as createRuntime",
				      "the container runs already: it is too late to seal it");
	return nc_place_error(NC_PLACE_KEY(&top, "status"), reterr, "", "must be creating, created or stopped");
}

static int take_pid(const json_t *document, pid_t *ret_pid, struct nc_error *reterr)
{
	const json_t *value = json_object_get(document, "pid");

	if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > 1 << 22)
		return nc_place_error(NC_PLACE_KEY(&top, "pid"), reterr, "", "must be the number of a process");
	*ret_pid = (pid_t)json_integer_value(value);
	return 0;
}

/* A name and nothing else: no path, no way up, nothing that begins like an option or a hidden file. */
static bool name_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);

	return length && length <= NC_OCI_PROFILE_NAME_MAX && strchr(letters, name[0]) && strspn(name, legal) == length;
}

static int take_annotations(const json_t *document, char **ret_profile, struct nc_error *reterr)
{
	const struct nc_place *place = NC_PLACE_KEY(&top, "annotations");
	json_t *annotations = json_object_get(document, "annotations"), *value;
	const char *key;

	if (!annotations || json_is_null(annotations))
		return 0;
	if (!json_is_object(annotations))
		return nc_place_error(place, reterr, "", "must be an object");
	json_object_foreach(annotations, key, value)
	{
		if (strncasecmp(key, OURS, strlen(OURS)) != 0)
			continue;
		if (strcmp(key, NC_OCI_ANNOTATION) != 0)
			return nc_place_error(NC_PLACE_KEY(place, key), reterr, "", "unknown annotation (known here: " NC_OCI_ANNOTATION ")");
		if (!json_is_string(value) || !name_valid(json_string_value(value)))
			return nc_place_error(NC_PLACE_KEY(place, key), reterr, "name a profile of the operator's folder, without path and .json",
					      "must be a name of letters, digits, '.', '_' and '-', at most %d", NC_OCI_PROFILE_NAME_MAX);
		*ret_profile = strdup(json_string_value(value));
		if (!*ret_profile)
			return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a container's state");
	}
	return 0;
}

static int check_version(const json_t *document, struct nc_error *reterr)
{
	const char *version = json_string_value(json_object_get(document, "ociVersion"));

	if (!version || strncmp(version, "1.", 2) != 0)
		return nc_place_error(NC_PLACE_KEY(&top, "ociVersion"), reterr, "", "must be 1.x: states of other versions are not known");
	return 0;
}

int nc_oci_state_parse(const char *text, size_t length, struct nc_oci_state *ret_state, struct nc_error *reterr)
{
	struct nc_oci_state state = {0};
	NC_JSON json_t *document = NULL;
	int r = nc_json_parse(text, length, NC_E_OCI_STATE_INVALID, &document, reterr);

	if (r < 0)
		return r;
	if (!json_is_object(document))
		return nc_place_error(&top, reterr, "", "must be an object: a container's state");
	r = check_version(document, reterr) ?: take_status(document, &state.moment, reterr) ?: take_text(document, "id", ID_MAX, &state.id, reterr)
		?: take_text(document, "bundle", BUNDLE_MAX, &state.bundle, reterr) ?: take_annotations(document, &state.profile, reterr);
	if (r == 0 && state.moment == NC_OCI_CREATE)
		r = take_pid(document, &state.pid, reterr);
	if (r < 0) {
		nc_oci_state_free(&state);
		return r;
	}
	*ret_state = state;
	return 0;
}

/* Waits until there is something to read. */
static int await(int fd, int64_t until, struct nc_error *reterr)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = until - nc_now_ms();
		int r = left > 0 ? poll(&readable, 1, (int)left) : 0;

		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "wait for the container's state");
		if (r == 0) {
			nc_error_set(reterr, NC_E_DEADLINE, -ETIMEDOUT, "the container's state on standard input does not end");
			return nc_error_hint(reterr, "a runtime writes the state and closes its end");
		}
	}
}

int nc_oci_state_read(int fd, int timeout_ms, struct nc_oci_state *ret_state, struct nc_error *reterr)
{
	int64_t until = nc_now_ms() + timeout_ms;
	size_t length = 0, size = 1 << 14;
	NC_FREE char *text = malloc(size);
	ssize_t got = 1;

	while (text && got) {
		int r = await(fd, until, reterr);

		if (r < 0)
			return r;
		got = read(fd, text + length, size - length);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "read the container's state");
		length += got > 0 ? (size_t)got : 0;
		if (length > NC_OCI_STATE_MAX)
			return nc_error_set(reterr, NC_E_OCI_STATE_INVALID, -EFBIG, "the container's state has more than %u bytes", NC_OCI_STATE_MAX);
		if (length == size) {
			char *grown = realloc(text, size *= 2);

			if (!grown)
				return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a container's state");
			text = grown;
		}
	}
	if (!text)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a container's state");
	return nc_oci_state_parse(text, length, ret_state, reterr);
}

void nc_oci_state_free(struct nc_oci_state *state)
{
	free(state->id);
	free(state->bundle);
	free(state->profile);
	*state = (struct nc_oci_state){0};
}

#define PREFIX "oci-"
#define BEGINNING 40 /* of an id that is no name */

void nc_oci_instance(const char *id, char ret_name[NC_INSTANCE_NAME_MAX + 1])
{
	static const char legal[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t length = strlen(id);
	struct nc_digest digest;
	char hex[NC_DIGEST_HEX];
	char beginning[BEGINNING + 1] = "";

	if (strspn(id, legal) == length && length <= NC_INSTANCE_NAME_MAX - strlen(PREFIX)) {
		snprintf(ret_name, NC_INSTANCE_NAME_MAX + 1, PREFIX "%s", id);
		return;
	}
	nc_digest_of(id, length, &digest);
	nc_digest_hex(&digest, hex);
	for (size_t i = 0; i < BEGINNING && id[i]; i++)
		beginning[i] = strchr(legal, id[i]) ? id[i] : '-';
	snprintf(ret_name, NC_INSTANCE_NAME_MAX + 1, PREFIX "%s-%.16s", beginning, hex);
}
