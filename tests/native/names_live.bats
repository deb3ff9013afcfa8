#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034
# names_live.bats - names while things change: exchanges of policies under load, streams that outlive their grants, floods, a dead edge, a dead supervisor

bats_require_minimum_version 1.5.0
load helpers
load names

setup_file() {
	names_up
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/public.pem"
	cp "$BATS_TEST_DIRNAME/names_load.py" "$WORLD/load.py"
	chmod 755 "$WORLD"
	chmod 644 "$WORLD/load.py"
	witness net tcp $PUB_C 443 udp $PUB_C 443
	names_served 'address=/stay.example/'$PUB_A 'address=/twin.example/'$PUB_A 'address=/other.example/'$PUB_B
}

teardown_file() { names_down; }

teardown() {
	touch "$WORLD/dismissed"
	live_end
	attach_down
}

listed() { # listed FILE JSON: a profile with these destinations, and PUB_A by UDP
	echo "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[{\"host\":\"$PUB_A\",\"port\":443,\"protocol\":\"udp\"},$2]}}" >"$WORLD/$1.json"
}
name() { echo "{\"host\":\"$1.example\",\"port\":443,\"wire\":\"any\"}"; }

swap() { timeout 500 python3 "$WORLD/load.py" swap "$(find /run/netcordon -path "*/$LIVE/update")" "$@" || { cat "$WORLD/live.out" >&2; return 1; }; }

@test "a thousand exchanges and more under load: nothing is lost that both allow, nothing gets out that neither does" {
	local result count=${EXCHANGES:-1200}
	listed stay "$(name stay)"
	listed twin "$(name stay),$(name twin),$(name other)"
	listed literal "$(name stay),{\"host\":\"$PUB_A\",\"port\":443}"
	cp "$WORLD/twin.json" "$WORLD/profile.json"
	rm -f "$WORLD/over"
	LIMIT=600 live swap-"$WL" sh -c "getent ahostsv4 twin.example; exec python3 $WORLD/load.py work $WORLD/over stay.example $PUB_A 443 $PUB_C"
	eventually 200 "grep -qs started $WORLD/live.out" || { cat "$WORLD/live.out" >&2; return 1; }
	mark
	swap "$count" "$WORLD/stay.json" "$WORLD/twin.json" "$WORLD/literal.json"
	touch "$WORLD/over"
	over
	result=$(grep '^{' "$WORLD/live.out")
	echo "# $result" >&3
	jq -e '.lost == [] and .leaked == 0 and .connected > 50 and .sent > 50 and .resolved > 50 and .held > 50 and .refused > 100' <<<"$result"
	nothing_reached $PUB_C
	[ "$(grep -c '"kind":"update"' "$WORLD/evidence/events.jsonl")" -eq "$count" ]
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/pub.pem"
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/pub.pem"
}

@test "exchanges between an allowlist and everything public: the same" {
	local result count=${EXCHANGES:-1200}
	listed literal "{\"host\":\"$PUB_A\",\"port\":443},$(name stay)"
	echo '{"version":1,"network":{"mode":"unrestricted"}}' >"$WORLD/public.json"
	cp "$WORLD/literal.json" "$WORLD/profile.json"
	rm -f "$WORLD/over"
	# resolved by a file: in mode unrestricted there is no resolver to ask
	LIMIT=600 live modes-"$WL" sh -c "exec python3 $WORLD/load.py work $WORLD/over localhost $PUB_A 443 $PRIV"
	eventually 200 "grep -qs started $WORLD/live.out" || { cat "$WORLD/live.out" >&2; return 1; }
	mark
	swap $((count / 6)) "$WORLD/public.json" "$WORLD/literal.json"
	touch "$WORLD/over"
	over
	result=$(grep '^{' "$WORLD/live.out")
	echo "# $result" >&3
	jq -e '.lost == [] and .leaked == 0 and .connected > 10 and .held > 10 and .refused > 20' <<<"$result"
	nothing_reached $PRIV
}

# arrives ADDR: a line of a connection to ADDR has reached the listener since the mark
arrives() { arrived '.event=="data" and (.local | startswith("tcp " + $a + " "))' "$1"; }

