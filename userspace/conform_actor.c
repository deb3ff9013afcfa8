/* SPDX-License-Identifier: GPL-2.0-only */
/* conform_actor.c - the matrix's own part in a case, one function for each construction that has one (conform_actor.h) */
#include <errno.h>
#include <fcntl.h>
#include <linux/tipc.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "cleanup.h"
#include "conform_actor_parts.h"
#include "json.h"
#include "observe_parts.h"
#include "plain.h"

#define HELPER_MS "7000"

void nc_actor_pause(long ns)
{
	nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

static void open_saying(const struct nc_actor *actor, const char *mark, const char *words)
{
	char fresh[120];
	NC_FCLOSE FILE *file = NULL;

	snprintf(fresh, sizeof(fresh), "%s.new", actor->stage->go);
	file = fopen(fresh, "we");
	if (file && fprintf(file, "%s%s\n", mark, words) > 0 && !fflush(file))
		rename(fresh, actor->stage->go);
}

void nc_actor_open_door(const struct nc_actor *actor)
{
	open_saying(actor, "", "");
}

void nc_actor_cannot(const struct nc_actor *actor, const char *words)
{
	open_saying(actor, "!", words);
}

pid_t nc_actor_wait_for_client(const struct nc_actor *actor)
{
	pid_t pid = 0;

	while (!actor->over && !(pid = nc_conform_find(actor->stage->token)))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	return pid;
}

void nc_actor_note(const struct nc_actor *actor, const char *text, size_t length)
{
	const struct nc_spot *target = &actor->stage->target;
	const struct nc_sight sight = {
		.kind = NC_SIGHT_DATA, .destination = target->address, .destination_port = target->port, .protocol = target->protocol};

	if (!actor->cast->theatre.listeners_off)
		nc_observer_note(actor->cast->theatre.observer, &sight, text, length);
}

/* ---- somebody who knows a way out and hands it over ------------------------------------------------------------------------------------------ */

/* The hostile client as the giver of a socket. Whoever it is for must be able to connect to its path. */
static json_t *giver(const struct nc_actor *actor)
{
	const struct nc_spot *target = &actor->stage->target;
	char port[8];

	snprintf(port, sizeof(port), "%u", target->port);
	return json_pack("[s,s,s,s,s,s,s,s,s,s,s,s]", "sh", "-c", "umask 0; exec \"$@\"", "sh", actor->cast->theatre.client, "-t", HELPER_MS,
			 "scm-giver", "udp", actor->stage->door, target->literal, port);
}

void nc_actor_run_outside(const struct nc_actor *actor, enum nc_site site, unsigned int uid, const json_t *command, int deadline_ms)
{
	NC_JSON json_t *answer = NULL;
	char netns[64], procs[560];
	struct nc_plain place = {.netns = netns, .privileged = !uid, .uid = uid};
	struct nc_error ignored = {0};

	nc_netns_path(&actor->cast->theatre, site, netns);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", actor->prepared.outside);
	if (*actor->prepared.outside)
		place.cgroup_procs = procs;
	nc_plain_exec(&place, command, deadline_ms, &answer, &ignored);
}

static void give_in(struct nc_actor *actor, enum nc_site site)
{
	NC_JSON json_t *command = giver(actor);

	nc_actor_run_outside(actor, site, 0, command, 9000);
}

static void act_handed(struct nc_actor *actor)
{
	give_in(actor, NC_SITE_WORKLOAD);
}

static void act_handed_by_plane(struct nc_actor *actor)
{
	NC_JSON json_t *command = NULL;
	struct nc_driver_output output = {0};
	struct nc_error ignored = {0};

	if (!actor->request)
		return give_in(actor, NC_SITE_EDGE);
	command = giver(actor);
	json_object_set(actor->request, "command", command);
	json_object_set_new(actor->request, "authority", json_string("plane"));
	json_object_set_new(actor->request, "deadline_ms", json_integer(9000));
	if (!nc_driver_exec(actor->cast->driver, actor->request, 9000, &output, &ignored))
		free(output.text);
}

/* -1: it cannot be had. */
static int listening(int family, const void *at, socklen_t length)
{
	NC_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 || bind(fd, at, length) < 0 || listen(fd, 4) < 0 ? -1 : NC_TAKE_FD(fd);
}

/* An abstract name belongs to a network namespace: there the helper must have been started. */
static int listen_abstract(const struct nc_actor *actor)
{
	NC_WORLD_VISIT int back = -1;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(actor->stage->door));
	struct nc_error ignored = {0};
	int fd;

	if (nc_world_enter(actor->cast->theatre.world, NC_SITE_WORKLOAD, &back, &ignored) < 0)
		return -1;
	snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", actor->stage->door);
	fd = listening(AF_UNIX, &at, length);
	if (fd >= 0)
		nc_actor_open_door(actor);
	return fd;
}

