/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * observe.c - the observer's thread, its log and its sources
 *
 * The thread waits with epoll. Sources are added by any thread under the lock and taken away by the observer's thread alone, except by
 * nc_observer_quiet and nc_observer_free, which stop it first: a source is never freed while its handler runs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "clock.h"
#include "cleanup.h"
#include "observe_parts.h"

const char *nc_sight_word(enum nc_sight_kind kind)
{
	static const char *const words[] = {
#define SIGHT_WORD(symbol, word) [NC_SIGHT_##symbol] = word,
		NC_SIGHTS(SIGHT_WORD)};

	return (size_t)kind < sizeof(words) / sizeof(*words) ? words[kind] : NULL;
}

bool nc_observer_is_v4(const union nc_address *address)
{
	static const unsigned char prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address->bytes, prefix, sizeof(prefix));
}

void nc_observer_from_sockaddr(const struct sockaddr_storage *from, union nc_address *ret_address, uint16_t *ret_port)
{
	const struct sockaddr_in *in = (const void *)from;
	const struct sockaddr_in6 *in6 = (const void *)from;

	*ret_address = (union nc_address){0};
	if (from->ss_family == AF_INET) {
		ret_address->bytes[10] = ret_address->bytes[11] = 0xff;
		memcpy(ret_address->bytes + 12, &in->sin_addr, 4);
		*ret_port = ntohs(in->sin_port);
	} else {
		memcpy(ret_address->bytes, &in6->sin6_addr, 16);
		*ret_port = ntohs(in6->sin6_port);
	}
}

socklen_t nc_observer_to_sockaddr(const union nc_address *address, uint16_t port, struct sockaddr_storage *ret_to)
{
	struct sockaddr_in *in = (void *)ret_to;
	struct sockaddr_in6 *in6 = (void *)ret_to;

	memset(ret_to, 0, sizeof(*ret_to));
	if (nc_observer_is_v4(address)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, address->bytes + 12, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, address->bytes, 16);
	return sizeof(*in6);
}

/* ---- the log ------------------------------------------------------------------------------------------------------------------------------ */

void nc_observer_note(struct nc_observer *observer, const struct nc_sight *sight, const char *text, size_t length)
{
	struct nc_sight noted = *sight;
	size_t size = length < sizeof(noted.text) - 1 ? length : sizeof(noted.text) - 1;

	noted.time_ns = (uint64_t)nc_now_ns();
	for (size_t i = 0; text && i < size; i++)
		noted.text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '.';
	pthread_mutex_lock(&observer->lock);
	if (observer->count == observer->room) {
		size_t room = observer->room ? observer->room * 2 : 1024;
		struct nc_sight *sights = realloc(observer->sights, room * sizeof(*sights));

		if (sights) {
			observer->sights = sights;
			observer->room = room;
		}
	}
	if (observer->count < observer->room)
		observer->sights[observer->count++] = noted;
	else
		observer->lost++;
	pthread_mutex_unlock(&observer->lock);
}

size_t nc_observer_count(struct nc_observer *observer)
{
	size_t count;

	pthread_mutex_lock(&observer->lock);
	count = observer->count;
	pthread_mutex_unlock(&observer->lock);
	return count;
}

void nc_observer_sight(struct nc_observer *observer, size_t index, struct nc_sight *ret_sight)
{
	pthread_mutex_lock(&observer->lock);
	*ret_sight = observer->sights[index];
	pthread_mutex_unlock(&observer->lock);
}

uint64_t nc_observer_lost(struct nc_observer *observer)
{
	uint64_t lost;

	pthread_mutex_lock(&observer->lock);
	lost = observer->lost;
	pthread_mutex_unlock(&observer->lock);
	return lost;
}

void nc_observer_seen(struct nc_observer *observer, size_t since, const union nc_address *address, uint16_t port, uint8_t protocol, const char *token,
		      struct nc_seen *ret_seen)
{
	struct nc_seen seen = {0};

	pthread_mutex_lock(&observer->lock);
	for (size_t i = since; i < observer->count; i++) {
		const struct nc_sight *sight = &observer->sights[i];

		if (sight->kind == NC_SIGHT_QUESTION || memcmp(&sight->destination, address, sizeof(*address)))
			continue;
		if (port && (sight->destination_port != port || sight->protocol != protocol))
			continue;
		if (sight->kind == NC_SIGHT_PACKET)
			seen.packets++;
		if (sight->kind == NC_SIGHT_ACCEPTED || sight->kind == NC_SIGHT_DATAGRAM)
			seen.listened++;
		/* Without a token every arrival is one; a protocol without ports, an echo request, arrives as a packet, and so does what is only looked for on
		 * the wire (no port). */
		if (token &&
		    (*token ? *sight->text && strstr(sight->text, token) : sight->kind != NC_SIGHT_PACKET || !sight->destination_port || !port))
			seen.tokens++;
	}
	pthread_mutex_unlock(&observer->lock);
	*ret_seen = seen;
}

/* ---- sources ------------------------------------------------------------------------------------------------------------------------------ */

int nc_observer_inside(int netns_fd, int (*action)(void *context, struct nc_error *reterr), void *context, struct nc_error *reterr)
{
	NC_CLOSE int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int r;

	if (back < 0 || setns(netns_fd, CLONE_NEWNET) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "enter a namespace of the world");
	r = action(context, reterr);
	if (setns(back, CLONE_NEWNET) < 0)
		abort();
	return r;
}

