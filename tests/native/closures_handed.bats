#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_handed.bats - what a careless caller leaves open: sockets, rings, folders, devices, maps, and the terminal

load helpers

setup_file() {
	world_up
	world_listen
	base_profile
}

teardown_file() { world_down; }

# leaking KIND ARGS... -- VERB...: the caller holds something as descriptor 37 and launches; the attempt uses it
leaking() {
	local held=()
	while [ "$1" != -- ]; do held+=("$1"); shift; done
	shift
	export -f cordon
	try in_wl timeout 30 "$tools/attempt" leak "${held[0]}" 37 "${held[@]:1}" -- bash -c 'netcordon=$0; cordon "$@"' "$netcordon" "$tools/attempt" "$@"
}

# gone CONTROL_ERRNO KIND ARGS... -- VERB...: without a launch in between the descriptor is there, behind it there is none
gone() {
	local held=() expected=$1
	shift
	export BATS_TEST_NUMBER ROOT WORLD WL
	local all=("$@")
	while [ "$1" != -- ]; do held+=("$1"); shift; done
	shift
	try attempt leak "${held[0]}" 37 "${held[@]:1}" -- "$tools/attempt" "$@"
	[ "$(jq -r .errno <<<"$line")" = "$expected" ]
	mark
	leaking "${all[@]}"
	refused EBADF
}

@test "a connected TCP socket" {
	mark
	gone none tcp $PUB_B 443 -- use-fd 37
	fence
	! arrived '.event=="data" and (.local|contains($a))' $PUB_B
}

@test "an unconnected UDP socket" {
	gone none udp $PUB_B 443 -- use-fd-sendto 37 $PUB_B 443
	nothing_reached $PUB_B
}

@test "a ring whose polling thread belongs to the caller" {
	gone none ring $PUB_B 443 -- ring-fd 37
	nothing_reached $PUB_B
}

@test "a folder, a tun device, a map" {
	gone none folder / -- use-fd-openat 37 etc/passwd
	gone EIO tun -- use-fd 37
	gone EINVAL bpf -- use-fd 37
}

@test "cgroup.procs left open by root would let a process move itself out; it is not open" {
	mkdir -p "$ROOT/elsewhere"
	try attempt -p 0 leak file 37 "$ROOT/elsewhere/cgroup.procs" -- "$tools/attempt" -p 0 use-fd 37
	through
	leaking file "$ROOT/elsewhere/cgroup.procs" -- -p 0 use-fd 37
	refused EBADF
}

# at0 KIND ARGS...: what the launch says when that stands at descriptor 0
at0() {
	run in_wl timeout 30 "$tools/attempt" leak "$1" 0 "${@:2}" -- bash -c 'netcordon=$0; cordon "$@"' "$netcordon" "$tools/attempt" family 2 1 0
}

@test "a socket, a folder, a device or a map as standard input is refused before anything runs" {
	local kind
	export -f cordon
	export ROOT WORLD WL
	for kind in "tcp $PUB_B 443" "udp $PUB_B 443" "folder /" tun bpf; do
		# shellcheck disable=SC2086
		at0 $kind
		[ "$status" -eq 125 ] || { echo "$kind: $status $output" >&2; return 1; }
		[[ "$output" == *descriptor_refused* ]]
		[[ "$output" != *'"verb"'* ]]
	done
	run cordon cat <"$WORLD/profile.json"
	[ "$status" -eq 0 ]
	[[ "$output" == *allowlist* ]]
	run cordon cat < <(echo through a pipe)
	[ "$output" = "through a pipe" ]
}

@test "typing into the caller's terminal" {
	export -f cordon
	try attempt under-pty "$tools/attempt" -p typed tiocsti 0
	[ "$(jq -r .received <<<"$line")" = typed ]
	try attempt under-pty bash -c 'netcordon=$0; cordon "$@"' "$netcordon" "$tools/attempt" -p typed tiocsti 0
	[ "$(jq -r .received <<<"$line")" = "" ]
	try attempt under-pty bash -c 'netcordon=$0; cordon "$@"' "$netcordon" "$tools/attempt" -p typed tiocsti /dev/tty
	[ "$(jq -r .received <<<"$line")" = "" ]
}

@test "variables that point at secrets, agents and buses do not come along" {
	TOKEN=canary-1 TOKEN_FILE=/canary-2 SSH_AUTH_SOCK=/canary-3 DBUS_SESSION_BUS_ADDRESS=canary-4 NOTIFY_SOCKET=canary-5 LISTEN_FDS=1 \
		run cordon env
	[ "$status" -eq 0 ]
	[[ "$output" != *canary* ]]
	[[ "$output" != *LISTEN_FDS* ]]
}
