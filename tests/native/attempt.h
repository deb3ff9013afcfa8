/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attempt.h - one way out of a cordon, tried once
 *
 * `attempt VERB ARGUMENTS` is the small hostile client of the native ring. It takes one path that leads, or might lead, past a connect check, goes
 * as far as it gets, and reports the system call that decided. It knows nothing of netcordon: run without a cordon it shows that the path is real.
 *
 * Every wait is bounded by `wait_ms`, and an alarm ends the whole process should a call hang all the same.
 */
#ifndef ATTEMPT_H
#define ATTEMPT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The exit status. "Through" is as far as the client can know: an answer came back or, on a path without answers, the kernel took the bytes. */
enum outcome { THROUGH = 0, REFUSED = 1, IMPOSSIBLE = 2 };

struct attempt {
	const char *verb;
	const char *call; /* the call that decided, or the last one made */
	int error;	  /* its errno, 0 when it succeeded */
	long sent;	  /* bytes that the kernel took (batch verbs: messages) */
	char received[200];
	const char *payload;
	int wait_ms;
	int argc; /* of the verb's own arguments */
	char **argv;
};

typedef enum outcome verb_run(struct attempt *a, char **args);

/* name, function, number of arguments (-N: at least N), arguments, what it does */
#define VERBS(X)                                                                                                                                     \
	X("tcp", tcp, 2, "ADDR PORT", "connect, send a line, wait for the answer")                                                                   \
	X("fork-tcp", fork_tcp, 2, "ADDR PORT", "the same from a child forked by the first instruction")                                             \
	X("mapped-tcp", mapped_tcp, 2, "ADDR4 PORT", "AF_INET6 socket to ::ffff:ADDR4")                                                              \
	X("tfo-sendto", tfo_sendto, 2, "ADDR PORT", "TCP Fast Open by sendto(MSG_FASTOPEN)")                                                         \
	X("tfo-connect", tfo_connect, 2, "ADDR PORT", "TCP Fast Open by TCP_FASTOPEN_CONNECT, connect and write")                                    \
	X("mptcp", mptcp, 2, "ADDR PORT", "MPTCP connect")                                                                                           \
	X("mptcp-hold", mptcp_hold, 2, "ADDR PORT", "MPTCP connect, then stay for the peer's extra addresses")                                       \
	X("reconnect", reconnect, 4, "ADDR PORT ADDR2 PORT2", "TCP: connect, dissolve with AF_UNSPEC, connect elsewhere")                            \
	X("high-pointer", high_pointer, 2, "ADDR PORT", "sockaddr at 0x1_0000_0000 for connect and sendto")                                          \
	X("zero-address", zero_address, 2, "v4|v6|mapped PORT", "TCP to the address of all zeros")                                                   \
	X("port-zero", port_zero, 1, "ADDR", "TCP and UDP to port 0")                                                                                \
	X("scoped", scoped, 3, "ADDR6 PORT SCOPE", "TCP with a sin6_scope_id")                                                                       \
	X("listen", listen_bound, 2, "ADDR PORT", "bind, listen, accept one peer and send it a line")                                                \
	X("listen-unbound", listen_unbound, 1, "v4|v6", "listen without bind, accept")                                                               \
	X("disconnect-listen", disconnect_listen, 2, "ADDR PORT", "connect to a permitted peer, dissolve, listen on the same socket")                \
	X("udp-serve", udp_serve, 2, "ADDR PORT", "bind and wait for a datagram, answer it")                                                         \
	X("self-tcp", self_tcp, 2, "ADDR PORT", "own listener there, own client")                                                                    \
	X("bind", bind_only, 3, "tcp|udp ADDR PORT", "bind alone")                                                                                   \
	X("hold-tcp", hold_tcp, 2, "ADDR PORT", "connect, then a line every 50 ms until the wait is over or a write fails")                          \
	X("hello", hello, 4, "plain|crowded|share|resumed|longest|nameless|fast ADDR PORT NAME",                                                     \
	  "TCP: a ClientHello that names NAME, PAYLOAD its random")                                                                                  \
	X("shown", shown, 4, "whole|spelled|split|nameless|handed|rewritten|second|ring|ring-async|ring-zc ADDR PORT NAME",                          \
	  "TCP: a request head that names NAME, PAYLOAD its path")                                                                                   \
	X("udp-sendto", udp_sendto, 2, "ADDR PORT", "one datagram by sendto")                                                                        \
	X("udp-once", udp_once, 2, "ADDR PORT", "one datagram by sendto, without waiting for an answer")                                             \
	X("udp-connect-send", udp_connect_send, 2, "ADDR PORT", "connected datagram socket, send")                                                   \
	X("udp-sendmmsg", udp_sendmmsg, 4, "ADDR PORT ADDR2 PORT2", "batch of [first, second, first]")                                               \
	X("udp-cork", udp_cork, 2, "ADDR PORT", "UDP_CORK, two sends, uncork")                                                                       \
	X("udp-more", udp_more, 2, "ADDR PORT", "MSG_MORE, then a last send")                                                                        \
	X("udp-gso", udp_gso, 2, "ADDR PORT", "UDP_SEGMENT: one call, several datagrams")                                                            \
	X("udp-large", udp_large, 2, "ADDR PORT", "3000 bytes: fragments on the wire")                                                               \
	X("udp-unspec", udp_unspec, 2, "ADDR4 PORT", "sendto with family AF_UNSPEC and a real address")                                              \
	X("udp-pktinfo", udp_pktinfo, 2, "ADDR PORT", "connected, sendmsg with a PKTINFO message and no address")                                    \
	X("udp-reconnect", udp_reconnect, 4, "ADDR PORT ADDR2 PORT2", "connect, connect elsewhere, send")                                            \
	X("udp-after-refusal", udp_after_refusal, 4, "ADDR PORT ADDR2 PORT2", "connect to the first, whatever comes of it sendto the second")        \
	X("udp-addrform", udp_addrform, 4, "ADDR4 PORT ADDR4 PORT", "IPV6_ADDRFORM to AF_INET on a mapped socket, connect elsewhere")                \
	X("mapped-udp", mapped_udp, 2, "ADDR4 PORT", "AF_INET6 socket, sendto ::ffff:ADDR4")                                                         \
	X("mapped-udp-connect", mapped_udp_connect, 2, "ADDR4 PORT", "the same connected")                                                           \
	X("v4-on-v6-udp", v4_on_v6_udp, 2, "ADDR4 PORT", "AF_INET address to sendto on an AF_INET6 socket")                                          \
	X("v4-on-v6-udp-connect", v4_on_v6_udp_connect, 2, "ADDR4 PORT", "the same connected")                                                       \
	X("routing-header", routing_header, 3, "VIA6 ADDR6 PORT", "UDP with an SRv6 routing header by setsockopt")                                   \
	X("routing-header-cmsg", routing_header_cmsg, 3, "VIA6 ADDR6 PORT", "the same header by sendmsg")                                            \
	X("routing-header-late", routing_header_late, 3, "VIA6 ADDR6 PORT", "on an established TCP connection")                                      \
	X("ip-options", ip_options, 3, "VIA4 ADDR4 PORT", "loose source route by IP_OPTIONS")                                                        \
	X("ip-options-cmsg", ip_options_cmsg, 3, "VIA4 ADDR4 PORT", "loose source route by IP_RETOPTS message")                                      \
	X("hop-limit", hop_limit, 3, "ADDR PORT HOPS", "one datagram with a hop limit as control data")                                              \
	X("mcast-join", mcast_join, 1, "GROUP", "join a multicast group")                                                                            \
	X("bindtodevice", bindtodevice, 3, "DEVICE ADDR PORT", "SO_BINDTODEVICE, then TCP")                                                          \
	X("bind-device", bind_device, 5, "tcp|udp SOURCE6 DEVICE ADDR6 PORT", "bind to SOURCE6 with the device as its scope, then connect and send") \
	X("udp-device", udp_device, 3, "DEVICE ADDR PORT", "one datagram whose control data asks for the device")                                    \
	X("udp-mark", udp_mark, 3, "MARK ADDR PORT", "one datagram whose control data marks it")                                                     \
	X("ttl", ttl, 2, "ADDR PORT", "IP_TTL or IPV6_UNICAST_HOPS of 1, then UDP")                                                                  \
	X("option", option, 5, "v4|v6 tcp|udp LEVEL NAME HEX", "one setsockopt with the bytes given")                                                \
	X("udplite", udplite, 2, "ADDR PORT", "UDP-Lite connect and send")                                                                           \
	X("udplite-sendto", udplite_sendto, 2, "ADDR PORT", "UDP-Lite sendto")                                                                       \
	X("icmp-dgram", icmp_dgram, 1, "ADDR", "ping socket: echo request")                                                                          \
	X("raw", raw, 2, "ADDR PROTOCOL", "raw IP socket, payload sent as PROTOCOL")                                                                 \
	X("raw-hdrincl", raw_hdrincl, 3, "ADDR4 PORT LISTED4", "IP_HDRINCL: sendto one address, header says another")                                \
	X("sctp", sctp, 2, "ADDR PORT", "SCTP connect")                                                                                              \
	X("dccp", dccp, 2, "ADDR PORT", "DCCP connect")                                                                                              \
	X("vsock", vsock, 2, "CID PORT", "AF_VSOCK connect")                                                                                         \
	X("vsock-local", vsock_local, 1, "PORT", "AF_VSOCK over the kernel's own loopback, and over nothing else")                                   \
	X("smc", smc, 2, "ADDR PORT", "AF_SMC connect, which falls back to TCP")                                                                     \
	X("rds", rds, 3, "OWN-ADDR4 ADDR4 PORT", "AF_RDS datagram: the kernel dials")                                                                \
	X("tipc", tipc, 1, "INSTANCE", "AF_TIPC stream to a service of this node")                                                                   \
	X("packet", packet, 3, "DEVICE ADDR4 PORT", "AF_PACKET: a UDP datagram made by hand")                                                        \
	X("packet-bypass", packet_bypass, 3, "DEVICE ADDR4 PORT", "the same with PACKET_QDISC_BYPASS")                                               \
	X("xdp", xdp, 3, "DEVICE ADDR4 PORT", "AF_XDP in copy mode: the same datagram")                                                              \
	X("tun-send", tun_send, 2, "ADDR4 PORT", "a device of one's own, and a datagram that the host forwards from it")                             \
	X("tun-send-at", tun_send_at, 3, "NODE ADDR4 PORT", "the same, by the device's node at another path")                                        \
	X("hold-device", hold_device, 2, "NODE FILE", "open a device's node, then wait until FILE says that it was seen")                            \
	X("make-device", make_device, 3, "NODE MAJOR MINOR", "mknod of a character device, then open it")                                            \
	X("fuse-mount", fuse_mount, 2, "NODE FILE",                                                                                                  \
	  "new user and mount namespace, a file system from NODE whose source is the payload, then wait until FILE says that it was seen")           \
	X("look-up", look_up, 1, "FOLDER", "stat() of the payload as a name in FOLDER")                                                              \
	X("vxlan", vxlan, 3, "DEVICE ADDR4 PORT", "a tunnel of one's own to ADDR4, and a frame into it")                                             \
	X("tun", tun, 0, "", "open /dev/net/tun and make a device")                                                                                  \
	X("family", family, 3, "FAMILY TYPE PROTOCOL", "socket() alone, by numbers")                                                                 \
	X("other-numbers", other_numbers, 0, "", "socket(AF_UNIX) by the number that it has in the x32 architecture")                                \
	X("families", families, -1, "FAMILY/TYPE/PROTOCOL...", "socket() alone, of each: all are refused with EAFNOSUPPORT")                         \
	X("iouring-connect", iouring_connect, 3, "inline|async|sqpoll ADDR PORT", "TCP connect through a ring")                                      \
	X("iouring-send", iouring_send, 3, "inline|async|sqpoll ADDR PORT", "UDP sendmsg through a ring")                                            \
	X("iouring-socket", iouring_socket, 2, "inline|async|sqpoll FAMILY", "IORING_OP_SOCKET")                                                     \
	X("iouring-socket-tcp", iouring_socket_tcp, 3, "inline|async|sqpoll ADDR PORT", "the ring makes the socket, then TCP connect")               \
	X("ring-fd", ring_fd, 1, "FD", "UDP sendmsg through an inherited ring, to where its maker said")                                             \
	X("unix-path", unix_path, 1, "PATH", "AF_UNIX stream to a path")                                                                             \
	X("unix-path-dgram", unix_path_dgram, 1, "PATH", "AF_UNIX datagram to a path by sendto")                                                     \
	X("unix-abstract", unix_abstract, 1, "NAME", "AF_UNIX stream to an abstract name")                                                           \
	X("unix-abstract-dgram", unix_abstract_dgram, 1, "NAME", "AF_UNIX datagram to an abstract name")                                             \
	X("unix-pair", unix_pair, 0, "", "own socketpair, sendmsg with a file descriptor attached")                                                  \
	X("unix-pairs", unix_pairs, 1, "PATH", "pairs of every kind and with every flag, their ends used for sendto a path")                         \
	X("pair", pair, 1, "KIND", "socketpair() alone, by number")                                                                                  \
	X("unix-own", unix_own, 1, "PATH", "own listener on a path, own client")                                                                     \
	X("scm-receive", scm_receive, 3, "PATH ADDR PORT", "take a socket from a helper outside and use it")                                         \
	X("scm-send", scm_send, 2, "tcp|udp PATH", "hand a socket of our own to a helper outside, report what it did")                               \
	X("scm-giver", scm_giver, 4, "tcp|udp PATH ADDR PORT", "outside: hand out one socket (tcp: connected) on PATH")                              \
	X("scm-taker", scm_taker, 3, "PATH ADDR PORT", "outside: take one socket on PATH, reach ADDR with it, tell the sender")                      \
	X("use-fd", use_fd, 1, "FD", "write the payload to an inherited descriptor")                                                                 \
	X("use-fd-sendto", use_fd_sendto, 3, "FD ADDR PORT", "sendto on an inherited socket")                                                        \
	X("use-fd-openat", use_fd_openat, 2, "FD PATH", "open PATH below an inherited folder")                                                       \
	X("leak", leak, -3, "tcp|udp|ring|folder|file|tun|bpf FD [ADDR PORT|PATH] -- COMMAND...", "open something as FD, exec COMMAND")              \
	X("under-pty", under_pty, -1, "COMMAND...", "run COMMAND on a terminal, tell what stands in its input queue afterwards")                     \
	X("request-key", request_key_dns, 1, "NAME", "request_key(\"dns_resolver\", NAME)")                                                          \
	X("tiocsti", tiocsti, 1, "FD|PATH", "push the payload into a terminal's input")                                                              \
	X("type", type_into, 2, "FILE TTY", "push the payload into a terminal's input, then wait until FILE says that it was read")                  \
	X("ptrace", ptrace_seize, 1, "PID", "PTRACE_SEIZE")                                                                                          \
	X("process-vm", process_vm, 2, "PID HEXADDRESS", "process_vm_readv")                                                                         \
	X("pidfd-getfd", pidfd_getfd_use, 2, "PID FD", "fetch a socket from another process and write to it")                                        \
	X("open-file", open_file, 1, "PATH", "open for reading, read")                                                                               \
	X("open-bpffs", open_bpffs, 1, "PATH", "BPF_OBJ_GET of a pin")                                                                               \
	X("bpf-walk", bpf_walk, 0, "", "BPF_MAP_GET_NEXT_ID and a descriptor of the first map")                                                      \
	X("link-detach", link_detach, 1, "PATH", "BPF_LINK_DETACH of a pinned link")                                                                 \
	X("move-cgroup", move_cgroup, 1, "CGROUP", "write our pid to CGROUP/cgroup.procs")                                                           \
	X("move-tcp", move_tcp, 3, "CGROUP ADDR PORT", "the same, then TCP")                                                                         \
	X("unpin-tcp", unpin_tcp, 3, "FOLDER ADDR PORT", "detach every link that is pinned below FOLDER, then TCP")                                  \
	X("unhook", unhook, 2, "FOLDER HOOK", "outside: detach every link of that name that is pinned below FOLDER")                                 \
	X("rewrite-policy", rewrite_policy, 5, "MAP ADDR PORT ADDR2 PORT2",                                                                          \
	  "a program that copies the entry of the first to the second, in a pinned map; then TCP to the second")                                     \
	X("cancel", cancel, 2, "CGROUP|- v4|v6", "outside: a program that cancels what others refused of sendmsg (-: only load it)")                 \
	X("lend", lend, 4, "FILE FD ADDR PORT", "outside: hold a connected datagram socket as FD; FILE has our pid, and when it is gone we go")      \
	X("robbed", robbed, 2, "FILE FD", "fetch FD of the process that FILE names, and write to it")                                                \
	X("late-udp", late_udp, 3, "FILE ADDR PORT", "make a socket, wait for FILE, sendto")                                                         \
	X("netns-tcp", netns_tcp, 3, "FILE ADDR PORT", "new user and network namespace, wait for FILE, TCP")                                         \
	X("key-request", key_request, 1, "FILE", "request_key(\"user\", PAYLOAD), then wait until FILE says that it was seen")                       \
	X("userns-netns", userns_netns, 0, "", "new user and network namespace, TCP over its loopback")                                              \
	X("setns", setns_tcp, 3, "NETNS ADDR PORT", "enter another network namespace, then TCP")                                                     \
	X("compat-call", compat_call, 0, "", "a system call of the 32-bit architecture (x86: int 0x80)")                                             \
	X("fresh-mount", fresh_mount, 2, "TYPE PATH", "a file system of one's own in new namespaces, then open PATH below it for writing")           \
	X("kill", kill_zero, 1, "PID", "signal 0 to a process")

