#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# control.bats - without a cordon every path that this kernel can make leads out, and the witness sees it
#
# What closures_*.bats assert ("nothing arrived") is worth something only beside this: the same client, the same listeners, the same capture. A verb
# that the kernel cannot make at all says so with its own exit status, and such a verb is named in `unmakeable` with how that is known.

load helpers

setup_file() {
	world_up
	world_listen
}

teardown_file() { world_down; }

# out VERB... : gets through as root, as an ordinary user and as uid 0 of a user namespace, and each time the listener at TO sees it
out() {
	local who
	for who in attempt attempt_user "attempt_user -U"; do
		mark
		# shellcheck disable=SC2086
		try $who "$@"
		through
		# shellcheck disable=SC2086
		PLACE=${PLACE-net} reached $TO
	done
}

# out_wire VERB...: one way, as root; a packet for TO is on the wire
out_wire() {
	mark
	try "${WHO:-attempt}" "$@"
	through
	fence
	# shellcheck disable=SC2086
	wire $TO || { since | tail -n 5 >&2; return 1; }
}

@test "TCP: connect, mapped, Fast Open, a child's first instruction, a socket that was connected before" {
	TO="$PUB_B 443" out tcp $PUB_B 443
	TO="$PUB6_B 443" out tcp $PUB6_B 443
	TO="$PUB_B 443" out fork-tcp $PUB_B 443
	TO="$PUB_B 443" out mapped-tcp $PUB_B 443
	TO="$PUB_B 443" out tfo-sendto $PUB_B 443
	TO="$PUB6_B 443" out tfo-sendto $PUB6_B 443
	TO="$PUB_B 443" out tfo-connect $PUB_B 443
	TO="$PUB_B 443" out reconnect $PUB_A 443 $PUB_B 443
}

@test "TCP to private, metadata and unique local addresses" {
	TO="$PRIV 443" out tcp $PRIV 443
	TO="$META 80" out tcp $META 80
	TO="$META6 80" out tcp $META6 80
	TO="$PRIV6 443" out tcp $PRIV6 443
}

@test "addresses of all zeros lead to this host" {
	local form
	for form in v4 v6 mapped; do
		mark
		try attempt_user zero-address $form 8080
		through
	done
	PLACE=wl TO="127.0.0.1 8080" out tcp 0.0.0.0 8080
	PLACE=wl TO="::1 8080" out tcp :: 8080
}

@test "a pointer above 4 GiB" {
	TO="$PUB_B 443" out high-pointer $PUB_B 443
}

@test "UDP: sendto, connect and send, batch, cork, MSG_MORE, segmentation, fragments" {
	local verb
	for verb in udp-sendto udp-connect-send udp-cork udp-more udp-gso udp-large udp-pktinfo; do
		TO="$PUB_B 443" out $verb $PUB_B 443
		TO="$PUB6_B 443" out $verb $PUB6_B 443
	done
	TO="$PUB_B 443" out udp-sendmmsg $PUB_A 443 $PUB_B 443
	[ "$(jq .sent <<<"$line")" = 3 ]
}

@test "UDP: families mixed, mapped, reconnected" {
	TO="$PUB_B 443" out udp-unspec $PUB_B 443
	TO="$PUB_B 443" out mapped-udp $PUB_B 443
	TO="$PUB_B 443" out mapped-udp-connect $PUB_B 443
	TO="$PUB_B 443" out v4-on-v6-udp $PUB_B 443
	TO="$PUB_B 443" out v4-on-v6-udp-connect $PUB_B 443
	TO="$PUB_B 443" out udp-reconnect $PUB_A 443 $PUB_B 443
	TO="$PUB_B 443" out udp-after-refusal $PUB_B 443 $PUB_B 443
	TO="$PUB_B 443" out udp-addrform $PUB_A 443 $PUB_B 443
}

@test "port 0 goes onto the wire" {
	TO="$PUB_B" out_wire port-zero $PUB_B
}

@test "MPTCP, and an address that the peer adds" {
	if lacks mptcp; then
		absent mptcp $PUB_B 443
		return
	fi
	TO="$PUB_B 443" out mptcp $PUB_B 443
	in_net ip mptcp endpoint add $PUB_B id 7 signal
	in_wl ip mptcp limits set subflow 2 add_addr_accepted 2
	witness net mptcp $PUB_A 445
	mark
	try attempt_user mptcp-hold $PUB_A 445
	through
	fence
	wire $PUB_B 445
}

