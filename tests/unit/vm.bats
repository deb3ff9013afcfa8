#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# vm.bats - the virtual machine ring counts what really happened: tests/vm/run with a `boot` that boots nothing
#
# The stub of boot runs the job on this machine, or ends as a guest does that hangs, dies half-way or reports nothing: the kernel's name says which.

setup() {
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/tests/vm" "$tree/tests/native"
	cp "$BATS_TEST_DIRNAME"/../vm/{run,settings.bash,in-guest} "$tree/tests/vm"
	export VM_CACHE=$BATS_TEST_TMPDIR/cache
	unset KERNELS VM_RUNS VM_TESTS VM_TIMEOUT VM_GUEST_TIMEOUT
	printf '%s\n' 'plain * - native' >"$tree/tests/vm/runs.list"
	printf '%s x y -\n' one two >"$tree/tests/vm/kernels.list"
	printf '#!/bin/bash\nfor kernel in one two hang half silent; do mkdir -p "$VM_CACHE/kernels/$kernel"; echo "$kernel.0" >"$VM_CACHE/kernels/$kernel/version"; done\n' \
		>"$tree/tests/vm/fetch"
	printf '#!/bin/bash\n' >"$tree/tests/vm/objects"
	cat >"$tree/tests/vm/boot" <<-'END'
		#!/bin/bash
		while getopts a:c:t: option; do case $option in a) words=$OPTARG ;; c) console=$OPTARG ;; *) ;; esac; done
		shift $((OPTIND - 1))
		kernel=$1
		shift 2
		echo "$kernel [$words] $*" >>"$VM_CACHE/booted"
		echo "the console of $kernel" >"$console"
		case $kernel in
		hang) cat "$console" >&2; exit 125 ;;
		half) printf '1..3\nok 1 a\nok 2 b\n'; exit 0 ;;
		silent) exit 0 ;;
		*) exec "$@" ;;
		esac
	END
	chmod +x "$tree"/tests/vm/{fetch,objects,boot}
	bats_file good '@test "one" { true; }' '@test "two" { true; }'
}

bats_file() {
	local name=$1
	shift
	printf '%s\n' "$@" >"$tree/tests/native/$name.bats"
}

# ring: runs it; its status is in $status, its last line in $last
ring() {
	run "$tree/tests/vm/run"
	echo "$output"
	last=${lines[-1]}
}

says() { [[ $output == *"$1"* ]]; }

@test "what passes on every kernel passes" {
	ring
	[ "$status" -eq 0 ]
	[ "$last" = "4 passed, 0 failed" ]
	says "one.0"
	says "two.0"
}

@test "a failed test is counted and shown with what it said" {
	bats_file bad '@test "wrong" { echo because; false; }'
	ring
	[ "$status" -eq 1 ]
	[ "$last" = "4 passed, 2 failed" ]
	says "wrong"
	says "because"
}

@test "a skipped test counts as failed" {
	bats_file lazy '@test "later" { skip "not today"; }'
	KERNELS=one ring
	[ "$status" -eq 1 ]
	[ "$last" = "2 passed, 1 failed" ]
	says "not today"
}

@test "a guest that does not finish fails with its console shown" {
	KERNELS="one hang" ring
	[ "$status" -eq 1 ]
	[ "$last" = "2 passed, 1 failed" ]
	says "guest did not finish"
	says "the console of hang"
}

@test "a plan that was not kept fails, and so does a guest in which nothing ran" {
	KERNELS=half ring
	[ "$status" -eq 1 ]
	[ "$last" = "2 passed, 1 failed" ]
	KERNELS=silent ring
	[ "$status" -eq 1 ]
	[ "$last" = "0 passed, 1 failed" ]
}

@test "kernels, lines and tests are selected; a selection that leaves nothing is an error" {
	bats_file other '@test "three" { true; }'
	KERNELS=two VM_TESTS=other ring
	[ "$status" -eq 0 ]
	[ "$last" = "1 passed, 0 failed" ]
	[ "$(grep -c . "$VM_CACHE/booted")" -eq 1 ]
	KERNELS=two VM_TESTS=nowhere ring
	[ "$status" -eq 2 ]
}

@test "boot words of a line reach the guest, and a line may be for one kernel only" {
	printf '%s\n' 'locked two lockdown=confidentiality;lsm=capability,bpf native' >"$tree/tests/vm/runs.list"
	ring
	[ "$status" -eq 0 ]
	[ "$(cat "$VM_CACHE/booted")" = "two [lockdown=confidentiality lsm=capability,bpf] tests/vm/in-guest tests/native/good.bats" ]
}

@test "a line with a question mark runs when it is named, and a name selects the lines below it" {
	printf '%s\n' 'plain * - native' 'asked? one - native' 'parts.1? one n=1 native' 'parts.2? one n=2 native' >"$tree/tests/vm/runs.list"
	ring
	[ "$status" -eq 0 ]
	[ "$last" = "4 passed, 0 failed" ]
	VM_RUNS=asked ring
	[ "$last" = "2 passed, 0 failed" ]
	says "asked "
	rm "$VM_CACHE/booted"
	VM_RUNS=parts ring
	[ "$last" = "4 passed, 0 failed" ]
	[ "$(grep -c -F -e '[n=1]' -e '[n=2]' "$VM_CACHE/booted")" -eq 2 ]
	VM_RUNS=part ring
	[ "$status" -eq 2 ]
}
