/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loader.h - the one door to the kernel
 *
 * Behind it: libbpf, libnl and the cgroup file system. In front of it: no libbpf or libnl type, no policy text, no JSON, no key. What comes in is
 * a compiled image, what goes out is what the kernel answered.
 *
 * The life of a host:      nc_host_up (load, pin, attach, verify) ... nc_host_open / nc_host_close ... nc_host_down
 * The life of an instance: nc_claim_new -> nc_claim_make_cgroups -> nc_claim_seal (each authority) -> ... -> nc_claim_release
 *
 * Every function returns 0 or a negative errno and then fills reterr. Outputs are untouched on failure. Handles are owned by the caller and not
 * safe for use by two threads at once; several processes may work on one host at the same time.
 */
#ifndef NC_LOADER_H
#define NC_LOADER_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>
#include "error.h"
#include "netcordon_abi.h"

#define NC_INSTANCE_NAME_MAX 64 /* [a-z0-9] first, then [a-z0-9._-]; bytes without the NUL */
#define NC_PATH_MAX 512
#define NC_HOST_WORD_MAX 40 /* a build's folders: 12 + 1 + 16 and the ending of one in the making, with the NUL */
#define NC_RUNTIME_FOLDER "/run/netcordon"

/* ---- the host: programs, maps, links ------------------------------------------------------------------------------------------------------ */

struct nc_host; /* an open host: descriptors of the pinned maps, mapped slots and counters */

struct nc_host_options {
	const char *root;     /* cgroup that counts as root, as a path in the file system; NULL: the cgroup2 mount found in mountinfo */
	const char *runtime;  /* folder for locks and instance state; NULL: NC_RUNTIME_FOLDER */
	const char *bpffs;    /* a mounted bpf file system; NULL: /sys/fs/bpf, mounted if need be */
	const char *manifest; /* hex digest that names the build, part of the pin folder's name; never NULL */
	uint32_t instances;   /* pool sizes; 0: the default (2048 instances, 64 rings of 64 KiB, 262144 policy entries, 65536 grants) */
	uint32_t rings;
	uint32_t ring_bytes;
	uint32_t policy_entries;
	uint32_t grant_entries;
	uint32_t grant_share; /* of grant_entries, what one instance may hold; 0: a sixteenth, and at least 1024. Of it one name may hold half */
	uint32_t seen_entries;
	const char *const *foreign_allowed; /* names of foreign programs that may be in force; NULL-terminated, or NULL */
	const union nc_address *floor;	    /* operator's additions to the host floor */
	size_t floor_count;
	const struct nc_nat64_prefix *nat64;
	size_t nat64_count;
	/* `floor` and `nat64` are what is to hold for the whole host: what else is in force of either goes. Without it they are only added, since other
	 * instances rely on what is there. */
	bool configure;
	const void
		*object; /* the matrix only: a BPF object instead of the embedded one, and the NC_CHECK_BIT_* mask of the checks that it leaves out */
	size_t object_size;
	uint64_t checks_off;
};

/* Loads, pins and attaches what is missing, then verifies as nc_host_verify does. Safe to call from many processes at once (a lock), a no-op
 * when everything is in place. A half-finished earlier attempt is completed or replaced. POLICY_FULL when no further NAT64 prefix has room; with
 * `configure` HOST_BUSY when something would be taken away while an instance lives. */
int nc_host_up(const struct nc_host_options *options, struct nc_host **ret_host, struct nc_error *reterr);
/* Opens an installed host; HOST_DOWN when there is none of exactly this manifest and root. */
int nc_host_open(const struct nc_host_options *options, struct nc_host **ret_host, struct nc_error *reterr);
void nc_host_close(struct nc_host *host); /* NULL is fine */
/* What holds for the whole host, as the kernel has it now. With `options`, what they list is added again first where somebody's `configure` took it away
 * since `up`: asked while a claim is held, the answer stands for as long as that. NULL: only tells. */
