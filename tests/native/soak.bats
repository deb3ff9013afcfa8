#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# soak.bats - a quarter of a minute of `make soak`, and that it notices what it is there for
#
# SOAK_MINUTES makes it longer. The second test runs the same with a program whose check of the destination is switched off.

load helpers

teardown() { rm -rf "$BATS_TEST_TMPDIR/build"; }

@test "everything at once: what must be zero is zero" {
	run timeout 900 "$top/tests/soak/soak" "$top/build" "${SOAK_MINUTES:-0.25}"
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q '^packets that should not have passed: 0$' <<<"$output"
}

@test "with a check switched off it says what passed" {
	mkdir "$BATS_TEST_TMPDIR/build"
	ln -s "$top/build/tests" "$BATS_TEST_TMPDIR/build/tests"
	ln -s "$top/build/mutant/netcordon" "$BATS_TEST_TMPDIR/build/netcordon"
	run -1 timeout 900 env NETCORDON_MUTANT_OBJECT="$top/build/mutant/netcordon.bpf.o" NETCORDON_CHECKS_OFF=listed "$top/tests/soak/soak" "$BATS_TEST_TMPDIR/build" 0.1
	echo "$output"
	grep -q '^packets that should not have passed: [1-9]' <<<"$output"
	grep -q '^attempts that were not refused: [1-9]' <<<"$output"
}
