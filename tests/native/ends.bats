#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# ends.bats - nothing happens after what is signed: what enters an instance that is ending, by `exec` or past it, is refused, or told in its evidence
#
# The end is held open by the workload itself: it leaves behind a connection with bytes in it whose peer reads nothing, for which the drain waits.
# Each test first shows that the same thing is let out, and told, while the instance runs.

load helpers

FIRST=20000 COUNT=60

setup_file() {
	world_up
	mkdir -m 1777 "$WORLD/open"
	chmod 755 "$WORLD"
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	# a peer that takes connections and reads nothing
	cat >"$WORLD/stalled.py" <<-'PYTHON'
		import socket
		s = socket.socket()
		s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
		s.bind(("93.184.216.34", 443))
		s.listen(64)
		kept = []
		print("ready", flush=True)
		while True:
		    kept.append(s.accept())
	PYTHON
	# waits for a word, leaves bytes on their way, and ends
	cat >"$WORLD/open/leave.py" <<-'PYTHON'
		import os, socket, sys, time
		s = socket.socket()
		s.connect(("93.184.216.34", 443))
		s.setblocking(False)
		while not os.path.exists(sys.argv[1]):
		    time.sleep(0.02)
		try:
		    while True:
		        s.send(b"x" * 65536)
		except BlockingIOError:
		    pass
	PYTHON
	# one datagram after another, each to a port of its own
	cat >"$WORLD/open/count.py" <<-'PYTHON'
		import os, socket, sys, time
		while len(sys.argv) > 3 and not os.path.exists(sys.argv[3]):
		    time.sleep(0.01)
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		for port in range(int(sys.argv[1]), int(sys.argv[2])):
		    try:
		        s.sendto(b"out", ("93.184.216.35", port))
		    except OSError:
		        pass
		    time.sleep(0.01)
	PYTHON
	nsenter --net=/run/netns/"$NET" python3 "$WORLD/stalled.py" 3>&- >"$WORLD/stalled.out" 2>&1 &
	echo $! >"$WORLD/stalled.pid"
	eventually 100 "grep -q ready $WORLD/stalled.out"
	local list="" port
	for ((port = FIRST; port < FIRST + 2 * COUNT; port++)); do list+=",{\"host\":\"$PUB_B\",\"port\":$port,\"protocol\":\"udp\"}"; done
	MEMBERS="\"plane\":{\"destinations\":[${list#,}]}" profile tcp $PUB_A 443
}
teardown_file() {
	"$netcordon" stop --root "$ROOT" ends 2>/dev/null || true
	world_down
}
teardown() {
	"$netcordon" stop --root "$ROOT" ends >/dev/null 2>&1 || true
	[ -z "${HAND-}" ] || { kill "$(cat "$WORLD/hand.pid")" 2>/dev/null || true; eventually 50 "rmdir $ROOT/hand 2>/dev/null"; } || true
}

plane_exec() { timeout 60 "$netcordon" exec --root "$ROOT" ends "$@"; }

# by_run, by_attach: a live instance called ends, whose workload ends at the word
by_run() {
	rm -f "$WORLD/open/word" "$WORLD/open"/inside*
	RUN_OPTIONS="--instance ends --status-fd 5" LIMIT=100 cordon /usr/bin/python3 "$WORLD/open/leave.py" "$WORLD/open/word" 5>"$WORLD/status" \
		>"$WORLD/launch.out" 2>&1 3>&- &
	LAUNCH=$!
	eventually 200 "grep -q started $WORLD/status" || { cat "$WORLD/launch.out" >&2; return 1; }
}
by_attach() {
	HAND=yes
	rm -rf "$WORLD/open/word" "$WORLD/open"/inside* "$WORLD/open/go" "$WORLD/evidence"
	mkdir "$ROOT/hand"
	bash -c 'echo 0 >"$0/cgroup.procs" && until [ -e "$1/go" ]; do read -t 0.05 <> <(:); done; exec nsenter --net="$2" python3 "$1/leave.py" "$1/word"' \
		"$ROOT/hand" "$WORLD/open" /run/netns/"$WL" 3>&- >"$WORLD/hand.out" 2>&1 &
	echo $! >"$WORLD/hand.pid"
	timeout 100 "$netcordon" attach --cgroup "$ROOT/hand" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --instance ends \
		--evidence "$WORLD/evidence" --key "$WORLD/key.pem" --status-fd 5 5>"$WORLD/status" >"$WORLD/launch.out" 2>&1 3>&- &
	LAUNCH=$!
	eventually 200 "grep -q sealed $WORLD/status" || { cat "$WORLD/launch.out" >&2; return 1; }
	touch "$WORLD/open/go"
}
# what the workload leaves is on its way: from now on the drain waits, for its whole time
to_end() {
	touch "$WORLD/open/word"
	eventually 200 "in_wl ss -tnH state fin-wait-1 dst $PUB_A | grep -q ."
}