int nc_host_settings(struct nc_host *host, const struct nc_host_options *options, struct nc_settings *ret_settings, struct nc_error *reterr);
/* The host's own folder below the runtime folder, 0700 root; it goes with the host. */
const char *nc_host_folder(const struct nc_host *host);
bool nc_host_at_top(const struct nc_host *host);       /* its root is the hierarchy's own */
bool nc_host_pages_unseen(const struct nc_host *host); /* of nc_closure_facts */
/* Detaches and unpins everything of this host; HOST_BUSY while an instance lives unless `force`, which ends them first. Orphans are cleaned. */
int nc_host_down(struct nc_host *host, bool force, struct nc_error *reterr);

/* Takes away what other builds have installed for the same root and nobody uses any more; `each` hears of every other build found, and whether it is gone
 * (0: go on). */
int nc_host_sweep(const struct nc_host_options *options, int (*each)(void *context, const char *name, bool removed), void *context,
		  struct nc_error *reterr);

/* An instance that another build of netcordon has sealed under the same root, or the cordon that it is behind. */
struct nc_other {
	char build[NC_HOST_WORD_MAX]; /* what its folders are called: the first 12 digits of its manifest, a dash, the root's id. "": there is none */
	char pins[NC_PATH_MAX];
	char name[NC_INSTANCE_NAME_MAX + 1]; /* "": not known */
	char folder[NC_PATH_MAX];
	char cgroup[NC_PATH_MAX]; /* the workload's; "" where it is gone, or its record is laid out as this build does not know */
	bool owner_lives;	  /* somebody holds the lock */
	/* of a cordon: how many programs that build has around its instances, and how many of these are in force on the cgroup that was asked about */
	unsigned int programs, in_force;
};
/* Walks the instances of all other builds. `each` returns 0 to go on. */
int nc_others(const struct nc_host_options *options, int (*each)(void *context, const struct nc_other *row), void *context, struct nc_error *reterr);
/* Asks the kernel whose programs stand around the cgroup, where they are not this build's: of several builds the one that has the most there. That a policy is
 * sealed behind them, and which, only that build can say. */
int nc_others_cordon(const struct nc_host_options *options, const char *cgroup, struct nc_other *ret_other, struct nc_error *reterr);
bool nc_other_stands(const struct nc_other *other); /* all of them are in force there */

#define NC_PROGRAM_NAME_MAX 16 /* the kernel keeps 15 bytes of a program's name */

/* One program as found in force on a cgroup by asking the kernel. */
struct nc_effective {
	char hook[24]; /* the attach type in NC_HOOKS' words; "guard_…" for the guard */
	char name[NC_PROGRAM_NAME_MAX];
	uint32_t id; /* kernel's program id */
	bool ours;
	uint8_t tag[8];
};

struct nc_effective_list {
	struct nc_effective *programs; /* freed by nc_effective_free */
	size_t count;
};

/* Asks what is effective on the cgroup behind cgroup_fd (the slice when -1), in the kernel's order. HOST_INCOMPLETE when a required program of
 * ours is missing, PROGRAM_FOREIGN when one stands there that is neither ours nor allowed. ret_list may be NULL. */
int nc_host_verify(struct nc_host *host, int cgroup_fd, struct nc_effective_list *ret_list, struct nc_error *reterr);
void nc_effective_free(struct nc_effective_list *list);
/* Is the character device with these numbers one whose node an instance may not open (bpf/device.h)? In doubt, yes. */
bool nc_host_refuses_device(struct nc_host *host, unsigned int major, unsigned int minor);
/* The program's instructions as the kernel translated them; the caller frees. NULL and 0 when the kernel withholds them (kernel.kptr_restrict, lockdown).
 * They cannot change while the program exists. */
int nc_program_translated(uint32_t id, void **ret_bytes, size_t *ret_size, struct nc_error *reterr);

