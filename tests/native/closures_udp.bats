#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_udp.bats - datagrams: every call that names, or avoids naming, where they go. Listed: PUB_A and PUB6_A at 443.

load helpers

setup_file() {
	world_up
	world_listen
	base_profile
	attach_up
}

teardown_file() { world_down; }

@test "sendto, connect and send, cork, MSG_MORE, segmentation: unlisted refused, listed reached" {
	local verb
	for verb in udp-sendto udp-connect-send udp-cork udp-more udp-gso; do
		closed destination_not_listed EPERM $PUB_B $verb $PUB_B 443
		closed destination_not_listed EPERM $PUB6_B $verb $PUB6_B 443
		opened "$PUB_A 443" $verb $PUB_A 443
		opened "$PUB6_A 443" $verb $PUB6_A 443
	done
}

@test "another port, and a private address" {
	closed destination_not_listed EPERM "$PUB_A 444" udp-sendto $PUB_A 444
	closed destination_not_listed EPERM "$PUB_A 444" udp-connect-send $PUB_A 444
	closed address_not_public EPERM $PRIV udp-sendto $PRIV 443
	closed host_floor EPERM $META udp-sendto $META 80
}

@test "3000 bytes: no fragment of an unlisted one leaves" {
	closed destination_not_listed EPERM $PUB_B udp-large $PUB_B 443
	closed destination_not_listed EPERM $PUB6_B udp-large $PUB6_B 443
	opened "$PUB_A 443" udp-large $PUB_A 443
	opened "$PUB6_A 443" udp-large $PUB6_A 443
}

@test "sendmmsg: the unlisted message of a batch is not sent, and the count says so" {
	closed destination_not_listed EPERM $PUB_B udp-sendmmsg $PUB_A 443 $PUB_B 443
	[ "$(jq .sent <<<"$line")" = 1 ]
	opened "$PUB_A 443" udp-sendmmsg $PUB_A 443 $PUB_A 443
	[ "$(jq .sent <<<"$line")" = 3 ]
}

@test "control data on a connected socket: the address is shown as zeros, the packet is judged" {
	closed destination_not_listed EPERM $PUB_B udp-pktinfo $PUB_B 443
	closed destination_not_listed EPERM $PUB6_B udp-pktinfo $PUB6_B 443
	opened "$PUB_A 443" udp-pktinfo $PUB_A 443
	opened "$PUB6_A 443" udp-pktinfo $PUB6_A 443
}

@test "AF_UNSPEC and AF_INET addresses on other sockets, mapped addresses" {
	local verb
	for verb in udp-unspec mapped-udp mapped-udp-connect v4-on-v6-udp v4-on-v6-udp-connect; do
		closed destination_not_listed EPERM $PUB_B $verb $PUB_B 443
		closed address_not_public EPERM $PRIV $verb $PRIV 443
		opened "$PUB_A 443" $verb $PUB_A 443
	done
}

@test "connected twice, and changed from IPv6 to IPv4 in between" {
	closed destination_not_listed EPERM $PUB_B udp-reconnect $PUB_A 443 $PUB_B 443
	opened "$PUB_A 443" udp-reconnect $PUB_A 443 $PUB_A 443
	closed destination_not_listed EPERM $PUB_B udp-addrform $PUB_A 443 $PUB_B 443
	opened "$PUB_A 443" udp-addrform $PUB_A 443 $PUB_A 443
}

@test "each call is judged alone: a refusal does not spoil the next call, a permission does not help it" {
	opened "$PUB_A 443" udp-after-refusal $PUB_B 443 $PUB_A 443
	ONE_WAY=1 closed destination_not_listed EPERM $PUB_B udp-after-refusal $PUB_A 443 $PUB_B 443
}

@test "io_uring: sendmsg inline, on a worker, on a polling thread" {
	local mode by="- ENOSYS"
	cordon /bin/true
	! makes_rings || by="destination_not_listed EPERM"
	for mode in inline async sqpoll; do
		# shellcheck disable=SC2086
		WHO="user root" closed $by $PUB_B iouring-send $mode $PUB_B 443
		WHO=attached closed destination_not_listed EPERM $PUB_B iouring-send $mode $PUB_B 443
		WHO=attached opened "$PUB_A 443" iouring-send $mode $PUB_A 443
	done
}
