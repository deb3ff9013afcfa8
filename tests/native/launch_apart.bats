#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# launch_apart.bats - workload, plane, edge and supervisor kept apart from each other

load helpers

setup_file() {
	world_up
	mkdir -m 1777 "$WORLD/open"
	witness net tcp $PUB_A 443 tcp $PUB_B 443 tcp $PRIV 443
}
teardown_file() {
	"$netcordon" stop --root "$ROOT" apart 2>/dev/null || true
	world_down
}

tool=$BATS_TEST_DIRNAME/../../build/tests/native/launch_tool
plane='"plane":{"destinations":[{"host":"10.20.0.5","port":443,"non_public":true}],"credentials":["RUN_TOKEN","OTHER"]}'
secret=a-token-nobody-else-may-see

setup() { MEMBERS=$plane profile tcp $PUB_A 443; }

# resident COMMAND...: a live instance called apart, until `gone`
resident() {
	RUN_OPTIONS="--instance apart --status-fd 5 ${RUN_OPTIONS-}" LIMIT=100 cordon "$@" 5>"$WORLD/status" >"$WORLD/resident.out" 2>&1 3>&- &
	RESIDENT=$!
	eventually 200 "grep -q started $WORLD/status" || { cat "$WORLD/status" "$WORLD/resident.out" >&2; return 1; }
}
gone() {
	"$netcordon" stop --root "$ROOT" apart
	wait "$RESIDENT" || true
}
plane_exec() { timeout 60 "$netcordon" exec --root "$ROOT" apart "$@"; }
credentials() { printf 'RUN_TOKEN=%s\0' $secret >"$WORLD/credentials"; }

@test "the plane's command has its own user, its credentials, its own destinations; the workload has none of them" {
	credentials
	resident /bin/sleep 90
	plane_exec --plane-env-fd 6 -- /bin/sh -c 'id -u; echo "$RUN_TOKEN"; env | wc -l' 6<"$WORLD/credentials" >"$WORLD/out"
	cat "$WORLD/out"
	[ "$(sed -n 2p "$WORLD/out")" = $secret ]
	local uid
	uid=$(sed -n 1p "$WORLD/out")
	[ "$uid" -ge 1879048192 ] && [ "$uid" -ne "$(jq .process.uid "$WORLD/evidence/launch.json")" ]
	mark
	plane_exec -- "$tools/attempt" tcp $PRIV 443
	reached $PRIV 443
	mark
	run ! plane_exec -- "$tools/attempt" tcp $PUB_A 443
	nothing_reached $PUB_A 443
	gone
	# and the other way round
	mark
	run ! cordon "$tools/attempt" tcp $PRIV 443
	nothing_reached $PRIV 443
	# what was passed is recorded by name, under its authority; no value is anywhere
	resident /bin/sleep 90
	plane_exec --plane-env-fd 6 -- /bin/sh -c 'exit 3' 6<"$WORLD/credentials" || true
	gone
	jq -e -s 'any(.[]; .kind=="exec" and .authority=="plane" and .passed_environment==["RUN_TOKEN"] and .result.code==3)' "$WORLD/evidence/events.jsonl"
	run ! grep -r $secret "$WORLD/evidence" /run/netcordon "$WORLD/status"
}

@test "a second tree under an authority is refused while the first lives" {
	resident /bin/sleep 90
	run plane_exec --authority workload -- /bin/true
	[ "$status" -eq 125 ]
	[[ $output == *instance_busy* ]]
	plane_exec -- /bin/sleep 20 3>&- &
	local pid=$!
	eventually 100 "[ \$('$netcordon' status --root $ROOT --json | grep -c apart) -gt 0 ] && pgrep -f 'sleep 20' >/dev/null"
	run plane_exec -- /bin/true
	[ "$status" -eq 125 ]
	[[ $output == *instance_busy* ]]
	gone
	wait $pid || true
	run plane_exec -- /bin/true
	[[ $output == *instance_unknown* ]]
}

