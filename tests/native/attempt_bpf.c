// SPDX-License-Identifier: GPL-2.0-only
/* attempt_bpf.c - programs of somebody else: one that cancels a refusal, and one that writes into a map that is not its own */
#include "attempt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_RETVAL 187 /* BPF_FUNC_set_retval, 5.18 */
#define KEY_MAX 64
#define VALUE_MAX 64

static long bpf(int command, union bpf_attr *attributes)
{
	return syscall(__NR_bpf, command, attributes, sizeof(*attributes));
}

static int load(struct attempt *a, enum bpf_prog_type type, enum bpf_attach_type attach, const struct bpf_insn *program, size_t count)
{
	union bpf_attr attributes = {.prog_type = type, .expected_attach_type = attach, .insn_cnt = (uint32_t)count};
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	long fd;

	setrlimit(RLIMIT_MEMLOCK, &all); /* before 5.11 a program counts against it */
	attributes.insns = (uintptr_t)program;
	attributes.license = (uintptr_t) "GPL";
	strcpy(attributes.prog_name, "somebody_else");
	fd = bpf(BPF_PROG_LOAD, &attributes);
	return step(a, "bpf(BPF_PROG_LOAD)", fd) ? -1 : (int)fd;
}

/* It stays after us: until the cgroup goes. */
enum outcome verb_cancel(struct attempt *a, char **args)
{
	static const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 0},
		{.code = BPF_JMP | BPF_CALL, .imm = SET_RETVAL},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	enum bpf_attach_type type = strcmp(args[1], "v4") ? BPF_CGROUP_UDP6_SENDMSG : BPF_CGROUP_UDP4_SENDMSG;
	union bpf_attr attributes = {.attach_type = type, .attach_flags = BPF_F_ALLOW_MULTI};
	int fd = load(a, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, type, program, sizeof(program) / sizeof(*program)), cgroup;

	if (fd < 0)
		return a->error == EINVAL ? IMPOSSIBLE : fail(a); /* no such helper: nobody can cancel anything */
	if (!strcmp(args[0], "-"))
		return THROUGH;
	cgroup = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (step(a, "open", cgroup))
		return fail(a);
	attributes.attach_bpf_fd = (uint32_t)fd;
	attributes.target_fd = (uint32_t)cgroup;
	return step(a, "bpf(BPF_PROG_ATTACH)", bpf(BPF_PROG_ATTACH, &attributes)) ? fail(a) : THROUGH;
}

/* The entry of the map in whose key the address and, behind it, the port of `peer` stand; where the address stands in it, or -1. */
static int find_entry(int map, const struct bpf_map_info *info, struct peer *peer, unsigned char *key)
{
	const struct sockaddr_in *in = (const void *)&peer->address;
	union bpf_attr next = {.map_fd = (uint32_t)map, .next_key = (uintptr_t)key};
	unsigned char before[KEY_MAX];

	for (int i = 0; i < 100000 && !bpf(BPF_MAP_GET_NEXT_KEY, &next); i++) {
		unsigned char *at = memmem(key, info->key_size - 2, &in->sin_addr, sizeof(in->sin_addr));

		if (at && !memcmp(at + sizeof(in->sin_addr), &in->sin_port, sizeof(in->sin_port)))
			return (int)(at - key);
		memcpy(before, key, info->key_size);
		next.key = (uintptr_t)before;
	}
	return -1;
}

/* Bytes onto the stack at `offset` below the frame: two instructions for a constant, one to store it. */
static size_t put(struct bpf_insn *out, const unsigned char *bytes, size_t size, int offset)
{
	size_t n = 0;

	for (size_t at = 0; at < size; at += 8) {
		uint32_t halves[2];

		memcpy(halves, bytes + at, 8);
		out[n++] = (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1, .imm = (int32_t)halves[0]};
		out[n++] = (struct bpf_insn){.imm = (int32_t)halves[1]};
		out[n++] = (struct bpf_insn){
			.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .src_reg = BPF_REG_1, .off = (int16_t)(offset + (int)at)};
	}
	return n;
}

static int write_by_program(struct attempt *a, int map, const struct bpf_map_info *info, const unsigned char *key, const unsigned char *value)
{
	struct bpf_insn program[96];
	unsigned char packet[64] = {0};
	union bpf_attr run = {.test = {.data_in = (uintptr_t)packet, .data_size_in = sizeof(packet)}};
	int fd;
	size_t n = put(program, key, info->key_size, -KEY_MAX);

	n += put(program + n, value, info->value_size, -KEY_MAX - VALUE_MAX);
	program[n++] = (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map};
	program[n++] = (struct bpf_insn){0};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -KEY_MAX};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_10};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = -KEY_MAX - VALUE_MAX};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4, .imm = BPF_ANY};
	program[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_update_elem};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0};
	program[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	fd = load(a, BPF_PROG_TYPE_SCHED_CLS, 0, program, n);
	run.test.prog_fd = (uint32_t)fd;
	return fd < 0 || step(a, "bpf(BPF_PROG_TEST_RUN)", bpf(BPF_PROG_TEST_RUN, &run)) ? -1 : 0;
}

/* Without a map there is nothing to rewrite. */
enum outcome verb_rewrite_policy(struct attempt *a, char **args)
{
	struct peer listed = peer_of(args[1], args[2]), wanted = peer_of(args[3], args[4]);
	const struct sockaddr_in *in = (const void *)&wanted.address;
	unsigned char key[KEY_MAX] = {0}, value[VALUE_MAX] = {0};
	union bpf_attr get = {.pathname = (uintptr_t)args[0]}, ask = {0}, look = {0};
	struct bpf_map_info info = {0};
	int map, at;

	if (access(args[0], F_OK) && errno == ENOENT)
		return reach(a, SOCK_STREAM, 0, &wanted);
	map = (int)bpf(BPF_OBJ_GET, &get);
	if (step(a, "bpf(BPF_OBJ_GET)", map))
		return fail(a);
	ask.info = (typeof(ask.info)){.bpf_fd = (uint32_t)map, .info_len = sizeof(info), .info = (uintptr_t)&info};
	if (step(a, "bpf(OBJ_GET_INFO)", bpf(BPF_OBJ_GET_INFO_BY_FD, &ask)) || info.key_size > KEY_MAX || info.value_size > VALUE_MAX)
		return fail(a);
	at = find_entry(map, &info, &listed, key);
	if (at < 0)
		return a->call = "no entry", a->error = ENOENT, REFUSED;
	look.map_fd = (uint32_t)map;
	look.key = (uintptr_t)key;
	look.value = (uintptr_t)value;
	if (step(a, "bpf(MAP_LOOKUP_ELEM)", bpf(BPF_MAP_LOOKUP_ELEM, &look)))
		return fail(a);
	memcpy(key + at, &in->sin_addr, sizeof(in->sin_addr));
	memcpy(key + at + sizeof(in->sin_addr), &in->sin_port, sizeof(in->sin_port));
	if (write_by_program(a, map, &info, key, value))
		return fail(a);
	return reach(a, SOCK_STREAM, 0, &wanted);
}
