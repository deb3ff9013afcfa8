#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch.bats - `run` as a Runner meets it: statuses, signals, environment, folder, user, limits, status line, hold, binding, deadlines

load helpers

setup_file() {
	world_up
	mkdir -m 1777 "$WORLD/open" # where a workload could leave a mark, if it ran
	profile tcp $PUB_A 443
	witness net tcp $PUB_A 443 tcp $PUB_B 443
}
teardown_file() { world_down; }

setup() { profile tcp $PUB_A 443; }

tool=$BATS_TEST_DIRNAME/../../build/tests/native/launch_tool

# expect STATUS COMMAND...
expect() {
	local wanted=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" -eq "$wanted" ] || { echo "exit status $got, not $wanted: $*" >&2; return 1; }
}

# nothing_left: no instance, no cgroup, no entry, no process with a user of an instance's
nothing_left() {
	local facts
	facts=$("$netcordon" host status --root "$ROOT" --json)
	jq -e '.instances.used==0 and .rings.used==0 and .entries.policy==0 and .entries.grants==0 and .entries.seen==0' <<<"$facts" >/dev/null || { echo "$facts" >&2; return 1; }
	[ -z "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d)" ] || { find "$ROOT" -type d >&2; return 1; }
	[ -z "$(ls /run/netcordon/"$(basename "$(jq -r .pins <<<"$facts")")"/instances)" ]
}

# unstarted FAILURE STATUS: the evidence of the last one is closed, and says that its command was never executed and why
unstarted() {
	jq -e --arg failure "$1" --argjson code "$2" '.result=={"cause":"not_started","failure":$failure,"code":$code} and .policy_intact' \
		"$WORLD/evidence/closing.json" || { cat "$WORLD/evidence/closing.json" >&2; return 1; }
	verified complete
}
# verified ANSWER
verified() {
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	[ "$("$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" | head -n 1)" = "$1" ]
}

# ended_by_us CAUSE RESULT MEANING: standard error in $WORLD/err, the log and the verification of the last one say how it ended
ended_by_us() {
	verified complete
	[ "$(cat "$WORLD/err")" = "netcordon: the workload was ended: $1: $3" ] || { cat "$WORLD/err" >&2; return 1; }
	"$netcordon" events "$WORLD/evidence" | tail -n 1 | grep -qE "^ +[0-9]+ +end +$2 +$3"
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" | grep -qx "  ended     $2: $3"
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" --json | jq -e --arg cause "$1" '.result.cause==$cause'
}

@test "the listed address is reached, an unlisted one is not, and the evidence verifies" {
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	mark
	cordon "$tools/attempt" tcp $PUB_A 443
	reached $PUB_A 443
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" | grep -x complete
	mark
	expect 1 cordon "$tools/attempt" tcp $PUB_B 443
	nothing_reached $PUB_B 443
	refusal destination_not_listed
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" | grep -x complete
	jq -e '.counters.workload.destination_not_listed=="1" and .result.code==1 and .policy_intact' "$WORLD/evidence/closing.json"
	nothing_left
}

@test "a command that runs can leave the mark that the tests below look for" {
	cordon /bin/sh -c "touch $WORLD/open/ran"
	[ -e "$WORLD/open/ran" ]
	rm "$WORLD/open/ran"
}

@test "exit statuses: the command's own, a signal's, not found, not executable" {
	expect 0 cordon /bin/true
	expect 7 cordon /bin/sh -c 'exit 7'
	expect 255 cordon /bin/sh -c 'exit 255'
	expect 127 cordon no-such-command-anywhere
	expect 127 cordon /no/such/file
	run -127 cordon /no/such/file
	[[ $output == *'execute "/no/such/file": No such file or directory'* ]]
	unstarted process_invalid 127
	expect 126 cordon /etc/passwd
	unstarted process_invalid 126
	expect 126 cordon /etc
	nothing_left
}

@test "a death by signal is told apart from the status that looks like it" {
	expect 137 cordon /bin/sh -c 'kill -9 $$'
	jq -e '.result=={"cause":"signalled","signal":9}' "$WORLD/evidence/closing.json"
	expect 139 cordon /bin/sh -c 'kill -SEGV $$'
	jq -e '.result.signal==11' "$WORLD/evidence/closing.json"
	expect 143 cordon /bin/sh -c 'exit 143'
	jq -e '.result=={"cause":"exited","code":143}' "$WORLD/evidence/closing.json"
}

