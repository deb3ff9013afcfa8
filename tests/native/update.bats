#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# update.bats - another policy for a live instance: what both allow never notices, what the new one does not list ends at once, what is invalid changes nothing

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	cat >"$WORLD/flow.py" <<-'SCRIPT'
		# flow.py ADDRESS FILE: a connection that waits; FILE says "open", then with which errno it ended, or "told" when told to end
		import errno, os, select, socket, sys, time
		address, path = sys.argv[1], sys.argv[2]
		def say(word):
		    with open(path, "a") as file: file.write(word + "\n")
		s = socket.create_connection((address, 443), 5)
		s.setblocking(False)
		say("open")
		began = time.time()
		while time.time() < began + 40:
		    if os.path.exists(path + ".end"):
		        say("told"); break
		    try:
		        if select.select([s], [], [], 0.02)[0] and not s.recv(100):
		            say("closed"); break
		    except BlockingIOError: pass
		    except OSError as e:
		        say(errno.errorcode[e.errno]); break
	SCRIPT
	mkdir -m 777 "$WORLD/flows"
	chmod 755 "$WORLD"
	chmod 644 "$WORLD/flow.py"
}

teardown_file() { world_down; }

teardown() {
	[ ! -f "$WORLD/run.pid" ] || kill "$(cat "$WORLD/run.pid")" 2>/dev/null || true
	rm -f "$WORLD/run.pid" "$WORLD"/flows/*
}

update() { timeout 60 "$netcordon" update --root "$ROOT" up-"$WL" --profile "$1"; }

# live COMMAND...: an instance in the background, under $WORLD/profile.json
live() {
	rm -rf "$WORLD/evidence"
	timeout -k 5 90 "$netcordon" run --instance up-"$WL" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" \
		--evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- "$@" 3>&- >"$WORLD/run.out" 2>&1 &
	echo $! >"$WORLD/run.pid"
}

over() {
	local pid
	pid=$(cat "$WORLD/run.pid")
	rm "$WORLD/run.pid"
	wait "$pid" || true
}

@test "a flow that the new policy does not list ends at once with an error, one that both list never notices, and new connects follow the new one" {
	profile tcp $PUB_A 443 tcp $PUB_B 443
	cp "$WORLD/profile.json" "$WORLD/both.json"
	profile tcp $PUB_A 443
	cp "$WORLD/profile.json" "$WORLD/one.json"
	cp "$WORLD/both.json" "$WORLD/profile.json"
	live sh -c "python3 $WORLD/flow.py $PUB_A $WORLD/flows/a & python3 $WORLD/flow.py $PUB_B $WORLD/flows/b; touch $WORLD/flows/went
		for i in \$(seq 200); do [ ! -e $WORLD/flows/try ] || break; sleep 0.05; done
		'$tools/attempt' tcp $PUB_B 443; echo second \$?; '$tools/attempt' tcp $PUB_A 443; echo first \$?; wait"
	eventually 150 "grep -qs open $WORLD/flows/a && grep -qs open $WORLD/flows/b" || { cat "$WORLD/run.out"; false; }
	mark
	[ "$(update "$WORLD/one.json")" = "updated; connections ended: 1" ]
	eventually 20 "[ -e $WORLD/flows/went ]"
	grep -q ECONNABORTED "$WORLD/flows/b"
	touch "$WORLD/flows/try"
	eventually 100 "grep -q '^first' $WORLD/run.out"
	grep -q '^second 1' "$WORLD/run.out"
	grep -q '^first 0' "$WORLD/run.out"
	nothing_reached $PUB_B 443
	reached $PUB_A 443
	run cat "$WORLD/flows/a"
	[ "$output" = open ]
	touch "$WORLD/flows/a.end"
	over
	[ "$(tail -n 1 "$WORLD/flows/a")" = told ]
	event '.kind=="update" and .flows_ended==1 and .before.workload!=.now.workload and .before.profile!=.now.profile'
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/pub.pem"
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/pub.pem"
}

@test "an invalid profile, and one that is not there, leave the policy in force" {
	profile tcp $PUB_A 443
	live sh -c "touch $WORLD/flows/ready; for i in \$(seq 200); do [ ! -e $WORLD/flows/try ] || break; sleep 0.05; done
		'$tools/attempt' tcp $PUB_A 443; echo first \$?; '$tools/attempt' tcp $PUB_B 443; echo second \$?"
	eventually 150 "[ -e $WORLD/flows/ready ]"
	echo '{"version":1,"network":{"mode":"allowlist","destinations":[{"host":"93.184.216.35","port":443,"prot":"tcp"}]}}' >"$WORLD/bad.json"
	run update "$WORLD/bad.json"
	[ "$status" -ne 0 ]
	[[ $output == *profile_invalid* ]]
	[[ $output == *destinations/0* ]]
	run update "$WORLD/none.json"
	[ "$status" -ne 0 ]
	mark
	touch "$WORLD/flows/try"
	over
	grep -q '^first 0' "$WORLD/run.out"
	grep -q '^second 1' "$WORLD/run.out"
	reached $PUB_A 443
	nothing_reached $PUB_B 443
	run ! event '.kind=="update"'
	run timeout 20 "$netcordon" update --root "$ROOT" no-such-instance --profile "$WORLD/profile.json"
	[ "$status" -ne 0 ]
	[[ $output == *instance_unknown* ]]
}

@test "forty exchanges under load: a flow that every policy lists never notices, and nothing that none lists is reached" {
	local i
	profile tcp $PUB_A 443 tcp $PUB_B 443
	cp "$WORLD/profile.json" "$WORLD/both.json"
	profile tcp $PUB_A 443
	cp "$WORLD/profile.json" "$WORLD/one.json"
	live sh -c "python3 $WORLD/flow.py $PUB_A $WORLD/flows/a & while [ ! -e $WORLD/flows/a.end ]; do
		'$tools/attempt' tcp $PUB_A 443 >/dev/null 2>&1 && echo good || echo lost; '$tools/attempt' tcp $PUB_C 443 >/dev/null 2>&1 && echo leaked; done; wait"
	eventually 150 "grep -qs open $WORLD/flows/a"
	mark
	for i in $(seq 20); do
		update "$WORLD/both.json"
		update "$WORLD/one.json"
	done
	touch "$WORLD/flows/a.end"
	over
	[ "$(tail -n 1 "$WORLD/flows/a")" = told ]
	[ "$(grep -c '^good' "$WORLD/run.out")" -gt 5 ]
	run ! grep -E '^(lost|leaked)' "$WORLD/run.out"
	nothing_reached $PUB_C
	[ "$(grep -c '"kind":"update"' "$WORLD/evidence/events.jsonl")" -eq 40 ]
}
