// SPDX-License-Identifier: GPL-2.0-only
/* command_key.c - `key generate`, `key public` */
#include <stdio.h>
#include "cleanup.h"
#include "commands.h"
#include "key.h"
#include "output.h"

static int print_public(const struct nc_invocation *invocation, const struct nc_public_key *key, bool pem, struct nc_error *reterr)
{
	NC_FREE char *text = NULL;
	char id[NC_KEY_ID_HEX];
	int ret = nc_key_public_pem(key, &text, reterr);

	if (ret < 0)
		return ret;
	nc_key_id(key, id);
	if (invocation->json) {
		json_t *document = json_pack("{s:s, s:s, s:s}", "algorithm", "ed25519", "key_id", id, "public_key", text);

		nc_output_json(document);
		json_decref(document);
		return NC_EXIT_YES;
	}
	if (pem)
		fputs(text, stdout);
	else
		printf("%s\n", id);
	return NC_EXIT_YES;
}

static int load_public_half(const char *path, struct nc_public_key *ret_key, struct nc_error *reterr)
{
	struct nc_secret_key *secret = NULL;
	int ret = nc_key_load_secret(path, &secret, reterr);

	if (ret < 0)
		return ret;
	nc_key_public(secret, ret_key);
	nc_key_free(secret);
	return 0;
}

int nc_command_key_generate(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_public_key key;
	int ret = nc_key_generate(invocation->arguments[0], reterr);

	if (ret < 0)
		return ret;
	ret = load_public_half(invocation->arguments[0], &key, reterr);
	return ret < 0 ? ret : print_public(invocation, &key, false, reterr);
}

int nc_command_key_public(struct nc_invocation *invocation, struct nc_error *reterr)
{
	struct nc_public_key key;
	int ret = load_public_half(invocation->arguments[0], &key, reterr);

	return ret < 0 ? ret : print_public(invocation, &key, true, reterr);
}
