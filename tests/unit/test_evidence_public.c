/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_evidence_public.c - what a Runner does who does not use our verifier: openssl, a few lines of Python, a few lines of Node, JSON Schema
 *
 * What the program writes is checked by docs/examples/ and docs/schema/; what was made without the program (tests/vectors/) is checked by it. Every yes
 * stands beside the no of the same tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sodium.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "evidence_fixture.h"
#include "vectors.h"

#include <arpa/inet.h>

/* Exit status of a shell command; what it prints goes to a file, which is shown when `expected` is not met. */
static void runs(int expected, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void runs(int expected, const char *format, ...)
{
	char command[4096], whole[5000];
	va_list arguments;
	size_t length;
	int status;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	snprintf(whole, sizeof(whole), "{ %s; } >%s 2>&1", command, in_folder("output"));
	status = system(whole);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) {
		char *output = get_file(in_folder("output"), &length);

		fail_msg("%s: status %d, not %d: %s", command, status, expected, output);
	}
}

static const char *const tools[] = {"docs/examples/verify_evidence.py", "docs/examples/verify-evidence.mjs"};

static void tools_say(int expected, const char *public_key, const char *folder)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		runs(expected, "%s %s %s", in_source(tools[i]), public_key, folder);
}

static void openssl_says(int expected, const char *public_key, const char *domain, const char *statement)
{
	runs(expected, "%s %s %s %s", in_source("docs/examples/verify-statement.sh"), public_key, domain, statement);
}

static void append_event(struct nc_evidence *evidence, const struct nc_event *event)
{
	NC_JSON json_t *record = nc_event_json(event);
	struct nc_error error;

	assert_int_equal(nc_evidence_append(evidence, record, &error), 0);
}

/* A folder with every kind of record, and the public key as PEM. */
static int setup(void **state)
{
	struct nc_event event = {.generation = UINT64_MAX,
				 .revision = 1,
				 .time_ns = 9007199254740993u,
				 .port_be = htons(443),
				 .protocol = 6,
				 .family = 4,
				 .hook = NC_HOOK_CONNECT4,
				 .decision = NC_DENY,
				 .reason = NC_REASON_HOST_FLOOR,
				 .address_class = 21,
				 .authority = NC_AUTHORITY_WORKLOAD,
				 .pid = 1,
				 .comm = "a\n{\"x\":1}\x1b"};
	const struct nc_counters counters = {.by_reason = {[NC_REASON_HOST_FLOOR] = UINT64_MAX, [NC_REASON_LITERAL_LISTED] = 3}};
	struct nc_evidence *evidence;
	struct nc_error error;
	char *pem;

	if (evidence_setup(state) < 0 || nc_key_public_pem(&public, &pem, &error) < 0)
		return -1;
	put_file(in_folder("key.pub"), pem, strlen(pem), 0644);
	free(pem);
	evidence = begin("public");
	event.destination.words_be[2] = htonl(0xffff);
	event.destination.words_be[3] = htonl(0xa9fea9fe);
	append_event(evidence, &event);
	event.admitted = event.destination;
	event.admitted_port_be = htons(80);
	event.hook = NC_HOOK_EGRESS;
	event.reason = NC_REASON_PACKET_DESTINATION;
	event.name_id = 7;
	append_event(evidence, &event);
	event.family = 0;
	event.admitted_port_be = 0;
	memset(&event.admitted, 0, sizeof(event.admitted));
	event.hook = NC_HOOK_SETSOCKOPT;
	event.reason = 63; /* a code without a name */
	event.detail = UINT32_MAX;
	append_event(evidence, &event);
	NC_JSON json_t *extra = json_pack("{s:s, s:{s:o, s:{}}}", "losses", "0", "counters", "workload", nc_counters_json(&counters), "plane");
	if (nc_evidence_checkpoint(evidence, "started", extra, &error) < 0)
		return -1;
	NC_JSON json_t *text = json_pack("{s:s, s:s}", "kind", "resolver", "name",
					 "\" \\ \b\f\n\r\t \x01 \x1f \x7f \xc3\xa9 \xe2\x82\xac \xe2\x80\xa8 \xf0\x9f\x98\x80 </script>");
	if (nc_evidence_append(evidence, text, &error) < 0)
		return -1;
	NC_JSON json_t *closing = json_pack("{s:s, s:{s:o, s:{}}, s:{s:s, s:i}}", "losses", "0", "counters", "workload", nc_counters_json(&counters),
					    "plane", "result", "cause", "exited", "code", 0);
	return nc_evidence_close(evidence, closing, &error);
}

