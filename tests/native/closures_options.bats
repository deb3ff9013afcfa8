#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_options.bats - socket options and control messages that send packets elsewhere than the address says, and the options that clients need

load helpers

# Listed too, and nobody's but a neighbour's who claims it: on a second link, to which no route leads.
BESIDE=93.184.216.77 BESIDE6=2606:2800:220:1::77

# A namespace "beside", at the other end of wl1. What its witness hears stands where the internet's does.
beside_up() {
	export AWAY=$NET-beside
	ip netns add "$AWAY"
	ip -n "$WL" link add wl1 type veth peer name away0 netns "$AWAY"
	ip -n "$WL" addr add 100.64.8.2/24 dev wl1
	ip -n "$WL" addr add fd78::2/64 dev wl1 nodad
	local address
	for address in $BESIDE/32 100.64.8.1/24; do ip -n "$AWAY" addr add $address dev away0; done
	for address in $BESIDE6/128 fd78::1/64; do ip -n "$AWAY" addr add $address dev away0 nodad; done
	ip -n "$WL" link set wl1 up && ip -n "$AWAY" link set lo up && ip -n "$AWAY" link set away0 up
	ip -n "$WL" -6 route add $BESIDE6 dev wl1 metric 2000 # IPv6 wants a route for a device; a blackhole stands before it
	ip -n "$WL" -6 route add blackhole $BESIDE6 metric 1000
	NET=$AWAY witness net tcp $BESIDE 443 udp $BESIDE 443 tcp $BESIDE6 443 udp $BESIDE6 443
}

setup_file() {
	world_up
	world_listen
	beside_up
	profile tcp $PUB_A 443 udp $PUB_A 443 tcp $PUB6_A 443 udp $PUB6_A 443 tcp $BESIDE 443 udp $BESIDE 443 tcp $BESIDE6 443 udp $BESIDE6 443
	attach_up
}

teardown_file() {
	world_down
	ip netns del "$AWAY"
}

@test "IPv6 routing headers: the listed address does not carry a packet to another" {
	ONE_WAY=1 closed option_refused EPERM $PUB6_B routing-header $PUB6_B $PUB6_A 443
	ONE_WAY=1 closed option_refused EPERM $PUB6_B routing-header-late $PUB6_B $PUB6_A 443
}

@test "IPv4 source routes, by option and by control message" {
	export CONTROL=attempt ONE_WAY=1
	closed option_refused EPERM $PUB_B ip-options $PUB_B $PUB_A 443
	WHO="user root" closed - EPERM $PUB_B ip-options-cmsg $PUB_B $PUB_A 443 # no capability in this namespace
	WHO=attached closed packet_malformed EPERM $PUB_B ip-options-cmsg $PUB_B $PUB_A 443
}

@test "multicast joins: no report with a chosen group on the wire" {
	local who reports='.event=="packet" and .way=="in" and (.protocol==2 or .dst=="ff02::16")'
	mark
	try attempt_user mcast-join 239.1.2.3
	through
	fence
	arrived "$reports"
	# The control's socket is gone and says so: each report is repeated once, within a second (RFC 3376 8.1 and 8.11, RFC 3810 9.11).
	sleep 2.5
	for who in user root attached; do
		mark
		as $who mcast-join 239.1.2.3
		refused EPERM setsockopt
		as $who mcast-join ff05::1:3
		refused EPERM setsockopt
		fence
		no_arrival "$reports"
	done
	refusal option_refused
}

@test "a device of one's choice, a TTL, are refused" {
	local who
	for who in user root attached; do
		as $who bindtodevice wl0 $PUB_A 443
		refused EPERM setsockopt
		as $who ttl $PUB_A 443
		refused EPERM setsockopt
		as $who ttl $PUB6_A 443
		refused EPERM setsockopt
	done
	refusal option_refused
}

@test "a device of one's choice by an address of one link: a neighbour there that claims a listed address is not dialled" {
	local protocol
	for protocol in tcp udp; do
		closed bind_refused EPERM "$BESIDE 443" bind-device $protocol fe80::dead wl1 ::ffff:$BESIDE 443
		closed bind_refused EPERM "$BESIDE6 443" bind-device $protocol fe80::dead wl1 $BESIDE6 443
		opened "$PUB6_A 443" bind-device $protocol :: wl1 $PUB6_A 443
	done
}

@test "a device of one's choice by control data: likewise" {
	local to
	for to in $BESIDE $BESIDE6; do closed option_refused EPERM "$to 443" udp-device wl1 $to 443; done
	closed option_refused EPERM "$BESIDE 443" udp-device wl1 ::ffff:$BESIDE 443
	for to in $PUB_A $PUB6_A; do opened "$to 443" udp-device none $to 443; done
}

@test "a mark by control data, which a rule of the host sends another way" {
	local to
	in_wl ip rule add fwmark 7 lookup 107 && in_wl ip route add $BESIDE dev wl1 table 107
	in_wl ip -6 rule add fwmark 7 lookup 107 && in_wl ip -6 route add $BESIDE6 dev wl1 table 107
	for to in $BESIDE $BESIDE6; do
		CONTROL=attempt WHO=attached closed option_refused EPERM "$to 443" udp-mark 7 $to 443
		# of a user the kernel itself wants the capability
		CONTROL=attempt WHO="user root" closed - EPERM "$to 443" udp-mark 7 $to 443
	done
	for to in $PUB_A $PUB6_A; do WHO=attached opened "$to 443" udp-mark 0 $to 443; done
}

