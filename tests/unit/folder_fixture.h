/* SPDX-License-Identifier: GPL-2.0-only */
/* folder_fixture.h - a folder of a test's own, and files in it changed byte by byte */
#ifndef NC_TEST_FOLDER_FIXTURE_H
#define NC_TEST_FOLDER_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path below the test's folder; up to sixteen may be in use at once. */
static char fixture_folder[64];
static const char *in_folder(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static const char *in_folder(const char *format, ...)
{
	static char paths[16][400];
	static unsigned int turn;
	char *path = paths[turn++ % 16];
	va_list arguments;
	int used = snprintf(path, sizeof(paths[0]), "%s/", fixture_folder);

	va_start(arguments, format);
	vsnprintf(path + used, sizeof(paths[0]) - (size_t)used, format, arguments);
	va_end(arguments);
	return path;
}

/* A test that writes thousands of times and is not about the disk asks for memory: #define FIXTURE_IN_MEMORY before this file. */
static int fixture_setup(void **state)
{
	const char *parent = "/tmp";

	(void)state;
#ifdef FIXTURE_IN_MEMORY
	if (access("/dev/shm", W_OK) == 0)
		parent = "/dev/shm";
#endif
	snprintf(fixture_folder, sizeof(fixture_folder), "%s/nc-unit-XXXXXX", parent);
	return mkdtemp(fixture_folder) ? 0 : -1;
}

static void remove_tree(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char below[800];

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (unlink(below) < 0)
			remove_tree(below);
	}
	if (folder)
		closedir(folder);
	rmdir(path);
}

static int fixture_teardown(void **state)
{
	(void)state;
	remove_tree(fixture_folder);
	return 0;
}

static void put_file(const char *path, const void *bytes, size_t length, mode_t mode) __attribute__((unused));
static void put_file(const char *path, const void *bytes, size_t length, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

/* The whole file, NUL-terminated; the caller frees. */
static char *get_file(const char *path, size_t *ret_length) __attribute__((unused));
static char *get_file(const char *path, size_t *ret_length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *bytes;

	if (fd < 0 || fstat(fd, &status) < 0)
		fail_msg("cannot read %s", path);
	bytes = malloc((size_t)status.st_size + 1);
	assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
	bytes[status.st_size] = '\0';
	*ret_length = (size_t)status.st_size;
	close(fd);
	return bytes;
}

static bool is_there(const char *path) __attribute__((unused));
static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

#endif
