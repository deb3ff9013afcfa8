# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # helpers.bash sets them
#
# foreign.bash - somebody else's programs beside ours (foreign.c); the teardown calls foreign_gone

# foreign CGROUP WHAT...: in force until foreign_gone. FOREIGN_AS: how it is attached. What it said is in $WORLD/foreign.out.
foreign() {
	: >"$WORLD/foreign.out"
	"$tools/foreign" "$@" >"$WORLD/foreign.out" 2>&1 3>&- &
	FOREIGN=$!
	eventually 30 "grep -q attached $WORLD/foreign.out || ! kill -0 $FOREIGN 2>/dev/null"
	grep -q attached "$WORLD/foreign.out" || { cat "$WORLD/foreign.out" >&2; return 1; }
}

foreign_gone() {
	[ -z "${FOREIGN-}" ] || { kill "$FOREIGN" 2>/dev/null; wait "$FOREIGN" 2>/dev/null || true; }
	FOREIGN=
}

# here CGROUP WHAT...: foreign, for what some kernels lack: bpf_set_retval (5.18), or a way of being attached. Fails where there is no such thing, and then
# nobody can do that to us.
here() {
	foreign "$@" 2>/dev/null && return
	grep -q 'Invalid argument' "$WORLD/foreign.out" || { cat "$WORLD/foreign.out" >&2; exit 1; }
	echo "# not on this kernel: ${FOREIGN_AS-} ${*:2}" >&3
	FOREIGN=
	return 1
}