struct nc_host_facts {
	char root[NC_PATH_MAX];	 /* cgroup that counts as root */
	char slice[NC_PATH_MAX]; /* the revision's own slice below it */
	char pins[NC_PATH_MAX];
	uint32_t instances_max, instances_used, rings_max, rings_used;
	uint64_t policy_entries, grant_entries, seen_entries; /* present now, counted by walking */
	uint32_t links;					      /* pinned links found */
};
/* The BPF object as embedded in this binary; lives as long as the program. */
void nc_host_object(const void **ret_bytes, size_t *ret_size);
/* The read-only data map as read back from the kernel; the caller frees. */
int nc_host_rodata(struct nc_host *host, void **ret_bytes, size_t *ret_size, struct nc_error *reterr);
int nc_host_facts(struct nc_host *host, struct nc_host_facts *ret_facts, struct nc_error *reterr);

/* ---- closures: which way out is closed here, by what -------------------------------------------------------------------------------------- */

enum nc_closure_state { NC_CLOSURE_GAP, NC_CLOSURE_IN_FORCE, NC_CLOSURE_ABSENT /* the path itself cannot be made on this kernel */ };

struct nc_closure {
	const char *path;      /* stable word: "udp_connected", "unix_pathname", "io_uring_socket" */
	const char *summary;   /* one line for people: the way out */
	const char *mechanism; /* what closes it here ("connect + egress"); for a gap, what would ("seccomp, or lsm_family") */
	const char *needs;     /* what those need, in prose; "" where every supported kernel has it */
	enum nc_closure_state state;
};

/* What the answer is drawn from when the caller has asked the kernel already (a launch has). */
struct nc_closure_facts {
	const struct nc_effective_list *effective; /* what nc_host_verify found in force */
	bool true_root;				   /* the guard stands at the hierarchy's own root */
	bool starts_process; /* provider `run`: netcordon takes the process measures (seccomp, user, descriptors, ...) itself and fails without them.
			      * For `attach` and `oci-hook` somebody else took them or did not, and nobody here can vouch for it */
	bool pages_unseen;   /* what is handed to a socket (sendfile, splice) takes a way that no security hook is asked about, as up to Linux 6.4 */
	bool unix_gap_accepted; /* the profile accepted named unix sockets as a gap: nothing judges them */
	bool names_open;	/* the profile lists a name whose address is open for every name (wire any) */
};

/* The closure table as it stands under these facts: no system call but the look whether a path that nothing closes exists at all. The rows belong to the
 * library and are overwritten by the next call with the same starts_process. */
void nc_closures_of(const struct nc_closure_facts *facts, const struct nc_closure **ret_rows, size_t *ret_count);
/* The same with the facts found out first: what an open host attached or, with NULL, what acts on this kernel, seen by letting small programs refuse real
 * calls of a child in a scratch cgroup (some milliseconds, root; never by version or errno of a load). */
int nc_closures(struct nc_host *host, bool starts_process, const struct nc_closure **ret_rows, size_t *ret_count, struct nc_error *reterr);
/* The words of `mechanism`, one by one, with what each needs ("": nothing but a launch). False behind the last. */
bool nc_closure_mechanism(size_t index, const char **ret_word, const char **ret_needs);
const char *nc_closure_state_word(enum nc_closure_state state); /* "gap", "in_force", "absent" */

/* Finds what acts on this kernel without a host: fills *ret_list (nc_effective_free) with hook words only. `scratch_parent`: an existing cgroup below
 * which a scratch one is made and removed; NULL: the hierarchy's root. */
int nc_closure_probe(const char *scratch_parent, struct nc_effective_list *ret_list, struct nc_error *reterr);
bool nc_kernel_pages_unseen(void); /* of nc_closure_facts, asked of the kernel */

/* ---- instances ------------------------------------------------------------------------------------------------------------------------------ */

/* A compiled policy of one authority, in the kernel's own form. `entries` is sorted by memcmp of the key, without duplicates, generation and
 * revision 0. The digest in evidence is over this. */
/* A name that the image's entries speak of by its id, as it may stand in the first bytes of a connection; generation 0 in the key. */
struct nc_image_name {
	struct nc_name_key key;
	uint32_t id;
	uint32_t reserved;
};

struct nc_image {
	uint8_t authority; /* enum nc_authority */
	uint8_t mode;	   /* enum nc_mode */
	uint8_t flags;	   /* NC_SLOT_* */
	struct nc_policy_entry *entries;
	size_t count;
	struct nc_image_name *names; /* sorted by text */
	size_t name_count;
};

