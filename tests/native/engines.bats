#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# engines.bats - docs/oci.md with the real engines: Podman with its hooks folder, containerd with a base specification
#
# What the engines are configured with is taken out of the document; paths are exchanged for those of the test.

load helpers
load oci_bundle
load engines

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	base_profile
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	"$netcordon" host up --root "$ROOT" >/dev/null
	mkdir -m 755 "$WORLD/profiles" "$WORLD/hooks.d"
	cp "$WORLD/profile.json" "$WORLD/profiles/web.json"
	echo '{"version":1,"network":{"mode":"none"}}' >"$WORLD/profiles/none.json"
	jq -n --arg w "$WORLD" '{version: 1, key: ($w + "/key.pem"), evidence: ($w + "/evidence"), profiles: ($w + "/profiles"), container_profile: "web"}' \
		>"$WORLD/netcordon.conf"
	host_up
	podman_up
	documented json '"stages"' | here >"$WORLD/hooks.d/netcordon.json"
}
teardown_file() {
	containerd_down
	world_down
}
teardown() {
	podman pod rm --all --force --time 0 >/dev/null 2>&1 || true
	podman rm --all --force --time 0 >/dev/null 2>&1 || true
	[ ! -e "$WORLD/containerd.pid" ] || containerd_down >/dev/null 2>&1
	rm -rf "$WORLD/evidence"
}

both='/tools/attempt tcp '$PUB_A' 443; /tools/attempt tcp '$PUB_B' 443'
# through_refused: of both attempts, the listed one got through and the other was refused
through_refused() {
	[[ ${lines[0]} == *'"outcome":"through"'* && ${lines[1]} == *'"errno":"EPERM"'* ]] || { echo "$output" >&2; return 1; }
	reached $PUB_A 443
	nothing_reached $PUB_B 443
}
nothing_lives() { [ "$(ours status --json | jq length)" = 0 ]; }
# closed_for ID COUNT: so much evidence is there about the container, and all of it verifies
closed_for() {
	local folder count=0
	for folder in "$WORLD"/evidence/oci-*; do
		jq -e --arg id "$1" '.container.id == $id' "$folder/launch.json" >/dev/null || continue
		ours evidence verify "$folder" --public-key "$WORLD/key.pub"
		count=$((count + 1))
	done
	[ $count = "$2" ]
}

