/* SPDX-License-Identifier: GPL-2.0-only */
/* evidence_report.c - the result of a verification as a document (docs/schema/evidence-verify.schema.json) */
#include "evidence.h"
#include "json.h"

json_t *nc_evidence_report_json(const struct nc_evidence_report *report, const char *key_id, bool compared)
{
	json_t *document = json_object();
	char summary[NC_CLAUSES_SUMMARY];

	json_object_set_new(document, "version", json_integer(1));
	json_object_set_new(document, "answer", json_string(nc_evidence_answer_word(report->answer)));
	json_object_set_new(document, "reason", json_string(report->reason));
	json_object_set_new(document, "instance", json_string(report->instance));
	json_object_set_new(document, "events", json_integer((json_int_t)report->events));
	json_object_set_new(document, "lost", nc_json_u64(report->losses)); /* more than a JSON number can hold, if need be */
	json_object_set_new(document, "key_id", json_string(key_id));
	if (report->clauses[NC_CLAUSE_POLICY_INTACT].result != NC_CLAUSE_NOT_COMPARED)
		json_object_set_new(document, "policy_intact", json_boolean(report->clauses[NC_CLAUSE_POLICY_INTACT].result == NC_CLAUSE_HOLDS));
	if (report->closing)
		json_object_set(document, "result", json_object_get(report->closing, "result"));
	json_object_set_new(document, "clauses", nc_clauses_json(report->clauses));
	json_object_set_new(document, "summary", json_string(nc_clauses_summary(report->clauses, summary)));
	json_object_set_new(document, "binding_compared", json_boolean(compared));
	json_object_set_new(document, "proves", json_string(report->answer == NC_EVIDENCE_INVALID ? "nothing" : "authorship and integrity"));
	return document;
}
