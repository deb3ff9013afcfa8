/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uid.c - a user id that no process outside the instance has
 *
 * Whoever has the same user id may trace a process, write its memory and use its sockets, and none of that passes a hook. So the workload gets a user id
 * of its own, by arithmetic from the instance's generation, or the profile's user if nothing else runs under it now. The last word is the kernel's, at the fork
 * of the command (init.c); the walk here finds what that cannot see, a process whose effective or saved id is the same while its real id is another.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "identity.h"

uid_t nc_uid_of(uint64_t generation, enum nc_uid_role role)
{
	return NC_UID_BASE + (uint32_t)(generation % (NC_UID_COUNT / NC_UID_ROLES)) * NC_UID_ROLES + (uint32_t)role;
}

void nc_identity_own(uint64_t generation, enum nc_uid_role role, struct nc_identity *ret_identity)
{
	uid_t uid = nc_uid_of(generation, role);

	*ret_identity = (struct nc_identity){.uid = uid, .gid = uid, .own = true};
}

static bool parse_id(const char *text, uint32_t *ret_id)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)value;
	return true;
}

/* Returns false when there is no such user. */
static bool find_user(const char *name, struct nc_identity *identity)
{
	NC_FCLOSE FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry;
	uint32_t id = 0;
	bool by_id = parse_id(name, &id);

	while (file && (entry = fgetpwent(file))) {
		if (by_id ? entry->pw_uid == id : strcmp(entry->pw_name, name) == 0) {
			identity->uid = entry->pw_uid;
			identity->gid = entry->pw_gid;
			return true;
		}
	}
	identity->uid = id;
	identity->gid = id;
	return by_id;
}

static bool find_group(const char *name, gid_t *ret_gid)
{
	NC_FCLOSE FILE *file = fopen("/etc/group", "re");
	struct group *entry;
	uint32_t id;

	if (parse_id(name, &id)) {
		*ret_gid = id;
		return true;
	}
	while (file && (entry = fgetgrent(file))) {
		if (strcmp(entry->gr_name, name) == 0) {
			*ret_gid = entry->gr_gid;
			return true;
		}
	}
	return false;
}

/* The four user ids of a process: real, effective, saved, file system. A process that ended meanwhile has none; of any other whose ids cannot be read nobody
 * knows, and that is an error. 1, 0 or negative errno. */
static int has_uid(const char *pid, uid_t uid)
{
	char path[64], line[256];
	NC_FCLOSE FILE *file = NULL;
	unsigned ids[4];

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	errno = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4)
			return ids[0] == uid || ids[1] == uid || ids[2] == uid || ids[3] == uid;
	}
	return !ferror(file) || errno == ESRCH ? 0 : -EIO;
}

static int find_other(uid_t uid, struct nc_error *reterr)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	if (!proc)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open /proc");
	while (r == 0 && (errno = 0, entry = readdir(proc))) {
		int has = isdigit((unsigned char)entry->d_name[0]) ? has_uid(entry->d_name, uid) : 0;

		if (has < 0)
			r = nc_error_sys(reterr, NC_E_SYSTEM, has, "read the user ids of process %.20s", entry->d_name);
		if (has > 0) {
			r = nc_error_set(reterr, NC_E_UID_SHARED, -EBUSY, "process %.20s outside the instance has user id %u", entry->d_name, uid);
			nc_error_hint(reterr, "end it, or leave process.user out of the profile: the instance then gets an id of its own");
		}
	}
	if (r == 0 && errno)
		r = nc_error_sys(reterr, NC_E_SYSTEM, -errno, "read /proc");
	closedir(proc);
	return r;
}

static int refuse(struct nc_error *reterr, const char *pointer, const char *what, const char *name)
{
	int r = nc_error_set(reterr, NC_E_PROCESS_INVALID, -EINVAL, "\"%s\" %s", name, what);

	snprintf(reterr->pointer, sizeof(reterr->pointer), "%s", pointer);
	return r;
}

int nc_identity_workload(const struct nc_profile *profile, uint64_t generation, struct nc_identity *ret_identity, struct nc_error *reterr)
{
	const struct nc_profile_process *process = &profile->process;
	struct nc_identity identity = {0};
	int r;

	nc_identity_own(generation, NC_UID_WORKLOAD, &identity);
	if (process->user[0]) {
		identity.own = false;
		if (!find_user(process->user, &identity))
			return refuse(reterr, "/process/user", "is not a user of this host", process->user);
		if (identity.uid == 0)
			return refuse(reterr, "/process/user", "is user id 0, which a workload never has", process->user);
	}
	if (process->group[0] && !find_group(process->group, &identity.gid))
		return refuse(reterr, "/process/group", "is not a group of this host", process->group);
	if (identity.gid == 0)
		return refuse(reterr, process->group[0] ? "/process/group" : "/process/user", "gives group id 0, which a workload never has",
			      process->group[0] ? process->group : process->user);
	r = identity.own ? 0 : find_other(identity.uid, reterr);
	if (r < 0)
		return r;
	*ret_identity = identity;
	return 0;
}
