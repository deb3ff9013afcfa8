#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# names.bats - destinations by name: dnsmasq answers in a namespace of its own, where the supervisor runs too. Behind every address stands a listener.

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	names_up
	witness net tcp $PUB_B 853 udp $PUB_B 853 tcp $PUB_B 53 udp $PUB_B 53
	names_served 'address=/api.example/'$PUB_A 'address=/api.example/'$PUB6_A
}

teardown_file() { names_down; }

@test "a listed name is resolved and reached, over IPv4 and IPv6; its address at another port is not" {
	named api.example 443
	mark
	run cordon sh -c "getent ahostsv4 API.Example && '$tools/attempt' tcp $PUB_A 443 && '$tools/attempt' tcp $PUB_A 444"
	[[ $output == *"$PUB_A"* ]]
	reached $PUB_A 443
	nothing_reached $PUB_A 444
	name_event name_granted api.example
	# the number in the connection's event is the name's in this record
	jq -e -s '[.[] | select(.reason=="name_granted") | .name_id] as $ids | [.[] | select(.kind=="verdict" and .decision=="allow" and .name_id)]
		| length > 0 and all(.name_id as $id | $ids | index($id))' "$WORLD/evidence/events.jsonl"
	refusal destination_not_listed
	run cordon sh -c "getent ahostsv6 api.example && '$tools/attempt' tcp $PUB6_A 443"
	[ "$status" -eq 0 ]
	reached $PUB6_A 443
}

@test "before its name was asked for, and for UDP, the address is refused" {
	named api.example 443
	mark
	run cordon "$tools/attempt" tcp $PUB_A 443
	[ "$status" -eq 1 ]
	run cordon sh -c "getent ahosts api.example; '$tools/attempt' udp-sendto $PUB_A 443"
	[ "$status" -eq 1 ]
	nothing_reached $PUB_A 443
}

@test "a name that is not listed is answered at once, and no query leaves" {
	named api.example 443
	: >"$WORLD/dns.log"
	for name in notapi.example api.example.evil.test x.api.example example secret-data.evil.test; do
		run cordon getent ahosts $name
		[ "$status" -ne 0 ]
		name_event name_not_listed $name
	done
	run ! grep -E 'notapi|evil|x.api|secret' "$WORLD/dns.log"
	run cordon getent ahosts api.example
	[ "$status" -eq 0 ]
	grep -q 'query.*api.example' "$WORLD/dns.log"
}

@test "an address that is not public is left out of the answer, and named in the evidence" {
	names_served 'host-record=mixed.example,'$PUB_A 'host-record=mixed.example,'$PRIV 'address=/priv.example/'$PRIV 'address=/meta.example/'$META \
		'address=/six.example/::ffff:10.20.0.5' 'address=/nat.example/64:ff9b::a14:5'
	named mixed.example 443 priv.example 443 meta.example 80 six.example 443 nat.example 443
	mark
	run cordon getent ahostsv4 mixed.example
	[[ $output == *$PUB_A* && $output != *$PRIV* ]]
	name_event answer_not_public mixed.example
	for name in priv.example meta.example six.example nat.example; do
		run cordon sh -c "getent ahosts $name; '$tools/attempt' tcp $PRIV 443; '$tools/attempt' tcp $META 80"
		[[ $output != *STREAM* ]]
		name_event answer_not_public $name
	done
	nothing_reached $PRIV
	nothing_reached $META
}

@test "rebinding: the second answer is private, and nothing of it is reached" {
	names_served 'address=/turn.example/'$PUB_A
	named turn.example 443
	cat >"$WORLD/turn" <<-SCRIPT
		getent ahostsv4 turn.example && '$tools/attempt' tcp $PUB_A 443
		touch $WORLD/first; for i in \$(seq 100); do [ ! -e $WORLD/second ] || break; sleep 0.1; done
		getent ahostsv4 turn.example; '$tools/attempt' tcp $PRIV 443; '$tools/attempt' tcp 127.0.0.1 8080; '$tools/attempt' mapped-tcp $PRIV 443
	SCRIPT
	chmod 777 "$WORLD"
	mark
	cordon sh "$WORLD/turn" >"$WORLD/turn.out" 2>&1 3>&- &
	local run_pid=$!
	eventually 100 "[ -e $WORLD/first ]"
	names_served 'address=/turn.example/'$PRIV
	touch "$WORLD/second"
	wait $run_pid || true
	reached $PUB_A 443
	nothing_reached $PRIV
	PLACE=wl
	since | { ! grep -q '127.0.0.1 8080'; }
	refusal address_not_public
}

@test "port 53 leads to the resolver whatever server is asked, and the redirect does not show" {
	names_served 'address=/api.example/'$PUB_A
	named api.example 443
	mark
	run cordon sh -c "dig +short +time=3 +tries=1 @$PUB_B api.example && dig +tcp +short +time=3 +tries=1 @$PUB_B api.example && dig +time=3 +tries=1 @$PUB_B api.example"
	[ "$status" -eq 0 ]
	[[ $output == *"SERVER: $PUB_B#53"* ]]
	[ "$(grep -c "^$PUB_A\$" <<<"$output")" -eq 2 ]
	nothing_reached $PUB_B 53
}

@test "without names in the policy port 53 leads nowhere" {
	profile tcp $PUB_A 443
	mark
	run cordon "$tools/attempt" udp-sendto $PUB_B 53
	[ "$status" -eq 1 ]
	refusal resolver_absent
	nothing_reached $PUB_B 53
}

@test "a server that is silent gives SERVFAIL in bounded time, and nothing opens" {
	names_silent
	named api.example 443
	mark
	run cordon sh -c "dig +time=15 +tries=1 api.example; '$tools/attempt' tcp $PUB_A 443"
	[[ $output == *SERVFAIL* ]]
	name_event upstream_failed api.example
	nothing_reached $PUB_A 443
}

