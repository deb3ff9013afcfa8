// SPDX-License-Identifier: GPL-2.0-only
/*
 * witness.c - listeners that answer and a capture that sees the wire, and one log that says in which order things arrived
 *
 *   witness LOG THING...     THING: tcp ADDR PORT | mptcp ADDR PORT | udp ADDR PORT | unix PATH | unix-dgram PATH | abstract NAME | capture DEVICE
 *
 * Every arrival is one JSON line in LOG: {"time", "event", ...}. A pass of the loop asks which sockets are ready, reads every capture dry, then takes
 * one thing from each socket that was ready, and writes the pass out at once. So when a datagram stands in the log, every packet and connection that
 * reached this stack before it stands there too, and the datagram's answer leaves after the writing. A test that asserts "nothing arrived" sends
 * such a datagram last (the fence) and waits for its answer, instead of sleeping.
 *
 * TCP peers and datagrams are answered with one line. {"event":"ready"} is the first line. It runs until SIGTERM or until its parent dies.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define THINGS_MAX 256
#define ANSWER "answer from the witness\n"
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

enum kind { CAPTURE, LISTENER, STREAM, DATAGRAM };

struct thing {
	enum kind kind;
	int fd;
	char name[160];		      /* "tcp 93.184.216.34 443", as given */
	struct sockaddr_storage from; /* DATAGRAM: whom to answer when the pass is over */
	socklen_t from_size;
	bool owes_answer;
};

static struct thing things[THINGS_MAX];
static size_t thing_count;
static FILE *record;

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "witness: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* One line; the format gives the members after the time. */
static void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
	struct timespec now;
	va_list args;

	clock_gettime(CLOCK_MONOTONIC, &now);
	fprintf(record, "{\"time\":%lld.%06ld,", (long long)now.tv_sec, now.tv_nsec / 1000);
	va_start(args, format);
	vfprintf(record, format, args);
	va_end(args);
	fputs("}\n", record);
}

static struct thing *add(enum kind kind, int fd, const char *name)
{
	struct thing *thing = &things[thing_count];

	if (thing_count == THINGS_MAX) {
		close(fd);
		return NULL;
	}
	thing_count++;
	thing->kind = kind;
	thing->fd = fd;
	snprintf(thing->name, sizeof(thing->name), "%s", name);
	return thing;
}

/* ---- what can be watched ------------------------------------------------------------------------------------------------------------------------ */

static void add_inet(const char *protocol, const char *address, const char *port)
{
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *in = (void *)&storage;
	struct sockaddr_in6 *in6 = (void *)&storage;
	bool udp = !strcmp(protocol, "udp");
	int number = !strcmp(protocol, "mptcp") ? IPPROTO_MPTCP : !strcmp(protocol, "sctp") ? IPPROTO_SCTP : 0;
	socklen_t length = sizeof(*in);
	char name[160];
	int fd, on = 1;

	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(port));
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(port));
		length = sizeof(*in6);
	} else {
		errno = EINVAL;
		die(address);
	}
	snprintf(name, sizeof(name), "%s %s %s", protocol, address, port);
	fd = socket(storage.ss_family, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, number);
	if (fd < 0)
		die(name);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (storage.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (void *)&storage, length) || (!udp && listen(fd, 64)))
		die(name);
	add(udp ? DATAGRAM : LISTENER, fd, name);
}

static void add_unix(const char *protocol, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool abstract = !strcmp(protocol, "abstract"), datagram = !strcmp(protocol, "unix-dgram");
	char name[160];
	socklen_t length;
	int fd = socket(AF_UNIX, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(name, sizeof(name), "%s %s", protocol, path);
	snprintf(address.sun_path + abstract, sizeof(address.sun_path) - 1, "%s", path);
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
	if (!abstract)
		unlink(path);
	if (fd < 0 || bind(fd, (void *)&address, length) || (!datagram && listen(fd, 16)) || (!abstract && chmod(path, 0777)))
		die(name);
	add(datagram ? DATAGRAM : LISTENER, fd, name);
}

static void add_capture(const char *device)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(device)};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)), room = 8 << 20;

	if (fd < 0 || !address.sll_ifindex || bind(fd, (void *)&address, sizeof(address)))
		die(device);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	add(CAPTURE, fd, device);
}

