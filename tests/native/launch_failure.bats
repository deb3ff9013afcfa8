#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch_failure.bats - what goes wrong before, during and after: the command does not run, or does not get out, and nothing is left

load helpers

setup_file() {
	world_up
	mkdir -m 1777 "$WORLD/open"
	profile tcp $PUB_A 443
	witness net tcp $PUB_A 443 tcp $PUB_B 443
}
teardown_file() { world_down; }

setup() { profile tcp $PUB_A 443; }

tool=$BATS_TEST_DIRNAME/../../build/tests/native/launch_tool

nothing_left() {
	local facts
	facts=$("$netcordon" host status --root "$ROOT" --json)
	jq -e '.instances.used==0 and .rings.used==0 and .entries.policy==0 and .entries.grants==0 and .entries.seen==0' <<<"$facts" >/dev/null || { echo "$facts" >&2; return 1; }
	[ -z "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d)" ] || { find "$ROOT" -type d >&2; return 1; }
	[ -z "$(ls /run/netcordon/"$(basename "$(jq -r .pins <<<"$facts")")"/instances)" ]
}

# never_ran CODE: the last run ended with 125 and this code; the mark is not there; no evidence stands
never_ran() {
	[ "$status" -eq 125 ] || { echo "status $status: $output" >&2; return 1; }
	[[ $output == *"$1"* ]] || { echo "not $1: $output" >&2; return 1; }
	[ ! -e "$WORLD/open/ran" ]
	[ ! -e "$WORLD/evidence" ]
}

inside() { "$@" "$BASH" -c "$(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=${IN_WL-$WL} netcordon=$netcordon RUN_OPTIONS='${RUN_OPTIONS-}'; cordon ${COMMAND:-/bin/touch $WORLD/open/ran}"; }

# background COMMAND...: a cordon with the status line in $WORLD/status, up to the line AT; CORDON is its shell, SUPERVISOR netcordon itself
background() {
	: >"$WORLD/status"
	RUN_OPTIONS="--status-fd 5 ${RUN_OPTIONS-}" cordon "$@" 5>"$WORLD/status" >"$WORLD/out" 2>&1 3>&- &
	CORDON=$!
	eventually 200 "grep -q ${AT:-started} $WORLD/status" || { cat "$WORLD/out" >&2; return 1; }
	SUPERVISOR=$(pgrep -P "$(pgrep -P $CORDON timeout)" | head -n 1)
}

# edge: the process of the background cordon's edge
edge() {
	local pid
	pgrep -P "$SUPERVISOR" | while read -r pid; do
		grep -q '^CapBnd:.0000000000000000' "/proc/$pid/status" && [ "$(readlink "/proc/$pid/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] && echo "$pid"
	done || true
}

flood='while :; do for t in 1 2 3; do (echo x >/dev/tcp/'$PUB_B'/443) 2>/dev/null; done; sleep 0.01; done'

@test "a refusal by a filter of somebody else is not the canary's" {
	# connect() fails with EPERM for everybody, and no counter rises
	run inside "$tool" deny 42 1
	never_ran canary_failed
	run inside "$tool" deny 44 1 # sendto
	never_ran canary_failed
	nothing_left
}

@test "a loopback that is down cannot carry the proof" {
	ip -n "$NET" netns set nowhere auto 2>/dev/null || true
	ip netns add "$WL-down"
	IN_WL=$WL-down run inside env
	ip netns del "$WL-down"
	never_ran canary_failed
	nothing_left
}

