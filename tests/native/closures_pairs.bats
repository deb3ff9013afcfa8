#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_pairs.bats - pairs of unix sockets, which need no socket(AF_UNIX): a helper outside that is bound to a name must not be reached from one

load helpers

setup_file() {
	world_up
	witness wl unix-dgram "$WORLD/helper-dgram"
	base_profile
}

teardown_file() { world_down; }

# The helper takes datagrams in their order: when it has one that is sent last, from outside, it has heard whatever came before.
unheard() {
	attempt_user -p last unix-path-dgram "$WORLD/helper-dgram"
	eventually 20 "since wl | grep -q '\"text\":\"last'"
	PLACE=wl no_arrival '.event=="datagram" and (.text|startswith("of a pair"))'
}

@test "an end of a pair, which needs no socket(AF_UNIX), reaches no path either, whatever the kind that was asked for" {
	local who
	mark
	try attempt_user unix-pairs "$WORLD/helper-dgram"
	through
	eventually 20 "since wl | grep -q 'of a pair of kind 2' && since wl | grep -q 'of a pair of kind 3'"
	for who in user root; do
		mark
		as $who unix-pairs "$WORLD/helper-dgram"
		refused
		unheard
	done
}

# Where hooks judge unix sockets the launch's own filter leaves pairs to them. So the filter is also tried alone, on every kernel.
@test "the filter alone: of sixteen kinds of pairs it leaves streams and sequenced packets, and those lead nowhere" {
	local kind
	mark
	try attempt_user unix-pairs "$WORLD/helper-dgram"
	through
	[[ $line == *'"sent":8,"received":"1*4 2*4 3*4 5*4 "'* ]]
	eventually 20 "since wl | grep -q 'of a pair of kind 3'"
	mark
	try in_wl setpriv --reuid 65534 --regid 65534 --clear-groups "$tools/filtered" "$tools/attempt" unix-pairs "$WORLD/helper-dgram"
	refused
	[[ $line == *'"sent":0,"received":"1*4 5*4 "'* ]]
	unheard
	# what fills the upper half of the register makes no other kind of it
	for kind in 2 3; do
		try attempt pair 0x10000000$kind
		through
		try in_wl "$tools/filtered" "$tools/attempt" pair 0x10000000$kind
		refused EAFNOSUPPORT socketpair
	done
	try in_wl "$tools/filtered" "$tools/attempt" pair 0x100000001
	through
}
