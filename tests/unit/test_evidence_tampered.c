/* SPDX-License-Identifier: GPL-2.0-only */
/* test_evidence_tampered.c - evidence that somebody changed, forged or put together from parts: never complete */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sodium.h>
#include <cmocka.h>
#define FIXTURE_IN_MEMORY
#include "evidence_fixture.h"

static const char *const files[] = {"launch.json",	   "launch.json.sig", "events.jsonl",	 "checkpoint.json",
				    "checkpoint.json.sig", "closing.json",    "closing.json.sig"};

/* Whether a byte belongs to the attester's label, which is beside what is signed. */
static bool is_label(const char *text, size_t at)
{
	const char *label = strstr(text, "test@host");

	return label && at >= (size_t)(label - text) && at < (size_t)(label - text) + strlen("test@host");
}

/* Every bit of every file. A label that changed to another printable one is the one thing that does not matter. */
static void flipped(void **state)
{
	(void)state;
	make_folder("flip", 2, true);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *path = in_folder("flip/%s", files[i]);
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		size_t length;
		char *text = get_file(path, &length);

		for (size_t bit = 0; bit < length * 8; bit++) {
			char changed = (char)(text[bit / 8] ^ (1 << bit % 8));
			enum nc_evidence_answer answer;

			if (strstr(files[i], ".sig") && is_label(text, bit / 8))
				continue;
			assert_int_equal(pwrite(fd, &changed, 1, (off_t)(bit / 8)), 1);
			answer = answer_of("flip");
			assert_true(answer == NC_EVIDENCE_INVALID ||
				    (answer == NC_EVIDENCE_INCOMPLETE && bit / 8 == length - 1 && !strcmp(files[i], "events.jsonl")));
			assert_int_equal(pwrite(fd, text + bit / 8, 1, (off_t)(bit / 8)), 1);
		}
		close(fd);
		free(text);
	}
	answers("flip", NC_EVIDENCE_COMPLETE, "");
}

/* Every file cut at every byte, and with one byte more. */
static void cut_or_longer(void **state)
{
	(void)state;
	make_folder("cutting", 2, true);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = strdup(in_folder("cutting/%s", files[i]));
		size_t length;
		char *text = get_file(path, &length);

		for (size_t kept = 0; kept < length; kept++) {
			put_file(path, text, kept, 0600);
			assert_int_not_equal(answer_of("cutting"), NC_EVIDENCE_COMPLETE);
		}
		for (const char *more = "\n {}x"; *more; more++) {
			text[length] = *more;
			put_file(path, text, length + 1, 0600);
			answers("cutting", NC_EVIDENCE_INVALID, "");
		}
		text[length] = '\0';
		put_file(path, text, length + 1, 0600);
		answers("cutting", NC_EVIDENCE_INVALID, "");
		put_file(path, text, length, 0600);
		free(text);
		free(path);
	}
	answers("cutting", NC_EVIDENCE_COMPLETE, "");
}

/* ---- the log ---------------------------------------------------------------------------------------------------------------------------------- */

struct lines {
	char *text, *line[32];
	size_t count;
};

static void read_lines(const char *path, struct lines *lines)
{
	size_t length;

	memset(lines, 0, sizeof(*lines));
	lines->text = get_file(path, &length);
	for (char *line = strtok(lines->text, "\n"); line; line = strtok(NULL, "\n"))
		lines->line[lines->count++] = line;
}

