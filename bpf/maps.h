/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.h - every map, once, with who writes it and who reads it
 *
 * What a verdict depends on is written by user space only: those maps carry BPF_F_RDONLY_PROG, so no program can change them, ours included.
 * Sizes here are what a test of a single program needs; the loader sets the real ones before it loads. No map that a verdict depends on is LRU:
 * a full map refuses the policy aloud instead of dropping a part of it.
 */
#ifndef NC_BPF_MAPS_H
#define NC_BPF_MAPS_H

#include "netcordon_abi.h"
#include <bpf/bpf_helpers.h>

#ifdef NC_MUTANT_WRITABLE /* an object for the matrix alone (Makefile) */
#define NC_READ_ONLY 0
#else
#define NC_READ_ONLY BPF_F_RDONLY_PROG
#endif

/* Written by the loader: which ancestors to look at, NAT64 prefixes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, NC_READ_ONLY | BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct nc_settings);
} settings SEC(".maps");

/* Written by the owner of the instance, by bpf(2), for the kernel refuses a writable memory map here: generation last. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__uint(map_flags, NC_READ_ONLY | BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct nc_slot);
} authorities SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__uint(map_flags, NC_READ_ONLY);
	__type(key, __u64);
	__type(value, __u32);
} authority_of_cgroup SEC(".maps");

/* One map for each authority, so that neither can ever answer for the other. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, struct nc_policy_key);
	__type(value, struct nc_policy_value);
} workload_policy SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, struct nc_policy_key);
	__type(value, struct nc_policy_value);
} plane_policy SEC(".maps");

/* Written by the loader, with the policy: what a name in the first bytes of a connection is known as. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, struct nc_name_key);
	__type(value, __u32);
} names SEC(".maps");

/* Written by the resolver. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, struct nc_grant_key);
	__type(value, struct nc_grant_value);
} grants SEC(".maps");

/* Written by the loader and, while a supervisor lives, by its rtnetlink follower. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536); /* takes memory for what is there */
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, union nc_address);
	__type(value, __u32);
} host_floor SEC(".maps");

/* Likewise: asked when the exact address is not there. Empty on most hosts, which costs next to nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 16384);
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, struct nc_prefix_key);
	__type(value, __u32);
} host_floor_prefixes SEC(".maps");

/* Written by the loader, as modules come and go. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__uint(map_flags, NC_READ_ONLY | BPF_F_NO_PREALLOC);
	__type(key, struct nc_device_key);
	__type(value, __u32);
} devices SEC(".maps");

/* Marks on the resolvers' own sockets and the canaries' listeners, set from user space by descriptor. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* socket storage takes no BPF_F_RDONLY_PROG; no program writes it */
	__type(key, int);
	__type(value, struct nc_resolver_mark);
} resolvers SEC(".maps");

/* Written by the programs only. Cloned to accepted sockets: without it they would have no label, and nothing could be said of them. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct nc_label);
} labels SEC(".maps");

/* A ring for each instance, so that one tenant's flood costs another nothing. */
struct nc_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32);
	__array(values, struct nc_ring);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct nc_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct nc_seen_key);
	__type(value, struct nc_seen_value);
} seen SEC(".maps");

/* Which instance indexes are taken: user space's own book, in the kernel because BPF_NOEXIST makes the claim atomic. No program reads it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32);
	__type(key, __u32);
	__type(value, __u64);
} claims SEC(".maps");

#endif
