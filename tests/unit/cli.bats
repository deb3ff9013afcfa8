#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# cli.bats - the command line as a user meets it: help, mistakes, exit statuses. Nothing here needs privileges, and nothing may be left behind.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	nc=$PWD/build/netcordon
	# A configuration of the test's own: the machine's must not matter, and no mistake of a test may reach the machine's cgroups.
	printf '{"version": 1, "root": "/nonexistent", "evidence": "%s/evidence", "profiles": "%s", "key": "%s/key.pem"}\n' "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR" \
		>"$BATS_TEST_TMPDIR/conf"
	printf '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "1.1.1.1", "port": 443}]}}\n' >"$BATS_TEST_TMPDIR/web.json"
	conf=(--config "$BATS_TEST_TMPDIR/conf")
}

# refused STATUS CODE COMMAND...: exits with STATUS, prints nothing, and one line `netcordon: CODE: ...` on stderr, which goes to $line
refused() {
	local status=$1 code=$2 got=0
	shift 2
	timeout 20 "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null || got=$?
	line=$(cat "$BATS_TEST_TMPDIR/err")
	echo "exit $got: $line"
	[ "$got" -eq "$status" ]
	[ ! -s "$BATS_TEST_TMPDIR/out" ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -eq 1 ]
	[[ $line == "netcordon: $code: "* ]]
}

# says TEXT: the last refusal's line holds it
says() {
	echo "$line"
	[[ $line == *"$1"* ]]
}

commands() { "$nc" help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)   *[a-z].*/\1/p'; }

@test "help: every command has a summary, a usage line and a page of its own, whichever way it is asked for" {
	[ "$(commands | wc -l)" -ge 17 ]
	[ "$("$nc" --help)" = "$("$nc" help)" ]
	[ "$("$nc" -h)" = "$("$nc" help)" ]
	commands | while read -r command; do
		# shellcheck disable=SC2086 # a command has one or two words
		"$nc" $command --help >"$BATS_TEST_TMPDIR/a" 2>&1 && "$nc" help $command >"$BATS_TEST_TMPDIR/b" 2>&1 || exit 1
		head -n 1 "$BATS_TEST_TMPDIR/a" | grep -q "^usage: netcordon $command" || exit 1
		cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b" || exit 1
	done
	# the first word alone, of commands that have two
	[ "$("$nc" host --help)" = "$("$nc" help host)" ]
	[ "$("$nc" help host | grep -c '^  host ')" = "$(commands | grep -c '^host ')" ]
}

@test "help: asking for it asks for nothing else, whatever is missing" {
	"$nc" run --help | grep -q -- --profile
	"$nc" evidence verify --help | grep -q -- --public-key
	"$nc" --config /does/not/exist status --help | grep -q '^usage: netcordon status'
}

@test "help: no line is wider than a terminal" {
	{ "$nc" help; commands | xargs -I{} sh -c "$nc help {}"; } | awk 'length > 100 {print; bad = 1} END {exit bad}'
}

@test "a mistyped command is named, with what was likely meant" {
	refused 2 usage "$nc" statsu
	says "did you mean 'status'?"
	refused 2 usage "$nc" frobnicate
	says '`netcordon help` lists the commands'
	refused 2 usage "$nc" host
	says "one of: up, down, sweep, probe, status"
	refused 2 usage "$nc" host upp
	says "one of: up, down, sweep, probe, status"
	refused 2 usage "$nc" key
	says "one of: generate, public"
	refused 2 usage "$nc"
	refused 2 usage "$nc" ''
}

@test "an option has one spelling: no abbreviation, no short form, not twice, its value and nothing else" {
	refused 125 usage "$nc" run --prof web -- true
	says "no option --prof"
	refused 125 usage "$nc" run --profle web -- true
	says "did you mean --profile?"
	refused 2 usage "$nc" version -j
	says "two dashes"
	refused 2 usage "$nc" version --json=yes
	says "takes no value"
	refused 2 usage "$nc" status --config
	says "needs a value: FILE"
	refused 2 usage "$nc" status --config a --config b
	says "given twice"
	refused 2 usage "$nc" version surplus
	says "one argument too many"
	refused 2 usage "$nc" key generate
	says "usage: netcordon key generate FILE"
	refused 2 usage "$nc" status --profile x
	says "no option --profile"
}

