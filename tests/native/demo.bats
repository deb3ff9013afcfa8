#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# demo.bats - `make demo` comes out as it should, fast enough to be watched, and leaves nothing behind, also when it is interrupted

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	hierarchy=$(awk '/ - cgroup2 / {print $5; exit}' /proc/self/mountinfo)
}

# left PROCESS: what the demo with this process id left behind
left() {
	ip netns list | grep -- "-$1\$" || true
	find "$hierarchy" -maxdepth 1 -name "netcordon-demo-$1" || true
	find /tmp -maxdepth 1 -name 'netcordon-demo.*' -newer "$BATS_TEST_TMPDIR/start" || true
	pgrep -f "world.py.*netcordon-demo" || true
}

start_demo() {
	touch "$BATS_TEST_TMPDIR/start"
	tests/demo/demo build/netcordon >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null 3>&- &
	demo=$!
}

@test "the demo comes out as it should, in less than a minute, and leaves nothing" {
	local begun=$SECONDS
	start_demo
	wait "$demo" || { cat "$BATS_TEST_TMPDIR/out"; false; }
	[ $((SECONDS - begun)) -lt 60 ]
	grep -q '^All of it came out as it should.$' "$BATS_TEST_TMPDIR/out"
	[ "$(grep -c ' refused ' "$BATS_TEST_TMPDIR/out")" -eq 9 ]
	[ "$(grep -c '✗\|not as it should' "$BATS_TEST_TMPDIR/out")" -eq 0 ]
	[ -z "$(left "$demo")" ]
}

@test "interrupted at any moment, the demo leaves nothing" {
	local moment
	# when it has said so much, and has more to do
	for moment in '^A world' '^The profile' ' refused '; do
		start_demo
		for _ in {1..600}; do
			! grep -q -- "$moment" "$BATS_TEST_TMPDIR/out" || break
			sleep 0.05
		done
		# Asked more than once, as whoever is impatient does. Bash 5.2 passes over a signal now and then, with "trap: unexpected EOF while looking for
		# matching )", when it comes while a command substitution is being read.
		for _ in {1..100}; do
			kill -TERM "$demo" 2>/dev/null || break
			sleep 0.1
		done
		wait "$demo" && { cat "$BATS_TEST_TMPDIR/out"; false; }
		[ -z "$(left "$demo")" ]
	done
}

@test "the demo tells when something is not as it should be" {
	# a build whose `run` does not refuse anything: it only starts the command
	cat >"$BATS_TEST_TMPDIR/netcordon" <<-END
		#!/bin/bash
		[ "\$1" = run ] || exec "$PWD/build/netcordon" "\$@"
		while [ "\$1" != --netns ]; do shift; done
		netns=\$2
		while [ "\$1" != -- ]; do shift; done
		shift
		exec nsenter --net="\$netns" "\$@"
	END
	chmod +x "$BATS_TEST_TMPDIR/netcordon"
	touch "$BATS_TEST_TMPDIR/start"
	run timeout 120 tests/demo/demo "$BATS_TEST_TMPDIR/netcordon"
	[ "$status" -ne 0 ]
	[[ $output == *"not as it should be"* ]]
	[[ $output != *"All of it came out"* ]]
}
