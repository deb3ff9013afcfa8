#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# conform.bats - the matrix must tell the reference guards apart, and must believe no driver
#
# Each guard is run once over the same cases of all five facts; the tests then look at the outcomes, one question each.

bats_require_minimum_version 1.5.0
load helpers

cases=match.listed.tcp.4,match.port.tcp.4,match.name.byte.4,redirect.listed.302.4,redirect.other.302.4,public.literal.private10.4
cases=$cases,public.answer.private10.4,public.second.4,separate.plane.listed.4,separate.workload.crosses.4,separate.plane.crosses.6
cases=$cases,separate.credential,deny.unlisted.6,deny.tcp.4,deny.udp.6,deny.ignored.listed.4

# matrix NAME DRIVER PAIR [ARGUMENTS...]: leaves NAME.json
matrix() {
	local name=$1 driver=$2 pair=$3
	shift 3
	timeout 170 "$netcordon" conform --json --driver "$driver" --provider "$pair" "$@" >"$FOLDER/$name.json" 2>"$FOLDER/$name.err" || [ $? -eq 1 ]
}

guard() {
	local flavour=$1
	shift
	matrix "${NAME-$flavour}" "$top/build/drivers/guard" "reference:guard-$flavour@1" --driver-options "{\"flavour\":\"$flavour\"}" "$@"
}

# own_root NAME: the name of a cgroup of version 2 for this test alone
own_root() { echo "$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)/nctest-conform-$1-$$"; }
own_options() { printf '{"netcordon":"%s","mutant":"%s","root":"%s"}' "$netcordon" "$top/build/mutant/netcordon" "$1"; }

# own NAME DRIVER PROVIDER [ARGUMENTS...]: the matrix on a provider of netcordon's own, which must leave no cgroup
own() {
	local name=$1 driver=$2 pair=netcordon:$3-provider@dev root
	root=$(own_root "$name")
	shift 3
	mkdir "$root"
	matrix "$name" "$driver" "$pair" --driver-options "$(own_options "$root")" "$@"
	find "$root" -depth -type d -exec rmdir {} + 2>/dev/null || true
	[ ! -d "$root" ]
}

setup_file() {
	export FOLDER
	FOLDER=$(mktemp -d /tmp/nctest-conform-XXXXXX)
	chmod 755 "$FOLDER"
	ip -br link | sort >"$FOLDER/links"
	for flavour in right blind flattened variables; do guard $flavour --case $cases; done
	NAME=again guard right --case $cases
	NAME=stopped guard blind --case $cases --listeners off
	matrix none "$top/build/drivers/none" reference:no-enforcement@1 --case $cases --bundle "$FOLDER/bundle" --manifest "$(printf '%064d' 7)"
}

teardown_file() { rm -rf "$FOLDER"; }

outcome() { jq -r --arg id "$2" '.cases[] | select(.id == $id) | .outcome' "$FOLDER/$1.json"; }
count() { jq --arg o "$2" '[.cases[] | select(.outcome == $o)] | length' "$FOLDER/$1.json"; }
# only NAME OUTCOME ID...: exactly these cases have an outcome other than green, and it is that one
only() {
	local name=$1 want=$2
	shift 2
	[ "$(jq -r --arg o "$want" '[.cases[] | select(.outcome != "green") | if .outcome == $o then .id else .id + " " + .outcome end] | sort | join(",")' "$FOLDER/$name.json")" \
		= "$(printf '%s\n' "$@" | sort | paste -sd,)" ] || { jq -c '.cases[] | select(.outcome != "green")' "$FOLDER/$name.json"; return 1; }
}

@test "the guard that is right is green in every case" {
	only right red ""
	[ "$(count right green)" -eq 16 ]
}

@test "each of its refusals was reached without enforcement and with the check switched off" {
	[ "$(jq '[.cases[] | select(.expectation == "refused") | select(.control == "reached" and .enforced == "refused" and .mutant == "reached")] | length' \
		"$FOLDER/right.json")" -eq "$(jq '[.cases[] | select(.expectation == "refused")] | length' "$FOLDER/right.json")" ]
}

@test "the bundle is as its schemas describe it, and is no receipt" {
	described() { "$top/tests/unit/validate_schema" "$top/docs/schema" "$@"; }
	described statement="$FOLDER/bundle/statement.json" matrix="$FOLDER/bundle/matrix.json" transcript="$FOLDER/bundle/transcripts.jsonl"
	run -1 described receipt="$FOLDER/bundle/statement.json"
}