@test "options that could move packets or reopen a path: refused at every level" {
	local row
	# SO_DONTROUTE, SO_BINDTODEVICE, SO_MARK, SO_ZEROCOPY, SO_TXTIME, SO_BINDTOIFINDEX; IP_TTL, IP_HDRINCL, IP_OPTIONS, IP_FREEBIND, IP_TRANSPARENT,
	# IP_UNICAST_IF, IP_ADD_MEMBERSHIP, IP_MULTICAST_IF; IPV6_UNICAST_HOPS, IPV6_ADD_MEMBERSHIP, IPV6_HDRINCL, IPV6_HOPOPTS, IPV6_RTHDR,
	# IPV6_DSTOPTS, IPV6_FLOWLABEL_MGR, IPV6_UNICAST_IF; TCP_REPAIR, TCP_MD5SIG, TCP_FASTOPEN, TCP_ULP; UDP_ENCAP
	for row in "v4 tcp 1 5" "v4 tcp 1 25" "v4 tcp 1 36" "v4 tcp 1 60" "v4 udp 1 61" "v4 tcp 1 62" "v4 udp 0 2" "v4 udp 0 3" "v4 udp 0 4" "v4 udp 0 15" \
		"v4 udp 0 19" "v4 udp 0 50" "v4 udp 0 35" "v4 udp 0 32" "v6 udp 41 16" "v6 udp 41 20" "v6 udp 41 36" "v6 udp 41 54" "v6 udp 41 57" "v6 udp 41 59" \
		"v6 udp 41 32" "v6 udp 41 76" "v4 tcp 6 19" "v4 tcp 6 14" "v4 tcp 6 23" "v4 tcp 6 31" "v4 udp 17 100"; do
		# shellcheck disable=SC2086
		as user option $row 0100000000000000
		refused EPERM setsockopt || { echo "option $row" >&2; return 1; }
	done
}

@test "options that clients set work" {
	local row
	# SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE; IP_TOS, IP_MTU_DISCOVER, IP_RECVERR; IPV6_V6ONLY, IPV6_RECVPKTINFO, IPV6_TCLASS; TCP_NODELAY,
	# TCP_CORK, TCP_KEEPIDLE, TCP_USER_TIMEOUT; UDP_SEGMENT, UDP_GRO
	for row in "v4 tcp 1 2" "v4 tcp 1 7" "v4 tcp 1 8" "v4 tcp 1 9" "v4 tcp 0 1" "v4 udp 0 10" "v4 udp 0 11" "v6 tcp 41 26" "v6 udp 41 49" "v6 tcp 41 67" \
		"v4 tcp 6 1" "v4 tcp 6 3" "v4 tcp 6 4" "v4 tcp 6 18" "v4 udp 17 103" "v4 udp 17 104"; do
		# shellcheck disable=SC2086
		as user option $row 01000000
		through || { echo "option $row" >&2; return 1; }
	done
}

# python SCRIPT: behind the cordon, with the listed address in A
python() { cordon /usr/bin/env A=$PUB_A A6=$PUB6_A python3 -c "$1"; }

@test "a hop limit as control data: a packet that would die on the way does not leave, one with the usual limit does" {
	local limit
	for limit in 1 7 31; do
		mark
		run python "import os,socket,struct
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)
try: s.sendmsg([b'x'],[(0,socket.IP_TTL,struct.pack('i',$limit))],0,(os.environ['A'],443)); print('sent')
except PermissionError: print('refused')
s=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM)
try: s.sendmsg([b'x'],[(41,52,struct.pack('i',$limit))],0,(os.environ['A6'],443)); print('sent')
except PermissionError: print('refused')"
		[ "$output" = $'refused\nrefused' ]
		refusal packet_malformed
		nothing_reached $PUB_A 443
		nothing_reached $PUB6_A 443
	done
	mark
	python "import os,socket,struct
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)
s.sendmsg([b'x'],[(0,socket.IP_TTL,struct.pack('i',64))],0,(os.environ['A'],443))"
	reached $PUB_A 443
}

@test "errors of the way bring no data in: the option succeeds and is not set; a range of local ports is refused like a bind" {
	run python "import socket
for family,level,option in ((socket.AF_INET,0,11),(socket.AF_INET,0,26),(socket.AF_INET6,41,25),(socket.AF_INET6,41,31)):
    s=socket.socket(family,socket.SOCK_DGRAM)
    s.setsockopt(level,option,1)
    print(s.getsockopt(level,option))
try: socket.socket(socket.AF_INET,socket.SOCK_DGRAM).setsockopt(0,51,(45678|45678<<16).to_bytes(4,'little')); print('set')
except PermissionError: print('refused')"
	echo "$output"
	[ "$output" = $'0\n0\n0\n0\nrefused' ]
	refusal option_refused
}
