#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# containerd.bats - docs/oci.md with a real engine: containerd, with its base specification, by its own client and as Kubernetes calls it
#
# What it is configured with is taken out of the document; paths are exchanged for those of the test.

load helpers
load oci_bundle
load engines

setup_file() {
	engines_up
	containerd_up
}
teardown_file() {
	containerd_down || true
	world_down
}
teardown() {
	containerd_down >/dev/null 2>&1 || true
	rm -rf "$WORLD/evidence"
}

# spec NAME SCRIPT: the base specification for a container of ctr, as $WORLD/NAME.json
spec() {
	jq --arg c "/${ROOT##*/}/$1" --arg script "$2" --arg w "$WORLD" --arg tools "$tools" --arg netns "/run/netns/$WL" '
		.linux.cgroupsPath = $c | .root.path = $w + "/rootfs" | .process.args = ["/bin/sh", "-c", $script] |
		.mounts += [{destination: "/usr", type: "bind", source: "/usr", options: ["rbind", "ro"]}, {destination: "/tools", type: "bind", source: $tools, options: ["rbind", "ro"]}] |
		(.linux.namespaces[] | select(.type == "network")).path = $netns' "$WORLD/containerd/netcordon-spec.json" >"$WORLD/$1.json"
}

@test "containerd: a container of ctr with the base specification is sealed under the default or the annotation of its specification" {
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
	about RemovePodSandbox "$pod"
	unset PROCESSES
	pod=$(run_pod refused missing)
	id=$(make_container "$pod" refused missing /usr/bin/sleep 600)
	run -1 about StartContainer "$id"
	[[ $output == *"there is no profile $WORLD/profiles/missing.json"* ]]
	[ "$(ctr -n k8s.io task ls -q)" = "$pod" ]
	about RemovePodSandbox "$pod"
	nothing_lives
}
