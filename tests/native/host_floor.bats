#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154
# host_floor.bats - the host's own addresses are those of every namespace that a supervisor runs in, and all that the kernel delivers there: prefixes,
# directed broadcast, subnet anycast. The far end has the same addresses with listeners, so what is not on the floor is reached.

bats_require_minimum_version 1.5.0
load helpers
load names

NEAR=93.184.217 ALL=198.60.1 ANY6=2606:2800:220:9 NAT64=64:ff9b::c63c:14d # $ALL.77 behind the well-known prefix

setup_file() {
	names_up
	local address
	export SUP2=$SUP-2
	ip netns add "$SUP2" && ip -n "$SUP2" link set lo up
	for address in $NEAR.1 $NEAR.15 $NEAR.20 $ALL.77 192.88.1.1 $ANY6:: $ANY6::1 $NAT64; do
		ip -n "$NET" addr add "$address" dev lo
		witness net tcp "$address" 443 udp "$address" 443
	done
	in_sup sysctl -qw net.ipv6.conf.all.forwarding=1
	ip -n "$SUP" link add dummy0 type veth peer name dummy1
	ip -n "$SUP" addr add $NEAR.1/28 brd + dev dummy0 && ip -n "$SUP" addr add $ANY6::1/64 dev dummy0 nodad
	ip -n "$SUP" link set dummy0 up && ip -n "$SUP" link set dummy1 up
	eventually 100 "ip -n $SUP -6 route show table local | grep -q 'anycast $ANY6::'"
	echo '{"version":1,"network":{"mode":"unrestricted"}}' >"$WORLD/profile.json"
	cat >"$WORLD/held.py" <<-'SCRIPT'
		# held.py ADDRESS FOLDER: one connected socket; a datagram for each file "send.N" that appears, and what became of it in "sent.N"
		import errno, os, socket, sys, time
		address, folder = sys.argv[1], sys.argv[2]
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.connect((address, 443))
		for n in range(2):
		    until = time.time() + 60
		    while not os.path.exists(f"{folder}/send.{n}") and time.time() < until: time.sleep(0.02)
		    try:
		        s.send(b"datagram"); word = "sent"
		    except OSError as e: word = errno.errorcode[e.errno]
		    open(f"{folder}/sent.tmp", "w").write(word); os.rename(f"{folder}/sent.tmp", f"{folder}/sent.{n}")
	SCRIPT
	chmod 644 "$WORLD/held.py"
}

teardown() { live_end; }
teardown_file() {
	names_down
	ip netns del "$SUP2" 2>/dev/null || true
}

# from NAMESPACE COMMAND...: an instance whose supervisor runs there
from() {
	timeout -k 5 60 nsenter --net=/run/netns/"$1" "$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/another-$RANDOM$RANDOM" --key "$WORLD/key.pem" -- "${@:2}"
}

# held N: what became of the held socket's datagram of this number
held() {
	mark
	touch "$WORLD/done/send.$1"
	eventually 100 "[ -e $WORLD/done/sent.$1 ]"
	cat "$WORLD/done/sent.$1"
}

# second_begins: a supervisor in the second namespace, which alone has $NEAR.20; second_ends SIGNAL: it gets the signal, and the address stays where it is
second_begins() {
	ip -n "$SUP2" addr add $NEAR.20/32 dev lo
	from "$SUP2" sleep 60 3>&- >/dev/null 2>&1 &
	SECOND=$!
	eventually 100 "work \"'$tools/attempt' tcp $NEAR.20 443\"; [ \$status -eq 1 ]"
	floored $NEAR.20
	floored $NEAR.1
}
second_ends() {
	local timeout supervisor
	timeout=$(pgrep -x timeout -P $SECOND || echo $SECOND) # the shell that runs a function may stand between
	supervisor=$(pgrep -x netcordon -P "$timeout")
	kill -"$1" "$supervisor"
	eventually 100 "! kill -0 $supervisor 2>/dev/null"
	wait $SECOND || true
	"$netcordon" host status --root "$ROOT" >/dev/null
	eventually 100 "work \"'$tools/attempt' tcp $NEAR.20 443\"; [ \$status -eq 0 ]"
	open_to $NEAR.20
	floored $NEAR.1
	ip -n "$SUP2" addr del $NEAR.20/32 dev lo
}

