#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# names_clients.bats - unmodified clients and what they make of the resolver: glibc, musl, curl, python3, Node and Go, each with a search list. Each finds the
# listed name behind a denied candidate, reaches it and nothing else, and gives up on a denied name at once.

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	names_up
	# api.corp.test exists, is private, and comes first in the search list: nobody asks for it
	names_served 'host-record=api.example,'$PUB_A 'host-record=six.example,'$PUB_A,$PUB6_A 'host-record=mixed.example,'$PUB_A,$PRIV6 \
		'host-record=api.corp.test,'$PRIV 'host-record=denied.example,'$PUB_B
	named api.example 443 six.example 443 mixed.example 443 api.example 8080 six.example 8080 mixed.example 8080
	printf '%s\n' 'nameserver 9.9.9.9' 'search corp.test example' 'options timeout:2 attempts:2' >"$WORLD/resolv.conf"
	# curl wants a whole answer
	cat >"$WORLD/web.py" <<-'SOURCE'
		import socket, sys, threading
		def serve(family, address):
		    s = socket.socket(family)
		    s.bind((address, 8080)); s.listen(16)
		    while True:
		        c, _ = s.accept()
		        c.recv(4096); c.sendall(b"HTTP/1.0 200 OK\r\n\r\nanswer from the witness\n"); c.close()
		for family, address in ((socket.AF_INET, sys.argv[1]), (socket.AF_INET6, sys.argv[2])):
		    threading.Thread(target=serve, args=(family, address)).start()
	SOURCE
	nsenter --net=/run/netns/"$NET" python3 "$WORLD/web.py" $PUB_A $PUB6_A 3>&- >/dev/null 2>&1 &
	echo $! >"$WORLD/web.pid"
	musl-gcc -static -O2 -o "$WORLD/dial-musl" "$BATS_TEST_DIRNAME/dial.c"
	cat >"$WORLD/dial.go" <<-'SOURCE'
		package main

		import ("bufio"; "fmt"; "net"; "os"; "time")

		func main() {
		    c, e := net.DialTimeout("tcp", net.JoinHostPort(os.Args[1], os.Args[2]), 10*time.Second)
		    if e != nil { fmt.Fprintln(os.Stderr, e); os.Exit(2) }
		    fmt.Fprintln(c, "hello")
		    line, e := bufio.NewReader(c).ReadString('\n')
		    if e != nil { fmt.Fprintln(os.Stderr, e); os.Exit(1) }
		    fmt.Print(line)
		}
	SOURCE
	gccgo-12 -static-libgo -o "$WORLD/dial-go" "$WORLD/dial.go"
	cat >"$WORLD/dial.js" <<-'SOURCE'
		const net = require("net"), dns = require("dns"), [, , name, port] = process.argv
		// by the system's resolver, then by the one of its own
		const c = net.connect(port, name, () => c.write("hello\n"))
		c.on("error", e => { console.error(e.code); process.exit(2) })
		c.on("data", data => { process.stdout.write(data); c.destroy()
		    if (!name.includes(".")) process.exit(0)
		    dns.resolve4(name, (e, found) => { console.log(e ? e.code : "c-ares " + found); process.exit(e ? 3 : 0) }) })
	SOURCE
	cat >"$WORLD/dial.py" <<-'SOURCE'
		import socket, sys
		with socket.create_connection((sys.argv[1], int(sys.argv[2])), 10) as s:
		    s.sendall(b"hello\n")
		    print(s.recv(200).decode(), end="")
	SOURCE
	chmod 755 "$WORLD" "$WORLD"/dial-*
	chmod 644 "$WORLD"/dial.* "$WORLD/resolv.conf"
}

teardown_file() { names_down; }

# The workload's own resolv.conf, in a mount namespace of the launch; the supervisor has its servers from the configuration.
cordon() {
	rm -rf "$WORLD/evidence"
	# shellcheck disable=SC2016
	timeout -k 5 60 nsenter --net=/run/netns/"$SUP" unshare -m sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$WORLD/resolv.conf" \
		"$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" \
		--evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- "$@"
}

# finds CLIENT...: a listed name, a short one behind a denied candidate, one with an address that is left out; gives up on a denied one, and fast
finds() {
	: >"$WORLD/dns.log"
	mark
	run cordon sh -c 'p=$0; "$@" api.example $p && "$@" api $p && "$@" six.example $p && "$@" mixed.example $p; echo got $?
		date +%s%3N; "$@" denied.example $p 2>&1; echo denied $?; "$@" evil.test $p 2>&1; echo evil $?; date +%s%3N; "$@" api.example $p; echo after $?' "${PORT:-443}" "$@"
	[ "$(grep -c '^answer from the witness' <<<"$output")" -eq 5 ] || { echo "$output" >&2; return 1; }
	[[ $output == *"got 0"* && $output == *"after 0"* ]]
	run ! grep -E '^(denied|evil) 0' <<<"$output"
	took=$(grep -E '^[0-9]{13}$' <<<"$output" | paste -sd' ' | awk '{print $2 - $1}')
	[ "$took" -lt 2000 ] || { echo "gave up after $took ms" >&2; return 1; }
	[ -n "${PORT-}" ] || reached $PUB_A 443
	nothing_reached $PUB_B
	nothing_reached $PRIV
	nothing_reached $PRIV6
	name_event name_not_listed api.corp.test
	name_event name_not_listed denied.example
	run ! grep -E 'query.*(corp|denied|evil)' "$WORLD/dns.log"
}

@test "glibc: getaddrinfo" { finds "$tools/dial"; }

@test "musl, linked statically" { finds "$WORLD/dial-musl"; }

@test "curl" {
	cat >"$WORLD/dial-curl" <<-'SCRIPT'
		#!/bin/sh
		exec curl --silent --show-error --max-time 10 --noproxy '*' "http://$1:$2/"
	SCRIPT
	chmod 755 "$WORLD/dial-curl"
	eventually 50 "in_net ss -Hltn | grep -q $PUB_A:8080"
	PORT=8080 finds "$WORLD/dial-curl"
}

@test "python3" { finds /usr/bin/python3 "$WORLD/dial.py"; }

@test "Node: its system resolver and c-ares" {
	finds node "$WORLD/dial.js"
	run cordon node "$WORLD/dial.js" api.example 443
	[[ $output == *"c-ares $PUB_A"* ]]
}

@test "Go: its own resolver" { finds env GODEBUG=netdns=go "$WORLD/dial-go"; }

@test "other types of a listed name are empty, not errors: HTTPS, SVCB, TXT, MX; AAAA of a name without one" {
	run cordon sh -c 'for type in HTTPS SVCB TXT MX AAAA ANY; do dig +time=2 +tries=1 api.example $type | grep -E "status|ANSWER:"; done'
	[ "$(grep -c 'status: NOERROR' <<<"$output")" -eq 6 ]
	[ "$(grep -c 'ANSWER: 0' <<<"$output")" -eq 6 ]
	# TCP, where ANY goes, too
	run cordon dig +tcp +time=2 +tries=1 denied.example A
	[[ $output == *'status: NXDOMAIN'* ]]
}