@test "the same matrix twice comes to the same, case by case, and what differs is named" {
	run -0 "$top/tests/twice" --compare "$FOLDER/right.json" "$FOLDER/again.json"
	[ "$output" = "the same: 16 cases" ]
	run -1 "$top/tests/twice" --compare "$FOLDER/right.json" "$FOLDER/blind.json"
	[[ $output == *"public.literal.private10.4"*red* && $output != *deny.tcp.4* ]]
}

@test "a part of the matrix establishes no fact" {
	jq -e '.whole == false and ([.facts[]] | any | not)' "$FOLDER/right.json"
}

@test "the guard without connect-time classification is red where it must be, with a live listener" {
	only blind red public.literal.private10.4 public.answer.private10.4 public.second.4
}

@test "with the listener stopped the same guard is inconclusive, and nothing is green" {
	for id in public.literal.private10.4 public.answer.private10.4 public.second.4; do [ "$(outcome stopped $id)" = inconclusive ]; done
	[ "$(jq '[.cases[] | select(.id != "separate.credential") | .outcome] | unique | join(",")' "$FOLDER/stopped.json")" = '"inconclusive"' ]
}

@test "the guard that flattens both authorities is red for their separation alone" {
	only flattened red separate.workload.crosses.4 separate.plane.crosses.6 separate.credential
}

@test "the guard that only sets proxy variables is red where they are ignored" {
	only variables red deny.tcp.4 deny.udp.6 deny.ignored.listed.4
}

@test "no enforcement is never green" {
	# Nothing serves the workload there, so nothing can hold a credential: that one case alone.
	[ "$(jq -r '[.cases[] | select(.outcome == "green") | .id] | join(",")' "$FOLDER/none.json")" = separate.credential ]
	[ "$(outcome none match.port.tcp.4)" = red ]
	[ "$(outcome none match.listed.tcp.4)" = worthless ]
}

@test "without its client the matrix says how to name it" {
	cp "$top/build/netcordon" "$BATS_TEST_TMPDIR/alone"
	run -3 timeout 60 "$BATS_TEST_TMPDIR/alone" conform --driver "$top/build/drivers/none" --provider reference:no-enforcement@1
	[[ $output == *"driver_unusable: "*"attempt"*"(name it with --client; "* ]]
}

# A driver that is right but for one verb, or one case in two.
bad_driver() {
	cat >"$FOLDER/$1" <<-END
		#!/bin/bash
		verb=\$1
		request=\$(cat)
		bad() { $3; }
		[ "\$verb" = "$2" ] && { [ ! -e "$FOLDER/$1.once" ] || exec "$top/build/drivers/guard" "\$verb" <<<"\$request"; touch "$FOLDER/$1.once"; bad; exit; }
		exec "$top/build/drivers/guard" "\$verb" <<<"\$request"
	END
	chmod +x "$FOLDER/$1"
}

# misbehaves NAME VERB WHAT CODE: the first case ends in that error, the second is green
misbehaves() {
	bad_driver "$1" "$2" "$3"
	matrix "$1" "$FOLDER/$1" reference:guard-right@1 --deadline 2 --jobs 1 --case match.port.tcp.4,match.bit.tcp.4
	[ "$(outcome "$1" match.port.tcp.4)" = error ] || { cat "$FOLDER/$1.json"; return 1; }
	jq -e --arg code "$4" '.cases[0].reason | contains($code)' "$FOLDER/$1.json"
	[ "$(outcome "$1" match.bit.tcp.4)" = green ]
}

@test "a driver that hangs is a typed error of its case, and the others still run" { misbehaves hangs prepare "sleep 60" driver_deadline; }
@test "a driver that crashes" { misbehaves crashes prepare 'kill -SEGV $$' driver_crashed; }
@test "a driver that exits with an error" { misbehaves exits exec "exit 3" driver_crashed; }
@test "a driver that prints garbage" { misbehaves prints exec "echo hello" driver_garbage; }
@test "a driver that answers with more than it may" { misbehaves floods prepare "yes | head -c 3000000" driver_garbage; }
@test "a driver that answers with the right JSON and one member more" {
	misbehaves adds exec 'echo "{\"version\":1,\"exited\":0,\"output\":\"\",\"grade\":\"security_boundary\"}"' driver_garbage
}
@test "a driver that prepares another provider than the operator tests" {
	misbehaves other prepare 'echo "{\"version\":1,\"provider\":\"reference:guard-blind\",\"provider_revision\":\"1\",\"state\":{}}"' driver_contradiction
}

