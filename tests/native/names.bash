# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# names.bash - the world of helpers.bash, and a name server of the test's own in a third namespace, where the supervisor runs too: names_up in setup_file,
# names_down in teardown_file. Whatever answers there is a real server that no one here wrote.

names_up() {
	world_up
	world_listen
	export SUP=nc-sup-$$
	ip netns add "$SUP" && ip -n "$SUP" link set lo up
	echo '{"version":1,"upstreams":["127.0.0.1"]}' >"$WORLD/netcordon.conf"
}

names_down() {
	names_silent
	world_down
	ip netns del "$SUP" 2>/dev/null || true
}

in_sup() { nsenter --net=/run/netns/"$SUP" "$@"; }

# names_served LINE...: dnsmasq with these lines of configuration, in place of the one before
names_served() {
	names_silent
	printf '%s\n' port=53 listen-address=127.0.0.1 bind-interfaces no-resolv no-hosts user=root log-queries "log-facility=$WORLD/dns.log" \
		"local=/example/" "local=/test/" "$@" >"$WORLD/dns.conf"
	# not by in_sup: the number must be dnsmasq's own
	nsenter --net=/run/netns/"$SUP" dnsmasq -k -C "$WORLD/dns.conf" -x "$WORLD/dnsmasq-own" 3>&- >/dev/null 2>&1 &
	echo $! >"$WORLD/dns.pid"
	eventually 50 "in_sup ss -lun | grep -q 127.0.0.1:53"
}

names_silent() {
	[ -f "$WORLD/dns.pid" ] || return 0
	kill "$(cat "$WORLD/dns.pid")" 2>/dev/null || true
	eventually 50 "! in_sup ss -lun | grep -q 127.0.0.1:53"
	rm -f "$WORLD/dns.pid"
}

# destinations HOST PORT...: the JSON of a list; wire any, so that the test's own lines pass
destinations() {
	local list="" separator=""
	while [ $# -gt 0 ]; do
		list+="$separator{\"host\":\"$1\",\"port\":$2,\"wire\":\"any\"}" separator=,
		shift 2
	done
	echo "[$list]"
}

# named HOST PORT...: a profile that lists these names, in $WORLD/profile.json. MEMBERS adds members to the document.
named() {
	echo "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":$(destinations "$@")}${MEMBERS:+,$MEMBERS}}" >"$WORLD/profile.json"
}

# The supervisor asks name servers from its own namespace, which is neither the workload's nor the host's.
netcordon_run() {
	rm -rf "$WORLD/evidence"
	# shellcheck disable=SC2086
	timeout -k 5 "${LIMIT:-60}" nsenter --net=/run/netns/"$SUP" "$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" \
		--root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" ${RUN_OPTIONS-} -- "$@"
}
cordon() { netcordon_run "$@"; }

# beside COMMAND...: a second instance in the same namespaces, under $WORLD/beside.json; its evidence is $WORLD/beside (EVIDENCE=beside event ...)
beside() {
	rm -rf "$WORLD/beside"
	timeout -k 5 "${LIMIT:-60}" nsenter --net=/run/netns/"$SUP" "$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/beside.json" \
		--root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/beside" --key "$WORLD/key.pem" -- "$@"
}

# live NAME COMMAND...: an instance in the background; its output is $WORLD/live.out. `over` waits for its end, `living` asks whether it is there.
live() {
	LIVE=$1
	RUN_OPTIONS="--instance $LIVE ${KEEP:+--on-supervisor-death keep}" netcordon_run "${@:2}" 3>&- >"$WORLD/live.out" 2>&1 &
	echo $! >"$WORLD/live.pid"
}
over() {
	local pid
	pid=$(cat "$WORLD/live.pid")
	rm "$WORLD/live.pid"
	wait "$pid" || true
}
live_end() {
	[ ! -f "$WORLD/live.pid" ] || { pkill -TERM -P "$(cat "$WORLD/live.pid")" 2>/dev/null || true; over; }
}
# The pid of the live instance's supervisor: the first of the processes that were started so.
supervisor() {
	local pid
	for pid in $(pgrep -x netcordon); do
		tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -- "--instance $LIVE " && { echo "$pid"; return; }
	done
	return 1
}
update() { timeout 60 "$netcordon" update --root "$ROOT" "$LIVE" --profile "$1"; }

# name_event REASON NAME [AUTHORITY]
name_event() { event ".kind==\"name\" and .reason==\"$1\" and .name==\"$2\" and .authority==\"${3:-workload}\""; }

# A workload that does what it is told, one command at a time: `live NAME obey`; `work COMMAND` runs there by sh, its output is $output, its exit status
# $status. `dismissed` ends it and waits.
obey=(sh -c 'n=0; while :; do
	if [ -e "$0/order.$n" ]; then sh "$0/order.$n" >"$0/done/$n.out" 2>&1 7>&-; echo $? >"$0/done/$n.tmp"; mv "$0/done/$n.tmp" "$0/done/$n"; n=$((n + 1)); fi
	[ ! -e "$0/dismissed" ] || exit 0
	sleep 0.02
done')
obedient() { # obedient NAME
	rm -rf "$WORLD"/order.* "$WORLD/done" "$WORLD/dismissed"
	mkdir -m 777 "$WORLD/done"
	chmod 755 "$WORLD"
	ORDER=0
	live "$1" "${obey[@]}" "$WORLD"
	work true || { cat "$WORLD/live.out" >&2; return 1; }
}
# order COMMAND: without waiting for it; ordered: waits for it
order() {
	echo "$1" >"$WORLD/order.tmp"
	chmod 644 "$WORLD/order.tmp"
	mv "$WORLD/order.tmp" "$WORLD/order.$ORDER"
}
ordered() {
	status=255
	eventually 400 "[ -e $WORLD/done/$ORDER ]" || return 1
	status=$(cat "$WORLD/done/$ORDER")
	output=$(cat "$WORLD/done/$ORDER.out")
	ORDER=$((ORDER + 1))
}
work() { order "$1" && ordered; }
dismissed() {
	touch "$WORLD/dismissed"
	over
}
