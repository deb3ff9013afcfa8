#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# mutant.bats - programs whose checks can be switched off are for the matrix alone: no launch uses them

load helpers

wrong=$top/build/wrong/netcordon

setup_file() {
	world_up
	witness net tcp $PUB_A 443 tcp $PUB_B 443
	base_profile
	printf '#!/bin/sh\nNETCORDON_MUTANT_OBJECT=%s NETCORDON_CHECKS_OFF=listed exec %s "$@"\n' "$top/build/mutant/netcordon.bpf.o" "$top/build/mutant/netcordon" \
		>"$WORLD/mutant"
	chmod 755 "$WORLD/mutant"
}
teardown() { timeout 30 "$netcordon" host down --force --root "$ROOT" >/dev/null 2>&1 || true; }
teardown_file() { world_down; }

# The launch of the program that `make` builds: only what is listed is reached.
launches() {
	mark
	run -0 cordon "$tools/attempt" tcp $PUB_A 443
	reached $PUB_A 443
	mark
	run -1 cordon "$tools/attempt" tcp $PUB_B 443
	nothing_reached $PUB_B 443
}

@test "a program with such an object inside launches nothing, even with no check switched off" {
	mark
	netcordon=$wrong run -125 cordon /bin/sh -c "touch $WORLD/ran; exec $tools/attempt tcp $PUB_A 443"
	[[ $output == *object_mutant* ]] || { echo "$output" >&2; return 1; }
	[ ! -e "$WORLD/ran" ]
	nothing_reached $PUB_A 443
	run ! "$wrong" host up --root "$ROOT"
	[[ $output == *object_mutant* ]]
	[ -z "$(find "$ROOT" -mindepth 1 -type d)" ]
	launches
}

@test "what the matrix installed with a check switched off is not taken over by a launch" {
	"$WORLD/mutant" host up --root "$ROOT"
	# it is there and it is used, by the matrix's own program
	mark
	netcordon=$WORLD/mutant run -0 cordon "$tools/attempt" tcp $PUB_B 443
	reached $PUB_B 443
	launches
	"$WORLD/mutant" host down --root "$ROOT"
	launches
}
