#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# check.bats - the runner of the tests counts what it should: on a small tree of its own, with tests that pass, fail, skip, die and promise too much

setup() {
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/tests/unit" "$tree/build/tests/unit" "$tree/build/debug/tests/unit"
	cp "$BATS_TEST_DIRNAME/../check" "$tree/tests/check"
	printf 'all unit-built:\n\t@true\n' >"$tree/Makefile"
}

# program NAME TAP-LINE...: a test program that prints these lines; STATUS is its exit status
program() {
	local name=$1 line
	shift
	touch "$tree/tests/unit/test_$name.c"
	{
		echo '#!/bin/sh'
		for line; do printf "echo '%s'\n" "$line"; done
		echo "exit ${STATUS-0}"
	} >"$tree/build/tests/unit/test_$name"
	chmod +x "$tree/build/tests/unit/test_$name"
	cp "$tree/build/tests/unit/test_$name" "$tree/build/debug/tests/unit/test_$name"
}

# counts STATUS PASSED FAILED
counts() {
	run "$tree/tests/check" unit
	echo "$output"
	[ "$status" -eq "$1" ]
	[ "${lines[-1]}" = "$2 passed, $3 failed" ]
}

@test "what passes is counted, in programs (twice: sanitizers) and in bats files" {
	program good '1..2' 'ok 1 - a' 'ok 2 - b'
	printf '#!/usr/bin/env bats\n@test "c" { true; }\n' >"$tree/tests/unit/c.bats"
	counts 0 5 0
}

@test "a failure is counted and named" {
	STATUS=1 program bad '1..2' 'ok 1 - a' 'not ok 2 - the one that fails'
	counts 1 2 2
	[[ $output == *"the one that fails"* ]]
}

@test "a skip counts as a failure" {
	program skips '1..2' 'ok 1 - a' 'ok 2 - b # SKIP no root'
	counts 1 2 2
	rm "$tree"/tests/unit/test_skips.c
	printf '#!/usr/bin/env bats\n@test "c" { skip "because"; }\n' >"$tree/tests/unit/c.bats"
	counts 1 0 1
}

@test "a program that dies before its plan is kept counts as a failure" {
	STATUS=139 program dies '1..3' 'ok 1 - a'
	counts 1 2 2
	STATUS=0 program dies '1..3' 'ok 1 - a'
	counts 1 2 2
	STATUS=3 program dies '1..1' 'ok 1 - a'
	counts 1 2 2
}

@test "a program that says nothing, and a tree without tests, are failures" {
	counts 1 0 0
	program silent
	counts 1 0 2
}

@test "what does not build is a failure, and shown" {
	printf 'all unit-built:\n\t@echo the compiler speaks; false\n' >"$tree/Makefile"
	program good '1..1' 'ok 1 - a'
	run "$tree/tests/check" unit
	[ "$status" -eq 1 ]
	[[ $output == *"the compiler speaks"* ]]
}

@test "an unknown ring is a usage error" {
	run "$tree/tests/check" untit
	[ "$status" -eq 2 ]
}

# whole GUESTS CHECK: .ci/run on a tree whose two targets do this
whole() {
	mkdir -p "$tree/.ci"
	cp "$BATS_TEST_DIRNAME/../../.ci/run" "$tree/.ci/run"
	printf 'check-vm:\n\t@[ "$(VM_RUNS)" = ci ]\n\t@%s\ncheck:\n\t@%s\n' "$1" "$2" >"$tree/Makefile"
	run "$tree/.ci/run"
	echo "$output"
	last=${lines[-1]}
}

@test "the whole run adds up guests and the other rings, and fails when either fails or does not come to its end" {
	whole 'echo "3 passed, 0 failed"' 'echo; echo "40 passed, 0 failed"'
	[ "$status" -eq 0 ]
	[ "$last" = "43 passed, 0 failed" ]
	whole 'echo "3 passed, 2 failed"; false' 'echo "40 passed, 0 failed"'
	[ "$status" -eq 1 ]
	[ "$last" = "43 passed, 2 failed" ]
	whole 'echo no mirror; false' 'echo "40 passed, 0 failed"'
	[ "$status" -eq 1 ]
	[ "$last" = "40 passed, 1 failed" ]
	whole 'echo "3 passed, 0 failed"; false' 'echo "40 passed, 0 failed"'
	[ "$status" -eq 1 ]
	[ "$last" = "43 passed, 1 failed" ]
	whole 'echo "3 passed, 0 failed"' 'echo "40 passed, 1 failed"; false'
	[ "$status" -eq 1 ]
	[ "$last" = "43 passed, 1 failed" ]
	whole true true
	[ "$status" -eq 1 ]
	[ "$last" = "0 passed, 2 failed" ]
}