@test "a large answer comes over TCP, alias chains are followed" {
	local lines=() i
	for i in $(seq 60); do lines+=("host-record=many.example,93.184.217.$i"); done
	names_served "${lines[@]}" 'cname=one.example,two.example' 'cname=two.example,three.example' 'host-record=three.example,'$PUB_A
	named many.example 443 one.example 443
	mark
	run cordon sh -c "dig +short +time=3 many.example | wc -l; dig +tcp +short +time=3 many.example | wc -l; getent ahostsv4 one.example; '$tools/attempt' tcp $PUB_A 443"
	[ "${lines[0]:+${output%%$'\n'*}}" = 60 ]
	reached $PUB_A 443
}

@test "DNS over TLS and QUIC, and whatever else has a port of its own, needs to be listed like everything" {
	named api.example 443
	WHO=user closed destination_not_listed EPERM "$PUB_B 853" tcp $PUB_B 853
	WHO=user closed destination_not_listed EPERM "$PUB_B 853" udp-sendto $PUB_B 853
}

@test "an update: a name that leaves is refused at once and its grants with it, one that stays keeps its own, a new one is answered" {
	names_served 'address=/stay.example/'$PUB_A 'address=/leave.example/'$PUB_B 'address=/come.example/'$PUB_C
	named stay.example 443 leave.example 443
	cp "$WORLD/profile.json" "$WORLD/before.json"
	named aaa.example 443 come.example 443 stay.example 443
	cp "$WORLD/profile.json" "$WORLD/after.json"
	cp "$WORLD/before.json" "$WORLD/profile.json"
	cat >"$WORLD/steps" <<-SCRIPT
		getent ahostsv4 stay.example; getent ahostsv4 leave.example; '$tools/attempt' tcp $PUB_A 443; '$tools/attempt' tcp $PUB_B 443
		touch $WORLD/first; for i in \$(seq 200); do [ ! -e $WORLD/second ] || break; sleep 0.05; done; echo after
		'$tools/attempt' tcp $PUB_A 443; echo stay \$?; '$tools/attempt' tcp $PUB_B 443; echo leave \$?
		getent ahostsv4 leave.example; echo asked \$?; getent ahostsv4 come.example; getent ahostsv4 stay.example
	SCRIPT
	rm -f "$WORLD/first" "$WORLD/second"
	chmod 777 "$WORLD"
	RUN_NAME=up-$WL
	rm -rf "$WORLD/evidence"
	timeout -k 5 60 nsenter --net=/run/netns/"$SUP" "$netcordon" run --instance "$RUN_NAME" --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" \
		--root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- sh "$WORLD/steps" 3>&- >"$WORLD/steps.out" 2>&1 &
	local run_pid=$!
	mark
	eventually 100 "[ -e $WORLD/first ]"
	reached $PUB_A 443
	reached $PUB_B 443
	mark
	timeout 30 "$netcordon" update --root "$ROOT" "$RUN_NAME" --profile "$WORLD/after.json"
	touch "$WORLD/second"
	wait $run_pid || true
	grep -q '^stay 0' "$WORLD/steps.out"
	grep -q '^leave 1' "$WORLD/steps.out"
	grep -q '^asked 2' "$WORLD/steps.out"
	sed '1,/^after/d' "$WORLD/steps.out" | grep -q "^$PUB_C"
	reached $PUB_A 443
	nothing_reached $PUB_B 443
	name_event name_not_listed leave.example
	event '.kind=="update"'
}

@test "explain shows a name, its addresses, the grants and the verdict, and asks for nothing that is not listed" {
	names_served 'host-record=mixed.example,'$PUB_A 'host-record=mixed.example,'$PRIV 'address=/meta.example/'$META 'address=/other.example/'$PUB_B \
		'local=/gone.example/' 'txt-record=bare.example,no address'
	named mixed.example 443 meta.example 80 gone.example 443 bare.example 443
	: >"$WORLD/dns.log"
	explain() { in_sup "$netcordon" explain --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" "$@"; }
	run explain mixed.example:443
	[ "$status" -eq 0 ]
	[[ $output == *"allow: workload to mixed.example port 443 tcp"* ]]
	[[ $output == *"$PUB_A: allow, grant_live; the grant lives 30 s"* ]]
	[[ $output == *"$PRIV: deny, address_not_public; no grant"* ]]
	run -0 explain MIXED.Example.:443 # the same name
	[[ $output == *"$PUB_A: allow, grant_live; the grant lives 30 s"* ]]
	run explain meta.example:80
	[ "$status" -eq 1 ]
	[[ $output == *"reason   host_floor"* ]]
	for name in gone bare; do # a name that does not exist, and one that has no address
		run -1 explain $name.example:443
		[[ $output == *"deny: workload to $name.example port 443 tcp"*"reason   name_without_address: "* && $output != *grant* ]]
		run -1 explain --json $name.example:443
		jq -e '.decision == "deny" and .reason == "name_without_address" and .addresses == []' <<<"$output"
	done
	run explain other.example:443
	[ "$status" -eq 1 ]
	run ! grep -q 'query.*other' "$WORLD/dns.log"
	explain --json mixed.example:443 | jq -e --arg a $PUB_A --arg p $PRIV '.decision=="allow" and ([.addresses[] | select(.decision=="allow") | .address] == [$a]) and ([.addresses[] | select(.decision=="deny") | .address] == [$p])'
	names_silent
	run explain mixed.example:443
	[ "$status" -eq 0 ]
	[[ $output == *"unknown: no name server answered"* ]]
}
