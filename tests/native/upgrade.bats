#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# upgrade.bats - a new build beside an old one: live instances keep the programs of theirs, and what nobody uses any more is taken away

load helpers

old=$top/build/other/netcordon

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	base_profile
}
teardown_file() { world_down; }
teardown() {
	attach_down
	for pid in "$WORLD"/{old,resident}.pid; do [ ! -f "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true; done
	for build in "$old" "$netcordon"; do timeout 60 "$build" host down --force --root "$ROOT" >/dev/null; done
}

pins_of() { "$1" host status --root "$ROOT" --json | jq -r .pins; }

# A workload that tries both addresses for as long as it lives, and writes down what came of each.
start_old() {
	: >"$WORLD/old.out" # that of an earlier one says nothing
	# shellcheck disable=SC2016
	netcordon=$old RUN_OPTIONS="--instance old" cordon /bin/sh -c 'while :; do
		"$0" -t 5000 tcp '$PUB_A' 443 >/dev/null && echo through || echo listed-failed
		"$0" tcp '$PUB_B' 443 >/dev/null && echo leaked || echo refused
	done' "$tools/attempt" 3>&- >"$WORLD/old.out" 2>"$WORLD/old.err" &
	echo $! >"$WORLD/old.pid"
	eventually 150 "[ \$(grep -c refused $WORLD/old.out) -ge 2 ]" || { cat "$WORLD/old.err" >&2; return 1; }
}

@test "an instance keeps its build's programs while another is installed, used and swept beside it; then the old one goes whole" {
	start_old
	old_pins=$(pins_of "$old")
	mark
	"$netcordon" host up --root "$ROOT" >/dev/null
	run -0 cordon "$tools/attempt" tcp $PUB_A 443
	run -1 cordon "$tools/attempt" tcp $PUB_B 443
	run -1 "$netcordon" host sweep --root "$ROOT"
	[[ $output == *"in use"* ]]
	[ -d "$old_pins" ]
	before=$(wc -l <"$WORLD/old.out")
	eventually 150 "[ \$(wc -l <$WORLD/old.out) -gt $((before + 6)) ]"
	run ! grep -E "listed-failed|leaked" "$WORLD/old.out"
	nothing_reached $PUB_B 443
	# its own program ends it; the new one could not read its records
	timeout 60 "$old" stop old --root "$ROOT"
	run -0 "$netcordon" host sweep --root "$ROOT"
	[[ $output == *removed* ]]
	[ ! -e "$old_pins" ]
	run ! ls -d "$ROOT"/netcordon-0123456789ab.slice
	run ! ls -d /run/netcordon/0123456789ab-*"${old_pins##*-}"
	# and what is in use now has not been touched
	run -1 cordon "$tools/attempt" tcp $PUB_B 443
	run -0 cordon "$tools/attempt" tcp $PUB_A 443
}

@test "a sealed cgroup of somebody else's, and an orphan that lives, are in use" {
	netcordon=$old attach_up
	pid=$(cat "$WORLD/attach.pid")
	kill -9 "$pid"
	eventually 50 "! kill -0 $pid 2>/dev/null"
	run -1 "$netcordon" host sweep --root "$ROOT"
	run -1 attached "$tools/attempt" tcp $PUB_B 443
	run -0 "$old" host down --force --root "$ROOT"
	run -0 "$netcordon" host sweep --root "$ROOT" --json
	[ "$(echo "$output" | jq length)" = 0 ]
}

# ---- what the new build says of what the old one sealed -------------------------------------------------------------------------------------------

# ours COMMAND...: the new build's
ours() { timeout 30 "$netcordon" --root "$ROOT" "$@"; }
theirs() { timeout 30 "$old" --root "$ROOT" "$@"; }
build_of() { basename "$(pins_of "$1")"; }
# below the shell and timeout(1)
supervisor_of_old() {
	local pid
	pid=$(cat "$WORLD/old.pid")
	until [[ $(readlink "/proc/$pid/exe") == */netcordon* ]]; do pid=$(cut -d ' ' -f 1 "/proc/$pid/task/$pid/children"); done
	echo "$pid"
}

# refuses STATUS COMMAND...: for the reason that the instance is another build's, in words and in JSON, and saying how that is reached
refuses() {
	local wanted=$1
	shift
	run "-$wanted" ours "$@"
	[[ $output == *"instance_of_other_build: instance old is of another build of netcordon, $theirs,"*"/proc/$supervisor/exe"* ]]
	run "-$wanted" ours "$1" --json "${@:2}"
	echo "$output" | jq -e --arg b "$theirs" --arg p "/proc/$supervisor/exe" \
		'.code == "instance_of_other_build" and (.detail | contains($b)) and (.hint | contains($p))'
	echo "$output" >"$WORLD/error"
	"$top/tests/unit/validate_schema" "$top/docs/schema" error="$WORLD/error"
}

all_refuse() {
	refuses 1 status old
	refuses 1 stop old
	refuses 1 wait old --timeout 1
	refuses 1 update old --profile "$WORLD/profile.json"
	refuses 1 explain --instance old $PUB_A:443
	run -125 ours exec old -- true
	[[ $output == *"instance_of_other_build: instance old "*"$theirs"*"/proc/$supervisor/exe"* ]]
}

@test "every command says whose instance it is and where that build's program is, which does everything as before" {
	start_old
	theirs=$(build_of "$old") supervisor=$(supervisor_of_old)
	cgroup=$(theirs status old --json | jq -r .cgroup)
	# before this build is installed, and after
	for round in 1 2; do
		all_refuse
		run -0 ours status
		[[ $output == *"no instance of this build lives"*"instances of other builds: 1;"*"old "*"$theirs  /proc/$supervisor/exe"* ]]
		run -0 ours status --json
		echo "$output" >"$WORLD/answer"
		jq -e --arg b "$theirs" --arg p "/sys/fs/bpf/netcordon/$theirs" --arg c "$cgroup" --argjson s "$supervisor" '. == [{version: 1, instance: "old",
			state: "other_build", build: $b, pins: $p, revision: "dev", supervised: true, supervisor: $s, cgroup: $c}]' "$WORLD/answer"
		"$top/tests/unit/validate_schema" "$top/docs/schema" status="$WORLD/answer"
		run -0 ours events old --json
		[[ $output == *'"reason":"destination_not_listed"'* ]]
		run "-$([ $round = 1 ] && echo 3 || echo 1)" ours stop nobody
		[[ $output == *"$([ $round = 1 ] && echo host_down || echo instance_unknown)"* ]]
		ours host up >/dev/null || [ $round = 2 ]
	done
	# beside one of its own, which it answers for
	mkfifo "$WORLD/go"
	RUN_OPTIONS="--instance new" cordon /bin/cat 3>&- <"$WORLD/go" &
	exec 7>"$WORLD/go"
	eventually 150 "ours status new >/dev/null 2>&1"
	run -0 ours status
	[[ $output == *"new "*live*"instances of other builds: 1;"*"old "* ]]
	ours status --json | jq -e 'map([.instance, .state]) == [["new", "live"], ["old", "other_build"]]'
	theirs status --json | jq -e 'map([.instance, .state]) == [["old", "live"], ["new", "other_build"]]'
	run -3 ours wait new --timeout 0.1
	[[ $output == *deadline* ]]
	run -1 theirs stop new
	[[ $output == *instance_of_other_build* ]]
	ours stop new
	exec 7>&-
	# and nobody has ended the old one, which its own program does
	kill -0 "$supervisor"
	run -0 /proc/"$supervisor"/exe stop old --root "$ROOT"
	run -1 ours stop old
	[[ $output == *instance_unknown* ]]
	run -0 ours status
	[ "$output" = "no instance lives" ]
	[ "$(ours status --json | jq length)" = 0 ]
}