static int listen_at_path(const struct nc_actor *actor)
{
	const char *path = actor->stage->door;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	NC_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	/* in this order: once it listens, everybody may connect */
	if (fd < 0 || bind(fd, (void *)&at, sizeof(at)) < 0 || chmod(path, 0777) < 0 || listen(fd, 4) < 0)
		return -1;
	return NC_TAKE_FD(fd);
}

/* On the kernel's own loopback, or nowhere: the client finds out for itself that there is none. */
static int listen_vsock(const struct nc_actor *actor)
{
	const struct sockaddr_vm at = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL, .svm_port = actor->stage->target.port};
	int fd = listening(AF_VSOCK, &at, sizeof(at));

	nc_actor_open_door(actor);
	return fd;
}

/* A service of the node that the workload's namespace is. */
static int listen_tipc(const struct nc_actor *actor)
{
	NC_WORLD_VISIT int back = -1;
	struct sockaddr_tipc at = {.family = AF_TIPC, .addrtype = TIPC_SERVICE_ADDR, .scope = TIPC_NODE_SCOPE};
	struct nc_error ignored = {0};
	int fd;

	at.addr.name.name.type = 18888;
	at.addr.name.name.instance = actor->stage->target.port;
	if (nc_world_enter(actor->cast->theatre.world, NC_SITE_WORKLOAD, &back, &ignored) < 0)
		return -1;
	fd = listening(AF_TIPC, &at, sizeof(at));
	nc_actor_open_door(actor);
	return fd;
}

static const struct {
	const char *variant;
	int (*listen)(const struct nc_actor *actor);
} doors[] = {{"path", listen_at_path}, {"abstract", listen_abstract}, {"vsock", listen_vsock}, {"tipc", listen_tipc}};

static bool readable(const struct nc_actor *actor, int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};

	while (!actor->over) {
		if (poll(&waiting, 1, 20) > 0)
			return true;
	}
	return poll(&waiting, 1, 0) > 0;
}

static int dial_from(const struct nc_actor *actor, enum nc_site site, const struct nc_spot *source, const struct nc_spot *to)
{
	NC_WORLD_VISIT int back = -1;
	struct sockaddr_storage from, at;
	struct nc_error ignored = {0};
	struct timeval patience = {.tv_sec = 2};
	int on = 1;
	socklen_t from_length = source ? nc_observer_to_sockaddr(&source->address, source->port, &from) : 0;
	socklen_t length = nc_observer_to_sockaddr(&to->address, to->port, &at);
	NC_CLOSE int fd = -1;

	if (nc_world_enter(actor->cast->theatre.world, site, &back, &ignored) < 0)
		return -1;
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || (source && bind(fd, (void *)&from, from_length) < 0) || connect(fd, (void *)&at, length) < 0)
		return -1;
	return NC_TAKE_FD(fd);
}

static void relay(const struct nc_actor *actor, int channel)
{
	NC_CLOSE int onward = dial_from(actor, NC_SITE_EDGE, NULL, &actor->stage->target);
	char text[512];
	ssize_t got;

	got = onward < 0 ? 0 : recv(channel, text, sizeof(text), 0);
	if (got <= 0 || send(onward, text, (size_t)got, MSG_NOSIGNAL) != got)
		return;
	got = recv(onward, text, sizeof(text), 0);
	if (got > 0 && send(channel, text, (size_t)got, MSG_NOSIGNAL) < 0)
		return;
}

static void act_helper(struct nc_actor *actor)
{
	const char *variant = actor->stage->row->variant[0] ? actor->stage->row->variant : "path";
	NC_CLOSE int listener = -1, channel = -1;

	for (size_t i = 0; i < sizeof(doors) / sizeof(*doors); i++)
		listener = strcmp(doors[i].variant, variant) ? listener : doors[i].listen(actor);
	if (listener < 0 || !readable(actor, listener))
		return;
	channel = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (channel >= 0 && readable(actor, channel))
		relay(actor, channel);
}

/* ---- the peer that dials --------------------------------------------------------------------------------------------------------------------- */

/* The port of a socket that listens in the workload's namespace and not on loopback; 0: none. Lines of /proc/net/tcp: "0: ADDRESS:PORT REMOTE STATE ...",
 * state 0A listens. */
static uint16_t listening_port(const struct nc_actor *actor)
{
	NC_WORLD_VISIT int back = -1;
	struct nc_error ignored = {0};
	char line[256], address[40];
	unsigned int port, state;
	NC_FCLOSE FILE *table = NULL;

	if (nc_world_enter(actor->cast->theatre.world, NC_SITE_WORKLOAD, &back, &ignored) < 0)
		return 0;
	table = fopen(actor->stage->row->family == 6 ? "/proc/thread-self/net/tcp6" : "/proc/thread-self/net/tcp", "re");
	while (table && fgets(line, sizeof(line), table)) {
		if (sscanf(line, " %*d: %39[0-9A-F]:%x %*[0-9A-F:] %x", address, &port, &state) == 3 && state == 0x0a &&
		    strcmp(address, "0100007F") && strcmp(address, "00000000000000000000000001000000"))
			return (uint16_t)port;
	}
	return 0;
}

