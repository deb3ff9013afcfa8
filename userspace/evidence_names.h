/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_names.h - the names that the writer and the reader of evidence share */
#ifndef NC_EVIDENCE_NAMES_H
#define NC_EVIDENCE_NAMES_H

#define NC_EVIDENCE_LAUNCH "launch.json"
#define NC_EVIDENCE_LOG "events.jsonl"
#define NC_EVIDENCE_CHECKPOINT "checkpoint.json"
#define NC_EVIDENCE_CLOSING "closing.json"

#define NC_EVIDENCE_END "end" /* kind of a closed log's last record */

/* Members of the launch statement that every later statement repeats; NULL-terminated. */
static const char *const nc_evidence_identity[] = {"instance", "generation", "boot_id", "manifest", NULL};

#endif