# Every datagram that went out on the wire is named by a record.
all_told() {
	fence
	since net | jq -r --arg to $PUB_B 'select(.way=="in" and .dst==$to) | .dport' | sort -u >"$WORLD/wire"
	jq -r --arg to $PUB_B 'select(.authority=="plane" and .decision=="allow" and .destination==$to) | .port' "$WORLD/evidence/events.jsonl" | sort -u >"$WORLD/told"
	[ -z "$(comm -23 "$WORLD/wire" "$WORLD/told")" ] || { echo "not told: $(comm -23 "$WORLD/wire" "$WORLD/told" | tr '\n' ' ')" >&2; return 1; }
	[ "$(wc -l <"$WORLD/wire")" -ge "$1" ]
	[ "$("$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" | head -n 1)" = complete ]
	jq -e '.losses=="0" and .repeats_lost=="0" and .policy_intact' "$WORLD/evidence/closing.json" || { cat "$WORLD/evidence/closing.json" >&2; return 1; }
}

refused_while_ending() {
	mark
	plane_exec -- /usr/bin/python3 "$WORLD/open/count.py" $FIRST $((FIRST + 5))
	to_end
	run plane_exec --json -- /usr/bin/python3 "$WORLD/open/count.py" $((FIRST + COUNT)) $((FIRST + 2 * COUNT))
	[ "$status" -eq 125 ] && [[ $output == *instance_busy*"is being ended"* ]] || { echo "$output" >&2; return 1; }
	run plane_exec --json --authority workload -- /bin/true
	[ "$status" -eq 125 ] && [[ $output == *instance_busy* ]]
	wait "$LAUNCH"
	all_told 5
	jq -e -s '[.[] | select(.kind=="exec")] | length==1 and .[0].result.code==0' "$WORLD/evidence/events.jsonl"
}

