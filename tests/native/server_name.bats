#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154
# server_name.bats - two names on one address, real clients: the listed one is reached, the other fails at once and the server sees no byte of it

bats_require_minimum_version 1.5.0
load helpers
load named

setup_file() { named_up; }

teardown_file() { named_down; }

both='"host":"good.example","port":443'

@test "curl: a listed name is reached over TLS, in any case, with a dot, over IPv6; another name on the same address is not" {
	local other
	listed "$both"
	for other in good.example GOOD.example good.example.; do
		named_mark
		run cordon curl -sS -m 20 -k "https://$other/"
		[ "$status" -eq 0 ]
		[ "$output" = ok ]
		served good.example
	done
	run cordon curl -6 -sS -m 20 -k https://good.example/
	[ "$output" = ok ]
	for other in $PUB_A "[$PUB6_A]"; do
		named_mark
		run cordon sh -c "getent ahosts good.example >/dev/null; curl -sS -m 20 -k --connect-to ::$other:443 https://other.example/"
		[[ $status -ne 0 && $status -ne 28 ]]
		no_payload
		event '.reason=="server_name_mismatch" and .server_name=="other.example" and .hook=="egress"'
	done
	run in_wl curl -sS -m 20 -k --connect-to ::$PUB_A:443 https://other.example/
	[ "$output" = ok ]
}

@test "openssl, GnuTLS, Python and Node are read alike; a long hello lies beyond one packet" {
	local long name
	long=$(seq -s, -f p%05g 300)
	listed "$both"
	# shellcheck disable=SC2016
	for name in good other; do
		named_mark
		run cordon sh -c 'getent ahostsv4 good.example >/dev/null
			req() { printf "GET / HTTP/1.0\r\nHost: x\r\n\r\n"; }
			(req; sleep 2) | timeout 9 openssl s_client -quiet -ign_eof -connect '"$PUB_A"':443 -servername '$name'.example -alpn '"$long"' 2>&1
			(req; sleep 2) | timeout 9 gnutls-cli --insecure --sni-hostname '$name'.example -p 443 '"$PUB_A"' 2>&1
			timeout 9 node -e "require(\"https\").get({host:\"'"$PUB_A"'\",servername:\"'$name'.example\",headers:{host:\"x\"},rejectUnauthorized:false},r=>r.pipe(process.stdout)).on(\"error\",e=>console.log(e.code))"'
		if [ $name = good ]; then
			eventually 50 '[ "$(named_since | jq -s "[.[]|select(.event==\"served\" and .name==\"good.example\")]|length")" -eq 3 ]' || { echo "$output"; named_since; return 1; }
		else
			no_payload
			[ "$(named_since | jq -s '[.[]|select(.event=="accept")]|length')" -eq 3 ]
		fi
	done
}

@test "a long hello leaves in as many packets as the kernel makes of it, up to the 16 KiB of a record" {
	local size how
	listed "$both"
	for size in 2700 8000 16000; do
		for how in whole slow; do answered $how $PUB_A 443 tls:good.example:$size; done
		refused server_name_mismatch slow $PUB_A 443 tls:other.example:$size
		event '.server_name=="other.example"'
	done
	# A second name in a later packet: the server gets a part of a hello, and that is the end.
	control slow $PUB_A 443 tls:good.example:8000:other.example || true
	named_mark
	first slow $PUB_A 443 tls:good.example:8000:other.example
	[[ $status -eq 1 && $output == *"ended E"* ]] || { echo "$output" >&2; return 1; }
	refusal server_name_unreadable
	fence
	named_since | jq -e -s 'any(.[]; .event=="asked") | not' >/dev/null
}