@test "without clone3, missing or refused by a filter, the child is held until its membership is read back" {
	COMMAND="/bin/cat /proc/self/cgroup" inside "$tool" deny 435 38 >"$WORLD/out"
	grep -q "^0::.*netcordon-.*slice/" "$WORLD/out"
	jq -e '.born=="held_and_moved"' "$WORLD/evidence/checkpoint.json"
	mark
	COMMAND="$tools/attempt tcp $PUB_B 443" run ! inside "$tool" deny 435 38
	nothing_reached $PUB_B 443
	cordon /bin/true
	jq -e '.born=="clone_into_cgroup"' "$WORLD/evidence/checkpoint.json"
	COMMAND="/bin/cat /proc/self/cgroup" inside "$tool" deny 435 1 >"$WORLD/out"
	grep -q "^0::.*netcordon-.*slice/" "$WORLD/out"
	jq -e '.born=="held_and_moved"' "$WORLD/evidence/checkpoint.json"
	nothing_left
}

@test "without the privilege, the object or the controller there is no launch" {
	run inside setpriv --bounding-set -bpf,-sys_admin,-net_admin --inh-caps -all
	[ "$status" -eq 125 ]
	[ ! -e "$WORLD/open/ran" ]
	# no bpf() at all
	run inside "$tool" deny 321 1
	[ "$status" -eq 125 ]
	[ ! -e "$WORLD/open/ran" ]
	# a limit that nothing here enforces
	MEMBERS='"process":{"limits":{"memory":"64M"}}' profile tcp $PUB_A 443
	run unshare --mount "$BASH" -c "umount /sys/fs/cgroup/memory; $(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=$WL netcordon=$netcordon; cordon /bin/touch $WORLD/open/ran"
	never_ran process_invalid
	nothing_left
}

@test "input that is wrong creates nothing" {
	local wrong
	for wrong in '{' '{}' '{"version":2}' '{"version":1,"network":{"mode":"allowlist","destinations":[{}]}}' \
		'{"version":1,"network":{"mode":"allowlist","destinations":[],"required_egress_certification":"security_boundary"}}'; do
		echo "$wrong" >"$WORLD/profile.json"
		run cordon /bin/touch "$WORLD/open/ran"
		[ "$status" -eq 125 ]
		[ ! -e "$WORLD/open/ran" ]
		[ ! -e "$WORLD/evidence" ]
	done
	profile tcp $PUB_A 443
	for wrong in "--instance ../x" "--instance A" "--netns /etc/passwd" "--netns /no/such" "--bind /no/such" "--key /etc/passwd" "--evidence /no/such/folder/x"; do
		RUN_OPTIONS=$wrong run cordon /bin/touch "$WORLD/open/ran"
		[ "$status" -eq 125 ] || { echo "$wrong: $status" >&2; return 1; }
		[ ! -e "$WORLD/open/ran" ]
	done
	MEMBERS='"loopback":"own_netns"' profile tcp $PUB_A 443
	IN_WL=../../proc/1/ns/net run inside env
	[ "$status" -eq 125 ]
	nothing_left
}

@test "a process of the workload that is moved out of the cgroup ends the workload" {
	mkdir "$ROOT/elsewhere"
	background /bin/sleep 60
	jq -r 'select(.event=="started").pid' "$WORLD/status" >"$ROOT/elsewhere/cgroup.procs"
	local got=0
	wait $CORDON || got=$?
	[ $got -eq 137 ]
	jq -e '.result.cause=="membership_lost"' "$WORLD/evidence/closing.json"
	grep -q '^netcordon: the workload was ended: membership_lost: ' "$WORLD/out"
	rmdir "$ROOT/elsewhere"
	nothing_left
}

