#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch_process.bats - what the process is that a command runs as: user, privileges, namespaces, calls, descriptors, terminal

load helpers

setup_file() {
	world_up
	mkdir -m 1777 "$WORLD/open"
	profile tcp $PUB_A 443
	witness net tcp $PUB_A 443 tcp $PUB_B 443
}
teardown_file() { world_down; }

setup() { profile tcp $PUB_A 443; }

tool=$BATS_TEST_DIRNAME/../../build/tests/native/launch_tool

@test "a user of its own, no group, no privilege in any set, no way to get one" {
	cordon /bin/cat /proc/self/status >"$WORLD/status"
	cat "$WORLD/status"
	awk '/^Uid:/ {exit !($2 >= 1879048192 && $2 == $3 && $3 == $4 && $4 == $5)}' "$WORLD/status"
	awk '/^Gid:/ {exit !($2 >= 1879048192 && $2 == $3 && $3 == $4 && $4 == $5)}' "$WORLD/status"
	awk '/^Groups:/ {exit NF != 1}' "$WORLD/status"
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do grep -q "^$set:.0000000000000000$" "$WORLD/status"; done
	grep -q '^NoNewPrivs:.1$' "$WORLD/status"
	grep -q '^Seccomp:.2$' "$WORLD/status"
	jq -e '.process|.no_new_privs and .uid_own and .capabilities==[] and .groups==[]' "$WORLD/evidence/launch.json"
	# a setuid program gives nothing
	[ "$(cordon /bin/sh -c 'cp /usr/bin/id /tmp/x-$$ 2>/dev/null; su -c id root </dev/null 2>&1 | head -n 1; id -u' | tail -n 1)" -ge 1879048192 ]
}

@test "user id 0 is refused, so is a user that somebody else runs as, and one that does not exist" {
	local user
	for user in root 0 no-such-user-here; do
		MEMBERS="\"process\":{\"user\":\"$user\"}" profile tcp $PUB_A 443
		run cordon /bin/touch "$WORLD/open/ran"
		[ "$status" -ne 0 ]
		[ ! -e "$WORLD/open/ran" ]
	done
	setpriv --reuid 64123 --regid 64123 --clear-groups sleep 60 3>&- &
	local pid=$!
	MEMBERS='"process":{"user":"64123"}' profile tcp $PUB_A 443
	run cordon /bin/touch "$WORLD/open/ran"
	kill $pid
	[ "$status" -eq 125 ]
	[[ $output == *uid_shared* ]]
	[ ! -e "$WORLD/open/ran" ]
	wait $pid || true
	[ "$(cordon /usr/bin/id -u)" = 64123 ]
}

@test "the kernel's own count refuses a user that is taken, where no walk through /proc sees it" {
	# netcordon in a pid namespace of its own does not see the other process; the kernel counts the user's tasks wherever they are
	setpriv --reuid 64124 --regid 64124 --clear-groups sleep 60 3>&- &
	local pid=$!
	MEMBERS='"process":{"user":"64124"}' profile tcp $PUB_A 443
	run unshare --pid --fork --mount-proc "$BASH" -c \
		"$(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=$WL netcordon=$netcordon; ! grep -l 64124 /proc/[0-9]*/status; cordon /bin/touch $WORLD/open/ran"
	kill $pid
	[ "$status" -eq 125 ]
	[[ $output == *uid_shared* ]]
	[ ! -e "$WORLD/open/ran" ]
	wait $pid || true
	unshare --pid --fork --mount-proc "$BASH" -c "$(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=$WL netcordon=$netcordon; cordon /bin/touch $WORLD/open/ran"
	[ -e "$WORLD/open/ran" ]
	rm "$WORLD/open/ran"
}

@test "its own pid, mount and ipc namespaces; only its own processes; no pins; cgroups that cannot be written" {
	local mine
	for kind in pid mnt ipc; do
		mine=$(readlink /proc/self/ns/$kind)
		[ "$(cordon /bin/readlink /proc/self/ns/$kind)" != "$mine" ]
	done
	[ "$(cordon /bin/sh -c 'echo /proc/[0-9]*')" = "/proc/1 /proc/2" ]
	[ -n "$(ls -A /sys/fs/bpf)" ]
	run cordon /bin/ls -A /sys/fs/bpf
	[ "$status" -ne 0 ]
	run cordon /bin/sh -c "mkdir $ROOT/x || echo 0 >$ROOT/cgroup.procs"
	[ "$status" -ne 0 ]
	[[ $output == *"Read-only"* ]]
	# not even with every capability of a user namespace of its own
	run cordon /usr/bin/unshare -Ur --mount /bin/sh -c "umount /sys/fs/bpf; ls -A /sys/fs/bpf; mount -o remount,bind,rw /sys/fs/cgroup/unified"
	[ "$status" -ne 0 ]
}