@test "what stands behind the command's name belongs to the command" {
	# were --json ours here, the error would be an object
	refused 125 config_invalid "$nc" run --config /does/not/exist --profile web echo --json --no-such-option
	refused 125 config_invalid "$nc" run --config /does/not/exist --profile web -- --json
	refused 125 config_invalid "$nc" exec --config /does/not/exist some-instance -- --json
	refused 125 cgroup_invalid "$nc" exec --root /does/not/exist nobody echo --json
}

@test "common options may stand before the command" {
	"$nc" --json version | jq -e .manifest
	refused 1 instance_unknown "$nc" "${conf[@]}" events nobody
}

@test "with --json an error is one object with version, code, detail, pointer and hint, on stderr" {
	run bash -c "'$nc' --json version surplus 2>&1 >/dev/null"
	[ "$status" -eq 2 ]
	jq -e '(keys == ["code", "detail", "hint", "pointer", "version"]) and .version == 1 and .code == "usage"' <<<"$output"
	# also where there is no command that could say what the options are
	for words in '--json' '--json nonsense' 'nonsense --json' 'host --json' 'host nonsense --json'; do
		run bash -c "'$nc' $words 2>&1 >/dev/null"
		[ "$status" -eq 2 ]
		jq -e '.version == 1 and .code == "usage"' <<<"$output"
	done
	run bash -c "'$nc' run --json --profile /does/not/exist.json -- true 2>&1 >/dev/null"
	[ "$status" -eq 125 ]
	jq -e '.code == "profile_unreadable"' <<<"$output"
	printf '{"version": 1, "network": {"mode": "alowlist"}}' >"$BATS_TEST_TMPDIR/bad.json"
	run bash -c "'$nc' ${conf[*]} explain --json --profile '$BATS_TEST_TMPDIR/bad.json' 1.1.1.1:443 2>&1 >/dev/null"
	[ "$status" -eq 2 ]
	jq -e '.code == "profile_invalid" and .pointer == "/network/mode"' <<<"$output"
}

@test "an error never carries an escape sequence or a line break of somebody else's to the terminal" {
	refused 2 usage "$nc" $'evil\e[31m\nnetcordon: all is well'
	[[ $line != *$'\e'* ]]
	run bash -c "'$nc' --json key public \$'/tmp/\\xff\\xfe' 2>&1 >/dev/null"
	jq -e .detail <<<"$output"
}

@test "output that does not arrive is an error" {
	run bash -c "'$nc' version >&-"
	[ "$status" -eq 3 ]
	run bash -c "'$nc' version --json >/dev/full"
	[ "$status" -eq 3 ]
	run bash -c "'$nc' version 2>&-"
	[ "$status" -eq 0 ]
	run bash -c "'$nc' nonsense 2>&-"
	[ "$status" -eq 2 ]
}

@test "a closed standard descriptor is not given to a file: a key does not end up with a message in it" {
	"$nc" key generate "$BATS_TEST_TMPDIR/key.pem" >&- 2>&- <&- || [ $? -eq 3 ]
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/key.pem")" = '-----BEGIN PRIVATE KEY-----' ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/key.pem")" -eq 3 ]
}

@test "version: what it says for people and for machines is the same, and nothing is released" {
	"$nc" version | grep -q 'revision dev$'
	[ "$("$nc" --version)" = "$("$nc" version)" ]
	"$nc" version --json | jq -e '.revision == "dev" and .abi >= 1 and (.manifest | test("^[0-9a-f]{64}$")) and .profile_versions == [1]'
	"$nc" version | grep -q "$("$nc" version --json | jq -r .manifest)"
}