# Environments of 1.5 MB each: what PR_SET_MM_MAP can make of any size, with what everybody has.
@test "a workload with enormous environments keeps nobody from the plane, what could not be searched is told, and a credential in sight is found" {
	credentials
	large() { for i in 0 1 2 3 4 5 6 7 8 9 a b; do export "LARGE$i=$(head -c 120000 /dev/zero | tr '\0' "$i")"; done; }
	resident "$BASH" -c "$(declare -f large); large; for i in 1 2 3 4 5 6 7; do /bin/sleep 90 & done; wait"
	eventually 100 '[ "$(pgrep -f "^/bin/sleep 90" | wc -l)" -ge 7 ]'
	plane_exec --plane-env-fd 6 -- /bin/sh -c 'exit 0' 6<"$WORLD/credentials"
	gone
	jq -e -s 'any(.[]; .kind=="exec" and .result.code==0 and .unsearched >= 7)' "$WORLD/evidence/events.jsonl"
	resident "$BASH" -c "$(declare -f large); /usr/bin/env X=$secret /bin/sleep 90 & large; for i in 1 2 3 4 5 6 7; do /bin/sleep 90 & done; wait"
	eventually 100 '[ "$(pgrep -f "^/bin/sleep 90" | wc -l)" -ge 8 ]'
	run plane_exec --plane-env-fd 6 -- /bin/touch "$WORLD/open/ran" 6<"$WORLD/credentials"
	[ "$status" -eq 125 ]
	[[ $output == *credential_leak* ]]
	[ ! -e "$WORLD/open/ran" ]
	gone
}

@test "behind attach a credential in sight is found in the cgroups below, too" {
	local name instance below
	credentials
	attach_up
	name=$(cat "$WORLD/attached.name") instance=$(jq -r .instance "$WORLD/attached/launch.json")
	attached_exec() { timeout 60 "$netcordon" exec --root "$ROOT" "$instance" --plane-env-fd 6 -- /bin/touch "$WORLD/open/ran" 6<"$WORLD/credentials"; }
	mkdir "$ROOT/$name/below"
	inside "$name/below" /usr/bin/env X=$secret /bin/sleep 60 3>&- &
	below=$!
	eventually 50 "grep -q . $ROOT/$name/below/cgroup.procs"
	eventually 50 "tr '\0' ' ' <\"/proc/\$(tail -n 1 $ROOT/$name/below/cgroup.procs)/environ\" | grep -q $secret"
	run attached_exec
	[[ $status -eq 125 && $output == *credential_leak* ]] || { echo "$output" >&2; return 1; }
	[ ! -e "$WORLD/open/ran" ]
	echo 1 >"$ROOT/$name/below/cgroup.kill" 2>/dev/null || kill $below
	wait $below || true
	eventually 50 "! grep -q . $ROOT/$name/below/cgroup.procs"
	attached_exec
	[ -e "$WORLD/open/ran" ]
	rm "$WORLD/open/ran"
	attach_down
}

@test "a credential that the profile does not name is refused; one whose value the workload has seen, too" {
	credentials
	printf 'UNNAMED=%s\0' $secret >"$WORLD/wrong"
	resident /usr/bin/env X=$secret /bin/sleep 90
	run plane_exec --plane-env-fd 6 -- /bin/touch "$WORLD/open/ran" 6<"$WORLD/wrong"
	[ "$status" -eq 125 ]
	[[ $output == *"does not list: UNNAMED"* && $output != *"$secret"* ]]
	run plane_exec --plane-env-fd 6 -- /bin/touch "$WORLD/open/ran" 6<"$WORLD/credentials"
	[ "$status" -eq 125 ]
	[[ $output == *credential_leak*": RUN_TOKEN"* && $output != *"$secret"* ]]
	[ ! -e "$WORLD/open/ran" ]
	run plane_exec --authority workload --plane-env-fd 6 -- /bin/touch "$WORLD/open/ran" 6<"$WORLD/credentials"
	[ "$status" -eq 125 ]
	[ ! -e "$WORLD/open/ran" ]
	gone
}