/* ---- what the program writes, checked without it ------------------------------------------------------------------------------------------------ */

static void openssl_checks_ours(void **state)
{
	static const struct {
		const char *name, *domain;
	} statements[] = {{"launch", NC_DOMAIN_LAUNCH}, {"checkpoint", NC_DOMAIN_CHECKPOINT}, {"closing", NC_DOMAIN_CLOSING}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *path = in_folder("public/%s.json", statements[i].name);

		openssl_says(0, in_folder("key.pub"), statements[i].domain, path);
		openssl_says(1, in_folder("key.pub"), statements[(i + 1) % 3].domain, path);
		openssl_says(1, vector("attester.pub"), statements[i].domain, path);
		runs(0, "cp %s %s && cp %s.sig %s.sig && sed -i 's/vector\\|public/forged/' %s", path, in_folder("copy.json"), path,
		     in_folder("copy.json"), in_folder("copy.json"));
		openssl_says(1, in_folder("key.pub"), statements[i].domain, in_folder("copy.json"));
	}
}

static void python_and_node_check_ours(void **state)
{
	static const char *const damages[] = {
		"sed -i 2d %s/events.jsonl",	  /* a line taken out */
		"sed -i '$d' %s/events.jsonl",	  /* the last line cut off */
		"truncate -s -3 %s/events.jsonl", /* torn */
		"sed -i 's/host_floor/mode_none_/' %s/events.jsonl",
		"rm %s/closing.json",
		"sed -i 's/\"losses\":\"0\"/\"losses\":\"1\"/' %s/closing.json",
		"sed -i 's/run-7/run-8/' %s/launch.json",
		"echo >>%s/launch.json",
		"sed -i 's/\"kind\"/ \"kind\"/' %s/events.jsonl",
	};

	(void)state;
	tools_say(0, in_folder("key.pub"), in_folder("public"));
	tools_say(1, vector("attester.pub"), in_folder("public"));
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char command[400];

		copy_folder("public", "damaged");
		assert_int_equal(answer_of("damaged"), NC_EVIDENCE_COMPLETE);
		for (const char *from = damages[i], *mark = strstr(from, "%s"); mark; mark = NULL)
			snprintf(command, sizeof(command), "%.*s%s%s", (int)(mark - from), from, in_folder("damaged"), mark + 2);
		runs(0, "%s", command);
		assert_int_not_equal(answer_of("damaged"), NC_EVIDENCE_COMPLETE);
		tools_say(1, in_folder("key.pub"), in_folder("damaged"));
	}
}

static void losses_are_no_yes(void **state)
{
	(void)state;
	close_with(begin("lost"), 5);
	tools_say(1, in_folder("key.pub"), in_folder("lost"));
	close_with(begin("kept"), 0);
	tools_say(0, in_folder("key.pub"), in_folder("kept"));
}

/* A closed folder whose launch statement has these names, and whose log these records. */
static void folder_with(const char *name, const char *binding, const char *const *records)
{
	NC_JSON json_t *launch = launch_of(name);
	struct nc_evidence *evidence = NULL;
	struct nc_error error;

	json_object_set_new(launch, "name_binding", json_loads(binding, 0, NULL));
	remove_tree(in_folder("%s", name));
	assert_int_equal(nc_evidence_begin(in_folder("%s", name), launch, key, "test@host", &evidence, &error), 0);
	for (; *records; records++) {
		NC_JSON json_t *record = json_loads(*records, 0, NULL);

		assert_int_equal(nc_evidence_append(evidence, record, &error), 0);
	}
	close_with(evidence, 0);
}

#define ROW(host, id) "{\"host\":\"" host "\",\"name_id\":" id ",\"port\":443,\"protocol\":\"tcp\",\"name_binding\":\"wire\"}"
#define SPEAKS(id) "{\"kind\":\"verdict\",\"name_id\":" id "}"
#define UPDATE(rows) "{\"kind\":\"update\",\"name_binding\":{\"workload\":[" rows "],\"plane\":[]}}"