struct nc_claim; /* a claimed instance: lock held, index and generation taken */

/* Claims the name, an index with its two slots and a ring. INSTANCE_EXISTS while another process holds the name; the remains of a dead owner are
 * cleaned first. The claim holds a lock file until the process ends or releases. */
int nc_claim_new(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr);
uint64_t nc_claim_generation(const struct nc_claim *claim);
/* Folder of the instance below the runtime folder, 0700 root: the owner may put its own state files there; release removes it whole. */
const char *nc_claim_folder(const struct nc_claim *claim);

/* Makes the two cgroups, under random names, below the slice. Everything inside is refused until sealed. */
int nc_claim_make_cgroups(struct nc_claim *claim, struct nc_error *reterr);
/* Takes an existing cgroup as the workload authority's instead (attach, OCI), attaching the slice's programs there; the plane's is made as above.
 * CGROUP_INVALID unless it is an empty-or-not cgroup below root, not the root itself, not below or above another sealed one. */
int nc_claim_take_cgroup(struct nc_claim *claim, const char *path, struct nc_error *reterr);
int nc_claim_cgroup_fd(const struct nc_claim *claim, enum nc_authority authority);	     /* O_DIRECTORY, owned by the claim, close-on-exec */
const char *nc_claim_cgroup_path(const struct nc_claim *claim, enum nc_authority authority); /* in the file system */

struct nc_seal {
	const struct nc_image *image;
	uint64_t netns_cookie; /* 0: unknown */
};
/* Writes every entry, reads all back, compares byte for byte (SEAL_MISMATCH), then opens the slot. On failure nothing of it is left. */
int nc_claim_seal(struct nc_claim *claim, enum nc_authority authority, const struct nc_seal *seal, struct nc_error *reterr);
/* A new revision of a sealed authority: write, read back, one store of the revision, then the old entries go. After a failure either policy is in force, whole:
 * nc_claim_check says whether one is, and nothing of either is left at the end. */
int nc_claim_reseal(struct nc_claim *claim, enum nc_authority authority, const struct nc_image *image, uint64_t *ret_revision,
		    struct nc_error *reterr);
/* Reads back again and compares: the closing statement's question. */
int nc_claim_check(struct nc_claim *claim, enum nc_authority authority, const struct nc_image *image, struct nc_error *reterr);
/* Network-order port of the authority's resolver on 127.0.0.1 and ::1; 0: none. It cannot be redirected to before its sockets carry the mark. On loopback
 * the port is closed to the other authority. Both must be sealed. */
int nc_claim_resolver(struct nc_claim *claim, enum nc_authority authority, uint16_t port_be, struct nc_error *reterr);
/* Network-order port of the canary on the floor; 0 takes it away. */
int nc_claim_canary(struct nc_claim *claim, enum nc_authority authority, uint16_t port_be, struct nc_error *reterr);
/* Exact counters since the seal. */
int nc_claim_counters(struct nc_claim *claim, enum nc_authority authority, struct nc_counters *ret_counters, struct nc_error *reterr);
/* First sight and repeats of this instance. `each` returns 0 to go on. */
int nc_claim_seen(struct nc_claim *claim, int (*each)(void *context, const struct nc_seen_key *key, const struct nc_seen_value *value), void *context,
		  struct nc_error *reterr);
/* A descriptor of the instance's ring, for nc_events_open in the process that reads it. Owned by the claim. */
int nc_claim_ring_fd(const struct nc_claim *claim);
/* Its owner has read it to the end after nc_claim_close: the release need not empty it. */
void nc_claim_ring_done(struct nc_claim *claim);

/* ---- grants: addresses that the resolver vetted for a listed name -------------------------------------------------------------------------- */

struct nc_grant_port {
	uint16_t port_be;
	uint8_t protocol;
	bool open; /* no name is compared on the wire there */
};

