/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inside.h - what the files behind the door share; nobody outside loader/ includes it
 *
 * Where things lie:
 *   <bpffs>/netcordon/NAME/{maps,programs,links}     NAME is the first 12 of the manifest, a dash, the root cgroup's id in hex
 *   <root>/netcordon-<first 12 of manifest>.slice    the revision's own slice
 *   <runtime>/NAME/                                  its descriptor is the host's lock (flock); `book` inside
 *   <runtime>/NAME/instances/INSTANCE/claim          the instance's record and, by an open file description lock, its owner's lock
 *
 * The pins are made in NAME-new and moved to NAME at once, and moved to NAME-old before they are removed: a folder called NAME always holds every
 * map and program. Links may be missing from it after a crash, and `up` completes them.
 */
#ifndef NC_INSIDE_H
#define NC_INSIDE_H

#include <linux/bpf.h>
#include "loader.h"
#include "cleanup.h"

/* The maps that the loader speaks to; the name is the map's in bpf/maps.h. Others of the object are pinned beside them. */
#define NC_MAPS(X)                                                                                                                                   \
	X(SETTINGS, settings)                                                                                                                        \
	X(AUTHORITIES, authorities)                                                                                                                  \
	X(AUTHORITY_OF_CGROUP, authority_of_cgroup)                                                                                                  \
	X(WORKLOAD_POLICY, workload_policy)                                                                                                          \
	X(PLANE_POLICY, plane_policy)                                                                                                                \
	X(NAMES, names)                                                                                                                              \
	X(GRANTS, grants)                                                                                                                            \
	X(HOST_FLOOR, host_floor)                                                                                                                    \
	X(HOST_FLOOR_PREFIXES, host_floor_prefixes)                                                                                                  \
	X(DEVICES, devices)                                                                                                                          \
	X(LABELS, labels)                                                                                                                            \
	X(RESOLVERS, resolvers)                                                                                                                      \
	X(EVENTS, events)                                                                                                                            \
	X(COUNTERS, counters)                                                                                                                        \
	X(SEEN, seen)                                                                                                                                \
	X(CLAIMS, claims)

#define NC_ENUM_MAP(symbol, name) NC_MAP_##symbol,
enum nc_map { NC_MAPS(NC_ENUM_MAP) NC_MAP_COUNT };

/* What `up` found out and every launch needs to know: kept in a file, so that a launch asks the kernel for none of it again. Program ids are
 * handed out in a circle of 2^31, so a stale one does not come to name another program. */
#define NC_BOOK_MAGIC "ncbook3"
struct nc_book {
	char magic[8];
	uint32_t hooks; /* NC_HOOK_MAX of the writer */
	uint32_t instances;
	uint32_t rings;			   /* how far the pool may grow */
	uint32_t ring_bytes;		   /* of each */
	uint32_t program_ids[NC_HOOK_MAX]; /* 0: optional, and this kernel does not take it */
	uint8_t program_tags[NC_HOOK_MAX][8];
	uint8_t pages_unseen; /* nc_closure_facts has what this is */
};

struct nc_host {
	char name[NC_HOST_WORD_MAX];
	char root[NC_PATH_MAX];
	char slice[NC_PATH_MAX];
	char slice_name[NC_HOST_WORD_MAX];
	char bpffs[NC_PATH_MAX];
	char pins[NC_PATH_MAX];
	char runtime[NC_PATH_MAX];
	char folder[NC_PATH_MAX];
	int root_fd;
	int slice_fd;
	int folder_fd;
	uint64_t root_id;
	uint32_t root_depth;
	int map_fds[NC_MAP_COUNT]; /* -1 until first used */
	struct nc_book book;
	uint64_t floor_owner;  /* the network namespace that this process supervises from, as the floor's book has it; claims record it */
	uint32_t grant_share;  /* 0: from the size of the map */
	char *foreign_allowed; /* names, each with its NUL, then an empty one; NULL: none */
};

