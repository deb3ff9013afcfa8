// SPDX-License-Identifier: GPL-2.0-only
/*
 * filtered.c - `filtered COMMAND...`: a command under the shipped filter of system calls as it is where nothing else closes unix sockets, and under
 * nothing else
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "seccomp_filter.h"

int main(int argc, char **argv)
{
	static const struct nc_seccomp_choice choice = {.refuse_unix = true};
	struct nc_seccomp filter = {0};
	struct nc_error error = {0};

	if (argc < 2 || nc_seccomp_compile(&choice, &filter, &error) < 0)
		return 99;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, &filter.program, 0, 0) < 0) {
		perror("filtered");
		return 99;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 98;
}
