# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # helpers.bash sets them
#
# engines.bash - a container engine for tests: in a mount namespace of its own, all its folders below $WORLD, in the network namespace of the world's workload
#
# host_up makes the namespace, which lasts until world_down: cgroup v2 alone at /sys/fs/cgroup (see oci_bundle.bash), and a /dev that has shared memory and a
# system log of its own; what is written to the log stands in $WORLD/syslog. on_host COMMAND... runs in it: to that command, the machine's network is the
# workload's namespace.

host_up() {
	mkdir "$WORLD/dev"
	# shellcheck disable=SC2016
	on_v2 unshare -m --propagation private bash -c 'mount -t tmpfs -o mode=755 dev "$0" && cp -a /dev/{null,zero,full,random,urandom,tty} "$0" && cd "$0" &&
		mkdir shm pts mqueue && ln -s /proc/self/fd fd && ln -s fd/0 stdin && ln -s fd/1 stdout && ln -s fd/2 stderr &&
		mount -t tmpfs -o mode=1777 shm shm && mount --rbind /dev/pts pts && cd / && mount --move "$0" /dev && echo $$ >"$1/host.pid" && exec python3 -u -c "
import socket
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind(\"/dev/log\")
while True: print(log.recv(4096).decode().rstrip(\"\\0\"))"' "$WORLD/dev" "$WORLD" >"$WORLD/syslog" 2>"$WORLD/host.out" 3>&- &
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

# What a container has for its root: the machine's own programs come from outside. An image needs one program that stands alone.
container_root() {
	mkdir -p "$1"/{usr,proc,dev,sys,tools,tmp,etc,run,var}
	ln -sfn usr/bin "$1/bin" && ln -sfn usr/sbin "$1/sbin" && ln -sfn usr/lib "$1/lib" && ln -sfn usr/lib64 "$1/lib64"
	echo 'int pause(void); int main(void) { for (;;) pause(); }' | musl-gcc -static -x c -o "$1/pause" -
}

# ---- Podman ---------------------------------------------------------------------------------------------------------------------------------------

# A runtime that may not raise limits cannot load its device program either, nor keep the count of processes where version 1 has that controller.
podman_up() {
	local limits='' controllers
	[ $((0x$(sed -n 's/^CapEff:\s*//p' /proc/self/status) >> 24 & 1)) = 1 ] || limits='default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'
	controllers=$(cat "$ROOT/cgroup.controllers")
	[[ " $controllers " == *" pids "* ]] || limits+=$'\npids_limit = 0'
	printf '[containers]\n%s\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\ntmp_dir = "%s"\nhooks_dir = ["%s"]\n' \
		"$limits" "$WORLD/podman/tmp" "$WORLD/hooks.d" >"$WORLD/containers.conf"
	container_root "$WORLD/rootfs"
}
podman() {
	CONTAINERS_CONF=$WORLD/containers.conf on_host podman --root "$WORLD/podman/root" --runroot "$WORLD/podman/run" --storage-driver vfs \
		--runtime "${RUNTIME:-runc}" "$@"
}
# podman_run OPTION... COMMAND: in the network of the world, with the machine's programs. crun needs a limit raised for all containers but privileged ones.
podman_run() {
	local open=()
	[ "${RUNTIME-}" != crun ] || ! grep -q ulimits "$WORLD/containers.conf" || open=(--privileged)
	podman run --cgroup-parent "/${ROOT##*/}" --network "${NETWORK-ns:/run/netns/$WL}" -v /usr:/usr:ro -v "$tools:/tools:ro" "${open[@]}" "$@"
}
# The process that the engine says is the container's first.
podman_pid() { podman inspect --format '{{.State.Pid}}' "$1"; }
