#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scopes.bats - containers whose cgroups systemd makes, as Kubernetes has it: in a guest with systemd, under docs/oci.md as it stands, with
# the package's program
#
# Podman asks systemd for a scope through each of the runtimes, one of which puts the container into a cgroup of its own below it.

load ../native/helpers
load ../native/oci_bundle
load ../native/engines

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	base_profile
	container_root "$WORLD/rootfs"
	systemctl start dbus.socket
	# on the host, once: as the document has it
	systemctl is-active netcordon-host.service
	[ -f /etc/netcordon/attester.pem ] || netcordon key generate /etc/netcordon/attester.pem
	install -D -m 644 "$WORLD/profile.json" /etc/netcordon/profiles/web.json
	documented console container_profile | sed -n "s/^# \(echo .*netcordon.conf\)$/\1/p" >"$WORLD/once"
	bash -eu "$WORLD/once"
	netcordon key public /etc/netcordon/attester.pem >"$WORLD/key.pub"
	mkdir -p /usr/share/containers/oci/hooks.d
	documented json '"stages"' >/usr/share/containers/oci/hooks.d/netcordon.json
}
teardown_file() { world_down; }

engine() { timeout 120 podman --cgroup-manager systemd --storage-driver vfs --events-backend none --runtime "$@" 3>&-; }
started() {
	engine "$1" run --detach --name "$2" --network "ns:/run/netns/$WL" -v /usr:/usr:ro -v "$tools:/tools:ro" "${@:3}" --rootfs "$WORLD/rootfs" /usr/bin/sleep 600
}

@test "a container in a scope of systemd's is sealed, through what systemd does to cgroups, and its end closes the evidence" {
	for runtime in runc crun; do
		rm -rf /var/lib/netcordon/evidence
		run -0 started $runtime $runtime --annotation netcordon.profile=web
		id=${lines[-1]}
		pid=$(engine $runtime inspect --format '{{.State.Pid}}' $runtime)
		grep -q "^0::/machine.slice/libpod-$id.scope" "/proc/$pid/cgroup"
		run -0 netcordon check-container "$pid"
		[[ $output == *"sealed "*"oci-${id:0:40}-"*supervised* ]]
		systemctl daemon-reload
		systemctl set-property --runtime "libpod-$id.scope" MemoryMax=256M
		netcordon check-container "$pid"
		mark
		run -1 engine $runtime exec $runtime /bin/sh -c "/tools/attempt tcp $PUB_A 443; /tools/attempt tcp $PUB_B 443"
		[[ $output == *'"outcome":"through"'*'"errno":"EPERM"'* ]]
		reached $PUB_A 443
		nothing_reached $PUB_B 443
		engine $runtime rm --force --time 0 $runtime
		[ "$(netcordon status --json | jq length)" = 0 ]
		run ! systemctl is-active "libpod-$id.scope"
		netcordon evidence verify /var/lib/netcordon/evidence/oci-* --public-key "$WORLD/key.pub"
	done
}

@test "systemd's scope of a container that cannot be sealed is gone again, and one without hooks is found" {
	run -126 started runc refused --annotation netcordon.profile=missing
	[[ $output == *"there is no profile /etc/netcordon/profiles/missing.json"* ]]
	[ "$(netcordon status --json | jq length)" = 0 ]
	engine runc rm --force refused
	run -0 systemctl list-units --no-legend 'libpod-*'
	[[ $output != *libpod-[0-9a-f]* ]]
	# the twin that has no hooks is found
	rm /usr/share/containers/oci/hooks.d/netcordon.json
	started runc bare
	run -1 netcordon check-container "$(engine runc inspect --format '{{.State.Pid}}' bare)"
	mark
	engine runc exec bare /tools/attempt tcp $PUB_B 443
	reached $PUB_B 443
	engine runc rm --force --time 0 bare
}
