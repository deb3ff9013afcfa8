/* SPDX-License-Identifier: GPL-2.0-only */
/* main.c - where the program begins: three usable standard descriptors, then the table of commands */
#include <fcntl.h>
#include <unistd.h>
#include "commands.h"

/*
 * A standard descriptor that is closed would be given to the next file that is opened, and a message could end up inside it. The place is taken
 * with a descriptor for which the wrong direction fails, so that writing to a closed output is still an error and not a success.
 */
static int open_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (open_standard_descriptors() < 0)
		return NC_EXIT_FAILED;
	return nc_commands_main(argc, argv);
}
