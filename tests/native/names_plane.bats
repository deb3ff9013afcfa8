#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# names_plane.bats - names of the plane: an authority's own resolver, names and grants, of which the other has nothing. A live listener behind every address.

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	names_up
	names_served 'address=/work.example/'$PUB_A 'address=/control.example/'$PUB_B 'address=/both.example/'$PUB_C 'address=/turned.example/'$PRIV
	witness net tcp $PUB_C 443
}

teardown_file() { names_down; }

teardown() {
	touch "$WORLD/dismissed"
	live_end
}

begin() {
	MEMBERS="\"plane\":{\"destinations\":$(destinations "$@")}${LOOPBACK:+,\"loopback\":\"own_netns\"}" named work.example 443 both.example 443
	obedient plane-"$WL"
}
plane() { timeout 30 "$netcordon" exec "$LIVE" --root "$ROOT" --authority plane -- "$@"; }

@test "each authority resolves and reaches its own names, and neither the other's, though the address holds a grant" {
	begin control.example 443 both.example 443 turned.example 443
	mark
	run plane sh -c "getent ahostsv4 control.example && '$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 0 ]
	reached $PUB_B 443
	work "getent ahostsv4 work.example && '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	reached $PUB_A 443
	mark
	work "getent ahosts control.example"
	[ "$status" -eq 2 ]
	run plane getent ahosts work.example
	[ "$status" -eq 2 ]
	# both addresses hold a live grant of the other authority
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 1 ]
	run plane "$tools/attempt" tcp $PUB_A 443
	[ "$status" -eq 1 ]
	nothing_reached $PUB_A
	nothing_reached $PUB_B
	# a name that both list is each one's own
	run plane sh -c "getent ahostsv4 both.example && '$tools/attempt' tcp $PUB_C 443"
	[ "$status" -eq 0 ]
	reached $PUB_C 443
	mark
	work "'$tools/attempt' tcp $PUB_C 443"
	[ "$status" -eq 1 ]
	nothing_reached $PUB_C
	work "getent ahostsv4 both.example && '$tools/attempt' tcp $PUB_C 443"
	[ "$status" -eq 0 ]
	run plane sh -c "getent ahostsv4 turned.example; '$tools/attempt' tcp $PRIV 443"
	[ "$status" -eq 1 ]
	nothing_reached $PRIV
	dismissed
	name_event name_granted control.example plane
	name_event name_granted work.example workload
	name_event name_not_listed control.example workload
	name_event name_not_listed work.example plane
	name_event answer_not_public turned.example plane
	event '.reason=="grant_live" and .authority=="plane" and .name_id>=2147483648'
	event '.reason=="grant_live" and .authority=="workload" and .name_id<2147483648'
	refusal destination_not_listed
}

@test "open loopback does not lead to the other authority's resolver" {
	local ports
	LOOPBACK=yes begin control.example 443
	plane getent ahostsv4 control.example
	ports=$(in_wl ss -Hlun 'src 127.0.0.1' | awk '$4 !~ /:8080$/ {sub(/.*:/, "", $4); print $4}')
	[ "$(wc -l <<<"$ports")" -ge 2 ]
	# of them exactly one answers the workload, and that knows no name of the plane
	work "for port in $(tr '\n' ' ' <<<"$ports"); do dig +short +time=2 +tries=1 -p \$port @127.0.0.1 work.example; dig +short +time=2 +tries=1 -p \$port @127.0.0.1 control.example; done"
	[ "$(grep -c "^$PUB_A\$" <<<"$output")" -eq 1 ]
	[[ $output != *$PUB_B* ]]
	dismissed
	refusal host_floor
	run ! event '.kind=="name" and .name=="work.example" and .authority=="plane"'
}

@test "an update brings the plane names, and takes them away with their grants and flows" {
	profile tcp $PUB_A 443
	obedient plane-"$WL"
	cp "$WORLD/profile.json" "$WORLD/without.json"
	MEMBERS="\"plane\":{\"destinations\":$(destinations control.example 443)}" profile tcp $PUB_A 443
	cp "$WORLD/profile.json" "$WORLD/with.json"
	mark
	run plane sh -c "getent ahostsv4 control.example"
	[ "$status" -ne 0 ]
	update "$WORLD/with.json"
	run plane sh -c "getent ahostsv4 control.example && '$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 0 ]
	reached $PUB_B 443
	update "$WORLD/without.json"
	mark
	run plane "$tools/attempt" tcp $PUB_B 443
	[ "$status" -eq 1 ]
	nothing_reached $PUB_B
	dismissed
	refusal mode_none
}
