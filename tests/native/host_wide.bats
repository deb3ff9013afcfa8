#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154
# host_wide.bats - what is one for the whole host stays in force for an instance that lives, whatever other launches bring with them. The NAT64 prefixes of
# the network: behind every embedded address stands a listener, and once nothing lives and `host up` took the prefix away it is reached.

bats_require_minimum_version 1.5.0
load helpers
load names

OWN=2001:67c:2960:6464:: OTHER=2001:67c:2960:6465:: LOCAL=64:ff9b:1::

setup_file() {
	names_up
	local prefix low
	for prefix in $OWN $OTHER $LOCAL; do
		for low in 5db8:d822 a14:5; do # 93.184.216.34, 10.20.0.5
			ip -n "$NET" addr add "$prefix$low" dev lo
			witness net tcp "$prefix$low" 443
		done
	done
	configured own "$OWN/96"
	configured other "$OTHER/96"
	configured local "$LOCAL/96"
	configured none
	echo '{"version":1,"network":{"mode":"unrestricted"}}' >"$WORLD/open.json"
}

teardown() { live_end; }
teardown_file() { names_down; }

# configured NAME [PREFIX...]: a configuration with these prefixes, $WORLD/NAME.conf
configured() {
	jq -n --args '{version: 1, upstreams: ["127.0.0.1"], nat64: $ARGS.positional}' "${@:2}" >"$WORLD/$1.conf"
}

# with NAME: what is launched from now on has this configuration
with() { cp "$WORLD/$1.conf" "$WORLD/netcordon.conf"; }

# another NAME COMMAND...: an instance beside the live one, with the configuration NAME and the profile in $WORLD/profile.json; its evidence is
# $WORLD/another
another() {
	rm -rf "$WORLD/another"
	timeout -k 5 60 nsenter --net=/run/netns/"$SUP" "$netcordon" run --config "$WORLD/$1.conf" --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/another" --key "$WORLD/key.pem" -- "${@:2}"
}

up() { run "$netcordon" host up --root "$ROOT" --config "$WORLD/$1.conf" --json; }
in_force() { "$netcordon" host status --root "$ROOT" --json | jq -c '.nat64 | sort'; }