@test "key: generated once, 0600, never overwritten; openssl reads both halves" {
	"$nc" key generate "$BATS_TEST_TMPDIR/key.pem" >"$BATS_TEST_TMPDIR/id"
	grep -qE '^[0-9a-f]{64}$' "$BATS_TEST_TMPDIR/id"
	[ "$(stat -c %a "$BATS_TEST_TMPDIR/key.pem")" = 600 ]
	before=$(sha256sum <"$BATS_TEST_TMPDIR/key.pem")
	refused 1 key_exists "$nc" key generate "$BATS_TEST_TMPDIR/key.pem"
	[ "$before" = "$(sha256sum <"$BATS_TEST_TMPDIR/key.pem")" ]
	"$nc" key public "$BATS_TEST_TMPDIR/key.pem" >"$BATS_TEST_TMPDIR/pub.pem"
	openssl pkey -in "$BATS_TEST_TMPDIR/key.pem" -pubout | cmp - "$BATS_TEST_TMPDIR/pub.pem"
	[ "$("$nc" key public --json "$BATS_TEST_TMPDIR/key.pem" | jq -r .key_id)" = "$(cat "$BATS_TEST_TMPDIR/id")" ]
	[ "$(openssl pkey -pubin -in "$BATS_TEST_TMPDIR/pub.pem" -outform DER | tail -c 32 | sha256sum | cut -d' ' -f1)" = "$(cat "$BATS_TEST_TMPDIR/id")" ]
	refused 3 system "$nc" key generate "$BATS_TEST_TMPDIR/no/folder/key.pem"
	says "mkdir -p -m 700 $BATS_TEST_TMPDIR/no/folder"
	refused 3 key_invalid "$nc" key public /does/not/exist.pem
	chmod 644 "$BATS_TEST_TMPDIR/key.pem"
	refused 3 key_invalid "$nc" key public "$BATS_TEST_TMPDIR/key.pem"
}

@test "configuration: strict, with the place, and never one that others may change" {
	refuse_config() { # TEXT POINTER
		printf '%s' "$1" >"$BATS_TEST_TMPDIR/c"
		refused 2 config_invalid "$nc" explain --config "$BATS_TEST_TMPDIR/c" address_not_public
		says "$2"
	}
	refuse_config '{"version": 1, "flor": []}' '/flor'
	refuse_config '{"version": 1, "Floor": []}' 'floor'
	refuse_config '{"version": 2}' '/version'
	refuse_config '{}' 'version'
	refuse_config '[]' 'object'
	refuse_config '{"version": 1, "floor": ["010.0.0.1"]}' '/floor/0'
	refuse_config '{"version": 1, "floor": ["169.254.169.254", 7]}' '/floor/1'
	refuse_config '{"version": 1, "nat64": ["2001:db8::/33"]}' '/nat64/0'
	refuse_config '{"version": 1, "nat64": ["2001:db8:0:0:0:0:0:1/96"]}' '/nat64/0'
	refuse_config '{"version": 1, "key": "relative.pem"}' '/key'
	refuse_config '{"version": 1, "evidence": ""}' '/evidence'
	refuse_config '{"version": 1, "pools": {"rings": 0}}' '/pools/rings'
	refuse_config '{"version": 1, "pools": {"slots": 1}}' '/pools/slots'
	refuse_config '{"version": 1, "foreign_programs": ["a_name_that_is_too_long"]}' '/foreign_programs/0'
	refuse_config '{"version": 1, "version": 1}' 'version'
	refuse_config '{"version": 1} trailing' ''
	refuse_config '{"version": 1, "key": null}' '/key'
	refuse_config '' ''
	printf '{"version": 1, "floor": ["198.51.100.7", "2001:db8::1"], "nat64": ["2001:db8:64::/96"], "pools": {"rings": 4}, "foreign_programs": ["sd_fw_egress"]}' >"$BATS_TEST_TMPDIR/c"
	"$nc" explain --config "$BATS_TEST_TMPDIR/c" address_not_public
	chmod o+w "$BATS_TEST_TMPDIR/c"
	refused 2 config_invalid "$nc" explain --config "$BATS_TEST_TMPDIR/c" address_not_public
	says 'may be changed by others'
	refused 2 config_invalid "$nc" explain --config /does/not/exist address_not_public
	refused 2 config_invalid "$nc" explain --config "$BATS_TEST_TMPDIR" address_not_public
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	refused 2 config_invalid "$nc" explain --config "$BATS_TEST_TMPDIR/fifo" address_not_public
}

