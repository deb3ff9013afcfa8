/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * evidence_ids.h - which name stands behind a number in the log
 *
 * A record speaks of a name by its `name_id`; the launch statement and each record of an update list the numbers of the names that are sealed from there on
 * (`name_binding`). A number is never another name's within one instance.
 */
#ifndef NC_EVIDENCE_IDS_H
#define NC_EVIDENCE_IDS_H

#include <jansson.h>
#include <stdbool.h>

/* Does a launch statement say which names are sealed, and give their numbers? Those of the first versions gave none. */
bool nc_evidence_ids_numbered(const json_t *launch);
/* Takes what a launch statement or a record lists, if anything, into `ids`, an object that begins empty. False: a row has no number, its number is another
 * name's already, or memory is short. */
bool nc_evidence_ids_learn(json_t *ids, const json_t *document);
/* The name of the record's `name_id`; NULL: it has none, or one that nothing lists. It lives as long as `ids`. */
const char *nc_evidence_ids_name(const json_t *ids, const json_t *record);
/* Does the record speak of no name, or of one that is listed, and by that name where it names it itself? */
bool nc_evidence_ids_listed(const json_t *ids, const json_t *record);

#endif
