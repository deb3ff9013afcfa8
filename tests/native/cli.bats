#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# cli.bats - the commands that speak to the kernel, as a user meets them: what they print, what they exit with, what they say when something is wrong
#
# The profile is mode none and nothing here opens a path to a network, so the tests run in the machine's own network namespace; the root is a cgroup of
# the test's own.

load helpers

setup_file() {
	export top hierarchy ROOT WORK
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	hierarchy=$(awk '/ - cgroup2 / {print $5; exit}' /proc/self/mountinfo)
	ROOT=$hierarchy/nctest-cli-$$ WORK=$BATS_FILE_TMPDIR
	mkdir "$ROOT"
	chmod 755 "$WORK"
	printf '{"version": 1, "network": {"mode": "none"}, "process": {"env": {"PATH": "/usr/bin:/bin"}}}\n' >"$WORK/none.json"
	printf '{"version": 1, "root": "%s", "evidence": "%s/evidence", "profiles": "%s", "key": "%s/key.pem"}\n' "$ROOT" "$WORK" "$WORK" "$WORK" >"$WORK/conf"
	"$top/build/netcordon" key generate "$WORK/key.pem"
	"$top/build/netcordon" key public "$WORK/key.pem" >"$WORK/pub.pem"
}

teardown_file() {
	timeout 60 "$top/build/netcordon" host down --force --root "$ROOT" || true
	rmdir "$ROOT"
}

setup() {
	netcordon=$top/build/netcordon
	name=t$BATS_TEST_NUMBER-$$
	background=''
}

teardown() {
	[ -z "$background" ] || kill "$background" 2>/dev/null || true
}

# nc COMMAND...: netcordon with the test's configuration
nc() {
	local words=1
	case $1 in host | key | evidence) words=2 ;; esac
	timeout 60 "$netcordon" "${@:1:words}" --config "$WORK/conf" "${@:words+1}"
}

# refused STATUS CODE COMMAND...: exits with STATUS and one line of that code on stderr, in $line
refused() {
	local want=$1 code=$2 got=0
	shift 2
	"$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null || got=$?
	line=$(cat "$BATS_TEST_TMPDIR/err")
	echo "exit $got: $line"
	[ "$got" -eq "$want" ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -eq 1 ]
	[[ $line == "netcordon: $code: "* ]]
}

says() { [[ $line == *"$1"* ]]; }

# eventually COMMAND...: within ten seconds
eventually() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	echo "not within ten seconds: $*"
	return 1
}

# start_instance NAME COMMAND...: in the background, sealed and started when this returns; its process is $background
start_instance() {
	local instance=$1
	shift
	nc run --profile none --instance "$instance" --status-fd 9 -- "$@" 9>"$BATS_TEST_TMPDIR/status" >/dev/null 2>&1 3>&- &
	background=$!
	eventually grep -q started "$BATS_TEST_TMPDIR/status"
}

evidence_of() { printf '%s\n' "$WORK/evidence/$1"-*; }

@test "before host up: status says so, with its own exit statuses, and the probe works all the same" {
	run nc host status
	[ "$status" -eq 1 ]
	[[ $output == "down"* ]]
	[ "$(nc host status --json | jq .up)" = false ]
	refused 3 host_down nc status
	says 'host up'
	nc host down
	# what a probe left that was killed half way goes with the next one
	mkdir -p "$hierarchy/netcordon-probe-99999999/inner"
	run nc host probe
	[ "$status" -le 1 ]
	[[ $output == *tcp_connect*closed* ]]
	[ ! -e "$hierarchy/netcordon-probe-99999999" ]
}

@test "host up: prints what is in force; doing it again changes nothing" {
	nc host up | grep -q '^up$'
	# of all programs, and by name those that are not
	ours=$(nc host status --json | jq '[.programs[] | select(.ours)] | length')
	all=$(grep -c '^	X(.*, [0-9]*, "[a-z0-9_]*")' <(sed -n '/define NC_HOOKS/,/DEVICE/p' "$top/kernel-headers/netcordon_abi.h"))
	nc host status | grep -q "programs   $ours of $all in force, verified"
	missing=$(nc host status | sed -n 's/^  not taken *\([a-z0-9_ ]*\) (.*/\1/p')
	[ "$(wc -w <<<"$missing")" -eq $((all - ours)) ]
	links=$(nc host status --json | jq .links)
	[ "$links" -gt 10 ]
	nc host up --json | jq -e --argjson n "$links" '.up and .links == $n and ([.programs[] | select(.ours)] | length) > 10'
	[ "$(nc host status --json | jq '.entries.policy + .instances.used')" -eq 0 ]
}