@test "the loss of the edge ends the workload, and stands in the evidence" {
	echo '{"version":1,"upstreams":["127.0.0.1"]}' >"$WORLD/netcordon.conf"
	profile tcp api.example 443
	RUN_OPTIONS="--config $WORLD/netcordon.conf" background /bin/sleep 60
	kill -9 "$(edge)"
	local got=0
	wait $CORDON || got=$?
	[ $got -eq 137 ]
	jq -e '.result.cause=="edge_lost"' "$WORLD/evidence/closing.json"
	grep -q '^netcordon: the workload was ended: edge_lost: ' "$WORLD/out"
	nothing_left
	# while the Runner holds it, the command never starts
	mkfifo "$WORLD/holding"
	exec 7<>"$WORLD/holding"
	AT=sealed RUN_OPTIONS="--config $WORLD/netcordon.conf --hold-fd 7" background /bin/touch "$WORLD/open/ran"
	kill -9 "$(edge)"
	got=0
	wait $CORDON || got=$?
	exec 7>&-
	[ $got -eq 125 ]
	jq -e '.result=={"cause":"not_started","failure":"system","code":125} and .losses=="1"' "$WORLD/evidence/closing.json"
	[ ! -e "$WORLD/open/ran" ]
	nothing_left
}

@test "the loss of a program ends the workload; the next launch puts it back" {
	background /bin/sleep 60
	rm "$("$netcordon" host status --root "$ROOT" --json | jq -r .pins)/links/connect4"
	local got=0
	wait $CORDON || got=$?
	[ $got -eq 137 ]
	jq -e '.result.cause=="program_lost"' "$WORLD/evidence/closing.json"
	cordon "$tools/attempt" tcp $PUB_A 443
	mark
	run ! cordon "$tools/attempt" tcp $PUB_B 443
	nothing_reached $PUB_B 443
}

@test "a supervisor that is killed leaves a workload that gets nowhere; host status reports it and ends it" {
	background /bin/bash -c "$flood"
	mark
	kill -9 "$SUPERVISOR"
	wait $CORDON || true
	sleep 1
	local pid
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	[ -d "/proc/$pid" ]
	nothing_reached $PUB_B
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	[ "$status" -ne 0 ]
	[[ $output == *open* ]]
	[ "$("$netcordon" host status --root "$ROOT" --json | jq .orphans_ended)" -eq 1 ]
	[ ! -d "/proc/$pid" ]
	nothing_left
}

@test "on-supervisor-death: kill ends the workload with its supervisor, keep keeps it until stop" {
	local pid
	RUN_OPTIONS="--on-supervisor-death kill" background /bin/sleep 60
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	kill -9 "$SUPERVISOR"
	eventually 30 "[ ! -d /proc/$pid ]"
	wait $CORDON || true
	[ "$("$netcordon" host status --root "$ROOT" --json | jq .orphans_ended)" -eq 1 ]
	RUN_OPTIONS="--on-supervisor-death keep --instance kept" background /bin/bash -c "$flood"
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	mark
	kill -9 "$SUPERVISOR"
	wait $CORDON || true
	[ "$("$netcordon" host status --root "$ROOT" --json | jq .orphans_ended)" -eq 0 ]
	[ -d "/proc/$pid" ]
	nothing_reached $PUB_B
	"$netcordon" stop --root "$ROOT" kept
	[ ! -d "/proc/$pid" ]
	nothing_left
}

@test "killed at any moment, under load: not one packet past the policy, and all of it is cleaned up" {
	local i pid
	mark
	for i in $(seq 1 "${KILLS:-12}"); do
		cordon /bin/bash -c "$flood" >/dev/null 2>&1 3>&- &
		pid=$!
		sleep "0.$((RANDOM % 6))$((RANDOM % 10))"
		pkill -9 -P "$(pgrep -P $pid timeout)" netcordon || true
		wait $pid || true
	done
	nothing_reached $PUB_B
	"$netcordon" host status --root "$ROOT" >/dev/null
	nothing_left
}

@test "fewer descriptors than a launch needs: said so, with the number that it wants, and one fewer is too few" {
	local few
	for few in 8 64 127; do
		run inside bash -c "ulimit -n $few; exec \"\$@\"" bash
		never_ran "only $few files may be open at once here, and a launch needs 128"
	done
	run inside bash -c 'ulimit -n 128; exec "$@"' bash
	[ "$status" -eq 0 ]
	[ -e "$WORLD/open/ran" ]
	rm "$WORLD/open/ran"
	nothing_left
}
