/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * oci_profile.c - the profile that a container's annotation names, from the operator's folder and from nowhere else
 *
 * Every step is taken from the descriptor of the one before, and what is checked is what is opened: whoever can exchange a name between the check and the use
 * gains nothing by it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cleanup.h"
#include "oci.h"

#define HINT "chown root and chmod go-w it: whoever can write it decides what containers may reach"

static int untrusted(const char *what, const char *path, struct nc_error *reterr)
{
	nc_error_set(reterr, NC_E_PROFILE_UNTRUSTED, -EPERM, "%s %s", path, what);
	return nc_error_hint(reterr, HINT);
}

/* Root's, or in tests the caller's, and nobody else's to write. */
static int check_owner(int fd, const char *path, struct stat *ret_status, struct nc_error *reterr)
{
	if (fstat(fd, ret_status) < 0)
		return nc_error_sys(reterr, NC_E_PROFILE_UNREADABLE, -errno, "look at %s", path);
	if (ret_status->st_uid != 0 && ret_status->st_uid != geteuid())
		return untrusted("does not belong to root", path, reterr);
	if (ret_status->st_mode & 022)
		return untrusted("can be written by others than root", path, reterr);
	return 0;
}

int nc_oci_profile_open(const char *folder, const char *name, int *ret_fd, struct nc_error *reterr)
{
	char file[NC_OCI_PROFILE_NAME_MAX + sizeof(".json")], path[NC_PATH_MAX];
	NC_CLOSE int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	NC_CLOSE int fd = -1;
	struct stat status;
	int r;

	if (strchr(name, '/') || name[0] == '.' || snprintf(file, sizeof(file), "%s.json", name) >= (int)sizeof(file))
		return nc_error_set(reterr, NC_E_PROFILE_UNTRUSTED, -EINVAL, "the profile's name is not a name");
	if (folder_fd < 0) {
		nc_error_sys(reterr, NC_E_PROFILE_UNREADABLE, -errno, "open the profile folder %s", folder);
		return nc_error_hint(reterr, "`profiles` in the configuration names it; it may not be a symbolic link");
	}
	r = check_owner(folder_fd, folder, &status, reterr);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%.400s/%s", folder, file);
	fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ELOOP)
		return untrusted("is a symbolic link", path, reterr);
	if (fd < 0) {
		/* Engines look for the errno's own words and then say that a program was not found. */
		if (errno == ENOENT)
			nc_error_set(reterr, NC_E_PROFILE_UNREADABLE, -errno, "there is no profile %s", path);
		else
			nc_error_sys(reterr, NC_E_PROFILE_UNREADABLE, -errno, "open %s", path);
		return nc_error_hint(reterr, "the operator puts the profiles that containers may ask for into that folder");
	}
	r = check_owner(fd, path, &status, reterr);
	if (r < 0)
		return r;
	if (!S_ISREG(status.st_mode))
		return untrusted("is no regular file", path, reterr);
	*ret_fd = NC_TAKE_FD(fd);
	return 0;
}
