// SPDX-License-Identifier: GPL-2.0-only
/*
 * foreign.c - somebody else's program on a cgroup, until it is killed
 *
 *   foreign CGROUP rewrite ADDR PORT          connect4 or 6, by the address: whatever is dialled becomes ADDR:PORT (a service address, as some agents do it)
 *   foreign CGROUP rewrite-sendmsg ADDR PORT  sendmsg4 or 6 likewise
 *   foreign CGROUP cancel                     connect4: bpf_set_retval(0), which cancels what another program refused
 *   foreign CGROUP cancel-HOOK                the same for connect6, sendmsg, sendmsg6, socket, setsockopt, getsockopt, device
 *   foreign CGROUP allow                      connect4: lets everything pass
 *   foreign CGROUP device                     devices: lets everything pass, as a runtime's does that has nothing to refuse
 *
 * FOREIGN_AS says how it is attached:
 *   (nothing)            by a link, behind those that are there
 *   before, after        by a link with BPF_F_BEFORE, BPF_F_AFTER (6.17): first or last of this cgroup's
 *   preorder             BPF_F_PREORDER (6.15): before the programs of all cgroups below, where others come after them
 *   override, exclusive  with BPF_F_ALLOW_OVERRIDE, or with no flag at all
 *
 * Prints "attached" when it is in force. What the flags attach is taken off again on SIGTERM; a link goes with this process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_RETVAL 187 /* BPF_FUNC_set_retval, 5.18 */
#define ADDRESS4_AT 4  /* offsets in struct bpf_sock_addr */
#define ADDRESS6_AT 8
#define PORT_AT 24
#define LINK 0x80000000u /* not a flag of the kernel's: by a link */
#define ALLOW_OVERRIDE (1u << 0)
#define ALLOW_MULTI (1u << 1)
#define BEFORE (1u << 3)
#define AFTER (1u << 4)
#define PREORDER (1u << 6)
#define INSTRUCTIONS 16

static const struct {
	const char *word;
	enum bpf_prog_type type;
	enum bpf_attach_type hook, hook6; /* hook6: for an address of IPv6 */
} deeds[] = {
	{"rewrite", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT},
	{"rewrite-sendmsg", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG, BPF_CGROUP_UDP6_SENDMSG},
	{"allow", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, 0},
	{"cancel", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, 0},
	{"cancel-connect6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT, 0},
	{"cancel-sendmsg", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG, 0},
	{"cancel-sendmsg6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG, 0},
	{"cancel-socket", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, 0},
	{"cancel-setsockopt", BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, 0},
	{"cancel-getsockopt", BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_GETSOCKOPT, 0},
	{"cancel-device", BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE, 0},
	{"device", BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE, 0},
};

static const struct {
	const char *word;
	uint32_t flags;
} ways[] = {
	{"", LINK},	  {"before", LINK | BEFORE}, {"after", LINK | AFTER}, {"preorder", ALLOW_MULTI | PREORDER}, {"override", ALLOW_OVERRIDE},
	{"exclusive", 0},
};

static int bpf(int command, union bpf_attr *attributes)
{
	return (int)syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

static struct bpf_insn set_register(uint8_t target, uint32_t value)
{
	return (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = target & 15, .imm = (int32_t)value};
}

/* Puts a word into the context, whose pointer is r1. */
static size_t store(struct bpf_insn *out, size_t n, size_t offset, uint32_t value)
{
	out[n++] = set_register(BPF_REG_2, value);
	out[n++] = (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .off = (int16_t)offset};
	return n;
}

static size_t make(struct bpf_insn *out, const char *what, const uint32_t *address, bool v6, uint16_t port_be)
{
	size_t n = 0;

	if (!strncmp(what, "rewrite", 7)) {
		for (size_t i = 0; i < (v6 ? 4 : 1); i++)
			n = store(out, n, (v6 ? ADDRESS6_AT : ADDRESS4_AT) + 4 * i, address[i]);
		n = store(out, n, PORT_AT, port_be);
	} else if (!strncmp(what, "cancel", 6)) {
		out[n++] = set_register(BPF_REG_1, 0);
		out[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = SET_RETVAL};
	}
	out[n++] = set_register(BPF_REG_0, 1);
	out[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return n;
}

static int attach(int program, int cgroup, enum bpf_attach_type hook, uint32_t flags, int command)
{
	union bpf_attr attributes = {0};

	if (flags & LINK) {
		attributes.link_create.prog_fd = (uint32_t)program;
		attributes.link_create.target_fd = (uint32_t)cgroup;
		attributes.link_create.attach_type = hook;
		attributes.link_create.flags = flags & ~LINK;
		return command == BPF_PROG_ATTACH ? bpf(BPF_LINK_CREATE, &attributes) : 0;
	}
	attributes.target_fd = (uint32_t)cgroup;
	attributes.attach_bpf_fd = (uint32_t)program;
	attributes.attach_type = hook;
	attributes.attach_flags = command == BPF_PROG_ATTACH ? flags : 0;
	return bpf(command, &attributes);
}

static int usage(void)
{
	fputs("usage: [FOREIGN_AS=before|after|preorder|override|exclusive] foreign CGROUP DEED [ADDR PORT]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *as = getenv("FOREIGN_AS") ?: "";
	struct bpf_insn program[INSTRUCTIONS];
	union bpf_attr load = {0};
	uint32_t address[4] = {0};
	size_t deed = 0, way = 0;
	int cgroup, fd, signal_number;
	bool v6;
	sigset_t ends;

	while (deed < sizeof(deeds) / sizeof(deeds[0]) && argc > 2 && strcmp(deeds[deed].word, argv[2]))
		deed++;
	while (way < sizeof(ways) / sizeof(ways[0]) && strcmp(ways[way].word, as))
		way++;
	if (argc < 3 || deed == sizeof(deeds) / sizeof(deeds[0]) || way == sizeof(ways) / sizeof(ways[0]))
		return usage();
	v6 = argc > 3 && strchr(argv[3], ':');
	if (deeds[deed].hook6 && (argc < 5 || inet_pton(v6 ? AF_INET6 : AF_INET, argv[3], address) != 1))
		return usage();
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	load.prog_type = deeds[deed].type;
	load.expected_attach_type = v6 && deeds[deed].hook6 ? deeds[deed].hook6 : deeds[deed].hook;
	load.insns = (uint64_t)(uintptr_t)program;
	load.insn_cnt = (uint32_t)make(program, argv[2], address, v6, htons((uint16_t)(argc > 4 ? atoi(argv[4]) : 0)));
	load.license = (uint64_t)(uintptr_t) "GPL";
	strcpy(load.prog_name, "somebody_else");
	fd = bpf(BPF_PROG_LOAD, &load);
	cgroup = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || cgroup < 0 || attach(fd, cgroup, load.expected_attach_type, ways[way].flags, BPF_PROG_ATTACH) < 0) {
		perror("foreign");
		return 1;
	}
	puts("attached");
	fflush(stdout);
	sigwait(&ends, &signal_number);
	return attach(fd, cgroup, load.expected_attach_type, ways[way].flags, BPF_PROG_DETACH) < 0;
}
