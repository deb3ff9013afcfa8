#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# oci.bats - containers of crun and runc behind `netcordon oci-hook`, and `check-container`, which finds the ones that are not

load helpers
load oci_bundle

RUNTIMES="crun runc"

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	base_profile
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	cp "$WORLD/key.pem" "$WORLD/key.away"
	"$netcordon" host up --root "$ROOT" >/dev/null
	mkdir -m 755 "$WORLD/profiles"
	cp "$WORLD/profile.json" "$WORLD/profiles/web.json"
	jq -n --arg w "$WORLD" '{version: 1, key: ($w + "/key.pem"), evidence: ($w + "/evidence"), profiles: ($w + "/profiles"), container_profile: "web"}' \
		>"$WORLD/netcordon.conf"
}
teardown_file() { world_down; }
teardown() {
	local runtime name
	for runtime in $RUNTIMES; do
		for name in $(container "$runtime" list -q 2>/dev/null); do container "$runtime" delete --force "$name" || true; done
	done
	rm -rf "$WORLD/evidence"
	cp "$WORLD/key.away" "$WORLD/key.pem"
	chmod 644 "$WORLD/netcordon.conf"
}

# netcordon as the runtimes see this machine
ours() { on_v2 timeout -k 5 30 "$netcordon" "$@" --config "$WORLD/netcordon.conf" --root "$(root_v2)"; }
nothing_left() { [ "$(ours status --json | jq length)" = 0 ]; }
listed='["/tools/attempt","tcp","'$PUB_A'","443"]' unlisted='["/tools/attempt","tcp","'$PUB_B'","443"]'
stays='["/usr/bin/sleep","300"]'

# detached RUNTIME NAME: created and started, with its pid in $pid
detached() {
	container "$1" run --detach --bundle "$WORLD/$2" "$2" </dev/null >"$WORLD/$2.out" 2>&1 3>&- || { cat "$WORLD/$2.out" >&2; return 1; }
	pid=$(container "$1" state "$2" | jq .pid)
}

# never_ran RUNTIME NAME: the runtime gives up, and the container's program has left no mark
never_ran() {
	rm -f "$WORLD/$2/rootfs/tmp/ran"
	run ! run_container "$1" "$2"
	[ ! -e "$WORLD/$2/rootfs/tmp/ran" ]
	nothing_left
}

@test "a container reaches what its profile lists and nothing else, as root and as a user, and its evidence is closed" {
	for runtime in $RUNTIMES; do
		for USER_ID in 0 1000; do
			mark
			ARGS=$listed bundle ok
			run -0 run_container $runtime ok
			[[ $output == *'"outcome":"through"'* ]]
			reached $PUB_A 443
			rm -rf "$WORLD/evidence"
			mark
			ARGS=$unlisted bundle no
			run -1 run_container $runtime no
			[[ $output == *'"errno":"EPERM"'* ]]
			nothing_reached $PUB_B 443
			# poststop has waited for the end: the folder is whole when the runtime returns
			ours evidence verify "$WORLD"/evidence/oci-no-* --public-key "$WORLD/key.pub"
			jq -e '.provider == "netcordon:oci-provider" and .container.id == "no" and .container.profile == "web" and
				.container.chosen_by == "default"' "$WORLD"/evidence/oci-no-*/launch.json
			jq -e -s 'any(.[]; .reason == "destination_not_listed" and .decision == "deny")' "$WORLD"/evidence/oci-no-*/events.jsonl
			nothing_left
			[ ! -d "$ROOT/no" ]
		done
	done
}