@test "a stream outlives its grant, and survives an update that still lists its name; a new connect asks anew" {
	local i
	listed stay "$(name stay)"
	listed twin "$(name stay),$(name other)"
	cp "$WORLD/stay.json" "$WORLD/profile.json"
	LIMIT=150 obedient outlives-"$WL"
	work "getent ahostsv4 stay.example && { '$tools/attempt' -t 100000 hold-tcp $PUB_A 443 >$WORLD/done/held 2>&1; echo \$? >$WORLD/done/ended; } & sleep 0.1"
	mark
	eventually 150 "arrives $PUB_A"
	# a grant lives for 30 seconds and 5 more: the shortest that there is
	for ((i = 0; i < 120; i++)); do
		work "'$tools/attempt' tcp $PUB_A 443"
		[ "$status" -eq 0 ] || break
		sleep 0.5
	done
	[ "$status" -eq 1 ]
	update "$WORLD/twin.json"
	mark
	eventually 100 "arrives $PUB_A"
	mark
	work "'$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 1 ]
	fence
	no_arrival '.event=="accept" and (.local | startswith("tcp " + $a + " "))' $PUB_A
	work "getent ahostsv4 stay.example && '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	[ ! -e "$WORLD/done/ended" ]
	dismissed
	event '.kind=="update" and .flows_ended==0'
	refusal destination_not_listed
}

@test "an update to a thousand names: each stands in the log with its number, and what is said of it afterwards holds" {
	listed stay "$(name stay)"
	listed many "$(name stay)$(for i in {1..1000}; do echo ",{\"host\":\"n$i.example\",\"port\":443}"; done),$(name other)"
	cp "$WORLD/stay.json" "$WORLD/profile.json"
	obedient many-"$WL"
	update "$WORLD/many.json"
	work "getent ahostsv4 other.example && '$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 0 ]
	dismissed
	jq -e -s '[.[] | select(.kind=="names" or .kind=="update").name_binding.workload[]] | map(.name_id) as $ids | length==1002
		and ($ids|unique|length)==1002 and any(.[]; .host=="n1000.example") and all(.[]; .host!="stay.example" or .name_id==1)' \
		"$WORLD/evidence/events.jsonl" >/dev/null || { tail -c 3000 "$WORLD/evidence/events.jsonl" >&2; return 1; }
	event '.reason=="grant_live" and .name_id>1'
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	"$top/tests/unit/validate_schema" "$top/docs/schema" "$WORLD/evidence"
}

@test "names that share an address: when one leaves, what the other lists goes on, and what nobody lists ends" {
	listed both "$(name twin),$(name stay),$(name other)"
	listed stay "$(name stay)"
	cp "$WORLD/both.json" "$WORLD/profile.json"
	obedient shared-"$WL"
	# whichever of the two speaks for the address
	work "getent ahostsv4 stay.example; getent ahostsv4 other.example; sleep 1.1; getent ahostsv4 twin.example"
	work "'$tools/attempt' -t 60000 hold-tcp $PUB_A 443 >$WORLD/done/a.held 2>&1 & '$tools/attempt' -t 60000 hold-tcp $PUB_B 443 >$WORLD/done/b.held 2>&1 & sleep 0.1"
	mark
	eventually 150 "arrives $PUB_A && arrives $PUB_B"
	update "$WORLD/stay.json"
	mark
	eventually 100 "arrives $PUB_A"
	eventually 100 "grep -q ECONNABORTED $WORLD/done/b.held"
	[ ! -s "$WORLD/done/a.held" ] || run ! grep errno "$WORLD/done/a.held"
	work "'$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	mark
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 1 ]
	nothing_reached $PUB_B
	dismissed
	event '.kind=="update" and .flows_ended==1'
}

