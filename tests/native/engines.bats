#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# engines.bats - docs/oci.md with a real engine: Podman, with its hooks folder (containerd.bats has the other)
#
# What it is configured with is taken out of the document; paths are exchanged for those of the test.

load helpers
load oci_bundle
load engines

setup_file() { engines_up; }
teardown_file() { world_down; }
teardown() {
	podman pod rm --all --force --time 0 >/dev/null 2>&1 || true
	podman rm --all --force --time 0 >/dev/null 2>&1 || true
	rm -rf "$WORLD/evidence"
}

@test "Podman: a container reaches what its annotation's profile lists and nothing else; without one, what the default lists" {
	documented json '"stages"' | diff - <(sed 's,@SBINDIR@,/usr/sbin,' "$top/examples/hooks.d.json.in")
	for RUNTIME in runc crun; do
		rm -rf "$WORLD/evidence"
		mark
		run -1 podman_run --rm --annotation netcordon.profile=web --rootfs "$WORLD/rootfs" /bin/sh -c "$both"
		through_refused
		ours evidence verify "$WORLD"/evidence/oci-* --public-key "$WORLD/key.pub"
		jq -e '.container.chosen_by == "annotation" and .container.profile == "web"' "$WORLD"/evidence/oci-*/launch.json
		jq -e -s 'any(.[]; .reason == "destination_not_listed" and .decision == "deny")' "$WORLD"/evidence/oci-*/events.jsonl
		rm -rf "$WORLD/evidence"
		mark
		run -1 podman_run --rm --rootfs "$WORLD/rootfs" /bin/sh -c "$both"
		through_refused
		jq -e '.container.chosen_by == "default"' "$WORLD"/evidence/oci-*/launch.json
	done
	mark
	run -1 podman_run --rm --annotation netcordon.profile=none --rootfs "$WORLD/rootfs" /tools/attempt tcp $PUB_A 443
	[[ $output == *'"errno":"EPERM"'* ]]
	nothing_reached $PUB_A 443
	nothing_lives
}

# gets_out: a container reaches what nobody lists, so it is not sealed
gets_out() {
	mark
	run -0 podman_run --rm --rootfs "$WORLD/rootfs" /tools/attempt tcp $PUB_B 443
	reached $PUB_B 443
}

@test "Podman: where the hooks folder, its file or the program is not there, containers are open; where the file is broken, none starts" {
	local hooks=$WORLD/hooks.d/netcordon.json
	export HOOKS=$WORLD/other.d
	gets_out
	mkdir "$HOOKS"
	cp "$hooks" "$HOOKS/netcordon.json.off"
	gets_out
	jq '.hook.path = "/nonexistent"' "$hooks" >"$HOOKS/netcordon.json"
	gets_out
	head -c 40 "$hooks" >"$HOOKS/netcordon.json"
	run -126 podman_run --rm --rootfs "$WORLD/rootfs" /usr/bin/touch /tmp/ran
	[[ $output == *"$HOOKS/netcordon.json"* && ! -e $WORLD/rootfs/tmp/ran ]]
	# only those that ask
	jq --argjson when "$(sed -n 's/^With `"when": \(.*\)` only containers.*/\1/p' "$top/docs/oci.md")" '.when = $when' "$hooks" >"$HOOKS/netcordon.json"
	gets_out
	mark
	run -1 podman_run --rm --annotation netcordon.profile=web --rootfs "$WORLD/rootfs" /bin/sh -c "$both"
	through_refused
}

@test "Podman: a profile that is not there, a path, a misspelt annotation start no container, and the reason is told" {
	for RUNTIME in runc crun; do
		while IFS='|' read -r annotation container reason; do
			: >"$WORLD/syslog"
			run -126 podman_run --rm --name refused --annotation "$annotation" --rootfs "$WORLD/rootfs" /usr/bin/touch /tmp/ran
			[ ! -e "$WORLD/rootfs/tmp/ran" ]
			# crun keeps to itself what a hook prints: the reason is in the system's log too
			[ $RUNTIME = crun ] || [[ $output =~ $reason ]]
			[[ $output == *"exit "*"3"* || $output == *"exit "*"2"* ]]
			[[ $output != *"command that was not found"* ]]
			eventually 50 "grep -q 'netcordon\[[0-9]*\]: ${container}[a-z_]*: .*$reason' $WORLD/syslog" || { cat "$WORLD/syslog" >&2; return 1; }
		done <<-END
			netcordon.profile=missing|container [0-9a-f]\{64\}: |there is no profile $WORLD/profiles/missing.json
			netcordon.profile=$WORLD/profiles/web.json||.*must be a name
			netcordon.profil=web||.*unknown annotation
		END
		podman_run --rm --annotation netcordon.profile=web --rootfs "$WORLD/rootfs" /usr/bin/touch /tmp/ran
		rm "$WORLD/rootfs/tmp/ran"
	done
	nothing_lives
}

@test "Podman: a running container is sealed through exec, health checks, pause, restart; its end closes the evidence" {
	run -0 podman_run --detach --name long --annotation netcordon.profile=web --health-cmd "/tools/attempt tcp $PUB_B 443" --health-interval disable \
		--rootfs "$WORLD/rootfs" /usr/bin/sleep 600
	id=$output
	[ ${#id} = 64 ]
	run -0 ours check-container "$(podman_pid long)"
	[[ $output == *"sealed "*"oci-${id:0:40}-"*supervised* ]]
	mark
	run -1 podman exec long /bin/sh -c "$both"
	through_refused
	run -1 podman healthcheck run long
	nothing_reached $PUB_B 443
	podman pause long
	ours check-container "$(podman_pid long)"
	podman unpause long
	podman restart --time 0 long
	ours check-container "$(podman_pid long)"
	mark
	run -1 podman exec long /bin/sh -c "$both"
	through_refused
	podman stop --time 0 long
	nothing_lives
	closed_for "$id" 2
	podman rm long
	# the twin: started while the hooks folder was another
	HOOKS=$WORLD/nowhere podman_run --detach --name bare --rootfs "$WORLD/rootfs" /usr/bin/sleep 600
	run -1 ours check-container "$(podman_pid bare)"
	[[ $output == *"NOT SEALED"* ]]
}

@test "Podman: each container of a pod has a cordon of its own, and so has the pod's first, which holds its namespaces" {
	podman_image
	# a cgroup that the containers of a pod share lets them open no device, hooks or not, where Podman 4.3 makes it itself
	podman pod create --name pod --infra-image localhost/pause:1 --infra-command /pause --share-parent=false --cgroup-parent "/${ROOT##*/}" --network host
	NETWORK='' podman_run --detach --pod pod --name one --annotation netcordon.profile=web --rootfs "$WORLD/rootfs" /usr/bin/sleep 600
	run -0 ours check-container "$(podman_pid one)" "$(podman_pid "$(podman pod inspect pod | jq -r .InfraContainerID)")"
	[ "$(grep -c "sealed  oci-.*supervised" <<<"$output")" = 2 ]
	mark
	run -1 podman exec one /bin/sh -c "$both"
	through_refused
	podman pod rm --force --time 0 pod
	nothing_lives
	[ "$(find "$WORLD/evidence" -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
	for folder in "$WORLD"/evidence/*; do ours evidence verify "$folder" --public-key "$WORLD/key.pub"; done
}