/*
 * Grants `addresses` to a name, whose id says which authority's it is, for `lifetime` seconds from now, at the ports and protocols that the policy
 * lists for it; an existing grant of the same name is prolonged, never shortened. Several names may hold one address, each for itself. In force on
 * return. POLICY_FULL when the instance's share or the map takes no more: then none of these addresses has been granted anew. The claim keeps the
 * book of its grants; expired ones leave it on the way.
 */
int nc_claim_grant(struct nc_claim *claim, uint32_t name_id, const union nc_address *addresses, size_t count, const struct nc_grant_port *ports,
		   size_t port_count, uint32_t lifetime, struct nc_error *reterr);
/* What the policy lists now for a name that may hold grants: they open these ports and protocols from now on, and no others. */
int nc_claim_grant_ports(struct nc_claim *claim, uint32_t name_id, const struct nc_grant_port *ports, size_t count, struct nc_error *reterr);
/* What the next policy will list for a name: where one that stays holds an address too, it speaks for the address from now on. To be called before the
 * policies are exchanged, so that nothing that both list is refused on the way; nc_claim_grant_ports ends it, with whichever policy it came to be. */
int nc_claim_grant_leaving(struct nc_claim *claim, uint32_t name_id, const struct nc_grant_port *staying, size_t count, struct nc_error *reterr);
/* Does some name of the authority hold a live grant of the address for this port and protocol? With port->open: one whose name is not compared there. */
bool nc_claim_granted(struct nc_claim *claim, enum nc_authority authority, const union nc_address *address, const struct nc_grant_port *port);
/* Takes every grant of the name away; addresses that another name holds stay that name's. */
int nc_claim_revoke(struct nc_claim *claim, uint32_t name_id, struct nc_error *reterr);
/* Marks a socket of the authority's resolver, so that its redirects go to it and to no other at its endpoint, and nobody else's loopback leads there. Before it
 * is bound: then there is no moment in which another instance reaches it. */
int nc_claim_mark_resolver(struct nc_claim *claim, enum nc_authority authority, int socket_fd, struct nc_error *reterr);
/* Marks a listener of the canary, which no instance is to reach; likewise before it is bound. */
int nc_claim_mark_canary(struct nc_claim *claim, int socket_fd, struct nc_error *reterr);

/* Tasks now in the authority's cgroup (recursive): 0 or 1 in *ret_populated. */
int nc_claim_populated(struct nc_claim *claim, enum nc_authority authority, bool *ret_populated, struct nc_error *reterr);
/* Kills everything in the authority's cgroup and below, with cgroup.kill or, before 5.14, by freezing and signalling; waits, bounded by timeout_ms. */
int nc_claim_kill(struct nc_claim *claim, enum nc_authority authority, int timeout_ms, struct nc_error *reterr);
/* The owner: from now on nothing new is to start in the instance. Written down for others to read (nc_claim_ending); cleaners do it by themselves. */
int nc_claim_note_ending(struct nc_claim *claim, struct nc_error *reterr);
/* Whoever puts something into an instance asks after it is inside and before it does anything: what was not seen to end then, the owner still finds
 * in the cgroup, because he notes the end before he kills. INSTANCE_UNKNOWN once it is gone. What a dead owner was about to do means nothing. */
int nc_claim_ending(struct nc_claim *claim, bool *ret_ending, struct nc_error *reterr);
/* Waits for the instance's own sockets to finish sending (FIN_WAIT, LAST_ACK, CLOSING), bounded, then destroys what is left by sock_diag, in the
 * network namespace of netns_fd (-1: the caller's). `meanwhile` is called every few milliseconds until then, and a failure of it ends the wait; NULL:
 * nothing. */
struct nc_drain {
	int netns_fd, timeout_ms;
	int (*meanwhile)(void *context, struct nc_error *reterr);
	void *context;
};
int nc_claim_drain(struct nc_claim *claim, const struct nc_drain *how, uint32_t *ret_destroyed, struct nc_error *reterr);
/* Closes both slots: from the return on nothing of the instance's gets out, is counted or is recorded, so that counters, rows and ring say their last. */
int nc_claim_close(struct nc_claim *claim, struct nc_error *reterr);
/* Destroys the instance's connected sockets, in the network namespace of netns_fd, whose admission `stands` denies: the application gets ECONNABORTED. */
int nc_claim_end_flows(struct nc_claim *claim, int netns_fd, bool (*stands)(const void *context, const struct nc_label *label), const void *context,
		       uint32_t *ret_ended, struct nc_error *reterr);
