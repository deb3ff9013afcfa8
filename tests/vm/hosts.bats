#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# hosts.bats - hosts that differ: each of them works, or is refused in one line that names what to change
#
# What is taken away is taken away in a mount namespace of its own (alone), where cgroup2 and bpffs are what the test makes of them.

load ../native/helpers

setup_file() {
	world_up
	world_listen
	base_profile
}
teardown_file() { world_down; }

# alone SCRIPT: in a mount namespace of its own. `works` in it launches twice: what is listed is reached, what is not is refused.
alone() {
	export netcordon tools PUB_A PUB_B WORLD WL ROOT
	# shellcheck disable=SC2016
	timeout 300 unshare -m --propagation private bash -c '
		set -eu
		launch() {
			rm -rf "$WORLD/alone"
			"$netcordon" run --profile "$WORLD/profile.json" --root "${AT:-$ROOT}" --netns /run/netns/"$WL" --evidence "$WORLD/alone" --key "$WORLD/key.pem" -- "$@"
		}
		works() {
			launch "$tools/attempt" tcp "$PUB_A" 443
			! launch "$tools/attempt" tcp "$PUB_B" 443 >"$WORLD/refused" || exit 90
			grep -q EPERM "$WORLD/refused" || exit 91
			"$netcordon" host down --root "${AT:-$ROOT}"
		}
		unmount() { while grep -q " - $1 " /proc/self/mountinfo; do umount -l "$(awk -v t="$1" "\$0 ~ \" - \" t \" \" {print \$5; exit}" /proc/self/mountinfo)"; done; }
		eval "$1"
	' - "$1" 3>&-
}

# refuses WORD SCRIPT: status 3, one line, and WORD in it
refuses() {
	run -3 alone "$2"
	[ "$(grep -c '^netcordon: ' <<<"$output")" = 1 ]
	[[ $output == *"$1"* ]] || { echo "no \"$1\" in: $output" >&2; return 1; }
}

@test "no bpffs is mounted: it is mounted where it belongs" {
	mark
	run -0 alone 'unmount bpf; works; grep -q " /sys/fs/bpf .* - bpf " /proc/self/mountinfo'
	reached $PUB_A 443
	nothing_reached $PUB_B 443
}

@test "cgroup2 is mounted elsewhere" {
	mark
	run -0 alone 'unmount cgroup2; mkdir -p "$WORLD/elsewhere"; mount -t cgroup2 none "$WORLD/elsewhere"; AT=$WORLD/elsewhere/${ROOT##*/}; works'
	reached $PUB_A 443
	nothing_reached $PUB_B 443
}

@test "no cgroup2 is mounted" {
	refuses "no cgroup2 hierarchy is mounted" 'unmount cgroup2; "$netcordon" host up'
	[[ $output == *"mount -t cgroup2"* ]]
}

@test "what is given as root is no cgroup2" {
	mkdir -p "$WORLD/folder"
	run -2 "$netcordon" host up --root "$WORLD/folder"
	[[ $output == *"not in a cgroup2 file system"* ]]
}

@test "hardly any memory may be locked" {
	run -0 alone 'ulimit -l 64; works'
}

@test "root without capabilities" {
	refuses CAP_BPF 'setpriv --bounding-set -all --inh-caps -all "$netcordon" host up --root "$ROOT"'
	[ ! -e "$WORLD/alone" ] || rm -r "$WORLD/alone"
	refuses CAP_BPF 'setpriv --bounding-set -all --inh-caps -all "$netcordon" host up --root "$ROOT"'
}

@test "root with everything but CAP_BPF and what stands for it" {
	refuses CAP_BPF 'setpriv --bounding-set -bpf,-sys_admin --inh-caps -all "$netcordon" host up --root "$ROOT"'
	run -0 alone 'setpriv --bounding-set -bpf "$netcordon" host up --root "$ROOT"; works' # CAP_SYS_ADMIN stands for it
}

@test "a kernel that does not tell its types (BTF)" {
	refuses CONFIG_DEBUG_INFO_BTF 'mount -t tmpfs none /sys/kernel/btf; "$netcordon" host up --root "$ROOT"'
	run ! "$netcordon" host status --root "$ROOT" # nothing was left half made
	run -0 alone works
}

@test "an ordinary user" {
	refuses "root" 'setpriv --reuid 65534 --regid 65534 --clear-groups "$netcordon" host up --root "$ROOT"'
}

@test "a cgroup namespace that begins at the hierarchy's root, and one that does not" {
	mkdir -p "$ROOT/below"
	narrowed() {
		run bash -c 'echo 0 >"$0/below/cgroup.procs" && exec unshare -C "$@"' "$ROOT" "$netcordon" "$@" 3>&-
		[ "$status" -eq 3 ] || [ "$status" -eq 125 ]
		[ "$(grep -c '^netcordon: ' <<<"$output")" = 1 ]
		[[ $output == *"cgroup namespace"*nsenter* ]]
	}
	narrowed host up --root "$ROOT"
	narrowed run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/narrowed" --key "$WORLD/key.pem" -- true
	[ ! -e "$WORLD/narrowed" ]
	grep -q '^0::/$' /proc/self/cgroup || { [ -z "${NETCORDON_VM-}" ] && return; }
	mark
	run -0 alone 'export -f launch works; unshare -C bash -euc works'
	reached $PUB_A 443
	nothing_reached $PUB_B 443
}

# classes_displace: a socket keeps its class where it keeps its cgroup. From Linux 5.14 on there is a place for each, and in stable kernels that took it over
# (5.10.262 has it).
classes_displace() { [ -z "$(bpftool btf dump file /sys/kernel/btf/vmlinux | grep -A 1 "STRUCT 'sock_cgroup_data'" | grep "'cgroup'")" ]; }

# The last one: where classes displace, no socket that is made after the first use of one knows its cgroup of version 2 any more, until the next boot.
@test "a traffic class of version 1 on the task that launches" {
	# shellcheck disable=SC2016
	local classed='mkdir -p "$WORLD/classes"; mount -t cgroup -o net_cls,net_prio none "$WORLD/classes" || mount -t cgroup -o net_cls none "$WORLD/classes"; mkdir -p "$WORLD/classes/nctest-class"
		echo 0x100001 >"$WORLD/classes/nctest-class/net_cls.classid"; echo 0 >"$WORLD/classes/nctest-class/cgroup.procs"; works'
	mark
	if classes_displace; then
		run -125 alone "$classed"
		[[ $output == *canary_failed* ]]
		nothing_reached $PUB_A 443
	else
		run -0 alone "$classed"
		reached $PUB_A 443
	fi
	nothing_reached $PUB_B 443
}
