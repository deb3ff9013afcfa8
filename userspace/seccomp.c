/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * seccomp.c - the system calls that a workload may not make, one table with a reason for each
 *
 * The cordon's hooks see TCP and UDP. What this filter refuses is what they do not see: other address families, other people's memory and descriptors,
 * the ways to make the kernel act on the workload's behalf. Everything else is allowed: it is no sandbox of the whole kernel.
 *
 * Arguments are compared as the kernel reads them: a family or a request is an int, so the upper half of the register says nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cleanup.h"
#include "kept_file.h"
#include "seccomp_filter.h"

#define LOW 0xffffffffu

enum when { ALWAYS, WITHOUT_UNIX, WITHOUT_RINGS };
enum match {
	ANY,
	EQUAL,
	ABOVE,
	EQUAL_AND_PROTOCOL,
	KIND
}; /* of argument `argument` with `value`; EQUAL_AND_PROTOCOL: and argument 2 is not 0; KIND: its low four bits, the rest are flags */

struct rule {
	const char *call;
	int error;
	enum when when;
	enum match match;
	unsigned argument;
	uint32_t value;
	const char *reason;
};

#define FAMILY(number)                                                                                                                               \
	{                                                                                                                                            \
		"socket", EAFNOSUPPORT, ALWAYS, EQUAL, 0, number, "an address family that the hooks do not see"                                      \
	}

/*
 * Of unix pairs only streams and sequenced packets are left, whose ends lead to each other and nowhere else: sendto() of a stream refuses a name, that of
 * sequenced packets takes no notice of one, and connect() and listen() refuse an end that is connected. An end of a datagram pair may send to any name,
 * and the kernel makes that pair of SOCK_RAW too (net/unix/af_unix.c, unix_create). So every kind but the two is named, also those that no kernel knows.
 */
#define PAIR(kind)                                                                                                                                   \
	{                                                                                                                                            \
		"socketpair", EAFNOSUPPORT, WITHOUT_UNIX, KIND, 1, kind, "an end of a pair that is no stream may send to any name"                   \
	}

static const struct rule rules[] = {
	{"ptrace", EPERM, ALWAYS, ANY, 0, 0, "would act through another process"},
	{"process_vm_readv", EPERM, ALWAYS, ANY, 0, 0, "would read another process"},
	{"process_vm_writev", EPERM, ALWAYS, ANY, 0, 0, "would write another process"},
	{"pidfd_getfd", EPERM, ALWAYS, ANY, 0, 0, "would take a socket of another process"},
	{"add_key", EPERM, ALWAYS, ANY, 0, 0, "a key's payload may be looked up by the host, as root"},
	{"request_key", EPERM, ALWAYS, ANY, 0, 0, "a name in a key request is looked up by the host, as root"},
	{"keyctl", EPERM, ALWAYS, ANY, 0, 0, "would reach keyrings that are not the workload's"},
	{"bpf", EPERM, ALWAYS, ANY, 0, 0, "programs and maps are the cordon itself"},
	{"ioctl", EPERM, ALWAYS, EQUAL, 1, TIOCSTI, "would type into a terminal"},
	{"ioctl", EPERM, ALWAYS, EQUAL, 1, TIOCLINUX, "would paste into a console"},
	{"io_uring_setup", ENOSYS, WITHOUT_RINGS, ANY, 0, 0, "a ring makes sockets that no filter of calls sees"},
	{"io_uring_enter", ENOSYS, WITHOUT_RINGS, ANY, 0, 0, "a ring makes sockets that no filter of calls sees"},
	{"io_uring_register", ENOSYS, WITHOUT_RINGS, ANY, 0, 0, "a ring makes sockets that no filter of calls sees"},
	{"socket", EAFNOSUPPORT, WITHOUT_UNIX, EQUAL, 0, AF_UNIX, "no hook here sees whom a unix socket reaches"},
	{"socket", EAFNOSUPPORT, ALWAYS, EQUAL_AND_PROTOCOL, 0, AF_NETLINK, "of netlink only the routing family"},
	{"socket", EAFNOSUPPORT, ALWAYS, ABOVE, 0, AF_NETLINK, "an address family that the hooks do not see"},
	/* 1 unix, 2 inet, 10 inet6 and 16 netlink are the ones that are left */
	FAMILY(0),
	FAMILY(3),
	FAMILY(4),
	FAMILY(5),
	FAMILY(6),
	FAMILY(7),
	FAMILY(8),
	FAMILY(9),
	FAMILY(11),
	FAMILY(12),
	FAMILY(13),
	FAMILY(14),
	FAMILY(15),
	/* __sock_create() turns AF_INET with this kind, whatever the protocol, into AF_PACKET */
	{"socket", EAFNOSUPPORT, ALWAYS, KIND, 1, SOCK_PACKET, "an address family that the hooks do not see"},
	{"socketpair", EAFNOSUPPORT, ALWAYS, ABOVE, 0, AF_UNIX, "a pair is a unix pair"},
	PAIR(0),
	PAIR(SOCK_DGRAM),
	PAIR(SOCK_RAW),
	PAIR(SOCK_RDM),
	PAIR(SOCK_DCCP),
	PAIR(7),
	PAIR(8),
	PAIR(9),
	PAIR(SOCK_PACKET),
	PAIR(11),
	PAIR(12),
	PAIR(13),
	PAIR(14),
	PAIR(15),
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

static bool applies(const struct rule *rule, const struct nc_seccomp_choice *choice)
{
	switch (rule->when) {
	case WITHOUT_UNIX:
		return choice->refuse_unix;
	case WITHOUT_RINGS:
		return !choice->allow_io_uring;
	case ALWAYS:
		break;
	}
	return true;
}

void nc_seccomp_rules(const struct nc_seccomp_choice *choice, void (*each)(void *context, const char *call, const char *reason), void *context)
{
	for (size_t i = 0; i < RULES; i++) {
		if (applies(&rules[i], choice))
			each(context, rules[i].call, rules[i].reason);
	}
}

static int add_rule(scmp_filter_ctx filter, const struct rule *rule)
{
	int number = seccomp_syscall_resolve_name(rule->call);
	struct scmp_arg_cmp compare[2];
	unsigned count = 0;

	if (number == __NR_SCMP_ERROR)
		return -ENOSYS;
	if (rule->match == EQUAL || rule->match == EQUAL_AND_PROTOCOL)
		compare[count++] = SCMP_CMP(rule->argument, SCMP_CMP_MASKED_EQ, LOW, rule->value);
	if (rule->match == KIND) /* SOCK_TYPE_MASK of linux/net.h: the bits above are flags */
		compare[count++] = SCMP_CMP(rule->argument, SCMP_CMP_MASKED_EQ, 0xf, rule->value);
	if (rule->match == ABOVE)
		compare[count++] = SCMP_CMP(rule->argument, SCMP_CMP_GT, rule->value, 0);
	if (rule->match == EQUAL_AND_PROTOCOL)
		compare[count++] = SCMP_CMP(2, SCMP_CMP_NE, NETLINK_ROUTE, 0);
	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((unsigned)rule->error), number, count, compare);
}

