/* SPDX-License-Identifier: GPL-2.0-only */
/* vectors.h - finds tests/vectors and the rest of the source from wherever the test program was started */
#ifndef NC_TEST_VECTORS_H
#define NC_TEST_VECTORS_H

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A path below the folder of the sources: walks up from the program's own place. Valid until the next call but three. */
static const char *in_source(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 4];
	char at[PATH_MAX / 2];
	ssize_t length = readlink("/proc/self/exe", at, sizeof(at) - 1);

	at[length < 0 ? 0 : length] = '\0';
	for (char *slash = strrchr(at, '/'); slash; slash = strrchr(at, '/')) {
		*slash = '\0';
		snprintf(path, PATH_MAX, "%s/%s", at, name);
		if (access(path, F_OK) == 0)
			return path;
	}
	snprintf(path, PATH_MAX, "%s", name);
	return path;
}

static const char *vector(const char *name) __attribute__((unused));
static const char *vector(const char *name)
{
	char below[200];

	snprintf(below, sizeof(below), "tests/vectors/%s", name);
	return in_source(below);
}

#endif
