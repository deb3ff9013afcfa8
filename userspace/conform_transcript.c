/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_transcript.c - a run as JSON and back */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "conform_transcript.h"
#include "place.h"

json_t *nc_run_json(const struct nc_run *run)
{
	return json_pack("{s:b s:s s:s s:b s:b s:b s:b s:b s:b s:s s:i s:i s:i s:I}", "made", run->made, "failure", nc_error_word(run->failure),
			 "detail", run->detail, "twin_wanted", run->twin_wanted, "twin_reached", run->twin_reached, "reported", run->reported,
			 "impossible", run->impossible, "answered", run->answered, "through", run->through, "how", run->how, "listened",
			 (int)run->seen.listened, "tokens", (int)run->seen.tokens, "packets", (int)run->seen.packets, "lost", (json_int_t)run->lost);
}

static int failure_of(const struct nc_fields *fields, enum nc_error_code *ret_code, struct nc_error *reterr)
{
	char word[64];
	int r = nc_fields_text(fields, "failure", word, sizeof(word), reterr);

	for (int code = 0; !r && code < NC_E_COUNT; code++) {
		if (!strcmp(word, nc_error_word((enum nc_error_code)code))) {
			*ret_code = (enum nc_error_code)code;
			return 0;
		}
	}
	return r < 0 ? r : nc_fields_refuse(fields, "failure", reterr, "\"%s\" is not an error", word);
}

static int count_of(const struct nc_fields *fields, const char *name, uint32_t *ret_count, struct nc_error *reterr)
{
	int64_t value;
	int r = nc_fields_integer(fields, name, 0, INT32_MAX, &value, reterr);

	if (!r)
		*ret_count = (uint32_t)value;
	return r;
}

int nc_run_parse(const json_t *value, const char *pointer, struct nc_run *ret_run, struct nc_error *reterr)
{
	static const char *const members[] = {"made",	 "failure", "detail",	"twin_wanted", "twin_reached", "reported", "impossible", "answered",
					      "through", "how",	    "listened", "tokens",      "packets",      "lost",	   NULL};
	struct nc_run run = {0};
	const struct {
		const char *name;
		bool *into;
	} flags[] = {{"made", &run.made},	  {"twin_wanted", &run.twin_wanted}, {"twin_reached", &run.twin_reached},
		     {"reported", &run.reported}, {"impossible", &run.impossible},   {"answered", &run.answered},
		     {"through", &run.through}};
	struct nc_fields fields;
	int64_t lost = 0;
	int r = nc_fields_begin(&fields, value, pointer, NC_E_STATEMENT_INVALID, members, reterr);

	for (size_t i = 0; !r && i < sizeof(flags) / sizeof(*flags); i++)
		r = nc_fields_boolean(&fields, flags[i].name, flags[i].into, reterr);
	if (!r)
		r = failure_of(&fields, &run.failure, reterr);
	if (!r)
		r = count_of(&fields, "listened", &run.seen.listened, reterr);
	if (!r)
		r = count_of(&fields, "tokens", &run.seen.tokens, reterr);
	if (!r)
		r = count_of(&fields, "packets", &run.seen.packets, reterr);
	if (!r)
		r = nc_fields_integer(&fields, "lost", 0, INT64_C(1) << 52, &lost, reterr);
	if (r < 0)
		return r;
	run.lost = (uint64_t)lost;
	*ret_run = run;
	return 0;
}
