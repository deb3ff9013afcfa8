#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# closures_foreign.bats - somebody else's programs on the same hooks: before ours and after them, above, beside and below, by every way of being attached
#
# One that stands there at launch is named and refused. One that comes later is noticed by the supervisor within two looks; until then the order decides: what
# it rewrites before our verdict is judged as rewritten, and what it rewrites or cancels after it meets the backstop, which looks at the packet.

load helpers
load foreign

setup_file() {
	world_up
	world_listen
	base_profile
}

teardown() {
	foreign_gone
	attach_down
}

teardown_file() { world_down; }

# place WAY: where it stands, for FOREIGN_AS and foreign
place() {
	sealed=$ROOT/$(cat "$WORLD/attached.name")
	case $1 in
	above) FOREIGN_AS='' where=$ROOT ;;
	above-first) FOREIGN_AS=preorder where=$ROOT ;;
	behind) FOREIGN_AS='' where=$sealed ;;
	last) FOREIGN_AS=after where=$sealed ;;
	first) FOREIGN_AS=before where=$sealed ;;
	esac
	export FOREIGN_AS
}

# rewritten VERB ADDR ERRNO CALL DEED TO: to an address that is not listed, while something sealed tries; the twin is outside the cordon, below the same program
rewritten() {
	local way=$1 verb=$2 address=$3 errno=$4 call=$5 deed=$6 to=$7
	attach_up
	place "$way"
	here "$where" "$deed" "$to" 443 || { attach_down; return 0; }
	if [ "$where" = "$ROOT" ]; then
		mark
		inside outside "$tools/attempt" -t 300 "$verb" "$address" 443 >/dev/null || true
		fence
		wire "$to" 443
	fi
	mark
	as attached -t 700 "$verb" "$address" 443
	refused "$errno" "$call"
	nothing_reached "$to"
	foreign_gone
	attach_down
}

# Before our verdict the rewritten address is judged, after it the packet.
@test "one that rewrites to a private address: refused, on every hook and wherever it stands" {
	mkdir -p "$ROOT/outside"
	rewritten above tcp $PUB_A ETIMEDOUT connect rewrite $PRIV
	rewritten above tcp $PUB6_A ETIMEDOUT connect rewrite $PRIV6
	rewritten above udp-sendto $PUB_A EPERM sendto rewrite-sendmsg $PRIV
	rewritten above udp-sendto $PUB6_A EPERM sendto rewrite-sendmsg $PRIV6
	rewritten behind tcp $PUB_A ETIMEDOUT connect rewrite $PRIV
	rewritten last udp-sendto $PUB6_A EPERM sendto rewrite-sendmsg $PRIV6
	rewritten above-first tcp $PUB6_A EPERM connect rewrite $PRIV6
	rewritten above-first udp-sendto $PUB_A EPERM sendto rewrite-sendmsg $PRIV
	rewritten first tcp $PUB_A EPERM connect rewrite $PRIV
	rewritten first udp-sendto $PUB6_A EPERM sendto rewrite-sendmsg $PRIV6
}

@test "one that rewrites to what is listed: reached where it is judged so, refused where it comes after the verdict" {
	local way
	for way in above-first first last; do
		attach_up
		place $way
		here "$where" rewrite $PUB_A 443 || { attach_down; continue; }
		mark
		as attached -t 700 tcp $PUB_B 443
		case $way in
		*first)
			through
			reached $PUB_A 443
			;;
		*)
			refused EPERM connect
			nothing_reached $PUB_A
			;;
		esac
		nothing_reached $PUB_B
		foreign_gone
		attach_down
	done
}

# cancelled WAY ADDR ERRNO CALL DEED VERB...: it sets the return value to 0. CALL: how far the attempt came
cancelled() {
	local way=$1 address=$2 errno=$3 call=$4 deed=$5
	shift 5
	attach_up
	place "$way"
	here "$where" "$deed" || { attach_down; return 0; }
	mark
	as attached -t 300 "$@"
	refused "$errno" "$call"
	nothing_reached "$address"
	foreign_gone
	attach_down
}

