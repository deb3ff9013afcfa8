#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# cases_around.bats - faults that people saw around a sandbox; the ids are those of the project's list of cases
#
# B02 B15 stand in closures_unix, B05 in closures_outside, B14 in closures_families, B17 in closures_listen; L02 L13 L15 in closures_handed.

load helpers

setup_file() {
	world_up
	world_listen
	base_profile
}

teardown_file() { world_down; }

@test "B09 B10: the addresses under which user-mode networks show the host" {
	local address
	for address in 10.0.2.2 169.254.1.1 192.168.127.254; do
		as user tcp $address 22
		refused EPERM connect
		refusal address_not_public
	done
	for address in fd00::2 fe80::1; do
		as user scoped $address 22 2
		refused EPERM connect
		# One of them may be an address of the machine that the tests run on: then it is on the floor besides.
		event '.decision=="deny" and .destination=="'$address'" and (.reason=="address_not_public" or .reason=="host_floor")'
	done
}

@test "B04: a workload user in the groups of engines and root cannot reach a link, a map or the supervisor" {
	local pin
	cordon true
	pin=$(find /sys/fs/bpf/netcordon -path '*links*' -type f | head -n 1)
	[ -n "$pin" ]
	as user link-detach "$pin"
	refused EPERM bpf
	as root link-detach "$pin"
	refused EPERM bpf
}

@test "B07: a workload that an outside process moves elsewhere is noticed" {
	local pid
	mkdir -p "$ROOT/elsewhere"
	cordon sleep 21.5 3>&- &
	local supervisor=$!
	eventually 100 "pgrep -f '^sleep 21.5' >/dev/null"
	pid=$(pgrep -f '^sleep 21.5')
	echo "$pid" >"$ROOT/elsewhere/cgroup.procs"
	eventually 100 "! kill -0 $pid 2>/dev/null" || { kill "$pid"; wait $supervisor || true; echo "it lives on" >&2; return 1; }
	wait $supervisor || true
}

@test "B12: attach takes processes, children and threads that are there already, or refuses" {
	attach_up
	mark
	as attached fork-tcp $PUB_B 443
	refused EPERM
	nothing_reached $PUB_B
}

@test "L03: born inside: a workload's first instruction forks and connects, 100 times" {
	local i
	mark
	for ((i = 0; i < 100; i++)); do
		cordon "$tools/attempt" fork-tcp $PUB_B 443 >"$WORLD/out" && { cat "$WORLD/out" >&2; return 1; }
		grep -q EPERM "$WORLD/out"
	done
	nothing_reached $PUB_B
}
