/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * privileges.c - how a process of ours stops being root, for good
 *
 * Used by the workload's init and by the edge. The order matters: the bounding set and the securebits need CAP_SETPCAP, the groups need CAP_SETGID, and
 * with SECBIT_NO_SETUID_FIXUP the change of user leaves the capability sets alone, so they are emptied by hand afterwards.
 *
 * These are raw system calls on purpose: the C library's setresuid() asks every thread that it knows of to follow, and in a process born by a bare clone
 * it may know of threads that are not there.
 */
#include <errno.h>
#include <stdint.h>
#include <stddef.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "child.h"
#include "mutants.h"

#define SECUREBITS                                                                                                                                   \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |                   \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

struct farewell {
	uid_t uid;
	gid_t gid;
	const struct sock_fprog *filter;
};

static int drop_bounding_set(const struct farewell *farewell)
{
	(void)farewell;
	/* EINVAL ends the walk: the kernel knows no higher capability. 63 is as far as the capability words reach. */
	for (unsigned long capability = 0; capability < 64; capability++) {
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
			continue;
		return errno == EINVAL && capability > 0 ? 0 : -errno;
	}
	return 0;
}

static int lock_securebits(const struct farewell *farewell)
{
	(void)farewell;
	return prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0 ? -errno : 0;
}

static int change_user(const struct farewell *farewell)
{
	if (syscall(SYS_setgroups, (size_t)0, NULL) < 0)
		return -errno;
	if (syscall(SYS_setresgid, farewell->gid, farewell->gid, farewell->gid) < 0)
		return -errno;
	return syscall(SYS_setresuid, farewell->uid, farewell->uid, farewell->uid) < 0 ? -errno : 0;
}

static int empty_capability_sets(const struct farewell *farewell)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	(void)farewell;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

static int forgo_new_privileges(const struct farewell *farewell)
{
	(void)farewell;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* A session keyring of its own and nothing in it; a kernel without keyrings has none to inherit. */
static int empty_keyring(const struct farewell *farewell)
{
	(void)farewell;
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS ? -errno : 0;
}

static int hide_memory(const struct farewell *farewell)
{
	(void)farewell;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int filter_calls(const struct farewell *farewell)
{
	if (NC_MUTANT_OFF("call_filter"))
		return 0;
	return farewell->filter && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, farewell->filter, 0, 0) < 0 ? -errno : 0;
}

static const struct {
	const char *name;
	int (*run)(const struct farewell *farewell);
} steps[] = {
	{"bounding set", drop_bounding_set},
	{"securebits", lock_securebits},
	{"user and groups", change_user},
	{"capability sets", empty_capability_sets},
	{"no_new_privs", forgo_new_privileges},
	{"session keyring", empty_keyring},
	{"dumpable", hide_memory},
	{"seccomp", filter_calls},
};

int nc_privileges_drop(uid_t uid, gid_t gid, const struct sock_fprog *filter, const char **ret_step)
{
	const struct farewell farewell = {.uid = uid, .gid = gid, .filter = filter};

	if (NC_MUTANT_OFF("privileges"))
		return 0;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i].run(&farewell);

		if (r < 0) {
			*ret_step = steps[i].name;
			return r;
		}
	}
	return 0;
}
