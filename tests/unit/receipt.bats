#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# receipt.bats - from a bundle to a receipt to an answer, through the command line, and openssl as a second opinion

bats_require_minimum_version 1.5.0

setup() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	netcordon=$top/build/netcordon
	cd "$BATS_TEST_TMPDIR" || return 1
	cp "$top/tests/vectors/attester.key" key.pem
	chmod 600 key.pem
}

bundle() { "$top/tests/unit/make_bundle" "$netcordon" bundle "$@"; }
sign() { "$netcordon" receipt sign bundle --key key.pem --attester authority; }

# refused CHANGE CODE TEXT: a bundle with that change is not signed, and nothing is written
refused() {
	bundle "$1"
	run ! "$netcordon" receipt sign bundle --key key.pem --attester authority --json
	[[ $output == *"\"$2\""* && $output == *"$3"* ]] || { echo "$output"; return 1; }
	[ ! -e bundle/receipt.json ] && [ ! -e bundle/receipt.json.sig ]
	rm -r bundle
}

attesters() {
	jq -n --rawfile key "$top/tests/vectors/attester.pub" --arg state "$1" \
		'{version: 1, attesters: [{attester: "authority", algorithm: "ed25519", public_key: $key, state: $state}]}' >set.json
}

@test "a bundle of five established facts is signed, and verifies under a set that the caller supplies, as no grade" {
	bundle
	run -0 sign
	[[ $output == *"authorship and integrity"* ]]
	attesters current
	run -0 "$netcordon" receipt verify bundle/receipt.json --attesters set.json
	[[ $output == "valid under a set that the caller supplied"* && $output == *"authorship and integrity"* && $output != *grade* ]]
}

@test "the reviewed set is empty: without a set of one's own no key counts" {
	bundle
	sign
	run ! "$netcordon" receipt verify bundle/receipt.json --json
	[[ $output == *attester_unknown* ]]
}

@test "openssl verifies the receipt's signature over domain, newline and bytes" {
	bundle
	sign
	{ printf 'checkfu.sandbox-egress-conformance.v1\n' && cat bundle/receipt.json; } >message
	jq -r .signature bundle/receipt.json.sig | base64 -d >signature
	openssl pkeyutl -verify -pubin -inkey "$top/tests/vectors/attester.pub" -rawin -in message -sigfile signature
	{ printf 'netcordon.launch.v1\n' && cat bundle/receipt.json; } >message
	run ! openssl pkeyutl -verify -pubin -inkey "$top/tests/vectors/attester.pub" -rawin -in message -sigfile signature
}

@test "the published receipt: three answers for three states of its key, and openssl's by the published rule" {
	vectors=$top/tests/vectors/receipt
	run -0 "$netcordon" receipt verify "$vectors/receipt.json" --attesters "$vectors/attesters-current.json"
	[[ $output == "valid under a set that the caller supplied"* ]]
	run -6 "$netcordon" receipt verify "$vectors/receipt.json" --attesters "$vectors/attesters-rotated.json"
	run -7 "$netcordon" receipt verify "$vectors/receipt.json" --attesters "$vectors/attesters-revoked.json"
	jq -r .signature "$vectors/receipt.json.sig" | base64 -d >signature
	for domain in "$(cat "$vectors/domain")" netcordon.launch.v1; do
		{ printf '%s\n' "$domain" && cat "$vectors/statement.json"; } >"message.$domain"
	done
	openssl pkeyutl -verify -pubin -inkey "$vectors/attester.pub" -rawin -in "message.$(cat "$vectors/domain")" -sigfile signature
	run ! openssl pkeyutl -verify -pubin -inkey "$vectors/attester.pub" -rawin -in message.netcordon.launch.v1 -sigfile signature
}

@test "current, rotated and revoked keys are three answers" {
	bundle
	sign
	attesters rotated
	run -6 "$netcordon" receipt verify bundle/receipt.json --attesters set.json
	attesters revoked
	run -7 "$netcordon" receipt verify bundle/receipt.json --attesters set.json
}

@test "each of the five facts is needed" {
	for fact in exact_destination_match redirect_recheck connect_time_public_address authority_separation default_deny; do
		refused "without $fact" fact_unestablished "$fact"
	done
}

@test "a bundle is rechecked: what it concludes is not taken over" {
	refused leak statement_invalid "came to something else"
	refused mute statement_invalid "the client's output says something else"
	refused fewer statement_invalid "without every case of it"
	refused twice statement_invalid "stands twice"
	refused blocked receipt_invalid "of its"
	refused matrix statement_invalid "another matrix"
	refused transcripts statement_invalid "digest"
}

@test "a build that no release recorded holds no receipt" {
	refused dev statement_invalid "can hold no receipt"
}

