#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# flood.bats - a million refused connects in seconds: no verdict wavers, every one is counted, what is new is told

load helpers

setup_file() {
	world_up
	profile tcp $PUB_A 443
	witness net tcp $PUB_A 443 tcp $PUB_B 1024
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
}
teardown_file() { world_down; }

# A million, of which FLOOD may take another number, at a thousand destinations.
each=$((${FLOOD:-1000000} / 4))
ports=1000

sum() { jq -s "$1" "$WORLD/evidence/events.jsonl"; }

@test "a million refused connects: all refused, exactly counted, the first of each destination told, losses signed" {
	local answer losses expected=0
	# the paths are real: without the cordon both are reached
	mark
	in_wl "$tools/attempt" tcp $PUB_B 1024
	reached $PUB_B 1024
	mark
	LIMIT=300 cordon "$tools/flood" 4 $each $PUB_B 1024 $ports $PUB_A 443 >"$WORLD/out"
	cat "$WORLD/out" >&3
	# every attempt refused and every permitted connection made, in the middle of it: the tool's own status says so, the witness too
	grep -q "^refused $((4 * each)) permitted [1-9][0-9]* other 0 " "$WORLD/out"
	reached $PUB_A 443
	nothing_reached $PUB_B 1024
	[ "$(jq -r .counters.workload.destination_not_listed "$WORLD/evidence/closing.json")" = $((4 * each)) ]
	# each destination has its event, and the repeats are counted each for itself
	[ "$(sum "[.[] | select(.kind == \"verdict\" and .reason == \"destination_not_listed\" and .destination == \"$PUB_B\") | .port] | unique | length")" = $ports ]
	[ "$(sum "[.[] | select(.kind == \"repeats\" and .reason == \"destination_not_listed\" and .destination == \"$PUB_B\") | .count | tonumber] | add")" = $((4 * each)) ]
	# what the ring could not take is said and signed
	losses=$(jq -r .losses "$WORLD/evidence/closing.json")
	[ "$losses" = 0 ] || expected=5
	answer=0
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem" || answer=$?
	[ $answer -eq $expected ]
	"$netcordon" host status --root "$ROOT" --json | jq -e '.instances.used == 0 and .entries == {policy: 0, grants: 0, seen: 0}'
}

@test "a log has a bound: what comes past it is counted, and what was said is kept" {
	local size
	echo '{"version": 1, "log_bytes": 65536}' >"$WORLD/netcordon.conf"
	# 1000 destinations of some 500 bytes each
	RUN_OPTIONS="--config $WORLD/netcordon.conf" cordon "$tools/flood" 1 1000 $PUB_B 1024 1000 $PUB_A 443
	size=$(jq -s 'map(select(.kind == "verdict") | tojson | length + 1) | add' "$WORLD/evidence/events.jsonl")
	[ "$size" -gt 64000 ] && [ "$size" -lt 67000 ]
	jq -e '.losses | tonumber > 500' "$WORLD/evidence/closing.json"
	[ "$(jq -r .counters.workload.destination_not_listed "$WORLD/evidence/closing.json")" = 1000 ]
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	[ "$status" -eq 5 ]
	# the twin: what fits is complete
	RUN_OPTIONS="--config $WORLD/netcordon.conf" cordon "$tools/flood" 1 100 $PUB_B 1024 10 $PUB_A 443
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	[ "$status" -eq 0 ]
}

@test "where the table of repeats is too small, the evidence says how much is missing from it, and still has every first decision" {
	local lost
	"$netcordon" host down --root "$ROOT" >/dev/null
	echo '{"version": 1, "pools": {"seen_entries": 1024, "instances": 2, "ring_bytes": 4194304}}' >"$WORLD/netcordon.conf"
	RUN_OPTIONS="--config $WORLD/netcordon.conf" cordon sh -c "$tools/flood 1 100 $PUB_B 1024 100 $PUB_A 443 && $tools/flood 1 4000 $PUB_B 2000 4000 $PUB_A 443"
	lost=$(jq -r '.repeats_lost' "$WORLD/evidence/closing.json")
	[ "$lost" -gt 0 ]
	[ "$(sum '[.[] | select(.kind == "repeats") | .count | tonumber] | add')" -eq \
		$(($(jq '[.counters.workload[] | tonumber] | add' "$WORLD/evidence/closing.json") - lost)) ]
	jq -e '.losses == "0"' "$WORLD/evidence/closing.json"
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	[ "$status" -eq 0 ]
	[[ $output == *"$lost repeats"* ]]
	"$netcordon" host down --root "$ROOT" >/dev/null
}
