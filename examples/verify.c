/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * verify.c - a Runner's last question, in its own process: is the evidence whole, and is it that of this very launch
 *
 *   cc verify.c $(pkg-config --cflags --libs netcordon) -o verify
 *   ./verify FOLDER PUBLIC-KEY ['{"nonce": "..."}']
 *
 * Prints the sixteen clauses; exits as `netcordon evidence verify` does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <netcordon.h>

int main(int argc, char **argv)
{
	struct nc_library_error error;
	char *json = NULL;
	int answer;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: %s FOLDER PUBLIC-KEY [EXPECTED]\n", argv[0]);
		return 2;
	}
	answer = nc_library_evidence(argv[1], argv[2], argc == 4 ? argv[3] : NULL, &json, &error);
	if (json)
		puts(json);
	free(json);
	if (answer < 0 || answer == NC_LIBRARY_NO)
		fprintf(stderr, "%s: %s: %s\n", argv[0], error.code, error.detail);
	return answer < 0 ? 3 : answer;
}