#define DECLARE_VERB(name, function, ...) verb_run verb_##function;
VERBS(DECLARE_VERB)

/* ---- what the verbs share (attempt.c) ------------------------------------------------------------------------------------------------------ */

/* Records that `call` came out as `result` (negative: failed with errno). 0 or -1, so that a verb reads: if (step(a, "bind", bind(...))) return fail(a); */
int step(struct attempt *a, const char *call, long result);
/* The outcome for the recorded failure: IMPOSSIBLE where the errno says that the kernel has no such thing, else REFUSED. */
enum outcome fail(struct attempt *a);

struct peer {
	struct sockaddr_storage address;
	socklen_t length;
};
/* An address literal and a decimal port; a port beyond 65535 or a bad literal ends the program with status 64. */
struct peer peer_of(const char *address, const char *port);
struct peer peer_mapped(const char *address4, const char *port); /* ::ffff:ADDR4 */
struct sockaddr *peer_sockaddr(struct peer *peer);

/* A socket with send and receive timeouts of wait_ms; -1 with the step recorded. */
int open_socket(struct attempt *a, int family, int type, int protocol);
/* connect() that gives up after wait_ms with ETIMEDOUT; 0 or -1, recorded as "connect". */
int dial(struct attempt *a, int fd, struct peer *peer);
/* Sends the payload and waits for an answer, as "send" and "recv": THROUGH only with an answer. */
enum outcome talk(struct attempt *a, int fd);
/* Waits for an answer alone. */
enum outcome answer(struct attempt *a, int fd);
/* Opens, dials and talks. */
enum outcome reach(struct attempt *a, int type, int protocol, struct peer *peer);
/* Waits until FILE is there, 8 s at most. Its content, without a line feed, owned by nobody: "!WORDS" says what could not be made for us. */
const char *wait_for(const char *path);
long number(const char *text); /* any base strtol knows; status 64 on garbage */
void *zalloc(size_t size);     /* calloc that cannot fail */

/* Messages over AF_UNIX (attempt_unix.c). */
int send_fd(int channel, int fd);
int receive_fd(int channel);

/* A UDP datagram with its IPv4 header, from `source4` (0: 0.0.0.0), port 4444 (attempt_family.c). Returns its length. */
size_t make_datagram(unsigned char *buffer, size_t size, uint32_t source_be, struct peer *peer, const char *payload);

/* An io_uring by hand (attempt_ring.c). */
struct ring;
struct ring *ring_open(struct attempt *a, bool sqpoll, int fd);
int ring_descriptor(const struct ring *ring);
int ring_lay_out(struct attempt *a, struct peer *peer);
enum outcome ring_send(struct attempt *a, int fd, const char *bytes, size_t length, const char *mode); /* "", async or zc */

#endif