# Somebody privileged puts a process of his into the plane's cgroup while the workload's last bytes are waited for, as an `exec` would that had asked
# just before. The supervisor is held in that wait until the process has sent something.
moved_while_ending() {
	local plane supervisor moved
	mark
	plane_exec -- /usr/bin/python3 "$WORLD/open/count.py" $FIRST $((FIRST + 5))
	plane=$(find "$ROOT"/netcordon-*.slice -mindepth 1 -maxdepth 1 -type d ! -path "$(jq -r 'select(.event=="sealed").cgroup' "$WORLD/status")")
	[ -d "$plane" ]
	supervisor=$(jq .supervisor.pid /run/netcordon/*/instances/ends/state.json)
	nsenter --net=/run/netns/"$WL" python3 "$WORLD/open/count.py" $((FIRST + COUNT)) $((FIRST + 2 * COUNT)) "$WORLD/open/inside" 3>&- 2>/dev/null &
	moved=$!
	touch "$WORLD/open/word"
	eventually 200 "grep -q hrtimer_nanosleep /proc/$supervisor/stack"
	kill -STOP "$supervisor"
	echo $moved >"$plane/cgroup.procs"
	touch "$WORLD/open/inside"
	eventually 100 "wire $PUB_B $((FIRST + COUNT + 2))" || { kill -CONT "$supervisor"; return 1; }
	kill -CONT "$supervisor"
	wait "$LAUNCH"
	wait $moved || true
	all_told 8
}

@test "what was executed and has ended is in the evidence while the instance lives, and only once" {
	by_run
	run -7 plane_exec -- /bin/sh -c "exit 7"
	eventually 200 "grep -q '\"kind\":\"exec\"' $WORLD/evidence/events.jsonl"
	run ! ls /run/netcordon/*/instances/ends/exec-record-*
	touch "$WORLD/open/word"
	wait "$LAUNCH"
	[ "$("$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" | head -n 1)" = complete ]
	jq -e -s '[.[] | select(.kind=="exec")] | length==1 and .[0].result.code==7' "$WORLD/evidence/events.jsonl"
}

@test "run: exec into an instance that is ending is refused, and what ran before is told" { by_run; refused_while_ending; }
@test "attach: exec into an instance that is ending is refused, and what ran before is told" { by_attach; refused_while_ending; }
@test "run: what enters past exec while the drain waits is told, and ended before the counters are read" { by_run; moved_while_ending; }
@test "attach: what enters past exec while the drain waits is told, and ended before the counters are read" { by_attach; moved_while_ending; }

@test "a socket that outlived its instance says nothing in the evidence of whoever has the slot now" {
	cat >"$WORLD/keeper.py" <<-'PYTHON'
		import array, os, socket, sys, time
		there, world, address = socket.socket(socket.AF_UNIX), sys.argv[1], sys.argv[2]
		there.settimeout(20)
		there.bind(world + "/keeper")
		os.chmod(world + "/keeper", 0o777)
		there.listen(1)
		print("listening", flush=True)
		giver, _ = there.accept()
		_, control, _, _ = giver.recvmsg(16, socket.CMSG_SPACE(4))
		kept = socket.socket(fileno=array.array("i", control[0][2])[0])
		giver.send(b"kept")
		until = time.monotonic() + 20
		while not os.path.exists(world + "/use") and time.monotonic() < until:
		    time.sleep(0.02)
		for attempt in (lambda: kept.connect((address, 443)), lambda: kept.sendto(b"x", (address, 443)),
		                lambda: kept.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)):
		    try:
		        attempt()
		        print("done", flush=True)
		    except OSError as error:
		        print(error.errno, flush=True)
		open(world + "/used", "w").close()
	PYTHON
	"$netcordon" host down --root "$ROOT" >/dev/null
	echo '{"version": 1, "pools": {"instances": 1}}' >"$WORLD/one.conf" # the next instance has the slot that the first one had
	export RUN_OPTIONS="--config $WORLD/one.conf"
	MEMBERS='"accept_gaps":["unix_sockets"]' base_profile
	in_wl timeout 60 python3 "$WORLD/keeper.py" "$WORLD" $PUB_C >"$WORLD/keeper.out" 2>&1 3>&- &
	local keeper=$! next
	eventually 30 "grep -q listening $WORLD/keeper.out"
	as user scm-send udp "$WORLD/keeper"
	through
	mark
	rm -rf "$WORLD/evidence"
	cordon sleep 30 3>&- &
	next=$!
	eventually 100 "[ -f $WORLD/evidence/launch.json.sig ] && [ -f $WORLD/evidence/checkpoint.json.sig ]"
	touch "$WORLD/use"
	eventually 50 "[ -f $WORLD/used ]"
	"$netcordon" stop --root "$ROOT" "$(jq -r .instance "$WORLD/evidence/launch.json")" >/dev/null
	wait $keeper $next || true
	[ "$(grep -cx 1 "$WORLD/keeper.out")" -eq 3 ] || { cat "$WORLD/keeper.out" >&2; return 1; }
	nothing_reached $PUB_C
	[ -f "$WORLD/evidence/closing.json" ]
	run jq -c 'select(.decision? == "deny" or .kind? == "repeats")' "$WORLD/evidence/events.jsonl"
	[ -z "$(grep -E "$PUB_C|generation_stale|option_refused" <<<"$output")" ] || { echo "$output" >&2; return 1; }
	jq -e '.counters.workload | (.generation_stale // 0 | tonumber) == 0 and (.option_refused // 0 | tonumber) == 0' "$WORLD/evidence/closing.json"
	"$netcordon" host down --root "$ROOT" >/dev/null
}
