#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_tcp.bats - TCP in every way it can be dialled. Listed: PUB_A and PUB6_A at 443.

load helpers

setup_file() {
	world_up
	world_listen
	profile tcp $PUB_A 443 udp $PUB_A 443 tcp $PUB6_A 443 udp $PUB6_A 443 tcp $PUB_A 447
	attach_up
}

teardown_file() { world_down; }

@test "connect: an unlisted address is refused, the listed one is reached" {
	closed destination_not_listed EPERM $PUB_B tcp $PUB_B 443
	closed destination_not_listed EPERM $PUB6_B tcp $PUB6_B 443
	opened "$PUB_A 443" tcp $PUB_A 443
	opened "$PUB6_A 443" tcp $PUB6_A 443
}

@test "another port of the listed address is refused" {
	closed destination_not_listed EPERM "$PUB_A 444" tcp $PUB_A 444
}

@test "a child forked by the first instruction is behind the cordon too" {
	closed destination_not_listed EPERM $PUB_B fork-tcp $PUB_B 443
	opened "$PUB_A 443" fork-tcp $PUB_A 443
}

@test "an IPv4 destination spelled as IPv6" {
	closed destination_not_listed EPERM $PUB_B mapped-tcp $PUB_B 443
	closed address_not_public EPERM $PRIV mapped-tcp $PRIV 443
	closed host_floor EPERM $META mapped-tcp $META 80
	opened "$PUB_A 443" mapped-tcp $PUB_A 443
}

@test "Fast Open by sendto and by TCP_FASTOPEN_CONNECT: refused before the SYN" {
	local verb
	for verb in tfo-sendto tfo-connect; do
		closed destination_not_listed EPERM $PUB_B $verb $PUB_B 443
		closed destination_not_listed EPERM $PUB6_B $verb $PUB6_B 443
		opened "$PUB_A 443" $verb $PUB_A 443
		opened "$PUB6_A 443" $verb $PUB6_A 443
	done
}

@test "private, unique local and metadata addresses, each with its reason" {
	closed address_not_public EPERM $PRIV tcp $PRIV 443
	closed address_not_public EPERM $PRIV2 tcp $PRIV2 443
	closed address_not_public EPERM $PRIV6 tcp $PRIV6 443
	closed host_floor EPERM $META tcp $META 80
	closed host_floor EPERM $META6 tcp $META6 80
}

@test "addresses of all zeros lead nowhere" {
	PLACE=wl closed address_not_public EPERM "127.0.0.1 8080" tcp 0.0.0.0 8080
	PLACE=wl closed address_not_public EPERM "127.0.0.1 8080" zero-address v4 8080
	PLACE=wl closed address_not_public EPERM "::1 8080" zero-address v6 8080
	PLACE=wl closed address_not_public EPERM "127.0.0.1 8080" zero-address mapped 8080
}

@test "loopback of the host's own namespace" {
	PLACE=wl closed address_not_public EPERM "127.0.0.1 8080" tcp 127.0.0.1 8080
	PLACE=wl closed address_not_public EPERM "::1 8080" tcp ::1 8080
}

@test "a socket that was connected to the listed address, dissolved, and connected elsewhere" {
	closed destination_not_listed EPERM $PUB_B reconnect $PUB_A 443 $PUB_B 443
	opened "$PUB_A 443" reconnect $PUB_A 443 $PUB_A 443
}

@test "a pointer above 4 GiB" {
	closed destination_not_listed EPERM $PUB_B high-pointer $PUB_B 443
	opened "$PUB_A 443" high-pointer $PUB_A 443
}

@test "port 0" {
	ONE_WAY=1 closed port_zero EPERM $PUB_B port-zero $PUB_B
}

@test "MPTCP is refused at birth, even to the listed address" {
	closed protocol_refused EPERM $PUB_B mptcp $PUB_B 443
	closed protocol_refused EPERM $PUB_A mptcp $PUB_A 443
}

@test "MPTCP: an address that the peer adds is never dialled" {
	in_net ip mptcp endpoint add $PUB_B id 7 signal
	in_wl ip mptcp limits set subflow 2 add_addr_accepted 2
	witness net mptcp $PUB_A 445
	ONE_WAY=1 closed protocol_refused EPERM "$PUB_B 445" mptcp-hold $PUB_A 445
}

@test "io_uring: connect inline, on a worker, on a polling thread" {
	local mode by="- ENOSYS"
	cordon /bin/true
	! makes_rings || by="destination_not_listed EPERM"
	for mode in inline async sqpoll; do
		# `run` refuses the ring itself, unless a security hook acts, and attach shows that the programs decide as they do for the system call.
		# shellcheck disable=SC2086
		WHO="user root" closed $by $PUB_B iouring-connect $mode $PUB_B 443
		WHO=attached closed destination_not_listed EPERM $PUB_B iouring-connect $mode $PUB_B 443
		WHO=attached opened "$PUB_A 443" iouring-connect $mode $PUB_A 443
		# E13: the completion says what came of it, the event what was decided. Nobody listens at 447.
		as attached iouring-connect $mode $PUB_A 447
		refused ECONNREFUSED ring_connect
		event '.decision=="allow" and .destination=="'$PUB_A'" and .port==447'
	done
}

@test "the host's own address, listed or not, is not reached" {
	profile tcp $PUB_SELF 443 tcp $PUB6_SELF 443
	WHO="user root" PLACE=wl closed loopback_device ETIMEDOUT "$PUB_SELF 443" tcp $PUB_SELF 443
	WHO="user root" PLACE=wl closed loopback_device ETIMEDOUT "$PUB6_SELF 443" tcp $PUB6_SELF 443
	base_profile
	PLACE=wl closed destination_not_listed EPERM "$PUB_SELF 443" tcp $PUB_SELF 443
	PLACE=wl closed address_not_public EPERM "100.64.7.2 443" tcp 100.64.7.2 443
}
