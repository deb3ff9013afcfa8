#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# nested.bats - a process in a pid namespace that the workload made inside its own is a process of the workload, wherever it was put

load helpers

setup_file() {
	world_up
	mkdir -m 1777 "$WORLD/open"
	mkdir "$ROOT/box" "$ROOT/outside"
	profile tcp $PUB_A 443
}
teardown_file() {
	"$netcordon" stop --root "$ROOT" nested >/dev/null 2>&1 || true
	world_down
}

# numbered SECONDS: the process that sleeps exactly so long, in a cgroup of this world
numbered() {
	local pid
	while read -r pid; do
		[ "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)" != "sleep $1 " ] || echo "$pid"
	done < <(find "$ROOT" -name cgroup.procs -exec cat {} + 2>/dev/null)
}

check() { timeout 30 "$netcordon" check-container --root "$ROOT" --json "$1"; }

@test "check-container: a stray in a nested pid namespace is a stray" {
	local own nested
	# shellcheck disable=SC2016
	bash -c 'echo 0 >"$0/cgroup.procs" && exec nsenter --net="$1" unshare -p -f --kill-child sh -c "unshare -p -f sleep 1237 & exec sleep 1236"' \
		"$ROOT/box" /run/netns/"$WL" 3>&- >/dev/null 2>&1 &
	echo $! >"$WORLD/box.pid"
	eventually 100 '[ -n "$(numbered 1236)" ] && [ -n "$(numbered 1237)" ]'
	own=$(numbered 1236) nested=$(numbered 1237)
	timeout 60 "$netcordon" attach --cgroup "$ROOT/box" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --instance nested \
		--evidence "$WORLD/evidence" --key "$WORLD/key.pem" --status-fd 5 5>"$WORLD/status" >"$WORLD/out" 2>&1 3>&- &
	local supervisor=$!
	eventually 200 "grep -q sealed $WORLD/status" || { cat "$WORLD/out" >&2; return 1; }
	run -0 check "$own"
	[ "$(jq -c '.[0] | [.sealed, .strays]' <<<"$output")" = '[true,0]' ]
	echo "$nested" >"$ROOT/outside/cgroup.procs"
	run -1 check "$own"
	[ "$(jq -c '.[0] | [.sealed, .strays]' <<<"$output")" = '[false,1]' ]
	jq -e --arg p "process $nested " '.[0].why | contains($p)' <<<"$output"
	# asked about the nested one inside, what its own namespace holds is looked at, and not what is above it
	echo "$nested" >"$ROOT/box/cgroup.procs"
	run -0 check "$nested"
	[ "$(jq -c '.[0] | [.sealed, .processes]' <<<"$output")" = '[true,1]' ]
	kill -9 "$own" "$nested" # a namespace's first process takes no other signal
	wait $supervisor || true
}

# attached FOLDER: the box sealed for as long as something lives in it; what the launch statement says of its pid namespaces
attached() {
	timeout 60 "$netcordon" attach --cgroup "$ROOT/box" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --instance "$1" \
		--evidence "$WORLD/$1" --key "$WORLD/key.pem" --status-fd 5 5>"$WORLD/status" >"$WORLD/out" 2>&1 3>&- &
	eventually 200 "grep -q sealed $WORLD/status" || { cat "$WORLD/out" >&2; return 1; }
	jq -r '.left_to_others[] | select(.what == "pid_namespace") | .state' "$WORLD/$1/launch.json"
}

@test "attach: a pid namespace whose first process stands outside is left open, and said to be" {
	local first second
	# shellcheck disable=SC2016
	nsenter --net=/run/netns/"$WL" unshare -p -f --kill-child sh -c "sleep 1241 & exec sleep 1240" 3>&- >/dev/null 2>&1 &
	eventually 100 '[ -n "$(pgrep -fx "sleep 1240")" ] && [ -n "$(pgrep -fx "sleep 1241")" ]'
	first=$(pgrep -fx "sleep 1240") second=$(pgrep -fx "sleep 1241")
	echo "$first" >"$ROOT/box/cgroup.procs"
	echo "$second" >"$ROOT/box/cgroup.procs"
	[ "$(attached whole)" = ok ]
	run check "$second"
	jq -e '.[0] | .sealed and (.left_open | index("pid_namespace") | not)' <<<"$output"
	timeout 30 "$netcordon" stop --root "$ROOT" whole

	# shellcheck disable=SC2016
	nsenter --net=/run/netns/"$WL" unshare -p -f --kill-child sh -c "sleep 1243 & exec sleep 1242" 3>&- >/dev/null 2>&1 &
	eventually 100 '[ -n "$(pgrep -fx "sleep 1242")" ] && [ -n "$(pgrep -fx "sleep 1243")" ]'
	first=$(pgrep -fx "sleep 1242") second=$(pgrep -fx "sleep 1243")
	echo "$second" >"$ROOT/box/cgroup.procs"
	[ "$(attached shared)" = open ]
	run check "$second"
	jq -e '.[0] | (.sealed | not) and (.left_open | index("pid_namespace"))' <<<"$output"
	kill -9 "$first"
}

@test "run: a process in a nested pid namespace that is moved out ends the workload" {
	local nested
	RUN_OPTIONS="--instance nested --status-fd 5" LIMIT=60 cordon /bin/sh -c 'unshare -U -r -p -f sleep 1239 & exec sleep 1238' \
		5>"$WORLD/status" >"$WORLD/out" 2>&1 3>&- &
	local supervisor=$!
	eventually 200 '[ -n "$(numbered 1239)" ]' || { cat "$WORLD/out" "$WORLD/status" >&2; return 1; }
	nested=$(numbered 1239)
	echo "$nested" >"$ROOT/outside/cgroup.procs"
	wait $supervisor || true
	jq -e -s '.[-1].event=="exited" and .[-1].cause=="membership_lost"' "$WORLD/status"
	eventually 100 "[ ! -d /proc/$nested ]"
}
