// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_explain.c - any text as a question about a few profiles
 *
 * The first byte chooses profile and authority, the rest is HOST:PORT/PROTOCOL, and then a bare host. What is allowed must stand in the profile or be
 * what the mode says; a host that is accepted must be the same host when its canonical text is read again.
 */
#include <stdlib.h>
#include <string.h>
#include "address.h"
#include "explain.h"
#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const texts[] = {
	"{\"version\":1,\"network\":{\"mode\":\"none\"}}",
	"{\"version\":1,\"network\":{\"mode\":\"unrestricted\"}}",
	"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"api.example\",\"port\":443},{\"host\":\"8.8.8.8\",\"port\":"
	"443},"
	"{\"host\":\"64:ff9b::808:808\",\"port\":80,\"protocol\":\"udp\"},{\"host\":\"q.example\",\"port\":443,\"protocol\":\"udp\"}]},"
	"\"loopback\":\"own_netns\",\"plane\":{\"destinations\":[{\"host\":\"10.20.0.5\",\"port\":443,\"non_public\":true}]}}",
};
#define PROFILES (sizeof(texts) / sizeof(*texts))

static struct nc_profile *profiles[PROFILES];

static void require(int condition)
{
	if (!condition)
		abort();
}

static void load_profiles(void)
{
	struct nc_error error = {0};

	for (size_t i = 0; i < PROFILES && !profiles[i]; i++)
		require(nc_profile_parse(texts[i], strlen(texts[i]), NULL, &profiles[i], &error) == 0);
}

static void check_host(const char *text)
{
	const struct nc_place place = {.code = NC_E_USAGE};
	struct nc_host_text host, again;
	struct nc_error error = {0};
	char canonical[NC_ADDRESS_TEXT];

	if (nc_host_text_parse(text, &place, &host, &error)) {
		require(error.code == NC_E_USAGE && error.detail[0]);
		return;
	}
	require(nc_host_text_parse(host.literal ? nc_address_text(&host.address, canonical) : host.name, &place, &again, &error) == 0);
	require(host.literal == again.literal && !memcmp(&host.address, &again.address, sizeof(host.address)) && !strcmp(host.name, again.name));
	require(!host.literal || !strcmp(canonical, text)); /* an address has one spelling */
}

static void check_answer(const struct nc_explanation *e)
{
	static const uint8_t decisions[NC_REASON_MAX] = {
#define DECISION(symbol, value, word, decision, ...) [value] = NC_##decision,
		NC_REASONS(DECISION)};
	json_t *object = nc_explain_json(e);
	char *canonical = NULL, *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	struct nc_error error = {0};

	require(e->reason && e->reason < NC_REASON_MAX && e->decision == decisions[e->reason]);
	if (e->decision == NC_ALLOW)
		require(e->matched.valid || e->mode == NC_MODE_UNRESTRICTED || e->reason == NC_REASON_LOOPBACK_OPEN);
	if (e->decision == NC_ALLOW && e->host.literal && e->authority == NC_AUTHORITY_WORKLOAD && e->reason != NC_REASON_LOOPBACK_OPEN)
		require(nc_classify(&e->host.address, NULL).is_public);
	require(!(e->matched.valid && e->nearest.valid));
	require(object && nc_json_canonical(object, &canonical, &length, &error) == 0);
	free(canonical);
	json_decref(object);
	nc_explain_text(e, stream);
	require(fclose(stream) == 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct nc_explain_question question = {0};
	struct nc_explanation explanation;
	struct nc_error error = {0};
	char host[NC_HOST_NAME_MAX + 2], *text;

	load_profiles();
	if (!size)
		return 0;
	text = strndup((const char *)bytes + 1, size - 1);
	require(text != NULL);
	check_host(text);
	question.authority = bytes[0] & 0x80 ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD;
	question.foreign_netns = bytes[0] & 0x40;
	question.host = host;
	if (nc_explain_target(text, host, &question.port, &question.protocol, &error) == 0 &&
	    nc_explain(profiles[bytes[0] % PROFILES], &question, &explanation, &error) == 0)
		check_answer(&explanation);
	else
		require(error.code == NC_E_USAGE && error.detail[0]);
	free(text);
	return 0;
}