int nc_observer_watch(struct nc_observer *observer, int fd, bool stays, bool (*ready)(struct nc_observer *, struct nc_source *),
		      const struct nc_listener *listener, struct nc_source **ret_source, struct nc_error *reterr)
{
	struct nc_source *source = calloc(1, sizeof(*source));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	if (!source) {
		close(fd);
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "watch a socket");
	}
	source->fd = fd;
	source->stays = stays;
	source->ready = ready;
	if (listener)
		source->listener = *listener;
	if (ret_source)
		*ret_source = source;
	pthread_mutex_lock(&observer->lock);
	source->next = observer->sources;
	observer->sources = source;
	pthread_mutex_unlock(&observer->lock);
	if (epoll_ctl(observer->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "watch a socket");
	return 0;
}

static void drop_source(struct nc_observer *observer, struct nc_source *gone)
{
	pthread_mutex_lock(&observer->lock);
	for (struct nc_source **at = &observer->sources; *at; at = &(*at)->next) {
		if (*at == gone) {
			*at = gone->next;
			break;
		}
	}
	pthread_mutex_unlock(&observer->lock);
	/* Closing alone would not do: a child that is about to be executed holds the same open file for a moment. */
	epoll_ctl(observer->epoll, EPOLL_CTL_DEL, gone->fd, NULL);
	close(gone->fd);
	free(gone);
}

struct socket_request {
	const union nc_address *address;
	uint16_t port;
	uint8_t protocol;
	int fd;
};

bool nc_observer_is_stream(uint8_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_SCTP || protocol == IPPROTO_DCCP;
}

static int open_inside(void *context, struct nc_error *reterr)
{
	struct socket_request *request = context;
	bool v4 = nc_observer_is_v4(request->address), stream = nc_observer_is_stream(request->protocol);
	int type = request->protocol == IPPROTO_DCCP ? SOCK_DCCP : stream ? SOCK_STREAM : SOCK_DGRAM;
	struct sockaddr_storage to;
	socklen_t length = nc_observer_to_sockaddr(request->address, request->port, &to);
	NC_CLOSE int fd = socket(v4 ? AF_INET : AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, request->protocol);
	int on = 1;

	if (fd < 0)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "open a listener");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!v4)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (void *)&to, length) < 0 || (stream && listen(fd, 64) < 0))
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "listen on port %u", request->port);
	request->fd = NC_TAKE_FD(fd);
	return 0;
}

int nc_observer_socket(int netns_fd, const union nc_address *address, uint16_t port, uint8_t protocol, int *ret_fd, struct nc_error *reterr)
{
	struct socket_request request = {.address = address, .port = port, .protocol = protocol, .fd = -1};
	int r = nc_observer_inside(netns_fd, open_inside, &request, reterr);

	if (!r)
		*ret_fd = request.fd;
	return r;
}

/* ---- the thread --------------------------------------------------------------------------------------------------------------------------- */

static void *serve(void *context)
{
	struct nc_observer *observer = context;
	struct epoll_event events[32];

	for (;;) {
		int ready = epoll_wait(observer->epoll, events, 32, -1);

		for (int i = 0; i < ready; i++) {
			struct nc_source *source = events[i].data.ptr;

			if (!source)
				return NULL;
			if (!source->ready(observer, source))
				drop_source(observer, source);
		}
	}
}

static int start(struct nc_observer *observer, struct nc_error *reterr)
{
	int r = pthread_create(&observer->thread, NULL, serve, observer);

	if (r)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -r, "start the observer");
	observer->running = true;
	return 0;
}

static void stop(struct nc_observer *observer)
{
	uint64_t one = 1;

	if (!observer->running)
		return;
	while (write(observer->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(observer->thread, NULL);
	observer->running = false;
	while (read(observer->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int nc_observer_new(struct nc_observer **ret_observer, struct nc_error *reterr)
{
	struct nc_observer *observer = calloc(1, sizeof(*observer));
	struct epoll_event event = {.events = EPOLLIN};
	int r = 0;

	if (!observer)
		return nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "make the observer");
	pthread_mutex_init(&observer->lock, NULL);
	observer->epoll = epoll_create1(EPOLL_CLOEXEC);
	observer->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (observer->epoll < 0 || observer->wake < 0 || epoll_ctl(observer->epoll, EPOLL_CTL_ADD, observer->wake, &event) < 0)
		r = nc_error_sys(reterr, NC_E_WORLD_FAILED, -errno, "make the observer");
	if (!r)
		r = start(observer, reterr);
	if (r < 0) {
		nc_observer_free(observer);
		return r;
	}
	*ret_observer = observer;
	return 0;
}

static void drop_sources(struct nc_observer *observer, bool all)
{
	for (struct nc_source *source = observer->sources, *next; source; source = next) {
		next = source->next;
		if (all || !source->stays)
			drop_source(observer, source);
	}
}

void nc_observer_quiet(struct nc_observer *observer)
{
	struct nc_error ignored = {0};

	stop(observer);
	drop_sources(observer, false);
	nc_observer_forget_names(observer);
	if (start(observer, &ignored) < 0)
		abort(); /* without its observer the matrix would call everything refused */
}

void nc_observer_free(struct nc_observer *observer)
{
	if (!observer)
		return;
	stop(observer);
	drop_sources(observer, true);
	nc_observer_forget_names(observer);
	if (observer->epoll >= 0)
		close(observer->epoll);
	if (observer->wake >= 0)
		close(observer->wake);
	pthread_mutex_destroy(&observer->lock);
	free(observer->sights);
	free(observer);
}