@test "a second hello, which a server asks for, is compared as well" {
	local how
	listed "${both/443/8443},\"wire\":\"tls\"" "$both"
	named_mark
	run cordon sh -c 'getent ahostsv4 good.example >/dev/null; (printf "GET / HTTP/1.0\r\nHost: x\r\n\r\n"; sleep 2) |
		timeout 9 openssl s_client -msg -ign_eof -connect '$PUB_A':8443 -servername good.example 2>&1'
	[ "$(grep -c "Handshake.*ClientHello" <<<"$output")" -eq 2 ] || { echo "$output" >&2; return 1; }
	served good.example
	named_mark
	run cordon curl -sS -m 20 -k https://good.example:8443/
	[ "$output" = ok ]
	for how in again again-apart; do
		answered $how $PUB_A 443 tls:good.example tls:good.example
		named_mark
		control $how $PUB_A 443 tls:good.example tls:other.example
		eventually 50 'named_since | jq -e -s "any(.[]; .event==\"asked\" and .name==\"other.example\")" >/dev/null' # the server goes by the second one
		named_mark
		first $how $PUB_A 443 tls:good.example tls:other.example
		[[ $status -eq 1 && $output == *"ended E"* ]] || { echo "$how $output" >&2; return 1; }
		refusal server_name_mismatch
		event '.server_name=="other.example"'
		fence
		named_since | jq -e -s 'any(.[]; .event=="asked" and .name=="other.example") | not' >/dev/null
	done
}

@test "no name, one byte first, a name behind the first packet, another protocol: unreadable, and ended at once" {
	listed "$both"
	answered whole $PUB_A 443 tls:good.example
	refused server_name_unreadable whole $PUB_A 443 tls:
	answered split $PUB_A 443 tls:good.example # its first half has the name
	refused server_name_mismatch split $PUB_A 443 tls:other.example
	refused server_name_unreadable byte $PUB_A 443 tls:good.example
	refused server_name_unreadable late $PUB_A 443 tls:good.example
	refused server_name_unreadable whole $PUB_A 443 'SSH-2.0-x\r\n'
	refused server_name_unreadable urgent $PUB_A 443 tls:good.example
}

@test "Fast Open: a whole hello in the SYN is judged like a first payload" {
	in_wl sysctl -qw net.ipv4.tcp_fastopen=1
	listed "$both"
	for _ in 1 2 3; do control fastopen $PUB_A 443 tls:good.example; done
	answered fastopen $PUB_A 443 tls:good.example
	named_mark
	control fastopen $PUB_A 443 tls:other.example
	eventually 50 "named_since | jq -e -s 'any(.[]; .event==\"payload\")' >/dev/null"
	named_mark
	first fastopen $PUB_A 443 tls:other.example
	[[ $status -eq 1 && $output == *"ended E"* ]]
	refusal server_name_mismatch
	fence
	named_since | jq -e -s 'any(.[]; .event=="payload") | not' >/dev/null
}

@test "pages that their owner can still change are refused; the same bytes by copy are not" {
	listed "$both"
	answered whole $PUB_A 443 tls:good.example
	refused server_name_unreadable sendfile $PUB_A 443 tls:good.example
	# What that is good for, without the cordon: the first transmission is lost on the way, and what is sent again is another name.
	named_mark
	control sendfile $PUB_A 443 tls:good.example tls:evil.example "$WORLD/step" 3>&- &
	eventually 100 '[ -e "$WORLD/step.connected" ]'
	ip -n "$WL" neigh replace 100.64.7.1 lladdr 02:00:00:00:07:99 nud permanent dev wl0
	touch "$WORLD/step.go"
	eventually 100 '[ -e "$WORLD/step.sent" ]'
	ip -n "$WL" neigh replace 100.64.7.1 lladdr 02:00:00:00:07:01 nud permanent dev wl0
	eventually 100 "named_since | jq -e -s 'any(.[]; .event==\"asked\" and .name==\"evil.example\")' >/dev/null"
	wait
}

