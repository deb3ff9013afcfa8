/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mounts.c - what the workload may not see or write: bpf file systems and automounted hosts are covered, cgroup file systems made read-only
 *
 * The plan is made by the supervisor from its own mountinfo (the child is born with a copy of that table) and carried out by the child in its own mount
 * namespace. Covering is cheaper than unmounting, which makes the kernel wait for a grace period, and as strong: in a mount namespace made by a less
 * privileged user namespace the kernel locks the cover and the read-only flag (mount_namespaces(7)).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include "child.h"
#include "cleanup.h"

static const struct {
	const char *option;
	unsigned long flag;
} kept_flags[] = {
	{"nosuid", MS_NOSUID},	 {"nodev", MS_NODEV},		{"noexec", MS_NOEXEC},
	{"noatime", MS_NOATIME}, {"nodiratime", MS_NODIRATIME}, {"relatime", MS_RELATIME},
};

/* mountinfo writes blank, tab, newline and backslash as \ and three octal digits. In place. */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		unsigned value;

		if (in[0] == '\\' && sscanf(in + 1, "%3o", &value) == 1) {
			*out = (char)value;
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

static unsigned long parse_flags(char *options)
{
	unsigned long flags = 0;
	char *rest = options;

	for (char *option; (option = strsep(&rest, ","));) {
		for (size_t i = 0; i < sizeof(kept_flags) / sizeof(kept_flags[0]); i++) {
			if (strcmp(option, kept_flags[i].option) == 0)
				flags |= kept_flags[i].flag;
		}
	}
	return flags;
}

static int add_edit(struct nc_mount_plan *plan, int kind, unsigned long flags, const char *point)
{
	struct nc_mount_edit *edits = reallocarray(plan->edits, plan->count + 1, sizeof(*edits));
	char *copy = strdup(point);

	if (edits)
		plan->edits = edits;
	if (!edits || !copy) {
		free(copy);
		return -ENOMEM;
	}
	unescape(copy);
	edits[plan->count++] = (struct nc_mount_edit){.kind = kind, .flags = flags, .point = copy};
	return 0;
}

/* "36 35 98:0 /root /point options optional... - type source super": proc_pid_mountinfo(5). */
static int read_line(struct nc_mount_plan *plan, char *line)
{
	char *fields[6], *rest = line, *type, *source;

	for (int i = 0; i < 6; i++) {
		fields[i] = strsep(&rest, " ");
		if (!rest)
			return -EPROTO;
	}
	type = strncmp(rest, "- ", 2) == 0 ? rest : strstr(rest, " - ");
	if (!type)
		return -EPROTO;
	if (type != rest) {
		*type++ = '\0';
		plan->shared |= strstr(rest, "shared:") != NULL;
	}
	type += 2;
	source = type + strcspn(type, " \n");
	if (*source)
		*source++ = '\0';
	source[strcspn(source, " \n")] = '\0';
	/* the map -hosts (auto.master(5)): to look up a name below it makes the host's automounter dial that name */
	if (strcmp(type, "bpf") == 0 || (strcmp(type, "autofs") == 0 && strcmp(source, "-hosts") == 0))
		return add_edit(plan, NC_MOUNT_HIDE, 0, fields[4]);
	if (strcmp(type, "cgroup") == 0 || strcmp(type, "cgroup2") == 0)
		return add_edit(plan, NC_MOUNT_READ_ONLY, parse_flags(fields[5]), fields[4]);
	return 0;
}

int nc_mount_plan(struct nc_mount_plan *ret_plan, struct nc_error *reterr)
{
	NC_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	struct nc_mount_plan plan = {0};
	NC_FREE char *line = NULL;
	size_t size = 0;
	int r = 0;

	if (!file)
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "open /proc/self/mountinfo");
	errno = 0;
	while (r == 0 && getline(&line, &size, file) > 0)
		r = read_line(&plan, line);
	if (r == 0 && ferror(file))
		r = -EIO;
	if (r < 0) {
		nc_mount_plan_free(&plan);
		return nc_error_sys(reterr, NC_E_SYSTEM, r, "read /proc/self/mountinfo");
	}
	*ret_plan = plan;
	return 0;
}

void nc_mount_plan_free(struct nc_mount_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		free(plan->edits[i].point);
	free(plan->edits);
	*plan = (struct nc_mount_plan){0};
}