# The live instance: what carries a private address is refused and reaches nobody, what carries a public one is reached.
holds() {
	mark
	work "'$tools/attempt' tcp ${OWN}a14:5 443"
	[ "$status" -eq 1 ] && [[ $output == *EPERM* ]] || { echo "$output" >&2; return 1; }
	nothing_reached "${OWN}a14:5"
	work "'$tools/attempt' tcp ${OWN}5db8:d822 443"
	[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
	reached "${OWN}5db8:d822" 443
}

@test "a launch that knows no NAT64 prefix, or another, takes none from an instance that lives; the statement tells them, and they are there at the end" {
	cp "$WORLD/open.json" "$WORLD/profile.json"
	with own
	obedient wide-"$WL"
	holds
	another none true
	holds
	another other true
	holds
	jq -e --arg own "$OWN/96" '.network.nat64 == [$own]' "$WORLD/evidence/launch.json"
	jq -e --arg own "$OWN/96" --arg other "$OTHER/96" '.network.nat64 | sort == ([$own, $other] | sort)' "$WORLD/another/launch.json"
	dismissed
	refusal address_not_public
	jq -e .policy_intact "$WORLD/evidence/closing.json"
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub"
	[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
	# the other way round: an instance that lives without it is held to a prefix that comes later, from its next connection on
	up none
	[ "$status" -eq 0 ]
	with none
	obedient late-"$WL"
	mark
	work "'$tools/attempt' tcp ${OTHER}a14:5 443"
	[ "$status" -eq 0 ]
	reached "${OTHER}a14:5" 443
	another other true
	mark
	work "'$tools/attempt' tcp ${OTHER}a14:5 443"
	[ "$status" -eq 1 ]
	nothing_reached "${OTHER}a14:5"
	dismissed
}

@test "the resolver judges by what is in force, not by its own launch's list" {
	cp "$WORLD/open.json" "$WORLD/profile.json"
	with own
	names_served "host-record=private.example,${OWN}a14:5" "host-record=public.example,${OWN}5db8:d822"
	obedient wide-"$WL"
	named private.example 443 public.example 443
	mark
	run another none sh -c "getent ahosts private.example; getent ahosts public.example; '$tools/attempt' tcp ${OWN}5db8:d822 443; '$tools/attempt' tcp ${OWN}a14:5 443"
	[ "$status" -eq 1 ]
	[[ $output != *a14:5*STREAM* ]]
	EVIDENCE=another name_event answer_not_public private.example
	EVIDENCE=another name_event name_granted public.example
	nothing_reached "${OWN}a14:5"
	reached "${OWN}5db8:d822" 443
	dismissed
	# and by one that comes while it runs
	up none
	[ "$status" -eq 0 ]
	with none
	obedient late-"$WL"
	another own true
	mark
	work "getent ahosts private.example"
	[[ $output != *a14:5* ]] || { echo "$output" >&2; return 1; }
	work "getent ahosts public.example && '$tools/attempt' tcp ${OWN}5db8:d822 443"
	[ "$status" -eq 0 ]
	reached "${OWN}5db8:d822" 443
	dismissed
}

@test "host up takes a prefix or an operator's address away only while no instance lives" {
	cp "$WORLD/open.json" "$WORLD/profile.json"
	jq --arg b "$PUB_B" '.floor = [$b]' "$WORLD/own.conf" >"$WORLD/floored.conf"
	up floored
	[ "$status" -eq 0 ]
	with floored
	obedient wide-"$WL"
	for each in none other; do
		up $each
		[ "$status" -eq 1 ]
		[[ $output == *host_busy* ]]
	done
	up own
	[ "$status" -eq 1 ]
	[[ $output == *host_busy* ]]
	up floored # takes nothing away
	[ "$status" -eq 0 ]
	another none true # nor does a launch
	holds
	mark
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 1 ]
	nothing_reached $PUB_B
	dismissed
	refusal host_floor
	up none
	[ "$status" -eq 0 ]
	[ "$(in_force)" = '[]' ]
	mark
	run another none sh -c "'$tools/attempt' tcp $PUB_B 443 && '$tools/attempt' tcp ${OWN}a14:5 443"
	[ "$status" -eq 0 ]
	reached $PUB_B 443
	reached "${OWN}a14:5" 443
}

@test "launches that bring prefixes at once bring them all; one that finds no room, or an overlap, does not start" {
	local each pids=() n
	cp "$WORLD/open.json" "$WORLD/profile.json"
	up own
	[ "$status" -eq 0 ]
	with own
	obedient wide-"$WL"
	for n in 1 2 3; do
		configured many$n "2001:67c:2960:700$n::/96"
		timeout -k 5 60 "$netcordon" run --config "$WORLD/many$n.conf" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" \
			--evidence "$WORLD/many$n" --key "$WORLD/key.pem" -- true 3>&- >/dev/null 2>&1 &
		pids+=($!)
	done
	for each in "${pids[@]}"; do wait "$each"; done
	[ "$(in_force | jq length)" -eq 4 ]
	mark
	run another other "$tools/attempt" tcp "${OTHER}5db8:d822" 443
	[ "$status" -eq 125 ]
	[[ $output == *"NAT64 prefixes are in force"* ]]
	nothing_reached "${OTHER}5db8:d822"
	configured wider 2001:67c:2960:6464::/64
	run another wider true
	[ "$status" -eq 125 ]
	[[ $output == *"shares addresses"* ]]
	holds
	dismissed
	up other # makes room
	[ "$status" -eq 0 ]
	mark
	run another other "$tools/attempt" tcp "${OTHER}5db8:d822" 443
	[ "$status" -eq 0 ]
	reached "${OTHER}5db8:d822" 443
}

@test "a literal behind the network's own prefix is judged by what it carries, as an answer for a name is" {
	profile tcp ${LOCAL}5db8:d822 443
	run another none true
	[ "$status" -eq 125 ] && [[ $output == *profile_invalid*nat64_local* ]] || { echo "$output" >&2; return 1; }
	mark
	run another local "$tools/attempt" tcp ${LOCAL}5db8:d822 443
	[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
	reached ${LOCAL}5db8:d822 443
	run "$netcordon" explain --config "$WORLD/local.conf" --profile "$WORLD/profile.json" "[${LOCAL}5db8:d822]:443"
	[ "$status" -eq 0 ] && [[ $output == *literal_listed* ]] || { echo "$output" >&2; return 1; }
	# of an address that would be public, too
	for private in ${LOCAL}a14:5 ${OWN}a14:5; do
		profile tcp $private 443
		mark
		run another "$([ $private = ${OWN}a14:5 ] && echo own || echo local)" "$tools/attempt" tcp $private 443
		[ "$status" -eq 125 ] && [[ $output == *profile_invalid*nat64_non_public* ]] || { echo "$output" >&2; return 1; }
		nothing_reached $private
	done
	up none
	[ "$status" -eq 0 ]
}
