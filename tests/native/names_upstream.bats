#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# names_upstream.bats - another server, unbound: answers that a datagram does not hold, signed zones, long alias chains, DNS64; and NAT64 by the well-known
# prefix and by one of the network's own. Behind every embedded address stands a listener.

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	names_up
	# 93.184.216.34 is 5db8:d822, 10.20.0.5 is 0a14:0005, 169.254.169.254 is a9fe:a9fe
	local each
	for each in 64:ff9b:: 2001:67c:2960:6464::; do
		for low in 5db8:d822 a14:5 a9fe:a9fe; do
			ip -n "$NET" addr add "$each$low" dev lo
			witness net tcp "$each$low" 443
		done
	done
	echo '{"version":1,"upstreams":["127.0.0.1"],"nat64":["2001:67c:2960:6464::/96"]}' >"$WORLD/netcordon.conf"
	{
		echo '$ORIGIN zone.example.'
		echo '@ 60 IN SOA ns hostmaster 1 3600 600 86400 60'
		echo '@ 60 IN NS ns'
		echo "ns 60 IN A $PUB_C"
		echo "api 60 IN A $PUB_A"
		echo "zero 0 IN A $PUB_A"
		echo "private 60 IN A $PRIV"
		echo "meta 60 IN A $META"
		for each in $(seq 99); do echo "many 60 IN A 93.184.218.$each"; done
		echo "many 60 IN A $PUB_A"
		for each in $(seq 20); do echo "c$each 60 IN CNAME c$((each + 1))"; done
		echo "c21 60 IN A $PUB_A"
		echo 'l1 60 IN CNAME l2'
		echo 'l2 60 IN CNAME l1'
	} >"$WORLD/zone"
	(cd "$WORLD" && key=$(ldns-keygen -a ECDSAP256SHA256 zone.example) && ldns-signzone -e 20400101000000 -f zone.signed zone "$key")
	chmod 755 "$WORLD"
	chmod 644 "$WORLD/zone.signed"
}

teardown_file() { names_down; }

# unbound_serves [LINE...]: the signed zone, with these lines in its `server` part
unbound_serves() {
	names_silent
	{
		printf '%s\n' 'server:' ' interface: 127.0.0.1' ' username: ""' ' chroot: ""' ' use-syslog: no' " logfile: \"$WORLD/unbound.log\"" ' log-queries: yes' \
			" directory: \"$WORLD\"" ' pidfile: ""' ' do-daemonize: no' ' domain-insecure: "zone.example"' ' module-config: "iterator"' "$@"
		printf '%s\n' 'auth-zone:' ' name: "zone.example"' " zonefile: \"$WORLD/zone.signed\"" ' for-upstream: yes' ' for-downstream: no' \
			'remote-control:' ' control-enable: no'
	} >"$WORLD/unbound.conf"
	nsenter --net=/run/netns/"$SUP" unbound -d -c "$WORLD/unbound.conf" 3>&- >"$WORLD/unbound.out" 2>&1 &
	echo $! >"$WORLD/dns.pid"
	eventually 100 "in_sup ss -lun | grep -q 127.0.0.1:53" || { cat "$WORLD/unbound.out" "$WORLD/unbound.log" >&2; return 1; }
}

@test "a hundred addresses in a signed zone, and the twentieth alias: all granted, over TCP where a datagram is too small" {
	unbound_serves
	named many.zone.example 443 c1.zone.example 443 zero.zone.example 443
	mark
	run cordon sh -c "dig +short +time=5 +tries=1 many.zone.example | wc -l; '$tools/attempt' tcp $PUB_A 443; echo many \$?; dig +time=5 +tries=1 +ignore many.zone.example | grep flags"
	[ "$(head -n 1 <<<"$output")" -eq 100 ]
	[[ $output == *"many 0"* ]]
	[[ $output == *" tc "* ]] # by datagram it is cut, and says so
	reached $PUB_A 443
	mark
	run cordon sh -c "getent ahostsv4 c1.zone.example && '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	reached $PUB_A 443
	# a lifetime of 0 is kept long enough to connect, and a little later again
	run cordon sh -c "getent ahostsv4 zero.zone.example && '$tools/attempt' tcp $PUB_A 443 && sleep 2 && '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
}

