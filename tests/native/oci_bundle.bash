# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # helpers.bash sets them
#
# oci_bundle.bash - containers for tests: a bundle whose root is the machine's own /usr, read-only, and the hooks as an engine would write them
#
# bundle NAME makes $WORLD/NAME. What a test wants otherwise it says by these, each JSON:
#   ANNOTATIONS  object    HOOKS  object    NETNS  path of a network namespace; "": one of the container's own
#   ARGS  array            USER   number
# The cgroup is $ROOT/NAME. run_container RUNTIME NAME runs it to its end; container RUNTIME ... calls the runtime with a state folder of the test's own.
#
# The runtimes want a pure cgroup v2. Where the machine has version 1 beside it, they and whatever asks about their cgroups see version 2 alone at
# /sys/fs/cgroup, in a mount namespace of their own (on_v2): it is the same hierarchy, mounted elsewhere.

on_v2() {
	if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
		"$@"
	else
		# shellcheck disable=SC2016
		unshare -m --propagation private bash -c 'umount -l /sys/fs/cgroup/* 2>/dev/null; umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"' - "$@"
	fi
}
# The root of this world as those see it.
root_v2() { echo "/sys/fs/cgroup/${ROOT##*/}"; }

# What an engine hands over: absolute path, no environment (O05).
hooks() {
	jq -n --arg n "$netcordon" --arg c "$WORLD/netcordon.conf" --arg r "$(root_v2)" '
		[{path: $n, args: ["netcordon", "oci-hook", "--config", $c, "--root", $r], env: []}] | {createRuntime: ., poststop: .}'
}

# root_folder FOLDER: what a container has for its root; the machine's own programs come from outside.
root_folder() {
	mkdir -p "$1"/{usr,proc,dev,tools,tmp,etc}
	ln -sfn usr/bin "$1/bin" && ln -sfn usr/sbin "$1/sbin" && ln -sfn usr/lib "$1/lib" && ln -sfn usr/lib64 "$1/lib64"
}

bundle() {
	local name=$1
	root_folder "$WORLD/$name/rootfs"
	jq -n --argjson hooks "${HOOKS-$(hooks)}" --argjson annotations "${ANNOTATIONS-{\}}" --argjson args "${ARGS-["/tools/attempt"]}" \
		--argjson user "${USER_ID-0}" --arg netns "${NETNS-/run/netns/$WL}" --arg tools "$tools" --arg cgroup "/${ROOT##*/}/$name" '
		{ociVersion: "1.0.2", hostname: "test", annotations: $annotations, hooks: $hooks,
		 root: {path: "rootfs"},
		 process: {args: $args, cwd: "/", user: {uid: $user, gid: $user}, env: ["PATH=/usr/bin:/bin"], noNewPrivileges: true,
			   capabilities: ({bounding: ["CAP_NET_RAW"], effective: ["CAP_NET_RAW"], permitted: ["CAP_NET_RAW"]})},
		 mounts: [{destination: "/proc", type: "proc", source: "proc"},
			  {destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"]},
			  {destination: "/usr", type: "bind", source: "/usr", options: ["bind", "ro"]},
			  {destination: "/tools", type: "bind", source: $tools, options: ["bind", "ro"]}],
		 linux: {cgroupsPath: $cgroup, resources: {},
			 namespaces: ([{type: "pid"}, {type: "mount"}, {type: "ipc"}, {type: "uts"}]
				+ (if $netns == "" then [{type: "network"}] else [{type: "network", path: $netns}] end))}}' >"$WORLD/$name/config.json"
}

container() {
	local runtime=$1
	shift
	on_v2 timeout -k 5 "${LIMIT:-60}" "$runtime" --root "$WORLD/$runtime" "$@"
}

# To its end, its output to standard output.
run_container() { container "$1" run --bundle "$WORLD/$2" "$2" </dev/null 3>&-; }
