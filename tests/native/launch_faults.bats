#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch_faults.bats - every call of a launch made to fail in turn: the command never runs, and nothing is left. EVERY=1 tries each; the ring samples.

load helpers

setup_file() {
	world_up
	base_profile
	chmod 755 "$WORLD"
	mkdir -m 1777 "$WORLD/marks"
	# What the host needs once is in place, so that the calls counted are a launch's own.
	cordon true
}

teardown_file() { world_down; }

# faulty NAME: a launch under that name of the program in which a call fails; $status, and on descriptor 9 which call it was in $failed
faulty() {
	rm -rf "$WORLD/evidence" "$WORLD"/marks/*
	status=0
	bash -c 'exec -a "$0" "$@"' "$1" "$top/build/netcordon-faults" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" \
		--evidence "$WORLD/evidence" --key "$WORLD/key.pem" --status-fd 8 -- touch "$WORLD/marks/ran" 8>"$WORLD/lines" 9>"$WORLD/failed" \
		>"$WORLD/out" 2>&1 || status=$?
	failed=$(cat "$WORLD/failed")
}

# Instances, cgroups of instances, entries of any map.
nothing_left() {
	[ "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d | wc -l)" -eq 0 ] || { find "$ROOT"/netcordon-*.slice -mindepth 1 -type d >&2; return 1; }
	"$netcordon" host status --root "$ROOT" --json >"$WORLD/status"
	jq -e '.instances.used == 0 and .orphans_ended == 0 and .entries == {policy: 0, grants: 0, seen: 0}' "$WORLD/status" >/dev/null || { cat "$WORLD/status" >&2; return 1; }
}

# What the last launch did wrong, as one word and its output; nothing where it did well.
finding() {
	if [ "$status" -eq 0 ]; then
		[ -e "$WORLD/marks/ran" ] || echo "success, and the command did not run"
	elif [ -e "$WORLD/marks/ran" ]; then
		echo "the command ran, status $status: $(cat "$WORLD/out")"
	# libsodium ends the process that the kernel gives no randomness, and says nothing; a shell adds what it saw
	elif [ "$status" -eq 134 ] && [ "${failed#* }" = getrandom ]; then
		:
	elif [ "$status" -ne 125 ]; then
		echo "status $status: $(cat "$WORLD/out")"
	elif [ "$(wc -l <"$WORLD/out")" -ne 1 ]; then
		echo "not one line: $(cat "$WORLD/out")"
	fi
	nothing_left || echo "something is left"
}

# Was the Runner told, on the status descriptor? A launch that fails before its first phase has nothing to tell there.
told() { [ "$(tail -n 1 "$WORLD/lines" | jq -r .event)" = failed ]; }

# sweep PREFIX STEP: until a launch makes fewer calls than the one that was to fail, or FROM and TO where a piece is wanted. All findings are told.
sweep() {
	local n refused=0 tried=0 found=0 what heard=""
	# From the fourth: main looks at three descriptors before it knows that it is a launch.
	for ((n = ${FROM:-4}; n < ${TO:-6000}; n += $2)); do
		faulty "netcordon@$1$n"
		[ -n "${failed#* }" ] || break
		tried=$((tried + 1))
		[ "$status" -eq 0 ] || refused=$((refused + 1))
		what=$(finding)
		if [ "$status" -eq 125 ]; then # once one was told the phases have begun, and every later one must be
			if told; then heard=1; else what+=${heard:+"the status descriptor was not told: $(cat "$WORLD/out")"}; fi
		fi
		[ -n "$what" ] || continue
		echo "call $n ($failed): $what" >&2
		[ $((found += 1)) -lt 20 ] || break
	done
	echo "# $tried calls made to fail, $refused of them ended the launch" >&3
	[ "$found" -eq 0 ]
	[ -n "$heard" ]
	[ -z "${TO-}" ] || return 0
	[ "$tried" -ge 20 ]
	[ "$refused" -ge 10 ]
	[ "$status" -eq 0 ] # the positive twin: the same program, when no call fails
	[ -e "$WORLD/marks/ran" ]
}

@test "system calls" { sweep "" "${EVERY:-13}"; }
@test "demands for memory" { sweep m "${EVERY:-37}"; }

# update_faulty NAME AFTER: an instance under that name of the program gets another policy; $answered, $updates recorded, $verified, and $status of its end
update_faulty() {
	local running
	rm -rf "$WORLD/evidence" "$WORLD"/marks/*
	bash -c 'exec -a "$0" "$@"' "$1" "$top/build/netcordon-faults" run --instance faulty --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- \
		sh -c "touch $WORLD/marks/ran; until [ -e $WORLD/marks/end ]; do sleep 0.02; done" 3>&- 9>"$WORLD/failed" >"$WORLD/out" 2>&1 &
	running=$! answered=0 status=0 verified=0
	eventually 100 "[ -e $WORLD/marks/ran ]"
	timeout 60 "$netcordon" update --root "$ROOT" faulty --profile "$2" >"$WORLD/said" 2>&1 || answered=$?
	touch "$WORLD/marks/end"
	wait $running || status=$?
	failed=$(cat "$WORLD/failed")
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub" >"$WORLD/verdict" || verified=$?
	updates=$(grep -c '"kind":"update"' "$WORLD/evidence/events.jsonl" || true)
}

# What the last update did wrong. Either the exchange was made and is recorded, or the policy before is in force and the instance lives on, or it has ended with
# an error and evidence that does not call itself complete. An answer that could not be sent is one that the asker did not get.
update_finding() {
	if [ "$verified" -eq 0 ]; then
		jq -e .policy_intact "$WORLD/evidence/closing.json" >/dev/null || echo "not what was sealed"
		[[ $updates -eq $((answered == 0)) || ${failed#* } = send ]] || echo "$updates updates recorded, answered $answered: $(cat "$WORLD/said")"
		[ "$status" -eq 0 ] || echo "status $status: $(cat "$WORLD/out")"
	elif [ "$status" -ne 125 ]; then
		echo "status $status, $(cat "$WORLD/verdict")"
	elif [ "$answered" -eq 0 ]; then
		echo "ended, and answered that it was done"
	fi
	nothing_left || echo "something is left"
}

# sweep_update PREFIX STEP: to a narrower list, to none, and to everything public, in turn
sweep_update() {
	local n what tried=0 refused=0 ended=0 found=0 after=(none narrow open)
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	jq '.network.destinations |= .[:1]' "$WORLD/profile.json" >"$WORLD/narrow.json"
	echo '{"version": 1, "network": {"mode": "none"}}' >"$WORLD/none.json"
	echo '{"version": 1, "network": {"mode": "unrestricted"}}' >"$WORLD/open.json"
	for ((n = ${FROM:-1}; n < ${TO:-2000}; n += $2)); do
		update_faulty "netcordon@u$1$n" "$WORLD/${after[$((tried % 3))]}.json"
		[ -n "${failed#* }" ] || break
		tried=$((tried + 1))
		[ "$answered" -eq 0 ] || refused=$((refused + 1))
		[ "$status" -eq 0 ] || ended=$((ended + 1))
		what=$(update_finding)
		[ -n "$what" ] || continue
		echo "call $n ($failed) to ${after[$(((tried - 1) % 3))]}: $what" >&2
		[ $((found += 1)) -lt 20 ] || break
	done
	echo "# $tried calls made to fail, $refused of them were an error for whoever asked, $ended ended the instance" >&3
	[ "$found" -eq 0 ]
	[ -z "${TO-}" ] || return 0
	[[ $tried -ge 5 && $refused -ge 3 ]]
	[[ $answered -eq 0 && $status -eq 0 && $updates -eq 1 ]] # the positive twin
}

@test "an update whose system calls fail in turn: what is signed holds" { sweep_update "" "${EVERY:-11}"; }
@test "an update whose demands for memory fail in turn: what is signed holds" { sweep_update m "${EVERY:-37}"; }

# Of twelve refusals each is an event, and names give the instance an edge that hands them over. A demand that fails while the command runs loses
# records at most: that is signed as such, ends nothing, and is never told as the edge's loss.
@test "demands for memory that fail while a command runs: what was lost is counted" {
	local n lost=0 told verified
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	jq '.network.destinations += [{"host": "api.example", "port": 443}]' "$WORLD/profile.json" >"$WORLD/named.json"
	echo '{"version": 1, "upstreams": ["127.0.0.1"]}' >"$WORLD/netcordon.conf"
	for ((n = 1; n < ${TO:-2000}; n += ${EVERY:-67})); do
		rm -rf "$WORLD/evidence"
		status=0 verified=0
		# shellcheck disable=SC2016
		bash -c 'exec -a "$0" "$@"' "netcordon@rm$n" "$top/build/netcordon-faults" run --config "$WORLD/netcordon.conf" --profile "$WORLD/named.json" --root "$ROOT" \
			--netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- \
			bash -c 'for ((p = 1000; p < 1012; p++)); do (: >/dev/tcp/'$PUB_C'/$p) 2>/dev/null; done; exit 3' 9>"$WORLD/failed" >"$WORLD/out" 2>&1 || status=$?
		failed=$(cat "$WORLD/failed")
		[ -n "${failed#* }" ] || break
		"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub" >"$WORLD/verdict" || verified=$?
		told=$(grep -c '"kind":"verdict".*"decision":"deny".*"reason":"destination_not_listed"' "$WORLD/evidence/events.jsonl" || true)
		case $verified in
		0) [[ $status -eq 3 && $told -eq 12 ]] ;;
		5) if [ -f "$WORLD/evidence/closing.json" ]; then
				lost=$((lost + 1))
				[ "$status" -eq 3 ] && jq -e '.losses != "0" and .result.cause == "exited" and .policy_intact' "$WORLD/evidence/closing.json" >/dev/null
			else
				[ "$status" -eq 125 ]
			fi ;;
		*) [[ $verified -eq 4 && $status -eq 125 ]] ;;
		esac || { echo "call $n ($failed): verify $verified, status $status, told $told: $(cat "$WORLD/out" "$WORLD/verdict")" >&2; return 1; }
		nothing_left
	done
	echo "# $((n / ${EVERY:-67})) demands made to fail, $lost of them lost records" >&3
	[ "$lost" -gt 0 ]
	[ "$status" -eq 3 ]
}

# The kernel's part stands whoever dies: the next look at the host ends what is left. Evidence that was begun is open or incomplete, and never false.
@test "killed at system calls, supervisor and init alike" {
	local n verified
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	for ((n = ${FROM:-4}; n < ${TO:-6000}; n += ${EVERY:-31})); do
		faulty "netcordon@k$n"
		[ -n "${failed#* }" ] || break
		[ "$status" -ne 0 ] || { echo "call $n ($failed): killed, and status 0" >&2; return 1; }
		"$netcordon" host status --root "$ROOT" >/dev/null || { echo "call $n ($failed): host status $?" >&2; return 1; }
		nothing_left || { echo "call $n ($failed): something is left" >&2; return 1; }
		[ -e "$WORLD/evidence/launch.json.sig" ] || continue
		verified=0
		"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub" >"$WORLD/out" || verified=$?
		[[ $verified -eq 4 || $verified -eq 5 ]] || { echo "call $n ($failed): verify says $verified" >&2; cat "$WORLD/out" >&2; return 1; }
	done
	[ "$n" -gt 20 ]
}