static void write_lines(const char *path, const struct lines *lines)
{
	char all[32 * 400] = "";
	size_t used = 0;

	for (size_t i = 0; i < lines->count; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s\n", lines->line[i]);
	put_file(path, all, used, 0600);
}

/* Lines taken out, doubled, exchanged, put in. */
static void lines_moved(void **state)
{
	struct lines lines, changed;
	char *path;

	(void)state;
	make_folder("moved", 6, true);
	path = strdup(in_folder("moved/events.jsonl"));
	read_lines(path, &lines);
	assert_int_equal(lines.count, 7);
	for (size_t i = 0; i < lines.count; i++) {
		for (size_t j = 0; j < lines.count; j++) {
			changed = lines;
			changed.line[i] = lines.line[j];
			write_lines(path, &changed);
			assert_int_equal(answer_of("moved"), i == j ? NC_EVIDENCE_COMPLETE : NC_EVIDENCE_INVALID);
			changed.line[j] = lines.line[i];
			write_lines(path, &changed);
			assert_int_equal(answer_of("moved"), i == j ? NC_EVIDENCE_COMPLETE : NC_EVIDENCE_INVALID);
		}
		changed = lines;
		memmove(&changed.line[i], &changed.line[i + 1], (lines.count - i - 1) * sizeof(char *));
		changed.count--;
		write_lines(path, &changed);
		assert_int_equal(answer_of("moved"), i == 6 ? NC_EVIDENCE_INCOMPLETE : NC_EVIDENCE_INVALID);
		changed = lines;
		memmove(&changed.line[i + 1], &changed.line[i], (lines.count - i) * sizeof(char *));
		changed.count++;
		write_lines(path, &changed);
		answers("moved", NC_EVIDENCE_INVALID, "");
	}
	free(lines.text);
	free(path);
}

/* A log that was written anew, with every hash right: only the signatures are not its maker's to give. */
static void chain_forged(void **state)
{
	struct nc_digest digest;
	char hex[NC_DIGEST_HEX];
	size_t length;
	char *text, *out = calloc(1, 8192);

	(void)state;
	for (int closed = 0; closed <= 1; closed++) {
		size_t used = 0;

		make_folder(closed ? "forged1" : "forged0", 6, closed);
		text = get_file(in_folder("forged%d/launch.json", closed), &length);
		nc_digest_of(text, length, &digest);
		free(text);
		for (int i = 1; i <= 6 + closed; i++) {
			char *line = out + used;

			nc_digest_hex(&digest, hex);
			used += (size_t)snprintf(line, 400,
						 i <= 6 ? "{\"kind\":\"verdict\",\"port\":443,\"previous\":\"%s\",\"sequence\":%d}"
							: "{\"kind\":\"end\",\"previous\":\"%s\",\"sequence\":%d}",
						 hex, i);
			nc_digest_of(line, (size_t)(out + used - line), &digest);
			out[used++] = '\n';
		}
		put_file(in_folder("forged%d/events.jsonl", closed), out, used, 0600);
	}
	answers("forged0", NC_EVIDENCE_INVALID, "not the one that the checkpoint names");
	answers("forged1", NC_EVIDENCE_INVALID, "not the one that the checkpoint names");
	unlink(in_folder("forged1/checkpoint.json"));
	unlink(in_folder("forged1/checkpoint.json.sig"));
	answers("forged1", NC_EVIDENCE_INVALID, "not the one that the closing statement names");
	free(out);
}

/* Lines that are no records. */
static void lines_strange(void **state)
{
	static const char *const strange[] = {"", " ", "x", "{}", "[]", "{\"kind\":\"x\"}", "\xff", "{\"sequence\":1}", "null"};
	size_t length;
	char *huge = malloc(200000), *text;

	(void)state;
	make_folder("strange", 2, false);
	text = get_file(in_folder("strange/events.jsonl"), &length);
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		size_t used = (size_t)snprintf(huge, 200000, "%s%s\n", text, strange[i]);

		put_file(in_folder("strange/events.jsonl"), huge, used, 0600);
		answers("strange", NC_EVIDENCE_INVALID, "events.jsonl line 3");
		used = (size_t)snprintf(huge, 200000, "%s\n%s", strange[i], text);
		put_file(in_folder("strange/events.jsonl"), huge, used, 0600);
		answers("strange", NC_EVIDENCE_INVALID, "events.jsonl line 1");
	}
	memset(huge, 'a', 200000);
	put_file(in_folder("strange/events.jsonl"), huge, 200000, 0600);
	answers("strange", NC_EVIDENCE_INVALID, "longer than");
	text[length - 1] = '\r'; /* CR LF */
	text[length] = '\n';
	put_file(in_folder("strange/events.jsonl"), text, length + 1, 0600);
	answers("strange", NC_EVIDENCE_INVALID, "line 2");
	free(huge);
	free(text);
}

/* ---- parts of two folders --------------------------------------------------------------------------------------------------------------------- */

static void take_part(const char *from, const char *to, const char *name)
{
	size_t length;
	char *text = get_file(in_folder("%s/%s", from, name), &length);

	put_file(in_folder("%s/%s", to, name), text, length, 0600);
	free(text);
}