@test "a receipt that lost or gained a byte, or whose signature did, is none" {
	bundle
	sign
	attesters current
	for change in 's/"version":1/"version":2/' 's/"mutants":true/"mutants":false/' 's/6\.18/6.19/'; do
		sed -i.good "$change" bundle/receipt.json
		run ! "$netcordon" receipt verify bundle/receipt.json --attesters set.json
		mv bundle/receipt.json.good bundle/receipt.json
	done
	run -0 "$netcordon" receipt verify bundle/receipt.json --attesters set.json
	sed -i 's/netcordon\.v1\|conformance\.v1/conformance.v2/' bundle/receipt.json.sig
	run ! "$netcordon" receipt verify bundle/receipt.json --attesters set.json
	rm bundle/receipt.json.sig
	run ! "$netcordon" receipt verify bundle/receipt.json --attesters set.json
}

@test "no bit of the statement, the signature, the domain or the key may turn: through the command line" {
	run -0 "$top/tests/unit/turn_bits" "$netcordon" "$top/tests/vectors/receipt" "$BATS_TEST_TMPDIR/turned"
	[ "${#lines[@]}" -eq 4 ]
	for i in 0 1 2 3; do [[ ${lines[i]} == *": "[1-9]*" turned, 0 taken" ]] || { echo "${lines[i]}"; return 1; }; done
	[[ $output == *"signature: 512 turned"*"key: 256 turned"* ]]
}

@test "turning bits finds what takes them" {
	printf '#!/bin/sh\nexit 0\n' >lax
	chmod +x lax
	run -1 "$top/tests/unit/turn_bits" "$PWD/lax" "$top/tests/vectors/receipt" "$BATS_TEST_TMPDIR/turned"
	[[ $output == *"key: 256 turned, 256 taken"* ]]
}

@test "a receipt that was named and is not there is an error, also where nothing asks for one" {
	echo '{"version": 1, "network": {"mode": "none"}}' >none.json
	run -0 "$netcordon" admit --capability run --profile none.json
	run -1 "$netcordon" admit --capability run --profile none.json --receipt nothere
	[[ $output == *"receipt_invalid: open the receipt nothere: "* ]]
}

@test "conform --list shows the cases that are asked for" {
	"$netcordon" conform --list --json --fact redirect_recheck | jq -e '.cases | length > 0 and all(.fact == "redirect_recheck")'
	"$netcordon" conform --list --json --case match.port.tcp.4 | jq -e '.cases | map(.id) == ["match.port.tcp.4"]'
	run -2 "$netcordon" conform --list --fact nosuch
	[[ $output == *"case_unknown: "* ]]
}

@test "no flag of run or admit supplies keys" {
	for command in run admit; do
		run ! "$netcordon" $command --attesters set.json
		[[ $output != *"valid under"* ]]
	done
}

described() { "$top/tests/unit/validate_schema" "$top/docs/schema" "$@"; }
# undescribed NAME FILE JQ: with this change the schema refuses what it took
undescribed() {
	described "$1=$2"
	jq -c "$3" "$2" >changed.json
	run -1 described "$1=changed.json"
}

@test "bundle, receipt, attester sets and capability documents are as their schemas describe them, and nothing else is" {
	bundle
	sign
	attesters rotated
	described statement=bundle/statement.json matrix=bundle/matrix.json transcript=bundle/transcripts.jsonl receipt=bundle/receipt.json \
		signature=bundle/receipt.json.sig attesters=set.json receipt="$top/tests/vectors/receipt/receipt.json" \
		attesters="$top/tests/vectors/receipt/attesters-revoked.json"
	for provider in run attach oci-hook; do
		"$netcordon" admit --capability $provider --print >$provider.json
		described capability=$provider.json
	done
	undescribed statement bundle/statement.json '.cases[0].outcome = "fine"'
	undescribed statement bundle/statement.json '.grade = "security_boundary"'
	undescribed receipt bundle/receipt.json '.facts.default_deny = false'
	undescribed receipt bundle/receipt.json '.provider_revision = "dev"'
	undescribed matrix bundle/matrix.json 'del(.cases[3].switches)'
	undescribed transcript bundle/transcripts.jsonl '.runs.control.run.packets = -1'
	undescribed attesters set.json '.attesters[0].state = "trusted"'
	undescribed attesters set.json '.attesters[0].public_key = "c2VjcmV0"'
	undescribed capability run.json '.placement = "worker"'
	undescribed capability run.json 'del(.enforcement.network_policy)'
}

@test "what the matrix writes without a release, and what it could not make, are described too" {
	for change in dev blocked "without default_deny"; do
		bundle "$change"
		described statement=bundle/statement.json
		run -1 described receipt=bundle/statement.json
		rm -r bundle
	done
}
