#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# big_tcp.bats - packets that are longer than IPv6 can say: where a device takes them at once, the kernel puts a header of its own before TCP

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	world_up
	local device
	for device in "$WL wl0" "$NET net0"; do
		# shellcheck disable=SC2086
		ip -n ${device% *} link set ${device#* } gso_max_size 196608 gro_max_size 196608
	done
	cat >"$WORLD/sink.py" <<-'SCRIPT'
		# sink.py ADDRESS: takes what comes and answers with its length; the first line says what it was of
		import socket, sys
		listener = socket.create_server((sys.argv[1], 443), family=socket.AF_INET6)
		print("ready", flush=True)
		while True:
		    stream, _ = listener.accept()
		    length = 0
		    try:
		        while piece := stream.recv(1 << 20): length += len(piece)
		        stream.sendall(b"%d" % length)
		    except OSError: pass
		    print("got", length, flush=True)
		    stream.close()
	SCRIPT
	cat >"$WORLD/bulk.py" <<-'SCRIPT'
		# bulk.py ADDRESS MEBIBYTES: as fast as it goes
		import socket, sys
		stream = socket.create_connection((sys.argv[1], 443), 10)
		for _ in range(int(sys.argv[2])): stream.sendall(bytes(1 << 20))
		stream.shutdown(socket.SHUT_WR)
		print("answer", stream.recv(100).decode())
	SCRIPT
	chmod 755 "$WORLD"
	chmod 644 "$WORLD"/*.py
	nsenter --net=/run/netns/"$NET" python3 "$WORLD/sink.py" $PUB6_A 3>&- >"$WORLD/sink.out" 2>&1 &
	echo $! >"$WORLD/sink.pid"
	eventually 50 "grep -q ready $WORLD/sink.out"
}

teardown_file() { world_down; }

# how many packets of more than 64 KiB the capture has by now
long_ones() {
	tcpdump -n -r "$WORLD/capture" 2>/dev/null | awk '{ for (i = 1; i < NF; i++) if ($i == "length" && $(i + 1) + 0 > 65535) n++ } END { print n + 0 }'
}

# watched COMMAND...: with a capture of the device, in which there are packets of more than 64 KiB
watched() {
	local capture
	nsenter --net=/run/netns/"$WL" tcpdump -n -U --immediate-mode -s 96 -i wl0 -w "$WORLD/capture" ip6 3>&- 2>"$WORLD/capture.err" >/dev/null &
	capture=$!
	echo $capture >"$WORLD/capture.pid"
	eventually 50 "grep -q listening $WORLD/capture.err"
	run "$@"
	eventually 50 '[ "$(long_ones)" -gt 0 ]' || { echo "no long packet: $output" >&2; return 1; }
	kill $capture
	wait $capture || true
	rm "$WORLD/capture.pid" "$WORLD/capture"
}

@test "a stream of packets longer than 64 KiB reaches a listed address, and nothing in it is malformed" {
	base_profile
	watched in_wl python3 "$WORLD/bulk.py" $PUB6_A 48
	[[ $status -eq 0 && $output == *"answer 50331648" ]]
	watched cordon python3 "$WORLD/bulk.py" $PUB6_A 48
	[[ $status -eq 0 && $output == *"answer 50331648" ]]
	run ! event '.reason=="packet_malformed"'
	jq -e '.counters.workload | has("packet_malformed") | not' "$WORLD/evidence/closing.json"
}

@test "the same stream to an address that is not listed: nothing" {
	profile tcp $PUB_A 443
	mark
	run cordon python3 "$WORLD/bulk.py" $PUB6_A 1
	[ "$status" -eq 1 ]
	[[ $output == *PermissionError* ]]
	fence
	run ! wire $PUB6_A 443
	refusal destination_not_listed
}