@test "signals are handed on, and TERM is followed by KILL after the grace" {
	local pid got=0
	RUN_OPTIONS="--status-fd 5" cordon /bin/sh -c 'trap "echo usr1; exit 9" USR1; echo up; while :; do sleep 0.05; done' >"$WORLD/out" 5>"$WORLD/status" 3>&- &
	pid=$!
	eventually 100 "grep -q up $WORLD/out"
	kill -USR1 "$(pgrep -P "$(pgrep -P $pid timeout)" netcordon | head -n 1)"
	wait $pid || got=$?
	[ $got -eq 9 ]
	grep -x usr1 "$WORLD/out"
	jq -e -s '.[-1].event=="exited" and .[-1].code==9' "$WORLD/status"
	# one that ignores TERM
	got=0
	RUN_OPTIONS="--status-fd 5 --grace 1" cordon /bin/sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done' >"$WORLD/out" 5>"$WORLD/status" 3>&- &
	pid=$!
	eventually 100 "grep -q up $WORLD/out"
	kill -TERM "$(pgrep -P "$(pgrep -P $pid timeout)" netcordon | head -n 1)"
	wait $pid || got=$?
	[ $got -eq 137 ]
	jq -e -s '.[-1].cause=="stopped" and .[-1].signal==9' "$WORLD/status"
	# and one that heeds it
	got=0
	RUN_OPTIONS="--status-fd 5" cordon /bin/sh -c 'echo up; exec sleep 30' >"$WORLD/out" 5>"$WORLD/status" 3>&- &
	pid=$!
	eventually 100 "grep -q up $WORLD/out"
	kill -TERM "$(pgrep -P "$(pgrep -P $pid timeout)" netcordon | head -n 1)"
	wait $pid || got=$?
	[ $got -eq 143 ]
	jq -e -s '.[-1].signal==15' "$WORLD/status"
}

@test "a caller that ignores SIGCHLD or SIGTERM changes nothing" {
	export netcordon
	expect 7 "$tool" ignore 17 "$BASH" -c "$(declare -f cordon); cordon /bin/sh -c 'exit 7'"
	expect 143 "$tool" ignore 15 "$BASH" -c "$(declare -f cordon); cordon /bin/sh -c 'kill -TERM \$\$'"
}

@test "a grandchild in a session of its own that ignores TERM ends with the command, and the caller sees end of file" {
	local before=$SECONDS
	# the pipe is read to its end: a survivor would hold it open
	[ -z "$(cordon "$tool" linger)" ]
	[ $((SECONDS - before)) -lt 20 ]
	jq -e '.result.code==4' "$WORLD/evidence/closing.json"
	nothing_left
}

@test "nothing of the caller's environment is inherited; the profile's is all there is" {
	export TOKEN=t TOKEN_FILE=/f SSH_AUTH_SOCK=/s DBUS_SESSION_BUS_ADDRESS=d NOTIFY_SOCKET=n LISTEN_FDS=3 LD_PRELOAD_X=1 HOME=/root PATH
	[ -z "$(cordon /usr/bin/env)" ]
	MEMBERS='"process":{"env":{"A":"1","LANG":"C.UTF-8"}}' profile tcp $PUB_A 443
	[ "$(cordon /usr/bin/env | sort | tr '\n' ' ')" = "A=1 LANG=C.UTF-8 " ]
	jq -e '.process.environment|sort==["A","LANG"]' "$WORLD/evidence/launch.json"
}

@test "the environment descriptor adds and replaces, is recorded by name, and never by value" {
	MEMBERS='"process":{"env":{"A":"1","B":"2"}}' profile tcp $PUB_A 443
	printf 'SECRET=very-secret-value\0B=3\0EMPTY=\0' >"$WORLD/env"
	RUN_OPTIONS="--env-fd 6" cordon /usr/bin/env 6<"$WORLD/env" >"$WORLD/out"
	[ "$(sort "$WORLD/out" | tr '\n' ' ')" = "A=1 B=3 EMPTY= SECRET=very-secret-value " ]
	jq -e '.passed_environment==["SECRET","B","EMPTY"]' "$WORLD/evidence/checkpoint.json"
	run ! grep -r very-secret-value "$WORLD/evidence" /run/netcordon
	# wrong forms do not start anything
	for wrong in 'NOVALUE\0' '=x\0' 'A=1\0A=2\0' 'A=1\0B=cut of'; do
		printf "$wrong" >"$WORLD/env"
		RUN_OPTIONS="--env-fd 6" expect 125 cordon /bin/sh -c "touch $WORLD/open/ran" 6<"$WORLD/env"
		[ ! -e "$WORLD/open/ran" ]
		unstarted process_invalid 125
	done
	nothing_left
}