/* Whole and signed all of them: what a record says of a name is held against what was sealed before it. */
static void names_are_held_against_the_statements(void **state)
{
	static const char binding[] =
		"{\"workload\":[" ROW("a.example", "1") "," ROW("b.example", "2") "],\"plane\":[" ROW("p.example", "2147483649") "]}";
	static const struct {
		const char *binding, *records[4];
		bool holds;
	} rows[] = {
		{binding, {SPEAKS("1"), SPEAKS("2147483649"), "{\"kind\":\"name\",\"name\":\"b.example\",\"name_id\":2}"}, true},
		{binding, {SPEAKS("3")}, false},
		{binding, {SPEAKS("\"1\"")}, false},
		{binding, {"{\"kind\":\"name\",\"name\":\"a.example\",\"name_id\":2}"}, false},
		{binding, {"{\"kind\":\"repeats\",\"name_id\":9}"}, false},
		{binding, {UPDATE(ROW("c.example", "3")), SPEAKS("3"), SPEAKS("1")}, true},
		{binding, {SPEAKS("3"), UPDATE(ROW("c.example", "3"))}, false}, /* not sealed yet */
		{binding, {UPDATE(ROW("c.example", "1"))}, false},
		{"{\"workload\":[" ROW("a.example", "1") "," ROW("b.example", "1") "],\"plane\":[]}", {SPEAKS("1")}, false},
		{"{\"workload\":[],\"plane\":[]}", {SPEAKS("1")}, false},
		{"{\"workload\":[],\"plane\":[]}", {"{\"kind\":\"verdict\"}"}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		folder_with("names", rows[i].binding, rows[i].records);
		if ((answer_of("names") == NC_EVIDENCE_COMPLETE) != rows[i].holds)
			fail_msg("row %zu", i);
		tools_say(rows[i].holds ? 0 : 1, in_folder("key.pub"), in_folder("names"));
	}
	/* statements had no numbers once: nothing can be held against those */
	folder_with("names", "{\"workload\":[{\"host\":\"a.example\"}],\"plane\":[]}", rows[1].records);
	assert_int_equal(answer_of("names"), NC_EVIDENCE_COMPLETE);
}

static void schemas(void **state)
{
	static const char *const damages[] = {"s/\"sequence\":1/\"sequence\":0/", "s/\"pid\":1/\"pid\":-1/",
					      "s/\"decision\":\"deny\"/\"decision\":\"perhaps\"/", "s/\"authority\"/\"authorities\"/",
					      "s/\"port\":443/\"port\":443443/"};
	const char *validate = in_source("tests/unit/validate_schema"), *schemas_folder = in_source("docs/schema");

	(void)state;
	runs(0, "%s %s %s %s", validate, schemas_folder, in_folder("public"), vector("evidence"));
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		copy_folder("public", "damaged");
		runs(0, "sed -i '%s' %s", damages[i], in_folder("damaged/events.jsonl"));
		runs(1, "%s %s %s", in_source("tests/unit/validate_schema"), in_source("docs/schema"), in_folder("damaged"));
	}
}

/* Keys go both ways. */
static void keys_and_openssl(void **state)
{
	struct nc_secret_key *theirs;
	struct nc_public_key public_theirs, again;
	struct nc_error error;
	size_t length;
	char *pem, *text;

	(void)state;
	runs(0, "openssl pkey -in %s -pubout | cmp - %s", in_folder("key"), in_folder("key.pub"));
	runs(0, "openssl pkey -in %s | cmp - %s", in_folder("key"), in_folder("key"));
	runs(0, "umask 077 && openssl genpkey -algorithm ed25519 -out %s && openssl pkey -in %s -pubout -out %s", in_folder("their"),
	     in_folder("their"), in_folder("their.pub"));
	if (nc_key_load_secret(in_folder("their"), &theirs, &error) < 0 || nc_key_load_public(in_folder("their.pub"), &again, &error) < 0)
		fail_msg("%s", error.detail);
	nc_key_public(theirs, &public_theirs);
	assert_memory_equal(&public_theirs, &again, sizeof(again));
	assert_int_equal(nc_key_public_pem(&again, &pem, &error), 0);
	text = get_file(in_folder("their.pub"), &length);
	assert_string_equal(pem, text);
	free(pem);
	free(text);
	nc_key_free(theirs);
}

