#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_outside.bats - out of the cordon's own structure: other processes, cgroups, namespaces, pins, key requests

load helpers

setup_file() {
	world_up
	world_listen
	base_profile
	attach_up
}

teardown_file() { world_down; }

# same_uid: starts a process outside with the uid that the workload has now; its pid is $OTHER
inside_uid() { cordon id -u; }

@test "a process outside is not seen, signalled, traced, read or robbed" {
	local who
	# shellcheck disable=SC2016
	attempt leak tcp 37 $PUB_B 443 -- bash -c 'echo $$ >"$0"; exec sleep 30' "$WORLD/other" 3>&- &
	eventually 50 "[ -s $WORLD/other ]"
	local pid
	pid=$(cat "$WORLD/other")
	try attempt pidfd-getfd "$pid" 37
	through
	for who in user root; do
		as $who ptrace "$pid"
		refused
		as $who kill "$pid"
		refused
		as $who process-vm "$pid" 400000
		refused
		mark
		as $who pidfd-getfd "$pid" 37
		refused
		as $who open-file "/proc/$pid/environ"
		refused
		fence
		! arrived '.event=="data" and (.local|contains($a))' $PUB_B
	done
	kill "$pid"
	wait
}

@test "L12: neither supervisor nor edge is to be seen; the instance's own first process shows nothing" {
	local file
	run cordon sh -c 'for i in /proc/[0-9]*; do echo "${i#/proc/} $(cat $i/comm)"; done | grep -v "^1 "'
	[ "$status" -eq 0 ]
	[[ "$output" != *netcordon* ]] || { echo "$output" >&2; return 1; }
	for file in environ maps mem fd/0 root/etc/passwd; do
		as user open-file /proc/1/$file
		refused
	done
	run cordon ls /proc/1/fd
	[ "$status" -ne 0 ]
}

@test "the same calls are refused inside by the filter, so that nothing depends on the user id alone" {
	local who
	for who in user root; do
		as $who ptrace 1
		refused EPERM ptrace
		as $who process-vm 1 400000
		refused EPERM process_vm_readv
		as $who pidfd-getfd 1 1
		refused EPERM pidfd_getfd
	done
}

@test "the user id is nobody else's, the groups are its own, there is no capability" {
	run cordon cat /proc/self/status
	[ "$status" -eq 0 ]
	local uid
	uid=$(awk '/^Uid:/ {print $2}' <<<"$output")
	[ "$uid" -ne 0 ]
	[ -z "$(ps -eo uid= | grep -w "$uid")" ]
	[[ "$output" =~ CapEff:[[:space:]]*0000000000000000 ]]
	[[ "$output" =~ CapBnd:[[:space:]]*0000000000000000 ]]
	[[ "$output" =~ NoNewPrivs:[[:space:]]*1 ]]
	[ "$(awk '/^Groups:/ {print NF}' <<<"$output")" -le 2 ]
}

@test "a user id that a process outside has is refused before anything runs" {
	setpriv --reuid 65533 --regid 65533 --clear-groups sleep 30 3>&- &
	local other=$!
	eventually 30 "[ \"\$(ps -o uid= -p $other | tr -d ' ')\" = 65533 ]"
	MEMBERS='"process":{"user":"65533"}' base_profile
	run cordon "$tools/attempt" family 2 1 0
	kill $other
	base_profile
	[ "$status" -eq 125 ]
	[[ "$output" == *uid_shared* ]]
	[[ "$output" != *'"verb"'* ]]
}

@test "pins: hidden, and the bpf call is refused" {
	local who pin
	cordon true
	pin=$(find /sys/fs/bpf/netcordon -type f -name connect4 | head -n 1)
	[ -n "$pin" ]
	try attempt open-bpffs "$pin"
	through
	for who in user root; do
		as $who open-bpffs "$pin"
		refused EPERM bpf
		as $who bpf-walk
		refused EPERM bpf
		as $who open-file "$pin"
		refused
	done
	run cordon ls /sys/fs/bpf
	[ -z "$output" ] || [ "$status" -ne 0 ]
}

@test "moving out through cgroup.procs" {
	local who
	mkdir -p "$ROOT/elsewhere"
	chmod 777 "$ROOT/elsewhere"
	chmod 666 "$ROOT/elsewhere/cgroup.procs"
	for who in user root; do
		as $who move-cgroup "$ROOT/elsewhere"
		refused EROFS open
		as $who move-cgroup "$(dirname "$ROOT")"
		refused
	done
	[ -z "$(cat "$ROOT/elsewhere/cgroup.procs")" ]
}

@test "a user and network namespace of one's own: the programs decide there too" {
	local who
	for who in user attached; do
		as $who userns-netns
		refused EPERM
	done
	refusal address_not_public
}

@test "entering another network namespace (root, attached)" {
	CONTROL=attempt WHO=attached closed destination_not_listed EPERM $PUB_B setns /run/netns/"$WL" $PUB_B 443
	as attached setns /run/netns/"$NET" 127.0.0.1 443
	refused EPERM
}

@test "a child cgroup" {
	local group
	group=$(cat "$WORLD/attached.name")
	mkdir -p "$ROOT/$group/child"
	mark
	run inside "$group/child" "$tools/attempt" tcp $PUB_B 443
	[ "$status" -ne 0 ]
	[[ "$output" == *EPERM* ]]
	nothing_reached $PUB_B
	run inside "$group/child" "$tools/attempt" tcp $PUB_A 443
	[[ "$output" == *through* ]]
}

@test "cgroup file systems mounted afresh in namespaces of one's own give no way out either" {
	try attempt fresh-mount cgroup2 cgroup.procs
	through
	as root fresh-mount cgroup2 cgroup.procs
	refused
	as root fresh-mount cgroup2 "../tmp/cgroup.procs"
	refused
}

@test "system calls of the 32-bit architecture end the process" {
	try attempt compat-call || true
	[ "$status" -eq 0 ] || [ "$status" -eq 2 ]
	run cordon "$tools/attempt" compat-call
	[ "$status" -ne 0 ]
	[[ "$output" != *through* ]]
}

@test "key requests" {
	local who
	try attempt request-key nowhere.invalid
	through
	for who in user root; do
		as $who request-key nowhere.invalid
		refused EPERM request_key
	done
}

@test "10 workloads whose first instruction connects: none is early enough" {
	local i
	mark
	for i in 1 2 3 4 5 6 7 8 9 10; do
		as user fork-tcp $PUB_B 443
		refused EPERM
	done
	nothing_reached $PUB_B
}