@test "a name counts at its own port, with its own rule, and at an address that it holds" {
	listed "$both" '"host":"plain.example","port":8443,"wire":"tls"' '"host":"away.example","port":443'
	answered whole $PUB_A 8443 tls:plain.example
	refused server_name_mismatch whole $PUB_A 443 tls:plain.example
	refused server_name_mismatch whole $PUB_A 8443 tls:good.example
	refused server_name_mismatch whole $PUB_A 443 tls:away.example
	refused server_name_unreadable whole $PUB_A 443 'GET / HTTP/1.1\r\n\r\n'
	refused server_name_mismatch whole $PUB_A 443 'GET / HTTP/1.1\r\nHost: good.example:443\r\n\r\n'
}

@test "HTTP: one Host, listed, in origin form" {
	local head='GET / HTTP/1.1\r\n'
	listed '"host":"good.example","port":80'
	named_mark
	run cordon curl -sS -m 20 http://good.example/
	[ "$output" = ok ]
	served good.example
	answered whole $PUB_A 80 "${head}host: GOOD.example:80\r\n\r\n"
	refused server_name_mismatch whole $PUB_A 80 "${head}Host: other.example\r\n\r\n"
	event '.server_name=="other.example"'
	refused server_name_unreadable whole $PUB_A 80 "${head}Host: good.example\r\nHost: other.example\r\n\r\n"
	refused server_name_unreadable whole $PUB_A 80 "${head}Host: good.example\r\n other.example\r\n\r\n"
	refused server_name_unreadable whole $PUB_A 80 'GET http://other.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n'
	refused server_name_unreadable split $PUB_A 80 "${head}Host: good.example\r\n\r\n"
}

@test "a head that is handed over, written over once it was sent, split or nameless: unreadable, with the client of the matrix" {
	local how
	listed '"host":"good.example","port":80'
	for how in spelled whole handed split nameless; do
		named_mark
		run in_wl "$tools/attempt" -t 5000 shown $how $PUB_A 80 good.example
		[ "$status" -eq 0 ]
		named_mark
		# shellcheck disable=SC2016
		run cordon sh -c 'getent ahostsv4 good.example >/dev/null; exec "$@"' sh "$tools/attempt" -t 5000 shown $how $PUB_A 80 good.example
		case $how in
		spelled | whole) [ "$status" -eq 0 ] || { echo "$how $output" >&2; return 1; } ;;
		*)
			[ "$status" -eq 1 ]
			refusal server_name_unreadable
			no_payload
			;;
		esac
	done
	# The hops that the attack sets are no option of the cordon's, and no head leaves then.
	named_mark
	# shellcheck disable=SC2016
	run cordon sh -c 'getent ahostsv4 good.example >/dev/null; exec "$@"' sh "$tools/attempt" shown rewritten $PUB_A 80 good.example
	[[ $status -eq 1 && $output == *setsockopt* ]]
	no_payload
}

@test "two names on one address: each connection is told by the name that it showed, a third is refused, and the statement says who is who" {
	local good plain
	listed "$both" "${both/good/plain}"
	named_mark
	# shellcheck disable=SC2016
	run cordon sh -c 'for name in good plain; do getent ahostsv4 $name.example >/dev/null; done
		for name in good plain plain other; do "$0" whole $1 443 tls:$name.example; done' "$WORLD/named_client.py" $PUB_A
	[[ $(cut -d" " -f1 <<<"$output" | tr "\n" " ") == "answer answer answer ended " ]] || { echo "$output" >&2; return 1; }
	fence
	named_since | jq -e -s '[.[]|select(.event=="payload")]|length==3' >/dev/null || { named_since >&2; return 1; }
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/key.pub"
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/key.pub" >/dev/null
	good=$(jq '.name_binding.workload[] | select(.host=="good.example").name_id' "$WORLD/evidence/launch.json")
	plain=$(jq '.name_binding.workload[] | select(.host=="plain.example").name_id' "$WORLD/evidence/launch.json")
	[ "$good" -ne "$plain" ]
	# first sight once for each name; counted for each connection
	jq -e -s --argjson good "$good" --argjson plain "$plain" '[.[] | select(.reason=="server_name_listed")]
		| (map(select(.kind=="verdict")) | map(.name_id)==[$good,$plain] and all(.decision=="allow" and .port==443 and .hook=="egress"))
		and (map(select(.kind=="repeats")) | map({(.name_id|tostring): .count}) | add=={($good|tostring):"1",($plain|tostring):"2"})' \
		"$WORLD/evidence/events.jsonl" >/dev/null || { grep server_name "$WORLD/evidence/events.jsonl" >&2; return 1; }
	[ "$(jq -r .counters.workload.server_name_listed "$WORLD/evidence/closing.json")" -eq 3 ]
	event '.reason=="server_name_mismatch" and .server_name=="other.example" and (has("name_id")|not)'
	run "$netcordon" events "$WORLD/evidence/"
	grep -qE 'allow .* server_name_listed .*: good\.example$' <<<"$output"
	grep -qE 'deny .* server_name_mismatch .*: other\.example$' <<<"$output"
	grep -qE 'in all .* server_name_listed .*2 times: plain\.example$' <<<"$output"
}

