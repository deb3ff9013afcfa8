#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# attach_failure.bats - an `attach` that fails costs nothing: until `sealed` was told, the service in the cgroup lives on as it was, and nothing is
# left of ours. EVERY=1 makes each call fail; the ring samples.

load helpers

setup_file() {
	world_up
	base_profile
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	cordon true # what the host needs once is in place, so that the calls counted are attach's own
	mkdir "$ROOT/service"
}
teardown_file() {
	if mountpoint -q "$WORLD/full"; then umount "$WORLD/full"; fi
	world_down
}
setup() { service_up; }
teardown() { service_down; }

# A service as an operator has it: it holds a connection that no profile lists, and says each word that it is given.
service_up() {
	rm -f "$WORLD/words" "$WORLD/up"
	mkfifo "$WORLD/words"
	# shellcheck disable=SC2016
	bash -c 'echo 0 >"$0/cgroup.procs" && exec nsenter --net="$1" bash -c "exec 7<>/dev/tcp/$2/443 && touch $3/up && while read -r word; do echo \$word >&7; done <>$3/words"' \
		"$ROOT/service" /run/netns/"$WL" $PUB_B "$WORLD" 3>&- >/dev/null 2>&1 &
	SERVICE=$!
	echo $SERVICE >"$WORLD/service.pid"
	eventually 100 "[ -e $WORLD/up ]"
}
service_down() {
	kill "$SERVICE" 2>/dev/null || true
	eventually 100 "! grep -q 'populated 1' $ROOT/service/cgroup.events"
}

# begin PROGRAM: attach by it, in the background; its status lines are $WORLD/lines, what it said $WORLD/out; over: it said `sealed`, or ended
begin() {
	rm -rf "$WORLD/evidence"
	: >"$WORLD/lines"
	timeout -k 5 60 bash -c 'exec -a "$0" "$@"' "$1" "${PROGRAM:-$netcordon}" attach --instance service --cgroup "$ROOT/service" --profile "$WORLD/profile.json" \
		--root "$ROOT" --netns /run/netns/"$WL" --evidence "${EVIDENCE_IN:-$WORLD/evidence}" --key "$WORLD/key.pem" --status-fd 8 8>"$WORLD/lines" \
		9>"$WORLD/failed" >"$WORLD/out" 2>&1 3>&- &
	ATTACH=$!
	eventually 200 "sealed || ! kill -0 $ATTACH 2>/dev/null"
	failed=$(cat "$WORLD/failed")
}
sealed() { grep -q '"event":"sealed"' "$WORLD/lines"; }
ended() { status=0; wait "$ATTACH" || status=$?; }

# the service is where it was, its connection carries its words, and it reaches what no profile lists; says what is wrong
as_it_was() {
	local word=word-$RANDOM
	kill -0 "$SERVICE" 2>/dev/null || { echo "the service is gone"; return 1; }
	mark
	echo $word >"$WORLD/words"
	eventually 50 "wire $PUB_B 443" || { echo "its connection is dead"; return 1; }
	inside service "$tools/attempt" tcp $PUB_B 443 >/dev/null 2>&1 || { echo "it is cut off"; return 1; }
}
nothing_left() {
	"$netcordon" host status --root "$ROOT" --json >"$WORLD/status"
	jq -e --argjson o "${1:-0}" '.instances.used == 0 and .orphans_ended == $o and .entries == {policy: 0, grants: 0, seen: 0}' "$WORLD/status" >/dev/null || { cat "$WORLD/status" >&2; return 1; }
	[ -z "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d)" ]
	# links that no record names: of taken cgroups there is a folder for each
	[ -z "$(find "$(jq -r .pins "$WORLD/status")/links" -mindepth 1 -type d)" ]
}

# given_back CODE: it failed with that, said so, and everything is as it was
given_back() {
	ended
	[ "$status" -eq 125 ] && [ "$(wc -l <"$WORLD/out")" -eq 1 ]
	[[ $(cat "$WORLD/out") == *"$1"*"the cgroup and its processes are as they were"* ]] || { cat "$WORLD/out" >&2; return 1; }
	run ! sealed
	as_it_was >&2
	nothing_left
	as_it_was >&2
}

