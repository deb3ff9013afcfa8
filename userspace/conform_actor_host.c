/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_actor_host.c - the host around the workload: cgroups that come and go, programs of somebody else, keys, devices, a process of the same user
 *
 * These are things that happen on real hosts with nobody's ill will (a container engine, an agent that installs programs, a user id used twice), or that
 * only root outside can do. Each function is one construction's part (conform_actor_parts.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_actor_parts.h"
#include "json.h"
#include "plain.h"

static void failed(const struct nc_actor *actor, int status, const char *what)
{
	nc_error_sys(&actor->stage->failure, NC_E_WORLD_FAILED, status, "%s", what);
}

/* A command of the hostile client's, as root of the host and to its end; what came of it: "through" or not. Words of its report otherwise. */
static bool outside(const struct nc_actor *actor, json_t *arguments, char words[96])
{
	NC_JSON json_t *command = json_pack("[s]", actor->cast->theatre.client), *answer = NULL;
	const struct nc_plain place = {.privileged = true};
	struct nc_error error = {0};
	struct nc_run run = {0};

	json_array_extend(command, arguments);
	json_decref(arguments);
	if (nc_plain_exec(&place, command, 9000, &answer, &error) < 0)
		snprintf(words, 96, "%.90s", error.detail);
	else
		nc_client_read(json_string_value(json_object_get(answer, "output")), "-", &run);
	if (run.reported)
		snprintf(words, 96, "%s%s", run.impossible ? "!" : "", run.how);
	return run.through;
}

/* ---- what the driver knows, where the client looks for it -------------------------------------------------------------------------------------- */

static void point(const struct nc_actor *actor, const char *path, const char *target)
{
	if (*target && symlink(target, path) < 0)
		failed(actor, -errno, "point at something of the host's");
}

/* Without enforcement a cgroup to move to is this process's own, and there are no pins. */
void nc_actor_point_out(struct nc_actor *actor)
{
	char own[512] = "";

	if (!actor->request)
		nc_conform_cgroup_of(getpid(), own);
	point(actor, actor->stage->outside, actor->request ? actor->prepared.outside : own);
	point(actor, actor->stage->pins, actor->prepared.pins);
	point(actor, actor->stage->policy, actor->prepared.policy);
}

void nc_actor_forget_pointers(struct nc_actor *actor)
{
	unlink(actor->stage->outside);
	unlink(actor->stage->pins);
	unlink(actor->stage->policy);
}

/* ---- cgroups ------------------------------------------------------------------------------------------------------------------------------------ */

static bool holds_a_socket(pid_t pid)
{
	char path[64], target[32];
	bool found = false;

	for (int fd = 3; !found && fd < 16; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		length = readlink(path, target, sizeof(target) - 1);
		found = length > 7 && !strncmp(target, "socket:", 7);
	}
	return found;
}

/* The client makes its socket in a child of its cgroup, and uses it when the child is gone. */
void nc_actor_removed(struct nc_actor *actor)
{
	struct nc_stage *stage = actor->stage;
	pid_t pid = nc_actor_wait_for_client(actor);
	char cgroup[512], child[576];
	NC_CLOSE int fd = -1;

	if (!pid || nc_conform_cgroup_of(pid, cgroup))
		return;
	snprintf(child, sizeof(child), "%s/nctest-child-%.8s", cgroup, stage->token);
	if (mkdir(child, 0755) < 0 || nc_conform_move(pid, child) < 0)
		return failed(actor, -errno, "move the client to a child of its cgroup");
	nc_actor_open_door(actor);
	while (!actor->over && !holds_a_socket(pid))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	if (nc_conform_move(pid, cgroup) < 0 || rmdir(child) < 0)
		failed(actor, -errno, "take the child cgroup away");
	fd = open(stage->door, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	while (!actor->over)
		nc_actor_pause(NC_ACTOR_STEP_NS);
	rmdir(child);
}

/* Where net_cls is mounted, or is now, for this thread alone. Negative errno. */
static int classifier(const struct nc_actor *actor, char ret_folder[256])
{
	NC_FCLOSE FILE *table = fopen("/proc/self/mounts", "re");
	char line[512], point_[256], type[32], options[256];

	while (table && fgets(line, sizeof(line), table)) {
		if (sscanf(line, "%*s %255s %31s %255s", point_, type, options) == 3 && !strcmp(type, "cgroup") && strstr(options, "net_cls")) {
			snprintf(ret_folder, 256, "%s", point_);
			return 0;
		}
	}
	snprintf(ret_folder, 256, "%s/classes", actor->stage->folder);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mkdir(ret_folder, 0755) < 0)
		return -errno;
	return mount("none", ret_folder, "cgroup", 0, "net_cls") < 0 ? -errno : 0;
}

/* An administrator gives the running client a traffic class (version 1 of cgroups). Before 5.14 that took the place of its cgroup of version 2. */
void nc_actor_classified(struct nc_actor *actor)
{
	char folder[256], child[300], path[340], words[64];
	pid_t pid = nc_actor_wait_for_client(actor);
	int r = classifier(actor, folder);
	NC_CLOSE int fd = -1;

	if (r < 0) {
		snprintf(words, sizeof(words), "mount(net_cls) %s", strerrorname_np(-r) ?: "?");
		nc_actor_cannot(actor, words);
		rmdir(folder);
		return;
	}
	snprintf(child, sizeof(child), "%s/nctest-%.8s", folder, actor->stage->token);
	snprintf(path, sizeof(path), "%s/net_cls.classid", child);
	if (mkdir(child, 0755) < 0 || (fd = open(path, O_WRONLY | O_CLOEXEC)) < 0 || write(fd, "0x100001", 8) != 8 || nc_conform_move(pid, child) < 0)
		failed(actor, -errno, "give the client a traffic class");
	nc_actor_open_door(actor);
	while (!actor->over)
		nc_actor_pause(NC_ACTOR_STEP_NS);
	for (int i = 0; i < 200 && rmdir(child) < 0 && errno == EBUSY; i++)
		nc_actor_pause(NC_ACTOR_STEP_NS);
	if (!strncmp(folder, actor->stage->folder, strlen(actor->stage->folder))) {
		umount2(folder, MNT_DETACH);
		rmdir(folder);
	}
}

