/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_evidence.c - any bytes as an evidence folder
 *
 * The input is a byte of switches and eight parts, each behind a line "%%": launch, log, checkpoint, closing, and one signature file for each statement;
 * the last part is the expectation. A statement whose switch is set gets a real signature, so that what stands behind the signatures is reached. In every
 * part "@L" becomes the launch digest, and in the log "@P" the digest of the line before; in the statements "@Z" is the digest of the log's last line
 * and "@C" the digest of its first.
 */
#include <fcntl.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define PART_MAX 8192
#define SWITCH_SIGN(part) (1u << (part)) /* launch 0, checkpoint 2, closing 3 */
#define SWITCH_EXPECT 0x10u

enum { LAUNCH, LOG, CHECKPOINT, CLOSING, LAUNCH_SIG, CHECKPOINT_SIG, CLOSING_SIG, EXPECT, PARTS };
static const char *const names[] = {"launch.json",     "events.jsonl",	      "checkpoint.json", "closing.json",
				    "launch.json.sig", "checkpoint.json.sig", "closing.json.sig"};

struct part {
	char text[PART_MAX];
	size_t length;
	bool there;
};

static struct part parts[PARTS];
static struct nc_secret_key *key;
static struct nc_public_key public;
static char folder[64];
static int folder_fd;

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* The reader waits for a writer that is closing; there is none here. */
int usleep(useconds_t microseconds)
{
	(void)microseconds;
	return 0;
}

static void remove_folder(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(folder_fd, names[i], 0);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct nc_error error;
	char path[80];

	(void)argc;
	(void)argv;
	must(sodium_init() >= 0);
	snprintf(folder, sizeof(folder), "%s/nc-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s.key", folder);
	must(nc_key_generate(path, &error) == 0 && nc_key_load_secret(path, &key, &error) == 0);
	unlink(path);
	nc_key_public(key, &public);
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(folder_fd >= 0);
	atexit(remove_folder);
	return 0;
}

static void split(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;

	for (size_t i = 0; i < PARTS; i++) {
		const uint8_t *mark = memmem(bytes, (size_t)(end - bytes), "%%\n", 3);
		size_t length = (size_t)((mark ? mark : end) - bytes);

		parts[i].length = length < PART_MAX ? length : PART_MAX;
		parts[i].there = length > 0;
		memcpy(parts[i].text, bytes, parts[i].length);
		bytes = mark ? mark + 3 : end;
	}
}

/* Every `mark` (two bytes) becomes the digest's hex. */
static void substitute(struct part *part, const char *mark, const struct nc_digest *digest)
{
	char hex[NC_DIGEST_HEX];
	char *at;

	nc_digest_hex(digest, hex);
	while ((at = memmem(part->text, part->length, mark, 2)) && part->length + 62 <= PART_MAX) {
		memmove(at + 64, at + 2, part->length - (size_t)(at - part->text) - 2);
		memcpy(at, hex, 64);
		part->length += 62;
	}
}

static void link_log(struct part *log, const struct nc_digest *launch, struct nc_digest *ret_first, struct nc_digest *ret_last)
{
	size_t start = 0;

	*ret_first = *ret_last = *launch;
	while (start < log->length) {
		struct part *line = malloc(sizeof(*line));
		char *end = memchr(log->text + start, '\n', log->length - start);
		size_t old = end ? (size_t)(end - log->text) - start : log->length - start;

		line->length = old;
		memcpy(line->text, log->text + start, old);
		substitute(line, "@P", ret_last);
		if (log->length - old + line->length > PART_MAX) {
			free(line);
			return;
		}
		memmove(log->text + start + line->length, log->text + start + old, log->length - start - old);
		memcpy(log->text + start, line->text, line->length);
		log->length += line->length - old;
		nc_digest_of(line->text, line->length, ret_last);
		if (start == 0)
			*ret_first = *ret_last;
		start += line->length + 1;
		free(line);
	}
}