/* Kills (in a taken cgroup once it was announced), removes cgroups, entries, grants, seen rows, closes the slots, gives the ring back, removes the
 * folder. Goes on after an error and reports the first; the claim is freed in every case. NULL is fine. */
int nc_claim_release(struct nc_claim *claim, struct nc_error *reterr);
/* Lets go of the handle without ending the instance (on-supervisor-death keep, attach), and marks it as kept when the handle was the owner's. */
void nc_claim_abandon(struct nc_claim *claim);
/* Marks beforehand that the instance lives on if its owner dies: it is then no orphan while its workload lives. */
int nc_claim_keep(struct nc_claim *claim, bool keep, struct nc_error *reterr);
/* Of a taken cgroup, before anybody hears that it is sealed: what runs in it ends with the instance from now on. Until then, and after the
 * withdrawal, where the word could not be said, the end of the instance leaves it alive and without a cordon, whoever ends it. */
int nc_claim_announce(struct nc_claim *claim, bool keep, struct nc_error *reterr);
int nc_claim_withdraw(struct nc_claim *claim, struct nc_error *reterr);
/* Becomes the owner of an instance that has none: kept, or its owner died. INSTANCE_UNKNOWN; INSTANCE_EXISTS while somebody else owns it. */
int nc_claim_adopt(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr);

struct nc_instance_row {
	char name[NC_INSTANCE_NAME_MAX + 1];
	char folder[NC_PATH_MAX];
	char cgroup[NC_PATH_MAX]; /* the workload's */
	uint64_t generation;
	uint32_t index;
	bool owner_lives; /* somebody holds the lock */
	bool populated;
	bool kept;   /* abandoned on purpose */
	bool undead; /* what runs in it has outlived SIGKILL: it waits in the kernel for somebody who does not answer */
	uint8_t mode;
	uint64_t intended[2], present[2]; /* policy entries meant and found: workload, plane */
	struct nc_counters counters[2];
};
/* Walks all instances of the host. `each` returns 0 to go on. */
int nc_instances(struct nc_host *host, int (*each)(void *context, const struct nc_instance_row *row), void *context, struct nc_error *reterr);
/* Re-opens a live instance by name without its lock (status, exec, events): no function that changes it may be called, nc_claim_abandon frees. */
int nc_claim_find(struct nc_host *host, const char *name, struct nc_claim **ret_claim, struct nc_error *reterr);
/* Takes away what dead owners left and nothing runs in any more: three system calls for each instance that lives. */
int nc_instances_sweep(struct nc_host *host, uint32_t *ret_cleaned, struct nc_error *reterr);
/* Ends what dead owners left: kills, removes, releases. What SIGKILL does not end stays as it is, and is no error. */
int nc_host_clean_orphans(struct nc_host *host, uint32_t *ret_cleaned, struct nc_error *reterr);

/* ---- events ---------------------------------------------------------------------------------------------------------------------------------- */

struct nc_events;
/* Maps the ring behind ring_fd (which stays the caller's). One reader at a time. */
int nc_events_open(int ring_fd, struct nc_events **ret_events, struct nc_error *reterr);
int nc_events_poll_fd(const struct nc_events *events); /* becomes readable when there is something */
/* Hands every record of `generation` that is there now to `each`, skips others; never waits. A record of another version or size is EPROTO. */
int nc_events_drain(struct nc_events *events, uint64_t generation, int (*each)(void *context, const struct nc_event *event), void *context,
		    struct nc_error *reterr);
void nc_events_close(struct nc_events *events);

/* ---- the rest of what only the kernel knows ---------------------------------------------------------------------------------------------------- */