static int adopt(struct nc_seccomp *seccomp, void *bytes, size_t size)
{
	if (size == 0 || size % sizeof(struct sock_filter) || size / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return -EINVAL;
	seccomp->program = (struct sock_fprog){.len = (unsigned short)(size / sizeof(struct sock_filter)), .filter = bytes};
	nc_digest_of(bytes, size, &seccomp->digest);
	return 0;
}

/* The library writes the program only to a descriptor. */
static int export_program(scmp_filter_ctx filter, struct nc_seccomp *seccomp)
{
	NC_CLOSE int fd = memfd_create("seccomp", MFD_CLOEXEC);
	NC_FREE char *bytes = NULL;
	off_t size;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(filter, fd);
	if (r < 0)
		return r;
	size = lseek(fd, 0, SEEK_END);
	bytes = size > 0 ? malloc((size_t)size) : NULL;
	if (!bytes)
		return -ENOMEM;
	if (pread(fd, bytes, (size_t)size, 0) != size)
		return -EIO;
	r = adopt(seccomp, bytes, (size_t)size);
	if (r == 0)
		NC_TAKE_PTR(bytes);
	return r;
}

int nc_seccomp_compile(const struct nc_seccomp_choice *choice, struct nc_seccomp *ret_seccomp, struct nc_error *reterr)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const char *call = "the filter";
	int r = filter ? 0 : -ENOMEM;

	/* Another architecture's calls (32-bit, x32) have other numbers, which the table does not speak of: such a process is killed. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; r == 0 && i < RULES; i++) {
		if (!applies(&rules[i], choice))
			continue;
		call = rules[i].call;
		r = add_rule(filter, &rules[i]);
	}
	if (r == 0)
		r = export_program(filter, ret_seccomp);
	seccomp_release(filter);
	return r < 0 ? nc_error_sys(reterr, NC_E_HOST_UNSUPPORTED, r, "express the system call filter (%s)", call) : 0;
}

void nc_seccomp_free(struct nc_seccomp *seccomp)
{
	free(seccomp->program.filter);
	*seccomp = (struct nc_seccomp){0};
}

/* ---- kept between launches --------------------------------------------------------------------------------------------------------------------- */

/* A name that changes whenever a rule, the library or the choice does. */
static void name_of(const struct nc_seccomp_choice *choice, char ret_name[NC_DIGEST_HEX + 16])
{
	const struct scmp_version *version = seccomp_version();
	char text[RULES * 48 + 64];
	char hex[NC_DIGEST_HEX];
	struct nc_digest digest;
	size_t length;

	length = (size_t)snprintf(text, sizeof(text), "%x %u.%u.%u\n", seccomp_arch_native(), version->major, version->minor, version->micro);
	for (size_t i = 0; i < RULES; i++) {
		if (applies(&rules[i], choice))
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s %d %d %u %u\n", rules[i].call, rules[i].error,
						   rules[i].match, rules[i].argument, rules[i].value);
	}
	nc_digest_of(text, length, &digest);
	nc_digest_hex(&digest, hex);
	snprintf(ret_name, NC_DIGEST_HEX + 16, "seccomp-%.32s", hex);
}

int nc_seccomp_filter(const char *folder, const struct nc_seccomp_choice *choice, struct nc_seccomp *ret_seccomp, struct nc_error *reterr)
{
	struct nc_seccomp seccomp = {0};
	char name[NC_DIGEST_HEX + 16];
	NC_FREE void *bytes = NULL;
	size_t size;
	int r;

	name_of(choice, name);
	if (nc_kept_read(folder, name, &bytes, &size) == 0 && adopt(&seccomp, bytes, size) == 0) {
		NC_TAKE_PTR(bytes);
	} else {
		r = nc_seccomp_compile(choice, &seccomp, reterr);
		if (r < 0)
			return r;
		r = nc_kept_write(folder, name, seccomp.program.filter, seccomp.program.len * sizeof(struct sock_filter));
		if (r < 0) {
			nc_seccomp_free(&seccomp);
			return nc_error_sys(reterr, NC_E_SYSTEM, r, "keep the system call filter in %s", folder);
		}
	}
	*ret_seccomp = seccomp;
	return 0;
}
