# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034 # helpers.bash sets them; the test files read what is set here
#
# engines.bash - a container engine for tests: in a mount namespace of its own, all its folders below $WORLD, in the network namespace of the world's workload
#
# host_up makes the namespace, which lasts until world_down: cgroup v2 alone at /sys/fs/cgroup (see oci_bundle.bash), a system log of its own, whose lines stand
# in $WORLD/syslog, and empty folders wherever engines leave something. on_host COMMAND... runs in it: to that command, the machine's network is the workload's
# namespace.

# Runs in the new mount namespace and lasts.
private_host() {
	local folder world=$1
	mkdir "$world/dev" "$world/run" && mount -t tmpfs -o mode=755 dev "$world/dev" && mount -t tmpfs -o mode=755 run "$world/run" || return 1
	cp -a /dev/{null,zero,full,random,urandom,tty} "$world/dev" && cd "$world/dev" || return 1
	mkdir shm pts mqueue && ln -s /proc/self/fd fd && ln -s fd/0 stdin && ln -s fd/1 stdout && ln -s fd/2 stderr || return 1
	mount -t tmpfs -o mode=1777 shm shm && mount --rbind /dev/pts pts || return 1
	for folder in netns netcordon; do
		mkdir "$world/run/$folder" && mount --rbind "/run/$folder" "$world/run/$folder" || return 1
	done
	cd / && mount --move "$world/dev" /dev && mount -n --move "$world/run" /run || return 1
	for folder in /var/lib /var/cache /opt; do mount -t tmpfs -o mode=755 "${folder##*/}" $folder || return 1; done
	echo $$ >"$world/host.pid"
	exec python3 -u -c '
import socket
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("/dev/log")
while True: print(log.recv(4096).decode().rstrip("\0"))'
}
host_up() {
	on_v2 unshare -m --propagation private bash -c "$(declare -f private_host); private_host $WORLD" >"$WORLD/syslog" 2>"$WORLD/host.out" 3>&- &
	eventually 50 '[ -S "/proc/$(cat "$WORLD/host.pid")/root/dev/log" ]' 2>/dev/null || { cat "$WORLD/host.out" >&2; return 1; }
}
on_host() { nsenter --mount="/proc/$(cat "$WORLD/host.pid")/ns/mnt" --net="/run/netns/$WL" timeout -k 5 "${LIMIT:-60}" "$@" 3>&-; }

# netcordon as the engine's hooks see this machine
ours() { on_host "$netcordon" "$@" --config "$WORLD/netcordon.conf" --root "$(root_v2)"; }