/* ---- programs of somebody else ------------------------------------------------------------------------------------------------------------------ */

/*
 * Above everything of this run, which has that cgroup for itself (NC_CASE_APART); the program goes with the cgroup. Without enforcement it is loaded
 * all the same and attached nowhere: a kernel that has no such program says so there.
 */
void nc_actor_cancel_before(struct nc_actor *actor)
{
	const char *above = actor->request ? actor->prepared.root : "-", *family = actor->stage->row->family == 4 ? "v4" : "v6";
	char words[96] = "";

	if (outside(actor, json_pack("[s,s,s]", "cancel", above, family), words))
		return nc_actor_open_door(actor);
	if (*words == '!')
		return nc_actor_cannot(actor, words + 1);
	nc_error_set(&actor->stage->failure, NC_E_WORLD_FAILED, -EIO, "attach a program of somebody else: %s", words);
	nc_actor_open_door(actor);
}

void nc_actor_cancelled(struct nc_actor *actor)
{
	if (nc_actor_wait_for_client(actor))
		nc_actor_cancel_before(actor);
}

/* One program is detached while the workload runs, wherever it is attached; the others must hold. */
void nc_actor_detached(struct nc_actor *actor)
{
	char hook[16], words[96] = "";

	snprintf(hook, sizeof(hook), "sendmsg%d", actor->stage->row->family);
	if (actor->request && nc_actor_wait_for_client(actor) && !outside(actor, json_pack("[s,s,s]", "unhook", actor->prepared.pins, hook), words))
		nc_error_set(&actor->stage->failure, NC_E_WORLD_FAILED, -EIO, "detach %s below %.200s: %s", hook, actor->prepared.pins, words);
	nc_actor_open_door(actor);
}

/* ---- a process of the same user ----------------------------------------------------------------------------------------------------------------- */

static unsigned int user_of(pid_t pid)
{
	char path[64], line[128];
	unsigned int uid = 0;
	NC_FCLOSE FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			break;
	}
	return uid;
}

/* Its socket is what is to be had. Ends when the door goes. */
void nc_actor_lender(struct nc_actor *actor)
{
	const struct nc_stage *stage = actor->stage;
	pid_t pid = nc_actor_wait_for_client(actor);
	NC_JSON json_t *command = json_pack("[s,s,s,s,s,s,s,o]", actor->cast->theatre.client, "-t", "9000", "lend", stage->go, "37",
					    stage->target.literal, json_sprintf("%u", stage->target.port));
	unsigned int uid = pid ? user_of(pid) : 0;

	if (uid)
		nc_actor_run_outside(actor, NC_SITE_EDGE, uid, command, 10000);
}

/* ---- keys --------------------------------------------------------------------------------------------------------------------------------------- */

/* Whom a key is for sees it in /proc/keys, and nobody else, not root either: this thread looks as the client's user. */
static bool key_was_asked_for(const struct nc_actor *actor, unsigned int uid)
{
	char line[256];
	bool found = false;
	FILE *table;

	syscall(SYS_setfsuid, uid);
	table = fopen("/proc/keys", "re");
	syscall(SYS_setfsuid, 0);
	while (table && !found && fgets(line, sizeof(line), table))
		found = strstr(line, actor->stage->token);
	if (table)
		fclose(table);
	return found;
}

/* A key with the client's own random name, made because the kernel went and asked the host for it. */
void nc_actor_keys(struct nc_actor *actor)
{
	pid_t pid = nc_actor_wait_for_client(actor);
	unsigned int uid = pid ? user_of(pid) : 0;
	bool found = false;

	while (!actor->over && !(found = key_was_asked_for(actor, uid)))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	if (found || key_was_asked_for(actor, uid))
		nc_actor_note(actor, actor->stage->token, strlen(actor->stage->token));
	nc_actor_open_door(actor);
}

/* ---- devices and namespaces --------------------------------------------------------------------------------------------------------------------- */

/* Once the client is in a namespace of its own, somebody on the host gives that a link to the world, as container tools do. */
void nc_actor_linked(struct nc_actor *actor)
{
	struct nc_world *world = actor->cast->theatre.world;
	pid_t pid = nc_actor_wait_for_client(actor);
	struct stat home, now;
	char path[64];
	NC_CLOSE int netns = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	if (!pid || fstat(nc_world_netns(world, NC_SITE_WORKLOAD), &home) < 0)
		return;
	while (!actor->over && (stat(path, &now) < 0 || now.st_ino == home.st_ino))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	netns = actor->over ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (netns >= 0)
		nc_world_adopt(world, netns, &actor->stage->failure);
	nc_actor_open_door(actor);
}

void nc_actor_forwarding(struct nc_actor *actor)
{
	nc_world_forward(actor->cast->theatre.world, NC_SITE_WORKLOAD, &actor->stage->failure);
}
