#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154,SC2016
# server_name_clients.bats - whole programs that fetch something over TLS and HTTP: each gets it from the listed name, and is told at once that it does not get
# it from another name at the same address, of which the server sees no byte

bats_require_minimum_version 1.5.0
load helpers
load named

setup_file() {
	export NAMED_FILES=/tmp/nctest-server-name-clients-$$/files
	named_up
	mkdir -p "$NAMED_FILES"
	mkdir -m 1777 "$WORLD/tmp"
	# The other name leads to the same address by a file that no resolver of ours is asked about; the control run has no resolver at all.
	printf '127.0.0.1 localhost\n%s other.example\n' $PUB_A >"$WORLD/hosts"
	sed "1a $PUB_A good.example" "$WORLD/hosts" >"$WORLD/hosts-control"
	echo 'nameserver 127.0.0.1' >"$WORLD/resolv.conf"
	chmod 644 "$WORLD"/hosts* "$WORLD/resolv.conf"
	listed '"host":"good.example","port":443' '"host":"good.example","port":80'
}

teardown_file() { named_down; }

# client NAME: a script on standard input that gets the name of a server
client() {
	(echo '#!/bin/sh'; echo "world=$WORLD"; cat) >"$WORLD/client-$1"
	chmod 755 "$WORLD/client-$1"
}

cordon() {
	rm -rf "$WORLD/evidence"
	with_hosts "$WORLD/hosts" timeout -k 5 "${LIMIT:-90}" nsenter --net=/run/netns/"$SUP" "$netcordon" run --config "$WORLD/netcordon.conf" --profile "$WORLD/profile.json" \
		--root "$ROOT" --netns /run/netns/"$WL" --evidence "$WORLD/evidence" --key "$WORLD/key.pem" -- "$@"
}

with_hosts() { unshare -m sh -c 'mount --bind "$0" /etc/hosts && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"' "$1" "$WORLD/resolv.conf" "${@:2}"; }

