/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * options.c - the one difference between netcordon and the program that the matrix starts for its mutants
 *
 * The object comes from the file NETCORDON_MUTANT_OBJECT, the checks that are left out from NETCORDON_CHECKS_OFF, words of bpf/checks.h divided by
 * spaces. netcordon itself has neither: it loads only the object inside it, and refuses even that if its checks could be switched off. Nor does it take
 * over what this program has installed: that lies under another manifest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checks.h"
#include "mutants.h"
#include "profile.h"

static const struct {
	const char *word;
	int bit;
} checks[] = {
#define CHECK_WORD(symbol, bit, word, meaning) {word, bit},
	NC_CHECKS(CHECK_WORD)};

static const char *const in_user_space[] = {
#define LAUNCH_CHECK_WORD(word, meaning) word,
	NC_LAUNCH_CHECKS(LAUNCH_CHECK_WORD)};

static bool is_word(const char *word, const char *words, size_t length)
{
	return strlen(word) == length && !strncmp(word, words, length);
}

bool nc_mutant_off(const char *check)
{
	const char *words = getenv("NETCORDON_CHECKS_OFF") ?: "";

	while (*words) {
		size_t length = strcspn(words, " ");

		if (is_word(check, words, length))
			return true;
		words += length;
		words += strspn(words, " ");
	}
	return false;
}

static bool known_in_user_space(const char *words, size_t length)
{
	for (size_t i = 0; i < sizeof(in_user_space) / sizeof(*in_user_space); i++) {
		if (is_word(in_user_space[i], words, length))
			return true;
	}
	return false;
}

static uint64_t mask_of(const char *words)
{
	uint64_t mask = 0;

	while (*words) {
		size_t length = strcspn(words, " "), i = 0;

		while (i < sizeof(checks) / sizeof(*checks) && !is_word(checks[i].word, words, length))
			i++;
		if (i == sizeof(checks) / sizeof(*checks) && !known_in_user_space(words, length)) {
			fprintf(stderr, "mutant: there is no check \"%.*s\"\n", (int)length, words);
			exit(2);
		}
		if (i < sizeof(checks) / sizeof(*checks))
			mask |= UINT64_C(1) << checks[i].bit;
		words += length;
		words += strspn(words, " ");
	}
	return mask;
}

/* The object whose maps programs may write lies beside the other. */
static void choose_object(const char *object, char ret_path[600])
{
	const char *slash = strrchr(object, '/');

	if (nc_mutant_off("read_only") && slash)
		snprintf(ret_path, 600, "%.*s/writable.bpf.o", (int)(slash - object), object);
	else
		snprintf(ret_path, 600, "%s", object);
}

void nc_mutant_options(struct nc_host_options *options)
{
	static const char *const foreign[] = {"somebody_else", NULL}; /* what the hostile client calls its programs */
	char path[600] = "";
	const char *object = getenv("NETCORDON_MUTANT_OBJECT"), *off = getenv("NETCORDON_CHECKS_OFF");
	struct nc_error error = {0};
	char *bytes = NULL;
	size_t size;

	if (object)
		choose_object(object, path);
	if (!object || !off || nc_profile_read(path, &bytes, &size, &error) < 0) {
		fprintf(stderr, "mutant: NETCORDON_MUTANT_OBJECT and NETCORDON_CHECKS_OFF are needed: %s\n", error.detail);
		exit(2);
	}
	options->object = bytes; /* for as long as the program runs */
	options->object_size = size;
	options->checks_off = mask_of(off);
	if (nc_mutant_off("foreign"))
		options->foreign_allowed = foreign;
}