@test "explain: the verdict, its reason and its exit status; a profile by name or by path" {
	"$nc" explain "${conf[@]}" --profile web 1.1.1.1:443 | grep -q literal_listed
	"$nc" explain "${conf[@]}" --profile "$BATS_TEST_TMPDIR/web.json" --json 1.1.1.1:443 | jq -e '.decision == "allow"'
	denied() { # REASON TARGET OPTION...
		local reason=$1
		shift
		run "$nc" explain "${conf[@]}" --profile web "$@"
		[ "$status" -eq 1 ]
		[[ $output == *"$reason"* ]]
	}
	denied destination_not_listed 1.1.1.1:444
	denied destination_not_listed 1.1.1.1:443/udp
	denied destination_not_listed 1.1.1.1:443 --authority plane || denied mode_none 1.1.1.1:443 --authority plane
	denied address_not_public '[::ffff:10.0.0.5]:443' || refused 2 usage "$nc" explain "${conf[@]}" --profile web '[::ffff:10.0.0.5]:443'
	denied address_not_public 10.0.0.5:443
	denied host_floor 169.254.169.254:80
	refused 2 usage "$nc" explain "${conf[@]}" --profile web 1.1.1.1
	refused 2 usage "$nc" explain "${conf[@]}" --profile web 1.1.1.1:99999
	refused 2 usage "$nc" explain "${conf[@]}" --profile web 1.1.1:443
	refused 2 usage "$nc" explain "${conf[@]}" --profile web 1.1.1.1:443/sctp
	refused 2 usage "$nc" explain "${conf[@]}" --profile web --authority root 1.1.1.1:443
	refused 3 profile_unreadable "$nc" explain "${conf[@]}" --profile wbe 1.1.1.1:443
}

@test "explain: the operator's floor and prefixes count" {
	run "$nc" explain "${conf[@]}" --profile web '[2001:4860:64::a00:5]:443'
	[[ $output == *destination_not_listed* ]]
	printf '{"version": 1, "floor": ["1.1.1.1"], "nat64": ["2001:4860:64::/96"]}' >"$BATS_TEST_TMPDIR/c"
	run "$nc" explain --config "$BATS_TEST_TMPDIR/c" --profile "$BATS_TEST_TMPDIR/web.json" 1.1.1.1:443
	[ "$status" -eq 1 ]
	[[ $output == *host_floor* ]]
	run "$nc" explain --config "$BATS_TEST_TMPDIR/c" --profile "$BATS_TEST_TMPDIR/web.json" '[2001:4860:64::a00:5]:443'
	[ "$status" -eq 1 ]
	[[ $output == *address_not_public* ]]
}

@test "explain and admit read a profile alike: by its name, with a hint where there is none, and by the network's own prefixes" {
	local asked
	printf '{"version": 1, "profiles": "%s", "nat64": ["2001:4860:64::/96"]}' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/c"
	printf '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "2001:4860:64::a00:5", "port": 443}]}}' >"$BATS_TEST_TMPDIR/behind.json"
	for asked in "explain [2001:4860:64::a00:5]:443" "admit --capability run"; do
		# shellcheck disable=SC2086 # the words of a command
		set -- $asked
		refused 3 profile_unreadable "$nc" "$@" "${conf[@]}" --profile wbe
		says "a word alone is a name in the profile folder"
		refused 3 profile_unreadable "$nc" "$@" "${conf[@]}" --profile ./wbe
		[[ $line != *"a word alone"* ]]
		"$nc" "$@" "${conf[@]}" --profile behind
		refused 2 profile_invalid "$nc" "$@" --config "$BATS_TEST_TMPDIR/c" --profile behind
		says /network/destinations/0/host
	done
}