@test "a full disk for the evidence" {
	mkdir -p "$WORLD/full"
	mount -t tmpfs -o size=64k tmpfs "$WORLD/full"
	dd if=/dev/zero of="$WORLD/full/rest" bs=4k 2>/dev/null || true
	EVIDENCE_IN=$WORLD/full/evidence begin netcordon
	given_back evidence_unwritable
	tail -n 1 "$WORLD/lines" | jq -e '.event=="failed" and .code=="evidence_unwritable" and (.detail | test("as they were")) and (.started | not)'
	umount "$WORLD/full"
	# the twin: with room for it, the same service is behind the cordon, and ends with it
	begin netcordon
	sealed
	mark
	try inside service "$tools/attempt" tcp $PUB_B 443
	refused EPERM connect
	nothing_reached $PUB_B 443
	try inside service "$tools/attempt" tcp $PUB_A 443
	through
	"$netcordon" stop --root "$ROOT" service
	ended
	run ! kill -0 "$SERVICE"
	nothing_left
}

@test "nobody who could hear that it is sealed" {
	# a descriptor that can be read only, and one whose reader is gone
	: >"$WORLD/lines"
	run timeout 60 "$netcordon" attach --cgroup "$ROOT/service" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/unheard" \
		--key "$WORLD/key.pem" --status-fd 8 8> >(:)
	[ "$status" -eq 125 ] && [[ $output == *"as they were"* ]] || { echo "$output" >&2; return 1; }
	[ ! -e "$WORLD/unheard" ]
	as_it_was >&2
	nothing_left
}

@test "a supervisor that is killed before it has said sealed: the next look gives the cgroup back" {
	local n kept=0
	for ((n = ${FROM:-40}; n < 2000; n += ${EVERY:-131})); do
		PROGRAM=$top/build/netcordon-faults begin "netcordon@k$n"
		if sealed; then break; fi
		ended
		"$netcordon" host status --root "$ROOT" --json >"$WORLD/first"
		[ "$(jq .orphans_ended "$WORLD/first")" -eq 0 ] || kept=$((kept + 1))
		as_it_was >&2 || { echo "call $n ($failed)" >&2; return 1; }
		nothing_left
	done
	[ "$kept" -gt 1 ]
	service_down # the twin: it was sealed, and ends when it is empty, or is killed on the way
	wait "$ATTACH" || true
	"$netcordon" host status --root "$ROOT" >/dev/null
}

# What the last attach did wrong; nothing where it did well.
finding() {
	if sealed; then
		if kill -0 "$ATTACH" 2>/dev/null && kill -0 "$SERVICE" 2>/dev/null; then
			try inside service "$tools/attempt" tcp $PUB_B 443
			# it may have ended meanwhile: then so has the service
			[ "$status" -ne 0 ] || ! kill -0 "$SERVICE" 2>/dev/null || echo "sealed, and open"
		fi
		"$netcordon" stop --root "$ROOT" service >/dev/null 2>&1 || true
		ended
		! kill -0 "$SERVICE" 2>/dev/null || echo "the service outlived its instance: $(cat "$WORLD/out")"
		nothing_left || echo "something is left"
		service_down
		service_up
		return 0
	fi
	ended
	if [ "$status" -eq 134 ] && [ "${failed#* }" = getrandom ]; then # libsodium ends the process that gets no randomness
		nothing_left 1 2>/dev/null || nothing_left || echo "something is left"
	elif [ "$status" -ne 125 ] || [ "$(wc -l <"$WORLD/out")" -ne 1 ]; then
		echo "status $status: $(cat "$WORLD/out")"
	fi
	nothing_left || echo "something is left"
	as_it_was
}

# sweep PREFIX STEP: until nothing has failed when `sealed` is told
sweep() {
	local n refused=0 tried=0 found=0 said=0 what
	for ((n = ${FROM:-4}; n < ${TO:-6000}; n += $2)); do
		PROGRAM=$top/build/netcordon-faults begin "netcordon@$1$n"
		finding >"$WORLD/finding" 2>&1 || true
		what=$(cat "$WORLD/finding")
		if sealed && [ -z "${failed#* }" ]; then break; fi
		tried=$((tried + 1))
		sealed || refused=$((refused + 1))
		grep -q "as they were" "$WORLD/out" && said=$((said + 1))
		[ -n "$what" ] || continue
		echo "call $n ($failed): $what" >&2
		[ $((found += 1)) -lt 20 ] || break
	done
	echo "# $tried calls made to fail, $refused of them gave the cgroup back, $said said so" >&3
	[ "$found" -eq 0 ]
	[ -z "${TO-}" ] || return 0
	[[ $tried -ge 8 && $refused -ge 5 && $said -ge 1 ]]
}

@test "system calls that fail in turn" { sweep "" "${EVERY:-41}"; }
@test "demands for memory that fail in turn" { sweep m "${EVERY:-197}"; }
