#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# evidence.bats - what real launches leave behind: read by our verifier, by public tools and against the schemas, whole, flooded, killed and without room

load helpers
bats_require_minimum_version 1.5.0

setup_file() {
	world_up
	world_listen
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
}

setup() { base_profile; }
teardown_file() { world_down; }

# answers WORD [FOLDER]: what the verifier says, with its exit status
answers() {
	local output status=0 word folder=${2:-$WORLD/evidence} code
	case $1 in complete) code=0 ;; invalid) code=1 ;; open) code=4 ;; incomplete) code=5 ;; esac
	output=$("$netcordon" evidence verify "$folder" --public-key "$WORLD/key.pub" --json) || status=$?
	word=$(jq -r .answer <<<"$output")
	mkdir -p "$WORLD/answer"
	echo "$output" >"$WORLD/answer/evidence-verify.json"
	described "$WORLD/answer" || return 1
	[ "$word" = "$1" ] && [ "$status" -eq "$code" ] && return
	echo "not $1: $output ($status)" >&2
	return 1
}

described() { "$top/tests/unit/validate_schema" "$top/docs/schema" "${@:-$WORLD/evidence}"; }
python_says() { "$top/docs/examples/verify_evidence.py" "$WORLD/key.pub" "${1:-$WORLD/evidence}"; }
node_says() { "$top/docs/examples/verify-evidence.mjs" "$WORLD/key.pub" "${1:-$WORLD/evidence}"; }
openssl_says() { "$top/docs/examples/verify-statement.sh" "$WORLD/key.pub" "$1" "$2"; }

# launch COMMAND...: `run` in the background, without a shell or timeout around it, so that $! is the supervisor
launch() {
	rm -rf "$WORLD/evidence"
	"$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- "$@" \
		3>&- >"$WORLD/launch.out" 2>&1 &
	supervisor=$!
	eventually 150 '[ -f $WORLD/evidence/checkpoint.json ]' || { cat "$WORLD/launch.out" >&2; return 1; }
}

@test "E11: what was reached and what was refused are both there, with counts, and every tool says complete" {
	cordon python3 -c "
import socket
for address, port in (('$PUB_A', 443),) * 3 + (('$PUB_B', 443),) * 5:
    try:
        socket.create_connection((address, port), 5).close()
    except PermissionError:
        pass
for _ in range(2):
    socket.create_connection(('$PUB6_A', 443), 5).close()
"
	answers complete
	event ".kind==\"repeats\" and .destination==\"$PUB_A\" and .port==443 and .reason==\"literal_listed\" and .count==\"3\""
	event ".kind==\"repeats\" and .destination==\"$PUB6_A\" and .port==443 and .reason==\"literal_listed\" and .count==\"2\""
	event ".kind==\"repeats\" and .destination==\"$PUB_B\" and .reason==\"destination_not_listed\" and .count==\"5\""
	event ".kind==\"verdict\" and .destination==\"$PUB_B\" and .decision==\"deny\" and .comm==\"python3\""
	[ "$(jq -r .counters.workload.destination_not_listed "$WORLD/evidence/closing.json")" = 5 ]
	[ "$(jq -r .losses "$WORLD/evidence/closing.json")" = 0 ]
	described
	[ "$(python_says)" = complete ]
	[ "$(node_says "$WORLD/evidence")" = complete ]
	openssl_says netcordon.launch.v1 "$WORLD/evidence/launch.json"
	openssl_says netcordon.checkpoint.v1 "$WORLD/evidence/checkpoint.json"
	openssl_says netcordon.closing.v1 "$WORLD/evidence/closing.json"
	run ! openssl_says netcordon.closing.v1 "$WORLD/evidence/launch.json"
}