@test "explain: a word is a reason or an error code" {
	"$nc" explain "${conf[@]}" server_name_mismatch | grep -q 'ECONNABORTED.*ETIMEDOUT' # how it ends has nobody else to say it
	"$nc" explain "${conf[@]}" address_not_public | grep -q 'not global unicast'
	"$nc" explain "${conf[@]}" seal_mismatch | grep -q 'read back'
	"$nc" explain "${conf[@]}" --json host_floor | jq -e '.word == "host_floor"'
	refused 2 usage "$nc" explain "${conf[@]}" adress_not_public
	says "did you mean 'address_not_public'?"
}

@test "profile: a slip is one line that names the place and what was likely meant" {
	slip() { # TEXT WORDS
		printf '%s' "$1" >"$BATS_TEST_TMPDIR/slip.json"
		refused 2 profile_invalid "$nc" explain "${conf[@]}" --profile "$BATS_TEST_TMPDIR/slip.json" 1.1.1.1:443
		says "$2"
	}
	slip '{"version": 1, "netwrok": {"mode": "none"}}' '/netwrok: unknown key "netwrok" (did you mean "network"?)'
	slip '{"version": 1, "network": {"mode": "alowlist"}}' '/network/mode: "alowlist" is not a known word (did you mean "allowlist"? one of: none, allowlist, unrestricted)'
	slip '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "a.example", "port": 443, "wire": "https"}]}}' 'say "tls"'
	slip '' 'nothing stands in it'
	slip '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "1.1.1.1", "port": "443"}]}}' '/network/destinations/0/port: must be an integer, not a string'
	slip '{"version": 1, "network": {"mode": "none"}, "surprise": 1}' 'known here: version, network'
	slip $'{"version": 1,\n "network": {"mode": "none"},\n}' 'line 3, column 1'
	says 'JSON has no comma behind the last one: take it away'
	slip '{"version": 1, "network": {"mode": "allowlist", "destinations": [{"host": "1.1.1.1", "port": 443}, ]}}' 'JSON has no comma behind the last one'
	slip '{"version": 1, "network": {"mode": "none"}, "version": 1}' 'a member stands once'
	slip '{"version": 1 "network": {"mode": "none"}}' 'a comma is missing'
	slip "{'version': 1}" 'double quotation marks'
	slip $'{"version": 1, // one\n "network": {"mode": "none"}}' 'JSON has no comments'
	slip '{"version": 1, "network": {"mode": "none"}' 'ends too early'
}

@test "run: what is wrong on the command line never starts the command" {
	refused 125 usage "$nc" run "${conf[@]}" -- touch "$BATS_TEST_TMPDIR/ran"
	says '--profile is missing'
	refused 125 usage "$nc" run "${conf[@]}" --profile web
	refused 125 usage "$nc" run "${conf[@]}" --profile web --status-fd 1 -- touch "$BATS_TEST_TMPDIR/ran"
	refused 125 usage "$nc" run "${conf[@]}" --profile web --status-fd 77 -- touch "$BATS_TEST_TMPDIR/ran"
	says 'descriptor 77 is not open'
	refused 125 usage "$nc" run "${conf[@]}" --profile web --hold-fd x -- touch "$BATS_TEST_TMPDIR/ran"
	refused 125 usage "$nc" run "${conf[@]}" --profile web --grace -1 -- touch "$BATS_TEST_TMPDIR/ran"
	refused 125 usage "$nc" run "${conf[@]}" --profile web --deadline 1.2345 -- touch "$BATS_TEST_TMPDIR/ran"
	refused 125 usage "$nc" run "${conf[@]}" --profile web --on-supervisor-death maybe -- touch "$BATS_TEST_TMPDIR/ran"
	run bash -c "'$nc' run ${conf[*]} --profile web --status-fd 5 --hold-fd 5 -- touch '$BATS_TEST_TMPDIR/ran' 5<>/dev/null"
	[ "$status" -eq 125 ]
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	[ ! -e "$BATS_TEST_TMPDIR/evidence" ]
}