# floored ADDRESS: the live instance does not get there, by TCP or UDP. open_to ADDRESS: it does.
floored() {
	local verb
	mark
	for verb in tcp udp-sendto; do
		work "'$tools/attempt' $verb $1 443"
		[ "$status" -eq 1 ] && [[ $output == *EPERM* ]] || { echo "$verb $1: $output" >&2; return 1; }
	done
	nothing_reached "$1"
}
open_to() {
	mark
	work "'$tools/attempt' tcp $1 443"
	[ "$status" -eq 0 ] || { echo "$1: $output" >&2; return 1; }
	reached "$1" 443
}

@test "a supervisor in another network namespace takes nothing off the floor, and what only it had goes with it" {
	obedient floor-"$WL"
	floored $NEAR.1
	open_to $NEAR.20
	from "$SUP2" true
	floored $NEAR.1
	second_begins
	second_ends TERM
	dismissed
	refusal host_floor
}

@test "what only a supervisor that was killed had on the floor goes with it, and nothing else does" {
	obedient floor-"$WL"
	second_begins
	second_ends KILL
	dismissed
}

@test "directed broadcast, a local prefix and subnet anycast are the host's own; they are followed, and judged packet by packet too" {
	obedient floor-"$WL"
	floored $NEAR.15
	floored $ANY6::
	floored $ANY6::1
	open_to $ALL.77
	open_to 192.88.1.1
	open_to $NAT64
	work "/usr/bin/python3 '$WORLD/held.py' $ALL.77 '$WORLD/done' >/dev/null 2>&1 &"
	[ "$(held 0)" = sent ]
	in_sup ip route add local $ALL.0/24 dev lo
	eventually 100 "work \"'$tools/attempt' tcp $ALL.77 443\"; [ \$status -eq 1 ]"
	floored $ALL.77
	floored $NAT64
	open_to 192.88.1.1
	# No address hook is asked about a socket that is connected: under a policy that was sealed since, the packet itself is judged.
	update "$WORLD/profile.json"
	[ "$(held 1)" = EPERM ]
	nothing_reached $ALL.77
	in_sup ip route del local $ALL.0/24 dev lo
	eventually 100 "work \"'$tools/attempt' tcp $ALL.77 443\"; [ \$status -eq 0 ]"
	open_to $ALL.77
	in_sup ip addr add $ALL.1/24 dev lo # makes the whole prefix local
	eventually 100 "work \"'$tools/attempt' tcp $ALL.77 443\"; [ \$status -eq 1 ]"
	floored $ALL.77
	in_sup ip addr del $ALL.1/24 dev lo
	dismissed
	refusal host_floor
}

@test "explain says what the kernel would of a prefix of the host's own, without privilege" {
	in_sup ip route add local $ALL.0/24 dev lo
	run in_sup setpriv --reuid 65534 --clear-groups "$netcordon" explain --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" $ALL.77:443
	in_sup ip route del local $ALL.0/24 dev lo
	[ "$status" -eq 1 ]
	[[ $output == *host_floor* ]]
	run in_sup setpriv --reuid 65534 --clear-groups "$netcordon" explain --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" $ALL.77:443
	[ "$status" -eq 0 ]
}

@test "SO_BROADCAST is answered with success, as clients need it, and not set: the kernel itself refuses a broadcast" {
	local ask="import socket; s = socket.socket(2, 2); s.setsockopt(1, 6, 1); print('broadcast', s.getsockopt(1, 6))"
	run in_wl /usr/bin/python3 -c "$ask"
	[ "$output" = "broadcast 1" ]
	run from "$SUP" /usr/bin/python3 -c "$ask"
	[ "$status" -eq 0 ]
	[[ $output == *"broadcast 0"* ]]
}
