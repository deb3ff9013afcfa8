# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# helpers.bash - one isolated world for a test file, and the few questions that tests ask of it
#
#   namespace wl                                   namespace net: "the internet", no way on from here
#   wl0 100.64.7.2, fd77::2   ---- veth ----       net0 100.64.7.1, fd77::1; on lo: every address below, with the witness listening
#   lo: PUB_SELF, the host's own public address    (a second witness listens here)
#
# setup_file calls world_up, teardown_file world_down; both may be repeated. Nothing here reaches another interface of the machine. Everything that
# runs does so under `timeout`. Questions about the past are asked with mark and fence: mark where the log ends, try, fence, then look at what came since.

bats_require_minimum_version 1.5.0

# shellcheck disable=SC2034
PUB_A=93.184.216.34 PUB_B=93.184.216.35 PUB_C=93.184.216.36 PUB_SELF=93.184.216.40 FENCE=93.184.216.99
PUB6_A=2606:2800:220:1:248:1893:25c8:1946 PUB6_B=2606:2800:220:1:248:1893:25c8:1947 PUB6_SELF=2606:2800:220:1::40
PRIV=10.20.0.5 PRIV2=192.168.7.7 PRIV6=fd12::5 META=169.254.169.254 META6=fd00:ec2::254

top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
tools=$top/build/tests/native
netcordon=$top/build/netcordon

# A test that cannot run here says why. In CI that is a failure, as every skip is.
cannot() {
	[ -z "${CI-}" ] || { echo "cannot run in CI: $*" >&2; return 1; }
	skip "$*"
}

in_wl() { nsenter --net=/run/netns/"$WL" "$@"; }
in_net() { nsenter --net=/run/netns/"$NET" "$@"; }

# ---- the world ----------------------------------------------------------------------------------------------------------------------------------

