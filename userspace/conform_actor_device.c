/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_actor_device.c - the nodes of devices, and the host's automounter
 *
 * What goes through such a device passes no listener. So the kernel's own word counts: that the client has the device open (its descriptors), that it has
 * mounted what it serves (its mounts), that the automounter was asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/auto_fs.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_actor_parts.h"
#include "device.h"

static const struct {
	const char *node;
	unsigned int major, minor;
} devices[] = {
#define DEVICE_ROW(symbol, path, node, major, first, ...) {node, major, first},
	NC_DEVICES(DEVICE_ROW)};

static void failed(const struct nc_actor *actor, int status, const char *what)
{
	nc_error_sys(&actor->stage->failure, NC_E_WORLD_FAILED, status, "%s", what);
}

static dev_t numbers_of(const struct nc_actor *actor)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		if (!strcmp(devices[i].node, actor->stage->row->variant))
			return makedev(devices[i].major, devices[i].minor);
	}
	return 0;
}

/* Where the client meets us: a folder that everybody may enter, far from /dev. It goes with the folder. */
void nc_actor_make_node(struct nc_actor *actor)
{
	if (mknod(actor->stage->door, S_IFCHR | 0666, numbers_of(actor)) < 0 || chmod(actor->stage->door, 0666) < 0)
		failed(actor, -errno, "make the node of a device");
}

void nc_actor_make_forwarding_node(struct nc_actor *actor)
{
	nc_actor_forwarding(actor);
	nc_actor_make_node(actor);
}

static bool holds_device(pid_t pid, dev_t device)
{
	struct stat st;
	char path[64];

	for (int fd = 3; fd < 16; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		if (!stat(path, &st) && S_ISCHR(st.st_mode) && st.st_rdev == device)
			return true;
	}
	return false;
}

/* Did it mount what says its own random word to be its source? */
static bool mounted_token(pid_t pid, const char *token)
{
	char path[64], line[1024];
	NC_FCLOSE FILE *table = NULL;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	table = fopen(path, "re");
	while (table && fgets(line, sizeof(line), table)) {
		if (strstr(line, " - fuse ") && strstr(line, token))
			return true;
	}
	return false;
}

static void watch(struct nc_actor *actor, bool mounts)
{
	pid_t pid = nc_actor_wait_for_client(actor);
	bool seen = false;

	while (!actor->over && pid && !seen) {
		seen = mounts ? mounted_token(pid, actor->stage->token) : holds_device(pid, numbers_of(actor));
		if (!seen)
			nc_actor_pause(NC_ACTOR_STEP_NS);
	}
	if (seen)
		nc_actor_note(actor, actor->stage->token, strlen(actor->stage->token));
	nc_actor_open_door(actor);
}

void nc_actor_watch_node(struct nc_actor *actor)
{
	watch(actor, false);
}

void nc_actor_watch_mounts(struct nc_actor *actor)
{
	watch(actor, true);
}

/* ---- the automounter ------------------------------------------------------------------------------------------------------------------------------ */

/* In a mount namespace of this worker's, which goes with it, whatever becomes of it; what starts from here is in it too. */
static int apart(void)
{
	static bool done;

	if (!done && (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0))
		return -errno;
	done = true;
	return 0;
}

/* As automount(8) mounts the map of hosts. The group that may look without asking is this process's; clients have one of their own. */
void nc_actor_mount_hosts(struct nc_actor *actor)
{
	char options[96];
	int ends[2], r = apart();

	if (r < 0 || mkdir(actor->stage->door, 0755) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return failed(actor, r < 0 ? r : -errno, "prepare an automounter");
	snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", ends[1], (int)getpgrp());
	r = mount("-hosts", actor->stage->door, "autofs", 0, options) < 0 ? errno : 0;
	close(ends[1]);
	actor->hosts[0] = ends[0];
	actor->hosts[1] = open(actor->stage->door, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r && r != ENODEV) /* without autofs there is an empty folder, and nobody is asked */
		failed(actor, -r, "mount autofs");
}

/* The first name that the kernel asks for. Whoever waits for the answer, now or later, is told that there is none. */
void nc_actor_read_hosts(struct nc_actor *actor)
{
	struct pollfd waiting = {.fd = actor->hosts[0], .events = POLLIN};
	struct autofs_v5_packet packet = {0};

	while (!actor->over && poll(&waiting, 1, 20) == 0)
		;
	if (poll(&waiting, 1, 0) == 1 && read(actor->hosts[0], &packet, sizeof(packet)) >= (ssize_t)offsetof(struct autofs_v5_packet, name))
		nc_actor_note(actor, packet.name, strnlen(packet.name, sizeof(packet.name)));
	ioctl(actor->hosts[1], AUTOFS_IOC_CATATONIC, 0);
}

void nc_actor_unmount_hosts(struct nc_actor *actor)
{
	for (int i = 0; i < 2; i++)
		nc_cleanup_close(&actor->hosts[i]);
	umount2(actor->stage->door, MNT_DETACH);
	rmdir(actor->stage->door);
}