/* Dials from the target's address, so that whatever the workload sends back is a packet to the target. */
static void act_listen(struct nc_actor *actor)
{
	struct nc_stage *stage = actor->stage;
	struct nc_spot to = {0};
	struct nc_sight sight = {
		.kind = NC_SIGHT_DATA, .destination = stage->target.address, .destination_port = stage->target.port, .protocol = IPPROTO_TCP};
	NC_CLOSE int fd = -1;
	char text[512];
	ssize_t got;

	while (!actor->over && !(to.port = listening_port(actor)))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	if (!to.port)
		return;
	nc_world_link_address(actor->cast->theatre.world, NC_SITE_WORKLOAD, stage->row->family, &to.address);
	fd = dial_from(actor, NC_SITE_INTERNET, &stage->target, &to);
	got = fd < 0 ? 0 : recv(fd, text, sizeof(text), 0);
	if (got <= 0)
		return;
	nc_observer_note(actor->cast->theatre.observer, &sight, text, (size_t)got);
	if (send(fd, stage->target.answer, strlen(stage->target.answer), MSG_NOSIGNAL) > 0)
		recv(fd, text, sizeof(text), 0); /* until the client is done: closing at once might overtake the answer */
}

/* ---- the operator ---------------------------------------------------------------------------------------------------------------------------- */

/* The target goes from the list; what arrives from now on counts. */
static void update(struct nc_actor *actor)
{
	NC_JSON json_t *answer = NULL, *profile = NULL;
	struct nc_error error = {0};

	if (!actor->request)
		return;
	profile = nc_stage_profile_without_target(actor->stage);
	json_object_set(actor->request, "profile", profile);
	if (nc_driver_ask(actor->cast->driver, "update", actor->request, actor->cast->driver->prepare_ms, &answer, &error) < 0)
		actor->stage->failure = error;
}

static bool arrived(const struct nc_actor *actor)
{
	struct nc_seen seen;

	nc_observer_seen(actor->cast->theatre.observer, actor->stage->since, &actor->stage->target.address, actor->stage->target.port,
			 actor->stage->target.protocol, actor->stage->token, &seen);
	return seen.tokens > 0;
}

static void act_tightened(struct nc_actor *actor)
{
	while (!actor->over && !arrived(actor))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	if (!arrived(actor))
		return;
	actor->stage->permitted = true;
	update(actor);
	nc_actor_pause(100000000); /* what was on its way when the policy changed */
	actor->stage->since = nc_observer_count(actor->cast->theatre.observer);
}

static bool asked_for_target(const struct nc_actor *actor)
{
	size_t count = nc_observer_count(actor->cast->theatre.observer);
	struct nc_sight sight;

	for (size_t i = actor->stage->since; i < count; i++) {
		nc_observer_sight(actor->cast->theatre.observer, i, &sight);
		if (sight.kind == NC_SIGHT_QUESTION && !strcasecmp(sight.text, actor->stage->target.host))
			return true;
	}
	return false;
}

static bool wait_until_asked(const struct nc_actor *actor)
{
	while (!actor->over && !asked_for_target(actor))
		nc_actor_pause(NC_ACTOR_STEP_NS);
	return !actor->over;
}

static void act_name_gone(struct nc_actor *actor)
{
	if (!wait_until_asked(actor))
		return;
	nc_actor_pause(500000000); /* the answer has to reach the client, and the grant the kernel */
	update(actor);
	nc_actor_open_door(actor);
}

static void act_expired(struct nc_actor *actor)
{
	if (!wait_until_asked(actor))
		return;
	if (actor->request)
		nc_actor_pause(2000000000); /* the grant's lifetime was a second */
	nc_actor_open_door(actor);
}