@test "run: an unreadable or invalid profile is refused with the place, before anything is created" {
	refused 125 profile_unreadable "$nc" run "${conf[@]}" --profile /does/not/exist.json -- touch "$BATS_TEST_TMPDIR/ran"
	printf '{"version": 1, "network": {"mode": "allowlist", "destination": []}}' >"$BATS_TEST_TMPDIR/bad.json"
	refused 125 profile_invalid "$nc" run "${conf[@]}" --profile "$BATS_TEST_TMPDIR/bad.json" -- touch "$BATS_TEST_TMPDIR/ran"
	says '/network/destination'
	printf '{"version": 1, "network": {"mode": "none"}, "plane": {"destinations": [{"host": "api.example.com", "port": 443, "non_public": true}]}}' >"$BATS_TEST_TMPDIR/named.json"
	"$nc" key generate "$BATS_TEST_TMPDIR/key.pem"
	refused 125 profile_invalid "$nc" run "${conf[@]}" --profile "$BATS_TEST_TMPDIR/named.json" -- touch "$BATS_TEST_TMPDIR/ran"
	says '/plane/destinations/0/non_public'
	refused 125 cgroup_invalid "$nc" run "${conf[@]}" --profile web -- touch "$BATS_TEST_TMPDIR/ran"
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	[ ! -e "$BATS_TEST_TMPDIR/evidence" ]
}

@test "evidence verify: what it cannot check is an error, and the key is never taken from the folder" {
	refused 2 usage "$nc" evidence verify "${conf[@]}" "$BATS_TEST_TMPDIR"
	says '--public-key is missing'
	"$nc" key generate "$BATS_TEST_TMPDIR/key.pem"
	"$nc" key public "$BATS_TEST_TMPDIR/key.pem" >"$BATS_TEST_TMPDIR/pub.pem"
	refused 3 system "$nc" evidence verify "${conf[@]}" --public-key "$BATS_TEST_TMPDIR/pub.pem" /does/not/exist
	refused 3 key_invalid "$nc" evidence verify "${conf[@]}" --public-key /does/not/exist "$BATS_TEST_TMPDIR"
	mkdir "$BATS_TEST_TMPDIR/empty"
	run "$nc" evidence verify "${conf[@]}" --public-key "$BATS_TEST_TMPDIR/pub.pem" "$BATS_TEST_TMPDIR/empty"
	[ "$status" -eq 1 ]
	[[ $output == invalid* ]]
	printf '[]' >"$BATS_TEST_TMPDIR/expect"
	refused 2 usage "$nc" evidence verify "${conf[@]}" --public-key "$BATS_TEST_TMPDIR/pub.pem" --expect "$BATS_TEST_TMPDIR/expect" "$BATS_TEST_TMPDIR/empty"
}

@test "events: shows a log by its folder, from a sequence on, and refuses what is none" {
	mkdir "$BATS_TEST_TMPDIR/log"
	printf '%s\n' '{"comm":"curl","decision":"deny","authority":"workload","destination":"10.0.0.5","port":443,"protocol":"tcp","reason":"address_not_public","address_class":"private","kind":"verdict","sequence":1}' \
		'{"kind":"end","sequence":2}' >"$BATS_TEST_TMPDIR/log/events.jsonl"
	run "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	[ "$status" -eq 0 ]
	[[ $output == *"tcp 10.0.0.5:443"*"address_not_public (private)"*curl*"not global unicast"* ]]
	[ "$("$nc" events "${conf[@]}" --json --since 1 "$BATS_TEST_TMPDIR/log" | jq -r .kind)" = end ]
	[ "$(timeout 5 "$nc" events "${conf[@]}" --json --follow "$BATS_TEST_TMPDIR/log" | wc -l)" -eq 2 ]
	printf '%s\n' '{"kind":"end","sequence":7}' >"$BATS_TEST_TMPDIR/log/events.jsonl"
	refused 1 events_gone "$nc" events "${conf[@]}" --since 3 "$BATS_TEST_TMPDIR/log"
	printf 'no json\n' >"$BATS_TEST_TMPDIR/log/events.jsonl"
	refused 1 evidence_invalid "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	refused 1 instance_unknown "$nc" events "${conf[@]}" nobody
	refused 2 usage "$nc" events "${conf[@]}" --since -1 "$BATS_TEST_TMPDIR/log"
}