/* ---- what arrived ------------------------------------------------------------------------------------------------------------------------------- */

static const char *address_text(int family, const void *bytes)
{
	static char texts[4][INET6_ADDRSTRLEN];
	static int turn;
	char *text = texts[turn++ % 4];

	inet_ntop(family, bytes, text, INET6_ADDRSTRLEN);
	return text;
}

/* Ports where the protocol has them at its start and this is a first fragment; -1 else. */
static void packet_ports(const unsigned char *packet, size_t length, size_t header, int protocol, bool later, int *ret_source, int *ret_target)
{
	bool has = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == 136 || protocol == 132 || protocol == 33;

	*ret_source = *ret_target = -1;
	if (!has || later || length < header + 4)
		return;
	*ret_source = packet[header] << 8 | packet[header + 1];
	*ret_target = packet[header + 2] << 8 | packet[header + 3];
}

static void note_packet(const char *device, bool leaving, int ethertype, const unsigned char *packet, size_t length)
{
	const char *way = leaving ? "out" : "in";
	size_t header;
	int source, target;

	if (ethertype == ETH_P_IP && length >= 20) {
		header = (size_t)(packet[0] & 15) * 4;
		packet_ports(packet, length, header, packet[9], ((packet[6] & 31) << 8 | packet[7]) != 0, &source, &target);
		note("\"event\":\"packet\",\"device\":\"%s\",\"way\":\"%s\",\"src\":\"%s\",\"dst\":\"%s\",\"protocol\":%d,\"sport\":%d,\"dport\":%d,"
		     "\"header\":%zu,\"length\":%zu,\"flags\":%d",
		     device, way, address_text(AF_INET, packet + 12), address_text(AF_INET, packet + 16), packet[9], source, target, header, length,
		     packet[9] == IPPROTO_TCP && length >= header + 14 ? packet[header + 13] : 0);
	} else if (ethertype == ETH_P_IPV6 && length >= 40) {
		packet_ports(packet, length, 40, packet[6], false, &source, &target);
		note("\"event\":\"packet\",\"device\":\"%s\",\"way\":\"%s\",\"src\":\"%s\",\"dst\":\"%s\",\"protocol\":%d,\"sport\":%d,\"dport\":%d,"
		     "\"header\":40,\"length\":%zu,\"flags\":%d",
		     device, way, address_text(AF_INET6, packet + 8), address_text(AF_INET6, packet + 24), packet[6], source, target, length,
		     packet[6] == IPPROTO_TCP && length >= 54 ? packet[53] : 0);
	} else if (ethertype != ETH_P_ARP) {
		note("\"event\":\"frame\",\"device\":\"%s\",\"way\":\"%s\",\"ethertype\":%d,\"length\":%zu", device, way, ethertype, length);
	}
}

static void drain_capture(const struct thing *thing)
{
	static unsigned char packet[65536];
	struct sockaddr_ll from;

	for (;;) {
		socklen_t size = sizeof(from);
		ssize_t got = recvfrom(thing->fd, packet, sizeof(packet), 0, (void *)&from, &size);

		if (got < 0)
			return;
		note_packet(thing->name, from.sll_pkttype == PACKET_OUTGOING, ntohs(from.sll_protocol), packet, (size_t)got);
	}
}

static void peer_text(const struct sockaddr_storage *from, char text[80])
{
	const struct sockaddr_in *in = (const void *)from;
	const struct sockaddr_in6 *in6 = (const void *)from;

	if (from->ss_family == AF_INET)
		snprintf(text, 80, "%s %u", address_text(AF_INET, &in->sin_addr), ntohs(in->sin_port));
	else if (from->ss_family == AF_INET6)
		snprintf(text, 80, "%s %u", address_text(AF_INET6, &in6->sin6_addr), ntohs(in6->sin6_port));
	else
		snprintf(text, 80, "local");
}