/* Moves the waiting client into a child of its own cgroup, as a container engine would. */
static void act_child(struct nc_actor *actor)
{
	char cgroup[512];
	pid_t pid = actor->request ? nc_actor_wait_for_client(actor) : 0;

	if (pid && !nc_conform_cgroup_of(pid, cgroup)) {
		snprintf(actor->stage->child, sizeof(actor->stage->child), "%.480s/nctest-child-%.8s", cgroup, actor->stage->token);
		if (mkdir(actor->stage->child, 0755) < 0 || nc_conform_move(pid, actor->stage->child) < 0)
			nc_error_sys(&actor->stage->failure, NC_E_WORLD_FAILED, -errno, "move the client to %.200s", actor->stage->child);
	}
	nc_actor_open_door(actor);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------------------------ */

static const struct nc_actor_part parts[] = {
	{NC_CONSTRUCTION_INHERITED, nc_actor_leave_open, NULL, nc_actor_close},
	{NC_CONSTRUCTION_TERMINAL, nc_actor_terminal, nc_actor_read_terminal, nc_actor_close_terminal},
	{NC_CONSTRUCTION_HELPER, NULL, act_helper, NULL},
	{NC_CONSTRUCTION_HANDED, NULL, act_handed, NULL},
	{NC_CONSTRUCTION_HANDED_BY_PLANE, NULL, act_handed_by_plane, NULL},
	{NC_CONSTRUCTION_LISTEN, NULL, act_listen, NULL},
	{NC_CONSTRUCTION_TIGHTENED, NULL, act_tightened, NULL},
	{NC_CONSTRUCTION_NAME_GONE, NULL, act_name_gone, NULL},
	{NC_CONSTRUCTION_EXPIRED, NULL, act_expired, NULL},
	{NC_CONSTRUCTION_HELPERS_DEAD, NULL, nc_actor_helpers_dead, NULL},
	{NC_CONSTRUCTION_IMPOSTOR, NULL, nc_actor_impostor, NULL},
	{NC_CONSTRUCTION_CHILD, NULL, act_child, NULL},
	{NC_CONSTRUCTION_POINTED_OUT, nc_actor_point_out, NULL, nc_actor_forget_pointers},
	{NC_CONSTRUCTION_REMOVED, NULL, nc_actor_removed, NULL},
	{NC_CONSTRUCTION_CLASSIFIED, NULL, nc_actor_classified, NULL},
	{NC_CONSTRUCTION_CANCELLED, NULL, nc_actor_cancelled, NULL},
	{NC_CONSTRUCTION_CANCELLED_LAUNCH, nc_actor_cancel_before, NULL, NULL},
	{NC_CONSTRUCTION_DETACHED, NULL, nc_actor_detached, NULL},
	{NC_CONSTRUCTION_LENT, NULL, nc_actor_lender, NULL},
	{NC_CONSTRUCTION_KEY, NULL, nc_actor_keys, NULL},
	{NC_CONSTRUCTION_NEW_NAMESPACE, NULL, nc_actor_linked, NULL},
	{NC_CONSTRUCTION_FORWARDED, nc_actor_forwarding, NULL, NULL},
	{NC_CONSTRUCTION_FORWARDED_NODE, nc_actor_make_forwarding_node, NULL, NULL},
	{NC_CONSTRUCTION_NODE, nc_actor_make_node, nc_actor_watch_node, NULL},
	{NC_CONSTRUCTION_SERVED, nc_actor_make_node, nc_actor_watch_mounts, NULL},
	{NC_CONSTRUCTION_AUTOMOUNTED, nc_actor_mount_hosts, nc_actor_read_hosts, nc_actor_unmount_hosts},
};

static void *play(void *context)
{
	struct nc_actor *actor = context;

	actor->part->act(actor);
	return NULL;
}

static const struct nc_actor_part *find_part(enum nc_construction construction)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].construction == construction)
			return &parts[i];
	}
	return NULL;
}

int nc_actor_begin(struct nc_cast *cast, struct nc_stage *stage, const json_t *request, const struct nc_driver_prepared *prepared,
		   struct nc_actor **ret_actor, struct nc_error *reterr)
{
	const struct nc_actor_part *part = find_part(stage->row->construction);
	struct nc_actor *actor;

	if (!part)
		return 0;
	actor = calloc(1, sizeof(*actor));
	if (!actor)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "start an actor");
	*actor = (struct nc_actor){.cast = cast,
				   .stage = stage,
				   .part = part,
				   .request = request ? json_deep_copy(request) : NULL,
				   .master = -1,
				   .slave = -1,
				   .hosts = {-1, -1}};
	if (prepared)
		actor->prepared = *prepared;
	*ret_actor = actor;
	if (part->before)
		part->before(actor);
	actor->acts = part->act && !pthread_create(&actor->thread, NULL, play, actor);
	return part->act && !actor->acts ? nc_error_sys(reterr, NC_E_WORLD_FAILED, -EAGAIN, "start an actor") : 0;
}

void nc_actor_end(struct nc_actor *actor)
{
	if (!actor)
		return;
	actor->over = true;
	unlink(actor->stage->go); /* whoever waits for the end sees this */
	if (actor->acts)
		pthread_join(actor->thread, NULL);
	if (actor->part->after)
		actor->part->after(actor);
	if (*actor->stage->child)
		rmdir(actor->stage->child);
	json_decref(actor->request);
	free(actor);
}