/* hooks.c */
enum nc_hook_where { NC_AT_SLICE, NC_AT_ROOT, NC_AT_HOST /* a security hook: for every task of the host */ };
struct nc_hook_row {
	uint32_t program_type;
	uint32_t attach_type;
	enum nc_hook_where where;
	bool required;
	bool admits_foreign; /* a launch does not mind whose programs stand there beside ours */
};
const struct nc_hook_row *nc_hook(enum nc_hook hook); /* 1 <= hook < NC_HOOK_MAX */
const char *nc_hook_name(enum nc_hook hook);	      /* of the program, and of its pins */

#define NC_MANIFEST_PART 12 /* characters of the manifest in the names of folders and slice */
/* Detaches, unpins and removes all of this host: the caller holds its lock, or there is no folder to lock. Goes on after an error, reports the first. */
int nc_host_take_away(struct nc_host *host, struct nc_error *reterr);
/* host.c */
int nc_host_map(struct nc_host *host, enum nc_map map, int *ret_fd, struct nc_error *reterr); /* the descriptor stays the host's */
int nc_host_lock(struct nc_host *host, int how, struct nc_error *reterr);		      /* LOCK_SH or LOCK_EX; bounded */
void nc_host_unlock(struct nc_host *host);
int nc_host_prepare(const struct nc_host_options *options, struct nc_host **ret_host,
		    struct nc_error *reterr);			  /* names and root; opens nothing else */
int nc_host_enter(struct nc_host *host, struct nc_error *reterr); /* opens slice, folder and book of an installed host */
const char *nc_map_name(enum nc_map map);

/* builds.c */
/* Every other build installed for the same root, as a host whose folders are named and whose runtime folder is open (-1: there is none), until `each` returns
 * something else than 0, which is then returned. */
int nc_builds_each(const struct nc_host_options *options, int (*each)(void *context, struct nc_host *build, struct nc_error *reterr), void *context,
		   struct nc_error *reterr);
/* 1 and its claim's file, the caller's from then on, and whether somebody holds its lock; 0: it has none; or a negative errno. */
int nc_build_claim(const struct nc_host *build, const char *name, int *ret_fd, bool *ret_held);