@test "refusals of sockets, binds and options are described too" {
	cordon python3 -c "
import socket
def refused(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return
    raise SystemExit(str(arguments))
s = socket.socket()
refused(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 132)
refused(s.setsockopt, socket.IPPROTO_IP, socket.IP_TTL, 1)
refused(s.bind, ('0.0.0.0', 81))
"
	answers complete
	event '.kind=="verdict" and .hook=="setsockopt" and .reason=="option_refused" and .detail==2 and (has("destination") | not)'
	event '.kind=="repeats" and .reason=="option_refused" and .detail==2 and .count=="1" and (has("destination") | not)'
	described
}

@test "E08: a task's name that holds a line feed and a record stays one text in one record" {
	cordon python3 -c "
import socket
open('/proc/self/comm', 'w').write('x\n{\"kind\":\"end')
try:
    socket.create_connection(('$PUB_B', 443), 5)
except PermissionError:
    pass
"
	answers complete
	[ "$(grep -c '"kind":"end"' "$WORLD/evidence/events.jsonl")" -eq 1 ]
	event '.kind=="verdict" and .decision=="deny" and (.comm | test("^x.*kind"))'
	[ "$(node_says)" = complete ]
	described
}

@test "E09: no argument and no environment of the workload stands in the evidence" {
	local profile
	profile=$(jq '.process.env.SECRET="ABC123-in-env"' "$WORLD/profile.json")
	echo "$profile" >"$WORLD/profile.json"
	cordon bash -c '[ "$SECRET" = ABC123-in-env ] && : --token=ABC123-in-argv'
	answers complete
	run ! grep -r ABC123 "$WORLD/evidence"
	grep -q SECRET "$WORLD/evidence/launch.json" # its name is
}

@test "the binding is carried unchanged, compared clause by clause, and another run's folder does not pass for this one" {
	echo '{"run":"run-7","nonce":"n-1","limits":{"pids":512}}' >"$WORLD/bind.json"
	RUN_OPTIONS="--bind $WORLD/bind.json" cordon true
	[ "$(jq -c .binding "$WORLD/evidence/launch.json")" = '{"limits":{"pids":512},"nonce":"n-1","run":"run-7"}' ]
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub" --expect "$WORLD/bind.json"
	echo '{"run":"run-7","nonce":"n-2"}' >"$WORLD/expect.json"
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub" --expect "$WORLD/expect.json"
	[ "$status" -eq 1 ]
	[[ $output == invalid*nonce* ]]
	described
}

@test "E14: cut at its end it is incomplete, to us and to everybody" {
	cordon true
	answers complete
	cp -r "$WORLD/evidence" "$WORLD/cut"
	sed -i '$d' "$WORLD/cut/events.jsonl"
	answers incomplete "$WORLD/cut"
	run ! python_says "$WORLD/cut"
	run ! node_says "$WORLD/cut"
	rm "$WORLD/cut/closing.json" "$WORLD/cut/closing.json.sig"
	run ! answers complete "$WORLD/cut"
	rm -r "$WORLD/cut"
}

@test "a supervisor that is killed leaves evidence that says open, with what its checkpoint vouches for" {
	launch sleep 60
	kill -9 "$supervisor"
	wait "$supervisor" || true
	answers open
	run ! python_says
	"$netcordon" host down --force --root "$ROOT" >/dev/null
	answers open
}

@test "what attach leaves is described and whole too" {
	attach_up
	attached "$tools/attempt" tcp $PUB_A 443
	attach_down
	kill "$(cat "$WORLD/resident.pid")" 2>/dev/null || true
	answers complete "$WORLD/attached"
	described "$WORLD/attached"
	[ "$(python_says "$WORLD/attached")" = complete ]
	[ "$(jq -r .provider "$WORLD/attached/launch.json")" = netcordon:attach-provider ]
}

@test "commands of exec and questions of the resolver are described too" {
	echo '{"version":1,"upstreams":["127.0.0.1"]}' >"$WORLD/netcordon.conf"
	echo "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"api.example\",\"port\":443,\"wire\":\"any\"}]}}" >"$WORLD/profile.json"
	in_net dnsmasq -k -p 53 --listen-address=127.0.0.1 --bind-interfaces --no-resolv --no-hosts --user=root --address=/api.example/$PUB_A \
		--address=/private.example/$PRIV -x "$WORLD/dnsmasq.pid" 3>&- >/dev/null 2>&1 &
	eventually 50 '[ -s $WORLD/dnsmasq.pid ]'
	rm -rf "$WORLD/evidence"
	mkfifo -m 666 "$WORLD/go"
	in_net "$netcordon" run --config "$WORLD/netcordon.conf" --instance described --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" \
		--evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- sh -c "getent hosts api.example other.example; cat $WORLD/go" 3>&- >"$WORLD/launch.out" 2>&1 &
	supervisor=$!
	eventually 150 '[ -f $WORLD/evidence/checkpoint.json ]' || { cat "$WORLD/launch.out" >&2; return 1; }
	timeout 30 "$netcordon" exec described --root "$ROOT" --authority plane -- true
	timeout 10 sh -c "echo >$WORLD/go"
	wait "$supervisor"
	kill "$(cat "$WORLD/dnsmasq.pid")"
	answers complete
	event '.kind=="name" and .reason=="name_granted" and .name=="api.example"'
	event '.kind=="name" and .reason=="name_not_listed" and .name=="other.example"'
	event '.kind=="exec" and .authority=="plane" and .command=="true"'
	described
	[ "$(python_says)" = complete ]
}

@test "E01: a flood that the ring cannot hold: verdicts unaffected, the loss counted and signed, incomplete" {
	mark
	# The reader of the ring is stopped, so that the loss is sure: without names it is the supervisor. The flood is of destinations that differ.
	launch python3 -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
deadline = time.time() + 30
import os
while not os.path.exists('$WORLD/flood') and time.time() < deadline:
    time.sleep(0.02)
refused = 0
for n in range(20000):
    try:
        s.sendto(b'x', ('$PUB_B', 1024 + n))
    except PermissionError:
        refused += 1
t = socket.socket()
t.connect(('$PUB_A', 443))
raise SystemExit(0 if refused == 20000 else 1)
"
	kill -STOP "$supervisor"
	touch "$WORLD/flood"
	eventually 300 'saw $PUB_A 443'
	kill -CONT "$supervisor"
	wait "$supervisor"
	rm "$WORLD/flood"
	answers incomplete
	[ "$(jq -r .losses "$WORLD/evidence/closing.json")" -gt 1000 ]
	[ "$(jq -r .counters.workload.destination_not_listed "$WORLD/evidence/closing.json")" = 20000 ]
	nothing_reached $PUB_B
	run ! node_says
	event ".kind==\"repeats\" and .destination==\"$PUB_A\" and .port==443"
}

@test "no room for evidence: nothing runs without a launch statement, and what loses its log is never called complete" {
	local status=0
	mkdir "$WORLD/tiny"
	mount -t tmpfs -o size=8k tmpfs "$WORLD/tiny"
	rm -f "$WORLD/ran"
	"$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/tiny/e" --key "$WORLD/key.pem" -- \
		touch "$WORLD/ran" 2>"$WORLD/stderr" || status=$?
	[ "$status" -eq 125 ]
	grep -q evidence "$WORLD/stderr"
	[ ! -e "$WORLD/ran" ]
	[ -z "$(ls -A "$WORLD/tiny")" ]
	umount "$WORLD/tiny"
	mount -t tmpfs -o size=64k tmpfs "$WORLD/tiny"
	status=0
	timeout 60 "$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/tiny/e" --key "$WORLD/key.pem" -- \
		python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(2000):
    try:
        s.sendto(b'x', ('$PUB_B', 1024 + n))
    except PermissionError:
        pass
" 2>"$WORLD/stderr" || status=$?
	[ "$status" -eq 125 ]
	grep -q 'evidence_unwritable: .*the workload was ended (nothing runs unrecorded: ' "$WORLD/stderr" || { cat "$WORLD/stderr" >&2; return 1; }
	run "$netcordon" evidence verify "$WORLD/tiny/e" --public-key "$WORLD/key.pub"
	umount "$WORLD/tiny"
	[ "$status" -eq 4 ] || [ "$status" -eq 5 ]
}

@test "events tells a person what was asked for where there is no destination" {
	# shellcheck disable=SC2016
	run cordon sh -c '"$0" bind tcp 0.0.0.0 8081; "$0" option v4 tcp 1 60 01000000; "$0" udplite '$PUB_A' 443; true' "$tools/attempt"
	[ "$(grep -c EPERM <<<"$output")" -eq 3 ]
	event '.reason=="bind_refused" and .detail==8081'
	run "$netcordon" events "$WORLD/evidence"
	grep -qE 'deny .*\(bind4 port 8081\) .*bind_refused' <<<"$output" || { echo "$output" >&2; return 1; }
	grep -qE 'deny .*\(setsockopt 1/60\) .*option_refused' <<<"$output"
	grep -qE 'deny .*\(socket 2/2/136\) .*protocol_refused' <<<"$output"
	grep -qE 'in all .*\(bind port 8081\) .*bind_refused .*1 time' <<<"$output"
}