@test "a driver that never runs anything is never green" {
	cat >"$FOLDER/idle" <<-'END'
		#!/bin/bash
		cat >/dev/null
		case $1 in
		describe) echo '{"version":1,"provider":"example:idle","provider_revision":"1","authorities":["workload"],"transport":"direct","mutants":[]}' ;;
		prepare) echo '{"version":1,"provider":"example:idle","provider_revision":"1","state":{}}' ;;
		exec) echo '{"version":1,"exited":0,"output":"{\"client\":\"curl\",\"exit\":7,\"http\":000,\"proxy\":000}"}' ;;
		teardown) echo '{"version":1}' ;;
		esac
	END
	chmod +x "$FOLDER/idle"
	matrix idle "$FOLDER/idle" example:idle@1 --case match.listed.tcp.4,match.port.tcp.4,deny.tcp.4,separate.plane.listed.4
	[ "$(count idle green)" -eq 0 ]
	jq -e '.cases[] | select(.id == "match.port.tcp.4") | .reason | contains("listed destination was not reached either")' "$FOLDER/idle.json"
	jq -e '.cases[] | select(.id == "separate.plane.listed.4") | .reason | contains("authority_dimension_absent")' "$FOLDER/idle.json"
}

@test "a driver that says that it is somebody else is refused before anything is made" {
	run -3 timeout 20 "$netcordon" conform --json --driver "$top/build/drivers/none" --provider reference:guard-right@1
	[[ $output == *driver_contradiction* ]]
	run -3 timeout 20 "$netcordon" conform --json --driver "$top/build/drivers/none" --provider reference:no-enforcement@2
	[[ $output == *driver_contradiction* ]]
	run -3 timeout 20 "$netcordon" conform --json --driver /nonexistent --provider reference:no-enforcement@2
	[[ $output == *driver_unusable* ]]
}

@test "run: the ways out that need the host's help, each refused or not to be made here" {
	local cases
	cases=deny.inherited.ring.4,deny.rds.4,deny.vsock.4,deny.smc.6,deny.tipc.4,deny.tun.4,deny.vxlan.4,deny.namespace.6,deny.moved.4,deny.policy.4
	cases=$cases,deny.robbed.4,deny.key.4,deny.terminal.4,deny.classified.4,deny.removed.6,deny.sctp.4,deny.launch.4
	own host "$top/build/drivers/run" run --case $cases
	jq -e '[.cases[] | select(.outcome != "green") | select(.reason | startswith("cannot be made here: ") | not)] == []' "$FOLDER/host.json" ||
		{ jq -c '.cases[] | select(.outcome != "green")' "$FOLDER/host.json"; return 1; }
	# Those that every kernel can make.
	[ "$(jq -r '[.cases[] | select(.outcome == "green") | .id] | map(select(IN("deny.namespace.6", "deny.moved.4", "deny.policy.4", "deny.removed.6", "deny.launch.4"))) | length' \
		"$FOLDER/host.json")" -eq 5 ]
}

@test "who is not told of the network's own NAT64 prefix is red behind it, for what is refused and for what is reached" {
	printf '#!/bin/sh\njq -c '"'if has(\"nat64\") then .nat64 = \"\" else . end'"' | "%s" "$@"\n' "$top/build/drivers/run" >"$FOLDER/untold"
	chmod 755 "$FOLDER/untold"
	own untold "$FOLDER/untold" run --case public.nat64.listed.6,public.nat64.own.listed.6,public.nat64.own.6
	only untold red public.nat64.own.listed.6 public.nat64.own.6
}

# A driver of `attach` that takes its time behind each command, and notes who stands in the cgroup then, and what he has open.
slow_attach() {
	cat >"$FOLDER/slow" <<-END
		#!/bin/bash
		request=\$(cat)
		"$top/build/drivers/attach" "\$1" <<<"\$request" || exit
		[ "\$1" = exec ] || exit 0
		sleep $1
		cgroup=\$(jq -r '.state.root + "/" + .state.instance[:16]' <<<"\$request")
		while read -r pid; do echo "\$(tr '\0' ' ' <"/proc/\$pid/cmdline")"\$(readlink /proc/\$pid/fd/*); done <"\$cgroup/cgroup.procs" >>"$FOLDER/kept"
	END
	chmod 755 "$FOLDER/slow"
}

@test "attach: the instance lives on between two commands, by a process that has nothing open" {
	slow_attach 2
	own kept "$FOLDER/slow" attach --case separate.credential
	only kept green
	# In the enforced run and in the mutant's, and nobody else.
	[ "$(sed 's/ [0-9]* / /' "$FOLDER/kept" | uniq -c | xargs)" = "2 sleep /dev/null /dev/null /dev/null" ] || { cat "$FOLDER/kept"; return 1; }
}

@test "attach: a program of somebody else that is there before the first command stops the launch" {
	own before "$top/build/drivers/attach" attach --case deny.foreign.launch.4
	jq -e '.cases[0] | .outcome == "green" or (.reason | startswith("cannot be made here: "))' "$FOLDER/before.json" || { cat "$FOLDER/before.json"; return 1; }
}

@test "attach: an interrupted matrix leaves no process and no cgroup" {
	local root pid kept=
	root=$(own_root torn)
	slow_attach 30
	mkdir "$root"
	timeout -s KILL 100 "$netcordon" conform --driver "$FOLDER/slow" --provider netcordon:attach-provider@dev --driver-options "$(own_options "$root")" \
		--case separate.credential >/dev/null 2>&1 3>&- &
	pid=$!
	eventually 200 "kept=\$(cat '$root'/whole/*/cgroup.procs 2>/dev/null) && grep -qs ^sleep /proc/\$kept/cmdline" || kept=''
	pkill -TERM -P $pid || true
	wait $pid || true
	[ -n "$kept" ]
	run ! kill -0 "$kept"
	find "$root" -depth -type d -exec rmdir {} + 2>/dev/null || true
	[ ! -d "$root" ]
}