/* ---- what was made without the program, checked by it ---------------------------------------------------------------------------------------------- */

static int check_vector(const char *signature_name, struct nc_error *reterr)
{
	NC_JSON json_t *document = NULL;
	struct nc_public_key attester;
	struct nc_digest digest;
	size_t length, signature_length;
	char *text, *signature;
	int r;

	assert_int_equal(nc_key_load_public(vector("attester.pub"), &attester, reterr), 0);
	text = get_file(vector("statement.json"), &length);
	signature = get_file(vector(signature_name), &signature_length);
	r = nc_statement_check("statement.json", NC_DOMAIN_CONFORMANCE, text, length, signature, signature_length, &attester, &document, &digest,
			       reterr);
	free(text);
	free(signature);
	return r;
}

static void vectors_hold(void **state)
{
	struct nc_evidence_report report;
	struct nc_public_key attester;
	struct nc_error error;

	(void)state;
	assert_int_equal(nc_key_load_public(vector("attester.pub"), &attester, &error), 0);
	if (check_vector("statement.json.sig", &error) < 0)
		fail_msg("%s", error.detail);
	assert_int_equal(nc_evidence_verify(vector("evidence"), &attester, NULL, &report, &error), 0);
	if (report.answer != NC_EVIDENCE_COMPLETE)
		fail_msg("%s", report.reason);
	assert_int_equal(report.events, 2);
	nc_evidence_report_free(&report);
	tools_say(0, vector("attester.pub"), vector("evidence"));
	openssl_says(0, vector("attester.pub"), NC_DOMAIN_CONFORMANCE, vector("statement.json"));
	/* and they are what their maker makes */
	runs(0, "cp -r %s %s && %s/make && diff -r %s %s", vector(""), in_folder("vectors"), in_folder("vectors"), vector(""), in_folder("vectors"));
}

/* The same document, key and domain give the same bytes here: Ed25519 is deterministic, and canonical form is one. */
static void vectors_again(void **state)
{
	struct nc_secret_key *attester;
	struct nc_signed made;
	struct nc_error error;
	unsigned char *message;
	size_t length, message_length;
	char *text;

	(void)state;
	text = get_file(vector("attester.key"), &length);
	put_file(in_folder("attester.key"), text, length, 0600);
	free(text);
	assert_int_equal(nc_key_load_secret(in_folder("attester.key"), &attester, &error), 0);
	text = get_file(vector("statement.json"), &length);
	NC_JSON json_t *document = json_loadb(text, length, 0, NULL);
	assert_int_equal(nc_statement_sign(NC_DOMAIN_CONFORMANCE, document, attester, "vectors@netcordon", &made, &error), 0);
	assert_int_equal(made.length, length);
	assert_memory_equal(made.text, text, length);
	assert_int_equal(nc_statement_message(NC_DOMAIN_CONFORMANCE, text, length, &message, &message_length, &error), 0);
	free(text);
	text = get_file(vector("statement.json.sig"), &length);
	assert_string_equal(made.signature, text);
	free(text);
	text = get_file(vector("statement.message"), &length);
	assert_int_equal(message_length, length);
	assert_memory_equal(message, text, length);
	free(text);
	free(message);
	nc_signed_free(&made);
	nc_key_free(attester);
}

static void vectors_refused(void **state)
{
	DIR *folder = opendir(vector("refused"));
	struct dirent *entry;
	unsigned int seen = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		struct nc_error error;
		char name[300];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "refused/%s", entry->d_name);
		if (check_vector(name, &error) == 0)
			fail_msg("%s was accepted", name);
		assert_int_equal(error.code, NC_E_EVIDENCE_INVALID);
		seen++;
	}
	closedir(folder);
	assert_int_equal(seen, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openssl_checks_ours), cmocka_unit_test(python_and_node_check_ours),
		cmocka_unit_test(losses_are_no_yes),   cmocka_unit_test(schemas),
		cmocka_unit_test(keys_and_openssl),    cmocka_unit_test(names_are_held_against_the_statements),
		cmocka_unit_test(vectors_hold),	       cmocka_unit_test(vectors_again),
		cmocka_unit_test(vectors_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, setup, evidence_teardown);
}
