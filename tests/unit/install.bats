#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# install.bats - install puts everything where it belongs and what it put works; uninstall leaves nothing of it

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	root=$BATS_TEST_TMPDIR/root
	# what a machine has before anything is installed
	mkdir -p "$root"/opt/{sbin,include,lib/pkgconfig,lib/systemd/system,share/man/man8,share/bash-completion/completions,share/doc}
}

make_quietly() { make --no-print-directory "$@" PREFIX=/opt DESTDIR="$root"; }

@test "install, use, uninstall: the tree is what it was before" {
	find "$root" | sort >"$BATS_TEST_TMPDIR/before"
	make_quietly install
	[ "$(find "$root" -type f | wc -l)" -ge 6 ]
	[ "$(stat -c %a "$root/opt/sbin/netcordon")" = 755 ]
	"$root/opt/sbin/netcordon" version | grep -q '^netcordon '
	jq -e .enforcement.network_policy "$root/opt/share/netcordon/capability/run.json"
	for driver in none guard run attach nftables proxy; do
		[ "$(stat -c %a "$root/opt/lib/netcordon/drivers/$driver")" = 755 ]
	done
	[ "$(stat -c %a "$root/opt/lib/netcordon/attempt")" = 755 ]
	MANWIDTH=100 man -l "$root/opt/share/man/man8/netcordon.8" | grep -q 'SEALED EGRESS\|sealed egress'
	make_quietly uninstall
	find "$root" | sort | diff "$BATS_TEST_TMPDIR/before" -
}

@test "installing twice changes nothing, and uninstalling twice is no error" {
	make_quietly install
	(cd "$root" && find . -type f -exec sha256sum {} + | sort) >"$BATS_TEST_TMPDIR/first"
	make_quietly install
	(cd "$root" && find . -type f -exec sha256sum {} + | sort) | diff "$BATS_TEST_TMPDIR/first" -
	make_quietly uninstall
	make_quietly uninstall
}

@test "uninstall leaves alone what an operator put beside it" {
	make_quietly install
	echo mine >"$root/opt/share/netcordon/mine"
	make_quietly uninstall
	[ "$(cat "$root/opt/share/netcordon/mine")" = mine ]
}

@test "what is installed names the folders of this installation, whatever was built before" {
	make_quietly install
	[ "$(sed -n 's/^prefix=//p' "$root/opt/lib/pkgconfig/netcordon.pc")" = /opt ]
	grep -q '^ExecStart=/opt/sbin/netcordon ' "$root/opt/lib/systemd/system/netcordon-host.service"
	[ "$(jq -r .hook.path "$root/opt/share/doc/netcordon/examples/hooks.d.json")" = /opt/sbin/netcordon ]
	make --no-print-directory install PREFIX=/other DESTDIR="$root"
	grep -q '^ExecStart=/other/sbin/netcordon ' "$root/other/lib/systemd/system/netcordon-host.service"
}

