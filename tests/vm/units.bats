#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# units.bats - the systemd units, in a guest that has booted with them: units-before has installed the package and an engine that starts as early as it may
#
# Each test goes on where the one before ended. Attempts are made at a live listener on the host's own loopback, which no mode opens.

bats_require_minimum_version 1.5.0

setup_file() {
	export WORK=/tmp/units
	mkdir -p "$WORK"
	chmod 711 "$WORK"
	netcordon key generate /etc/netcordon/attester.pem
	netcordon key public /etc/netcordon/attester.pem >"$WORK/key.pub"
	python3 -m http.server 8080 --bind 127.0.0.1 --directory "$WORK" >"$WORK/listener" 2>&1 3>&- &
	echo $! >"$WORK/listener.pid"
	for _ in $(seq 300); do (exec 4<>/dev/tcp/127.0.0.1/8080) 2>/dev/null && break; sleep 0.2; done
	echo '{"version":1,"network":{"mode":"unrestricted"}}' >"$WORK/open.json"
	jq '.process = {limits: {memory: "256M", cpu_percent: 60, pids: 50}}' "$WORK/open.json" >"$WORK/limited.json"
	# shellcheck disable=SC2016
	echo 'while :; do if (exec 3<>/dev/tcp/127.0.0.1/8080); then echo leaked; else echo refused; fi; sleep 0.2; done' >"$WORK/attempts"
}
teardown_file() { kill "$(cat "$WORK/listener.pid")"; }

shown() { systemctl show --value -p "$1" "$2"; }
eventually() { for _ in $(seq 300); do eval "$1" && return; sleep 0.2; done; return 1; }
refusals() { grep -c '^refused' "$WORK/$1.out" || true; }
more_refusals() {
	local before
	before=$(refusals "$1")
	eventually "[ \$(refusals $1) -gt $((before + 2)) ]"
	run ! grep leaked "$WORK/$1.out"
	grep -q 'Operation not permitted' "$WORK/$1.err"
}
limits() { (cd "$(cat "$WORK/cgroup")" && cat memory.max cpu.max pids.max); }

# What the service manager does to cgroups when units come and go, whose controllers it then takes to be all that are wanted.
others_come_and_go() {
	systemctl daemon-reload
	systemd-run -q --wait -p CPUWeight=50 -p MemoryMax=64M -p TasksMax=20 true
	systemd-run -q --wait --slice=other.slice -p IPAddressDeny=any -p CPUQuota=50% true
	systemctl daemon-reexec
}

@test "netcordon is up when an engine starts, which waits for nothing else" {
	[ "$(systemctl is-active netcordon-host.service)" = active ]
	[ "$(systemctl is-active containerd.service)" = active ]
	jq -e '.up and ([.programs[] | select(.ours)] | length) >= 10' /run/engine
	[ "$(shown ExecMainExitTimestampMonotonic netcordon-host.service)" -gt 0 ]
	[ "$(shown ExecMainExitTimestampMonotonic netcordon-host.service)" -le "$(shown ExecMainStartTimestampMonotonic containerd.service)" ]
	for engine in containerd crio docker podman kubelet nomad; do
		[[ " $(shown Before netcordon-host.service) " == *" $engine.service "* ]]
	done
	netcordon host status
}

@test "systemd has nothing to say about the units, neither the package's nor those of make install" {
	cp -a build/vm/installed/usr/local/. /usr/local/
	for folder in /lib/systemd/system /usr/local/lib/systemd/system; do
		run -0 systemd-analyze verify --recursive-errors=no "$folder/netcordon-host.service" "$folder/netcordon.slice"
		[ -z "$output" ]
	done
	sed 's/^Type=/Tpye=/' /usr/local/lib/systemd/system/netcordon-host.service >"$WORK/wrong.service"
	run systemd-analyze verify --recursive-errors=no "$WORK/wrong.service"
	[[ $output == *Tpye* ]]
	rm -r /usr/local/lib/systemd/system
}

@test "what the service manager does leaves a live instance its cordon and its limits" {
	systemd-run -q --unit=box --slice=netcordon.slice -p Delegate=yes -p KillMode=mixed -p "StandardOutput=file:$WORK/box.out" \
		-p "StandardError=file:$WORK/box.err" netcordon run --profile "$WORK/limited.json" --instance box --evidence "$WORK/evidence" -- /bin/bash "$WORK/attempts"
	eventually '[ -s "$WORK/box.out" ]'
	[ "$(shown ControlGroup box.service)" = /netcordon.slice/box.service ]
	dirname "$(grep -l . /sys/fs/cgroup/netcordon-*.slice/*/cgroup.procs | head -n 1)" >"$WORK/cgroup"
	limits >"$WORK/before"
	run ! grep max$ "$WORK/before"
	more_refusals box
	others_come_and_go
	limits | diff "$WORK/before" -
	more_refusals box
	netcordon host status
}

@test "a stopped or reloaded unit takes nothing away" {
	systemctl reload netcordon-host.service
	more_refusals box
	systemctl stop netcordon-host.service
	netcordon host status
	more_refusals box
	systemctl start netcordon-host.service
	more_refusals box
}

@test "the end of the service is the end of its instance, and the evidence is closed" {
	systemctl stop box.service
	run -0 netcordon evidence verify "$WORK/evidence" --public-key "$WORK/key.pub"
	jq -e '.result.signal == 15' "$WORK/evidence/closing.json"
	[ "$(netcordon status --json | jq length)" = 0 ]
	run ! grep . /sys/fs/cgroup/netcordon-*.slice/*/cgroup.procs
}

@test "a cgroup below a service that the slice was delegated to is sealed, and stays so" {
	# shellcheck disable=SC2016
	systemd-run -q --unit=engine --slice=netcordon.slice -p Delegate=yes -p "StandardOutput=file:$WORK/engine.out" -p "StandardError=file:$WORK/engine.err" \
		bash -c 'at=/sys/fs/cgroup/netcordon.slice/engine.service; mkdir "$at/box" "$at/own" && echo $$ >"$at/own/cgroup.procs" && echo "+memory +pids" >"$at/cgroup.subtree_control"
			(echo $BASHPID >"$at/box/cgroup.procs"; until [ -e "$0/go" ]; do sleep 0.1; done; exec bash "$0/attempts") & wait' "$WORK"
	at=/sys/fs/cgroup/netcordon.slice/engine.service/box
	eventually "grep -q . $at/cgroup.procs"
	netcordon attach --cgroup "$at" --profile "$WORK/open.json" --instance lower --evidence "$WORK/lower" >"$WORK/attach" 2>&1 3>&- &
	eventually "netcordon status --json | jq -e 'any(.[]; .instance == \"lower\")' >/dev/null && [ -e $WORK/lower/launch.json.sig ]"
	touch "$WORK/go"
	more_refusals engine
	others_come_and_go
	more_refusals engine
	[ -e "$at/memory.max" ]
	systemctl stop engine.service
	eventually "[ -e $WORK/lower/closing.json.sig ]"
	run -0 netcordon evidence verify "$WORK/lower" --public-key "$WORK/key.pub"
}