@test "a credential of the plane does not pass to the workload, by environment, descriptor or argument" {
	MEMBERS='"plane":{"destinations":[],"credentials":["RUN_TOKEN"]}' profile tcp $PUB_A 443
	printf 'RUN_TOKEN=x\0' >"$WORLD/env"
	RUN_OPTIONS="--env-fd 6" expect 125 cordon /bin/sh -c "touch $WORLD/open/ran" 6<"$WORLD/env"
	expect 125 cordon /usr/bin/env RUN_TOKEN=x /bin/sh -c "touch $WORLD/open/ran"
	[ ! -e "$WORLD/open/ran" ]
	nothing_left
}

@test "working folder, umask and open files are the profile's" {
	mkdir -m 755 "$WORLD/folder"
	MEMBERS="\"process\":{\"cwd\":\"$WORLD/folder\",\"umask\":\"0027\",\"limits\":{\"open_files\":77}}" profile tcp $PUB_A 443
	[ "$(cordon /bin/sh -c 'pwd; umask; ulimit -n' | tr '\n' ' ')" = "$WORLD/folder 0027 77 " ] || {
		cordon /bin/sh -c 'pwd; umask; ulimit -n' >&2
		cat "$WORLD/profile.json" >&2
		return 1
	}
	profile tcp $PUB_A 443
	[ "$(cordon /bin/sh -c 'pwd; umask' | tr '\n' ' ')" = "/ 0022 " ]
	MEMBERS='"process":{"cwd":"/root"}' profile tcp $PUB_A 443
	chmod 700 /root
	expect 125 cordon /bin/sh -c "touch $WORLD/open/ran"
	[ ! -e "$WORLD/open/ran" ]
}

@test "memory and process limits hold, or the launch is refused" {
	MEMBERS='"process":{"limits":{"pids":4}}' profile tcp $PUB_A 443
	run cordon /bin/sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 2 & done; wait'
	[[ $output == *[Cc]annot\ fork* ]]
	MEMBERS='"process":{"limits":{"memory":"32M"}}' profile tcp $PUB_A 443
	expect 137 cordon /usr/bin/python3 -c 'x = bytearray(200 << 20); print(len(x))' || { tail -n 3 "$WORLD/evidence/launch.json" >&2; return 1; }
	MEMBERS='"process":{"limits":{"memory":"512M"}}' profile tcp $PUB_A 443
	[ "$(cordon /usr/bin/python3 -c 'x = bytearray(64 << 20); print(len(x))')" = $((64 << 20)) ]
	nothing_left
	# nor in a hierarchy of version 1, where this machine keeps its limits
	for mount in $(awk '/ - cgroup / {print $5}' /proc/self/mountinfo); do run ! ls -d "$mount"/netcordon-* 2>/dev/null; done
}

@test "the status descriptor says what happened, in order, each line whole" {
	RUN_OPTIONS="--status-fd 5 --instance named-$$" expect 3 cordon /bin/sh -c 'exit 3' 5>"$WORLD/status"
	jq -e -s 'map(.event)==["sealed","started","exited"] and all(.[]; .version==1 and .instance=="named-'$$'") and .[2].code==3' "$WORLD/status"
	jq -e -s '.[0].launch_digest' "$WORLD/status" | tr -d '"' >"$WORLD/digest"
	[ "$(cat "$WORLD/digest")" = "$(sha256sum <"$WORLD/evidence/launch.json" | cut -d' ' -f1)" ]
	# what fails before the start is `failed`, and only that
	RUN_OPTIONS="--status-fd 5" expect 125 cordon /bin/true 5>"$WORLD/status" </ || true
	jq -e -s 'length==1 and .[0].event=="failed" and .[0].code=="descriptor_refused" and .[0].started==false' "$WORLD/status"
	RUN_OPTIONS="--status-fd 5" expect 127 cordon /no/such/file 5>"$WORLD/status"
	jq -e -s 'map(.event)==["sealed","failed"] and .[1].code=="process_invalid"' "$WORLD/status"
}