@test "a container that a runtime puts below the root of its cgroup namespace is sealed there, and finds no way around" {
	local script='mkdir /sys/fs/cgroup/out && echo 0 >/sys/fs/cgroup/out/cgroup.procs && tail -n 1 /proc/self/cgroup && exec /tools/attempt tcp $0 443'
	for to in $PUB_B $PUB_A; do
		mark
		ANNOTATIONS='{"run.oci.delegate-cgroup":"inner"}' ARGS=$(jq -nc --arg s "$script" --arg a "$to" '["/bin/sh","-c",$s,$a]') bundle reach
		mkdir "$WORLD/reach/rootfs/sys"
		jq '.linux.namespaces += [{type: "cgroup"}] | .mounts += [{destination: "/sys", type: "sysfs", source: "sysfs"},
			{destination: "/sys/fs/cgroup", type: "cgroup2", source: "cgroup2", options: ["rw"]}]' "$WORLD/reach/config.json" >"$WORLD/config"
		mv "$WORLD/config" "$WORLD/reach/config.json"
		run run_container crun reach
		[[ $output == *0::/out* ]] || { echo "$output" >&2; return 1; } # it can move
		if [ "$to" = "$PUB_B" ]; then
			[[ $status -eq 1 && $output == *'"errno":"EPERM"'* ]] || { echo "$output" >&2; return 1; }
			nothing_reached $PUB_B 443
		else
			[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
			reached $PUB_A 443
		fi
		rm -rf "$WORLD/reach" "$WORLD/evidence"
		nothing_left
	done
}

@test "the same container without hooks gets out, and check-container finds it" {
	for runtime in $RUNTIMES; do
		mark
		HOOKS={} ARGS=$unlisted bundle bare
		run -0 run_container $runtime bare
		reached $PUB_B 443
		HOOKS={} ARGS=$stays bundle bare
		detached $runtime bare
		run -1 ours check-container "$pid"
		[[ $output == *"NOT SEALED"* ]]
		ARGS=$stays bundle good
		bare=$pid
		detached $runtime good
		run -0 ours check-container "$pid" "$(root_v2)/good"
		run -1 ours check-container --json "$pid" "$bare"
		echo "$output" | jq -e '.[0].sealed and .[0].instance == "oci-good" and .[0].processes == 1 and .[0].strays == 0 and (.[1].sealed | not)'
		# a name that begins like it, or leads through it, is not it (O09)
		mkdir "$ROOT/good2"
		run -1 ours check-container "$(root_v2)/good2" "$(root_v2)/good/../good2"
		rmdir "$ROOT/good2"
		# a process of the container that somebody moves out
		on_v2 bash -c "echo $pid >$(root_v2)/bare/cgroup.procs"
		run -1 ours check-container "$pid"
		container $runtime delete --force good
		container $runtime delete --force bare
	done
}

@test "the annotation chooses among the operator's profiles; what is no such name starts nothing" {
	echo '{"version":1,"network":{"mode":"none"}}' >"$WORLD/profiles/none.json"
	echo '{"version":1,"network":{"mode":"open"}}' >"$WORLD/profiles/broken.json"
	cp "$WORLD/profiles/web.json" "$WORLD/loose.json"
	ln -sfn "$WORLD/loose.json" "$WORLD/profiles/link.json"
	cp "$WORLD/profiles/web.json" "$WORLD/profiles/loose.json" && chmod 666 "$WORLD/profiles/loose.json"
	for runtime in $RUNTIMES; do
		mark
		ANNOTATIONS='{"netcordon.profile":"none"}' ARGS=$listed bundle chosen
		run -1 run_container $runtime chosen
		[[ $output == *EPERM* ]]
		nothing_reached $PUB_A 443
		jq -e '.container.chosen_by == "annotation" and .profile.mode == "none"' "$WORLD"/evidence/oci-chosen-*/launch.json
		export ARGS='["/usr/bin/touch","/tmp/ran"]'
		for name in loose "$WORLD/profiles/web.json"; do
			ANNOTATIONS=$(jq -n --arg n "$name" '{"netcordon.profile": $n}') bundle refused
			never_ran $runtime refused
		done
		# the twin: it was the name
		ANNOTATIONS='{"netcordon.profile":"web"}' bundle refused
		run_container $runtime refused
		[ -e "$WORLD/refused/rootfs/tmp/ran" ]
		unset ARGS
	done
}

