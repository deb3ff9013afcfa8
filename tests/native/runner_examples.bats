#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# runner_examples.bats - the Runners of examples/ at work, 200 at once; a Runner that dies at each line of the protocol; descriptors out of reach

load helpers

setup_file() {
	world_up
	echo '{"version":1,"network":{"mode":"none"},"process":{"env":{"PATH":"/usr/bin:/bin"}}}' >"$WORLD/profile.json"
	printf '{"version":1,"root":"%s","evidence":"%s/evidence","key":"%s/key.pem"}' "$ROOT" "$WORLD" "$WORLD" >"$WORLD/conf"
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	mkdir -m 1777 "$WORLD/open"
	chmod 755 "$WORLD"
	nc host up
}
teardown_file() { world_down; }

nc() { timeout 60 "$netcordon" --config "$WORLD/conf" "$@"; }

# example FILE COMMAND...: one of examples/, its answer in $answer
example() {
	local file=$1 interpreter=
	shift
	case $file in *.mjs) interpreter=node ;; *.py) interpreter=python3 ;; *.sh) interpreter=bash ;; esac
	status=0
	answer=$(NETCORDON=$netcordon SECRET=hush-hush timeout -k 5 "${LIMIT:-100}" $interpreter "$top/examples/$file" "$WORLD/profile.json" "$WORLD/public.pem" \
		--config "$WORLD/conf" -- "$@" 2>"$WORLD/errors") || status=$?
}

nothing_left() {
	nc host status --json | jq -e '.instances.used==0 and .rings.used==0 and .entries=={policy:0,grants:0,seen:0} and .orphans_ended==0' >/dev/null || { nc host status --json >&2; return 1; }
	[ -z "$(find "$ROOT"/netcordon-*.slice -mindepth 1 -type d)" ]
}

@test "each example launches, waits for sealed, passes a secret, reads results and verifies" {
	local file
	for file in runner.mjs runner.py runner.sh; do
		[ "$(wc -l <"$top/examples/$file")" -lt 60 ]
		# shellcheck disable=SC2016 # the workload's shell expands it
		example $file /bin/sh -c 'echo "token $API_TOKEN"; exit 7'
		jq -e '.messages==["sealed","started","exited"] and .ended.code==7 and .code==7 and .output=="token hush-hush\n" and .answer=="complete"' <<<"$answer" || {
			echo "$file: $answer" >&2
			cat "$WORLD/errors" >&2
			return 1
		}
		[ "$status" -eq 0 ]
		run ! grep -r hush-hush "$WORLD/evidence" /run/netcordon
		example $file /bin/sh -c 'kill -SEGV $$'
		jq -e '.ended.signal==11 and .code==139 and .answer=="complete"' <<<"$answer"
		example $file /no/such/file
		jq -e '.messages==["sealed","failed"] and .ended.code=="process_invalid" and .code==127' <<<"$answer"
		[ "$status" -eq 1 ]
	done
	nothing_left
}

@test "a Runner that is wrong about the key, or about the launch, is told so" {
	"$netcordon" key generate "$WORLD/other.pem"
	"$netcordon" key public "$WORLD/other.pem" >"$WORLD/other.pub"
	status=0
	answer=$(NETCORDON=$netcordon timeout 60 python3 "$top/examples/runner.py" "$WORLD/profile.json" "$WORLD/other.pub" --config "$WORLD/conf" -- true) || status=$?
	[ "$status" -eq 1 ]
	jq -e '.answer=="invalid" and .code==0' <<<"$answer"
}

@test "200 at once from Node: every status exact, no message lost or mixed, no process and nothing else left" {
	local before
	before=$(find "$WORLD/evidence" -name closing.json | wc -l)
	LAUNCHES=${PARALLEL:-200} LIMIT=500 example runner.mjs /bin/sh -c 'echo "$API_TOKEN $$"; exit 7'
	[ "$(wc -l <<<"$answer")" -eq "${PARALLEL:-200}" ]
	jq -e -s 'all(.[]; .messages==["sealed","started","exited"] and .code==7 and .ended.code==7 and .ended.instance==.instance and .answer=="complete" and .errors=="" and
		(.output|startswith("hush-hush "))) and (map(.instance)|unique|length)==length' <<<"$answer" || { jq -c . <<<"$answer" | sort | uniq -c | sort -rn | head >&2; return 1; }
	[ "$status" -eq 0 ]
	[ "$(find "$WORLD/evidence" -name closing.json | wc -l)" -eq $((before + ${PARALLEL:-200})) ]
	run ! pgrep -f "$WORLD/conf"
	nothing_left
}

# ---- a Runner that dies -----------------------------------------------------------------------------------------------------------------------

