#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# runner.bats - the contract of docs/runner.md: every state of an instance reached, every request made in it, and what survives the death of whom
#
# `sealing` is held by an edge that never gets ready, `sealed` by the hold descriptor, `ending` by a command that ignores TERM. Every message that is seen
# on the way is held against its schema.

load helpers

setup_file() {
	world_up
	# The examples and the states need no network: mode none.
	echo '{"version":1,"network":{"mode":"none"},"process":{"env":{"PATH":"/usr/bin:/bin"}}}' >"$WORLD/profile.json"
	printf '{"version":1,"upstreams":["127.0.0.1"],"root":"%s","evidence":"%s/evidence","key":"%s/key.pem"}' "$ROOT" "$WORLD" "$WORLD" >"$WORLD/conf"
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	mkdir "$ROOT/box" "$WORLD/never-ready" "$WORLD/seen"
	mkdir -m 1777 "$WORLD/open"
	chmod 755 "$WORLD"
	cp "$netcordon" "$WORLD/never-ready/netcordon"
	cp "$tools/launch_tool" "$WORLD/never-ready/netcordon-edge"
	mkfifo "$WORLD/hold"
	nc host up
}
teardown_file() { world_down; }
teardown() {
	[ -z "${supervisor-}" ] || kill -9 "$supervisor" 2>/dev/null || true
	nc host status >/dev/null
	"$netcordon" stop s --config "$WORLD/conf" >/dev/null 2>&1 || true
}

# nc COMMAND...: under this world's configuration; for run, what follows -- stays behind
nc() { timeout 60 "$netcordon" --config "$WORLD/conf" "$@"; }

# up OPTION... -- COMMAND...: a supervisor in the background, its status lines in $WORLD/status
up() {
	"${program:-$netcordon}" run --config "$WORLD/conf" --profile "$WORLD/profile.json" --instance s --status-fd 5 "$@" 5>"$WORLD/status" \
		>"$WORLD/out" 2>"$WORLD/err" </dev/null 3>&- &
	supervisor=$!
}
told() { eventually 150 "grep -q '\"event\":\"$1\"' $WORLD/status" || { cat "$WORLD/status" "$WORLD/err" >&2; return 1; }; }
down() {
	local got=0
	wait "$supervisor" || got=$?
	supervisor=
	[ "$got" -eq "$1" ] || { echo "the supervisor exited with $got, not $1" >&2; cat "$WORLD/err" >&2; return 1; }
	tests_schema status-line="$WORLD/status"
}
tests_schema() { "$top/tests/unit/validate_schema" "$top/docs/schema" "$@" >"$WORLD/schema.out" || { cat "$WORLD/schema.out" >&2; return 1; }; }

# asked STATUS CODE COMMAND...: the exit status, and the code of the error ("": none); its messages are what their schemas say
asked() {
	local wanted=$1 code=$2 got=0
	shift 2
	nc "$@" >"$WORLD/answer" 2>"$WORLD/error" </dev/null || got=$?
	[ "$got" -eq "$wanted" ] && { [ -z "$code" ] && [ ! -s "$WORLD/error" ] || [ "$(jq -r .code "$WORLD/error")" = "$code" ]; } || {
		echo "$*: exit status $got, not $wanted; $(cat "$WORLD/error")" >&2
		return 1
	}
	[ -z "$code" ] || tests_schema error="$WORLD/error"
}

# requests EXISTS EXEC UPDATE STATE WAIT: the answers of a state to everything that does not end an instance in it. Each is a code, "" for a yes.
# STATE "": there is none.
requests() {
	local run=("--json" --profile "$WORLD/profile.json" --instance s)
	if [ -n "$1" ]; then
		asked 125 "$1" run "${run[@]}" -- true
		asked 125 "$1" attach --cgroup "$ROOT/box" "${run[@]}"
	fi
	asked "$([ -z "$2" ] && echo 0 || echo 125)" "$2" exec --json s -- true
	asked 125 "${2:-instance_busy}" exec --json s --authority workload -- true
	asked "$([ -z "$3" ] && echo 0 || echo 1)" "$3" update --json s --profile "$WORLD/profile.json"
	case $5 in deadline) asked 3 deadline wait --json s --timeout 0.1 ;; *) asked 1 "$5" wait --json s ;; esac
	if [ -n "$4" ]; then
		asked 0 "" status --json s
		jq -e --arg state "$4" '.state==$state and .instance=="s"' "$WORLD/answer"
		tests_schema status="$WORLD/answer"
		asked 0 "" events --json s
		[ "$4" = orphan ] || asked 1 host_busy host down --json # which ends orphans
	else
		asked 1 instance_unknown status --json s
		asked 1 instance_unknown stop --json s
	fi
}

