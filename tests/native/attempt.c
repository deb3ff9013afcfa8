// SPDX-License-Identifier: GPL-2.0-only
/* attempt.c - the table of verbs, what they share, and the one line of JSON that comes out */
#include "attempt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define USAGE_STATUS 64

static const struct verb {
	const char *name;
	verb_run *run;
	int arguments;
	const char *usage;
	const char *what;
} verbs[] = {
#define VERB_ROW(name, function, count, usage, what) {name, verb_##function, count, usage, what},
	VERBS(VERB_ROW)};

int step(struct attempt *a, const char *call, long result)
{
	a->call = call;
	a->error = result < 0 ? errno : 0;
	return result < 0 ? -1 : 0;
}

enum outcome fail(struct attempt *a)
{
	switch (a->error) {
	case EPROTONOSUPPORT:
	case ESOCKTNOSUPPORT:
	case EAFNOSUPPORT:
	case ENOPROTOOPT:
	case ENOSYS:
		return IMPOSSIBLE;
	default:
		return REFUSED;
	}
}

static void __attribute__((noreturn)) usage_error(const char *what, const char *text)
{
	fprintf(stderr, "attempt: %s: %s\n", what, text);
	exit(USAGE_STATUS);
}

const char *wait_for(const char *path)
{
	static char text[80];
	ssize_t got;
	int fd;

	for (int i = 0; i < 800 && access(path, F_OK); i++)
		usleep(10 * 1000);
	usleep(20 * 1000);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

long number(const char *text)
{
	char *end = NULL;
	long value;

	errno = 0;
	value = strtol(text, &end, 0);
	if (errno || end == text || *end)
		usage_error("not a number", text);
	return value;
}

void *zalloc(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		usage_error("memory", "none left");
	return memory;
}

struct peer peer_of(const char *address, const char *port)
{
	struct peer peer = {0};
	struct sockaddr_in *in = (void *)&peer.address;
	struct sockaddr_in6 *in6 = (void *)&peer.address;
	long value = number(port);

	if (value < 0 || value > 65535)
		usage_error("not a port", port);
	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)value);
		peer.length = sizeof(*in);
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)value);
		peer.length = sizeof(*in6);
	} else {
		usage_error("not an address literal", address);
	}
	return peer;
}

struct peer peer_mapped(const char *address4, const char *port)
{
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "::ffff:%s", address4);
	return peer_of(mapped, port);
}

struct sockaddr *peer_sockaddr(struct peer *peer)
{
	return (struct sockaddr *)&peer->address;
}

int open_socket(struct attempt *a, int family, int type, int protocol)
{
	struct timeval wait = {.tv_sec = a->wait_ms / 1000, .tv_usec = a->wait_ms % 1000 * 1000};
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (step(a, "socket", fd))
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return fd;
}

int dial(struct attempt *a, int fd, struct peer *peer)
{
	int result = connect(fd, peer_sockaddr(peer), peer->length);

	/* With a send timeout the kernel gives up with EINPROGRESS: for whoever reads the report that is a time-out. */
	if (result < 0 && (errno == EINPROGRESS || errno == EAGAIN))
		errno = ETIMEDOUT;
	return step(a, "connect", result);
}

enum outcome answer(struct attempt *a, int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	ssize_t got;

	if (step(a, "poll", poll(&waiting, 1, a->wait_ms)))
		return fail(a);
	got = recv(fd, a->received, sizeof(a->received) - 1, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	if (step(a, "recv", got))
		return fail(a);
	a->received[got] = '\0';
	if (!got) {
		a->error = ECONNRESET;
		return REFUSED;
	}
	return THROUGH;
}

enum outcome talk(struct attempt *a, int fd)
{
	ssize_t sent = send(fd, a->payload, strlen(a->payload), MSG_NOSIGNAL);

	if (step(a, "send", sent))
		return fail(a);
	a->sent += sent;
	return answer(a, fd);
}

enum outcome reach(struct attempt *a, int type, int protocol, struct peer *peer)
{
	int fd = open_socket(a, peer->address.ss_family, type, protocol);

	if (fd < 0 || dial(a, fd, peer))
		return fail(a);
	return talk(a, fd);
}

/* ---- the program -------------------------------------------------------------------------------------------------------------------------- */

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void report(const struct attempt *a, enum outcome outcome)
{
	static const char *const words[] = {"through", "refused", "impossible"};
	const char *name = a->error ? strerrorname_np(a->error) : "none";

	printf("{\"verb\":\"%s\",\"call\":\"%s\",\"errno\":\"%s\",\"sent\":%ld,\"received\":", a->verb, a->call ? a->call : "", name ? name : "?",
	       a->sent);
	print_text(a->received);
	printf(",\"outcome\":\"%s\"}\n", words[outcome]);
	fflush(stdout);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		usage_error(path, strerror(errno));
	close(fd);
}

/* Becomes uid 0 of a user namespace of its own, with every capability in it and none outside. */
static void become_root_inside(void)
{
	char map[64];
	unsigned int uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER))
		usage_error("unshare user namespace", strerror(errno));
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

static void help(void)
{
	puts("attempt [-t WAIT_MS] [-p PAYLOAD] [-w FILE] [-U] VERB ARGUMENTS\n"
	     "  -w: not before FILE is there, 8 s at most; when it says !WORDS, they are why this cannot be made\n"
	     "  -U: as uid 0 of a user namespace of its own. Exit status: 0 through, 1 refused, 2 cannot be made here, 64 usage\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		printf("  %-22s %-38s %s\n", verbs[i].name, verbs[i].usage, verbs[i].what);
}

static const struct verb *find(const char *name, int arguments)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		int want = verbs[i].arguments;

		if (strcmp(verbs[i].name, name))
			continue;
		if (want < 0 ? arguments < -want : arguments != want)
			usage_error(name, verbs[i].usage);
		return &verbs[i];
	}
	usage_error("no such verb", name);
}

int main(int argc, char **argv)
{
	struct attempt a = {.wait_ms = 1000, .payload = "from the workload\n"};
	const struct verb *verb;
	enum outcome outcome;
	const char *heard = "";
	int option;
	bool root = false;

	while ((option = getopt(argc, argv, "+t:p:w:Uh")) != -1) {
		if (option == 't')
			a.wait_ms = (int)number(optarg);
		else if (option == 'p')
			a.payload = optarg;
		else if (option == 'w')
			heard = wait_for(optarg);
		else if (option == 'U')
			root = true;
		else
			return help(), option == 'h' ? 0 : USAGE_STATUS;
	}
	if (optind == argc)
		return help(), USAGE_STATUS;
	verb = find(argv[optind], argc - optind - 1);
	a.verb = verb->name;
	a.argc = argc - optind - 1;
	a.argv = argv + optind + 1;
	signal(SIGPIPE, SIG_IGN);
	/* Verbs that exec a command or stay on purpose take this over. */
	alarm((unsigned int)(a.wait_ms / 1000 * 4 + 5));
	if (root)
		become_root_inside();
	a.call = heard + 1;
	outcome = *heard == '!' ? IMPOSSIBLE : verb->run(&a, a.argv);
	report(&a, outcome);
	return outcome;
}
