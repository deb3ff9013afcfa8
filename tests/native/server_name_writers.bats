#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154
# server_name_writers.bats - first payloads that several processes write, that are handed over by reference in every way that sockets have, or that a ring sends

bats_require_minimum_version 1.5.0
load helpers
load named

both='"host":"good.example","port":443'

setup_file() {
	named_up
	cp "$BATS_TEST_DIRNAME/named_writers.py" "$WORLD/"
	listed "$both"
}
teardown_file() { named_down; }
teardown() { attach_down; }

# writers HOW NAME [OTHER COUNT]: inside the cordon, once the name was resolved. writes: the same without a cordon.
writers() {
	named_mark
	# shellcheck disable=SC2016
	run cordon sh -c 'getent ahostsv4 good.example >/dev/null; exec "$@"' sh "$WORLD/named_writers.py" "$1" $PUB_A 443 "${@:2}"
}
writes() {
	named_mark
	run in_wl timeout 30 "$WORLD/named_writers.py" "$1" $PUB_A 443 "${@:2}"
}
# shown NAME: the server was shown that name
shown() { named_since | jq -e -s --arg name "$1" 'any(.[]; .event=="asked" and .name==$name)' >/dev/null; }

@test "two writers at once, of a listed and of another name: the other is never shown, whoever was first" {
	local count=${COUNT:-60}
	writes two good.example other.example "$count"
	eventually 50 "shown good.example" && eventually 50 "shown other.example"
	writers two good.example other.example "$count"
	[ "$(grep -cE '^(answer|ended|silence)' <<<"$output")" -eq "$count" ] || { echo "$output" >&2; return 1; }
	echo "# $(cut -d' ' -f1,2 <<<"$output" | sort | uniq -c | tr '\n' ';')" >&3
	refusal server_name_mismatch
	fence
	run ! shown other.example
	named_since | jq -e -s '[.[] | select(.event=="payload")] | length > 0 and all(.[]; .names == ["good.example"])' >/dev/null ||
		{ named_since | jq -c 'del(.text)' | cut -c1-200 >&2; return 1; }
	# of listed names both pass, as far as the server is concerned
	writers two good.example good.example 10
	shown good.example
}

@test "halves of a hello by two writers at once: unreadable, also where the whole is a listed name's; in turn, as one packet, it is read" {
	writes halves good.example "" 30
	eventually 50 "shown good.example"
	writers halves good.example "" 30
	[ "$(grep -c '^ended' <<<"$output")" -eq 30 ] || { echo "$output" >&2; return 1; }
	refusal server_name_unreadable
	no_payload
	writers turns good.example
	[[ $status -eq 0 && $output == "answer "* ]]
	writers turns other.example
	[[ $status -eq 1 && $output == "ended "* ]]
	refusal server_name_mismatch
	no_payload
}

@test "an urgent byte in the middle of the name: a server would read another name" {
	writes urgent good.example
	eventually 50 "named_since | jq -e -s 'any(.[]; .event==\"payload\")' >/dev/null"
	run ! shown good.example
	writers urgent good.example
	[[ $status -eq 1 && $output == "ended "* ]]
	refusal server_name_unreadable
	no_payload
	writers copied good.example
	[ "$status" -eq 0 ]
	shown good.example
}

@test "pages of the process, of a pipe, of two pipes: unreadable; MSG_ZEROCOPY has no option to go with it, and without that it copies" {
	local how
	for how in vmsplice gift piped tee zerocopy; do
		writes $how good.example
		[ "$status" -eq 0 ] || { echo "$how: $output" >&2; return 1; }
		writers $how good.example
		[ "$status" -eq 1 ] || { echo "$how: $output" >&2; return 1; }
		if [ $how = zerocopy ]; then
			[ "$output" = "refused setsockopt EPERM" ]
		else
			[[ $output == "ended "* ]] || { echo "$how: $output" >&2; return 1; }
			refusal server_name_unreadable
		fi
		no_payload
	done
	for how in copied unset; do
		writers $how good.example
		[ "$status" -eq 0 ] || { echo "$how: $output" >&2; return 1; }
		shown good.example
		writers $how other.example
		[ "$status" -eq 1 ]
		no_payload
	done
}

# Behind attach rings are the attached cgroup's own affair.
@test "a ring that sends: what it copies is read, what it does not is unreadable" {
	local how name
	mkdir "$ROOT/ringed"
	bash -c 'echo 0 >"$0/cgroup.procs" && exec sleep 3600' "$ROOT/ringed" 3>&- 2>/dev/null &
	echo $! >"$WORLD/resident.pid"
	listed '"host":"good.example","port":80'
	nsenter --net=/run/netns/"$SUP" "$netcordon" attach --config "$WORLD/netcordon.conf" --cgroup "$ROOT/ringed" --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/attached" --key "$WORLD/key.pem" 3>&- >"$WORLD/attach.out" 2>&1 &
	echo $! >"$WORLD/attach.pid"
	eventually 150 "[ -f $WORLD/attached/launch.json.sig ]" || { cat "$WORLD/attach.out" >&2; return 1; }
	for how in ring ring-async; do
		named_mark
		inside ringed sh -c 'getent ahostsv4 good.example >/dev/null; exec "$@"' sh "$tools/attempt" -t 5000 shown $how $PUB_A 80 good.example
		served good.example
		named_mark
		run inside ringed "$tools/attempt" -t 5000 shown $how $PUB_A 80 other.example
		[ "$status" -eq 1 ] || { echo "$how: $output" >&2; return 1; }
		no_payload
	done
	EVIDENCE=attached refusal server_name_mismatch
	named_mark
	run in_wl "$tools/attempt" -t 5000 shown ring-zc $PUB_A 80 good.example
	[ "$status" -ne 2 ] || return 0 # no such operation before 6.0
	served good.example
	named_mark
	run inside ringed "$tools/attempt" -t 5000 shown ring-zc $PUB_A 80 good.example
	[ "$status" -eq 1 ] || { echo "$output" >&2; return 1; }
	EVIDENCE=attached refusal server_name_unreadable
	no_payload
}
