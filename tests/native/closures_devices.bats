#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_devices.bats - nodes of devices that lead past sockets: wherever they lie, and whoever asks

load helpers
load foreign

setup_file() {
	world_up
	world_listen
	base_profile
	attach_up
}

teardown_file() { world_down; }

number() { echo $(($1 << 20 | $2)); } # of the device MAJOR MINOR, as an event has it

@test "a node at another path that everybody may open is refused to everybody inside" {
	local who row
	for row in "fuse 10 229" "tun 10 200" "autofs 10 235"; do
		# shellcheck disable=SC2086
		set -- $row
		mknod -m 666 "$WORLD/$1" c "$2" "$3"
		# the path is real
		try attempt_user hold-device "$WORLD/$1" "$WORLD/profile.json"
		through
		for who in user root attached; do
			as $who hold-device "$WORLD/$1" "$WORLD/profile.json"
			refused EPERM open || { echo "(as $who)" >&2; return 1; }
			event ".hook==\"device\" and .reason==\"device_refused\" and .detail==$(number "$2" "$3")"
		done
	done
}

@test "every device of the table can be neither made nor opened, by root with every capability; its neighbours can" {
	local name major first last seen
	while read -r name major first last; do
		seen=$name
		for minor in $first $last; do
			try attempt make-device "$WORLD/made" "$major" "$minor"
			[[ $line != *'"call":"mknod"'* ]] || { echo "mknod $name: $line" >&2; return 1; }
			try attached "$tools/attempt" make-device "$WORLD/made" "$major" "$minor"
			refused EPERM mknod || { echo "$name" >&2; return 1; }
			mknod -m 666 "$WORLD/made" c "$major" "$minor"
			try attached "$tools/attempt" hold-device "$WORLD/made" "$WORLD/profile.json"
			refused EPERM open || { echo "$name" >&2; return 1; }
			rm "$WORLD/made"
		done
	done < <(sed -n 's/^\tX(\([A-Z_]*\), "[a-z_]*", "[^"]*", \([0-9]*\), \([0-9]*\), \([0-9]*\),.*/\1 \2 \3 \4/p' "$top/bpf/device.h")
	[ "$seen" = RDMA ] # the last row was read
	for minor in 3 5 8; do
		try attached "$tools/attempt" make-device "$WORLD/made" 1 $minor
		through
	done
	for row in "10 228" "10 199" "10 201" "108 1" "230 0" "1 6"; do
		# shellcheck disable=SC2086
		try attached "$tools/attempt" make-device "$WORLD/made" $row
		[[ $line != *EPERM* ]]
	done
}

# picked MISC|MAJOR NAME: the numbers of such a device, where the kernel has one now
picked() {
	if [ "$1" = MISC ]; then awk -v name="$2" '$2 == name {print 10, $1}' /proc/misc; fi
	if [ "$1" = MAJOR ]; then awk -v name="$2" '/^Block/ {exit} $2 == name {print $1, 1}' /proc/devices; fi
}

@test "a device whose number the kernel picks is known by its name" {
	local source name seen=0
	[ -z "${NETCORDON_VM-}" ] || modprobe -a macvtap uio ublk_drv vduse 2>/dev/null || true
	while read -r source name; do
		# shellcheck disable=SC2046
		set -- $(picked "$source" "$name")
		[ $# -eq 2 ] || continue
		seen=$((seen + 1))
		mknod -m 666 "$WORLD/picked" c "$1" "$2"
		try attempt hold-device "$WORLD/picked" "$WORLD/profile.json"
		[[ $line != *EPERM* ]] || { echo "$name: $line" >&2; return 1; } # it opens, or there is none of that number now and the kernel says so
		for who in user attached; do
			as $who hold-device "$WORLD/picked" "$WORLD/profile.json"
			refused EPERM open || { echo "$name" >&2; return 1; }
		done
		rm "$WORLD/picked"
	done < <(sed -n 's/^\tX(.*, \(MISC\|MAJOR\), "\([^"]*\)",.*/\1 \2/p' "$top/bpf/device.h")
	echo "# $seen of them are here" >&3
	[ "$seen" -ge 1 ]
}

@test "devices of every day open" {
	local all='for d in null zero full random urandom ptmx; do : <>/dev/$d || exit 9; done; head -c 2 /dev/zero | wc -c'
	[ "$(cordon /bin/sh -c "$all")" = 2 ]
	[ "$(attached /bin/sh -c "$all")" = 2 ]
}

@test "the host's automounter is not asked to dial a name for the workload of run" {
	mkdir "$WORLD/hosts"
	automounted() { unshare -m python3 "$BATS_TEST_DIRNAME/automount.py" "$WORLD/hosts" "$@" 3>&-; }
	# the path is real: for anybody else it is
	[ "$(automounted /usr/bin/stat "$WORLD/hosts/evil.example")" = "asked evil.example" ]
	rm -rf "$WORLD/evidence"
	[ "$(automounted "$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" \
		--key "$WORLD/key.pem" -- /usr/bin/stat "$WORLD/hosts/evil.example")" = "asked nothing" ]
	jq -e '.result.cause == "exited" and .result.code == 1' "$WORLD/evidence/closing.json"
	jq -e '.gaps | index("automounter")' "$WORLD/attached/launch.json"
}

teardown() { foreign_gone; }

@test "a runtime's device program, which can only refuse more, stands beside ours" {
	foreign "$ROOT" device
	as user hold-device /dev/null "$WORLD/profile.json"
	through
	jq -e 'any(.programs.effective[]; .hook == "device" and .name == "somebody_else" and .ours == false)' "$WORLD/evidence/launch.json"
	as user hold-device "$WORLD/fuse" "$WORLD/profile.json"
	refused EPERM open
}

@test "a device program that could cancel a refusal is named, and nothing is launched" {
	here "$ROOT" cancel-device || return 0
	run -125 cordon true
	[[ $output == *'program_foreign'*somebody_else* ]]
}