@test "the program of a build whose file has gone is where the supervisor is, and works" {
	mkdir "$WORLD/bin"
	cp "$old" "$old-edge" "$WORLD/bin"
	old=$WORLD/bin/netcordon start_old
	rm -r "${WORLD:?}/bin"
	ours host up >/dev/null
	run -1 ours stop old
	program=$(grep -oE '/proc/[0-9]+/exe' <<<"$output")
	[[ $(readlink "$program") == *deleted* ]]
	"$program" status old --root "$ROOT" --json | jq -e '.state == "live"'
	run -0 "$program" exec --root "$ROOT" old -- /bin/echo through
	[[ $output == *through* ]]
	"$program" stop old --root "$ROOT"
	run -0 ours host sweep
}

# sealed_by_other STATUS CGROUP|PID...: the last of them is behind the other build's programs, and none is called sealed
sealed_by_other() {
	run "-$1" ours check-container "${@:2}"
	[[ ${lines[-1]} == *"OTHER BUILD  ${name--}  the programs of another build, $theirs, stand there: "*"; its program: "${program-/proc/*/exe}* ]]
	run ! grep -qE '^[^ ]+ +sealed' <<<"$output"
	run "-$1" ours check-container --json "${@:2}"
	echo "$output" | jq -e --arg b "$theirs" --arg n "${name-}" 'all(.sealed | not) and .[-1].other_build.build == $b and
		.[-1].other_build.pins == "/sys/fs/bpf/netcordon/" + $b and .[-1].other_build.instance == (if $n == "" then null else $n end)'
}
not_sealed() {
	run -1 ours check-container "$1"
	[[ $output == *"NOT SEALED"*"$2"* ]] || { echo "not \"$2\": $output" >&2; return 1; }
	run -1 ours check-container --json "$1"
	echo "$output" | jq -e '.[0].sealed == false and .[0].other_build == null'
}

# viewed COMMAND...: the new build's, where the bpf file system is $WORLD's view of it, with the old build's pins alone
viewed() {
	# shellcheck disable=SC2016
	unshare -m --propagation private bash -c 'mount --bind "$1" "$2/netcordon/${1##*/}" && mount --rbind "$2" /sys/fs/bpf && exec timeout 30 "${@:3}"' - \
		"$pins" "$view" "$netcordon" --root "$ROOT" "$@"
}

@test "pins count as root's only where root alone can put folders, from the bpf file system down" {
	netcordon=$old attach_up
	pins=$(pins_of "$old") view=/sys/fs/bpf/nctest-$$ resident=$(cat "$WORLD/resident.pid")
	mkdir -p "$view/netcordon/${pins##*/}"
	for case in "$view 0 1777 8" "$view 0 700 8" "$view 0 777 1" "$view 65534 700 1" "$view 0 755 8" \
		"$view/netcordon 0 777 1" "$view/netcordon 0 1777 1" "$view/netcordon 65534 700 1" "$view/netcordon 0 700 8"; do
		read -r folder owner mode wanted <<<"$case"
		chown "$owner" "$folder"
		chmod "$mode" "$folder"
		run viewed check-container "$resident"
		[ "$status" -eq "$wanted" ] || { echo "$case: $status: $output" >&2; break; }
	done
	rmdir "$view"/netcordon/* "$view/netcordon" "$view"
	[ "$status" -eq "$wanted" ]
}

@test "check-container finds another build's cordon by what the kernel runs and root has pinned, and by nothing else" {
	netcordon=$old attach_up
	theirs=$(build_of "$old") pins=$(pins_of "$old") resident=$(cat "$WORLD/resident.pid") box=$ROOT/$(cat "$WORLD/attached.name")
	name=$(theirs status --json | jq -r '.[0].instance')
	run -0 theirs check-container "$resident"
	[[ $output == *"sealed"*"$name"* ]]
	mkdir "$ROOT/plain" "$box/below"
	for round in 1 2; do
		sealed_by_other 8 "$resident"
		sealed_by_other 8 "$box" "$box/below"
		# its guards are in force in every cgroup of the host, and seal none
		not_sealed "$ROOT/plain" "$([ $round = 1 ] && echo "not installed" || echo "no live instance")"
		not_sealed "$ROOT" ""
		sealed_by_other 1 "$ROOT/plain" "$resident"
		ours host up >/dev/null || [ $round = 2 ]
	done
	# what somebody else than root can have put there says nothing, nor where others can write
	for folder in "$pins" "$pins/programs"; do
		chown 65534 "$folder"
		not_sealed "$resident" "no live instance" || { chown 0 "$folder"; return 1; }
		chown 0 "$folder"
		chmod 0777 "$folder"
		not_sealed "$resident" "no live instance" || { chmod 0700 "$folder"; return 1; }
		chmod 0700 "$folder"
		sealed_by_other 8 "$resident"
	done
	# a record of another layout is not read: the cordon stands, whoever's it is
	claim=$(echo /run/netcordon/"$theirs"/instances/*/claim)
	printf 'ncclaimX' | dd of="$claim" conv=notrunc status=none
	(program="with one of its instances" && unset name && sealed_by_other 8 "$resident")
	run -8 ours check-container --json "$resident"
	echo "$output" | jq -e '.[0].other_build | .supervised == null and .supervisor == null and .cgroup == null'
	ours status --json | jq -e '.[0].cgroup == null and .[0].supervised and .[0].supervisor != null'
	printf 'ncclaim2' | dd of="$claim" conv=notrunc status=none
	sealed_by_other 8 "$resident"
	# what is there only in part is nobody's cordon (its supervisor would end it at once)
	kill -STOP "$(cat "$WORLD/attach.pid")"
	rm "$pins"/links/????????????????/connect4
	eventually 50 "! ours check-container $resident | grep -q 'OTHER BUILD'"
	not_sealed "$resident" "of the programs of another build, $theirs, only "
	kill -CONT "$(cat "$WORLD/attach.pid")"
	rmdir "$box/below"
	attach_down
	not_sealed "$box" "no live instance"
}

@test "an instance of another build that nobody supervises is told as that, and one whose state is laid out otherwise is told by what is known" {
	ours host up >/dev/null
	netcordon=$old attach_up
	theirs=$(build_of "$old") pid=$(cat "$WORLD/attach.pid")
	name=$(theirs status --json | jq -r '.[0].instance')
	folder=/run/netcordon/$theirs/instances/$name
	sed -i 's/"version":1/"version":99/' "$folder/state.json"
	run -1 ours stop "$name"
	[[ $output == *"instance_of_other_build"*"$theirs"*"fuser $folder/claim"* ]]
	ours status --json | jq -e '.[0] | .supervised and .supervisor == null and .revision == null'
	run -1 ours events "$name"
	[[ $output == *"instance_of_other_build"* ]]
	# the words lead to it: what fuser looks for
	stat -Lc %d:%i "/proc/$pid/fd/"* 2>/dev/null | grep -qx "$(stat -c %d:%i "$folder/claim")"
	sed -i 's/"version":99/"version":1/' "$folder/state.json"
	ours status --json | jq -e --argjson p "$pid" '.[0].supervisor == $p'
	kill -9 "$pid"
	eventually 50 "! kill -0 $pid 2>/dev/null"
	ours status --json | jq -e --arg n "$name" '.[0] | .instance == $n and .supervised == false and .supervisor == null'
	run -1 ours stop "$name"
	[[ $output == *"instance_of_other_build"*"installed again"* ]]
	run -8 ours check-container "$(cat "$WORLD/resident.pid")"
	# a cgroup that has come in the place of what its record speaks of is not what was sealed
	box=$ROOT/$(cat "$WORLD/attached.name")
	ours status --json | jq -e --arg c "$box" '.[0].cgroup == $c'
	kill "$(cat "$WORLD/resident.pid")"
	eventually 50 "rmdir $box 2>/dev/null"
	mkdir "$box"
	ours status --json | jq -e '.[0].cgroup == null'
	not_sealed "$box" "no live instance"
	theirs stop "$name"
	run -0 ours status
	[ "$output" = "no instance lives" ]
}

@test "poststop of a container that the old build sealed waits for its evidence" {
	mkdir "$WORLD/bundle"
	netcordon=$old RUN_OPTIONS="--instance oci-gone" cordon /bin/sleep 300 3>&- >"$WORLD/gone.out" 2>&1 &
	pid=$!
	eventually 150 "theirs exec oci-gone -- true >/dev/null 2>&1"
	stopped='{"ociVersion":"1.0.2","id":"gone","status":"stopped","bundle":"'$WORLD/bundle'"}'
	echo '{"version":1}' >"$WORLD/conf"
	ours oci-hook --config "$WORLD/conf" 3>&- <<<"$stopped" >"$WORLD/hook.out" 2>&1 &
	hook=$!
	sleep 0.5
	kill -0 $hook
	theirs stop oci-gone
	wait $hook
	[ -f "$WORLD/evidence/closing.json" ]
	wait $pid || true
	# nothing to wait for
	run -0 ours oci-hook --config "$WORLD/conf" <<<"$stopped"
}