@test "a container does not start when its seal fails" {
	export ARGS='["/usr/bin/touch","/tmp/ran"]'
	for runtime in $RUNTIMES; do
		bundle closed
		# no key; a configuration that others can write; no default; a hook that is not there
		rm "$WORLD/key.pem"
		never_ran $runtime closed
		cp "$WORLD/key.away" "$WORLD/key.pem"
		chmod 666 "$WORLD/netcordon.conf"
		run ! run_container $runtime closed
		[ ! -e "$WORLD/closed/rootfs/tmp/ran" ]
		chmod 644 "$WORLD/netcordon.conf"
		jq 'del(.container_profile)' "$WORLD/netcordon.conf" >"$WORLD/other.conf"
		HOOKS=$(hooks | jq --arg c "$WORLD/other.conf" '.createRuntime[0].args[3] = $c') bundle closed
		never_ran $runtime closed
		HOOKS=$(hooks | jq '.createRuntime[0].path = "/nonexistent"') bundle closed
		never_ran $runtime closed
		# a cgroup that overlaps a sealed one
		ARGS=$stays bundle outer
		detached $runtime outer
		jq --arg c "/${ROOT##*/}/outer/inner" '.linux.cgroupsPath = $c' "$WORLD/closed/config.json" >"$WORLD/new" && mv "$WORLD/new" "$WORLD/closed/config.json"
		rm -f "$WORLD/closed/rootfs/tmp/ran"
		run ! run_container $runtime closed
		[ ! -e "$WORLD/closed/rootfs/tmp/ran" ]
		container $runtime delete --force outer
		bundle closed
		run_container $runtime closed
		[ -e "$WORLD/closed/rootfs/tmp/ran" ]
	done
}

@test "what is executed into a container, and what moves into cgroups below it, is behind the same cordon" {
	for runtime in $RUNTIMES; do
		ARGS=$stays bundle one
		detached $runtime one
		mark
		run -0 container $runtime exec one /tools/attempt tcp $PUB_A 443
		reached $PUB_A 443
		mark
		run -1 container $runtime exec one /tools/attempt tcp $PUB_B 443
		[[ $output == *EPERM* ]]
		mkdir -p "$ROOT/one/init.scope/deeper"
		run -0 inside one/init.scope/deeper "$tools/attempt" tcp $PUB_A 443
		run -1 inside one/init.scope/deeper "$tools/attempt" tcp $PUB_B 443
		[[ $output == *EPERM* ]]
		nothing_reached $PUB_B 443
		run -0 ours check-container "$(root_v2)/one/init.scope/deeper"
		rmdir "$ROOT/one/init.scope/deeper" "$ROOT/one/init.scope"
		container $runtime delete --force one
		nothing_left
	done
}

@test "in a network namespace of its own, loopback is open only where the profile opens it" {
	MEMBERS='"loopback":"own_netns"' profile tcp $PUB_A 443
	cp "$WORLD/profile.json" "$WORLD/profiles/own.json"
	talk='import socket
s = socket.create_server(("127.0.0.1", 8080)); c = socket.create_connection(("127.0.0.1", 8080), 5); a, _ = s.accept()
c.send(b"hello"); print(a.recv(5).decode())'
	ARGS=$(jq -n --arg t "$talk" '["/usr/bin/python3", "-c", $t]')
	export ARGS
	for runtime in $RUNTIMES; do
		NETNS='' ANNOTATIONS='{"netcordon.profile":"own"}' bundle lo
		if lacks netns_cookie; then
			run ! run_container $runtime lo
			[[ $output != *hello* ]]
		else
			run -0 run_container $runtime lo
			[[ $output == *hello* ]]
		fi
		NETNS='' ANNOTATIONS='{"netcordon.profile":"web"}' bundle lo
		run ! run_container $runtime lo
		[[ $output == *"Operation not permitted"* || $output == *PermissionError* ]]
	done
}