@test "what a client says on its standard error is not the operator's" {
	run ! grep -E '^(listening|connected|curl:)' "$FOLDER"/*.err
}

@test "case and fact must exist" {
	run -2 "$netcordon" conform --json --driver "$top/build/drivers/none" --provider reference:no-enforcement@1 --case match.port.tcp.5
	[[ $output == *case_unknown* ]]
	run -2 "$netcordon" conform --json --driver "$top/build/drivers/none" --provider reference:no-enforcement@1 --fact default_allow
	[[ $output == *case_unknown* ]]
}

@test "a client that does not run, or is another program, is refused before anything is set up" {
	asked() { run -"$1" timeout 60 "$netcordon" conform --driver "$top/build/drivers/none" --provider reference:no-enforcement@1 --case deny.tcp.4 --client "$2"; }
	asked 3 "$BATS_TEST_TMPDIR/nowhere"
	[[ $output == *"driver_unusable: "*nowhere*"No such file"* && $output != *deny.tcp.4* ]]
	echo text >"$BATS_TEST_TMPDIR/text"
	for client in "$BATS_TEST_TMPDIR/text" "$BATS_TEST_TMPDIR"; do
		asked 3 "$client"
		[[ $output == *"driver_unusable: "*"cannot be executed"* && $output != *deny.tcp.4* ]]
	done
	asked 3 "$(type -P true)"
	[[ $output == *"driver_unusable: "*"is not the matrix's client"* && $output != *deny.tcp.4* ]]
	asked 1 "$tools/attempt"
	[[ $output == *deny.tcp.4*red* ]]
}

@test "nothing is left behind, when interrupted neither" {
	local signal pid
	for signal in INT TERM; do
		timeout -s KILL 60 "$netcordon" conform --driver "$top/build/drivers/guard" --provider reference:guard-right@1 >/dev/null 2>"$FOLDER/interrupted" 3>&- &
		pid=$!
		eventually 200 "grep -q match.listed.tcp.6 $FOLDER/interrupted"
		pgrep -f 'guard -serve' >/dev/null || eventually 50 "pgrep -f 'guard -serve' >/dev/null"
		pkill -$signal -P $pid
		wait $pid || true
		! pgrep -f 'guard -serve' >/dev/null
		ip -br link | sort | diff - "$FOLDER/links"
		[ -z "$(find /tmp -maxdepth 1 -name 'nc-conform-*' -newer "$FOLDER/links")" ]
	done
}

@test "a host without a working nft costs the cases that need it, not the matrix" {
	printf '#!/bin/sh\necho no rules today\nexit 1\n' >"$BATS_TEST_TMPDIR/nft"
	chmod 755 "$BATS_TEST_TMPDIR/nft"
	# shellcheck disable=SC2016 # for the other shell
	run -1 timeout 60 unshare -m sh -c 'mount --bind "$0/nft" "$(command -v nft)" && exec "$@" >"$0/result"' "$BATS_TEST_TMPDIR" "$netcordon" conform \
		--json --driver "$top/build/drivers/none" --provider reference:no-enforcement@1 --case deny.rewrite.tcp.4,deny.tcp.4
	cp "$BATS_TEST_TMPDIR/result" "$FOLDER/toolless.json"
	[ "$(outcome toolless deny.tcp.4)" = red ]
	[ "$(outcome toolless deny.rewrite.tcp.4)" = error ]
	jq -e '.cases[] | select(.id == "deny.rewrite.tcp.4") | .reason | test("nft cannot make .*no rules today")' "$FOLDER/toolless.json"
}