@test "host probe: one row for each way out, gaps counted, exit status 1 while there is one" {
	run nc host probe --json
	gaps=$(jq '[.closures[] | select(.state == "gap")] | length' <<<"$output")
	[ "$(jq .gaps <<<"$output")" -eq "$gaps" ]
	[ "$status" -eq $((gaps > 0)) ]
	[ "$(jq '.closures | length' <<<"$output")" -gt 30 ]
	[ "$(nc host probe | awk '$2 == "GAP"' | wc -l)" -eq "$gaps" ]
}

@test "run: exits as the command does, and as a shell would say that there is none" {
	nc run --profile none -- true
	statuses() { # WANTED COMMAND...
		local want=$1 got=0
		shift
		nc run --profile none -- "$@" 2>"$BATS_TEST_TMPDIR/err" || got=$?
		echo "$* exits $got"
		[ "$got" -eq "$want" ]
	}
	statuses 7 sh -c 'exit 7'
	statuses 143 sh -c 'exit 143'
	statuses 137 sh -c 'kill -9 $$'
	statuses 139 sh -c 'kill -SEGV $$'
	statuses 127 /does/not/exist
	statuses 127 no-such-command-anywhere
	statuses 126 /etc/passwd
	statuses 126 /tmp
}

@test "run: input, output and errors are the command's own; nothing of ours is between them" {
	[ "$(echo hello | nc run --profile none -- cat)" = hello ]
	nc run --profile none -- sh -c 'echo out; echo err >&2' >"$BATS_TEST_TMPDIR/o" 2>"$BATS_TEST_TMPDIR/e"
	[ "$(cat "$BATS_TEST_TMPDIR/o")" = out ]
	[ "$(cat "$BATS_TEST_TMPDIR/e")" = err ]
}

@test "run: without a key it says how to make one, and the command does not run" {
	refused 125 key_invalid nc run --profile none --key "$WORK/absent.pem" -- touch "$WORK/ran"
	says "netcordon key generate $WORK/absent.pem"
	[ ! -e "$WORK/ran" ]
}

# told_alike CODE HINT COMMAND...: the status line `failed` and standard error say the same, a hint with HINT in it too
told_alike() {
	local code=$1 hint=$2 got=0
	shift 2
	nc run --json --status-fd 8 "$@" -- touch "$WORK/ran" 8>"$BATS_TEST_TMPDIR/status" 2>"$BATS_TEST_TMPDIR/err" || got=$?
	cat "$BATS_TEST_TMPDIR/err"
	[ "$got" -eq 125 ]
	jq -e --arg code "$code" --arg hint "$hint" '.code==$code and (.hint | contains($hint))' "$BATS_TEST_TMPDIR/err"
	diff <(tail -n 1 "$BATS_TEST_TMPDIR/status" | jq -S '{code, detail, pointer, hint}') <(jq -S '{code, detail, pointer, hint}' "$BATS_TEST_TMPDIR/err")
}

@test "run: whoever reads the status line is told what standard error says, and what to do" {
	told_alike key_invalid "netcordon key generate" --profile none --key "$WORK/absent.pem"
	told_alike profile_unreadable "a name in the profile folder" --profile absent
	told_alike hold_closed "one byte on it starts the command" --profile none --hold-fd 9 9</dev/null
	mkfifo "$BATS_TEST_TMPDIR/never"
	told_alike deadline "what the Runner takes to say go" --profile none --hold-fd 9 --deadline 1 9<>"$BATS_TEST_TMPDIR/never"
	[ ! -e "$WORK/ran" ]
	nc run --json --status-fd 8 --instance "$name" --profile none --hold-fd 9 -- true 8>"$BATS_TEST_TMPDIR/status" 9<>"$BATS_TEST_TMPDIR/never" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	background=$!
	eventually grep -q sealed "$BATS_TEST_TMPDIR/status"
	nc stop "$name"
	wait "$background" || true
	jq -e '.code=="launch_stopped" and (.hint | contains("netcordon stop"))' "$BATS_TEST_TMPDIR/err"
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/status" | jq -r .hint)" = "$(jq -r .hint "$BATS_TEST_TMPDIR/err")" ]
}