@test "one that resets the return value of connect, sendmsg, socket or setsockopt: nothing leaves" {
	local verb
	mark
	for verb in "raw $PUB_B 253" "ip-options $PUB_B $PUB_A 443" "routing-header $PUB6_B $PUB6_A 443"; do # the paths are real
		# shellcheck disable=SC2086
		try attempt -t 300 $verb
	done
	fence
	wire $PUB_B
	wire $PUB6_B
	cancelled above $PUB_B ETIMEDOUT connect cancel tcp $PUB_B 443
	cancelled above $PUB6_B ETIMEDOUT connect cancel-connect6 tcp $PUB6_B 443
	cancelled above $PUB_B EPERM sendto cancel-sendmsg udp-sendto $PUB_B 443
	cancelled above $PUB6_B EPERM sendto cancel-sendmsg6 udp-sendto $PUB6_B 443
	cancelled above $PUB_B EPERM sendto cancel-socket raw $PUB_B 253
	cancelled above $PUB_B EPERM sendto cancel-setsockopt ip-options $PUB_B $PUB_A 443
	cancelled last $PUB6_B EPERM sendto cancel-setsockopt routing-header $PUB6_B $PUB6_A 443
	cancelled above-first $PUB_B EPERM connect cancel tcp $PUB_B 443
	cancelled first $PUB6_B EPERM connect cancel-connect6 tcp $PUB6_B 443
}

@test "one that resets what getsockopt returns takes nothing away: it may stand, and a launch beside it holds" {
	here "$ROOT" cancel-getsockopt || return 0
	mark
	as user tcp $PUB_A 443
	through
	reached $PUB_A 443
	mark
	as user tcp $PUB_B 443
	refused EPERM connect
	nothing_reached $PUB_B
}

@test "at launch each of those is named, with what to do, and nothing runs" {
	local deed
	for deed in "rewrite $PRIV6 443" "rewrite-sendmsg $PRIV 443" "rewrite-sendmsg $PRIV6 443" cancel-connect6 cancel-sendmsg cancel-socket cancel-setsockopt; do
		# shellcheck disable=SC2086
		here "$ROOT" $deed || continue
		mark
		run -125 cordon "$tools/attempt" tcp $PUB_A 443
		[[ $output == *program_foreign*somebody_else*"is not ours"* ]]
		[[ $output == *"detach it, or allow it by this name in the configuration"* ]]
		nothing_reached $PUB_A
		foreign_gone
	done
	as user tcp $PUB_A 443 # the twin
	through
}

# below COMMAND...: with $ROOT/above/root as root, which has not been one before
below() {
	local ROOT=$ROOT/above/root
	"$@"
}

@test "one above the root that admits others (BPF_F_ALLOW_OVERRIDE) gives way to ours; one that admits none is named" {
	mkdir -p "$ROOT/above/root" "$ROOT/above/other"
	FOREIGN_AS=override foreign "$ROOT/above" rewrite $PRIV 443
	mark
	inside above/other "$tools/attempt" tcp $PUB_A 443
	reached $PRIV 443
	mark
	below as user tcp $PUB_A 443
	through
	reached $PUB_A 443
	below as user tcp $PUB_B 443
	refused EPERM connect
	nothing_reached $PRIV
	nothing_reached $PUB_B
	"$netcordon" host down --root "$ROOT/above/root"
	foreign_gone
	for way in "exclusive above" "override above/root" "exclusive above/root"; do
		FOREIGN_AS=${way% *} foreign "$ROOT/${way#* }" rewrite $PRIV 443
		mark
		run -125 below cordon "$tools/attempt" tcp $PUB_A 443
		[[ $output == *"program_foreign"*"a program stands there, or above, that admits no other"* ]]
		[[ $output == *"bpftool cgroup tree"* ]]
		nothing_reached $PUB_A
		nothing_reached $PRIV
		foreign_gone
		[ -z "$(ls -d "$ROOT"/above/root/*.slice 2>/dev/null)" ]
	done
	rmdir "$ROOT/above/root" "$ROOT/above/other" "$ROOT/above"
}

@test "neither can displace ours: not on the sealed cgroup, and below it ours stay in force" {
	local as
	attach_up
	place behind
	mkdir "$sealed/below"
	for as in override exclusive; do
		FOREIGN_AS=$as run -1 "$tools/foreign" "$sealed" rewrite $PUB_B 443
		[[ $output == *"Operation not permitted"* ]]
		FOREIGN_AS=$as foreign "$sealed/below" rewrite $PRIV 443
		mark
		try inside "${sealed##*/}/below" "$tools/attempt" -t 700 tcp $PUB_A 443
		refused EPERM connect
		nothing_reached $PRIV
		nothing_reached $PUB_A
		foreign_gone
		mark
		try inside "${sealed##*/}/below" "$tools/attempt" tcp $PUB_A 443
		through
		reached $PUB_A 443
	done
}
