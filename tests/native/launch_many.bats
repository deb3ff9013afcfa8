#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch_many.bats - many at once, many in a row: every status exact, nothing left, no attempt in any window
#
# LAUNCHES (300) in a row, PARALLEL (200) at once: LAUNCHES=10000 takes a quarter of an hour or more and is behind the variable.

load helpers

setup_file() {
	world_up
	profile tcp $PUB_A 443
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	"$netcordon" host up --root "$ROOT" >/dev/null
}
teardown_file() { world_down; }

one() { timeout 200 "$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --key "$WORLD/key.pem" "$@"; }

nothing_left() {
	local facts
	facts=$("$netcordon" host status --root "$ROOT" --json)
	jq -e '.instances.used==0 and .rings.used==0 and .entries.policy==0 and .entries.grants==0 and .entries.seen==0 and .orphans_ended==0' <<<"$facts" >/dev/null || { echo "$facts" >&2; return 1; }
	[ -z "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d)" ]
	[ -z "$(ls /run/netcordon/"$(basename "$(jq -r .pins <<<"$facts")")"/instances)" ]
	[ "$(find "$(jq -r .pins <<<"$facts")" | wc -l)" -eq "$PINS" ]
}

# How many programs, maps and links of BPF the whole machine has.
kernel_objects() { { bpftool prog show; bpftool map show; bpftool link show; } 2>/dev/null | grep -c '^[0-9]'; }

count_pins() { PINS=$(find "$("$netcordon" host status --root "$ROOT" --json | jq -r .pins)" | wc -l); }

@test "at once: each exits 7, each leaves its own complete evidence, nothing else is left" {
	local i pids=() got wrong=0
	count_pins
	mkdir "$WORLD/many"
	for i in $(seq "${PARALLEL:-200}"); do
		one --evidence "$WORLD/many/$i" -- /bin/sh -c 'exit 7' 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		got=0
		wait "$i" || got=$?
		[ $got -eq 7 ] || { wrong=$((wrong + 1)); echo "status $got" >&2; }
	done
	[ $wrong -eq 0 ]
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	for i in $(seq "${PARALLEL:-200}"); do
		"$netcordon" evidence verify "$WORLD/many/$i" --public-key "$WORLD/public.pem" | grep -qx complete
	done
	[ "$(cat "$WORLD"/many/*/launch.json | jq -r .generation | sort -u | wc -l)" -eq "${PARALLEL:-200}" ]
	rm -r "$WORLD/many"
	nothing_left
}

@test "in a row: the first instruction of each forks and dials; not one gets out, nothing is left" {
	local i got began=$SECONDS before after
	count_pins
	before=$(kernel_objects)
	mark
	attempt_user fork-tcp $PUB_B 443
	reached $PUB_B 443
	mark
	for i in $(seq "${LAUNCHES:-300}"); do
		got=0
		one --evidence "$WORLD/row" -- "$tools/attempt" fork-tcp $PUB_B 443 >/dev/null 2>&1 || got=$?
		[ $got -eq 1 ] || { echo "launch $i: status $got" >&2; return 1; }
		[ -f "$WORLD/row/closing.json" ] || { echo "launch $i left no evidence" >&2; return 1; }
		rm -r "$WORLD/row"
	done
	nothing_reached $PUB_B
	nothing_left
	# programs, maps and links of the kernel, descriptors that it gave out: others live on this machine, so a leak is what grows with the launches
	after=$(kernel_objects)
	[ $((after - before)) -lt $((${LAUNCHES:-300} / 4)) ]
	echo "# ${LAUNCHES:-300} launches in $((SECONDS - began)) s; kernel objects before $before, after $after; entries, rings, instances, cgroups, pins left: 0" >&3
}