@test "run: a bad name, a bad root, an evidence folder that exists: refused, nothing runs, nothing is left" {
	refused 125 instance_invalid nc run --profile none --instance 'A B' -- touch "$WORK/ran"
	refused 125 instance_invalid nc run --profile none --instance ../x -- touch "$WORK/ran"
	refused 125 cgroup_invalid nc run --profile none --root /tmp -- touch "$WORK/ran"
	mkdir "$WORK/taken"
	refused 125 evidence_unwritable nc run --profile none --evidence "$WORK/taken" -- touch "$WORK/ran"
	refused 125 process_invalid nc run --profile none --netns /does/not/exist -- touch "$WORK/ran"
	[ ! -e "$WORK/ran" ]
	[ "$(nc status --json | jq length)" -eq 0 ]
}

@test "run --status-fd and --hold-fd: sealed, then nothing until one byte, then started and exited" {
	mkfifo "$BATS_TEST_TMPDIR/hold"
	nc run --profile none --instance "$name" --status-fd 8 --hold-fd 9 -- touch /tmp/"$name" 8>"$BATS_TEST_TMPDIR/status" 9<>"$BATS_TEST_TMPDIR/hold" 3>&- &
	background=$!
	eventually grep -q sealed "$BATS_TEST_TMPDIR/status"
	sleep 0.3
	[ ! -e /tmp/"$name" ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/status")" -eq 1 ]
	printf g >"$BATS_TEST_TMPDIR/hold"
	wait "$background"
	[ -e /tmp/"$name" ]
	rm /tmp/"$name"
	[ "$(jq -r .event "$BATS_TEST_TMPDIR/status" | tr '\n' ' ')" = 'sealed started exited ' ]
}

@test "status: the instances that live, their entries, and one of them in full" {
	start_instance "$name" sleep 60
	nc status | grep "^$name  *live  *none  *yes"
	nc status --json | jq -e --arg n "$name" '.[] | select(.instance == $n) | .state == "live" and .populated and .workload.entries_present == .workload.entries_intended'
	nc status "$name" | grep -q 'generation'
	nc status "$name" --json | jq -e --arg e "$(evidence_of "$name")" '.mode == "none" and .evidence == $e and .supervisor > 0'
	kill -0 "$(nc status "$name" --json | jq .supervisor)"
	nc status "$name" | grep -qF "evidence    $(evidence_of "$name")"
	nc status "$name" | grep -q "^  supervisor  process $(nc status "$name" --json | jq .supervisor)$"
	refused 1 instance_unknown nc status no-such-instance
	says "no live instance"
	refused 125 instance_exists nc run --profile none --instance "$name" -- true
	for command in "status" "stop" "wait" "update --profile none"; do
		# shellcheck disable=SC2086 # the option is a word of its own
		refused 1 instance_unknown nc $command "${name}x"
		says "did you mean '$name'?"
		# shellcheck disable=SC2086
		refused 1 instance_unknown nc $command no-such-instance
		says "netcordon status"
		says "netcordon events"
	done
	refused 125 instance_unknown nc exec "${name}x" -- true
	says "did you mean '$name'?"
	nc stop "$name"
	refused 1 instance_unknown nc wait "$name"
	says "netcordon events"
}

@test "what was meant is said: a mistyped command, a name for a path, a number that is no process, a URL, a public key" {
	refused 2 usage nc rnu
	says "did you mean 'run'?"
	refused 2 usage "$netcordon" -v
	says "no command is given, but -v"
	refused 125 process_invalid nc run --profile none --netns blue -- true
	says "/run/netns/blue"
	refused 2 usage nc check-container 99999999
	says "there is no process 99999999"
	refused 2 usage nc check-container 1x
	says "neither a process number nor"
	refused 2 usage nc explain --profile none https://api.example.com/
	says "URL"
	refused 3 key_invalid "$netcordon" key public "$WORK/pub.pem"
	says "is a public key"
}

