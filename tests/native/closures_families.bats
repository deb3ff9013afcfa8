#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_families.bats - protocols and address families that the connect and sendmsg programs never see

load helpers

setup_file() {
	world_up
	world_listen
	base_profile
	attach_up
}

teardown_file() { world_down; }

@test "UDP-Lite, connected or not, is refused at birth" {
	local verb address rows=()
	for verb in udplite udplite-sendto; do
		for address in $PUB_B $PUB6_B $PUB_A; do rows+=("$address|$verb $address 443"); done
	done
	ONE_WAY=1 all_closed protocol_refused EPERM "${rows[@]}"
}

@test "ping sockets are refused at birth although ping_group_range allows them" {
	ONE_WAY=1 all_closed protocol_refused EPERM "$PUB_B|icmp-dgram $PUB_B" "$PUB6_B|icmp-dgram $PUB6_B"
}

@test "raw sockets: refused for root too, by a program and not only for want of a capability" {
	export CONTROL=attempt
	ONE_WAY=1 WHO="user root" closed - EPERM $PUB_B raw $PUB_B 253
	ONE_WAY=1 WHO=attached closed protocol_refused EPERM $PUB_B raw $PUB_B 253
	ONE_WAY=1 WHO=attached closed protocol_refused EPERM $PUB_B raw $PUB_B 1
	ONE_WAY=1 WHO=attached closed protocol_refused EPERM $PUB6_B raw $PUB6_B 58
	ONE_WAY=1 WHO=attached closed protocol_refused EPERM $PUB_B raw-hdrincl $PUB_B 443 $PUB_A
}

@test "packet sockets and XDP: no capability, no such family" {
	export CONTROL=attempt ONE_WAY=1 WHO="user root"
	all_closed - EAFNOSUPPORT "$PUB_B|packet wl0 $PUB_B 443" "$PUB_B|packet-bypass wl0 $PUB_B 443" "$PUB_B|xdp wl0 $PUB_B 443"
}

@test "vsock" {
	try attempt_user family 40 1 0
	through
	for who in user root; do
		as $who family 40 1 0
		refused EAFNOSUPPORT socket
	done
}

@test "every address family but unix, inet, inet6 and route netlink is refused, made or not" {
	local number who kinds=()
	for number in 0 {3..9} {11..15} {17..46}; do kinds+=("$number/1/0"); done
	for number in 2 4 9 12 15 16; do kinds+=("16/3/$number"); done # netlink: socket diagnosis, audit and so on
	for who in user root; do
		in_turn $who "families ${kinds[*]}" "families 40/1/0 16/3/0"
		line=${lines[0]} status=${statuses[0]}
		refused EAFNOSUPPORT socket
		[ "$(jq .sent <<<"$line")" -eq ${#kinds[@]} ]
		line=${lines[1]} status=${statuses[1]}
		through
		[ "$(jq -r .received <<<"$line")" = 16/3/0 ]
	done
	try attempt families 16/3/4
	through
}

@test "an upper half in the family's register changes nothing" {
	as user family 0x100000028 1 0
	refused EAFNOSUPPORT socket
}

@test "a packet socket that is asked for as one of inet" {
	local type who i
	for type in 10 0x80a 0x8080a 0x10000000a; do
		try attempt family 2 $type 0x300
		through
	done
	for who in user root; do
		in_turn $who "family 2 10 0x300" "family 2 0x80a 0x300" "family 2 0x8080a 0x300" "family 2 0x10000000a 0x300"
		for ((i = 0; i < 4; i++)); do
			line=${lines[i]} status=${statuses[i]}
			refused EAFNOSUPPORT socket
		done
	done
}

@test "SCTP and DCCP: refused whether this kernel knows them or not" {
	local verb who
	try attempt sctp $PUB_B 443
	if [ "$status" -ne 2 ]; then
		witness net sctp $PUB_B 443
		try attempt_user sctp $PUB_B 443
		through
	fi
	for who in user root; do
		mark
		in_turn $who "sctp $PUB_B 443" "dccp $PUB_B 443"
		[[ ${statuses[0]} != 0 && ${statuses[1]} != 0 ]]
		nothing_reached $PUB_B
	done
	for verb in sctp dccp; do
		mark
		as attached $verb $PUB_B 443
		refused
		nothing_reached $PUB_B
	done
}

@test "io_uring makes no socket of another family" {
	local who i
	if lacks iouring_socket; then
		absent iouring-socket inline 40
	else
		try attempt_user iouring-socket inline 40
		through
	fi
	for who in user root; do
		in_turn $who "iouring-socket inline 40" "iouring-socket async 40" "iouring-socket sqpoll 40"
		for ((i = 0; i < 3; i++)); do
			line=${lines[i]} status=${statuses[i]}
			if makes_rings; then refused EPERM; else refused ENOSYS io_uring_setup; fi
		done
		! makes_rings || jq -e '(.counters.workload.family_refused | tonumber) >= 3' "$WORLD/evidence/closing.json"
	done
}

@test "a tun device" {
	try attempt tun
	through
	for who in user root; do
		as $who tun
		refused
	done
}

@test "no tunnel can be made on the way out" {
	in_wl ip link add vx0 type vxlan id 7 remote $PUB_B dstport 4789 dev wl0
	in_wl ip link del vx0
	mark
	run cordon unshare -Ur sh -c "ip link add vx0 type vxlan id 7 remote $PUB_B dstport 4789 dev wl0"
	[ "$status" -ne 0 ]
	nothing_reached $PUB_B
}
