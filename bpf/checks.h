/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * checks.h - one name for every check, so that the matrix can prove each by leaving it out
 *
 * In the product NC_CHECK is the constant 1 and nothing of this remains. In the objects that are built for the matrix (NC_MUTANTS) it asks a mask in
 * the read-only data, which the loader fills before it loads: exactly the named checks are then absent. A launch refuses such an object.
 */
#ifndef NC_BPF_CHECKS_H
#define NC_BPF_CHECKS_H

#define NC_CHECKS(X)                                                                                                                                 \
	X(PROTOCOL, 0, "protocol", "sock_create and the verdict take TCP and UDP only")                                                              \
	X(LABEL, 1, "label", "a socket without a label, or of another generation, is refused")                                                       \
	X(AUTHORITY, 2, "authority", "the task must belong to the label's own authority")                                                            \
	X(MODE_NONE, 3, "mode_none", "mode none refuses everything")                                                                                 \
	X(RESOLVER, 4, "resolver", "port 53 leads to the instance's resolver")                                                                       \
	X(FLOOR, 5, "floor", "the host floor is refused in every mode")                                                                              \
	X(PUBLIC, 6, "public", "an address that is not public is refused")                                                                           \
	X(LISTED, 7, "listed", "a destination that is not listed is refused")                                                                        \
	X(PORT, 8, "port", "the port is part of the destination")                                                                                    \
	X(SEPARATE, 9, "separate", "each authority has a policy map of its own")                                                                     \
	X(BIND, 10, "bind", "a fixed local port needs a private namespace")                                                                          \
	X(OPTION, 11, "option", "socket options are an allowlist")                                                                                   \
	X(UNIX, 12, "unix", "named unix sockets need a peer of the same authority")                                                                  \
	X(EGRESS_DESTINATION, 13, "egress_destination", "each packet's destination is compared with the admission")                                  \
	X(EGRESS_FORM, 14, "egress_form", "a packet is plain IPv4 or IPv6 with TCP or UDP")                                                          \
	X(EGRESS_LOOPBACK, 15, "egress_loopback", "the loopback device leads only to what is open")                                                  \
	X(EGRESS_REVISION, 16, "egress_revision", "an admission of an older policy is judged again")                                                 \
	X(INGRESS, 17, "ingress", "unsolicited packets are refused")                                                                                 \
	X(GUARD, 18, "guard", "the root guard refuses a socket that was made outside")                                                               \
	X(GRANT_POLICY, 19, "grant_policy", "a grant counts only with a policy entry of its name")                                                   \
	X(GRANT_EXPIRY, 20, "grant_expiry", "an expired grant counts for nothing")                                                                   \
	X(RESOLVER_MARK, 21, "resolver_mark", "a redirect goes only to the marked socket")                                                           \
	X(PASSED, 22, "passed", "a socket that was handed in is refused (LSM)")                                                                      \
	X(FAMILY, 23, "family", "address families past the cordon's sight are refused (LSM)")                                                        \
	X(RECHECK, 24, "recheck", "what was admitted before says nothing about the next connection")                                                 \
	X(WIRE, 25, "wire", "the name in the first bytes is compared")                                                                               \
	X(WIRE_GRANT, 26, "wire_grant", "a name in the first bytes counts only where it holds a grant for this address")                             \
	X(WIRE_PORT, 27, "wire_port", "a name in the first bytes counts only at a port that the policy lists for it")                                \
	X(WIRE_AGAIN, 28, "wire_again", "the first bytes lie in the kernel's own pages and are compared again when they are sent again")             \
	X(WIRE_QUIC, 29, "wire_quic", "UDP to a name that is compared on the wire is refused")                                                       \
	X(DEVICE, 30, "device", "device nodes that lead past the other programs are refused")                                                        \
	X(WIRE_SECOND, 31, "wire_second", "what follows a ClientHello is walked, for it may be another one")

#define NC_ENUM_CHECK(symbol, bit, ...) NC_CHECK_BIT_##symbol = bit,
enum nc_check_bit { NC_CHECKS(NC_ENUM_CHECK) };

#ifdef NC_MUTANTS
#ifdef __bpf__
const volatile unsigned long long nc_checks_off = 0;
#else
extern unsigned long long nc_checks_off;
#endif
#define NC_CHECK(symbol) (!(nc_checks_off & (1ull << NC_CHECK_BIT_##symbol)))

/* The fault that RECHECK's absence is: an instance that was admitted somewhere is admitted everywhere. A place for each of several instances at once. */
#define NC_REMEMBERED_MAX 1024
#define NC_REMEMBERED_AT(generation_) nc_admitted_generations[(generation_) & (NC_REMEMBERED_MAX - 1)]
#ifdef __bpf__
unsigned long long nc_admitted_generations[NC_REMEMBERED_MAX] = {};
#else
static unsigned long long nc_admitted_generations[NC_REMEMBERED_MAX] __attribute__((unused));
#endif
#define NC_REMEMBER(generation_)                                                                                                                     \
	do {                                                                                                                                         \
		if (!NC_CHECK(RECHECK))                                                                                                              \
			NC_REMEMBERED_AT(generation_) = (generation_);                                                                               \
	} while (0)
#define NC_REMEMBERED(generation_) (!NC_CHECK(RECHECK) && NC_REMEMBERED_AT(generation_) == (generation_))
#else
#define NC_CHECK(symbol) 1
#define NC_REMEMBER(generation_) ((void)0)
#define NC_REMEMBERED(generation_) 0
#endif

#endif
