#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# cases_connect.bats - faults that people saw where connections are decided; the ids are those of the project's list of cases
#
# H01 H02 H04 H09 H12 H14 H19 stand with the closures they belong to: H01 closures_tcp (Fast Open), H02 H04 H19 closures_udp, H09 H12 closures_tcp,
# H14 closures_tcp, closures_udp and closures_families, H21 closures_after.

load helpers

setup_file() {
	world_up
	world_listen
}

setup() { base_profile; }
teardown_file() { world_down; }

@test "H06: a listed IPv4 address is reached by its mapped spelling" {
	WHO=user opened "$PUB_A 443" mapped-tcp $PUB_A 443
	WHO=user opened "$PUB_A 443" mapped-udp $PUB_A 443
}

@test "H07: a listed destination opens neither other ports nor the other protocol" {
	profile tcp $PUB_A 443
	WHO=user closed destination_not_listed EPERM "$PUB_A 444" tcp $PUB_A 444
	WHO=user closed destination_not_listed EPERM "$PUB_A 443" udp-sendto $PUB_A 443
	WHO=user closed destination_not_listed EPERM "$PUB_A 443" udp-connect-send $PUB_A 443
	WHO=user opened "$PUB_A 443" tcp $PUB_A 443
	profile udp $PUB_A 443
	WHO=user closed destination_not_listed EPERM "$PUB_A 443" tcp $PUB_A 443
	WHO=user opened "$PUB_A 443" udp-sendto $PUB_A 443
}

@test "H11: when the sendmsg program is gone, a launch restores it or refuses; it never runs without" {
	local link
	cordon true
	link=$(find /sys/fs/bpf/netcordon -path '*links*' -name 'sendmsg4' -newer "$WORLD/key.pem" | head -n 1)
	[ -n "$link" ]
	rm "$link"
	mark
	as user udp-sendto $PUB_B 443 || true
	[ "$status" -ne 0 ]
	nothing_reached $PUB_B
}

@test "H16: mode none; a message on a connected unix pair works, with an ordinary file attached" {
	echo '{"version":1,"network":{"mode":"none"}}' >"$WORLD/profile.json"
	as user unix-pair
	through
	WHO="user root" closed mode_none EPERM $PUB_A tcp $PUB_A 443
	WHO="user root" closed mode_none EPERM $PUB_A udp-sendto $PUB_A 443
}

@test "an empty allowlist is mode none in effect" {
	profile
	WHO="user root" closed mode_none EPERM $PUB_A tcp $PUB_A 443
}

@test "unrestricted: every public address, and still no private, metadata or host address" {
	echo '{"version":1,"network":{"mode":"unrestricted"}}' >"$WORLD/profile.json"
	WHO="user root" opened "$PUB_B 443" tcp $PUB_B 443
	WHO="user root" opened "$PUB6_B 443" udp-sendto $PUB6_B 443
	WHO="user root" closed address_not_public EPERM $PRIV tcp $PRIV 443
	WHO="user root" closed host_floor EPERM $META tcp $META 80
	WHO="user root" closed address_not_public EPERM $PRIV6 tcp $PRIV6 443
	ONE_WAY=1 WHO=user closed protocol_refused EPERM $PUB_B udplite $PUB_B 443
}

@test "unrestricted with non_public: private addresses open, the floor and the host do not" {
	echo '{"version":1,"network":{"mode":"unrestricted","non_public":true}}' >"$WORLD/profile.json"
	WHO=user opened "$PRIV 443" tcp $PRIV 443
	WHO=user closed host_floor EPERM $META tcp $META 80
	WHO=user closed host_floor EPERM $META6 tcp $META6 80
	PLACE=wl WHO=user closed address_not_public EPERM "127.0.0.1 8080" tcp 127.0.0.1 8080
}

# The rule: loopback is closed, unless the profile has "loopback": "own_netns"; then it is open inside the instance's network namespace, which must not be
# the host's own. The connect programs decide by address, the packet programs by address and device, and they agree.
@test "H17: a workload serves itself on loopback only where the profile opens it; the host's address stays closed" {
	as user self-tcp 127.0.0.1 9000
	refused EPERM bind
	refusal bind_refused
	as user self-tcp ::1 9000
	refused EPERM bind
	MEMBERS='"loopback":"own_netns"' base_profile
	if lacks netns_cookie; then # then it cannot be opened at all, and nothing runs that counts on it
		run -125 cordon /bin/touch "$WORLD/ran"
		[[ $output == *host_unsupported*"which network namespace"* ]]
		[ ! -e "$WORLD/ran" ]
		return
	fi
	as user self-tcp 127.0.0.1 9000
	through
	as user self-tcp ::1 9000
	through
	as root self-tcp 127.0.0.1 9001
	through
	as user self-tcp 100.64.7.2 9000
	refused EPERM connect
	PLACE=wl WHO=user closed destination_not_listed EPERM "$PUB_SELF 443" tcp $PUB_SELF 443
	WHO=user closed destination_not_listed EPERM $PUB_B tcp $PUB_B 443
	WHO=user opened "$PUB_A 443" tcp $PUB_A 443
}

@test "H17: loopback of the host's own network namespace is not opened" {
	MEMBERS='"loopback":"own_netns"' base_profile
	run timeout 30 "$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --evidence "$WORLD/none" --key "$WORLD/key.pem" -- true
	[ "$status" -eq 125 ]
	[[ "$output" == *"the host's own"* ]]
	[ ! -e "$WORLD/none" ]
}

@test "DNS: port 53 leads to the instance's resolver or nowhere (D21, D22)" {
	witness net udp $PUB_C 53 tcp $PUB_C 53 tcp $PUB_C 853 udp $PUB_C 853
	witness wl udp 127.0.0.53 53 tcp 127.0.0.53 53
	WHO="user root" closed resolver_absent EPERM $PUB_C udp-sendto $PUB_C 53
	WHO="user root" closed resolver_absent EPERM $PUB_C tcp $PUB_C 53
	WHO="user root" closed destination_not_listed EPERM $PUB_C tcp $PUB_C 853
	WHO="user root" closed destination_not_listed EPERM $PUB_C udp-sendto $PUB_C 853
	PLACE=wl WHO="user root" closed resolver_absent EPERM "127.0.0.53 53" udp-sendto 127.0.0.53 53
}
