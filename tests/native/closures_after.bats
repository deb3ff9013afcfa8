#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# closures_after.bats - what changes after the verdict: rewritten destinations, other people's programs, sockets that outlive their place

load helpers
load foreign

setup_file() {
	world_up
	world_listen
	base_profile
}

teardown() {
	attach_down
	in_wl nft flush ruleset 2>/dev/null || true
	in_wl ip -6 route del $PUB6_A 2>/dev/null || true
	foreign_gone
}

teardown_file() { world_down; }

# cancelling CGROUP WHAT: where there is no bpf_set_retval, nobody can cancel a refusal, and what follows must hold all the same
cancelling() { here "$@" || true; }

rewrite() { # rewrite TABLE-FAMILY FROM TO
	in_wl nft -f - <<-END
		table $1 rewriting {
			chain out {
				type nat hook output priority -100;
				$1 daddr $2 tcp dport 443 dnat to $3
				$1 daddr $2 udp dport 443 dnat to $3
			}
		}
	END
}

@test "netfilter rewrites the listed destination to a private one: the packet does not leave (H21)" {
	local who
	attach_up
	rewrite ip $PUB_A $PRIV
	mark
	try attempt_user tcp $PUB_A 443
	through
	reached $PRIV 443
	mark
	try attempt_user udp-sendto $PUB_A 443
	through
	reached $PRIV 443
	for who in user root attached; do
		mark
		as $who tcp $PUB_A 443
		refused ETIMEDOUT connect
		nothing_reached $PRIV
		refusal packet_destination
		event '.reason=="packet_destination" and .destination=="'$PRIV'" and .admitted=="'$PUB_A'"'
		mark
		as $who udp-sendto $PUB_A 443
		refused EPERM sendto
		nothing_reached $PRIV
		as $who udp-connect-send $PUB_A 443
		refused EPERM send
		nothing_reached $PRIV
	done
}

@test "the same over IPv6" {
	local who
	attach_up
	rewrite ip6 $PUB6_A $PUB6_B
	mark
	try attempt_user tcp $PUB6_A 443
	through
	reached $PUB6_B 443
	for who in user root attached; do
		mark
		as $who tcp $PUB6_A 443
		refused ETIMEDOUT connect
		as $who udp-sendto $PUB6_A 443
		refused EPERM sendto
		nothing_reached $PUB6_B
	done
}

@test "a launch names a foreign program in force above it, and does not start" {
	foreign "$ROOT" rewrite $PRIV 443
	run cordon "$tools/attempt" tcp $PUB_A 443
	[ "$status" -eq 125 ]
	[[ "$output" == *somebody_else* ]] || { echo "$output" >&2; return 1; }
	[[ "$output" != *'"verb"'* ]]
}

@test "a foreign program that comes later and rewrites: the packet sees the real address, and evidence shows both (H21)" {
	attach_up
	foreign "$ROOT" rewrite $PRIV 443
	mark
	as attached tcp $PUB_A 443
	refused ETIMEDOUT connect
	nothing_reached $PRIV
	event '.reason=="packet_destination" and .destination=="'$PRIV'"'
}

@test "a foreign program that comes later and cancels the refusal: the packet was never admitted" {
	attach_up
	cancelling "$ROOT" cancel
	mark
	as attached tcp $PUB_B 443
	refused
	nothing_reached $PUB_B
	mark
	as attached udp-connect-send $PUB_B 443
	refused EPERM
	nothing_reached $PUB_B
}

@test "the same on the sealed cgroup itself, behind ours" {
	local group
	attach_up
	group=$(cat "$WORLD/attached.name")
	cancelling "$ROOT/$group" cancel
	mark
	as attached tcp $PUB_B 443
	refused
	nothing_reached $PUB_B
}

@test "an encapsulating route: the listed address leads into a segment list" {
	local who
	attach_up
	in_wl ip -6 route add $PUB6_A encap seg6 mode encap segs $PUB6_B via fd77::1 dev wl0
	mark
	try attempt_user -t 300 udp-sendto $PUB6_A 443 || true
	fence
	wire $PUB6_B # the path is real
	for who in user root attached; do
		mark
		as $who -t 300 udp-sendto $PUB6_A 443
		refused EPERM sendto
		as $who -t 1500 tcp $PUB6_A 443
		refused ETIMEDOUT connect
		nothing_reached $PUB6_B
		refusal packet_malformed
	done
}

