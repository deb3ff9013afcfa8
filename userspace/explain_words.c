// SPDX-License-Identifier: GPL-2.0-only
/* explain_words.c - `explain WORD`: what a word of the interface means. Each is a row of the table that its users have it from */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "evidence_clauses.h"
#include "evidence_names.h"
#include "explain.h"
#include "loader.h"
#include "output.h"
#include "text.h"

struct word {
	const char *word, *what, *meaning;
};

static const struct word words[] = {
#define REASON(symbol, value, word, decision, sentence) {word, "reason, " #decision, sentence},
	NC_REASONS(REASON)
#undef REASON
#define NAME_REASON(symbol, word, sentence) {word, "reason, of a name", sentence},
		NC_NAME_REASONS(NAME_REASON)
#undef NAME_REASON
#define CAUSE(word, by, sentence) {word, "cause of an instance's end", sentence},
			NC_CAUSES(CAUSE)
#undef CAUSE
#define CLAUSE(symbol, word, group, reference, sentence) {word, "clause of evidence, that it tells", sentence},
				NC_CLAUSES(CLAUSE)
#undef CLAUSE
#define ERROR(symbol, word, status, sentence) {word, "error, exit status " #status, sentence},
					NC_ERRORS(ERROR)
#undef ERROR
#define STATE(symbol, word, sentence) {word, "state of an instance", sentence},
						NC_INSTANCE_STATES(STATE)
#undef STATE
	/* states that docs/runner.md tells apart and `status` does not, and the one gap that a profile names */
	{"sealing", "state of an instance", "its cordon is being made; nothing of the workload runs"},
	{"sealed", "state of an instance", "its cordon holds and was told; nothing of the workload has run yet"},
	{"running", "state of an instance", "the command runs under its supervisor"},
	{"ending", "state of an instance", "TERM was sent, or the command has ended; what is left of it is ended before the evidence is closed"},
	{"unix_sockets", "gap that a profile accepts, in accept_gaps",
	 "socket(AF_UNIX) stays allowed where this kernel cannot judge named unix sockets: a way out through services on the host"},
};
#define WORDS (sizeof(words) / sizeof(*words))
#define ROOM 512 /* of words, the ways out included */

/* The ways out and what closes them are the loader's; that nothing is said to be in force changes nothing in what they are. */
static size_t ways_out(struct word *ret_words, size_t room)
{
	const struct nc_effective_list nothing = {0};
	const struct nc_closure_facts facts = {.effective = &nothing};
	const struct nc_closure *rows;
	const char *word, *needs;
	size_t count, used = 0;

	nc_closures_of(&facts, &rows, &count);
	for (size_t i = 0; i < count && used < room; i++)
		ret_words[used++] = (struct word){rows[i].path, "way out, row of `host probe`", rows[i].summary};
	for (size_t i = 0; used < room && nc_closure_mechanism(i, &word, &needs); i++)
		ret_words[used++] = (struct word){word, "what closes ways out", needs[0] ? needs : "part of every launch"};
	return used;
}

/* What follows from a refusal that has no caller to be told. */
static const char *ends_of(const char *word)
{
	return strcmp(word, nc_reason_word(NC_REASON_SERVER_NAME_UNREADABLE)) && strcmp(word, nc_reason_word(NC_REASON_SERVER_NAME_MISMATCH))
		       ? NULL
		       : NC_WIRE_ENDS;
}

static int print_word(const struct nc_invocation *invocation, const struct word *word)
{
	const char *ends = ends_of(word->word);

	if (invocation->json) {
		json_t *document = json_pack("{s:s, s:s, s:s, s:s*}", "word", word->word, "what", word->what, "meaning", word->meaning, "ends", ends);

		nc_output_json(document);
		json_decref(document);
	} else {
		printf("%s (%s): %s\n", word->word, word->what, word->meaning);
		if (ends)
			printf("%s\n", ends);
	}
	return NC_EXIT_YES;
}

int nc_command_explain_word(const struct nc_invocation *invocation, struct nc_error *reterr)
{
	const char *asked = invocation->arguments[0], *near, *known[ROOM + 1] = {NULL};
	struct word all[ROOM];
	size_t count = WORDS;

	_Static_assert(WORDS < ROOM / 2, "half of the room is for the ways out");
	memcpy(all, words, sizeof(words));
	count += ways_out(all + WORDS, ROOM - WORDS);
	for (size_t i = 0; i < count; i++) {
		known[i] = all[i].word;
		if (!strcmp(all[i].word, asked))
			return print_word(invocation, &all[i]);
	}
	near = nc_nearest(asked, known);
	nc_error_set(reterr, NC_E_USAGE, -EINVAL, "explain: '%s' is no word that netcordon uses, and a destination needs --profile", asked);
	if (near)
		return nc_error_hint(reterr, "did you mean '%s'?", near);
	return nc_error_hint(reterr, "usage: netcordon explain %s", invocation->command->arguments);
}