@test "names that a workload makes for each other's place are each told: none hides behind another" {
	# Two pairs, made for a sum of multiplications and shifts, whose state after the first eight bytes differs in a known way whatever it began with.
	local names=('evil.example.com' $'evil.ex\xe1mple*co\xed' 'hide.example.com' $'hide.ex\xe1mple*co\xed') name
	listed "$both"
	# shellcheck disable=SC2016
	cordon sh -c 'getent ahostsv4 good.example >/dev/null; to=$1 tool=$2; shift 2; for name; do "$tool" hello plain "$to" 443 "$name"; done' sh \
		$PUB_A "$tools/attempt" "${names[@]}" >/dev/null 2>&1 || true
	for name in 'evil\\.example' 'hide\\.example' 'evil\\.ex[^a]+mple' 'hide\\.ex[^a]+mple'; do
		event ".reason==\"server_name_mismatch\" and (.server_name|test(\"^$name\"))"
	done
	[ "$(jq -s '[.[] | select(.kind=="repeats" and .reason=="server_name_mismatch") | .count | tonumber] | sort == [1,1,1,1]' "$WORLD/evidence/events.jsonl")" = true ]
}

@test "QUIC to a name is refused with its own reason; wire any opens it, and opens the address for every name" {
	mark
	try attempt_user udp-sendto $PUB_A 443
	through
	reached $PUB_A 443
	listed '"host":"good.example","port":443,"protocol":"udp"'
	mark
	run cordon sh -c "getent ahostsv4 good.example >/dev/null; '$tools/attempt' udp-sendto $PUB_A 443"
	[ "$status" -eq 1 ]
	refusal wire_quic
	nothing_reached $PUB_A 443
	listed '"host":"good.example","port":443,"protocol":"udp","wire":"any"'
	run cordon sh -c "getent ahostsv4 good.example >/dev/null; '$tools/attempt' udp-sendto $PUB_A 443"
	[ "$status" -eq 0 ]
	reached $PUB_A 443
	listed '"host":"good.example","port":443,"wire":"any"' "${both/good/plain}"
	answered whole $PUB_A 443 tls:other.example
	# explain asks the configured servers for a listed name: the test's own, where they are
	explain() { in_sup "$netcordon" explain --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" "$@"; }
	run explain good.example:443
	[[ $output == *"only the address is compared"* ]]
	run explain --json plain.example:443
	[ "$(jq -r .name_binding <<<"$output")" = wire ]
	[[ $(jq -r .ends <<<"$output") == *ECONNABORTED*ETIMEDOUT* ]]
}

@test "a session is resumed, and a refused name is refused each time" {
	local i
	listed "$both"
	named_mark
	run cordon python3 -c "
import ssl, socket
socket.getaddrinfo('good.example', 443, socket.AF_INET)
context, session = ssl._create_unverified_context(), None
for i in range(2):
    stream = context.wrap_socket(socket.create_connection(('good.example', 443)), server_hostname='good.example', session=session)
    stream.sendall(b'GET / HTTP/1.0\r\nHost: x\r\n\r\n')
    stream.recv(100)
    session = stream.session
for i in range(5):
    try:
        context.wrap_socket(socket.create_connection(('good.example', 443), timeout=9), server_hostname='evil%d.example' % (i // 2))
        print('reached')
    except OSError as error:
        print('ended' if error.errno else 'timeout')
"
	[ "$(grep -c ended <<<"$output")" -eq 5 ]
	named_since | jq -e -s '[.[]|select(.event=="served" and .name=="good.example")|.resumed] == [false, true]' >/dev/null || { named_since >&2; return 1; }
	[ "$(named_since | jq -s '[.[]|select(.event=="payload")]|length')" -eq 2 ]
	for i in 0 1 2; do event ".reason==\"server_name_mismatch\" and .server_name==\"evil$i.example\""; done
}

# attached_up: a cgroup that the list of the moment seals, with a resolver; its supervisor is $supervisor
attached_up() {
	mkdir "$ROOT/named"
	bash -c 'echo 0 >"$0/cgroup.procs" && exec sleep 3600' "$ROOT/named" 3>&- 2>/dev/null &
	echo $! >"$WORLD/resident.pid"
	rm -rf "$WORLD/attached"
	nsenter --net=/run/netns/"$SUP" "$netcordon" attach --config "$WORLD/netcordon.conf" --cgroup "$ROOT/named" --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/attached" --key "$WORLD/key.pem" 3>&- >"$WORLD/attach.out" 2>&1 &
	supervisor=$!
	echo $supervisor >"$WORLD/attach.pid"
	eventually 150 "[ -f $WORLD/attached/launch.json.sig ]" || { cat "$WORLD/attach.out" >&2; return 1; }
	run inside named sh -c 'getent ahostsv4 good.example >/dev/null; exec "$@"' sh "$WORLD/named_client.py" whole $PUB_A 443 tls:good.example
	[[ $output == *"answer "* ]] || { echo "$output" >&2; return 1; }
}

# ends WORD: another name is refused from inside, with this error at the client, long before it gives up by itself, and the server sees no byte
ends() {
	named_mark
	run inside named "$WORLD/named_client.py" whole $PUB_A 443 tls:other.example
	[[ $status -eq 1 && $output == "ended $1 "* ]] || { echo "$output" >&2; return 1; }
	echo "# told after ${output##* } ms: $1" >&3
	[ "${output##* }" -lt $((${LIMIT:-60} * 100)) ]
	fence
	named_since | jq -e -s 'any(.[]; .event=="payload") | not' >/dev/null
}

@test "behind attach a refused name ends at once too; with its supervisor stopped or dead the kernel ends it" {
	local link
	listed "$both"
	attached_up
	ends ECONNABORTED
	EVIDENCE=attached event '.reason=="server_name_mismatch" and .server_name=="other.example"'
	no_payload
	kill -STOP $supervisor
	ends ETIMEDOUT
	kill -9 $supervisor
	ends ETIMEDOUT
	run inside named "$WORLD/named_client.py" whole $PUB_A 443 tls:good.example
	[[ $output == *"answer "* ]] || { echo "$output" >&2; return 1; }
	# What does it: without that program there is silence for as long as the client waits.
	while read -r link; do bpftool link detach pinned "$link"; done < <(find /sys/fs/bpf/netcordon/*-"$(printf %x "$(stat -c %i "$ROOT")")" -name sock_ops ! -path '*/programs/*')
	named_mark
	run inside named "$WORLD/named_client.py" whole $PUB_A 443 tls:other.example
	[[ $status -eq 2 && $output == silence ]] || { echo "$output" >&2; return 1; }
	fence
	named_since | jq -e -s 'any(.[]; .event=="payload") | not' >/dev/null
}