/* Brings the calling thread back to its own network namespace, or ends the process: in the workload's, with everything that we hold, there is no going on. */
void nc_netns_return(int own_netns_fd);
/* Network namespace cookie of netns_fd (-1: the caller's), by SO_NETNS_COOKIE on a socket made there; 0 and success before 5.14. */
int nc_netns_cookie(int netns_fd, uint64_t *ret_cookie, struct nc_error *reterr);
/* Cgroup id (the kernfs inode number) and depth below the cgroup2 root of an open cgroup directory. */
int nc_cgroup_identity(int cgroup_fd, uint64_t *ret_id, uint32_t *ret_depth, struct nc_error *reterr);
/* The path, in the file system, of the cgroup2 that process `pid` is in, as the kernel gives it, and only if that cgroup lists the process. HOST_UNSUPPORTED
 * where it is in none or outside the caller's cgroup namespace, CGROUP_INVALID when it is gone. */
int nc_cgroup_of_process(pid_t pid, char ret_path[NC_PATH_MAX], struct nc_error *reterr);
/* The root of the process's cgroup namespace, when its own cgroup (`cgroup`: nc_cgroup_of_process) lies below that: a process that may write there moves itself
 * to any place below it. Only where nobody else lives there; else, and where the namespace is the caller's, its own cgroup. The caller has one thread. */
int nc_cgroup_reach_of_process(pid_t pid, const char *cgroup, char ret_path[NC_PATH_MAX], struct nc_error *reterr);
/* Calls `each` with every process in the cgroup's own list, until it returns something else than 0, which is then returned; or a negative errno. A process that
 * the caller's pid namespace does not have has the number 0. (No stdio: a launch asks this, and scanf alone is nine pages of program.) */
int nc_cgroup_each_process(int cgroup_fd, int (*each)(void *context, pid_t pid), void *context);
/* The same for the cgroup and all below it; a cgroup that is removed meanwhile has none. A failure, or an answer of `each`, ends no more than its own cgroup's
 * list: the first is returned when all have been visited. */
int nc_cgroup_each_process_below(int cgroup_fd, int (*each)(void *context, pid_t pid), void *context);
/* A signal for every process in the cgroup and below it, and for nobody who has the number of one that has ended (cgroup_signal.c). */
int nc_cgroup_signal(int cgroup_fd, int number);
int nc_cgroup_lists(int cgroup_fd, pid_t pid); /* 1, 0, or a negative errno */
/* The first network namespace: that of process 1 or, where a hardened init lets nobody look, of the kernel's own thread 2. A descriptor of the caller's, or a
 * negative errno where neither can be opened. */
int nc_netns_first(void);
/* Is the cgroup at `path` the one at `above`, or below it? By identity, never by name; an `above` that is not there is above nothing. */
int nc_cgroup_within(const char *path, const char *above, bool *ret_within, struct nc_error *reterr);
/* The cgroup2 mount point, from mountinfo. HOST_UNSUPPORTED where there is none. */
int nc_cgroup_mount(char ret_path[NC_PATH_MAX], struct nc_error *reterr);
/* What the kernel of a network namespace delivers to itself: addresses (length 128) and prefixes; IPv4 mapped, so a /24 has length 120. */
struct nc_own_row {
	union nc_address address;
	uint32_t length;
	uint32_t reserved;
};
struct nc_own {
	struct nc_own_row *rows; /* sorted, each once */
	size_t count, capacity;
};
/* netns_fd -1: the caller's own, which needs no privilege. nc_own_free frees. */
int nc_own_read(int netns_fd, struct nc_own *ret_own, struct nc_error *reterr);
void nc_own_free(struct nc_own *own);
/* Keeps the own addresses of the caller's network namespace and of the host's first one on the floor while a supervisor lives: a descriptor to poll;
 * nc_floor_step handles what came. To be opened before a claim is made and closed before the host. Closing takes off what nobody else has. */
struct nc_floor;
int nc_floor_open(struct nc_host *host, struct nc_floor **ret_floor, struct nc_error *reterr);
int nc_floor_poll_fd(const struct nc_floor *floor);
int nc_floor_step(struct nc_floor *floor, struct nc_error *reterr);
void nc_floor_close(struct nc_floor *floor);

#endif
