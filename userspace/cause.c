/* SPDX-License-Identifier: GPL-2.0-only */
/* cause.c - how an instance ended, in words: the table of causes, and the `result` of a closing statement */
#include "cause.h"

#include <stdio.h>
#include <string.h>
#include "cleanup.h"
#include "evidence_names.h"
#include "folder.h"
#include "json.h"
#include "text.h"

#define WORD_LENGTH 48 /* at most, of what a foreign folder says */
#define WORD_TEXT NC_TEXT_SAFE_SIZE(WORD_LENGTH)

static const struct cause {
	const char *word, *meaning;
	bool ours;
} causes[] = {
#define CAUSE(word, by, sentence) {word, sentence, NC_ENDED_##by},
	NC_CAUSES(CAUSE)
#undef CAUSE
};

static const struct cause *find(const char *word)
{
	static const struct cause none = {"", "", false};

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		if (!strcmp(causes[i].word, word))
			return &causes[i];
	}
	return &none;
}

bool nc_cause_is_ours(const char *word)
{
	return find(word)->ours;
}

const char *nc_cause_meaning(const char *word)
{
	return find(word)->meaning;
}

static const char *safe_of(const json_t *result, const char *member, char ret_text[WORD_TEXT])
{
	const char *text = nc_json_text(result, member);

	nc_text_safe(text, strnlen(text, WORD_LENGTH), ret_text, WORD_TEXT);
	return ret_text;
}

json_t *nc_cause_read(int folder_fd)
{
	NC_JSON json_t *closing = NULL;
	NC_FREE char *text = NULL;
	struct nc_error ignored; /* no closing statement that can be read is an answer too */
	size_t length;

	if (nc_folder_read(folder_fd, NC_EVIDENCE_CLOSING, NC_JSON_SIZE_MAX, &text, &length, &ignored) < 0 ||
	    nc_json_parse(text, length, NC_E_EVIDENCE_INVALID, &closing, &ignored) < 0)
		return NULL;
	return json_incref(json_object_get(closing, "result"));
}

const char *nc_cause_text(const json_t *result, char ret_text[NC_CAUSE_TEXT])
{
	const json_t *code = json_object_get(result, "code"), *signal = json_object_get(result, "signal");
	char cause[WORD_TEXT], failure[WORD_TEXT];
	size_t used;

	used = (size_t)snprintf(ret_text, NC_CAUSE_TEXT, "%s", *safe_of(result, "cause", cause) ? cause : "ended");
	if (*safe_of(result, "failure", failure))
		used += (size_t)snprintf(ret_text + used, NC_CAUSE_TEXT - used, " (%s)", failure);
	if (code)
		used += (size_t)snprintf(ret_text + used, NC_CAUSE_TEXT - used, ", exit status %lld", (long long)json_integer_value(code));
	if (signal)
		snprintf(ret_text + used, NC_CAUSE_TEXT - used, ", signal %lld", (long long)json_integer_value(signal));
	return ret_text;
}
