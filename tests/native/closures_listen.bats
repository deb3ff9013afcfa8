#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_listen.bats - listening instead of dialling: somebody outside connects, and the workload answers with what it has

load helpers

setup_file() {
	world_up
	world_listen
	base_profile
	attach_up
}

teardown_file() { world_down; }

# dialled FROM_OUTSIDE_ADDRESS WHO VERB...: while the attempt listens, a peer outside dials it. $peer is what the peer saw, $line what the attempt did.
dialled() {
	local address=$1 who=$2 port pid
	shift 2
	: >"$WORLD/stderr"
	(as "$who" -t 2500 "$@"; printf '%s' "$line" >"$WORLD/line"; exit "$status") &
	pid=$!
	eventually 30 "grep -q listening $WORLD/stderr || ! kill -0 $pid 2>/dev/null"
	port=$(awk '/listening/ {print $2}' "$WORLD/stderr")
	mark
	peer=none
	[ -z "$port" ] || peer=$(in_net timeout 5 "$tools/attempt" -t 1500 tcp "$address" "$port" || true)
	status=0
	wait $pid || status=$?
	line=$(cat "$WORLD/line")
}

listens_in_vain() {
	local address=$1 who syn_ack='.event=="packet" and .way=="in" and .protocol==6 and ((.flags/2|floor)%2==1) and .flags>=16'
	shift
	mark
	attempt_user -t 3000 "$@" >"$WORLD/c.out" 2>"$WORLD/c.err" &
	eventually 30 "grep -q listening $WORLD/c.err"
	run in_net timeout 5 "$tools/attempt" tcp "$address" "$(awk '{print $2}' "$WORLD/c.err")"
	wait $!
	[[ "$output" == *"from the workload"* ]]
	arrived "$syn_ack"
	for who in user root attached; do
		dialled "$address" $who "$@"
		refused
		[[ "$peer" != *"from the workload"* ]]
		# No SYN-ACK left: the wire saw the SYN go in and nothing come back.
		fence
		no_arrival "$syn_ack"
	done
}

@test "a fixed port cannot be bound" {
	local who
	for who in user root attached; do
		as $who bind tcp 100.64.7.2 7777
		refused EPERM bind
		as $who bind udp 100.64.7.2 7777
		refused EPERM bind
		as $who bind tcp fd77::2 7777
		refused EPERM bind
		as $who bind tcp 127.0.0.1 7777
		refused EPERM bind
	done
	refusal bind_refused
}

@test "a port that the kernel chooses can be bound: clients do it" {
	local who
	for who in user root attached; do
		as $who bind tcp 0.0.0.0 0
		through
		as $who bind udp :: 0
		through
	done
}

@test "bind to a free port, listen: nobody gets in" {
	listens_in_vain 100.64.7.2 listen 100.64.7.2 0
	refusal inbound_unsolicited
	listens_in_vain fd77::2 listen fd77::2 0
}

@test "listen without bind: nobody gets in" {
	listens_in_vain 100.64.7.2 listen-unbound v4
	refusal inbound_unsolicited
	listens_in_vain fd77::2 listen-unbound v6
}

@test "connect to the listed address, dissolve, listen on that socket: nobody gets in" {
	listens_in_vain 100.64.7.2 disconnect-listen $PUB_A 443
}

@test "a datagram that nobody asked for does not arrive" {
	local who
	for who in user attached; do
		dialled_udp $who
	done
}

dialled_udp() {
	local pid
	: >"$WORLD/stderr"
	(as "$1" -t 1500 udp-serve 100.64.7.2 0; printf '%s' "$line" >"$WORLD/line") &
	pid=$!
	eventually 30 "grep -q listening $WORLD/stderr || ! kill -0 $pid 2>/dev/null"
	local port
	port=$(awk '/listening/ {print $2}' "$WORLD/stderr")
	[ -n "$port" ]
	in_net timeout 5 "$tools/attempt" udp-sendto 100.64.7.2 "$port" || true
	wait $pid
	line=$(cat "$WORLD/line")
	[ "$(jq -r .received <<<"$line")" = "" ]
	[ "$(jq -r .errno <<<"$line")" = ETIMEDOUT ]
}