@test "an attached cgroup follows an update: names, flows and new connects" {
	local name=attached-$RANDOM$RANDOM
	listed both "$(name stay),$(name other)"
	listed stay "$(name stay)"
	LIVE=attached-$WL
	echo "$name" >"$WORLD/attached.name"
	mkdir "$ROOT/$name"
	rm -rf "$WORLD/attached"
	bash -c 'echo 0 >"$0/cgroup.procs" && exec sleep 600' "$ROOT/$name" 3>&- 2>/dev/null &
	nsenter --net=/run/netns/"$SUP" "$netcordon" attach --cgroup "$ROOT/$name" --instance "$LIVE" --config "$WORLD/netcordon.conf" \
		--profile "$WORLD/both.json" --root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/attached" --key "$WORLD/key.pem" 3>&- >"$WORLD/attach.out" 2>&1 &
	echo $! >"$WORLD/attach.pid"
	eventually 150 "[ -f $WORLD/attached/launch.json.sig ]" || { cat "$WORLD/attach.out" >&2; return 1; }
	eventually 100 "attached getent ahostsv4 stay.example >/dev/null" || { cat "$WORLD/attach.out" >&2; return 1; }
	attached getent ahostsv4 other.example
	attached "$tools/attempt" -t 50000 hold-tcp $PUB_A 443 3>&- >"$WORLD/a.held" 2>&1 &
	attached "$tools/attempt" -t 50000 hold-tcp $PUB_B 443 3>&- >"$WORLD/b.held" 2>&1 &
	mark
	eventually 150 "arrives $PUB_A && arrives $PUB_B"
	update "$WORLD/stay.json"
	mark
	eventually 100 "grep -q ECONNABORTED $WORLD/b.held"
	eventually 100 "arrives $PUB_A"
	run ! attached getent ahostsv4 other.example
	run ! attached "$tools/attempt" tcp $PUB_B 443
	attached "$tools/attempt" tcp $PUB_A 443
	nothing_reached $PUB_B
	reached $PUB_A 443
	EVIDENCE=attached event '.kind=="update" and .flows_ended==1'
	echo 1 >"$ROOT/$name/cgroup.kill"
	eventually 300 "! kill -0 $(cat "$WORLD/attach.pid") 2>/dev/null"
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/pub.pem"
	"$netcordon" evidence verify "$WORLD/attached" --public-key "$WORLD/pub.pem"
}

@test "a flood of questions keeps neither its own workload nor another instance from being answered" {
	local first other
	cp "$WORLD/stay.json" "$WORLD/profile.json" 2>/dev/null || { listed stay "$(name stay)"; cp "$WORLD/stay.json" "$WORLD/profile.json"; }
	cat >"$WORLD/flood.py" <<-'SCRIPT'
		import os, socket, struct, sys, time
		def question(name): return b"".join(bytes([len(l)]) + l for l in name.encode().split(b".")) + b"\0\0\1\0\1"
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setblocking(False)
		until, i = time.time() + float(sys.argv[1]), 0
		while time.time() < until:
		    for _ in range(100):
		        i += 1
		        try: s.sendto(struct.pack(">6H", i & 0xffff, 256, 1, 0, 0, 0) + question(("n%d.evil.test" % i, "stay.example")[i % 2]), ("9.9.9.9", 53))
		        except BlockingIOError: pass
		print(i)
	SCRIPT
	chmod 644 "$WORLD/flood.py"
	# the other instance asks all the while, once each 0.1 s; nothing that it asks may go unanswered
	rm -rf "$WORLD/evidence-other"
	timeout -k 5 90 nsenter --net=/run/netns/"$SUP" "$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" --root "$ROOT" \
		--netns /run/netns/"$WL" --evidence "$WORLD/evidence-other" --key "$WORLD/key.pem" -- \
		sh -c 'n=0; while [ ! -e '"$WORLD"'/over ]; do dig +short +time=5 +tries=1 stay.example; n=$((n + 1)); sleep 0.1; done; echo asked $n' 3>&- >"$WORLD/other.out" 2>&1 &
	other=$!
	rm -f "$WORLD/over"
	eventually 150 "grep -q $PUB_A $WORLD/other.out"
	run cordon sh -c "for i in 1 2 3; do python3 $WORLD/flood.py 3 & done; wait; dig +time=5 +tries=1 stay.example"
	touch "$WORLD/over"
	wait $other || true
	[[ $output == *"$PUB_A"* ]]
	first=$(sed -n 's/^;; Query time: \([0-9]*\) msec/\1/p' <<<"$output")
	echo "# flooded with $(grep -E '^[0-9]+$' <<<"$output" | awk '{n += $1} END {print n}') questions; the next one took $first ms" >&3
	[ "$first" -le 1000 ]
	[ "$(grep -c "^$PUB_A\$" "$WORLD/other.out")" -eq "$(sed -n 's/^asked //p' "$WORLD/other.out")" ]
	# told one by one up to a bound, counted beyond it
	[ "$(grep -c name_not_listed "$WORLD/evidence/events.jsonl")" -le 4096 ]
	jq -e '.losses == "0" and (.names_not_told | tonumber > 0)' "$WORLD/evidence/closing.json"
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	[ "$status" -eq 5 ]
}

