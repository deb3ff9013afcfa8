#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# pod.bats - two instances in one private network namespace whose loopback is open to both: what serves the one is not the other's

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	names_up
	names_served "address=/b.example/$PUB_B"
	mkdir -m 777 "$WORLD/open"
	chmod 755 "$WORLD"
	# the neighbour: nothing but open loopback and an address
	echo "{\"version\":1,\"loopback\":\"own_netns\",\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"$PUB_A\",\"port\":443}]}}" >"$WORLD/beside.json"
}

teardown_file() { names_down; }

teardown() {
	touch "$WORLD/dismissed" "$WORLD/open/enough"
	live_end
	wait
	rm -f "$WORLD"/open/*
}

begin() {
	MEMBERS='"loopback":"own_netns"' named b.example 443
	obedient pod-"$WL"
	work "getent ahostsv4 b.example"
	[ "$status" -eq 0 ]
	PORT=$(in_wl ss -Hlun 'src 127.0.0.1' | awk '$4 !~ /:8080$/ {sub(/.*:/, "", $4); print $4}')
	[[ $PORT =~ ^[0-9]+$ ]]
}
names_told() { jq -s '[.[] | select(.kind=="name")] | length' "$WORLD/evidence/events.jsonl"; }

# Every way to put one question to a resolver on a port of loopback.
asker='
import socket, struct, sys
question = struct.pack(">HHHHHH", 0x1234, 0x100, 1, 0, 0, 0) + b"\x01b\x07example\0" + struct.pack(">HH", 1, 1)
port = int(sys.argv[1])
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
    for way in ("sendto", "connected", "tcp"):
        s = socket.socket(family, socket.SOCK_STREAM if way == "tcp" else socket.SOCK_DGRAM)
        s.settimeout(5)
        try:
            if way == "sendto":
                s.sendto(question, (address, port))
            else:
                s.connect((address, port))
                s.send(struct.pack(">H", len(question)) + question if way == "tcp" else question)
            s.recv(512)
            print(address, way, "answered")
        except OSError as e:
            print(address, way, e.errno)
'

@test "a neighbour does not reach the resolver, however it asks, and the log of the instance tells of no question" {
	local before
	begin
	# whoever stands in no cordon is answered: the paths are real
	in_wl python3 -c "$asker" "$PORT" >"$WORLD/out"
	[ "$(grep -c answered "$WORLD/out")" -eq 9 ]
	before=$(names_told)
	beside /usr/bin/python3 -c "$asker" "$PORT" >"$WORLD/out"
	cat "$WORLD/out"
	[ "$(grep -c ' 1$' "$WORLD/out")" -eq 9 ]
	EVIDENCE=beside refusal host_floor
	[ "$(names_told)" -eq "$before" ]
	# the resolver serves its own instance as before, and the neighbour's loopback is open to what is no resolver
	work "getent ahostsv4 b.example"
	[ "$status" -eq 0 ]
	run beside "$tools/attempt" tcp 127.0.0.1 8080
	[ "$status" -eq 0 ]
	run beside "$tools/attempt" udp-sendto ::1 8080
	[ "$status" -eq 1 ] # nobody listens there
	run beside "$tools/attempt" udp-sendto 127.0.0.1 8080
	[ "$status" -eq 0 ]
	dismissed
}

# Sockets that were connected while nobody listened: connect() had nothing to look at, so the packet is asked.
early='
import os, socket, struct, sys, time
os.chdir(sys.argv[1])
question = struct.pack(">HHHHHH", 0x1234, 0x100, 1, 0, 0, 0) + b"\x01b\x07example\0" + struct.pack(">HH", 1, 1)
sockets = []
for port in range(40000, 40032):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", port + 10000))
    s.connect(("127.0.0.1", port))
    s.settimeout(1)
    sockets.append(s)
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
for port, s in zip(range(40000, 40032), sockets):
    try:
        s.send(question)
        s.recv(512)
        print(port, "answered")
    except OSError as e:
        print(port, e.errno)
'

@test "nor by a datagram socket that was connected to the port before the resolver was there" {
	local before neighbour
	in_wl sysctl -qw net.ipv4.ip_local_port_range="40000 40031"
	beside /usr/bin/python3 -c "$early" "$WORLD/open" >"$WORLD/open/early" 2>&1 3>&- &
	neighbour=$!
	eventually 100 "[ -e $WORLD/open/ready ]" || { cat "$WORLD/open/early" >&2; return 1; }
	begin
	[ "$PORT" -lt 40032 ]
	before=$(names_told)
	touch "$WORLD/open/go"
	wait $neighbour
	in_wl sysctl -qw net.ipv4.ip_local_port_range="32768 60999"
	cat "$WORLD/open/early"
	grep -qx "$PORT 1" "$WORLD/open/early"
	run ! grep answered "$WORLD/open/early"
	EVIDENCE=beside refusal loopback_device
	[ "$(names_told)" -eq "$before" ]
	dismissed
}

# launches NUMBER: that many, one after the other, each of which must get as far as its command
launches() {
	local i
	named b.example 443
	for ((i = 0; i < $1; i++)); do
		run cordon /bin/echo through
		[ "$status" -eq 0 ] || { echo "launch $i: $output" >&2; return 1; }
		[[ $output == *through* ]]
	done
}

@test "a process of the host that tries every new listener neither fails a launch nor hides that one fails" {
	local i
	in_wl "$tools/poke" "$WORLD/open/enough" >"$WORLD/open/poked" 3>&- &
	launches 12
	# connect() is refused by a filter of somebody else: the canary must see that it is not the cordon that refuses, poked or not
	for i in 1 2 3; do
		run "$tools/launch_tool" deny 42 1 "$BASH" -c \
			"$(declare -f cordon netcordon_run); WORLD=$WORLD ROOT=$ROOT WL=$WL SUP=$SUP netcordon=$netcordon; cordon /bin/touch $WORLD/open/ran"
		[ "$status" -eq 125 ]
		[[ $output == *canary_failed* ]]
		[ ! -e "$WORLD/open/ran" ]
	done
	touch "$WORLD/open/enough"
	wait $!
	cat "$WORLD/open/poked"
	[ "$(cut -d' ' -f1 "$WORLD/open/poked")" -gt 0 ]
}

@test "a neighbour that tries every new listener reaches none" {
	beside "$tools/poke" "$WORLD/open/enough" >"$WORLD/open/poked" 2>&1 3>&- &
	launches 6
	touch "$WORLD/open/enough"
	wait $!
	cat "$WORLD/open/poked"
	grep -qE '^[1-9][0-9]* found, 0 taken$' "$WORLD/open/poked"
}