@test "an empty session keyring, and no call to it; no call that acts through another process; no other family" {
	cordon "$tool" keys >"$WORLD/out"
	[ "$(grep -c EPERM "$WORLD/out")" -eq 3 ]
	cordon "$tool" calls >"$WORLD/out"
	cat "$WORLD/out"
	for call in ptrace process_vm_readv process_vm_writev pidfd_getfd bpf; do grep -q "^$call EPERM$" "$WORLD/out"; done
	grep -qE "^io_uring_setup (ENOSYS|EFAULT)$" "$WORLD/out"
	grep -q '^netlink_route ok$' "$WORLD/out"
	grep -q '^netlink_audit EAFNOSUPPORT$' "$WORLD/out"
	grep -q '^socketpair ok$' "$WORLD/out"
	[ "$("$tool" family 50 | wc -l)" -gt 5 ]
	[ "$(cordon "$tool" family 50 | tr '\n' ' ')" = "1 2 10 16 " ]
	# another architecture's calls would have other numbers
	jq -e '.process.seccomp|.digest and (.calls|index("ptrace"))' "$WORLD/evidence/launch.json"
}

@test "exactly 0, 1 and 2 are open, whatever the caller holds" {
	exec 37</dev/tcp/127.0.0.1/1 2>/dev/null || exec 37</etc/passwd
	exec 200</ 201<"$ROOT/cgroup.procs"
	cordon "$tool" fds >"$WORLD/out"
	exec 37<&- 200<&- 201<&-
	cat "$WORLD/out"
	[ "$(cut -d' ' -f1 "$WORLD/out" | tr '\n' ' ')" = "0 1 2 " ]
	jq -e '.process.descriptors|map(.fd)==[0,1,2]' "$WORLD/evidence/launch.json"
}

@test "a connected socket left open by the caller does not reach the command" {
	in_wl "$tool" with connected:$PUB_B 37 "$BASH" -c "$(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=$WL netcordon=$netcordon; cordon $tool read 37" >"$WORLD/out" 2>&1
	grep -qx EBADF "$WORLD/out"
}

@test "a standard descriptor of any other kind is refused, and the command does not run" {
	local kind
	for kind in directory path netns proc sysfs tun map udp listener netlink named-unix datagram-pair eventfd epoll ring pidfd "$ROOT/cgroup.procs" \
		connected:$PUB_B; do
		for fd in 0 1; do
			[ "$kind$fd" != named-unix1 ] || continue # what a service reads may be the output
			run in_wl "$tool" with "$kind" $fd "$BASH" -c \
				"$(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=$WL netcordon=$netcordon; cordon /bin/touch $WORLD/open/ran 2>$WORLD/error"
			[ "$status" -eq 125 ] || { echo "$kind as $fd: status $status $output" >&2; cat "$WORLD/error" >&2; return 1; }
			grep -q descriptor_refused "$WORLD/error"
			[ ! -e "$WORLD/open/ran" ]
		done
	done
}

@test "pipes, files, memory and the null device are handed on; a closed one becomes the null device" {
	[ "$(echo in | cordon /bin/cat)" = in ]
	cordon /bin/cat <"$WORLD/profile.json" >"$WORLD/out"
	cmp "$WORLD/profile.json" "$WORLD/out"
	[ -z "$(cordon /bin/cat <&-)" ]
	cordon "$tool" fds <&- >"$WORLD/out"
	grep -qx "0 /dev/null" "$WORLD/out"
	"$tool" with memfd 0 "$BASH" -c "$(declare -f cordon); WORLD=$WORLD ROOT=$ROOT WL=$WL netcordon=$netcordon; cordon /bin/cat" </dev/null
}