@test "events: times are of the launch statement's clocks, the canary is named, and a word in a log has its explanation" {
	mkdir "$BATS_TEST_TMPDIR/log"
	echo '{"time":"2026-01-02T03:04:05Z","time_ns":"5000000000"}' >"$BATS_TEST_TMPDIR/log/launch.json"
	verdict() { printf '{"comm":"netcordon","decision":"deny","authority":"workload","destination":"%s","port":443,"protocol":"tcp","reason":"%s","kind":"verdict","sequence":%s,"time_ns":"65000000000"}\n' "$@"; }
	{ verdict 127.0.0.1 host_floor 1; verdict 10.0.0.5 host_floor 2; verdict ::1 address_not_public 3; verdict 127.0.0.1 destination_not_listed 4; } >"$BATS_TEST_TMPDIR/log/events.jsonl"
	run -0 "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	[[ ${lines[1]} == *"01-02 03:05:05"*"netcordon's canary"* ]]
	[[ ${lines[2]} == *"01-02 03:05:05"*"the address is refused in every mode"* ]]
	[[ ${lines[3]} == *"netcordon's canary"* ]]
	[[ ${lines[4]} != *canary* ]]
	for word in name_not_listed edge_lost orphan undead policy_intact udp_connected host_floor evidence_invalid guard lsm_unix ending unix_sockets; do
		run -0 "$nc" explain "${conf[@]}" "$word"
		[[ $output == "$word ("*"): "* ]]
	done
	run -2 "$nc" explain "${conf[@]}" name_not_listet
	[[ $output == *"did you mean 'name_not_listed'?"* ]]
}

@test "events: what happened to a name, an update, a command of exec and the end are told in words; an unknown kind as it stands" {
	mkdir "$BATS_TEST_TMPDIR/log"
	cat >"$BATS_TEST_TMPDIR/log/events.jsonl" <<-'EOF'
		{"kind":"name","sequence":1,"authority":"workload","name":"api.example.com","type":28,"reason":"name_granted","addresses":2,"lifetime":300}
		{"kind":"name","sequence":2,"authority":"plane","name":"x.example","type":1,"reason":"answer_not_public","address":"10.0.0.5"}
		{"kind":"update","sequence":3,"before":{"profile":"0123456789abcdef"},"now":{"profile":"fedcba9876543210"},"revision":{"workload":"2","plane":"3"},"flows_ended":4}
		{"kind":"exec","sequence":4,"authority":"plane","command":"/bin/tool","pid":77,"uid":88,"passed_environment":["A","B"],"result":{"cause":"signalled","signal":9}}
		{"kind":"exec","sequence":5,"authority":"workload","command":"/bin/other","pid":78,"uid":88}
		{"kind":"new","sequence":6,"member":1}
		{"kind":"end","sequence":7}
	EOF
	echo '{"result":{"cause":"not_started","failure":"hold_closed","code":125}}' >"$BATS_TEST_TMPDIR/log/closing.json"
	run -0 "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	[[ ${lines[1]} =~ name\ +workload\ +"api.example.com AAAA"\ +name_granted\ +.*resolved.*": 2, for 300 s"$ ]]
	[[ ${lines[2]} =~ name\ +plane\ +"x.example A"\ +answer_not_public\ +.*"not public".*": 10.0.0.5"$ ]]
	[[ ${lines[3]} =~ update\ +"profile fedcba987654, before 0123456789ab"\ +"revision 2, of the plane 3"\ +.*"connections ended: 4"$ ]]
	[[ ${lines[4]} =~ exec\ +plane\ +/bin/tool\ +"signalled, signal 9"\ +.*"process 77, user 88; environment passed: A, B"$ ]]
	[[ ${lines[5]} =~ exec\ +workload\ +/bin/other\ +"its end is not known" ]]
	[[ ${lines[6]} =~ new\ +'{"member":1}'$ ]]
	[[ ${lines[7]} =~ end\ +"not_started (hold_closed), exit status 125"\ +"the command was never executed" ]]
	rm "$BATS_TEST_TMPDIR/log/closing.json"
	run -0 "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	[[ ${lines[7]} =~ end\ +"no closing statement"$ ]]
}