/* Every set of parts of another launch's folder by the same key, the closing statement among them or not. */
static void spliced(void **state)
{
	static const char *const parts[][2] = {{"launch.json", "launch.json.sig"},
					       {"events.jsonl", NULL},
					       {"checkpoint.json", "checkpoint.json.sig"},
					       {"closing.json", "closing.json.sig"}};

	(void)state;
	make_folder("one", 4, true);
	make_folder("two", 4, true);
	for (unsigned int set = 0; set < 16; set++) {
		copy_folder("one", "mixed");
		for (unsigned int part = 0; part < 4; part++)
			for (unsigned int file = 0; set & 1u << part && file < 2 && parts[part][file]; file++)
				take_part("two", "mixed", parts[part][file]);
		if (set == 0 || set == 15)
			answers("mixed", NC_EVIDENCE_COMPLETE, "");
		else
			answers("mixed", NC_EVIDENCE_INVALID, "");
		/* one file of a pair */
		for (unsigned int part = 0; part < 4; part++) {
			if (!(set & 1u << part) || !parts[part][1])
				continue;
			take_part("one", "mixed", parts[part][1]);
			answers("mixed", NC_EVIDENCE_INVALID, "");
			take_part("two", "mixed", parts[part][1]);
		}
	}
}

/* A closing statement that is signed and names this launch, but another generation, boot, instance or build. */
static void identities_differ(void **state)
{
	static const char *const members[] = {"instance", "generation", "boot_id", "manifest", "launch", "type", "last"};
	int fd;

	(void)state;
	make_folder("identity", 4, true);
	fd = open(in_folder("identity"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i <= sizeof(members) / sizeof(members[0]); i++) {
		size_t length;
		char *text = get_file(in_folder("identity/closing.json"), &length);
		NC_JSON json_t *closing = json_loadb(text, length, 0, NULL);
		NC_JSON json_t *changed = json_deep_copy(closing);
		struct nc_digest digest;
		struct nc_error error;

		if (i < sizeof(members) / sizeof(members[0])) {
			json_object_set_new(changed, members[i], json_string("0000000000000000000000000000000000000000000000000000000000000000"));
			assert_int_equal(nc_statement_write(fd, "closing.json", NC_DOMAIN_CLOSING, changed, key, "x", &digest, &error), 0);
			answers("identity", NC_EVIDENCE_INVALID, "");
			json_object_del(changed, members[i]);
		} else {
			json_object_set_new(changed, "version", json_integer(2));
		}
		assert_int_equal(nc_statement_write(fd, "closing.json", NC_DOMAIN_CLOSING, changed, key, "x", &digest, &error), 0);
		answers("identity", NC_EVIDENCE_INVALID, "");
		assert_int_equal(nc_statement_write(fd, "closing.json", NC_DOMAIN_CLOSING, closing, key, "x", &digest, &error), 0);
		answers("identity", NC_EVIDENCE_COMPLETE, "");
		free(text);
	}
	close(fd);
}

/* A statement in the place of another kind's. */
static void kinds_exchanged(void **state)
{
	static const char *const names[] = {"launch.json", "checkpoint.json", "closing.json"};

	(void)state;
	make_folder("kinds", 4, true);
	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int j = 0; j < 3; j++) {
			char signature[32], other[32];
			size_t length;
			char *text;

			copy_folder("kinds", "kinds2");
			text = get_file(in_folder("kinds/%s", names[j]), &length);
			put_file(in_folder("kinds2/%s", names[i]), text, length, 0600);
			free(text);
			snprintf(signature, sizeof(signature), "%s.sig", names[i]);
			snprintf(other, sizeof(other), "%s.sig", names[j]);
			text = get_file(in_folder("kinds/%s", other), &length);
			put_file(in_folder("kinds2/%s", signature), text, length, 0600);
			free(text);
			assert_int_equal(answer_of("kinds2"), i == j ? NC_EVIDENCE_COMPLETE : NC_EVIDENCE_INVALID);
		}
	}
}

/* ---- checkpoints -------------------------------------------------------------------------------------------------------------------------------- */

