#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# words.bats - a guest booted otherwise (runs.list): locked down, without BPF among its LSMs, without IPv6. A launch works, and the table says what is closed
#
# A world of IPv4 alone, since IPv6 may be missing: namespace words-wl reaches words-net, where the witness listens on two public addresses.

bats_require_minimum_version 1.5.0

setup_file() {
	export WORK=/tmp/words tools=$PWD/build/tests/native
	mkdir -m 711 "$WORK"
	ip netns add words-wl && ip netns add words-net
	ip -n words-wl link add wl0 type veth peer name net0 netns words-net
	ip -n words-wl addr add 100.64.7.2/24 dev wl0 && ip -n words-net addr add 100.64.7.1/24 dev net0
	ip -n words-net addr add 93.184.216.34 dev lo && ip -n words-net addr add 93.184.216.35 dev lo
	for ns in words-wl words-net; do ip -n $ns link set lo up; done
	ip -n words-wl link set wl0 up && ip -n words-net link set net0 up
	ip -n words-wl route add default via 100.64.7.1
	nsenter --net=/run/netns/words-net "$tools"/witness "$WORK/log" tcp 93.184.216.34 443 tcp 93.184.216.35 443 >"$WORK/out" 2>&1 3>&- &
	echo $! >"$WORK/pid"
	for _ in $(seq 300); do grep -q '"ready"' "$WORK/log" 2>/dev/null && break; sleep 0.2; done
	grep -q '"ready"' "$WORK/log"
	echo '{"version":1,"network":{"mode":"allowlist","destinations":[{"host":"93.184.216.34","port":443}]}}' >"$WORK/profile.json"
	build/netcordon key generate "$WORK/key.pem"
}
teardown_file() { kill "$(cat "$WORK/pid")"; }

cordon() {
	rm -rf "$WORK/evidence"
	build/netcordon run --profile "$WORK/profile.json" --netns /run/netns/words-wl --evidence "$WORK/evidence" --key "$WORK/key.pem" -- "$@"
}
seen() { grep -c "\"event\":\"accept\",\"local\":\"tcp $1 443\"" "$WORK/log" || true; }

@test "what is listed is reached, what is not is refused, and the host's words are in force" {
	for word in $(tr ' ' '\n' </proc/cmdline | grep -E '^(lockdown|ipv6.disable|lsm)='); do
		case $word in
		lockdown=*) grep -q "\[${word#*=}\]" /sys/kernel/security/lockdown ;;
		ipv6.disable=1) [ ! -e /proc/sys/net/ipv6 ] ;;
		lsm=*) run ! grep -w bpf /sys/kernel/security/lsm ;;
		esac
	done
	run -0 nsenter --net=/run/netns/words-wl "$tools"/attempt tcp 93.184.216.35 443
	[ "$(seen 93.184.216.35)" = 1 ]
	run -0 cordon "$tools"/attempt tcp 93.184.216.34 443
	[ "$(seen 93.184.216.34)" = 1 ]
	run -1 cordon "$tools"/attempt tcp 93.184.216.35 443
	[[ $output == *EPERM* ]]
	[ "$(seen 93.184.216.35)" = 1 ]
}

@test "host probe finds no gap that run leaves open but those that are recorded, and none of the security hooks where they are not on the list" {
	build/netcordon host probe --json >"$WORK/probe" || true
	jq -e '.closures | length > 50' "$WORK/probe"
	jq -r '.closures[] | select(.state == "gap") | .path' "$WORK/probe" >"$WORK/gaps"
	run ! grep -v -x -e connected_socket_from_outside "$WORK/gaps"
	if ! grep -q -w bpf /sys/kernel/security/lsm; then
		run ! grep -w -E '"mechanism": "lsm_[a-z]*"' "$WORK/probe"
	fi
}