@test "an unnamed socket pair, as Node hands out, is relayed through pipes, both ways, to its end" {
	WORLD=$WORLD ROOT=$ROOT WL=$WL NC=$netcordon timeout 60 python3 - <<-'PYTHON'
	import os, socket, subprocess, threading
	e = os.environ
	run = [e["NC"], "run", "--root", e["ROOT"], "--netns", "/run/netns/" + e["WL"], "--key", e["WORLD"] + "/key.pem", "--profile", e["WORLD"] + "/profile.json"]
	ours, theirs = zip(*[socket.socketpair() for _ in range(3)])
	command = "readlink /proc/self/fd/0 >&2; cat; exit 6"
	process = subprocess.Popen(run + ["--evidence", e["WORLD"] + "/ev-pair", "--", "/bin/sh", "-c", command], stdin=theirs[0], stdout=theirs[1], stderr=theirs[2])
	for one in theirs:
	    one.close()
	data = os.urandom(3 << 20)
	def feed():
	    ours[0].sendall(data)
	    ours[0].shutdown(socket.SHUT_WR)
	threading.Thread(target=feed).start()
	def drain(s):
	    got = b""
	    while (part := s.recv(65536)):
	        got += part
	    return got
	assert drain(ours[1]) == data
	error = drain(ours[2])
	assert error.startswith(b"pipe:"), error
	assert process.wait() == 6
	PYTHON
}

@test "output to a service's unix stream, as systemd gives a unit, is relayed; the socket is nowhere in the workload, as input it is refused" {
	WORLD=$WORLD ROOT=$ROOT WL=$WL NC=$netcordon timeout 60 python3 - <<-'PYTHON'
	import os, socket, subprocess
	e = os.environ
	run = [e["NC"], "run", "--root", e["ROOT"], "--netns", "/run/netns/" + e["WL"], "--key", e["WORLD"] + "/key.pem", "--profile", e["WORLD"] + "/profile.json"]
	listener = socket.socket(socket.AF_UNIX)
	listener.bind(e["WORLD"] + "/journal")
	listener.listen()
	def launch(evidence, command, stdin=subprocess.DEVNULL):
	    ours = socket.socket(socket.AF_UNIX)
	    ours.connect(e["WORLD"] + "/journal")
	    service = listener.accept()[0]
	    service.settimeout(30)
	    process = subprocess.Popen(run + ["--evidence", e["WORLD"] + evidence, "--", "/bin/sh", "-c", command],
	                               stdin=ours if stdin is None else stdin, stdout=ours, stderr=ours)
	    ours.close()
	    got = b""
	    while (part := service.recv(65536)):
	        got += part
	    return process.wait(), got
	# the end of standard output is not the end of standard error, which is the same socket
	status, got = launch("/ev-unit", 'readlink /proc/self/fd/*; echo said; exec >&-; echo late >&2; exit 6')
	assert status == 6, (status, got)
	assert b"said" in got and b"late" in got, got
	assert got.count(b"pipe:") == 2 and b"socket:" not in got, got
	status, got = launch("/ev-unit-in", "touch " + e["WORLD"] + "/open/ran", None)
	assert status == 125 and b"descriptor_refused: descriptor 0 is a socket" in got, (status, got)
	PYTHON
	jq -e '[.process.descriptors[].kind] == ["device", "relay", "relay"]' "$WORLD/ev-unit/launch.json"
	[ ! -e "$WORLD/open/ran" ]
}

@test "a terminal that is handed in cannot be typed into; --pty gives one of the command's own that works" {
	local typed
	typed=$(script -qec "$netcordon run --profile $WORLD/profile.json --root $ROOT --netns /run/netns/$WL --evidence $WORLD/ev-tty --key $WORLD/key.pem -- \
		/bin/sh -c '$tool typein 0 x; $tool typein 1 x; $tool typein 2 x; $tool paste 0; exec 3</dev/tty && echo has-tty'" /dev/null </dev/null | tr -d '\r')
	echo "$typed"
	[ "$(grep -c EPERM <<<"$typed")" -eq 4 ]
	run ! grep -q has-tty <<<"$typed"
	[ "$(jq -r '.process.descriptors[0].kind' "$WORLD/ev-tty/launch.json")" = terminal ]
	typed=$(printf 'stty -a | head -n 1; tty; echo "got $((40+2))"; %s typein 0 x; exit 5\n' "$tool" | timeout 60 script -qec "$netcordon run --pty --profile $WORLD/profile.json \
		--root $ROOT --netns /run/netns/$WL --evidence $WORLD/ev-pty --key $WORLD/key.pem -- /bin/sh -i; echo status \$?" /dev/null | tr -d '\r')
	echo "$typed"
	grep -q 'got 42' <<<"$typed"
	grep -q 'EPERM' <<<"$typed"
	grep -q 'status 5' <<<"$typed"
	[ "$(jq -r '.process.descriptors[0].kind' "$WORLD/ev-pty/launch.json")" = pty ]
}
