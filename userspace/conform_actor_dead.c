/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_actor_dead.c - the end of those who serve a workload, and somebody else in their place */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "cleanup.h"
#include "conform_actor_parts.h"

#define SERVING_MAX 8

/* The UDP sockets on loopback of the workload's namespace: where names are served, and whatever else a provider listens for. Lines of /proc/net/udp: "0:
 * ADDRESS:PORT REMOTE STATE TX:RX TIMER RETRANSMITS UID TIMEOUT INODE ...". */
struct serving {
	uint16_t ports[SERVING_MAX];
	unsigned long inodes[SERVING_MAX];
	size_t count;
};

static void find_serving(const struct nc_actor *actor, struct serving *ret_serving)
{
	NC_WORLD_VISIT int back = -1;
	bool v4 = actor->stage->row->family == 4;
	struct serving found = {0};
	struct nc_error ignored = {0};
	char line[256], address[40];
	unsigned int port;
	NC_FCLOSE FILE *table = NULL;

	if (nc_world_enter(actor->cast->theatre.world, NC_SITE_WORKLOAD, &back, &ignored) == 0)
		table = fopen(v4 ? "/proc/thread-self/net/udp" : "/proc/thread-self/net/udp6", "re");
	while (table && found.count < SERVING_MAX && fgets(line, sizeof(line), table)) {
		if (sscanf(line, " %*d: %39[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %lu", address, &port, &found.inodes[found.count]) == 3 &&
		    !strcmp(address, v4 ? "0100007F" : "00000000000000000000000001000000"))
			found.ports[found.count++] = (uint16_t)port;
	}
	*ret_serving = found;
}

/* Waits until the client is there, and ends those who hold the sockets. */
static void kill_helpers(struct nc_actor *actor, struct serving *ret_serving)
{
	nc_actor_wait_for_client(actor);
	find_serving(actor, ret_serving);
	for (size_t i = 0; i < ret_serving->count; i++) {
		for (int round = 0; round < 400 && nc_conform_kill_holders(ret_serving->inodes[i]); round++)
			nc_actor_pause(NC_ACTOR_STEP_NS);
	}
	if (!ret_serving->count)
		nc_error_set(&actor->stage->failure, NC_E_WORLD_FAILED, -ESRCH, "nobody serves names on the workload's loopback");
}

void nc_actor_helpers_dead(struct nc_actor *actor)
{
	struct serving serving;

	if (actor->request)
		kill_helpers(actor, &serving);
	nc_actor_open_door(actor);
}

/* The port is free when the last holder has ended. */
static int take_place(struct nc_actor *actor, const struct nc_listener *listener)
{
	int netns = nc_world_netns(actor->cast->theatre.world, NC_SITE_WORKLOAD), r = -EADDRINUSE;

	for (int i = 0; r == -EADDRINUSE && i < 400; i++) {
		r = nc_observer_listen(actor->cast->theatre.observer, netns, listener, &actor->stage->failure);
		if (r)
			nc_actor_pause(NC_ACTOR_STEP_NS);
	}
	if (!r)
		actor->stage->failure = (struct nc_error){0};
	return r;
}

/* From now on the target is whatever sat on loopback. */
void nc_actor_impostor(struct nc_actor *actor)
{
	static const union nc_address loopback4 = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}, loopback6 = {.bytes = {[15] = 1}};
	struct nc_stage *stage = actor->stage;
	struct nc_listener listener = {.address = stage->row->family == 4 ? loopback4 : loopback6, .protocol = IPPROTO_UDP};
	struct serving serving = {0};
	int r = 0;

	memcpy(listener.answer, stage->target.answer, sizeof(listener.answer));
	if (actor->request)
		kill_helpers(actor, &serving);
	for (size_t i = 0; !r && i < serving.count; i++) {
		listener.port = serving.ports[i];
		r = take_place(actor, &listener);
	}
	if (serving.count && !r) {
		stage->target.address = listener.address;
		stage->target.port = 0;
	}
	nc_actor_open_door(actor);
}