/* pins.c: the folders of the bpf file system */
int nc_bpffs_ready(const char *bpffs, bool mount_it, struct nc_error *reterr);
int nc_folder_make(const char *path, struct nc_error *reterr); /* every missing one of the path, 0700 */
int nc_tree_remove(const char *path, struct nc_error *reterr); /* files and folders; absent is fine */
int nc_pin_open(const char *path, struct nc_error *reterr);    /* returns the descriptor; HOST_DOWN where there is none */
int nc_path(char ret_path[NC_PATH_MAX], struct nc_error *reterr, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* object.c */
/* Loads the object and pins maps and programs below `pins`, which exists; fills *ret_book. */
int nc_object_install(struct nc_host *host, const char *pins, const struct nc_host_options *options, struct nc_book *ret_book,
		      struct nc_error *reterr);
int nc_system_denied(struct nc_error *reterr, int status, const char *what); /* EPERM in words: lockdown, capabilities */
struct rlimit;
void nc_memlock_raise(struct rlimit *ret_limit);
void nc_memlock_restore(const struct rlimit *limit);

/* rings.c */
int nc_rings_prepare(int events_fd, uint32_t count, uint32_t bytes, struct nc_error *reterr);
int nc_ring_open(struct nc_host *host, uint32_t ring, int *ret_fd, struct nc_error *reterr); /* makes it when it is missing */
int nc_ring_empty(int ring_fd, struct nc_error *reterr);				     /* throws away what nobody read */

/* attach.c */
int nc_attach_slice(struct nc_host *host, int cgroup_fd, const char *links, struct nc_error *reterr);
int nc_attach_root(struct nc_host *host, struct nc_error *reterr);
int nc_detach_all(const char *links, struct nc_error *reterr); /* every link pinned in the folder; then the folder goes */

/* cgroup.c */
#define NC_CGROUP_TOP_ID 1		/* of the hierarchy's own root */
char *nc_mountinfo_cgroup2(char *line); /* the mount point in this line of mountinfo, when it is a whole cgroup2; the line is changed */
int nc_cgroup_open(const char *path, int *ret_fd, struct nc_error *reterr);
int nc_cgroup_make(int parent_fd, const char *name, int *ret_fd, struct nc_error *reterr);
int nc_cgroup_remove(int parent_fd, const char *name, struct nc_error *reterr); /* with what is below it; absent is fine */
int nc_cgroup_is_populated(int cgroup_fd, bool *ret_populated, struct nc_error *reterr);
int nc_cgroup_end(int cgroup_fd, int timeout_ms, struct nc_error *reterr);
int nc_cgroup_write_one(int cgroup_fd, const char *file); /* "1" into cgroup.kill or cgroup.freeze; a negative errno where that is not there */
/* cgroup_signal.c */
int nc_cgroup_signal_all(int cgroup_fd, struct nc_error *reterr); /* the way before cgroup.kill: freeze, SIGKILL, recursively */
bool nc_cgroup_gone(int status);				  /* process_cgroup.c: is a negative errno that of a cgroup that was removed? */
/* process_cgroup.c: calls `each` with the cgroup and all below it, as nc_cgroup_each_process_below with their processes */
int nc_cgroup_each_below(int cgroup_fd, int (*each)(void *context, int cgroup_fd), void *context);

/* map_walk.c */
int nc_map_walk(int map_fd, uint32_t key_size, uint32_t value_size, int (*each)(void *context, const void *key, const void *value), void *context,
		struct nc_error *reterr);
/* Deletes every entry whose key is doomed. */
int nc_map_purge_if(int map_fd, uint32_t key_size, uint32_t value_size, bool (*doomed)(const void *context, const void *key), const void *context,
		    struct nc_error *reterr);
/* Deletes every entry whose key's first 8 bytes are `generation`. */
int nc_map_purge(int map_fd, uint32_t key_size, uint32_t value_size, uint64_t generation, struct nc_error *reterr);

/* policy_map.c: images and the maps that hold them */
int nc_policy_write(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, struct nc_error *reterr);
int nc_policy_compare(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, bool exactly, struct nc_error *reterr);
int nc_policy_remove(int map_fd, uint64_t generation, uint64_t revision, const struct nc_image *image, struct nc_error *reterr);
/* Removes what the generation has of other revisions than this one. */
int nc_policy_purge_older(int map_fd, uint64_t generation, uint64_t revision, struct nc_error *reterr);

/* name_map.c: an image's names into their map; written first, kept once the image is in force, taken back on a failure in between */
int nc_names_write(struct nc_claim *claim, const struct nc_image *image, struct nc_error *reterr);
void nc_names_take_back(struct nc_claim *claim, const struct nc_image *image);
int nc_names_keep(struct nc_claim *claim, const struct nc_image *image, struct nc_error *reterr);
int nc_names_check(struct nc_claim *claim, const struct nc_image *image, struct nc_error *reterr);
int nc_names_forget(struct nc_claim *claim, struct nc_error *reterr);

/* record.c: the claim file */
#define NC_INDEX_NONE UINT32_MAX
enum nc_cgroup_kind { NC_CGROUP_NONE, NC_CGROUP_MADE, NC_CGROUP_TAKEN };
struct nc_record {
	char magic[8];
	uint64_t generation; /* 0: nothing claimed yet */
	uint32_t index;
	uint32_t ring;
	uint64_t cgroup_id[2];
	uint64_t intended[2]; /* policy entries of the current revision */
	uint8_t cgroup_kind[2];
	uint8_t mode;
	uint8_t kept;
	uint8_t undead; /* SIGKILL has not ended what runs in it, within the time that it should take */
	uint8_t ending; /* while its owner lives: nothing new is to start in it */
	uint8_t untold; /* of a taken cgroup, until whoever asked has heard that it is sealed: what runs in it does not end with the instance */
	uint8_t reserved[1];
	char cgroup[2][NC_PATH_MAX];
	uint64_t floor_owner; /* the network namespace of whoever claimed it: its part of the floor stays as long as this record */
};
int nc_record_lock(struct nc_host *host, const char *name, int *ret_fd, struct nc_error *reterr); /* INSTANCE_EXISTS while somebody holds it */
int nc_record_open(struct nc_host *host, const char *name, int *ret_fd, struct nc_error *reterr); /* without the lock; INSTANCE_UNKNOWN */
int nc_record_read(int fd, struct nc_record *ret_record, struct nc_error *reterr);		  /* generation 0 when there is none */
/* The same for whoever clears up: one that is not whole says nothing, and what it should speak of is found as what no record speaks of. */
int nc_record_read_left(int fd, struct nc_record *ret_record, struct nc_error *reterr);
/* For whoever may do nothing while one is missed: 1, or 0 where there is none or it is only being made, or an error. Nobody is seen in the middle of
 * writing his first one: that happens under the host's lock. *ret_fd is the caller's in each case. */
int nc_record_certain(struct nc_host *host, const char *name, int *ret_fd, struct nc_record *ret_record, struct nc_error *reterr);
/* Makes of the reason in *reterr an error that says whose claim it is and what to do. */
int nc_record_unreadable(const struct nc_host *host, const char *name, struct nc_error *reterr);
int nc_record_write(int fd, const struct nc_record *record, struct nc_error *reterr);
int nc_record_held(int fd, bool *ret_held, struct nc_error *reterr);
int nc_record_drop(struct nc_host *host, const char *name, struct nc_error *reterr); /* the folder, the claim file last */
int nc_instance_name_check(const char *name, struct nc_error *reterr);

/* claim.c, claim_end.c */
#define NC_RING_KEY 0x80000000u /* in the map `claims`: rings beside indexes */
struct nc_claim {
	struct nc_host *host;
	char name[NC_INSTANCE_NAME_MAX + 1];
	char folder[NC_PATH_MAX];
	int record_fd; /* holds the lock when `owner` */
	bool owner;
	bool adopted; /* an earlier owner may have granted, named and left events: what stands in the maps is found by walking */
	struct nc_record record;
	int cgroup_fds[2];
	int ring_fd;
	bool ring_read;			   /* to its end, after the slots were closed */
	struct nc_policy_entry *sealed[2]; /* keys of the current revision, for a quick removal; NULL: walk */
	size_t sealed_count[2];
	bool is_sealed[2];
	struct nc_image_name *names[2]; /* what stands in the map of names */
	size_t name_count[2];
	bool names_unknown;	      /* something else may stand there */
	struct nc_grant_book *grants; /* grants.c; NULL: none yet */
};
uint64_t nc_boot_ns(void); /* CLOCK_BOOTTIME */
/* A handle on what the record behind record_fd speaks of; the descriptor is the handle's from then on, also on failure. */
int nc_claim_open(struct nc_host *host, const char *name, int record_fd, struct nc_claim **ret_claim, struct nc_error *reterr);
void nc_claim_free(struct nc_claim *claim);
int nc_claim_links(const struct nc_claim *claim, char ret_path[NC_PATH_MAX], struct nc_error *reterr); /* pins of a taken cgroup's links */
/* slot.c: the claim's own slot, 0 workload and 1 plane, whole. Only its owner writes it. */
int nc_slot_read(struct nc_claim *claim, int i, struct nc_slot *ret_slot, struct nc_error *reterr);
int nc_slot_write(struct nc_claim *claim, int i, const struct nc_slot *slot, struct nc_error *reterr);
int nc_claim_forget_cgroup(struct nc_claim *claim, int i, struct nc_error *reterr);
enum nc_map nc_authority_map(enum nc_authority authority);
/* Notes, where it can, whether something outlived SIGKILL. */
void nc_claim_note_undead(struct nc_claim *claim, bool undead);
/* Ends what the record speaks of, whoever owned it. DEADLINE while something in it does not end: its record stays, and its cgroup is closed. */
int nc_claim_end(struct nc_claim *claim, struct nc_error *reterr);
int nc_claim_end_stray(struct nc_host *host, uint64_t generation, uint32_t index, struct nc_error *reterr); /* what no record speaks of */
int nc_claim_recover(struct nc_host *host, const char *name, int record_fd, struct nc_error *reterr);
void nc_wait_for_programs(void); /* until every program that runs now has ended */
/* drain.c: was anything of the instance's ever allowed out? */
int nc_claim_was_allowed(struct nc_claim *claim, bool *ret_allowed, struct nc_error *reterr);

/* grants.c */
void nc_grant_book_free(struct nc_grant_book *book);

/* settings.c */
int nc_settings_write(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr);
bool nc_settings_differ(struct nc_host *host, const struct nc_host_options *options);
/* HOST_BUSY, about `what` that was to be taken away, while an instance lives; orphans are ended first. The caller holds the host's lock: nothing is claimed
 * meanwhile. */
int nc_host_idle(struct nc_host *host, const char *what, struct nc_error *reterr);
int nc_settings_add_depth(struct nc_host *host, uint32_t depth, struct nc_error *reterr);

/* strays.c: ends what no record speaks of, and adds to *cleaned */
int nc_strays_end(struct nc_host *host, uint32_t *cleaned, struct nc_error *reterr);

/* instances.c */
/* Calls `each` with the name of every folder below instances/. */
int nc_instances_names(struct nc_host *host, int (*each)(void *context, const char *name), void *context, struct nc_error *reterr);
int nc_host_end(struct nc_host *host, bool all, struct nc_error *reterr); /* orphans, or everything; the floor's book is not looked at */
/* The name and the workload's cgroup of every instance that has one, until `each` returns something else than 0. An error where a claim cannot be read. */
int nc_instances_cgroups(struct nc_host *host, int (*each)(void *context, const char *name, const char *cgroup), void *context,
			 struct nc_error *reterr);
bool nc_instances_name_owner(struct nc_host *host, uint64_t owner); /* does some record name this owner of floor rows? In doubt, yes */

/* devices.c: the map of device numbers that the kernel picked, as /proc says them now */
int nc_devices_fill(struct nc_host *host, struct nc_error *reterr);
bool nc_devices_differ(struct nc_host *host); /* in doubt, yes */

/* floor.c */
int nc_floor_fill(struct nc_host *host, const struct nc_host_options *options, struct nc_error *reterr);
int nc_floor_sweep(struct nc_host *host,
		   struct nc_error *reterr); /* takes off the floor what belongs to namespaces that nobody supervises from any more */
/* floor_read.c */
struct nl_sock;
int nc_own_add(struct nc_own *own, const struct nc_own_row *row); /* -ENOMEM */
int nc_own_compare(const void *a, const void *b);
int nc_netns_netlink(int netns_fd, struct nl_sock *sock, struct nc_error *reterr); /* connects it to rtnetlink there; -1: here */
/* floor_book.c */
struct nc_book_row {
	uint64_t owner;
	struct nc_own_row row;
};
struct nc_floor_book {
	struct nc_book_row *rows; /* sorted by row, then owner */
	size_t count;
};
int nc_book_lock(struct nc_host *host, int *ret_fd, struct nc_error *reterr); /* the book's folder; closing it unlocks */
int nc_book_read(int folder_fd, struct nc_floor_book *ret_book, struct nc_error *reterr);
int nc_book_write(int folder_fd, const struct nc_floor_book *book, struct nc_error *reterr);
int nc_book_make(const struct nc_floor_book *book, uint64_t owner, const struct nc_own *own, struct nc_floor_book *ret_book, struct nc_error *reterr);
bool nc_book_has(const struct nc_floor_book *book, const struct nc_own_row *row);
void nc_floor_book_free(struct nc_floor_book *book);
int nc_book_hold(int folder_fd, uint64_t owner, int *ret_fd, struct nc_error *reterr); /* for as long as the descriptor is open */
bool nc_book_owner_gone(struct nc_host *host, int folder_fd, uint64_t owner);
void nc_book_owner_forget(int folder_fd, uint64_t owner);
bool nc_floor_differs(struct nc_host *host, const struct nc_host_options *options); /* of the operator's rows; in doubt they do */

/* netns.c */
/* A network namespace with one orphaned TCP socket in it that cannot get rid of its data; it ends with the namespace, when both are closed. */
int nc_netns_orphan(int *ret_netns_fd, int *ret_peer_fd, struct nc_error *reterr);
int nc_netns_socket(int netns_fd, int family, int type, int protocol, int *ret_fd, struct nc_error *reterr);

#endif