@test "a pool of fifty addresses that is another at each question: each is granted when it is named, and what no answer named stays closed" {
	local i pool address
	named pool.example 443
	# dnsmasq gives every address of its list, with a lifetime of 0
	pool() { # pool ADDRESS: the lines of a pool with it
		echo "address=/pool.example/$1"
		for i in $(seq 49); do echo "address=/pool.example/93.184.$2.$i"; done
	}
	mapfile -t lines < <(pool $PUB_A 219)
	names_served "${lines[@]}"
	obedient pool-"$WL"
	mark
	work "getent ahostsv4 pool.example | awk '{print \$1}' | sort -u | wc -l; '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ] && [ "$(head -n 1 <<<"$output")" -eq 50 ]
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -ne 0 ]
	nothing_reached $PUB_B
	mapfile -t lines < <(pool $PUB_B 220)
	names_served "${lines[@]}"
	eventually 400 "work 'getent ahostsv4 pool.example' && [[ \$output == *$PUB_B* ]]"
	# the first pool's grants live on for their thirty seconds: a client may still be about to connect
	for address in $PUB_A $PUB_B; do
		work "'$tools/attempt' tcp $address 443"
		[ "$status" -eq 0 ]
		reached $address 443
	done
	work "'$tools/attempt' tcp $PUB_C 443"
	[ "$status" -ne 0 ]
	nothing_reached $PUB_C
	dismissed
}

@test "a loop of aliases and a name that is not there fail at once, and open nothing" {
	unbound_serves
	named l1.zone.example 443 none.zone.example 443 api.zone.example 443
	mark
	run cordon sh -c "dig +time=10 +tries=1 l1.zone.example | grep status; dig +time=10 +tries=1 none.zone.example | grep status; dig +time=10 +tries=1 api.zone.example AAAA | grep -E 'status|ANSWER:'"
	[[ $output == *SERVFAIL* && $output == *NXDOMAIN* && $output == *NOERROR*'ANSWER: 0'* ]]
	name_event upstream_failed l1.zone.example
	name_event name_without_address none.zone.example
	nothing_reached $PUB_A 443
}

@test "IPv6 only with DNS64: the public address is reached through the well-known prefix and through the network's own, the private ones are not" {
	local prefix
	for prefix in 64:ff9b:: 2001:67c:2960:6464::; do
		unbound_serves ' module-config: "dns64 iterator"' " dns64-prefix: $prefix/96"
		named api.zone.example 443 private.zone.example 443 meta.zone.example 443
		mark
		run cordon sh -c "getent ahostsv6 api.zone.example && '$tools/attempt' tcp ${prefix}5db8:d822 443"
		[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
		reached "${prefix}5db8:d822" 443
		mark
		run cordon sh -c "getent ahosts private.zone.example; getent ahosts meta.zone.example; '$tools/attempt' tcp ${prefix}a14:5 443; '$tools/attempt' tcp ${prefix}a9fe:a9fe 443"
		[ "$status" -eq 1 ]
		[[ $output != *STREAM* ]]
		name_event answer_not_public private.zone.example
		name_event answer_not_public meta.zone.example
		refusal address_not_public
		refusal host_floor
		nothing_reached "${prefix}a14:5"
		nothing_reached "${prefix}a9fe:a9fe"
	done
}

@test "rotating pools: each answer adds its grants, none takes another's away" {
	local lines=() i
	for i in $(seq 50); do lines+=("host-record=pool.example,93.184.219.$i"); done
	names_served "${lines[@]}" max-ttl=1 'host-record=pool.example,'$PUB_A
	named pool.example 443
	mark
	run cordon sh -c "for i in 1 2 3; do dig +short +time=5 +tries=1 +tcp pool.example | sort | md5sum; done | uniq | wc -l; '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	[ "$(head -n 1 <<<"$output")" -eq 1 ]
	reached $PUB_A 443
	event '.kind=="name" and .reason=="name_granted" and .addresses==51'
}
