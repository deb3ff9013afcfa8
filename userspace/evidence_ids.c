/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_ids.c - see evidence_ids.h */
#include "evidence_ids.h"

#include <stdio.h>
#include <string.h>

#define KEY_SIZE 24

static bool key_of(const json_t *object, char ret_key[KEY_SIZE])
{
	const json_t *id = json_object_get(object, "name_id");

	snprintf(ret_key, KEY_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
	return json_is_integer(id);
}

bool nc_evidence_ids_numbered(const json_t *launch)
{
	json_t *binding = json_object_get(launch, "name_binding"), *rows;
	const char *authority;

	json_object_foreach(binding, authority, rows)
	{
		if (json_array_size(rows))
			return json_object_get(json_array_get(rows, 0), "name_id") != NULL;
	}
	return binding != NULL;
}

static bool learn_row(json_t *ids, const json_t *row)
{
	json_t *host = json_object_get(row, "host"), *known;
	char key[KEY_SIZE];

	if (!key_of(row, key) || !json_is_string(host))
		return false;
	known = json_object_get(ids, key);
	return known ? json_equal(known, host) : json_object_set(ids, key, host) == 0;
}

bool nc_evidence_ids_learn(json_t *ids, const json_t *document)
{
	const char *authority;
	json_t *rows, *row;
	size_t index;

	json_object_foreach(json_object_get(document, "name_binding"), authority, rows)
	{
		json_array_foreach(rows, index, row)
		{
			if (!learn_row(ids, row))
				return false;
		}
	}
	return true;
}

const char *nc_evidence_ids_name(const json_t *ids, const json_t *record)
{
	char key[KEY_SIZE];

	return key_of(record, key) ? json_string_value(json_object_get(ids, key)) : NULL;
}

bool nc_evidence_ids_listed(const json_t *ids, const json_t *record)
{
	const char *listed = nc_evidence_ids_name(ids, record), *said = json_string_value(json_object_get(record, "name"));

	if (!json_object_get(record, "name_id"))
		return true;
	return listed && (!said || !strcmp(said, listed));
}