# documented LANGUAGE WORD: the example in docs/oci.md that is fenced as LANGUAGE and has WORD in it
documented() {
	awk -v fence="^\`\`\`$1\$" -v word="$2" '$0 ~ fence {inside = 1; text = ""; next}
		/^```$/ {if (inside && index(text, word)) printf "%s", text; inside = 0}
		inside {text = text $0 "\n"}' "$top/docs/oci.md"
}
# The hooks of a document, with the paths of this world in the place of the host's.
# shellcheck disable=SC2120
here() {
	jq --arg n "$netcordon" --arg c "$WORLD/netcordon.conf" --arg r "$(root_v2)" \
		'walk(if type == "object" and .path == "/usr/sbin/netcordon" then .path = $n | .args += ["--config", $c, "--root", $r] else . end)' "$@"
}

# A world, its host, and what both files of engines start with
engines_up() {
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

# What engines want of a root beside (oci_bundle.bash), and one program that stands alone, for an image.
container_root() {
	root_folder "$1"
	mkdir -p "$1"/{sys,run,var}
	echo 'int pause(void); int main(void) { for (;;) pause(); }' | musl-gcc -static -x c -o "$1/pause" -
}

# ---- Podman ---------------------------------------------------------------------------------------------------------------------------------------

# may_raise_limits: this machine's root may. A runtime that may not cannot be told a higher limit, and crun does not load a container's device program.
may_raise_limits() { [ $((0x$(sed -n 's/^CapEff:\s*//p' /proc/self/status) >> 24 & 1)) = 1 ]; }
# controls NAME: version 2 of cgroups has this controller; a runtime that is to set it fails otherwise
controls() { [[ " $(cat "$ROOT/cgroup.controllers") " == *" $1 "* ]]; }

podman_up() {
	local limits=''
	may_raise_limits || limits='default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'
	controls pids || limits+=$'\npids_limit = 0'
	printf '[containers]\n%s\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\ntmp_dir = "%s"\n' \
		"$limits" "$WORLD/podman/tmp" >"$WORLD/containers.conf"
	container_root "$WORLD/rootfs"
}
# HOOKS: another folder of hooks
podman() {
	CONTAINERS_CONF=$WORLD/containers.conf on_host podman --root "$WORLD/podman/root" --runroot "$WORLD/podman/run" --storage-driver vfs \
		--runtime "${RUNTIME:-runc}" --hooks-dir "${HOOKS:-$WORLD/hooks.d}" "$@"
}
# podman_run OPTION... COMMAND: in the network of the world, with the machine's programs
podman_run() {
	local open=()
	[ "${RUNTIME-}" != crun ] || may_raise_limits || open=(--privileged) # such a container has no device program
	podman run --cgroup-parent "/${ROOT##*/}" --network "${NETWORK-ns:/run/netns/$WL}" -v /usr:/usr:ro -v "$tools:/tools:ro" "${open[@]}" "$@"
}
# The image localhost/pause:1, of the containers' root
podman_image() {
	[ -e "$WORLD/image.tar" ] || tar -C "$WORLD/rootfs" -cf "$WORLD/image.tar" .
	podman image exists localhost/pause:1 || podman import --quiet --change 'ENTRYPOINT ["/pause"]' "$WORLD/image.tar" localhost/pause:1
}
# The process that the engine says is the container's first.
podman_pid() { podman inspect --format '{{.State.Pid}}' "$1"; }

# ---- containerd -----------------------------------------------------------------------------------------------------------------------------------

# With the configuration of the document, and what this machine wants beside
containerd_up() {
	local folder=$WORLD/containerd
	mkdir "$folder"
	documented console 'ctr oci spec' | sed "1s/^# //; s,/etc/containerd,$folder," >"$folder/spec.sh"
	on_host bash -eu "$folder/spec.sh"
	here "$folder/netcordon-spec.json" >"$folder/new" && mv "$folder/new" "$folder/netcordon-spec.json"
	{
		documented toml runtimes.netcordon | sed "s,/etc/containerd,$folder,"
		printf '[plugins."io.containerd.internal.v1.opt"]\npath = "%s"\n' "$folder/opt"
		printf '[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "localhost/pause:1"\n'
		may_raise_limits || echo 'restrict_oom_score_adj = true'
		printf '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "native"\n'
		controls cpu || printf '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.netcordon.options]\nBinaryName = "%s"\n' "$folder/runc"
	} >"$folder/config.toml"
	cat >"$folder/runc" <<-'END'
		#!/bin/bash
		# no share of a controller that is not there
		for ((i = 1; i < $#; i++)); do
			[ "${!i}" = --bundle ] || continue
			next=$((i + 1)) spec=${!next}/config.json
			jq 'del(.linux.resources.cpu)' "$spec" >"$spec.new" && mv "$spec.new" "$spec"
		done
		exec runc "$@"
	END
	chmod 755 "$folder/runc"
	nsenter --mount="/proc/$(cat "$WORLD/host.pid")/ns/mnt" --net="/run/netns/$WL" containerd --config "$folder/config.toml" --root "$folder/root" \
		--state "$folder/state" --address "$folder/socket" >"$WORLD/containerd.out" 2>&1 3>&- &
	echo $! >"$WORLD/containerd.pid"
	eventually 100 "grep -q 'successfully booted' $WORLD/containerd.out" || { cat "$WORLD/containerd.out" >&2; return 1; }
}
# What lives of its containers, and the processes that look after them
containerd_down() {
	local space name pid
	for space in default k8s.io; do
		for name in $(ctr -n $space task ls -q 2>/dev/null); do ctr -n $space task rm --force "$name" || true; done
		for name in $(ctr -n $space containers ls -q 2>/dev/null); do ctr -n $space containers rm "$name" || true; done
	done
	for pid in $(pgrep -f -- "^[^ ]*containerd-shim[^ ]* .*-address $WORLD/containerd/socket"); do kill -9 "$pid"; done
}
ctr() { on_host ctr --address "$WORLD/containerd/socket" "$@"; }
# cri METHOD <REQUEST: see cri.py
cri() { on_host /usr/bin/python3 "$top/tests/native/cri.py" "$WORLD/containerd/socket" "$1"; }

# The messages of the interface, by number. pod NAME PROFILE: on the host's network, its cgroups in this world; PROFILE "" for no annotation. PROCESSES=0: its
# containers share the pod's process namespace (1: each has one of its own)
pod() {
	jq -n --argjson pid "${PROCESSES-1}" --arg n "$1" --arg a "$2" --arg c "/${ROOT##*/}" '{"1": {"1": $n, "2": $n, "3": "default"},
		"7": (if $a == "" then [] else [{"1": "netcordon.profile", "2": $a}] end), "8": {"1": $c, "2": {"1": {"1": 2, "2": $pid}}}}'
}
# run_pod NAME PROFILE: prints its id
run_pod() { pod "$1" "$2" | jq '{"1": ., "2": "netcordon"}' | cri RunPodSandbox | jq -r '.["1"][0]'; }
# make_container POD NAME PROFILE COMMAND...: in the pod of that id and name, prints its id
make_container() {
	local id=$1 name=$2 profile=$3
	shift 3
	pod "$name" "$profile" | jq --argjson pid "${PROCESSES-1}" --arg id "$id" --arg t "$tools" '{"1": $id, "3": ., "2": {"1": {"1": "main"}, "2": {"1": "localhost/pause:1"}, "3": $ARGS.positional,
		"7": [{"1": "/usr", "2": "/usr", "3": true}, {"1": "/tools", "2": $t, "3": true}], "15": {"2": {"3": {"1": 2, "2": $pid}}}}}' --args "$@" |
		cri CreateContainer | jq -r '.["1"][0]'
}
# about METHOD ID: a method that wants nothing but the id
about() { jq -n --arg id "$2" '{"1": $id}' | cri "$1"; }