@test "a foreign program that cancels the refusal of sendmsg: the packet is judged for itself" {
	attach_up
	cancelling "$ROOT" cancel-sendmsg
	mark
	as attached udp-sendto $PUB_B 443
	refused EPERM
	nothing_reached $PUB_B
}

@test "a foreign program inside, below the cordon, that allows everything changes nothing" {
	attach_up
	group=$(cat "$WORLD/attached.name")
	mkdir -p "$ROOT/$group/below"
	cancelling "$ROOT/$group/below" cancel
	mark
	run inside "$group/below" "$tools/attempt" tcp $PUB_B 443
	[ "$status" -ne 0 ]
	nothing_reached $PUB_B
}

# moved SCRIPT: python3 that starts in $ROOT/elsewhere, outside every instance; move(GROUP) moves it
moved() {
	mkdir -p "$ROOT/elsewhere"
	run inside elsewhere /usr/bin/python3 -c "
import os, socket, errno
root = '$ROOT'
attached = '$(cat "$WORLD/attached.name")'
def move(group):
    open(root + '/' + group + '/cgroup.procs', 'w').write('0')
def word(call):
    try:
        call()
        return 'ok'
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
def tcp():
    s = socket.socket(); s.settimeout(1); return s
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); return s
def splice(source, to, length):
    import ctypes
    if ctypes.CDLL(None, use_errno=True).splice(source, None, to, None, ctypes.c_size_t(length), 0) < 0:
        raise OSError(ctypes.get_errno(), 'splice')
$1"
	[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
}

@test "unconnected sockets that were made outside, used inside: the guard refuses them, listed destination or not" {
	attach_up
	mark
	moved "
t, u, t2 = tcp(), udp(), tcp()
print(word(lambda: t2.connect(('$PUB_B', 443))))
move(attached)
print(word(lambda: t.connect(('$PUB_B', 443))), word(lambda: u.sendto(b'x', ('$PUB_B', 443))), word(lambda: u.connect(('$PUB_B', 443))))
print(word(lambda: t.connect(('$PUB_A', 443))), word(lambda: u.sendto(b'x', ('$PUB_A', 443))))"
	[ "$output" = "ok
EPERM EPERM EPERM
EPERM EPERM" ] || { echo "$output" >&2; return 1; }
	EVIDENCE=attached refusal socket_unlabelled
}

@test "a connected socket from before the move takes nothing, by whatever call, or is a gap that the statement names" {
	attach_up
	mark
	moved "
t = tcp(); t.connect(('$PUB_B', 443))
page, into = os.pipe(); os.write(into, b'spliced')
file = os.open('/etc/passwd', os.O_RDONLY)
move(attached)
print(word(lambda: t.send(b'sent')), word(lambda: os.write(t.fileno(), b'written')), word(lambda: os.sendfile(t.fileno(), file, 0, 20)),
      word(lambda: os.splice(page, t.fileno(), 7) if hasattr(os, 'splice') else splice(page, t.fileno(), 7)))"
	fence
	if jq -e '.gaps | index("connected_socket_from_outside")' "$WORLD/attached/launch.json"; then
		[[ $output == *ok* ]] && arrived '.event=="data" and (.local|contains($a))' $PUB_B
	else
		[ "$output" = "EPERM EPERM EPERM EPERM" ] || { echo "$output" >&2; return 1; }
		no_arrival '.event=="data" and (.local|contains($a))' $PUB_B
	fi
}

@test "a socket made inside, used outside: the label's own cgroup is where it may be used" {
	attach_up
	mark
	moved "
move(attached)
t, u = tcp(), udp()
move('elsewhere')
print(word(lambda: t.connect(('$PUB_A', 443))), word(lambda: u.sendto(b'x', ('$PUB_A', 443))), word(lambda: u.sendto(b'x', ('$PUB_B', 443))))"
	[ "$output" = "EPERM EPERM EPERM" ]
	nothing_reached $PUB_A
	nothing_reached $PUB_B
	EVIDENCE=attached refusal authority_mismatch
}

@test "a raw socket that is older than the cordon: not even the forms of neighbour discovery leave it, for anywhere" {
	cat >"$WORLD/old.py" <<-'PYTHON'
		import os, socket, sys, time
		raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
		raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 255)
		raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
		def solicit():
		    for kind, to in (135, sys.argv[1]), (136, sys.argv[1]), (133, "ff02::2%wl0"):
		        try:
		            raw.sendto(bytes([kind, 0, 0, 0, 0, 0, 0, 0]) + b"EXFILTRATED " * 4, (to.split("%")[0], 0, 0, socket.if_nametoindex("wl0") if "%" in to else 0))
		            print("sent", flush=True)
		        except PermissionError:
		            print("refused", flush=True)
		solicit()
		until = time.monotonic() + 30
		while not os.path.exists(sys.argv[2]) and time.monotonic() < until:
		    time.sleep(0.02)
		solicit()
	PYTHON
	local solicitation='.event=="packet" and .way=="in" and .protocol==58 and (.dst==$a or .length==110)' old cgroup=$ROOT/attached-old
	mkdir "$cgroup"
	mark
	inside attached-old python3 "$WORLD/old.py" $PUB6_B "$WORLD/sealed" >"$WORLD/old.out" 2>&1 3>&- &
	old=$!
	eventually 50 "[ \$(grep -c sent $WORLD/old.out) -eq 3 ]"
	fence
	arrived "$solicitation" $PUB6_B
	rm -rf "$WORLD/attached"
	"$netcordon" attach --cgroup "$cgroup" --profile "$WORLD/profile.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/attached" \
		--key "$WORLD/key.pem" 3>&- >"$WORLD/attach.out" 2>&1 &
	echo $! >"$WORLD/attach.pid"
	eventually 150 "[ -f $WORLD/attached/launch.json.sig ]"
	eventually 50 "inside attached-old $tools/attempt port-zero 127.0.0.1 2>/dev/null | grep -q EPERM"
	mark
	touch "$WORLD/sealed"
	wait $old
	[ "$(grep -c refused "$WORLD/old.out")" -eq 3 ] || { cat "$WORLD/old.out" >&2; return 1; }
	fence
	no_arrival "$solicitation" $PUB6_B
}