@test "the container outlives a killed supervisor behind its cordon; poststop then takes the instance away, and the evidence stays open" {
	for runtime in $RUNTIMES; do
		ARGS=$stays bundle lone
		detached $runtime lone
		supervisor=$(jq .supervisor.pid /run/netcordon/*/instances/oci-lone/state.json)
		# nothing of the runtime's stays with it
		[ "$(readlink "/proc/$supervisor/cwd")" = / ]
		for fd in 0 1 2; do [ "$(readlink "/proc/$supervisor/fd/$fd")" = /dev/null ]; done
		[ "$(tr -d '\0' <"/proc/$supervisor/environ" | wc -c)" = 0 ]
		kill -9 "$supervisor"
		eventually 50 "! kill -0 $supervisor 2>/dev/null"
		mark
		run -0 container $runtime exec lone /tools/attempt tcp $PUB_A 443
		run -1 container $runtime exec lone /tools/attempt tcp $PUB_B 443
		nothing_reached $PUB_B 443
		run -0 ours host status
		run -0 ours check-container "$pid"
		[[ $output == *"no supervisor"* ]]
		container $runtime delete --force lone
		nothing_left
		run -4 ours evidence verify "$WORLD"/evidence/oci-lone-* --public-key "$WORLD/key.pub"
		rm -rf "$WORLD/evidence"
	done
}

@test "another container of the same id does not start, and its poststop ends nothing that lives" {
	local runtime=crun
	ARGS=$stays bundle twin
	detached $runtime twin
	mkdir -p "$WORLD/elsewhere"
	cp -r "$WORLD/twin" "$WORLD/elsewhere/twin"
	jq --arg c "/${ROOT##*/}/twin-other" '.linux.cgroupsPath = $c' "$WORLD/twin/config.json" >"$WORLD/elsewhere/twin/config.json"
	run ! on_v2 timeout -k 5 60 "$runtime" --root "$WORLD/elsewhere/$runtime" run --bundle "$WORLD/elsewhere/twin" twin </dev/null 3>&-
	run -0 ours check-container "$pid"
	[[ $output == *supervised* ]]
	container $runtime delete --force twin
	rm -rf "$WORLD/elsewhere"
	nothing_left
}