@test "no instance: every request says so" {
	requests "" instance_unknown instance_unknown "" instance_unknown
	asked 1 instance_unknown events --json nobody
	asked 2 usage stop --json
	asked 2 usage wait --json s --timeout x
	asked 125 usage exec --json s
	asked 125 instance_invalid run --json --profile "$WORLD/profile.json" --instance 'S!' -- true
	asked 0 "" status --json
	tests_schema status="$WORLD/answer"
	[ "$(jq length "$WORLD/answer")" -eq 0 ]
}

@test "sealing: the policy holds, the resolver and reader of events does not serve yet" {
	# a listed name needs the resolver
	cp "$WORLD/profile.json" "$WORLD/small.json"
	echo '{"version":1,"network":{"mode":"allowlist","destinations":[{"host":"api.example.com","port":443}]}}' >"$WORLD/profile.json"
	program=$WORLD/never-ready/netcordon up -- true
	eventually 100 "nc status s >/dev/null 2>&1 && nc exec s -- true >/dev/null 2>&1"
	cp "$WORLD/small.json" "$WORLD/profile.json"
	[ ! -s "$WORLD/status" ]
	requests instance_exists "" instance_not_started live deadline
	asked 0 "" stop --json s
	# nobody was told of it, and somebody was at work in it
	jq -e '.closed and .cause=="not_started" and .failure=="launch_stopped" and .code==125' "$WORLD/answer"
	tests_schema ended="$WORLD/answer"
	down 125
	jq -e -s 'length==1 and .[0].event=="failed" and .[0].code=="launch_stopped" and .[0].started==false' "$WORLD/status"
	run ! nc evidence verify "$(jq -r .evidence "$WORLD/answer")" --public-key "$WORLD/public.pem" --json # by a reader of events that never said it was there
	jq -e '.answer=="incomplete"' <<<"$output"
	# and where nobody was, nothing is left
	cp "$WORLD/profile.json" "$WORLD/small.json"
	echo '{"version":1,"network":{"mode":"allowlist","destinations":[{"host":"api.example.com","port":443}]}}' >"$WORLD/profile.json"
	program=$WORLD/never-ready/netcordon up -- true
	eventually 100 "nc status s >/dev/null 2>&1 && ls $WORLD/evidence/s-*/launch.json"
	cp "$WORLD/small.json" "$WORLD/profile.json"
	asked 0 "" stop --json s
	down 125
	jq -e '.closed==false' "$WORLD/answer"
	[ ! -e "$(jq -r '.evidence // "/nowhere"' "$WORLD/answer")" ]
}

@test "sealed: held by the Runner, who may think again" {
	exec 7<>"$WORLD/hold"
	up --hold-fd 7 -- touch "$WORLD/open/ran"
	told sealed
	requests instance_exists "" instance_not_started live deadline
	asked 0 "" stop --json s
	down 125
	jq -e -s 'map(.event)==["sealed","failed"] and .[1].code=="launch_stopped"' "$WORLD/status"
	jq -e '.closed and .cause=="not_started" and .failure=="launch_stopped"' "$WORLD/answer"
	tests_schema ended="$WORLD/answer"
	nc evidence verify "$(jq -r .evidence "$WORLD/answer")" --public-key "$WORLD/public.pem" | grep -qx complete
	tests_schema closing="$(jq -r .evidence "$WORLD/answer")/closing.json"
	# the hold descriptor closed without a go
	up --hold-fd 6 -- touch "$WORLD/open/ran" 6</dev/null
	down 125
	jq -e -s 'map(.event)==["sealed","failed"] and .[1].code=="hold_closed"' "$WORLD/status"
	exec 7>&-
	[ ! -e "$WORLD/open/ran" ]
}

@test "running: one process tree for each authority, and one supervisor that listens" {
	up -- sleep 60
	told started
	requests instance_exists "" "" live deadline
	echo '{"version":1,"network":{"mode":"nnoe"}}' >"$WORLD/bad.json"
	asked 2 profile_invalid update --json s --profile "$WORLD/bad.json"
	# a plane command lives: the plane's one tree is taken
	nc exec s -- sh -c "touch $WORLD/open/plane && exec sleep 60" 3>&- &
	local plane=$!
	eventually 150 "[ -e $WORLD/open/plane ]"
	run ! nc exec --json s -- true
	[[ $output == *instance_busy* ]]
	asked 0 "" stop --json s
	jq -e '.closed and .cause=="stopped" and .signal==15' "$WORLD/answer"
	tests_schema ended="$WORLD/answer"
	down 143
	wait $plane || true
	nc evidence verify "$(jq -r .evidence "$WORLD/answer")" --public-key "$WORLD/public.pem" | grep -qx complete
}

@test "wait says how it ended: a status, a signal" {
	up -- /bin/sh -c "until [ -e $WORLD/open/end ]; do sleep 0.05; done; exit 9"
	told started
	timeout 60 "$netcordon" wait --config "$WORLD/conf" --json s >"$WORLD/waited" 3>&- &
	local waiter=$!
	eventually 150 "watches $waiter"
	touch "$WORLD/open/end"
	wait $waiter
	jq -e '.closed and .cause=="exited" and .code==9' "$WORLD/waited"
	tests_schema ended="$WORLD/waited"
	down 9
}

