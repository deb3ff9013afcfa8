#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# package.bats - the Debian package, in a guest: installed, used, exchanged for another build under a live instance, removed, and nothing left
#
# build/deb and build/deb-next hold the two builds (make deb-both). Each test goes on where the one before ended.

bats_require_minimum_version 1.5.0

setup_file() {
	export WORK=/tmp/package
	mkdir -p "$WORK"
	chmod 711 "$WORK"
	echo '{"version":1,"network":{"mode":"unrestricted"}}' >"$WORK/open.json"
	python3 -m http.server 8080 --bind 127.0.0.1 --directory "$WORK" >"$WORK/listener" 2>&1 3>&- &
	echo $! >"$WORK/listener.pid"
	for _ in $(seq 300); do (exec 4<>/dev/tcp/127.0.0.1/8080) 2>/dev/null && break; sleep 0.2; done
}
teardown_file() { kill "$(cat "$WORK/listener.pid")"; }

# Each line of its output is one attempt at a live listener on the host's own loopback, which no mode opens.
attempts='while :; do if (exec 3<>/dev/tcp/127.0.0.1/8080); then echo leaked; else echo refused; fi; sleep 0.2; done'
refusals() { grep -c '^refused' "$WORK/long.out"; }
more_refusals() {
	local before
	before=$(refusals)
	for _ in $(seq 300); do [ "$(refusals)" -gt $((before + 2)) ] && break; sleep 0.2; done
	[ "$(refusals)" -gt $((before + 2)) ]
	run ! grep leaked "$WORK/long.out"
	grep -q 'Operation not permitted' "$WORK/long.err"
}

@test "install and use" {
	dpkg -i build/deb/netcordon_*.deb
	netcordon key generate /etc/netcordon/attester.pem
	netcordon host up
	run -0 netcordon run --profile "$WORK/open.json" -- /bin/echo hello
	[ "$output" = hello ]
	man -w netcordon && man -w netcordon-edge
	[ -f /lib/systemd/system/netcordon-host.service ]
	[ -e /etc/systemd/system/sysinit.target.wants/netcordon-host.service ]
	netcordon run --profile "$WORK/open.json" --instance long -- /bin/bash -c "$attempts" >"$WORK/long.out" 2>"$WORK/long.err" 3>&- &
	echo $! >"$WORK/long.pid"
	for _ in $(seq 300); do [ -s "$WORK/long.out" ] && break; sleep 0.2; done
	more_refusals
}

@test "exchange it for another build: the live instance goes on under its own, new ones start under the new" {
	netcordon version --json | jq -r .manifest >"$WORK/first"
	dpkg -i build/deb-next/netcordon_*.deb
	netcordon version --json | jq -r .manifest >"$WORK/second"
	run ! cmp "$WORK/first" "$WORK/second"
	more_refusals
	run -0 netcordon run --profile "$WORK/open.json" -- /bin/echo hello
	[ "$(find /sys/fs/bpf/netcordon -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
	more_refusals
}

@test "it is not removed under a live instance" {
	run ! dpkg -r netcordon
	[[ $output == *"still live"* ]]
	more_refusals
}

@test "remove and purge: nothing is left but what is the operator's" {
	kill "$(cat "$WORK/long.pid")"
	for _ in $(seq 300); do kill -0 "$(cat "$WORK/long.pid")" 2>/dev/null || break; sleep 0.2; done
	dpkg -r netcordon
	dpkg -P netcordon
	[ ! -e /sys/fs/bpf/netcordon ]
	[ ! -e /run/netcordon ]
	run ! ls -d /sys/fs/cgroup/netcordon-*
	run ! ls /usr/sbin/netcordon /usr/sbin/netcordon-edge /usr/share/netcordon /usr/share/doc/netcordon /usr/lib/netcordon /lib/systemd/system/netcordon-host.service
	[ "$(find /etc/netcordon -type f)" = /etc/netcordon/attester.pem ]
	[ "$(bpftool cgroup tree 2>/dev/null | grep -c connect4)" = 0 ]
}