@test "two namespaces that are made inside find each other: the kernel's own solicitations and answers pass" {
	attach_up
	# shellcheck disable=SC2016
	run attached unshare -n bash -c '
		unshare -n sleep 30 & other=$!
		until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
		ip link add a0 type veth peer name b0 address 02:00:00:00:09:02 netns $other
		ip addr add fd79::1/64 dev a0 nodad && ip link set a0 up
		nsenter -t $other -n sh -c "ip addr add fd79::2/64 dev b0 nodad && ip link set b0 up"
		sleep 0.2
		ip neigh replace fd79::2 dev a0 lladdr 02:00:00:00:09:02 nud probe
		for i in $(seq 60); do ip neigh show fd79::2 | grep -q REACHABLE && break; sleep 0.1; done
		ip neigh show fd79::2
		kill $other'
	[[ $output == *REACHABLE* ]] || { echo "$output" >&2; return 1; }
}

@test "a connected socket that outlives its child cgroup: the programs still run for it" {
	attach_up
	mark
	moved "
os.mkdir(root + '/' + attached + '/short')
move(attached + '/short')
u = udp()
u.connect(('$PUB_A', 443))
move(attached)
os.rmdir(root + '/' + attached + '/short')
print(word(lambda: u.send(b'x')), word(lambda: u.connect(('$PUB_B', 443))), word(lambda: u.sendto(b'x', ('$PUB_B', 443))))"
	[ "$output" = "ok EPERM EPERM" ] || { echo "$output" >&2; return 1; }
	reached $PUB_A 443
	nothing_reached $PUB_B
}

@test "a foreign program that comes later is noticed: within two looks the workload is ended, and the evidence says why" {
	attach_up
	local supervisor
	supervisor=$(cat "$WORLD/attach.pid")
	foreign "$ROOT" allow
	eventually 300 "! kill -0 $supervisor 2>/dev/null"
	[ -z "$(cat "$ROOT/$(cat "$WORLD/attached.name")/cgroup.procs")" ]
	jq . "$WORLD/attached/closing.json" >&2
	grep -q program "$WORLD/attached/closing.json"
}