@test "cgroups with names that were never meant to be parsed, and an update, twice, that leaves one program of ours" {
	cp "$WORLD/profiles/web.json" "$WORLD/second.json"
	local runtime=crun
	ARGS=$stays bundle odd
	jq --arg c "/${ROOT##*/}/a-b-c.slice x:y \\x2d" '.linux.cgroupsPath = $c' "$WORLD/odd/config.json" >"$WORLD/new" && mv "$WORLD/new" "$WORLD/odd/config.json"
	detached $runtime odd
	run -0 ours check-container "$pid"
	ours update oci-odd --profile "$WORLD/second.json"
	ours update oci-odd --profile "$WORLD/profiles/web.json"
	# from the links: bpftool 7.1 shows nothing of a cgroup where the kernel lacks one of the kinds that it asks for
	[ "$(bpftool -j link show | jq --argjson at "$(stat -c %i "$ROOT/a-b-c.slice x:y \\x2d")" '
		[.[] | select(.cgroup_id == $at and (.attach_type | tostring | test("^(connect4|cgroup_inet4_connect)$")))] | length')" = 1 ]
	run -1 container $runtime exec odd /tools/attempt tcp $PUB_B 443
	run -0 container $runtime exec odd /tools/attempt tcp $PUB_A 443
	container $runtime delete --force odd
}

@test "the hook alone: no environment, descriptors that it was not meant to have, states that never end or lie" {
	mkdir -p "$ROOT/hand"
	# shellcheck disable=SC2016
	bash -c 'echo 0 >"$0/cgroup.procs" && exec nsenter --net="$1" sleep 300' "$ROOT/hand" /run/netns/"$WL" 3>&- &
	sleeper=$!
	echo $sleeper >"$WORLD/hand.pid"
	eventually 50 "grep -q $sleeper $ROOT/hand/cgroup.procs"
	eventually 50 "[ \"\$(cat /proc/$sleeper/comm)\" = sleep ]"
	state() { jq -n --argjson p "$1" --arg s "$2" '{ociVersion: "1.0.2", id: "hand", bundle: "/b", pid: $p, status: $s}'; }
	hook() { (cd / && on_v2 env -i "$netcordon" oci-hook --config "$WORLD/netcordon.conf" --root "$(root_v2)"); }
	# the names that a container's author may not give, and a misspelt annotation
	for name in missing broken link ../loose ""; do
		run ! hook < <(state $sleeper creating | jq --arg n "$name" '.annotations = {"netcordon.profile": $n}')
	done
	run -2 hook < <(state $sleeper creating | jq '.annotations = {"netcordon.profil": "web"}')
	nothing_left
	# a process that is not there, one that is running, one outside the root, half a state, no end
	run -2 hook < <(state 4194303 creating)
	run -2 hook < <(state $sleeper running)
	run ! hook < <(state 1 creating)
	run -2 hook < <(state $sleeper creating | head -c 40)
	run -3 hook < <(state $sleeper creating; sleep 8)
	[[ $output == *deadline* ]]
	nothing_left
	exec 9>"$WORLD/leaked"
	state $sleeper creating | hook
	exec 9>&-
	supervisor=$(jq .supervisor.pid /run/netcordon/*/instances/oci-hand/state.json)
	run ! bash -c "readlink /proc/$supervisor/fd/* | grep -q leaked"
	run -0 ours check-container $sleeper
	# while it lives, the end is waited for and not made
	run -3 hook < <(state 0 stopped)
	run -0 ours check-container $sleeper
	kill $sleeper
	state 0 stopped | hook
	nothing_left
	# and for one that nobody knows there is nothing to do
	state 0 stopped | hook
	rmdir "$ROOT/hand"
}

@test "a hook that is killed before its container is sealed: the supervisor takes away what it has made, evidence too" {
	local folder hook supervisor
	folder=$(echo /run/netcordon/*-"$(printf %x "$(stat -c %i "$ROOT")")")
	mkdir -p "$ROOT/orphan"
	# shellcheck disable=SC2016
	bash -c 'echo 0 >"$0/cgroup.procs" && exec nsenter --net="$1" sleep 300' "$ROOT/orphan" /run/netns/"$WL" 3>&- &
	sleeper=$!
	echo $sleeper >"$WORLD/orphan.pid"
	eventually 50 "[ \"\$(cat /proc/$sleeper/comm)\" = sleep ]"
	jq -n --argjson p $sleeper '{ociVersion: "1.0.2", id: "orphan", bundle: "/b", pid: $p, status: "creating"}' >"$WORLD/orphan.json"
	# it waits for the host's lock, and meanwhile the hook dies
	exec 8<"$folder"
	flock 8
	# shellcheck disable=SC2016
	on_v2 sh -c 'echo $$ >"$0" && cd / && exec env -i "$@"' "$WORLD/orphan.hook" "$netcordon" oci-hook --config "$WORLD/netcordon.conf" --root "$(root_v2)" \
		<"$WORLD/orphan.json" >/dev/null 2>&1 3>&- 8<&- &
	eventually 50 "[ -s $WORLD/orphan.hook ]"
	hook=$(cat "$WORLD/orphan.hook")
	eventually 50 "pgrep -P $hook"
	supervisor=$(pgrep -P "$hook")
	kill -KILL "$hook"
	eventually 50 "! kill -0 $hook 2>/dev/null"
	kill -0 "$supervisor"
	exec 8<&-
	eventually 50 "! kill -0 $supervisor 2>/dev/null"
	nothing_left
	[ -z "$(find "$WORLD/evidence" -mindepth 1 2>/dev/null)" ] || { find "$WORLD/evidence" >&2; return 1; }
	# what stands in the cgroup is the runtime's to end, which hears of it by the hook's end
	kill "$sleeper"
	eventually 50 "rmdir $ROOT/orphan 2>/dev/null"
}