@test "io_uring: connect and sendmsg inline, on a worker, on a polling thread; socket" {
	local mode
	for mode in inline async sqpoll; do
		TO="$PUB_B 443" out iouring-connect $mode $PUB_B 443
		TO="$PUB_B 443" out iouring-send $mode $PUB_B 443
		if lacks iouring_socket; then
			absent iouring-socket $mode 40
			continue
		fi
		try attempt_user iouring-socket $mode 40
		through
	done
}

@test "UDP-Lite, ping sockets" {
	if lacks udplite; then
		absent udplite $PUB_B 443
	else
		TO="$PUB_B 443" WHO=attempt_user out_wire udplite $PUB_B 443
		TO="$PUB_B 443" WHO=attempt_user out_wire udplite-sendto $PUB_B 443
		TO="$PUB6_B 443" WHO=attempt_user out_wire udplite $PUB6_B 443
	fi
	TO="$PUB_B" WHO=attempt_user out_wire icmp-dgram $PUB_B
	TO="$PUB6_B" WHO=attempt_user out_wire icmp-dgram $PUB6_B
}

@test "raw sockets, raw headers, packet sockets, XDP, tun (root)" {
	TO="$PUB_B" out_wire raw $PUB_B 253
	TO="$PUB6_B" out_wire raw $PUB6_B 253
	TO="$PUB_B" out_wire raw-hdrincl $PUB_B 443 $PUB_A
	TO="$PUB_B 443" out_wire packet wl0 $PUB_B 443
	TO="$PUB_B 443" out_wire packet-bypass wl0 $PUB_B 443
	TO="$PUB_B 443" out_wire xdp wl0 $PUB_B 443
	try attempt tun
	through
}

@test "IPv6 routing headers go to the first segment, also on an established connection" {
	local verb
	for verb in routing-header routing-header-late; do
		TO="$PUB6_B" WHO=attempt_user out_wire $verb $PUB6_B $PUB6_A 443
	done
	arrived '.dst==$a and .protocol==43' $PUB6_B
}

@test "IPv4 source routes go to the first hop (root)" {
	TO="$PUB_B" out_wire ip-options $PUB_B $PUB_A 443
	TO="$PUB_B" out_wire ip-options-cmsg $PUB_B $PUB_A 443
	arrived '.dst==$a and .header>20' $PUB_B
}

@test "a multicast join puts a report with the chosen group on the wire" {
	mark
	try attempt_user mcast-join 239.1.2.3
	through
	fence
	arrived '.event=="packet" and .protocol==2'
	mark
	try attempt_user mcast-join ff05::1:3
	through
	fence
	arrived '.event=="packet" and .dst=="ff02::16"'
}

@test "options: a device, a TTL" {
	TO="$PUB_B 443" out bindtodevice wl0 $PUB_B 443
	TO="$PUB_B 443" out ttl $PUB_B 443
	TO="$PUB6_B 443" out ttl $PUB6_B 443
}

# dialled_in VERB...: somebody outside connects to what the attempt listens on
dialled_in() {
	local from=$1 address=$2 pid port
	shift 2
	attempt_user -t 4000 "$@" >"$WORLD/listen.out" 2>"$WORLD/listen.err" &
	pid=$!
	eventually 30 "grep -q listening $WORLD/listen.err"
	port=$(awk '{print $2}' "$WORLD/listen.err")
	run in_net timeout 5 "$tools/attempt" tcp "$address" "$port"
	wait $pid
	grep -q '"outcome":"through"' "$WORLD/listen.out"
}

@test "listening with and without bind, and on a socket that was connected" {
	dialled_in net 100.64.7.2 listen 100.64.7.2 7777
	dialled_in net fd77::2 listen fd77::2 7777
	dialled_in net 100.64.7.2 listen-unbound v4
	dialled_in net fd77::2 listen-unbound v6
	dialled_in net 100.64.7.2 disconnect-listen $PUB_A 443
}

@test "the host's own address" {
	PLACE=wl TO="$PUB_SELF 443" out tcp $PUB_SELF 443
}