@test "stop and wait: end an instance, wait for its end, and say when it takes too long" {
	refused 1 instance_unknown nc stop no-such-instance
	refused 1 instance_unknown nc wait no-such-instance
	start_instance "$name" sleep 60
	refused 3 deadline nc wait "$name" --timeout 0.3
	timeout 60 "$netcordon" wait --config "$WORK/conf" "$name" 3>&- &
	waiter=$!
	eventually watches "$waiter"
	nc stop "$name"
	wait "$waiter"
	[ "$(nc status --json | jq length)" -eq 0 ]
	nc evidence verify "$(evidence_of "$name")" --public-key "$WORK/pub.pem"
}

@test "exec: only into an instance that lives; credentials only for the plane" {
	refused 125 instance_unknown nc exec no-such-instance -- true
	start_instance "$name" sleep 60
	[ "$(nc exec "$name" --authority plane -- sh -c 'echo inside; exit 0')" = inside ]
	run nc exec "$name" --authority plane -- sh -c 'exit 9'
	[ "$status" -eq 9 ]
	run bash -c "'$netcordon' exec --config '$WORK/conf' '$name' --authority workload --plane-env-fd 3 -- true 3</dev/null 2>&1"
	[ "$status" -eq 125 ]
	[[ $output == *"belongs to --authority plane"* ]]
	nc stop "$name"
}

@test "events: by the instance's name, with what was refused and why; --follow ends with the instance" {
	start_instance "$name" bash -c 'sleep 0.5; : >/dev/tcp/93.184.216.34/443; true'
	timeout 30 "$netcordon" events --config "$WORK/conf" --json --follow "$name" >"$BATS_TEST_TMPDIR/followed" 3>&- &
	follower=$!
	wait "$background"
	wait "$follower"
	jq -e -s 'any(.[]; .reason == "mode_none" and .destination == "93.184.216.34" and .port == 443)' "$BATS_TEST_TMPDIR/followed"
	nc events "$name" | grep 'tcp 93.184.216.34:443  *mode_none .*the profile allows no network'
	[ "$(nc events "$name" --json | wc -l)" -eq "$(wc -l <"$BATS_TEST_TMPDIR/followed")" ]
	[ "$(nc events "$name" --json --since 1 | wc -l)" -eq $(($(wc -l <"$BATS_TEST_TMPDIR/followed") - 1)) ]
}

@test "evidence verify: complete 0, invalid 1, open 4, incomplete 5, each said in words and as JSON" {
	answers() { # STATUS WORD ARGUMENT...
		local want=$1 word=$2 got=0
		shift 2
		nc evidence verify "$@" >"$BATS_TEST_TMPDIR/answer" || got=$?
		cat "$BATS_TEST_TMPDIR/answer"
		[ "$got" -eq "$want" ]
		[ "$(head -n 1 "$BATS_TEST_TMPDIR/answer")" = "$word" ]
		[ "$(nc evidence verify --json "$@" | jq -r .answer)" = "$word" ]
	}
	printf '{"run": "r1"}' >"$WORK/binding.json"
	start_instance "$name" sleep 60
	folder=$(evidence_of "$name")
	answers 4 open "$folder" --public-key "$WORK/pub.pem"
	nc stop "$name"
	answers 0 complete "$folder" --public-key "$WORK/pub.pem"
	nc run --profile none --instance "$name-b" --bind "$WORK/binding.json" -- true
	folder=$(evidence_of "$name-b")
	answers 0 complete "$folder" --public-key "$WORK/pub.pem" --expect "$WORK/binding.json"
	printf '{"run": "r2"}' >"$WORK/other.json"
	answers 1 invalid "$folder" --public-key "$WORK/pub.pem" --expect "$WORK/other.json"
	"$netcordon" key generate "$WORK/$name.pem"
	"$netcordon" key public "$WORK/$name.pem" >"$WORK/$name.pub"
	answers 1 invalid "$folder" --public-key "$WORK/$name.pub"
	cp -r "$folder" "$WORK/cut"
	sed -i '$d' "$WORK/cut/events.jsonl"
	answers 5 incomplete "$WORK/cut" --public-key "$WORK/pub.pem"
	rm "$WORK/cut/closing.json" "$WORK/cut/closing.json.sig"
	run nc evidence verify "$WORK/cut" --public-key "$WORK/pub.pem"
	[ "$status" -eq 4 ] || [ "$status" -eq 5 ]
}

