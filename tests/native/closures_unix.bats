#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_unix.bats - unix sockets: a helper outside acts for whoever asks it, and sockets travel in both directions

load helpers

setup_file() {
	world_up
	world_listen
	# An address of its own for the last tests: connections that the helpers of others made elsewhere may still be closing.
	witness net udp $PUB_C 443
	base_profile
	attach_up
}

teardown_file() { world_down; }

# kept_from VERB ARG...: the helper outside is reached without a cordon, and not from behind it
kept_from() {
	local who
	mark
	try attempt_user "$@"
	through
	eventually 20 "since wl | grep -q -e accept -e datagram"
	for who in $(everyone unix_pathname); do
		mark
		as $who "$@"
		refused
		fence
		PLACE=wl no_arrival '.event=="accept" or .event=="datagram"'
	done
}

@test "a path, an abstract name, a datagram to a path" {
	kept_from unix-path "$WORLD/helper"
	kept_from unix-abstract "$WL"
	kept_from unix-path-dgram "$WORLD/helper-dgram"
}

# Where security hooks act they see that the peer is the workload's own. Hooks that see only the name refuse every name; the statement says which it is.
@test "B15: a listener of the workload's own on a path, as far as the mechanism can tell it from the host's" {
	local who mechanism
	for who in user root; do
		as $who unix-own "/tmp/$WL-own"
		mechanism=$(jq -r '.closures[] | select(.path=="unix_pathname") | .mechanism' "$WORLD/evidence/launch.json")
		if [ "$mechanism" = lsm_unix ]; then through; else refused; fi
	done
}

@test "the refusal is in the evidence, or the filter made it and no program was asked" {
	local who
	for who in $(everyone unix_pathname); do
		as $who unix-path "$WORLD/helper"
		refused
		[[ $line == *'"call":"socket"'* ]] || refusal unix_peer
	done
}

@test "a socket pair of one's own works, with a file attached" {
	local who
	for who in user root attached; do
		as $who unix-pair
		through
	done
}

@test "a profile that accepts the gap reaches the helper, and the evidence says so" {
	MEMBERS='"accept_gaps":["unix_sockets"]' base_profile
	mark
	as user unix-path "$WORLD/helper"
	through
	eventually 20 "since wl | grep -q accept"
	jq -e '[.. | strings] | any(test("unix"))' "$WORLD/evidence/launch.json" >/dev/null
	base_profile
}

# a helper outside that would hand in, or take, one socket; it gives up after 3 s
helper() {
	attempt -t 3000 "$@" >"$WORLD/helper.out" 2>"$WORLD/helper.err" 3>&- &
	HELPER=$!
	eventually 30 "grep -q listening $WORLD/helper.err"
}

@test "a connected socket, and an unconnected one, offered by a helper are not to be had" {
	local kind who
	for kind in tcp udp; do
		helper scm-giver $kind "$WORLD/giver" $PUB_B 443
		mark
		try attempt_user scm-receive "$WORLD/giver" $PUB_B 443
		through
		wait $HELPER
		for who in $(everyone unix_pathname); do
			helper scm-giver $kind "$WORLD/giver" $PUB_B 443
			mark
			as $who scm-receive "$WORLD/giver" $PUB_B 443
			refused
			fence
			no_arrival '(.event=="data" or .event=="datagram") and (.local|contains($a))' $PUB_B
			kill $HELPER 2>/dev/null || true
			wait $HELPER || true
		done
	done
}

@test "a socket of the workload's own that a helper outside uses leads nowhere" {
	local who
	helper scm-taker "$WORLD/taker" $PUB_C 443
	try attempt_user scm-send udp "$WORLD/taker"
	through
	wait $HELPER
	for who in $(everyone unix_pathname); do
		helper scm-taker "$WORLD/taker" $PUB_C 443
		mark
		as $who scm-send udp "$WORLD/taker"
		refused
		nothing_reached $PUB_C
		kill $HELPER 2>/dev/null || true
		wait $HELPER || true
	done
}

@test "with the gap accepted a passed socket still serves nobody: neither side's cordon lets it" {
	local who
	MEMBERS='"accept_gaps":["unix_sockets"]' base_profile
	# out: our socket, used by a task that stands in no cordon
	helper scm-taker "$WORLD/taker" $PUB_C 443
	mark
	as user scm-send udp "$WORLD/taker"
	nothing_reached $PUB_C
	kill $HELPER 2>/dev/null || true
	wait $HELPER || true
	base_profile
}