# fetches CLIENT: without the cordon from both names, behind it from the listed one only; what the other one takes to fail is said
fetches() {
	local program=$WORLD/client-$1 took
	for name in good other; do
		run with_hosts "$WORLD/hosts-control" nsenter --net=/run/netns/"$WL" setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 "$program" $name.example
		[ "$status" -eq 0 ] || { echo "control: $output" >&2; return 1; }
	done
	named_mark
	run cordon sh -c 'getent ahostsv4 good.example >/dev/null
		"$0" good.example; echo "listed $?"; date +%s%3N; "$0" other.example; echo "other $?"; date +%s%3N' "$program"
	[[ $output == *"listed 0"* ]] || { echo "$output" >&2; named_since >&2; return 1; }
	grep -qE '^other [1-9]' <<<"$output" || { echo "$output" >&2; return 1; }
	took=$(grep -E '^[0-9]{13}$' <<<"$output" | paste -sd' ' | awk '{print $2 - $1}')
	echo "# $1 was told after $took ms" >&3
	[ "$took" -lt 20000 ] # with the client's own start; none of them gives up by itself in that time
	event '.reason=="server_name_mismatch" and .server_name=="other.example" and .hook=="egress"'
	# Every connection that brought a byte was asked for the listed name.
	eventually 50 'named_since | jq -e -s "([.[]|select(.event==\"payload\")]|length) as \$n | \$n > 0 and \$n ==
		([.[]|select((.event==\"asked\" or (.event==\"served\" and .port==80)) and .name==\"good.example\")]|length)" >/dev/null' || { named_since >&2; return 1; }
}

@test "git clones over https" {
	git -c init.defaultBranch=main init -q "$WORLD/source"
	echo content >"$WORLD/source/file"
	git -C "$WORLD/source" add file
	git -C "$WORLD/source" -c user.name=Test -c user.email=test@good.example commit -qm first
	git clone -q --bare "$WORLD/source" "$NAMED_FILES/source.git"
	git -C "$NAMED_FILES/source.git" update-server-info
	client git <<-'SCRIPT'
		export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_SSL_CAINFO="$world/server.pem"
		clone=$world/tmp/clone-$$
		git clone -q "https://$1/files/source.git" "$clone" || exit
		grep -q content "$clone/file"
	SCRIPT
	fetches git
}

# apt_client SCHEME: the lists of a repository, and a package of it, with a configuration of its own
apt_client() {
	client "apt-$1" <<-SCRIPT
		apt=\$(mktemp -d "\$world/tmp/apt.XXXXXX")
		mkdir -p \$apt/lists/partial \$apt/archives/partial \$apt/etc
		echo "deb [trusted=yes] $1://\$1/files/apt ./" >\$apt/etc/sources.list
		: >\$apt/status
		cat >\$apt/apt.conf <<-CONF
			Dir::Etc "\$apt/etc"; Dir::Etc::main "none"; Dir::Etc::parts "none"; Dir::State "\$apt"; Dir::State::status "\$apt/status";
			Dir::Cache "\$apt"; Dir::Log "\$apt"; Acquire::https::CAInfo "\$world/server.pem"; Acquire::Languages "none"; Acquire::Retries "0"; Acquire::EnableSrvRecords "false"; Dir::Etc::netrcparts "none";
		CONF
		export APT_CONFIG=\$apt/apt.conf
		cd \$apt && apt-get -q update -o APT::Update::Error-Mode=any && apt-get -q download cordon-test && test -s cordon-test_1_all.deb
	SCRIPT
}

@test "apt updates and downloads, over https and http" {
	mkdir -p "$WORLD/package/DEBIAN" "$NAMED_FILES/apt"
	printf '%s\n' 'Package: cordon-test' 'Version: 1' 'Architecture: all' 'Maintainer: Test <test@good.example>' 'Description: nothing' >"$WORLD/package/DEBIAN/control"
	dpkg-deb -b "$WORLD/package" "$NAMED_FILES/apt/cordon-test_1_all.deb" >/dev/null
	(
		cd "$NAMED_FILES/apt"
		cat "$WORLD/package/DEBIAN/control"
		echo "Filename: ./cordon-test_1_all.deb"
		echo "Size: $(stat -c %s cordon-test_1_all.deb)"
		echo "SHA256: $(sha256sum <cordon-test_1_all.deb | cut -d' ' -f1)"
	) >"$NAMED_FILES/apt/Packages"
	printf '%s\n' 'Suite: test' "Date: $(date -Ru)" 'SHA256:' " $(sha256sum <"$NAMED_FILES/apt/Packages" | cut -d' ' -f1) $(stat -c %s "$NAMED_FILES/apt/Packages") Packages" >"$NAMED_FILES/apt/Release"
	apt_client https
	apt_client http
	fetches apt-https
	fetches apt-http
}

@test "Go: net/http with crypto/tls" {
	cat >"$WORLD/get.go" <<-'SOURCE'
		package main

		import ("crypto/tls"; "crypto/x509"; "fmt"; "io"; "net/http"; "os"; "time")

		func main() {
		    pem, e := os.ReadFile(os.Args[1])
		    if e != nil { panic(e) }
		    roots := x509.NewCertPool()
		    roots.AppendCertsFromPEM(pem)
		    client := http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		    answer, e := client.Get("https://" + os.Args[2] + "/")
		    if e != nil { fmt.Fprintln(os.Stderr, e); os.Exit(1) }
		    io.Copy(os.Stdout, answer.Body)
		}
	SOURCE
	gccgo-12 -static-libgo -o "$WORLD/get-go" "$WORLD/get.go"
	client go <<<'"$world/get-go" "$world/server.pem" "$1" | grep -q ok'
	fetches go
}

@test "a headless Chromium, whose hello has a post-quantum key share" {
	client chromium <<-'SCRIPT'
		profile=$(mktemp -d "$world/tmp/chromium.XXXXXX")
		HOME=$profile timeout 60 chromium-headless-shell --no-sandbox --disable-gpu --disable-dev-shm-usage --ignore-certificate-errors --user-data-dir="$profile" \
		    --dump-dom "https://$1/" >"$profile/page" 2>"$profile/said" && grep -q '>ok' "$profile/page" && exit
		grep -o 'net::ERR_[A-Z_]*' "$profile/said"
		exit 1
	SCRIPT
	fetches chromium
	[[ $output == *net::ERR_CONNECTION_ABORTED* ]]
	named_since | jq -e -s 'any(.[]; .event=="payload" and .size > 1448)' >/dev/null # more than a segment
}

@test "static programs, linked with musl, over http and over TLS" {
	musl-gcc -static -O2 -o "$WORLD/http-get" "$BATS_TEST_DIRNAME/http_get.c"
	client musl <<<'"$world/http-get" "$1" | grep -q "^ok"'
	fetches musl
	mkdir "$WORLD/include" # of the distribution's headers only these
	cp -r /usr/include/bearssl /usr/include/bearssl.h "$WORLD/include"
	musl-gcc -static -O2 -I"$WORLD/include" -o "$WORLD/tls-get" "$BATS_TEST_DIRNAME/musl/tls_get.c" "$(gcc -print-file-name=libbearssl.a)"
	client musl-tls <<<'"$world/tls-get" "$1" | grep -q "^ok"'
	fetches musl-tls
}

@test "wget, with GnuTLS" {
	client wget <<<'wget -q -O - --no-check-certificate --tries=1 "https://$1/" | grep -q ok'
	fetches wget
}