@test "an ordinary user is told what is missing, every time" {
	# where an ordinary user can reach it, which a bats folder is not
	public=$(mktemp -d /tmp/nctest-cli.XXXXXX)
	chmod 755 "$public"
	install -m 755 "$netcordon" "$public/netcordon"
	install -m 644 "$WORK/none.json" "$public/none.json"
	unprivileged() { setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 "$public/netcordon" "$@"; }
	unprivileged key generate /tmp/"$name".pem
	for _ in 1 2; do
		refused 3 host_denied unprivileged host up --root "$ROOT"
		says root
		refused 125 host_denied unprivileged run --root "$ROOT" --key /tmp/"$name".pem --profile "$public/none.json" -- true
		says root
		refused 3 host_denied unprivileged status --root "$ROOT" || refused 3 host_down unprivileged status --root "$ROOT"
	done
	refused 125 key_invalid unprivileged run --profile "$public/none.json" -- true
	says "needs root"
	run unprivileged explain --profile "$public/none.json" 1.1.1.1:443
	[ "$status" -eq 1 ]
	[[ $output == *mode_none* ]]
	rm -rf "$public" /tmp/"$name".pem
}

@test "explain: a listed address that is the host's own is refused, as the kernel refuses it; elsewhere it is allowed" {
	echo '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "93.184.216.34", "port": 443}]}}' >"$WORK/own.json"
	asked=("$top/build/netcordon" explain --config "$WORK/conf" --profile "$WORK/own.json" 93.184.216.34:443)
	run -0 unshare -n "${asked[@]}"
	[[ $output == *literal_listed* ]]
	run -1 unshare -n sh -c 'ip addr add 93.184.216.34/32 dev lo && exec "$@"' sh "${asked[@]}"
	[[ $output == *"host_floor: "* ]]
}

@test "explain executes the edge's program as an instance does, by descriptor: what is no program of its own answers nothing" {
	mkdir "$WORK/installed"
	cp "$top/build/netcordon" "$WORK/installed/netcordon"
	cp "$top/build/netcordon-edge" "$WORK/installed/netcordon-edge"
	echo '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "api.example", "port": 443}]}}' >"$WORK/name.json"
	asked=(unshare -n "$WORK/installed/netcordon" explain --config "$WORK/conf" --profile "$WORK/name.json" api.example:443)
	run "${asked[@]}"
	[ "$status" -le 1 ]
	printf '#!/bin/sh\necho 93.184.216.34 60\n' >"$WORK/installed/netcordon-edge"
	run -3 "${asked[@]}"
	[[ $output == *"netcordon-edge"*"cannot be executed"* ]]
	rm "$WORK/installed/netcordon-edge"
	run -3 "${asked[@]}"
	[[ $output == *"netcordon-edge"* ]]
}

@test "host down: refused while an instance lives; --force ends it as stop does, its evidence closes; then nothing is left" {
	start_instance "$name" sh -c 'trap "exit 7" TERM; while :; do sleep 0.1; done'
	refused 1 host_busy nc host down
	says -- --force
	pins=$(nc host status --json | jq -r .pins)
	[ -d "$pins" ]
	run -0 nc host down --force
	[ "$output" = "down; instances stopped: 1" ]
	[ ! -e "$pins" ]
	[ -z "$(find "$ROOT" -mindepth 1 -type d)" ]
	ended=0
	wait "$background" || ended=$?
	[ "$ended" -eq 7 ]
	jq -e '.result | .cause == "stopped" and .code == 7' "$(evidence_of "$name")/closing.json"
	run nc host status
	[ "$status" -eq 1 ]
	nc host down
}