# runner OPTION...: a supervisor whose Runner is this shell, on descriptors 6 (status), 7 (hold) and 8 (environment)
runner() {
	rm -f "$WORLD"/{status,hold,env} "$WORLD"/open/*
	mkfifo "$WORLD/status" "$WORLD/hold" "$WORLD/env"
	timeout -k 5 60 "$netcordon" run --config "$WORLD/conf" --profile "$WORLD/profile.json" --instance r --status-fd 3 --hold-fd 4 --env-fd 5 "$@" -- \
		/bin/sh -c "touch $WORLD/open/ran; until [ -e $WORLD/open/end ]; do sleep 0.05; done; exit 9" \
		3>"$WORLD/status" 4<"$WORLD/hold" 5<"$WORLD/env" 6>&- 7>&- 8>&- </dev/null >"$WORLD/out" 2>"$WORLD/err" &
	launcher=$!
	exec 6<"$WORLD/status" 7>"$WORLD/hold" 8>"$WORLD/env"
}
# line EVENT: the next status line
line() {
	local text
	read -r -t 30 text <&6
	[ "$(jq -r .event <<<"$text")" = "$1" ]
	pid=$(jq -r '.pid // empty' <<<"$text")
}
dies() { exec 6<&- 7>&- 8>&-; }
ended() {
	local got=0
	wait "$launcher" || got=$?
	[ "$got" -eq "$1" ] || { echo "exit status $got, not $1: $(cat "$WORLD/err")" >&2; return 1; }
}
supervisor() { pgrep -P "$launcher" -x netcordon; }

@test "a Runner that dies before it has read anything, after sealed, or between secret and go leaves nothing" {
	runner
	dies
	ended 125
	[ ! -e "$WORLD/open/ran" ]
	nothing_left
	runner
	line sealed
	dies
	ended 125
	grep -q hold_closed "$WORLD/err"
	[ ! -e "$WORLD/open/ran" ]
	nothing_left
	runner
	line sealed
	printf 'API_TOKEN=half' >&8
	dies
	ended 125
	[ ! -e "$WORLD/open/ran" ]
	nothing_left
}

@test "a Runner that dies after go or started leaves a workload that is watched to its end, with evidence" {
	runner
	line sealed
	printf g >&7
	exec 8>&-
	eventually 100 "[ -e $WORLD/open/ran ]"
	line started
	dies
	sleep 0.3
	nc status r >/dev/null
	touch "$WORLD/open/end"
	ended 125 # `exited` could not be told
	nothing_left
	nc evidence verify "$(find "$WORLD/evidence" -maxdepth 1 -name 'r-*' -newer "$WORLD/status")" --public-key "$WORLD/public.pem" | grep -qx complete
}

@test "a Runner that takes its supervisor along: held, nothing has run and nothing is left, whatever was asked for" {
	local what
	for what in orphan keep kill; do
		runner --on-supervisor-death $what
		line sealed
		kill -9 "$(supervisor)"
		dies
		ended 137
		eventually 50 "! grep -q 'populated 1' $ROOT/netcordon-*.slice/cgroup.events"
		[ ! -e "$WORLD/open/ran" ]
		nc run --profile "$WORLD/profile.json" -- true # takes away what is dead
		nothing_left
	done
}

@test "a Runner that takes its supervisor along: running, --on-supervisor-death decides" {
	local what got
	for what in orphan keep kill; do
		runner --on-supervisor-death $what
		line sealed
		exec 8>&-
		printf g >&7
		line started
		kill -9 "$(supervisor)"
		ended 137
		# nobody that it started holds the status descriptor: the end of file comes at once
		got=0
		read -r -t 20 _ <&6 || got=$?
		[ "$got" -eq 1 ]
		dies
		if [ $what = kill ]; then
			eventually 50 "[ ! -d /proc/$pid ]"
		else
			[ -d "/proc/$pid" ]
			nc status r --json | jq -e --arg state "${what/keep/kept}" '.state==$state and .populated'
			nc stop r
			[ ! -d "/proc/$pid" ]
		fi
		nc run --profile "$WORLD/profile.json" -- true
		nothing_left
	done
}

# ---- descriptors ------------------------------------------------------------------------------------------------------------------------------

@test "the workload cannot write to, read from or close the status, hold or environment descriptor" {
	cat >"$WORLD/open-probe" <<'PY'
import errno, os, sys
found = []
for fd in range(3, 4096):
    for what, act in (("write", lambda: os.write(fd, b"x")), ("read", lambda: os.read(fd, 1)), ("close", lambda: os.close(fd))):
        try:
            act()
            found.append(f"{what} {fd}")
        except OSError as error:
            if error.errno != errno.EBADF:
                found.append(f"{what} {fd}: {error}")
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()] if len(sys.argv) < 2 else []
for pid in others:
    for number in range(0, 64):
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                os.close(os.open(f"/proc/{pid}/fd/{number}", flags | os.O_NONBLOCK))
                found.append(f"opened /proc/{pid}/fd/{number}")
            except (PermissionError, FileNotFoundError):
                pass
print(len(others), found, flush=True)
sys.exit(1 if found or not others else 0)
PY
	# the probe itself finds what there is to find
	python3 "$WORLD/open-probe" alone 3<"$WORLD/profile.json" 4>&- >"$WORLD/out" 2>&1 || true
	grep -qF "'read 3', 'close 3'" "$WORLD/out"
	rm -f "$WORLD"/{status,hold,env}
	mkfifo "$WORLD/status" "$WORLD/hold" "$WORLD/env"
	nc run --profile "$WORLD/profile.json" --status-fd 3 --hold-fd 4 --env-fd 5 -- python3 -c "$(cat "$WORLD/open-probe")" \
		3>"$WORLD/status" 4<"$WORLD/hold" 5<"$WORLD/env" </dev/null >"$WORLD/out" 2>&1 &
	launcher=$!
	exec 6<"$WORLD/status" 7>"$WORLD/hold" 8>"$WORLD/env"
	line sealed
	printf 'A=1\0' >&8
	exec 8>&-
	printf gxyz >&7 # more than netcordon takes: it must still be there afterwards, for nobody
	line started
	line exited
	run ! read -r -t 5 _ <&6
	exec 6<&- 7>&-
	ended 0 || { cat "$WORLD/out" >&2; return 1; }
}