world_up() {
	local id address
	[ "$(id -u)" -eq 0 ] || { echo "the native ring needs root" >&2; return 1; }
	id=$(basename "$BATS_TEST_FILENAME" .bats)-$$
	id=${id//_/-}
	export WORLD=/tmp/nctest-$id WL=nc-wl-$id NET=nc-net-$id ROOT
	ROOT=$(awk '$0 ~ / - cgroup2 / {print $5; exit}' /proc/self/mountinfo)/nctest-$id
	mkdir -m 755 "$WORLD"
	mkdir "$ROOT"
	ip netns add "$WL"
	ip netns add "$NET"
	ip -n "$WL" link add wl0 address 02:00:00:00:07:02 type veth peer name net0 address 02:00:00:00:07:01 netns "$NET"
	for address in 100.64.7.2/24 fd77::2/64; do ip -n "$WL" addr add $address dev wl0 nodad 2>/dev/null || ip -n "$WL" addr add $address dev wl0; done
	for address in 100.64.7.1/24 fd77::1/64; do ip -n "$NET" addr add $address dev net0 nodad 2>/dev/null || ip -n "$NET" addr add $address dev net0; done
	for address in $PUB_A $PUB_B $PUB_C $FENCE $PRIV $PRIV2 $META $PUB6_A $PUB6_B $PRIV6 $META6; do ip -n "$NET" addr add $address dev lo; done
	for address in $PUB_SELF $PUB6_SELF; do ip -n "$WL" addr add $address dev lo; done
	ip -n "$WL" link set lo up && ip -n "$NET" link set lo up
	ip -n "$WL" link set wl0 up && ip -n "$NET" link set net0 up
	# Neighbours are told, not asked for: the first solicitation on a new link is mostly lost and repeated after a second.
	for address in 100.64.7.1 fd77::1; do ip -n "$WL" neigh add $address lladdr 02:00:00:00:07:01 nud permanent dev wl0; done
	for address in 100.64.7.2 fd77::2; do ip -n "$NET" neigh add $address lladdr 02:00:00:00:07:02 nud permanent dev net0; done
	ip -n "$WL" route add default via 100.64.7.1 && ip -n "$WL" -6 route add default via fd77::1
	# Segment routing headers and ping sockets work for anybody in this world: the paths must be real.
	in_net sysctl -qw net.ipv6.conf.all.seg6_enabled=1 net.ipv6.conf.net0.seg6_enabled=1 2>/dev/null || true
	in_wl sysctl -qw net.ipv4.ping_group_range="0 2147483647"
	[ -f "$WORLD/key.pem" ] || { [ ! -x "$netcordon" ] || "$netcordon" key generate "$WORLD/key.pem" >/dev/null; }
	witness net udp $FENCE 9 capture net0
}

# Whatever came of the tests: processes first, then the programs, then namespaces and folders. Only what world_up made.
world_down() {
	local pid cgroup
	[ -n "${WORLD-}" ] || return 0
	for pid in "$WORLD"/*.pid; do [ ! -f "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true; done
	[ ! -x "$netcordon" ] || timeout 30 "$netcordon" host down --force --root "$ROOT" >/dev/null 2>&1 || true
	while read -r cgroup; do
		[ ! -f "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill" 2>/dev/null || true
		rmdir "$cgroup" 2>/dev/null || { sleep 0.1; rmdir "$cgroup" 2>/dev/null || true; }
	done < <(find "$ROOT" -depth -type d 2>/dev/null)
	ip netns del "$WL" 2>/dev/null || true
	ip netns del "$NET" 2>/dev/null || true
	rm -rf "$WORLD"
	[ ! -d "$ROOT" ] || { echo "left behind: $ROOT" >&2; return 1; }
}

# witness net|wl THING...: starts one, waits until it listens. Its log is $WORLD/PLACE.log; a second of the same place adds to it.
witness() {
	local place=$1 name log wait
	shift
	log=$WORLD/$place.log name=$place-$RANDOM
	wait=$(grep -c '"ready"' "$log" 2>/dev/null || true)
	"in_$place" "$tools/witness" "$log" "$@" 3>&- >"$WORLD/$name.out" 2>&1 &
	echo $! >"$WORLD/$name.pid"
	eventually 50 "[ \$(grep -c '\"ready\"' $log 2>/dev/null || echo 0) -gt ${wait:-0} ]" || { cat "$WORLD/$name.out" >&2; return 1; }
}

# The listeners that most files want: on everything that may be listed and everything that must not be reached, and on the host itself.
world_listen() {
	witness net tcp $PUB_A 443 tcp $PUB_B 443 tcp $PUB6_A 443 tcp $PUB6_B 443 udp $PUB_A 443 udp $PUB_B 443 udp $PUB6_A 443 udp $PUB6_B 443 \
		tcp $PUB_A 444 udp $PUB_A 444 tcp $PRIV 443 tcp $PRIV2 443 tcp $PRIV6 443 tcp $META 80 tcp $META6 80 udp $PRIV 443 udp $META 80
	witness wl tcp 127.0.0.1 8080 tcp ::1 8080 udp 127.0.0.1 8080 tcp $PUB_SELF 443 tcp $PUB6_SELF 443 tcp 100.64.7.2 443 \
		unix "$WORLD/helper" unix-dgram "$WORLD/helper-dgram" abstract "$WL"
}

# eventually TENTHS CONDITION: within three times the tenths of a second that it should take
eventually() {
	local i
	for ((i = 0; i < $1 * 15; i++)); do eval "$2" && return 0; sleep 0.02; done
	return 1
}

# watches TIMEOUT_PID: the command below that timeout(1) has found its instance, and sleeps until the supervisor ends
watches() { readlink /proc/"$(tr -d " " </proc/"$1"/task/"$1"/children)"/fd/* 2>/dev/null | grep pidfd; }

# ---- what arrived -------------------------------------------------------------------------------------------------------------------------------

mark() { MARK=$(wc -l <"$WORLD/net.log") MARK_WL=0; [ ! -f "$WORLD/wl.log" ] || MARK_WL=$(wc -l <"$WORLD/wl.log"); }

# Everything that reached the witness before the fence stands in its log when the fence is answered.
fence() { in_wl "$tools/attempt" -t 5000 udp-sendto $FENCE 9 >/dev/null; }

# since [net|wl]: the lines since the mark
since() {
	if [ "${1-${PLACE-net}}" = wl ]; then tail -n +$((MARK_WL + 1)) "$WORLD/wl.log"; else tail -n +$((MARK + 1)) "$WORLD/net.log"; fi
}

# arrived JQ [A]: some line since the mark answers to the filter
arrived() { since | jq -e -s --arg a "${2-}" "any(.[]; $1)" >/dev/null; }
# no_arrival JQ [A]: none does. (A bare "!" before a command would not fail a test.)
no_arrival() {
	arrived "$@" || return 0
	echo "arrived: $1" >&2
	since | jq -c --arg a "${2-}" "select($1)" >&2
	return 1
}
# saw ADDR [PORT]: a listener there was reached since the mark. wire ADDR [PORT]: a packet went there.
saw() { since | grep -qE "\"event\":\"(accept|datagram)\",\"local\":\"[a-z]+ $1 ${2:-[0-9]+}\""; }
wire() { since net | grep -qE "\"way\":\"in\",.*\"dst\":\"$1\",.*\"dport\":${2:-}"; }

nothing_reached() {
	fence
	if saw "$@" || wire "$@"; then
		echo "reached $*:" >&2
		since | grep -F "$1" | head -n 5 >&2
		return 1
	fi
}

reached() {
	fence
	saw "$@" || { echo "the witness at $* saw nothing" >&2; since | tail -n 5 >&2; return 1; }
}

# ---- the cordon ---------------------------------------------------------------------------------------------------------------------------------

# profile [PROTOCOL ADDR PORT]...: an allowlist of literals in $WORLD/profile.json. MEMBERS adds members to the document.
profile() {
	local list="" separator=""
	while [ $# -gt 0 ]; do
		list+="$separator{\"host\":\"$2\",\"port\":$3,\"protocol\":\"$1\"}" separator=,
		shift 3
	done
	echo "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[$list]}${MEMBERS:+,$MEMBERS}}" >"$WORLD/profile.json"
}

# cordon COMMAND...: `netcordon run` in this world, under $WORLD/profile.json; the evidence of the last one is $WORLD/evidence. RUN_OPTIONS: more
# options.
cordon() {
	rm -rf "$WORLD/evidence"
	# shellcheck disable=SC2086
	timeout -k 5 "${LIMIT:-60}" "$netcordon" run --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" \
		--key "$WORLD/key.pem" ${RUN_OPTIONS-} -- "$@"
}

# event JQ: some event answers to the filter, in the evidence of the last cordon or, with EVIDENCE=attached, of what is attached, which writes its events
# in its own time
event() {
	local log=$WORLD/${EVIDENCE-evidence}/events.jsonl i
	for ((i = 0; i < 30; i++)); do
		jq -e -s "any(.[]; $1)" "$log" >/dev/null && return
		[ "${EVIDENCE-}" = attached ] || break
		sleep 0.1
	done
	echo "no event with $1 in:" >&2
	tail -n 20 "$log" >&2
	return 1
}

# makes_rings: the last cordon let the workload make rings for io_uring, as it does where a security hook sees the sockets that rings make
makes_rings() { jq -e '.process.seccomp.io_uring_refused | not' "$WORLD/evidence/launch.json" >/dev/null; }

refusal() {
	[ "${EVIDENCE-}" != attached ] || { event ".decision==\"deny\" and .reason==\"$1\""; return; }
	grep -qE "\"decision\":\"deny\",.*\"reason\":\"$1\"" "$WORLD/evidence/events.jsonl" || event ".reason==\"$1\" and .decision==\"deny\""
}

# try COMMAND...: runs it; its JSON line is in $line, the exit status in $status
try() {
	local output
	status=0
	output=$("$@" 2>"$WORLD/stderr") || status=$?
	line=
	while IFS= read -r output_line; do [[ $output_line != '{"verb"'* ]] || line=$output_line; done <<<"$output"
	[ -n "$line" ] || { echo "no report from: $* (status $status)" >&2; printf '%s\n' "$output" >&2; cat "$WORLD/stderr" >&2; return 1; }
}

# through / refused [ERRNO] [CALL]: what the last try reported
through() { [ "$status" -eq 0 ] || { echo "did not get through: $line" >&2; cat "$WORLD/stderr" >&2; return 1; }; }
refused() {
	[ "$status" -ne 0 ] || { echo "got through: $line" >&2; return 1; }
	[[ -z "${1-}" || $line == *"\"errno\":\"$1\""* ]] || { echo "errno is not $1: $line" >&2; return 1; }
	[[ -z "${2-}" || $line == *"\"call\":\"$2\""* ]] || { echo "call is not $2: $line" >&2; return 1; }
}

# lacks THING: the kernel of this guest does not have it (tests/vm/kernels.list; on the machine itself nothing is taken for absent). A test then asserts what
# follows, so that a wrong list fails: `absent VERB...`, nobody can make that attempt, cordon or not.
lacks() { awk -v name="${NETCORDON_VM:-none}" '$1 == name {print "," $5 ","}' "$top/tests/vm/kernels.list" | grep -q ",$1,"; }
absent() {
	try attempt "$@"
	[ "$status" -eq 2 ] || { echo "kernels.list says that this kernel lacks $1: $line" >&2; return 1; }
}

# Without a cordon, as root and as an ordinary user. The client ends by itself, whatever happens to it.
attempt() { in_wl "$tools/attempt" "$@"; }
attempt_user() { in_wl setpriv --reuid 65534 --regid 65534 --clear-groups "$tools/attempt" "$@"; }

# ---- a sealed cgroup that somebody else fills: root with every capability, so that nothing but the kernel's programs decides -------------------------

# attach_up: a cgroup of its own each time, named in $WORLD/attached.name; the evidence is $WORLD/attached.
attach_up() {
	local name=attached-$RANDOM$RANDOM
	echo "$name" >"$WORLD/attached.name"
	mkdir "$ROOT/$name"
	rm -rf "$WORLD/attached"
	# attach ends when the cgroup is empty: somebody stays.
	bash -c 'echo 0 >"$0/cgroup.procs" && exec sleep 3600' "$ROOT/$name" 3>&- 2>/dev/null &
	echo $! >"$WORLD/resident.pid"
	"$netcordon" attach --cgroup "$ROOT/$name" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/attached" \
		--key "$WORLD/key.pem" 3>&- >"$WORLD/attach.out" 2>&1 &
	echo $! >"$WORLD/attach.pid"
	eventually 150 "[ -f $WORLD/attached/launch.json.sig ]" || { cat "$WORLD/attach.out" >&2; return 1; }
	eventually 50 "attached \"$tools/attempt\" port-zero 127.0.0.1 2>/dev/null | grep -q EPERM" || { cat "$WORLD/attach.out" >&2; return 1; }
}

# Ends what attach_up began, and what is inside.
attach_down() {
	local pid
	[ -f "$WORLD/attach.pid" ] || return 0
	pid=$(cat "$WORLD/attach.pid")
	rm "$WORLD/attach.pid"
	kill "$pid" 2>/dev/null || true
	eventually 300 "! kill -0 $pid 2>/dev/null"
}

# inside CGROUP COMMAND...: born in a cgroup of this world, in the workload's network namespace, as root with every capability
inside() {
	# shellcheck disable=SC2016
	timeout 60 bash -c 'echo 0 >"$0/cgroup.procs" && exec nsenter --net="$1" "${@:2}"' "$ROOT/$1" /run/netns/"$WL" "${@:2}"
}
attached() { inside "$(cat "$WORLD/attached.name")" "$@"; }

# ---- whole questions --------------------------------------------------------------------------------------------------------------------------------

# The base policy of the closure tests: PUB_A and PUB6_A at 443, TCP and UDP. Everything else is unlisted.
base_profile() { profile tcp $PUB_A 443 udp $PUB_A 443 tcp $PUB6_A 443 udp $PUB6_A 443; }

# as WHO VERB...: user and root (uid 0 of a user namespace) behind `run`, attached (root) behind `attach`
as() {
	local who=$1
	shift
	case $who in
	user) try cordon "$tools/attempt" "$@" ;;
	root) try cordon "$tools/attempt" -U "$@" ;;
	attached) try attached "$tools/attempt" "$@" ;;
	esac
	case $who in attached) EVIDENCE=attached ;; *) EVIDENCE=evidence ;; esac
}

# everyone PATH: who can be asked to prove that PATH is closed; attach only where its own statement does not call it a gap
everyone() {
	echo user root
	jq -e --arg p "$1" '.gaps | index($p)' "$WORLD/attached/launch.json" >/dev/null || echo attached
}

# possible "ADDR [PORT]" VERB...: without a cordon the attempt gets through and is seen at ADDR; false, and a word about it, on a kernel that cannot make it
possible() {
	local to=$1
	shift
	mark
	try "${CONTROL:-attempt_user}" "$@"
	if [ "$status" -eq 2 ]; then
		echo "# this kernel cannot make it, cordon or not: $*" >&3
		return 1
	fi
	through || exit 1
	fence
	# shellcheck disable=SC2086
	if [ -n "${ONE_WAY-}" ]; then wire $to; else saw $to; fi || { echo "the control run of $* was not seen at $to" >&2; since | tail -n 5 >&2; exit 1; }
}

# closed REASON ERRNO "ADDR [PORT]" VERB...: without a cordon the attempt gets through and is seen at ADDR; behind it, whoever tries, it is refused
# with ERRNO ("": any), neither listener nor wire sees anything for ADDR, and the evidence says REASON ("-": no program of ours was asked).
# CONTROL: who shows that the path is real (default attempt_user). WHO: who tries. ONE_WAY: only the wire can see it.
closed() {
	local reason=$1 errno=$2 to=$3 who
	shift 3
	possible "$to" "$@" || errno='' reason=-
	for who in ${WHO:-user root attached}; do
		mark
		as "$who" "$@"
		refused "$errno" || { echo "(as $who)" >&2; return 1; }
		# shellcheck disable=SC2086
		nothing_reached $to || { echo "(as $who: $line)" >&2; return 1; }
		[ "$reason" = - ] || refusal "$reason" || { echo "(as $who: $line)" >&2; return 1; }
	done
}

# in_turn WHO "VERB ARGUMENT..."...: user or root make them all in one launch; the reports are in lines[], the exit statuses in statuses[]
in_turn() {
	local tool=$tools/attempt output
	[ "$1" != root ] || tool+=" -U"
	shift
	# shellcheck disable=SC2016
	output=$(cordon /bin/sh -c 'tool=$1; shift; for words; do $tool $words; echo "status $?"; done' sh "$tool" "$@" 2>"$WORLD/stderr") || true
	mapfile -t lines < <(grep '^{"verb"' <<<"$output")
	mapfile -t statuses < <(sed -n 's/^status //p' <<<"$output")
	[ ${#lines[@]} -eq $# ] && [ ${#statuses[@]} -eq $# ] || { echo "not one report for each of: $*" >&2; echo "$output" >&2; cat "$WORLD/stderr" >&2; return 1; }
}

# all_closed REASON ERRNO "ADDR [PORT]|VERB ARGUMENT..."...: `closed` for each, where user and root make all of them in one launch, whose last count
# must hold as many refusals for REASON as there were attempts
all_closed() {
	local reason=$1 errno=$2 who row i rows=()
	shift 2
	for row; do
		# shellcheck disable=SC2086
		if possible "${row%%|*}" ${row#*|}; then rows+=("$row"); else closed "$reason" "$errno" "${row%%|*}" ${row#*|}; fi
	done
	[ ${#rows[@]} -gt 0 ] || return 0
	for who in ${WHO:-user root attached}; do
		mark
		if [ "$who" = attached ]; then
			# shellcheck disable=SC2086
			for row in "${rows[@]}"; do
				as attached ${row#*|}
				refused "$errno" || { echo "(as $who)" >&2; return 1; }
				[ "$reason" = - ] || refusal "$reason"
			done
		else
			in_turn "$who" "${rows[@]#*|}"
			for ((i = 0; i < ${#rows[@]}; i++)); do
				line=${lines[i]} status=${statuses[i]}
				refused "$errno" || { echo "(as $who)" >&2; return 1; }
			done
			[ "$reason" = - ] || refusal "$reason"
			[ "$reason" = - ] || jq -e --arg r "$reason" '(.counters.workload[$r] | tonumber) >= '${#rows[@]} "$WORLD/evidence/closing.json" >/dev/null
		fi
		# shellcheck disable=SC2086
		for row in "${rows[@]}"; do nothing_reached ${row%%|*} || { echo "(as $who)" >&2; return 1; }; done
	done
}

# opened "ADDR PORT" VERB...: behind the cordon it gets through and is seen
opened() {
	local to=$1 who
	shift
	for who in ${WHO:-user root attached}; do
		mark
		as "$who" "$@"
		through || { echo "(as $who)" >&2; return 1; }
		# shellcheck disable=SC2086
		if [ -n "${ONE_WAY-}" ]; then fence; wire $to; else reached $to; fi || { echo "(as $who)" >&2; return 1; }
	done
}