@test "ending: TERM was sent and the grace runs; a second TERM changes nothing" {
	up --grace 60 -- /bin/bash -c "trap '' TERM; touch $WORLD/open/up; while :; do read -t 1 <> <(:); done"
	eventually 100 "[ -e $WORLD/open/up ]"
	kill "$supervisor"
	eventually 100 "nc update --json s --profile $WORLD/profile.json 2>&1 | grep -q instance_ending"
	kill "$supervisor"
	requests instance_exists instance_busy instance_ending live deadline
	asked 3 deadline stop --json s --timeout 0.1
	kill -9 "$(jq -r 'select(.event=="started").pid' "$WORLD/status")"
	down 137
	jq -e -s '.[-1].cause=="stopped" and .[-1].signal==9' "$WORLD/status"
}

@test "ending: a supervisor that is killed while stop waits for it: stop ends the instance" {
	local pid stop started
	up -- sleep 60
	told started
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	kill -STOP "$supervisor"
	nc stop --json s --timeout 60 >"$WORLD/stopped" 3>&- &
	stop=$!
	started=$SECONDS
	eventually 100 "grep -q '^SigPnd:.*[^0]\|^ShdPnd:.*[^0]' /proc/$supervisor/status" # the word has come
	kill -9 "$supervisor"
	wait "$stop"
	[ $((SECONDS - started)) -lt 40 ] # not the time that it was given
	[ ! -d "/proc/$pid" ]
	down 137
	asked 1 instance_unknown status --json s
}

@test "orphan: the supervisor was killed and nothing else was asked for; the name can be taken, and the next run sweeps what is dead" {
	local pid
	up -- sleep 60
	told started
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	kill -9 "$supervisor"
	down 137
	[ -d "/proc/$pid" ]
	requests "" "" instance_unsupervised orphan deadline
	# another instance's launch leaves the living alone, and takes away the dead
	nc run --profile "$WORLD/profile.json" -- true
	asked 0 "" status --json s
	kill -9 "$pid"
	eventually 50 "[ ! -d /proc/$pid ]"
	nc run --profile "$WORLD/profile.json" -- true
	requests "" instance_unknown instance_unknown "" instance_unknown
	# the name of a living orphan: whoever takes it ends the orphan
	up -- sleep 60
	told started
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	kill -9 "$supervisor"
	down 137
	nc run --profile "$WORLD/profile.json" --instance s -- true
	[ ! -d "/proc/$pid" ]
}

@test "kept: it lives on until stop; killed: nothing is left" {
	local pid
	up --on-supervisor-death keep -- sleep 60
	told started
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	kill -9 "$supervisor"
	down 137
	requests instance_exists "" instance_unsupervised kept deadline
	asked 0 "" stop --json s
	jq -e '.closed==false' "$WORLD/answer"
	tests_schema ended="$WORLD/answer"
	[ ! -d "/proc/$pid" ]
	up --on-supervisor-death kill -- sleep 60
	told started
	pid=$(jq -r 'select(.event=="started").pid' "$WORLD/status")
	kill -9 "$supervisor"
	down 137
	eventually 100 "[ ! -d /proc/$pid ]"
	nc run --profile "$WORLD/profile.json" -- true
	requests "" instance_unknown instance_unknown "" instance_unknown
}

@test "host down: the programs are gone, and every request says what to do" {
	nc host down
	asked 3 host_down status --json
	asked 3 host_down stop --json s
	asked 3 host_down wait --json s
	asked 3 host_down update --json s --profile "$WORLD/profile.json"
	asked 125 host_down exec --json s -- true
	nc run --profile "$WORLD/profile.json" -- true # brings them back by itself
	asked 0 "" status --json
}

@test "attach: into a cgroup that was killed before" {
	local resident
	sleep 60 3>&- &
	resident=$!
	echo $resident >"$ROOT/box/cgroup.procs"
	[ -f "$ROOT/box/cgroup.kill" ] || cannot "this kernel has no cgroup.kill"
	echo 1 >"$ROOT/box/cgroup.kill"
	wait $resident || true
	sleep 60 3>&- &
	resident=$!
	echo $resident >"$ROOT/box/cgroup.procs"
	"$netcordon" attach --config "$WORLD/conf" --cgroup "$ROOT/box" --profile "$WORLD/profile.json" --instance s --status-fd 5 5>"$WORLD/status" \
		2>"$WORLD/err" 3>&- &
	supervisor=$!
	told sealed
	requests instance_exists "" "" live deadline
	kill $resident
	down 0
	jq -e -s 'map(.event)==["sealed","exited"] and .[1].cause=="emptied"' "$WORLD/status"
}