@test "nobody but root reads what supervisor, edge, init and the plane's command hold" {
	credentials
	# with a name in its policy an instance has an edge
	echo '{"version":1,"upstreams":["127.0.0.1"]}' >"$WORLD/netcordon.conf"
	MEMBERS=$plane profile tcp api.example 443
	RUN_OPTIONS="--config $WORLD/netcordon.conf" resident /bin/sleep 90
	plane_exec --plane-env-fd 6 -- /bin/sleep 40 6<"$WORLD/credentials" 3>&- &
	eventually 100 "pgrep -f '^/bin/sleep 40' >/dev/null"
	local uid pid file
	uid=$(jq .process.uid "$WORLD/evidence/launch.json")
	local edge supervisor init
	supervisor=$(jq -r .supervisor.pid "$(ls /run/netcordon/*/instances/apart/state.json)")
	init=$(jq -r .init.pid "$(ls /run/netcordon/*/instances/apart/state.json)")
	edge=$(pgrep -P "$supervisor" | while read -r pid; do [ "$(tr '\0' ' ' <"/proc/$pid/cmdline" | grep -c -e -edge)" -eq 0 ] || echo "$pid"; done)
	[ -n "$edge" ] && [ -n "$init" ]
	for pid in $supervisor $edge $init $(pgrep -f '^/bin/sleep 40'); do
		for file in environ mem maps fd/0 root cwd; do
			run setpriv --reuid "$uid" --regid "$uid" --clear-groups cat "/proc/$pid/$file"
			[ "$status" -ne 0 ] || { echo "$pid $file" >&2; return 1; }
		done
	done
	# the edge: user of its own, nothing inherited, no privilege, exactly the descriptors that it needs
	[ -z "$(tr '\0' '\n' <"/proc/$edge/environ")" ]
	awk '/^Uid:/ {exit !($2 >= 1879048192 && $2 != '"$uid"')}' "/proc/$edge/status"
	grep -q '^CapEff:.0000000000000000$' "/proc/$edge/status"
	grep -q '^CapBnd:.0000000000000000$' "/proc/$edge/status"
	grep -q '^Seccomp:.2$' "/proc/$edge/status"
	run ! grep -E 'key|evidence|credentials' <(ls -l "/proc/$edge/fd")
	# neither holds the credential in its memory
	for pid in $supervisor $edge; do
		timeout 20 python3 - "$pid" $secret <<-'PYTHON'
		import re, sys
		pid, secret = sys.argv[1], sys.argv[2].encode()
		with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
		    for line in maps:
		        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
		        if m:
		            mem.seek(int(m[1], 16))
		            assert secret not in mem.read(int(m[2], 16) - int(m[1], 16)), line
		PYTHON
	done
	gone
}

@test "the signing key is in the supervisor's memory and in no other process of the launch" {
	resident /bin/sleep 90
	local supervisor init
	supervisor=$(jq -r .supervisor.pid "$(ls /run/netcordon/*/instances/apart/state.json)")
	init=$(jq -r .init.pid "$(ls /run/netcordon/*/instances/apart/state.json)")
	look() {
		timeout 20 python3 - "$1" "$WORLD/key.pem" <<-'PYTHON'
		import base64, re, sys
		seed = base64.b64decode("".join(l for l in open(sys.argv[2]) if "-----" not in l))[-32:]
		found = False
		with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb") as mem:
		    for line in maps:
		        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
		        if m and "[v" not in line:
		            try:
		                mem.seek(int(m[1], 16))
		                found |= seed in mem.read(int(m[2], 16) - int(m[1], 16))
		            except OSError:
		                pass
		sys.exit(0 if found else 1)
		PYTHON
	}
	look "$supervisor"
	for pid in $init $(pgrep -P "$supervisor") $(pgrep -P "$init"); do
		! look "$pid" || { echo "the key is in process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2; return 1; }
	done
	gone
}
