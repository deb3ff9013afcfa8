# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# named.bash - one address that stands for many names (named_server.py), a name server that says so, and the questions that follow. For files that have loaded
# helpers.bash.

named_up() {
	world_up
	witness net tcp $PUB_B 443 udp $PUB_A 443
	export SUP=nc-sup-$$
	ip netns add "$SUP" && ip -n "$SUP" link set lo up
	echo '{"version":1,"upstreams":["127.0.0.1"]}' >"$WORLD/netcordon.conf"
	printf '%s\n' port=53 listen-address=127.0.0.1 bind-interfaces no-resolv no-hosts user=root "local=/example/" \
		"address=/good.example/$PUB_A" "address=/good.example/$PUB6_A" "address=/other.example/$PUB_A" "address=/plain.example/$PUB_A" \
		"address=/away.example/$PUB_B" ${PEER:+"address=/lossy.example/$PEER"} >"$WORLD/dns.conf"
	nsenter --net=/run/netns/"$SUP" dnsmasq -k -C "$WORLD/dns.conf" -x "$WORLD/dnsmasq-own" 3>&- >/dev/null 2>&1 &
	echo $! >"$WORLD/dns.pid"
	eventually 50 "in_sup ss -lun | grep -q 127.0.0.1:53"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORLD/server.key" -out "$WORLD/server.pem" -days 30 \
		-subj /CN=good.example -addext "subjectAltName=DNS:good.example,DNS:other.example" 2>/dev/null
	nsenter --net=/run/netns/"$NET" "$BATS_TEST_DIRNAME/named_server.py" "$WORLD/named.log" "$WORLD/server.pem" "$WORLD/server.key" $PUB_A $PUB6_A 3>&- >"$WORLD/named.out" 2>&1 &
	echo $! >"$WORLD/named.pid"
	eventually 100 "grep -q ready $WORLD/named.log"
	cp "$BATS_TEST_DIRNAME/named_client.py" "$WORLD/"
	chmod 644 "$WORLD/server.pem"
	chmod 755 "$WORLD"
}

named_down() {
	world_down
	ip netns del "nc-sup-$$" 2>/dev/null || true
}

in_sup() { nsenter --net=/run/netns/"$SUP" "$@"; }

# listed ENTRY...: members of each destination, as JSON without braces
listed() {
	local list="" entry
	for entry in "$@"; do list+="${list:+,}{$entry}"; done
	echo "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[$list]}}" >"$WORLD/profile.json"
}

cordon() {
	rm -rf "$WORLD/evidence"
	timeout -k 5 "${LIMIT:-60}" nsenter --net=/run/netns/"$SUP" "$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- "$@"
}

named_mark() { MARK_NAMED=$(wc -l <"$WORLD/named.log"); }
named_since() { tail -n +$((MARK_NAMED + 1)) "$WORLD/named.log"; }
served() { eventually 50 "named_since | jq -e -s 'any(.[]; .event==\"served\" and .name==\"$1\")' >/dev/null"; }
# The connection was made, and nothing came over it.
no_payload() {
	eventually 50 "named_since | jq -e -s 'any(.[]; .event==\"silent\")' >/dev/null" || { named_since >&2; return 1; }
	named_since | jq -e -s 'any(.[]; .event=="payload") | not' >/dev/null || { named_since >&2; return 1; }
}

# Sends a first payload from inside the cordon, once the resolver has granted what the profile lists.
first() {
	run cordon sh -c 'getent ahostsv4 good.example >/dev/null; getent ahostsv6 good.example >/dev/null; getent ahostsv4 plain.example >/dev/null; "$@"' sh \
		"$WORLD/named_client.py" "$@"
}

# The same without the cordon: the path is real.
control() { in_wl timeout 30 "$WORLD/named_client.py" "$@"; }

# refused REASON HOW ADDRESS PORT WHAT: it ends at once, and the server never sees a byte; without the cordon the server does
refused() {
	local reason=$1
	shift
	named_mark
	control "$@" || true
	eventually 50 "named_since | jq -e -s 'any(.[]; .event==\"payload\")' >/dev/null" || { echo "control: nothing came" >&2; return 1; }
	named_mark
	first "$@"
	[[ $status -eq 1 && $output == *"ended E"* ]] || { echo "$* -> $status $output" >&2; return 1; }
	refusal "$reason"
	no_payload
}

answered() {
	named_mark
	first "$@"
	[[ $status -eq 0 && $output == *"answer "* ]] || { echo "$* -> $status $output" >&2; return 1; }
}
