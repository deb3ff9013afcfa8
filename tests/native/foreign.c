// SPDX-License-Identifier: GPL-2.0-only
/*
 * foreign.c - somebody else's program on a cgroup, until it is killed
 *
 *   foreign CGROUP rewrite ADDR4 PORT    connect4: whatever is dialled becomes ADDR4:PORT (a service address, as some agents do it)
 *   foreign CGROUP cancel                connect4: bpf_set_retval(0), which cancels what another program refused
 *   foreign CGROUP allow                 connect4: lets everything pass
 *   foreign CGROUP cancel-sendmsg        sendmsg4: bpf_set_retval(0)
 *   foreign CGROUP device                devices: lets everything pass, as a runtime's does that has nothing to refuse
 *   foreign CGROUP cancel-device         devices: bpf_set_retval(0)
 *
 * Prints "attached" when it is in force. Attached with BPF_F_ALLOW_MULTI through a link, which goes with this process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_RETVAL 187 /* BPF_FUNC_set_retval, 5.18 */
#define ADDRESS_AT 4   /* offsets in struct bpf_sock_addr */
#define PORT_AT 24

static int bpf(int command, union bpf_attr *attributes)
{
	return (int)syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

static struct bpf_insn set_register(uint8_t target, int32_t value)
{
	return (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = target & 15, .imm = value};
}

/* r2 is stored into the context, whose pointer is r1. */
static struct bpf_insn store(int16_t offset)
{
	return (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .off = offset};
}

static size_t make(struct bpf_insn *out, const char *what, char **args)
{
	size_t n = 0;

	if (!strcmp(what, "rewrite")) {
		struct in_addr address;

		if (inet_pton(AF_INET, args[0], &address) != 1)
			return 0;
		out[n++] = set_register(BPF_REG_2, (int32_t)address.s_addr);
		out[n++] = store(ADDRESS_AT);
		out[n++] = set_register(BPF_REG_2, htons((uint16_t)atoi(args[1])));
		out[n++] = store(PORT_AT);
	} else if (!strncmp(what, "cancel", 6)) {
		out[n++] = set_register(BPF_REG_1, 0);
		out[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = SET_RETVAL};
	}
	out[n++] = set_register(BPF_REG_0, 1);
	out[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return n;
}

int main(int argc, char **argv)
{
	struct bpf_insn program[8];
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR}, link = {0};
	int cgroup, fd;

	if (argc < 3 || (!strcmp(argv[2], "rewrite") && argc < 5))
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	load.expected_attach_type = strstr(argv[2], "sendmsg") ? BPF_CGROUP_UDP4_SENDMSG : BPF_CGROUP_INET4_CONNECT;
	if (strstr(argv[2], "device")) {
		load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
		load.expected_attach_type = BPF_CGROUP_DEVICE;
	}
	load.insns = (uint64_t)(uintptr_t)program;
	load.insn_cnt = (uint32_t)make(program, argv[2], argv + 3);
	load.license = (uint64_t)(uintptr_t) "GPL";
	strcpy(load.prog_name, "somebody_else");
	fd = bpf(BPF_PROG_LOAD, &load);
	cgroup = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	link.link_create.prog_fd = (uint32_t)fd;
	link.link_create.target_fd = (uint32_t)cgroup;
	link.link_create.attach_type = load.expected_attach_type;
	if (fd < 0 || cgroup < 0 || bpf(BPF_LINK_CREATE, &link) < 0) {
		perror("foreign");
		return 1;
	}
	puts("attached");
	fflush(stdout);
	for (;;)
		pause();
}
