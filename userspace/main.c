/* SPDX-License-Identifier: GPL-2.0-only */
/* main.c - where the program begins: three usable standard descriptors, memory that is cheap to have, then the table of commands */
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>
#include "commands.h"
#include "json.h"

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

/*
 * The allocator takes memory from the kernel in one piece and gives nothing back: each mapping made and undone costs a command of some milliseconds more
 * than all that it does with it. Freed chunks are merged at once, so that what comes next finds them: a page that was touched already costs nothing.
 */
static void arrange_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 512 << 10);
	mallopt(M_MXFAST, 0);
}

int main(int argc, char **argv)
{
	arrange_memory();
	nc_json_watch_memory();
	if (open_standard_descriptors() < 0)
		return NC_EXIT_FAILED;
	return nc_commands_main(argc, argv);
}