static void sign(const struct part *statement, const char *domain, struct part *ret_signature)
{
	uint8_t bytes[NC_SIGNATURE_SIZE];
	char id[NC_KEY_ID_HEX], base64[128];
	struct nc_error error;
	unsigned char *message;
	size_t length;

	must(nc_statement_message(domain, statement->text, statement->length, &message, &length, &error) == 0);
	must(nc_key_sign(key, message, length, bytes, &error) == 0);
	free(message);
	nc_key_id(&public, id);
	sodium_bin2base64(base64, sizeof(base64), bytes, sizeof(bytes), sodium_base64_VARIANT_ORIGINAL);
	ret_signature->length = (size_t)snprintf(
		ret_signature->text, PART_MAX,
		"{\"algorithm\":\"ed25519\",\"attester\":\"fuzz\",\"domain\":\"%s\",\"key_id\":\"%s\",\"signature\":\"%s\"}", domain, id, base64);
	ret_signature->there = true;
}

static void write_part(size_t i)
{
	int fd;

	if (!parts[i].there) {
		unlinkat(folder_fd, names[i], 0);
		return;
	}
	fd = openat(folder_fd, names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, parts[i].text, parts[i].length) == (ssize_t)parts[i].length);
	close(fd);
}

static void make_folder(unsigned int switches)
{
	static const struct {
		int statement, signature;
		const char *domain;
	} signatures[] = {{LAUNCH, LAUNCH_SIG, NC_DOMAIN_LAUNCH},
			  {CHECKPOINT, CHECKPOINT_SIG, NC_DOMAIN_CHECKPOINT},
			  {CLOSING, CLOSING_SIG, NC_DOMAIN_CLOSING}};
	struct nc_digest launch, first, last;

	nc_digest_of(parts[LAUNCH].text, parts[LAUNCH].length, &launch);
	for (size_t i = LOG; i < EXPECT; i++)
		substitute(&parts[i], "@L", &launch);
	link_log(&parts[LOG], &launch, &first, &last);
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		struct part *statement = &parts[signatures[i].statement];

		if (signatures[i].statement != LAUNCH) {
			substitute(statement, "@Z", &last);
			substitute(statement, "@C", &first);
		}
		if (switches & SWITCH_SIGN(signatures[i].statement) && statement->there)
			sign(statement, signatures[i].domain, &parts[signatures[i].signature]);
	}
	for (size_t i = 0; i < EXPECT; i++)
		write_part(i);
}

static void check_report(unsigned int switches, const struct nc_evidence_report *report)
{
	must((report->answer == NC_EVIDENCE_COMPLETE) == (report->reason[0] == '\0'));
	must((report->answer == NC_EVIDENCE_INVALID) == (report->launch == NULL));
	must(report->answer != NC_EVIDENCE_COMPLETE || (report->closing && report->losses == 0));
	for (const char *c = report->reason; *c; c++)
		must(*c >= 0x20 && *c < 0x7f);
	for (const char *c = report->instance; *c; c++)
		must(*c >= 0x20 && *c < 0x7f);
	/* What this key did not sign is never believed. */
	if (!(switches & SWITCH_SIGN(LAUNCH)))
		must(report->answer == NC_EVIDENCE_INVALID);
	if (!(switches & SWITCH_SIGN(CLOSING)))
		must(report->answer != NC_EVIDENCE_COMPLETE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	unsigned int switches = size ? bytes[0] : 0;
	struct nc_evidence_report report;
	struct nc_error error = {0};
	json_t *expect = NULL;

	split(bytes + (size ? 1 : 0), size - (size ? 1 : 0));
	make_folder(switches);
	if (switches & SWITCH_EXPECT && nc_json_parse(parts[EXPECT].text, parts[EXPECT].length, NC_E_USAGE, &expect, &error) < 0)
		expect = NULL;
	if (nc_evidence_verify(folder, &public, expect, &report, &error) == 0) {
		check_report(switches, &report);
		nc_evidence_report_free(&report);
	} else {
		must(expect && error.code == NC_E_USAGE);
	}
	json_decref(expect);
	return 0;
}