/* The first bytes of what came, everything outside plain printable ASCII as a dot. */
static void plain(const char *bytes, ssize_t size, char text[64])
{
	ssize_t i;

	for (i = 0; i < size && i < 63; i++)
		text[i] = (bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\') ? bytes[i] : '.';
	text[i] = '\0';
}

static void take_stream(struct thing *thing)
{
	char block[4096], text[64];
	ssize_t got = recv(thing->fd, block, sizeof(block), 0);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		note("\"event\":\"close\",\"local\":\"%s\",\"errno\":%d", thing->name, got ? errno : 0);
		close(thing->fd);
		thing->fd = -1;
		return;
	}
	plain(block, got, text);
	note("\"event\":\"data\",\"local\":\"%s\",\"bytes\":%zd,\"text\":\"%s\"", thing->name, got, text);
	if (send(thing->fd, ANSWER, strlen(ANSWER), MSG_NOSIGNAL) < 0)
		note("\"event\":\"unanswered\",\"local\":\"%s\",\"errno\":%d", thing->name, errno);
}

static void take_peer(const struct thing *thing)
{
	struct sockaddr_storage from = {0};
	socklen_t size = sizeof(from);
	char peer[80];
	int fd = accept4(thing->fd, (void *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	peer_text(&from, peer);
	note("\"event\":\"accept\",\"local\":\"%s\",\"peer\":\"%s\"", thing->name, peer);
	add(STREAM, fd, thing->name);
}

/* One datagram a pass: what is read here was there when the pass began, and so was everything that came before it. The answer has to wait. */
static void take_datagram(struct thing *thing)
{
	char block[65536], peer[80], text[64];
	ssize_t got;

	thing->from = (struct sockaddr_storage){0};
	thing->from_size = sizeof(thing->from);
	got = recvfrom(thing->fd, block, sizeof(block), 0, (void *)&thing->from, &thing->from_size);
	if (got < 0)
		return;
	peer_text(&thing->from, peer);
	plain(block, got, text);
	note("\"event\":\"datagram\",\"local\":\"%s\",\"peer\":\"%s\",\"bytes\":%zd,\"text\":\"%s\"", thing->name, peer, got, text);
	thing->owes_answer = thing->from.ss_family == AF_INET || thing->from.ss_family == AF_INET6;
}

/* After the pass has been written out: who has its answer can read in the log what was there before it. */
static void answer_datagrams(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (things[i].owes_answer)
			sendto(things[i].fd, ANSWER, strlen(ANSWER), 0, (void *)&things[i].from, things[i].from_size);
		things[i].owes_answer = false;
	}
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------------------------------- */

static void forget_closed(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < thing_count; i++) {
		if (things[i].fd >= 0)
			things[kept++] = things[i];
	}
	thing_count = kept;
}

static void pass(void)
{
	static struct pollfd waiting[THINGS_MAX];
	size_t count = thing_count;

	for (size_t i = 0; i < count; i++)
		waiting[i] = (struct pollfd){.fd = things[i].fd, .events = POLLIN};
	if (poll(waiting, count, 1000) <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (things[i].kind == CAPTURE)
			drain_capture(&things[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (!waiting[i].revents)
			continue;
		if (things[i].kind == LISTENER)
			take_peer(&things[i]);
		else if (things[i].kind == STREAM)
			take_stream(&things[i]);
		else if (things[i].kind == DATAGRAM)
			take_datagram(&things[i]);
	}
	fflush(record);
	answer_datagrams(count);
	forget_closed();
}

static void add_all(char **args)
{
	while (*args) {
		const char *word = *args++;
		bool inet = !strcmp(word, "tcp") || !strcmp(word, "mptcp") || !strcmp(word, "sctp") || !strcmp(word, "udp");

		errno = EINVAL;
		if (!args[0] || (inet && !args[1]))
			die(word);
		if (inet) {
			add_inet(word, args[0], args[1]);
			args++;
		} else if (!strcmp(word, "capture")) {
			add_capture(args[0]);
		} else {
			add_unix(word, args[0]);
		}
		args++;
	}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: witness LOG {tcp|mptcp|udp ADDR PORT | unix|unix-dgram PATH | abstract NAME | capture DEVICE}...\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	record = fopen(argv[1], "ae");
	if (!record)
		die(argv[1]);
	add_all(argv + 2);
	note("\"event\":\"ready\"");
	fflush(record);
	for (;;)
		pass();
}