@test "the edge dies: the workload with it, nothing has opened, and the evidence says so" {
	local edge
	listed stay "$(name stay)"
	cp "$WORLD/stay.json" "$WORLD/profile.json"
	obedient edge-"$WL"
	mark
	edge=$(pgrep -x netcordon-edge -P "$(supervisor)")
	# it leaves something in the ring, too
	kill -STOP "$edge"
	work "timeout 5 $tools/attempt tcp $PUB_B 443" || true
	kill -9 "$edge"
	over
	jq -e '.result.cause=="edge_lost" and .losses=="1"' "$WORLD/evidence/closing.json"
	event ".kind==\"verdict\" and .destination==\"$PUB_B\""
	nothing_reached $PUB_A 443
	nothing_reached $PUB_B 443
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
	[ "$status" -eq 5 ]
}

@test "the supervisor dies and the workload is kept: no name resolves, and whoever takes the resolver's port hears nothing" {
	local ports
	listed stay "$(name stay)"
	cp "$WORLD/stay.json" "$WORLD/profile.json"
	KEEP=yes obedient kept-"$WL"
	work "getent ahostsv4 stay.example"
	[ "$status" -eq 0 ]
	ports=$(in_wl ss -Hlunp 'src 127.0.0.1' | sed -n '/netcordon-edge/s/.*127.0.0.1:\([0-9]*\) .*/\1/p')
	[ -n "$ports" ]
	kill -9 "$(supervisor)"
	over
	eventually 100 "! in_wl ss -Hlun | grep -q 127.0.0.1:$ports"
	witness wl udp 127.0.0.1 "$ports" tcp 127.0.0.1 "$ports" udp ::1 "$ports" tcp ::1 "$ports"
	# the positive twin: whoever is not in the cordon reaches it
	mark
	in_wl "$tools/attempt" udp-sendto 127.0.0.1 "$ports"
	PLACE=wl saw 127.0.0.1 "$ports"
	mark
	work "getent ahosts stay.example"
	[ "$status" -ne 0 ]
	work "dig +time=1 +tries=1 stay.example; dig +tcp +time=1 +tries=1 stay.example; '$tools/attempt' udp-sendto 9.9.9.9 53"
	[ "$status" -eq 1 ]
	[[ $output == *EPERM* ]]
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 1 ]
	nothing_reached $PUB_B
	PLACE=wl nothing_reached 127.0.0.1 "$ports"
	touch "$WORLD/dismissed"
	"$netcordon" key public "$WORLD/key.pem" >"$WORLD/pub.pem"
	run "$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/pub.pem"
	[ "$status" -ne 0 ]
	[[ $output == *incomplete* || $output == *open* ]]
}

# As a package manager does it: another file in the place of each.
@test "netcordon is installed anew under a live instance: an update that needs an edge has the one of its own build" {
	local file
	listed literal "{\"host\":\"$PUB_B\",\"port\":443}"
	listed stay "$(name stay)"
	cp "$WORLD/literal.json" "$WORLD/profile.json"
	mkdir "$WORLD/installed"
	cp "$netcordon" "$netcordon-edge" "$WORLD/installed/"
	netcordon=$WORLD/installed/netcordon obedient anew-"$WL"
	for file in netcordon netcordon-edge; do
		cp /bin/false "$WORLD/installed/new"
		mv "$WORLD/installed/new" "$WORLD/installed/$file"
	done
	[[ $(readlink "/proc/$(supervisor)/exe") == *" (deleted)" ]]
	run ! pgrep -P "$(supervisor)" -x netcordon-edge
	mark
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 0 ]
	update "$WORLD/stay.json"
	pgrep -P "$(supervisor)" -x netcordon-edge
	mark
	work "getent ahostsv4 stay.example && '$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 0 ]
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 1 ]
	reached $PUB_A 443
	nothing_reached $PUB_B 443
	dismissed
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
}

@test "an instance whose installation has no edge: an update to names is refused, and the policy before stays in force" {
	listed literal "{\"host\":\"$PUB_B\",\"port\":443}"
	listed stay "$(name stay)"
	cp "$WORLD/literal.json" "$WORLD/profile.json"
	mkdir "$WORLD/half"
	cp "$netcordon" "$WORLD/half/"
	netcordon=$WORLD/half/netcordon obedient half-"$WL"
	run -3 update "$WORLD/stay.json"
	[[ $output == *"whose program was not there"* ]]
	mark
	work "'$tools/attempt' tcp $PUB_B 443"
	[ "$status" -eq 0 ]
	work "'$tools/attempt' tcp $PUB_A 443"
	[ "$status" -eq 1 ]
	reached $PUB_B 443
	nothing_reached $PUB_A 443
	dismissed
	run ! event '.kind=="update"'
	"$netcordon" evidence verify "$WORLD/evidence" --public-key "$WORLD/public.pem"
}
