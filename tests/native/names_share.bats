#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# names_share.bats - the map of grants is one for the host: a name whose answers would fill it costs its own instance something, and nobody else

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	local i many=()
	names_up
	for i in $(seq 231); do many+=("host-record=many.example,203.0.114.$i"); done
	for i in $(seq 60); do many+=("host-record=more.example,203.0.115.$i"); done
	names_served "${many[@]}" "address=/small.example/$PUB_A" "address=/neighbour.example/$PUB_B"
}

teardown_file() { names_down; }

teardown() {
	touch "$WORLD/dismissed"
	live_end
}

# ports HOST COUNT: as many destinations of one name
ports() { seq -f "$1 %.0f" 10000 $((9999 + $2)); }

@test "what one instance's names would fill is refused to it alone, with the reason, and its other names are served" {
	# shellcheck disable=SC2046
	named $(ports many.example 141) $(ports more.example 100) small.example 443
	obedient share-"$WL"
	# by TCP: so many addresses fit into no datagram
	work "dig +tcp +time=5 +tries=1 many.example; dig +tcp +time=5 +tries=1 more.example"
	[ "$(grep -c 'status: SERVFAIL' <<<"$output")" -eq 2 ]
	run "$netcordon" host status --root "$ROOT" --json
	[ "$(jq .entries.grants <<<"$output")" -eq 0 ]
	# the neighbour resolves and reaches its own name while the first instance lives
	echo "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":$(destinations neighbour.example 443)}}" >"$WORLD/beside.json"
	mark
	run beside sh -c "getent ahostsv4 neighbour.example && '$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 0 ]
	reached $PUB_B 443
	mark
	work "getent ahostsv4 small.example && '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	reached $PUB_A 443
	dismissed
	event '.kind=="name" and .reason=="grant_refused" and .name=="many.example" and (.detail|test("share")) and (.hint|test("pools.grant_share"))'
	name_event name_granted small.example
	EVIDENCE=beside name_event name_granted neighbour.example
}

@test "the operator's configuration says how large the share is" {
	named small.example 443
	echo '{"version":1,"upstreams":["127.0.0.1"],"pools":{"grant_share":4}}' >"$WORLD/netcordon.conf"
	# one address at one port without a name on the wire is three entries; a name may have half of the share
	run cordon getent ahostsv4 small.example
	[ "$status" -eq 2 ]
	name_event grant_refused small.example
	echo '{"version":1,"upstreams":["127.0.0.1"],"pools":{"grant_share":6}}' >"$WORLD/netcordon.conf"
	run cordon getent ahostsv4 small.example
	[ "$status" -eq 0 ]
	[[ $output == *$PUB_A* ]]
	echo '{"version":1,"upstreams":["127.0.0.1"]}' >"$WORLD/netcordon.conf"
}