@test "unix sockets of a helper outside, own pairs and own paths" {
	mark
	try attempt_user unix-path "$WORLD/helper"
	through
	try attempt_user unix-abstract "$WL"
	through
	try attempt_user unix-path-dgram "$WORLD/helper-dgram"
	through
	eventually 20 "[ \$(since wl | grep -c -e accept -e datagram) -ge 3 ]"
	try attempt_user unix-pair
	through
	try attempt unix-own "$WORLD/own"
	through
}

@test "sockets that travel: from a helper, to a helper, as a descriptor left open, from another process" {
	local pid
	attempt -t 3000 scm-giver tcp "$WORLD/giver" $PUB_B 443 >/dev/null 2>"$WORLD/giver.err" &
	eventually 30 "grep -q listening $WORLD/giver.err"
	try attempt_user scm-receive "$WORLD/giver" $PUB_B 443
	through
	attempt -t 3000 scm-taker "$WORLD/taker" $PUB_B 443 >/dev/null 2>"$WORLD/taker.err" &
	eventually 30 "grep -q listening $WORLD/taker.err"
	try attempt_user scm-send udp "$WORLD/taker"
	through
	[ "$(jq -r .received <<<"$line")" = $'recv none' ]
	mark
	try attempt leak tcp 37 $PUB_B 443 -- "$tools/attempt" use-fd 37
	through
	reached $PUB_B 443
	mark
	try attempt leak udp 37 $PUB_B 443 -- "$tools/attempt" use-fd-sendto 37 $PUB_B 443
	through
	reached $PUB_B 443
	mark
	try attempt leak ring 37 $PUB_B 443 -- "$tools/attempt" ring-fd 37
	through
	reached $PUB_B 443
	# shellcheck disable=SC2016
	attempt leak tcp 37 $PUB_B 443 -- bash -c 'echo $$ >"$0"; exec sleep 5' "$WORLD/other" 3>&- &
	eventually 50 "[ -s $WORLD/other ]"
	pid=$(cat "$WORLD/other")
	try attempt pidfd-getfd "$pid" 37
	through
	wait
}

@test "descriptors of every other kind" {
	try attempt leak folder 37 / -- "$tools/attempt" use-fd-openat 37 etc/passwd
	through
	try attempt leak file 37 /proc/self/cgroup -- "$tools/attempt" use-fd-openat 37 x
	refused ENOTDIR
	try attempt leak tun 37 -- "$tools/attempt" use-fd 37
	refused EIO # open, and the device is down: a closed one would be EBADF
	try attempt leak bpf 37 -- "$tools/attempt" use-fd 37
	refused EINVAL
}

@test "other processes, pins, cgroups, namespaces, key requests" {
	sleep 20 &
	local pid=$!
	try attempt ptrace $pid
	through
	try attempt kill $pid
	through
	try attempt open-file /proc/$pid/environ
	through
	kill $pid
	try attempt leak bpf 37 -- "$tools/attempt" bpf-walk
	through
	mkdir "$ROOT/elsewhere"
	try attempt move-cgroup "$ROOT/elsewhere"
	through
	try attempt_user userns-netns
	through
	mark
	try timeout 10 "$tools/attempt" setns /run/netns/"$WL" $PUB_B 443
	through
	reached $PUB_B 443
	try attempt request-key nowhere.invalid
	through
}

@test "typing into the terminal" {
	try attempt under-pty "$tools/attempt" -p typed tiocsti 0
	[ "$(jq -r .received <<<"$line")" = typed ]
}

@test "SCTP, where there is any: in every guest" {
	try attempt sctp $PUB_B 443
	if [ "$status" -eq 2 ]; then
		[ -z "${NETCORDON_VM-}" ]
		return
	fi
	witness net sctp $PUB_B 443
	TO="$PUB_B 443" out sctp $PUB_B 443
}

@test "what this kernel cannot make says so" {
	local verb
	# A family or protocol that is not compiled in cannot be opened by anybody: the file system shows no such protocol.
	for verb in "dccp $PUB_B 443" "family 21 5 0" "family 30 1 0" "family 43 1 0" "family 29 3 1" "family 31 5 0" \
		"routing-header-cmsg $PUB6_B $PUB6_A 443"; do
		# shellcheck disable=SC2086
		try attempt $verb
		[ "$status" -eq 0 ] || [ "$status" -eq 2 ]
		echo "# $verb: $(jq -r .outcome <<<"$line")" >&3
	done
}