/* An older checkpoint in the newest one's place, none at all, and a writer that died between the two renames. */
static void checkpoints_replaced(void **state)
{
	struct nc_evidence *evidence = begin("points");

	(void)state;
	append(evidence, 3);
	checkpoint(evidence);
	copy_folder("points", "older");
	append(evidence, 3);
	checkpoint(evidence);
	copy_folder("points", "living");
	close_with(evidence, 0);

	copy_folder("points", "points2");
	take_part("older", "points2", "checkpoint.json");
	answers("points2", NC_EVIDENCE_INVALID, "checkpoint.json");
	take_part("older", "points2", "checkpoint.json.sig");
	answers("points2", NC_EVIDENCE_INCOMPLETE, "checkpoints is missing");
	unlink(in_folder("points2/checkpoint.json"));
	unlink(in_folder("points2/checkpoint.json.sig"));
	answers("points2", NC_EVIDENCE_INCOMPLETE, "checkpoints is missing");

	copy_folder("points", "points2"); /* another text in the checkpoint's place, the true one where a dying writer would have left it */
	assert_int_equal(rename(in_folder("points2/checkpoint.json"), in_folder("points2/.checkpoint.json.tmp")), 0);
	put_file(in_folder("points2/checkpoint.json"), "{\"number\":9}", 12, 0600);
	answers("points2", NC_EVIDENCE_INVALID, "checkpoint.json");
	unlink(in_folder("points2/checkpoint.json"));
	answers("points2", NC_EVIDENCE_INCOMPLETE, "checkpoints is missing");

	copy_folder("living", "living2");
	answers("living2", NC_EVIDENCE_OPEN, "vouches for 6 of 6");
	take_part("older", "living2", "checkpoint.json"); /* new signature, old statement, the new one not yet named */
	answers("living2", NC_EVIDENCE_INVALID, "checkpoint.json");
	put_file(in_folder("living2/.checkpoint.json.tmp"), "x", 1, 0600);
	answers("living2", NC_EVIDENCE_INVALID, "checkpoint.json");
	unlink(in_folder("living2/.checkpoint.json.tmp"));
	assert_int_equal(link(in_folder("living/checkpoint.json"), in_folder("living2/.checkpoint.json.tmp")), 0);
	answers("living2", NC_EVIDENCE_OPEN, "vouches for 6 of 6");
	unlink(in_folder("living2/checkpoint.json")); /* the first checkpoint there was */
	answers("living2", NC_EVIDENCE_OPEN, "vouches for 6 of 6");
	unlink(in_folder("living2/.checkpoint.json.tmp"));
	answers("living2", NC_EVIDENCE_INCOMPLETE, "its signature is there");
	unlink(in_folder("living2/checkpoint.json.sig"));
	answers("living2", NC_EVIDENCE_OPEN, "vouches for 0 of 6");
}

/* ---- files ---------------------------------------------------------------------------------------------------------------------------------------- */

static void not_files(void **state)
{
	(void)state;
	make_folder("files", 3, true);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char target[64];

		copy_folder("files", "files2");
		unlink(in_folder("files2/%s", files[i]));
		snprintf(target, sizeof(target), "../files/%s", files[i]);
		assert_int_equal(symlink(target, in_folder("files2/%s", files[i])), 0);
		answers("files2", NC_EVIDENCE_INVALID, files[i]);
		unlink(in_folder("files2/%s", files[i]));
		assert_int_equal(mkfifo(in_folder("files2/%s", files[i]), 0600), 0);
		answers("files2", NC_EVIDENCE_INVALID, files[i]);
		unlink(in_folder("files2/%s", files[i]));
		assert_int_equal(mkdir(in_folder("files2/%s", files[i]), 0700), 0);
		answers("files2", NC_EVIDENCE_INVALID, files[i]);
	}
	copy_folder("files", "files2"); /* what does not belong there is not looked at */
	put_file(in_folder("files2/note.txt"), "x", 1, 0600);
	put_file(in_folder("files2/.closing.json.tmp"), "x", 1, 0600);
	answers("files2", NC_EVIDENCE_COMPLETE, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flipped),	     cmocka_unit_test(cut_or_longer),	cmocka_unit_test(lines_moved),
		cmocka_unit_test(chain_forged),	     cmocka_unit_test(lines_strange),	cmocka_unit_test(spliced),
		cmocka_unit_test(identities_differ), cmocka_unit_test(kinds_exchanged), cmocka_unit_test(checkpoints_replaced),
		cmocka_unit_test(not_files),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, evidence_setup, evidence_teardown);
}