@test "every relative link of the installed documents leads to something that is installed, and so do the tree's" {
	make_quietly install
	for top in "$root/opt/share/doc/netcordon" .; do
		links=0
		while IFS=: read -r file link; do
			link=${link#\](} target=$(dirname "$file")/${link%%#*}
			[ -e "$target" ] || { echo "$file: $link"; return 1; }
			# what stands above the installed documents is not theirs
			[[ $(realpath "$target") == $(realpath "$top")/* ]]
			links=$((links + 1))
		done < <(grep -oHE '\]\([^)# ][^) ]*' "$top"/*.md "$top"/docs/*.md | grep -v '](http')
		[ "$links" -ge 40 ]
	done
}

@test "an installed driver answers describe" {
	make_quietly install
	run -0 "$root/opt/lib/netcordon/drivers/none" describe <<<'{"version":1,"options":{}}'
	jq -e '.provider == "reference:no-enforcement" and .version == 1' <<<"$output"
}

@test "the installed matrix finds its client" {
	make_quietly install
	mkdir "$BATS_TEST_TMPDIR/elsewhere"
	asked() { "$1" conform --driver /does/not/exist --provider reference:no-enforcement@1 --case match.port.tcp.4; }
	run -3 asked "$root/opt/sbin/netcordon"
	[[ $output == *"/does/not/exist"* && $output != *client* ]]
	# the twin: the same program where no client was installed with it
	cp "$root"/opt/sbin/netcordon* "$BATS_TEST_TMPDIR/elsewhere/"
	run -3 asked "$BATS_TEST_TMPDIR/elsewhere/netcordon"
	[[ $output == *"client \`attempt\` is neither"*--client* && $output != *"/does/not/exist"* ]]
}

@test "the installed examples are valid" {
	make_quietly install
	build/netcordon explain --config "$root/opt/share/doc/netcordon/examples/netcordon.conf" --profile "$root/opt/share/doc/netcordon/examples/allowlist.json" 1.1.1.1:443
}

@test "the library is found by pkg-config, its example builds against what is installed, and only its own names are visible" {
	make_quietly install
	export PKG_CONFIG_PATH=$root/opt/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	[ -z "$(nm -g --defined-only "$root/opt/lib/libnetcordon.a" | awk 'NF == 3 && $3 !~ /^nc_library_/ {print $3}')" ]
	run ! grep -E 'include *[<"](bpf|netlink|linux)' "$root/opt/include/netcordon.h"
	[ -z "$(nm -u "$root/opt/lib/libnetcordon.a" | grep -E ' (bpf_|nl_|rtnl_|ldns_|seccomp_)')" ]
	[ "$(pkg-config --modversion netcordon)" = "$(build/netcordon version | awk '{print $2; exit}' | tr -d ,)" ]
	# the sysroot is for what was installed here; the libraries that it needs are the machine's
	gcc -Wall -Wextra -Werror "$root/opt/share/doc/netcordon/examples/verify.c" -I"$root/opt/include" "$root/opt/lib/libnetcordon.a" -ljansson -lsodium -o "$BATS_TEST_TMPDIR/verify"
	pkg-config --cflags --libs netcordon | grep -q -- "-lnetcordon.* -ljansson.*-lsodium\|-lnetcordon.*-lsodium.*-ljansson"
	run "$BATS_TEST_TMPDIR/verify" tests/vectors/evidence tests/vectors/attester.pub
	[ "$status" -eq 0 ]
	[ "$(jq -r '.clauses | length' <<<"$output")" -eq 16 ]
	jq -e --argjson other "$(build/netcordon evidence verify tests/vectors/evidence --public-key tests/vectors/attester.pub --json)" '. == $other' <<<"$output"
	run "$BATS_TEST_TMPDIR/verify" tests/vectors/evidence tests/vectors/attester.pub '{"nonce": "of another run"}'
	[ "$status" -eq 1 ]
	[[ $output == *"evidence_invalid: "*nonce* ]]
	run "$BATS_TEST_TMPDIR/verify" tests/vectors/evidence /does/not/exist
	[ "$status" -eq 3 ]
	[[ $output == *"key_invalid: "* ]]
}

@test "the manual has no error in its markup" {
	run man --warnings -l build/netcordon.8
	[ "$status" -eq 0 ]
	[ -z "$(man --warnings -l build/netcordon.8 2>&1 >/dev/null)" ]
}

# complete WORD...: what the completion offers for the last word
complete_words() {
	bash -c 'source build/netcordon.bash; COMP_WORDS=(netcordon "$@"); COMP_CWORD=$#; _netcordon; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}

@test "the completion offers commands, second words, options and their values" {
	complete_words ev | grep -qx events
	complete_words ev | grep -qx evidence
	[ "$(complete_words host p)" = probe ]
	complete_words run --sta | grep -qx -- --status-fd
	complete_words evidence verify --p | grep -qx -- --public-key
	[ "$(complete_words exec x --authority p)" = plane ]
	[ "$(complete_words run --sta)" = --status-fd ]
}