@test "Podman: a container reaches what its annotation's profile lists and nothing else; without one, what the default lists" {
	documented json '"stages"' | diff - <(sed 's,@SBINDIR@,/usr/sbin,' "$top/examples/hooks.d.json")
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

@test "Podman: a running container is sealed through exec, health checks, pause, restart and a second start; its end closes the evidence" {
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
	podman start long
	ours check-container "$(podman_pid long)"
	podman rm --force --time 0 long
	nothing_lives
	closed_for "$id" 3
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

# spec NAME SCRIPT: the base specification for a container of ctr, as $WORLD/NAME.json
spec() {
	jq --arg c "/${ROOT##*/}/$1" --arg script "$2" --arg w "$WORLD" --arg tools "$tools" --arg netns "/run/netns/$WL" '
		.linux.cgroupsPath = $c | .root.path = $w + "/rootfs" | .process.args = ["/bin/sh", "-c", $script] |
		.mounts += [{destination: "/usr", type: "bind", source: "/usr", options: ["rbind", "ro"]}, {destination: "/tools", type: "bind", source: $tools, options: ["rbind", "ro"]}] |
		(.linux.namespaces[] | select(.type == "network")).path = $netns' "$WORLD/containerd/netcordon-spec.json" >"$WORLD/$1.json"
}

@test "containerd: a container of ctr with the base specification is sealed under the default or the annotation of its specification" {
	containerd_up
	spec plain "$both"
	mark
	run -1 ctr run --rm --config "$WORLD/plain.json" plain
	through_refused
	closed_for plain 1
	# the twin: the same specification without the hooks
	spec bare "$both"
	jq 'del(.hooks)' "$WORLD/bare.json" >"$WORLD/new" && mv "$WORLD/new" "$WORLD/bare.json"
	mark
	run -0 ctr run --rm --config "$WORLD/bare.json" bare
	reached $PUB_B 443
	spec none "$both"
	jq '.annotations = {"netcordon.profile": "none"}' "$WORLD/none.json" >"$WORLD/new" && mv "$WORLD/new" "$WORLD/none.json"
	mark
	run -1 ctr run --rm --config "$WORLD/none.json" none
	nothing_reached $PUB_A 443
	jq -e '.container.chosen_by == "annotation" and .profile.mode == "none"' "$WORLD"/evidence/oci-none-*/launch.json
	spec missing "touch /tmp/ran"
	jq '.annotations = {"netcordon.profile": "missing"}' "$WORLD/missing.json" >"$WORLD/new" && mv "$WORLD/new" "$WORLD/missing.json"
	run -1 ctr run --rm --config "$WORLD/missing.json" missing
	[[ $output == *"there is no profile $WORLD/profiles/missing.json"* ]]
	[ ! -e "$WORLD/rootfs/tmp/ran" ]
	# it lives: exec, and its end
	spec long "sleep 600"
	ctr run --detach --config "$WORLD/long.json" long
	run -0 ours check-container "$(ctr task ls | awk '$1 == "long" {print $2}')"
	[[ $output == *"sealed "*"oci-long "*supervised* ]]
	mark
	run -1 ctr task exec --exec-id more long /bin/sh -c "$both"
	through_refused
	ctr task kill --signal KILL long
	eventually 100 'ctr task ls | grep -q "^long .*STOPPED"'
	ctr task rm long
	nothing_lives
	closed_for long 1
}

@test "containerd, as Kubernetes calls it: containers of a pod are sealed under the pod's annotation, its sandbox is not, and what cannot be sealed does not start" {
	local id pod exec='{"1": $id, "2": ["/bin/sh", "-c", $both]}'
	containerd_up
	podman_image
	podman save --quiet --output "$WORLD/docker.tar" localhost/pause:1
	ctr -n k8s.io images import --snapshotter native "$WORLD/docker.tar"
	pod=$(run_pod web web)
	id=$(make_container "$pod" web web /usr/bin/sleep 600)
	about StartContainer "$id"
	run -0 ours check-container "$(ctr -n k8s.io task ls | awk -v id="$id" '$1 == id {print $2}')"
	[[ $output == *"sealed "*"oci-${id:0:40}-"*supervised* ]]
	jq -e --arg id "$id" '.container.id == $id and .container.chosen_by == "annotation" and .container.profile == "web"' "$WORLD"/evidence/oci-*/launch.json
	mark
	run -0 jq -n --arg id "$id" --arg both "$both" "$exec"
	run -0 cri ExecSync <<<"$output"
	run -0 jq -r '.["1"][0]' <<<"$output"
	through_refused
	# the engine gives a base specification to containers only
	run -1 ours check-container "$(ctr -n k8s.io task ls | awk -v id="$pod" '$1 == id {print $2}')"
	about StopPodSandbox "$pod"
	about RemovePodSandbox "$pod"
	nothing_lives
	closed_for "$id" 1
	# where they share its process namespace, one may get hold of the sandbox's process: then none of them is called sealed
	export PROCESSES=0
	pod=$(run_pod shared web)
	id=$(make_container "$pod" shared web /usr/bin/sleep 600)
	about StartContainer "$id"
	run -1 ours check-container "$(ctr -n k8s.io task ls | awk -v id="$id" '$1 == id {print $2}')"
	about StopPodSandbox "$pod"
	about RemovePodSandbox "$pod"
	unset PROCESSES
	for profile in missing ../web; do
		pod=$(run_pod refused $profile)
		id=$(make_container "$pod" refused $profile /usr/bin/sleep 600)
		run -1 about StartContainer "$id"
		[[ $output == *"there is no profile $WORLD/profiles/missing.json"* || $output == *"must be a name"* ]]
		[ "$(ctr -n k8s.io task ls -q)" = "$pod" ]
		about RemovePodSandbox "$pod"
	done
	nothing_lives
}
