#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# upgrade.bats - a new build beside an old one: live instances keep the programs of theirs, and what nobody uses any more is taken away

load helpers

old=$top/build/other/netcordon

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	base_profile
}
teardown_file() {
	timeout 30 "$old" host down --force --root "$ROOT" >/dev/null 2>&1 || true
	world_down
}

pins_of() { "$1" host status --root "$ROOT" --json | jq -r .pins; }

# A workload that tries both addresses for as long as it lives, and writes down what came of each.
start_old() {
	# shellcheck disable=SC2016
	netcordon=$old RUN_OPTIONS="--instance old" cordon /bin/sh -c 'while :; do
		"$0" tcp '$PUB_A' 443 >/dev/null && echo through || echo listed-failed
		"$0" tcp '$PUB_B' 443 >/dev/null && echo leaked || echo refused
	done' "$tools/attempt" 3>&- >"$WORLD/old.out" 2>"$WORLD/old.err" &
	echo $! >"$WORLD/old.pid"
	eventually 150 "[ \$(grep -c refused $WORLD/old.out) -ge 2 ]" || { cat "$WORLD/old.err" >&2; return 1; }
}

@test "an instance keeps its build's programs while another is installed, used and swept beside it; then the old one goes whole" {
	start_old
	old_pins=$(pins_of "$old")
	mark
	"$netcordon" host up --root "$ROOT" >/dev/null
	run -0 cordon "$tools/attempt" tcp $PUB_A 443
	run -1 cordon "$tools/attempt" tcp $PUB_B 443
	run -1 "$netcordon" host sweep --root "$ROOT"
	[[ $output == *"in use"* ]]
	[ -d "$old_pins" ]
	before=$(wc -l <"$WORLD/old.out")
	eventually 150 "[ \$(wc -l <$WORLD/old.out) -gt $((before + 6)) ]"
	run ! grep -E "listed-failed|leaked" "$WORLD/old.out"
	nothing_reached $PUB_B 443
	# its own program ends it; the new one could not read its records
	timeout 60 "$old" stop old --root "$ROOT"
	run -0 "$netcordon" host sweep --root "$ROOT"
	[[ $output == *removed* ]]
	[ ! -e "$old_pins" ]
	run ! ls -d "$ROOT"/netcordon-0123456789ab.slice
	run ! ls -d /run/netcordon/0123456789ab-*"${old_pins##*-}"
	# and what is in use now has not been touched
	run -1 cordon "$tools/attempt" tcp $PUB_B 443
	run -0 cordon "$tools/attempt" tcp $PUB_A 443
}

@test "a sealed cgroup of somebody else's, and an orphan that lives, are in use" {
	netcordon=$old attach_up
	pid=$(cat "$WORLD/attach.pid")
	kill -9 "$pid"
	eventually 50 "! kill -0 $pid 2>/dev/null"
	run -1 "$netcordon" host sweep --root "$ROOT"
	run -1 attached "$tools/attempt" tcp $PUB_B 443
	run -0 "$old" host down --force --root "$ROOT"
	run -0 "$netcordon" host sweep --root "$ROOT" --json
	[ "$(echo "$output" | jq length)" = 0 ]
}
