#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154
# server_name_lossy.bats - a first payload over a path that loses, tears and delays it: whatever TCP then makes of it, a listed name gets there whole, and of
# another name nothing does

bats_require_minimum_version 1.5.0
load helpers
load named

PEER=93.184.216.77

setup_file() {
	named_up
	in_net ip route add blackhole $PEER/32
	in_wl "$BATS_TEST_DIRNAME/segments.py" wl0
	listed '"host":"lossy.example","port":443' '"host":"lossy.example","port":80'
}

teardown_file() { named_down; }

teardown() { peer_down; }

peer_down() {
	[ ! -f "$WORLD/peer.pid" ] || kill "$(cat "$WORLD/peer.pid")" 2>/dev/null || true
	rm -f "$WORLD/peer.pid"
}

# peer PORT [NAME=VALUE...]
peer() {
	peer_down
	rm -f "$WORLD/peer.log"
	nsenter --net=/run/netns/"$NET" "$BATS_TEST_DIRNAME/lossy_peer.py" "$WORLD/peer.log" net0 02:00:00:00:07:02 $PEER "$@" 3>&- >"$WORLD/peer.out" 2>&1 &
	echo $! >"$WORLD/peer.pid"
	eventually 100 "grep -qs ready $WORLD/peer.log" || { cat "$WORLD/peer.out" >&2; return 1; }
}

# sends HOW WHAT [THEN]: from inside the cordon, over the path of the moment
sends() {
	run cordon sh -c 'getent ahostsv4 lossy.example >/dev/null; "$@"' sh "$WORLD/named_client.py" "$1" $PEER "$port" "${@:2}"
}

parts() { jq -c -s '[.[]|select(.event=="part")|[.at,.size,if .lost then 1 else 0 end]]' "$WORLD/peer.log"; }

# over PATH HOW SIZE [EXTRA] [THEN]: a hello with the listed name arrives whole, with EXTRA bytes behind it
over() {
	local how=$2 size=$3 extra=${4:-0} port=443
	# shellcheck disable=SC2086
	peer $port extra="$extra" $1
	sends "$how" "tls:lossy.example:$size" "${@:5}"
	[[ $status -eq 0 && $output == *"answer "* ]] || { echo "$1 $how $size: $status $output $(parts)" >&2; return 1; }
	[ "$(jq -s 'any(.[]; .event=="whole")' "$WORLD/peer.log")" = true ]
	echo "# $1 $how $size: $(parts)" >&3
}

# other PATH HOW SIZE: of another name nothing arrives
other() {
	local port=443
	# shellcheck disable=SC2086
	peer $port $1
	sends "$2" "tls:other.example:$3"
	[[ $status -eq 1 && $output == *"ended E"* ]] || { echo "other: $* $status $output $(parts)" >&2; return 1; }
	[ "$(jq -c -s '[any(.[]; .event=="open"), any(.[]; .event=="part")]' "$WORLD/peer.log")" = "[true,false]" ] || { parts >&2; return 1; }
}

@test "holes that are told and holes that are not, anywhere in a hello" {
	local lost
	for lost in drop=1 drop=2 drop=2,4 drop=1,2,3,4,5,6; do over "$lost" slow 8000; done
	over "drop=2 sack=0" slow 4000
	over "cut=700 drop=3" slow 4000
	other drop=1 slow 4000
}

@test "what is sent again is put together with what was written behind it" {
	over drop=1 pieces 300 370
	over drop=1,2,3,4,5,6,7,8,9,10,11 pieces 300 370
	[ "$(jq -s 'any(.[]; .event=="part" and .at==0 and .size>=554)' "$WORLD/peer.log")" = true ] # so it was
	over "drop=2,3,4,5 sack=0" pieces 2800 370
	other drop=1,2,3 pieces 300
}

@test "a second hello that is lost at first" {
	over "again=1 drop=2" again 300 523 tls:lossy.example
	peer 443 extra=523 again=1 drop=2
	port=443 sends again tls:lossy.example:300 tls:other.example
	[[ $status -eq 1 && $output == *"ended E"* ]]
	[ "$(jq -s 'any(.[]; .event=="part" and .at==0) and all(.[]|select(.event=="part"); .at==0)' "$WORLD/peer.log")" = true ]
}

@test "a small segment, a window that is small or shut, and a path that becomes narrower" {
	over "mss=300 drop=2,5" slow 4000
	over window=700 whole 4000
	over window=0 whole 4000
	other window=0 whole 4000
	over ptb=600 slow 4000
	over "ptb=600 drop=3" pieces 2800 370
}