@test "with a hold descriptor nothing runs before the Runner says go" {
	mkfifo "$WORLD/hold" "$WORLD/sealed"
	exec 7<>"$WORLD/hold" 8<>"$WORLD/sealed" # both ends: opening waits for nobody
	RUN_OPTIONS="--status-fd 5 --hold-fd 6" cordon /bin/sh -c "echo ran; exit 5" 5>"$WORLD/sealed" 6<"$WORLD/hold" 7>&- 8>&- >"$WORLD/out" 3>&- &
	local pid=$! got=0 line
	read -r -t 20 line <&8
	[ "$(jq -r .event <<<"$line")" = sealed ]
	sleep 1
	[ ! -s "$WORLD/out" ]
	printf x >&7
	wait $pid || got=$?
	exec 7>&- 8<&-
	[ $got -eq 5 ]
	grep -x ran "$WORLD/out"
	# a Runner that goes away instead: nothing runs, nothing is left
	RUN_OPTIONS="--hold-fd 6" expect 125 cordon /bin/sh -c "touch $WORLD/open/ran" 6</dev/null
	[ ! -e "$WORLD/open/ran" ]
	unstarted hold_closed 125
	nothing_left
}

# held: a launch called held, whose plane may reach PUB_B, up to `sealed`; descriptor 7 is the Runner's end of what holds it
held() {
	MEMBERS="\"plane\":{\"destinations\":[{\"host\":\"$PUB_B\",\"port\":443}]}" profile tcp $PUB_A 443
	rm -f "$WORLD/holding"
	mkfifo "$WORLD/holding"
	exec 7<>"$WORLD/holding"
	RUN_OPTIONS="--instance held --status-fd 5 --hold-fd 6" cordon "$@" 5>"$WORLD/status" 6<"$WORLD/holding" 7>&- >"$WORLD/out" 2>&1 3>&- &
	HELD=$!
	eventually 100 "grep -q sealed $WORLD/status"
}