@test "events: a folder may be anybody's: no FIFO is waited for, no line read without end, nothing that a terminal obeys passed on" {
	mkdir "$BATS_TEST_TMPDIR/log"
	mkfifo "$BATS_TEST_TMPDIR/log/events.jsonl"
	refused 1 evidence_invalid timeout 5 "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	rm "$BATS_TEST_TMPDIR/log/events.jsonl"
	ln -s /dev/null "$BATS_TEST_TMPDIR/log/events.jsonl"
	refused 1 evidence_invalid timeout 5 "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	rm "$BATS_TEST_TMPDIR/log/events.jsonl"
	truncate -s 3G "$BATS_TEST_TMPDIR/log/events.jsonl"
	refused 1 evidence_invalid timeout 5 "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	rm "$BATS_TEST_TMPDIR/log/events.jsonl"
	printf '{"comm":"\302\2332J","kind":"end","sequence":1}\n' >"$BATS_TEST_TMPDIR/log/events.jsonl"
	run -0 "$nc" events "${conf[@]}" --json "$BATS_TEST_TMPDIR/log"
	grep -q '[\]u009[bB]2J' <<<"$output"
	run ! grep -q $'\x9b' <<<"$output"
}

@test "events: text of the workload's reaches the terminal only as text" {
	mkdir "$BATS_TEST_TMPDIR/log"
	printf '%s\n' '{"comm":"\u001b[2Jx","decision":"deny","authority":"workload","destination":"10.0.0.5","port":443,"protocol":"tcp","reason":"host_floor","kind":"verdict","sequence":1}' \
		>"$BATS_TEST_TMPDIR/log/events.jsonl"
	run "$nc" events "${conf[@]}" "$BATS_TEST_TMPDIR/log"
	[ "$status" -eq 0 ]
	[[ $output == *'\x1b[2Jx'* ]]
	[[ $output != *$'\e'* ]]
}

@test "events --follow: shows what is added, and ends with the log" {
	mkdir "$BATS_TEST_TMPDIR/log"
	record='{"comm":"a","decision":"allow","authority":"workload","destination":"1.1.1.1","port":443,"protocol":"tcp","reason":"literal_listed","kind":"verdict","sequence":%d}\n'
	# shellcheck disable=SC2059 # the format is ours
	printf "$record" 1 >"$BATS_TEST_TMPDIR/log/events.jsonl"
	timeout 20 "$nc" events "${conf[@]}" --json --follow "$BATS_TEST_TMPDIR/log" >"$BATS_TEST_TMPDIR/followed" &
	follower=$!
	sleep 0.3
	# half a record first: it must wait for the other half
	printf '{"kind":"verdict","seq' >>"$BATS_TEST_TMPDIR/log/events.jsonl"
	sleep 0.3
	[ "$(wc -l <"$BATS_TEST_TMPDIR/followed")" -eq 1 ]
	printf 'uence":2}\n{"kind":"end","sequence":3}\n' >>"$BATS_TEST_TMPDIR/log/events.jsonl"
	wait "$follower"
	[ "$(jq -r .sequence "$BATS_TEST_TMPDIR/followed" | tr '\n' ' ')" = '1 2 3 ' ]
}
