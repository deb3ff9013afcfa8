#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch_undead.bats - a process that cannot be ended, because it waits in the kernel for a server that does not answer: every wait of ours ends all the same

load helpers

setup_file() {
	world_up
	base_profile
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	mkdir -m 777 "$WORLD/dead" "$WORLD/meet"
	chmod 755 "$WORLD"
}

teardown_file() {
	touch "$WORLD/meet/release"
	world_down
}

setup() { rm -f "$WORLD"/meet/*; }

# dead COMMAND...: beside a file system whose server is dead, in the background
dead() {
	unshare -m --propagation private python3 "$BATS_TEST_DIRNAME/dead_files.py" "$WORLD/dead" "$WORLD/meet" "$@" >"$WORLD/dead.out" 2>&1 3>&- &
	DEAD=$!
}

@test "what does not end is told in one line and in the evidence; the host goes on, and removes it when it has ended" {
	local launched=$SECONDS
	rm -rf "$WORLD/evidence"
	dead "$netcordon" run --instance undead --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- \
		/bin/sh -c 'stat "$0/x" & while [ ! -e "$1/asked" ]; do sleep 0.05; done; exit 7' "$WORLD/dead" "$WORLD/meet"
	eventually 200 "grep -q '^netcordon: ' $WORLD/dead.out" || { cat "$WORLD/dead.out" >&2; return 1; }
	[ "$(grep -c '' "$WORLD/dead.out")" = 1 ]
	grep -q 'not_drained: instance undead: .*(stat)' "$WORLD/dead.out" || { cat "$WORLD/dead.out" >&2; return 1; }
	# the command's own status stands in the evidence, which is closed and not complete
	jq -e '.result.code == 7 and (.not_drained | length) >= 1 and any(.not_drained[]; .comm == "stat")' "$WORLD/evidence/closing.json"
	"$top/tests/unit/validate_schema" "$top/docs/schema" "$WORLD/evidence"
	run -5 "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub"
	[[ $output == *"had not ended"* ]]
	# the host finds it, is not held up by it, and launches
	run -0 timeout 20 "$netcordon" host status --root "$ROOT"
	[[ $output == *"undead     1: "* ]]
	run -0 timeout 20 "$netcordon" host up --root "$ROOT" --json
	[ "$(jq .undead <<<"$output")" = 1 ]
	run "$netcordon" status --root "$ROOT"
	[[ $output == *undead*undead* ]] || { echo "$output" >&2; return 1; }
	[ "$("$netcordon" status --root "$ROOT" --json | jq -r '.[0].state')" = undead ]
	cp -r "$WORLD/evidence" "$WORLD/kept"
	run -0 cordon true
	run -1 timeout 20 "$netcordon" host down --root "$ROOT"
	[[ $output == *undead* ]]
	# its wait ends, and nothing is left
	touch "$WORLD/meet/release"
	run wait $DEAD
	eventually 100 "\"$netcordon\" host status --root $ROOT --json | jq -e '.instances.used == 0'"
	[ "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d | wc -l)" -eq 0 ]
}

@test "a file of a dead server among the descriptors holds attach up for no longer than a look takes" {
	mkdir "$ROOT/held"
	# shellcheck disable=SC2016
	dead /bin/sh -c 'echo 0 >"$0/cgroup.procs" && exec python3 -c "
import os, sys, time
os.open(sys.argv[1], os.O_PATH)
open(sys.argv[2], \"w\").close()
time.sleep(100)" "$1" "$2"' "$ROOT/held" "$WORLD/dead" "$WORLD/meet/open"
	eventually 100 "[ -e $WORLD/meet/open ]"
	rm -rf "$WORLD/held"
	timeout 60 "$netcordon" attach --cgroup "$ROOT/held" --profile "$WORLD/profile.json" --root "$ROOT" --evidence "$WORLD/held" --key "$WORLD/key.pem" \
		>"$WORLD/attach.out" 2>&1 3>&- &
	local attach=$!
	eventually 100 "[ -f $WORLD/held/launch.json.sig ]" || { cat "$WORLD/attach.out" >&2; return 1; }
	jq -e '.left_to_others[] | select(.what == "descriptors") | .state == "open"' "$WORLD/held/launch.json"
	kill $attach
	wait $attach || true
	kill -KILL $DEAD 2>/dev/null || true # where nothing was told yet, it lives
	touch "$WORLD/meet/release"
	wait $DEAD || true
	rmdir "$ROOT/held"
}