# plane_told: the plane's command and what was decided of it stand in the evidence, which is whole
plane_told() {
	verified complete
	event '.kind=="exec" and .authority=="plane" and .result.code==0'
	event ".kind==\"verdict\" and .authority==\"plane\" and .decision==\"allow\" and .destination==\"$PUB_B\" and .port==443"
	event ".kind==\"repeats\" and .authority==\"plane\" and .destination==\"$PUB_B\""
	# for people too: what exec started, and whose the refusals before it are
	"$netcordon" events "$WORLD/evidence" >"$WORLD/shown"
	grep -qE "^ +[0-9]+ .* exec +plane +.*attempt +exited, exit status 0 +started by .netcordon exec., process [0-9]+, user [0-9]+" "$WORLD/shown"
	[ "$(grep -c "netcordon's canary" "$WORLD/shown")" -eq 8 ] || { cat "$WORLD/shown" >&2; return 1; }
	jq -e '.counters.plane.literal_listed=="1" and .losses=="0"' "$WORLD/evidence/closing.json" || { cat "$WORLD/evidence/closing.json" >&2; return 1; }
}

@test "what the plane does while a launch is held is shown then, and stands in the evidence, whether the command starts or not" {
	local end got
	for end in go stop; do
		mark
		held /bin/sh -c "touch $WORLD/open/ran"
		timeout 60 "$netcordon" exec --root "$ROOT" held -- "$tools/attempt" tcp $PUB_B 443
		reached $PUB_B 443
		# events and the record of what was executed are taken in meanwhile
		eventually 50 "'$netcordon' events --root $ROOT held | grep -q 'allow  *plane  *tcp $PUB_B:443'"
		eventually 200 "grep -q '\"kind\":\"exec\"' $WORLD/evidence/events.jsonl"
		[ ! -e "$WORLD/open/ran" ]
		if [ $end = go ]; then printf x >&7; else "$netcordon" stop --root "$ROOT" held; fi
		got=0
		wait $HELD || got=$?
		exec 7>&-
		plane_told
		if [ $end = go ]; then
			[ $got -eq 0 ]
			jq -e '.result=={"cause":"exited","code":0}' "$WORLD/evidence/closing.json"
			rm "$WORLD/open/ran"
		else
			[ $got -eq 125 ]
			unstarted launch_stopped 125
			[ ! -e "$WORLD/open/ran" ]
		fi
	done
	nothing_left
}

@test "a plane command that runs when a held launch is stopped is ended with it, and its record says so" {
	held /bin/sh -c "touch $WORLD/open/ran"
	timeout 60 "$netcordon" exec --root "$ROOT" held -- /bin/sleep 50 3>&- &
	local plane=$!
	eventually 100 "pgrep -P \$(pgrep -P $plane) >/dev/null"
	eventually 100 "ls /run/netcordon/*/instances/*/exec-record-* >/dev/null 2>&1"
	"$netcordon" stop --root "$ROOT" held
	wait $HELD $plane || true
	exec 7>&-
	unstarted launch_stopped 125
	event '.kind=="exec" and .result.signal==9'
	[ ! -e "$WORLD/open/ran" ]
	nothing_left
}

@test "a held launch whose first process is killed ends at once, and says so" {
	held /bin/sh -c "touch $WORLD/open/ran"
	local got=0
	kill -9 "$(head -n 1 "$(jq -r .cgroup "$WORLD/status")/cgroup.procs")"
	wait $HELD || got=$?
	exec 7>&-
	[ $got -eq 125 ]
	unstarted process_invalid 125
	[ ! -e "$WORLD/open/ran" ]
}

@test "a deadline ends a launch that is held too long, a lifetime ends a command" {
	mkfifo "$WORLD/never"
	exec 7<>"$WORLD/never"
	RUN_OPTIONS="--hold-fd 7 --status-fd 5 --deadline 2" expect 125 cordon /bin/sh -c "touch $WORLD/open/ran" 5>"$WORLD/status"
	exec 7>&-
	jq -e -s '.[-1].event=="failed" and .[-1].code=="deadline"' "$WORLD/status"
	unstarted deadline 125
	[ ! -e "$WORLD/open/ran" ]
	RUN_OPTIONS="--lifetime 1 --grace 1" expect 143 cordon /bin/sleep 30 2>"$WORLD/err"
	jq -e '.result.cause=="lifetime"' "$WORLD/evidence/closing.json"
	ended_by_us lifetime "lifetime, signal 15" "--lifetime was over"
	# what ends by itself has nothing of netcordon's to hear
	expect 143 cordon /bin/sh -c 'kill -TERM $$' 2>"$WORLD/err"
	[ ! -s "$WORLD/err" ]
	nothing_left
}

@test "the Runner's binding stands in the launch statement unchanged; what is no JSON object is refused" {
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	echo '{"run":"r-1","nonce":"n","limits":{"b":2,"a":[1,true]}}' >"$WORLD/bind"
	RUN_OPTIONS="--bind $WORLD/bind" cordon /bin/true
	jq -e --slurpfile bind "$WORLD/bind" '.binding==$bind[0]' "$WORLD/evidence/launch.json"
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" --expect "$WORLD/bind"
	echo '[1]' >"$WORLD/bind"
	RUN_OPTIONS="--bind $WORLD/bind" expect 125 cordon /bin/true
	[ ! -e "$WORLD/evidence" ]
}

@test "a second instance of a live name is refused, the name is free again afterwards" {
	RUN_OPTIONS="--instance twin" cordon /bin/sh -c 'echo started; exec sleep 5' >"$WORLD/twin" 3>&- &
	local pid=$!
	eventually 100 "grep -q started $WORLD/twin"
	mv "$WORLD/evidence" "$WORLD/evidence-twin" # the next one would take it away while it is being written
	RUN_OPTIONS="--instance twin" run cordon /bin/true
	[ "$status" -eq 125 ]
	[[ $output == *instance_exists* ]]
	"$netcordon" stop --root "$ROOT" twin
	wait $pid || true
	RUN_OPTIONS="--instance twin" cordon /bin/true
	run "$netcordon" stop --root "$ROOT" twin
	[ "$status" -eq 1 ]
	[[ $output == *instance_unknown* ]]
}

@test "what was sent before the end still arrives" {
	mark
	cordon /usr/bin/python3 -c "
import socket
s = socket.create_connection(('$PUB_A', 443))
s.sendall(b'x' * 65000)
"
	eventually 50 "[ \$(since | jq -s '[.[]|select(.event==\"packet\" and .way==\"in\" and .dst==\"$PUB_A\")|.length // 0]|add // 0') -ge 65000 ]" || {
		since | cut -c1-300 | tail -n 5 >&2
		return 1
	}
}
